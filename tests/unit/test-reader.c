/* SPDX-License-Identifier: MIT */
/* Pinned reader threads: all done once, on the right CPU, and never waiting for a busy one. */
#define _GNU_SOURCE
#include "source/source.h"
#include <dirent.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define ITEMS 64
#define RUNS 2000

static size_t count_readers(void (*each)(const char *tid));

struct work {
	unsigned done[ITEMS]; /* not atomic: ThreadSanitizer looks whether each has one owner */
	int cpu[ITEMS];
	unsigned spin;
};

static void work_item(void *ctx, size_t i)
{
	struct work *w = ctx;

	for (volatile unsigned n = 0; n < w->spin; n++)
		;
	w->done[i]++;
	w->cpu[i] = sched_getcpu();
}

/* Two CPUs this process may use; false where there is only one. */
static bool two_cpus(int cpus[2])
{
	cpu_set_t set;
	int found = 0;

	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		return false;
	for (size_t c = 0; c < CPU_SETSIZE && found < 2; c++)
		if (CPU_ISSET(c, &set))
			cpus[found++] = (int)c;
	return found == 2;
}

static void skip_because(const char *reason)
{
	print_message("# SKIP %s\n", reason);
	skip();
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct unc_readers *start(struct work *w, const int *cpus, size_t count)
{
	struct unc_readers *all = NULL;

	assert_int_equal(unc_readers_new(&all, cpus, count, UNC_READER_MIN_ITEMS, work_item, w), 0);
	return all;
}

/* `count` items of a CPU. */
static void put(int *cpus, size_t count, int cpu)
{
	for (size_t i = 0; i < count; i++)
		cpus[i] = cpu;
}

static void check_done(const struct work *w, size_t count, unsigned times)
{
	for (size_t i = 0; i < count; i++)
		if (w->done[i] != times)
			fail_msg("item %zu was done %u times, not %u", i, w->done[i], times);
}

static void each_item_is_done_once_in_each_run(void **state)
{
	struct work w = {.spin = 20};
	int cpus[2], of[61];
	struct unc_readers *all;

	(void)state;
	if (!two_cpus(cpus))
		skip_because("it takes two CPUs");
	/* The third CPU does not exist, and one item is too little for a thread. */
	put(of, 20, cpus[0]);
	put(of + 20, 30, cpus[1]);
	put(of + 50, 10, 4000);
	put(of + 60, 1, cpus[1]);
	all = start(&w, of, 61);
	assert_int_equal(count_readers(NULL), 2);
	for (unsigned run = 1; run <= RUNS; run++) {
		unc_readers_run(all);
		if (run % 100 == 0)
			check_done(&w, 61, run);
		if (run % 7 == 0)
			usleep(50); /* so that threads are asleep now and awake then */
	}
	check_done(&w, 61, RUNS);
	unc_readers_free(all);
}

static void most_items_run_on_their_own_cpu(void **state)
{
	struct work w = {.spin = 2000};
	struct unc_readers *all;
	size_t own = 0, total = 0;
	int cpus[2], of[ITEMS];

	(void)state;
	if (!two_cpus(cpus))
		skip_because("it takes two CPUs");
	put(of, ITEMS, cpus[1]);
	all = start(&w, of, ITEMS);
	/* While others keep that CPU busy the caller does the work: then it is tried again, later. */
	for (int attempt = 0; attempt < 100 && own * 2 <= total; attempt++) {
		own = total = 0;
		for (int run = 0; run < 100; run++) {
			unc_readers_run(all);
			for (size_t i = 0; i < ITEMS; i++)
				own += w.cpu[i] == cpus[1];
			total += ITEMS;
		}
		if (own * 2 < total)
			nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
	}
	unc_readers_free(all);
	if (own * 2 < total)
		fail_msg("only %zu of %zu items ran on their own CPU", own, total);
}

static cpu_set_t elsewhere;
static bool is_back;

/* As the kernel does it with the threads of a CPU that goes offline. */
static void move_away(const char *tid)
{
	assert_int_equal(sched_setaffinity(atoi(tid), sizeof(elsewhere), &elsewhere), 0);
}

static void look_where(const char *tid)
{
	cpu_set_t set;

	assert_int_equal(sched_getaffinity(atoi(tid), sizeof(set), &set), 0);
	is_back = !CPU_EQUAL(&set, &elsewhere);
}

static void a_thread_that_was_moved_returns_to_its_cpu(void **state)
{
	struct work w = {.spin = 20};
	struct unc_readers *all;
	cpu_set_t before;
	int cpus[2], of[ITEMS];

	(void)state;
	if (!two_cpus(cpus))
		skip_because("it takes two CPUs");
	put(of, ITEMS, cpus[1]);
	all = start(&w, of, ITEMS);
	CPU_ZERO(&elsewhere);
	CPU_SET((size_t)cpus[0], &elsewhere);
	/* On the thread's own CPU the caller would read without it. */
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	assert_int_equal(sched_setaffinity(0, sizeof(elsewhere), &elsewhere), 0);
	assert_int_equal(count_readers(move_away), 1);
	count_readers(look_where);
	assert_false(is_back);
	for (int i = 0; i < 10000 && !is_back; i++, usleep(1000)) {
		unc_readers_run(all);
		count_readers(look_where);
	}
	assert_true(is_back);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
	unc_readers_free(all);
}

static void the_callers_affinity_and_signals_stay(void **state)
{
	cpu_set_t before, after;
	sigset_t mask_before, mask_after;
	struct work w = {0};
	struct unc_readers *all;
	int cpus[2], of[40];

	(void)state;
	if (!two_cpus(cpus))
		skip_because("it takes two CPUs");
	put(of, 20, cpus[0]);
	put(of + 20, 20, cpus[1]);
	sigemptyset(&mask_before);
	sigaddset(&mask_before, SIGUSR2);
	pthread_sigmask(SIG_SETMASK, &mask_before, NULL);
	sched_getaffinity(0, sizeof(before), &before);
	all = start(&w, of, 40);
	unc_readers_run(all);
	sched_getaffinity(0, sizeof(after), &after);
	pthread_sigmask(SIG_SETMASK, NULL, &mask_after);
	unc_readers_free(all);
	assert_true(CPU_EQUAL(&before, &after));
	assert_int_equal(sigismember(&mask_after, SIGUSR2), 1);
	assert_int_equal(sigismember(&mask_after, SIGUSR1), 0);
	sigemptyset(&mask_before);
	pthread_sigmask(SIG_SETMASK, &mask_before, NULL);
}

/* The field of /proc/self/task/TID/status. */
static uint64_t task_field(const char *tid, const char *key)
{
	char path[320], line[256];
	uint64_t value = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%s/status", tid);
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (strncmp(line, key, strlen(key)) == 0)
			value = strtoull(line + strlen(key), NULL, 16);
	fclose(f);
	return value;
}

static bool is_reader(const char *tid)
{
	char path[320], name[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%s/comm", tid);
	f = fopen(path, "r");
	if (!f || !fgets(name, sizeof(name), f))
		name[0] = '\0';
	if (f)
		fclose(f);
	return strncmp(name, "uncore-", 7) == 0;
}

static size_t count_readers(void (*each)(const char *tid))
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;
	size_t n = 0;

	assert_non_null(tasks);
	while ((entry = readdir(tasks))) {
		if (entry->d_name[0] == '.' || !is_reader(entry->d_name))
			continue;
		n++;
		if (each)
			each(entry->d_name);
	}
	closedir(tasks);
	return n;
}

static void check_blocked(const char *tid)
{
	uint64_t blocked = task_field(tid, "SigBlk:");
	const int signals[] = {SIGINT, SIGTERM, SIGUSR1, SIGCHLD, SIGALRM, SIGWINCH};

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		assert_true(blocked >> (signals[i] - 1) & 1);
}

static void threads_block_signals_and_end(void **state)
{
	struct work w = {0};
	struct unc_readers *all;
	int cpus[2], of[20];

	(void)state;
	if (!two_cpus(cpus))
		skip_because("it takes two CPUs");
	put(of, 20, cpus[1]);
	assert_int_equal(count_readers(NULL), 0);
	all = start(&w, of, 20);
	assert_int_equal(count_readers(check_blocked), 1);
	unc_readers_free(all);
	assert_int_equal(count_readers(NULL), 0);
}

static void nothing_to_do_is_fine(void **state)
{
	struct work w = {0};
	struct unc_readers *all = start(&w, NULL, 0);

	(void)state;
	unc_readers_run(all);
	unc_readers_free(all);
	unc_readers_free(NULL);
}

/* ---- a CPU that never lets its reader run --------------------------------------------------- */

struct hog {
	int cpu;
	atomic_bool ready, stop, refused;
};

static void *occupy(void *arg)
{
	struct sched_param param = {.sched_priority = 1};
	struct hog *h = arg;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)h->cpu, &set);
	if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set) != 0 ||
	    pthread_setschedparam(pthread_self(), SCHED_FIFO, &param) != 0)
		atomic_store(&h->refused, true);
	atomic_store(&h->ready, true);
	while (!atomic_load(&h->stop) && !atomic_load(&h->refused))
		;
	return NULL;
}

static void pin_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
}

static void a_busy_cpu_does_not_hold_up_the_caller(void **state)
{
	struct hog hog = {0};
	struct work w = {0};
	struct unc_readers *all;
	pthread_t thread;
	cpu_set_t before;
	int cpus[2], of[ITEMS];
	unsigned runs = 0, in_time = 0;

	(void)state;
	if (!two_cpus(cpus))
		skip_because("it takes two CPUs");
	sched_getaffinity(0, sizeof(before), &before);
	pin_to(cpus[0]);
	hog.cpu = cpus[1];
	put(of, ITEMS, cpus[1]);
	all = start(&w, of, ITEMS);
	usleep(1000);
	assert_int_equal(pthread_create(&thread, NULL, occupy, &hog), 0);
	while (!atomic_load(&hog.ready))
		usleep(100);
	for (; runs < 20 && in_time < 5 && !atomic_load(&hog.refused); runs++) {
		uint64_t begin = now_ns();
		bool own = true;

		unc_readers_run(all);
		if (now_ns() - begin > 100000000)
			continue;
		for (size_t i = 0; i < ITEMS; i++)
			own = own && w.cpu[i] == cpus[0];
		in_time += own;
	}
	atomic_store(&hog.stop, true);
	pthread_join(thread, NULL);
	if (!atomic_load(&hog.refused))
		check_done(&w, ITEMS, runs);
	unc_readers_free(all);
	sched_setaffinity(0, sizeof(before), &before);
	if (atomic_load(&hog.refused))
		skip_because("it takes the right to schedule in real time");
	/* The kernel takes the CPU from the hog now and then, and others may take it from the caller. */
	if (!in_time)
		fail_msg("in no run the caller did the work within 100 ms");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_item_is_done_once_in_each_run),
		cmocka_unit_test(most_items_run_on_their_own_cpu),
		cmocka_unit_test(a_thread_that_was_moved_returns_to_its_cpu),
		cmocka_unit_test(the_callers_affinity_and_signals_stay),
		cmocka_unit_test(threads_block_signals_and_end),
		cmocka_unit_test(nothing_to_do_is_fine),
		cmocka_unit_test(a_busy_cpu_does_not_hold_up_the_caller),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
