/* SPDX-License-Identifier: MIT */
/*
 * The built-in data files: complete, and right. The configuration words and formulas expected here
 * were written from the drivers' event tables and the vendors' documents, not from the data files:
 * bits 0-7 are the event and 8-15 the unit mask of an Intel PMU.
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

/* ---- every family ----------------------------------------------------------------------------- */

static bool is_filled(const char *text)
{
	return text && strlen(text) >= 3;
}

static void everything_has_title_unit_and_evidence(void **state)
{
	static const char *const models[] = {"unknown",  "intel/6/85", "intel/6/143", "intel/6/173",
					     "amd/25/1", "amd/25/17",  "amd/26/2"};
	static const char units[] = " B/s Hz s ratio 1/s 1/cycle W J B ";
	static const struct unc_names no_dirs;

	(void)state;
	for (size_t i = 0; i < COUNT(models); i++) {
		struct unc_catalogue c;

		assert_int_equal(unc_catalogue_load(&c, &no_dirs, models[i], NULL), 0);
		for (size_t f = 0; f < c.family_count; f++) {
			const struct unc_family *family = c.families[f];

			assert_true(is_filled(family->title) && is_filled(family->instance));
			assert_true(family->event_count && family->metric_count);
			for (size_t k = 0; k < family->event_count; k++)
				assert_true(is_filled(family->events[k].title) &&
					    is_filled(family->events[k].evidence));
			for (size_t k = 0; k < family->metric_count; k++) {
				const struct uncore_metric *m = &family->metrics[k];
				char unit[32];

				assert_true(is_filled(m->title) && is_filled(m->evidence));
				snprintf(unit, sizeof(unit), " %s ", m->unit);
				assert_contains(units, unit);
			}
		}
		unc_catalogue_finish(&c);
	}
}

/* An event that no metric uses is a leftover. */
static void every_event_is_used(void **state)
{
	static const struct unc_names no_dirs;
	static const char *const models[] = {"intel/6/62",  "intel/6/63",  "intel/6/85",
					     "intel/6/106", "intel/6/173", "amd/25/1",
					     "amd/25/17",   "amd/26/2"};
	struct unc_catalogue loaded[COUNT(models)];

	(void)state;
	for (size_t i = 0; i < COUNT(models); i++)
		assert_int_equal(unc_catalogue_load(&loaded[i], &no_dirs, models[i], NULL), 0);
	for (size_t f = 0; f < loaded[0].family_count; f++)
		for (size_t e = 0; e < loaded[0].families[f]->event_count; e++) {
			bool used = false;

			for (size_t i = 0; i < COUNT(models); i++) {
				const struct unc_family *family = loaded[i].families[f];

				for (size_t k = 0; k < family->metric_count; k++)
					for (size_t n = 0;
					     family->metrics[k].formula &&
					     n < unc_formula_name_count(family->metrics[k].formula);
					     n++)
						used |= family->metrics[k].events[n] ==
							&family->events[e];
			}
			if (!used)
				fail_msg("%s", loaded[0].families[f]->events[e].name);
		}
	for (size_t i = 0; i < COUNT(models); i++)
		unc_catalogue_finish(&loaded[i]);
}

/* ---- Intel memory controllers ----------------------------------------------------------------- */

#define BANDWIDTHS(rd, wr)                                                             \
	{"memory.read.bandwidth", "cas_rd * 64 / seconds", {{"cas_rd", rd}}},          \
		{"memory.write.bandwidth", "cas_wr * 64 / seconds", {{"cas_wr", wr}}}, \
	{                                                                              \
		"memory.bandwidth", "(cas_rd + cas_wr) * 64 / seconds",                \
		{                                                                      \
			{"cas_rd", rd},                                                \
			{                                                              \
				"cas_wr", wr                                           \
			}                                                              \
		}                                                                      \
	}

#define UTILIZATION(rd, wr, clk)                                      \
	{                                                             \
		"memory.utilization", "(cas_rd + cas_wr) * 4 / dclk", \
		{                                                     \
			{"cas_rd", rd}, {"cas_wr", wr},               \
			{                                             \
				"dclk", clk                           \
			}                                             \
		}                                                     \
	}

#define CLOCK(clk)                                                               \
	{                                                                        \
		"memory.clock.frequency", "dclk / source_count(dclk) / seconds", \
		{                                                                \
			{                                                        \
				"dclk", clk                                      \
			}                                                        \
		}                                                                \
	}

/* Sandy Bridge and Ivy Bridge: the clock is the fixed counter, 0xff. */
static const struct expected ivt[] = {BANDWIDTHS(0x304, 0xc04), UTILIZATION(0x304, 0xc04, 0xff),
				      CLOCK(0xff)};

/* Haswell and Broadwell. */
static const struct expected hsx[] = {BANDWIDTHS(0x304, 0xc04), UTILIZATION(0x304, 0xc04, 0x00),
				      CLOCK(0x00)};

/* Skylake and Cascade Lake: occupancy 0x80 and inserts 0x10 of the read queue. */
static const struct expected skx[] = {
	BANDWIDTHS(0x304, 0xc04),
	UTILIZATION(0x304, 0xc04, 0x00),
	CLOCK(0x00),
	{"memory.read.queue.latency",
	 "rpq_occupancy / rpq_inserts * source_count(dclk) * seconds / dclk",
	 {{"rpq_occupancy", 0x80}, {"rpq_inserts", 0x10}, {"dclk", 0x00}}},
};

/* Snow Ridge and Ice Lake: masks of two pseudo-channels, 0x0f and 0x30. */
static const struct expected icx[] = {BANDWIDTHS(0xf04, 0x3004), UTILIZATION(0xf04, 0x3004, 0x00),
				      CLOCK(0x00)};

/* Sapphire and Emerald Rapids: event 5, masks 0xcf and 0xf0; DCLK is event 1 with mask 1. */
static const struct expected spr[] = {BANDWIDTHS(0xcf05, 0xf005),
				      UTILIZATION(0xcf05, 0xf005, 0x101), CLOCK(0x101)};

/* Granite Rapids and its kin: two schedulers, events 5 and 6. */
static const struct expected gnr[] = {
	{"memory.read.bandwidth",
	 "(cas_rd + cas_rd_sch1) * 64 / seconds",
	 {{"cas_rd", 0xcf05}, {"cas_rd_sch1", 0xcf06}}},
	{"memory.write.bandwidth",
	 "(cas_wr + cas_wr_sch1) * 64 / seconds",
	 {{"cas_wr", 0xf005}, {"cas_wr_sch1", 0xf006}}},
	{"memory.bandwidth",
	 "(cas_rd + cas_rd_sch1 + cas_wr + cas_wr_sch1) * 64 / seconds",
	 {{"cas_rd", 0xcf05},
	  {"cas_rd_sch1", 0xcf06},
	  {"cas_wr", 0xf005},
	  {"cas_wr_sch1", 0xf006}}},
	{"memory.utilization",
	 "(cas_all + cas_all_sch1) * 4 / dclk",
	 {{"cas_all", 0xff05}, {"cas_all_sch1", 0xff06}, {"dclk", 0x101}}},
	CLOCK(0x101),
};

static void memory_controllers_of_real_machines(void **state)
{
	static const struct {
		const char *machine;
		size_t pmus;
		const struct expected *expected;
		size_t count;
	} machines[] = {
		{"intel-ivt-1socket", 4, ivt, COUNT(ivt)},
		{"intel-skx-1socket", 6, skx, COUNT(skx)},
		{"intel-icx-1socket", 12, icx, COUNT(icx)},
		{"intel-spr-1socket", 8, spr, COUNT(spr)},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(machines); i++) {
		struct uncore *u = scan_fixture(machines[i].machine);

		assert_family(u, "intel-imc", machines[i].pmus, machines[i].expected,
			      machines[i].count);
		uncore_free(u);
	}
}

/* Models without a tree of their own: a controller as the driver would register it. */
static void memory_controllers_of_other_models(void **state)
{
	static const struct {
		int model;
		const struct expected *expected;
		size_t count;
	} models[] = {
		{45, ivt, COUNT(ivt)},  /* Sandy Bridge-EP */
		{63, hsx, COUNT(hsx)},  /* Haswell */
		{79, hsx, COUNT(hsx)},  /* Broadwell */
		{86, hsx, COUNT(hsx)},  /* Broadwell-D */
		{134, icx, COUNT(icx)}, /* Snow Ridge */
		{106, icx, COUNT(icx)}, /* Ice Lake */
		{108, icx, COUNT(icx)}, /* Ice Lake-D */
		{207, spr, COUNT(spr)}, /* Emerald Rapids */
		{173, gnr, COUNT(gnr)}, /* Granite Rapids */
		{174, gnr, COUNT(gnr)}, /* Granite Rapids-D */
		{175, gnr, COUNT(gnr)}, /* Sierra Forest */
		{182, gnr, COUNT(gnr)}, /* Grand Ridge */
		{221, gnr, COUNT(gnr)}, /* Clearwater Forest */
	};

	(void)state;
	for (size_t i = 0; i < COUNT(models); i++) {
		struct uncore *u;
		struct tree t;

		tree_make(&t);
		machine_cpuinfo(&t, models[i].model, "");
		machine_cpus(&t, (const int[]){0}, 1);
		machine_pmu(&t, "uncore_imc_0", "17\n", "0\n");
		u = scan(t.dir);
		assert_string_equal(uncore_pmu_family(uncore_pmu_at(u, 0)), "intel-imc");
		assert_family(u, "intel-imc", 1, models[i].expected, models[i].count);
		uncore_free(u);
		tree_remove(&t);
	}
}

/* What the kernel calls the same thing must encode the same. DCLK of SPR is not among its aliases:
 * its `clockticks` is another clock, HCLK. */
static void the_kernels_aliases_agree(void **state)
{
	static const struct {
		const char *machine, *metric, *alias;
		size_t event;
	} cases[] = {
		{"intel-ivt-1socket", "memory.bandwidth", "cas_count_read", 0},
		{"intel-ivt-1socket", "memory.bandwidth", "cas_count_write", 1},
		{"intel-ivt-1socket", "memory.clock.frequency", "clockticks", 0},
		{"intel-skx-1socket", "memory.bandwidth", "cas_count_read", 0},
		{"intel-skx-1socket", "memory.bandwidth", "cas_count_write", 1},
		{"intel-skx-1socket", "memory.clock.frequency", "clockticks", 0},
		{"intel-icx-1socket", "memory.bandwidth", "cas_count_read", 0},
		{"intel-icx-1socket", "memory.bandwidth", "cas_count_write", 1},
		{"intel-icx-1socket", "memory.clock.frequency", "clockticks", 0},
		{"intel-spr-1socket", "memory.bandwidth", "cas_count_read", 0},
		{"intel-spr-1socket", "memory.bandwidth", "cas_count_write", 1},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct uncore *u = scan_fixture(cases[i].machine);
		struct uncore_metric_event events[EVENTS];
		struct unc_encoding kernel;
		size_t count = 0;

		assert_int_equal(uncore_metric_events(u, find(u, "intel-imc", cases[i].metric),
						      events, EVENTS, &count),
				 0);
		assert_int_equal(unc_pmu_encode(events[cases[i].event].pmu, cases[i].alias, &kernel,
						NULL),
				 0);
		assert_memory_equal(kernel.config.word, events[cases[i].event].config,
				    sizeof(kernel.config.word));
		uncore_free(u);
	}
}

static void what_a_model_lacks_is_told(void **state)
{
	struct uncore *u = scan_fixture("intel-icx-1socket");
	const struct uncore_metric *m = find(u, "intel-imc", "memory.read.queue.latency");
	struct uncore_metric_event events[EVENTS];
	size_t count = 99;

	(void)state;
	assert_string_equal(uncore_metric_missing(m), "no formula for this CPU model");
	assert_string_equal(uncore_metric_formula(m), "");
	assert_int_equal(uncore_metric_events(u, m, events, EVENTS, &count), -ENODEV);
	assert_int_equal(count, 99);
	m = find(u, "nvidia-t410-ucf", "memory.bandwidth");
	assert_string_equal(uncore_metric_missing(m),
			    "no PMU named nvidia_ucf_pmu_{socket} on this machine");
	assert_int_equal(uncore_metric_events(u, m, events, EVENTS, &count), -ENODEV);
	uncore_free(u);
	/* The memory controllers of a CPU that nobody knows yet. */
	u = scan_fixture("amd-zen4-1socket");
	m = find(u, "intel-imc", "memory.bandwidth");
	assert_contains(uncore_metric_missing(m), "not for this CPU model");
	uncore_free(u);
}

/* ---- what every x86 kernel counts ------------------------------------------------------------- */

static void model_specific_registers(void **state)
{
	static const struct expected msr[] = {
		{"clock.frequency", "tsc / source_count(tsc) / seconds", {{"tsc", 0}}},
		{"interrupt.smi.rate", "smi / source_count(smi) / seconds", {{"smi", 4}}},
	};
	struct uncore *u = scan_fixture("intel-skx-1socket");
	const struct uncore_metric *smi;

	(void)state;
	assert_family(u, "msr", 1, msr, 2);
	uncore_free(u);
	/* The kernel offers no `smi` on AMD, so there is none. */
	u = scan_fixture("amd-zen4-1socket");
	assert_family(u, "msr", 1, msr, 1);
	smi = find(u, "msr", "interrupt.smi.rate");
	assert_contains(uncore_metric_missing(smi), "msr does not have the event 'smi'");
	uncore_free(u);
}

static void put_energy(const struct tree *t, const char *alias, const char *event)
{
	char path[64];

	snprintf(path, sizeof(path), "events/%s", alias);
	tree_pmu(t, "power", path, event);
	snprintf(path, sizeof(path), "events/%s.scale", alias);
	tree_pmu(t, "power", path, "2.3283064365386962890625e-10\n");
	snprintf(path, sizeof(path), "events/%s.unit", alias);
	tree_pmu(t, "power", path, "Joules\n");
}

/* A meaning of its own per model: only what the kernel offers as alias, with its scale. */
static void energy_is_what_the_kernel_offers(void **state)
{
	static const struct expected power[] = {
		{"power.package", "energy_pkg / seconds", {{"energy_pkg", 2}}},
		{"power.memory", "energy_ram / seconds", {{"energy_ram", 3}}},
	};
	struct uncore *u;
	struct tree t;

	(void)state;
	tree_make(&t);
	machine_cpuinfo(&t, 85, "");
	machine_cpus(&t, (const int[]){0}, 1);
	tree_pmu(&t, "power", "type", "9\n");
	tree_pmu(&t, "power", "cpumask", "0\n");
	tree_pmu(&t, "power", "format/event", "config:0-7\n");
	put_energy(&t, "energy-pkg", "event=0x02\n");
	put_energy(&t, "energy-ram", "event=0x03\n");
	u = scan(t.dir);
	assert_family(u, "power", 1, power, COUNT(power));
	assert_contains(uncore_metric_missing(find(u, "power", "power.cores")),
			"power does not have the event 'energy-cores'");
	uncore_free(u);
	tree_remove(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_has_title_unit_and_evidence),
		cmocka_unit_test(every_event_is_used),
		cmocka_unit_test(memory_controllers_of_real_machines),
		cmocka_unit_test(memory_controllers_of_other_models),
		cmocka_unit_test(the_kernels_aliases_agree),
		cmocka_unit_test(what_a_model_lacks_is_told),
		cmocka_unit_test(model_specific_registers),
		cmocka_unit_test(energy_is_what_the_kernel_offers),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
