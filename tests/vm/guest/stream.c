/* SPDX-License-Identifier: MIT */
/*
 * Moves a known number of lines of 64 bytes: on memory of one NUMA node, by one CPU, past the caches.
 *
 *   stream [wait] load|store NODE CPU[,CPU]... MIB [TIMES [MS [BUSY]]]
 *
 * Non-temporal loads or stores, each line once, or as often as said: MOVNTDQA or MOVNTDQ, LDNP or STNP. Prints how many lines
 * it has moved. The pages are on the node before and after, or it fails. Of several CPUs each time has the next one.
 *
 * With MS a time begins every so many milliseconds, as long as they are kept up with, and a line is printed before the first and after
 * each: CLOCK_MONOTONIC in nanoseconds, and the lines so far. Before each it is busy for so many milliseconds.
 *
 * With "wait" it is a little busy and moves nothing until SIGUSR1 comes, and when it has moved all it sleeps until it is
 * killed: who looks which processes are busy sees it, and then all of its bytes.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LINE 64
#define MPOL_BIND 2
#define POPULATE_WRITE 23 /* of madvise() */

static void die(const char *what)
{
	fprintf(stderr, "stream: ");
	perror(what);
	exit(1);
}

static unsigned long number(const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (!*text || *end) {
		fprintf(stderr, "stream: %s is not a number\n", text);
		exit(2);
	}
	return value;
}

static void pin(unsigned long cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		die("the CPU");
}

static char *memory_of(unsigned long node, size_t size)
{
	unsigned long mask = 1ul << node;
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("memory");
	if (syscall(SYS_mbind, p, size, MPOL_BIND, &mask, 8 * sizeof(mask), 0) < 0)
		die("mbind");
	if (madvise(p, size, POPULATE_WRITE) < 0)
		die("memory of the node");
	return p;
}

static void check_pages(char *p, size_t size, unsigned long node)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), n = size / page;
	void **pages = calloc(n, sizeof(*pages));
	int *status = calloc(n, sizeof(*status));

	if (!pages || !status)
		die("memory");
	for (size_t i = 0; i < n; i++)
		pages[i] = p + i * page;
	if (syscall(SYS_move_pages, 0, n, pages, NULL, status, 0) < 0)
		die("move_pages");
	for (size_t i = 0; i < n; i++) {
		if (status[i] != (int)node) {
			fprintf(stderr, "stream: page %zu is on node %d\n", i, status[i]);
			exit(1);
		}
	}
	free(pages);
	free(status);
}

#if defined(__x86_64__)
static void store_line(char *line)
{
	__asm__ volatile("movntdq %%xmm0, (%0)\n\t"
			 "movntdq %%xmm0, 16(%0)\n\t"
			 "movntdq %%xmm0, 32(%0)\n\t"
			 "movntdq %%xmm0, 48(%0)"
			 :
			 : "r"(line)
			 : "memory");
}

static void load_line(const char *line)
{
	__asm__ volatile("movntdqa (%0), %%xmm0\n\t"
			 "movntdqa 16(%0), %%xmm0\n\t"
			 "movntdqa 32(%0), %%xmm0\n\t"
			 "movntdqa 48(%0), %%xmm0"
			 :
			 : "r"(line)
			 : "xmm0", "memory");
}
#elif defined(__aarch64__)
static void store_line(char *line)
{
	__asm__ volatile("stnp q0, q1, [%0]\n\t"
			 "stnp q0, q1, [%0, #32]"
			 :
			 : "r"(line)
			 : "memory");
}

static void load_line(const char *line)
{
	__asm__ volatile("ldnp q0, q1, [%0]\n\t"
			 "ldnp q0, q1, [%0, #32]"
			 :
			 : "r"(line)
			 : "v0", "v1", "memory");
}
#endif

static void pass(char *first, char *end, int store)
{
	for (char *line = first; line < end; line += LINE) {
		if (store)
			store_line(line);
		else
			load_line(line);
	}
}

/* Pins to the next CPU of a list, and begins it anew at its end. */
static void pin_next(const char *list, const char **at)
{
	char *end;

	if (!**at)
		*at = list;
	pin(strtoul(*at, &end, 10));
	if (end == *at || (*end && *end != ',')) {
		fprintf(stderr, "stream: %s are no CPUs\n", list);
		exit(2);
	}
	*at = *end ? end + 1 : end;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void say(size_t lines)
{
	printf("%llu %zu\n", (unsigned long long)now_ns(), lines);
	fflush(stdout);
}

static void wait_until(uint64_t at_ns)
{
	struct timespec t = {.tv_sec = (time_t)(at_ns / 1000000000),
			     .tv_nsec = (long)(at_ns % 1000000000)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static void be_busy(unsigned long ms)
{
	uint64_t until_ns = now_ns() + (uint64_t)ms * 1000000;

	while (now_ns() < until_ns)
		;
}

static volatile sig_atomic_t told;

static void tell(int number)
{
	told = number;
}

static void wait_for_signal(void)
{
	signal(SIGUSR1, tell);
	while (!told) {
		be_busy(3);
		wait_until(now_ns() + 7000000);
	}
}

struct job {
	bool store;
	const char *cpus;
	size_t size;
	unsigned long times, ms, busy;
};

static void move_all(const struct job *j, char *p)
{
	uint64_t begin_ns = now_ns();
	const char *cpu = j->cpus;

	if (j->ms)
		say(0);
	for (unsigned long i = 0; i < j->times; i++) {
		if (j->ms)
			wait_until(begin_ns + (uint64_t)i * j->ms * 1000000);
		be_busy(j->busy);
		pin_next(j->cpus, &cpu);
		pass(p, p + j->size, j->store);
		if (j->ms)
			say(j->size / LINE * (i + 1));
	}
}

static int usage(void)
{
	fprintf(stderr,
		"usage: stream [wait] load|store NODE CPU[,CPU]... MIB [TIMES [MS [BUSY]]]\n");
	return 2;
}

int main(int argc, char **argv)
{
	bool waits = argc > 1 && strcmp(argv[1], "wait") == 0;
	unsigned long node;
	const char *cpu;
	struct job j;
	char *p;

	argc -= waits;
	argv += waits;
	if (argc < 5 || argc > 8 || (strcmp(argv[1], "load") != 0 && strcmp(argv[1], "store") != 0))
		return usage();
	node = number(argv[2]);
	j = (struct job){.store = argv[1][0] == 's',
			 .cpus = argv[3],
			 .size = (size_t)number(argv[4]) << 20,
			 .times = argc > 5 ? number(argv[5]) : 1,
			 .ms = argc > 6 ? number(argv[6]) : 0,
			 .busy = argc > 7 ? number(argv[7]) : 0};
	cpu = j.cpus;
	pin_next(j.cpus, &cpu);
	p = memory_of(node, j.size);
	check_pages(p, j.size, node);
	if (waits)
		wait_for_signal();
	move_all(&j, p);
	check_pages(p, j.size, node);
	if (!j.ms)
		printf("%zu\n", j.size / LINE * j.times);
	fflush(stdout);
	if (waits)
		pause();
	return 0;
}
