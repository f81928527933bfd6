/* SPDX-License-Identifier: MIT */
/* The kernel's lists of numbers: "0-3,8". */
#include "base/cpulist.h"
#include "base/text.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#define CPUS_MOST 65536

static int take_number(const char **text, unsigned most, unsigned *out)
{
	unsigned number = 0;

	if (!unc_is_digit(**text))
		return -EINVAL;
	for (; unc_is_digit(**text); (*text)++) {
		number = number * 10 + (unsigned)(**text - '0');
		if (number > most)
			return -EINVAL;
	}
	*out = number;
	return 0;
}

int unc_range_take(const char **text, unsigned most, unsigned *first, unsigned *last)
{
	if (take_number(text, most, first) < 0)
		return -EINVAL;
	*last = *first;
	if (**text == '-') {
		(*text)++;
		if (take_number(text, most, last) < 0)
			return -EINVAL;
	}
	if (!**text)
		return 0;
	return *(*text)++ == ',' && **text ? 0 : -EINVAL;
}

int unc_cpulist_parse(const char *text, struct unc_cpulist *out)
{
	uint64_t set[CPUS_MOST / 64] = {0}; /* order and duplicates do not matter for bits */
	size_t count = 0, n = 0;
	unsigned first, last;
	int *ids = NULL;

	while (*text) {
		if (unc_range_take(&text, CPUS_MOST - 1, &first, &last) < 0 || last < first)
			return -EINVAL;
		for (unsigned id = first; id <= last; id++)
			set[id / 64] |= (uint64_t)1 << (id % 64);
	}
	for (size_t i = 0; i < CPUS_MOST / 64; i++)
		count += (size_t)__builtin_popcountll(set[i]);
	if (count && !(ids = malloc(count * sizeof(*ids))))
		return -ENOMEM;
	for (int id = 0; n < count; id++)
		if (set[id / 64] >> (id % 64) & 1)
			ids[n++] = id;
	*out = (struct unc_cpulist){.ids = ids, .count = count};
	return 0;
}

static int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

bool unc_cpulist_has(const struct unc_cpulist *l, int cpu)
{
	return l->count && bsearch(&cpu, l->ids, l->count, sizeof(*l->ids), compare);
}

void unc_cpulist_finish(struct unc_cpulist *l)
{
	free(l->ids);
	*l = (struct unc_cpulist){0};
}
