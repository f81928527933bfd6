/* SPDX-License-Identifier: MIT */
/* Pinned reader threads, and a caller who does their work when they cannot. */
#define _GNU_SOURCE
#include "source/reader.h"
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
#include <time.h>

/* How long the caller looks out for the threads before he does something else: longer than an idle
 * CPU takes to wake up, and less than one would notice in an interval of a millisecond. */
#define PATIENCE_NS 100000

#define STACK_BYTES ((size_t)256 << 10)

struct reader {
	struct unc_reader_span span;
	struct unc_readers *all;
	pthread_t thread;
	bool threaded;
	bool posted; /* only the caller looks at it */
	sem_t go;
	atomic_size_t next;  /* the first item nobody has taken yet */
	atomic_bool started; /* the thread is awake: the caller need not help any more */
};

struct unc_readers {
	void (*item)(void *ctx, size_t i);
	void *ctx;
	/* Items of this run that are not done, plus one for the caller: who takes it to zero is the
	 * last, and if that is a thread it tells the caller by `done`. */
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

/* Does one item nobody has taken. False: none is left. */
static bool take(struct reader *r)
{
	size_t i = atomic_fetch_add(&r->next, 1);

	if (i >= r->span.end)
		return false;
	r->all->item(r->all->ctx, i);
	return true;
}

/* True for the one who finishes the run. */
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
		atomic_store(&r->started, true);
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

/* On failure the span simply has no thread. */
static void start(struct reader *r)
{
	char name[16];
	pthread_attr_t attr;

	if (r->span.cpu < 0)
		return;
	if (!r->span.always && r->span.end - r->span.first < UNC_READER_MIN_ITEMS)
		return;
	if (pthread_attr_init(&attr) != 0)
		return;
	if (pthread_attr_setstacksize(&attr, STACK_BYTES) == 0 && pin(&attr, r->span.cpu) == 0)
		r->threaded = create_blocked(r, &attr) == 0;
	pthread_attr_destroy(&attr);
	if (!r->threaded)
		return;
	snprintf(name, sizeof(name), "uncore-%d", r->span.cpu);
	pthread_setname_np(r->thread, name);
}

int unc_readers_new(struct unc_readers **out, const struct unc_reader_span *spans, size_t count,
		    void (*item)(void *ctx, size_t i), void *ctx, struct unc_error *e)
{
	struct unc_readers *all = calloc(1, sizeof(*all) + count * sizeof(all->readers[0]));

	if (!all)
		return unc_nomem(e);
	all->item = item;
	all->ctx = ctx;
	sem_init(&all->done, 0, 0);
	for (size_t k = 0; k < count; k++) {
		struct reader *r = &all->readers[k];

		r->span = spans[k];
		r->all = all;
		atomic_init(&r->next, spans[k].end);
		sem_init(&r->go, 0, 0);
		start(r);
		all->count++;
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

		r->posted = r->threaded && r->span.cpu != here;
		if (r->posted)
			items += r->span.end - r->span.first;
	}
	atomic_store(&all->left, items + 1);
	for (size_t k = 0; k < all->count; k++) {
		struct reader *r = &all->readers[k];

		if (!r->posted)
			continue;
		/* A thread that is late from the run before may begin at the second line. */
		atomic_store(&r->started, false);
		atomic_store(&r->next, r->span.first);
		sem_post(&r->go);
	}
	return items;
}

static void run_here(struct unc_readers *all)
{
	for (size_t k = 0; k < all->count; k++) {
		struct reader *r = &all->readers[k];

		if (r->posted)
			continue;
		for (size_t i = r->span.first; i < r->span.end; i++)
			all->item(all->ctx, i);
	}
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool all_awake(const struct unc_readers *all)
{
	for (size_t k = 0; k < all->count; k++)
		if (all->readers[k].posted && !atomic_load(&all->readers[k].started))
			return false;
	return true;
}

static void wait_until_awake(const struct unc_readers *all)
{
	uint64_t end = now_ns() + PATIENCE_NS;

	while (!all_awake(all) && now_ns() < end)
		sched_yield();
}

/* Takes the items of threads that their CPU does not let run: a run never waits for a busy CPU. */
static size_t help(struct unc_readers *all)
{
	size_t done = 0;

	for (size_t k = 0; k < all->count; k++) {
		struct reader *r = &all->readers[k];

		while (r->posted && !atomic_load(&r->started) && take(r))
			done++;
	}
	return done;
}

/* Until all but `own` are done. To sleep at once would cost a wake-up of this CPU, too. */
static void wait_until_done(struct unc_readers *all, size_t own)
{
	uint64_t end = now_ns() + PATIENCE_NS;

	while (atomic_load(&all->left) > own && now_ns() < end)
		sched_yield();
	if (!finish(all, own))
		wait_for(&all->done);
}

void unc_readers_run(struct unc_readers *all)
{
	size_t items = post(all, sched_getcpu());

	run_here(all);
	if (items == 0)
		return;
	wait_until_awake(all);
	wait_until_done(all, help(all) + 1);
}

size_t unc_readers_threads(const struct unc_readers *all)
{
	size_t n = 0;

	for (size_t k = 0; k < all->count; k++)
		n += all->readers[k].threaded;
	return n;
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
