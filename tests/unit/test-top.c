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
#include <unistd.h>

#include <cmocka.h>

#include "base/cli.h"
#include "top/view.h"

enum { OVERVIEW, MEMORY, PCIE, LINKS, METRICS };

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
	data_take(&t->view.data, t->u, t->s);
	top_update(&t->view.tree, &t->view.data);
}

static void begin(struct stage *t, const char *source, const char *metrics)
{
	*t = (struct stage){
		.view = {.title = cli_copy("machine"),
			 .simulated = source,
			 .interval = 1,
			 .line = SCREEN_NONE,
			 .tree.cursor = TOP_NONE,
			 .screens = {{"overview", "memory", "pcie", "links", "metrics"}, 5}}};
	t->view.screen = METRICS;
	t->view.tree.filter = t->view.filter;
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
	view_free(&t->view);
	free(t->canvas.cells);
	uncore_sample_free(t->s);
	uncore_monitor_free(t->m);
	uncore_free(t->u);
}

static void draw(struct stage *t, int width, int height)
{
	canvas_resize(&t->canvas, width, height);
	view_draw(&t->canvas, &t->view);
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
	struct top_model *m = &t.view.tree;
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
	top_open_all(&t.view.tree);
	assert_int_equal(t.view.tree.line_count, 3);
	assert_string_equal(t.view.tree.nodes[t.view.tree.lines[2]].label, "socket 1");
	end(&t);
}

static void siblings_are_sorted(void **state)
{
	struct stage t;
	struct top_model *m = &t.view.tree;

	(void)state;
	begin_reads(&t);
	top_open_all(m);
	for (m->sort = TOP_BY_VALUE; m->sort <= TOP_BY_NAME; m->sort++) {
		top_arrange(m);
		for (size_t i = 1; i < m->line_count; i++) {
			size_t a = m->lines[i - 1], b = m->lines[i];
			double p = top_row(m, a)->value, q = top_row(m, b)->value;

			if (m->nodes[a].parent != m->nodes[b].parent ||
			    (m->sort == TOP_BY_VALUE && !top_row(m, b)->place->port))
				continue;
			if (m->sort == TOP_BY_SHARE) {
				p = top_share(m, a, NULL);
				q = top_share(m, b, NULL);
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
	struct top_model *m = &t.view.tree;

	(void)state;
	begin_reads(&t);
	assert_int_equal(m->line_count, 1);
	snprintf(t.view.filter, sizeof(t.view.filter), "NVME0");
	top_arrange(m);
	assert_int_equal(m->line_count, 3);
	assert_int_equal(m->lines[2], node_of(m, "nvme0"));
	m->cursor = m->lines[2];
	snprintf(t.view.filter, sizeof(t.view.filter), "nothing");
	top_arrange(m);
	assert_int_equal(m->line_count, 0);
	assert_int_equal(m->cursor, TOP_NONE);
	top_open(m, true);
	top_move(m, 1);
	draw(&t, 80, 24);
	assert_string_equal(line(&t, 3), "  No row matches 'nothing'.");
	t.view.filter[0] = '\0';
	top_arrange(m);
	assert_int_equal(m->line_count, 1);
	assert_int_equal(m->cursor, 0);
	end(&t);
}

static void closing_moves_the_cursor_up(void **state)
{
	struct stage t;
	struct top_model *m = &t.view.tree;

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

#define MINUTE 60

/* Each second has its value; columns of several seconds their mean. */
static void history_of_a_minute(void **state)
{
	struct stage t;
	const struct top_data *d = &t.view.data;
	double values[MINUTE * 2], mean = 0;

	(void)state;
	begin(&t, "sim:t410,step=1s", READS);
	for (int i = 0; i < MINUTE * 2; i++) {
		read_sample(&t);
		values[i] = data_row(d, 0)->value;
		if (i == 2)
			assert_true(isnan(data_mean(d, 0, 3, 1)));
	}
	for (int i = 0; i < MINUTE; i++)
		assert_true(data_mean(d, 0, (unsigned)i, 1) == (float)values[MINUTE * 2 - 1 - i]);
	/* Reading i ends at second i + 1: the last column of ten has the seconds 120 to 129. */
	for (int second = 110; second < 120; second++)
		mean += values[second - 1] / 10;
	assert_true(fabs(data_mean(d, 0, 1, 10) / mean - 1) < 1e-5);
	end(&t);
}

static void several_readings_in_a_second(void **state)
{
	struct stage t;
	double mean = 0;

	(void)state;
	begin(&t, "sim:t410,step=250ms", READS);
	for (int i = 0; i < 7; i++) {
		read_sample(&t);
		mean += i >= 3 ? data_row(&t.view.data, 0)->value / 4
			       : 0; /* end at 1, 1.25, 1.5, 1.75 s */
	}
	assert_true(fabs(data_mean(&t.view.data, 0, 0, 1) / mean - 1) < 1e-5);
	end(&t);
}

static void a_second_keeps_the_worst_quality_of_its_readings(void **state)
{
	struct stage t;
	size_t suspect = 0;

	(void)state;
	begin(&t, "sim:t410,step=250ms", READS);
	for (int i = 0; i < 16; i++) {
		assert_int_equal(uncore_monitor_read(t.m, t.s), 0);
		if (i == 4) /* at 1.25 s */
			((struct uncore_row *)(uintptr_t)uncore_sample_row(t.s, 0))->quality =
				UNCORE_SUSPECT;
		data_take(&t.view.data, t.u, t.s);
	}
	for (long ago = 1; ago <= 3; ago++) {
		data_show(&t.view.data, ago);
		suspect += data_row(&t.view.data, 0)->quality == UNCORE_SUSPECT;
	}
	assert_int_equal(suspect, 1);
	end(&t);
}

/* More seconds than are kept: the ring turns, and what is older is gone. */
static void back_in_time(void **state)
{
	struct stage t;
	struct top_data *d = &t.view.data;
	float *values = calloc(DATA_SECONDS + 100, sizeof(*values));

	(void)state;
	begin(&t, "sim:t410,step=1s", READS);
	for (int i = 0; i < DATA_SECONDS + 100; i++) {
		read_sample(&t);
		values[i] = (float)data_row(d, 0)->value;
	}
	assert_int_equal(d->seconds, DATA_SECONDS);
	for (long ago = 1; ago < DATA_SECONDS; ago += 97) {
		data_show(d, ago);
		assert_int_equal(d->ago, ago);
		assert_true(data_row(d, 0)->value == values[DATA_SECONDS + 99 - ago]);
		assert_true(data_mean(d, 0, 0, 1) == values[DATA_SECONDS + 99 - ago]);
		assert_int_equal(data_row(d, 0)->quality, UNCORE_MEASURED);
	}
	data_show(d, 1000000);
	assert_int_equal(d->ago, DATA_SECONDS - 1);
	data_show(d, -5);
	assert_int_equal(d->ago, 0);
	assert_true((float)data_row(d, 0)->value == values[DATA_SECONDS + 99]);
	free(values);
	end(&t);
}

/* All rows together take no more than their bound. */
static void history_is_bounded(void **state)
{
	struct stage t;
	size_t rows;

	(void)state;
	begin(&t, "sim:t410,step=1s", "*");
	read_sample(&t);
	rows = t.view.data.count;
	assert_true(rows * t.view.data.seconds * (sizeof(float) + 1) <= DATA_ROOM + rows * 5);
	end(&t);
}

static const int widths[] = {1, 59, 60, 71, 72, 80, 99, 100, 120, 160, 200, 300};
static const int heights[] = {1, 14, 15, 24, 40, 50, 80, 100};

/* What holds for every screen. */
static void check_screen(struct stage *t, int width, int height)
{
	bool fits = width >= TOP_LEAST_WIDTH && height >= TOP_LEAST_HEIGHT;

	draw(t, width, height);
	for (int c = 0; c < width * height; c++) {
		wchar_t character = t->canvas.cells[c].character;

		assert_true(character >= ' ' && (character < 0x7f || !t->view.ascii));
	}
	for (int y = 0; t->canvas.overlaps && y < height; y++)
		print_message("%s\n", line(t, y));
	assert_int_equal(t->canvas.overlaps, 0);
	if (width > 40 && !fits)
		assert_non_null(strstr(line(t, 0), "is too small: 60x15 is needed"));
	if (!fits)
		return;
	assert_int_equal(strncmp(line(t, 0), "SIMULATED by sim:", 17), 0);
	assert_int_equal(strncmp(line(t, height - 1), "F1 help  F10 quit", 17), 0);
}

/* Every cell is a character, ASCII is only that, nothing is put over other text, and the last line
 * has the keys. */
static void every_size(void **state)
{
	static const char *const machines[] = {"sim:spr,step=1s", "sim:zen4,step=1s",
					       "sim:t410,step=1s"};
	struct stage t;

	(void)state;
	for (size_t m = 0; m < 3; m++) {
		begin(&t, machines[m], "*");
		draw(&t, 80, 24); /* before the first sample */
		assert_non_null(strstr(line(&t, 3), "Waiting"));
		read_sample(&t);
		read_sample(&t);
		top_open_all(&t.view.tree);
		for (size_t i = 0; i < sizeof(widths) / sizeof(*widths); i++)
			for (size_t k = 0; k < sizeof(heights) / sizeof(*heights); k++)
				for (int s = OVERVIEW; s <= METRICS; s++) {
					t.view.screen = (size_t)s;
					t.view.ascii = !t.view.ascii;
					t.view.units = (enum units)((t.view.units + 1) % 3);
					view_move(&t.view, 7);
					check_screen(&t, widths[i], heights[k]);
				}
		end(&t);
	}
}

/* The selected line is always among those that are shown. */
static void the_cursor_is_visible(void **state)
{
	struct stage t;

	(void)state;
	begin(&t, "sim:t410,step=1s", "*");
	read_sample(&t);
	t.view.idle = true;
	for (int s = OVERVIEW; s <= METRICS; s++) {
		t.view.screen = (size_t)s;
		for (int step = 0; step < 60; step++) {
			int lines = 0;

			draw(&t, 100, step % 2 ? 15 : 30);
			for (int y = 2; y < t.canvas.height - 1; y++)
				lines += t.canvas.cells[y * 100].cursor;
			assert_int_equal(lines, 1);
			view_move(&t.view, step % 7 == 6 ? -2 : 1);
		}
	}
	end(&t);
}

/* A line is idle below 0.1 % of its ceiling: it is folded, and counted in the last line. */
static void idle_lines_are_folded(void **state)
{
	struct stage t;
	size_t hidden = 0, shown = 0;

	(void)state;
	begin(&t, "sim:t410,step=1s", "pcie.inbound.*.bandwidth");
	read_sample(&t);
	t.view.screen = PCIE;
	draw(&t, 100, 80);
	for (size_t i = 0; i < t.view.entry_count; i++) {
		shown += t.view.entries[i].kind == ENTRY_LINE;
		hidden += t.view.entries[i].idle;
	}
	assert_true(hidden > 5);
	t.view.idle = true;
	draw(&t, 100, 80);
	assert_int_equal(t.view.entry_count, 1 + shown + hidden);
	end(&t);
}

/* A line that moves now and then does not come and go. */
static void a_line_is_idle_after_ten_samples(void **state)
{
	struct stage t;
	size_t idle = 0;

	(void)state;
	begin(&t, "sim:t410,step=1s", "pcie.inbound.*.bandwidth");
	read_sample(&t);
	while (!data_is_idle(&t.view.data, idle))
		idle++;
	t.view.data.lines[idle].quiet = 0; /* it moved */
	for (int i = 1; i < 10; i++) {
		read_sample(&t);
		assert_false(data_is_idle(&t.view.data, idle));
	}
	read_sample(&t);
	assert_true(data_is_idle(&t.view.data, idle));
	end(&t);
}

static void places_follow_large_changes_only(void **state)
{
	struct data_standing a = {NAN, NAN}, b = {NAN, NAN};

	(void)state;
	for (int i = 0; i < 20; i++) {
		data_follow(&a, i % 2 ? 10 : 9);
		data_follow(&b, i % 2 ? 9 : 10);
		assert_true(a.value < b.value);
	}
	data_follow(&a, NAN);
	for (int i = 0; i < 10; i++)
		data_follow(&a, 20);
	assert_true(a.value > b.value);
}

/* Channels are where their numbers say, unless they are sorted by their share. */
static void channels_stay_in_their_places(void **state)
{
	struct stage t;
	const struct screen_line *before = NULL;
	size_t channels = 0;

	(void)state;
	begin(&t, "sim:spr,step=1s", "memory.*.bandwidth");
	t.view.screen = MEMORY;
	t.view.sort = TOP_BY_VALUE;
	for (int i = 0; i < 4; i++)
		read_sample(&t);
	draw(&t, 60, 15);
	for (size_t i = 0; i < t.view.entry_count; i++) {
		const struct entry *e = &t.view.entries[i];
		const struct screen_line *l = &t.view.data.screen.lines[e->line];

		if (e->kind != ENTRY_LINE || l->kind != SCREEN_CHANNEL)
			continue;
		assert_true(!before || before->place->channel < l->place->channel);
		before = l;
		channels++;
	}
	assert_int_equal(channels, 8);
	/* Their names can be read, since there is one socket. */
	assert_string_equal(before->label, "channel 7");
	end(&t);
}

/* The last line of the graph, which has the times. */
static const char *axis(struct stage *t, int width, int height)
{
	struct layout l;

	draw(t, width, height);
	assert_int_equal(t->canvas.overlaps, 0);
	l = view_layout(&t->view, height);
	assert_true(l.chart_height > 0);
	return line(t, l.chart + l.chart_height - 1);
}

/* The ends of the axis are those of the time that is chosen. */
static void the_graph_has_the_chosen_time(void **state)
{
	static const char *const times[][2] = {{" -60 s ", " -30 s "},
					       {" -5 min ", " -2 min 30 s "},
					       {" -15 min ", " -7 min 30 s "}};
	static const int sizes[][2] = {{60, 30}, {80, 24}, {120, 40}, {300, 80}};
	struct top_view *v;
	struct stage t;

	(void)state;
	begin(&t, "sim:spr,step=1s", "memory.bandwidth");
	v = &t.view;
	v->screen = MEMORY;
	for (int i = 0; i < 70; i++)
		read_sample(&t);
	for (v->range = 0; v->range < 3; v->range++)
		for (size_t s = 0; s < 4; s++) {
			const char *text = axis(&t, sizes[s][0], sizes[s][1]);

			assert_non_null(strstr(text, times[v->range][0]));
			assert_non_null(strstr(text, times[v->range][1]));
			assert_string_equal(text + strlen(text) - 4, " now");
		}
	/* In the past. */
	v->range = 0;
	data_show(&v->data, 10);
	assert_non_null(strstr(axis(&t, 80, 24), " -70 s "));
	assert_non_null(strstr(axis(&t, 80, 24), " -40 s "));
	assert_non_null(strstr(axis(&t, 80, 24), " -10 s"));
	end(&t);
}

/* ncurses keeps sizes as short numbers: of 65,535 columns it says -1. */
static void impossible_sizes(void **state)
{
	struct top_canvas canvas = {0};

	(void)state;
	canvas_resize(&canvas, -1, 24);
	assert_int_equal(canvas.width, 1);
	assert_int_equal(canvas.height, 24);
	canvas_resize(&canvas, 80, 0);
	assert_int_equal(canvas.height, 1);
	free(canvas.cells);
}

static void load_has_colours_only_below_a_ceiling(void **state)
{
	struct stage t;
	const struct top_model *m = &t.view.tree;
	bool limited;

	(void)state;
	/* The same scale as in tables: uncore-top(1), 50 % and 80 %. */
	for (int i = 0; i <= 100; i++) {
		enum top_style style = canvas_load_style(i / 100.0);
		const char *color = share_color(i / 100.0);

		assert_int_equal(style, i < 50 ? STYLE_LOW : i < 80 ? STYLE_MIDDLE : STYLE_HIGH);
		assert_string_equal(color, i < 50 ? COLOR_GOOD : i < 80 ? COLOR_WARN : COLOR_BAD);
	}
	assert_int_equal(canvas_load_style(NAN), STYLE_PLAIN);
	begin(&t, "sim:zen4,step=1s", "memory.utilization");
	read_sample(&t);
	assert_true(top_share(m, 0, &limited) > 0);
	assert_true(limited); /* a share of the memory's peak, although the row has no ceiling */
	end(&t);
	begin(&t, "sim:zen4,step=1s", "cache.hit.ratio");
	read_sample(&t);
	assert_true(top_share(m, 0, &limited) > 0);
	assert_false(limited);
	end(&t);
}

/* A constant rate far below its ceiling is a low line, and not a full bar. */
static void sparklines_are_scaled_to_ceilings(void **state)
{
	struct stage t;
	const struct screen_line *lines;
	size_t known = 0;

	(void)state;
	begin(&t, "sim:t410,step=1s", "pcie.inbound.*.bandwidth");
	for (int i = 0; i < 5; i++)
		read_sample(&t);
	lines = t.view.data.screen.lines;
	for (size_t i = 0; i < t.view.data.screen.count; i++) {
		double ceiling = chart_ceiling(&t.view.data, &lines[i]), most = 0;

		if (!isfinite(ceiling))
			continue;
		for (int k = 0; k <= UNCORE_COLUMN_TOTAL; k++) {
			const struct uncore_row *row = data_row(&t.view.data, lines[i].rows[k]);

			if (row && row->ceiling > 0)
				most = fmax(most, row->value / row->ceiling);
		}
		assert_true(fabs(chart_level(&t.view.data, &lines[i], NAN, 0, 1) - most) < 1e-6);
		known++;
	}
	assert_true(known > 5);
	end(&t);
}

static const char *config; /* the directory of the settings */

static void settings_are_remembered(void **state)
{
	struct stage t;
	char path[300];
	FILE *f;

	(void)state;
	begin(&t, "sim:t410,step=1s", READS);
	t.view.screen = LINKS;
	t.view.sort = TOP_BY_NAME;
	t.view.idle = true;
	t.view.range = 3;
	t.view.units = UNITS_IEC;
	settings_save(&t.view);
	end(&t);
	begin(&t, "sim:t410,step=1s", READS);
	settings_load(&t.view);
	assert_int_equal(t.view.screen, LINKS);
	assert_int_equal(t.view.sort, TOP_BY_NAME);
	assert_true(t.view.idle);
	assert_int_equal(t.view.range, 3);
	assert_int_equal(t.view.units, UNITS_IEC);
	end(&t);
	/* Lines that are broken, or of another version, change nothing. */
	snprintf(path, sizeof(path), "%s/uncore/top", config);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs("screen nonsense\nsort\n\nidle perhaps\nrange 7min\nunits raw\nlater thing\nscreen",
	      f);
	fclose(f);
	begin(&t, "sim:t410,step=1s", READS);
	settings_load(&t.view);
	assert_int_equal(t.view.screen, METRICS);
	assert_int_equal(t.view.sort, TOP_BY_ORDER);
	assert_false(t.view.idle);
	assert_int_equal(t.view.range, 0);
	assert_int_equal(t.view.units, UNITS_RAW);
	/* Without a home nothing is read or written. */
	unsetenv("XDG_CONFIG_HOME");
	unsetenv("HOME");
	settings_save(&t.view);
	settings_load(&t.view);
	setenv("XDG_CONFIG_HOME", "/proc/none", 1);
	settings_save(&t.view);
	end(&t);
}

static void texts_are_broken_and_scrolled(void **state)
{
	char words[] =
		"one two three four five six seven eight nine ten eleven twelve thirteen\nlast\n";
	struct stage t;

	(void)state;
	begin(&t, "sim:t410,step=1s", READS);
	t.view.text = cli_copy(words);
	draw(&t, 60, 15);
	assert_int_equal(t.view.text_lines, 3);
	assert_string_equal(line(&t, 2), "one two three four five six seven eight nine ten eleven");
	assert_string_equal(line(&t, 3), "twelve thirteen");
	t.view.text_first = 100;
	draw(&t, 60, 15);
	assert_int_equal(t.view.text_first, 0); /* all fit */
	assert_string_equal(line(&t, 4), "last");
	end(&t);
}

int main(void)
{
	static char directory[] = "/tmp/test-top-XXXXXX";
	char path[300];
	int failed;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tree_of_sockets_ports_and_devices),
		cmocka_unit_test(sums_of_one_instance_have_nothing_below),
		cmocka_unit_test(siblings_are_sorted),
		cmocka_unit_test(the_filter_keeps_nodes_above_a_match),
		cmocka_unit_test(closing_moves_the_cursor_up),
		cmocka_unit_test(history_of_a_minute),
		cmocka_unit_test(several_readings_in_a_second),
		cmocka_unit_test(a_second_keeps_the_worst_quality_of_its_readings),
		cmocka_unit_test(back_in_time),
		cmocka_unit_test(history_is_bounded),
		cmocka_unit_test(every_size),
		cmocka_unit_test(the_cursor_is_visible),
		cmocka_unit_test(idle_lines_are_folded),
		cmocka_unit_test(a_line_is_idle_after_ten_samples),
		cmocka_unit_test(places_follow_large_changes_only),
		cmocka_unit_test(channels_stay_in_their_places),
		cmocka_unit_test(the_graph_has_the_chosen_time),
		cmocka_unit_test(impossible_sizes),
		cmocka_unit_test(load_has_colours_only_below_a_ceiling),
		cmocka_unit_test(sparklines_are_scaled_to_ceilings),
		cmocka_unit_test(settings_are_remembered),
		cmocka_unit_test(texts_are_broken_and_scrolled),
	};

	config = mkdtemp(directory);
	if (!config)
		return 1;
	setenv("XDG_CONFIG_HOME", config, 1);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	snprintf(path, sizeof(path), "%s/uncore/top", config);
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
	rmdir(config);
	return failed;
}
