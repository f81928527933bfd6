/* SPDX-License-Identifier: MIT */
/* Register blocks: counters that are read directly from hardware, by the description in one
 * file. */
#ifndef UNC_REGS_H
#define UNC_REGS_H

#include "base/formula.h"
#include "source/source.h"

#define UNC_REGS_COUNTERS 256  /* counters of one instance, at most */
#define UNC_REGS_INSTANCES 256 /* instances of one device, at most */
#define UNC_REGS_OFFSET_MOST (UINT64_C(1) << 32)

/* The configuration word of an event that has the number of its counter, from 1. */
#define UNC_REGS_COUNTER_WORD 3
/* The configuration words of a programmable counter: its control register, the filters, and the
 * number of events after which it freezes its instance. */
#define UNC_REGS_SELECT_WORD 0
#define UNC_REGS_FILTER_WORD 1
#define UNC_REGS_AFTER_WORD 2

enum unc_regs_space { UNC_SPACE_MMIO, UNC_SPACE_PCI, UNC_SPACE_MSR };

enum unc_regs_window {
	UNC_WINDOW_FREE,        /* free-running: read at any time, never stopped */
	UNC_WINDOW_FREEZE,      /* all counters are frozen, read, and unfrozen */
	UNC_WINDOW_CLEAR,       /* reading a counter sets it to 0 */
	UNC_WINDOW_SNAPSHOT,    /* a bit copies all counters to the registers that are read */
	UNC_WINDOW_WRITE_CLEAR, /* a bit sets all counters to 0 after they were read */
};

/* The meaning of a counter, for metrics. */
enum unc_regs_role {
	UNC_ROLE_NONE,
	UNC_ROLE_ACTIVE,
	UNC_ROLE_BUSY,
	UNC_ROLE_IDLE,
	UNC_ROLE_BYTES,
	UNC_ROLE_PACKETS,
	UNC_ROLE_BIN,
};

#define UNC_ROLES (UNC_ROLE_BIN + 1)

/* The use of a field of a control register. */
enum unc_field_purpose {
	UNC_PURPOSE_NONE,
	UNC_PURPOSE_FREEZE,  /* 1 stops all counters of the instance */
	UNC_PURPOSE_FROZEN,  /* reads as 1 when they have stopped */
	UNC_PURPOSE_LATCH,   /* 1 copies all counters of the instance */
	UNC_PURPOSE_LATCHED, /* reads as 1 when they are copied */
	UNC_PURPOSE_CLEAR,   /* 1 sets all counters of the instance to 0 */
	UNC_PURPOSE_RESET,   /* 1 also resets their control registers */
	UNC_PURPOSE_ENABLE,  /* 1 lets this counter count */
	UNC_PURPOSE_EVENT,   /* the fields from here on select what it counts */
	UNC_PURPOSE_UMASK,
	UNC_PURPOSE_EDGE,
	UNC_PURPOSE_THRESHOLD,
	UNC_PURPOSE_FILTER, /* applies to all counters of the instance */
};

#define UNC_PURPOSES (UNC_PURPOSE_FILTER + 1)

enum unc_regs_access { UNC_ACCESS_RW, UNC_ACCESS_RO, UNC_ACCESS_WO };

struct unc_regs_field {
	const char *name;
	uint64_t bits;
	enum unc_regs_access access;
	enum unc_field_purpose purpose;
	const struct unc_regs_control *in; /* its register */
};

#define UNC_REGS_CONTROLS 8

/* A control register of an instance, or the one that each programmable counter has. */
struct unc_regs_control {
	const char *name;
	uint64_t offset;
	uint64_t ones; /* bits that are set to 1 at each write */
	struct unc_regs_field *fields;
	size_t count;
	uint64_t read_only, write_only; /* the bits of all such fields */
	int filter; /* which half of the filter's configuration word it holds; -1: no half */
	const struct unc_yaml *at;
};

/* An event that only some of the programmable counters count. */
struct unc_regs_only {
	uint64_t event, counters; /* `counters` has a bit for each counter that can count `event` */
};

/* What a counter that overflows freezes. */
enum unc_regs_overflow {
	UNC_OVERFLOW_WRAPS,
	UNC_OVERFLOW_FREEZES,     /* its instance */
	UNC_OVERFLOW_FREEZES_ALL, /* its instance and the others of the device or socket */
};

struct unc_regs_counter {
	const char *name, *title;
	uint64_t offset; /* of the register or its low half; for an MSR: its number */
	uint64_t high;   /* offset of the high half */
	bool split;
	unsigned width;
	enum unc_regs_role role;
	double per_cycle; /* its greatest count in one cycle; 0: unknown */
	/* Its greatest count in one second, from that and the file; 0: unknown. */
	double most_per_s;
	double packet_bytes;       /* for packets of a fixed size: the size; else 0 */
	bool programmable;         /* its control register selects what it counts */
	unsigned number;           /* its number among the programmable counters */
	uint64_t control;          /* offset of its control register */
	const struct unc_yaml *at; /* its entry in the file */
};

/* One device, found on this machine. */
struct unc_regs_device {
	char *path;      /* below the root; unused for MSRs */
	uint64_t offset; /* offset of the block's first byte in the file */
	int cpu;         /* a CPU near the device; -1: any */
	bool placed;     /* its NUMA node is known and lies within one socket */
};

/* The kind of place that an instance counts. */
enum unc_regs_place {
	UNC_REGS_BLOCK, /* nothing more is known */
	UNC_REGS_PORT,
	UNC_REGS_LINK,
	UNC_REGS_DEVICE,
};

/* A block. It is parsed once; later only a scan changes it, when it finds devices. */
struct unc_regs {
	struct unc_yaml_file *file; /* owns the texts and arrays */
	const char *name, *title, *instance, *evidence, *pmu, *quantity;
	enum unc_regs_place place;
	/* CPU models that have the block, separated by spaces; NULL: any model. */
	const char *models;
	enum unc_regs_space space;
	enum unc_regs_window window;
	unsigned bytes; /* bytes of one access: 4 or 8 */
	uint64_t size;  /* bytes of the map; MSR: 0 */
	uint64_t instances, stride;
	/* "PATH@OFFSET"; a PCI address, or vendor:device; or NULL */
	const char *map_file, *map_pci;
	uint64_t bar;
	const char *clock_hz;   /* as written in the file; NULL: unknown */
	double hz;              /* 0: unknown */
	const char *clock_name; /* name of the counter of its cycles; or NULL */
	const struct unc_regs_counter *clock;
	bool host_clock;
	struct unc_regs_counter *counters;
	size_t count;
	/* The first counter with each role; or NULL. */
	const struct unc_regs_counter *roles[UNC_ROLES];
	bool has_roles; /* metrics use its roles */
	/* Every cycle is counted as active, busy or idle. */
	bool all_cycles;
	unsigned programmable; /* number of programmable counters */
	/* Bits of the narrowest programmable counter; 64: there is no such counter. */
	unsigned narrowest;
	struct unc_regs_control *controls;
	size_t control_count;
	/* The first field for each purpose; or NULL. */
	const struct unc_regs_field *use[UNC_PURPOSES];
	/* Number of control registers with filters. */
	int filters;
	/* The control register of programmable counters; its offset is unused. */
	struct unc_regs_control select;
	struct unc_regs_only *only;
	size_t only_count;
	enum unc_regs_overflow overflow;
	/* The kernel's driver of the same hardware; or NULL. */
	const char *kernel_pmu, *kernel_module;
	struct unc_histogram histogram; /* without bins if the block has no histogram */
	double last;                    /* the value of its last bin; 0: the file gives `values` */
	/* Registers with the lower bounds of the bins from the second on; NULL: there are no such
	 * registers. They are written, or, if the file has no bounds, a scan reads them. */
	const struct unc_yaml *thresholds_at;
	uint64_t thresholds;
	bool bounds_written;
	struct unc_error
		/* Why the values of the registers, and so the bins, are not valid; "": they are
		 * valid. */
		bins_refused;

	const char *where; /* "at=", which replaces the place in the file; or NULL */
	struct unc_regs_device *devices;
	size_t device_count;
};

/* Loads "NAME" or "FILE.yaml", optionally followed by ",at=PATH[@OFFSET]". Returns 0, -ENOENT,
 * -EBADMSG or -EINVAL. */
int unc_regs_load(struct unc_regs **out, const char *spec, struct unc_error *e);
/* For the loader, the fuzzer and tests. Takes over `file`, also on failure. Returns 0, -EBADMSG or
 * -ENOMEM. */
int unc_regs_parse(struct unc_regs **out, struct unc_yaml_file *file, struct unc_error *e);
void unc_regs_free(struct unc_regs *r);
/* Drops the devices that a scan found, before the next scan. */
void unc_regs_forget_devices(struct unc_regs *r);

/* The offset of the register with the lower bound of bin `k` of the histogram; k is at least 1. */
static inline uint64_t unc_regs_threshold(const struct unc_regs *r, size_t k)
{
	return r->thresholds + (k - 1) * (r->space == UNC_SPACE_MSR ? 1 : r->bytes);
}

/* Computes the values of the bins from their bounds, if the file has no values. Returns false if
 * `last` lies below its bin. */
bool unc_regs_set_middles(struct unc_regs *r);

/* ---- devices.c ---- */

/* Finds the devices, and makes a PMU of each instance. Returns 0, or -ENODEV if there is no
 * device. */
int unc_regs_scan(struct unc_regs *r, const struct unc_root *root,
		  const struct unc_topology *topology, struct unc_pmus *out, struct unc_error *e);

/* ---- access.c: registers of one instance, accessed with exactly their width ---- */

struct unc_regs_io {
	const struct unc_regs *regs;
	int fd; /* -1: not open */
	/* Offset of the instance in the file; for MSRs it is added to their numbers. */
	uint64_t offset;
	uint64_t end; /* end of the block in its file; 0: the length cannot change */
	bool plain;   /* a plain file: no hardware clears a register that is read */
	void *map;    /* NULL: registers are read through the descriptor */
	size_t mapped;
	char *registers; /* the instance's registers within the map */
	/* The undo log: registers that are or may be written, and their old values. */
	struct unc_regs_saved {
		uint64_t offset, value;
		bool written;
	} * old;
	size_t old_count;
	unsigned set; /* a bit for each purpose whose fields are 1 */
};

/* Opens the instance of a counter's PMU, from the counter's CPU. `write`: registers will be
 * written. On failure, such as -EACCES or -ENODEV (file too short, device gone), the sentence
 * includes the fix. */
int unc_regs_io_open(struct unc_regs_io *io, const struct unc_regs *r, const struct unc_root *root,
		     const struct uncore_counter *counter, bool write, struct unc_error *e);
void unc_regs_io_close(struct unc_regs_io *io);

/* Takes the advisory lock of a register until the instance is closed. Returns -EBUSY if another
 * program or monitor holds it, and 0 where locks are not supported. */
int unc_regs_io_lock(const struct unc_regs_io *io, uint64_t offset);

/* Returns -ENODEV if the device is gone or its file has become too short. */
int unc_regs_io_check(const struct unc_regs_io *io);
/* Reads one register. Returns a negative errno if the kernel cannot read it. */
int unc_regs_io_load(const struct unc_regs_io *io, uint64_t offset, uint64_t *value);
/* Reads a counter that reading sets to 0. */
int unc_regs_io_load_clear(const struct unc_regs_io *io, uint64_t offset, uint64_t *value);

/* ---- all writes; the old value of a register is recorded at its first write ---- */

/* Writes a register. The first write locks it (or returns -EBUSY) and records its old value. */
int unc_regs_write(struct unc_regs_io *io, uint64_t offset, uint64_t value);
/* Locks and records all registers that will be written to hold the instance and, with `program`, to
 * program it. Does not write them yet. Returns 0, -EBUSY or -EIO. */
int unc_regs_claim(struct unc_regs_io *io, bool program);
/* Freezes or latches all counters of the instance, by its window. Returns 0 if the block cannot do
 * so, and -ETIMEDOUT if its status does not confirm it. */
int unc_regs_hold(struct unc_regs_io *io);
/* Unfreezes the counters. With `clear` (they were read) sets them to 0 before, if the window
 * requires it. */
int unc_regs_release(struct unc_regs_io *io, bool clear);
/* Freezes the instance, and resets its counters and their control registers. */
int unc_regs_begin(struct unc_regs_io *io);
/* True if the control registers show that the instance is frozen. */
bool unc_regs_is_frozen(const struct unc_regs_io *io);
/* Prepares a programmable counter while the instance is frozen. The counter starts from 0. To
 * freeze the instance after N events, it starts N below its end. `start` receives this value. */
int unc_regs_prepare(struct unc_regs_io *io, const struct unc_regs_counter *c,
		     const uint64_t config[static UNCORE_CONFIG_WORDS], uint64_t *start);
/* Restores all registers that were written, in reverse order, while the counters are frozen. The
 * log is empty afterwards. If a register cannot be restored, the others still are; returns a
 * negative errno, with the first such register in *changed. */
int unc_regs_restore(struct unc_regs_io *io, uint64_t *changed);

/* ---- source.c, read.c ---- */

/* One counter of the plan. */
struct unc_open_counter {
	const struct unc_regs_counter *reg; /* NULL: not open */
	size_t first;   /* the first counter of the plan with this register, which is read once */
	uint64_t total; /* the sum of all counts since its start value */
	uint64_t last;  /* programmable: the raw count that was last read or set */
	/* The time in which its register may overflow; 0: unknown or irrelevant. */
	uint64_t full_ns;
	uint64_t read_ns; /* the start of its last good reading; 0: none since the start */
};

enum unc_instance_state {
	UNC_INSTANCE_ABSENT, /* its registers cannot be read */
	UNC_INSTANCE_COUNTING,
	UNC_INSTANCE_HELD, /* frozen for the current reading */
	/* Frozen: not started yet, or a counter has reached its number of events (after=). */
	UNC_INSTANCE_STOPPED,
	UNC_INSTANCE_FROZEN, /* frozen by another program */
};

/* An instance and the CPU that reads it. */
struct unc_regs_instance {
	struct unc_regs_io io;
	size_t first, end; /* its counters in the plan */
	/* One of its counters freezes it, and perhaps others, after a number of events. */
	bool trigger;
	enum unc_instance_state state;
	bool unconfirmed; /* its status did not confirm that it was frozen or latched */
	/* Its counters may not be 0 though they were cleared: they are cleared again. */
	bool uncleared;
	bool runs_on;          /* a counter that reached its number of events did not freeze it */
	bool good;             /* its counters were read */
	uint64_t at_ns;        /* the time of the reading */
	uint64_t uncertain_ns; /* uncertainty of this time, or of the time when it was unfrozen */
	uint64_t enabled_ns;   /* its enabled time at the last reading before it stopped */
	uint64_t interval_ns;  /* the part of that since the previous reading */
	uint64_t frozen_ns;    /* the sum of all times that it was frozen */
};

struct unc_regs_source {
	struct unc_source base;
	const struct unc_regs *regs;
	bool freezes; /* instances are frozen or latched for each reading */
	bool adds_up; /* reading a counter sets it to 0 */
	/* One instance may stop all others of its device, so they are unfrozen together. */
	bool together;
	struct uncore_counter *plan;
	struct unc_open_counter *counters;
	size_t count;
	struct unc_regs_instance *instances;
	size_t instance_count;
	/* At open: how many instances were frozen, and the first of them. */
	size_t found_frozen, first_frozen;
	struct unc_readers *readers;
	struct uncore_reading *into; /* where the current reading goes */
	struct uncore_reading
		/* The last reading, kept at disable, since the registers are restored there. */
		*last;
	uint64_t last_ns;
	bool restored;
};

/* Reads all counters of an instance. `ctx` is the source. May be called for different instances at
 * once. */
void unc_regs_read_instance(void *ctx, size_t index);
/* True if both are instances of one device and are read on one CPU. */
bool unc_regs_same_device(const struct unc_regs_source *s, const struct unc_regs_instance *a,
			  const struct unc_regs_instance *b);
/* After all instances have been read: unfreezes instances that waited for the others. */
void unc_regs_unfreeze(struct unc_regs_source *s);

#endif
