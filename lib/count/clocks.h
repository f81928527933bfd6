/* SPDX-License-Identifier: MIT */
/* The clocks of PMUs: what is never idle shows whether a PMU counts at all. */
#ifndef UNC_CLOCKS_H
#define UNC_CLOCKS_H

#include "count/rows.h"

/* In a shorter time a working counter may not change: energy counters are updated about once a
 * millisecond. */
#define UNC_STUCK_NS 100000000

struct unc_clocks {
	size_t *items; /* counters of the plan that count cycles */
	size_t count;
	/* For each counter of the plan: */
	struct unc_clocked {
		size_t clock;      /* that of its PMU, CPU and round; SIZE_MAX: none */
		bool lacking;      /* its PMU has no hardware, as its clock shows */
		bool never_idle;   /* its event never stops, */
		uint64_t still_ns; /* and has not moved for so long since the start; 0: it has */
	} * counters;
	bool any_lacking, any_absent; /* absent: as its source said when it was opened */
};

/* Requests the clock of PMUs of memory that metrics are counted on, wherever a counter is free.
 * -ENOMEM. */
int unc_clocks_request(struct uncore_monitor *m);

/* Finds the clocks among the counters of a plan. -ENOMEM. */
int unc_clocks_find(struct unc_clocks *out, const struct unc_plan *plan);
void unc_clocks_finish(struct unc_clocks *c);

/* Whether a clock did not move in an interval that is long enough. */
bool unc_clock_stopped(const struct unc_delta *d);
/* Whether any of them did not. */
bool unc_clocks_stopped(const struct unc_clocks *c, const struct unc_delta *deltas);

/* From the deltas of the counters since the start: finds counters that have never moved, and PMUs
 * without hardware, which only families have whose driver may register some. True: there are others
 * than before. */
bool unc_clocks_update(struct unc_clocks *c, struct uncore *u, const struct unc_plan *plan,
		       const struct unc_delta *totals);

#endif
