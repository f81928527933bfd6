/* SPDX-License-Identifier: MIT */
/* From slopes to verdicts: the counts of each moved byte at its own place, and at others. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cli.h"
#include "verify/judge.h"

/* The largest traffic of other programs, relative to the largest amount, with which there is a
 * verdict. */
#define OTHERS_MOST 8.0
/* The part by which the traffic of other programs may change while data are moved, since they wait
 * for memory, too. This change is proportional to the moved amount, so that the error does not
 * include it. */
#define YIELD 0.1

const char *const verify_verdicts[] = {
	[VERIFY_PROVED] = "proved",
	[VERIFY_OFF] = "off",
	[VERIFY_UNKNOWN] = "cannot tell",
};

/* How the cells of a group are judged. */
static const struct {
	judge_check *const *checks;
	/* Prefetchers read beyond the end of the data, but never less. Outside the controllers,
	 * coherence moves further data. Devices: payload. Commands, page lists and completions of a
	 * device add 0.1 % to 0.3 %, in both directions. */
	struct judge_limits limits;
} groups[VERIFY_GROUPS] = {
	[VERIFY_MEMORY] = {stream_checks, {0.02, 0.05, 0.02}},
	[VERIFY_LINKS] = {stream_checks, {0.05, 0.05, 0.02}},
	[VERIFY_AGENTS] = {stream_checks, {0.05, 0.05, 0.02}},
	[VERIFY_FABRIC] = {stream_checks, {0.05, 0.05, 0.02}},
	[VERIFY_POWER] = {.checks = power_checks},
	[VERIFY_CLOCKS] = {.checks = clock_checks},
	[VERIFY_LATENCIES] = {.checks = latency_checks},
	[VERIFY_QUEUES] = {.checks = latency_checks},
	[VERIFY_DEVICES] = {device_checks, {0.02, 0.03, 0.02}},
	[VERIFY_LOOKUPS] = {lookup_checks, {0.05, 0.05, 0.02}},
	[VERIFY_GPUS] = {.checks = gpu_checks},
	[VERIFY_CEILINGS] = {.checks = ceiling_checks},
};
static const struct judge_limits limits_of_stores = {0.02, 0.02, 0.01}; /* by controllers */

/* ---- verdicts and their reasons ---- */

bool judge_conclude(struct judged *j, enum verify_verdict verdict, const char *fault,
		    const char *fmt, ...)
{
	va_list args;

	j->result->verdict = verdict;
	j->result->fault = fault;
	va_start(args, fmt);
	vsnprintf(j->result->reason, sizeof(j->result->reason), fmt, args);
	va_end(args);
	return true;
}

const struct judge_factor *judge_find_factor(const struct judge_factor *known, double ratio,
					     double near, double tolerance, double most)
{
	for (; known->factor > 0; known++)
		if (fabs(ratio / known->factor - 1) <= fmin(near + tolerance / known->factor, most))
			return known;
	return NULL;
}

/* ---- slopes ---- */

void judge_fit(const struct verify_series *s, size_t cell, bool requests, struct verify_fit *into)
{
	auto_free double *values = cli_realloc(NULL, 3 * s->round_count, sizeof(*values));
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
}

const struct judge_limits *judge_limits(const struct judged *j)
{
	return j->expected->group == VERIFY_MEMORY && j->series->load == VERIFY_WRITE
		       ? &limits_of_stores
		       : &groups[j->expected->group].limits;
}

static bool is_comparable(const struct judged *j, size_t cell)
{
	return isfinite(j->fits[cell].slope) &&
	       j->run->cells[cell].expected->group == j->expected->group &&
	       strcmp(j->run->cells[cell].family, j->cell->family) == 0;
}

bool judge_is_other(const struct judged *j, size_t cell)
{
	return j->run->cells[cell].channel < 0 && is_comparable(j, cell) &&
	       !verify_is_expected(j->series, &j->run->cells[cell]);
}

bool judge_is_channel(const struct judged *j, size_t cell)
{
	const struct verify_cell *c = &j->run->cells[cell];

	return c->channel >= 0 && c->socket == j->cell->socket && c->expected == j->expected &&
	       is_comparable(j, cell);
}

bool judge_is_nothing(const struct judged *j)
{
	return fabs(j->slope) <= judge_limits(j)->less + j->tolerance;
}

bool judge_is_all(const struct judged *j, const struct verify_fit *fit)
{
	const struct judge_limits *limits = judge_limits(j);

	return fit->slope >= 1 - limits->less - 2 * fit->error &&
	       fit->slope <= 1 + limits->more + 2 * fit->error;
}

bool judge_is_own_all(const struct judged *j)
{
	return judge_is_all(j, &(struct verify_fit){.slope = j->slope, .error = j->tolerance / 2});
}

bool judge_memory(struct judged *j)
{
	const struct verify_series *s = j->series;

	if (s->elsewhere)
		return judge_unknown(j, NULL, "%zu pages of the moved memory were on other nodes",
				     s->elsewhere);
	return verify_is_split(j->run, s->node) &&
	       judge_unknown(j, "split",
			     "node %d has CPUs of several sockets, and may have memory of them: "
			     "node interleaving (NPS0) in the firmware, or numa=off",
			     s->node);
}

bool judge_few_rounds(struct judged *j)
{
	const size_t all = j->series->round_count, count = j->fit->count;

	if (2 * count < all)
		return judge_unknown(j, NULL,
				     "all counters ran all the time in only %zu of %zu rounds: "
				     "another program uses them, too, or counters are missing",
				     count, all);
	return !isfinite(j->slope) && judge_unknown(j, NULL, "too few rounds");
}

bool judge_rounds(struct judged *j)
{
	const struct verify_series *s = j->series;
	double cache = j->run->cache;

	if (judge_memory(j) || judge_few_rounds(j))
		return true;
	return s->load == VERIFY_READ && s->memory < 2 * cache &&
	       judge_unknown(j, NULL,
			     "caches of %.0f MiB may hold the loaded data: twice as much memory is "
			     "needed, and %.0f MiB were used",
			     cache / 0x1p20, s->memory / 0x1p20);
}

/* The standard deviation of the counts from the fit, as a part of the largest amount. */
static double scatter(const struct judged *j)
{
	const struct verify_series *s = j->series;
	const struct verify_fit *f = j->fit;
	double sum = 0;

	for (size_t i = 0; i < s->round_count; i++) {
		const struct verify_reading *r = verify_reading_of(s, i, j->own);
		double rest = r->amount - f->slope * s->moved[i] - f->rate * r->seconds;

		sum += isfinite(rest) ? rest * rest : 0;
	}
	return sqrt(sum / (double)(f->count - 2)) / j->most;
}

/* The traffic of other programs varies by at most about its own size. An error that is larger than
 * that has another cause. */
bool judge_quiet(struct judged *j)
{
	const struct verify_fit *f = j->fit;
	double enough = OTHERS_MOST * j->most / j->seconds, error = f->error / fmax(1, f->slope);

	if (error <= JUDGE_ERROR_MOST && f->rate <= enough * fmax(1, f->slope))
		return false;
	if (error > JUDGE_ERROR_MOST && f->rate * j->seconds < scatter(j) * j->most)
		return judge_unknown(j, "scatter",
				     "counts of the same amount vary by %.1f %% of the largest "
				     "amount, which is more than the traffic of other programs: "
				     "more --time makes the error smaller",
				     scatter(j) * 100);
	if (error > JUDGE_ERROR_MOST)
		enough = fmin(enough, f->rate * JUDGE_ERROR_MOST / error);
	return judge_unknown(
		j, "busy",
		"other programs moved %s here: a verdict needs less than about %s, or more --time",
		human(f->rate, "B/s").text, human(enough, "B/s").text);
}

double judge_yield(const struct judged *j, const struct verify_fit *f)
{
	double others = fmax(0, f->rate) * j->seconds / fmax(1, f->slope);

	return YIELD * others / j->most;
}

bool judge_yielding(struct judged *j)
{
	const struct verify_fit *f = j->fit;

	if (judge_is_own_all(j) || fabs(j->slope - 1) >= judge_yield(j, f))
		return false;
	return judge_unknown(j, "busy",
			     "the factor is %.4f, but other programs moved %s here, which may "
			     "change while data are moved: a verdict needs less than about %s",
			     j->slope, human(f->rate, "B/s").text,
			     human(f->rate * fabs(j->slope - 1) / judge_yield(j, f), "B/s").text);
}

bool judge_slope(struct judged *j)
{
	if (judge_is_own_all(j))
		return judge_proved(j, "%s", "");
	if (judge_is_nothing(j))
		return judge_off(j, "nothing", "nothing is counted");
	return judge_off(j, NULL, "the factor is %.4f: %.1f %% too %s", j->slope,
			 fabs(j->slope - 1) * 100, j->slope < 1 ? "little" : "much");
}

/* ---- other places ---- */

struct judge_places judge_find_all(const struct judged *j, const struct judge_view *view)
{
	struct judge_places found = {0};

	for (size_t i = 0; i < j->run->cell_count; i++) {
		const struct verify_cell *c = &j->run->cells[i];
		bool metric = c->expected == j->expected;
		bool place = c->socket == j->cell->socket && strcmp(c->port, j->cell->port) == 0;
		struct verify_fit fit;

		if ((metric && place) || !view->count(j, i, &fit) || !view->is_all(j, &fit))
			continue;
		*(metric ? &found.place : place ? &found.kind : &found.both) = c;
	}
	return found;
}

struct judge_part judge_find_part(const struct judged *j, const struct judge_view *view,
				  double least, double error_most)
{
	struct judge_part most = {0};

	for (size_t i = 0; i < j->run->cell_count; i++) {
		struct verify_fit fit;
		bool noisy, part;

		if (!view->count(j, i, &fit))
			continue;
		noisy = fit.error > error_most;
		part = fit.slope > least + (noisy ? 4 : 2) * fit.error;
		if (part && fit.slope > judge_yield(j, &fit)) {
			if (fit.slope <= most.fit.slope)
				continue;
			most.cell = &j->run->cells[i];
			most.fit = fit;
		} else if ((part || noisy) && !most.noisy) {
			most.noisy = &j->run->cells[i];
			most.noise = fmax(0, fit.slope) + 2 * fit.error;
		}
	}
	return most;
}

bool judge_is_noisy(struct judged *j, const struct judge_part *part, double whole,
		    const char *place)
{
	char socket[32];

	if (part->cell || !part->noisy)
		return false;
	snprintf(socket, sizeof(socket), "socket %d", part->noisy->socket);
	return judge_unknown(j, "busy",
			     "up to %.1f %% of it may be counted as %s of %s, too: other programs "
			     "move too much there for a verdict",
			     part->noise / whole * 100, part->noisy->expected->name,
			     place ? place : socket);
}

/* ---- channels: even shares of what their socket counts ---- */

/* Whether the node is the only one of its kind in its socket: channels of several nodes are not
 * judged. */
static bool has_one_node(const struct verify_run *run, const struct verify_series *s)
{
	for (size_t i = 0; i < run->series_count; i++)
		if (run->series[i].socket == s->socket && run->series[i].node != s->node &&
		    run->series[i].bare == s->bare)
			return false;
	return true;
}

/* ---- all ---- */

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
				    .socket = j->run->cells[cell].socket,
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

/* Whether the channel has a result. If the sum is complete, a channel that counts nothing has no
 * module. */
static bool has_share(const struct judged *j, size_t cell, bool complete, double sum)
{
	return judge_is_channel(j, cell) &&
	       !(complete && fabs(j->fits[cell].slope) < JUDGE_SHARE_NONE * sum);
}

static void add_channels(struct results *all, struct judged *j)
{
	const struct verify_result socket = *j->result;
	const bool complete = socket.verdict == VERIFY_PROVED;
	double sum = 0;
	size_t count = 0;

	for (size_t i = 0; i < j->run->cell_count; i++)
		sum += judge_is_channel(j, i) ? j->fits[i].slope : 0;
	for (size_t i = 0; i < j->run->cell_count; i++)
		count += has_share(j, i, complete, sum);
	for (size_t i = 0; count >= 2 && i < j->run->cell_count; i++) {
		struct verify_result *r;

		if (!has_share(j, i, complete, sum))
			continue;
		r = j->result = add_result(all, j, i);
		r->share = r->fit.slope * (double)count / sum;
		if (socket.verdict == VERIFY_UNKNOWN || !isfinite(r->share) ||
		    r->fit.error * (double)count / sum > JUDGE_FACTOR)
			judge_unknown(j, socket.fault, "%s",
				      *socket.reason ? socket.reason
						     : "other programs moved too much");
		else if (r->share >= JUDGE_SHARE_LEAST && r->share <= JUDGE_SHARE_MOST)
			judge_proved(j, "%s", "");
		else /* If the sum is complete, it is no fault: 12 modules on 8 channels. */
			judge_conclude(j, complete ? VERIFY_UNKNOWN : VERIFY_OFF, "uneven",
				       "%.2f of an even share: its modules differ from others, or "
				       "it is counted wrongly",
				       r->share);
	}
}

/* Whether the cell is the first one of a metric and family that other sockets have but the socket
 * that must count does not. DRAM only, since sockets need not have other memory. */
static bool is_uncounted(const struct judged *j, size_t cell)
{
	const struct verify_series *s = j->series;
	const struct verify_cell *c = &j->run->cells[cell];

	if (c->channel >= 0 || s->bare || groups[c->expected->group].checks != stream_checks ||
	    c->expected->memory != VERIFY_DRAM || verify_socket_of(s, c->expected) < 0)
		return false;
	for (size_t i = s->first_cell; i < s->first_cell + s->cell_count; i++) {
		const struct verify_cell *other = &j->run->cells[i];

		if ((i < cell || verify_is_expected(s, other)) && other->channel < 0 &&
		    other->expected == c->expected && strcmp(other->family, c->family) == 0)
			return false;
	}
	return true;
}

/* Judges the cell by these checks, or by those of its group (NULL). */
static void judge_cell(struct results *all, struct judged *j, size_t cell,
		       judge_check *const *check)
{
	const struct verify_series *s = j->series;
	size_t count = 0;

	j->own = cell;
	j->cell = &j->run->cells[cell];
	j->expected = j->cell->expected;
	j->fit = &j->fits[cell];
	j->slope = j->fit->slope;
	j->tolerance = 2 * j->fit->error;
	j->result = add_result(all, j, cell);
	j->not_judged = false;
	j->most = j->seconds = 0;
	for (size_t i = 0; i < s->round_count; i++) {
		const double seconds = verify_reading_of(s, i, cell)->seconds;

		j->most = fmax(j->most, s->moved[i]);
		j->seconds += isfinite(seconds) ? seconds : 0;
		count += isfinite(seconds) ? 1 : 0;
	}
	j->seconds = count ? j->seconds / (double)count : 0;
	if (check == uncounted_checks) {
		j->result->socket = verify_socket_of(s, j->expected);
		j->result->fit = (struct verify_fit){NAN, NAN, NAN, j->fit->count};
	}
	for (check = check ? check : groups[j->expected->group].checks; *check && !(*check)(j);)
		check++;
	if (j->not_judged)
		all->count--;
}

static void judge_series(struct results *all, const struct verify_run *run,
			 const struct verify_series *s)
{
	const size_t end = s->first_cell + s->cell_count;
	auto_free struct verify_fit *fits = cli_realloc(NULL, run->cell_count, sizeof(*fits));
	struct judged j = {.run = run, .series = s, .fits = fits};

	for (size_t i = 0; i < run->cell_count; i++)
		judge_fit(s, i, false, &fits[i]);
	for (size_t i = s->first_cell; i < end; i++) {
		if (run->cells[i].channel >= 0 || !verify_is_expected(s, &run->cells[i]))
			continue;
		judge_cell(all, &j, i, NULL);
		/* Far data give no new information on channels. */
		if (!j.not_judged && groups[j.expected->group].checks == stream_checks &&
		    has_one_node(run, s) && !verify_is_far(s))
			add_channels(all, &j);
	}
	for (size_t i = s->first_cell; i < end; i++)
		if (is_uncounted(&j, i))
			judge_cell(all, &j, i, uncounted_checks);
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

	for (size_t i = 0; i < count; i++)
		if (results[i].verdict > overall)
			overall = results[i].verdict;
	return overall;
}
