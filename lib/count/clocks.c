/* SPDX-License-Identifier: MIT */
/* The clocks of PMUs: requested beside metrics, found in the plan, and compared with those of PMUs
 * of the same family. */
#include "count/clocks.h"
#include "count/monitor.h"

/* The event counts cycles whenever the PMU works. Energy is no clock. */
static bool is_clock(const struct unc_event_def *event)
{
	return event->always && !event->kernel_scale && !event->other_model;
}

/* The first such event of the family; NULL: none. */
static const struct unc_event_def *clock_of(const struct unc_family *f)
{
	for (size_t i = 0; f && i < f->event_count; i++)
		if (is_clock(&f->events[i]))
			return &f->events[i];
	return NULL;
}

/* ---- requests ---- */

/* How many different events the PMU counts on the CPU in the round; 0: more than it has counters
 * for, or the clock is among them. */
static size_t used_counters(const struct uncore_monitor *m, const struct unc_request_set *of,
			    const struct unc_config *clock)
{
	const struct unc_config *met[UNC_RULE_MOST];
	size_t count = 0;

	for (size_t i = 0; i < m->set_count; i++) {
		const struct unc_request_set *set = &m->sets[i];

		for (size_t k = 0;
		     unc_same_pmu(set, of) && set->round == of->round && k < set->count; k++) {
			const struct unc_config *config = &set->requests[k].config;
			size_t at = 0;

			while (at < count && memcmp(met[at], config, sizeof(*config)) != 0)
				at++;
			if (memcmp(config, clock, sizeof(*clock)) == 0 ||
			    (at == count && count == UNC_RULE_MOST))
				return 0;
			met[at] = config;
			count += at == count;
		}
	}
	return count;
}

static int request_clock(struct uncore_monitor *m, size_t beside)
{
	const struct uncore_pmu *pmu = m->sets[beside].pmu;
	const struct unc_event_def *clock = clock_of(pmu->family);
	struct unc_request request = {0};
	struct unc_request_set *set;
	struct unc_encoding encoding;
	size_t used;

	if (unc_event_encode(clock, pmu, &encoding, NULL) < 0)
		return 0;
	used = used_counters(m, &m->sets[beside], &encoding.config);
	if (!used || (pmu->family->counters && used >= pmu->family->counters))
		return 0;
	request.event = unc_monitor_keep(m, unc_event_terms(clock, pmu));
	request.config = encoding.config;
	set = request.event ? unc_append(&m->sets, &m->set_count, sizeof(*set)) : NULL;
	if (!set)
		return -ENOMEM;
	*set = m->sets[beside];
	set->together = set->strict = false;
	set->group = -1;
	set->count = 0;
	set->requests = calloc(1, sizeof(request));
	if (!set->requests)
		return -ENOMEM;
	set->requests[set->count++] = request;
	return 0;
}

int unc_clocks_request(struct uncore_monitor *m)
{
	size_t count = m->set_count;
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		const struct unc_family *f = m->sets[i].pmu->family;

		if (m->sets[i].query && f && f->place <= UNC_PLACE_PACKAGE_MEMORY && clock_of(f))
			r = request_clock(m, i);
	}
	return r;
}

/* ---- in the plan ---- */

/* Finds whether the event of a counter never stops, and whether it is a clock. The event may also
 * have been requested by its text. */
static void look_at(const struct uncore_counter *c, bool *never_idle, bool *clock)
{
	const struct unc_family *f = c->pmu->family;
	struct unc_encoding encoding;

	for (size_t i = 0; f && i < f->event_count; i++) {
		const struct unc_event_def *event = &f->events[i];

		if (!event->always || event->other_model ||
		    unc_event_encode(event, c->pmu, &encoding, NULL) < 0 ||
		    memcmp(&encoding.config, &c->config, sizeof(c->config)) != 0)
			continue;
		*never_idle = true;
		*clock |= is_clock(event);
	}
}

static bool same_place(const struct uncore_counter *a, const struct uncore_counter *b)
{
	return a->pmu == b->pmu && a->cpu == b->cpu && a->round == b->round;
}

int unc_clocks_find(struct unc_clocks *out, const struct unc_plan *plan)
{
	struct unc_clocks c = {0};
	size_t end;

	c.counters = calloc(plan->count + 1, sizeof(*c.counters));
	if (!c.counters)
		return -ENOMEM;
	/* Counters of one PMU, CPU and round are adjacent. */
	for (size_t first = 0; first < plan->count; first = end) {
		const struct uncore_counter *counters = plan->counters;
		size_t clock = SIZE_MAX;

		for (end = first; end < plan->count && same_place(&counters[first], &counters[end]);
		     end++) {
			bool is_one = false;

			look_at(&counters[end], &c.counters[end].never_idle, &is_one);
			if (is_one && clock == SIZE_MAX)
				clock = end;
		}
		for (size_t i = first; i < end; i++)
			c.counters[i].clock = clock;
		if (clock != SIZE_MAX && UNC_ADD(&c.items, &c.count, &clock) < 0) {
			unc_clocks_finish(&c);
			return -ENOMEM;
		}
	}
	*out = c;
	return 0;
}

void unc_clocks_finish(struct unc_clocks *c)
{
	free(c->items);
	free(c->counters);
	*c = (struct unc_clocks){0};
}

/* ---- clocks that do not move ---- */

bool unc_clock_stopped(const struct unc_delta *d)
{
	return d->state == UNC_COUNTED && !d->count && d->running_ns >= UNC_STUCK_NS;
}

bool unc_clocks_stopped(const struct unc_clocks *c, const struct unc_delta *deltas)
{
	for (size_t i = 0; i < c->count; i++)
		if (unc_clock_stopped(&deltas[c->items[i]]))
			return true;
	return false;
}

/* ---- PMUs without hardware ---- */

/* How many of the family's counted channels have no module by what the firmware lists; SIZE_MAX:
 * not known. */
static size_t empty_channels(struct uncore *u, const struct unc_family *f,
			     const struct unc_clocks *c, const struct uncore_counter *counters)
{
	const struct uncore_memory *memory =
		f->place == UNC_PLACE_CHANNEL ? uncore_memory_get(u) : NULL;
	size_t channels = 0, filled;

	if (!memory || !memory->modules)
		return SIZE_MAX;
	for (size_t i = 0; i < c->count; i++)
		channels += counters[c->items[i]].pmu->family == f;
	filled = memory->channels * u->topology.socket_count;
	return filled < channels ? channels - filled : 0;
}

/* Whether PMUs without a clock are empty channels: the driver does not look at the hardware, or it
 * is not known whether it does, and there are just as many as the firmware lists no module for. */
static bool may_be_empty(struct uncore *u, const struct unc_clocks *c, const struct unc_plan *plan,
			 const struct unc_delta *totals, const struct uncore_pmu *pmu)
{
	size_t empty = empty_channels(u, pmu->family, c, plan->counters), still = 0;

	for (size_t i = 0; i < c->count; i++)
		still += plan->counters[c->items[i]].pmu->family == pmu->family &&
			 totals[c->items[i]].state == UNC_COUNTED && !totals[c->items[i]].count;
	if (pmu->driver->hardware == UNC_HARDWARE_MAY_LACK)
		return empty;
	return pmu->driver->hardware == UNC_HARDWARE_UNKNOWN && still == empty;
}

/* Its clock has not counted, and that of another PMU of the family has. */
static bool is_lacking(struct uncore *u, const struct unc_clocks *c, const struct unc_plan *plan,
		       const struct unc_delta *totals, size_t clock)
{
	const struct uncore_counter *counters = plan->counters;

	if (!counters[clock].pmu->driver || !may_be_empty(u, c, plan, totals, counters[clock].pmu))
		return false;
	for (size_t i = 0; i < c->count; i++) {
		const struct unc_delta *other = &totals[c->items[i]];

		if (counters[c->items[i]].pmu->family == counters[clock].pmu->family &&
		    other->state == UNC_COUNTED && other->count)
			return true;
	}
	return false;
}

bool unc_clocks_update(struct unc_clocks *c, struct uncore *u, const struct unc_plan *plan,
		       const struct unc_delta *totals)
{
	bool changed = false;

	c->any_lacking = c->any_absent;
	for (size_t i = 0; i < plan->count; i++) {
		bool still = c->counters[i].never_idle && totals[i].state == UNC_COUNTED &&
			     !totals[i].count;

		c->counters[i].still_ns = still ? totals[i].running_ns : 0;
	}
	for (size_t i = 0; i < c->count; i++) {
		size_t clock = c->items[i];
		bool lacking =
			unc_clock_stopped(&totals[clock]) && is_lacking(u, c, plan, totals, clock);

		c->any_lacking |= lacking;
		if (c->counters[clock].lacking == lacking)
			continue;
		changed = true;
		for (size_t k = 0; k < plan->count; k++)
			if (c->counters[k].clock == clock)
				c->counters[k].lacking = lacking;
	}
	return changed;
}
