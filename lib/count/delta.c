/* SPDX-License-Identifier: MIT */
/* The arithmetic of readings. Everything a user is told rests on these few lines. */
#include "count/delta.h"

#include <math.h>

/* What stands for a block, a file or an emulator, keeps a time of its own: within an interval it may
 * be set to what took so long. */
#define AT_ONCE_S 1.0

static uint64_t mask(unsigned width)
{
	return width >= 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
}

void unc_delta_unwrap(const struct unc_counter *counter, const struct unc_reading *before,
		      struct unc_reading *after)
{
	if (counter->width >= 64 || counter->snapshot)
		return;
	if (after->lost)
		after->raw = before->raw;
	else
		after->raw = before->raw + ((after->raw - before->raw) & mask(counter->width));
}

static struct unc_delta went_back(const char *what, uint64_t from, uint64_t to)
{
	return (struct unc_delta){
		.state = UNC_WENT_BACK, .fell = what, .fell_from = from, .fell_to = to};
}

struct unc_delta unc_delta_take(const struct unc_counter *counter, const struct unc_reading *before,
				const struct unc_reading *after)
{
	struct unc_delta d = {0};

	if (counter->error < 0)
		return (struct unc_delta){.state = UNC_NOT_OPEN};
	if (before->lost || after->lost)
		return (struct unc_delta){.state = UNC_LOST,
					  .why = after->lost ? after->why : before->why};
	if (after->enabled_ns < before->enabled_ns)
		return went_back("enabled time", before->enabled_ns, after->enabled_ns);
	if (after->running_ns < before->running_ns)
		return went_back("running time", before->running_ns, after->running_ns);
	d.uncertain_ns = before->uncertain_ns + after->uncertain_ns;
	d.enabled_ns = after->enabled_ns - before->enabled_ns;
	d.running_ns = after->running_ns - before->running_ns;
	if (!d.enabled_ns)
		return (struct unc_delta){.state = UNC_STOPPED, .why = after->why};
	if (!d.running_ns) {
		d.state = UNC_NEVER_RAN;
		return d;
	}
	if (after->wrapped) {
		d.state = UNC_WRAPPED;
		return d;
	}
	if (counter->snapshot) { /* what it was last read as, never extrapolated */
		d.count = after->raw;
		d.scaled = (double)d.count;
		return d;
	}
	/* Nothing counts 2^63 between two readings: modulo 2^64 that is a step back, as when a driver
	 * takes a large jump of its hardware for a negative number. */
	d.count = after->raw - before->raw;
	if (counter->width < 64 && after->raw < before->raw)
		d.count &= mask(counter->width);
	else if (d.count > INT64_MAX)
		return went_back("count", before->raw, after->raw);
	d.fell_from = before->raw & mask(counter->width);
	d.fell_to = after->raw & mask(counter->width);
	d.scaled = (double)d.count;
	if (d.running_ns < d.enabled_ns)
		d.scaled *= (double)d.enabled_ns / (double)d.running_ns;
	return d;
}

void unc_delta_bound(const struct unc_counter *counter, struct unc_delta *d)
{
	double longest = (double)(d->enabled_ns + d->uncertain_ns) / 1e9;
	bool known = counter->most_per_s > 0;
	double speed = (known ? counter->most_per_s : UNC_MOST_PER_S) * UNC_CLOCK_SLACK;
	double most = speed * longest + 1, most_at_once = speed * fmax(longest, AT_ONCE_S) + 1;

	if (d->state != UNC_COUNTED || counter->snapshot || (!known && counter->width >= 64))
		return;
	if (d->fell_to < d->fell_from && (double)d->count > most)
		*d = went_back("count", d->fell_from, d->fell_to);
	else if (known && (double)d->count > most_at_once)
		*d = (struct unc_delta){
			.state = UNC_TOO_FAST, .fell_from = d->fell_from, .fell_to = d->fell_to};
	else if (known && counter->width < 64 && most >= (double)mask(counter->width))
		d->state = UNC_WRAPPED;
}

enum unc_state unc_delta_over_gap(const struct unc_counter *counter,
				  const struct unc_reading *before, const struct unc_reading *after)
{
	struct unc_delta d;

	if (counter->width >= 64 && !(counter->most_per_s > 0))
		return UNC_COUNTED;
	d = unc_delta_take(counter, before, after);
	unc_delta_bound(counter, &d);
	return d.state;
}

static void add_counted(struct unc_sum *sum, size_t position, const struct unc_delta *d)
{
	double coverage = 1;

	if (d->running_ns < d->enabled_ns)
		coverage = (double)d->running_ns / (double)d->enabled_ns;
	if (coverage < sum->coverage)
		sum->coverage = coverage;
	sum->value += d->scaled;
	sum->count += d->count;
	sum->enabled_ns += d->enabled_ns;
	sum->running_ns += d->running_ns;
	if (!sum->used || d->enabled_ns < sum->shortest_ns) {
		sum->shortest_ns = d->enabled_ns;
		sum->first_short = position;
	}
	if (d->uncertain_ns > sum->uncertain_ns)
		sum->uncertain_ns = d->uncertain_ns;
	if (d->enabled_ns > sum->longest_ns)
		sum->longest_ns = d->enabled_ns;
	sum->used++;
	if (d->gap && !sum->gaps++)
		sum->first_gap = position;
	if (!d->count && !sum->still++)
		sum->first_still = position;
}

void unc_sum_add(struct unc_sum *sum, size_t position, const struct unc_delta *d)
{
	if (d->state == UNC_COUNTED) {
		add_counted(sum, position, d);
		return;
	}
	sum->waited_ns += d->enabled_ns;
	if (!sum->missing++)
		sum->first_bad = position;
	if ((d->state == UNC_WENT_BACK || d->state == UNC_TOO_FAST) && !sum->went_back++)
		sum->first_bad = position;
}
