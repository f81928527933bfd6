/* SPDX-License-Identifier: MIT */
/* From deltas to rows: values against numbers worked out by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "row-stage.h"

/* ---- events ----------------------------------------------------------------------------------- */

static void an_event_is_its_count(void **state)
{
	struct stage s;
	struct stage_event *ev;
	const struct uncore_row *row;

	(void)state;
	begin(&s, NULL);
	ev = add_event(&s, "cas_count_read");
	ev->scale = 0.25;
	add_counter(&s, ev, counted(100, 3 * SECOND));
	add_counter(&s, ev, counted(300, 3 * SECOND));
	s.planned.place.socket = 1;
	s.planned.place.cpu = 7;
	s.planned.place.pmu = &s.pmu;
	row = evaluate(&s);
	assert_int_equal(row->quality, UNCORE_MEASURED);
	assert_null(row->reason);
	assert_string_equal(row->query->name, "it");
	assert_null(row->query->family);
	assert_string_equal(row->query->unit, "B/s");
	assert_int_equal(row->place->socket, 1);
	assert_int_equal(row->place->cpu, 7);
	assert_ptr_equal(row->place->pmu, &s.pmu);
	assert_int_equal(row->counted->instances, 2);
	assert_int_equal(row->counted->count, 400);
	assert_close(row->value, 100); /* 400 x 0.25 */
	assert_close(row->counted->seconds, 3);
	assert_close(row->rate, 100.0 / 3);
	assert_close(row->counted->coverage, 1);
	assert_int_equal(row->counted->enabled_ns, 6 * SECOND);
	assert_int_equal(row->counted->running_ns, 6 * SECOND);
	end(&s);
}

static void a_scaled_event_keeps_its_true_count(void **state)
{
	struct stage s;
	struct stage_event *ev;
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
	assert_int_equal(row->counted->count, 300);
	assert_close(row->value, 475);
	assert_close(row->rate, 47.5);
	assert_close(row->counted->coverage, 0.4);
	assert_int_equal(row->counted->enabled_ns, 30 * SECOND);
	assert_int_equal(row->counted->running_ns, 22 * SECOND);
	end(&s);
}

static void a_state_has_no_rate(void **state)
{
	struct stage s;
	const struct uncore_row *row;

	(void)state;
	begin(&s, NULL);
	s.query.snapshot = true;
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
	struct stage_event *ev;
	const struct uncore_row *row;

	(void)state;
	begin(&s, "cas_rd * 64 / seconds");
	ev = add_event(&s, "cas_rd");
	add_counter(&s, ev, counted(1000000, SECOND / 2));
	add_counter(&s, ev, counted(500000, SECOND / 2));
	row = evaluate(&s);
	assert_int_equal(row->quality, UNCORE_MEASURED);
	assert_close(row->value, 192e6);
	assert_close(row->counted->seconds, 0.5);
	assert_int_equal(row->counted->instances, 2);
	assert_string_equal(row->query->family, "family");
	assert_true(isnan(row->rate));
	assert_int_equal(row->counted->count, 0); /* of events only */
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
	assert_close(s.judged.row.counted->seconds, 2);
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
	assert_int_equal(s.judged.row.quality, UNCORE_MEASURED);
	assert_int_equal(s.judged.row.counted->instances, 1);
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
	assert_int_equal(s.judged.row.counted->instances, 2);
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
	struct stage_event *ev;

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
	struct stage_event *ev;

	(void)state;
	begin(&s, "rd * 64 / seconds");
	ev = add_event(&s, "rd");
	add_counter(&s, ev, shared(100, 10 * SECOND, 4 * SECOND)); /* 250 in 10 s */
	assert_close(evaluate(&s)->value, 1600);
	assert_close(s.judged.row.counted->amount, 250 * 64);
	assert_int_equal(s.judged.row.quality, UNCORE_SCALED);
	assert_close(s.judged.row.counted->coverage, 0.4);
	assert_null(s.judged.row.reason);
	end(&s);
}

/* Hits and accesses of two instances, whose windows differ. */
static void a_ratio_is_of_counts_if_its_events_share_windows(void **state)
{
	struct stage s;
	struct stage_event *hits, *accesses;

	(void)state;
	begin(&s, "hits / accesses");
	hits = add_event(&s, "hits");
	accesses = add_event(&s, "accesses");
	add_counter(&s, hits, counted(60, SECOND));
	add_counter(&s, hits, counted(40, SECOND / 2));
	add_counter(&s, accesses, counted(100, SECOND));
	add_counter(&s, accesses, shared(25, SECOND / 2, SECOND / 4)); /* 50 */
	assert_close(evaluate(&s)->value, 100.0 / 150);
	end(&s);
	/* Counted one after another, in windows of their own: rates of 100 and 200 a second. */
	begin(&s, "hits / accesses");
	add_counter(&s, add_event(&s, "hits"), counted(100, SECOND));
	add_counter(&s, add_event(&s, "accesses"), counted(100, SECOND / 2));
	assert_close(evaluate(&s)->value, 0.5);
	assert_true(isnan(s.judged.row.counted->amount));
	end(&s);
	/* A value over time is the sum of rates. */
	begin(&s, "hits / seconds");
	hits = add_event(&s, "hits");
	add_counter(&s, hits, counted(60, SECOND));
	add_counter(&s, hits, counted(40, SECOND / 2));
	assert_close(evaluate(&s)->value, 140);
	assert_close(s.judged.row.counted->seconds, 0.75);
	assert_close(s.judged.row.counted->amount, 100);
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_ratio_is_of_counts_if_its_events_share_windows),
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
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
