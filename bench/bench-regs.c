/* SPDX-License-Identifier: MIT */
/*
 * What a counter costs through the source regs, against a bare loop over the same registers in the same
 * run: memory that is mapped (a file: the loads themselves cost nothing, so that what is left is ours;
 * a register of a device costs some hundred nanoseconds more on both sides), PCI configuration space and
 * MSRs, where this machine has them. Prints one JSON object.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "monitor.h"

#define MOST 64
#define ROUNDS 41

struct bench {
	const char *name;
	const char *path; /* the bare loop's */
	const char *text; /* of the description, up to the counters */
	unsigned bytes, count, step;
	uint64_t first;
	int reads; /* per round */
	bool mapped;
};

static _Noreturn void die(const char *what, const char *why)
{
	fprintf(stderr, "bench-regs: %s: %s\n", what, why);
	exit(1);
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *values)
{
	qsort(values, ROUNDS, sizeof(*values), compare_doubles);
	return values[ROUNDS / 2];
}

/* A register after the other, each value kept. */
static double time_floor(const struct bench *b, int fd, const volatile char *map)
{
	static uint64_t values[MOST];
	double begin = now_ns();

	for (int n = 0; n < b->reads; n++)
		for (unsigned i = 0; i < b->count; i++) {
			if (map)
				values[i] = *(const volatile uint64_t *)(map + (size_t)i * 8);
			else if (pread(fd, &values[i], b->bytes,
				       (off_t)(b->first + (uint64_t)i * b->step)) !=
				 (ssize_t)b->bytes)
				die(b->path, strerror(errno));
		}
	return (now_ns() - begin) / b->reads / b->count;
}

static double time_read(struct uncore_monitor *m, int reads)
{
	uint64_t ns;
	double begin = now_ns();

	for (int n = 0; n < reads; n++)
		if (m->source->ops->read(m->source, m->latest, &ns, &m->machine->error) < 0)
			die("read", m->machine->error.text);
	return (now_ns() - begin) / reads / (double)m->plan.count;
}

static double time_sample(struct uncore_monitor *m, struct uncore_sample *s, int reads)
{
	double begin = now_ns();

	for (int n = 0; n < reads; n++)
		if (uncore_monitor_read(m, s) < 0)
			die("read", m->machine->error.text);
	return (now_ns() - begin) / reads / (double)m->plan.count;
}

/* A block of these registers, each a counter. */
static struct uncore_monitor *start(struct uncore *u, const struct bench *b, const char *dir)
{
	char path[300], spec[400], events[MOST * 20] = "";
	struct uncore_monitor *m = NULL;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.yaml", dir, b->name);
	f = fopen(path, "w");
	if (!f)
		die(path, strerror(errno));
	fprintf(f,
		"block: bench\ntitle: Bench\ninstance: unit\nevidence: none\npmu: bench_{unit}\n"
		"%scounters:\n  c{n}: {title: c, offset: %llu, width: %u, count: %u, stride: %u}\n",
		b->text, (unsigned long long)b->first, b->bytes * 8, b->count, b->step);
	fclose(f);
	for (unsigned i = 0; i < b->count; i++)
		sprintf(events + strlen(events), "%sbench_0/c%u,cpu=0/", i ? "," : "", i);
	snprintf(spec, sizeof(spec), "regs:%s", path);
	if (uncore_set_source(u, spec) < 0 || uncore_scan(u) < 0 || uncore_monitor_new(&m, u) < 0 ||
	    uncore_monitor_add_events(m, events) < 0 || uncore_monitor_open(m) < 0 ||
	    uncore_monitor_start(m) < 0)
		die(b->name, uncore_error(u));
	return m;
}

static void run(struct uncore *u, const struct bench *b, const char *dir, const char *end)
{
	double base[ROUNDS], bare[ROUNDS], full[ROUNDS], ratio[ROUNDS];
	struct uncore_monitor *m;
	struct uncore_sample *s;
	void *map = NULL;
	int fd = open(b->path, O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		printf("  \"%s\": null%s\n", b->name, end);
		return;
	}
	if (b->mapped)
		map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	m = start(u, b, dir);
	if (map == MAP_FAILED || uncore_sample_new(&s) < 0)
		die(b->path, strerror(errno));
	time_floor(b, fd, map);
	time_sample(m, s, b->reads);
	for (int i = 0; i < ROUNDS; i++) {
		base[i] = time_floor(b, fd, map);
		bare[i] = time_read(m, b->reads);
		full[i] = time_sample(m, s, b->reads);
		ratio[i] = bare[i] / base[i];
	}
	printf("  \"%s\": {\"counters\": %u, \"floor_ns_per_counter\": %.2f, "
	       "\"read_ns_per_counter\": %.2f, \"sample_ns_per_counter\": %.2f, "
	       "\"ratio_to_floor\": %.3f}%s\n",
	       b->name, b->count, median(base), median(bare), median(full), median(ratio), end);
	uncore_sample_free(s);
	uncore_monitor_free(m);
	if (map)
		munmap(map, 4096);
	close(fd);
}

int main(void)
{
	char dir[] = "/tmp/uncore-bench-XXXXXX", map[64], text[200], path[100];
	const struct bench benches[] = {
		{"mmio", map, text, 8, MOST, 8, 0, 2000, true},
		{"pci", "/sys/bus/pci/devices/0000:00:00.0/config",
		 "space: pci\nsize: 256\nmap: {pci: '0000:00:00.0'}\nwindow: free-running\n", 4,
		 MOST, 4, 0, 20, false},
		{"msr", "/dev/cpu/0/msr", "space: msr\nwindow: free-running\n", 8, 2, 1, 0xe7, 500,
		 false},
	};
	struct uncore *u;
	cpu_set_t zero;
	int fd;

	CPU_ZERO(&zero);
	CPU_SET(0, &zero);
	if (sched_setaffinity(0, sizeof(zero), &zero) < 0 || !mkdtemp(dir) || uncore_new(&u) < 0)
		die("start", strerror(errno));
	snprintf(map, sizeof(map), "%s/map", dir);
	snprintf(text, sizeof(text),
		 "space: mmio\naccess: 64\nsize: 4096\nmap: {file: '%s'}\nwindow: free-running\n",
		 map);
	fd = open(map, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, 4096) < 0)
		die(map, strerror(errno));
	close(fd);
	printf("{\n");
	for (size_t i = 0; i < 3; i++)
		run(u, &benches[i], dir, i < 2 ? "," : "");
	printf("}\n");
	uncore_free(u);
	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s.yaml", dir, benches[i].name);
		unlink(path);
	}
	unlink(map);
	rmdir(dir);
	return 0;
}
