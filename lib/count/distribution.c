/* SPDX-License-Identifier: MIT */
/* Histograms of short samples. A bin is as wide as 2^(1/32): a percentile is its middle, right to 1.1 %. */
#include "count/distribution.h"

#include <math.h>
#include <string.h>

static const size_t BINS = UNC_DISTRIBUTION_BINS;

/* The number of the bin of a value above 0: bin n holds values from 2^(n/32) on. */
static int bin_of(double value)
{
	return (int)floor(log2(value) * UNC_BINS_PER_OCTAVE);
}

/* Makes `highest` the last bin; what falls off the lower end goes to the first bin. */
static void raise(struct unc_distribution *d, int highest)
{
	size_t by = (size_t)(highest - d->highest), lost;
	uint64_t low_ns = 0;

	if (d->length_ns == d->zero_ns) { /* the first value above 0 */
		d->highest = highest;
		return;
	}
	if (highest <= d->highest)
		return;
	lost = by < BINS ? by : BINS;
	for (size_t i = 0; i < lost; i++)
		low_ns += d->bins_ns[i];
	memmove(d->bins_ns, d->bins_ns + lost, (BINS - lost) * sizeof(*d->bins_ns));
	memset(d->bins_ns + BINS - lost, 0, lost * sizeof(*d->bins_ns));
	d->bins_ns[0] += low_ns;
	d->highest = highest;
}

/* Adds a time to the bin with this number. */
static void put(struct unc_distribution *d, int bin, uint64_t ns)
{
	int lowest;

	raise(d, bin);
	lowest = d->highest - (UNC_DISTRIBUTION_BINS - 1);
	d->bins_ns[bin > lowest ? bin - lowest : 0] += ns;
	d->length_ns += ns;
}

static void take_burst(struct unc_distribution *d, uint64_t ns, uint64_t begin)
{
	if (ns <= d->burst_ns)
		return;
	d->burst_ns = ns;
	d->burst_begin = begin;
}

void unc_distribution_add(struct unc_distribution *d, const struct unc_short_sample *s)
{
	bool above = s->value >= d->threshold; /* not of NaN */

	if (!above)
		d->run_ns = 0;
	else if (!d->run_ns)
		d->run_begin = s->begin_ns;
	if (isnan(s->value)) {
		d->missing++;
		return;
	}
	if (above) {
		d->above_ns += s->length_ns;
		d->run_ns += s->length_ns;
		take_burst(d, d->run_ns, d->run_begin);
	}
	d->least = d->samples ? fmin(d->least, s->value) : s->value;
	d->most = d->samples ? fmax(d->most, s->value) : s->value;
	d->samples++;
	d->suspect += s->suspect;
	d->weighted += s->value * (double)s->length_ns;
	if (s->length_ns > d->longest_sample_ns)
		d->longest_sample_ns = s->length_ns;
	if (s->value > 0) {
		put(d, bin_of(s->value), s->length_ns);
		return;
	}
	d->zero_ns += s->length_ns;
	d->length_ns += s->length_ns;
}

void unc_distribution_merge(struct unc_distribution *d, const struct unc_distribution *other)
{
	int lowest = other->highest - (UNC_DISTRIBUTION_BINS - 1);

	if (other->samples) {
		d->least = d->samples ? fmin(d->least, other->least) : other->least;
		d->most = d->samples ? fmax(d->most, other->most) : other->most;
	}
	for (int i = UNC_DISTRIBUTION_BINS; i-- > 0;)
		if (other->bins_ns[i])
			put(d, lowest + i, other->bins_ns[i]);
	d->samples += other->samples;
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

/* The value that was not exceeded for this share of the time. */
static double percentile(const struct unc_distribution *d, double share)
{
	double wanted = share * (double)d->length_ns, sum = (double)d->zero_ns, middle;
	int lowest = d->highest - (UNC_DISTRIBUTION_BINS - 1);

	if (sum >= wanted)
		return d->most > 0 ? fmax(d->least, 0) : d->most;
	for (int i = 0; i < UNC_DISTRIBUTION_BINS; i++) {
		sum += (double)d->bins_ns[i];
		if (sum < wanted)
			continue;
		middle = exp2((lowest + i + 0.5) / UNC_BINS_PER_OCTAVE);
		return fmin(fmax(middle, d->least), d->most);
	}
	return d->most;
}

void unc_distribution_describe(const struct unc_distribution *d, struct uncore_distribution *out)
{
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
					    .burst_begin_ns = d->burst_begin};
	if (!d->length_ns)
		return;
	out->mean = d->weighted / (double)d->length_ns;
	out->least = d->least;
	out->most = d->most;
	out->p50 = percentile(d, 0.5);
	out->p90 = percentile(d, 0.9);
	out->p99 = percentile(d, 0.99);
}
