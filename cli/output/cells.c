/* SPDX-License-Identifier: MIT */
#include "output/cells.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "output/output.h"

/* Appends the text of a part of the record. False: it is not made yet, or not kept. */
static bool copy(struct out *out, const struct buffer *kept)
{
	if (!kept || !kept->len)
		return false;
	buffer_add(out->to, kept->data, kept->len);
	return true;
}

/* Makes the text of a part of the record. `kept` gets a copy; NULL: it is not kept, and neither is
 * the header line. */
static void put(struct out *out, struct buffer *kept, const struct field *fields)
{
	size_t start = out->to->len;

	for (; fields->name; fields++)
		out->output->put(out, fields);
	if (kept && !out->names)
		buffer_add(kept, out->to->data + start, out->to->len - start);
}

/* A part of a record. Its fields are computed only where their text is not there to copy: hence a
 * macro. */
#define PART(out, kept, ...)                                 \
	do                                                   \
		if (!copy(out, kept))                        \
			put(out, kept, RECORD(__VA_ARGS__)); \
	while (0)

/* What few records have: short samples, and columns of the preset's table. */
static void put_more(struct out *out, double scale)
{
	const struct out_row *shown = out->row;
	struct field fields[OUT_FIELDS_ROOM] = {{0}};
	auto_buffer texts = {0};

	if (shown->distribution)
		out_add_distribution(out, shown->distribution, scale, fields);
	if (out->setup.table && out->setup.table->add)
		out->setup.table->add(out, shown->row, fields, &texts);
	put(out, NULL, fields);
}

static void put_placed(struct out *out, struct buffer *kept, const struct uncore_row_place *place)
{
	struct field fields[PLACE_COUNT + 1] = {{0}};

	place_add(place, fields);
	put(out, kept, fields);
}

static void put_row(struct out *out, struct cells *kept)
{
	const struct uncore_row *row = out->row->row;
	const struct uncore_row_query *query = row->query;
	const struct uncore_row_place *place = row->place;
	const struct uncore_row_counted *counted = row->counted;
	const struct frame *frame = &out->frame;
	/* The label of tasks changes. */
	struct buffer *placed = place->tasks ? NULL : &kept->fixed[3];
	bool event = !query->family;

	PART(out, &out->shared[0], {"schema", value_count(JSON_SCHEMA)},
	     {"time", value_real(frame->time)}, {"interval", value_real(frame->window)},
	     {"total", value_flag(frame->total)}, {"source", value_text(out->setup.source)},
	     {"simulated", value_flag(out->setup.simulated)});
	PART(out, &kept->fixed[0], {"kind", value_text(event ? "event" : "metric")},
	     {"name", value_text(query->name)}, {"family", value_text(query->family)},
	     {"socket", place_value(place, PLACE_SOCKET)}, {"pmu", place_value(place, PLACE_PMU)},
	     {"cpu", place_value(place, PLACE_CPU)});
	PART(out, NULL, {"value", value_real(row->value)}, {"unit", value_text(query->unit)},
	     {"rate", value_real(row->rate * kept->scale)},
	     {"quality", value_text(uncore_quality_name(row->quality))},
	     {"coverage", value_real(counted->coverage)},
	     {"instances", value_count(counted->instances)},
	     {"count", event && isfinite(row->value) ? value_count(counted->count) : value_none()},
	     {"enabled_ns", event ? value_count(counted->enabled_ns) : value_none()},
	     {"running_ns", event ? value_count(counted->running_ns) : value_none()},
	     {"reason", value_text(row->reason)});
	PART(out, &kept->fixed[1], {"role", place_value(place, PLACE_ROLE)},
	     {"filter", value_text(query->filter)}, {"port", place_value(place, PLACE_PORT)});
	PART(out, NULL, {"ceiling", value_real(row->ceiling)}, {"low", value_real(row->low)},
	     {"high", value_real(row->high)});
	PART(out, &kept->fixed[2], {"node", place_value(place, PLACE_NODE)},
	     {"channel", place_value(place, PLACE_CHANNEL)});
	PART(out, &out->shared[1], {"date", value_text(out->date)},
	     {"wall_ns", value_count(frame->wall_ns)},
	     {"monotonic_ns", value_count(frame->monotonic_ns)},
	     {"host", value_text(out->setup.host)}, {"missed", value_count(frame->missed)});
	if (!copy(out, placed))
		put_placed(out, placed, place);
	if (out->row->distribution || out->setup.table)
		put_more(out, kept->scale);
}

/* What is kept of out->row: nothing in its first interval, and where another row is in its
 * place. */
static struct cells *kept_of(struct out *out)
{
	const size_t at = (size_t)(out->row - out->rows);
	const struct uncore_row *row = out->row->row;
	struct cells *kept;

	if (at >= out->cell_count) {
		out->cells = cli_realloc(out->cells, out->row_count, sizeof(*out->cells));
		memset(out->cells + out->cell_count, 0,
		       (out->row_count - out->cell_count) * sizeof(*out->cells));
		out->cell_count = out->row_count;
	}
	kept = &out->cells[at];
	if (kept->query == row->query && kept->place == row->place && !out->frame.recorded)
		return kept;
	for (size_t i = 0; i < OUT_FIXED; i++)
		kept->fixed[i].len = 0;
	kept->query = row->query;
	kept->place = row->place;
	kept->scale = out_rate_scale(row);
	return kept;
}

void cells_print(struct out *out, const struct field *fields)
{
	if (fields)
		put(out, NULL, fields);
	else
		put_row(out, kept_of(out));
}

void cells_begin(struct out *out)
{
	for (size_t i = 0; i < OUT_SHARED; i++)
		out->shared[i].len = 0;
}

void cells_free(struct out *out)
{
	for (size_t i = 0; i < OUT_SHARED; i++)
		buffer_free(&out->shared[i]);
	for (size_t i = 0; i < out->cell_count; i++)
		for (size_t k = 0; k < OUT_FIXED; k++)
			buffer_free(&out->cells[i].fixed[k]);
	free(out->cells);
	out->cells = NULL;
	out->cell_count = 0;
}
