/* SPDX-License-Identifier: MIT */
/* The ticks of a loop that counts: when intervals and short samples end, how late the loop came to them, and what the
 * clocks did meanwhile. */
#ifndef CLI_TICKS_H
#define CLI_TICKS_H

#include <stdbool.h>
#include <stddef.h>
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
	uint64_t grid_ns; /* of this run: when its first interval began, */
	uint64_t passed,
		windows;      /* how many intervals have ended, and with how many rows were made */
	uint64_t samples;     /* short ones that have ended */
	uint64_t all_samples; /* in all runs; */
	uint64_t merged;      /* of them, the ones that are part of a longer one */
	uint64_t late;        /* intervals to whose end we came more than half an interval late */
	uint64_t missed; /* intervals that had passed when we came to the end of an earlier one, */
	uint64_t missed_now; /* the part in the current window */
	uint64_t checked_ns; /* when the clocks were compared last, and */
	int64_t suspended_ns,
		wall_ns; /* how far BOOTTIME is before MONOTONIC, and REALTIME before BOOTTIME */
	struct spread wakeups, skews;
};

enum tick {
	TICK_NONE,
	TICK_SAMPLE,   /* a short sample is over */
	TICK_INTERVAL, /* an interval is over */
};

/* Sets a timerfd to an absolute time; 0: never. */
void timer_arm(int fd, uint64_t first_ns, uint64_t every_ns);
/* How often it has expired since it was asked last. */
uint64_t timer_expirations(int fd);

/* An exit code. */
int ticks_open(struct ticks *t, uint64_t interval_ns, uint64_t sample_ns, bool verbose);
void ticks_close(struct ticks *t);
/* A run begins now: the first interval ends an interval from now. Without an interval and samples there are no ticks. */
void ticks_start(struct ticks *t);
/* After t->fd has become readable: which tick it is. Prints what was late with `verbose`, and steps of the clocks. */
enum tick ticks_take(struct ticks *t);
/* The counters were read: keeps the time between the first and the last of them. */
void ticks_read(struct ticks *t, const struct uncore_monitor *m);
/* Prints what was late and missed, and with `verbose` how late and how far apart. */
void ticks_report(const struct ticks *t);

#endif
