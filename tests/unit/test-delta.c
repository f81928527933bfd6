/* SPDX-License-Identifier: MIT */
/* Differences of readings, and their sums. Expected values are worked out by hand. */
#include "count/rows.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "helpers.h"

#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)

static const struct uncore_counter wide = {.width = 64};

static struct uncore_reading at(uint64_t raw, uint64_t enabled_ns, uint64_t running_ns)
{
	return (struct uncore_reading){
		.raw = raw, .enabled_ns = enabled_ns, .running_ns = running_ns};
}

static struct unc_delta take(const struct uncore_counter *counter, struct uncore_reading before,
			     struct uncore_reading after)
{
	struct unc_delta d;

	unc_delta_take(counter, &before, &after, &d);
	return d;
}

static void plain(void **state)
{
	struct unc_delta d =
		take(&wide, at(1000, 5 * SECOND, 5 * SECOND), at(1750, 6 * SECOND, 6 * SECOND));

	(void)state;
	assert_int_equal(d.state, UNC_COUNTED);
	assert_int_equal(d.count, 750);
	assert_int_equal(d.enabled_ns, SECOND);
	assert_int_equal(d.running_ns, SECOND);
	assert_close(unc_delta_scaled(&wide, &d), 750);
}

static void nothing_happened_is_a_count_of_zero(void **state)
{
	struct unc_delta d = take(&wide, at(7, SECOND, SECOND), at(7, 2 * SECOND, 2 * SECOND));

	(void)state;
	assert_int_equal(d.state, UNC_COUNTED);
	assert_int_equal(d.count, 0);
}

static void multiplexed_counts_are_extrapolated(void **state)
{
	/* 4 of 10 ms on the hardware: 100 increments stand for 250. */
	struct unc_delta d = take(&wide, at(0, 0, 0), at(100, 10 * MS, 4 * MS));

	(void)state;
	assert_int_equal(d.state, UNC_COUNTED);
	assert_int_equal(d.count, 100);
	assert_close(unc_delta_scaled(&wide, &d), 250);
	/* By the share of this window: 3 of 4 ms. That of all the time, 7 of 14 ms, would be x2. */
	d = take(&wide, at(100, 10 * MS, 4 * MS), at(130, 14 * MS, 7 * MS));
	assert_int_equal(d.count, 30);
	assert_int_equal(d.enabled_ns, 4 * MS);
	assert_int_equal(d.running_ns, 3 * MS);
	assert_close(unc_delta_scaled(&wide, &d), 40);
}

static void running_ahead_of_enabled_is_not_scaled_down(void **state)
{
	struct unc_delta d = take(&wide, at(0, 0, 0), at(100, 1000, 1001));

	(void)state;
	assert_close(unc_delta_scaled(&wide, &d), 100);
}

static void times_that_do_not_advance(void **state)
{
	struct unc_delta d = take(&wide, at(5, SECOND, SECOND), at(5, SECOND, SECOND));

	(void)state;
	assert_int_equal(d.state, UNC_STOPPED);
	assert_int_equal(d.count, 0);
	d = take(&wide, at(5, SECOND, 0), at(5, 2 * SECOND, 0));
	assert_int_equal(d.state, UNC_NEVER_RAN);
	assert_int_equal(d.enabled_ns, SECOND);
	assert_int_equal(d.running_ns, 0);
	/* It had run before, but not in this window. */
	d = take(&wide, at(5, SECOND, MS), at(5, 2 * SECOND, MS));
	assert_int_equal(d.state, UNC_NEVER_RAN);
	/* On the hardware, but counting switched off. */
	d = take(&wide, at(5, SECOND, MS), at(5, SECOND, 2 * MS));
	assert_int_equal(d.state, UNC_STOPPED);
}

static void times_that_go_back(void **state)
{
	struct unc_delta d = take(&wide, at(5, 2 * SECOND, SECOND), at(6, SECOND, SECOND));

	(void)state;
	assert_int_equal(d.state, UNC_WENT_BACK);
	assert_string_equal(d.what, "enabled time");
	assert_int_equal(d.from, 2 * SECOND);
	assert_int_equal(d.to, SECOND);
	assert_int_equal(d.count, 0);
	d = take(&wide, at(5, SECOND, SECOND), at(6, 2 * SECOND, SECOND - 1));
	assert_int_equal(d.state, UNC_WENT_BACK);
	assert_string_equal(d.what, "running time");
}

static void wraps_at_its_width(void **state)
{
	/* From 10 below the top to 5 above zero: 15 increments. */
	static const struct {
		unsigned width;
		uint64_t top; /* 2^width */
	} cases[] = {
		{1 + 31, UINT64_C(0x100000000)},    {36, UINT64_C(0x1000000000)},
		{44, UINT64_C(0x100000000000)},     {48, UINT64_C(0x1000000000000)},
		{63, UINT64_C(0x8000000000000000)},
	};
	const uint64_t years = 10000000 * SECOND;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct uncore_counter c = {.width = cases[i].width};
		struct unc_delta d = take(&c, at(cases[i].top - 10, 0, 0), at(5, 100, 100));

		assert_int_equal(d.state, UNC_COUNTED);
		assert_int_equal(d.count, 15);
		assert_close(unc_delta_scaled(&c, &d), 15);
		/* No wrap: the whole range but one, in a time that is long enough for it. */
		d = take(&c, at(0, 0, 0), at(cases[i].top - 1, years, years));
		assert_int_equal(d.count, cases[i].top - 1);
	}
}

static void a_wrap_is_scaled_after_it_is_undone(void **state)
{
	struct uncore_counter c = {.width = 32};
	struct unc_delta d = take(&c, at(UINT64_C(0xfffffff6), 0, 0), at(10, 10 * MS, 4 * MS));

	(void)state;
	assert_int_equal(d.count, 20);
	assert_close(unc_delta_scaled(&c, &d), 50);
}

static void wraps_in_each_of_many_windows(void **state)
{
	/* 3e9 increments in each window of a 32-bit counter: the raw values are 3e9 * i mod 2^32. */
	struct uncore_counter c = {.width = 32};
	uint64_t total = 0;

	(void)state;
	for (uint64_t i = 0; i < 10; i++) {
		struct unc_delta d = take(&c,
					  at(UINT64_C(3000000000) * i % UINT64_C(4294967296),
					     i * SECOND, i * SECOND),
					  at(UINT64_C(3000000000) * (i + 1) % UINT64_C(4294967296),
					     (i + 1) * SECOND, (i + 1) * SECOND));

		assert_int_equal(d.state, UNC_COUNTED);
		assert_int_equal(d.count, UINT64_C(3000000000));
		total += d.count;
	}
	assert_int_equal(total, UINT64_C(30000000000));
}

static void a_counter_of_64_bits_never_falls(void **state)
{
	struct unc_delta d = take(&wide, at(1000, 0, 0), at(999, 100, 100));

	(void)state;
	assert_int_equal(d.state, UNC_WENT_BACK);
	assert_int_equal(d.count, 0);
	/* But for going round, and then it has not gone far. */
	d = take(&wide, at(UINT64_MAX, 0, 0), at(4, 100, 100));
	assert_int_equal(d.state, UNC_COUNTED);
	assert_int_equal(d.count, 5);
}

/* AMD's driver of Linux 7.2 after a jump of 2^47: it has added -2^47. */
static void a_step_back_modulo_two_to_the_64(void **state)
{
	struct unc_delta d = take(&wide, at(1000, 0, 0), at(1000 - (UINT64_C(1) << 47), 100, 100));

	(void)state;
	assert_int_equal(d.state, UNC_WENT_BACK);
	assert_string_equal(d.what, "count");
	assert_int_equal(d.count, 0);
	d = take(&wide, at(1000, 0, 0), at(1001 + (UINT64_C(1) << 63), 100, 100));
	assert_int_equal(d.state, UNC_WENT_BACK);
	d = take(&wide, at(1000, 0, 0),
		 at(999 + (UINT64_C(1) << 63), 200000 * SECOND, 200000 * SECOND));
	assert_int_equal(d.state, UNC_COUNTED);
}

static void values_near_two_to_the_64(void **state)
{
	struct unc_delta d = take(&wide, at(UINT64_MAX - 5, UINT64_MAX - 100, UINT64_MAX - 100),
				  at(UINT64_MAX, UINT64_MAX, UINT64_MAX));

	(void)state;
	assert_int_equal(d.state, UNC_COUNTED);
	assert_int_equal(d.count, 5);
	assert_int_equal(d.enabled_ns, 100);
	d = take(&wide, at(0, 0, 0), at(INT64_MAX, UINT64_MAX, UINT64_MAX));
	assert_int_equal(d.count, INT64_MAX);
	assert_close(unc_delta_scaled(&wide, &d), 9223372036854775807.0);
}

static void previous_or_current_reading_lost(void **state)
{
	struct uncore_reading good = at(1, 1, 1), lost = at(9, 9, 9);

	(void)state;
	lost.lost = true;
	assert_int_equal(take(&wide, lost, good).state, UNC_LOST);
	assert_int_equal(take(&wide, good, lost).state, UNC_LOST);
	assert_int_equal(take(&wide, good, lost).count, 0);
}

static void a_counter_that_is_not_open_has_that_state(void **state)
{
	struct uncore_counter c = {.width = 64, .error = -ENODEV};
	struct uncore_reading lost = {.lost = true};

	(void)state;
	assert_int_equal(take(&c, lost, lost).state, UNC_NOT_OPEN);
	assert_int_equal(take(&c, at(0, 0, 0), at(5, 5, 5)).state, UNC_NOT_OPEN);
	assert_int_equal(take(&c, at(0, 0, 0), at(5, 5, 5)).count, 0);
}

static void a_state_is_not_differenced(void **state)
{
	struct uncore_counter c = {.width = 64, .snapshot = true};
	struct unc_delta d =
		take(&c, at(70, 10 * SECOND, 10 * SECOND), at(42, 11 * SECOND, 11 * SECOND));

	(void)state;
	assert_int_equal(d.state, UNC_COUNTED); /* a state may fall */
	assert_int_equal(d.count, 42);
	assert_close(unc_delta_scaled(&c, &d), 42);
	/* The times are those of the window all the same. */
	assert_int_equal(d.enabled_ns, SECOND);
	assert_int_equal(d.running_ns, SECOND);
	/* Half the time on the hardware: what it was last seen at is not doubled. */
	d = take(&c, at(0, 0, 0), at(42, 10 * MS, 5 * MS));
	assert_close(unc_delta_scaled(&c, &d), 42);
	assert_int_equal(take(&c, at(1, 5, 5), at(1, 5, 5)).state, UNC_STOPPED);
	assert_int_equal(take(&c, at(1, 5, 5), at(1, 6, 5)).state, UNC_NEVER_RAN);
}

/* ---- totals ----------------------------------------------------------------------------------- */

/* The total of the intervals between these readings. */
static struct unc_delta add_up(const struct uncore_counter *c,
			       const struct uncore_reading *readings, size_t count)
{
	struct unc_delta total = {0};

	for (size_t i = 1; i < count; i++) {
		struct unc_delta d;

		unc_delta_take(c, &readings[i - 1], &readings[i], &d);
		unc_delta_add(c, &total, &d);
	}
	return total;
}

static void a_total_is_the_sum_of_its_intervals(void **state)
{
	/* 32 bits, 3e9 a window: the total of ten windows is 3e10, which is 7 times 2^32 round. */
	struct uncore_counter c = {.width = 32};
	struct uncore_reading readings[11];
	struct unc_delta total;

	(void)state;
	for (uint64_t i = 0; i <= 10; i++)
		readings[i] =
			at((UINT64_C(4000000000) + UINT64_C(3000000000) * i) % UINT64_C(4294967296),
			   i * SECOND, i * SECOND);
	total = add_up(&c, readings, COUNT(readings));
	assert_int_equal(total.state, UNC_COUNTED);
	assert_int_equal(total.count, UINT64_C(30000000000));
	assert_close(unc_delta_scaled(&c, &total), 3e10);
	assert_int_equal(total.enabled_ns, 10 * SECOND);
	assert_int_equal(total.running_ns, 10 * SECOND);
	assert_false(total.interrupted);
}

/* 150 in 4 of 12 ms: what it would have counted in the interval without hardware is in it, too. */
/* What readings add themselves begins again when the process that counts it does. */
static void what_readings_add_is_summed(void **state)
{
	struct uncore_reading a = at(0, 0, 0), b = at(5000, SECOND, SECOND),
			      c = at(9000, 2 * SECOND, 2 * SECOND);
	struct unc_delta total, d;

	(void)state;
	a.own = 100;
	b.own = 700;
	total = take(&wide, a, b);
	assert_int_equal(total.own, 600);
	c.own = 1500;
	d = take(&wide, b, c);
	unc_delta_add(&wide, &total, &d);
	assert_int_equal(total.own, 1400);
	c.own = 20;
	assert_int_equal(take(&wide, b, c).own, 0);
}

static void a_total_is_extrapolated_as_a_whole(void **state)
{
	const struct uncore_reading readings[] = {at(0, 0, 0), at(100, 4 * MS, 3 * MS),
						  at(100, 8 * MS, 3 * MS),
						  at(150, 12 * MS, 4 * MS)};
	struct unc_delta total = add_up(&wide, readings, COUNT(readings));

	(void)state;
	assert_int_equal(total.state, UNC_COUNTED);
	assert_int_equal(total.count, 150);
	assert_close(unc_delta_scaled(&wide, &total), 450);
	assert_false(total.interrupted);
	total = add_up(&wide, &readings[1], 2);
	assert_int_equal(total.state, UNC_NEVER_RAN);
	assert_int_equal(total.enabled_ns, 4 * MS);
}

/* The two intervals beside a lost reading, and one in which nothing was counted, are not in it. */
static void a_total_lacks_intervals(void **state)
{
	struct uncore_counter c = {.width = 32};
	const struct uncore_reading lost = {.lost = true, .why = "gone"};
	const struct uncore_reading readings[] = {
		lost,           lost, at(0xfffffff0, 2, 2), at(0x10, 3, 3),
		at(0x10, 3, 3), lost, at(0x30, 5, 5),       at(0x35, 6, 6)};
	struct unc_delta total = add_up(&c, readings, 3);

	(void)state;
	assert_int_equal(total.state, UNC_LOST);
	assert_string_equal(total.why, "gone");
	for (size_t count = 4; count < COUNT(readings); count++) {
		total = add_up(&c, readings, count);
		assert_int_equal(total.state, UNC_COUNTED);
		assert_int_equal(total.count, 0x20);
		assert_int_equal(total.enabled_ns, 1);
		assert_true(total.interrupted);
	}
	assert_int_equal(add_up(&c, readings, COUNT(readings)).count, 0x25);
}

/* What it counted until then is not known, and so is what it would have counted later. */
static void no_total_after_an_impossible_count(void **state)
{
	const struct uncore_reading readings[] = {at(5, 1, 1), at(9, 2, 2), at(7, 3, 3),
						  at(8, 4, 4)};
	struct uncore_counter closed = {.error = -ENODEV};
	struct unc_delta total = add_up(&wide, readings, COUNT(readings));

	(void)state;
	assert_int_equal(total.state, UNC_WENT_BACK);
	assert_int_equal(total.from, 9);
	assert_int_equal(total.to, 7);
	assert_int_equal(total.count, 0);
	assert_int_equal(add_up(&closed, readings, COUNT(readings)).state, UNC_NOT_OPEN);
}

static void a_total_that_may_have_wrapped_has_no_times(void **state)
{
	struct uncore_reading readings[] = {at(5, 1, 1), at(9, 2, 2), at(9, 9, 9)};
	struct unc_delta total;

	(void)state;
	readings[2].wrapped = true;
	total = add_up(&wide, readings, COUNT(readings));
	assert_int_equal(total.state, UNC_WRAPPED);
	assert_int_equal(total.enabled_ns, 0);
	assert_int_equal(total.running_ns, 0);
}

static void the_total_of_a_state_is_the_latest(void **state)
{
	struct uncore_counter c = {.width = 8, .snapshot = true};
	const struct uncore_reading readings[] = {at(70, 0, 0), at(200, 2, 2), at(100, 4, 3)};
	struct unc_delta total = add_up(&c, readings, COUNT(readings));

	(void)state;
	assert_int_equal(total.count, 100);
	assert_close(unc_delta_scaled(&c, &total), 100);
	assert_int_equal(total.enabled_ns, 4);
}

/* The latest that was seen: without hardware nothing is, and that is not 0. */
static void the_total_of_a_state_that_did_not_run_at_the_end(void **state)
{
	struct uncore_counter c = {.width = 64, .snapshot = true};
	const struct uncore_reading readings[] = {at(70, 0, 0), at(200, 2, 2), at(200, 4, 2)};
	struct unc_delta total = add_up(&c, readings, COUNT(readings));

	(void)state;
	assert_int_equal(total.state, UNC_COUNTED);
	assert_int_equal(total.count, 200);
	assert_close(unc_delta_scaled(&c, &total), 200);
}

static void a_total_drops_the_reason_of_a_lost_reading(void **state)
{
	const struct uncore_reading readings[] = {
		{.lost = true, .why = "gone"}, at(5, 2, 2), at(5, 4, 2)};
	struct unc_delta total = add_up(&wide, readings, COUNT(readings));

	(void)state;
	assert_int_equal(total.state, UNC_NEVER_RAN);
	assert_null(total.why);
}

/* The moments between do not matter: only the first and the last are uncertain. */
static void a_total_is_as_uncertain_as_its_ends(void **state)
{
	struct uncore_reading readings[] = {at(0, 0, 0), at(1, SECOND, SECOND),
					    at(2, 2 * SECOND, 2 * SECOND)};

	(void)state;
	for (size_t i = 0; i < COUNT(readings); i++)
		readings[i].uncertain_ns = readings[i].took_ns = 10 + i;
	assert_int_equal(add_up(&wide, readings, 2).uncertain_ns, 21);
	assert_int_equal(add_up(&wide, readings, 3).uncertain_ns, 22);
	assert_int_equal(add_up(&wide, readings, 3).took_ns, 22);
}

/* Two pieces have four ends. */
static void a_total_in_pieces_is_as_uncertain_as_all_of_their_ends(void **state)
{
	struct uncore_reading readings[] = {at(0, 0, 0),
					    at(1, SECOND, SECOND),
					    {.lost = true},
					    at(3, 3 * SECOND, 3 * SECOND),
					    at(4, 4 * SECOND, 4 * SECOND),
					    at(5, 5 * SECOND, 5 * SECOND)};

	(void)state;
	for (size_t i = 0; i < COUNT(readings); i++)
		readings[i].uncertain_ns = readings[i].took_ns = 10 + i;
	assert_int_equal(add_up(&wide, readings, 2).uncertain_ns, 10 + 11);
	assert_int_equal(add_up(&wide, readings, 4).uncertain_ns, 10 + 11);
	assert_int_equal(add_up(&wide, readings, 5).uncertain_ns, 10 + 11 + 13 + 14);
	assert_int_equal(add_up(&wide, readings, 6).uncertain_ns, 10 + 11 + 13 + 15);
	assert_int_equal(add_up(&wide, readings, 6).took_ns, 10 + 11 + 13 + 15);
}

/* The past of a counter is made of what it counted: not of intervals without a count, and not of states. */
static void a_past_of_counts(void **state)
{
	static const struct {
		bool snapshot;
		enum unc_state state;
		size_t pieces;
	} cases[] = {
		{false, UNC_COUNTED, 1},   {true, UNC_COUNTED, 0}, {false, UNC_LOST, 0},
		{false, UNC_WENT_BACK, 0}, {true, UNC_STOPPED, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct uncore_counter c = {.width = 64, .snapshot = cases[i].snapshot};
		struct unc_past past = {0};
		struct unc_delta d = {
			.state = cases[i].state, .count = 500, .running_ns = SECOND / 2};

		unc_delta_compare(&c, &past, &d);
		assert_int_equal(past.pieces, cases[i].pieces);
		assert_int_equal(past.count, 0);
		assert_close(past.fastest, cases[i].pieces ? 1000 : 0);
		assert_close(past.slowest, cases[i].pieces ? 1000 : 0);
	}
}

/* ---- sums ------------------------------------------------------------------------------------- */

static struct unc_sum sum_up(const struct unc_delta *deltas, const size_t *counters, size_t count)
{
	static const struct uncore_counter plain[16];
	const struct unc_interval interval = {
		.counters = plain, .deltas = deltas, .count = 16, .length_ns = 100};
	struct unc_sum sum = {.coverage = 1};

	for (size_t i = 0; i < count; i++)
		unc_sum_add(&sum, &interval, counters[i]);
	return sum;
}

/* A counter that does not count faster than this in a second (0: not known), read after 2 s. */
static struct unc_delta bound_by(double most_per_s, unsigned width, uint64_t before, uint64_t after)
{
	struct uncore_counter c = {.width = width, .most_per_s = most_per_s};

	return take(&c, at(before, 0, 0), at(after, 2 * SECOND, 2 * SECOND));
}

#define bound(width, before, after) bound_by(1000, width, before, after)
#define fall(width, before, after) bound_by(0, width, before, after).state

static void a_fall_that_cannot_be_a_wrap(void **state)
{
	struct unc_delta d = bound(32, UINT32_MAX - 9, 1990);

	(void)state;
	assert_int_equal(d.state, UNC_COUNTED);
	assert_int_equal(d.count, 2000);
	d = bound(32, 1000, 999);
	assert_int_equal(d.state, UNC_WENT_BACK);
	assert_string_equal(d.what, "count");
	assert_int_equal(d.from, 1000);
	assert_int_equal(d.to, 999);
	/* Clocks differ a little: 40 more are still believed. */
	assert_int_equal(bound(32, UINT32_MAX, 2040).state, UNC_COUNTED);
	assert_int_equal(bound(32, UINT32_MAX, 2041).state, UNC_WENT_BACK);
}

/* 2^40 in a second is more than any counter counts; 44 bits take 16 s for a round. */
static void a_fall_of_a_counter_of_unknown_speed(void **state)
{
	(void)state;
	assert_int_equal(fall(48, 5000000, 100), UNC_WENT_BACK);
	assert_int_equal(fall(44, 5000000, 100), UNC_WENT_BACK);
	assert_int_equal(fall(48, (UINT64_C(1) << 48) - 10, 100), UNC_COUNTED);
	assert_int_equal(fall(44, (UINT64_C(1) << 44) - 10, UINT64_C(1) << 41), UNC_COUNTED);
	/* These may have gone round, and not only once. */
	assert_int_equal(fall(32, 1000, 999), UNC_COUNTED);
	assert_int_equal(fall(32, 0, 999), UNC_COUNTED);
}

static void a_counter_that_may_have_wrapped_twice(void **state)
{
	(void)state;
	assert_int_equal(bound(12, 0, 2000).state, UNC_COUNTED);
	assert_int_equal(bound(10, 0, 500).state, UNC_WRAPPED);
}

static void uncertain_times_add_up(void **state)
{
	struct uncore_reading before = at(0, 0, 0), after = at(5, SECOND, SECOND);
	const struct uncore_counter counters[2] = {{.width = 64}};
	struct unc_delta d, deltas[2];
	const struct unc_interval interval = {
		.counters = counters, .deltas = deltas, .count = 2, .length_ns = SECOND};
	struct unc_sum sum = {.coverage = 1};

	(void)state;
	before.uncertain_ns = 20;
	after.uncertain_ns = 300;
	d = take(&wide, before, after);
	assert_int_equal(d.uncertain_ns, 320);
	deltas[0] = deltas[1] = d;
	deltas[1].uncertain_ns = 100;
	unc_sum_add(&sum, &interval, 0);
	unc_sum_add(&sum, &interval, 1);
	assert_int_equal(sum.uncertain_ns, 320);
}

static void sum_of_counted_instances(void **state)
{
	const struct unc_delta deltas[] = {
		{.count = 10, .enabled_ns = 100, .running_ns = 100},
		{.count = 999, .enabled_ns = 999, .running_ns = 999},
		{.count = 20, .enabled_ns = 100, .running_ns = 50},
		{.count = 30, .enabled_ns = 100, .running_ns = 75},
	};
	const size_t counters[] = {3, 0, 2};
	struct unc_sum sum = sum_up(deltas, counters, 3);

	(void)state;
	assert_close(sum.value, 90); /* 40 + 10 + 40 */
	assert_int_equal(sum.count, 60);
	assert_int_equal(sum.enabled_ns, 300);
	assert_int_equal(sum.running_ns, 225);
	assert_int_equal(sum.used, 3);
	assert_int_equal(sum.missing, 0);
	assert_int_equal(sum.suspect, 0);
	assert_close(sum.coverage, 0.5); /* the least, not the mean 0.75 */
}

static void sum_with_missing_instances(void **state)
{
	const struct unc_delta deltas[] = {
		{.count = 10, .enabled_ns = 100, .running_ns = 100},
		{.state = UNC_LOST},
		{.state = UNC_WENT_BACK, .count = 5, .enabled_ns = 100, .running_ns = 1},
		{.state = UNC_NEVER_RAN, .enabled_ns = 100},
		{.count = 1, .enabled_ns = 100, .running_ns = 100},
		{.state = UNC_STOPPED},
		{.state = UNC_NOT_OPEN},
	};
	const size_t counters[] = {0, 4, 2, 1, 3, 5, 6};
	struct unc_sum sum = sum_up(deltas, counters, COUNT(counters));

	(void)state;
	assert_close(sum.value, 11);
	assert_int_equal(sum.count, 11);
	assert_int_equal(sum.enabled_ns, 200);
	assert_int_equal(sum.used, 2);
	assert_int_equal(sum.missing, 5);
	assert_int_equal(sum.first_bad, 2);
	assert_int_equal(sum.suspect, 1);
	assert_close(sum.coverage, 1); /* of those used */
}

static void a_counter_that_fell_is_named_first(void **state)
{
	const struct unc_delta deltas[] = {
		{.state = UNC_NOT_OPEN},
		{.state = UNC_WENT_BACK},
		{.state = UNC_WENT_BACK},
	};
	const size_t counters[] = {0, 1, 2};
	struct unc_sum sum = sum_up(deltas, counters, 3);

	(void)state;
	assert_int_equal(sum.missing, 3);
	assert_int_equal(sum.suspect, 2);
	assert_int_equal(sum.first_bad, 1);
}

static void sum_of_nothing(void **state)
{
	const struct unc_delta deltas[] = {{.state = UNC_LOST}};
	const size_t counters[] = {0};
	struct unc_sum sum = sum_up(deltas, counters, 0);

	(void)state;
	assert_int_equal(sum.used + sum.missing, 0);
	assert_close(sum.coverage, 1);
	sum = sum_up(deltas, counters, 1);
	assert_int_equal(sum.used, 0);
	assert_int_equal(sum.missing, 1);
	assert_int_equal(sum.first_bad, 0);
	assert_close(sum.coverage, 1);
	assert_close(sum.value, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain),
		cmocka_unit_test(nothing_happened_is_a_count_of_zero),
		cmocka_unit_test(multiplexed_counts_are_extrapolated),
		cmocka_unit_test(running_ahead_of_enabled_is_not_scaled_down),
		cmocka_unit_test(times_that_do_not_advance),
		cmocka_unit_test(times_that_go_back),
		cmocka_unit_test(wraps_at_its_width),
		cmocka_unit_test(a_wrap_is_scaled_after_it_is_undone),
		cmocka_unit_test(wraps_in_each_of_many_windows),
		cmocka_unit_test(a_counter_of_64_bits_never_falls),
		cmocka_unit_test(a_step_back_modulo_two_to_the_64),
		cmocka_unit_test(values_near_two_to_the_64),
		cmocka_unit_test(previous_or_current_reading_lost),
		cmocka_unit_test(a_counter_that_is_not_open_has_that_state),
		cmocka_unit_test(a_state_is_not_differenced),
		cmocka_unit_test(a_total_is_the_sum_of_its_intervals),
		cmocka_unit_test(what_readings_add_is_summed),
		cmocka_unit_test(a_total_is_extrapolated_as_a_whole),
		cmocka_unit_test(a_total_lacks_intervals),
		cmocka_unit_test(no_total_after_an_impossible_count),
		cmocka_unit_test(a_total_that_may_have_wrapped_has_no_times),
		cmocka_unit_test(the_total_of_a_state_is_the_latest),
		cmocka_unit_test(the_total_of_a_state_that_did_not_run_at_the_end),
		cmocka_unit_test(a_total_drops_the_reason_of_a_lost_reading),
		cmocka_unit_test(a_total_is_as_uncertain_as_its_ends),
		cmocka_unit_test(a_total_in_pieces_is_as_uncertain_as_all_of_their_ends),
		cmocka_unit_test(a_past_of_counts),
		cmocka_unit_test(a_fall_that_cannot_be_a_wrap),
		cmocka_unit_test(a_fall_of_a_counter_of_unknown_speed),
		cmocka_unit_test(a_counter_that_may_have_wrapped_twice),
		cmocka_unit_test(uncertain_times_add_up),
		cmocka_unit_test(sum_of_counted_instances),
		cmocka_unit_test(sum_with_missing_instances),
		cmocka_unit_test(a_counter_that_fell_is_named_first),
		cmocka_unit_test(sum_of_nothing),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
