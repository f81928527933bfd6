/* SPDX-License-Identifier: MIT */
/* Findings: what is here, what ought to be, why it is not, and the command that mends it. */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "helpers.h"
#include "uncore.h"

#define SPR 143
#define EMR 207
#define UNKNOWN 999

/* A machine that has been examined. */
static struct uncore *examine(const char *root)
{
	struct uncore *u;

	assert_int_equal(uncore_new(&u), 0);
	if (uncore_set_root(u, root) < 0 || uncore_scan(u) < 0 || uncore_diagnose(u) < 0)
		fail_msg("%s: %s", root, uncore_error(u));
	return u;
}

static struct uncore *examine_fixture(const char *machine)
{
	char path[600];

	return examine(tree_machine(machine, path, sizeof(path)));
}

/* An Intel server with nothing but two CPUs, to which tests add. */
static void make_server(struct tree *t, int model, const char *flags)
{
	tree_make(t);
	machine_cpuinfo(t, model, flags);
	machine_cpus(t, (const int[]){0, 0}, 2);
}

/* NULL: no finding about it. */
static const struct uncore_finding *find(const struct uncore *u, const char *subject)
{
	const struct uncore_finding *found = NULL;

	for (size_t i = 0; i < uncore_finding_count(u); i++)
		if (strcmp(uncore_finding_at(u, i)->subject, subject) == 0) {
			assert_null(found); /* one each */
			found = uncore_finding_at(u, i);
		}
	return found;
}

static const struct uncore_finding *must_find(const struct uncore *u, const char *subject,
					      enum uncore_verdict verdict)
{
	const struct uncore_finding *f = find(u, subject);

	if (!f)
		fail_msg("no finding about %s", subject);
	assert_int_equal(f->verdict, verdict);
	assert_non_null(f->found);
	if (verdict == UNCORE_VERDICT_OK) {
		assert_null(f->why);
		assert_null(f->fix);
	} else {
		assert_non_null(f->why);
		assert_non_null(f->fix);
	}
	return f;
}

/* ---- what is here ----------------------------------------------------------------------------- */

static void a_server_with_its_pmus(void **state)
{
	struct uncore *u = examine_fixture("intel-skx-1socket");
	const struct uncore_finding *f;

	(void)state;
	f = must_find(u, "intel-imc", UNCORE_VERDICT_OK);
	assert_string_equal(f->found, "Intel integrated memory controllers: 6 PMUs, 10 metrics");
	f = must_find(u, "msr", UNCORE_VERDICT_OK);
	assert_string_equal(f->found, "x86 model-specific registers: 1 PMU, 2 metrics");
	/* 4 m2pcie, 3 m3upi */
	f = must_find(u, "other PMUs", UNCORE_VERDICT_NOTE);
	assert_string_equal(f->found, "7 PMUs without metrics, such as uncore_m2pcie_0");
	assert_contains(f->fix, "uncore stat -e uncore_m2pcie_0/");
	f = must_find(u, "memory peak", UNCORE_VERDICT_NOTE);
	assert_contains(f->why, "there is no SMBIOS table");
	/* Nobody can say what this user may do on the machine of another root. */
	assert_null(find(u, "permission"));
	assert_null(find(u, "uncore PMUs"));
	assert_int_equal(uncore_finding_count(u), 13);
	uncore_free(u);
}

static void a_tegra410(void **state)
{
	struct uncore *u = examine_fixture("nvidia-t410-1socket");

	(void)state;
	must_find(u, "nvidia-t410-ucf", UNCORE_VERDICT_OK);
	must_find(u, "nvidia-t410-cmem", UNCORE_VERDICT_OK);
	must_find(u, "nvidia-t410-pcie", UNCORE_VERDICT_OK);
	must_find(u, "nvidia-t410-pcie-tgt", UNCORE_VERDICT_OK);
	must_find(u, "nvidia-t410-nvlink-c2c", UNCORE_VERDICT_OK);
	must_find(u, "nvidia-t410-nvdlink", UNCORE_VERDICT_OK);
	must_find(u, "nvidia-gpu", UNCORE_VERDICT_OK);
	must_find(u, "memory peak", UNCORE_VERDICT_NOTE);
	assert_int_equal(uncore_finding_count(u), 8);
	uncore_free(u);
}

static void examining_again_gives_the_same(void **state)
{
	struct uncore *u = examine_fixture("intel-skx-1socket");

	(void)state;
	assert_int_equal(uncore_diagnose(u), 0);
	assert_int_equal(uncore_finding_count(u), 13);
	assert_int_equal(uncore_scan(u), 0);
	assert_int_equal(uncore_finding_count(u), 0);
	assert_int_equal(uncore_diagnose(u), 0);
	assert_int_equal(uncore_finding_count(u), 13);
	uncore_free(u);
}

/* PMUs that the catalogue does not know are there all the same: nobody may say that there are none. */
static void pmus_without_family(void **state)
{
	const struct uncore_finding *f;
	struct uncore *u;
	struct tree t;

	(void)state;
	make_server(&t, UNKNOWN, "");
	tree_pmu(&t, "stranger_0", "type", "11\n");
	tree_pmu(&t, "stranger_1", "type", "12\n");
	u = examine(t.dir);
	f = must_find(u, "other PMUs", UNCORE_VERDICT_NOTE);
	assert_string_equal(f->found, "2 PMUs without metrics, such as stranger_0");
	assert_null(find(u, "uncore PMUs"));
	uncore_free(u);
	tree_remove(&t);
}

static void core_and_software_pmus_are_not_reported_as_unknown(void **state)
{
	struct uncore *u;
	struct tree t;

	(void)state;
	make_server(&t, UNKNOWN, "");
	tree_pmu(&t, "software", "type", "1\n");
	tree_pmu(&t, "cpu", "type", "4\n");
	tree_pmu(&t, "cpu_core", "type", "10\n");
	tree_pmu(&t, "cpu_core", "cpus", "0-1\n");
	u = examine(t.dir);
	assert_null(find(u, "other PMUs"));
	uncore_free(u);
	tree_pmu(&t, "stranger", "type", "11\n");
	u = examine(t.dir);
	assert_string_equal(must_find(u, "other PMUs", UNCORE_VERDICT_NOTE)->found,
			    "1 PMU without metrics, such as stranger");
	uncore_free(u);
	tree_remove(&t);
}

/* ---- what ought to be here -------------------------------------------------------------------- */

static void a_guest_has_no_memory_controllers(void **state)
{
	const struct uncore_finding *f;
	struct uncore *u;
	struct tree t;

	(void)state;
	make_server(&t, EMR, "hypervisor");
	tree_put(&t, "sys/devices/system/clocksource/clocksource0/available_clocksource",
		 "kvm-clock tsc\n");
	u = examine(t.dir);
	f = must_find(u, "intel-imc", UNCORE_VERDICT_MISSING);
	assert_contains(f->found, "no PMU named uncore_imc_{channel}, though this machine "
				  "(intel/6/207) has the hardware");
	assert_contains(f->why, "this machine is a guest of KVM");
	assert_contains(f->found, "the driver intel_uncore does not start in a guest");
	assert_string_equal(f->fix,
			    "run uncore on the host (in a cloud: on a bare-metal instance)");
	/* Said once. */
	assert_null(find(u, "uncore PMUs"));
	uncore_free(u);
	tree_remove(&t);
}

/* What every kernel with perf events and modules has. */
static void put_perf(const struct tree *t)
{
	tree_put(t, "sys/bus/event_source/uevent", "");
	tree_put(t, "sys/module/x/uevent", "");
}

/* AMD's driver starts in guests, and registers the PMUs whose CPU flags it finds. */
static void a_guest_with_the_flag_of_the_counters(void **state)
{
	const struct uncore_finding *f;
	struct uncore *u;
	struct tree t;

	(void)state;
	tree_make(&t);
	put_perf(&t);
	machine_cpus(&t, (const int[]){0, 0}, 2);
	tree_put(&t, "proc/cpuinfo",
		 "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\n"
		 "flags\t\t: fpu hypervisor perfctr_nb\n");
	u = examine(t.dir);
	f = must_find(u, "amd-df", UNCORE_VERDICT_MISSING);
	assert_string_equal(f->why, "the driver amd_uncore is not loaded");
	assert_string_equal(f->fix, "sudo modprobe amd_uncore");
	f = must_find(u, "amd-l3", UNCORE_VERDICT_MISSING);
	assert_contains(f->found, "the CPU flag perfctr_llc is hidden");
	assert_string_equal(f->fix,
			    "run uncore on the host (in a cloud: on a bare-metal instance)");
	uncore_free(u);
	tree_put(&t, "sys/module/amd_uncore/initstate", "live\n");
	u = examine(t.dir);
	f = must_find(u, "amd-df", UNCORE_VERDICT_MISSING);
	assert_contains(f->why, "or the hypervisor hides the counters");
	assert_contains(f->fix, "dmesg");
	uncore_free(u);
	tree_remove(&t);
}

static void the_driver_is_not_loaded(void **state)
{
	const struct uncore_finding *f;
	struct uncore *u;
	struct tree t;

	(void)state;
	make_server(&t, SPR, "");
	put_perf(&t);
	u = examine(t.dir);
	f = must_find(u, "intel-imc", UNCORE_VERDICT_MISSING);
	assert_string_equal(f->why, "the driver intel_uncore is not loaded");
	assert_string_equal(f->fix, "sudo modprobe intel_uncore");
	uncore_free(u);
	tree_remove(&t);
}

static void the_driver_is_loaded_and_does_nothing(void **state)
{
	const struct uncore_finding *f;
	struct uncore *u;
	struct tree t;

	(void)state;
	make_server(&t, SPR, "");
	put_perf(&t);
	tree_put(&t, "sys/module/intel_uncore/initstate", "live\n");
	u = examine(t.dir);
	f = must_find(u, "intel-imc", UNCORE_VERDICT_MISSING);
	assert_contains(f->why, "the driver intel_uncore is loaded but registered no such PMU");
	assert_string_equal(f->fix, "sudo dmesg | grep -i -e uncore -e pmu   # then a kernel of "
				    "version 5.13 or newer");
	uncore_free(u);
	tree_remove(&t);
}

#define ICX 106
#define RELEASE "proc/sys/kernel/osrelease"

/* "Not loaded" is said after the version, the whole of perf, other PMUs of the driver and built-in drivers were looked at.
 * The driver knows Ice Lake since 5.7 (2b3b76b5ec67), not in 5.4 (a public report: m6i.metal). */
static void a_driver_that_cannot_be_loaded(void **state)
{
	const struct uncore_finding *f;
	struct uncore *u;
	struct tree t;

	(void)state;
	make_server(&t, ICX, "");
	u = examine(t.dir);
	f = must_find(u, "intel-imc", UNCORE_VERDICT_MISSING);
	assert_contains(f->why, "there is no sys/bus/event_source");
	uncore_free(u);
	tree_put(&t, "sys/bus/event_source/uevent", "");
	u = examine(t.dir);
	f = must_find(u, "intel-imc", UNCORE_VERDICT_MISSING);
	assert_contains(f->why, "there is no sys/module, so that it is not known");
	uncore_free(u);
	put_perf(&t);
	tree_put(&t, RELEASE, "5.4.0-1103-aws\n");
	u = examine(t.dir);
	f = must_find(u, "intel-imc", UNCORE_VERDICT_MISSING);
	assert_string_equal(
		f->why,
		"this kernel (5.4.0-1103-aws) is older than 5.7, the first version that has "
		"them, unless its distribution has added them");
	assert_string_equal(f->fix, "a kernel of version 5.7 or newer");
	uncore_free(u);
	tree_put(&t, RELEASE, "6.1.0-44-amd64\n");
	u = examine(t.dir);
	f = must_find(u, "intel-imc", UNCORE_VERDICT_MISSING);
	assert_contains(f->why, "or it is built into the kernel");
	assert_contains(f->why, "there is no lib/modules/6.1.0-44-amd64/modules.builtin");
	uncore_free(u);
	tree_put(&t, "lib/modules/6.1.0-44-amd64/modules.builtin", "kernel/fs/x.ko\n");
	u = examine(t.dir);
	f = must_find(u, "intel-imc", UNCORE_VERDICT_MISSING);
	assert_string_equal(f->why, "the driver intel_uncore is not loaded");
	uncore_free(u);
	tree_put(&t, "lib/modules/6.1.0-44-amd64/modules.builtin",
		 "kernel/fs/x.ko\nkernel/arch/x86/events/intel/intel-uncore.ko\n");
	u = examine(t.dir);
	f = must_find(u, "intel-imc", UNCORE_VERDICT_MISSING);
	assert_contains(
		f->why,
		"the driver intel_uncore is built into this kernel but registered no such PMU");
	uncore_free(u);
	tree_remove(&t);
}

/* All PMUs whose names begin with uncore_ are those of one module (linux arch/x86/events/intel/uncore.c), whatever the family. */
static void any_pmu_of_intel_shows_the_driver(void **state)
{
	static const char *const names[] = {
		"uncore_cha_0",    "uncore_iio_0", "uncore_iio_free_running_0",
		"uncore_irp_0",    "uncore_m2m_0", "uncore_upi_0",
		"uncore_pcu",      "uncore_ubox",  "uncore_m3upi_0",
		"uncore_m2pcie_0",
	};
	struct tree t;

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		const struct uncore_finding *f;
		struct uncore *u;
		char why[128];

		make_server(&t, ICX, "");
		put_perf(&t);
		machine_pmu(&t, names[i], "10\n", "0\n");
		u = examine(t.dir);
		f = must_find(u, "intel-imc", UNCORE_VERDICT_MISSING);
		snprintf(why, sizeof(why),
			 "the driver intel_uncore is there (%s is one of its PMUs)", names[i]);
		assert_contains(f->why, why);
		uncore_free(u);
		tree_remove(&t);
	}
}

/* Genoa under 5.15, as a public report has it: PMUs of the driver are there, those of the controllers came with 6.7. */
static void other_pmus_of_the_driver(void **state)
{
	const struct uncore_finding *f;
	struct uncore *u;
	struct tree t;

	(void)state;
	tree_make(&t);
	put_perf(&t);
	machine_cpus(&t, (const int[]){0}, 1);
	tree_put(&t, "proc/cpuinfo",
		 "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\n"
		 "flags\t\t: fpu perfctr_nb perfctr_llc perfmon_v2\n");
	machine_pmu(&t, "amd_df", "10\n", "0\n");
	tree_pmu(&t, "amd_df", "format/event", "config:0-7,32-35,59-60\n");
	tree_pmu(&t, "amd_df", "format/umask", "config:8-15\n");
	u = examine(t.dir);
	f = must_find(u, "amd-l3", UNCORE_VERDICT_MISSING);
	assert_contains(
		f->why,
		"the driver amd_uncore is there (amd_df is one of its PMUs) but registered no such");
	f = must_find(u, "amd-df", UNCORE_VERDICT_NOTE);
	assert_contains(f->why, "too wide for the term 'umask', which has 8 bits");
	uncore_free(u);
	tree_put(&t, RELEASE, "5.15.0-118-generic\n");
	u = examine(t.dir);
	f = must_find(u, "amd-umc", UNCORE_VERDICT_MISSING);
	assert_contains(f->why, "this kernel (5.15.0-118-generic) is older than 6.7");
	uncore_free(u);
	tree_remove(&t);
}

/* Known by a device of the firmware, not by the CPU. */
static void hardware_that_other_files_show(void **state)
{
	const struct uncore_finding *f;
	struct uncore *u;
	struct tree t;

	(void)state;
	tree_make(&t);
	put_perf(&t);
	machine_cpus(&t, (const int[]){0}, 1);
	tree_put(&t, "proc/cpuinfo",
		 "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd84\n");
	u = examine(t.dir);
	assert_null(find(u, "nvidia-t410-cmem"));
	uncore_free(u);
	tree_put(&t, "sys/bus/acpi/devices/NVDA2021:00/hid", "NVDA2021\n");
	u = examine(t.dir);
	f = must_find(u, "nvidia-t410-cmem", UNCORE_VERDICT_MISSING);
	assert_string_equal(f->fix, "sudo modprobe nvidia_t410_cmem_latency_pmu");
	must_find(u, "nvidia-t410-ucf", UNCORE_VERDICT_MISSING);
	assert_null(find(u, "intel-imc"));
	uncore_free(u);
	/* A device that a guest has been given is its own. */
	tree_put(&t, "sys/class/dmi/id/sys_vendor", "QEMU\n");
	u = examine(t.dir);
	f = must_find(u, "nvidia-t410-cmem", UNCORE_VERDICT_MISSING);
	assert_string_equal(f->why, "the driver nvidia_t410_cmem_latency_pmu is not loaded");
	assert_string_equal(f->fix, "sudo modprobe nvidia_t410_cmem_latency_pmu");
	uncore_free(u);
	tree_put(&t, "sys/class/dmi/id/sys_vendor", "none\n");
	/* With the module there, it is the kernel's version that is told. */
	tree_put(&t, "sys/module/nvidia_t410_cmem_latency_pmu/x", "");
	u = examine(t.dir);
	f = must_find(u, "nvidia-t410-cmem", UNCORE_VERDICT_MISSING);
	assert_string_equal(f->fix, "sudo dmesg | grep -i -e uncore -e pmu   # then a kernel of "
				    "version 7.1 or newer");
	uncore_free(u);
	tree_remove(&t);
}

/* ---- nothing at all --------------------------------------------------------------------------- */

static void an_unknown_cpu(void **state)
{
	const struct uncore_finding *f;
	struct uncore *u;
	struct tree t;

	(void)state;
	make_server(&t, UNKNOWN, "");
	u = examine(t.dir);
	assert_int_equal(uncore_finding_count(u), 1);
	f = find(u, "uncore PMUs");
	assert_int_equal(f->verdict,
			 UNCORE_VERDICT_NOTE); /* nothing is expected, and there is nothing to do */
	assert_null(f->fix);
	assert_string_equal(f->found, "none on this machine (intel/6/999)");
	assert_non_null(strstr(f->why, "no family of the catalogue expects one on this CPU model"));
	uncore_free(u);
	tree_remove(&t);
}

/* A machine with one PMU, which a data file describes: `more` keys, and what its event is. */
static struct uncore *examine_box(const char *more, const char *event)
{
	char text[512], dir[300];
	struct uncore *u;
	struct tree t;

	make_server(&t, UNKNOWN, "");
	machine_pmu(&t, "box", "11\n", "0\n");
	snprintf(text, sizeof(text),
		 "family: box\ntitle: Box\ninstance: box\nplace: link\n%spmus: [{name: box}]\n"
		 "events: {e: {title: e, %s, evidence: x}}\n"
		 "metrics: {a.b: {title: m, unit: 1/s, formula: e / seconds, evidence: x}}\n",
		 more, event);
	tree_put(&t, "data/box.yaml", text);
	snprintf(dir, sizeof(dir), "%s/data", t.dir);
	assert_int_equal(uncore_new(&u), 0);
	if (uncore_set_root(u, t.dir) < 0 || uncore_add_data(u, dir) < 0 || uncore_scan(u) < 0 ||
	    uncore_diagnose(u) < 0)
		fail_msg("%s", uncore_error(u));
	tree_remove(&t);
	return u;
}

/* Where a family is to be expected is another question than whether it counts everywhere. */
static void a_family_that_is_expected_nowhere(void **state)
{
	struct uncore *u = examine_box("", "terms: event=1");

	(void)state;
	assert_string_equal(must_find(u, "box", UNCORE_VERDICT_OK)->found, "Box: 1 PMU, 1 metric");
	assert_int_equal(uncore_finding_count(u), 1);
	uncore_free(u);
	u = examine_box("everywhere: true\n", "terms: event=1");
	must_find(u, "box", UNCORE_VERDICT_OK);
	assert_int_equal(find(u, "uncore PMUs")->verdict, UNCORE_VERDICT_NOTE);
	assert_int_equal(uncore_finding_count(u), 2);
	uncore_free(u);
}

/* Its metrics are for other CPU models: it is there, and not usable by metrics. */
static void a_family_without_metrics_here(void **state)
{
	struct uncore *u = examine_box("models: {this: intel/6/999, other: test/1}\n",
				       "cases: [{when: other, terms: event=1, evidence: x}]");
	const struct uncore_finding *f = must_find(u, "box", UNCORE_VERDICT_NOTE);

	(void)state;
	assert_string_equal(f->found, "Box: 1 PMU, 0 metrics");
	assert_string_equal(f->why, "box does not have the event 'e'");
	uncore_free(u);
}

/* `msr` and `power` count in any guest: they do not make it a machine with uncore PMUs. */
static void an_unknown_guest(void **state)
{
	const struct uncore_finding *f;
	struct uncore *u;
	struct tree t;

	(void)state;
	make_server(&t, UNKNOWN, "hypervisor");
	tree_pmu(&t, "msr", "type", "9\n");
	tree_pmu(&t, "msr", "format/event", "config:0-63\n");
	tree_pmu(&t, "msr", "events/tsc", "event=0x00\n");
	tree_pmu(&t, "power", "type", "10\n");
	tree_pmu(&t, "power", "cpumask", "0\n");
	tree_pmu(&t, "power", "format/event", "config:0-7\n");
	tree_pmu(&t, "power", "events/energy-pkg", "event=0x02\n");
	tree_pmu(&t, "power", "events/energy-pkg.scale", "2.3e-10\n");
	u = examine(t.dir);
	must_find(u, "power", UNCORE_VERDICT_OK);
	assert_string_equal(must_find(u, "msr", UNCORE_VERDICT_OK)->found,
			    "x86 model-specific registers: 1 PMU, 1 metric");
	f = must_find(u, "uncore PMUs", UNCORE_VERDICT_MISSING);
	assert_contains(f->why, "this machine is a guest of an unknown hypervisor");
	assert_string_equal(f->fix,
			    "run uncore on the host (in a cloud: on a bare-metal instance)");
	uncore_free(u);
	tree_remove(&t);
}

/* ---- permission ------------------------------------------------------------------------------- */

/* In a child: nobody gets out of a namespace again. 0: as it must be. */
static int denied_in_a_new_namespace(void)
{
	const struct uncore_finding *f;
	struct uncore *u = NULL;

	if (unshare(CLONE_NEWUSER) < 0)
		return 77;
	if (uncore_new(&u) < 0 || uncore_scan(u) < 0 || uncore_diagnose(u) < 0)
		return 1;
	f = find(u, "permission");
	if (!f || f->verdict != UNCORE_VERDICT_DENIED)
		return 2;
	if (!strstr(f->why, "user namespace") || !strstr(f->fix, "perf_event_paranoid=0"))
		return 3;
	return strstr(f->fix, "setcap") ? 4 : 0;
}

/* All capabilities, and none that the kernel would take for perf events. */
static void permission_in_a_user_namespace(void **state)
{
	struct uncore *u = examine("/");
	const struct uncore_finding *f = find(u, "permission");
	long level = 0;
	int status;
	pid_t child;

	(void)state;
	if (f)
		level = strtol(f->found + strlen("perf_event_paranoid is "), NULL, 10);
	uncore_free(u);
	if (level <= 0) {
		print_message("perf_event_paranoid is not known, or everybody may count\n");
		skip();
	}
	child = fork();
	if (child == 0)
		_exit(denied_in_a_new_namespace());
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		print_message("no new user namespaces here\n");
		skip();
	}
	assert_int_equal(status, 0);
}

/* What this machine and this user are, the test reads for itself. */
static void permission_on_the_running_machine(void **state)
{
	FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "r");
	const struct uncore_finding *f;
	struct uncore *u;
	char expected[64], level[16] = "";

	(void)state;
	if (!file) {
		skip();
		return;
	}
	assert_non_null(fgets(level, sizeof(level), file));
	fclose(file);
	level[strcspn(level, "\n")] = '\0';
	u = examine("/");
	f = find(u, "permission");
	assert_non_null(f);
	snprintf(expected, sizeof(expected), "perf_event_paranoid is %s, ", level);
	assert_contains(f->found, expected);
	if (strtol(level, NULL, 10) <= 0)
		assert_int_equal(f->verdict, UNCORE_VERDICT_OK);
	if (f->verdict == UNCORE_VERDICT_DENIED) {
		if (!strstr(f->why, "user namespace")) {
			assert_contains(f->found, "neither CAP_PERFMON nor CAP_SYS_ADMIN");
			assert_contains(f->fix, "sudo setcap cap_");
		}
	} else {
		assert_int_equal(f->verdict, UNCORE_VERDICT_OK);
		assert_null(f->fix);
	}
	uncore_free(u);
}

static void a_simulation_needs_no_permission(void **state)
{
	struct uncore *u;

	(void)state;
	assert_int_equal(uncore_new(&u), 0);
	assert_int_equal(uncore_set_source(u, "sim:spr"), 0);
	assert_int_equal(uncore_scan(u), 0);
	assert_int_equal(uncore_diagnose(u), 0);
	assert_null(find(u, "permission"));
	must_find(u, "intel-imc", UNCORE_VERDICT_OK);
	uncore_free(u);
}

/* ---- out of memory ---------------------------------------------------------------------------- */

/* 0: never. Else so many calls from now one fails. */
static unsigned fail_at;

char *__real_strdup(const char *text);
void *__real_realloc(void *old, size_t size);
void *__real_reallocarray(void *old, size_t count, size_t size);
char *__wrap_strdup(const char *text);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_reallocarray(void *old, size_t count, size_t size);

static bool fails_now(void)
{
	return fail_at && --fail_at == 0;
}

char *__wrap_strdup(const char *text)
{
	return fails_now() ? NULL : __real_strdup(text);
}

void *__wrap_realloc(void *old, size_t size)
{
	return fails_now() ? NULL : __real_realloc(old, size);
}

void *__wrap_reallocarray(void *old, size_t count, size_t size)
{
	return fails_now() ? NULL : __real_reallocarray(old, count, size);
}

/* Whichever string or list cannot be had: an error, and no leak (the sanitizer sees to that). */
static void memory_runs_out(void **state)
{
	unsigned failures = 0;
	struct uncore *u;
	struct tree t;

	(void)state;
	make_server(&t, SPR, "");
	tree_pmu(&t, "stranger", "type", "11\n");
	u = examine(t.dir);
	for (unsigned n = 1; n < 100; n++) {
		int r;

		fail_at = n;
		r = uncore_diagnose(u);
		if (fail_at)
			break;
		assert_int_equal(r, -ENOMEM);
		assert_string_equal(uncore_error(u), "out of memory");
		failures++;
	}
	fail_at = 0;
	/* Two findings of four texts each; the lists of findings and of texts grow from 0 to 2 and to 8. */
	assert_true(failures >= 8 + 2 + 4);
	assert_int_equal(uncore_diagnose(u), 0);
	must_find(u, "intel-imc", UNCORE_VERDICT_MISSING);
	uncore_free(u);
	tree_remove(&t);
}

/* PCM and LIKWID write the registers that the driver uses; a file manager does not. */
static void programs_that_write_registers(void **state)
{
	const struct uncore_finding *found;
	struct uncore *u;
	struct tree t;

	(void)state;
	make_server(&t, 85, "");
	tree_put(&t, "proc/12/comm", "pcmanfm\n");
	tree_put(&t, "proc/34/comm", "pcm-memory\n");
	tree_put(&t, "proc/560/comm", "likwid-accessD\n");
	u = examine(t.dir);
	assert_null(find(u, "other programs")); /* there is no PMU */
	uncore_free(u);
	machine_pmu(&t, "uncore_imc_0", "17\n", "0\n");
	u = examine(t.dir);
	found = find(u, "other programs");
	assert_non_null(found);
	assert_int_equal(found->verdict, UNCORE_VERDICT_NOTE);
	assert_string_equal(found->found,
			    "running: pcm-memory (process 34), likwid-accessD (process 560)");
	uncore_free(u);
	tree_remove(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_that_write_registers),
		cmocka_unit_test(a_server_with_its_pmus),
		cmocka_unit_test(a_tegra410),
		cmocka_unit_test(examining_again_gives_the_same),
		cmocka_unit_test(pmus_without_family),
		cmocka_unit_test(core_and_software_pmus_are_not_reported_as_unknown),
		cmocka_unit_test(a_guest_has_no_memory_controllers),
		cmocka_unit_test(a_guest_with_the_flag_of_the_counters),
		cmocka_unit_test(the_driver_is_not_loaded),
		cmocka_unit_test(the_driver_is_loaded_and_does_nothing),
		cmocka_unit_test(a_driver_that_cannot_be_loaded),
		cmocka_unit_test(any_pmu_of_intel_shows_the_driver),
		cmocka_unit_test(other_pmus_of_the_driver),
		cmocka_unit_test(hardware_that_other_files_show),
		cmocka_unit_test(an_unknown_cpu),
		cmocka_unit_test(a_family_that_is_expected_nowhere),
		cmocka_unit_test(a_family_without_metrics_here),
		cmocka_unit_test(an_unknown_guest),
		cmocka_unit_test(permission_on_the_running_machine),
		cmocka_unit_test(permission_in_a_user_namespace),
		cmocka_unit_test(a_simulation_needs_no_permission),
		cmocka_unit_test(memory_runs_out),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
