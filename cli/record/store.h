/* SPDX-License-Identifier: MIT */
/* What reading and writing a recording share. */
#ifndef CLI_RECORDING_STORE_H
#define CLI_RECORDING_STORE_H

#include <sqlite3.h>

#include "record/recording.h"

/* Sets the error, after the name of the file; returns `err`. */
int store_fail(struct recording *r, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Sets the error from SQLite's state; returns a negative errno. */
int store_sql_fail(struct recording *r);

/* Runs statements without results. The format is SQLite's, with %Q for a quoted text. */
int store_run(struct recording *r, const char *sql);
int store_run_format(struct recording *r, const char *fmt, ...);
/* Prepares a statement; ends it, after sqlite3_step() has returned `code`. */
int store_prepare(struct recording *r, const char *sql, sqlite3_stmt **out);
int store_finish(struct recording *r, sqlite3_stmt *s, int code);
/* Reads a number; `otherwise` if the query has no result. */
int store_number(struct recording *r, const char *sql, int64_t otherwise, int64_t *out);

/* Binds a parameter of a statement, from 1 on. A text that is NULL and an id of -1 are null. */
void store_bind_text(sqlite3_stmt *s, int column, const char *text);
void store_bind_count(sqlite3_stmt *s, int column, uint64_t v);
void store_bind_id(sqlite3_stmt *s, int column, int id);
/* A column as text, valid until the next step; NULL: it is null. */
static inline const char *store_text(sqlite3_stmt *s, int column)
{
	return (const char *)sqlite3_column_text(s, column);
}
/* Executes a statement without results, which can then be executed again. */
int store_put(struct recording *r, sqlite3_stmt *s);

/* Opens the file of r->path, which is never one of SQLite's own names. */
int store_open(struct recording *r, int flags);
/* -ENOTSUP, -EINVAL: the open database has a newer format, or is not a recording. */
int store_check(struct recording *r);
int store_read_counters(struct recording *r);

/* Prepares the statements that add ticks: tick.c. */
int store_prepare_ticks(struct recording *r);
/* Begins a transaction, unless one has begun. */
int store_begin_batch(struct recording *r);
/* The id of a reason, which is added when it is new. */
int store_find_reason(struct recording *r, const char *text, int64_t *id);
/* Six digits, or null. */
void store_put_number(struct buffer *to, double v);
/* The columns of the table `row`, as parameters 1 to 13 of a statement. */
void store_bind_row(sqlite3_stmt *s, size_t number, const struct uncore_row *row);

/* ---- values as they were recorded: shown.c ---- */

struct shown {
	sqlite3_int64 *rows; /* ids, by row of a sample; -1: not recorded */
	char **reasons;      /* of the latest interval */
	size_t count;
};

/* Copies the rows of a sample, with the recorded values of metrics at this tick. Their reasons are
 * valid until the next call. Each monitor needs its own `shown`, which is zeroed at first. Returns
 * 0 or a negative errno. */
int shown_put(struct shown *s, struct recording *file, uint64_t tick,
	      const struct uncore_sample *sample, struct uncore_row *rows);
void shown_free(struct shown *s);
/* The quality with this name; unavailable for NULL and for unknown names. */
enum uncore_quality store_quality(const char *name);

#endif
