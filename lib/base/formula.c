/* SPDX-License-Identifier: MIT */
/* Formulas: a parser by recursive descent, which writes code for a stack machine, and that machine;
 * histograms: the statistics that counts in bins allow. */
#include "base/formula.h"

#include <math.h>

#define BLANKS " \t\r\n"
#define LENGTH_MOST 4096
#define DEPTH_MOST 64
/* One expression keeps at most four values while one inside it is evaluated: the first of "min(",
 * and the left sides of a comparison, a sum and a product. */
#define STACK_MOST (4 * (DEPTH_MOST + 1))

enum op_kind {
	OP_NUMBER,
	OP_EVENT,
	OP_SOURCES,
	OP_SECONDS,
	OP_NEGATE,
	OP_ADD,
	OP_SUBTRACT,
	OP_MULTIPLY,
	OP_DIVIDE,
	OP_MIN,
	OP_MAX,
	OP_LESS,
	OP_GREATER,
	OP_LESS_EQUAL,
	OP_GREATER_EQUAL,
	OP_EQUAL,
	OP_NOT_EQUAL,
	OP_SELECT, /* a, c, b: a if c else b */
};

struct unc_operation {
	enum op_kind kind;
	union {
		double number;
		size_t name; /* index */
	};
};

/* ---- parsing: one function for each rule of the grammar in formula.h ---- */

/* After a mistake nothing is accepted and nothing emitted, so that only the end needs a check. */
struct parser {
	const char *text;
	size_t at;
	int depth;
	int divisors; /* right sides of "/" that `at` is in */
	struct unc_formula *f;
	struct unc_error *e;
	int err; /* 0: no mistake yet */
};

static void parse_expr(struct parser *p);

/* Length of the name or keyword that comes next; 0: there is none. */
static size_t word_length(struct parser *p)
{
	p->at += strspn(p->text + p->at, BLANKS);
	if (unc_is_digit(p->text[p->at]) || p->text[p->at] == '.')
		return 0;
	return strspn(p->text + p->at, "abcdefghijklmnopqrstuvwxyz_0123456789.");
}

/* `expected` completes "expected ... at column 7". */
static void fail_expected(struct parser *p, const char *expected)
{
	size_t len = word_length(p); /* of the text there: a word or one character */
	const char *rest = p->text + p->at;

	if (p->err)
		return;
	p->err = unc_fail(p->e, EINVAL, "expected %s at column %zu", expected, p->at + 1);
	if (!*rest)
		unc_error_append(p->e, ", where the formula ends");
	else if (*rest > ' ' && *rest <= '~')
		unc_error_append(p->e, ", not '%.*s'", len ? (int)len : 1, rest);
	if (*rest >= 'A' && *rest <= 'Z')
		unc_error_append(p->e, " (names are in lower case)");
}

/* Accepts a keyword, or with a character that is of no word the text alone. */
static bool accept(struct parser *p, const char *text)
{
	size_t len = strlen(text), word;

	p->at += strspn(p->text + p->at, BLANKS);
	if (p->err || strncmp(p->text + p->at, text, len) != 0)
		return false;
	word = word_length(p);
	if (word && word != len)
		return false;
	p->at += len;
	return true;
}

static void expect(struct parser *p, const char *text, const char *expected)
{
	if (!accept(p, text))
		fail_expected(p, expected);
}

/* There is room: each operation comes from at least one character of the text. */
static void emit(struct parser *p, struct unc_operation op)
{
	if (!p->err)
		p->f->code[p->f->length++] = op;
}

bool unc_formula_reserves(const char *word)
{
	static const char *const reserved[] = {"if",  "else",    "min",
					       "max", "seconds", "source_count"};

	for (size_t i = 0; i < sizeof(reserved) / sizeof(*reserved); i++)
		if (strcmp(word, reserved[i]) == 0)
			return true;
	return false;
}

/* The name of an event. */
static void parse_name(struct parser *p, enum op_kind kind, const char *expected)
{
	struct unc_names *names = &p->f->names;
	struct unc_operation op = {.kind = kind};
	size_t len = word_length(p);
	char name[LENGTH_MOST + 1];

	memcpy(name, p->text + p->at, len);
	name[len] = '\0';
	if (!len || p->err || unc_formula_reserves(name)) {
		fail_expected(p, expected);
		return;
	}
	while (op.name < names->count && strcmp(names->items[op.name], name) != 0)
		op.name++;
	if (op.name == names->count && unc_names_add(names, name) < 0)
		p->err = unc_nomem(p->e);
	p->at += len;
	emit(p, op);
}

/* "(" expr "," expr ")" */
static void parse_call(struct parser *p, enum op_kind kind)
{
	expect(p, "(", kind == OP_MIN ? "'(' after min" : "'(' after max");
	parse_expr(p);
	expect(p, ",", "',' or an operator");
	parse_expr(p);
	emit(p, (struct unc_operation){.kind = kind});
	expect(p, ")", "')' or an operator");
}

static void parse_number(struct parser *p)
{
	struct unc_operation op = {.kind = OP_NUMBER};
	const char *end = p->text;
	int err = unc_scan_double(p->text + p->at, &end, &op.number);

	if (err == -ENOMEM)
		p->err = unc_nomem(p->e);
	else if (err == -ERANGE)
		p->err = unc_fail(p->e, EINVAL,
				  "the number at column %zu is too large or too small for a double",
				  p->at + 1);
	else if (err)
		p->err = unc_fail(p->e, EINVAL,
				  "the number at column %zu is malformed; expected one such as 64, "
				  "0.5 or 1e9, and a space or an operator after it",
				  p->at + 1);
	else
		p->at = (size_t)(end - p->text);
	emit(p, op);
}

static void parse_unary(struct parser *p)
{
	bool negate = accept(p, "-");

	if (!negate)
		accept(p, "+");
	if (word_length(p) == 0 && !p->err &&
	    (unc_is_digit(p->text[p->at]) || p->text[p->at] == '.')) {
		parse_number(p);
	} else if (accept(p, "(")) {
		parse_expr(p);
		expect(p, ")", "')' or an operator");
	} else if (accept(p, "seconds")) {
		p->f->timed = true;
		emit(p, (struct unc_operation){.kind = OP_SECONDS});
	} else if (accept(p, "min")) {
		parse_call(p, OP_MIN);
	} else if (accept(p, "max")) {
		parse_call(p, OP_MAX);
	} else if (accept(p, "source_count")) {
		expect(p, "(", "'(' after source_count");
		parse_name(p, OP_SOURCES, "the name of an event");
		expect(p, ")", "')'");
	} else {
		parse_name(p, OP_EVENT, "a number, a name or '('");
		p->f->ratio |= p->divisors > 0;
	}
	if (negate)
		emit(p, (struct unc_operation){.kind = OP_NEGATE});
}

enum level { COMPARISON, SUM, TERM, UNARY };

/* A divisor begins there and ends with the code: it is kept if it has an event, and is the first
 * one or around it. */
static void note_divisor(struct unc_formula *f, size_t begin)
{
	bool counted = false;

	for (size_t i = begin; i < f->length; i++)
		counted |= f->code[i].kind == OP_EVENT;
	if (!counted || (f->divisor_length && f->divisor < begin))
		return;
	f->divisor = begin;
	f->divisor_length = f->length - begin;
}

/* Operators of one level from left to right; comparisons are not chained. */
static void parse_binary(struct parser *p, enum level level)
{
	static const struct {
		const char *text;
		enum level level;
		enum op_kind kind;
	} operators[] = {
		/* the longer ones first */
		{"<=", COMPARISON, OP_LESS_EQUAL},
		{">=", COMPARISON, OP_GREATER_EQUAL},
		{"==", COMPARISON, OP_EQUAL},
		{"!=", COMPARISON, OP_NOT_EQUAL},
		{"<", COMPARISON, OP_LESS},
		{">", COMPARISON, OP_GREATER},
		{"+", SUM, OP_ADD},
		{"-", SUM, OP_SUBTRACT},
		{"*", TERM, OP_MULTIPLY},
		{"/", TERM, OP_DIVIDE},
	};
	size_t i = 0, begin;

	if (level == UNARY) {
		parse_unary(p);
		return;
	}
	parse_binary(p, level + 1);
	while (i < sizeof(operators) / sizeof(*operators)) {
		enum op_kind kind = operators[i].kind;

		if (operators[i].level != level || !accept(p, operators[i].text)) {
			i++;
			continue;
		}
		p->divisors += kind == OP_DIVIDE;
		begin = p->f->length;
		parse_binary(p, level + 1);
		p->divisors -= kind == OP_DIVIDE;
		if (kind == OP_DIVIDE)
			note_divisor(p->f, begin);
		emit(p, (struct unc_operation){.kind = kind});
		if (level == COMPARISON)
			break;
		i = 0;
	}
}

static void parse_expr(struct parser *p)
{
	if (p->depth == DEPTH_MOST && !p->err)
		p->err = unc_fail(p->e, EINVAL,
				  "the formula is nested too deeply at column %zu; "
				  "at most %d levels are allowed",
				  p->at + 1, DEPTH_MOST);
	if (p->err)
		return;
	p->depth++;
	parse_binary(p, COMPARISON);
	if (accept(p, "if")) {
		parse_expr(p);
		expect(p, "else", "'else' or an operator");
		parse_expr(p);
		emit(p, (struct unc_operation){.kind = OP_SELECT});
	}
	p->depth--;
}

/* Whether the formula is a sum of counts. The stack has what each value depends on. */
static bool is_sum(const struct unc_formula *f)
{
	enum { CONSTANT, COUNTS, OTHER } stack[STACK_MOST] = {CONSTANT}, a, b;
	size_t top = 0;
	bool other;

	for (size_t i = 0; i < f->length; i++) {
		enum op_kind kind = f->code[i].kind;
		size_t operands = kind <= OP_SECONDS  ? 0
				  : kind == OP_NEGATE ? 1
				  : kind == OP_SELECT ? 3
						      : 2;

		if (operands == 0) {
			stack[top++] = kind == OP_EVENT ? COUNTS : CONSTANT;
			continue;
		}
		top -= operands;
		a = stack[top];
		b = operands > 1 ? stack[top + 1] : a;
		other = a == OTHER || b == OTHER;
		if (operands == 3)
			a = a == CONSTANT && b == CONSTANT && stack[top + 2] == CONSTANT ? CONSTANT
											 : OTHER;
		else if (!other && kind == OP_MULTIPLY)
			a = a == COUNTS && b == COUNTS ? OTHER : a == COUNTS ? a : b;
		else if (!other && kind == OP_DIVIDE)
			a = b == CONSTANT ? a : OTHER;
		else if (other || a != b || (kind > OP_DIVIDE && a == COUNTS))
			a = OTHER;
		stack[top++] = a;
	}
	return stack[0] == COUNTS;
}

int unc_formula_parse(struct unc_formula **out, const char *text, size_t *pos, struct unc_error *e)
{
	struct parser p = {.text = text, .e = e};
	size_t len = strlen(text);

	if (len > LENGTH_MOST) {
		if (pos)
			*pos = LENGTH_MOST;
		return unc_fail(e, EINVAL, "the formula is longer than %d characters", LENGTH_MOST);
	}
	p.f = calloc(1, sizeof(*p.f));
	if (p.f)
		p.f->code = calloc(len + 1, sizeof(*p.f->code));
	if (!p.f || !p.f->code)
		p.err = unc_nomem(e);
	parse_expr(&p);
	if (!p.err && (word_length(&p) || p.text[p.at]))
		fail_expected(&p, "an operator or the end of the formula");
	if (p.err) {
		if (pos && p.err == -EINVAL)
			*pos = p.at;
		unc_formula_free(p.f);
		return p.err;
	}
	p.f->sum = is_sum(p.f);
	*out = p.f;
	return 0;
}

void unc_formula_free(struct unc_formula *f)
{
	if (!f)
		return;
	free(f->code);
	unc_names_finish(&f->names);
	free(f);
}

/* ---- evaluating ---- */

static double apply(enum op_kind kind, double a, double b)
{
	if (isnan(a) || isnan(b))
		return NAN;
	switch (kind) {
	case OP_ADD:
		return a + b;
	case OP_SUBTRACT:
		return a - b;
	case OP_MULTIPLY:
		return a * b;
	case OP_DIVIDE:
		return a / b; /* x/0 is infinite, 0/0 NaN */
	case OP_MIN:
		return a < b ? a : b;
	case OP_MAX:
		return a > b ? a : b;
	case OP_LESS:
		return a < b;
	case OP_GREATER:
		return a > b;
	case OP_LESS_EQUAL:
		return a <= b;
	case OP_GREATER_EQUAL:
		return a >= b;
	case OP_EQUAL:
		return a <= b && a >= b;
	default: /* OP_NOT_EQUAL */
		return a < b || a > b;
	}
}

bool unc_formula_eval(const struct unc_formula *f, const struct unc_formula_input *in,
		      double seconds, double *out, double *divisor)
{
	double stack[STACK_MOST] = {0}, value, c;
	size_t top = 0; /* values on the stack */

	for (size_t i = 0; i < f->length; i++) {
		const struct unc_operation *op = &f->code[i];

		switch (op->kind) {
		case OP_NUMBER:
			value = op->number;
			break;
		case OP_EVENT:
			value = in[op->name].known ? in[op->name].value : NAN;
			break;
		case OP_SOURCES:
			value = in[op->name].sources;
			break;
		case OP_SECONDS:
			value = seconds;
			break;
		case OP_NEGATE:
			value = -stack[--top];
			break;
		case OP_SELECT:
			top -= 3;
			c = stack[top + 1];
			value = isnan(c) ? NAN : stack[c < 0 || c > 0 ? top : top + 2];
			break;
		default:
			top -= 2;
			value = apply(op->kind, stack[top], stack[top + 1]);
		}
		/* "No value" is NaN inside the machine, and everything that is not finite becomes
		 * it. */
		value = isfinite(value) ? value + 0.0 : NAN; /* -0 becomes 0 */
		stack[top++] = value;
		if (divisor && i + 1 == f->divisor + f->divisor_length && !isnan(value))
			*divisor = value;
	}
	if (isnan(stack[0]))
		return false;
	*out = stack[0];
	return true;
}

/* ---- histograms ---- */

bool unc_histogram_percentile(const double *counts, size_t bins, unsigned per_mille, size_t *bin)
{
	double total = 0, below = 0;

	for (size_t k = 0; k < bins; k++)
		total += counts[k];
	if (!(total > 0))
		return false;
	for (size_t k = 0; k < bins; k++) {
		below += counts[k];
		/* Whole numbers on both sides: no share that is rounded up into the next bin. */
		if (counts[k] > 0 && below * 1000 >= total * per_mille) {
			*bin = k;
			return true;
		}
	}
	return false;
}

void unc_histogram_bounds(const struct unc_histogram *h, size_t bin, double *low, double *high)
{
	*low = h->lower[bin];
	*high = bin + 1 == h->count ? NAN : h->lower[bin + 1] - 1;
}
