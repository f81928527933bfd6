/* SPDX-License-Identifier: MIT */
/* Data files: events and metrics. */
#include "catalogue/family.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- names of things ---- */

static bool is_event_name(const char *s)
{
	if (*s < 'a' || *s > 'z')
		return false;
	return s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0' &&
	       strcmp(s, "seconds") != 0 && strcmp(s, "min") != 0 && strcmp(s, "max") != 0 &&
	       strcmp(s, "if") != 0 && strcmp(s, "else") != 0 && strcmp(s, "source_count") != 0 &&
	       strcmp(s, "memory_peak") != 0;
}

static bool is_metric_name(const char *s)
{
	return (*s >= 'a' && *s <= 'z') && strchr(s, '.') && !strstr(s, "..") &&
	       s[strlen(s) - 1] != '.' &&
	       s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_.")] == '\0';
}

static bool is_unit(const char *s)
{
	static const char *const units[] = {"B/s", "Hz", "s", "ratio", "1/s",     "1/cycle",
					    "W",   "J",  "B", "cycle", "B/cycle", "packet"};

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (strcmp(units[i], s) == 0)
			return true;
	return false;
}

/* ---- events ---- */

int unc_family_terms(const struct unc_family_parser *p, const struct unc_yaml *value)
{
	struct unc_assignment a;
	const char *at;
	int r;

	if (unc_yaml_expect(p->file, value, UNC_YAML_TEXT, p->e) < 0)
		return -EBADMSG;
	at = value->text;
	while ((r = unc_assignment_next(&at, &a)) == 1)
		if (strncmp(a.name, "config", 6) == 0)
			return unc_yaml_fail(p->file, value, p->e,
					     "'%s': write format terms, not raw "
					     "configuration words",
					     a.name);
	if (r < 0 || !*value->text)
		return unc_yaml_fail(p->file, value, p->e,
				     "'%s' is no list of terms such as event=0x04,umask=0x03",
				     value->text);
	return 0;
}

static int check_event_case(const struct unc_family_parser *p, const struct unc_yaml *node)
{
	static const char *const encodings[] = {"alias", "terms"};
	bool any = false;

	for (size_t i = 0; i < 2; i++) {
		const struct unc_yaml *value = unc_yaml_get(node, encodings[i]);

		if (!value)
			continue;
		any = true;
		if (i == 0 && value->kind == UNC_YAML_TEXT && strpbrk(value->text, "=,"))
			return unc_yaml_fail(p->file, value, p->e,
					     "'%s' is no alias, which is one name of the kernel's",
					     value->text);
		if (unc_family_terms(p, value) < 0)
			return -EBADMSG;
	}
	return any ? 0
		   : unc_yaml_fail(p->file, node, p->e,
				   "an event needs 'alias', 'terms' or 'cases'");
}

static int parse_scale(const struct unc_family_parser *p, const struct unc_yaml *node,
		       struct unc_event_def *ev)
{
	const char *scale = NULL;

	if (unc_family_text(p, node, "scale", &scale) < 0)
		return -EBADMSG;
	if (!scale)
		return 0;
	if (strcmp(scale, "kernel") != 0)
		return unc_yaml_fail(p->file, unc_yaml_get(node, "scale"), p->e,
				     "'%s': the only scale is 'kernel' (the alias's .scale); put "
				     "factors into formulas",
				     scale);
	ev->kernel_scale = true;
	return 0;
}

/* A clock is the same whoever asks. */
static int parse_unfiltered(const struct unc_family_parser *p, const struct unc_yaml *node,
			    struct unc_event_def *ev)
{
	const char *filter = NULL;

	if (unc_family_text(p, node, "filter", &filter) < 0)
		return -EBADMSG;
	if (filter && strcmp(filter, "none") != 0)
		return unc_yaml_fail(
			p->file, unc_yaml_get(node, "filter"), p->e,
			"'%s': an event is restricted by all filters of its family, or "
			"with 'none' by no filter",
			filter);
	ev->unfiltered = filter;
	return 0;
}

/* The kernel's scale is one of an alias: every case must have one. */
static int check_scaled(const struct unc_family_parser *p, const struct unc_yaml *node)
{
	const struct unc_yaml *cases = unc_yaml_get(node, "cases");

	for (size_t i = 0; cases && i < cases->count; i++)
		if (!unc_yaml_get(&cases->children[i], "alias"))
			return unc_yaml_fail(
				p->file, &cases->children[i], p->e,
				"the kernel's scale belongs to an alias, and this case "
				"has none");
	if (!cases && !unc_yaml_get(node, "alias"))
		return unc_yaml_fail(p->file, unc_yaml_get(node, "scale"), p->e,
				     "the kernel's scale belongs to an alias, and there is none");
	return 0;
}

static int parse_event(const struct unc_family_parser *p, const struct unc_yaml *node,
		       struct unc_event_def *ev)
{
	static const char *const keys[] = {"!title", "alias",  "terms",     "cases", "scale",
					   "always", "filter", "!evidence", NULL};
	static const char *const case_keys[] = {"when", "alias", "terms", "evidence", NULL};
	const struct unc_yaml *chosen;
	struct unc_yaml key = unc_family_key(node);

	if (!is_event_name(node->key))
		return unc_yaml_fail(p->file, &key, p->e,
				     "'%s' is no event name: lower case letters, digits and _",
				     node->key);
	if (unc_yaml_check(p->file, node, keys, p->e) < 0)
		return -EBADMSG;
	ev->name = node->key;
	if (unc_family_text(p, node, "title", &ev->title) < 0 ||
	    unc_family_text(p, node, "evidence", &ev->evidence) < 0 ||
	    unc_yaml_bool(p->file, node, "always", &ev->always, p->e) < 0 ||
	    parse_scale(p, node, ev) < 0 || parse_unfiltered(p, node, ev) < 0 ||
	    unc_family_choose(p, node, case_keys, check_event_case, &chosen) < 0)
		return -EBADMSG;
	if (ev->kernel_scale && check_scaled(p, node) < 0)
		return -EBADMSG;
	ev->absent = !chosen;
	if (!chosen)
		return 0;
	if (unc_family_text(p, chosen, "alias", &ev->alias) < 0 ||
	    unc_family_text(p, chosen, "terms", &ev->terms) < 0 ||
	    unc_family_text(p, chosen, "evidence", &ev->evidence) < 0)
		return -EBADMSG;
	return 0;
}

int unc_family_events(struct unc_family_parser *p, const struct unc_yaml *node)
{
	struct unc_family *f = p->family;

	if (unc_yaml_expect(p->file, node, UNC_YAML_MAP, p->e) < 0)
		return -EBADMSG;
	f->events = calloc(node->count + 1, sizeof(*f->events));
	if (!f->events)
		return unc_nomem(p->e);
	for (; f->event_count < node->count; f->event_count++)
		if (parse_event(p, &node->children[f->event_count], &f->events[f->event_count]) < 0)
			return -EBADMSG;
	return 0;
}

/* ---- metrics ---- */

static const struct unc_event_def *find_event(const struct unc_family *f, const char *name)
{
	for (size_t i = 0; i < f->event_count; i++)
		if (strcmp(f->events[i].name, name) == 0)
			return &f->events[i];
	return NULL;
}

static int unknown_event(const struct unc_family_parser *p, const struct unc_yaml *at,
			 const char *name)
{
	struct unc_text near = {0};
	const char **names = calloc(p->family->event_count + 1, sizeof(*names));
	int r;

	if (!names)
		return unc_nomem(p->e);
	for (size_t i = 0; i < p->family->event_count; i++)
		names[i] = p->family->events[i].name;
	if (unc_suggest(&near, name, names, p->family->event_count) && near.data)
		r = unc_yaml_fail(p->file, at, p->e,
				  "'%s' is no event of this family (did you mean %s?)", name,
				  near.data);
	else
		r = unc_yaml_fail(p->file, at, p->e, "'%s' is no event of this family", name);
	free(names);
	unc_text_finish(&near);
	return r;
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

/* The formula of a metric or of one of its cases, parsed, and its names known. */
static int read_formula(const struct unc_family_parser *p, const struct unc_yaml *node,
			struct unc_formula **out)
{
	const struct unc_yaml *text = unc_yaml_get(node, "formula");
	struct unc_formula *f;
	struct unc_error why;
	struct unc_yaml at;
	size_t pos = 0;

	if (!text)
		return unc_yaml_fail(p->file, node, p->e, "a metric needs 'formula' or 'cases'");
	if (unc_yaml_expect(p->file, text, UNC_YAML_TEXT, p->e) < 0)
		return -EBADMSG;
	if (unc_formula_parse(&f, text->text, &pos, &why) < 0) {
		at = unc_family_position(text, pos);
		return unc_yaml_fail(p->file, &at, p->e, "formula: %s", why.text);
	}
	for (size_t i = 0; i < unc_formula_name_count(f); i++)
		if (!find_event(p->family, unc_formula_name(f, i))) {
			const char *name = unc_formula_name(f, i);
			int r;

			at = unc_family_position(text, find_name(text->text, name));
			r = unknown_event(p, &at, name);
			unc_formula_free(f);
			return r;
		}
	*out = f;
	return 0;
}

static int check_metric_case(const struct unc_family_parser *p, const struct unc_yaml *node)
{
	struct unc_formula *f;
	size_t names;

	if (read_formula(p, node, &f) < 0)
		return -EBADMSG;
	names = unc_formula_name_count(f);
	unc_formula_free(f);
	if (!names)
		return unc_yaml_fail(p->file, unc_yaml_get(node, "formula"), p->e,
				     "the formula names no event");
	if (names > UNC_METRIC_EVENTS)
		return unc_yaml_fail(p->file, unc_yaml_get(node, "formula"), p->e,
				     "the formula names more than %d events", UNC_METRIC_EVENTS);
	return 0;
}

static int metric_formula(const struct unc_family_parser *p, const struct unc_yaml *chosen,
			  struct uncore_metric *m)
{
	if (unc_family_text(p, chosen, "formula", &m->text) < 0 ||
	    unc_family_text(p, chosen, "evidence", &m->evidence) < 0 ||
	    read_formula(p, chosen, &m->formula) < 0)
		return -EBADMSG;
	m->events = calloc(unc_formula_name_count(m->formula) + 1, sizeof(*m->events));
	if (!m->events)
		return unc_nomem(p->e);
	for (size_t i = 0; i < unc_formula_name_count(m->formula); i++)
		m->events[i] = find_event(p->family, unc_formula_name(m->formula, i));
	return 0;
}

static int parse_ceiling(const struct unc_family_parser *p, const struct unc_yaml *node,
			 struct uncore_metric *m)
{
	static const char *const kinds[] = {[UNC_CEILING_MEMORY] = "memory",
					    [UNC_CEILING_LINK] = "link",
					    [UNC_CEILING_PORT] = "port"};
	const struct unc_yaml *value = unc_yaml_get(node, "ceiling");
	const char *text = NULL;

	if (unc_family_text(p, node, "ceiling", &text) < 0)
		return -EBADMSG;
	for (size_t i = UNC_CEILING_MEMORY; text && i <= UNC_CEILING_PORT; i++)
		if (strcmp(text, kinds[i]) == 0)
			m->ceiling = (enum unc_ceiling)i;
	if (text && !m->ceiling)
		return unc_yaml_fail(p->file, value, p->e,
				     "'%s' is no ceiling; expected one of: memory, link, port",
				     text);
	if (text && strcmp(m->unit, "B/s") != 0)
		return unc_yaml_fail(p->file, value, p->e,
				     "a ceiling is one of B/s, and the unit is %s", m->unit);
	return 0;
}

static int parse_metric(const struct unc_family_parser *p, const struct unc_yaml *node,
			struct uncore_metric *m)
{
	static const char *const keys[] = {"!title",  "!unit",     "formula", "cases",
					   "ceiling", "!evidence", NULL};
	static const char *const case_keys[] = {"when", "!formula", "evidence", NULL};
	const struct unc_yaml *chosen;
	struct unc_yaml key = unc_family_key(node);

	if (!is_metric_name(node->key))
		return unc_yaml_fail(p->file, &key, p->e,
				     "'%s' is no metric name: lower case words joined by dots, "
				     "such as memory.read.bandwidth",
				     node->key);
	if (unc_yaml_check(p->file, node, keys, p->e) < 0)
		return -EBADMSG;
	m->family = p->family;
	m->name = node->key;
	if (unc_family_text(p, node, "title", &m->title) < 0 ||
	    unc_family_text(p, node, "unit", &m->unit) < 0 ||
	    unc_family_text(p, node, "evidence", &m->evidence) < 0)
		return -EBADMSG;
	if (!is_unit(m->unit))
		return unc_yaml_fail(p->file, unc_yaml_get(node, "unit"), p->e,
				     "'%s' is no unit; expected one of: B/s, Hz, s, ratio, 1/s, "
				     "1/cycle, W, J, B, cycle, B/cycle, packet",
				     m->unit);
	if (parse_ceiling(p, node, m) < 0)
		return -EBADMSG;
	if (unc_family_choose(p, node, case_keys, check_metric_case, &chosen) < 0)
		return -EBADMSG;
	return chosen ? metric_formula(p, chosen, m) : 0;
}

int unc_family_metrics(struct unc_family_parser *p, const struct unc_yaml *node)
{
	struct unc_family *f = p->family;

	if (unc_yaml_expect(p->file, node, UNC_YAML_MAP, p->e) < 0)
		return -EBADMSG;
	f->metrics = calloc(node->count + 1, sizeof(*f->metrics));
	if (!f->metrics)
		return unc_nomem(p->e);
	for (size_t i = 0; i < node->count; i++) {
		f->metric_count++; /* first, so that a half-parsed one is freed too */
		if (parse_metric(p, &node->children[i], &f->metrics[i]) < 0)
			return -EBADMSG;
	}
	return 0;
}
