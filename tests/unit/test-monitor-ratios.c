/* SPDX-License-Identifier: MIT */
/* Ratios of PMUs that count several ranges each with one clock for all, where some are missing: only
 * what was counted above and below the line enters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "helpers.h"
#include "uncore.h"

struct stage {
	struct uncore *u;
	struct uncore_monitor *m;
	struct uncore_sample *s;
	struct tree tree;
};

#define ok(s, call) ok_at(s, call, __FILE__, __LINE__)

static void ok_at(const struct stage *s, int r, const char *file, int line)
{
	if (r == 0)
		return;
	print_error("%d: %s\n", r, uncore_error(s->u));
	_fail(file, line);
}

/* The recorded Tegra410 with these rates: six PMUs for what CPUs ask of PCIe, here restricted to two
 * ranges. What has no rate cannot be opened. */
static const struct uncore_row *play(struct stage *s, enum uncore_level level, const char *metric,
				     const char *rates)
{
	char path[1100], text[4096];

	tree_make(&s->tree);
	assert_int_equal(uncore_new(&s->u), 0);
	snprintf(text, sizeof(text), "sim: test\nmachine: t410\nrates:\n%s", rates);
	tree_put(&s->tree, "sim.yaml", text);
	snprintf(path, sizeof(path), "sim:%s/sim.yaml,step=1s", s->tree.dir);
	ok(s, uncore_set_source(s->u, path));
	tree_source("tests/families", path, sizeof(path));
	ok(s, uncore_add_data(s->u, path));
	ok(s, uncore_scan(s->u));
	ok(s, uncore_monitor_new(&s->m, s->u));
	ok(s, uncore_monitor_set_level(s->m, level));
	ok(s, uncore_sample_new(&s->s));
	ok(s, uncore_monitor_set_filter(s->m, "address", "0/4K,0x1000/4K"));
	ok(s, uncore_monitor_add_metrics(s->m, metric));
	ok(s, uncore_monitor_open(s->m));
	ok(s, uncore_monitor_start(s->m));
	ok(s, uncore_monitor_read(s->m, s->s));
	return uncore_sample_row(s->s, 0);
}

static void end(struct stage *s)
{
	uncore_sample_free(s->s);
	uncore_monitor_free(s->m);
	uncore_free(s->u);
	tree_remove(&s->tree);
}

#define REQUESTS "pcie.outbound.read.requests.per.cycle"
#define PMU(rc) "nvidia_pcie_tgt_pmu_0_rc_" rc
#define RANGE(base) ",dst_addr_en=1,dst_addr_base=" base ",dst_addr_mask=0xfffffffffffff000"
#define RATE(pmu, event, rate) "  - {pmu: '" pmu "', event: '" event "', constant: " rate "}\n"
#define CLOCKS RATE(PMU("*"), "cycles", "1e9")
#define FIRST(rc, rate) RATE(PMU(rc), "rd_req" RANGE("0"), rate)
#define SECOND(rc, rate) RATE(PMU(rc), "rd_req" RANGE("0x1000"), rate)

/* 0.05e9 and 0.15e9 requests in 1e9 cycles are 0.2 a cycle. The clocks of the five other PMUs count,
 * but not what they are to divide: over them all it would be 0.0333. */
static void clocks_of_pmus_without_requests(void **state)
{
	const struct uncore_row *row;
	struct stage s;

	(void)state;
	for (int level = UNCORE_LEVEL_MACHINE; level <= UNCORE_LEVEL_SOCKET; level++) {
		row = play(&s, (enum uncore_level)level, REQUESTS,
			   CLOCKS FIRST("4", "0.05e9") SECOND("4", "0.15e9"));
		assert_close(row->value, 0.2);
		assert_int_equal(row->quality, UNCORE_PARTIAL);
		assert_contains(row->reason, "10 of 12 missing: ");
		assert_contains(row->reason, "has no rate for nvidia_pcie_tgt_pmu_0_rc_0/rd_req,");
		end(&s);
	}
}

/* 0.9 a cycle on one PMU. Of the other one of two ranges is missing: its clock is not the requests'. */
static void pmus_that_count_a_part(void **state)
{
	static const char *const rates[] = {
		CLOCKS FIRST("4", "0.3e9") SECOND("4", "0.6e9") FIRST("5", "0.1e9"),
		CLOCKS FIRST("4", "0.3e9") SECOND("4", "0.6e9") SECOND("5", "0.1e9"),
	};
	const struct uncore_row *row;
	struct stage s;

	(void)state;
	for (size_t i = 0; i < COUNT(rates); i++) {
		row = play(&s, UNCORE_LEVEL_MACHINE, REQUESTS, rates[i]);
		assert_close(row->value, 0.9);
		assert_int_equal(row->quality, UNCORE_PARTIAL);
		assert_contains(row->reason, "10 of 12 missing: ");
		end(&s);
	}
}

/* And the other way round: requests of a PMU whose clock does not count. */
static void requests_of_pmus_without_clock(void **state)
{
	const struct uncore_row *row;
	struct stage s;

	(void)state;
	row = play(&s, UNCORE_LEVEL_MACHINE, REQUESTS,
		   RATE(PMU("4"), "cycles", "1e9") FIRST("*", "0.05e9") SECOND("*", "0.15e9"));
	assert_close(row->value, 0.2);
	assert_int_equal(row->quality, UNCORE_PARTIAL);
	assert_contains(row->reason, "has no rate for nvidia_pcie_tgt_pmu_0_rc_0/cycles/");
	end(&s);
}

/* One by one, only those that count all have a value. */
static void each_pmu_is_divided_by_its_own_clock(void **state)
{
	struct stage s;

	(void)state;
	play(&s, UNCORE_LEVEL_INSTANCE, REQUESTS,
	     CLOCKS FIRST("4", "0.05e9") SECOND("4", "0.15e9") FIRST("5", "0.1e9"));
	assert_int_equal(uncore_sample_count(s.s), 6);
	for (size_t i = 0; i < 6; i++) {
		const struct uncore_row *row = uncore_sample_row(s.s, i);

		if (strcmp(uncore_pmu_name(row->place->pmu), PMU("4")) == 0) {
			assert_close(row->value, 0.2);
			assert_int_equal(row->quality, UNCORE_MEASURED);
			continue;
		}
		assert_true(isnan(row->value));
		assert_int_equal(row->quality, UNCORE_UNAVAILABLE);
		assert_contains(row->reason, "has no rate for");
	}
	end(&s);
}

/* What divides by time alone takes what there is. */
static void a_sum_without_some_pmus_is_partial(void **state)
{
	const struct uncore_row *row;
	struct stage s;

	(void)state;
	row = play(&s, UNCORE_LEVEL_MACHINE, "pcie.outbound.read.bandwidth",
		   RATE(PMU("4"), "rd_bytes" RANGE("0"), "3e9")
			   RATE(PMU("5"), "rd_bytes" RANGE("0x1000"), "4e9"));
	assert_close(row->value, 7e9);
	assert_int_equal(row->quality, UNCORE_PARTIAL);
	assert_contains(row->reason, "10 of 12 missing: ");
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clocks_of_pmus_without_requests),
		cmocka_unit_test(pmus_that_count_a_part),
		cmocka_unit_test(requests_of_pmus_without_clock),
		cmocka_unit_test(each_pmu_is_divided_by_its_own_clock),
		cmocka_unit_test(a_sum_without_some_pmus_is_partial),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
