/* SPDX-License-Identifier: MIT */
/* Why the kernel refused a counter, in sentences for the person who has to mend it. */
#ifndef UNC_KERNEL_WHY_H
#define UNC_KERNEL_WHY_H

#include "source/source.h"

/* The length of perf_event_attr at which config3 was added (Linux 6.3). */
#define UNC_ATTR_CONFIG3_BYTES 136

struct unc_kernel_env {
	const struct unc_root *root;
	const struct unc_topology *topology;
};

/* Replaces the sentence in `e`. `err`: the negative errno of perf_event_open for this counter, as a
 * leader. */
void unc_kernel_why(const struct unc_kernel_env *env, const struct unc_counter *c, int err,
		    struct unc_error *e);

#endif
