/* SPDX-License-Identifier: MIT */
/* Tables for people with a line for each place and a column for each metric. */
#ifndef CLI_VIEW_H
#define CLI_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "base/table.h"

struct out;

#define VIEW_METRICS 5 /* of one table, at most */

/* All but metrics and columns is optional. */
struct view {
	/* A column for each, behind the one of the place. Rows of other metrics are in a table
	 * below, as `text` prints them. */
	const char *metrics[VIEW_METRICS + 1];
	struct table_column columns[VIEW_METRICS + 2];
	const char *clocks; /* a metric in the last column, too */
	/* The column with the largest share of the ceiling in the columns before it; in lines
	 * without a ceiling the values of its metric. 0: none. */
	size_t peak;
	/* The only place of a socket with a PMU has the numbers of the socket, and no line. */
	bool hides_single;
	/* `ceiling`, `busy`: the column `peak` has shares of a ceiling, or values. */
	void (*legend)(struct out *out, bool ceiling, bool busy);
};

extern const struct view memory_view, links_view;

#endif
