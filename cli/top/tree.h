/* SPDX-License-Identifier: MIT */
/* The rows of `uncore top` as a tree: metrics and events, their sockets, the channels, ports and
 * links of a socket, and the devices below a port. */
#ifndef CLI_TOP_TREE_H
#define CLI_TOP_TREE_H

#include "top/data.h"

#define TOP_NONE SIZE_MAX

enum top_sort { TOP_BY_ORDER, TOP_BY_VALUE, TOP_BY_SHARE, TOP_BY_NAME, TOP_SORTS };

struct top_node {
	size_t row;    /* index in the sample; TOP_NONE: it is a device */
	size_t parent; /* a node before this one; TOP_NONE: this is a metric or an event */
	char *label;
	size_t children; /* number of nodes one level below */
	unsigned depth;
	bool open;
	bool is_share; /* of a ceiling */
	bool matches;  /* this node, or one above it, matches the filter */
	bool leads;    /* a node below matches the filter */
	struct data_standing value, share;
};

struct top_model {
	const struct top_data *data;
	struct top_node *nodes; /* each after its parent */
	size_t count;
	enum top_sort sort;
	const char *filter; /* "": none */
	size_t *lines;      /* visible nodes, from top to bottom */
	size_t line_count;
	size_t cursor; /* a node; TOP_NONE: no node is visible */
};

/* Takes the latest sample of the data. The first one makes the tree. */
void top_update(struct top_model *m, const struct top_data *data);
void top_free(struct top_model *m);

/* Makes the visible lines again after a change of `sort`, `filter` or open nodes. If the node of
 * the cursor is no longer visible, the cursor goes to the nearest node above it. */
void top_arrange(struct top_model *m);

/* The row of a node; NULL: it is a device, or TOP_NONE. */
const struct uncore_row *top_row(const struct top_model *m, size_t node);

/* The metric or event that a node is below, or is; TOP_NONE for TOP_NONE. */
size_t top_metric(const struct top_model *m, size_t node);

/* The distribution of a node's short samples; NULL: there are none. */
const struct uncore_distribution *top_distribution(const struct top_model *m, size_t node);

/* The value divided by its ceiling; of a ratio without ceiling the value; NaN: unknown. `*limited`
 * (may be NULL): whether it is a share of a ceiling. */
double top_share(const struct top_model *m, size_t node, bool *limited);

size_t top_cursor_line(const struct top_model *m);
/* Moves the cursor by so many lines. */
void top_move(struct top_model *m, long lines);
/* Opens or closes the node at the cursor. If it is closed already, the cursor goes to its
 * parent. */
void top_open(struct top_model *m, bool open);
/* Opens all nodes, or closes all if they are open. Nodes whose children are devices stay closed. */
void top_open_all(struct top_model *m);

#endif
