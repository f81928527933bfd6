/* SPDX-License-Identifier: MIT */
/* The views: tables of `mem`, `link`, `pcie --ddio` and of presets with --resctrl. A new one is an
 * entry here and a row of `outputs`. */
#include "output/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "output/output.h"

static bool same_place(const struct uncore_row *a, const struct uncore_row *b)
{
	return out_same_place(a->place, b->place);
}

/* ---- mem and link: channels or links, sockets and the machine ---- */

/* Whether filters leave out places of the machine. */
static bool is_selection(const struct uncore_row *row)
{
	const char *filter = row->query->filter;

	return filter && (strstr(filter, "socket=") || strstr(filter, "node="));
}

static void put_place(struct table *t, const struct uncore_row *row)
{
	const struct uncore_pmu *pmu = row->place->pmu;

	if (pmu && row->place->channel < 0 && uncore_pmu_cpu_count(pmu) > 1)
		table_cell(t, "socket %d, %s", row->place->socket, uncore_pmu_name(pmu));
	else if (out_is_everywhere(row->place))
		table_cell(t, is_selection(row) ? "sum" : "machine");
	else
		out_place_cell(t, row->place);
}

/* Whether a line has its metric, and no share of a ceiling, in the column `peak`. */
static bool has_busy(const struct out *out, const struct view_line *lines, size_t count)
{
	bool busy = false;

	for (size_t i = 0; i < count; i++)
		busy |= !lines[i].hidden && !isfinite(lines[i].share) &&
			lines[i].cells[out->output->view->peak];
	return busy;
}

enum memory_column { MEMORY_READ, MEMORY_WRITE, MEMORY_TOTAL, MEMORY_BUSY, MEMORY_LATENCY };

const char *const memory_sorts[] = {"place", "read", "write", "total", "share", "latency", NULL};

static double value_of(const struct view_line *line, enum memory_column column)
{
	return line->cells[column] ? line->cells[column]->value : NAN;
}

/* Channels and nodes come before sockets, and the sum comes last. */
static int compare_memory(const void *a, const void *b)
{
	const struct view_line *x = a, *y = b;
	const struct uncore_row_place *p = x->row->place, *q = y->row->place;
	int parts = (q->channel >= 0 || q->node >= 0) - (p->channel >= 0 || p->node >= 0);
	int sockets = (q->socket >= 0) - (p->socket >= 0);

	if (parts || sockets)
		return parts ? parts : sockets;
	if (x->key != y->key)
		return x->key > y->key ? -1 : 1;
	return x->row->number < y->row->number ? -1 : 1;
}

/* By a column, the largest first; lines without a value are last. */
static void order_memory(const struct out *out, struct view_line *lines, size_t count)
{
	const char *sort = out->setup.sort ? out->setup.sort : memory_sorts[0];
	/* The first key is not a column, and "share" is in that of the busy time. */
	size_t key = cli_word(memory_sorts, sort);

	if (!key)
		return;
	for (size_t i = 0; i < count; i++) {
		double value = value_of(&lines[i], (enum memory_column)(key - 1));

		if (key - 1 == MEMORY_BUSY && isfinite(lines[i].share))
			value = lines[i].share;
		lines[i].key = isfinite(value) ? value : -1;
	}
	qsort(lines, count, sizeof(*lines), compare_memory);
}

/* The traffic of a channel over the mean of its socket; NaN: it is not known of all of them. */
static double imbalance_of(const struct view_line *line, const struct view_line *lines,
			   size_t count)
{
	double sum = 0;
	size_t channels = 0;

	for (size_t i = 0; i < count; i++) {
		const struct uncore_row_place *place = lines[i].row->place;

		if (place->channel < 0 || place->socket != line->row->place->socket)
			continue;
		sum += value_of(&lines[i], MEMORY_TOTAL);
		channels++;
	}
	return channels > 1 && sum > 0 ? value_of(line, MEMORY_TOTAL) * (double)channels / sum
				       : NAN;
}

static void put_imbalance(struct out *out, const struct view_line *lines, size_t count)
{
	const struct view_line *most = NULL;
	double largest = 0;

	for (size_t i = 0; i < count; i++) {
		double imbalance = lines[i].row->place->channel < 0
					   ? NAN
					   : imbalance_of(&lines[i], lines, count);

		if (imbalance > largest) {
			largest = imbalance;
			most = &lines[i];
		}
	}
	if (!most)
		return;
	buffer_printf(out->to, "IMBALANCE: %.3f times the mean of its socket, at ", largest);
	out_place(out->to, most->row->place);
	buffer_puts(out->to, ".\n");
}

static void memory_legend(struct out *out, const struct view_line *lines, size_t count)
{
	bool ceiling = false;
	const struct uncore_memory *m = uncore_memory_get(out->setup.machine);
	auto_buffer text = {0};
	struct human peak;

	put_imbalance(out, lines, count);
	for (size_t i = 0; i < count; i++)
		ceiling |= isfinite(lines[i].share);
	if (ceiling) {
		buffer_printf(&text, "OF PEAK: of %s for each socket (from %s).",
			      human_value(&peak, m->peak, "B/s"), m->from);
		out_once(out, text.data);
	}
	if (has_busy(out, lines, count))
		out_once(out,
			 ceiling ? "Channels: share of the time in which the data bus was busy."
				 : "OF PEAK: share of the time in which the memory's data bus "
				   "was busy.");
}

/* A line for each memory channel (or NUMA node), socket and the machine. */
const struct view memory_view = {
	.head = put_place,
	.same = same_place,
	.sorted = true,
	.metrics = {"memory.read.bandwidth", "memory.write.bandwidth", "memory.bandwidth",
		    "memory.utilization", "memory.read.latency"},
	.columns = {{"PLACE", 0},
		    {"READ", TABLE_RIGHT | TABLE_RATE},
		    {"WRITE", TABLE_RIGHT | TABLE_RATE},
		    {"TOTAL", TABLE_RIGHT | TABLE_RATE},
		    {"OF PEAK", TABLE_RIGHT},
		    {"LATENCY", TABLE_RIGHT | TABLE_BELOW | TABLE_TIME}},
	.clocks = "memory.read.latency.cycles",
	.peak = MEMORY_BUSY,
	.order = order_memory,
	.legend = memory_legend,
};

/* The only PMU of a socket has the numbers of the socket, and no line. */
static void hide_single(const struct out *out, struct view_line *lines, size_t count)
{
	(void)out;
	for (size_t i = 0; i < count; i++) {
		const struct uncore_row_place *place = lines[i].row->place;
		size_t pmus = 0;

		for (size_t k = 0; k < count; k++)
			pmus += lines[k].row->place->pmu &&
				lines[k].row->place->socket == place->socket;
		lines[i].hidden = place->pmu && pmus == 1;
	}
}

static void links_legend(struct out *out, const struct view_line *lines, size_t count)
{
	if (has_busy(out, lines, count))
		out_once(out, "OF PEAK: share of what the links can send, headers and credits "
			      "included.");
}

/* A line for each link, socket and the machine. */
const struct view links_view = {
	.head = put_place,
	.same = same_place,
	.sorted = true,
	.metrics = {"link.out.bandwidth", "link.in.bandwidth", "link.out.utilization"},
	.columns = {{"PLACE", 0},
		    {"OUT", TABLE_RIGHT | TABLE_RATE},
		    {"IN", TABLE_RIGHT | TABLE_RATE},
		    {"OF PEAK", TABLE_RIGHT}},
	.peak = 2,
	.order = hide_single,
	.legend = links_legend,
};

/* ---- what devices find in the last-level cache ---- */

static const char *llc_part(const char *name)
{
	static const char llc[] = ".llc.";
	const char *part = strstr(name, llc);

	return part ? part + strlen(llc) : name;
}

static bool same_direction(const struct uncore_row *a, const struct uncore_row *b)
{
	const char *x = a->query->name, *y = b->query->name;

	return ports_same_line(a, b) && strncmp(x, y, (size_t)(llc_part(y) - y)) == 0;
}

static void put_direction(struct table *t, const struct uncore_row *row)
{
	out_place_cell(t, row->place);
	table_cell(t, strstr(row->query->name, ".read.") ? "read" : "write");
}

static void ddio_legend(struct out *out, const struct view_line *lines, size_t count)
{
	(void)lines;
	(void)count;
	out_once(out,
		 "LLC: hits, lines that the last-level cache holds (DDIO). MEMORY: misses, lines "
		 "that are read from memory or will be written there. Writes of parts of "
		 "lines count as 64 bytes each.");
}

/* Lines for reads and for writes: pcie.inbound.read.llc.hit.ratio is in the line "read". */
const struct view ddio_view = {
	.head = put_direction,
	.same = same_direction,
	.columns = {{"PLACE", 0},
		    {"DEVICES", 0},
		    {"ALL", TABLE_RIGHT | TABLE_RATE},
		    {"LLC", TABLE_RIGHT | TABLE_RATE},
		    {"MEMORY", TABLE_RIGHT | TABLE_RATE},
		    {"LLC", TABLE_RIGHT | TABLE_TIME},
		    {"MEMORY", TABLE_RIGHT | TABLE_TIME}},
	.metrics = {"bandwidth", "hit.bandwidth", "miss.bandwidth", "hit.ratio", "miss.ratio"},
	.part = llc_part,
	.none = "n/a",
	.legend = ddio_legend,
};

/* ---- presets with --resctrl ---- */

static bool same_group(const struct uncore_row *a, const struct uncore_row *b)
{
	return same_place(a, b) && cli_same(a->place->role, b->place->role);
}

/* "group.memory.local.bandwidth" is headed "LOCAL BANDWIDTH". */
static void make_column(struct out_metric *m, const struct uncore_row *row)
{
	const char *name = row->query->name, *dot = strchr(name, '.');

	dot = dot ? strchr(dot + 1, '.') : NULL;
	snprintf(m->name, sizeof(m->name), "%s", name);
	snprintf(m->title, sizeof(m->title), "%s", dot ? dot + 1 : name);
	for (char *c = m->title; (c = strchr(c, '.'));)
		*c = ' ';
}

static void put_group(struct table *t, const struct uncore_row *row)
{
	const struct uncore_row_place *place = row->place;
	const char *cache = place->pmu ? uncore_pmu_identifier(place->pmu) : NULL;

	table_cell(t, "%s", place->role ? place->role : "");
	if (cache)
		table_cell(t, "%s", cache);
	else
		out_place_cell(t, place);
}

/* Any quality but "measured" has the mark "!". */
static void put_traffic(struct table *t, const struct uncore_row *row)
{
	struct human h;

	table_cell(t, "%s%s", human_value(&h, row->value, row->query->unit),
		   row->quality == UNCORE_MEASURED ? "" : " !");
}

/* A line for each group on each cache. */
const struct view groups_view = {
	.head = put_group,
	.same = same_group,
	.columns = {{"GROUP", 0}, {"CACHE", 0}},
	.make = make_column,
	.value = put_traffic,
	.none = "n/a",
};
