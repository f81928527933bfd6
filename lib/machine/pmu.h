/* SPDX-License-Identifier: MIT */
/* One PMU of the machine: its files in sysfs; events, and how their terms become configuration words. */
#ifndef UNC_PMU_H
#define UNC_PMU_H

#include "base/data-file.h"
#include "machine/topology.h"

struct unc_family; /* catalogue/catalogue.h */

/* An event of a family, as valid on the CPU model the catalogue was loaded for. */
struct unc_event_def {
	bool other_model; /* this CPU model does not have it */
	const char *name, *title, *evidence;
	const char *alias; /* the kernel's name, tried first; NULL: none */
	const char *terms; /* format terms; NULL: none */
	bool kernel_scale; /* multiply by the alias's .scale */
	bool always;       /* never idle: no movement over a long window means a stuck counter */
	bool unfiltered;   /* a clock: the family's filters do not restrict it */
};

/* A term of a family, whose values have names and stand for terms of the driver: "opc" has "RFO", which is
 * "filter_opc=0x180". */
struct unc_named_term {
	bool other_model; /* not for this CPU model */
	bool joined;      /* its values are bits, of which an event may have several */
	const char *name, *title, *evidence;
	struct unc_word *values;
	size_t value_count;
};

struct uncore_pmu {
	char *name;
	char *alias;      /* NULL: none */
	char *identifier; /* NULL: none */
	char *associated; /* `associated_cpus`, a list; NULL: none. Read at first use */
	uint32_t type;
	bool is_core;
	char *broken;            /* why nothing can be counted of it; NULL: it is sound */
	bool has_mask;           /* `cpumask` or `cpus` was there */
	struct unc_cpulist cpus; /* cpumask, else cpus, else every online CPU */
	size_t more_cpus;        /* further ones behind them that read the same registers */

	/* Set by the catalogue: */
	const struct unc_family *family; /* NULL: none knows it */
	const struct unc_driver *driver; /* facts about its driver; NULL: none are known */
	int node;                        /* with UNC_CPU_NODE: of its device; -1: not known */
	const char *absent; /* why the unit that it stands for does not exist; NULL: it does */
	const char *role;   /* what is at its other end; NULL: not known. Of resctrl: the group */
	const struct unc_event_def *defs; /* the family's events, which are aliases, too */
	size_t def_count;
	const struct unc_named_term *named_terms;
	size_t named_term_count;
	bool adds_at_reads;     /* its driver may add the register to the count at each reading */
	unsigned register_bits; /* of the register whose moves its driver adds up; 0: unknown */
	bool register_halves;   /* its driver reads that in two halves */

	size_t unit;      /* of a register block: which instance */
	bool anywhere;    /* the same: the socket of its device is not known, any CPU reads it */
	bool spans_nodes; /* the same: its cache belongs to several NUMA nodes */
	const char *directory; /* of a group of resctrl: that of its files */
	const struct unc_root *root;
	struct unc_vendor *vendor; /* of the machine; NULL: none */
	struct unc_error *error;   /* of the machine, for lazy loads */

	bool no_files; /* of a register block or resctrl: what follows is there, but for the family's */
	bool loaded; /* what follows is read at first use */
	struct uncore_term *terms;
	size_t term_count;
	struct uncore_alias *aliases; /* the driver's, then events that only the family names */
	size_t alias_count;
	struct uncore_cap *caps;
	size_t cap_count;
	struct unc_names strings; /* what these point to */
	struct unc_names fixed;   /* fields of a register block that are no terms: "NAME: why" */
};

struct unc_pmus {
	struct uncore_pmu *items; /* ordered by strverscmp of name */
	size_t count;
	struct unc_vendor *vendor;
};

/* All PMUs below sys/bus/event_source/devices; none at all is not an error. A PMU whose `type` is
 * missing or makes no sense, or whose cpumask does not, is kept as `broken`: one odd directory must not
 * hide all the others. `error` is kept for lazy loads. */
int unc_pmus_read(struct unc_pmus *out, const struct unc_root *root,
		  const struct unc_topology *topology, struct unc_error *error);
void unc_pmus_finish(struct unc_pmus *p);

/* CPUs of its mask: `cpus`, and behind them further ones that read the same registers. */
static inline size_t unc_pmu_mask(const struct uncore_pmu *p)
{
	return p->cpus.count + p->more_cpus;
}

bool unc_pmu_has_cpu(const struct uncore_pmu *p, int cpu);

/* Reads format/, events/ and caps/ if that has not been done. -ENOMEM, or -EBADMSG. */
int unc_pmu_load(const struct uncore_pmu *p);
const struct uncore_term *unc_pmu_term(const struct uncore_pmu *p, const char *name);
/* Whether it has the terms of all assignments of a list, wide enough for their values. */
bool unc_pmu_has_terms(const struct uncore_pmu *p, const char *list);
const struct uncore_alias *unc_pmu_alias(const struct uncore_pmu *p, const char *name);
/* The same; if there is none, the vendor's event of this name. */
const struct uncore_alias *unc_pmu_event(const struct uncore_pmu *p, const char *name);
/* The vendor's events for this CPU model; NULL: none. */
const struct uncore_alias *unc_pmu_vendor_events(const struct uncore_pmu *p, size_t *count);
/* The terms that a value of a term of the family stands for; NULL: it has no such value. */
const char *unc_pmu_named_value(const struct uncore_pmu *p, const char *term, const char *value,
				bool *joined);

/* The socket of all CPUs of its mask or, where that is empty because they are offline, of all that its driver lists as
 * those of the hardware; -1: not known, or several. */
int unc_pmu_socket(const struct uncore_pmu *p, const struct unc_topology *t);

/* An attribute file of the PMU ("peer", "die0"), trimmed, the caller's to free; -ENOENT. */
int unc_pmu_attribute(const struct uncore_pmu *p, const char *name, char **out);

/* perf's rule: `pattern` is a glob, or the name (with or without "uncore_"), or the name without
 * its last _digits or _hexadecimal (longer than 2) suffix; the same for the alias file's name. */
bool unc_pmu_matches(const struct uncore_pmu *p, const char *pattern);
/* The rule on bare strings, for tests and fuzzing. */
bool unc_pmu_name_matches(const char *name, const char *pattern);

/* ---- event.c: perf's event syntax, as text, for which no machine is needed; fuzzed ---- */

struct unc_event {
	char *text;         /* as written, "uncore_imc/event=4/" with its modifier */
	char *pmu;          /* before the first slash; NULL: a bare alias name */
	char *terms;        /* between the slashes, or the bare name */
	uint32_t modifiers; /* UNC_MOD_*, the group's own included */
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

/* Parses a list. -EINVAL with a sentence that shows the text and marks the column. At most 4096
 * events. perf's commas inside slashes, spaces around commas and braces, "{a,b}:W", "a/b/:u" and
 * "a/b/u" are taken; a group in a group, an empty group or an empty event are errors. */
int unc_events_parse(const char *text, struct unc_events *out, struct unc_error *e);
void unc_events_finish(struct unc_events *l);

/* What terms and aliases between the slashes came to. */
struct unc_encoding {
	struct unc_config config;
	const struct uncore_alias *alias; /* the alias that was used; NULL: none */
	char name[128];                   /* of a name= term; "" */
	int cpu;                          /* of a cpu= term; -1 */
};

/* "event=0x04,umask=0x03", "cas_count_read", "event=cas_count_read", "cycles,gpu_mask=1,name=x",
 * "config=0x10", "r304". Without an alias the words are perf's: whole words first, then terms, all
 * bits added up. Terms of the user replace those of the alias (perf adds the bits of both, which
 * counts something else). A bare name that is a term and an alias is the term. Errors: unknown name
 * (says what exists, offers the nearest), too wide a value, a term given twice, a placeholder
 * without value, two aliases. -EINVAL; -EBADMSG: an alias file itself is wrong. */
int unc_pmu_encode(const struct uncore_pmu *p, const char *terms, struct unc_encoding *out,
		   struct unc_error *e);

/* ---- vendors' names of events, by CPU model, from data/names, whose format tools/make-names describes ---- */

/* The events of PMUs of one name. */
struct unc_vendor_unit {
	const char *pmu;             /* without the number */
	struct uncore_alias *events; /* ordered by strverscmp of name */
	size_t count;
};

struct unc_vendor {
	const struct unc_topology *topology; /* borrowed */
	bool loaded;                         /* at first use */
	struct unc_vendor_unit *units;       /* none: there are no names for this CPU */
	size_t count;
	struct unc_names strings;
};

/* Parses these names, in the format of data/names, or those of the library (NULL), in place of others. -ENOMEM. */
int unc_vendor_load(struct unc_vendor *v, const char *text);
void unc_vendor_finish(struct unc_vendor *v);
/* The vendor's names of the library. */
const char *unc_vendor_text(const struct unc_topology *t);
/* "intel/6/85/0-4": this CPU, with a stepping from 0 to 4. */
bool unc_vendor_is_cpu(const struct unc_topology *t, const char *cpu);
/* Describes an event that is given by its code, if the vendor's list has the code for another event on an older
 * CPU, or not without a umask: "is A on this CPU, and was B on ...", the caller's to free; else NULL. -ENOMEM. */
int unc_vendor_describe(const struct uncore_pmu *p, const struct unc_config *config, char **out);

#endif
