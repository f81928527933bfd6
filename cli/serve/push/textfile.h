/* SPDX-License-Identifier: MIT */
/* A file with the text of Prometheus, for node_exporter's textfile collector. */
#ifndef CLI_TEXTFILE_H
#define CLI_TEXTFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

struct textfile {
	const char *path;     /* NULL: none */
	uint64_t interval_ns; /* shortest time between two writes */
	uint64_t written_ns;  /* the last attempt; 0: none yet */
	bool exists;          /* it was written */
	bool failed;          /* the last attempt failed, and this was reported */
};

/* Replaces the file as a whole, so that a reader gets the old text or the new one. Reports only the
 * first of several errors. Returns an exit code. */
int textfile_write(struct textfile *t, const struct buffer *text);
/* Removes the file: after the end of the process its values would look like counters that do not
 * increase. */
void textfile_remove(const struct textfile *t);

#endif
