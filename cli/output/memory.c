/* SPDX-License-Identifier: MIT */
/* Text of `mem`: a line for each memory channel, socket and the machine with its bandwidths, their share of the peak,
 * and its latency; below them the metrics that have no column, as `text` prints them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "output/output.h"

enum { READ, WRITE, TOTAL, PEAK, LATENCY, METRICS };

static const char *const metrics[METRICS] = {
	[READ] = "memory.read.bandwidth",  [WRITE] = "memory.write.bandwidth",
	[TOTAL] = "memory.bandwidth",      [PEAK] = "memory.utilization",
	[LATENCY] = "memory.read.latency",
};
static const char clocks[] = "memory.read.latency.cycles"; /* in the column of the latency */

static const struct table_column columns[] = {
	{"PLACE", false}, {"READ", true},    {"WRITE", true},
	{"TOTAL", true},  {"OF PEAK", true}, {"LATENCY", TABLE_RIGHT | TABLE_BELOW},
	{NULL, false},
};

/* The rows of a window: those of the grid come first. */
struct grid {
	struct out *out;
	size_t count;
	bool ceiling, busy; /* the column OF PEAK has shares of a ceiling, or metrics */
};

static size_t column_of(const struct uncore_row *row)
{
	size_t i = 0;

	if (strcmp(row->query.name, clocks) == 0)
		return LATENCY;
	while (i < METRICS && (!row->query.family || strcmp(metrics[i], row->query.name) != 0))
		i++;
	return i;
}

/* A socket comes behind its channels, the machine behind all sockets. */
static int compare_places(const void *a, const void *b)
{
	const struct uncore_row *x = ((const struct out_row *)a)->row,
				*y = ((const struct out_row *)b)->row;
	const int keys[][2] = {{x->place.socket < 0, y->place.socket < 0},
			       {x->place.socket, y->place.socket},
			       {!x->place.pmu, !y->place.pmu},
			       {x->place.channel, y->place.channel}};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (keys[i][0] != keys[i][1])
			return keys[i][0] < keys[i][1] ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Seconds are better than clocks, but not where the metric is in doubt: which of them Zen 4 counts, documents
 * contradict. */
static bool is_better(const struct uncore_row *row, const struct uncore_row *than)
{
	bool seconds = strcmp(row->query.unit, "s") == 0;

	return seconds ? row->quality != UNCORE_SUSPECT : than->quality == UNCORE_SUSPECT;
}

/* The row of the grid in the same line and column, or behind the last. */
static size_t place_in_grid(const struct grid *g, const struct uncore_row *row)
{
	size_t k = 0;

	while (k < g->count && (!out_same_place(&g->out->rows[k].row->place, &row->place) ||
				column_of(g->out->rows[k].row) != column_of(row)))
		k++;
	return k;
}

/* A column has one family in each line: a second one that counts the same is left to the table below. Of the latency in
 * seconds and in clocks only one is printed. */
static void take_grid(struct grid *g)
{
	struct out_row *rows = g->out->rows;

	for (size_t i = 0; i < g->out->row_count; i++) {
		struct out_row row = rows[i];
		size_t k = place_in_grid(g, row.row);

		if (column_of(row.row) == METRICS)
			continue;
		if (k == g->count) {
			memmove(rows + k + 1, rows + k, (i - k) * sizeof(*rows));
			rows[g->count++] = row;
		} else if (strcmp(rows[k].row->query.unit, row.row->query.unit) != 0) {
			if (is_better(row.row, rows[k].row))
				rows[k] = row;
			memmove(rows + i, rows + i + 1, (--g->out->row_count - i) * sizeof(*rows));
			i--;
		}
	}
	qsort(rows, g->count, sizeof(*rows), compare_places);
}

static const struct uncore_row *find(const struct grid *g, const struct uncore_row *line,
				     size_t column)
{
	for (size_t i = 0; i < g->count; i++) {
		const struct uncore_row *row = g->out->rows[i].row;

		if (out_same_place(&row->place, &line->place) && column_of(row) == column)
			return row;
	}
	return NULL;
}

/* The share of the ceiling where it is known, else the time in which the memory's bus was busy. */
static void put_peak(struct grid *g, struct table *t, const struct uncore_row *line)
{
	const struct uncore_row *total = find(g, line, TOTAL), *busy = find(g, line, PEAK);
	double share = total ? total->value / total->ceiling : NAN;

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
	struct buffer place = {0};

	out_place(&place, &line->place);
	table_cell(t, "%s", strcmp(place.data, "all") == 0 ? "machine" : place.data);
	buffer_free(&place);
	for (size_t c = 0; c < METRICS; c++)
		if (c == PEAK)
			put_peak(g, t, line);
		else
			out_value(t, find(g, line, c));
	table_end_row(t, NULL);
}

static void put_legend(const struct grid *g)
{
	const struct uncore_memory *memory = uncore_memory_get(g->out->setup.machine);
	struct human peak;

	human_value(&peak, memory->peak, "B/s");
	if (g->ceiling)
		buffer_printf(g->out->to, "OF PEAK: of %s %s for each socket (from %s).\n",
			      peak.number, peak.unit, memory->from);
	if (g->busy)
		buffer_puts(g->out->to,
			    g->ceiling
				    ? "Channels: time in which the data bus was busy.\n"
				    : "OF PEAK: time in which the memory's data bus was busy.\n");
}

static void put_grid(struct grid *g)
{
	struct out *out = g->out;
	size_t all = out->row_count;

	if (!out->table.columns)
		table_init(&out->table, columns);
	for (size_t i = 0; i < g->count; i++)
		if (!i || !out_same_place(&out->rows[i].row->place, &out->rows[i - 1].row->place))
			put_line(g, &out->table, out->rows[i].row);
	table_print(&out->table, out->to);
	if (!out->begun)
		put_legend(g);
	out->row_count = g->count;
	out_reasons(out, NULL);
	out->row_count = all;
}

/* Without the grid's rows, of which there are several levels. */
static void keep_rest(struct out *out, size_t from)
{
	bool sockets = out->setup.level == UNCORE_LEVEL_SOCKET;
	size_t kept = 0;

	for (size_t i = from; i < out->row_count; i++) {
		const struct uncore_row_place *place = &out->rows[i].row->place;

		if (!place->pmu && (place->socket >= 0) == sockets)
			out->rows[kept++] = out->rows[i];
	}
	out->row_count = kept;
}

void memory_output_window(struct out *out)
{
	struct grid g = {.out = out};

	out_text_header(out);
	out_text_time(out);
	take_grid(&g);
	if (g.count)
		put_grid(&g);
	keep_rest(out, g.count);
	if (g.count && out->row_count)
		buffer_puts(out->to, "\n");
	out_text_rows(out, &out->below);
}
