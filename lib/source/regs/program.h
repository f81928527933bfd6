/* SPDX-License-Identifier: MIT */
/* What is written to an instance's registers: each with its old value kept, and put back. */
#ifndef UNC_REGS_PROGRAM_H
#define UNC_REGS_PROGRAM_H

#include "source/regs/access.h"

struct unc_regs_saved {
	uint64_t offset, value;
};

/* All-zero with `io` set is one that nothing was written to. */
struct unc_regs_program {
	const struct unc_regs_io *io;
	struct unc_regs_saved *saved; /* in the order of the first write */
	size_t count, room;
};

/* Writes a register. The first time it is claimed, -EBUSY, and its value before is kept. */
int unc_regs_write(struct unc_regs_program *p, uint64_t offset, uint64_t value);
/* Stops all counters of the instance, or lets them go; 0 when the block cannot. */
int unc_regs_freeze(struct unc_regs_program *p, bool freeze);
/* The instance stands still, as far as its registers tell. */
bool unc_regs_is_frozen(const struct unc_regs_io *io);
/* Puts back all that was written, the last first, while the counters stand still. What cannot be put
 * back does not keep the others from it: a negative errno, and the first such register in *changed. */
int unc_regs_restore(struct unc_regs_program *p, uint64_t *changed);

/* What is wrong with an event for a programmable counter: -EINVAL and the sentence. */
int unc_regs_check_select(const struct unc_regs *r, const struct unc_counter *c,
			  struct unc_error *e);
/* Prepares counter `c` of the instance, frozen: it starts from 0 or, to freeze the instance after N
 * events, N below its end. `start` is that count. */
int unc_regs_prepare(struct unc_regs_program *p, const struct unc_regs_counter *c,
		     const struct unc_config *config, uint64_t *start);
/* The kernel's driver of the same box is here: -EBUSY, with what to do. */
int unc_regs_check_kernel(const struct unc_regs *r, const struct unc_root *root,
			  struct unc_error *e);

#endif
