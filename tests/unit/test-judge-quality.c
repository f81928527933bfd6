/* SPDX-License-Identifier: MIT */
/* From deltas to rows: what is missing, not to be believed, or not there. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "row-stage.h"

/* ---- partial ---------------------------------------------------------------------------------- */

static void some_instances_are_missing(void **state)
{
	struct stage s;
	struct stage_event *ev;
	struct uncore_counter *bad;

	(void)state;
	begin(&s, "rd * 64 / seconds");
	ev = add_event(&s, "rd");
	add_counter(&s, ev, counted(100, SECOND));
	bad = add_counter(&s, ev, (struct unc_delta){.state = UNC_NOT_OPEN});
	bad->error = -ENODEV;
	bad->why = (char *)"imc_0/rd/ on CPU 1: no such PMU";
	add_counter(&s, ev, (struct unc_delta){.state = UNC_LOST});
	assert_close(evaluate(&s)->value, 6400); /* of the one that counted */
	assert_int_equal(s.judged.row.quality, UNCORE_PARTIAL);
	assert_string_equal(s.judged.row.reason, "2 of 3 missing: imc_0/rd/ on CPU 1: no such PMU");
	assert_int_equal(s.judged.row.counted->instances, 3);
	assert_close(s.judged.row.counted->coverage, 1);
	end(&s);
}

/* In a total, one counter lacks intervals that the other one has. */
static void a_ratio_of_counters_that_lack_different_intervals(void **state)
{
	struct unc_delta hits = counted(300, 4 * SECOND);
	struct stage s;

	(void)state;
	hits.interrupted = true;
	begin(&s, "hits / accesses");
	s.length_ns = 10 * SECOND;
	add_counter(&s, add_event(&s, "hits"), hits);
	add_counter(&s, add_event(&s, "accesses"), counted(1000, 10 * SECOND));
	assert_close(evaluate(&s)->value, 0.75);
	assert_int_equal(s.judged.row.quality, UNCORE_PARTIAL);
	assert_string_equal(s.judged.row.reason,
			    "imc_0/hits/ on CPU 0 was counted for 4000 of 10000 ms only");
	end(&s);
}

/* The mean of three clocks, of which two were counted. */
static void a_mean_is_over_counted_instances(void **state)
{
	struct stage s;
	struct stage_event *ev;

	(void)state;
	begin(&s, "tsc / source_count(tsc) / seconds");
	ev = add_event(&s, "tsc");
	add_counter(&s, ev, counted(4000, 2 * SECOND));
	add_counter(&s, ev, (struct unc_delta){.state = UNC_LOST});
	add_counter(&s, ev, counted(2000, 2 * SECOND));
	assert_close(evaluate(&s)->value, 1500);
	assert_int_equal(s.judged.row.quality, UNCORE_PARTIAL);
	end(&s);
}

static void a_corrected_count_has_a_reason(void **state)
{
	struct stage s;
	struct stage_event *ev;
	struct unc_delta torn = counted(300, SECOND);

	(void)state;
	torn.torn = 2;
	begin(&s, NULL);
	ev = add_event(&s, "rd");
	add_counter(&s, ev, counted(100, SECOND));
	add_counter(&s, ev, torn)->register_bits = 48;
	assert_close(evaluate(&s)->value, 400);
	assert_int_equal(s.judged.row.quality, UNCORE_SUSPECT);
	assert_string_equal(
		s.judged.row.reason,
		"imc_0/rd/ on CPU 1: the driver read the two halves of its register "
		"while it carried; the count was 2 x 2^48 too high, which is corrected");
	end(&s);
}

static void each_kind_of_missing_counter_has_a_reason(void **state)
{
	static const struct {
		enum unc_state kind;
		const char *told;
	} cases[] = {
		{UNC_LOST,
		 "1 of 2 missing: imc_0/rd/ on CPU 1 could not be read: the kernel has given it up"},
		{UNC_STOPPED,
		 "1 of 2 missing: imc_0/rd/ on CPU 1 was not counted: the CPU went offline"},
		{UNC_NEVER_RAN, "1 of 2 missing: imc_0/rd/ on CPU 1 never ran in this interval"},
		{UNC_NOT_OPEN, "1 of 2 missing: No such device"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct stage s;
		struct stage_event *ev;

		begin(&s, NULL);
		ev = add_event(&s, "rd");
		add_counter(&s, ev, counted(100, SECOND));
		add_counter(&s, ev, (struct unc_delta){.state = cases[i].kind})->error = -ENODEV;
		evaluate(&s);
		assert_int_equal(s.judged.row.quality, UNCORE_PARTIAL);
		assert_contains(s.judged.row.reason, cases[i].told);
		assert_int_equal(s.judged.row.counted->count, 100);
		end(&s);
	}
}

/* Hits on two sockets, accesses counted on one. */
static void set_half_counted_place(struct stage *s, const char *formula)
{
	struct stage_event *hits, *accesses;

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
	assert_int_equal(s.judged.row.quality, UNCORE_PARTIAL);
	assert_contains(s.judged.row.reason,
			"1 of 2 missing: imc_0/accesses/ on CPU 3 could not be read: the kernel");
	end(&s);
	/* A sum takes what there is. */
	set_half_counted_place(&s, "hits + accesses");
	assert_close(evaluate(&s)->value, 200);
	assert_int_equal(s.judged.row.quality, UNCORE_PARTIAL);
	end(&s);
}

static void a_ratio_without_a_complete_place(void **state)
{
	struct stage s;
	struct stage_event *hits, *accesses;

	(void)state;
	begin(&s, "hits / accesses");
	hits = add_event(&s, "hits");
	accesses = add_event(&s, "accesses");
	add_counter(&s, hits, (struct unc_delta){.state = UNC_LOST});
	add_counter(&s, hits, counted(40, SECOND));
	add_counter(&s, accesses, counted(100, SECOND));
	add_counter(&s, accesses, (struct unc_delta){.state = UNC_STOPPED});
	assert_no_value(evaluate(&s));
	assert_contains(s.judged.row.reason, "imc_0/hits/ on CPU 0 could not be read");
	end(&s);
}

/* ---- suspect ---------------------------------------------------------------------------------- */

/* All that was counted is left out: suspect, and nothing is the value. */
static void assert_fell(const struct uncore_row *row)
{
	assert_int_equal(row->quality, UNCORE_SUSPECT);
	assert_true(isnan(row->value));
	assert_close(row->counted->coverage, 0);
}

static void a_counter_that_fell(void **state)
{
	struct stage s;
	struct stage_event *ev;

	(void)state;
	begin(&s, "rd * 64 / seconds");
	ev = add_event(&s, "rd");
	add_counter(&s, ev, counted(100, SECOND));
	add_counter(&s, ev, (struct unc_delta){.state = UNC_LOST});
	add_counter(&s, ev, (struct unc_delta){.state = UNC_WENT_BACK});
	assert_close(evaluate(&s)->value, 6400);
	assert_int_equal(s.judged.row.quality, UNCORE_SUSPECT);
	assert_string_equal(s.judged.row.reason,
			    "2 of 3 left out: imc_0/rd/ on CPU 2 fell between two readings");
	end(&s);
	begin(&s, "rd * 64 / seconds");
	ev = add_event(&s, "rd");
	add_counter(&s, ev, (struct unc_delta){.state = UNC_WENT_BACK});
	assert_fell(evaluate(&s));
	assert_string_equal(s.judged.row.reason, "imc_0/rd/ on CPU 0 fell between two readings");
	end(&s);
	begin(&s, "rd * 64 / seconds");
	ev = add_event(&s, "rd");
	add_counter(
		&s, ev,
		(struct unc_delta){.state = UNC_WENT_BACK, .what = "count", .from = 9, .to = 4});
	assert_fell(evaluate(&s));
	assert_string_equal(s.judged.row.reason,
			    "imc_0/rd/ on CPU 0 fell between two readings: the count, from 9 to 4");
	end(&s);
	/* An event that is not there at all is worse. */
	begin(&s, "rd / wr");
	ev = add_event(&s, "rd");
	add_counter(&s, ev, (struct unc_delta){.state = UNC_WENT_BACK});
	ev = add_event(&s, "wr");
	add_counter(&s, ev, (struct unc_delta){.state = UNC_LOST});
	assert_no_value(evaluate(&s));
	assert_contains(s.judged.row.reason, "imc_0/wr/");
	end(&s);
}

static void a_clock_that_does_not_move(void **state)
{
	struct stage s;
	struct stage_event *ev;

	(void)state;
	begin(&s, "cycles / seconds");
	ev = add_event(&s, "cycles");
	ev->always = true;
	add_counter(&s, ev, counted(0, SECOND / 10));
	assert_close(evaluate(&s)->value, 0);
	assert_int_equal(s.judged.row.quality, UNCORE_SUSPECT);
	assert_string_equal(s.judged.row.reason,
			    "'cycles' did not move in 100 ms: the counter is stuck");
	/* One nanosecond less may be chance. */
	s.deltas[0] = counted(0, SECOND / 10 - 1);
	assert_int_equal(evaluate(&s)->quality, UNCORE_MEASURED);
	assert_null(s.judged.row.reason);
	/* One increment is life. */
	s.deltas[0] = counted(1, SECOND);
	assert_int_equal(evaluate(&s)->quality, UNCORE_MEASURED);
	/* Nor do the others of a sum hide the one that is dead. */
	add_counter(&s, ev, counted(0, SECOND));
	assert_close(evaluate(&s)->value, 1);
	assert_int_equal(s.judged.row.quality, UNCORE_SUSPECT);
	assert_string_equal(s.judged.row.reason,
			    "'cycles' did not move on 1 of 2 counters in 1000 ms: "
			    "stuck on imc_0, CPU 1");
	/* Other events may rest. */
	ev->always = false;
	s.deltas[0] = counted(0, SECOND);
	assert_int_equal(evaluate(&s)->quality, UNCORE_MEASURED);
	end(&s);
}

/* The clocks are in no row: counters 2 and 3, of three PMUs of which one has none. */
static void a_pmu_whose_clock_stands_still(void **state)
{
	struct stage_event clocks = {.name = "clk"}, *ev;
	struct stage s;

	(void)state;
	begin(&s, NULL);
	ev = add_event(&s, "e");
	add_counter(&s, ev, counted(5, SECOND));
	add_counter(&s, ev, counted(0, SECOND));
	add_counter(&s, &clocks, counted(77, SECOND));
	add_counter(&s, &clocks, counted(0, SECOND));
	add_counter(&s, ev, counted(5, SECOND));
	s.clocked[0].clock = 2;
	s.clocked[1].clock = 3;
	s.clocked[4].clock = SIZE_MAX;
	assert_int_equal(evaluate(&s)->quality, UNCORE_MEASURED);
	s.clock_items[0] = 2;
	s.clock_items[1] = 3;
	s.clock_count = 2;
	assert_int_equal(evaluate(&s)->quality, UNCORE_SUSPECT);
	assert_string_equal(s.judged.row.reason,
			    "the clock of imc_0, CPU 3 did not move, so that the PMU does not "
			    "count: 1 of 3 PMUs");
	s.clocked[0].lacking = true;
	assert_contains(evaluate(&s)->reason, "1 of 2 PMUs");
	s.clocked[0].lacking = false;
	s.deltas[2].count = 0;
	assert_contains(evaluate(&s)->reason, "imc_0, CPU 2 did not move");
	assert_contains(s.judged.row.reason, "2 of 3 PMUs");
	s.deltas[2].count = s.deltas[3].count = 1;
	assert_int_equal(evaluate(&s)->quality, UNCORE_MEASURED);
	/* A moment without a clock may be chance. */
	s.deltas[2] = s.deltas[3] = counted(0, SECOND / 10 - 1);
	assert_int_equal(evaluate(&s)->quality, UNCORE_MEASURED);
	s.deltas[3] = (struct unc_delta){.state = UNC_LOST, .running_ns = SECOND};
	assert_int_equal(evaluate(&s)->quality, UNCORE_MEASURED);
	end(&s);
}

/* Energy of a domain that one of two packages lacks, which linux drivers/powercap/intel_rapl_common.c then counts as 0:
 * by an event of the user, and in intervals that are too short alone. */
static void a_register_that_a_package_lacks(void **state)
{
	struct stage s;
	struct stage_event *ev;

	(void)state;
	begin(&s, NULL);
	ev = add_event(&s, "power/energy-ram/");
	s.query.shown.name = ev->name;
	ev->always = true;
	add_counter(&s, ev, counted(20, SECOND));
	add_counter(&s, ev, counted(0, SECOND));
	assert_int_equal(evaluate(&s)->quality, UNCORE_SUSPECT);
	assert_string_equal(s.judged.row.reason,
			    "'power/energy-ram/' did not move on 1 of 2 counters in 1000 "
			    "ms: stuck on imc_0, CPU 1");
	for (size_t i = 0; i < 2; i++)
		s.deltas[i] = counted(s.deltas[i].count, SECOND / 50);
	assert_int_equal(evaluate(&s)->quality, UNCORE_MEASURED);
	s.clocked[1].still_ns = SECOND / 10;
	assert_int_equal(evaluate(&s)->quality, UNCORE_SUSPECT);
	assert_string_equal(s.judged.row.reason,
			    "'power/energy-ram/' did not move on 1 of 2 counters in 100 "
			    "ms: stuck on imc_0, CPU 1");
	ev->always = false;
	assert_int_equal(evaluate(&s)->quality, UNCORE_MEASURED);
	end(&s);
}

/* Too short for the check of an event that never stops. */
static void a_clock_of_zero(void **state)
{
	struct stage s;
	const struct uncore_row *row;

	(void)state;
	begin(&s, "clk / seconds");
	s.metric.unit = s.query.shown.unit = "Hz";
	add_counter(&s, add_event(&s, "clk"), counted(0, SECOND / 100));
	row = evaluate(&s);
	assert_int_equal(row->quality, UNCORE_SUSPECT);
	assert_contains(row->reason, "clock of 0 Hz");
	s.deltas[0] = counted(1, SECOND / 100);
	assert_int_equal(evaluate(&s)->quality, UNCORE_MEASURED);
	end(&s);
}

/* 125e6 / 1.04 * 1.04 is a little less than 125e6. */
static void a_clock_that_stopped_in_between(void **state)
{
	struct stage s;

	(void)state;
	begin(&s, "cycles");
	s.metric.clock_hz = 1e9;
	s.metric.clock_events = 1;
	add_counter(&s, add_event(&s, "cycles"), counted(125000000, 1040000000));
	assert_int_equal(evaluate(&s)->quality, UNCORE_SUSPECT);
	assert_string_equal(s.judged.row.reason,
			    "its clock counted the cycles of 125 ms in 1040 ms: it stopped, "
			    "or its frequency is not 1000000000 Hz");
	end(&s);
}

static void a_port_without_link_that_moves_data(void **state)
{
	struct uncore_device port = {.address = "0000:17:00.0", .speed = 2.5, .max_rate = NAN};
	struct stage s;

	(void)state;
	begin(&s, "bytes / seconds");
	s.metric.ceiling = UNC_CEILING_PORT;
	s.planned.place.port = &port;
	add_counter(&s, add_event(&s, "bytes"), counted(64, SECOND));
	assert_int_equal(evaluate(&s)->quality, UNCORE_SUSPECT);
	assert_contains(s.judged.row.reason, "0000:17:00.0 had no link");
	s.deltas[0] = counted(0, SECOND);
	assert_int_equal(evaluate(&s)->quality, UNCORE_MEASURED);
	s.deltas[0] = counted(64, SECOND);
	port.speed = NAN; /* not known */
	assert_int_equal(evaluate(&s)->quality, UNCORE_MEASURED);
	end(&s);
}

/* A clock that counts 1e9 a second on two of three channels: their mean is 1e9, not two thirds. */
static void a_stopped_clock_is_not_averaged(void **state)
{
	struct stage s;
	struct stage_event *ev;

	(void)state;
	begin(&s, "cycles / source_count(cycles) / seconds");
	ev = add_event(&s, "cycles");
	ev->always = true;
	add_counter(&s, ev, counted(1000000000, SECOND));
	add_counter(&s, ev, counted(0, SECOND));
	add_counter(&s, ev, counted(1000000000, SECOND));
	assert_close(evaluate(&s)->value, 1e9);
	assert_int_equal(s.judged.row.quality, UNCORE_SUSPECT);
	end(&s);
}

/* A stuck divisor is the reason, not the division by zero. */
static void the_first_reason_stays(void **state)
{
	struct stage s;
	struct stage_event *cycles;

	(void)state;
	begin(&s, "reads / cycles");
	add_counter(&s, add_event(&s, "reads"), counted(5, SECOND));
	cycles = add_event(&s, "cycles");
	cycles->always = true;
	add_counter(&s, cycles, counted(0, SECOND));
	assert_no_value(evaluate(&s));
	assert_string_equal(s.judged.row.reason,
			    "'cycles' did not move in 1000 ms: the counter is stuck");
	assert_close(s.judged.row.counted->coverage, 0);
	end(&s);
}

/* 1e9 a second for 10 s, and the same for 1 s until its CPU went: 2e9 a second while both counted. */
static void a_counter_that_ended_early(void **state)
{
	struct stage s;
	struct stage_event *ev;

	(void)state;
	begin(&s, NULL);
	s.length_ns = 10 * SECOND;
	ev = add_event(&s, "rd");
	add_counter(&s, ev, counted(10000000000, 10 * SECOND));
	add_counter(&s, ev, counted(1000000000, SECOND));
	assert_close(evaluate(&s)->rate, 2e9);
	assert_int_equal(s.judged.row.quality, UNCORE_PARTIAL);
	assert_string_equal(s.judged.row.reason,
			    "imc_0/rd/ on CPU 1 was counted for 1000 of 10000 ms only");
	/* Readings of a short window lie apart without anything being wrong. */
	s.length_ns = SECOND / 1000;
	s.deltas[0] = counted(1000000, SECOND / 1000);
	s.deltas[1] = counted(900000, 9 * SECOND / 10000);
	assert_int_equal(evaluate(&s)->quality, UNCORE_MEASURED);
	end(&s);
}

/* Read at moments of their own: 3e9 and 1e9 a second, in windows of 1.0 and 0.9 s, which neither lacks. */
static void windows_of_different_length(void **state)
{
	struct stage s;

	(void)state;
	begin(&s, "reads / seconds");
	add_counter(&s, add_event(&s, "reads"), counted(3000000000, SECOND));
	add_counter(&s, &s.events[0], counted(900000000, 9 * SECOND / 10));
	assert_close(evaluate(&s)->value, 4e9);
	assert_int_equal(s.judged.row.quality, UNCORE_MEASURED);
	end(&s);
}

/* Nothing was counted in 27 ms of 188, and no reading tells of the others. */
static void a_zero_of_a_part_of_the_interval(void **state)
{
	struct stage s;
	struct stage_event *ev;

	(void)state;
	begin(&s, NULL);
	ev = add_event(&s, "rd");
	add_counter(&s, ev, counted(0, 188 * SECOND / 1000));
	assert_close(evaluate(&s)->value, 0);
	assert_int_equal(s.judged.row.quality, UNCORE_MEASURED);
	add_counter(&s, ev, counted(0, 27 * SECOND / 1000));
	assert_close(evaluate(&s)->value, 0);
	assert_int_equal(s.judged.row.quality, UNCORE_SUSPECT);
	assert_string_equal(s.judged.row.reason,
			    "it was not read when the interval of 188 ms began or ended: "
			    "the value may be off by 100 %");
	/* As a count that is not 0. */
	s.deltas[0] = counted(1000, 188 * SECOND / 1000);
	assert_int_equal(evaluate(&s)->quality, UNCORE_SUSPECT);
	/* What is read as a state is that of the reading. */
	s.deltas[0] = counted(0, 188 * SECOND / 1000);
	s.query.snapshot = true;
	assert_int_equal(evaluate(&s)->quality, UNCORE_MEASURED);
	end(&s);
}

static void almost_no_coverage_is_a_guess(void **state)
{
	static const struct {
		uint64_t running_ns;
		enum uncore_quality quality;
		const char *share;
	} cases[] = {
		{SECOND / 200, UNCORE_SUSPECT, "0.50"},
		{SECOND * 381 / 10000, UNCORE_SUSPECT, "3.81"},
		{SECOND / 20 - 1, UNCORE_SUSPECT, "4.99"},
		{SECOND / 20, UNCORE_SCALED, NULL},
		{SECOND - 1, UNCORE_SCALED, NULL},
		{SECOND, UNCORE_MEASURED, NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct stage s;
		char told[160];

		begin(&s, "reads / seconds");
		add_counter(&s, add_event(&s, "reads"), shared(1000, SECOND, cases[i].running_ns));
		assert_close(evaluate(&s)->value, 1000.0 * SECOND / (double)cases[i].running_ns);
		assert_int_equal(s.judged.row.quality, cases[i].quality);
		snprintf(told, sizeof(told),
			 "'reads' was counted for %s %% of the time only: count fewer events at "
			 "once, or for longer",
			 cases[i].share ? cases[i].share : "");
		if (cases[i].share)
			assert_string_equal(s.judged.row.reason, told);
		else
			assert_null(s.judged.row.reason);
		end(&s);
	}
}

/* A reading that took 10 ms bounds what was counted, not what happened meanwhile. */
static void an_extrapolated_value_has_no_bounds(void **state)
{
	static const char *const formulas[] = {NULL, "a / seconds", "a / b", "a / b / seconds"};

	(void)state;
	for (size_t i = 0; i < COUNT(formulas); i++)
		for (int scaled = 0; scaled < 2; scaled++) {
			struct unc_delta d = shared(1000, SECOND, scaled ? SECOND / 2 : SECOND);
			struct stage s;

			begin(&s, formulas[i]);
			s.length_ns = SECOND;
			d.took_ns = d.uncertain_ns = SECOND / 100;
			add_counter(&s, add_event(&s, "a"), d);
			if (i > 1)
				add_counter(&s, add_event(&s, "b"), d);
			evaluate(&s);
			assert_int_equal(s.judged.row.quality,
					 scaled ? UNCORE_SCALED : UNCORE_MEASURED);
			assert_true(isfinite(s.judged.row.low) != scaled);
			assert_true(isfinite(s.judged.row.high) != scaled);
			end(&s);
		}
}

/* A late reading makes an extrapolated value suspect as any other. */
static void an_extrapolated_value_that_was_read_late(void **state)
{
	struct unc_delta d = shared(1000, SECOND, SECOND / 2);
	struct stage s;

	(void)state;
	begin(&s, "reads / seconds");
	d.took_ns = d.uncertain_ns = SECOND / 5;
	add_counter(&s, add_event(&s, "reads"), d);
	assert_int_equal(evaluate(&s)->quality, UNCORE_SUSPECT);
	assert_contains(s.judged.row.reason, "it was not read when the interval");
	assert_true(isnan(s.judged.row.low) && isnan(s.judged.row.high));
	end(&s);
}

/* 1000 counts on one of two PMUs, in half of the time: the sum of both may be 1000 or 4000. */
static void a_partial_sum_is_not_extrapolated(void **state)
{
	struct stage s;
	struct stage_event *ev;

	(void)state;
	begin(&s, "rd / seconds");
	ev = add_event(&s, "rd");
	add_counter(&s, ev, shared(1000, SECOND, SECOND / 2));
	add_counter(&s, ev, (struct unc_delta){.state = UNC_LOST});
	assert_close(evaluate(&s)->value, 2000);
	assert_int_equal(s.judged.row.quality, UNCORE_SUSPECT);
	assert_string_equal(s.judged.row.reason,
			    "extrapolated, as 'rd' was counted for 50 % of the time, and "
			    "incomplete: 1 of 2 missing: imc_0/rd/ on CPU 1 could not be read: the "
			    "kernel has given it up");
	end(&s);
	begin(&s, "rd / seconds");
	add_counter(&s, add_event(&s, "rd"), shared(1000, SECOND, SECOND / 2));
	s.planned.gaps = (char *)"1 PMU left out: imc_1 has no CPU";
	assert_int_equal(evaluate(&s)->quality, UNCORE_SUSPECT);
	assert_string_equal(s.judged.row.reason,
			    "extrapolated, as 'rd' was counted for 50 % of the time, "
			    "and incomplete: 1 PMU left out: imc_1 has no CPU");
	end(&s);
}

static void a_pmu_that_was_left_out(void **state)
{
	struct stage s;

	(void)state;
	begin(&s, "rd * 64 / seconds");
	add_counter(&s, add_event(&s, "rd"), counted(100, SECOND));
	s.planned.gaps = (char *)"2 PMUs left out: imc_1 has no CPU";
	assert_close(evaluate(&s)->value, 6400);
	assert_int_equal(s.judged.row.quality, UNCORE_PARTIAL);
	assert_string_equal(s.judged.row.reason, "2 PMUs left out: imc_1 has no CPU");
	end(&s);
}

/* ---- unavailable ------------------------------------------------------------------------------ */

static void not_opened_has_the_counters_own_sentence(void **state)
{
	struct stage s;
	struct uncore_counter *bad;

	(void)state;
	begin(&s, NULL);
	bad = add_counter(&s, add_event(&s, "rd"), (struct unc_delta){.state = UNC_NOT_OPEN});
	bad->error = -EACCES;
	bad->why = (char *)"imc_0/rd/: perf_event_paranoid is 3";
	assert_no_value(evaluate(&s));
	assert_string_equal(s.judged.row.reason, "imc_0/rd/: perf_event_paranoid is 3");
	assert_close(s.judged.row.counted->coverage, 0);
	assert_int_equal(s.judged.row.counted->count, 0);
	assert_int_equal(s.judged.row.counted->instances, 1);
	assert_true(isnan(s.judged.row.counted->seconds));
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
	assert_contains(s.judged.row.reason, "imc_0/rd/ on CPU 0 never ran in this interval");
	assert_close(s.judged.row.counted->coverage, 0);
	end(&s);
}

/* The kernel asked for time of a counter that never got any: perf has it in the enabled time, too. */
static void what_never_ran_was_enabled(void **state)
{
	struct stage s;
	struct stage_event *ev;

	(void)state;
	begin(&s, NULL);
	ev = add_event(&s, "e");
	add_counter(&s, ev, counted(100, 3 * SECOND));
	add_counter(&s, ev, (struct unc_delta){.state = UNC_NEVER_RAN, .enabled_ns = 2 * SECOND});
	assert_int_equal(evaluate(&s)->quality, UNCORE_PARTIAL);
	assert_int_equal(s.judged.row.counted->enabled_ns, 5 * SECOND);
	assert_int_equal(s.judged.row.counted->running_ns, 3 * SECOND);
	assert_close(s.judged.row.counted->seconds, 3);
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
	assert_contains(s.judged.row.reason, "division by zero: no events in this interval");
	assert_close(s.judged.row.counted->seconds, 1);
	/* It was counted. */
	assert_close(s.judged.row.counted->coverage, 1);
	end(&s);
}

/* Misses that another reading has counted, beside fewer accesses. */
static void a_value_below_zero(void **state)
{
	struct stage s;

	(void)state;
	begin(&s, "(accesses - misses) * 64 / seconds");
	add_counter(&s, add_event(&s, "accesses"), counted(5, SECOND));
	add_counter(&s, add_event(&s, "misses"), counted(7, SECOND));
	assert_close(evaluate(&s)->value, -128);
	assert_int_equal(s.judged.row.quality, UNCORE_SUSPECT);
	assert_string_equal(s.judged.row.reason, "the value is below 0, which it cannot be");
	end(&s);
}

static void an_event_that_no_counter_counts(void **state)
{
	struct stage s;

	(void)state;
	begin(&s, "rd + wr");
	add_counter(&s, add_event(&s, "rd"), counted(5, SECOND));
	add_event(&s, "wr");
	assert_no_value(evaluate(&s));
	assert_string_equal(s.judged.row.reason, "no PMU here counts 'wr'");
	end(&s);
}

/* ---- bugs of the kernel ----------------------------------------------------------------------- */

static void a_bug_of_the_kernel(void **state)
{
	struct unc_kernel_bug bug = {
		.suspect = true, .title = "it counts link 0", .text = (char *)"kernel 7: link 0"};
	struct stage s;

	(void)state;
	begin(&s, "rd * 64 / seconds");
	add_counter(&s, add_event(&s, "rd"), counted(5, SECOND));
	assert_int_equal(evaluate(&s)->quality, UNCORE_MEASURED);
	s.planned.bug = &bug;
	assert_int_equal(evaluate(&s)->quality, UNCORE_SUSPECT);
	assert_string_equal(s.judged.row.reason, "kernel 7: link 0");
	assert_close(s.judged.row.value, 320);
	bug.suspect = false; /* a version that is not known to have it */
	assert_int_equal(evaluate(&s)->quality, UNCORE_MEASURED);
	end(&s);
}

/* The documents of a formula contradict each other; what this machine shows to be wrong is the reason. */
static void a_formula_in_doubt(void **state)
{
	struct unc_kernel_bug bug = {
		.suspect = true, .title = "it counts link 0", .text = (char *)"link 0"};
	struct stage s;

	(void)state;
	begin(&s, "rd * 32 / seconds");
	s.metric.doubt = "32 bytes, or 64";
	add_counter(&s, add_event(&s, "rd"), counted(5, SECOND));
	assert_int_equal(evaluate(&s)->quality, UNCORE_SUSPECT);
	assert_string_equal(s.judged.row.reason, "32 bytes, or 64");
	assert_close(s.judged.row.value, 160);
	s.planned.bug = &bug;
	assert_string_equal(evaluate(&s)->reason, "link 0");
	end(&s);
}

/* What was counted may show that there is none. A metric that is not counted shows nothing. */
static void counts_settle_a_doubt(void **state)
{
	static const struct {
		const char *unless;
		uint64_t count;
		enum uncore_quality quality;
	} cases[] = {
		{"clk > 10 * source_count(clk) * seconds", 21, UNCORE_MEASURED},
		{"clk > 10 * source_count(clk) * seconds", 20, UNCORE_SUSPECT},
		{"clk > memory.transfers", 21, UNCORE_SUSPECT},
		{"other.metric >= 0", 21, UNCORE_SUSPECT},
		{"1 / (clk - 21)", 21, UNCORE_SUSPECT},
	};
	struct stage s;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct stage_event *ev;

		begin(&s, "rd / clk");
		s.metric.doubt = "half, or a quarter";
		assert_int_equal(unc_formula_parse(&s.metric.unless, cases[i].unless, NULL, NULL),
				 0);
		add_counter(&s, add_event(&s, "rd"), counted(5, SECOND));
		ev = add_event(&s, "clk");
		add_counter(&s, ev, counted(cases[i].count - 1, SECOND));
		add_counter(&s, ev, counted(1, SECOND));
		assert_int_equal(evaluate(&s)->quality, cases[i].quality);
		unc_formula_free(s.metric.unless);
		end(&s);
	}
}

static void each_pmu_settles_a_doubt(void **state)
{
	static const struct {
		uint64_t clocks[2];
		bool each_pmu;
		enum uncore_quality quality;
	} cases[] = {
		{{30, 10}, false, UNCORE_MEASURED}, {{30, 10}, true, UNCORE_SUSPECT},
		{{20, 24}, true, UNCORE_SUSPECT},   {{20, 20}, true, UNCORE_MEASURED},
		{{40, 0}, true, UNCORE_SUSPECT},    {{20, 0}, true, UNCORE_MEASURED},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct stage_event *rd, *clk;
		struct stage s;

		begin(&s, "rd / clk");
		s.metric.doubt = "half, or a quarter";
		s.metric.each_pmu = cases[i].each_pmu;
		assert_int_equal(unc_formula_parse(&s.metric.unless,
						   "(rd > 0.9 * clk) * (rd < 1.1 * clk)", NULL,
						   NULL),
				 0);
		rd = add_event(&s, "rd");
		clk = add_event(&s, "clk");
		for (size_t k = 0; k < 2; k++) {
			add_counter(&s, rd, counted(cases[i].clocks[k] ? 20 : 0, SECOND));
			add_counter(&s, clk, counted(cases[i].clocks[k], SECOND));
		}
		assert_int_equal(evaluate(&s)->quality, cases[i].quality);
		unc_formula_free(s.metric.unless);
		end(&s);
	}
}

/* A value that may have another unit is no value. */
static void a_withheld_value_is_unavailable(void **state)
{
	(void)state;
	for (uint64_t latency = 14; latency <= 15; latency++) {
		struct stage_event *sum, *requests;
		const struct uncore_row *row;
		struct stage s;

		begin(&s, "sum / requests");
		s.metric.doubt = "it may be clocks";
		s.metric.withheld = true;
		assert_int_equal(
			unc_formula_parse(&s.metric.unless, "sum < 15 * requests", NULL, NULL), 0);
		sum = add_event(&s, "sum");
		requests = add_event(&s, "requests");
		add_counter(&s, sum, counted(100 * latency, SECOND));
		add_counter(&s, requests, counted(100, SECOND));
		row = evaluate(&s);
		if (latency < 15) {
			assert_int_equal(row->quality, UNCORE_MEASURED);
			assert_true(row->value == 14);
		} else {
			assert_int_equal(row->quality, UNCORE_UNAVAILABLE);
			assert_true(isnan(row->value));
			assert_string_equal(row->reason, "it may be clocks");
		}
		unc_formula_free(s.metric.unless);
		end(&s);
	}
}

/* Two PMUs of a kind, counted from the same CPU: equal to the last digit only by the bug. */
static void equal_counts_show_a_bug(void **state)
{
	const struct unc_kernel_bug bug = {.title = "it counts link 0", .equal_counts = true};
	struct uncore_pmu pmus[2] = {{.name = (char *)"upi_0"}, {.name = (char *)"upi_1"}};
	struct stage_event *ev;
	struct stage s;

	(void)state;
	begin(&s, NULL);
	ev = add_event(&s, "e");
	for (size_t i = 0; i < 2; i++) {
		struct uncore_counter *c = add_counter(&s, ev, counted(5000, SECOND));

		pmus[i].family = &s.family;
		c->pmu = &pmus[i];
		c->cpu = 0;
	}
	assert_int_equal(evaluate(&s)->quality, UNCORE_MEASURED); /* another family */
	s.planned.bug = &bug;
	assert_int_equal(evaluate(&s)->quality, UNCORE_SUSPECT);
	assert_string_equal(s.judged.row.reason,
			    "upi_0 and other PMUs have equal counts: it counts link 0");
	s.deltas[1].count = 5001;
	assert_int_equal(evaluate(&s)->quality, UNCORE_MEASURED);
	s.deltas[0].count = s.deltas[1].count = 999; /* by chance */
	assert_int_equal(evaluate(&s)->quality, UNCORE_MEASURED);
	s.deltas[0].count = s.deltas[1].count = 1000;
	assert_int_equal(evaluate(&s)->quality, UNCORE_SUSPECT);
	s.deltas[0].count = s.deltas[1].count = 5000;
	s.counters[1].config[0] = 2; /* another event */
	assert_int_equal(evaluate(&s)->quality, UNCORE_MEASURED);
	s.counters[1].config[0] = 0;
	s.counters[1].cpu = 1; /* another socket */
	assert_int_equal(evaluate(&s)->quality, UNCORE_MEASURED);
	end(&s);
}

/* A kernel of a version with the bug: counts that differ by more than an eighth show that it is corrected. */
static void different_counts_show_that_a_bug_is_fixed(void **state)
{
	static const struct {
		uint64_t ours, theirs, length_ns;
		double multiplexed; /* share of the time that the second was counted */
		enum uncore_quality quality;
	} cases[] = {
		{5000, 5000, SECOND, 1, UNCORE_SUSPECT},
		{5000, 5001, SECOND, 1, UNCORE_SUSPECT}, /* not read at one moment */
		{80000, 70000, SECOND, 1, UNCORE_SUSPECT},
		{80000, 69999, SECOND, 1, UNCORE_MEASURED},
		{69999, 80000, SECOND, 1, UNCORE_MEASURED},
		{0, 80000, SECOND, 1, UNCORE_MEASURED}, /* one link is idle, or not connected */
		{0, 0, SECOND, 1, UNCORE_SUSPECT},
		{10, 999, SECOND, 1, UNCORE_SUSPECT}, /* too few */
		{10, 1000, SECOND, 1, UNCORE_MEASURED},
		{1000, 10, SECOND, 1, UNCORE_MEASURED},
		{1, 80000, SECOND / 200, 1, UNCORE_SUSPECT}, /* too short */
		{1, 80000, SECOND, 0.5, UNCORE_SUSPECT},     /* at another time */
	};
	const struct unc_kernel_bug bug = {.title = "link 0",
					   .text = (char *)"x: link 0",
					   .suspect = true,
					   .equal_counts = true};
	struct uncore_pmu pmus[2] = {{.name = (char *)"upi_0"}, {.name = (char *)"upi_1"}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct stage_event *ev;
		struct stage s;

		begin(&s, NULL);
		s.planned.bug = &bug;
		ev = add_event(&s, "e");
		for (size_t k = 0; k < 2; k++) {
			uint64_t count = k ? cases[i].theirs : cases[i].ours;
			struct uncore_counter *c =
				add_counter(&s, ev, counted(count, cases[i].length_ns));

			pmus[k].family = &s.family;
			c->pmu = &pmus[k];
			c->cpu = 0;
		}
		s.deltas[1].running_ns =
			(uint64_t)((double)s.deltas[1].enabled_ns * cases[i].multiplexed);
		if (cases[i].quality == UNCORE_MEASURED)
			assert_int_equal(evaluate(&s)->quality, UNCORE_MEASURED);
		else
			assert_string_equal(evaluate(&s)->reason, "x: link 0");
		/* The same event in another round was not counted in this one. */
		s.deltas[0] = s.deltas[1] = counted(80000, SECOND);
		s.counters[2] = s.counters[1];
		s.deltas[2] = counted(0, 0);
		s.used = 3;
		assert_string_equal(evaluate(&s)->reason, "x: link 0");
		end(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(some_instances_are_missing),
		cmocka_unit_test(a_ratio_of_counters_that_lack_different_intervals),
		cmocka_unit_test(a_mean_is_over_counted_instances),
		cmocka_unit_test(a_corrected_count_has_a_reason),
		cmocka_unit_test(each_kind_of_missing_counter_has_a_reason),
		cmocka_unit_test(a_ratio_leaves_out_half_counted_places),
		cmocka_unit_test(a_ratio_without_a_complete_place),
		cmocka_unit_test(a_counter_that_fell),
		cmocka_unit_test(a_clock_that_does_not_move),
		cmocka_unit_test(a_pmu_whose_clock_stands_still),
		cmocka_unit_test(a_register_that_a_package_lacks),
		cmocka_unit_test(a_clock_of_zero),
		cmocka_unit_test(a_clock_that_stopped_in_between),
		cmocka_unit_test(a_port_without_link_that_moves_data),
		cmocka_unit_test(a_stopped_clock_is_not_averaged),
		cmocka_unit_test(the_first_reason_stays),
		cmocka_unit_test(a_counter_that_ended_early),
		cmocka_unit_test(windows_of_different_length),
		cmocka_unit_test(a_zero_of_a_part_of_the_interval),
		cmocka_unit_test(almost_no_coverage_is_a_guess),
		cmocka_unit_test(an_extrapolated_value_has_no_bounds),
		cmocka_unit_test(an_extrapolated_value_that_was_read_late),
		cmocka_unit_test(a_partial_sum_is_not_extrapolated),
		cmocka_unit_test(a_pmu_that_was_left_out),
		cmocka_unit_test(not_opened_has_the_counters_own_sentence),
		cmocka_unit_test(never_ran_is_not_zero),
		cmocka_unit_test(what_never_ran_was_enabled),
		cmocka_unit_test(a_divisor_of_zero_is_not_zero),
		cmocka_unit_test(a_value_below_zero),
		cmocka_unit_test(an_event_that_no_counter_counts),
		cmocka_unit_test(a_bug_of_the_kernel),
		cmocka_unit_test(a_formula_in_doubt),
		cmocka_unit_test(counts_settle_a_doubt),
		cmocka_unit_test(each_pmu_settles_a_doubt),
		cmocka_unit_test(a_withheld_value_is_unavailable),
		cmocka_unit_test(equal_counts_show_a_bug),
		cmocka_unit_test(different_counts_show_that_a_bug_is_fixed),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
