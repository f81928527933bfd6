/* SPDX-License-Identifier: MIT */
/* Recordings of simulated machines, written and read back. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "record/recording.h"

#define TICKS 150 /* more than two keys */

struct stage {
	char folder[64], path[96];
	struct uncore *u;
	struct uncore_monitor *m;
	struct uncore_sample *s;
	struct recording_head head;
};

static const char *const meta[] = {"uncore", "0", "snapshot", "text", NULL};

static void plan(struct stage *t, const char *metrics)
{
	uncore_monitor_free(t->m);
	assert_int_equal(uncore_monitor_new(&t->m, t->u), 0);
	assert_int_equal(uncore_monitor_add_metrics(t->m, metrics), 0);
	assert_int_equal(uncore_monitor_open(t->m), 0);
	t->head = (struct recording_head){.meta = meta,
					  .command_line = "uncore record",
					  .interval_ns = 1000000000,
					  .monitor = t->m};
}

static int set_up(void **state)
{
	struct stage *t = calloc(1, sizeof(*t));

	if (!t)
		return -1;
	strcpy(t->folder, "/tmp/uncore-recording-XXXXXX");
	if (!mkdtemp(t->folder))
		return -1;
	snprintf(t->path, sizeof(t->path), "%s/a.uncore", t->folder);
	assert_int_equal(uncore_new(&t->u), 0);
	assert_int_equal(uncore_set_source(t->u, "sim:ivt,step=1s"), 0);
	assert_int_equal(uncore_scan(t->u), 0);
	assert_int_equal(uncore_sample_new(&t->s), 0);
	plan(t, "memory.*");
	*state = t;
	return 0;
}

static int tear_down(void **state)
{
	struct stage *t = *state;
	char command[100];

	uncore_sample_free(t->s);
	uncore_monitor_free(t->m);
	uncore_free(t->u);
	snprintf(command, sizeof(command), "rm -r %s", t->folder);
	if (system(command)) /* NOLINT(cert-env33-c): a folder of this test */
		return -1;
	free(t);
	return 0;
}

/* Records `ticks` intervals; the readings of each tick are kept in `readings`, unless that is NULL. */
static void record(struct stage *t, struct recording *r, int ticks, struct uncore_reading *readings)
{
	size_t count = uncore_monitor_counter_count(t->m);

	assert_int_equal(uncore_monitor_start(t->m), 0);
	assert_int_equal(recording_start(r, t->m), 0);
	for (int tick = 0; tick <= ticks; tick++) {
		if (tick)
			assert_int_equal(uncore_monitor_read(t->m, t->s), 0);
		if (tick)
			assert_int_equal(recording_add(r, t->m, t->s), 0);
		for (size_t i = 0; readings && i < count; i++)
			readings[(size_t)tick * count + i] = *uncore_monitor_reading_at(t->m, i);
	}
}

static void create(struct stage *t, struct recording *r)
{
	if (recording_create(r, t->path, &t->head))
		fail_msg("%s", r->error);
}

static void run_sql(struct stage *t, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(t->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void reading_gives_what_was_written(void **state)
{
	struct stage *t = *state;
	size_t count = uncore_monitor_counter_count(t->m);
	struct uncore_reading *readings = calloc((TICKS + 1) * count, sizeof(*readings));
	struct recording_tick tick;
	struct recording r;
	char *text;

	assert_non_null(readings);
	assert_true(count > 3);
	create(t, &r);
	record(t, &r, TICKS, readings);
	assert_int_equal(recording_end(&r, "test"), 0);
	recording_close(&r);

	assert_int_equal(recording_open(&r, t->path), 0);
	assert_int_equal(r.counter_count, count);
	assert_int_equal(recording_meta(&r, "snapshot", &text), 0);
	assert_string_equal(text, "text");
	free(text);
	assert_int_equal(recording_meta(&r, "other", &text), 0);
	assert_null(text);
	for (size_t i = 0; i < count; i++) {
		const struct uncore_counter *c = uncore_monitor_counter_at(t->m, i);

		assert_string_equal(r.counters[i].pmu, uncore_pmu_name(c->pmu));
		assert_memory_equal(r.counters[i].config, c->config, sizeof(c->config));
		assert_int_equal(r.counters[i].cpu, c->cpu);
		assert_int_equal(r.counters[i].width, c->width);
	}
	for (size_t k = 0; k <= TICKS; k++) {
		assert_int_equal(recording_next(&r, &tick), 1);
		assert_int_equal(tick.number, k);
		assert_int_equal(tick.start, k == 0);
		assert_int_equal(tick.monotonic_ns, k * 1000000000);
		assert_int_equal(tick.interval_ns, k ? 1000000000 : 0);
		for (size_t i = 0; i < count; i++) {
			const struct uncore_reading *old = &readings[k * count + i];

			assert_int_equal(r.readings[i].reading.raw, old->raw);
			assert_int_equal(r.readings[i].reading.at_ns, old->at_ns);
			assert_int_equal(r.readings[i].reading.running_ns, old->running_ns);
		}
	}
	assert_int_equal(recording_next(&r, &tick), 0);
	/* A time between two ticks: the one before it comes next. */
	for (size_t k = 0; k <= TICKS; k += 7) {
		assert_int_equal(recording_seek(&r, tick.wall_ns - TICKS * 1000000000ULL +
							    k * 1000000000 + 999999999),
				 0);
		assert_int_equal(recording_next(&r, &tick), 1);
		assert_int_equal(tick.number, k);
		assert_int_equal(r.readings[count - 1].reading.raw,
				 readings[k * count + count - 1].raw);
		tick.wall_ns += (TICKS - k) * 1000000000;
	}
	assert_int_equal(recording_seek(&r, 0), 0);
	assert_int_equal(recording_next(&r, &tick), 1);
	assert_int_equal(tick.number, 0);
	recording_close(&r);
	free(readings);
}

/* Ids of reasons are those of a file: "lost" is 1 in the first one and 2 in the second one. */
static void the_next_file_begins_with_the_last_readings(void **state)
{
	struct stage *t = *state;
	size_t count = uncore_monitor_counter_count(t->m);
	struct uncore_reading *readings = calloc(4 * count, sizeof(*readings));
	struct recording before, r;
	struct recording_tick tick;

	assert_non_null(readings);
	create(t, &before);
	record(t, &before, 3, readings);
	before.readings[0].why = 1;
	before.counter_reasons[0].text = strdup("lost");
	before.readings[1].why = 0;
	before.counter_reasons[1].text = strdup("of an earlier reading");
	assert_int_equal(recording_end(&before, "rotated"), 0);
	recording_close_file(&before);
	strcat(t->path, ".2");
	create(t, &r);
	assert_int_equal(sqlite3_exec(r.db, "INSERT INTO reason(text) VALUES ('other')", NULL, NULL,
				      NULL),
			 SQLITE_OK);
	assert_int_equal(recording_continue(&r, &before), 0);
	recording_close(&before);
	assert_int_equal(uncore_monitor_read(t->m, t->s), 0);
	assert_int_equal(recording_add(&r, t->m, t->s), 0);
	assert_int_equal(recording_end(&r, "test"), 0);
	recording_close(&r);

	assert_int_equal(recording_open(&r, t->path), 0);
	assert_int_equal(recording_next(&r, &tick), 1);
	assert_true(tick.start);
	assert_int_equal(tick.monotonic_ns, 3000000000);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(r.readings[i].reading.raw, readings[3 * count + i].raw);
	assert_string_equal(r.readings[0].reading.why, "lost");
	assert_null(r.readings[1].reading.why);
	assert_int_equal(recording_next(&r, &tick), 1);
	assert_int_equal(tick.interval_ns, 1000000000);
	assert_int_equal(recording_next(&r, &tick), 0);
	recording_close(&r);
	free(readings);
}

/* As a process that is killed leaves it: all intervals that were committed can be read. */
static void what_is_committed_needs_no_end(void **state)
{
	struct stage *t = *state;
	struct recording_tick tick;
	struct recording r;
	int ticks = 0;

	create(t, &r);
	record(t, &r, 5, NULL);
	recording_close(&r);
	assert_int_equal(recording_open(&r, t->path), 0);
	while (recording_next(&r, &tick) == 1)
		ticks++;
	assert_int_equal(ticks, 6);
	recording_close(&r);
}

static void only_recordings_are_opened(void **state)
{
	struct stage *t = *state;
	struct recording r;
	int fd;

	assert_true(recording_open(&r, t->path) < 0);
	assert_non_null(strstr(r.error, "a.uncore: "));
	recording_close(&r);
	fd = open(t->path, O_WRONLY | O_CREAT, 0600);
	assert_int_equal(write(fd, "not a database, but long enough to be read as one", 49), 49);
	close(fd);
	assert_int_equal(recording_open(&r, t->path), -EINVAL);
	assert_non_null(strstr(r.error, "not a recording of uncore"));
	recording_close(&r);
	assert_int_equal(recording_create(&r, t->path, &t->head), -EEXIST);
	assert_non_null(strstr(r.error, "is not overwritten"));
	recording_close(&r);
	unlink(t->path);
	run_sql(t, "CREATE TABLE a(b)");
	assert_int_equal(recording_open(&r, t->path), -EINVAL);
	recording_close(&r);
	t->head.append = true;
	assert_int_equal(recording_create(&r, t->path, &t->head), -EINVAL);
	assert_non_null(strstr(r.error, "not a recording of uncore"));
	recording_close(&r);
}

static void newer_formats_are_refused(void **state)
{
	struct stage *t = *state;
	struct recording r;

	create(t, &r);
	record(t, &r, 1, NULL);
	recording_close(&r);
	run_sql(t, "PRAGMA user_version = 2");
	assert_int_equal(recording_open(&r, t->path), -ENOTSUP);
	assert_non_null(strstr(r.error, "made by a newer version of uncore: its format is 2"));
	recording_close(&r);
}

static void damage_is_an_error_with_the_tick(void **state)
{
	static const char *const damages[] = {
		"UPDATE tick SET readings = x'00ff' WHERE id = 3",
		"UPDATE tick SET readings = NULL WHERE id = 3",
		"UPDATE tick SET readings = 5 WHERE id = 3",
		"UPDATE tick SET readings = substr(readings, 1, length(readings) - 1) WHERE id = 3",
	};
	struct stage *t = *state;
	struct recording_tick tick;
	struct recording r;

	create(t, &r);
	record(t, &r, 5, NULL);
	recording_close(&r);
	for (size_t i = 0; i < sizeof(damages) / sizeof(*damages); i++) {
		run_sql(t, damages[i]);
		assert_int_equal(recording_open(&r, t->path), 0);
		for (int k = 0; k < 3; k++)
			assert_int_equal(recording_next(&r, &tick), 1);
		assert_int_equal(recording_next(&r, &tick), -EBADMSG);
		assert_non_null(strstr(r.error, "the readings of tick 3 are damaged"));
		recording_close(&r);
	}
	run_sql(t, "DELETE FROM tick WHERE id = 3");
	assert_int_equal(recording_open(&r, t->path), 0);
	for (int k = 0; k < 3; k++)
		assert_int_equal(recording_next(&r, &tick), 1);
	assert_int_equal(recording_next(&r, &tick), -EBADMSG);
	recording_close(&r);
}

static void one_process_writes(void **state)
{
	struct stage *t = *state;
	struct recording first, second;

	create(t, &first);
	for (int append = 0; append < 2; append++) {
		t->head.append = append;
		assert_int_equal(recording_create(&second, t->path, &t->head), -EBUSY);
		assert_non_null(strstr(second.error, "another process records into this file"));
		recording_close(&second);
	}
	record(t, &first, 1, NULL);
	recording_close(&first);
}

static void sessions_are_added_from_a_key_on(void **state)
{
	struct stage *t = *state;
	struct recording_tick tick;
	struct recording r;
	uint64_t expected[] = {0, 1, 2, 64, 65, 66};

	create(t, &r);
	record(t, &r, 2, NULL);
	recording_close(&r);
	assert_int_equal(recording_create(&r, t->path, &t->head), -EEXIST);
	assert_non_null(strstr(r.error, "--append"));
	recording_close(&r);
	plan(t, "memory.*");
	t->head.append = true;
	create(t, &r);
	record(t, &r, 2, NULL);
	recording_close(&r);
	assert_int_equal(recording_open(&r, t->path), 0);
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		assert_int_equal(recording_next(&r, &tick), 1);
		assert_int_equal(tick.number, expected[i]);
		assert_int_equal(tick.start, expected[i] % 64 == 0);
	}
	assert_int_equal(recording_next(&r, &tick), 0);
	recording_close(&r);
	/* Other counters. */
	plan(t, "link.*");
	t->head.append = true;
	assert_int_equal(recording_create(&r, t->path, &t->head), -EINVAL);
	assert_non_null(strstr(r.error, "--append needs the counters of the recording"));
	recording_close(&r);
}

/* Recordings of all formats, as the version that introduced the format wrote them. */
static void old_recordings_can_be_read(void **state)
{
	static const struct {
		const char *name;
		size_t counters, ticks;
		uint64_t raw, at_ns; /* of the first counter at the end */
	} cases[] = {
		{"v1-imx8mm", 3, 71, 14000000000, 70000000000},
		{"v1-zen4", 56, 4, 1080000000, 30000000000},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct recording_tick tick;
		struct recording r;
		size_t ticks = 0;
		char path[200], *text;

		snprintf(path, sizeof(path), TEST_SOURCE_ROOT "/tests/recordings/%s.uncore",
			 cases[i].name);
		if (recording_open(&r, path))
			fail_msg("%s", r.error);
		while (recording_next(&r, &tick) == 1)
			ticks++;
		assert_string_equal(r.error, "");
		assert_int_equal(recording_meta(&r, "snapshot", &text), 0);
		assert_memory_equal(text, "uncore snapshot 1\n", 18);
		free(text);
		assert_int_equal(r.counter_count, cases[i].counters);
		assert_int_equal(ticks, cases[i].ticks);
		assert_int_equal(r.readings[0].reading.raw, cases[i].raw);
		assert_int_equal(r.readings[0].reading.at_ns, cases[i].at_ns);
		recording_close(&r);
	}
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(reading_gives_what_was_written),
		TEST(the_next_file_begins_with_the_last_readings),
		TEST(what_is_committed_needs_no_end),
		TEST(only_recordings_are_opened),
		TEST(newer_formats_are_refused),
		TEST(damage_is_an_error_with_the_tick),
		TEST(one_process_writes),
		TEST(sessions_are_added_from_a_key_on),
		cmocka_unit_test(old_recordings_can_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
