/* SPDX-License-Identifier: MIT */
/* Formulas: the stack machine that evaluates their code. */
#include "base/formula-code.h"

#include <math.h>
#include <stdlib.h>

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

/* "No value" is NaN inside the machine, and everything that is not finite becomes it. */
static double only_finite(double x)
{
	return isfinite(x) ? x : NAN;
}

static double value_of(const struct unc_op *op, const struct unc_formula_input *in, double seconds)
{
	if (op->kind == UNC_OP_NUMBER)
		return op->number;
	if (op->kind == UNC_OP_SECONDS)
		return only_finite(seconds);
	if (op->kind == UNC_OP_SOURCES)
		return only_finite(in[op->name].sources);
	return in[op->name].known ? only_finite(in[op->name].value) : NAN;
}

static double apply(enum unc_op_kind kind, double a, double b)
{
	if (isnan(a) || isnan(b))
		return NAN;
	switch (kind) {
	case UNC_OP_ADD:
		return only_finite(a + b);
	case UNC_OP_SUBTRACT:
		return only_finite(a - b);
	case UNC_OP_MULTIPLY:
		return only_finite(a * b);
	case UNC_OP_DIVIDE:
		return only_finite(a / b); /* x/0 is infinite, 0/0 NaN */
	case UNC_OP_MIN:
		return a < b ? a : b;
	case UNC_OP_MAX:
		return a > b ? a : b;
	case UNC_OP_LESS:
		return a < b;
	case UNC_OP_GREATER:
		return a > b;
	case UNC_OP_LESS_EQUAL:
		return a <= b;
	case UNC_OP_GREATER_EQUAL:
		return a >= b;
	case UNC_OP_EQUAL:
		return a <= b && a >= b;
	default: /* UNC_OP_NOT_EQUAL */
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
	double stack[UNC_FORMULA_STACK] = {0};
	size_t top = 0; /* values on the stack */

	for (size_t i = 0; i < f->count; i++) {
		const struct unc_op *op = &f->code[i];

		if (op->kind <= UNC_OP_SECONDS) {
			stack[top++] = value_of(op, in, seconds);
		} else if (op->kind == UNC_OP_NEGATE) {
			stack[top - 1] = -stack[top - 1];
		} else if (op->kind == UNC_OP_SELECT) {
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
