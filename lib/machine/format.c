/* SPDX-License-Identifier: MIT */
/* Pure text work of a PMU: `format/` contents, values into bits, lists of assignments. */
#include "machine/format.h"
#include "base/cpulist.h"
#include "base/text.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define STOP "' \t\n\v\f\r"

static const char *skip_spaces(const char *at)
{
	while (unc_is_space(*at))
		at++;
	return at;
}

/* ---- format ---- */

int unc_format_parse(const char *text, int *word, uint64_t *bits)
{
	unsigned first, last;
	uint64_t set = 0;
	int number = 0;

	if (strncmp(text, "config", 6) != 0)
		return -EINVAL;
	text += 6;
	if (*text >= '1' && *text <= '3')
		number = *text++ - '0';
	if (!*text)
		set = UINT64_MAX;
	else if (*text++ != ':' || !*text)
		return -EINVAL;
	while (*text) {
		if (unc_range_take(&text, 63, &first, &last) < 0)
			return -EINVAL;
		if (last < first)
			set |= UINT64_MAX >> (63 - (first - last)) << last;
		else
			set |= UINT64_MAX >> (63 - (last - first)) << first;
	}
	*word = number;
	*bits = set;
	return 0;
}

int unc_format_put(uint64_t bits, uint64_t value, uint64_t *word)
{
	int width = __builtin_popcountll(bits);
	uint64_t placed = 0;

	if (width < 64 && value >> width)
		return -ERANGE;
	for (uint64_t left = bits; left; left &= left - 1) {
		if (value & 1)
			placed |= left & -left;
		value >>= 1;
	}
	*word = (*word & ~bits) | placed;
	return 0;
}

/* ---- assignments ---- */

/* The text before one of `stop`; a value may be between single quotation marks instead. */
static int take_word(const char **at, const char *stop, bool quotable, char *into, size_t room)
{
	bool quoted = quotable && **at == '\'';
	size_t len;

	*at += quoted;
	len = strcspn(*at, quoted ? "'" : stop);
	if (!len || len >= room || (quoted && (*at)[len] != '\''))
		return -EINVAL;
	memcpy(into, *at, len);
	into[len] = '\0';
	*at += len + quoted;
	return 0;
}

int unc_assignment_next(const char **text, struct unc_assignment *out)
{
	const char *at = skip_spaces(*text);
	struct unc_assignment a = {0};

	if (!*at)
		return 0;
	if (take_word(&at, "=," STOP, false, a.name, sizeof(a.name)) < 0)
		return -EINVAL;
	at = skip_spaces(at);
	if (*at == '=') {
		at = skip_spaces(at + 1);
		a.has_value = true;
		if (take_word(&at, "," STOP, true, a.value, sizeof(a.value)) < 0)
			return -EINVAL;
		at = skip_spaces(at);
	}
	if (*at == ',') {
		at = skip_spaces(at + 1);
		if (!*at)
			return -EINVAL;
	} else if (*at) {
		return -EINVAL;
	}
	*text = at;
	*out = a;
	return 1;
}
