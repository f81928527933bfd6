/* SPDX-License-Identifier: MIT */
/* The source of the running kernel: counters that perf_event_open opens. */
#define _GNU_SOURCE
#include "source/kernel/perf.h"
#include <sys/ioctl.h>
#include <unistd.h>

#define HEADER_WORDS 3 /* words before the values: number of values, time enabled, time running */
#define READ_TRIES 3
#define HALF (UINT64_C(1) << 32) /* the unit of the upper half of a register */
#define MOMENT_NS 2000000        /* a counter that is not idle moves within MOMENTS times this */
#define MOMENTS 4
#define SLOW_NS 100000u      /* a call that takes this much longer than the shortest ones is slow */
#define REOPEN_NS 100000000u /* time between two attempts to open groups again */

/* What is kept of a counter with a descriptor. */
struct counter {
	struct uncore_reading last;          /* the last one that did not fail */
	struct uncore_reading before_reopen; /* `last` when its group was opened again */
	uint64_t restarted;                  /* the count after the latest restart */
	struct unc_adding added;             /* if its group is read twice */
};

struct kernel_source {
	struct unc_source base; /* must be the first member: the pointer is cast */
	struct unc_kernel_env env;
	struct unc_opener opener;
	const struct uncore_counter *plan; /* borrowed from open to close */
	struct counter *counters;
	size_t count;
	struct unc_groups groups;
	uint64_t *words; /* the buffers of the groups */
	struct unc_readers *readers;
	uint64_t tried_ns; /* the time of the latest attempt to open groups again */
	bool counting;
	struct unc_names *notes; /* used during open only */
};

/* ---- what the packing calls ---- */

static int opener_open(void *ctx, const struct uncore_counter *c, int leader,
		       uint32_t leader_modifiers)
{
	const struct kernel_source *k = ctx;
	union unc_perf_attr a;
	int fd;

	unc_perf_attr_init(&a, c);
	a.is.read_format =
		PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	if (leader < 0) {
		a.is.disabled = 1;
		a.is.pinned = (leader_modifiers & UNC_MOD_PINNED) != 0;
		a.is.exclusive = (leader_modifiers & UNC_MOD_EXCLUSIVE) != 0;
	}
	fd = unc_perf_open(&a, c->cpu, leader);
	if (fd == -EMFILE && unc_limit_raise(k->notes))
		fd = unc_perf_open(&a, c->cpu, leader);
	return fd;
}

static void opener_close(void *ctx, int fd)
{
	(void)ctx;
	close(fd);
}

static bool opener_runs(void *ctx, const struct unc_group *g)
{
	uint64_t words[HEADER_WORDS + UNC_GROUP_MERGE_MAX] = {0};
	size_t bytes = (HEADER_WORDS + g->members) * sizeof(words[0]);
	bool runs;

	(void)ctx;
	if (g->members > UNC_GROUP_MERGE_MAX || ioctl(g->leader, PERF_EVENT_IOC_ENABLE, 0) != 0)
		return true; /* the test is impossible: assume that the group runs */
	runs = read(g->leader, words, bytes) == (ssize_t)bytes && words[2] != 0;
	ioctl(g->leader, PERF_EVENT_IOC_DISABLE, 0);
	return runs;
}

static void opener_why(void *ctx, const struct uncore_counter *c, int err, struct unc_error *e)
{
	const struct kernel_source *k = ctx;

	unc_kernel_why(&k->env, c, err, e);
	if (err == -EMFILE)
		unc_error_append(e, " (%zu counters are planned)", k->count);
}

/* ---- reading ---- */

/* The kernel takes a group's times from the clock of the CPU that reads. Just after the start on
 * another CPU this clock can be behind, by up to about 0.2 ms in virtual machines. The time is then
 * negative. */
static uint64_t not_negative(uint64_t ns)
{
	return ns > INT64_MAX ? 0 : ns;
}

/* True if the driver may have read the two halves of a register while a carry passed between them.
 * The count is then 2^32 too large. After the next reading the error is 2^48, or whatever the width
 * of the register is; count/delta.c subtracts it. */
static bool may_be_torn(const struct unc_group *g)
{
	for (size_t i = HEADER_WORDS; g->seen && i < HEADER_WORDS + g->members; i++)
		if (g->words[i] - g->seen[i] >= HALF)
			return true;
	return false;
}

/* Reads a group. Runs on several threads at once, each with groups of its own. The counts and times
 * are those of an unknown moment during the call. If the call took long because a CPU was busy, the
 * moment is uncertain, so the group is read again. */
static void read_group(void *ctx, size_t index)
{
	const struct kernel_source *k = ctx;
	struct unc_group *g = &k->groups.items[index];
	size_t bytes = (HEADER_WORDS + g->members) * sizeof(g->words[0]);
	ssize_t got = 0;

	for (int i = 0; i < 2 * READ_TRIES; i++) {
		uint64_t begin_ns = unc_now_ns(), *words = g->words;
		bool slow;

		if (g->seen) {
			g->words = g->seen;
			g->seen = words;
		}
		do
			got = read(g->leader, g->words, bytes);
		while (got < 0 && errno == EINTR);
		if (g->again && got == (ssize_t)bytes)
			got = read(g->leader, g->again, bytes);
		g->took_ns = unc_now_ns() - begin_ns;
		g->at_ns = begin_ns + g->took_ns / 2;
		if (!g->least_ns || g->took_ns < g->least_ns)
			g->least_ns = g->took_ns;
		slow = i + 1 < READ_TRIES && g->took_ns > 2 * g->least_ns + SLOW_NS;
		if (got <= 0 || g->again || (!slow && !may_be_torn(g)))
			break;
	}
	/* 0 bytes are the end of file of a pinned group that could not be scheduled. */
	g->lost = got != (ssize_t)bytes || g->words[0] != g->members;
}

/* Writes the readings of a group's counters. A counter whose reading failed keeps its last reading,
 * whose times show that it has not counted since. A pinned group has no reading then: another group
 * has its counters, and the user asked for pinned ones. */
static void put_readings(struct kernel_source *k, const struct unc_group *g,
			 struct uncore_reading *into)
{
	size_t member = HEADER_WORDS;

	for (size_t i = g->first; i < g->end; i++) {
		struct counter *c = &k->counters[i];
		struct uncore_reading reading = c->last;
		uint64_t value;

		if (k->groups.shares[i] != UNC_SHARES_NONE)
			into[i] = into[k->groups.shares[i]];
		if (k->groups.fds[i] < 0)
			continue;
		if (!g->lost) {
			value = g->words[member];
			if (g->again)
				value = unc_adding_take(&c->added, value, g->again[member]);
			member++;
			reading = (struct uncore_reading){
				.raw = c->before_reopen.raw + value,
				.enabled_ns =
					c->before_reopen.enabled_ns + not_negative(g->words[1]),
				.running_ns =
					c->before_reopen.running_ns + not_negative(g->words[2]),
				.uncertain_ns = g->took_ns,
			};
			c->last = reading;
		} else if (reading.enabled_ns == 0 || g->modifiers & UNC_MOD_PINNED) {
			continue;
		}
		reading.at_ns = g->at_ns;
		reading.took_ns = g->took_ns;
		into[i] = reading;
	}
}

/* True if the kernel no longer counts a group: its readings fail, or its enabled time does not
 * advance though it was not stopped. In a starved virtual machine that time may stop briefly, too,
 * so REOPEN_NS must pass. */
static bool is_given_up(struct unc_group *g, uint64_t now_ns)
{
	if (g->lost)
		return !(g->modifiers & UNC_MOD_PINNED);
	if (g->words[1] != g->enabled_ns)
		g->moved_ns = now_ns;
	g->enabled_ns = g->words[1];
	return now_ns - g->moved_ns >= REOPEN_NS;
}

/* Opens a group again that the kernel no longer counts. The counts continue from their last values.
 * The time in between is neither enabled nor running time, and this interval has no value. The next
 * interval misses the time until the group counts: it begins at `now_ns`, even if this group was
 * read later. */
static void reopen(struct kernel_source *k, struct unc_group *g, struct uncore_reading *into,
		   uint64_t now_ns)
{
	uint32_t type;
	int cpu = unc_kernel_cpu_now(&k->env, &k->plan[g->first], &type);

	if (cpu < 0 || unc_groups_reopen(&k->groups, g, k->plan, cpu, type, &k->opener) < 0)
		return;
	for (size_t i = g->first; i < g->end; i++) {
		k->counters[i].before_reopen = k->counters[i].last;
		k->counters[i].added = (struct unc_adding){0};
		into[i].at_ns = now_ns;
	}
	g->enabled_ns = 0;
	if (g->seen)
		memset(g->words, 0, (HEADER_WORDS + g->members) * sizeof(*g->words));
	ioctl(g->leader, PERF_EVENT_IOC_ENABLE, 0);
}

static int kernel_read(struct unc_source *s, struct uncore_reading *into, uint64_t *now_ns,
		       struct unc_error *e)
{
	struct kernel_source *k = (struct kernel_source *)s;
	uint64_t begin_ns = unc_now_ns(), sum_ns = 0;
	bool try;

	(void)e;
	for (size_t i = 0; i < k->count; i++)
		into[i] = (struct uncore_reading){.lost = true};
	unc_readers_run(k->readers);
	for (size_t i = 0; i < k->groups.count; i++)
		sum_ns += k->groups.items[i].at_ns - begin_ns;
	*now_ns = begin_ns + (k->groups.count ? sum_ns / k->groups.count : 0);
	try = k->counting && *now_ns - k->tried_ns >= REOPEN_NS;
	for (size_t i = 0; i < k->groups.count; i++) {
		struct unc_group *g = &k->groups.items[i];

		put_readings(k, g, into);
		if (!is_given_up(g, *now_ns) || !try)
			continue;
		k->tried_ns = *now_ns;
		reopen(k, g, into, *now_ns);
	}
	return 0;
}

/* ---- opening ---- */

static int kernel_open(struct unc_source *s, struct uncore_counter *counters, size_t count,
		       struct unc_names *notes, struct unc_error *e)
{
	struct kernel_source *k = (struct kernel_source *)s;
	uint64_t *words;
	int *cpus, ret;

	if (!unc_root_is_live(s->root))
		return unc_fail(
			e, EOPNOTSUPP,
			"counters can be opened on the running machine only, not on one that is a "
			"directory or a snapshot: leave out the root to count here, or choose a "
			"simulation");
	k->env = (struct unc_kernel_env){s->root, s->topology};
	k->opener = (struct unc_opener){opener_open, opener_close, opener_runs, opener_why, k};
	k->notes = notes;
	k->count = count;
	k->plan = counters;
	for (size_t i = 0; i < count; i++)
		counters[i].width = 64;
	ret = unc_groups_open(&k->groups, counters, count, &k->opener, notes, e);
	if (ret < 0)
		return ret;
	k->words = calloc(2 * (HEADER_WORDS * k->groups.count + count + 1), sizeof(*k->words));
	k->counters = calloc(count + 1, sizeof(*k->counters));
	cpus = calloc(k->groups.count + 1, sizeof(*cpus));
	ret = -ENOMEM;
	if (k->words && k->counters && cpus) {
		words = k->words;
		for (size_t i = 0; i < k->groups.count; i++) {
			struct unc_group *g = &k->groups.items[i];

			cpus[i] = counters[g->first].cpu;
			g->words = words;
			words += HEADER_WORDS + g->members;
			if (counters[g->first].pmu->adds_at_reads)
				g->again = words;
			else if (counters[g->first].register_halves)
				g->seen = words;
			if (g->again || g->seen)
				words += HEADER_WORDS + g->members;
		}
		ret = unc_readers_new(&k->readers, cpus, k->groups.count, UNC_READER_MIN_ITEMS,
				      read_group, k);
	}
	free(cpus);
	return ret < 0 ? unc_nomem(e) : 0;
}

/* Starts or stops all groups. A group whose PMU has been removed refuses; the others continue. */
static int start_or_stop(struct unc_source *s, bool counting, struct unc_error *e)
{
	struct kernel_source *k = (struct kernel_source *)s;
	unsigned long request = counting ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;
	size_t done = 0;
	int err = 0;

	k->counting = counting;
	for (size_t g = 0; g < k->groups.count; g++) {
		if (ioctl(k->groups.items[g].leader, request, 0) == 0)
			done++;
		else
			err = errno;
	}
	if (err != 0 && done == 0)
		unc_kernel_why(&k->env, &k->plan[k->groups.items[0].first], -err, e);
	return done != 0 ? 0 : -err;
}

static int kernel_enable(struct unc_source *s, struct unc_error *e)
{
	return start_or_stop(s, true, e);
}

static int kernel_disable(struct unc_source *s, struct unc_error *e)
{
	return start_or_stop(s, false, e);
}

static bool is_marked(const struct unc_group *g, const bool *marks)
{
	for (size_t i = g->first; i < g->end; i++)
		if (marks[i])
			return true;
	return false;
}

/* Reads the group. Returns how many marked counters have not moved since the restart. If `last`,
 * removes their marks. */
static size_t unmark_idle(struct kernel_source *k, size_t group, bool *marks, bool last)
{
	const struct unc_group *g = &k->groups.items[group];
	size_t idle = 0;

	read_group(k, group);
	for (size_t i = g->first, member = HEADER_WORDS; i < g->end; i++) {
		bool moved =
			k->groups.fds[i] >= 0 && g->words[member++] != k->counters[i].restarted;

		idle += marks[i] && !moved;
		marks[i] = marks[i] && (moved || !last);
	}
	return idle;
}

/* Restarts the marked groups: the driver writes control registers when it starts an event. The
 * counts so far are kept. */
static void kernel_restart(struct unc_source *s, bool *marks)
{
	struct kernel_source *k = (struct kernel_source *)s;
	const struct timespec moment = {.tv_nsec = MOMENT_NS};
	size_t idle = 1;

	for (size_t i = 0; i < k->groups.count; i++) {
		struct unc_group *g = &k->groups.items[i];

		if (!is_marked(g, marks) || ioctl(g->leader, PERF_EVENT_IOC_DISABLE, 0) != 0)
			continue;
		ioctl(g->leader, PERF_EVENT_IOC_ENABLE, 0);
		read_group(k, i);
		for (size_t c = g->first, member = HEADER_WORDS; c < g->end; c++)
			k->counters[c].restarted = k->groups.fds[c] < 0 ? 0 : g->words[member++];
	}
	for (int tries = 1; tries <= MOMENTS && idle; tries++) {
		idle = 0;
		nanosleep(&moment, NULL);
		for (size_t i = 0; i < k->groups.count; i++)
			if (is_marked(&k->groups.items[i], marks))
				idle += unmark_idle(k, i, marks, tries == MOMENTS);
	}
}

static void kernel_close(struct unc_source *s)
{
	struct kernel_source *k = (struct kernel_source *)s;

	unc_readers_free(k->readers);
	unc_groups_finish(&k->groups, &k->opener);
	free(k->words);
	free(k->counters);
	free(k);
}

const struct unc_source_ops unc_source_kernel = {
	.size = sizeof(struct kernel_source),
	.open = kernel_open,
	.enable = kernel_enable,
	.disable = kernel_disable,
	.read = kernel_read,
	.restart = kernel_restart,
	.close = kernel_close,
};
