/* SPDX-License-Identifier: MIT */
/* One event of the kernel: opened with perf_event_open, from which CPU, and a sentence for each refusal; and groups
 * of them. */
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
void unc_perf_attr_init(union unc_perf_attr *a, const struct uncore_counter *c);
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
void unc_kernel_why(const struct unc_kernel_env *env, const struct uncore_counter *c, int err,
		    struct unc_error *e);

/*
 * The CPU that a counter of `c` can be opened on now: its own when its PMU is counted from there (again),
 * else the one that the kernel has put in its place; -1 when there is none, or when it is not clear which
 * of several took over. `type` is that of the PMU of this name now.
 */
int unc_kernel_cpu_now(const struct unc_kernel_env *env, const struct uncore_counter *c,
		       uint32_t *type);

/* ---- groups.c: packs the counters of a plan into as few groups as the hardware takes. Knows no system call:
 * opening, closing and trying are the opener's ---- */

/* Sets are not merged into groups larger than this: more than any PMU has counters, and small
 * enough that one group does not keep its CPU busy for long. A set of its own may be larger. */
#define UNC_GROUP_MERGE_MAX 64

/* Counters that are read at one moment, all of one PMU and CPU. */
struct unc_group {
	size_t first, end; /* of the plan; those without a descriptor are not in it */
	size_t members;
	size_t sets;
	int leader;         /* its descriptor */
	uint32_t modifiers; /* UNC_MOD_PINNED and UNC_MOD_EXCLUSIVE, as the leader has them */
	/* The source's: */
	uint64_t *words; /* its buffer for a reading: number, two times, values */
	uint64_t *again; /* for a second one, where the driver adds at each; else NULL */
	uint64_t *
		seen; /* the reading before, where the driver reads halves of registers; else NULL */
	bool lost;    /* the last reading failed */
	uint64_t at_ns;      /* of the last reading, by the clock: the middle of the call, */
	uint64_t took_ns;    /* and how long that was; */
	uint64_t least_ns;   /* the shortest call so far */
	uint64_t enabled_ns; /* of the last reading that did not fail */
	uint64_t moved_ns;   /* of the last reading whose enabled time had advanced */
};

/* `shares` of a counter that has a descriptor of its own, or none. */
#define UNC_SHARES_NONE SIZE_MAX

struct unc_groups {
	int *fds; /* one for each counter of the plan; -1: not open */
	/* For a counter without a descriptor: the equal one of its group whose reading is its own,
	 * too. Two sets that need the same clock then fit where the hardware has it once. */
	size_t *shares;
	size_t counter_count;
	struct unc_group *items; /* ordered by CPU */
	size_t count;
};

struct unc_opener {
	/* A descriptor, or a negative errno. With leader -1 a leader, stopped; else a member that
	 * counts whenever that leader does: drivers check whether a group fits against members
	 * that are not stopped, and only against those. `leader_modifiers`: UNC_MOD_PINNED and
	 * UNC_MOD_EXCLUSIVE of the group. */
	int (*open)(void *ctx, const struct uncore_counter *c, int leader,
		    uint32_t leader_modifiers);
	void (*close)(void *ctx, int fd);
	/* Whether the group counts when it is enabled for a moment. */
	bool (*runs)(void *ctx, const struct unc_group *g);
	/* The sentence for a refusal. */
	void (*why)(void *ctx, const struct uncore_counter *c, int err, struct unc_error *e);
	void *ctx;
};

/* The rules of unc_source_ops.open(). `notes` gets a line for each kind of set that was split. */
int unc_groups_open(struct unc_groups *out, struct uncore_counter *counters, size_t count,
		    const struct unc_opener *o, struct unc_names *notes, struct unc_error *e);
/* Opens the members of group `g` anew on `cpu`, of the PMU's `type` now, stopped, and closes the old
 * descriptors. On failure, a negative errno, nothing has changed. */
int unc_groups_reopen(struct unc_groups *groups, struct unc_group *g,
		      const struct uncore_counter *counters, int cpu, uint32_t type,
		      const struct unc_opener *o);
/* Closes and frees. All-zero is an empty one. */
void unc_groups_finish(struct unc_groups *g, const struct unc_opener *o);

#endif
