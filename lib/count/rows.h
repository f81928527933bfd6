/* SPDX-License-Identifier: MIT */
/* From readings to rows: the difference of two readings of a counter, and rows, each of which is
 * the sum over the counters of the targets with the row's key. */
#ifndef UNC_ROWS_H
#define UNC_ROWS_H

#include "count/query.h"

/* ---- delta.c: the arithmetic of readings, for every source. Pure ---- */

/* The state of one counter between two readings. */
enum unc_state {
	UNC_COUNTED,   /* as it should */
	UNC_NOT_OPEN,  /* never opened: the counter has the reason */
	UNC_LOST,      /* the source could not read it */
	UNC_STOPPED,   /* enabled time did not advance: the kernel no longer counts it */
	UNC_NEVER_RAN, /* enabled, but never on the hardware */
	UNC_WRAPPED,   /* it may have wrapped more than once: the difference is unknown */
	/* There is a count, which is impossible: */
	UNC_WENT_BACK, /* the count or a time decreased; modulo 2^64 */
	UNC_TOO_FAST,  /* it rose by more than it can count in that time */
	UNC_REWRITTEN, /* the same of a register that other programs can write */
};

struct unc_delta {
	enum unc_state state;
	uint64_t count;      /* counted increments, not scaled */
	uint64_t enabled_ns; /* time for which it was enabled */
	uint64_t running_ns; /* time it did */
	uint64_t window_ns;  /* time between the readings, by the clock; */
	/* Duration of the readings, at both ends and at the last one: the uncertainty of window_ns,
	 * and the time between the reads of counters of one group. 0: they belong to one moment. */
	uint64_t took_ns, took_end_ns;
	/* For a count that wrapped, UNC_WENT_BACK and UNC_TOO_FAST: the changed number, its old and
	 * new value. */
	const char *what; /* "count", "enabled time"; NULL: only the state is known */
	uint64_t from, to;
	const char *why; /* UNC_LOST, UNC_STOPPED, `incomplete`: a constant, or NULL */
	bool quiet;      /* it did not move for a tenth of a second or more, but did before */
	uint64_t torn;   /* readings of halves of the register that were undone in `count` */
	uint64_t uncertain_ns,
		uncertain_end_ns; /* the uncertainty of enabled_ns: in all, and at its end */
	bool interrupted; /* a total: the counter was not read or not counted in some interval */
	bool incomplete;  /* the count lacks a part: `why` */
	uint64_t own;     /* of `count`: what its readings have added themselves, about */
};

/* The difference of two readings of one counter. A count below 64 bits wraps at its width. There is
 * no value if the difference is impossible: a decrease that would be a wrap only if the counter
 * were faster than its highest speed (if that is unknown: than any counter), an increase above that
 * speed (that of a second, if the interval is shorter), or an interval so long that it may have
 * wrapped twice. */
void unc_delta_take(const struct uncore_counter *counter, const struct uncore_reading *before,
		    const struct uncore_reading *after, struct unc_delta *d);

/* What a counter did before, by its rates over pieces of a tenth of a second or more. It begins as
 * {0}. */
struct unc_past {
	double slowest, fastest;    /* counts per second; the slowest since it was quiet */
	uint64_t pieces;            /* of which these are the slowest and the fastest */
	uint64_t count, running_ns; /* of the piece that has begun */
	bool rested;                /* it did not move for a whole piece, and was not expected to */
};

/* Compares the next interval with those before. A fall of a counter of unknown speed that would be
 * a wrap only if it had been many times faster than ever is no count. Finds what is quiet. */
void unc_delta_compare(const struct uncore_counter *counter, struct unc_past *past,
		       struct unc_delta *d);

/* Adds the next interval to a total, which begins as {0}. Intervals without a reading are left out;
 * after an impossible count there is no total. */
void unc_delta_add(const struct uncore_counter *counter, struct unc_delta *total,
		   const struct unc_delta *interval);

/* The count of a counter that has one, extrapolated to the enabled time; that of a state (a
 * snapshot) as it is. */
static inline double unc_delta_scaled(const struct uncore_counter *counter,
				      const struct unc_delta *d)
{
	if (counter->snapshot || d->running_ns >= d->enabled_ns)
		return (double)d->count;
	return (double)d->count * ((double)d->enabled_ns / (double)d->running_ns);
}

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
	struct uncore_row_place key;   /* targets with the same key are in the same row */
	struct uncore_row_place place; /* the key, with the only root port in the row */
	double ceiling;                /* the largest possible value; NaN: unknown */
	char *gaps;                    /* the reasons of its gaps; NULL: no gap */
	struct unc_row_counter *counters;
	size_t counter_count;      /* 0: a row for gaps only */
	size_t first_round, round; /* the first and the last with a counter of it */
	enum uncore_level level;
	bool extra;   /* no level of the query asks for it */
	bool repeats; /* its value and quality are those of the row before it */
	const struct unc_kernel_bug
		*bug; /* of its events, or a possible one (`suspect` is false); NULL: none */
};

struct unc_rows {
	struct unc_row *items;
	size_t count;
};

/* Makes the rows of all queries at their levels, after the plan has assigned counters to their
 * requests. -ENOMEM. */
int unc_rows_make(struct unc_rows *out, struct uncore *u, const struct unc_query *queries,
		  size_t query_count, const struct unc_request_set *sets);
void unc_rows_finish(struct unc_rows *rows);

/* The deltas of all counters between two readings, or over all intervals so far. */
struct unc_clocks; /* clocks.h */

struct unc_interval {
	const struct uncore_counter *counters;
	const struct unc_delta *deltas;
	size_t count;       /* of counters */
	uint64_t length_ns; /* by the clock */
	struct uncore *machine;
	const struct unc_rows *rows;     /* of all metrics; NULL: only the judged row is known */
	const struct unc_clocks *clocks; /* NULL: not known */
	bool clock_stopped;              /* one of these */
};

/* One event of a row. The first_... are counters, by their numbers in the plan. */
struct unc_sum {
	double value; /* scaled increments */
	/* The sum of counts, each divided by the counter's enabled time; 0 for a state. */
	double per_s;
	uint64_t shortest_ns, longest_ns; /* times that counters with a value were enabled */
	uint64_t count, enabled_ns, running_ns;
	uint64_t waited_ns; /* time enabled of counters that were never on the hardware */
	size_t used;        /* counters with a value */
	size_t missing;     /* counters without a value */
	size_t suspect;     /* of these: counters with an impossible count */
	size_t first_bad;   /* the first that is suspect, else the first without a value */
	size_t still; /* counters that are stuck: their event never stops, and they did not move */
	size_t first_still;
	size_t cut_short; /* counters with a value that began late or ended early */
	size_t first_cut_short;
	uint64_t uncertain_ns, took_ns; /* the largest of those with a value */
	uint64_t skew_ns;   /* the largest distance of their windows from the interval */
	size_t interrupted; /* counters with a value that lacks some interval */
	size_t first_interrupted;
	size_t torn; /* counters with a value of which torn readings were undone */
	size_t first_torn;
	size_t incomplete; /* counters with a value that lacks a part */
	size_t first_incomplete;
	double error_share; /* the largest of those of counters with a value */
	uint64_t own;       /* of `count`: what readings have added */
	const char *way;    /* of the first counter with one; NULL: all are read exactly */
	double coverage; /* smallest share of the time on the hardware; 1 if no counter was used */
};

/* Adds the delta of counter number `counter`. A sum begins as {.coverage = 1}. */
void unc_sum_add(struct unc_sum *sum, const struct unc_interval *interval, size_t counter);

/* Sums over the counters of each event. The numerator and divisor of a ratio must have the same
 * instances: an instance is used with all its counters or not at all. */
void unc_row_sum(const struct unc_row *row, const struct unc_interval *interval,
		 struct unc_sum sums[static UNC_METRIC_EVENTS]);

/* ---- judge.c: the value, quality and reason of a row ---- */

#define UNC_REASON_ROOM 512 /* of one row; a longer reason is truncated */

/* The row of a sample with the part that changes; the others are those of its unc_row. */
struct unc_judged {
	struct uncore_row row;
	struct uncore_row_counted counted;
};

/* Fills the row of a sample, which points into `into`: it must not be moved. `reason` is a buffer
 * for its reason (UNC_REASON_ROOM), and must be valid as long as the row. `inputs` has room for
 * `input_count` of its query. NULL: not needed. */
void unc_row_judge(const struct unc_row *row, const struct unc_interval *interval, char *reason,
		   struct unc_judged *into, struct uncore_input *inputs);
/* The same for a row that repeats the one `before` it, whose reason it borrows. */
void unc_row_repeat(const struct unc_row *row, const struct unc_judged *before,
		    struct unc_judged *into);

#endif
