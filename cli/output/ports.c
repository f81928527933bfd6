/* SPDX-License-Identifier: MIT */
/* The view of `pcie`: a line for each root port with a column for each metric, the devices below
 * it, and a line for each device that counts itself. Where a PMU counts ports together, a line is a
 * PMU. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "output/devices.h"
#include "output/output.h"
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

	/* Names of devices need not have numbers: sda and sdb. */
	if (a->place->port || b->place->port || !p || !q || uncore_pmu_is_device(p) ||
	    uncore_pmu_is_device(q) || a->place->socket != b->place->socket ||
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

/* Whether devices count the row themselves, or a PMU that their driver has for each of them. */
static bool is_device(const struct uncore_row *row)
{
	return row->query->of_device || devices_is_device(row->place);
}

bool ports_same_line(const struct uncore_row *a, const struct uncore_row *b)
{
	const char *x = part_of(a->query->name), *y = part_of(b->query->name);

	return (out_same_port(a->place, b->place) || same_unit(a, b)) && !x == !y &&
	       is_device(a) == is_device(b) && (!x || strncmp(x, y, strcspn(x, ".") + 1) == 0);
}

/* The metric's name without its part. What a device counts is in the column of the port's metric
 * for the same traffic, or in one of its own without the first word: "pcie.bandwidth". */
static void put_name(char name[OUT_METRIC_ROOM], const struct uncore_row *row)
{
	const char *whole = row->query->at_port ? row->query->at_port : row->query->name;
	const char *part = part_of(whole);
	int before = (int)(part ? (size_t)(part - whole) - strlen(PART) : OUT_METRIC_ROOM);

	if (is_device(row) && !row->query->at_port)
		whole += strcspn(whole, ".") + 1;
	snprintf(name, OUT_METRIC_ROOM, "%.*s%s", before, whole,
		 part ? part + strcspn(part, ".") : "");
}

/* "pcie.inbound.read.bandwidth" is headed "IN READ", "pcie.inbound.read.latency" "LATENCY",
 * "pcie.in.bandwidth" "IN", "pcie.bandwidth" "BOTH", and "pcie.dma.utilization"
 * "DMA UTILIZATION". */
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
	if (count == 1)
		snprintf(m->title, sizeof(m->title), "both");
	else if (count == 3 && strcmp(words[2], "bandwidth") != 0)
		snprintf(m->title, sizeof(m->title), "%s", words[2]);
	else if (count == 2 && strcmp(words[1], "bandwidth") != 0)
		snprintf(m->title, sizeof(m->title), "%s %s", words[0], words[1]);
	else
		snprintf(m->title, sizeof(m->title), "%.*s%s%s", (int)strcspn(words[0], "b"),
			 words[0], count == 3 ? " " : "", count == 3 ? words[1] : "");
}

/* A PMU that counts on several sockets is named with the socket, and not with the CPU that reads
 * it. */
static void put_place(struct table *t, const struct uncore_row *row)
{
	const struct uncore_pmu *pmu = row->place->pmu;
	const char *part = part_of(row->query->name);
	auto_buffer place = {0};
	char link[LINK_ROOM];

	if (is_device(row) && pmu) {
		table_cell(t, "  %s", uncore_pmu_name(pmu));
		table_cell(t, "%s", "");
		return;
	}
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
	if (is_device(row))
		buffer_puts(&place, ", devices");
	if (part)
		buffer_printf(&place, ", complex %.*s", (int)strcspn(part, "."), part);
	table_cell(t, "%s", place.data);
	table_cell(t, "%s", "");
}

/* Puts the devices below all ports that the PMU counts together. */
static void put_known(struct buffer *to, const struct uncore *u, const struct uncore_pmu *pmu)
{
	const struct uncore_row_place place = {.pmu = pmu};

	for (size_t i = 0; i < uncore_device_count(u); i++) {
		const struct uncore_device *d = uncore_device_at(u, i);
		auto_buffer below = {0};

		if (d->is_port && devices_port_counted(&place, d))
			devices_below(&below, u, d);
		if (below.len)
			buffer_printf(to, "%s%s", to->len ? "; " : "", below.data);
	}
}

/* ---- the lines, and their order ---- */

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
	const struct view_line *x = a, *y = b;

	if (x->key != y->key)
		return x->key > y->key ? -1 : 1;
	return x->row->number < y->row->number ? -1 : x->row->number > y->row->number;
}

static size_t line_of(const struct view_line *lines, const struct uncore_row *row)
{
	size_t i = 0;

	while (!ports_same_line(lines[i].row, row))
		i++;
	return i;
}

/* Whether the device is below the root port, or below one that the PMU counts. */
static bool is_below(const struct uncore_row *device, const struct uncore_row *row)
{
	const struct uncore_device *d = device->place->device;

	return d && d->port && devices_port_counted(row->place, d->port);
}

/* Moves the lines of devices behind the line above them; those of others to the end. */
static void order_devices(struct view_line *lines, size_t count)
{
	auto_free struct view_line *sorted = cli_realloc(NULL, count + 1, sizeof(*sorted));
	size_t at = 0;

	for (size_t i = 0; i < count; i++) {
		if (is_device(lines[i].row))
			continue;
		sorted[at++] = lines[i];
		for (size_t k = 0; k < count; k++) {
			if (!is_device(lines[k].row) || lines[k].placed ||
			    !is_below(lines[k].row, lines[i].row))
				continue;
			lines[k].placed = true;
			sorted[at++] = lines[k];
		}
	}
	for (size_t i = 0; i < count; i++)
		if (is_device(lines[i].row) && !lines[i].placed)
			sorted[at++] = lines[i];
	memcpy(lines, sorted, count * sizeof(*lines));
}

/* The largest lines come first. Idle ports and devices are hidden, unless there is only one line,
 * or devices alone, as in a virtual machine. */
static void order(const struct out *out, struct view_line *lines, size_t count)
{
	const char *sort = out->setup.sort ? out->setup.sort : ports_sorts[0];
	bool alone = true;

	for (size_t i = 0; i < count; i++)
		alone = alone && is_device(lines[i].row);
	for (size_t i = 0; i < out->row_count; i++)
		lines[line_of(lines, out->rows[i].row)].key += key_of(sort, out->rows[i].row);
	for (size_t i = 0; i < count; i++) {
		struct view_line *l = &lines[i];

		l->hidden = count > 1 && !alone && l->bandwidth && !l->busy &&
			    (l->row->place->port || (is_device(l->row) && l->row->place->pmu));
		l->key = strcmp(sort, "share") == 0 ? fmax(l->share, 0) : l->key;
	}
	qsort(lines, count, sizeof(*lines), compare_lines);
	order_devices(lines, count);
}

/* Puts the share of the link, and the devices below as a note. */
static void put_end(struct out *out, const struct view_line *line)
{
	const struct uncore_row_place *place = line->row->place;
	struct table *t = &out->table;
	auto_buffer below = {0};

	if (isfinite(line->share) || !place->port)
		out_share(t, line->share);
	else
		table_cell(t, "?");
	if (place->port)
		devices_below(&below, out->setup.machine, place->port);
	else if (place->device && !line->placed)
		device_text(&below, place->device);
	else if (place->pmu)
		put_known(&below, out->setup.machine, place->pmu);
	table_end_row(t, buffer_text(&below));
}

/* Puts an idle device, or a root port with the names of the devices below it. */
static void put_idle_line(struct buffer *to, struct uncore *u, const struct uncore_row *row)
{
	const struct uncore_device *port = row->place->port;

	if (!port) {
		buffer_printf(to, " %s", uncore_pmu_name(row->place->pmu));
		return;
	}
	buffer_printf(to, " %s", port->address);
	for (size_t k = 0; k < uncore_device_count(u); k++) {
		const struct uncore_device *d = uncore_device_at(u, k);

		if (d->port == port && d->names)
			buffer_printf(to, " %s", d->names);
	}
}

/* Puts one sentence for all idle ports, or for all idle devices. */
static void put_idle(const struct out *out, const struct view_line *lines, size_t count,
		     bool devices)
{
	auto_buffer text = {0};
	size_t idle = 0;

	for (size_t i = 0; i < count; i++)
		idle += lines[i].hidden && is_device(lines[i].row) == devices;
	if (!idle)
		return;
	buffer_printf(&text, "%zu idle %s%s:", idle, devices ? "device" : "port",
		      idle == 1 ? "" : "s");
	for (size_t i = 0; i < count; i++) {
		if (!lines[i].hidden || is_device(lines[i].row) != devices)
			continue;
		put_idle_line(&text, out->setup.machine, lines[i].row);
		buffer_puts(&text, --idle ? "," : "");
	}
	buffer_wrap(out->to, 0, text_columns(), text.data);
}

/* Puts the sums of bandwidths. Other metrics have no sum. */
static void put_sum(struct out *out)
{
	struct table *t = &out->table;
	size_t lines = 0;

	for (size_t i = 0; i < out->row_count; i++)
		lines += !is_device(out->rows[i].row) &&
			 !ports_same_line(out->rows[i].row, out->rows[0].row);
	if (!lines)
		return;
	table_cell(t, "sum");
	table_cell(t, "%s", "");
	for (size_t i = 0; i < out->metric_count; i++) {
		const struct uncore_row_query query = {.unit = "B/s"};
		struct uncore_row sum = {.query = &query, .quality = UNCORE_MEASURED};
		bool adds = true, any = false, counted = false;

		for (size_t k = 0; k < out->row_count; k++) {
			const struct uncore_row *row = out->rows[k].row;
			enum uncore_quality quality = row->quality;

			if (view_column(out, row) != i || is_device(row))
				continue;
			/* The sum then lacks this part. */
			if (quality == UNCORE_UNAVAILABLE)
				quality = UNCORE_PARTIAL;
			adds = adds && strcmp(row->query->unit, "B/s") == 0;
			counted = true;
			sum.value += isfinite(row->value) ? row->value : 0;
			any = any || isfinite(row->value);
			if (quality > sum.quality)
				sum.quality = quality;
		}
		if (!any)
			sum.value = NAN;
		if (adds && counted)
			out_value(t, &sum);
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
		if (is_device(out->rows[i].row) && pmu)
			title = strcmp(title, "PLACE") == 0 ? "DEVICE" : title;
		else if (pmu)
			title = cli_same(uncore_pmu_place(pmu), "port") ? "PORT" : "PMU";
	}
	return title;
}

/* Removes latencies without a value of ports where nothing was read: "-" is enough, without a
 * reason. True when a printed line had one. */
static bool remove_idle(struct out *out, const struct view_line *lines)
{
	size_t kept = 0;
	bool printed = false;

	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_row *row = out->rows[i].row;
		const struct view_line *l = &lines[line_of(lines, row)];

		if (row->quality != UNCORE_UNAVAILABLE || strcmp(row->query->unit, "s") != 0 ||
		    !l->valued || l->positive)
			out->rows[kept++] = out->rows[i];
		else
			printed |= !l->hidden;
	}
	out->row_count = kept;
	return printed;
}

static void put_legend(struct out *out, const struct view_line *lines, size_t count)
{
	bool ports = false, devices = false, directed = false, outward = false, counts = false,
	     one_way = false, shares = false, summed = count > 1;
	char text[200];

	put_idle(out, lines, count, false);
	put_idle(out, lines, count, true);
	for (size_t i = 0; i < count; i++)
		shares = shares || (isfinite(lines[i].share) && !lines[i].hidden);
	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_row_place *place = out->rows[i].row->place;
		const struct uncore_row_query *query = out->rows[i].row->query;

		if (place->pmu && !place->port && !is_device(out->rows[i].row) &&
		    !cli_same(uncore_pmu_place(place->pmu), "port")) {
			snprintf(text, sizeof(text),
				 "A line named after a PMU: one %s; its traffic cannot be split "
				 "by root port.",
				 uncore_pmu_instance(place->pmu));
			out_once(out, text);
		}
		summed = summed && !out->rows[i].row->query->filter;
		ports = ports || place->port;
		devices = devices || (is_device(out->rows[i].row) && place->pmu);
		counts = counts || (is_device(out->rows[i].row) && !place->pmu);
		directed =
			directed || strstr(query->at_port ? query->at_port : query->name, "bound.");
		outward = outward || strstr(query->name, ".outbound.");
		one_way = one_way || strstr(out->rows[i].row->query->name, ".in.");
	}
	if (directed)
		out_once(out,
			 outward ? "IN: devices reach memory (DMA). OUT: CPUs reach devices (MMIO)."
				 : "IN: devices reach memory (DMA).");
	else if (one_way)
		out_once(out, "IN, OUT: by direction, from any source.");
	if (devices)
		out_once(out, "Indented: what devices count themselves.");
	if (counts)
		out_once(out, "devices: what devices count themselves; it is not in the sum.");
	if (ports || shares)
		out_once(out, "OF LINK: the largest bandwidth as a share of the link's capacity in "
			      "one direction.");
	if (ports && summed)
		out_once(out, "The sum is of these lines; 'uncore pcie --per-socket' counts "
			      "all devices.");
	if (remove_idle(out, lines))
		out_once(out, "LATENCY: - where nothing was read.");
}

const struct view ports_view = {
	.head = put_place,
	.same = ports_same_line,
	.columns = {{NULL, 0}, {"LINK", 0}, {"OF LINK", 0}},
	.make = make_column,
	.title = title_of_places,
	.order = order,
	.end = put_end,
	.sum = put_sum,
	.legend = put_legend,
};
