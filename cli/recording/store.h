/* SPDX-License-Identifier: MIT */
/* What reading and writing a recording share. */
#ifndef CLI_RECORDING_STORE_H
#define CLI_RECORDING_STORE_H

#include <sqlite3.h>

#include "recording/recording.h"

/* Sets the sentence, behind the name of the file; returns `err`. */
int store_fail(struct recording *r, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The same from SQLite's state. */
int store_sql_fail(struct recording *r);

/* Runs statements that give nothing. */
int store_run(struct recording *r, const char *sql);
/* A number; `otherwise` when there is none. */
int store_number(struct recording *r, const char *sql, int64_t otherwise, int64_t *out);

/* -ENOTSUP, -EINVAL: the open database is no recording, or one of a newer format. */
int store_check(struct recording *r);
int store_read_counters(struct recording *r);

/* The columns of the table `row`, as parameters 1 to 13 of a statement. */
void store_bind_row(sqlite3_stmt *s, size_t number, const struct uncore_row *row);

/* ---- values as they were recorded: shown.c ---- */

struct shown {
	sqlite3_int64 *rows; /* ids, by row of a sample; -1: not recorded */
	char **reasons;      /* of the latest interval */
	size_t count;
};

/* Copies the rows of a sample, with the values that metrics had at this tick in place of today's. Their reasons are
 * valid until the next call. One `shown` for each monitor, zeroed at first. 0 or a negative errno. */
int shown_put(struct shown *s, struct recording *file, uint64_t tick,
	      const struct uncore_sample *sample, struct uncore_row *rows);
void shown_free(struct shown *s);

#endif
