/* SPDX-License-Identifier: MIT */
/* Text of `mem` and `link`: a line for each memory channel (or NUMA node) or link, socket and the
 * machine, with bandwidths, their share of the peak, and the latency; below them the metrics that
 * have no column, as `text` prints them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output/output.h"

#define METRICS 5 /* of one table, at most */

/* A table. Behind the place it has a column for each metric. */
struct grid_kind {
	const char *metrics[METRICS + 1];
	const char *clocks; /* a metric in the column of the latency, too; NULL: none */
	size_t peak;        /* the column with the share of the ceiling, else with its metric */
	struct table_column columns[METRICS + 2];
};

static const struct grid_kind memory = {
	.metrics = {"memory.read.bandwidth", "memory.write.bandwidth", "memory.bandwidth",
		    "memory.utilization", "memory.read.latency"},
	.clocks = "memory.read.latency.cycles",
	.peak = 3,
	.columns = {{"PLACE", false},
		    {"READ", TABLE_RIGHT | TABLE_RATE},
		    {"WRITE", TABLE_RIGHT | TABLE_RATE},
		    {"TOTAL", TABLE_RIGHT | TABLE_RATE},
		    {"OF PEAK", true},
		    {"LATENCY", TABLE_RIGHT | TABLE_BELOW | TABLE_TIME}},
};

static const struct grid_kind links = {
	.metrics = {"link.out.bandwidth", "link.in.bandwidth", "link.out.utilization"},
	.peak = 2,
	.columns = {{"PLACE", false},
		    {"OUT", TABLE_RIGHT | TABLE_RATE},
		    {"IN", TABLE_RIGHT | TABLE_RATE},
		    {"OF PEAK", true}},
};

/* The rows of a window: those of the grid come first. */
struct grid {
	const struct grid_kind *kind;
	struct out *out;
	size_t count;
	bool ceiling, busy; /* the column OF PEAK has shares of a ceiling, or metrics */
};

/* METRICS: none. */
static size_t column_of(const struct grid *g, const struct uncore_row *row)
{
	const char *clocks = g->kind->clocks;

	for (size_t i = 0; row->query->family && g->kind->metrics[i]; i++)
		if (strcmp(g->kind->metrics[i], row->query->name) == 0 ||
		    (!g->kind->metrics[i + 1] && clocks && strcmp(clocks, row->query->name) == 0))
			return i;
	return METRICS;
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

		if (column == METRICS || find(g, row.row, column))
			continue;
		memmove(rows + k + 1, rows + k, (i - k) * sizeof(*rows));
		rows[g->count++] = row;
	}
	qsort(rows, g->count, sizeof(*rows), compare_places);
}

/* The share of the ceiling where it is known, else the time in which the bus was busy. */
static void put_peak(struct grid *g, struct table *t, const struct uncore_row *line)
{
	const struct uncore_row *busy = find(g, line, g->kind->peak);
	double share = NAN;

	for (size_t c = 0; c < g->kind->peak; c++) {
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
	for (size_t c = 0; g->kind->metrics[c]; c++)
		if (c == g->kind->peak)
			put_peak(g, t, line);
		else
			out_value(t, find(g, line, c));
	table_end_row(t, NULL);
}

static void put_legend(const struct grid *g)
{
	const struct uncore_memory *m = uncore_memory_get(g->out->setup.machine);
	struct buffer text = {0};
	struct human peak;

	if (g->kind == &links) {
		if (g->busy)
			out_once(g->out, "OF PEAK: share of what the links can send, headers and "
					 "credits included.");
		return;
	}
	human_value(&peak, m->peak, "B/s");
	if (g->ceiling) {
		buffer_printf(&text, "OF PEAK: of %s for each socket (from %s).", peak.text,
			      m->from);
		out_once(g->out, text.data);
	}
	if (g->busy)
		out_once(g->out,
			 g->ceiling ? "Channels: share of the time in which the data bus was busy."
				    : "OF PEAK: share of the time in which the memory's data bus "
				      "was busy.");
	buffer_free(&text);
}

/* The only link of a socket has the numbers of the socket. */
static bool is_shown(const struct grid *g, size_t i)
{
	const struct uncore_row_place *place = g->out->rows[i].row->place;

	if (i && out_same_place(place, g->out->rows[i - 1].row->place))
		return false;
	if (g->kind != &links)
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

	out_table(out, &out->table, g->kind->columns);
	for (size_t i = 0; i < g->count; i++)
		if (is_shown(g, i))
			put_line(g, &out->table, out->rows[i].row);
	table_print(&out->table, out->to);
	put_legend(g);
	/* A socket whose nodes are not known has its sum in the line, and no line for them. */
	out->row_count = out->setup.level == UNCORE_LEVEL_NODE ? all : g->count;
	out_reasons(out, NULL);
	out->row_count = all;
}

static void output_window(struct out *out, const struct grid_kind *kind)
{
	struct grid g = {.kind = kind, .out = out};
	size_t rest = 0;

	out_text_header(out);
	out_text_time(out);
	out_choose_latencies(out);
	take_grid(&g);
	if (g.count)
		put_grid(&g);
	/* The other rows have several levels: one is printed. */
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

void memory_output_window(struct out *out)
{
	output_window(out, &memory);
}

void links_output_window(struct out *out)
{
	output_window(out, &links);
}
