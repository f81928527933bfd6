/* SPDX-License-Identifier: MIT */
/* The places of each item, summed up to the monitor's level: one line per row of a sample. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ceiling.h"
#include "monitor.h"

void unc_lines_free(struct unc_line *lines, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; lines[i].events && k < lines[i].event_count; k++)
			free(lines[i].events[k].counters);
		free(lines[i].events);
		free(lines[i].boxes);
	}
	free(lines);
}

static const struct unc_want *place_want(const struct uncore_monitor *m,
					 const struct unc_item *item, size_t place)
{
	return &m->wants[item->refs[place * item->event_count].want];
}

static int place_socket(const struct uncore_monitor *m, const struct unc_item *item, size_t place)
{
	return unc_topology_socket(&m->machine->topology, place_want(m, item, place)->cpu);
}

static bool single(const struct uncore_monitor *m)
{
	return m->level == UNCORE_LEVEL_INSTANCE || m->level == UNCORE_LEVEL_PORT;
}

/* Metrics are not added up over PMUs with different things at their other ends; events are, as
 * perf does it. */
static const char *place_role(const struct uncore_monitor *m, const struct unc_item *item,
			      size_t place)
{
	return item->metric || single(m) ? place_want(m, item, place)->pmu->role : NULL;
}

static int compare_roles(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

/* True when `place` belongs to the line. */
static bool belongs(const struct uncore_monitor *m, const struct unc_item *item,
		    const struct unc_line *line, size_t place)
{
	const struct unc_want *want = place_want(m, item, place);

	if (single(m))
		return want->pmu == line->pmu && want->cpu == line->cpu && want->port == line->port;
	if (compare_roles(place_role(m, item, place), line->role) != 0)
		return false;
	if (m->level == UNCORE_LEVEL_SOCKET)
		return place_socket(m, item, place) == line->socket;
	return true;
}

/* The first of the machine's sockets, from the i-th on, without a place of a metric whose family
 * every socket has; -1: none. With the socket of some place not known none is said to be. */
static int absent_socket(const struct uncore_monitor *m, const struct unc_item *item, size_t i)
{
	const struct unc_topology *t = &m->machine->topology;

	if (!item->metric || !item->metric->family->each_socket || item->narrowed)
		return -1;
	for (; i < t->socket_count; i++) {
		size_t p = 0;

		while (p < item->place_count && place_socket(m, item, p) >= 0 &&
		       place_socket(m, item, p) != t->sockets[i])
			p++;
		if (p == item->place_count)
			return t->sockets[i];
	}
	return -1;
}

/* What the memory of a metric's line can move. */
static double line_peak(const struct uncore_monitor *m, const struct unc_item *item,
			const struct unc_line *line)
{
	const char *instance = item->metric->family->instance;
	bool channel = strcmp(instance, "memory channel") == 0;

	if (m->level == UNCORE_LEVEL_MACHINE)
		return unc_ceiling_memory(m->machine, -1, false);
	if (line->socket < 0 || (single(m) && !channel && strcmp(instance, "socket") != 0))
		return NAN;
	return unc_ceiling_memory(m->machine, line->socket, single(m) && channel);
}

/* What the values of a line cannot exceed. Nothing here tells the rate of a link between sockets. */
static double line_ceiling(const struct uncore_monitor *m, const struct unc_item *item,
			   const struct unc_line *line)
{
	if (!item->metric)
		return NAN;
	if (item->metric->ceiling == UNC_CEILING_MEMORY)
		return line_peak(m, item, line);
	if (item->metric->ceiling == UNC_CEILING_PORT && line->port)
		return line->port->link_rate;
	return NAN;
}

/* What no filter restricts is counted once for a PMU and CPU, however many parts of what it counts
 * the line sums. */
static bool counted_before(const struct uncore_monitor *m, const struct unc_item *item,
			   const struct unc_line *line, size_t place)
{
	const struct unc_want *want = place_want(m, item, place);

	for (size_t p = 0; p < place; p++) {
		const struct unc_want *other = place_want(m, item, p);

		if (other->pmu == want->pmu && other->cpu == want->cpu && belongs(m, item, line, p))
			return true;
	}
	return false;
}

static int fill_event(const struct uncore_monitor *m, const struct unc_item *item,
		      const struct unc_line *line, size_t k)
{
	struct unc_line_event *event = &line->events[k];

	event->counters = calloc(item->place_count, sizeof(*event->counters));
	if (!event->counters)
		return -ENOMEM;
	event->name = item->metric ? item->metric->events[k]->name : item->name;
	event->scale = item->metric ? item->scales[k] : item->scale;
	event->always = item->metric && item->metric->events[k]->always;
	event->shared = item->metric && item->metric->events[k]->unfiltered;
	for (size_t p = 0; p < item->place_count; p++) {
		const struct unc_ref *ref = &item->refs[p * item->event_count + k];

		if (belongs(m, item, line, p) &&
		    !(event->shared && counted_before(m, item, line, p)))
			event->counters[event->count++] =
				m->wants[ref->want].events[ref->event].counter;
	}
	return 0;
}

static int fill_boxes(const struct uncore_monitor *m, const struct unc_item *item,
		      struct unc_line *line)
{
	size_t count = 0;
	bool any = false;

	for (size_t k = 0; k < line->event_count; k++)
		any = any || line->events[k].shared;
	if (!any)
		return 0;
	line->boxes = calloc(item->place_count + 1, sizeof(*line->boxes));
	if (!line->boxes)
		return -ENOMEM;
	for (size_t p = 0; p < item->place_count; p++) {
		if (!belongs(m, item, line, p))
			continue;
		if (!counted_before(m, item, line, p))
			line->boxes[line->box_count++] = count;
		count++;
	}
	line->boxes[line->box_count] = count;
	return 0;
}

/* The line that `place` of the item belongs to, without its counters. */
static struct unc_line line_of(const struct uncore_monitor *m, const struct unc_item *item,
			       size_t place)
{
	const struct unc_want *want = place_want(m, item, place);
	struct unc_line line = {
		.socket = m->level == UNCORE_LEVEL_MACHINE ? -1 : place_socket(m, item, place),
		.cpu = single(m) ? want->cpu : -1,
		.pmu = single(m) ? want->pmu : NULL,
		.port = want->port,
		.role = place_role(m, item, place),
		.absent = -1,
	};

	for (size_t p = 0; p < item->place_count; p++)
		if (belongs(m, item, &line, p) && place_want(m, item, p)->port != line.port)
			line.port = NULL;
	if (m->level == UNCORE_LEVEL_MACHINE)
		line.absent = absent_socket(m, item, 0);
	return line;
}

/* Adds a line that so far has a place only. There is room. */
static int add_line(struct uncore_monitor *m, const struct unc_item *item, struct unc_line where)
{
	struct unc_line *line = &m->lines[m->line_count++];

	*line = where;
	line->name = item->metric ? item->metric->name : item->name;
	line->family = item->metric ? item->metric->family->name : NULL;
	line->unit = item->metric ? item->metric->unit : item->unit;
	line->formula = item->metric ? item->metric->formula : NULL;
	line->filter = item->filter;
	line->ceiling = line_ceiling(m, item, line);
	/* The speed was that of the moment of the scan: an idle device may have been asleep. */
	line->limit = line->port && isfinite(line->ceiling) ? line->port->max_rate : NAN;
	if (line->formula && unc_formula_has_peak(line->formula)) {
		line->memory_peak = line_peak(m, item, line);
		line->peak_why = uncore_memory_get(m->machine)->why;
	}
	line->snapshot = item->snapshot;
	line->left_out = single(m) ? 0 : item->left_out;
	line->left_why = item->left_why;
	line->event_count = item->event_count;
	line->events = calloc(item->event_count, sizeof(*line->events));
	if (!line->events)
		return -ENOMEM;
	for (size_t k = 0; k < item->event_count; k++)
		if (fill_event(m, item, line, k) < 0)
			return -ENOMEM;
	return fill_boxes(m, item, line);
}

static int compare_lines(const void *a, const void *b)
{
	const struct unc_line *x = a, *y = b;

	if (x->socket != y->socket)
		return x->socket < y->socket ? -1 : 1;
	return compare_roles(x->role, y->role);
}

static bool place_known(const struct uncore_monitor *m, const struct unc_item *item,
			const struct unc_line *lines, size_t count, size_t place)
{
	for (size_t i = 0; i < count; i++)
		if (belongs(m, item, &lines[i], place))
			return true;
	return false;
}

static int add_lines(struct uncore_monitor *m, const struct unc_item *item)
{
	size_t first = m->line_count, sockets = m->machine->topology.socket_count;
	struct unc_line *lines;

	if (!item->place_count)
		return 0;
	lines = reallocarray(m->lines, first + item->place_count + sockets, sizeof(*m->lines));
	if (!lines)
		return -ENOMEM;
	m->lines = lines;
	for (size_t p = 0; p < item->place_count; p++) {
		if (place_known(m, item, &lines[first], m->line_count - first, p))
			continue;
		if (add_line(m, item, line_of(m, item, p)) < 0)
			return -ENOMEM;
	}
	if (m->level != UNCORE_LEVEL_SOCKET)
		return 0;
	for (size_t i = 0; i < sockets; i++) {
		int socket = m->machine->topology.sockets[i];
		struct unc_line where = {.socket = socket, .cpu = -1, .absent = socket};

		if (absent_socket(m, item, i) == socket && add_line(m, item, where) < 0)
			return -ENOMEM;
	}
	qsort(&lines[first], m->line_count - first, sizeof(*lines), compare_lines);
	return 0;
}

int unc_monitor_lines(struct uncore_monitor *m)
{
	for (size_t i = 0; i < m->item_count; i++)
		if (add_lines(m, &m->items[i]) < 0) {
			unc_lines_free(m->lines, m->line_count);
			m->lines = NULL;
			m->line_count = 0;
			return -ENOMEM;
		}
	return 0;
}
