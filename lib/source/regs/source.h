/* SPDX-License-Identifier: MIT */
/* The source of registers while it is open: shared by source.c, access.c, program.c and read.c. */
#ifndef UNC_REGS_SOURCE_H
#define UNC_REGS_SOURCE_H

#include "source/reader.h"
#include "source/regs/regs.h"

/* ---- access.c: registers of one instance, read and written by exactly their width ---- */

struct unc_regs_io {
	const struct unc_regs *regs;
	int fd;          /* -1: not open */
	uint64_t offset; /* of the instance in the file; MSRs: what is added to their numbers */
	uint64_t end;    /* of the block in its file; 0: the length cannot change */
	bool plain;      /* a plain file: no hardware clears what is read */
	void *map;       /* NULL: read through the descriptor */
	size_t mapped;
	char *registers; /* of the instance, in the map */
	/* The undo log: registers that are or may be written, and the values that they had. */
	struct unc_regs_saved {
		uint64_t offset, value;
		bool written;
	} * old;
	size_t old_count;
	unsigned set; /* the purposes of the fields that are 1: a bit for each */
};

/* Opens the instance that a counter's PMU is, from its CPU. `write`: registers are going to be written.
 * -EACCES, -ENODEV (too short, gone) and others, with a sentence that says the fix. */
int unc_regs_io_open(struct unc_regs_io *io, const struct unc_regs *r, const struct unc_root *root,
		     const struct unc_counter *counter, bool write, struct unc_error *e);
void unc_regs_io_close(struct unc_regs_io *io);

/* Takes the advisory lock of a register until the instance is closed. -EBUSY: another program or monitor
 * has it. Success where locks are not supported. */
int unc_regs_io_lock(const struct unc_regs_io *io, uint64_t offset);

/* -ENODEV: the device, or the end of its file, is gone. */
int unc_regs_io_check(const struct unc_regs_io *io);
/* Reads one register. A negative errno when the kernel cannot read it. */
int unc_regs_io_load(const struct unc_regs_io *io, uint64_t offset, uint64_t *value);
/* The same, for a counter that reading sets to 0. */
int unc_regs_io_load_clear(const struct unc_regs_io *io, uint64_t offset, uint64_t *value);
/* Writes one register without recording it: for program.c. */
int unc_regs_io_store(const struct unc_regs_io *io, uint64_t offset, uint64_t value);

/* ---- program.c: all writes; the old value of a register is recorded at its first write ---- */

/* Writes a register. The first time it is locked, -EBUSY, and its old value is recorded. */
int unc_regs_write(struct unc_regs_io *io, uint64_t offset, uint64_t value);
/* Locks and records all registers that holding the instance, and with `program` programming it, will write;
 * none is written yet. -EBUSY, -EIO. */
int unc_regs_claim(struct unc_regs_io *io, bool program);
/* Freezes or latches all counters of the instance, by its window; 0 when the block cannot. -ETIMEDOUT: its
 * status does not confirm it. */
int unc_regs_hold(struct unc_regs_io *io);
/* Unfreezes them; sets them to 0 first when that is the window and they were read. */
int unc_regs_release(struct unc_regs_io *io, bool clear);
/* Freezes the instance, and resets what its counters and their control registers have. */
int unc_regs_begin(struct unc_regs_io *io);
/* The control registers show that the instance is frozen. */
bool unc_regs_is_frozen(const struct unc_regs_io *io);
/* Prepares a programmable counter while the instance is frozen. It starts from 0 or, to freeze the
 * instance after N events, N below its end: `start` is that count. */
int unc_regs_prepare(struct unc_regs_io *io, const struct unc_regs_counter *c,
		     const struct unc_config *config, uint64_t *start);
/* Puts back all that was written, the last first, while the counters are frozen; the log is empty then.
 * A register that cannot be put back does not keep the others from it: a negative errno, and the first
 * such register in *changed. */
int unc_regs_restore(struct unc_regs_io *io, uint64_t *changed);

/* ---- source.c, read.c ---- */

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
	UNC_INSTANCE_FROZEN,    /* by another program */
	UNC_INSTANCE_UNCLEARED, /* counters that should be 0 may not be: their counts are lost */
};

/* One instance and the CPU that it is read on. */
struct unc_regs_instance {
	struct unc_regs_io io;
	size_t first, end; /* its counters in the plan */
	bool trigger; /* one of them freezes it, and maybe others, after its number of events */
	enum unc_instance_state state;
	bool unconfirmed;      /* its status did not show that it was frozen or latched */
	bool good;             /* its counters were read */
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
	bool freezes;  /* instances are frozen or latched for each reading */
	bool adds_up;  /* a reading is followed by 0 */
	bool together; /* one instance may stop all of its device: they are unfrozen together */
	struct unc_counter *plan;
	struct unc_open_counter *counters;
	size_t count;
	struct unc_regs_instance *instances;
	size_t instance_count;
	size_t found_frozen, first_frozen; /* when opened: instances, and which was the first */
	struct unc_readers *readers;
	struct uncore_reading *into; /* of the read that runs */
	uint64_t start_ns;
	struct uncore_reading
		*last; /* after disable, when registers were restored: the last reading */
	uint64_t last_ns;
	bool restored;
};

/* Reads all counters of an instance; `ctx` is the source. Different instances may be read at once. */
void unc_regs_read_instance(void *ctx, size_t index);
/* Both are instances of one device, read on one CPU. */
bool unc_regs_same_device(const struct unc_regs_source *s, const struct unc_regs_instance *a,
			  const struct unc_regs_instance *b);
/* When all have been read: unfreezes instances that waited for the others. */
void unc_regs_unfreeze(struct unc_regs_source *s);

#endif
