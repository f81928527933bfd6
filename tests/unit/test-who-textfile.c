/* SPDX-License-Identifier: MIT */
/* The sums of `uncore who --textfile`: they never go back, and their number is bounded. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tree.h"
#include "who/who.h"

#define MOST 600
#define SECOND 1000000000ULL

static const struct uncore_row_query moved = {.name = OWNER_MOVED}, local = {.name = OWNER_LOCAL},
				     cache = {.name = OWNER_CACHE};

struct world {
	struct tree tree;
	char path[512];
	struct who who;
	struct uncore_row rows[MOST];
	struct uncore_row_place places[MOST];
	struct uncore_row_counted counted;
	char names[MOST][32];
	uint64_t now_ns;
	struct buffer text;
};

static void open_world(struct world *w)
{
	memset(w, 0, sizeof(*w));
	tree_make(&w->tree);
	snprintf(w->path, sizeof(w->path), "%s/who.prom", w->tree.dir);
	w->who = (struct who){.by = BY_UNIT, .rows = w->rows, .textfile.path = w->path};
	w->counted = (struct uncore_row_counted){.seconds = 1, .amount = NAN};
	w->now_ns = SECOND;
}

static void close_world(struct world *w)
{
	who_textfile_end(&w->who.textfile);
	assert_int_not_equal(access(w->path, F_OK), 0);
	buffer_free(&w->text);
	tree_remove(&w->tree);
}

static void add(struct world *w, const struct uncore_row_query *query, const char *name,
		const char *role, double value)
{
	size_t i = w->who.row_count++;

	snprintf(w->names[i], sizeof(w->names[i]), "%s", name ? name : "");
	w->places[i] = (struct uncore_row_place){
		.socket = -1, .role = role, .tasks = name ? w->names[i] : NULL};
	w->rows[i] =
		(struct uncore_row){.query = query,
				    .place = &w->places[i],
				    .counted = &w->counted,
				    .value = value,
				    .quality = isnan(value) ? UNCORE_UNAVAILABLE : UNCORE_MEASURED};
}

/* The interval ends; the file is read. */
static const char *end_interval(struct world *w, uint64_t seconds)
{
	const struct frame f = {.monotonic_ns = w->now_ns += seconds * SECOND};

	assert_int_equal(who_textfile_add(&w->who, &f), 0);
	w->who.row_count = 0;
	w->text.len = 0;
	assert_int_equal(buffer_read(&w->text, "%s", w->path), 0);
	return buffer_text(&w->text);
}

static void assert_has(const char *text, const char *line)
{
	if (!strstr(text, line))
		fail_msg("%s is not in:\n%s", line, text);
}

static void test_sums(void **state)
{
	static struct world w;
	const char *text;

	(void)state;
	open_world(&w);
	add(&w, &moved, "a.service", "/uncore-1-0", 100);
	add(&w, &moved, "1 process and the kernel", OWNER_OTHER, 7);
	add(&w, &moved, NULL, "web", 3);
	add(&w, &cache, "a.service", "/uncore-1-0", 4096);
	text = end_interval(&w, 1);
	assert_has(text, "uncore_who_memory_bytes_total{unit=\"a.service\"} 100\n");
	assert_has(text, "uncore_who_memory_bytes_total{kind=\"other\"} 7\n");
	assert_has(text, "uncore_who_memory_bytes_total{group=\"web\"} 3\n");
	assert_has(text, "uncore_who_cache_bytes{unit=\"a.service\"} 4096\n");
	/* Its group has another owner. Then it has one again, of another number; and then no value. */
	add(&w, &moved, "b.service", "/uncore-1-0", 50);
	text = end_interval(&w, 1);
	assert_has(text, "uncore_who_memory_bytes_total{unit=\"a.service\"} 100\n");
	assert_has(text, "uncore_who_memory_bytes_total{unit=\"b.service\"} 50\n");
	assert_null(strstr(text, "uncore_who_cache_bytes{"));
	add(&w, &moved, "a.service", "/uncore-1-9", 11);
	text = end_interval(&w, 1);
	assert_has(text, "uncore_who_memory_bytes_total{unit=\"a.service\"} 111\n");
	assert_has(text, "uncore_who_measured_seconds_total{unit=\"a.service\"} 2\n");
	add(&w, &moved, "a.service", "/uncore-1-9", NAN);
	text = end_interval(&w, 1);
	assert_has(text, "uncore_who_memory_bytes_total{unit=\"a.service\"} 111\n");
	assert_has(text, "uncore_who_measured_seconds_total{unit=\"a.service\"} 2\n");
	/* Five minutes without a row. */
	add(&w, &moved, "b.service", "/uncore-1-0", 1);
	text = end_interval(&w, 299);
	assert_has(text, "{unit=\"a.service\"} 111\n");
	text = end_interval(&w, 2);
	assert_null(strstr(text, "{unit=\"a.service\"}"));
	assert_has(text, "uncore_who_memory_bytes_total{unit=\"b.service\"} 51\n");
	close_world(&w);
}

/* A sum to which partial values were added says for how long, each interval once. */
static void test_partial(void **state)
{
	static struct world w;
	const char *text;

	(void)state;
	open_world(&w);
	add(&w, &moved, "a.service", "/uncore-1-0", 100);
	add(&w, &moved, "1 process and the kernel", OWNER_OTHER, 7);
	w.rows[1].quality = UNCORE_PARTIAL;
	add(&w, &local, "1 process and the kernel", OWNER_OTHER, 5);
	w.rows[2].quality = UNCORE_SUSPECT;
	add(&w, &cache, "a.service", "/uncore-1-0", 4096);
	w.rows[3].quality = UNCORE_SUSPECT;
	text = end_interval(&w, 1);
	assert_has(text, "uncore_who_partial_seconds_total{unit=\"a.service\"} 0\n");
	assert_has(text, "uncore_who_partial_seconds_total{kind=\"other\"} 1\n");
	add(&w, &moved, "1 process and the kernel", OWNER_OTHER, 7);
	text = end_interval(&w, 1);
	assert_has(text, "uncore_who_partial_seconds_total{kind=\"other\"} 1\n");
	add(&w, &moved, "1 process and the kernel", OWNER_OTHER, 7);
	w.rows[0].quality = UNCORE_PARTIAL;
	text = end_interval(&w, 1);
	assert_has(text, "uncore_who_partial_seconds_total{kind=\"other\"} 2\n");
	assert_has(text, "uncore_who_measured_seconds_total{kind=\"other\"} 3\n");
	close_world(&w);
}

/* More keys than series: those of this interval stay, and old ones make room. */
static void test_bound(void **state)
{
	static struct world w;
	char name[32];
	const char *text;

	(void)state;
	open_world(&w);
	add(&w, &moved, "old.service", "/uncore-1-0", 5);
	end_interval(&w, 1);
	for (int i = 0; i < WHO_OWNERS + 3; i++) {
		snprintf(name, sizeof(name), "u%d.service", i);
		add(&w, &moved, name, "/uncore-1-0", 1);
	}
	text = end_interval(&w, 1);
	assert_null(strstr(text, "old.service"));
	assert_has(text, "{unit=\"u511.service\"} 1\n");
	assert_null(strstr(text, "u512.service"));
	assert_has(text, "uncore_who_left_out 3\n");
	close_world(&w);
}

static void test_labels(void **state)
{
	static struct world w;
	const struct {
		enum who_by by;
		const char *name, *labels;
	} all[] = {
		{BY_PROCESS, "a (b) \"c\" (12)", "{process=\"a (b) \\\"c\\\"\",pid=\"12\"} 1\n"},
		{BY_CGROUP, "/a\\x2db", "{cgroup=\"/a\\\\x2db\"} 1\n"},
		{BY_CONTAINER, "docker 4f8d1c0b2a3e",
		 "{runtime=\"docker\",container=\"4f8d1c0b2a3e\"} 1\n"},
		{BY_CONTAINER, "containerd 4f8d of pod 12-34",
		 "{runtime=\"containerd\",container=\"4f8d\",pod=\"12-34\"} 1\n"},
		{BY_JOB, "job 42", "{slurm_job=\"42\"} 1\n"},
		{BY_USER, "root (0)", "{user=\"root\",uid=\"0\"} 1\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		open_world(&w);
		w.who.by = all[i].by;
		add(&w, &moved, all[i].name, "/uncore-1-0", 1);
		assert_has(end_interval(&w, 1), all[i].labels);
		close_world(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_partial),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
