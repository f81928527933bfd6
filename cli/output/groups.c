/* SPDX-License-Identifier: MIT */
/* Text of presets with --resctrl: a line for each group and cache, with a column for each metric. */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "output/output.h"

#define METRICS (TABLE_COLUMNS - 2) /* beside the group and its cache */

static bool same_line(const struct uncore_row *a, const struct uncore_row *b)
{
	const char *x = a->place.role ? a->place.role : "", *y = b->place.role ? b->place.role : "";

	return out_same_place(&a->place, &b->place) && strcmp(x, y) == 0;
}

/* "memory.local.bandwidth" is headed "LOCAL BANDWIDTH". */
static void make_title(char *title, size_t size, const char *name)
{
	const char *dot = strchr(name, '.');

	snprintf(title, size, "%s", dot ? dot + 1 : name);
	for (char *c = title; *c; c++)
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

static void put_line(struct out *out, struct table *t, const struct uncore_row *line,
		     const char *const *names)
{
	const struct uncore_pmu *pmu = line->place.pmu;
	struct buffer place = {0};

	if (pmu && uncore_pmu_identifier(pmu))
		buffer_puts(&place, uncore_pmu_identifier(pmu));
	else
		out_place(&place, &line->place);
	table_cell(t, "%s", line->place.role ? line->place.role : "");
	table_cell(t, "%s", place.data);
	for (; *names; names++)
		put_value(out, t, line, *names);
	table_end_row(t, NULL);
	buffer_free(&place);
}

/* True when this row is the first of its line, or (`metric`) of its metric. */
static bool is_first(const struct out *out, size_t i, bool metric)
{
	const struct uncore_row *row = out->rows[i].row;

	for (size_t k = 0; k < i; k++) {
		const struct uncore_row *other = out->rows[k].row;

		if (metric ? strcmp(other->query.name, row->query.name) == 0
			   : same_line(other, row))
			return false;
	}
	return true;
}

void groups_output_window(struct out *out)
{
	struct table_column columns[TABLE_COLUMNS + 1] = {{"GROUP", false}, {"CACHE", false}};
	const char *names[METRICS + 1] = {NULL};
	char titles[METRICS][40];
	struct table t;

	out_text_header(out);
	out_text_time(out);
	for (size_t i = 0, count = 0; i < out->row_count && count < METRICS; i++) {
		if (!is_first(out, i, true))
			continue;
		names[count] = out->rows[i].row->query.name;
		make_title(titles[count], sizeof(titles[0]), names[count]);
		columns[count + 2] = (struct table_column){titles[count], true};
		count++;
	}
	table_init(&t, columns);
	for (size_t i = 0; i < out->row_count; i++)
		if (is_first(out, i, false))
			put_line(out, &t, out->rows[i].row, names);
	table_print(&t, out->to);
	table_free(&t);
	out_reasons(out, NULL);
}
