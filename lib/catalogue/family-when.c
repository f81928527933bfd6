/* SPDX-License-Identifier: MIT */
/* Data files: what in them holds on which CPU model, and values that several parts have. */
#include "base/text.h"
#include "catalogue/family-parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int unc_family_when(const struct unc_reader *r, const struct unc_yaml *list, void *into)
{
	struct unc_family_parser *p = r->context;
	char word[64];

	(void)into;
	p->holds = false;
	for (const char *at = list->text; *at;) {
		size_t n = strcspn(at, " "), offset = (size_t)(at - list->text);
		const struct unc_yaml *model;

		if (n >= sizeof(word))
			return unc_reader_fail_in(r, list, offset, "a model's name is too long");
		memcpy(word, at, n);
		word[n] = '\0';
		model = p->models ? unc_yaml_get(p->models, word) : NULL;
		if (!model)
			return unc_reader_fail_in(r, list, offset,
						  "'%s' is not a model of this file's 'models'",
						  word);
		p->holds |= unc_has_word(model->text, p->cpu_model);
		at += n + strspn(at + n, " ");
	}
	return 0;
}

/* The keys of a case are in the cases only; but the evidence may be for all. */
static int refuse_beside_cases(const struct unc_reader *r, const struct unc_yaml *map,
			       const struct unc_field *fields)
{
	for (; fields->key; fields++) {
		const char *key = fields->key + (*fields->key == '!');
		const struct unc_yaml *beside = unc_yaml_get(map, key);

		if (beside && strcmp(key, "evidence") != 0)
			return unc_reader_fail_key(
				r, beside, "'%s' stands beside 'cases': put it into them", key);
	}
	return 0;
}

int unc_family_cases(const struct unc_reader *r, const struct unc_yaml *map,
		     const struct unc_shape *shape, void *item, void (*drop)(void *item),
		     bool *found)
{
	const struct unc_yaml *cases = unc_yaml_get(map, "cases");
	struct unc_family_parser *p = r->context;
	char *one = malloc(2 * shape->size), *before;
	int err;

	if (!one)
		return unc_nomem(r->e);
	before = one + shape->size;
	memcpy(before, item, shape->size);
	err = unc_reader_expect(r, cases, UNC_YAML_LIST);
	if (err == 0)
		err = refuse_beside_cases(r, map, shape->fields);
	if (err == 0 && !cases->count)
		err = unc_reader_fail(r, cases, "'cases' has no case");
	*found = false;
	for (size_t i = 0; err == 0 && i < cases->count; i++) {
		memcpy(one, before, shape->size);
		p->holds = true;
		err = unc_fill(r, &cases->children[i], shape, one);
		if (err == 0 && p->holds && !*found) {
			memcpy(item, one, shape->size);
			*found = true;
		} else if (drop) {
			drop(one);
		}
	}
	p->holds = true;
	free(one);
	return err;
}

int unc_family_terms(const struct unc_reader *r, const struct unc_yaml *value, void *into)
{
	const char *at = value->text;
	struct unc_assignment a;
	int more;

	(void)into;
	while ((more = unc_assignment_next(&at, &a)) == 1)
		if (strncmp(a.name, "config", 6) == 0)
			return unc_reader_fail(
				r, value, "'%s': write format terms, not raw configuration words",
				a.name);
	if (more < 0)
		return unc_reader_fail(
			r, value, "'%s' is not a valid list of terms such as event=0x04,umask=0x03",
			value->text);
	return 0;
}

int unc_family_file(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	const char *brace = strchr(node->text, '{');

	(void)into;
	if (strchr(node->text, '/'))
		return unc_reader_fail(r, node, "'%s' is not the name of a file of the PMU",
				       node->text);
	if (brace && (strncmp(brace, "{die}", 5) != 0 || strchr(brace + 1, '{')))
		return unc_reader_fail(r, node, "'%s': the only word in braces is {die}",
				       node->text);
	return 0;
}
