/* SPDX-License-Identifier: MIT */
/* Distributions of sampled latencies as text, CSV or JSON lines. */
#ifndef CLI_LATENCY_H
#define CLI_LATENCY_H

#include "output/buffer.h"
#include "uncore.h"

/* One window of samples. */
struct latency_window {
	const struct uncore_latency *samples;
	const char *source; /* "ibs", or the recording's name */
	double time;        /* seconds from the start to its end; NaN: a recording */
	double seconds;     /* its length; NaN */
	unsigned least;     /* what --min-latency says */
	bool first;
};

typedef void latency_print(const struct latency_window *w, struct buffer *to);
latency_print latency_text, latency_csv, latency_json;

#endif
