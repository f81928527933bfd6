/* SPDX-License-Identifier: MIT */
/* What `uncore list` was asked for; its two forms share this. */
#ifndef CLI_LIST_H
#define CLI_LIST_H

#include <stdbool.h>

#include "cli.h"
#include "output/buffer.h"

enum {
	LIST_PMUS = 1,
	LIST_EVENTS = 2,
	LIST_METRICS = 4,
};

struct list_options {
	unsigned kinds;
	const char *pattern; /* NULL: all */
	bool json;
	bool all; /* metrics that cannot be counted here, too */
};

bool list_takes_pmu(const struct list_options *o, const struct uncore_pmu *pmu);
bool list_takes_alias(const struct list_options *o, const struct uncore_pmu *pmu,
		      const struct uncore_alias *alias);
bool list_takes_metric(const struct list_options *o, const struct uncore_metric *metric);

/* Appends the list; false when nothing was found. */
bool list_text(const struct uncore *u, const struct list_options *o, struct buffer *to);
bool list_json(const struct uncore *u, const struct list_options *o, struct buffer *to);

#endif
