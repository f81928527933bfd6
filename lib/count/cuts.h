/* SPDX-License-Identifier: MIT */
/* What the two parts of a monitor's cuts share: the ways to narrow a PMU, and the terms of each. */
#ifndef UNC_MONITOR_CUTS_H
#define UNC_MONITOR_CUTS_H

#include "catalogue/ports.h"
#include "count/monitor.h"

/* One way to narrow the PMU: to some of its ports, to a device, to a range. */
struct unc_way {
	const struct uncore_device *port; /* that it covers; NULL: several, or not known */
	unsigned kinds;                   /* bit n: the filter n is used */
	uint64_t ports, bdf;
	struct unc_range range;
};

/* One PMU and CPU being restricted. */
struct unc_cutter {
	struct uncore_monitor *m;
	const struct unc_filters *filters;
	const struct unc_family *family;
	const struct uncore_pmu *pmu;
	struct unc_error *why;
	const struct unc_port *ports; /* that the PMU counts */
	size_t port_count;
	bool unknown;         /* which they are is not known; `why` says why */
	bool apart;           /* its filter can tell them apart */
	bool restricted;      /* some event of the metric can be */
	struct unc_way *ways; /* room for each port, each choice of the user and each BAR */
	size_t way_count;
};

/* The sentence that the family has no such filter; -ENODEV. */
int unc_cut_refuse(const struct unc_cutter *x, size_t kind);

/* monitor-ways.c: fills the ways, which are the caller's to free; none when the PMU counts nothing of
 * what is asked. -ENODEV with a sentence: it cannot be narrowed so. */
int unc_find_ways(struct unc_cutter *x, int cpu);

#endif
