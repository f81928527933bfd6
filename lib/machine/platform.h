/* SPDX-License-Identifier: MIT */
/* What CPU and which hypervisor: part of the topology. */
#ifndef UNC_PLATFORM_H
#define UNC_PLATFORM_H

#include "machine/topology.h"

/* Fills cpu_model and hypervisor. What cannot be read is "unknown" or "". Only -ENOMEM. */
int unc_platform_read(struct unc_topology *t, const struct unc_root *root);

#endif
