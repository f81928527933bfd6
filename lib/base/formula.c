/* SPDX-License-Identifier: MIT */
/* Formulas: a parser by recursive descent, which writes code for a stack machine, and that machine. */
#include "base/formula.h"
#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH_MOST 4096
#define DEPTH_MOST 64
/* One expression keeps at most four values while one inside it is evaluated: the first of "min(",
 * and the left sides of a comparison, a sum and a product. */
#define STACK_MOST (4 * (DEPTH_MOST + 1))

enum op_kind {
	OP_NUMBER,
	OP_EVENT,
	OP_SOURCES,
	OP_SECONDS, /* the last one without an operand */
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

struct op {
	enum op_kind kind;
	union {
		double number;
		size_t name; /* index */
	};
};

struct unc_formula {
	struct op *code; /* in postfix order */
	size_t count;
	struct unc_names names;
	bool ratio;
};

/* ---- parsing: one function for each rule of the grammar in formula.h ---- */

struct parser {
	const char *text;
	size_t at;
	int depth;
	int divisors; /* right sides of "/" that `at` is in */
	struct unc_formula *f;
	struct unc_error *e;
};

static int parse_expr(struct parser *p);

static void skip_space(struct parser *p)
{
	p->at += strspn(p->text + p->at, " \t\r\n");
}

/* Length of the name or keyword that comes next; 0: there is none. */
static size_t word_length(struct parser *p)
{
	skip_space(p);
	if (unc_is_digit(p->text[p->at]))
		return 0;
	return strspn(p->text + p->at, "abcdefghijklmnopqrstuvwxyz_0123456789");
}

/* `expected` completes "expected ... at column 7". */
static int fail_expected(struct parser *p, const char *expected)
{
	size_t len = word_length(p); /* of the text there: a word or one character */
	const char *rest = p->text + p->at;
	int err = unc_fail(p->e, EINVAL, "expected %s at column %zu", expected, p->at + 1);

	if (!*rest)
		unc_error_append(p->e, ", where the formula ends");
	else if (*rest > ' ' && *rest <= '~')
		unc_error_append(p->e, ", not '%.*s'", len ? (int)len : 1, rest);
	if (*rest >= 'A' && *rest <= 'Z')
		unc_error_append(p->e, " (names are in lower case)");
	return err;
}

static bool is_word(struct parser *p, const char *keyword)
{
	size_t len = word_length(p);

	return len == strlen(keyword) && memcmp(p->text + p->at, keyword, len) == 0;
}

static bool accept_word(struct parser *p, const char *keyword)
{
	if (!is_word(p, keyword))
		return false;
	p->at += strlen(keyword);
	return true;
}

static bool accept(struct parser *p, char c)
{
	skip_space(p);
	if (p->text[p->at] != c)
		return false;
	p->at++;
	return true;
}

static int expect(struct parser *p, char c, const char *expected)
{
	return accept(p, c) ? 0 : fail_expected(p, expected);
}

/* There is room: each operation comes from at least one character of the text. */
static void emit(struct parser *p, struct op op)
{
	p->f->code[p->f->count++] = op;
}

/* The name of an event. */
static int parse_name(struct parser *p, enum op_kind kind, const char *expected)
{
	static const char *const reserved[] = {"if",  "else",    "min",
					       "max", "seconds", "source_count"};
	struct unc_names *names = &p->f->names;
	struct op op = {.kind = kind};
	size_t len = word_length(p);
	char name[LENGTH_MOST + 1];

	for (size_t i = 0; i < sizeof(reserved) / sizeof(*reserved); i++)
		if (is_word(p, reserved[i]))
			len = 0;
	if (!len)
		return fail_expected(p, expected);
	memcpy(name, p->text + p->at, len);
	name[len] = '\0';
	while (op.name < names->count && strcmp(names->items[op.name], name) != 0)
		op.name++;
	if (op.name == names->count && unc_names_add(names, name) < 0)
		return unc_nomem(p->e);
	p->at += len;
	emit(p, op);
	return 0;
}

/* "(" name ")" */
static int parse_source_count(struct parser *p)
{
	int err = expect(p, '(', "'(' after source_count");

	if (!err)
		err = parse_name(p, OP_SOURCES, "the name of an event");
	return err ? err : expect(p, ')', "')'");
}

/* "(" expr "," expr ")" */
static int parse_call(struct parser *p, enum op_kind kind)
{
	int err = expect(p, '(', kind == OP_MIN ? "'(' after min" : "'(' after max");

	if (!err)
		err = parse_expr(p);
	if (!err)
		err = expect(p, ',', "',' or an operator");
	if (!err)
		err = parse_expr(p);
	if (err)
		return err;
	emit(p, (struct op){.kind = kind});
	return expect(p, ')', "')' or an operator");
}

static int parse_number(struct parser *p)
{
	struct op op = {.kind = OP_NUMBER};
	const char *end;
	int err = unc_scan_double(p->text + p->at, &end, &op.number);

	if (err == -ENOMEM)
		return unc_nomem(p->e);
	if (err == -ERANGE)
		return unc_fail(p->e, EINVAL,
				"the number at column %zu is too large or too small for a double",
				p->at + 1);
	if (err)
		return unc_fail(p->e, EINVAL,
				"the number at column %zu is malformed; expected one such as 64, "
				"0.5 or 1e9, and a space or an operator after it",
				p->at + 1);
	p->at = (size_t)(end - p->text);
	emit(p, op);
	return 0;
}

static int parse_primary(struct parser *p)
{
	int err;

	skip_space(p);
	if (unc_is_digit(p->text[p->at]) || p->text[p->at] == '.')
		return parse_number(p);
	if (accept(p, '(')) {
		err = parse_expr(p);
		return err ? err : expect(p, ')', "')' or an operator");
	}
	if (accept_word(p, "seconds")) {
		emit(p, (struct op){.kind = OP_SECONDS});
		return 0;
	}
	if (accept_word(p, "min"))
		return parse_call(p, OP_MIN);
	if (accept_word(p, "max"))
		return parse_call(p, OP_MAX);
	if (accept_word(p, "source_count"))
		return parse_source_count(p);
	err = parse_name(p, OP_EVENT, "a number, a name or '('");
	p->f->ratio |= !err && p->divisors;
	return err;
}

static int parse_unary(struct parser *p)
{
	bool negate = accept(p, '-');
	int err;

	if (!negate)
		accept(p, '+');
	err = parse_primary(p);
	if (!err && negate)
		emit(p, (struct op){.kind = OP_NEGATE});
	return err;
}

enum level { COMPARISON, SUM, TERM, UNARY };

static bool accept_operator(struct parser *p, enum level level, enum op_kind *kind)
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

	skip_space(p);
	for (size_t i = 0; i < sizeof(operators) / sizeof(*operators); i++) {
		size_t len = strlen(operators[i].text);

		if (operators[i].level != level ||
		    strncmp(p->text + p->at, operators[i].text, len) != 0)
			continue;
		p->at += len;
		*kind = operators[i].kind;
		return true;
	}
	return false;
}

/* Operators of one level from left to right; comparisons are not chained. */
static int parse_binary(struct parser *p, enum level level)
{
	int err = level == UNARY ? parse_unary(p) : parse_binary(p, level + 1);
	struct op op;

	while (!err && accept_operator(p, level, &op.kind)) {
		p->divisors += op.kind == OP_DIVIDE;
		err = parse_binary(p, level + 1);
		p->divisors -= op.kind == OP_DIVIDE;
		emit(p, op);
		if (level == COMPARISON)
			break;
	}
	return err;
}

static int parse_condition(struct parser *p)
{
	int err = parse_binary(p, COMPARISON);

	if (err || !accept_word(p, "if"))
		return err;
	err = parse_expr(p);
	if (err)
		return err;
	if (!accept_word(p, "else"))
		return fail_expected(p, "'else' or an operator");
	err = parse_expr(p);
	emit(p, (struct op){.kind = OP_SELECT});
	return err;
}

static int parse_expr(struct parser *p)
{
	int err;

	if (p->depth == DEPTH_MOST)
		return unc_fail(p->e, EINVAL,
				"the formula is nested too deeply at column %zu; "
				"at most %d levels are allowed",
				p->at + 1, DEPTH_MOST);
	p->depth++;
	err = parse_condition(p);
	p->depth--;
	return err;
}

int unc_formula_parse(struct unc_formula **out, const char *text, size_t *pos, struct unc_error *e)
{
	struct parser p = {.text = text, .e = e};
	size_t len = strlen(text);
	int err;

	if (len > LENGTH_MOST) {
		if (pos)
			*pos = LENGTH_MOST;
		return unc_fail(e, EINVAL, "the formula is longer than %d characters", LENGTH_MOST);
	}
	p.f = calloc(1, sizeof(*p.f));
	if (p.f)
		p.f->code = calloc(len + 1, sizeof(*p.f->code));
	err = p.f && p.f->code ? parse_expr(&p) : unc_nomem(e);
	if (!err)
		err = expect(&p, '\0', "an operator or the end of the formula");
	if (err) {
		if (pos && err == -EINVAL)
			*pos = p.at;
		unc_formula_free(p.f);
		return err;
	}
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

size_t unc_formula_name_count(const struct unc_formula *f)
{
	return f->names.count;
}

const char *unc_formula_name(const struct unc_formula *f, size_t i)
{
	return f->names.items[i];
}

bool unc_formula_is_ratio(const struct unc_formula *f)
{
	return f->ratio;
}

/* ---- evaluating ---- */

/* "No value" is NaN inside the machine, and everything that is not finite becomes it. */
static double only_finite(double x)
{
	return isfinite(x) ? x : NAN;
}

static double value_of(const struct op *op, const struct unc_formula_input *in, double seconds)
{
	if (op->kind == OP_NUMBER)
		return op->number;
	if (op->kind == OP_SECONDS)
		return only_finite(seconds);
	if (op->kind == OP_SOURCES)
		return only_finite(in[op->name].sources);
	return in[op->name].known ? only_finite(in[op->name].value) : NAN;
}

static double apply(enum op_kind kind, double a, double b)
{
	if (isnan(a) || isnan(b))
		return NAN;
	switch (kind) {
	case OP_ADD:
		return only_finite(a + b);
	case OP_SUBTRACT:
		return only_finite(a - b);
	case OP_MULTIPLY:
		return only_finite(a * b);
	case OP_DIVIDE:
		return only_finite(a / b); /* x/0 is infinite, 0/0 NaN */
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

static double select_value(double a, double c, double b)
{
	if (isnan(c))
		return NAN;
	return c < 0 || c > 0 ? a : b;
}

bool unc_formula_eval(const struct unc_formula *f, const struct unc_formula_input *in,
		      double seconds, double *out)
{
	double stack[STACK_MOST] = {0};
	size_t top = 0; /* values on the stack */

	for (size_t i = 0; i < f->count; i++) {
		const struct op *op = &f->code[i];

		if (op->kind <= OP_SECONDS) {
			stack[top++] = value_of(op, in, seconds);
		} else if (op->kind == OP_NEGATE) {
			stack[top - 1] = -stack[top - 1];
		} else if (op->kind == OP_SELECT) {
			top -= 2;
			stack[top - 1] = select_value(stack[top - 1], stack[top], stack[top + 1]);
		} else {
			top--;
			stack[top - 1] = apply(op->kind, stack[top - 1], stack[top]);
		}
	}
	if (isnan(stack[0]))
		return false;
	*out = stack[0] + 0.0; /* -0 becomes 0 */
	return true;
}
