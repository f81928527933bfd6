/* SPDX-License-Identifier: MIT */
/* The kernel's lists of numbers: "0-3,8". */
#ifndef UNC_CPULIST_H
#define UNC_CPULIST_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
