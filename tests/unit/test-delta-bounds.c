/* SPDX-License-Identifier: MIT */
/* Counts that cannot be: of one interval, over a gap, and what becomes of the total. Registers are
 * those of a plain file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "block.h"
#include "count/rows.h"

#define HEAD                                                                                        \
	"block: test\ntitle: Test\ninstance: unit\nevidence: none\npmu: test_{unit}\nspace: mmio\n" \
	"size: 0x1000\naccess: 64\nwindow: free-running\n"
#define SECOND UINT64_C(1000000000)

static struct block *fresh(const char *description)
{
	static struct block b;

	block_make(&b);
	must(&b, block_use(&b, description));
	return &b;
}

/* It was counted, and what was counted cannot be. */
static void assert_suspect(const struct block *b, const char *name, const char *why)
{
	const struct uncore_row *row = block_row(b, name);

	assert_int_equal(row->quality, UNCORE_SUSPECT);
	assert_true(isnan(row->value));
	assert_contains(row->reason, why);
}

/* ---- one interval ----------------------------------------------------------------------------- */

static struct unc_delta bound_in(uint64_t ns, struct uncore_counter c, uint64_t before,
				 uint64_t after)
{
	struct uncore_reading from = {.raw = before};
	struct uncore_reading to = {.raw = after, .enabled_ns = ns, .running_ns = ns};
	struct unc_delta d;

	unc_delta_take(&c, &from, &to, &d);
	return d;
}

static struct unc_delta bound(struct uncore_counter c, uint64_t before, uint64_t after)
{
	return bound_in(2 * SECOND, c, before, after);
}

static void test_rise_of_known_speed(void **state)
{
	static const unsigned widths[] = {32, 48, 64};

	(void)state;
	for (size_t i = 0; i < COUNT(widths); i++) {
		struct uncore_counter c = {.width = widths[i], .most_per_s = 1000};
		struct unc_delta d = bound(c, 10, 3000);

		assert_int_equal(d.state, UNC_TOO_FAST);
		assert_int_equal(d.count, 0);
		assert_int_equal(d.from, 10);
		assert_int_equal(d.to, 3000);
		/* Two in a hundred are left to the clocks. */
		assert_int_equal(bound(c, 10, 10 + 2041).state, UNC_COUNTED);
		assert_int_equal(bound(c, 10, 10 + 2042).state, UNC_TOO_FAST);
	}
}

/* What stands for a block may be set at once to what took it a second. */
static void test_rise_in_no_time(void **state)
{
	struct uncore_counter c = {.width = 48, .most_per_s = 1000};

	(void)state;
	assert_int_equal(bound_in(1, c, 10, 10 + 1021).state, UNC_COUNTED);
	assert_int_equal(bound_in(1, c, 10, 10 + 1022).state, UNC_TOO_FAST);
}

static void test_rise_of_unknown_speed(void **state)
{
	struct uncore_counter kernel = {.width = 64}, free_running = {.width = 48};
	struct uncore_counter level = {.width = 64, .most_per_s = 1000, .snapshot = true};

	(void)state;
	/* In 2 s; two in a hundred are left to the clocks. */
	assert_int_equal(bound(kernel, 0, UINT64_C(1) << 47).state, UNC_COUNTED);
	assert_int_equal(bound(kernel, 0, (UINT64_C(1) << 47) / 100 * 103).state, UNC_TOO_FAST);
	assert_int_equal(bound(free_running, 0, UINT64_C(1) << 41).state, UNC_COUNTED);
	assert_int_equal(bound(free_running, 0, (UINT64_C(1) << 41) / 100 * 103).state,
			 UNC_TOO_FAST);
	assert_int_equal(bound(level, 0, 1000000).state, UNC_COUNTED);
}

static void test_sum_leaves_out_impossible_speeds(void **state)
{
	const struct unc_delta deltas[] = {
		{.state = UNC_LOST},
		{.state = UNC_TOO_FAST},
		{.count = 5, .enabled_ns = 9, .running_ns = 9},
	};
	const struct uncore_counter counters[COUNT(deltas)] = {{.width = 0}};
	const struct unc_interval interval = {
		.counters = counters, .deltas = deltas, .count = COUNT(deltas), .length_ns = 9};
	struct unc_sum sum = {.coverage = 1};

	(void)state;
	for (size_t i = 0; i < COUNT(deltas); i++)
		unc_sum_add(&sum, &interval, i);
	assert_int_equal(sum.count, 5);
	assert_int_equal(sum.missing, 2);
	assert_int_equal(sum.suspect, 1);
	assert_int_equal(sum.first_bad, 1);
}

static void test_jump_of_a_register(void **state)
{
	struct block *b =
		fresh(HEAD "counters:\n  c: {title: c, offset: 0, width: 48, per_second: 1e6}\n");

	(void)state;
	must(b, block_start(b, "test_0/c/"));
	block_wait_us(1000);
	block_set64(b, 0, 100);
	block_read(b);
	block_assert(b, "test_0/c/", 100);
	block_set64(b, 0, UINT64_C(100000000000000));
	block_read(b);
	assert_suspect(b, "test_0/c/", "rose by more between two readings than it can count");
	assert_contains(block_row(b, "test_0/c/")->reason, "from 100 to 100000000000000");
	block_read(b);
	block_assert(b, "test_0/c/", 0);
	block_total(b);
	assert_suspect(b, "test_0/c/", "than it can count");
	block_remove(b);
}

/* A counter of errors is cleared. As a wrap, that would be 4,294,967,293 errors in an instant. */
static void test_fall_of_a_slow_register(void **state)
{
	struct block *b = fresh(HEAD "counters:\n  c: {title: c, offset: 0, width: 32}\n");

	(void)state;
	for (uint32_t before = 0; before < 3; before++) {
		block_set64(b, 0, 8 - before);
		must(b, block_start(b, "test_0/c/"));
		for (uint32_t i = 0; i < before; i++) {
			block_wait_us(200000);
			block_set64(b, 0, 8 - before + i + 1);
			block_read(b);
			block_assert(b, "test_0/c/", 1);
		}
		block_wait_us(200000);
		block_set64(b, 0, 5);
		block_read(b);
		assert_suspect(b, "test_0/c/", "fell between two readings: the count, from 8 to 5");
		block_set64(b, 0, 7);
		block_read(b);
		block_assert(b, "test_0/c/", 2);
		uncore_monitor_free(b->m);
		b->m = NULL;
	}
	block_remove(b);
}

/* 3 million a second, through its end; and the first interval goes through it. */
static void test_wrap_of_unknown_speed(void **state)
{
	struct block *b = fresh(HEAD "counters:\n  c: {title: c, offset: 0, width: 32}\n");

	(void)state;
	block_set64(b, 0, 0xfff00000);
	must(b, block_start(b, "test_0/c/"));
	for (uint32_t i = 1; i < 4; i++) {
		block_wait_us(1000000);
		block_set64(b, 0, 0xfff00000 + i * 3000000);
		block_read(b);
		block_assert(b, "test_0/c/", 3000000);
	}
	block_remove(b);
}

/* ---- over a gap ------------------------------------------------------------------------------- */

static void test_reset_in_a_gap(void **state)
{
	struct block *b = fresh(HEAD "counters:\n  c: {title: c, offset: 0, width: 48}\n"
				     "  d: {title: d, offset: 8, width: 48}\n");

	(void)state;
	block_set64(b, 0, 4000000);
	block_set64(b, 8, 1000);
	must(b, block_start(b, "test_0/c/,test_0/d/"));
	block_set64(b, 0, 5000000);
	block_read(b);
	block_assert(b, "test_0/c/", 1000000);
	for (int i = 0; i < 2; i++) {
		memset((void *)b->map, 0xff, BLOCK_SIZE);
		block_read(b);
		block_assert_none(b, "test_0/c/", "the device is gone");
		block_set64(b, 0, 100);
		block_set64(b, 8, 1700);
		block_read(b);
		block_assert_none(b, "test_0/c/", "the device is gone");
	}
	block_set64(b, 0, 150);
	block_read(b);
	block_assert(b, "test_0/c/", 50);
	/* Both went on somehow in the gaps: the total is of the intervals that were read. */
	block_total(b);
	assert_int_equal(block_row(b, "test_0/c/")->quality, UNCORE_PARTIAL);
	assert_close(block_row(b, "test_0/c/")->value, 1000050);
	assert_int_equal(block_row(b, "test_0/d/")->quality, UNCORE_PARTIAL);
	assert_close(block_row(b, "test_0/d/")->value, 0);
	block_remove(b);
}

static void test_wraps_and_jumps_in_a_gap(void **state)
{
	struct block *b =
		fresh(HEAD "counters:\n  quick: {title: d, offset: 0, width: 16, per_second: 1e6}\n"
			   "  jumps: {title: e, offset: 8, width: 64, per_second: 1e3}\n");

	(void)state;
	must(b, block_start(b, "test_0/quick/,test_0/jumps/"));
	memset((void *)b->map, 0xff, BLOCK_SIZE);
	block_read(b);
	block_wait_us(80000); /* 2^16 us are 66 ms */
	block_set64(b, 0, 9);
	block_set64(b, 8, 5000000);
	block_read(b);
	block_total(b);
	block_assert_none(b, "test_0/quick/", "the device is gone");
	block_assert_none(b, "test_0/jumps/", "the device is gone");
	block_set64(b, 0, 12);
	block_set64(b, 8, 5000001);
	block_read(b);
	block_total(b);
	assert_int_equal(block_row(b, "test_0/quick/")->quality, UNCORE_PARTIAL);
	assert_close(block_row(b, "test_0/quick/")->value, 3);
	assert_int_equal(block_row(b, "test_0/jumps/")->quality, UNCORE_PARTIAL);
	assert_close(block_row(b, "test_0/jumps/")->value, 1);
	block_remove(b);
}

/* ---- overflows that only the source can know of ------------------------------------------------ */

static void test_register_that_overflowed(void **state)
{
	struct uncore_counter c = {.width = 64, .most_per_s = 1000};
	struct uncore_reading before = {.raw = 5}, after = {.raw = 8, .wrapped = true};
	struct uncore_reading next = {.raw = 10};
	struct unc_delta d;

	(void)state;
	after.enabled_ns = after.running_ns = SECOND;
	next.enabled_ns = next.running_ns = 2 * SECOND;
	unc_delta_take(&c, &before, &after, &d);
	assert_int_equal(d.state, UNC_WRAPPED);
	/* What comes after is counted from there. */
	unc_delta_take(&c, &after, &next, &d);
	assert_int_equal(d.state, UNC_COUNTED);
	assert_int_equal(d.count, 2);
	after.lost = true;
	unc_delta_take(&c, &before, &after, &d);
	assert_int_equal(d.state, UNC_LOST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rise_of_known_speed),
		cmocka_unit_test(test_rise_in_no_time),
		cmocka_unit_test(test_rise_of_unknown_speed),
		cmocka_unit_test(test_sum_leaves_out_impossible_speeds),
		cmocka_unit_test(test_jump_of_a_register),
		cmocka_unit_test(test_fall_of_a_slow_register),
		cmocka_unit_test(test_wrap_of_unknown_speed),
		cmocka_unit_test(test_reset_in_a_gap),
		cmocka_unit_test(test_wraps_and_jumps_in_a_gap),
		cmocka_unit_test(test_register_that_overflowed),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
