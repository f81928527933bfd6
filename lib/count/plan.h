/* SPDX-License-Identifier: MIT */
/*
 * The plan: which counters to open for what was asked. A want is one set of events on one PMU and
 * CPU. Equal counters are opened once, and a set that is part of a larger one rides along with it.
 */
#ifndef UNC_PLAN_H
#define UNC_PLAN_H

#include "source/source.h"

/* One event of a want. */
struct unc_wanted {
	const char *event; /* what stands between the slashes; borrowed */
	struct unc_config config;
	uint32_t modifiers;
	bool snapshot;
	size_t counter; /* index in the plan; filled by unc_plan_build */
};

struct unc_want {
	const struct uncore_pmu *pmu;
	int cpu;
	const struct uncore_device *port; /* the root port it is restricted to; NULL: none */
	bool together;                    /* one window for all its events */
	bool strict;                      /* and it is an error when that cannot be */
	struct unc_wanted *events;
	size_t count;
	int group;    /* number of its "{}" within one add; -1: none */
	size_t order; /* in which it was asked for */
};

struct unc_plan {
	struct unc_counter *counters; /* ordered by CPU, PMU, set */
	size_t count;
	size_t set_count;
};

/* Plans all wants, and notes in each which counters serve it. */
int unc_plan_build(struct unc_plan *out, struct unc_want *wants, size_t count);
void unc_plan_finish(struct unc_plan *p);

#endif
