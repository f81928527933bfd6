/* SPDX-License-Identifier: MIT */
/* The catalogue: all families of PMUs, matched to those of a machine. */
#ifndef UNC_CATALOGUE_H
#define UNC_CATALOGUE_H

#include "catalogue/family.h"

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
/* Parses the other built-in families, too: needed to say what this machine does not have. */
int unc_catalogue_complete(struct unc_catalogue *c, struct unc_error *e);
/* uncore_words_find(). */
const struct uncore_words *unc_catalogue_words(struct unc_catalogue *c, const char *word);
void unc_catalogue_finish(struct unc_catalogue *c);

/* True when a pattern such as "nvidia_pcie_pmu_{socket}_rc_{rc}" describes the name. *value is then the number that
 * stands for {word}, and as it was without such a word. */
bool unc_pattern_value(const char *pattern, const char *name, const char *word, uint64_t *value);
#define unc_pattern_matches(pattern, name) unc_pattern_value(pattern, name, NULL, NULL)

/* Encodes an event on one PMU. -ENODEV: the PMU or the CPU model does not have it. */
int unc_event_encode(const struct unc_event_def *event, const struct uncore_pmu *pmu,
		     struct unc_encoding *out, struct unc_error *e);
/* What stands between the slashes for it on this PMU; NULL: the PMU does not have it. */
const char *unc_event_terms(const struct unc_event_def *event, const struct uncore_pmu *pmu);

/* 0: the PMU has every event of the metric, and can be counted. -ENODEV: it does not have one. Else it ought to be
 * counted and cannot be, as `e` says: -EBADMSG: its files in /sys make no sense, -ENXIO: they name no CPU. */
int unc_metric_on(const struct uncore_metric *m, const struct uncore_pmu *pmu, struct unc_error *e);

#endif
