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

/* Of verdict.c, for the lists of other files. */
judge_check judge_quiet, judge_yielding, judge_slope;
/* The moved memory, and then the rounds themselves, too, allow a verdict. */
judge_check judge_memory, judge_rounds;
/* What is counted less or more, for each byte that is moved, since others give way: at most. */
double judge_yield(const struct judged *j, const struct verify_fit *f);

/* All of it, within the limits of the group and load; what is taken for nothing; what may be missing; a part at another
 * place that is no fault yet. */
bool judge_is_all(const struct judged *j, double slope, double error);
bool judge_is_own_all(const struct judged *j);
bool judge_is_nothing(const struct judged *j);
double judge_less(const struct judged *j);
double judge_astray(const struct judged *j);
/* Beyond this standard error of a slope there is no verdict. */
#define JUDGE_ERROR_MOST 0.005
/* How near a factor with a name is, and the error of a share. */
#define JUDGE_FACTOR 0.02

/* A socket's cell of the same family and group that has a slope, and that has to count nothing of it. */
bool judge_is_other(const struct judged *j, size_t cell);
/* A channel of its socket and metric, and its part of an even share; less than the last one is nothing. */
bool judge_is_channel(const struct judged *j, size_t cell);
#define JUDGE_SHARE_LEAST 0.75
#define JUDGE_SHARE_MOST 1.25
#define JUDGE_SHARE_NONE 0.05

/* Its amounts, or its requests, in the rounds in which the cell was measured. */
void judge_fit(const struct verify_series *s, size_t cell, bool requests, struct verify_fit *into);

/* Lists of checks, ended by NULL, by group. `uncounted`: the own cell stands for one that its socket does not have.
 * `multiplex`, instead of those of its group: the counters of the series were multiplexed. */
extern judge_check *const stream_checks[], *const uncounted_checks[]; /* stream-checks.c */
extern judge_check *const device_checks[], *const lookup_checks[];    /* device-checks.c */
extern judge_check *const latency_checks[];                           /* latency.c */
extern judge_check *const power_checks[];                             /* power.c */
extern judge_check *const clock_checks[];                             /* clock.c */
extern judge_check *const ceiling_checks[];                           /* ceiling.c */
extern judge_check *const multiplex_checks[];                         /* multiplex-checks.c */

void judge_conclude(struct judged *j, enum verify_verdict verdict, const char *fault,
		    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* ---- places.c: what other places count, which have to count nothing of it ---- */

/* How a group looks at them. */
struct judge_view {
	/* What is counted there. False: the cell is no such place, or nothing is known of it. */
	bool (*count)(const struct judged *j, size_t cell, struct verify_fit *into);
	bool (*is_all)(const struct judged *j, const struct verify_fit *fit);
};

/* Cells that count all of it; of several the last one. NULL: there is none. */
struct judge_places {
	const struct verify_cell *place; /* the same metric */
	const struct verify_cell *kind;  /* another metric at the own place */
	const struct verify_cell *both;  /* another metric at another place */
};
struct judge_places judge_find_all(const struct judged *j, const struct judge_view *view);

/* The cell that counts the largest part of it, beyond doubt: more than `least` by twice the error, and by four times an error
 * above `error_most`; and more than others may have changed. Of other cells with such an error, or of less than that, it is not
 * known whether they count a part. */
struct judge_part {
	const struct verify_cell *cell; /* NULL: none */
	struct verify_fit fit;
	const struct verify_cell *noisy; /* the first of these; NULL: none */
	double noise;                    /* what it may count */
};
struct judge_part judge_find_part(const struct judged *j, const struct judge_view *view,
				  double least, double error_most);
/* Of bytes that streams and devices move. */
#define JUDGE_PART_ERROR 0.01
/* True: no part was found, but there may be one there. `whole`: of what is counted, all of it. */
bool judge_is_noisy(struct judged *j, const struct judge_part *part, double whole,
		    const char *place);

/* ---- means.c: cells that are judged by their mean, beside a value that is known from elsewhere ---- */

/* Too few rounds were counted. Before that, what a slope of such a cell would say is left out of its result. */
judge_check judge_mean_rounds;
/* The amount of all rounds per second. NaN: none was counted. `seconds`: of these; may be NULL. */
double judge_mean(const struct judged *j, size_t cell, double *seconds);
/* The cell that reads the same in another way; SIZE_MAX: none was read. */
size_t judge_witness(const struct judged *j);
/* Puts both into the result, and their ratio; the error is that of the ratio. */
void judge_compare(struct judged *j, double value, double known, double error, const char *unit,
		   const char *basis);

#endif
