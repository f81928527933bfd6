/* SPDX-License-Identifier: MIT */
/*
 * What a row's value was in the short samples of an interval: a histogram with 32 bins in each octave,
 * weighted by time, and the time above a threshold. Pure; allocates nothing.
 */
#ifndef UNC_DISTRIBUTION_H
#define UNC_DISTRIBUTION_H

#include "uncore.h"

#define UNC_BINS_PER_OCTAVE 32
#define UNC_DISTRIBUTION_BINS 640 /* 20 octaves; what is below them is in the first bin */

/* One short sample of a row. */
struct unc_short_sample {
	double value; /* NaN: none */
	bool suspect;
	uint64_t begin_ns, length_ns;
};

struct unc_distribution {
	uint64_t samples, suspect, missing; /* with a value; of them suspect; without */
	uint64_t longest_sample_ns;
	double least, most, weighted; /* of values; their sum, each times its length */
	uint64_t length_ns, zero_ns;  /* of samples with a value; of those with 0 or less */
	int highest; /* number of the last bin, by its power of 2^(1/32); valid with a value above 0 */
	uint64_t bins_ns[UNC_DISTRIBUTION_BINS];
	double threshold;               /* NaN: no values are counted as above */
	uint64_t above_ns;              /* time at or above the threshold */
	uint64_t run_ns, run_begin;     /* of the samples above it that the latest one ends */
	uint64_t burst_ns, burst_begin; /* the longest such run */
};

/* Adds a short sample; each begins where the one before ended. */
void unc_distribution_add(struct unc_distribution *d, const struct unc_short_sample *s);
/* Adds all that was added to `other`, which is later. */
void unc_distribution_merge(struct unc_distribution *d, const struct unc_distribution *other);
/* Drops the samples. A run above the threshold goes on in the next interval. */
void unc_distribution_restart(struct unc_distribution *d);
/* The figures of it. */
void unc_distribution_describe(const struct unc_distribution *d, struct uncore_distribution *out);

#endif
