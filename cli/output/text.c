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

static void text_begin(struct out *out)
{
	if (!out->table.columns)
		table_init(&out->table, columns);
	out->kept_count = 0;
}

static bool same_item(const struct uncore_row *a, const struct uncore_row *b)
{
	const char *fa = a->family ? a->family : "";
	const char *fb = b->family ? b->family : "";

	return strcmp(a->name, b->name) == 0 && strcmp(fa, fb) == 0;
}

/* True when another family reports the same name: then the name alone says too little. */
static bool ambiguous(const struct out *out, const struct uncore_row *row)
{
	for (size_t i = 0; i < out->kept_count; i++) {
		const struct uncore_row *other = out->kept[i].row;

		if (other->family && strcmp(other->name, row->name) == 0 && !same_item(other, row))
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

/* Where, then what is at the other end. */
static void put_place(struct table *t, const struct uncore_row *row)
{
	struct buffer place = {0};

	if (row->port)
		buffer_printf(&place, "port %s", row->port->address);
	else if (row->pmu && row->cpu >= 0 && uncore_pmu_cpu_count(row->pmu) > 1)
		buffer_printf(&place, "%s, CPU %d", uncore_pmu_name(row->pmu), row->cpu);
	else if (row->pmu)
		buffer_puts(&place, uncore_pmu_name(row->pmu));
	else if (row->cpu >= 0)
		buffer_printf(&place, "CPU %d", row->cpu);
	else if (row->socket >= 0)
		buffer_printf(&place, "socket %d", row->socket);
	else
		buffer_puts(&place, "all");
	if (row->role)
		buffer_printf(&place, ", %s", row->role);
	buffer_add(&place, "", 1);
	table_cell(t, "%s", place.data);
	buffer_free(&place);
}

/* Of a healthy row: how near it is to what the hardware can do. */
static void end_row(struct table *t, const struct uncore_row *row, bool repeated)
{
	char share[120];
	struct human ceiling;

	if (row->reason || !isfinite(row->value / row->ceiling)) {
		table_end_row(t, repeated ? "(same reason)" : row->reason);
		return;
	}
	human_value(&ceiling, row->ceiling, row->unit);
	snprintf(share, sizeof(share), "%.1f %% of %s %s", row->value / row->ceiling * 100,
		 ceiling.number, ceiling.unit);
	table_end_row(t, share);
}

static void put_quality(struct table *t, const struct uncore_row *row)
{
	const char *name = uncore_quality_name(row->quality);

	if (isfinite(row->value) && row->coverage < 1)
		table_cell(t, "%s %.3g %%", name, row->coverage * 100);
	else
		table_cell(t, "%s", name);
}

/* A percentile is a bin of a histogram: its bounds say all that is known. Else `value` lies between
 * them, and half their distance is the spread. */
static void put_value(struct table *t, const struct uncore_row *row, double spread)
{
	struct human value, low;

	human_value(&value, row->value, row->unit);
	human_value(&low, row->low, row->unit);
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

static void put_row(struct out *out, const struct out_kept *kept, bool family, bool repeated)
{
	const struct uncore_row *row = kept->row;
	struct table *t = &out->table;

	put_time(out);
	table_cell(t, "%s%s%s", family ? row->family : "", family ? "/" : "", row->name);
	put_place(t, row);
	put_value(t, row, kept->spread);
	put_quality(t, row);
	end_row(t, row, repeated);
}

static bool same_reason(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

static void text_end(struct out *out)
{
	const struct uncore_row *last = NULL;
	bool family = false;

	out_text_header(out);
	for (size_t i = 0; i < out->kept_count; i++) {
		const struct uncore_row *row = out->kept[i].row;

		if (!last || !same_item(last, row))
			family = row->family && ambiguous(out, row);
		put_row(out, &out->kept[i], family, last && same_reason(last->reason, row->reason));
		last = row;
	}
	table_print(&out->table, out->to);
}

const struct out_ops out_text = {"text", text_begin, out_keep_row, text_end};
