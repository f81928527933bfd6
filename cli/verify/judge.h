/* SPDX-License-Identifier: MIT */
/* How one series judges one cell: the checks of the group run in order, until one reaches a
 * verdict. */
#ifndef CLI_VERIFY_JUDGE_H
#define CLI_VERIFY_JUDGE_H

#include "base/table.h"
#include "verify/verify.h"

/* The series against the cells of one family. */
struct judged {
	const struct verify_run *run;
	const struct verify_series *series;
	const struct verify_fit *fits; /* of each cell of the run */
	/* The cell that must count all data: */
	size_t own;
	const struct verify_cell *cell;
	const struct verify_expectation *expected;
	const struct verify_fit *fit;
	double slope, tolerance; /* tolerance is twice the error */
	double most, seconds;    /* the largest amount, and the mean time, of its rounds */
	struct verify_result *result;
	bool not_judged; /* this series gives no verdict on this cell */
};

/* True: it has reached a verdict. */
typedef bool judge_check(struct judged *j);
/* Lists of checks by group, ended by NULL. `uncounted`: for a socket without a cell of this metric;
 * the own cell is that of another socket. */
extern judge_check *const stream_checks[], *const uncounted_checks[];
extern judge_check *const device_checks[], *const lookup_checks[];
extern judge_check *const latency_checks[];
extern judge_check *const power_checks[], *const clock_checks[], *const ceiling_checks[];
extern judge_check *const gpu_checks[];

/* ---- judge.c: verdicts ---- */

/* Sets the verdict and its reason, and returns true. `fault`: NULL if it is not a known one. */
bool judge_conclude(struct judged *j, enum verify_verdict verdict, const char *fault,
		    const char *fmt, ...) __attribute__((format(printf, 4, 5)));
#define judge_proved(j, ...) judge_conclude(j, VERIFY_PROVED, NULL, __VA_ARGS__)
#define judge_off(j, fault, ...) judge_conclude(j, VERIFY_OFF, fault, __VA_ARGS__)
#define judge_unknown(j, fault, ...) judge_conclude(j, VERIFY_UNKNOWN, fault, __VA_ARGS__)

/* A wrong factor that is known. The meaning of `other`, which may be NULL, depends on the group. */
struct judge_factor {
	double factor;
	const char *fault, *other, *sentence;
};
/* The first one of a list ended by a factor of 0 from which the ratio deviates by at most `near`
 * and the tolerance (relative to the factor, at most `most`), or NULL. */
const struct judge_factor *judge_find_factor(const struct judge_factor *known, double ratio,
					     double near, double tolerance, double most);

/* Checks for the lists of other files. */
judge_check judge_quiet, judge_yielding, judge_slope;
/* Conclude if the memory, or (judge_rounds) the memory or the rounds, allow no verdict. */
judge_check judge_memory, judge_rounds;
/* Concludes if all counters ran all the time in too few rounds. */
judge_check judge_few_rounds;

/* ---- judge.c: slopes ---- */

/* The fit of the cell's amounts, or requests, over the rounds in which it was measured. */
void judge_fit(const struct verify_series *s, size_t cell, bool requests, struct verify_fit *into);

/* The limits for hardware, as parts of the moved data: less, more, and counted at another place
 * (astray). */
struct judge_limits {
	double less, more, astray;
};
const struct judge_limits *judge_limits(const struct judged *j);
/* Within the limits: the slope stands for all data; for none of them. */
bool judge_is_all(const struct judged *j, const struct verify_fit *fit);
bool judge_is_own_all(const struct judged *j);
bool judge_is_nothing(const struct judged *j);
/* The largest part of each moved byte by which a change in the traffic of other programs may
 * falsify the slope. */
double judge_yield(const struct judged *j, const struct verify_fit *f);
/* Beyond this standard error of a slope there is no verdict. */
#define JUDGE_ERROR_MOST 0.005
/* The largest deviation from a factor with a name, and the largest error of a share. */
#define JUDGE_FACTOR 0.02

/* Whether the cell is a channel of the own socket and metric, and the limits of its share (1:
 * even). Below JUDGE_SHARE_NONE it counts nothing. */
bool judge_is_channel(const struct judged *j, size_t cell);
#define JUDGE_SHARE_LEAST 0.75
#define JUDGE_SHARE_MOST 1.25
#define JUDGE_SHARE_NONE 0.05

/* ---- judge.c: counts at other places, which must not count the data of the series ---- */

/* Whether the cell, of the same family and group, is that of a socket, has a slope, and must not
 * count the data. */
bool judge_is_other(const struct judged *j, size_t cell);

/* How a group reads other places. */
struct judge_view {
	/* The counts of the cell. False: it is not such a place, or has no counts. */
	bool (*count)(const struct judged *j, size_t cell, struct verify_fit *into);
	bool (*is_all)(const struct judged *j, const struct verify_fit *fit);
};

/* Cells of other places that count all data (the last one of several), or NULL. */
struct judge_places {
	const struct verify_cell *place; /* the same metric */
	const struct verify_cell *kind;  /* another metric at the own place */
	const struct verify_cell *both;  /* another metric at another place */
};
struct judge_places judge_find_all(const struct judged *j, const struct judge_view *view);

/* The cell that certainly counts a part of the data, the largest one: its slope is above `least` by
 * twice the error (by four times an error above `error_most`), and above judge_yield(). Other cells
 * with such an error, or with a slope between these limits, may count a part: they are noisy. */
struct judge_part {
	const struct verify_cell *cell; /* NULL: none */
	struct verify_fit fit;
	const struct verify_cell *noisy; /* the first noisy cell; NULL: none */
	double noise;                    /* the largest part that it may count */
};
struct judge_part judge_find_part(const struct judged *j, const struct judge_view *view,
				  double least, double error_most);
/* `error_most` for the bytes of streams and devices. */
#define JUDGE_PART_ERROR 0.01
/* True: no part was found, but the noisy cell may count one. `whole` is the slope that stands for
 * all data. `place`: NULL for its socket. */
bool judge_is_noisy(struct judged *j, const struct judge_part *part, double whole,
		    const char *place);

#endif
