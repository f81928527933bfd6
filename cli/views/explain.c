/* SPDX-License-Identifier: MIT */
/* The two forms of an explanation, and the equal perf line. */
#include "views/explain.h"

#include <stdio.h>
#include <string.h>

#include "output/json.h"
#include "output/table.h"
#include "views/pmus.h"

void explain_pmu(const struct uncore_metric_event *event, struct buffer *to)
{
	const char *name = uncore_pmu_name(event->pmu);
	size_t stem = event->pmu_count > 1 ? pmu_stem(name) : 0;

	buffer_add(to, name, stem ? stem : strlen(name));
	buffer_add(to, "", 1);
}

static bool same_pmu(const struct uncore_metric_event *a, const struct uncore_metric_event *b)
{
	struct buffer text = {0};
	bool same;

	explain_pmu(a, &text);
	explain_pmu(b, &text);
	same = strcmp(text.data, text.data + strlen(text.data) + 1) == 0;
	buffer_free(&text);
	return same;
}

/* The first event of its kind of PMU opens the group: true. */
static bool opens_group(const struct explained *e, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (e->events[k].pmu && same_pmu(&e->events[k], &e->events[i]))
			return false;
	return true;
}

static size_t put_group(const struct explained *e, size_t first, struct buffer *to)
{
	struct buffer pmu = {0};
	size_t count = 0;

	explain_pmu(&e->events[first], &pmu);
	for (size_t i = first; i < e->count; i++) {
		const struct uncore_metric_event *event = &e->events[i];

		if (event->pmu && same_pmu(&e->events[first], event))
			buffer_printf(to, "%s%s/%s,name=%s/", count++ ? "," : "", pmu.data,
				      event->terms, event->name);
	}
	buffer_free(&pmu);
	return count;
}

/* The equal `perf stat` line: a group for the events of each kind of PMU. Nothing without events, nor of
 * registers: the kernel has no PMU for them that perf could know. */
static void put_perf(const struct uncore *u, const struct explained *e, struct buffer *to)
{
	bool any = false;

	if (strncmp(uncore_source(u), "regs:", 5) == 0)
		return;
	for (size_t i = 0; i < e->count; i++) {
		struct buffer group = {0};

		if (!e->events[i].pmu || !opens_group(e, i))
			continue;
		buffer_puts(to, any ? "" : "perf stat -a");
		if (put_group(e, i, &group) > 1)
			buffer_printf(to, " -e '{%.*s}'", (int)group.len, group.data);
		else
			buffer_printf(to, " -e '%.*s'", (int)group.len, group.data);
		buffer_free(&group);
		any = true;
	}
	if (any)
		buffer_puts(to, " -- sleep 1");
}

static void field(struct buffer *to, const char *name, const char *text)
{
	buffer_printf(to, "  %-9s ", name);
	buffer_puts(to, text ? text : "-");
	buffer_puts(to, "\n");
}

/* A sentence may be long: it is broken under its own beginning. */
static void sentence(struct buffer *to, const char *name, const char *text)
{
	char label[40];

	if (!text)
		return;
	snprintf(label, sizeof(label), "  %s ", name);
	buffer_hang(to, 12, TABLE_WIDTH, label, text);
}

static void put_config(const struct uncore_metric_event *event, struct buffer *to)
{
	static const char *const words[UNCORE_CONFIG_WORDS] = {"config", "config1", "config2",
							       "config3"};

	for (size_t i = 0; i < UNCORE_CONFIG_WORDS; i++)
		if (!i || event->config[i])
			buffer_printf(to, "%s%s=0x%llx", i ? " " : "", words[i],
				      (unsigned long long)event->config[i]);
}

static void encoding_text(const struct uncore_metric_event *event, struct buffer *to)
{
	struct buffer pmu = {0};

	explain_pmu(event, &pmu);
	buffer_printf(to, "%12s%s/%s/  ", "", pmu.data, event->terms);
	put_config(event, to);
	if (event->pmu_count > 1)
		buffer_printf(to, "  on %zu PMUs from %s on\n", event->pmu_count,
			      uncore_pmu_name(event->pmu));
	else
		buffer_printf(to, "  on %s\n", uncore_pmu_name(event->pmu));
	buffer_free(&pmu);
}

static void event_text(const struct uncore_metric_event *event, struct buffer *to)
{
	struct buffer text = {0};

	buffer_printf(&text, "%s: %s", event->name, event->title ? event->title : "");
	buffer_add(&text, "", 1);
	sentence(to, "event", text.data);
	buffer_free(&text);
	if (event->pmu)
		encoding_text(event, to);
	else
		sentence(to, "", "no PMU of this machine counts it");
	sentence(to, "", event->evidence);
}

static void perf_text(const struct uncore *u, const struct explained *e, struct buffer *to)
{
	struct buffer perf = {0};

	put_perf(u, e, &perf);
	if (!perf.len)
		return;
	buffer_add(&perf, "", 1);
	field(to, "perf", perf.data);
	sentence(to, "",
		 "Put the counts that perf prints into the formula; 'seconds' is its time "
		 "elapsed.");
	if (strstr(uncore_metric_formula(e->metric), "source_count("))
		sentence(to, "",
			 "source_count(x) is how many counters of x perf adds up: "
			 "perf stat -A prints each.");
	buffer_free(&perf);
}

static void title_text(const struct uncore_metric *m, struct buffer *to)
{
	struct buffer label = {0};

	buffer_printf(&label, "%s:", uncore_metric_name(m));
	buffer_add(&label, "", 1);
	buffer_hang(to, 4, TABLE_WIDTH, label.data, uncore_metric_title(m));
	buffer_free(&label);
}

void explain_text(const struct uncore *u, const struct explained *e, size_t count,
		  struct buffer *to)
{
	if (uncore_is_simulated(u))
		buffer_printf(to, "SIMULATED by %s: not this machine.\n\n", uncore_source(u));
	for (size_t i = 0; i < count; i++) {
		const struct uncore_metric *m = e[i].metric;

		buffer_puts(to, i ? "\n" : "");
		title_text(m, to);
		field(to, "family", uncore_metric_family(m));
		field(to, "unit", uncore_metric_unit(m));
		sentence(to, "formula", *uncore_metric_formula(m) ? uncore_metric_formula(m) : "-");
		sentence(to, "evidence", uncore_metric_evidence(m));
		sentence(to, "missing", uncore_metric_missing(m));
		for (size_t k = 0; k < e[i].count; k++)
			event_text(&e[i].events[k], to);
		perf_text(u, &e[i], to);
	}
}

static json_t *event_json(const struct uncore_metric_event *event)
{
	json_t *object = json_object();
	json_t *config = json_array();

	for (size_t i = 0; i < UNCORE_CONFIG_WORDS; i++)
		json_push(config, event->pmu ? json_hex(event->config[i]) : json_null());
	json_put(object, "name", json_text(event->name));
	json_put(object, "title", json_text(event->title));
	json_put(object, "terms", json_text(event->terms));
	json_put(object, "pmu", json_text(event->pmu ? uncore_pmu_name(event->pmu) : NULL));
	json_put(object, "pmu_count", json_count(event->pmu_count));
	json_put(object, "config", config);
	json_put(object, "evidence", json_text(event->evidence));
	return object;
}

static json_t *metric_json(const struct uncore *u, const struct explained *e)
{
	json_t *object = json_metric(e->metric);
	json_t *events = json_array();
	struct buffer perf = {0};

	for (size_t i = 0; i < e->count; i++)
		json_push(events, event_json(&e->events[i]));
	put_perf(u, e, &perf);
	buffer_add(&perf, "", 1);
	json_put(object, "events", events);
	json_put(object, "perf", json_text(*perf.data ? perf.data : NULL));
	buffer_free(&perf);
	return object;
}

void explain_json(const struct uncore *u, const struct explained *e, size_t count,
		  struct buffer *to)
{
	json_t *list = json_header(u);
	json_t *metrics = json_array();

	for (size_t i = 0; i < count; i++)
		json_push(metrics, metric_json(u, &e[i]));
	json_put(list, "metrics", metrics);
	json_print(list, JSON_INDENT(2), to);
}
