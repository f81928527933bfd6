/* SPDX-License-Identifier: MIT */
/* Text of `matrix`: lines are the sources of requests, columns the targets, one table for reads and one
 * for writes. The rows are metrics named matrix.FROM.TO.read.bandwidth. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "output/human.h"
#include "output/output.h"

/* Known words first and in this order, others behind them as they come. */
static const char *const order[] = {"cpu", "device", "memory", "gpu", "cxl", "remote", "other"};

struct word {
	const char *text;
	int len;
};

struct words {
	struct word items[TABLE_COLUMNS - 1];
	size_t count;
};

/* The rows of one place: a table of reads and one of writes, with the same lines and columns. */
struct grid {
	const struct out *out;
	const struct uncore_row *place; /* any row of it */
	struct words from, to;
	bool holes;
};

static bool same_word(struct word a, struct word b)
{
	return a.len == b.len && memcmp(a.text, b.text, (size_t)a.len) == 0;
}

/* The word behind the n-th dot of the name. */
static struct word part(const char *name, int n)
{
	while (n--) {
		name = strchr(name, '.');
		if (!name)
			return (struct word){"", 0};
		name++;
	}
	return (struct word){name, (int)strcspn(name, ".")};
}

static size_t rank(struct word w)
{
	size_t i = 0;

	while (i < sizeof(order) / sizeof(order[0]) &&
	       !same_word(w, (struct word){order[i], (int)strlen(order[i])}))
		i++;
	return i;
}

static void add_word(struct words *words, struct word w)
{
	size_t at = words->count;

	for (size_t i = 0; i < words->count; i++)
		if (same_word(words->items[i], w))
			return;
	if (words->count == sizeof(words->items) / sizeof(words->items[0]))
		return;
	while (at && rank(words->items[at - 1]) > rank(w)) {
		words->items[at] = words->items[at - 1];
		at--;
	}
	words->items[at] = w;
	words->count++;
}

static bool is_kind(const struct uncore_row *row, const char *kind)
{
	return same_word(part(row->name, 3), (struct word){kind, (int)strlen(kind)});
}

/* What the cell shows; several families may have one of it. */
static void put_cell(struct grid *g, struct table *t, const char *kind, struct word from,
		     struct word to)
{
	char cell[128] = "";
	size_t at = 0;

	for (size_t i = 0; i < g->out->row_count && at < sizeof(cell); i++) {
		const struct uncore_row *row = g->out->rows[i].row;
		struct human h;

		if (!out_same_place(row, g->place) || !is_kind(row, kind) ||
		    !same_word(part(row->name, 1), from) || !same_word(part(row->name, 2), to))
			continue;
		human_value(&h, row->value, row->unit);
		at += (size_t)snprintf(cell + at, sizeof(cell) - at, "%s%s%s%s", at ? " | " : "",
				       h.number, *h.unit ? " " : "", h.unit);
		if (row->quality != UNCORE_MEASURED && at < sizeof(cell))
			at += (size_t)snprintf(cell + at, sizeof(cell) - at, " %s",
					       row->quality == UNCORE_SCALED ? "~" : "!");
	}
	g->holes = g->holes || !at;
	table_cell(t, "%s", at ? cell : "n/a");
}

static void put_grid(struct grid *g, const char *kind, struct buffer *to)
{
	struct table_column columns[TABLE_COLUMNS + 1] = {
		{*kind == 'r' ? "READS" : "WRITES", false}};
	char titles[TABLE_COLUMNS][40];
	struct table t;

	for (size_t i = 0; i < g->to.count; i++) {
		snprintf(titles[i], sizeof(titles[i]), "to %.*s", g->to.items[i].len,
			 g->to.items[i].text);
		columns[i + 1] = (struct table_column){titles[i], true};
	}
	table_init(&t, columns);
	for (size_t i = 0; i < g->from.count; i++) {
		table_cell(&t, "from %.*s", g->from.items[i].len, g->from.items[i].text);
		for (size_t k = 0; k < g->to.count; k++)
			put_cell(g, &t, kind, g->from.items[i], g->to.items[k]);
		table_end_row(&t, NULL);
	}
	table_print(&t, to);
	table_free(&t);
}

/* Both tables of one place. */
static void put_place(struct out *out, const struct uncore_row *place)
{
	static const char *const kinds[] = {"read", "write"};
	static const struct word common[] = {{"cpu", 3}, {"device", 6}, {"remote", 6}};
	struct grid g = {.out = out, .place = place};

	/* Shown on every machine, as "n/a" where it has no counter for them. */
	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
		add_word(&g.from, common[i]);
	add_word(&g.to, (struct word){"memory", 6});
	add_word(&g.to, common[2]);
	for (size_t i = 0; i < out->row_count; i++) {
		if (!out_same_place(out->rows[i].row, place))
			continue;
		add_word(&g.from, part(out->rows[i].row->name, 1));
		add_word(&g.to, part(out->rows[i].row->name, 2));
	}
	if (place->pmu)
		buffer_printf(out->to, "%s, CPU %d\n", uncore_pmu_name(place->pmu), place->cpu);
	else if (place->socket >= 0)
		buffer_printf(out->to, "Socket %d\n", place->socket);
	for (size_t k = 0; k < 2; k++) {
		put_grid(&g, kinds[k], out->to);
		buffer_puts(out->to, "\n");
	}
	out_reasons(out, place);
	if (g.holes)
		buffer_puts(out->to,
			    "n/a: no counter of this machine counts this pair separately\n");
}

void matrix_output_window(struct out *out)
{
	out_text_header(out);
	out_text_time(out);
	for (size_t i = 0; i < out->row_count; i++) {
		size_t first = 0;

		while (!out_same_place(out->rows[first].row, out->rows[i].row))
			first++;
		if (first == i)
			put_place(out, out->rows[i].row);
	}
}
