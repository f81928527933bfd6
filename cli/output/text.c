/* SPDX-License-Identifier: MIT */
/* Text for people: aligned columns, a unit that suits the value, the quality and its reason. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
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
	char text[120] = "";
	struct buffer place = {0};
	struct human ceiling;

	if (out->setup.intervals)
		snprintf(text, sizeof(text), "%.6f", out->frame.time);
	table_cell(t, "%s", out->setup.intervals && out->frame.total ? "total" : text);
	if (out->setup.intervals)
		human_duration(text, sizeof(text), out->frame.window);
	table_cell(t, "%s", text);
	table_cell(t, "%s%s%s", family ? row->query.family : "", family ? "/" : "",
		   row->query.name);
	out_place(&place, &row->place);
	if (row->place.role)
		buffer_printf(&place, ", %s", row->place.role);
	table_cell(t, "%s", place.data);
	buffer_free(&place);
	put_value(t, row, kept->spread);
	*text = '\0';
	if (isfinite(row->value) && row->counted.coverage < 1)
		snprintf(text, sizeof(text), " %.3g %%", row->counted.coverage * 100);
	table_cell(t, "%s%s", uncore_quality_name(row->quality), text);
	/* The reason or, of a row without one, its share of the ceiling. */
	*text = '\0';
	if (!row->reason && isfinite(row->value / row->ceiling)) {
		human_value(&ceiling, row->ceiling, row->query.unit);
		snprintf(text, sizeof(text), "%.1f %% of %s %s", row->value / row->ceiling * 100,
			 ceiling.number, ceiling.unit);
	}
	table_end_row(t, repeated ? "(same reason)" : row->reason ? row->reason : text);
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
