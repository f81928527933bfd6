/* SPDX-License-Identifier: MIT */
/* Inside a formula: code for a stack machine. Only for formula-parse.c and formula.c. */
#ifndef UNC_FORMULA_CODE_H
#define UNC_FORMULA_CODE_H

#include "base/formula.h"
#include "base/text.h"

#define UNC_FORMULA_LENGTH 4096
#define UNC_FORMULA_DEPTH 64
/* One expression keeps at most four values while one inside it is evaluated: the first of "min(",
 * and the left sides of a comparison, a sum and a product. */
#define UNC_FORMULA_STACK (4 * (UNC_FORMULA_DEPTH + 1))

enum unc_op_kind {
	UNC_OP_NUMBER,
	UNC_OP_EVENT,
	UNC_OP_SOURCES,
	UNC_OP_SECONDS, /* last of those that take no operand */
	UNC_OP_NEGATE,
	UNC_OP_ADD,
	UNC_OP_SUBTRACT,
	UNC_OP_MULTIPLY,
	UNC_OP_DIVIDE,
	UNC_OP_MIN,
	UNC_OP_MAX,
	UNC_OP_LESS,
	UNC_OP_GREATER,
	UNC_OP_LESS_EQUAL,
	UNC_OP_GREATER_EQUAL,
	UNC_OP_EQUAL,
	UNC_OP_NOT_EQUAL,
	UNC_OP_SELECT, /* a, c, b: a if c else b */
};

struct unc_op {
	enum unc_op_kind kind;
	union {
		double number;
		size_t name; /* index */
	};
};

struct unc_formula {
	struct unc_op *code; /* in postfix order */
	size_t count;
	struct unc_names names;
	bool ratio;
};

#endif
