/* SPDX-License-Identifier: MIT */
/* Pure text work: lists of CPUs, `format/` contents, values into bits, lists of assignments. */
#include "base/text.h"

#define STOP "'" UNC_SPACES
#define CPUS_MOST 65536
#define LONGEST 19 /* digits of a number; no uint64_t overflows with them */

/* ---- lists of CPUs ---- */

/* Takes "8" or "0-3" and the comma behind it from the text. -EINVAL: something else, numbers over
 * `most`, nothing after the comma. */
static int take_range(const char **text, unsigned most, unsigned *first, unsigned *last)
{
	uint64_t low, high;

	if (!unc_take_digits(text, 10, LONGEST, &low))
		return -EINVAL;
	high = low;
	if (**text == '-') {
		(*text)++;
		if (!unc_take_digits(text, 10, LONGEST, &high))
			return -EINVAL;
	}
	if (low > most || high > most)
		return -EINVAL;
	*first = (unsigned)low;
	*last = (unsigned)high;
	if (!**text)
		return 0;
	return *(*text)++ == ',' && **text ? 0 : -EINVAL;
}

/* Order and duplicates do not matter for bits. */
struct bits {
	uint64_t word[CPUS_MOST / 64];
};

/* `end`: behind the last bit. */
static int list_bits(const struct bits *set, size_t end, struct unc_cpulist *out)
{
	int *ids = malloc((end + 1) * sizeof(*ids));

	if (!ids)
		return -ENOMEM;
	*out = (struct unc_cpulist){.ids = ids};
	for (size_t id = 0; id < end; id++)
		if (set->word[id / 64] >> (id % 64) & 1)
			ids[out->count++] = (int)id;
	return 0;
}

int unc_cpulist_parse(const char *text, struct unc_cpulist *out)
{
	struct bits set = {0};
	unsigned first, last;
	size_t end = 0;

	while (*text) {
		if (take_range(&text, CPUS_MOST - 1, &first, &last) < 0 || last < first)
			return -EINVAL;
		for (unsigned id = first; id <= last; id++)
			set.word[id / 64] |= (uint64_t)1 << (id % 64);
		end = last >= end ? last + 1 : end;
	}
	return list_bits(&set, end, out);
}

int unc_cpumap_parse(const char *text, struct unc_cpulist *out)
{
	struct bits set = {0};
	uint64_t part;
	size_t left = 1, end;

	for (const char *at = text; *at; at++)
		left += *at == ',';
	if (left > CPUS_MOST / 32)
		return -EINVAL;
	end = left * 32;
	while (left--) {
		if (!unc_take_digits(&text, 16, 8, &part) || *text++ != (left ? ',' : '\0'))
			return -EINVAL;
		set.word[left / 2] |= part << (left % 2 * 32);
	}
	return list_bits(&set, end, out);
}

bool unc_cpulist_has(const struct unc_cpulist *l, int cpu)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->ids[i] == cpu)
			return true;
	return false;
}

void unc_cpulist_finish(struct unc_cpulist *l)
{
	free(l->ids);
	*l = (struct unc_cpulist){0};
}

/* ---- format ---- */

int unc_bits_parse(const char *text, bool reversed, uint64_t *bits)
{
	unsigned first, last;
	uint64_t set = 0;

	while (*text) {
		if (take_range(&text, 63, &first, &last) < 0 || (last < first && !reversed))
			return -EINVAL;
		for (unsigned bit = first < last ? first : last; bit <= first || bit <= last; bit++)
			set |= UINT64_C(1) << bit;
	}
	*bits = set;
	return 0;
}

int unc_format_parse(const char *text, int *word, uint64_t *bits)
{
	uint64_t set = UINT64_MAX;
	int number = 0;

	if (strncmp(text, "config", 6) != 0)
		return -EINVAL;
	text += 6;
	if (*text >= '1' && *text <= '3')
		number = *text++ - '0';
	if (*text && (*text++ != ':' || !*text || unc_bits_parse(text, true, &set) < 0))
		return -EINVAL;
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
	const char *at = *text + strspn(*text, UNC_SPACES);
	struct unc_assignment a = {0};

	if (!*at)
		return 0;
	if (take_word(&at, "=," STOP, false, a.name, sizeof(a.name)) < 0)
		return -EINVAL;
	at += strspn(at, UNC_SPACES);
	if (*at == '=') {
		at += 1 + strspn(at + 1, UNC_SPACES);
		a.has_value = true;
		if (take_word(&at, "," STOP, true, a.value, sizeof(a.value)) < 0)
			return -EINVAL;
		at += strspn(at, UNC_SPACES);
	}
	if (*at == ',') {
		at += 1 + strspn(at + 1, UNC_SPACES);
		if (!*at)
			return -EINVAL;
	} else if (*at) {
		return -EINVAL;
	}
	*text = at;
	*out = a;
	return 1;
}
