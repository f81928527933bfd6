/* SPDX-License-Identifier: MIT */
/* The tree of `uncore top`. The rows of the first sample make it, and then only values change. */
#include "top/tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "output/devices.h"
#include "output/output.h"

/* ---- the tree ---- */

static size_t add_node(struct top_model *m, size_t row, size_t parent, struct buffer *label)
{
	struct top_node *node;

	m->nodes = cli_realloc(m->nodes, m->count + 1, sizeof(*m->nodes));
	node = &m->nodes[m->count];
	*node = (struct top_node){.row = row,
				  .parent = parent,
				  .matches = true,
				  .value = {NAN, NAN},
				  .share = {NAN, NAN}};
	label->len = cli_clean(label->data, label->len, "");
	label->data[label->len] = '\0';
	node->label = label->data;
	*label = (struct buffer){0};
	if (parent != TOP_NONE) {
		node->depth = m->nodes[parent].depth + 1;
		m->nodes[parent].children++;
	}
	return m->count++;
}

static bool is_single(const struct uncore_row_place *place)
{
	return place->pmu || place->port || place->cpu >= 0;
}

/* The parent of a row: the sum over its socket, else the sum over its role, else any sum of its
 * metric. */
static size_t find_parent(const struct top_model *m, const struct uncore_row *row)
{
	size_t best = TOP_NONE;
	int best_rank = -1;

	for (size_t i = 0; i < m->count; i++) {
		const struct uncore_row *other = top_row(m, i);
		int socket = other ? other->place->socket : -1, rank;

		if (!other || is_single(other->place) || !out_same_query(other, row))
			continue;
		rank = 2 * (socket >= 0) + cli_same(other->place->role, row->place->role);
		if (rank > best_rank &&
		    (socket < 0 || (is_single(row->place) && socket == row->place->socket))) {
			best_rank = rank;
			best = i;
		}
	}
	return row->place->socket < 0 && !is_single(row->place) ? TOP_NONE : best;
}

/* Whether another row says the same: a channel has a row beside its PMU, or the only socket has a
 * row beside the machine. */
static bool is_double(const struct top_model *m, const struct uncore_row *row, size_t parent)
{
	if (parent == TOP_NONE || row->place->port)
		return false;
	if (!row->place->pmu)
		return uncore_socket_count(m->data->machine) == 1;
	for (size_t i = parent + 1; i < m->count && row->place->channel < 0; i++)
		if (m->nodes[i].parent == parent && top_row(m, i)->place->channel >= 0)
			return true;
	return false;
}

/* Adds what the device itself counts of the traffic of the node's row. False: nothing. */
static bool add_own_rows(struct top_model *m, size_t node, const struct uncore_device *d)
{
	const char *name = top_row(m, node)->query->name;
	bool any = false;

	for (size_t i = 0; i < m->data->count; i++) {
		const struct uncore_row *row = data_row(m->data, i);
		struct buffer label = {0};

		if (row->place->device != d || !cli_same(row->query->at_port, name))
			continue;
		buffer_printf(&label, "%s: ", uncore_pmu_name(row->place->pmu));
		device_text(&label, d);
		add_node(m, i, node, &label);
		any = true;
	}
	return any;
}

/* Adds the devices below the row's port, or below the ports that its PMU counts. */
static void add_devices(struct top_model *m, size_t node)
{
	const struct uncore_row_place *place = top_row(m, node)->place;

	for (size_t i = 0; i < uncore_device_count(m->data->machine); i++) {
		const struct uncore_device *d = uncore_device_at(m->data->machine, i);
		struct buffer label = {0};

		if (d->is_bridge || !d->port || !devices_port_counted(place, d->port) ||
		    add_own_rows(m, node, d))
			continue;
		device_text(&label, d);
		add_node(m, TOP_NONE, node, &label);
	}
}

/* "port 0000:17:00.0: nvme0, nvme1" */
static void put_names(struct buffer *label, const struct uncore *u,
		      const struct uncore_device *port)
{
	const char *between = ": ";

	for (size_t i = 0; i < uncore_device_count(u); i++) {
		const struct uncore_device *d = uncore_device_at(u, i);
		const char *name = d->names ? d->names : device_name(d);

		if (d->port != port || d->is_bridge || !name)
			continue;
		buffer_printf(label, "%s%s", between, name);
		between = ", ";
	}
}

static bool has_namesake(const struct top_model *m, const struct uncore_row *row)
{
	for (size_t i = 0; i < m->data->count; i++) {
		const struct uncore_row *other = data_row(m->data, i);

		if (cli_same(other->query->name, row->query->name) && !out_same_query(other, row))
			return true;
	}
	return false;
}

/* Whether it is the share of a ceiling, not another ratio. */
static bool is_share(const struct top_model *m, const struct uncore_row *row)
{
	struct view_cell cell = cli_view_cell(m->data->machine, row->query->name);

	return cell.view && cell.column == UNCORE_COLUMN_SHARE;
}

static void add_row(struct top_model *m, size_t i)
{
	const struct uncore_row *row = data_row(m->data, i);
	size_t parent = find_parent(m, row);
	struct buffer label = {0};
	size_t node;

	if (is_double(m, row, parent))
		return;
	if (parent == TOP_NONE && row->query->family && has_namesake(m, row))
		buffer_printf(&label, "%s/", row->query->family);
	if (parent == TOP_NONE)
		buffer_puts(&label, row->query->name);
	else
		out_place(&label, row->place);
	if (row->place->role &&
	    (parent == TOP_NONE || !cli_same(top_row(m, parent)->place->role, row->place->role)))
		buffer_printf(&label, ", %s", row->place->role);
	if (row->place->port)
		put_names(&label, m->data->machine, row->place->port);
	node = add_node(m, i, parent, &label);
	m->nodes[node].is_share = is_share(m, row);
	if (is_single(row->place))
		add_devices(m, node);
}

/* Whether the node is the only one below a sum, and therefore has the same value. A node with
 * devices below it stays, and so does a device, which has its name only there. */
static bool adds_nothing(const struct top_model *m, size_t i)
{
	const struct uncore_row *row = top_row(m, i);
	size_t rows = 0;

	if (!row || !is_single(row->place) || row->place->port || m->nodes[i].children ||
	    m->nodes[i].parent == TOP_NONE || devices_is_device(row->place))
		return false;
	for (size_t k = m->nodes[i].parent + 1; k < m->count; k++)
		rows += m->nodes[k].parent == m->nodes[i].parent;
	return rows == 1;
}

static void make_tree(struct top_model *m)
{
	for (size_t i = 0; i < m->data->count; i++)
		add_row(m, i);
	for (size_t i = 0; i < m->count; i++)
		if (adds_nothing(m, i))
			m->nodes[m->nodes[i].parent].children = 0;
	m->lines = cli_realloc(NULL, m->count, sizeof(*m->lines));
	m->cursor = m->count ? 0 : TOP_NONE;
}

void top_free(struct top_model *m)
{
	for (size_t i = 0; i < m->count; i++)
		free(m->nodes[i].label);
	free(m->nodes);
	free(m->lines);
	*m = (struct top_model){0};
}

const struct uncore_row *top_row(const struct top_model *m, size_t node)
{
	if (node >= m->count || m->nodes[node].row == TOP_NONE)
		return NULL;
	return data_row(m->data, m->nodes[node].row);
}

size_t top_metric(const struct top_model *m, size_t node)
{
	while (node != TOP_NONE && m->nodes[node].parent != TOP_NONE)
		node = m->nodes[node].parent;
	return node;
}

const struct uncore_distribution *top_distribution(const struct top_model *m, size_t node)
{
	return top_row(m, node) && !m->data->ago
		       ? uncore_sample_distribution(m->data->sample, m->nodes[node].row)
		       : NULL;
}

double top_share(const struct top_model *m, size_t node, bool *limited)
{
	const struct uncore_row *row = top_row(m, node);
	double share = row->value / row->ceiling;

	if (limited)
		*limited = isfinite(share) || m->nodes[node].is_share;
	return isfinite(share) || strcmp(row->query->unit, "ratio") != 0 ? share : row->value;
}

void top_update(struct top_model *m, const struct top_data *data)
{
	m->data = data;
	if (!m->lines)
		make_tree(m);
	for (size_t i = 0; i < m->count; i++) {
		if (!top_row(m, i))
			continue;
		data_follow(&m->nodes[i].value, top_row(m, i)->value);
		data_follow(&m->nodes[i].share, top_share(m, i, NULL));
	}
	top_arrange(m);
}

/* ---- visible lines ---- */

static void filter(struct top_model *m)
{
	for (size_t i = 0; i < m->count; i++) {
		struct top_node *node = &m->nodes[i];

		node->leads = false;
		node->matches = !*m->filter || cli_matches(m->filter, node->label) ||
				(node->parent != TOP_NONE && m->nodes[node->parent].matches);
	}
	for (size_t i = m->count; i-- > 0;)
		if (m->nodes[i].parent != TOP_NONE && (m->nodes[i].matches || m->nodes[i].leads) &&
		    m->nodes[m->nodes[i].parent].children)
			m->nodes[m->nodes[i].parent].leads = true;
}

/* The value to sort by, the largest first. Sorting by name or catalogue uses none. Values of two
 * metrics cannot be compared. Sockets and channels are in the order of their places, unless they
 * are sorted by their share. */
static double sort_value(const struct top_model *m, size_t node)
{
	const struct top_node *n = &m->nodes[node];
	const struct uncore_row *row = top_row(m, node);
	bool busiest =
		n->depth && row && row->place->channel < 0 && (row->place->port || row->place->pmu);
	double value = m->sort == TOP_BY_SHARE              ? n->share.value
		       : m->sort == TOP_BY_VALUE && busiest ? n->value.value
							    : NAN;

	return isfinite(value) ? value : -INFINITY;
}

static int compare(const void *a, const void *b, void *model)
{
	const struct top_model *m = model;
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	double p = sort_value(m, x), q = sort_value(m, y);
	int names = m->sort == TOP_BY_NAME ? strverscmp(m->nodes[x].label, m->nodes[y].label) : 0;

	if (p != q)
		return p > q ? -1 : 1;
	return names ? names : x < y ? -1 : x > y;
}

/* A node that does not match the filter itself is shown open if a node below it matches. */
static bool shows_below(const struct top_node *node)
{
	return node->children && (node->open || (!node->matches && node->leads));
}

/* Appends the sorted nodes below `parent`, each with its open nodes. */
static void add_lines(struct top_model *m, size_t parent)
{
	size_t from = parent == TOP_NONE ? 0 : parent + 1, first, count = 0;
	auto_free size_t *below = cli_realloc(NULL, m->count, sizeof(*below));

	for (size_t i = from; i < m->count; i++)
		if (m->nodes[i].parent == parent && (m->nodes[i].matches || m->nodes[i].leads))
			below[count++] = i;
	qsort_r(below, count, sizeof(*below), compare, m);
	for (first = 0; first < count; first++) {
		m->lines[m->line_count++] = below[first];
		if (shows_below(&m->nodes[below[first]]))
			add_lines(m, below[first]);
	}
}

void top_arrange(struct top_model *m)
{
	if (!m->count)
		return;
	filter(m);
	m->line_count = 0;
	add_lines(m, TOP_NONE);
	while (m->cursor != TOP_NONE &&
	       !(m->line_count && m->lines[top_cursor_line(m)] == m->cursor))
		m->cursor = m->nodes[m->cursor].parent;
	if (m->cursor == TOP_NONE && m->line_count)
		m->cursor = m->lines[0];
}

/* ---- the cursor ---- */

size_t top_cursor_line(const struct top_model *m)
{
	size_t line = 0;

	while (line + 1 < m->line_count && m->lines[line] != m->cursor)
		line++;
	return line;
}

void top_move(struct top_model *m, long lines)
{
	long last = (long)m->line_count - 1, to = (long)top_cursor_line(m);

	if (last < 0)
		return;
	to += lines;
	m->cursor = m->lines[to < 0 ? 0 : to > last ? last : to];
}

void top_open(struct top_model *m, bool open)
{
	struct top_node *node;

	if (m->cursor == TOP_NONE)
		return;
	node = &m->nodes[m->cursor];
	if (open && node->children)
		node->open = true;
	else if (!open && node->open)
		node->open = false;
	else if (!open && node->parent != TOP_NONE)
		m->cursor = node->parent;
	top_arrange(m);
}

void top_open_all(struct top_model *m)
{
	bool all = true;

	for (size_t i = 0; i < m->count; i++)
		if (m->nodes[i].children && top_row(m, i) && !is_single(top_row(m, i)->place))
			all = all && m->nodes[i].open;
	for (size_t i = 0; i < m->count; i++)
		m->nodes[i].open = !all && top_row(m, i) && !is_single(top_row(m, i)->place);
	top_arrange(m);
}
