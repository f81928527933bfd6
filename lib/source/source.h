/* SPDX-License-Identifier: MIT */
/* Where counts come from. A source opens the counters of a plan and reads them raw: wraps, differences,
 * coverage and sums are computed in count/delta.c and count/rows.c for every source. A source adds up only
 * what its hardware cannot hold in one counter: registers that reading clears, counters that it moves an
 * event between, groups that were opened again. */
#ifndef UNC_SOURCE_H
#define UNC_SOURCE_H

#include "machine/pmu.h"
#include <stdint.h>
#include <time.h>

/* The bound for a counter whose greatest speed is unknown: 256 at each cycle of 4 GHz, more than the bytes of
 * any bus. */
#define UNC_MOST_PER_S 0x1p40
/* The same for a count of the kernel, unless its register is read in halves: it may be an energy in 2^-32 J, or the requests
 * in flight of a whole socket. */
#define UNC_MOST_PER_S_64 0x1p46
/* A block's clock may be faster than its description says, and the host's slower. */
#define UNC_CLOCK_SLACK 1.02
/* A file or an emulated device may add this time's counts at once, however short the interval. */
#define UNC_AT_ONCE_S 1.0

/*
 * The counters of a plan (struct uncore_counter) are ordered by CPU, then PMU, then set, which is their `group`;
 * those of one set are adjacent. A set is counted over one interval (a "{}" group, the inputs of a ratio, or a
 * single event). The source packs sets of one PMU and CPU into as few groups as the hardware takes. Its open
 * fills what is known since then; `why` is freed by the plan.
 */

/* Keeps the error of a counter that is not opened, and its sentence. -ENOMEM. */
static inline int unc_counter_refuse(struct uncore_counter *c, int err, const char *why,
				     struct unc_error *e)
{
	c->error = err;
	c->why = strdup(why);
	return c->why ? 0 : unc_nomem(e);
}

/* CLOCK_MONOTONIC, the clock of all readings. */
static inline uint64_t unc_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct unc_source;

struct unc_source_ops {
	size_t size; /* of its own struct, whose first member is a struct unc_source */
	/* Opens every counter it can, stopped. Counters keep their own error; the call fails (with the
	 * sentence in e) only for permission, file descriptors, memory, or a strict set that does not
	 * fit. Adds to `notes`.
	 * `counters` are borrowed until close. */
	int (*open)(struct unc_source *s, struct uncore_counter *counters, size_t count,
		    struct unc_names *notes, struct unc_error *e);
	/* NULL: nothing has to be done for it; it counts always. */
	int (*enable)(struct unc_source *s, struct unc_error *e);
	int (*disable)(struct unc_source *s, struct unc_error *e);
	/* One reading per counter, in plan order. *now_ns: time of the reading, also of those whose at_ns is 0.
	 * Allocates nothing. 1: another reading follows before the interval ends. */
	int (*read)(struct unc_source *s, struct uncore_reading *into, uint64_t *now_ns,
		    struct unc_error *e);
	/* Stops and starts the marked counters, so that their registers are written again. The mark remains where a
	 * counter then moves within a moment. NULL: it cannot. */
	void (*restart)(struct unc_source *s, bool *marks);
	void (*close)(struct unc_source *s); /* frees s; accepts NULL and half-opened */
};

struct unc_sim;  /* a parsed simulation; owned by the machine */
struct unc_regs; /* a register block, regs/regs.h; the same */

struct unc_source {
	const struct unc_source_ops *ops;
	/* What it counts on, borrowed; each uses what it needs: */
	const struct unc_root *root;
	const struct unc_topology *topology;
	const struct unc_sim *sim;
	const struct unc_regs *regs;
	bool write; /* control registers may be written */
	const struct uncore_replay *replay;
	/* Set by open and read: */
	bool own_time;    /* its readings have times of their own, not those of a clock: */
	uint64_t wall_ns; /* of the latest one */
};

extern const struct unc_source_ops
	unc_source_kernel; /* open: -EOPNOTSUPP unless the root is live */
extern const struct unc_source_ops unc_source_sim, unc_source_regs, unc_source_resctrl,
	unc_source_replay;

/* A source that is not open: a copy of `from`, and what its ops need behind that. -ENOMEM. */
static inline int unc_source_new(struct unc_source **out, struct unc_source from)
{
	struct unc_source *s = calloc(1, from.ops->size);

	if (!s)
		return -ENOMEM;
	*s = from;
	*out = s;
	return 0;
}

/* "NAME" or "FILE.yaml", optional ",step=DURATION" (20ms, 1s). Opens the tree of the simulated
 * machine too: *root is then the caller's. */
int unc_sim_load(struct unc_sim **out, const char *spec, struct unc_root **root,
		 struct unc_error *e);
void unc_sim_free(struct unc_sim *sim);
/* Every rate must be for an event of the machine. -EBADMSG. */
int unc_sim_check(const struct unc_sim *sim, const struct unc_pmus *pmus, struct unc_error *e);

/* The groups of resctrl, on each of their caches, as PMUs. Works below any root. -ENODEV: it is not mounted. */
int unc_resctrl_scan(const struct unc_root *root, const struct unc_topology *topology,
		     struct unc_pmus *out, struct unc_error *e);

/* ---- reader.c: work that is cheapest on one certain CPU, done there by a pinned thread ---- */

/*
 * Reading a counter from another CPU costs an inter-processor interrupt for each group. A thread
 * pinned to the owning CPU costs one wake-up and then reads at the local price. Fewer items are not worth
 * a thread. Measured on a virtual machine of two CPUs with groups of four counters: 22 us for each remote
 * group; 35 us for a wake-up, and 1 us for each group then: even at two.
 */
#define UNC_READER_MIN_ITEMS 3

struct unc_readers;

/* Starts the threads: signals blocked, small stack. `cpus` has the CPU of each item; neighbours of one
 * CPU share a thread when they are `least` or more. Other items, and those of a CPU to which no thread
 * can be pinned, are done by the caller. item() must be safe to call for different items at once.
 * -ENOMEM. The threads do not survive a fork(): a child may neither run nor free them. */
int unc_readers_new(struct unc_readers **out, const int *cpus, size_t count, size_t least,
		    void (*item)(void *ctx, size_t i), void *ctx);

/* Calls item() once for each item and returns when all are done. Allocates nothing; the caller's affinity
 * stays as it is. */
void unc_readers_run(struct unc_readers *all);

/* Ends the threads. */
void unc_readers_free(struct unc_readers *all);

/* ---- sim/sim.c: the arithmetic of simulations ---- */

enum unc_wave_kind {
	UNC_WAVE_CONSTANT, /* a */
	UNC_WAVE_SINE,     /* mean a, amplitude b */
	UNC_WAVE_BURST,    /* b for the first `duty` of each period, else a */
	UNC_WAVE_RAMP,     /* from a to b during each period, then a again */
};

/* A rate over time, in counts per second; never negative. */
struct unc_wave {
	enum unc_wave_kind kind;
	double a, b;
	double duty;
	uint64_t period_ns; /* not 0 unless constant */
};

/* Counts from time 0 to `t_ns`, exact but for rounding; `phase_ns` is how far into the wave time 0
 * is. Pure. */
long double unc_wave_integral(const struct unc_wave *w, uint64_t phase_ns, uint64_t t_ns);

/* 0 <= result < 1, the same on every machine. */
double unc_sim_chance(uint64_t seed, const char *name, int cpu);

#endif
