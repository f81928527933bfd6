/* SPDX-License-Identifier: MIT */
/* Inside the parser of register blocks: the context of its reader is the block. */
#ifndef UNC_REGS_PARSE_H
#define UNC_REGS_PARSE_H

#include "base/fill.h"
#include "source/regs/regs.h"

#define UNC_REGS_OFFSET_MOST (UINT64_C(1) << 32)

/* A control register of an instance, and the one that each programmable counter has. */
extern const struct unc_shape unc_regs_control_shape, unc_regs_select_shape;
unc_read unc_regs_check_controls;

/* Checks over all of it, when it is read. */
unc_read unc_regs_check;

#endif
