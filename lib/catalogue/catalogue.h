/* SPDX-License-Identifier: MIT */
/* Families of PMUs, with their events and metrics, from one data file each, for one CPU model. And
 * the catalogue: all families, matched to the PMUs of a machine. */
#ifndef UNC_CATALOGUE_H
#define UNC_CATALOGUE_H

#include "base/formula.h"
#include "machine/pmu.h"

/* The limit of a metric's rows. */
enum unc_ceiling {
	UNC_CEILING_NONE,
	UNC_CEILING_MEMORY, /* the DRAM of the row's place */
	UNC_CEILING_PORT,   /* the PCIe link of the row's root port, in one direction */
	UNC_CEILING_LINK,   /* the PCIe link of the row's device, in one direction */
};

/* The most events of one formula, so that evaluation needs no allocation: the bins of a histogram,
 * and counters of clock cycles. */
#define UNC_METRIC_EVENTS (UNC_HISTOGRAM_BINS + 4)

/* What is added up over PMUs: the counts of each event, before the formula is evaluated, or the
 * values of the formula. A value is not the same if the formula is no sum of counts. */
enum unc_addition { UNC_ADD_UNSAID, UNC_ADD_COUNTS, UNC_ADD_VALUES };

struct uncore_metric {
	bool other_model; /* its formula has no case for this CPU model */
	const struct unc_family *family;
	const char *name, *title, *unit, *evidence;
	const char *formerly; /* its earlier names, separated by blanks; NULL: none */
	enum unc_ceiling ceiling;
	enum unc_addition add;
	enum uncore_remote_data remote_data;
	/* The metric by which a root port counts this traffic of a device; NULL: none. */
	const char *at_port;
	/* Source, target and direction, "gpu.pcie.read"; others that share its bytes follow it
	 * behind blanks; NULL: not known. Of a metric "matrix.*" it is the rest of the name. */
	const char *cell;
	unsigned headline; /* its place in the overview; 0: not in it */
	bool overview;     /* it is in the overview behind the headline metrics */
	struct unc_metric_finding {
		const char *why, *fix;
	} finding;            /* of a count that is not 0; NULL: no finding */
	const char *separate; /* why "memory.*" does not include it; NULL: it is included */
	const char *doubt;    /* why its rows are suspect, as a sentence; NULL: they are not */
	/* Rows are not suspect if this is not 0; NULL: they always are. */
	struct unc_formula *unless;
	bool each_pmu; /* `unless` must hold for each PMU alone, too */
	bool withheld; /* rows with the doubt have no value instead of a suspect one */
	const struct uncore_alternative *alternatives; /* for a metric with a doubt */
	size_t alternative_count;
	const char *otherwise; /* why other CPU models have no formula; NULL: unknown */
	const char *text;      /* the formula, or what replaces it; NULL: none for this CPU model */
	struct unc_formula *formula;
	const char *over; /* the metric by which its value is divided; NULL: none */
	const struct unc_event_def **events;   /* one for each name of the formula, in this order */
	const struct unc_histogram *histogram; /* if its events are the bins of a histogram */
	/* The percentile of the bins: 990 is p99; 0: it is one bin. */
	unsigned per_mille;
	size_t bin; /* the index of this bin */
	/* Frequency of the cycles from which its time is computed; 0: the host's time. */
	double clock_hz;
	uint64_t clock_events;             /* a bit for each of `events` that counts such cycles */
	bool checked;                      /* `missing` is set */
	char *missing;                     /* why it cannot be planned here; NULL: it can */
	struct uncore_metric_event *shown; /* `events` for the API, made at first use */
};

/* Machines on which PMUs of the family are expected. */
struct unc_expectation {
	bool other_model; /* its `models` do not list this machine's CPU */
	bool on_this_cpu; /* its `models` list this machine's CPU */
	/* A glob below the root; a match shows that the hardware exists; or NULL. */
	const char *path;
	const char *flag;   /* an x86 CPU flag; without it the driver registers no PMU; or NULL */
	const char *module; /* the kernel module that registers the PMUs */
	const char *since;  /* first kernel version that has the driver, or NULL */
};

/* Properties by which events are filtered, in the order in which filters are written. */
enum unc_filter_kind {
	UNC_FILTER_FROM,
	UNC_FILTER_TO,
	UNC_FILTER_GPU,
	UNC_FILTER_LINK,
	UNC_FILTER_PORT,
	UNC_FILTER_DEVICE,
	UNC_FILTER_ADDRESS,
	UNC_FILTERS, /* of data files; the others select places */
	UNC_FILTER_SOCKET = UNC_FILTERS,
	UNC_FILTER_NODE,
	UNC_FILTER_KINDS,
};

/* The words of a kind in data files. count/filters.c checks its values; count/split.c applies it to
 * targets. */
extern const struct unc_filter_word {
	const char *name;   /* "from" ... "node" */
	const char *braces; /* words of its terms; NULL: the kind has values instead of terms */
	bool picks;         /* it also selects PMUs; their family needs no filter for that */
} unc_filter_words[UNC_FILTER_KINDS];

struct unc_filter {
	const char *title; /* NULL: the family has no such filter */
	const char *terms; /* "src_bdf={bdf},src_bdf_en=0x1"; NULL: one of `values` */
	/* GPU: "nr_gpu", a value whose number is in the role's file; or NULL. */
	const char *count;
	struct unc_word *values; /* "cpu", "src_loc_cpu=0x1" */
	size_t value_count;
};

/* How to find the root ports that a PMU counts. */
enum unc_port_kind {
	UNC_PORTS_DVSEC,     /* root ports name the PMU in a capability of their own */
	UNC_PORTS_ATTRIBUTE, /* a file of the PMU names the root bus */
	UNC_PORTS_CONFIG,    /* registers in config space name the root buses of all stacks */
	UNC_PORTS_NAME,      /* the PMU's name holds the root port's address */
	UNC_PORTS_RANGE,     /* files of the PMU have the first and the last address */
	UNC_PORTS_SOCKET,    /* all root ports of its socket */
	UNC_PORTS_UNKNOWN,   /* unknown: `why` has the reason */
};

/* Device numbers from `first` on have the indices `part`, `part` + 1 ...; `count` 0: no indices. */
struct unc_port_numbers {
	unsigned first, count, part;
};

/* The devices whose config space names root buses, and the offsets of their registers. */
struct unc_bus_registers {
	unsigned sad;   /* bits 3:0 are the package, bits 6:4 the number of the stack */
	unsigned valid; /* a bit for each CPU bus; 0: a device names only its own bus */
	unsigned buses,
		upper_buses; /* 16 bytes each: the numbers of CPU buses 0 to 15, and from 16 */
	struct {
		unsigned id, offset; /* id 0: there is only one kind of die */
		uint64_t bits;
	} kind;
};

/* An I/O stack of one CPU model. */
struct unc_stack {
	unsigned bus, unit; /* the number of its CPU bus, and the number in its PMU's name */
	uint64_t kinds;     /* kinds of dies that have it, a bit for each; 0: all */
	struct unc_port_numbers numbers; /* count 0: those of the rule apply */
	const char *doubt;               /* why its place is uncertain; NULL: the rule's doubt */
};

struct unc_port_rule {
	bool other_model; /* not for this CPU model */
	enum unc_port_kind kind;
	const char *attribute; /* ATTRIBUTE: "die{die}" */
	const char *except;    /* ATTRIBUTE: a PMU whose ports have no indices; or NULL */
	const char *min, *max; /* RANGE: names of the files */
	const char *why;       /* UNKNOWN: the reason */
	unsigned vendor, id;   /* DVSEC: ids of the capability; CONFIG: of the devices */
	struct unc_port_field {
		const char *word; /* a word of the PMU's name; "port" is the index */
		unsigned offset;
	} fields[8];
	size_t field_count;
	struct unc_port_numbers numbers;    /* ATTRIBUTE, CONFIG */
	struct unc_bus_registers registers; /* CONFIG */
	struct unc_stack *stacks;
	size_t stack_count;
	const char *doubt; /* why the ports are uncertain, as a sentence; NULL: they are certain */
};

/* The register with the speed of a link: in config space, of another function of the device whose
 * vendor and id match. */
struct unc_speed_rule {
	bool other_model;    /* not for this CPU model */
	unsigned vendor, id; /* ids of the device; its number minus `first` is that of the link */
	unsigned first, function, offset;
	uint64_t bits;
	struct unc_names transfers; /* MT/s for each value of the bits */
	/* Why the speed is uncertain, as a sentence; NULL: it is certain. */
	const char *doubt;
};

/* Which NUMA node of its socket a PMU counts, if there are several. */
struct unc_node_rule {
	bool other_model; /* not for this CPU model */
	enum unc_node_kind {
		UNC_NODE_CPU, /* the node of the CPU from which it is counted */
		/* Units are divided among the nodes in their order, in equal parts. */
		UNC_NODE_ORDER,
		UNC_NODE_UNITS, /* the node that `units` gives */
	} kind;
	struct unc_names units; /* for each unit, from 0: the number of its node in the socket */
};

/* The hardware register whose differences a driver adds to the kernel's count of 64 bits. */
struct unc_register {
	bool other_model; /* not for this CPU model */
	unsigned bits;
	bool halves; /* the driver reads the register in two halves */
};

#define UNC_RULE_MOST 64 /* the greatest at_most */

/* What the hardware of a family cannot count; count/encode.c checks it. */
enum unc_rule_kind {
	UNC_RULE_NEVER,     /* one event sets all terms */
	UNC_RULE_NEEDS,     /* an event sets the first term, but not all others */
	UNC_RULE_NEEDS_ONE, /* an event sets none of the terms */
	UNC_RULE_NOTE,      /* one event sets all terms: it is counted, with a note */
	UNC_RULE_GROUP,     /* events of one "{}" set a term, but not all with the same values */
	UNC_RULE_SAME,      /* events of one PMU and CPU have different values of the terms */
	UNC_RULE_AT_MOST,   /* there are more than `most` different values */
};

/* A rule. An event sets a term if the term's bits are not all zero or, for terms such as
 * "event=0x83|0x84", have one of these values. */
struct unc_rule {
	bool other_model; /* not for this CPU model */
	enum unc_rule_kind kind;
	struct unc_names terms;
	struct unc_names when;    /* applies only to events that set all of these */
	struct unc_names inherit; /* an event of a "{}" that sets none of these uses its leader's */
	unsigned most;            /* AT_MOST; 0: 1 */
	/* Applies only to PMUs whose driver does not have this event; NULL: to all. */
	const char *without;
	const struct unc_event_def *except; /* an event to which it does not apply; NULL: none */
	const char *why, *evidence;
};

enum unc_bug_effect {
	UNC_BUG_COUNTS,  /* counts are wrong, without an error */
	UNC_BUG_MISSING, /* PMUs are missing */
	UNC_BUG_NOTE,    /* another problem for users of the PMUs */
};

/* How files of the family's PMUs show that a kernel has the bug. They decide, not the kernel's
 * version. At most one of `pmus`, `file` and `missing` is set. */
struct unc_bug_sign {
	const char *pmus;       /* a glob that the name of a PMU matches */
	const char *file;       /* a file of a PMU, whose text decides */
	const char *is, *lacks; /* globs that the text matches, or does not match */
	const char *missing;    /* a file that no PMU has */
};

/* A bug of a kernel that concerns the PMUs of a family. */
struct unc_kernel_bug {
	bool other_model; /* not for this CPU model */
	enum unc_bug_effect effect;
	bool suspect; /* this machine's kernel has the bug, and rows are wrong */
	/* All PMUs then have the same count: this shows with any kernel. */
	bool equal_counts;
	/* Each reading adds the register to the count; the source corrects this. */
	bool adds_at_reads;
	/* The first kernel versions with the bug, and without it; `fixed` has one for each branch
	 * with the correction. NULL: open. */
	const char *since, *fixed;
	struct unc_bug_sign shown;
	struct unc_names terms; /* it affects only events that set all of these; none: all events */
	const char *title, *evidence;
	/* The title as a sentence about this machine's kernel; NULL: the kernel does not have the
	 * bug. */
	char *text;
};

/* How the CPUs in a cpumask are related to the hardware. */
enum unc_driver_cpu {
	UNC_CPU_UNKNOWN,
	UNC_CPU_NEAR,   /* they are in the same place as the hardware */
	UNC_CPU_READER, /* they only read the counters: the hardware is elsewhere */
	UNC_CPU_NODE,   /* they only read; the hardware is in the NUMA node of the PMU's device */
};

/* Parts of a machine. */
enum unc_scope {
	UNC_SCOPE_UNKNOWN,
	UNC_SCOPE_CPU,
	UNC_SCOPE_CORE,
	UNC_SCOPE_CLUSTER,
	UNC_SCOPE_DIE,
	UNC_SCOPE_PACKAGE,
	UNC_SCOPE_MACHINE,
	UNC_SCOPE_NONE, /* for a number: PMUs have no number */
};

enum unc_hardware {
	UNC_HARDWARE_UNKNOWN,
	UNC_HARDWARE_THERE,    /* each PMU has its hardware */
	UNC_HARDWARE_MAY_LACK, /* PMUs may be registered without it */
};

/* Facts about the kernel's driver that the files of a PMU do not show. */
struct unc_driver {
	bool other_model; /* not for this CPU model */
	struct uncore_driver shown;
	enum unc_driver_cpu cpu;
	enum unc_scope each;   /* CPUs of the mask in the same part read the same register */
	enum unc_scope number; /* the part in which the number of a PMU's name is unique */
	enum unc_hardware hardware;
	struct unc_names absent; /* `shown.absent`, split into names */
};

/* The part of the machine that one PMU on one CPU counts. */
enum unc_pmu_place {
	UNC_PLACE_CHANNEL,            /* one memory channel */
	UNC_PLACE_SUBCHANNEL,         /* half of a memory channel */
	UNC_PLACE_CONTROLLER,         /* a memory controller of one or more channels */
	UNC_PLACE_MESH_PORT,          /* the place where the mesh is connected to the memory */
	UNC_PLACE_PACKAGE_CONTROLLER, /* a controller of memory in the package */
	UNC_PLACE_PACKAGE_MEMORY,     /* a channel of such memory */
	UNC_PLACE_SOCKET,             /* a whole socket */
	UNC_PLACE_CLUSTER,
	UNC_PLACE_SLICE,
	UNC_PLACE_CACHE,
	UNC_PLACE_AGENT,
	UNC_PLACE_FABRIC,
	UNC_PLACE_STACK, /* several root ports */
	UNC_PLACE_PORT,  /* one root port */
	UNC_PLACE_LINK,
	UNC_PLACE_DEVICE,
	UNC_PLACE_POWER,
	UNC_PLACE_CPU,
	UNC_PLACE_BLOCK, /* an instance of a register block */
};

struct unc_family {
	const char *name, *title, *instance; /* texts for people; code uses `place` */
	enum unc_pmu_place place;
	struct unc_yaml_file *file; /* owns all texts and arrays */
	/* The names of this machine's CPU model, while the file is parsed. */
	const char *cpu_model;
	struct unc_word *models; /* "skx", "intel/6/85"; none: all CPUs */
	size_t model_count;
	bool on_this_cpu;    /* false: `models` does not list this machine's CPU */
	bool names_this_cpu; /* `models` lists this machine's CPU */
	bool everywhere;     /* any machine may have it, also a guest: not an uncore PMU */
	unsigned counters;   /* events that a PMU counts at once; 0: all */
	bool each_socket;    /* every socket of a machine has such PMUs */
	/* The device at the other end of its PMUs; NULL: by role_attribute. */
	const char *role;
	const char *role_attribute; /* the PMU's file that shows the role; NULL: no role */
	struct unc_word *roles;     /* the beginnings of this file's text, and their roles */
	size_t role_count;
	const char *peer; /* the PMU's file that names the other end of a link; or NULL */
	struct unc_filter filters[UNC_FILTERS];
	struct unc_pattern *patterns;
	size_t pattern_count;
	/* A family of devices that count themselves has these instead of patterns. */
	enum unc_source_kind source;
	struct unc_device_rule *devices;
	size_t device_count;
	struct unc_device_layout layout; /* of its files */
	unsigned links; /* the most that a device has; 0: it has no count of one link */
	const char
		*runtime_status; /* a file: its text is "suspended" if the others cannot be read */
	bool each_function;      /* counts are a PCI function's: only its first device is counted */
	/* Paths below the root without which devices cannot be counted, and the reasons. "{port}"
	 * is the root port above the device. */
	struct unc_word *needs;
	size_t need_count;
	const char *not_in_guests; /* why devices of a guest cannot be counted; NULL: they can */
	struct unc_expectation *expectations;
	size_t expectation_count;
	struct unc_port_rule *ports; /* the first one applies; NULL: none */
	size_t port_count;
	struct unc_speed_rule *speed; /* the first one applies; NULL: none */
	size_t speed_count;
	struct unc_node_rule *node_rules;
	size_t node_rule_count;
	struct unc_register *registers; /* the first one applies; NULL: none */
	size_t register_count;
	struct unc_event_def *events;
	size_t event_count;
	struct unc_named_term *named_terms;
	size_t named_term_count;
	struct uncore_metric *metrics;
	size_t metric_count;
	struct unc_rule *rules;
	size_t rule_count;
	struct unc_kernel_bug *bugs;
	size_t bug_count;
	struct unc_driver *drivers; /* the first one that fits a PMU applies to it */
	size_t driver_count;
	const struct uncore_pmu **pmus; /* those of this machine */
	size_t pmu_count;
};

/* Parses a data file. Takes over `file`, also on failure. Returns 0, -EBADMSG or -ENOMEM. */
int unc_family_parse(struct unc_family **out, struct unc_yaml_file *file, const char *cpu_model,
		     struct unc_error *e);
void unc_family_free(struct unc_family *f);

/* Reads a value that must be a list of format terms. */
unc_read unc_family_terms;
/* Reads names of the file's models. If none is this CPU, sets the first member of the struct,
 * `other_model`. */
unc_read unc_family_when;
/* The event of this name; NULL if the family has none. */
const struct unc_event_def *unc_family_event(const struct unc_family *f, const char *name);
/* Sets `text` of the family's bugs that this version of the kernel ("": unknown) has or may have.
 * Returns 0 or -ENOMEM. */
int unc_family_find_bugs(struct unc_family *f, const char *kernel);
/* The word for it in data files. */
const char *unc_place_name(enum unc_pmu_place place);
/* The first bug that affects all events of the family, and makes rows suspect or does not; NULL:
 * none. */
const char *unc_family_bug(const struct unc_family *f, bool suspect);
/* True for kernels of distributions ("5.14.0-503.el9", "6.1.0-44-amd64"), which may have
 * corrections from later versions. */
bool unc_kernel_is_patched(const char *kernel);
/* The version that corrects the bug for a kernel of this version; NULL: none. */
char *unc_kernel_fix(const struct unc_kernel_bug *bug, const char *kernel);
/* The parts of data files that restrict events. They fill struct unc_family, unc_named_term,
 * unc_rule and unc_kernel_bug. */
extern const struct unc_shape unc_filters_shape, unc_named_term_shape, unc_rule_shape,
	unc_kernel_bug_shape;

/* ---- drivers.c: facts about the kernel's drivers ---- */

extern const struct unc_shape unc_driver_shape;

/* ---- devices.c: devices that count themselves ---- */

extern const struct unc_shape unc_device_rule_shape;
/* Reads `layout` of a family, and `read` of an event. */
unc_read unc_device_layout, unc_device_reads;
/* Checks a path below the root or the directory of a device. */
unc_read unc_device_path;
/* Gives an event that has `read` its terms. */
unc_read unc_device_event;

struct unc_catalogue;
/* Adds the devices of this machine that count themselves to the PMUs, with their families, and
 * parses the built-in families that may have some. -ENOMEM, -EBADMSG. */
int unc_devices_find(struct unc_catalogue *c, struct unc_pmus *pmus, const struct unc_root *root,
		     const struct unc_topology *topology, struct unc_error *e);
/* Adds the devices of a family that would count themselves if they had the driver of their rule.
 * -ENOMEM. */
int unc_devices_find_driverless(const struct unc_family *family, struct unc_pmus *into,
				const struct unc_root *root, const struct unc_topology *topology,
				struct unc_error *e);

/* ---- views: uncore.h ---- */

struct unc_view_column {
	const char *title;
	const char *metrics; /* separated by blanks; {n} stands for a number */
	const char *about;   /* what a share is a share of; NULL: no metric counts it itself */
};

struct uncore_view {
	const char *name, *title;
	const char *screen, *table; /* one of them */
	struct unc_view_column columns[UNCORE_COLUMNS];
	struct unc_view_column *more; /* the columns behind them */
	size_t more_count;
};

/* ---- the catalogue ---- */

struct unc_regs; /* source/regs/regs.h */

/* To make a new one, set the first two members. It needs unc_catalogue_finish(). */
struct unc_catalogue {
	/* The names of the CPU model, separated by blanks; borrowed. */
	const char *cpu_model;
	const char *kernel;           /* the kernel's version, "" if unknown; borrowed */
	struct unc_family **families; /* ordered by name */
	size_t family_count;
	/* First those of families with PMUs here, then the others. */
	const struct uncore_metric **metrics;
	size_t metric_count;
	size_t here_count;
	struct unc_yaml_file *words_file; /* read at first use */
	struct uncore_words *words;
	size_t word_count;
	struct unc_yaml_file *cpus_file; /* read at first use */
	struct unc_word *cpus;           /* a name, and the models that have it */
	size_t cpu_count;
	struct unc_yaml_file *views_file; /* read at first use */
	struct uncore_view *views;
	size_t view_count;
	bool complete; /* false: has only families that may have PMUs here, and their metrics */
};

/* Adds the families of a directory's data files, in the order of their names. On failure some may
 * already have been added. */
int unc_catalogue_load(struct unc_catalogue *c, const char *dir, struct unc_error *e);
/* Adds a family, and replaces the one with the same name. Takes it over, also on failure. Returns 0
 * or -ENOMEM. */
int unc_catalogue_add(struct unc_catalogue *c, struct unc_family *f, struct unc_error *e);
/* Makes a family of a register block, by the roles of its counters. NULL if no counter has a role.
 * The family borrows the block. */
int unc_regs_family(struct unc_family **out, const struct unc_regs *r, const char *cpu_model,
		    struct unc_error *e);
/* Parses the built-in families that may have some of the PMUs. Then sets the family of each PMU and
 * the PMUs of each family. */
int unc_catalogue_match(struct unc_catalogue *c, struct unc_pmus *pmus, struct unc_error *e);
/* Sets the driver's facts of each PMU of a family, and applies them. PMUs whose hardware does not
 * exist leave their family. Of several CPUs that read the same register, one stays in `cpus`.
 * Returns 0 or -ENOMEM. */
int unc_drivers_apply(struct unc_catalogue *c, struct unc_pmus *pmus, const struct unc_topology *t,
		      struct unc_error *e);
/* The socket of the hardware that the PMU counts from this CPU; -1: unknown. */
int unc_counted_socket(const struct uncore_pmu *pmu, const struct unc_topology *t, int cpu);
/* The NUMA node of it; -1: unknown. Of nodes.c, as the next three. */
int unc_counted_node(const struct uncore_pmu *pmu, const struct unc_topology *t, int cpu);
/* The nodes of a socket's CPUs, ascending. Returns their number. */
#define UNC_MOST_NODES 16 /* of a socket */
size_t unc_topology_nodes(const struct unc_topology *t, int socket,
			  int nodes[static UNC_MOST_NODES]);
/* True when an offline CPU of a node that is not among these may be in the same socket. */
bool unc_topology_has_more_nodes(const struct unc_topology *t, const int *nodes, size_t count);
/* A CPU of each die of a package counts what belongs to this die. */
bool unc_pmu_is_of_die(const struct uncore_pmu *pmu);
/* Why this socket and the NUMA node are unknown, although those of the CPU are known; NULL: they
 * are known. */
const char *unc_pmu_unplaced(const struct uncore_pmu *pmu, const struct unc_topology *t);
/* True if an earlier CPU of its mask is in the same package as the i-th. */
bool unc_pmu_repeats(const struct uncore_pmu *pmu, const struct unc_topology *t, size_t i);
/* Parses the built-in families that are wanted and that no file has replaced; NULL: all. Their
 * metrics are added by unc_catalogue_complete(). */
typedef bool unc_wanted(const struct unc_index *index, void *context);
int unc_catalogue_add_built_in(struct unc_catalogue *c, unc_wanted *wanted, void *context,
			       struct unc_error *e);
/* Also parses the other built-in families, to report what this machine does not have. */
int unc_catalogue_complete(struct unc_catalogue *c, struct unc_error *e);
/* See uncore_words_find(). */
const struct uncore_words *unc_catalogue_words(struct unc_catalogue *c, const char *word);
/* The common name of the CPU model, "Sapphire Rapids"; NULL: unknown. */
const char *unc_catalogue_cpu(struct unc_catalogue *c);
/* Reads the views at the first call. */
int unc_catalogue_load_views(struct unc_catalogue *c, struct unc_error *e);
/* The view of a screen that shows the metric; NULL: none. After unc_catalogue_load_views(). */
const struct uncore_view *unc_catalogue_find_view(const struct unc_catalogue *c,
						  const char *metric);
/* NULL: the view does not have the column. */
const struct unc_view_column *unc_view_column(const struct uncore_view *v, int column);
void unc_catalogue_finish(struct unc_catalogue *c);

/* Encodes an event for one PMU. Returns -ENODEV if the PMU or the CPU model does not have it. */
int unc_event_encode(const struct unc_event_def *event, const struct uncore_pmu *pmu,
		     struct unc_encoding *out, struct unc_error *e);
/* The terms of the event between the slashes for this PMU; NULL if the PMU does not have it. */
const char *unc_event_terms(const struct unc_event_def *event, const struct uncore_pmu *pmu);

/* Returns 0 if the PMU has every event of the metric and can be counted, and -ENODEV if it lacks an
 * event. Other errors, with a sentence, mean that it should be counted but cannot: -EBADMSG if its
 * files in /sys are malformed, or lack a term that a PMU of the same kind has, -ENXIO if they name
 * no CPU. */
int unc_metric_on(const struct uncore_metric *m, const struct uncore_pmu *pmu, struct unc_error *e);

/* ---- ports.c, root-buses.c: which PCIe root ports a PMU counts ---- */

/* ---- root-buses.c: root buses of I/O stacks, from registers in PCI config space ---- */

struct unc_root_bus {
	unsigned segment, bus, package;
	unsigned number; /* number of the CPU bus or stack, as in the map of a CPU model */
};

struct unc_root_buses {
	const struct unc_pci *pci;
	const struct unc_port_rule *rule; /* the rule for which they were read; NULL: not read */
	struct unc_root_bus *items;
	size_t count;
	unsigned kind; /* kind of die, if the rule needs it */
	bool kept;     /* they come from the file that root wrote */
	int error;     /* of reading: 0, -EACCES, -ENODEV or -ENOMEM */
	/* Its sentence; also set if the registers failed and `kept` is true. */
	struct unc_error why;
};

/* The directory in which root keeps root buses for other users. */
#define UNC_ROOT_BUSES_DIR "var/lib/uncore"
#define UNC_ROOT_BUSES_FILE "root-buses.yaml"

/* Reads the root buses for the machine's rule, once. Returns -ENODEV if they are unknown, or
 * -ENOMEM. */
int unc_root_buses_read(struct unc_root_buses *b, const struct unc_port_rule *rule,
			struct unc_error *why);

/* Appends the text of the file. */
void unc_root_buses_print(const struct unc_root_buses *b, struct unc_text *to);

/* ---- root ports ---- */

struct unc_port {
	const struct uncore_device *device;
	int index; /* index in the PMU's filter; -1: none, since it shares its PMU's number */
};

/* A PMU on one of its CPUs, and the root ports that it counts there, by `ports` of its data
 * file. */
struct unc_port_instance {
	const struct uncore_pmu *pmu;
	int cpu, socket;
	const struct unc_port_rule *rule;
	uint64_t first, last; /* addresses of its root ports; DVSEC: unused */
	struct unc_port_numbers numbers;
	const char *doubt;      /* why they are uncertain; NULL: they are certain */
	char *why;              /* why they are unknown; NULL: they are known */
	struct unc_port *ports; /* in the order of their addresses */
	size_t port_count;
};

/* The most files `dieN` of a PMU. */
#define UNC_MOST_DIES 64
struct unc_die_files {
	struct unc_die_file {
		const struct uncore_pmu *pmu;
		unsigned number;
		bool names_bus;
		uint64_t first; /* address of the root bus */
	} * items;
	size_t count;
};

/* Finds the files, and the numbers of the dies. Returns 0 or -ENOMEM. */
int unc_dies_load(struct unc_die_files *out, struct unc_topology *t, const struct unc_pci *pci,
		  const struct unc_pmus *pmus);
/* Explains why a root port is not counted: it is named by the file of a die that is unknown or has
 * no CPU online. Returns false if no such file names it. */
bool unc_dies_explain(const struct unc_die_files *files, const struct unc_topology *t,
		      uint64_t address, struct unc_error *why);

struct unc_ports {
	struct unc_port_instance *instances; /* in the order of PMUs and CPUs */
	size_t instance_count;
	const struct uncore_pmu **pmus; /* the PMUs of all root ports, one port after the other */
	size_t pmu_count;
	bool needs_root; /* only root could read some config space */
	struct unc_root_buses buses;
	struct unc_die_files dies;
	struct unc_numbered_port *numbered;
};

/* Finds the kernel's numbers of dies, the PMUs of each root port, and the ports of each PMU.
 * Returns 0 or -ENOMEM. */
int unc_ports_load(struct unc_ports *out, struct unc_topology *t, struct unc_pci *pci,
		   const struct unc_pmus *pmus);
void unc_ports_finish(struct unc_ports *p);

/* The root ports that a PMU counts from `cpu`, in the order of their addresses; borrowed. There may
 * be none. Returns -ENODEV if they are unknown, with the reason in `why`. */
int unc_ports_of(const struct unc_ports *p, const struct uncore_pmu *pmu, int cpu,
		 const struct unc_port **ports, size_t *count, struct unc_error *why);

/* A root port of which only the numbers that PMUs use are known. Its address is "SOCKET:RC:INDEX".
 * The same numbers give the same port. NULL: out of memory. */
const struct uncore_device *unc_ports_numbered(struct unc_ports *p, uint64_t socket, uint64_t rc,
					       uint64_t index);

/* Finds the device at the other end of the PMU's link. `pci` owns the text. Returns -ENODEV if it
 * is unknown. */
int unc_ports_peer(struct unc_pci *pci, const struct uncore_pmu *pmu, int cpu,
		   struct uncore_peer *out, struct unc_error *e);

/* Reads the speed of the PMU's link in GT/s, and why it is uncertain. Returns -EACCES if only root
 * can read it, -ENODEV or -ENOMEM. */
int unc_ports_speed(const struct unc_pci *pci, const struct uncore_pmu *pmu, int cpu, double *speed,
		    const char **doubt, struct unc_error *e);

#endif
