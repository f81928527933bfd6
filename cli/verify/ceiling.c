/* SPDX-License-Identifier: MIT */
/* The peak of a socket's memory, with which values are compared: all of its CPUs together must not
 * read faster. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "output/table.h"
#include "verify/judge.h"

/* A stream is uncertain by a chunk for each CPU and round, which is 0.1 % of 2.5 GB/s, and the
 * speed of modules is a rounded number. */
#define PEAK_MORE 0.01
/* Published results of STREAM are 75 % to 92 % of the peak of servers. Far below that, something
 * other than memory limits the stream. */
#define PEAK_LESS 0.6
#define COUNTED_LEAST 0.95 /* of the loaded data: the rest may have come from caches */
#define ROUNDS_LEAST 3
#define MEMORY_LEAST 2 /* times the caches, so that at most half of the memory can be in them */

#define CHUNK ((size_t)256 << 10) /* that a thread loads between two checks for signals */

/* ---- loading ---- */

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

/* The thread inherits the priority of this one, and ends with the process. */
static int start(struct thread *t, int cpu)
{
	pthread_attr_t attr;
	struct cli_cpus one = {0};
	int err = pthread_attr_init(&attr);

	cli_cpus_add(&one, cpu);
	if (err)
		return -err;
	err = pthread_attr_setaffinity_np(&attr, sizeof(one), one.parts);
	err = err ? err : pthread_create(&t->id, &attr, load, t);
	pthread_attr_destroy(&attr);
	return -err;
}

/* The data that all threads have loaded so far, and the time. */
static double loaded(const struct thread *threads, size_t count, uint64_t *now)
{
	double sum = 0;

	*now = cli_now_ns();
	for (size_t i = 0; i < count; i++)
		sum += (double)atomic_load_explicit(&threads[i].bytes, memory_order_relaxed);
	return sum;
}

/* The first round, in which the threads start, is not used. */
static int run_rounds(struct verify_series *s, const struct verify_ceiling *c,
		      const struct thread *threads, const struct verify_pace *pace)
{
	struct verify_reading *unused = cli_realloc(NULL, s->cell_count, sizeof(*unused));
	uint64_t before_ns = 0, now_ns;
	double before = 0;
	int err = 0;

	for (unsigned i = 0; !err && i <= pace->repeats; i++) {
		struct verify_reading *r = unused;
		double now, seconds;

		if (pace->show && i)
			pace->show(pace->context, i - 1, pace->repeats);
		err = cli_sleep_until(cli_now_ns() + pace->round_ns, pace->stop_fd);
		now = loaded(threads, c->count, &now_ns);
		seconds = (double)(now_ns - before_ns) / 1e9;
		if (!err && i) {
			r = verify_add_round(s, now - before);
			r[c->cell - s->first_cell] = (struct verify_reading){
				.amount = c->peak * seconds, .seconds = seconds};
		}
		err = err ? err : pace->read(pace->context, r);
		before = now;
		before_ns = now_ns;
	}
	free(unused);
	return err;
}

int verify_ceiling_rounds(struct verify_series *s, const struct verify_ceiling *c,
			  const struct verify_pace *pace)
{
	struct thread *threads = aligned_alloc(128, c->count * sizeof(*threads));
	atomic_bool stop = false;
	size_t started = 0;
	int err = threads ? 0 : -ENOMEM;

	for (; !err && started < c->count; started += !err) {
		threads[started] = (struct thread){
			.part = c->readers[started].part, .stop_fd = pace->stop_fd, .stop = &stop};
		err = start(&threads[started], c->readers[started].cpu);
	}
	err = err ? err : run_rounds(s, c, threads, pace);
	atomic_store(&stop, true);
	while (started > 0)
		pthread_join(threads[--started].id, NULL);
	free(threads);
	return err;
}

void verify_name_peak(const char *from, struct verify_cell *into)
{
	bool of_user = strcmp(from, "the user") == 0;

	snprintf(into->metric, sizeof(into->metric), "%s", VERIFY_PEAK);
	snprintf(into->family, sizeof(into->family), "%.*s", of_user ? 4 : (int)strcspn(from, " ,"),
		 of_user ? "user" : from);
}

/* ---- judging ---- */

/* Compares the best round with the amount that the peak allows in the same time. */
static bool check_best(struct judged *j)
{
	const struct verify_series *s = j->series;
	double best = 0, peak = 0;
	size_t count = 0;

	for (size_t i = 0; i < s->round_count; i++) {
		const struct verify_reading *r = verify_reading_of(s, i, j->own);

		if (!isfinite(r->amount) || !(r->seconds > 0) || !(r->amount > 0))
			continue;
		count++;
		peak = r->amount / r->seconds;
		best = fmax(best, s->moved[i] / r->seconds);
	}
	j->result->fit = (struct verify_fit){NAN, NAN, NAN, count};
	if (count < ROUNDS_LEAST) {
		judge_conclude(j, VERIFY_UNKNOWN, NULL, "too few rounds to tell");
		return true;
	}
	judge_compare(j, best, peak, NAN, "B/s", j->run->cells[j->own].family);
	return false;
}

static double caches(const struct judged *j)
{
	return fmax(j->run->caches, j->run->cache);
}

/* The part of the loaded data that the socket's counters of DRAM count; NaN: they were not read. */
static double counted(const struct judged *j)
{
	const struct verify_series *s = j->series;
	double sum = 0, moved = 0;

	for (size_t i = s->first_cell; moved <= 0 && i < s->first_cell + s->cell_count; i++) {
		const struct verify_cell *c = &j->run->cells[i];

		if (strcmp(c->metric, "memory.read.bandwidth") != 0 || c->channel >= 0 ||
		    c->socket != s->socket)
			continue;
		for (size_t k = 0; k < s->round_count; k++) {
			const struct verify_reading *r = verify_reading_of(s, k, i);

			sum += isfinite(r->amount) ? r->amount : 0;
			moved += isfinite(r->amount) ? s->moved[k] : 0;
		}
	}
	return moved > 0 ? sum / moved : NAN;
}

static bool check_from_memory(struct judged *j)
{
	const struct verify_series *s = j->series;
	double part = counted(j);

	if (judge_memory(j))
		return true;
	if (s->memory < MEMORY_LEAST * caches(j))
		judge_conclude(
			j, VERIFY_UNKNOWN, NULL,
			"caches of %.0f MiB may hold a part of the %.0f MiB that were loaded",
			caches(j) / (1 << 20), s->memory / (1 << 20));
	else if (part < COUNTED_LEAST)
		judge_conclude(
			j, VERIFY_UNKNOWN, NULL,
			"memory.read counts %.0f %% of the loaded data: the rest came from caches, "
			"or it counts too little",
			part * 100);
	else
		return false;
	return true;
}

static const char *cause(const struct judged *j)
{
	const char *from = j->result->basis;

	return strcmp(from, "user") == 0 ? "--memory-peak is wrong"
	       : strcmp(from, "hsmp") == 0
		       ? "hsmp reports too few channels, or uses another unit"
		       : "modules or channels are missing in the table of the firmware, or their "
			 "speed is wrong";
}

static bool check_too_low(struct judged *j)
{
	const struct verify_result *r = j->result;
	double most = 1 + PEAK_MORE;
	/* Caches can answer only the part of the memory that fits into them. */
	double least = isfinite(counted(j)) ? 1 : 1 - caches(j) / j->series->memory;
	struct human best, peak;

	if (r->fit.slope <= most)
		return false;
	human_value(&best, r->value, "B/s");
	human_value(&peak, r->known, "B/s");
	if (r->fit.slope * least <= most)
		judge_conclude(j, VERIFY_UNKNOWN, NULL,
			       "%.0f %% of the peak of %s: up to %.0f %% may have come from "
			       "caches, and there is no counter of memory to check it",
			       r->fit.slope * 100, peak.text, (1 - least) * 100);
	else
		judge_conclude(
			j, VERIFY_OFF, "peak too low",
			"the best stream moves %s, more than the peak of %s: the peak is too low (%s)",
			best.text, peak.text, cause(j));
	return true;
}

static bool check_reached(struct judged *j)
{
	const struct verify_result *r = j->result;
	double part = counted(j);
	struct buffer beside = {0};
	struct human peak;

	human_value(&peak, r->known, "B/s");
	if (isfinite(part))
		buffer_printf(&beside, "; memory.read counts %.1f %% of it", part * 100);
	if (r->fit.slope < PEAK_LESS)
		judge_conclude(j, VERIFY_UNKNOWN, NULL,
			       "the usable CPUs (%u) reach only %.0f %% of the peak of %s%s",
			       j->series->cpus, r->fit.slope * 100, peak.text,
			       buffer_text(&beside));
	else
		judge_conclude(j, VERIFY_PROVED, NULL, "consistent: %.0f %% of the peak of %s%s",
			       r->fit.slope * 100, peak.text, buffer_text(&beside));
	buffer_free(&beside);
	return true;
}

judge_check *const ceiling_checks[] = {check_best, check_from_memory, check_too_low, check_reached,
				       NULL};
