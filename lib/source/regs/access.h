/* SPDX-License-Identifier: MIT */
/* Registers of one instance of a block: opened, read and written by exactly their width. */
#ifndef UNC_REGS_ACCESS_H
#define UNC_REGS_ACCESS_H

#include "source/regs/regs.h"

struct unc_regs_io {
	const struct unc_regs *regs;
	int fd;          /* -1: not open */
	uint64_t offset; /* of the instance in the file; MSRs: what is added to their numbers */
	uint64_t end;    /* of the block in its file; 0: the length cannot change */
	bool plain;      /* a plain file: no hardware clears what is read */
	void *map;       /* NULL: read through the descriptor */
	size_t mapped;
	char *registers; /* of the instance, in the map */
};

/* Opens the instance that a counter's PMU is, from its CPU. `write`: control registers are going to be
 * written. -EACCES, -ENODEV (too short, gone) and others, with a sentence that says the fix. */
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
/* Writes one register; the instance was opened for that. */
int unc_regs_io_store(const struct unc_regs_io *io, uint64_t offset, uint64_t value);

#endif
