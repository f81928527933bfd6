/* SPDX-License-Identifier: MIT */
/* Formats of terms, values into bits, lists of assignments. */
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

/* The texts are the kernel's, the bits counted by hand. */
static void parse_knows_the_kernels_formats(void **state)
{
	static const struct {
		const char *text;
		int word;
		uint64_t bits;
	} cases[] = {
		{"config:0-7", 0, 0xff},
		{"config:18", 0, 0x40000},
		{"config:0-63", 0, UINT64_MAX},
		{"config:63", 0, 0x8000000000000000},
		{"config:0-32", 0, 0x1ffffffff},
		{"config1:8-23", 1, 0xffff00},
		{"config2:4", 2, 0x10},
		{"config3:0-63", 3, UINT64_MAX},
		{"config:0-7,21", 0, 0x2000ff},
		{"config:0-7,32-37", 0, 0x3f000000ff},
		{"config:8-15,24-27", 0, 0xf00ff00},
		{"config:8-15,32-63", 0, 0xffffffff0000ff00},
		{"config:8-15,32-43,45-55", 0, 0xffefff0000ff00},
		{"config:14-51", 0, 0xfffffffffc000},
		{"config:7-0", 0, 0xff},
		{"config:0-7,4-11", 0, 0xfff},
		{"config", 0, UINT64_MAX},
		{"config1", 1, UINT64_MAX},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint64_t bits = 0;
		int word = -1;

		assert_int_equal(unc_format_parse(cases[i].text, &word, &bits), 0);
		assert_int_equal(word, cases[i].word);
		assert_int_equal(bits, cases[i].bits);
	}
}

static void parse_refuses_other_texts(void **state)
{
	static const char *const cases[] = {
		"",
		"conf",
		"config:",
		"config:64",
		"config:0-64",
		"config4:0",
		"config0:0",
		"config12:0",
		"config:a",
		"config:1,",
		"config:,1",
		"config:1-",
		"config: 1",
		"config:1 ",
		"config:0x1",
		"config:1-2-3",
		"attr:0-7",
		" config:0",
		"config:-1",
		"Config:0",
		"config:99999999999999999999",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint64_t bits = 42;
		int word = 42;

		assert_int_equal(unc_format_parse(cases[i], &word, &bits), -EINVAL);
		assert_int_equal(word, 42);
		assert_int_equal(bits, 42);
	}
}

static void put_fills_from_the_lowest_bit(void **state)
{
	static const struct {
		uint64_t bits, value, before, after;
	} cases[] = {
		{0xff, 0xab, 0, 0xab},
		{0xff00, 0xab, 0xffff, 0xabff},
		{0x2000ff, 0x102, 0, 0x200002},          /* event of QPI */
		{0x3f000000ff, 0x1f4a, 0, 0x1f0000004a}, /* event of AMD's DF */
		{0xf00ff00, 0xffe, 0, 0xf00fe00},        /* umask of it */
		{0xffffffff0000ff00, 0xc817fe01, 0, 0xc817fe00000100},
		{0x40000, 1, 0, 0x40000},
		{0x40000, 0, 0x40001, 0x1},
		{UINT64_MAX, UINT64_MAX, 0, UINT64_MAX},
		{0x8000000000000000, 1, 7, 0x8000000000000007},
		{0xaaaaaaaaaaaaaaaa, 0xffffffff, 0, 0xaaaaaaaaaaaaaaaa},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint64_t word = cases[i].before;

		assert_int_equal(unc_format_put(cases[i].bits, cases[i].value, &word), 0);
		assert_int_equal(word, cases[i].after);
	}
}

static void put_refuses_values_that_are_too_wide(void **state)
{
	static const struct {
		uint64_t bits, value;
	} cases[] = {
		{0xff, 0x100}, {0x40000, 2}, {0x2000ff, 0x200}, {0x7fffffffffffffff, UINT64_MAX},
		{0, 1},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint64_t word = 0x1234;

		assert_int_equal(unc_format_put(cases[i].bits, cases[i].value, &word), -ERANGE);
		assert_int_equal(word, 0x1234);
	}
}

static void assignments_are_taken_one_by_one(void **state)
{
	const char *at = " event = 0x05,umask=0xcf , edge,lane=?,name='a, b/c'";
	static const struct unc_assignment want[] = {
		{"event", "0x05", true}, {"umask", "0xcf", true},  {"edge", "", false},
		{"lane", "?", true},     {"name", "a, b/c", true},
	};
	struct unc_assignment a;

	(void)state;
	for (size_t i = 0; i < COUNT(want); i++) {
		assert_int_equal(unc_assignment_next(&at, &a), 1);
		assert_string_equal(a.name, want[i].name);
		assert_string_equal(a.value, want[i].value);
		assert_int_equal(a.has_value, want[i].has_value);
	}
	assert_int_equal(unc_assignment_next(&at, &a), 0);
	assert_int_equal(unc_assignment_next(&at, &a), 0);
}

static void assignments_end_at_once_when_empty(void **state)
{
	const char *empty = "", *spaces = " \t\n";
	struct unc_assignment a;

	(void)state;
	assert_int_equal(unc_assignment_next(&empty, &a), 0);
	assert_int_equal(unc_assignment_next(&spaces, &a), 0);
}

static void assignments_refuse_other_texts(void **state)
{
	static const char *const cases[] = {
		",",     ",a",   "a,",   "a, ",    "=1",  "a=",    "a=,b", "a b",
		"a=1 2", "a='x", "a=''", "a='x'y", "a'b", "a=x'y", NULL,
	};

	(void)state;
	for (size_t i = 0; cases[i]; i++) {
		struct unc_assignment a = {.name = "old"};
		const char *at = cases[i];

		assert_int_equal(unc_assignment_next(&at, &a), -EINVAL);
		assert_string_equal(a.name, "old");
		assert_ptr_equal(at, cases[i]);
	}
}

static void assignments_have_a_longest_name_and_value(void **state)
{
	struct unc_assignment a;
	char text[300];
	const char *at = text;

	(void)state;
	memset(text, 'n', 63);
	strcpy(text + 63, "=1");
	assert_int_equal(unc_assignment_next(&at, &a), 1);
	assert_int_equal(strlen(a.name), 63);
	memset(text, 'n', 64);
	strcpy(text + 64, "=1");
	at = text;
	assert_int_equal(unc_assignment_next(&at, &a), -EINVAL);
	strcpy(text, "name=");
	memset(text + 5, 'v', 127);
	text[5 + 127] = '\0';
	at = text;
	assert_int_equal(unc_assignment_next(&at, &a), 1);
	assert_int_equal(strlen(a.value), 127);
	strcpy(text + 5 + 127, "v");
	at = text;
	assert_int_equal(unc_assignment_next(&at, &a), -EINVAL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse_knows_the_kernels_formats),
		cmocka_unit_test(parse_refuses_other_texts),
		cmocka_unit_test(put_fills_from_the_lowest_bit),
		cmocka_unit_test(put_refuses_values_that_are_too_wide),
		cmocka_unit_test(assignments_are_taken_one_by_one),
		cmocka_unit_test(assignments_end_at_once_when_empty),
		cmocka_unit_test(assignments_refuse_other_texts),
		cmocka_unit_test(assignments_have_a_longest_name_and_value),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
