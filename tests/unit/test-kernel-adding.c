/* SPDX-License-Identifier: MIT */
/* Counts of a driver that adds its register at each reading, as linux arch/x86/events/amd/iommu.c does it. */
#include "source/kernel/perf.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* perf_iommu_start, _stop and _read: the register is set to 0 at a start only. */
struct driver {
	uint64_t reg, count, truth;
	bool running, fixed; /* fixed: it adds what the register has moved by */
	uint64_t prev;
};

static void add(struct driver *d)
{
	d->count += d->fixed ? d->reg - d->prev : d->reg;
	d->prev = d->reg;
}

static void start(struct driver *d)
{
	d->running = true;
	d->reg = d->prev = 0;
}

static void stop(struct driver *d)
{
	if (d->running)
		add(d);
	d->running = false;
}

static void moves(struct driver *d, uint64_t n)
{
	d->reg += d->running ? n : 0;
	d->truth += d->running ? n : 0;
}

static uint64_t reading(struct driver *d)
{
	if (d->running)
		add(d);
	return d->count;
}

static uint64_t take(struct unc_adding *a, struct driver *d, uint64_t between)
{
	uint64_t first = reading(d);

	moves(d, between);
	return unc_adding_take(a, first, reading(d));
}

/* 100 in each of three intervals: the driver has 100, 300 and 600 then. */
static void three_intervals(void **state)
{
	struct driver d = {0};
	struct unc_adding a = {0};

	(void)state;
	start(&d);
	assert_int_equal(take(&a, &d, 0), 0);
	for (uint64_t i = 1; i <= 3; i++) {
		moves(&d, 100);
		assert_int_equal(take(&a, &d, 0), 100 * i);
	}
	assert_true(d.count > 600);
	stop(&d);
	assert_int_equal(take(&a, &d, 0), 300);
	assert_int_equal(take(&a, &d, 0), 300);
}

/* The kernel stops and starts events for others; what the group's trial has counted before stays out. */
static void any_order(void **state)
{
	bool fixed = *state;
	uint32_t random = 1;

	for (int run = 0; run < 200; run++) {
		struct driver d = {.fixed = fixed};
		struct unc_adding a = {0};
		uint64_t base, before, counted;

		start(&d);
		moves(&d, 7);
		reading(&d);
		stop(&d);
		start(&d);
		base = take(&a, &d, 0);
		before = d.truth;
		for (int i = 0; i < 60; i++) {
			random = random * 1664525 + 1013904223;
			switch (random >> 29) {
			case 0:
				stop(&d);
				break;
			case 1:
				stop(&d);
				start(&d);
				break;
			case 2:
			case 3:
			case 4:
				moves(&d, random >> 12 & 0xfff);
				break;
			default:
				counted = take(&a, &d, 0) - base;
				assert_int_equal(counted, d.truth - before);
			}
		}
	}
}

/* What is counted between the two readings is in this interval or the next; only where the event was started
 * meanwhile it is lost. */
static void between_the_readings(void **state)
{
	struct driver d = {0};
	struct unc_adding a = {0};
	uint64_t base, counted;

	(void)state;
	start(&d);
	base = take(&a, &d, 5);
	for (int i = 0; i < 4; i++) {
		moves(&d, 1000);
		counted = take(&a, &d, 5) - base;
		assert_int_equal(counted, d.truth - 5);
	}
	moves(&d, 1000);
	stop(&d);
	start(&d);
	moves(&d, 1000);
	counted = take(&a, &d, 5) - base;
	assert_int_equal(counted, d.truth - 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(three_intervals),
		cmocka_unit_test_prestate(any_order, NULL),
		{"any_order, fixed", any_order, NULL, NULL, (void *)1},
		cmocka_unit_test(between_the_readings),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
