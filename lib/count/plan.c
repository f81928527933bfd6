/* SPDX-License-Identifier: MIT */
/* From requests (encode.c) to counters, which a source opens. Large sets are planned first, so that
 * smaller sets that are part of them need no counters. */
#include "count/query.h"

/* A plan being built. */
struct plan_builder {
	struct unc_request_set **sets; /* in the order in which they are planned */
	struct unc_plan plan;
	size_t first;                 /* counter of the PMU and CPU being planned */
	size_t count;                 /* of the sets */
	struct unc_request *requests; /* of one of them in a round; room for all */
};

static int compare_sets(const void *a, const void *b)
{
	const struct unc_request_set *x = *(struct unc_request_set *const *)a;
	const struct unc_request_set *y = *(struct unc_request_set *const *)b;

	/* The counters of one source are adjacent. */
	if (x->pmu->source != y->pmu->source)
		return x->pmu->source < y->pmu->source ? -1 : 1;
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

/* Plans the requests of a round. */
static void plan_set(struct plan_builder *b, struct unc_request_set *set, size_t round)
{
	size_t from = set->together ? b->plan.count : b->first;
	bool first = true;

	if (set->together && set->round != round)
		return;
	for (size_t i = b->first; set->together && i < b->plan.count; i++) {
		const struct uncore_counter *c = &b->plan.counters[i];
		bool first_of_set = i == b->first || c[-1].group != c->group;

		if (first_of_set && c->strict == set->strict && is_part_of_set(b, i, set))
			return;
	}
	for (size_t k = 0; k < set->count; k++) {
		struct unc_request *request = &set->requests[k];

		if (request->round != round)
			continue;
		request->counter =
			set->strict ? SIZE_MAX : find_counter(b, from, SIZE_MAX, request);
		if (request->counter != SIZE_MAX)
			continue;
		if (first || !set->together)
			b->plan.set_count++;
		request->counter = b->plan.count;
		b->plan.counters[b->plan.count++] = (struct uncore_counter){
			.pmu = set->pmu,
			.event = request->event,
			.leader = first || !set->together,
			.modifiers = request->modifiers,
			.cpu = set->cpu,
			.group = b->plan.set_count - 1,
			.round = round,
			.strict = set->strict,
			.snapshot = request->snapshot,
			.width = 64,
			.register_bits = set->pmu->register_bits,
			.register_halves = set->pmu->register_halves,
		};
		memcpy(b->plan.counters[request->counter].config, &request->config,
		       sizeof(request->config));
		first = false;
	}
}

/* ---- rounds ---- */

/* Orders all sets, and makes room for all their counters. -ENOMEM. */
static int begin(struct plan_builder *b, struct unc_request_set *sets, size_t count)
{
	size_t most = 0;

	for (size_t i = 0; i < count; i++)
		most += sets[i].count;
	b->sets = calloc(count + 1, sizeof(*b->sets));
	b->requests = calloc(most + 1, sizeof(*b->requests));
	b->plan.counters = calloc(most + 1, sizeof(*b->plan.counters));
	if (!b->sets || !b->requests || !b->plan.counters)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		b->sets[i] = &sets[i];
	b->count = count;
	qsort(b->sets, count, sizeof(*b->sets), compare_sets);
	return 0;
}

/* The end of the sets of one PMU and CPU. */
static size_t end_of_pmu(const struct plan_builder *b, size_t first)
{
	size_t end = first;

	while (end < b->count && unc_same_pmu(b->sets[end], b->sets[first]))
		end++;
	return end;
}

/* What is to be assigned to a round: a metric, or one of its events in one of its parts. */
struct piece {
	size_t query, part, event; /* SIZE_MAX: all */
};

/* Whether the k-th request of the set belongs to the piece. */
static bool has(const struct piece *p, const struct unc_request_set *set, size_t k)
{
	return set->query == p->query && (p->part == SIZE_MAX || set->part == p->part) &&
	       (p->event == SIZE_MAX || k == p->event);
}

/* Whether the hardware can count at once what is planned: a driver takes other filters in another
 * group, and the kernel then multiplexes these groups. */
static bool rules_allow(struct plan_builder *b, const struct unc_request_set *of)
{
	struct unc_request_set planned = {.pmu = of->pmu, .cpu = of->cpu, .requests = b->requests};

	if (!of->pmu->family->rule_count)
		return true;
	for (; planned.count < b->plan.count; planned.count++) {
		const struct uncore_counter *c = &b->plan.counters[planned.count];

		b->requests[planned.count] = (struct unc_request){.event = c->event};
		memcpy(&b->requests[planned.count].config, &c->config, sizeof(c->config));
	}
	return unc_rules_allow(&planned);
}

enum room {
	ROOM,
	NO_ROOM,  /* beside the earlier ones */
	NO_PLACE, /* not even alone */
};

/* Whether a PMU on one CPU can count the piece, together with what is in its round. */
static enum room has_room(struct plan_builder *b, size_t first, size_t end,
			  const struct piece *piece, size_t round)
{
	const struct unc_family *f = b->sets[first]->pmu->family;
	bool asked = false, alone = true;

	/* Looks first whether the PMU has a request of the piece, since planning is slower and
	 * most metrics do not use most PMUs. */
	for (size_t i = first; !asked && i < end; i++)
		asked = has(piece, b->sets[i], piece->event == SIZE_MAX ? 0 : piece->event);
	if (!asked)
		return ROOM;
	b->plan.count = 0;
	b->first = 0;
	for (size_t i = first; i < end; i++) {
		struct unc_request_set *set = b->sets[i];

		if (set->query > piece->query)
			continue;
		for (size_t k = 0; k < set->count; k++)
			alone = alone && (set->requests[k].round != round || has(piece, set, k));
		plan_set(b, set, round);
	}
	if ((!f->counters || b->plan.count <= f->counters) && rules_allow(b, b->sets[first]))
		return ROOM;
	return alone ? NO_PLACE : NO_ROOM;
}

static void assign(struct plan_builder *b, const struct piece *piece, size_t round)
{
	for (size_t i = 0; i < b->count; i++) {
		struct unc_request_set *set = b->sets[i];

		if (set->query != piece->query)
			continue;
		set->round = 0;
		for (size_t k = 0; k < set->count; k++) {
			if (has(piece, set, k))
				set->requests[k].round = round;
			if (set->requests[k].round > set->round)
				set->round = set->requests[k].round;
		}
	}
}

/* Assigns the piece to the first round in which all PMUs have room for it: what is moved to a later
 * round on one PMU is moved on all of them. False: some have no place for it in any round. */
static bool place(struct plan_builder *b, const struct piece *piece)
{
	for (size_t round = 0;; round++) {
		enum room worst = ROOM, room;
		bool placed = true;

		assign(b, piece, round);
		for (size_t first = 0, end; placed && first < b->count; first = end) {
			end = end_of_pmu(b, first);
			room = has_room(b, first, end, piece, round);
			placed = room != NO_ROOM;
			worst = room > worst ? room : worst;
		}
		if (placed)
			return worst != NO_PLACE;
	}
}

/* Whether the parts of a sum are parts of what it counts: an event is subtracted from one of the
 * same round. */
static bool are_parts(const struct plan_builder *b, size_t query)
{
	for (size_t i = 0; i < b->count; i++) {
		const struct unc_request_set *set = b->sets[i];

		for (size_t k = 0; set->query == query && k < set->count; k++) {
			bool found = !set->requests[k].subtracted;

			for (size_t other = 0; !found && other < set->count; other++)
				found = !set->requests[other].subtracted &&
					set->requests[other].round == set->requests[k].round;
			if (!found)
				return false;
		}
	}
	return true;
}

/* Assigns the parts of a metric one by one, such as root ports; and each event of a sum. A quotient
 * of one part stays in one round. */
static void split(struct plan_builder *b, size_t query)
{
	const struct piece whole = {query, SIZE_MAX, SIZE_MAX};
	size_t parts = 0, events = 0;
	bool is_sum = true, divisible = true, fits = true;

	for (size_t i = 0; i < b->count; i++) {
		const struct unc_request_set *set = b->sets[i];

		if (set->query != query)
			continue;
		is_sum = is_sum && set->is_sum;
		divisible = divisible && set->divisible;
		parts = set->part >= parts ? set->part + 1 : parts;
		events = set->count > events ? set->count : events;
	}
	events = is_sum ? events : 1;
	if (!divisible || parts * events < 2)
		return;
	assign(b, &whole, SIZE_MAX);
	for (size_t part = 0; part < parts; part++)
		for (size_t event = 0; event < events; event++)
			fits = place(b, &(struct piece){query, part, is_sum ? event : SIZE_MAX}) &&
			       fits;
	if (!fits || !are_parts(b, query))
		place(b, &whole);
}

int unc_plan_rounds(struct unc_request_set *sets, size_t count, size_t queries)
{
	struct plan_builder b = {0};
	int r = begin(&b, sets, count);

	for (size_t first = 0, end; r == 0 && first < count; first = end) {
		end = end_of_pmu(&b, first);
		for (size_t i = first; i < end; i++)
			for (size_t k = first; k < i; k++)
				b.sets[i]->part += b.sets[k]->query == b.sets[i]->query;
	}
	for (size_t query = 1; r == 0 && query <= queries; query++)
		if (!place(&b, &(struct piece){query, SIZE_MAX, SIZE_MAX}))
			split(&b, query);
	free(b.plan.counters);
	free(b.sets);
	free(b.requests);
	return r;
}

/* ---- the plan ---- */

int unc_plan_build(struct unc_plan *out, struct unc_request_set *sets, size_t count)
{
	struct plan_builder b = {0};
	int r = begin(&b, sets, count);
	size_t rounds = 0;

	for (size_t i = 0; i < count; i++)
		rounds = sets[i].round >= rounds ? sets[i].round + 1 : rounds;
	for (size_t round = 0; r == 0 && round < rounds; round++)
		for (size_t i = 0; i < count; i++) {
			if (i == 0 || !unc_same_pmu(b.sets[i], b.sets[i - 1]))
				b.first = b.plan.count;
			plan_set(&b, b.sets[i], round);
		}
	b.plan.round_count = rounds;
	if (r < 0)
		free(b.plan.counters);
	else
		*out = b.plan;
	free(b.sets);
	free(b.requests);
	return r;
}

void unc_plan_finish(struct unc_plan *p)
{
	for (size_t i = 0; i < p->count; i++) {
		free((void *)p->counters[i].why);
		free((void *)p->counters[i].peer);
	}
	free(p->counters);
	*p = (struct unc_plan){0};
}
