/* SPDX-License-Identifier: MIT */
/* Prints views: a line for each place, a column for each metric, and below them the metrics that
 * have no column, as `text` prints them. */
#include "output/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"

/* ---- lines and columns ---- */

void view_columns(struct out *out, const char *first, const char *second, const char *last,
		  view_make *make)
{
	struct table_column *column = out->columns;

	if (out->table.columns)
		return;
	*column++ = (struct table_column){first, TABLE_ALONE};
	*column++ = (struct table_column){second, TABLE_BELOW};
	for (size_t i = 0; i < out->row_count && out->metric_count < TABLE_COLUMNS - 3; i++) {
		struct out_metric *m = &out->metrics[out->metric_count];

		make(m, out->rows[i].row);
		if (view_column(out, m->name) < out->metric_count)
			continue;
		for (char *c = m->title; *c; c++)
			*c = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
		out->metric_count++;
		*column++ = (struct table_column){
			m->title,
			TABLE_RIGHT | (strstr(m->name, ".bandwidth") ? TABLE_RATE
								     : TABLE_BELOW | TABLE_TIME)};
	}
	*column = (struct table_column){last, TABLE_RIGHT};
	out_table(out, &out->table, out->columns);
}

size_t view_column(const struct out *out, const char *name)
{
	size_t i = 0;

	while (i < out->metric_count && strcmp(out->metrics[i].name, name) != 0)
		i++;
	return i;
}

struct view_line *view_lines(const struct out *out, size_t *count, view_same *same,
			     size_t (*column)(const struct out *out, const struct uncore_row *row))
{
	struct view_line *lines = cli_realloc(NULL, out->row_count, sizeof(*lines));

	*count = 0;
	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_row *row = out->rows[i].row;
		size_t k = 0, at = column(out, row);

		while (k < *count && !same(lines[k].row, row))
			k++;
		if (k == *count)
			lines[(*count)++] = (struct view_line){.row = row};
		if (at < TABLE_COLUMNS && !lines[k].cells[at])
			lines[k].cells[at] = row;
	}
	return lines;
}

/* ---- views ---- */

/* The column of a row; TABLE_COLUMNS: the table has no column for it. */
static size_t column_of(const struct out *out, const struct uncore_row *row)
{
	const struct view *v = out->output->view;
	const char *name = v->part ? v->part(row->query->name) : row->query->name;
	size_t i = 0;

	if (v->make)
		return (i = view_column(out, name)) < out->metric_count ? i : TABLE_COLUMNS;
	for (; row->query->family && v->metrics[i]; i++)
		if (strcmp(v->metrics[i], name) == 0 ||
		    (!v->metrics[i + 1] && cli_same(v->clocks, name)))
			return i;
	return TABLE_COLUMNS;
}

/* A socket comes behind its channels or nodes, the machine behind all sockets. */
static int compare_places(const void *a, const void *b)
{
	const struct uncore_row *x = ((const struct out_row *)a)->row,
				*y = ((const struct out_row *)b)->row;
	int pmus = x->place->pmu && y->place->pmu
			   ? strcmp(uncore_pmu_name(x->place->pmu), uncore_pmu_name(y->place->pmu))
			   : 0;
	const int keys[][2] = {{x->place->socket < 0, y->place->socket < 0},
			       {x->place->socket, y->place->socket},
			       {!x->place->pmu && x->place->node < 0,
				!y->place->pmu && y->place->node < 0},
			       {x->place->node, y->place->node},
			       {x->place->channel, y->place->channel},
			       {pmus, 0},
			       {x->place->cpu, y->place->cpu}};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (keys[i][0] != keys[i][1])
			return keys[i][0] < keys[i][1] ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Moves the rows that have a cell to the front, and returns their number. A cell has one row: the
 * row of a second family that counts the same is left to the table below. */
static size_t take_rows(struct out *out)
{
	const struct view *v = out->output->view;
	struct out_row *rows = out->rows;
	size_t taken = 0;

	for (size_t i = 0, k; i < out->row_count; i++) {
		struct out_row row = rows[i];
		size_t column = column_of(out, row.row);

		for (k = 0; k < taken; k++)
			if (v->same(rows[k].row, row.row) && column_of(out, rows[k].row) == column)
				break;
		if (column == TABLE_COLUMNS || k < taken)
			continue;
		memmove(rows + taken + 1, rows + taken, (i - taken) * sizeof(*rows));
		rows[taken++] = row;
	}
	if (v->sorted)
		qsort(rows, taken, sizeof(*rows), compare_places);
	return taken;
}

/* Puts the share of the ceiling where it is known, and else the share of time in which the bus was
 * busy. */
static void put_peak(struct out *out, const struct view_line *line, bool *ceiling, bool *is_busy)
{
	size_t peak = out->output->view->peak;
	const struct uncore_row *busy = line->cells[peak];
	double share = NAN;

	for (size_t c = 0; c < peak; c++)
		if (line->cells[c])
			share = fmax(share, line->cells[c]->value / line->cells[c]->ceiling);
	*ceiling |= isfinite(share);
	*is_busy |= busy && !isfinite(share);
	if (isfinite(share) || !busy)
		out_share(&out->table, share);
	else
		out_value(&out->table, busy);
}

static bool is_shown(const struct view *v, const struct view_line *lines, size_t count, size_t at)
{
	const struct uncore_row_place *place = lines[at].row->place;

	for (size_t i = 0; v->hides_single && place->pmu && i < count; i++) {
		const struct uncore_row_place *other = lines[i].row->place;

		if (i != at && other->pmu && other->socket == place->socket)
			return true;
	}
	return !v->hides_single || !place->pmu;
}

static void put_lines(struct out *out, const struct view_line *lines, size_t count)
{
	const struct view *v = out->output->view;
	struct table *t = &out->table;
	bool ceiling = false, busy = false;

	for (size_t i = 0; i < count; i++) {
		if (!is_shown(v, lines, count, i))
			continue;
		v->head(t, lines[i].row);
		for (size_t c = 0; v->make ? c < out->metric_count : v->metrics[c] != NULL; c++) {
			const struct uncore_row *row = lines[i].cells[c];

			if (c && c == v->peak)
				put_peak(out, &lines[i], &ceiling, &busy);
			else if (row)
				(v->value ? v->value : out_value)(t, row);
			else
				table_cell(t, "%s", v->none ? v->none : "");
		}
		table_end_row(t, NULL);
	}
	table_print(t, out->to);
	if (v->legend)
		v->legend(out, ceiling, busy);
}

void view_output_window(struct out *out)
{
	const struct view *v = out->output->view;
	size_t all, taken, count, rest = 0;
	auto_free struct view_line *lines = NULL;

	out_text_header(out);
	out_text_time(out);
	out_choose_latencies(out);
	if (v->make)
		view_columns(out, v->columns[0].title, v->columns[1].title, NULL, v->make);
	else
		out_table(out, &out->table, v->columns);
	all = out->row_count;
	taken = out->row_count = take_rows(out);
	lines = view_lines(out, &count, v->same, column_of);
	put_lines(out, lines, count);
	/* Where the nodes of a socket are unknown, the reason is in a row without a line. */
	if (out->setup.level == UNCORE_LEVEL_NODE && taken)
		out->row_count = all;
	out_reasons(out, NULL);
	/* Rows of other metrics exist at several levels: the level of the socket is kept with
	 * --per-socket, and the level of the machine without it. */
	for (size_t i = taken; i < all; i++) {
		const struct uncore_row_place *place = out->rows[i].row->place;

		if (!place->pmu &&
		    (place->socket >= 0) == (out->setup.level == UNCORE_LEVEL_SOCKET))
			out->rows[rest++] = out->rows[i];
	}
	out->row_count = rest;
	if (taken && rest)
		buffer_puts(out->to, "\n");
	out_text_rows(out, &out->below);
}
