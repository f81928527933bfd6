/* SPDX-License-Identifier: MIT */
/* Events of the kernel: opened with perf_event_open, on which CPU, with a sentence for each
 * refusal; and groups of them. */
#ifndef UNC_KERNEL_PERF_H
#define UNC_KERNEL_PERF_H

#include "source/source.h"

#include <linux/perf_event.h>

/* The length of perf_event_attr at which config3 was added (Linux 6.3). */
#define UNC_ATTR_CONFIG3_BYTES 136

/* The kernel's structure, with room for members that headers older than Linux 6.3 do not have. */
union unc_perf_attr {
	struct perf_event_attr is;
	uint64_t words[UNC_ATTR_CONFIG3_BYTES / 8];
};

struct unc_kernel_env {
	const struct unc_root *root;
	const struct unc_topology *topology;
};

/* Sets what the event counts. All other members are zero. */
void unc_perf_attr_init(union unc_perf_attr *a, const struct uncore_counter *c);
/* Opens the event for the whole CPU. `leader`: the descriptor of the group's leader, or -1. Returns
 * a descriptor or a negative errno. */
int unc_perf_open(union unc_perf_attr *a, int cpu, int leader);

/* The counts of an event whose driver adds its register to the count at each reading, and sets the
 * register to 0 only at each start. */
struct unc_adding {
	uint64_t count; /* the kernel's count at the last reading */
	uint64_t moved; /* what the last reading added: the counts since the last start */
	uint64_t counted;
};

/* Returns what the event has counted, from two consecutive readings. The second reading has added
 * the register once more than the first, however often the kernel stopped and started the event
 * before. If a driver does not add at each reading, the second differs by the counts between the
 * two, so the result is right on any kernel. */
uint64_t unc_adding_take(struct unc_adding *a, uint64_t first, uint64_t second);

/* Replaces the sentence in `e`. `err` is the negative errno of unc_perf_open() for this counter as
 * a leader. */
void unc_kernel_why(const struct unc_kernel_env *env, const struct uncore_counter *c, int err,
		    struct unc_error *e);

/*
 * Returns the CPU on which the counter `c` can be opened now. That is its own CPU if its PMU is
 * counted from there (again), otherwise the one that the kernel has chosen instead. -1: there is
 * none, or it is not clear which of several. `type` is the type that the PMU of this name has now.
 */
int unc_kernel_cpu_now(const struct unc_kernel_env *env, const struct uncore_counter *c,
		       uint32_t *type);

/* ---- groups.c: packs counters into groups; the opener makes the system calls ---- */

/* The greatest size of a group of merged sets: more than the counters of any PMU, and so small that
 * one group does not keep its CPU busy for long. A single set may be larger. */
#define UNC_GROUP_MERGE_MAX 64

/* Counters of one PMU and CPU that are read at the same moment. */
struct unc_group {
	size_t first, end; /* indices in the plan; a counter without a descriptor is not a member */
	size_t members;
	size_t sets;
	int leader;         /* the leader's descriptor */
	uint32_t modifiers; /* the leader's UNC_MOD_PINNED and UNC_MOD_EXCLUSIVE */
	/* For the source: */
	uint64_t *words; /* the buffer of a reading: number, two times, values */
	uint64_t *again; /* the buffer of a second reading, if the driver adds at each; else NULL */
	uint64_t *
		seen; /* the previous reading, if the driver reads halves of registers; else NULL */
	bool lost;    /* the last reading failed */
	uint64_t at_ns;      /* the time of the last reading: the middle of the call */
	uint64_t took_ns;    /* how long this call took */
	uint64_t least_ns;   /* the shortest call so far */
	uint64_t enabled_ns; /* enabled time of the last reading that did not fail */
	uint64_t moved_ns;   /* the time of the last reading whose enabled time had advanced */
};

/* The value of `shares` for a counter that shares no reading. */
#define UNC_SHARES_NONE SIZE_MAX

struct unc_groups {
	int *fds; /* one for each counter of the plan; -1: not open */
	/* For a counter without a descriptor: the index of an equal counter of its group, whose
	 * reading is used for both. So two sets that need the same clock fit where the hardware has
	 * one. */
	size_t *shares;
	size_t counter_count;
	struct unc_group *items; /* ordered by CPU */
	size_t count;
};

struct unc_opener {
	/* Opens a counter. Returns a descriptor or a negative errno. leader -1: opens a leader,
	 * stopped. Otherwise: opens a member that counts whenever its leader does. Drivers check
	 * whether a group fits only against members that are not stopped. `leader_modifiers`:
	 * UNC_MOD_PINNED and UNC_MOD_EXCLUSIVE of the group. */
	int (*open)(void *ctx, const struct uncore_counter *c, int leader,
		    uint32_t leader_modifiers);
	void (*close)(void *ctx, int fd);
	/* True if the group counts when it is enabled for a moment. */
	bool (*runs)(void *ctx, const struct unc_group *g);
	/* Makes the sentence for a refusal. */
	void (*why)(void *ctx, const struct uncore_counter *c, int err, struct unc_error *e);
	void *ctx;
};

/* Opens all counters by the rules of unc_source_ops.open(). `notes` gets a line for each kind of
 * set that was split. */
int unc_groups_open(struct unc_groups *out, struct uncore_counter *counters, size_t count,
		    const struct unc_opener *o, struct unc_names *notes, struct unc_error *e);
/* Opens the members of group `g` again on `cpu`, stopped, with the `type` that the PMU has now, and
 * closes the old descriptors. On failure (a negative errno) nothing has changed. */
int unc_groups_reopen(struct unc_groups *groups, struct unc_group *g,
		      const struct uncore_counter *counters, int cpu, uint32_t type,
		      const struct unc_opener *o);
/* Closes the descriptors and frees all. An all-zero struct is an empty one. */
void unc_groups_finish(struct unc_groups *g, const struct unc_opener *o);

#endif
