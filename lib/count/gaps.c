/* SPDX-License-Identifier: MIT */
/* Root ports and sockets that belong to a metric and are not counted. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "count/monitor.h"
#include "count/split.h"

/* ---- root ports that the user names ---- */

int unc_named_add(struct unc_named *named, struct uncore_monitor *m, const struct uncore_pmu *pmu,
		  const struct unc_error *refused)
{
	size_t count = m->filters.values[UNC_FILTER_PORT].count;
	unsigned ports = count ? unc_filters_named(m, pmu) : 0;

	if (!refused)
		named->counted |= ports;
	for (size_t i = 0; refused && i < count; i++) {
		if (!(ports & 1U << i) || named->why[i])
			continue;
		named->why[i] = unc_monitor_keep(m, refused->text);
		if (!named->why[i])
			return unc_nomem(&m->machine->error);
	}
	return 0;
}

static int add_port_gap(struct uncore_monitor *m, struct unc_query *q,
			const struct uncore_device *port, const char *why)
{
	struct unc_text text = {0};
	int r;

	unc_text_add(&text, "root port %s is not counted: ", port->address);
	if (why)
		unc_text_add(&text, "%s", why);
	else
		unc_text_add(&text, "no PMU of %s counts it", q->metric->family->name);
	r = text.failed ? unc_nomem(&m->machine->error)
			: unc_query_add_gap(m, q, UNC_GAP_PORT, port, port->socket, text.data);
	unc_text_finish(&text);
	return r;
}

/* Another family has the metric, too, and counts the port: its rows are there. */
static bool counted_elsewhere(const struct uncore_metric *metric, const struct uncore_device *port)
{
	for (size_t i = 0; i < uncore_device_pmu_count(port); i++) {
		const struct uncore_pmu *pmu = uncore_device_pmu_at(port, i);
		const struct unc_family *f = pmu->family;

		for (size_t k = 0; f != metric->family && k < f->metric_count; k++)
			if (strcmp(f->metrics[k].name, metric->name) == 0 &&
			    unc_metric_on(&f->metrics[k], pmu))
				return true;
	}
	return false;
}

static int find_named(struct uncore_monitor *m, struct unc_query *q, const struct unc_named *named)
{
	const struct unc_filter_value *value = &m->filters.values[UNC_FILTER_PORT];
	int r = 0;

	for (size_t i = 0; r == 0 && i < value->count; i++) {
		const struct uncore_device *port = value->choices[i].device;

		if (named->counted & 1U << i || counted_elsewhere(q->metric, port))
			continue;
		r = add_port_gap(m, q, port, named->why[i] ? named->why[i] : port->unknown);
	}
	return r;
}

/* ---- all root ports, where each has a row ---- */

/* Which ports the PMU counts: -ENODEV, with the sentence: it is not known. */
static int port_knowledge(struct uncore_monitor *m, const struct uncore_pmu *pmu, size_t cpu,
			  struct unc_error *why)
{
	const struct unc_port *ports;
	size_t count;

	return unc_machine_ports_of(m->machine, pmu, pmu->cpus.ids[cpu], &ports, &count, why);
}

static bool some_known(struct uncore_monitor *m, const struct unc_family *f)
{
	for (size_t i = 0; i < f->pmu_count; i++)
		for (size_t c = 0; c < f->pmus[i]->cpus.count; c++)
			if (port_knowledge(m, f->pmus[i], c, NULL) == 0)
				return true;
	return false;
}

/* The port may be in the row of a PMU of which it is not known what it counts: of all PMUs (`any`), or for
 * the reason that is the port's, too. */
static bool may_be_counted(struct uncore_monitor *m, const struct unc_family *f,
			   const struct uncore_device *port, bool any)
{
	for (size_t i = 0; i < f->pmu_count; i++)
		for (size_t c = 0; c < f->pmus[i]->cpus.count; c++) {
			struct unc_error why;

			if (port_knowledge(m, f->pmus[i], c, &why) < 0 &&
			    (any || strcmp(why.text, port->unknown) == 0))
				return true;
		}
	return false;
}

/* Ports that may be in the row of some PMU are in no row that could say so: a note for each reason. */
static int note_hidden(struct uncore_monitor *m, const struct uncore_device **hidden, size_t count)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		const char *why = hidden[i] ? hidden[i]->unknown : NULL;
		struct unc_text list = {0};
		size_t same = 0;

		for (size_t k = i; why && k < count; k++) {
			if (!hidden[k] || strcmp(hidden[k]->unknown, why) != 0)
				continue;
			unc_text_add(&list, "%s%s", same++ ? ", " : "", hidden[k]->address);
			hidden[k] = NULL;
		}
		if (list.failed)
			r = unc_nomem(&m->machine->error);
		else if (same)
			r = unc_monitor_note(
				m, "root port%s %s %s: %s", same > 1 ? "s" : "", list.data,
				same > 1 ? "have no rows of their own" : "has no row of its own",
				why);
		unc_text_finish(&list);
	}
	return r;
}

static int find_all(struct uncore_monitor *m, struct unc_query *q)
{
	const struct unc_family *f = q->metric->family;
	size_t all = uncore_device_count(m->machine), count = 0;
	const struct uncore_device **hidden = calloc(all + 1, sizeof(*hidden));
	bool any = !some_known(m, f);
	int r = 0;

	if (!hidden)
		return unc_nomem(&m->machine->error);
	for (size_t i = 0; r == 0 && i < all; i++) {
		const struct uncore_device *port = uncore_device_at(m->machine, i);

		if (!port->is_port || !port->unknown)
			continue;
		if (may_be_counted(m, f, port, any))
			hidden[count++] = port;
		else
			r = add_port_gap(m, q, port, port->unknown);
	}
	if (r == 0)
		r = note_hidden(m, hidden, count);
	free(hidden);
	return r;
}

/* ---- sockets ---- */

/* The sockets without a target of a metric whose family every socket has. With the socket of some
 * target not known none is said to be. */
static int find_sockets(struct uncore_monitor *m, struct unc_query *q)
{
	const struct unc_topology *t = &m->machine->topology;
	int r = 0;

	for (size_t i = 0; r == 0 && i < t->socket_count; i++) {
		bool there = false;
		char why[160];

		for (size_t k = 0; !there && k < q->target_count; k++) {
			int socket = unc_topology_socket(t, q->targets[k].cpu);

			there = socket < 0 || socket == t->sockets[i];
		}
		if (there)
			continue;
		snprintf(why, sizeof(why), "socket %d has no PMU of %s", t->sockets[i],
			 q->metric->family->name);
		r = unc_query_add_gap(m, q, UNC_GAP_SOCKET, NULL, t->sockets[i], why);
	}
	return r;
}

/* Some event of it is of some ports, and not the same for all. */
static bool is_by_port(const struct uncore_metric *metric)
{
	for (size_t k = 0; k < metric->formula->names.count; k++)
		if (!metric->events[k]->unfiltered)
			return metric->family->ports;
	return false;
}

int unc_query_find_gaps(struct uncore_monitor *m, struct unc_query *q,
			const struct unc_named *named)
{
	const struct uncore_device *device = m->filters.values[UNC_FILTER_DEVICE].choices[0].device;
	int r = 0;

	if (q->filtered && device && !q->target_count && device->port->unknown)
		return add_port_gap(m, q, device->port, device->port->unknown);
	if (q->filtered)
		return find_named(m, q, named);
	if (!q->target_count)
		return 0;
	if (q->metric->family->each_socket)
		r = find_sockets(m, q);
	if (r == 0 && m->level == UNCORE_LEVEL_PORT && is_by_port(q->metric))
		r = find_all(m, q);
	return r;
}
