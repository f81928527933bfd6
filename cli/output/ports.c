/* SPDX-License-Identifier: MIT */
/* Text of `pcie`: a line for each root port (or PMU, where the PMU cannot distinguish ports) with a column for
 * each metric, and below it what hangs there; and of `pcie --ddio`. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "output/output.h"
#include "views/devices.h"

#define PART ".complex"

/* The number of a part of a PMU that only the metric's name tells ("pcie.inbound.complex0.bandwidth"), with what is
 * behind it; NULL: none. */
static const char *part_of(const char *name)
{
	const char *part = strstr(name, PART);

	return part ? part + strlen(PART) : NULL;
}

/* Ports with their metrics come first; families of one machine meet in a port. */
static bool same_place(const struct uncore_row_place *a, const struct uncore_row_place *b)
{
	return a->port ? a->port == b->port : !b->port && out_same_place(a, b);
}

static bool same_line(const struct uncore_row *a, const struct uncore_row *b)
{
	const char *x = part_of(a->query.name), *y = part_of(b->query.name);

	return same_place(&a->place, &b->place) && !x == !y &&
	       (!x || strncmp(x, y, strcspn(x, ".") + 1) == 0);
}

/* The metric's name without the part. */
static void put_name(char name[OUT_METRIC_ROOM], const struct uncore_row *row)
{
	const char *part = part_of(row->query.name);
	int before =
		(int)(part ? (size_t)(part - row->query.name) - strlen(PART) : OUT_METRIC_ROOM);

	snprintf(name, OUT_METRIC_ROOM, "%.*s%s", before, row->query.name,
		 part ? part + strcspn(part, ".") : "");
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

static void make_column(struct out_metric *m, const struct uncore_row *row)
{
	put_name(m->name, row);
	make_title(m->title, sizeof(m->title), m->name);
}

static const struct uncore_row *find(const struct out *out, const struct uncore_row *line,
				     const char *name)
{
	char found[OUT_METRIC_ROOM];

	for (size_t i = 0; i < out->row_count; i++) {
		put_name(found, out->rows[i].row);
		if (same_line(line, out->rows[i].row) && strcmp(found, name) == 0)
			return out->rows[i].row;
	}
	return NULL;
}

static void put_value(struct table *t, const struct uncore_row *row)
{
	if (row)
		out_value(t, row);
	else
		table_cell(t, "n/a");
}

/* A PMU that every socket has is named with the socket, and not with the CPU from which it is read. */
static void put_place(struct table *t, const struct uncore_row *row)
{
	const struct uncore_pmu *pmu = row->place.pmu;
	const char *part = part_of(row->query.name);
	struct buffer place = {0};
	char link[LINK_ROOM];

	if (row->place.port) {
		link_text(link, sizeof(link), row->place.port);
		table_cell(t, "%s", row->place.port->address);
		table_cell(t, "%s", link);
		return;
	}
	if (pmu && row->place.socket >= 0 && uncore_pmu_cpu_count(pmu) > 1)
		buffer_printf(&place, "socket %d, %s", row->place.socket, uncore_pmu_name(pmu));
	else
		out_place(&place, &row->place);
	if (part)
		buffer_printf(&place, ", complex %.*s", (int)strcspn(part, "."), part);
	table_cell(t, "%s", place.data);
	table_cell(t, "%s", "");
	buffer_free(&place);
}

/* The largest part of what the link can carry in one direction. */
static double share_of(const struct out *out, const struct uncore_row *line)
{
	double most = NAN;

	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_row *row = out->rows[i].row;

		if (same_line(line, row) && isfinite(row->ceiling))
			most = fmax(most, row->value / row->ceiling);
	}
	return most;
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

static void put_line(struct out *out, const struct uncore_row *row)
{
	struct table *t = &out->table;
	struct buffer below = {0};
	double share = share_of(out, row);

	put_place(t, row);
	for (size_t i = 0; i < out->metric_count; i++)
		put_value(t, find(out, row, out->metrics[i].name));
	if (isfinite(share) || !row->place.port)
		out_share(t, share);
	else
		table_cell(t, "?");
	if (row->place.port)
		devices_below(&below, out->setup.machine, row->place.port);
	else if (row->place.pmu)
		put_known(&below, out->setup.machine, row->place.pmu);
	table_end_row(t, buffer_text(&below));
	buffer_free(&below);
}

/* ---- the lines, and their order ------------------------------------------------------------------------ */

struct line {
	const struct uncore_row *row; /* its first one */
	double key;                   /* the largest comes first */
	size_t number;                /* in the order of the rows */
	bool idle;
};

const char *const ports_sorts[] = {"traffic", "in", "out", "share", "latency", "place", NULL};

/* Its rows of one kind, added up. */
static double key_of(const struct out *out, const struct uncore_row *line)
{
	const char *sort = out->setup.sort ? out->setup.sort : ports_sorts[0];
	const char *unit = strcmp(sort, "latency") == 0 ? "s" : "B/s";
	double key = 0;
	const char *part = "";

	if (strcmp(sort, "place") == 0)
		return 0;
	if (strcmp(sort, "share") == 0)
		return fmax(share_of(out, line), 0);
	if (strcmp(sort, "in") == 0 || strcmp(sort, "out") == 0)
		part = sort;
	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_row *row = out->rows[i].row;

		if (same_line(row, line) && isfinite(row->value) &&
		    strcmp(row->query.unit, unit) == 0 &&
		    strncmp(row->query.name + strcspn(row->query.name, ".") + 1, part,
			    strlen(part)) == 0)
			key += row->value;
	}
	return key;
}

/* All its bandwidths are counted, and 0. */
static bool is_idle_line(const struct out *out, const struct uncore_row *line)
{
	bool known = false;

	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_row *row = out->rows[i].row;

		if (!same_line(row, line) || strcmp(row->query.unit, "B/s") != 0)
			continue;
		known = true;
		if (row->value != 0 || row->quality > UNCORE_SCALED)
			return false;
	}
	return known && line->place.port;
}

static int compare_lines(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->key != y->key)
		return x->key > y->key ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* A line for each place; to be freed. */
static struct line *make_lines(const struct out *out, size_t *count)
{
	struct line *lines = cli_realloc(NULL, out->row_count + 1, sizeof(*lines));

	*count = 0;
	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_row *row = out->rows[i].row;
		size_t first = 0;

		while (!same_line(out->rows[first].row, row))
			first++;
		if (first == i)
			lines[(*count)++] =
				(struct line){row, key_of(out, row), i, is_idle_line(out, row)};
	}
	qsort(lines, *count, sizeof(*lines), compare_lines);
	return lines;
}

/* One sentence for all of them, with the names of the devices below. */
static void put_idle(const struct out *out, const struct line *lines, size_t count)
{
	struct buffer text = {0};
	size_t idle = 0;

	for (size_t i = 0; i < count; i++)
		idle += lines[i].idle;
	if (!idle)
		return;
	buffer_printf(&text, "%zu idle port%s:", idle, idle == 1 ? "" : "s");
	for (size_t i = 0; i < count; i++) {
		const struct uncore_device *port = lines[i].row->place.port;

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
	buffer_free(&text);
}

/* Bandwidths can be added up. */
static void put_sum(struct out *out)
{
	struct table *t = &out->table;

	table_cell(t, "sum");
	table_cell(t, "%s", "");
	for (size_t i = 0; i < out->metric_count; i++) {
		struct uncore_row sum = {.query.unit = "B/s", .quality = UNCORE_MEASURED};
		bool adds = true, any = false;

		for (size_t k = 0; k < out->row_count; k++) {
			const struct uncore_row *row = out->rows[k].row;
			enum uncore_quality quality = row->quality;
			char name[OUT_METRIC_ROOM];

			put_name(name, row);
			if (strcmp(name, out->metrics[i].name) != 0)
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

static const char *title_of_places(const struct out *out)
{
	const char *title = "PLACE";

	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_pmu *pmu = out->rows[i].row->place.pmu;

		if (out->rows[i].row->place.port)
			return "PORT";
		if (pmu)
			title = strstr(uncore_pmu_instance(pmu), "port") ? "PORT" : "PMU";
	}
	return title;
}

static void put_legend(struct out *out, bool summed)
{
	bool ports = false, directed = false, one_way = false;
	char text[200];

	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_row_place *place = &out->rows[i].row->place;

		if (place->pmu && !place->port &&
		    !strstr(uncore_pmu_instance(place->pmu), "port")) {
			snprintf(text, sizeof(text),
				 "A line named after a PMU: one %s; its traffic cannot be split "
				 "by root port.",
				 uncore_pmu_instance(place->pmu));
			out_once(out, text);
		}
		summed = summed && !out->rows[i].row->query.filter;
		ports = ports || place->port;
		directed = directed || strstr(out->rows[i].row->query.name, "bound.");
		one_way = one_way || strstr(out->rows[i].row->query.name, ".in.");
	}
	if (directed)
		out_once(out, "IN: devices reach memory (DMA). OUT: CPUs reach devices (MMIO).");
	else if (one_way)
		out_once(out, "IN, OUT: by direction, from any source.");
	if (ports)
		out_once(out, "OF LINK: the largest of them as a share of the link's capacity in "
			      "one direction.");
	if (ports && summed)
		out_once(out, "The sum is of these lines; 'uncore pcie --per-socket' counts all "
			      "devices.");
}

/* An idle port has no latency: "-" is enough, without the reason. */
static bool is_idle(const struct out *out, const struct uncore_row *row)
{
	bool known = false;

	if (row->quality != UNCORE_UNAVAILABLE || strcmp(row->query.unit, "s") != 0)
		return false;
	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_row *other = out->rows[i].row;

		if (!same_line(other, row) || !isfinite(other->value))
			continue;
		known = true;
		if (other->value > 0)
			return false;
	}
	return known;
}

/* True when there were such rows, in a line that was printed. */
static bool forget_idle(struct out *out, bool one_line)
{
	size_t all = out->row_count;
	size_t kept = 0;
	bool printed = false;

	/* Rows with values stay, and only those decide which rows are idle. */
	for (size_t i = 0; i < all; i++) {
		const struct uncore_row *row = out->rows[i].row;

		if (!is_idle(out, row))
			out->rows[kept++] = out->rows[i];
		else
			printed = printed || one_line || !is_idle_line(out, row);
	}
	out->row_count = kept;
	return printed;
}

void ports_output_window(struct out *out)
{
	struct line *lines;
	size_t count;

	out_text_header(out);
	out_text_time(out);
	out_columns(out, title_of_places(out), "LINK", "OF LINK", make_column);
	lines = make_lines(out, &count);
	lines[0].idle = lines[0].idle && count > 1;
	for (size_t i = 0; i < count; i++)
		if (!lines[i].idle)
			put_line(out, lines[i].row);
	if (count > 1)
		put_sum(out);
	table_print(&out->table, out->to);
	put_idle(out, lines, count);
	free(lines);
	put_legend(out, count > 1);
	if (forget_idle(out, count == 1))
		out_once(out, "LATENCY: - where nothing was read.");
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
		{"PLACE", 0},
		{"DEVICES", 0},
		{"ALL", TABLE_RIGHT | TABLE_RATE},
		{"LLC", TABLE_RIGHT | TABLE_RATE},
		{"MEMORY", TABLE_RIGHT | TABLE_RATE},
		{"LLC", TABLE_RIGHT | TABLE_TIME},
		{"MEMORY", TABLE_RIGHT | TABLE_TIME},
		{NULL, 0},
	};

	out_text_header(out);
	out_text_time(out);
	out_table(out, &out->table, columns);
	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_row *row = out->rows[i].row, *first = row;

		for (size_t k = i; k--;) {
			const struct uncore_row *other = out->rows[k].row;

			if (same_line(other, row) &&
			    strncmp(other->query.name, row->query.name,
				    (size_t)line_length(row->query.name)) == 0)
				first = other;
		}
		if (first == row)
			put_direction(out, &out->table, row);
	}
	table_print(&out->table, out->to);
	out_once(out,
		 "LLC: hits, lines that the last-level cache holds (DDIO). MEMORY: misses, lines "
		 "that are read from memory or will be written there. Writes of parts of "
		 "lines count as 64 bytes each.");
	out_reasons(out, NULL);
}

/* ---- which PMU counts a root port ------------------------------------------------------------------ */

#define CHECK_LEAST 10e6 /* bytes a second: less is not a copy */
#define CHECK_SHARE 0.05 /* of the most that moved: less is other traffic */

enum verdict { PROVED = 0, ANOTHER_MOVED = 1, CANNOT_TELL = 3 }; /* exit status */

/* A part of a PMU, and what devices read and wrote there. */
struct checked {
	const struct uncore_row_place *place;
	double rate;
};

/* Reads and writes of each part; returns how many parts. Sets the largest, and how many have no value. */
static size_t add_parts(const struct out *out, struct checked *parts, double *most, size_t *missing)
{
	size_t count = 0;

	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_row *row = out->rows[i].row;
		size_t k = 0;

		while (k < count && !same_place(parts[k].place, &row->place))
			k++;
		if (k == count)
			parts[count++] = (struct checked){&row->place, 0};
		if (isfinite(row->value))
			parts[k].rate += row->value;
		else
			++*missing;
		*most = fmax(*most, parts[k].rate);
	}
	return count;
}

/* "uncore_iio_4, part 2" */
static void put_part(struct buffer *to, const struct uncore_pmu *pmu, int socket, int part)
{
	if (uncore_pmu_cpu_count(pmu) > 1 && socket >= 0)
		buffer_printf(to, "socket %d, ", socket);
	buffer_puts(to, uncore_pmu_name(pmu));
	if (part >= 0)
		buffer_printf(to, ", part %d", part);
}

static bool is_expected(const struct uncore_device *port, const struct uncore_row_place *place)
{
	if (port->index >= 0 && place->port && place->port->index != port->index)
		return false;
	if (port->socket >= 0 && place->socket != port->socket)
		return false;
	for (size_t i = 0; i < uncore_device_pmu_count(port); i++)
		if (uncore_device_pmu_at(port, i) == place->pmu)
			return true;
	return false;
}

void check_output_window(struct out *out)
{
	static const struct table_column columns[] = {
		{"MOVED", false}, {"READ AND WRITTEN", true}, {NULL, false}};
	struct checked *parts = cli_realloc(NULL, out->row_count + 1, sizeof(*parts));
	const struct uncore_device *port = out->setup.port;
	struct buffer verdict = {0}, name = {0}; /* of the last part that moved */
	double most = 0;
	size_t missing = 0, moved = 0, expected = 0, count = add_parts(out, parts, &most, &missing);

	out_text_header(out);
	out_text_time(out);
	out_table(out, &out->table, columns);
	for (size_t i = 0; i < count && most >= CHECK_LEAST; i++) {
		const struct uncore_row_place *place = parts[i].place;
		struct human rate;

		if (parts[i].rate < most * CHECK_SHARE)
			continue;
		buffer_free(&name);
		put_part(&name, place->pmu, place->socket, place->port ? place->port->index : -1);
		human_value(&rate, parts[i].rate, "B/s");
		table_cell(&out->table, "%s", name.data);
		table_cell(&out->table, "%s %s", rate.number, rate.unit);
		table_end_row(&out->table, NULL);
		moved++;
		expected += is_expected(port, place);
	}
	if (moved)
		table_print(&out->table, out->to);
	out->status = CANNOT_TELL;
	if (!moved)
		buffer_puts(&verdict, "cannot tell: nothing moved; copy data to or from a device "
				      "of the port meanwhile");
	else if (port->unknown)
		buffer_printf(&verdict, "cannot tell: nothing is expected: %s", port->unknown);
	else if (missing)
		buffer_printf(&verdict, "cannot tell: %zu values are missing", missing);
	else if (moved > 1 && (port->index >= 0 || expected < moved))
		buffer_puts(&verdict, "cannot tell: several parts moved; stop other traffic");
	else
		out->status = expected ? PROVED : ANOTHER_MOVED;
	if (out->status == PROVED)
		buffer_printf(&verdict, "proved: %s counts it", name.data);
	else if (out->status == ANOTHER_MOVED)
		buffer_printf(&verdict, "another part moved: %s", name.data);
	buffer_printf(out->to, "check of %s: %s\n", port->address, verdict.data);
	for (size_t i = 0; i < uncore_device_pmu_count(port); i++) {
		buffer_puts(out->to, "expected: ");
		put_part(out->to, uncore_device_pmu_at(port, i), port->socket, port->index);
		buffer_puts(out->to, "\n");
	}
	buffer_free(&verdict);
	buffer_free(&name);
	free(parts);
	out_reasons(out, NULL);
}
