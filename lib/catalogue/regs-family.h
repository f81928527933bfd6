/* SPDX-License-Identifier: MIT */
/* The family that a register block's counters make by their roles. */
#ifndef UNC_REGS_FAMILY_H
#define UNC_REGS_FAMILY_H

#include "catalogue/catalogue.h"
#include "source/regs/regs.h"

/* *out is NULL when no counter has a role. The family borrows the block's histogram. */
int unc_regs_family(struct unc_family **out, const struct unc_regs *r, const char *cpu_model,
		    struct unc_error *e);

#endif
