/* SPDX-License-Identifier: MIT */
/*
 * libuncore: counters outside the CPU cores, as quantities with a unit, a place and a quality.
 *
 * Order of use: uncore_scan() reads the machine (PMUs, sockets) and the catalogue (data files).
 * A monitor plans counters, opens them and reads them. Each read fills a sample with rows.
 *
 * Rules for all functions:
 *  - int functions return 0 or a negative errno, unless they return a number or an id. Results are
 *    stored through pointer arguments, which are unchanged on failure. uncore_error() then returns
 *    the reason as a sentence.
 *  - Error numbers have one meaning each:
 *      -EINVAL   wrong argument: event syntax, unknown term, value too wide, unknown option
 *      -ENODEV   this machine has no such PMU, or no PMU that can count the request
 *      -ENOENT   unknown name: metric, file, simulated machine
 *      -EACCES   the kernel refuses because of missing permission
 *      -EBADMSG  a data file or a file below /sys has invalid contents
 *      -EMFILE   out of file descriptors
 *      -EBUSY    wrong order of calls
 *      -ENOMEM   out of memory
 *    Other numbers are those of the failing system call.
 *  - Objects with a *_new() or *_open() function belong to the caller, who frees them. Every
 *    *_free() accepts NULL.
 *  - Strings and const pointers that functions return are borrowed: valid until the object that
 *    they came from is freed. If they came from `struct uncore`, they are also invalid after the
 *    next uncore_scan(), uncore_set_root() or uncore_set_source().
 *  - Later releases add members at the end of structs, and change nothing else in them. So the
 *    library makes the structs, and hands out pointers to single ones: their size is not for the
 *    caller, and there are no arrays of them. The one struct that callers make begins with its
 *    size.
 *  - Later releases add values at the end of enumerations, but none to uncore_quality, and never
 *    change the number of a value or of a constant. A caller accepts values that it does not know.
 *  - A *_count() function returns the number of elements, *_at() one of them by its index, from 0.
 *    The index must be below the count unless the function is documented to return NULL.
 *  - Only one thread at a time may use a `struct uncore` and the objects made from it. Different
 *    ones are independent. The library has no global state, prints nothing, never exits, and does
 *    not change signal handling or the caller's CPU affinity. Its reader threads block all
 *    signals.
 *  - Numbers are in SI units without prefix: bytes, seconds, hertz, ratio 0..1. Unknown values are
 *    NaN, never 0.
 *  - All functions exist since 0.1.
 */
#ifndef UNCORE_H
#define UNCORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct uncore;        /* one machine: PMUs, places, the catalogue matched to them */
struct uncore_pmu;    /* one PMU of the machine; borrowed from it */
struct uncore_metric; /* one formula of the catalogue; borrowed from the machine */
struct uncore_device; /* one PCI device of the machine; borrowed from it */
struct uncore_view;   /* one table of lines on a screen; borrowed from the machine */
struct uncore_row_query;
struct uncore_replay;  /* readings that the caller provides; owned by the caller */
struct uncore_monitor; /* a set of counters, planned and then running; owned by the caller */
struct uncore_sample;  /* the rows of one interval; owned by the caller */
struct uncore_groups;  /* groups of tasks that are counted; owned by the caller */
struct uncore_latency; /* loads sampled by AMD CPUs; owned by the caller */

/* config, config1, config2, config3 of perf_event_attr. A later word is a member of its own. */
#define UNCORE_CONFIG_WORDS 4

/* The library's version, "0.9.0". Never NULL. */
const char *uncore_version(void);

/* Reads a duration: a decimal number without sign or exponent, and directly after it ns, us, µs,
 * ms, s, min, h or d. A number without a unit is multiplied by `plain_ns`; 0: it needs a unit.
 * Rounds to nanoseconds. -EINVAL: it does not begin with a number. -EDOM: the unit is missing or
 * unknown. -ERANGE: over 10^18 ns. Sets no sentence. On failure *ns is untouched. Since 0.1. */
int uncore_duration_parse(const char *text, uint64_t plain_ns, uint64_t *ns);

/* ---- the machine ------------------------------------------------------------------- */

/* Makes a machine that is not scanned yet, with root "/" and source "kernel". -ENOMEM. */
int uncore_new(struct uncore **out);

/* Frees the machine. Its monitors and latencies must be freed before. */
void uncore_free(struct uncore *u);

/* Sets the root below which the next scan reads /sys and /proc: a directory, or a snapshot
 * file, see uncore-snapshot(1). With a root other than "/" counters can be planned, but the
 * kernel source cannot open them. -ENOENT, -ENOTDIR: no such directory or file. -EINVAL: the
 * file is not a snapshot, or the source is a simulation, which has its own root. -EBUSY: a
 * monitor exists. */
int uncore_set_root(struct uncore *u, const char *path);

/* Selects the source of counts:
 *   "kernel"                       perf_event_open(2), the default
 *   "resctrl"                      the groups of /sys/fs/resctrl below the root, which may be any
 *                                  directory. They are found by the scan, which fails with -ENODEV
 *                                  if there are none, and only read.
 *   "sim:NAME", "sim:FILE.yaml"    a simulated machine with its own root, built in or from a file.
 *                                  With ",step=DURATION" appended, each reading is one step later
 *                                  than the reading before: results are then reproducible.
 *   "regs:NAME", "regs:FILE.yaml"  registers, as a register block describes them. With ",at=PATH"
 *                                  or ",at=PATH@OFFSET" appended, the block is at that place.
 * -EINVAL: unknown source or option. -ENOENT: no such simulation or block. -EBADMSG: error in its
 * file. -EBUSY: a monitor exists. */
int uncore_set_source(struct uncore *u, const char *spec);

/* Takes readings from the caller, those of a recording, instead of those of the selected source.
 * The PMUs are found below the root, which is `replay->snapshot`, as they were when that source
 * counted. `replay` is copied; its context is used until another source is set or the machine is
 * freed. uncore_monitor_read() then fails with -ENODATA when there are no more readings. -EINVAL:
 * not a snapshot, a wrong `size`, or a member is set that this library does not know.
 * -EBUSY: a monitor exists. */
int uncore_set_replay(struct uncore *u, const struct uncore_replay *replay);

/* Allows the source "regs" to write: control registers of its block, to freeze counters while they
 * are read and to program their events, and counters in a plain file that are cleared when they
 * are read. Changed control registers are restored when the monitor is stopped or freed. Default:
 * nothing is written. -EBUSY: a monitor exists. */
int uncore_set_program(struct uncore *u, bool allowed);

/* Adds a directory of data files (*.yaml) for the next scan. A family in it replaces the built-in
 * family of the same name. If the root is "/" and /etc/uncore/platforms.d exists, the scan reads
 * that directory first. -ENOENT, -ENOTDIR: `dir` is not a directory. */
int uncore_add_data(struct uncore *u, const char *dir);

/* Reads topology, PMUs and catalogue. May be called again after CPUs or PMUs have changed. A
 * machine without PMUs is not an error. After a failure the machine is empty. -EBUSY: a monitor
 * exists. -EBADMSG: error in a data file, or a simulation's rate for an event that its machine
 * does not have, at the file:line:col of the sentence. -ENOENT: there is no CPU below the
 * root. */
int uncore_scan(struct uncore *u);

/* Replaces the library's vendor names of events for the scanned machine. `text` is in the format
 * of data/names, which tools/make-names describes. -EBUSY: a monitor exists. */
int uncore_set_vendor_events(struct uncore *u, const char *text);

/* Makes a snapshot: all files that uncore reads of this machine (paths, links, contents) as one
 * text, in the format of uncore-snapshot(1). Serial numbers, MAC addresses, and the names of the
 * host and its users are left out. Scans the machine as uncore_scan() does, which need not be
 * called again. If that scan fails, the snapshot has the files read so far and the reason, which
 * uncore_error() has, too; or an error if there are none. The caller releases *out with free().
 * -EBUSY: a monitor exists. -ENOMEM. */
int uncore_snapshot(struct uncore *u, char **out);
/* The same with what NVIDIA's library says of GPUs, which no file has: which counts they have, and
 * why not. Loads the library as uncore_monitor_open() does, which may take seconds. For files
 * that are read elsewhere; a recording does not need it. */
int uncore_snapshot_with_answers(struct uncore *u, char **out);
/* The same as uncore_snapshot(), with names as they are, also those made of a MAC address, as
 * enx0c42a1123456: counters that are kept beside it have these names. */
int uncore_snapshot_to_record(struct uncore *u, char **out);

/* The reason of the latest failure of a call on this machine or on a monitor made from it: one or
 * more sentences without a final newline that say what failed, where, and how to fix it. "" if no
 * call has failed. Valid until the next failure. */
const char *uncore_error(const struct uncore *u);

/* Whether the results of the functions that cannot fail (counts, or NULL for unknown) were
 * complete since the scan. 0: they were. -ENOMEM, -EMFILE, -ENFILE: memory or file descriptors ran
 * out, and something may be missing. */
int uncore_check(struct uncore *u);

/* The source as it was set, for example "kernel" or "sim:t410". */
const char *uncore_source(const struct uncore *u);

/* True if values are simulated. Every output must then be labelled SIMULATED. */
bool uncore_is_simulated(const struct uncore *u);

/* One logical CPU, with the kernel's ids; -1: the kernel gives none. */
struct uncore_cpu {
	int id;
	/* The number of its package, if all are below the number of sockets. Else sockets are
	 * numbered from 0 on, in the order of their CPUs. It does not depend on which CPUs are
	 * online. */
	int socket;
	int die;
	int node; /* NUMA node */
	bool online;
	int package; /* physical_package_id */
};

/* Present CPUs, ordered by id. */
size_t uncore_cpu_count(const struct uncore *u);
const struct uncore_cpu *uncore_cpu_at(const struct uncore *u, size_t i);

/* Sockets of online CPUs, ascending. */
size_t uncore_socket_count(const struct uncore *u);
int uncore_socket_at(const struct uncore *u, size_t i);

/* The CPU model: "intel/6/143" (vendor/family/model), "amd/25/17", "arm/0x41/0xd0c"
 * (implementer/part), "power/power9", "s390/8561", "riscv/0x489/0x8000000000000007"; "unknown" if
 * /proc/cpuinfo does not have it. */
const char *uncore_cpu_model(const struct uncore *u);
/* What the CPU calls itself, without marks and words that all have: "Intel Xeon Platinum 8480+".
 * NULL: unknown; Arm CPUs have no such name. */
const char *uncore_cpu_brand(const struct uncore *u);
/* The common name of the CPU model: "Sapphire Rapids", "Neoverse V2". NULL: unknown. */
const char *uncore_cpu_name(struct uncore *u);
/* The kernel's release, "7.2.12-amd64", and the version of the firmware (BIOS), "2.1.8"; NULL:
 * unknown. */
const char *uncore_kernel(const struct uncore *u);
const char *uncore_firmware(const struct uncore *u);
/* The stepping of an x86 CPU; -1 when not known. */
int uncore_cpu_stepping(const struct uncore *u);

/* The hypervisor of this virtual machine: "KVM", "VMware", "an unknown hypervisor"; NULL: none. */
const char *uncore_hypervisor(const struct uncore *u);

/* ---- PMUs -------------------------------------------------------------------------- */

/* All PMUs of /sys/bus/event_source/devices, ordered by name with numbers in numeric order. */
size_t uncore_pmu_count(const struct uncore *u);
const struct uncore_pmu *uncore_pmu_at(const struct uncore *u, size_t i);

const char *uncore_pmu_name(const struct uncore_pmu *p);
uint32_t uncore_pmu_type(const struct uncore_pmu *p);          /* differs after each boot */
const char *uncore_pmu_alias(const struct uncore_pmu *p);      /* second name, or NULL */
const char *uncore_pmu_identifier(const struct uncore_pmu *p); /* hardware id, or NULL */
const char *uncore_pmu_family(const struct uncore_pmu *p);     /* one with metrics, or NULL */
/* The other end of its link; of the source "resctrl" the group; or NULL. */
const char *uncore_pmu_role(const struct uncore_pmu *p);
/* The CPUs whose traffic it counts, a list such as "0-71"; NULL: the driver does not say. */
const char *uncore_pmu_associated_cpus(const struct uncore_pmu *p);
/* The kind of hardware unit: "memory channel", "I/O stack", "link"; NULL: no family. */
const char *uncore_pmu_instance(const struct uncore_pmu *p);
/* The same as a word that programs can compare, `place` of the data file: "channel" (of memory),
 * "subchannel", "controller" (of memory), "mesh-port" (between the mesh and the memory),
 * "package-controller" and "package-memory" (of memory in the package), "socket", "cluster" (of
 * cores), "slice" (of a cache), "cache", "agent", "fabric", "stack" (several root ports), "port"
 * (a root port), "link", "device", "power", "cpu" or "block". Later versions may add words.
 * NULL: no family. Static, never freed. Since 0.1. */
const char *uncore_pmu_place(const struct uncore_pmu *p);
/* Whether it is a device that counts itself, in files or by its vendor's library, and not a PMU of
 * the kernel. */
bool uncore_pmu_is_device(const struct uncore_pmu *p);
/* The PCI function of such a device, or of a PMU that counts only this function, such as that of a
 * GPU's driver. NULL: another PMU, or the device is not behind PCI. */
const struct uncore_device *uncore_pmu_device(const struct uncore *u, const struct uncore_pmu *p);
/* The directory of the files in which such a device counts, below the root:
 * "sys/class/nvme/nvme0". NULL: it counts in no files. */
const char *uncore_pmu_directory(const struct uncore_pmu *p);
/* True for memory channels, their parts, memory controllers, and the mesh stops of memory. */
bool uncore_pmu_is_memory(const struct uncore_pmu *p);
/* What this machine's kernel counts wrongly with the PMU, as a sentence: its rows are suspect.
 * NULL: nothing that is known. */
const char *uncore_pmu_kernel_bug(const struct uncore_pmu *p);
/* Why the PMU cannot be counted: its `type` or cpumask is invalid. NULL: it can. */
const char *uncore_pmu_broken(const struct uncore_pmu *p);
/* True for the PMUs of cores (they have a file `cpus`) and for the kernel's software,
 * tracepoint, breakpoint, kprobe and uprobe PMUs. They are listed, but the catalogue has no
 * metrics for them. */
bool uncore_pmu_is_core(const struct uncore_pmu *p);

/* What the kernel's driver of a PMU does that the PMU's files do not show. Facts are words of
 * uncore-data(5); "unknown" if its source does not answer. */
struct uncore_driver {
	const char *pmus;             /* globs of the PMUs it is for; NULL: all of the family */
	const char *counts;           /* what one PMU counts from one CPU: "channel", "die" */
	const char *cpu;              /* "near": the CPU of the cpumask is where the hardware is;
				         "reader": it only reads; "node": the same, but the
				         hardware is in the NUMA node of the PMU's device */
	const char *each;             /* CPUs of the mask in one of these read the same register */
	const char *without_hardware; /* whether PMUs may lack it: "never", "possible" */
	const char *number;           /* within what the number in the PMU's name is unique */
	const char *absent;           /* numbers of units that do not exist, "2 5"; NULL: none */
	const char *where;            /* only where one of these PMUs is there; NULL: everywhere */
	const char *unless;           /* they do if one of these PMUs is there; NULL: never */
	const char *evidence;
};

/* The facts about a PMU's driver; NULL: its family states none. */
const struct uncore_driver *uncore_pmu_driver(const struct uncore_pmu *p);
/* Why the hardware that the PMU stands for does not exist, as a sentence: it is not counted.
 * NULL: it exists, as far as is known. */
const char *uncore_pmu_absent(const struct uncore_pmu *p);

/* The socket of the hardware that the PMU counts from this CPU; -1: unknown, as it is where the
 * driver reads all hardware of the machine from one CPU. */
int uncore_pmu_socket(const struct uncore *u, const struct uncore_pmu *p, int cpu);

/* The CPUs from which the PMU is counted: its `cpumask`, else `cpus`, else all online CPUs. Of
 * CPUs that read the same register it is one. */
size_t uncore_pmu_cpu_count(const struct uncore_pmu *p);
int uncore_pmu_cpu_at(const struct uncore_pmu *p, size_t i);

/* One term of `format/`. */
struct uncore_term {
	const char *name;
	const char *format; /* as in sysfs, "config:0-7,21"; NULL: a term of the PMU's family */
	int word;           /* index of the configuration word, 0..3; -1: unknown format */
	uint64_t bits;      /* its bits in that word */
	const char *values; /* names that a term of the family takes, "RFO CRd"; or NULL */
};

/* One alias of `events/`; or an event of the PMU's family, where `events/` lacks its name. */
struct uncore_alias {
	const char *name;
	const char *terms; /* as in sysfs, "event=0x04,umask=0x03"; "name=?" needs a value */
	const char *unit;  /* of .unit, or NULL */
	double scale;      /* of .scale, else 1; NaN: that file is invalid */
	bool per_package;  /* counts the whole package: read once per package */
	bool snapshot;     /* a state and not a count: no difference is taken */
	/* For an event of the family; NULL for one of the driver's `events/`. */
	const char *title, *evidence;
	/* Where a device that counts itself has it, "stat, column 3" in its directory, or "NVML
	 * field 197"; NULL: a PMU of the kernel. */
	const char *where;
};

/* One file of `caps/`. */
struct uncore_cap {
	const char *name;
	const char *value;
};

/* Terms, aliases and caps, each ordered by name; aliases of the family follow the others. Read
 * from sysfs at the first call. A count is also 0 when out of memory, and uncore_error() then says
 * so. */
size_t uncore_pmu_term_count(const struct uncore_pmu *p);
const struct uncore_term *uncore_pmu_term_at(const struct uncore_pmu *p, size_t i);
size_t uncore_pmu_alias_count(const struct uncore_pmu *p);
const struct uncore_alias *uncore_pmu_alias_at(const struct uncore_pmu *p, size_t i);
/* Events under the names of the CPU's vendor (UNC_M_CAS_COUNT.RD), from the tables of perf for
 * this CPU model; they are not among the aliases. */
size_t uncore_pmu_vendor_event_count(const struct uncore_pmu *p);
const struct uncore_alias *uncore_pmu_vendor_event_at(const struct uncore_pmu *p, size_t i);
size_t uncore_pmu_cap_count(const struct uncore_pmu *p);
const struct uncore_cap *uncore_pmu_cap_at(const struct uncore_pmu *p, size_t i);

/* ---- metrics ----------------------------------------------------------------------- */

/* All metrics of the catalogue; those of families found on this machine come first. Several
 * families may have a metric of the same name. */
size_t uncore_metric_count(const struct uncore *u);
/* How many of them are of families found on this machine. Only these can be counted. It does not
 * read the files of the other families, which takes longer than the rest of a start. */
size_t uncore_metric_count_here(const struct uncore *u);
const struct uncore_metric *uncore_metric_at(const struct uncore *u, size_t i);

const char *uncore_metric_name(const struct uncore_metric *m);   /* memory.read.bandwidth */
const char *uncore_metric_title(const struct uncore_metric *m);  /* DRAM read bandwidth */
const char *uncore_metric_unit(const struct uncore_metric *m);   /* B/s, Hz, s, ratio, W ... */
const char *uncore_metric_family(const struct uncore_metric *m); /* intel-imc */
/* The formula for this CPU model, or "". For a percentile or a bin of a histogram, which are no
 * formulas: the bins with their bounds, and what the value is of them. */
const char *uncore_metric_formula(const struct uncore_metric *m);
const char *uncore_metric_evidence(const struct uncore_metric *m); /* source of the formula */
/* Whether devices count it themselves: uncore_pmu_is_device(). */
bool uncore_metric_is_of_device(const struct uncore_metric *m);
/* True when the pattern ("memory.*", or of one family "intel-imc/memory.*") matches its name or a
 * former name. */
bool uncore_metric_matches(const struct uncore_metric *m, const char *pattern);
/* Its place among the few metrics that a first look at a machine shows, from 1; 0: not one of
 * them. The headline metrics of a family fit into its counters together, where the hardware
 * allows it. */
unsigned uncore_metric_headline(const struct uncore_metric *m);
/* Whether the overview of a machine has it behind the headline metrics, such as power: it takes no
 * counters of theirs. */
bool uncore_metric_in_overview(const struct uncore_metric *m);
/* A count since the device's driver was loaded may be a finding if it is not 0: what it means, and
 * what can be done. NULL: no finding. */
const char *uncore_metric_finding_why(const struct uncore_metric *m);
const char *uncore_metric_finding_fix(const struct uncore_metric *m);
/* Where a metric counts what a CPU moves to or from memory of another socket. */
enum uncore_remote_data {
	UNCORE_REMOTE_BY_NAME,   /* memory.* where the memory is, link.out.* where it is sent */
	UNCORE_REMOTE_BOTH_ENDS, /* on the socket of the memory and on that of the CPU */
	UNCORE_REMOTE_NONE,      /* nowhere: only data of devices are counted */
};
enum uncore_remote_data uncore_metric_remote_data(const struct uncore_metric *m);
/* Why the metric cannot be counted on this machine; NULL: it can. */
const char *uncore_metric_missing(const struct uncore_metric *m);
/* What this machine's kernel counts wrongly for it, as a sentence: its rows are suspect.
 * NULL: nothing that is known. */
const char *uncore_metric_kernel_bug(const struct uncore_metric *m);
/* What this machine's kernel does wrong with its PMUs, or may do, without making rows suspect.
 * NULL: nothing that is known. */
const char *uncore_metric_kernel_note(const struct uncore_metric *m);
/* Why the formula may be wrong on this CPU model, as a sentence: its rows are suspect, unless the
 * counts settle it. NULL: it is certain. */
const char *uncore_metric_doubt(const struct uncore_metric *m);
/* The i-th metric whose value decides whether the doubt holds on this machine.
 * NULL: there are fewer. */
const char *uncore_metric_decider(const struct uncore_metric *m, size_t i);

/* The i-th entry of the facts about the driver of its PMUs that is for this CPU model; the first
 * whose `pmus` names a PMU is the one for it. NULL: there are fewer. */
const struct uncore_driver *uncore_metric_driver_at(const struct uncore_metric *m, size_t i);

/* An alternative meaning of a metric in doubt: the correct value is the formula's times `factor`.
 * 1: the formula is correct. */
struct uncore_alternative {
	double factor;
	const char *title; /* "64 bytes a CAS" */
	const char *evidence;
};
/* The i-th of them on this CPU model, borrowed from the metric. NULL: there are fewer. */
const struct uncore_alternative *uncore_metric_alternative_at(const struct uncore_metric *m,
							      size_t i);

/* One event of a metric's formula, encoded for this machine. */
struct uncore_metric_event {
	const char *name;             /* in the formula */
	const char *title;            /* what it counts */
	const char *terms;            /* the text between the slashes; NULL without a PMU */
	const char *evidence;         /* source of the encoding */
	const struct uncore_pmu *pmu; /* the first PMU that has it; NULL: no PMU of this machine */
	size_t pmu_count;             /* number of PMUs that have it */
	uint64_t config[UNCORE_CONFIG_WORDS]; /* encoded for `pmu`; 0 without a PMU */
	const char *where;                    /* as that of struct uncore_alias */
};

/* The events of a metric, in the order of its formula. The count is 0 if the family has no PMU on
 * this machine or no formula for this CPU model (uncore_metric_missing() returns the reason), or
 * when out of memory. *_at() returns NULL if `i` is not below the count. */
size_t uncore_metric_event_count(const struct uncore_metric *m);
const struct uncore_metric_event *uncore_metric_event_at(const struct uncore_metric *m, size_t i);

/* ---- devices: PCI, and the PMUs that count their traffic --------------------------- */

struct uncore_device {
	const char *address;                 /* "0000:17:00.0": segment, bus, device, function */
	unsigned vendor, device, class_code; /* of PCI config space; 0: unknown */
	const char *driver;                  /* its driver; NULL: not bound */
	const char *names;                   /* the kernel's, "mlx5_0 eth0"; NULL: no name */
	const struct uncore_device *parent;  /* the bridge above; NULL: on a root bus */
	/* The root port above, or the device itself; NULL: the device is part of the chip. */
	const struct uncore_device *port;
	bool is_port, is_bridge; /* root port; PCI bridge, includes root ports */
	int node, socket;        /* NUMA node, physical package; -1: unknown */
	/* The link above the device, of a root port the link below. Rates are for each direction
	 * and without the overhead of the line code. The maximum of a root port is what the port
	 * and the device directly below it can both do, that of a device is its own. */
	double speed, max_speed;    /* GT/s; NaN: unknown */
	unsigned width, max_width;  /* lanes; 0: no link, or unknown */
	double link_rate, max_rate; /* B/s now, and at `max_speed` and `max_width`; NaN: unknown */
	/* For a root port; else -1 and NULL: */
	int rc_socket, rc, index; /* the numbers its PMUs have for it; -1: no numbers */
	const char *unknown;      /* why its PMUs are not known; NULL: they are */
	const char *doubt;        /* why its PMUs and index may be wrong; NULL: no reason */
	/* The kernel's names of the devices below a root port, "mlx5_0 eth0, nvme0"; NULL: not a
	 * root port, or no name. */
	const char *below;
};

/* PCI devices of the machine, ordered by address. Read at the first of these calls after a
 * scan. The kernel shows only a part of config space to users other than root, so that root
 * ports of some machines cannot be matched to PMUs: `unknown` is then the reason. The count is
 * also 0 when out of memory, and uncore_error() then has the sentence. */
size_t uncore_device_count(const struct uncore *u);
const struct uncore_device *uncore_device_at(const struct uncore *u, size_t i);

/* Finds a device by its address ("0000:17:00.0", or "17:00.0" if that is unique or in segment
 * 0), by one of the kernel's names (nvme0, mlx5_0, eth0, card0), or by the name of a PMU that
 * counts this device alone (nvidia_gpu_0). -ENOENT: no such device; the sentence suggests
 * similar names, and lists devices that count themselves. -EINVAL: the address exists in several
 * segments. -EBUSY: not scanned. */
int uncore_device_find(struct uncore *u, const char *name, const struct uncore_device **out);

/* Reads the present speed and width of all links again: a link that is idle may be slow to save
 * power. A device that sleeps is not woken, and its link stays as it was. Ceilings of rows, which
 * are planned, do not change. */
void uncore_device_update_links(struct uncore *u);

/* Asks NVIDIA's library for the processes that use this GPU at present; the first call loads it in
 * another process, which may take seconds, and a later one takes 250 ms at most. A GPU that sleeps
 * is not woken, and has none. The number of processes. -ENODEV: no GPU of NVIDIA's driver, or the
 * library cannot be loaded; -EOPNOTSUPP: not the running machine; -ETIMEDOUT: there was no answer
 * in time; -EIO: the library failed, and is loaded again a minute later; -ENOMEM. */
int uncore_device_processes(struct uncore *u, const struct uncore_device *d);
/* One of the processes of the latest call: its id as the driver says it, which inside a container
 * may be that of the host. *memory: bytes of the GPU's memory now. *busy: share of the time in
 * which it ran on the GPU, 0 to 1: the mean of the driver's samples since the call before for this
 * GPU. NaN: unknown, and *why is the reason, a constant; NULL: both are known. */
int uncore_device_process_at(const struct uncore *u, size_t i, double *memory, double *busy,
			     const char **why);

/* Writes the data on this machine's root ports that only root can read to
 * /var/lib/uncore/root-buses.yaml below the root, where a scan by any user finds it; *file is
 * that path, a constant. Neither the directory nor the file may be a symbolic link. The file is
 * used only on a machine with the same CPU model and PCI bridges. -EACCES: not root; -ENODEV:
 * nothing to learn here; -EPERM: other users can write to the directory; -EROFS: the root is a
 * snapshot; or another errno of writing. */
int uncore_learn(struct uncore *u, const char **file);

/* The PMUs that count the traffic of a root port, in the order of PMUs. */
size_t uncore_device_pmu_count(const struct uncore_device *d);
const struct uncore_pmu *uncore_device_pmu_at(const struct uncore_device *d, size_t i);

/* The other end of a link. */
struct uncore_peer {
	const char *text; /* as in sysfs: "nr_gpu=2", "upi_1,die_1" */
	int socket;       /* -1: not a socket, or unknown */
};

/* The other end of the link that a PMU counts from `cpu`, as the kernel describes it. (The
 * catalogue describes it with uncore_pmu_role().) Valid until the next call of this function.
 * NULL: unknown; uncore_error() returns the reason. */
const struct uncore_peer *uncore_pmu_peer(struct uncore *u, const struct uncore_pmu *p, int cpu);

/* The speed of the link that a PMU counts from `cpu` in GT/s, from a register that root can read;
 * and why it is uncertain (`doubt` may be NULL; NULL in it: it is not). NaN: unknown;
 * uncore_error() returns the reason. */
double uncore_pmu_link_speed(struct uncore *u, const struct uncore_pmu *p, int cpu,
			     const char **doubt);

/* ---- words: common terms for names of the catalogue --------------------------------- */

/* `names` are shell patterns, `see` is the command that shows the subject; both may be NULL:
 * words without names, such as "the", select nothing. */
struct uncore_words {
	const char *words; /* "llc slc l3" */
	const char *names; /* "cache.* *.llc.*" */
	const char *see;   /* "uncore cache" */
};

/* The entry of a word, for a scanned machine. Case does not matter, nor does a '?', '!', ','
 * or '.' at its end. NULL: there is no such entry. */
const struct uncore_words *uncore_words_find(struct uncore *u, const char *word);

/* ---- views: which metrics stand beside each other on a screen ------------------------ */

/* The columns of a line. IN is what is read, or arrives; OUT what is written, or leaves. */
enum uncore_column {
	UNCORE_COLUMN_IN,
	UNCORE_COLUMN_OUT,
	UNCORE_COLUMN_TOTAL,
	UNCORE_COLUMN_SHARE, /* of a ceiling, where a metric counts the share itself */
	UNCORE_COLUMN_LATENCY,
	UNCORE_COLUMNS,         /* those of a picture */
	UNCORE_COLUMN_MORE = 5, /* the first column of tables alone */
	UNCORE_TABLE_COLUMNS = 14
};

/* The views of the catalogue, in the order in which they are shown. 0: out of memory. */
size_t uncore_view_count(struct uncore *u);
const struct uncore_view *uncore_view_at(const struct uncore *u, size_t i);
const char *uncore_view_name(const struct uncore_view *v);  /* "devices" */
const char *uncore_view_title(const struct uncore_view *v); /* "Devices" */
/* The screen that shows it: "pcie". NULL: only a table does, and a screen may have its metrics. */
const char *uncore_view_screen(const struct uncore_view *v);
/* The table that shows it: "latency", or that of its screen. */
const char *uncore_view_table(const struct uncore_view *v);
/* "TO DEVICE"; NULL: the view does not have this column. */
const char *uncore_view_column_title(const struct uncore_view *v, enum uncore_column column);
/* What a metric of the column SHARE is a share of, for a legend. NULL: there is no such metric. */
const char *uncore_view_column_about(const struct uncore_view *v, enum uncore_column column);

/* Where a screen shows a metric. If a place has several metrics of a column, the one with the
 * lowest *rank is shown. *number: 3 in "link.3.in.bandwidth", -1 without a number; each number has
 * a line of its own. -ENOENT: no view has the metric; -ENOMEM. */
int uncore_view_find(struct uncore *u, const char *metric, const struct uncore_view **view,
		     enum uncore_column *column, unsigned *rank, int *number);
/* The same for one view. False: it does not have the metric. */
bool uncore_view_has(const struct uncore_view *v, const char *metric, enum uncore_column *column,
		     unsigned *rank, int *number);

/* ---- memory: its peak bandwidth ---------------------------------------------------- */

/* The peak of one socket is channels x transfers x width. */
struct uncore_memory {
	size_t modules;    /* of the machine; 0: unknown */
	double transfers;  /* million per second, of the slowest module; NaN: unknown */
	bool rated;        /* `transfers` is the rated speed: the configured speed is unknown */
	unsigned channels; /* of one socket (hsmp: with or without a module); 0: unknown */
	double peak;       /* bytes per second of one socket; NaN: unknown */
	const char *from;  /* "SMBIOS", "udev", "hsmp, unit inferred", "the user" or NULL */
	const char *why;   /* why the peak is unknown; NULL: it is known */
	double used;       /* bytes per second of all sockets at that moment; NaN: unknown */
};

/* The memory of a scanned machine: from the firmware's table of memory modules (only root can read
 * it), from udev's copy of it, or from AMD's driver hsmp. Read at the first call after a scan.
 * Never NULL. */
const struct uncore_memory *uncore_memory_get(struct uncore *u);

/* Sets the peak of one socket, before or after a scan. -EINVAL: not above 0. -EBUSY: a monitor
 * exists. */
int uncore_set_memory_peak(struct uncore *u, double bytes_per_second_per_socket);

/* ---- findings: which counters are usable, and how to fix others -------------------- */

enum uncore_verdict {
	UNCORE_VERDICT_OK,      /* present and usable */
	UNCORE_VERDICT_DENIED,  /* present, but this user has no permission */
	UNCORE_VERDICT_MISSING, /* expected on this machine, but not present */
	UNCORE_VERDICT_NOTE,    /* information only */
};

struct uncore_finding {
	enum uncore_verdict verdict;
	const char *subject; /* PMU family or topic: "uncore_imc", "permission" */
	const char *found;   /* on this machine: "8 PMUs, 1 socket" */
	const char *why;     /* the reason; NULL if the verdict is OK */
	const char *fix;     /* the command or action that fixes it, or NULL */
};

/* Examines a scanned machine, or one whose scan failed: then that is a finding. Findings are
 * borrowed until the next call or scan. -ENOMEM. */
int uncore_diagnose(struct uncore *u);
size_t uncore_finding_count(const struct uncore *u);
const struct uncore_finding *uncore_finding_at(const struct uncore *u, size_t i);

/* ---- monitor: select, plan, open, start, read -------------------------------------- */

/* Aggregation: the instances that one row sums. */
enum uncore_level {
	UNCORE_LEVEL_MACHINE, /* one row per metric or event */
	UNCORE_LEVEL_SOCKET,  /* one row per socket */
	UNCORE_LEVEL_NODE, /* one row per NUMA node; an unavailable row per socket where it is not
			      known which of several nodes a PMU counts */
	UNCORE_LEVEL_INSTANCE, /* one row per PMU and CPU; unavailable if it cannot be counted */
	UNCORE_LEVEL_PORT,     /* one row per PCIe root port where the PMU counts ports separately,
			      else per PMU and CPU; an unavailable row per port without a PMU */
	UNCORE_LEVEL_CHANNEL,  /* one row per memory channel, or controller, where PMUs count them
				 separately, else per socket */
	UNCORE_LEVEL_PART,     /* one row per part of a PMU that can be counted separately; `port`
			      has its numbers, but no address: its root port may be unknown. For a
			      device one row per link; `role` has its number and its other end */
};

/* Makes an empty monitor of a scanned machine. -EBUSY: the machine is not scanned. -ENOMEM. */
int uncore_monitor_new(struct uncore_monitor **out, struct uncore *u);
/* Stops and closes the counters, and frees the monitor. */
void uncore_monitor_free(struct uncore_monitor *m);

/* Sets the aggregation of events and metrics that are added afterwards. The same ones may be added
 * at several levels: their equal counters are opened once. Default: UNCORE_LEVEL_MACHINE. -EBUSY:
 * the monitor is planned. */
int uncore_monitor_set_level(struct uncore_monitor *m, enum uncore_level level);

/* Also makes rows of this level, from the same counters and readings, until another level is set.
 * Rows of one metric or event are then ordered by level, in the order above; rows that two levels
 * share come once. -EINVAL: not a level. -EBUSY: the monitor is planned. */
int uncore_monitor_add_level(struct uncore_monitor *m, enum uncore_level level);

/* For a picture of the machine: metrics of views (uncore_view_find()) that are added afterwards
 * also have rows of the machine and each socket, memory channel and PMU, from the same counters.
 * Rows that the levels do not ask for are marked `extra`. With `by_port` metrics that are added
 * afterwards have only these rows, and those of root ports instead of their PMUs: a recording may
 * have the counters of ports only. -EBUSY: the monitor is planned. -ENOMEM. */
int uncore_monitor_set_extra_rows(struct uncore_monitor *m, bool by_port);

/*
 * Sets a filter for metrics that are added afterwards; NULL removes the filter. "socket" and
 * "node" apply to events, too, the others do not. Values separated by commas are ORed. The data
 * file of a family lists the values that it supports. What a filter leaves out is not opened.
 *   "from"     request source: cpu, device, remote ...
 *   "to"       request target: memory, gpu, cxl, remote ...
 *   "gpu"      GPUs, by number
 *   "link"     ports of a link: port0, port1
 *   "port"     PCIe root ports, by address or by the numbers of their PMUs: SOCKET:RC:INDEX. If no
 *              PMU counts one of them, the rows report it.
 *   "device"   PCI devices, by the names of uncore_device_find(), by vendor and device
 *              ("8086:1592"), by a shell pattern of any of these ("nvme*"), or all of a class:
 *              gpu, nic or nvme. Each family counts the smallest unit that contains a device, at
 *              most its root port; a note lists the other devices in that unit. Units are counted
 *              once, so that devices that share one are in one row. Devices that count themselves
 *              are counted if they are named; one without a PCI function by the name of its
 *              PMU. Not together with "port" or "address".
 *   "address"  memory ranges: BASE/SIZE, where SIZE is a power of two (64K, 1G: powers of 1024)
 *              and BASE a multiple of it
 *   "socket"   sockets, by number. A PMU whose socket is not known is left out, and its rows are
 *              partial.
 *   "node"     NUMA nodes, by number; the same
 * -EINVAL, -ENOENT, -ENODEV: unknown filter, or a value that this machine does not have; the
 * sentence lists the valid ones. -EBUSY: the monitor is planned.
 * A metric that does not support the filter is refused with -ENODEV when it is added. If a pattern
 * matches several metrics, unsupported ones are left out, with a note.
 */
int uncore_monitor_set_filter(struct uncore_monitor *m, const char *kind, const char *value);
/* Whether a filter of this kind only selects places: "socket" and "node", which apply to events,
 * too, and to metrics of all families. */
bool uncore_filter_is_of_places(const char *kind);

/* Adds events in the syntax of perf: "pmu/term=value,alias/modifier", lists, "{a,b}" groups, globs
 * of PMU names, and PMU names without their number. On failure no event is added. -EINVAL: syntax,
 * unknown term, value too wide. -ENODEV: no such PMU. -EBUSY: the monitor is planned. */
int uncore_monitor_add_events(struct uncore_monitor *m, const char *text);

/* Adds the metrics that match a shell pattern ("memory.*") or "family/pattern" and can be
 * counted on this machine. A pattern that begins with a wildcard does not match metrics
 * "matrix.*". -ENOENT: no metric of the catalogue matches; the sentence suggests similar names.
 * -ENODEV: no matching metric can be counted on this machine; the sentence has the reason.
 * -EBUSY: the monitor is planned. */
int uncore_monitor_add_metrics(struct uncore_monitor *m, const char *pattern);

/* One planned counter. */
struct uncore_counter {
	const char *event; /* the text between the slashes */
	const struct uncore_pmu *pmu;
	uint64_t config[UNCORE_CONFIG_WORDS];
	int cpu;
	size_t group; /* counters of one group are read at one moment, unless it is split */
	bool leader;  /* first of its group */
	size_t round; /* in which it is counted; 0: the first */
	/* The letters behind the event ("u", "k"), a bit for each. */
	uint32_t modifiers;
	bool strict;   /* its group must not be split: the events are in braces */
	bool snapshot; /* a state, not a count */
	/* Since uncore_monitor_open(): */
	unsigned width;    /* bits after which its raw count wraps */
	double most_per_s; /* it cannot count faster; 0: unknown */
	int error;         /* 0 or a negative errno: it could not be opened */
	const char *why;   /* the sentence for it; NULL */
	/* The bits of the hardware's register whose moves the driver adds to a count of 64 bits;
	 * 0: unknown. With `register_halves` the driver reads it in two halves of 32 bits, the
	 * lower one first. */
	unsigned register_bits;
	bool register_halves;
	/* Its count may be off by this share of it, since its source reads it in a cheap way; 0:
	 * it is exact. */
	double error_share;
	/* The other end of the link that it counts: "0000:02:00.0", "NVSwitch"; NULL: unknown. */
	const char *peer;
	/* A sentence on how its source reads it, if that is not the most exact way: a constant;
	 * NULL. */
	const char *way;
};

/* A reading of one counter: not scaled, not a difference, as a recording keeps it. */
struct uncore_reading {
	uint64_t raw, enabled_ns, running_ns;
	uint64_t at_ns;        /* when it was read, CLOCK_MONOTONIC or simulated; 0: unknown */
	uint64_t took_ns;      /* how long that took: at_ns is in the middle */
	uint64_t uncertain_ns; /* the times may be off by that */
	bool lost;             /* the read failed or the kernel gave the event up (end of file) */
	bool wrapped;          /* it may have overflowed since the reading before, unseen in raw */
	/* Why it is lost, why its times do not advance, with `wrapped`, why it has no count, or
	 * with `incomplete`, what it lacks; or NULL. */
	const char *why;
	/* What its readings so far have added to `raw` themselves, about; 0: nothing, or
	 * unknown. */
	uint64_t own;
	bool incomplete; /* it lacks a part since the reading before: the value is partial */
};

/* Counts metrics in rounds, one after another, when the PMUs have too few counters for all: the
 * kernel then need not multiplex them, and all events of a metric are in the same round. A sum
 * that alone needs more counters, or other values of a filter, than a PMU has at once is counted
 * in several, and so is a metric of several root ports: its row is in the sample of the last
 * one, with what was counted in the others, and the rounds as `reason`. By default all are
 * opened at once. Patterns such as "memory.*" that are added afterwards include metrics that
 * they otherwise leave out because the PMUs have too few counters. -EBUSY: the monitor is
 * planned. */
int uncore_monitor_set_rounds(struct uncore_monitor *m);

/* Counts devices in the way that costs least, where they have two, for programs that count all the
 * time. A GPU's PCIe bytes are then means of its firmware over about 0.1 s, with bounds, and not
 * exact counts, which need up to 5 % of a CPU for each GPU. -EBUSY: the monitor is planned.
 */
int uncore_monitor_set_cheap(struct uncore_monitor *m);

/* Plans the counters. Afterwards nothing can be added. Calling it again has no effect. -EINVAL:
 * nothing was added yet, or the hardware cannot count the events together, by the rules of a
 * data file. */
int uncore_monitor_plan(struct uncore_monitor *m);

/* 0 before uncore_monitor_plan(), else at least 1. Opening, reading and totals are those of the
 * current round, the first at the beginning. */
size_t uncore_monitor_round_count(const struct uncore_monitor *m);

/* Closes the counters, and goes on to the next round: 1, and it can be opened. 0: this was the
 * last, nothing has changed. -EBUSY: not planned. */
int uncore_monitor_next_round(struct uncore_monitor *m);

/* The rows that reads give, those of all rounds: what each is about, and the ceiling of its value,
 * so that what needs one can be checked before counting. NaN: it has none; with *why the peak of
 * memory would be its ceiling, and this is why that is unknown, else *why is NULL. 0 before
 * uncore_monitor_plan(); `i` is below the count. */
size_t uncore_monitor_row_count(const struct uncore_monitor *m);
const struct uncore_row_query *uncore_monitor_row_query_at(const struct uncore_monitor *m,
							   size_t i);
double uncore_monitor_row_ceiling_at(const struct uncore_monitor *m, size_t i, const char **why);

/* The plan, ordered by CPU, PMU and group; 0 before uncore_monitor_plan(). A group that does
 * not fit into the hardware is split when it is opened. *_at() returns NULL if `i` is not below
 * the count. */
size_t uncore_monitor_counter_count(const struct uncore_monitor *m);
const struct uncore_counter *uncore_monitor_counter_at(const struct uncore_monitor *m, size_t i);

/* The latest reading of a planned counter; borrowed until the next one. NULL: it has none, as the
 * monitor was not started, or the counter is not of the current round. */
const struct uncore_reading *uncore_monitor_reading_at(const struct uncore_monitor *m, size_t i);

/* Readings that the caller provides. The functions return 0, or a negative errno and in *why a
 * sentence that is valid until the next call. They get pointers to the library's structs. */
struct uncore_replay {
	size_t size;          /* sizeof(struct uncore_replay) */
	const char *name;     /* of the source, "replay:FILE" */
	const char *snapshot; /* the machine, as uncore_snapshot() wrote it */
	bool simulated;       /* the readings are those of a simulation */
	void *context;
	/* Begins with the first reading. Enters in each counter what is known since
	 * uncore_monitor_open() (width, most_per_s), or why it has no readings (error, why). */
	int (*open)(void *context, struct uncore_counter *const *counters, size_t n,
		    const char **why);
	/* The next reading of each counter, in the order of open(), with its times; all members
	 * are 0 before. 1: another reading follows before the interval ends. -ENODATA: there are
	 * no more. */
	int (*read)(void *context, struct uncore_reading *const *into, uint64_t *monotonic_ns,
		    uint64_t *wall_ns, const char **why);
	/* Whether there are readings of a PMU. NULL: not known. A simulation leaves out devices of
	 * its machine, and so does the scan then. */
	bool (*has)(void *context, const char *pmu);
};

/* Plans if that was not done, and opens all counters (of the current round), stopped. Each needs
 * a file descriptor. When they run out, the soft limit RLIMIT_NOFILE of the process is raised to
 * the hard one, with a note; the library changes no other process-wide setting. A counter that
 * cannot be opened makes its rows `partial` or `unavailable`. Opening fails if no counter can be
 * opened and there is only one round, without permission, when descriptors run out, or when a
 * "{}" group does not fit. After a failure it can be tried again. -EBUSY: the monitor is open.
 * Reader threads do not survive fork(): a child process may neither read nor free the monitor.
 * Counters of NVIDIA's GPUs are read by a process, uncore-nvml, which is not a child of the caller
 * after this call, and ends when the monitor is freed. For a moment there is a child, whose end
 * gives a SIGCHLD. */
int uncore_monitor_open(struct uncore_monitor *m);

/* Starts counting, and takes the first reading. -EBUSY: not open, or started before. */
int uncore_monitor_start(struct uncore_monitor *m);

/* Reads all counters, and fills `into` with the rows of the interval since the previous read or
 * the start. Only the first read into a sample allocates memory. -EBUSY: not started, or the
 * end was read already. */
int uncore_monitor_read(struct uncore_monitor *m, struct uncore_sample *into);

/* Makes each read also return the distribution of the values of its rows over short samples of the
 * interval, and the time for which they were at least `share` of the ceiling (of a ratio without
 * one: of 1). -EINVAL: the share is not above 0, or above 1. -EBUSY: the monitor is planned. */
int uncore_monitor_set_short_samples(struct uncore_monitor *m, double share);

/* Reads all counters, and ends a short sample, which began with the previous reading. A read also
 * ends one. Allocates nothing. A late call loses no counts: the sample is longer, and has more
 * weight. -EBUSY: not running, or short samples were not requested. */
int uncore_monitor_short_sample(struct uncore_monitor *m);

/* The values of the rows in the latest short sample, in the order of a sample's rows: NaN without
 * a value; for an event its rate. Returns their number (0: there was no short sample yet), and
 * sets its begin and end, in the time of uncore_sample_end_ns(). The monitor owns the values: they
 * are valid until the next reading. */
size_t uncore_monitor_short_values(const struct uncore_monitor *m, const double **values,
				   uint64_t *begin_ns, uint64_t *end_ns);

/* Fills `into` with the rows of the whole time from the start to the latest read, without a new
 * reading. -EBUSY: before the first read. */
int uncore_monitor_total(struct uncore_monitor *m, struct uncore_sample *into);

/* Reads all counters, and begins the next interval with this reading. Counts since the latest read
 * belong to no interval and no total; the total begins later by that time, so that its length is
 * that of its intervals. To leave out a part of a run: read, wait, resume.
 * -EBUSY: not running. */
int uncore_monitor_resume(struct uncore_monitor *m);

/* Stops counting for good, and restores changed registers. One more read then gives the last
 * interval; another one is -EBUSY. -EBUSY: not started. Other errors: a register could not be
 * restored (the sentence names it), or the last reading failed. */
int uncore_monitor_stop(struct uncore_monitor *m);

/* Notes for the user that are not errors: a group was split, a PMU was left out, a limit was
 * raised. Adding and opening append notes. */
size_t uncore_monitor_note_count(const struct uncore_monitor *m);
const char *uncore_monitor_note_at(const struct uncore_monitor *m, size_t i);

/* ---- sample: the rows of one interval ---------------------------------------------- */

/* The quality of a value, from best to worst. Of several qualities the greatest applies. */
enum uncore_quality {
	UNCORE_MEASURED,    /* counted during the whole interval on all instances */
	UNCORE_SCALED,      /* a counter was multiplexed: extrapolated by `coverage` */
	UNCORE_SAMPLED,     /* from some events, selected by the hardware: latencies */
	UNCORE_PARTIAL,     /* some instances are missing from the sum; `reason` says which */
	UNCORE_SUSPECT,     /* counted, but not plausible; `reason` says why. `value` is NaN if no
			       counter is left after implausible ones were left out */
	UNCORE_UNAVAILABLE, /* no value: `value` is NaN, and `reason` says why */
};

/* "measured", "scaled", ...; "unknown" for other numbers. */
const char *uncore_quality_name(enum uncore_quality quality);

/* The metric or event of a row. */
struct uncore_row_query {
	const char *name;   /* metric name, or event text as the user wrote it (or its name=) */
	const char *family; /* catalogue family of a metric; NULL: an event */
	const char *unit;   /* of an event the kernel's .unit; "": a plain count */
	const char *filter; /* "from=cpu to=memory"; NULL: not filtered */
	/* For what a device counts itself: the metric by which a root port counts the same
	 * traffic, "pcie.inbound.read.bandwidth"; NULL: none. */
	const char *at_port;
	/* Source, target and direction of traffic, "cpu.memory.read"; NULL: not known
	 * separately. For what a device counts itself, "gpu" is that device; a second cell
	 * behind a blank has at most the same traffic, "gpu.c2c.read c2c.gpu.write". */
	const char *cell;
	bool of_device; /* devices count it themselves: uncore_metric_is_of_device() */
};

/* The part of the machine that a row covers. */
struct uncore_row_place {
	int socket;                   /* -1: all sockets, or unknown */
	int node;                     /* NUMA node; -1: of another level, or unknown */
	int cpu;                      /* -1: summed over CPUs */
	const struct uncore_pmu *pmu; /* NULL: summed over PMUs */
	/* The PCIe root port; NULL: several, or unknown. If only the numbers used by its PMUs are
	 * known, its address is SOCKET:RC:INDEX. */
	const struct uncore_device *port;
	/* The other end of the link: "GPU"; or a link of a device, "link 3 to 0000:02:00.0" or
	 * "link 3"; or a group of resctrl. NULL: several, or unknown. */
	const char *role;
	/* The number of the memory channel or controller on its socket, from 0 on, at
	 * UNCORE_LEVEL_CHANNEL; else -1. uncore_pmu_place() says which of them it is. */
	int channel;
	/* The PCI function of a device that counts itself; NULL: the row is not of one such
	 * device, or the device is not behind PCI. */
	const struct uncore_device *device;
	/* The label of the tasks in the interval, for a group that uncore_groups_new() has made;
	 * "": it had none. NULL: another row. It changes at the next reading. */
	const char *tasks;
};

/* The counts behind a row, and their times. */
struct uncore_row_counted {
	size_t instances; /* planned counters of the row's first event */
	double coverage;  /* smallest running / enabled time of its counters, 0..1 */
	double seconds;   /* time its counters were enabled: the divisor of rates; NaN: unknown */
	/* Sums per second only, else NaN: what was counted in that time, in B for B/s. It is made
	 * of counts, each as it is. `value` is a sum of rates, each over the time of its counter:
	 * only where these are equal it is `amount` / `seconds`. */
	double amount;
	/* Events only, else 0: */
	uint64_t count;                  /* counted increments, neither scaled nor extrapolated */
	uint64_t enabled_ns, running_ns; /* summed over instances, as perf does */
};

struct uncore_row {
	/* Never NULL; borrowed as the row is. */
	const struct uncore_row_query *query;
	const struct uncore_row_place *place;
	const struct uncore_row_counted *counted;
	double value; /* NaN: no value. Of an event: count times the kernel's .scale */
	/* Bounds of a value that is not known exactly, else NaN. A percentile of a histogram
	 * lies in one bin, from its first to its last whole cycle, and `value` is the last one.
	 * The last bin is open: `high` is NaN, and `value` is the first cycle. Of other values
	 * the time may be uncertain by more than a thousandth: a rate lies between the rates for
	 * the longest and the shortest possible time, an event's count between the counts that
	 * the interval may have had, a ratio between the ratios that its counters, which are
	 * read one after another, would have had at one moment, if traffic was steady. An
	 * extrapolated value (`coverage` below 1) has no bounds. */
	double low, high;
	double ceiling; /* upper limit of `value`: in B/s; of a bin, all bins; NaN: unknown */
	double rate; /* events: value per second; NaN: a metric, a state, or the time is unknown */
	enum uncore_quality quality;
	/* Why the quality is not better. Measured or scaled: NULL, or the rounds in which parts of
	 * the row were counted. */
	const char *reason;
	size_t number; /* its place among the rows of all rounds */
	/* The divisor of a quotient, such as a latency or a hit ratio, in this interval: requests,
	 * cycles. The mean over intervals or places is the sum of value x weight over
	 * the sum of weight. NaN: not a quotient of counts, or no value. */
	double weight;
	bool extra; /* only uncore_monitor_set_extra_rows() asks for it */
};

/* An input of a value: the formula (uncore_metric_formula()) is evaluated with these values, and
 * the result is divided by the last one if that is another metric. The inputs of a percentile
 * are the bins. A value that is computed with the frequency of a register block's clock has the
 * counters of that clock's cycles as further inputs, which the formula does not need. */
struct uncore_input {
	const char *name; /* of the event in the formula, or of the other metric */
	double value;     /* NaN: not known. The count, extrapolated where the kernel multiplexed,
			     times the kernel's .scale */
	size_t counters;  /* with a value; 0: another metric */
	uint64_t count;   /* their counted increments, neither scaled nor extrapolated */
	uint64_t enabled_ns, running_ns; /* their times, summed */
};

/* The distribution of a row's values (of an event: its rates) in the short samples of the
 * interval. Each value is the mean over its sample, weighted by the length of the sample. A
 * percentile is accurate to 1.1 %; values below a millionth of the largest share one bin. NaN: no
 * sample has a value. */
struct uncore_distribution {
	uint64_t samples;           /* with a value */
	uint64_t suspect;           /* of them: suspect */
	uint64_t missing;           /* without a value */
	uint64_t longest_sample_ns; /* longer than requested: samples were merged */
	double mean, least, p50, p90, p99, most;
	double threshold;        /* share of the ceiling; NaN: there is no ceiling */
	uint64_t above_ns;       /* time at or above it */
	uint64_t burst_ns;       /* longest burst; 0: none. May begin before the interval */
	uint64_t burst_begin_ns; /* when it began, CLOCK_MONOTONIC or simulated */
	/* The histogram: element i has the samples with values above 2^((first_bin+i-1)/32), up to
	 * 2^((first_bin+i)/32), and the first one of UNCORE_BINS all smaller values above 0, too:
	 * the buckets of Prometheus' native histograms with schema 5. The samples of all bins and
	 * of 0 add up to `samples`; percentiles are shares of their length. Borrowed until the
	 * monitor's next reading: after uncore_monitor_read() the histogram of the interval, after
	 * uncore_monitor_total() that of the whole run. */
	int first_bin;
	size_t bin_count;               /* up to the last bin with a sample */
	const uint64_t *bins, *bins_ns; /* samples, and their length */
	uint64_t zero_samples, zero_ns; /* with 0 or less */
};

#define UNCORE_BINS 640 /* the most of a distribution */
#define UNCORE_BINS_PER_OCTAVE 32

/* Makes an empty sample, to be filled by reads of any monitor. -ENOMEM. */
int uncore_sample_new(struct uncore_sample **out);
void uncore_sample_free(struct uncore_sample *s);

/* Rows in the order in which metrics and events were added, then by place, ascending. A row is
 * borrowed until the next read into the sample, and until its monitor or machine is freed. */
size_t uncore_sample_count(const struct uncore_sample *s);
const struct uncore_row *uncore_sample_row(const struct uncore_sample *s, size_t i);
/* The distribution of the same row; borrowed like the row. NULL: short samples were not
 * requested. */
const struct uncore_distribution *uncore_sample_distribution(const struct uncore_sample *s,
							     size_t i);

/* The inputs of the same row, in the order of the formula's names; borrowed as it is. An event has
 * one. `seconds` in a formula is the row's counted->seconds. */
size_t uncore_sample_input_count(const struct uncore_sample *s, size_t i);
const struct uncore_input *uncore_sample_input_at(const struct uncore_sample *s, size_t i,
						  size_t input);

/* Begin and end of the interval in nanoseconds: CLOCK_MONOTONIC, for its length, and
 * CLOCK_REALTIME (UTC since 1970), for its date. Both belong to the same reading. In a
 * simulation with a step both are simulated time: reading number n of a monitor, from 0 on, is
 * at n x step. */
uint64_t uncore_sample_begin_ns(const struct uncore_sample *s);
uint64_t uncore_sample_end_ns(const struct uncore_sample *s);
uint64_t uncore_sample_begin_wall_ns(const struct uncore_sample *s);
uint64_t uncore_sample_end_wall_ns(const struct uncore_sample *s);

/* ---- groups: what tasks move between the last-level cache and memory ------------------ */

/*
 * The kernel's resctrl counts for groups of tasks. uncore_groups_new() makes such groups, into
 * which uncore_groups_assign() moves tasks, again and again: a group is a slot. Groups are counted
 * beside the PMUs, by the metrics group.*. They exist until they are freed. Tasks that are in
 * groups of others are never moved, and nothing but these groups and their lists of tasks is
 * written.
 */

/* Makes groups below /sys/fs/resctrl/mon_groups, "uncore-PID-NUMBER", at most `count`, and fewer
 * if the hardware has fewer ids, of which one is left for others, or fewer counters that the
 * kernel assigns. Groups of that name whose process has ended are removed before. The machine must
 * be scanned afterwards, also if it was before: the scan then finds all groups, those of others,
 * too. They must be freed before the machine.
 * -ENODEV: resctrl is not mounted, or cannot monitor. -EOPNOTSUPP: this CPU cannot; or the source
 * is not the kernel. -EACCES, -EPERM: no permission. -EROFS: it is mounted read-only, or the root
 * is a snapshot. -ENOSPC: no id or no counter is left. -EBUSY: ids of removed groups are not free
 * yet, which takes the kernel a second or more; or another program changes groups; or a monitor or
 * groups of this machine exist. -ENOMEM. */
int uncore_groups_new(struct uncore_groups **out, struct uncore *u, size_t count);
/* Makes the groups that uncore_groups_new() could not make, since ids of removed groups were not
 * free yet. Before the scan. Returns how many are still missing, or its error. */
int uncore_groups_grow(struct uncore_groups *g);
/* Why there are fewer than were asked for; NULL: there are not. */
const char *uncore_groups_limit(const struct uncore_groups *g);
/* Removes the groups, whose tasks go back to the default group, and frees the object. Monitors of
 * the machine must be freed before. Groups that cannot be removed stay. */
void uncore_groups_free(struct uncore_groups *g);

size_t uncore_groups_count(const struct uncore_groups *g);
/* Its directory's name, which is also the role of its rows, after a slash. */
const char *uncore_groups_name(const struct uncore_groups *g, size_t i);

/* Reads which tasks are in groups of others, for the next two functions. An error, with a
 * sentence, if the list of a group that exists cannot be read: tasks should not be moved then.
 * -ENOMEM. */
int uncore_groups_look(struct uncore_groups *g);
/* The group of others that the task was in, "web" or "/batch"; NULL: none. */
const char *uncore_groups_other(const struct uncore_groups *g, int task);
/* Whether others have made or removed groups since the scan. The machine must be scanned again,
 * and a new monitor planned, to count the groups that there are now. */
bool uncore_groups_changed(const struct uncore_groups *g);

/* Gives the group to these tasks (ids of threads). With the label that it has, they are added to
 * those which are in it: threads and children of its tasks are born there. Another label means
 * another owner, and what else is in the group goes back to the default group; "" means none, and
 * the group is not read. Tasks that have ended, and tasks that are in groups of others at that
 * moment, are left out. The label is in the rows from the next reading on. Returns how many tasks
 * were moved into it: 0 when all that there are were in it. Rows say how many of the tasks may not
 * be moved. A group that another program has removed is made again. -EACCES, -EPERM: the list of
 * tasks may not be written. -EINVAL: there is no such group, or the label has more than 8191
 * bytes. -ENOENT: the group cannot be made again yet, but perhaps by a later call. */
int uncore_groups_assign(struct uncore_groups *g, size_t i, const int *tasks, size_t count,
			 const char *label);
/* The tasks that are in the group, ascending, which the caller frees. Returns their number. */
int uncore_groups_tasks(struct uncore_groups *g, size_t i, int **tasks);
/* Whether the task is in the group now. */
bool uncore_groups_has(const struct uncore_groups *g, size_t i, int task);
/* Moves those of the tasks that are still in the group back to the default group. Its row is
 * suspect if some may not be moved, until a later call, which may be without tasks. Returns how
 * many were moved, or an error of uncore_groups_assign(). */
int uncore_groups_release(struct uncore_groups *g, size_t i, const int *tasks, size_t count);

/* Begins the interval of groups that got other owners since the latest reading: without this call,
 * it has what the former owners moved until then. Their rows are rates over their own, shorter
 * time. -EBUSY: the monitor is not running. */
int uncore_monitor_begin_groups(struct uncore_monitor *m);

/* Finds groups of this name whose process has ended, and removes them unless `dry`. Calls `found`
 * for each, if it is not NULL. Returns their number, or an error of uncore_groups_new(). */
int uncore_groups_clean(struct uncore *u, bool dry, void (*found)(void *context, const char *name),
			void *context);
/* How many uncore_groups_new() could make now; else its error. Nothing is written. */
int uncore_groups_most(struct uncore *u, size_t *most);

/* ---- latency: loads sampled by AMD CPUs (IBS) or Arm CPUs (SPE) --------------------- */

/*
 * Instruction-based sampling, or Arm's statistical profiling, tags one op in a million on a CPU.
 * For a load that missed the core's first data cache it reports the latency and the data source.
 * The result is the distribution of these sampled loads. It is NOT the average memory latency:
 * hits, stores, prefetches and device accesses are not in it. Latencies are in core clocks; the
 * clock frequency is not sampled.
 */

#define UNCORE_LATENCY_BINS 112

/* The smallest latency of a bin, in core clocks; for UNCORE_LATENCY_BINS the end of the last
 * bin, 65536. The width of a bin is at most an eighth of its latency. The hardware's largest
 * value, 65535, also stands for longer latencies. */
uint64_t uncore_latency_bin(size_t bin);

struct uncore_latency_row {
	const char *source;          /* of the data: "local memory", "L2 cache" */
	uint64_t samples;            /* never 0 */
	double mean;                 /* core clocks */
	double p50, p90, p99;        /* core clocks: the largest latency of the percentile's bin */
	const uint64_t *bins;        /* UNCORE_LATENCY_BINS numbers of samples */
	enum uncore_quality quality; /* UNCORE_SAMPLED; UNCORE_PARTIAL: some are missing */
	const char *reason;          /* NULL: sampled */
};

/* Numbers of all samples, used or not. */
struct uncore_latency_counts {
	uint64_t samples;   /* ops */
	uint64_t loads;     /* of these ops */
	uint64_t used;      /* loads in the rows: with a miss, and not shorter than `least` */
	uint64_t unusable;  /* loads without a latency: prefetches, uncached loads */
	uint64_t lost;      /* records lost because a buffer was full: collect more often */
	uint64_t throttled; /* times the kernel throttled sampling */
	uint64_t broken;    /* invalid records */
	double coverage;    /* share of the time with sampling on the hardware; NaN: a recording */
	uint64_t memory;    /* loads from memory, whatever `from` is */
};

/* Opens sampling on all CPUs, stopped. Needs the same permissions as counting. Latencies below
 * `least` core clocks (0: no limit) are left out, by the hardware if it can (128 to 2048; Zen 5
 * then samples only loads that missed the L3; SPE: up to 4095). -EINVAL: `least` is above 65535.
 * -ENODEV: the CPU or the kernel has neither IBS nor SPE. -EOPNOTSUPP: the root is not "/", or
 * the source is a simulation. -EBUSY: not scanned. */
int uncore_latency_open(struct uncore_latency **out, struct uncore *u, unsigned least);
/* Reads the samples of a file instead: `perf record -a -e ibs_op// --raw-samples`, from any AMD
 * machine, or `perf record -a -e arm_spe_0/load_filter=1,ts_enable=1/`. The rows are complete
 * afterwards. -EBADMSG: not such a file. Others as above. */
int uncore_latency_open_file(struct uncore_latency **out, struct uncore *u, const char *path,
			     unsigned least);

/* What sampled loads are summed by, beside the sources of their data. */
enum uncore_latency_by {
	UNCORE_LATENCY_BY_SOURCE,  /* nothing else */
	UNCORE_LATENCY_BY_PROCESS, /* its number and its name at that time */
	UNCORE_LATENCY_BY_THREAD,
	UNCORE_LATENCY_BY_SYMBOL, /* the function of the load, by processes of one name */
	UNCORE_LATENCY_BY_ADDRESS /* the data's page of 4 KiB, by process */
};

/* Kinds of sources, which may be added. */
#define UNCORE_LATENCY_FROM_CACHE 1
#define UNCORE_LATENCY_FROM_LOCAL 2     /* memory of the same NUMA node */
#define UNCORE_LATENCY_FROM_REMOTE 4    /* of another node */
#define UNCORE_LATENCY_FROM_EXTENSION 8 /* CXL */
#define UNCORE_LATENCY_FROM_MEMORY 14   /* the last three */

/* As uncore_latency_open(), or with `path` as uncore_latency_open_file(). Loads are also summed by
 * a key, and only loads whose data came `from` these sources (0: any) are counted. A recording
 * needs the fields of the key, which perf records by default. -EINVAL: no such `by` or `from`. */
int uncore_latency_open_by(struct uncore_latency **out, struct uncore *u, const char *path,
			   unsigned least, enum uncore_latency_by by, unsigned from);

/* The loads of one key. */
struct uncore_latency_key {
	int rest;            /* not 0: all other keys, and loads whose key is not known */
	int pid, tid;        /* -1: not of this key */
	const char *process; /* the name of the process, or of the thread; "": not known */
	const char *object;  /* the file, "[kernel]" ...; NULL: not of this key, or not known */
	const char *symbol;  /* as the object has it; NULL: see `offset` */
	uint64_t offset;     /* the place in the object, of the symbol or the instruction */
	uint64_t page;       /* its address; 0: not of this key */
	int node;            /* NUMA node of the page; -1: not known */
	uint64_t samples;
	uint64_t local, remote, extension; /* of them from memory of this kind */
	double mean, p99;                  /* core clocks, as in rows */
	const char *source;                /* of most of the samples */
	enum uncore_quality quality;
	const char *reason; /* NULL: sampled */
};

/* Sorts the keys by their samples, and keeps the `most` (0: all) largest ones. One that is the
 * rest follows if there is any. The number of keys, or -ENOMEM. */
int uncore_latency_keys(struct uncore_latency *l, size_t most);
/* Borrowed until the next call for `l`. */
const struct uncore_latency_key *uncore_latency_key_at(const struct uncore_latency *l, size_t i);

/* Must be called before the machine is freed. */
void uncore_latency_free(struct uncore_latency *l);

/* Starts sampling. No effect on a file. */
int uncore_latency_start(struct uncore_latency *l);
/* Adds the samples since the previous call to the rows. Call it at least four times a second, else
 * samples are lost. No effect on a file. */
int uncore_latency_collect(struct uncore_latency *l);
/* Empties rows and counts, for the next interval. */
void uncore_latency_clear(struct uncore_latency *l);

/* Rows from near to far data sources, and the counts. Borrowed until the next call for `l`. */
size_t uncore_latency_count(const struct uncore_latency *l);
const struct uncore_latency_row *uncore_latency_at(const struct uncore_latency *l, size_t i);
const struct uncore_latency_counts *uncore_latency_total(const struct uncore_latency *l);
/* Which hardware sampled: "ibs" or "spe". */
const char *uncore_latency_hardware(const struct uncore_latency *l);
/* What the latencies are ("core clocks from ..."). */
const char *uncore_latency_about(const struct uncore_latency *l);
/* A remark on the selection of samples ("only loads that missed the L3"), or NULL. */
const char *uncore_latency_note(const struct uncore_latency *l);

#ifdef __cplusplus
}
#endif

#endif
