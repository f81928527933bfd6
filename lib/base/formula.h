/* SPDX-License-Identifier: MIT */
/*
 * Formulas over events: a subset of perf's metric language. Pure; fuzzed.
 *
 *   expr    := test [ "if" expr "else" expr ]        a if c else b
 *   test    := sum [ ("<"|">"|"<="|">="|"=="|"!=") sum ]
 *   sum     := term { ("+"|"-") term }
 *   term    := unary { ("*"|"/") unary }
 *   unary   := ["-"|"+"] primary
 *   primary := number | name | "seconds" | "(" expr ")"
 *            | ("min"|"max") "(" expr "," expr ")"
 *            | "source_count" "(" name ")"          counters behind the event (instances)
 *
 * Names are [a-z_][a-z0-9_]*. A missing input, a division by zero or a result that is not finite is
 * "no value", never 0, NaN or infinity. Of "a if c else b" only c and the branch taken must have a
 * value. Depth at most 64, length at most 4096.
 */
#ifndef UNC_FORMULA_H
#define UNC_FORMULA_H

#include "base/text.h"

struct unc_formula {
	struct unc_names names; /* of events, each once, in order of first appearance */
	/* An event stands in a divisor: then all events must be counted over one interval. In
	 * source_count() it does not: that is a constant of the plan. */
	bool ratio;
	struct unc_operation *code; /* in postfix order */
	size_t length;
};

/* -EINVAL with a sentence; *pos (may be NULL) is then the byte offset of the mistake. */
int unc_formula_parse(struct unc_formula **out, const char *text, size_t *pos, struct unc_error *e);
/* True for "if", "seconds" ...: no event has such a name. */
bool unc_formula_reserves(const char *word);
void unc_formula_free(struct unc_formula *f);

struct unc_formula_input {
	double value;
	double sources; /* for source_count(), whether `known` or not */
	bool known;     /* false: there is no value */
};

/* `in` has one entry per name. False: no value, and *out is untouched. Allocates nothing. */
bool unc_formula_eval(const struct unc_formula *f, const struct unc_formula_input *in,
		      double seconds, double *out);

#endif
