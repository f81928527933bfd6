/* SPDX-License-Identifier: MIT */
/* Inside the parser of register blocks: the context of its reader is the block. */
#ifndef UNC_REGS_PARSE_H
#define UNC_REGS_PARSE_H

#include "base/fill.h"
#include "source/regs/regs.h"

#define UNC_REGS_OFFSET_MOST (UINT64_C(1) << 32)

/* Checks of texts: one line that is not empty; lower case letters, digits and '_'. */
unc_read unc_regs_check_line;
bool unc_regs_is_name(const char *text, const char *others);

/* Numbers above 0. */
extern const struct unc_bounds unc_regs_positive;

/* Parts of a block; `into` is the block. */
unc_read unc_regs_read_controls;
unc_read unc_regs_read_select;
unc_read unc_regs_read_only;
unc_read unc_regs_read_kernel;
unc_read unc_regs_read_overflow;
unc_read unc_regs_read_clock;     /* after the counters */
unc_read unc_regs_read_histogram; /* after the counters */

/* Checks over all of it, when it is read. */
int unc_regs_check_controls(const struct unc_reader *r);
int unc_regs_check(const struct unc_reader *r);

#endif
