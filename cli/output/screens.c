/* SPDX-License-Identifier: MIT */
/* The output of `uncore` alone: a table for each view, the busiest places first. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/terminal.h"
#include "output/output.h"
#include "output/screen.h"

#define BAR_CELLS 10
#define PLAIN_LINES 50 /* of a screen when the output is no terminal */
#define LINES_LEAST 4  /* of a view, if there is room */
#define BLOCKS_MOST 32
#define WORDS_SHARE 4 /* of the height is left to reasons where not all has room */

static void put_share(struct table *t, double share)
{
	int full = share >= 1 ? BAR_CELLS : (int)(share * BAR_CELLS + 0.5);
	auto_buffer bar = {0};

	if (!isfinite(share)) {
		table_cell(t, "%s", "");
		return;
	}
	for (int i = 0; i < BAR_CELLS; i++)
		buffer_puts(&bar, i < full ? "█" : "░");
	table_cell(t, "%s%s%s %3.0f %%", share_color(share), bar.data, COLOR_END, share * 100);
}

/* What is behind the columns of a line: the address and what else there is, or one of them. */
enum details { DETAILS_ALL, DETAILS_ADDRESS, DETAILS_NONE };

static void put_line(struct table *t, const struct screen_line *line,
		     const struct screen_rows *rows, enum details details)
{
	const char *detail = line->kind < SCREEN_PORT                     ? ""
			     : details == DETAILS_ALL                     ? line->detail
			     : details == DETAILS_ADDRESS && line->device ? line->device->address
									  : "";

	table_cell(t, "%*s%s", 2 * (int)line->depth, "", line->label);
	for (int k = 0; k <= UNCORE_COLUMN_TOTAL; k++)
		out_value(t, screen_row(line, rows, (enum uncore_column)k));
	put_share(t, screen_share(line, rows));
	out_value(t, screen_row(line, rows, UNCORE_COLUMN_LATENCY));
	table_end_row(t, *detail ? detail : NULL);
}

/* One empty line. */
static void put_gap(struct out *out)
{
	if (out->to->len < 2 || memcmp(out->to->data + out->to->len - 2, "\n\n", 2) != 0)
		buffer_puts(out->to, "\n");
}

/* ---- what fits into a screen ---- */

/* The lines of one view. */
struct block {
	size_t first, end; /* in the screen */
	size_t *lines;     /* without idle ones and channels, the most important first */
	size_t count, idle;
	size_t elsewhere; /* devices that are idle here and move bytes in another view */
	size_t given;     /* lines that are shown; the others are one line together */
};

struct order {
	const struct screen *screen;
	const struct screen_rows *rows;
	bool places; /* the view has other lines than sums */
};

/* The sum of the machine comes first. Sums of sockets tell less than the places on them. */
static int rank(const struct order *o, const struct screen_line *line)
{
	return line->kind == SCREEN_MACHINE ? 0 : screen_is_sum(line) && o->places ? 2 : 1;
}

/* The busiest place first. A device is not before its port. */
static int by_importance(const void *a, const void *b, void *context)
{
	const struct order *o = context;
	size_t i = *(const size_t *)a, k = *(const size_t *)b;
	const struct screen_line *x = &o->screen->lines[i], *y = &o->screen->lines[k];
	double p = screen_traffic(x, o->rows), q = screen_traffic(y, o->rows);

	if (rank(o, x) != rank(o, y))
		return rank(o, x) - rank(o, y);
	if (!screen_is_sum(x) && p != q && (isfinite(p) || isfinite(q)))
		return !isfinite(q) || p > q ? -1 : 1;
	return i < k ? -1 : i > k;
}

/* Whether it is a place where nothing moves, which no other line shows. */
static bool is_quiet(const struct screen *s, const struct screen_rows *rows, size_t line)
{
	return !screen_is_sum(&s->lines[line]) && !screen_is_double(s, line) &&
	       screen_is_idle(&s->lines[line], rows);
}

static size_t find_blocks(const struct screen *s, const struct screen_rows *rows,
			  struct block *blocks)
{
	size_t count = 0;

	for (size_t i = 0; i < s->count && count < BLOCKS_MOST; count++) {
		struct block *b = &blocks[count];

		struct order order = {s, rows, false};

		*b = (struct block){.first = i};
		b->lines = cli_realloc(NULL, s->count, sizeof(*b->lines));
		for (; i < s->count && s->lines[i].view == s->lines[b->first].view; i++) {
			const struct screen_line *line = &s->lines[i];
			bool quiet = is_quiet(s, rows, i);
			bool elsewhere = quiet && screen_moves_elsewhere(s, line, rows);

			b->elsewhere += elsewhere;
			b->idle += quiet && !elsewhere;
			if (quiet || screen_is_double(s, i) || line->kind == SCREEN_CHANNEL)
				continue;
			b->lines[b->count++] = i;
			order.places |= !screen_is_sum(line);
		}
		b->end = i;
		qsort_r(b->lines, b->count, sizeof(*b->lines), by_importance, &order);
	}
	return count;
}

static size_t quiet_lines(const struct block *b)
{
	return (size_t)(b->idle > 0) + (b->elsewhere > 0);
}

/* The height of a block with so many of its lines: an empty line, the title, a line for the others
 * and one for idle places. */
static size_t height_of(const struct block *b, size_t given)
{
	return (b->count ? 2 + given + (given < b->count) : 1) + quiet_lines(b);
}

/* Divides the height: in their order the blocks get a few lines, as long as there is room, and then
 * one line after another goes to that of the smallest share of its lines. */
static void divide(struct block *blocks, size_t count, size_t height)
{
	size_t used = 0;
	struct block *next;

	for (struct block *b = blocks; b < blocks + count; b++) {
		b->given = b->count < LINES_LEAST ? b->count : LINES_LEAST;
		while (b->given && used + height_of(b, b->given) > height)
			b->given--;
		used += b->given || !b->count ? height_of(b, b->given) : 0;
	}
	do {
		next = NULL;
		for (struct block *b = blocks; b < blocks + count; b++) {
			size_t more = height_of(b, b->given + 1) - height_of(b, b->given);

			if (b->given && b->given < b->count && used + more <= height &&
			    (!next || b->given * next->count < next->given * b->count))
				next = b;
		}
		if (next)
			used += height_of(next, next->given + 1) - height_of(next, next->given);
		if (next)
			next->given++;
	} while (next);
}

/* ---- a view ---- */

/* The places of the view where nothing moves by name, as many as a line has room for: idle ones, or
 * devices that move bytes elsewhere. */
static void put_quiet(struct out *out, const struct screen *s, const struct screen_rows *rows,
		      const struct block *b, bool elsewhere)
{
	const size_t room = text_columns() - 4, count = elsewhere ? b->elsewhere : b->idle;
	auto_buffer names = {0};
	bool first = true;
	size_t used;

	if (!count)
		return;
	/* Without lines above there is no title. */
	buffer_printf(&names,
		      "%s%s%zu %s:", b->count ? "" : uncore_view_title(s->lines[b->first].view),
		      b->count ? "  " : ": ", count, elsewhere ? "without traffic here" : "idle");
	used = names.len;
	for (size_t i = b->first; i < b->end; i++) {
		const struct screen_line *line = &s->lines[i];
		size_t width = text_width(line->label) + 2;

		if (!is_quiet(s, rows, i) || screen_moves_elsewhere(s, line, rows) != elsewhere)
			continue;
		if (used + width > room) {
			if (first)
				names.data[--names.len] = '\0'; /* the number alone */
			else
				buffer_puts(&names, ", ...");
			break;
		}
		buffer_printf(&names, "%s %s", first ? "" : ",", line->label);
		used += width;
		first = false;
	}
	buffer_printf(out->to, "%s\n", names.data);
}

/* Whether a line is a place by itself: no sum over others in the list, and not below a port, whose
 * value has what passes it. */
static bool is_place(const struct screen *s, const struct block *b, size_t line)
{
	size_t above = s->lines[line].parent;

	if (!screen_is_sum(&s->lines[line]))
		return above == SCREEN_NONE || screen_is_sum(&s->lines[above]);
	for (size_t i = 0; i < b->count; i++)
		for (above = s->lines[b->lines[i]].parent; above != SCREEN_NONE;
		     above = s->lines[above].parent)
			if (above == line)
				return false;
	return true;
}

/* The sum of a column over the places that are left out. Without the values of some it is
 * partial. */
static void put_rest(struct table *t, const struct screen *s, const struct screen_rows *rows,
		     const struct block *b, enum uncore_column column)
{
	struct uncore_row sum = {.value = NAN};
	bool missing = false;

	for (size_t i = b->given; i < b->count; i++) {
		const struct uncore_row *row = screen_row(&s->lines[b->lines[i]], rows, column);

		if (!row || !is_place(s, b, b->lines[i]) ||
		    (sum.query && strcmp(sum.query->unit, row->query->unit) != 0))
			continue;
		sum.query = row->query;
		missing |= !isfinite(row->value);
		if (!isfinite(row->value))
			continue;
		sum.value = row->value + (isfinite(sum.value) ? sum.value : 0);
		sum.quality = row->quality > sum.quality ? row->quality : sum.quality;
	}
	if (missing && sum.quality < UNCORE_PARTIAL)
		sum.quality = isfinite(sum.value) ? UNCORE_PARTIAL : UNCORE_UNAVAILABLE;
	out_value(t, sum.query ? &sum : NULL);
}

/* The busiest lines of a view, the rest in one line. */
static void put_table(struct buffer *to, const struct screen *s, const struct screen_rows *rows,
		      const struct block *b, enum details details)
{
	const struct uncore_view *view = s->lines[b->first].view;
	auto_free size_t *shown = cli_realloc(NULL, b->given + 1, sizeof(*shown));
	struct table_column columns[UNCORE_COLUMNS + 2] = {{uncore_view_title(view), 0}};
	auto_table t = {0};
	size_t rest = 0;

	for (int k = 0; k < UNCORE_COLUMNS; k++) {
		const char *title = uncore_view_column_title(view, (enum uncore_column)k);

		columns[k + 1] = (struct table_column){title ? title : "", TABLE_RIGHT};
	}
	columns[UNCORE_COLUMN_SHARE + 1] = (struct table_column){"OF PEAK", 0};
	memcpy(shown, b->lines, b->given * sizeof(*shown));
	screen_sort(s, rows, shown, b->given);
	table_init(&t, columns);
	for (size_t i = 0; i < b->given; i++)
		put_line(&t, &s->lines[shown[i]], rows, details);
	for (size_t i = b->given; i < b->count; i++)
		rest += is_place(s, b, b->lines[i]);
	if (rest) {
		table_cell(&t, "  %zu more", rest);
		for (int k = 0; k <= UNCORE_COLUMN_TOTAL; k++)
			put_rest(&t, s, rows, b, (enum uncore_column)k);
		table_end_row(&t, NULL);
	}
	table_print(&t, to);
}

/* A view, with details as far as they have room in the lines. Channels are in the words on the
 * idle. */
static void put_view(struct out *out, const struct screen *s, const struct screen_rows *rows,
		     const struct block *b)
{
	auto_buffer table = {0};

	for (int details = DETAILS_ALL; b->count && details <= DETAILS_NONE; details++) {
		table.len = 0;
		put_table(&table, s, rows, b, (enum details)details);
		if (text_rows(buffer_text(&table)) + 1 <= height_of(b, b->given) - quiet_lines(b))
			break;
	}
	if (table.len) {
		put_gap(out);
		buffer_puts(out->to, table.data);
	}
	put_quiet(out, s, rows, b, false);
	put_quiet(out, s, rows, b, true);
}

static void put_doubt(struct out *out, const struct screen *s)
{
	for (size_t i = 0; i < s->count; i++) {
		if (!s->lines[i].uncertain)
			continue;
		out_once(out, "?: which PMU counts these devices is uncertain; 'uncore pcie "
			      "--check PORT' tests it.");
	}
}

/* Metrics that no view has, for the machine. */
static void put_others(struct out *out)
{
	static const struct table_column columns[] = {{"Other", 0}, {"", TABLE_RIGHT}, {0}};
	auto_table t = {0};

	table_init(&t, columns);
	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_row *row = out->rows[i].row;

		if (!out_is_everywhere(row->place) ||
		    cli_view_cell(out->setup.machine, row->query->name).view)
			continue;
		table_cell(&t, "%s%s%s", row->query->name, row->place->role ? ", " : "",
			   row->place->role ? row->place->role : "");
		out_value(&t, row);
		table_end_row(&t, NULL);
	}
	if (t.cells.len)
		put_gap(out);
	table_print(&t, out->to);
}

/* "Hottest: card0, 0003:01:00.0: 60 % of its peak" */
static void put_hottest(struct out *out, const struct screen *s, const struct screen_rows *rows)
{
	size_t hottest = screen_hottest(s, rows);
	const struct screen_line *line;
	double share;

	if (hottest == SCREEN_NONE)
		return;
	line = &s->lines[hottest];
	share = screen_share(line, rows);
	/* Above it is an empty line. */
	if (out->to->len && out->to->data[out->to->len - 1] == '\n')
		out->to->len--;
	buffer_printf(out->to, "Hottest: %s: ", uncore_view_title(line->view));
	for (size_t i = line->parent; i != SCREEN_NONE; i = s->lines[i].parent)
		if (s->lines[i].kind == SCREEN_SOCKET)
			buffer_printf(out->to, "%s, ", s->lines[i].label);
	buffer_printf(out->to, "%s, %s%.0f %%%s of its peak\n\n", line->label, share_color(share),
		      share * 100, COLOR_END);
}

/* The views for which there was no room, or whose places are all idle. */
static void put_dropped(struct out *out, const struct screen *s, const struct block *blocks,
			size_t count, const char *others)
{
	auto_buffer names = {0};

	for (size_t i = 0; i < count; i++)
		if (blocks[i].count && !blocks[i].given)
			buffer_printf(&names, "%s%s", names.len ? ", " : "",
				      uncore_view_title(s->lines[blocks[i].first].view));
	if (*others)
		buffer_printf(&names, "%s%s", names.len ? ", " : "", others);
	if (!names.len)
		return;
	buffer_puts(out->to, "\nMore in 'uncore top':");
	buffer_wrap(out->to, 2, text_columns(), names.data);
}

/* Keeps the first lines. True: there were more. */
static bool cut(struct buffer *text, size_t lines)
{
	size_t end = 0;

	for (; lines && end < text->len; lines--)
		end += strcspn(text->data + end, "\n") + 1;
	if (end >= text->len)
		return false;
	text->len = end;
	text->data[end] = '\0';
	return true;
}

/* As many lines as fit between what is above and the words below the tables, so that all of it can
 * be seen at once. */
void screens_output_window(struct out *out)
{
	const struct screen_rows rows = out_screen_rows(out, NULL);
	const size_t height = terminal_rows() ? terminal_rows() - 1 : PLAIN_LINES;
	struct buffer *to = out->to;
	struct block blocks[BLOCKS_MOST];
	auto_buffer words = {0}, others = {0};
	size_t count, used, full = 0;
	struct screen s;
	bool room, reasons;

	out_text_header(out);
	screen_make(&s, out->setup.machine, &rows);
	put_hottest(out, &s, &rows);
	out->to = &others;
	put_others(out);
	out->to = &words;
	put_doubt(out, &s);
	out_reasons(out, NULL);
	out->to = to;
	count = find_blocks(&s, &rows, blocks);
	used = out->setup.lines_above + text_rows(buffer_text(to));
	for (size_t i = 0; i < count; i++)
		full += height_of(&blocks[i], blocks[i].count);
	full += text_rows(buffer_text(&others));
	room = used + full + text_rows(buffer_text(&words)) <= height;
	/* Two lines name the views without room. */
	reasons = !room && cut(&words, height / WORDS_SHARE);
	used += text_rows(buffer_text(&words)) + (room ? text_rows(buffer_text(&others)) : 2);
	divide(blocks, count, height > used ? height - used : 0);
	for (size_t i = 0; i < count; i++) {
		if (blocks[i].given || !blocks[i].count)
			put_view(out, &s, &rows, &blocks[i]);
	}
	if (room)
		buffer_add(to, buffer_text(&others), others.len);
	put_dropped(out, &s, blocks, count,
		    room                    ? ""
		    : others.len && reasons ? "other metrics, more reasons"
		    : others.len            ? "other metrics"
		    : reasons               ? "more reasons"
					    : "");
	buffer_add(to, buffer_text(&words), words.len);
	for (size_t i = 0; i < count; i++)
		free(blocks[i].lines);
	screen_free(&s);
}
