/* SPDX-License-Identifier: MIT */
/* From what is asked to rows, on simulated machines whose rates say what every value must be. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "count/monitor.h"
#include "toy.h"

#define SECOND UINT64_C(1000000000)

/* ---- rows ------------------------------------------------------------------------------------- */

/* What a simulation counts is a whole number, so values are off by less than one count. */
static void assert_near(double value, double expected)
{
	if (!(fabs(value - expected) <= 1e-6 * fabs(expected)))
		fail_msg("%.12g is not %.12g", value, expected);
}

struct place {
	int socket, cpu;
	const char *pmu; /* NULL: summed */
	size_t instances;
	double value;
};

/* The rows of one metric or event. */
static void assert_rows(const struct uncore_sample *s, size_t first, const char *name,
			const struct place *places, size_t count)
{
	assert_true(first + count <= uncore_sample_count(s));
	for (size_t i = 0; i < count; i++) {
		const struct uncore_row *row = uncore_sample_row(s, first + i);

		assert_string_equal(row->query->name, name);
		assert_int_equal(row->quality, UNCORE_MEASURED);
		assert_null(row->reason);
		assert_int_equal(row->place->socket, places[i].socket);
		assert_int_equal(row->place->cpu, places[i].cpu);
		if (places[i].pmu)
			assert_string_equal(uncore_pmu_name(row->place->pmu), places[i].pmu);
		else
			assert_null(row->place->pmu);
		assert_int_equal(row->counted->instances, places[i].instances);
		assert_near(row->value, places[i].value);
		assert_near(row->counted->seconds, 1);
	}
}

/* ---- levels ----------------------------------------------------------------------------------- */

/* Reads: 1e6 a second on each of two places of imc_0, 3e6 on the one of imc_1; 64 bytes each. */
static void metrics_at_three_levels(void **state)
{
	static const struct place machine[] = {{-1, -1, NULL, 3, 320e6}};
	static const struct place sockets[] = {{0, -1, NULL, 1, 64e6}, {1, -1, NULL, 2, 256e6}};
	static const struct place instances[] = {
		{0, 0, "uncore_imc_0", 1, 64e6},
		{1, 2, "uncore_imc_0", 1, 64e6},
		{1, 2, "uncore_imc_1", 1, 192e6},
	};
	static const struct {
		enum uncore_level level;
		const struct place *places;
		size_t count;
	} levels[] = {{UNCORE_LEVEL_MACHINE, machine, 1},
		      {UNCORE_LEVEL_SOCKET, sockets, 2},
		      {UNCORE_LEVEL_INSTANCE, instances, 3}};

	(void)state;
	for (size_t i = 0; i < COUNT(levels); i++) {
		struct toy t;
		const struct uncore_row *row;

		toy_play(&t, levels[i].level);
		toy_ok(&t, uncore_monitor_add_metrics(t.m, "memory.read.bandwidth"));
		toy_start(&t);
		toy_ok(&t, uncore_monitor_read(t.m, t.s));
		assert_int_equal(uncore_sample_count(t.s), levels[i].count);
		assert_rows(t.s, 0, "memory.read.bandwidth", levels[i].places, levels[i].count);
		row = uncore_sample_row(t.s, 0);
		assert_string_equal(row->query->family, "intel-imc");
		assert_string_equal(row->query->unit, "B/s");
		assert_true(isnan(row->rate));
		assert_close(row->counted->coverage, 1);
		assert_int_equal(uncore_sample_begin_ns(t.s), 0);
		assert_int_equal(uncore_sample_end_ns(t.s), SECOND);
		toy_end(&t);
	}
}

/* 1e6 and 3e6 counts of 64 / 2^20 MiB. */
static void events_at_three_levels(void **state)
{
	static const double mib = 64.0 / 1048576;
	const struct place machine[] = {{-1, -1, NULL, 3, 5e6 * mib}};
	const struct place sockets[] = {{0, -1, NULL, 1, 1e6 * mib}, {1, -1, NULL, 2, 4e6 * mib}};
	const struct place instances[] = {
		{0, 0, "uncore_imc_0", 1, 1e6 * mib},
		{1, 2, "uncore_imc_0", 1, 1e6 * mib},
		{1, 2, "uncore_imc_1", 1, 3e6 * mib},
	};
	const struct {
		enum uncore_level level;
		const struct place *places;
		size_t count;
	} levels[] = {{UNCORE_LEVEL_MACHINE, machine, 1},
		      {UNCORE_LEVEL_SOCKET, sockets, 2},
		      {UNCORE_LEVEL_INSTANCE, instances, 3}};

	(void)state;
	for (size_t i = 0; i < COUNT(levels); i++) {
		struct toy t;
		const struct uncore_row *row;

		toy_play(&t, levels[i].level);
		toy_ok(&t, uncore_monitor_add_events(t.m, "uncore_imc/cas_count_read/"));
		toy_start(&t);
		toy_ok(&t, uncore_monitor_read(t.m, t.s));
		assert_int_equal(uncore_sample_count(t.s), levels[i].count);
		assert_rows(t.s, 0, "uncore_imc/cas_count_read/", levels[i].places,
			    levels[i].count);
		row = uncore_sample_row(t.s, 0);
		assert_null(row->query->family);
		assert_string_equal(row->query->unit, "MiB");
		assert_near(row->rate, row->value);
		assert_near((double)row->counted->count, row->value / mib);
		assert_int_equal(row->counted->enabled_ns, row->counted->instances * SECOND);
		assert_int_equal(row->counted->running_ns, row->counted->instances * SECOND);
		toy_end(&t);
	}
}

static void sockets_are_ascending(void **state)
{
	static const struct place sockets[] = {{0, -1, NULL, 1, 7}, {1, -1, NULL, 1, 5}};
	static const struct place instances[] = {{1, 3, "back_0", 1, 5}, {0, 1, "back_1", 1, 7}};
	struct toy t;

	(void)state;
	toy_play(&t, UNCORE_LEVEL_SOCKET);
	toy_ok(&t, uncore_monitor_add_events(t.m, "back/event=1/"));
	toy_start(&t);
	toy_ok(&t, uncore_monitor_read(t.m, t.s));
	assert_rows(t.s, 0, "back/event=1/", sockets, 2);
	toy_end(&t);
	/* Instances are ordered by PMU. */
	toy_play(&t, UNCORE_LEVEL_INSTANCE);
	toy_ok(&t, uncore_monitor_add_events(t.m, "back/event=1/"));
	toy_start(&t);
	toy_ok(&t, uncore_monitor_read(t.m, t.s));
	assert_rows(t.s, 0, "back/event=1/", instances, 2);
	toy_end(&t);
}

/* Per package: CPUs 0-3 are in the mask, but only the first of each socket is counted. */
static void a_package_is_counted_once(void **state)
{
	static const struct place places[] = {{0, 0, "toy", 1, 50}, {1, 2, "toy", 1, 50}};
	struct toy t;

	(void)state;
	toy_play(&t, UNCORE_LEVEL_INSTANCE);
	toy_ok(&t, uncore_monitor_add_events(t.m, "toy/energy/"));
	toy_start(&t);
	toy_ok(&t, uncore_monitor_read(t.m, t.s));
	assert_int_equal(uncore_sample_count(t.s), 2);
	assert_rows(t.s, 0, "toy/energy/", places, 2);
	assert_string_equal(uncore_sample_row(t.s, 0)->query->unit, "Joules");
	toy_end(&t);
}

/* Terms for a CPU and a name; an event that belongs to every CPU of the mask. */
/* Not from the first CPU of the package: that is where it would be counted when nobody says. */
static void a_package_counted_from_a_named_cpu(void **state)
{
	struct toy t;

	(void)state;
	toy_play(&t, UNCORE_LEVEL_MACHINE);
	toy_ok(&t, uncore_monitor_add_events(t.m, "toy/energy,cpu=1/"));
	toy_start(&t);
	toy_ok(&t, uncore_monitor_read(t.m, t.s));
	assert_int_equal(uncore_sample_row(t.s, 0)->counted->instances, 1);
	assert_int_equal(uncore_sample_row(t.s, 0)->counted->count, 100);
	toy_end(&t);
}

static void cpu_and_name_terms(void **state)
{
	static const struct place all[] = {{-1, -1, NULL, 4, 4000}};
	static const struct place one[] = {{-1, -1, NULL, 1, 1000}};
	struct toy t;

	(void)state;
	toy_play(&t, UNCORE_LEVEL_MACHINE);
	toy_ok(&t, uncore_monitor_add_events(t.m, "toy/ticks/,toy/ticks,cpu=3,name=third/"));
	toy_start(&t);
	toy_ok(&t, uncore_monitor_read(t.m, t.s));
	assert_int_equal(uncore_sample_count(t.s), 2);
	assert_rows(t.s, 0, "toy/ticks/", all, 1);
	assert_rows(t.s, 1, "third", one, 1);
	/* CPU 3's counter is opened once for both. */
	assert_int_equal(uncore_monitor_counter_count(t.m), 4);
	toy_end(&t);
}

/* MiB and plain counts are never added up. */
static void values_of_different_units_have_rows_of_their_own(void **state)
{
	struct toy t;
	const struct uncore_row *row;

	(void)state;
	toy_play(&t, UNCORE_LEVEL_MACHINE);
	toy_ok(&t, uncore_monitor_add_events(t.m, "odd/data/"));
	toy_start(&t);
	toy_ok(&t, uncore_monitor_read(t.m, t.s));
	assert_int_equal(uncore_sample_count(t.s), 2);
	row = uncore_sample_row(t.s, 0);
	assert_string_equal(row->query->name, "odd/data/");
	assert_string_equal(row->query->unit, "MiB");
	assert_near(row->value, 20);
	row = uncore_sample_row(t.s, 1);
	assert_string_equal(row->query->name, "odd/data/");
	assert_string_equal(row->query->unit, "");
	assert_near(row->value, 10);
	toy_end(&t);
}

static void a_bare_name_is_found_on_every_pmu_that_has_it(void **state)
{
	static const struct place places[] = {{-1, -1, NULL, 3, 5e6 * 64 / 1048576}};
	struct toy t;

	(void)state;
	toy_play(&t, UNCORE_LEVEL_MACHINE);
	toy_ok(&t, uncore_monitor_add_events(t.m, "cas_count_read"));
	toy_start(&t);
	toy_ok(&t, uncore_monitor_read(t.m, t.s));
	assert_int_equal(uncore_sample_count(t.s), 1);
	assert_rows(t.s, 0, "cas_count_read", places, 1);
	toy_end(&t);
}

static void rows_are_in_the_order_of_requests(void **state)
{
	static const char *const names[] = {"toy/ticks/", "memory.write.bandwidth",
					    "memory.read.bandwidth", "toy/energy/"};
	struct toy t;

	(void)state;
	toy_play(&t, UNCORE_LEVEL_MACHINE);
	toy_ok(&t, uncore_monitor_add_events(t.m, "toy/ticks/"));
	toy_ok(&t, uncore_monitor_add_metrics(t.m, "intel-imc/memory.w*"));
	toy_ok(&t, uncore_monitor_add_metrics(t.m, "memory.*d*.bandwidth"));
	toy_ok(&t, uncore_monitor_add_metrics(t.m, "memory.read.bandwidth")); /* is there already */
	toy_ok(&t, uncore_monitor_add_events(t.m, "toy/energy/"));
	toy_start(&t);
	toy_ok(&t, uncore_monitor_read(t.m, t.s));
	assert_int_equal(uncore_sample_count(t.s), COUNT(names));
	for (size_t i = 0; i < COUNT(names); i++)
		assert_string_equal(uncore_sample_row(t.s, i)->query->name, names[i]);
	toy_end(&t);
}

/* 100 counts of 0.5 J a second, once for each of two packages, though four CPUs could count them;
 * and no scale without the alias that has it. */
static void the_kernels_scale_reaches_the_metric(void **state)
{
	char path[300];
	struct toy t;

	(void)state;
	toy_make(&t, TOY_RATES);
	tree_put(
		&t.tree, "data/toy.yaml",
		"family: toy\ntitle: toys\ninstance: toy\nplace: link\npmus: [{name: toy}]\nevents:\n"
		"  energy: {title: x, alias: energy, scale: kernel, evidence: x}\n"
		"  other: {title: x, alias: gone, terms: event=2, scale: kernel, evidence: x}\n"
		"  ticks: {title: x, alias: ticks, evidence: x}\n"
		"metrics:\n"
		"  toy.power: {title: x, unit: W, formula: energy / seconds, evidence: x}\n"
		"  toy.other: {title: x, unit: W, formula: other / seconds, evidence: x}\n"
		"  toy.ticks: {title: x, unit: 1/s, formula: ticks / seconds, evidence: x}\n");
	toy_begin(&t, UNCORE_LEVEL_MACHINE);
	uncore_monitor_free(t.m);
	snprintf(path, sizeof(path), "%s/data", t.tree.dir);
	toy_ok(&t, uncore_add_data(t.u, path));
	toy_ok(&t, uncore_scan(t.u));
	toy_ok(&t, uncore_monitor_new(&t.m, t.u));
	toy_ok(&t, uncore_monitor_add_metrics(t.m, "toy.*"));
	toy_start(&t);
	toy_ok(&t, uncore_monitor_read(t.m, t.s));
	assert_int_equal(uncore_sample_count(t.s), 2);
	assert_string_equal(uncore_sample_row(t.s, 0)->query->name, "toy.power");
	assert_close(uncore_sample_row(t.s, 0)->value, 100);
	assert_close(uncore_sample_row(t.s, 1)->value, 4000); /* of no package: all four */
	assert_int_equal(uncore_monitor_add_metrics(t.m, "toy.other"), -EBUSY);
	uncore_monitor_free(t.m);
	toy_ok(&t, uncore_monitor_new(&t.m, t.u));
	assert_int_equal(uncore_monitor_add_metrics(t.m, "toy.other"), -ENODEV);
	assert_contains(uncore_error(t.u), "toy does not have the event 'gone'");
	toy_end(&t);
}

/* ---- the plan --------------------------------------------------------------------------------- */

static void the_plan_can_be_looked_at(void **state)
{
	static const struct {
		const char *pmu;
		int cpu;
		uint64_t config;
		size_t group;
		bool leader;
	} expected[] = {
		/* the ratio first, the reads ride along with it */
		{"uncore_imc_0", 0, 0x304, 0, true},  {"uncore_imc_0", 0, 0xc04, 0, false},
		{"uncore_imc_0", 0, 0x000, 0, false}, {"uncore_imc_0", 2, 0x304, 1, true},
		{"uncore_imc_0", 2, 0xc04, 1, false}, {"uncore_imc_0", 2, 0x000, 1, false},
		{"uncore_imc_1", 2, 0x304, 2, true},  {"uncore_imc_1", 2, 0xc04, 2, false},
		{"uncore_imc_1", 2, 0x000, 2, false},
	};
	struct toy t;

	(void)state;
	toy_play(&t, UNCORE_LEVEL_MACHINE);
	toy_ok(&t, uncore_monitor_add_metrics(t.m, "memory.read.bandwidth"));
	toy_ok(&t, uncore_monitor_add_metrics(t.m, "memory.utilization"));
	toy_ok(&t, uncore_monitor_plan(t.m));
	assert_int_equal(uncore_monitor_counter_count(t.m), COUNT(expected));
	for (size_t i = 0; i < COUNT(expected); i++) {
		const struct uncore_counter *c;

		c = uncore_monitor_counter_at(t.m, i);
		assert_string_equal(uncore_pmu_name(c->pmu), expected[i].pmu);
		assert_int_equal(c->cpu, expected[i].cpu);
		assert_int_equal(c->config[0], expected[i].config);
		assert_int_equal(c->group, expected[i].group);
		assert_int_equal(c->leader, expected[i].leader);
		assert_non_null(c->event);
	}
	toy_end(&t);
}

static void modifiers_make_other_counters(void **state)
{
	struct toy t;

	(void)state;
	toy_play(&t, UNCORE_LEVEL_MACHINE);
	toy_ok(&t, uncore_monitor_add_events(t.m, "odd_0/data/,odd_0/data/k,odd_0/data/,"
						  "{odd_0/data/}"));
	/* plain, kernel and group; the plain ones ride in the group */
	toy_ok(&t, uncore_monitor_plan(t.m));
	assert_int_equal(uncore_monitor_counter_count(t.m), 2);
	toy_end(&t);
}

/* Braces are an order, unless they say that they may be split. */
static void weak_groups_are_not_strict(void **state)
{
	struct toy t;

	(void)state;
	toy_play(&t, UNCORE_LEVEL_MACHINE);
	toy_ok(&t, uncore_monitor_add_events(t.m, "{odd_0/data/,odd_0/event=3/},"
						  "{odd_1/data/,odd_1/event=3/}:W"));
	toy_ok(&t, uncore_monitor_plan(t.m));
	assert_int_equal(uncore_monitor_counter_count(t.m), 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(t.m->plan.counters[i].strict, i < 2);
	assert_int_equal(t.m->plan.set_count, 2);
	toy_end(&t);
}

static void a_group_over_two_pmus_is_noted(void **state)
{
	struct toy t;

	(void)state;
	toy_play(&t, UNCORE_LEVEL_MACHINE);
	toy_ok(&t, uncore_monitor_add_events(t.m, "{toy/ticks/,toy/shared/},toy/wraps/"));
	assert_int_equal(uncore_monitor_note_count(t.m), 0);
	toy_ok(&t, uncore_monitor_add_events(t.m, "{toy/ticks/,odd_0/data/}"));
	assert_int_equal(uncore_monitor_note_count(t.m), 1);
	assert_contains(uncore_monitor_note_at(t.m, 0), "different PMUs");
	toy_end(&t);
}

/* ---- values against the rates of the built-in Tegra410 ------------------------------------------ */

static const struct uncore_row *row_of(const struct uncore_sample *s, const char *name)
{
	for (size_t i = 0; i < uncore_sample_count(s); i++)
		if (strcmp(uncore_sample_row(s, i)->query->name, name) == 0)
			return uncore_sample_row(s, i);
	fail_msg("no row %s", name);
	return NULL;
}

/* In ten seconds its waves of ten seconds come to their means, wherever they begin: 320e9 and 160e9
 * bytes of memory and 800e9 and 320e9 of the cache a second, 7.5 of 12.5e9 reads hit, clocks of
 * 2 GHz; 2.2e12 / 10e9 = 220 cycles for a read, which at 2 GHz are 110 ns. */
static void a_simulated_tegra410(void **state)
{
	static const struct {
		const char *name;
		double value;
	} expected[] = {
		{"memory.read.bandwidth", 2 * 320e9},      {"memory.write.bandwidth", 2 * 160e9},
		{"memory.bandwidth", 2 * 480e9},           {"memory.read.requests.per.cycle", 2},
		{"memory.write.requests.per.cycle", 1},    {"cache.read.bandwidth", 2 * 800e9},
		{"cache.write.bandwidth", 2 * 320e9},      {"cache.hit.ratio", 0.6},
		{"fabric.clock.frequency", 2.5e9},         {"memory.read.latency", 110e-9},
		{"memory.dram.read.bandwidth", 2 * 320e9},
	};
	struct toy t = {.u = NULL};

	(void)state;
	assert_int_equal(uncore_new(&t.u), 0);
	toy_ok(&t, uncore_set_source(t.u, "sim:t410,step=10s"));
	assert_true(uncore_is_simulated(t.u));
	assert_string_equal(uncore_source(t.u), "sim:t410,step=10s");
	toy_ok(&t, uncore_scan(t.u));
	toy_ok(&t, uncore_monitor_new(&t.m, t.u));
	toy_ok(&t, uncore_monitor_add_metrics(t.m, "*"));
	assert_int_equal(uncore_sample_new(&t.s), 0);
	toy_start(&t);
	for (int i = 0; i < 3; i++) {
		toy_ok(&t, uncore_monitor_read(t.m, t.s));
		for (size_t k = 0; k < COUNT(expected); k++) {
			const struct uncore_row *row = row_of(t.s, expected[k].name);

			assert_near(row->value, expected[k].value);
			assert_int_equal(row->quality, UNCORE_MEASURED);
			assert_near(row->counted->seconds, 10);
		}
	}
	uncore_sample_free(t.s);
	uncore_monitor_free(t.m);
	uncore_free(t.u);
}

/* ---- qualities -------------------------------------------------------------------------------- */

static void a_multiplexed_counter(void **state)
{
	struct toy t;
	const struct uncore_row *row;

	(void)state;
	toy_play(&t, UNCORE_LEVEL_MACHINE);
	toy_ok(&t, uncore_monitor_add_events(t.m, "toy/shared,cpu=0/"));
	toy_start(&t);
	toy_ok(&t, uncore_monitor_read(t.m, t.s));
	row = uncore_sample_row(t.s, 0);
	assert_int_equal(row->quality, UNCORE_SCALED);
	assert_close(row->counted->coverage, 0.4);
	assert_int_equal(row->counted->count, 400);
	assert_close(row->value, 1000);
	assert_close(row->rate, 1000);
	assert_null(row->reason);
	toy_end(&t);
}

static void a_state_is_its_rate(void **state)
{
	struct toy t;

	(void)state;
	toy_play(&t, UNCORE_LEVEL_MACHINE);
	toy_ok(&t, uncore_monitor_add_events(t.m, "toy/state/"));
	toy_start(&t);
	for (int i = 0; i < 3; i++) {
		toy_ok(&t, uncore_monitor_read(t.m, t.s));
		assert_close(uncore_sample_row(t.s, 0)->value, 4); /* on four CPUs */
	}
	toy_end(&t);
}

static void counters_that_give_nothing(void **state)
{
	static const struct {
		const char *event, *told;
	} cases[] = {
		{"toy/never/", "toy/never/ on CPU 0 never ran in this interval"},
		{"toy/refused/", "the simulation refuses it with EINVAL"},
		{"toy/event=99/", "has no rate for toy/event=99/"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct toy t;
		const struct uncore_row *row;

		toy_play(&t, UNCORE_LEVEL_MACHINE);
		toy_ok(&t, uncore_monitor_add_events(t.m, "toy/ticks/"));
		toy_ok(&t, uncore_monitor_add_events(t.m, cases[i].event));
		toy_start(&t);
		toy_ok(&t, uncore_monitor_read(t.m, t.s));
		row = uncore_sample_row(t.s, 1);
		assert_string_equal(row->query->name, cases[i].event);
		assert_int_equal(row->quality, UNCORE_UNAVAILABLE);
		assert_true(isnan(row->value) && isnan(row->rate));
		assert_contains(row->reason, cases[i].told);
		assert_int_equal(row->counted->instances, 4);
		assert_int_equal(uncore_sample_row(t.s, 0)->quality, UNCORE_MEASURED);
		toy_end(&t);
	}
}

/* The reads of imc_1 are refused. */
static void an_instance_that_is_missing(void **state)
{
	static const char rates[] =
		"  - {pmu: uncore_imc_0, event: 'event=0x04,umask=0x03', constant: 1e6}\n"
		"  - {pmu: uncore_imc_1, event: 'event=0x04,umask=0x03', constant: 1, refuse: ENODEV}\n"
		"  - {pmu: uncore_imc, event: 'event=0x04,umask=0x0c', constant: 0.5e6}\n"
		"  - {pmu: uncore_imc, event: event=0x00, constant: 1e9}\n";
	struct toy t;
	const struct uncore_row *row;

	(void)state;
	toy_make(&t, rates);
	toy_begin(&t, UNCORE_LEVEL_SOCKET);
	toy_ok(&t, uncore_monitor_add_metrics(t.m, "memory.read.bandwidth"));
	toy_ok(&t, uncore_monitor_add_metrics(t.m, "memory.utilization"));
	toy_start(&t);
	toy_ok(&t, uncore_monitor_read(t.m, t.s));
	assert_int_equal(uncore_sample_count(t.s), 4);
	row = uncore_sample_row(t.s, 0);
	assert_int_equal(row->place->socket, 0);
	assert_int_equal(row->quality, UNCORE_MEASURED);
	row = uncore_sample_row(t.s, 1);
	assert_int_equal(row->place->socket, 1);
	assert_int_equal(row->quality, UNCORE_PARTIAL);
	assert_contains(row->reason, "1 of 2 missing: uncore_imc_1/");
	assert_near(row->value, 64e6);
	/* (1e6 + 0.5e6) * 4 / 1e9 of imc_0: the other's clock is left out with its reads. */
	row = uncore_sample_row(t.s, 3);
	assert_int_equal(row->quality, UNCORE_PARTIAL);
	assert_near(row->value, 0.006);
	toy_end(&t);
}

/* One of three memory controllers has an empty cpumask: the sum says so, and its own row. */
static void an_instance_without_a_cpu(void **state)
{
	static const char why[] =
		"uncore_imc_2 has no CPU to be counted from: its cpumask is empty";
	static const enum uncore_level levels[] = {UNCORE_LEVEL_SOCKET, UNCORE_LEVEL_INSTANCE};
	struct toy t;

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		toy_make(&t, TOY_RATES);
		machine_pmu(&t.tree, "uncore_imc_2", "19\n", "\n");
		toy_begin(&t, levels[k]);
		toy_ok(&t, uncore_monitor_add_metrics(t.m, "memory.write.bandwidth"));
		toy_ok(&t, uncore_monitor_add_events(t.m, "uncore_imc/event=0x04,umask=0x0c/"));
		toy_start(&t);
		toy_ok(&t, uncore_monitor_read(t.m, t.s));
		assert_int_equal(uncore_monitor_note_count(t.m), 0);
		assert_int_equal(uncore_sample_count(t.s), k ? 8 : 4);
		for (size_t i = 0; i < uncore_sample_count(t.s); i++) {
			const struct uncore_row *row = uncore_sample_row(t.s, i);

			if (k && i % 4 < 3) {
				assert_int_equal(row->quality, UNCORE_MEASURED);
				continue;
			}
			assert_int_equal(row->quality, k ? UNCORE_UNAVAILABLE : UNCORE_PARTIAL);
			assert_contains(row->reason, why);
			if (k)
				assert_string_equal(uncore_pmu_name(row->place->pmu),
						    "uncore_imc_2");
		}
		toy_end(&t);
	}
}

static void reading_after_the_end(void **state)
{
	struct toy t;

	(void)state;
	toy_play(&t, UNCORE_LEVEL_MACHINE);
	toy_ok(&t, uncore_monitor_add_events(t.m, "toy/ticks/"));
	toy_start(&t);
	toy_ok(&t, uncore_monitor_stop(t.m));
	toy_ok(&t, uncore_monitor_read(t.m, t.s));
	assert_int_equal(uncore_sample_row(t.s, 0)->counted->count, 4000);
	assert_int_equal(uncore_monitor_read(t.m, t.s), -EBUSY);
	assert_contains(uncore_error(t.u), "the monitor was stopped");
	toy_ok(&t, uncore_monitor_total(t.m, t.s));
	assert_int_equal(uncore_sample_row(t.s, 0)->counted->count, 4000);
	toy_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(metrics_at_three_levels),
		cmocka_unit_test(events_at_three_levels),
		cmocka_unit_test(sockets_are_ascending),
		cmocka_unit_test(a_package_is_counted_once),
		cmocka_unit_test(cpu_and_name_terms),
		cmocka_unit_test(values_of_different_units_have_rows_of_their_own),
		cmocka_unit_test(a_bare_name_is_found_on_every_pmu_that_has_it),
		cmocka_unit_test(rows_are_in_the_order_of_requests),
		cmocka_unit_test(the_kernels_scale_reaches_the_metric),
		cmocka_unit_test(the_plan_can_be_looked_at),
		cmocka_unit_test(modifiers_make_other_counters),
		cmocka_unit_test(weak_groups_are_not_strict),
		cmocka_unit_test(a_group_over_two_pmus_is_noted),
		cmocka_unit_test(a_simulated_tegra410),
		cmocka_unit_test(a_multiplexed_counter),
		cmocka_unit_test(a_state_is_its_rate),
		cmocka_unit_test(counters_that_give_nothing),
		cmocka_unit_test(an_instance_that_is_missing),
		cmocka_unit_test(an_instance_without_a_cpu),
		cmocka_unit_test(a_package_counted_from_a_named_cpu),
		cmocka_unit_test(reading_after_the_end),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
