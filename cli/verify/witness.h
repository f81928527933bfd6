/* SPDX-License-Identifier: MIT */
/* What is read beside the counters, and must say the same: each witness is a cell of the run. */
#ifndef CLI_VERIFY_WITNESS_H
#define CLI_VERIFY_WITNESS_H

#include "verify/powercap.h"
#include "verify/verify.h"

struct witness {
	size_t cell; /* of its own */
	const char *domain;
	uint64_t ns; /* of the last reading, CLOCK_MONOTONIC_RAW */
	uint64_t ticks;
};

struct witnesses {
	struct powercap powercap;
	struct witness *items;
	size_t count;
};

/* `root`: "" is this machine. */
void witnesses_open(struct witnesses *w, const char *root);
void witnesses_close(struct witnesses *w);
/* Those of the run's cells from its first one on, of which they are read for the first time. */
void witnesses_begin(struct witnesses *w, struct verify_run *run);
/* Since the reading before; `into` is of the run's first cell. */
void witnesses_read(struct witnesses *w, const struct verify_run *run, struct verify_reading *into);

#endif
