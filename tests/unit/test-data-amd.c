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

/* enallcores, enallslices, sliceid=3 and both threads. */
#define EVERYWHERE UINT64_C(0x0303c00000000000)

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

static void put_l3(const struct tree *t, int family)
{
	tree_pmu(t, "amd_l3", "type", "11\n");
	tree_pmu(t, "amd_l3", "cpumask", "0-1\n");
	tree_pmu(t, "amd_l3", "format/event", "config:0-7\n");
	tree_pmu(t, "amd_l3", "format/umask", "config:8-15\n");
	if (family < 25) {
		tree_pmu(t, "amd_l3", "format/slicemask", "config:48-51\n");
		tree_pmu(t, "amd_l3", "format/threadmask", "config:56-63\n");
		return;
	}
	tree_pmu(t, "amd_l3", "format/coreid", "config:42-44\n");
	tree_pmu(t, "amd_l3", "format/enallslices", "config:46\n");
	tree_pmu(t, "amd_l3", "format/enallcores", "config:47\n");
	tree_pmu(t, "amd_l3", "format/sliceid", "config:48-50\n");
	tree_pmu(t, "amd_l3", "format/threadmask", "config:56-57\n");
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

/* ---- L3 caches -------------------------------------------------------------------------------- */

#define HIT_RATIO                                                    \
	{                                                            \
		"cache.hit.ratio", "(accesses - misses) / accesses", \
		{                                                    \
			{"accesses", 0xff04},                        \
			{                                            \
				"misses", 0x104                      \
			}                                            \
		}                                                    \
	}

/* Without a latency that is certain to be in a unit of time. */
static const struct expected l3_old[] = {HIT_RATIO};

static const struct expected l3_new[] = {
	HIT_RATIO,
	{"cache.miss.latency",
	 "latency_all * 10e-9 / requests_all",
	 {{"latency_all", EVERYWHERE | 0x3fac}, {"requests_all", EVERYWHERE | 0x3fad}}},
	{"memory.read.latency",
	 "(latency_dram_near + latency_dram_far) * 10e-9 / (requests_dram_near + "
	 "requests_dram_far)",
	 {{"latency_dram_near", EVERYWHERE | 0x1ac},
	  {"latency_dram_far", EVERYWHERE | 0x2ac},
	  {"requests_dram_near", EVERYWHERE | 0x1ad},
	  {"requests_dram_far", EVERYWHERE | 0x2ad}}},
	{"memory.local.read.latency",
	 "latency_dram_near * 10e-9 / requests_dram_near",
	 {{"latency_dram_near", EVERYWHERE | 0x1ac}, {"requests_dram_near", EVERYWHERE | 0x1ad}}},
	{"memory.remote.read.latency",
	 "latency_dram_far * 10e-9 / requests_dram_far",
	 {{"latency_dram_far", EVERYWHERE | 0x2ac}, {"requests_dram_far", EVERYWHERE | 0x2ad}}},
};

static void caches(void **state)
{
	static const struct {
		int family, model;
		bool has_latency;
	} cpus[] = {
		{23, 1, false},  {23, 49, false}, {25, 1, false}, {25, 17, false}, {25, 160, false},
		{26, 36, false}, {26, 2, true},   {26, 17, true}, {26, 68, true},  {26, 80, true},
	};
	struct uncore *u = scan_fixture("amd-zen4-1socket");

	(void)state;
	assert_family(u, "amd-l3", 1, l3_old, COUNT(l3_old));
	uncore_free(u);
	for (size_t i = 0; i < COUNT(cpus); i++) {
		struct tree t;

		tree_make(&t);
		put_cpu(&t, cpus[i].family, cpus[i].model);
		put_l3(&t, cpus[i].family);
		u = scan(t.dir);
		if (cpus[i].has_latency)
			assert_family(u, "amd-l3", 1, l3_new, COUNT(l3_new));
		else
			assert_family(u, "amd-l3", 1, l3_old, COUNT(l3_old));
		uncore_free(u);
		tree_remove(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_controllers),
		cmocka_unit_test(controllers_of_other_memory_have_no_metrics),
		cmocka_unit_test(caches),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
