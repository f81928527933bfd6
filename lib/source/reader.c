/* SPDX-License-Identifier: MIT */
/* Reader threads, each pinned to a CPU. The caller reads for threads that do not wake up in
 * time. */
#define _GNU_SOURCE
#include "source/source.h"
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>

/* How long the caller waits for the threads before it reads for them. This is longer than an idle
 * CPU takes to wake up, and short within an interval of 1 ms. */
#define PATIENCE_NS 100000

#define STACK_BYTES ((size_t)256 << 10)

struct reader {
	int cpu;
	size_t first, end; /* the items of this CPU */
	struct unc_readers *all;
	pthread_t thread;
	bool threaded;
	cpu_set_t *set; /* has this CPU alone; for the thread */
	size_t set_size;
	sem_t go;
	atomic_bool pending; /* neither the thread nor the caller has taken the items of this run */
};

struct unc_readers {
	void (*item)(void *ctx, size_t i);
	void *ctx;
	/* The number of readers of this run whose items are not done, plus one for the caller. The
	 * last one decrements it to 0. If that is a thread, it wakes the caller with `done`. */
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

/* Does the items, unless they were taken before. */
static void take(struct reader *r)
{
	struct unc_readers *all = r->all;

	if (!atomic_exchange(&r->pending, false))
		return;
	for (size_t i = r->first; i < r->end; i++)
		all->item(all->ctx, i);
	if (atomic_fetch_sub(&all->left, 1) == 1)
		sem_post(&all->done);
}

static void *serve(void *arg)
{
	struct reader *r = arg;

	for (;;) {
		wait_for(&r->go);
		if (atomic_load(&r->all->stop))
			return NULL;
		/* The kernel moves the threads of a CPU that goes offline, but not back. */
		if (sched_getcpu() != r->cpu)
			pthread_setaffinity_np(pthread_self(), r->set_size, r->set);
		take(r);
	}
}

/* Starts a pinned thread. On failure the reader has no thread, and the caller does its items. */
static void start(struct reader *r)
{
	sigset_t all, before;
	pthread_attr_t attr;
	char name[16];

	r->set_size = CPU_ALLOC_SIZE((size_t)r->cpu + 1);
	r->set = CPU_ALLOC((size_t)r->cpu + 1);
	if (!r->set || pthread_attr_init(&attr) != 0)
		return;
	CPU_ZERO_S(r->set_size, r->set);
	CPU_SET_S((size_t)r->cpu, r->set_size, r->set);
	/* The new thread inherits the mask. With all signals blocked, no handler of the program
	 * runs on the thread's small stack. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r->threaded = pthread_attr_setstacksize(&attr, STACK_BYTES) == 0 &&
		      pthread_attr_setaffinity_np(&attr, r->set_size, r->set) == 0 &&
		      pthread_create(&r->thread, &attr, serve, r) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
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

/* Waits actively for the threads, but not for long. Sleeping at once would cost a wake-up of this
 * CPU, too. */
static void spin(const struct unc_readers *all)
{
	uint64_t end = unc_now_ns() + PATIENCE_NS;

	while (atomic_load(&all->left) > 1 && unc_now_ns() < end)
		sched_yield();
}

void unc_readers_run(struct unc_readers *all)
{
	struct reader *readers = all->readers;
	int here = sched_getcpu();

	atomic_store(&all->left, all->count + 1);
	for (size_t k = 0; k < all->count; k++) {
		/* From here on a thread that is late from the previous run may take the items,
		 * too. */
		atomic_store(&readers[k].pending, true);
		if (readers[k].threaded && readers[k].cpu != here)
			sem_post(&readers[k].go);
	}
	for (size_t k = 0; k < all->count; k++)
		if (!readers[k].threaded || readers[k].cpu == here)
			take(&readers[k]);
	if (atomic_load(&all->left) == 1)
		return;
	spin(all);
	/* A run does not wait for a CPU that does not schedule its thread. */
	for (size_t k = 0; k < all->count; k++)
		take(&readers[k]);
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
		CPU_FREE(r->set);
	}
	sem_destroy(&all->done);
	free(all);
}
