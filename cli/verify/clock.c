/* SPDX-License-Identifier: MIT */
/* Clocks, which need no traffic: their frequency is compared with another source. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "output/table.h"
#include "verify/judge.h"

/* The counter and RDTSC are read at nearly the same time; the tolerance is for reading many
 * CPUs. */
#define TICKS_NEAR 0.001
/* Spread spectrum lowers the clock of memory by up to 0.5 %. The speed of modules is a rounded
 * number (2933 for 2933.33), and oscillators are within 100 ppm: that adds 0.1 %. */
#define MODULES_LESS 0.006
#define MODULES_MORE 0.001
#define FACTOR_NEAR 0.01
#define CHANGES_MOST 0.005 /* error of the frequency beyond which there is no verdict */
#define STOPS 0.01         /* a clock that is slower by this on an idle machine stops at times */

#define NS 1e9 /* the amount of a busy CPU is in nanoseconds */

static const char *distance(double ratio, char text[24])
{
	snprintf(text, 24, "%.2f %%", fabs(ratio - 1) * 100);
	return text;
}

/* ---- the time-stamp counter: counted by the kernel, and read by RDTSC ---- */

static double error_of_ratio(const struct judged *j, size_t witness)
{
	double sum = 0, squares = 0, count = 0;

	for (size_t i = 0; i < j->series->round_count; i++) {
		const struct verify_reading *a = verify_reading_of(j->series, i, j->own);
		const struct verify_reading *b = verify_reading_of(j->series, i, witness);
		double ratio = a->amount / a->seconds / (b->amount / b->seconds);

		if (!isfinite(ratio))
			continue;
		sum += ratio;
		squares += ratio * ratio;
		count++;
	}
	return count > 1 ? sqrt(fmax(squares - sum * sum / count, 0) / (count - 1) / count) : NAN;
}

static void conclude_ticks(struct judged *j)
{
	double ratio = j->result->fit.slope, near = TICKS_NEAR + 2 * j->result->fit.error;
	double whole = round(ratio);
	struct human known;
	char text[24];

	human_value(&known, j->result->known, "Hz");
	if (fabs(ratio - 1) <= near)
		judge_conclude(j, VERIFY_PROVED, NULL, "RDTSC: %s, difference %s", known.text,
			       distance(ratio, text));
	else if (ratio < near)
		judge_conclude(j, VERIFY_OFF, "nothing", "nothing is counted");
	else if (whole >= 2 && fabs(ratio / whole - 1) <= near)
		judge_conclude(j, VERIFY_OFF, "added",
			       "%.0f times RDTSC: the ticks of %.0f CPUs are added up", whole,
			       whole);
	else
		judge_conclude(j, VERIFY_OFF, NULL, "the factor is %.4f: RDTSC ticks at %s", ratio,
			       known.text);
}

static bool check_ticks(struct judged *j)
{
	size_t witness = judge_witness(j);

	if (strcmp(j->expected->metric, "clock.tsc.frequency") != 0)
		return false;
	if (witness == SIZE_MAX) {
		judge_compare(j, judge_mean(j, j->own, NULL), NAN, NAN, "Hz", NULL);
		judge_conclude(j, VERIFY_UNKNOWN, NULL, "RDTSC was not read for comparison");
		return true;
	}
	judge_compare(j, judge_mean(j, j->own, NULL), judge_mean(j, witness, NULL),
		      error_of_ratio(j, witness), "Hz", "rdtsc");
	conclude_ticks(j);
	return true;
}

/* ---- memory: half of the transfers of its modules ---- */

static bool check_factors(struct judged *j, double ratio, const char *speed)
{
	static const struct {
		double factor;
		const char *fault, *times, *why;
	} known[] = {
		{2, "clock double", "twice", "transfers are taken for cycles"},
		{0.5, "clock half", "half of",
		 "HCLK, or the controllers' clock of gear 2, is taken for DCLK"},
		{4, "clock times 4", "four times", "another clock is taken for DCLK"},
		{0.25, "clock quarter", "a quarter of",
		 "the controllers' clock of gear 4 is taken for DCLK"},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (fabs(ratio / known[i].factor - 1) > FACTOR_NEAR)
			continue;
		judge_conclude(j, VERIFY_OFF, known[i].fault, "%s the clock of %s: %s",
			       known[i].times, speed, known[i].why);
		return true;
	}
	return false;
}

/* If only the rated speed of the modules is known, a slower clock is no fault. */
static void conclude_modules(struct judged *j, double stops)
{
	const struct verify_run *run = j->run;
	double ratio = j->result->fit.slope, near = 2 * j->result->fit.error;
	bool less = ratio<1 - MODULES_LESS - near, more = ratio> 1 + MODULES_MORE + near;
	char speed[64], text[24];
	struct human idle;

	snprintf(speed, sizeof(speed), "%s %.0f MT/s", run->rated ? "modules rated" : "modules at",
		 run->transfers);
	human_value(&idle, j->fits[j->own].rate, "Hz");
	if (!less && !more)
		judge_conclude(j, VERIFY_PROVED, NULL, "%s, difference %s%s%s", speed,
			       distance(ratio, text), stops > STOPS ? "; on an idle machine " : "",
			       stops > STOPS ? idle.text : "");
	else if (less && run->rated)
		judge_conclude(j, VERIFY_UNKNOWN, NULL,
			       "%s may run slower: their configured speed is unknown", speed);
	else if (less && stops > STOPS)
		judge_conclude(j, VERIFY_UNKNOWN, NULL,
			       "the clock stops while the machine is idle (%s then): %s", idle.text,
			       speed);
	else if (!check_factors(j, ratio, speed))
		judge_conclude(j, VERIFY_OFF, NULL, "the factor is %.4f: %s", ratio, speed);
}

/* Uses the frequency while a CPU is busy, since an idle machine may stop the clock for a part of
 * the time. */
static bool check_modules(struct judged *j)
{
	const struct verify_fit *f = &j->fits[j->own];
	double change = f->slope * NS, error = f->error * NS;
	double value = f->rate + change, known = j->run->transfers * 1e6 / 2;

	if (known <= 0 || error > CHANGES_MOST * value) {
		judge_compare(j, value, NAN, NAN, "Hz", NULL);
		judge_conclude(j, VERIFY_UNKNOWN, NULL, "%s",
			       known > 0 ? "the frequency varies too much"
					 : "the speed of the memory modules is unknown: only root "
					   "can read it, if the firmware has it");
		return true;
	}
	judge_compare(j, value, known, error / known, "Hz", "modules");
	conclude_modules(j, change / value);
	return true;
}

judge_check *const clock_checks[] = {judge_mean_rounds, check_ticks, check_modules, NULL};
