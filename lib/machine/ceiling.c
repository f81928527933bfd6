/* SPDX-License-Identifier: MIT */
/* The peak of a machine's memory: by its firmware, or as the user says. */
#include "machine/ceiling.h"
#include "object.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TABLE "sys/firmware/dmi/tables/DMI"
#define UDEV "run/udev/data/+dmi:id"
#define TABLE_MOST ((size_t)1 << 20)

static int read_udev(const struct uncore *u, int denied, struct unc_modules *out,
		     struct unc_error *e)
{
	char *text = NULL;
	int r = unc_root_read(u->root, UDEV, &text);

	if (r == -ENOMEM)
		return unc_nomem(e);
	if (r == 0)
		r = unc_modules_udev(out, text, e);
	free(text);
	if (r == 0 && out->count)
		return 0;
	return unc_fail(e, ENODATA, "%s, and udev has no record of the modules (%s)",
			denied == -EACCES ? "only root may read the SMBIOS table (" TABLE ")"
					  : "there is no SMBIOS table (" TABLE ")",
			UDEV);
}

static int read_modules(const struct uncore *u, struct unc_modules *out, const char **from,
			struct unc_error *e)
{
	char *data = NULL;
	size_t len = 0;
	int r = unc_root_read_bytes(u->root, TABLE, TABLE_MOST, &data, &len);

	*from = r == 0 ? "SMBIOS" : "udev";
	if (r == -ENOMEM)
		return unc_nomem(e);
	if (r < 0)
		return read_udev(u, r, out, e);
	r = unc_modules_smbios(out, (const uint8_t *)data, len, e);
	free(data);
	return r;
}

/* Memory channels of a socket that have a PMU; 0: not known. */
static size_t count_pmus(const struct uncore *u)
{
	size_t count = 0;

	for (size_t i = 0; i < u->pmus.count; i++) {
		const struct uncore_pmu *p = &u->pmus.items[i];

		if (p->family && strcmp(p->family->instance, "memory channel") == 0)
			for (size_t k = 0; k < p->cpus.count; k++)
				count += unc_topology_socket(&u->topology, p->cpus.ids[k]) ==
					 u->topology.sockets[0];
	}
	return count;
}

static int measure(struct uncore *u, struct uncore_memory *memory, struct unc_error *e)
{
	struct unc_modules modules = {0};
	struct unc_channels found = {.modules = 0};
	int r = read_modules(u, &modules, &memory->from, e);

	if (r == 0)
		r = unc_modules_channels(&modules, u->topology.socket_count, count_pmus(u), &found,
					 e);
	unc_modules_finish(&modules);
	if (r < 0)
		return r;
	memory->modules = found.modules;
	memory->channels = found.channels;
	memory->transfers = found.transfers;
	memory->rated = found.rated;
	memory->peak = found.channels * (found.width / 8.0) * found.transfers * 1e6;
	return 0;
}

const struct uncore_memory *uncore_memory_get(struct uncore *u)
{
	struct uncore_memory *memory = &u->memory;

	if (u->memory_known)
		return memory;
	*memory = (struct uncore_memory){.transfers = NAN, .peak = NAN};
	if (!u->scanned || !u->topology.socket_count)
		memory->why = "the machine has not been scanned";
	else if (measure(u, memory, &u->memory_why) < 0)
		memory->why = u->memory_why.text;
	if (u->memory_peak > 0) {
		memory->peak = u->memory_peak;
		memory->from = "the user";
		memory->why = NULL;
	}
	if (memory->why)
		memory->from = NULL;
	u->memory_known = u->scanned;
	return memory;
}

int uncore_set_memory_peak(struct uncore *u, double bytes_per_second_per_socket)
{
	if (!isfinite(bytes_per_second_per_socket) || bytes_per_second_per_socket <= 0)
		return unc_fail(&u->error, EINVAL,
				"the peak of the memory must be more than 0 bytes per second");
	u->memory_peak = bytes_per_second_per_socket;
	u->memory_known = false;
	return 0;
}

double unc_ceiling_memory(struct uncore *u, int socket, bool one_channel)
{
	const struct uncore_memory *memory = uncore_memory_get(u);

	if (one_channel)
		return memory->channels ? memory->peak / memory->channels : NAN;
	return socket < 0 ? memory->peak * (double)u->topology.socket_count : memory->peak;
}
