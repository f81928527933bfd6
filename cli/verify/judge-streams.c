/* SPDX-License-Identifier: MIT */
/* Metrics that count the data of streams: memory, links, agents and fabrics. */
#include <math.h>
#include <string.h>

#include "base/buffer.h"
#include "verify/judge.h"

#define LOST_ALIKE 0.01 /* the largest difference between the missing parts of loads and stores */
#define PART_LEAST 0.1  /* of the moved data, in memory of another kind */
/* The largest deviation from a factor of units: 1/1.024 and a loss of 3 % differ by 0.007. */
#define UNITS_NEAR 0.003
#define UNITS_NEAR_MOST 0.005

static bool count_there(const struct judged *j, size_t cell, struct verify_fit *into)
{
	*into = j->fits[cell];
	return judge_is_other(j, cell);
}

static const struct judge_view others = {count_there, judge_is_all};

/* Whether a cell certainly counts a part of the data. */
static bool has_part(const struct verify_fit *f)
{
	return f->slope > PART_LEAST + 4 * f->error;
}

/* The counters that count a node show its kind of memory. Other kinds are not judged by the node:
 * most nodes have DRAM, so that counters of other kinds need not count, even if those of DRAM count
 * nothing. */
static bool check_kind(struct judged *j)
{
	const struct verify_cell *other = NULL; /* memory of another kind that counts a part */
	bool dram = j->expected->memory == VERIFY_DRAM && !j->series->bare;

	if (j->expected->group != VERIFY_MEMORY)
		return false;
	for (size_t i = 0; !other && i < j->run->cell_count; i++) {
		const struct verify_cell *c = &j->run->cells[i];

		if (c->channel < 0 && c->expected->group == VERIFY_MEMORY &&
		    c->expected->memory != j->expected->memory &&
		    verify_is_expected(j->series, c) && has_part(&j->fits[i]))
			other = c;
	}
	j->not_judged = (!dram && !has_part(j->fit)) || (other && judge_is_nothing(j));
	if (j->not_judged || !other)
		return j->not_judged;
	return judge_unknown(j, "two kinds",
			     "%s also counts a part: memory of one kind is a cache of the other",
			     other->metric);
}

/* The machine shows which alternative of the documents is correct. */
static bool check_alternatives(struct judged *j)
{
	for (size_t i = 0; i < j->cell->alternative_count; i++) {
		const struct verify_alternative *a = &j->cell->alternatives[i];
		const struct verify_fit right = {.slope = j->fit->slope * a->factor,
						 .error = j->fit->error * a->factor};

		if (!judge_is_all(j, &right))
			continue;
		if (judge_is_own_all(j))
			return judge_proved(j, "%s", a->title);
		return judge_off(j, "alternative",
				 "%s, but the formula assumes otherwise: the correct value is %g "
				 "times as large",
				 a->title, a->factor);
	}
	return false;
}

static bool check_swapped(struct judged *j)
{
	const struct judge_places at = judge_find_all(j, &others);
	const char *name = j->expected->name;
	const int node = j->series->node;

	if (!judge_is_nothing(j))
		return false;
	if (at.place && at.kind) /* of two sockets, one sends what the other one receives */
		return judge_off(
			j, "sockets or directions swapped",
			"%s are counted as %s, or the counters of socket %d as those of socket %d",
			name, at.kind->expected->name, at.kind->socket, at.place->socket);
	if (at.place)
		return judge_off(j, "sockets swapped", "socket %d's counters count node %d",
				 at.place->socket, node);
	if (at.kind)
		return judge_off(j,
				 j->expected->group == VERIFY_AGENTS ? "kinds swapped"
								     : "directions swapped",
				 "%s are counted as %s", name, at.kind->expected->name);
	return at.both && judge_off(j, "sockets and directions swapped",
				    "%s of node %d are counted as %s of socket %d", name, node,
				    at.both->expected->name, at.both->socket);
}

/* The part of the stream's memory that fits into caches. */
static double room_of_caches(const struct judged *j)
{
	const double memory = j->series->memory;

	return memory > 0 ? fmin(1, j->run->cache / memory) : 0;
}

/* Whether caches may have kept the missing part. */
static bool may_be_kept(const struct judged *j)
{
	return j->slope < 1 &&
	       j->slope >= 1 - room_of_caches(j) - judge_limits(j)->less - j->tolerance &&
	       (j->series->load == VERIFY_READ || j->run->hinted);
}

/* Reads at the own place while data are stored are probably real, of the lines that are stored
 * to. */
static bool check_allocate(struct judged *j)
{
	const bool far = verify_is_far(j->series);
	const struct verify_fit *reads = NULL;

	if (j->series->load != VERIFY_WRITE || !(judge_is_own_all(j) || may_be_kept(j)))
		return false;
	for (size_t i = 0; !reads && i < j->run->cell_count; i++) {
		const struct verify_cell *c = &j->run->cells[i];

		if (judge_is_other(j, i) && c->socket == j->cell->socket &&
		    verify_expects(c->expected, VERIFY_READ, far))
			reads = &j->fits[i];
	}
	if (!reads || !(reads->slope > judge_limits(j)->astray + 4 * reads->error))
		return false;
	if (judge_is_all(j, reads))
		return judge_unknown(
			j, "write-allocate",
			"each write also reads its line (write-allocate): the stores do not bypass "
			"the caches here, and reads and writes are mixed");
	return judge_unknown(j, "write-allocate",
			     "%.1f %% of the written data are also read (write-allocate): some "
			     "stores do not bypass the caches here",
			     reads->slope * 100);
}

static struct judge_part find_part(const struct judged *j)
{
	return judge_find_part(j, &others, judge_limits(j)->astray, JUDGE_PART_ERROR);
}

static bool conclude_astray(struct judged *j, const struct judge_part *part)
{
	return part->cell &&
	       judge_off(j, "astray", "%.1f %% of what node %d %s is counted as %s of socket %d%s",
			 part->fit.slope * 100, j->series->node,
			 verify_load_words[j->series->load].does, part->cell->expected->name,
			 part->cell->socket, judge_is_own_all(j) ? ", too" : "");
}

/* A part of the data is counted at another place. */
static bool check_astray(struct judged *j)
{
	const struct judge_part part = find_part(j);

	return conclude_astray(j, &part) ||
	       (judge_is_own_all(j) && judge_is_noisy(j, &part, 1, NULL));
}

/* Its own counters were missing, and others count the data. */
static bool check_lost(struct judged *j)
{
	const struct judge_part part = find_part(j);

	return (!isfinite(j->slope) || 2 * j->fit->count < j->series->round_count) &&
	       conclude_astray(j, &part);
}

static bool check_uncounted(struct judged *j)
{
	const struct judge_part part = find_part(j);

	j->slope = NAN; /* of another socket */
	return conclude_astray(j, &part) ||
	       judge_unknown(j, NULL, "socket %d has no counters of this metric",
			     j->result->socket);
}

/* Data that are moved within a socket, in the near series that counted the cell, too, must not pass
 * links. */
static bool check_local(struct judged *j)
{
	double noise = 0;

	if (j->expected->group != VERIFY_LINKS || !judge_is_own_all(j))
		return false;
	for (size_t i = 0; i < j->run->series_count; i++) {
		const struct verify_series *s = &j->run->series[i];
		struct verify_fit fit;

		if ((s->load != VERIFY_READ && s->load != VERIFY_WRITE) || verify_is_far(s) ||
		    s->bare || s->elsewhere || j->own < s->first_cell ||
		    j->own - s->first_cell >= s->cell_count)
			continue;
		judge_fit(s, j->own, false, &fit);
		if (fit.slope > judge_limits(j)->astray + 4 * fit.error &&
		    fit.slope > judge_yield(j, &fit))
			return judge_off(
				j, "local",
				"%.1f %% of what node %d %s within socket %d is counted as %s",
				fit.slope * 100, s->node, verify_load_words[s->load].does,
				s->socket, j->expected->name);
		if (fit.error > JUDGE_PART_ERROR ||
		    fit.slope > judge_limits(j)->astray + 2 * fit.error)
			noise = fmax(noise, fmax(0, fit.slope) + 2 * fit.error);
	}
	return noise > 0 &&
	       judge_unknown(
		       j, "busy",
		       "up to %.1f %% of the data that are moved within a socket may be counted as "
		       "%s of socket %d, too: other programs move too much there for a verdict",
		       noise * 100, j->expected->name, j->cell->socket);
}

/* Channels that count nothing or twice, in even shares of what was moved. */
static bool check_channels(struct judged *j)
{
	size_t count = 0, dead = 0, twice = 0, even = 0;
	auto_buffer dead_names = {0}, twice_names = {0};
	double expected;

	for (size_t i = 0; i < j->run->cell_count; i++)
		count += judge_is_channel(j, i);
	for (size_t i = 0; i < j->run->cell_count; i++) {
		const int channel = j->run->cells[i].channel;
		double share = j->fits[i].slope * (double)count;

		if (!judge_is_channel(j, i))
			continue;
		if (fabs(share) < JUDGE_SHARE_NONE) {
			buffer_printf(&dead_names, "%s%d", dead ? ", " : "", channel);
			dead++;
		} else if (share >= 2 * JUDGE_SHARE_LEAST && share <= 2 * JUDGE_SHARE_MOST) {
			buffer_printf(&twice_names, "%s%d", twice ? ", " : "", channel);
			twice++;
		} else {
			even += share >= JUDGE_SHARE_LEAST && share <= JUDGE_SHARE_MOST;
		}
	}
	expected = count ? ((double)even + 2 * (double)twice) / (double)count : 0;
	if (!even || even + dead + twice != count || !(dead + twice) || judge_is_own_all(j) ||
	    !(fabs(j->slope - expected) <= judge_limits(j)->less + j->tolerance))
		return false;
	if (twice)
		return judge_off(j, "channel twice", "channel%s %s count%s twice",
				 twice > 1 ? "s" : "", twice_names.data, twice > 1 ? "" : "s");
	return judge_off(j, "channel dead", "channel%s %s count%s nothing", dead > 1 ? "s" : "",
			 dead_names.data, dead > 1 ? "" : "s");
}

/* Whether stores of the same data, in any series, lack the same part. */
static bool is_lost_by_stores(const struct judged *j)
{
	for (size_t k = 0; k < j->run->series_count; k++) {
		const struct verify_series *s = &j->run->series[k];
		const bool alike = s->load == VERIFY_WRITE && s->node == j->series->node &&
				   s->cpu_socket == j->series->cpu_socket && !s->elsewhere;

		for (size_t i = s->first_cell; alike && i < s->first_cell + s->cell_count; i++) {
			const struct verify_cell *c = &j->run->cells[i];
			struct verify_fit fit;

			if (c->expected->group != j->expected->group || c->channel >= 0 ||
			    c->socket != j->cell->socket ||
			    strcmp(c->family, j->cell->family) != 0 || !verify_is_expected(s, c))
				continue;
			judge_fit(s, i, false, &fit);
			if (fit.error <= JUDGE_ERROR_MOST &&
			    fit.slope < 1 - judge_limits(j)->less &&
			    fabs(fit.slope - j->slope) <=
				    LOST_ALIKE + 2 * hypot(fit.error, j->tolerance / 2))
				return true;
		}
	}
	return false;
}

/* Caches can keep the part of the stream's memory that fits into them. Stores, which bypass the
 * caches, show whether that is the cause: they would not lack this part. */
static bool check_caches(struct judged *j)
{
	const struct verify_series *s = j->series;

	if (judge_is_own_all(j) || !may_be_kept(j) || (!j->run->hinted && is_lost_by_stores(j)))
		return false;
	return judge_unknown(j, "caches",
			     "the factor is %.4f: caches of %.0f MiB may have kept up to %.0f %% "
			     "of the %.0f MiB that are repeatedly %s",
			     j->slope, j->run->cache / 0x1p20, room_of_caches(j) * 100,
			     s->memory / 0x1p20, s->load == VERIFY_WRITE ? "stored to" : "loaded");
}

/* `other`: for stores. */
static bool check_factors(struct judged *j)
{
	static const struct judge_factor multiples[] = {
		{2, "double", "counted twice: memory is mirrored, or two PMUs count the same",
		 "counted twice: two PMUs count the same"},
		{0.5, "half", NULL, "half of it is counted: one of two PMUs is missing"},
		{64, "times 64", NULL, "64 times too much: bytes are taken for lines"},
		{1 / 64.0, "over 64", NULL, "64 times too little: lines are taken for bytes"},
		{0, NULL, NULL, NULL},
	};
#define UNITS "units", NULL, "decimal and binary units are confused: "
	static const struct judge_factor units[] = {
		{1.024, UNITS "1.024"},
		{1.048576, UNITS "1.024^2"},
		{1.073741824, UNITS "1.024^3"},
		{1 / 1.024, UNITS "1/1.024"},
		{1 / 1.048576, UNITS "1/1.024^2"},
		{1 / 1.073741824, UNITS "1/1.024^3"},
		{0, NULL, NULL, NULL},
	};
	/* Only controllers write both copies of mirrored memory. */
	bool load = j->series->load == VERIFY_READ || j->expected->group != VERIFY_MEMORY;
	const struct judge_factor *f =
		judge_find_factor(multiples, j->slope, JUDGE_FACTOR, j->tolerance, INFINITY);

	f = f ? f : judge_find_factor(units, j->slope, UNITS_NEAR, j->tolerance, UNITS_NEAR_MOST);
	return f && !judge_is_own_all(j) &&
	       judge_off(j, f->fault, "%s", load || !f->other ? f->sentence : f->other);
}

/* All of these groups count what streams move. */
judge_check *const stream_checks[] = {
	check_kind,   judge_memory,       check_lost,     judge_rounds,
	judge_quiet,  check_swapped,      check_allocate, check_astray,
	check_local,  check_alternatives, check_channels, judge_yielding,
	check_caches, check_factors,      judge_slope,    NULL,
};

judge_check *const uncounted_checks[] = {judge_rounds, check_uncounted, NULL};
