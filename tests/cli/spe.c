/* SPDX-License-Identifier: MIT */
/* LD_PRELOAD for latency.bats: a machine with Arm's SPE, as linux drivers/perf/arm_spe_pmu.c and kernel/events/ring_buffer.c have
 * it. Files below /sys/bus/event_source/devices and of CPU models come from $SPE. An event of type 77 has a ring and an AUX area; each
 * time it is stopped it writes what $SPE/CPU says, up to a line of its own: entries of three words and bytes. The words are the
 * kind, 0: a record, 1: packets, 2: the end of what one stop writes; the flags of packets; and the number of bytes. Packets
 * without room in the area are cut off and the event stays stopped until it is enabled; a record without room is lost, and
 * a record says so later. Attributes of events are written to $SPE/log. SPE_ERROR: the errno of all such events. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TYPE 77
#define FIRST_FD 700 /* descriptors of events, so that they are known */
#define MOST 64
#define FIELDS (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)

static struct event {
	int cpu;
	bool spe, enabled, context_switch;
	struct perf_event_mmap_page *page;
	char *ring, *aux;
	size_t size, aux_size;
	uint64_t lost, enables;
	FILE *script;
} events[MOST];
static int count;

static const char *place(void)
{
	const char *at = getenv("SPE");

	return at ? at : "/none";
}

static struct event *event_of(int fd)
{
	return fd >= FIRST_FD && fd < FIRST_FD + count ? &events[fd - FIRST_FD] : NULL;
}

/* ---- files ---- */

static const char *moved(const char *path, char into[PATH_MAX])
{
	const char *name = path + strspn(path, "/");

	if (strncmp(name, "sys/bus/event_source/devices", 28) != 0 && !strstr(name, "midr_el1"))
		return path;
	snprintf(into, PATH_MAX, "%.1000s/%.2000s", place(), name);
	return into;
}

int openat(int dir, const char *path, int flags, ...)
{
	char into[PATH_MAX];
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
	va_end(args);
	return (int)syscall(SYS_openat, dir, moved(path, into), flags, mode);
}

int fstatat(int dir, const char *path, struct stat *into, int flags)
{
	char at[PATH_MAX];

	return (int)syscall(SYS_newfstatat, dir, moved(path, at), into, flags);
}

ssize_t readlinkat(int dir, const char *path, char *into, size_t size)
{
	char at[PATH_MAX];

	return syscall(SYS_readlinkat, dir, moved(path, at), into, size);
}

/* ---- what the kernel writes ---- */

static void put(const struct event *e, const void *bytes, size_t size)
{
	uint64_t at = e->page->data_head;

	for (size_t i = 0; i < size; i++)
		e->ring[(at + i) % e->size] = ((const char *)bytes)[i];
	__atomic_store_n(&e->page->data_head, at + size, __ATOMIC_RELEASE);
}

static bool has_room(const struct event *e, size_t size)
{
	uint64_t used = e->page->data_head - __atomic_load_n(&e->page->data_tail, __ATOMIC_ACQUIRE);

	return size <= e->size - used;
}

static void put_record(struct event *e, const void *record, size_t size)
{
	struct {
		struct perf_event_header h;
		uint64_t id, lost, end[3];
	} lost = {{PERF_RECORD_LOST, 0, sizeof(lost)}, 1, e->lost, {0, 0, 0}};

	if (!has_room(e, size + sizeof(lost))) {
		e->lost++;
		return;
	}
	if (e->lost)
		put(e, &lost, sizeof(lost));
	e->lost = 0;
	put(e, record, size);
}

static void put_packets(struct event *e, const char *bytes, size_t size, uint64_t flags)
{
	uint64_t head = e->page->aux_head;
	uint64_t used = head - __atomic_load_n(&e->page->aux_tail, __ATOMIC_ACQUIRE);
	/* A ring that is full by one byte less: head and tail are never the same then. */
	size_t room = e->aux_size - (size_t)used - 1;
	struct {
		struct perf_event_header h;
		uint64_t offset, size, flags, end[3];
	} record = {{PERF_RECORD_AUX, 0, sizeof(record)}, head, 0, flags, {0, 0, (uint64_t)e->cpu}};

	if (size > room) {
		record.flags |= PERF_AUX_FLAG_TRUNCATED;
		size = room;
		e->enabled = false;
	}
	for (size_t i = 0; i < size; i++)
		e->aux[(head + i) % e->aux_size] = bytes[i];
	record.size = size;
	put_record(e, &record, sizeof(record));
	__atomic_store_n(&e->page->aux_head, head + size, __ATOMIC_RELEASE);
}

static void play(struct event *e)
{
	static char bytes[1 << 20];
	uint32_t words[3];

	while (e->script && fread(words, sizeof(words), 1, e->script) == 1) {
		if (words[0] == 2)
			return;
		if (words[2] > sizeof(bytes) || fread(bytes, 1, words[2], e->script) != words[2])
			abort();
		if (words[0] == 1)
			put_packets(e, bytes, words[2], words[1]);
		else
			put_record(e, bytes, words[2]);
	}
}

/* ---- system calls ---- */

static int open_event(const struct perf_event_attr *a, int cpu)
{
	char path[PATH_MAX], line[256];
	struct event *e = &events[count];
	const char *error = getenv("SPE_ERROR");
	FILE *f;
	int fd;

	if (error && a->type == TYPE)
		return -atoi(error);
	/* What the driver refuses: a frequency, what it cannot exclude, a task's event; and what is not sampled. */
	if (a->type == TYPE &&
	    (a->freq || a->exclude_idle || !a->sample_period || a->sample_type != FIELDS ||
	     !(a->config >> 33 & 1) || !(a->config & 1)))
		return -EINVAL;
	if (count == MOST)
		abort();
	fd = (int)syscall(SYS_memfd_create, "spe", 0);
	if (fd < 0 || dup2(fd, FIRST_FD + count) < 0)
		abort();
	close(fd);
	*e = (struct event){
		.cpu = cpu, .spe = a->type == TYPE, .context_switch = a->context_switch};
	snprintf(path, sizeof(path), "%.1000s/%d", place(), cpu);
	if (e->spe)
		e->script = fopen(path, "r");
	snprintf(path, sizeof(path), "%.1000s/log", place());
	f = fopen(path, "a");
	snprintf(line, sizeof(line),
		 "cpu %d type %u config %#llx config2 %#llx switches %d comm %d mmap2 %d\n", cpu,
		 a->type, (unsigned long long)a->config, (unsigned long long)a->config2,
		 (int)a->context_switch, (int)a->comm, (int)a->mmap2);
	if (f) {
		fputs(line, f);
		fclose(f);
	}
	return FIRST_FD + count++;
}

long syscall(long number, ...)
{
	static long (*next)(long, ...);
	va_list args;
	long a[6];

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "syscall");
	if (number == SYS_perf_event_open) {
		int fd = open_event((const struct perf_event_attr *)a[0], (int)a[2]);

		if (fd >= 0)
			return fd;
		errno = -fd;
		return -1;
	}
	return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static void map(struct event *e, char *at, size_t size, size_t page)
{
	e->page = (struct perf_event_mmap_page *)(void *)at;
	e->ring = at + page;
	e->size = size - page;
	/* A tick is 40 ns, from 1000 ns on, as in spe_file.py. */
	e->page->cap_user_time_zero = 1;
	e->page->time_shift = 1;
	e->page->time_mult = 80;
	e->page->time_zero = 1000;
}

void *mmap(void *want, size_t size, int rights, int flags, int fd, off_t offset)
{
	struct event *e = event_of(fd);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *at;

	/* The area behind the ring, a power of two of pages, no fewer than two; its place is in the page. */
	if (e && offset &&
	    (!e->page || e->page->aux_offset != (uint64_t)offset || e->page->aux_size != size ||
	     (uint64_t)offset < page + e->size || size & (size - 1) || size < 2 * page)) {
		errno = EINVAL;
		return MAP_FAILED;
	}
	if (e && ftruncate(fd, offset + (off_t)size) < 0)
		abort();
	at = (char *)syscall(SYS_mmap, want, size, rights, flags, fd, offset);
	if (!e || at == MAP_FAILED)
		return at;
	if (!offset)
		map(e, at, size, page);
	e->aux = offset ? at : e->aux;
	e->aux_size = offset ? size : e->aux_size;
	return at;
}

int ioctl(int fd, unsigned long request, ...)
{
	struct event *e = event_of(fd);
	va_list args;
	long value;

	va_start(args, request);
	value = va_arg(args, long);
	va_end(args);
	if (!e)
		return (int)syscall(SYS_ioctl, fd, request, value);
	if (request == PERF_EVENT_IOC_ENABLE) {
		e->enabled = true;
		e->enables++;
	} else if (request == PERF_EVENT_IOC_DISABLE && e->spe && e->enabled) {
		e->enabled = false;
		play(e);
	} else if (request == PERF_EVENT_IOC_SET_OUTPUT &&
		   (!event_of((int)value) || event_of((int)value)->cpu != e->cpu)) {
		errno = EINVAL;
		return -1;
	}
	return 0;
}

ssize_t read(int fd, void *into, size_t size)
{
	const uint64_t words[3] = {0, 1000, 1000};

	if (!event_of(fd))
		return syscall(SYS_read, fd, into, size);
	memcpy(into, words, size < sizeof(words) ? size : sizeof(words));
	return (ssize_t)sizeof(words);
}
