/* SPDX-License-Identifier: MIT */
/* Pure text work: lists of CPUs, `format/` contents, values into bits, alias contents. Fuzzed. */
#ifndef UNC_FORMAT_H
#define UNC_FORMAT_H

#include "base/text.h"

/* The kernel's lists of numbers: "0-3,8". */
struct unc_cpulist {
	int *ids; /* ascending, no duplicates */
	size_t count;
};

/* Takes "8" or "0-3" and the comma behind it from the text. -EINVAL: something else, numbers over
 * `most`, nothing after the comma. */
int unc_range_take(const char **text, unsigned most, unsigned *first, unsigned *last);

/* An empty text is an empty list. -EINVAL: anything else than a list, ids over 65535; -ENOMEM. */
int unc_cpulist_parse(const char *text, struct unc_cpulist *out);
bool unc_cpulist_has(const struct unc_cpulist *l, int cpu);
void unc_cpulist_finish(struct unc_cpulist *l);

struct unc_config {
	uint64_t word[4];
};

/* "config1:0-7,21" -> word 1 and its bits. "config1" alone is the whole word. Decimal bit numbers
 * 0..63, ranges ascending or reversed; overlap is allowed. -EINVAL. */
int unc_format_parse(const char *text, int *word, uint64_t *bits);

/* Puts `value` into the bits, lowest listed bit first, as perf does; replaces what those bits held.
 * -ERANGE (nothing written) when it is wider than the field. */
int unc_format_put(uint64_t bits, uint64_t value, uint64_t *word);

/* One "name", "name=value" or "name=?" of a term list. */
struct unc_assignment {
	char name[64];
	char value[128]; /* "" when there was no '=' */
	bool has_value;
};

/* Takes the next assignment from a comma-separated list and moves *text past it and its comma. 1:
 * one was taken, 0: end of list, -EINVAL: not an assignment (empty name or value, name or value too
 * long, nothing after a comma, ...). White space around names and values is ignored. A value may
 * be between single quotation marks, and then contain anything else. */
int unc_assignment_next(const char **text, struct unc_assignment *out);

#endif
