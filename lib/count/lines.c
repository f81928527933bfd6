/* SPDX-License-Identifier: MIT */
/* From deltas to one row: the formula's value, and how good it is. */
#include "count/line-boxes.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Below this a counter may honestly not have moved: energy counters tick about once a millisecond. */
#define STUCK_SECONDS 0.1
/* Counted for less of the window than this is worth a word. */
#define SHORT_SHARE 0.95
#define SHORT_SLACK_NS 5000000
/* Windows of a value and of what limits it are not quite the same. */
#define OVER_CEILING 1.05
/* Counters of one row are not read at quite the same moments. */
#define UNKNOWN_SHARE 0.99

/* A row being made. */
struct maker {
	const struct unc_line *line;
	const struct unc_window *window;
	struct unc_arena *reasons;
	struct uncore_row *row;
	bool whole_boxes;
	bool uneven;         /* counters were enabled for clearly different times */
	uint64_t longest_ns; /* of them */
	double uncertain_s;  /* so far the time they were enabled may be off */
	struct unc_sum sums[UNC_METRIC_EVENTS];
};

/* Writes the reason of the row in place of a milder one; a better quality never replaces a worse. */
__attribute__((format(printf, 3, 4))) static void
judge(struct maker *m, enum uncore_quality quality, const char *fmt, ...)
{
	struct unc_arena *reasons = m->reasons;
	size_t room;
	va_list args;

	if (m->row->quality >= quality)
		return;
	m->row->quality = quality;
	if (!fmt)
		return;
	if (m->row->reason)
		reasons->len = (size_t)(m->row->reason - reasons->data);
	m->row->reason = NULL;
	room = reasons->room - reasons->len;
	if (room > UNC_REASON_ROOM)
		room = UNC_REASON_ROOM;
	if (!room)
		return;
	reasons->data[reasons->len] = '\0';
	va_start(args, fmt);
	vsnprintf(reasons->data + reasons->len, room, fmt, args);
	va_end(args);
	m->row->reason = reasons->data + reasons->len;
	reasons->len += strlen(m->row->reason) + 1;
}

/* What stands for a counter in a sum: itself, or when it is good the one of its box (`bad`) that
 * makes it unusable. */
static size_t own_or_bad(const struct maker *m, size_t own, size_t bad)
{
	return m->window->deltas[own].state == UNC_COUNTED && bad != SIZE_MAX ? bad : own;
}

/* The same by the position of the counter among those of event `k`. */
static size_t summed_counter(const struct maker *m, size_t k, size_t position)
{
	size_t own = m->line->events[k].counters[position];

	if (!m->whole_boxes)
		return own;
	return own_or_bad(m, own,
			  unc_line_bad_in_box(m->line, m->window,
					      unc_line_box_of(m->line, k, position)));
}

/* Why one counter gives no value. */
static void describe_bad(const struct maker *m, size_t index, char *into, size_t room)
{
	unc_delta_explain(&m->window->counters[index], &m->window->deltas[index], into, room);
}

/* One dead clock among many is lost in their sum. */
static void judge_stuck(struct maker *m, size_t k)
{
	const struct unc_line_event *event = &m->line->events[k];
	const struct unc_sum *sum = &m->sums[k];
	const struct unc_counter *c = &m->window->counters[summed_counter(m, k, sum->first_still)];
	unsigned long long ms = (unsigned long long)(m->row->seconds * 1e3);

	if (sum->still == sum->used)
		judge(m, UNCORE_SUSPECT, "'%s' did not move in %llu ms: the counter is stuck",
		      event->name, ms);
	else
		judge(m, UNCORE_SUSPECT,
		      "'%s' did not move on %zu of %zu counters in %llu ms: stuck on %s, CPU %d",
		      event->name, sum->still, sum->used, ms, c->pmu->name, c->cpu);
}

/* A counter that began late or ended early: its CPU went, or came back. Readings of one window lie
 * a little apart, so only what is clearly more than that counts. */
static bool is_short(const struct maker *m, const struct unc_sum *sum)
{
	uint64_t length_ns = m->window->length_ns;

	return sum->used && sum->shortest_ns + SHORT_SLACK_NS < length_ns &&
	       (double)sum->shortest_ns < SHORT_SHARE * (double)length_ns;
}

static void judge_short(struct maker *m, size_t k)
{
	const struct unc_sum *sum = &m->sums[k];
	const struct unc_counter *c = &m->window->counters[summed_counter(m, k, sum->first_short)];

	judge(m, UNCORE_PARTIAL, "%s/%s/ on CPU %d was counted for %llu of %llu ms only",
	      c->pmu->name, c->event, c->cpu, (unsigned long long)sum->shortest_ns / 1000000,
	      (unsigned long long)m->window->length_ns / 1000000);
}

static void judge_gap(struct maker *m, size_t k)
{
	const struct unc_sum *sum = &m->sums[k];
	const struct unc_counter *c = &m->window->counters[summed_counter(m, k, sum->first_gap)];

	judge(m, UNCORE_PARTIAL, "%s/%s/ on CPU %d was not counted all of the time", c->pmu->name,
	      c->event, c->cpu);
}

/* An event without any value. */
static void judge_absent(struct maker *m, size_t k)
{
	const struct unc_line_event *event = &m->line->events[k];
	char why[384];

	if (!event->count) {
		judge(m, UNCORE_UNAVAILABLE, "no PMU here counts '%s'", event->name);
		return;
	}
	describe_bad(m, summed_counter(m, k, m->sums[k].first_bad), why, sizeof(why));
	/* It was counted, and what was counted cannot be. */
	judge(m, m->sums[k].went_back ? UNCORE_SUSPECT : UNCORE_UNAVAILABLE, "%s", why);
}

static void judge_event(struct maker *m, size_t k)
{
	const struct unc_line_event *event = &m->line->events[k];
	const struct unc_sum *sum = &m->sums[k];
	char why[384];

	if (sum->missing)
		describe_bad(m, summed_counter(m, k, sum->first_bad), why, sizeof(why));
	if (sum->went_back)
		judge(m, UNCORE_SUSPECT, "%zu of %zu left out: %s", sum->missing, event->count,
		      why);
	else if (sum->missing)
		judge(m, UNCORE_PARTIAL, "%zu of %zu missing: %s", sum->missing, event->count, why);
	if (event->always && sum->still && m->row->seconds >= STUCK_SECONDS)
		judge_stuck(m, k);
	if (is_short(m, sum))
		judge_short(m, k);
	if (sum->gaps)
		judge_gap(m, k);
	if (sum->coverage < 1)
		judge(m, UNCORE_SCALED, NULL);
}

static struct unc_sum sum_event(const struct maker *m, size_t k)
{
	const struct unc_line_event *event = &m->line->events[k];
	struct unc_sum sum = {.coverage = 1};

	for (size_t i = 0; i < event->count && !m->whole_boxes; i++)
		unc_sum_add(&sum, i, &m->window->deltas[event->counters[i]]);
	for (size_t box = 0; m->whole_boxes && box < unc_line_box_count(m->line); box++) {
		size_t bad = unc_line_bad_in_box(m->line, m->window, box),
		       end = unc_line_box_begin(m->line, k, box + 1);

		for (size_t i = unc_line_box_begin(m->line, k, box); i < end; i++)
			unc_sum_add(&sum, i,
				    &m->window->deltas[own_or_bad(m, event->counters[i], bad)]);
	}
	return sum;
}

/* Adds up every event, and the times that rates divide by. */
static void sum_events(struct maker *m)
{
	struct uncore_row *row = m->row;
	uint64_t enabled_ns = 0;
	size_t used = 0;

	row->coverage = 1;
	for (size_t k = 0; k < m->line->event_count; k++) {
		m->sums[k] = sum_event(m, k);
		if (m->sums[k].coverage < row->coverage)
			row->coverage = m->sums[k].coverage;
		enabled_ns += m->sums[k].enabled_ns;
		used += m->sums[k].used;
		if (m->sums[k].longest_ns > m->longest_ns)
			m->longest_ns = m->sums[k].longest_ns;
		m->uneven = m->uneven || is_short(m, &m->sums[k]);
		m->uncertain_s = fmax(m->uncertain_s, (double)m->sums[k].uncertain_ns / 1e9);
	}
	row->seconds = NAN;
	if (used)
		row->seconds =
			(m->uneven ? (double)m->longest_ns : (double)enabled_ns / (double)used) /
			1e9;
}

/* A counter stopped between its two readings, and might have done so right after the first. */
static bool is_time_unknown(const struct maker *m)
{
	return m->uncertain_s > 0 && m->uncertain_s >= UNKNOWN_SHARE * m->row->seconds;
}

static void finish_event(struct maker *m)
{
	const struct unc_sum *sum = &m->sums[0];
	struct uncore_row *row = m->row;

	row->count = sum->count;
	row->enabled_ns = sum->enabled_ns + sum->waited_ns;
	row->running_ns = sum->running_ns;
	if (!sum->used) {
		judge_absent(m, 0);
		return;
	}
	row->value = sum->value * m->line->events[0].scale;
	if (!m->line->snapshot && !is_time_unknown(m))
		row->rate = row->value / row->seconds;
}

/* Over how many counters a mean is taken: not over one that is stuck while others move, and by half
 * over one that was counted for half the time. */
static double sources(const struct maker *m, size_t k)
{
	const struct unc_sum *sum = &m->sums[k];
	bool stuck = m->line->events[k].always && m->row->seconds >= STUCK_SECONDS;

	if (stuck && sum->still && sum->still < sum->used)
		return (double)(sum->used - sum->still);
	if (m->uneven)
		return (double)sum->enabled_ns / (double)m->longest_ns;
	return (double)sum->used;
}

/* The bin in which the percentile lies: its bounds, and as the value the upper one. The last bin has
 * none, and at least the lower one. */
static bool take_percentile(struct maker *m)
{
	const struct unc_histogram *h = m->line->histogram;
	double counts[UNC_METRIC_EVENTS];
	struct uncore_row *row = m->row;
	size_t bin;

	for (size_t k = 0; k < m->line->event_count; k++)
		counts[k] = m->sums[k].value;
	if (!unc_histogram_percentile(counts, h->count, m->line->per_mille, &bin))
		return false;
	unc_histogram_bounds(h, bin, &row->low, &row->high);
	row->value = isnan(row->high) ? row->low : row->high;
	return true;
}

/* Between which values the row's lies, as far as the time it was counted for is uncertain. */
static void take_interval(struct maker *m, const struct unc_formula_input *in)
{
	struct uncore_row *row = m->row;
	double at[2] = {row->seconds - m->uncertain_s, row->seconds + m->uncertain_s};
	double value[2];

	if (is_time_unknown(m)) {
		if (unc_formula_eval(m->line->formula, in, at[1], m->line->memory_peak, value) &&
		    value[0] != m->row->value)
			judge(m, UNCORE_PARTIAL,
			      "it was counted for an unknown part of %llu ms: it stopped between "
			      "two readings, or they took that long",
			      (unsigned long long)(m->row->seconds * 1e3));
		return;
	}
	if (!(m->uncertain_s > 0) || !(at[0] > 0))
		return;
	for (size_t i = 0; i < 2; i++)
		if (!unc_formula_eval(m->line->formula, in, at[i], m->line->memory_peak, &value[i]))
			return;
	if (value[0] == value[1])
		return;
	row->low = fmin(value[0], value[1]);
	row->high = fmax(value[0], value[1]);
}

static void finish_metric(struct maker *m)
{
	struct unc_formula_input in[UNC_METRIC_EVENTS];
	bool fell = false;
	double value;

	for (size_t k = 0; k < m->line->event_count; k++) {
		in[k].value = m->sums[k].value * m->line->events[k].scale;
		in[k].sources = sources(m, k);
		in[k].known = m->sums[k].used;
	}
	if (unc_formula_eval(m->line->formula, in, m->row->seconds, m->line->memory_peak, &value)) {
		m->row->value = value;
		take_interval(m, in);
		if (!m->line->histogram || take_percentile(m))
			return;
	}
	for (size_t k = 0; k < m->line->event_count; k++)
		if (!m->sums[k].used) {
			judge_absent(m, k);
			fell = fell || m->sums[k].went_back;
		}
	if (unc_formula_has_peak(m->line->formula) && isnan(m->line->memory_peak))
		judge(m, UNCORE_UNAVAILABLE, "the peak of the memory is not known: %s",
		      m->line->peak_why ? m->line->peak_why
					: "it is the socket's, and not that of one PMU");
	if (fell)
		return;
	if (m->row->quality >= UNCORE_PARTIAL)
		judge(m, UNCORE_UNAVAILABLE, NULL); /* for the reason that is there */
	else
		judge(m, UNCORE_UNAVAILABLE, "a divisor was 0 in this window: nothing happened");
}

/* PMUs and root ports that belong to the line and are not in it. */
static void judge_missing(struct maker *m)
{
	const struct unc_line *line = m->line;

	if (line->left_out)
		judge(m, UNCORE_PARTIAL, "%zu PMU%s left out: %s", line->left_out,
		      line->left_out == 1 ? "" : "s", line->left_why);
	if (line->absent >= 0)
		judge(m, line->events[0].count ? UNCORE_PARTIAL : UNCORE_UNAVAILABLE,
		      "socket %d has no PMU of %s", line->absent, line->family);
	if (line->lacks)
		judge(m, line->events[0].count ? UNCORE_PARTIAL : UNCORE_UNAVAILABLE, "%s",
		      line->lacks);
}

/* In hundredths of 1e9, as numbers are not printed through the locale. */
static unsigned long long hundredths(double value)
{
	return (unsigned long long)fmin(value / 1e7, 1e18);
}

/* More than the hardware can move, or than there is. */
static void judge_ceiling(struct maker *m)
{
	double value = m->row->value, ceiling = m->line->ceiling;

	if (m->line->limit > ceiling)
		ceiling = m->line->limit;
	if (value > OVER_CEILING * ceiling)
		judge(m, UNCORE_SUSPECT,
		      "%llu.%02llu GB/s are more than the ceiling of %llu.%02llu GB/s",
		      hundredths(value) / 100, hundredths(value) % 100, hundredths(ceiling) / 100,
		      hundredths(ceiling) % 100);
	if (value > OVER_CEILING && strcmp(m->line->unit, "ratio") == 0)
		judge(m, UNCORE_SUSPECT, "over 100 %%");
}

void unc_line_evaluate(const struct unc_line *line, const struct unc_window *window,
		       struct unc_arena *reasons, struct uncore_row *row)
{
	struct maker m = {.line = line, .window = window, .reasons = reasons, .row = row};

	m.whole_boxes = unc_line_needs_whole_boxes(line);
	*row = (struct uncore_row){
		.name = line->name,
		.family = line->family,
		.unit = line->unit,
		.socket = line->socket,
		.cpu = line->cpu,
		.pmu = line->pmu,
		.port = line->port,
		.role = line->role,
		.filter = line->filter,
		.ceiling = line->ceiling,
		.instances = line->events[0].count,
		.value = NAN,
		.rate = NAN,
		.low = NAN,
		.high = NAN,
		.quality = UNCORE_MEASURED,
	};
	sum_events(&m);
	for (size_t k = 0; k < line->event_count; k++)
		if (m.sums[k].used)
			judge_event(&m, k);
	judge_missing(&m);
	if (line->formula)
		finish_metric(&m);
	else
		finish_event(&m);
	judge_ceiling(&m);
	if (row->quality == UNCORE_UNAVAILABLE || isnan(row->value)) {
		row->value = row->low = row->high = NAN;
		row->coverage = 0;
	}
}
