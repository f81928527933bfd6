/* SPDX-License-Identifier: MIT */
/* Which keys get the groups, against rates that the test knows and the code learns only by measuring. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "who/choose.h"

#define MOST 64

struct world {
	struct who_key keys[MOST];
	double rates[MOST]; /* what each really moves */
	size_t count, slots;
	uint64_t interval;
};

static struct world make(size_t count, size_t slots)
{
	struct world w = {.count = count, .slots = slots};

	for (size_t i = 0; i < count; i++) {
		w.rates[i] = (double)(i + 1);
		w.keys[i] = (struct who_key){.cpu = 0.5, .processes = 1, .slot = -1, .rate = NAN};
	}
	return w;
}

/* An interval: what had a slot is measured, and the slots are given away again. Each slot has one key. */
static size_t step(struct world *w)
{
	bool taken[MOST] = {false};
	int before[MOST];
	size_t moves = 0;

	w->interval++;
	for (size_t i = 0; i < w->count; i++) {
		before[i] = w->keys[i].slot;
		if (w->keys[i].slot < 0)
			continue;
		w->keys[i].rate = w->rates[i];
		w->keys[i].measured = w->interval;
	}
	choose_slots(w->keys, w->count, w->slots);
	for (size_t i = 0; i < w->count; i++) {
		int slot = w->keys[i].slot;

		assert_true(slot < (int)w->slots);
		assert_false(slot >= 0 && taken[slot]);
		if (slot >= 0)
			taken[slot] = true;
		moves += slot >= 0 && slot != before[i];
	}
	return moves;
}

static void enough_slots(void **state)
{
	struct world w = make(8, 8);

	(void)state;
	assert_int_equal(step(&w), 8);
	for (int i = 0; i < 10; i++)
		assert_int_equal(step(&w), 0);
	/* An idle key keeps its slot. */
	w.keys[3].cpu = 0;
	assert_int_equal(step(&w), 0);
	assert_true(w.keys[3].slot >= 0);
	/* One that has ended does not. */
	w.keys[3].processes = 0;
	step(&w);
	assert_int_equal(w.keys[3].slot, -1);
}

static void an_idle_key_makes_room(void **state)
{
	struct world w = make(9, 8);

	(void)state;
	w.keys[8].cpu = 0;
	step(&w);
	assert_int_equal(w.keys[8].slot, -1);
	w.keys[0].cpu = 0;
	w.keys[8].cpu = 1;
	assert_int_equal(step(&w), 1);
	assert_int_equal(w.keys[0].slot, -1);
	assert_true(w.keys[8].slot >= 0);
}

/* 40 busy keys on 8 slots: each is measured once in 7 intervals, and then the largest keep their slots. */
static void forty_on_eight(void **state)
{
	struct world w = make(40, 8);
	unsigned measured[MOST] = {0};

	(void)state;
	/* CPU time says nothing about bytes: those that move most use least. */
	for (size_t i = 0; i < 40; i++)
		w.keys[i].cpu = 1 - (double)i / 50;
	for (int i = 0; i < 8; i++)
		step(&w);
	for (size_t i = 0; i < 40; i++)
		assert_true(w.keys[i].measured);
	for (int i = 0; i < 40; i++) {
		step(&w);
		for (size_t k = 34; k < 40; k++)
			assert_true(w.keys[k].slot >= 0);
		for (size_t k = 0; k < 34; k++)
			measured[k] += w.keys[k].slot >= 0;
	}
	/* 34 keys on 2 slots: each has its turn after 17 intervals. */
	for (size_t k = 0; k < 34; k++)
		assert_in_range(measured[k], 2, 3);
}

/* A key that begins to move more is found in its turn, and gets a slot that it keeps. */
static void one_that_grows(void **state)
{
	struct world w = make(20, 4);
	int found = 0;

	(void)state;
	for (int i = 0; i < 20; i++)
		step(&w);
	w.rates[2] = 1000;
	for (int i = 0; i < 20; i++) {
		step(&w);
		found += w.keys[2].slot >= 0;
	}
	assert_true(found >= 3);
	for (int i = 0; i < 20; i++) {
		step(&w);
		assert_true(w.keys[2].slot >= 0);
	}
}

/* Two keys that move nearly the same do not take turns with a slot that is kept. */
static void hysteresis(void **state)
{
	struct world w = make(6, 4);
	int slot;

	(void)state;
	w.rates[0] = w.rates[1] = w.rates[2] = w.rates[3] = 1;
	w.rates[4] = w.rates[5] = 100;
	for (int i = 0; i < 8; i++)
		step(&w);
	slot = w.keys[4].slot;
	for (int i = 0; i < 10; i++) {
		w.rates[4] = i % 2 ? 100 : 110;
		w.rates[5] = i % 2 ? 110 : 100;
		step(&w);
		assert_int_equal(w.keys[4].slot, slot);
	}
}

static void who_is_busy(void **state)
{
	const struct who_key idle = {.cpu = 0.001, .faults = 100, .processes = 1},
			     tick = {.cpu = 0.01}, pages = {.faults = 3000},
			     elsewhere = {.cpu = 1, .elsewhere = true};

	(void)state;
	assert_false(key_is_busy(&idle));
	assert_true(key_is_busy(&tick));
	assert_true(key_is_busy(&pages));
	assert_false(key_is_busy(&elsewhere));
}

/* Tasks in groups of others are not moved: their key needs no slot. */
static void keys_of_others(void **state)
{
	struct world w = make(3, 2);

	(void)state;
	step(&w);
	w.keys[0].elsewhere = w.keys[1].elsewhere = true;
	step(&w);
	assert_int_equal(w.keys[0].slot, -1);
	assert_int_equal(w.keys[1].slot, -1);
	assert_true(w.keys[2].slot >= 0);
}

/* This process is hardly what anybody looks for. */
static void its_own_key(void **state)
{
	struct who_key k = {.cpu = 0.05, .faults = 1e6, .own = true};

	(void)state;
	assert_false(key_is_busy(&k));
	k.cpu = 0.2;
	assert_true(key_is_busy(&k));
}

static void one_slot(void **state)
{
	struct world w = make(3, 1);
	unsigned had[3] = {0};

	(void)state;
	for (int i = 0; i < 9; i++) {
		step(&w);
		for (size_t k = 0; k < 3; k++)
			had[k] += w.keys[k].slot == 0;
	}
	for (size_t k = 0; k < 3; k++)
		assert_int_equal(had[k], 3);
	choose_slots(w.keys, 0, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(enough_slots),   cmocka_unit_test(an_idle_key_makes_room),
		cmocka_unit_test(forty_on_eight), cmocka_unit_test(one_that_grows),
		cmocka_unit_test(hysteresis),     cmocka_unit_test(who_is_busy),
		cmocka_unit_test(keys_of_others), cmocka_unit_test(one_slot),
		cmocka_unit_test(its_own_key),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
