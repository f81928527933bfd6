/* SPDX-License-Identifier: MIT */
/* `uncore list --json`: every PMU, term, alias, cap and metric, nothing merged. */
#include "output/json.h"
#include "views/list.h"

static json_t *cpus(const struct uncore_pmu *pmu)
{
	json_t *array = json_array();

	for (size_t i = 0; i < uncore_pmu_cpu_count(pmu); i++)
		json_push(array, json_integer(uncore_pmu_cpu_at(pmu, i)));
	return array;
}

static json_t *caps(const struct uncore_pmu *pmu)
{
	json_t *object = json_object();

	for (size_t i = 0; i < uncore_pmu_cap_count(pmu); i++) {
		const struct uncore_cap *cap = uncore_pmu_cap_at(pmu, i);

		json_put(object, cap->name, json_text(cap->value));
	}
	return object;
}

static json_t *terms(const struct uncore_pmu *pmu)
{
	json_t *array = json_array();

	for (size_t i = 0; i < uncore_pmu_term_count(pmu); i++) {
		const struct uncore_term *term = uncore_pmu_term_at(pmu, i);
		json_t *object = json_object();

		json_put(object, "name", json_text(term->name));
		json_put(object, "format", json_text(term->format));
		json_put(object, "word", json_id(term->word));
		json_put(object, "bits", term->word < 0 ? json_null() : json_hex(term->bits));
		json_push(array, object);
	}
	return array;
}

static json_t *event(const struct uncore_alias *alias)
{
	json_t *object = json_object();

	json_put(object, "name", json_text(alias->name));
	json_put(object, "terms", json_text(alias->terms));
	json_put(object, "unit", json_text(alias->unit));
	json_put(object, "scale", json_number(alias->scale));
	json_put(object, "per_package", json_flag(alias->per_package));
	json_put(object, "snapshot", json_flag(alias->snapshot));
	return object;
}

/* Those that match; all when the pattern names the PMU and PMUs were asked for. */
static json_t *events(const struct list_options *o, const struct uncore_pmu *pmu, bool all)
{
	json_t *array = json_array();

	for (size_t i = 0; i < uncore_pmu_alias_count(pmu); i++) {
		const struct uncore_alias *alias = uncore_pmu_alias_at(pmu, i);

		if (all || list_takes_alias(o, pmu, alias))
			json_push(array, event(alias));
	}
	return array;
}

static json_t *pmu_object(const struct uncore_pmu *pmu, json_t *matching)
{
	json_t *object = json_object();

	json_put(object, "name", json_text(uncore_pmu_name(pmu)));
	json_put(object, "type", json_count(uncore_pmu_type(pmu)));
	json_put(object, "alias", json_text(uncore_pmu_alias(pmu)));
	json_put(object, "identifier", json_text(uncore_pmu_identifier(pmu)));
	json_put(object, "family", json_text(uncore_pmu_family(pmu)));
	json_put(object, "core", json_flag(uncore_pmu_is_core(pmu)));
	json_put(object, "cpus", cpus(pmu));
	json_put(object, "caps", caps(pmu));
	json_put(object, "terms", terms(pmu));
	json_put(object, "events", matching);
	return object;
}

static json_t *pmus(const struct uncore *u, const struct list_options *o)
{
	json_t *array = json_array();

	for (size_t i = 0; i < uncore_pmu_count(u); i++) {
		const struct uncore_pmu *pmu = uncore_pmu_at(u, i);
		bool named = (o->kinds & LIST_PMUS) && list_takes_pmu(o, pmu);
		json_t *matching = events(o, pmu, named);
		bool wanted = (o->kinds & LIST_EVENTS) && json_array_size(matching);

		if (named || wanted)
			json_push(array, pmu_object(pmu, matching));
		else
			json_decref(matching);
	}
	return array;
}

static json_t *metrics(const struct uncore *u, const struct list_options *o)
{
	json_t *array = json_array();

	for (size_t i = 0; i < uncore_metric_count(u); i++) {
		const struct uncore_metric *m = uncore_metric_at(u, i);

		if (list_takes_metric(o, m))
			json_push(array, json_metric(m));
	}
	return array;
}

static json_t *machine(const struct uncore *u)
{
	json_t *object = json_object();
	json_t *sockets = json_array();

	for (size_t i = 0; i < uncore_socket_count(u); i++)
		json_push(sockets, json_integer(uncore_socket_at(u, i)));
	json_put(object, "cpu_model", json_text(uncore_cpu_model(u)));
	json_put(object, "hypervisor", json_text(uncore_hypervisor(u)));
	json_put(object, "cpus", json_count(uncore_cpu_count(u)));
	json_put(object, "sockets", sockets);
	return object;
}

/* Puts the section, and says whether it holds anything. */
static bool put_section(json_t *list, const char *name, json_t *array)
{
	bool found = json_array_size(array) > 0;

	json_put(list, name, array);
	return found;
}

bool list_json(const struct uncore *u, const struct list_options *o, struct buffer *to)
{
	json_t *list = json_header(u);
	bool found = false;

	json_put(list, "machine", machine(u));
	if (o->kinds & (LIST_PMUS | LIST_EVENTS))
		found |= put_section(list, "pmus", pmus(u, o));
	if (o->kinds & LIST_METRICS)
		found |= put_section(list, "metrics", metrics(u, o));
	json_print(list, JSON_INDENT(2), to);
	return found;
}
