/* SPDX-License-Identifier: MIT */
/* Data files: what is at the other end of a family's PMUs, and what can restrict its events. */
#include "catalogue/family.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const unc_filter_names[UNC_FILTERS + 1] = {"from", "to",     "gpu",     "link",
						       "port", "device", "address", NULL};

/* What may stand in braces; NULL: a filter of this kind has values instead. */
static const char *const words[UNC_FILTERS] = {
	[UNC_FILTER_GPU] = "{mask}",
	[UNC_FILTER_PORT] = "{mask} {index}",
	[UNC_FILTER_DEVICE] = "{bdf}",
	[UNC_FILTER_ADDRESS] = "{base} {mask}",
};

int unc_family_words(const struct unc_family_parser *p, const struct unc_yaml *node,
		     struct unc_word **out, size_t *count)
{
	if (unc_yaml_expect(p->file, node, UNC_YAML_MAP, p->e) < 0)
		return -EBADMSG;
	if (!node->count)
		return unc_yaml_fail(p->file, node, p->e, "'%s' is empty", node->key);
	*out = calloc(node->count, sizeof(**out));
	if (!*out)
		return unc_nomem(p->e);
	for (; *count < node->count; ++*count) {
		struct unc_word *word = &(*out)[*count];

		word->name = node->children[*count].key;
		if (unc_family_text(p, node, word->name, &word->text) < 0)
			return -EBADMSG;
	}
	return 0;
}

int unc_family_role(struct unc_family_parser *p, const struct unc_yaml *node)
{
	static const char *const keys[] = {"!attribute", "!values", NULL};
	struct unc_family *f = p->family;

	if (!node)
		return 0;
	if (node->kind == UNC_YAML_TEXT)
		return unc_family_text(p, p->file->root, "role", &f->role);
	if (unc_yaml_check(p->file, node, keys, p->e) < 0 ||
	    unc_family_text(p, node, "attribute", &f->role_attribute) < 0)
		return -EBADMSG;
	if (strchr(f->role_attribute, '/'))
		return unc_yaml_fail(p->file, unc_yaml_get(node, "attribute"), p->e,
				     "'%s' is no name of a file of the PMU", f->role_attribute);
	return unc_family_words(p, unc_yaml_get(node, "values"), &f->roles, &f->role_count);
}

/* Terms with values: numbers, and with `allowed` (at least one of) its words. */
static int check_terms(const struct unc_family_parser *p, const struct unc_yaml *node,
		       const char *allowed)
{
	const char *at = node->text;
	struct unc_assignment a;
	bool any = !allowed;
	uint64_t number;

	if (unc_family_terms(p, node) < 0)
		return -EBADMSG;
	while (unc_assignment_next(&at, &a) == 1) {
		bool word = allowed && a.value[0] == '{' && unc_family_word_in(allowed, a.value);

		any = any || word;
		if (!word && unc_parse_u64(a.value, &number) < 0)
			return unc_yaml_fail(
				p->file, node, p->e,
				"'%s=%s': the value of a filter's term is a number%s%s", a.name,
				a.value, allowed ? ", or one of " : "", allowed ? allowed : "");
	}
	return any ? 0
		   : unc_yaml_fail(p->file, node, p->e,
				   "no term takes what the user gives: one of %s", allowed);
}

static int parse_values(const struct unc_family_parser *p, const struct unc_yaml *node,
			struct unc_filter *f)
{
	if (unc_family_words(p, node, &f->values, &f->value_count) < 0)
		return -EBADMSG;
	for (size_t i = 0; i < node->count; i++) {
		const struct unc_yaml *value = &node->children[i];
		struct unc_yaml key = unc_family_key(value);

		if (value->key[strspn(value->key, "abcdefghijklmnopqrstuvwxyz0123456789_")])
			return unc_yaml_fail(p->file, &key, p->e,
					     "'%s' is no value of a filter: lower case letters, "
					     "digits and _",
					     value->key);
		if (check_terms(p, value, NULL) < 0)
			return -EBADMSG;
	}
	return 0;
}

static int parse_filter(const struct unc_family_parser *p, const struct unc_yaml *node,
			enum unc_filter_kind kind)
{
	static const char *const with_values[] = {"!title", "!values", NULL};
	static const char *const with_terms[] = {"!title", "!terms", NULL};
	struct unc_filter *f = &p->family->filters[kind];

	if (unc_yaml_check(p->file, node, words[kind] ? with_terms : with_values, p->e) < 0 ||
	    unc_family_text(p, node, "title", &f->title) < 0)
		return -EBADMSG;
	if (!words[kind])
		return parse_values(p, unc_yaml_get(node, "values"), f);
	if (unc_family_text(p, node, "terms", &f->terms) < 0)
		return -EBADMSG;
	return check_terms(p, unc_yaml_get(node, "terms"), words[kind]);
}

int unc_family_filters(struct unc_family_parser *p, const struct unc_yaml *node)
{
	if (!node)
		return 0;
	if (unc_yaml_check(p->file, node, unc_filter_names, p->e) < 0)
		return -EBADMSG;
	for (size_t i = 0; i < UNC_FILTERS; i++) {
		const struct unc_yaml *filter = unc_yaml_get(node, unc_filter_names[i]);

		if (filter && parse_filter(p, filter, (enum unc_filter_kind)i) < 0)
			return -EBADMSG;
	}
	return 0;
}
