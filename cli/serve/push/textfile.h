/* SPDX-License-Identifier: MIT */
/* A file with the text of Prometheus, for node_exporter's textfile collector. */
#ifndef CLI_TEXTFILE_H
#define CLI_TEXTFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

struct textfile {
	const char *path;     /* NULL: none */
	uint64_t interval_ns; /* that it is written at, or later */
	uint64_t written_ns;  /* when that was tried last; 0: not yet */
	bool exists;          /* it was written */
	bool failed;          /* at the last try, which was reported */
};

/* Replaces the file whole, so that a reader sees the old text or the new one. An error is reported
 * once. Returns an exit code. */
int textfile_write(struct textfile *t, const struct buffer *text);
/* Removes what was written: values of a process that has ended would look like counters that
 * stand. */
void textfile_remove(const struct textfile *t);

#endif
