/* SPDX-License-Identifier: MIT */
/* The targets of each query, summed up to the monitor's level: one line per row of a sample. */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "count/monitor.h"

void unc_lines_free(struct unc_line *lines, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; lines[i].events && k < lines[i].event_count; k++)
			free(lines[i].events[k].counters);
		free(lines[i].events);
		free(lines[i].boxes);
		free(lines[i].lacks);
	}
	free(lines);
}

/* One target of a query, and what tells its line from the others. */
struct spot {
	size_t place; /* number of the target */
	const struct unc_target *target;
	int socket, cpu; /* as the line's */
	const struct uncore_pmu *pmu;
	const struct uncore_device *port;
	const char *role;
	size_t first; /* target of its line */
};

/* The targets of a query, line after line. */
struct layout {
	struct uncore_monitor *m;
	const struct unc_query *query;
	struct spot *spots;
	size_t line_count;
};

/* The targets of one line. */
struct run {
	const struct spot *spots;
	size_t count;
};

static bool single(const struct uncore_monitor *m)
{
	return m->level == UNCORE_LEVEL_INSTANCE || m->level == UNCORE_LEVEL_PORT;
}

/* ---- which places make a line -------------------------------------------------------------------- */

/* Metrics are not added up over PMUs with different things at their other ends; events are, as
 * perf does it. */
static struct spot spot_of(const struct uncore_monitor *m, const struct unc_query *q, size_t place)
{
	const struct unc_target *target = &q->targets[place];
	bool one = single(m);

	return (struct spot){
		.place = place,
		.target = target,
		.socket = m->level == UNCORE_LEVEL_MACHINE
				  ? -1
				  : unc_topology_socket(&m->machine->topology, target->cpu),
		.cpu = one ? target->cpu : -1,
		.pmu = one ? target->pmu : NULL,
		.port = one ? target->port : NULL,
		.role = one || q->metric ? target->pmu->role : NULL,
	};
}

static int compare_roles(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int compare_addresses(const void *a, const void *b)
{
	return (uintptr_t)a < (uintptr_t)b ? -1 : (uintptr_t)a > (uintptr_t)b;
}

/* 0: of one line. */
static int compare_owners(const struct spot *x, const struct spot *y)
{
	if (x->socket != y->socket)
		return x->socket < y->socket ? -1 : 1;
	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	if (x->pmu != y->pmu)
		return compare_addresses(x->pmu, y->pmu);
	if (x->port != y->port)
		return compare_addresses(x->port, y->port);
	return compare_roles(x->role, y->role);
}

static int compare_spots(const void *a, const void *b)
{
	const struct spot *x = a, *y = b;
	int order = compare_owners(x, y);

	return order ? order : x->place < y->place ? -1 : x->place > y->place;
}

static int compare_firsts(const void *a, const void *b)
{
	const struct spot *x = a, *y = b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

/* Lines stand in the order of their first places. */
static void order_spots(struct layout *l)
{
	size_t count = l->query->target_count;

	for (size_t p = 0; p < count; p++)
		l->spots[p] = spot_of(l->m, l->query, p);
	qsort(l->spots, count, sizeof(*l->spots), compare_spots);
	for (size_t i = 0; i < count; i++) {
		bool begins = i == 0 || compare_owners(&l->spots[i - 1], &l->spots[i]) != 0;

		l->spots[i].first = begins ? l->spots[i].place : l->spots[i - 1].first;
		l->line_count += begins;
	}
	qsort(l->spots, count, sizeof(*l->spots), compare_firsts);
}

/* The first socket that should have a part in the query and has none; -1: none. */
static int first_absent(const struct layout *l)
{
	const struct unc_gaps *gaps = &l->query->gaps;

	for (size_t i = 0; i < gaps->count; i++)
		if (gaps->items[i].what == UNC_GAP_SOCKET)
			return gaps->items[i].socket;
	return -1;
}

static void finish_layout(struct layout *l)
{
	free(l->spots);
}

static int make_layout(struct layout *l, struct uncore_monitor *m, const struct unc_query *q)
{
	*l = (struct layout){.m = m, .query = q};
	l->spots = calloc(q->target_count, sizeof(*l->spots));
	if (!l->spots) {
		finish_layout(l);
		return -ENOMEM;
	}
	order_spots(l);
	return 0;
}

/* ---- ceilings ------------------------------------------------------------------------------------ */

/* What the memory of a metric's line can move. */
static double line_peak(const struct uncore_monitor *m, const struct unc_query *q,
			const struct unc_line *line)
{
	const char *instance = q->metric->family->instance;
	bool channel = strcmp(instance, "memory channel") == 0;

	if (m->level == UNCORE_LEVEL_MACHINE)
		return unc_ceiling_memory(m->machine, -1, false);
	if (line->socket < 0 || (single(m) && !channel && strcmp(instance, "socket") != 0))
		return NAN;
	return unc_ceiling_memory(m->machine, line->socket, single(m) && channel);
}

/* What the values of a line cannot exceed. Nothing here tells the rate of a link between sockets. */
static double line_ceiling(const struct uncore_monitor *m, const struct unc_query *q,
			   const struct unc_line *line)
{
	if (!q->metric)
		return NAN;
	if (q->metric->ceiling == UNC_CEILING_MEMORY)
		return line_peak(m, q, line);
	if (q->metric->ceiling == UNC_CEILING_PORT && line->port)
		return line->port->link_rate;
	return NAN;
}

/* ---- counters ------------------------------------------------------------------------------------ */

/* The places of one PMU and CPU, which stand side by side, are a box. */
static bool begins_box(const struct run *run, size_t i)
{
	const struct unc_target *target = run->spots[i].target;

	return i == 0 || run->spots[i - 1].target->pmu != target->pmu ||
	       run->spots[i - 1].target->cpu != target->cpu;
}

/* What no filter restricts is counted once for a box. */
static int fill_event(const struct layout *l, const struct run *run, struct unc_line_event *event,
		      size_t k)
{
	const struct unc_query *q = l->query;

	event->counters = calloc(run->count + 1, sizeof(*event->counters));
	if (!event->counters)
		return -ENOMEM;
	event->name = q->metric ? q->metric->events[k]->name : q->name;
	event->scale = q->scales[k];
	event->always = q->metric && q->metric->events[k]->always;
	event->shared = q->metric && q->metric->events[k]->unfiltered;
	for (size_t i = 0; i < run->count; i++) {
		const struct unc_target *target = run->spots[i].target;

		if (!event->shared || begins_box(run, i))
			event->counters[event->count++] =
				l->m->sets[target->set].requests[target->first + k].counter;
	}
	return 0;
}

static int fill_boxes(struct unc_line *line, const struct run *run)
{
	bool any = false;

	for (size_t k = 0; k < line->event_count; k++)
		any = any || line->events[k].shared;
	if (!any)
		return 0;
	line->boxes = calloc(run->count + 1, sizeof(*line->boxes));
	if (!line->boxes)
		return -ENOMEM;
	for (size_t i = 0; i < run->count; i++)
		if (begins_box(run, i))
			line->boxes[line->box_count++] = i;
	line->boxes[line->box_count] = run->count;
	return 0;
}

/* ---- lines --------------------------------------------------------------------------------------- */

/* A line of these places, without its counters. */
static struct unc_line line_of(const struct layout *l, const struct run *run)
{
	const struct spot *spot = &run->spots[0];
	struct unc_line line = {
		.socket = spot->socket,
		.cpu = spot->cpu,
		.pmu = spot->pmu,
		.port = spot->target->port,
		.role = spot->role,
		.absent = l->m->level == UNCORE_LEVEL_MACHINE ? first_absent(l) : -1,
	};

	for (size_t i = 0; i < run->count; i++)
		if (run->spots[i].target->port != line.port)
			line.port = NULL;
	return line;
}

/* Ports that are not in a sum; one by one each has a line. */
static int take_lacks(const struct uncore_monitor *m, const struct unc_query *q,
		      struct unc_line *line)
{
	struct unc_text text = {0};

	for (size_t i = 0; !single(m) && i < q->gaps.count; i++) {
		const struct unc_gap *gap = &q->gaps.items[i];

		if (gap->what == UNC_GAP_PORT &&
		    (line->socket < 0 || gap->socket < 0 || gap->socket == line->socket))
			unc_text_add(&text, "%s%s", text.len ? "; " : "", gap->why);
	}
	if (!text.len && !text.failed)
		return 0;
	line->lacks = unc_text_take(&text);
	line->port = NULL; /* what is asked for is more */
	return line->lacks ? 0 : -ENOMEM;
}

/* The PMUs that are not in a sum. */
static void take_left_out(const struct uncore_monitor *m, const struct unc_query *q,
			  struct unc_line *line)
{
	for (size_t i = 0; i < q->gaps.count; i++)
		if (q->gaps.items[i].what == UNC_GAP_PMU && !line->left_out++)
			line->left_why = q->gaps.items[i].why;
	if (single(m))
		line->left_out = 0;
}

/* Adds a line that so far has a place only. There is room. */
static int add_line(const struct layout *l, struct unc_line where, const struct run *run)
{
	struct uncore_monitor *m = l->m;
	const struct unc_query *q = l->query;
	struct unc_line *line = &m->lines[m->line_count++];

	*line = where;
	if (take_lacks(m, q, line) < 0)
		return -ENOMEM;
	line->name = q->metric ? q->metric->name : q->name;
	line->family = q->metric ? q->metric->family->name : NULL;
	line->unit = q->metric ? q->metric->unit : q->unit;
	line->formula = q->metric ? q->metric->formula : NULL;
	line->histogram = q->metric ? q->metric->histogram : NULL;
	line->per_mille = q->metric ? q->metric->per_mille : 0;
	line->filter = q->filter;
	line->ceiling = line_ceiling(m, q, line);
	/* The speed was that of the moment of the scan: an idle device may have been asleep. */
	line->limit = line->port && isfinite(line->ceiling) ? line->port->max_rate : NAN;
	if (line->formula && unc_formula_has_peak(line->formula)) {
		line->memory_peak = line_peak(m, q, line);
		line->peak_why = uncore_memory_get(m->machine)->why;
	}
	line->snapshot = q->snapshot;
	take_left_out(m, q, line);
	line->event_count = q->event_count;
	line->events = calloc(q->event_count, sizeof(*line->events));
	if (!line->events)
		return -ENOMEM;
	for (size_t k = 0; k < q->event_count; k++)
		if (fill_event(l, run, &line->events[k], k) < 0)
			return -ENOMEM;
	return fill_boxes(line, run);
}

static int compare_lines(const void *a, const void *b)
{
	const struct unc_line *x = a, *y = b;

	if (x->socket != y->socket)
		return x->socket < y->socket ? -1 : 1;
	return compare_roles(x->role, y->role);
}

/* A line without counters for each root port that is not counted, behind those that are. */
static int add_ports(const struct layout *l)
{
	const struct unc_gaps *gaps = &l->query->gaps;
	const struct run none = {NULL, 0};

	for (size_t i = 0; i < gaps->count; i++) {
		const struct unc_gap *gap = &gaps->items[i];
		struct unc_line where = {
			.socket = gap->socket, .cpu = -1, .port = gap->port, .absent = -1};

		if (gap->what != UNC_GAP_PORT)
			continue;
		where.lacks = strdup(gap->why);
		if (!where.lacks || add_line(l, where, &none) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Lines without counters for sockets that ought to have some. */
static int add_sockets(const struct layout *l)
{
	const struct unc_topology *t = &l->m->machine->topology;
	const struct unc_query *q = l->query;
	const struct run none = {NULL, 0};

	for (size_t i = 0; i < t->socket_count; i++) {
		struct unc_line where = {.socket = t->sockets[i], .cpu = -1, .absent = -1};
		bool gap = false;

		for (size_t k = 0; k < q->gaps.count; k++)
			if (q->gaps.items[k].what != UNC_GAP_PMU &&
			    q->gaps.items[k].socket == where.socket) {
				gap = true;
				if (q->gaps.items[k].what == UNC_GAP_SOCKET)
					where.absent = where.socket;
			}
		for (size_t k = 0; gap && k < q->target_count; k++)
			gap = l->spots[k].socket != where.socket;
		if (gap && add_line(l, where, &none) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int add_runs(const struct layout *l)
{
	size_t count = l->query->target_count;
	struct run run;

	for (size_t i = 0; i < count; i += run.count) {
		run = (struct run){&l->spots[i], 1};
		while (i + run.count < count && run.spots[run.count].first == run.spots[0].first)
			run.count++;
		if (add_line(l, line_of(l, &run), &run) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int add_layout(const struct layout *l)
{
	struct uncore_monitor *m = l->m;
	size_t first = m->line_count;
	size_t more = l->line_count + m->machine->topology.socket_count + l->query->gaps.count;
	struct unc_line *lines = reallocarray(m->lines, first + more, sizeof(*lines));

	if (!lines)
		return -ENOMEM;
	m->lines = lines;
	if (add_runs(l) < 0)
		return -ENOMEM;
	if (single(m))
		return add_ports(l);
	if (m->level != UNCORE_LEVEL_SOCKET)
		return 0;
	if (add_sockets(l) < 0)
		return -ENOMEM;
	qsort(&lines[first], m->line_count - first, sizeof(*lines), compare_lines);
	return 0;
}

static int add_lines(struct uncore_monitor *m, const struct unc_query *q)
{
	struct layout layout;
	int r;

	if (!q->target_count)
		return 0;
	r = make_layout(&layout, m, q);
	if (r < 0)
		return r;
	r = add_layout(&layout);
	finish_layout(&layout);
	return r;
}

int unc_monitor_lines(struct uncore_monitor *m)
{
	for (size_t i = 0; i < m->query_count; i++)
		if (add_lines(m, &m->queries[i]) < 0) {
			unc_lines_free(m->lines, m->line_count);
			m->lines = NULL;
			m->line_count = 0;
			return -ENOMEM;
		}
	return 0;
}
