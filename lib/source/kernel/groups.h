/* SPDX-License-Identifier: MIT */
/* Packs the counters of a plan into as few groups as the hardware takes. Knows no system call:
 * opening, closing and trying are the opener's. */
#ifndef UNC_KERNEL_GROUPS_H
#define UNC_KERNEL_GROUPS_H

#include "source/source.h"

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
	uint64_t *words;     /* its buffer for a reading: number, two times, values */
	uint64_t *again;     /* for a second one, where the driver adds at each; else NULL */
	bool lost;           /* the last reading failed */
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
	int (*open)(void *ctx, const struct unc_counter *c, int leader, uint32_t leader_modifiers);
	void (*close)(void *ctx, int fd);
	/* Whether the group counts when it is enabled for a moment. */
	bool (*runs)(void *ctx, const struct unc_group *g);
	/* The sentence for a refusal. */
	void (*why)(void *ctx, const struct unc_counter *c, int err, struct unc_error *e);
	void *ctx;
};

/* The rules of unc_source_ops.open(). `notes` gets a line for each kind of set that was split. */
int unc_groups_open(struct unc_groups *out, struct unc_counter *counters, size_t count,
		    const struct unc_opener *o, struct unc_names *notes, struct unc_error *e);
/* Opens the members of group `g` anew on `cpu`, of the PMU's `type` now, stopped, and closes the old
 * descriptors. On failure, a negative errno, nothing has changed. */
int unc_groups_reopen(struct unc_groups *groups, struct unc_group *g,
		      const struct unc_counter *counters, int cpu, uint32_t type,
		      const struct unc_opener *o);
/* Closes and frees. All-zero is an empty one. */
void unc_groups_finish(struct unc_groups *g, const struct unc_opener *o);

#endif
