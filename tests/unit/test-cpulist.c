/* SPDX-License-Identifier: MIT */
/* The kernel's CPU lists. */
#include "base/text.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void parse_gives_ids_in_order(void **state)
{
	static const struct {
		const char *text;
		int ids[8];
		size_t count;
	} cases[] = {
		{"", {0}, 0},
		{"0", {0}, 1},
		{"0-3", {0, 1, 2, 3}, 4},
		{"0-2,8", {0, 1, 2, 8}, 4},
		{"8,0-2", {0, 1, 2, 8}, 4},
		{"1-3,2-4,3", {1, 2, 3, 4}, 4},
		{"5-5", {5}, 1},
		{"63,64,65535", {63, 64, 65535}, 3},
		{"007", {7}, 1},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct unc_cpulist list;

		assert_int_equal(unc_cpulist_parse(cases[i].text, &list), 0);
		assert_int_equal(list.count, cases[i].count);
		for (size_t k = 0; k < list.count; k++)
			assert_int_equal(list.ids[k], cases[i].ids[k]);
		unc_cpulist_finish(&list);
	}
}

static void parse_refuses_other_texts(void **state)
{
	static const char *const cases[] = {
		"a",  "-1",    "1-",  "3-1",   "1,",  ",1",      "1,,2", " 1",
		"1 ", "1-2-3", "0x1", "65536", "1;2", "0-65536", "\n",   "99999999999999999999",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct unc_cpulist list = {.count = 77};

		assert_int_equal(unc_cpulist_parse(cases[i], &list), -EINVAL);
		assert_int_equal(list.count, 77);
	}
}

/* As bitmap_print_to_pagebuf() of the kernel writes them. */
static void masks_begin_with_the_highest(void **state)
{
	static const struct {
		const char *text, *list;
	} cases[] = {
		{"1", "0"},
		{"f0", "4-7"},
		{"00000000", ""},
		{"00000001,ffffffff", "0-32"},
		{"8,00000000,80000001", "0,31,67"},
		{"FFFF", "0-15"},
	};
	static const char *const bad[] = {"",    ",",   "1,", ",1", "123456789",
					  "0x1", "1;2", "1 ", "g"};
	char most[2049 * 2];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct unc_cpulist list, expected;

		assert_int_equal(unc_cpumap_parse(cases[i].text, &list), 0);
		assert_int_equal(unc_cpulist_parse(cases[i].list, &expected), 0);
		assert_int_equal(list.count, expected.count);
		assert_true(!list.count ||
			    memcmp(list.ids, expected.ids, list.count * sizeof(int)) == 0);
		unc_cpulist_finish(&list);
		unc_cpulist_finish(&expected);
	}
	memset(most, ',', sizeof(most));
	for (size_t i = 0; i < sizeof(most); i += 2)
		most[i] = '0';
	most[sizeof(most) - 1] = '\0';
	for (size_t i = 0; i < COUNT(bad) + 1; i++) {
		struct unc_cpulist list = {.count = 77};

		assert_int_equal(unc_cpumap_parse(i < COUNT(bad) ? bad[i] : most, &list), -EINVAL);
		assert_int_equal(list.count, 77);
	}
}

static void has_is_true_for_members_only(void **state)
{
	struct unc_cpulist list, empty = {0};

	(void)state;
	assert_int_equal(unc_cpulist_parse("1,3-4,900", &list), 0);
	for (int cpu = -1; cpu < 1000; cpu++)
		assert_int_equal(unc_cpulist_has(&list, cpu),
				 cpu == 1 || cpu == 3 || cpu == 4 || cpu == 900);
	assert_false(unc_cpulist_has(&empty, 0));
	unc_cpulist_finish(&list);
	assert_null(list.ids);
	assert_int_equal(list.count, 0);
	unc_cpulist_finish(&list);
}

static void parse_takes_the_longest_list(void **state)
{
	struct unc_cpulist list;

	(void)state;
	assert_int_equal(unc_cpulist_parse("0-65535", &list), 0);
	assert_int_equal(list.count, 65536);
	assert_int_equal(list.ids[65535], 65535);
	unc_cpulist_finish(&list);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse_gives_ids_in_order),
		cmocka_unit_test(parse_refuses_other_texts),
		cmocka_unit_test(masks_begin_with_the_highest),
		cmocka_unit_test(has_is_true_for_members_only),
		cmocka_unit_test(parse_takes_the_longest_list),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
