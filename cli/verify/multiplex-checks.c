/* SPDX-License-Identifier: MIT */
/* Multiplexed counters are compared with the same counters alone: extrapolation by the kernel's
 * times must give the same counts. */
#include <math.h>
#include <string.h>

#include "verify/judge.h"

/* The largest difference. A time slice lasts some milliseconds, and the times of a counter begin
 * and end some microseconds before or after it counts: up to a hundredth, for any number of time
 * slices. Prefetchers may read more or less beyond the end of small moves: another hundredth.
 * Differences between time slices are in the error, which decreases with their number and with the
 * coverage. */
#define LIMIT 0.02
/* The largest error of both, relative to the moved data, with which there is a verdict. The printed
 * deviation includes twice the error. */
#define ERROR_MOST 0.015
/* The fewest rounds with even traffic: with fewer the error itself is too uncertain. */
#define ROUNDS_LEAST 6
/* The coverage of a row is that of the PMU with the fewest time slices. */
#define COVERAGE_NEAR 0.15
#define SLOPE_LEAST 0.05 /* without multiplexing; less is a fault reported there */

/* The fit of the cell in this series, if that has the same data without multiplexing. */
static bool find_in(const struct judged *j, const struct verify_series *s, struct verify_fit *into)
{
	const struct verify_cell *own = &j->run->cells[j->own];

	if (s->coverage > 0 || s->load != j->series->load || s->node != j->series->node ||
	    s->cpu_socket != j->series->cpu_socket)
		return false;
	for (size_t i = s->first_cell; i < s->first_cell + s->cell_count; i++) {
		const struct verify_cell *c = &j->run->cells[i];

		if (strcmp(c->metric, own->metric) != 0 || c->socket != own->socket ||
		    strcmp(c->family, own->family) != 0 || c->channel >= 0)
			continue;
		judge_fit(s, i, false, into);
		return isfinite(into->slope) && into->slope > SLOPE_LEAST &&
		       into->error <= ERROR_MOST * into->slope;
	}
	return false;
}

static bool find_alone(const struct judged *j, struct verify_fit *into)
{
	for (size_t i = 0; i < j->run->series_count; i++)
		if (find_in(j, &j->run->series[i], into))
			return true;
	return false;
}

static bool check_alone(struct judged *j)
{
	struct verify_fit alone;

	j->not_judged = !find_alone(j, &alone);
	return j->not_judged;
}

static bool check_even(struct judged *j)
{
	const size_t count = j->series->round_count;

	if (count >= ROUNDS_LEAST)
		return false;
	judge_conclude(
		j, VERIFY_UNKNOWN, "busy",
		"traffic was even in only %zu rounds, because other programs used the CPU: use "
		"more --time, or a quieter machine",
		count);
	return true;
}

static bool check_error(struct judged *j)
{
	double error = j->fits[j->own].error;

	if (error <= ERROR_MOST * fmax(1, j->slope))
		return false;
	judge_conclude(
		j, VERIFY_UNKNOWN, "busy",
		"multiplexed counts vary by %.1f %% of the moved data: use more --time, or a "
		"quieter machine",
		error * 100);
	return true;
}

static bool check_extrapolated(struct judged *j)
{
	double coverage = j->series->coverage, ratio, twice, limit;
	struct verify_fit alone;

	if (!find_alone(j, &alone))
		return false;
	ratio = j->slope / alone.slope;
	twice = 2 * hypot(j->fits[j->own].error, alone.error * ratio) / alone.slope;
	limit = LIMIT + twice;
	if (fabs(ratio - 1) <= limit)
		judge_conclude(
			j, VERIFY_PROVED, NULL,
			"multiplexed counts (coverage %.0f %%) agree within %.1f %% with the "
			"counts without multiplexing",
			coverage * 100, fmax(0.1, ceil((fabs(ratio - 1) + twice) * 1e3) / 10));
	else if (fabs(ratio / coverage - 1) <= COVERAGE_NEAR + limit)
		judge_conclude(
			j, VERIFY_OFF, "not extrapolated",
			"%.0f %% of it: multiplexed counts (coverage %.0f %%) are not extrapolated",
			ratio * 100, coverage * 100);
	else if (fabs(ratio * coverage - 1) <= COVERAGE_NEAR + limit)
		judge_conclude(j, VERIFY_OFF, "extrapolated twice",
			       "%.2f times as much: multiplexed counts (coverage %.0f %%) are "
			       "extrapolated twice",
			       ratio, coverage * 100);
	else
		judge_conclude(j, VERIFY_OFF, "multiplexed",
			       "multiplexed counts (coverage %.0f %%) are %.4f of the counts "
			       "without multiplexing",
			       coverage * 100, ratio);
	return true;
}

judge_check *const multiplex_checks[] = {check_alone, check_even,         judge_rounds,
					 check_error, check_extrapolated, NULL};
