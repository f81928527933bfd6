/* SPDX-License-Identifier: MIT */
/* Groups that the kernel has given up: where they are opened again, and what happens to the old. */
#include "source/kernel/perf.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "helpers.h"
#include "tree.h"

#define NEW_FD 100

/* ---- the CPU: four, two on each of two sockets, the PMU counted from 0 and 2 ------------------ */

struct place {
	struct tree tree;
	struct unc_root *root;
	struct unc_topology topology;
	struct uncore_pmu pmu;
	uint32_t type; /* of the PMU, as found last */
};

static int make_place(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	struct unc_error e;
	char path[128];

	if (!p)
		return -1;
	*state = p;
	tree_make(&p->tree);
	tree_put(&p->tree, "sys/devices/system/cpu/online", "0-3\n");
	tree_put(&p->tree, "sys/devices/system/cpu/possible", "0-3\n");
	tree_put(&p->tree, "sys/devices/system/cpu/present", "0-3\n");
	for (int cpu = 0; cpu < 4; cpu++) {
		snprintf(path, sizeof(path),
			 "sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
		tree_put(&p->tree, path, cpu < 2 ? "0\n" : "1\n");
	}
	p->pmu.name = (char *)"box_0";
	p->pmu.has_mask = true;
	p->pmu.type = 17;
	tree_put(&p->tree, TREE_PMU "box_0/type", "17\n");
	return unc_cpulist_parse("0,2", &p->pmu.cpus) || unc_root_open(&p->root, p->tree.dir, &e) ||
	       unc_topology_read(&p->topology, p->root, &e);
}

static int drop_place(void **state)
{
	struct place *p = *state;

	unc_cpulist_finish(&p->pmu.cpus);
	unc_topology_finish(&p->topology);
	unc_root_free(p->root);
	tree_remove(&p->tree);
	free(p);
	return 0;
}

static int heir(struct place *p, const char *mask, int cpu)
{
	struct uncore_counter c = {.pmu = &p->pmu, .cpu = cpu};
	const struct unc_kernel_env env = {p->root, &p->topology};

	tree_put(&p->tree, TREE_PMU "box_0/cpumask", mask);
	return unc_kernel_cpu_now(&env, &c, &p->type);
}

static void which_cpu(void **state)
{
	struct place *p = *state;

	assert_int_equal(heir(p, "0,2\n", 2), 2); /* back again */
	assert_int_equal(heir(p, "0,3\n", 2), 3); /* the other of its socket */
	assert_int_equal(heir(p, "1,2\n", 0), 1);
	assert_int_equal(heir(p, "0\n", 2), -1);   /* the whole socket is gone */
	assert_int_equal(heir(p, "0-1\n", 2), -1); /* new, but of the other socket */
	assert_int_equal(heir(p, "\n", 2), -1);
	assert_int_equal(heir(p, "nonsense\n", 2), -1);
	assert_int_equal(heir(p, "0,2\n", 9), -1); /* a CPU that never was */
}

/* 17 may be another PMU by now: the name counts. */
static void a_pmu_registered_anew(void **state)
{
	struct place *p = *state;

	tree_put(&p->tree, TREE_PMU "box_0/type", "26\n");
	assert_int_equal(heir(p, "0,2\n", 2), 2);
	assert_int_equal(p->type, 26);
	tree_put(&p->tree, TREE_PMU "box_0/type", "\n");
	assert_int_equal(heir(p, "0,2\n", 2), -1);
	p->pmu.name = (char *)"box_1"; /* which is not there */
	assert_int_equal(heir(p, "0,2\n", 2), -1);
}

/* With two units on a socket it cannot be told whose CPU has changed. */
static void two_possible_cpus_are_none(void **state)
{
	struct place *p = *state;

	unc_cpulist_finish(&p->pmu.cpus);
	assert_int_equal(unc_cpulist_parse("2", &p->pmu.cpus), 0);
	tree_put(&p->tree, "sys/devices/system/cpu/cpu1/topology/physical_package_id", "1\n");
	unc_topology_finish(&p->topology);
	assert_int_equal(unc_topology_read(&p->topology, p->root, NULL), 0);
	assert_int_equal(heir(p, "1,3\n", 2), -1);
	assert_int_equal(heir(p, "3\n", 2), 3);
}

/* Two units of one socket are without their CPUs, and one CPU is new: whose is it? */
static void one_possible_cpu_of_two(void **state)
{
	struct place *p = *state;

	unc_cpulist_finish(&p->pmu.cpus);
	assert_int_equal(unc_cpulist_parse("0,1", &p->pmu.cpus), 0);
	for (int cpu = 2; cpu < 4; cpu++) {
		char path[128];

		snprintf(path, sizeof(path),
			 "sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
		tree_put(&p->tree, path, "0\n");
	}
	unc_topology_finish(&p->topology);
	assert_int_equal(unc_topology_read(&p->topology, p->root, NULL), 0);
	assert_int_equal(heir(p, "3\n", 0), -1);
	assert_int_equal(heir(p, "3\n", 1), -1);
	assert_int_equal(heir(p, "0,3\n", 1), 3);
	assert_int_equal(heir(p, "0,3\n", 0), 0);
}

/* A PMU without a mask is counted from every CPU that is online. */
static void without_a_mask(void **state)
{
	struct place *p = *state;

	p->pmu.has_mask = false;
	assert_int_equal(heir(p, "1\n", 2), 2);
	tree_put(&p->tree, "sys/devices/system/cpu/online", "0-1,3\n");
	unc_cpulist_finish(&p->pmu.cpus);
	assert_int_equal(unc_cpulist_parse("0-3", &p->pmu.cpus), 0);
	assert_int_equal(heir(p, "1\n", 2), -1); /* CPU 3 has counters of its own */
}

/* ---- the group -------------------------------------------------------------------------------- */

struct kernel {
	int next, fails_at; /* descriptors; the one that cannot be had */
	int cpu, leaders[8];
	uint32_t type;
	size_t opened;
	bool closed[2 * NEW_FD];
};

static int fake_open(void *ctx, const struct uncore_counter *c, int leader, uint32_t modifiers)
{
	struct kernel *k = ctx;

	(void)modifiers;
	if (k->next == k->fails_at)
		return -EINVAL;
	k->cpu = c->cpu;
	k->type = c->pmu->type;
	k->leaders[k->opened++] = leader;
	return k->next++;
}

static void fake_close(void *ctx, int fd)
{
	struct kernel *k = ctx;

	assert_false(k->closed[fd]);
	k->closed[fd] = true;
}

/* Three counters, of which the second shares a reading and has no descriptor. */
static void a_group(void **state)
{
	int fds[] = {7, 10, -1, 11, 8};
	struct uncore_pmu pmu = {.type = 17};
	struct uncore_counter counters[5] = {
		{.cpu = 2}, {.cpu = 2, .pmu = &pmu}, {.cpu = 2}, {.cpu = 2}};
	struct unc_group g = {.first = 1, .end = 4, .members = 2, .leader = 10};
	struct unc_groups groups = {.fds = fds, .counter_count = 5, .items = &g, .count = 1};
	struct kernel k = {.next = NEW_FD, .fails_at = NEW_FD + 1};
	struct unc_opener o = {.open = fake_open, .close = fake_close, .ctx = &k};

	(void)state;
	/* Nothing has changed when a member is refused, and nothing is left open. */
	assert_int_equal(unc_groups_reopen(&groups, &g, counters, 3, 26, &o), -EINVAL);
	assert_int_equal(g.leader, 10);
	assert_int_equal(fds[1], 10);
	assert_true(k.closed[NEW_FD]);
	assert_false(k.closed[10] || k.closed[11]);

	k = (struct kernel){.next = NEW_FD, .fails_at = -1};
	assert_int_equal(unc_groups_reopen(&groups, &g, counters, 3, 26, &o), 0);
	assert_int_equal(k.opened, 2);
	assert_int_equal(k.cpu, 3);
	assert_int_equal(k.leaders[0], -1);
	assert_int_equal(k.leaders[1], NEW_FD);
	assert_int_equal(g.leader, NEW_FD);
	assert_int_equal(fds[1], NEW_FD);
	assert_int_equal(fds[2], -1);
	assert_int_equal(fds[3], NEW_FD + 1);
	assert_true(k.closed[10] && k.closed[11]);
	assert_false(k.closed[7] || k.closed[8]);
	assert_int_equal(fds[0], 7);
	assert_int_equal(fds[4], 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(which_cpu, make_place, drop_place),
		cmocka_unit_test_setup_teardown(a_pmu_registered_anew, make_place, drop_place),
		cmocka_unit_test_setup_teardown(two_possible_cpus_are_none, make_place, drop_place),
		cmocka_unit_test_setup_teardown(one_possible_cpu_of_two, make_place, drop_place),
		cmocka_unit_test_setup_teardown(without_a_mask, make_place, drop_place),
		cmocka_unit_test(a_group),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
