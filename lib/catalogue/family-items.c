/* SPDX-License-Identifier: MIT */
/* Data files: events and metrics. */
#include "base/text.h"
#include "catalogue/family-parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- events ---- */

static bool is_reserved(const char *s)
{
	static const char *const words[] = {"seconds", "min",          "max",        "if",
					    "else",    "source_count", "memory_peak"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(s, words[i]) == 0)
			return true;
	return false;
}

static int check_alias(const struct unc_reader *r, const struct unc_yaml *value, void *into)
{
	if (strpbrk(value->text, "=,"))
		return unc_reader_fail(
			r, value, "'%s' is not a valid alias, which is one name of the kernel's",
			value->text);
	return unc_family_terms(r, value, into);
}

static int check_encoded(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	(void)into;
	if (unc_yaml_get(map, "alias") || unc_yaml_get(map, "terms") || unc_yaml_get(map, "cases"))
		return 0;
	return unc_reader_fail(r, map, "an event needs 'alias', 'terms' or 'cases'");
}

static const struct unc_field event_case_fields[] = {
	UNC_FIELD("when", TEXT, .check = unc_family_when),
	UNC_FIELD("alias", TEXT, UNC_AT(struct unc_event_def, alias), .check = check_alias),
	UNC_FIELD("terms", TEXT, UNC_AT(struct unc_event_def, terms), .check = unc_family_terms),
	UNC_FIELD("evidence", TEXT, UNC_AT(struct unc_event_def, evidence)),
	UNC_END,
};

static const struct unc_shape event_case = {
	.fields = event_case_fields, .size = sizeof(struct unc_event_def), .check = check_encoded};

static int finish_event(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	const struct unc_yaml *cases = unc_yaml_get(map, "cases");
	struct unc_event_def *event = into;
	bool found = true;

	event->name = map->key;
	if (is_reserved(map->key))
		return unc_reader_fail_key(
			r, map, "'%s' is not a valid event name: formulas have this word",
			map->key);
	if (unc_reader_check_name(r, map, map->key, "_", "event name") < 0)
		return -EBADMSG;
	if (cases) {
		int err = unc_family_cases(r, map, &event_case, event, NULL, &found);

		if (err < 0)
			return err;
	}
	event->absent = !found;
	/* The kernel's scale is one of an alias: every case must have one. */
	for (size_t i = 0; event->kernel_scale && cases && i < cases->count; i++)
		if (!unc_yaml_get(&cases->children[i], "alias"))
			return unc_reader_fail(r, &cases->children[i],
					       "the kernel's scale belongs to an alias, and this "
					       "case has none");
	if (event->kernel_scale && !cases && !event->alias)
		return unc_reader_fail(r, unc_yaml_get(map, "scale"),
				       "the kernel's scale belongs to an alias, and there is none");
	return check_encoded(r, map, into);
}

static const struct unc_field event_fields[] = {
	UNC_FIELD("!title", TEXT, UNC_AT(struct unc_event_def, title)),
	UNC_FIELD("alias", TEXT, UNC_AT(struct unc_event_def, alias), .check = check_alias),
	UNC_FIELD("terms", TEXT, UNC_AT(struct unc_event_def, terms), .check = unc_family_terms),
	UNC_FIELD("cases", ANY),
	/* The kernel's .scale of the alias; other factors are in formulas. */
	UNC_FIELD("scale", WORD, UNC_AT(struct unc_event_def, kernel_scale),
		  .words = (const char *const[]){"", "kernel", NULL}, .what = "scale"),
	UNC_FIELD("always", BOOL, UNC_AT(struct unc_event_def, always)),
	/* A clock is not restricted by the filters of its family. */
	UNC_FIELD("filter", WORD, UNC_AT(struct unc_event_def, unfiltered),
		  .words = (const char *const[]){"", "none", NULL}, .what = "filter of an event"),
	UNC_FIELD("!evidence", TEXT, UNC_AT(struct unc_event_def, evidence)),
	UNC_END,
};

const struct unc_shape unc_event_shape = {
	.fields = event_fields, .size = sizeof(struct unc_event_def), .check = finish_event};

/* ---- metrics ---- */

static bool is_metric_name(const char *s)
{
	return (*s >= 'a' && *s <= 'z') && strchr(s, '.') && !strstr(s, "..") &&
	       s[strlen(s) - 1] != '.' &&
	       s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_.")] == '\0';
}

const struct unc_event_def *unc_family_event(const struct unc_family *f, const char *name)
{
	for (size_t i = 0; i < f->event_count; i++)
		if (strcmp(f->events[i].name, name) == 0)
			return &f->events[i];
	return NULL;
}

/* Where a name that is in the text begins. */
static size_t find_name(const char *text, const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
	size_t len = strlen(name), at = 0;

	while (text[at]) {
		size_t n = strspn(text + at, letters);

		if (n == len && memcmp(text + at, name, n) == 0)
			return at;
		at += n ? n : 1;
	}
	return 0;
}

static int fail_event(const struct unc_reader *r, const struct unc_yaml *formula, const char *name)
{
	const struct unc_family *f = ((struct unc_family_parser *)r->context)->family;

	unc_reader_fail_in(r, formula, find_name(formula->text, name),
			   "'%s' is not an event of this family", name);
	if (f->event_count)
		unc_error_suggest(r->e, name, &f->events->name, sizeof(*f->events), f->event_count);
	return -EBADMSG;
}

static int read_formula(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	const struct unc_family *f = ((struct unc_family_parser *)r->context)->family;
	struct uncore_metric *m = into;
	struct unc_error why;
	size_t pos = 0, count;

	if (unc_reader_expect(r, node, UNC_YAML_TEXT) < 0)
		return -EBADMSG;
	m->text = node->text;
	if (unc_formula_parse(&m->formula, node->text, &pos, &why) < 0)
		return unc_reader_fail_in(r, node, pos, "formula: %s", why.text);
	count = m->formula->names.count;
	m->events = calloc(count + 1, sizeof(*m->events));
	if (!m->events)
		return unc_nomem(r->e);
	for (size_t i = 0; i < count; i++) {
		m->events[i] = unc_family_event(f, m->formula->names.items[i]);
		if (!m->events[i])
			return fail_event(r, node, m->formula->names.items[i]);
	}
	if (!count)
		return unc_reader_fail(r, node, "the formula names no event");
	if (count > UNC_METRIC_EVENTS)
		return unc_reader_fail(r, node, "the formula names more than %d events",
				       UNC_METRIC_EVENTS);
	return 0;
}

static int check_ceiling(const struct unc_reader *r, const struct unc_yaml *value, void *into)
{
	const struct uncore_metric *m = into;

	if (strcmp(m->unit, "B/s") == 0)
		return 0;
	return unc_reader_fail(r, value, "a ceiling is one of B/s, and the unit is %s", m->unit);
}

void unc_metric_finish(void *metric)
{
	struct uncore_metric *m = metric;

	unc_formula_free(m->formula);
	free(m->events);
	free(m->missing);
	free(m->shown);
}

static const struct unc_field metric_case_fields[] = {
	UNC_FIELD("when", TEXT, .check = unc_family_when),
	UNC_FIELD("!formula", ANY, .check = read_formula),
	UNC_FIELD("evidence", TEXT, UNC_AT(struct uncore_metric, evidence)),
	UNC_END,
};

static const struct unc_shape metric_case = {.fields = metric_case_fields,
					     .size = sizeof(struct uncore_metric)};

static int finish_metric(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	struct uncore_metric *m = into;
	bool found;

	m->family = ((struct unc_family_parser *)r->context)->family;
	m->name = map->key;
	if (!is_metric_name(map->key))
		return unc_reader_fail_key(
			r, map,
			"'%s' is not a valid metric name: lower case words joined by "
			"dots, such as memory.read.bandwidth",
			map->key);
	if (unc_yaml_get(map, "cases"))
		return unc_family_cases(r, map, &metric_case, m, unc_metric_finish, &found);
	return m->formula ? 0 : unc_reader_fail(r, map, "a metric needs 'formula' or 'cases'");
}

static const struct unc_field metric_fields[] = {
	UNC_FIELD("!title", TEXT, UNC_AT(struct uncore_metric, title)),
	UNC_FIELD("!unit", TEXT, UNC_AT(struct uncore_metric, unit),
		  .words = (const char *const[]){"B/s", "Hz", "s", "ratio", "1/s", "1/cycle", "W",
						 "J", "B", "cycle", "B/cycle", "packet", NULL},
		  .what = "unit"),
	UNC_FIELD("formula", ANY, .check = read_formula),
	UNC_FIELD("cases", ANY),
	UNC_FIELD("ceiling", WORD, UNC_AT(struct uncore_metric, ceiling), .check = check_ceiling,
		  .words =
			  (const char *const[]){[UNC_CEILING_NONE] = "",
						[UNC_CEILING_MEMORY] = "memory",
						[UNC_CEILING_PORT] = "port",
						NULL},
		  .what = "ceiling"),
	UNC_FIELD("!evidence", TEXT, UNC_AT(struct uncore_metric, evidence)),
	UNC_END,
};

const struct unc_shape unc_metric_shape = {
	.fields = metric_fields, .size = sizeof(struct uncore_metric), .check = finish_metric};
