/* SPDX-License-Identifier: MIT */
/* Root ports that belong to a metric and are not counted: rows and notes say so. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "catalogue/ports.h"
#include "count/monitor.h"

/* ---- those that the user names ---- */

int unc_named_add(struct unc_named *named, struct uncore_monitor *m, const struct uncore_pmu *pmu,
		  const struct unc_error *refused)
{
	unsigned ports = m->filters.port_count ? unc_monitor_named(m, pmu) : 0;

	if (!refused)
		named->counted |= ports;
	for (size_t i = 0; refused && i < m->filters.port_count; i++) {
		if (!(ports & 1U << i) || named->why[i])
			continue;
		named->why[i] = strdup(refused->text);
		if (!named->why[i])
			return unc_nomem(&m->machine->error);
	}
	return 0;
}

const char *unc_named_why(const struct unc_named *named)
{
	for (size_t i = 0; i < UNC_FILTER_CHOICES; i++)
		if (named->why[i])
			return named->why[i];
	return NULL;
}

void unc_named_finish(struct unc_named *named)
{
	for (size_t i = 0; i < UNC_FILTER_CHOICES; i++)
		free(named->why[i]);
}

/* ---- what an item lacks ---- */

static int add_lacking(struct uncore_monitor *m, struct unc_item *item,
		       const struct uncore_device *port, const char *why)
{
	struct unc_lacking *grown;

	for (size_t i = 0; i < item->lacking_count; i++)
		if (item->lacking[i].port == port)
			return 0;
	grown = reallocarray(item->lacking, item->lacking_count + 1, sizeof(*grown));
	if (!grown)
		return unc_nomem(&m->machine->error);
	item->lacking = grown;
	grown[item->lacking_count] = (struct unc_lacking){.port = port};
	if (why && !(grown[item->lacking_count].why = strdup(why)))
		return unc_nomem(&m->machine->error);
	item->lacking_count++;
	return 0;
}

static bool counts(struct uncore_monitor *m, const struct uncore_pmu *pmu,
		   const struct uncore_device *port)
{
	for (size_t c = 0; c < pmu->cpus.count; c++) {
		const struct unc_port *ports;
		size_t count = 0;

		if (unc_ports_of(m->machine, pmu, pmu->cpus.ids[c], &ports, &count, NULL) < 0)
			continue;
		for (size_t i = 0; i < count; i++)
			if (ports[i].device == port)
				return true;
	}
	return false;
}

/* Another family has the metric, too, and counts the port: its rows are there. */
static bool counted_elsewhere(struct uncore_monitor *m, const struct uncore_metric *metric,
			      const struct uncore_device *port)
{
	const struct unc_catalogue *c = &m->machine->catalogue;

	for (size_t i = 0; i < c->metric_count; i++) {
		const struct uncore_metric *other = c->metrics[i];

		if (other->family == metric->family || strcmp(other->name, metric->name) != 0 ||
		    uncore_metric_missing(other))
			continue;
		for (size_t k = 0; k < other->family->pmu_count; k++)
			if (unc_metric_on(other, other->family->pmus[k]) &&
			    counts(m, other->family->pmus[k], port))
				return true;
	}
	return false;
}

static int lack_named(struct uncore_monitor *m, struct unc_item *item,
		      const struct unc_named *named)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < m->filters.port_count; i++) {
		const struct unc_port_choice *choice = &m->filters.ports[i];
		const struct uncore_device *port = choice->device;

		if (named->counted & 1U << i)
			continue;
		if (!port)
			port = unc_ports_numbered(m->machine, choice->socket, choice->rc,
						  choice->index);
		if (!port)
			return unc_nomem(&m->machine->error);
		if (!counted_elsewhere(m, item->metric, port))
			r = add_lacking(m, item, port,
					named->why[i] ? named->why[i] : port->unknown);
	}
	return r;
}

/* ---- those that nobody names, where each has a row ---- */

/* The PMU may count the port: which ones it counts is not known, be it of all PMUs (`any`) or for the
 * reason that is the port's, too. */
static bool may_count(struct uncore_monitor *m, const struct uncore_pmu *pmu,
		      const struct uncore_device *port, bool any)
{
	for (size_t c = 0; c < pmu->cpus.count; c++) {
		const struct unc_port *ports;
		struct unc_error why;
		size_t count;

		if (unc_ports_of(m->machine, pmu, pmu->cpus.ids[c], &ports, &count, &why) < 0 &&
		    (any || (port->unknown && strcmp(why.text, port->unknown) == 0)))
			return true;
	}
	return false;
}

static bool some_known(struct uncore_monitor *m, const struct unc_family *f)
{
	for (size_t i = 0; i < f->pmu_count; i++)
		for (size_t c = 0; c < f->pmus[i]->cpus.count; c++) {
			const struct unc_port *ports;
			size_t count;

			if (unc_ports_of(m->machine, f->pmus[i], f->pmus[i]->cpus.ids[c], &ports,
					 &count, NULL) == 0)
				return true;
		}
	return false;
}

/* A port that may be in the row of some PMU is in no row that could say so. */
static int note_hidden(struct uncore_monitor *m, const struct uncore_device *const *hidden,
		       size_t count)
{
	const char *why = hidden[0]->unknown;
	struct unc_text list = {0}, note = {0};
	size_t same = 0;
	int r;

	for (size_t i = 0; i < count; i++)
		if (strcmp(hidden[i]->unknown, why) == 0)
			unc_text_add(&list, "%s%s", same++ ? ", " : "", hidden[i]->address);
	unc_text_add(&note, "root port%s %s %s: %s", same > 1 ? "s" : "",
		     list.failed ? "" : list.data,
		     same > 1 ? "have no rows of their own" : "has no row of its own", why);
	r = list.failed || note.failed ? unc_nomem(&m->machine->error)
				       : unc_monitor_note_once(m, note.data);
	unc_text_finish(&list);
	unc_text_finish(&note);
	return r;
}

/* One note for each reason. */
static int note_all_hidden(struct uncore_monitor *m, const struct uncore_device *const *hidden,
			   size_t count)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		size_t first = 0;

		while (strcmp(hidden[first]->unknown, hidden[i]->unknown) != 0)
			first++;
		if (first == i)
			r = note_hidden(m, &hidden[i], count - i);
	}
	return r;
}

static int lack_rest(struct uncore_monitor *m, struct unc_item *item)
{
	const struct unc_family *f = item->metric->family;
	size_t all = uncore_device_count(m->machine), count = 0;
	const struct uncore_device **hidden = calloc(all + 1, sizeof(*hidden));
	bool known = some_known(m, f);
	int r = 0;

	if (!hidden)
		return unc_nomem(&m->machine->error);
	for (size_t i = 0; r == 0 && i < all; i++) {
		const struct uncore_device *port = uncore_device_at(m->machine, i);
		bool counted = !port->is_port || !port->unknown, maybe = false;

		for (size_t k = 0; !counted && !maybe && k < f->pmu_count; k++)
			maybe = may_count(m, f->pmus[k], port, !known);
		if (counted)
			continue;
		if (maybe)
			hidden[count++] = port;
		else
			r = add_lacking(m, item, port, port->unknown);
	}
	if (r == 0)
		r = note_all_hidden(m, hidden, count);
	free(hidden);
	return r;
}

/* Some event of it is of some ports, and not the same for all. */
static bool is_by_port(const struct uncore_metric *metric)
{
	for (size_t k = 0; k < unc_formula_name_count(metric->formula); k++)
		if (!metric->events[k]->unfiltered)
			return metric->family->has_ports;
	return false;
}

int unc_item_lack(struct uncore_monitor *m, struct unc_item *item, const struct unc_named *named)
{
	const struct uncore_device *device = m->filters.device;

	if (m->level == UNCORE_LEVEL_PORT && !item->narrowed && item->place_count &&
	    is_by_port(item->metric))
		return lack_rest(m, item);
	if (device && !item->place_count && device->port->unknown)
		return add_lacking(m, item, device->port, device->port->unknown);
	return lack_named(m, item, named);
}

/* ---- and says of it ---- */

void unc_lacking_text(const struct unc_item *item, const struct unc_lacking *l, struct unc_text *to)
{
	unc_text_add(to, "%sroot port %s is not counted: ", to->len ? "; " : "", l->port->address);
	if (l->why)
		unc_text_add(to, "%s", l->why);
	else
		unc_text_add(to, "no PMU of %s counts it", item->metric->family->name);
}

void unc_item_lacking_text(const struct unc_item *item, int socket, struct unc_text *to)
{
	for (size_t i = 0; i < item->lacking_count; i++) {
		const struct unc_lacking *l = &item->lacking[i];

		if (socket < 0 || l->port->socket < 0 || l->port->socket == socket)
			unc_lacking_text(item, l, to);
	}
}

int unc_item_note_lacking(struct uncore_monitor *m, const struct unc_item *item)
{
	int r = 0;

	for (size_t i = 0; r == 0 && item->narrowed && i < item->lacking_count; i++) {
		struct unc_text note = {0};

		unc_lacking_text(item, &item->lacking[i], &note);
		r = note.failed ? unc_nomem(&m->machine->error)
				: unc_monitor_note_once(m, note.data);
		unc_text_finish(&note);
	}
	return r;
}

void unc_item_forget_lacking(struct unc_item *item)
{
	for (size_t i = 0; i < item->lacking_count; i++)
		free(item->lacking[i].why);
	free(item->lacking);
}
