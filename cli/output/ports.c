/* SPDX-License-Identifier: MIT */
/* Text of `pcie`: a line for each root port (or PMU, where the PMU cannot distinguish ports) with a column for
 * each metric, and below it what hangs there; and of `pcie --ddio`. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "output/output.h"
#include "views/devices.h"

#define COLUMNS (TABLE_COLUMNS - 3) /* beside the port, its link and the share of that */

/* The columns: metrics in the order of the rows. */
struct columns {
	const char *names[COLUMNS];
	char titles[COLUMNS][40];
	size_t count;
};

/* Ports with their metrics come first; families of one machine meet in a port. */
static bool same_line(const struct uncore_row_place *a, const struct uncore_row_place *b)
{
	return a->port ? a->port == b->port : !b->port && out_same_place(a, b);
}

/* "pcie.inbound.read.bandwidth" is headed "IN READ", "pcie.inbound.read.latency" "LATENCY", 
 * "pcie.in.bandwidth" "IN", and "pcie.dma.utilization" "DMA UTILIZATION". */
static void make_title(char *title, size_t size, const char *name)
{
	const char *words[3] = {"", "", ""};
	char copy[64];
	char *rest = copy;
	size_t count = 0;

	snprintf(copy, sizeof(copy), "%s", name);
	strsep(&rest, ".");
	while (rest && count < 3)
		words[count++] = strsep(&rest, ".");
	if (count == 3 && strcmp(words[2], "bandwidth") != 0)
		snprintf(title, size, "%s", words[2]);
	else if (count == 2 && strcmp(words[1], "bandwidth") != 0)
		snprintf(title, size, "%s %s", words[0], words[1]);
	else
		snprintf(title, size, "%.*s%s%s", (int)strcspn(words[0], "b"), words[0],
			 count == 3 ? " " : "", count == 3 ? words[1] : "");
	for (char *c = title; *c; c++)
		*c = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
}

static void add_column(struct columns *c, const char *name)
{
	for (size_t i = 0; i < c->count; i++)
		if (strcmp(c->names[i], name) == 0)
			return;
	if (c->count == COLUMNS)
		return;
	make_title(c->titles[c->count], sizeof(c->titles[0]), name);
	c->names[c->count++] = name;
}

static const struct uncore_row *find(const struct out *out, const struct uncore_row *line,
				     const char *name)
{
	for (size_t i = 0; i < out->row_count; i++)
		if (same_line(&line->place, &out->rows[i].row->place) &&
		    strcmp(out->rows[i].row->query.name, name) == 0)
			return out->rows[i].row;
	return NULL;
}

static void put_value(struct table *t, const struct uncore_row *row)
{
	if (row)
		out_value(t, row);
	else
		table_cell(t, "n/a");
}

static void put_place(struct table *t, const struct uncore_row *row)
{
	struct buffer place = {0};
	char link[LINK_ROOM];

	if (row->place.port) {
		link_text(link, sizeof(link), row->place.port);
		table_cell(t, "%s", row->place.port->address);
		table_cell(t, "%s", link);
		return;
	}
	out_place(&place, &row->place);
	table_cell(t, "%s", place.data);
	table_cell(t, "%s", "");
	buffer_free(&place);
}

/* The largest part of what the link can carry in one direction. */
static void put_share(struct table *t, const struct out *out, const struct uncore_row *line)
{
	double most = NAN;

	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_row *row = out->rows[i].row;

		if (same_line(&line->place, &row->place) && isfinite(row->ceiling))
			most = fmax(most, row->value / row->ceiling);
	}
	if (isfinite(most))
		table_cell(t, "%.3g %%", most * 100);
	else
		table_cell(t, "%s", line->place.port ? "?" : "");
}

/* Where a PMU counts several ports together: the devices below them. */
static void put_known(struct buffer *to, const struct uncore *u, const struct uncore_pmu *pmu)
{
	for (size_t i = 0; i < uncore_device_count(u); i++) {
		const struct uncore_device *d = uncore_device_at(u, i);
		struct buffer below = {0};
		bool counts = false;

		for (size_t k = 0; d->is_port && !counts && k < uncore_device_pmu_count(d); k++)
			counts = uncore_device_pmu_at(d, k) == pmu;
		if (counts)
			devices_below(&below, u, d);
		if (below.len)
			buffer_printf(to, "%s%s", to->len ? "; " : "", below.data);
		buffer_free(&below);
	}
}

static void put_line(struct out *out, const struct columns *c, struct table *t,
		     const struct uncore_row *row)
{
	struct buffer below = {0};

	put_place(t, row);
	for (size_t i = 0; i < c->count; i++)
		put_value(t, find(out, row, c->names[i]));
	put_share(t, out, row);
	if (row->place.port)
		devices_below(&below, out->setup.machine, row->place.port);
	else if (row->place.pmu)
		put_known(&below, out->setup.machine, row->place.pmu);
	table_end_row(t, buffer_text(&below));
	buffer_free(&below);
}

/* Each line once, where its first row stands. Returns how many there are. */
static size_t put_lines(struct out *out, const struct columns *c, struct table *t)
{
	size_t count = 0;

	for (size_t i = 0; i < out->row_count; i++) {
		size_t first = 0;

		while (!same_line(&out->rows[first].row->place, &out->rows[i].row->place))
			first++;
		if (first != i)
			continue;
		put_line(out, c, t, out->rows[i].row);
		count++;
	}
	return count;
}

/* Bandwidths can be added up. */
static void put_sum(struct out *out, const struct columns *c, struct table *t)
{
	table_cell(t, "sum");
	table_cell(t, "%s", "");
	for (size_t i = 0; i < c->count; i++) {
		struct uncore_row sum = {.query.unit = "B/s", .quality = UNCORE_MEASURED};
		bool adds = true, any = false;

		for (size_t k = 0; k < out->row_count; k++) {
			const struct uncore_row *row = out->rows[k].row;
			enum uncore_quality quality = row->quality;

			if (strcmp(row->query.name, c->names[i]) != 0)
				continue;
			/* The sum then misses a part. */
			if (quality == UNCORE_UNAVAILABLE)
				quality = UNCORE_PARTIAL;
			adds = adds && strcmp(row->query.unit, "B/s") == 0;
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

static void put_legend(const struct out *out)
{
	bool ports = false, directed = false, one_way = false;

	for (size_t i = 0; i < out->row_count; i++) {
		ports = ports || out->rows[i].row->place.port;
		directed = directed || strstr(out->rows[i].row->query.name, "bound.");
		one_way = one_way || strstr(out->rows[i].row->query.name, ".in.");
	}
	if (directed)
		buffer_puts(out->to,
			    "IN: devices reach memory (DMA). OUT: CPUs reach devices (MMIO).\n");
	else if (one_way)
		buffer_puts(out->to, "IN, OUT: by direction, from any source.\n");
	if (ports)
		buffer_puts(out->to,
			    "OF LINK: the largest of them as a share of the link's capacity in "
			    "one direction. Traffic that does not\n"
			    "pass a root port shown here is not in the "
			    "sum.\n");
}

/* An idle port has no latency: "-" is enough, without the reason. */
static bool is_idle(const struct out *out, const struct uncore_row *row)
{
	bool known = false;

	if (row->quality != UNCORE_UNAVAILABLE || strcmp(row->query.unit, "s") != 0)
		return false;
	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_row *other = out->rows[i].row;

		if (!same_line(&other->place, &row->place) || !isfinite(other->value))
			continue;
		known = true;
		if (other->value > 0)
			return false;
	}
	return known;
}

/* True when there were such rows. */
static bool forget_idle(struct out *out)
{
	size_t all = out->row_count;
	size_t kept = 0;

	/* Rows with values stay, and only those decide which rows are idle. */
	for (size_t i = 0; i < out->row_count; i++)
		if (!is_idle(out, out->rows[i].row))
			out->rows[kept++] = out->rows[i];
	out->row_count = kept;
	return kept < all;
}

void ports_output_window(struct out *out)
{
	struct table_column columns[TABLE_COLUMNS + 1] = {{"PORT", false}, {"LINK", false}};
	struct columns c = {.count = 0};
	struct table t;
	size_t lines;

	out_text_header(out);
	out_text_time(out);
	for (size_t i = 0; i < out->row_count; i++)
		add_column(&c, out->rows[i].row->query.name);
	for (size_t i = 0; i < c.count; i++)
		columns[i + 2] = (struct table_column){c.titles[i], true};
	columns[c.count + 2] = (struct table_column){"OF LINK", true};
	table_init(&t, columns);
	lines = put_lines(out, &c, &t);
	if (lines > 1)
		put_sum(out, &c, &t);
	table_print(&t, out->to);
	table_free(&t);
	put_legend(out);
	if (forget_idle(out))
		buffer_puts(out->to, "LATENCY: - where nothing was read.\n");
	out_reasons(out, NULL);
}

/* ---- what devices find in the last-level cache ----------------------------------------------------- */

/* "pcie.inbound.read.llc.": the metrics of a line begin with it. */
static int line_length(const char *name)
{
	return (int)strcspn(name, "l") + 4;
}

static void put_direction(struct out *out, struct table *t, const struct uncore_row *row)
{
	static const char *const ends[] = {"bandwidth", "hit.bandwidth", "miss.bandwidth",
					   "hit.ratio", "miss.ratio"};
	struct buffer place = {0};
	char name[80];

	out_place(&place, &row->place);
	table_cell(t, "%s", place.data);
	table_cell(t, "%s", strstr(row->query.name, ".read.") ? "read" : "write");
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		snprintf(name, sizeof(name), "%.*s%s", line_length(row->query.name),
			 row->query.name, ends[i]);
		put_value(t, find(out, row, name));
	}
	table_end_row(t, NULL);
	buffer_free(&place);
}

void ddio_output_window(struct out *out)
{
	static const struct table_column columns[] = {
		{"PLACE", false}, {"DEVICES", false}, {"ALL", true},    {"LLC", true},
		{"MEMORY", true}, {"LLC", true},      {"MEMORY", true}, {NULL, false},
	};
	struct table t;

	out_text_header(out);
	out_text_time(out);
	table_init(&t, columns);
	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_row *row = out->rows[i].row, *first = row;

		for (size_t k = i; k--;) {
			const struct uncore_row *other = out->rows[k].row;

			if (same_line(&other->place, &row->place) &&
			    strncmp(other->query.name, row->query.name,
				    (size_t)line_length(row->query.name)) == 0)
				first = other;
		}
		if (first == row)
			put_direction(out, &t, row);
	}
	table_print(&t, out->to);
	table_free(&t);
	buffer_puts(
		out->to,
		"LLC: hits, lines that the last-level cache holds (DDIO). MEMORY: misses, lines "
		"that are read from\nmemory or will be written there. Writes of parts of "
		"lines count as 64 bytes each.\n");
	out_reasons(out, NULL);
}
