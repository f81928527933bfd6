/* SPDX-License-Identifier: MIT */
/* Bounds of metrics whose counters were read one after another. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "row-stage.h"

/* Readings that took `took_ns` in all, of which the counters of a group know only that. */
static struct unc_delta stalled(uint64_t count, uint64_t enabled_ns, uint64_t took_ns)
{
	struct unc_delta d = counted(count, enabled_ns);

	d.took_ns = d.uncertain_ns = took_ns;
	return d;
}

/* Of 1.25e9 lookups 0.8e9 hit: 36 %. The reader lost the CPU for 16 ms between misses and lookups, and
 * took 17 ms: the misses of 1.266 s and the lookups of 1.250 s. */
static void a_hit_ratio_of_a_stalled_reader(void **state)
{
	const uint64_t ns = 1250 * SECOND / 1000, took_ns = 17 * SECOND / 1000;
	struct stage s;

	(void)state;
	begin(&s, "(lookups - misses) / lookups");
	add_counter(&s, add_event(&s, "lookups"), stalled(1250000000, ns, took_ns));
	add_counter(&s, add_event(&s, "misses"), stalled(810240000, ns, took_ns));
	assert_close(evaluate(&s)->value, 0.351808);
	assert_int_equal(s.judged.row.quality, UNCORE_MEASURED);
	assert_true(s.judged.row.low < 0.36 && 0.36 < s.judged.row.high);
	assert_close(s.judged.row.high, 1 - 0.648192 * (1 - 0.017 / 1.25));
	assert_close(s.judged.row.low, 1 - 0.648192 / (1 - 0.017 / 1.25));
	end(&s);
}

/* Occupancy over inserts, in cycles, over the clock: 60 ns. */
static void a_latency_of_a_stalled_reader(void **state)
{
	struct stage s;

	(void)state;
	begin(&s, "occupancy / inserts / (cycles / seconds)");
	add_counter(&s, add_event(&s, "occupancy"), stalled(122400000, SECOND / 2, SECOND / 100));
	add_counter(&s, add_event(&s, "inserts"), stalled(1000000, SECOND / 2, SECOND / 100));
	add_counter(&s, add_event(&s, "cycles"), stalled(1000000000, SECOND / 2, SECOND / 100));
	assert_close(evaluate(&s)->value, 61.2e-9);
	assert_int_equal(s.judged.row.quality, UNCORE_MEASURED);
	assert_true(s.judged.row.low < 60e-9 && 60e-9 < s.judged.row.high &&
		    s.judged.row.high < 65e-9);
	/* A tenth of the interval. */
	for (size_t i = 0; i < 3; i++)
		s.deltas[i].took_ns = s.deltas[i].uncertain_ns = SECOND / 20;
	assert_int_equal(evaluate(&s)->quality, UNCORE_SUSPECT);
	assert_string_equal(s.judged.row.reason,
			    "its counters were not read at one moment, but within 50 of 500 ms: "
			    "the value may be off by 23 %");
	end(&s);
}

/* Half a millisecond is much for a share of half a percent. */
static void a_small_share(void **state)
{
	struct stage s;

	(void)state;
	begin(&s, "(lookups - misses) / lookups");
	add_counter(&s, add_event(&s, "lookups"), stalled(1000000000, SECOND / 2, SECOND / 2000));
	add_counter(&s, add_event(&s, "misses"), stalled(995000000, SECOND / 2, SECOND / 2000));
	assert_int_equal(evaluate(&s)->quality, UNCORE_SUSPECT);
	assert_string_equal(s.judged.row.reason,
			    "its counters were not read at one moment, but within 0.50 of 500 ms: "
			    "the value may be off by 19 %");
	end(&s);
}

/* There is no share of a value of 0. */
static void a_difference_that_is_0(void **state)
{
	struct stage s;

	(void)state;
	begin(&s, "max(0, total - local) / seconds");
	add_counter(&s, add_event(&s, "total"), stalled(96000000, SECOND, SECOND / 10));
	add_counter(&s, add_event(&s, "local"), stalled(96000000, SECOND, SECOND / 10));
	assert_close(evaluate(&s)->value, 0);
	assert_int_equal(s.judged.row.quality, UNCORE_SUSPECT);
	/* All of `total` in nine tenths of the time, or in eleven, of `local`. */
	assert_true(s.judged.row.high > 9e6 && s.judged.row.high < 30e6);
	assert_null(strstr(s.judged.row.reason, "%"));
	assert_non_null(strstr(s.judged.row.reason, "the value may be up to "));
	end(&s);
}

/* A block that is frozen for reading: only the time is uncertain. */
static void a_ratio_of_one_moment(void **state)
{
	struct stage s;

	(void)state;
	begin(&s, "bytes / cycles");
	add_counter(&s, add_event(&s, "bytes"), stalled(96000000, SECOND, SECOND / 20));
	add_counter(&s, add_event(&s, "cycles"), stalled(1000000, SECOND, SECOND / 20));
	s.deltas[0].took_ns = s.deltas[1].took_ns = 1;
	assert_close(evaluate(&s)->value, 96);
	assert_true(isnan(s.judged.row.low) && isnan(s.judged.row.high));
	end(&s);
	begin(&s, "bytes / seconds");
	add_counter(&s, add_event(&s, "bytes"), stalled(96000000, SECOND, SECOND / 20));
	s.deltas[0].took_ns = 1;
	assert_close(evaluate(&s)->low, 96e6 * 0.95);
	assert_close(s.judged.row.high, 96e6 / 0.95);
	end(&s);
}

static void short_reads_leave_no_bounds(void **state)
{
	struct stage s;

	(void)state;
	begin(&s, "a / b");
	add_counter(&s, add_event(&s, "a"), stalled(1000000, SECOND, 20000));
	add_counter(&s, add_event(&s, "b"), stalled(1000000, SECOND, 20000));
	assert_close(evaluate(&s)->value, 1);
	assert_true(isnan(s.judged.row.low) && isnan(s.judged.row.high));
	end(&s);
}

/* Steady traffic of random rates; each counter, and the time, is read at a random moment of the first
 * reading and of the last one. */
static void the_truth_is_within_the_bounds(void **state)
{
	static const char *const formulas[] = {
		"a / seconds",
		"(a + b + c) * 64 / seconds",
		"a / b",
		"(a + b) / (a + b + c)",
		"1 - a / (a + b)",
		"a / b / (c / seconds)",
		"(a - b) / seconds",
		"min(a / b, c / seconds)",
	};
	size_t bounded = 0;

	(void)state;
	for (size_t i = 0; i < 8000; i++) {
		const uint64_t ns = 1000000 + (uint64_t)(uniform() * 1e9);
		const uint64_t took_ns = (uint64_t)(uniform() * uniform() * 0.1 * (double)ns);
		struct unc_formula_input in[4];
		struct stage s;
		double truth;

		begin(&s, formulas[i % COUNT(formulas)]);
		for (size_t k = 0; k < s.metric.formula->names.count; k++) {
			const double rate = 1e9 + uniform() * 1e10;
			const double off = (uniform() - uniform()) * (double)took_ns;
			const uint64_t enabled =
				ns + (uint64_t)(uniform() * (double)took_ns) - took_ns / 2;

			in[k] = (struct unc_formula_input){
				.value = rate * (double)ns / 1e9, .sources = 1, .known = true};
			add_counter(&s, add_event(&s, s.metric.formula->names.items[k]),
				    stalled((uint64_t)(rate * ((double)ns + off) / 1e9),
					    k ? s.deltas[0].enabled_ns : enabled, 2 * took_ns));
		}
		assert_true(unc_formula_eval(s.metric.formula, in, (double)ns / 1e9, &truth, NULL));
		evaluate(&s);
		if (isfinite(s.judged.row.low)) {
			bounded++;
			if (!(s.judged.row.low <= truth * (1 + 1e-6) &&
			      truth * (1 - 1e-6) <= s.judged.row.high))
				fail_msg("%s: %g is not within %g and %g",
					 formulas[i % COUNT(formulas)], truth, s.judged.row.low,
					 s.judged.row.high);
		} else {
			assert_true(fabs(s.judged.row.value - truth) <= 0.002 * fabs(truth));
		}
		end(&s);
	}
	assert_true(bounded > 7000);
}

/* What a GPU writes is what it sends, less its read requests: two large counts, read 0.5 ms one
 * after the other. Of a link that is idle in this direction the small rest is as good as the rest of
 * a busy one. */
static void a_small_difference_of_large_counts(void **state)
{
	struct stage s;

	(void)state;
	begin(&s, "(sent - requests) / sizes");
	add_counter(&s, add_event(&s, "sent"), stalled(5001000000, SECOND, SECOND / 2000));
	add_counter(&s, add_event(&s, "requests"), stalled(5000000000, SECOND, SECOND / 2000));
	add_counter(&s, add_event(&s, "sizes"), stalled(1, SECOND, SECOND / 2000));
	for (size_t i = 0; i < 3; i++)
		s.deltas[i].uncertain_ns = 0;
	assert_close(evaluate(&s)->value, 1e6);
	assert_true(s.judged.row.low < 0 && s.judged.row.high > 3e6);
	assert_int_equal(s.judged.row.quality, UNCORE_SUSPECT);
	s.planned.ceiling = 63e9;
	assert_int_equal(evaluate(&s)->quality, UNCORE_MEASURED);
	assert_true(s.judged.row.low < 0 && s.judged.row.high > 3e6);
	s.planned.ceiling = 63e6;
	assert_int_equal(evaluate(&s)->quality, UNCORE_SUSPECT);
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hit_ratio_of_a_stalled_reader),
		cmocka_unit_test(a_latency_of_a_stalled_reader),
		cmocka_unit_test(a_small_share),
		cmocka_unit_test(a_ratio_of_one_moment),
		cmocka_unit_test(a_difference_that_is_0),
		cmocka_unit_test(short_reads_leave_no_bounds),
		cmocka_unit_test(a_small_difference_of_large_counts),
		cmocka_unit_test(the_truth_is_within_the_bounds),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
