/* SPDX-License-Identifier: MIT */
/* The rows of `uncore top` as a tree: metrics and events, their sockets, the channels, ports and
 * links of those, the devices below a port. It knows nothing of a terminal. */
#ifndef CLI_TOP_MODEL_H
#define CLI_TOP_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "uncore.h"

#define TOP_SLOTS 60 /* seconds of history */
#define TOP_NONE SIZE_MAX

enum top_sort { TOP_BY_ORDER, TOP_BY_VALUE, TOP_BY_SHARE, TOP_BY_NAME, TOP_SORTS };

struct top_node {
	size_t row;    /* its index in the sample; TOP_NONE: a device */
	size_t parent; /* a node before this one; TOP_NONE: a metric or an event */
	char *label;
	size_t children; /* number of nodes below, one level */
	unsigned depth;
	bool open;
	bool matches;             /* it or a node above it matches the filter */
	bool leads;               /* a node below matches */
	float history[TOP_SLOTS]; /* a ring of seconds; NaN: no value */
};

struct top_model {
	const struct uncore *machine;
	const struct uncore_sample *sample;
	struct top_node *nodes; /* those above come first */
	size_t count;
	enum top_sort sort;
	char filter[64]; /* "": none */
	size_t *lines;   /* visible nodes, from top to bottom */
	size_t line_count;
	size_t cursor;  /* a node; TOP_NONE: nothing is visible */
	uint64_t slot;  /* the second of the latest values, since the clock's start */
	unsigned mixed; /* samples in this second */
	double seconds; /* from the first sample's begin to the latest one's end */
	uint64_t begin_ns;
};

/* A sample whose rows have the same order each time. The first one makes the tree. */
void top_update(struct top_model *m, const struct uncore *machine,
		const struct uncore_sample *sample);
void top_free(struct top_model *m);

/* Makes the visible lines anew, after a change of sort, filter or open nodes. The cursor keeps its
 * node, or goes to the nearest one above. */
void top_arrange(struct top_model *m);

/* NULL: a device, or TOP_NONE. */
const struct uncore_row *top_row(const struct top_model *m, size_t node);

/* The distribution of its short samples; NULL: there are none. */
const struct uncore_distribution *top_distribution(const struct top_model *m, size_t node);

/* Value over ceiling, or a ratio itself; NaN: unknown. `limited` (or NULL): there is a ceiling. */
double top_share(const struct uncore_row *row, bool *limited);

/* Line of the cursor. */
size_t top_cursor_line(const struct top_model *m);
/* Moves the cursor by so many lines. */
void top_move(struct top_model *m, long lines);
/* Opens or closes the node at the cursor; closing one that is closed goes to the node above. */
void top_open(struct top_model *m, bool open);
/* Opens all nodes, or closes them if all are open. Devices stay hidden. */
void top_open_all(struct top_model *m);

/* The mean of some seconds up to `ago` columns before the present one, each column `per`
 * seconds. */
float top_history(const struct top_model *m, const struct top_node *node, unsigned ago,
		  unsigned per);

#endif
