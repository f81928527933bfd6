/* SPDX-License-Identifier: MIT */
/* Makes the requests for the events of targets, for which plan.c plans counters, and checks the
 * rules of families. */
#include "count/monitor.h"

/* ---- sets ---- */

/* A set without events; valid until the next one is added. NULL: out of memory. */
static struct unc_request_set *add_set(struct uncore_monitor *m, const struct uncore_pmu *pmu,
				       int cpu)
{
	struct unc_request_set *set = unc_append(&m->sets, &m->set_count, sizeof(*set));

	if (set)
		*set = (struct unc_request_set){.pmu = pmu, .cpu = cpu, .group = -1};
	else
		unc_nomem(&m->machine->error);
	return set;
}

static int add_request(struct uncore_monitor *m, struct unc_request_set *set, const char *terms,
		       const struct unc_encoding *encoding, uint32_t modifiers)
{
	const char *kept = unc_monitor_keep(m, terms);
	struct unc_request *request =
		kept ? unc_append(&set->requests, &set->count, sizeof(*request)) : NULL;

	if (!request)
		return unc_nomem(&m->machine->error);
	*request = (struct unc_request){
		.event = kept,
		.config = encoding->config,
		.modifiers = modifiers,
		.snapshot = encoding->alias && encoding->alias->snapshot,
	};
	return 0;
}

bool unc_same_pmu(const struct unc_request_set *a, const struct unc_request_set *b)
{
	return a->pmu == b->pmu && a->cpu == b->cpu;
}

/* ---- events ---- */

/* A code may be that of another event in a document about another CPU. */
static int note_code(struct uncore_monitor *m, const struct uncore_pmu *pmu,
		     const struct unc_event *event, const struct unc_encoding *encoding)
{
	char *text;
	int r = unc_vendor_describe(pmu, &encoding->config, &text);

	if (r < 0)
		return unc_nomem(&m->machine->error);
	if (text)
		r = unc_monitor_note(m, "%s %s", event->text, text);
	free(text);
	return r;
}

int unc_encode_event(struct uncore_monitor *m, struct unc_query *q, struct unc_target target,
		     const struct unc_event *event, const struct unc_encoding *encoding,
		     size_t first_set)
{
	struct unc_request_set *set = NULL;
	int r;

	for (size_t i = first_set; !set && event->group >= 0 && i < m->set_count; i++)
		if (m->sets[i].group == event->group && m->sets[i].pmu == target.pmu &&
		    m->sets[i].cpu == target.cpu)
			set = &m->sets[i];
	if (!set)
		set = add_set(m, target.pmu, target.cpu);
	if (!set)
		return -ENOMEM;
	if (event->group >= 0 && !set->count) {
		set->group = event->group;
		set->together = true;
		set->strict = !(event->modifiers & UNC_MOD_WEAK);
	}
	target.set = (size_t)(set - m->sets);
	target.first = set->count;
	r = q->target_count || encoding->alias ? 0 : note_code(m, target.pmu, event, encoding);
	if (r == 0)
		r = add_request(m, set, event->terms, encoding, event->modifiers);
	if (r == 0 && UNC_ADD(&q->targets, &q->target_count, &target) < 0)
		r = unc_nomem(&m->machine->error);
	return r;
}

/* ---- metrics ---- */

static bool has_term(const char *terms, const char *name)
{
	struct unc_assignment a;

	while (unc_assignment_next(&terms, &a) == 1)
		if (strcmp(a.name, name) == 0)
			return true;
	return false;
}

/* The event's terms on the target's PMU, with those of the target replacing or extending them;
 * NULL: no memory. */
static char *event_terms(const struct unc_target *target, const struct unc_event_def *event)
{
	const char *terms = unc_event_terms(event, target->pmu);
	struct unc_assignment a;
	struct unc_text text = {0};

	if (event->unfiltered || !*target->terms)
		return strdup(terms);
	while (unc_assignment_next(&terms, &a) == 1)
		if (!has_term(target->terms, a.name))
			unc_text_add(&text, a.has_value ? "%s=%s," : "%s,", a.name, a.value);
	unc_text_add(&text, "%s", target->terms);
	return unc_text_take(&text);
}

/* Whether the sum gets smaller with the count of the event. */
static bool is_subtracted(const struct unc_formula *formula, size_t event)
{
	struct unc_formula_input in[UNC_METRIC_EVENTS];
	double value;

	for (size_t k = 0; k < formula->names.count; k++)
		in[k] = (struct unc_formula_input){
			.value = k == event, .sources = 1, .known = true};
	return formula->sum && unc_formula_eval(formula, in, 1, &value, NULL) && value < 0;
}

int unc_encode_metric(struct uncore_monitor *m, struct unc_query *q, struct unc_target target,
		      struct unc_error *why)
{
	struct unc_request_set *set = add_set(m, target.pmu, target.cpu);
	int r = 0;

	if (!set)
		return -ENOMEM;
	set->query = (size_t)(q - m->queries) + 1;
	set->plain = !*target.terms;
	set->together = q->event_count > 1 && q->metric->formula->ratio;
	/* Another metric is compared in the same round. */
	set->divisible = !q->metric->histogram && !q->metric->over && !q->metric->unless;
	set->is_sum = set->divisible && q->metric->formula->sum;
	for (size_t k = 0; r == 0 && k < q->event_count; k++) {
		const struct unc_event_def *event = q->metric->events[k];
		char *terms = event_terms(&target, event);
		struct unc_encoding encoding;
		double scale = 1;

		if (!terms)
			return unc_nomem(why);
		r = unc_pmu_encode(target.pmu, terms, &encoding, why) < 0 ? -ENODEV : 0;
		if (r == 0 && event->kernel_scale && encoding.alias)
			scale = encoding.alias->scale;
		/* All targets of a query need the same scale: different ones would have to be
		 * applied before the sum. */
		if (r == 0 && q->target_count && q->scales[k] != scale)
			r = unc_fail(&m->machine->error, EOPNOTSUPP,
				     "%s: the PMUs have different scales for '%s' and cannot be "
				     "added up; count them one by one with events",
				     q->metric->name, event->name);
		if (r == 0) {
			q->scales[k] = scale;
			r = add_request(m, set, terms, &encoding, 0);
		}
		if (r == 0)
			set->requests[k].subtracted = is_subtracted(q->metric->formula, k);
		if (r == 0)
			set->requests[k].snapshot |= event->state;
		free(terms);
	}
	target.set = (size_t)(set - m->sets);
	if (r == 0 && UNC_ADD(&q->targets, &q->target_count, &target) < 0)
		r = unc_nomem(&m->machine->error);
	return r;
}

/* ---- rules ---- */

/* The bits of a term, in their place; 0 where the PMU has no such term. */
static uint64_t term_bits(const struct uncore_pmu *pmu, const struct unc_config *c,
			  const char *term)
{
	const struct uncore_term *t = unc_pmu_term(pmu, term);

	return t && t->word >= 0 ? c->word[t->word] & t->bits : 0;
}

/* A term of a rule: "ch_mask" is not 0; "event=0x83|0x84" is one of these; "umask>0xff" is
 * above. */
static bool term_holds(const struct uncore_pmu *pmu, const struct unc_config *c, const char *term)
{
	const char *at = term + strcspn(term, "=>");
	const struct uncore_term *t;
	uint64_t value, bound = 0;
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)(at - term), term);
	t = unc_pmu_term(pmu, name);
	value = term_bits(pmu, c, name);
	if (!*at)
		return value != 0;
	if (t && *at == '>')
		return unc_format_put(t->bits, strtoull(at + 1, NULL, 0), &bound) == 0 &&
		       value > bound;
	while (t && *at) {
		uint64_t placed = 0;
		char *end;

		if (unc_format_put(t->bits, strtoull(at + 1, &end, 0), &placed) == 0 &&
		    placed == value)
			return true;
		at = end;
	}
	return false;
}

static size_t count_terms_that_hold(const struct uncore_pmu *pmu, const struct unc_config *c,
				    const struct unc_names *terms)
{
	size_t set = 0;

	for (size_t i = 0; i < terms->count; i++)
		set += term_holds(pmu, c, terms->items[i]);
	return set;
}

bool unc_terms_are_set(const struct uncore_pmu *pmu, const struct unc_config *c,
		       const struct unc_names *terms)
{
	return count_terms_that_hold(pmu, c, terms) == terms->count;
}

static bool agree(const struct uncore_pmu *pmu, const struct unc_config *a,
		  const struct unc_config *b, const struct unc_names *terms)
{
	for (size_t i = 0; i < terms->count; i++)
		if (term_bits(pmu, a, terms->items[i]) != term_bits(pmu, b, terms->items[i]))
			return false;
	return true;
}

/* Appends "src_bdf, src_bdf_en" to the error. */
static void append_terms(struct unc_error *e, const struct unc_rule *rule, size_t first)
{
	for (size_t i = first; i < rule->terms.count; i++)
		unc_error_append(e, "%s%s", i > first ? ", " : " ", rule->terms.items[i]);
	unc_error_append(e, ": %s", rule->why);
}

/* Checks a rule about single events. */
static int check_events(const struct unc_rule *rule, const struct unc_request_set *set,
			struct unc_error *e)
{
	const struct uncore_pmu *pmu = set->pmu;

	for (size_t k = 0; k < set->count; k++) {
		const struct unc_request *event = &set->requests[k];
		size_t terms = count_terms_that_hold(pmu, &event->config, &rule->terms);
		bool all = terms == rule->terms.count;

		if (rule->kind == UNC_RULE_NEVER && all)
			unc_fail(e, EINVAL, "%s: '%s' sets%s", pmu->name, event->event,
				 rule->terms.count > 1 ? " each of" : "");
		else if (rule->kind == UNC_RULE_NEEDS_ONE && !terms)
			unc_fail(e, EINVAL, "%s: '%s' sets none of", pmu->name, event->event);
		else if (rule->kind == UNC_RULE_NEEDS && !all &&
			 term_holds(pmu, &event->config, rule->terms.items[0]))
			unc_fail(e, EINVAL, "%s: '%s' sets %s without", pmu->name, event->event,
				 rule->terms.items[0]);
		else
			continue;
		append_terms(e, rule, rule->kind == UNC_RULE_NEEDS);
		return -EINVAL;
	}
	return 0;
}

/* The event whose terms the hardware gets for the k-th event; NULL: the rule does not apply to it.
 * The leader of a group is always compared with the rest of the group. */
static const struct unc_request *effective(const struct unc_rule *rule,
					   const struct unc_request_set *set, size_t k)
{
	const struct unc_request *own = &set->requests[k];
	bool grouped = set->strict && set->count > 1;
	struct unc_encoding exempt;

	if (!unc_terms_are_set(set->pmu, &own->config, &rule->when))
		return NULL;
	if (rule->kind == UNC_RULE_GROUP &&
	    !count_terms_that_hold(set->pmu, &own->config, &rule->terms))
		return NULL;
	/* Events are recognised by the kernel's usual term for them. */
	if (rule->except && (k || !grouped) && unc_pmu_term(set->pmu, "event") &&
	    unc_event_encode(rule->except, set->pmu, &exempt, NULL) == 0 &&
	    term_bits(set->pmu, &exempt.config, "event") ==
		    term_bits(set->pmu, &own->config, "event"))
		return NULL;
	if (k && grouped && rule->inherit.count &&
	    !count_terms_that_hold(set->pmu, &own->config, &rule->inherit))
		return set->requests;
	return own;
}

static int too_many(const struct unc_rule *rule, const struct uncore_pmu *pmu, const char *first,
		    const char *event, struct unc_error *e)
{
	if (rule->most <= 1)
		unc_fail(e, EINVAL, "%s: '%s' and '%s' differ in", pmu->name, first, event);
	else
		unc_fail(e, EINVAL, "%s: '%s' is one too many for %u different values of",
			 pmu->name, event, rule->most);
	append_terms(e, rule, 0);
	return -EINVAL;
}

/* A rule about all events of a PMU and CPU; `sets` begins with the first of them. */
static int check_values(const struct unc_rule *rule, const struct unc_request_set *sets,
			size_t count, struct unc_error *e)
{
	const struct unc_request *met[UNC_RULE_MOST]; /* the first event with each value */
	size_t values = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0;
		     sets[i].requests && k < sets[i].count && unc_same_pmu(&sets[i], sets); k++) {
			const struct unc_request *event = effective(rule, &sets[i], k);
			size_t at = 0;

			while (event && at < values &&
			       !agree(sets->pmu, &event->config, &met[at]->config, &rule->terms))
				at++;
			if (!event || at < values)
				continue;
			if (values && values >= rule->most)
				return too_many(rule, sets->pmu, met[0]->event,
						sets[i].requests[k].event, e);
			met[values++] = event;
		}
	return 0;
}

bool unc_rules_allow(const struct unc_request_set *set)
{
	const struct unc_family *f = set->pmu->family;
	struct unc_error why;

	for (size_t k = 0; k < f->rule_count; k++)
		if (f->rules[k].kind >= UNC_RULE_GROUP &&
		    check_values(&f->rules[k], set, 1, &why) < 0)
			return false;
	return true;
}

/* The note does not name the PMU, so that it is printed only once. */
static int note_rule(struct uncore_monitor *m, const struct unc_rule *rule,
		     const struct unc_request_set *set)
{
	struct unc_error note = {0};

	for (size_t k = 0; !set->plain && !note.text[0] && k < set->count; k++)
		if (unc_terms_are_set(set->pmu, &set->requests[k].config, &rule->terms)) {
			unc_fail(&note, EINVAL, "'%s' sets", set->requests[k].event);
			append_terms(&note, rule, 0);
		}
	return note.text[0] ? unc_monitor_note(m, "%s", note.text) : 0;
}

/* Events that select GPUs by the term of the filter. */
static int check_gpu_terms(const struct unc_request_set *set, struct unc_error *e)
{
	const struct unc_family *f = set->pmu->family;
	const char *at = f->filters[UNC_FILTER_GPU].terms;
	struct unc_assignment a;
	int r = 0;

	while (unc_assignment_next(&at, &a) == 1) {
		const struct uncore_term *term = unc_pmu_term(set->pmu, a.name);

		if (strcmp(a.value, "{mask}") != 0 || !term || term->word < 0)
			continue;
		for (size_t k = 0; r == 0 && k < set->count; k++)
			r = unc_gpus_check(set->pmu,
					   (set->requests[k].config.word[term->word] &
					    term->bits) >>
						   __builtin_ctzll(term->bits),
					   EINVAL, e);
	}
	return r;
}

/* Some rules are for PMUs without an event, which the driver then does not name. */
static bool is_for_pmu(const struct unc_rule *rule, const struct uncore_pmu *pmu)
{
	const struct uncore_alias *alias = rule->without ? unc_pmu_alias(pmu, rule->without) : NULL;

	return !alias || alias->evidence;
}

int unc_rules_check(struct uncore_monitor *m)
{
	const struct unc_request_set *sets = m->sets;
	struct unc_error *e = &m->machine->error;

	for (size_t i = 0; i < m->set_count; i++) {
		const struct unc_family *f = sets[i].pmu->family;
		size_t first = 0; /* set of the PMU and CPU */
		int r = f && f->filters[UNC_FILTER_GPU].terms ? check_gpu_terms(&sets[i], e) : 0;

		if (r < 0)
			return r;
		if (!f || !f->rule_count)
			continue;
		while (!unc_same_pmu(&sets[first], &sets[i]))
			first++;
		for (size_t k = 0; r == 0 && k < f->rule_count; k++) {
			const struct unc_rule *rule = &f->rules[k];

			if (!is_for_pmu(rule, sets[i].pmu))
				continue;
			if (rule->kind == UNC_RULE_NOTE)
				r = note_rule(m, rule, &sets[i]);
			else if (rule->kind < UNC_RULE_GROUP)
				r = check_events(rule, &sets[i], e);
			else if (rule->kind == UNC_RULE_GROUP)
				r = sets[i].strict ? check_values(rule, &sets[i], 1, e) : 0;
			else if (first == i)
				r = check_values(rule, &sets[i], m->set_count - i, e);
		}
		if (r < 0)
			return r;
	}
	return 0;
}
