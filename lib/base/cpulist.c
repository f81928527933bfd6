/* SPDX-License-Identifier: MIT */
/* The kernel's CPU lists: "0-3,8". */
#include "base/cpulist.h"
#include "base/ascii.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#define MOST 65536

/* Order and duplicates do not matter while the CPUs are bits. */
struct set {
	uint64_t words[MOST / 64];
};

static int take_id(const char **at, unsigned *out)
{
	unsigned id = 0;

	if (!unc_is_digit(**at))
		return -EINVAL;
	for (; unc_is_digit(**at); (*at)++) {
		id = id * 10 + (unsigned)(**at - '0');
		if (id >= MOST)
			return -EINVAL;
	}
	*out = id;
	return 0;
}

static int take_range(const char **at, struct set *set)
{
	unsigned first, last;

	if (take_id(at, &first) < 0)
		return -EINVAL;
	last = first;
	if (**at == '-') {
		(*at)++;
		if (take_id(at, &last) < 0 || last < first)
			return -EINVAL;
	}
	for (unsigned id = first; id <= last; id++)
		set->words[id / 64] |= (uint64_t)1 << (id % 64);
	return 0;
}

static int take_list(const char *text, struct set *set)
{
	if (!*text)
		return 0;
	for (;;) {
		if (take_range(&text, set) < 0)
			return -EINVAL;
		if (!*text)
			return 0;
		if (*text++ != ',')
			return -EINVAL;
	}
}

static size_t set_count(const struct set *set)
{
	size_t count = 0;

	for (size_t i = 0; i < MOST / 64; i++)
		count += (size_t)__builtin_popcountll(set->words[i]);
	return count;
}

int unc_cpulist_parse(const char *text, struct unc_cpulist *out)
{
	struct set set = {{0}};
	size_t count, n = 0;
	int *ids = NULL;

	if (take_list(text, &set) < 0)
		return -EINVAL;
	count = set_count(&set);
	if (count) {
		ids = malloc(count * sizeof(*ids));
		if (!ids)
			return -ENOMEM;
	}
	for (int id = 0; n < count; id++)
		if (set.words[id / 64] >> (id % 64) & 1)
			ids[n++] = id;
	*out = (struct unc_cpulist){.ids = ids, .count = count};
	return 0;
}

bool unc_cpulist_has(const struct unc_cpulist *l, int cpu)
{
	size_t low = 0, high = l->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (l->ids[middle] == cpu)
			return true;
		if (l->ids[middle] < cpu)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

void unc_cpulist_finish(struct unc_cpulist *l)
{
	free(l->ids);
	*l = (struct unc_cpulist){0};
}
