/* SPDX-License-Identifier: MIT */
/* Rows: what a monitor reports. Each sums the counters of the targets that have its key. */
#ifndef UNC_ROWS_H
#define UNC_ROWS_H

#include "count/delta.h"
#include "count/query.h"

/* One counter of a row. */
struct unc_row_counter {
	size_t number;   /* in the plan */
	size_t event;    /* of the query */
	size_t instance; /* a PMU on a CPU; its counters are adjacent */
};

struct unc_row {
	const struct unc_query *query;
	struct uncore_row_place key; /* targets with the same one are in the same row */
	const struct uncore_device
		*port;  /* the only root port in it; NULL: several, or none known */
	double ceiling; /* that its value cannot exceed; NaN: not known */
	char *gaps;     /* the reasons of its gaps; NULL: no gap */
	struct unc_row_counter *counters;
	size_t counter_count; /* 0: it is there for its gaps */
	size_t round;
	enum uncore_level level;
	const struct unc_kernel_bug
		*bug; /* that its events have, or (not `suspect`) may have; NULL */
};

struct unc_rows {
	struct unc_row *items;
	size_t count;
};

/* The rows of all queries at their levels, once it is planned which counters serve their requests. -ENOMEM. */
int unc_rows_make(struct unc_rows *out, struct uncore *u, const struct unc_query *queries,
		  size_t query_count, const struct unc_request_set *sets);
void unc_rows_finish(struct unc_rows *rows);

/* What all counters did between two readings, or in all intervals so far. */
struct unc_interval {
	const struct unc_counter *counters;
	const struct unc_delta *deltas;
	size_t count;       /* of counters */
	uint64_t length_ns; /* by the clock */
	struct uncore *machine;
	const struct unc_rows *rows; /* of all metrics; NULL: none but the one in question */
};

/* One event of a row. The first_... are counters, by their numbers in the plan. */
struct unc_sum {
	double value; /* scaled increments */
	double per_s; /* of each counter by the time that it was enabled; of a state 0 */
	uint64_t shortest_ns, longest_ns; /* times that counters with a value were enabled */
	uint64_t count, enabled_ns, running_ns;
	uint64_t waited_ns; /* enabled, but without a value: never on the hardware */
	size_t used;        /* counters with a value */
	size_t missing;     /* counters without */
	size_t suspect;     /* of them: whose count cannot be */
	size_t first_bad;   /* the first that is suspect, else the first without a value */
	size_t still;       /* counters with a value of 0 */
	size_t first_still;
	size_t cut_short; /* counters with a value that began late or ended early */
	size_t first_cut_short;
	uint64_t uncertain_ns; /* the largest of those with a value */
	uint64_t skew_ns;      /* so far the windows of those lie from the interval, at most */
	size_t interrupted;    /* counters with a value that lacks some interval */
	size_t first_interrupted;
	double coverage; /* least share of the time really counted; 1 when nothing was used */
};

/* Adds what counter number `counter` did. A sum begins as {.coverage = 1}. */
void unc_sum_add(struct unc_sum *sum, const struct unc_interval *interval, size_t counter);

/* Sums over the counters of each event. A ratio must not divide by instances that its numerator lacks: it
 * takes an instance with all its counters or not at all. */
void unc_row_sum(const struct unc_row *row, const struct unc_interval *interval,
		 struct unc_sum sums[static UNC_METRIC_EVENTS]);

#endif
