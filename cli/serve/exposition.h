/* SPDX-License-Identifier: MIT */
/* The text formats of Prometheus: 0.0.4, and OpenMetrics 1.0. */
#ifndef CLI_EXPOSITION_H
#define CLI_EXPOSITION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "serve/series.h"

/* What is known of the server itself. */
struct exposition_self {
	struct buffer machine;          /* labels of the machine's info */
	uint64_t scrapes, refused, cut; /* of http.h */
	double text_seconds;            /* that it took to make these texts */
	double start_seconds;           /* when the process began, since 1970 */
};

/* Adds the whole text. Pushed to another program: without what the HTTP server counts and without
 * process_*, which that program has of its own. */
void exposition_put(struct buffer *to, bool openmetrics, bool pushed, const struct series_set *set,
		    const struct uncore *u, const struct exposition_self *self);

#endif
