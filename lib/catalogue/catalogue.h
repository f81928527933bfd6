/* SPDX-License-Identifier: MIT */
/* Families of PMUs, their events and metrics, as one data file of each describes them for one CPU model; and the
 * catalogue: all families, matched to the PMUs of a machine. */
#ifndef UNC_CATALOGUE_H
#define UNC_CATALOGUE_H

#include "base/formula.h"
#include "machine/pmu.h"

/* What the rows of a metric cannot exceed. */
enum unc_ceiling {
	UNC_CEILING_NONE,
	UNC_CEILING_MEMORY, /* the DRAM of the row's place */
	UNC_CEILING_PORT,   /* the PCIe link of the row's root port, in one direction */
};

/* At most this many in one formula, so that evaluation needs no allocation: the bins of a histogram, and the
 * counters of a clock's cycles. */
#define UNC_METRIC_EVENTS (UNC_HISTOGRAM_BINS + 4)

struct uncore_metric {
	bool other_model; /* no case of its formula is for this CPU model */
	const struct unc_family *family;
	const char *name, *title, *unit, *evidence;
	const char *formerly; /* its names of before, separated by blanks; NULL: none */
	enum unc_ceiling ceiling;
	enum uncore_remote_data remote_data;
	unsigned headline;    /* its place in the overview; 0: not in it */
	const char *separate; /* why "memory.*" does not include it; NULL: it is included */
	const char *doubt;    /* why its rows are suspect, as a sentence; NULL: they are not, */
	struct unc_formula *unless; /* nor where this is not 0; NULL: always */
	bool each_pmu;              /* `unless` must hold for each PMU alone, too */
	const struct uncore_alternative *alternatives; /* of a metric in doubt */
	size_t alternative_count;
	const char *otherwise; /* why other CPU models have no formula; NULL: no reason is known */
	const char *text; /* of the formula, or what is done instead; NULL: not on this CPU model */
	struct unc_formula *formula;
	const char *over; /* the metric that its value is divided by; NULL: none */
	const struct unc_event_def **events;   /* one per name of the formula, in this order */
	const struct unc_histogram *histogram; /* a percentile of the events, which are its bins */
	unsigned per_mille;                    /* which one; 990 is p99; 0: a bin of them */
	size_t bin;                            /* which one */
	double clock_hz;       /* of the cycles that its time is made of; 0: the host's time */
	uint64_t clock_events; /* a bit for each of `events` that counts such cycles */
	bool checked;          /* `missing` has been worked out */
	char *missing;         /* NULL: can be planned here */
	struct uncore_metric_event *shown; /* of `events`; NULL: not yet asked for */
};

/* Where PMUs of the family ought to be. */
struct unc_expectation {
	bool other_model;   /* its `models` do not list this machine's CPU */
	bool on_this_cpu;   /* they do */
	const char *path;   /* a glob below the root that shows the hardware; or NULL */
	const char *flag;   /* the x86 CPU flag without which the driver registers none; or NULL */
	const char *module; /* the kernel module that registers the PMUs */
	const char *since;  /* first kernel version that has the driver, or NULL */
};

/* What can restrict events, in the order in which filters are written. */
enum unc_filter_kind {
	UNC_FILTER_FROM,
	UNC_FILTER_TO,
	UNC_FILTER_GPU,
	UNC_FILTER_LINK,
	UNC_FILTER_PORT,
	UNC_FILTER_DEVICE,
	UNC_FILTER_ADDRESS,
	UNC_FILTERS,
};

/* How data files write a kind. count/filters.c checks its values, count/split.c has what it does with targets. */
extern const struct unc_filter_word {
	const char *name;   /* "from" ... "address" */
	const char *braces; /* words of its terms; NULL: the kind has values instead of terms */
	bool picks;         /* it selects PMUs, too, and needs no filter of their family for that */
} unc_filter_words[UNC_FILTERS];

struct unc_filter {
	const char *title;       /* NULL: the family has no such filter */
	const char *terms;       /* "src_bdf={bdf},src_bdf_en=0x1"; NULL: one of `values` */
	const char *count;       /* GPU: "nr_gpu", whose number the role's file has; or NULL */
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
	UNC_PORTS_SOCKET,    /* all of its socket */
	UNC_PORTS_UNKNOWN,   /* unknown: `why` has the reason */
};

/* Device numbers from `first` on are the indices `part`, `part` + 1 ...; `count` 0: there are no indices. */
struct unc_port_numbers {
	unsigned first, count, part;
};

/* Where the devices are whose config space names root buses, and the offsets of their registers. */
struct unc_bus_registers {
	unsigned sad;   /* bits 3:0 the package, 6:4 the number of the stack */
	unsigned valid; /* a bit for each CPU bus; 0: each device names the bus that it is on */
	unsigned buses,
		upper_buses; /* 16 bytes each: the numbers of CPU buses 0 to 15, and from 16 */
	struct {
		unsigned id, offset; /* id 0: there is only one kind of die */
		uint64_t bits;
	} kind;
};

/* An I/O stack of one CPU model. */
struct unc_stack {
	unsigned bus, unit; /* the number of its CPU bus, and the one in its PMU's name */
	uint64_t kinds;     /* of die that have it, a bit for each; 0: all */
	struct unc_port_numbers numbers; /* count 0: those of the rule */
	const char *doubt;               /* why that is uncertain; NULL: the rule's */
};

struct unc_port_rule {
	bool other_model; /* not for this CPU model */
	enum unc_port_kind kind;
	const char *attribute; /* ATTRIBUTE: "die{die}" */
	const char *except;    /* ATTRIBUTE: a PMU whose ports have no indices; NULL */
	const char *min, *max; /* RANGE: names of the files */
	const char *why;       /* UNKNOWN: the reason */
	unsigned vendor, id;   /* DVSEC: of the capability; CONFIG: of the devices */
	struct unc_port_field {
		const char *word; /* of the PMU's name; or "port": the index */
		unsigned offset;
	} fields[8];
	size_t field_count;
	struct unc_port_numbers numbers;    /* ATTRIBUTE, CONFIG */
	struct unc_bus_registers registers; /* CONFIG */
	struct unc_stack *stacks;
	size_t stack_count;
	const char *doubt; /* why the ports are uncertain, as a sentence; NULL: they are not */
};

/* Where the speed of links is read: a register in config space, of another function of the device that is recognised. */
struct unc_speed_rule {
	bool other_model;    /* not for this CPU model */
	unsigned vendor, id; /* of the device; its number less `first` is that of the link */
	unsigned first, function, offset;
	uint64_t bits;
	struct unc_names transfers; /* MT/s by the value of the bits */
	const char *doubt;          /* why it is uncertain, as a sentence; NULL: it is not */
};

/* Which NUMA node of its socket a PMU counts, where that has several. */
struct unc_node_rule {
	bool other_model; /* not for this CPU model */
	enum unc_node_kind {
		UNC_NODE_CPU,   /* that of the CPU it is counted from */
		UNC_NODE_ORDER, /* the units, in their order, in equal parts */
		UNC_NODE_UNITS, /* that of `units` */
	} kind;
	struct unc_names units; /* of each unit from 0 on, the number of its node in the socket */
};

/* The register of the hardware whose moves a driver adds to the kernel's count of 64 bits. */
struct unc_register {
	bool other_model; /* not for this CPU model */
	unsigned bits;
	bool halves; /* the driver reads it in two halves */
};

#define UNC_RULE_MOST 64 /* of at_most */

/* What the hardware of a family excludes; checked by count/encode.c. */
enum unc_rule_kind {
	UNC_RULE_NEVER,     /* all terms set in one event */
	UNC_RULE_NEEDS,     /* the first term set without all others */
	UNC_RULE_NEEDS_ONE, /* none of the terms set */
	UNC_RULE_NOTE,      /* all terms set in one event: counted, with a note for the user */
	UNC_RULE_GROUP, /* events of one "{}" that set a term, with different values of the terms */
	UNC_RULE_SAME,  /* different values of the terms on one PMU and CPU */
	UNC_RULE_AT_MOST, /* more of them than `most` */
};

/* A term is "set" when its bits are not all zero, or ("event=0x83|0x84") have one of the values. */
struct unc_rule {
	bool other_model; /* not for this CPU model */
	enum unc_rule_kind kind;
	struct unc_names terms;
	struct unc_names when;    /* only for events that set all of these */
	struct unc_names inherit; /* an event of a "{}" that sets none of these has its leader's */
	unsigned most;            /* AT_MOST; 0: 1 */
	const char *without; /* only for PMUs whose driver does not name this event; NULL: all */
	const struct unc_event_def *except; /* exempt; NULL: none */
	const char *why, *evidence;
};

enum unc_bug_effect {
	UNC_BUG_COUNTS,  /* counts are wrong, without an error */
	UNC_BUG_MISSING, /* PMUs are missing */
	UNC_BUG_NOTE,    /* something else, which users of the PMUs may meet */
};

/* What the files of the family's PMUs are where a kernel has the bug: they decide, and not the version. One of `pmus`,
 * `file` and `missing`, or none. */
struct unc_bug_sign {
	const char *pmus;       /* a glob: some PMU has such a name */
	const char *file;       /* of a PMU, whose text */
	const char *is, *lacks; /* matches this glob, or does not match that */
	const char *missing;    /* a file that no PMU has */
};

/* What a kernel does wrong with the PMUs of a family. */
struct unc_kernel_bug {
	bool other_model; /* not for this CPU model */
	enum unc_bug_effect effect;
	bool suspect;              /* this machine's kernel has it, and rows are wrong */
	bool equal_counts;         /* PMUs then have the count of one: seen with any kernel */
	bool adds_at_reads;        /* each reading adds the register to the count: undone */
	const char *since, *fixed; /* first kernel versions with it and without, `fixed` in each
				      branch that has the correction; NULL: open */
	struct unc_bug_sign shown;
	struct unc_names terms; /* of events that set all of these; none: all events */
	const char *title, *evidence;
	char *text; /* the title as a sentence about this machine's kernel; NULL: it has no such bug */
};

/* What the CPUs in a cpumask are. */
enum unc_driver_cpu {
	UNC_CPU_UNKNOWN,
	UNC_CPU_NEAR,   /* where the hardware is */
	UNC_CPU_READER, /* they only read: the place of the hardware is not theirs */
	UNC_CPU_NODE,   /* the same, but the hardware is in the NUMA node of the PMU's device */
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
	UNC_SCOPE_NONE, /* of a number: PMUs have none */
};

enum unc_hardware {
	UNC_HARDWARE_UNKNOWN,
	UNC_HARDWARE_THERE,    /* each PMU has its hardware */
	UNC_HARDWARE_MAY_LACK, /* PMUs may be registered without it */
};

/* Facts about the kernel's driver, which the files of a PMU do not show. */
struct unc_driver {
	bool other_model; /* not for this CPU model */
	struct uncore_driver shown;
	enum unc_driver_cpu cpu;
	enum unc_scope each;   /* CPUs of the mask within one read the same register */
	enum unc_scope number; /* within it the number of a PMU's name is unique */
	enum unc_hardware hardware;
	struct unc_names absent; /* `shown.absent`, one by one */
};

/* What one PMU and CPU of a family is. */
enum unc_pmu_place {
	UNC_PLACE_CHANNEL,            /* one memory channel */
	UNC_PLACE_SUBCHANNEL,         /* half of one */
	UNC_PLACE_CONTROLLER,         /* a memory controller of one or more channels */
	UNC_PLACE_MESH_PORT,          /* where the mesh meets the memory */
	UNC_PLACE_PACKAGE_CONTROLLER, /* of memory in the package, */
	UNC_PLACE_PACKAGE_MEMORY,     /* or a channel of it */
	UNC_PLACE_SOCKET,             /* all of a socket */
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
	const char *name, *title, *instance; /* texts for people; code looks at `place` */
	enum unc_pmu_place place;
	struct unc_yaml_file *file; /* owns all texts and arrays */
	const char *cpu_model;      /* names of this machine's; only while the file is parsed */
	struct unc_word *models;    /* "skx", "intel/6/85"; none: every CPU */
	size_t model_count;
	bool on_this_cpu;           /* false: `models` does not list this machine's CPU */
	bool names_this_cpu;        /* `models` does */
	bool everywhere;            /* any machine may have it, a guest too: no uncore PMU */
	unsigned counters;          /* events that a PMU counts at once; 0: all */
	bool each_socket;           /* every socket of a machine has PMUs of it */
	const char *role;           /* what is at the other end of its PMUs; NULL: see below */
	const char *role_attribute; /* the PMU's file that tells; NULL: no role */
	struct unc_word *roles;     /* how its text begins, and the role */
	size_t role_count;
	const char *peer; /* the PMU's file that names the other end of a link; NULL */
	struct unc_filter filters[UNC_FILTERS];
	struct unc_pattern *patterns;
	size_t pattern_count;
	struct unc_expectation *expectations;
	size_t expectation_count;
	struct unc_port_rule *port_rules;
	size_t port_rule_count;
	const struct unc_port_rule *ports; /* the first that holds on this CPU; NULL: none */
	struct unc_speed_rule *speed_rules;
	size_t speed_rule_count;
	const struct unc_speed_rule *speed; /* the first that holds on this CPU; NULL: none */
	struct unc_node_rule *node_rules;
	size_t node_rule_count;
	struct unc_register *registers; /* the first that holds on this CPU is its PMUs' */
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
	struct unc_driver *drivers; /* the first that fits a PMU has its facts */
	size_t driver_count;
	const struct uncore_pmu **pmus; /* of this machine */
	size_t pmu_count;
};

/* Takes `file` over, also on failure. -EBADMSG, -ENOMEM. */
int unc_family_parse(struct unc_family **out, struct unc_yaml_file *file, const char *cpu_model,
		     struct unc_error *e);
void unc_family_free(struct unc_family *f);

/* The value must be a list of format terms. */
unc_read unc_family_terms;
/* Names of the file's models. Sets the first member of what is filled, `other_model`, when none is this CPU. */
unc_read unc_family_when;
/* NULL: the family has no such event. */
const struct unc_event_def *unc_family_event(const struct unc_family *f, const char *name);
/* Fills `text` of the family's bugs that this version of the kernel ("": not known) has or may have. -ENOMEM. */
int unc_family_find_bugs(struct unc_family *f, const char *kernel);
/* The word of data files for it. */
const char *unc_place_name(enum unc_pmu_place place);
/* The first of them that all events of the family have, whose rows are suspect, or not; NULL: none. */
const char *unc_family_bug(const struct unc_family *f, bool suspect);
/* Kernels of distributions ("5.14.0-503.el9", "6.1.0-44-amd64") have corrections of later versions. */
bool unc_kernel_is_patched(const char *kernel);
/* The version that has the correction of a bug, for a kernel of this version; NULL: none. */
char *unc_kernel_fix(const struct unc_kernel_bug *bug, const char *kernel);
/* Of the struct unc_family, a struct unc_named_term, a struct unc_rule and a struct unc_kernel_bug. */
extern const struct unc_shape unc_filters_shape, unc_named_term_shape, unc_rule_shape,
	unc_kernel_bug_shape;

/* ---- drivers.c: facts about the kernel's drivers ---- */

extern const struct unc_shape unc_driver_shape;

/* ---- the catalogue ---- */

struct unc_regs; /* source/regs/regs.h */

/* A new one has the first two members, and needs unc_catalogue_finish(). */
struct unc_catalogue {
	const char *cpu_model;        /* its names, separated by blanks; borrowed */
	const char *kernel;           /* its version, "" when not known; borrowed */
	struct unc_family **families; /* ordered by name */
	size_t family_count;
	const struct uncore_metric **metrics; /* of families found here, then of the others */
	size_t metric_count;
	struct unc_yaml_file *words_file; /* read at first use */
	struct uncore_words *words;
	size_t word_count;
	bool complete; /* false: only families that may have PMUs here, and their metrics */
};

/* Adds the families of a directory's data files, in the order of their names. On failure some may have been
 * added. */
int unc_catalogue_load(struct unc_catalogue *c, const char *dir, struct unc_error *e);
/* Adds one, in place of that of its name. Takes it over, also on failure. -ENOMEM. */
int unc_catalogue_add(struct unc_catalogue *c, struct unc_family *f, struct unc_error *e);
/* The family that a register block's counters make by their roles; NULL when none has a role. It borrows the
 * block. */
int unc_regs_family(struct unc_family **out, const struct unc_regs *r, const char *cpu_model,
		    struct unc_error *e);
/* Parses the built-in families that may have some of the PMUs, and gives each PMU its family and each
 * family its PMUs. */
int unc_catalogue_match(struct unc_catalogue *c, struct unc_pmus *pmus, struct unc_error *e);
/* Gives each PMU of a family the facts about its driver, and applies them: PMUs of units that do not exist leave
 * their family, and one of several CPUs that read the same register stays in `cpus`. -ENOMEM. */
int unc_drivers_apply(struct unc_catalogue *c, struct unc_pmus *pmus, const struct unc_topology *t,
		      struct unc_error *e);
/* Whether it may have no hardware, and the data do not say which units have none. */
bool unc_pmu_may_lack(const struct uncore_pmu *pmu);
/* The socket of the hardware that the PMU counts from a CPU; -1: unknown. */
int unc_counted_socket(const struct uncore_pmu *pmu, const struct unc_topology *t, int cpu);
/* Why it is unknown, and the NUMA node, too, although those of the CPU are known; NULL: they are not. */
const char *unc_pmu_unplaced(const struct uncore_pmu *pmu, const struct unc_topology *t);
/* Whether an earlier CPU of its mask is in the same part of the machine as the i-th. */
bool unc_pmu_repeats(const struct uncore_pmu *pmu, const struct unc_topology *t,
		     enum unc_scope scope, size_t i);
/* Parses the other built-in families, too: needed to say what this machine does not have. */
int unc_catalogue_complete(struct unc_catalogue *c, struct unc_error *e);
/* uncore_words_find(). */
const struct uncore_words *unc_catalogue_words(struct unc_catalogue *c, const char *word);
void unc_catalogue_finish(struct unc_catalogue *c);

/* Encodes an event on one PMU. -ENODEV: the PMU or the CPU model does not have it. */
int unc_event_encode(const struct unc_event_def *event, const struct uncore_pmu *pmu,
		     struct unc_encoding *out, struct unc_error *e);
/* What stands between the slashes for it on this PMU; NULL: the PMU does not have it. */
const char *unc_event_terms(const struct unc_event_def *event, const struct uncore_pmu *pmu);

/* 0: the PMU has every event of the metric, and can be counted. -ENODEV: it does not have one. Else it ought to be
 * counted and cannot be, as `e` says: -EBADMSG: its files in /sys make no sense, -ENXIO: they name no CPU. */
int unc_metric_on(const struct uncore_metric *m, const struct uncore_pmu *pmu, struct unc_error *e);

/* ---- ports.c, root-buses.c: which PCIe root ports a PMU counts ---- */

/* ---- root buses of I/O stacks, as registers in PCI config space name them: root-buses.c ---- */

struct unc_root_bus {
	unsigned segment, bus, package;
	unsigned number; /* of the CPU bus or stack, by which the map of a CPU model goes */
};

struct unc_root_buses {
	const struct unc_pci *pci;
	const struct unc_port_rule *rule; /* that they were read for; NULL: not read */
	struct unc_root_bus *items;
	size_t count;
	unsigned kind;        /* of die, where the rule asks for it */
	bool kept;            /* they are those of the file that root wrote */
	int error;            /* of reading them: 0, -EACCES, -ENODEV, -ENOMEM, */
	struct unc_error why; /* and its sentence; also that of the registers, when `kept` */
};

/* Where root keeps root buses for other users. */
#define UNC_ROOT_BUSES_DIR "var/lib/uncore"
#define UNC_ROOT_BUSES_FILE "root-buses.yaml"

/* Reads them for the machine's rule with registers, once. -ENODEV: they are not known; -ENOMEM. */
int unc_root_buses_read(struct unc_root_buses *b, const struct unc_port_rule *rule,
			struct unc_error *why);

/* The text of the file. */
void unc_root_buses_print(const struct unc_root_buses *b, struct unc_text *to);

/* ---- root ports ---- */

struct unc_port {
	const struct uncore_device *device;
	int index; /* in the PMU's filter; -1: none, it shares its PMU's number */
};

/* A PMU on one of its CPUs, and the root ports that it counts, by the `ports` of its data file. */
struct unc_port_instance {
	const struct uncore_pmu *pmu;
	int cpu, socket;
	const struct unc_port_rule *rule;
	const char *pattern;  /* that describes the PMU's name */
	uint64_t first, last; /* addresses of its root ports; DVSEC: unused */
	struct unc_port_numbers numbers;
	const char *doubt;      /* why they are uncertain; NULL: they are not */
	char *why;              /* they are not known; NULL */
	struct unc_port *ports; /* in the order of their addresses */
	size_t port_count;
};

/* Files `dieN` of PMUs. */
#define UNC_MOST_DIES 64
struct unc_die_files {
	struct unc_die_file {
		const struct uncore_pmu *pmu;
		unsigned number;
		bool names_bus;
		uint64_t first; /* the address of the root bus */
	} * items;
	size_t count;
};

/* Finds the files, and the numbers of the dies. -ENOMEM. */
int unc_dies_load(struct unc_die_files *out, struct unc_topology *t, const struct unc_pci *pci,
		  const struct unc_pmus *pmus);
/* False: no file of a die that has no CPU online, or is not known, names the root port. */
bool unc_dies_explain(const struct unc_die_files *files, const struct unc_topology *t,
		      uint64_t address, struct unc_error *why);

struct unc_ports {
	struct unc_port_instance *instances; /* in the order of PMUs and CPUs */
	size_t instance_count;
	const struct uncore_pmu **pmus; /* of each root port, one after the other */
	size_t pmu_count;
	bool needs_root; /* some config space ended too early */
	struct unc_root_buses buses;
	struct unc_die_files dies;
	struct unc_numbered_port *numbered;
};

/* Finds the kernel's numbers of dies, the PMUs of each root port, and the ports of each PMU. -ENOMEM. */
int unc_ports_load(struct unc_ports *out, struct unc_topology *t, struct unc_pci *pci,
		   const struct unc_pmus *pmus);
void unc_ports_finish(struct unc_ports *p);

/* The root ports that a PMU counts when it is counted from `cpu`, in the order of their addresses;
 * borrowed. There may be none. -ENODEV: they are not known (`why` says why). */
int unc_ports_of(const struct unc_ports *p, const struct uncore_pmu *pmu, int cpu,
		 const struct unc_port **ports, size_t *count, struct unc_error *why);

/* A root port of which only the numbers are known that PMUs have for it: its address is
 * "SOCKET:RC:INDEX". The same one for the same numbers; NULL: out of memory. */
const struct uncore_device *unc_ports_numbered(struct unc_ports *p, uint64_t socket, uint64_t rc,
					       uint64_t index);

/* What is at the other end of the PMU's link; the text is kept by `pci`. -ENODEV: it is unknown. */
int unc_ports_peer(struct unc_pci *pci, const struct uncore_pmu *pmu, int cpu,
		   struct uncore_peer *out, struct unc_error *e);

/* The speed of the PMU's link in GT/s, and why it is uncertain. -EACCES: root can read it. -ENODEV, -ENOMEM. */
int unc_ports_speed(const struct unc_pci *pci, const struct uncore_pmu *pmu, int cpu, double *speed,
		    const char **doubt, struct unc_error *e);

#endif
