/* SPDX-License-Identifier: MIT */
/* Tables for people with a line for each place and a column for each metric. */
#ifndef CLI_VIEW_H
#define CLI_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "base/table.h"
#include "uncore.h"

struct out;
struct out_metric;

#define VIEW_METRICS 5  /* of one table, at most */
#define VIEW_COLUMNS 13 /* of a table for all metrics; further ones are below it */

struct view_line {
	const struct uncore_row *row; /* its first one */
	/* By column, the first of several rows; NULL: the place has no such metric. */
	const struct uncore_row *cells[TABLE_COLUMNS];
	double share;          /* the largest share of a ceiling; NaN: its rows have no ceiling */
	bool bandwidth, busy;  /* a row is a bandwidth, or one that is not known to be 0 */
	bool valued, positive; /* a row has a value, or one above 0 */
	/* For order(): */
	double key;
	bool placed; /* it belongs to the line before */
	bool hidden; /* the line is not printed */
};

/* All members but `head`, `same` and `columns` are optional. */
struct view {
	/* Prints the cells in front of the metrics' ones. */
	void (*head)(struct table *t, const struct uncore_row *row);
	/* Whether two rows are in one line. */
	bool (*same)(const struct uncore_row *a, const struct uncore_row *b);
	/* All columns, or with `make` the two of `head` and the one of `end`. */
	struct table_column columns[VIEW_METRICS + 3];
	/* The metrics of the columns behind `head`. A row of another metric, or a second row for a
	 * cell, is in a table below, as `text` prints it. */
	const char *metrics[VIEW_METRICS + 1];
	/* The part of a metric's name that is in `metrics`; NULL: all of it. */
	const char *(*part)(const char *name);
	/* In place of `metrics`, makes a column for each metric that the first window has: its name
	 * without parts that belong to lines, and its title, which is then set in capitals. */
	void (*make)(struct out_metric *into, const struct uncore_row *row);
	const char *(*title)(const struct out *out); /* of the first column; NULL: in `columns` */
	/* Prints a value; NULL: out_value(). */
	void (*value)(struct table *t, const struct uncore_row *row);
	/* Sorts and hides lines. */
	void (*order)(const struct out *out, struct view_line *lines, size_t count);
	/* Prints the last cell, and ends the row. */
	void (*end)(struct out *out, const struct view_line *line);
	/* Prints a row below more than one line. */
	void (*sum)(struct out *out);
	void (*legend)(struct out *out, const struct view_line *lines, size_t count);
};

extern const struct view ports_view, ddio_view, groups_view;

/* The column of a row; TABLE_COLUMNS: the table has no column for it. */
size_t view_column(const struct out *out, const struct uncore_row *row);

/* Whether rows are in one line of the table of root ports: ports.c. */
bool ports_same_line(const struct uncore_row *a, const struct uncore_row *b);

#endif
