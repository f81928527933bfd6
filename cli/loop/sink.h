/* SPDX-License-Identifier: MIT */
/* Where intervals go: to text, CSV, JSON and pages, to a recording, to the sums of the exporter. */
#ifndef CLI_SINK_H
#define CLI_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loop/control.h"
#include "loop/request.h"
#include "uncore.h"

/* An interval that has ended, or the total of all. */
struct frame {
	const struct uncore_sample *sample; /* NULL: means over several runs */
	const struct uncore_row *recorded;  /* in place of the sample's rows; NULL: those count */
	size_t row_count;
	/* The row of the sample that each of `recorded` was made of, whose inputs it has;
	 * SIZE_MAX: of none. NULL: none has inputs. */
	const size_t *origins;
	double time;   /* seconds from the start of counting to the end of the window */
	double window; /* its length in seconds */
	uint64_t wall_ns, monotonic_ns; /* of its end */
	/* The further intervals that had ended before this reading. Their counts are in this
	 * frame. */
	uint64_t missed;
	bool total;                /* the whole time, after its intervals */
	unsigned runs;             /* 0: one window; else the rows are means over so many runs */
	size_t round, round_count; /* the part of the metrics that it has */
};

static inline const struct uncore_row *frame_row(const struct frame *f, size_t i)
{
	return f->recorded ? &f->recorded[i] : uncore_sample_row(f->sample, i);
}

struct ticker_kind; /* loop/ticker.h */

/* Functions that return int return exit codes. `take` is required, others may be NULL. */
struct sink {
	void *context;
	const struct ticker_kind *ticker; /* gets the same `context`; NULL: the source's */
	/* What it needs and takes. */
	const char *live; /* the command that cannot take intervals of a recording; NULL: it can */
	bool total;       /* the total after the intervals */
	bool rounds;      /* windows that have only a part of the metrics, one after another */
	bool notes;       /* it shows the monitor's notes itself */
	const char *file; /* the recording that `uncore mark` names; NULL: no marks */
	int stop_fd;      /* of the loop: readable when the user wants to stop; -1: not yet open */
	/* Before the request is planned: whether it can take the intervals of this source. */
	int (*check)(void *context);
	/* The request is planned. */
	int (*open)(void *context);
	/* A run begins that has so many rounds of so many seconds. */
	int (*begin_rounds)(void *context, size_t count, double seconds);
	/* The counters are open. */
	int (*opened)(void *context, const struct uncore_monitor *m);
	/* Counting has begun, or goes on after a pause. */
	int (*start)(void *context, bool again);
	int (*take)(void *context, const struct frame *f);
	/* An interval was taken: another request that is to be counted from now on; NULL: none. Its
	 * schedule is the same, and it must stay until the next call of planned_again(). */
	const struct request *(*next_request)(void *context);
	/* It is counted now; or `why` it cannot be, so that the one before is counted on. */
	void (*planned_again)(void *context, const char *why);
	/* A short sample has ended within an interval. */
	void (*short_sample)(void *context);
	/* A command was received. After `disable` the interval has ended, and start() follows when
	 * counting is enabled again. *refused: why it cannot be done; the last sink that
	 * refuses it decides. */
	int (*control)(void *context, const struct control_request *q, const char **refused);
	/* All rounds of a run have ended. */
	int (*end_run)(void *context);
	/* Everything has ended, in success or failure, perhaps before open() was called. */
	int (*end)(void *context);
};

/* `sinks` end with NULL. */
static inline bool sinks_need_total(struct sink *const *sinks)
{
	for (; *sinks; sinks++)
		if ((*sinks)->total)
			return true;
	return false;
}

#endif
