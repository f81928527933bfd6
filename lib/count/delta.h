/* SPDX-License-Identifier: MIT */
/* The arithmetic of readings, for every source: difference, wrap, extrapolation, totals. Pure. */
#ifndef UNC_DELTA_H
#define UNC_DELTA_H

#include "source/source.h"
#include "uncore.h"

/* What one counter did between two readings. */
enum unc_state {
	UNC_COUNTED,   /* as it should */
	UNC_NOT_OPEN,  /* never opened: the counter has the sentence */
	UNC_LOST,      /* the source could not read it */
	UNC_STOPPED,   /* enabled time did not advance: the kernel no longer counts it */
	UNC_NEVER_RAN, /* enabled, but at no time on the hardware */
	UNC_WENT_BACK, /* the count or a time fell, which none of them can; modulo 2^64 */
	UNC_TOO_FAST,  /* it rose by more than it can count in that time */
	UNC_WRAPPED,   /* it may have wrapped more than once: the difference is not known */
};

struct unc_delta {
	enum unc_state state;
	uint64_t count;      /* increments really counted */
	uint64_t enabled_ns; /* time it should have counted */
	uint64_t running_ns; /* time it did */
	uint64_t window_ns;  /* time between the readings, by the clock; */
	uint64_t took_ns;    /* how long these took: window_ns may be off by that */
	double scaled;       /* count, extrapolated to the enabled time */
	/* Of a count that wrapped, or for UNC_WENT_BACK and UNC_TOO_FAST: what changed, from and to. */
	const char *what; /* "count", "enabled time"; NULL: no more than the state is known */
	uint64_t from, to;
	const char *why; /* UNC_LOST, UNC_STOPPED: a constant, or NULL */
	uint64_t uncertain_ns,
		uncertain_end_ns; /* enabled_ns may be off by that: in all, at its end */
	bool interrupted;         /* a total: not read or not counted in some interval of it */
};

/* The difference of two readings of one counter. A count below 64 bits wraps at its width. What cannot
 * be the difference is no value: a fall that would be a wrap only if the counter were faster than it can
 * be (of one whose speed is not known: than any), a rise by more than that (in a second, when the interval
 * is shorter), or an interval so long that it may have wrapped
 * twice. */
struct unc_delta unc_delta_take(const struct unc_counter *counter,
				const struct uncore_reading *before,
				const struct uncore_reading *after);

/* Adds the next interval to a total, which begins as {0}. Intervals without a reading are not in it;
 * after a count that cannot be there is no total. */
void unc_delta_add(const struct unc_counter *counter, struct unc_delta *total,
		   const struct unc_delta *interval);

/* The quality of a row whose counters are all in this state. */
enum uncore_quality unc_state_quality(enum unc_state state);
/* Why the counter has no value. */
void unc_delta_explain(const struct unc_counter *counter, const struct unc_delta *d,
		       struct unc_error *why);

#endif
