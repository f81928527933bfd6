/* SPDX-License-Identifier: MIT */
/*
 * Moves a known number of lines of 64 bytes: on memory of one NUMA node, by one CPU, past the caches.
 *
 *   stream load|store NODE CPU[,CPU]... MIB [TIMES [MS]]
 *
 * Non-temporal loads or stores, each line once, or as often as said: MOVNTDQA or MOVNTDQ, LDNP or STNP. Prints how many lines
 * it has moved. The pages are on the node before and after, or it fails. Of several CPUs each time has the next one.
 *
 * With MS a time begins every so many milliseconds, as long as they are kept up with, and a line is printed before the first and after
 * each: CLOCK_MONOTONIC in nanoseconds, and the lines so far.
 */
#define _GNU_SOURCE
#include <sched.h>
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

int main(int argc, char **argv)
{
	size_t size;
	unsigned long node, times, ms;
	uint64_t begin_ns;
	const char *cpu;
	char *p;

	if (argc < 5 || argc > 7 ||
	    (strcmp(argv[1], "load") != 0 && strcmp(argv[1], "store") != 0)) {
		fprintf(stderr, "usage: stream load|store NODE CPU[,CPU]... MIB [TIMES [MS]]\n");
		return 2;
	}
	node = number(argv[2]);
	size = (size_t)number(argv[4]) << 20;
	times = argc > 5 ? number(argv[5]) : 1;
	ms = argc > 6 ? number(argv[6]) : 0;
	cpu = argv[3];
	pin_next(argv[3], &cpu);
	cpu = argv[3];
	p = memory_of(node, size);
	check_pages(p, size, node);
	begin_ns = now_ns();
	if (ms)
		say(0);
	for (unsigned long i = 0; i < times; i++) {
		if (ms)
			wait_until(begin_ns + (uint64_t)i * ms * 1000000);
		pin_next(argv[3], &cpu);
		pass(p, p + size, argv[1][0] == 's');
		if (ms)
			say(size / LINE * (i + 1));
	}
	check_pages(p, size, node);
	if (!ms)
		printf("%zu\n", size / LINE * times);
	return 0;
}
