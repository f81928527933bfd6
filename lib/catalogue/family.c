/* SPDX-License-Identifier: MIT */
/* One data file: checked strictly, and reduced to what holds on one CPU model. */
#include "catalogue/family.h"
#include "base/ascii.h"
#include "catalogue/rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void unc_family_free(struct unc_family *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->metric_count; i++) {
		unc_formula_free(f->metrics[i].formula);
		free(f->metrics[i].events);
		free(f->metrics[i].missing);
	}
	free(f->metrics);
	unc_rules_free(f->rules, f->rule_count);
	free(f->events);
	free(f->patterns);
	free(f->expectations);
	free(f->roles);
	for (size_t i = 0; i < UNC_FILTERS; i++)
		free(f->filters[i].values);
	free(f->pmus);
	unc_yaml_free(f->file);
	free(f);
}

/* {sbdf} is a PCI address as the kernel writes it into names: hexadecimal, without zeros. */
bool unc_pattern_value(const char *pattern, const char *name, const char *word, uint64_t *value)
{
	while (*pattern) {
		if (*pattern == '{') {
			size_t len = strcspn(++pattern, "}");
			unsigned base = strncmp(pattern, "sbdf}", 5) == 0 ? 16 : 10;
			const char *start = name;
			uint64_t number = 0;

			while (unc_digit_value(*name) >= 0 && unc_digit_value(*name) < (int)base)
				number = number * base + (unsigned)unc_digit_value(*name++);
			if (!pattern[len] || name == start)
				return false;
			if (word && strlen(word) == len && memcmp(pattern, word, len) == 0)
				*value = number;
			pattern += len + 1;
		} else if (*pattern == '*' && !pattern[1]) {
			return true;
		} else if (*pattern++ != *name++) {
			return false;
		}
	}
	return !*name;
}

bool unc_pattern_matches(const char *pattern, const char *name)
{
	return unc_pattern_value(pattern, name, NULL, NULL);
}

/* ---- models ---- */

static int parse_models(struct unc_family_parser *p, const struct unc_yaml *node)
{
	p->family->on_this_cpu = !node;
	if (!node)
		return 0;
	if (unc_yaml_expect(p->file, node, UNC_YAML_MAP, p->e) < 0)
		return -EBADMSG;
	for (size_t i = 0; i < node->count; i++) {
		const struct unc_yaml *model = &node->children[i];

		if (unc_yaml_expect(p->file, model, UNC_YAML_TEXT, p->e) < 0)
			return -EBADMSG;
		if (!strchr(model->text, '/'))
			return unc_yaml_fail(p->file, model, p->e,
					     "'%s' is no CPU model such as intel/6/143",
					     model->text);
		if (unc_family_word_in(model->text, p->cpu_model))
			p->family->on_this_cpu = p->family->names_this_cpu = true;
	}
	p->models = node;
	return 0;
}

/* ---- PMUs and where to expect them ---- */

static int parse_patterns(struct unc_family_parser *p, const struct unc_yaml *node)
{
	static const char *const keys[] = {"!name", "identifier", NULL};
	struct unc_family *f = p->family;

	if (unc_yaml_expect(p->file, node, UNC_YAML_LIST, p->e) < 0)
		return -EBADMSG;
	if (!node->count)
		return unc_yaml_fail(p->file, node, p->e, "'pmus' names no PMU");
	f->patterns = calloc(node->count + 1, sizeof(*f->patterns));
	if (!f->patterns)
		return unc_nomem(p->e);
	for (size_t i = 0; i < node->count; i++, f->pattern_count++) {
		const struct unc_yaml *one = &node->children[i];

		if (unc_yaml_check(p->file, one, keys, p->e) < 0 ||
		    unc_family_text(p, one, "name", &f->patterns[i].name) < 0 ||
		    unc_family_text(p, one, "identifier", &f->patterns[i].identifier) < 0)
			return -EBADMSG;
	}
	return 0;
}

static int parse_expectations(struct unc_family_parser *p, const struct unc_yaml *node)
{
	static const char *const keys[] = {"models", "path", "!module", "since", NULL};
	struct unc_family *f = p->family;

	if (!node)
		return 0;
	if (unc_yaml_expect(p->file, node, UNC_YAML_LIST, p->e) < 0)
		return -EBADMSG;
	f->expectations = calloc(node->count + 1, sizeof(*f->expectations));
	if (!f->expectations)
		return unc_nomem(p->e);
	for (size_t i = 0; i < node->count; i++, f->expectation_count++) {
		const struct unc_yaml *one = &node->children[i];
		struct unc_expectation *x = &f->expectations[i];
		const struct unc_yaml *models;

		if (unc_yaml_check(p->file, one, keys, p->e) < 0 ||
		    unc_family_text(p, one, "path", &x->path) < 0 ||
		    unc_family_text(p, one, "module", &x->module) < 0 ||
		    unc_family_text(p, one, "since", &x->since) < 0)
			return -EBADMSG;
		models = unc_yaml_get(one, "models");
		if (models && unc_family_models_hold(p, models, &x->on_this_cpu) < 0)
			return -EBADMSG;
		if (!models && !x->path)
			return unc_yaml_fail(p->file, one, p->e,
					     "an expectation needs 'models' or 'path'");
	}
	return 0;
}

static int parse_family(struct unc_family_parser *p)
{
	static const char *const keys[] = {"!family",  "!title",  "!instance",  "!pmus",
					   "models",   "expect",  "everywhere", "each_socket",
					   "role",     "filters", "ports",      "!events",
					   "!metrics", "rules",   "peer",       NULL};
	const struct unc_yaml *root = p->file->root;
	struct unc_family *f = p->family;

	if (unc_yaml_check(p->file, root, keys, p->e) < 0 ||
	    unc_family_text(p, root, "family", &f->name) < 0 ||
	    unc_family_text(p, root, "title", &f->title) < 0 ||
	    unc_family_text(p, root, "instance", &f->instance) < 0 ||
	    unc_yaml_bool(p->file, root, "everywhere", &f->everywhere, p->e) < 0 ||
	    unc_yaml_bool(p->file, root, "each_socket", &f->each_socket, p->e) < 0)
		return -EBADMSG;
	if (parse_models(p, unc_yaml_get(root, "models")) < 0)
		return -EBADMSG;
	if (parse_patterns(p, unc_yaml_get(root, "pmus")) < 0 ||
	    parse_expectations(p, unc_yaml_get(root, "expect")) < 0 ||
	    unc_family_role(p, unc_yaml_get(root, "role")) < 0 ||
	    unc_family_peer(p, unc_yaml_get(root, "peer")) < 0 ||
	    unc_family_filters(p, unc_yaml_get(root, "filters")) < 0 ||
	    unc_family_ports(p, unc_yaml_get(root, "ports")) < 0)
		return -EBADMSG;
	if (unc_family_events(p, unc_yaml_get(root, "events")) < 0)
		return -EBADMSG;
	if (unc_family_rules(p, unc_yaml_get(root, "rules")) < 0)
		return -EBADMSG;
	return unc_family_metrics(p, unc_yaml_get(root, "metrics"));
}

int unc_family_parse(struct unc_family **out, struct unc_yaml_file *file, const char *cpu_model,
		     struct unc_error *e)
{
	struct unc_family *f = calloc(1, sizeof(*f));
	struct unc_family_parser p = {.family = f, .file = file, .cpu_model = cpu_model, .e = e};
	int r;

	if (!f) {
		unc_yaml_free(file);
		return unc_nomem(e);
	}
	f->file = file;
	r = parse_family(&p);
	if (r < 0) {
		unc_family_free(f);
		return r;
	}
	*out = f;
	return 0;
}
