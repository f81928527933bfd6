/* SPDX-License-Identifier: MIT */
/* Globs: fnmatch() depends on the locale, and on some patterns takes for ever. */
#include "base/glob.h"

#include <string.h>

/* The end of a "[...]", past the bracket; NULL when it is not closed and so no set. */
static const char *set_end(const char *set)
{
	const char *at = set + 1;

	at += *at == '!' || *at == '^';
	at += *at == ']'; /* as the first of a set it is a member */
	at = strchr(at, ']');
	return at ? at + 1 : NULL;
}

static bool in_set(const char *set, const char *end, char c)
{
	bool negated = set[1] == '!' || set[1] == '^', found = false;

	for (const char *at = set + 1 + negated; at < end - 1; at++) {
		char first = *at;

		if (at[1] == '-' && at + 2 < end - 1)
			at += 2;
		found = found || (c >= first && c <= *at);
	}
	return found != negated;
}

/* Steps over one element of the pattern when it takes `c`. */
static bool takes(const char **pattern, char c)
{
	const char *at = *pattern, *end = *at == '[' ? set_end(at) : NULL;

	if (end) {
		*pattern = end;
		return in_set(at, end, c);
	}
	if (*at == '\\' && at[1])
		at++;
	else if (*at == '?')
		c = *at;
	*pattern = at + 1;
	return *at == c;
}

/* Only the last star seen ever needs another try. */
bool unc_glob_matches(const char *pattern, const char *name)
{
	const char *star = NULL, *retry = NULL;

	for (;;) {
		if (*pattern == '*') {
			star = ++pattern;
			retry = name;
		} else if (!*name) {
			return !*pattern;
		} else if (!*pattern || !takes(&pattern, *name++)) {
			if (!star)
				return false;
			pattern = star;
			name = ++retry;
		}
	}
}
