/* SPDX-License-Identifier: MIT */
/* Registers that a driver reads in two halves while they carry, and other moves that no register makes: by the
 * arithmetic of linux arch/x86/events/intel/uncore.c, uncore_perf_event_update(), and uncore_snbep.c,
 * snbep_uncore_pci_read_counter(). */
#include "count/rows.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "helpers.h"

#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)
#define HALF (UINT64_C(1) << 32)

static const struct uncore_counter halves = {
	.width = 64, .register_bits = 48, .register_halves = true};

static struct unc_delta rise(struct uncore_counter c, uint64_t count, uint64_t ns)
{
	struct uncore_reading before = {.raw = 1000};
	struct uncore_reading after = {.raw = 1000 + count, .enabled_ns = ns, .running_ns = ns};
	struct unc_delta d;

	unc_delta_take(&c, &before, &after, &d);
	return d;
}

/* ---- one difference ---- */

static void two_to_the_48_too_much_is_subtracted(void **state)
{
	struct uncore_counter c = halves;
	struct unc_delta d = rise(c, (HALF << 16) + 143000000, 296 * MS);

	(void)state;
	assert_int_equal(d.state, UNC_COUNTED);
	assert_int_equal(d.count, 143000000);
	assert_int_equal(d.torn, 1);
	assert_close(unc_delta_scaled(&c, &d), 143e6);
	d = rise(c, 3 * (HALF << 16) + 5, 4 * MS);
	assert_int_equal(d.count, 5);
	assert_int_equal(d.torn, 3);
	/* 2^38 in a register of 38 bits may have been counted. */
	c.register_bits = 38;
	d = rise(c, (UINT64_C(1) << 38) + 7, SECOND);
	assert_int_equal(d.count, (UINT64_C(1) << 38) + 7);
	assert_int_equal(d.torn, 0);
}

/* Found with a Haswell server: the second half of a pair, 2^48 - 2^32 + 340 million in 469 ms. */
static void a_corrected_count_must_be_possible(void **state)
{
	struct unc_delta d = rise(halves, UINT64_C(281471021360233), 469 * MS);

	(void)state;
	assert_int_equal(d.state, UNC_REWRITTEN);
	assert_int_equal(d.count, 0);
	assert_int_equal(rise(halves, 65535 * HALF, 4 * MS).state, UNC_REWRITTEN);
	/* A driver that reads its register at once: another program has written it. */
	assert_int_equal(rise((struct uncore_counter){.width = 64, .register_bits = 48},
			      (HALF << 16) + 5, SECOND)
				 .state,
			 UNC_REWRITTEN);
}

static void a_count_is_bounded_by_2_to_the_40_in_a_second(void **state)
{
	static const unsigned bits[] = {36, 44, 48};

	(void)state;
	for (size_t i = 0; i < COUNT(bits); i++) {
		struct uncore_counter c = {.width = 64, .register_bits = bits[i]};
		uint64_t most = UINT64_C(1) << (bits[i] > 42 ? bits[i] - 2 : 40);

		/* Read at once: a quarter of the range. */
		assert_int_equal(rise(c, most, SECOND).state, UNC_COUNTED);
		assert_int_equal(rise(c, most / 100 * 103, SECOND).state, UNC_REWRITTEN);
		assert_int_equal(rise(c, most / 100 * 103, 2 * SECOND).state, UNC_COUNTED);
	}
}

/* ---- other programs write the registers ---- */

/* A register of 48 bits that stood at 5 trillion is cleared. The driver takes that modulo 2^48, or, on AMD, as
 * negative. */
static void a_register_that_was_cleared(void **state)
{
	uint64_t fall = UINT64_C(5000000000000);
	struct unc_delta total = {0}, before = rise(halves, 1000, SECOND), d;

	(void)state;
	unc_delta_add(&halves, &total, &before);
	d = rise(halves, (HALF << 16) - fall, SECOND);
	assert_int_equal(d.state, UNC_REWRITTEN);
	assert_int_equal(rise(halves, -fall, SECOND).state, UNC_REWRITTEN);
	/* It is not known what the interval had; the others are. */
	unc_delta_add(&halves, &total, &d);
	unc_delta_add(&halves, &total, &before);
	assert_int_equal(total.state, UNC_COUNTED);
	assert_int_equal(total.count, 2000);
	assert_true(total.interrupted);
}

/* The intervals of a counter with these counts, of the same length. Returns the number of those that are quiet. */
static size_t quiet_of(struct uncore_counter c, uint64_t ns, const uint64_t *counts, size_t count,
		       size_t *first)
{
	struct unc_past past = {0};
	size_t quiet = 0;

	for (size_t i = 0; i < count; i++) {
		struct unc_delta d = rise(c, counts[i], ns);

		unc_delta_compare(&c, &past, &d);
		if (d.quiet && !quiet++)
			*first = i;
	}
	return quiet;
}

static void counters_that_may_have_been_switched_off(void **state)
{
	static const uint64_t off[] = {900000, 1000000, 1100000, 0, 1000000, 0, 1000000},
			      idle[] = {900000, 0, 0, 0, 900000, 0, 0},
			      rare[] = {100, 200, 100, 0, 0, 100, 0},
			      rested[] = {0, 900000, 0, 900000, 0, 0};
	uint64_t fine[400];
	size_t first = 0;

	(void)state;
	assert_int_equal(quiet_of(halves, SECOND, off, COUNT(off), &first), 2);
	assert_int_equal(first, 3);
	/* Nothing happens after the restart, either. */
	assert_int_equal(quiet_of(halves, SECOND, idle, COUNT(idle), &first), 2);
	assert_int_equal(first, 1);
	assert_int_equal(quiet_of(halves, SECOND, rare, COUNT(rare), &first), 0);
	assert_int_equal(quiet_of(halves, SECOND, rested, COUNT(rested), &first), 2);
	/* Only registers that others can write. */
	assert_int_equal(
		quiet_of((struct uncore_counter){.width = 64}, SECOND, off, COUNT(off), &first), 0);
	/* Every second interval of a millisecond is empty; then 100 in a row are. */
	for (size_t i = 0; i < COUNT(fine); i++)
		fine[i] = i % 2 && i < 200 ? 100000 : 0;
	assert_int_equal(quiet_of(halves, MS, fine, COUNT(fine), &first), 1);
	assert_int_equal(first, 299);
}

/* ---- the driver ---- */

/* A box's counter and the event that counts it. */
struct driver {
	uint64_t reg, prev, count, truth;
	uint64_t window; /* what the register moves by between the readings of its halves */
	size_t torn;
};

static void moves(struct driver *d, uint64_t n)
{
	d->reg = (d->reg + n) & ((HALF << 16) - 1);
	d->truth += n;
}

static uint64_t read_register(struct driver *d)
{
	uint64_t low = d->reg % HALF, high;

	moves(d, d->window);
	high = d->reg / HALF;
	d->torn += d->reg % HALF < low;
	return high * HALF + low;
}

static void update(struct driver *d)
{
	uint64_t now = read_register(d);

	d->count += ((now << 16) - (d->prev << 16)) >> 16;
	d->prev = now;
}

static uint64_t chance(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *state >> 33;
}

/* The kernel's timer reads, too. After a move of 2^32 or more the library reads again, as lib/source/kernel/kernel.c does: each
 * pair is then within an interval. */
static void random_torn_readings_add_up(void **state)
{
	uint64_t seed = 1;
	size_t torn = 0;

	(void)state;
	for (int run = 0; run < 200; run++) {
		struct driver d = {.reg = chance(&seed) << 17,
				   .window = 1 + chance(&seed) % 100000000};
		struct unc_delta total = {0};
		struct uncore_reading before, now;
		uint64_t begin, step = 1 + chance(&seed) % 1500000000;

		d.prev = d.reg;
		before = (struct uncore_reading){.raw = 0};
		begin = d.truth;
		for (uint64_t i = 1; i <= 200; i++) {
			uint64_t truth = d.truth, hidden = chance(&seed) % 3;
			struct unc_delta delta;
			uint64_t first;

			for (uint64_t k = 0; k <= hidden; k++) {
				moves(&d, chance(&seed) % step);
				update(&d);
			}
			for (int tries = 0; tries < 3; tries++) {
				first = tries ? d.count : before.raw;
				update(&d);
				if (d.count - first < HALF)
					break;
			}
			now = (struct uncore_reading){
				.raw = d.count, .enabled_ns = i * 4 * MS, .running_ns = i * 4 * MS};
			unc_delta_take(&halves, &before, &now, &delta);
			unc_delta_add(&halves, &total, &delta);
			assert_int_equal(delta.state, UNC_COUNTED);
			/* A reading is of some moment while it lasts. */
			assert_true(delta.count <= d.truth - truth + d.window);
			assert_true(delta.count + d.window >= d.truth - truth);
			before = now;
		}
		assert_true(total.count + d.window >= d.truth - begin);
		assert_true(total.count <= d.truth - begin);
		torn += d.torn;
	}
	assert_true(torn > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_to_the_48_too_much_is_subtracted),
		cmocka_unit_test(a_corrected_count_must_be_possible),
		cmocka_unit_test(a_count_is_bounded_by_2_to_the_40_in_a_second),
		cmocka_unit_test(a_register_that_was_cleared),
		cmocka_unit_test(counters_that_may_have_been_switched_off),
		cmocka_unit_test(random_torn_readings_add_up),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
