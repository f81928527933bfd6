/* SPDX-License-Identifier: MIT */
/* A metric taken apart, for the two forms of `uncore explain`. */
#ifndef CLI_EXPLAIN_H
#define CLI_EXPLAIN_H

#include "cli.h"
#include "output/buffer.h"

struct explained {
	const struct uncore_metric *metric;
	struct uncore_metric_event *events; /* empty when its family is not on this machine */
	size_t count;
};

/* "uncore_imc": what perf calls the PMUs of an event; NUL-terminated. */
void explain_pmu(const struct uncore_metric_event *event, struct buffer *to);

void explain_text(const struct uncore *u, const struct explained *e, size_t count,
		  struct buffer *to);
void explain_json(const struct uncore *u, const struct explained *e, size_t count,
		  struct buffer *to);

#endif
