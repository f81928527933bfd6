/* SPDX-License-Identifier: MIT */
/* Energy by the driver intel_rapl: it reads the registers of the PMU `power`, but converts units
 * and handles wraps by itself. The files of AMD CPUs have the same names. */
#ifndef CLI_VERIFY_POWERCAP_H
#define CLI_VERIFY_POWERCAP_H

#include <stdbool.h>
#include <stddef.h>

struct powercap_zone; /* a domain of a package or a die */

struct powercap {
	struct powercap_zone *zones;
	size_t count;
};

/* Finds the zones below `root` ("" is this machine) that can be read; only root can read them. */
void powercap_find(struct powercap *p, const char *root);
void powercap_free(struct powercap *p);

/* `package` is the kernel's number, as in the names of zones (physical_package_id). Whether all dies of it have the domain ("package", "core", "dram", "psys"). */
bool powercap_has(const struct powercap *p, const char *domain, int package);
/* Joules since the previous call, of all dies; NaN: not all of them could be read. */
double powercap_take(struct powercap *p, const char *domain, int package);
/* The largest power limit of a package, in watts; 0: unknown. */
double powercap_limit(const struct powercap *p);

#endif
