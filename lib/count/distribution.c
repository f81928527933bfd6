/* SPDX-License-Identifier: MIT */
/* Histograms of short samples. A percentile is the middle of a bin, accurate to 1.1 %. */
#include "count/distribution.h"

#include <math.h>
#include <string.h>

/* The index of the bin of a value above 0: bin n holds values above 2^((n-1)/32), up to
 * 2^(n/32). */
static int bin_of(double value)
{
	return (int)ceil(log2(value) * UNCORE_BINS_PER_OCTAVE);
}

static int lowest_of(const struct unc_distribution *d)
{
	return d->highest - (UNCORE_BINS - 1);
}

/* Moves bins down; samples below the range go to the first bin. */
static void shift(uint64_t bins[UNCORE_BINS], size_t by)
{
	size_t lost = by < UNCORE_BINS ? by : UNCORE_BINS;
	uint64_t low = 0;

	for (size_t i = 0; i < lost; i++)
		low += bins[i];
	memmove(bins, bins + lost, (UNCORE_BINS - lost) * sizeof(*bins));
	memset(bins + UNCORE_BINS - lost, 0, lost * sizeof(*bins));
	bins[0] += low;
}

/* Adds samples to the bin with this index. */
static void put(struct unc_distribution *d, int index, uint64_t samples, uint64_t ns)
{
	size_t at;

	if (d->samples > d->zero && index > d->highest) {
		shift(d->bins, (size_t)(index - d->highest));
		shift(d->bins_ns, (size_t)(index - d->highest));
	}
	if (d->samples == d->zero || index > d->highest)
		d->highest = index;
	at = index > lowest_of(d) ? (size_t)(index - lowest_of(d)) : 0;
	d->bins[at] += samples;
	d->bins_ns[at] += ns;
	d->samples += samples;
	d->length_ns += ns;
}

static void take_burst(struct unc_distribution *d, uint64_t ns, uint64_t begin)
{
	if (ns <= d->burst_ns)
		return;
	d->burst_ns = ns;
	d->burst_begin = begin;
}

void unc_distribution_add(struct unc_distribution *d, double value, bool suspect, uint64_t begin_ns,
			  uint64_t length_ns)
{
	bool above = value >= d->threshold; /* not of NaN */

	if (!above)
		d->run_ns = 0;
	else if (!d->run_ns)
		d->run_begin = begin_ns;
	if (isnan(value)) {
		d->missing++;
		return;
	}
	if (above) {
		d->above_ns += length_ns;
		d->run_ns += length_ns;
		take_burst(d, d->run_ns, d->run_begin);
	}
	d->least = d->samples ? fmin(d->least, value) : value;
	d->most = d->samples ? fmax(d->most, value) : value;
	d->suspect += suspect;
	d->weighted += value * (double)length_ns;
	if (length_ns > d->longest_sample_ns)
		d->longest_sample_ns = length_ns;
	if (value > 0) {
		put(d, bin_of(value), 1, length_ns);
		return;
	}
	d->samples++;
	d->zero++;
	d->zero_ns += length_ns;
	d->length_ns += length_ns;
}

void unc_distribution_merge(struct unc_distribution *d, const struct unc_distribution *other)
{
	if (other->samples) {
		d->least = d->samples ? fmin(d->least, other->least) : other->least;
		d->most = d->samples ? fmax(d->most, other->most) : other->most;
	}
	for (int i = UNCORE_BINS; i-- > 0;)
		if (other->bins[i])
			put(d, lowest_of(other) + i, other->bins[i], other->bins_ns[i]);
	d->samples += other->zero;
	d->zero += other->zero;
	d->suspect += other->suspect;
	d->missing += other->missing;
	d->weighted += other->weighted;
	d->length_ns += other->zero_ns;
	d->zero_ns += other->zero_ns;
	d->above_ns += other->above_ns;
	if (other->longest_sample_ns > d->longest_sample_ns)
		d->longest_sample_ns = other->longest_sample_ns;
	take_burst(d, other->burst_ns, other->burst_begin);
}

void unc_distribution_restart(struct unc_distribution *d)
{
	*d = (struct unc_distribution){
		.threshold = d->threshold, .run_ns = d->run_ns, .run_begin = d->run_begin};
}

/* The value that was not exceeded for this share of the time. Bins before the first are empty. */
static double percentile(const struct unc_distribution *d, int first, double share)
{
	double wanted = share * (double)d->length_ns, sum = (double)d->zero_ns, middle;

	if (sum >= wanted)
		return d->most > 0 ? fmax(d->least, 0) : d->most;
	for (int i = first; i < UNCORE_BINS; i++) {
		sum += (double)d->bins_ns[i];
		if (sum < wanted)
			continue;
		middle = exp2((lowest_of(d) + i - 0.5) / UNCORE_BINS_PER_OCTAVE);
		return fmin(fmax(middle, d->least), d->most);
	}
	return d->most;
}

void unc_distribution_describe(const struct unc_distribution *d, struct uncore_distribution *out)
{
	int first = 0, end = UNCORE_BINS;

	while (first < end && !d->bins[first])
		first++;
	while (end > first && !d->bins[end - 1])
		end--;
	*out = (struct uncore_distribution){.samples = d->samples,
					    .suspect = d->suspect,
					    .missing = d->missing,
					    .longest_sample_ns = d->longest_sample_ns,
					    .mean = NAN,
					    .least = NAN,
					    .p50 = NAN,
					    .p90 = NAN,
					    .p99 = NAN,
					    .most = NAN,
					    .threshold = d->threshold,
					    .above_ns = d->above_ns,
					    .burst_ns = d->burst_ns,
					    .burst_begin_ns = d->burst_begin,
					    .zero_samples = d->zero,
					    .zero_ns = d->zero_ns,
					    .bin_count = (size_t)(end - first),
					    .first_bin = lowest_of(d) + first,
					    .bins = d->bins + first,
					    .bins_ns = d->bins_ns + first};
	if (!d->length_ns)
		return;
	out->mean = d->weighted / (double)d->length_ns;
	out->least = d->least;
	out->most = d->most;
	out->p50 = percentile(d, first, 0.5);
	out->p90 = percentile(d, first, 0.9);
	out->p99 = percentile(d, first, 0.99);
}
