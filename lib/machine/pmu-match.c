/* SPDX-License-Identifier: MIT */
/* perf's rule for which PMUs a name means. */
#include <string.h>

#include "base/ascii.h"
#include "machine/pmu.h"

#define PREFIX "uncore_"
#define SHORTEST_HEX 3 /* "cpum_cf" and "amd_df" are whole names */

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
