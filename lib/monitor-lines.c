/* SPDX-License-Identifier: MIT */
/* The places of each item, summed up to the monitor's level: one line per row of a sample. */
#include <errno.h>
#include <stdlib.h>

#include "monitor.h"

void unc_lines_free(struct unc_line *lines, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; lines[i].events && k < lines[i].event_count; k++)
			free(lines[i].events[k].counters);
		free(lines[i].events);
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

/* True when `place` belongs to the line. */
static bool belongs(const struct uncore_monitor *m, const struct unc_item *item,
		    const struct unc_line *line, size_t place)
{
	const struct unc_want *want = place_want(m, item, place);

	if (m->level == UNCORE_LEVEL_INSTANCE)
		return want->pmu == line->pmu && want->cpu == line->cpu;
	if (m->level == UNCORE_LEVEL_SOCKET)
		return place_socket(m, item, place) == line->socket;
	return true;
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
	for (size_t p = 0; p < item->place_count; p++) {
		const struct unc_ref *ref = &item->refs[p * item->event_count + k];

		if (belongs(m, item, line, p))
			event->counters[event->count++] =
				m->wants[ref->want].events[ref->event].counter;
	}
	return 0;
}

/* The line that `place` of the item belongs to, with all other places of that line. */
static int make_line(const struct uncore_monitor *m, const struct unc_item *item, size_t place,
		     struct unc_line *line)
{
	const struct unc_want *want = place_want(m, item, place);
	bool summed = m->level == UNCORE_LEVEL_MACHINE;
	bool single = m->level == UNCORE_LEVEL_INSTANCE;

	*line = (struct unc_line){
		.name = item->metric ? item->metric->name : item->name,
		.family = item->metric ? item->metric->family->name : NULL,
		.unit = item->metric ? item->metric->unit : item->unit,
		.formula = item->metric ? item->metric->formula : NULL,
		.socket = summed ? -1 : place_socket(m, item, place),
		.cpu = single ? want->cpu : -1,
		.pmu = single ? want->pmu : NULL,
		.snapshot = item->snapshot,
		.left_out = single ? 0 : item->left_out,
		.left_why = item->left_why,
		.event_count = item->event_count,
	};
	line->events = calloc(item->event_count, sizeof(*line->events));
	if (!line->events)
		return -ENOMEM;
	for (size_t k = 0; k < item->event_count; k++)
		if (fill_event(m, item, line, k) < 0)
			return -ENOMEM;
	return 0;
}

static int compare_sockets(const void *a, const void *b)
{
	const struct unc_line *x = a, *y = b;

	return x->socket < y->socket ? -1 : x->socket > y->socket;
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
	size_t first = m->line_count;
	struct unc_line *lines;

	if (!item->place_count)
		return 0;
	lines = reallocarray(m->lines, first + item->place_count, sizeof(*m->lines));
	if (!lines)
		return -ENOMEM;
	m->lines = lines;
	for (size_t p = 0; p < item->place_count; p++) {
		if (place_known(m, item, &lines[first], m->line_count - first, p))
			continue;
		if (make_line(m, item, p, &lines[m->line_count++]) < 0)
			return -ENOMEM;
	}
	if (m->level == UNCORE_LEVEL_SOCKET)
		qsort(&lines[first], m->line_count - first, sizeof(*lines), compare_sockets);
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
