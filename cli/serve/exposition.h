/* SPDX-License-Identifier: MIT */
/* The exported families, and the text formats of Prometheus: 0.0.4, and OpenMetrics 1.0. */
#ifndef CLI_EXPOSITION_H
#define CLI_EXPOSITION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "serve/series.h"

struct serve_who; /* serve/who.h */

/* What the server exports about itself. */
struct exposition_self {
	struct buffer machine;          /* labels of uncore_machine_info */
	uint64_t scrapes, refused, cut; /* as struct http_counts */
	double text_seconds;            /* spent to make texts */
	double start_seconds;           /* start of the process, since 1970 */
	const struct serve_who *who;    /* of --who; NULL: not asked for */
};

enum family_type { FAMILY_COUNTER, FAMILY_GAUGE, FAMILY_SUMMARY, FAMILY_HISTOGRAM, FAMILY_INFO };

struct family_head {
	enum family_type type;
	const char *name, *unit; /* the name ends with the unit, which may be "" */
	const char *help;
};

/* A format: the head of a family, and then its samples. */
struct family_writer {
	void *context;
	void (*family)(void *context, const struct family_head *head);
	void (*sample)(void *context, const char *suffix, const char *labels, double value);
};

/* Writes all families. Pushed to another program: without what the HTTP server counts, and without
 * process_*, since that program exports its own. */
void exposition_write(const struct family_writer *w, bool pushed, const struct series_set *set,
		      const struct uncore *u, const struct exposition_self *self);

/* Adds the help of a family, with backslashes before backslashes and (`quoted`) quotes. */
void put_help(struct buffer *to, const char *help, bool quoted);

/* Adds the whole text in a format of Prometheus. */
void exposition_put(struct buffer *to, bool openmetrics, bool pushed, const struct series_set *set,
		    const struct uncore *u, const struct exposition_self *self);

#endif
