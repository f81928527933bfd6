/* SPDX-License-Identifier: MIT */
/*
 * libuncore: counters outside the CPU cores, as quantities with a unit, a place and a quality.
 *
 * The way of the data: a machine (PMUs, sockets) and a catalogue (data files) are scanned once; a
 * monitor plans counters and reads them; each read fills a sample with rows.
 *
 * Contracts that hold everywhere:
 *  - int functions return 0 or a negative errno. Results go through the last argument, which is
 *    untouched on failure. uncore_error() then has the sentence for a person.
 *  - Error numbers have one meaning each:
 *      -EINVAL   the caller's text is wrong (event syntax, unknown term, value too wide, option)
 *      -ENODEV   this machine has no such PMU, or nothing that could count what was asked
 *      -ENOENT   a name that exists nowhere (metric, file, simulated machine)
 *      -EACCES   the kernel refuses for lack of permission
 *      -EBADMSG  a data file or a file below /sys has contents that cannot be right
 *      -EMFILE   out of file descriptors
 *      -EBUSY    the wrong moment: calls in another order than this header gives
 *      -ENOMEM   out of memory              others: as the kernel gave
 *  - Strings and const pointers returned are borrowed: valid until the object they came from is
 *    freed or, for anything taken from `struct uncore`, until the next uncore_scan(),
 *    uncore_set_root() or uncore_set_source().
 *  - Every *_free() accepts NULL.
 *  - One thread at a time per `struct uncore` and what was made from it; different ones are
 *    independent. The library has no global state, prints nothing, never exits, and does not touch
 *    signal handling or the caller's CPU affinity. Its reader threads block all signals.
 *  - Numbers are plain SI: bytes, seconds, hertz, ratio 0..1. A value that is not known is NaN and
 *    never 0.
 *
 * All functions: since 0.1.
 */
#ifndef UNCORE_H
#define UNCORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct uncore;         /* one machine: PMUs, places, the catalogue matched to them */
struct uncore_pmu;     /* one PMU of the machine; borrowed from it */
struct uncore_metric;  /* one formula of the catalogue; borrowed from the machine */
struct uncore_device;  /* one PCI device of the machine; borrowed from it */
struct uncore_monitor; /* counters planned and running; the caller's */
struct uncore_sample;  /* the rows of one interval; the caller's buffer */
struct uncore_latency; /* loads sampled by AMD's CPUs; the caller's */

#define UNCORE_CONFIG_WORDS 4 /* config, config1, config2, config3 of perf_event_attr */

/* The library's version, "0.1.0". Never NULL. */
const char *uncore_version(void);

/* ---- the machine ------------------------------------------------------------------------- */

/* A machine that still has to be scanned. Root "/", source "kernel". Fails only with -ENOMEM. */
int uncore_new(struct uncore **out);

/* Frees the machine. Monitors made from it must be freed before. */
void uncore_free(struct uncore *u);

/* Reads /sys and /proc below `path` from the next scan on: a directory, or the file of a snapshot, see
 * uncore-snapshot(1). With another root than "/" the kernel source plans but cannot open
 * counters. -ENOENT, -ENOTDIR: there is no such directory or file; -EINVAL: the file is no snapshot. */
int uncore_set_root(struct uncore *u, const char *path);

/* Chooses where counters come from: "kernel", or "sim:NAME" (built-in machine) or "sim:FILE.yaml",
 * optionally followed by ",step=DURATION": each reading is exactly that much later than the one
 * before, whatever the clock says, so that results repeat. A simulated machine brings its own root.
 * "regs:NAME" or "regs:FILE.yaml" reads the registers that a description names, optionally followed by
 * ",at=PATH" or ",at=PATH@OFFSET": where the block is.
 * -EINVAL: no such source. -ENOENT: no such simulation or block. -EBADMSG: its file is wrong. */
int uncore_set_source(struct uncore *u, const char *spec);

/* Lets the source "regs" write the control registers of its block: to freeze counters while they are
 * read, and to tell programmable ones what to count. All that was written is put back when the monitor
 * is freed. Not allowed by default. */
int uncore_set_program(struct uncore *u, bool allowed);

/* Adds a directory of data files (*.yaml); a family in it replaces the built-in one of the same
 * name. Read at the next scan. /etc/uncore/platforms.d is read before it when the root is "/" and
 * the directory exists. -ENOENT, -ENOTDIR: `dir` is no directory. */
int uncore_add_data(struct uncore *u, const char *dir);

/* Reads topology, PMUs and catalogue. May be called again after CPUs or PMUs have changed: what
 * was borrowed from the machine is then invalid. -EBUSY: a monitor exists. -EBADMSG: a broken data
 * file (the sentence has file:line:col). -ENOENT: no CPU below the root; is it one? A machine
 * without any PMU is not an error. After a failure the machine is empty. */
int uncore_scan(struct uncore *u);

/* A snapshot: all that uncore reads of the machine (paths, links, contents) as one text, for
 * uncore_set_root() on another machine, for a bug report or as a test; its format is
 * uncore-snapshot(1). Serial numbers, MAC addresses, and names of the host and its users are left out.
 * Scans the machine; a scan that fails does not fail the snapshot, which then has what was read.
 * *out: to be released with free(). -EBUSY: a monitor exists; -ENOMEM. */
int uncore_snapshot(struct uncore *u, char **out);

/* Why the last failing call on this machine, or on a monitor made from it, failed: one or more
 * sentences without a final newline: what failed, where, and what would mend it. "" when nothing
 * failed yet. Overwritten by the next failure. */
const char *uncore_error(const struct uncore *u);

/* The source as chosen, for example "kernel" or "sim:t410". */
const char *uncore_source(const struct uncore *u);

/* True when the values are invented: every output must then say SIMULATED. */
bool uncore_is_simulated(const struct uncore *u);

/* One logical CPU. Ids are the kernel's; -1 where the kernel does not say. */
struct uncore_cpu {
	int id;
	int socket; /* physical_package_id: any number, not an index */
	int die;
	int node; /* NUMA node */
	bool online;
};

/* CPUs present, ordered by id. `i` must be below the count. */
size_t uncore_cpu_count(const struct uncore *u);
const struct uncore_cpu *uncore_cpu_at(const struct uncore *u, size_t i);

/* Sockets: the different physical_package_id of online CPUs, ascending. */
size_t uncore_socket_count(const struct uncore *u);
int uncore_socket_at(const struct uncore *u, size_t i);

/* What the CPU says it is: "intel/6/143" (vendor/family/model), "amd/25/17", "arm/0x41/0xd0c"
 * (implementer/part); "unknown" when /proc/cpuinfo does not say. */
const char *uncore_cpu_model(const struct uncore *u);

/* The hypervisor this machine runs under ("KVM", "VMware", ... "an unknown hypervisor"), or NULL. */
const char *uncore_hypervisor(const struct uncore *u);

/* ---- PMUs -------------------------------------------------------------------------------- */

/* Every PMU of /sys/bus/event_source/devices, ordered by name with numbers in numeric order. */
size_t uncore_pmu_count(const struct uncore *u);
const struct uncore_pmu *uncore_pmu_at(const struct uncore *u, size_t i);

const char *uncore_pmu_name(const struct uncore_pmu *p);
uint32_t uncore_pmu_type(const struct uncore_pmu *p);     /* changes with each boot: never store */
const char *uncore_pmu_alias(const struct uncore_pmu *p); /* second name, or NULL */
const char *uncore_pmu_identifier(const struct uncore_pmu *p); /* hardware id, or NULL */
const char *uncore_pmu_family(const struct uncore_pmu *p);     /* catalogue family, or NULL */
const char *uncore_pmu_role(const struct uncore_pmu *p); /* what is at its other end, or NULL */
/* What one PMU of the family is for: "memory channel", "I/O stack", "link"; NULL: no family. */
const char *uncore_pmu_instance(const struct uncore_pmu *p);
/* True for a memory channel, a part of one, a memory controller, or where the mesh meets one. */
bool uncore_pmu_is_memory(const struct uncore_pmu *p);
/* Why nothing can be counted of it: its `type` or cpumask makes no sense. NULL: it is sound. */
const char *uncore_pmu_broken(const struct uncore_pmu *p);
/* True for PMUs of the cores (a `cpus` file) and for the kernel's software, tracepoint, breakpoint,
 * kprobe and uprobe PMUs: not what this library is about, but listed. */
bool uncore_pmu_is_core(const struct uncore_pmu *p);

/* The CPUs from which the PMU is counted: its `cpumask`, else `cpus`, else every online CPU. */
size_t uncore_pmu_cpu_count(const struct uncore_pmu *p);
int uncore_pmu_cpu_at(const struct uncore_pmu *p, size_t i);

/* One `format/` term. */
struct uncore_term {
	const char *name;
	const char *format; /* as in sysfs, "config:0-7,21" */
	int word;      /* 0..3: which configuration word; -1: the format text is not understood */
	uint64_t bits; /* the bits of that word it covers */
};

/* One alias of `events/`. */
struct uncore_alias {
	const char *name;
	const char *terms; /* as in sysfs, "event=0x04,umask=0x03"; "name=?" awaits a value */
	const char *unit;  /* of .unit, or NULL */
	double scale;      /* of .scale, else 1; NaN: that file makes no sense */
	bool per_package;  /* counts the whole package: read it once per package */
	bool snapshot;     /* the value is a state, not a count: no difference is taken */
};

/* One file of `caps/`. */
struct uncore_cap {
	const char *name;
	const char *value;
};

/* Terms, aliases and caps, each ordered by name; read from sysfs at the first call. A count is 0
 * when there are none, or when memory ran out (then uncore_error() says so). */
size_t uncore_pmu_term_count(const struct uncore_pmu *p);
const struct uncore_term *uncore_pmu_term_at(const struct uncore_pmu *p, size_t i);
size_t uncore_pmu_alias_count(const struct uncore_pmu *p);
const struct uncore_alias *uncore_pmu_alias_at(const struct uncore_pmu *p, size_t i);
size_t uncore_pmu_cap_count(const struct uncore_pmu *p);
const struct uncore_cap *uncore_pmu_cap_at(const struct uncore_pmu *p, size_t i);

/* ---- metrics ----------------------------------------------------------------------------- */

/* Every metric of the catalogue, those of families found on this machine first. A name may occur
 * once per family. */
size_t uncore_metric_count(const struct uncore *u);
const struct uncore_metric *uncore_metric_at(const struct uncore *u, size_t i);

const char *uncore_metric_name(const struct uncore_metric *m);     /* memory.read.bandwidth */
const char *uncore_metric_title(const struct uncore_metric *m);    /* DRAM read bandwidth */
const char *uncore_metric_unit(const struct uncore_metric *m);     /* B/s, Hz, s, ratio, W ... */
const char *uncore_metric_family(const struct uncore_metric *m);   /* intel-imc */
const char *uncore_metric_formula(const struct uncore_metric *m);  /* as valid on this machine */
const char *uncore_metric_evidence(const struct uncore_metric *m); /* source of the formula */
/* NULL when the metric can be planned here; else the sentence why not. */
const char *uncore_metric_missing(const struct uncore_metric *m);

/* One event a metric's formula names, as encoded on this machine. */
struct uncore_metric_event {
	const char *name;             /* in the formula */
	const char *title;            /* what it counts */
	const char *terms;            /* what is put between the slashes; NULL without a PMU */
	const char *evidence;         /* source of the encoding */
	const struct uncore_pmu *pmu; /* the first PMU that has it; NULL: none on this machine */
	size_t pmu_count;             /* how many have it */
	uint64_t config[UNCORE_CONFIG_WORDS]; /* on `pmu`; zero without one */
};

/* The events of a metric, in the order of its formula. 0: the family has no PMU here, or no formula for
 * this CPU model (uncore_metric_missing() has the reason), or out of memory. NULL: there is no event
 * number `i`. */
size_t uncore_metric_event_count(const struct uncore_metric *m);
const struct uncore_metric_event *uncore_metric_event_at(const struct uncore_metric *m, size_t i);

/* ---- devices: PCI, and which PMUs count what passes them ------------------------------------- */

struct uncore_device {
	const char *address;                 /* "0000:17:00.0": segment, bus, device, function */
	unsigned vendor, device, class_code; /* as PCI gives them; 0: unknown */
	const char *driver;                  /* bound to it; NULL: none */
	const char *names;                   /* the kernel's, "mlx5_0 eth0"; NULL: none */
	const struct uncore_device *parent;  /* the bridge above; NULL: on a root bus */
	const struct uncore_device *port;    /* the root port above, itself for a root port;
						       NULL: none, it is part of the chip */
	bool is_port, is_bridge;             /* root port; PCI bridge, root ports included */
	int node, socket;                    /* NUMA node, physical package; -1: unknown */
	double speed, max_speed;             /* of the link above (of a port: below), GT/s; NaN */
	unsigned width, max_width;           /* lanes; 0: no link, or unknown */
	double link_rate; /* B/s in each direction at `speed` and `width`, after the line code; NaN */
	double max_rate;          /* the same at `max_speed` and `max_width` */
	int rc_socket, rc, index; /* root ports: socket, root complex and port in the numbers of
				     the PMUs that count them; -1: they have none */
	const char *unknown;      /* root ports: why no PMU is known to count it; NULL */
};

/* PCI devices of the machine, ordered by address; read at the first of these calls after a scan.
 * Without root the kernel shows a part of config space only, so that some machines' root ports
 * cannot be matched to PMUs: `unknown` says so. 0: there are none, or memory ran out (then
 * uncore_error() says so). */
size_t uncore_device_count(const struct uncore *u);
const struct uncore_device *uncore_device_at(const struct uncore *u, size_t i);

/* Finds a device by its address ("0000:17:00.0", or "17:00.0" where that is the only one or in
 * segment 0) or by one of the kernel's names (nvme0, mlx5_0, eth0, card0). -ENOENT: there is none
 * (the sentence offers the nearest). -EINVAL: several segments have the address. */
int uncore_device_find(struct uncore *u, const char *name, const struct uncore_device **out);

/* Of a root port: the PMUs that count what passes it, ordered as PMUs are. */
size_t uncore_device_pmu_count(const struct uncore_device *d);
const struct uncore_pmu *uncore_device_pmu_at(const struct uncore_device *d, size_t i);

/* The other end of a link. */
struct uncore_peer {
	const char *text; /* in the kernel's words: "nr_gpu=2", "upi_1,die_1" */
	int socket;       /* -1: none, or not known */
};

/* What the kernel says of the other end of the link that a PMU counts from `cpu`; the catalogue's word
 * for it is uncore_pmu_role(). -ENODEV: nothing (the sentence says why). */
const struct uncore_peer *uncore_pmu_peer(struct uncore *u, const struct uncore_pmu *p, int cpu);

/* ---- ceilings: what cannot be exceeded ----------------------------------------------------- */

/* What the memory of one socket can move: channels x transfers x width. */
struct uncore_memory {
	size_t modules;   /* of the machine; 0: not known */
	double transfers; /* million per second, of the slowest module; NaN: not known */
	bool rated; /* which is what modules are made for: firmware does not say what they do */
	unsigned channels; /* with a module, of one socket; 0: not known */
	double peak;       /* bytes per second of one socket; NaN: not known */
	const char *from;  /* "SMBIOS", "udev" or "the user"; NULL: not known */
	const char *why;   /* NULL, or the reason why the peak is not known */
};

/* Of a scanned machine, by its firmware's table of memory modules (root only) or what udev has read
 * of it, at the first call after a scan. Never NULL. */
const struct uncore_memory *uncore_memory_get(struct uncore *u);

/* The peak of one socket, to be used instead; before or after a scan. -EINVAL: not above 0. */
int uncore_set_memory_peak(struct uncore *u, double bytes_per_second_per_socket);

/* ---- findings: what is here, what is missing, and what mends it ---------------------------- */

enum uncore_verdict {
	UNCORE_VERDICT_OK,      /* here and usable */
	UNCORE_VERDICT_DENIED,  /* here, but this user may not */
	UNCORE_VERDICT_MISSING, /* expected on this machine and not here */
	UNCORE_VERDICT_NOTE,    /* worth knowing */
};

struct uncore_finding {
	enum uncore_verdict verdict;
	const char *subject; /* PMU family or topic: "uncore_imc", "permission" */
	const char *found;   /* what is there: "8 PMUs, 1 socket" */
	const char *why;     /* reason; NULL when OK */
	const char *fix;     /* the one command or action that mends it, or NULL */
};

/* Examines the machine; findings are borrowed until the next call or scan. */
int uncore_diagnose(struct uncore *u);
size_t uncore_finding_count(const struct uncore *u);
const struct uncore_finding *uncore_finding_at(const struct uncore *u, size_t i);

/* ---- monitor: what to count, and counting it ---------------------------------------------- */

/* How far values are summed. */
enum uncore_level {
	UNCORE_LEVEL_MACHINE,  /* one row per metric or event */
	UNCORE_LEVEL_SOCKET,   /* one row per socket */
	UNCORE_LEVEL_INSTANCE, /* one row per PMU and CPU, nothing summed */
	UNCORE_LEVEL_PORT, /* one per PCIe root port where a PMU can tell them apart, else as above;
			      and an unavailable one per root port that no PMU counts */
};

/* A monitor of a scanned machine, with nothing in it. -EBUSY: not scanned. */
int uncore_monitor_new(struct uncore_monitor **out, struct uncore *u);
/* Stops and closes what runs. */
void uncore_monitor_free(struct uncore_monitor *m);

/* Default UNCORE_LEVEL_MACHINE. Before anything is added. */
int uncore_monitor_set_level(struct uncore_monitor *m, enum uncore_level level);

/*
 * Restricts the metrics added from now on; `value` NULL: no longer. Events are not restricted. What
 * words a family knows is in its data file. Words that commas separate are ORed.
 *   "from", "to"  who asks, and what is asked: cpu, device, remote ...; memory, gpu, cxl, remote ...
 *   "gpu"         GPUs by number
 *   "link"        the ports of a link: port0, port1
 *   "port"        PCIe root ports, by address or as PMUs number them: SOCKET:RC:INDEX; of those
 *                 that no PMU counts the rows say so
 *   "device"      one PCI device, as uncore_device_find() takes it: by the narrowest filter that
 *                 each family has, be it that of its root port (then a note says what else is
 *                 counted with it); not together with "port" or "address"
 *   "address"     ranges of memory: BASE/SIZE, a power of two and aligned (64K, 1G: powers of 1024)
 * -EINVAL, -ENOENT, -ENODEV: there is no such thing on this machine; the sentence says what there
 * is. Metrics that cannot be restricted so are -ENODEV when they are added; of several that a
 * pattern names, those are left out, with a note.
 */
int uncore_monitor_set_filter(struct uncore_monitor *m, const char *kind, const char *value);

/* Adds events in perf's syntax: "pmu/term=value,alias/modifier", lists, "{a,b}" groups, PMU globs
 * and suffix rule. Nothing is added on failure. -EINVAL, -ENODEV as above. */
int uncore_monitor_add_events(struct uncore_monitor *m, const char *text);

/* Adds every metric that can be planned here and matches a shell pattern ("memory.*"), or
 * "family/pattern". Patterns that begin with a wildcard do not match names "matrix.*". -ENOENT: no metric of the catalogue has such a name (the sentence offers the
 * nearest). -ENODEV: none of those that match can be counted here (the sentence says why). */
int uncore_monitor_add_metrics(struct uncore_monitor *m, const char *pattern);

/* One planned counter. */
struct uncore_counter {
	const char *event; /* what stands between the slashes */
	const struct uncore_pmu *pmu;
	uint64_t config[UNCORE_CONFIG_WORDS];
	int cpu;
	size_t group; /* counters with one number are read at one moment */
	bool leader;  /* first of its group */
};

/* The plan, ordered by CPU, PMU and group; once looked at, nothing more can be added (-EBUSY). It is
 * what uncore_monitor_open() will ask for; a group that the hardware cannot hold is split when
 * opened. -EINVAL (the count is then 0): the hardware
 * excludes what was asked together, by the rules of the family's data file. */
int uncore_monitor_plan(struct uncore_monitor *m);
size_t uncore_monitor_counter_count(const struct uncore_monitor *m);
const struct uncore_counter *uncore_monitor_counter_at(const struct uncore_monitor *m, size_t i);

/* Opens every planned counter, stopped; -EINVAL as above, before anything is opened. Needs one file
 * descriptor each: when they run out the process's soft limit RLIMIT_NOFILE is raised up to the hard one (the only process-wide setting
 * this library changes; a note says so). Counters that cannot be opened make their rows `partial`
 * or `unavailable`; it is an error only when nothing could be opened, when permission is lacking,
 * when descriptors run out, or when a "{}" group does not fit. Reader threads do not survive fork():
 * a child may neither read nor free the monitor. */
int uncore_monitor_open(struct uncore_monitor *m);

/* Starts counting, and takes the readings that the first interval is measured against. */
int uncore_monitor_start(struct uncore_monitor *m);

/* Reads all counters and fills `into` with the rows of the time since the previous read (or the
 * start). Allocates nothing after the first read into the same sample. */
int uncore_monitor_read(struct uncore_monitor *m, struct uncore_sample *into);

/* Fills `into` with the rows of the whole time from the start to the latest read; reads nothing. They
 * are the sums of the intervals: what an interval lacks, since a counter could not be read, the total
 * lacks, too, and is partial. */
int uncore_monitor_total(struct uncore_monitor *m, struct uncore_sample *into);

/* Stops counting, for good; one read afterwards gives the end of the last interval, a second one is
 * -EBUSY. Registers that were written are put back: a negative errno when one of them stays changed,
 * and the error says which. */
int uncore_monitor_stop(struct uncore_monitor *m);

/* Things worth telling the user that are no errors: a group that had to be split, an offline CPU, a
 * raised limit. Grow with add and open. */
size_t uncore_monitor_note_count(const struct uncore_monitor *m);
const char *uncore_monitor_note_at(const struct uncore_monitor *m, size_t i);

/* ---- sample: the rows of one interval ------------------------------------------------------ */

/* How good a value is, from best to worst: that of a sum is the greatest of its parts. */
enum uncore_quality {
	UNCORE_MEASURED,    /* counted during the whole interval by every instance */
	UNCORE_SCALED,      /* a counter was multiplexed: extrapolated by `coverage` */
	UNCORE_SAMPLED,     /* from a sample of the events that the hardware chose: latencies */
	UNCORE_PARTIAL,     /* some instances are missing from the sum: `reason` says which */
	UNCORE_SUSPECT,     /* counted, but not plausible: `reason` says why; `value` is NaN when
			       no counter is left after implausible ones were left out */
	UNCORE_UNAVAILABLE, /* no value; `value` is NaN and `reason` says why */
};

/* "measured", "scaled", ... */
const char *uncore_quality_name(enum uncore_quality quality);

/* The metric or event of a row. */
struct uncore_row_query {
	const char *name;   /* metric name, or event text as the user wrote it (or its name=) */
	const char *family; /* catalogue family of a metric; NULL for an event */
	const char *unit;   /* of a metric; of an event the kernel's .unit, or "": a plain count */
	const char *filter; /* "from=cpu to=memory"; NULL: not filtered */
};

/* The part of the machine that a row covers. */
struct uncore_row_place {
	int socket;                   /* -1: all sockets, or not known */
	int cpu;                      /* -1: summed over CPUs */
	const struct uncore_pmu *pmu; /* NULL: summed over PMUs */
	/* The PCIe root port. NULL: several, or not known. When only the numbers are known that PMUs
	 * have for it, its address is SOCKET:RC:INDEX. */
	const struct uncore_device *port;
	const char *role; /* the other end of the link: "GPU"; NULL: several, or not known */
};

/* What was counted for a row, and for how long. */
struct uncore_row_counted {
	size_t instances; /* planned counters of the row's first event */
	double coverage;  /* smallest running / enabled time of its counters, 0..1 */
	double seconds;   /* time its counters were enabled, the divisor of rates; NaN: unknown */
	/* Events only, else 0: */
	uint64_t count;                  /* increments as counted: not scaled, not extrapolated */
	uint64_t enabled_ns, running_ns; /* summed over instances, as perf does */
};

struct uncore_row {
	struct uncore_row_query query;
	struct uncore_row_place place;
	double value; /* NaN: no value. Event: count times the kernel's .scale */
	/* Bounds of the value where it is not known exactly, else NaN. A percentile of a histogram
	 * lies in one bin, between its first and its last whole cycle; `value` is the last. The last
	 * bin is open: `high` is NaN and `value` is the first cycle. A rate over the host's clock
	 * lies between the rates for the shortest and the longest possible time. */
	double low, high;
	double ceiling; /* the most that `value` can be, in B/s; NaN: not known */
	double rate;    /* events: value per second; NaN: a metric, a state, or time unknown */
	struct uncore_row_counted counted;
	enum uncore_quality quality;
	const char *reason; /* why the quality is not better; NULL: measured or scaled */
};

int uncore_sample_new(struct uncore_sample **out);
void uncore_sample_free(struct uncore_sample *s);

/* Rows in the order in which metrics and events were added, places ascending. A row is borrowed until
 * the next read into the sample, and until the monitor that filled it or its machine is freed. */
size_t uncore_sample_count(const struct uncore_sample *s);
const struct uncore_row *uncore_sample_row(const struct uncore_sample *s, size_t i);

/* Begin and end of the interval in nanoseconds: CLOCK_MONOTONIC, to measure how long it was, and
 * CLOCK_REALTIME (since 1970, UTC), to say when it was. Both belong to the same reading. In a simulation
 * with a step both are the same simulated time: the n-th reading of a monitor (from 0) is at n steps. */
uint64_t uncore_sample_begin_ns(const struct uncore_sample *s);
uint64_t uncore_sample_end_ns(const struct uncore_sample *s);
uint64_t uncore_sample_begin_wall_ns(const struct uncore_sample *s);
uint64_t uncore_sample_end_wall_ns(const struct uncore_sample *s);

/* ---- latency: loads that AMD's CPUs sample (IBS) -------------------------------------------- */

/*
 * Instruction-based sampling tags one op in a million on each CPU and says, of a load that missed the
 * core's first data cache, how long the data took and where they came from. What comes out is how
 * these sampled loads were distributed. It is NOT the average latency of memory: loads that hit,
 * stores, prefetches and what devices do are not in it. Latencies are in core clocks, whose frequency
 * is not sampled with them.
 */

#define UNCORE_LATENCY_BINS 112

/* The least latency of a bin; of the bin behind the last one what no latency reaches, 65536. A bin is
 * at most an eighth of its latency wide. The hardware's field ends at 65535, which stands for more. */
uint64_t uncore_latency_bin(size_t bin);

struct uncore_latency_row {
	const char *source;   /* what answered: "local memory", "L2 cache" */
	uint64_t samples;     /* never 0 */
	double mean;          /* core clocks */
	double p50, p90, p99; /* the greatest latency of the bin in which the share is reached */
	const uint64_t *bins; /* UNCORE_LATENCY_BINS: samples in each */
	enum uncore_quality quality; /* UNCORE_SAMPLED; UNCORE_PARTIAL: CPUs are missing */
	const char *reason;          /* NULL when sampled */
};

/* What the rows were made of, and what is missing from them. */
struct uncore_latency_counts {
	uint64_t samples;   /* ops */
	uint64_t loads;     /* of them */
	uint64_t used;      /* loads with a miss, long enough: those in rows */
	uint64_t unusable;  /* loads of which the hardware gives no latency: prefetches, uncached */
	uint64_t lost;      /* records for which there was no room: collect more often */
	uint64_t throttled; /* times the kernel held sampling back */
	uint64_t broken;    /* records that make no sense */
	double coverage; /* share of the time for which the hardware was ours; NaN of a recording */
};

/* Opens sampling on every CPU, stopped; needs the permissions of counting. Latencies below `least` (0:
 * none) core clocks are left out, by the hardware where it can (128 to 2048): Zen 5 then samples
 * only what missed the L3, too. -ENODEV: this CPU, or its kernel, has no IBS. -EOPNOTSUPP: the machine
 * is a directory or simulated. */
int uncore_latency_open(struct uncore_latency **out, struct uncore *u, unsigned least);
/* Takes the samples of a file instead: `perf record -a -e ibs_op// --raw-samples`, of any machine of
 * AMD. They are there at once. -EBADMSG: it is none. */
int uncore_latency_open_file(struct uncore_latency **out, struct uncore *u, const char *path,
			     unsigned least);
/* Before the machine is freed. */
void uncore_latency_free(struct uncore_latency *l);

int uncore_latency_start(struct uncore_latency *l);
/* Adds what was sampled since the last call to the rows: at least four times a second, or samples are
 * lost. Nothing of a file. */
int uncore_latency_collect(struct uncore_latency *l);
/* Empties the rows and counts: for the next interval. */
void uncore_latency_clear(struct uncore_latency *l);

/* From near to far. Borrowed until the next call on `l`. */
size_t uncore_latency_count(const struct uncore_latency *l);
const struct uncore_latency_row *uncore_latency_at(const struct uncore_latency *l, size_t i);
const struct uncore_latency_counts *uncore_latency_total(const struct uncore_latency *l);
/* What is particular of what is sampled here ("only loads that missed the L3"), or NULL. */
const char *uncore_latency_note(const struct uncore_latency *l);

#ifdef __cplusplus
}
#endif

#endif
