/* SPDX-License-Identifier: MIT */
/* Rounds of a series: all are equally long, whatever amount they move, so that the fit can separate
 * the traffic of other programs. For the peak of memory: rounds in which CPUs load at once. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/cli.h"
#include "verify/load.h"

#define STEPS 16 /* units between two readings of the clock while the amount is searched */

/* Finds the amount that takes half a round. */
static int find_amount(const struct verify_work *work, const struct verify_pace *pace,
		       size_t *amount)
{
	const size_t step = STEPS * work->unit;
	uint64_t begin, now, half = pace->round_ns / 2;
	size_t done = 0;
	int err = 0;

	now = begin = cli_now_ns();
	for (; !err && now - begin < half && !(work->most && done >= work->most);
	     now = cli_now_ns(), done += step)
		err = work->run(work->context, step, pace->stop_fd);
	/* The last step may have been long. */
	done = (size_t)((double)done * (double)half / (double)(now - begin ? now - begin : 1));
	done = work->most && done > work->most ? work->most : done;
	*amount = (done > work->least ? done : work->least) / work->unit * work->unit;
	return err;
}

int verify_rounds(struct verify_series *series, const struct verify_work *work,
		  const struct verify_pace *pace)
{
	static const unsigned quarters[VERIFY_AMOUNTS] = {0, 1, 2, 4};
	const unsigned count = pace->repeats * VERIFY_AMOUNTS;
	auto_free unsigned *order = cli_realloc(NULL, count, sizeof(*order));
	auto_free struct verify_reading *unused =
		cli_realloc(NULL, series->cell_count, sizeof(*unused));
	uint64_t state = cli_now_ns() | 1;
	size_t amount = 0;
	int err = find_amount(work, pace, &amount);

	/* A random order. */
	for (unsigned i = 0; i < count; i++) {
		const unsigned k = (unsigned)((verify_random(&state) >> 32) % (i + 1));

		order[i] = k < i ? order[k] : 0;
		order[k] = quarters[i % VERIFY_AMOUNTS];
	}
	if (!err)
		err = pace->read(pace->context, unused);
	for (unsigned i = 0; !err && i < count; i++) {
		const size_t part = amount / 4 * order[i];
		const uint64_t end = cli_now_ns() + pace->round_ns;

		if (pace->show)
			pace->show(pace->context, i, count);
		err = work->run(work->context, part, pace->stop_fd);
		if (!err)
			err = cli_sleep_until(end, pace->stop_fd);
		if (!err)
			err = pace->read(pace->context, verify_add_round(series, (double)part));
	}
	return err;
}

/* ---- CPUs that load at once ---- */

#define CHUNK ((size_t)256 << 10) /* that a thread loads between two checks for signals */

struct thread {
	/* In separate cache lines: sharing a line would slow the threads down. */
	_Alignas(128) atomic_uint_fast64_t bytes;
	pthread_t id;
	struct verify_stream part;
	int stop_fd;
	const atomic_bool *stop;
};

static void *load(void *context)
{
	struct thread *t = context;

	while (!atomic_load_explicit(t->stop, memory_order_relaxed) &&
	       verify_stream_move(&t->part, VERIFY_READ, CHUNK, t->stop_fd) == 0)
		atomic_fetch_add_explicit(&t->bytes, CHUNK, memory_order_relaxed);
	return NULL;
}

/* The first round, in which the threads start, is not used. */
static int run_rounds(struct verify_series *s, const struct verify_ceiling *c,
		      const struct thread *threads, const struct verify_pace *pace)
{
	auto_free struct verify_reading *unused = cli_realloc(NULL, s->cell_count, sizeof(*unused));
	uint64_t before = 0, before_ns = 0;
	int err = 0;

	for (unsigned i = 0; !err && i <= pace->repeats; i++) {
		struct verify_reading *r = unused;
		uint64_t now = 0, now_ns;
		double seconds;

		if (pace->show && i)
			pace->show(pace->context, i - 1, pace->repeats);
		err = cli_sleep_until(cli_now_ns() + pace->round_ns, pace->stop_fd);
		now_ns = cli_now_ns();
		for (size_t k = 0; k < c->count; k++)
			now += atomic_load_explicit(&threads[k].bytes, memory_order_relaxed);
		seconds = (double)(now_ns - before_ns) / 1e9;
		if (!err && i) {
			r = verify_add_round(s, (double)(now - before));
			r[c->cell - s->first_cell] = (struct verify_reading){
				.amount = c->peak * seconds, .seconds = seconds};
		}
		if (!err)
			err = pace->read(pace->context, r);
		before = now;
		before_ns = now_ns;
	}
	return err;
}

int verify_ceiling_rounds(struct verify_series *s, const struct verify_ceiling *c,
			  const struct verify_pace *pace)
{
	struct thread *threads = aligned_alloc(128, c->count * sizeof(*threads));
	atomic_bool stop = false;
	pthread_attr_t attr;
	size_t started = 0;
	int err = threads ? -pthread_attr_init(&attr) : -ENOMEM;

	if (err)
		goto done;
	/* The threads inherit the priority of this one, and end with the process. */
	for (; !err && started < c->count; started += !err) {
		struct thread *t = &threads[started];
		struct cli_cpus one = {0};

		*t = (struct thread){
			.part = c->readers[started].part, .stop_fd = pace->stop_fd, .stop = &stop};
		cli_cpus_add(&one, c->readers[started].cpu);
		err = -pthread_attr_setaffinity_np(&attr, sizeof(one), one.parts);
		if (!err)
			err = -pthread_create(&t->id, &attr, load, t);
	}
	pthread_attr_destroy(&attr);
	if (!err)
		err = run_rounds(s, c, threads, pace);
	atomic_store(&stop, true);
	while (started > 0)
		pthread_join(threads[--started].id, NULL);
done:
	free(threads);
	return err;
}
