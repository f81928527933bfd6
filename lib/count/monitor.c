/* SPDX-License-Identifier: MIT */
/* A monitor is planned, opened, started, read into a sample, and stopped. It calls the passes in
 * their order: see HACKING.md. */
#include "count/monitor.h"

#include <math.h>

/* The caller's buffer of rows. */
struct uncore_sample {
	struct {
		struct unc_judged judged;
		char reason[UNC_REASON_ROOM];
		struct uncore_distribution distribution;
		const struct uncore_input *inputs;
		size_t input_count;
	} * rows;
	struct uncore_input *inputs; /* of all rows */
	bool has_distributions;
	size_t count, room, input_room;
	struct unc_moment begin, end;
};

int uncore_monitor_new(struct uncore_monitor **out, struct uncore *u)
{
	struct uncore_monitor *m;

	if (!u->scanned)
		return unc_fail(&u->error, EBUSY, "the machine must be scanned before a monitor");
	m = calloc(1, sizeof(*m));
	if (!m)
		return unc_nomem(&u->error);
	m->machine = u;
	m->levels = 1u << UNCORE_LEVEL_MACHINE;
	u->monitors++;
	*out = m;
	return 0;
}

static void close_source(struct uncore_monitor *m)
{
	for (size_t p = 0; p < m->part_count; p++)
		m->parts[p].source->ops->close(m->parts[p].source);
	m->part_count = 0;
	free(m->previous);
	free(m->now);
	if (m->latest != m->interval)
		free(m->latest);
	free(m->interval);
	free(m->total);
	free(m->past);
	free(m->marks);
	m->previous = m->now = NULL;
	m->past = NULL;
	m->marks = NULL;
	m->latest = m->interval = m->total = NULL;
}

void uncore_monitor_free(struct uncore_monitor *m)
{
	if (!m)
		return;
	close_source(m);
	free(m->earlier);
	unc_rows_finish(&m->rows);
	free(m->distributions);
	free(m->distribution_totals);
	free(m->short_values);
	unc_clocks_finish(&m->clocks);
	unc_plan_finish(&m->plan);
	unc_monitor_roll_back(m, (struct unc_checkpoint){0});
	free(m->queries);
	free(m->sets);
	unc_names_finish(&m->strings);
	unc_names_finish(&m->notes);
	m->machine->monitors--;
	free(m);
}

int uncore_monitor_set_level(struct uncore_monitor *m, enum uncore_level level)
{
	int r = uncore_monitor_add_level(m, level);

	if (r == 0) {
		m->level = level;
		m->levels = 1u << level;
	}
	return r;
}

int uncore_monitor_add_level(struct uncore_monitor *m, enum uncore_level level)
{
	int r = unc_monitor_refuse_planned(m);

	if (r == 0 && (unsigned)level > UNCORE_LEVEL_PART)
		r = unc_fail(&m->machine->error, EINVAL, "%d is not a level", (int)level);
	m->levels |= r == 0 ? 1u << level : 0;
	return r;
}

int uncore_monitor_set_extra_rows(struct uncore_monitor *m, bool by_port)
{
	int r = unc_monitor_refuse_planned(m);

	if (r == 0)
		r = unc_catalogue_load_views(&m->machine->catalogue, &m->machine->error);
	m->extra = m->extra || r == 0;
	m->by_port = m->by_port || (r == 0 && by_port);
	return r;
}

int uncore_monitor_set_rounds(struct uncore_monitor *m)
{
	int r = unc_monitor_refuse_planned(m);

	m->in_rounds = m->in_rounds || r == 0;
	return r;
}

int uncore_monitor_set_cheap(struct uncore_monitor *m)
{
	int r = unc_monitor_refuse_planned(m);

	m->cheap = m->cheap || r == 0;
	return r;
}

int uncore_monitor_set_short_samples(struct uncore_monitor *m, double share)
{
	int r = unc_monitor_refuse_planned(m);

	if (r == 0 && !(share > 0 && share <= 1))
		r = unc_fail(&m->machine->error, EINVAL,
			     "the share of the ceiling must be above 0 and at most 1");
	m->short_share = r == 0 ? share : m->short_share;
	return r;
}

static void begin_round(struct uncore_monitor *m, size_t round)
{
	m->round = round;
	m->first += m->count;
	m->count = 0;
	while (m->first + m->count < m->plan.count &&
	       m->plan.counters[m->first + m->count].round == round)
		m->count++;
	m->interval_count = 0;
	m->state = UNC_MONITOR_PLANNED;
}

int uncore_monitor_plan(struct uncore_monitor *m)
{
	struct unc_error *e = &m->machine->error;
	int r;

	if (m->state != UNC_MONITOR_NEW)
		return 0;
	if (!m->set_count)
		return unc_fail(e, EINVAL, "nothing to count: no event and no metric was added");
	r = unc_rules_check(m);
	if (r < 0)
		return r;
	if (m->in_rounds && unc_plan_rounds(m->sets, m->set_count, m->query_count) < 0)
		return unc_nomem(e);
	if (unc_clocks_request(m) < 0 || unc_plan_build(&m->plan, m->sets, m->set_count) < 0)
		return unc_nomem(e);
	if (unc_clocks_find(&m->clocks, &m->plan) < 0 ||
	    unc_rows_make(&m->rows, m->machine, m->queries, m->query_count, m->sets) < 0) {
		unc_clocks_finish(&m->clocks);
		unc_plan_finish(&m->plan);
		return unc_nomem(e);
	}
	begin_round(m, 0);
	return 0;
}

size_t uncore_monitor_row_count(const struct uncore_monitor *m)
{
	return m->rows.count;
}

const struct uncore_row_query *uncore_monitor_row_query_at(const struct uncore_monitor *m, size_t i)
{
	return &m->rows.items[i].query->shown;
}

double uncore_monitor_row_ceiling_at(const struct uncore_monitor *m, size_t i, const char **why)
{
	const struct unc_row *row = &m->rows.items[i];
	const struct uncore_metric *metric = row->query->metric;

	*why = isnan(row->ceiling) && metric && metric->ceiling == UNC_CEILING_MEMORY
		       ? uncore_memory_get(m->machine)->why
		       : NULL;
	return row->ceiling;
}

size_t uncore_monitor_round_count(const struct uncore_monitor *m)
{
	return m->plan.round_count;
}

int uncore_monitor_next_round(struct uncore_monitor *m)
{
	if (m->state < UNC_MONITOR_PLANNED)
		return unc_fail(&m->machine->error, EBUSY, "the monitor is not planned");
	if (m->round + 1 >= m->plan.round_count)
		return 0;
	free(m->earlier);
	m->earlier = m->total;
	m->total = NULL;
	/* The sentences of this source end with it. */
	for (size_t i = m->first; i < m->first + m->count; i++)
		if (m->plan.counters[i].pmu->source == UNC_SOURCE_NVML)
			m->earlier[i].why = NULL;
	close_source(m);
	begin_round(m, m->round + 1);
	return 1;
}

size_t uncore_monitor_counter_count(const struct uncore_monitor *m)
{
	return m->plan.count;
}

const struct uncore_counter *uncore_monitor_counter_at(const struct uncore_monitor *m, size_t i)
{
	return i < m->plan.count ? &m->plan.counters[i] : NULL;
}

const struct uncore_reading *uncore_monitor_reading_at(const struct uncore_monitor *m, size_t i)
{
	bool current = i >= m->first && i < m->first + m->count;

	return current && m->state >= UNC_MONITOR_RUNNING ? &m->previous[i] : NULL;
}

/* Allocates the distributions of all rows, including those of later rounds. */
static int make_distributions(struct uncore_monitor *m)
{
	size_t n = m->rows.count + 1;

	if (m->short_share <= 0 || m->distributions)
		return 0;
	m->distributions = calloc(n, sizeof(*m->distributions));
	m->distribution_totals = calloc(n, sizeof(*m->distribution_totals));
	m->short_values = calloc(n, sizeof(*m->short_values));
	if (!m->distributions || !m->distribution_totals || !m->short_values)
		return -ENOMEM;
	for (size_t i = 0; i < m->rows.count; i++) {
		const struct unc_row *row = &m->rows.items[i];
		const struct uncore_metric *metric = row->query->metric;
		bool ratio = metric && strcmp(metric->unit, "ratio") == 0;

		m->distributions[i].threshold =
			m->short_share * (isnan(row->ceiling) && ratio ? 1 : row->ceiling);
		m->distribution_totals[i].threshold = m->distributions[i].threshold;
	}
	return 0;
}

/* Opens the current round's counters, those of each source. A source that cannot count
 * at all fails only if there is no other: else its counters keep the error. */
static int open_sources(struct uncore_monitor *m)
{
	struct uncore_counter *c = m->plan.counters;
	struct unc_error *e = &m->machine->error;
	bool by_source = unc_machine_has_sources(m->machine);
	size_t end = m->first + m->count;
	int r = 0;

	for (size_t i = m->first; r == 0 && i < end;) {
		struct unc_part *part = &m->parts[m->part_count];
		struct unc_error why = {0};

		*part = (struct unc_part){.first = i};
		for (; i < end && (!by_source || c[i].pmu->source == c[part->first].pmu->source);
		     i++)
			part->count++;
		r = unc_machine_source(m->machine, c[part->first].pmu->source, &part->source);
		if (r < 0)
			break;
		part->source->cheap = m->cheap;
		m->part_count++;
		r = part->source->ops->open(part->source, &c[part->first], part->count, &m->notes,
					    &why);
		if (r < 0 && (r == -ENOMEM || part->count == m->count))
			return unc_fail(e, -r, "%s", why.text);
		for (size_t k = part->first; r < 0 && k < i; k++) {
			free((void *)c[k].why);
			if (unc_counter_refuse(&c[k], r, why.text, e) < 0)
				return -ENOMEM;
		}
		if (r < 0) {
			part->source->ops->close(part->source);
			m->part_count--;
		}
		r = 0;
	}
	return r;
}

/* Leaves out links and optional counts that a device does not have, and names the other ends of the
 * others. -ENOMEM. */
static int note_links(struct uncore_monitor *m)
{
	int r = 0;

	for (size_t i = m->first; r == 0 && i < m->first + m->count; i++) {
		const struct uncore_counter *c = &m->plan.counters[i];

		if (c->error != -ENOLINK)
			continue;
		m->clocks.counters[i].lacking = m->clocks.any_lacking = m->clocks.any_absent = true;
		r = unc_device_link(c->config) < 0
			    ? unc_monitor_note(m, "left out: %s", c->why)
			    : unc_monitor_note(m, "left out: links that %s does not have",
					       c->pmu->name);
	}
	for (size_t i = 0; r == 0 && i < m->rows.count; i++) {
		struct unc_row *row = &m->rows.items[i];
		const char *peer = row->counter_count && row->round == m->round
					   ? m->plan.counters[row->counters->number].peer
					   : NULL;

		if (!peer || !row->key.role || row->level != UNCORE_LEVEL_PART)
			continue;
		row->place.role = unc_monitor_keep(m, UNC_PATH("%s to %s", row->key.role, peer));
		r = row->place.role ? 0 : unc_nomem(&m->machine->error);
	}
	return r;
}

/* Leaves out the counters of parts, such as engines, of which only the driver's refusal shows that
 * the PMU does not have them. -ENOMEM. */
static int note_parts(struct uncore_monitor *m)
{
	int r = 0;

	for (size_t i = 0; i < m->rows.count; i++) {
		const struct unc_row *row = &m->rows.items[i];
		const struct uncore_metric *metric = row->query->metric;

		for (size_t k = 0; r == 0 && metric && k < row->counter_count; k++) {
			size_t number = row->counters[k].number;
			const struct uncore_counter *c = &m->plan.counters[number];

			if (c->error != -ENOENT ||
			    !metric->events[row->counters[k].event]->optional)
				continue;
			m->clocks.counters[number].lacking = m->clocks.any_lacking =
				m->clocks.any_absent = true;
			r = unc_monitor_note(m, "left out: parts that %s does not have",
					     c->pmu->name);
		}
	}
	return r;
}

int uncore_monitor_open(struct uncore_monitor *m)
{
	struct unc_error *e = &m->machine->error;
	int r = uncore_monitor_plan(m);
	struct uncore_counter *counters;
	size_t n;

	if (r < 0)
		return r;
	n = m->plan.count + 1;
	counters = m->plan.counters + m->first;
	if (m->state != UNC_MONITOR_PLANNED)
		return unc_fail(e, EBUSY, "the monitor is open already");
	for (size_t i = 0; i < m->count; i++) { /* clears errors of an earlier attempt */
		free((void *)counters[i].why);
		free((void *)counters[i].peer);
		counters[i].why = counters[i].peer = NULL;
		counters[i].error = 0;
	}
	m->previous = calloc(n, sizeof(*m->previous));
	m->now = calloc(n, sizeof(*m->now));
	m->interval = calloc(n, sizeof(*m->interval));
	m->total = calloc(n, sizeof(*m->total));
	m->past = calloc(n, sizeof(*m->past));
	m->marks = calloc(n, sizeof(*m->marks));
	/* Whether an interval can have several readings. */
	m->latest = m->short_share > 0 || m->machine->replay.read ? calloc(n, sizeof(*m->latest))
								  : m->interval;
	if (!m->previous || !m->now || !m->latest || !m->interval || !m->total || !m->past ||
	    !m->marks || make_distributions(m) < 0)
		r = unc_nomem(e);
	/* A row may have counters of earlier rounds. */
	if (r == 0 && m->earlier) {
		memcpy(m->interval, m->earlier, m->first * sizeof(*m->earlier));
		memcpy(m->latest, m->earlier, m->first * sizeof(*m->earlier));
		memcpy(m->total, m->earlier, m->first * sizeof(*m->earlier));
	}
	if (r == 0)
		r = open_sources(m);
	for (size_t i = 0; r == 0 && i < m->count; i++)
		m->opened = m->opened || counters[i].error == 0;
	/* Other rounds may have counters. If the driver does not know the event, this machine
	 * cannot count it. */
	if (r == 0 && !m->opened && m->round + 1 == m->plan.round_count) {
		r = -counters[0].error;
		r = unc_fail(e, r == ENOENT || r == ENXIO || r == ENOLINK ? ENODEV : r, "%s",
			     counters[0].why);
	}
	if (r == 0)
		r = note_links(m);
	if (r == 0)
		r = note_parts(m);
	if (r < 0)
		close_source(m);
	else
		m->state = UNC_MONITOR_OPEN;
	return r;
}

static int read_counters(struct uncore_monitor *m, struct uncore_reading *into,
			 struct unc_moment *at, struct unc_error *e)
{
	const struct unc_source *first;
	struct timespec wall;
	int r = 0, more;

	/* The interval is that of the first source. */
	for (size_t p = 0; r >= 0 && p < m->part_count; p++) {
		const struct unc_part *part = &m->parts[p];
		uint64_t now_ns = 0;

		more = part->source->ops->read(part->source, into + part->first, &now_ns, e);
		for (size_t i = part->first; more >= 0 && i < part->first + part->count; i++)
			if (!into[i].at_ns)
				into[i].at_ns = now_ns;
		if (p == 0)
			at->ns = now_ns;
		r = more < 0 ? more : r | more;
	}
	if (r < 0 || !m->part_count)
		return r;
	first = m->parts[0].source;
	at->wall_ns = first->wall_ns;
	if (!first->own_time) {
		clock_gettime(CLOCK_REALTIME, &wall);
		at->wall_ns = at->ns + (uint64_t)wall.tv_sec * 1000000000u +
			      (uint64_t)wall.tv_nsec - unc_now_ns();
	}
	return r;
}

/* Enables before the first reading, so that the interval begins and ends with a reading and does
 * not include the time of enabling. */
int uncore_monitor_start(struct uncore_monitor *m)
{
	struct unc_error *e = &m->machine->error;
	int r = 0;

	if (m->state < UNC_MONITOR_OPEN)
		return unc_fail(e, EBUSY, "the monitor is not open");
	if (m->state > UNC_MONITOR_OPEN)
		return unc_fail(e, EBUSY, "the monitor was started already");
	for (size_t p = 0; r == 0 && p < m->part_count; p++) {
		struct unc_source *source = m->parts[p].source;

		source->since_ns = unc_now_ns();
		if (source->ops->enable)
			r = source->ops->enable(source, e);
	}
	if (r == 0)
		r = read_counters(m, m->previous, &m->begin, e);
	if (r < 0)
		return r;
	m->previous_at = m->interval_at = m->begin;
	m->state = UNC_MONITOR_RUNNING;
	return 0;
}

/* Reads immediately after disabling, since free-running registers continue to count. Returns the
 * first error. */
int uncore_monitor_stop(struct uncore_monitor *m)
{
	struct unc_error other, *e = &m->machine->error;
	int r = 0, err = 0;

	if (m->state < UNC_MONITOR_RUNNING)
		return unc_fail(e, EBUSY, "the monitor was not started");
	for (size_t p = 0; r == 0 && p < m->part_count; p++)
		if (m->parts[p].source->ops->disable)
			r = m->parts[p].source->ops->disable(m->parts[p].source, e);
	if (m->state == UNC_MONITOR_RUNNING) {
		err = read_counters(m, m->now, &m->now_at, r < 0 ? &other : e);
		m->state = err < 0 ? UNC_MONITOR_STOPPED : UNC_MONITOR_STOPPED_READ;
	}
	return r < 0 ? r : err < 0 ? err : 0;
}

/* Room for all rows, their reasons and their inputs. */
static int prepare(struct uncore_monitor *m, struct uncore_sample *s)
{
	size_t inputs = 0;
	void *bigger;

	if (m->state < UNC_MONITOR_RUNNING)
		return unc_fail(&m->machine->error, EBUSY, "the monitor was not started");
	for (size_t i = 0; i < m->rows.count; i++)
		inputs += m->rows.items[i].query->input_count;
	if (m->rows.count <= s->room && inputs <= s->input_room)
		return 0;
	s->count = 0; /* the rows are reallocated */
	bigger = reallocarray(s->rows, m->rows.count, sizeof(*s->rows));
	if (!bigger)
		return unc_nomem(&m->machine->error);
	s->rows = bigger;
	s->room = m->rows.count;
	bigger = reallocarray(s->inputs, inputs, sizeof(*s->inputs));
	if (!bigger)
		return unc_nomem(&m->machine->error);
	s->inputs = bigger;
	s->input_room = inputs;
	return 0;
}

/* The deltas of the counters since `begin`. */
static struct unc_interval interval_since(const struct uncore_monitor *m,
					  const struct unc_delta *deltas, struct unc_moment begin)
{
	return (struct unc_interval){.counters = m->plan.counters,
				     .count = m->plan.count,
				     .deltas = deltas,
				     .machine = m->machine,
				     .rows = &m->rows,
				     .clocks = &m->clocks,
				     .clock_stopped = unc_clocks_stopped(&m->clocks, deltas),
				     .length_ns = m->previous_at.ns - begin.ns};
}

/* Not a row of PMUs without hardware alone. */
static bool is_shown(const struct uncore_monitor *m, const struct unc_row *row)
{
	bool lacking = m->clocks.any_lacking && row->counter_count;

	for (size_t i = 0; lacking && i < row->counter_count; i++)
		lacking = m->clocks.counters[row->counters[i].number].lacking;
	return row->round == m->round && !row->query->silent && !lacking;
}

/* One note of all PMUs that turned out to have no hardware. */
static int note_lacking(struct uncore_monitor *m)
{
	struct unc_text list = {0};
	int r = 0;

	for (size_t i = 0; i < m->clocks.count; i++) {
		const struct uncore_counter *c = &m->plan.counters[m->clocks.items[i]];

		if (m->clocks.counters[m->clocks.items[i]].lacking)
			unc_text_add(&list, "%s%s (CPU %d)", list.len ? ", " : "", c->pmu->name,
				     c->cpu);
	}
	if (list.failed)
		r = unc_nomem(&m->machine->error);
	else if (list.len)
		r = unc_monitor_note(
			m,
			"left out: %s: the clock has never counted, and that of other "
			"PMUs has; the driver may register PMUs of units that are absent "
			"or not populated",
			list.data);
	unc_text_finish(&list);
	return r;
}

static void fill(const struct uncore_monitor *m, const struct unc_delta *deltas,
		 const struct unc_distribution *distributions, struct unc_moment begin,
		 struct uncore_sample *into)
{
	const struct unc_interval interval = interval_since(m, deltas, begin);

	into->begin = begin;
	into->end = m->previous_at;
	into->count = 0;
	into->has_distributions = distributions;
	for (size_t i = 0, used = 0; i < m->rows.count; i++) {
		const struct unc_row *row = &m->rows.items[i];
		struct unc_judged *judged = &into->rows[into->count].judged;

		if (!is_shown(m, row))
			continue;
		into->rows[into->count].input_count = row->query->input_count;
		if (row->repeats) { /* the one before is shown, too: it has the same counters */
			unc_row_repeat(row, &into->rows[into->count - 1].judged, judged);
			into->rows[into->count].inputs = into->rows[into->count - 1].inputs;
		} else {
			into->rows[into->count].inputs = &into->inputs[used];
			unc_row_judge(row, &interval, into->rows[into->count].reason, judged,
				      &into->inputs[used]);
			used += row->query->input_count;
		}
		judged->row.number = i;
		if (distributions)
			unc_distribution_describe(&distributions[i],
						  &into->rows[into->count].distribution);
		into->count++;
	}
}

/* Adds each row's value between the latest two readings to its distribution; the first was taken at
 * the given time. */
static void add_short_sample(struct uncore_monitor *m, struct unc_moment begin)
{
	const struct unc_interval interval = interval_since(m, m->latest, begin);
	struct unc_judged judged = {0};

	m->short_count = 0;
	m->short_begin_ns = begin.ns;
	for (size_t i = 0; i < m->rows.count; i++) {
		double *value = &m->short_values[m->short_count];

		if (!is_shown(m, &m->rows.items[i]))
			continue;
		if (m->interval_ended)
			unc_distribution_restart(&m->distributions[i]);
		if (!m->rows.items[i].repeats) /* else it is that of the row before */
			unc_row_judge(&m->rows.items[i], &interval, NULL, &judged, NULL);
		*value = judged.row.query->family ? judged.row.value : judged.row.rate;
		m->short_count++;
		unc_distribution_add(&m->distributions[i], *value,
				     judged.row.quality == UNCORE_SUSPECT, begin.ns,
				     interval.length_ns);
	}
	m->interval_ended = false;
}

/* Whether a counter that is quiet was switched off, where it cannot be restarted: the memory that
 * each socket has is never idle, and others moved. */
static bool is_off(const struct uncore_monitor *m, size_t i)
{
	const struct unc_family *f = m->plan.counters[i].pmu->family;
	bool moved = false;

	for (size_t k = m->first; k < m->first + m->count; k++)
		moved |= m->latest[k].count > 0;
	return moved && !m->past[i].rested && f && f->each_socket &&
	       f->place <= UNC_PLACE_PACKAGE_MEMORY && !uncore_is_simulated(m->machine);
}

/* Finds counters that another program has switched off, by restarting them: the driver then writes
 * their registers again. Counters that it has cleared or set are known, and are restarted, too. */
static void restart(struct uncore_monitor *m, const struct unc_part *part)
{
	struct unc_source *source = part->source;
	size_t end = part->first + part->count;
	bool any = false;

	for (size_t i = part->first; i < end; i++) {
		m->marks[i] = m->latest[i].quiet || m->latest[i].state == UNC_REWRITTEN;
		any |= m->marks[i];
		if (m->latest[i].quiet && !source->ops->restart)
			m->marks[i] = is_off(m, i);
	}
	if (any && source->ops->restart && m->state == UNC_MONITOR_RUNNING)
		source->ops->restart(source, m->marks + part->first);
	for (size_t i = part->first; any && i < end; i++) {
		if (!m->marks[i] || !m->latest[i].quiet)
			continue;
		m->now[i].wrapped = true;
		m->now[i].why = "another program writes these registers (pcm, likwid?), and had "
				"switched the counter off";
		unc_delta_take(&m->plan.counters[i], &m->previous[i], &m->now[i], &m->latest[i]);
	}
}

/* Takes a reading, and adds the deltas since the previous one to the interval and the total.
 * Returns 1 if the interval has another reading. */
static int advance(struct uncore_monitor *m)
{
	struct uncore_reading *previous = m->previous;
	struct unc_moment begin = m->previous_at;
	bool touched = false; /* another program may have written a register */
	int r = 0;

	if (m->state == UNC_MONITOR_ENDED)
		return unc_fail(&m->machine->error, EBUSY,
				"the monitor was stopped, and its end has been read");
	if (m->state != UNC_MONITOR_STOPPED_READ)
		r = read_counters(m, m->now, &m->now_at, &m->machine->error);
	if (r < 0)
		return r;
	if (m->state > UNC_MONITOR_RUNNING)
		m->state = UNC_MONITOR_ENDED;
	for (size_t i = m->first; i < m->first + m->count; i++) {
		const struct uncore_counter *c = &m->plan.counters[i];

		unc_delta_take(c, &m->previous[i], &m->now[i], &m->latest[i]);
		unc_delta_compare(c, &m->past[i], &m->latest[i]);
		touched |= m->latest[i].quiet || m->latest[i].state == UNC_REWRITTEN;
	}
	for (size_t p = 0; touched && p < m->part_count; p++)
		restart(m, &m->parts[p]);
	for (size_t i = m->first; i < m->first + m->count; i++) {
		const struct uncore_counter *c = &m->plan.counters[i];

		unc_delta_add(c, &m->total[i], &m->latest[i]);
		if (m->latest != m->interval)
			unc_delta_add(c, &m->interval[i], &m->latest[i]);
	}
	m->previous = m->now;
	m->previous_at = m->now_at;
	m->now = previous;
	if (unc_clocks_update(&m->clocks, m->machine, &m->plan, m->total) && note_lacking(m) < 0)
		return -ENOMEM;
	if (m->distributions)
		add_short_sample(m, begin);
	return r;
}

int uncore_monitor_short_sample(struct uncore_monitor *m)
{
	int r;

	if (m->state != UNC_MONITOR_RUNNING)
		return unc_fail(&m->machine->error, EBUSY, "the monitor is not running");
	if (!m->distributions)
		return unc_fail(&m->machine->error, EBUSY,
				"the monitor was planned without short samples");
	r = advance(m);
	return r < 0 ? r : 0;
}

size_t uncore_monitor_short_values(const struct uncore_monitor *m, const double **values,
				   uint64_t *begin_ns, uint64_t *end_ns)
{
	*values = m->short_values;
	*begin_ns = m->short_begin_ns;
	*end_ns = m->previous_at.ns;
	return m->short_count;
}

int uncore_monitor_read(struct uncore_monitor *m, struct uncore_sample *into)
{
	int r = prepare(m, into);

	for (int more = 1; r == 0 && more; r = more < 0 ? more : 0)
		more = advance(m);
	if (r < 0)
		return r;
	m->interval_count++;
	fill(m, m->interval, m->distributions, m->interval_at, into);
	m->interval_at = m->previous_at;
	if (m->latest != m->interval)
		memset(m->interval + m->first, 0, m->count * sizeof(*m->interval));
	for (size_t i = 0; m->distributions && i < m->rows.count; i++)
		if (is_shown(m, &m->rows.items[i]))
			unc_distribution_merge(&m->distribution_totals[i], &m->distributions[i]);
	m->interval_ended = true;
	return 0;
}

int uncore_monitor_total(struct uncore_monitor *m, struct uncore_sample *into)
{
	int r = prepare(m, into);

	if (r < 0)
		return r;
	if (!m->interval_count)
		return unc_fail(&m->machine->error, EBUSY,
				"there is no total before the first read");
	fill(m, m->total, m->distribution_totals, m->begin, into);
	return 0;
}

int uncore_monitor_resume(struct uncore_monitor *m)
{
	struct uncore_reading *previous = m->previous;
	uint64_t skipped_ns;
	int r;

	if (m->state != UNC_MONITOR_RUNNING)
		return unc_fail(&m->machine->error, EBUSY, "the monitor is not running");
	r = read_counters(m, m->now, &m->now_at, &m->machine->error);
	if (r < 0)
		return r;
	/* The length of the total is that of its intervals. */
	skipped_ns = m->now_at.ns - m->previous_at.ns;
	m->begin.ns += skipped_ns;
	m->begin.wall_ns += skipped_ns;
	/* The next interval is not adjacent to it. */
	for (size_t i = m->first; i < m->first + m->count; i++)
		m->total[i].took_end_ns = m->total[i].uncertain_end_ns = 0;
	m->previous = m->now;
	m->previous_at = m->interval_at = m->now_at;
	m->now = previous;
	return 0;
}

int uncore_monitor_begin_groups(struct uncore_monitor *m)
{
	if (m->state != UNC_MONITOR_RUNNING)
		return unc_fail(&m->machine->error, EBUSY, "the monitor is not running");
	for (size_t p = 0; p < m->part_count; p++) {
		const struct unc_part *part = &m->parts[p];

		for (size_t i = 0; part->source->ops->read_one && i < part->count; i++) {
			const struct unc_slot *slot = m->plan.counters[part->first + i].pmu->slot;

			if (slot && slot->changed)
				part->source->ops->read_one(part->source, i,
							    &m->previous[part->first + i]);
		}
	}
	return 0;
}

size_t uncore_monitor_note_count(const struct uncore_monitor *m)
{
	return m->notes.count;
}

const char *uncore_monitor_note_at(const struct uncore_monitor *m, size_t i)
{
	return m->notes.items[i];
}

/* ---- samples ---- */

int uncore_sample_new(struct uncore_sample **out)
{
	struct uncore_sample *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	*out = s;
	return 0;
}

void uncore_sample_free(struct uncore_sample *s)
{
	if (!s)
		return;
	free(s->rows);
	free(s->inputs);
	free(s);
}

size_t uncore_sample_count(const struct uncore_sample *s)
{
	return s->count;
}

const struct uncore_row *uncore_sample_row(const struct uncore_sample *s, size_t i)
{
	return &s->rows[i].judged.row;
}

const struct uncore_distribution *uncore_sample_distribution(const struct uncore_sample *s,
							     size_t i)
{
	return s->has_distributions ? &s->rows[i].distribution : NULL;
}

size_t uncore_sample_input_count(const struct uncore_sample *s, size_t i)
{
	return s->rows[i].input_count;
}

const struct uncore_input *uncore_sample_input_at(const struct uncore_sample *s, size_t i,
						  size_t input)
{
	return &s->rows[i].inputs[input];
}

uint64_t uncore_sample_begin_ns(const struct uncore_sample *s)
{
	return s->begin.ns;
}

uint64_t uncore_sample_end_ns(const struct uncore_sample *s)
{
	return s->end.ns;
}

uint64_t uncore_sample_begin_wall_ns(const struct uncore_sample *s)
{
	return s->begin.wall_ns;
}

uint64_t uncore_sample_end_wall_ns(const struct uncore_sample *s)
{
	return s->end.wall_ns;
}
