/* SPDX-License-Identifier: MIT */
/* Histograms of latency: the statistics that counts in bins allow. */
#include "base/histogram.h"

#include <math.h>

double unc_histogram_middle(const struct unc_histogram *h, size_t bin)
{
	if (bin + 1 == h->count)
		return h->last;
	return (h->lower[bin] + h->lower[bin + 1]) / 2;
}

bool unc_histogram_percentile(const double *counts, size_t bins, unsigned per_mille, size_t *bin)
{
	double total = 0, below = 0;

	for (size_t k = 0; k < bins; k++)
		total += counts[k];
	if (!(total > 0))
		return false;
	for (size_t k = 0; k < bins; k++) {
		below += counts[k];
		/* Whole numbers on both sides: no share that is rounded up into the next bin. */
		if (counts[k] > 0 && below * 1000 >= total * per_mille) {
			*bin = k;
			return true;
		}
	}
	return false;
}

void unc_histogram_bounds(const struct unc_histogram *h, size_t bin, double *low, double *high)
{
	*low = h->lower[bin];
	*high = bin + 1 == h->count ? NAN : h->lower[bin + 1] - 1;
}
