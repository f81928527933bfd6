/* SPDX-License-Identifier: MIT */
/* Text of `pcie`: a line for each root port with a column for each metric, and the devices below
 * it. Where a PMU cannot distinguish ports, a line is a PMU. It is a function and no struct view,
 * since the values decide on its lines: their order, idle ports in one sentence, the sum. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "output/devices.h"
#include "output/view.h"

#define PART ".complex"

/* The name from the number of a part on: "0.bandwidth" in "pcie.inbound.complex0.bandwidth"; NULL:
 * the metric is not of a part. */
static const char *part_of(const char *name)
{
	const char *part = strstr(name, PART);

	return part ? part + strlen(PART) : NULL;
}

bool out_same_port(const struct uncore_row_place *a, const struct uncore_row_place *b)
{
	return a->port ? a->port == b->port : !b->port && out_same_place(a, b);
}

/* Whether two PMUs belong to one root complex or stack, and have different metrics. Their names
 * then have the same numbers. */
static bool same_unit(const struct uncore_row *a, const struct uncore_row *b)
{
	const struct uncore_pmu *p = a->place->pmu, *q = b->place->pmu;
	const char *x, *y;

	if (a->place->port || b->place->port || !p || !q || a->place->socket != b->place->socket ||
	    strcmp(a->query->name, b->query->name) == 0 || !uncore_pmu_instance(p) ||
	    !cli_same(uncore_pmu_instance(p), uncore_pmu_instance(q)))
		return false;
	x = uncore_pmu_name(p);
	y = uncore_pmu_name(q);
	while (*x && *y) {
		size_t n;

		x += strcspn(x, "0123456789");
		y += strcspn(y, "0123456789");
		n = strspn(x, "0123456789");
		if (strncmp(x, y, n) != 0 || strspn(y, "0123456789") != n)
			return false;
		x += n;
		y += n;
	}
	return !*x && !*y;
}

bool ports_same_line(const struct uncore_row *a, const struct uncore_row *b)
{
	const char *x = part_of(a->query->name), *y = part_of(b->query->name);

	return (out_same_port(a->place, b->place) || same_unit(a, b)) && !x == !y &&
	       (!x || strncmp(x, y, strcspn(x, ".") + 1) == 0);
}

/* The metric's name without its part. */
static void put_name(char name[OUT_METRIC_ROOM], const struct uncore_row *row)
{
	const char *part = part_of(row->query->name);
	int before =
		(int)(part ? (size_t)(part - row->query->name) - strlen(PART) : OUT_METRIC_ROOM);

	snprintf(name, OUT_METRIC_ROOM, "%.*s%s", before, row->query->name,
		 part ? part + strcspn(part, ".") : "");
}

/* "pcie.inbound.read.bandwidth" is headed "IN READ", "pcie.inbound.read.latency" "LATENCY",
 * "pcie.in.bandwidth" "IN", and "pcie.dma.utilization" "DMA UTILIZATION". */
static void make_column(struct out_metric *m, const struct uncore_row *row)
{
	const char *words[3] = {"", "", ""};
	char copy[OUT_METRIC_ROOM], *rest = copy;
	size_t count = 0;

	put_name(m->name, row);
	memcpy(copy, m->name, sizeof(copy));
	strsep(&rest, ".");
	while (rest && count < 3)
		words[count++] = strsep(&rest, ".");
	if (count == 3 && strcmp(words[2], "bandwidth") != 0)
		snprintf(m->title, sizeof(m->title), "%s", words[2]);
	else if (count == 2 && strcmp(words[1], "bandwidth") != 0)
		snprintf(m->title, sizeof(m->title), "%s %s", words[0], words[1]);
	else
		snprintf(m->title, sizeof(m->title), "%.*s%s%s", (int)strcspn(words[0], "b"),
			 words[0], count == 3 ? " " : "", count == 3 ? words[1] : "");
}

static size_t column_of(const struct out *out, const struct uncore_row *row)
{
	char name[OUT_METRIC_ROOM];

	put_name(name, row);
	return view_column(out, name);
}

static void put_value(struct table *t, const struct uncore_row *row)
{
	if (row)
		out_value(t, row);
	else
		table_cell(t, "n/a");
}

/* A PMU that counts on several sockets is named with the socket, and not with the CPU that reads
 * it. */
static void put_place(struct table *t, const struct uncore_row *row)
{
	const struct uncore_pmu *pmu = row->place->pmu;
	const char *part = part_of(row->query->name);
	auto_buffer place = {0};
	char link[LINK_ROOM];

	if (row->place->port) {
		link_text(link, sizeof(link), row->place->port);
		table_cell(t, "%s", row->place->port->address);
		table_cell(t, "%s", link);
		return;
	}
	if (pmu && row->place->socket >= 0 && uncore_pmu_cpu_count(pmu) > 1)
		buffer_printf(&place, "socket %d, %s", row->place->socket, uncore_pmu_name(pmu));
	else
		out_place(&place, row->place);
	if (part)
		buffer_printf(&place, ", complex %.*s", (int)strcspn(part, "."), part);
	table_cell(t, "%s", place.data);
	table_cell(t, "%s", "");
}

/* Puts the devices below all ports that the PMU counts together. */
static void put_known(struct buffer *to, const struct uncore *u, const struct uncore_pmu *pmu)
{
	for (size_t i = 0; i < uncore_device_count(u); i++) {
		const struct uncore_device *d = uncore_device_at(u, i);
		auto_buffer below = {0};
		bool counts = false;

		for (size_t k = 0; d->is_port && !counts && k < uncore_device_pmu_count(d); k++)
			counts = uncore_device_pmu_at(d, k) == pmu;
		if (counts)
			devices_below(&below, u, d);
		if (below.len)
			buffer_printf(to, "%s%s", to->len ? "; " : "", below.data);
	}
}

/* ---- the lines, and their order ---- */

/* A line, with sums over its rows. */
struct line {
	const struct view_line *of;
	double share;          /* the largest bandwidth, as a share of the link in one direction */
	double key;            /* lines are in descending order of it */
	bool bandwidth;        /* it has a row of a bandwidth */
	bool busy;             /* a bandwidth is above 0, or its value is in doubt */
	bool idle;             /* not in the table, but in one sentence with others */
	bool valued, positive; /* a row has a value, or one above 0 */
};

const char *const ports_sorts[] = {"traffic", "in", "out", "share", "latency", "place", NULL};

/* What a row adds to the key of its line. */
static double key_of(const char *sort, const struct uncore_row *row)
{
	const char *unit = strcmp(sort, "latency") == 0 ? "s" : "B/s";
	const char *name = row->query->name + strcspn(row->query->name, ".") + 1;
	bool directed = strcmp(sort, "in") == 0 || strcmp(sort, "out") == 0;

	if (strcmp(sort, "place") == 0 || !isfinite(row->value) ||
	    strcmp(row->query->unit, unit) != 0 ||
	    (directed && strncmp(name, sort, strlen(sort)) != 0))
		return 0;
	return row->value;
}

static int compare_lines(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->key != y->key)
		return x->key > y->key ? -1 : 1;
	return x->of < y->of ? -1 : x->of > y->of;
}

static struct line *line_of(struct line *lines, const struct uncore_row *row)
{
	while (!ports_same_line(lines->of->row, row))
		lines++;
	return lines;
}

/* Makes the lines, in their order. */
static struct line *make_lines(const struct out *out, const struct view_line *of, size_t count)
{
	const char *sort = out->setup.sort ? out->setup.sort : ports_sorts[0];
	struct line *lines = cli_realloc(NULL, count, sizeof(*lines));

	for (size_t i = 0; i < count; i++)
		lines[i] = (struct line){.of = &of[i], .share = NAN};
	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_row *row = out->rows[i].row;
		struct line *l = line_of(lines, row);
		bool bandwidth = strcmp(row->query->unit, "B/s") == 0;

		if (isfinite(row->ceiling))
			l->share = fmax(l->share, row->value / row->ceiling);
		l->bandwidth |= bandwidth;
		l->busy |= bandwidth && (row->value != 0 || row->quality > UNCORE_SCALED);
		l->valued |= isfinite(row->value);
		l->positive |= row->value > 0;
		l->key += key_of(sort, row);
	}
	for (size_t i = 0; i < count; i++) {
		struct line *l = &lines[i];

		l->idle = count > 1 && l->bandwidth && !l->busy && l->of->row->place->port;
		l->key = strcmp(sort, "share") == 0 ? fmax(l->share, 0) : l->key;
	}
	qsort(lines, count, sizeof(*lines), compare_lines);
	return lines;
}

static void put_line(struct out *out, const struct line *line)
{
	const struct uncore_row *row = line->of->row;
	struct table *t = &out->table;
	auto_buffer below = {0};

	put_place(t, row);
	for (size_t i = 0; i < out->metric_count; i++)
		put_value(t, line->of->cells[i]);
	if (isfinite(line->share) || !row->place->port)
		out_share(t, line->share);
	else
		table_cell(t, "?");
	if (row->place->port)
		devices_below(&below, out->setup.machine, row->place->port);
	else if (row->place->pmu)
		put_known(&below, out->setup.machine, row->place->pmu);
	table_end_row(t, buffer_text(&below));
}

/* Puts one sentence for all idle ports, with the names of the devices below them. */
static void put_idle(const struct out *out, const struct line *lines, size_t count)
{
	auto_buffer text = {0};
	size_t idle = 0;

	for (size_t i = 0; i < count; i++)
		idle += lines[i].idle;
	if (!idle)
		return;
	buffer_printf(&text, "%zu idle port%s:", idle, idle == 1 ? "" : "s");
	for (size_t i = 0; i < count; i++) {
		const struct uncore_device *port = lines[i].of->row->place->port;

		if (!lines[i].idle)
			continue;
		buffer_printf(&text, " %s", port->address);
		for (size_t k = 0; k < uncore_device_count(out->setup.machine); k++) {
			const struct uncore_device *d = uncore_device_at(out->setup.machine, k);

			if (d->port == port && d->names)
				buffer_printf(&text, " %s", d->names);
		}
		buffer_puts(&text, --idle ? "," : "");
	}
	buffer_wrap(out->to, 0, text_columns(), text.data);
}

/* Puts the sums of bandwidths. Other metrics have no sum. */
static void put_sum(struct out *out)
{
	struct table *t = &out->table;

	table_cell(t, "sum");
	table_cell(t, "%s", "");
	for (size_t i = 0; i < out->metric_count; i++) {
		const struct uncore_row_query query = {.unit = "B/s"};
		struct uncore_row sum = {.query = &query, .quality = UNCORE_MEASURED};
		bool adds = true, any = false;

		for (size_t k = 0; k < out->row_count; k++) {
			const struct uncore_row *row = out->rows[k].row;
			enum uncore_quality quality = row->quality;

			if (column_of(out, row) != i)
				continue;
			/* The sum then lacks this part. */
			if (quality == UNCORE_UNAVAILABLE)
				quality = UNCORE_PARTIAL;
			adds = adds && strcmp(row->query->unit, "B/s") == 0;
			sum.value += isfinite(row->value) ? row->value : 0;
			any = any || isfinite(row->value);
			if (quality > sum.quality)
				sum.quality = quality;
		}
		if (!any)
			sum.value = NAN;
		if (adds)
			put_value(t, &sum);
		else
			table_cell(t, "%s", "");
	}
	table_end_row(t, NULL);
}

static const char *title_of_places(const struct out *out)
{
	const char *title = "PLACE";

	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_pmu *pmu = out->rows[i].row->place->pmu;

		if (out->rows[i].row->place->port)
			return "PORT";
		if (pmu)
			title = cli_same(uncore_pmu_place(pmu), "port") ? "PORT" : "PMU";
	}
	return title;
}

static void put_legend(struct out *out, bool summed)
{
	bool ports = false, directed = false, one_way = false;
	char text[200];

	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_row_place *place = out->rows[i].row->place;

		if (place->pmu && !place->port && !cli_same(uncore_pmu_place(place->pmu), "port")) {
			snprintf(text, sizeof(text),
				 "A line named after a PMU: one %s; its traffic cannot be split "
				 "by root port.",
				 uncore_pmu_instance(place->pmu));
			out_once(out, text);
		}
		summed = summed && !out->rows[i].row->query->filter;
		ports = ports || place->port;
		directed = directed || strstr(out->rows[i].row->query->name, "bound.");
		one_way = one_way || strstr(out->rows[i].row->query->name, ".in.");
	}
	if (directed)
		out_once(out, "IN: devices reach memory (DMA). OUT: CPUs reach devices (MMIO).");
	else if (one_way)
		out_once(out, "IN, OUT: by direction, from any source.");
	if (ports)
		out_once(out, "OF LINK: the largest bandwidth as a share of the link's capacity in "
			      "one direction.");
	if (ports && summed)
		out_once(out, "The sum is of these lines; 'uncore pcie --per-socket' counts "
			      "all devices.");
}

/* Removes latencies without a value of ports where nothing was read: "-" is enough, without a
 * reason. True when a printed line had one. */
static bool remove_idle(struct out *out, struct line *lines)
{
	size_t kept = 0;
	bool printed = false;

	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_row *row = out->rows[i].row;
		const struct line *l = line_of(lines, row);

		if (row->quality != UNCORE_UNAVAILABLE || strcmp(row->query->unit, "s") != 0 ||
		    !l->valued || l->positive)
			out->rows[kept++] = out->rows[i];
		else
			printed |= !l->idle;
	}
	out->row_count = kept;
	return printed;
}

void ports_output_window(struct out *out)
{
	auto_free struct view_line *of = NULL;
	auto_free struct line *lines = NULL;
	size_t count;

	out_text_header(out);
	out_text_time(out);
	view_columns(out, title_of_places(out), "LINK", "OF LINK", make_column);
	of = view_lines(out, &count, ports_same_line, column_of);
	lines = make_lines(out, of, count);
	for (size_t i = 0; i < count; i++)
		if (!lines[i].idle)
			put_line(out, &lines[i]);
	if (count > 1)
		put_sum(out);
	table_print(&out->table, out->to);
	put_idle(out, lines, count);
	put_legend(out, count > 1);
	if (remove_idle(out, lines))
		out_once(out, "LATENCY: - where nothing was read.");
	out_reasons(out, NULL);
}
