/* SPDX-License-Identifier: MIT */
/* Prints views: a line for each place, a column for each metric, and below them the metrics that
 * have no column, as `text` prints them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output/output.h"
#include "output/view.h"

/* The rows of a window: those of the table come first. */
struct grid {
	const struct view *view;
	struct out *out;
	size_t count;
	bool ceiling, busy; /* the column OF PEAK has shares of a ceiling, or metrics */
};

/* VIEW_METRICS: none. */
static size_t column_of(const struct grid *g, const struct uncore_row *row)
{
	const char *clocks = g->view->clocks;

	for (size_t i = 0; row->query->family && g->view->metrics[i]; i++)
		if (strcmp(g->view->metrics[i], row->query->name) == 0 ||
		    (!g->view->metrics[i + 1] && clocks && strcmp(clocks, row->query->name) == 0))
			return i;
	return VIEW_METRICS;
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

static const struct uncore_row *find(const struct grid *g, const struct uncore_row *line,
				     size_t column)
{
	for (size_t i = 0; i < g->count; i++) {
		const struct uncore_row *row = g->out->rows[i].row;

		if (out_same_place(row->place, line->place) && column_of(g, row) == column)
			return row;
	}
	return NULL;
}

/* A column has one family in each line: a second one that counts the same is left to the table
 * below. */
static void take_grid(struct grid *g)
{
	struct out_row *rows = g->out->rows;

	for (size_t i = 0; i < g->out->row_count; i++) {
		struct out_row row = rows[i];
		size_t k = g->count, column = column_of(g, row.row);

		if (column == VIEW_METRICS || find(g, row.row, column))
			continue;
		memmove(rows + k + 1, rows + k, (i - k) * sizeof(*rows));
		rows[g->count++] = row;
	}
	qsort(rows, g->count, sizeof(*rows), compare_places);
}

/* The share of the ceiling where it is known, else the time in which the bus was busy. */
static void put_peak(struct grid *g, struct table *t, const struct uncore_row *line)
{
	const struct uncore_row *busy = find(g, line, g->view->peak);
	double share = NAN;

	for (size_t c = 0; c < g->view->peak; c++) {
		const struct uncore_row *row = find(g, line, c);

		share = row ? fmax(share, row->value / row->ceiling) : share;
	}
	if (isfinite(share) || !busy) {
		out_share(t, share);
		g->ceiling = g->ceiling || isfinite(share);
	} else {
		out_value(t, busy);
		g->busy = true;
	}
}

static void put_line(struct grid *g, struct table *t, const struct uncore_row *line)
{
	const struct uncore_pmu *pmu = line->place->pmu;
	struct buffer place = {0};

	if (pmu && line->place->channel < 0 && uncore_pmu_cpu_count(pmu) > 1)
		buffer_printf(&place, "socket %d, %s", line->place->socket, uncore_pmu_name(pmu));
	else
		out_place(&place, line->place);
	table_cell(t, "%s", out_is_everywhere(line->place) ? "machine" : place.data);
	buffer_free(&place);
	for (size_t c = 0; g->view->metrics[c]; c++)
		if (c && c == g->view->peak)
			put_peak(g, t, line);
		else
			out_value(t, find(g, line, c));
	table_end_row(t, NULL);
}

/* Whether row `i` begins a line. */
static bool is_shown(const struct grid *g, size_t i)
{
	const struct uncore_row_place *place = g->out->rows[i].row->place;

	if (i && out_same_place(place, g->out->rows[i - 1].row->place))
		return false;
	if (!g->view->hides_single)
		return true;
	for (size_t k = 0; k < g->count && place->pmu; k++) {
		const struct uncore_row_place *other = g->out->rows[k].row->place;

		if (other->pmu && other->socket == place->socket && !out_same_place(other, place))
			return true;
	}
	return !place->pmu;
}

static void put_grid(struct grid *g)
{
	struct out *out = g->out;
	size_t all = out->row_count;

	out_table(out, &out->table, g->view->columns);
	for (size_t i = 0; i < g->count; i++)
		if (is_shown(g, i))
			put_line(g, &out->table, out->rows[i].row);
	table_print(&out->table, out->to);
	if (g->view->legend)
		g->view->legend(out, g->ceiling, g->busy);
	/* A socket whose nodes are not known has its sum in the line, and no line for them. */
	out->row_count = out->setup.level == UNCORE_LEVEL_NODE ? all : g->count;
	out_reasons(out, NULL);
	out->row_count = all;
}

void view_output_window(struct out *out)
{
	struct grid g = {.view = out->output->view, .out = out};
	size_t rest = 0;

	out_text_header(out);
	out_text_time(out);
	out_choose_latencies(out);
	take_grid(&g);
	if (g.count)
		put_grid(&g);
	/* Other rows exist at several levels: those with a socket are kept at level socket, else
	 * those without one. */
	for (size_t i = g.count; i < out->row_count; i++) {
		const struct uncore_row_place *place = out->rows[i].row->place;

		if (!place->pmu &&
		    (place->socket >= 0) == (out->setup.level == UNCORE_LEVEL_SOCKET))
			out->rows[rest++] = out->rows[i];
	}
	out->row_count = rest;
	if (g.count && rest)
		buffer_puts(out->to, "\n");
	out_text_rows(out, &out->below);
}
