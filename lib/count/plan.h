/* SPDX-License-Identifier: MIT */
/*
 * The plan: which counters to open for the events that are requested. Equal counters are opened once,
 * and a set of requests that is part of a larger one needs none of its own.
 */
#ifndef UNC_PLAN_H
#define UNC_PLAN_H

#include "source/source.h"

/* One event of a set. */
struct unc_request {
	const char *event; /* what stands between the slashes; borrowed */
	struct unc_config config;
	uint32_t modifiers;
	bool snapshot;
	size_t counter; /* index in the plan; filled by unc_plan_build */
};

/* Events of one PMU, counted from one CPU. */
struct unc_request_set {
	const struct uncore_pmu *pmu;
	int cpu;
	bool together; /* one window for all its events */
	bool strict;   /* and it is an error when that cannot be */
	struct unc_request *requests;
	size_t count;
	int group;    /* number of its "{}" within one add; -1: none */
	size_t query; /* of a metric: its number, from 1 on; 0: events */
	size_t round;
	bool plain; /* of a metric without filters: as its data file has it */
};

struct unc_plan {
	struct unc_counter *counters; /* ordered by round, CPU, PMU, set */
	size_t count;
	size_t set_count;
	size_t round_count;
};

/* Assigns each metric to the first round in which the PMUs have counters for it; what needs more than
 * there are has one of its own. Events are in the first. `queries`: the greatest number of one. -ENOMEM. */
int unc_plan_rounds(struct unc_request_set *sets, size_t count, size_t queries);

/* Plans all sets, and enters the counter of each request. */
int unc_plan_build(struct unc_plan *out, struct unc_request_set *sets, size_t count);
void unc_plan_finish(struct unc_plan *p);

#endif
