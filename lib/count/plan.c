/* SPDX-License-Identifier: MIT */
/* From requests (encode.c) to counters, which a source opens. Large sets are planned first, so that
 * smaller sets that are part of them need no counters. */
#include "count/query.h"

/* A plan being built. */
struct plan_builder {
	struct unc_request_set **sets; /* in the order in which they are planned */
	struct unc_plan plan;
	size_t first; /* counter of the PMU and CPU being planned */
};

bool unc_same_pmu(const struct unc_request_set *a, const struct unc_request_set *b)
{
	return a->pmu == b->pmu && a->cpu == b->cpu;
}

static int compare_sets(const void *a, const void *b)
{
	const struct unc_request_set *x = *(struct unc_request_set *const *)a;
	const struct unc_request_set *y = *(struct unc_request_set *const *)b;

	if (x->round != y->round)
		return x->round < y->round ? -1 : 1;
	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	if (x->pmu != y->pmu)
		return x->pmu < y->pmu ? -1 : 1; /* PMUs are in one array, ordered by name */
	if (x->together != y->together)
		return x->together ? -1 : 1;
	if (x->together && x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x < y ? -1 : x > y; /* in the order of the requests */
}

/* A counter for `request` among those from `from` on, of the given set or (SIZE_MAX) of any; or
 * SIZE_MAX. */
static size_t find_counter(const struct plan_builder *b, size_t from, size_t set,
			   const struct unc_request *request)
{
	for (size_t i = from; i < b->plan.count; i++) {
		const struct uncore_counter *c = &b->plan.counters[i];

		if (set != SIZE_MAX && c->group != set)
			return SIZE_MAX;
		if (c->modifiers == request->modifiers && c->snapshot == request->snapshot &&
		    memcmp(&c->config, &request->config, sizeof(c->config)) == 0)
			return i;
	}
	return SIZE_MAX;
}

/* Whether the set whose first counter is `from` has all the requests; if so, stores their
 * counters. */
static bool is_part_of_set(const struct plan_builder *b, size_t from, struct unc_request_set *set)
{
	size_t planned = b->plan.counters[from].group;

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
		const struct uncore_counter *c = &b->plan.counters[i];
		bool first_of_set = i == b->first || c[-1].group != c->group;

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
		b->plan.counters[b->plan.count++] = (struct uncore_counter){
			.pmu = set->pmu,
			.event = request->event,
			.leader = k == 0 || !set->together,
			.modifiers = request->modifiers,
			.cpu = set->cpu,
			.group = b->plan.set_count - 1,
			.round = set->round,
			.strict = set->strict,
			.snapshot = request->snapshot,
			.width = 64,
			.register_bits = set->pmu->register_bits,
			.register_halves = set->pmu->register_halves,
		};
		memcpy(b->plan.counters[request->counter].config, &request->config,
		       sizeof(request->config));
	}
}

/* ---- rounds
 * --------------------------------------------------------------------------------------- */

/* Orders all sets, and makes room for all their counters. -ENOMEM. */
static int begin(struct plan_builder *b, struct unc_request_set *sets, size_t count)
{
	size_t most = 0;

	for (size_t i = 0; i < count; i++)
		most += sets[i].count;
	b->sets = calloc(count + 1, sizeof(*b->sets));
	b->plan.counters = calloc(most + 1, sizeof(*b->plan.counters));
	if (!b->sets || !b->plan.counters)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		b->sets[i] = &sets[i];
	qsort(b->sets, count, sizeof(*b->sets), compare_sets);
	return 0;
}

/* Whether a PMU on one CPU has enough counters for the metric, together with the earlier metrics
 * and events of its round. */
static bool has_room(struct plan_builder *b, size_t first, size_t end, size_t query,
		     const size_t *rounds)
{
	const struct unc_family *f = b->sets[first]->pmu->family;
	bool asked = false, alone = true;

	/* Looks first whether the PMU has a request of the metric, since planning is slower and
	 * most metrics do not use most PMUs. */
	for (size_t i = first; !asked && i < end; i++)
		asked = b->sets[i]->query == query;
	if (!asked || !f->counters)
		return true;
	b->plan.count = 0;
	for (size_t i = first; i < end; i++) {
		struct unc_request_set *set = b->sets[i];

		if (set->query > query || rounds[set->query] != rounds[query])
			continue;
		alone = alone && set->query == query;
		plan_set(b, set);
	}
	return alone || b->plan.count <= f->counters;
}

int unc_plan_rounds(struct unc_request_set *sets, size_t count, size_t queries)
{
	struct plan_builder b = {0};
	size_t *rounds = calloc(queries + 1, sizeof(*rounds));
	int r = begin(&b, sets, count);
	bool moved = r == 0 && rounds;

	/* A metric that is moved to a later round on one PMU is moved on all of them. */
	while (moved) {
		moved = false;
		for (size_t first = 0, end; first < count; first = end) {
			for (end = first; end < count && unc_same_pmu(b.sets[end], b.sets[first]);)
				end++;
			for (size_t query = 1; query <= queries; query++)
				for (; !has_room(&b, first, end, query, rounds); moved = true)
					rounds[query]++;
		}
	}
	for (size_t i = 0; rounds && i < count; i++)
		sets[i].round = rounds[sets[i].query];
	free(b.sets);
	free(b.plan.counters);
	free(rounds);
	return rounds ? r : -ENOMEM;
}

/* ---- the plan
 * ------------------------------------------------------------------------------------- */

int unc_plan_build(struct unc_plan *out, struct unc_request_set *sets, size_t count)
{
	struct plan_builder b = {0};
	int r = begin(&b, sets, count);

	for (size_t i = 0; r == 0 && i < count; i++) {
		struct unc_request_set *set = b.sets[i];

		if (i == 0 || !unc_same_pmu(set, b.sets[i - 1]) ||
		    set->round != b.sets[i - 1]->round)
			b.first = b.plan.count;
		plan_set(&b, set);
		b.plan.round_count = set->round + 1;
	}
	free(b.sets);
	if (r < 0)
		free(b.plan.counters);
	else
		*out = b.plan;
	return r;
}

void unc_plan_finish(struct unc_plan *p)
{
	for (size_t i = 0; i < p->count; i++)
		free((void *)p->counters[i].why);
	free(p->counters);
	*p = (struct unc_plan){0};
}
