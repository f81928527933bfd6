/* SPDX-License-Identifier: MIT */
/* A distribution of sampled latencies, printed through any output. */
#ifndef CLI_LATENCY_H
#define CLI_LATENCY_H

#include "output/output.h"

/* One window of samples. */
struct latency_window {
	const struct uncore_latency *samples;
	const char *source; /* "ibs", or the recording's name */
	double time;        /* seconds from the start to its end; NaN: a recording */
	double seconds;     /* its length; NaN: a recording */
	unsigned least;     /* the value of --min-latency */
	bool first;
};

void latency_print(const struct latency_window *w, struct out *out);

#endif
