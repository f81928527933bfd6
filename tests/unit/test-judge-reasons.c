/* SPDX-License-Identifier: MIT */
/* From deltas to rows: which reason stays, and the room for it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "row-stage.h"

/* ---- several at once -------------------------------------------------------------------------- */

/* Event 's' is suspect, 'p' partial, 'm' merely scaled. */
static void add_by_letter(struct stage *s, const char *letter)
{
	struct stage_event *ev = add_event(s, letter);

	if (*letter == 'm') {
		add_counter(s, ev, shared(1, 10 * SECOND, 5 * SECOND));
		return;
	}
	add_counter(s, ev, counted(1, SECOND));
	add_counter(s, ev, (struct unc_delta){.state = *letter == 's' ? UNC_WENT_BACK : UNC_LOST});
}

static void the_worst_quality_wins_whatever_the_order(void **state)
{
	static const char *const orders[][3] = {
		{"m", "p", "s"}, {"s", "p", "m"}, {"p", "s", "m"}, {"m", "s", "p"}};

	(void)state;
	for (size_t i = 0; i < COUNT(orders); i++) {
		struct stage s;

		begin(&s, "m + p + s");
		for (size_t k = 0; k < 3; k++)
			add_by_letter(&s, orders[i][k]);
		evaluate(&s);
		assert_int_equal(s.judged.row.quality, UNCORE_SUSPECT);
		assert_contains(s.judged.row.reason, "1 of 2 left out: imc_0/s/");
		assert_close(s.judged.row.counted->coverage, 0.5); /* told all the same */
		end(&s);
	}
}

static void the_first_reason_of_equal_qualities_is_kept(void **state)
{
	struct stage s;

	(void)state;
	begin(&s, "a + b");
	for (int k = 0; k < 2; k++) {
		struct stage_event *ev = add_event(&s, k ? "b" : "a");

		add_counter(&s, ev, counted(1, SECOND));
		add_counter(&s, ev, (struct unc_delta){.state = UNC_LOST});
	}
	assert_contains(evaluate(&s)->reason, "imc_0/a/");
	end(&s);
}

/* What is missing is told beside a doubt; that the kernel multiplexed is not. */
static void a_doubt_beside_other_reasons(void **state)
{
	struct stage s;
	struct stage_event *ev;

	(void)state;
	begin(&s, "rd / seconds");
	s.metric.doubt = "half of it";
	ev = add_event(&s, "rd");
	add_counter(&s, ev, shared(100, SECOND, SECOND / 2));
	assert_string_equal(evaluate(&s)->reason, "half of it");
	add_counter(&s, ev, (struct unc_delta){.state = UNC_LOST, .why = "gone"});
	assert_contains(evaluate(&s)->reason, "half of it; ");
	assert_contains(s.judged.row.reason, "1 of 2 missing");
	end(&s);
}

/* Numbered from 1 on; a row of one round says nothing, and a worse reason comes first. */
static void parts_of_several_rounds(void **state)
{
	struct stage s;

	(void)state;
	begin(&s, "rd / seconds");
	add_counter(&s, add_event(&s, "rd"), counted(100, SECOND));
	s.planned.first_round = s.planned.round = 2;
	assert_null(evaluate(&s)->reason);
	s.planned.round = 4;
	assert_string_equal(evaluate(&s)->reason,
			    "its parts were counted one after another, in rounds 3 to 5");
	assert_int_equal(s.judged.row.quality, UNCORE_MEASURED);
	s.metric.doubt = "half of it";
	assert_string_equal(evaluate(&s)->reason, "half of it");
	end(&s);
}

/* ---- room for reasons ------------------------------------------------------------------------- */

static void a_long_reason_is_cut(void **state)
{
	struct stage s;
	char why[3000];
	struct uncore_counter *bad;

	(void)state;
	memset(why, 'x', sizeof(why) - 1);
	why[sizeof(why) - 1] = '\0';
	begin(&s, NULL);
	bad = add_counter(&s, add_event(&s, "rd"), (struct unc_delta){.state = UNC_NOT_OPEN});
	bad->why = why;
	bad->error = -EINVAL;
	evaluate(&s);
	assert_true(strlen(s.judged.row.reason) >= 100);
	assert_true(strlen(s.judged.row.reason) < UNC_REASON_ROOM);
	assert_int_equal(strspn(s.judged.row.reason, "x"), strlen(s.judged.row.reason));
	end(&s);
}

static void a_long_name_is_cut(void **state)
{
	char name[2000];
	struct stage s;

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	begin(&s, "wr");
	add_event(&s, name);
	assert_contains(evaluate(&s)->reason, "no PMU here counts 'nnn");
	assert_int_equal(strlen(s.judged.row.reason), UNC_REASON_ROOM - 1);
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_worst_quality_wins_whatever_the_order),
		cmocka_unit_test(the_first_reason_of_equal_qualities_is_kept),
		cmocka_unit_test(a_doubt_beside_other_reasons),
		cmocka_unit_test(parts_of_several_rounds),
		cmocka_unit_test(a_long_reason_is_cut),
		cmocka_unit_test(a_long_name_is_cut),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
