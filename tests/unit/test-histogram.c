/* SPDX-License-Identifier: MIT */
/* Histograms: means by midpoints, and percentiles that say no more than a bin can tell. */
#include "base/formula.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "helpers.h"

static const struct unc_histogram h = {.count = 5, .lower = {0, 16, 32, 64, 128}};

static size_t bin_of(const double *counts, unsigned per_mille)
{
	size_t bin = 99;

	assert_true(unc_histogram_percentile(counts, h.count, per_mille, &bin));
	return bin;
}

static void test_percentiles(void **state)
{
	static const double counts[] = {180000, 90000, 20000, 4000, 1000};

	(void)state;
	assert_int_equal(bin_of(counts, 500), 0);
	assert_int_equal(bin_of(counts, 900), 1);
	assert_int_equal(bin_of(counts, 990), 3);
	assert_int_equal(bin_of(counts, 999), 4);
}

/* The 9th of ten is p90 by nearest rank, not the 10th; an empty bin holds no percentile. */
static void test_ranks(void **state)
{
	static const double edge[] = {9, 1, 0, 0, 0}, one[] = {0, 0, 1, 0, 0}, none[5] = {0};
	size_t bin = 99;

	(void)state;
	assert_int_equal(bin_of(edge, 900), 0);
	assert_int_equal(bin_of(edge, 901), 1);
	assert_int_equal(bin_of(one, 1), 2);
	assert_int_equal(bin_of(one, 999), 2);
	assert_false(unc_histogram_percentile(none, h.count, 500, &bin));
	assert_int_equal(bin, 99);
}

static void test_bounds(void **state)
{
	double low, high;

	(void)state;
	unc_histogram_bounds(&h, 1, &low, &high);
	assert_true(low == 16 && high == 31);
	unc_histogram_bounds(&h, 4, &low, &high);
	assert_true(low == 128 && isnan(high));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_percentiles),
		cmocka_unit_test(test_ranks),
		cmocka_unit_test(test_bounds),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
