/* SPDX-License-Identifier: MIT */
/* Rows of several runs of a command as means with their spread. */
#ifndef CLI_REPEAT_H
#define CLI_REPEAT_H

#include <stddef.h>

#include "output/output.h"

struct repeat_row {
	struct uncore_row row;         /* with strings of its own; of the first run */
	struct uncore_row_query query; /* of it */
	struct uncore_row_place place;
	struct uncore_row_counted counted;
	double mean, m2;           /* Welford: mean and sum of squared deviations of the values */
	unsigned values;           /* runs with a value */
	enum uncore_quality worst; /* of those; of all when none has one */
	bool bin;                  /* a percentile: only its bin is known, and bins have no mean */
	bool open;                 /* and once it was the last bin, which has no end */
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
