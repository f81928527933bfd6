/* SPDX-License-Identifier: MIT */
/* Writing an instance's registers, with an undo log: the old value of each is recorded at its first write,
 * and all are put back in reverse order. */
#ifndef UNC_REGS_PROGRAM_H
#define UNC_REGS_PROGRAM_H

#include "source/regs/access.h"

/* All-zero with `io` set is an empty log. */
struct unc_regs_undo {
	const struct unc_regs_io *io;
	struct unc_regs_old {
		uint64_t offset, value;
	} * old; /* in the order of the first write */
	size_t count;
};

/* Writes a register. The first time it is locked, -EBUSY, and its old value is recorded. */
int unc_regs_write(struct unc_regs_undo *u, uint64_t offset, uint64_t value);
/* Freezes all counters of the instance, or unfreezes them; 0 when the block cannot. */
int unc_regs_freeze(struct unc_regs_undo *u, bool freeze);
/* Puts back all that was written, the last first, while the counters are frozen; the log is empty then.
 * A register that cannot be put back does not keep the others from it: a negative errno, and the first
 * such register in *changed. */
int unc_regs_restore(struct unc_regs_undo *u, uint64_t *changed);

/* The control registers show that the instance is frozen. */
bool unc_regs_is_frozen(const struct unc_regs_io *io);
/* Prepares a programmable counter while the instance is frozen. It starts from 0 or, to freeze the
 * instance after N events, N below its end: `start` is that count. */
int unc_regs_prepare(struct unc_regs_undo *u, const struct unc_regs_counter *c,
		     const struct unc_config *config, uint64_t *start);

#endif
