/* SPDX-License-Identifier: MIT */
/* A simulation is recorded through the public header, and its recording gives the same rows. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "uncore.h"

#define READINGS 5
#define WALL UINT64_C(1764000000000000000)

/* A recording in memory. */
struct tape {
	struct uncore_counter *counters;
	struct uncore_reading *readings; /* of all counters, READINGS times */
	uint64_t at_ns[READINGS];
	size_t count, next;
	size_t together; /* readings of one interval */
	size_t missing;  /* counters that were not recorded, at its end */
};

struct shown {
	double value, rate;
	uint64_t count;
	enum uncore_quality quality;
};

static void ok(struct uncore *u, int err)
{
	if (err)
		fail_msg("%s", uncore_error(u));
}

static struct uncore_monitor *monitor_of(struct uncore *u)
{
	struct uncore_monitor *m;

	ok(u, uncore_monitor_new(&m, u));
	ok(u, uncore_monitor_set_level(m, UNCORE_LEVEL_CHANNEL));
	ok(u, uncore_monitor_add_metrics(m, "memory.*bandwidth"));
	ok(u, uncore_monitor_add_events(m, "uncore_imc/cas_count_read/"));
	ok(u, uncore_monitor_open(m));
	ok(u, uncore_monitor_start(m));
	return m;
}

static void record_reading(struct tape *t, const struct uncore_monitor *m, size_t number,
			   uint64_t at_ns)
{
	t->at_ns[number] = at_ns;
	for (size_t i = 0; i < t->count; i++)
		t->readings[number * t->count + i] = *uncore_monitor_reading_at(m, i);
}

/* The rows of each interval, and of the total behind them. */
static size_t take_rows(const struct uncore_sample *s, struct shown *rows, size_t at)
{
	for (size_t i = 0; i < uncore_sample_count(s); i++) {
		const struct uncore_row *row = uncore_sample_row(s, i);

		rows[at++] =
			(struct shown){row->value, row->rate, row->counted->count, row->quality};
	}
	return at;
}

static size_t record(struct tape *t, char **snapshot, struct shown *rows)
{
	struct uncore_monitor *m;
	struct uncore_sample *s;
	struct uncore *u;
	size_t at = 0;

	assert_int_equal(uncore_new(&u), 0);
	assert_int_equal(uncore_sample_new(&s), 0);
	ok(u, uncore_set_source(u, "sim:skx,step=20ms"));
	ok(u, uncore_snapshot(u, snapshot));
	ok(u, uncore_scan(u));
	m = monitor_of(u);
	t->count = uncore_monitor_counter_count(m);
	t->counters = calloc(t->count, sizeof(*t->counters));
	t->readings = calloc(t->count * READINGS, sizeof(*t->readings));
	assert_true(t->count > 10 && t->counters && t->readings);
	record_reading(t, m, 0, 0);
	for (size_t i = 0; i < t->count; i++) {
		t->counters[i] = *uncore_monitor_counter_at(m, i);
		t->counters[i].pmu = NULL; /* dies with the machine */
		t->counters[i].event = NULL;
	}
	for (size_t n = 1; n < READINGS; n++) {
		ok(u, uncore_monitor_read(m, s));
		at = take_rows(s, rows, at);
		record_reading(t, m, n, uncore_sample_end_ns(s));
	}
	ok(u, uncore_monitor_total(m, s));
	at = take_rows(s, rows, at);
	uncore_monitor_free(m);
	uncore_sample_free(s);
	uncore_free(u);
	return at;
}

static int tape_open(void *context, struct uncore_counter *const *counters, size_t count,
		     const char **why)
{
	struct tape *t = context;

	t->next = 0;
	if (count != t->count) {
		*why = "another number of counters";
		return -EINVAL;
	}
	for (size_t i = 0; i < count; i++) {
		assert_memory_equal(counters[i]->config, t->counters[i].config,
				    sizeof(counters[i]->config));
		assert_int_equal(counters[i]->cpu, t->counters[i].cpu);
		counters[i]->width = t->counters[i].width;
		counters[i]->most_per_s = t->counters[i].most_per_s;
		counters[i]->error = i + t->missing >= count ? -ENODATA : 0;
		counters[i]->why = counters[i]->error ? "it is not in the recording" : NULL;
	}
	return 0;
}

static int tape_read(void *context, struct uncore_reading *const *into, uint64_t *monotonic_ns,
		     uint64_t *wall_ns, const char **why)
{
	struct tape *t = context;

	if (t->next == READINGS) {
		*why = "the recording is over";
		return -ENODATA;
	}
	for (size_t i = 0; i < t->count; i++)
		*into[i] = t->readings[t->next * t->count + i];
	*monotonic_ns = t->at_ns[t->next];
	*wall_ns = WALL + *monotonic_ns;
	return t->next++ % t->together != 0;
}

static void replay(struct tape *t, const char *snapshot, struct shown *rows, size_t room,
		   size_t *count, bool *ended)
{
	const struct uncore_replay replay = {.size = sizeof(replay),
					     .name = "replay:tape",
					     .snapshot = snapshot,
					     .simulated = true,
					     .context = t,
					     .open = tape_open,
					     .read = tape_read};
	struct uncore_monitor *m;
	struct uncore_sample *s;
	struct uncore *u;
	size_t at = 0;
	int err;

	assert_int_equal(uncore_new(&u), 0);
	assert_int_equal(uncore_sample_new(&s), 0);
	ok(u, uncore_set_replay(u, &replay));
	assert_string_equal(uncore_source(u), "replay:tape");
	assert_true(uncore_is_simulated(u));
	assert_int_equal(uncore_set_root(u, "/"), -EINVAL);
	ok(u, uncore_scan(u));
	m = monitor_of(u);
	assert_int_equal(uncore_set_replay(u, &replay), -EBUSY);
	while (!(err = uncore_monitor_read(m, s))) {
		at = take_rows(s, rows, at);
		assert_true(at <= room);
		assert_int_equal(uncore_sample_end_wall_ns(s), WALL + uncore_sample_end_ns(s));
	}
	*ended = err == -ENODATA && strcmp(uncore_error(u), "the recording is over") == 0;
	ok(u, uncore_monitor_total(m, s));
	*count = take_rows(s, rows, at);
	uncore_monitor_free(m);
	ok(u, uncore_set_source(u, "kernel"));
	assert_false(uncore_is_simulated(u));
	ok(u, uncore_set_root(u, "/"));
	uncore_sample_free(s);
	uncore_free(u);
}

static void assert_same(const struct shown *a, const struct shown *b, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(a[i].quality, b[i].quality);
		assert_int_equal(a[i].count, b[i].count);
		assert_true(a[i].value == b[i].value);
		assert_true(a[i].rate == b[i].rate || (isnan(a[i].rate) && isnan(b[i].rate)));
	}
}

static struct shown made[1000], again[1000];

static void a_recording_gives_the_same_rows(void **state)
{
	struct tape t = {.together = 1};
	char *snapshot = NULL;
	size_t count = record(&t, &snapshot, made), replayed, rows = count / READINGS;
	size_t without = 0;
	bool ended;

	(void)state;
	replay(&t, snapshot, again, 1000, &replayed, &ended);
	assert_true(ended);
	assert_int_equal(replayed, count);
	assert_same(made, again, count);

	/* Two intervals as one: the total of all is the same, and their counts are sums. */
	t.together = 2;
	replay(&t, snapshot, again, 1000, &replayed, &ended);
	assert_true(ended);
	assert_int_equal(replayed, rows * 3);
	for (size_t i = 0; i < rows; i++)
		assert_int_equal(again[i].count, made[i].count + made[rows + i].count);
	assert_same(made + 4 * rows, again + 2 * rows, rows);

	/* The last counters are missing, a clock and one that rows need: these have no value. */
	t.together = 1;
	t.missing = 2;
	replay(&t, snapshot, again, 1000, &replayed, &ended);
	assert_int_equal(replayed, count);
	for (size_t i = 0; i < rows; i++) {
		without += again[i].quality == UNCORE_UNAVAILABLE && isnan(again[i].value);
		assert_true(again[i].quality == UNCORE_UNAVAILABLE ||
			    again[i].value == made[i].value);
	}
	assert_in_range(without, 1, rows / 2);
	free(t.counters);
	free(t.readings);
	free(snapshot);
}

static int refuse_to_open(void *context, struct uncore_counter *const *counters, size_t count,
			  const char **why)
{
	(void)context;
	(void)counters;
	(void)count;
	*why = "the file is broken";
	return -EBADMSG;
}

static void errors_have_the_callers_sentence(void **state)
{
	struct uncore_replay replay = {.size = sizeof(replay),
				       .name = "replay:tape",
				       .snapshot = "no snapshot",
				       .open = refuse_to_open,
				       .read = tape_read};
	struct uncore_monitor *m;
	struct uncore *u;
	char *snapshot;

	(void)state;
	assert_int_equal(uncore_new(&u), 0);
	assert_int_equal(uncore_set_replay(u, &replay), -EINVAL);
	assert_non_null(strstr(uncore_error(u), "replay:tape"));
	assert_string_equal(uncore_source(u), "kernel");
	ok(u, uncore_set_source(u, "sim:skx"));
	ok(u, uncore_snapshot(u, &snapshot));
	replay.snapshot = snapshot;
	ok(u, uncore_set_replay(u, &replay));
	assert_false(uncore_is_simulated(u));
	ok(u, uncore_scan(u));
	ok(u, uncore_monitor_new(&m, u));
	ok(u, uncore_monitor_add_metrics(m, "memory.bandwidth"));
	assert_int_equal(uncore_monitor_open(m), -EBADMSG);
	assert_string_equal(uncore_error(u), "the file is broken");
	uncore_monitor_free(m);
	free(snapshot);
	uncore_free(u);
}

/* A program may have been compiled with a later release, whose struct is longer. */
static void the_size_is_that_of_the_program(void **state)
{
	struct {
		struct uncore_replay replay;
		uint64_t later;
	} given = {.replay = {.name = "replay:tape", .open = tape_open, .read = tape_read}};
	struct uncore *u;
	char *snapshot;

	(void)state;
	assert_int_equal(uncore_new(&u), 0);
	ok(u, uncore_set_source(u, "sim:skx"));
	ok(u, uncore_snapshot(u, &snapshot));
	given.replay.snapshot = snapshot;
	assert_int_equal(uncore_set_replay(u, &given.replay), -EINVAL);
	assert_non_null(strstr(uncore_error(u), "its size is not set"));
	given.replay.size = sizeof(given);
	ok(u, uncore_set_replay(u, &given.replay));
	given.later = UINT64_C(1) << 56;
	assert_int_equal(uncore_set_replay(u, &given.replay), -EINVAL);
	assert_non_null(strstr(uncore_error(u), "does not know"));
	free(snapshot);
	uncore_free(u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_recording_gives_the_same_rows),
		cmocka_unit_test(errors_have_the_callers_sentence),
		cmocka_unit_test(the_size_is_that_of_the_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
