/* SPDX-License-Identifier: MIT */
/* Text of presets with --resctrl: a line for each group and cache, with a column for each metric. */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "output/output.h"

static bool same_line(const struct uncore_row *a, const struct uncore_row *b)
{
	const char *x = a->place.role ? a->place.role : "", *y = b->place.role ? b->place.role : "";

	return out_same_place(&a->place, &b->place) && strcmp(x, y) == 0;
}

/* "memory.local.bandwidth" is headed "LOCAL BANDWIDTH". */
static void make_column(struct out_metric *m, const struct uncore_row *row)
{
	const char *name = row->query.name, *dot = strchr(name, '.');

	snprintf(m->name, sizeof(m->name), "%s", name);
	snprintf(m->title, sizeof(m->title), "%s", dot ? dot + 1 : name);
	for (char *c = m->title; *c; c++)
		*c = *c == '.' ? ' ' : *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
}

static void put_value(struct out *out, struct table *t, const struct uncore_row *line,
		      const char *name)
{
	const struct uncore_row *row = NULL;
	struct human h;

	for (size_t i = 0; !row && i < out->row_count; i++)
		if (same_line(out->rows[i].row, line) &&
		    strcmp(out->rows[i].row->query.name, name) == 0)
			row = out->rows[i].row;
	if (!row) {
		table_cell(t, "n/a");
		return;
	}
	human_value(&h, row->value, row->query.unit);
	table_cell(t, "%s%s%s%s", h.number, *h.unit ? " " : "", h.unit,
		   row->quality == UNCORE_MEASURED ? "" : " !");
}

static void put_line(struct out *out, const struct uncore_row *line)
{
	struct table *t = &out->table;
	const struct uncore_pmu *pmu = line->place.pmu;
	struct buffer place = {0};

	if (pmu && uncore_pmu_identifier(pmu))
		buffer_puts(&place, uncore_pmu_identifier(pmu));
	else
		out_place(&place, &line->place);
	table_cell(t, "%s", line->place.role ? line->place.role : "");
	table_cell(t, "%s", place.data);
	for (size_t i = 0; i < out->metric_count; i++)
		put_value(out, t, line, out->metrics[i].name);
	table_end_row(t, NULL);
	buffer_free(&place);
}

void groups_output_window(struct out *out)
{
	out_text_header(out);
	out_text_time(out);
	out_columns(out, "GROUP", "CACHE", NULL, make_column);
	for (size_t i = 0; i < out->row_count; i++) {
		size_t first = 0;

		while (!same_line(out->rows[first].row, out->rows[i].row))
			first++;
		if (first == i)
			put_line(out, out->rows[i].row);
	}
	table_print(&out->table, out->to);
	out_reasons(out, NULL);
}
