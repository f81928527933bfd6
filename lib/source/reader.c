/* SPDX-License-Identifier: MIT */
/* Pinned reader threads, and a caller who does their work when they cannot. */
#define _GNU_SOURCE
#include "source/reader.h"
#include "base/clock.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* How long the caller waits for the threads before it helps them: longer than an idle CPU takes to wake
 * up, and short within an interval of a millisecond. */
#define PATIENCE_NS 100000

#define STACK_BYTES ((size_t)256 << 10)

struct reader {
	int cpu;
	size_t first, end; /* the items of this CPU */
	struct unc_readers *all;
	pthread_t thread;
	bool threaded;
	bool posted; /* in this run; only the caller uses it */
	sem_t go;
	atomic_size_t next; /* the first item that is not taken; `first`: the thread still sleeps */
};

struct unc_readers {
	void (*item)(void *ctx, size_t i);
	void *ctx;
	/* Items of this run that are not done, plus one for the caller. The one who takes it to zero is
	 * the last, and if that is a thread it wakes the caller with `done`. */
	atomic_size_t left;
	sem_t done;
	atomic_bool stop;
	size_t count;
	struct reader readers[];
};

static void wait_for(sem_t *s)
{
	while (sem_wait(s) != 0)
		;
}

/* Does the next item of the span. False: none is left. */
static bool take(struct reader *r)
{
	size_t i = atomic_fetch_add(&r->next, 1);

	if (i >= r->end)
		return false;
	r->all->item(r->all->ctx, i);
	return true;
}

/* True: these were the last items of the run. */
static bool finish(struct unc_readers *all, size_t done)
{
	return atomic_fetch_sub(&all->left, done) == done;
}

static void *serve(void *arg)
{
	struct reader *r = arg;
	size_t done;

	for (;;) {
		wait_for(&r->go);
		if (atomic_load(&r->all->stop))
			return NULL;
		for (done = 0; take(r); done++)
			;
		if (done != 0 && finish(r->all, done))
			sem_post(&r->all->done);
	}
}

static int pin(pthread_attr_t *attr, int cpu)
{
	cpu_set_t *set = CPU_ALLOC((size_t)cpu + 1);
	size_t size = CPU_ALLOC_SIZE((size_t)cpu + 1);
	int ret;

	if (!set)
		return ENOMEM;
	CPU_ZERO_S(size, set);
	CPU_SET_S((size_t)cpu, size, set);
	ret = pthread_attr_setaffinity_np(attr, size, set);
	CPU_FREE(set);
	return ret;
}

/* The new thread inherits the mask: with everything blocked no handler of the program ever runs on
 * a reader's small stack. */
static int create_blocked(struct reader *r, const pthread_attr_t *attr)
{
	sigset_t all, before;
	int ret;

	sigfillset(&all);
	ret = pthread_sigmask(SIG_SETMASK, &all, &before);
	if (ret != 0)
		return ret;
	ret = pthread_create(&r->thread, attr, serve, r);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ret;
}

/* On failure the span has no thread. */
static void start(struct reader *r)
{
	char name[16];
	pthread_attr_t attr;

	if (pthread_attr_init(&attr) != 0)
		return;
	if (pthread_attr_setstacksize(&attr, STACK_BYTES) == 0 && pin(&attr, r->cpu) == 0)
		r->threaded = create_blocked(r, &attr) == 0;
	pthread_attr_destroy(&attr);
	if (!r->threaded)
		return;
	snprintf(name, sizeof(name), "uncore-%d", r->cpu);
	pthread_setname_np(r->thread, name);
}

int unc_readers_new(struct unc_readers **out, const int *cpus, size_t count, size_t least,
		    void (*item)(void *ctx, size_t i), void *ctx)
{
	struct unc_readers *all = calloc(1, sizeof(*all) + count * sizeof(all->readers[0]));
	size_t end;

	if (!all)
		return -ENOMEM;
	all->item = item;
	all->ctx = ctx;
	sem_init(&all->done, 0, 0);
	for (size_t first = 0; first < count; first = end) {
		struct reader *r = &all->readers[all->count++];

		for (end = first + 1; end < count && cpus[end] == cpus[first];)
			end++;
		*r = (struct reader){.cpu = cpus[first], .first = first, .end = end, .all = all};
		atomic_init(&r->next, end);
		sem_init(&r->go, 0, 0);
		if (r->cpu >= 0 && end - first >= least)
			start(r);
	}
	*out = all;
	return 0;
}

/* Hands out the spans of other CPUs; how many items that are. */
static size_t post(struct unc_readers *all, int here)
{
	size_t items = 0;

	for (size_t k = 0; k < all->count; k++) {
		struct reader *r = &all->readers[k];

		r->posted = r->threaded && r->cpu != here;
		if (r->posted)
			items += r->end - r->first;
	}
	atomic_store(&all->left, items + 1);
	for (size_t k = 0; k < all->count; k++) {
		struct reader *r = &all->readers[k];

		if (!r->posted)
			continue;
		/* From here on also a thread that is late from the run before takes items. */
		atomic_store(&r->next, r->first);
		sem_post(&r->go);
	}
	return items;
}

/* Waits until all but `own` items are done. To sleep at once would cost a wake-up of this CPU, too. */
static void spin(const struct unc_readers *all, size_t own)
{
	uint64_t end = unc_now_ns() + PATIENCE_NS;

	while (atomic_load(&all->left) > own && unc_now_ns() < end)
		sched_yield();
}

void unc_readers_run(struct unc_readers *all)
{
	size_t posted = post(all, sched_getcpu()), own = 1;

	for (size_t k = 0; k < all->count; k++)
		for (size_t i = all->readers[k].first;
		     !all->readers[k].posted && i < all->readers[k].end; i++)
			all->item(all->ctx, i);
	if (posted == 0)
		return;
	spin(all, own);
	/* A run never waits for a CPU that does not let its thread run. */
	for (size_t k = 0; k < all->count; k++) {
		struct reader *r = &all->readers[k];

		if (r->posted && atomic_load(&r->next) == r->first)
			while (take(r))
				own++;
	}
	spin(all, own);
	if (!finish(all, own))
		wait_for(&all->done);
}

void unc_readers_free(struct unc_readers *all)
{
	if (!all)
		return;
	atomic_store(&all->stop, true);
	for (size_t k = 0; k < all->count; k++) {
		struct reader *r = &all->readers[k];

		if (r->threaded) {
			sem_post(&r->go);
			pthread_join(r->thread, NULL);
		}
		sem_destroy(&r->go);
	}
	sem_destroy(&all->done);
	free(all);
}
