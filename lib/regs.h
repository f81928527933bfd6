/* SPDX-License-Identifier: MIT */
/* Register blocks: counters read straight from the hardware, as one file describes them. */
#ifndef UNC_REGS_H
#define UNC_REGS_H

#include "histogram.h"
#include "pmu.h"
#include "source.h"
#include "yaml-file.h"

#define UNC_REGS_COUNTERS 256  /* of one instance */
#define UNC_REGS_INSTANCES 256 /* of one device */

/* Where in an event's configuration the number of its counter is, from 1. */
#define UNC_REGS_COUNTER_WORD 3

enum unc_regs_space { UNC_SPACE_MMIO, UNC_SPACE_PCI, UNC_SPACE_MSR };

enum unc_regs_window {
	UNC_WINDOW_FREE,   /* free-running: read at any moment, never stopped */
	UNC_WINDOW_FREEZE, /* all counters are stopped, read, and let go */
	UNC_WINDOW_CLEAR,  /* reading a counter sets it to 0 */
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

/* Reading one half of a counter holds the other. */
enum unc_regs_latch { UNC_LATCH_NONE, UNC_LATCH_LOW, UNC_LATCH_HIGH };

struct unc_regs_counter {
	const char *name, *title;
	uint64_t offset; /* of the register, or of its low half; an MSR's number */
	uint64_t high;   /* of the high half */
	bool split;
	enum unc_regs_latch latch;
	unsigned width;
	enum unc_regs_role role;
	double per_cycle;          /* it counts no more in one cycle; 0: not known */
	double packet_bytes;       /* packets: their size, when it is fixed; else 0 */
	const struct unc_yaml *at; /* in the file */
};

/* Where the device is. */
enum unc_regs_map_kind {
	UNC_MAP_NONE, /* to be said by whoever uses the block */
	UNC_MAP_FILE,
	UNC_MAP_PCI,
	UNC_MAP_UIO,
	UNC_MAP_MEMORY,
};

struct unc_regs_map {
	enum unc_regs_map_kind kind;
	const char *text;  /* a file's path; a PCI address, or vendor:device; a UIO device's name */
	uint64_t index;    /* PCI: which BAR; UIO: which map */
	uint64_t physical; /* memory: the address */
};

/* One device, found on this machine. */
struct unc_regs_device {
	char *path;      /* below the root; not looked at for MSRs */
	uint64_t offset; /* of the block's first byte in it */
	uint64_t length; /* bytes there, where /sys says it; else 0 */
	int cpu;         /* near it; -1: any */
	bool is_pci;
};

/* A block: parsed once, never changed but for the devices, which a scan finds. */
struct unc_regs {
	struct unc_yaml_file *file; /* owns the texts */
	struct unc_names strings;   /* and these the ones that were made from them */
	const char *name, *title, *instance, *evidence, *pmu, *quantity;
	enum unc_regs_space space;
	enum unc_regs_window window;
	unsigned bytes; /* of one access: 4 or 8 */
	uint64_t size;  /* bytes of the map; MSR: 0 */
	uint64_t instances, stride;
	struct unc_regs_map map;
	const char *clock_hz; /* as written; NULL: not known */
	double hz;            /* 0: not known */
	const struct unc_regs_counter *clock;
	bool host_clock;
	struct unc_regs_counter *counters;
	size_t count;
	bool has_histogram;
	struct unc_histogram histogram;

	char *where; /* "at=": instead of the file's map; or NULL */
	struct unc_regs_device *devices;
	size_t device_count;
};

/* "NAME", or "FILE.yaml", optionally followed by ",at=PATH[@OFFSET]". -ENOENT, -EBADMSG, -EINVAL. */
int unc_regs_load(struct unc_regs **out, const char *spec, struct unc_error *e);
/* For the loader, the fuzzer and tests. Takes `file` over, also on failure. -EBADMSG, -ENOMEM. */
int unc_regs_parse(struct unc_regs **out, struct unc_yaml_file *file, struct unc_error *e);
void unc_regs_free(struct unc_regs *r);

/* Finds the devices, and makes a PMU of each instance. -ENODEV: there is none. */
int unc_regs_scan(struct unc_regs *r, const struct unc_root *root,
		  const struct unc_topology *topology, struct unc_pmus *out, struct unc_error *e);
void unc_regs_forget_devices(struct unc_regs *r);

/* Checks over all counters; regs-parse.c's. */
int unc_regs_check(const struct unc_regs *r, struct unc_error *e);
/* The first counter with a role, or NULL. */
const struct unc_regs_counter *unc_regs_role(const struct unc_regs *r, enum unc_regs_role role);

#endif
