/* SPDX-License-Identifier: MIT */
/* The interface of sources, which is where counts come from. A source opens the counters of a plan
 * and reads them raw. Wraps, differences, coverage and sums are computed for all sources in
 * count/delta.c and count/rows.c. A source adds up only what its hardware cannot hold in one
 * counter: registers that reading clears, counters between which it moves an event, and groups that
 * were opened again. */
#ifndef UNC_SOURCE_H
#define UNC_SOURCE_H

#include "machine/pmu.h"
#include <stdint.h>
#include <time.h>

/* The bound of a counter whose greatest rate is unknown: 256 in each cycle of 4 GHz. No bus moves
 * more bytes. */
#define UNC_MOST_PER_S 0x1p40
/* The same bound for a 64-bit count of the kernel, unless its register is read in halves. The count
 * may be an energy in 2^-32 J, or the requests in flight of a whole socket. */
#define UNC_MOST_PER_S_64 0x1p46
/* The clock of a block may be faster than its description says, and the clock of the host
 * slower. */
#define UNC_CLOCK_SLACK 1.02
/* A file or an emulated device may add the counts of this time at once, even in a shorter
 * interval. */
#define UNC_AT_ONCE_S 1.0

/*
 * The counters of a plan (struct uncore_counter) are ordered by CPU, then PMU, then set, which is
 * their `group`. The counters of one set are adjacent. A set is counted over one interval: a "{}"
 * group, the inputs of a ratio, or a single event. The source packs the sets of one PMU and CPU
 * into as few groups as the hardware accepts. `open` fills the members of a counter that are known
 * only then; the plan frees `why`.
 */

/* Keeps the error of a counter that is not opened, and its sentence. Returns 0 or -ENOMEM. */
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
	size_t size; /* bytes of its own struct, whose first member is a struct unc_source */
	/* Opens every counter that can be opened, stopped. A counter that cannot keeps its own
	 * error. The call itself fails (with the sentence in e) only for permission, file
	 * descriptors, memory, or a strict set that does not fit. Adds lines to `notes`. `counters`
	 * are borrowed until close. */
	int (*open)(struct unc_source *s, struct uncore_counter *counters, size_t count,
		    struct unc_names *notes, struct unc_error *e);
	/* NULL: nothing has to be enabled or disabled. */
	int (*enable)(struct unc_source *s, struct unc_error *e);
	int (*disable)(struct unc_source *s, struct unc_error *e);
	/* One reading for each counter, in the order of the plan. *now_ns is the time of the
	 * reading; it also holds for readings whose at_ns is 0. Allocates nothing, unless the files
	 * of a device are others than before. Returns 1 if another reading follows before the
	 * interval ends. */
	int (*read)(struct unc_source *s, struct uncore_reading *into, uint64_t *now_ns,
		    struct unc_error *e);
	/* Reads one counter of a group of tasks again. NULL: the source has no such groups. */
	void (*read_one)(struct unc_source *s, size_t i, struct uncore_reading *into);
	/* Stops and starts the marked counters, so that their registers are written again. A mark
	 * remains if its counter then moves within a few milliseconds. NULL: the source cannot
	 * restart. */
	void (*restart)(struct unc_source *s, bool *marks);
	void (*close)(struct unc_source *s); /* frees s; also half-opened */
};

struct unc_sim;  /* a parsed simulation; the machine owns it */
struct unc_regs; /* a register block, see regs/regs.h; the machine owns it */

struct unc_source {
	const struct unc_source_ops *ops;
	/* What it counts on, borrowed. Each source uses what it needs: */
	const struct unc_root *root;
	const struct unc_topology *topology;
	const struct unc_sim *sim;
	const struct unc_regs *regs;
	bool write;    /* the source may write control registers */
	bool any_root; /* files are read below any directory, not only those of this machine */
	bool cheap;    /* devices are read in the way that costs least */
	const struct uncore_replay *replay;
	uint64_t since_ns; /* when it was started, before it is enabled */
	/* Set by open and read: */
	bool own_time;    /* its readings have times of their own, not those of a clock */
	uint64_t wall_ns; /* the wall-clock time of the latest reading, if own_time */
};

extern const struct unc_source_ops
	unc_source_kernel; /* its open returns -EOPNOTSUPP unless the root is live */
extern const struct unc_source_ops unc_source_sim, unc_source_regs, unc_source_resctrl,
	unc_source_replay, unc_source_files, unc_source_nvml;

/* Makes a source that is not open: a copy of `from`, with room for the struct of its ops. Returns 0
 * or -ENOMEM. */
static inline int unc_source_new(struct unc_source **out, struct unc_source from)
{
	struct unc_source *s = calloc(1, from.ops->size);

	if (!s)
		return -ENOMEM;
	*s = from;
	*out = s;
	return 0;
}

/* Loads a simulation. `spec` is "NAME" or "FILE.yaml", with an optional ",step=DURATION" (20ms,
 * 1s). Also opens the tree of the simulated machine: the caller then owns *root. */
int unc_sim_load(struct unc_sim **out, const char *spec, struct unc_root **root,
		 struct unc_error *e);
void unc_sim_free(struct unc_sim *sim);
/* Checks that every rate is for an event of the machine. Returns 0 or -EBADMSG. */
int unc_sim_check(const struct unc_sim *sim, const struct unc_pmus *pmus, struct unc_error *e);
/* Whether it has a rate for events of the PMU. */
bool unc_sim_has(const struct unc_sim *sim, const struct uncore_pmu *pmu);
/* Whether some rate may be for none of these PMUs, but for a device. */
bool unc_sim_may_have_devices(const struct unc_sim *sim, const struct unc_pmus *pmus);

#define UNC_RESCTRL "sys/fs/resctrl"
#define UNC_RESCTRL_MOUNT "mount -t resctrl resctrl /" UNC_RESCTRL
/* For so long a group of tasks has lines in the cache that are not those of its present tasks, and
 * lacks some that they loaded before. A cache in use is replaced in a fraction of that. */
#define UNC_SLOT_MIXED_NS 10000000000u

/* Whether resctrl can monitor. -ENODEV, with the reason: it is not mounted, or mounted without
 * monitoring. -EOPNOTSUPP: the CPU cannot. */
int unc_resctrl_check(const struct unc_root *root, struct unc_error *e);
/* Calls `each` for all groups that can be monitored, with their path and their name: "" is the
 * default group, "web" another control group; of a monitor group "web/db" or, in the default group,
 * "/db". Returns its first error, or that of a directory which exists and cannot be read. */
int unc_resctrl_each(const struct unc_root *root,
		     int (*each)(void *context, const char *path, const char *name), void *context);
/* The sentence for that error. */
int unc_resctrl_unreadable(struct unc_error *e, int err);
/* Whether an error of reading a group means that it was removed. */
bool unc_resctrl_is_gone(int err);
/* Adds PMUs of resctrl's groups, one on each of their caches. Works below any root. Those of
 * this process have a slot. An error of unc_resctrl_check() or of listing groups, or -ENOMEM. */
int unc_resctrl_scan(const struct unc_root *root, const struct unc_topology *topology,
		     struct unc_slot *slots, size_t slot_count, struct unc_pmus *out,
		     struct unc_error *e);

/* ---- limit.c ---- */

/* Raises the limit of open files of this process as far as it may, with a note. True if more are
 * possible now. */
bool unc_limit_raise(struct unc_names *notes);

/* ---- reader.c: pinned threads, for work that is cheapest on one certain CPU ---- */

/*
 * Reading a counter from another CPU costs an inter-processor interrupt for each group. A thread
 * pinned to the counter's CPU costs one wake-up, and then each read is local. Measured on a virtual
 * machine of two CPUs with groups of four counters: 22 us for each remote group; 35 us for a
 * wake-up, then 1 us for each group. So two groups cost about the same either way, and fewer than
 * this are not worth a thread.
 */
#define UNC_READER_MIN_ITEMS 3

struct unc_readers;

/* Starts the threads, with signals blocked and small stacks. `cpus` has the CPU of each item.
 * Adjacent items of one CPU share a thread if they are `least` or more. The caller does other
 * items, and those of a CPU to which no thread can be pinned. item() must be safe to call for
 * different items at once. The threads do not survive a fork(): a child may neither run nor free
 * them. Returns 0 or -ENOMEM. */
int unc_readers_new(struct unc_readers **out, const int *cpus, size_t count, size_t least,
		    void (*item)(void *ctx, size_t i), void *ctx);

/* Calls item() once for each item and returns when all are done. Allocates nothing, and leaves the
 * caller's affinity as it is. */
void unc_readers_run(struct unc_readers *all);

/* Ends the threads. */
void unc_readers_free(struct unc_readers *all);

/* ---- devices/field.c: a number in the contents of a file of a device. Pure; fuzzed ---- */

/* Takes the number that `read` describes from the contents of its file, which a NUL follows.
 * `layout`: of the device; NULL: it has only one. NULL, or why there is no number: a
 * constant; *value is then untouched. */
const char *unc_field_take(const struct unc_device_read *read,
			   const struct unc_device_layout *layout, const char *data, size_t len,
			   uint64_t *value);

/* How many bytes of the file are needed. */
size_t unc_field_room(const struct unc_device_read *read);

/* ---- sim/sim.c: the arithmetic of simulations ---- */

enum unc_wave_kind {
	UNC_WAVE_CONSTANT, /* a */
	UNC_WAVE_SINE,     /* mean a, amplitude b */
	UNC_WAVE_BURST,    /* b for the first `duty` of each period, else a */
	UNC_WAVE_RAMP,     /* from a to b during each period, then a again */
};

/* A rate over time, in counts per second. It is never negative. */
struct unc_wave {
	enum unc_wave_kind kind;
	double a, b;
	double duty;
	uint64_t period_ns; /* not 0, unless the wave is constant */
};

/* The counts from time 0 to `t_ns`, exact except for rounding. `phase_ns` is the position in the
 * wave at time 0. Pure. */
long double unc_wave_integral(const struct unc_wave *w, uint64_t phase_ns, uint64_t t_ns);

/* A pseudo-random number, 0 <= result < 1, the same on every machine. */
double unc_sim_chance(uint64_t seed, const char *name, int cpu);

#endif
