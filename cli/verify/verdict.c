/* SPDX-License-Identifier: MIT */
/* From slopes to verdicts: what is counted of each moved byte at its own place, and at others. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "output/table.h"
#include "verify/judge.h"

#define SHARE_LEAST 0.75
#define SHARE_MOST 1.25
#define SHARE_NONE 0.05
#define COVERAGE_ALL 0.999
#define PART_LEAST 0.1 /* of what is moved, in memory of another kind */
/* Beyond these there is no verdict: of the slope's standard error, and of what others move against the largest amount. */
#define ERROR_MOST 0.005
#define OTHERS_MOST 8.0
/* A factor of units has a name when it is this near: 1/1.024 and a loss of 3 % are 0.007 apart. */
#define UNITS_NEAR 0.003
#define UNITS_NEAR_MOST 0.005

const char *const verify_verdicts[] = {
	[VERIFY_PROVED] = "proved",
	[VERIFY_OFF] = "off",
	[VERIFY_UNKNOWN] = "cannot tell",
};

/* What is accepted on hardware, as parts of what is moved: less or more of it, and elsewhere. Prefetchers read
 * beyond what is loaded, and nothing is read less. Elsewhere than in the controllers coherence moves some data of
 * its own. */
struct limits {
	double less, more, astray;
};
static const struct limits limits_of[VERIFY_GROUPS][VERIFY_LOADS] = {
	[VERIFY_MEMORY] = {[VERIFY_READ] = {0.02, 0.05, 0.02}, [VERIFY_WRITE] = {0.02, 0.02, 0.01}},
	[VERIFY_LINKS] = {{0.05, 0.05, 0.02}, {0.05, 0.05, 0.02}},
	[VERIFY_AGENTS] = {{0.05, 0.05, 0.02}, {0.05, 0.05, 0.02}},
	[VERIFY_FABRIC] = {{0.05, 0.05, 0.02}, {0.05, 0.05, 0.02}},
	/* Payload: commands, lists of pages and completions of a device are 0.1 % to 0.3 % of it, in both directions. */
	[VERIFY_DEVICES] =
		{[VERIFY_FILE_READ] = {0.02, 0.03, 0.02}, [VERIFY_FILE_WRITE] = {0.02, 0.03, 0.02}},
	[VERIFY_LOOKUPS] =
		{[VERIFY_FILE_READ] = {0.05, 0.05, 0.02}, [VERIFY_FILE_WRITE] = {0.05, 0.05, 0.02}},
};
#define SHARE_OFF JUDGE_FACTOR /* the error of a share, and of a factor */

void judge_conclude(struct judged *j, enum verify_verdict verdict, const char *fault,
		    const char *fmt, ...)
{
	va_list args;

	j->result->verdict = verdict;
	j->result->fault = fault;
	va_start(args, fmt);
	vsnprintf(j->result->reason, sizeof(j->result->reason), fmt, args);
	va_end(args);
}

static const struct limits *limits(const struct judged *j)
{
	return &limits_of[j->expected->group][j->series->load];
}

/* ---- cells ---- */

static const struct verify_expectation *expectation(const struct judged *j, size_t cell)
{
	return verify_expectation(j->run->cells[cell].metric);
}

static bool is_comparable(const struct judged *j, size_t cell)
{
	return isfinite(j->fits[cell].slope) && expectation(j, cell)->group == j->expected->group &&
	       strcmp(j->run->cells[cell].family, j->run->cells[j->own].family) == 0;
}

bool judge_is_other(const struct judged *j, size_t cell)
{
	return j->run->cells[cell].channel < 0 && is_comparable(j, cell) &&
	       !verify_is_expected(j->series, &j->run->cells[cell]);
}

static bool is_same_metric(const struct judged *j, size_t cell)
{
	return strcmp(j->run->cells[cell].metric, j->expected->metric) == 0;
}

static bool is_channel(const struct judged *j, size_t cell)
{
	const struct verify_cell *c = &j->run->cells[cell], *own = &j->run->cells[j->own];

	return c->channel >= 0 && c->socket == own->socket && is_same_metric(j, cell) &&
	       is_comparable(j, cell);
}

bool judge_is_nothing(const struct judged *j)
{
	return fabs(j->slope) <= limits(j)->less + j->tolerance;
}

double judge_astray(const struct judged *j)
{
	return limits(j)->astray;
}

bool judge_is_all(const struct judged *j, double slope, double error)
{
	const double tolerance = 2 * error;

	return slope >= 1 - limits(j)->less - tolerance && slope <= 1 + limits(j)->more + tolerance;
}

static bool is_own_all(const struct judged *j)
{
	return judge_is_all(j, j->slope, j->tolerance / 2);
}

/* All of it is counted in that cell. */
static bool has_all(const struct judged *j, size_t cell)
{
	return judge_is_all(j, j->fits[cell].slope, j->fits[cell].error);
}

/* By which of its alternatives all of it is counted in that cell, or NULL. */
static const struct verify_alternative *holding(const struct judged *j, size_t cell)
{
	const struct verify_cell *c = &j->run->cells[cell];

	for (size_t i = 0; i < c->alternative_count; i++) {
		const double factor = c->alternatives[i].factor;

		if (judge_is_all(j, j->fits[cell].slope * factor, j->fits[cell].error * factor))
			return &c->alternatives[i];
	}
	return NULL;
}

/* ---- checks: true when they have concluded ---- */

/* It counts a part of it, beyond doubt. */
static bool has_part(const struct verify_fit *f)
{
	return f->slope > PART_LEAST + 4 * f->error;
}

/* Memory of another kind on this node that counts a part of it, or NULL. */
static const struct verify_cell *find_other_memory(const struct judged *j)
{
	const struct verify_run *run = j->run;

	for (size_t i = 0; i < run->cell_count; i++) {
		const struct verify_cell *c = &run->cells[i];
		const struct verify_expectation *e = verify_expectation(c->metric);

		if (c->channel < 0 && e->group == VERIFY_MEMORY &&
		    e->memory != j->expected->memory && verify_is_expected(j->series, c) &&
		    has_part(&j->fits[i]))
			return c;
	}
	return NULL;
}

/* Which kind of memory a node has shows when it counts. The other kinds are not judged by it: most nodes have DRAM, so that
 * others need not count, whatever DRAM's counters do. */
static bool check_kind(struct judged *j)
{
	const struct verify_cell *other;
	bool dram = j->expected->memory == VERIFY_DRAM && !j->series->bare;

	if (j->expected->group != VERIFY_MEMORY)
		return false;
	other = find_other_memory(j);
	if ((!dram && !has_part(&j->fits[j->own])) || (other && judge_is_nothing(j)))
		j->not_judged = true;
	else if (other)
		judge_conclude(j, VERIFY_UNKNOWN, "two kinds",
			       "%s counts a part of it, too: memory of one kind is a cache of the "
			       "other",
			       other->metric);
	else
		return false;
	return true;
}

/* What the documents leave open, this machine has answered. */
static bool check_alternatives(struct judged *j)
{
	const struct verify_alternative *a = holding(j, j->own);

	if (!a)
		return false;
	if (is_own_all(j))
		judge_conclude(j, VERIFY_PROVED, NULL, "%s", a->title);
	else
		judge_conclude(j, VERIFY_OFF, "alternative",
			       "%s, and the formula assumes otherwise: the right value is %g times "
			       "as large",
			       a->title, a->factor);
	return true;
}

bool judge_rounds(struct judged *j)
{
	const struct verify_series *s = j->series;
	double cache = j->run->cache;
	size_t count = j->fits[j->own].count;

	if (s->elsewhere)
		judge_conclude(j, VERIFY_UNKNOWN, NULL,
			       "%zu pages of the moved memory lay on other nodes", s->elsewhere);
	else if (count < s->round_count && 2 * count < s->round_count)
		judge_conclude(
			j, VERIFY_UNKNOWN, NULL,
			"only %zu of %zu rounds were counted all the time on all counters: another "
			"program counts, too, or counters are missing",
			count, s->round_count);
	else if (!isfinite(j->slope))
		judge_conclude(j, VERIFY_UNKNOWN, NULL, "too few rounds to tell");
	else if (s->load == VERIFY_READ && s->memory < 2 * cache)
		judge_conclude(
			j, VERIFY_UNKNOWN, NULL,
			"caches of %.0f MiB may hold what was loaded: twice as much memory is needed, "
			"and there were %.0f MiB",
			cache / 0x1p20, s->memory / 0x1p20);
	else
		return false;
	return true;
}

static double most_moved(const struct verify_series *s)
{
	double most = 0;

	for (size_t i = 0; i < s->round_count; i++)
		most = fmax(most, s->moved[i]);
	return most;
}

static double mean_seconds(const struct judged *j)
{
	const struct verify_series *s = j->series;
	double sum = 0;
	size_t count = 0;

	for (size_t i = 0; i < s->round_count; i++) {
		double seconds = verify_reading_of(s, i, j->own)->seconds;

		sum += isfinite(seconds) ? seconds : 0;
		count += isfinite(seconds) ? 1 : 0;
	}
	return count ? sum / (double)count : 0;
}

/* The error comes from traffic of others, which changes about as much as there is of it. */
bool judge_quiet(struct judged *j)
{
	const struct verify_fit *f = &j->fits[j->own];
	double seconds = mean_seconds(j), most = most_moved(j->series);
	double enough = OTHERS_MOST * most / seconds, error = f->error / fmax(1, f->slope);
	struct human others, quiet;

	if (error <= ERROR_MOST && f->rate <= enough * fmax(1, f->slope))
		return false;
	if (error > ERROR_MOST)
		enough = fmin(enough, fabs(f->rate) * ERROR_MOST / error);
	human_value(&others, f->rate, "B/s");
	human_value(&quiet, enough, "B/s");
	judge_conclude(
		j, VERIFY_UNKNOWN, "busy",
		"other programs moved %s %s here: below about %s %s, or with more --time, it can be told",
		others.number, others.unit, quiet.number, quiet.unit);
	return true;
}

/* The first cell that counts everything, and should count nothing: of the same metric or not, and of the same socket or not. */
static const struct verify_cell *find_all(const struct judged *j, bool metric, bool socket)
{
	for (size_t i = 0; i < j->run->cell_count; i++)
		if (judge_is_other(j, i) && has_all(j, i) && is_same_metric(j, i) == metric &&
		    (j->run->cells[i].socket == j->run->cells[j->own].socket) == socket)
			return &j->run->cells[i];
	return NULL;
}

static bool check_swapped(struct judged *j)
{
	const struct verify_cell *sockets = find_all(j, true, false);
	const struct verify_cell *directions = find_all(j, false, true);
	const struct verify_cell *both = find_all(j, false, false);

	if (!judge_is_nothing(j))
		return false;
	if (sockets && directions) /* of two sockets, one sends what the other one receives */
		judge_conclude(
			j, VERIFY_OFF, "sockets or directions swapped",
			"%s are counted as %s, or the counters of socket %d as those of socket %d",
			j->expected->name, verify_expectation(directions->metric)->name,
			directions->socket, sockets->socket);
	else if (sockets)
		judge_conclude(j, VERIFY_OFF, "sockets swapped",
			       "socket %d's counters count node %d", sockets->socket,
			       j->series->node);
	else if (directions)
		judge_conclude(j, VERIFY_OFF,
			       j->expected->group == VERIFY_AGENTS ? "kinds swapped"
								   : "directions swapped",
			       "%s are counted as %s", j->expected->name,
			       verify_expectation(directions->metric)->name);
	else if (both)
		judge_conclude(j, VERIFY_OFF, "sockets and directions swapped",
			       "%s of node %d are counted as %s of socket %d", j->expected->name,
			       j->series->node, verify_expectation(both->metric)->name,
			       both->socket);
	return sockets || directions || both;
}

/* Real reads, most probably: those of the lines that are stored to. */
static bool check_allocate(struct judged *j)
{
	const struct verify_cell *reads = find_all(j, false, true);

	if (j->series->load != VERIFY_WRITE || !reads || !is_own_all(j))
		return false;
	judge_conclude(
		j, VERIFY_UNKNOWN, "write-allocate",
		"each write also reads its line (write-allocate): the stores do not pass the "
		"caches here, and reads and writes are mixed");
	return true;
}

/* A part of it is counted at another place. */
static bool check_astray(struct judged *j)
{
	double share = 0;
	size_t where = 0;

	for (size_t i = 0; i < j->run->cell_count; i++) {
		const struct verify_fit *f = &j->fits[i];

		if (!judge_is_other(j, i) || f->error > ERROR_MOST ||
		    fabs(f->slope) <= limits(j)->astray + 2 * f->error ||
		    fabs(f->slope) <= fabs(share))
			continue;
		share = f->slope;
		where = i;
	}
	if (fabs(share) <= 0)
		return false;
	judge_conclude(j, VERIFY_OFF, "astray",
		       "%.1f %% of what node %d %s is counted as %s of socket %d%s", share * 100,
		       j->series->node, verify_load_words[j->series->load].does,
		       expectation(j, where)->name, j->run->cells[where].socket,
		       is_own_all(j) ? ", too" : "");
	return true;
}

static void add_name(struct buffer *names, const struct judged *j, size_t cell)
{
	buffer_printf(names, "%s%d", names->len ? ", " : "", j->run->cells[cell].channel);
}

/* Channels that count nothing or twice, in even shares of what was moved. */
static bool check_channels(struct judged *j)
{
	size_t count = 0, dead = 0, twice = 0, even = 0;
	struct buffer dead_names = {0}, twice_names = {0};
	double expected;

	for (size_t i = 0; i < j->run->cell_count; i++)
		count += is_channel(j, i);
	for (size_t i = 0; i < j->run->cell_count; i++) {
		double share = j->fits[i].slope * (double)count;

		if (!is_channel(j, i))
			continue;
		if (fabs(share) < SHARE_NONE) {
			add_name(&dead_names, j, i);
			dead++;
		} else if (share >= 2 * SHARE_LEAST && share <= 2 * SHARE_MOST) {
			add_name(&twice_names, j, i);
			twice++;
		} else {
			even += share >= SHARE_LEAST && share <= SHARE_MOST;
		}
	}
	expected = count ? ((double)even + 2 * (double)twice) / (double)count : 0;
	if (even && even + dead + twice == count && dead + twice && !is_own_all(j) &&
	    fabs(j->slope - expected) <= limits(j)->less + j->tolerance) {
		if (twice)
			judge_conclude(j, VERIFY_OFF, "channel twice", "channel%s %s count%s twice",
				       twice > 1 ? "s" : "", twice_names.data,
				       twice > 1 ? "" : "s");
		else
			judge_conclude(j, VERIFY_OFF, "channel dead",
				       "channel%s %s count%s nothing", dead > 1 ? "s" : "",
				       dead_names.data, dead > 1 ? "" : "s");
	}
	buffer_free(&dead_names);
	buffer_free(&twice_names);
	return j->result->fault;
}

static bool check_factors(struct judged *j)
{
	static const struct {
		double factor;
		const char *fault, *loads, *stores;
	} known[] = {
		{2, "double", "counted twice: two PMUs count the same",
		 "counted twice: memory is mirrored, or two PMUs count the same"},
		{0.5, "half", "half of it is counted: one of two PMUs is missing", NULL},
		{64, "times 64", "64 times too much: bytes are taken for lines", NULL},
		{1 / 64.0, "over 64", "64 times too little: lines are taken for bytes", NULL},
		{1.024, "units", "decimal and binary units are confused: 1.024", NULL},
		{1.048576, "units", "decimal and binary units are confused: 1.024^2", NULL},
		{1.073741824, "units", "decimal and binary units are confused: 1.024^3", NULL},
		{1 / 1.024, "units", "decimal and binary units are confused: 1/1.024", NULL},
		{1 / 1.048576, "units", "decimal and binary units are confused: 1/1.024^2", NULL},
		{1 / 1.073741824, "units", "decimal and binary units are confused: 1/1.024^3",
		 NULL},
	};
	/* Only controllers write both copies of mirrored memory. */
	bool load = j->series->load == VERIFY_READ || j->expected->group != VERIFY_MEMORY;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known) && !is_own_all(j); i++) {
		double factor = known[i].factor;
		double near = j->tolerance / factor;

		near = i < 4 ? SHARE_OFF + near : fmin(UNITS_NEAR + near, UNITS_NEAR_MOST);
		if (fabs(j->slope / factor - 1) > near)
			continue;
		judge_conclude(j, VERIFY_OFF, known[i].fault, "%s",
			       load || !known[i].stores ? known[i].loads : known[i].stores);
		return true;
	}
	return false;
}

bool judge_slope(struct judged *j)
{
	if (is_own_all(j))
		j->result->verdict = VERIFY_PROVED;
	else if (judge_is_nothing(j))
		judge_conclude(j, VERIFY_OFF, "nothing", "nothing of it is counted");
	else
		judge_conclude(j, VERIFY_OFF, NULL, "the factor is %.4f: %.1f %% too %s", j->slope,
			       fabs(j->slope - 1) * 100, j->slope < 1 ? "little" : "much");
	return true;
}

/* All of these groups count what streams move. */
static judge_check *const stream_checks[] = {
	check_kind,   judge_rounds,       judge_quiet,    check_swapped, check_allocate,
	check_astray, check_alternatives, check_channels, check_factors, judge_slope,
	NULL,
};

static judge_check *const *const checks_of[VERIFY_GROUPS] = {
	[VERIFY_MEMORY] = stream_checks,     [VERIFY_LINKS] = stream_checks,
	[VERIFY_AGENTS] = stream_checks,     [VERIFY_FABRIC] = stream_checks,
	[VERIFY_POWER] = power_checks,       [VERIFY_CLOCKS] = clock_checks,
	[VERIFY_LATENCIES] = latency_checks, [VERIFY_QUEUES] = latency_checks,
	[VERIFY_DEVICES] = device_checks,    [VERIFY_LOOKUPS] = lookup_checks,
	[VERIFY_CEILINGS] = ceiling_checks,
};

static void judge_own(struct judged *j)
{
	judge_check *const *check =
		j->series->coverage > 0 ? multiplex_checks : checks_of[j->expected->group];

	for (; *check; check++)
		if ((*check)(j))
			break;
}

/* ---- channels: even shares of what their socket counts ---- */

static void judge_channel(struct judged *j, const struct verify_result *socket, double sum,
			  size_t count)
{
	struct verify_result *r = j->result;

	r->share = r->fit.slope * (double)count / sum;
	if (socket->verdict == VERIFY_UNKNOWN || !isfinite(r->share) ||
	    r->fit.error * (double)count / sum > SHARE_OFF)
		judge_conclude(j, VERIFY_UNKNOWN, socket->fault, "%s",
			       *socket->reason ? socket->reason : "other programs moved too much");
	else if (r->share < SHARE_LEAST || r->share > SHARE_MOST)
		judge_conclude(
			j, VERIFY_OFF, "uneven",
			"%.2f of an even share: its modules differ from others, or it is counted wrongly",
			r->share);
	else
		r->verdict = VERIFY_PROVED;
}

/* Of its kind, in its socket: channels of several are not judged. */
static bool has_one_node(const struct verify_run *run, const struct verify_series *s)
{
	for (size_t i = 0; i < run->series_count; i++)
		if (run->series[i].socket == s->socket && run->series[i].node != s->node &&
		    run->series[i].bare == s->bare)
			return false;
	return true;
}

/* ---- all ---- */

void judge_fit(const struct verify_series *s, size_t cell, bool requests, struct verify_fit *into)
{
	double *values = cli_realloc(NULL, 3 * s->round_count, sizeof(*values));
	double *seconds = values + s->round_count, *counted = seconds + s->round_count;
	size_t count = 0;

	for (size_t i = 0; i < s->round_count; i++) {
		const struct verify_reading *r = verify_reading_of(s, i, cell);

		if (!r || !isfinite(r->amount) || !isfinite(r->seconds))
			continue;
		values[count] = s->moved[i];
		seconds[count] = r->seconds;
		counted[count++] = requests ? r->requests : r->amount;
	}
	if (!verify_fit(into, values, seconds, counted, count))
		*into = (struct verify_fit){NAN, NAN, NAN, count};
	free(values);
}

struct results {
	struct verify_result *items;
	size_t count;
};

static struct verify_result *add_result(struct results *all, const struct judged *j, size_t cell)
{
	struct verify_result *r;

	all->items = cli_realloc(all->items, all->count + 1, sizeof(*all->items));
	r = &all->items[all->count++];
	*r = (struct verify_result){.series = j->series,
				    .cell = &j->run->cells[cell],
				    .fit = j->fits[cell],
				    .share = NAN,
				    .value = NAN,
				    .known = NAN,
				    .requests = NAN,
				    .latency = NAN};
	for (size_t i = 0; i < j->series->round_count; i++)
		if (isfinite(verify_reading_of(j->series, i, cell)->amount))
			r->moved += j->series->moved[i];
	return r;
}

/* Channels without a module count nothing, and nothing is missing in the sum. */
static void add_channels(struct results *all, struct judged *j, struct verify_result socket)
{
	double sum = 0;
	size_t count = 0;

	for (size_t i = 0; i < j->run->cell_count; i++)
		sum += is_channel(j, i) ? j->fits[i].slope : 0;
	for (size_t i = 0; i < j->run->cell_count; i++)
		count += is_channel(j, i) && (socket.verdict != VERIFY_PROVED ||
					      fabs(j->fits[i].slope) >= SHARE_NONE * sum);
	if (count < 2)
		return;
	for (size_t i = 0; i < j->run->cell_count; i++) {
		if (!is_channel(j, i) ||
		    (socket.verdict == VERIFY_PROVED && fabs(j->fits[i].slope) < SHARE_NONE * sum))
			continue;
		j->result = add_result(all, j, i);
		judge_channel(j, &socket, sum, count);
	}
}

static void judge_series(struct results *all, const struct verify_run *run,
			 const struct verify_series *s)
{
	struct verify_fit *fits = cli_realloc(NULL, run->cell_count, sizeof(*fits));
	struct judged j = {.run = run, .series = s, .fits = fits};

	/* Counters that were to be multiplexed, and had room for all. */
	if (s->coverage >= COVERAGE_ALL)
		goto done;
	for (size_t i = 0; i < run->cell_count; i++)
		judge_fit(s, i, false, &fits[i]);
	for (size_t i = s->first_cell; i < s->first_cell + s->cell_count; i++) {
		if (run->cells[i].channel >= 0 || !verify_is_expected(s, &run->cells[i]))
			continue;
		j.own = i;
		j.expected = verify_expectation(run->cells[i].metric);
		j.slope = fits[i].slope;
		j.tolerance = 2 * fits[i].error;
		j.result = add_result(all, &j, i);
		j.not_judged = false;
		judge_own(&j);
		if (j.not_judged) {
			all->count--;
			continue;
		}
		/* What comes from afar is no news for them. */
		if (checks_of[j.expected->group] == stream_checks && !(s->coverage > 0) &&
		    has_one_node(run, s) && !verify_is_far(s))
			add_channels(all, &j, *j.result);
	}
done:
	free(fits);
}

size_t verify_judge(const struct verify_run *run, struct verify_result **out)
{
	struct results all = {0};

	for (size_t i = 0; i < run->series_count; i++)
		judge_series(&all, run, &run->series[i]);
	*out = all.items;
	return all.count;
}

enum verify_verdict verify_overall(const struct verify_result *results, size_t count)
{
	enum verify_verdict overall = count ? VERIFY_PROVED : VERIFY_UNKNOWN;

	for (size_t i = 0; i < count && overall != VERIFY_OFF; i++)
		if (results[i].verdict != VERIFY_PROVED)
			overall = results[i].verdict;
	return overall;
}
