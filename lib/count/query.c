/* SPDX-License-Identifier: MIT */
/* The lists of what was asked for. There may be thousands of targets and requests. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "count/monitor.h"

/* ---- queries ---- */

struct unc_query *unc_monitor_query(struct uncore_monitor *m, size_t event_count)
{
	struct unc_query *queries = unc_grow(m->queries, m->query_count, sizeof(*queries));
	double *scales = calloc(event_count, sizeof(*scales));

	if (queries)
		m->queries = queries;
	if (!queries || !scales) {
		free(scales);
		unc_nomem(&m->machine->error);
		return NULL;
	}
	for (size_t k = 0; k < event_count; k++)
		scales[k] = 1;
	queries[m->query_count] = (struct unc_query){.event_count = event_count, .scales = scales};
	return &queries[m->query_count++];
}

int unc_query_add_target(struct uncore_monitor *m, struct unc_query *q,
			 const struct unc_target *target)
{
	struct unc_target *targets = unc_grow(q->targets, q->target_count, sizeof(*targets));

	if (!targets)
		return unc_nomem(&m->machine->error);
	q->targets = targets;
	targets[q->target_count++] = *target;
	return 0;
}

int unc_query_add_gap(struct uncore_monitor *m, struct unc_query *q, enum unc_gap_what what,
		      const struct uncore_device *port, int socket, const char *why)
{
	const char *kept = unc_monitor_keep(m, why);
	struct unc_gap *items;

	for (size_t i = 0; port && i < q->gaps.count; i++)
		if (q->gaps.items[i].port == port)
			return 0;
	items = unc_grow(q->gaps.items, q->gaps.count, sizeof(*items));
	if (items)
		q->gaps.items = items;
	if (!items || !kept)
		return unc_nomem(&m->machine->error);
	items[q->gaps.count++] =
		(struct unc_gap){.what = what, .port = port, .socket = socket, .why = kept};
	return 0;
}

/* ---- taking back ---- */

int unc_monitor_refuse_planned(struct uncore_monitor *m)
{
	if (m->state == UNC_MONITOR_NEW)
		return 0;
	return unc_fail(&m->machine->error, EBUSY,
			"the monitor is planned already: add everything before");
}

struct unc_asked unc_monitor_asked(const struct uncore_monitor *m)
{
	return (struct unc_asked){.queries = m->query_count, .sets = m->set_count};
}

void unc_monitor_roll_back(struct uncore_monitor *m, struct unc_asked to)
{
	while (m->query_count > to.queries) {
		struct unc_query *q = &m->queries[--m->query_count];

		free(q->scales);
		free(q->targets);
		free(q->gaps.items);
	}
	while (m->set_count > to.sets)
		free(m->sets[--m->set_count].requests);
}

/* ---- texts ---- */

const char *unc_monitor_keep(struct uncore_monitor *m, const char *text)
{
	for (size_t i = m->strings.count; i-- > 0;)
		if (strcmp(m->strings.items[i], text) == 0)
			return m->strings.items[i];
	if (unc_names_add(&m->strings, text) < 0)
		return NULL;
	return m->strings.items[m->strings.count - 1];
}

int unc_monitor_note(struct uncore_monitor *m, const char *fmt, ...)
{
	char *note = NULL;
	va_list args;
	int r;

	va_start(args, fmt);
	r = vasprintf(&note, fmt, args);
	va_end(args);
	if (r < 0)
		return unc_nomem(&m->machine->error);
	r = unc_names_has(&m->notes, note) ? 0 : unc_names_add(&m->notes, note);
	free(note);
	return r < 0 ? unc_nomem(&m->machine->error) : 0;
}
