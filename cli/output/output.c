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
	 .record = csv_output_record, .put = csv_output_put, .form = "wide"},
	{"csv=wide", .record = csv_output_record, .put = csv_output_put,
	 .window = wide_output_window},
	{"json", 'j', "JSON; for rows, one object in each line", .record = json_output_record,
	 .put = json_output_put, .document = json_output_document},
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
	buffer_free(&out->cell);
	grids_free(out->grids);
	out->grids = NULL;
	windows_free(out->html.next);
	buffer_free(&out->html.quality);
	free(out->rows);
	out->rows = NULL;
	cells_free(out);
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
	else
		cells_begin(out);
	for (size_t i = 0; !out->output->window && i < out->row_count; i++) {
		out->row = &out->rows[i];
		out->output->record(out, NULL);
	}
	out->row = NULL;
	out->begun = true;
	out->row_count = 0;
}
