/* SPDX-License-Identifier: MIT */
/* The peak of a machine's memory: channels x transfers x width. */
#include "machine/memory.h"
#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TABLE "sys/firmware/dmi/tables/DMI"
#define TABLE_MOST ((size_t)1 << 20)
#define UDEV "run/udev/data/+dmi:id"
#define UDEV_KEY "E:MEMORY_DEVICE_"

/* ---- udev ---- */

static void take_property(struct unc_module *m, const char *key, const char *value)
{
	uint64_t number = 0;
	bool is_size = strcmp(key, "SIZE") == 0;

	if (unc_parse_u64(value, &number) < 0 || number > UINT32_MAX)
		number = is_size; /* a size in bytes may be larger */
	if (number == 0xffff)     /* a larger speed, which udev does not have */
		number = 0;
	if (is_size)
		m->present = number != 0;
	else if (strcmp(key, "DATA_WIDTH") == 0)
		m->width = (unsigned)number;
	else if (strcmp(key, "SPEED_MTS") == 0)
		m->rated = (unsigned)number;
	else if (strcmp(key, "CONFIGURED_SPEED_MTS") == 0)
		m->configured = (unsigned)number;
	else if (strcmp(key, "TYPE") == 0)
		m->kind = unc_module_kind_of(value);
	else if (strcmp(key, "MEMORY_TECHNOLOGY") == 0 &&
		 (strncmp(value, "Intel", 5) == 0 || strncmp(value, "NVDIMM-F", 8) == 0 ||
		  strncmp(value, "NVDIMM-P", 8) == 0))
		m->kind = unc_module_kind_of("Logical non-volatile device");
}

/* "E:MEMORY_DEVICE_12_DATA_WIDTH=64"; other lines are skipped. */
static int take_line(struct unc_modules *all, char *line, struct unc_error *e)
{
	char *value = strchr(line, '='), *key;
	unsigned long index;
	int r = 0;

	if (strncmp(line, UDEV_KEY, strlen(UDEV_KEY)) != 0 || !value)
		return 0;
	*value++ = '\0';
	line += strlen(UDEV_KEY);
	index = strtoul(line, &key, 10);
	if (!unc_is_digit(*line) || *key != '_')
		return 0;
	while (r == 0 && all->count <= index)
		r = unc_modules_add(all, &(struct unc_module){0}, e);
	if (r == 0)
		take_property(&all->items[index], key + 1, value);
	return r;
}

int unc_modules_udev(struct unc_modules *out, char *text, struct unc_error *e)
{
	struct unc_modules all = {0};
	size_t kept = 0;
	char *line;
	int r = 0;

	while (r == 0 && (line = strsep(&text, "\n")))
		r = take_line(&all, line, e);
	if (r < 0) {
		unc_modules_finish(&all);
		return r;
	}
	for (size_t i = 0; i < all.count; i++)
		if (unc_module_is_dram(all.items[i].kind))
			all.items[kept++] = all.items[i];
	all.count = kept;
	*out = all;
	return 0;
}

/* ---- the peak ---- */

/* Bits for error correction are no data, even where firmware includes them. */
static unsigned data_width(const struct unc_module *m)
{
	return m->width == 72 || m->width == 80 ? 64 : m->width;
}

/* Firmware before SMBIOS 3.2 may give the clock, of which each cycle has two transfers; no module
 * runs at just half of its rated speed. */
static double transfers(const struct unc_module *m)
{
	double configured = m->configured;

	if (m->rated && configured * 2 > m->rated * 0.99 && configured * 2 < m->rated * 1.01)
		return m->rated;
	return m->configured ? configured : m->rated;
}

/*
 * Channels of a socket that have a module. The kernel shows a PMU for each channel; each channel has
 * equally many modules, or a part of the channels one each, as vendors require. Without such PMUs only
 * a single module is clear.
 */
static int count_channels(size_t modules, size_t sockets, size_t pmus, unsigned *out,
			  struct unc_error *e)
{
	size_t each = modules / sockets;

	if (modules % sockets)
		return unc_fail(e, ENODATA,
				"the %zu memory modules are not evenly spread over %zu sockets",
				modules, sockets);
	if (!pmus && each > 1)
		return unc_fail(e, ENODATA,
				"no PMU for each memory channel shows which of the %zu modules of "
				"a socket share a channel",
				each);
	if (pmus && each % pmus && pmus % each)
		return unc_fail(e, ENODATA,
				"the %zu modules of a socket are not evenly spread over its %zu "
				"memory channels",
				each, pmus);
	*out = (unsigned)(pmus && pmus < each ? pmus : each);
	return 0;
}

int unc_memory_peak(struct uncore_memory *out, const struct unc_modules *m, size_t sockets,
		    size_t channel_pmus, struct unc_error *e)
{
	struct uncore_memory found = {.from = out->from};
	const struct unc_module *first = NULL;
	int r;

	for (size_t i = 0; i < m->count; i++) {
		const struct unc_module *one = &m->items[i];

		if (!one->present)
			continue;
		first = first ? first : one;
		if (one->kind != first->kind)
			return unc_fail(e, ENODATA, "the modules are of different kinds (%s, %s)",
					unc_module_kind(first->kind), unc_module_kind(one->kind));
		if (!one->width || data_width(one) != data_width(first))
			return unc_fail(e, ENODATA,
					one->width ? "the modules are of different widths"
						   : "the width of a module is not known");
		if (transfers(one) <= 0)
			return unc_fail(e, ENODATA, "the speed of a module is not known");
		if (!found.modules++ || transfers(one) < found.transfers)
			found.transfers = transfers(one);
		found.rated = found.rated || !one->configured;
	}
	if (!first)
		return unc_fail(e, ENODATA, "the firmware lists no memory module");
	r = count_channels(found.modules, sockets, channel_pmus, &found.channels, e);
	if (r < 0)
		return r;
	found.peak = found.channels * (data_width(first) / 8.0) * found.transfers * 1e6;
	*out = found;
	return 0;
}

static int read_udev(struct unc_modules *out, const struct unc_root *root, int denied,
		     struct unc_error *e)
{
	char *text = NULL;
	int r = unc_root_read(root, UDEV, &text);

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

int unc_memory_read(struct uncore_memory *out, const struct unc_root *root, size_t sockets,
		    size_t channel_pmus, struct unc_error *e)
{
	struct uncore_memory found = {.from = "SMBIOS"};
	struct unc_modules modules = {0};
	char *table = NULL;
	size_t len = 0;
	int r = unc_root_read_bytes(root, TABLE, TABLE_MOST, &table, &len);

	if (r == -ENOMEM)
		return unc_nomem(e);
	if (r < 0) {
		found.from = "udev";
		r = read_udev(&modules, root, r, e);
	} else {
		r = unc_modules_smbios(&modules, (const uint8_t *)table, len, e);
		free(table);
	}
	if (r == 0)
		r = unc_memory_peak(&found, &modules, sockets, channel_pmus, e);
	unc_modules_finish(&modules);
	if (r == 0)
		*out = found;
	return r;
}
