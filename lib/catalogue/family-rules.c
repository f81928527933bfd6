/* SPDX-License-Identifier: MIT */
/* Data files: what the hardware excludes. */
#include "catalogue/family.h"
#include "catalogue/rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The kinds of rules, and the keys of each. */
static const struct form {
	const char *name;
	enum unc_rule_kind kind;
	size_t least; /* of its terms */
	const char *keys[9];
} forms[] = {
	{"never", UNC_RULE_NEVER, 2, {"!never", "!why", "!evidence"}},
	{"needs", UNC_RULE_NEEDS, 2, {"!needs", "!why", "!evidence"}},
	{"needs_one", UNC_RULE_NEEDS_ONE, 1, {"!needs_one", "!why", "!evidence"}},
	{"same", UNC_RULE_AT_MOST, 1, {"!same", "when", "except", "inherit", "!why", "!evidence"}},
	{"at_most",
	 UNC_RULE_AT_MOST,
	 1,
	 {"!at_most", "!of", "when", "except", "inherit", "!why", "!evidence"}},
};

/* Names of format terms, separated by blanks; none when the key is absent. */
static int parse_terms(const struct unc_family_parser *p, const struct unc_yaml *node,
		       const char *key, struct unc_names *out)
{
	const char *list = NULL;
	char word[64];

	if (unc_family_text(p, node, key, &list) < 0)
		return -EBADMSG;
	for (const char *at = list; at && *at;) {
		size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789_");
		struct unc_yaml here =
			unc_family_position(unc_yaml_get(node, key), (size_t)(at - list));

		if (!n || n >= sizeof(word) || (at[n] && at[n] != ' '))
			return unc_yaml_fail(p->file, &here, p->e,
					     "'%s' is no list of format terms such as src_bdf "
					     "src_bdf_en",
					     list);
		memcpy(word, at, n);
		word[n] = '\0';
		if (unc_names_add(out, word) < 0)
			return unc_nomem(p->e);
		at += n + strspn(at + n, " ");
	}
	return 0;
}

static int parse_except(const struct unc_family_parser *p, const struct unc_yaml *node,
			struct unc_rule *rule)
{
	const struct unc_family *f = p->family;
	const char *name = NULL;

	if (unc_family_text(p, node, "except", &name) < 0)
		return -EBADMSG;
	for (size_t i = 0; name && i < f->event_count; i++)
		if (strcmp(f->events[i].name, name) == 0)
			rule->except = &f->events[i];
	if (name && !rule->except)
		return unc_yaml_fail(p->file, unc_yaml_get(node, "except"), p->e,
				     "'%s' is no event of this family", name);
	return 0;
}

static int parse_most(const struct unc_family_parser *p, const struct unc_yaml *node,
		      struct unc_rule *rule)
{
	uint64_t most = 1;

	if (unc_yaml_u64(p->file, node, "at_most", &most, p->e) < 0)
		return -EBADMSG;
	if (most < 1 || most > UNC_RULE_MOST)
		return unc_yaml_fail(p->file, unc_yaml_get(node, "at_most"), p->e,
				     "the value of 'at_most' must be from 1 to %d", UNC_RULE_MOST);
	rule->most = (size_t)most;
	return 0;
}

static int parse_rule(const struct unc_family_parser *p, const struct unc_yaml *node,
		      struct unc_rule *rule)
{
	const struct form *form = forms, *end = &forms[sizeof(forms) / sizeof(*forms)];

	while (form < end && !unc_yaml_get(node, form->name))
		form++;
	if (form == end)
		return unc_yaml_fail(p->file, node, p->e,
				     "a rule begins with one of: never, needs, needs_one, same, "
				     "at_most");
	rule->kind = form->kind;
	if (unc_yaml_check(p->file, node, form->keys, p->e) < 0 ||
	    parse_terms(p, node, unc_yaml_get(node, "of") ? "of" : form->name, &rule->terms) < 0 ||
	    parse_terms(p, node, "when", &rule->when) < 0 ||
	    parse_terms(p, node, "inherit", &rule->inherit) < 0 ||
	    parse_except(p, node, rule) < 0 || parse_most(p, node, rule) < 0 ||
	    unc_family_text(p, node, "why", &rule->why) < 0 ||
	    unc_family_text(p, node, "evidence", &rule->evidence) < 0)
		return -EBADMSG;
	if (rule->terms.count < form->least)
		return unc_yaml_fail(p->file, unc_yaml_get(node, form->name), p->e,
				     "'%s' needs at least %zu terms", form->name, form->least);
	return 0;
}

int unc_family_rules(struct unc_family_parser *p, const struct unc_yaml *node)
{
	struct unc_family *f = p->family;

	if (!node)
		return 0;
	if (unc_yaml_expect(p->file, node, UNC_YAML_LIST, p->e) < 0)
		return -EBADMSG;
	f->rules = calloc(node->count + 1, sizeof(*f->rules));
	if (!f->rules)
		return unc_nomem(p->e);
	for (size_t i = 0; i < node->count; i++) {
		f->rule_count++; /* first, so that a half-parsed one is freed too */
		if (parse_rule(p, &node->children[i], &f->rules[i]) < 0)
			return -EBADMSG;
	}
	return 0;
}
