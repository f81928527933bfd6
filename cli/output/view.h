/* SPDX-License-Identifier: MIT */
/* Tables for people with a line for each place and a column for each metric. */
#ifndef CLI_VIEW_H
#define CLI_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "base/table.h"
#include "output/output.h"

#define VIEW_METRICS 5 /* of one table, at most */

/* Whether two rows are in one line. */
typedef bool view_same(const struct uncore_row *a, const struct uncore_row *b);
/* Names the column of a row, and prints its title, which is then set in capitals. */
typedef void view_make(struct out_metric *into, const struct uncore_row *row);

/* A line. A cell without a row is NULL; of several rows in one cell it has the first. */
struct view_line {
	const struct uncore_row *row; /* its first one */
	const struct uncore_row *cells[TABLE_COLUMNS];
};

/* All members but `head`, `same` and `columns` are optional. */
struct view {
	/* Prints the cells in front of the metrics' ones. */
	void (*head)(struct table *t, const struct uncore_row *row);
	view_same *same;
	/* All columns, or with `make` only the two of `head`. */
	struct table_column columns[VIEW_METRICS + 3];
	/* The metrics of the columns behind `head`. A row of another metric, or a second row for a
	 * cell, is in a table below, as `text` prints it. */
	const char *metrics[VIEW_METRICS + 1];
	/* The part of a metric's name that is in `metrics`; NULL: all of it. */
	const char *(*part)(const char *name);
	const char *clocks; /* a metric in the last column, too */
	view_make *make;    /* makes a column for each metric that the first window has */
	/* Prints a value; NULL: out_value(). */
	void (*value)(struct table *t, const struct uncore_row *row);
	const char *none; /* in a cell without a row */
	/* The column with the largest share of the ceiling in the columns before it; in lines
	 * without a ceiling the values of its metric. 0: none. */
	size_t peak;
	bool sorted; /* by place; otherwise the lines are in the order of their rows */
	/* The only place of a socket with a PMU has the numbers of the socket, and no line. */
	bool hides_single;
	/* `ceiling`, `busy`: the column `peak` has shares of a ceiling, or values. */
	void (*legend)(struct out *out, bool ceiling, bool busy);
};

extern const struct view memory_view, links_view, ddio_view, groups_view;

/* Makes out->table with a column for each metric of this window, behind two columns and before the
 * one of `last`, unless that is NULL. */
void view_columns(struct out *out, const char *first, const char *second, const char *last,
		  view_make *make);
/* The index in out->metrics; the number of metrics: there is no such column. */
size_t view_column(const struct out *out, const char *name);
/* The lines in the order of their first rows; to be freed. `column`: where a row is, TABLE_COLUMNS
 * or more: nowhere. */
struct view_line *view_lines(const struct out *out, size_t *count, view_same *same,
			     size_t (*column)(const struct out *out, const struct uncore_row *row));

/* Whether rows are in one line of the table of root ports: ports.c. */
bool ports_same_line(const struct uncore_row *a, const struct uncore_row *b);

#endif
