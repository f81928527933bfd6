/* SPDX-License-Identifier: MIT */
/* Text of `matrix`: a table for reads and one for writes, with a line for each source of requests
 * and a column for each target, by the cells of metrics: "cpu.memory.read". It is no struct view,
 * since its lines come from metrics and not from places. */
#include <stdio.h>
#include <string.h>

#include "base/cli.h"
#include "output/output.h"

#define WORD 40 /* room for a source or target, which may be a device */
#define WORDS 64

/* The order of lines and columns. Other words follow in the order of their first rows. */
static const char *const order[] = {"cpu", "device", "memory", "gpu",
				    "cxl", "remote", "other",  NULL};

struct words {
	char items[WORDS][WORD];
	size_t count;
};

/* The two tables of a place, which have the same lines and columns. */
struct grid {
	struct out *out;
	const struct uncore_row_place *place;
	struct words from, to;
	bool holes;
};

static void add_word(struct words *words, const char *word, size_t most)
{
	size_t at = words->count;

	for (size_t i = 0; i < words->count; i++)
		if (strcmp(words->items[i], word) == 0)
			return;
	if (words->count == most)
		return;
	for (; at && cli_word(order, words->items[at - 1]) > cli_word(order, word); at--)
		memcpy(words->items[at], words->items[at - 1], WORD);
	snprintf(words->items[at], WORD, "%s", word);
	words->count++;
}

static bool is_device(const struct uncore_row *row)
{
	return row->place->pmu && uncore_pmu_is_device(row->place->pmu);
}

/* Each device is a line in the tables of the machine. */
static const struct uncore_row_place *place_of(const struct uncore_row *row)
{
	static const struct uncore_row_place machine = {
		.socket = -1, .node = -1, .cpu = -1, .channel = -1};

	return is_device(row) ? &machine : row->place;
}

/* What a row has in the tables. False: nothing. */
struct parts {
	char from[WORD], to[WORD], kind[WORD];
};

static bool take_cell(const struct grid *g, const struct uncore_row *row, struct parts *c)
{
	const char *text = row->query->cell;

	if (!text || !out_same_place(place_of(row), g->place) ||
	    sscanf(text, "%39[^.].%39[^.].%39[^.]", c->from, c->to, c->kind) != 3)
		return false;
	if (is_device(row))
		snprintf(c->from, sizeof(c->from), "%s", uncore_pmu_name(row->place->pmu));
	return true;
}

/* Several families may have a metric for one cell. */
static void put_cell(struct grid *g, struct table *t, const char *kind, const char *from,
		     const char *to)
{
	auto_buffer cell = {0};

	for (size_t i = 0; i < g->out->row_count; i++) {
		const struct uncore_row *row = g->out->rows[i].row;
		struct human h;
		struct parts c;

		if (!take_cell(g, row, &c) || strcmp(c.kind, kind) != 0 ||
		    strcmp(c.from, from) != 0 || strcmp(c.to, to) != 0)
			continue;
		buffer_printf(&cell, "%s%s", cell.len ? " | " : "",
			      human_value(&h, row->value, row->query->unit));
		if (row->quality != UNCORE_MEASURED)
			buffer_puts(&cell, row->quality == UNCORE_SCALED ? " ~" : " !");
	}
	g->holes = g->holes || !cell.len;
	table_cell(t, "%s", cell.len ? cell.data : "n/a");
}

static void put_grid(struct grid *g, const char *kind)
{
	struct table *widths = *kind == 'r' ? &g->out->table : &g->out->below;
	struct table_column columns[TABLE_COLUMNS + 1] = {
		{*kind == 'r' ? "READS" : "WRITES", false}};
	char titles[TABLE_COLUMNS][40];
	struct table t;

	for (size_t i = 0; i < g->to.count; i++) {
		snprintf(titles[i], sizeof(titles[i]), "to %s", g->to.items[i]);
		columns[i + 1] = (struct table_column){titles[i], true};
	}
	table_init(&t, columns);
	memcpy(t.widths, widths->widths, sizeof(t.widths));
	for (size_t i = 0; i < g->from.count; i++) {
		table_cell(&t, "from %s", g->from.items[i]);
		for (size_t k = 0; k < g->to.count; k++)
			put_cell(g, &t, kind, g->from.items[i], g->to.items[k]);
		table_end_row(&t, NULL);
	}
	table_print(&t, g->out->to);
	memcpy(widths->widths, t.widths, sizeof(t.widths));
	table_free(&t);
}

/* Both tables of one place. */
static void put_place(struct out *out, const struct uncore_row_place *place)
{
	static const char *const kinds[] = {"read", "write"};
	struct grid g = {.out = out, .place = place};

	/* Each machine has these lines and columns, with "n/a" where it has no counter. */
	add_word(&g.from, "cpu", WORDS);
	add_word(&g.from, "device", WORDS);
	add_word(&g.from, "remote", WORDS);
	add_word(&g.to, "memory", TABLE_COLUMNS - 1);
	add_word(&g.to, "remote", TABLE_COLUMNS - 1);
	for (size_t i = 0; i < out->row_count; i++) {
		struct parts c;

		if (!take_cell(&g, out->rows[i].row, &c))
			continue;
		add_word(&g.from, c.from, WORDS);
		add_word(&g.to, c.to, TABLE_COLUMNS - 1);
	}
	if (place->pmu && place->cpu < 0)
		buffer_printf(out->to, "%s\n", uncore_pmu_name(place->pmu));
	else if (place->pmu)
		buffer_printf(out->to, "%s, CPU %d\n", uncore_pmu_name(place->pmu), place->cpu);
	else if (place->node >= 0)
		buffer_printf(out->to, "Node %d\n", place->node);
	else if (place->socket >= 0)
		buffer_printf(out->to, "Socket %d\n", place->socket);
	for (size_t k = 0; k < 2; k++) {
		put_grid(&g, kinds[k]);
		buffer_puts(out->to, "\n");
	}
	out_reasons(out, place);
	if (g.holes)
		out_once(out, "n/a: no counter of this machine counts this pair separately");
}

void matrix_output_window(struct out *out)
{
	bool devices = false;

	out_text_header(out);
	out_text_time(out);
	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_row_place *place = place_of(out->rows[i].row);
		size_t first = 0;

		while (!out_same_place(place_of(out->rows[first].row), place))
			first++;
		if (first == i)
			put_place(out, place);
		devices |= out->rows[i].row->query->at_port != NULL;
	}
	out_reasons(out, NULL);
	if (devices)
		out_once(out, "pcie: memory, or other devices, by what the device counts itself");
}
