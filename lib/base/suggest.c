/* SPDX-License-Identifier: MIT */
/* Names nearest to a mistyped one. */
#include "base/ascii.h"
#include "base/text.h"

#include <string.h>

#define LONGEST 95 /* longer names are compared by their beginning */
#define OFFERED 3
#define FAR 1000U

struct nearest {
	const char *names[OFFERED];
	unsigned distances[OFFERED]; /* ascending */
	size_t count;
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

/* How far `name` is from `wanted`; FAR when it is not near at all. */
static unsigned distance(const char *wanted, const char *name)
{
	char a[LONGEST + 1], b[LONGEST + 1];
	size_t la = fold(a, wanted), lb = fold(b, name);
	unsigned limit = la < 6 ? 1 : (unsigned)la / 3;
	unsigned edits = edit_distance(a, la, b, lb);

	if (edits <= limit && edits < la)
		return edits;
	/* A part of the name, or the name with something around it, is near too, but least so. */
	if (la >= 3 && lb >= 3 && (strstr(b, a) || strstr(a, b)))
		return limit + 1;
	return FAR;
}

static void insert(struct nearest *n, const char *name, unsigned far)
{
	size_t at = n->count;

	for (size_t i = 0; i < n->count; i++)
		if (strcmp(n->names[i], name) == 0)
			return;
	while (at > 0 &&
	       (far < n->distances[at - 1] ||
		(far == n->distances[at - 1] && unc_name_compare(name, n->names[at - 1]) < 0)))
		at--;
	if (at == OFFERED)
		return;
	if (n->count < OFFERED)
		n->count++;
	for (size_t i = n->count - 1; i > at; i--) {
		n->names[i] = n->names[i - 1];
		n->distances[i] = n->distances[i - 1];
	}
	n->names[at] = name;
	n->distances[at] = far;
}

static struct nearest find(const char *wanted, const char *const *names, size_t count)
{
	struct nearest n = {.count = 0};

	for (size_t i = 0; i < count; i++) {
		unsigned far = distance(wanted, names[i]);

		if (far != FAR)
			insert(&n, names[i], far);
	}
	/* Beside a very near name the less near ones only distract. */
	while (n.count > 1 && n.distances[n.count - 1] > n.distances[0] + 1)
		n.count--;
	return n;
}

const char *unc_nearest(const char *wanted, const char *const *names, size_t count)
{
	struct nearest n = find(wanted, names, count);

	return n.count ? n.names[0] : NULL;
}

bool unc_suggest(struct unc_text *t, const char *wanted, const char *const *names, size_t count)
{
	struct nearest n = find(wanted, names, count);

	for (size_t i = 0; i < n.count; i++) {
		const char *joint = i == 0 ? "" : i + 1 == n.count ? " or " : ", ";

		unc_text_add(t, "%s%s", joint, n.names[i]);
	}
	return n.count > 0;
}
