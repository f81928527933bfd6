/* SPDX-License-Identifier: MIT */
/* From sums to one row of a sample: the value first, then a table of checks, of which the worst says how
 * good it is. */
#include "count/judge.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Within this time a working counter may not change: energy counters tick about once a millisecond. */
#define STUCK_SECONDS 0.1
/* A row with a counter below this share of the interval is partial. */
#define SHORT_SHARE 0.95
#define SHORT_SLACK_NS 5000000
/* The times of a value and of what limits it are not quite the same. */
#define OVER_CEILING 1.05
/* Counters of one row are not read at quite the same moments. */
#define UNKNOWN_SHARE 0.99

/* A row being judged. */
struct verdict {
	const struct unc_row *row;
	const struct uncore_metric *metric; /* NULL: an event */
	const struct unc_interval *interval;
	char *reason; /* UNC_REASON_ROOM bytes */
	struct uncore_row *out;
	struct unc_sum sums[UNC_METRIC_EVENTS];
	bool uneven;         /* counters were enabled for clearly different times */
	uint64_t longest_ns; /* of them */
	double uncertain_s;  /* so far the time they were enabled may be off */
	bool open_ended;     /* the value depends on that time, which is not known at all */
};

/* Enters a quality and its reason unless there is one that is as bad. Without a sentence the reason for
 * the milder one stays. */
__attribute__((format(printf, 3, 4))) static void
worsen(struct verdict *v, enum uncore_quality quality, const char *fmt, ...)
{
	va_list args;

	if (v->out->quality >= quality)
		return;
	v->out->quality = quality;
	if (!fmt)
		return;
	va_start(args, fmt);
	vsnprintf(v->reason, UNC_REASON_ROOM, fmt, args);
	va_end(args);
	v->out->reason = v->reason;
}

static const char *event_name(const struct verdict *v, size_t k)
{
	return v->metric ? v->metric->events[k]->name : v->row->query->name;
}

static void explain(const struct verdict *v, size_t counter, struct unc_error *why)
{
	unc_delta_explain(&v->interval->counters[counter], &v->interval->deltas[counter], why);
}

static unsigned long long ms(uint64_t ns)
{
	return ns / 1000000;
}

/* ---- the value ------------------------------------------------------------------------------------ */

/* A counter that began late or ended early: its CPU went, or came back. Readings of one interval lie
 * a little apart, so only what is clearly more than that counts. */
static bool is_short(const struct verdict *v, const struct unc_sum *sum)
{
	uint64_t length_ns = v->interval->length_ns;

	return sum->used && sum->shortest_ns + SHORT_SLACK_NS < length_ns &&
	       (double)sum->shortest_ns < SHORT_SHARE * (double)length_ns;
}

static bool is_stuck(const struct verdict *v, size_t k)
{
	return v->metric && v->metric->events[k]->always && v->sums[k].still &&
	       v->out->counted.seconds >= STUCK_SECONDS;
}

/* The times that rates divide by. */
static void set_times(struct verdict *v)
{
	uint64_t enabled_ns = 0;
	size_t used = 0;

	v->out->counted.coverage = 1;
	for (size_t k = 0; k < v->row->query->event_count; k++) {
		const struct unc_sum *sum = &v->sums[k];

		if (sum->coverage < v->out->counted.coverage)
			v->out->counted.coverage = sum->coverage;
		enabled_ns += sum->enabled_ns;
		used += sum->used;
		if (sum->longest_ns > v->longest_ns)
			v->longest_ns = sum->longest_ns;
		v->uneven = v->uneven || is_short(v, sum);
		v->uncertain_s = fmax(v->uncertain_s, (double)sum->uncertain_ns / 1e9);
	}
	if (!used)
		return;
	v->out->counted.seconds = (double)enabled_ns / (double)used / 1e9;
	if (v->uneven)
		v->out->counted.seconds = (double)v->longest_ns / 1e9;
}

/* A counter stopped between its two readings, and might have done so right after the first. */
static bool is_time_unknown(const struct verdict *v)
{
	return v->uncertain_s > 0 && v->uncertain_s >= UNKNOWN_SHARE * v->out->counted.seconds;
}

static void set_event(struct verdict *v)
{
	const struct unc_sum *sum = &v->sums[0];
	struct uncore_row *out = v->out;

	out->counted.count = sum->count;
	out->counted.enabled_ns = sum->enabled_ns + sum->waited_ns;
	out->counted.running_ns = sum->running_ns;
	if (!sum->used)
		return;
	out->value = sum->value * v->row->query->scales[0];
	if (!v->row->query->snapshot && !is_time_unknown(v))
		out->rate = out->value / out->counted.seconds;
}

/* Between which values the row's lies, as far as the time it was counted for is uncertain. */
static void set_bounds(struct verdict *v, const struct unc_formula_input *in)
{
	const struct unc_formula *formula = v->metric->formula;
	struct uncore_row *out = v->out;
	double least_s = out->counted.seconds - v->uncertain_s,
	       most_s = out->counted.seconds + v->uncertain_s;
	double low, high;

	if (is_time_unknown(v))
		v->open_ended = unc_formula_eval(formula, in, most_s, &low) && low != out->value;
	else if (v->uncertain_s > 0 && least_s > 0 &&
		 unc_formula_eval(formula, in, least_s, &low) &&
		 unc_formula_eval(formula, in, most_s, &high) && low != high) {
		out->low = fmin(low, high);
		out->high = fmax(low, high);
	}
}

/* The bin in which the percentile lies: its bounds, and as the value the upper one. The last bin has
 * none, and at least the lower one. */
static void set_percentile(struct verdict *v)
{
	const struct unc_histogram *h = v->metric->histogram;
	double counts[UNC_METRIC_EVENTS];
	struct uncore_row *out = v->out;
	size_t bin;

	for (size_t k = 0; k < v->row->query->event_count; k++)
		counts[k] = v->sums[k].value;
	out->value = NAN;
	if (!unc_histogram_percentile(counts, h->count, v->metric->per_mille, &bin))
		return;
	unc_histogram_bounds(h, bin, &out->low, &out->high);
	out->value = isnan(out->high) ? out->low : out->high;
}

static void set_metric(struct verdict *v)
{
	struct unc_formula_input in[UNC_METRIC_EVENTS];

	for (size_t k = 0; k < v->row->query->event_count; k++) {
		const struct unc_sum *sum = &v->sums[k];

		in[k].value = sum->value * v->row->query->scales[k];
		in[k].known = sum->used;
		/* A mean is not taken over a counter that is stuck while others move, and by half
		 * over one that was counted for half the time. */
		if (is_stuck(v, k) && sum->still < sum->used)
			in[k].sources = (double)(sum->used - sum->still);
		else if (v->uneven)
			in[k].sources = (double)sum->enabled_ns / (double)v->longest_ns;
		else
			in[k].sources = (double)sum->used;
	}
	if (!unc_formula_eval(v->metric->formula, in, v->out->counted.seconds, &v->out->value))
		return;
	set_bounds(v, in);
	if (v->metric->histogram)
		set_percentile(v);
}

/* ---- checks of one event that has a value --------------------------------------------------------- */

static void check_states(struct verdict *v, size_t k)
{
	const struct unc_sum *sum = &v->sums[k];
	struct unc_error why;

	if (!sum->missing)
		return;
	explain(v, sum->first_bad, &why);
	worsen(v, sum->suspect ? UNCORE_SUSPECT : UNCORE_PARTIAL, "%zu of %zu %s: %s", sum->missing,
	       sum->used + sum->missing, sum->suspect ? "left out" : "missing", why.text);
}

/* One stopped clock among many does not show in their sum. */
static void check_stuck(struct verdict *v, size_t k)
{
	const struct unc_sum *sum = &v->sums[k];
	const struct unc_counter *c = &v->interval->counters[sum->first_still];
	unsigned long long length = (unsigned long long)(v->out->counted.seconds * 1e3);

	if (!is_stuck(v, k))
		return;
	if (sum->still == sum->used)
		worsen(v, UNCORE_SUSPECT, "'%s' did not move in %llu ms: the counter is stuck",
		       event_name(v, k), length);
	else
		worsen(v, UNCORE_SUSPECT,
		       "'%s' did not move on %zu of %zu counters in %llu ms: stuck on %s, CPU %d",
		       event_name(v, k), sum->still, sum->used, length, c->pmu->name, c->cpu);
}

static void check_short(struct verdict *v, size_t k)
{
	const struct unc_sum *sum = &v->sums[k];
	const struct unc_counter *c = &v->interval->counters[sum->first_short];

	if (is_short(v, sum))
		worsen(v, UNCORE_PARTIAL, "%s/%s/ on CPU %d was counted for %llu of %llu ms only",
		       c->pmu->name, c->event, c->cpu, ms(sum->shortest_ns),
		       ms(v->interval->length_ns));
}

static void check_interrupted(struct verdict *v, size_t k)
{
	const struct unc_counter *c = &v->interval->counters[v->sums[k].first_interrupted];

	if (v->sums[k].interrupted)
		worsen(v, UNCORE_PARTIAL, "%s/%s/ on CPU %d was not counted all of the time",
		       c->pmu->name, c->event, c->cpu);
}

static void check_coverage(struct verdict *v, size_t k)
{
	if (v->sums[k].coverage < 1)
		worsen(v, UNCORE_SCALED, NULL);
}

static void (*const event_checks[])(struct verdict *, size_t) = {
	check_states, check_stuck, check_short, check_interrupted, check_coverage,
};

/* ---- checks of the row ---------------------------------------------------------------------------- */

static void check_events(struct verdict *v)
{
	for (size_t k = 0; k < v->row->query->event_count; k++) {
		if (!v->sums[k].used)
			continue;
		for (size_t i = 0; i < sizeof(event_checks) / sizeof(*event_checks); i++)
			event_checks[i](v, k);
	}
}

static void check_gaps(struct verdict *v)
{
	if (v->row->gaps)
		worsen(v, v->row->counter_count ? UNCORE_PARTIAL : UNCORE_UNAVAILABLE, "%s",
		       v->row->gaps);
}

static void check_time(struct verdict *v)
{
	if (v->open_ended)
		worsen(v, UNCORE_PARTIAL,
		       "it was counted for an unknown part of %llu ms: it stopped between "
		       "two readings, or they took that long",
		       (unsigned long long)(v->out->counted.seconds * 1e3));
}

/* Why there is no value: an event without any, or a division by zero. */
static void check_value(struct verdict *v)
{
	bool suspect = false;

	if (!isnan(v->out->value))
		return;
	for (size_t k = 0; k < v->row->query->event_count; k++) {
		const struct unc_sum *sum = &v->sums[k];
		struct unc_error why;

		if (sum->used)
			continue;
		if (!sum->missing) {
			worsen(v, UNCORE_UNAVAILABLE, "no PMU here counts '%s'", event_name(v, k));
			continue;
		}
		/* Suspect: it was counted, and what was counted cannot be. */
		suspect = suspect || sum->suspect;
		explain(v, sum->first_bad, &why);
		worsen(v, sum->suspect ? UNCORE_SUSPECT : UNCORE_UNAVAILABLE, "%s", why.text);
	}
	if (suspect)
		return;
	if (v->out->quality >= UNCORE_PARTIAL)
		worsen(v, UNCORE_UNAVAILABLE, NULL); /* for the reason that is there */
	else
		worsen(v, UNCORE_UNAVAILABLE, "division by zero: no events in this interval");
}

/* In hundredths of 1e9, as numbers are not printed through the locale. */
static unsigned long long hundredths(double value)
{
	return (unsigned long long)fmin(value / 1e7, 1e18);
}

/* More than the hardware can move, or than there is. The speed of a link was that of the moment of the
 * scan: an idle device may have been asleep. */
static void check_ceiling(struct verdict *v)
{
	double value = v->out->value, ceiling = v->row->ceiling;

	if (v->row->port && v->row->port->max_rate > ceiling)
		ceiling = v->row->port->max_rate;
	if (value > OVER_CEILING * ceiling)
		worsen(v, UNCORE_SUSPECT,
		       "%llu.%02llu GB/s are more than the ceiling of %llu.%02llu GB/s",
		       hundredths(value) / 100, hundredths(value) % 100, hundredths(ceiling) / 100,
		       hundredths(ceiling) % 100);
	if (value > OVER_CEILING && strcmp(v->out->query.unit, "ratio") == 0)
		worsen(v, UNCORE_SUSPECT, "over 100 %%");
}

static void (*const row_checks[])(struct verdict *) = {
	check_events, check_gaps, check_time, check_value, check_ceiling,
};

void unc_row_judge(const struct unc_row *row, const struct unc_interval *interval,
		   char reason[static UNC_REASON_ROOM], struct uncore_row *out)
{
	const struct unc_query *q = row->query;
	struct verdict v = {.row = row,
			    .metric = q->metric,
			    .interval = interval,
			    .reason = reason,
			    .out = out};

	*out = (struct uncore_row){
		.query = {.name = v.metric ? v.metric->name : q->name,
			  .family = v.metric ? v.metric->family->name : NULL,
			  .unit = v.metric ? v.metric->unit : q->unit,
			  .filter = q->filter},
		.place = row->key,
		.ceiling = row->ceiling,
		.value = NAN,
		.rate = NAN,
		.low = NAN,
		.high = NAN,
		.counted.seconds = NAN,
		.quality = UNCORE_MEASURED,
	};
	out->place.port = row->port;
	unc_row_sum(row, interval, v.sums);
	out->counted.instances = v.sums[0].used + v.sums[0].missing;
	set_times(&v);
	if (v.metric)
		set_metric(&v);
	else
		set_event(&v);
	for (size_t i = 0; i < sizeof(row_checks) / sizeof(*row_checks); i++)
		row_checks[i](&v);
	if (out->quality == UNCORE_UNAVAILABLE || isnan(out->value)) {
		out->value = out->low = out->high = NAN;
		out->counted.coverage = 0;
	}
}

const char *uncore_quality_name(enum uncore_quality quality)
{
	static const char *const names[] = {
		[UNCORE_MEASURED] = "measured", [UNCORE_SCALED] = "scaled",
		[UNCORE_SAMPLED] = "sampled",   [UNCORE_PARTIAL] = "partial",
		[UNCORE_SUSPECT] = "suspect",   [UNCORE_UNAVAILABLE] = "unavailable",
	};

	if ((size_t)quality >= sizeof(names) / sizeof(*names))
		return "unknown";
	return names[quality];
}
