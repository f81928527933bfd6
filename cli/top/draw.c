/* SPDX-License-Identifier: MIT */
/* Draws the screen of `uncore top`: title, list, the selected row in words, and keys. */
#include "top/draw.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/cli.h"
#include "output/output.h"

#define DETAIL_LINES 3
#define VALUE_WIDTH 16 /* "480,000,000 1/s" */
#define UNIT_WIDTH 5
#define SHARE_WIDTH 6

/* ---- cells ---- */

void top_resize(struct top_canvas *c, int width, int height)
{
	/* ncurses stores sizes as short integers: 65,535 columns become -1. */
	width = width > 0 ? width : 1;
	height = height > 0 ? height : 1;
	c->cells = cli_realloc(c->cells, (size_t)width * (size_t)height, sizeof(*c->cells));
	c->width = width;
	c->height = height;
}

static void put(struct top_canvas *c, int x, int y, wchar_t character, enum top_style style)
{
	if (x < 0 || y < 0 || x >= c->width || y >= c->height)
		return;
	c->cells[y * c->width + x].character = character;
	c->cells[y * c->width + x].style = (unsigned char)style;
}

/* Decodes UTF-8, which cli_clean() has made valid. mbrtowc() would depend on the locale. */
static wchar_t next(const char **text)
{
	const unsigned char *at = (const unsigned char *)*text;
	wchar_t code = *at++;

	if (code >= 0xc0) {
		code &= code >= 0xf0 ? 0x07 : code >= 0xe0 ? 0x0f : 0x1f;
		while ((*at & 0xc0) == 0x80)
			code = code << 6 | (*at++ & 0x3f);
	}
	*text = (const char *)at;
	return code;
}

/* The character for terminals that can show only ASCII. */
static wchar_t plain(wchar_t character)
{
	return character < 0x80    ? character
	       : character == L'µ' ? L'u'
	       : character == L'…' ? L'~'
				   : L'?';
}

/* Puts at most `width` columns; a longer text ends in "…". Returns the column after the text. */
static int put_text(struct top_canvas *c, int x, int y, int width, enum top_style style,
		    const char *text)
{
	size_t left = text_width(text);

	for (; *text && width > 0; x++, width--, left--) {
		wchar_t character = width == 1 && left > 1 ? L'…' : next(&text);

		put(c, x, y, c->ascii ? plain(character) : character, style);
	}
	return x;
}

__attribute__((format(printf, 6, 7))) static int put_format(struct top_canvas *c, int x, int y,
							    int width, enum top_style style,
							    const char *fmt, ...)
{
	struct buffer text = {0};
	va_list args;

	va_start(args, fmt);
	buffer_vprintf(&text, fmt, args);
	va_end(args);
	text.len = cli_clean(text.data, text.len, "");
	text.data[text.len] = '\0';
	x = put_text(c, x, y, width, style, text.data);
	buffer_free(&text);
	return x;
}

static void fill(struct top_canvas *c, int y)
{
	for (int x = 0; x < c->width; x++)
		put(c, x, y, L' ', STYLE_HEAD);
}

/* ---- bars ---- */

enum top_style top_load_style(double share, bool limited)
{
	return !limited || !isfinite(share) ? STYLE_PLAIN
	       : share < 0.5                ? STYLE_LOW
	       : share < 0.8                ? STYLE_MIDDLE
					    : STYLE_HIGH;
}

static void put_bar(struct top_canvas *c, int x, int y, int width, double share,
		    enum top_style style)
{
	int eighths = share <= 0 ? 0 : share >= 1 ? width * 8 : (int)(share * width * 8 + 0.5);

	for (int i = 0; i < width; i++, eighths -= 8) {
		int part = eighths >= 8 ? 8 : eighths < 0 ? 0 : eighths;
		wchar_t character = c->ascii ? L'#' : (wchar_t)(0x2590 - part);

		if (c->ascii && part < 4)
			part = 0;
		put(c, x + i, y,
		    part       ? character
		    : c->ascii ? L'.'
			       : L'·',
		    part ? style : STYLE_FAINT);
	}
}

/* Puts the last minute relative to its largest value, the oldest second at the left. */
static void put_history(struct top_canvas *c, const struct top_model *m, int x, int y, int width,
			const struct top_node *node)
{
	unsigned per = TOP_SLOTS / (unsigned)width;
	float values[TOP_SLOTS], most = 0;

	for (int i = 0; i < width; i++) {
		values[i] = top_history(m, node, (unsigned)(width - 1 - i), per);
		most = values[i] > most ? values[i] : most;
	}
	for (int i = 0; i < width; i++) {
		int level = most > 0 ? (int)(values[i] / most * 7 + 0.5f) : 0;

		if (isfinite(values[i]))
			put(c, x + i, y, c->ascii ? L"_.,-=+*#"[level] : (wchar_t)(0x2581 + level),
			    STYLE_PLAIN);
	}
}

/* ---- the list ---- */

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
	const struct uncore_distribution *d = top_distribution(&v->model, node);
	struct uncore_row row = *top_row(&v->model, node);
	struct uncore_row_query query = *row.query;
	char unit[OUT_UNIT_ROOM];
	bool limited, idle;
	enum top_style style;
	struct human h;
	double share;
	int number, x;

	if (d && v->shown != TOP_MEAN) {
		row.value = (v->shown == TOP_P99 ? d->p99 : d->most) * out_rate_unit(&row, unit);
		query.unit = unit;
		row.query = &query;
	}
	share = top_share(&row, &limited);
	idle = !isfinite(row.value) || row.value == 0;
	style = idle ? STYLE_FAINT : STYLE_PLAIN;
	human_value_in(&h, row.value, row.query->unit, v->units);
	number = (int)text_width(h.number);
	x = at->value + VALUE_WIDTH - 1 - UNIT_WIDTH - number;
	/* A long number may take the room that a short unit leaves. */
	while (x < at->value && x + number + 1 + (int)text_width(h.unit) < at->value + VALUE_WIDTH)
		x++;
	put_text(c, x, y, number, style, h.number);
	put_text(c, x + number + 1, y, UNIT_WIDTH + 1, style, h.unit);
	put_text(c, at->value + VALUE_WIDTH, y, 1, STYLE_MARK,
		 row.quality <= UNCORE_MEASURED && d && d->burst_ns ? "^" : out_mark(row.quality));
	style = top_load_style(share, limited);
	if (isfinite(share))
		put_format(c, at->share, y, SHARE_WIDTH, style, "%4.*f %%", share < 0.9995 ? 1 : 0,
			   share * 100);
	if (isfinite(share) && at->bar_width)
		put_bar(c, at->bar, y, at->bar_width, share, style);
}

static void put_node(struct top_canvas *c, const struct top_view *v, const struct columns *at,
		     int y, size_t number)
{
	const struct top_node *node = &v->model.nodes[number];
	const struct uncore_row *row = top_row(&v->model, number);
	bool open = node->open || (!node->matches && node->leads);
	int x = 2 * (int)node->depth;

	if (node->children)
		put(c, x, y, c->ascii ? (open ? L'-' : L'+') : (open ? L'▾' : L'▸'), STYLE_PLAIN);
	put_text(c, x + 2, y, (row ? at->name : c->width) - x - 2, row ? STYLE_PLAIN : STYLE_FAINT,
		 node->label);
	if (row) {
		put_values(c, v, at, y, number);
		put_history(c, &v->model, at->history, y, at->history_width, node);
	}
	for (x = 0; number == v->model.cursor && x < c->width; x++)
		c->cells[y * c->width + x].cursor = true;
}

int top_head_lines(const struct top_view *v)
{
	return 2 + (v->simulated != NULL) + (v->missing != NULL);
}

int top_list_height(const struct top_view *v, int height)
{
	return height - top_head_lines(v) - 1 - (v->text ? 0 : DETAIL_LINES);
}

size_t top_line_at(const struct top_view *v, int height, int y)
{
	size_t line = v->first + (size_t)(y - top_head_lines(v));
	bool inside = y >= top_head_lines(v) && y < top_head_lines(v) + top_list_height(v, height);

	return inside && !v->text && line < v->model.line_count ? v->model.lines[line] : TOP_NONE;
}

static void put_list(struct top_canvas *c, struct top_view *v)
{
	size_t height = (size_t)top_list_height(v, c->height), cursor = top_cursor_line(&v->model);
	struct columns at = columns_of(c->width);
	int y = top_head_lines(v);

	if (cursor < v->first)
		v->first = cursor;
	if (cursor >= v->first + height)
		v->first = cursor - height + 1;
	if (v->first + height > v->model.line_count)
		v->first = v->model.line_count > height ? v->model.line_count - height : 0;
	put_text(c, 0, y - 1, at.name, STYLE_HEAD, "  METRIC, PLACE");
	put_text(c, at.value + VALUE_WIDTH - 1 - UNIT_WIDTH - 5, y - 1, 5, STYLE_HEAD,
		 v->shown == TOP_MEAN  ? "VALUE"
		 : v->shown == TOP_P99 ? "  P99"
				       : "  MAX");
	put_text(c, at.share, y - 1, c->width, STYLE_HEAD, at.bar_width ? "OF CEILING" : "SHARE");
	put_text(c, at.history, y - 1, at.history_width, STYLE_HEAD,
		 at.history_width >= 10 ? "LAST MIN" : "MINUTE");
	for (size_t i = 0; i < height && v->first + i < v->model.line_count; i++)
		put_node(c, v, &at, y + (int)i, v->model.lines[v->first + i]);
	if (!v->model.count)
		put_text(c, 2, y, c->width - 2, STYLE_FAINT,
			 "Waiting for the end of the first interval; the space key reads now.");
	else if (!v->model.line_count)
		put_format(c, 2, y, c->width - 2, STYLE_FAINT, "No row matches '%s'.",
			   v->model.filter);
}

/* "; of 1000 samples: p50 1.000 GB/s, p99 9.000 GB/s, max 9.500 GB/s, 3.0 % above ..." */
static void put_distribution(struct buffer *to, const struct top_view *v,
			     const struct uncore_row *row, const struct uncore_distribution *d)
{
	static const char *const names[] = {"p50", "p99", "max"};
	const double values[] = {d->p50, d->p99, d->most};
	char unit[OUT_UNIT_ROOM];
	double scale = out_rate_unit(row, unit);
	struct buffer bursts = {0};

	buffer_printf(to, "; of %llu samples: ", (unsigned long long)d->samples);
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		buffer_printf(to, "%s%s %s", i ? ", " : "", names[i],
			      human_in(values[i] * scale, unit, v->units).text);
	out_bursts(&bursts, d, unit, row->counted->seconds);
	buffer_printf(to, "%s%s", bursts.len ? ", " : "", buffer_text(&bursts));
	buffer_free(&bursts);
}

/* Puts the selected row in words: value, share, quality, reason. */
static void put_detail(struct top_canvas *c, const struct top_view *v)
{
	const struct top_model *m = &v->model;
	const struct uncore_row *row = top_row(m, m->cursor);
	struct buffer text = {0};
	size_t top = m->cursor;
	char *line, *rest;

	if (!row)
		return;
	while (m->nodes[top].parent != TOP_NONE)
		top = m->nodes[top].parent;
	buffer_printf(&text, "%s%s%s: %s", m->nodes[top].label, top == m->cursor ? "" : ", ",
		      top == m->cursor ? "" : m->nodes[m->cursor].label,
		      human_in(row->value, row->query->unit, v->units).text);
	if (isfinite(row->value / row->ceiling))
		buffer_printf(&text, ", %.1f %% of %s", row->value / row->ceiling * 100,
			      human_in(row->ceiling, row->query->unit, v->units).text);
	buffer_printf(&text, ", %s", uncore_quality_name(row->quality));
	if (isfinite(row->value) && row->counted->coverage < 1)
		buffer_printf(&text, " %.3g %%", row->counted->coverage * 100);
	if (row->reason) {
		buffer_puts(&text, ": ");
		human_text(&text, row->reason);
	}
	if (top_distribution(m, m->cursor))
		put_distribution(&text, v, row, top_distribution(m, m->cursor));
	line = cli_copy(text.data);
	text.len = 0;
	buffer_wrap(&text, 0, (size_t)c->width, line);
	free(line);
	rest = text.data;
	for (int i = 0; i < DETAIL_LINES && rest && *rest; i++) {
		line = strsep(&rest, "\n");
		/* The last line ends in "…" if there is more text. */
		put_format(c, 0, c->height - 1 - DETAIL_LINES + i, c->width, STYLE_PLAIN, "%s%s",
			   line, i + 1 == DETAIL_LINES && rest && *rest ? " …" : "");
	}
	buffer_free(&text);
}

/* ---- texts, title, keys ---- */

/* Breaks the text into lines, and puts those from text_first on. */
static void put_pane(struct top_canvas *c, struct top_view *v)
{
	long height = top_list_height(v, c->height), lines = 0;
	size_t width = (size_t)c->width;
	int y = top_head_lines(v);

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
			put_format(c, 0, y + (int)(lines - v->text_first), c->width, STYLE_PLAIN,
				   "%.*s", (int)cut, at);
		lines++;
		at += cut;
		at += *at == '\n' || *at == ' ';
	}
	v->text_lines = lines;
}

static void put_title(struct top_canvas *c, const struct top_view *v)
{
	static const char *const sorts[] = {"", "by value", "by share", "by name"};
	struct buffer right = {0};
	int x;

	if (v->paused)
		buffer_puts(&right, "PAUSED  ");
	if (*v->model.filter)
		buffer_printf(&right, "'%s'  ", v->model.filter);
	if (v->model.sort)
		buffer_printf(&right, "%s  ", sorts[v->model.sort]);
	buffer_printf(&right, "every %g s  at %s", v->interval, human(v->model.seconds, "s").text);
	x = c->width - (int)text_width(right.data);
	fill(c, 0);
	put_format(c, 0, 0, x - 1, STYLE_HEAD, "uncore top: %s", v->title);
	put_text(c, x < 0 ? 0 : x, 0, c->width, STYLE_HEAD, right.data);
	buffer_free(&right);
	if (v->simulated)
		put_format(c, 0, 1, c->width, STYLE_MARK,
			   "SIMULATED by %s: these values are invented.", v->simulated);
	if (v->missing)
		put_text(c, 0, 1 + (v->simulated != NULL), c->width, STYLE_FAINT, v->missing);
	fill(c, top_head_lines(v) - 1);
}

static void put_keys(struct top_canvas *c, const struct top_view *v)
{
	int y = c->height - 1;

	fill(c, y);
	if (v->typing)
		put_format(c, 0, y, c->width, STYLE_HEAD, "Filter: %s_   Enter: keep  Esc: clear",
			   v->model.filter);
	else if (v->text)
		put_text(c, 0, y, c->width, STYLE_HEAD, "Arrows: scroll  Esc: back  q: quit");
	else
		put_text(
			c, 0, y, c->width, STYLE_HEAD,
			c->width >= 115
				? "q: quit  ?: help  Enter: open  e: explain  s: sort  "
				  "/: filter  p: pause  u: unit  + -: interval  space: read now"
			: c->width >= 80
				? "q: quit ?: help Enter: open e: explain s: sort /: filter p: pause u: unit"
				: "q quit ? help Enter open e explain s sort / filter p pause");
}

void top_draw(struct top_canvas *c, struct top_view *v)
{
	c->ascii = v->ascii;
	for (int i = 0; i < c->width * c->height; i++)
		c->cells[i] = (struct top_cell){.character = L' '};
	if (c->width < TOP_LEAST_WIDTH || c->height < TOP_LEAST_HEIGHT) {
		put_format(c, 0, 0, c->width, STYLE_PLAIN, "%dx%d is too small: %dx%d is needed",
			   c->width, c->height, TOP_LEAST_WIDTH, TOP_LEAST_HEIGHT);
		return;
	}
	put_title(c, v);
	if (v->text)
		put_pane(c, v);
	else
		put_list(c, v);
	if (!v->text)
		put_detail(c, v);
	put_keys(c, v);
}
