/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The traffic clock: whole ticks, by steps or at a rate. */
#include "pmon.h"

#include <time.h>

/* Since `from`: ticks = base + rate x t + slope x t^2 / 2, until `until`, at `rate_then` from there on. */
static struct {
	uint64_t base;
	double from, until; /* seconds */
	double rate, slope, rate_then;
} seg;

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Ticks of the segment at time `t`, and the rate then. */
static uint64_t at(double t, double *rate)
{
	double in = (t < seg.until ? t : seg.until) - seg.from;
	double after = t > seg.until ? t - seg.until : 0;

	*rate = t > seg.until ? seg.rate_then : seg.rate + seg.slope * in;
	return seg.base +
	       (uint64_t)(seg.rate * in + seg.slope * in * in / 2 + seg.rate_then * after);
}

uint64_t traffic_now(void)
{
	double rate;

	return at(now_s(), &rate);
}

void traffic_step(uint64_t ticks)
{
	seg.base += ticks;
}

void traffic_rate(uint64_t ticks_per_s)
{
	double t = now_s(), rate;

	seg.base = at(t, &rate);
	seg.from = seg.until = t;
	seg.rate = seg.slope = 0;
	seg.rate_then = (double)ticks_per_s;
}

void traffic_ramp(uint64_t ticks_per_s, uint64_t ms)
{
	double t = now_s(), length = (double)ms / 1000, rate;

	seg.base = at(t, &rate);
	seg.rate = rate;
	seg.from = t;
	seg.until = t + length;
	seg.rate_then = (double)ticks_per_s;
	seg.slope = ms ? (seg.rate_then - seg.rate) / length : 0;
}
