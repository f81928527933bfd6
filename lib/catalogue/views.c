/* SPDX-License-Identifier: MIT */
/* Views: which metrics stand beside each other on a screen, from data/names/views.yaml. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "catalogue/catalogue.h"

#define COLUMN(key, index)                                                              \
	UNC_FIELD(key, MAP, UNC_AT(struct uncore_view, columns[UNCORE_COLUMN_##index]), \
		  .of = UNC_SHAPE(struct unc_view_column, column_fields))

static const struct unc_field column_fields[] = {
	UNC_FIELD("!title", TEXT, UNC_AT(struct unc_view_column, title)),
	UNC_FIELD("!metrics", TEXT, UNC_AT(struct unc_view_column, metrics)),
	UNC_END,
};

static const struct unc_field view_fields[] = {
	UNC_FIELD("!name", TEXT, UNC_AT(struct uncore_view, name)),
	UNC_FIELD("!title", TEXT, UNC_AT(struct uncore_view, title)),
	UNC_FIELD("!screen", TEXT, UNC_AT(struct uncore_view, screen)),
	COLUMN("in", IN),
	COLUMN("out", OUT),
	COLUMN("total", TOTAL),
	COLUMN("share", SHARE),
	COLUMN("latency", LATENCY),
	UNC_END,
};

static const struct unc_field views_fields[] = {
	UNC_FIELD("!views", LIST, UNC_LIST(struct unc_catalogue, views, view_count),
		  .of = UNC_SHAPE(struct uncore_view, view_fields)),
	UNC_END,
};

int unc_catalogue_load_views(struct unc_catalogue *c, struct unc_error *e)
{
	struct unc_reader r = {.e = e};
	int err;

	if (c->views_file)
		return 0;
	err = unc_load_named(&c->views_file, "views", unc_embedded_names, unc_embedded_names_count,
			     "list", e);
	if (err < 0)
		return err;
	r.file = c->views_file;
	return unc_fill(&r, r.file->root, UNC_SHAPE(struct unc_catalogue, views_fields), c);
}

/* The place of the metric among the column's names, from 0 on, and the number in its name, -1
 * without one. False: the column does not have the metric. */
static bool has_metric(const struct unc_view_column *column, const char *metric,
		       struct unc_view_cell *cell)
{
	const char *at = column->metrics;
	char pattern[64];
	uint64_t number;
	int n;

	for (unsigned rank = 0; at && sscanf(at, "%63s%n", pattern, &n) == 1; rank++, at += n) {
		number = UINT64_MAX;
		if (!unc_pattern_value(pattern, metric, "n", &number))
			continue;
		cell->rank = rank;
		cell->number = number <= INT_MAX ? (int)number : -1;
		return true;
	}
	return false;
}

bool unc_catalogue_find_view(const struct unc_catalogue *c, const char *metric,
			     struct unc_view_cell *out)
{
	for (size_t i = 0; i < c->view_count; i++)
		for (int k = 0; k < UNCORE_COLUMNS; k++)
			if (has_metric(&c->views[i].columns[k], metric, out)) {
				out->view = &c->views[i];
				out->column = (enum uncore_column)k;
				return true;
			}
	return false;
}
