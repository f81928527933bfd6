/* SPDX-License-Identifier: MIT */
/*
 * The arithmetic of metrics: formulas over events, and percentiles of histograms. Pure; fuzzed.
 *
 * Formulas are a subset of perf's metric language.
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
 * Names are [a-z_][a-z0-9_.]*; names with a dot are metrics. A missing input, a division by zero
 * or a result that is not finite is "no value", never 0, NaN or infinity. In "a if c else b" only c
 * and the branch taken must have a value. Depth at most 64, length at most 4096.
 */
#ifndef UNC_FORMULA_H
#define UNC_FORMULA_H

#include "base/text.h"

struct unc_formula {
	struct unc_names names; /* of events and metrics, each once, in order of first appearance */
	/* An event stands in a divisor: then all events must be counted over one interval. In
	 * source_count() it does not: that is a constant of the plan. */
	bool ratio;
	bool timed;                 /* it has the seconds of the interval */
	struct unc_operation *code; /* in postfix order */
	size_t length;
	/* It is a sum of counts with constant factors: "(a + b) * 64 / seconds". */
	bool sum;
	size_t divisor, divisor_length; /* the code of the first divisor with an event; 0: none */
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

/* `in` has one entry per name. False: no value, and *out is untouched. `divisor` (may be NULL) is
 * set to the value of the first divisor with an event, "b" of "a / b * seconds / c"; it is
 * untouched if there is none, or it has no value. Allocates nothing. */
bool unc_formula_eval(const struct unc_formula *f, const struct unc_formula_input *in,
		      double seconds, double *out, double *divisor);

/* ---- histograms of latency that hardware counts: bins of whole cycles, the last one open ---- */

#define UNC_HISTOGRAM_BINS 32

struct unc_histogram {
	size_t count;                     /* of bins, at least 2 */
	double lower[UNC_HISTOGRAM_BINS]; /* ascending: bin k ends where bin k + 1 begins */
	double value[UNC_HISTOGRAM_BINS]; /* what stands for it in a mean */
};

/* The bin in which the percentile lies, of `counts` in each bin; `per_mille` 990 is p99. It is the
 * first bin up to which that share of all has been counted (nearest rank). False: all are 0. */
bool unc_histogram_percentile(const double *counts, size_t bins, unsigned per_mille, size_t *bin);

/* First and last whole cycle of a bin; the last bin has no upper bound: NaN. */
void unc_histogram_bounds(const struct unc_histogram *h, size_t bin, double *low, double *high);

#endif
