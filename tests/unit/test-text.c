/* SPDX-License-Identifier: MIT */
/* Sentences of errors, growing text, lists of names, numbers, nearest names. */
#include "base/text.h"
#include "uncore.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void fail_writes_and_returns(void **state)
{
	struct unc_error e = {.text = "old"};

	(void)state;
	assert_int_equal(unc_fail(&e, EINVAL, "%s:%d", "file", 7), -EINVAL);
	assert_string_equal(e.text, "file:7");
	assert_int_equal(unc_fail(NULL, ENODEV, "%s", "lost"), -ENODEV);
	assert_int_equal(unc_nomem(&e), -ENOMEM);
	assert_string_equal(e.text, "out of memory");
}

static void fail_may_quote_the_sentence_it_replaces(void **state)
{
	struct unc_error e = {.text = "no such file"};

	(void)state;
	unc_fail(&e, ENOENT, "imc.yaml: %s", e.text);
	assert_string_equal(e.text, "imc.yaml: no such file");
}

static void append_adds_and_truncates(void **state)
{
	struct unc_error e = {.text = "a"};

	(void)state;
	unc_error_append(&e, " and %s", "b");
	assert_string_equal(e.text, "a and b");
	for (int i = 0; i < 500; i++)
		unc_error_append(&e, "%s", " 0123456789");
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
	unc_fail(&e, EINVAL, "%*s", 5000, "x");
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
	unc_error_append(NULL, "%s", "nothing to write to");
}

static void text_grows(void **state)
{
	struct unc_text t = {0};
	char *taken;

	(void)state;
	for (int i = 0; i < 1000; i++)
		unc_text_add(&t, "%d,", i);
	assert_false(t.failed);
	assert_int_equal(t.len, 10 * 2 + 90 * 3 + 900 * 4);
	assert_int_equal(strlen(t.data), t.len);
	taken = unc_text_take(&t);
	assert_int_equal(strncmp(taken, "0,1,2,", 6), 0);
	assert_string_equal(taken + strlen(taken) - 4, "999,");
	assert_null(t.data);
	assert_int_equal(t.len, 0);
	free(taken);
}

static void text_of_each_length(void **state)
{
	char want[300];

	(void)state;
	for (size_t len = 0; len < sizeof(want); len++) {
		struct unc_text t = {0};

		memset(want, 'x', len);
		want[len] = '\0';
		unc_text_add(&t, "%s", want);
		unc_text_add(&t, "%s", "");
		assert_int_equal(t.len, len);
		if (len)
			assert_string_equal(t.data, want);
		unc_text_finish(&t);
	}
}

static void text_empty_and_failed(void **state)
{
	struct unc_text t = {0};
	char *taken = unc_text_take(&t);

	(void)state;
	assert_string_equal(taken, "");
	free(taken);
	unc_text_add(&t, "%s", "kept");
	t.failed = true;
	unc_text_add(&t, "%s", " not added");
	assert_string_equal(t.data, "kept");
	assert_null(unc_text_take(&t));
	assert_false(t.failed);
	unc_text_finish(&t);
}

static void append_keeps_entries(void **state)
{
	int *items = NULL, *last;
	size_t count = 0;

	(void)state;
	for (int i = 0; i < 100; i++) {
		last = unc_append(&items, &count, sizeof(*items));
		assert_non_null(last);
		assert_int_equal(*last, 0);
		assert_ptr_equal(last, &items[i]);
		*last = i + 1;
	}
	assert_int_equal(count, 100);
	for (int i = 0; i < 100; i++)
		assert_int_equal(items[i], i + 1);
	free(items);
}

static void names_are_copied_found_sorted(void **state)
{
	struct unc_names n = {0};
	char name[16];

	(void)state;
	assert_false(unc_names_has(&n, "imc_0"));
	unc_names_sort(&n);
	for (int i = 30; i-- > 0;) {
		snprintf(name, sizeof(name), "imc_%d", i);
		assert_int_equal(unc_names_add(&n, name), 0);
	}
	assert_int_equal(n.count, 30);
	unc_names_sort(&n);
	assert_string_equal(n.items[2], "imc_2");
	assert_string_equal(n.items[10], "imc_10");
	assert_string_equal(n.items[29], "imc_29");
	assert_true(unc_names_has(&n, "imc_29"));
	assert_false(unc_names_has(&n, "imc_"));
	unc_names_finish(&n);
	assert_int_equal(n.count, 0);
	unc_names_finish(&n);
}

static void u64_accepts(void **state)
{
	static const struct {
		const char *text;
		uint64_t want;
	} cases[] = {
		{"0", 0},
		{"7", 7},
		{"010", 10},
		{"0x10", 16},
		{"0XfF", 255},
		{"18446744073709551615", UINT64_MAX},
		{"0xffffffffffffffff", UINT64_MAX},
		{"0x00000000000000000000001", 1},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint64_t got = 99;

		assert_int_equal(unc_parse_u64(cases[i].text, &got), 0);
		assert_true(got == cases[i].want);
	}
}

static void u64_refuses(void **state)
{
	static const struct {
		const char *text;
		int want;
	} cases[] = {
		{"", -EINVAL},
		{"0x", -EINVAL},
		{"-1", -EINVAL},
		{"+1", -EINVAL},
		{" 1", -EINVAL},
		{"1 ", -EINVAL},
		{"1a", -EINVAL},
		{"0xg", -EINVAL},
		{"0x-1", -EINVAL},
		{"1.0", -EINVAL},
		{"99999999999999999999x", -EINVAL},
		{"18446744073709551616", -ERANGE},
		{"0x10000000000000000", -ERANGE},
		{"99999999999999999999999999999999999999", -ERANGE},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint64_t got = 99;

		if (unc_parse_u64(cases[i].text, &got) != cases[i].want)
			fail_msg("'%s' is not refused as it should be", cases[i].text);
		assert_int_equal(got, 99);
	}
}

static void double_accepts(void **state)
{
	static const struct {
		const char *text;
		double want;
	} cases[] = {
		{"0", 0},
		{"64", 64},
		{"0.5", 0.5},
		{".5", 0.5},
		{"5.", 5},
		{"-2", -2},
		{"+2", 2},
		{"1e9", 1e9},
		{"1E-3", 1e-3},
		{"1.5e+2", 150},
		{"007", 7},
		{"2.3283064365386962890625e-10", 0x1p-32},
		{"1.7976931348623157e308", 0x1.fffffffffffffp1023},
		{"2.2250738585072014e-308", 0x1p-1022},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		double got = 99;

		if (unc_parse_double(cases[i].text, &got) || got != cases[i].want)
			fail_msg("'%s' gives %.17g", cases[i].text, got);
	}
}

static void double_refuses(void **state)
{
	static const struct {
		const char *text;
		int want;
	} cases[] = {
		{"", -EINVAL},       {".", -EINVAL},      {"-", -EINVAL},     {"+-1", -EINVAL},
		{" 1", -EINVAL},     {"1 ", -EINVAL},     {"1,5", -EINVAL},   {"0x10", -EINVAL},
		{"0x1p3", -EINVAL},  {"inf", -EINVAL},    {"-inf", -EINVAL},  {"nan", -EINVAL},
		{"1e", -EINVAL},     {"1e+", -EINVAL},    {".e1", -EINVAL},   {"1.2.3", -EINVAL},
		{"1_000", -EINVAL},  {"1f", -EINVAL},     {"1e5e5", -EINVAL}, {"1e999", -ERANGE},
		{"-1e999", -ERANGE}, {"1e-999", -ERANGE},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		double got = 99;

		if (unc_parse_double(cases[i].text, &got) != cases[i].want)
			fail_msg("'%s' is not refused as it should be", cases[i].text);
		assert_true(got == 99);
	}
}

static void scan_stops_after_the_number(void **state)
{
	const char *text = "64*reads", *end = NULL;
	double got = 0;

	(void)state;
	assert_int_equal(unc_scan_double(text, &end, &got), 0);
	assert_true(got == 64);
	assert_ptr_equal(end, text + 2);
	assert_int_equal(unc_scan_double("1e3)", &end, &got), 0);
	assert_string_equal(end, ")");
	assert_int_equal(unc_scan_double("64reads", &end, &got), -EINVAL);
	assert_int_equal(unc_scan_double("-1", &end, &got), -EINVAL);
}

/* Needs a locale with a decimal comma; without one on the machine there is nothing to be seen. */
static void double_ignores_the_locale(void **state)
{
	static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
	const char *chosen = NULL;
	double got = 0;

	(void)state;
	for (size_t i = 0; i < COUNT(names) && !chosen; i++)
		chosen = setlocale(LC_ALL, names[i]);
	if (!chosen)
		return; /* not skip(): its "not ok # SKIP" would be taken for a failure */
	assert_string_equal(localeconv()->decimal_point, ",");
	assert_int_equal(unc_parse_double("0.5", &got), 0);
	assert_true(got == 0.5);
	assert_int_equal(unc_parse_double("0,5", &got), -EINVAL);
	setlocale(LC_ALL, "C");
}

static void check_suggestion(const char *wanted, const char *const *names, size_t count,
			     const char *want)
{
	struct unc_error e = {.text = "unknown"}, expected = {.text = "unknown"};

	if (*want)
		unc_error_append(&expected, " (did you mean %s?)", want);
	assert_int_equal(unc_error_suggest(&e, wanted, names, sizeof(*names), count),
			 *want != '\0');
	assert_string_equal(e.text, expected.text);
}

static void suggest_offers_near_names(void **state)
{
	static const char *const names[] = {
		"title",
		"unit",
		"formula",
		"evidence",
		"imc_10",
		"imc_2",
		"imc_1",
		"imc_0",
		"memory.read.bandwidth",
		"memory.write.bandwidth",
		"memory.read.latency",
		"imc_2",
		"imc_3",
	};
	static const struct {
		const char *wanted, *want;
	} cases[] = {
		{"tittle", "title"},
		{"TITLE", "title"},
		{"untI", "unit"},
		{"forumla", "formula"},
		{"imc_9", "imc_0, imc_1 or imc_2"},
		{"imc_20", "imc_0, imc_2 or imc_10"},
		{"memory.read.bandwith", "memory.read.bandwidth"},
		{"read", "memory.read.bandwidth or memory.read.latency"},
		{"evidense", "evidence"},
		{"power", ""},
		{"x", ""},
		{"", ""},
		{"counter_that_is_nowhere", ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		check_suggestion(cases[i].wanted, names, COUNT(names), cases[i].want);
	check_suggestion("title", names, 0, "");
}

static void suggest_survives_long_names(void **state)
{
	char longer[3000], other[3000];
	const char *names[] = {"short", longer};
	struct unc_error e = {0};

	(void)state;
	memset(longer, 'a', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	memset(other, 'b', sizeof(other) - 1);
	other[sizeof(other) - 1] = '\0';
	assert_true(unc_error_suggest(&e, longer, names, sizeof(*names), COUNT(names)));
	assert_int_equal(strncmp(e.text, " (did you mean aaa", 18), 0);
	assert_false(unc_error_suggest(&e, other, names, sizeof(*names), COUNT(names)));
}

static void trim_both_ends(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"", ""},     {"a", "a"},        {" \t\n\v\f\r", ""},
		{"a\n", "a"}, {"  a b ", "a b"}, {"\xa0x\xa0", "\xa0x\xa0"},
	};
	char text[16];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		snprintf(text, sizeof(text), "%s", cases[i].text);
		assert_string_equal(unc_trim(text), cases[i].want);
	}
}

static void value_of_a_key(void **state)
{
	static const char text[] = "vendor_id\t: X Y\nmodel name: m\nmodel\t\t: 143\n"
				   "DRIVER=nvme\nempty:\nlast= z";
	static const struct {
		const char *key, *value;
	} cases[] = {
		{"vendor_id", "X Y"}, {"model", "143"}, {"DRIVER", "nvme"},
		{"empty", ""},        {"last", "z"},
	};
	size_t len = 77;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *value = unc_find_value(text, cases[i].key, &len);

		assert_non_null(value);
		assert_int_equal(len, strlen(cases[i].value));
		assert_memory_equal(value, cases[i].value, len);
	}
	assert_null(unc_find_value(text, "name", &len));
	assert_null(unc_find_value(text, "nvme", &len));
	assert_null(unc_find_value("", "a", &len));
	assert_true(unc_has_word(" fpu vme\tde\nx", "vme") && unc_has_word("a", "a"));
	assert_true(unc_has_word(" fpu vme\tde\nx", "de"));
	assert_false(unc_has_word(" fpu vme\tde\nx", "x") || unc_has_word("fpu", "fp") ||
		     unc_has_word("", "") || unc_has_word("a b", ""));
}

/* No number lacks a text: glibc's function gives NULL for those it does not know. */
static void errno_text_is_never_null(void **state)
{
	static const int unknown[] = {99999, -99999, 41, -58};

	(void)state;
	assert_string_equal(unc_errno_text(ENOENT), "No such file or directory");
	assert_string_equal(unc_errno_text(-ENOENT), "No such file or directory");
	for (size_t i = 0; i < COUNT(unknown); i++)
		assert_string_equal(unc_errno_text(unknown[i]), "unknown error");
}

static void errno_names_are_symbols(void **state)
{
	(void)state;
	assert_string_equal(unc_errno_name(EINVAL), "EINVAL");
	assert_string_equal(unc_errno_name(-EOPNOTSUPP), "EOPNOTSUPP");
	assert_string_equal(unc_errno_name(99999), "an unknown error");
	assert_int_equal(unc_errno_number("EOPNOTSUPP"), -EOPNOTSUPP);
	assert_int_equal(unc_errno_number("EAGAIN"), -EAGAIN);
	assert_int_equal(unc_errno_number("E2BIG"), -E2BIG);
	assert_int_equal(unc_errno_number("EINVALID"), 0);
	assert_int_equal(unc_errno_number("an unknown error"), 0);
#if __GLIBC_PREREQ(2, 32)
	for (int err = 0; err < 4096; err++) {
		const char *name = strerrorname_np(err), *text = strerrordesc_np(err);

		assert_string_equal(unc_errno_name(err), name ? name : "an unknown error");
		assert_string_equal(unc_errno_text(err), text ? text : "unknown error");
	}
#endif
}

/* tolower() is a macro with blocks of its own. */
static char lower(int c)
{
	return (char)tolower(c);
}

static int expected_digit_value(int c)
{
	const char text[2] = {(char)c, '\0'};

	return isxdigit(c) ? (int)strtol(text, NULL, 16) : -1;
}

/* In the locale "C", in which tests start, <ctype.h> knows ASCII only. */
static void ascii_is_as_in_the_c_locale(void **state)
{
	(void)state;
	for (int i = 0; i < 256; i++) {
		char c = (char)i;

		assert_int_equal(unc_is_digit(c), isdigit(i) != 0);
		assert_int_equal(c && strchr(UNC_SPACES, c), isspace(i) != 0);
		assert_int_equal(unc_lower(c), lower(i));
		assert_int_equal(unc_digit_value(c), expected_digit_value(i));
	}
}

static void digits_are_taken_up_to_the_base_and_the_limit(void **state)
{
	static const struct {
		const char *text;
		unsigned base;
		size_t most, taken;
		uint64_t number;
	} cases[] = {
		{"12a", 10, 9, 2, 12},    {"12a", 16, 9, 3, 0x12a}, {"fF0", 16, 2, 2, 0xff},
		{"", 10, 9, 0, 0},        {"g1", 16, 9, 0, 0},      {"-1", 10, 9, 0, 0},
		{"0077x", 10, 19, 4, 77}, {"a", 10, 9, 0, 0},       {"9:", 10, 9, 1, 9},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *at = cases[i].text;
		uint64_t number = 99;

		assert_int_equal(unc_take_digits(&at, cases[i].base, cases[i].most, &number),
				 cases[i].taken);
		assert_int_equal(number, cases[i].number);
		assert_ptr_equal(at, cases[i].text + cases[i].taken);
	}
}

static void durations(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns; /* 0: refused */
		int err;
	} cases[] = {
		{"20ms", 20000000, 0},
		{"1s", 1000000000, 0},
		{"1.5s", 1500000000, 0},
		{".5s", 500000000, 0},
		{"500us", 500000, 0},
		{"500µs", 500000, 0},
		{"7ns", 7, 0},
		{"2min", 120000000000, 0},
		{"1h", 3600000000000, 0},
		{"2d", 172800000000000, 0},
		{"0.1ns", 0, 0},
		{"0s", 0, 0},
		{"", 0, -EINVAL},
		{"s", 0, -EINVAL},
		{".s", 0, -EINVAL},
		{"1.s", 0, -EINVAL},
		{"-1s", 0, -EINVAL},
		{"+1s", 0, -EINVAL},
		{"+-1s", 0, -EINVAL},
		{" 1s", 0, -EINVAL},
		{"nan", 0, -EINVAL},
		{"inf", 0, -EINVAL},
		{"infs", 0, -EINVAL},
		{"1", 0, -EDOM},
		{"1 s", 0, -EDOM},
		{"1S", 0, -EDOM},
		{"1m", 0, -EDOM},
		{"1sec", 0, -EDOM},
		{"1e3s", 0, -EDOM},
		{"1e400", 0, -EDOM},
		{"0x10", 0, -EDOM},
		{"0x10s", 0, -EDOM},
		{"1.2.3s", 0, -EDOM},
		{"1,5s", 0, -EDOM},
		{"20ms ", 0, -EDOM},
		{"1000000000h", 0, -ERANGE},
		{"100000000000000000000000000000000000000000000000000s", 0, -ERANGE},
	};
	uint64_t ns = 0;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		int err;

		ns = 77;
		err = uncore_duration_parse(cases[i].text, 0, &ns);
		if (err != cases[i].err || ns != (err ? 77 : cases[i].ns))
			fail_msg("'%s': %d, %llu", cases[i].text, err, (unsigned long long)ns);
	}
	assert_int_equal(uncore_duration_parse("1.5", 1000000, &ns), 0);
	assert_int_equal(ns, 1500000);
	assert_int_equal(uncore_duration_parse("1.2.3", 1000000, &ns), -EDOM);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(fail_writes_and_returns),
		cmocka_unit_test(digits_are_taken_up_to_the_base_and_the_limit),
		cmocka_unit_test(fail_may_quote_the_sentence_it_replaces),
		cmocka_unit_test(append_adds_and_truncates),
		cmocka_unit_test(text_grows),
		cmocka_unit_test(text_of_each_length),
		cmocka_unit_test(text_empty_and_failed),
		cmocka_unit_test(append_keeps_entries),
		cmocka_unit_test(names_are_copied_found_sorted),
		cmocka_unit_test(u64_accepts),
		cmocka_unit_test(u64_refuses),
		cmocka_unit_test(double_accepts),
		cmocka_unit_test(double_refuses),
		cmocka_unit_test(scan_stops_after_the_number),
		cmocka_unit_test(double_ignores_the_locale),
		cmocka_unit_test(durations),
		cmocka_unit_test(suggest_offers_near_names),
		cmocka_unit_test(suggest_survives_long_names),
		cmocka_unit_test(trim_both_ends),
		cmocka_unit_test(value_of_a_key),
		cmocka_unit_test(errno_text_is_never_null),
		cmocka_unit_test(errno_names_are_symbols),
		cmocka_unit_test(ascii_is_as_in_the_c_locale),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
