/* SPDX-License-Identifier: MIT */
/* How one cell is judged by one series: the checks of a group are asked in turn, until one has concluded. */
#ifndef CLI_VERIFY_JUDGE_H
#define CLI_VERIFY_JUDGE_H

#include "verify/verify.h"

/* The series against the cells of one family. */
struct judged {
	const struct verify_run *run;
	const struct verify_series *series;
	const struct verify_expectation *expected;
	const struct verify_fit *fits; /* of each cell of the run */
	size_t own;                    /* cell */
	double slope, tolerance;       /* of the own cell; twice its error */
	struct verify_result *result;
	bool not_judged; /* it says nothing about this cell */
};

/* True: it has concluded. */
typedef bool judge_check(struct judged *j);

void judge_conclude(struct judged *j, enum verify_verdict verdict, const char *fault,
		    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

#endif
