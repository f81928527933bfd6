/* SPDX-License-Identifier: MIT */
/* The parser of formulas: recursive descent, one function per rule of the grammar in formula.h. */
#include "base/formula-code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct parser {
	const char *text;
	size_t at;
	int depth;
	int divisors; /* right sides of "/" that `at` is in */
	struct unc_formula *f;
	struct unc_error *e;
};

struct word {
	const char *text;
	size_t len;
};

static int parse_expr(struct parser *p);

static bool starts_name(char c)
{
	return (c >= 'a' && c <= 'z') || c == '_';
}

static bool in_name(char c)
{
	return starts_name(c) || (c >= '0' && c <= '9');
}

static void skip_space(struct parser *p)
{
	p->at += strspn(p->text + p->at, " \t\r\n");
}

/* `expected` completes "expected ... at column 7". */
static int fail_expected(const struct parser *p, const char *expected)
{
	const char *rest = p->text + p->at;
	size_t len = 1; /* of what is there instead: a word or one character */
	int err;

	err = unc_fail(p->e, EINVAL, "expected %s at column %zu", expected, p->at + 1);
	if (starts_name(*rest))
		while (in_name(rest[len]))
			len++;
	if (!*rest)
		unc_error_append(p->e, ", where the formula ends");
	else if (*rest > ' ' && *rest <= '~')
		unc_error_append(p->e, ", not '%.*s'", (int)len, rest);
	if (*rest >= 'A' && *rest <= 'Z')
		unc_error_append(p->e, " (names are in lower case)");
	return err;
}

/* The name or keyword at `at`, not consumed; of length 0 when there is none. */
static struct word peek_word(struct parser *p)
{
	struct word w = {.len = 0};

	skip_space(p);
	w.text = p->text + p->at;
	if (starts_name(*w.text))
		while (in_name(w.text[w.len]))
			w.len++;
	return w;
}

static bool is_word(struct word w, const char *keyword)
{
	return w.len == strlen(keyword) && memcmp(w.text, keyword, w.len) == 0;
}

static bool accept_word(struct parser *p, const char *keyword)
{
	struct word w = peek_word(p);

	if (!is_word(w, keyword))
		return false;
	p->at += w.len;
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
static void emit(struct parser *p, struct unc_op op)
{
	p->f->code[p->f->count++] = op;
}

static int add_name(struct parser *p, struct word w, size_t *index)
{
	struct unc_names *names = &p->f->names;
	char name[UNC_FORMULA_LENGTH + 1];

	memcpy(name, w.text, w.len);
	name[w.len] = '\0';
	for (*index = 0; *index < names->count; (*index)++)
		if (strcmp(names->items[*index], name) == 0)
			return 0;
	return unc_names_add(names, name) ? unc_nomem(p->e) : 0;
}

static bool is_reserved(struct word w)
{
	static const char *const reserved[] = {"if",  "else",    "min",
					       "max", "seconds", "source_count"};

	for (size_t i = 0; i < sizeof(reserved) / sizeof(*reserved); i++)
		if (is_word(w, reserved[i]))
			return true;
	return false;
}

/* "(" name ")" */
static int parse_source_count(struct parser *p)
{
	struct unc_op op = {.kind = UNC_OP_SOURCES};
	struct word w;
	int err;

	err = expect(p, '(', "'(' after source_count");
	if (err)
		return err;
	w = peek_word(p);
	if (w.len == 0 || is_reserved(w))
		return fail_expected(p, "the name of an event");
	err = add_name(p, w, &op.name);
	if (err)
		return err;
	p->at += w.len;
	emit(p, op);
	return expect(p, ')', "')'");
}

/* "(" expr "," expr ")" */
static int parse_call(struct parser *p, enum unc_op_kind kind)
{
	int err;

	err = expect(p, '(', kind == UNC_OP_MIN ? "'(' after min" : "'(' after max");
	if (err)
		return err;
	err = parse_expr(p);
	if (err)
		return err;
	err = expect(p, ',', "',' or an operator");
	if (err)
		return err;
	err = parse_expr(p);
	if (err)
		return err;
	emit(p, (struct unc_op){.kind = kind});
	return expect(p, ')', "')' or an operator");
}

static int parse_number(struct parser *p)
{
	struct unc_op op = {.kind = UNC_OP_NUMBER};
	const char *end;
	int err;

	err = unc_scan_double(p->text + p->at, &end, &op.number);
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

static int parse_event(struct parser *p, struct word w)
{
	struct unc_op op = {.kind = UNC_OP_EVENT};
	int err;

	if (w.len == 0 || is_reserved(w))
		return fail_expected(p, "a number, a name or '('");
	err = add_name(p, w, &op.name);
	if (err)
		return err;
	p->at += w.len;
	emit(p, op);
	if (p->divisors)
		p->f->ratio = true;
	return 0;
}

static int parse_primary(struct parser *p)
{
	struct word w = peek_word(p);
	char c = p->text[p->at];
	int err;

	if ((c >= '0' && c <= '9') || c == '.')
		return parse_number(p);
	if (accept(p, '(')) {
		err = parse_expr(p);
		return err ? err : expect(p, ')', "')' or an operator");
	}
	if (accept_word(p, "seconds")) {
		emit(p, (struct unc_op){.kind = UNC_OP_SECONDS});
		return 0;
	}
	if (accept_word(p, "min"))
		return parse_call(p, UNC_OP_MIN);
	if (accept_word(p, "max"))
		return parse_call(p, UNC_OP_MAX);
	if (accept_word(p, "source_count"))
		return parse_source_count(p);
	return parse_event(p, w);
}

static int parse_unary(struct parser *p)
{
	bool negate = accept(p, '-');
	int err;

	if (!negate)
		accept(p, '+');
	err = parse_primary(p);
	if (!err && negate)
		emit(p, (struct unc_op){.kind = UNC_OP_NEGATE});
	return err;
}

static int parse_term(struct parser *p)
{
	int err = parse_unary(p);

	while (!err) {
		if (accept(p, '*')) {
			err = parse_unary(p);
			emit(p, (struct unc_op){.kind = UNC_OP_MULTIPLY});
		} else if (accept(p, '/')) {
			p->divisors++;
			err = parse_unary(p);
			p->divisors--;
			emit(p, (struct unc_op){.kind = UNC_OP_DIVIDE});
		} else {
			break;
		}
	}
	return err;
}

static int parse_sum(struct parser *p)
{
	int err = parse_term(p);

	while (!err) {
		if (accept(p, '+')) {
			err = parse_term(p);
			emit(p, (struct unc_op){.kind = UNC_OP_ADD});
		} else if (accept(p, '-')) {
			err = parse_term(p);
			emit(p, (struct unc_op){.kind = UNC_OP_SUBTRACT});
		} else {
			break;
		}
	}
	return err;
}

static bool accept_comparison(struct parser *p, enum unc_op_kind *kind)
{
	static const struct {
		char text[3];
		enum unc_op_kind kind;
	} table[] = {
		/* the longer ones first */
		{"<=", UNC_OP_LESS_EQUAL}, {">=", UNC_OP_GREATER_EQUAL}, {"==", UNC_OP_EQUAL},
		{"!=", UNC_OP_NOT_EQUAL},  {"<", UNC_OP_LESS},           {">", UNC_OP_GREATER},
	};

	skip_space(p);
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		size_t len = strlen(table[i].text);

		if (strncmp(p->text + p->at, table[i].text, len) == 0) {
			p->at += len;
			*kind = table[i].kind;
			return true;
		}
	}
	return false;
}

static int parse_comparison(struct parser *p)
{
	struct unc_op op;
	int err;

	err = parse_sum(p);
	if (err || !accept_comparison(p, &op.kind))
		return err;
	err = parse_sum(p);
	emit(p, op);
	return err;
}

static int parse_condition(struct parser *p)
{
	int err;

	err = parse_comparison(p);
	if (err || !accept_word(p, "if"))
		return err;
	err = parse_expr(p);
	if (err)
		return err;
	if (!accept_word(p, "else"))
		return fail_expected(p, "'else' or an operator");
	err = parse_expr(p);
	emit(p, (struct unc_op){.kind = UNC_OP_SELECT});
	return err;
}

static int parse_expr(struct parser *p)
{
	int err;

	if (p->depth == UNC_FORMULA_DEPTH)
		return unc_fail(p->e, EINVAL,
				"the formula is nested too deeply at column %zu; "
				"at most %d levels are allowed",
				p->at + 1, UNC_FORMULA_DEPTH);
	p->depth++;
	err = parse_condition(p);
	p->depth--;
	return err;
}

static int parse_all(struct parser *p)
{
	int err = parse_expr(p);

	if (err)
		return err;
	skip_space(p);
	return p->text[p->at] ? fail_expected(p, "an operator or the end of the formula") : 0;
}

int unc_formula_parse(struct unc_formula **out, const char *text, size_t *pos, struct unc_error *e)
{
	struct parser p = {.text = text, .e = e};
	size_t len = strlen(text);
	int err = -ENOMEM;

	if (len > UNC_FORMULA_LENGTH) {
		if (pos)
			*pos = UNC_FORMULA_LENGTH;
		return unc_fail(e, EINVAL, "the formula is longer than %d characters",
				UNC_FORMULA_LENGTH);
	}
	p.f = calloc(1, sizeof(*p.f));
	if (p.f)
		p.f->code = calloc(len + 1, sizeof(*p.f->code));
	if (!p.f || !p.f->code) {
		unc_nomem(e);
		goto fail;
	}
	err = parse_all(&p);
	if (err) {
		if (pos && err == -EINVAL)
			*pos = p.at;
		goto fail;
	}
	*out = p.f;
	return 0;

fail:
	unc_formula_free(p.f);
	return err;
}
