/* SPDX-License-Identifier: MIT */
/* Energy as the driver intel_rapl counts it: the same registers as those of the PMU `power`, by another driver, which
 * has its own units and its own handling of wraps. The files of AMD CPUs have the same names. */
#ifndef CLI_VERIFY_POWERCAP_H
#define CLI_VERIFY_POWERCAP_H

#include <stdbool.h>
#include <stddef.h>

struct powercap_zone; /* a domain of a package or a die */

struct powercap {
	struct powercap_zone *zones;
	size_t count;
};

/* Those below `root` ("" is this machine) that can be read, which only root may. */
void powercap_find(struct powercap *p, const char *root);
void powercap_free(struct powercap *p);

/* Whether there is such a domain ("package", "core", "dram", "psys"), of all dies of the socket. */
bool powercap_has(const struct powercap *p, const char *domain, int socket);
/* Joules since the call before, of all dies; NaN: not all of them could be read. */
double powercap_take(struct powercap *p, const char *domain, int socket);
/* The most that any package may draw, in watts; 0: not known. */
double powercap_limit(const struct powercap *p);

#endif
