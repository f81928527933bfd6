/* SPDX-License-Identifier: MIT */
/* The places of each item, summed up to the monitor's level: one line per row of a sample. */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "count/monitor.h"
#include "machine/ceiling.h"

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

/* One place of an item, and what tells its line from the others. */
struct spot {
	size_t place;
	const struct unc_want *want;
	int socket, cpu; /* as the line's */
	const struct uncore_pmu *pmu;
	const struct uncore_device *port;
	const char *role;
	size_t first; /* place of its line */
};

/* The places of an item, line after line. */
struct layout {
	struct uncore_monitor *m;
	const struct unc_item *item;
	struct spot *spots;
	size_t line_count;
	bool *absent; /* for each of the machine's sockets: it lacks what each socket should have */
};

/* The places of one line. */
struct run {
	const struct spot *spots;
	size_t count;
};

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

/* ---- which places make a line -------------------------------------------------------------------- */

/* Metrics are not added up over PMUs with different things at their other ends; events are, as
 * perf does it. */
static struct spot spot_of(const struct uncore_monitor *m, const struct unc_item *item,
			   size_t place)
{
	const struct unc_want *want = place_want(m, item, place);
	bool one = single(m);

	return (struct spot){
		.place = place,
		.want = want,
		.socket = m->level == UNCORE_LEVEL_MACHINE ? -1 : place_socket(m, item, place),
		.cpu = one ? want->cpu : -1,
		.pmu = one ? want->pmu : NULL,
		.port = one ? want->port : NULL,
		.role = one || item->metric ? want->pmu->role : NULL,
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
	size_t count = l->item->place_count;

	for (size_t p = 0; p < count; p++)
		l->spots[p] = spot_of(l->m, l->item, p);
	qsort(l->spots, count, sizeof(*l->spots), compare_spots);
	for (size_t i = 0; i < count; i++) {
		bool begins = i == 0 || compare_owners(&l->spots[i - 1], &l->spots[i]) != 0;

		l->spots[i].first = begins ? l->spots[i].place : l->spots[i - 1].first;
		l->line_count += begins;
	}
	qsort(l->spots, count, sizeof(*l->spots), compare_firsts);
}

/* The sockets without a place of a metric whose family every socket has. With the socket of some
 * place not known none is said to be. */
static void mark_absent(struct layout *l)
{
	const struct unc_topology *t = &l->m->machine->topology;
	const struct unc_item *item = l->item;

	if (!item->metric || !item->metric->family->each_socket || item->narrowed)
		return;
	memset(l->absent, true, t->socket_count * sizeof(*l->absent));
	for (size_t p = 0; p < item->place_count; p++) {
		int socket = place_socket(l->m, item, p);

		if (socket < 0) {
			memset(l->absent, false, t->socket_count * sizeof(*l->absent));
			return;
		}
		for (size_t i = 0; i < t->socket_count; i++)
			if (t->sockets[i] == socket)
				l->absent[i] = false;
	}
}

/* The first socket that is absent; -1: none. */
static int first_absent(const struct layout *l)
{
	const struct unc_topology *t = &l->m->machine->topology;

	for (size_t i = 0; i < t->socket_count; i++)
		if (l->absent[i])
			return t->sockets[i];
	return -1;
}

static void finish_layout(struct layout *l)
{
	free(l->spots);
	free(l->absent);
}

static int make_layout(struct layout *l, struct uncore_monitor *m, const struct unc_item *item)
{
	*l = (struct layout){.m = m, .item = item};
	l->spots = calloc(item->place_count, sizeof(*l->spots));
	l->absent = calloc(m->machine->topology.socket_count + 1, sizeof(*l->absent));
	if (!l->spots || !l->absent) {
		finish_layout(l);
		return -ENOMEM;
	}
	order_spots(l);
	mark_absent(l);
	return 0;
}

/* ---- ceilings ------------------------------------------------------------------------------------ */

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

/* ---- counters ------------------------------------------------------------------------------------ */

/* The places of one PMU and CPU, which stand side by side, are a box. */
static bool begins_box(const struct run *run, size_t i)
{
	const struct unc_want *want = run->spots[i].want;

	return i == 0 || run->spots[i - 1].want->pmu != want->pmu ||
	       run->spots[i - 1].want->cpu != want->cpu;
}

/* What no filter restricts is counted once for a box. */
static int fill_event(const struct layout *l, const struct run *run, struct unc_line_event *event,
		      size_t k)
{
	const struct unc_item *item = l->item;

	event->counters = calloc(run->count + 1, sizeof(*event->counters));
	if (!event->counters)
		return -ENOMEM;
	event->name = item->metric ? item->metric->events[k]->name : item->name;
	event->scale = item->metric ? item->scales[k] : item->scale;
	event->always = item->metric && item->metric->events[k]->always;
	event->shared = item->metric && item->metric->events[k]->unfiltered;
	for (size_t i = 0; i < run->count; i++) {
		const struct unc_ref *ref =
			&item->refs[run->spots[i].place * item->event_count + k];

		if (!event->shared || begins_box(run, i))
			event->counters[event->count++] =
				l->m->wants[ref->want].events[ref->event].counter;
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
		.port = spot->want->port,
		.role = spot->role,
		.absent = l->m->level == UNCORE_LEVEL_MACHINE ? first_absent(l) : -1,
	};

	for (size_t i = 0; i < run->count; i++)
		if (run->spots[i].want->port != line.port)
			line.port = NULL;
	return line;
}

/* Ports that are not in a sum; one by one each has a line. */
static int take_lacks(const struct uncore_monitor *m, const struct unc_item *item,
		      struct unc_line *line)
{
	struct unc_text text = {0};

	if (single(m))
		return 0;
	unc_item_lacking_text(item, line->socket, &text);
	if (!text.len && !text.failed)
		return 0;
	line->lacks = unc_text_take(&text);
	line->port = NULL; /* what is asked for is more */
	return line->lacks ? 0 : -ENOMEM;
}

/* Adds a line that so far has a place only. There is room. */
static int add_line(const struct layout *l, struct unc_line where, const struct run *run)
{
	struct uncore_monitor *m = l->m;
	const struct unc_item *item = l->item;
	struct unc_line *line = &m->lines[m->line_count++];

	*line = where;
	if (take_lacks(m, item, line) < 0)
		return -ENOMEM;
	line->name = item->metric ? item->metric->name : item->name;
	line->family = item->metric ? item->metric->family->name : NULL;
	line->unit = item->metric ? item->metric->unit : item->unit;
	line->formula = item->metric ? item->metric->formula : NULL;
	line->histogram = item->metric ? item->metric->histogram : NULL;
	line->per_mille = item->metric ? item->metric->per_mille : 0;
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
static int add_lacking(const struct layout *l)
{
	const struct unc_item *item = l->item;
	const struct run none = {NULL, 0};

	for (size_t i = 0; i < item->lacking_count; i++) {
		const struct unc_lacking *lacking = &item->lacking[i];
		struct unc_line where = {.socket = lacking->port->socket,
					 .cpu = -1,
					 .port = lacking->port,
					 .absent = -1};
		struct unc_text text = {0};

		unc_lacking_text(item, lacking, &text);
		where.lacks = unc_text_take(&text);
		if (!where.lacks || add_line(l, where, &none) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* A root port of the socket is not counted, and the item has no line of the socket to say so. */
static bool lacks_socket(const struct layout *l, int socket)
{
	const struct unc_item *item = l->item;
	size_t i = 0;

	while (i < item->lacking_count && item->lacking[i].port->socket != socket)
		i++;
	for (size_t p = 0; i < item->lacking_count && p < item->place_count; p++)
		if (l->spots[p].socket == socket)
			return false;
	return i < item->lacking_count;
}

/* Lines without counters for sockets that ought to have some. */
static int add_sockets(const struct layout *l)
{
	const struct unc_topology *t = &l->m->machine->topology;
	const struct run none = {NULL, 0};

	for (size_t i = 0; i < t->socket_count; i++) {
		int socket = t->sockets[i];
		struct unc_line where = {
			.socket = socket, .cpu = -1, .absent = l->absent[i] ? socket : -1};

		if ((l->absent[i] || lacks_socket(l, socket)) && add_line(l, where, &none) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int add_runs(const struct layout *l)
{
	size_t count = l->item->place_count;
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
	size_t more = l->line_count + m->machine->topology.socket_count + l->item->lacking_count;
	struct unc_line *lines = reallocarray(m->lines, first + more, sizeof(*lines));

	if (!lines)
		return -ENOMEM;
	m->lines = lines;
	if (add_runs(l) < 0)
		return -ENOMEM;
	if (single(m))
		return add_lacking(l);
	if (m->level != UNCORE_LEVEL_SOCKET)
		return 0;
	if (add_sockets(l) < 0)
		return -ENOMEM;
	qsort(&lines[first], m->line_count - first, sizeof(*lines), compare_lines);
	return 0;
}

static int add_lines(struct uncore_monitor *m, const struct unc_item *item)
{
	struct layout layout;
	int r;

	if (!item->place_count)
		return 0;
	r = make_layout(&layout, m, item);
	if (r < 0)
		return r;
	r = add_layout(&layout);
	finish_layout(&layout);
	return r;
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
