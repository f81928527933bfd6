/* SPDX-License-Identifier: MIT */
#include "output/windows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "output/output.h"
#include "output/screen.h"

struct windows {
	uint64_t intervals; /* in it */
	struct frame frame; /* of the last one, with sums of `window` and `missed` */
	struct window_row {
		double value, rate; /* means; the value of an event is a sum; NaN: no value */
		double seconds;     /* the time in which it had a value */
		double least, most; /* of short samples, or else of intervals */
		/* The worst. A mean that lacks intervals is partial. */
		enum uncore_quality quality;
		bool none;    /* all intervals are unavailable */
		char *reason; /* the reason of this quality */
	} * rows;
	size_t row_count;
};

/* Whether a row is shown as a rate: an event, unless its value is a state. */
static bool is_rate(const struct uncore_row *row)
{
	return !row->query->family && (isfinite(row->rate) || !isfinite(row->value));
}

static json_t *row_record(const struct uncore_row *row)
{
	bool rate = is_rate(row);
	char unit[OUT_UNIT_ROOM];
	auto_buffer place = {0};
	struct field more[PLACE_COUNT - PLACE_PLACED + 1] = {{0}};
	json_t *record;

	out_rate_unit(row, unit);
	out_place(&place, row->place);
	record = json_record(RECORD(
		{"name", value_text(row->query->name)}, {"family", value_text(row->query->family)},
		{"unit", value_text(rate ? unit : row->query->unit)}, {"event", value_flag(rate)},
		{"place", value_text(place.data)}, {"role", place_value(row->place, PLACE_ROLE)},
		{"filter", value_text(row->query->filter)}, {"ceiling", value_real(row->ceiling)},
		{"socket", place_value(row->place, PLACE_SOCKET)},
		{"node", place_value(row->place, PLACE_NODE)},
		{"channel", place_value(row->place, PLACE_CHANNEL)},
		{"port", place_value(row->place, PLACE_PORT)},
		{"pmu", place_value(row->place, PLACE_PMU)}));
	place_add(row->place, more);
	if (row->extra)
		json_object_set_new(record, "extra", json_true());
	json_add(record, more);
	return record;
}

json_t *windows_rows(const struct out *out)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < out->row_count; i++)
		json_push(rows, row_record(out->rows[i].row));
	return rows;
}

json_t *windows_screen(const struct out *out)
{
	const struct screen_rows rows = out_screen_rows(out, NULL);
	struct screen s;
	json_t *document;

	screen_make(&s, out->setup.machine, &rows);
	document = screen_document(&s);
	screen_free(&s);
	return document;
}

static json_t *real(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

double windows_round(double value)
{
	double unit = pow(10, floor(log10(fabs(value))) - 5);

	if (value == 0 || !isfinite(value))
		return value;
	return unit < 1 ? round(value / unit) / round(1 / unit) : round(value / unit) * unit;
}

static void merge_row(struct window_row *to, const struct out_row *from, double seconds)
{
	const struct uncore_row *row = from->row;
	const struct uncore_distribution *d = from->distribution;
	char unit[OUT_UNIT_ROOM];
	double scale = out_rate_unit(row, unit), rate = row->rate * scale;
	double shown = is_rate(row) ? rate : row->value;

	enum uncore_quality quality =
		row->quality == UNCORE_UNAVAILABLE ? UNCORE_PARTIAL : row->quality;

	to->none &= row->quality == UNCORE_UNAVAILABLE;
	if (quality > to->quality) {
		free(to->reason);
		to->reason = row->reason ? cli_copy(row->reason) : NULL;
		to->quality = quality;
	}
	to->least = fmin(to->least, d ? d->least * scale : shown);
	to->most = fmax(to->most, d ? d->most * scale : shown);
	if (!isfinite(row->value))
		return;
	to->seconds += seconds;
	if (!isfinite(to->value)) {
		to->value = row->value;
		to->rate = rate;
		return;
	}
	to->value += is_rate(row) ? row->value : (row->value - to->value) * seconds / to->seconds;
	to->rate += (rate - to->rate) * seconds / to->seconds;
}

/* Makes the window empty. */
static void clear(struct windows *w, size_t row_count)
{
	for (size_t i = 0; i < w->row_count; i++)
		free(w->rows[i].reason);
	w->rows = cli_realloc(w->rows, row_count + 1, sizeof(*w->rows));
	w->row_count = row_count;
	w->intervals = 0;
	w->frame = (struct frame){0};
	for (size_t i = 0; i < row_count; i++)
		w->rows[i] = (struct window_row){
			.value = NAN, .rate = NAN, .least = NAN, .most = NAN, .none = true};
}

struct windows *windows_new(void)
{
	struct windows *w = cli_realloc(NULL, 1, sizeof(*w));

	*w = (struct windows){0};
	return w;
}

void windows_free(struct windows *w)
{
	if (!w)
		return;
	clear(w, 0);
	free(w->rows);
	free(w);
}

uint64_t windows_intervals(const struct windows *w)
{
	return w->intervals;
}

void windows_add(struct windows *w, const struct out *out)
{
	struct frame before;

	if (!w->intervals)
		clear(w, out->row_count);
	before = w->frame;
	w->intervals++;
	w->frame = out->frame;
	w->frame.window += before.window;
	w->frame.missed += before.missed;
	for (size_t i = 0; i < w->row_count; i++)
		merge_row(&w->rows[i], &out->rows[i], out->frame.window);
}

json_t *windows_quality(const struct windows *w, struct buffer *said)
{
	json_t *list = json_array();
	struct buffer text = {0};
	bool same;

	for (size_t i = 0; i < w->row_count; i++)
		if (w->rows[i].quality != UNCORE_MEASURED)
			json_push(list, json_pack("[I,s,o]", (json_int_t)i,
						  uncore_quality_name(w->rows[i].none
									      ? UNCORE_UNAVAILABLE
									      : w->rows[i].quality),
						  json_text(w->rows[i].reason)));
	json_print(json_incref(list), JSON_COMPACT, &text);
	same = strcmp(buffer_text(said), text.data) == 0;
	buffer_free(said);
	*said = text;
	if (!same)
		return list;
	json_decref(list);
	return NULL;
}

static json_t *distribution_record(struct out *out, const struct out_row *row)
{
	struct field fields[OUT_FIELDS_ROOM] = {{0}};
	char unit[OUT_UNIT_ROOM];

	out_add_distribution(out, row->distribution, out_rate_unit(row->row, unit), fields);
	return json_record(fields);
}

json_t *windows_distributions(struct out *out)
{
	json_t *list = json_array();

	for (size_t i = 0; i < out->row_count; i++)
		if (out->rows[i].distribution)
			json_push(list, distribution_record(out, &out->rows[i]));
	return list;
}

json_t *windows_take(struct windows *w, struct out *out, bool distributions)
{
	bool spread = w->intervals > 1 || (out->row_count && out->rows[0].distribution);
	bool events = false;
	json_t *values = json_array(), *rates = json_array();
	json_t *least = json_array(), *most = json_array();
	json_t *window = json_record(RECORD(
		{"time", value_real(w->frame.time)}, {"interval", value_real(w->frame.window)},
		{"intervals", value_count(w->intervals)},
		{"wall_ns", value_count(w->frame.wall_ns)},
		{"missed", value_count(w->frame.missed)}, {"total", value_flag(w->frame.total)},
		{"values", value_json(values)}, {"rates", value_json(rates)}));

	for (size_t i = 0; i < w->row_count; i++) {
		const struct window_row *row = &w->rows[i];
		/* There are many, and a page that is attached to a ticket should be small. */
		bool extra = out->rows[i].row->extra;

		json_push(values, real(extra ? windows_round(row->value) : row->value));
		json_push(rates, real(row->rate));
		json_push(least, real(extra ? NAN : row->least));
		json_push(most, real(extra ? NAN : row->most));
		events = events || !out->rows[i].row->query->family;
	}
	if (!events)
		json_object_del(window, "rates");
	if (spread) {
		json_object_set(window, "least", least);
		json_object_set(window, "most", most);
	}
	if (distributions)
		json_object_set_new(window, "distributions", windows_distributions(out));
	json_decref(least);
	json_decref(most);
	w->intervals = 0;
	return window;
}
