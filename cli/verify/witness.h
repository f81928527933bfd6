/* SPDX-License-Identifier: MIT */
/* Witnesses: values that are read together with the counters and must be equal. Each witness is a
 * cell of the run. */
#ifndef CLI_VERIFY_WITNESS_H
#define CLI_VERIFY_WITNESS_H

#include "verify/powercap.h"
#include "verify/verify.h"

struct witness {
	size_t cell; /* of its own */
	int package; /* the kernel's number of the cell's socket */
	const char *domain;
	uint64_t ns; /* of the last reading, CLOCK_MONOTONIC_RAW */
	uint64_t ticks;
};

struct witnesses {
	const struct uncore *u;
	struct powercap powercap;
	struct witness *items;
	size_t count;
};

/* `root`: "" is this machine. `u`: NULL: sockets have the numbers of packages. */
void witnesses_open(struct witnesses *w, const struct uncore *u, const char *root);
void witnesses_close(struct witnesses *w);
/* Adds the witnesses of the run's cells from first_cell on, and reads them for the first time. */
void witnesses_begin(struct witnesses *w, struct verify_run *run);
/* Their values since the previous reading; `into` begins with the run's first_cell. */
void witnesses_read(struct witnesses *w, const struct verify_run *run, struct verify_reading *into);

#endif
