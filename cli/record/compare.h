/* SPDX-License-Identifier: MIT */
/* Whether two series of values differ by more than their noise. */
#ifndef CLI_RECORDING_COMPARE_H
#define CLI_RECORDING_COMPARE_H

#include <stddef.h>

/* The fewest intervals with a value that are compared, */
#define COMPARE_LEAST 20
/* and the largest error of the change with the verdict "no change". */
#define COMPARE_RESOLUTION 0.1

enum verdict {
	VERDICT_SAME,
	VERDICT_CHANGED,
	VERDICT_UNKNOWN,
};

/* The values of intervals, and what each counts in a mean: the length of its interval, or of a
 * quotient its divisor. `weights` may be NULL: all count the same. */
struct values {
	const double *values, *weights;
	size_t count;
};

struct series {
	double mean;
	double deviation;   /* standard deviation of the values of intervals */
	double variance;    /* of the mean, with the autocorrelation of the values */
	double freedom;     /* degrees of it */
	double correlation; /* of neighbouring block means */
};

struct comparison {
	struct series a, b;
	/* Shares of A's mean; the change is within +- error at 95 %. NaN: A's is 0. */
	double change, error;
	enum verdict verdict;
	const char *reason; /* why the verdict is unknown; or NULL */
};

/* Welch's test at 99 % on block means. Neighbouring intervals are correlated, so that an error from
 * their number alone would be too small: blocks are made longer until their means are nearly
 * independent. */
void compare_series(struct comparison *c, const struct values *a, const struct values *b);

#endif
