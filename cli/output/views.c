/* SPDX-License-Identifier: MIT */
/* The tables of `pcie --ddio` and of presets with --resctrl. A new one is an entry here and a row
 * of `outputs`. */
#include "output/view.h"

#include <stdio.h>
#include <string.h>

#include "base/cli.h"
#include "output/output.h"

/* ---- what devices find in the last-level cache ---- */

static const char *llc_part(const char *name)
{
	static const char llc[] = ".llc.";
	const char *part = strstr(name, llc);

	return part ? part + strlen(llc) : name;
}

static bool same_direction(const struct uncore_row *a, const struct uncore_row *b)
{
	const char *x = a->query->name, *y = b->query->name;

	return ports_same_line(a, b) && strncmp(x, y, (size_t)(llc_part(y) - y)) == 0;
}

static void put_direction(struct table *t, const struct uncore_row *row)
{
	out_place_cell(t, row->place);
	table_cell(t, strstr(row->query->name, ".read.") ? "read" : "write");
}

static void ddio_legend(struct out *out, const struct view_line *lines, size_t count)
{
	(void)lines;
	(void)count;
	out_once(out,
		 "LLC: hits, lines that the last-level cache holds (DDIO). MEMORY: misses, lines "
		 "that are read from memory or will be written there. Writes of parts of "
		 "lines count as 64 bytes each.");
}

/* Lines for reads and for writes: pcie.inbound.read.llc.hit.ratio is in the line "read". */
const struct view ddio_view = {
	.head = put_direction,
	.same = same_direction,
	.columns = {{"PLACE", 0},
		    {"DEVICES", 0},
		    {"ALL", TABLE_RIGHT | TABLE_RATE},
		    {"LLC", TABLE_RIGHT | TABLE_RATE},
		    {"MEMORY", TABLE_RIGHT | TABLE_RATE},
		    {"LLC", TABLE_RIGHT | TABLE_TIME},
		    {"MEMORY", TABLE_RIGHT | TABLE_TIME}},
	.metrics = {"bandwidth", "hit.bandwidth", "miss.bandwidth", "hit.ratio", "miss.ratio"},
	.part = llc_part,
	.legend = ddio_legend,
};

/* ---- presets with --resctrl ---- */

static bool same_group(const struct uncore_row *a, const struct uncore_row *b)
{
	return out_same_place(a->place, b->place) && cli_same(a->place->role, b->place->role);
}

/* "group.memory.local.bandwidth" is headed "LOCAL BANDWIDTH". */
static void make_column(struct out_metric *m, const struct uncore_row *row)
{
	const char *name = row->query->name, *dot = strchr(name, '.');

	dot = dot ? strchr(dot + 1, '.') : NULL;
	snprintf(m->name, sizeof(m->name), "%s", name);
	snprintf(m->title, sizeof(m->title), "%s", dot ? dot + 1 : name);
	for (char *c = m->title; (c = strchr(c, '.'));)
		*c = ' ';
}

static void put_group(struct table *t, const struct uncore_row *row)
{
	const struct uncore_row_place *place = row->place;
	const char *cache = place->pmu ? uncore_pmu_identifier(place->pmu) : NULL;

	table_cell(t, "%s", place->role ? place->role : "");
	if (cache)
		table_cell(t, "%s", cache);
	else
		out_place_cell(t, place);
}

/* Any quality but "measured" has the mark "!". */
static void put_traffic(struct table *t, const struct uncore_row *row)
{
	table_cell(t, "%s%s", human(row->value, row->query->unit).text,
		   row->quality == UNCORE_MEASURED ? "" : " !");
}

/* A line for each group on each cache. */
const struct view groups_view = {
	.head = put_group,
	.same = same_group,
	.columns = {{"GROUP", 0}, {"CACHE", 0}},
	.make = make_column,
	.value = put_traffic,
};
