/* SPDX-License-Identifier: MIT */
/*
 * What a counter costs through the source regs, against a bare loop over the same registers in the same
 * run: memory that is mapped (a file: the loads themselves cost nothing, so that what is left is ours;
 * a register of a device costs some hundred nanoseconds more on both sides), PCI configuration space and
 * MSRs, where this machine has them. Prints one JSON object.
 *
 * bench-regs FILE@OFFSET [32|64 [COUNT]] does so with COUNT registers (1) of a device that follow each
 * other: of a BAR (its file resourceN), /dev/mem, /dev/uio0. They are read, often, and never written.
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

#include "count/monitor.h"

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
	const char *at;  /* NULL: where the description says */
	uint64_t offset; /* of what is mapped */
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
			if (map && b->bytes == 8)
				values[i] = *(const volatile uint64_t *)(map + (size_t)i * 8);
			else if (map)
				values[i] = *(const volatile uint32_t *)(map + (size_t)i * 4);
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
		if (m->parts[0].source->ops->read(m->parts[0].source, m->now, &ns,
						  &m->machine->error) < 0)
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
	char path[300], spec[800], events[MOST * 20] = "";
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
	snprintf(spec, sizeof(spec), "regs:%s%s%s", path, b->at ? ",at=" : "", b->at ? b->at : "");
	if (uncore_set_source(u, spec) < 0 || uncore_scan(u) < 0 || uncore_monitor_new(&m, u) < 0 ||
	    uncore_monitor_add_events(m, events) < 0 || uncore_monitor_open(m) < 0 ||
	    uncore_monitor_start(m) < 0)
		die(b->name, uncore_error(u));
	return m;
}

/* As the library opens and maps it. NULL: not mapped. */
static const volatile char *map_registers(const struct bench *b, int fd)
{
	uint64_t skip = b->offset % (uint64_t)sysconf(_SC_PAGESIZE);
	char *map;

	if (!b->mapped)
		return NULL;
	map = mmap(NULL, (size_t)b->count * b->step + skip, PROT_READ, MAP_SHARED, fd,
		   (off_t)(b->offset - skip));
	if (map == MAP_FAILED)
		die(b->path, strerror(errno));
	return map + skip;
}

static void run(struct uncore *u, const struct bench *b, const char *dir, const char *end)
{
	double base[ROUNDS], bare[ROUNDS], full[ROUNDS], ratio[ROUNDS];
	const volatile char *map;
	struct uncore_monitor *m;
	struct uncore_sample *s;
	int fd = open(b->path, O_RDONLY | O_CLOEXEC | O_SYNC);

	if (fd < 0 && b->at)
		die(b->path, strerror(errno));
	if (fd < 0 || !b->count) {
		printf("  \"%s\": null%s\n", b->name, end);
		if (fd >= 0)
			close(fd);
		return;
	}
	map = map_registers(b, fd);
	m = start(u, b, dir);
	if (uncore_sample_new(&s) < 0)
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
	close(fd);
}

/* How many MSRs from `first` on can be read, `most` at most. */
static unsigned readable_msrs(const char *path, uint64_t first, unsigned most)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t value;
	unsigned n = 0;

	while (fd >= 0 && n < most &&
	       pread(fd, &value, sizeof(value), (off_t)(first + n)) == (ssize_t)sizeof(value))
		n++;
	if (fd >= 0)
		close(fd);
	return n;
}

static void remove_block(const char *dir, const char *name)
{
	char path[100];

	snprintf(path, sizeof(path), "%s/%s.yaml", dir, name);
	unlink(path);
}

/* MSRs: the ranges of memory types, which every x86 since 1995 has, guests too: what is in them does
 * not matter. */
static void run_all(struct uncore *u, const char *dir)
{
	char map[64], text[200];
	struct bench benches[] = {
		{.name = "mmio",
		 .path = map,
		 .text = text,
		 .bytes = 8,
		 .count = MOST,
		 .step = 8,
		 .reads = 2000,
		 .mapped = true},
		{.name = "pci",
		 .path = "/sys/bus/pci/devices/0000:00:00.0/config",
		 .text = "space: pci\nsize: 256\nmap: {pci: '0000:00:00.0'}\n"
			 "window: free-running\n",
		 .bytes = 4,
		 .count = MOST,
		 .step = 4,
		 .reads = 20},
		{.name = "msr",
		 .path = "/dev/cpu/0/msr",
		 .text = "space: msr\nwindow: free-running\n",
		 .bytes = 8,
		 .step = 1,
		 .first = 0x200,
		 .reads = 500},
	};
	int fd;

	benches[2].count = readable_msrs(benches[2].path, benches[2].first, 16);
	snprintf(map, sizeof(map), "%s/map", dir);
	snprintf(text, sizeof(text),
		 "space: mmio\naccess: 64\nsize: 4096\nmap: {file: '%s'}\nwindow: free-running\n",
		 map);
	fd = open(map, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, 4096) < 0)
		die(map, strerror(errno));
	close(fd);
	for (size_t i = 0; i < 3; i++) {
		run(u, &benches[i], dir, i < 2 ? "," : "");
		remove_block(dir, benches[i].name);
	}
	unlink(map);
}

static uint64_t number(const char *text, uint64_t most)
{
	char *end;
	unsigned long long n = strtoull(text, &end, 0);

	if (!*text || *end || n > most)
		die(text, "not a number that can be here");
	return n;
}

struct device {
	struct bench bench;
	char path[400], text[200];
};

/* FILE@OFFSET [32|64 [COUNT]] */
static void parse_device(struct device *d, int argc, char **argv)
{
	unsigned bits = argc > 2 ? (unsigned)number(argv[2], 64) : 32;
	unsigned count = argc > 3 ? (unsigned)number(argv[3], MOST) : 1;
	char *mark;

	snprintf(d->path, sizeof(d->path), "%s", argv[1]);
	mark = strrchr(d->path, '@');
	if (argc > 4 || !mark || (bits != 32 && bits != 64) || !count)
		die("usage", "bench-regs [FILE@OFFSET [32|64 [COUNT]]]");
	d->bench = (struct bench){.name = "device",
				  .path = d->path,
				  .text = d->text,
				  .bytes = bits / 8,
				  .count = count,
				  .step = bits / 8,
				  .reads = 500,
				  .mapped = true,
				  .at = argv[1],
				  .offset = number(mark + 1, INT64_MAX)};
	*mark = '\0';
	if (d->bench.offset % d->bench.bytes)
		die(argv[1], "a register lies at a multiple of its size");
	if (access(d->path, R_OK) < 0)
		die(d->path, strerror(errno));
	snprintf(d->text, sizeof(d->text),
		 "space: mmio\naccess: %u\nsize: %u\nmap: {file: device}\nwindow: free-running\n",
		 bits, count * d->bench.step);
}

int main(int argc, char **argv)
{
	char dir[] = "/tmp/uncore-bench-XXXXXX";
	struct device device = {0};
	struct uncore *u;
	cpu_set_t zero;

	if (argc > 1)
		parse_device(&device, argc, argv);
	CPU_ZERO(&zero);
	CPU_SET(0, &zero);
	if (sched_setaffinity(0, sizeof(zero), &zero) < 0 || !mkdtemp(dir) || uncore_new(&u) < 0)
		die("start", strerror(errno));
	printf("{\n");
	if (argc > 1) {
		run(u, &device.bench, dir, "");
		remove_block(dir, device.bench.name);
	} else {
		run_all(u, dir);
	}
	printf("}\n");
	uncore_free(u);
	rmdir(dir);
	return 0;
}
