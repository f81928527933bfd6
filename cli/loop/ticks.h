/* SPDX-License-Identifier: MIT */
/* The ticks of a loop that counts: the ends of intervals and short samples, the delays of the loop,
 * and steps of the clocks. */
#ifndef CLI_TICKS_H
#define CLI_TICKS_H

#include <stdbool.h>
#include <stdint.h>

#include "uncore.h"

#define SPREAD_BINS 1024 /* 16 in each octave */

/* A histogram of times. */
struct spread {
	uint64_t count, most_ns;
	uint32_t bins[SPREAD_BINS];
};

struct ticks {
	int fd;                          /* a timer that expires at every tick */
	uint64_t interval_ns, sample_ns; /* 0: none */
	bool verbose;
	uint64_t grid_ns;     /* of this run: when its first interval began, */
	uint64_t passed;      /* intervals that have ended, */
	uint64_t windows;     /* and intervals for which rows were made */
	uint64_t samples;     /* short samples that have ended */
	uint64_t all_samples; /* in all runs; */
	uint64_t merged;      /* of these, the ones that were merged into a longer one */
	uint64_t late;        /* intervals whose end was handled more than half an interval late */
	uint64_t missed; /* intervals that had passed when the end of an earlier one was handled, */
	uint64_t missed_now; /* the part in the current window */
	uint64_t checked_ns; /* time of the last comparison of the clocks, and */
	int64_t suspended_ns,
		wall_ns; /* the offsets of BOOTTIME from MONOTONIC, and of REALTIME from BOOTTIME */
	struct spread wakeups, skews; /* with `verbose` */
};

enum tick {
	TICK_NONE,
	TICK_SAMPLE,   /* a short sample is over */
	TICK_INTERVAL, /* an interval is over */
};

/* Sets a timerfd to an absolute time; 0: never. An exit code. */
int timer_arm(int fd, uint64_t first_ns, uint64_t every_ns);
/* The number of expirations since the last call. */
uint64_t timer_expirations(int fd);

/* An exit code. */
int ticks_open(struct ticks *t, uint64_t interval_ns, uint64_t sample_ns, bool verbose);
void ticks_close(struct ticks *t);
/* Starts a run: the first interval ends one interval from now. Without an interval and short
 * samples there are no ticks. An exit code. */
int ticks_start(struct ticks *t);
/* Returns the tick, after t->fd has become readable. Prints steps of the clocks and, with
 * `verbose`, delays. */
enum tick ticks_take(struct ticks *t);
/* Call after a reading with `verbose`: records the time between the first and the last counter. */
void ticks_read(struct ticks *t, const struct uncore_monitor *m);
/* Prints the numbers of late and missed ticks, and with `verbose` the delays and the skew of
 * readings. */
void ticks_report(const struct ticks *t);

#endif
