/* SPDX-License-Identifier: MIT */
/* Queries, their targets and gaps. There may be thousands of targets. */
#include "count/monitor.h"

#include <stdarg.h>

/* ---- queries ---- */

struct unc_query *unc_monitor_query(struct uncore_monitor *m, size_t event_count)
{
	struct unc_query *q = unc_append(&m->queries, &m->query_count, sizeof(*q));

	if (!q) {
		unc_nomem(&m->machine->error);
		return NULL;
	}
	q->level = m->level;
	q->levels = m->levels;
	q->event_count = q->input_count = event_count;
	for (size_t k = 0; k < event_count; k++)
		q->scales[k] = 1;
	return q;
}

bool unc_query_is_restrictable(const struct unc_query *q)
{
	for (size_t k = 0; k < q->event_count; k++)
		if (!q->metric->events[k]->unfiltered)
			return true;
	return false;
}

/* ---- gaps ---- */

/* Adds a gap with this reason; for a root port only once. */
__attribute__((format(printf, 4, 5))) static int
add_gap(struct uncore_monitor *m, struct unc_query *q, struct unc_gap gap, const char *fmt, ...)
{
	struct unc_gap *added;
	char *why = NULL;
	va_list args;

	for (size_t i = 0; gap.port && i < q->gap_count; i++)
		if (q->gaps[i].port == gap.port)
			return 0;
	va_start(args, fmt);
	if (vasprintf(&why, fmt, args) < 0)
		why = NULL;
	va_end(args);
	gap.why = why ? unc_monitor_keep(m, why) : NULL;
	free(why);
	added = gap.why ? unc_append(&q->gaps, &q->gap_count, sizeof(*added)) : NULL;
	if (!added)
		return unc_nomem(&m->machine->error);
	*added = gap;
	return 0;
}

int unc_query_add_pmu_gap(struct uncore_monitor *m, struct unc_query *q,
			  const struct uncore_pmu *pmu, const char *why)
{
	const struct unc_topology *t = &m->machine->topology;
	int socket = unc_pmu_unplaced(pmu, t) ? -1 : unc_pmu_socket(pmu, t);
	struct unc_gap gap = {.what = UNC_GAP_PMU, .pmu = pmu, .socket = socket};

	gap.elsewhere = !pmu->cpus.count && gap.socket < 0 && t->offline_count;
	return add_gap(m, q, gap, "%s", why);
}

int unc_query_add_port_gap(struct uncore_monitor *m, struct unc_query *q,
			   const struct uncore_device *port, const char *why)
{
	struct unc_gap gap = {.what = UNC_GAP_PORT, .port = port, .socket = port->socket};

	if (why)
		return add_gap(m, q, gap, "root port %s is not counted: %s", port->address, why);
	return add_gap(m, q, gap, "root port %s is not counted: no PMU of %s counts it",
		       port->address, q->metric->family->name);
}

/* Whether the port may be in the row of a PMU whose ports are unknown: for the same reason as the
 * PMU of the port, or because the ports of all PMUs are unknown. */
static bool may_be_counted(struct uncore_monitor *m, const struct unc_family *f,
			   const struct uncore_device *port)
{
	bool some_known = false, some_unknown = false;

	for (size_t i = 0; i < f->pmu_count; i++)
		for (size_t c = 0; c < f->pmus[i]->cpus.count; c++) {
			const struct unc_port *ports;
			struct unc_error why;
			size_t count;

			if (unc_machine_ports_of(m->machine, f->pmus[i], f->pmus[i]->cpus.ids[c],
						 &ports, &count, &why) == 0)
				some_known = true;
			else if (strcmp(why.text, port->unknown) == 0)
				return true;
			else
				some_unknown = true;
		}
	return some_unknown && !some_known;
}

/* Adds a note for each reason why ports may be in the row of some PMU, since no row of a port can
 * report this. */
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

/* If root ports have rows, adds gaps for the ports that no PMU counts. */
static int find_ports(struct uncore_monitor *m, struct unc_query *q)
{
	size_t all = uncore_device_count(m->machine), count = 0;
	const struct uncore_device **hidden = calloc(all + 1, sizeof(*hidden));
	int r = 0;

	if (!hidden)
		return unc_nomem(&m->machine->error);
	for (size_t i = 0; r == 0 && i < all; i++) {
		const struct uncore_device *port = uncore_device_at(m->machine, i);

		if (!port->is_port || !port->unknown || !unc_filters_select_socket(m, port->socket))
			continue;
		if (may_be_counted(m, q->metric->family, port))
			hidden[count++] = port;
		else
			r = unc_query_add_port_gap(m, q, port, port->unknown);
	}
	if (r == 0)
		r = note_hidden(m, hidden, count);
	free(hidden);
	return r;
}

/* The number of dies on the socket (-1: on any) that PMUs of one die count; `last`: the highest of
 * their numbers. */
static int counted_dies(const struct unc_topology *t, const struct unc_query *q, int socket,
			int *last)
{
	int count = 0;

	*last = -1;
	for (int die = 0; die < UNC_MOST_DIES; die++) {
		bool there = false;

		for (size_t k = 0; !there && k < q->target_count; k++) {
			const struct unc_target *at = &q->targets[k];
			int on = unc_counted_socket(at->pmu, t, at->cpu);

			there = at->pmu->driver && at->pmu->driver->each == UNC_SCOPE_DIE &&
				on >= 0 && (socket < 0 || on == socket) &&
				unc_topology_die_in_package(t, at->cpu) == die;
		}
		count += there;
		*last = there ? die : *last;
	}
	return count;
}

/* An offline CPU that may be of the socket, if possible of a NUMA node without CPUs online; -1:
 * there is none. */
static int offline_cpu(const struct unc_topology *t, int socket)
{
	int found = -1;

	for (size_t i = 0; i < t->cpu_count; i++) {
		const struct uncore_cpu *cpu = &t->cpus[i];
		size_t k = 0;

		if (cpu->online || (cpu->socket >= 0 && cpu->socket != socket))
			continue;
		while (k < t->cpu_count && !(t->cpus[k].online && t->cpus[k].node == cpu->node))
			k++;
		if (k == t->cpu_count)
			return cpu->id;
		found = found < 0 ? cpu->id : found;
	}
	return found;
}

/* Adds gaps for dies that have no CPU online, on sockets of which other dies are counted: on other
 * sockets, or by their numbers, there are more. */
static int find_dies(struct uncore_monitor *m, struct unc_query *q)
{
	const struct unc_topology *t = &m->machine->topology;
	struct unc_gap gap = {.what = UNC_GAP_SOCKET, .part = true};
	int last, highest, count, r = 0;

	counted_dies(t, q, -1, &highest);
	for (size_t i = 0; r == 0 && highest > 0 && i < t->socket_count; i++) {
		int fix = offline_cpu(t, t->sockets[i]);

		if (!unc_filters_select_socket(m, t->sockets[i]))
			continue;
		gap.socket = t->sockets[i];
		count = counted_dies(t, q, gap.socket, &last);
		if (count && count <= highest && fix >= 0)
			r = add_gap(
				m, q, gap,
				"%d of the %d dies of socket %d cannot be counted without a CPU "
				"online. Fix: " UNC_BRING_ONLINE,
				highest + 1 - count, highest + 1, gap.socket, fix);
	}
	return r;
}

int unc_query_find_gaps(struct uncore_monitor *m, struct unc_query *q)
{
	const struct unc_topology *t = &m->machine->topology;
	struct unc_gap gap = {.what = UNC_GAP_SOCKET};
	const struct unc_family *f = q->metric->family;
	int r = 0;

	if (!q->target_count)
		return 0;
	/* Adds gaps for sockets without a target, if every socket should have the family. It adds
	 * none if the socket of some target is unknown. */
	for (size_t i = 0; r == 0 && f->each_socket && i < t->socket_count; i++) {
		bool there = !unc_filters_select_socket(m, t->sockets[i]);

		gap.socket = t->sockets[i];
		for (size_t k = 0; !there && k < q->target_count; k++) {
			int socket = unc_counted_socket(q->targets[k].pmu, t, q->targets[k].cpu);

			there = socket < 0 || socket == t->sockets[i];
		}
		if (!there)
			r = add_gap(m, q, gap, "socket %d has no PMU of %s", t->sockets[i],
				    f->name);
	}
	for (size_t i = 0; r == 0 && f->each_socket && i < t->offline_count; i++) {
		char name[32] = "a socket";
		size_t k = 0;

		/* Some PMUs are read by any CPU. */
		while (k < q->target_count &&
		       (t->offline[i].socket < 0 ||
			unc_counted_socket(q->targets[k].pmu, t, q->targets[k].cpu) !=
				t->offline[i].socket))
			k++;
		if (k < q->target_count || !unc_filters_select_socket(m, t->offline[i].socket))
			continue;
		gap.socket = t->offline[i].socket;
		gap.elsewhere = gap.socket < 0;
		if (gap.socket >= 0)
			snprintf(name, sizeof(name), "socket %d", gap.socket);
		r = add_gap(m, q, gap,
			    "%s has no CPU online, so it cannot be counted. Fix: " UNC_BRING_ONLINE,
			    name, t->offline[i].cpu);
	}
	if (r == 0)
		r = find_dies(m, q);
	if (r == 0 && m->level == UNCORE_LEVEL_PORT && f->ports && unc_query_is_restrictable(q))
		r = find_ports(m, q);
	return r;
}

/* ---- taking back ---- */

int unc_monitor_refuse_planned(struct uncore_monitor *m)
{
	if (m->state == UNC_MONITOR_NEW)
		return 0;
	return unc_fail(&m->machine->error, EBUSY,
			"the monitor is planned already: add everything before");
}

void unc_monitor_roll_back(struct uncore_monitor *m, struct unc_checkpoint to)
{
	while (m->query_count > to.queries) {
		struct unc_query *q = &m->queries[--m->query_count];

		free(q->targets);
		free(q->gaps);
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
