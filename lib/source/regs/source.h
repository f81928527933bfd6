/* SPDX-License-Identifier: MIT */
/* The source of registers while it is open: shared by source.c, choose.c and read.c. */
#ifndef UNC_REGS_SOURCE_H
#define UNC_REGS_SOURCE_H

#include "source/reader.h"
#include "source/regs/program.h"

/* One counter of the plan. */
struct unc_open_counter {
	const struct unc_regs_counter *reg; /* NULL: not open */
	size_t first;     /* the first counter of the plan with this register: it is read once */
	uint64_t total;   /* all that was counted, from its start value */
	uint64_t last;    /* programmable: the raw count that was read last, or set */
	uint64_t full_ns; /* in which its register may overflow; 0: not known, or not relevant */
	uint64_t read_ns; /* when its last good reading began; 0: none since the start */
};

enum unc_instance_state {
	UNC_INSTANCE_ABSENT, /* its registers cannot be read */
	UNC_INSTANCE_COUNTING,
	UNC_INSTANCE_HELD, /* frozen for the reading that runs */
	UNC_INSTANCE_STOPPED, /* frozen: not started yet, or a counter has reached its events (after=) */
	UNC_INSTANCE_FROZEN, /* by another program */
};

/* One instance and the CPU that it is read on. */
struct unc_regs_instance {
	struct unc_regs_io io;
	struct unc_regs_undo undo;
	size_t first, end; /* its counters in the plan */
	enum unc_instance_state state;
	uint64_t at_ns;        /* of the reading */
	uint64_t uncertain_ns; /* how far that, or the moment when it was unfrozen, may be off */
	uint64_t enabled_ns;   /* at the latest reading before it stopped */
	uint64_t interval_ns;  /* the last part of that, since the reading before */
	uint64_t frozen_ns;    /* in all */
};

struct unc_regs_source {
	struct unc_source base;
	const struct unc_regs *regs;
	const struct unc_root *root;
	bool write;    /* control registers may be written */
	bool freezes;  /* instances are frozen for each reading */
	bool watches;  /* another program may freeze them */
	bool together; /* one instance may stop all of its device: they are unfrozen together */
	struct unc_counter *plan;
	struct unc_open_counter *counters;
	size_t count;
	struct unc_regs_instance *instances;
	size_t instance_count;
	size_t found_frozen, first_frozen; /* when opened: instances, and which was the first */
	struct unc_readers *readers;
	struct unc_reading *into; /* of the read that runs */
	uint64_t start_ns;
	struct unc_reading
		*last; /* after disable, when registers were restored: the last reading */
	uint64_t last_ns;
	bool restored;
};

/* Keeps the error and its sentence for a counter that is not opened. -ENOMEM. */
int unc_regs_refuse(struct unc_counter *c, int err, const char *why, struct unc_error *e);

/* Chooses the register for counter `i` of the plan, before its instance is programmed; earlier counters may
 * move to another one. Without a register the counter is refused. -ENOMEM. */
int unc_regs_choose(struct unc_regs_source *s, struct unc_regs_instance *b, size_t i,
		    struct unc_error *e);

/* Reads all counters of an instance; `ctx` is the source. Different instances may be read at once. */
void unc_regs_read_instance(void *ctx, size_t index);
/* When all have been read: unfreezes instances that waited for the others. */
void unc_regs_unfreeze(struct unc_regs_source *s);

#endif
