/* SPDX-License-Identifier: MIT */
/* `uncore who`: its state, which the sink and the table share. */
#ifndef WHO_WHO_H
#define WHO_WHO_H

#include "output/owner.h"
#include "output/print.h"
#include "who/pool.h"
#include "who/usage.h"

#define WHO_CONTROLLERS "memory.bandwidth"
#define WHO_DISKS_READ "storage.read.bandwidth"
#define WHO_DISKS_WRITTEN "storage.write.bandwidth"

#define WHO_SUMS 8
#define WHO_OWNERS 512

/* The sums of a key, of a group of others, or of the rest. */
struct who_owner {
	char *labels;
	double sums[WHO_SUMS];
	bool has[WHO_SUMS];
	double measured;     /* seconds in which it had a group */
	double partial;      /* seconds in which a value was partial or suspect */
	uint64_t partial_ns; /* the end of the latest interval among these */
	uint64_t seen_ns;
};

struct who_textfile {
	const char *path; /* NULL: none is written */
	struct who_owner *owners;
	size_t owner_count, left_out;
	bool exists;
};

struct who {
	struct cli *cli;
	enum who_by by;
	uint64_t top; /* so many lines; 0: all */
	struct pool pool;
	struct uncore_monitor *monitor;
	struct request request;
	uint64_t scanned_ns; /* when the groups of others were last looked for */
	struct print print;  /* table.c finds the rest by its member `out` */
	struct sink sink;
	struct pool_rest rest; /* of the interval that is printed */
	/* What takes the place of the rows of its sample. */
	struct uncore_row *rows;
	struct uncore_row_place *places;
	size_t *origins; /* their rows in the sample; SIZE_MAX: none */
	size_t row_count, row_room;
	struct buffer other, reason; /* texts of the rows of the rest */
	struct usage *usage;         /* NULL: only what groups count is shown */
	struct who_sum *sums;        /* of what processes used, by key */
	struct who_textfile textfile;
	bool silent; /* intervals are not printed */
};

/* ---- rows.c ---- */

/* The reason of rows that are measured, but contain more than their key. */
extern const char who_started[];
/* That of rows that lack what processes of the key moved before they were in its group, which is in
 * "other". */
extern const char who_outside[];

/* That of what no key has, where not all processes of the machine are seen. */
extern const char who_contained[];

/* Makes the rows of an interval: of groups that had tasks, and of the default group without its
 * monitor groups. */
void who_make_rows(struct who *w, const struct frame *f);

/* ---- used.c ---- */

/* Adds the rows of what processes used in the interval, in w->rows. */
void who_add_used(struct who *w);
/* How many these are at most. */
size_t who_used_most(const struct who *w);

/* ---- textfile.c ---- */

/* Adds the rows of the interval to the sums, and writes the file. An exit code. */
int who_textfile_add(struct who *w, const struct frame *f);
void who_textfile_end(struct who_textfile *t);

/* ---- table.c ---- */

extern const struct output who_table;

#endif
