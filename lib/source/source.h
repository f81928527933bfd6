/* SPDX-License-Identifier: MIT */
/* Where counts come from. A source opens the counters of a plan and reads them raw: wraps, differences,
 * coverage and sums are computed in count/delta.c and count/rows.c for every source. A source adds up only
 * what its hardware cannot hold in one counter: registers that reading clears, counters that it moves an
 * event between, groups that were opened again. */
#ifndef UNC_SOURCE_H
#define UNC_SOURCE_H

#include "base/format.h"
#include "machine/pmu.h"
#include "uncore.h"
#include <time.h>

/* The bound for a counter whose greatest speed is unknown: 256 at each cycle of 4 GHz, more than the bytes of
 * any bus. */
#define UNC_MOST_PER_S 0x1p40
/* The same for 64 bits, as the kernel has them: a driver adds what its register of at most 48 bits moved by, and reads it
 * more than once while the counts are read. */
#define UNC_MOST_PER_S_64 0x1p49
/* A block's clock may be faster than its description says, and the host's slower. */
#define UNC_CLOCK_SLACK 1.02
/* A file or an emulated device may add this time's counts at once, however short the interval. */
#define UNC_AT_ONCE_S 1.0

/*
 * One counter of the plan. The plan is ordered by CPU, then PMU, then set; counters of one set are
 * adjacent. A set is counted over one interval (a "{}" group, the inputs of a ratio, or a
 * single event). The source packs sets of one PMU and CPU into as few groups as the hardware takes.
 */
struct unc_counter {
	const struct uncore_pmu *pmu;
	const char *event; /* for sentences: the text between the slashes */
	struct unc_config config;
	uint32_t modifiers; /* UNC_MOD_* */
	int cpu;
	size_t set;
	size_t round;  /* those of one round are opened together */
	bool strict;   /* the set must not be split: the user wrote "{}" */
	bool snapshot; /* a state, not a count */

	/* Filled by the source's open: */
	unsigned width;    /* bits after which the raw count wraps; 64 for the kernel */
	double most_per_s; /* it cannot count faster; 0: not known */
	int error;         /* negative errno: not opened */
	char *why;         /* the sentence for it; freed by the plan */
};

/* CLOCK_MONOTONIC, the clock of all readings. */
static inline uint64_t unc_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct unc_source;

struct unc_source_ops {
	/* Opens every counter it can, stopped. Counters keep their own error; the call fails (with the
	 * sentence in e) only for permission, file descriptors, memory, or a strict set that does not
	 * fit. Adds to `notes`.
	 * `counters` are borrowed until close. */
	int (*open)(struct unc_source *s, struct unc_counter *counters, size_t count,
		    struct unc_names *notes, struct unc_error *e);
	int (*enable)(struct unc_source *s, struct unc_error *e);
	int (*disable)(struct unc_source *s, struct unc_error *e); /* NULL: it counts always */
	/* One reading per counter, in plan order. *now_ns: time of the reading, also of those whose at_ns is 0.
	 * Allocates nothing. 1: another reading follows before the interval ends. */
	int (*read)(struct unc_source *s, struct uncore_reading *into, uint64_t *now_ns,
		    struct unc_error *e);
	void (*close)(struct unc_source *s); /* frees s; accepts NULL and half-opened */
};

struct unc_source {
	const struct unc_source_ops *ops;
	bool own_time;    /* its readings have times of their own, not those of a clock: */
	uint64_t wall_ns; /* of the latest one */
};

struct unc_sim;  /* a parsed simulation; owned by the machine */
struct unc_regs; /* a register block, regs/regs.h; the same */

/* `root` must be live, else open fails with -EOPNOTSUPP. topology is borrowed. */
int unc_source_kernel_new(struct unc_source **out, const struct unc_root *root,
			  const struct unc_topology *topology);

/* "NAME" or "FILE.yaml", optional ",step=DURATION" (20ms, 1s). Opens the tree of the simulated
 * machine too: *root is then the caller's. */
int unc_sim_load(struct unc_sim **out, const char *spec, struct unc_root **root,
		 struct unc_error *e);
void unc_sim_free(struct unc_sim *sim);
/* Every rate must be for an event of the machine. -EBADMSG. */
int unc_sim_check(const struct unc_sim *sim, const struct unc_pmus *pmus, struct unc_error *e);
/* `sim` is borrowed. */
int unc_source_sim_new(struct unc_source **out, const struct unc_sim *sim);

/* `regs` and `root` are borrowed. `write`: control registers may be written. */
int unc_source_regs_new(struct unc_source **out, const struct unc_regs *regs,
			const struct unc_root *root, bool write);

/* `replay` is borrowed. */
int unc_source_replay_new(struct unc_source **out, const struct uncore_replay *replay);

/* The groups of resctrl, on each of their caches, as PMUs. Works below any root. -ENODEV: it is not mounted. */
int unc_resctrl_scan(const struct unc_root *root, const struct unc_topology *topology,
		     struct unc_pmus *out, struct unc_error *e);
/* `root` is borrowed. */
int unc_source_resctrl_new(struct unc_source **out, const struct unc_root *root);

#endif
