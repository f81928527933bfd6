/* SPDX-License-Identifier: MIT */
/* `uncore who`: its state, which the sink and the table share. */
#ifndef WHO_WHO_H
#define WHO_WHO_H

#include "output/print.h"
#include "who/pool.h"
#include "who/usage.h"

#define WHO_MOVED "group.memory.bandwidth"
#define WHO_LOCAL "group.memory.local.bandwidth"
#define WHO_REMOTE "group.memory.remote.bandwidth"
#define WHO_CACHE "group.cache.occupancy"
#define WHO_CONTROLLERS "memory.bandwidth"
#define WHO_READ "task.storage.read.bandwidth"
#define WHO_WRITTEN "task.storage.write.bandwidth"
#define WHO_GPU "task.gpu.busy"
#define WHO_GPU_MEMORY "task.gpu.memory"
#define WHO_DISKS_READ "storage.read.bandwidth"
#define WHO_DISKS_WRITTEN "storage.write.bandwidth"
#define WHO_OTHER "other" /* the role of rows of what no other group has */

struct who {
	struct cli *cli;
	enum who_by by;
	uint64_t top; /* so many lines; 0: all */
	struct pool pool;
	struct uncore_monitor *monitor;
	struct print print; /* table.c finds the rest by its member `out` */
	struct sink sink;
	struct pool_rest rest; /* of the interval that is printed */
	/* What takes the place of the rows of its sample. */
	struct uncore_row *rows;
	struct uncore_row_place *places;
	size_t row_count, row_room;
	struct buffer other, reason; /* texts of the rows of the rest */
	struct usage *usage;         /* NULL: only what groups count is shown */
	struct who_sum *sums;        /* of what processes used, by key */
};

/* ---- rows.c ---- */

/* Makes the rows of an interval: of groups that had tasks, and of the default group without its
 * monitor groups. */
void who_make_rows(struct who *w, const struct frame *f);

/* ---- used.c ---- */

/* Adds the rows of what processes used in the interval, in w->rows. */
void who_add_used(struct who *w);
/* How many these are at most. */
size_t who_used_most(const struct who *w);

/* ---- table.c ---- */

extern const struct output who_table;

#endif
