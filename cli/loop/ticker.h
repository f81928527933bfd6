/* SPDX-License-Identifier: MIT */
/* When intervals end: at times of the clock, or where those of a recording end. */
#ifndef CLI_TICKER_H
#define CLI_TICKER_H

#include "loop/child.h"
#include "loop/control.h"
#include "loop/request.h"
#include "loop/sink.h"
#include "loop/ticks.h"

enum wake {
	WAKE_TICK,    /* an interval is over */
	WAKE_SAMPLE,  /* a short sample is over */
	WAKE_CONTROL, /* a command came */
	WAKE_RESUME,  /* counting goes on behind a gap */
	WAKE_TIMER,   /* the delay or the timeout is over */
	WAKE_STOP,    /* the user or the end of the command */
	WAKE_END,     /* there is no further interval */
};

struct ticker {
	const struct ticker_kind *kind;
	void *context; /* of a sink that brings its ticker */
	struct cli *cli;
	const struct request *request;
	bool stopped; /* by the user: no further run */
	/* For a live one: */
	struct signals signals;
	struct child child;
	struct ticks ticks;
	struct control control;
	int timer_fd;    /* expires once: first the delay, then the timeout */
	uint64_t end_ns; /* the time of the timeout */
	/* For a recording: */
	bool begun;                  /* an interval was read since the start, or since a gap */
	struct uncore_row *recorded; /* those of the latest interval, with --as-recorded */
};

/* Functions that return int return exit codes. */
struct ticker_kind {
	/* Before planning: what this source cannot do is a usage error. May be NULL: it can do
	 * everything. */
	int (*check)(struct ticker *t, const struct request *request, struct sink *const *sinks);
	/* May be NULL: nothing is to be opened. */
	int (*open)(struct ticker *t);
	/* Counting has begun, or goes on. */
	int (*start)(struct ticker *t, bool again);
	enum wake (*wait)(struct ticker *t);
	/* Counters were read for a window, or with `total` for all of them: completes its frame.
	 * NULL: they were read for a short sample or, with `total`, for a part of the window. */
	int (*took)(struct ticker *t, const struct uncore_monitor *m, struct frame *f, bool total);
	/* Whether a window without intervals has several parts, so that it is their total. May be
	 * NULL: it has one. */
	bool (*has_parts)(const struct ticker *t);
	/* Whether another run begins after `runs` of them. May be NULL: there is one run. */
	bool (*begins)(struct ticker *t, uint64_t runs);
	/* Prints what was late or missed. May be NULL: nothing is printed. */
	void (*report)(const struct ticker *t);
	void (*close)(struct ticker *t);
};

extern const struct ticker_kind live_ticker, replay_ticker;

#endif
