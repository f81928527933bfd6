/* SPDX-License-Identifier: MIT */
/* From requests (encode.c) to counters, which a source opens: large sets first, so that smaller ones that are
 * part of them need no counters. */
#include "count/query.h"

/* A plan being built. */
struct plan_builder {
	struct unc_plan plan;
	size_t first; /* counter of the PMU and CPU being planned */
};

static int compare_sets(const void *a, const void *b)
{
	const struct unc_request_set *x = *(struct unc_request_set *const *)a;
	const struct unc_request_set *y = *(struct unc_request_set *const *)b;

	if (x->round != y->round)
		return x->round < y->round ? -1 : 1;
	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	if (x->pmu != y->pmu)
		return x->pmu < y->pmu ? -1 : 1; /* PMUs stand in one array, ordered by name */
	if (x->together != y->together)
		return x->together ? -1 : 1;
	if (x->together && x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x < y ? -1 : x > y; /* as they were asked for */
}

/* A counter for `request` among those from `from` on, of the given set or (SIZE_MAX) of any; or SIZE_MAX. */
static size_t find_counter(const struct plan_builder *b, size_t from, size_t set,
			   const struct unc_request *request)
{
	for (size_t i = from; i < b->plan.count; i++) {
		const struct unc_counter *c = &b->plan.counters[i];

		if (set != SIZE_MAX && c->set != set)
			return SIZE_MAX;
		if (c->modifiers == request->modifiers && c->snapshot == request->snapshot &&
		    memcmp(&c->config, &request->config, sizeof(c->config)) == 0)
			return i;
	}
	return SIZE_MAX;
}

/* True, with every counter entered, when the set whose first counter is `from` has all the requests. */
static bool is_part_of_set(const struct plan_builder *b, size_t from, struct unc_request_set *set)
{
	size_t planned = b->plan.counters[from].set;

	for (size_t k = 0; k < set->count; k++) {
		set->requests[k].counter = find_counter(b, from, planned, &set->requests[k]);
		if (set->requests[k].counter == SIZE_MAX)
			return false;
	}
	return true;
}

static void plan_set(struct plan_builder *b, struct unc_request_set *set)
{
	size_t from = set->together ? b->plan.count : b->first;

	for (size_t i = b->first; set->together && i < b->plan.count; i++) {
		const struct unc_counter *c = &b->plan.counters[i];
		bool first_of_set = i == b->first || c[-1].set != c->set;

		if (first_of_set && c->strict == set->strict && is_part_of_set(b, i, set))
			return;
	}
	for (size_t k = 0; k < set->count; k++) {
		struct unc_request *request = &set->requests[k];

		request->counter =
			set->strict ? SIZE_MAX : find_counter(b, from, SIZE_MAX, request);
		if (request->counter != SIZE_MAX)
			continue;
		if (k == 0 || !set->together)
			b->plan.set_count++;
		request->counter = b->plan.count;
		b->plan.counters[b->plan.count++] = (struct unc_counter){
			.pmu = set->pmu,
			.event = request->event,
			.config = request->config,
			.modifiers = request->modifiers,
			.cpu = set->cpu,
			.set = b->plan.set_count - 1,
			.round = set->round,
			.strict = set->strict,
			.snapshot = request->snapshot,
			.width = 64,
		};
	}
}

/* ---- rounds --------------------------------------------------------------------------------------- */

/* By PMU and CPU. Events are in the first round, and come first: metrics have what these leave. */
static int compare_places(const void *a, const void *b)
{
	const struct unc_request_set *x = *(struct unc_request_set *const *)a;
	const struct unc_request_set *y = *(struct unc_request_set *const *)b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	if (x->pmu != y->pmu)
		return x->pmu < y->pmu ? -1 : 1;
	if (!x->query != !y->query)
		return x->query ? 1 : -1;
	return x < y ? -1 : x > y;
}

/* One of the first `count` requests of a set is this one. */
static bool has_request(const struct unc_request_set *set, size_t count,
			const struct unc_request *request)
{
	for (size_t k = 0; k < count; k++)
		if (memcmp(&set->requests[k].config, &request->config, sizeof(request->config)) ==
		    0)
			return true;
	return false;
}

/* The k-th request of a set uses a counter of another set of its round, as in plan_set(): requests that are
 * counted together only if the other set has them all. */
static bool is_shared(struct unc_request_set *const *sets, size_t end, const size_t *rounds,
		      size_t i, size_t k)
{
	const struct unc_request_set *set = sets[i];

	for (size_t j = 0; j < end; j++) {
		const struct unc_request_set *other = sets[j];
		size_t shared = 0;

		if (j == i || rounds[other->query] != rounds[set->query])
			continue;
		if (!set->together && (other->together || j < i) &&
		    has_request(other, other->count, &set->requests[k]))
			return true;
		while (set->together && other->together && shared < set->count &&
		       has_request(other, other->count, &set->requests[shared]))
			shared++;
		if (shared == set->count && (other->count > shared || j < i))
			return true;
	}
	return !set->together && has_request(set, k, &set->requests[k]);
}

/* The metric whose sets end at `end` has the counters that it needs beside those before it in its round. */
static bool has_room(struct unc_request_set *const *sets, size_t end, const size_t *rounds)
{
	const struct unc_request_set *last = sets[end - 1];
	unsigned most = last->pmu->family->counters;
	bool alone = true;
	size_t needed = 0;

	for (size_t i = 0; i < end; i++) {
		if (rounds[sets[i]->query] != rounds[last->query])
			continue;
		alone = alone && sets[i]->query == last->query;
		for (size_t k = 0; k < sets[i]->count; k++)
			needed += !is_shared(sets, end, rounds, i, k);
	}
	return alone || !most || needed <= most;
}

int unc_plan_rounds(struct unc_request_set *sets, size_t count, size_t queries)
{
	struct unc_request_set **order = calloc(count + 1, sizeof(*order));
	size_t *rounds = calloc(queries + 1, sizeof(*rounds));
	bool moved = true;

	for (size_t i = 0; order && i < count; i++)
		order[i] = &sets[i];
	if (order && rounds)
		qsort(order, count, sizeof(*order), compare_places);
	/* A metric that one PMU moves to a later round moves on all. */
	while (order && rounds && moved) {
		moved = false;
		for (size_t i = 0, first = 0; i < count; i++) {
			const struct unc_request_set *set = order[i];

			if (set->pmu != order[first]->pmu || set->cpu != order[first]->cpu)
				first = i;
			if (!set->query ||
			    (i + 1 < count && order[i + 1]->query == set->query &&
			     order[i + 1]->pmu == set->pmu && order[i + 1]->cpu == set->cpu))
				continue;
			for (; !has_room(order + first, i + 1 - first, rounds); moved = true)
				rounds[set->query]++;
		}
	}
	for (size_t i = 0; rounds && i < count; i++)
		sets[i].round = rounds[sets[i].query];
	free(order);
	free(rounds);
	return order && rounds ? 0 : -ENOMEM;
}

/* ---- the plan ------------------------------------------------------------------------------------- */

int unc_plan_build(struct unc_plan *out, struct unc_request_set *sets, size_t count)
{
	struct unc_request_set **order = calloc(count + 1, sizeof(*order));
	struct plan_builder b = {0};
	size_t most = 0;

	for (size_t i = 0; i < count; i++)
		most += sets[i].count;
	b.plan.counters = calloc(most + 1, sizeof(*b.plan.counters));
	if (!b.plan.counters || !order) {
		free(b.plan.counters);
		free(order);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		order[i] = &sets[i];
	qsort(order, count, sizeof(*order), compare_sets);
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || order[i - 1]->cpu != order[i]->cpu ||
		    order[i - 1]->pmu != order[i]->pmu || order[i - 1]->round != order[i]->round)
			b.first = b.plan.count;
		plan_set(&b, order[i]);
	}
	if (count)
		b.plan.round_count = order[count - 1]->round + 1;
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
