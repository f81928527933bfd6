/* SPDX-License-Identifier: MIT */
/* Rows as means over several runs of a command, with their spread. */
#ifndef CLI_REPEAT_H
#define CLI_REPEAT_H

#include <stddef.h>

#include "output/output.h"

struct repeat_row {
	/* The row of the first run, with copies of its strings; rate and amount are means. */
	struct uncore_row row;
	struct uncore_row_query query; /* `row` points to these */
	struct uncore_row_place place;
	struct uncore_row_counted counted;
	double mean, m2;           /* Welford: mean and sum of squared deviations of the values */
	unsigned values;           /* runs with a value */
	enum uncore_quality worst; /* of these runs; of all runs if all lack a value */
	enum uncore_quality told;  /* that of the reason */
	bool bin;                  /* a percentile: only its bin is known, and bins have no mean */
	bool open;                 /* in a run the bin was the last one, which has no upper bound */
};

struct repeat {
	struct repeat_row **rows;
	size_t count;
	unsigned runs;
	double seconds; /* of all windows */
	double time;
};

void repeat_add(struct repeat *r, const struct frame *f);

/* Prints the means, nothing without a run, and frees the rows. */
void repeat_print(struct repeat *r, struct out *out);

#endif
