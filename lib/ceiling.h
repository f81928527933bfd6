/* SPDX-License-Identifier: MIT */
/* What memory cannot exceed. */
#ifndef UNC_CEILING_H
#define UNC_CEILING_H

#include "machine.h"

/* Bytes per second; NaN: not known. `socket` -1: the machine. */
double unc_ceiling_memory(struct uncore *u, int socket, bool one_channel);

#endif
