/* SPDX-License-Identifier: MIT */
/* The rules of families, checked on wants: there it is still known what was asked for together. */
#include "catalogue/rules.h"
#include "catalogue/catalogue.h"
#include "count/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void unc_rules_free(struct unc_rule *rules, size_t count)
{
	for (size_t i = 0; rules && i < count; i++) {
		unc_names_finish(&rules[i].terms);
		unc_names_finish(&rules[i].when);
		unc_names_finish(&rules[i].inherit);
	}
	free(rules);
}

/* The bits of a term, in their place; 0 where the PMU has no such term. */
static uint64_t value_of(const struct uncore_pmu *pmu, const struct unc_config *c, const char *term)
{
	const struct uncore_term *t = unc_pmu_term(pmu, term);

	return t && t->word >= 0 ? c->word[t->word] & t->bits : 0;
}

static size_t count_set(const struct uncore_pmu *pmu, const struct unc_config *c,
			const struct unc_names *terms)
{
	size_t set = 0;

	for (size_t i = 0; i < terms->count; i++)
		set += value_of(pmu, c, terms->items[i]) != 0;
	return set;
}

static bool agree(const struct uncore_pmu *pmu, const struct unc_config *a,
		  const struct unc_config *b, const struct unc_names *terms)
{
	for (size_t i = 0; i < terms->count; i++)
		if (value_of(pmu, a, terms->items[i]) != value_of(pmu, b, terms->items[i]))
			return false;
	return true;
}

/* "src_bdf, src_bdf_en", as an ending of the sentence that is there. */
static void append_terms(struct unc_error *e, const struct unc_rule *rule, size_t first)
{
	for (size_t i = first; i < rule->terms.count; i++)
		unc_error_append(e, "%s%s", i > first ? ", " : " ", rule->terms.items[i]);
	unc_error_append(e, ": %s", rule->why);
}

/* ---- one event ---- */

static int check_event(const struct unc_rule *rule, const struct uncore_pmu *pmu,
		       const struct unc_wanted *event, struct unc_error *e)
{
	size_t set = count_set(pmu, &event->config, &rule->terms), first = 0;

	if (rule->kind == UNC_RULE_NEVER) {
		if (set < rule->terms.count)
			return 0;
		unc_fail(e, EINVAL, "%s: '%s' sets each of", pmu->name, event->event);
	} else if (rule->kind == UNC_RULE_NEEDS_ONE) {
		if (set)
			return 0;
		unc_fail(e, EINVAL, "%s: '%s' sets none of", pmu->name, event->event);
	} else {
		if (!value_of(pmu, &event->config, rule->terms.items[0]) ||
		    set == rule->terms.count)
			return 0;
		first = 1;
		unc_fail(e, EINVAL, "%s: '%s' sets %s without", pmu->name, event->event,
			 rule->terms.items[0]);
	}
	append_terms(e, rule, first);
	return -EINVAL;
}

/* ---- all events of a PMU and CPU ---- */

static bool same_box(const struct unc_want *a, const struct unc_want *b)
{
	return a->pmu == b->pmu && a->cpu == b->cpu;
}

/* Events are recognised by the kernel's usual term for them. */
static bool is_exempt(const struct unc_rule *rule, const struct uncore_pmu *pmu,
		      const struct unc_config *c)
{
	struct unc_encoding enc;

	return rule->except && unc_pmu_term(pmu, "event") &&
	       unc_event_encode(rule->except, pmu, &enc, NULL) == 0 &&
	       value_of(pmu, &enc.config, "event") == value_of(pmu, c, "event");
}

/* The event whose terms the hardware would be given for the k-th; NULL: the rule is not about it. The
 * leader of a group is compared with the rest of it, whatever it counts. */
static const struct unc_wanted *effective(const struct unc_rule *rule, const struct unc_want *want,
					  size_t k)
{
	const struct unc_wanted *own = &want->events[k];
	bool grouped = want->strict && want->count > 1;

	if (count_set(want->pmu, &own->config, &rule->when) < rule->when.count)
		return NULL;
	if (is_exempt(rule, want->pmu, &own->config) && (k || !grouped))
		return NULL;
	if (k && grouped && rule->inherit.count &&
	    !count_set(want->pmu, &own->config, &rule->inherit))
		return want->events;
	return own;
}

static int too_many(const struct unc_rule *rule, const struct uncore_pmu *pmu, const char *first,
		    const char *event, struct unc_error *e)
{
	if (rule->most == 1)
		unc_fail(e, EINVAL, "%s: '%s' and '%s' differ in", pmu->name, first, event);
	else
		unc_fail(e, EINVAL, "%s: '%s' is one too many for %zu different values of",
			 pmu->name, event, rule->most);
	append_terms(e, rule, 0);
	return -EINVAL;
}

/* Values of the rule's terms that were met on one PMU and CPU. */
struct met {
	const struct unc_wanted *by[UNC_RULE_MOST]; /* the first event with each */
	size_t count;
};

static int check_value(const struct unc_rule *rule, const struct unc_want *want, size_t k,
		       struct met *met, struct unc_error *e)
{
	const struct unc_wanted *event = effective(rule, want, k);

	if (!event)
		return 0;
	for (size_t i = 0; i < met->count; i++)
		if (agree(want->pmu, &event->config, &met->by[i]->config, &rule->terms))
			return 0;
	if (met->count && met->count == rule->most)
		return too_many(rule, want->pmu, met->by[0]->event, want->events[k].event, e);
	met->by[met->count++] = event;
	return 0;
}

/* `wants` begins with the first of its PMU and CPU. */
static int check_box(const struct unc_rule *rule, const struct unc_want *wants, size_t count,
		     struct unc_error *e)
{
	struct met met = {.count = 0};
	int r = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; r == 0 && k < wants[i].count && same_box(&wants[i], wants); k++)
			r = check_value(rule, &wants[i], k, &met, e);
	return r;
}

static int check_rule(const struct unc_rule *rule, const struct unc_want *wants, size_t i,
		      size_t count, struct unc_error *e)
{
	const struct unc_want *want = &wants[i];
	int r = 0;

	if (rule->kind != UNC_RULE_AT_MOST) {
		for (size_t k = 0; r == 0 && k < want->count; k++)
			r = check_event(rule, want->pmu, &want->events[k], e);
		return r;
	}
	for (size_t k = 0; k < i; k++)
		if (same_box(&wants[k], want))
			return 0; /* checked with that one */
	return check_box(rule, want, count - i, e);
}

int unc_rules_check(const struct unc_want *wants, size_t count, struct unc_error *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		const struct unc_family *f = wants[i].pmu->family;

		for (size_t k = 0; f && r == 0 && k < f->rule_count; k++)
			r = check_rule(&f->rules[k], wants, i, count, e);
	}
	return r;
}
