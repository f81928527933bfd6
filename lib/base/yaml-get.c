/* SPDX-License-Identifier: MIT */
/* Typed access to a YAML tree, with sentences that point at the mistake. */
#include "base/yaml-file.h"

#include "base/text.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int unc_yaml_fail(const struct unc_yaml_file *f, const struct unc_yaml *at, struct unc_error *e,
		  const char *fmt, ...)
{
	char what[sizeof(e->text)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	return unc_fail(e, EBADMSG, "%s:%d:%d: %s", f->name, at->line, at->col, what);
}

const struct unc_yaml *unc_yaml_get(const struct unc_yaml *map, const char *key)
{
	if (map->kind != UNC_YAML_MAP)
		return NULL;
	for (size_t i = 0; i < map->count; i++)
		if (strcmp(map->children[i].key, key) == 0)
			return &map->children[i];
	return NULL;
}

int unc_yaml_expect(const struct unc_yaml_file *f, const struct unc_yaml *node,
		    enum unc_yaml_kind kind, struct unc_error *e)
{
	static const char *const wanted[] = {"text", "a list", "a map (keys and values)"};
	static const char *const found[] = {"text", "a list", "a map"};

	if (node->kind == kind)
		return 0;
	if (!node->key)
		return unc_yaml_fail(f, node, e, "expected %s here, not %s", wanted[kind],
				     found[node->kind]);
	return unc_yaml_fail(f, node, e, "the value of '%s' must be %s, not %s", node->key,
			     wanted[kind], found[node->kind]);
}

static bool has_key(const char *const *names, size_t count, const char *key)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], key) == 0)
			return true;
	return false;
}

static int fail_unknown(const struct unc_yaml_file *f, const struct unc_yaml *at,
			const char *const *names, size_t count, struct unc_error *e)
{
	const char *near = unc_nearest(at->key, names, count);
	int err;

	err = unc_fail(e, EBADMSG, "%s:%d:%d: unknown key '%s'", f->name, at->key_line, at->key_col,
		       at->key);
	if (near)
		unc_error_append(e, " (did you mean '%s'?)", near);
	for (size_t i = 0; i < count; i++)
		unc_error_append(e, "%s%s", i ? ", " : "; expected one of: ", names[i]);
	return err;
}

/* `names` are the keys without the mark. */
static int check_keys(const struct unc_yaml_file *f, const struct unc_yaml *map,
		      const char *const *keys, const char *const *names, struct unc_error *e)
{
	size_t count = 0;

	while (keys[count])
		count++;
	for (size_t i = 0; i < map->count; i++)
		if (!has_key(names, count, map->children[i].key))
			return fail_unknown(f, &map->children[i], names, count, e);
	for (size_t i = 0; i < count; i++) {
		if (*keys[i] != '!' || unc_yaml_get(map, names[i]))
			continue;
		if (map->key)
			return unc_yaml_fail(f, map, e, "the key '%s' is missing in '%s'", names[i],
					     map->key);
		return unc_yaml_fail(f, map, e, "the key '%s' is missing here", names[i]);
	}
	return 0;
}

int unc_yaml_check(const struct unc_yaml_file *f, const struct unc_yaml *map,
		   const char *const *keys, struct unc_error *e)
{
	const char **names;
	size_t count = 0;
	int err;

	err = unc_yaml_expect(f, map, UNC_YAML_MAP, e);
	if (err)
		return err;
	while (keys[count])
		count++;
	names = calloc(count + 1, sizeof(*names));
	if (!names)
		return unc_nomem(e);
	for (size_t i = 0; i < count; i++)
		names[i] = keys[i] + (*keys[i] == '!');
	err = check_keys(f, map, keys, names, e);
	free(names);
	return err;
}

int unc_yaml_text(const struct unc_yaml_file *f, const struct unc_yaml *map, const char *key,
		  const char **out, struct unc_error *e)
{
	const struct unc_yaml *node = unc_yaml_get(map, key);
	int err;

	if (!node)
		return 0;
	err = unc_yaml_expect(f, node, UNC_YAML_TEXT, e);
	if (err)
		return err;
	*out = node->text;
	return 0;
}

/* "the value of 'scale' must be WANTED, not '1x'" */
static int fail_value(const struct unc_yaml_file *f, const struct unc_yaml *node,
		      const char *wanted, struct unc_error *e)
{
	if (!*node->text)
		return unc_yaml_fail(f, node, e, "the value of '%s' is empty; it must be %s",
				     node->key, wanted);
	return unc_yaml_fail(f, node, e, "the value of '%s' must be %s, not '%s'", node->key,
			     wanted, node->text);
}

int unc_yaml_double(const struct unc_yaml_file *f, const struct unc_yaml *map, const char *key,
		    double *out, struct unc_error *e)
{
	const struct unc_yaml *node = unc_yaml_get(map, key);
	const char *text = NULL;
	int err;

	err = unc_yaml_text(f, map, key, &text, e);
	if (err || !text)
		return err;
	err = unc_parse_double(text, out);
	if (err == -ENOMEM)
		return unc_nomem(e);
	if (err == -ERANGE)
		return fail_value(f, node, "a number that a double can hold", e);
	return err ? fail_value(f, node, "a number such as 64, 0.5 or 1e9", e) : 0;
}

int unc_yaml_u64(const struct unc_yaml_file *f, const struct unc_yaml *map, const char *key,
		 uint64_t *out, struct unc_error *e)
{
	const struct unc_yaml *node = unc_yaml_get(map, key);
	const char *text = NULL;
	int err;

	err = unc_yaml_text(f, map, key, &text, e);
	if (err || !text)
		return err;
	err = unc_parse_u64(text, out);
	if (err == -ERANGE)
		return fail_value(f, node, "a number below 2^64", e);
	return err ? fail_value(f, node, "a whole number, decimal or 0x hexadecimal", e) : 0;
}

int unc_yaml_bool(const struct unc_yaml_file *f, const struct unc_yaml *map, const char *key,
		  bool *out, struct unc_error *e)
{
	const struct unc_yaml *node = unc_yaml_get(map, key);
	const char *text = NULL;
	int err;

	err = unc_yaml_text(f, map, key, &text, e);
	if (err || !text)
		return err;
	if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
		return fail_value(f, node, "true or false", e);
	*out = *text == 't';
	return 0;
}
