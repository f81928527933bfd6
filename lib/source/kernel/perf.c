/* SPDX-License-Identifier: MIT */
/* Calls perf_event_open: the attributes of an event, the CPU on which it is opened, and a sentence
 * for each errno. */
#define _GNU_SOURCE
#include "source/kernel/perf.h"
#include <inttypes.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CONFIG3_WORD (UNC_ATTR_CONFIG3_BYTES / 8 - 1)

#define EXCLUDING                                                                       \
	(UNC_MOD_USER | UNC_MOD_KERNEL | UNC_MOD_HV | UNC_MOD_NO_IDLE | UNC_MOD_GUEST | \
	 UNC_MOD_HOST)

void unc_perf_attr_init(union unc_perf_attr *a, const struct uncore_counter *c)
{
	memset(a, 0, sizeof(*a));
	a->is.size = UNC_ATTR_CONFIG3_BYTES;
	a->is.type = c->pmu->type;
	a->is.config = c->config[0];
	a->is.config1 = c->config[1];
	a->is.config2 = c->config[2];
	a->words[CONFIG3_WORD] = c->config[3];
	/* As in perf: modes that are named are counted, and all other modes are excluded. */
	if (c->modifiers & (UNC_MOD_USER | UNC_MOD_KERNEL | UNC_MOD_HV)) {
		a->is.exclude_user = !(c->modifiers & UNC_MOD_USER);
		a->is.exclude_kernel = !(c->modifiers & UNC_MOD_KERNEL);
		a->is.exclude_hv = !(c->modifiers & UNC_MOD_HV);
	}
	if (c->modifiers & (UNC_MOD_GUEST | UNC_MOD_HOST)) {
		a->is.exclude_guest = !(c->modifiers & UNC_MOD_GUEST);
		a->is.exclude_host = !(c->modifiers & UNC_MOD_HOST);
	}
	a->is.exclude_idle = (c->modifiers & UNC_MOD_NO_IDLE) != 0;
}

int unc_perf_open(union unc_perf_attr *a, int cpu, int leader)
{
	bool again;
	long fd;

	do {
		uint32_t size = a->is.size;

		fd = syscall(SYS_perf_event_open, a, -1, cpu, leader, PERF_FLAG_FD_CLOEXEC);
		/* A kernel that knows a shorter structure writes its size. The shorter one is
		 * enough if the rest is zero. */
		again = fd < 0 && errno == E2BIG && a->is.size < size &&
			a->is.size >= PERF_ATTR_SIZE_VER0 && a->words[CONFIG3_WORD] == 0;
	} while (again || (fd < 0 && errno == EINTR));
	return fd < 0 ? -errno : (int)fd;
}

/* The type that the PMU of this name has now; -1: there is no such PMU. */
static int type_now(const struct unc_root *root, const struct uncore_pmu *pmu)
{
	return unc_root_read_int(root, UNC_PATH("sys/bus/event_source/devices/%s/type", pmu->name),
				 INT_MAX, -1);
}

/*
 * When a CPU goes offline, the kernel moves its events to another CPU of the unit, but not always.
 * Linux 7.2 moves only the first group of each PMU. If no CPU of the unit is left, the events stay
 * stopped after the CPUs are back.
 */
int unc_kernel_cpu_now(const struct unc_kernel_env *env, const struct uncore_counter *c,
		       uint32_t *type)
{
	const struct unc_topology *t = env->topology;
	int socket = unc_topology_socket(t, c->cpu), new_cpu = -1;
	struct unc_cpulist mask = {0};
	char path[320] = "sys/devices/system/cpu/online";
	size_t candidates = 0, gone = 0;
	int now = type_now(env->root, c->pmu);

	/* A driver that was removed and loaded again has a new type. The old type may belong to
	 * another PMU. */
	if (now < 0)
		return -1;
	*type = (uint32_t)now;
	if (c->pmu->has_mask)
		snprintf(path, sizeof(path), "sys/bus/event_source/devices/%s/cpumask",
			 c->pmu->name);
	if (unc_cpulist_read(&mask, env->root, path, NULL) < 0)
		return -1;
	if (unc_cpulist_has(&mask, c->cpu)) {
		unc_cpulist_finish(&mask);
		return c->cpu;
	}
	for (size_t i = 0; i < mask.count; i++) {
		if (unc_cpulist_has(&c->pmu->cpus, mask.ids[i]) || socket < 0 ||
		    unc_topology_socket(t, mask.ids[i]) != socket)
			continue;
		/* Any of the CPUs that read the same register will do; one of the same die is
		 * preferred. */
		if (c->pmu->more_cpus && candidates && unc_topology_same_die(t, new_cpu, c->cpu))
			continue;
		candidates += !c->pmu->more_cpus || !candidates;
		new_cpu = mask.ids[i];
	}
	for (size_t i = 0; i < c->pmu->cpus.count; i++)
		gone += unc_topology_socket(t, c->pmu->cpus.ids[i]) == socket &&
			!unc_cpulist_has(&mask, c->pmu->cpus.ids[i]);
	unc_cpulist_finish(&mask);
	return candidates == 1 && gone == 1 ? new_cpu : -1;
}

/* ---- why an event was refused ---- */

/* Appends which permission is missing. `refused`: the event was refused for that reason. Otherwise
 * a driver has rejected the event before the kernel checked the permission. */
static void add_permission(struct unc_error *e, const struct unc_root *root, bool refused)
{
	struct unc_text why = {0}, fix = {0};
	struct unc_permission p;

	unc_permission_read(&p, root);
	if (!refused && (!p.level_known || unc_permission_granted(&p)))
		return;
	unc_permission_advise(&p, refused, &why, &fix);
	unc_error_append(e, refused ? "no permission to count for the whole machine"
				    : ". Permission is missing, too");
	if (p.level_known)
		unc_error_append(e, " (kernel.perf_event_paranoid is %ld)", p.level);
	if (why.data)
		unc_error_append(e, "%s %s", refused ? ";" : ":", why.data);
	if (refused && fix.data)
		unc_error_append(e, ". Fix: %s", fix.data);
	unc_text_finish(&why);
	unc_text_finish(&fix);
}

static void add_config(struct unc_error *e, const uint64_t config[static UNCORE_CONFIG_WORDS])
{
	static const char *const words[] = {"config", "config1", "config2", "config3"};

	for (size_t i = 0; i < UNCORE_CONFIG_WORDS; i++)
		if (i == 0 || config[i] != 0)
			unc_error_append(e, "%s%s=0x%" PRIx64, i ? "," : "", words[i], config[i]);
}

/* Appends why a driver refuses the event of `c`. `invalid`: EINVAL, so a value is wrong. Otherwise
 * the driver does not have the event. */
static void add_refusal(struct unc_error *e, const struct unc_kernel_env *env,
			const struct uncore_counter *c, bool invalid)
{
	const struct uncore_pmu *pmu = c->pmu;
	int type = type_now(env->root, pmu);

	if (!unc_topology_cpu(env->topology, c->cpu)) {
		unc_error_append(e, "this machine has no CPU %d", c->cpu);
	} else if (!unc_topology_cpu(env->topology, c->cpu)->online) {
		unc_error_append(e, "CPU %d is offline: to bring it back, " UNC_BRING_ONLINE,
				 c->cpu, c->cpu);
	} else if (invalid && pmu->has_mask && !unc_cpulist_has(&pmu->cpus, c->cpu)) {
		unc_error_append(e,
				 "the PMU is not counted from CPU %d; its cpumask in /sys has the "
				 "CPUs that it is counted from",
				 c->cpu);
	} else if (type < 0) {
		unc_error_append(e, "the PMU is gone: its driver's module has been unloaded or its "
				    "device removed. Load the module again and start anew");
	} else if ((uint32_t)type != pmu->type) {
		unc_error_append(e,
				 "the PMU has been registered anew (type %d, was %" PRIu32
				 "), as after a reload of its module: start anew",
				 type, pmu->type);
	} else if (invalid && c->modifiers & EXCLUDING) {
		unc_error_append(e, "the PMU, as all counters outside the cores, cannot "
				    "distinguish user, kernel, hypervisor, guest or idle time: "
				    "leave out the modifiers u, k, h, I, G and H");
	} else {
		unc_error_append(e, invalid ? "the driver does not take "
					    : "the driver knows no such event (");
		add_config(e, c->config);
		unc_error_append(e, invalid ? ": the hardware lacks the event, a term has a value "
					      "it does not allow, or terms exclude one another"
					    : ") on this CPU");
		if (env->topology->guest[0])
			unc_error_append(e, "; %s", env->topology->guest);
		if (invalid)
			add_permission(e, env->root, false);
	}
}

uint64_t unc_adding_take(struct unc_adding *a, uint64_t first, uint64_t second)
{
	uint64_t since = first - a->count, moved = second - first;

	/* `moved` is the register at the second reading: without a start since the last reading
	 * it is the newer value, and greater. After a start `since` is greater, since the first
	 * reading has added the counts before the start, too. */
	a->counted += (since > moved ? since : moved) - a->moved;
	a->moved = moved;
	a->count = second;
	return a->counted;
}

static const struct {
	int err;
	const char *reason;
} reasons[] = {
	{ENFILE, "the system is out of file descriptors: sudo sysctl fs.file-max=... allows more"},
	{E2BIG, "the kernel does not take a group this large"},
	{EOPNOTSUPP,
	 "the driver cannot count this event in this way (or its hardware lacks what it takes)"},
	{EBUSY,
	 "another program holds the hardware: another profiler, or the kernel itself. Look for one "
	 "with: sudo lsof | grep perf_event"},
	{ENOSPC, "the hardware has too few counters for the event"},
	{ESRCH, "the kernel treated the request as one for a process, which this PMU does not "
		"support"},
	{ENOMEM, "the kernel is out of memory"},
	{0, "an error that perf_event_open does not document; see the kernel's log (sudo dmesg)"},
};

void unc_kernel_why(const struct unc_kernel_env *env, const struct uncore_counter *c, int err,
		    struct unc_error *e)
{
	struct unc_permission permission;
	struct rlimit limit = {0, 0};
	size_t i = 0;

	err = err < 0 ? -err : err;
	unc_fail(e, err, "%s/%s/ on CPU %d: ", c->pmu->name, c->event, c->cpu);
	if (err == EACCES || err == EPERM) {
		add_permission(e, env->root, true);
	} else if (err == EINVAL || err == ENOENT || err == ENODEV || err == ENXIO) {
		add_refusal(e, env, c, err == EINVAL);
	} else if (err == EMFILE) {
		getrlimit(RLIMIT_NOFILE, &limit);
		unc_error_append(
			e,
			"out of file descriptors: each counter takes one, this process may "
			"have %llu (hard limit %llu). Allow more with ulimit -n as root, or "
			"with LimitNOFILE= in a systemd unit; or count fewer events",
			(unsigned long long)limit.rlim_cur, (unsigned long long)limit.rlim_max);
	} else if (err == E2BIG && c->config[3]) {
		unc_error_append(e, "the event needs config3, which Linux has since 6.3: this "
				    "kernel is older");
	} else if (err == ENOSYS) {
		unc_permission_read(&permission, env->root);
		unc_error_append(e, "%s",
				 permission.filtered
					 ? "a seccomp filter (a container's, or a systemd unit's) "
					   "hides the system call perf_event_open: allow it there"
					 : "this kernel is built without perf events "
					   "(CONFIG_PERF_EVENTS)");
	} else {
		while (reasons[i].err != err && reasons[i].err != 0)
			i++;
		unc_error_append(e, "%s", reasons[i].reason);
	}
	unc_error_append(e, " [perf_event_open: %s]", unc_errno_name(err));
}
