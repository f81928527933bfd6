/* SPDX-License-Identifier: MIT */
/* A monitor: planned, opened, started, read, stopped. */
#include "count/monitor.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalogue/rules.h"
#include "count/sample.h"

int uncore_monitor_new(struct uncore_monitor **out, struct uncore *u)
{
	struct uncore_monitor *m;

	if (!u->scanned)
		return unc_fail(&u->error, EINVAL, "the machine must be scanned before a monitor");
	m = calloc(1, sizeof(*m));
	if (!m)
		return unc_nomem(&u->error);
	m->machine = u;
	u->monitors++;
	*out = m;
	return 0;
}

static void close_source(struct uncore_monitor *m)
{
	if (m->source)
		m->source->ops->close(m->source);
	m->source = NULL;
	m->started = m->read = false;
	free(m->first);
	free(m->previous);
	free(m->latest);
	free(m->good);
	free(m->deltas);
	free(m->bad);
	free(m->gap);
	m->bad = NULL;
	m->gap = NULL;
	m->first = m->previous = m->latest = m->good = NULL;
	m->deltas = NULL;
}

void uncore_monitor_free(struct uncore_monitor *m)
{
	if (!m)
		return;
	close_source(m);
	unc_lines_free(m->lines, m->line_count);
	unc_plan_finish(&m->plan);
	unc_monitor_roll_back(m, 0, 0);
	free(m->items);
	free(m->wants);
	unc_filters_finish(&m->filters);
	unc_names_finish(&m->strings);
	unc_names_finish(&m->notes);
	m->machine->monitors--;
	free(m);
}

int uncore_monitor_set_level(struct uncore_monitor *m, enum uncore_level level)
{
	if (m->item_count)
		return unc_fail(&m->machine->error, EBUSY,
				"the level must be set before events or metrics are added");
	if ((unsigned)level > UNCORE_LEVEL_PORT)
		return unc_fail(&m->machine->error, EINVAL, "%d is no level", (int)level);
	m->level = level;
	return 0;
}

/* There may be thousands of wants and places. */
static size_t more_room(size_t room)
{
	return room ? 2 * room : 8;
}

struct unc_want *unc_monitor_want(struct uncore_monitor *m, const struct uncore_pmu *pmu, int cpu)
{
	if (m->want_count == m->want_room) {
		size_t room = more_room(m->want_room);
		struct unc_want *wants = reallocarray(m->wants, room, sizeof(*wants));

		if (!wants) {
			unc_nomem(&m->machine->error);
			return NULL;
		}
		m->wants = wants;
		m->want_room = room;
	}
	m->wants[m->want_count] = (struct unc_want){.pmu = pmu, .cpu = cpu, .group = -1};
	return &m->wants[m->want_count++];
}

/* The same text, kept as long as the monitor; each text once. */
static const char *keep(struct uncore_monitor *m, const char *text)
{
	for (size_t i = m->strings.count; i-- > 0;)
		if (strcmp(m->strings.items[i], text) == 0)
			return m->strings.items[i];
	if (unc_names_add(&m->strings, text) < 0)
		return NULL;
	return m->strings.items[m->strings.count - 1];
}

int unc_monitor_wanted(struct uncore_monitor *m, struct unc_want *want, const char *terms,
		       const struct unc_encoding *encoding, uint32_t modifiers)
{
	struct unc_wanted *events = reallocarray(want->events, want->count + 1, sizeof(*events));
	const char *kept = keep(m, terms);

	if (events)
		want->events = events;
	if (!events || !kept)
		return unc_nomem(&m->machine->error);
	events[want->count++] = (struct unc_wanted){
		.event = kept,
		.config = encoding->config,
		.modifiers = modifiers,
		.snapshot = encoding->alias && encoding->alias->snapshot,
	};
	return 0;
}

struct unc_item *unc_monitor_item(struct uncore_monitor *m)
{
	struct unc_item *items = reallocarray(m->items, m->item_count + 1, sizeof(*items));

	if (!items) {
		unc_nomem(&m->machine->error);
		return NULL;
	}
	m->items = items;
	items[m->item_count] = (struct unc_item){.scale = 1};
	return &items[m->item_count++];
}

int unc_item_place(struct unc_item *item, const struct unc_ref *refs)
{
	size_t size = item->event_count * sizeof(*refs);

	if (item->place_count == item->place_room) {
		size_t room = more_room(item->place_room);
		struct unc_ref *grown = reallocarray(item->refs, room, size);

		if (!grown)
			return -ENOMEM;
		item->refs = grown;
		item->place_room = room;
	}
	memcpy(&item->refs[item->place_count * item->event_count], refs, size);
	item->place_count++;
	return 0;
}

bool unc_monitor_package_seen(const struct uncore_monitor *m, const struct uncore_pmu *pmu,
			      size_t i)
{
	const struct unc_topology *t = &m->machine->topology;
	int socket = unc_topology_socket(t, pmu->cpus.ids[i]);

	if (socket < 0)
		return false; /* not known: better twice with a place each than not at all */
	for (size_t k = 0; k < i; k++)
		if (unc_topology_socket(t, pmu->cpus.ids[k]) == socket)
			return true;
	return false;
}

int unc_item_leave_out(struct unc_item *item, const char *why)
{
	if (!item->left_out++)
		item->left_why = strdup(why);
	return item->left_why ? 0 : -ENOMEM;
}

void unc_monitor_roll_back(struct uncore_monitor *m, size_t item_count, size_t want_count)
{
	while (m->item_count > item_count) {
		struct unc_item *item = &m->items[--m->item_count];

		free(item->name);
		free(item->unit);
		free(item->refs);
		free(item->scales);
		free(item->left_why);
		free(item->filter);
		unc_item_forget_lacking(item);
	}
	while (m->want_count > want_count)
		free(m->wants[--m->want_count].events);
}

int unc_monitor_plan(struct uncore_monitor *m)
{
	struct unc_plan plan;
	int r;

	if (m->planned)
		return 0;
	r = unc_rules_check(m->wants, m->want_count, &m->machine->error);
	if (r < 0)
		return r;
	if (unc_plan_build(&plan, m->wants, m->want_count) < 0)
		return unc_nomem(&m->machine->error);
	m->plan = plan;
	r = unc_monitor_lines(m);
	if (r < 0) {
		unc_plan_finish(&m->plan);
		return unc_nomem(&m->machine->error);
	}
	m->planned = true;
	return 0;
}

size_t uncore_monitor_counter_count(struct uncore_monitor *m)
{
	return unc_monitor_plan(m) < 0 ? 0 : m->plan.count;
}

int uncore_monitor_counter(struct uncore_monitor *m, size_t i, struct uncore_counter *into)
{
	const struct unc_counter *c;
	int r = unc_monitor_plan(m);

	if (r < 0)
		return r;
	if (i >= m->plan.count)
		return unc_fail(&m->machine->error, EINVAL, "there is no counter number %zu", i);
	c = &m->plan.counters[i];
	*into = (struct uncore_counter){
		.event = c->event,
		.pmu = c->pmu,
		.cpu = c->cpu,
		.group = c->set,
		.leader = i == 0 || c[-1].set != c->set,
	};
	memcpy(into->config, c->config.word, sizeof(into->config));
	return 0;
}

static int allocate_readings(struct uncore_monitor *m)
{
	size_t n = m->plan.count + 1;

	m->first = calloc(n, sizeof(*m->first));
	m->previous = calloc(n, sizeof(*m->previous));
	m->latest = calloc(n, sizeof(*m->latest));
	m->good = calloc(n, sizeof(*m->good));
	m->deltas = calloc(n, sizeof(*m->deltas));
	m->bad = calloc(n, sizeof(*m->bad));
	m->gap = calloc(n, sizeof(*m->gap));
	if (!m->first || !m->previous || !m->latest || !m->good || !m->deltas || !m->bad || !m->gap)
		return unc_nomem(&m->machine->error);
	return 0;
}

/* What an earlier try to open said. */
static void forget_errors(struct unc_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		free(plan->counters[i].why);
		plan->counters[i].why = NULL;
		plan->counters[i].error = 0;
	}
}

int uncore_monitor_open(struct uncore_monitor *m)
{
	struct unc_error *e = &m->machine->error;
	int r = unc_monitor_plan(m);

	if (r < 0)
		return r;
	if (m->source)
		return unc_fail(e, EBUSY, "the monitor is open already");
	if (!m->plan.count)
		return unc_fail(e, EINVAL, "nothing to count: no event and no metric was added");
	forget_errors(&m->plan);
	r = allocate_readings(m);
	if (r == 0)
		r = unc_machine_source(m->machine, &m->source);
	if (r == 0)
		r = m->source->ops->open(m->source, m->plan.counters, m->plan.count, &m->notes, e);
	if (r < 0)
		close_source(m);
	return r;
}

/* Enabled first: the window then begins at a reading as it ends at one, however long enabling took. */
int uncore_monitor_start(struct uncore_monitor *m)
{
	struct unc_error *e = &m->machine->error;
	int r;

	if (!m->source)
		return unc_fail(e, EINVAL, "the monitor is not open");
	if (m->started)
		return unc_fail(e, EBUSY, "the monitor was started already");
	r = m->source->ops->enable(m->source, e);
	if (r == 0)
		r = m->source->ops->read(m->source, m->first, &m->first_ns, e);
	if (r < 0)
		return r;
	memcpy(m->previous, m->first, m->plan.count * sizeof(*m->first));
	memcpy(m->latest, m->first, m->plan.count * sizeof(*m->first));
	memcpy(m->good, m->first, m->plan.count * sizeof(*m->first));
	m->previous_ns = m->latest_ns = m->first_ns;
	m->started = true;
	return 0;
}

/* Read at once: a register that nothing was written to counts on, and time goes on for all. Only the
 * first failure is told. */
int uncore_monitor_stop(struct uncore_monitor *m)
{
	struct unc_error other, *e = &m->machine->error;
	int r, err = 0;

	if (!m->started)
		return unc_fail(e, EINVAL, "the monitor was not started");
	r = m->source->ops->disable(m->source, e);
	if (!m->stopped) {
		err = m->source->ops->read(m->source, m->previous, &m->end_ns, r < 0 ? &other : e);
		m->ended = err == 0;
	}
	m->stopped = true;
	return r < 0 ? r : err;
}

/* Nobody knows what was counted, not even by the counter's next reading. */
static bool never_total(enum unc_state state)
{
	return state == UNC_WENT_BACK || state == UNC_TOO_FAST || state == UNC_WRAPPED;
}

/* Intervals beside a lost reading are no values. The total goes on over them, if it can. */
static void step_over_gap(struct uncore_monitor *m, size_t i)
{
	enum unc_state state = UNC_COUNTED;

	if (m->latest[i].lost)
		return;
	if (m->previous[i].lost && !m->good[i].lost)
		state = unc_delta_over_gap(&m->plan.counters[i], &m->good[i], &m->latest[i]);
	if (never_total(state))
		m->bad[i] = state;
	m->good[i] = m->latest[i];
}

/* What went wrong in an interval is remembered: the total over it must not look right. */
static void take_deltas(struct uncore_monitor *m, const struct unc_reading *from)
{
	bool total = from == m->first;

	for (size_t i = 0; i < m->plan.count; i++) {
		struct unc_delta *d = &m->deltas[i];

		*d = unc_delta_take(&m->plan.counters[i], &from[i], &m->latest[i]);
		if (!total) {
			unc_delta_bound(&m->plan.counters[i], d);
			step_over_gap(m, i);
		} else if (m->bad[i]) {
			*d = (struct unc_delta){.state = m->bad[i]};
		}
		d->gap = total && m->gap[i];
		if (never_total(d->state))
			m->bad[i] = d->state;
		m->gap[i] = m->gap[i] || d->state == UNC_LOST || d->state == UNC_STOPPED;
	}
}

static void fill(struct uncore_monitor *m, const struct unc_reading *from, uint64_t from_ns,
		 struct uncore_sample *into)
{
	const struct unc_window window = {.counters = m->plan.counters,
					  .deltas = m->deltas,
					  .length_ns = m->latest_ns - from_ns};

	take_deltas(m, from);
	into->reasons.len = 0;
	into->begin_ns = from_ns;
	into->end_ns = m->latest_ns;
	into->count = m->line_count;
	for (size_t i = 0; i < m->line_count; i++)
		unc_line_evaluate(&m->lines[i], &window, &into->reasons, &into->rows[i]);
}

static int prepare(struct uncore_monitor *m, struct uncore_sample *into)
{
	if (!m->started)
		return unc_fail(&m->machine->error, EINVAL, "the monitor was not started");
	return unc_sample_reserve(into, m->line_count) < 0 ? unc_nomem(&m->machine->error) : 0;
}

int uncore_monitor_read(struct uncore_monitor *m, struct uncore_sample *into)
{
	struct unc_reading *spare = m->previous;
	uint64_t now_ns = 0;
	int r = prepare(m, into);

	if (r == 0 && m->finished)
		r = unc_fail(&m->machine->error, EINVAL,
			     "the monitor was stopped, and its end has been read");
	if (r == 0 && m->ended)
		now_ns = m->end_ns;
	else if (r == 0)
		r = m->source->ops->read(m->source, spare, &now_ns, &m->machine->error);
	if (r < 0)
		return r;
	for (size_t i = 0; i < m->plan.count; i++)
		unc_delta_unwrap(&m->plan.counters[i], &m->latest[i], &spare[i]);
	m->previous = m->latest;
	m->previous_ns = m->latest_ns;
	m->latest = spare;
	m->latest_ns = now_ns;
	m->read = true;
	m->finished = m->stopped;
	fill(m, m->previous, m->previous_ns, into);
	return 0;
}

int uncore_monitor_total(struct uncore_monitor *m, struct uncore_sample *into)
{
	int r = prepare(m, into);

	if (r < 0)
		return r;
	if (!m->read)
		return unc_fail(&m->machine->error, EINVAL,
				"there is no total before the first read");
	fill(m, m->first, m->first_ns, into);
	return 0;
}

int unc_monitor_note(struct uncore_monitor *m, const char *fmt, ...)
{
	char note[sizeof(m->machine->error.text)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(note, sizeof(note), fmt, args);
	va_end(args);
	return unc_names_add(&m->notes, note) < 0 ? unc_nomem(&m->machine->error) : 0;
}

int unc_monitor_note_once(struct uncore_monitor *m, const char *note)
{
	if (unc_names_has(&m->notes, note))
		return 0;
	return unc_names_add(&m->notes, note) < 0 ? unc_nomem(&m->machine->error) : 0;
}

size_t uncore_monitor_note_count(const struct uncore_monitor *m)
{
	return m->notes.count;
}

const char *uncore_monitor_note_at(const struct uncore_monitor *m, size_t i)
{
	return m->notes.items[i];
}
