/* SPDX-License-Identifier: MIT */
/* The mean, percentiles and maximum of a row over the intervals of a recording. */
#ifndef CLI_RECORDING_STATISTICS_H
#define CLI_RECORDING_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

#include "uncore.h"

/* The values of one row. */
struct statistics {
	double *values; /* of every `stride`-th interval that has one */
	size_t count;
	uint64_t stride, intervals; /* all that have one */
	uint64_t missing, doubtful; /* without a value; partial or suspect */
	double sum, weight;         /* of the mean */
	double p50, p99, most;
	uint64_t most_ns; /* the end of that interval, wall clock */
	enum uncore_quality quality;
	char *reason; /* the first one of the worst quality */
};

/* Adds an interval that ended at this time. The value is that of the row, or one that was made of
 * it; NaN: it has none. The weight is that of the mean. */
void statistics_add(struct statistics *s, const struct uncore_row *row, double value, double weight,
		    uint64_t wall_ns);
/* All intervals were added. */
void statistics_finish(struct statistics *s);
double statistics_mean(const struct statistics *s);
void statistics_free(struct statistics *s);

#endif
