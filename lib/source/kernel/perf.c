/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "source/kernel/perf.h"
#include "base/error.h"
#include "machine/event.h"
#include "machine/permission.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CONFIG3_WORD (UNC_ATTR_CONFIG3_BYTES / 8 - 1)

#define EXCLUDING                                                                       \
	(UNC_MOD_USER | UNC_MOD_KERNEL | UNC_MOD_HV | UNC_MOD_NO_IDLE | UNC_MOD_GUEST | \
	 UNC_MOD_HOST)

void unc_perf_attr_init(union unc_perf_attr *a, const struct unc_counter *c)
{
	memset(a, 0, sizeof(*a));
	a->is.size = UNC_ATTR_CONFIG3_BYTES;
	a->is.type = c->pmu->type;
	a->is.config = c->config.word[0];
	a->is.config1 = c->config.word[1];
	a->is.config2 = c->config.word[2];
	a->words[CONFIG3_WORD] = c->config.word[3];
	/* As perf does: what is named is counted, and everything else of its kind is not. */
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

static int perf_event_open(union unc_perf_attr *a, int cpu, int leader)
{
	long fd;

	do
		fd = syscall(SYS_perf_event_open, a, -1, cpu, leader, PERF_FLAG_FD_CLOEXEC);
	while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : (int)fd;
}

/* A kernel that knows a shorter structure writes its size; it needs no more when the rest is zero. */
int unc_perf_open(union unc_perf_attr *a, int cpu, int leader)
{
	int fd = perf_event_open(a, cpu, leader);

	if (fd == -E2BIG && a->is.size < UNC_ATTR_CONFIG3_BYTES &&
	    a->is.size >= PERF_ATTR_SIZE_VER0 && a->words[CONFIG3_WORD] == 0)
		fd = perf_event_open(a, cpu, leader);
	return fd;
}

/* The type that a PMU of this name has now. A negative errno, such as -ENOENT, when it has none. */
static int type_now(const struct unc_root *root, const struct uncore_pmu *pmu, uint64_t *type)
{
	char path[400];

	snprintf(path, sizeof(path), "sys/bus/event_source/devices/%s/type", pmu->name);
	return unc_root_read_u64(root, path, type);
}

/* The CPUs that the PMU is counted from now, which the scan may have seen otherwise. */
static int read_mask(const struct unc_root *root, const struct uncore_pmu *pmu,
		     struct unc_cpulist *out)
{
	char path[320] = "sys/devices/system/cpu/online";

	if (pmu->has_mask)
		snprintf(path, sizeof(path), "sys/bus/event_source/devices/%s/cpumask", pmu->name);
	return unc_cpulist_read(out, root, path, NULL);
}

/*
 * When a CPU goes offline the kernel moves its events to another CPU of the unit. It does not always:
 * Linux 7.2 moves the first group of each PMU only, and when no CPU of the unit is left the events stay
 * stopped after the CPUs are back.
 */
int unc_kernel_cpu_now(const struct unc_kernel_env *env, const struct unc_counter *c)
{
	const struct unc_topology *t = env->topology;
	int socket = unc_topology_socket(t, c->cpu), new_cpu = -1;
	struct unc_cpulist mask = {0};
	size_t candidates = 0, gone = 0;
	uint64_t type;

	/* A driver that was removed and came back has a new type, and its old one may be another PMU's. */
	if (type_now(env->root, c->pmu, &type) < 0 || type != c->pmu->type ||
	    read_mask(env->root, c->pmu, &mask) < 0)
		return -1;
	if (unc_cpulist_has(&mask, c->cpu)) {
		unc_cpulist_finish(&mask);
		return c->cpu;
	}
	for (size_t i = 0; i < mask.count; i++) {
		if (unc_cpulist_has(&c->pmu->cpus, mask.ids[i]) || socket < 0 ||
		    unc_topology_socket(t, mask.ids[i]) != socket)
			continue;
		new_cpu = mask.ids[i];
		candidates++;
	}
	for (size_t i = 0; i < c->pmu->cpus.count; i++)
		gone += unc_topology_socket(t, c->pmu->cpus.ids[i]) == socket &&
			!unc_cpulist_has(&mask, c->pmu->cpus.ids[i]);
	unc_cpulist_finish(&mask);
	return candidates == 1 && gone == 1 ? new_cpu : -1;
}

/* ---- why it was refused ------------------------------------------------------------------- */

struct cause {
	const struct unc_kernel_env *env;
	const struct unc_counter *counter;
	int err; /* positive */
	struct unc_error *e;
};

/* The sentence for a permission that is missing. `refused`: it is why the event was refused; else a
 * driver has looked at the event before the kernel looks at the permission. */
static void add_permission(const struct cause *c, bool refused)
{
	struct unc_text why = {0}, fix = {0};
	struct unc_permission p;

	unc_permission_read(&p, c->env->root);
	if (!refused && (!p.level_known || unc_permission_granted(&p)))
		return;
	unc_permission_advise(&p, refused, &why, &fix);
	unc_error_append(c->e, refused ? "no permission to count for the whole machine"
				       : ". Permission is missing, too");
	if (p.level_known)
		unc_error_append(c->e, " (kernel.perf_event_paranoid is %ld)", p.level);
	if (why.data)
		unc_error_append(c->e, "%s %s", refused ? ";" : ":", why.data);
	if (refused && fix.data)
		unc_error_append(c->e, ". Fix: %s", fix.data);
	unc_text_finish(&why);
	unc_text_finish(&fix);
}

/* True when the CPU explains the refusal, whatever the errno. */
static bool bad_cpu(const struct cause *c)
{
	int cpu = c->counter->cpu;
	const struct unc_topology *t = c->env->topology;

	if (!unc_topology_cpu(t, cpu)) {
		unc_error_append(c->e, "this machine has no CPU %d", cpu);
		return true;
	}
	if (!unc_topology_online(t, cpu)) {
		unc_error_append(c->e,
				 "CPU %d is offline: to bring it back, echo 1 | sudo tee "
				 "/sys/devices/system/cpu/cpu%d/online",
				 cpu, cpu);
		return true;
	}
	return false;
}

/* True when the PMU is not any more what was scanned. */
static bool stale_pmu(const struct cause *c)
{
	const struct uncore_pmu *pmu = c->counter->pmu;
	uint64_t type = pmu->type;
	int ret = type_now(c->env->root, pmu, &type);

	if (ret == -ENOENT || ret == -ENOTDIR)
		unc_error_append(c->e,
				 "the PMU is gone: its driver's module has been unloaded or its "
				 "device removed. Load the module again and start anew");
	else if (ret == 0 && type != pmu->type)
		unc_error_append(c->e,
				 "the PMU has been registered anew (type %" PRIu64 ", was %" PRIu32
				 "), as after a reload of its module: start anew",
				 type, pmu->type);
	else
		return false;
	return true;
}

static void add_config(const struct cause *c)
{
	static const char *const words[] = {"config", "config1", "config2", "config3"};

	for (size_t i = 0; i < 4; i++)
		if (i == 0 || c->counter->config.word[i] != 0)
			unc_error_append(c->e, "%s%s=0x%" PRIx64, i ? "," : "", words[i],
					 c->counter->config.word[i]);
}

static void add_guest(const struct cause *c)
{
	if (c->env->topology->guest[0])
		unc_error_append(c->e, "; %s", c->env->topology->guest);
}

static void no_such_event(const struct cause *c)
{
	if (bad_cpu(c) || stale_pmu(c))
		return;
	unc_error_append(c->e, "the driver knows no such event (");
	add_config(c);
	unc_error_append(c->e, ") on this CPU");
	add_guest(c);
}

static void invalid(const struct cause *c)
{
	const struct uncore_pmu *pmu = c->counter->pmu;

	if (bad_cpu(c))
		return;
	if (pmu->has_mask && !unc_cpulist_has(&pmu->cpus, c->counter->cpu)) {
		unc_error_append(c->e,
				 "the PMU is not counted from CPU %d; its cpumask in /sys has the "
				 "CPUs that it is counted from",
				 c->counter->cpu);
		return;
	}
	if (stale_pmu(c))
		return;
	if (c->counter->modifiers & EXCLUDING) {
		unc_error_append(c->e,
				 "the PMU cannot tell user, kernel, hypervisor, guest or idle time "
				 "apart, as counters outside the cores never can: leave out the "
				 "modifiers u, k, h, I, G and H");
		return;
	}
	unc_error_append(c->e, "the driver does not take ");
	add_config(c);
	unc_error_append(c->e,
			 ": the hardware lacks the event, a term has a value it does not allow, or "
			 "terms exclude one another");
	add_guest(c);
	add_permission(c, false);
}

static void out_of_files(const struct cause *c)
{
	struct rlimit limit = {0, 0};

	getrlimit(RLIMIT_NOFILE, &limit);
	unc_error_append(c->e,
			 "out of file descriptors: each counter takes one, this process may have "
			 "%llu (hard limit %llu). Allow more with ulimit -n as root, or with "
			 "LimitNOFILE= in a systemd unit; or ask for less",
			 (unsigned long long)limit.rlim_cur, (unsigned long long)limit.rlim_max);
}

/* Reasons without details. */
static const char *plain_reason(const struct cause *c)
{
	struct unc_permission p;

	switch (c->err) {
	case ENFILE:
		return "the whole machine is out of file descriptors: sudo sysctl fs.file-max=... "
		       "allows more";
	case E2BIG:
		return c->counter->config.word[3]
			       ? "the event needs config3, which Linux has since 6.3: this kernel "
				 "is older"
			       : "the kernel does not take a group this large";
	case ENOSYS:
		unc_permission_read(&p, c->env->root);
		return p.filtered ? "a seccomp filter (a container's, or a systemd unit's) hides "
				    "the system call perf_event_open: allow it there"
				  : "this kernel is built without perf events "
				    "(CONFIG_PERF_EVENTS)";
	case EOPNOTSUPP:
		return "the driver cannot count this event in this way (or its hardware lacks what "
		       "it takes)";
	case EBUSY:
		return "another program holds the hardware: another profiler, or the kernel "
		       "itself. Look for one with: sudo lsof | grep perf_event";
	case ENOSPC:
		return "the hardware has too few counters for the event";
	case ESRCH:
		return "the kernel took the request for one about a process, which this PMU cannot "
		       "serve";
	case ENOMEM:
		return "the kernel is out of memory";
	default:
		return "a refusal that perf_event_open is not known for; see the kernel's log "
		       "(sudo dmesg)";
	}
}

void unc_kernel_why(const struct unc_kernel_env *env, const struct unc_counter *counter, int err,
		    struct unc_error *e)
{
	const struct cause c = {env, counter, err < 0 ? -err : err, e};

	unc_fail(e, c.err, "%s/%s/ on CPU %d: ", counter->pmu->name, counter->event, counter->cpu);
	switch (c.err) {
	case EACCES:
	case EPERM:
		add_permission(&c, true);
		break;
	case ENOENT:
	case ENODEV:
	case ENXIO:
		no_such_event(&c);
		break;
	case EINVAL:
		invalid(&c);
		break;
	case EMFILE:
		out_of_files(&c);
		break;
	default:
		unc_error_append(e, "%s", plain_reason(&c));
	}
	unc_error_append(e, " [perf_event_open: %s]", unc_errno_name(c.err));
}
