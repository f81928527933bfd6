/* SPDX-License-Identifier: MIT */
/* The distribution of a row's value over the short samples of an interval: a histogram with 32 bins
 * in each octave, the time in each bin, and the time above a threshold. Pure; allocates nothing. */
#ifndef UNC_DISTRIBUTION_H
#define UNC_DISTRIBUTION_H

#include "uncore.h"

struct unc_distribution {
	uint64_t samples, suspect, missing; /* with a value; of them suspect; without */
	uint64_t longest_sample_ns;
	double least, most, weighted; /* of the values; the sum of values, each times its length */
	uint64_t length_ns;           /* of samples with a value */
	uint64_t zero, zero_ns;       /* samples with 0 or less, and their length */
	/* Index of the last bin, by struct uncore_distribution; valid with a value above 0. */
	int highest;
	uint64_t bins[UNCORE_BINS], bins_ns[UNCORE_BINS];
	double threshold;               /* NaN: no values are counted as above */
	uint64_t above_ns;              /* time at or above the threshold */
	uint64_t run_ns, run_begin;     /* the run above it that has not ended */
	uint64_t burst_ns, burst_begin; /* the longest such run */
};

/* Adds a short sample, which begins at the end of the previous one. `value` NaN: it has none. */
void unc_distribution_add(struct unc_distribution *d, double value, bool suspect, uint64_t begin_ns,
			  uint64_t length_ns);
/* Adds the samples of `other`, which are later. */
void unc_distribution_merge(struct unc_distribution *d, const struct unc_distribution *other);
/* Drops the samples. A run above the threshold continues in the next interval. */
void unc_distribution_restart(struct unc_distribution *d);
/* Fills in the public struct, which borrows the bins. */
void unc_distribution_describe(const struct unc_distribution *d, struct uncore_distribution *out);

#endif
