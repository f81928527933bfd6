/* SPDX-License-Identifier: MIT */
/*
 * The data files of AMD, right on each generation. Formats are those of the kernel's amd/uncore.c,
 * event codes and formulas those of its tables amdzen1 to amdzen6; none come from the data files.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data.h"

/* ---- machines --------------------------------------------------------------------------------- */

static void put_cpu(const struct tree *t, int family, int model)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: %d\nmodel\t\t: %d\n"
		 "model name\t: test\nflags\t\t: fpu msr\n\n",
		 family, model);
	tree_put(t, "proc/cpuinfo", text);
	machine_cpus(t, (const int[]){0, 0}, 2);
}

static void put_umc(const struct tree *t, const char *name)
{
	tree_pmu(t, name, "type", "12\n");
	tree_pmu(t, name, "cpumask", "0\n");
	tree_pmu(t, name, "format/event", "config:0-7\n");
	tree_pmu(t, name, "format/rdwrmask", "config:8-9\n");
}

/* ---- memory controllers ----------------------------------------------------------------------- */

static const struct expected umc[] = {
	{"memory.read.bandwidth", "cas_rd * 64 / seconds", {{"cas_rd", 0x10a}}},
	{"memory.write.bandwidth", "cas_wr * 64 / seconds", {{"cas_wr", 0x20a}}},
	{"memory.bandwidth",
	 "(cas_rd + cas_wr) * 64 / seconds",
	 {{"cas_rd", 0x10a}, {"cas_wr", 0x20a}}},
	{"memory.utilization",
	 "data_slot_clks / 2 / mem_clk",
	 {{"data_slot_clks", 0x14}, {"mem_clk", 0x00}}},
	{"memory.clock.frequency",
	 "mem_clk / source_count(mem_clk) / seconds",
	 {{"mem_clk", 0x00}}},
};

static void memory_controllers(void **state)
{
	static const int models[][2] = {{25, 17}, {25, 24}, {25, 97}, {25, 160}, {26, 2},
					{26, 8},  {26, 17}, {26, 68}, {26, 80},  {26, 87}};
	struct uncore *u = scan_fixture("amd-zen4-1socket");

	(void)state;
	assert_family(u, "amd-umc", 12, umc, COUNT(umc));
	uncore_free(u);
	for (size_t i = 0; i < COUNT(models); i++) {
		struct tree t;

		tree_make(&t);
		put_cpu(&t, models[i][0], models[i][1]);
		put_umc(&t, "amd_umc_0");
		put_umc(&t, "amd_umc_13");
		u = scan(t.dir);
		assert_family(u, "amd-umc", 2, umc, COUNT(umc));
		uncore_free(u);
		tree_remove(&t);
	}
}

/* LPDDR5 and HBM: not said how many bytes a command moves. */
static void controllers_of_other_memory_have_no_metrics(void **state)
{
	static const int models[][2] = {{25, 116}, {25, 144}, {26, 36}};

	(void)state;
	for (size_t i = 0; i < COUNT(models); i++) {
		struct uncore *u;
		struct tree t;

		tree_make(&t);
		put_cpu(&t, models[i][0], models[i][1]);
		put_umc(&t, "amd_umc_0");
		u = scan(t.dir);
		assert_contains(uncore_metric_missing(find(u, "amd-umc", "memory.read.bandwidth")),
				"not for this CPU model");
		uncore_free(u);
		tree_remove(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_controllers),
		cmocka_unit_test(controllers_of_other_memory_have_no_metrics),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
