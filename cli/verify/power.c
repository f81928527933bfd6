/* SPDX-License-Identifier: MIT */
/* Energy: it must rise when a CPU is busy, and equal that of powercap. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "output/table.h"
#include "verify/judge.h"

/* Both read the same register, one after the other. It changes once in a millisecond, so that at
 * each end of the series one of them may miss an update that the other one has. */
#define NEAR 0.01
#define UPDATE 0.001 /* s */
/* The smallest rise by one busy CPU. The smallest cores take some hundred milliwatts. */
#define RISE_LEAST 0.1 /* W */
/* Short peaks may exceed the power limit. A value of ten times the limit means another unit. */
#define LIMIT_PEAKS 1.5
#define LIMIT_MOST 10.0
#define FACTOR_NEAR 0.015
#define SHIFT_MOST 16 /* units of energy are powers of 2 */
#define NS 1e9        /* the amount of a busy CPU is in nanoseconds */

struct rise {
	double idle, busy, error; /* W; `busy` is the power that one busy CPU adds */
};

static struct rise rise_of(const struct judged *j)
{
	const struct verify_fit *f = &j->fits[j->own];

	return (struct rise){f->rate, f->slope * NS, f->error * NS};
}

static bool is_of(const struct judged *j, const char *metric)
{
	return strcmp(j->expected->metric, metric) == 0;
}

/* "; 3.200 W more when a CPU is busy" */
static const char *rise_text(const struct judged *j, char text[112])
{
	struct human busy;

	human_value(&busy, rise_of(j).busy, "W");
	snprintf(text, 112, "%s more when a CPU is busy", busy.text);
	return text;
}

/* ---- checks ---- */

/* In virtual machines energy counters often never change; and some CPUs count only a part of the
 * domains. */
static bool check_still(struct judged *j)
{
	size_t witness = judge_witness(j);
	double value = judge_mean(j, j->own, NULL);
	double known = witness == SIZE_MAX ? (double)NAN : judge_mean(j, witness, NULL);

	judge_compare(j, value, known, NAN, "W", witness == SIZE_MAX ? NULL : "powercap");
	if (value > 0)
		return false;
	if (*j->run->hypervisor)
		judge_conclude(
			j, VERIFY_UNKNOWN, NULL,
			"the counter does not change: in a virtual machine (%s) energy is often not "
			"counted",
			j->run->hypervisor);
	else if (known > 0)
		judge_conclude(j, VERIFY_OFF, "nothing",
			       "nothing is counted, but powercap counts energy");
	else if (is_of(j, "power.package") && !(known <= 0))
		judge_conclude(j, VERIFY_OFF, "nothing",
			       "nothing is counted, but every package uses energy");
	else
		judge_conclude(j, VERIFY_UNKNOWN, NULL,
			       "the counter does not change: not all CPUs have this domain");
	return true;
}

/* The power of an idle machine plus one busy CPU. The amount that the first CPU adds includes
 * shared parts, so that it cannot be multiplied. */
static bool check_limit(struct judged *j)
{
	const struct rise r = rise_of(j);
	double most = r.idle + fmax(r.busy - 2 * r.error, 0), limit = j->run->limit;
	struct human value, allowed;

	if (!is_of(j, "power.package") || limit <= 0 || most <= LIMIT_PEAKS * limit)
		return false;
	human_value(&value, most, "W");
	human_value(&allowed, limit, "W");
	judge_conclude(j, most > LIMIT_MOST * limit ? VERIFY_OFF : VERIFY_UNKNOWN,
		       most > LIMIT_MOST * limit ? "unit of energy" : NULL,
		       "%s with one busy CPU, but the limit of the package is %s: the unit "
		       "of energy or the limit is wrong",
		       value.text, allowed.text);
	return true;
}

static bool name_factor(struct judged *j, double ratio)
{
	static const struct {
		double factor;
		const char *sentence;
	} known[] = {
		{1e6, "a million times too much: microjoules are taken for joules"},
		{1e-6, "a million times too little: joules are taken for microjoules"},
		{1e3, "a thousand times too much: millijoules are taken for joules"},
		{1e-3, "a thousand times too little: joules are taken for millijoules"},
	};
	double shift = round(log2(ratio));

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (fabs(ratio / known[i].factor - 1) <= FACTOR_NEAR) {
			judge_conclude(j, VERIFY_OFF, "unit of energy", "%s", known[i].sentence);
			return true;
		}
	if (fabs(shift) < 1 || fabs(shift) > SHIFT_MOST ||
	    fabs(ratio / exp2(shift) - 1) > FACTOR_NEAR)
		return false;
	if (is_of(j, "power.memory") && (int)fabs(shift) == 2)
		judge_conclude(
			j, VERIFY_OFF, "unit of energy",
			shift > 0 ? "4 times too much: memory has units of 15.3 uJ, not 61 uJ"
				  : "4 times too little: memory has units of 61 uJ, not 15.3 uJ");
	else if ((int)shift == 1)
		judge_conclude(
			j, VERIFY_OFF, "double",
			"twice as much as powercap: another unit, or two dies or packages are added up");
	else
		judge_conclude(j, VERIFY_OFF, "unit of energy",
			       "2^%.0f times powercap: another unit of energy", shift);
	return true;
}

static bool check_witness(struct judged *j)
{
	double seconds, ratio = j->result->fit.slope, near;

	if (!isfinite(ratio))
		return false;
	judge_mean(j, j->own, &seconds);
	near = NEAR + 2 * UPDATE / seconds;
	j->result->fit.error = UPDATE / seconds;
	if (fabs(ratio - 1) <= near)
		return false;
	if (!name_factor(j, ratio))
		judge_conclude(j, VERIFY_OFF, NULL,
			       "the factor is %.4f: powercap counts %.1f %% %s", ratio,
			       fabs(1 / ratio - 1) * 100, ratio < 1 ? "more" : "less");
	return true;
}

/* The power of memory need not rise. */
static bool check_rise(struct judged *j)
{
	const struct rise r = rise_of(j);

	if (is_of(j, "power.memory") || r.busy > fmax(RISE_LEAST, 2 * r.error))
		return false;
	judge_conclude(j, VERIFY_UNKNOWN, NULL,
		       "a busy CPU adds only %.2f W ± %.2f: the machine is busy, or other virtual "
		       "machines are counted, too",
		       r.busy, r.error);
	return true;
}

static bool conclude(struct judged *j)
{
	char rise[112];
	struct human known;

	human_value(&known, j->result->known, "W");
	if (isfinite(j->result->fit.slope))
		judge_conclude(j, VERIFY_PROVED, NULL, "powercap: %s; %s", known.text,
			       rise_text(j, rise));
	else
		judge_conclude(
			j, VERIFY_UNKNOWN, NULL,
			"%s, but the unit cannot be checked: powercap is missing, or only root can "
			"read it",
			rise_text(j, rise));
	return true;
}

judge_check *const power_checks[] = {
	judge_mean_rounds, check_still, check_limit, check_witness, check_rise, conclude, NULL,
};
