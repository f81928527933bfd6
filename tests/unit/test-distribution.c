/* SPDX-License-Identifier: MIT */
/* Distributions of short samples, compared with all values sorted. */
#include "count/distribution.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)
#define COUNT 5000
#define BIN 1.011 /* half a bin: 2^(1/64) */

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Values over `octaves` octaves from 1e6 on, always the same. */
static void make(double values[COUNT], double octaves)
{
	uint64_t random = 1;

	for (size_t i = 0; i < COUNT; i++) {
		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		values[i] = 1e6 * exp2(octaves * (double)(random >> 33) / 2147483648.0);
	}
}

static void add(struct unc_distribution *d, double value, uint64_t begin_ms, uint64_t length_ms)
{
	unc_distribution_add(d, value, false, begin_ms * MS, length_ms * MS);
}

static struct uncore_distribution describe(const struct unc_distribution *d)
{
	struct uncore_distribution out;

	unc_distribution_describe(d, &out);
	return out;
}

static void assert_near(double value, double expected)
{
	assert_true(value <= expected * BIN && value >= expected / BIN);
}

static void percentiles_of_sorted_values(void **state)
{
	static double values[COUNT];
	struct unc_distribution d = {.threshold = NAN};
	struct uncore_distribution out;
	double sum = 0;

	(void)state;
	make(values, 18);
	for (size_t i = 0; i < COUNT; i++) {
		add(&d, values[i], i, 1);
		sum += values[i];
	}
	out = describe(&d);
	qsort(values, COUNT, sizeof(*values), compare);
	assert_near(out.p50, values[COUNT / 2 - 1]);
	assert_near(out.p90, values[COUNT * 9 / 10 - 1]);
	assert_near(out.p99, values[COUNT * 99 / 100 - 1]);
	assert_true(out.least == values[0] && out.most == values[COUNT - 1]);
	assert_true(fabs(out.mean - sum / COUNT) < 1e-9 * out.mean);
	assert_int_equal(out.samples, COUNT);
}

/* Half of the time, not half of the samples. */
static void long_samples_weigh_more(void **state)
{
	struct unc_distribution d = {.threshold = NAN};
	struct uncore_distribution out;

	(void)state;
	for (uint64_t i = 0; i < 6; i++)
		add(&d, 100, i, 1);
	add(&d, 7, 6, 10);
	out = describe(&d);
	assert_near(out.p50, 7);
	assert_near(out.p90, 100);
	assert_true(fabs(out.mean - 670.0 / 16) < 1e-9);
	assert_int_equal(out.longest_sample_ns, 10 * MS);
}

/* Below the lowest bin values are not told apart, and nothing is outside of least and most. */
static void values_of_any_size(void **state)
{
	struct unc_distribution d = {.threshold = NAN};
	struct uncore_distribution out;

	(void)state;
	add(&d, 0, 0, 5);
	add(&d, 1e-300, 5, 1);
	add(&d, 1e300, 6, 1);
	add(&d, 3, 7, 2);
	out = describe(&d);
	assert_true(out.least == 0 && out.most == 1e300 && out.p50 == 0);
	assert_near(out.p99, 1e300);
	assert_int_equal(out.samples, 4);
	d = (struct unc_distribution){.threshold = NAN};
	add(&d, -5, 0, 1);
	out = describe(&d);
	assert_true(out.p50 == -5 && out.p99 == -5 && out.least == -5 && out.most == -5);
}

static void nothing_counted(void **state)
{
	struct unc_distribution d = {.threshold = 1};
	struct uncore_distribution out;

	(void)state;
	add(&d, NAN, 0, 1);
	out = describe(&d);
	assert_int_equal(out.missing, 1);
	assert_int_equal(out.samples, 0);
	assert_true(isnan(out.mean) && isnan(out.p50) && isnan(out.most) && isnan(out.least));
}

/* The share of the time with values up to the bin's upper bound. */
static double bound_of(const struct uncore_distribution *d, double share)
{
	double total = (double)d->zero_ns, sum = total;
	size_t i = 0;

	for (size_t k = 0; k < d->bin_count; k++)
		total += (double)d->bins_ns[k];
	while (i < d->bin_count && sum < share * total)
		sum += (double)d->bins_ns[i++];
	return i ? exp2((d->first_bin + (int)i - 1) / 32.0) : 0;
}

/* The histogram by itself: each value is in the bin of its bounds, and percentiles are those of the time. */
static void bins(void **state)
{
	static double values[COUNT];
	struct unc_distribution d = {.threshold = NAN};
	struct uncore_distribution out;
	uint64_t samples = 0;

	(void)state;
	make(values, 15);
	for (size_t i = 0; i < COUNT; i++)
		add(&d, i % 50 ? values[i] : -1, i, 1 + i % 4);
	out = describe(&d);
	for (size_t k = 0; k < out.bin_count; k++) {
		double low = exp2((out.first_bin + (int)k - 1) / 32.0), high = low * exp2(1 / 32.0);
		uint64_t within = 0;

		for (size_t i = 0; i < COUNT; i++)
			within += i % 50 && values[i] > low && values[i] <= high;
		assert_int_equal(out.bins[k], within);
		samples += out.bins[k];
	}
	assert_int_equal(out.zero_samples, COUNT / 50);
	assert_int_equal(samples + out.zero_samples, out.samples);
	assert_true(out.bins[0] && out.bins[out.bin_count - 1]);
	assert_near(bound_of(&out, 0.5) / exp2(1 / 64.0), out.p50);
	assert_near(bound_of(&out, 0.99) / exp2(1 / 64.0), out.p99);
}

/* As in Prometheus, a bound belongs to the bin below it: 1 to bin 0, 2 to bin 32. */
static void bounds_of_bins(void **state)
{
	struct unc_distribution d = {.threshold = NAN};
	struct uncore_distribution out = describe(&d);

	(void)state;
	assert_int_equal(out.bin_count, 0);
	add(&d, 1, 0, 1);
	add(&d, 2, 1, 1);
	add(&d, 2.0001, 2, 3);
	out = describe(&d);
	assert_int_equal(out.first_bin, 0);
	assert_int_equal(out.bin_count, 34);
	assert_true(out.bins[0] == 1 && out.bins[32] == 1 && out.bins[33] == 1);
	assert_true(out.bins_ns[0] == MS && out.bins_ns[33] == 3 * MS);
	/* 20 octaves: what is below them is in the lowest bin. */
	add(&d, exp2(25), 6, 2);
	out = describe(&d);
	assert_int_equal(out.bin_count, UNCORE_BINS);
	assert_int_equal(out.first_bin, 25 * 32 - (UNCORE_BINS - 1));
	assert_true(out.bins[0] == 3 && out.bins_ns[0] == 5 * MS);
}

/* The parts added up are the whole. */
static void merged(void **state)
{
	static double values[COUNT];
	struct unc_distribution whole = {.threshold = 1e9}, sum = {.threshold = 1e9};
	struct unc_distribution part = {.threshold = 1e9};
	struct uncore_distribution a, b;

	(void)state;
	make(values, 19);
	for (size_t i = 0; i < COUNT; i++) {
		double value = i % 7 == 3 ? 0 : i % 11 == 5 ? NAN : values[i];

		add(&whole, value, i, 1 + i % 3);
		add(&part, value, i, 1 + i % 3);
		if (i % 100 == 99) {
			unc_distribution_merge(&sum, &part);
			unc_distribution_restart(&part);
		}
	}
	a = describe(&whole);
	b = describe(&sum);
	assert_true(a.p50 == b.p50 && a.p90 == b.p90 && a.p99 == b.p99);
	assert_true(a.least == b.least && a.most == b.most);
	assert_true(fabs(a.mean - b.mean) < 1e-9 * a.mean);
	assert_true(a.samples == b.samples && a.missing == b.missing);
	assert_true(a.above_ns && a.above_ns == b.above_ns);
	assert_true(a.first_bin == b.first_bin && a.bin_count == b.bin_count);
	assert_memory_equal(a.bins, b.bins, a.bin_count * sizeof(*a.bins));
	assert_memory_equal(a.bins_ns, b.bins_ns, a.bin_count * sizeof(*a.bins_ns));
	assert_true(a.zero_samples == b.zero_samples && a.zero_ns == b.zero_ns);
	assert_true(a.burst_ns && a.burst_ns == b.burst_ns && a.burst_begin_ns == b.burst_begin_ns);
}

static void bursts(void **state)
{
	struct unc_distribution d = {.threshold = 80};
	const double values[] = {10, 80, 90, 79, 100, 100, 100, NAN, 100, 10};
	struct uncore_distribution out;

	(void)state;
	for (uint64_t i = 0; i < 10; i++)
		add(&d, values[i], i, 1);
	out = describe(&d);
	assert_int_equal(out.above_ns, 6 * MS);
	assert_int_equal(out.burst_ns, 3 * MS);
	assert_int_equal(out.burst_begin_ns, 4 * MS);
}

/* The first one of several bursts of equal length is reported. */
static void the_first_of_equal_bursts(void **state)
{
	struct unc_distribution d = {.threshold = 80};
	const double values[] = {90, 90, 10, 95, 95, 10, 99};
	struct uncore_distribution out;

	(void)state;
	for (uint64_t i = 0; i < 7; i++)
		add(&d, values[i], i, 1);
	out = describe(&d);
	assert_int_equal(out.burst_ns, 2 * MS);
	assert_int_equal(out.burst_begin_ns, 0);
	assert_int_equal(out.above_ns, 5 * MS);
}

/* Those without a value are missing, whatever they are said to be. */
static void suspect_samples(void **state)
{
	struct unc_distribution d = {.threshold = NAN}, sum = {.threshold = NAN};

	(void)state;
	unc_distribution_add(&d, 5, true, 0, MS);
	unc_distribution_add(&d, 0, true, 0, MS);
	unc_distribution_add(&d, NAN, true, 0, MS);
	unc_distribution_add(&d, 5, false, 0, MS);
	assert_int_equal(describe(&d).suspect, 2);
	assert_int_equal(describe(&d).samples, 3);
	assert_int_equal(describe(&d).missing, 1);
	unc_distribution_merge(&sum, &d);
	unc_distribution_merge(&sum, &d);
	assert_int_equal(describe(&sum).suspect, 4);
	assert_int_equal(describe(&sum).zero_ns, 2 * MS);
	assert_int_equal(describe(&sum).longest_sample_ns, MS);
}

/* A burst that an interval ends in has its whole length in the next one. */
static void burst_over_two_intervals(void **state)
{
	struct unc_distribution d = {.threshold = 80};
	struct uncore_distribution out;

	(void)state;
	add(&d, 90, 8, 2);
	assert_int_equal(describe(&d).burst_ns, 2 * MS);
	unc_distribution_restart(&d);
	assert_int_equal(describe(&d).burst_ns, 0);
	add(&d, 90, 10, 3);
	out = describe(&d);
	assert_int_equal(out.burst_ns, 5 * MS);
	assert_int_equal(out.burst_begin_ns, 8 * MS);
	assert_int_equal(out.above_ns, 3 * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(percentiles_of_sorted_values),
		cmocka_unit_test(long_samples_weigh_more),
		cmocka_unit_test(values_of_any_size),
		cmocka_unit_test(nothing_counted),
		cmocka_unit_test(bins),
		cmocka_unit_test(bounds_of_bins),
		cmocka_unit_test(merged),
		cmocka_unit_test(bursts),
		cmocka_unit_test(the_first_of_equal_bursts),
		cmocka_unit_test(suspect_samples),
		cmocka_unit_test(burst_over_two_intervals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
