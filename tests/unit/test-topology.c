/* SPDX-License-Identifier: MIT */
/* CPUs, sockets, nodes, CPU model and hypervisor. */
#include "machine/topology.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "tree.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define CPUS "sys/devices/system/cpu/"
#define DMI "sys/class/dmi/id/"

static int setup(void **state)
{
	struct tree *t = calloc(1, sizeof(*t));

	tree_require(t, "memory");
	tree_make(t);
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	tree_remove(*state);
	free(*state);
	return 0;
}

static int read_dir(const char *dir, struct unc_topology *out, struct unc_error *e)
{
	struct unc_root *r;
	int err;

	assert_int_equal(unc_root_open(&r, dir, e), 0);
	err = unc_topology_read(out, r, e);
	unc_root_free(r);
	return err;
}

/* Reads a tree that must be right. */
static struct unc_topology topology_of(const struct tree *t)
{
	struct unc_topology topology = {0};
	struct unc_error e = {0};

	if (read_dir(t->dir, &topology, &e))
		fail_msg("%s", e.text);
	return topology;
}

static void machines_of_the_repository(void **state)
{
	static const struct {
		const char *name, *model;
		int socket, die;
	} cases[] = {
		{"amd-zen4-1socket", "amd/25/17", 0, 0},
		{"intel-icx-1socket", "intel/6/106", 0, 0},
		{"intel-ivt-1socket", "intel/6/62", 0, 0},
		{"intel-skx-1socket", "intel/6/85", 0, 0},
		{"intel-spr-1socket", "intel/6/143", 0, 0},
		{"nvidia-grace-1socket", "arm/0x41/0xd0c", 0, -1},
		{"nvidia-t410-1socket", "arm/0x4e/0x010", 0, -1},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct unc_topology t = {0};
		struct unc_error e = {0};
		char dir[1024];

		tree_machine(cases[i].name, dir, sizeof(dir));
		if (read_dir(dir, &t, &e))
			fail_msg("%s: %s", cases[i].name, e.text);
		assert_string_equal(t.cpu_model, cases[i].model);
		assert_string_equal(t.hypervisor, "");
		assert_int_equal(t.cpu_count, 4);
		for (int cpu = 0; cpu < 4; cpu++) {
			assert_int_equal(t.cpus[cpu].id, cpu);
			assert_int_equal(t.cpus[cpu].socket, cases[i].socket);
			assert_int_equal(t.cpus[cpu].die, cases[i].die);
			assert_int_equal(t.cpus[cpu].node, 0);
			assert_true(t.cpus[cpu].online);
		}
		assert_int_equal(t.socket_count, 1);
		assert_int_equal(t.sockets[0], cases[i].socket);
		unc_topology_finish(&t);
	}
}

/* Two sockets with odd numbers; one CPU is offline and so has no topology directory. */
static void sockets_may_have_any_number(void **state)
{
	const struct tree *t = *state;
	struct unc_topology topology;

	tree_put(t, CPUS "present", "0-3,64\n");
	tree_put(t, CPUS "online", "0-1,3,64\n");
	tree_cpu(t, 0, "physical_package_id", "2364\n");
	tree_cpu(t, 1, "physical_package_id", "36\n");
	tree_cpu(t, 3, "physical_package_id", "36\n");
	tree_cpu(t, 64, "physical_package_id", "2364\n");
	tree_cpu(t, 0, "die_id", "1\n");
	tree_put(t, "sys/devices/system/node/node0/cpulist", "1,3\n");
	tree_put(t, "sys/devices/system/node/node8/cpulist", "0,64\n");
	tree_put(t, "sys/devices/system/node/node9/cpulist", "\n"); /* memory only */
	topology = topology_of(t);
	assert_int_equal(topology.cpu_count, 5);
	assert_int_equal(topology.socket_count, 2);
	assert_int_equal(topology.sockets[0], 0);
	assert_int_equal(topology.sockets[1], 1);
	/* CPU 2, offline and without node, is behind the first CPUs of both sockets. */
	assert_int_equal(unc_topology_socket(&topology, 0), 0);
	assert_int_equal(unc_topology_socket(&topology, 3), 1);
	assert_int_equal(unc_topology_socket(&topology, 2), -1);
	assert_true(topology.unplaced);
	assert_int_equal(unc_topology_cpu(&topology, 0)->package, 2364);
	assert_int_equal(unc_topology_socket(&topology, 7), -1);
	assert_true(unc_topology_cpu(&topology, 64)->online);
	assert_false(unc_topology_cpu(&topology, 2)->online);
	assert_null(unc_topology_cpu(&topology, 7));
	assert_int_equal(unc_topology_cpu(&topology, 64)->node, 8);
	assert_int_equal(unc_topology_cpu(&topology, 3)->node, 0);
	assert_int_equal(unc_topology_cpu(&topology, 2)->node, -1);
	assert_int_equal(unc_topology_cpu(&topology, 0)->die, 1);
	assert_int_equal(unc_topology_cpu(&topology, 1)->die, -1);
	assert_null(unc_topology_cpu(&topology, 5));
	unc_topology_finish(&topology);
}

/* A package of -1 is no socket, and a socket without online CPU none to list. */
static void put_die(const struct tree *t, int cpu, const char *socket, const char *die)
{
	tree_cpu(t, cpu, "physical_package_id", socket);
	if (die)
		tree_cpu(t, cpu, "die_id", die);
}

/* Intel numbers the dies of each package from 0 on, AMD its nodes over all packages. The numbers do not depend on which are
 * online. */
static void dies_are_numbered_in_packages(void **state)
{
	static const struct {
		const char *ids[4], *packages[4];
		int numbers[4];
	} cases[] = {
		{{"0", "1", "0", "1"}, {"0", "0", "1", "1"}, {0, 1, 0, 1}},
		{{NULL, "1", "0", "1"}, {"0", "0", "1", "1"}, {0, 1, 0, 1}},
		{{"0", "1", NULL, "1"}, {"0", "0", "1", "1"}, {0, 1, 0, 1}},
		{{NULL, "1", NULL, NULL}, {"0", "0", "1", "1"}, {0, 1, 0, 0}},
		{{"0", "1", "2", "3"}, {"0", "0", "1", "1"}, {0, 1, 0, 1}},
		{{"0", "1", NULL, "3"}, {"0", "0", "1", "1"}, {0, 1, 0, 1}},
		{{"0", "1"}, {"0", "1"}, {0, 0}}, /* Zen 2 and later: one node each */
		{{NULL, "1"}, {"0", "1"}, {0, 0}},
		{{"-1", "-1"}, {"36", "2364"}, {0, 0}}, /* Arm */
	};
	const struct tree *t = *state;

	tree_put(t, CPUS "present", "0-3\n");
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct unc_topology topology;

		for (int cpu = 0; cpu < 4; cpu++) {
			const char *id = cases[i].ids[cpu];

			tree_put(t, UNC_PATH(CPUS "cpu%d/online", cpu), id ? "1\n" : "0\n");
			put_die(t, cpu, id ? cases[i].packages[cpu] : "-1", id ? id : "-1");
		}
		topology = topology_of(t);
		for (int cpu = 0; cpu < 4; cpu++)
			assert_int_equal(unc_topology_die_in_package(&topology, cpu),
					 cases[i].numbers[cpu]);
		unc_topology_finish(&topology);
	}
}

static int die_socket(const struct unc_topology *t, int number)
{
	const struct unc_die *die = unc_topology_numbered_die(t, number);

	return die ? die->socket : -1;
}

/* Over the whole machine, whatever the numbers of packages and of their dies. Linux since 6.9 numbers them by package
 * (linux arch/x86/kernel/cpu/topology.c, topology_get_logical_id()), before by CPU (linux arch/x86/kernel/smpboot.c,
 * topology_update_die_map()). */
static void dies_are_numbered_over_all_packages(void **state)
{
	static const struct {
		const char *kernel;
		int numbers[6];
	} cases[] = {
		{"6.9.0\n", {2, 3, 0, 1, 2, 0}},
		{"7.2.12-amd64\n", {2, 3, 0, 1, 2, 0}},
		{"6.8.12\n", {0, 1, 2, 3, 0, 2}},
		{"5.15.0\n", {0, 1, 2, 3, 0, 2}},
	};
	const struct tree *t = *state;

	tree_put(t, CPUS "present", "0-5\n");
	put_die(t, 0, "2364\n", "0\n");
	put_die(t, 1, "2364\n", "7\n");
	put_die(t, 2, "36\n", "1\n");
	put_die(t, 3, "36\n", "3\n");
	put_die(t, 4, "2364\n", "0\n");
	put_die(t, 5, "36\n", "1\n");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct unc_topology topology;

		tree_put(t, "proc/sys/kernel/osrelease", cases[i].kernel);
		topology = topology_of(t);
		for (int cpu = 0; cpu < 6; cpu++) {
			int number = cases[i].numbers[cpu];

			assert_int_equal(unc_topology_die(&topology, cpu), number);
			assert_int_equal(die_socket(&topology, number),
					 unc_topology_socket(&topology, cpu));
		}
		assert_int_equal(unc_topology_socket(&topology, 1), 0);
		assert_int_equal(unc_topology_socket(&topology, 5), 1);
		assert_int_equal(unc_topology_die(&topology, 6), -1);
		assert_int_equal(die_socket(&topology, 4), -1);
		assert_int_equal(die_socket(&topology, -1), -1);
		unc_topology_finish(&topology);
	}
}

static void assert_dies(const struct unc_topology *t, int first, int second, int third)
{
	const int numbers[] = {first, second, third};

	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(t->dies[i].number, numbers[i]);
		assert_int_equal(unc_topology_die(t, t->dies[i].cpu), numbers[i]);
	}
	assert_int_equal(unc_topology_knows_dies(t), first >= 0 && second >= 0 && third >= 0);
}

/* Packages 0, 2 and 3 have an online CPU: whether the offline CPU 1 is a die between them, /sys does not say. Dies keep
 * their numbers while they are offline. */
static void dies_beside_an_offline_cpu_need_evidence(void **state)
{
	const struct tree *t = *state;
	struct unc_topology topology;

	tree_put(t, CPUS "present", "0-3\n");
	tree_put(t, CPUS "online", "0,2-3\n");
	put_die(t, 0, "0\n", "0\n");
	put_die(t, 2, "2\n", "0\n");
	put_die(t, 3, "3\n", "0\n");
	topology = topology_of(t);
	assert_int_equal(topology.die_count, 3);
	assert_dies(&topology, -1, -1, -1);
	assert_int_equal(unc_topology_die(&topology, 1), -1);
	/* A driver's files for three dies leave no place for another one. */
	assert_true(unc_topology_number_dies(&topology, 3, NULL));
	assert_dies(&topology, 0, 1, 2);
	/* With files for four the place of each must be shown. */
	assert_false(unc_topology_number_dies(&topology, 4, NULL));
	assert_dies(&topology, -1, -1, -1);
	assert_false(unc_topology_number_dies(&topology, 4, (const int[]){0, -1, 2, 3}));
	assert_dies(&topology, 0, 2, 3);
	assert_int_equal(die_socket(&topology, 2), 2);
	assert_int_equal(die_socket(&topology, 1), -1);
	assert_false(unc_topology_number_dies(&topology, 4, (const int[]){0, -1, -1, 3}));
	assert_dies(&topology, 0, -1, 3);
	unc_topology_finish(&topology);
}

/* Before kernels told dies, a package was one. */
static void a_package_without_dies_is_one(void **state)
{
	const struct tree *t = *state;
	struct unc_topology topology;

	tree_put(t, CPUS "present", "0-2\n");
	put_die(t, 0, "0\n", NULL);
	put_die(t, 1, "1\n", NULL);
	put_die(t, 2, "1\n", NULL);
	topology = topology_of(t);
	assert_int_equal(unc_topology_die(&topology, 0), 0);
	assert_int_equal(unc_topology_die(&topology, 2), 1);
	assert_int_equal(die_socket(&topology, 1), 1);
	assert_int_equal(die_socket(&topology, 2), -1);
	unc_topology_finish(&topology);
}

/* The other socket may be the lower one, and PMUs number it so. */
static void a_socket_that_is_offline_keeps_its_number(void **state)
{
	const struct tree *t = *state;
	struct unc_topology topology;

	tree_put(t, CPUS "present", "0-5\n");
	tree_put(t, CPUS "online", "2\n");
	tree_cpu(t, 2, "physical_package_id", "1\n");
	tree_put(t, "sys/devices/system/node/node0/cpulist", "\n");
	tree_put(t, "sys/devices/system/node/node0/cpu0/online", "0\n");
	tree_put(t, "sys/devices/system/node/node0/cpu1/online", "0\n");
	tree_put(t, "sys/devices/system/node/node1/cpulist", "2\n");
	tree_put(t, "sys/devices/system/node/node1/cpu3/online", "0\n");
	tree_put(t, "sys/devices/system/node/node2/cpulist", "\n"); /* memory only */
	topology = topology_of(t);
	assert_int_equal(topology.socket_count, 1);
	assert_int_equal(topology.sockets[0], 1);
	assert_int_equal(topology.offline_count, 1);
	assert_int_equal(topology.offline[0].socket, 0);
	assert_int_equal(topology.offline[0].cpu, 0);
	assert_int_equal(unc_topology_socket(&topology, 1), 0);
	assert_int_equal(unc_topology_socket(&topology, 3), 1);
	assert_int_equal(unc_topology_socket(&topology, 5), -1);
	assert_int_equal(unc_topology_node_socket(&topology, 0), 0);
	assert_int_equal(unc_topology_node_socket(&topology, 1), 1);
	assert_int_equal(unc_topology_node_socket(&topology, 2), -1);
	assert_int_equal(topology.cpus[3].node, 1);
	assert_int_equal(topology.cpus[5].node, -1);
	unc_topology_finish(&topology);
}

/* Two CPUs in each of four nodes, whose `distance` is that of two sockets with two nodes each, or of four sockets. */
static void put_nodes(const struct tree *t, const char *const distances[4])
{
	for (int node = 0; node < 4; node++) {
		char path[80];

		for (int cpu = 2 * node; cpu < 2 * node + 2; cpu++) {
			snprintf(path, sizeof(path), "sys/devices/system/node/node%d/cpu%d/online",
				 node, cpu);
			tree_put(t, path, "1\n");
		}
		snprintf(path, sizeof(path), "sys/devices/system/node/node%d/distance", node);
		if (distances)
			tree_put(t, path, distances[node]);
	}
}

/* CPUs 2 and 3, a node of their own, are offline; CPUs 0 and 1 are package 36, and 4 to 7 package 116, or two. */
static void nodes_place_offline_cpus(void **state)
{
	static const char *const two[] = {"10 12 21 21\n", "12 10 21 21\n", "21 21 10 12\n",
					  "21 21 12 10\n"};
	static const char *const four[] = {"10 21 21 21\n", "21 10 21 21\n", "21 21 10 21\n",
					   "21 21 21 10\n"};
	/* The Opterons of socket G34: two nodes each, all of them equally far from each other. */
	static const char *const equal[] = {"10 16 16 16\n", "16 10 16 16\n", "16 16 10 16\n",
					    "16 16 16 10\n"};
	static const struct {
		const char *const *distances;
		const char *last; /* the package of CPUs 6 and 7 */
		int of_2, of_4;   /* the numbers of their sockets */
		size_t offline;
	} cases[] = {
		{two, "116\n", 0, 1, 0},      {four, "117\n", 1, 2, 1},
		{NULL, "117\n", 1, 2, 1},    /* one node each */
		{NULL, "116\n", -1, 116, 0}, /* several, so that it may be one of any */
		{equal, "117\n", -1, 116, 0},
	};
	const struct tree *t = *state;

	tree_put(t, CPUS "present", "0-7\n");
	tree_put(t, CPUS "online", "0-1,4-7\n");
	for (int cpu = 0; cpu < 6; cpu++)
		if (cpu < 2 || cpu > 3)
			tree_cpu(t, cpu, "physical_package_id", cpu < 2 ? "36\n" : "116\n");
	for (int node = 0; node < 4; node++) {
		char path[80], list[8];

		snprintf(path, sizeof(path), "sys/devices/system/node/node%d/cpulist", node);
		snprintf(list, sizeof(list), "%d-%d\n", 2 * node, 2 * node + 1);
		tree_put(t, path, node == 1 ? "\n" : list);
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct unc_topology topology;

		put_nodes(t, cases[i].distances);
		for (int node = 0; node < 4 && !cases[i].distances; node++) {
			char path[600];

			snprintf(path, sizeof(path), "%s/sys/devices/system/node/node%d/distance",
				 t->dir, node);
			remove(path);
		}
		tree_cpu(t, 6, "physical_package_id", cases[i].last);
		tree_cpu(t, 7, "physical_package_id", cases[i].last);
		topology = topology_of(t);
		assert_int_equal(unc_topology_socket(&topology, 2), cases[i].of_2);
		assert_int_equal(unc_topology_socket(&topology, 3), cases[i].of_2);
		assert_int_equal(unc_topology_socket(&topology, 4), cases[i].of_4);
		assert_int_equal(topology.offline_count, cases[i].offline);
		assert_int_equal(topology.unplaced, cases[i].of_2 < 0);
		unc_topology_finish(&topology);
	}
}

/* Packages 36 and 116 with CPUs in turn; CPU 0 offline does not make the other socket the first. */
static void one_offline_cpu_moves_no_socket(void **state)
{
	const struct tree *t = *state;
	struct unc_topology topology;

	tree_put(t, CPUS "present", "0-5\n");
	tree_put(t, CPUS "online", "1-5\n");
	for (int cpu = 1; cpu < 6; cpu++)
		tree_cpu(t, cpu, "physical_package_id", cpu % 2 ? "36\n" : "116\n");
	tree_put(t, "sys/devices/system/node/node0/cpulist", "2,4\n");
	tree_put(t, "sys/devices/system/node/node0/cpu0/online", "0\n");
	tree_put(t, "sys/devices/system/node/node1/cpulist", "1,3,5\n");
	topology = topology_of(t);
	for (int cpu = 0; cpu < 6; cpu++)
		assert_int_equal(unc_topology_socket(&topology, cpu), cpu % 2);
	assert_int_equal(topology.offline_count, 0);
	unc_topology_finish(&topology);
	for (int cpu = 1; cpu < 6; cpu++)
		tree_cpu(t, cpu, "physical_package_id", cpu % 2 ? "0\n" : "1\n");
	topology = topology_of(t);
	for (int cpu = 0; cpu < 6; cpu++)
		assert_int_equal(unc_topology_socket(&topology, cpu), !(cpu % 2));
	assert_int_equal(topology.offline_count, 0);
	unc_topology_finish(&topology);
}

static void unknown_sockets_are_not_listed(void **state)
{
	const struct tree *t = *state;
	struct unc_topology topology;

	tree_put(t, CPUS "present", "0-2\n");
	tree_put(t, CPUS "online", "0-1\n");
	tree_cpu(t, 0, "physical_package_id", "-1\n");
	tree_cpu(t, 1, "physical_package_id", "nonsense\n");
	tree_cpu(t, 2, "physical_package_id", "5\n");
	topology = topology_of(t);
	assert_int_equal(topology.socket_count, 0);
	assert_int_equal(topology.cpus[0].socket, -1);
	assert_int_equal(topology.cpus[1].socket, -1);
	assert_int_equal(topology.cpus[2].socket, 5);
	unc_topology_finish(&topology);
}

static void a_machine_without_cpus_is_an_error(void **state)
{
	static const struct {
		const char *path, *text, *says;
	} cases[] = {
		{CPUS "present", "", "cpu names no CPU: it has no list"},
		{CPUS "present", "zero\n", "present: 'zero' is not a valid list"},
		{CPUS "online", "\n", "cpu names no CPU: it has no list"},
		{CPUS "cpufreq/boost", "1\n", "cpu names no CPU: it has no list"},
	};
	struct tree *t = *state;
	struct unc_topology topology = {.cpu_count = 99};
	struct unc_error e;

	assert_int_equal(read_dir(t->dir, &topology, &e), -ENODEV);
	assert_non_null(strstr(e.text, "is /sys mounted there?"));
	for (size_t i = 0; i < COUNT(cases); i++) {
		tree_remove(t);
		tree_make(t);
		tree_put(t, cases[i].path, cases[i].text);
		assert_int_equal(read_dir(t->dir, &topology, &e), -ENODEV);
		assert_non_null(strstr(e.text, cases[i].says));
		assert_int_equal(topology.cpu_count, 99);
	}
}

/* Two CPUs, of which the second is offline, by whatever files are there. */
static void cpus_are_found_without_a_list(void **state)
{
	static const struct {
		const char *present, *online, *fault; /* NULL: none */
	} cases[] = {
		{"0-1\n", "0\n", NULL},
		{NULL, "0\n", NULL},
		{NULL, NULL, NULL},
		{"0-1\n", NULL, NULL},
		{"", "", NULL},
		{"0-", "0\n", "present: '0-' is not a valid list of CPUs such as 0-3,8"},
		{"0-1\n", "x", "online: 'x' is not a valid list"},
		{"0\n", "0\n", NULL},
	};
	struct tree *t = *state;

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct unc_topology topology;
		bool second = i < COUNT(cases) - 1;

		tree_remove(t);
		tree_make(t);
		if (cases[i].present)
			tree_put(t, CPUS "present", cases[i].present);
		if (cases[i].online)
			tree_put(t, CPUS "online", cases[i].online);
		put_die(t, 0, "0\n", NULL);
		tree_put(t, CPUS "cpu1/online", "0\n");
		topology = topology_of(t);
		assert_int_equal(topology.cpu_count, second ? 2 : 1);
		assert_true(topology.cpus[0].online);
		assert_int_equal(topology.cpus[0].socket, 0);
		assert_true(!second || !topology.cpus[1].online);
		assert_int_equal(topology.faults.count, cases[i].fault ? 1 : 0);
		if (cases[i].fault)
			assert_non_null(strstr(topology.faults.items[0], cases[i].fault));
		unc_topology_finish(&topology);
	}
}

/* Linux 5.15-rc1 ended lists with a NUL (commit c86a2d9058c5): hwloc's 128arm-2pa2n8cluster4co, where lstopo finds
 * packages 36 and 3180. */
static void lists_may_end_with_a_nul(void **state)
{
	const struct tree *t = *state;
	struct unc_topology topology;

	tree_put_bytes(t, CPUS "present", "0-1\n\0", 5);
	tree_put_bytes(t, CPUS "online", "0-1\0\n", 5);
	put_die(t, 0, "36\n", NULL);
	put_die(t, 1, "3180\n", NULL);
	tree_put_bytes(t, "sys/devices/system/node/node0/cpulist", "0\n\0", 3);
	tree_put_bytes(t, "sys/devices/system/node/node1/cpulist", "1\n\0\0", 4);
	tree_put_bytes(t, "sys/devices/system/node/node2/cpulist", "\n\0", 2);
	topology = topology_of(t);
	assert_int_equal(topology.cpu_count, 2);
	assert_int_equal(topology.socket_count, 2);
	assert_int_equal(topology.faults.count, 0);
	for (int cpu = 0; cpu < 2; cpu++) {
		assert_true(topology.cpus[cpu].online);
		assert_int_equal(topology.cpus[cpu].node, cpu);
	}
	unc_topology_finish(&topology);
}

/* CPU 33 is of node 1 by a list, a mask, or a link. */
static void nodes_are_found_without_a_list(void **state)
{
	static const struct {
		const char *list, *map, *fault;
	} cases[] = {
		{"33\n", NULL, NULL},
		{NULL, "00000002,00000000\n", NULL},
		{NULL, "2,00000000\n", NULL},
		{NULL, NULL, NULL},
		{"33,", "2,00000000", "node1/cpulist: '33,' is not a valid list of CPUs"},
		{"", "2;0", "node1/cpumap: '2;0' is not a valid mask of CPUs such as"},
	};
	struct tree *t = *state;

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct unc_topology topology;

		tree_remove(t);
		tree_make(t);
		tree_put(t, CPUS "present", "0,33\n");
		tree_put(t, "sys/devices/system/node/node0/cpulist", "0\n");
		if (cases[i].list)
			tree_put(t, "sys/devices/system/node/node1/cpulist", cases[i].list);
		if (cases[i].map)
			tree_put(t, "sys/devices/system/node/node1/cpumap", cases[i].map);
		if ((!cases[i].list && !cases[i].map) || i == COUNT(cases) - 1)
			tree_put(t, "sys/devices/system/node/node1/cpu33/online", "1\n");
		topology = topology_of(t);
		assert_int_equal(topology.cpus[0].node, 0);
		assert_int_equal(topology.cpus[1].node, 1);
		assert_int_equal(topology.faults.count, cases[i].fault ? 1 : 0);
		if (cases[i].fault)
			assert_non_null(strstr(topology.faults.items[0], cases[i].fault));
		unc_topology_finish(&topology);
	}
}

/* POWER keeps topology/ of offline CPUs. */
static void an_offline_socket_with_a_number(void **state)
{
	const struct tree *t = *state;
	struct unc_topology topology;

	tree_put(t, CPUS "present", "0,8,40,48\n");
	tree_put(t, CPUS "online", "0,48\n");
	put_die(t, 0, "0\n", NULL);
	put_die(t, 8, "0\n", NULL);
	put_die(t, 40, "1\n", NULL);
	put_die(t, 48, "2\n", NULL);
	topology = topology_of(t);
	assert_int_equal(topology.socket_count, 2);
	assert_int_equal(topology.sockets[0], 0);
	assert_int_equal(topology.sockets[1], 2);
	assert_int_equal(topology.offline_count, 1);
	assert_int_equal(topology.offline[0].cpu, 40);
	unc_topology_finish(&topology);
}

#define X86(vendor, family, model, flags)                                                      \
	"processor\t: 0\nvendor_id\t: " vendor "\ncpu family\t: " family "\nmodel\t\t: " model \
	"\nmodel name\t: A (R) CPU\nflags\t\t: " flags "\nbugs\t\t: hypervisor_x\n\n"
#define ARM "processor\t: 0\nCPU implementer\t: 0x4E\nCPU architecture: 8\nCPU part\t: 0x004\n"

static void cpu_model_is_vendor_family_model(void **state)
{
	static const struct {
		const char *cpuinfo, *model;
	} cases[] = {
		{X86("GenuineIntel", "6", "143", "fpu"), "intel/6/143"},
		{X86("AuthenticAMD", "26", "2", "fpu"), "amd/26/2"},
		{X86("HygonGenuine", "24", "1", "fpu"), "hygon/24/1"},
		{X86("  Shanghai  ", "7", "91", "fpu"), "shanghai/7/91"},
		{X86("GenuineIntel", "6", "143", "fpu") X86("AuthenticAMD", "1", "2", "fpu"),
		 "intel/6/143"},
		{ARM, "arm/0x4e/0x004"},
		{"vendor_id : GenuineIntel\ncpu family : 6\n", "unknown"},
		{"processor : 0\ncpu : POWER9\n", "unknown"},
		/* As machines of hwloc's and util-linux' tests have them, and show_cpuinfo() of arch/ in Linux. */
		{"processor\t: 0\ncpu\t\t: POWER7 (architected), altivec supported\nclock\t\t: 3550MHz\n"
		 "revision\t: 2.1 (pvr 003f 0201)\n\ntimebase\t: 512000000\n",
		 "power/power7"},
		{"cpu\t\t: Cell Broadband Engine, altivec supported\nrevision\t: 5.1 (pvr 0070 0501)\n",
		 "power/cellbroadbandengine"},
		{"vendor_id       : IBM/S390\n# processors    : 4\nfeatures\t: esan3 zarch\n"
		 "processor 0: version = FF,  identification = 00ABCD,  machine = 2817\n",
		 "s390/2817"},
		{"vendor_id       : IBM/S390\n\ncpu number      : 0\nidentification  : 00ABCD\n"
		 "machine         : 8561\n",
		 "s390/8561"},
		{"processor\t: 0\nhart\t\t: 1\nisa\t\t: rv64imafdc\nmmu\t\t: sv39\n"
		 "uarch\t\t: sifive,u74-mc\nmvendorid\t: 0x489\nmarchid\t\t: 0x8000000000000007\n",
		 "riscv/0x489/0x8000000000000007"},
		{"processor\t: 0\nisa\t: rv64imafdcsu\nuarch\t: sifive,rocket0\n",
		 "riscv/sifiverocket0"},
		{"hart\t: 0\nisa\t: rv64imafdc\n", "riscv/rv64imafdc"},
		{"system type\t\t: generic-loongson-machine\n\nprocessor\t\t: 0\npackage\t\t\t: 0\n"
		 "CPU Family\t\t: Loongson-64bit\nModel Name\t\t: Loongson-3A5000\n",
		 "loongarch/loongson-64bit/loongson-3a5000"},
		{"cpu\t\t: TI UltraSparc II  (BlackBird)\nfpu\t\t: UltraSparc II integrated FPU\n"
		 "type\t\t: sun4u\n",
		 "sparc/tiultrasparcii"},
		{"processor  : 0\nvendor     : GenuineIntel\narch       : IA-64\nfamily     : 31\n"
		 "model      : 2\nrevision   : 7\n",
		 "ia64/31/2"},
		{"processor  : 0\narch       : IA-64\nfamily     : Itanium 2\nmodel      : 1\n",
		 "ia64/itanium2/1"},
		{"system type\t: loongson2f\nprocessor\t: 0\ncpu model\t: ICT Loongson-2 V0.3  FPU V0.1\n",
		 "mips/ictloongson-2v03fpuv01"},
		/* Old Arm kernels print these once, behind all CPUs. */
		{"Processor\t: ARMv7 Processor rev 1 (v7l)\nprocessor\t: 0\n\nprocessor\t: 1\n\n"
		 "CPU implementer\t: 0x41\nCPU part\t: 0xc09\n",
		 "arm/0x41/0xc09"},
		{"vendor_id", "unknown"},
		{"", "unknown"},
	};
	const struct tree *t = *state;

	tree_put(t, CPUS "present", "0\n");
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct unc_topology topology;

		tree_put(t, "proc/cpuinfo", cases[i].cpuinfo);
		topology = topology_of(t);
		assert_string_equal(topology.cpu_model, cases[i].model);
		unc_topology_finish(&topology);
	}
}

static void cpu_brand_has_no_common_words(void **state)
{
	static const struct {
		const char *name, *brand;
	} cases[] = {
		{"Intel(R) Xeon(R) Platinum 8480+", "Intel Xeon Platinum 8480+"},
		{"Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz", "Intel Xeon E5-2680 v4"},
		{"Intel(R) Core(TM) i7-1185G7 @ 3.00GHz", "Intel Core i7-1185G7"},
		{"AMD EPYC 9654 96-Core Processor", "AMD EPYC 9654"},
		{"AMD Ryzen 7 5700G with Radeon Graphics", "AMD Ryzen 7 5700G"},
		{"AMD  EPYC   ", "AMD EPYC"},
		{"Intel Xeon (R) CPU", "Intel Xeon"},
		{"123456789012345678901234567890 123456789012345678901234567890 1234",
		 "123456789012345678901234567890 123456789012345678901234567890"},
		{"", ""},
	};
	const struct tree *t = *state;

	tree_put(t, CPUS "present", "0\n");
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct unc_topology topology;
		char text[200];

		snprintf(text, sizeof(text),
			 "vendor_id : GenuineIntel\nmodel name\t: %s\nx : Processor\n",
			 cases[i].name);
		tree_put(t, "proc/cpuinfo", text);
		topology = topology_of(t);
		assert_string_equal(topology.cpu_brand, cases[i].brand);
		unc_topology_finish(&topology);
	}
}

#define GUEST X86("GenuineIntel", "6", "1", "fpu hypervisor lahf_lm")
#define BARE X86("GenuineIntel", "6", "1", "fpu no_hypervisor hypervisor_not")
#define CLOCKS "sys/devices/system/clocksource/clocksource0/available_clocksource"

static const struct {
	const char *cpuinfo, *clocks, *type, *vendor, *product, *name;
} hypervisors[] = {
	{GUEST, "tsc kvm-clock \n", NULL, NULL, NULL, "KVM"},
	{GUEST, "hyperv_clocksource_tsc_page acpi_pm\n", NULL, NULL, NULL, "Hyper-V"},
	{GUEST, "xen tsc hpet\n", NULL, NULL, NULL, "Xen"},
	{GUEST, "tsc hpet\n", NULL, NULL, NULL, "an unknown hypervisor"},
	{GUEST, NULL, NULL, NULL, NULL, "an unknown hypervisor"},
	{GUEST, "tsc\n", NULL, "VMware, Inc.\n", "VMware7,1\n", "VMware"},
	{GUEST, "tsc\n", NULL, "QEMU\n", "Standard PC\n", "QEMU"},
	{GUEST, "tsc\n", NULL, "Amazon EC2\n", "m7i.large\n", "Amazon EC2"},
	{GUEST, "tsc\n", NULL, "Google\n", "Google Compute Engine\n", "Google Compute Engine"},
	{GUEST, "tsc\n", NULL, "Microsoft Corporation\n", "Virtual Machine\n", "Hyper-V"},
	{GUEST, "tsc\n", NULL, "ACME\n", "Server\n", "an unknown hypervisor"},
	{BARE, "tsc hpet\n", NULL, NULL, NULL, ""},
	{BARE, "tsc\n", NULL, "Amazon EC2\n", "m7i.metal-24xl\n", ""},
	{BARE, "tsc\n", NULL, "Google\n", "Google Compute Engine\n", ""},
	{BARE, "tsc\n", "xen\n", NULL, NULL, "Xen"},
	{ARM, NULL, NULL, "QEMU\n", "KVM Virtual Machine\n", "KVM"},
	{ARM, NULL, NULL, "Amazon EC2\n", "c8g.large\n", "Amazon EC2"},
	{ARM, NULL, NULL, "Amazon EC2\n", "c8g.metal-24xl\n", ""},
	{ARM, NULL, NULL, "Microsoft Corporation\n", "Surface Laptop\n", ""},
	{ARM, NULL, NULL, "NVIDIA\n", "Grace\n", ""},
};

static void hypervisors_are_named(void **state)
{
	struct tree *t = *state;

	for (size_t i = 0; i < COUNT(hypervisors); i++) {
		struct unc_topology topology;

		tree_remove(t);
		tree_make(t);
		tree_put(t, CPUS "present", "0\n");
		tree_put(t, "proc/cpuinfo", hypervisors[i].cpuinfo);
		if (hypervisors[i].clocks)
			tree_put(t, CLOCKS, hypervisors[i].clocks);
		if (hypervisors[i].type)
			tree_put(t, "sys/hypervisor/type", hypervisors[i].type);
		if (hypervisors[i].vendor) {
			tree_put(t, DMI "sys_vendor", hypervisors[i].vendor);
			tree_put(t, DMI "product_name", hypervisors[i].product);
		}
		topology = topology_of(t);
		if (strcmp(topology.hypervisor, hypervisors[i].name) != 0)
			fail_msg("case %zu: '%s', not '%s'", i, topology.hypervisor,
				 hypervisors[i].name);
		unc_topology_finish(&topology);
	}
}

/* read_hypervisor_powerpc() of lscpu, detect_vm_device_tree() of systemd; hypfs and sysinfo of s390: lscpu
 * reports KVM for the first line, with the control program of util-linux' dump s390-kvm. */
static void other_files_name_hypervisors(void **state)
{
#define DT "sys/firmware/devicetree/base/"
	static const struct {
		const char *path, *text, *second, *name;
		size_t len;
	} cases[] = {
		{"proc/sysinfo", "VM00 Name: GUEST\nVM00 Control Program: KVM/Linux       \n", NULL,
		 "KVM", 0},
		{"proc/sysinfo", "VM00 Control Program: z/VM    6.4.0         \n", NULL, "z/VM", 0},
		{"proc/sysinfo", "Type:  2817\nLPAR Name: LINUX\n", NULL, "", 0},
		{DT "hypervisor/compatible", "acme,hv", NULL, "an unknown hypervisor", 8},
		{DT "hypervisor/compatible", "linux,kvm", NULL, "KVM", 10},
		{DT "hypervisor/compatible", "xen,xen-4.17\0xen,xen", NULL, "Xen", 21},
		{"proc/device-tree/hypervisor/compatible", "linux,kvm", NULL, "KVM", 10},
		{DT "compatible", "linux,dummy-virt", NULL, "QEMU", 17},
		{DT "compatible", "qemu,pseries\0IBM,8335-GTA", NULL, "QEMU", 26},
		{DT "compatible", "fsl,imx8mm-evk\0fsl,imx8mm", NULL, "", 26},
		{DT "ibm,partition-name", "lpar1", DT "hmc-managed?", "PowerVM", 6},
		{DT "ibm,partition-name", "full", DT "hmc-managed?", "", 5},
		{DT "ibm,partition-name", "lpar1", NULL, "", 6},
	};
	struct tree *t = *state;

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct unc_topology topology;
		size_t len = cases[i].len ? cases[i].len : strlen(cases[i].text);

		tree_remove(t);
		tree_make(t);
		tree_put(t, CPUS "present", "0\n");
		tree_put(t, "proc/cpuinfo", ARM);
		tree_put_bytes(t, cases[i].path, cases[i].text, len);
		if (cases[i].second)
			tree_put_bytes(t, cases[i].second, "", 0);
		topology = topology_of(t);
		if (strcmp(topology.hypervisor, cases[i].name) != 0)
			fail_msg("case %zu: '%s', not '%s'", i, topology.hypervisor, cases[i].name);
		assert_true(!*topology.hypervisor == !*topology.guest);
		unc_topology_finish(&topology);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(machines_of_the_repository),
		cmocka_unit_test_setup_teardown(sockets_may_have_any_number, setup, teardown),
		cmocka_unit_test_setup_teardown(dies_are_numbered_in_packages, setup, teardown),
		cmocka_unit_test_setup_teardown(dies_are_numbered_over_all_packages, setup,
						teardown),
		cmocka_unit_test_setup_teardown(dies_beside_an_offline_cpu_need_evidence, setup,
						teardown),
		cmocka_unit_test_setup_teardown(nodes_place_offline_cpus, setup, teardown),
		cmocka_unit_test_setup_teardown(one_offline_cpu_moves_no_socket, setup, teardown),
		cmocka_unit_test_setup_teardown(a_package_without_dies_is_one, setup, teardown),
		cmocka_unit_test_setup_teardown(a_socket_that_is_offline_keeps_its_number, setup,
						teardown),
		cmocka_unit_test_setup_teardown(unknown_sockets_are_not_listed, setup, teardown),
		cmocka_unit_test_setup_teardown(a_machine_without_cpus_is_an_error, setup,
						teardown),
		cmocka_unit_test_setup_teardown(cpus_are_found_without_a_list, setup, teardown),
		cmocka_unit_test_setup_teardown(lists_may_end_with_a_nul, setup, teardown),
		cmocka_unit_test_setup_teardown(nodes_are_found_without_a_list, setup, teardown),
		cmocka_unit_test_setup_teardown(an_offline_socket_with_a_number, setup, teardown),
		cmocka_unit_test_setup_teardown(cpu_model_is_vendor_family_model, setup, teardown),
		cmocka_unit_test_setup_teardown(cpu_brand_has_no_common_words, setup, teardown),
		cmocka_unit_test_setup_teardown(hypervisors_are_named, setup, teardown),
		cmocka_unit_test_setup_teardown(other_files_name_hypervisors, setup, teardown),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
