/* SPDX-License-Identifier: MIT */
/* Pinned reader threads, and a caller that does their work when they cannot. */
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

/* How long the caller waits for the threads before it reads for them: longer than an idle CPU takes to wake
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
	atomic_bool pending; /* neither the thread nor the caller has taken the items of this run */
};

struct unc_readers {
	void (*item)(void *ctx, size_t i);
	void *ctx;
	/* Readers of this run whose items are not done, plus one for the caller. The one who takes it to
	 * zero is the last, and if that is a thread it wakes the caller with `done`. */
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

static void do_items(const struct reader *r)
{
	for (size_t i = r->first; i < r->end; i++)
		r->all->item(r->all->ctx, i);
}

static void *serve(void *arg)
{
	struct reader *r = arg;

	for (;;) {
		wait_for(&r->go);
		if (atomic_load(&r->all->stop))
			return NULL;
		if (!atomic_exchange(&r->pending, false))
			continue; /* too late: the caller has done them */
		do_items(r);
		if (atomic_fetch_sub(&r->all->left, 1) == 1)
			sem_post(&r->all->done);
	}
}

/* Starts the thread, pinned. On failure the reader has none. */
static void start(struct reader *r)
{
	size_t size = CPU_ALLOC_SIZE((size_t)r->cpu + 1);
	cpu_set_t *set = CPU_ALLOC((size_t)r->cpu + 1);
	sigset_t all, before;
	pthread_attr_t attr;
	char name[16];

	if (!set)
		return;
	if (pthread_attr_init(&attr) != 0) {
		CPU_FREE(set);
		return;
	}
	CPU_ZERO_S(size, set);
	CPU_SET_S((size_t)r->cpu, size, set);
	/* The new thread inherits the mask: with everything blocked no handler of the program ever runs on
	 * its small stack. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r->threaded = pthread_attr_setstacksize(&attr, STACK_BYTES) == 0 &&
		      pthread_attr_setaffinity_np(&attr, size, set) == 0 &&
		      pthread_create(&r->thread, &attr, serve, r) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	CPU_FREE(set);
	if (!r->threaded)
		return;
	snprintf(name, sizeof(name), "uncore-%d", r->cpu);
	pthread_setname_np(r->thread, name);
}

int unc_readers_new(struct unc_readers **out, const int *cpus, size_t count, size_t least,
		    void (*item)(void *ctx, size_t i), void *ctx)
{
	struct unc_readers *all = calloc(1, sizeof(*all) + count * sizeof(all->readers[0]));

	if (!all)
		return -ENOMEM;
	all->item = item;
	all->ctx = ctx;
	sem_init(&all->done, 0, 0);
	for (size_t first = 0, end; first < count; first = end) {
		struct reader *r = &all->readers[all->count++];

		for (end = first + 1; end < count && cpus[end] == cpus[first];)
			end++;
		*r = (struct reader){.cpu = cpus[first], .first = first, .end = end, .all = all};
		sem_init(&r->go, 0, 0);
		if (r->cpu >= 0 && end - first >= least)
			start(r);
	}
	*out = all;
	return 0;
}

/* Waits for the threads, but not for long. To sleep at once would cost a wake-up of this CPU, too. */
static void spin(const struct unc_readers *all)
{
	uint64_t end = unc_now_ns() + PATIENCE_NS;

	while (atomic_load(&all->left) > 1 && unc_now_ns() < end)
		sched_yield();
}

void unc_readers_run(struct unc_readers *all)
{
	int here = sched_getcpu();
	bool posted = false;

	atomic_store(&all->left, 1);
	for (size_t k = 0; k < all->count; k++) {
		struct reader *r = &all->readers[k];

		r->posted = r->threaded && r->cpu != here;
		if (!r->posted)
			continue;
		posted = true;
		atomic_fetch_add(&all->left, 1);
		/* From here on a thread that is late from the run before may take them, too. */
		atomic_store(&r->pending, true);
		sem_post(&r->go);
	}
	for (size_t k = 0; k < all->count; k++)
		if (!all->readers[k].posted)
			do_items(&all->readers[k]);
	if (!posted)
		return;
	spin(all);
	/* A run never waits for a CPU that does not let its thread run. */
	for (size_t k = 0; k < all->count; k++) {
		struct reader *r = &all->readers[k];

		if (r->posted && atomic_exchange(&r->pending, false)) {
			do_items(r);
			atomic_fetch_sub(&all->left, 1);
		}
	}
	spin(all);
	if (atomic_fetch_sub(&all->left, 1) != 1)
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
