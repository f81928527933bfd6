/* SPDX-License-Identifier: MIT */
/* Facts about the kernel's drivers: of several CPUs that read one register one is counted, and PMUs without hardware
 * are left out. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/text.h"
#include "helpers.h"
#include "uncore.h"

/* ---- machines ---- */

struct cpu {
	int socket, die, core;
	bool offline;
};

/* CPU i is cpus[i]; the CPU model is that of `cpuinfo`. */
static void make_machine(struct tree *t, const char *cpuinfo, const struct cpu *cpus, int count)
{
	struct unc_text online = {0};
	char text[64];

	tree_make(t);
	tree_put(t, "proc/cpuinfo", cpuinfo);
	snprintf(text, sizeof(text), "0-%d\n", count - 1);
	tree_put(t, "sys/devices/system/cpu/present", text);
	for (int i = 0; i < count; i++) {
		if (!cpus[i].offline)
			unc_text_add(&online, "%s%d", online.len ? "," : "", i);
		snprintf(text, sizeof(text), "%d\n", cpus[i].socket);
		tree_cpu(t, i, "physical_package_id", text);
		snprintf(text, sizeof(text), "%d\n", cpus[i].die);
		tree_cpu(t, i, "die_id", text);
		text[0] = '\0';
		for (int k = 0; k < count; k++)
			if (cpus[k].core == cpus[i].core && strlen(text) < 48)
				sprintf(text + strlen(text), "%s%d", *text ? "," : "", k);
		tree_cpu(t, i, "core_cpus_list", text);
	}
	tree_put(t, "sys/devices/system/cpu/online", online.data);
	unc_text_finish(&online);
}

#define INTEL(model)                                                \
	"processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: " \
	"6\nmodel\t\t: " #model "\nstepping\t: 7\nflags\t\t: fpu\n\n"
#define AMD(family, model)                                                                         \
	"processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: " #family "\nmodel\t\t: " #model \
	"\nstepping\t: 1\nflags\t\t: fpu\n\n"

static struct uncore *scan(const struct tree *t)
{
	struct uncore *u;

	assert_int_equal(uncore_new(&u), 0);
	if (uncore_set_root(u, t->dir) < 0 || uncore_scan(u) < 0)
		fail_msg("%s", uncore_error(u));
	return u;
}

static const struct uncore_pmu *pmu_named(const struct uncore *u, const char *name)
{
	for (size_t i = 0; i < uncore_pmu_count(u); i++)
		if (strcmp(uncore_pmu_name(uncore_pmu_at(u, i)), name) == 0)
			return uncore_pmu_at(u, i);
	fail_msg("no PMU %s", name);
	return NULL;
}

/* The CPUs that the PMU is counted from: "0 2". */
static void assert_cpus(const struct uncore *u, const char *name, const char *expected)
{
	const struct uncore_pmu *pmu = pmu_named(u, name);
	char text[64] = "";

	for (size_t i = 0; i < uncore_pmu_cpu_count(pmu); i++)
		sprintf(text + strlen(text), "%s%d", i ? " " : "", uncore_pmu_cpu_at(pmu, i));
	assert_string_equal(text, expected);
}

/* ---- energy counters ---- */

/* rapl.c of Linux: AMD has a counter for each package, whose core complexes Linux 6.9 to 6.11.5 took for dies (commit
 * 8d72eba1cf8c), and since 7.0 any CPU of a package can read it (commit 525e0064f3d8). */
static const struct cpu packages[] = {{0, 0, 0, false}, {0, 1, 1, false}, {0, 2, 2, false},
				      {0, 3, 3, false}, {1, 0, 4, false}, {1, 1, 5, false},
				      {1, 2, 6, false}, {1, 3, 7, false}};

static void one_cpu_of_a_package_reads_its_energy(void **state)
{
	static const struct {
		const char *cpuinfo, *mask, *cpus;
	} cases[] = {
		{AMD(25, 17), "0-7", "0 4"},
		{AMD(25, 17), "0,4", "0 4"},
		{AMD(26, 2), "1-3,6-7", "1 6"},
		{INTEL(143), "0-7", "0 4"},
		{AMD(23, 49), "3", "3"},
		/* Cascade Lake AP: each die has its own */
		{INTEL(85), "0-7", "0 1 2 3 4 5 6 7"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct tree t;
		struct uncore *u;

		make_machine(&t, cases[i].cpuinfo, packages, COUNT(packages));
		tree_pmu(&t, "power", "type", "30");
		tree_pmu(&t, "power", "cpumask", cases[i].mask);
		tree_pmu(&t, "power", "events/energy-pkg", "event=0x02");
		tree_pmu(&t, "power", "events/energy-pkg.scale", "2.3283064365386962890625e-10");
		u = scan(&t);
		assert_cpus(u, "power", cases[i].cpus);
		uncore_free(u);
		tree_remove(&t);
	}
}

static void two_dies_with_all_cpus_in_the_mask(void **state)
{
	static const struct cpu cpus[] = {{0, 0, 0, false}, {0, 0, 0, false}, {0, 1, 1, false},
					  {0, 1, 1, false}, {1, 0, 2, false}, {1, 1, 3, false}};
	struct tree t;
	struct uncore *u;

	(void)state;
	make_machine(&t, INTEL(85), cpus, COUNT(cpus));
	tree_pmu(&t, "power", "type", "30");
	tree_pmu(&t, "power", "cpumask", "0-5");
	u = scan(&t);
	assert_cpus(u, "power", "0 2 4 5");
	uncore_free(u);
	tree_remove(&t);
}

/* A mask may still have a CPU that went offline. */
static void the_cpu_is_one_that_is_online(void **state)
{
	static const struct cpu cpus[] = {{0, 0, 0, true},
					  {0, 0, 1, false},
					  {0, 0, 2, false},
					  {1, 0, 3, true},
					  {1, 0, 4, true}};
	struct tree t;
	struct uncore *u;

	(void)state;
	make_machine(&t, AMD(25, 17), cpus, COUNT(cpus));
	tree_pmu(&t, "power", "type", "30");
	tree_pmu(&t, "power", "cpumask", "0-4");
	u = scan(&t);
	assert_cpus(u, "power", "1 3"); /* of the second package none is: it is not forgotten */
	uncore_free(u);
	tree_remove(&t);
}

/* An event may still be counted from any CPU of the mask. */
static void other_cpus_of_the_mask_can_be_named(void **state)
{
	struct uncore_monitor *m;
	struct tree t;
	struct uncore *u;

	(void)state;
	make_machine(&t, AMD(25, 17), packages, COUNT(packages));
	tree_pmu(&t, "power", "type", "30");
	tree_pmu(&t, "power", "cpumask", "0-7");
	tree_pmu(&t, "power", "events/energy-pkg", "event=0x02");
	tree_pmu(&t, "power", "format/event", "config:0-7");
	u = scan(&t);
	assert_int_equal(uncore_monitor_new(&m, u), 0);
	assert_int_equal(uncore_monitor_add_events(m, "power/energy-pkg,cpu=3/"), 0);
	assert_int_equal(uncore_monitor_plan(m), 0);
	assert_int_equal(uncore_monitor_counter_count(m), 1);
	assert_int_equal(uncore_monitor_counter_at(m, 0)->cpu, 3);
	uncore_monitor_free(m);
	assert_int_equal(uncore_monitor_new(&m, u), 0);
	assert_int_equal(uncore_monitor_add_events(m, "power/energy-pkg,cpu=9/"), -EINVAL);
	uncore_monitor_free(m);
	uncore_free(u);
	tree_remove(&t);
}

/* ---- data files ---- */

#define FACTS(each, more)                                        \
	"  - counts: controller\n    cpu: near\n    each: " each \
	"\n    without_hardware: possible\n    number: machine\n    evidence: a driver\n" more

/* A machine with PMUs box_0 to box_2, all counted from CPUs 0 to 3, and a family of them. */
static struct uncore *scan_boxes(struct tree *t, const char *drivers)
{
	static const struct cpu cpus[] = {
		{0, 0, 0, false}, {0, 0, 0, false}, {0, 0, 1, false}, {0, 0, 1, false}};
	char data[600];
	struct unc_text text = {0};
	struct uncore *u;

	make_machine(t, INTEL(143), cpus, COUNT(cpus));
	for (int i = 0; i < 3; i++) {
		char name[16];

		snprintf(name, sizeof(name), "box_%d", i);
		machine_pmu(t, name, "40", "0-3");
	}
	unc_text_add(&text,
		     "family: box\ntitle: Boxes\ninstance: box\nplace: controller\n"
		     "pmus: [{name: 'box_{n}'}]\nmodels: {spr: intel/6/143, skx: intel/6/85}\n"
		     "events: {work: {title: work, terms: event=1, evidence: me}}\n"
		     "metrics: {memory.work: {title: Work, unit: 1/s, formula: work / seconds, "
		     "evidence: me}}\ndrivers:\n%s",
		     drivers);
	tree_put(t, "data/box.yaml", text.data);
	unc_text_finish(&text);
	assert_int_equal(uncore_new(&u), 0);
	tree_path(t, "data", data, sizeof(data));
	assert_int_equal(uncore_add_data(u, data), 0);
	if (uncore_set_root(u, t->dir) < 0 || uncore_scan(u) < 0)
		fail_msg("%s", uncore_error(u));
	return u;
}

static void each_is_a_part_of_the_machine(void **state)
{
	static const char *const cases[][2] = {
		{FACTS("cpu", ""), "0 1 2 3"},     {FACTS("core", ""), "0 2"},
		{FACTS("die", ""), "0"},           {FACTS("machine", ""), "0"},
		{FACTS("unknown", ""), "0 1 2 3"}, {FACTS("cluster", ""), "0 1 2 3"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct tree t;
		struct uncore *u = scan_boxes(&t, cases[i][0]);

		assert_cpus(u, "box_1", cases[i][1]);
		uncore_free(u);
		tree_remove(&t);
	}
}

static void the_first_entry_that_fits_has_the_facts(void **state)
{
	struct tree t;
	struct uncore *u = scan_boxes(&t, "  - when: skx\n    counts: channel\n    cpu: reader\n"
					  "    each: machine\n    without_hardware: never\n"
					  "    number: none\n    evidence: another model\n"
					  "  - pmus: box_2 bax_*\n    counts: machine\n"
					  "    cpu: reader\n    each: machine\n"
					  "    without_hardware: unknown\n    number: none\n"
					  "    evidence: this one\n" FACTS("cpu", ""));
	const struct uncore_driver *driver = uncore_pmu_driver(pmu_named(u, "box_2"));
	const struct uncore_metric *m = NULL;

	(void)state;
	assert_string_equal(driver->pmus, "box_2 bax_*");
	assert_string_equal(driver->counts, "machine");
	assert_string_equal(driver->cpu, "reader");
	assert_string_equal(driver->each, "machine");
	assert_string_equal(driver->without_hardware, "unknown");
	assert_string_equal(driver->number, "none");
	assert_string_equal(driver->evidence, "this one");
	assert_null(driver->absent);
	assert_string_equal(uncore_pmu_driver(pmu_named(u, "box_1"))->counts, "controller");
	assert_cpus(u, "box_2", "0");
	assert_cpus(u, "box_1", "0 1 2 3");
	for (size_t i = 0; !m && i < uncore_metric_count(u); i++)
		if (strcmp(uncore_metric_name(uncore_metric_at(u, i)), "memory.work") == 0)
			m = uncore_metric_at(u, i);
	assert_ptr_equal(uncore_metric_driver_at(m, 0), driver);
	assert_string_equal(uncore_metric_driver_at(m, 1)->evidence, "a driver");
	assert_null(uncore_metric_driver_at(m, 2));
	uncore_free(u);
	tree_remove(&t);
}

static void units_that_do_not_exist_are_not_counted(void **state)
{
	static const struct {
		const char *facts;
		bool absent;
	} cases[] = {
		{FACTS("cpu", "    absent: 1 7\n"), true},
		{FACTS("cpu", "    absent: 7 17 01\n"), false},
		{FACTS("cpu", "    absent: 1\n    unless: bax_1\n"), true},
		{FACTS("cpu", "    absent: 1\n    unless: bax_1 box_2\n"), false},
		{FACTS("cpu", "    absent: 1\n    unless: '*_2'\n"), false},
		{FACTS("cpu", "    absent: 1\n    where: bax_1\n"), false},
		{FACTS("cpu", "    absent: 1\n    where: bax_1 box_2\n"), true},
		{FACTS("cpu", "    absent: 1\n    where: box_2\n    unless: box_0\n"), false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct uncore_monitor *m;
		struct tree t;
		struct uncore *u = scan_boxes(&t, cases[i].facts);
		size_t counters = cases[i].absent ? 8 : 12;
		const char *why = uncore_pmu_absent(pmu_named(u, "box_1"));

		assert_null(uncore_pmu_absent(pmu_named(u, "box_0")));
		assert_int_equal(why != NULL, cases[i].absent);
		if (why)
			assert_contains(why, "box_1 has no hardware");
		assert_int_equal(uncore_monitor_new(&m, u), 0);
		assert_int_equal(uncore_monitor_add_metrics(m, "memory.work"), 0);
		assert_int_equal(uncore_monitor_plan(m), 0);
		assert_int_equal(uncore_monitor_counter_count(m), counters);
		uncore_monitor_free(m);
		assert_int_equal(uncore_monitor_new(&m, u), 0);
		assert_int_equal(uncore_monitor_add_events(m, "box/work/"), 0);
		assert_int_equal(uncore_monitor_plan(m), 0);
		assert_int_equal(uncore_monitor_counter_count(m), counters);
		uncore_monitor_free(m);
		assert_int_equal(uncore_monitor_new(&m, u), 0);
		assert_int_equal(uncore_monitor_add_events(m, "box_1/work/"),
				 cases[i].absent ? -ENODEV : 0);
		if (why)
			assert_contains(uncore_error(u), "box_1 has no hardware");
		uncore_monitor_free(m);
		uncore_free(u);
		tree_remove(&t);
	}
}

/* Every PMU type of linux arch/x86/events/intel/uncore_snbep.c with counters in PCI config space, which
 * snbep_uncore_pci_read_counter() reads in two halves, and those with MSRs that only raw events count: perf_ctr_bits. */
static void registers_of_raw_events(void **state)
{
	static const struct {
		const char *cpu, *pmu;
		unsigned bits;
		bool halves;
	} cases[] = {
		{INTEL(45), "uncore_r2pcie", 44, true},
		{INTEL(45), "uncore_r3qpi_0", 44, true},
		{INTEL(45), "uncore_ha", 48, true},
		{INTEL(45), "uncore_imc_0", 48, true},
		{INTEL(45), "uncore_qpi_0", 48, true},
		{INTEL(62), "uncore_r2pcie", 44, true},
		{INTEL(62), "uncore_r3qpi_1", 44, true},
		{INTEL(62), "uncore_irp", 48, true},
		{INTEL(63), "uncore_r2pcie", 48, true},
		{INTEL(63), "uncore_r3qpi_2", 44, true},
		{INTEL(63), "uncore_sbox_3", 44, false},
		{INTEL(79), "uncore_r2pcie", 48, true},
		{INTEL(79), "uncore_r3qpi_2", 48, true},
		{INTEL(79), "uncore_sbox_0", 48, false},
		{INTEL(86), "uncore_r2pcie", 48, true},
		{INTEL(87), "uncore_m2pcie", 48, true},
		{INTEL(85), "uncore_m2pcie_3", 48, true},
		{INTEL(85), "uncore_m3upi_2", 48, true},
		{INTEL(85), "uncore_m2m_0", 48, true},
		{INTEL(85), "uncore_upi_0", 48, true},
		{INTEL(134), "uncore_pcie3", 48, true},
		{INTEL(134), "uncore_m2pcie", 48, false},
		{INTEL(106), "uncore_m2pcie_5", 48, false},
		{INTEL(106), "uncore_m3upi_0", 48, true},
		{INTEL(106), "uncore_m2m_0", 48, true},
		{INTEL(106), "uncore_upi_0", 48, true},
		{INTEL(143), "uncore_m2pcie_0", 48, false},
		{INTEL(143), "uncore_type_3_0", 48, false},
		{INTEL(143), "uncore_m3upi_0", 48, true},
	};
	static const struct cpu one = {0};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct uncore_counter *counter;
		struct uncore_monitor *m;
		struct uncore *u;
		struct tree t;
		char event[64];

		make_machine(&t, cases[i].cpu, &one, 1);
		tree_pmu(&t, cases[i].pmu, "type", "20\n");
		tree_pmu(&t, cases[i].pmu, "cpumask", "0\n");
		tree_pmu(&t, cases[i].pmu, "format/event", "config:0-7\n");
		u = scan(&t);
		assert_int_equal(uncore_monitor_new(&m, u), 0);
		snprintf(event, sizeof(event), "%s/event=0x13/", cases[i].pmu);
		assert_int_equal(uncore_monitor_add_events(m, event), 0);
		assert_int_equal(uncore_monitor_plan(m), 0);
		counter = uncore_monitor_counter_at(m, 0);
		if (counter->register_bits != cases[i].bits ||
		    counter->register_halves != cases[i].halves)
			fail_msg("%s of model %.80s: %u bits", cases[i].pmu, cases[i].cpu + 40,
				 counter->register_bits);
		uncore_monitor_free(m);
		uncore_free(u);
		tree_remove(&t);
	}
}

/* The hardware is where the firmware puts its device, whichever CPU reads it: linux drivers/perf/fujitsu_uncore_pmu.c,
 * dwc_pcie_pmu.c, hisilicon/hisi_pcie_pmu.c and arm-cmn.c take any CPU without a node, or when the node has none. */
static void the_node_of_the_device_is_the_place(void **state)
{
	static const struct cpu cpus[] = {{.socket = 0}, {.socket = 1}};
	static const struct {
		const char *pmu, *identifier, *file;
	} cases[] = {
		{"mac_iod0_mac0_ch0", "", NULL},
		{"pci_iod0_pci0", "", NULL},
		{"hisi_pcie0_core0", "", NULL},
		{"hisi_sicl1_cpa0", "0x00000030\n", NULL},
		{"arm_cmn_0", "43400\n", NULL},
		{"dwc_rootport_10008", "", "sys/bus/pci/devices/0001:00:01.0/numa_node"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		for (int node = -2; node < 2; node++) { /* -2: there is no file */
			const struct uncore_pmu *pmu;
			struct uncore *u;
			struct tree t;
			char text[16];

			make_machine(&t, "CPU implementer\t: 0x46\nCPU part\t: 0x003\n", cpus, 2);
			tree_put(&t, "sys/devices/system/node/node0/cpulist", "0\n");
			tree_put(&t, "sys/devices/system/node/node1/cpulist", "1\n");
			tree_pmu(&t, cases[i].pmu, "type", "20\n");
			tree_pmu(&t, cases[i].pmu, "cpumask", "0\n");
			tree_pmu(&t, cases[i].pmu, "identifier", cases[i].identifier);
			snprintf(text, sizeof(text), "%d\n", node);
			if (node >= -1 && cases[i].file)
				tree_put(&t, cases[i].file, text);
			else if (node >= -1)
				tree_pmu(&t, cases[i].pmu, "device/numa_node", text);
			u = scan(&t);
			pmu = pmu_named(u, cases[i].pmu);
			if (!uncore_pmu_family(pmu) ||
			    uncore_pmu_socket(u, pmu, 0) != (node < 0 ? -1 : node))
				fail_msg("%s with node %d", cases[i].pmu, node);
			uncore_free(u);
			tree_remove(&t);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_cpu_of_a_package_reads_its_energy),
		cmocka_unit_test(two_dies_with_all_cpus_in_the_mask),
		cmocka_unit_test(the_cpu_is_one_that_is_online),
		cmocka_unit_test(other_cpus_of_the_mask_can_be_named),
		cmocka_unit_test(each_is_a_part_of_the_machine),
		cmocka_unit_test(the_first_entry_that_fits_has_the_facts),
		cmocka_unit_test(units_that_do_not_exist_are_not_counted),
		cmocka_unit_test(registers_of_raw_events),
		cmocka_unit_test(the_node_of_the_device_is_the_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
