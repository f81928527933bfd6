/* SPDX-License-Identifier: MIT */
/* The CPU model and the hypervisor. */
#ifndef UNC_PLATFORM_H
#define UNC_PLATFORM_H

#include "machine/root.h"

#define UNC_MODEL_ROOM 64
#define UNC_HYPERVISOR_ROOM 32

/* "intel/6/143", or "unknown"; "KVM", or "" when none is seen. Only -ENOMEM. */
int unc_platform_read(const struct unc_root *root, char cpu_model[static UNC_MODEL_ROOM],
		      char hypervisor[static UNC_HYPERVISOR_ROOM]);

#endif
