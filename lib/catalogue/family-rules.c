/* SPDX-License-Identifier: MIT */
/* Data files: what the hardware excludes. */
#include "catalogue/family-parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Names of format terms, separated by blanks. */
static int add_terms(const struct unc_reader *r, const struct unc_yaml *node, struct unc_names *out)
{
	const char *list = node->text;
	char word[64];

	if (!*list)
		return unc_reader_fail(r, node, "the value of '%s' is empty", node->key);
	for (const char *at = list; *at;) {
		size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789_");

		if (!n || n >= sizeof(word) || (at[n] && at[n] != ' '))
			return unc_reader_fail_in(r, node, (size_t)(at - list),
						  "'%s' is no list of format terms such as src_bdf "
						  "src_bdf_en",
						  list);
		memcpy(word, at, n);
		word[n] = '\0';
		if (unc_names_add(out, word) < 0)
			return unc_nomem(r->e);
		at += n + strspn(at + n, " ");
	}
	return 0;
}

static int read_terms(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	return add_terms(r, node, &((struct unc_rule *)into)->terms);
}

static int read_when(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	return add_terms(r, node, &((struct unc_rule *)into)->when);
}

static int read_inherit(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	return add_terms(r, node, &((struct unc_rule *)into)->inherit);
}

static int read_except(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	const struct unc_family *f = ((struct unc_family_parser *)r->context)->family;
	struct unc_rule *rule = into;

	for (size_t i = 0; i < f->event_count; i++)
		if (strcmp(f->events[i].name, node->text) == 0)
			rule->except = &f->events[i];
	return rule->except
		       ? 0
		       : unc_reader_fail(r, node, "'%s' is no event of this family", node->text);
}

#define WHY                                                    \
	UNC_FIELD("!why", TEXT, UNC_AT(struct unc_rule, why)), \
		UNC_FIELD("!evidence", TEXT, UNC_AT(struct unc_rule, evidence)), UNC_END
#define DIFFERENT                                                \
	UNC_FIELD("when", TEXT, .check = read_when),             \
		UNC_FIELD("except", TEXT, .check = read_except), \
		UNC_FIELD("inherit", TEXT, .check = read_inherit), WHY

/* The kinds of rules, each known by its first key. */
static const struct form {
	enum unc_rule_kind kind;
	size_t least; /* of its terms */
	struct unc_field fields[9];
} forms[] = {
	{UNC_RULE_NEVER, 2, {UNC_FIELD("!never", TEXT, .check = read_terms), WHY}},
	{UNC_RULE_NEEDS, 2, {UNC_FIELD("!needs", TEXT, .check = read_terms), WHY}},
	{UNC_RULE_NEEDS_ONE, 1, {UNC_FIELD("!needs_one", TEXT, .check = read_terms), WHY}},
	{UNC_RULE_AT_MOST, 1, {UNC_FIELD("!same", TEXT, .check = read_terms), DIFFERENT}},
	{UNC_RULE_AT_MOST,
	 1,
	 {UNC_FIELD("!at_most", NUMBER, UNC_AT(struct unc_rule, most), .least = 1,
		    .most = UNC_RULE_MOST),
	  UNC_FIELD("!of", TEXT, .check = read_terms), DIFFERENT}},
};

int unc_family_rules(const struct unc_reader *r, const struct unc_yaml *list, void *into)
{
	const struct form *end = &forms[sizeof(forms) / sizeof(*forms)];
	struct unc_family *f = into;
	int err = unc_reader_expect(r, list, UNC_YAML_LIST);

	if (err < 0)
		return err;
	f->rules = calloc(list->count + 1, sizeof(*f->rules));
	if (!f->rules)
		return unc_nomem(r->e);
	for (size_t i = 0; err == 0 && i < list->count; i++) {
		const struct unc_yaml *node = &list->children[i];
		struct unc_rule *rule = &f->rules[f->rule_count++];
		const struct form *form = forms;

		while (form < end && !unc_yaml_get(node, form->fields[0].key + 1))
			form++;
		if (form == end)
			return unc_reader_fail(r, node,
					       "a rule begins with one of: never, needs, "
					       "needs_one, same, at_most");
		rule->kind = form->kind;
		rule->most = 1;
		err = unc_fill(r, node, &(struct unc_shape){.fields = form->fields}, rule);
		if (err == 0 && rule->terms.count < form->least)
			err = unc_reader_fail(r, unc_yaml_get(node, form->fields[0].key + 1),
					      "'%s' needs at least %zu terms",
					      form->fields[0].key + 1, form->least);
	}
	return err;
}
