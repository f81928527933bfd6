/* SPDX-License-Identifier: MIT */
/*
 * What a read costs, against a bare loop of read(2) over the same groups in the same run. Uses the
 * kernel's `msr` PMU (tsc: a guest reads it without help of its host), which every x86 machine has; a
 * machine with many uncore PMUs is made by giving that one PMU many names. Prints one JSON object.
 *
 * bench-read loop MICROSECONDS TICKS: a bare loop that reads 64 counters on each of two CPUs at each tick of a timer, a group
 * for each CPU. bench-read open COUNT: opens and closes so many counters.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "count/monitor.h"

#define PMUS 50
#define EVENTS 4 /* per PMU: one group */
#define ROUNDS 41
#define READS 100 /* per round */

static _Noreturn void die(const char *what, const char *why)
{
	fprintf(stderr, "bench-read: %s: %s\n", what, why);
	exit(1);
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare_doubles);
	return values[count / 2];
}

/* ---- the floor: the same groups, opened and read by hand ---- */

struct floor {
	int fds[2 * PMUS * EVENTS];
	int leaders[2 * PMUS];
	size_t fd_count, leader_count;
};

static int open_bare(uint32_t type, uint64_t config, int cpu, int leader)
{
	struct perf_event_attr attr = {
		.type = type,
		.size = sizeof(attr),
		.config = config,
		.disabled = leader < 0,
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
			       PERF_FORMAT_TOTAL_TIME_RUNNING,
	};
	long fd = syscall(SYS_perf_event_open, &attr, -1, cpu, leader, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		die("perf_event_open", strerror(errno));
	return (int)fd;
}

static void open_floor(struct floor *f, uint32_t type, int cpus)
{
	for (int cpu = 0; cpu < cpus; cpu++)
		for (int i = 0; i < PMUS; i++) {
			int leader = open_bare(type, 0, cpu, -1);

			f->leaders[f->leader_count++] = leader;
			f->fds[f->fd_count++] = leader;
			for (int k = 1; k < EVENTS; k++)
				f->fds[f->fd_count++] = open_bare(type, 0, cpu, leader);
			ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
		}
}

static double time_floor(const struct floor *f)
{
	uint64_t values[3 + EVENTS];
	double begin = now_ns();

	for (int n = 0; n < READS; n++)
		for (size_t i = 0; i < f->leader_count; i++)
			if (read(f->leaders[i], values, sizeof(values)) != sizeof(values))
				die("read", strerror(errno));
	return (now_ns() - begin) / READS / (double)f->fd_count;
}

/* ---- the floor of a loop ---- */

#define LOOP_EVENTS 64 /* on each CPU */

static void loop(uint32_t type, int cpus, double every_ns, size_t ticks)
{
	struct itimerspec spec = {.it_interval = {0, (long)every_ns}};
	uint64_t values[3 + LOOP_EVENTS], expired;
	double *late = calloc(ticks, sizeof(*late)), due = now_ns() + every_ns;
	int timer = timerfd_create(CLOCK_MONOTONIC, 0), leaders[2];
	size_t count = 0, passed = 0;

	if (!late || timer < 0)
		die("timer", strerror(errno));
	for (int cpu = 0; cpu < cpus; cpu++) {
		leaders[cpu] = open_bare(type, 0, cpu, -1);
		for (int i = 1; i < LOOP_EVENTS; i++)
			open_bare(type, 0, cpu, leaders[cpu]);
		ioctl(leaders[cpu], PERF_EVENT_IOC_ENABLE, 0);
	}
	spec.it_value = (struct timespec){(time_t)(due / 1e9), (long)fmod(due, 1e9)};
	timerfd_settime(timer, TFD_TIMER_ABSTIME, &spec, NULL);
	for (; passed < ticks; passed += expired, count++) {
		if (read(timer, &expired, sizeof(expired)) != sizeof(expired))
			die("timer", strerror(errno));
		late[count] = now_ns() - due - (double)passed * every_ns;
		for (int cpu = 0; cpu < cpus; cpu++)
			if (read(leaders[cpu], values, sizeof(values)) != sizeof(values))
				die("read", strerror(errno));
	}
	qsort(late, count, sizeof(*late), compare_doubles);
	printf("{\"ticks\": %zu, \"missed\": %zu, \"p50\": %.0f, \"p99\": %.0f, \"max\": %.0f}\n",
	       count, passed - count, late[count / 2], late[count * 99 / 100], late[count - 1]);
	free(late);
}

/* ---- ours ---- */

/* The machine's `msr`, under many names. */
static void multiply_pmu(struct uncore *u, const struct uncore_pmu *msr)
{
	struct unc_pmus many = {.items = calloc(PMUS, sizeof(*many.items))};

	if (!many.items)
		die("memory", "none left");
	for (size_t i = 0; i < PMUS; i++) {
		char name[32];
		struct uncore_pmu *p = &many.items[many.count++];

		snprintf(name, sizeof(name), "bench_%zu", i);
		p->name = strdup(name);
		p->type = msr->type;
		p->root = msr->root;
		p->error = msr->error;
		p->loaded = true; /* there is no such directory to read terms from */
		p->cpus.ids = calloc(msr->cpus.count, sizeof(int));
		if (!p->name || !p->cpus.ids)
			die("memory", "none left");
		memcpy(p->cpus.ids, msr->cpus.ids, msr->cpus.count * sizeof(int));
		p->cpus.count = msr->cpus.count;
	}
	unc_pmus_finish(&u->pmus);
	u->pmus = many;
}

static struct uncore_monitor *monitor(struct uncore *u, const char *events)
{
	struct uncore_monitor *m;

	if (uncore_monitor_new(&m, u) < 0 || uncore_monitor_add_events(m, events) < 0 ||
	    uncore_monitor_open(m) < 0 || uncore_monitor_start(m) < 0)
		die("monitor", uncore_error(u));
	return m;
}

static double time_read(struct uncore_monitor *m)
{
	uint64_t ns;
	double begin = now_ns();

	for (int n = 0; n < READS; n++)
		if (m->parts[0].source->ops->read(m->parts[0].source, m->now, &ns,
						  &m->machine->error) < 0)
			die("read", m->machine->error.text);
	return (now_ns() - begin) / READS / (double)m->plan.count;
}

static double time_sample(struct uncore_monitor *m, struct uncore_sample *s)
{
	double begin = now_ns();

	for (int n = 0; n < READS; n++)
		if (uncore_monitor_read(m, s) < 0)
			die("read", m->machine->error.text);
	return (now_ns() - begin) / READS / (double)m->plan.count;
}

/* ---- both, in turn ---- */

struct result {
	double floor_ns, read_ns, sample_ns, read_ratio, sample_ratio;
	size_t counters;
};

static struct result compare(struct uncore *u, uint32_t type, const char *events, int cpus)
{
	static struct floor f;
	double base[ROUNDS], bare[ROUNDS], full[ROUNDS], bare_ratio[ROUNDS], full_ratio[ROUNDS];
	struct uncore_monitor *m = monitor(u, events);
	struct uncore_sample *s;

	f = (struct floor){0};
	open_floor(&f, type, cpus);
	if (uncore_sample_new(&s) < 0)
		die("memory", "none left");
	if (m->plan.count != f.fd_count)
		die("plan", "not the same counters as the floor's");
	time_floor(&f);
	time_sample(m, s);
	for (int i = 0; i < ROUNDS; i++) {
		base[i] = time_floor(&f);
		bare[i] = time_read(m);
		full[i] = time_sample(m, s);
		bare_ratio[i] = bare[i] / base[i];
		full_ratio[i] = full[i] / base[i];
	}
	uncore_sample_free(s);
	uncore_monitor_free(m);
	for (size_t i = 0; i < f.fd_count; i++)
		close(f.fds[i]);
	return (struct result){
		.floor_ns = median(base, ROUNDS),
		.read_ns = median(bare, ROUNDS),
		.sample_ns = median(full, ROUNDS),
		.read_ratio = median(bare_ratio, ROUNDS),
		.sample_ratio = median(full_ratio, ROUNDS),
		.counters = f.fd_count,
	};
}

static void print(const char *name, const struct result *r, const char *end)
{
	printf("  \"%s\": {\"counters\": %zu, \"floor_ns_per_counter\": %.1f, "
	       "\"read_ns_per_counter\": %.1f, \"sample_ns_per_counter\": %.1f, "
	       "\"ratio_to_floor\": %.3f, \"ratio_to_floor_with_arithmetic\": %.3f}%s\n",
	       name, r->counters, r->floor_ns, r->read_ns, r->sample_ns, r->read_ratio,
	       r->sample_ratio, end);
}

static const struct uncore_pmu *find_msr(struct uncore *u)
{
	for (size_t i = 0; i < uncore_pmu_count(u); i++)
		if (strcmp(uncore_pmu_name(uncore_pmu_at(u, i)), "msr") == 0)
			return uncore_pmu_at(u, i);
	die("msr", "this machine has no such PMU");
}

int main(int argc, char **argv)
{
	const char *one = "{bench/config=0,cpu=0/,bench/config=0,cpu=0/,"
			  "bench/config=0,cpu=0/,bench/config=0,cpu=0/}";
	const char *all = "{bench/config=0/,bench/config=0/,bench/config=0/,bench/config=0/}";
	const struct uncore_pmu *msr;
	struct result own, both;
	struct uncore *u;
	cpu_set_t zero;
	uint32_t type;

	CPU_ZERO(&zero);
	CPU_SET(0, &zero);
	if (argc == 1 && sched_setaffinity(0, sizeof(zero), &zero) < 0)
		die("sched_setaffinity", strerror(errno));
	if (uncore_new(&u) < 0 || uncore_scan(u) < 0)
		die("scan", "failed");
	msr = find_msr(u);
	type = msr->type;
	if (argc == 4 && strcmp(argv[1], "loop") == 0)
		loop(type, uncore_cpu_count(u) >= 2 ? 2 : 1, strtod(argv[2], NULL) * 1e3,
		     strtoul(argv[3], NULL, 10));
	for (long i = 0; argc == 3 && strcmp(argv[1], "open") == 0 && i < strtol(argv[2], NULL, 10);
	     i++)
		open_bare(type, 0, (int)(i % 2), -1);
	if (argc > 1) {
		uncore_free(u);
		return 0;
	}
	multiply_pmu(u, msr);
	own = compare(u, type, one, 1);
	printf("{\n");
	if (uncore_cpu_count(u) >= 2) {
		both = compare(u, type, all, 2);
		print("two_cpus", &both, ",");
	}
	print("own_cpu", &own, "");
	printf("}\n");
	uncore_free(u);
	return 0;
}
