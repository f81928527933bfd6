/* SPDX-License-Identifier: MIT */
/* Sums of the exporter, where counters of a row were enabled for different times. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "serve/series.h"

#define COUNTED 1000 /* by each counter in each interval */
#define LINE 64      /* bytes of a CAS command: the width of a DDR channel times its burst length */
#define MOST 20
#define SECOND UINT64_C(1000000000)

/* Simulated readings: every other channel is counted in the first half of each interval only. The
 * clocks beside them are in no row. */
struct tape {
	bool half[MOST];
	size_t count, channels;
	uint64_t readings;
};

static int tape_open(void *context, struct uncore_counter *const *counters, size_t count,
		     const char **why)
{
	struct tape *t = context;

	(void)why;
	assert_true(count <= MOST);
	*t = (struct tape){.count = count};
	for (size_t i = 0; i < count; i++)
		if (strcmp(counters[i]->event, counters[0]->event) == 0)
			t->half[i] = t->channels++ % 2;
	return 0;
}

static int tape_read(void *context, struct uncore_reading *const *into, uint64_t *monotonic_ns,
		     uint64_t *wall_ns, const char **why)
{
	struct tape *t = context;

	(void)why;
	for (size_t i = 0; i < t->count; i++) {
		uint64_t ns = t->readings * SECOND / (t->half[i] ? 2 : 1);

		*into[i] = (struct uncore_reading){
			.raw = t->readings * COUNTED, .enabled_ns = ns, .running_ns = ns};
	}
	*monotonic_ns = *wall_ns = t->readings++ * SECOND;
	return 0;
}

static void a_counter_increases_by_the_count(void **state)
{
	struct tape tape = {0};
	struct uncore_replay source = {.size = sizeof(source),
				       .name = "replay:test",
				       .context = &tape,
				       .open = tape_open,
				       .read = tape_read};
	struct series_set set = {0};
	struct uncore_monitor *m;
	struct uncore_sample *s;
	struct uncore *u;
	char *snapshot;

	(void)state;
	assert_int_equal(uncore_new(&u), 0);
	assert_int_equal(uncore_set_source(u, "sim:skx,step=1s"), 0);
	assert_int_equal(uncore_snapshot(u, &snapshot), 0);
	uncore_free(u);
	assert_int_equal(uncore_new(&u), 0);
	source.snapshot = snapshot;
	assert_int_equal(uncore_set_replay(u, &source), 0);
	assert_int_equal(uncore_scan(u), 0);
	assert_int_equal(uncore_monitor_new(&m, u), 0);
	assert_int_equal(uncore_monitor_add_metrics(m, "memory.read.bandwidth"), 0);
	assert_int_equal(uncore_monitor_open(m), 0);
	assert_int_equal(uncore_monitor_start(m), 0);
	assert_int_equal(uncore_sample_new(&s), 0);
	assert_true(tape.channels > 1 && tape.channels % 2 == 0);
	for (int i = 1; i <= 3; i++) {
		const struct uncore_row *row;

		assert_int_equal(uncore_monitor_read(m, s), 0);
		assert_int_equal(uncore_sample_count(s), 1);
		row = uncore_sample_row(s, 0);
		/* The rate is the sum of rates: those of the shorter time are twice as high. */
		assert_true(fabs(row->value - 1.5 * (double)tape.channels * COUNTED * LINE) < 1e-3);
		series_add(&set, u, s, SECOND);
		assert_int_equal(set.series_count, 1);
		assert_true(fabs(set.series[0].sum -
				 (double)i * (double)tape.channels * COUNTED * LINE) < 1e-3);
	}
	series_free(&set);
	uncore_sample_free(s);
	uncore_monitor_free(m);
	uncore_free(u);
	free(snapshot);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_counter_increases_by_the_count)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
