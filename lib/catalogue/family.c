/* SPDX-License-Identifier: MIT */
/* One data file: checked strictly, and reduced to what holds on one CPU model. */
#include "base/text.h"
#include "catalogue/family-parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void unc_family_free(struct unc_family *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->metric_count; i++)
		unc_metric_finish(&f->metrics[i]);
	free(f->metrics);
	for (size_t i = 0; i < f->rule_count; i++) {
		unc_names_finish(&f->rules[i].terms);
		unc_names_finish(&f->rules[i].when);
		unc_names_finish(&f->rules[i].inherit);
	}
	free(f->rules);
	free(f->port_rules);
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

/* ---- parts of a family ---- */

static const struct unc_field pattern_fields[] = {
	UNC_FIELD("!name", TEXT, UNC_AT(struct unc_pattern, name)),
	UNC_FIELD("identifier", TEXT, UNC_AT(struct unc_pattern, identifier)),
	UNC_END,
};

static const struct unc_shape pattern = {.fields = pattern_fields,
					 .size = sizeof(struct unc_pattern)};

static int check_patterns(const struct unc_reader *r, const struct unc_yaml *list, void *into)
{
	(void)into;
	return list->count ? 0 : unc_reader_fail(r, list, "'pmus' names no PMU");
}

static int read_models(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	struct unc_family_parser *p = r->context;
	struct unc_family *f = into;

	if (unc_reader_expect(r, map, UNC_YAML_MAP) < 0)
		return -EBADMSG;
	f->on_this_cpu = false;
	for (size_t i = 0; i < map->count; i++) {
		const struct unc_yaml *model = &map->children[i];

		if (unc_reader_expect(r, model, UNC_YAML_TEXT) < 0)
			return -EBADMSG;
		if (!strchr(model->text, '/'))
			return unc_reader_fail(r, model,
					       "'%s' is not a valid CPU model such as intel/6/143",
					       model->text);
		if (unc_has_word(model->text, p->cpu_model))
			f->on_this_cpu = f->names_this_cpu = true;
	}
	p->models = map;
	return 0;
}

static int check_expectation(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	struct unc_family_parser *p = r->context;
	const struct unc_yaml *models = unc_yaml_get(map, "models");

	((struct unc_expectation *)into)->on_this_cpu = models && p->holds;
	p->holds = true;
	if (models || unc_yaml_get(map, "path"))
		return 0;
	return unc_reader_fail(r, map, "an expectation needs 'models' or 'path'");
}

static const struct unc_field expectation_fields[] = {
	UNC_FIELD("models", TEXT, .check = unc_family_when),
	UNC_FIELD("path", TEXT, UNC_AT(struct unc_expectation, path)),
	UNC_FIELD("!module", TEXT, UNC_AT(struct unc_expectation, module)),
	UNC_FIELD("since", TEXT, UNC_AT(struct unc_expectation, since)),
	UNC_END,
};

static const struct unc_shape expectation = {.fields = expectation_fields,
					     .size = sizeof(struct unc_expectation),
					     .check = check_expectation};

static const struct unc_field role_fields[] = {
	UNC_FIELD("!attribute", TEXT, UNC_AT(struct unc_family, role_attribute),
		  .check = unc_family_file),
	UNC_FIELD("!values", WORDS, UNC_LIST(struct unc_family, roles, role_count)),
	UNC_END,
};

static int read_role(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	static const struct unc_shape by_attribute = {.fields = role_fields};

	if (node->kind != UNC_YAML_TEXT)
		return unc_fill(r, node, &by_attribute, into);
	if (!*node->text)
		return unc_reader_fail(r, node, "the value of 'role' is empty");
	((struct unc_family *)into)->role = node->text;
	return 0;
}

/* ---- the whole ---- */

static const char *const places[] = {
	[UNC_PLACE_CHANNEL] = "channel",
	[UNC_PLACE_SUBCHANNEL] = "subchannel",
	[UNC_PLACE_CONTROLLER] = "controller",
	[UNC_PLACE_MESH_PORT] = "mesh-port",
	[UNC_PLACE_PACKAGE_MEMORY] = "package-memory",
	[UNC_PLACE_SOCKET] = "socket",
	[UNC_PLACE_CLUSTER] = "cluster",
	[UNC_PLACE_SLICE] = "slice",
	[UNC_PLACE_CACHE] = "cache",
	[UNC_PLACE_AGENT] = "agent",
	[UNC_PLACE_FABRIC] = "fabric",
	[UNC_PLACE_STACK] = "stack",
	[UNC_PLACE_PORT] = "port",
	[UNC_PLACE_LINK] = "link",
	[UNC_PLACE_DEVICE] = "device",
	[UNC_PLACE_POWER] = "power",
	[UNC_PLACE_CPU] = "cpu",
	[UNC_PLACE_BLOCK] = "block",
	NULL,
};

static const struct unc_field family_fields[] = {
	UNC_FIELD("!family", TEXT, UNC_AT(struct unc_family, name)),
	UNC_FIELD("!title", TEXT, UNC_AT(struct unc_family, title)),
	UNC_FIELD("!instance", TEXT, UNC_AT(struct unc_family, instance)),
	UNC_FIELD("!place", WORD, UNC_AT(struct unc_family, place), .words = places),
	UNC_FIELD("!pmus", LIST, UNC_LIST(struct unc_family, patterns, pattern_count),
		  .of = &pattern, .check = check_patterns),
	UNC_FIELD("models", ANY, .check = read_models),
	UNC_FIELD("expect", LIST, UNC_LIST(struct unc_family, expectations, expectation_count),
		  .of = &expectation),
	UNC_FIELD("everywhere", BOOL, UNC_AT(struct unc_family, everywhere)),
	UNC_FIELD("each_socket", BOOL, UNC_AT(struct unc_family, each_socket)),
	UNC_FIELD("role", ANY, .check = read_role),
	UNC_FIELD("filters", MAP, .of = &unc_filters_shape),
	UNC_FIELD("ports", LIST, UNC_LIST(struct unc_family, port_rules, port_rule_count),
		  .of = &unc_port_shape),
	UNC_FIELD("!events", NAMED, UNC_LIST(struct unc_family, events, event_count),
		  .of = &unc_event_shape),
	UNC_FIELD("rules", LIST, UNC_LIST(struct unc_family, rules, rule_count),
		  .of = &unc_rule_shape),
	UNC_FIELD("!metrics", NAMED, UNC_LIST(struct unc_family, metrics, metric_count),
		  .of = &unc_metric_shape),
	UNC_FIELD("peer", TEXT, UNC_AT(struct unc_family, peer), .check = unc_family_file),
	UNC_END,
};

static const struct unc_shape family = {.fields = family_fields};

int unc_family_parse(struct unc_family **out, struct unc_yaml_file *file, const char *cpu_model,
		     struct unc_error *e)
{
	struct unc_family *f = calloc(1, sizeof(*f));
	struct unc_family_parser p = {.family = f, .cpu_model = cpu_model, .holds = true};
	struct unc_reader r = {.file = file, .e = e, .context = &p};
	int err;

	if (!f) {
		unc_yaml_free(file);
		return unc_nomem(e);
	}
	f->file = file;
	f->on_this_cpu = true;
	err = unc_fill(&r, file->root, &family, f);
	if (err < 0)
		unc_family_free(f);
	else
		*out = f;
	return err;
}
