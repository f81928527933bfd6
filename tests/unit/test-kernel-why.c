/* SPDX-License-Identifier: MIT */
/* The sentences for refused counters, on machines that are a directory each. */
#define _GNU_SOURCE
#include "machine/pmu.h"
#include "source/kernel/perf.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "helpers.h"

#define PERFMON "CapEff:\t0000004000000000\n"
#define ADMIN "CapEff:\t0000004000200000\n"
#define NO_CAPS "CapEff:\t0000000000000000\n"
#define WHOLE_MAP "         0          0 4294967295\n"

static int mask_ids[] = {0, 1};

struct place {
	struct tree tree;
	struct unc_root *root;
	struct uncore_cpu cpus[3];
	struct unc_topology topology;
	struct uncore_pmu pmu;
	struct uncore_counter counter;
	struct unc_error e;
};

/* An unprivileged process on a Debian machine of two CPUs, one of them offline. */
static int set_up(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	if (!p)
		return -1;
	tree_make(&p->tree);
	if (unc_root_open(&p->root, p->tree.dir, &p->e) != 0)
		return -1;
	tree_put(&p->tree, "proc/sys/kernel/perf_event_paranoid", "2\n");
	tree_put(&p->tree, "proc/sys/kernel/osrelease", "6.12.1-amd64\n");
	tree_put(&p->tree, "proc/self/status", "Name:\tuncore\n" NO_CAPS "Seccomp:\t0\n");
	tree_put(&p->tree, "proc/self/uid_map", WHOLE_MAP);
	tree_put(&p->tree, "sys/bus/event_source/devices/uncore_imc_0/type", "31\n");
	p->cpus[0] = (struct uncore_cpu){.id = 0, .online = true};
	p->cpus[1] = (struct uncore_cpu){.id = 1, .online = false};
	p->cpus[2] = (struct uncore_cpu){.id = 2, .online = true};
	p->topology.cpus = p->cpus;
	p->topology.cpu_count = 3;
	p->pmu.name = (char *)"uncore_imc_0";
	p->pmu.type = 31;
	p->pmu.has_mask = true;
	p->pmu.cpus.ids = mask_ids;
	p->pmu.cpus.count = 2;
	p->counter.pmu = &p->pmu;
	p->counter.event = "cas_count_read";
	p->counter.config[0] = 0x304;
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	struct place *p = *state;

	unc_root_free(p->root);
	tree_remove(&p->tree);
	free(p);
	return 0;
}

static const char *why(struct place *p, int err)
{
	const struct unc_kernel_env env = {p->root, &p->topology};

	unc_kernel_why(&env, &p->counter, -err, &p->e);
	return p->e.text;
}

static void check_lacks(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("'%s' says '%s'", text, part);
}

static void every_sentence_names_event_pmu_cpu_and_errno(void **state)
{
	static const int errors[] = {EACCES, EPERM,  ENOENT, ENODEV, ENXIO, EINVAL,
				     EBUSY,  ENOSPC, EMFILE, ENFILE, E2BIG, EOPNOTSUPP,
				     ESRCH,  ENOSYS, ENOMEM, EIO,    EDOM};
	struct place *p = *state;

	for (size_t i = 0; i < COUNT(errors); i++) {
		assert_contains(why(p, errors[i]), "uncore_imc_0/cas_count_read/ on CPU 0: ");
		assert_contains(p->e.text, " [perf_event_open: ");
		assert_true(strlen(p->e.text) > 90);
	}
	assert_contains(why(p, EBUSY), "[perf_event_open: EBUSY]");
	assert_contains(why(p, EDOM), "[perf_event_open: EDOM]");
	assert_contains(why(p, 4000), "an unknown error");
}

static void permission(void **state)
{
	struct place *p = *state;

	assert_contains(why(p, EACCES), "kernel.perf_event_paranoid is 2");
	assert_contains(p->e.text, "CAP_PERFMON");
	assert_contains(p->e.text, "sudo sysctl kernel.perf_event_paranoid=0");
	assert_contains(p->e.text, "sudo setcap cap_perfmon=ep \"$(command -v uncore)\"");
	check_lacks(p->e.text, "distribution");
	tree_put(&p->tree, "proc/sys/kernel/perf_event_paranoid", "3\n");
	assert_contains(why(p, EPERM), "levels above 2 are specific to distributions");
	assert_contains(p->e.text,
			"sysctl kernel.perf_event_paranoid=2 && sudo setcap cap_perfmon");
	/* With CAP_PERFMON alone it may be the level that refuses: no talk of security modules. */
	tree_put(&p->tree, "proc/self/status", PERFMON "Seccomp:\t0\n");
	assert_contains(why(p, EACCES), "require CAP_SYS_ADMIN");
	check_lacks(p->e.text, "SELinux");
	tree_put(&p->tree, "proc/self/status", ADMIN "Seccomp:\t0\n");
	assert_contains(why(p, EACCES), "SELinux");
}

static void permission_on_old_kernels(void **state)
{
	struct place *p = *state;

	tree_put(&p->tree, "proc/sys/kernel/osrelease", "5.4.0-200-generic\n");
	assert_contains(why(p, EACCES), "capability CAP_SYS_ADMIN");
	assert_contains(p->e.text, "setcap cap_sys_admin=ep");
	check_lacks(p->e.text, "CAP_PERFMON");
	tree_put(&p->tree, "proc/sys/kernel/osrelease", "5.8.0\n");
	assert_contains(why(p, EACCES), "capability CAP_PERFMON");
	tree_put(&p->tree, "proc/sys/kernel/osrelease", "10.0.0\n");
	assert_contains(why(p, EACCES), "capability CAP_PERFMON");
}

static void permission_where_proc_is_hidden(void **state)
{
	struct place *p = *state;
	char path[512];

	snprintf(path, sizeof(path), "%s/proc/sys/kernel/perf_event_paranoid", p->tree.dir);
	assert_int_equal(unlink(path), 0);
	check_lacks(why(p, EACCES), "paranoid is");
	assert_contains(p->e.text, "CAP_PERFMON");
}

static void refused_though_permitted(void **state)
{
	struct place *p = *state;

	tree_put(&p->tree, "proc/self/status", PERFMON "Seccomp:\t2\n");
	assert_contains(why(p, EPERM), "seccomp");
	check_lacks(p->e.text, "sysctl");
	tree_put(&p->tree, "proc/self/status", PERFMON "Seccomp:\t0\n");
	assert_contains(why(p, EACCES), "SELinux");
	tree_put(&p->tree, "proc/self/status", NO_CAPS "Seccomp:\t0\n");
	tree_put(&p->tree, "proc/sys/kernel/perf_event_paranoid", "-1\n");
	assert_contains(why(p, EACCES), "SELinux");
}

/* Its capabilities do not count, and setcap would not help there. */
static void permission_in_a_user_namespace(void **state)
{
	static const char *const statuses[] = {PERFMON "Seccomp:\t2\n", NO_CAPS};
	struct place *p = *state;

	tree_put(&p->tree, "proc/self/uid_map", "0 1000 1\n");
	for (size_t i = 0; i < COUNT(statuses); i++) {
		tree_put(&p->tree, "proc/self/status", statuses[i]);
		assert_contains(why(p, EACCES), "is in a user namespace");
		assert_contains(p->e.text, "sysctl kernel.perf_event_paranoid=0   # on the host");
		check_lacks(p->e.text, "setcap");
		check_lacks(p->e.text, "seccomp");
		assert_contains(
			why(p, EINVAL),
			"Permission is missing, too (kernel.perf_event_paranoid is 2): this "
			"process is in a user namespace");
	}
	/* At this level nobody needs a capability: something else refuses. */
	tree_put(&p->tree, "proc/sys/kernel/perf_event_paranoid", "0\n");
	check_lacks(why(p, EACCES), "user namespace");
	assert_contains(p->e.text, "SELinux");
}

static void cpus(void **state)
{
	static const int errors[] = {EINVAL, ENODEV};
	struct place *p = *state;

	for (size_t i = 0; i < 2; i++) {
		p->counter.cpu = 1;
		assert_contains(why(p, errors[i]), "CPU 1 is offline");
		assert_contains(p->e.text, "/sys/devices/system/cpu/cpu1/online");
		p->counter.cpu = 7;
		assert_contains(why(p, errors[i]), "this machine has no CPU 7");
	}
	p->counter.cpu = 2;
	assert_contains(why(p, EINVAL), "not counted from CPU 2");
	p->pmu.has_mask = false;
	check_lacks(why(p, EINVAL), "not counted from CPU 2");
}

static void pmus_that_went_away(void **state)
{
	struct place *p = *state;

	p->pmu.type = 12;
	assert_contains(why(p, ENOENT), "registered anew (type 31, was 12)");
	p->pmu.name = (char *)"uncore_cha_0";
	assert_contains(why(p, ENODEV), "the PMU is gone");
	p->pmu.name = (char *)"uncore_imc_0";
	p->pmu.type = 31;
	assert_contains(why(p, ENOENT), "the driver knows no such event (config=0x304)");
}

static void invalid(void **state)
{
	struct place *p = *state;

	p->counter.config[2] = 0xab;
	assert_contains(why(p, EINVAL), "config=0x304,config2=0xab");
	assert_contains(p->e.text,
			"Permission is missing, too"); /* the driver's check comes first */
	check_lacks(p->e.text, "guest");
	strcpy(p->topology.guest, "this machine is a guest of KVM");
	assert_contains(why(p, EINVAL), "guest of KVM");
	tree_put(&p->tree, "proc/self/status", PERFMON);
	check_lacks(why(p, EINVAL), "Permission is missing, too");
	p->counter.modifiers = UNC_MOD_KERNEL;
	assert_contains(why(p, EINVAL), "leave out the modifiers");
}

static void others(void **state)
{
	struct place *p = *state;

	assert_contains(why(p, EMFILE), "ulimit -n");
	assert_contains(p->e.text, "LimitNOFILE=");
	assert_contains(why(p, ENFILE), "fs.file-max");
	assert_contains(why(p, E2BIG), "group");
	p->counter.config[3] = 1;
	assert_contains(why(p, E2BIG), "6.3");
	assert_contains(why(p, ENOSYS), "CONFIG_PERF_EVENTS");
	tree_put(&p->tree, "proc/self/status", "Seccomp:\t2\n");
	assert_contains(why(p, ENOSYS), "seccomp");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(every_sentence_names_event_pmu_cpu_and_errno),
		T(permission),
		T(permission_on_old_kernels),
		T(permission_where_proc_is_hidden),
		T(refused_though_permitted),
		T(permission_in_a_user_namespace),
		T(cpus),
		T(pmus_that_went_away),
		T(invalid),
		T(others),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
