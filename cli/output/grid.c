/* SPDX-License-Identifier: MIT */
/* Text of `mem`, `link`, `latency` and `cache`: a table for each view of the table that the output
 * is named after (data/names/views.yaml), with a line for each place: channels, then their socket,
 * then the machine. Metrics that no view has are below, as `text` prints them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "output/output.h"
#include "output/screen.h"

/* The table of a view. It is kept, so that its columns keep their widths. */
struct grid {
	struct table table;
	struct table_column columns[TABLE_COLUMNS + 1];
};

struct grids {
	size_t count;
	struct grid all[]; /* in the order of the views */
};

/* What is printed at present. */
struct window {
	struct out *out;
	struct screen screen;
	struct screen_rows rows;
};

void grids_free(struct grids *g)
{
	for (size_t i = 0; g && i < g->count; i++)
		table_free(&g->all[i].table);
	free(g);
}

static struct grids *grids_new(struct uncore *u)
{
	size_t count = uncore_view_count(u);
	struct grids *g = cli_realloc(NULL, 1, sizeof(*g) + count * sizeof(*g->all));

	memset(g, 0, sizeof(*g) + count * sizeof(*g->all));
	g->count = count;
	return g;
}

/* ---- columns ---- */

/* Columns of rates and times leave room for the values of later intervals. */
static int traits_of(const struct window *w, const struct screen_line *first, size_t count, int k)
{
	int below = k == UNCORE_COLUMN_LATENCY ? TABLE_BELOW : 0;

	for (const struct screen_line *line = first; line < first + count; line++) {
		const struct uncore_row *row = screen_row(line, &w->rows, (enum uncore_column)k);

		if (row && strcmp(row->query->unit, "B/s") == 0)
			return TABLE_RIGHT | TABLE_RATE;
		if (row && strcmp(row->query->unit, "s") == 0)
			return TABLE_RIGHT | TABLE_TIME | below;
	}
	return TABLE_RIGHT | below;
}

/* Columns that no line has are not printed. */
static void make_columns(const struct window *w, const struct screen_line *first, size_t count,
			 struct grid *g)
{
	struct table_column *column = g->columns;

	*column++ = (struct table_column){uncore_view_title(first->view), 0};
	for (int k = 0; k < UNCORE_TABLE_COLUMNS; k++) {
		const char *title = uncore_view_column_title(first->view, (enum uncore_column)k);

		if (title)
			*column++ = (struct table_column){title, traits_of(w, first, count, k)};
	}
	*column++ = (struct table_column){"IN ALL", TABLE_RIGHT};
	*column = (struct table_column){0};
}

/* ---- lines ---- */

/* A ceiling comes before a metric of the share. */
static void put_share(const struct window *w, struct table *t, const struct screen_line *line)
{
	const struct uncore_row *row = screen_row(line, &w->rows, UNCORE_COLUMN_SHARE);
	double share = screen_share(line, &w->rows);

	if (isfinite(share) && !(row && share == row->value))
		out_share(t, share);
	else
		out_value(t, row);
}

/* Whether filters leave out places of the machine. */
static bool is_selection(const struct window *w)
{
	const struct uncore_row *row = w->rows.count ? w->rows.at(w->rows.context, 0) : NULL;
	const char *filter = row ? row->query->filter : NULL;

	return filter && (strstr(filter, "socket=") || strstr(filter, "node="));
}

static void put_line(const struct window *w, struct table *t, const struct screen_line *line)
{
	const struct uncore_row *cells[UNCORE_TABLE_COLUMNS];
	bool total;

	table_cell(t, "%s", line->kind == SCREEN_MACHINE && is_selection(w) ? "sum" : line->label);
	for (int k = 0; k < UNCORE_TABLE_COLUMNS; k++) {
		cells[k] = screen_row(line, &w->rows, (enum uncore_column)k);
		if (!uncore_view_column_title(line->view, (enum uncore_column)k))
			continue;
		if (k == UNCORE_COLUMN_SHARE)
			put_share(w, t, line);
		else
			out_value(t, cells[k]);
	}
	total = cells[UNCORE_COLUMN_TOTAL];
	out_amount(w->out, t, cells[total ? UNCORE_COLUMN_TOTAL : UNCORE_COLUMN_IN],
		   cells[total ? UNCORE_COLUMN_TOTAL : UNCORE_COLUMN_OUT]);
	table_end_row(t, line->kind >= SCREEN_PORT && *line->detail ? line->detail : NULL);
}

/* ---- their order ---- */

/* --sort: the columns of pictures, in their order, behind "place". */
const char *const grid_sorts[] = {"place", "read", "write", "total", "share", "latency", NULL};

struct position {
	const struct screen_line *line;
	double key; /* the largest first */
};

/* Channels and nodes come before sockets, and the sum comes last. */
static int compare(const void *a, const void *b)
{
	const struct position *x = a, *y = b;

	if ((x->line->kind <= SCREEN_SOCKET || y->line->kind <= SCREEN_SOCKET) &&
	    x->line->kind != y->line->kind)
		return x->line->kind > y->line->kind ? -1 : 1;
	if (x->key != y->key)
		return x->key > y->key ? -1 : 1;
	return x->line < y->line ? -1 : 1;
}

/* Puts each place behind the places below it. */
static size_t put_below(const struct screen *s, size_t first, size_t count, size_t parent,
			struct position *into)
{
	size_t at = 0;

	for (size_t i = first; i < first + count; i++) {
		if (s->lines[i].parent != parent)
			continue;
		at += put_below(s, first, count, i, into + at);
		into[at++].line = &s->lines[i];
	}
	return at;
}

static void order(const struct window *w, size_t first, size_t count, struct position *into)
{
	const char *sort = w->out->setup.sort;
	size_t key = sort ? cli_word(grid_sorts, sort) : 0;

	put_below(&w->screen, first, count, SCREEN_NONE, into);
	for (size_t i = 0; key && i < count; i++) {
		enum uncore_column column = (enum uncore_column)(key - 1);
		const struct uncore_row *row = screen_row(into[i].line, &w->rows, column);
		double value = column == UNCORE_COLUMN_SHARE ? screen_share(into[i].line, &w->rows)
			       : row                         ? row->value
							     : NAN;

		into[i].key = isfinite(value) ? value : -1;
	}
	if (key)
		qsort(into, count, sizeof(*into), compare);
}

/* ---- legends ---- */

/* The traffic of a channel over the mean of its socket; NaN: it is not known of all of them. */
static double imbalance_of(const struct window *w, const struct screen_line *line, size_t first,
			   size_t count)
{
	double sum = 0;
	size_t channels = 0;

	for (size_t i = first; i < first + count; i++) {
		const struct screen_line *other = &w->screen.lines[i];

		if (other->kind != SCREEN_CHANNEL || other->place->socket != line->place->socket)
			continue;
		sum += screen_traffic(other, &w->rows);
		channels++;
	}
	return channels > 1 && sum > 0 ? screen_traffic(line, &w->rows) * (double)channels / sum
				       : NAN;
}

static void put_imbalance(const struct window *w, size_t first, size_t count)
{
	const struct screen_line *most = NULL;
	double largest = 0;

	for (size_t i = first; i < first + count; i++) {
		const struct screen_line *line = &w->screen.lines[i];
		double imbalance =
			line->kind == SCREEN_CHANNEL ? imbalance_of(w, line, first, count) : NAN;

		if (imbalance > largest) {
			largest = imbalance;
			most = line;
		}
	}
	if (!most)
		return;
	buffer_printf(w->out->to, "IMBALANCE: %.3f times the mean of its socket, at ", largest);
	out_place(w->out->to, most->place);
	buffer_puts(w->out->to, ".\n");
}

/* Whether the ceiling is that of the memory of one or several sockets. */
static bool is_of_memory(const struct uncore_row *row, double peak)
{
	double sockets = row ? row->ceiling / peak : NAN;

	return sockets > 0.5 && fabs(sockets - round(sockets)) < 1e-6;
}

static void put_legend(const struct window *w, size_t first, size_t count)
{
	const struct uncore_view *view = w->screen.lines[first].view;
	const char *about = uncore_view_column_about(view, UNCORE_COLUMN_SHARE);
	const struct uncore_memory *m = uncore_memory_get(w->out->setup.machine);
	bool ceiling = false, counted = false;
	auto_buffer text = {0}, share = {0};
	put_imbalance(w, first, count);
	for (size_t i = first; i < first + count; i++) {
		const struct screen_line *line = &w->screen.lines[i];
		const struct uncore_row *row = screen_row(line, &w->rows, UNCORE_COLUMN_SHARE);
		bool own = false;

		for (int k = 0; k <= UNCORE_COLUMN_TOTAL; k++)
			own |= is_of_memory(screen_row(line, &w->rows, (enum uncore_column)k),
					    m->peak);
		ceiling |= own;
		counted |= row && !own;
	}
	if (ceiling) {
		buffer_printf(&text, "OF PEAK: of %s for each socket (from %s).",
			      human(m->peak, "B/s").text, m->from);
		out_once(w->out, text.data);
	}
	if (!counted || !about)
		return;
	if (ceiling)
		buffer_puts(&share, "Channels");
	else
		buffer_puts(&share, uncore_view_column_title(view, UNCORE_COLUMN_SHARE));
	buffer_printf(&share, ": %s", about);
	out_once(w->out, share.data);
}

/* ---- the window ---- */

/* The table of the view that begins at `first`. Returns the end of its lines. Each of several
 * tables has its titles in each interval. */
static size_t put_view(const struct window *w, size_t first)
{
	const struct screen *s = &w->screen;
	struct grids *grids = w->out->grids;
	auto_free struct position *lines = NULL;
	size_t count = 0, view = 0;

	while (first + count < s->count && s->lines[first + count].view == s->lines[first].view)
		count++;
	while (uncore_view_at(w->out->setup.machine, view) != s->lines[first].view)
		view++;
	if (!grids->all[view].columns->title)
		make_columns(w, &s->lines[first], count, &grids->all[view]);
	out_table(w->out, &grids->all[view].table, grids->all[view].columns);
	lines = cli_realloc(NULL, count, sizeof(*lines));
	memset(lines, 0, count * sizeof(*lines));
	order(w, first, count, lines);
	if (first)
		buffer_puts(w->out->to, "\n");
	grids->all[view].table.titled &= count == s->count;
	for (size_t i = 0; i < count; i++)
		put_line(w, &grids->all[view].table, lines[i].line);
	table_print(&grids->all[view].table, w->out->to);
	put_legend(w, first, count);
	return first + count;
}

static bool has_metric(const struct window *w, size_t row, const struct uncore_row *r)
{
	return row != SCREEN_NONE &&
	       strcmp(w->out->rows[row].row->query->name, r->query->name) == 0;
}

/* Whether a line has the row, or has another one for its cell: of a second family, or one that
 * comes later in the list of the column. */
static bool is_in_line(const struct window *w, size_t row, bool *other)
{
	const struct uncore_row *r = w->out->rows[row].row;

	for (size_t i = 0; i < w->screen.count; i++) {
		const struct screen_line *line = &w->screen.lines[i];
		enum uncore_column k;
		unsigned rank;
		int number;

		if (!uncore_view_has(line->view, r->query->name, &k, &rank, &number))
			continue;
		if (line->rows[k] == row)
			return true;
		/* Why a part of the place has no value stands below the table. */
		*other |= number == line->number && out_same_place(line->place, r->place) &&
			  cli_same(line->place->role, r->place->role) &&
			  (isfinite(r->value) || !has_metric(w, line->rows[k], r));
	}
	return false;
}

/* Moves the rows of lines to the front, and returns their number. Behind them are the rows of the
 * text below, up to *end: rows exist at all levels of the output. The level of the socket is
 * kept with --per-socket, and the level of the machine without it. */
static size_t take_rows(const struct window *w, size_t *end)
{
	struct out *out = w->out;
	size_t taken = 0, rest = 0;
	auto_free struct out_row *rows = cli_realloc(NULL, 2 * out->row_count + 1, sizeof(*rows));

	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_row_place *place = out->rows[i].row->place;
		enum uncore_column column;
		bool other = false, shown = is_in_line(w, i, &other);
		unsigned rank;
		int number;

		for (size_t k = 0; !shown && !other && k < w->screen.count; k++)
			shown = uncore_view_has(w->screen.lines[k].view,
						out->rows[i].row->query->name, &column, &rank,
						&number);
		if (shown)
			rows[taken++] = out->rows[i];
		else if (!place->pmu &&
			 (place->socket >= 0) == (out->setup.level == UNCORE_LEVEL_SOCKET))
			rows[out->row_count + rest++] = out->rows[i];
	}
	memcpy(out->rows, rows, taken * sizeof(*rows));
	memcpy(out->rows + taken, rows + out->row_count, rest * sizeof(*rows));
	*end = taken + rest;
	return taken;
}

void grid_output_window(struct out *out)
{
	struct window w = {.out = out};
	size_t taken, end;

	out_text_header(out);
	out_text_time(out);
	out_choose_latencies(out);
	w.rows = out_screen_rows(out, out->output->name);
	screen_make(&w.screen, out->setup.machine, &w.rows);
	/* Without memory there were no views at first. */
	if (!out->grids || out->grids->count != uncore_view_count(out->setup.machine)) {
		grids_free(out->grids);
		out->grids = grids_new(out->setup.machine);
	}
	for (size_t i = 0; i < w.screen.count;)
		i = put_view(&w, i);
	taken = take_rows(&w, &end);
	screen_free(&w.screen);
	out->row_count = taken;
	out_reasons(out, NULL);
	memmove(out->rows, out->rows + taken, (end - taken) * sizeof(*out->rows));
	out->row_count = end - taken;
	if (taken && out->row_count)
		buffer_puts(out->to, "\n");
	out_text_rows(out, &out->below);
}
