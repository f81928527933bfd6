/* SPDX-License-Identifier: MIT */
/* Text for people: aligned columns, a unit that suits the value, the quality and its reason. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "output/human.h"
#include "output/output.h"

static const struct table_column columns[] = {
	{"TIME", true},  {"WINDOW", true},  {"NAME", false},    {"PLACE", false}, {"VALUE", true},
	{"UNIT", false}, {"SPREAD", false}, {"QUALITY", false}, {NULL, false},
};

static bool same_query(const struct uncore_row *a, const struct uncore_row *b)
{
	const char *fa = a->query.family ? a->query.family : "";
	const char *fb = b->query.family ? b->query.family : "";

	return strcmp(a->query.name, b->query.name) == 0 && strcmp(fa, fb) == 0;
}

/* True when another family has rows of the same name: then the family is printed, too. */
static bool ambiguous(const struct out *out, const struct uncore_row *row)
{
	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_row *other = out->rows[i].row;

		if (other->query.family && strcmp(other->query.name, row->query.name) == 0 &&
		    !same_query(other, row))
			return true;
	}
	return false;
}

static void put_time(struct out *out)
{
	char window[48];

	if (!out->setup.intervals) {
		table_cell(&out->table, "%s", "");
		table_cell(&out->table, "%s", "");
		return;
	}
	human_duration(window, sizeof(window), out->frame.window);
	if (out->frame.total)
		table_cell(&out->table, "total");
	else
		table_cell(&out->table, "%.6f", out->frame.time);
	table_cell(&out->table, "%s", window);
}

/* The reason or, of a row without one, its share of the ceiling. */
static void end_row(struct table *t, const struct uncore_row *row, bool repeated)
{
	char share[120];
	struct human ceiling;

	if (row->reason || !isfinite(row->value / row->ceiling)) {
		table_end_row(t, repeated ? "(same reason)" : row->reason);
		return;
	}
	human_value(&ceiling, row->ceiling, row->query.unit);
	snprintf(share, sizeof(share), "%.1f %% of %s %s", row->value / row->ceiling * 100,
		 ceiling.number, ceiling.unit);
	table_end_row(t, share);
}

static void put_quality(struct table *t, const struct uncore_row *row)
{
	const char *name = uncore_quality_name(row->quality);

	if (isfinite(row->value) && row->counted.coverage < 1)
		table_cell(t, "%s %.3g %%", name, row->counted.coverage * 100);
	else
		table_cell(t, "%s", name);
}

/* A percentile is known only as a bin of a histogram and printed as its bounds. Any other value lies
 * between its bounds, and half their distance is printed as its spread. */
static void put_value(struct table *t, const struct uncore_row *row, double spread)
{
	struct human value, low;

	human_value(&value, row->value, row->query.unit);
	human_value(&low, row->low, row->query.unit);
	if (isfinite(row->low) && !isfinite(row->high))
		table_cell(t, "≥ %s", low.number);
	else if (isfinite(row->low) && row->value >= row->high)
		table_cell(t, "%s to %s", low.number, value.number);
	else
		table_cell(t, "%s", value.number);
	table_cell(t, "%s", value.unit);
	if (!isfinite(spread) && row->low < row->value && row->value < row->high)
		spread = (row->high - row->low) / 2 / fabs(row->value);
	if (isfinite(spread))
		table_cell(t, "± %.2f %%", spread * 100);
	else
		table_cell(t, "%s", "");
}

static void put_row(struct out *out, const struct out_row *kept, bool family, bool repeated)
{
	const struct uncore_row *row = kept->row;
	struct table *t = &out->table;
	struct buffer place = {0};

	out_place(&place, &row->place);
	if (row->place.role)
		buffer_printf(&place, ", %s", row->place.role);

	put_time(out);
	table_cell(t, "%s%s%s", family ? row->query.family : "", family ? "/" : "",
		   row->query.name);
	table_cell(t, "%s", place.data);
	put_value(t, row, kept->spread);
	put_quality(t, row);
	end_row(t, row, repeated);
	buffer_free(&place);
}

void text_output_window(struct out *out)
{
	const struct uncore_row *last = NULL;
	bool family = false;

	/* The widths of columns stay from window to window. */
	if (!out->table.columns)
		table_init(&out->table, columns);
	out_text_header(out);
	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_row *row = out->rows[i].row;
		bool repeated = last && last->reason && row->reason &&
				strcmp(last->reason, row->reason) == 0;

		if (!last || !same_query(last, row))
			family = row->query.family && ambiguous(out, row);
		put_row(out, &out->rows[i], family, repeated);
		last = row;
	}
	table_print(&out->table, out->to);
}
