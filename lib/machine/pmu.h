/* SPDX-License-Identifier: MIT */
/* A PMU of the machine: its files in sysfs, its events, and how terms become configuration
 * words. */
#ifndef UNC_PMU_H
#define UNC_PMU_H

#include "base/data-file.h"
#include "machine/topology.h"

struct unc_family; /* catalogue/catalogue.h */

/* Which source reads a PMU. */
enum unc_source_kind {
	UNC_SOURCE_KERNEL,
	UNC_SOURCE_FILES,   /* a device that counts in files, see source/devices */
	UNC_SOURCE_NVML,    /* a GPU that its vendor's library NVML reads, see source/nvml */
	UNC_SOURCE_RESCTRL, /* a group of tasks, see source/resctrl */
	UNC_SOURCE_KINDS,
};

/* The path of a cgroup, and more. */
#define UNC_LABEL_ROOM 8192

/* A group of resctrl that this process has made, and into which it moves tasks. */
struct unc_slot {
	char name[48];              /* its directory below mon_groups */
	char label[UNC_LABEL_ROOM]; /* whose tasks it had in the interval that ended; "": none */
	char next[UNC_LABEL_ROOM];  /* whose it has now */
	int dir; /* its directory, with a lock that ends with the process: others see by it that
		    the group is in use; -1: it was removed */
	uint64_t since_ns;     /* it has these; 0: it never had any */
	size_t denied, wanted; /* so many of these may not be moved into it */
	bool strangers;        /* tasks of former owners may not be moved out of it */
	bool changed;          /* it got others since the latest reading */
	bool mixed;            /* at the latest reading the cache had lines from before that */
};

/* What a reading of a device is, besides a count of events. */
enum unc_nvml_call {
	UNC_NVML_NONE,
	UNC_NVML_MEMORY_PEAK, /* what the GPU's memory can transfer at most, in B/s: a state */
	/* The bytes that it has transferred: GPM's share of time times this peak. */
	UNC_NVML_MEMORY_BYTES,
	/* The largest payload of the PCIe packets that the GPU may send, in bytes: a state; 0:
	 * unknown. */
	UNC_NVML_PACKET_SIZE,
};

/* Which links of a GPU a field counts. */
enum unc_nvml_links {
	UNC_LINKS_NONE, /* it is not about links */
	UNC_LINKS_ALL,  /* the library adds them up */
	UNC_LINKS_SUM,  /* the library has it for one link at a time */
};

/* Where a device has one of its counts. */
struct unc_device_read {
	/* Versions of the layout that have it there, "1.8", or of a certain size, "1.6:384"; NULL:
	 * all. */
	const char *versions;
	bool cheap;         /* less exact; it is for programs that count all the time */
	double error_share; /* its count may be off by this share of it; 0: it is exact */
	/* What the device counts of the reading itself, each time; 0: nothing. */
	unsigned own;
	/* UNC_SOURCE_FILES: */
	const char *file; /* below the device's directory; the files of a glob are added up */
	/* Text: a number, or a word of a line. */
	const char *line; /* the first word of the line; NULL: the first line */
	unsigned column;  /* the word of the line, from 1 */
	/* Binary: a number of so many bytes at an offset. With `high` the file has the upper half
	 * of the number there. */
	unsigned bytes; /* 0: text */
	unsigned at, high;
	unsigned values; /* so many adjacent numbers are added up; 0: one */
	unsigned bits;   /* after which this one wraps; 0: those of the event */
	unsigned times;  /* the number is multiplied by this, for alternatives in other units */
	bool has_high;
	/* Binary, as a list of attributes: the number of the attribute, and which of its
	 * values. */
	unsigned attribute, index;
	bool has_attribute;
	/* UNC_SOURCE_NVML: a field, a metric of GPM, or a call. */
	unsigned field, gpm;
	enum unc_nvml_links links; /* of the field */
	unsigned first_link; /* the metric of link 0; that of the next one is its number plus 2 */
	enum unc_nvml_call call;
};

/* How the devices of a family are found. */
struct unc_device_rule {
	const char *directories; /* a glob below the root: "sys/class/nvme/nvme*" */
	/* The PMU's: in "{1}_port_{2}" the names of the first and the second directory that are
	 * found by a glob, in "nvidia_gpu_{n}" a number from 0. */
	const char *name;
	const char *except; /* globs, separated by blanks, of names of directories */
	struct unc_word
		*only; /* a file of the directory, and globs of which its text matches one */
	size_t only_count;
	struct unc_word *not_if; /* a file, and globs of which its text, if any, matches none */
	size_t not_if_count;
	const char *has; /* a file or directory that it must have; NULL: any */
	/* Where the number of its CPU package is, or the kernel's number of its die: a file of the
	 * directory, or a pattern of the directory's name, "package_{package}_die_{die}". NULL: its
	 * package is unknown, or follows from the node of its PCI function. */
	const char *package, *die;
	/* The kernel module without which the running machine has none; NULL: none. */
	const char *module;
};

/* The file that names the version of a device's other files. */
struct unc_device_layout {
	const char *file; /* NULL: there is only one version */
	/* In a binary file: offsets of the size of its structure (16 bits) and of its version (two
	 * bytes, "1.4"). Otherwise the text of the file is the version. */
	unsigned size, version;
	bool binary;
};

/* An event of a family, for the CPU model for which the catalogue was loaded. */
struct unc_event_def {
	bool other_model; /* this CPU model does not have it */
	const char *name, *title, *evidence;
	const char *alias; /* the kernel's name, which is tried first; NULL: none */
	const char *terms; /* format terms; NULL: none */
	const char *has;   /* a path that the PCI function of the PMU must have; NULL: none */
	bool optional;     /* a PMU may lack it, which only opening shows; then there are no rows */
	bool kernel_scale; /* the value is multiplied by the alias's .scale */
	const char *where; /* for a device: `reads` in words; else NULL */
	bool always;       /* never idle: if it does not move for long, the counter is stuck */
	bool unfiltered;   /* a clock: the family's filters do not restrict it */
	/* For a device: where the count is, in the order in which they are tried. */
	const struct unc_device_read *reads;
	size_t read_count;
	bool state;         /* a current value, not a count */
	unsigned saturates; /* a number of so many bits, all set, is not a count; 0: none */
	unsigned bits;      /* after which it wraps; 0: 64, or the width of its field */
};

/* A term of a family whose values have names. A name stands for terms of the driver: "RFO" of "opc"
 * is "filter_opc=0x180". */
struct unc_named_term {
	bool other_model; /* not for this CPU model */
	bool joined;      /* its values are bits, and an event may have several of them */
	const char *name, *title, *evidence;
	struct unc_word *values;
	size_t value_count;
};

struct uncore_pmu {
	char *name;
	char *alias;      /* NULL: none */
	char *identifier; /* NULL: none */
	char *associated; /* the file `associated_cpus`, a list, read at first use; NULL: none */
	bool associated_read;
	uint32_t type;
	bool is_core;
	char *broken;            /* why it cannot count; NULL: it can */
	bool has_mask;           /* it has a file `cpumask` or `cpus` */
	struct unc_cpulist cpus; /* cpumask, else cpus, else every online CPU */
	size_t more_cpus;        /* further CPUs behind them, which read the same registers */

	/* Set by the catalogue: */
	const struct unc_family *family; /* NULL: it belongs to no family */
	const char *pattern;             /* of the family, that its name has */
	const struct unc_driver *driver; /* facts about its driver; NULL: unknown */
	/* With UNC_CPU_NODE: the node of its device; -1: unknown. */
	int node;
	bool in_package; /* for a device: it belongs to the package of its CPU */
	enum unc_source_kind source;
	/* The PCI function that it belongs to, "0000:17:00.0", of a device or of a PMU that its
	 * driver registers for it; NULL: none. */
	const char *pci;
	const struct unc_device_layout *layout; /* the same; NULL: there is only one */
	const char *runtime_status; /* the same: the file with its state of power; NULL: none */
	bool version_read;          /* the next member is set */
	char *version;      /* of the device's files; "": there is only one; NULL: unknown */
	const char *absent; /* why its hardware does not exist; NULL: it exists */
	/* The device at the other end of its link, or its group of resctrl; NULL: unknown. */
	const char *role;
	const struct unc_event_def *defs; /* the family's events, which are also aliases */
	size_t def_count;
	const struct unc_named_term *named_terms;
	size_t named_term_count;
	bool adds_at_reads;     /* its driver may add the register to the count at each reading */
	unsigned register_bits; /* width of the register that its driver reads; 0: unknown */
	bool register_halves;   /* its driver reads this register in two halves */

	size_t unit;      /* for a register block: the number of the instance */
	bool anywhere;    /* the same: the socket of its device is unknown, and any CPU reads it */
	bool spans_nodes; /* for a group of resctrl: its cache belongs to several NUMA nodes */
	struct unc_slot *slot; /* the same, if this process has made it; else NULL */
	/* For a device, or a group of resctrl: the directory of its files. */
	const char *directory;
	const struct unc_root *root;
	struct unc_vendor *vendor; /* the machine's; NULL: none */
	struct unc_error *error;   /* the machine's, for what is read at first use */

	/* A register block, a device or resctrl: has no files of a PMU, so all below except the
	 * family's part is set. */
	bool no_files;
	bool loaded; /* the members below are read at first use */
	struct uncore_term *terms;
	size_t term_count;
	struct uncore_alias *aliases; /* the driver's, then events that only the family has */
	size_t alias_count;
	struct uncore_cap *caps;
	size_t cap_count;
	struct unc_names strings; /* texts of the arrays above */
	struct unc_names fixed;   /* fields of a register block that are not terms: "NAME: why" */
};

struct unc_pmus {
	struct uncore_pmu *items; /* ordered by strverscmp of name */
	size_t count;
	struct unc_vendor *vendor;
};

/* Reads all PMUs below sys/bus/event_source/devices; it is no error if there are none. A PMU whose
 * `type` or cpumask is missing or malformed is kept as `broken`: one bad directory must not hide
 * the others. `error` is kept for files that are read at first use. */
int unc_pmus_read(struct unc_pmus *out, const struct unc_root *root,
		  const struct unc_topology *topology, struct unc_error *error);
void unc_pmus_finish(struct unc_pmus *p);
/* Moves all of `more` to the others, in the order of their names. -ENOMEM. */
int unc_pmus_join(struct unc_pmus *p, struct unc_pmus *more);
/* Frees the PMU's members; those of a new one are all zero. */
void unc_pmu_finish(struct uncore_pmu *p);

/* The number of CPUs in its mask: `cpus`, and after them CPUs that read the same registers. */
static inline size_t unc_pmu_mask(const struct uncore_pmu *p)
{
	return p->cpus.count + p->more_cpus;
}

bool unc_pmu_has_cpu(const struct uncore_pmu *p, int cpu);

/* Whether it is a device that counts itself. */
static inline bool unc_pmu_is_device(const struct uncore_pmu *p)
{
	return p->source == UNC_SOURCE_FILES || p->source == UNC_SOURCE_NVML;
}

/* Whether it counts only its own device, so that a row of it needs no filter by device. */
static inline bool unc_pmu_is_own(const struct uncore_pmu *p)
{
	return unc_pmu_is_device(p) || p->pci;
}

/* The term of a device's events, with all bits of the first configuration word. */
#define UNC_DEVICE_TERM "event"
/* The term for some of the device's links: a bit for each; 0: all of them together. */
#define UNC_LINKS_TERM "links"
#define UNC_LINKS_WORD 1
/* The number of the link that the terms select; -1: none, -2: several. */
static inline int unc_device_link(const uint64_t config[static 2])
{
	uint64_t links = config[UNC_LINKS_WORD];

	return !links ? -1 : links & (links - 1) ? -2 : __builtin_ctzll(links);
}
/* Whether the count can be of one link. */
static inline bool unc_device_read_has_links(const struct unc_device_read *read)
{
	return read->links || read->first_link || read->values;
}
/* Its value: the code of the event, a hash of its name. Recordings have it. */
static inline uint64_t unc_device_code(const char *name)
{
	return unc_hash(name, strlen(name));
}
/* The event of a device that a counter counts. */
static inline const struct unc_event_def *unc_device_event_of(const struct uncore_counter *c)
{
	for (size_t i = 0; i < c->pmu->def_count; i++)
		if (unc_device_code(c->pmu->defs[i].name) == c->config[0])
			return &c->pmu->defs[i];
	return NULL;
}

/* ---- device.c: which of its family's events a device has, and where ---- */

/* The version in the contents of the layout's file, of a binary one with the size that it names
 * ("1.6:384"). False: there is none. Pure; fuzzed. */
bool unc_device_version(const struct unc_device_layout *layout, const char *data, size_t len,
			char into[static 64]);
/* Whether a version has the number there. */
bool unc_device_has_version(const struct unc_device_read *read, const char *version);
/* In a snapshot: the directory of what the library of GPUs said when it was made, by PCI
 * function. */
#define UNC_ANSWERS "run/uncore/nvml"
/* The text of its file, which the caller frees; NULL: none, or this is the running machine. */
char *unc_device_answers(const struct uncore_pmu *pmu);
/* Whether the text of the file with a device's state of power says that it is suspended. */
bool unc_device_is_suspended(const char *status);
/* Whether that file exists and says so: reading the device would wake it. */
bool unc_device_sleeps(const struct unc_root *root, const char *file);
/* Reads the version of the device's files; "": there is only one. Returns 0, -ENOMEM or -ENODEV
 * with a sentence. */
int unc_device_read_version(const struct uncore_pmu *p, const struct unc_root *root,
			    char into[static 64], struct unc_error *why);
/* Where a device of this version has the event: the first alternative for the version whose file
 * exists. A file without alternatives is not looked for, since it may come later. NULL, with a
 * sentence: the device does not have the event. */
const struct unc_device_read *unc_device_find_read(const struct uncore_pmu *p,
						   const struct unc_root *root,
						   const struct unc_event_def *event,
						   const char *version, struct unc_error *why);
/* True, with a sentence, if the device, or the PMU of one, cannot have the event. The version of a
 * device's files is read once, at first use. A device whose version cannot be read now, such as a
 * suspended one, may have all events. */
bool unc_device_lacks(const struct uncore_pmu *p, const struct unc_event_def *event,
		      struct unc_error *why);

/* Reads format/, events/ and caps/ unless they have been read. Returns 0, -ENOMEM or -EBADMSG. */
int unc_pmu_load(const struct uncore_pmu *p);
const struct uncore_term *unc_pmu_term(const struct uncore_pmu *p, const char *name);
/* True if the PMU has the terms of all assignments in the list, and each is wide enough for its
 * value. */
bool unc_pmu_has_terms(const struct uncore_pmu *p, const char *list);
const struct uncore_alias *unc_pmu_alias(const struct uncore_pmu *p, const char *name);
/* The alias of this name or, if there is none, the vendor's event of this name. */
const struct uncore_alias *unc_pmu_event(const struct uncore_pmu *p, const char *name);
/* The vendor's events for this CPU model; NULL if there are none. */
const struct uncore_alias *unc_pmu_vendor_events(const struct uncore_pmu *p, size_t *count);
/* The terms that a value of a term of the family stands for; NULL if there is no such value. */
const char *unc_pmu_named_value(const struct uncore_pmu *p, const char *term, const char *value,
				bool *joined);

/* The socket of all CPUs of the PMU's mask. If the mask is empty because they are offline: the
 * socket of all CPUs that its driver lists for the hardware. -1: unknown, or several sockets. */
int unc_pmu_socket(const struct uncore_pmu *p, const struct unc_topology *t);

/* Reads an attribute file of the PMU ("peer", "die0") and trims it. The caller frees the text.
 * Returns 0 or -ENOENT. */
int unc_pmu_attribute(const struct uncore_pmu *p, const char *name, char **out);

/* perf's rule. `pattern` is a glob, or the name (with or without "uncore_"), or the name without
 * its last suffix of _digits or _hexadecimal (longer than 2). The alias file's name matches by the
 * same rule. */
bool unc_pmu_matches(const struct uncore_pmu *p, const char *pattern);
/* The same rule for two texts, for tests and fuzzing. */
bool unc_pmu_name_matches(const char *name, const char *pattern);

/* ---- event.c: perf's event syntax, as text; needs no machine; fuzzed ---- */

struct unc_event {
	char *text;         /* as written, "uncore_imc/event=4/" with its modifier */
	char *pmu;          /* before the first slash; NULL: a bare alias name */
	char *terms;        /* between the slashes, or the bare name */
	uint32_t modifiers; /* UNC_MOD_*, with those of the group */
	int group;          /* -1: none; else the number of its "{}" in the list, from 0 */
	size_t pos;         /* byte offset in the list, for messages */
};

enum {
	UNC_MOD_USER = 1u << 0,        /* u */
	UNC_MOD_KERNEL = 1u << 1,      /* k */
	UNC_MOD_HV = 1u << 2,          /* h */
	UNC_MOD_NO_IDLE = 1u << 3,     /* I: exclude_idle */
	UNC_MOD_GUEST = 1u << 4,       /* G */
	UNC_MOD_HOST = 1u << 5,        /* H */
	UNC_MOD_PINNED = 1u << 6,      /* D */
	UNC_MOD_EXCLUSIVE = 1u << 7,   /* e */
	UNC_MOD_WEAK = 1u << 8,        /* W: a group that may be split */
	UNC_MOD_SAMPLE_READ = 1u << 9, /* S: no meaning for counting */
	UNC_MOD_BPF = 1u << 10,        /* b */
	UNC_MOD_PRECISE = 1u << 11,    /* p, P: no meaning for counting */
};

struct unc_events {
	struct unc_event *items;
	size_t count;
	size_t group_count;
};

/* Parses a list of at most 4096 events. On -EINVAL the sentence shows the text and marks the
 * column. As in perf, commas may be inside slashes, spaces around commas and braces, and modifiers
 * in "{a,b}:W", "a/b/:u" and "a/b/u". A group in a group, an empty group and an empty event are
 * errors. */
int unc_events_parse(const char *text, struct unc_events *out, struct unc_error *e);
void unc_events_finish(struct unc_events *l);

/* The result of encoding the terms and aliases between the slashes. */
struct unc_encoding {
	struct unc_config config;
	const struct uncore_alias *alias; /* the alias that was used; NULL: none */
	char name[128];                   /* from a name= term; else "" */
	int cpu;                          /* from a cpu= term; else -1 */
};

/* Encodes terms: "event=0x04,umask=0x03", "cas_count_read", "event=cas_count_read",
 * "cycles,gpu_mask=1,name=x", "config=0x10", "r304".
 *
 * Without an alias the words are perf's: whole words are put first, then terms, and all bits add
 * up. The user's terms replace those of the alias. (perf adds the bits of both, which counts
 * something else.) A bare name that is both a term and an alias is the term.
 *
 * Returns -EINVAL for an unknown name (the sentence lists the known ones and suggests the nearest),
 * a value that is too wide, a term given twice, a placeholder without value, and two aliases.
 * Returns -EBADMSG if an alias file itself is wrong. */
int unc_pmu_encode(const struct uncore_pmu *p, const char *terms, struct unc_encoding *out,
		   struct unc_error *e);

/* ---- names.c: vendors' names of events, by CPU model; tools/make-names has the format ---- */

/* The vendor's events of all PMUs of one name. */
struct unc_vendor_unit {
	const char *pmu;             /* the name without its number */
	struct uncore_alias *events; /* ordered by strverscmp of name */
	size_t count;
};

struct unc_vendor {
	const struct unc_topology *topology; /* borrowed */
	bool loaded;                         /* names are read at first use */
	struct unc_vendor_unit *units;       /* NULL: there are no names for this CPU */
	size_t count;
	struct unc_names strings;
};

/* Replaces the names by those of `text`, which has the format of data/names, or by the library's
 * (NULL). Returns 0 or -ENOMEM. */
int unc_vendor_load(struct unc_vendor *v, const char *text);
void unc_vendor_finish(struct unc_vendor *v);
/* The library's text of the vendor's names. */
const char *unc_vendor_text(const struct unc_topology *t);

#define UNC_VENDOR_MODELS 64

/* The reader of such a text; `topology` and `text` are set before the first event. */
struct unc_vendor_reader {
	const struct unc_topology *topology;
	char *text; /* the rest of it, which is cut: all others point into it */
	const char *models[UNC_VENDOR_MODELS]; /* from the oldest to that of this CPU, or all */
	size_t model_count;
	uint64_t here; /* the bit of this CPU's model; 0: the text does not have it */
	/* The event: the unit's PMUs, without number, and a bit for each model that has it; */
	const char *pmu;
	uint64_t of_models;
	const char *base, *rest;           /* the parts of its name: "UNC_M_CAS_COUNT", ".RD"; */
	const char *event, *umask, *terms; /* hexadecimal; further terms of it, or ""; */
	const char *title;                 /* NULL: none */
};

/* Reads the next event. False: there is none. */
bool unc_vendor_next(struct unc_vendor_reader *r);

/* Describes an event that is given by its code, if the vendor's list has this code for another
 * event on an older CPU, or only with a umask: "is A on this CPU, and was B on ...". The caller
 * frees the text; NULL otherwise. Returns 0 or -ENOMEM. */
int unc_vendor_describe(const struct uncore_pmu *p, const struct unc_config *config, char **out);

#endif
