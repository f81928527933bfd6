/* SPDX-License-Identifier: MIT */
#include "output/pmus.h"

#include <stdlib.h>
#include <string.h>

#include "base/cli.h"

void pmus_select(struct pmus *p, const struct uncore *u,
		 bool (*keep)(const struct uncore_pmu *pmu, const void *arg), const void *arg)
{
	size_t all = uncore_pmu_count(u);

	p->items = cli_realloc(NULL, all, sizeof(*p->items));
	p->count = 0;
	for (size_t i = 0; i < all; i++) {
		const struct uncore_pmu *pmu = uncore_pmu_at(u, i);

		if (!keep || keep(pmu, arg))
			p->items[p->count++] = pmu;
	}
}

void pmus_free(struct pmus *p)
{
	free(p->items);
	*p = (struct pmus){0};
}

size_t pmu_stem(const char *name)
{
	const char *end = strrchr(name, '_');
	size_t len = end ? strlen(end + 1) : 0;

	if (!len || end == name)
		return 0;
	if (strspn(end + 1, "0123456789") == len)
		return (size_t)(end - name);
	return len > 2 && strspn(end + 1, "0123456789abcdef") == len ? (size_t)(end - name) : 0;
}

static bool same_stem(const struct pmus *p, size_t a, size_t b)
{
	const char *x = uncore_pmu_name(p->items[a]);
	const char *y = uncore_pmu_name(p->items[b]);
	size_t stem = pmu_stem(x);

	return stem && pmu_stem(y) == stem && strncmp(x, y, stem) == 0;
}

bool pmus_mixed(const struct pmus *p, size_t i)
{
	size_t first = i;

	while (first && same_stem(p, first - 1, i))
		first--;
	for (; first < p->count && (first == i || same_stem(p, first, i)); first++) {
		const struct uncore_pmu *a = p->items[first], *b = p->items[i];

		if (!cli_same(uncore_pmu_family(a), uncore_pmu_family(b)) ||
		    !cli_same(uncore_pmu_identifier(a), uncore_pmu_identifier(b)))
			return true;
	}
	return false;
}

bool pmus_begin_stem(const struct pmus *p, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (same_stem(p, k, i))
			return false;
	return true;
}

size_t pmus_alike(const struct pmus *p, size_t first)
{
	size_t count = 1;

	if (first == p->count)
		return 0;
	while (first + count < p->count && same_stem(p, first, first + count))
		count++;
	return pmus_mixed(p, first) ? 1 : count;
}

void pmus_ranges(const int *ids, size_t count, struct buffer *to)
{
	for (size_t i = 0; i < count; i++) {
		size_t first = i;

		while (i + 1 < count && ids[i + 1] == ids[i] + 1)
			i++;
		buffer_printf(to, "%s%d", first ? "," : "", ids[first]);
		if (i > first)
			buffer_printf(to, "%c%d", i == first + 1 ? ',' : '-', ids[i]);
	}
}

static const char *suffix(const struct pmus *p, size_t i)
{
	const char *name = uncore_pmu_name(p->items[i]);

	return name + pmu_stem(name) + 1;
}

/* Puts small decimal numbers as ranges. Addresses are listed, and the last ones left out. */
static void put_suffixes(const struct pmus *p, size_t first, size_t count, struct buffer *to)
{
	auto_free int *ids = cli_realloc(NULL, count, sizeof(*ids));
	bool decimal = true;

	for (size_t i = 0; i < count; i++) {
		const char *text = suffix(p, first + i);

		decimal = decimal && strlen(text) < 6 && !strpbrk(text, "abcdef");
		ids[i] = decimal ? (int)strtol(text, NULL, 10) : 0;
	}
	if (decimal)
		pmus_ranges(ids, count, to);
	for (size_t i = 0; !decimal && i < count && i < 3; i++)
		buffer_printf(to, "%s%s", i ? "," : "", suffix(p, first + i));
	if (!decimal && count > 3)
		buffer_puts(to, ",...");
}

void pmus_name(const struct pmus *p, size_t first, size_t count, struct buffer *to)
{
	const char *name = uncore_pmu_name(p->items[first]);

	if (count == 1) {
		buffer_puts(to, name);
		return;
	}
	buffer_add(to, name, pmu_stem(name) + 1);
	buffer_puts(to, "{");
	put_suffixes(p, first, count, to);
	buffer_puts(to, "}");
}

void pmus_short_name(const struct pmus *p, size_t first, size_t count, struct buffer *to)
{
	const char *name = uncore_pmu_name(p->items[first]);

	buffer_add(to, name, count > 1 ? pmu_stem(name) : strlen(name));
}

size_t pmus_sort_ids(int *ids, size_t count)
{
	size_t unique = 0;

	if (count)
		qsort(ids, count, sizeof(*ids), cli_compare_ints);
	for (size_t i = 0; i < count; i++)
		if (!unique || ids[unique - 1] != ids[i])
			ids[unique++] = ids[i];
	return unique;
}

void pmus_cpus(const struct pmus *p, size_t first, size_t count, struct buffer *to)
{
	auto_free int *ids = NULL;
	size_t n = 0;

	for (size_t i = first; i < first + count; i++) {
		size_t cpus = uncore_pmu_cpu_count(p->items[i]);

		ids = cli_realloc(ids, n + cpus, sizeof(*ids));
		for (size_t k = 0; k < cpus; k++)
			ids[n++] = uncore_pmu_cpu_at(p->items[i], k);
	}
	pmus_ranges(ids, pmus_sort_ids(ids, n), to);
}
