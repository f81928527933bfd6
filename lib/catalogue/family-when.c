/* SPDX-License-Identifier: MIT */
/* Data files: what in them holds on which CPU model, and where in the file a thing stands. */
#include "catalogue/family.h"

#include <errno.h>
#include <string.h>

struct unc_yaml unc_family_key(const struct unc_yaml *node)
{
	return (struct unc_yaml){.line = node->key_line, .col = node->key_col};
}

int unc_family_text(const struct unc_family_parser *p, const struct unc_yaml *map, const char *key,
		    const char **out)
{
	if (unc_yaml_text(p->file, map, key, out, p->e) < 0)
		return -EBADMSG;
	if (unc_yaml_get(map, key) && !**out)
		return unc_yaml_fail(p->file, unc_yaml_get(map, key), p->e,
				     "the value of '%s' is empty", key);
	return 0;
}

struct unc_yaml unc_family_position(const struct unc_yaml *scalar, size_t offset)
{
	return (struct unc_yaml){.line = scalar->line,
				 .col = scalar->col + (scalar->plain ? (int)offset : 0)};
}

bool unc_family_word_in(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; *at;) {
		size_t n = strcspn(at, " ");

		if (n == len && memcmp(at, word, n) == 0)
			return true;
		at += n + strspn(at + n, " ");
	}
	return false;
}

int unc_family_models_hold(const struct unc_family_parser *p, const struct unc_yaml *list,
			   bool *holds)
{
	char word[64];
	bool found = false;

	if (unc_yaml_expect(p->file, list, UNC_YAML_TEXT, p->e) < 0)
		return -EBADMSG;
	if (!*list->text)
		return unc_yaml_fail(p->file, list, p->e, "no model is named");
	for (const char *at = list->text; *at;) {
		size_t n = strcspn(at, " ");
		const struct unc_yaml *model;
		struct unc_yaml here = unc_family_position(list, (size_t)(at - list->text));

		if (n >= sizeof(word))
			return unc_yaml_fail(p->file, &here, p->e, "a model's name is too long");
		memcpy(word, at, n);
		word[n] = '\0';
		model = p->models ? unc_yaml_get(p->models, word) : NULL;
		if (!model)
			return unc_yaml_fail(p->file, &here, p->e,
					     "'%s' is no model of this file's 'models'", word);
		found = found || unc_family_word_in(model->text, p->cpu_model);
		at += n + strspn(at + n, " ");
	}
	*holds = found;
	return 0;
}

/* What a case may say stands in cases only; but for the evidence, which may hold for all. */
static int refuse_beside_cases(const struct unc_family_parser *p, const struct unc_yaml *node,
			       const char *const *keys)
{
	for (; *keys; keys++) {
		const char *key = *keys + (**keys == '!');
		const struct unc_yaml *beside = unc_yaml_get(node, key);
		struct unc_yaml at;

		if (!beside || strcmp(key, "evidence") == 0)
			continue;
		at = unc_family_key(beside);
		return unc_yaml_fail(p->file, &at, p->e,
				     "'%s' stands beside 'cases': put it into them", key);
	}
	return 0;
}

int unc_family_choose(const struct unc_family_parser *p, const struct unc_yaml *node,
		      const char *const *keys,
		      int (*check)(const struct unc_family_parser *, const struct unc_yaml *),
		      const struct unc_yaml **chosen)
{
	const struct unc_yaml *cases = unc_yaml_get(node, "cases");
	const struct unc_yaml *found = NULL;

	if (!cases) {
		*chosen = node;
		return check(p, node);
	}
	if (unc_yaml_expect(p->file, cases, UNC_YAML_LIST, p->e) < 0 ||
	    refuse_beside_cases(p, node, keys) < 0)
		return -EBADMSG;
	if (!cases->count)
		return unc_yaml_fail(p->file, cases, p->e, "'cases' has no case");
	for (size_t i = 0; i < cases->count; i++) {
		const struct unc_yaml *one = &cases->children[i];
		const struct unc_yaml *when;
		const char *evidence;
		bool holds = true;

		if (unc_yaml_check(p->file, one, keys, p->e) < 0 || check(p, one) < 0 ||
		    unc_family_text(p, one, "evidence", &evidence) < 0)
			return -EBADMSG;
		when = unc_yaml_get(one, "when");
		if (when && unc_family_models_hold(p, when, &holds) < 0)
			return -EBADMSG;
		if (holds && !found)
			found = one;
	}
	*chosen = found;
	return 0;
}
