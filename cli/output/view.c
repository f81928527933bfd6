/* SPDX-License-Identifier: MIT */
/* Prints views: a line for each place, a column for each metric, and below them the metrics that
 * have no column, as `text` prints them. */
#include "output/view.h"

#include <math.h>
#include <string.h>

#include "base/cli.h"
#include "output/output.h"

/* ---- columns ---- */

static size_t find_metric(const struct out *out, const char *name)
{
	size_t i = 0;

	while (i < out->metric_count && strcmp(out->metrics[i].name, name) != 0)
		i++;
	return i < out->metric_count ? i : TABLE_COLUMNS;
}

size_t view_column(const struct out *out, const struct uncore_row *row)
{
	const struct view *v = out->output->view;
	const char *name = row->query->name;
	struct out_metric m;

	if (v->make) {
		v->make(&m, row);
		return find_metric(out, m.name);
	}
	name = v->part ? v->part(name) : name;
	for (size_t i = 0; row->query->family && v->metrics[i]; i++)
		if (strcmp(v->metrics[i], name) == 0)
			return i;
	return TABLE_COLUMNS;
}

static void make_columns(struct out *out)
{
	const struct view *v = out->output->view;
	struct table_column *column = out->columns;

	*column++ =
		(struct table_column){v->title ? v->title(out) : v->columns[0].title, TABLE_ALONE};
	*column++ = (struct table_column){v->columns[1].title, TABLE_BELOW};
	for (size_t i = 0; i < out->row_count && out->metric_count < VIEW_COLUMNS; i++) {
		struct out_metric *m = &out->metrics[out->metric_count];

		v->make(m, out->rows[i].row);
		if (find_metric(out, m->name) < TABLE_COLUMNS)
			continue;
		for (char *c = m->title; *c; c++)
			*c = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
		out->metric_count++;
		*column++ = (struct table_column){
			m->title,
			TABLE_RIGHT | (strstr(m->name, ".bandwidth") ? TABLE_RATE
								     : TABLE_BELOW | TABLE_TIME)};
	}
	*column = (struct table_column){v->columns[2].title, TABLE_RIGHT};
}

/* ---- lines ---- */

/* The lines in the order of their first rows; to be freed. */
static struct view_line *make_lines(const struct out *out, size_t *count)
{
	struct view_line *lines = cli_realloc(NULL, out->row_count, sizeof(*lines));

	*count = 0;
	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_row *row = out->rows[i].row;
		bool bandwidth = strcmp(row->query->unit, "B/s") == 0;
		size_t at = view_column(out, row);
		struct view_line *l = lines;

		while (l < lines + *count && !out->output->view->same(l->row, row))
			l++;
		if (l == lines + *count)
			lines[(*count)++] = (struct view_line){.row = row, .share = NAN};
		if (at < TABLE_COLUMNS && !l->cells[at])
			l->cells[at] = row;
		if (isfinite(row->ceiling))
			l->share = fmax(l->share, row->value / row->ceiling);
		l->bandwidth |= bandwidth;
		l->busy |= bandwidth && (row->value != 0 || row->quality > UNCORE_SCALED);
		l->valued |= isfinite(row->value);
		l->positive |= row->value > 0;
	}
	return lines;
}

/* Moves the rows that have a cell to the front, and returns their number. A cell has one row: the
 * row of a second family that counts the same is left to the table below. Where the columns are
 * made, a cell has several, of which the first is printed. */
static size_t take_rows(struct out *out)
{
	const struct view *v = out->output->view;
	struct out_row *rows = out->rows;
	size_t taken = 0;

	for (size_t i = 0, k; i < out->row_count; i++) {
		struct out_row row = rows[i];
		size_t column = view_column(out, row.row);

		for (k = v->make ? taken : 0; k < taken; k++)
			if (v->same(rows[k].row, row.row) &&
			    view_column(out, rows[k].row) == column)
				break;
		if (column == TABLE_COLUMNS || k < taken)
			continue;
		memmove(rows + taken + 1, rows + taken, (i - taken) * sizeof(*rows));
		rows[taken++] = row;
	}
	return taken;
}

static void put_lines(struct out *out, const struct view_line *lines, size_t count)
{
	const struct view *v = out->output->view;
	struct table *t = &out->table;

	for (size_t i = 0; i < count; i++) {
		if (lines[i].hidden)
			continue;
		v->head(t, lines[i].row);
		for (size_t c = 0; v->make ? c < out->metric_count : v->metrics[c] != NULL; c++) {
			const struct uncore_row *row = lines[i].cells[c];

			if (row)
				(v->value ? v->value : out_value)(t, row);
			else
				table_cell(t, "n/a");
		}
		if (v->end)
			v->end(out, &lines[i]);
		else
			table_end_row(t, NULL);
	}
	if (v->sum && count > 1)
		v->sum(out);
	table_print(t, out->to);
	if (v->legend)
		v->legend(out, lines, count);
}

void view_output_window(struct out *out)
{
	const struct view *v = out->output->view;
	auto_free struct view_line *lines = NULL;
	size_t all, taken, count;

	out_text_header(out);
	out_text_time(out);
	if (!v->make)
		out_choose_latencies(out);
	else if (!out->table.columns)
		make_columns(out);
	out_table(out, &out->table, v->make ? out->columns : v->columns);
	all = out->row_count;
	taken = out->row_count = take_rows(out);
	lines = make_lines(out, &count);
	if (v->order)
		v->order(out, lines, count);
	put_lines(out, lines, count);
	out_reasons(out, NULL);
	out->row_count = all - taken;
	memmove(out->rows, out->rows + taken, out->row_count * sizeof(*out->rows));
	if (taken && out->row_count)
		buffer_puts(out->to, "\n");
	out_text_rows(out, &out->below);
}
