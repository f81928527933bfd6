/* SPDX-License-Identifier: MIT */
/* What a monitor and a machine refuse: with which errno, which sentence, and leaving nothing behind. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "toy.h"

/* The call gave this errno, and the sentence has `told`. */
static void assert_fails(const struct toy *t, int r, int err, const char *told)
{
	if (r != -err)
		fail_msg("%d, not %d: %s", r, -err, uncore_error(t->u));
	assert_contains(uncore_error(t->u), told);
}

/* Nothing was added to the monitor. */
static void assert_empty(const struct toy *t)
{
	assert_fails(t, uncore_monitor_open(t->m), EINVAL,
		     "nothing to count: no event and no metric was added");
	assert_int_equal(uncore_monitor_counter_count(t->m), 0);
	assert_null(uncore_monitor_counter_at(t->m, 0));
}

/* ---- metrics ---------------------------------------------------------------------------------- */

static void a_metric_that_exists_nowhere(void **state)
{
	struct toy t;

	(void)state;
	toy_play(&t, UNCORE_LEVEL_MACHINE);
	assert_fails(&t, uncore_monitor_add_metrics(t.m, "memory.rread.bandwidth"), ENOENT,
		     "no metric of the catalogue is named 'memory.rread.bandwidth' (did you mean "
		     "memory.read.bandwidth?)");
	assert_fails(&t, uncore_monitor_add_metrics(t.m, "intel-imc/memory.raed.bandwidth"), ENOENT,
		     "(did you mean memory.read.bandwidth?)");
	assert_fails(&t, uncore_monitor_add_metrics(t.m, "intel-imc/power.*"), ENOENT,
		     "no metric of the catalogue is named 'intel-imc/power.*'");
	assert_fails(&t, uncore_monitor_add_metrics(t.m, ""), ENOENT, "no metric");
	assert_empty(&t);
	toy_end(&t);
}

static void a_metric_that_cannot_be_counted_here(void **state)
{
	struct toy t;

	(void)state;
	toy_play(&t, UNCORE_LEVEL_MACHINE);
	assert_fails(&t, uncore_monitor_add_metrics(t.m, "cache.refills"), ENODEV,
		     "cache.refills: nothing on this machine can count it: the catalogue has it "
		     "for other PMUs than those of this machine");
	assert_fails(&t, uncore_monitor_add_metrics(t.m, "power.package"), ENODEV,
		     "for other PMUs than those of this machine");
	/* What can be counted is added, the rest is passed over. */
	toy_ok(&t, uncore_monitor_add_metrics(t.m, "*bandwidth"));
	toy_ok(&t, uncore_monitor_plan(t.m));
	assert_int_equal(uncore_monitor_counter_count(t.m), 12); /* 3 of them are clocks */
	toy_end(&t);
}

/* The PMU is here, in a guest even; only this event is not. That it is a guest explains nothing. */
static void a_guest_with_the_pmu_but_not_the_event(void **state)
{
	struct toy t;
	struct uncore *u;

	(void)state;
	toy_make(&t, TOY_RATES);
	machine_cpuinfo(&t.tree, 106, "hypervisor");
	toy_begin(&t, UNCORE_LEVEL_MACHINE);
	u = t.u;
	assert_non_null(uncore_hypervisor(u));
	assert_fails(&t, uncore_monitor_add_metrics(t.m, "dram.read.queue.latency"), ENODEV,
		     "no formula for this CPU model");
	assert_fails(&t, uncore_monitor_add_metrics(t.m, "power.package"), ENODEV,
		     "this machine is a guest of an unknown hypervisor");
	assert_empty(&t);
	toy_end(&t);
}

/* ---- events ----------------------------------------------------------------------------------- */

static void impossible_events(void **state)
{
	static const struct {
		const char *text;
		int err;
		const char *told;
	} cases[] = {
		{"toy/ticks", EINVAL, "toy/ticks"},
		{"", EINVAL, ""},
		{"toy/tick/", EINVAL, "(did you mean ticks?)"},
		{"toy/event=0x100/", EINVAL, "too wide for the term 'event'"},
		{"uncore_icm_0/event=1/", ENODEV,
		 "this machine has no PMU named 'uncore_icm_0' (did you mean uncore_imc_0"},
		{"nonsense_pmu/event=1/", ENODEV, "this machine has no PMU named 'nonsense_pmu'"},
		{"nonsense_event", ENODEV, "no PMU of this machine has an event of this name"},
		{"idle/data/", ENODEV, "idle has no CPU to be counted from: its cpumask is empty"},
		{"uncore_imc_1/event=1,cpu=0/", EINVAL, "uncore_imc_1 is not counted from CPU 0"},
		{"toy/ticks/,toy/tick/", EINVAL, "(did you mean ticks?)"},
		{"{toy/ticks/,toy/shared/},odd/nothing/", EINVAL, "odd_0/nothing/"},
		{"toy/ticks/,uncore_imc_1/event=1,cpu=0/", EINVAL, "not counted from CPU 0"},
	};
	struct toy t;

	(void)state;
	toy_play(&t, UNCORE_LEVEL_MACHINE);
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_fails(&t, uncore_monitor_add_events(t.m, cases[i].text), cases[i].err,
			     cases[i].told);
	assert_empty(&t); /* not even the good ones of a list */
	toy_end(&t);
}

/* Terms that only some PMUs of a glob have: those are counted. */
static void terms_that_fit_some_of_the_pmus(void **state)
{
	const struct uncore_counter *c;
	struct toy t;

	(void)state;
	toy_play(&t, UNCORE_LEVEL_MACHINE);
	toy_ok(&t, uncore_monitor_add_events(t.m, "odd/only_here/"));
	toy_ok(&t, uncore_monitor_plan(t.m));
	assert_int_equal(uncore_monitor_counter_count(t.m), 1);
	c = uncore_monitor_counter_at(t.m, 0);
	assert_string_equal(uncore_pmu_name(c->pmu), "odd_1");
	toy_end(&t);
}

/* A `cpu=` picks the PMUs that are counted from that CPU, and says nothing of the others. */
static void a_cpu_that_some_of_the_pmus_are_counted_from(void **state)
{
	const struct uncore_counter *c;
	struct toy t;

	(void)state;
	toy_play(&t, UNCORE_LEVEL_MACHINE);
	assert_fails(&t, uncore_monitor_add_events(t.m, "uncore_imc/event=1,cpu=3/"), EINVAL,
		     "uncore_imc_0 is not counted from CPU 3");
	toy_ok(&t, uncore_monitor_add_events(t.m, "uncore_imc/event=1,cpu=0/"));
	toy_ok(&t, uncore_monitor_plan(t.m));
	assert_int_equal(uncore_monitor_counter_count(t.m), 1);
	c = uncore_monitor_counter_at(t.m, 0);
	assert_string_equal(uncore_pmu_name(c->pmu), "uncore_imc_0");
	assert_int_equal(uncore_monitor_note_count(t.m), 0);
	toy_end(&t);
}

/* A failed list forgets its own events only. */
static void a_failed_add_keeps_earlier_ones(void **state)
{
	struct toy t;

	(void)state;
	toy_play(&t, UNCORE_LEVEL_MACHINE);
	toy_ok(&t, uncore_monitor_add_events(t.m, "odd_0/data/"));
	assert_fails(&t, uncore_monitor_add_events(t.m, "toy/ticks/,toy/tick/"), EINVAL, "tick");
	assert_fails(&t, uncore_monitor_add_metrics(t.m, "nothing.*"), ENOENT, "nothing.*");
	toy_ok(&t, uncore_monitor_plan(t.m));
	assert_int_equal(uncore_monitor_counter_count(t.m), 1);
	toy_start(&t);
	toy_ok(&t, uncore_monitor_read(t.m, t.s));
	assert_int_equal(uncore_sample_count(t.s), 1);
	assert_string_equal(uncore_sample_row(t.s, 0)->query->name, "odd_0/data/");
	toy_end(&t);
}

/* ---- the order of calls ----------------------------------------------------------------------- */

static void adding_after_planning(void **state)
{
	struct toy t;

	(void)state;
	toy_play(&t, UNCORE_LEVEL_MACHINE);
	toy_ok(&t, uncore_monitor_add_events(t.m, "toy/ticks/"));
	toy_ok(&t, uncore_monitor_plan(t.m));
	assert_int_equal(uncore_monitor_counter_count(t.m), 4);
	assert_fails(&t, uncore_monitor_add_events(t.m, "toy/shared/"), EBUSY,
		     "the monitor is planned already");
	assert_fails(&t, uncore_monitor_add_metrics(t.m, "memory.*"), EBUSY,
		     "the monitor is planned already");
	assert_fails(&t, uncore_monitor_set_filter(t.m, "to", "memory"), EBUSY,
		     "the monitor is planned already");
	assert_fails(&t, uncore_monitor_set_level(t.m, UNCORE_LEVEL_SOCKET), EBUSY,
		     "the monitor is planned already");
	toy_ok(&t, uncore_monitor_plan(t.m)); /* again: no error */
	assert_int_equal(uncore_monitor_counter_count(t.m), 4);
	toy_end(&t);
}

static void levels(void **state)
{
	struct toy t;

	(void)state;
	toy_play(&t, UNCORE_LEVEL_MACHINE);
	assert_fails(&t, uncore_monitor_set_level(t.m, (enum uncore_level)100), EINVAL,
		     "100 is not a level");
	assert_fails(&t, uncore_monitor_add_level(t.m, (enum uncore_level)100), EINVAL,
		     "100 is not a level");
	assert_fails(&t, uncore_monitor_set_level(t.m, UNCORE_LEVEL_PART + 1), EINVAL,
		     "is not a level");
	toy_ok(&t, uncore_monitor_set_level(t.m, UNCORE_LEVEL_PART));
	toy_ok(&t, uncore_monitor_set_level(t.m, UNCORE_LEVEL_INSTANCE));
	toy_ok(&t, uncore_monitor_add_events(t.m, "toy/ticks/"));
	toy_ok(&t, uncore_monitor_plan(t.m));
	assert_fails(&t, uncore_monitor_add_level(t.m, UNCORE_LEVEL_MACHINE), EBUSY,
		     "the monitor is planned already");
	toy_start(&t);
	toy_ok(&t, uncore_monitor_read(t.m, t.s));
	assert_int_equal(uncore_sample_count(t.s), 4);
	toy_end(&t);
}

static void shares_of_a_ceiling(void **state)
{
	static const double bad[] = {0, -0.1, 1.0001, NAN, INFINITY}, good[] = {1e-9, 0.8, 1};
	struct toy t;

	(void)state;
	toy_play(&t, UNCORE_LEVEL_MACHINE);
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_fails(&t, uncore_monitor_set_short_samples(t.m, bad[i]), EINVAL,
			     "must be above 0 and at most 1");
	for (size_t i = 0; i < COUNT(good); i++)
		toy_ok(&t, uncore_monitor_set_short_samples(t.m, good[i]));
	toy_end(&t);
}

static void calls_out_of_order(void **state)
{
	struct toy t;

	(void)state;
	toy_play(&t, UNCORE_LEVEL_MACHINE);
	toy_ok(&t, uncore_monitor_add_events(t.m, "toy/ticks/"));
	assert_fails(&t, uncore_monitor_start(t.m), EBUSY, "the monitor is not open");
	assert_fails(&t, uncore_monitor_stop(t.m), EBUSY, "the monitor was not started");
	assert_fails(&t, uncore_monitor_read(t.m, t.s), EBUSY, "the monitor was not started");
	assert_fails(&t, uncore_monitor_total(t.m, t.s), EBUSY, "the monitor was not started");
	toy_ok(&t, uncore_monitor_open(t.m));
	assert_fails(&t, uncore_monitor_open(t.m), EBUSY, "the monitor is open already");
	assert_fails(&t, uncore_monitor_read(t.m, t.s), EBUSY, "the monitor was not started");
	toy_ok(&t, uncore_monitor_start(t.m));
	assert_fails(&t, uncore_monitor_start(t.m), EBUSY, "the monitor was started already");
	assert_fails(&t, uncore_monitor_total(t.m, t.s), EBUSY,
		     "there is no total before the first read");
	assert_int_equal(uncore_sample_count(t.s), 0);
	assert_non_null(uncore_monitor_counter_at(t.m, 3));
	assert_null(uncore_monitor_counter_at(t.m, 4));
	toy_ok(&t, uncore_monitor_read(t.m, t.s));
	toy_ok(&t, uncore_monitor_total(t.m, t.s));
	toy_end(&t);
}

static void opening_when_nothing_can_be_opened(void **state)
{
	struct toy t;

	(void)state;
	toy_play(&t, UNCORE_LEVEL_MACHINE);
	toy_ok(&t, uncore_monitor_add_events(t.m, "toy/refused/"));
	/* Twice: what the first try left behind must not leak, nor change the second. */
	for (int i = 0; i < 2; i++) {
		assert_fails(&t, uncore_monitor_open(t.m), EINVAL,
			     "the simulation refuses it with EINVAL");
		assert_fails(&t, uncore_monitor_start(t.m), EBUSY, "the monitor is not open");
	}
	toy_end(&t);
}

/* Opening refuses an empty monitor and one without a countable event; after each of them the same
 * monitor can be used further. */
static void a_failed_open_leaves_the_monitor_usable(void **state)
{
	struct toy t;

	(void)state;
	toy_play(&t, UNCORE_LEVEL_MACHINE);
	assert_empty(&t);
	toy_ok(&t, uncore_monitor_set_level(t.m, UNCORE_LEVEL_INSTANCE));
	toy_ok(&t, uncore_monitor_add_events(t.m, "toy/ticks/"));
	toy_start(&t);
	toy_ok(&t, uncore_monitor_read(t.m, t.s));
	assert_int_equal(uncore_sample_count(t.s), 4);
	assert_close(uncore_sample_row(t.s, 0)->value, 1000);
	toy_end(&t);
}

static void a_machine_that_is_not_scanned(void **state)
{
	struct toy t = {.u = NULL};
	struct uncore_latency *l = NULL;
	const struct uncore_device *d = NULL;

	(void)state;
	assert_int_equal(uncore_new(&t.u), 0);
	assert_fails(&t, uncore_monitor_new(&t.m, t.u), EBUSY, "scanned");
	assert_fails(&t, uncore_latency_open(&l, t.u, 0), EBUSY, "not scanned");
	assert_fails(&t, uncore_latency_open_file(&l, t.u, "perf.data", 0), EBUSY, "not scanned");
	assert_fails(&t, uncore_device_find(t.u, "eth0", &d), EBUSY, "not scanned");
	assert_null(t.m);
	assert_null(l);
	assert_null(d);
	uncore_free(t.u);
}

/* ---- the machine ------------------------------------------------------------------------------ */

static void a_machine_does_not_change_below_a_monitor(void **state)
{
	struct toy t;

	(void)state;
	toy_play(&t, UNCORE_LEVEL_MACHINE);
	assert_fails(&t, uncore_scan(t.u), EBUSY, "a monitor of this machine still exists");
	assert_fails(&t, uncore_set_root(t.u, "/"), EBUSY,
		     "a monitor of this machine still exists");
	assert_fails(&t, uncore_set_source(t.u, "kernel"), EBUSY,
		     "a monitor of this machine still exists");
	assert_fails(&t, uncore_set_program(t.u, true), EBUSY,
		     "a monitor of this machine still exists");
	assert_fails(&t, uncore_set_memory_peak(t.u, 1e9), EBUSY,
		     "a monitor of this machine still exists");
	assert_true(uncore_pmu_count(t.u) > 0);
	uncore_monitor_free(t.m);
	t.m = NULL;
	toy_ok(&t, uncore_scan(t.u));
	assert_fails(&t, uncore_set_root(t.u, "/"), EINVAL, "brings its own machine");
	toy_ok(&t, uncore_set_source(t.u, "kernel"));
	assert_int_equal(uncore_pmu_count(t.u), 0); /* until it is scanned */
	assert_false(uncore_is_simulated(t.u));
	toy_end(&t);
}

static void invalid_sources_roots_and_data(void **state)
{
	struct toy t = {.u = NULL};

	(void)state;
	tree_make(&t.tree);
	tree_put(&t.tree, "file", "x");
	assert_int_equal(uncore_new(&t.u), 0);
	assert_string_equal(uncore_error(t.u), "");
	assert_fails(
		&t, uncore_set_source(t.u, "perf"), EINVAL,
		"'perf' is not a valid source of counters; expected one of: kernel, files, resctrl, "
		"sim:NAME");
	assert_fails(&t, uncore_set_source(t.u, "sim:nothing"), ENOENT, "nothing");
	assert_fails(&t, uncore_set_source(t.u, "sim:t410,step=x"), EINVAL, "step");
	assert_string_equal(uncore_source(t.u), "kernel");
	assert_fails(&t, uncore_set_root(t.u, "/nonexistent"), ENOENT, "/nonexistent");
	assert_fails(&t, uncore_add_data(t.u, "/nonexistent"), ENOENT, "/nonexistent");
	{
		char path[300];

		snprintf(path, sizeof(path), "%s/file", t.tree.dir);
		assert_fails(&t, uncore_set_root(t.u, path), EINVAL, "file:1: not a snapshot");
		assert_fails(&t, uncore_add_data(t.u, path), ENOTDIR, path);
	}
	/* A directory without a machine in it. */
	toy_ok(&t, uncore_set_root(t.u, t.tree.dir));
	assert_fails(&t, uncore_scan(t.u), ENODEV, "is /sys mounted there?");
	assert_int_equal(uncore_metric_count(t.u), 0);
	toy_end(&t);
}

/* A broken file of --data fails the scan, and the machine is then empty, not half there. */
static void a_scan_with_a_broken_data_file(void **state)
{
	struct toy t;

	(void)state;
	toy_play(&t, UNCORE_LEVEL_MACHINE);
	uncore_monitor_free(t.m);
	t.m = NULL;
	tree_put(&t.tree, "data/x.yaml", "family: x\nfamly: y\n");
	{
		char path[300];

		snprintf(path, sizeof(path), "%s/data", t.tree.dir);
		toy_ok(&t, uncore_add_data(t.u, path));
	}
	assert_fails(&t, uncore_scan(t.u), EBADMSG, "/data/x.yaml:2:1: unknown key 'famly'");
	assert_int_equal(uncore_pmu_count(t.u), 0);
	assert_int_equal(uncore_metric_count(t.u), 0);
	assert_int_equal(uncore_cpu_count(t.u), 0);
	tree_put(
		&t.tree, "data/x.yaml",
		"family: x\ntitle: x\ninstance: x\nplace: link\npmus: [{name: toy}]\n"
		"events:\n  ticks: {title: x, alias: ticks, evidence: x}\n"
		"metrics:\n  toy.rate: {title: x, unit: 1/s, evidence: x, formula: ticks / seconds}\n");
	toy_ok(&t, uncore_scan(t.u));
	toy_ok(&t, uncore_monitor_new(&t.m, t.u));
	toy_ok(&t, uncore_monitor_add_metrics(t.m, "x/*"));
	toy_start(&t);
	toy_ok(&t, uncore_monitor_read(t.m, t.s));
	assert_close(uncore_sample_row(t.s, 0)->value, 4000);
	toy_end(&t);
}

static void nothing_is_freed_twice(void **state)
{
	(void)state;
	uncore_free(NULL);
	uncore_monitor_free(NULL);
	uncore_sample_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_metric_that_exists_nowhere),
		cmocka_unit_test(a_metric_that_cannot_be_counted_here),
		cmocka_unit_test(a_guest_with_the_pmu_but_not_the_event),
		cmocka_unit_test(impossible_events),
		cmocka_unit_test(terms_that_fit_some_of_the_pmus),
		cmocka_unit_test(a_cpu_that_some_of_the_pmus_are_counted_from),
		cmocka_unit_test(a_failed_add_keeps_earlier_ones),
		cmocka_unit_test(adding_after_planning),
		cmocka_unit_test(levels),
		cmocka_unit_test(shares_of_a_ceiling),
		cmocka_unit_test(calls_out_of_order),
		cmocka_unit_test(opening_when_nothing_can_be_opened),
		cmocka_unit_test(a_failed_open_leaves_the_monitor_usable),
		cmocka_unit_test(a_machine_that_is_not_scanned),
		cmocka_unit_test(a_machine_does_not_change_below_a_monitor),
		cmocka_unit_test(invalid_sources_roots_and_data),
		cmocka_unit_test(a_scan_with_a_broken_data_file),
		cmocka_unit_test(nothing_is_freed_twice),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
