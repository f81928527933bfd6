/* SPDX-License-Identifier: MIT */
/* Several PMUs in one line: those whose names differ only in the last number, and their CPUs. */
#ifndef CLI_PMUS_H
#define CLI_PMUS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "uncore.h"

/* Some PMUs of a machine, in its order. */
struct pmus {
	const struct uncore_pmu **items;
	size_t count;
};

/* The PMUs that `keep` accepts; NULL: all. */
void pmus_select(struct pmus *p, const struct uncore *u,
		 bool (*keep)(const struct uncore_pmu *pmu, const void *arg), const void *arg);
void pmus_free(struct pmus *p);
/* Freed where its block ends. */
#define auto_pmus __attribute__((cleanup(pmus_free))) struct pmus

/* The stem of a name: its length in front of "_NUMBER", which is decimal, or hexadecimal with three
 * digits or more; 0: it does not end in a number. perf and this library take the stem for all PMUs
 * that have it. */
size_t pmu_stem(const char *name);

/* True when the PMUs of its stem have several families or identifiers. The kernel gives one name to
 * all parts that it does not know. */
bool pmus_mixed(const struct pmus *p, size_t i);

/* The number of PMUs from `first` on that are alike: they have its stem, and are not mixed. 0:
 * `first` is behind the last one. */
size_t pmus_alike(const struct pmus *p, size_t first);

/* Whether no PMU before it has its stem. */
bool pmus_begin_stem(const struct pmus *p, size_t i);

/* "uncore_imc_{0-7}" for `count` PMUs that are alike, or the name of one. */
void pmus_name(const struct pmus *p, size_t first, size_t count, struct buffer *to);

/* "uncore_imc", or the full name of one. */
void pmus_short_name(const struct pmus *p, size_t first, size_t count, struct buffer *to);

/* Sorts, and removes equal numbers. Returns how many are left. */
size_t pmus_sort_ids(int *ids, size_t count);

/* "0-7,9" for ascending numbers. */
void pmus_ranges(const int *ids, size_t count, struct buffer *to);

/* "0,28" or "0-71": the CPUs on which these PMUs are counted. */
void pmus_cpus(const struct pmus *p, size_t first, size_t count, struct buffer *to);

#endif
