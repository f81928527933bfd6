/* SPDX-License-Identifier: MIT */
/* The arithmetic of readings: differences, wraps, states. rows.c adds them up. */
#include "count/rows.h"

#include <math.h>

/* The length of a piece of the past. A working counter does not rest for so long by chance, */
#define PIECE_NS 100000000u
/* if so many counts were expected. */
#define LEAST_EXPECTED 1000
/* A load may be so many times heavier than ever before. */
#define HEAVIER 16

static const struct {
	bool no_total;        /* a total over such an interval is unknown */
	const char *sentence; /* follows the counter's name */
	const char *why;      /* where the source gives no reason */
} states[] = {
	[UNC_COUNTED] = {false, "counted", NULL},
	[UNC_NOT_OPEN] = {true, "could not be opened", NULL},
	[UNC_LOST] = {false, "could not be read", "the kernel has given it up"},
	[UNC_STOPPED] =
		{false, "was not counted",
		 "the CPU went offline, its driver was removed, or the machine was suspended; "
		 "it is opened again when it can be"},
	[UNC_NEVER_RAN] = {false, "never ran in this interval",
			   "the driver refused its filters, or other events hold the counters"},
	/* A count that the source adds up has no width: here its register has overflowed. */
	[UNC_WRAPPED] = {true, "may have overflowed between two readings",
			 "read it more often (-I)"},
	[UNC_WENT_BACK] = {true, "fell between two readings", NULL},
	[UNC_TOO_FAST] = {true, "rose by more between two readings than it can count", NULL},
	[UNC_REWRITTEN] =
		{false, "has no count of this interval",
		 "another program writes these registers (pcm, likwid?), which moved further than they can count"},
};

static uint64_t mask(unsigned width)
{
	return width >= 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
}

static struct unc_delta went_back(const char *what, uint64_t from, uint64_t to)
{
	return (struct unc_delta){.state = UNC_WENT_BACK, .what = what, .from = from, .to = to};
}

/*
 * A register that counts from 0x0ffffffff to 0x100000000 between the readings of its two halves
 * seems to be 2^32 further, and back at the next reading. The driver takes both moves modulo the
 * register's width, so that its count keeps 2^width too much. Subtracts that if the rest is at most
 * `most`, which `d` is not.
 */
static bool undo_torn(const struct uncore_counter *counter, struct unc_delta *d, double most)
{
	uint64_t rest = d->count & mask(counter->register_bits);

	if (!counter->register_halves || (double)rest > most)
		return false;
	d->torn = d->count >> counter->register_bits;
	d->count = rest;
	return true;
}

/* Finds differences that are impossible at the counter's highest speed. If that is unknown, the
 * lower bound finds the excess of torn readings; registers that are read at once cannot be torn,
 * and a quarter of their range in a second shows that they were written. */
static void check_speed(const struct uncore_counter *counter, struct unc_delta *d)
{
	double longest_s = (double)(d->enabled_ns + d->uncertain_ns) / 1e9;
	bool known = counter->most_per_s > 0, fell = d->to < d->from;
	double speed = known ? counter->most_per_s : UNC_MOST_PER_S, most, at_once;

	if (!known && counter->width >= 64 && !counter->register_halves)
		speed = counter->register_bits
				? fmax(speed, ldexp(1, (int)counter->register_bits - 2))
				: UNC_MOST_PER_S_64;
	speed *= UNC_CLOCK_SLACK;
	most = speed * longest_s + 1;
	at_once = speed * (longest_s > UNC_AT_ONCE_S ? longest_s : UNC_AT_ONCE_S) + 1;
	if (fell && (double)d->count > most)
		*d = went_back("count", d->from, d->to);
	else if ((double)d->count > at_once && undo_torn(counter, d, at_once))
		return;
	else if ((double)d->count > at_once && counter->register_bits)
		*d = (struct unc_delta){.state = UNC_REWRITTEN};
	else if ((double)d->count > at_once)
		*d = (struct unc_delta){.state = UNC_TOO_FAST,
					.what = fell ? NULL : "count",
					.from = d->from,
					.to = d->to};
	else if (known && counter->width < 64 && most >= (double)mask(counter->width))
		d->state = UNC_WRAPPED;
}

static void take_count(const struct uncore_counter *counter, const struct uncore_reading *before,
		       const struct uncore_reading *after, struct unc_delta *d)
{
	d->incomplete = after->incomplete;
	if (d->incomplete)
		d->why = after->why ? after->why : "a part of what it counts is missing";
	if (counter->snapshot) {
		d->count = after->raw;
		return;
	}
	/* No counter counts 2^63 between two readings: modulo 2^64 that is a decrease, for example
	 * when a driver interprets a large jump of its hardware as a negative number. */
	d->count = after->raw - before->raw;
	if (counter->width < 64 && after->raw < before->raw) {
		d->count &= mask(counter->width);
	} else if (d->count > INT64_MAX) {
		*d = went_back("count", before->raw, after->raw);
		if (counter->register_bits)
			*d = (struct unc_delta){.state = UNC_REWRITTEN};
		return;
	}
	d->from = before->raw & mask(counter->width);
	d->to = after->raw & mask(counter->width);
	d->own = after->own > before->own ? after->own - before->own : 0;
	check_speed(counter, d);
}

void unc_delta_take(const struct uncore_counter *counter, const struct uncore_reading *before,
		    const struct uncore_reading *after, struct unc_delta *d)
{
	*d = (struct unc_delta){.window_ns = after->at_ns - before->at_ns,
				.took_ns = before->took_ns + after->took_ns,
				.took_end_ns = after->took_ns};
	if (counter->error < 0) {
		*d = (struct unc_delta){.state = UNC_NOT_OPEN};
	} else if (before->lost || after->lost) {
		d->state = UNC_LOST;
		d->why = after->lost ? after->why : before->why;
	} else if (after->enabled_ns < before->enabled_ns) {
		*d = went_back("enabled time", before->enabled_ns, after->enabled_ns);
	} else if (after->running_ns < before->running_ns) {
		*d = went_back("running time", before->running_ns, after->running_ns);
	} else {
		d->uncertain_ns = before->uncertain_ns + after->uncertain_ns;
		d->uncertain_end_ns = after->uncertain_ns;
		d->enabled_ns = after->enabled_ns - before->enabled_ns;
		d->running_ns = after->running_ns - before->running_ns;
		d->state = !d->enabled_ns   ? UNC_STOPPED
			   : !d->running_ns ? UNC_NEVER_RAN
			   : after->wrapped ? UNC_WRAPPED
					    : UNC_COUNTED;
		if (d->state == UNC_STOPPED)
			d->why = after->why;
		if (after->wrapped && after->why && d->state == UNC_WRAPPED)
			*d = (struct unc_delta){.state = UNC_REWRITTEN, .why = after->why};
		else if (d->state == UNC_COUNTED)
			take_count(counter, before, after, d);
	}
}

/* Whether the fall of a counter may be a wrap. Of one without a past, a fall by a small part of its
 * range may not. */
static bool may_wrap(const struct uncore_counter *counter, const struct unc_past *past,
		     const struct unc_delta *d)
{
	double range = ldexp(1, (int)counter->width), most = range - range / HEAVIER;

	if (past->pieces)
		most = fmax(HEAVIER * past->fastest * (double)d->running_ns / 1e9, sqrt(range));
	return counter->most_per_s > 0 || (double)d->count <= most;
}

void unc_delta_compare(const struct uncore_counter *counter, struct unc_past *past,
		       struct unc_delta *d)
{
	double seconds, rate;

	if (d->state != UNC_COUNTED || counter->snapshot)
		return;
	if (counter->width < 64 && d->to < d->from && !may_wrap(counter, past, d)) {
		*d = went_back("count", d->from, d->to);
		return;
	}
	past->count += d->count;
	past->running_ns += d->running_ns;
	if (past->running_ns < PIECE_NS)
		return;
	/* A piece of the past ends. */
	seconds = (double)past->running_ns / 1e9;
	rate = (double)past->count / seconds;
	d->quiet =
		counter->register_bits && !past->count && past->slowest * seconds >= LEAST_EXPECTED;
	past->rested |= !past->count && !d->quiet;
	past->slowest = past->count && past->slowest > 0 ? fmin(past->slowest, rate) : rate;
	past->fastest = fmax(past->fastest, rate);
	past->pieces++;
	past->count = past->running_ns = 0;
}

void unc_delta_add(const struct uncore_counter *counter, struct unc_delta *total,
		   const struct unc_delta *interval)
{
	if (states[total->state].no_total)
		return;
	if (states[interval->state].no_total) {
		*total = *interval;
		total->enabled_ns = total->running_ns = 0; /* not those of one interval */
		return;
	}
	total->window_ns += interval->window_ns;
	if (interval->state == UNC_LOST || interval->state == UNC_STOPPED ||
	    interval->state == UNC_REWRITTEN) {
		total->interrupted = true;
		total->took_end_ns = total->uncertain_end_ns = 0;
		if (!total->enabled_ns) {
			total->state = interval->state;
			total->why = interval->why;
		}
		return;
	}
	/* The boundary of two adjacent intervals is not uncertain for their sum; if an interval
	 * between them is missing, both ends are. */
	total->uncertain_ns += interval->uncertain_ns - 2 * total->uncertain_end_ns;
	total->uncertain_end_ns = interval->uncertain_end_ns;
	total->took_ns += interval->took_ns - 2 * total->took_end_ns;
	total->took_end_ns = interval->took_end_ns;
	if (!counter->snapshot)
		total->count += interval->count;
	else if (interval->state == UNC_COUNTED)
		total->count = interval->count;
	if (interval->incomplete || !total->incomplete)
		total->why = interval->why;
	total->incomplete |= interval->incomplete;
	total->torn += interval->torn;
	total->own += interval->own;
	total->enabled_ns += interval->enabled_ns;
	total->running_ns += interval->running_ns;
	total->state = total->running_ns ? UNC_COUNTED : UNC_NEVER_RAN;
}

void unc_delta_explain(const struct uncore_counter *c, const struct unc_delta *d,
		       struct unc_error *why)
{
	const char *reason = d->why ? d->why : states[d->state].why;
	const struct unc_event_def *device =
		unc_pmu_is_device(c->pmu) ? unc_device_event_of(c) : NULL;

	if (d->state == UNC_NOT_OPEN) {
		unc_fail(why, EIO, "%s", c->why ? c->why : unc_errno_text(c->error));
		return;
	}
	if (device)
		unc_fail(why, EIO, "%s/%s/ ", c->pmu->name, device->name);
	else
		unc_fail(why, EIO, "%s/%s/ on CPU %d ", c->pmu->name, c->event, c->cpu);
	if (d->state == UNC_WRAPPED && c->width < 64) {
		unc_error_append(why,
				 "may have wrapped more than once: its %u bits are certain for "
				 "%llu ms only; read it more often (-I)",
				 c->width,
				 (unsigned long long)fmin(ldexp(1e3, (int)c->width) / c->most_per_s,
							  1e18));
		return;
	}
	unc_error_append(why, "%s", states[d->state].sentence);
	if (d->what)
		unc_error_append(why, ": the %s, from %llu to %llu", d->what,
				 (unsigned long long)d->from, (unsigned long long)d->to);
	else if (reason)
		unc_error_append(why, ": %s", reason);
}
