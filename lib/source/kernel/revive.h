/* SPDX-License-Identifier: MIT */
/* Groups that the kernel has given up, as when their CPU went offline: opened again where their PMU
 * is counted now. */
#ifndef UNC_KERNEL_REVIVE_H
#define UNC_KERNEL_REVIVE_H

#include "machine/topology.h"
#include "source/kernel/groups.h"
#include "source/kernel/perf.h"

/*
 * The CPU that a counter of `c` can be opened on now: its own when its PMU is counted from there (again),
 * else the one that the kernel has put in its place; -1 when there is none, when it is not clear which
 * of several took over, or when the PMU has been registered anew since the scan.
 */
int unc_revive_cpu(const struct unc_root *root, const struct unc_topology *t,
		   const struct unc_counter *c);

/* Opens the members of group `g` anew on `cpu`, stopped, and closes the old descriptors. On failure, a
 * negative errno, nothing has changed. */
int unc_revive_group(struct unc_groups *groups, struct unc_group *g,
		     const struct unc_counter *counters, int cpu, const struct unc_opener *o);

#endif
