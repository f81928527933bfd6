/* SPDX-License-Identifier: MIT */
/* The output of `uncore` alone: a table for each view, the busiest places first. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/output.h"
#include "output/screen.h"

#define BAR_CELLS 10
#define LINES_SHOWN 10 /* of a view */
#define IDLE_SHOWN 8   /* names */

static const struct uncore_row *row_at(const void *context, size_t i)
{
	return ((const struct out *)context)->rows[i].row;
}

static void put_share(struct table *t, double share)
{
	const char *color = share >= 0.9 ? COLOR_BAD : share >= 0.7 ? COLOR_WARN : COLOR_GOOD;
	int full = share >= 1 ? BAR_CELLS : (int)(share * BAR_CELLS + 0.5);
	auto_buffer bar = {0};

	if (!isfinite(share)) {
		table_cell(t, "%s", "");
		return;
	}
	for (int i = 0; i < BAR_CELLS; i++)
		buffer_puts(&bar, i < full ? "█" : "░");
	table_cell(t, "%s%s%s %3.0f %%", color, bar.data, COLOR_END, share * 100);
}

static void put_line(struct table *t, const struct screen_line *line,
		     const struct screen_rows *rows)
{
	table_cell(t, "%*s%s", 2 * (int)line->depth, "", line->label);
	for (int k = 0; k <= UNCORE_COLUMN_TOTAL; k++)
		out_value(t, screen_row(line, rows, (enum uncore_column)k));
	put_share(t, screen_share(line, rows));
	out_value(t, screen_row(line, rows, UNCORE_COLUMN_LATENCY));
	table_end_row(t, line->kind >= SCREEN_PORT && *line->detail ? line->detail : NULL);
}

/* One empty line. */
static void put_gap(struct out *out)
{
	if (out->to->len < 2 || memcmp(out->to->data + out->to->len - 2, "\n\n", 2) != 0)
		buffer_puts(out->to, "\n");
}

/* The idle places of the view that begins at `first`, by name. */
static void put_idle(struct out *out, const struct screen *s, const struct screen_rows *rows,
		     size_t first)
{
	auto_buffer names = {0};
	size_t idle = 0;

	for (size_t i = first; i < s->count && s->lines[i].view == s->lines[first].view; i++) {
		const struct screen_line *line = &s->lines[i];

		if (line->kind < SCREEN_CHANNEL || !screen_is_idle(line, rows))
			continue;
		if (idle++ < IDLE_SHOWN)
			buffer_printf(&names, "%s %s", idle > 1 ? "," : "", line->label);
	}
	if (idle > IDLE_SHOWN)
		buffer_puts(&names, " ...");
	buffer_printf(out->to, "  %zu idle:", idle);
	buffer_wrap(out->to, 2, text_columns(), buffer_text(&names));
}

/* The lines of the view that begins at `first`, and their number. Channels are in the words on the
 * hottest place. */
static size_t put_view(struct out *out, const struct screen *s, const struct screen_rows *rows,
		       size_t first)
{
	const struct uncore_view *view = s->lines[first].view;
	const char *titles[UNCORE_COLUMNS];
	size_t *shown = cli_realloc(NULL, s->count, sizeof(*shown));
	size_t count = 0, idle = 0, more = 0, end = first;
	struct table t;

	for (int k = 0; k < UNCORE_COLUMNS; k++) {
		titles[k] = uncore_view_column_title(view, (enum uncore_column)k);
		titles[k] = titles[k] ? titles[k] : "";
	}
	for (; end < s->count && s->lines[end].view == view; end++) {
		const struct screen_line *line = &s->lines[end];
		bool quiet = line->kind >= SCREEN_CHANNEL && screen_is_idle(line, rows);

		idle += quiet;
		if (!quiet && line->kind != SCREEN_CHANNEL)
			shown[count++] = end;
	}
	screen_sort(s, rows, shown, count);
	more = count > LINES_SHOWN ? count - LINES_SHOWN : 0;
	if (count) {
		const struct table_column columns[] = {{uncore_view_title(view), 0},
						       {titles[0], TABLE_RIGHT},
						       {titles[1], TABLE_RIGHT},
						       {titles[2], TABLE_RIGHT},
						       {"OF PEAK", 0},
						       {titles[4], TABLE_RIGHT},
						       {0}};
		table_init(&t, columns);
		for (size_t i = 0; i < count - more; i++)
			put_line(&t, &s->lines[shown[i]], rows);
		put_gap(out);
		table_print(&t, out->to);
		table_free(&t);
	}
	if (more)
		buffer_printf(out->to, "  %zu more\n", more);
	if (idle)
		put_idle(out, s, rows, first);
	free(shown);
	return end;
}

static void put_doubt(struct out *out, const struct screen *s)
{
	for (size_t i = 0; i < s->count; i++) {
		if (!s->lines[i].uncertain)
			continue;
		out_once(out, "?: which PMU counts these devices is uncertain; 'uncore pcie "
			      "--check PORT' tests it.");
	}
}

/* Metrics that no view has, for the machine. */
static void put_others(struct out *out)
{
	static const struct table_column columns[] = {{"Other", 0}, {"", TABLE_RIGHT}, {0}};
	struct table t;

	table_init(&t, columns);
	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_row *row = out->rows[i].row;
		const struct uncore_view *view;
		enum uncore_column column;
		unsigned rank;
		int number;

		if (!out_is_everywhere(row->place) ||
		    uncore_view_find(out->setup.machine, row->query->name, &view, &column, &rank,
				     &number) != -ENOENT)
			continue;
		table_cell(&t, "%s%s%s", row->query->name, row->place->role ? ", " : "",
			   row->place->role ? row->place->role : "");
		out_value(&t, row);
		table_end_row(&t, NULL);
	}
	if (t.cells.len)
		put_gap(out);
	table_print(&t, out->to);
	table_free(&t);
}

void screens_output_window(struct out *out)
{
	const struct screen_rows rows = {row_at, out, out->row_count};
	struct screen s;

	out_text_header(out);
	screen_make(&s, out->setup.machine, &rows);
	for (size_t i = 0; i < s.count;)
		i = put_view(out, &s, &rows, i);
	put_doubt(out, &s);
	screen_free(&s);
	put_others(out);
	out_reasons(out, NULL);
}
