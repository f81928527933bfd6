/* SPDX-License-Identifier: MIT */
/* Register blocks: counters read straight from the hardware, as one file describes them. */
#ifndef UNC_REGS_H
#define UNC_REGS_H

#include "base/data-file.h"
#include "base/formula.h"
#include "machine/pmu.h"
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
};

/* A block: parsed once, never changed but for the devices, which a scan finds. */
struct unc_regs {
	struct unc_yaml_file *file; /* owns the texts */
	struct unc_names strings;   /* and these the ones that were made from them */
	const char *name, *title, *instance, *evidence, *pmu, *quantity;
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

/* ---- bins.c ---- */

/* Reads the key `histogram` of a file. */
unc_read unc_regs_read_bins;
/* The register of the lower bound of bin `k`, from 1. */
uint64_t unc_regs_threshold(const struct unc_regs *r, size_t k);
/* The bounds of the bins, when the file leaves them to registers: the same ones in all instances. Where they are not
 * set yet, other counters can be read: only the bins are refused. */
int unc_regs_read_thresholds(struct unc_regs *r, const struct unc_root *root,
			     const struct unc_pmus *pmus, struct unc_error *e);

/* ---- devices.c ---- */

/* Finds the devices, and makes a PMU of each instance. -ENODEV: there is none. */
int unc_regs_scan(struct unc_regs *r, const struct unc_root *root,
		  const struct unc_topology *topology, struct unc_pmus *out, struct unc_error *e);
void unc_regs_forget_devices(struct unc_regs *r);

#endif
