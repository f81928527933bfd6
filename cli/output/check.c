/* SPDX-License-Identifier: MIT */
/* Text of `pcie --check PORT`: which PMU counts a root port, by what moves while its device copies
 * data. It is no struct view, since the sum of a line decides whether there is one. */
#include <math.h>

#include "base/cli.h"
#include "output/output.h"

#define CHECK_LEAST 10e6 /* B/s; no copy is slower */
#define CHECK_SHARE 0.05 /* of the largest rate; a part below it has other traffic */

enum verdict { PROVED = 0, ANOTHER_MOVED = 1, CANNOT_TELL = 3 }; /* exit statuses */

/* A part of a PMU, and the bandwidth of reads and writes there. */
struct checked {
	const struct uncore_row_place *place;
	double rate;
};

/* Adds up reads and writes of each part. Returns the number of parts. *most is the largest sum,
 * *missing the number of rows without a value. */
static size_t add_parts(const struct out *out, struct checked *parts, double *most, size_t *missing)
{
	size_t count = 0;

	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_row *row = out->rows[i].row;
		size_t k = 0;

		while (k < count && !out_same_port(parts[k].place, row->place))
			k++;
		if (k == count)
			parts[count++] = (struct checked){row->place, 0};
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
	auto_free struct checked *parts = cli_realloc(NULL, out->row_count + 1, sizeof(*parts));
	const struct uncore_device *port = out->setup.port;
	auto_buffer verdict = {0}, name = {0}; /* `name` is the last part that moved */
	double most = 0;
	size_t missing = 0, moved = 0, expected = 0, count = add_parts(out, parts, &most, &missing);

	out_text_header(out);
	out_text_time(out);
	out_table(out, &out->table, columns);
	for (size_t i = 0; i < count && most >= CHECK_LEAST; i++) {
		const struct uncore_row_place *place = parts[i].place;
		if (parts[i].rate < most * CHECK_SHARE)
			continue;
		buffer_free(&name);
		put_part(&name, place->pmu, place->socket, place->port ? place->port->index : -1);
		table_cell(&out->table, "%s", name.data);
		table_cell(&out->table, "%s", human(parts[i].rate, "B/s").text);
		table_end_row(&out->table, NULL);
		moved++;
		expected += is_expected(port, place);
	}
	if (moved)
		table_print(&out->table, out->to);
	out->status = CANNOT_TELL;
	if (!moved)
		buffer_puts(&verdict, "cannot tell: nothing moved; copy data to or from a device "
				      "of the port during the test");
	else if (port->unknown)
		buffer_printf(&verdict,
			      "cannot tell: the expected PMU is unknown: "
			      "%s",
			      port->unknown);
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
	out_reasons(out, NULL);
}
