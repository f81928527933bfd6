/* SPDX-License-Identifier: MIT */
/* What the files of `uncore latency` share: a run with sampled loads. */
#ifndef CLI_LATENCY_H
#define CLI_LATENCY_H

#include "base/writer.h"
#include "commands/stat.h"

struct latency_options {
	struct stat_options stat; /* first: the offsets of its options are from there */
	bool ibs;                 /* or spe */
	bool spe;
	uint64_t least; /* core clocks; 0: any */
	const char *input;
	const char *by, *from; /* as written */
	uint64_t top;
	enum uncore_latency_by key;
	unsigned sources; /* UNCORE_LATENCY_FROM_...; 0: all */
};

struct latency_run {
	struct cli *cli;
	const struct latency_options *o;
	struct uncore_latency *samples;
	struct signals signals;
	struct writer writer;
	struct out out;
	uint64_t begin_ns, window_ns; /* when sampling began, and this window */
	uint64_t windows;
	/* The latest window: */
	const char *source; /* "ibs", or the recording's name */
	double time;        /* seconds from the start to its end; NaN: a recording */
	double seconds;     /* its length; NaN: a recording */
	size_t keys;        /* lines of keys; 0: by source only */
};

/* The table of the window's keys. */
void latency_put_keys(const struct latency_run *r, struct buffer *to);
/* A record for each of them; one without samples if no load was sampled. */
void latency_print_keys(struct latency_run *r);
/* One of them as a JSON object. */
json_t *latency_key_record(const struct latency_run *r, const struct uncore_latency_key *key);

#endif
