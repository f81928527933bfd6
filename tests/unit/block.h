/* SPDX-License-Identifier: MIT */
/* A register block in a plain file, and a monitor of it. Included after <cmocka.h>. */
#ifndef TEST_BLOCK_H
#define TEST_BLOCK_H

#include <fcntl.h>
#include <math.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>

#include "helpers.h"
#include "uncore.h"

#define BLOCK_SIZE 4096

struct block {
	struct tree tree;
	char map_path[300];
	volatile char *map; /* what the hardware would be */
	struct uncore *u;
	struct uncore_monitor *m;
	struct uncore_sample *s;
};

/* Simulated time for the tests that wrap clock_gettime (tests/meson.build): no result depends on the speed of
 * the machine. Each look at a clock takes a microsecond. */
static _Atomic uint64_t block_clock_ns = UINT64_C(1000000000000);

/* What the hardware does meanwhile; NULL: nothing. */
static void (*block_hardware)(void);

int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	uint64_t ns = atomic_fetch_add(&block_clock_ns, 1000) + 1000;

	if (block_hardware)
		block_hardware();
	t->tv_sec = (time_t)(ns / 1000000000) + (clock == CLOCK_REALTIME ? 1000000000 : 0);
	t->tv_nsec = (long)(ns % 1000000000);
	return 0;
}

static inline void block_wait_us(uint64_t us)
{
	atomic_fetch_add(&block_clock_ns, 1000 * us);
}

static inline void block_set64(struct block *b, size_t offset, uint64_t value)
{
	*(volatile uint64_t *)(b->map + offset) = value;
}

static inline void block_set32(struct block *b, size_t offset, uint32_t value)
{
	*(volatile uint32_t *)(b->map + offset) = value;
}

/* A map of zeros. */
static inline void block_make(struct block *b)
{
	int fd;

	*b = (struct block){.map = NULL};
	tree_make(&b->tree);
	snprintf(b->map_path, sizeof(b->map_path), "%s/map", b->tree.dir);
	fd = open(b->map_path, O_RDWR | O_CREAT, 0600);
	tree_require(fd >= 0 && ftruncate(fd, BLOCK_SIZE) == 0, b->map_path);
	b->map = mmap(NULL, BLOCK_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	tree_require(b->map != MAP_FAILED, "mmap");
	close(fd);
	if (uncore_new(&b->u) || uncore_sample_new(&b->s))
		abort();
}

static inline void block_remove(struct block *b)
{
	uncore_monitor_free(b->m);
	uncore_sample_free(b->s);
	uncore_free(b->u);
	munmap((void *)b->map, BLOCK_SIZE);
	tree_remove(&b->tree);
}

/* The block of this description, or of a name; read from the map. */
static inline int block_use(struct block *b, const char *description)
{
	char spec[700];
	int err;

	if (strchr(description, '\n')) {
		tree_put(&b->tree, "block.yaml", description);
		snprintf(spec, sizeof(spec), "regs:%s/block.yaml,at=%s", b->tree.dir, b->map_path);
	} else {
		snprintf(spec, sizeof(spec), "regs:%s,at=%s", description, b->map_path);
	}
	err = uncore_set_source(b->u, spec);
	return err ? err : uncore_scan(b->u);
}

#define must(b, call)                                         \
	do {                                                  \
		if ((call) < 0)                               \
			fail_msg("%s", uncore_error((b)->u)); \
	} while (0)

/* Counts all metrics (NULL) or these events, one row for each PMU. */
static inline int block_start(struct block *b, const char *events)
{
	int err;

	uncore_monitor_free(b->m);
	b->m = NULL;
	must(b, uncore_monitor_new(&b->m, b->u));
	if (events)
		must(b, uncore_monitor_add_events(b->m, events));
	else
		must(b, uncore_monitor_add_metrics(b->m, "*"));
	err = uncore_monitor_open(b->m);
	return err ? err : uncore_monitor_start(b->m);
}

/* In shorter intervals the few microseconds of the reads matter. */
static inline void block_read(struct block *b)
{
	block_wait_us(10000);
	must(b, uncore_monitor_read(b->m, b->s));
}

static inline void block_total(struct block *b)
{
	must(b, uncore_monitor_total(b->m, b->s));
}

/* The row of an event or a metric in the latest sample. */
static inline const struct uncore_row *block_row(const struct block *b, const char *name)
{
	for (size_t i = 0; i < uncore_sample_count(b->s); i++)
		if (strcmp(uncore_sample_row(b->s, i)->query->name, name) == 0)
			return uncore_sample_row(b->s, i);
	fail_msg("there is no row '%s'", name);
	abort();
}

static inline void block_assert(const struct block *b, const char *name, double value)
{
	const struct uncore_row *row = block_row(b, name);

	if (row->quality != UNCORE_MEASURED)
		fail_msg("%s is %s: %s", name, uncore_quality_name(row->quality), row->reason);
	assert_close(row->value, value);
}

static inline void block_assert_none(const struct block *b, const char *name, const char *why)
{
	const struct uncore_row *row = block_row(b, name);

	assert_int_equal(row->quality, UNCORE_UNAVAILABLE);
	assert_true(isnan(row->value));
	assert_contains(row->reason, why);
}

#endif
