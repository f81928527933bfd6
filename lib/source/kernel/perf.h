/* SPDX-License-Identifier: MIT */
/* One event of the kernel: opened with perf_event_open, from which CPU, and a sentence for each refusal. */
#ifndef UNC_KERNEL_PERF_H
#define UNC_KERNEL_PERF_H

#include "source/source.h"

#include <linux/perf_event.h>

/* The length of perf_event_attr at which config3 was added (Linux 6.3). */
#define UNC_ATTR_CONFIG3_BYTES 136

/* The kernel's structure with room for what headers older than Linux 6.3 do not name. */
union unc_perf_attr {
	struct perf_event_attr is;
	uint64_t words[UNC_ATTR_CONFIG3_BYTES / 8];
};

struct unc_kernel_env {
	const struct unc_root *root;
	const struct unc_topology *topology;
};

/* What the event counts; all else is zero. */
void unc_perf_attr_init(union unc_perf_attr *a, const struct unc_counter *c);
/* A descriptor of the event for the whole CPU, or a negative errno. `leader`: of its group, or -1. */
int unc_perf_open(union unc_perf_attr *a, int cpu, int leader);

/* An event whose driver adds its register to the count at each reading, and sets it to 0 at each start only. */
struct unc_adding {
	uint64_t count; /* of the last reading, */
	uint64_t moved; /* what it had added: what was counted since the last start */
	uint64_t counted;
};

/* What the event has counted, from two readings of it in a row: the second one has added the register once more,
 * however often the kernel stopped and started the event before. Of a driver that does not add the second reading
 * differs by what was counted meanwhile, so that this is right with any kernel. */
uint64_t unc_adding_take(struct unc_adding *a, uint64_t first, uint64_t second);

/* Replaces the sentence in `e`. `err`: the negative errno of unc_perf_open() for this counter as a
 * leader. */
void unc_kernel_why(const struct unc_kernel_env *env, const struct unc_counter *c, int err,
		    struct unc_error *e);

/*
 * The CPU that a counter of `c` can be opened on now: its own when its PMU is counted from there (again),
 * else the one that the kernel has put in its place; -1 when there is none, or when it is not clear which
 * of several took over. `type` is that of the PMU of this name now.
 */
int unc_kernel_cpu_now(const struct unc_kernel_env *env, const struct unc_counter *c,
		       uint32_t *type);

#endif
