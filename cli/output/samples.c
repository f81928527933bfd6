/* SPDX-License-Identifier: MIT */
/* Short samples show what the mean of an interval hides: percentiles, the largest value, the time
 * above a share of the ceiling, and the longest burst. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/output.h"

double out_rate_scale(const struct uncore_row *row)
{
	static const struct {
		const char *unit;
		double bytes;
	} units[] = {{"KiB", 0x400}, {"MiB", 0x100000}, {"GiB", 0x40000000}};

	for (size_t i = 0; !row->query->family && i < sizeof(units) / sizeof(*units); i++)
		if (strcmp(row->query->unit, units[i].unit) == 0)
			return units[i].bytes;
	return 1;
}

double out_rate_unit(const struct uncore_row *row, char unit[OUT_UNIT_ROOM])
{
	double scale = out_rate_scale(row);
	const char *plain = *row->query->unit ? row->query->unit : "1";

	if (row->query->family)
		snprintf(unit, OUT_UNIT_ROOM, "%s", row->query->unit);
	else
		snprintf(unit, OUT_UNIT_ROOM, "%s/s", scale > 1 ? "B" : plain);
	return scale;
}

/* The beginning of the longest burst, in seconds as in struct frame; NaN: there was no burst. */
static double burst_time(const struct out *out, const struct uncore_distribution *d)
{
	const struct frame *f = &out->frame;

	return d->burst_ns ? f->time + (double)(int64_t)(d->burst_begin_ns - f->monotonic_ns) / 1e9
			   : NAN;
}

/* [index, samples, seconds] for each bin. The bin of values of 0 or less has null as index. The
 * scale is a power of 2, so that it shifts the indices. */
static json_t *bins_of(const struct uncore_distribution *d, double scale)
{
	int shift = (int)lround(log2(scale) * UNCORE_BINS_PER_OCTAVE);
	json_t *list = json_array();

	if (d->zero_samples)
		json_array_append_new(list, json_pack("[n,I,f]", (json_int_t)d->zero_samples,
						      (double)d->zero_ns / 1e9));
	for (size_t i = 0; i < d->bin_count; i++)
		if (d->bins[i])
			json_array_append_new(list,
					      json_pack("[i,I,f]", d->first_bin + (int)i + shift,
							(json_int_t)d->bins[i],
							(double)d->bins_ns[i] / 1e9));
	return list;
}

void out_add_distribution(struct out *out, const struct uncore_distribution *d, double scale,
			  struct field *row)
{
	bool above = isfinite(d->threshold);
	/* Bins need an output with lists, and are printed once, for the whole time. */
	bool bins = (out->output->document || out->output->begin) &&
		    (out->frame.total || !out->setup.intervals);
	const struct field fields[] = {
		{"samples", value_count(d->samples)},
		{"samples_suspect", value_count(d->suspect)},
		{"samples_missing", value_count(d->missing)},
		{"longest_sample", value_real((double)d->longest_sample_ns / 1e9)},
		{"mean", value_real(d->mean * scale)},
		{"min", value_real(d->least * scale)},
		{"p50", value_real(d->p50 * scale)},
		{"p90", value_real(d->p90 * scale)},
		{"p99", value_real(d->p99 * scale)},
		{"max", value_real(d->most * scale)},
		{"threshold", value_real(d->threshold * scale)},
		{"above", value_real(above ? (double)d->above_ns / 1e9 : NAN)},
		{"burst", value_real(above ? (double)d->burst_ns / 1e9 : NAN)},
		{"burst_time", value_real(burst_time(out, d))},
		{bins ? "bins" : NULL, bins ? value_json(bins_of(d, scale)) : value_none()},
		{0},
	};

	while (row->name)
		row++;
	memcpy(row, fields, sizeof(fields));
}

/* ---- the output `samples`: a line for each row, so that it is no struct view ---- */

static const struct table_column columns[] = {
	{"TIME", TABLE_RIGHT},
	{"NAME", TABLE_ALONE},
	{"PLACE", 0},
	{"MEAN", TABLE_RIGHT},
	{"P50", TABLE_RIGHT},
	{"P90", TABLE_RIGHT},
	{"P99", TABLE_RIGHT},
	{"MAX", TABLE_RIGHT},
	{"UNIT", 0},
	{"BURSTS", 0},
	{0},
};

/* Puts a value, with its unit if that is not the unit of the line. A percentile is accurate to
 * 1.1 %, so that it has three digits, unless these give a number above `most`. */
static void put_value(struct table *t, double value, double most, const char *unit,
		      const char *line_unit)
{
	struct human h;
	char text[40];
	size_t len;
	bool rounded;

	snprintf(text, sizeof(text), "%.3g", value);
	rounded = strtod(text, NULL) <= most;
	h = human(rounded ? strtod(text, NULL) : value, unit);
	len = strlen(h.number);
	if (rounded && strchr(h.number, '.') && !strchr(h.number, 'e') && h.number[len - 1] == '0')
		h.number[len - (h.number[len - 2] == '.' ? 2 : 1)] = '\0'; /* a 0 */
	if (!isfinite(value) || value == 0 || strcmp(h.unit, line_unit) == 0)
		table_cell(t, "%s", h.number);
	else
		table_cell(t, "%s %s", h.number, h.unit);
}

void out_bursts(struct buffer *to, const struct uncore_distribution *d, const char *unit,
		double seconds)
{
	struct human threshold;

	if (!isfinite(d->threshold) || !d->samples)
		return;
	threshold = human(d->threshold, unit);
	if (!d->burst_ns)
		buffer_printf(to, "none above %s", threshold.text);
	else
		buffer_printf(to, "%.1f %% above %s, longest %s",
			      (double)d->above_ns / 1e7 / seconds, threshold.text,
			      human((double)d->burst_ns / 1e9, "s").text);
}

static void put_row(struct out *out, const struct out_row *kept)
{
	const struct uncore_row *row = kept->row;
	const struct uncore_distribution *d = kept->distribution;
	char unit[OUT_UNIT_ROOM];
	double scale = out_rate_unit(row, unit);
	const double values[] = {d->mean, d->p50, d->p90, d->p99, d->most};
	struct table *t = &out->table;
	auto_buffer note = {0}, bursts = {0};
	const struct human most = human(d->most * scale, unit);

	if (out->frame.total)
		table_cell(t, "total");
	else if (out->setup.timestamp)
		table_cell(t, "%s", out->date);
	else
		table_cell(t, "%.3f", out->frame.time);
	table_cell(t, "%s", row->query->name);
	out_place_cell(t, row->place);
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		put_value(t, values[i] * scale, i > 0 && i < 4 ? d->most * scale : NAN, unit,
			  most.unit);
	table_cell(t, "%s", most.unit);
	out_bursts(&bursts, d, unit, out->frame.window);
	if (bursts.len && d->burst_ns)
		buffer_printf(&bursts, " at %.3f", burst_time(out, d));
	table_cell(t, "%s", buffer_text(&bursts));
	if (row->quality != UNCORE_MEASURED)
		buffer_printf(&note, "%s%s", uncore_quality_name(row->quality),
			      row->reason ? ": " : "");
	if (row->reason)
		human_text(&note, row->reason);
	table_end_row(t, note.data);
}

void samples_output_window(struct out *out)
{
	out_text_header(out);
	out_table(out, &out->table, columns);
	for (size_t i = 0; i < out->row_count; i++)
		put_row(out, &out->rows[i]);
	table_print(&out->table, out->to);
}
