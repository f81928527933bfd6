/* SPDX-License-Identifier: MIT */
/* Packing counters into groups, on hardware made up for each test. */
#include "machine/pmu.h"
#include "source/kernel/perf.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNTERS_MAX 600
#define FD_BASE 100

/* Events whose first configuration word is one of these are special. */
enum { GOOD, BAD, BAD_AS_MEMBER, DENIED };

struct fake {
	size_t room;    /* counters that the hardware has for a group */
	bool unchecked; /* the driver takes any group, and a too large one never runs */
	size_t files;   /* descriptors that can be had; 0: any number */
	size_t live, opens, trials;
	struct {
		bool open;
		int leader;
		const struct uncore_counter *counter;
	} slots[COUNTERS_MAX];
};

static size_t members_of(const struct fake *f, int leader)
{
	size_t n = 0;

	for (size_t i = 0; i < COUNTERS_MAX; i++)
		n += f->slots[i].open && f->slots[i].leader == leader;
	return n;
}

static int fake_refusal(const struct fake *f, const struct uncore_counter *c, int leader)
{
	switch (c->config[0]) {
	case BAD:
		return -EINVAL;
	case BAD_AS_MEMBER:
		return leader < 0 ? 0 : -EINVAL;
	case DENIED:
		return -EACCES;
	default:
		break;
	}
	if (leader < 0)
		return 0;
	assert_true(f->slots[leader - FD_BASE].open);
	assert_ptr_equal(f->slots[leader - FD_BASE].counter->pmu, c->pmu);
	assert_int_equal(f->slots[leader - FD_BASE].counter->cpu, c->cpu);
	return !f->unchecked && members_of(f, leader) >= f->room ? -EINVAL : 0;
}

static int fake_open(void *ctx, const struct uncore_counter *c, int leader, uint32_t modifiers)
{
	struct fake *f = ctx;
	int err = fake_refusal(f, c, leader);

	(void)modifiers;
	if (f->files != 0 && f->live >= f->files)
		return -EMFILE;
	if (err < 0)
		return err;
	for (int i = 0; i < COUNTERS_MAX; i++) {
		if (f->slots[i].open)
			continue;
		f->slots[i].open = true;
		f->slots[i].leader = leader < 0 ? FD_BASE + i : leader;
		f->slots[i].counter = c;
		f->live++;
		f->opens++;
		return FD_BASE + i;
	}
	return -EMFILE;
}

static void fake_close(void *ctx, int fd)
{
	struct fake *f = ctx;

	assert_true(f->slots[fd - FD_BASE].open);
	f->slots[fd - FD_BASE].open = false;
	f->live--;
}

static bool fake_runs(void *ctx, const struct unc_group *g)
{
	struct fake *f = ctx;

	f->trials++;
	return members_of(f, g->leader) <= f->room;
}

static void fake_why(void *ctx, const struct uncore_counter *c, int err, struct unc_error *e)
{
	(void)ctx;
	unc_fail(e, -err, "why %s %d", c->event, err);
}

/* ---- plans --------------------------------------------------------------------------------- */

static struct uncore_pmu pmus[2] = {{.name = (char *)"box_0"}, {.name = (char *)"box_1"}};

struct bench {
	struct fake hardware;
	struct unc_opener opener;
	struct uncore_counter plan[COUNTERS_MAX];
	size_t count, sets;
	struct unc_groups groups;
	struct unc_names notes;
	struct unc_error e;
};

static int set_up(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	if (!b)
		return -1;
	b->hardware.room = 4;
	b->opener = (struct unc_opener){fake_open, fake_close, fake_runs, fake_why, &b->hardware};
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;
	size_t left;

	unc_groups_finish(&b->groups, &b->opener);
	left = b->hardware.live;
	for (size_t i = 0; i < b->count; i++)
		free((void *)b->plan[i].why);
	unc_names_finish(&b->notes);
	free(b);
	return left == 0 ? 0 : -1; /* a descriptor was left open */
}

/* One set on a PMU; each character is a counter: g(ood), b(ad), m (bad as member), d(enied). */
static void add_set_on(struct bench *b, size_t pmu, const char *events)
{
	static const char names[] = "gbmd";

	for (const char *c = events; *c; c++) {
		b->plan[b->count] = (struct uncore_counter){
			.pmu = &pmus[pmu],
			.event = "event",
			.config = {(uint64_t)(strchr(names, *c) - names), b->count},
			.group = b->sets,
		};
		b->count++;
	}
	b->sets++;
}

static void add_set(struct bench *b, const char *events)
{
	add_set_on(b, 0, events);
}

static int open_all(struct bench *b)
{
	return unc_groups_open(&b->groups, b->plan, b->count, &b->opener, &b->notes, &b->e);
}

/* Members of each group: "4 2". */
static const char *shape(const struct bench *b)
{
	static char text[256];
	struct unc_text t = {0};

	for (size_t g = 0; g < b->groups.count; g++)
		unc_text_add(&t, "%s%zu", g ? " " : "", b->groups.items[g].members);
	snprintf(text, sizeof(text), "%s", t.data ? t.data : "");
	unc_text_finish(&t);
	return text;
}

/* ---- tests --------------------------------------------------------------------------------- */

static void single_events_fill_groups(void **state)
{
	struct bench *b = *state;

	for (int i = 0; i < 6; i++)
		add_set(b, "g");
	assert_int_equal(open_all(b), 0);
	assert_string_equal(shape(b), "4 2");
	assert_int_equal(b->notes.count, 0);
}

static void sets_stay_whole(void **state)
{
	struct bench *b = *state;

	add_set(b, "ggg");
	add_set(b, "gg");
	add_set(b, "gg");
	add_set_on(b, 1, "g");
	assert_int_equal(open_all(b), 0);
	assert_string_equal(shape(b), "3 4 1");
	assert_int_equal(b->groups.items[1].first, 3);
	assert_int_equal(b->groups.items[1].end, 7);
}

/* Three ratios over the one clock that the hardware has, in four counters. */
static void equal_counters_of_one_group_are_opened_once(void **state)
{
	struct bench *b = *state;

	for (size_t i = 0; i < 3; i++) {
		add_set(b, "gg");
		b->plan[2 * i + 1].config[1] = 1;
	}
	assert_int_equal(open_all(b), 0);
	assert_int_equal(b->groups.count, 1);
	assert_int_equal(b->groups.items[0].members, 4);
	assert_int_equal(b->hardware.live, 4);
	assert_int_equal(b->groups.shares[1], UNC_SHARES_NONE);
	assert_int_equal(b->groups.shares[3], 1);
	assert_int_equal(b->groups.shares[5], 1);
	assert_int_equal(b->groups.fds[3], -1);
}

/* A set that must go into another group brings its own clock. */
static void equal_counters_of_two_groups_are_opened_twice(void **state)
{
	struct bench *b = *state;

	add_set(b, "ggg");
	add_set(b, "ggg");
	b->plan[5].config[1] = 2;
	assert_int_equal(open_all(b), 0);
	assert_int_equal(b->groups.count, 2);
	assert_int_equal(b->hardware.live, 6);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(b->groups.shares[i], UNC_SHARES_NONE);
}

static void strict_set_that_does_not_fit_is_an_error(void **state)
{
	struct bench *b = *state;

	add_set(b, "g");
	add_set(b, "ggggg");
	for (size_t i = 1; i < 6; i++)
		b->plan[i].strict = true;
	assert_int_equal(open_all(b), -EINVAL);
	assert_non_null(strstr(b->e.text, "does not fit"));
	assert_non_null(strstr(b->e.text, "box_0"));
	assert_int_equal(b->hardware.live, 0);
}

static void other_set_that_does_not_fit_is_split_with_one_note(void **state)
{
	struct bench *b = *state;

	add_set(b, "ggggg");
	add_set(b, "gg");
	add_set_on(b, 1, "ggggg");
	assert_int_equal(open_all(b), 0);
	assert_string_equal(shape(b), "1 1 1 1 1 2 1 1 1 1 1");
	assert_int_equal(b->notes.count, 1);
	assert_non_null(strstr(b->notes.items[0], "do not fit into one group"));
}

static void bad_event_keeps_its_own_error(void **state)
{
	struct bench *b = *state;

	add_set(b, "b");
	add_set(b, "g");
	add_set(b, "gbg");
	b->plan[3].strict = true;
	assert_int_equal(open_all(b), 0);
	assert_int_equal(b->plan[0].error, -EINVAL);
	assert_string_equal(b->plan[0].why, "why event -22");
	assert_int_equal(b->plan[1].error, 0);
	assert_int_equal(b->plan[3].error, -EINVAL);
	assert_int_equal(b->groups.fds[3], -1);
	assert_int_equal(b->plan[4].error, 0);
	assert_string_equal(shape(b), "1 2");
	assert_int_equal(b->notes.count, 0);
}

/* Some drivers look at a filter only when an event joins others: such an event must not take the
 * good ones with it. */
static void event_refused_beside_others_gets_its_own_group(void **state)
{
	struct bench *b = *state;

	add_set(b, "g");
	add_set(b, "m");
	add_set(b, "g");
	assert_int_equal(open_all(b), 0);
	assert_string_equal(shape(b), "1 2");
	assert_int_equal(b->plan[1].error, 0);
}

static void permission_at_first_ends_it(void **state)
{
	struct bench *b = *state;

	add_set(b, "b");
	add_set(b, "d");
	add_set(b, "g");
	assert_int_equal(open_all(b), -EACCES);
	assert_string_equal(b->e.text, "why event -13");
	assert_int_equal(b->hardware.opens, 0);
}

/* Rounds before it have counted something. */
static void permission_in_a_later_round_is_the_counters_own(void **state)
{
	struct bench *b = *state;

	add_set(b, "d");
	add_set(b, "g");
	b->plan[0].round = b->plan[1].round = 1;
	assert_int_equal(open_all(b), 0);
	assert_int_equal(b->plan[0].error, -EACCES);
	assert_int_equal(b->plan[1].error, 0);
}

static void permission_later_is_the_counters_own(void **state)
{
	struct bench *b = *state;

	add_set(b, "g");
	add_set(b, "d");
	assert_int_equal(open_all(b), 0);
	assert_int_equal(b->plan[1].error, -EACCES);
}

static void out_of_files_ends_it(void **state)
{
	struct bench *b = *state;

	b->hardware.files = 9;
	for (int i = 0; i < 12; i++)
		add_set(b, "g");
	assert_int_equal(open_all(b), -EMFILE);
	assert_int_equal(b->hardware.live, 0);
	assert_null(b->groups.items);
}

static void merged_group_that_never_runs_is_dissolved(void **state)
{
	struct bench *b = *state;

	b->hardware.unchecked = true;
	add_set(b, "gg");
	add_set(b, "gg");
	add_set(b, "b");
	add_set(b, "g");
	add_set_on(b, 1, "gggg");
	add_set_on(b, 1, "g");
	assert_int_equal(open_all(b), 0);
	/* The order within a PMU is free, the PMUs follow each other. */
	assert_int_equal(b->groups.count, 5);
	for (size_t g = 0; g < b->groups.count; g++)
		assert_int_equal(b->groups.items[g].sets, 1);
	assert_int_equal(b->hardware.live, 10);
	assert_int_equal(b->hardware.trials, 2);
}

static void what_fits_needs_no_dissolving(void **state)
{
	struct bench *b = *state;

	add_set(b, "gg");
	add_set(b, "gg");
	add_set_on(b, 1, "gggg");
	assert_int_equal(open_all(b), 0);
	assert_string_equal(shape(b), "4 4");
	assert_int_equal(b->hardware.trials, 1); /* one set alone needs no trial */
}

static void pinned_and_exclusive_share_with_nobody(void **state)
{
	struct bench *b = *state;

	add_set(b, "g");
	add_set(b, "g");
	add_set(b, "g");
	add_set(b, "g");
	b->plan[1].modifiers = UNC_MOD_PINNED;
	b->plan[2].modifiers = UNC_MOD_EXCLUSIVE;
	assert_int_equal(open_all(b), 0);
	assert_string_equal(shape(b), "1 1 1 1");
}

static void groups_do_not_grow_without_bound(void **state)
{
	struct bench *b = *state;

	b->hardware.room = COUNTERS_MAX;
	for (int i = 0; i < 150; i++)
		add_set(b, "g");
	assert_int_equal(open_all(b), 0);
	assert_string_equal(shape(b), "64 64 22");
}

/* Every counter that can be had is in exactly one group, and no group is too large. */
static void check_consistent(const struct bench *b)
{
	size_t members = 0, opened = 0;

	for (size_t i = 0; i < b->count; i++) {
		bool bad = b->plan[i].config[0] == BAD || b->plan[i].config[0] == DENIED;

		assert_int_equal(b->plan[i].error != 0, bad);
		assert_int_equal(b->groups.fds[i] < 0, bad);
		opened += !bad;
	}
	for (size_t g = 0; g < b->groups.count; g++) {
		const struct unc_group *group = &b->groups.items[g];
		size_t in_range = 0;

		for (size_t i = group->first; i < group->end; i++)
			in_range += b->groups.fds[i] >= 0;
		assert_int_equal(in_range, group->members);
		assert_int_equal(members_of(&b->hardware, group->leader), group->members);
		assert_true(group->members >= 1 && group->members <= b->hardware.room);
		members += group->members;
	}
	assert_int_equal(members, opened);
	assert_int_equal(b->hardware.live, opened);
}

static void random_plans_are_packed_consistently(void **state)
{
	static const char *const sets[] = {"g", "gg", "gggg", "ggggg", "b", "gb", "bg", "gmg", "m"};
	unsigned random = 1;

	(void)state;
	for (int round = 0; round < 300; round++) {
		void *own = NULL;
		struct bench *b;

		assert_int_equal(set_up(&own), 0);
		b = own;
		b->hardware.unchecked = round % 3 == 2;
		add_set(b, "g");
		for (int k = 0; k < 20; k++) {
			random = random * 1103515245u + 12345u;
			/* Without a check a set too large for the hardware is not noticed. */
			add_set_on(b, k >= 10,
				   sets[(random >> 16) % (b->hardware.unchecked ? 3 : 9)]);
		}
		assert_int_equal(open_all(b), 0);
		check_consistent(b);
		assert_int_equal(tear_down(&own), 0);
	}
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(single_events_fill_groups),
		T(sets_stay_whole),
		T(equal_counters_of_one_group_are_opened_once),
		T(equal_counters_of_two_groups_are_opened_twice),
		T(strict_set_that_does_not_fit_is_an_error),
		T(other_set_that_does_not_fit_is_split_with_one_note),
		T(bad_event_keeps_its_own_error),
		T(event_refused_beside_others_gets_its_own_group),
		T(permission_at_first_ends_it),
		T(permission_in_a_later_round_is_the_counters_own),
		T(permission_later_is_the_counters_own),
		T(out_of_files_ends_it),
		T(merged_group_that_never_runs_is_dissolved),
		T(what_fits_needs_no_dissolving),
		T(pinned_and_exclusive_share_with_nobody),
		T(groups_do_not_grow_without_bound),
		cmocka_unit_test(random_plans_are_packed_consistently),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
