/* SPDX-License-Identifier: MIT */
/* The parts that filters make of a target. Inside the code of filters. */
#ifndef UNC_SPLIT_H
#define UNC_SPLIT_H

#include "catalogue/ports.h"
#include "count/query.h"

#define UNC_WORD_ROOM 128 /* for one word of the user's */
#define UNC_PART_TERMS 32

/* One target being split. */
struct unc_splitter {
	struct uncore_monitor *m;
	const struct unc_filters *filters;
	const struct unc_family *family;
	const struct uncore_pmu *pmu;
	struct unc_error *why;
	const struct unc_port *ports; /* that the PMU counts */
	size_t port_count;
	bool ports_unknown; /* `why` says why */
	bool separable;     /* the family's filter can distinguish its ports */
	bool restrictable;  /* some event of the metric can be restricted */
};

struct unc_part {
	const struct uncore_device
		*port; /* the only root port in it; NULL: several, or not known */
	struct {
		char name[64];
		uint64_t value;
	} terms[UNC_PART_TERMS];
	size_t term_count;
};

struct unc_parts {
	struct unc_part *items;
	size_t count;
};

/* Adds to `out` what the filter makes of one part. -ENODEV with a sentence: it cannot. */
typedef int unc_split(struct unc_splitter *x, enum unc_filter_kind kind,
		      const struct unc_part *from, struct unc_parts *out);

unc_split unc_split_by_words;   /* terms for each word, in one part */
unc_split unc_split_by_gpus;    /* one mask */
unc_split unc_split_by_choices; /* ranges of addresses, one part each */
unc_split unc_split_by_ports, unc_split_by_device;
unc_split unc_split_by_level; /* a part for each root port, when no port or device is asked for */

int unc_add_part(struct unc_splitter *x, struct unc_parts *out, const struct unc_part *part);
/* Fills in the root ports that the PMU counts from this CPU, or that they are not known. -ENOMEM. */
int unc_splitter_ports(struct unc_splitter *x, int cpu);
/* The sentence that the family has no such filter; -ENODEV. */
int unc_refuse_kind(const struct unc_splitter *x, enum unc_filter_kind kind);
/* The root ports that the user names and this PMU counts: bit n for the n-th. */
unsigned unc_filters_named(struct uncore_monitor *m, const struct uncore_pmu *pmu);

/* Takes the next word of a list that commas separate. 1, 0: end of the list, -EINVAL. */
int unc_next_word(const char **at, char *word);

#endif
