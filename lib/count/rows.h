/* SPDX-License-Identifier: MIT */
/* From readings to what a monitor reports: the difference of two readings of a counter, and rows, each of which
 * sums the counters of the targets that have its key. */
#ifndef UNC_ROWS_H
#define UNC_ROWS_H

#include "count/query.h"

/* ---- delta.c: the arithmetic of readings, for every source. Pure ---- */

/* What one counter did between two readings. */
enum unc_state {
	UNC_COUNTED,   /* as it should */
	UNC_NOT_OPEN,  /* never opened: the counter has the sentence */
	UNC_LOST,      /* the source could not read it */
	UNC_STOPPED,   /* enabled time did not advance: the kernel no longer counts it */
	UNC_NEVER_RAN, /* enabled, but at no time on the hardware */
	UNC_WENT_BACK, /* the count or a time fell, which none of them can; modulo 2^64 */
	UNC_TOO_FAST,  /* it rose by more than it can count in that time */
	UNC_WRAPPED,   /* it may have wrapped more than once: the difference is not known */
};

struct unc_delta {
	enum unc_state state;
	uint64_t count;      /* increments really counted */
	uint64_t enabled_ns; /* time it should have counted */
	uint64_t running_ns; /* time it did */
	uint64_t window_ns;  /* time between the readings, by the clock; */
	uint64_t took_ns;    /* how long these took: window_ns may be off by that */
	double scaled;       /* count, extrapolated to the enabled time */
	/* Of a count that wrapped, or for UNC_WENT_BACK and UNC_TOO_FAST: what changed, from and to. */
	const char *what; /* "count", "enabled time"; NULL: no more than the state is known */
	uint64_t from, to;
	const char *why; /* UNC_LOST, UNC_STOPPED: a constant, or NULL */
	uint64_t uncertain_ns,
		uncertain_end_ns; /* enabled_ns may be off by that: in all, at its end */
	bool interrupted;         /* a total: not read or not counted in some interval of it */
};

/* The difference of two readings of one counter. A count below 64 bits wraps at its width. What cannot
 * be the difference is no value: a fall that would be a wrap only if the counter were faster than it can
 * be (of one whose speed is not known: than any), a rise by more than that (in a second, when the interval
 * is shorter), or an interval so long that it may have wrapped
 * twice. */
struct unc_delta unc_delta_take(const struct uncore_counter *counter,
				const struct uncore_reading *before,
				const struct uncore_reading *after);

/* Adds the next interval to a total, which begins as {0}. Intervals without a reading are not in it;
 * after a count that cannot be there is no total. */
void unc_delta_add(const struct uncore_counter *counter, struct unc_delta *total,
		   const struct unc_delta *interval);

/* The quality of a row whose counters are all in this state. */
enum uncore_quality unc_state_quality(enum unc_state state);
/* Why the counter has no value. */
void unc_delta_explain(const struct uncore_counter *counter, const struct unc_delta *d,
		       struct unc_error *why);

/* ---- rows.c ---- */

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
	const struct uncore_counter *counters;
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
	size_t interrupted;    /* counters with a value, but not of each interval */
	size_t first_interrupted;
	double coverage; /* least share of the time really counted; 1 when nothing was used */
};

/* Adds what counter number `counter` did. A sum begins as {.coverage = 1}. */
void unc_sum_add(struct unc_sum *sum, const struct unc_interval *interval, size_t counter);

/* Sums over the counters of each event. A ratio must not divide by instances that are not in its numerator: it
 * takes an instance with all its counters or not at all. */
void unc_row_sum(const struct unc_row *row, const struct unc_interval *interval,
		 struct unc_sum sums[static UNC_METRIC_EVENTS]);

/* ---- judge.c: the value, quality and reason of a row ---- */

#define UNC_REASON_ROOM 512 /* of one row; a longer reason is cut */

/* Fills the row of a sample. `reason` is the room for its sentence (UNC_REASON_ROOM), and must live as long as the row. `inputs`
 * has room for unc_row_input_count(). NULL: not needed. */
void unc_row_judge(const struct unc_row *row, const struct unc_interval *interval, char *reason,
		   struct uncore_row *out, struct uncore_input *inputs);
size_t unc_row_input_count(const struct unc_row *row);

#endif
