/* SPDX-License-Identifier: MIT */
/* Data files: what is accepted is complete and safe to use, on whatever CPU; what is not has one
 * sentence with its place, the same on every CPU. */
#include "catalogue/catalogue.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const cpu_models[] = {"unknown", "intel/6/85", "intel/6/143", "arm/0x41/0xd84"};

#define MODELS (sizeof(cpu_models) / sizeof(*cpu_models))

static void require(bool holds)
{
	if (!holds)
		abort();
}

static bool is_filled(const char *text)
{
	return text && *text;
}

/* Terms and an alias that data files may name. */
static struct uncore_term terms[] = {
	{"event", "config:0-7", 0, 0xff, NULL},
	{"umask", "config:8-15", 0, 0xff00, NULL},
	{"odd", "what", -1, 0, NULL},
};
static struct uncore_alias aliases[] = {
	{.name = "cas_count_read", .terms = "event=0x04,umask=0x03", .scale = 6.1e-5},
	{.name = "broken", .terms = "event=?,umask", .scale = 1},
};

static const struct uncore_pmu pmu = {
	.name = (char *)"uncore_imc_0",
	.loaded = true,
	.terms = terms,
	.term_count = sizeof(terms) / sizeof(*terms),
	.aliases = aliases,
	.alias_count = sizeof(aliases) / sizeof(*aliases),
};

static void check_event(const struct unc_event_def *event)
{
	struct unc_encoding encoding = {.cpu = 77};
	struct unc_error e = {0};
	int err = unc_event_encode(event, &pmu, &encoding, &e);

	require(is_filled(event->name) && is_filled(event->title) && is_filled(event->evidence));
	require(event->other_model == (!event->alias && !event->terms));
	require(event->other_model || !event->kernel_scale || event->alias);
	require(!event->alias || *event->alias);
	require(!event->terms || *event->terms);
	require(err == 0 || (err == -ENODEV && e.text[0] && encoding.cpu == 77));
	require((unc_event_terms(event, &pmu) != NULL) || err);
	/* A scale is never lost on the way. */
	require(err || !event->kernel_scale || encoding.alias);
}

static void check_metric(const struct unc_family *f, const struct uncore_metric *m)
{
	struct unc_formula_input in[UNC_METRIC_EVENTS] = {{0}};
	double value = 0;
	size_t names;

	require(is_filled(m->name) && is_filled(m->title) && is_filled(m->unit) &&
		is_filled(m->evidence));
	require(m->family == f);
	require((m->text != NULL) == (m->formula != NULL));
	if (!m->formula) {
		require(unc_metric_on(m, &pmu, NULL) == -ENODEV);
		return;
	}
	names = m->formula->names.count;
	require(names >= 1 && names <= UNC_METRIC_EVENTS);
	for (size_t i = 0; i < names; i++) {
		size_t at = (size_t)(m->events[i] - f->events);

		require(at < f->event_count);
		require(strcmp(m->events[i]->name, m->formula->names.items[i]) == 0);
		in[i] = (struct unc_formula_input){.value = 3, .sources = 1, .known = true};
	}
	unc_metric_on(m, &pmu, NULL);
	unc_formula_eval(m->formula, in, 2, &value, NULL);
	require(value - value >= 0); /* neither infinite nor no number */
}

static void check_family(const struct unc_family *f)
{
	require(is_filled(f->name) && is_filled(f->title) && is_filled(f->instance));
	require(f->pattern_count >= 1);
	for (size_t i = 0; i < f->pattern_count; i++) {
		require(is_filled(f->patterns[i].name));
		unc_pattern_matches(f->patterns[i].name, pmu.name);
		unc_pattern_matches(f->patterns[i].name, f->patterns[i].name);
		if (f->patterns[i].identifier)
			unc_pattern_matches(f->patterns[i].identifier, "2cf2036b");
	}
	for (size_t i = 0; i < f->expectation_count; i++) {
		require(is_filled(f->expectations[i].module));
		require(!f->expectations[i].on_this_cpu || f->on_this_cpu);
	}
	for (size_t i = 0; i < f->event_count; i++)
		check_event(&f->events[i]);
	for (size_t i = 0; i < f->metric_count; i++)
		check_metric(f, &f->metrics[i]);
}

/* True when the file is accepted for this CPU. */
static bool parse(const uint8_t *data, size_t size, const char *cpu_model, struct unc_error *e)
{
	struct unc_yaml_file *file = NULL;
	struct unc_family *f = NULL;
	int err = unc_yaml_parse(&file, "fuzz.yaml", (const char *)data, size, e);

	if (!err)
		err = unc_family_parse(&f, file, cpu_model, e);
	if (err) {
		require(err == -EBADMSG && !f);
		require(strncmp(e->text, "fuzz.yaml:", 10) == 0);
		return false;
	}
	require(!e->text[0]);
	check_family(f);
	unc_family_free(f);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unc_error first = {0};
	bool accepted = parse(data, size, cpu_models[0], &first);

	for (size_t i = 1; i < MODELS; i++) {
		struct unc_error e = {0};

		require(parse(data, size, cpu_models[i], &e) == accepted);
		require(strcmp(e.text, first.text) == 0);
	}
	return 0;
}
