/* SPDX-License-Identifier: MIT */
/* A recording as the source of a command. What opens it is not needed here, so that a command can
 * be built without SQLite. */
#ifndef CLI_REPLAY_H
#define CLI_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "uncore.h"

struct replay {
	char *host;           /* where it was recorded; NULL: unknown, or a simulation */
	char *command_line;   /* of the first session; NULL: not known */
	uint64_t interval_ns; /* of the recording */
	uint64_t group_ns;    /* length of the intervals of the view; 0: the whole session */
	bool more;            /* the session has another interval in the requested time; */
	bool sessions;        /* or another session follows, which the next monitor reads; */
	bool gap;    /* or another part of the region, with which uncore_monitor_resume() begins */
	bool region; /* a region was requested */
	bool empty;  /* an error: no interval in the requested time or region */
	/* Intervals that the recorder missed, in the latest one that was read; */
	uint64_t missed_now;
	uint64_t missed; /* in all */
	/* --as-recorded: copies the rows of a sample of the latest interval, with the recorded
	 * values. Prints errors; returns an exit code. NULL: values are computed with the formulas
	 * of this version. */
	int (*show)(struct replay *r, const struct uncore_sample *sample, struct uncore_row *rows);
	/* The times of the latest tick that was read, and of the first one of the next session. */
	uint64_t wall_ns, next_wall_ns;
	/* A recorded metric, as FAMILY/NAME, or event, with its filter, "from=cpu". */
	struct replay_query {
		char *text, *filter;
		bool metric;
		unsigned levels; /* a bit for each level of its rows */
	} * queries;
	size_t query_count;
	void (*close)(struct replay *r); /* frees it */
	struct replay_file *file;
};

#endif
