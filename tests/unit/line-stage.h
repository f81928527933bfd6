/* SPDX-License-Identifier: MIT */
/* One line of a monitor, its counters and what they did, for tests of what its row says. Included
 * after <cmocka.h>. */
#ifndef LINE_STAGE_H
#define LINE_STAGE_H

#include "count/lines.h"
#include "helpers.h"

#define SECOND UINT64_C(1000000000)
#define EVENTS 8
#define PLACES 8

/* One line, its counters and what they did. */
struct stage {
	struct uncore_pmu pmu;
	struct unc_counter counters[EVENTS * PLACES];
	struct unc_delta deltas[EVENTS * PLACES];
	size_t used;
	struct unc_line_event events[EVENTS];
	size_t indices[EVENTS][PLACES];
	struct unc_formula *formula;
	struct unc_line line;
	char reasons[2 * UNC_REASON_ROOM];
	struct unc_arena arena;
	struct uncore_row row;
	uint64_t length_ns; /* of the window; 0: not known */
};

static inline void begin(struct stage *s, const char *formula)
{
	*s = (struct stage){.arena = {.data = s->reasons, .room = sizeof(s->reasons)}};
	s->pmu.name = (char *)"imc_0";
	if (formula)
		assert_int_equal(unc_formula_parse(&s->formula, formula, NULL, NULL), 0);
	s->line = (struct unc_line){
		.name = "it",
		.family = formula ? "family" : NULL,
		.unit = "B/s",
		.formula = s->formula,
		.socket = -1,
		.cpu = -1,
		.ceiling = NAN,
		.absent = -1,
		.events = s->events,
	};
}

static inline void end(struct stage *s)
{
	unc_formula_free(s->formula);
}

/* Adds an event without counters. */
static inline struct unc_line_event *add_event(struct stage *s, const char *name)
{
	size_t k = s->line.event_count++;

	s->events[k] = (struct unc_line_event){.name = name, .counters = s->indices[k], .scale = 1};
	return &s->events[k];
}

/* Adds a counter of the event, on a CPU numbered as the counter; returns it for changes. */
static inline struct unc_counter *add_counter(struct stage *s, struct unc_line_event *event,
					      struct unc_delta delta)
{
	struct unc_counter *c = &s->counters[s->used];

	*c = (struct unc_counter){.pmu = &s->pmu, .event = event->name, .cpu = (int)s->used};
	s->deltas[s->used] = delta;
	event->counters[event->count++] = s->used++;
	return c;
}

static inline struct unc_delta counted(uint64_t count, uint64_t ns)
{
	return (struct unc_delta){
		.count = count, .enabled_ns = ns, .running_ns = ns, .scaled = (double)count};
}

static inline struct unc_delta shared(uint64_t count, uint64_t enabled_ns, uint64_t running_ns)
{
	return (struct unc_delta){
		.count = count,
		.enabled_ns = enabled_ns,
		.running_ns = running_ns,
		.scaled = (double)count * (double)enabled_ns / (double)running_ns,
	};
}

static inline const struct uncore_row *evaluate(struct stage *s)
{
	const struct unc_window window = {
		.counters = s->counters, .deltas = s->deltas, .length_ns = s->length_ns};

	s->arena.len = 0;
	unc_line_evaluate(&s->line, &window, &s->arena, &s->row);
	assert_true(s->arena.len <= s->arena.room);
	return &s->row;
}

static inline void assert_no_value(const struct uncore_row *row)
{
	assert_int_equal(row->quality, UNCORE_UNAVAILABLE);
	assert_true(isnan(row->value));
	assert_true(isnan(row->rate));
	assert_close(row->coverage, 0);
	assert_non_null(row->reason);
}

#endif
