/* SPDX-License-Identifier: MIT */
/* Verdicts on series whose changes are known: noise, autocorrelated noise and waves. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "helpers.h"
#include "record/compare.h"

#define MOST 2000
#define TRIES 100

struct load {
	double noise;  /* of an interval, relative to the mean */
	double memory; /* its autocorrelation from one interval to the next */
	double wave, period;
};

static void fill(double *values, size_t count, const struct load *l, double mean)
{
	double y = l->noise * normal(), phase = uniform();

	for (size_t i = 0; i < count; i++) {
		double wave =
			l->wave > 0 ? sin(6.283185307179586 * (phase + (double)i / l->period)) : 0;

		values[i] = mean * (1 + y + l->wave * wave);
		y = l->memory * y + l->noise * sqrt(1 - l->memory * l->memory) * normal();
	}
}

/* How many of TRIES pairs get this verdict. */
static int count(const struct load *l, size_t values, double change, enum verdict verdict)
{
	static double a[MOST], b[MOST];
	struct comparison c;
	int found = 0;

	random_state = RANDOM_BEGIN;
	for (int i = 0; i < TRIES; i++) {
		fill(a, values, l, 1e9);
		fill(b, values, l, 1e9 * (1 + change));
		compare_series(&c, &(struct values){a, NULL, values},
			       &(struct values){b, NULL, values});
		found += c.verdict == verdict;
	}
	return found;
}

static const struct load loads[] = {
	{.noise = 0.01},
	{.noise = 0.05},
	{.noise = 0.05, .memory = 0.5},
	{.noise = 0.02, .memory = 0.9},
	{.noise = 0.03, .wave = 0.2, .period = 10.3},
};

static void an_equal_load_is_unchanged(void **s)
{
	(void)s;
	for (size_t i = 0; i < sizeof(loads) / sizeof(*loads); i++) {
		assert_in_range(count(&loads[i], 600, 0, VERDICT_SAME), 95, TRIES);
		assert_in_range(count(&loads[i], 2000, 0, VERDICT_SAME), 95, TRIES);
	}
}

static void a_change_of_3_percent_is_found(void **s)
{
	(void)s;
	for (size_t i = 0; i < sizeof(loads) / sizeof(*loads); i++) {
		assert_in_range(count(&loads[i], 2000, 0.03, VERDICT_CHANGED), 95, TRIES);
		assert_in_range(count(&loads[i], 2000, -0.03, VERDICT_CHANGED), 95, TRIES);
	}
}

/* Too short, too noisy, or of waves longer than it: seldom a wrong verdict. */
static void without_enough_values_it_is_unknown(void **s)
{
	const struct load slow = {.noise = 0.01, .wave = 0.5, .period = 100};
	const struct load wild = {.noise = 3};

	(void)s;
	assert_int_equal(count(&loads[0], COMPARE_LEAST - 1, 0.5, VERDICT_UNKNOWN), TRIES);
	assert_in_range(count(&slow, 60, 0, VERDICT_UNKNOWN), 95, TRIES);
	assert_in_range(count(&wild, 60, 0, VERDICT_UNKNOWN), 90, TRIES);
	assert_int_equal(count(&loads[0], 0, 0, VERDICT_UNKNOWN), TRIES);
}

static void the_error_contains_the_change(void **s)
{
	double a[300], b[300];
	struct comparison c;
	int inside = 0;

	(void)s;
	random_state = 1234567;
	for (int i = 0; i < 400; i++) {
		fill(a, 300, &loads[1], 2);
		fill(b, 300, &loads[1], 2.04);
		compare_series(&c, &(struct values){a, NULL, 300}, &(struct values){b, NULL, 300});
		inside += fabs(c.change - 0.02) <= c.error;
	}
	assert_in_range(inside, 372, 397); /* 95 % of 400, and 4 deviations */
}

static void constants_are_equal_or_not(void **s)
{
	double a[100], b[100];
	struct comparison c;

	(void)s;
	for (size_t i = 0; i < 100; i++)
		a[i] = b[i] = 0.1;
	compare_series(&c, &(struct values){a, NULL, 100}, &(struct values){b, NULL, 100});
	assert_int_equal(c.verdict, VERDICT_SAME);
	for (size_t i = 0; i < 100; i++)
		b[i] = 0.11;
	compare_series(&c, &(struct values){a, NULL, 100}, &(struct values){b, NULL, 100});
	assert_int_equal(c.verdict, VERDICT_CHANGED);
	assert_true(fabs(c.change - 0.1) < 1e-9 && c.error < 1e-9);
	/* From zero there is no share. */
	memset(a, 0, sizeof(a));
	compare_series(&c, &(struct values){a, NULL, 100}, &(struct values){b, NULL, 100});
	assert_int_equal(c.verdict, VERDICT_CHANGED);
	assert_true(isnan(c.change) && isnan(c.error));
	compare_series(&c, &(struct values){a, NULL, 100}, &(struct values){a, NULL, 100});
	assert_int_equal(c.verdict, VERDICT_SAME);
}

/* Intervals of 1 s with 1 GB/s and of 3 s with 3 GB/s: 10 GB in 4 s. */
static void long_intervals_count_more(void **s)
{
	double a[200], weights[200], b[200];
	struct comparison c;

	(void)s;
	for (size_t i = 0; i < 200; i++) {
		weights[i] = i % 2 ? 3 : 1;
		a[i] = i % 2 ? 3e9 : 1e9;
		b[i] = 2.5e9;
	}
	compare_series(&c, &(struct values){a, weights, 200}, &(struct values){b, NULL, 200});
	assert_true(fabs(c.a.mean - 2.5e9) < 1);
	/* sqrt((1 * 1.5^2 + 3 * 0.5^2) / 4) */
	assert_true(fabs(c.a.deviation / sqrt(0.75) - 1e9) < 5e6);
	assert_int_equal(c.verdict, VERDICT_SAME);
	/* Intervals without a weight count nothing. */
	for (size_t i = 0; i < 200; i += 2)
		weights[i] = 0;
	compare_series(&c, &(struct values){a, weights, 200}, &(struct values){b, NULL, 200});
	assert_true(c.a.mean == 3e9);
}

/* Short and long intervals, at random: a mean's error is that of its weights. */
static void the_error_of_weighted_means_contains_the_change(void **s)
{
	double a[300], b[300], weights[300];
	struct comparison c;
	int inside = 0;

	(void)s;
	random_state = 7654321;
	for (int i = 0; i < 400; i++) {
		fill(a, 300, &loads[1], 2);
		fill(b, 300, &loads[1], 2.04);
		for (size_t k = 0; k < 300; k++)
			weights[k] = uniform() < 0.1 ? 10 : 1;
		compare_series(&c, &(struct values){a, weights, 300},
			       &(struct values){b, weights, 300});
		inside += fabs(c.change - 0.02) <= c.error;
	}
	assert_in_range(inside, 368, 398);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_equal_load_is_unchanged),
		cmocka_unit_test(a_change_of_3_percent_is_found),
		cmocka_unit_test(without_enough_values_it_is_unknown),
		cmocka_unit_test(the_error_contains_the_change),
		cmocka_unit_test(constants_are_equal_or_not),
		cmocka_unit_test(long_intervals_count_more),
		cmocka_unit_test(the_error_of_weighted_means_contains_the_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
