/* SPDX-License-Identifier: MIT */
/* The tree and the screens of `uncore top`, without a terminal. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "top/draw.h"

struct stage {
	struct uncore *u;
	struct uncore_monitor *m;
	struct uncore_sample *s;
	struct top_view view;
	struct top_canvas canvas;
};

static void read_sample(struct stage *t)
{
	assert_int_equal(uncore_monitor_read(t->m, t->s), 0);
	top_update(&t->view.model, t->u, t->s);
}

static void begin(struct stage *t, const char *source, const char *metrics)
{
	*t = (struct stage){.view = {.title = "machine", .simulated = source, .interval = 1}};
	t->view.model.cursor = TOP_NONE;
	assert_int_equal(uncore_new(&t->u), 0);
	assert_int_equal(uncore_set_source(t->u, source), 0);
	assert_int_equal(uncore_scan(t->u), 0);
	assert_int_equal(uncore_monitor_new(&t->m, t->u), 0);
	assert_int_equal(uncore_monitor_add_level(t->m, UNCORE_LEVEL_SOCKET), 0);
	assert_int_equal(uncore_monitor_add_level(t->m, UNCORE_LEVEL_CHANNEL), 0);
	assert_int_equal(uncore_monitor_add_metrics(t->m, metrics), 0);
	assert_int_equal(uncore_monitor_set_level(t->m, UNCORE_LEVEL_PORT), 0);
	assert_int_equal(uncore_monitor_add_metrics(t->m, metrics), 0);
	assert_int_equal(uncore_monitor_open(t->m), 0);
	assert_int_equal(uncore_monitor_start(t->m), 0);
	assert_int_equal(uncore_sample_new(&t->s), 0);
}

static void end(struct stage *t)
{
	top_free(&t->view.model);
	free(t->canvas.cells);
	uncore_sample_free(t->s);
	uncore_monitor_free(t->m);
	uncore_free(t->u);
}

static void draw(struct stage *t, int width, int height)
{
	top_resize(&t->canvas, width, height);
	top_draw(&t->canvas, &t->view);
}

/* The line as text, '?' for other characters than ASCII. */
static const char *line(const struct stage *t, int y)
{
	static char text[400];
	int x;

	for (x = 0; x < t->canvas.width; x++) {
		wchar_t c = t->canvas.cells[y * t->canvas.width + x].character;

		text[x] = c < 0x80 ? (char)c : '?';
	}
	while (x && text[x - 1] == ' ')
		x--;
	text[x] = '\0';
	return text;
}

static size_t node_of(const struct top_model *m, const char *label)
{
	for (size_t i = 0; i < m->count; i++)
		if (strstr(m->nodes[i].label, label))
			return i;
	fail_msg("there is no %s", label);
	return TOP_NONE;
}

#define READS "pcie.inbound.read.bandwidth"

static void begin_reads(struct stage *t)
{
	begin(t, "sim:t410,step=1s", READS);
	read_sample(t);
}

static void a_tree_of_sockets_ports_and_devices(void **state)
{
	struct stage t;
	struct top_model *m = &t.view.model;
	size_t port;

	(void)state;
	begin_reads(&t);
	port = node_of(m, "0001:00:00.0");
	assert_int_equal(m->nodes[0].parent, TOP_NONE);
	assert_int_equal(m->nodes[0].children, 2);
	assert_string_equal(m->nodes[m->nodes[port].parent].label, "socket 0");
	assert_int_equal(m->nodes[m->nodes[port].parent].parent, 0);
	assert_string_equal(m->nodes[port].label, "port 0001:00:00.0: nvme0");
	assert_int_equal(m->nodes[port].children, 1);
	assert_null(top_row(m, port + 1));
	assert_non_null(strstr(m->nodes[port + 1].label, "(nvme)"));
	assert_int_equal(m->nodes[port + 1].depth, 3);
	end(&t);
}

static void sums_of_one_instance_have_nothing_below(void **state)
{
	struct stage t;

	(void)state;
	begin(&t, "sim:t410,step=1s", "memory.bandwidth");
	read_sample(&t);
	top_open_all(&t.view.model);
	assert_int_equal(t.view.model.line_count, 3);
	assert_string_equal(t.view.model.nodes[t.view.model.lines[2]].label, "socket 1");
	end(&t);
}

static void siblings_are_sorted(void **state)
{
	struct stage t;
	struct top_model *m = &t.view.model;

	(void)state;
	begin_reads(&t);
	top_open_all(m);
	for (m->sort = TOP_BY_VALUE; m->sort <= TOP_BY_NAME; m->sort++) {
		top_arrange(m);
		for (size_t i = 1; i < m->line_count; i++) {
			size_t a = m->lines[i - 1], b = m->lines[i];
			double p = top_row(m, a)->value, q = top_row(m, b)->value;

			if (m->nodes[a].parent != m->nodes[b].parent)
				continue;
			if (m->sort == TOP_BY_SHARE) {
				p = top_share(top_row(m, a), NULL);
				q = top_share(top_row(m, b), NULL);
			}
			if (m->sort == TOP_BY_NAME)
				assert_true(strcmp(m->nodes[a].label, m->nodes[b].label) < 0);
			else
				assert_true(p >= q || !isfinite(q));
		}
	}
	end(&t);
}

static void the_filter_keeps_nodes_above_a_match(void **state)
{
	struct stage t;
	struct top_model *m = &t.view.model;

	(void)state;
	begin_reads(&t);
	assert_int_equal(m->line_count, 1);
	snprintf(m->filter, sizeof(m->filter), "NVME0");
	top_arrange(m);
	assert_int_equal(m->line_count, 3);
	assert_int_equal(m->lines[2], node_of(m, "nvme0"));
	m->cursor = m->lines[2];
	snprintf(m->filter, sizeof(m->filter), "nothing");
	top_arrange(m);
	assert_int_equal(m->line_count, 0);
	assert_int_equal(m->cursor, TOP_NONE);
	top_open(m, true);
	top_move(m, 1);
	draw(&t, 80, 24);
	assert_string_equal(line(&t, 3), "  No row matches 'nothing'.");
	m->filter[0] = '\0';
	top_arrange(m);
	assert_int_equal(m->line_count, 1);
	assert_int_equal(m->cursor, 0);
	end(&t);
}

static void closing_moves_the_cursor_up(void **state)
{
	struct stage t;
	struct top_model *m = &t.view.model;

	(void)state;
	begin_reads(&t);
	top_open(m, true);
	top_move(m, 1);
	assert_string_equal(m->nodes[m->cursor].label, "socket 0");
	top_open(m, true);
	top_move(m, 1);
	top_open(m, false);
	assert_string_equal(m->nodes[m->cursor].label, "socket 0");
	top_open_all(m);
	top_open_all(m); /* closes all */
	assert_int_equal(m->cursor, 0);
	top_move(m, 100);
	top_move(m, -100);
	assert_int_equal(m->cursor, 0);
	end(&t);
}

/* Each second has its value; columns of several seconds their mean. */
static void history_of_a_minute(void **state)
{
	struct stage t;
	struct top_model *m = &t.view.model;
	double values[TOP_SLOTS * 2], mean = 0;
	int count = 0;

	(void)state;
	begin(&t, "sim:t410,step=1s", READS);
	for (int i = 0; i < TOP_SLOTS * 2; i++) {
		read_sample(&t);
		values[i] = top_row(m, 0)->value;
		if (i == 2)
			assert_true(isnan(top_history(m, &m->nodes[0], 3, 1)));
	}
	for (int i = 0; i < TOP_SLOTS; i++)
		assert_true(top_history(m, &m->nodes[0], (unsigned)i, 1) ==
			    (float)values[TOP_SLOTS * 2 - 1 - i]);
	/* Reading i ends at second i + 1: the last column of ten has the seconds 120 to 129. */
	for (int second = 110; second < 120; second++, count++)
		mean += values[second - 1] / 10;
	assert_true(fabs(top_history(m, &m->nodes[0], 1, 10) / mean - 1) < 1e-5);
	end(&t);
}

static void several_readings_in_a_second(void **state)
{
	struct stage t;
	struct top_model *m = &t.view.model;
	double mean = 0;

	(void)state;
	begin(&t, "sim:t410,step=250ms", READS);
	for (int i = 0; i < 7; i++) {
		read_sample(&t);
		mean += i >= 3 ? top_row(m, 0)->value / 4 : 0; /* end at 1, 1.25, 1.5, 1.75 s */
	}
	assert_true(fabs(top_history(m, &m->nodes[0], 0, 1) / mean - 1) < 1e-5);
	end(&t);
}

/* Nothing is drawn outside, every cell is a character, and ASCII is only that. */
static void every_size(void **state)
{
	static const int widths[] = {1, 59, 60, 71, 72, 80, 99, 100, 120, 160, 200, 300};
	static const int heights[] = {1, 14, 15, 24, 50, 100};
	struct stage t;

	(void)state;
	begin(&t, "sim:t410,step=1s", "*");
	draw(&t, 80, 24); /* before the first sample */
	assert_non_null(strstr(line(&t, 3), "Waiting"));
	read_sample(&t);
	top_open_all(&t.view.model);
	for (size_t i = 0; i < sizeof(widths) / sizeof(*widths); i++)
		for (size_t k = 0; k < sizeof(heights) / sizeof(*heights); k++) {
			bool fits = widths[i] >= 60 && heights[k] >= 15;

			t.view.ascii = !t.view.ascii;
			top_move(&t.view.model, 7);
			draw(&t, widths[i], heights[k]);
			for (int c = 0; c < widths[i] * heights[k]; c++) {
				wchar_t character = t.canvas.cells[c].character;

				assert_true(character >= ' ' &&
					    (character < 0x7f || !t.view.ascii));
			}
			if (widths[i] > 40 && !fits)
				assert_non_null(
					strstr(line(&t, 0), "is too small: 60x15 is needed"));
			if (fits)
				assert_non_null(strstr(line(&t, 1), "SIMULATED by sim:t410"));
		}
	end(&t);
}

/* ncurses keeps sizes as short numbers: of 65,535 columns it says -1. */
static void impossible_sizes(void **state)
{
	struct top_canvas canvas = {0};

	(void)state;
	top_resize(&canvas, -1, 24);
	assert_int_equal(canvas.width, 1);
	assert_int_equal(canvas.height, 24);
	top_resize(&canvas, 80, 0);
	assert_int_equal(canvas.height, 1);
	free(canvas.cells);
}

static void load_has_colours_only_below_a_ceiling(void **state)
{
	static const struct {
		double value, ceiling;
		const char *unit;
		enum top_style style;
	} cases[] = {
		{10e9, 100e9, "B/s", STYLE_LOW},
		{60e9, 100e9, "B/s", STYLE_MIDDLE},
		{90e9, 100e9, "B/s", STYLE_HIGH},
		{0.95, NAN, "ratio", STYLE_PLAIN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct uncore_row_query query = {.unit = cases[i].unit};
		const struct uncore_row row = {
			.query = &query, .value = cases[i].value, .ceiling = cases[i].ceiling};
		bool limited;
		double share = top_share(&row, &limited);

		assert_int_equal(top_load_style(share, limited), cases[i].style);
	}
}

static void texts_are_broken_and_scrolled(void **state)
{
	char words[] =
		"one two three four five six seven eight nine ten eleven twelve thirteen\nlast\n";
	struct stage t;

	(void)state;
	begin(&t, "sim:t410,step=1s", READS);
	t.view.text = words;
	draw(&t, 60, 15);
	assert_int_equal(t.view.text_lines, 3);
	assert_string_equal(line(&t, 3), "one two three four five six seven eight nine ten eleven");
	assert_string_equal(line(&t, 4), "twelve thirteen");
	t.view.text_first = 100;
	draw(&t, 60, 15);
	assert_int_equal(t.view.text_first, 0); /* all fit */
	assert_string_equal(line(&t, 5), "last");
	end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tree_of_sockets_ports_and_devices),
		cmocka_unit_test(sums_of_one_instance_have_nothing_below),
		cmocka_unit_test(siblings_are_sorted),
		cmocka_unit_test(the_filter_keeps_nodes_above_a_match),
		cmocka_unit_test(closing_moves_the_cursor_up),
		cmocka_unit_test(history_of_a_minute),
		cmocka_unit_test(several_readings_in_a_second),
		cmocka_unit_test(every_size),
		cmocka_unit_test(impossible_sizes),
		cmocka_unit_test(load_has_colours_only_below_a_ceiling),
		cmocka_unit_test(texts_are_broken_and_scrolled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
