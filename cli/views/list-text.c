/* SPDX-License-Identifier: MIT */
/* `uncore list` for people: PMUs that differ in a number only are one line. */
#include <string.h>

#include "output/table.h"
#include "views/list.h"
#include "views/pmus.h"

static bool keep(const struct uncore_pmu *pmu, const void *arg)
{
	return list_takes_pmu(arg, pmu);
}

/* Where the name does not tell the family, the identifier did. */
static void family_cell(struct table *t, const struct pmus *p, size_t i)
{
	const struct uncore_pmu *pmu = p->items[i];
	const char *family = uncore_pmu_family(pmu);
	const char *identifier = uncore_pmu_identifier(pmu);

	if (!family)
		family = uncore_pmu_is_core(pmu) ? "(not uncore)" : "-";
	if (identifier && pmus_mixed(p, i))
		table_cell(t, "%s, identifier %s", family, identifier);
	else
		table_cell(t, "%s", family);
}

static bool pmus_section(const struct uncore *u, const struct list_options *o, struct buffer *to)
{
	static const struct table_column columns[] = {
		{"PMU", false},    {"COUNT", true},  {"TYPE", true}, {"CPUS", false},
		{"FAMILY", false}, {"ALIAS", false}, {NULL, false},
	};
	struct table t;
	struct pmus p;
	size_t n;

	table_init(&t, columns);
	pmus_select(&p, u, keep, o);
	for (size_t i = 0; i < p.count; i += n) {
		const struct uncore_pmu *pmu = p.items[i];
		const char *alias = uncore_pmu_alias(pmu);
		struct buffer name = {0};
		struct buffer cpus = {0};

		n = pmus_alike(&p, i);
		pmus_name(&p, i, n, &name);
		pmus_cpus(&p, i, n, &cpus);
		table_cell(&t, "%.*s", (int)name.len, name.data);
		table_cell(&t, "%zu", n);
		table_cell(&t, n > 1 ? "%u..." : "%u", uncore_pmu_type(pmu));
		table_cell(&t, "%.*s", (int)cpus.len, cpus.len ? cpus.data : "");
		family_cell(&t, &p, i);
		table_cell(&t, "%s", alias && n == 1 ? alias : "");
		table_end_row(&t, NULL);
		buffer_free(&name);
		buffer_free(&cpus);
	}
	table_print(&t, to);
	table_free(&t);
	n = p.count;
	pmus_free(&p);
	return n > 0;
}

static void event_row(struct table *t, const struct buffer *pmu, const struct uncore_alias *alias)
{
	table_cell(t, "%.*s/%s/", (int)pmu->len, pmu->data, alias->name);
	table_cell(t, "%s", alias->unit ? alias->unit : "");
	table_end_row(t, alias->terms);
}

static bool has_alias(const struct uncore_pmu *pmu, const char *name)
{
	for (size_t i = 0; i < uncore_pmu_alias_count(pmu); i++)
		if (strcmp(uncore_pmu_alias_at(pmu, i)->name, name) == 0)
			return true;
	return false;
}

/* Events of PMUs that are alike, under their common name; what only a later one has, under its
 * own. */
static void events_alike(struct table *t, const struct list_options *o, const struct pmus *p,
			 size_t first, size_t count)
{
	for (size_t i = first; i < first + count; i++) {
		const struct uncore_pmu *pmu = p->items[i];
		struct buffer name = {0};

		pmus_short_name(p, i, i == first ? count : 1, &name);
		for (size_t k = 0; k < uncore_pmu_alias_count(pmu); k++) {
			const struct uncore_alias *alias = uncore_pmu_alias_at(pmu, k);

			if (i > first && has_alias(p->items[first], alias->name))
				continue;
			if (list_takes_alias(o, pmu, alias))
				event_row(t, &name, alias);
		}
		buffer_free(&name);
	}
}

static bool events_section(const struct uncore *u, const struct list_options *o, struct buffer *to)
{
	static const struct table_column columns[] = {
		{"EVENT", false},
		{"UNIT", false},
		{NULL, false},
	};
	size_t before = to->len;
	struct table t;
	struct pmus p;
	size_t n;

	table_init(&t, columns);
	pmus_select(&p, u, NULL, NULL);
	for (size_t i = 0; i < p.count; i += n) {
		n = pmus_alike(&p, i);
		events_alike(&t, o, &p, i, n);
	}
	table_print(&t, to);
	table_free(&t);
	pmus_free(&p);
	return to->len > before;
}

static bool metrics_section(const struct uncore *u, const struct list_options *o, struct buffer *to)
{
	static const struct table_column columns[] = {
		{"METRIC", false}, {"UNIT", false}, {"FAMILY", false},
		{"TITLE", false},  {NULL, false},
	};
	size_t before = to->len;
	struct table t;

	table_init(&t, columns);
	t.flows = true;
	for (size_t i = 0; i < uncore_metric_count(u); i++) {
		const struct uncore_metric *m = uncore_metric_at(u, i);

		if (!list_takes_metric(o, m))
			continue;
		table_cell(&t, "%s", uncore_metric_name(m));
		table_cell(&t, "%s", uncore_metric_unit(m));
		table_cell(&t, "%s", uncore_metric_family(m));
		table_cell(&t, "%s", uncore_metric_title(m));
		table_end_row(&t, uncore_metric_missing(m));
	}
	table_print(&t, to);
	table_free(&t);
	return to->len > before;
}

/* An empty line between sections, not before the first. */
static bool section(const struct uncore *u, const struct list_options *o, struct buffer *to,
		    bool (*print)(const struct uncore *, const struct list_options *,
				  struct buffer *))
{
	struct buffer text = {0};
	bool found = print(u, o, &text);

	if (found && to->len)
		buffer_puts(to, "\n");
	buffer_add(to, text.data, text.len);
	buffer_free(&text);
	return found;
}

bool list_text(const struct uncore *u, const struct list_options *o, struct buffer *to)
{
	struct buffer text = {0};
	bool found = false;

	if (o->kinds & LIST_PMUS)
		found |= section(u, o, &text, pmus_section);
	if (o->kinds & LIST_EVENTS)
		found |= section(u, o, &text, events_section);
	if (o->kinds & LIST_METRICS)
		found |= section(u, o, &text, metrics_section);
	if (found && uncore_is_simulated(u))
		buffer_printf(to, "SIMULATED by %s: not this machine.\n\n", uncore_source(u));
	buffer_add(to, text.data, text.len);
	buffer_free(&text);
	return found;
}
