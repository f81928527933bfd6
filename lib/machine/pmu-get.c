/* SPDX-License-Identifier: MIT */
/* The public getters of a PMU, its terms and aliases by name, and perf's rule for which PMUs a name
 * selects. */
#include <string.h>

#include "base/text.h"
#include "machine/pmu.h"

#define PREFIX "uncore_"
#define SHORTEST_HEX 3 /* "cpum_cf" and "amd_df" are whole names */

static bool same_ignoring_case(const char *a, const char *b)
{
	while (*a && unc_lower(*a) == unc_lower(*b)) {
		a++;
		b++;
	}
	return unc_lower(*a) == unc_lower(*b);
}

/* The entry of an array whose structures begin with their name; the case matters only between several. */
static const void *find_named(const void *items, size_t count, size_t size, const char *name)
{
	const char *item = items, *near = NULL;

	for (size_t i = 0; i < count; i++, item += size) {
		const char *own = *(const char *const *)(const void *)item;

		if (strcmp(own, name) == 0)
			return item;
		if (!near && same_ignoring_case(own, name))
			near = item;
	}
	return near;
}

const struct uncore_term *unc_pmu_term(const struct uncore_pmu *p, const char *name)
{
	return unc_pmu_load(p) < 0 ? NULL
				   : find_named(p->terms, p->term_count, sizeof(*p->terms), name);
}

const struct uncore_alias *unc_pmu_alias(const struct uncore_pmu *p, const char *name)
{
	return unc_pmu_load(p) < 0
		       ? NULL
		       : find_named(p->aliases, p->alias_count, sizeof(*p->aliases), name);
}

/* ---- names of PMUs ---- */

/* Length of the name without "_12" or "_ff001000" at its end. */
static size_t stem_length(const char *name)
{
	size_t len = strlen(name), at = len;
	bool decimal = true;

	while (at && unc_digit_value(name[at - 1]) >= 0) {
		at--;
		decimal = decimal && unc_is_digit(name[at]);
	}
	if (at < 2 || name[at - 1] != '_' || at == len)
		return len;
	return decimal || len - at >= SHORTEST_HEX ? at - 1 : len;
}

static bool matches(const char *name, const char *pattern)
{
	size_t len = strlen(pattern);

	if (strcmp(name, pattern) == 0)
		return true;
	if (strpbrk(pattern, "*?["))
		return unc_glob_matches(pattern, name);
	return len && len == stem_length(name) && memcmp(name, pattern, len) == 0;
}

bool unc_pmu_name_matches(const char *name, const char *pattern)
{
	size_t prefix = strlen(PREFIX);

	if (matches(name, pattern))
		return true;
	return strncmp(name, PREFIX, prefix) == 0 && matches(name + prefix, pattern);
}

bool unc_pmu_matches(const struct uncore_pmu *p, const char *pattern)
{
	return unc_pmu_name_matches(p->name, pattern) ||
	       (p->alias && unc_pmu_name_matches(p->alias, pattern));
}

/* ---- getters ---- */

const char *uncore_pmu_name(const struct uncore_pmu *p)
{
	return p->name;
}

uint32_t uncore_pmu_type(const struct uncore_pmu *p)
{
	return p->type;
}

const char *uncore_pmu_alias(const struct uncore_pmu *p)
{
	return p->alias;
}

const char *uncore_pmu_broken(const struct uncore_pmu *p)
{
	return p->broken;
}

const char *uncore_pmu_identifier(const struct uncore_pmu *p)
{
	return p->identifier;
}

const char *uncore_pmu_role(const struct uncore_pmu *p)
{
	return p->role;
}

bool uncore_pmu_is_core(const struct uncore_pmu *p)
{
	return p->is_core;
}

size_t uncore_pmu_cpu_count(const struct uncore_pmu *p)
{
	return p->cpus.count;
}

int uncore_pmu_cpu_at(const struct uncore_pmu *p, size_t i)
{
	return p->cpus.ids[i];
}

size_t uncore_pmu_term_count(const struct uncore_pmu *p)
{
	return unc_pmu_load(p) < 0 ? 0 : p->term_count;
}

const struct uncore_term *uncore_pmu_term_at(const struct uncore_pmu *p, size_t i)
{
	return &p->terms[i];
}

size_t uncore_pmu_alias_count(const struct uncore_pmu *p)
{
	return unc_pmu_load(p) < 0 ? 0 : p->alias_count;
}

const struct uncore_alias *uncore_pmu_alias_at(const struct uncore_pmu *p, size_t i)
{
	return &p->aliases[i];
}

size_t uncore_pmu_cap_count(const struct uncore_pmu *p)
{
	return unc_pmu_load(p) < 0 ? 0 : p->cap_count;
}

const struct uncore_cap *uncore_pmu_cap_at(const struct uncore_pmu *p, size_t i)
{
	return &p->caps[i];
}
