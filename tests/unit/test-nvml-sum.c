/* SPDX-License-Identifier: MIT */
/* Sums of a counter that wraps within milliseconds, against a counter of 64 bits, and links whose
 * rates are in the PCI Express Base Specification. */
#include "source/nvml/protocol.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)
/* Generation 5, 16 lanes: 32 GT/s x 16 / 8 x 128 / 130. */
#define GEN5 63015384615.384615

static uint64_t state = 1;

/* xorshift64. */
static uint64_t next_random(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* A counter of the hardware at rates that change with each step from 0 to the link's, read every 5
 * to 67 ms: none of its 10,000 and more wraps is lost, and none is doubtful. */
static void test_wraps(void **unused)
{
	struct unc_nvml_sum s = {.most_per_s = GEN5};
	uint64_t true_count = UINT64_C(0xfedcba9876543210), begin = true_count, at_ns = 12345;

	(void)unused;
	unc_nvml_sum_add(&s, (uint32_t)true_count, at_ns);
	for (int i = 0; i < 1000000; i++) {
		uint64_t step_ns = 5 * MS + next_random() % (62 * MS);
		double share = i % 3 ? (double)(next_random() % 1001) / 1000 : i % 2;

		at_ns += step_ns;
		true_count += (uint64_t)(share * GEN5 * (double)step_ns / 1e9);
		unc_nvml_sum_add(&s, (uint32_t)true_count, at_ns);
		assert_true(s.total == true_count - begin);
		assert_int_equal(s.late, 0);
	}
	assert_true(s.total >> 32 > 10000);
}

/* 2^32 / GEN5 is 68.16 ms: at most so long the count is unique. */
static void test_late(void **unused)
{
	struct unc_nvml_sum s = {.most_per_s = GEN5};

	(void)unused;
	assert_true(unc_nvml_sum_unique_ns(GEN5) / 100000 == 681);
	unc_nvml_sum_add(&s, 5, 1000 * MS);
	unc_nvml_sum_add(&s, 7, 1068 * MS);
	assert_int_equal(s.late, 0);
	unc_nvml_sum_add(&s, 9, 1137 * MS);
	assert_int_equal(s.late, 1);
	assert_true(s.late_ns == 69 * MS);
	unc_nvml_sum_add(&s, 11, 1140 * MS);
	assert_int_equal(s.late, 1);
	unc_nvml_sum_add(&s, 13, 4140 * MS);
	assert_int_equal(s.late, 2);
	assert_true(s.late_ns == 3000 * MS);
}

/* A counter that another program clears seems to be further than the link moves in that time. */
static void test_reset(void **unused)
{
	struct unc_nvml_sum s = {.most_per_s = GEN5};

	(void)unused;
	unc_nvml_sum_add(&s, 1000000000, 1000 * MS);
	unc_nvml_sum_add(&s, 100, 1020 * MS);
	assert_int_equal(s.late, 1);
	assert_true(s.late_ns == 0);
}

/* A wrap, and readings at one time: as when the wall clock is set back. */
static void test_edges(void **unused)
{
	struct unc_nvml_sum s = {.most_per_s = GEN5};

	(void)unused;
	unc_nvml_sum_add(&s, UINT32_MAX, 50 * MS);
	assert_true(s.total == 0);
	unc_nvml_sum_add(&s, 0, 50 * MS);
	assert_true(s.total == 1);
	unc_nvml_sum_add(&s, 0, 49 * MS);
	assert_true(s.total == 1 && s.at_ns == 50 * MS);
	assert_int_equal(s.late, 0);
}

static void test_link_rates(void **unused)
{
	(void)unused;
	assert_float_equal(unc_nvml_link_rate(1, 1), 250e6, 1);
	assert_float_equal(unc_nvml_link_rate(3, 16), 15753846153.8, 1);
	assert_float_equal(unc_nvml_link_rate(4, 8), 15753846153.8, 1);
	assert_float_equal(unc_nvml_link_rate(5, 16), GEN5, 1);
	/* The widest link where it is unknown: polled too often rather than too rarely. */
	assert_float_equal(unc_nvml_link_rate(0, 16), 128e9, 1);
	assert_float_equal(unc_nvml_link_rate(5, 0), 128e9, 1);
	assert_float_equal(unc_nvml_link_rate(7, 16), 128e9, 1);
	assert_float_equal(unc_nvml_link_rate(5, 255), 128e9, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wraps),      cmocka_unit_test(test_late),
		cmocka_unit_test(test_reset),      cmocka_unit_test(test_edges),
		cmocka_unit_test(test_link_rates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
