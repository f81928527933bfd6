/* SPDX-License-Identifier: MIT */
/* Cells whose mean is compared with a reference: clocks and energy, which need no traffic, and the
 * peak of memory, which all CPUs of a socket together must not exceed. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "verify/judge.h"

#define NS 1e9 /* the amount of a busy CPU is in nanoseconds, and a rate in seconds */

/* ---- means ---- */

/* Concludes if too few rounds were counted. It first removes the slope from the result, since it
 * has no meaning for such a cell. */
static bool check_mean_rounds(struct judged *j)
{
	j->result->fit = (struct verify_fit){NAN, NAN, NAN, j->fit->count};
	return judge_few_rounds(j);
}

/* The amount of all rounds divided by their time, which `seconds` gets (may be NULL). NaN: no round
 * was counted. */
static double mean_of(const struct judged *j, size_t cell, double *seconds)
{
	double amount = 0, time = 0;

	for (size_t i = 0; i < j->series->round_count; i++) {
		const struct verify_reading *r = verify_reading_of(j->series, i, cell);

		if (!isfinite(r->amount) || !isfinite(r->seconds))
			continue;
		amount += r->amount;
		time += r->seconds;
	}
	if (seconds)
		*seconds = time;
	return time > 0 ? amount / time : NAN;
}

/* The cell of the witness; SIZE_MAX: it was not read. */
static size_t witness_of(const struct judged *j)
{
	const struct verify_expectation *e = j->expected;
	const size_t first = j->series->first_cell;

	if (!e->witness.name || strcmp(j->cell->family, e->witness.family) != 0)
		return SIZE_MAX;
	for (size_t i = first; i < first + j->series->cell_count; i++) {
		const struct verify_cell *c = &j->run->cells[i];

		if (c->expected == e && verify_is_witness(c) && c->socket == j->cell->socket &&
		    isfinite(mean_of(j, i, NULL)))
			return i;
	}
	return SIZE_MAX;
}

/* Stores both values and their ratio in the result. `error` is that of the ratio. */
static void compare(struct judged *j, double value, double known, double error, const char *unit,
		    const char *basis)
{
	struct verify_result *r = j->result;

	r->value = value;
	r->known = known;
	r->unit = unit;
	r->basis = basis;
	if (known > 0) {
		r->fit.slope = value / known;
		r->fit.error = error;
	}
}

/* ---- clocks: their frequency ---- */

/* The counter and RDTSC are read at nearly the same time; the tolerance is for reading many
 * CPUs. */
#define TICKS_NEAR 0.001
/* Spread spectrum lowers the clock of memory by up to 0.5 %. The speed of modules is a rounded
 * number (2933 for 2933.33), and oscillators are within 100 ppm: that adds 0.1 %. */
#define MODULES_LESS 0.006
#define MODULES_MORE 0.001
#define CLOCK_FACTOR_NEAR 0.01
#define CHANGES_MOST 0.005 /* error of the frequency beyond which there is no verdict */
#define STOPS 0.01         /* a clock that is slower by this on an idle machine stops at times */

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

/* The time-stamp counter is counted by the kernel, and read by RDTSC. */
static bool check_ticks(struct judged *j)
{
	double value = mean_of(j, j->own, NULL), ratio, near, whole;
	size_t witness = witness_of(j);

	if (strcmp(j->expected->metric, "clock.tsc.frequency") != 0)
		return false;
	if (witness == SIZE_MAX) {
		compare(j, value, NAN, NAN, "Hz", NULL);
		return judge_unknown(j, NULL, "RDTSC was not read for comparison");
	}
	compare(j, value, mean_of(j, witness, NULL), error_of_ratio(j, witness), "Hz", "rdtsc");
	ratio = j->result->fit.slope;
	near = TICKS_NEAR + 2 * j->result->fit.error;
	whole = round(ratio);
	if (fabs(ratio - 1) <= near)
		return judge_proved(j, "RDTSC: %s, difference %.2f %%",
				    human(j->result->known, "Hz").text, fabs(ratio - 1) * 100);
	if (ratio < near)
		return judge_off(j, "nothing", "nothing is counted");
	if (whole >= 2 && fabs(ratio / whole - 1) <= near)
		return judge_off(j, "added",
				 "%.0f times RDTSC: the ticks of %.0f CPUs are added up", whole,
				 whole);
	return judge_off(j, NULL, "the factor is %.4f: RDTSC ticks at %s", ratio,
			 human(j->result->known, "Hz").text);
}

/* The clock of memory is half of the transfers of its modules. If only their rated speed is known,
 * a slower clock is no fault. `stops`: the part by which the clock is slower on an idle machine. */
static bool conclude_modules(struct judged *j, double stops)
{
	/* `other` is the size relative to the correct clock. */
	static const struct judge_factor known[] = {
		{2, "clock double", "twice", "transfers are taken for cycles"},
		{0.5, "clock half", "half of",
		 "HCLK, or the controllers' clock of gear 2, is taken for DCLK"},
		{4, "clock times 4", "four times", "another clock is taken for DCLK"},
		{0.25, "clock quarter", "a quarter of",
		 "the controllers' clock of gear 4 is taken for DCLK"},
		{0, NULL, NULL, NULL},
	};
	const struct verify_run *run = j->run;
	const struct human idle = human(j->fit->rate, "Hz");
	const struct judge_factor *f;
	double ratio = j->result->fit.slope, near = 2 * j->result->fit.error;
	bool less = ratio + near<1 - MODULES_LESS, more = ratio - near> 1 + MODULES_MORE;
	char speed[64];

	snprintf(speed, sizeof(speed), "%s %.0f MT/s", run->rated ? "modules rated" : "modules at",
		 run->transfers);
	if (!less && !more)
		return judge_proved(j, "%s, difference %.2f %%%s%s", speed, fabs(ratio - 1) * 100,
				    stops > STOPS ? "; on an idle machine " : "",
				    stops > STOPS ? idle.text : "");
	if (less && run->rated)
		return judge_unknown(j, NULL,
				     "%s may run slower: their configured speed is unknown", speed);
	if (less && stops > STOPS)
		return judge_unknown(j, NULL,
				     "the clock stops while the machine is idle (%s then): %s",
				     idle.text, speed);
	f = judge_find_factor(known, ratio, CLOCK_FACTOR_NEAR, 0, INFINITY);
	if (f)
		return judge_off(j, f->fault, "%s the clock of %s: %s", f->other, speed,
				 f->sentence);
	return judge_off(j, NULL, "the factor is %.4f: %s", ratio, speed);
}

/* Uses the frequency while a CPU is busy, since an idle machine may stop the clock for a part of
 * the time. */
static bool check_modules(struct judged *j)
{
	double change = j->fit->slope * NS, error = j->fit->error * NS;
	double value = j->fit->rate + change, known = j->run->transfers * 1e6 / 2;
	bool compares = known > 0 && !(error > CHANGES_MOST * value);

	compare(j, value, compares ? known : (double)NAN, error / known, "Hz",
		compares ? "modules" : NULL);
	if (compares)
		return conclude_modules(j, change / value);
	return judge_unknown(j, NULL, "%s",
			     known > 0
				     ? "the frequency varies too much"
				     : "the speed of the memory modules is unknown: only root can "
				       "read it, if the firmware has it");
}

judge_check *const clock_checks[] = {check_mean_rounds, check_ticks, check_modules, NULL};

/* ---- energy: it must rise when a CPU is busy, and equal that of powercap ---- */

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
#define SHIFT_MOST 16         /* units of energy are powers of 2 */
#define UNIT "unit of energy" /* the name of a fault */

static bool is_of(const struct judged *j, const char *metric)
{
	return strcmp(j->expected->metric, metric) == 0;
}

/* In virtual machines energy counters often never change; and some CPUs count only a part of the
 * domains. */
static bool check_still(struct judged *j)
{
	size_t witness = witness_of(j);
	double value = mean_of(j, j->own, NULL);
	double known = witness == SIZE_MAX ? (double)NAN : mean_of(j, witness, NULL);

	compare(j, value, known, NAN, "W", witness == SIZE_MAX ? NULL : "powercap");
	if (value > 0)
		return false;
	if (*j->run->hypervisor)
		return judge_unknown(j, NULL,
				     "the counter does not change: in a virtual machine (%s) "
				     "energy is often not counted",
				     j->run->hypervisor);
	if (known > 0)
		return judge_off(j, "nothing", "nothing is counted, but powercap counts energy");
	if (is_of(j, "power.package") && !(known <= 0))
		return judge_off(j, "nothing", "nothing is counted, but every package uses energy");
	return judge_unknown(j, NULL, "the counter does not change: not all CPUs have this domain");
}

/* The power of an idle machine plus one busy CPU. The amount that the first CPU adds includes
 * shared parts, so that it cannot be multiplied. */
static bool check_limit(struct judged *j)
{
	double busy = (j->fit->slope - 2 * j->fit->error) * NS;
	double most = j->fit->rate + fmax(busy, 0), limit = j->run->limit;

	if (!is_of(j, "power.package") || limit <= 0 || most <= LIMIT_PEAKS * limit)
		return false;
	return judge_conclude(
		j, most > LIMIT_MOST * limit ? VERIFY_OFF : VERIFY_UNKNOWN,
		most > LIMIT_MOST * limit ? UNIT : NULL,
		"%s with one busy CPU, but the limit of the package is %s: the unit of energy or "
		"the limit is wrong",
		human(most, "W").text, human(limit, "W").text);
}

static bool name_factor(struct judged *j, double ratio)
{
	static const struct judge_factor known[] = {
		{1e6, UNIT, NULL, "a million times too much: microjoules are taken for joules"},
		{1e-6, UNIT, NULL, "a million times too little: joules are taken for microjoules"},
		{1e3, UNIT, NULL, "a thousand times too much: millijoules are taken for joules"},
		{1e-3, UNIT, NULL, "a thousand times too little: joules are taken for millijoules"},
		{0, NULL, NULL, NULL},
	};
	/* Memory of some servers has a unit of its own. */
	static const struct judge_factor of_memory[] = {
		{4, UNIT, NULL, "4 times too much: memory has units of 15.3 uJ, not 61 uJ"},
		{0.25, UNIT, NULL, "4 times too little: memory has units of 61 uJ, not 15.3 uJ"},
		{0, NULL, NULL, NULL},
	};
	const struct judge_factor *f = judge_find_factor(known, ratio, FACTOR_NEAR, 0, INFINITY);
	double shift = round(log2(ratio));

	if (!f && is_of(j, "power.memory"))
		f = judge_find_factor(of_memory, ratio, FACTOR_NEAR, 0, INFINITY);
	if (f)
		return judge_off(j, f->fault, "%s", f->sentence);
	if (fabs(shift) < 1 || fabs(shift) > SHIFT_MOST ||
	    fabs(ratio / exp2(shift) - 1) > FACTOR_NEAR)
		return false;
	if ((int)shift == 1)
		return judge_off(j, "double",
				 "twice as much as powercap: another unit, or two dies or packages "
				 "are added up");
	return judge_off(j, UNIT, "2^%.0f times powercap: another unit of energy", shift);
}

static bool check_witness(struct judged *j)
{
	double seconds, ratio = j->result->fit.slope, near;

	if (!isfinite(ratio))
		return false;
	mean_of(j, j->own, &seconds);
	near = NEAR + 2 * UPDATE / seconds;
	j->result->fit.error = UPDATE / seconds;
	if (fabs(ratio - 1) <= near)
		return false;
	return name_factor(j, ratio) ||
	       judge_off(j, NULL, "the factor is %.4f: powercap counts %.1f %% %s", ratio,
			 fabs(1 / ratio - 1) * 100, ratio < 1 ? "more" : "less");
}

/* The power of memory need not rise. */
static bool check_rise(struct judged *j)
{
	double busy = j->fit->slope * NS, error = j->fit->error * NS;

	if (is_of(j, "power.memory") || busy > fmax(RISE_LEAST, 2 * error))
		return false;
	return judge_unknown(j, NULL,
			     "a busy CPU adds only %.2f W ± %.2f: the machine is busy, or other "
			     "virtual machines are counted, too",
			     busy, error);
}

static bool check_proof(struct judged *j)
{
	const struct human busy = human(j->fit->slope * NS, "W");

	if (isfinite(j->result->fit.slope))
		return judge_proved(j, "powercap: %s; %s more when a CPU is busy",
				    human(j->result->known, "W").text, busy.text);
	return judge_unknown(j, NULL,
			     "%s more when a CPU is busy, but the unit cannot be checked: powercap "
			     "is missing, or only root can read it",
			     busy.text);
}

judge_check *const power_checks[] = {
	check_mean_rounds, check_still, check_limit, check_witness, check_rise, check_proof, NULL,
};

/* ---- the peak of a socket's memory, with which values are compared ---- */

/* A stream is uncertain by a chunk for each CPU and round, which is 0.1 % of 2.5 GB/s, and the
 * speed of modules is a rounded number. */
#define PEAK_MORE 0.01
/* Published results of STREAM are 75 % to 92 % of the peak of servers. Far below that, something
 * other than memory limits the stream. */
#define PEAK_LESS 0.6
#define COUNTED_LEAST 0.95 /* of the loaded data: the rest may have come from caches */
#define ROUNDS_LEAST 3
#define CACHES_LEAST 2 /* times the caches, so that at most half of the memory can be in them */

/* Compares the best round with the amount that the peak allows in the same time. */
static bool check_best(struct judged *j)
{
	const struct verify_series *s = j->series;
	double best = 0, peak = 0;
	size_t count = 0;

	for (size_t i = 0; i < s->round_count; i++) {
		const struct verify_reading *r = verify_reading_of(s, i, j->own);

		if (!isfinite(r->amount) || !(r->seconds > 0) || !(r->amount > 0))
			continue;
		count++;
		peak = r->amount / r->seconds;
		best = fmax(best, s->moved[i] / r->seconds);
	}
	j->result->fit = (struct verify_fit){NAN, NAN, NAN, count};
	if (count < ROUNDS_LEAST)
		return judge_unknown(j, NULL, "too few rounds to tell");
	compare(j, best, peak, NAN, "B/s", j->cell->family);
	return false;
}

static double caches(const struct judged *j)
{
	return fmax(j->run->caches, j->run->cache);
}

/* The part of the loaded data that the socket's counters of DRAM count; NaN: they were not read. */
static double counted(const struct judged *j)
{
	const struct verify_series *s = j->series;
	double sum = 0, moved = 0;

	for (size_t i = s->first_cell; moved <= 0 && i < s->first_cell + s->cell_count; i++) {
		const struct verify_cell *c = &j->run->cells[i];

		if (strcmp(c->metric, "memory.read.bandwidth") != 0 || c->channel >= 0 ||
		    c->socket != s->socket)
			continue;
		for (size_t k = 0; k < s->round_count; k++) {
			const struct verify_reading *r = verify_reading_of(s, k, i);

			sum += isfinite(r->amount) ? r->amount : 0;
			moved += isfinite(r->amount) ? s->moved[k] : 0;
		}
	}
	return moved > 0 ? sum / moved : NAN;
}

static bool check_from_memory(struct judged *j)
{
	const struct verify_series *s = j->series;
	double part = counted(j);

	if (judge_memory(j))
		return true;
	if (s->memory < CACHES_LEAST * caches(j))
		return judge_unknown(
			j, NULL,
			"caches of %.0f MiB may hold a part of the %.0f MiB that were loaded",
			caches(j) / (1 << 20), s->memory / (1 << 20));
	return part < COUNTED_LEAST &&
	       judge_unknown(j, NULL,
			     "memory.read counts %.0f %% of the loaded data: the rest came from "
			     "caches, or it counts too little",
			     part * 100);
}

static bool check_too_low(struct judged *j)
{
	const struct verify_result *r = j->result;
	const struct human peak = human(r->known, "B/s");
	double most = 1 + PEAK_MORE;
	/* Caches can answer only the part of the memory that fits into them. */
	double least = isfinite(counted(j)) ? 1 : 1 - caches(j) / j->series->memory;

	if (r->fit.slope <= most)
		return false;
	if (r->fit.slope * least <= most)
		return judge_unknown(j, NULL,
				     "%.0f %% of the peak of %s: up to %.0f %% may have come from "
				     "caches, and there is no counter of memory to check it",
				     r->fit.slope * 100, peak.text, (1 - least) * 100);
	return judge_off(
		j, "peak too low",
		"the best stream moves %s, more than the peak of %s: the peak is too low (%s)",
		human(r->value, "B/s").text, peak.text,
		strcmp(r->basis, "user") == 0 ? "--memory-peak is wrong"
		: strcmp(r->basis, "hsmp") == 0
			? "hsmp reports too few channels, or uses another unit"
			: "modules or channels are missing in the table of "
			  "the firmware, or their speed is wrong");
}

static bool check_reached(struct judged *j)
{
	const struct verify_result *r = j->result;
	const struct human peak = human(r->known, "B/s");
	double part = counted(j);
	char beside[64] = "";

	if (isfinite(part))
		snprintf(beside, sizeof(beside), "; memory.read counts %.1f %% of it", part * 100);
	if (r->fit.slope >= PEAK_LESS)
		return judge_proved(j, "consistent: %.0f %% of the peak of %s%s",
				    r->fit.slope * 100, peak.text, beside);
	return judge_unknown(j, NULL, "the usable CPUs (%d) reach only %.0f %% of the peak of %s%s",
			     j->series->cpus, r->fit.slope * 100, peak.text, beside);
}

judge_check *const ceiling_checks[] = {check_best, check_from_memory, check_too_low, check_reached,
				       NULL};
