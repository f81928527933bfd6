/* SPDX-License-Identifier: MIT */
/* Names: patterns of them, and those nearest to a mistyped one. */
#include "base/text.h"

#include <string.h>

#define LONGEST 95 /* longer names are compared by their beginning */
#define OFFERED 3
#define FAR 1000U

struct match {
	const char *name;
	unsigned distance;
};

static unsigned smaller(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Copies at most LONGEST characters in lower case and returns their number. */
static size_t fold(char into[LONGEST + 1], const char *name)
{
	size_t len = 0;

	while (len < LONGEST && name[len]) {
		into[len] = unc_lower(name[len]);
		len++;
	}
	into[len] = '\0';
	return len;
}

/* Edits (insert, delete, replace, swap of neighbours) that make `b` out of `a`. */
static unsigned edit_distance(const char *a, size_t la, const char *b, size_t lb)
{
	unsigned rows[3][LONGEST + 1]; /* the row being filled and the two before it */

	for (size_t j = 0; j <= lb; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= la; i++) {
		unsigned *row = rows[i % 3];
		const unsigned *up = rows[(i + 2) % 3];
		const unsigned *upper = rows[(i + 1) % 3];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= lb; j++) {
			row[j] = up[j - 1] + (a[i - 1] != b[j - 1]);
			row[j] = smaller(row[j], smaller(up[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = smaller(row[j], upper[j - 2] + 1);
		}
	}
	return rows[la % 3][lb];
}

/* Edits between the names; FAR when they are not similar. */
static unsigned distance(const char *typed, const char *name)
{
	char a[LONGEST + 1], b[LONGEST + 1];
	size_t la = fold(a, typed), lb = fold(b, name);
	unsigned limit = la < 6 ? 1 : (unsigned)la / 3;
	unsigned edits = edit_distance(a, la, b, lb);

	if (edits <= limit && edits < la)
		return edits;
	/* A part of the name, or the name with something around it, is the least similar. */
	if (la >= 3 && lb >= 3 && (strstr(b, a) || strstr(a, b)))
		return limit + 1;
	return FAR;
}

static bool is_better(const struct match *a, const struct match *b)
{
	if (a->distance != b->distance)
		return a->distance < b->distance;
	return strverscmp(a->name, b->name) < 0;
}

/* The best matches, each name once; `into` has room for one more while it is sorted. */
static size_t find(const char *typed, const char *const *names, size_t count,
		   struct match into[OFFERED + 1])
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++) {
		struct match m = {names[i], distance(typed, names[i])};
		size_t at = found;
		bool known = false;

		for (size_t k = 0; k < found; k++)
			known = known || strcmp(into[k].name, m.name) == 0;
		if (known || m.distance == FAR)
			continue;
		for (; at && is_better(&m, &into[at - 1]); at--)
			into[at] = into[at - 1];
		into[at] = m;
		found += found < OFFERED;
	}
	/* Beside a very similar name the others only distract. */
	while (found > 1 && into[found - 1].distance > into[0].distance + 1)
		found--;
	return found;
}

const char *unc_nearest(const char *typed, const char *const *names, size_t count)
{
	struct match near[OFFERED + 1];

	return find(typed, names, count, near) ? near[0].name : NULL;
}

bool unc_suggest(struct unc_text *t, const char *typed, const char *const *names, size_t count)
{
	struct match near[OFFERED + 1];
	size_t found = find(typed, names, count, near);

	for (size_t i = 0; i < found; i++)
		unc_text_add(t, "%s%s", i == 0 ? "" : i + 1 == found ? " or " : ", ", near[i].name);
	return found > 0;
}

/* ---- patterns: fnmatch() depends on the locale, and on some patterns takes for ever ---- */

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
