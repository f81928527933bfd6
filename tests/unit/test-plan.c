/* SPDX-License-Identifier: MIT */
/* Plans: which counters serve what was asked, by example and for random sets. */
#include "count/query.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "catalogue/catalogue.h"
#include "helpers.h"
#include "machine/pmu.h"

#define MAX_SETS 64
#define MAX_EVENTS 6

static struct uncore_pmu pmus[200];

/* What is asked for, in the order of asking. */
struct ask {
	struct unc_request_set sets[MAX_SETS];
	struct unc_request events[MAX_SETS][MAX_EVENTS];
	size_t count;
};

static struct unc_request request(uint64_t config)
{
	return (struct unc_request){.event = "e", .config = {{config}}, .counter = SIZE_MAX};
}

static struct unc_request_set *ask_on(struct ask *a, size_t pmu, int cpu)
{
	struct unc_request_set *set = &a->sets[a->count];

	*set = (struct unc_request_set){
		.pmu = &pmus[pmu], .cpu = cpu, .requests = a->events[a->count], .group = -1};
	a->count++;
	return set;
}

/* Events 'a'.. of `codes` on PMU 0 and CPU 0. */
static struct unc_request_set *ask(struct ask *a, const char *codes)
{
	struct unc_request_set *set = ask_on(a, 0, 0);

	for (const char *c = codes; *c; c++)
		set->requests[set->count++] = request((uint64_t)*c);
	return set;
}

static struct unc_request_set *ask_together(struct ask *a, const char *codes)
{
	struct unc_request_set *set = ask(a, codes);

	set->together = true;
	return set;
}

static struct unc_request_set *ask_strictly(struct ask *a, const char *codes)
{
	struct unc_request_set *set = ask_together(a, codes);

	set->strict = true;
	return set;
}

static struct unc_plan build(struct ask *a)
{
	struct unc_plan plan;

	assert_int_equal(unc_plan_build(&plan, a->sets, a->count), 0);
	return plan;
}

/* The plan as text: counters by their letter, sets separated by blanks, strict ones in braces. */
static void assert_plan(const struct unc_plan *plan, const char *expected)
{
	struct unc_text t = {0};

	for (size_t i = 0; i < plan->count; i++) {
		const struct uncore_counter *c = &plan->counters[i];
		bool first = i == 0 || c[-1].group != c->group;
		bool last = i + 1 == plan->count || c[1].group != c->group;

		unc_text_add(&t, "%s%s%c%s", first && i ? " " : "", first && c->strict ? "{" : "",
			     (char)c->config[0], last && c->strict ? "}" : "");
	}
	assert_string_equal(t.data ? t.data : "", expected);
	unc_text_finish(&t);
}

/* ---- examples --------------------------------------------------------------------------------- */

static void nothing_requested(void **state)
{
	struct ask a = {.count = 0};
	struct unc_plan plan = build(&a);

	(void)state;
	assert_int_equal(plan.count, 0);
	assert_int_equal(plan.set_count, 0);
	unc_plan_finish(&plan);
}

static void a_counter_is_as_requested(void **state)
{
	struct ask a = {.count = 0};
	struct unc_request_set *set = ask_on(&a, 3, 17);
	struct unc_plan plan;
	const struct uncore_counter *c;

	(void)state;
	set->requests[set->count++] = (struct unc_request){
		.event = "event=4",
		.config = {{1, 2, 3, 4}},
		.modifiers = UNC_MOD_KERNEL,
		.snapshot = true,
	};
	plan = build(&a);
	assert_int_equal(plan.count, 1);
	c = &plan.counters[0];
	assert_ptr_equal(c->pmu, &pmus[3]);
	assert_int_equal(c->cpu, 17);
	assert_string_equal(c->event, "event=4");
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(c->config[i], i + 1);
	assert_int_equal(c->modifiers, UNC_MOD_KERNEL);
	assert_true(c->snapshot);
	assert_false(c->strict);
	assert_int_equal(c->width, 64);
	assert_int_equal(c->error, 0);
	assert_null(c->why);
	assert_int_equal(set->requests[0].counter, 0);
	unc_plan_finish(&plan);
}

static void equal_counters_are_opened_once(void **state)
{
	struct ask a = {.count = 0};
	struct unc_plan plan;

	(void)state;
	ask(&a, "ab");
	ask(&a, "ba");
	ask(&a, "aa");
	plan = build(&a);
	assert_plan(&plan, "a b");
	assert_int_equal(plan.set_count, 2);
	assert_int_equal(a.events[1][0].counter, 1);
	assert_int_equal(a.events[1][1].counter, 0);
	assert_int_equal(a.events[2][0].counter, 0);
	assert_int_equal(a.events[2][1].counter, 0);
	unc_plan_finish(&plan);
}

static void different_requests_have_different_counters(void **state)
{
	struct ask a = {.count = 0};
	struct unc_plan plan;

	(void)state;
	for (size_t i = 0; i < 8; i++)
		ask(&a, "a");
	a.events[1][0].config.word[1] = 1;
	a.events[2][0].config.word[2] = 1;
	a.events[3][0].config.word[3] = 1;
	a.events[4][0].modifiers = UNC_MOD_USER;
	a.events[5][0].snapshot = true;
	a.sets[6].cpu = 1;
	a.sets[7].pmu = &pmus[1];
	plan = build(&a);
	assert_int_equal(plan.count, 8);
	assert_int_equal(plan.set_count, 8);
	unc_plan_finish(&plan);
}

static void the_events_of_a_ratio_share_a_set(void **state)
{
	struct ask a = {.count = 0};
	struct unc_plan plan;

	(void)state;
	ask_together(&a, "ab");
	ask_together(&a, "cd");
	plan = build(&a);
	assert_plan(&plan, "ab cd");
	assert_int_equal(plan.set_count, 2);
	unc_plan_finish(&plan);
}

static void events_of_ratios_also_serve_single_requests(void **state)
{
	struct ask a = {.count = 0};
	struct unc_plan plan;

	(void)state;
	ask(&a, "a");
	ask(&a, "x");
	ask_together(&a, "ba");
	plan = build(&a);
	assert_plan(&plan, "ba x");
	assert_int_equal(a.events[0][0].counter, 1);
	assert_int_equal(a.events[1][0].counter, 2);
	unc_plan_finish(&plan);
}

static void a_part_of_a_larger_set_uses_its_counters(void **state)
{
	struct ask a = {.count = 0};
	struct unc_plan plan;

	(void)state;
	ask_together(&a, "ca");
	ask_together(&a, "abc");
	ask_together(&a, "cba");
	plan = build(&a);
	assert_plan(&plan, "abc");
	assert_int_equal(a.events[0][0].counter, 2);
	assert_int_equal(a.events[0][1].counter, 0);
	assert_int_equal(a.events[2][0].counter, 2);
	unc_plan_finish(&plan);
}

/* Half in one set and half in another would be two windows. */
static void a_set_is_never_served_by_two_sets(void **state)
{
	struct ask a = {.count = 0};
	struct unc_plan plan;

	(void)state;
	ask_together(&a, "abx");
	ask_together(&a, "cdy");
	ask_together(&a, "ac");
	plan = build(&a);
	assert_plan(&plan, "abx cdy ac");
	assert_int_equal(a.events[2][0].counter, 6);
	unc_plan_finish(&plan);
}

static void an_event_twice_in_a_ratio_is_counted_once(void **state)
{
	struct ask a = {.count = 0};
	struct unc_plan plan;

	(void)state;
	ask_together(&a, "aba");
	plan = build(&a);
	assert_plan(&plan, "ab");
	assert_int_equal(a.events[0][2].counter, 0);
	unc_plan_finish(&plan);
}

/* A "{}" is what the user wrote: with its own size, duplicates included. */
static void a_strict_set_is_planned_as_written(void **state)
{
	struct ask a = {.count = 0};
	struct unc_plan plan;

	(void)state;
	ask_strictly(&a, "aba");
	plan = build(&a);
	assert_plan(&plan, "{aba}");
	unc_plan_finish(&plan);
}

static void strict_sets_and_ratios_do_not_share(void **state)
{
	struct ask a = {.count = 0};
	struct unc_plan plan;

	(void)state;
	ask_strictly(&a, "ab");
	ask_together(&a, "abc");
	ask_together(&a, "ab");
	plan = build(&a);
	/* "{ab}" inside "abc" could no longer fail when it does not fit. */
	assert_plan(&plan, "abc {ab}");
	assert_int_equal(a.events[0][0].counter, 3);
	assert_int_equal(a.events[2][0].counter, 0);
	unc_plan_finish(&plan);
}

static void equal_strict_sets_are_opened_once(void **state)
{
	struct ask a = {.count = 0};
	struct unc_plan plan;

	(void)state;
	ask_strictly(&a, "ab");
	ask_strictly(&a, "ba");
	plan = build(&a);
	assert_plan(&plan, "{ab}");
	assert_int_equal(a.events[1][0].counter, 1);
	unc_plan_finish(&plan);
}

static void a_single_event_uses_a_counter_of_a_strict_set(void **state)
{
	struct ask a = {.count = 0};
	struct unc_plan plan;

	(void)state;
	ask(&a, "b");
	ask_strictly(&a, "ab");
	plan = build(&a);
	assert_plan(&plan, "{ab}");
	assert_int_equal(a.events[0][0].counter, 1);
	unc_plan_finish(&plan);
}

static void the_plan_is_ordered_by_cpu_pmu_and_set(void **state)
{
	static const struct {
		size_t pmu;
		int cpu;
	} asked[] = {{1, 4}, {0, 4}, {1, 0}, {0, 0}, {2, 4}, {1, 4}};
	static const struct {
		size_t pmu;
		int cpu;
	} expected[] = {{0, 0}, {1, 0}, {0, 4}, {1, 4}, {1, 4}, {2, 4}};
	struct ask a = {.count = 0};
	struct unc_plan plan;

	(void)state;
	for (size_t i = 0; i < COUNT(asked); i++) {
		struct unc_request_set *set = ask_on(&a, asked[i].pmu, asked[i].cpu);

		set->requests[set->count++] = request(i);
	}
	plan = build(&a);
	assert_int_equal(plan.count, COUNT(expected));
	for (size_t i = 0; i < COUNT(expected); i++) {
		assert_ptr_equal(plan.counters[i].pmu, &pmus[expected[i].pmu]);
		assert_int_equal(plan.counters[i].cpu, expected[i].cpu);
		assert_int_equal(plan.counters[i].group, i);
	}
	/* Counters of one PMU and CPU keep the order of asking. */
	assert_int_equal(plan.counters[3].config[0], 0);
	assert_int_equal(plan.counters[4].config[0], 5);
	unc_plan_finish(&plan);
}

/* ---- many ------------------------------------------------------------------------------------- */

/* Ten ratios of two events, half of them in common, on 200 PMUs and 2 CPUs: 4000 sets. */
static void a_large_machine_is_planned_quickly(void **state)
{
	static struct unc_request events[200 * 2 * 10][2];
	static struct unc_request_set sets[200 * 2 * 10];
	struct unc_plan plan;
	struct timespec before, after;
	size_t n = 0;
	double seconds;

	(void)state;
	for (uint64_t i = 0; i < 10; i++)
		for (size_t p = 0; p < 200; p++)
			for (int cpu = 0; cpu < 2; cpu++, n++) {
				events[n][0] = request(i);
				events[n][1] = request(100);
				sets[n] = (struct unc_request_set){.pmu = &pmus[p],
								   .cpu = cpu,
								   .together = true,
								   .requests = events[n],
								   .count = 2};
			}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
	assert_int_equal(unc_plan_build(&plan, sets, n), 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
	seconds = (double)(after.tv_sec - before.tv_sec) +
		  (double)(after.tv_nsec - before.tv_nsec) / 1e9;
	assert_int_equal(plan.count, 200 * 2 * 10 * 2);
	assert_int_equal(plan.set_count, 200 * 2 * 10);
	assert_true(seconds < 0.5); /* some milliseconds; the rest is for sanitizers */
	unc_plan_finish(&plan);
}

static uint64_t random_next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static size_t below(uint64_t *seed, size_t limit)
{
	return (size_t)(random_next(seed) % limit);
}

static void ask_at_random(struct ask *a, uint64_t *seed)
{
	size_t sets = 1 + below(seed, MAX_SETS);

	a->count = 0;
	while (a->count < sets) {
		struct unc_request_set *set = ask_on(a, below(seed, 3), (int)below(seed, 2));
		size_t events = 1 + below(seed, MAX_EVENTS);

		set->together = below(seed, 2);
		set->strict = set->together && below(seed, 3) == 0;
		while (set->count < events) {
			struct unc_request *r = &set->requests[set->count++];

			*r = request(below(seed, 6));
			r->config.word[1 + below(seed, 3)] = below(seed, 8) == 0;
			r->modifiers = below(seed, 8) == 0 ? UNC_MOD_USER : 0;
			r->snapshot = below(seed, 16) == 0;
		}
	}
}

static bool same_counter(const struct uncore_counter *x, const struct uncore_counter *y)
{
	return x->pmu == y->pmu && x->cpu == y->cpu && x->modifiers == y->modifiers &&
	       x->snapshot == y->snapshot && memcmp(&x->config, &y->config, sizeof(x->config)) == 0;
}

/* Ordered by CPU, PMU and set; sets count from 0 without gaps; one PMU, CPU and strictness each. */
static void check_order(const struct unc_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct uncore_counter *c = &plan->counters[i], *before = c - 1;

		if (i == 0) {
			assert_int_equal(c->group, 0);
			continue;
		}
		assert_true(before->cpu <= c->cpu);
		if (before->cpu == c->cpu)
			assert_true(before->pmu <= c->pmu);
		if (before->group == c->group) {
			assert_ptr_equal(before->pmu, c->pmu);
			assert_int_equal(before->cpu, c->cpu);
			assert_int_equal(before->strict, c->strict);
		} else {
			assert_int_equal(c->group, before->group + 1);
		}
	}
	assert_int_equal(plan->set_count,
			 plan->count ? plan->counters[plan->count - 1].group + 1 : 0);
}

static void check_set(const struct unc_plan *plan, const struct unc_request_set *set)
{
	for (size_t k = 0; k < set->count; k++) {
		const struct unc_request *r = &set->requests[k];
		const struct uncore_counter *c;

		assert_true(r->counter < plan->count);
		c = &plan->counters[r->counter];
		assert_ptr_equal(c->pmu, set->pmu);
		assert_int_equal(c->cpu, set->cpu);
		assert_int_equal(c->modifiers, r->modifiers);
		assert_int_equal(c->snapshot, r->snapshot);
		assert_memory_equal(&c->config, &r->config, sizeof(c->config));
		if (set->together)
			assert_int_equal(c->group, plan->counters[set->requests[0].counter].group);
		if (set->strict)
			assert_true(c->strict);
	}
}

/* A set of one that is not strict is only there when no set before it holds the counter; and no set
 * that is not strict holds a counter twice. */
static void check_no_waste(const struct unc_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct uncore_counter *c = &plan->counters[i];
		bool alone = (i == 0 || c[-1].group != c->group) &&
			     (i + 1 == plan->count || c[1].group != c->group);

		for (size_t j = 0; j < i && !c->strict; j++) {
			const struct uncore_counter *other = &plan->counters[j];

			if (same_counter(c, other)) {
				assert_false(alone && !other->strict);
				assert_true(other->group != c->group);
			}
		}
	}
}

/* Every counter of the plan serves somebody. */
static void check_all_used(const struct unc_plan *plan, const struct ask *a)
{
	bool *used = calloc(plan->count + 1, sizeof(*used));

	assert_non_null(used);
	for (size_t i = 0; i < a->count; i++)
		for (size_t k = 0; k < a->sets[i].count; k++)
			used[a->sets[i].requests[k].counter] = true;
	for (size_t i = 0; i < plan->count; i++)
		assert_true(used[i]);
	free(used);
}

static void all_random_sets_have_counters(void **state)
{
	uint64_t seed = UINT64_C(0x9e3779b97f4a7c15);

	(void)state;
	for (int round = 0; round < 400; round++) {
		struct ask a;
		struct unc_plan plan;

		ask_at_random(&a, &seed);
		plan = build(&a);
		check_order(&plan);
		for (size_t i = 0; i < a.count; i++)
			check_set(&plan, &a.sets[i]);
		check_no_waste(&plan);
		check_all_used(&plan, &a);
		unc_plan_finish(&plan);
	}
}

/* Wants that were planned before are planned again as if they were new. */
static void planning_does_not_depend_on_an_earlier_plan(void **state)
{
	struct ask a = {.count = 0};
	struct unc_plan plan;

	(void)state;
	ask(&a, "x");
	ask_together(&a, "ab");
	plan = build(&a);
	unc_plan_finish(&plan);
	assert_int_equal(plan.count, 0);
	unc_plan_finish(&plan);
	plan = build(&a);
	assert_plan(&plan, "ab x");
	plan.counters[0].why = strdup("a sentence that the plan frees");
	unc_plan_finish(&plan);
}

/* ---- rounds ----------------------------------------------------------------------------------- */

/* What metric number `query` needs on this PMU, which has a family. */
static struct unc_request_set *ask_metric(struct ask *a, size_t query, size_t pmu,
					  const char *codes)
{
	static const struct unc_family two = {.counters = 2}, all = {.counters = 0};
	struct unc_request_set *set = ask_on(a, pmu, 0);

	pmus[pmu].family = pmu < 3 ? &two : &all;
	set->query = query;
	for (const char *c = codes; *c; c++)
		set->requests[set->count++] = request((uint64_t)*c);
	return set;
}

static void a_metric_is_in_the_first_round_with_room(void **state)
{
	struct ask a = {.count = 0};
	struct unc_plan plan;

	(void)state;
	ask_metric(&a, 1, 0, "ab");
	ask_metric(&a, 2, 0, "bc");  /* three with the first */
	ask_metric(&a, 3, 0, "b");   /* the first has it */
	ask_metric(&a, 4, 0, "xyz"); /* more than there are: alone */
	ask_metric(&a, 5, 0, "x");
	assert_int_equal(unc_plan_rounds(a.sets, a.count, 5), 0);
	assert_int_equal(a.sets[0].round, 0);
	assert_int_equal(a.sets[1].round, 1);
	assert_int_equal(a.sets[2].round, 0);
	assert_int_equal(a.sets[3].round, 2);
	assert_int_equal(a.sets[4].round, 3);
	plan = build(&a);
	assert_int_equal(plan.round_count, 4);
	assert_plan(&plan, "a b b c x y z x");
	unc_plan_finish(&plan);
}

/* PMU 1 has no room for the second beside the first, so PMUs 0 and 2 wait, too. */
static void a_metric_is_in_one_round_on_all_its_pmus(void **state)
{
	struct ask a = {.count = 0};

	(void)state;
	for (size_t pmu = 0; pmu < 3; pmu++)
		ask_metric(&a, 1, pmu, pmu == 1 ? "ab" : "a");
	for (size_t pmu = 0; pmu < 3; pmu++)
		ask_metric(&a, 2, pmu, "c");
	ask_metric(&a, 3, 2, "d");
	ask_metric(&a, 4, 3, "abcdefgh"); /* all at once */
	ask_metric(&a, 5, 3, "ijk");
	ask_on(&a, 0, 0)->count = 0;
	ask(&a, "e"); /* events are in the first */
	assert_int_equal(unc_plan_rounds(a.sets, a.count, 5), 0);
	for (size_t i = 0; i < a.count; i++)
		assert_int_equal(a.sets[i].round, i >= 3 && i < 6);
}

/* What plan_set() gives counters of its own takes them in its round, too. */
static void ratios_share_no_counters_and_events_leave_metrics_the_rest(void **state)
{
	struct ask a = {.count = 0}, b = {.count = 0};

	(void)state;
	ask_metric(&a, 1, 0, "a");
	ask_metric(&a, 2, 0, "a");
	a.sets[0].together = a.sets[1].together = true;
	ask_metric(&a, 3, 0, "ab");
	a.sets[2].together = true;
	ask_metric(&a, 4, 0, "bc"); /* of another pair */
	a.sets[3].together = true;
	assert_int_equal(unc_plan_rounds(a.sets, a.count, 4), 0);
	assert_int_equal(a.sets[1].round, 0);
	assert_int_equal(a.sets[2].round, 0);
	assert_int_equal(a.sets[3].round, 1);
	ask_metric(&b, 1, 0, "c");
	ask(&b, "ef");
	assert_int_equal(unc_plan_rounds(b.sets, b.count, 1), 0);
	assert_int_equal(b.sets[0].round, 1);
	assert_int_equal(b.sets[1].round, 0);
}

/* A metric of any sets, or a sum of any counts. */
static struct unc_request_set *ask_parts(struct ask *a, size_t query, size_t pmu, const char *codes,
					 bool sum)
{
	struct unc_request_set *set = ask_metric(a, query, pmu, codes);

	set->divisible = true;
	set->is_sum = sum;
	set->together = !sum;
	return set;
}

static void assert_rounds(const struct unc_request_set *set, const char *rounds)
{
	for (size_t k = 0; k < set->count; k++)
		assert_int_equal(set->requests[k].round, rounds[k] - '0');
}

static void a_sum_that_does_not_fit_is_counted_in_rounds(void **state)
{
	struct ask a = {.count = 0};
	struct unc_plan plan;

	(void)state;
	ask_parts(&a, 1, 0, "abc", true);
	ask_parts(&a, 1, 3, "abc", true); /* this PMU has room for all, and does as the other */
	ask_metric(&a, 2, 0, "d");
	ask_metric(&a, 3, 0, "ef");
	assert_int_equal(unc_plan_rounds(a.sets, a.count, 3), 0);
	assert_rounds(&a.sets[0], "001");
	assert_rounds(&a.sets[1], "001");
	assert_int_equal(a.sets[0].round, 1);
	assert_int_equal(a.sets[2].round, 1);
	assert_int_equal(a.sets[3].round, 2);
	plan = build(&a);
	assert_int_equal(plan.round_count, 3);
	assert_plan(&plan, "a b a b c d c e f");
	for (size_t i = 0; i < plan.count; i++)
		assert_int_equal(plan.counters[i].round, i < 4 ? 0 : i < 7 ? 1 : 2);
	for (size_t k = 0; k < 3; k++)
		assert_int_equal(a.sets[0].requests[k].counter, k < 2 ? k : 4);
	unc_plan_finish(&plan);
}

/* Root ports of one PMU: a quotient of each stays in one round. */
static void the_parts_of_a_quotient_are_counted_in_rounds(void **state)
{
	struct ask a = {.count = 0};

	(void)state;
	ask_parts(&a, 1, 0, "ab", false);
	ask_parts(&a, 1, 0, "cd", false);
	ask_parts(&a, 1, 0, "ab", false); /* shares counters with the first */
	assert_int_equal(unc_plan_rounds(a.sets, a.count, 1), 0);
	assert_int_equal(a.sets[0].round, 0);
	assert_int_equal(a.sets[1].round, 1);
	assert_int_equal(a.sets[2].round, 0);
	for (size_t i = 0; i < 3; i++)
		assert_rounds(&a.sets[i], i == 1 ? "11" : "00");
}

/* A difference is made of what was counted at one time; three events of a quotient cannot be. */
static void metrics_that_are_not_divided_into_rounds(void **state)
{
	struct ask a = {.count = 0}, b = {.count = 0}, c = {.count = 0};

	(void)state;
	ask_parts(&a, 1, 0, "abcd", true)->requests[1].subtracted = true;
	a.sets[0].requests[3].subtracted = true;
	assert_int_equal(unc_plan_rounds(a.sets, a.count, 1), 0);
	assert_rounds(&a.sets[0], "0011");
	ask_parts(&b, 1, 0, "abc", true)->requests[2].subtracted = true;
	assert_int_equal(unc_plan_rounds(b.sets, b.count, 1), 0);
	assert_rounds(&b.sets[0], "000");
	ask_parts(&c, 1, 0, "abc", false);
	assert_int_equal(unc_plan_rounds(c.sets, c.count, 1), 0);
	assert_rounds(&c.sets[0], "000");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_metric_is_in_the_first_round_with_room),
		cmocka_unit_test(a_metric_is_in_one_round_on_all_its_pmus),
		cmocka_unit_test(ratios_share_no_counters_and_events_leave_metrics_the_rest),
		cmocka_unit_test(a_sum_that_does_not_fit_is_counted_in_rounds),
		cmocka_unit_test(the_parts_of_a_quotient_are_counted_in_rounds),
		cmocka_unit_test(metrics_that_are_not_divided_into_rounds),
		cmocka_unit_test(nothing_requested),
		cmocka_unit_test(a_counter_is_as_requested),
		cmocka_unit_test(equal_counters_are_opened_once),
		cmocka_unit_test(different_requests_have_different_counters),
		cmocka_unit_test(the_events_of_a_ratio_share_a_set),
		cmocka_unit_test(events_of_ratios_also_serve_single_requests),
		cmocka_unit_test(a_part_of_a_larger_set_uses_its_counters),
		cmocka_unit_test(a_set_is_never_served_by_two_sets),
		cmocka_unit_test(an_event_twice_in_a_ratio_is_counted_once),
		cmocka_unit_test(a_strict_set_is_planned_as_written),
		cmocka_unit_test(strict_sets_and_ratios_do_not_share),
		cmocka_unit_test(equal_strict_sets_are_opened_once),
		cmocka_unit_test(a_single_event_uses_a_counter_of_a_strict_set),
		cmocka_unit_test(the_plan_is_ordered_by_cpu_pmu_and_set),
		cmocka_unit_test(a_large_machine_is_planned_quickly),
		cmocka_unit_test(all_random_sets_have_counters),
		cmocka_unit_test(planning_does_not_depend_on_an_earlier_plan),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
