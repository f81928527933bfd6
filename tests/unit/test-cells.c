/* SPDX-License-Identifier: MIT */
/* Records with parts that are copied from earlier ones are the same as records of which each cell is made. */
#include "output/cells.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/output.h"

#include <cmocka.h>

#define ROWS 5
#define INTERVALS 2000

/* The same numbers in each run (xorshift64). */
static uint64_t next(uint64_t below)
{
	static uint64_t state = 88172645463325252;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % below;
}

static double any_real(void)
{
	static const double reals[] = {0.0, -0.0, NAN, INFINITY, 1.5, 2, 123456.789, 1e20, 1e-9};

	return reals[next(sizeof(reals) / sizeof(*reals))];
}

static const struct uncore_device ports[] = {{.address = "0000:00:01.0", .below = "GPU, \"fast\""},
					     {.address = "0000:80:03.1"}};
static const struct uncore_row_query queries[] = {
	{.name = "memory.bandwidth", .family = "a", .unit = "B/s"},
	{.name = "msr/tsc,config1=1/", .unit = "MiB", .filter = "from=cpu"}};
static char tasks[20];
static const struct uncore_row_place places[] = {
	{.socket = -1, .node = -1, .cpu = -1, .channel = -1},
	{.socket = 1, .node = 0, .cpu = 3, .channel = 2, .role = "GPU", .port = &ports[0]},
	{.socket = 0, .node = -1, .cpu = -1, .channel = -1, .device = &ports[1], .tasks = tasks}};

struct sample {
	struct uncore_row row;
	struct uncore_row_counted counted;
	struct uncore_distribution distribution;
	char reason[20];
};

/* Any row: few values, so that any may follow any other. Its query and place seldom change. */
static void change(struct sample *s)
{
	if (next(8) == 0 || !s->row.query)
		s->row.query = &queries[next(2)];
	if (next(8) == 0 || !s->row.place)
		s->row.place = &places[next(3)];
	/* One place in memory for texts of changing lengths. */
	memset(s->reason, 'a', sizeof(s->reason));
	s->reason[next(sizeof(s->reason))] = '\0';
	s->counted = (struct uncore_row_counted){.instances = next(3),
						 .coverage = any_real(),
						 .count = next(200),
						 .enabled_ns = next(3),
						 .running_ns = next(3)};
	s->row.counted = &s->counted;
	s->row.value = any_real();
	s->row.low = any_real();
	s->row.high = any_real();
	s->row.ceiling = any_real();
	s->row.rate = any_real();
	s->row.quality = (enum uncore_quality)next(3);
	s->row.reason = next(2) ? s->reason : NULL;
	s->distribution = (struct uncore_distribution){
		.samples = next(3), .mean = any_real(), .threshold = any_real()};
}

/* As out_print() does. */
static void print(struct out *out)
{
	cells_begin(out);
	for (size_t i = 0; i < out->row_count; i++) {
		out->row = &out->rows[i];
		out->output->record(out, NULL);
	}
	out->row = NULL;
}

static void any_record_is_the_same_as(const struct output *output, const char *separator)
{
	struct sample samples[ROWS] = {0};
	struct out_row rows[ROWS] = {{0}};
	struct buffer got = {0}, want = {0};
	struct out out = {.output = output,
			  .setup = {.separator = separator, .source = "kernel", .header = true},
			  .to = &got,
			  .rows = rows};

	for (int i = 0; i < INTERVALS; i++) {
		struct out fresh;

		snprintf(tasks, sizeof(tasks), "%.*s", (int)next(10), "task, task");
		snprintf(out.date, sizeof(out.date), "%.*s", (int)next(10), "2026-11-27");
		out.frame = (struct frame){.time = i,
					   .window = any_real(),
					   .wall_ns = next(1000),
					   .missed = next(2),
					   .total = next(2),
					   .recorded = next(9) ? NULL : &samples[0].row};
		out.row_count = i % 10 ? ROWS : 1 + next(ROWS);
		for (size_t k = 0; k < out.row_count; k++) {
			change(&samples[k]);
			rows[k] = (struct out_row){
				.row = &samples[k].row,
				.distribution = next(3) ? NULL : &samples[k].distribution};
		}
		/* Nothing is kept in this one. */
		fresh = out;
		fresh.to = &want;
		fresh.cells = NULL;
		fresh.cell_count = 0;
		memset(fresh.shared, 0, sizeof(fresh.shared));
		got.len = want.len = 0;
		for (size_t k = 0; k < out.row_count; k++) {
			fresh.rows = &rows[k];
			fresh.row_count = 1;
			print(&fresh);
			cells_free(&fresh);
		}
		print(&out);
		assert_string_equal(got.data, want.data);
		assert_int_equal(got.len, want.len);
	}
	cells_free(&out);
	buffer_free(&got);
	buffer_free(&want);
}

static void any_csv_is_the_same(void **state)
{
	static const struct output csv = {.record = csv_output_record, .put = csv_output_put};

	(void)state;
	any_record_is_the_same_as(&csv, ",");
	any_record_is_the_same_as(&csv, "1");
	any_record_is_the_same_as(&csv, "::");
}

static void any_json_is_the_same(void **state)
{
	static const struct output json = {.record = json_output_record,
					   .put = json_output_put,
					   .document = json_output_document};

	(void)state;
	any_record_is_the_same_as(&json, NULL);
}

static size_t made;

static void count_cell(struct out *out, const struct field *f)
{
	made++;
	buffer_puts(out->to, f->name);
}

static void what_has_not_changed_is_not_made(void **state)
{
	static const struct output counting = {.record = cells_print, .put = count_cell};
	struct sample samples[2] = {{.row = {.query = queries, .place = places}},
				    {.row = {.query = queries, .place = places}}};
	struct out_row rows[2] = {{.row = &samples[0].row}, {.row = &samples[1].row}};
	struct buffer text = {0};
	struct out out = {.output = &counting, .rows = rows, .row_count = 2, .to = &text};
	size_t first, second;

	(void)state;
	for (size_t i = 0; i < 2; i++)
		samples[i].row.counted = &samples[i].counted;
	print(&out);
	first = made;
	print(&out);
	second = made - first;
	/* Of 38 cells 14 are those of the row, and 11 those of the interval. */
	assert_int_equal(first, 38 + 38 - 11);
	assert_int_equal(second, 11 + 2 * (38 - 11 - 14));
	buffer_free(&text);
	cells_free(&out);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_csv_is_the_same),
		cmocka_unit_test(any_json_is_the_same),
		cmocka_unit_test(what_has_not_changed_is_not_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
