/* SPDX-License-Identifier: MIT */
/* Maps of a YAML file into structs, with sentences that point at the mistake. */
#include "base/fill.h"

#include "base/format.h"
#include "base/text.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KEYS_MOST 64 /* in one table */

/* ---- sentences ---- */

int unc_reader_expect(const struct unc_reader *r, const struct unc_yaml *node,
		      enum unc_yaml_kind kind)
{
	static const char *const expected[] = {"text", "a list", "a map (keys and values)"};
	static const char *const found[] = {"text", "a list", "a map"};

	if (node->kind == kind)
		return 0;
	if (!node->key)
		return unc_reader_fail(r, node, "expected %s here, not %s", expected[kind],
				       found[node->kind]);
	return unc_reader_fail(r, node, "the value of '%s' must be %s, not %s", node->key,
			       expected[kind], found[node->kind]);
}

int unc_reader_check_name(const struct unc_reader *r, const struct unc_yaml *at, const char *name,
			  const char *others, const char *what)
{
	const char *c = name;

	while ((*c >= 'a' && *c <= 'z') ||
	       (c > name && *c && (unc_is_digit(*c) || strchr(others, *c))))
		c++;
	if (c > name && !*c)
		return 0;
	return unc_reader_fail_at(r, name == at->text ? at->line : at->key_line,
				  name == at->text ? at->col : at->key_col,
				  "'%s' is not a valid %s: lower case letters, digits and %s", name,
				  what, others);
}

/* ---- keys ---- */

const struct unc_yaml *unc_yaml_get(const struct unc_yaml *map, const char *key)
{
	if (map->kind != UNC_YAML_MAP)
		return NULL;
	for (size_t i = 0; i < map->count; i++)
		if (strcmp(map->children[i].key, key) == 0)
			return &map->children[i];
	return NULL;
}

static const char *key_of(const struct unc_field *f)
{
	return f->key + (*f->key == '!' || *f->key == '|');
}

/* Whether the map may have the field beside its other keys. */
static bool belongs(const struct unc_field *f, const struct unc_yaml *map)
{
	for (size_t i = 0; f->with && i < map->count; i++)
		if (unc_has_word(f->with, map->children[i].key))
			return true;
	return !f->with;
}

/* All keys of the map are there, and no others; `into` has which of the choices. */
static int check_keys(const struct unc_reader *r, const struct unc_yaml *map,
		      const struct unc_shape *shape, void *into)
{
	const struct unc_field *fields = shape->fields;
	const struct unc_yaml *chosen = NULL, *node;
	const char *names[KEYS_MOST], *choices[KEYS_MOST];
	size_t count = 0, choice_count = 0;

	for (const struct unc_field *f = fields; f->key; f++) {
		if (belongs(f, map))
			names[count++] = key_of(f);
		if (*f->key != '|')
			continue;
		choices[choice_count++] = key_of(f);
		node = unc_yaml_get(map, key_of(f));
		if (node && chosen)
			return unc_reader_fail_key(r, node, "'%s' and '%s' exclude each other",
						   node->key, chosen->key);
		if (node && shape->choice)
			*(unsigned *)(void *)((char *)into + shape->choice) =
				(unsigned)choice_count - 1;
		chosen = node ? node : chosen;
	}
	for (size_t i = 0; i < map->count; i++) {
		size_t k = 0;

		node = &map->children[i];
		while (k < count && strcmp(names[k], node->key) != 0)
			k++;
		if (k < count)
			continue;
		unc_reader_fail_key(r, node, "unknown key '%s'", node->key);
		unc_error_suggest(r->e, node->key, names, sizeof(*names), count);
		for (k = 0; k < count; k++)
			unc_error_append(r->e, "%s%s", k ? ", " : "; expected one of: ", names[k]);
		return -EBADMSG;
	}
	for (const struct unc_field *f = fields; f->key; f++) {
		if (*f->key != '!' || !belongs(f, map) || unc_yaml_get(map, key_of(f)))
			continue;
		if (map->key)
			return unc_reader_fail(r, map, "the key '%s' is missing in '%s'", key_of(f),
					       map->key);
		return unc_reader_fail(r, map, "the key '%s' is missing here", key_of(f));
	}
	if (!choice_count || chosen)
		return 0;
	if (map->key)
		unc_reader_fail(r, map, "'%s' needs exactly one of: ", map->key);
	else
		unc_reader_fail(r, map, "expected exactly one of: ");
	for (size_t i = 0; i < choice_count; i++)
		unc_error_append(r->e, "%s%s", i ? ", " : "", choices[i]);
	return -EBADMSG;
}

/* ---- values ---- */

/* "the value of 'scale' must be EXPECTED, not '1x'" */
static int fail_value(const struct unc_reader *r, const struct unc_yaml *node, const char *expected)
{
	return unc_reader_fail(r, node, "the value of '%s' must be %s, not '%s'", node->key,
			       expected, node->text);
}

static int find_word(const struct unc_reader *r, const struct unc_yaml *node,
		     const struct unc_field *f, unsigned *number)
{
	bool first = true;

	for (unsigned i = 0; f->words[i]; i++)
		if (strcmp(f->words[i], node->text) == 0) {
			*number = i;
			return 0;
		}
	if (f->what)
		unc_reader_fail(r, node, "'%s' is not a valid %s", node->text, f->what);
	else
		unc_reader_fail(r, node, "the value of '%s' cannot be '%s'", node->key, node->text);
	for (unsigned i = 0; f->words[i]; i++) {
		if (!*f->words[i])
			continue;
		unc_error_append(r->e, "%s%s", first ? "; expected one of: " : ", ", f->words[i]);
		first = false;
	}
	return -EBADMSG;
}

/* A whole number, or a double. */
static int fill_number(const struct unc_reader *r, const struct unc_yaml *node,
		       const struct unc_field *f, void *member)
{
	bool whole = f->kind == UNC_FIELD_NUMBER;
	uint64_t number = 0;
	double value = 0;
	int err = whole ? unc_parse_u64(node->text, &number) : unc_parse_double(node->text, &value);

	if (err == -ENOMEM)
		return unc_nomem(r->e);
	if (err == -ERANGE)
		return fail_value(
			r, node, whole ? "a number below 2^64" : "a number that a double can hold");
	if (err < 0)
		return fail_value(r, node,
				  whole ? "a whole number, decimal or 0x hexadecimal"
					: "a number such as 64, 0.5 or 1e9");
	if (f->most && (number < f->least || number > f->most))
		return unc_reader_fail(r, node, "the value of '%s' must be from %llu to %llu",
				       node->key, (unsigned long long)f->least,
				       (unsigned long long)f->most);
	if (f->range && !(value >= f->range->low && value <= f->range->high))
		return unc_reader_fail(r, node, "the value of '%s' must be %s", node->key,
				       f->range->text);
	if (!whole)
		*(double *)member = value;
	else if (f->size == sizeof(unsigned))
		*(unsigned *)member = (unsigned)number;
	else
		*(uint64_t *)member = number;
	return 0;
}

static int fill_bits(const struct unc_reader *r, const struct unc_yaml *node, uint64_t *member)
{
	const char *at = node->text;
	unsigned first, last;
	uint64_t bits = 0;

	do {
		if (unc_range_take(&at, 63, &first, &last) < 0 || last < first)
			return unc_reader_fail(r, node,
					       "'%s' are not bits such as 8, 24-31 or 0-7,21",
					       node->text);
		bits |= UINT64_MAX >> (63 - (last - first)) << first;
	} while (*at);
	*member = bits;
	return 0;
}

static int fill_names(const struct unc_reader *r, const struct unc_yaml *node,
		      const struct unc_field *f, struct unc_names *member)
{
	const char *at = node->text;
	char word[64];

	while (*at) {
		size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789_");

		if (n && f->values && (at[n] == '=' || at[n] == '>') && unc_is_digit(at[n + 1]))
			n += 1 + strspn(at + n + 1, "|x0123456789abcdefABCDEF");
		if (!n || n >= sizeof(word) || (at[n] && at[n] != ' '))
			return unc_reader_fail_in(r, node, (size_t)(at - node->text),
						  "'%s' is not a valid list of %s", node->text,
						  f->what);
		memcpy(word, at, n);
		word[n] = '\0';
		if (unc_names_add(member, word) < 0)
			return unc_nomem(r->e);
		at += n + strspn(at + n, " ");
	}
	return 0;
}

static int fill_array(const struct unc_reader *r, const struct unc_yaml *node,
		      const struct unc_field *f, void **member, size_t *count)
{
	static const struct unc_field text = UNC_FIELD(NULL, TEXT, UNC_AT(struct unc_word, text));
	bool words = f->kind == UNC_FIELD_WORDS;
	size_t size = words ? sizeof(struct unc_word) : f->of->size;
	int err = unc_reader_expect(r, node,
				    f->kind == UNC_FIELD_LIST ? UNC_YAML_LIST : UNC_YAML_MAP);

	if (err < 0)
		return err;
	if (!node->count && (words || f->least))
		return unc_reader_fail(r, node, "'%s' is empty", node->key);
	if (f->most && node->count > f->most)
		return unc_reader_fail(r, node, "at most %llu entries are allowed in '%s'",
				       (unsigned long long)f->most, node->key);
	*member = calloc(node->count + 1, size);
	if (!*member)
		return unc_nomem(r->e);
	for (size_t i = 0; err == 0 && i < node->count; i++) {
		const struct unc_yaml *child = &node->children[i];
		char *entry = (char *)*member + i * size;

		++*count;
		if (words) {
			((struct unc_word *)(void *)entry)->name = child->key;
			err = unc_fill_value(r, child, &text, entry);
		} else {
			err = unc_fill(r, child, f->of, entry);
		}
	}
	return err;
}

int unc_fill_value(const struct unc_reader *r, const struct unc_yaml *node,
		   const struct unc_field *f, void *into)
{
	void *member = (char *)into + f->offset;
	const char *c = node->text;
	unsigned number = 0;
	int err;

	if (f->kind == UNC_FIELD_ANY)
		return 0;
	if (f->kind == UNC_FIELD_MAP)
		return unc_fill(r, node, f->of, member);
	if (f->kind >= UNC_FIELD_WORDS)
		return fill_array(r, node, f, member, (size_t *)(void *)((char *)into + f->count));
	err = unc_reader_expect(r, node, UNC_YAML_TEXT);
	if (err < 0)
		return err;
	if (!*c)
		return unc_reader_fail(r, node, "the value of '%s' is empty", node->key);
	while ((unsigned char)*c >= ' ' && *c != 0x7f)
		c++;
	if (*c)
		return unc_reader_fail(r, node, "the value of '%s' must be one line of text",
				       node->key);
	switch (f->kind) {
	case UNC_FIELD_NUMBER:
	case UNC_FIELD_DOUBLE:
		return fill_number(r, node, f, member);
	case UNC_FIELD_BITS:
		return fill_bits(r, node, member);
	case UNC_FIELD_NAMES:
		return fill_names(r, node, f, member);
	case UNC_FIELD_BOOL:
		if (strcmp(node->text, "true") != 0 && strcmp(node->text, "false") != 0)
			return fail_value(r, node, "true or false");
		*(bool *)member = *node->text == 't';
		return 0;
	default:
		err = f->words ? find_word(r, node, f, &number) : 0;
	}
	if (err < 0)
		return err;
	if (f->kind == UNC_FIELD_WORD && f->size == sizeof(bool))
		*(bool *)member = number;
	else if (f->kind == UNC_FIELD_WORD)
		*(unsigned *)member = number;
	else if (f->size)
		*(const char **)member = node->text;
	return 0;
}

int unc_fill(const struct unc_reader *r, const struct unc_yaml *map, const struct unc_shape *shape,
	     void *into)
{
	int err = unc_reader_expect(r, map, UNC_YAML_MAP);

	if (err == 0)
		err = check_keys(r, map, shape, into);
	for (const struct unc_field *f = shape->fields; err == 0 && f->key; f++) {
		const struct unc_yaml *node = unc_yaml_get(map, key_of(f));

		if (!node || !belongs(f, map))
			continue;
		err = unc_fill_value(r, node, f, into);
		if (err == 0 && f->check)
			err = f->check(r, node, into);
	}
	return err == 0 && shape->check ? shape->check(r, map, into) : err;
}
