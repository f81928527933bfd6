/* SPDX-License-Identifier: MIT */
/* Counters of the running kernel, through perf_event_open. */
#define _GNU_SOURCE
#include "base/clock.h"
#include "machine/event.h"
#include "source/kernel/groups.h"
#include "source/kernel/perf.h"
#include "source/reader.h"
#include "source/source.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define HEADER_WORDS 3 /* of a group's reading: number of values, time enabled, time running */
#define REVIVE_NS 100000000u /* between two attempts to reopen stopped groups */

struct kernel_source {
	struct unc_source base;
	struct unc_kernel_env env;
	const struct unc_counter *counters; /* of the plan, from open to close */
	size_t count;
	struct unc_groups groups;
	uint64_t *words; /* what the groups' readings are put into */
	struct unc_readers *readers;
	struct unc_reading *into; /* of the read that is going on */
	struct unc_reading *last; /* of each counter, as last read well */
	struct unc_reading *past; /* what it had when it was opened again: zeroes at first */
	uint64_t tried_ns;        /* of the last attempt to reopen stopped groups */
	bool counting;

	struct unc_names *notes; /* of the open that is going on */
	bool raised;             /* the limit of open files, as far as it goes */
};

static struct kernel_source *kernel_of(struct unc_source *s)
{
	return (struct kernel_source *)s; /* base is its first member */
}

/* ---- one descriptor ------------------------------------------------------------------------ */

/* As perf does: what is named is counted, and everything else of its kind is not. */
static void set_exclusions(struct perf_event_attr *a, uint32_t modifiers)
{
	if (modifiers & (UNC_MOD_USER | UNC_MOD_KERNEL | UNC_MOD_HV)) {
		a->exclude_user = !(modifiers & UNC_MOD_USER);
		a->exclude_kernel = !(modifiers & UNC_MOD_KERNEL);
		a->exclude_hv = !(modifiers & UNC_MOD_HV);
	}
	if (modifiers & (UNC_MOD_GUEST | UNC_MOD_HOST)) {
		a->exclude_guest = !(modifiers & UNC_MOD_GUEST);
		a->exclude_host = !(modifiers & UNC_MOD_HOST);
	}
	a->exclude_idle = (modifiers & UNC_MOD_NO_IDLE) != 0;
}

/* True when more descriptors may be had now. */
static bool raise_limit(struct kernel_source *k)
{
	struct rlimit limit;
	struct unc_text note = {0};
	rlim_t before;

	if (k->raised || getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return false;
	k->raised = true;
	before = limit.rlim_cur;
	limit.rlim_cur = limit.rlim_max;
	if (before >= limit.rlim_max || setrlimit(RLIMIT_NOFILE, &limit) != 0)
		return false;
	unc_text_add(&note, "raised the limit of open files from %llu to %llu",
		     (unsigned long long)before, (unsigned long long)limit.rlim_max);
	if (!note.failed)
		unc_names_add(k->notes, note.data);
	unc_text_finish(&note);
	return true;
}

/* ---- what the packing needs ---------------------------------------------------------------- */

static int opener_open(void *ctx, const struct unc_counter *c, int leader,
		       uint32_t leader_modifiers)
{
	union unc_perf_attr a;
	int fd;

	unc_perf_attr_init(&a, c);
	a.is.read_format =
		PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	set_exclusions(&a.is, c->modifiers);
	if (leader < 0) {
		a.is.disabled = 1;
		a.is.pinned = (leader_modifiers & UNC_MOD_PINNED) != 0;
		a.is.exclusive = (leader_modifiers & UNC_MOD_EXCLUSIVE) != 0;
	}
	fd = unc_perf_open(&a, c->cpu, leader);
	if (fd == -EMFILE && raise_limit(ctx))
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
		return true; /* could not be tested: assume that it runs */
	runs = read(g->leader, words, bytes) == (ssize_t)bytes && words[2] != 0;
	ioctl(g->leader, PERF_EVENT_IOC_DISABLE, 0);
	return runs;
}

static void opener_why(void *ctx, const struct unc_counter *c, int err, struct unc_error *e)
{
	const struct kernel_source *k = ctx;

	unc_kernel_why(&k->env, c, err, e);
	if (err == -EMFILE)
		unc_error_append(e, " (%zu counters are planned)", k->count);
}

static struct unc_opener opener(struct kernel_source *k)
{
	return (struct unc_opener){opener_open, opener_close, opener_runs, opener_why, k};
}

/* ---- reading ------------------------------------------------------------------------------- */

/* The kernel takes a group's times by the clock of the CPU that reads. Just after the start on another CPU
 * that clock can be behind, by up to some 0.2 ms in virtual machines: the time is then negative. */
static uint64_t not_negative(uint64_t ns)
{
	return ns > INT64_MAX ? 0 : ns;
}

/* One group; its readings are lost so far. Runs on several threads at once, each with groups of its own. */
static void read_group(void *ctx, size_t index)
{
	const struct kernel_source *k = ctx;
	const struct unc_group *g = &k->groups.items[index];
	size_t bytes = (HEADER_WORDS + g->members) * sizeof(g->words[0]);
	const uint64_t *value = g->words + HEADER_WORDS;
	uint64_t enabled_ns, running_ns;
	ssize_t got;

	do
		got = read(g->leader, g->words, bytes);
	while (got < 0 && errno == EINTR);
	/* Nothing at all is the end of file of a pinned group that could not be scheduled. */
	if (got != (ssize_t)bytes || g->words[0] != g->members)
		return;
	enabled_ns = not_negative(g->words[1]);
	running_ns = not_negative(g->words[2]);
	for (size_t i = g->first; i < g->end; i++) {
		const struct unc_reading *past = &k->past[i];

		if (k->groups.fds[i] >= 0)
			k->into[i] =
				(struct unc_reading){.raw = past->raw + *value++,
						     .enabled_ns = past->enabled_ns + enabled_ns,
						     .running_ns = past->running_ns + running_ns};
		else if (k->groups.shares[i] != UNC_SHARES_NONE)
			k->into[i] = k->into[k->groups.shares[i]];
	}
}

/* A group that is read short, or whose enabled time does not advance though it was not stopped. For a
 * moment, that of a starved virtual machine may, too. A pinned group is read short when another one has
 * its counters, as it was asked for. */
static bool is_dead(const struct kernel_source *k, struct unc_group *g, uint64_t now_ns)
{
	size_t i = g->first;

	while (k->groups.fds[i] < 0)
		i++;
	if (k->into[i].lost)
		return !(g->modifiers & UNC_MOD_PINNED);
	if (k->into[i].enabled_ns != k->last[i].enabled_ns)
		g->alive_ns = now_ns;
	return now_ns - g->alive_ns >= REVIVE_NS;
}

/* With the next reading the counts go on from where they were. The time between is in neither of the
 * times, and this interval has nothing. */
static void revive(struct kernel_source *k, struct unc_group *g)
{
	const struct unc_opener o = opener(k);
	int cpu = unc_kernel_cpu_now(&k->env, &k->counters[g->first]);

	if (cpu < 0 || unc_groups_reopen(&k->groups, g, k->counters, cpu, &o) < 0)
		return;
	for (size_t i = g->first; i < g->end; i++)
		k->past[i] = k->last[i];
	ioctl(g->leader, PERF_EVENT_IOC_ENABLE, 0);
}

/* A lost counter keeps its last reading, whose times show that it was not counted since. */
static void keep_last(struct kernel_source *k, const struct unc_group *g)
{
	for (size_t i = g->first; i < g->end; i++)
		if (!k->into[i].lost)
			k->last[i] = k->into[i];
		else if (k->last[i].enabled_ns && !(g->modifiers & UNC_MOD_PINNED))
			k->into[i] = k->last[i];
}

static void reopen_dead(struct kernel_source *k, uint64_t now_ns)
{
	bool try = k->counting && now_ns - k->tried_ns >= REVIVE_NS;

	for (size_t g = 0; g < k->groups.count; g++) {
		bool dead = is_dead(k, &k->groups.items[g], now_ns);

		keep_last(k, &k->groups.items[g]);
		if (!try || !dead)
			continue;
		k->tried_ns = now_ns;
		revive(k, &k->groups.items[g]);
	}
}

static int kernel_read(struct unc_source *s, struct unc_reading *into, uint64_t *now_ns,
		       struct unc_error *e)
{
	struct kernel_source *k = kernel_of(s);
	(void)e;
	k->into = into;
	for (size_t i = 0; i < k->count; i++)
		into[i] = (struct unc_reading){.lost = true};
	*now_ns = unc_now_ns();
	unc_readers_run(k->readers);
	reopen_dead(k, *now_ns);
	return 0;
}

/* ---- opening ------------------------------------------------------------------------------- */

static int make_buffer(struct kernel_source *k, struct unc_error *e)
{
	uint64_t *at;

	k->words = calloc(HEADER_WORDS * k->groups.count + k->count + 1, sizeof(*k->words));
	k->last = calloc(k->count + 1, sizeof(*k->last));
	k->past = calloc(k->count + 1, sizeof(*k->past));
	if (!k->words || !k->last || !k->past)
		return unc_nomem(e);
	at = k->words;
	for (size_t g = 0; g < k->groups.count; g++) {
		k->groups.items[g].words = at;
		at += HEADER_WORDS + k->groups.items[g].members;
	}
	return 0;
}

static int make_readers(struct kernel_source *k, struct unc_error *e)
{
	size_t count = k->groups.count;
	int *cpus = calloc(count + 1, sizeof(*cpus));
	int ret;

	if (!cpus)
		return unc_nomem(e);
	for (size_t g = 0; g < count; g++)
		cpus[g] = k->counters[k->groups.items[g].first].cpu;
	ret = unc_readers_new(&k->readers, cpus, count, UNC_READER_MIN_ITEMS, read_group, k);
	free(cpus);
	return ret < 0 ? unc_nomem(e) : 0;
}

static int kernel_open(struct unc_source *s, struct unc_counter *counters, size_t count,
		       struct unc_names *notes, struct unc_error *e)
{
	struct kernel_source *k = kernel_of(s);
	const struct unc_opener o = opener(k);
	int ret;

	if (!unc_root_is_live(k->env.root))
		return unc_fail(
			e, EOPNOTSUPP,
			"counters can be opened on the running machine only, not on one that is a "
			"directory: leave out the root to count here, or choose a simulation");
	k->notes = notes;
	k->count = count;
	k->counters = counters;
	for (size_t i = 0; i < count; i++)
		counters[i].width = 64;
	ret = unc_groups_open(&k->groups, counters, count, &o, notes, e);
	if (ret < 0)
		return ret;
	ret = make_buffer(k, e);
	return ret < 0 ? ret : make_readers(k, e);
}

/* A group whose PMU has been removed meanwhile refuses; the others go on. */
static int control(struct kernel_source *k, unsigned long request, struct unc_error *e)
{
	size_t done = 0;
	int err = 0;

	for (size_t g = 0; g < k->groups.count; g++) {
		if (ioctl(k->groups.items[g].leader, request, 0) == 0)
			done++;
		else
			err = errno;
	}
	if (err != 0 && done == 0)
		unc_kernel_why(&k->env, &k->counters[k->groups.items[0].first], -err, e);
	return done != 0 ? 0 : -err;
}

static int kernel_enable(struct unc_source *s, struct unc_error *e)
{
	struct kernel_source *k = kernel_of(s);

	k->counting = true;
	return control(k, PERF_EVENT_IOC_ENABLE, e);
}

static int kernel_disable(struct unc_source *s, struct unc_error *e)
{
	struct kernel_source *k = kernel_of(s);

	k->counting = false;
	return control(k, PERF_EVENT_IOC_DISABLE, e);
}

static void kernel_close(struct unc_source *s)
{
	struct kernel_source *k = kernel_of(s);
	struct unc_opener o;

	if (!s)
		return;
	o = opener(k);
	unc_readers_free(k->readers);
	unc_groups_finish(&k->groups, &o);
	free(k->words);
	free(k->last);
	free(k->past);
	free(k);
}

static const struct unc_source_ops kernel_ops = {
	.open = kernel_open,
	.enable = kernel_enable,
	.disable = kernel_disable,
	.read = kernel_read,
	.close = kernel_close,
};

int unc_source_kernel_new(struct unc_source **out, const struct unc_root *root,
			  const struct unc_topology *topology)
{
	struct kernel_source *k = calloc(1, sizeof(*k));

	if (!k)
		return -ENOMEM;
	k->base.ops = &kernel_ops;
	k->env.root = root;
	k->env.topology = topology;
	*out = &k->base;
	return 0;
}
