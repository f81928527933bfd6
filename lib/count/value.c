/* SPDX-License-Identifier: MIT */
/* From the sums of a row (rows.c) to its value, its bounds, and what it was made of. */
#include "count/judged.h"
#include "object.h"

#include <math.h>

/* Uncertainty of the time as a share of it: from the first on a row has bounds, and from the second
 * on the time is unknown. */
#define BOUNDS_SHARE 0.001
#define UNKNOWN_SHARE 0.99

const char *unc_input_name(const struct unc_judged_row *v, size_t k)
{
	return v->metric ? v->metric->events[k]->name : v->row->query->shown.name;
}

/* Sets the bounds of an uncertain value, unless they are closer than the accuracy of the times. */
static void set_bounds(struct unc_judged_row *v, double low, double high)
{
	if (!(fabs(high - low) > 2 * BOUNDS_SHARE * fabs(v->out->value)))
		return; /* or one of them is not known */
	v->out->low = low < high ? low : high;
	v->out->high = low < high ? high : low;
}

/* The value of an event is the exact count between its readings. Its bounds are the counts that the
 * interval may have had. */
static void set_event(struct unc_judged_row *v)
{
	const struct unc_sum *sum = &v->sums[0];
	double scale = v->row->query->scales[0], off;
	struct uncore_row *out = v->out;

	v->counted->count = sum->count;
	v->counted->enabled_ns = sum->enabled_ns + sum->waited_ns;
	v->counted->running_ns = sum->running_ns;
	if (!sum->used)
		return;
	out->value = v->in[0].value = sum->value * scale;
	if (v->row->query->snapshot)
		return;
	if (!v->time_unknown)
		out->rate = v->even ? out->value / v->counted->seconds : sum->per_s * scale;
	off = fabs(out->value) * (v->skew + v->error_share);
	set_bounds(v, out->value - off, out->value + off);
}

/* Evaluates the formula with the inputs in `up` (bit k: the k-th event; the bit after the last one:
 * the seconds) multiplied by `factor`, and those in `down` divided by it; the seconds by `time`. */
static double value_at(const struct unc_judged_row *v, double factor, double time, uint64_t up,
		       uint64_t down)
{
	struct unc_formula_input in[UNC_METRIC_EVENTS];
	size_t count = v->row->query->event_count;
	double seconds = v->counted->seconds, value;

	for (size_t k = 0; k < count; k++) {
		in[k] = v->in[k];
		in[k].value *= up >> k & 1 ? factor : down >> k & 1 ? 1 / factor : 1;
	}
	seconds *= up >> count & 1 ? time : down >> count & 1 ? 1 / time : 1;
	return unc_formula_eval(v->metric->formula, in, seconds, &value, NULL) ? value : NAN;
}

/* Sets the bounds of a metric. The counters of a group are read one after another. If the reads at
 * both ends took `took_s`, the windows of two of its counters differ by no more, and they differ
 * from the enabled time by at most `uncertain_s`. So each count may be off by a factor whose square
 * is 1 / (1 - took), and the time by one whose product with it is 1 / (1 - uncertain). The formula
 * is evaluated where all of them raise the value, and where all lower it. */
static void set_metric_bounds(struct unc_judged_row *v)
{
	size_t count = v->row->query->event_count;
	double seconds = v->counted->seconds, off = v->uncertain_s / seconds, factor = 1, time;
	uint64_t up = 0, all = 0;

	if (v->time_unknown) {
		v->open_ended = unc_formula_eval(v->metric->formula, v->in, seconds * (1 + off),
						 &time, NULL) &&
				time != v->out->value;
		off = 0;
	}
	if (count > 1)
		factor = 1 / sqrt(1 - fmin(v->took_s / seconds, UNKNOWN_SHARE));
	time = fmax(1 / (1 - off) / factor, 1);
	factor *= 1 + v->error_share;
	if (v->open_ended || v->metric->histogram || !(factor * time > 1))
		return;
	for (size_t k = 0; k <= count; k++) {
		all |= UINT64_C(1) << k;
		if (value_at(v, factor, time, UINT64_C(1) << k, 0) > v->out->value)
			up |= UINT64_C(1) << k;
	}
	set_bounds(v, value_at(v, factor, time, all & ~up, up),
		   value_at(v, factor, time, up, all & ~up));
}

/* Sets the count of a bin, with that of all bins as ceiling; or the bin of a percentile: its
 * bounds, and the upper one as the value. The last bin has no upper bound, and the value is the
 * lower one. The formula is the sum of all bins, times the unit of their bounds. */
static void set_histogram(struct unc_judged_row *v)
{
	const struct unc_histogram *h = v->metric->histogram;
	double counts[UNC_METRIC_EVENTS], all = 0, unit;
	struct uncore_row *out = v->out;
	size_t bin;

	/* The bins are the first events, which set_metric() has filled; clang-tidy does not see
	 * that. */
	for (size_t k = 0; k < h->count; k++) {
		counts[k] = v->in[k].value; /* NOLINT(clang-analyzer-core.uninitialized.Assign) */
		all += counts[k];
	}
	if (!v->metric->per_mille) {
		out->value = counts[v->metric->bin];
		out->ceiling = all;
		return;
	}
	unit = out->value / all;
	out->value = NAN;
	if (!unc_histogram_percentile(counts, h->count, v->metric->per_mille, &bin))
		return;
	unc_histogram_bounds(h, bin, &out->low, &out->high);
	out->low *= unit;
	out->high *= unit;
	out->value = isnan(out->high) ? out->low : out->high;
}

/* Sets the sum of the values of instances. One that lacks a counter is left out, as its counts are
 * from sums; one that has no value although it was counted, since it divides by 0, leaves none. */
static void set_sum_of_values(struct unc_judged_row *v)
{
	double value = 0, low = 0, high = 0, amount = 0;
	struct unc_judged_part part;
	size_t added = 0;

	for (size_t from = 0; from < v->row->counter_count;) {
		const struct uncore_row *out = &part.out;
		bool counted = true;

		from = unc_value_of_part(v, from, &part);
		for (size_t k = 0; k < v->row->query->event_count; k++)
			counted &= part.in[k].known;
		if (!counted && isnan(out->value))
			continue;
		value += out->value;
		low += isnan(out->low) ? out->value : out->low;
		high += isnan(out->high) ? out->value : out->high;
		amount += part.counted.amount;
		v->open_ended |= part.v.open_ended;
		added++;
	}
	if (!added || isnan(value))
		return;
	v->out->value = value;
	v->counted->amount = amount;
	set_bounds(v, low, high);
}

static bool has_several_instances(const struct unc_row *row)
{
	return row->counter_count &&
	       row->counters[0].instance != row->counters[row->counter_count - 1].instance;
}

static void set_metric(struct unc_judged_row *v)
{
	const struct unc_formula *formula = v->metric->formula;
	struct unc_formula_input *in = v->in, amounts[UNC_METRIC_EVENTS];
	bool counts = v->even || !formula->timed, known;
	double value, rate;

	/* Where the windows of instances differ, a value per time is the sum of rates, each over
	 * its own time. A value without a time uses the counts, which are weighted by the times; a
	 * ratio does so only if the events of an instance share its window, since all then have the
	 * same mean time. */
	for (size_t k = 1; !v->even && formula->ratio && k < v->row->query->event_count; k++)
		counts &= v->sums[k].enabled_ns * v->sums[0].used ==
			  v->sums[0].enabled_ns * v->sums[k].used;
	for (size_t k = 0; k < v->row->query->event_count; k++) {
		const struct unc_sum *sum = &v->sums[k];

		in[k].value =
			counts || sum->per_s == 0 ? sum->value : sum->per_s * v->counted->seconds;
		in[k].value *= v->row->query->scales[k];
		in[k].known = sum->used;
		/* A counter that is stuck while others change is not in the mean. */
		in[k].sources = (double)sum->used;
		if (sum->still < sum->used)
			in[k].sources -= (double)sum->still;
	}
	known = unc_formula_eval(formula, in, v->counted->seconds, &value, &v->out->weight);
	if (v->metric->add == UNC_ADD_VALUES && has_several_instances(v->row)) {
		set_sum_of_values(v);
		return;
	}
	if (!known)
		return;
	v->out->value = value;
	set_metric_bounds(v);
	/* The amount of a rate: counts and not rates are added up, since a late reading does not
	 * change the moved amount. */
	if (formula->timed && !formula->ratio) {
		for (size_t k = 0; k < v->row->query->event_count; k++) {
			amounts[k] = in[k];
			amounts[k].value = v->sums[k].value * v->row->query->scales[k];
		}
		if (unc_formula_eval(formula, amounts, v->counted->seconds, &rate, NULL))
			v->counted->amount = rate * v->counted->seconds;
	}
	if (v->metric->histogram)
		set_histogram(v);
}

/* fmax() would be a call. */
static void raise_to(double *most, double value)
{
	if (value > *most)
		*most = value;
}

void unc_value_set(struct unc_judged_row *v)
{
	uint64_t enabled_ns = 0, shortest_ns = UINT64_MAX, longest_ns = 0;
	size_t used = 0;

	unc_row_sum(v->row, v->interval, v->sums);
	/* The times that rates divide by. */
	v->counted->coverage = 1;
	for (size_t k = 0; k < v->row->query->event_count; k++) {
		const struct unc_sum *sum = &v->sums[k];

		if (sum->coverage < v->counted->coverage)
			v->counted->coverage = sum->coverage;
		enabled_ns += sum->enabled_ns;
		used += sum->used;
		if (sum->used && sum->shortest_ns < shortest_ns)
			shortest_ns = sum->shortest_ns;
		if (sum->longest_ns > longest_ns)
			longest_ns = sum->longest_ns;
		raise_to(&v->skew, (double)sum->skew_ns / (double)v->interval->length_ns);
		raise_to(&v->uncertain_s, (double)sum->uncertain_ns / 1e9);
		raise_to(&v->took_s, (double)sum->took_ns / 1e9);
		raise_to(&v->error_share, sum->error_share);
	}
	if (used)
		v->counted->seconds = (double)enabled_ns / (double)used / 1e9;
	v->even = shortest_ns == longest_ns;
	v->time_unknown =
		v->uncertain_s > 0 && v->uncertain_s >= UNKNOWN_SHARE * v->counted->seconds;
	if (v->metric)
		set_metric(v);
	else
		set_event(v);
}

size_t unc_value_of_part(const struct unc_judged_row *v, size_t from, struct unc_judged_part *into)
{
	const struct unc_row *row = v->row;
	size_t to = from;

	while (to < row->counter_count &&
	       row->counters[to].instance == row->counters[from].instance)
		to++;
	into->row = *row;
	into->row.counters += from;
	into->row.counter_count = to - from;
	into->out = (struct uncore_row){
		.value = NAN, .low = NAN, .high = NAN, .rate = NAN, .weight = NAN};
	into->counted = (struct uncore_row_counted){.amount = NAN};
	into->v = *v;
	into->v.row = &into->row;
	into->v.out = &into->out;
	into->v.counted = &into->counted;
	into->v.sums = into->sums;
	into->v.in = into->in;
	unc_value_set(&into->v);
	return to;
}

double unc_value_own(const struct unc_judged_row *v)
{
	struct unc_formula_input in[UNC_METRIC_EVENTS];
	size_t count = v->row->query->event_count;
	uint64_t own = 0;
	double value = 0;

	if (v->metric && v->metric->add == UNC_ADD_VALUES && has_several_instances(v->row)) {
		struct unc_judged_part part;

		for (size_t from = 0; from < v->row->counter_count;) {
			from = unc_value_of_part(v, from, &part);
			value += unc_value_own(&part.v);
		}
		return value;
	}
	for (size_t k = 0; k < count; k++) {
		own += v->sums[k].own;
		in[k] = v->in[k];
		if (v->sums[k].per_s > 0) /* no state */
			in[k].value = (double)v->sums[k].own * v->row->query->scales[k];
	}
	if (!own || !v->metric)
		return own ? (double)own * v->row->query->scales[0] : 0;
	return unc_formula_eval(v->metric->formula, in, v->counted->seconds, &value, NULL) ? value
											   : 0;
}

/* The value of another metric in the same place and interval: the sum of its rows, for a frequency
 * the mean; or a fact of the machine, 0 if it is unknown. NaN: no value, or some row of it has
 * none. */
struct unc_other_value unc_value_of_metric(const struct unc_judged_row *v, const char *name)
{
	const struct unc_rows *rows = v->interval->rows;
	struct unc_other_value sum = {.coverage = 1};
	double transfers, divisor;
	size_t count = 0;

	if (strcmp(name, "memory.transfers") == 0 && v->interval->machine) {
		transfers = uncore_memory_get(v->interval->machine)->transfers * 1e6;
		sum.value = sum.low = sum.high = transfers > 0 ? transfers : 0;
		return sum;
	}
	for (size_t i = 0; rows && i < rows->count; i++) {
		struct uncore_row out = {.value = NAN, .low = NAN, .high = NAN};
		struct uncore_row_counted counted = {0};
		struct unc_sum sums[UNC_METRIC_EVENTS];
		struct unc_formula_input in[UNC_METRIC_EVENTS];
		struct unc_judged_row other = {.row = &rows->items[i],
					       .metric = rows->items[i].query->metric,
					       .interval = v->interval,
					       .out = &out,
					       .counted = &counted,
					       .sums = sums,
					       .in = in};

		if (!other.metric || strcmp(other.metric->name, name) != 0 ||
		    other.row->round != v->row->round || other.row->level != v->row->level ||
		    other.row->query->shown.filter != v->row->query->shown.filter ||
		    other.row->key.socket != v->row->key.socket ||
		    other.row->key.node != v->row->key.node)
			continue;
		unc_value_set(&other);
		for (size_t k = 0; k < other.row->query->event_count; k++)
			if (other.sums[k].missing)
				out.value = NAN;
		sum.value += other.row->gaps ? NAN : out.value;
		sum.low += isnan(out.low) ? out.value : out.low;
		sum.high += isnan(out.high) ? out.value : out.high;
		sum.coverage = fmin(sum.coverage, counted.coverage);
		count += count == 0 || strcmp(other.metric->unit, "B/s") != 0;
	}
	divisor = count ? (double)count : NAN;
	sum.value /= divisor;
	sum.low /= divisor;
	sum.high /= divisor;
	return sum;
}

void unc_value_share(struct unc_judged_row *v)
{
	struct uncore_row *out = v->out;
	double low = isnan(out->low) ? out->value : out->low;
	double high = isnan(out->high) ? out->value : out->high;

	v->whole = unc_value_of_metric(v, v->metric->over);
	if (!(v->whole.value > 0))
		v->whole.value = NAN;
	v->counted->coverage = fmin(v->counted->coverage, v->whole.coverage);
	out->value /= v->whole.value;
	out->low = out->high = NAN;
	set_bounds(v, low / v->whole.high, high / v->whole.low);
}

void unc_value_inputs(const struct unc_judged_row *v, struct uncore_input *inputs)
{
	size_t count = v->row->query->event_count;

	for (size_t k = 0; k < count; k++) {
		const struct unc_sum *sum = &v->sums[k];

		inputs[k] = (struct uncore_input){
			.name = unc_input_name(v, k),
			.value = sum->used ? v->in[k].value : NAN,
			.counters = sum->used,
			.count = sum->count,
			.enabled_ns = sum->enabled_ns,
			.running_ns = sum->running_ns,
		};
	}
	if (v->row->query->input_count > count)
		inputs[count] =
			(struct uncore_input){.name = v->metric->over, .value = v->whole.value};
}
