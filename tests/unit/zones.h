/* SPDX-License-Identifier: MIT */
/* Files of powercap, as the driver intel_rapl makes them. */
#ifndef ZONES_H
#define ZONES_H

#include "tree.h"

static inline void put_zone(const struct tree *t, const char *zone, const char *name,
			    const char *energy)
{
	char path[128];

	snprintf(path, sizeof(path), "sys/class/powercap/%s/name", zone);
	tree_put(t, path, name);
	snprintf(path, sizeof(path), "sys/class/powercap/%s/energy_uj", zone);
	tree_put(t, path, energy);
	snprintf(path, sizeof(path), "sys/class/powercap/%s/max_energy_range_uj", zone);
	tree_put(t, path, "262143328850\n");
}

/* Two packages, one of them with two dies. */
static inline void make_zones(struct tree *t)
{
	tree_make(t);
	put_zone(t, "intel-rapl:0", "package-0-die-0\n", "1000000\n");
	put_zone(t, "intel-rapl:1", "package-0-die-1\n", "262143000000\n");
	put_zone(t, "intel-rapl:2", "package-1\n", "5000000\n");
	put_zone(t, "intel-rapl:0:0", "dram\n", "7000000\n");
	put_zone(t, "intel-rapl:1:0", "dram\n", "7000000\n");
	put_zone(t, "intel-rapl:2:0", "core\n", "7000000\n");
	put_zone(t, "intel-rapl:3", "psys\n", "7000000\n");
	put_zone(t, "intel-rapl-mmio:0", "package-0\n", "99000000\n");
	tree_put(t, "sys/class/powercap/intel-rapl:2/constraint_0_max_power_uw", "205000000\n");
	tree_put(t, "sys/class/powercap/intel-rapl:2/constraint_1_max_power_uw", "0\n");
}

#endif
