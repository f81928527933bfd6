/* SPDX-License-Identifier: MIT */
/* Rows of a sample: the value (value.c), then the checks; the worst result is the quality. */
#include "count/clocks.h"
#include "count/judged.h"
#include "object.h"

#include <math.h>
#include <stdarg.h>

/* Tolerance, since the times of a value and of its ceiling differ a little. */
#define OVER_CEILING 1.05
/* From this share of the time on, its uncertainty makes a row suspect. */
#define SUSPECT_SHARE 0.1
/* An uncertainty that is small beside the ceiling makes no row suspect: that of a small difference
 * between two large counts. */
#define SMALL_SHARE 0.01
/* A value that may be off by so many times itself, or that is 0, is described by its bound. */
#define MOST_OFF 10
/* From this share of the value on, the row has a note on what uncore's own readings are of it. */
#define OWN_SHARE 0.01
/* A value that is extrapolated from a smaller share of the time is too uncertain: in tests with
 * steady traffic such values were off by up to a third. */
#define LEAST_COVERAGE 0.05
/* Larger counts are not equal by chance. */
#define LEAST_EQUAL 1000
/* In a shorter time counts differ because PMUs are read at different moments. */
#define LEAST_DIFFERENT_NS 10000000

/* Sets a quality and its reason if it is worse than the present one. Without a reason the present
 * reason stays. */
__attribute__((format(printf, 3, 4))) static void
worsen(struct unc_judged_row *v, enum uncore_quality quality, const char *fmt, ...)
{
	va_list args;

	if (v->out->quality >= quality)
		return;
	v->out->quality = quality;
	if (!fmt || !v->reason)
		return;
	va_start(args, fmt);
	vsnprintf(v->reason, UNC_REASON_ROOM, fmt, args);
	va_end(args);
	v->out->reason = v->reason;
}

static void explain(const struct unc_judged_row *v, size_t counter, struct unc_error *why)
{
	unc_delta_explain(&v->interval->counters[counter], &v->interval->deltas[counter], why);
}

static unsigned long long ms(uint64_t ns)
{
	return ns / 1000000;
}

/* Rounded to the nearest: 0.125 s after a division and a multiplication may be 124.999... ms. */
static unsigned long long rounded_ms(double seconds)
{
	return (unsigned long long)fmin(seconds * 1e3 + 0.5, 1e18);
}

/* "0.31", "50": two digits of a short time. */
static const char *describe_ms(double seconds, char into[static 32])
{
	unsigned long long hundredths = rounded_ms(seconds * 100);

	if (seconds < 0.01)
		snprintf(into, 32, "%llu.%02llu", hundredths / 100, hundredths % 100);
	else
		snprintf(into, 32, "%llu", rounded_ms(seconds));
	return into;
}

/* ---- checks of the row ---- */

/* The sum of many clocks does not show that one is stopped. */
static void check_stuck(struct unc_judged_row *v, size_t k)
{
	const struct unc_sum *sum = &v->sums[k];
	const struct uncore_counter *c = &v->interval->counters[sum->first_still];
	const struct unc_delta *d = &v->interval->deltas[sum->first_still];
	unsigned long long length =
		ms(d->running_ns >= UNC_STUCK_NS
			   ? d->running_ns
			   : v->interval->clocks->counters[sum->first_still].still_ns);

	if (sum->still == sum->used)
		worsen(v, UNCORE_SUSPECT, "'%s' did not move in %llu ms: the counter is stuck",
		       unc_input_name(v, k), length);
	else
		worsen(v, UNCORE_SUSPECT,
		       "'%s' did not move on %zu of %zu counters in %llu ms: stuck on %s, CPU %d",
		       unc_input_name(v, k), sum->still, sum->used, length, c->pmu->name, c->cpu);
}

/* The counters of each event that has a value. */
static void check_events(struct unc_judged_row *v)
{
	const struct uncore_counter *counters = v->interval->counters, *c;
	const struct unc_delta *d;
	struct unc_error why;

	for (size_t k = 0; k < v->row->query->event_count; k++) {
		const struct unc_sum *sum = &v->sums[k];

		if (!sum->used)
			continue;
		if (sum->missing) {
			explain(v, sum->first_bad, &why);
			worsen(v, sum->suspect ? UNCORE_SUSPECT : UNCORE_PARTIAL,
			       "%zu of %zu %s: %s", sum->missing, sum->used + sum->missing,
			       sum->suspect ? "left out" : "missing", why.text);
		}
		if (sum->still)
			check_stuck(v, k);
		c = &counters[sum->first_cut_short];
		d = &v->interval->deltas[sum->first_cut_short];
		if (sum->cut_short)
			worsen(v, UNCORE_PARTIAL,
			       "%s/%s/ on CPU %d was counted for %llu of %llu ms only",
			       c->pmu->name, c->event, c->cpu, ms(d->enabled_ns), ms(d->window_ns));
		c = &counters[sum->first_interrupted];
		if (sum->interrupted)
			worsen(v, UNCORE_PARTIAL,
			       "%s/%s/ on CPU %d was not counted all of the time", c->pmu->name,
			       c->event, c->cpu);
		if (sum->incomplete)
			worsen(v, UNCORE_PARTIAL, "%s",
			       v->interval->deltas[sum->first_incomplete].why);
		c = &counters[sum->first_torn];
		if (sum->torn)
			worsen(v, UNCORE_SUSPECT,
			       "%s/%s/ on CPU %d: the driver read the two halves of its register "
			       "while it carried; the count was %llu x 2^%u too high, which is "
			       "corrected",
			       c->pmu->name, c->event, c->cpu,
			       (unsigned long long)v->interval->deltas[sum->first_torn].torn,
			       c->register_bits);
	}
}

/* The input that was counted for the smallest share of the time. */
static const char *least_covered(const struct unc_judged_row *v)
{
	const struct uncore_row_counted *counted = v->counted;

	for (size_t k = 0; k < v->row->query->event_count; k++)
		if (v->sums[k].coverage <= counted->coverage)
			return unc_input_name(v, k);
	/* An event has no other input; clang-tidy does not see that. */
	return v->metric->over; /* NOLINT(clang-analyzer-core.NullDereference) */
}

static void check_coverage(struct unc_judged_row *v)
{
	double coverage = v->counted->coverage;
	unsigned share = (unsigned)fmin(coverage * 1e4 + 0.5, LEAST_COVERAGE * 1e4 - 1);

	if (isnan(v->out->value) || coverage >= 1)
		return;
	if (coverage < LEAST_COVERAGE)
		worsen(v, UNCORE_SUSPECT,
		       "'%s' was counted for %u.%02u %% of the time only: count fewer events "
		       "at once, or for longer",
		       least_covered(v), share / 100, share % 100);
	worsen(v, UNCORE_SCALED, NULL);
}

/* A partial sum is below the true one. That of an extrapolated value may be above it. */
static void check_extrapolated(struct unc_judged_row *v)
{
	char why[UNC_REASON_ROOM];
	double coverage = v->counted->coverage;

	if (v->out->quality != UNCORE_PARTIAL || isnan(v->out->value) || coverage >= 1 ||
	    v->row->query->snapshot)
		return;
	snprintf(why, sizeof(why), "%s", v->out->reason ? v->out->reason : "");
	worsen(v, UNCORE_SUSPECT,
	       "extrapolated, as '%s' was counted for %u %% of the time, and incomplete: %s",
	       least_covered(v), (unsigned)(coverage * 100), why);
}

/* A PMU whose clock does not move counts nothing, whatever its other counters read: their 0 is no
 * part of a sum. */
static void check_clocks(struct unc_judged_row *v)
{
	const struct uncore_counter *first = NULL;
	size_t still = 0, all = 0;

	for (size_t i = 0; i < v->row->counter_count; i++) {
		const struct unc_row_counter *c = &v->row->counters[i];
		const struct unc_clocked *of = &v->interval->clocks->counters[c->number];

		if ((i && c[-1].instance == c->instance) || of->lacking)
			continue;
		all++;
		if (of->clock == SIZE_MAX || !unc_clock_stopped(&v->interval->deltas[of->clock]))
			continue;
		if (!still++)
			first = &v->interval->counters[of->clock];
	}
	if (still)
		worsen(v, UNCORE_SUSPECT,
		       "the clock of %s, CPU %d did not move, so that the PMU does not count: %zu of "
		       "%zu PMUs",
		       first->pmu->name, first->cpu, still, all);
}

/* By how much the value may be off, for people: as a share of it where that means something. */
static const char *describe_off(const struct unc_judged_row *v, double off, char into[64])
{
	const char *unit = v->out->query->unit;

	if (off <= MOST_OFF)
		snprintf(into, 64, "off by %llu %%", (unsigned long long)(off * 100));
	else if (!(v->out->high >= 1)) /* seconds, ratios */
		snprintf(into, 64, "off by more than %d %%", MOST_OFF * 100);
	else
		snprintf(into, 64, "up to %llu%s%s", (unsigned long long)fmin(v->out->high, 1e18),
			 *unit ? " " : "", unit);
	return into;
}

static void check_time(struct unc_judged_row *v)
{
	char may_be[64], took[32];
	const struct uncore_row *out = v->out;
	double off = fmax(out->high - out->value, out->value - out->low);
	/* Bounds are proportional to the count, so that those of 0 have no meaning. */
	bool none = !v->metric && !v->row->query->snapshot && out->value == 0;

	off = off < SMALL_SHARE * v->row->ceiling ? 0 : off / fabs(out->value);
	if ((v->open_ended || none) && v->skew > SUSPECT_SHARE)
		off = 1;
	if (v->metric && v->metric->formula->ratio && off > SUSPECT_SHARE &&
	    v->took_s >= v->uncertain_s)
		worsen(v, UNCORE_SUSPECT,
		       "its counters were not read at one moment, but within %s of %llu ms: the "
		       "value may be %s",
		       describe_ms(v->took_s, took), rounded_ms(v->counted->seconds),
		       describe_off(v, off, may_be));
	else if (!(v->metric && v->metric->histogram) && off > SUSPECT_SHARE)
		worsen(v, UNCORE_SUSPECT,
		       "it was not read when the interval of %llu ms began or ended: the value "
		       "may be %s",
		       ms(v->interval->length_ns), describe_off(v, off, may_be));
	if (v->open_ended)
		worsen(v, UNCORE_PARTIAL,
		       "it was counted for an unknown part of %llu ms: it stopped between "
		       "two readings, or they took that long",
		       rounded_ms(v->counted->seconds));
}

/* Sets the reason if there is no value: an event without counts, or a division by zero. */
static void check_value(struct unc_judged_row *v)
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
			worsen(v, UNCORE_UNAVAILABLE, "no PMU here counts '%s'",
			       unc_input_name(v, k));
			continue;
		}
		/* Suspect: there is a count, but it is impossible. */
		suspect = suspect || sum->suspect;
		explain(v, sum->first_bad, &why);
		worsen(v, sum->suspect ? UNCORE_SUSPECT : UNCORE_UNAVAILABLE, "%s", why.text);
	}
	if (suspect)
		return;
	if (v->out->quality >= UNCORE_PARTIAL)
		worsen(v, UNCORE_UNAVAILABLE, NULL); /* keeps the present reason */
	else if (v->metric && v->metric->over)
		worsen(v, UNCORE_UNAVAILABLE, "%s has no value in this interval, or 0",
		       v->metric->over);
	else
		worsen(v, UNCORE_UNAVAILABLE, "division by zero: no events in this interval");
}

/* Whether two counters are of PMUs of one kind, on the same CPU, with the same event. */
static bool are_alike(const struct uncore_counter *a, const struct uncore_counter *b)
{
	return a->pmu != b->pmu && a->pmu->family == b->pmu->family && a->cpu == b->cpu &&
	       a->round == b->round && memcmp(&a->config, &b->config, sizeof(a->config)) == 0;
}

/* Whether the counter counted for the whole interval; counters of other rounds did not. */
static bool is_whole(const struct unc_delta *d)
{
	return d->state == UNC_COUNTED && d->running_ns >= LEAST_DIFFERENT_NS &&
	       d->running_ns == d->enabled_ns;
}

/* Whether two busy PMUs have clearly different counts. Two copies of one count never differ so
 * much, since they are read within microseconds. Multiplexed counters are not compared, since they
 * count at different times. */
static bool some_differ(const struct unc_interval *interval, const struct unc_family *family)
{
	for (size_t i = 0; i < interval->count; i++) {
		const struct unc_delta *a = &interval->deltas[i], *b;

		if (interval->counters[i].pmu->family != family || a->count < LEAST_EQUAL ||
		    !is_whole(a))
			continue;
		for (size_t k = 0; k < interval->count; k++) {
			b = &interval->deltas[k];
			if (are_alike(&interval->counters[i], &interval->counters[k]) &&
			    is_whole(b) && b->count < a->count - a->count / 8)
				return true;
		}
	}
	return false;
}

static bool has_equal(const struct unc_interval *interval, size_t counter)
{
	const struct unc_delta *d = &interval->deltas[counter];

	for (size_t i = 0; d->count >= LEAST_EQUAL && i < interval->count; i++)
		if (interval->deltas[i].count == d->count &&
		    are_alike(&interval->counters[i], &interval->counters[counter]))
			return true;
	return false;
}

/* What was known before counting: gaps, and bugs of the kernel. If counts show whether the kernel
 * has the bug, they decide; else, with idle or nearly equal PMUs, the version does. */
static void check_known(struct unc_judged_row *v)
{
	const struct unc_kernel_bug *bug = v->row->bug;

	if (v->row->gaps)
		worsen(v, v->row->counter_count ? UNCORE_PARTIAL : UNCORE_UNAVAILABLE, "%s",
		       v->row->gaps);
	if (!bug || !v->row->counter_count)
		return;
	if (bug->equal_counts &&
	    some_differ(v->interval, v->interval->counters[v->row->counters[0].number].pmu->family))
		return;
	if (bug->suspect)
		worsen(v, UNCORE_SUSPECT, "%s", bug->text);
	for (size_t i = 0; !bug->suspect && i < v->row->counter_count; i++) {
		size_t counter = v->row->counters[i].number;

		if (has_equal(v->interval, counter))
			worsen(v, UNCORE_SUSPECT, "%s and other PMUs have equal counts: %s",
			       v->interval->counters[counter].pmu->name, bug->title);
	}
}

/* Tasks that are not where they should be; and lines that they have in the cache, since they are in
 * another group. All counters of a row are of one group. */
static void check_tasks(struct unc_judged_row *v)
{
	for (size_t i = 0; i < v->row->counter_count; i++) {
		const struct uncore_counter *c = &v->interval->counters[v->row->counters[i].number];
		const struct unc_slot *slot = c->pmu->slot;

		if (!slot)
			return;
		if (slot->strangers)
			worsen(v, UNCORE_SUSPECT,
			       "tasks of others are in the group, and may not be moved out of it");
		if (slot->denied)
			worsen(v, UNCORE_PARTIAL,
			       "%zu of its %zu tasks may not be moved into the group: only root "
			       "moves those of other users",
			       slot->denied, slot->wanted);
		if (slot->mixed && c->snapshot)
			worsen(v, UNCORE_SUSPECT,
			       "the group has these tasks for less than %u s: what they loaded into "
			       "the cache before is not in it, and what tasks before them loaded may be",
			       (unsigned)(UNC_SLOT_MIXED_NS / 1000000000u));
	}
}

/* Whether the counts show that the formula is correct, which the documents leave open. */
static bool shows_no_doubt(const struct unc_judged_row *v)
{
	const struct unc_names *events = &v->metric->formula->names;
	const struct unc_formula *unless = v->metric->unless;
	struct unc_formula_input in[UNC_METRIC_EVENTS] = {0};
	double value;

	for (size_t k = 0; unless && k < unless->names.count; k++) {
		const char *name = unless->names.items[k];

		for (size_t i = 0; i < events->count; i++)
			if (strcmp(events->items[i], name) == 0)
				in[k] = v->in[i];
		if (!strchr(name, '.'))
			continue;
		in[k].value = unc_value_of_metric(v, name).value;
		in[k].known = !isnan(in[k].value);
	}
	return unless && unc_formula_eval(unless, in, v->counted->seconds, &value, NULL) &&
	       (value < 0 || value > 0);
}

/* With each_pmu each PMU is checked alone, since a sum may fit by chance and hide an idle link. A
 * PMU without a value settles nothing. */
static bool is_settled(const struct unc_judged_row *v)
{
	size_t counters = v->metric->each_pmu ? v->row->counter_count : 0;
	bool settled = v->metric->each_pmu || shows_no_doubt(v);
	struct unc_judged_part part;

	for (size_t from = 0; settled && from < counters;) {
		from = unc_value_of_part(v, from, &part);
		settled = isnan(part.out.value) || shows_no_doubt(&part.v);
	}
	return settled;
}

/* The documents contradict each other, or are incomplete: about the metric, or about the port. */
static void check_doubt(struct unc_judged_row *v)
{
	const struct uncore_device *port = v->row->place.port;
	char gap[UNC_REASON_ROOM];

	*gap = '\0';
	if (v->metric && v->metric->doubt && !is_settled(v)) {
		if (v->out->quality == UNCORE_PARTIAL && v->out->reason)
			snprintf(gap, sizeof(gap), "; %s", v->out->reason);
		worsen(v, v->metric->withheld ? UNCORE_UNAVAILABLE : UNCORE_SUSPECT, "%s%s",
		       v->metric->doubt, gap);
	}
	if (port && port->doubt)
		worsen(v, UNCORE_SUSPECT, "%s", port->doubt);
}

/* A rate over the cycles of a block, and a time that is made of cycles, are wrong when the cycles
 * are not those of the interval: the clock stopped or runs at another frequency. */
static void check_clock(struct unc_judged_row *v)
{
	double hz = v->metric ? v->metric->clock_hz : 0, seconds = v->counted->seconds;
	double cycles = 0, instances = 0, off;

	if (!v->metric)
		return;
	for (size_t k = 0; hz > 0 && k < v->row->query->event_count; k++) {
		if (!(v->metric->clock_events >> k & 1))
			continue;
		cycles += v->sums[k].per_s * seconds;
		instances = (double)v->sums[k].used;
	}
	if (!(instances > 0) || isnan(v->out->value))
		return;
	off = (SUSPECT_SHARE + v->skew) * seconds + v->uncertain_s;
	cycles /= instances * hz;
	if (cycles < seconds - off || cycles > fmax(seconds, UNC_AT_ONCE_S) + off)
		worsen(v, UNCORE_SUSPECT,
		       "its clock counted the cycles of %llu ms in %llu ms: it stopped, or its "
		       "frequency is not %llu Hz",
		       rounded_ms(cycles), rounded_ms(seconds), (unsigned long long)hz);
}

/* Values that cannot be: a clock of 0 Hz, which has no idle time in any interval; data on a link
 * without lanes; more than the ceiling; a ratio above 1; less than 0. The ceiling of a link is that
 * of its full speed, since an idle device may have been in a low-power state during the scan. */
static void check_range(struct unc_judged_row *v)
{
	double value = v->out->value, ceiling = v->row->ceiling;
	const struct uncore_device *port = v->row->place.port;
	const char *unit = v->out->query->unit;

	if (!v->metric) /* a count has no range */
		return;
	if (value == 0 && strcmp(unit, "Hz") == 0)
		worsen(v, UNCORE_SUSPECT,
		       "a clock of 0 Hz: the clock is stopped, or its counter is stuck");
	if (v->metric->ceiling == UNC_CEILING_PORT && port && value > 0 && port->speed > 0 &&
	    !port->width)
		worsen(v, UNCORE_SUSPECT,
		       "the root port %s had no link when the machine was scanned, and moves data",
		       port->address);
	if (port && port->max_rate > ceiling)
		ceiling = port->max_rate;
	if (value > OVER_CEILING * ceiling)
		worsen(v, UNCORE_SUSPECT, "%llu B/s are more than the ceiling of %llu B/s",
		       (unsigned long long)fmin(value, 1e18), (unsigned long long)ceiling);
	if (value > OVER_CEILING && strcmp(unit, "ratio") == 0)
		worsen(v, UNCORE_SUSPECT, "over 100 %%");
	if (value < 0)
		worsen(v, UNCORE_SUSPECT, "the value is below 0, which it cannot be");
}

/* Adds a sentence on a value, which does not change its quality. */
static void add_note(struct unc_judged_row *v, const char *note)
{
	size_t len = v->out->reason ? strlen(v->reason) : 0;

	snprintf(v->reason + len, UNC_REASON_ROOM - len, "%s%s", len ? "; " : "", note);
	v->out->reason = v->reason;
}

/* Says how it was counted, if not exactly, and what of it are uncore's own readings, if that is
 * not negligible. */
static void add_notes(struct unc_judged_row *v)
{
	const char *unit = v->out->query->unit, *way = NULL;
	bool has_own = false;
	char note[100];
	double own;

	if (!v->reason || isnan(v->out->value))
		return;
	for (size_t k = 0; k < v->row->query->event_count; k++) {
		way = way ? way : v->sums[k].way;
		has_own |= v->sums[k].own > 0;
	}
	if (way)
		add_note(v, way);
	own = has_own ? unc_value_own(v) : 0;
	if (!(own > OWN_SHARE * fabs(v->out->value)))
		return;
	snprintf(note, sizeof(note),
		 "about %llu%s%s of it are uncore's own readings of the counter",
		 (unsigned long long)own, *unit ? " " : "", unit);
	add_note(v, note);
}

static bool is_counted(const struct unc_judged_row *v)
{
	size_t count = v->row->query->event_count, k = 0;

	while (k < count && v->sums[k].used && !v->sums[k].still)
		k++;
	return count && k == count;
}

void unc_row_judge(const struct unc_row *row, const struct unc_interval *interval, char *reason,
		   struct unc_judged *into, struct uncore_input *inputs)
{
	struct uncore_row *out = &into->row;
	struct unc_sum sums[UNC_METRIC_EVENTS];
	struct unc_formula_input in[UNC_METRIC_EVENTS];
	struct unc_judged_row v = {.row = row,
				   .metric = row->query->metric,
				   .interval = interval,
				   .reason = reason,
				   .out = out,
				   .counted = &into->counted,
				   .sums = sums,
				   .in = in};

	*out = (struct uncore_row){
		.query = &row->query->shown,
		.place = &row->place,
		.counted = &into->counted,
		.ceiling = row->ceiling,
		.value = NAN,
		.rate = NAN,
		.low = NAN,
		.high = NAN,
		.weight = NAN,
		.quality = UNCORE_MEASURED,
		.extra = row->extra,
	};
	into->counted = (struct uncore_row_counted){.seconds = NAN, .amount = NAN};
	unc_value_set(&v);
	if (v.metric && v.metric->over)
		unc_value_share(&v);
	if (inputs)
		unc_value_inputs(&v, inputs);
	into->counted.instances = v.sums[0].used + v.sums[0].missing;
	/* The first of several reasons for the same quality is shown: permanent ones, such as bugs,
	 * come before reasons that may not recur, such as a late reading. */
	check_events(&v);
	if (interval->clock_stopped)
		check_clocks(&v);
	check_coverage(&v);
	check_known(&v);
	check_time(&v);
	check_value(&v);
	check_clock(&v);
	check_range(&v);
	check_doubt(&v);
	check_tasks(&v);
	check_extrapolated(&v);
	if (row->first_round < row->round && !out->reason && reason) {
		snprintf(reason, UNC_REASON_ROOM,
			 "its parts were counted one after another, in rounds %zu to %zu",
			 row->first_round + 1, row->round + 1);
		out->reason = reason;
	}
	add_notes(&v);
	/* Bounds come from the times of the readings; what happened while a counter was not on the
	 * hardware is unknown. */
	if (into->counted.coverage < 1)
		out->low = out->high = NAN;
	if (out->quality == UNCORE_UNAVAILABLE || isnan(out->value)) {
		out->value = out->low = out->high = out->weight = NAN;
		into->counted.amount = NAN;
		/* A mean over no events was counted. */
		if (!is_counted(&v))
			into->counted.coverage = 0;
	}
}

void unc_row_repeat(const struct unc_row *row, const struct unc_judged *before,
		    struct unc_judged *into)
{
	*into = *before;
	into->row.place = &row->place;
	into->row.counted = &into->counted;
	into->row.extra = row->extra;
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
