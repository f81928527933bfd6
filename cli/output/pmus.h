/* SPDX-License-Identifier: MIT */
/* PMUs side by side: names that differ in their last number, and lists of CPUs. */
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

/* Length of the name before "_NUMBER" (decimal, or hexadecimal of three digits and more); 0 when it
 * does not end in one. perf and this library take the shorter name for all of them. */
size_t pmu_stem(const char *name);

/* True when PMUs of its stem are not all of one family and one identifier: the kernel has one name
 * for all parts that it does not know. */
bool pmus_mixed(const struct pmus *p, size_t i);

/* How many PMUs from `first` on have its stem, and are of one kind; 0: behind the last one. */
size_t pmus_alike(const struct pmus *p, size_t first);

/* "uncore_imc_{0-7}" for `count` PMUs that are alike, or the name of one. */
void pmus_name(const struct pmus *p, size_t first, size_t count, struct buffer *to);

/* "uncore_imc", or the full name of one. */
void pmus_short_name(const struct pmus *p, size_t first, size_t count, struct buffer *to);

/* Sorts, and removes equal numbers. Returns how many are left. */
size_t pmus_sort_ids(int *ids, size_t count);

/* "0-7,9" from ascending numbers. */
void pmus_ranges(const int *ids, size_t count, struct buffer *to);

/* "0,28" or "0-71": all CPUs from which they are counted. */
void pmus_cpus(const struct pmus *p, size_t first, size_t count, struct buffer *to);

#endif
