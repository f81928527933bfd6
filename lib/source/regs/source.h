/* SPDX-License-Identifier: MIT */
/* The source of registers while it is open: what source-regs.c, regs-choose.c and regs-read.c share. */
#ifndef UNC_REGS_SOURCE_H
#define UNC_REGS_SOURCE_H

#include "source/reader.h"
#include "source/regs/program.h"

struct unc_open_counter {
	const struct unc_regs_counter *what; /* NULL: not open */
	size_t reader;  /* which counter of the plan reads the register: the first that names it */
	uint64_t total; /* all that was counted, from what it was set to */
	uint64_t last;  /* programmable: the raw count that was read last, or set */
	uint64_t last_ns; /* and when that reading began */
	uint64_t full_ns; /* in which its register may overflow; 0: not known, or no matter */
	uint64_t read_ns; /* when its last reading began; 0: there is none that matters */
};

/* One instance and the CPU that it is read on. */
struct unc_regs_box {
	struct unc_regs_io io;
	int cpu;
	size_t first, end; /* its counters */
	bool answers;      /* something it said in this reading was not all ones */
	bool doubted;      /* something it said was */
	bool adds_up;      /* some of its counters are added up here */
	struct unc_regs_program program;
	bool freezes;          /* for each reading */
	bool watched;          /* it may be frozen, but not from here */
	bool frozen;           /* so it is, or was when it was opened, by somebody else */
	bool held;             /* frozen for the reading, and not let go yet */
	bool stopped;          /* not let go: not started yet, or a counter did what it was to do */
	uint64_t enabled_ns;   /* at the latest reading before it stopped */
	uint64_t interval_ns;  /* of that, since the reading before */
	uint64_t at_ns;        /* of the reading */
	uint64_t uncertain_ns; /* so far that, or the moment when it was let go, may be off */
	uint64_t frozen_ns;    /* in all */
	size_t programmed;     /* counters */
};

struct unc_regs_source {
	struct unc_source base;
	const struct unc_regs *regs;
	const struct unc_root *root;
	bool write;    /* control registers may be written */
	bool together; /* boxes of a device are let go together: one may have to stop all of them */
	struct unc_counter *plan;
	struct unc_open_counter *counters;
	size_t count;
	struct unc_regs_box *boxes;
	size_t box_count;
	struct unc_readers *readers;
	struct unc_reading *into; /* of the read that runs */
	uint64_t start_ns;
	struct unc_reading
		*end; /* that of the end, when counting was ended before it was asked for */
	uint64_t end_ns;
	bool ended;
};

/* CLOCK_MONOTONIC */
uint64_t unc_regs_now(void);

/* Keeps the error and its sentence for a counter that is not opened. -ENOMEM. */
int unc_regs_refuse(struct unc_counter *c, int err, const char *why, struct unc_error *e);

/* The counter for the event `i` of the plan, in a box that is not programmed yet; what was chosen before
 * may have to go to another. One that there is none for is refused. -ENOMEM. */
int unc_regs_open_counter(struct unc_regs_source *s, struct unc_regs_box *b, size_t i,
			  struct unc_error *e);

/* Reads all counters of a box; `ctx` is the source. Different boxes may be read at once. */
void unc_regs_read_box(void *ctx, size_t index);

/* When all have been read: lets those go that had to wait for the others. */
void unc_regs_let_go(struct unc_regs_source *s);

#endif
