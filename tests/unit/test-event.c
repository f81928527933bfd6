/* SPDX-License-Identifier: MIT */
/* perf's event syntax. */
#include "machine/pmu.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void one_event(void **state)
{
	static const struct {
		const char *list, *text, *pmu, *terms;
		uint32_t modifiers;
	} cases[] = {
		{"msr/tsc/", "msr/tsc/", "msr", "tsc", 0},
		{" msr/tsc/ ", "msr/tsc/", "msr", "tsc", 0},
		{"uncore_imc/event=0x4,umask=3/", "uncore_imc/event=0x4,umask=3/", "uncore_imc",
		 "event=0x4,umask=3", 0},
		{"uncore_imc_*/cas_count_read/", "uncore_imc_*/cas_count_read/", "uncore_imc_*",
		 "cas_count_read", 0},
		{"uncore_imc_[0-3]/x/", "uncore_imc_[0-3]/x/", "uncore_imc_[0-3]", "x", 0},
		{"cxl_pmu_mem0.0/clock_ticks/", "cxl_pmu_mem0.0/clock_ticks/", "cxl_pmu_mem0.0",
		 "clock_ticks", 0},
		{"a/b, c = 1/", "a/b, c = 1/", "a", "b, c = 1", 0},
		{"a/b/u", "a/b/u", "a", "b", UNC_MOD_USER},
		{"a/b/:k", "a/b/:k", "a", "b", UNC_MOD_KERNEL},
		{"a/b/hIGHDeWSb", "a/b/hIGHDeWSb", "a", "b",
		 UNC_MOD_HV | UNC_MOD_NO_IDLE | UNC_MOD_GUEST | UNC_MOD_HOST | UNC_MOD_PINNED |
			 UNC_MOD_EXCLUSIVE | UNC_MOD_WEAK | UNC_MOD_SAMPLE_READ | UNC_MOD_BPF},
		{"a/b/ppP", "a/b/ppP", "a", "b", UNC_MOD_PRECISE},
		{"a//", "a//", "a", "", 0},
		{"a:b/c/", "a:b/c/", "a:b", "c", 0},
		{"cas_count_read", "cas_count_read", NULL, "cas_count_read", 0},
		{"LLC-loads.x:uk", "LLC-loads.x:uk", NULL, "LLC-loads.x",
		 UNC_MOD_USER | UNC_MOD_KERNEL},
		{"a/event=1,name='x, y/z'/D", "a/event=1,name='x, y/z'/D", "a",
		 "event=1,name='x, y/z'", UNC_MOD_PINNED},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct unc_error e = {0};
		struct unc_events list = {0};

		if (unc_events_parse(cases[i].list, &list, &e))
			fail_msg("%s", e.text);
		assert_int_equal(list.count, 1);
		assert_string_equal(list.items[0].text, cases[i].text);
		if (cases[i].pmu)
			assert_string_equal(list.items[0].pmu, cases[i].pmu);
		else
			assert_null(list.items[0].pmu);
		assert_string_equal(list.items[0].terms, cases[i].terms);
		assert_int_equal(list.items[0].modifiers, cases[i].modifiers);
		assert_int_equal(list.items[0].group, -1);
		assert_int_equal(list.group_count, 0);
		unc_events_finish(&list);
	}
}

static void lists_and_groups(void **state)
{
	static const struct {
		const char *text, *terms;
		uint32_t modifiers;
		int group;
		size_t pos;
	} want[] = {
		{"a/x,y/u", "x,y", UNC_MOD_USER, -1, 0},
		{"b/z/k", "z", UNC_MOD_KERNEL | UNC_MOD_WEAK | UNC_MOD_PINNED, 0, 12},
		{"c", "c", UNC_MOD_WEAK | UNC_MOD_PINNED, 0, 18},
		{"d", "d", 0, 1, 27},
		{"e", "e", 0, -1, 30},
	};
	struct unc_events list;

	(void)state;
	assert_int_equal(unc_events_parse("a/x,y/u , { b/z/k,c }:WD,\n{d},e", &list, NULL), 0);
	assert_int_equal(list.count, COUNT(want));
	assert_int_equal(list.group_count, 2);
	for (size_t i = 0; i < COUNT(want); i++) {
		assert_string_equal(list.items[i].text, want[i].text);
		assert_string_equal(list.items[i].terms, want[i].terms);
		assert_int_equal(list.items[i].modifiers, want[i].modifiers);
		assert_int_equal(list.items[i].group, want[i].group);
		assert_int_equal(list.items[i].pos, want[i].pos);
	}
	unc_events_finish(&list);
	assert_int_equal(list.count, 0);
	unc_events_finish(&list);
}

static const struct {
	const char *list;
	size_t column; /* 0: none is said */
	const char *says;
} mistakes[] = {
	{"", 0, "the event list is empty"},
	{" \n", 0, "the event list is empty"},
	{"msr/tsc", 8, "the closing slash is missing: write msr/tsc/"},
	{"msr/tsc,a/c/", 11, "lack its closing slash"},
	{"{}", 2, "a group needs at least one event"},
	{"{ }", 3, "a group needs at least one event"},
	{"{a,{b}}", 4, "a group cannot be part of a group"},
	{"a,", 3, "expected an event"},
	{",a", 1, "expected an event"},
	{"a,,b", 3, "expected an event"},
	{"{a,}", 4, "expected an event"},
	{"{,a}", 2, "expected an event"},
	{"/b/", 1, "expected an event"},
	{"{a,b", 1, "this '{' is not closed"},
	{"{a b}", 4, "expected a comma or '}'"},
	{"a}", 2, "expected a comma or the end"},
	{"a b", 3, "expected a comma or the end"},
	{"a/b/ c", 6, "expected a comma or the end"},
	{"{a}{b}", 4, "expected a comma before '{'"},
	{"{a}b", 4, "expected a comma"},
	{"a:", 3, "expected modifiers after ':'"},
	{"a/b/:", 6, "expected modifiers after ':'"},
	{"{a}:", 5, "expected modifiers after ':'"},
	{"a/b/Z", 5, "modifiers (some of ukhIGHDeWSbpP)"},
	{"a/b/uZ", 6, "modifiers (some of ukhIGHDeWSbpP)"},
	{"a/b/:uZ", 7, "expected modifiers, some of ukhIGHDeWSbpP"},
	{"a/b/uu", 6, "the modifier 'u' is given twice"},
	{"event=3", 6, "terms need a PMU"},
	{"a'b'/c/", 2, "cannot be part of a name"},
	{"a\001/c/", 2, "cannot be part of a name"},
	{"a/name='x/", 11, "a closing quotation mark is missing"},
	{"{a/b}", 6, "the closing slash is missing"},
};

static void mistakes_are_shown(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(mistakes); i++) {
		struct unc_events list = {.count = 5};
		const char *text = mistakes[i].list;
		struct unc_error e = {0};
		char column[40];

		assert_int_equal(unc_events_parse(text, &list, &e), -EINVAL);
		assert_int_equal(list.count, 5);
		if (!strstr(e.text, mistakes[i].says))
			fail_msg("'%s': %s", text, e.text);
		snprintf(column, sizeof(column), "column %zu:", mistakes[i].column);
		if (mistakes[i].column && !strstr(e.text, column))
			fail_msg("'%s': not %s %s", text, column, e.text);
		assert_int_equal(unc_events_parse(text, &list, NULL), -EINVAL);
	}
}

/* The character above the mark, in a sentence that must have one. */
static char marked(const struct unc_error *e)
{
	const char *shown = strchr(e->text, '\n'), *line, *mark;

	assert_non_null(shown);
	shown++;
	line = strchr(shown, '\n');
	assert_non_null(line);
	line++;
	mark = strchr(line, '^');
	assert_non_null(mark);
	assert_true(strlen(shown) < 200);
	return shown[mark - line];
}

/* Also when only a part of a long list is shown. */
static void the_mark_is_below_the_mistake(void **state)
{
	struct unc_events list;
	struct unc_error e;
	char text[400];

	(void)state;
	memset(text, 'a', sizeof(text));
	text[399] = '\0';
	for (size_t at = 398; at > 0; at -= 7) {
		text[at] = '=';
		assert_int_equal(unc_events_parse(text, &list, &e), -EINVAL);
		assert_int_equal(marked(&e), '=');
		if (at < 7)
			break;
	}
}

static void the_number_of_events_is_limited(void **state)
{
	size_t len = (size_t)2 * 4096;
	char *text = malloc(len + 2);
	struct unc_events list;
	struct unc_error e;

	(void)state;
	assert_non_null(text);
	for (size_t i = 0; i < len; i += 2)
		memcpy(text + i, "a,", 2);
	text[len - 1] = '\0';
	assert_int_equal(unc_events_parse(text, &list, &e), 0);
	assert_int_equal(list.count, 4096);
	unc_events_finish(&list);
	memcpy(text + len - 1, ",a", 3);
	assert_int_equal(unc_events_parse(text, &list, &e), -EINVAL);
	assert_non_null(strstr(e.text, "more than 4096 events"));
	free(text);
}

/* perf lets a group have a name. */
static void a_group_may_have_a_name(void **state)
{
	struct unc_events list;

	(void)state;
	assert_int_equal(unc_events_parse("a/b/,both{c/d/,e/f/}:W", &list, NULL), 0);
	assert_int_equal(list.count, 3);
	assert_int_equal(list.group_count, 1);
	assert_int_equal(list.items[0].group, -1);
	assert_int_equal(list.items[1].group, 0);
	assert_string_equal(list.items[1].text, "c/d/");
	assert_int_equal(list.items[2].group, 0);
	assert_int_equal(list.items[2].modifiers, UNC_MOD_WEAK);
	unc_events_finish(&list);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_event),
		cmocka_unit_test(a_group_may_have_a_name),
		cmocka_unit_test(lists_and_groups),
		cmocka_unit_test(mistakes_are_shown),
		cmocka_unit_test(the_mark_is_below_the_mistake),
		cmocka_unit_test(the_number_of_events_is_limited),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
