/* SPDX-License-Identifier: MIT */
/* Screens that are made of views: a block for each, with a line for each place. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "output/output.h"
#include "top/view.h"

#define VALUE_WIDTH 12 /* " 49.30 GB/s!" */
#define RAW_WIDTH 18
#define SHARE_WIDTH 8
#define LATENCY_WIDTH 10
#define CHANNELS_MOST 32
#define BLOCKS_MOST 32
#define LINES_LEAST 4 /* of a block of the overview, if there is room */

/* ---- which lines are shown ---- */

static const struct screen_line *line_at(const struct top_view *v, size_t i)
{
	return &v->data.screen.lines[i];
}

static bool matches(const struct top_view *v, size_t i)
{
	return !*v->filter || cli_matches(v->filter, line_at(v, i)->label) ||
	       cli_matches(v->filter, line_at(v, i)->detail);
}

/* One that has moved nothing for some time: lines must not come and go each second. */
static bool is_hidden(const struct top_view *v, size_t i)
{
	return !v->idle && !screen_is_sum(line_at(v, i)) && data_is_idle(&v->data, i);
}

/* Nodes and channels are in the order of their places, unless they are sorted by their share. */
static double sort_value(const struct top_view *v, size_t i)
{
	const struct data_line *line = &v->data.lines[i];
	double value = v->sort == TOP_BY_SHARE ? line->share.value
		       : v->sort == TOP_BY_VALUE && line_at(v, i)->kind > SCREEN_CHANNEL
			       ? line->traffic.value
			       : NAN;

	return isfinite(value) ? value : -1;
}

/* Sums come first. */
static int compare(const void *a, const void *b, void *view)
{
	const struct top_view *v = view;
	size_t i = *(const size_t *)a, k = *(const size_t *)b;
	const struct screen_line *x = line_at(v, i), *y = line_at(v, k);
	double p = sort_value(v, i), q = sort_value(v, k);
	int names = v->sort == TOP_BY_NAME ? strverscmp(x->label, y->label) : 0;

	if (screen_is_sum(x) || screen_is_sum(y))
		return x->kind != y->kind && screen_is_sum(x) != screen_is_sum(y)
			       ? (screen_is_sum(x) ? -1 : 1)
		       : x->kind != y->kind ? (x->kind < y->kind ? -1 : 1)
					    : (i > k) - (i < k);
	if (p != q)
		return p > q ? -1 : 1;
	return names ? names : (i > k) - (i < k);
}

static void add_entry(struct top_view *v, struct entry entry)
{
	v->entries = cli_realloc(v->entries, v->entry_count + 1, sizeof(*v->entries));
	v->entries[v->entry_count++] = entry;
}

/* The lines of one view that are to be shown. */
struct block {
	size_t first, end; /* in the screen */
	size_t *lines;
	size_t count, idle;
	size_t given; /* lines below its title */
};

/* Appends the sorted lines below `parent`, each with those below it. */
static void add_below(const struct top_view *v, struct block *b, size_t parent)
{
	size_t count = 0;
	auto_free size_t *below = cli_realloc(NULL, b->end - b->first, sizeof(*below));

	for (size_t i = b->first; i < b->end; i++)
		if (line_at(v, i)->parent == parent)
			below[count++] = i;
	qsort_r(below, count, sizeof(*below), compare, (void *)v);
	for (size_t i = 0; i < count; i++) {
		bool hidden = is_hidden(v, below[i]);

		if (matches(v, below[i])) {
			b->idle += hidden && !screen_is_double(&v->data.screen, below[i]);
			if (!hidden)
				b->lines[b->count++] = below[i];
		}
		add_below(v, b, below[i]);
	}
}

/* The lines of the overview: without channels, each device once, and beside devices the sum of the
 * machine only. Sums come first, then the busiest places. */
static void add_flat(const struct top_view *v, struct block *b)
{
	bool devices = false;

	for (size_t i = b->first; i < b->end; i++)
		devices |= line_at(v, i)->kind >= SCREEN_PORT && line_at(v, i)->device;
	for (size_t i = b->first; i < b->end; i++) {
		enum screen_kind kind = line_at(v, i)->kind;

		if (screen_is_double(&v->data.screen, i) || !matches(v, i) ||
		    (devices && (kind == SCREEN_SOCKET || kind == SCREEN_NODE)))
			continue;
		b->idle += is_hidden(v, i);
		if (kind == SCREEN_CHANNEL)
			continue;
		if (!is_hidden(v, i))
			b->lines[b->count++] = i;
	}
	qsort_r(b->lines, b->count, sizeof(*b->lines), compare, (void *)v);
}

static size_t find_blocks(const struct top_view *v, struct block *blocks)
{
	const struct screen *s = &v->data.screen;
	const char *name = v->screens.names[v->screen];
	size_t count = 0, end;

	for (size_t i = 0; i < s->count && count < BLOCKS_MOST; i = end) {
		struct block *b = &blocks[count];

		for (end = i; end < s->count && s->lines[end].view == s->lines[i].view;)
			end++;
		if (v->screen != TOP_OVERVIEW &&
		    strcmp(uncore_view_screen(s->lines[i].view), name) != 0)
			continue;
		*b = (struct block){.first = i, .end = end};
		b->lines = cli_realloc(NULL, end - i, sizeof(*b->lines));
		if (v->screen == TOP_OVERVIEW)
			add_flat(v, b);
		else
			add_below(v, b, SCREEN_NONE);
		count += b->count || b->idle;
		if (!b->count && !b->idle)
			free(b->lines);
	}
	return count;
}

static size_t wanted(const struct block *b)
{
	return b->count + (b->idle > 0);
}

static size_t height_of(const struct block *b)
{
	return b->given ? 1 + b->given : 0;
}

/* Divides the height among the blocks: from the first on each gets a title and a few lines as long
 * as there is room, then that of the smallest share of what it wants gets another one. A block that
 * has no room is left out: its screen has it. True: all have all, with a blank line between. */
static bool divide(struct block *blocks, size_t count, size_t height)
{
	size_t used = 0, all = count ? count - 1 : 0;
	struct block *next;

	for (struct block *b = blocks; b < blocks + count; b++) {
		all += 1 + wanted(b);
		b->given = wanted(b) < LINES_LEAST ? wanted(b) : LINES_LEAST;
		while (b->given && used + height_of(b) > height)
			b->given--;
		used += height_of(b);
	}
	do {
		next = NULL;
		for (struct block *b = blocks; b < blocks + count; b++)
			if (b->given && b->given < wanted(b) &&
			    (!next || b->given * wanted(next) < next->given * wanted(b)))
				next = b;
		if (next && used < height)
			next->given++;
	} while (next && used++ < height);
	return all <= height;
}

/* The selected line stays visible: it takes the place of the last one. */
static void keep_selected(const struct top_view *v, struct block *b, size_t shown)
{
	for (size_t i = shown; shown && i < b->count; i++)
		if (b->lines[i] == v->line)
			b->lines[shown - 1] = v->line;
}

static void add_block(struct top_view *v, struct block *b)
{
	bool all = wanted(b) <= b->given;
	size_t shown = all ? b->count : b->given > 1 ? b->given - 1 : b->given;

	if (shown > b->count)
		shown = b->count;
	keep_selected(v, b, shown);
	add_entry(v, (struct entry){ENTRY_HEAD, b->first, 0, 0});
	for (size_t i = 0; i < shown; i++)
		add_entry(v, (struct entry){ENTRY_LINE, b->lines[i], 0, 0});
	if (shown < b->given && (b->count > shown || b->idle))
		add_entry(v, (struct entry){ENTRY_MORE, b->first, b->count - shown, b->idle});
}

void blocks_make(struct top_view *v, int height)
{
	struct block blocks[BLOCKS_MOST];
	size_t count = v->data.sample ? find_blocks(v, blocks) : 0;
	bool blank = true, any = false;

	v->entry_count = 0;
	for (size_t i = 0; i < count; i++)
		blocks[i].given = wanted(&blocks[i]);
	if (v->screen == TOP_OVERVIEW) {
		for (size_t i = 0; i < count; i++)
			blocks[i].given = 0;
		blank = divide(blocks, count, (size_t)height);
	}
	for (size_t i = 0; i < count; i++) {
		if (any && blank && blocks[i].given)
			add_entry(v, (struct entry){.kind = ENTRY_BLANK});
		if (blocks[i].given)
			add_block(v, &blocks[i]);
		any = true;
		free(blocks[i].lines);
	}
}

/* ---- columns ---- */

/* Where columns begin; -1: there is no room, or nothing to show. */
struct columns {
	int label_width, detail, detail_width, value_width;
	int values[UNCORE_COLUMN_TOTAL + 1];
	int share, bar, bar_width, latency, spark, spark_width;
};

static size_t channels_below(const struct top_view *v, size_t line, size_t *channels)
{
	const struct screen *s = &v->data.screen;
	size_t count = 0;

	for (size_t i = line + 1; i < s->count && s->lines[i].view == s->lines[line].view; i++)
		if (s->lines[i].parent == line && s->lines[i].kind == SCREEN_CHANNEL &&
		    count < CHANNELS_MOST)
			channels[count++] = i;
	return v->screen == TOP_OVERVIEW ? count : 0;
}

static int indent(const struct top_view *v, const struct screen_line *line)
{
	return v->screen == TOP_OVERVIEW ? 2 * (line->kind == SCREEN_SOCKET) : 2 * (int)line->depth;
}

/* The room that lines would like to have. */
struct room {
	int label, detail;
	bool latency;
	bool total; /* beside other columns; */
	bool alone; /* a line has nothing else in a view that has other columns */
};

/* Whether a line of a view has this column. */
static bool has_column(const struct top_view *v, size_t first, int column)
{
	const struct screen *s = &v->data.screen;

	for (size_t i = first; i < s->count && s->lines[i].view == s->lines[first].view; i++)
		if (s->lines[i].rows[column] != SCREEN_NONE)
			return true;
	return false;
}

static size_t first_of_view(const struct top_view *v, size_t line)
{
	while (line && line_at(v, line - 1)->view == line_at(v, line)->view)
		line--;
	return line;
}

/* Whether the lines of a view have only a sum. */
static bool has_only_sums(const struct top_view *v, size_t first)
{
	return !has_column(v, first, UNCORE_COLUMN_IN) && !has_column(v, first, UNCORE_COLUMN_OUT);
}

static struct room room_of(const struct top_view *v)
{
	struct room room = {.label = 12};
	size_t channels[CHANNELS_MOST];

	for (size_t i = 0; i < v->entry_count; i++) {
		size_t number = v->entries[i].line;
		const struct screen_line *line;
		int label, detail;

		if (v->entries[i].kind != ENTRY_LINE)
			continue;
		line = line_at(v, number);
		label = indent(v, line) + (int)text_width(line->label);
		label += (int)channels_below(v, number, channels);
		label += channels_below(v, number, channels) > 0;
		detail = (int)text_width(line->detail);
		room.label = label > room.label ? label : room.label;
		room.detail = detail > room.detail ? detail : room.detail;
		room.latency |= line->rows[UNCORE_COLUMN_LATENCY] != SCREEN_NONE;
		if (line->rows[UNCORE_COLUMN_TOTAL] == SCREEN_NONE ||
		    has_only_sums(v, first_of_view(v, number)))
			continue;
		room.total = true;
		room.alone |= line->rows[UNCORE_COLUMN_IN] == SCREEN_NONE &&
			      line->rows[UNCORE_COLUMN_OUT] == SCREEN_NONE;
	}
	return room;
}

static int least(int a, int b)
{
	return a < b ? a : b;
}

/* As many of the cells as whole minutes take: those of one minute have so many seconds each that
 * all are equal. */
static int cells_of_minutes(int width)
{
	int per = 1;

	while (60 % per || 60 / per > width)
		per++;
	return width >= 60 ? width / 60 * 60 : 60 / per;
}

static struct columns columns_of(const struct top_view *v, int width)
{
	const struct room room = room_of(v);
	struct columns c = {.detail = -1, .latency = -1, .values = {-1, -1, -1}, .spark = -1};
	int left, x;

	c.value_width = v->units == UNITS_RAW ? RAW_WIDTH : VALUE_WIDTH;
	c.label_width = least(room.label, width < 100 ? width / 3 : width / 4 + width / 40);
	left = width - 1 - c.label_width - 2 * c.value_width - SHARE_WIDTH;
	if (room.latency && left >= 2 * LATENCY_WIDTH + 2) {
		c.latency = 0;
		left -= LATENCY_WIDTH + 1;
	}
	if (room.alone || (room.total && left >= c.value_width + 60)) {
		c.values[UNCORE_COLUMN_TOTAL] = 0;
		left -= c.value_width;
	}
	if (room.detail && left >= 36) {
		c.detail_width = least(room.detail, left / 2);
		left -= c.detail_width + 1;
	}
	c.bar_width = left < 0 ? 0 : left < 16 ? left : left < 60 ? left / 3 : 20;
	left -= c.bar_width + 1;
	c.spark_width = left >= 6 ? cells_of_minutes(left) : 0;
	x = 1 + c.label_width;
	if (c.detail_width)
		c.detail = x + 1, x += 1 + c.detail_width;
	for (int k = 0; k <= UNCORE_COLUMN_TOTAL; k++)
		if (k < UNCORE_COLUMN_TOTAL || !c.values[k])
			c.values[k] = x, x += c.value_width;
	c.share = x;
	c.bar = x + SHARE_WIDTH;
	x = c.bar + c.bar_width;
	if (!c.latency)
		c.latency = x, x += LATENCY_WIDTH + 1;
	if (c.spark_width)
		c.spark = x + 1;
	return c;
}

/* Where a column of a view is put; -1: nowhere. Sums alone take the place of another column. */
static int column_at(const struct top_view *v, const struct columns *c, size_t first, int column)
{
	if (column == UNCORE_COLUMN_TOTAL && has_only_sums(v, first))
		return c->values[UNCORE_COLUMN_OUT];
	if (column == UNCORE_COLUMN_LATENCY)
		return c->latency < 0 && has_only_sums(v, first) &&
				       !has_column(v, first, UNCORE_COLUMN_TOTAL)
			       ? c->values[UNCORE_COLUMN_OUT]
			       : c->latency;
	return c->values[column];
}

/* ---- drawing ---- */

/* The value of a row with its unit and the mark of its quality, to the right. */
static void view_value(struct top_canvas *c, int x, int y, int width, const struct uncore_row *row,
		       enum units units)
{
	bool idle = !isfinite(row->value) || row->value == 0;
	auto_buffer text = {0};

	view_text(&text, row->value, row->query->unit, units, width - 2);
	canvas_right(c, x + width - 1, y, width - 2, idle ? STYLE_FAINT : STYLE_PLAIN, text.data);
	canvas_text(c, x + width - 1, y, 1, STYLE_MARK, out_mark(row->quality));
}

/* The largest value of a view's lines in a graph of that width: lines without a ceiling are drawn
 * relative to it. */
static double scale_of(const struct top_view *v, size_t line, int width, unsigned per)
{
	const struct screen *s = &v->data.screen;
	double most = 0;

	for (size_t i = line; i < s->count && s->lines[i].view == s->lines[line].view; i++)
		for (int x = 0; x < width && !chart_is_limited(&v->data, &s->lines[i]); x++)
			most = fmax(most, chart_value(&v->data, &s->lines[i], (unsigned)x, per));
	return most > 0 ? most : NAN;
}

static unsigned seconds_per_cell(const struct columns *at)
{
	return at->spark_width && at->spark_width < 60 ? 60 / (unsigned)at->spark_width : 1;
}

static int latency_width(const struct columns *at, int x)
{
	return x == at->latency ? LATENCY_WIDTH + 1 : at->value_width;
}

static void put_channels(struct top_canvas *c, const struct top_view *v, int x, int y, int end,
			 size_t line)
{
	size_t channels[CHANNELS_MOST], count = channels_below(v, line, channels);
	double most = 0;

	for (size_t i = 0; i < count; i++)
		most = fmax(most, screen_traffic(line_at(v, channels[i]), &v->data.rows));
	for (size_t i = 0; i < count && x < end; i++, x++) {
		const struct screen_line *channel = line_at(v, channels[i]);
		double share = screen_share(channel, &v->data.rows);

		canvas_level(c, x, y,
			     isfinite(share) ? share
					     : screen_traffic(channel, &v->data.rows) / most,
			     canvas_load_style(share));
	}
}

static void put_line(struct top_canvas *c, const struct top_view *v, const struct columns *at,
		     int y, size_t number, double scale)
{
	const struct screen_line *line = line_at(v, number);
	size_t first = first_of_view(v, number);
	bool limited = chart_is_limited(&v->data, line);
	double share = screen_share(line, &v->data.rows);
	enum top_style style = canvas_load_style(share);
	const struct uncore_row *row = screen_row(line, &v->data.rows, UNCORE_COLUMN_LATENCY);
	int x = 1 + indent(v, line);
	unsigned per = seconds_per_cell(at);

	x = canvas_text(c, x, y, 1 + at->label_width - x, STYLE_PLAIN, line->label);
	put_channels(c, v, x + 1, y, 1 + at->label_width, number);
	if (at->detail >= 0)
		canvas_text(c, at->detail, y, at->detail_width, STYLE_FAINT, line->detail);
	for (int k = 0; k <= UNCORE_COLUMN_TOTAL; k++) {
		const struct uncore_row *value =
			screen_row(line, &v->data.rows, (enum uncore_column)k);

		if (value && (x = column_at(v, at, first, k)) >= 0)
			view_value(c, x, y, at->value_width, value, v->units);
	}
	if (isfinite(share)) {
		canvas_format(c, at->share, y, SHARE_WIDTH, style, "%5.1f %%", share * 100);
		canvas_bar(c, at->bar, y, at->bar_width, share, style);
	}
	if (row && (x = column_at(v, at, first, UNCORE_COLUMN_LATENCY)) >= 0)
		view_value(c, x, y, latency_width(at, x), row, v->units);
	for (x = 0; x < at->spark_width; x++) {
		float level = chart_level(&v->data, line, scale,
					  (unsigned)(at->spark_width - 1 - x), per);

		canvas_level(c, at->spark + x, y, level,
			     limited ? canvas_load_style(level) : STYLE_FAINT);
	}
	if (number == v->line)
		canvas_cursor(c, y, at->share);
}

/* "LAST MINUTE" and what the height of the columns is a share of. */
static void put_spark_title(struct top_canvas *c, const struct top_view *v,
			    const struct columns *at, int y, size_t first, double scale)
{
	const struct screen *s = &v->data.screen;
	unsigned seconds = seconds_per_cell(at) * (unsigned)at->spark_width;
	bool limited = false, relative = false;
	const struct uncore_row *row = NULL;
	auto_buffer text = {0};

	for (size_t i = first; i < s->count && s->lines[i].view == s->lines[first].view; i++) {
		bool known = chart_is_limited(&v->data, &s->lines[i]);

		limited |= known;
		relative |= !known;
		for (int k = 0; !known && k < UNCORE_COLUMNS && !row; k++)
			if (k != UNCORE_COLUMN_SHARE)
				row = data_row(&v->data, s->lines[i].rows[k]);
	}
	buffer_printf(&text, seconds == 60 ? "LAST MINUTE" : "LAST %u MINUTES", seconds / 60);
	if (limited)
		buffer_puts(&text, " of peak");
	if (relative && row && isfinite(scale)) {
		buffer_puts(&text, limited ? ", grey: of " : " of ");
		view_text(&text, scale, row->query->unit, v->units, VALUE_WIDTH - 2);
	}
	if ((int)text.len > at->spark_width)
		text.len = strcspn(text.data, limited ? "," : "o");
	if ((int)text.len > at->spark_width)
		text.len = strcspn(text.data, "o");
	text.data[text.len] = '\0';
	canvas_text(c, at->spark, y, at->spark_width, STYLE_HEAD, text.data);
}

static bool has_shares(const struct top_view *v, size_t first)
{
	const struct screen *s = &v->data.screen;

	for (size_t i = first; i < s->count && s->lines[i].view == s->lines[first].view; i++)
		if (isfinite(screen_share(&s->lines[i], &v->data.rows)))
			return true;
	return false;
}

static void put_head(struct top_canvas *c, const struct top_view *v, const struct columns *at,
		     int y, size_t first, double scale)
{
	const struct uncore_view *view = line_at(v, first)->view;
	const char *latency = uncore_view_column_title(view, UNCORE_COLUMN_LATENCY);

	int x = has_column(v, first, UNCORE_COLUMN_IN) ? 0 : at->value_width;

	canvas_head(c, y);
	canvas_text(c, 0, y, 1 + at->label_width + at->detail_width + x, STYLE_HEAD,
		    uncore_view_title(view));
	for (int k = 0; k <= UNCORE_COLUMN_TOTAL; k++) {
		const char *title = uncore_view_column_title(view, (enum uncore_column)k);

		x = column_at(v, at, first, k);
		if (title && x >= 0 && has_column(v, first, k))
			canvas_right(c, x + at->value_width - 1, y, at->value_width - 1, STYLE_HEAD,
				     title);
	}
	if (has_shares(v, first))
		canvas_text(c, at->share + 1, y, SHARE_WIDTH + at->bar_width - 1, STYLE_HEAD,
			    "OF PEAK");
	x = column_at(v, at, first, UNCORE_COLUMN_LATENCY);
	if (latency && x >= 0 && has_column(v, first, UNCORE_COLUMN_LATENCY))
		canvas_right(c, x + latency_width(at, x) - 1, y, latency_width(at, x) - 1,
			     STYLE_HEAD, latency);
	if (at->spark_width)
		put_spark_title(c, v, at, y, first, scale);
}

void blocks_draw(struct top_canvas *c, const struct top_view *v, int y, int height)
{
	struct columns at = columns_of(v, c->width);
	double scale = NAN;
	size_t before = SCREEN_NONE;

	for (int i = 0; i < height && v->first + (size_t)i < v->entry_count; i++, y++) {
		const struct entry *e = &v->entries[v->first + (size_t)i];
		size_t first;

		if (e->kind == ENTRY_BLANK)
			continue;
		first = first_of_view(v, e->line);
		if (first != before)
			scale = scale_of(v, first, at.spark_width, seconds_per_cell(&at));
		before = first;
		if (e->kind == ENTRY_HEAD)
			put_head(c, v, &at, y, e->line, scale);
		else if (e->kind == ENTRY_LINE)
			put_line(c, v, &at, y, e->line, scale);
		else if (e->more && e->idle)
			canvas_format(c, 1, y, c->width - 1, STYLE_FAINT,
				      "%zu more, %zu idle (z shows them)", e->more, e->idle);
		else
			canvas_format(c, 1, y, c->width - 1, STYLE_FAINT,
				      e->idle ? "%zu idle (z shows them)" : "%zu more",
				      e->idle ? e->idle : e->more);
	}
}
