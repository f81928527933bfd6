/* SPDX-License-Identifier: MIT */
/* Reading again and again: intervals, totals, several monitors, and no allocation; what a plan of many
 * places takes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "toy.h"

#define SECOND UINT64_C(1000000000)

/* ---- counting allocations: the linker sends the library's calls here (--wrap) ------------------- */

static size_t allocations, allocated; /* calls; bytes asked for */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_reallocarray(void *old, size_t count, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_reallocarray(void *old, size_t count, size_t size);
char *__wrap_strdup(const char *text);

void *__wrap_malloc(size_t size)
{
	allocations++;
	allocated += size;
	return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	allocations++;
	allocated += count * size;
	return __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	allocations++;
	allocated += size;
	return __real_realloc(old, size);
}

void *__wrap_reallocarray(void *old, size_t count, size_t size)
{
	allocations++;
	allocated += count * size;
	return __real_reallocarray(old, count, size);
}

char *__wrap_strdup(const char *text)
{
	allocations++;
	return __real_strdup(text);
}

/* ---- intervals and totals --------------------------------------------------------------------- */

/* The 32-bit counter wraps about seven times in ten intervals, always within one. */
static void the_total_is_the_sum_of_the_intervals(void **state)
{
	/* of all places: four CPUs, or two packages */
	static const uint64_t rates[] = {4000, 1600, UINT64_C(12000000000), 200};
	uint64_t sums[COUNT(rates)] = {0};
	struct toy t;

	(void)state;
	toy_play(&t, UNCORE_LEVEL_MACHINE);
	toy_ok(&t, uncore_monitor_add_events(t.m, "toy/ticks/,toy/shared/,toy/wraps/,toy/energy/"));
	toy_start(&t);
	for (uint64_t i = 0; i < 10; i++) {
		toy_ok(&t, uncore_monitor_read(t.m, t.s));
		assert_int_equal(uncore_sample_begin_ns(t.s), i * SECOND);
		assert_int_equal(uncore_sample_end_ns(t.s), (i + 1) * SECOND);
		assert_int_equal(uncore_sample_begin_wall_ns(t.s), i * SECOND);
		assert_int_equal(uncore_sample_end_wall_ns(t.s), (i + 1) * SECOND);
		for (size_t k = 0; k < COUNT(rates); k++) {
			assert_int_equal(uncore_sample_row(t.s, k)->counted->count, rates[k]);
			sums[k] += uncore_sample_row(t.s, k)->counted->count;
		}
	}
	toy_ok(&t, uncore_monitor_total(t.m, t.s));
	assert_int_equal(uncore_sample_begin_ns(t.s), 0);
	assert_int_equal(uncore_sample_end_ns(t.s), 10 * SECOND);
	assert_int_equal(uncore_sample_begin_wall_ns(t.s), 0);
	assert_int_equal(uncore_sample_end_wall_ns(t.s), 10 * SECOND);
	for (size_t k = 0; k < COUNT(rates); k++) {
		const struct uncore_row *row = uncore_sample_row(t.s, k);

		assert_int_equal(row->counted->count, sums[k]);
		assert_int_equal(row->counted->count, 10 * rates[k]);
		assert_close(row->counted->seconds, 10);
	}
	/* Looking at the total reads nothing: the next interval is one step long. */
	toy_ok(&t, uncore_monitor_total(t.m, t.s));
	toy_ok(&t, uncore_monitor_read(t.m, t.s));
	assert_int_equal(uncore_sample_begin_ns(t.s), 10 * SECOND);
	assert_int_equal(uncore_sample_row(t.s, 0)->counted->count, rates[0]);
	toy_end(&t);
}

/* 10 intervals of a second, with a second after each that is left out. */
/* Each ends a second after the one before; a read ends one, too. */
static void values_of_the_latest_short_sample(void **state)
{
	static const double rates[] = {4000, 4000}; /* a second; the second event is multiplexed */
	const double *values;
	uint64_t begin_ns, end_ns;
	struct toy t;

	(void)state;
	toy_play(&t, UNCORE_LEVEL_MACHINE);
	toy_ok(&t, uncore_monitor_add_events(t.m, "toy/ticks/,toy/shared/"));
	toy_ok(&t, uncore_monitor_set_short_samples(t.m, 0.8));
	toy_start(&t);
	assert_int_equal(uncore_monitor_short_values(t.m, &values, &begin_ns, &end_ns), 0);
	for (uint64_t i = 0; i < 6; i++) {
		if (i % 3 == 2)
			toy_ok(&t, uncore_monitor_read(t.m, t.s));
		else
			toy_ok(&t, uncore_monitor_short_sample(t.m));
		assert_int_equal(uncore_monitor_short_values(t.m, &values, &begin_ns, &end_ns),
				 COUNT(rates));
		assert_int_equal(begin_ns, i * SECOND);
		assert_int_equal(end_ns, (i + 1) * SECOND);
		for (size_t k = 0; k < COUNT(rates); k++)
			assert_float_equal(values[k], rates[k], 1e-9);
	}
	assert_int_equal(uncore_sample_distribution(t.s, 0)->samples, 3);
	toy_end(&t);
}

static void skipped_intervals_are_in_no_total(void **state)
{
	struct toy t;

	(void)state;
	toy_play(&t, UNCORE_LEVEL_MACHINE);
	toy_ok(&t, uncore_monitor_add_events(t.m, "toy/ticks/,toy/wraps/"));
	assert_int_equal(uncore_monitor_resume(t.m), -EBUSY);
	toy_start(&t);
	for (uint64_t i = 0; i < 10; i++) {
		toy_ok(&t, uncore_monitor_read(t.m, t.s));
		assert_int_equal(uncore_sample_begin_ns(t.s), 2 * i * SECOND);
		assert_int_equal(uncore_sample_row(t.s, 0)->counted->count, 4000);
		toy_ok(&t, uncore_monitor_resume(t.m));
	}
	toy_ok(&t, uncore_monitor_total(t.m, t.s));
	assert_int_equal(uncore_sample_begin_ns(t.s), 10 * SECOND);
	assert_int_equal(uncore_sample_end_ns(t.s), 20 * SECOND);
	assert_int_equal(uncore_sample_row(t.s, 0)->counted->count, 40000);
	assert_int_equal(uncore_sample_row(t.s, 1)->counted->count, UINT64_C(120000000000));
	assert_close(uncore_sample_row(t.s, 0)->counted->seconds, 10);
	toy_end(&t);
}

static void stopping_ends_the_last_interval(void **state)
{
	struct toy t;

	(void)state;
	toy_play(&t, UNCORE_LEVEL_MACHINE);
	toy_ok(&t, uncore_monitor_add_events(t.m, "toy/ticks,cpu=0/"));
	toy_start(&t);
	toy_ok(&t, uncore_monitor_read(t.m, t.s));
	toy_ok(&t, uncore_monitor_stop(t.m));
	toy_ok(&t, uncore_monitor_read(t.m, t.s));
	assert_int_equal(uncore_sample_row(t.s, 0)->counted->count, 1000);
	toy_ok(&t, uncore_monitor_total(t.m, t.s));
	assert_int_equal(uncore_sample_row(t.s, 0)->counted->count, 2000);
	toy_end(&t);
}

static void monitors_do_not_disturb_each_other(void **state)
{
	struct toy t;
	struct uncore_monitor *second;

	(void)state;
	toy_play(&t, UNCORE_LEVEL_MACHINE);
	toy_ok(&t, uncore_monitor_add_events(t.m, "toy/ticks,cpu=0/"));
	toy_start(&t);
	toy_ok(&t, uncore_monitor_read(t.m, t.s));
	toy_ok(&t, uncore_monitor_new(&second, t.u));
	toy_ok(&t, uncore_monitor_set_level(second, UNCORE_LEVEL_INSTANCE));
	toy_ok(&t, uncore_monitor_add_events(second, "toy/ticks/"));
	toy_ok(&t, uncore_monitor_open(second));
	toy_ok(&t, uncore_monitor_start(second));
	toy_ok(&t, uncore_monitor_read(second, t.s)); /* one sample may serve both */
	assert_int_equal(uncore_sample_count(t.s), 4);
	assert_int_equal(uncore_sample_row(t.s, 3)->counted->count, 1000);
	toy_ok(&t, uncore_monitor_read(t.m, t.s));
	assert_int_equal(uncore_sample_count(t.s), 1);
	assert_int_equal(uncore_sample_row(t.s, 0)->counted->count, 1000);
	uncore_monitor_free(second);
	toy_ok(&t, uncore_monitor_read(t.m, t.s));
	toy_end(&t);
}

/* ---- allocations ------------------------------------------------------------------------------ */

static void reading_allocates_nothing_after_the_first_time(void **state)
{
	struct toy t;
	size_t before;

	(void)state;
	toy_play(&t, UNCORE_LEVEL_INSTANCE);
	/* rows with reasons too, and a metric that divides */
	toy_ok(&t, uncore_monitor_add_events(t.m, "toy/ticks/,toy/never/,toy/refused/,odd/data/"));
	toy_ok(&t, uncore_monitor_add_metrics(t.m, "memory.*"));
	assert_true(allocations > 0); /* the counting itself works */
	toy_start(&t);
	toy_ok(&t, uncore_monitor_read(t.m, t.s));
	before = allocations;
	for (int i = 0; i < 20; i++)
		toy_ok(&t, uncore_monitor_read(t.m, t.s));
	toy_ok(&t, uncore_monitor_total(t.m, t.s));
	assert_int_equal(allocations, before);
	assert_true(uncore_sample_count(t.s) > 20);
	toy_end(&t);
}

struct bytes {
	size_t added, planned;
};

/* What it takes at each level to count reads on so many PMUs, each on a CPU of each socket but for the first two,
 * which have three together; and the clock of each. */
static void bytes_for_pmus(struct bytes bytes[UNCORE_LEVEL_PORT + 1], int count)
{
	struct toy t;

	toy_make(&t, TOY_RATES);
	for (int i = 2; i < count; i++) {
		char name[32], type[16];

		snprintf(name, sizeof(name), "uncore_imc_%d", i);
		snprintf(type, sizeof(type), "%d\n", 100 + i);
		machine_pmu(&t.tree, name, type, "0-3\n");
	}
	toy_begin(&t, UNCORE_LEVEL_MACHINE);
	for (int level = UNCORE_LEVEL_MACHINE; level <= UNCORE_LEVEL_PORT; level++) {
		struct bytes *b = &bytes[level];

		uncore_monitor_free(t.m);
		toy_ok(&t, uncore_monitor_new(&t.m, t.u));
		toy_ok(&t, uncore_monitor_set_level(t.m, (enum uncore_level)level));
		allocated = 0;
		toy_ok(&t, uncore_monitor_add_metrics(t.m, "memory.read.bandwidth"));
		b->added = allocated;
		toy_ok(&t, uncore_monitor_plan(t.m));
		assert_int_equal(uncore_monitor_counter_count(t.m), 2 * (3 + (count - 2) * 2));
		b->planned = allocated - b->added;
	}
	toy_end(&t);
}

/* Twice as much for twice the places, but for what is there once, and rooms that are doubled. It
 * would be four times as much if each line, or each place that is added, took room for all. */
static void a_plan_grows_linearly_with_its_places(void **state)
{
	struct bytes once[UNCORE_LEVEL_PORT + 1], twice[UNCORE_LEVEL_PORT + 1];

	(void)state;
	bytes_for_pmus(once, 100);
	bytes_for_pmus(twice, 200);
	for (int i = UNCORE_LEVEL_MACHINE; i <= UNCORE_LEVEL_PORT; i++)
		if (twice[i].added >= 3 * once[i].added || twice[i].planned >= 3 * once[i].planned)
			fail_msg("level %d: %zu + %zu bytes, of twice the PMUs %zu + %zu", i,
				 once[i].added, once[i].planned, twice[i].added, twice[i].planned);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_total_is_the_sum_of_the_intervals),
		cmocka_unit_test(values_of_the_latest_short_sample),
		cmocka_unit_test(skipped_intervals_are_in_no_total),
		cmocka_unit_test(stopping_ends_the_last_interval),
		cmocka_unit_test(monitors_do_not_disturb_each_other),
		cmocka_unit_test(reading_allocates_nothing_after_the_first_time),
		cmocka_unit_test(a_plan_grows_linearly_with_its_places),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
