/* SPDX-License-Identifier: MIT */
/* The values of formulas, and above all when there is none. */
#include "base/formula.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const double NONE = -123456.5; /* stands for "no value" in the tables below */

/* Names have fixed meanings: a 3, b 4, n -2, z 0, tiny, big; "missing" is not known; each has 8
 * sources, `alone` none; `endless` and `odd` claim to be known but are not finite. */
static struct unc_formula_input input_of(const char *name)
{
	static const struct {
		const char *name;
		struct unc_formula_input in;
	} table[] = {
		{"a", {3, 8, true}},
		{"b", {4, 8, true}},
		{"n", {-2, 8, true}},
		{"z", {0, 8, true}},
		{"tiny", {1e-300, 8, true}},
		{"big", {1e300, 8, true}},
		{"missing", {77, 8, false}},
		{"alone", {5, 0, true}},
		{"endless", {INFINITY, 8, true}},
		{"odd", {NAN, 8, true}},
		{"uncounted", {1, NAN, true}},
		{"unbounded", {1, INFINITY, true}},
	};

	for (size_t i = 0; i < COUNT(table); i++)
		if (strcmp(table[i].name, name) == 0)
			return table[i].in;
	fail_msg("no input '%s'", name);
	return (struct unc_formula_input){0};
}

static struct unc_formula *parse(const char *text)
{
	struct unc_formula *f = NULL;
	struct unc_error e = {0};

	if (unc_formula_parse(&f, text, NULL, &e))
		fail_msg("'%s' is refused: %s", text, e.text);
	return f;
}

static double eval(const char *text, double seconds)
{
	struct unc_formula_input in[16];
	struct unc_formula *f = parse(text);
	double got = NONE;
	bool any;

	assert_true(f->names.count <= COUNT(in));
	for (size_t i = 0; i < f->names.count; i++)
		in[i] = input_of(f->names.items[i]);
	any = unc_formula_eval(f, in, seconds, &got, NULL);
	unc_formula_free(f);
	if (any && !isfinite(got))
		fail_msg("'%s' gives %g", text, got);
	if (any && got == NONE)
		fail_msg("'%s' gives what stands for no value", text);
	/* NONE is left: *out is untouched when there is no value. */
	return got;
}

struct value_case {
	const char *text;
	double want;
};

static void check_values(const struct value_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		double got = eval(cases[i].text, 2);

		if (got != cases[i].want || (got == 0 && signbit(got)))
			fail_msg("'%s' gives %.17g, not %.17g", cases[i].text, got, cases[i].want);
	}
}

static void numbers_and_names(void **state)
{
	static const struct value_case cases[] = {
		{"64", 64},
		{"0.5", 0.5},
		{"1e9", 1e9},
		{"1E-3", 0.001},
		{".5", 0.5},
		{"5.", 5},
		{"0", 0},
		{"a", 3},
		{" a\t", 3},
		{"\r\na\n", 3},
		{"seconds", 2},
		{"(a)", 3},
		{"((a))", 3},
		{"-a", -3},
		{"+a", 3},
		{"source_count(a)", 8},
		{"source_count ( alone )", 0},
		{"alone", 5},
	};

	(void)state;
	check_values(cases, COUNT(cases));
}

static void arithmetic(void **state)
{
	static const struct value_case cases[] = {
		{"a+b", 7},           {"a-b", -1},
		{"a*b", 12},          {"a/b", 0.75},
		{"a-b-1", -2},        {"a/b/2", 0.375},
		{"a/b*4", 3},         {"a*b/6", 2},
		{"a+b*2", 11},        {"(a+b)*2", 14},
		{"a-b*2+1", -4},      {"a*b+a*b", 24},
		{"-a*b", -12},        {"a*-b", -12},
		{"a--b", 7},          {"a-+b", -1},
		{"-(a+b)", -7},       {"a*64/seconds", 96},
		{"0*n", 0},           {"-z", 0},
		{"a/b/(a/b)", 1},     {"min(a,b)", 3},
		{"max(a,b)", 4},      {"min(n,-3)", -3},
		{"max(a+b,1)*2", 14}, {"min(a,max(1,2))", 2},
		{"min(a,a)", 3},      {"-min(a,b)", -3},
	};

	(void)state;
	check_values(cases, COUNT(cases));
}

static void comparisons(void **state)
{
	static const struct value_case cases[] = {
		{"a<b", 1},  {"b<a", 0},   {"a<a", 0},    {"a>b", 0},     {"b>a", 1},
		{"a>a", 0},  {"a<=b", 1},  {"b<=a", 0},   {"a<=a", 1},    {"a>=b", 0},
		{"b>=a", 1}, {"a>=a", 1},  {"a==b", 0},   {"a==a", 1},    {"a!=b", 1},
		{"a!=a", 0}, {"z==-z", 1}, {"a+1==b", 1}, {"2*(a<b)", 2}, {"a<b-2", 0},
	};

	(void)state;
	check_values(cases, COUNT(cases));
}

static void conditions(void **state)
{
	static const struct value_case cases[] = {
		{"a if 1 else b", 3},
		{"a if 0 else b", 4},
		{"a if -1 else b", 3},
		{"a if 0.1 else b", 3},
		{"a if a<b else b", 3},
		{"a if a>b else b", 4},
		{"1+a if 1 else 2+b", 4},
		{"1+a if 0 else 2+b", 6},
		{"1+(a if 0 else b)", 5},
		/* else takes the rest; so does if */
		{"1 if 0 else 2 if 0 else 3", 3},
		{"1 if 0 else 2 if 1 else 3", 2},
		{"1 if 0 if 1 else 1 else 3", 3},
	};

	(void)state;
	check_values(cases, COUNT(cases));
}

static void no_value_from_input(void **state)
{
	static const struct value_case cases[] = {
		{"missing", NONE},
		{"-missing", NONE},
		{"+missing", NONE},
		{"(missing)", NONE},
		{"missing+1", NONE},
		{"1+missing", NONE},
		{"missing-1", NONE},
		{"1-missing", NONE},
		{"missing*0", NONE},
		{"0*missing", NONE},
		{"missing/1", NONE},
		{"0/missing", NONE},
		{"missing/missing", NONE},
		{"missing-missing", NONE},
		{"endless", NONE},
		{"-endless", NONE},
		{"1/endless", NONE},
		{"odd", NONE},
		{"odd==odd", NONE},
		{"odd!=odd", NONE},
		/* its counters are planned, whether they counted or not */
		{"source_count(missing)", 8},
		{"source_count(uncounted)", NONE},
		{"source_count(unbounded)", NONE},
		{"1/source_count(unbounded)", NONE},
		{"uncounted", 1},
	};

	(void)state;
	check_values(cases, COUNT(cases));
}

static void no_value_from_division(void **state)
{
	static const struct value_case cases[] = {
		{"a/0", NONE},       {"n/0", NONE},     {"0/0", NONE},
		{"a/z", NONE},       {"z/z", NONE},     {"a/-z", NONE},
		{"a/(b-b)", NONE},   {"a/(b<a)", NONE}, {"1/(a/0)", NONE},
		{"0*(a/0)", NONE},   {"a/0-a/0", NONE}, {"a/0==a/0", NONE},
		{"z/a", 0},          {"z/n", 0},        {"a/source_count(alone)", NONE},
		{"missing/z", NONE},
	};

	(void)state;
	check_values(cases, COUNT(cases));
}

static void no_value_from_overflow(void **state)
{
	static const struct value_case cases[] = {
		{"big*big", NONE},         {"-big*big", NONE},         {"big/tiny", NONE},
		{"1.7e308+1.7e308", NONE}, {"-1.7e308-1.7e308", NONE}, {"1/(big*big)", NONE},
		{"min(big*big,1)", NONE},  {"big*big>1", NONE},        {"1.7e308+0", 1.7e308},
		{"tiny*tiny", 0},          {"a/(tiny*tiny)", NONE},
	};

	(void)state;
	check_values(cases, COUNT(cases));
}

static void no_value_in_comparison_and_extremes(void **state)
{
	static const struct value_case cases[] = {
		{"missing<1", NONE},
		{"1<missing", NONE},
		{"missing>1", NONE},
		{"1>missing", NONE},
		{"missing<=1", NONE},
		{"1>=missing", NONE},
		{"missing==missing", NONE},
		{"missing!=missing", NONE},
		{"1==missing", NONE},
		{"1!=missing", NONE},
		{"min(missing,1)", NONE},
		{"min(1,missing)", NONE},
		{"max(missing,1)", NONE},
		{"max(1,missing)", NONE},
		{"min(1,a/0)", NONE},
		{"max(a/0,1)", NONE},
		{"min(missing,missing)", NONE},
	};

	(void)state;
	check_values(cases, COUNT(cases));
}

/* Only the condition and the branch taken must have a value. */
static void no_value_in_conditions(void **state)
{
	static const struct value_case cases[] = {
		{"a if 1 else missing", 3},
		{"missing if 0 else b", 4},
		{"a if 1 else 1/0", 3},
		{"a/0 if 0 else b", 4},
		{"a/z if z!=0 else 7", 7},
		{"big*big if a>b else 7", 7},
		{"missing if 1 else b", NONE},
		{"a if 0 else missing", NONE},
		{"a if missing else b", NONE},
		{"a if missing else a", NONE},
		{"a if 1/0 else b", NONE},
		{"a if missing<1 else b", NONE},
		{"a if endless else b", NONE},
		{"1 + (a if 1 else missing)", 4},
		{"(missing if 0 else a) / (b if 1 else missing)", 0.75},
		{"a if (1 if 1 else missing) else b", 3},
		{"a if (1 if 0 else missing) else b", NONE},
		{"missing if 0 else missing if 0 else a", 3},
	};

	(void)state;
	check_values(cases, COUNT(cases));
}

static void no_value_from_seconds(void **state)
{
	(void)state;
	assert_true(eval("a/seconds", 0.5) == 6);
	assert_true(eval("a/seconds", 0) == NONE);
	assert_true(eval("a", 0) == 3);
	assert_true(eval("seconds", 0) == 0);
	assert_true(eval("a/seconds", NAN) == NONE);
	assert_true(eval("seconds", INFINITY) == NONE);
	assert_true(eval("0*seconds", -INFINITY) == NONE);
	assert_true(eval("a/seconds", INFINITY) == NONE);
	assert_true(eval("a if 1 else seconds", NAN) == 3);
}

/* What a quotient is divided by: its weight in a mean over several intervals. */
static void divisors(void **state)
{
	static const struct value_case cases[] = {
		{"a/b", 4},
		{"a/b*seconds/n", 4},
		{"1-a/b", 4},
		{"(a+b)/(a*2+b)*1e-9", 10},
		{"a/3/(b*5/6)", 4.0 * 5 / 6},
		{"a/(b/a)", 4.0 / 3},
		{"a/(1/(b/a)+b)", 4.75},
		{"a/b+n/a", 4},
		{"a/z", 0},
		{"a/missing", NONE},
		{"missing/b", 4},
		{"a/seconds", NONE},
		{"a/source_count(b)/seconds", NONE},
		{"a/64", NONE},
		{"a*b", NONE},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct unc_formula *f = parse(cases[i].text);
		struct unc_formula_input in[4];
		double got = NONE, value;

		for (size_t k = 0; k < f->names.count; k++)
			in[k] = input_of(f->names.items[k]);
		unc_formula_eval(f, in, 2, &value, &got);
		unc_formula_free(f);
		if (got != cases[i].want)
			fail_msg("'%s' is divided by %.17g, not %.17g", cases[i].text, got,
				 cases[i].want);
	}
}

/* What can be counted piece by piece. */
static void sums(void **state)
{
	static const struct {
		const char *text;
		bool sum;
	} cases[] = {
		{"a", true},
		{"(a + b) * 64 / seconds", true},
		{"a * 64 + 32 * b - c", true},
		{"-a / source_count(a) / seconds", true},
		{"(a + b) * (2 if seconds > 1 else 3)", true},
		{"max(1, 2) * a", true},
		{"a / b", false},
		{"a * b", false},
		{"1 - a / seconds", false},
		{"a + 1", false},
		{"max(a, b)", false},
		{"a > b", false},
		{"a if b else c", false},
		{"64 / a", false},
		{"64 * seconds", false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct unc_formula *f;

		assert_int_equal(unc_formula_parse(&f, cases[i].text, NULL, NULL), 0);
		if (f->sum != cases[i].sum)
			fail_msg("%s", cases[i].text);
		unc_formula_free(f);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums),
		cmocka_unit_test(numbers_and_names),
		cmocka_unit_test(arithmetic),
		cmocka_unit_test(comparisons),
		cmocka_unit_test(conditions),
		cmocka_unit_test(no_value_from_input),
		cmocka_unit_test(no_value_from_division),
		cmocka_unit_test(no_value_from_overflow),
		cmocka_unit_test(no_value_in_comparison_and_extremes),
		cmocka_unit_test(no_value_in_conditions),
		cmocka_unit_test(no_value_from_seconds),
		cmocka_unit_test(divisors),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
