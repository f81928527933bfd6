/* SPDX-License-Identifier: MIT */
/* Draws the screen of `uncore top`: titles, a list, a graph, the selected line in words, keys. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cli.h"
#include "output/output.h"
#include "top/view.h"

#define HEAD_LINES 2
#define VALUE_WIDTH 16 /* "480,000,000 1/s" */
#define UNIT_WIDTH 5
#define SHARE_WIDTH 6
#define MINUTE 60
#define WIDE_TABS 76   /* columns for blanks around the names of screens */
#define TITLE_LEAST 26 /* of the machine: "SIMULATED by sim:t410 ..." */

/* ---- the list of all metrics ---- */

struct columns {
	int name; /* width; the others are columns on the screen, and their widths */
	int value, share, bar, bar_width, history, history_width;
};

static struct columns columns_of(int width)
{
	static const int widths[][3] = {
		{160, 20, 60}, {120, 20, 30}, {100, 10, 20}, {72, 8, 10}, {0, 0, 6}};
	const int *w = widths[0];
	struct columns c;

	while (width < w[0])
		w += 3;
	c.bar_width = w[1];
	c.history_width = w[2];
	c.history = width - c.history_width;
	c.bar = c.history - 1 - c.bar_width;
	c.share = c.bar - SHARE_WIDTH - (c.bar_width > 0);
	c.value = c.share - 2 - VALUE_WIDTH;
	c.name = c.value - 1;
	return c;
}

static void put_values(struct top_canvas *c, const struct top_view *v, const struct columns *at,
		       int y, size_t node)
{
	const struct uncore_distribution *d = top_distribution(&v->tree, node);
	struct uncore_row row = *top_row(&v->tree, node);
	struct uncore_row_query query = *row.query;
	char unit[OUT_UNIT_ROOM];
	bool limited = true, idle;
	enum top_style style;
	struct human h;
	double share;
	int number, x;

	if (d && v->shown != TOP_MEAN) {
		row.value = (v->shown == TOP_P99 ? d->p99 : d->most) * out_rate_unit(&row, unit);
		query.unit = unit;
		row.query = &query;
	}
	share = d && v->shown != TOP_MEAN ? row.value / row.ceiling
					  : top_share(&v->tree, node, &limited);
	idle = !isfinite(row.value) || row.value == 0;
	style = idle ? STYLE_FAINT : STYLE_PLAIN;
	h = human_in(row.value, row.query->unit, v->units);
	number = (int)text_width(h.number);
	x = at->value + VALUE_WIDTH - 1 - UNIT_WIDTH - number;
	/* A long number may take the room that a short unit leaves. */
	while (x < at->value && x + number + 1 + (int)text_width(h.unit) < at->value + VALUE_WIDTH)
		x++;
	canvas_text(c, x, y, number, style, h.number);
	canvas_text(c, x + number + 1, y, UNIT_WIDTH + 1, style, h.unit);
	canvas_text(c, at->value + VALUE_WIDTH, y, 1, STYLE_MARK,
		    row.quality <= UNCORE_MEASURED && d && d->burst_ns ? "^"
								       : out_mark(row.quality));
	style = limited ? canvas_load_style(share) : STYLE_PLAIN;
	if (isfinite(share))
		canvas_format(c, at->share, y, SHARE_WIDTH, style, "%4.*f %%",
			      share < 0.9995 ? 1 : 0, share * 100);
	if (isfinite(share) && at->bar_width)
		canvas_bar(c, at->bar, y, at->bar_width, share, style);
}

/* The last minute relative to the ceiling, or, in grey, to the largest value of the metric. */
static void put_history(struct top_canvas *c, const struct top_view *v, const struct columns *at,
			int y, size_t node)
{
	const struct top_node *nodes = v->tree.nodes;
	unsigned per = MINUTE / (unsigned)at->history_width;
	size_t row = nodes[node].row, top = top_metric(&v->tree, node);
	double most = nodes[node].is_share ? 1 : data_row(&v->data, row)->ceiling, largest = 0;

	for (int i = 0; i < at->history_width; i++)
		largest = fmax(largest, data_mean(&v->data, nodes[top].row, (unsigned)i, per));
	for (int i = 0; i < at->history_width; i++) {
		float value = data_mean(&v->data, row, (unsigned)(at->history_width - 1 - i), per);

		canvas_level(c, at->history + i, y,
			     value / (most > 0      ? most
				      : largest > 0 ? largest
						    : 1),
			     most > 0 ? STYLE_PLAIN : STYLE_FAINT);
	}
}

static void put_node(struct top_canvas *c, const struct top_view *v, const struct columns *at,
		     int y, size_t number)
{
	const struct top_node *node = &v->tree.nodes[number];
	const struct uncore_row *row = top_row(&v->tree, number);
	bool open = node->open || (!node->matches && node->leads);
	int x = 2 * (int)node->depth;

	if (node->children)
		canvas_put(c, x, y, c->ascii ? (open ? L'-' : L'+') : (open ? L'▾' : L'▸'),
			   STYLE_PLAIN);
	canvas_text(c, x + 2, y, (row ? at->name : c->width) - x - 2,
		    row ? STYLE_PLAIN : STYLE_FAINT, node->label);
	if (row) {
		put_values(c, v, at, y, number);
		put_history(c, v, at, y, number);
	}
	if (number == v->tree.cursor)
		canvas_cursor(c, y, row ? at->share : c->width);
}

static void put_list(struct top_canvas *c, const struct top_view *v, int y, size_t height)
{
	struct columns at = columns_of(c->width);

	canvas_head(c, y++);
	height--;
	canvas_text(c, 0, y - 1, at.name, STYLE_HEAD, "  METRIC, PLACE");
	canvas_text(c, at.value + VALUE_WIDTH - 1 - UNIT_WIDTH - 5, y - 1, 5, STYLE_HEAD,
		    v->shown == TOP_MEAN  ? "VALUE"
		    : v->shown == TOP_P99 ? "  P99"
					  : "  MAX");
	canvas_text(c, at.share, y - 1, c->width, STYLE_HEAD,
		    at.bar_width ? "OF CEILING" : "SHARE");
	canvas_text(c, at.history, y - 1, at.history_width, STYLE_HEAD,
		    at.history_width >= 10 ? "LAST MIN" : "MINUTE");
	for (size_t i = 0; i < height && v->first + i < v->tree.line_count; i++)
		put_node(c, v, &at, y + (int)i, v->tree.lines[v->first + i]);
}

/* "; of 1000 samples: p50 1.000 GB/s, p99 9.000 GB/s, max 9.500 GB/s, 3.0 % above ..." */
static void put_distribution(struct buffer *to, const struct top_view *v,
			     const struct uncore_row *row, const struct uncore_distribution *d)
{
	static const char *const names[] = {"p50", "p99", "max"};
	const double values[] = {d->p50, d->p99, d->most};
	char unit[OUT_UNIT_ROOM];
	double scale = out_rate_unit(row, unit);
	auto_buffer bursts = {0};

	buffer_printf(to, "; of %llu samples: ", (unsigned long long)d->samples);
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		buffer_printf(to, "%s%s %s", i ? ", " : "", names[i],
			      human_in(values[i] * scale, unit, v->units).text);
	out_bursts(&bursts, d, unit, row->counted->seconds);
	buffer_printf(to, "%s%s", bursts.len ? ", " : "", buffer_text(&bursts));
}

/* Puts the selected row in words: value, share, quality, reason. */
static void row_words(struct buffer *text, const struct top_view *v)
{
	const struct top_model *m = &v->tree;
	const struct uncore_row *row = top_row(m, m->cursor);
	size_t top = top_metric(m, m->cursor);

	if (!row)
		return;
	buffer_printf(text, "%s%s%s: %s", m->nodes[top].label, top == m->cursor ? "" : ", ",
		      top == m->cursor ? "" : m->nodes[m->cursor].label,
		      human_in(row->value, row->query->unit, v->units).text);
	if (isfinite(row->value / row->ceiling))
		buffer_printf(text, ", %.1f %% of %s", row->value / row->ceiling * 100,
			      human_in(row->ceiling, row->query->unit, v->units).text);
	buffer_printf(text, ", %s", uncore_quality_name(row->quality));
	if (isfinite(row->value) && row->counted->coverage < 1)
		buffer_printf(text, " %.3g %%", row->counted->coverage * 100);
	if (row->reason) {
		buffer_puts(text, ": ");
		human_text(text, row->reason);
	}
	if (top_distribution(m, m->cursor))
		put_distribution(text, v, row, top_distribution(m, m->cursor));
}

/* "socket 0, card0 63.5 %": the place that has the largest share. False: none is known. */
static bool hottest_text(struct buffer *text, const struct top_view *v, enum top_style *style)
{
	const struct screen *s = &v->data.screen;
	size_t hottest = v->data.sample ? screen_hottest(s, &v->data.rows) : SCREEN_NONE;
	double share;

	if (hottest == SCREEN_NONE)
		return false;
	share = screen_share(&s->lines[hottest], &v->data.rows);
	for (size_t i = s->lines[hottest].parent; i != SCREEN_NONE; i = s->lines[i].parent)
		if (s->lines[i].kind == SCREEN_SOCKET)
			buffer_printf(text, "%s, ", s->lines[i].label);
	buffer_printf(text, "%s %.1f %%", s->lines[hottest].label, share * 100);
	*style = canvas_load_style(share);
	return true;
}

/* The selected line: its device, its quality and why. */
static void line_words(struct buffer *text, const struct top_view *v)
{
	const struct screen *s = &v->data.screen;
	const struct screen_line *line;
	enum uncore_quality quality;
	const char *reason;

	if (v->line >= s->count || !v->entry_count)
		return;
	line = &s->lines[v->line];
	quality = screen_quality(line, &v->data.rows, &reason);
	buffer_printf(text, "%s: %s%s%s: %s", uncore_view_title(line->view), line->label,
		      *line->detail ? ", " : "", line->detail, uncore_quality_name(quality));
	if (reason) {
		buffer_puts(text, ": ");
		human_text(text, reason);
	}
}

struct place {
	int x, y, width, height;
};

/* Returns the number of lines. The last one ends in "…" if there is more text. */
static int put_words(struct top_canvas *c, struct place at, enum top_style style, const char *text)
{
	auto_buffer wrapped = {0};
	char *line, *rest;
	int i = 0;

	buffer_wrap(&wrapped, 0, (size_t)at.width, text);
	rest = wrapped.data;
	for (; i < at.height && rest && *rest; i++) {
		line = strsep(&rest, "\n");
		canvas_format(c, at.x, at.y + i, at.width, style, "%s%s", line,
			      i + 1 == at.height && rest && *rest ? " …" : "");
	}
	return i;
}

/* `below`: lines of the list that are below the screen. `hot`: the hottest place, if it has no room
 * elsewhere, else "". */
static void put_detail(struct top_canvas *c, const struct top_view *v, int y, int height,
		       size_t below, const char *hot)
{
	auto_buffer text = {0};

	if (v->data.sample && view_has_tree(v))
		row_words(&text, v);
	else if (v->data.sample)
		line_words(&text, v);
	if (below)
		buffer_printf(&text, "%s%zu more below", text.len ? ". " : "", below);
	if (*hot)
		buffer_printf(&text, "%sHottest: %s", text.len ? ". " : "", hot);
	if (v->missing)
		buffer_printf(&text, "%s%s", text.len ? ". " : "", v->missing);
	if (!text.data)
		return;
	put_words(c, (struct place){0, y, c->width, height}, STYLE_PLAIN, text.data);
}

/* ---- texts, title, keys ---- */

/* Breaks the text into lines, and puts those from text_first on. */
static void put_pane(struct top_canvas *c, struct top_view *v)
{
	long height = c->height - HEAD_LINES - 1, lines = 0;
	size_t width = (size_t)c->width;

	if (v->text_first + height > v->text_lines)
		v->text_first = v->text_lines > height ? v->text_lines - height : 0;
	for (const char *at = v->text; *at;) {
		size_t len = strcspn(at, "\n"), cut = len;

		/* In bytes, so that lines with other characters than ASCII are broken early. */
		if (len > width)
			for (cut = width; cut > width / 2 && at[cut] != ' '; cut--)
				;
		while (cut < len && ((unsigned char)at[cut] & 0xc0) == 0x80)
			cut++;
		if (lines >= v->text_first && lines < v->text_first + height)
			canvas_format(c, 0, HEAD_LINES + (int)(lines - v->text_first), c->width,
				      STYLE_PLAIN, "%.*s", (int)cut, at);
		lines++;
		at += cut;
		at += *at == '\n' || *at == ' ';
	}
	v->text_lines = lines;
}

/* "all measured", or the worst quality and how many lines have one that is not measured. */
static void put_quality(struct buffer *to, const struct top_view *v)
{
	const struct screen *s = &v->data.screen;
	enum uncore_quality worst = UNCORE_MEASURED;
	size_t count = 0, with = s->count ? s->count : v->data.count;
	const char *reason;

	for (size_t i = 0; i < with; i++) {
		enum uncore_quality quality =
			s->count ? screen_quality(&s->lines[i], &v->data.rows, &reason)
				 : data_row(&v->data, i)->quality;

		count += quality > UNCORE_MEASURED;
		worst = quality > worst ? quality : worst;
	}
	if (worst == UNCORE_MEASURED)
		buffer_puts(to, "all measured");
	else
		buffer_printf(to, "%s: %zu of %zu", uncore_quality_name(worst), count, with);
}

static void put_title(struct top_canvas *c, const struct top_view *v)
{
	static const char *const sorts[] = {"by catalogue", "by traffic", "by share", "by name"};
	auto_buffer right = {0};
	time_t time = (time_t)(data_wall_ns(&v->data) / NS_PER_S);
	struct tm tm;
	int x;

	if (v->paused)
		buffer_puts(&right, "PAUSED  ");
	if (v->data.ago)
		buffer_printf(&right, "%u s ago  ", v->data.ago);
	if (*v->filter)
		buffer_printf(&right, "'%s'  ", v->filter);
	if (v->sort != TOP_BY_VALUE)
		buffer_printf(&right, "%s  ", sorts[v->sort]);
	if (!v->data.sample)
		buffer_printf(&right, "every %g s  ", v->interval);
	else if (c->width >= 80 && !v->data.ago)
		buffer_printf(&right, "in %s  ", human(v->data.window, "s").text);
	if (v->data.sample && localtime_r(&time, &tm)) {
		buffer_printf(&right, "%02d:%02d:%02d  ", tm.tm_hour, tm.tm_min, tm.tm_sec);
		put_quality(&right, v);
	}
	canvas_head(c, 0);
	x = c->width - (int)text_width(right.data);
	x = x < TITLE_LEAST ? TITLE_LEAST : x;
	if (v->simulated)
		canvas_format(c, 0, 0, x - 1, STYLE_MARK, "SIMULATED by %s: %s", v->simulated,
			      v->title);
	else
		canvas_format(c, 0, 0, x - 1, STYLE_HEAD, "uncore  %s", v->title);
	canvas_text(c, x, 0, c->width - x, STYLE_HEAD, right.data);
}

/* The screens with their keys, and the place that has the largest share, which stays in `hot` if
 * there is no room for it. */
static void put_screens(struct top_canvas *c, const struct top_view *v, struct buffer *hot)
{
	bool wide = c->width >= WIDE_TABS;
	enum top_style style;
	int x = 0;

	for (size_t i = 0; i < v->screens.count; i++) {
		bool here = i == v->screen;
		int from = x;

		x = canvas_format(c, x, 1, c->width - x, here ? STYLE_HEAD : STYLE_PLAIN,
				  wide ? " %zu %s " : "%zu %s ", i + 1, v->screens.names[i]);
		for (; here && from < x; from++)
			c->cells[c->width + from].cursor = true;
	}
	if (!hottest_text(hot, v, &style) || x + 12 + (int)text_width(hot->data) >= c->width)
		return;
	canvas_right(c, c->width, 1, c->width, style, hot->data);
	canvas_text(c, c->width - (int)text_width(hot->data) - 9, 1, 9, STYLE_FAINT, "hottest: ");
	buffer_free(hot);
}

/* As many keys as have room, in the order of their importance. */
static void put_keys(struct top_canvas *c, const struct top_view *v)
{
	static const char *const keys[] = {
		"F1 help", "F10 quit", "/ filter",     "s sort",     "z idle", "e explain",
		"p pause", "[ ] time", "+ - interval", "space now",  "u unit", "w save",
		"c CSV",   "r record", "n notes",      "Enter open", NULL};
	static const char *const paused[] = {
		"F1 help",   "F10 quit", "p go on", "Left Right back in time", "w save", "c CSV",
		"e explain", "[ ] time", NULL};
	const char *const *key = v->paused ? paused : keys;
	int y = c->height - 1, x = 0;

	canvas_head(c, y);
	if (v->typing) {
		canvas_format(c, 0, y, c->width, STYLE_HEAD,
			      "Filter: %s_   Enter: keep  Esc: clear", v->filter);
	} else if (*v->said) {
		canvas_format(c, 0, y, c->width, STYLE_MARK, "%s", v->said);
	} else if (v->text) {
		canvas_text(c, 0, y, c->width, STYLE_HEAD, "Arrows: scroll  Esc: back  F10 quit");
	} else {
		for (; *key; key++)
			if (x + (int)text_width(*key) <= c->width)
				x = canvas_text(c, x, y, c->width - x, STYLE_HEAD, *key) + 2;
	}
}

/* ---- the whole ---- */

/* A list with so many entries. */
static struct layout layout_of(const struct top_view *v, int height, size_t entries)
{
	bool tree = view_has_tree(v);
	/* The least height of the graph: none on a small screen. */
	int least = height < (tree ? 30 : 20) ? 0 : height < 30 ? 7 : height / 3;
	int body = (height < TOP_LEAST_HEIGHT ? TOP_LEAST_HEIGHT : height) - HEAD_LINES - 1;
	struct layout l = {.list = HEAD_LINES, .detail_height = tree ? 3 : height < 30 ? 1 : 2};

	l.list_height = body - l.detail_height - least;
	if (!tree && entries < (size_t)l.list_height)
		l.list_height = entries > 1 ? (int)entries : 1;
	l.chart_height = body - l.detail_height - l.list_height;
	/* A graph needs a title, an axis and a few lines. Words can use less. */
	if (l.chart_height < 5) {
		if (least)
			l.list_height += l.chart_height;
		else
			l.detail_height += l.chart_height;
		l.chart_height = 0;
	}
	/* A line in the middle of the graph is half of its scale. */
	if (l.chart_height && l.chart_height % 2 == 0) {
		l.list_height++;
		l.chart_height--;
	}
	l.chart = l.list + l.list_height;
	l.detail = l.chart + l.chart_height;
	return l;
}

struct layout view_layout(const struct top_view *v, int height)
{
	return layout_of(v, height, v->entry_count);
}

/* The position of the cursor in the list; the number of entries if it is in none. */
static size_t cursor_at(const struct top_view *v)
{
	size_t i = 0;

	if (view_has_tree(v))
		return top_cursor_line(&v->tree);
	while (i < v->entry_count &&
	       (v->entries[i].kind != ENTRY_LINE || v->entries[i].line != v->line))
		i++;
	return i;
}

void view_arrange(struct top_view *v, int height)
{
	struct layout l;
	size_t cursor, count, room;

	v->tree.sort = v->sort;
	v->tree.filter = v->filter;
	top_arrange(&v->tree);
	if (!view_has_tree(v)) {
		l = layout_of(v, height, SIZE_MAX);
		blocks_make(v, l.list_height);
	}
	if (!view_has_tree(v) && cursor_at(v) == v->entry_count) {
		v->line = SCREEN_NONE;
		for (size_t i = 0; i < v->entry_count && v->line == SCREEN_NONE; i++)
			if (v->entries[i].kind == ENTRY_LINE)
				v->line = v->entries[i].line;
	}
	l = view_layout(v, height);
	cursor = cursor_at(v);
	count = view_has_tree(v) ? v->tree.line_count : v->entry_count;
	room = (size_t)(l.list_height - view_has_tree(v));
	/* The titles of the first block stay above its first line. */
	if (cursor < v->first || cursor <= 1)
		v->first = cursor <= 1 ? 0 : cursor;
	if (cursor < count && cursor >= v->first + room)
		v->first = cursor - room + 1;
	if (v->first + room > count)
		v->first = count > room ? count - room : 0;
}

void view_move(struct top_view *v, long lines)
{
	size_t at = cursor_at(v);
	long step = lines < 0 ? -1 : 1;

	if (view_has_tree(v)) {
		top_move(&v->tree, lines);
		return;
	}
	for (long i = (long)at + step; lines && i >= 0 && i < (long)v->entry_count; i += step)
		if (v->entries[i].kind == ENTRY_LINE) {
			v->line = v->entries[i].line;
			lines -= step;
		}
}

/* Why there is no line. Returns the number of lines that this takes. */
static int put_empty(struct top_canvas *c, const struct top_view *v)
{
	const char *name = v->screens.names[v->screen];
	auto_buffer words = {0};

	if (!v->data.sample)
		buffer_puts(&words, "Waiting for the end of the first interval; the space key "
				    "reads now.");
	else if (*v->filter)
		buffer_printf(&words, "No row matches '%s'.", v->filter);
	else
		buffer_printf(&words,
			      "Nothing of this screen is counted. 'uncore top %s' counts it, where "
			      "this machine can.",
			      v->screen == TOP_OVERVIEW ? "mem" : name);
	return put_words(c, (struct place){2, HEAD_LINES + 1, c->width - 2, c->height}, STYLE_FAINT,
			 words.data);
}

void view_draw(struct top_canvas *c, struct top_view *v)
{
	auto_buffer hot = {0};
	struct layout l;
	size_t count, end;
	int y;

	c->ascii = v->ascii;
	canvas_clear(c);
	if (c->width < TOP_LEAST_WIDTH || c->height < TOP_LEAST_HEIGHT) {
		canvas_format(c, 0, 0, c->width, STYLE_PLAIN, "%dx%d is too small: %dx%d is needed",
			      c->width, c->height, TOP_LEAST_WIDTH, TOP_LEAST_HEIGHT);
		return;
	}
	view_arrange(v, c->height);
	l = view_layout(v, c->height);
	put_title(c, v);
	put_screens(c, v, &hot);
	put_keys(c, v);
	if (v->text) {
		put_pane(c, v);
		return;
	}
	if (!v->data.sample || !(view_has_tree(v) ? v->tree.line_count : v->entry_count)) {
		y = HEAD_LINES + 2 + put_empty(c, v);
		put_detail(c, v, y, 3, 0, "");
		return;
	}
	if (view_has_tree(v))
		put_list(c, v, l.list, (size_t)l.list_height);
	else
		blocks_draw(c, v, l.list, l.list_height);
	if (l.chart_height)
		chart_draw(c, v, l.chart, l.chart_height);
	end = v->first + (size_t)(l.list_height - view_has_tree(v));
	count = view_has_tree(v) ? v->tree.line_count : v->entry_count;
	put_detail(c, v, l.detail, l.detail_height, count > end ? count - end : 0,
		   buffer_text(&hot));
}

const char view_help[] =
	"1 ... 9       screens: overview, those of the catalogue, all metrics as a tree\n"
	"Up Down j k   select a line, also with PgUp, PgDn, Home, End; its graph is below the list\n"
	"Enter         overview: go to the line's screen; metrics: open or close a row\n"
	"Right Left    metrics: open a row, close it or go to the row above; a: all rows\n"
	"[ ]           shorter, longer time of the graph: 1 to 60 minutes\n"
	"z             show or hide idle lines\n"
	"s             sort: catalogue, traffic, share of the ceiling, name\n"
	"/             filter: a part of a name or place, or a pattern\n"
	"e             explain the metrics of the line: formula, events, evidence\n"
	"p             pause; Left and Right then go back and forth in time, PgUp and PgDn by minutes\n"
	"space         read now, also in a pause\n"
	"w c           write the screen as text, or its rows as CSV, into the working directory\n"
	"r             how to record the same\n"
	"W             which process, container, unit or job moves it: makes groups of tasks for as long as it "
	"is shown\n"
	"m             metrics with --sample: maximum, 99th percentile or mean of the short samples\n"
	"u             unit: GB/s (1e9), GiB/s (2^30), B/s\n"
	"+ -           longer, shorter interval\n"
	"n             notes: PMUs left out, groups that were split\n"
	"? F1          this help\n"
	"q F10         quit\n"
	"Mouse         click: select, and again: open; in the line of titles: sort; wheel: scroll\n"
	"\n"
	"The percentage and the bar are the share of the ceiling: the peak of the memory, or the capacity of "
	"the link in one direction. Green is below 50 %, yellow below 80 %, red above. Ratios that are no "
	"share of a ceiling have a bar without colour. The small bars beside a memory's name are its channels. "
	"The columns at the right and the graph are shares of the ceiling, too. Where none is known they are "
	"grey, relative to the largest value of the view (of the graph: its own), which the titles name.\n"
	"\n"
	"The values of the last hour are kept, of each row one for each second: 18 kB a row, 64 MB at most. "
	"With more than 3,728 rows they reach less far back.\n"
	"\n"
	"~ scaled: the kernel multiplexed the counters\n"
	"! partial or suspect: the reason is below the list\n"
	"- unavailable: the reason is below the list\n"
	"^ bursts: a short sample (--sample) was above the share of the ceiling (--above)\n";

void view_free(struct top_view *v)
{
	top_free(&v->tree);
	data_free(&v->data);
	free(v->entries);
	free(v->text);
	free(v->title);
}
