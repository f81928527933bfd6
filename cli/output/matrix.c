/* SPDX-License-Identifier: MIT */
/* Text of `matrix`: a table for reads and one for writes, with a line for each source of
 * requests and a column for each target, by the cells of metrics: "cpu.memory.read"; and a table
 * of pairs for devices that count themselves. It is no struct view, since its lines come from
 * metrics and not from places. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "output/devices.h"
#include "output/output.h"

#define WORD 40 /* room for a source or target, which may be a device */
#define WORDS 64

/* The order of lines and columns. Other words follow in the order of their first rows. */
static const char *const order[] = {"cpu", "device", "memory", "gpu",
				    "cxl", "remote", "other",  NULL};

static const char *const kinds[] = {"read", "write"};

#define CELLS 2     /* of a row */
#define PEER " to " /* in the name of a link, before its other end */

struct words {
	char items[WORDS][WORD];
	size_t count;
};

/* A row in the tables: "cpu", "memory", "read". */
struct matrix_cell {
	char from[WORD], to[WORD], kind[WORD];
	const struct uncore_row *row;
	bool device;  /* a device counts itself */
	bool at_most; /* others may have asked for a part of it, or for nothing */
};

/* The tables of a place. Those of reads and writes have the same lines and columns. */
struct grid {
	struct out *out;
	const struct uncore_row_place *place;
	struct matrix_cell *cells;
	size_t count;
	struct words from, to;
	bool holes, most;
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

/* Each device is a line in the tables of the machine. */
static const struct uncore_row_place *place_of(const struct uncore_row *row)
{
	static const struct uncore_row_place machine = {
		.socket = -1, .node = -1, .cpu = -1, .channel = -1};

	return devices_is_device(row->place) ? &machine : row->place;
}

/* The name by which the device at this address counts itself, as one of the same family; NULL:
 * none. */
static const char *name_of(const struct uncore *u, const char *address, const char *family)
{
	for (size_t i = 0; i < uncore_pmu_count(u); i++) {
		const struct uncore_pmu *pmu = uncore_pmu_at(u, i);
		const struct uncore_device *d = uncore_pmu_device(u, pmu);

		if (d && strcmp(d->address, address) == 0 &&
		    cli_same(uncore_pmu_family(pmu), family))
			return uncore_pmu_name(pmu);
	}
	return NULL;
}

/* A device has its name, and so has the other end of its link: "link 3 to 0000:4b:00.0". False: the
 * other end counts the same itself. */
static bool put_names(const struct grid *g, struct matrix_cell *c)
{
	const struct uncore_row_place *place = c->row->place;
	const char *peer = place->role ? strstr(place->role, PEER) : NULL, *name = NULL;
	char *own = c->at_most ? c->to : c->from, *other = c->at_most ? c->from : c->to;

	if (place->pmu)
		snprintf(own, WORD, "%s", uncore_pmu_name(place->pmu));
	if (!peer)
		return true;
	name = name_of(g->out->setup.machine, peer + strlen(PEER), c->row->query->family);
	snprintf(other, WORD, "%s", name ? name : peer + strlen(PEER));
	return !name || !c->at_most;
}

static void add_cells(struct grid *g, const struct uncore_row *row)
{
	const char *at = row->query->cell;
	int length;

	for (size_t i = 0; at && i < CELLS && out_same_place(place_of(row), g->place); i++) {
		struct matrix_cell *c = &g->cells[g->count];

		*c = (struct matrix_cell){.row = row, .at_most = i > 0};
		if (sscanf(at, " %39[^. ].%39[^. ].%39[^. ]%n", c->from, c->to, c->kind, &length) !=
		    3)
			return;
		at += length;
		c->device = row->query->of_device;
		if (!c->device || put_names(g, c))
			g->count++;
	}
}

static bool is_at(const struct matrix_cell *c, const char *kind, const char *from, const char *to)
{
	return strcmp(c->kind, kind) == 0 && strcmp(c->from, from) == 0 && strcmp(c->to, to) == 0;
}

/* Whether the rows are of links of one device, which are added up. */
static bool same_count(const struct matrix_cell *a, const struct matrix_cell *b)
{
	return a->row->place->pmu == b->row->place->pmu && out_same_query(a->row, b->row);
}

static bool is_later(const struct grid *g, size_t i)
{
	const struct matrix_cell *c = &g->cells[i];

	for (size_t k = 0; k < i; k++)
		if (is_at(&g->cells[k], c->kind, c->from, c->to) && same_count(&g->cells[k], c))
			return true;
	return false;
}

/* Several families may have a metric for one cell. */
static void put_cell(struct grid *g, struct table *t, const char *kind, const char *from,
		     const char *to)
{
	auto_buffer text = {0};

	for (size_t i = 0; i < g->count; i++) {
		const struct matrix_cell *c = &g->cells[i];
		enum uncore_quality quality = c->row->quality;
		double value = 0;

		if (!is_at(c, kind, from, to) || is_later(g, i))
			continue;
		for (size_t k = i; k < g->count; k++) {
			if (!is_at(&g->cells[k], kind, from, to) || !same_count(&g->cells[k], c))
				continue;
			value += g->cells[k].row->value;
			if (g->cells[k].row->quality > quality)
				quality = g->cells[k].row->quality;
		}
		g->most |= c->at_most;
		buffer_printf(&text, "%s%s%s", text.len ? " | " : "",
			      c->at_most && isfinite(value) ? "<= " : "",
			      human(value, c->row->query->unit).text);
		if (quality != UNCORE_MEASURED)
			buffer_puts(&text, quality == UNCORE_SCALED ? " ~" : " !");
	}
	g->holes = g->holes || !text.len;
	table_cell(t, "%s", text.len ? text.data : "n/a");
}

static void put_grid(struct grid *g, const char *kind)
{
	struct table *widths = *kind == 'r' ? &g->out->table : &g->out->below;
	struct table_column columns[TABLE_COLUMNS + 1] = {
		{*kind == 'r' ? "READS" : "WRITES", false}};
	char titles[TABLE_COLUMNS][WORD + sizeof("to")];
	auto_table t = {0};

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
	buffer_puts(g->out->to, "\n");
}

/* A line for each pair of which one end counts itself: a machine may have many. */
static void put_devices(struct grid *g)
{
	static const struct table_column columns[] = {
		{"FROM", 0}, {"TO", 0}, {"READS", TABLE_RIGHT}, {"WRITES", TABLE_RIGHT}, {0}};
	auto_table t = {0};

	table_init(&t, columns);
	for (size_t i = 0; i < g->count; i++) {
		const struct matrix_cell *c = &g->cells[i];
		bool later = !c->device;

		for (size_t k = 0; k < i && !later; k++)
			later = g->cells[k].device && strcmp(g->cells[k].from, c->from) == 0 &&
				strcmp(g->cells[k].to, c->to) == 0;
		if (later)
			continue;
		table_cell(&t, "%s", c->from);
		table_cell(&t, "%s", c->to);
		for (size_t k = 0; k < 2; k++)
			put_cell(g, &t, kinds[k], c->from, c->to);
		table_end_row(&t, NULL);
	}
	if (t.cells.len) {
		table_print(&t, g->out->to);
		buffer_puts(g->out->to, "\n");
	}
}

static void put_title(struct buffer *to, const struct uncore_row_place *place)
{
	if (place->pmu && place->cpu < 0)
		buffer_printf(to, "%s\n", uncore_pmu_name(place->pmu));
	else if (place->pmu)
		buffer_printf(to, "%s, CPU %d\n", uncore_pmu_name(place->pmu), place->cpu);
	else if (place->node >= 0)
		buffer_printf(to, "Node %d\n", place->node);
	else if (place->socket >= 0)
		buffer_printf(to, "Socket %d\n", place->socket);
}

/* All tables of one place. */
static void put_place(struct out *out, const struct uncore_row_place *place)
{
	struct grid g = {.out = out,
			 .place = place,
			 .cells = cli_realloc(NULL, CELLS * out->row_count, sizeof(*g.cells))};

	for (size_t i = 0; i < out->row_count; i++)
		add_cells(&g, out->rows[i].row);
	/* Each machine has these lines and columns, with "n/a" where it has no counter. */
	add_word(&g.from, "cpu", WORDS);
	add_word(&g.from, "device", WORDS);
	add_word(&g.from, "remote", WORDS);
	add_word(&g.to, "memory", TABLE_COLUMNS - 1);
	add_word(&g.to, "remote", TABLE_COLUMNS - 1);
	for (size_t i = 0; i < g.count; i++) {
		if (g.cells[i].device)
			continue;
		add_word(&g.from, g.cells[i].from, WORDS);
		add_word(&g.to, g.cells[i].to, TABLE_COLUMNS - 1);
	}
	put_title(out->to, place);
	for (size_t k = 0; k < 2; k++)
		put_grid(&g, kinds[k]);
	put_devices(&g);
	if (g.holes)
		out_once(out, "n/a: no counter of this machine counts this pair separately");
	out_reasons(out, place);
	if (g.most) {
		out_once(out,
			 "<=: at most: a device counts bytes by direction, and not who asked "
			 "for them, so that what it reads and what others write into it is one "
			 "number.");
		out_once(out, "Where the other end of a link is no device, it is memory or several "
			      "devices, which are not counted separately.");
	}
	free(g.cells);
}

void matrix_output_window(struct out *out)
{
	out_text_header(out);
	out_text_time(out);
	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_row_place *place = place_of(out->rows[i].row);
		size_t first = 0;

		while (!out_same_place(place_of(out->rows[first].row), place))
			first++;
		if (first == i)
			put_place(out, place);
	}
	out_reasons(out, NULL);
}
