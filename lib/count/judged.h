/* SPDX-License-Identifier: MIT */
/* A row between its counters and the caller: value.c computes it, and judge.c says how good it
 * is. */
#ifndef UNC_JUDGED_H
#define UNC_JUDGED_H

#include "count/rows.h"

/* Another metric. */
struct unc_other_value {
	double value; /* NaN: no value */
	double low, high, coverage;
};

struct unc_judged_row {
	const struct unc_row *row;
	const struct uncore_metric *metric; /* NULL: an event */
	const struct unc_interval *interval;
	char *reason; /* UNC_REASON_ROOM bytes; NULL: the quality is enough */
	struct uncore_row *out;
	struct uncore_row_counted *counted; /* of it */
	/* One for each event; unc_value_set() fills `sums` and `in`. The caller has the room, which
	 * is too large to be cleared for each row of each short sample. */
	struct unc_sum *sums;
	struct unc_formula_input *in; /* of a metric's formula */
	bool even;                    /* all counters were enabled for the same time */
	double uncertain_s; /* the uncertainty of the time for which the counters were enabled */
	bool time_unknown;  /* a counter stopped at an unknown time between its two readings */
	double took_s;      /* the time between the reads of the counters of a group */
	double error_share; /* what the counts may be off by */
	double skew; /* distance of the readings from the ends of the interval, as a share of it */
	bool open_ended;              /* the value depends on that time, which is unknown */
	struct unc_other_value whole; /* the metric that the formula is divided by */
};

/* One instance of a row, as a row of its own. */
struct unc_judged_part {
	struct unc_judged_row v;
	struct unc_row row;
	struct uncore_row out;
	struct uncore_row_counted counted;
	struct unc_sum sums[UNC_METRIC_EVENTS];
	struct unc_formula_input in[UNC_METRIC_EVENTS];
};

/* Sets the value of the instance whose counters begin at number `from`; it must be valid as long as
 * it is not moved. Returns where the next one begins. */
size_t unc_value_of_part(const struct unc_judged_row *v, size_t from, struct unc_judged_part *into);

/* The name of event `k` of the row. */
const char *unc_input_name(const struct unc_judged_row *v, size_t k);

/* Fills sums, inputs and times, and sets the value and its bounds. */
void unc_value_set(struct unc_judged_row *v);
/* Divides it by the metric that it is a share of, a count of another PMU: `over` is not NULL. */
void unc_value_share(struct unc_judged_row *v);
/* The value of another metric in the same place; its members are NaN where it has none. */
struct unc_other_value unc_value_of_metric(const struct unc_judged_row *v, const char *name);
/* What readings of its counters have added to the value themselves; 0: nothing, or unknown. */
double unc_value_own(const struct unc_judged_row *v);
void unc_value_inputs(const struct unc_judged_row *v, struct uncore_input *inputs);

#endif
