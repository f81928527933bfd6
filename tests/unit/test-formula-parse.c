/* SPDX-License-Identifier: MIT */
/* The grammar of formulas: places of mistakes, names, ratios, limits. */
#include "base/formula.h"
#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct unc_formula *parse(const char *text)
{
	struct unc_formula *f = NULL;
	struct unc_error e = {0};

	if (unc_formula_parse(&f, text, NULL, &e))
		fail_msg("'%s' is refused: %s", text, e.text);
	return f;
}

static void check_refused(const char *text, size_t want_pos, const char *want)
{
	struct unc_formula *f = NULL;
	struct unc_error e = {0};
	size_t pos = SIZE_MAX;
	int err = unc_formula_parse(&f, text, &pos, &e);

	if (err != -EINVAL || pos != want_pos || strcmp(e.text, want) != 0)
		fail_msg("'%.80s' gives %d at %zu '%s', not '%s'", text, err, pos, e.text, want);
	assert_null(f);
}

static void mistakes_have_a_place(void **state)
{
	static const char operand[] = "expected a number, a name or '(' at column ";
	static const char after[] = "expected an operator or the end of the formula at column ";
	static const char closing[] = "expected ')' or an operator at column ";
	static const char malformed[] = ", and a space or an operator after it";
	static const struct {
		const char *text;
		size_t pos;
		const char *what, *more;
	} cases[] = {
		{"", 0, operand, "1, where the formula ends"},
		{"  ", 2, operand, "3, where the formula ends"},
		{"a+", 2, operand, "3, where the formula ends"},
		{"a + * b", 4, operand, "5, not '*'"},
		{"--a", 1, operand, "2, not '-'"},
		{"a*- -b", 4, operand, "5, not '-'"},
		{"()", 1, operand, "2, not ')'"},
		{"if", 0, operand, "1, not 'if'"},
		{"a if else b", 5, operand, "6, not 'else'"},
		{"a if b else", 11, operand, "12, where the formula ends"},
		{"Reads/seconds", 0, operand, "1, not 'R' (names are in lower case)"},
		{"\xc3\xa9", 0, operand, "1"},
		{"a b", 2, after, "3, not 'b'"},
		{"a )", 2, after, "3, not ')'"},
		{"a, b", 1, after, "2, not ','"},
		{"a $ b", 2, after, "3, not '$'"},
		{"a = b", 2, after, "3, not '='"},
		{"a ! b", 2, after, "3, not '!'"},
		{"a % b", 2, after, "3, not '%'"},
		{"a < b < c", 6, after, "7, not '<'"},
		{"a .b", 2, after, "3, not '.'"},
		{"aB", 1, after, "2, not 'B' (names are in lower case)"},
		{"a(b)", 1, after, "2, not '('"},
		{"a else b", 2, after, "3, not 'else'"},
		{"a\x01", 1, after, "2"},
		{"(a", 2, closing, "3, where the formula ends"},
		{"(a,b)", 2, closing, "3, not ','"},
		{"min(a,b", 7, closing, "8, where the formula ends"},
		{"min(a,b,c)", 7, closing, "8, not ','"},
		{"min(a)", 5, "expected ',' or an operator at column 6, not ')'", ""},
		{"min a", 4, "expected '(' after min at column 5, not 'a'", ""},
		{"max", 3, "expected '(' after max at column 4, where the formula ends", ""},
		{"min(,a)", 4, operand, "5, not ','"},
		{"a if b", 6, "expected 'else' or an operator at column 7, where the formula ends",
		 ""},
		{"a if b c", 7, "expected 'else' or an operator at column 8, not 'c'", ""},
		{"source_count a", 13, "expected '(' after source_count at column 14, not 'a'", ""},
		{"source_count(1)", 13, "expected the name of an event at column 14, not '1'", ""},
		{"source_count(seconds)", 13,
		 "expected the name of an event at column 14, not 'seconds'", ""},
		{"source_count(a+b)", 14, "expected ')' at column 15, not '+'", ""},
		{"1 + 0x10", 4,
		 "the number at column 5 is malformed; expected one such as 64, 0.5 or 1e9",
		 malformed},
		{"1.2.3", 0,
		 "the number at column 1 is malformed; expected one such as 64, 0.5 or 1e9",
		 malformed},
		{"64a", 0,
		 "the number at column 1 is malformed; expected one such as 64, 0.5 or 1e9",
		 malformed},
		{".", 0, "the number at column 1 is malformed; expected one such as 64, 0.5 or 1e9",
		 malformed},
		{"a*1e999", 2, "the number at column 3 is too large or too small for a double", ""},
		{"a*1e-999", 2, "the number at column 3 is too large or too small for a double",
		 ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		char want[256];

		snprintf(want, sizeof(want), "%s%s", cases[i].what, cases[i].more);
		check_refused(cases[i].text, cases[i].pos, want);
	}
}

static void place_and_sentence_are_optional(void **state)
{
	struct unc_formula *f = NULL;

	(void)state;
	assert_int_equal(unc_formula_parse(&f, "a+", NULL, NULL), -EINVAL);
	assert_null(f);
	unc_formula_free(NULL);
}

static void names_in_order_of_appearance(void **state)
{
	struct unc_formula *f =
		parse("reads + writes * reads / source_count(units) + min(x_1, seconds)");
	static const char *const want[] = {"reads", "writes", "units", "x_1"};

	(void)state;
	assert_int_equal(f->names.count, COUNT(want));
	for (size_t i = 0; i < COUNT(want); i++)
		assert_string_equal(f->names.items[i], want[i]);
	unc_formula_free(f);
	f = parse("64 / seconds");
	assert_int_equal(f->names.count, 0);
	unc_formula_free(f);
}

/* Names that only begin like a keyword, or hold one. */
static void keywords_are_whole_words(void **state)
{
	struct unc_formula *f = parse("minimum + maxi + iff + elsewhere + seconds_2 + "
				      "source_counts + if_ + _ + a if b else c");
	static const char *const want[] = {"minimum",   "maxi",      "iff",
					   "elsewhere", "seconds_2", "source_counts",
					   "if_",       "_",         "a",
					   "b",         "c"};

	(void)state;
	assert_int_equal(f->names.count, COUNT(want));
	for (size_t i = 0; i < COUNT(want); i++)
		assert_string_equal(f->names.items[i], want[i]);
	unc_formula_free(f);
}

static void ratio_is_an_event_in_a_divisor(void **state)
{
	static const struct {
		const char *text;
		bool want;
	} cases[] = {
		{"a", false},
		{"a/seconds", false},
		{"a/2", false},
		{"a*64/seconds", false},
		{"a/seconds*b", false},
		{"(a/seconds)*b", false},
		{"a/source_count(a)/seconds", false},
		{"1/(2*source_count(b))", false},
		{"a/seconds + b", false},
		{"a/(seconds)-b", false},
		{"a if b>c else b", false},
		{"min(a,b)/2", false},
		{"a/2 if b else c", false},
		{"a/b", true},
		{"1/a", true},
		{"a/-b", true},
		{"a/(b)", true},
		{"a/(1+b)", true},
		{"a/seconds/b", true},
		{"a/min(2,b)", true},
		{"a/(2 if b else 3)", true},
		{"a/(1/(2*b))", true},
		{"a/(source_count(b)*b)", true},
		{"1 + 2*(a/b)", true},
		{"a if b/c else 2", true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct unc_formula *f = parse(cases[i].text);

		if (f->ratio != cases[i].want)
			fail_msg("'%s' is %sa ratio", cases[i].text, cases[i].want ? "not " : "");
		unc_formula_free(f);
	}
}

/* `open`, `levels` - 1 times, then "a", then `close` as often. */
static char *nested(const char *open, const char *close, size_t levels)
{
	struct unc_text t = {0};
	char *text;

	for (size_t i = 1; i < levels; i++)
		unc_text_add(&t, "%s", open);
	unc_text_add(&t, "a");
	for (size_t i = 1; i < levels; i++)
		unc_text_add(&t, "%s", close);
	text = unc_text_take(&t);
	assert_non_null(text);
	return text;
}

/* Each keeps as many values as it can while the inner expression is evaluated. */
static void sixty_four_levels_and_no_more(void **state)
{
	static const struct {
		const char *open, *close;
		size_t levels; /* that one more `open` adds */
		double want;
	} cases[] = {
		{"(", ")", 1, 3},
		{"1<1+0*(", ")", 1, 0},
		{"1<1+0*min(9,", ")", 1, 0},
		{"1<1+0*min(9,1<1+0*max(9,", "))", 2, 0},
		{"1 if 0 else ", "", 1, 3},
		{"1 if (", ") else 2", 2, 1},
		{"2 if 1 if 0 else ", " else 3", 2, 2},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		size_t most = (64 - 1) / cases[i].levels + 1;
		char *text = nested(cases[i].open, cases[i].close, most);
		struct unc_formula *f = parse(text);
		struct unc_formula_input in = {3, 8, true};
		struct unc_error e = {0};
		double got;

		assert_true(unc_formula_eval(f, &in, 1, &got, NULL));
		assert_true(got == cases[i].want);
		unc_formula_free(f);
		free(text);
		text = nested(cases[i].open, cases[i].close, most + 1);
		assert_int_equal(unc_formula_parse(&f, text, NULL, &e), -EINVAL);
		assert_non_null(strstr(e.text, "nested too deeply"));
		free(text);
	}
}

static void depth_has_a_place(void **state)
{
	char *text = nested("(", ")", 64);
	struct unc_formula *f = parse(text);

	(void)state;
	unc_formula_free(f);
	free(text);
	text = nested("(", ")", 65);
	check_refused(text, 64,
		      "the formula is nested too deeply at column 65; at most 64 levels "
		      "are allowed");
	free(text);
}

static void long_formulas(void **state)
{
	static char text[4098];
	struct unc_formula_input in = {3, 8, true};
	struct unc_formula *f;
	double got = 0;

	(void)state;
	for (size_t i = 0; i < 4096; i++)
		text[i] = i % 2 ? '+' : 'a';
	text[4095] = ' ';
	text[4094] = 'a';
	f = parse(text);
	assert_true(unc_formula_eval(f, &in, 1, &got, NULL));
	assert_true(got == 3 * 2048);
	unc_formula_free(f);
	text[4096] = ' ';
	check_refused(text, 4096, "the formula is longer than 4096 characters");
	/* One name of the full length. */
	memset(text, 'x', 4096);
	text[4096] = '\0';
	f = parse(text);
	assert_int_equal(strlen(f->names.items[0]), 4096);
	unc_formula_free(f);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(mistakes_have_a_place),
		cmocka_unit_test(place_and_sentence_are_optional),
		cmocka_unit_test(names_in_order_of_appearance),
		cmocka_unit_test(keywords_are_whole_words),
		cmocka_unit_test(ratio_is_an_event_in_a_divisor),
		cmocka_unit_test(sixty_four_levels_and_no_more),
		cmocka_unit_test(depth_has_a_place),
		cmocka_unit_test(long_formulas),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
