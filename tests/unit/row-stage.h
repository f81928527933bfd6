/* SPDX-License-Identifier: MIT */
/* One row of a monitor, its counters and what they did, for tests of what it says. Included after
 * <cmocka.h>. */
#ifndef ROW_STAGE_H
#define ROW_STAGE_H

#include "count/clocks.h"
#include "helpers.h"

#define SECOND UINT64_C(1000000000)
#define EVENTS 8
#define PLACES 8

struct stage_event {
	const char *name;
	size_t counters[PLACES]; /* the i-th of each event are an instance */
	size_t count;
	double scale;
	bool always;
};

struct stage {
	struct uncore_pmu pmu;
	struct uncore_counter counters[EVENTS * PLACES];
	struct unc_delta deltas[EVENTS * PLACES];
	size_t used;
	struct stage_event events[EVENTS];
	struct unc_event_def defs[EVENTS];
	const struct unc_event_def *def_list[EVENTS];
	struct unc_family family;
	struct uncore_metric metric;
	struct unc_query query;
	struct unc_row_counter row_counters[EVENTS * PLACES];
	struct unc_row planned;
	char reason[UNC_REASON_ROOM];
	struct unc_judged judged;
	uint64_t length_ns; /* of the interval; 0: not known */
	struct unc_clocks clocks;
	struct unc_clocked clocked[EVENTS * PLACES];
	size_t clock_items[PLACES], clock_count;
};

static inline void begin(struct stage *s, const char *formula)
{
	*s = (struct stage){.used = 0};
	s->pmu.name = (char *)"imc_0";
	s->family.name = "family";
	s->metric = (struct uncore_metric){
		.family = &s->family, .name = "it", .unit = "B/s", .events = s->def_list};
	if (formula)
		assert_int_equal(unc_formula_parse(&s->metric.formula, formula, NULL, NULL), 0);
	s->query = (struct unc_query){
		.metric = formula ? &s->metric : NULL,
		.shown = {.name = "it", .family = formula ? "family" : NULL, .unit = "B/s"}};
	s->planned = (struct unc_row){.query = &s->query,
				      .key = {.socket = -1, .cpu = -1},
				      .place = {.socket = -1, .cpu = -1},
				      .ceiling = NAN,
				      .counters = s->row_counters};
}

static inline void end(struct stage *s)
{
	unc_formula_free(s->metric.formula);
}

/* Adds an event without counters. */
static inline struct stage_event *add_event(struct stage *s, const char *name)
{
	struct stage_event *event = &s->events[s->query.event_count++];

	*event = (struct stage_event){.name = name, .scale = 1};
	return event;
}

/* Adds a counter of the event, on a CPU numbered as the counter; returns it for changes. */
static inline struct uncore_counter *add_counter(struct stage *s, struct stage_event *event,
						 struct unc_delta delta)
{
	struct uncore_counter *c = &s->counters[s->used];

	*c = (struct uncore_counter){.pmu = &s->pmu, .event = event->name, .cpu = (int)s->used};
	s->deltas[s->used] = delta;
	event->counters[event->count++] = s->used++;
	return c;
}

static inline struct unc_delta counted(uint64_t count, uint64_t ns)
{
	return (struct unc_delta){.count = count, .enabled_ns = ns, .running_ns = ns};
}

static inline struct unc_delta shared(uint64_t count, uint64_t enabled_ns, uint64_t running_ns)
{
	return (struct unc_delta){
		.count = count, .enabled_ns = enabled_ns, .running_ns = running_ns};
}

/* The row of the events as they are now. */
static inline void plan_row(struct stage *s)
{
	size_t events = s->query.event_count;
	struct unc_row *row = &s->planned;

	row->counter_count = 0;
	for (size_t k = 0; k < events; k++) {
		s->defs[k] = (struct unc_event_def){.name = s->events[k].name,
						    .always = s->events[k].always};
		s->def_list[k] = &s->defs[k];
		s->query.scales[k] = s->events[k].scale;
	}
	for (size_t i = 0; i < PLACES; i++)
		for (size_t k = 0; k < events; k++)
			if (i < s->events[k].count)
				row->counters[row->counter_count++] =
					(struct unc_row_counter){.number = s->events[k].counters[i],
								 .event = k,
								 .instance = i};
}

static inline const struct uncore_row *evaluate(struct stage *s)
{
	struct unc_interval interval = {
		.counters = s->counters,
		.deltas = s->deltas,
		.count = s->used,
		.length_ns = s->length_ns,
		.clocks = &s->clocks,
	};

	s->clocks = (struct unc_clocks){
		.counters = s->clocked, .items = s->clock_items, .count = s->clock_count};
	for (size_t k = 0; k < s->query.event_count; k++)
		for (size_t i = 0; i < s->events[k].count; i++)
			s->clocked[s->events[k].counters[i]].never_idle = s->events[k].always;
	for (size_t i = 0; i < COUNT(s->deltas); i++)
		if (!s->length_ns && s->deltas[i].enabled_ns > interval.length_ns)
			interval.length_ns = s->deltas[i].enabled_ns;
	for (size_t i = 0; i < COUNT(s->deltas); i++) {
		if (!s->deltas[i].took_ns)
			s->deltas[i].took_ns = 1;
		s->deltas[i].window_ns = s->length_ns ? s->length_ns : s->deltas[i].enabled_ns;
	}
	interval.clock_stopped = unc_clocks_stopped(&s->clocks, s->deltas);
	plan_row(s);
	unc_row_judge(&s->planned, &interval, s->reason, &s->judged, NULL);
	return &s->judged.row;
}

static inline void assert_no_value(const struct uncore_row *row)
{
	assert_int_equal(row->quality, UNCORE_UNAVAILABLE);
	assert_true(isnan(row->value));
	assert_true(isnan(row->rate));
	assert_non_null(row->reason);
}

#endif
