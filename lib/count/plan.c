/* SPDX-License-Identifier: MIT */
/* From wants to counters: large sets first, so that smaller ones find themselves in them. */
#include "count/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A plan being built. */
struct builder {
	struct unc_plan plan;
	size_t box; /* first counter of the PMU and CPU being planned */
};

static int compare_wants(const void *a, const void *b)
{
	const struct unc_want *x = *(struct unc_want *const *)a;
	const struct unc_want *y = *(struct unc_want *const *)b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	if (x->pmu != y->pmu)
		return x->pmu < y->pmu ? -1 : 1; /* PMUs stand in one array, ordered by name */
	if (x->together != y->together)
		return x->together ? -1 : 1;
	if (x->together && x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static bool serves(const struct unc_counter *c, const struct unc_wanted *w)
{
	return c->modifiers == w->modifiers && c->snapshot == w->snapshot &&
	       memcmp(&c->config, &w->config, sizeof(c->config)) == 0;
}

/* A counter for `w` among those from `from` on, of the given set or (SIZE_MAX) of any; or SIZE_MAX. */
static size_t find_counter(const struct builder *b, size_t from, size_t set,
			   const struct unc_wanted *w)
{
	for (size_t i = from; i < b->plan.count; i++) {
		const struct unc_counter *c = &b->plan.counters[i];

		if (set != SIZE_MAX && c->set != set)
			return SIZE_MAX;
		if (serves(c, w))
			return i;
	}
	return SIZE_MAX;
}

/* True, with every counter noted, when the set whose first counter is `from` holds all of `want`. */
static bool ride_on(const struct builder *b, size_t from, struct unc_want *want)
{
	size_t set = b->plan.counters[from].set;

	for (size_t k = 0; k < want->count; k++) {
		want->events[k].counter = find_counter(b, from, set, &want->events[k]);
		if (want->events[k].counter == SIZE_MAX)
			return false;
	}
	return true;
}

static void append(struct builder *b, const struct unc_want *want, struct unc_wanted *w, size_t set)
{
	w->counter = b->plan.count;
	b->plan.counters[b->plan.count++] = (struct unc_counter){
		.pmu = want->pmu,
		.event = w->event,
		.config = w->config,
		.modifiers = w->modifiers,
		.cpu = want->cpu,
		.set = set,
		.strict = want->strict,
		.snapshot = w->snapshot,
		.width = 64,
	};
}

static void place_together(struct builder *b, struct unc_want *want)
{
	size_t set, first = b->plan.count;

	for (size_t i = b->box; i < b->plan.count; i++) {
		const struct unc_counter *c = &b->plan.counters[i];
		bool first_of_set = i == b->box || c[-1].set != c->set;

		if (first_of_set && c->strict == want->strict && ride_on(b, i, want))
			return;
	}
	set = b->plan.set_count++;
	for (size_t k = 0; k < want->count; k++) {
		struct unc_wanted *w = &want->events[k];

		w->counter = want->strict ? SIZE_MAX : find_counter(b, first, set, w);
		if (w->counter == SIZE_MAX)
			append(b, want, w, set);
	}
}

static void place_apart(struct builder *b, struct unc_want *want)
{
	for (size_t k = 0; k < want->count; k++) {
		struct unc_wanted *w = &want->events[k];

		w->counter = find_counter(b, b->box, SIZE_MAX, w);
		if (w->counter == SIZE_MAX)
			append(b, want, w, b->plan.set_count++);
	}
}

static int sorted(struct unc_want ***out, struct unc_want *wants, size_t count)
{
	struct unc_want **order = calloc(count + 1, sizeof(struct unc_want *));

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		wants[i].order = i;
		order[i] = &wants[i];
	}
	qsort(order, count, sizeof(*order), compare_wants);
	*out = order;
	return 0;
}

int unc_plan_build(struct unc_plan *out, struct unc_want *wants, size_t count)
{
	struct builder b = {0};
	struct unc_want **order;
	size_t most = 0;

	for (size_t i = 0; i < count; i++)
		most += wants[i].count;
	b.plan.counters = calloc(most + 1, sizeof(*b.plan.counters));
	if (!b.plan.counters || sorted(&order, wants, count) < 0) {
		free(b.plan.counters);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		struct unc_want *want = order[i];

		if (i == 0 || order[i - 1]->cpu != want->cpu || order[i - 1]->pmu != want->pmu)
			b.box = b.plan.count;
		if (want->together)
			place_together(&b, want);
		else
			place_apart(&b, want);
	}
	free(order);
	*out = b.plan;
	return 0;
}

void unc_plan_finish(struct unc_plan *p)
{
	for (size_t i = 0; i < p->count; i++)
		free(p->counters[i].why);
	free(p->counters);
	*p = (struct unc_plan){0};
}
