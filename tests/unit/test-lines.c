/* SPDX-License-Identifier: MIT */
/* From deltas to rows: values against numbers worked out by hand, and every quality. */
#include "lines.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

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

static void begin(struct stage *s, const char *formula)
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

static void end(struct stage *s)
{
	unc_formula_free(s->formula);
}

/* Adds an event without counters. */
static struct unc_line_event *add_event(struct stage *s, const char *name)
{
	size_t k = s->line.event_count++;

	s->events[k] = (struct unc_line_event){.name = name, .counters = s->indices[k], .scale = 1};
	return &s->events[k];
}

/* Adds a counter of the event, on a CPU numbered as the counter; returns it for changes. */
static struct unc_counter *add_counter(struct stage *s, struct unc_line_event *event,
				       struct unc_delta delta)
{
	struct unc_counter *c = &s->counters[s->used];

	*c = (struct unc_counter){.pmu = &s->pmu, .event = event->name, .cpu = (int)s->used};
	s->deltas[s->used] = delta;
	event->counters[event->count++] = s->used++;
	return c;
}

static struct unc_delta counted(uint64_t count, uint64_t ns)
{
	return (struct unc_delta){
		.count = count, .enabled_ns = ns, .running_ns = ns, .scaled = (double)count};
}

static struct unc_delta shared(uint64_t count, uint64_t enabled_ns, uint64_t running_ns)
{
	return (struct unc_delta){
		.count = count,
		.enabled_ns = enabled_ns,
		.running_ns = running_ns,
		.scaled = (double)count * (double)enabled_ns / (double)running_ns,
	};
}

static const struct uncore_row *evaluate(struct stage *s)
{
	const struct unc_window window = {
		.counters = s->counters, .deltas = s->deltas, .length_ns = s->length_ns};

	s->arena.len = 0;
	unc_line_evaluate(&s->line, &window, &s->arena, &s->row);
	assert_true(s->arena.len <= s->arena.room);
	return &s->row;
}

static void assert_no_value(const struct uncore_row *row)
{
	assert_int_equal(row->quality, UNCORE_UNAVAILABLE);
	assert_true(isnan(row->value));
	assert_true(isnan(row->rate));
	assert_close(row->coverage, 0);
	assert_non_null(row->reason);
}

/* ---- events ----------------------------------------------------------------------------------- */

static void an_event_is_its_count(void **state)
{
	struct stage s;
	struct unc_line_event *ev;
	const struct uncore_row *row;

	(void)state;
	begin(&s, NULL);
	ev = add_event(&s, "cas_count_read");
	ev->scale = 0.25;
	add_counter(&s, ev, counted(100, 2 * SECOND));
	add_counter(&s, ev, counted(300, 4 * SECOND));
	s.line.socket = 1;
	s.line.cpu = 7;
	s.line.pmu = &s.pmu;
	row = evaluate(&s);
	assert_int_equal(row->quality, UNCORE_MEASURED);
	assert_null(row->reason);
	assert_string_equal(row->name, "it");
	assert_null(row->family);
	assert_string_equal(row->unit, "B/s");
	assert_int_equal(row->socket, 1);
	assert_int_equal(row->cpu, 7);
	assert_ptr_equal(row->pmu, &s.pmu);
	assert_int_equal(row->instances, 2);
	assert_int_equal(row->count, 400);
	assert_close(row->value, 100); /* 400 x 0.25 */
	assert_close(row->seconds, 3); /* the mean of 2 and 4 */
	assert_close(row->rate, 100.0 / 3);
	assert_close(row->coverage, 1);
	assert_int_equal(row->enabled_ns, 6 * SECOND);
	assert_int_equal(row->running_ns, 6 * SECOND);
	end(&s);
}

static void a_scaled_event_keeps_its_true_count(void **state)
{
	struct stage s;
	struct unc_line_event *ev;
	const struct uncore_row *row;

	(void)state;
	begin(&s, NULL);
	ev = add_event(&s, "e");
	add_counter(&s, ev, shared(100, 10 * SECOND, 4 * SECOND)); /* 250 */
	add_counter(&s, ev, shared(100, 10 * SECOND, 8 * SECOND)); /* 125 */
	add_counter(&s, ev, counted(100, 10 * SECOND));
	row = evaluate(&s);
	assert_int_equal(row->quality, UNCORE_SCALED);
	assert_null(row->reason);
	assert_int_equal(row->count, 300);
	assert_close(row->value, 475);
	assert_close(row->rate, 47.5);
	assert_close(row->coverage, 0.4);
	assert_int_equal(row->enabled_ns, 30 * SECOND);
	assert_int_equal(row->running_ns, 22 * SECOND);
	end(&s);
}

static void a_state_has_no_rate(void **state)
{
	struct stage s;
	const struct uncore_row *row;

	(void)state;
	begin(&s, NULL);
	s.line.snapshot = true;
	add_counter(&s, add_event(&s, "e"), counted(42, 2 * SECOND));
	row = evaluate(&s);
	assert_int_equal(row->quality, UNCORE_MEASURED);
	assert_close(row->value, 42);
	assert_true(isnan(row->rate));
	end(&s);
}

static void zero_is_a_measured_value(void **state)
{
	struct stage s;
	const struct uncore_row *row;

	(void)state;
	begin(&s, NULL);
	add_counter(&s, add_event(&s, "e"), counted(0, SECOND));
	row = evaluate(&s);
	assert_int_equal(row->quality, UNCORE_MEASURED);
	assert_close(row->value, 0);
	assert_close(row->rate, 0);
	end(&s);
}

/* ---- metrics worked out by hand --------------------------------------------------------------- */

/* CAS commands of 64 bytes. Channels 0 and 1: 1,000,000 and 500,000 reads in half a second:
 * 1,500,000 * 64 / 0.5 = 192,000,000 bytes a second. */
static void bandwidth_of_a_memory_controller(void **state)
{
	struct stage s;
	struct unc_line_event *ev;
	const struct uncore_row *row;

	(void)state;
	begin(&s, "cas_rd * 64 / seconds");
	ev = add_event(&s, "cas_rd");
	add_counter(&s, ev, counted(1000000, SECOND / 2));
	add_counter(&s, ev, counted(500000, SECOND / 2));
	row = evaluate(&s);
	assert_int_equal(row->quality, UNCORE_MEASURED);
	assert_close(row->value, 192e6);
	assert_close(row->seconds, 0.5);
	assert_int_equal(row->instances, 2);
	assert_string_equal(row->family, "family");
	assert_true(isnan(row->rate));
	assert_int_equal(row->count, 0); /* of events only */
	end(&s);
}

/* Reads and writes on two schedulers: (10 + 20 + 30 + 40) * 64 / 2 s = 3200 bytes a second. */
static void bandwidth_of_four_events(void **state)
{
	static const char *const names[] = {"rd", "rd1", "wr", "wr1"};
	struct stage s;

	(void)state;
	begin(&s, "(rd + rd1 + wr + wr1) * 64 / seconds");
	for (size_t k = 0; k < 4; k++)
		add_counter(&s, add_event(&s, names[k]), counted(10 * (k + 1), 2 * SECOND));
	assert_close(evaluate(&s)->value, 3200);
	assert_close(s.row.seconds, 2);
	end(&s);
}

#define LATENCY "rd_cum_outs / rd_req * source_count(cycles) * seconds / cycles"

static void add_socket(struct stage *s, uint64_t cum_outs, uint64_t req, uint64_t cycles)
{
	add_counter(s, &s->events[0], counted(cum_outs, SECOND));
	add_counter(s, &s->events[1], counted(req, SECOND));
	add_counter(s, &s->events[2], counted(cycles, SECOND));
}

static void begin_latency(struct stage *s)
{
	begin(s, LATENCY);
	add_event(s, "rd_cum_outs");
	add_event(s, "rd_req");
	add_event(s, "cycles");
}

/* 300,000 cycles of waiting for 2000 requests are 150 cycles each; 1.25e9 cycles in a second are
 * 1.25 GHz; 150 cycles / 1.25 GHz = 120 ns. */
static void latency_on_one_socket(void **state)
{
	struct stage s;

	(void)state;
	begin_latency(&s);
	add_socket(&s, 300000, 2000, 1250000000);
	assert_close(evaluate(&s)->value, 120e-9);
	assert_int_equal(s.row.quality, UNCORE_MEASURED);
	assert_int_equal(s.row.instances, 1);
	end(&s);
}

/* (200,000 + 300,000) / (1000 + 3000) = 125 cycles; the clocks of 1.0 and 1.5 GHz have the mean
 * 1.25 GHz: 100 ns. The mean of the sockets' own latencies, 200 ns and 66.7 ns, would be wrong: the
 * second one serves three times as many requests. */
static void latency_on_two_sockets(void **state)
{
	struct stage s;

	(void)state;
	begin_latency(&s);
	add_socket(&s, 200000, 1000, 1000000000);
	add_socket(&s, 300000, 3000, 1500000000);
	assert_close(evaluate(&s)->value, 100e-9);
	assert_int_equal(s.row.instances, 2);
	end(&s);
}

/* The document's bandwidths are bytes over time, its request rates requests over cycles:
 * 6.4e9 bytes in 0.25 s are 25.6e9 a second; 3e8 requests in 5e8 cycles are 0.6 a cycle. */
static void bandwidth_and_request_rate_of_the_fabric(void **state)
{
	struct stage s;

	(void)state;
	begin(&s, "mem_bytes_rd / seconds");
	add_counter(&s, add_event(&s, "mem_bytes_rd"), counted(UINT64_C(6400000000), SECOND / 4));
	assert_close(evaluate(&s)->value, 25.6e9);
	end(&s);
	begin(&s, "mem_access_rd / cycles");
	add_counter(&s, add_event(&s, "mem_access_rd"), counted(300000000, SECOND / 4));
	add_counter(&s, add_event(&s, "cycles"), counted(500000000, SECOND / 4));
	assert_close(evaluate(&s)->value, 0.6);
	end(&s);
}

/* 2^32 counts of 2^-32 J on each of two packages, in 2 s: 1 W. */
static void the_kernels_scale_is_applied(void **state)
{
	struct stage s;
	struct unc_line_event *ev;

	(void)state;
	begin(&s, "energy_pkg / seconds");
	ev = add_event(&s, "energy_pkg");
	ev->scale = 0x1p-32;
	add_counter(&s, ev, counted(UINT64_C(1) << 32, 2 * SECOND));
	add_counter(&s, ev, counted(UINT64_C(1) << 32, 2 * SECOND));
	assert_close(evaluate(&s)->value, 1);
	end(&s);
}

static void a_metric_of_scaled_counts(void **state)
{
	struct stage s;
	struct unc_line_event *ev;

	(void)state;
	begin(&s, "rd * 64 / seconds");
	ev = add_event(&s, "rd");
	add_counter(&s, ev, shared(100, 10 * SECOND, 4 * SECOND)); /* 250 in 10 s */
	assert_close(evaluate(&s)->value, 1600);
	assert_int_equal(s.row.quality, UNCORE_SCALED);
	assert_close(s.row.coverage, 0.4);
	assert_null(s.row.reason);
	end(&s);
}

/* ---- partial ---------------------------------------------------------------------------------- */

static void some_instances_are_missing(void **state)
{
	struct stage s;
	struct unc_line_event *ev;
	struct unc_counter *bad;

	(void)state;
	begin(&s, "rd * 64 / seconds");
	ev = add_event(&s, "rd");
	add_counter(&s, ev, counted(100, SECOND));
	bad = add_counter(&s, ev, (struct unc_delta){.state = UNC_NOT_OPEN});
	bad->error = -ENODEV;
	bad->why = (char *)"imc_0/rd/ on CPU 1: no such PMU";
	add_counter(&s, ev, (struct unc_delta){.state = UNC_LOST});
	assert_close(evaluate(&s)->value, 6400); /* of the one that counted */
	assert_int_equal(s.row.quality, UNCORE_PARTIAL);
	assert_string_equal(s.row.reason, "2 of 3 missing: imc_0/rd/ on CPU 1: no such PMU");
	assert_int_equal(s.row.instances, 3);
	assert_close(s.row.coverage, 1);
	end(&s);
}

/* The mean of three clocks, of which two were counted. */
static void a_mean_is_over_those_that_counted(void **state)
{
	struct stage s;
	struct unc_line_event *ev;

	(void)state;
	begin(&s, "tsc / source_count(tsc) / seconds");
	ev = add_event(&s, "tsc");
	add_counter(&s, ev, counted(4000, 2 * SECOND));
	add_counter(&s, ev, (struct unc_delta){.state = UNC_LOST});
	add_counter(&s, ev, counted(2000, 2 * SECOND));
	assert_close(evaluate(&s)->value, 1500);
	assert_int_equal(s.row.quality, UNCORE_PARTIAL);
	end(&s);
}

static void each_kind_of_missing_is_told(void **state)
{
	static const struct {
		enum unc_state kind;
		const char *told;
	} cases[] = {
		{UNC_LOST,
		 "1 of 2 missing: imc_0/rd/ on CPU 1 could not be read: the kernel has given it up"},
		{UNC_STOPPED, "1 of 2 missing: imc_0/rd/ was not counted: CPU 1 went offline"},
		{UNC_NEVER_RAN, "1 of 2 missing: imc_0/rd/ never ran in this window"},
		{UNC_NOT_OPEN, "1 of 2 missing: No such device"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct stage s;
		struct unc_line_event *ev;

		begin(&s, NULL);
		ev = add_event(&s, "rd");
		add_counter(&s, ev, counted(100, SECOND));
		add_counter(&s, ev, (struct unc_delta){.state = cases[i].kind})->error = -ENODEV;
		evaluate(&s);
		assert_int_equal(s.row.quality, UNCORE_PARTIAL);
		assert_contains(s.row.reason, cases[i].told);
		assert_int_equal(s.row.count, 100);
		end(&s);
	}
}

/* Hits on two sockets, accesses counted on one. */
static void set_half_counted_place(struct stage *s, const char *formula)
{
	struct unc_line_event *hits, *accesses;

	begin(s, formula);
	hits = add_event(s, "hits");
	accesses = add_event(s, "accesses");
	add_counter(s, hits, counted(60, SECOND));
	add_counter(s, hits, counted(40, SECOND));
	add_counter(s, accesses, counted(100, SECOND));
	add_counter(s, accesses, (struct unc_delta){.state = UNC_LOST});
}

/* 60 of 100 hit where both were counted. With the other socket's 40 hits the ratio would be 1. */
static void a_ratio_leaves_out_half_counted_places(void **state)
{
	struct stage s;

	(void)state;
	set_half_counted_place(&s, "hits / accesses");
	assert_close(evaluate(&s)->value, 0.6);
	assert_int_equal(s.row.quality, UNCORE_PARTIAL);
	assert_contains(s.row.reason,
			"1 of 2 missing: imc_0/accesses/ on CPU 3 could not be read: the kernel");
	end(&s);
	/* A sum takes what there is. */
	set_half_counted_place(&s, "hits + accesses");
	assert_close(evaluate(&s)->value, 200);
	assert_int_equal(s.row.quality, UNCORE_PARTIAL);
	end(&s);
}

static void a_ratio_without_one_whole_place(void **state)
{
	struct stage s;
	struct unc_line_event *hits, *accesses;

	(void)state;
	begin(&s, "hits / accesses");
	hits = add_event(&s, "hits");
	accesses = add_event(&s, "accesses");
	add_counter(&s, hits, (struct unc_delta){.state = UNC_LOST});
	add_counter(&s, hits, counted(40, SECOND));
	add_counter(&s, accesses, counted(100, SECOND));
	add_counter(&s, accesses, (struct unc_delta){.state = UNC_STOPPED});
	assert_no_value(evaluate(&s));
	assert_contains(s.row.reason, "imc_0/hits/ on CPU 0 could not be read");
	end(&s);
}

/* ---- suspect ---------------------------------------------------------------------------------- */

static void a_counter_that_fell(void **state)
{
	struct stage s;
	struct unc_line_event *ev;

	(void)state;
	begin(&s, "rd * 64 / seconds");
	ev = add_event(&s, "rd");
	add_counter(&s, ev, counted(100, SECOND));
	add_counter(&s, ev, (struct unc_delta){.state = UNC_LOST});
	add_counter(&s, ev, (struct unc_delta){.state = UNC_WENT_BACK});
	assert_close(evaluate(&s)->value, 6400);
	assert_int_equal(s.row.quality, UNCORE_SUSPECT);
	assert_string_equal(s.row.reason,
			    "2 of 3 left out: imc_0/rd/ on CPU 2 fell between two readings");
	end(&s);
	begin(&s, "rd * 64 / seconds");
	ev = add_event(&s, "rd");
	add_counter(&s, ev, (struct unc_delta){.state = UNC_WENT_BACK});
	assert_no_value(evaluate(&s));
	assert_string_equal(s.row.reason, "imc_0/rd/ on CPU 0 fell between two readings");
	end(&s);
	begin(&s, "rd * 64 / seconds");
	ev = add_event(&s, "rd");
	add_counter(&s, ev,
		    (struct unc_delta){
			    .state = UNC_WENT_BACK, .fell = "count", .fell_from = 9, .fell_to = 4});
	assert_no_value(evaluate(&s));
	assert_string_equal(s.row.reason,
			    "imc_0/rd/ on CPU 0 fell between two readings: the count, from 9 to 4");
	end(&s);
}

static void a_clock_that_stands_still(void **state)
{
	struct stage s;
	struct unc_line_event *ev;

	(void)state;
	begin(&s, "cycles / seconds");
	ev = add_event(&s, "cycles");
	ev->always = true;
	add_counter(&s, ev, counted(0, SECOND / 10));
	assert_close(evaluate(&s)->value, 0);
	assert_int_equal(s.row.quality, UNCORE_SUSPECT);
	assert_string_equal(s.row.reason, "'cycles' did not move in 100 ms: the counter is stuck");
	/* One nanosecond less may be chance. */
	s.deltas[0] = counted(0, SECOND / 10 - 1);
	assert_int_equal(evaluate(&s)->quality, UNCORE_MEASURED);
	assert_null(s.row.reason);
	/* One increment is life. */
	s.deltas[0] = counted(1, SECOND);
	assert_int_equal(evaluate(&s)->quality, UNCORE_MEASURED);
	/* Nor do the others of a sum hide the one that is dead. */
	add_counter(&s, ev, counted(0, SECOND));
	assert_close(evaluate(&s)->value, 1);
	assert_int_equal(s.row.quality, UNCORE_SUSPECT);
	assert_string_equal(s.row.reason, "'cycles' did not move on 1 of 2 counters in 1000 ms: "
					  "stuck on imc_0, CPU 1");
	/* Other events may rest. */
	ev->always = false;
	s.deltas[0] = counted(0, SECOND);
	assert_int_equal(evaluate(&s)->quality, UNCORE_MEASURED);
	end(&s);
}

/* A clock that counts 1e9 a second on two of three channels: their mean is 1e9, not two thirds. */
static void a_dead_clock_is_no_source(void **state)
{
	struct stage s;
	struct unc_line_event *ev;

	(void)state;
	begin(&s, "cycles / source_count(cycles) / seconds");
	ev = add_event(&s, "cycles");
	ev->always = true;
	add_counter(&s, ev, counted(1000000000, SECOND));
	add_counter(&s, ev, counted(0, SECOND));
	add_counter(&s, ev, counted(1000000000, SECOND));
	assert_close(evaluate(&s)->value, 1e9);
	assert_int_equal(s.row.quality, UNCORE_SUSPECT);
	end(&s);
}

/* A stuck divisor is the reason, not that "nothing happened". */
static void the_first_reason_stays(void **state)
{
	struct stage s;
	struct unc_line_event *cycles;

	(void)state;
	begin(&s, "reads / cycles");
	add_counter(&s, add_event(&s, "reads"), counted(5, SECOND));
	cycles = add_event(&s, "cycles");
	cycles->always = true;
	add_counter(&s, cycles, counted(0, SECOND));
	assert_no_value(evaluate(&s));
	assert_string_equal(s.row.reason, "'cycles' did not move in 1000 ms: the counter is stuck");
	end(&s);
}

/* 1e9 a second for 10 s, and the same for 1 s until its CPU went: 11e9 in 10 s are 1.1e9 a second. */
static void a_counter_that_ended_early(void **state)
{
	struct stage s;
	struct unc_line_event *ev;

	(void)state;
	begin(&s, NULL);
	s.length_ns = 10 * SECOND;
	ev = add_event(&s, "rd");
	add_counter(&s, ev, counted(10000000000, 10 * SECOND));
	add_counter(&s, ev, counted(1000000000, SECOND));
	assert_close(evaluate(&s)->rate, 1.1e9);
	assert_int_equal(s.row.quality, UNCORE_PARTIAL);
	assert_string_equal(s.row.reason,
			    "imc_0/rd/ on CPU 1 was counted for 1000 of 10000 ms only");
	/* Readings of a short window lie apart without anything being wrong. */
	s.length_ns = SECOND / 1000;
	s.deltas[0] = counted(1000000, SECOND / 1000);
	s.deltas[1] = counted(900000, 9 * SECOND / 10000);
	assert_int_equal(evaluate(&s)->quality, UNCORE_MEASURED);
	end(&s);
}

static void a_pmu_that_was_left_out(void **state)
{
	struct stage s;

	(void)state;
	begin(&s, "rd * 64 / seconds");
	add_counter(&s, add_event(&s, "rd"), counted(100, SECOND));
	s.line.left_out = 2;
	s.line.left_why = "imc_1 has no CPU";
	assert_close(evaluate(&s)->value, 6400);
	assert_int_equal(s.row.quality, UNCORE_PARTIAL);
	assert_string_equal(s.row.reason, "2 PMUs left out: imc_1 has no CPU");
	end(&s);
}

/* ---- unavailable ------------------------------------------------------------------------------ */

static void not_opened_has_the_counters_own_sentence(void **state)
{
	struct stage s;
	struct unc_counter *bad;

	(void)state;
	begin(&s, NULL);
	bad = add_counter(&s, add_event(&s, "rd"), (struct unc_delta){.state = UNC_NOT_OPEN});
	bad->error = -EACCES;
	bad->why = (char *)"imc_0/rd/: perf_event_paranoid is 3";
	assert_no_value(evaluate(&s));
	assert_string_equal(s.row.reason, "imc_0/rd/: perf_event_paranoid is 3");
	assert_int_equal(s.row.count, 0);
	assert_int_equal(s.row.instances, 1);
	assert_true(isnan(s.row.seconds));
	end(&s);
}

static void never_ran_is_not_zero(void **state)
{
	struct stage s;

	(void)state;
	begin(&s, NULL);
	add_counter(&s, add_event(&s, "rd"),
		    (struct unc_delta){.state = UNC_NEVER_RAN, .enabled_ns = SECOND});
	assert_no_value(evaluate(&s));
	assert_contains(s.row.reason, "imc_0/rd/ never ran in this window");
	end(&s);
}

static void a_divisor_of_zero_is_not_zero(void **state)
{
	struct stage s;

	(void)state;
	begin(&s, "hits / accesses");
	add_counter(&s, add_event(&s, "hits"), counted(0, SECOND));
	add_counter(&s, add_event(&s, "accesses"), counted(0, SECOND));
	assert_no_value(evaluate(&s));
	assert_contains(s.row.reason, "a divisor was 0 in this window");
	assert_close(s.row.seconds, 1);
	end(&s);
}

static void an_event_that_nothing_counts(void **state)
{
	struct stage s;

	(void)state;
	begin(&s, "rd + wr");
	add_counter(&s, add_event(&s, "rd"), counted(5, SECOND));
	add_event(&s, "wr");
	assert_no_value(evaluate(&s));
	assert_string_equal(s.row.reason, "no PMU here counts 'wr'");
	end(&s);
}

/* ---- several at once -------------------------------------------------------------------------- */

/* Event 's' is suspect, 'p' partial, 'm' merely scaled. */
static void add_by_letter(struct stage *s, const char *letter)
{
	struct unc_line_event *ev = add_event(s, letter);

	if (*letter == 'm') {
		add_counter(s, ev, shared(1, 10 * SECOND, 5 * SECOND));
		return;
	}
	add_counter(s, ev, counted(1, SECOND));
	add_counter(s, ev, (struct unc_delta){.state = *letter == 's' ? UNC_WENT_BACK : UNC_LOST});
}

static void the_worst_quality_wins_whatever_the_order(void **state)
{
	static const char *const orders[][3] = {
		{"m", "p", "s"}, {"s", "p", "m"}, {"p", "s", "m"}, {"m", "s", "p"}};

	(void)state;
	for (size_t i = 0; i < COUNT(orders); i++) {
		struct stage s;

		begin(&s, "m + p + s");
		for (size_t k = 0; k < 3; k++)
			add_by_letter(&s, orders[i][k]);
		evaluate(&s);
		assert_int_equal(s.row.quality, UNCORE_SUSPECT);
		assert_contains(s.row.reason, "1 of 2 left out: imc_0/s/");
		assert_close(s.row.coverage, 0.5); /* told all the same */
		/* The reasons that were given up take no room. */
		assert_int_equal(s.arena.len, strlen(s.row.reason) + 1);
		end(&s);
	}
}

static void of_equal_qualities_the_first_reason_stays(void **state)
{
	struct stage s;

	(void)state;
	begin(&s, "a + b");
	for (int k = 0; k < 2; k++) {
		struct unc_line_event *ev = add_event(&s, k ? "b" : "a");

		add_counter(&s, ev, counted(1, SECOND));
		add_counter(&s, ev, (struct unc_delta){.state = UNC_LOST});
	}
	assert_contains(evaluate(&s)->reason, "imc_0/a/");
	end(&s);
}

/* ---- room for reasons ------------------------------------------------------------------------- */

static void a_long_reason_is_cut(void **state)
{
	struct stage s;
	char why[3000];
	struct unc_counter *bad;

	(void)state;
	memset(why, 'x', sizeof(why) - 1);
	why[sizeof(why) - 1] = '\0';
	begin(&s, NULL);
	bad = add_counter(&s, add_event(&s, "rd"), (struct unc_delta){.state = UNC_NOT_OPEN});
	bad->why = why;
	bad->error = -EINVAL;
	evaluate(&s);
	assert_true(strlen(s.row.reason) >= 100);
	assert_true(strlen(s.row.reason) < UNC_REASON_ROOM);
	assert_int_equal(strspn(s.row.reason, "x"), strlen(s.row.reason));
	end(&s);
}

/* Every row gets its reason when the arena has UNC_REASON_ROOM for each. */
static void one_row_does_not_eat_the_room_of_the_next(void **state)
{
	char name[2000];
	struct stage s;
	const struct unc_window window = {.counters = s.counters, .deltas = s.deltas};

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	begin(&s, "wr");
	add_event(&s, name);
	assert_true(strlen(evaluate(&s)->reason) < UNC_REASON_ROOM);
	unc_line_evaluate(&s.line, &window, &s.arena, &s.row);
	assert_contains(s.row.reason, "no PMU here counts 'nnn");
	assert_true(s.arena.len <= s.arena.room);
	end(&s);
}

static void an_arena_never_overflows(void **state)
{
	(void)state;
	for (size_t room = 0; room < 40; room++) {
		struct stage s;

		begin(&s, "rd");
		add_event(&s, "rd"); /* "no PMU here counts 'rd'" has 23 bytes */
		memset(s.reasons, '#', sizeof(s.reasons));
		s.arena.room = room;
		evaluate(&s);
		assert_int_equal(s.row.quality, UNCORE_UNAVAILABLE);
		assert_int_equal(s.reasons[room], '#');
		if (!room)
			assert_null(s.row.reason);
		else
			assert_int_equal(strlen(s.row.reason), room < 24 ? room - 1 : 23);
		end(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_is_its_count),
		cmocka_unit_test(a_scaled_event_keeps_its_true_count),
		cmocka_unit_test(a_state_has_no_rate),
		cmocka_unit_test(zero_is_a_measured_value),
		cmocka_unit_test(bandwidth_of_a_memory_controller),
		cmocka_unit_test(bandwidth_of_four_events),
		cmocka_unit_test(latency_on_one_socket),
		cmocka_unit_test(latency_on_two_sockets),
		cmocka_unit_test(bandwidth_and_request_rate_of_the_fabric),
		cmocka_unit_test(the_kernels_scale_is_applied),
		cmocka_unit_test(a_metric_of_scaled_counts),
		cmocka_unit_test(some_instances_are_missing),
		cmocka_unit_test(a_mean_is_over_those_that_counted),
		cmocka_unit_test(each_kind_of_missing_is_told),
		cmocka_unit_test(a_ratio_leaves_out_half_counted_places),
		cmocka_unit_test(a_ratio_without_one_whole_place),
		cmocka_unit_test(a_counter_that_fell),
		cmocka_unit_test(a_clock_that_stands_still),
		cmocka_unit_test(a_dead_clock_is_no_source),
		cmocka_unit_test(the_first_reason_stays),
		cmocka_unit_test(a_counter_that_ended_early),
		cmocka_unit_test(a_pmu_that_was_left_out),
		cmocka_unit_test(not_opened_has_the_counters_own_sentence),
		cmocka_unit_test(never_ran_is_not_zero),
		cmocka_unit_test(a_divisor_of_zero_is_not_zero),
		cmocka_unit_test(an_event_that_nothing_counts),
		cmocka_unit_test(the_worst_quality_wins_whatever_the_order),
		cmocka_unit_test(of_equal_qualities_the_first_reason_stays),
		cmocka_unit_test(a_long_reason_is_cut),
		cmocka_unit_test(one_row_does_not_eat_the_room_of_the_next),
		cmocka_unit_test(an_arena_never_overflows),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
