/* SPDX-License-Identifier: MIT */
/* What the user lets through, as terms of one PMU: a cut for each place that it makes of it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "count/cuts.h"

#define TERMS 32

struct term {
	char name[64];
	uint64_t value;
};

/* ---- what a family cannot do ---- */

int unc_cut_refuse(const struct unc_cutter *x, size_t kind)
{
	bool any = false;

	unc_fail(x->why, ENODEV, "the PMUs of %s cannot be restricted by '%s'", x->family->name,
		 unc_filter_names[kind]);
	for (size_t i = 0; i < UNC_FILTERS; i++) {
		if (!x->family->filters[i].title)
			continue;
		unc_error_append(x->why, "%s%s", any ? ", " : "; they can by ",
				 unc_filter_names[i]);
		any = true;
	}
	return -ENODEV;
}

static int no_word(const struct unc_cutter *x, size_t kind, const char *word)
{
	const struct unc_filter *f = &x->family->filters[kind];

	unc_fail(x->why, ENODEV, "the PMUs of %s know no %s=%s; they know ", x->family->name,
		 unc_filter_names[kind], word);
	for (size_t i = 0; i < f->value_count; i++)
		unc_error_append(x->why, "%s%s", i ? ", " : "", f->values[i].name);
	return -ENODEV;
}

static bool is_given(const struct unc_filters *f, size_t kind)
{
	return f->value[kind];
}

/* Ports and devices pick PMUs where they cannot restrict them; what else is given must be there. */
static int check_family(struct unc_cutter *x, const struct uncore_metric *metric)
{
	bool any = false;

	for (size_t k = 0; k < unc_formula_name_count(metric->formula); k++)
		x->restricted = x->restricted || !metric->events[k]->unfiltered;
	for (size_t i = 0; i < UNC_FILTERS; i++) {
		any = any || is_given(x->filters, i);
		if (is_given(x->filters, i) && i != UNC_FILTER_PORT && i != UNC_FILTER_DEVICE &&
		    !x->family->filters[i].title)
			return unc_cut_refuse(x, i);
	}
	if (any && !x->restricted)
		return unc_fail(x->why, ENODEV, "%s/%s is the same for all: no filter restricts it",
				x->family->name, metric->name);
	return 0;
}

/* ---- terms ---- */

static int put_term(struct unc_cutter *x, struct term *terms, size_t *count, const char *name,
		    uint64_t value)
{
	size_t i = 0;

	while (i < *count && strcmp(terms[i].name, name) != 0)
		i++;
	if (i == TERMS)
		return unc_fail(x->why, ENODEV, "more than %d terms would restrict %s", TERMS,
				x->pmu->name);
	if (i == *count) {
		terms[i] = (struct term){.value = 0};
		snprintf(terms[i].name, sizeof(terms[i].name), "%s", name);
		++*count;
	}
	terms[i].value |= value;
	return 0;
}

/* What a term of the data file comes to: a number, or one of the filter's words. */
static uint64_t term_value(const struct unc_cutter *x, const struct unc_way *way, size_t kind,
			   const char *text)
{
	uint64_t mask = kind == UNC_FILTER_GPU    ? x->filters->gpus
			: kind == UNC_FILTER_PORT ? way->ports
						  : way->range.mask;
	uint64_t number = 0;

	if (strcmp(text, "{mask}") == 0)
		return mask;
	if (strcmp(text, "{index}") == 0)
		return (uint64_t)__builtin_ctzll(mask);
	if (strcmp(text, "{bdf}") == 0)
		return way->bdf;
	if (strcmp(text, "{base}") == 0)
		return way->range.base;
	unc_parse_u64(text, &number); /* checked with the data file */
	return number;
}

static int put_terms(struct unc_cutter *x, const struct unc_way *way, size_t kind, const char *text,
		     struct term *terms, size_t *count)
{
	struct unc_assignment a;
	int r = 0;

	while (r == 0 && unc_assignment_next(&text, &a) == 1)
		r = put_term(x, terms, count, a.name, term_value(x, way, kind, a.value));
	return r;
}

static int put_words(struct unc_cutter *x, const struct unc_way *way, size_t kind,
		     struct term *terms, size_t *count)
{
	const struct unc_filter *f = &x->family->filters[kind];
	char word[UNC_FILTER_ROOM];
	int r = 0;

	for (const char *at = x->filters->value[kind]; r == 0 && *at;) {
		size_t len = strcspn(at, ","), i = 0;

		snprintf(word, sizeof(word), "%.*s", (int)len, at);
		while (i < f->value_count && strcmp(f->values[i].name, word) != 0)
			i++;
		r = i == f->value_count ? no_word(x, kind, word)
					: put_terms(x, way, kind, f->values[i].text, terms, count);
		at += len + (at[len] == ',');
	}
	return r;
}

static int add_cut(struct unc_cutter *x, const struct unc_way *way, struct unc_cuts *out)
{
	struct unc_cut *cut = &out->items[out->count];
	struct term terms[TERMS];
	struct unc_text text = {0};
	size_t count = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < UNC_FILTERS; i++) {
		const struct unc_filter *f = &x->family->filters[i];

		if (f->values && is_given(x->filters, i))
			r = put_words(x, way, i, terms, &count);
		else if (f->terms && way->kinds & 1U << i)
			r = put_terms(x, way, i, f->terms, terms, &count);
	}
	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++)
		unc_text_add(&text, "%s%s=0x%llx", i ? "," : "", terms[i].name,
			     (unsigned long long)terms[i].value);
	cut->port = way->port;
	cut->terms = unc_text_take(&text);
	out->count++;
	return cut->terms ? 0 : unc_nomem(x->why);
}

/* ---- all of it ---- */

static int add_cuts(struct unc_cutter *x, struct unc_cuts *out)
{
	const struct unc_filters *f = x->filters;
	size_t ranges = f->range_count ? f->range_count : 1;
	int r = 0;

	out->items = calloc(x->way_count * ranges + 1, sizeof(*out->items));
	if (!out->items)
		return unc_nomem(x->why);
	for (size_t i = 0; r == 0 && i < x->way_count * ranges; i++) {
		struct unc_way way = x->ways[i / ranges];

		if (f->gpus)
			way.kinds |= 1U << UNC_FILTER_GPU;
		if (f->range_count) {
			way.kinds |= 1U << UNC_FILTER_ADDRESS;
			way.range = f->ranges[i % ranges];
		}
		r = add_cut(x, &way, out);
	}
	return r;
}

int unc_monitor_cuts(struct uncore_monitor *m, const struct uncore_metric *metric,
		     const struct uncore_pmu *pmu, int cpu, struct unc_cuts *out,
		     struct unc_error *why)
{
	struct unc_cutter x = {
		.m = m, .filters = &m->filters, .family = metric->family, .pmu = pmu, .why = why};
	struct unc_cuts cuts = {0};
	int r = check_family(&x, metric);

	if (r == 0)
		r = unc_find_ways(&x, cpu);
	if (r == 0)
		r = add_cuts(&x, &cuts);
	free(x.ways);
	if (r < 0) {
		unc_cuts_finish(&cuts);
		return r;
	}
	*out = cuts;
	return 0;
}

void unc_cuts_finish(struct unc_cuts *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->items[i].terms);
	free(c->items);
	*c = (struct unc_cuts){0};
}
