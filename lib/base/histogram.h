/* SPDX-License-Identifier: MIT */
/* Histograms of latency that hardware counts: bins of whole cycles, the last one open. Pure. */
#ifndef UNC_HISTOGRAM_H
#define UNC_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>

#define UNC_HISTOGRAM_BINS 32

struct unc_histogram {
	size_t count;                     /* of bins, at least 2 */
	double lower[UNC_HISTOGRAM_BINS]; /* ascending: bin k ends where bin k + 1 begins */
	double last;                      /* the value of the open last bin in a mean */
};

/* The value of a bin: the middle between its bound and that of the next. */
double unc_histogram_middle(const struct unc_histogram *h, size_t bin);

/* The bin in which the percentile lies, of `counts` in each bin; `per_mille` 990 is p99. It is the
 * first bin up to which that share of all has been counted (nearest rank). False: all are 0. */
bool unc_histogram_percentile(const double *counts, size_t bins, unsigned per_mille, size_t *bin);

/* First and last whole cycle of a bin; the last bin has no upper bound: NaN. */
void unc_histogram_bounds(const struct unc_histogram *h, size_t bin, double *low, double *high);

#endif
