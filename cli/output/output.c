/* SPDX-License-Identifier: MIT */
/* The table of outputs, and the records of rows. */
#include "output/output.h"
#include "output/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "output/cells.h"
#include "output/windows.h"

const struct output outputs[] = {
	{"text", .window = text_output_window},
	{"csv", 0,
	 "CSV with a header line; wide: a line for each interval, a column for each value",
	 .record = csv_output_record, .form = "wide"},
	{"csv=wide", .record = csv_output_record, .window = wide_output_window},
	{"json", 'j', "JSON; for rows, one object in each line", .record = json_output_record,
	 .document = json_output_document},
	{"html", 0, "A page for a browser: charts over time, the machine, findings",
	 .begin = html_output_begin, .window = html_output_window, .extra = true},
	/* Tables of data/names/views.yaml. */
	{"memory", .window = grid_output_window, .sorts = grid_sorts,
	 .levels = 1u << UNCORE_LEVEL_MACHINE | 1u << UNCORE_LEVEL_SOCKET |
		   1u << UNCORE_LEVEL_NODE | 1u << UNCORE_LEVEL_CHANNEL},
	{"links", .window = grid_output_window,
	 .levels = 1u << UNCORE_LEVEL_MACHINE | 1u << UNCORE_LEVEL_SOCKET |
		   1u << UNCORE_LEVEL_INSTANCE},
	{"latency", .window = grid_output_window,
	 .levels = 1u << UNCORE_LEVEL_MACHINE | 1u << UNCORE_LEVEL_SOCKET},
	{"cache", .window = grid_output_window,
	 .levels = 1u << UNCORE_LEVEL_MACHINE | 1u << UNCORE_LEVEL_SOCKET},
	{"ports", .window = view_output_window, .view = &ports_view, .sorts = ports_sorts},
	{"ddio", .window = view_output_window, .view = &ddio_view},
	{"check", .window = check_output_window},
	{"ends", .window = ends_output_window, .add = ends_add_fields},
	{"matrix", .window = matrix_output_window, .device_level = UNCORE_LEVEL_PART},
	{"groups", .window = view_output_window, .view = &groups_view},
	{"samples", .window = samples_output_window},
	{"screens", .window = screens_output_window, .extra = true},
};
const size_t output_count = sizeof(outputs) / sizeof(outputs[0]);

const struct output *output_find(const char *name)
{
	for (size_t i = 0; i < output_count; i++)
		if (strcmp(outputs[i].name, name) == 0)
			return &outputs[i];
	return NULL;
}

void out_free(struct out *out)
{
	table_free(&out->table);
	table_free(&out->below);
	buffer_free(&out->said);
	grids_free(out->grids);
	out->grids = NULL;
	windows_free(out->html.next);
	buffer_free(&out->html.quality);
	free(out->rows);
	out->rows = NULL;
	cells_free(out->cells, out->cell_count);
	out->cells = NULL;
	out->cell_count = 0;
}

static void print_record(struct out *out, const struct out_row *kept)
{
	const struct uncore_row *row = kept->row;
	bool event = !row->query->family;
	bool counted = event && isfinite(row->value);
	double scale = out_rate_scale(row);
	auto_buffer texts = {0};
	struct field fields[OUT_FIELDS_ROOM] = {
		{"schema", value_fixed(value_count(JSON_SCHEMA))},
		{"time", value_real(out->frame.time)},
		{"interval", value_real(out->frame.window)},
		{"total", value_flag(out->frame.total)},
		{"source", value_fixed(value_text(out->setup.source))},
		{"simulated", value_fixed(value_flag(out->setup.simulated))},
		{"kind", value_fixed(value_text(event ? "event" : "metric"))},
		{"name", value_fixed(value_text(row->query->name))},
		{"family", value_fixed(value_text(row->query->family))},
		{"socket", value_fixed(place_value(row->place, PLACE_SOCKET))},
		{"pmu", value_fixed(place_value(row->place, PLACE_PMU))},
		{"cpu", value_fixed(place_value(row->place, PLACE_CPU))},
		{"value", value_real(row->value)},
		{"unit", value_fixed(value_text(row->query->unit))},
		{"rate", value_real(row->rate * scale)},
		{"quality", value_text(uncore_quality_name(row->quality))},
		{"coverage", value_real(row->counted->coverage)},
		{"instances", value_count(row->counted->instances)},
		{"count", counted ? value_count(row->counted->count) : value_none()},
		{"enabled_ns", event ? value_count(row->counted->enabled_ns) : value_none()},
		{"running_ns", event ? value_count(row->counted->running_ns) : value_none()},
		{"reason", value_text(row->reason)},
		{"role", place_value(row->place, PLACE_ROLE)},
		{"filter", value_fixed(value_text(row->query->filter))},
		{"port", value_fixed(place_value(row->place, PLACE_PORT))},
		{"ceiling", value_real(row->ceiling)},
		{"low", value_real(row->low)},
		{"high", value_real(row->high)},
		{"node", value_fixed(place_value(row->place, PLACE_NODE))},
		{"channel", value_fixed(place_value(row->place, PLACE_CHANNEL))},
		{"date", value_text(out->date)},
		{"wall_ns", value_count(out->frame.wall_ns)},
		{"monotonic_ns", value_count(out->frame.monotonic_ns)},
		{"host", value_fixed(value_text(out->setup.host))},
		{"missed", value_count(out->frame.missed)},
	};

	place_add(row->place, fields);
	if (kept->distribution)
		out_add_distribution(out, kept->distribution, scale, fields);
	if (out->setup.table && out->setup.table->add)
		out->setup.table->add(out, row, fields, &texts);
	out->row = kept;
	out->output->record(out, fields);
	out->row = NULL;
}

void out_row(struct out *out, struct out_row row)
{
	size_t at;

	if (out->row_count == out->row_room) {
		out->row_room = out->row_room ? 2 * out->row_room : 64;
		out->rows = cli_realloc(out->rows, out->row_room, sizeof(*out->rows));
	}
	/* In rounds, rows come in another order than the request has. */
	for (at = out->row_count++; at && out->rows[at - 1].row->number > row.row->number; at--)
		out->rows[at] = out->rows[at - 1];
	out->rows[at] = row;
}

void out_print(struct out *out, const struct frame *frame)
{
	out->frame = *frame;
	cli_date(out->date, frame->wall_ns);
	if (out->output->window)
		out->output->window(out);
	for (size_t i = 0; !out->output->window && i < out->row_count; i++)
		print_record(out, &out->rows[i]);
	out->begun = true;
	out->row_count = 0;
}
