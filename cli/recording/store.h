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

#endif
