/* SPDX-License-Identifier: MIT */
/* Registers of one instance of a block: opened, and read by exactly their width. */
#ifndef UNC_REGS_ACCESS_H
#define UNC_REGS_ACCESS_H

#include "source/regs/regs.h"

struct unc_regs_io {
	const struct unc_regs *regs;
	int fd;    /* -1: not open */
	char *map; /* NULL: read through the descriptor */
	size_t mapped;
	uint64_t base;  /* of the instance, in the map or in the file */
	uint64_t place; /* of the instance, in the file */
	uint64_t end;   /* byte behind the block in its file; 0: its length does not change */
	bool plain;     /* a plain file: there is no hardware that would clear what is read */
};

/* The instance that a counter's PMU is, from its CPU. `write`: control registers are going to be
 * written. -EACCES, -ENODEV (too short, gone) and others, with a sentence that says what would mend it. */
int unc_regs_io_open(struct unc_regs_io *io, const struct unc_regs *r, const struct unc_root *root,
		     const struct unc_counter *counter, bool write, struct unc_error *e);
void unc_regs_io_close(struct unc_regs_io *io);

/* Takes a register that is going to be changed, until it is closed: -EBUSY when somebody else has. Only
 * those who ask are kept out. What cannot be locked is nobody's. */
int unc_regs_io_claim(const struct unc_regs_io *io, uint64_t offset);

/* -ENODEV: the device, or the end of its file, is not there any more. */
int unc_regs_io_check(const struct unc_regs_io *io);
/* One register. A negative errno when the kernel cannot read it. */
int unc_regs_io_load(const struct unc_regs_io *io, uint64_t offset, uint64_t *value);
/* The same, of a counter that reading sets to 0. */
int unc_regs_io_take(const struct unc_regs_io *io, uint64_t offset, uint64_t *value);
/* Writes one register; the block was opened for that. */
int unc_regs_io_store(const struct unc_regs_io *io, uint64_t offset, uint64_t value);

#endif
