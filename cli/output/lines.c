/* SPDX-License-Identifier: MIT */
/* Tables with a line for each place and a column for each metric; and the text of presets with
 * --resctrl, which has a line for each group and cache. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "output/output.h"

void out_columns(struct out *out, const char *first, const char *second, const char *last,
		 void (*make)(struct out_metric *into, const struct uncore_row *row))
{
	struct table_column *column = out->columns;

	if (out->table.columns)
		return;
	*column++ = (struct table_column){first, TABLE_ALONE};
	*column++ = (struct table_column){second, TABLE_BELOW};
	for (size_t i = 0; i < out->row_count && out->metric_count < TABLE_COLUMNS - 3; i++) {
		struct out_metric *m = &out->metrics[out->metric_count];

		make(m, out->rows[i].row);
		if (out_column(out, m->name) < out->metric_count)
			continue;
		for (char *c = m->title; *c; c++)
			*c = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
		out->metric_count++;
		*column++ = (struct table_column){
			m->title,
			TABLE_RIGHT | (strstr(m->name, ".bandwidth") ? TABLE_RATE
								     : TABLE_BELOW | TABLE_TIME)};
	}
	*column = (struct table_column){last, TABLE_RIGHT};
	out_table(out, &out->table, out->columns);
}

size_t out_column(const struct out *out, const char *name)
{
	size_t i = 0;

	while (i < out->metric_count && strcmp(out->metrics[i].name, name) != 0)
		i++;
	return i;
}

struct out_line *out_lines(const struct out *out, size_t *count,
			   bool (*same)(const struct uncore_row *a, const struct uncore_row *b),
			   size_t (*column)(const struct out *out, const struct uncore_row *row))
{
	struct out_line *lines = cli_realloc(NULL, out->row_count, sizeof(*lines));

	*count = 0;
	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_row *row = out->rows[i].row;
		size_t k = 0, at = column(out, row);

		while (k < *count && !same(lines[k].row, row))
			k++;
		if (k == *count)
			lines[(*count)++] = (struct out_line){.row = row};
		if (at < TABLE_COLUMNS && !lines[k].cells[at])
			lines[k].cells[at] = row;
	}
	return lines;
}

/* ---- the output `groups` ---- */

static bool same_group(const struct uncore_row *a, const struct uncore_row *b)
{
	return out_same_place(a->place, b->place) && cli_same(a->place->role, b->place->role);
}

static size_t group_column(const struct out *out, const struct uncore_row *row)
{
	return out_column(out, row->query->name);
}

/* "memory.local.bandwidth" is headed "LOCAL BANDWIDTH". */
static void make_column(struct out_metric *m, const struct uncore_row *row)
{
	const char *name = row->query->name, *dot = strchr(name, '.');

	snprintf(m->name, sizeof(m->name), "%s", name);
	snprintf(m->title, sizeof(m->title), "%s", dot ? dot + 1 : name);
	for (char *c = m->title; (c = strchr(c, '.'));)
		*c = ' ';
}

static void put_group(struct out *out, const struct out_line *line)
{
	const struct uncore_row_place *place = line->row->place;
	const char *cache = place->pmu ? uncore_pmu_identifier(place->pmu) : NULL;
	struct table *t = &out->table;
	struct human h;

	table_cell(t, "%s", place->role ? place->role : "");
	if (cache)
		table_cell(t, "%s", cache);
	else
		out_place_cell(t, place);
	for (size_t i = 0; i < out->metric_count; i++) {
		const struct uncore_row *row = line->cells[i];

		if (row)
			human_value(&h, row->value, row->query->unit);
		if (row)
			table_cell(t, "%s%s", h.text, row->quality == UNCORE_MEASURED ? "" : " !");
		else
			table_cell(t, "n/a");
	}
	table_end_row(t, NULL);
}

void groups_output_window(struct out *out)
{
	struct out_line *lines;
	size_t count;

	out_text_header(out);
	out_text_time(out);
	out_columns(out, "GROUP", "CACHE", NULL, make_column);
	lines = out_lines(out, &count, same_group, group_column);
	for (size_t i = 0; i < count; i++)
		put_group(out, &lines[i]);
	free(lines);
	table_print(&out->table, out->to);
	out_reasons(out, NULL);
}
