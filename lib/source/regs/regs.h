/* SPDX-License-Identifier: MIT */
/* Register blocks: counters read straight from the hardware, as one file describes them. */
#ifndef UNC_REGS_H
#define UNC_REGS_H

#include "base/formula.h"
#include "source/source.h"

#define UNC_REGS_COUNTERS 256  /* of one instance */
#define UNC_REGS_INSTANCES 256 /* of one device */
#define UNC_REGS_OFFSET_MOST (UINT64_C(1) << 32)

/* Where in an event's configuration the number of its counter is, from 1. */
#define UNC_REGS_COUNTER_WORD 3
/* And what a programmable counter is given: its control register, the filters, and after how many
 * events it freezes its instance. */
#define UNC_REGS_SELECT_WORD 0
#define UNC_REGS_FILTER_WORD 1
#define UNC_REGS_AFTER_WORD 2

enum unc_regs_space { UNC_SPACE_MMIO, UNC_SPACE_PCI, UNC_SPACE_MSR };

enum unc_regs_window {
	UNC_WINDOW_FREE,        /* free-running: read at any moment, never stopped */
	UNC_WINDOW_FREEZE,      /* all counters are frozen, read, and unfrozen */
	UNC_WINDOW_CLEAR,       /* reading a counter sets it to 0 */
	UNC_WINDOW_SNAPSHOT,    /* a bit copies all counters to the registers that are read */
	UNC_WINDOW_WRITE_CLEAR, /* a bit sets all counters to 0, after they were read */
};

/* What a counter means to the arithmetic. */
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

/* What a field of a control register is for. */
enum unc_field_purpose {
	UNC_PURPOSE_NONE,
	UNC_PURPOSE_FREEZE,  /* 1 stops all counters of the instance */
	UNC_PURPOSE_FROZEN,  /* 1 when they have stopped */
	UNC_PURPOSE_LATCH,   /* 1 copies all counters of the instance */
	UNC_PURPOSE_LATCHED, /* 1 when they are copied */
	UNC_PURPOSE_CLEAR,   /* 1 sets all counters of the instance to 0 */
	UNC_PURPOSE_RESET,   /* 1 does so with their control registers */
	UNC_PURPOSE_ENABLE,  /* 1 lets this counter count */
	UNC_PURPOSE_EVENT,   /* these say what it counts */
	UNC_PURPOSE_UMASK,
	UNC_PURPOSE_EDGE,
	UNC_PURPOSE_THRESHOLD,
	UNC_PURPOSE_FILTER, /* this one for all counters of the instance */
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
	uint64_t ones; /* bits that are 1 whenever it is written */
	struct unc_regs_field *fields;
	size_t count;
	uint64_t read_only, write_only; /* bits of such fields */
	int filter; /* which half of the filter's configuration word it is; -1: none */
	const struct unc_yaml *at;
};

/* An event that only some of the programmable counters count. */
struct unc_regs_only {
	uint64_t event, counters; /* a bit for each */
};

/* What else a counter that overflows freezes. */
enum unc_regs_overflow {
	UNC_OVERFLOW_WRAPS,
	UNC_OVERFLOW_FREEZES,     /* its instance */
	UNC_OVERFLOW_FREEZES_ALL, /* and the others of the device, or of the socket */
};

struct unc_regs_counter {
	const char *name, *title;
	uint64_t offset; /* of the register, or of its low half; an MSR's number */
	uint64_t high;   /* of the high half */
	bool split;
	unsigned width;
	enum unc_regs_role role;
	double per_cycle;    /* it counts no more in one cycle; 0: not known */
	double most_per_s;   /* nor in one second, by that and what the file says; 0: not known */
	double packet_bytes; /* packets: their size, when it is fixed; else 0 */
	bool programmable;   /* it counts what its control register says */
	unsigned number;     /* programmable: which one of those */
	uint64_t control;    /* offset of its control register */
	const struct unc_yaml *at; /* in the file */
};

/* One device, found on this machine. */
struct unc_regs_device {
	char *path;      /* below the root; not looked at for MSRs */
	uint64_t offset; /* of the block's first byte in it */
	int cpu;         /* near it; -1: any */
	bool placed;     /* its NUMA node is known, and within one socket */
};

/* What an instance counts, for programs. */
enum unc_regs_place {
	UNC_REGS_BLOCK, /* no more is known */
	UNC_REGS_PORT,
	UNC_REGS_LINK,
	UNC_REGS_DEVICE,
};

/* A block: parsed once, never changed but for the devices, which a scan finds. */
struct unc_regs {
	struct unc_yaml_file *file; /* owns the texts and arrays */
	const char *name, *title, *instance, *evidence, *pmu, *quantity;
	enum unc_regs_place place;
	const char *models; /* of CPUs that have it, separated by spaces; NULL: any may */
	enum unc_regs_space space;
	enum unc_regs_window window;
	unsigned bytes; /* of one access: 4 or 8 */
	uint64_t size;  /* bytes of the map; MSR: 0 */
	uint64_t instances, stride;
	const char *map_file, *map_pci; /* "PATH@OFFSET"; an address, or vendor:device; or NULL */
	uint64_t bar;
	const char *clock_hz;   /* as written; NULL: not known */
	double hz;              /* 0: not known */
	const char *clock_name; /* of the counter of its cycles; or NULL */
	const struct unc_regs_counter *clock;
	bool host_clock;
	struct unc_regs_counter *counters;
	size_t count;
	const struct unc_regs_counter *roles[UNC_ROLES]; /* the first with each; or NULL */
	bool has_roles;                                  /* metrics are made of them */
	bool all_cycles;                                 /* every cycle is active, busy or idle */
	unsigned programmable;                           /* how many counters are */
	unsigned narrowest; /* bits of the narrowest of these; 64: there is none */
	struct unc_regs_control *controls;
	size_t control_count;
	const struct unc_regs_field *use[UNC_PURPOSES]; /* the first for each purpose; or NULL */
	int filters;                                    /* how many have filters */
	struct unc_regs_control select; /* of the programmable counters; its offset means nothing */
	struct unc_regs_only *only;
	size_t only_count;
	enum unc_regs_overflow overflow;
	const char *kernel_pmu, *kernel_module; /* the driver of the same box; or NULL */
	struct unc_histogram histogram;         /* no bins: none */
	double last; /* what stands for its last bin; 0: `values` are given */
	/* Registers with the lower bounds of the bins from the second on; NULL: there are none. They are
	 * written, or, without bounds in the file, read by a scan. */
	const struct unc_yaml *thresholds_at;
	uint64_t thresholds;
	bool bounds_written;
	struct unc_error
		bins_refused; /* why their registers, and so the bins, mean nothing; "": they do */

	const char *where; /* "at=": instead of the map; or NULL */
	struct unc_regs_device *devices;
	size_t device_count;
};

/* "NAME", or "FILE.yaml", optionally followed by ",at=PATH[@OFFSET]". -ENOENT, -EBADMSG, -EINVAL. */
int unc_regs_load(struct unc_regs **out, const char *spec, struct unc_error *e);
/* For the loader, the fuzzer and tests. Takes `file` over, also on failure. -EBADMSG, -ENOMEM. */
int unc_regs_parse(struct unc_regs **out, struct unc_yaml_file *file, struct unc_error *e);
void unc_regs_free(struct unc_regs *r);
/* What a scan found, before the next one. */
void unc_regs_forget_devices(struct unc_regs *r);

/* The register of the lower bound of bin `k` of the histogram, from 1. */
static inline uint64_t unc_regs_threshold(const struct unc_regs *r, size_t k)
{
	return r->thresholds + (k - 1) * (r->space == UNC_SPACE_MSR ? 1 : r->bytes);
}

/* The values of bins for which the file has none, from their bounds. False: `last` lies below its bin. */
bool unc_regs_set_middles(struct unc_regs *r);

/* ---- devices.c ---- */

/* Finds the devices, and makes a PMU of each instance. -ENODEV: there is none. */
int unc_regs_scan(struct unc_regs *r, const struct unc_root *root,
		  const struct unc_topology *topology, struct unc_pmus *out, struct unc_error *e);

/* ---- access.c: registers of one instance, read and written by exactly their width ---- */

struct unc_regs_io {
	const struct unc_regs *regs;
	int fd;          /* -1: not open */
	uint64_t offset; /* of the instance in the file; MSRs: what is added to their numbers */
	uint64_t end;    /* of the block in its file; 0: the length cannot change */
	bool plain;      /* a plain file: no hardware clears what is read */
	void *map;       /* NULL: read through the descriptor */
	size_t mapped;
	char *registers; /* of the instance, in the map */
	/* The undo log: registers that are or may be written, and the values that they had. */
	struct unc_regs_saved {
		uint64_t offset, value;
		bool written;
	} * old;
	size_t old_count;
	unsigned set; /* the purposes of the fields that are 1: a bit for each */
};

/* Opens the instance that a counter's PMU is, from its CPU. `write`: registers are going to be written.
 * -EACCES, -ENODEV (too short, gone) and others, with a sentence that says the fix. */
int unc_regs_io_open(struct unc_regs_io *io, const struct unc_regs *r, const struct unc_root *root,
		     const struct uncore_counter *counter, bool write, struct unc_error *e);
void unc_regs_io_close(struct unc_regs_io *io);

/* Takes the advisory lock of a register until the instance is closed. -EBUSY: another program or monitor
 * has it. Success where locks are not supported. */
int unc_regs_io_lock(const struct unc_regs_io *io, uint64_t offset);

/* -ENODEV: the device, or the end of its file, is gone. */
int unc_regs_io_check(const struct unc_regs_io *io);
/* Reads one register. A negative errno when the kernel cannot read it. */
int unc_regs_io_load(const struct unc_regs_io *io, uint64_t offset, uint64_t *value);
/* The same, for a counter that reading sets to 0. */
int unc_regs_io_load_clear(const struct unc_regs_io *io, uint64_t offset, uint64_t *value);

/* ---- all writes; the old value of a register is recorded at its first write ---- */

/* Writes a register. The first time it is locked, -EBUSY, and its old value is recorded. */
int unc_regs_write(struct unc_regs_io *io, uint64_t offset, uint64_t value);
/* Locks and records all registers that holding the instance, and with `program` programming it, will write;
 * none is written yet. -EBUSY, -EIO. */
int unc_regs_claim(struct unc_regs_io *io, bool program);
/* Freezes or latches all counters of the instance, by its window; 0 when the block cannot. -ETIMEDOUT: its
 * status does not confirm it. */
int unc_regs_hold(struct unc_regs_io *io);
/* Unfreezes them; sets them to 0 first when that is the window and they were read. */
int unc_regs_release(struct unc_regs_io *io, bool clear);
/* Freezes the instance, and resets what its counters and their control registers have. */
int unc_regs_begin(struct unc_regs_io *io);
/* The control registers show that the instance is frozen. */
bool unc_regs_is_frozen(const struct unc_regs_io *io);
/* Prepares a programmable counter while the instance is frozen. It starts from 0 or, to freeze the
 * instance after N events, N below its end: `start` is that count. */
int unc_regs_prepare(struct unc_regs_io *io, const struct unc_regs_counter *c,
		     const uint64_t config[static UNCORE_CONFIG_WORDS], uint64_t *start);
/* Puts back all that was written, the last first, while the counters are frozen; the log is empty then.
 * A register that cannot be put back does not keep the others from it: a negative errno, and the first
 * such register in *changed. */
int unc_regs_restore(struct unc_regs_io *io, uint64_t *changed);

/* ---- source.c, read.c ---- */

/* One counter of the plan. */
struct unc_open_counter {
	const struct unc_regs_counter *reg; /* NULL: not open */
	size_t first;     /* the first counter of the plan with this register: it is read once */
	uint64_t total;   /* all that was counted, from its start value */
	uint64_t last;    /* programmable: the raw count that was read last, or set */
	uint64_t full_ns; /* in which its register may overflow; 0: not known, or not relevant */
	uint64_t read_ns; /* when its last good reading began; 0: none since the start */
};

enum unc_instance_state {
	UNC_INSTANCE_ABSENT, /* its registers cannot be read */
	UNC_INSTANCE_COUNTING,
	UNC_INSTANCE_HELD, /* frozen for the reading that runs */
	UNC_INSTANCE_STOPPED, /* frozen: not started yet, or a counter has reached its events (after=) */
	UNC_INSTANCE_FROZEN, /* by another program */
};

/* One instance and the CPU that it is read on. */
struct unc_regs_instance {
	struct unc_regs_io io;
	size_t first, end; /* its counters in the plan */
	bool trigger; /* one of them freezes it, and maybe others, after its number of events */
	enum unc_instance_state state;
	bool unconfirmed;      /* its status did not show that it was frozen or latched */
	bool uncleared;        /* counters that should be 0 may not be: they are cleared again */
	bool runs_on;          /* a counter that reached its number of events has not frozen it */
	bool good;             /* its counters were read */
	uint64_t at_ns;        /* of the reading */
	uint64_t uncertain_ns; /* how far that, or the moment when it was unfrozen, may be off */
	uint64_t enabled_ns;   /* at the latest reading before it stopped */
	uint64_t interval_ns;  /* the last part of that, since the reading before */
	uint64_t frozen_ns;    /* in all */
};

struct unc_regs_source {
	struct unc_source base;
	const struct unc_regs *regs;
	bool freezes;  /* instances are frozen or latched for each reading */
	bool adds_up;  /* a reading is followed by 0 */
	bool together; /* one instance may stop all of its device: they are unfrozen together */
	struct uncore_counter *plan;
	struct unc_open_counter *counters;
	size_t count;
	struct unc_regs_instance *instances;
	size_t instance_count;
	size_t found_frozen, first_frozen; /* when opened: instances, and which was the first */
	struct unc_readers *readers;
	struct uncore_reading *into; /* of the read that runs */
	uint64_t start_ns;
	struct uncore_reading
		*last; /* after disable, when registers were restored: the last reading */
	uint64_t last_ns;
	bool restored;
};

/* Reads all counters of an instance; `ctx` is the source. Different instances may be read at once. */
void unc_regs_read_instance(void *ctx, size_t index);
/* Both are instances of one device, read on one CPU. */
bool unc_regs_same_device(const struct unc_regs_source *s, const struct unc_regs_instance *a,
			  const struct unc_regs_instance *b);
/* When all have been read: unfreezes instances that waited for the others. */
void unc_regs_unfreeze(struct unc_regs_source *s);

#endif
