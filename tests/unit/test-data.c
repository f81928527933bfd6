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

#include "base/data-file.h"
#include "data.h"

/* ---- every family ----------------------------------------------------------------------------- */

static bool is_filled(const char *text)
{
	return text && strlen(text) >= 3;
}

/* Metrics that others are compared with or divided by are in the catalogue. */
static void assert_known(const struct unc_catalogue *c, const char *name)
{
	bool known = strcmp(name, "memory.transfers") == 0;

	for (size_t i = 0; strchr(name, '.') && !known && i < c->metric_count; i++)
		known = strcmp(c->metrics[i]->name, name) == 0;
	if (strchr(name, '.') && !known)
		fail_msg("no metric is named %s", name);
}

static void everything_has_title_unit_and_evidence(void **state)
{
	static const char *const models[] = {"unknown",  "intel/6/85", "intel/6/143", "intel/6/173",
					     "amd/25/1", "amd/25/17",  "amd/26/2"};
	static const char units[] = " B/s Hz s ratio 1/s 1/cycle count W J °C B cycle ";

	(void)state;
	for (size_t i = 0; i < COUNT(models); i++) {
		struct unc_catalogue c = {.cpu_model = models[i], .kernel = ""};

		assert_int_equal(unc_catalogue_complete(&c, NULL), 0);
		assert_int_equal(c.family_count, unc_embedded_data_count);
		for (size_t f = 0; f < c.family_count; f++) {
			const struct unc_family *family = c.families[f];

			assert_true(is_filled(family->title) && is_filled(family->instance));
			assert_true((family->event_count && family->metric_count) ||
				    family->bug_count || family->register_count);
			for (size_t k = 0; k < family->event_count; k++)
				assert_true(is_filled(family->events[k].title) &&
					    is_filled(family->events[k].evidence));
			for (size_t k = 0; k < family->metric_count; k++) {
				const struct uncore_metric *m = &family->metrics[k];
				char unit[32];

				assert_true(is_filled(m->title) && is_filled(m->evidence));
				for (size_t n = 0; m->unless && n < m->unless->names.count; n++)
					assert_known(&c, m->unless->names.items[n]);
				if (m->over)
					assert_known(&c, m->over);
				for (size_t n = 0; m->formerly && n < c.metric_count; n++)
					assert_false(unc_has_word(m->formerly, c.metrics[n]->name));
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
	static const char *const models[] = {
		"intel/6/62", "intel/6/63",  "intel/6/79",  "intel/6/85",
		"intel/6/94", "intel/6/106", "intel/6/140", "intel/6/143",
		"intel/6/87", "intel/6/170", "intel/6/173", "intel/6/175",
		"intel/19/1", "amd/25/1",    "amd/25/17",   "amd/26/2",
	};
	struct unc_catalogue loaded[COUNT(models)];

	(void)state;
	for (size_t i = 0; i < COUNT(models); i++) {
		loaded[i] = (struct unc_catalogue){.cpu_model = models[i], .kernel = ""};
		assert_int_equal(unc_catalogue_complete(&loaded[i], NULL), 0);
	}
	for (size_t f = 0; f < loaded[0].family_count; f++)
		for (size_t e = 0; e < loaded[0].families[f]->event_count; e++) {
			bool used = false;

			for (size_t i = 0; i < COUNT(models); i++) {
				const struct unc_family *family = loaded[i].families[f];

				for (size_t k = 0; k < family->metric_count; k++)
					for (size_t n = 0;
					     family->metrics[k].formula &&
					     n < family->metrics[k].formula->names.count;
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
		const struct uncore_metric *m = find(u, "intel-imc", cases[i].metric);
		const struct uncore_metric_event *event = uncore_metric_event_at(m, cases[i].event);
		struct unc_encoding kernel;

		assert_non_null(event);
		assert_int_equal(unc_pmu_encode(event->pmu, cases[i].alias, &kernel, NULL), 0);
		assert_memory_equal(kernel.config.word, event->config, sizeof(kernel.config.word));
		uncore_free(u);
	}
}

static void metrics_that_a_model_lacks_have_a_reason(void **state)
{
	struct uncore *u = scan_fixture("intel-icx-1socket");
	const struct uncore_metric *m = find(u, "intel-imc", "dram.read.queue.latency");

	(void)state;
	assert_string_equal(uncore_metric_missing(m), "no formula for this CPU model");
	assert_string_equal(uncore_metric_formula(m), "");
	assert_int_equal(uncore_metric_event_count(m), 0);
	assert_null(uncore_metric_event_at(m, 0));
	m = find(u, "nvidia-t410-ucf", "memory.bandwidth");
	assert_string_equal(uncore_metric_missing(m),
			    "no PMU named nvidia_ucf_pmu_{socket} on this machine");
	assert_int_equal(uncore_metric_event_count(m), 0);
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
		{"clock.tsc.frequency", "tsc / source_count(tsc) / seconds", {{"tsc", 0}}},
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
static void energy_metrics_exist_only_for_events_of_the_driver(void **state)
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

static void metrics_of_this_machine_need_no_other_family(void **state)
{
	struct uncore *u = scan_fixture("intel-spr-1socket");
	size_t here = uncore_metric_count_here(u), all;

	(void)state;
	assert_false(u->catalogue.complete);
	all = uncore_metric_count(u);
	assert_true(u->catalogue.complete);
	assert_true(here > 100 && here < all);
	assert_int_equal(uncore_metric_count_here(u), here);
	for (size_t i = 0; i < all; i++)
		assert_true((i < here) == (uncore_metric_at(u, i)->family->pmu_count > 0));
	uncore_free(u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(metrics_of_this_machine_need_no_other_family),
		cmocka_unit_test(everything_has_title_unit_and_evidence),
		cmocka_unit_test(every_event_is_used),
		cmocka_unit_test(the_kernels_aliases_agree),
		cmocka_unit_test(metrics_that_a_model_lacks_have_a_reason),
		cmocka_unit_test(model_specific_registers),
		cmocka_unit_test(energy_metrics_exist_only_for_events_of_the_driver),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
