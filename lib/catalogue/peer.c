/* SPDX-License-Identifier: MIT */
/* The other ends of links. */
#include "object.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* "upi_1,die_1": on the die with that number. */
static int socket_of(const struct unc_topology *t, const char *text)
{
	const char *die = strrchr(text, '_');
	uint64_t number;

	if (!die || die - text < 3 || strncmp(die - 3, "die", 3) != 0 ||
	    unc_parse_u64(die + 1, &number) < 0 || number > INT32_MAX)
		return -1;
	return unc_topology_die_socket(t, (int)number);
}

/* The file that names the other end; -ENODEV: the PMU has none. */
static int read_peer(struct uncore *u, const struct uncore_pmu *p, int cpu, char **text)
{
	const struct unc_family *f = p->family;
	struct unc_text file = {0};
	int err;

	if (!f || (!f->peer && !f->role_attribute))
		return unc_fail(&u->error, ENODEV, "nothing says what is at the other end of %s",
				p->name);
	unc_die_file(&file, f->peer ? f->peer : f->role_attribute,
		     unc_topology_die(&u->topology, cpu));
	err = file.failed ? -ENOMEM : unc_pmu_attribute(p, file.data, text);
	if (err && err != -ENOMEM)
		err = unc_fail(&u->error, ENODEV,
			       "%s has no file '%s', which would name its other end", p->name,
			       file.data);
	unc_text_finish(&file);
	return err == -ENOMEM ? unc_nomem(&u->error) : err;
}

int uncore_pmu_peer(struct uncore *u, const struct uncore_pmu *p, int cpu, struct uncore_peer *out)
{
	struct uncore_peer peer = {.socket = -1};
	char *text = NULL;
	int err = unc_ports_load(u); /* for what it keeps strings in */

	if (err == 0)
		err = read_peer(u, p, cpu, &text);
	if (!text)
		return err;
	peer.socket = socket_of(&u->topology, text);
	peer.text = unc_pci_keep(&u->pci, text);
	free(text);
	if (!peer.text)
		return unc_nomem(&u->error);
	*out = peer;
	return 0;
}
