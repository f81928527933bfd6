/* SPDX-License-Identifier: MIT */
/* Numbers as text, compared with printf. */
#include "base/number.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Numbers of each kind. Without sanitizers, as in `make check`, they take a tenth of the time. */
#ifdef __SANITIZE_ADDRESS__
#define EACH 500
#define STEP 10 /* beside powers of ten */
#else
#define EACH 5000
#define STEP 1
#endif

/* The same numbers in each run (xorshift64). */
static uint64_t next(void)
{
	static uint64_t state = 88172645463325252;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static double of_bits(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* Six digits of printf without the point, zeros at their end and the exponent's sign and zeros. */
static void compact_by_printf(char *into, size_t size, double value)
{
	char text[40];
	int exponent;
	long digits;

	if (fabs(value) < 1e6 && fabs(value) >= 1e-3) {
		snprintf(into, size, "%.6g", value);
		return;
	}
	snprintf(text, sizeof(text), "%.5e", value);
	memmove(strchr(text, '.'), strchr(text, '.') + 1, strlen(strchr(text, '.')));
	digits = strtol(text, NULL, 10);
	exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10) - 5;
	for (; digits && digits % 10 == 0; digits /= 10)
		exponent++;
	if (!digits || !exponent)
		snprintf(into, size, "%ld", digits);
	else
		snprintf(into, size, "%lde%d", digits, exponent);
}

/* Whole numbers are printed whole, large ones to a millionth, others with 15 digits. */
static void real_by_printf(char *into, size_t size, double value)
{
	size_t len;

	if (fabs(value) >= 1e15 || (fabs(value) < 1e3 && floor(fabs(value)) < fabs(value))) {
		snprintf(into, size, "%.15g", value);
		return;
	}
	/* "%.6f" of the sum: the millionths are rounded apart from the whole. */
	snprintf(into, size, "%s%.6f", value < 0 ? "-" : "",
		 floor(fabs(value)) + rint((fabs(value) - floor(fabs(value))) * 1e6) / 1e6);
	len = strlen(into);
	while (into[len - 1] == '0')
		len--;
	into[into[len - 1] == '.' ? len - 1 : len] = '\0';
}

static void same(const char *format, double value, size_t len, const char *got, const char *want)
{
	if (len == strlen(want) && strcmp(got, want) == 0)
		return;
	print_error("%a as %s: '%s' (length %zu) and not '%s'\n", value, format, got, len, want);
	fail();
}

static void check(double value)
{
	static const int digits[] = {2, 6, 15, 17};
	char got[REAL_ROOM], want[80], format[20];
	size_t len;

	for (size_t i = 0; i < sizeof(digits) / sizeof(*digits); i++) {
		snprintf(format, sizeof(format), "%%.%dg", digits[i]);
		snprintf(want, sizeof(want), "%.*g", digits[i], value);
		len = text_digits(got, value, digits[i]);
		same(format, value, len, got, want);
	}
	if (!isfinite(value))
		return;
	compact_by_printf(want, sizeof(want), value);
	len = text_compact(got, value);
	same("compact", value, len, got, want);
	real_by_printf(want, sizeof(want), value);
	len = text_real(got, value);
	same("real", value, len, got, want);
}

static void check_both(double value)
{
	check(value);
	check(-value);
}

static void any_bits(void **state)
{
	(void)state;
	for (int i = 0; i < EACH; i++)
		check(of_bits(next()));
}

/* 2^-50 to 2^66: the numbers of counters, and both limits of integer arithmetic. */
static void of_the_sizes_that_are_measured(void **state)
{
	(void)state;
	for (int i = 0; i < 4 * EACH; i++)
		check(ldexp((double)(next() >> 11), (int)(next() % 117) - 103));
}

/* 1.25, 0.3: few digits, and so numbers in the middle between two texts. */
static void of_few_digits(void **state)
{
	static const double divisors[] = {1, 2, 8, 10, 64, 100, 1000, 4096, 1e6, 1e9, 1e12};

	(void)state;
	for (int i = 0; i < EACH; i++)
		for (size_t k = 0; k < sizeof(divisors) / sizeof(*divisors); k += 1 + next() % 4)
			check((double)(next() >> (10 + next() % 53)) / divisors[k]);
}

/* One below the next power of ten has one digit less, unless rounding adds it. */
static void beside_powers_of_ten(void **state)
{
	char text[20];

	(void)state;
	for (int power = -320; power <= 308; power++) {
		double below, above, value;

		snprintf(text, sizeof(text), "1e%d", power);
		below = above = value = strtod(text, NULL);
		check_both(value);
		for (int i = 0; i < 100; i += STEP) {
			check_both(below = nextafter(below, 0));
			check_both(above = nextafter(above, INFINITY));
			check_both(value * (1 + i / 100.0));
			check_both(value * (1 - pow(0.5, i)));
		}
	}
}

static void special_ones(void **state)
{
	char text[REAL_ROOM];

	(void)state;
	for (int i = 1; i < 70; i++) {
		check_both(ldexp(1, i));
		check_both(ldexp(1, i) - 1);
		check_both(ldexp(1, i) - 0.5);
		check_both(ldexp(1, -i));
	}
	check(0.0);
	check(-0.0);
	check(INFINITY);
	check(-INFINITY);
	check(NAN);
	assert_int_equal(text_real(text, NAN), 0);
	assert_string_equal(text, "");
	assert_int_equal(text_compact(text, 1.5e9), 4);
	assert_string_equal(text, "15e8");
}

static void counts(void **state)
{
	char got[COUNT_ROOM], want[COUNT_ROOM];

	(void)state;
	for (int i = 0; i < EACH; i++) {
		uint64_t value = i == 0 ? 0 : i == 1 ? UINT64_MAX : next() >> next() % 64;

		snprintf(want, sizeof(want), "%llu", (unsigned long long)value);
		assert_int_equal(text_count(got, value), strlen(want));
		assert_string_equal(got, want);
	}
	for (uint64_t ten = 1; ten < UINT64_MAX / 10; ten *= 10)
		for (uint64_t value = ten - 1; value <= ten + 1; value++) {
			snprintf(want, sizeof(want), "%llu", (unsigned long long)value);
			assert_int_equal(text_count(got, value), strlen(want));
			assert_string_equal(got, want);
		}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_bits),      cmocka_unit_test(of_the_sizes_that_are_measured),
		cmocka_unit_test(of_few_digits), cmocka_unit_test(beside_powers_of_ten),
		cmocka_unit_test(special_ones),  cmocka_unit_test(counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
