/* SPDX-License-Identifier: MIT */
/* The screen with the tables of `uncore who`, which another process prints: groups of tasks exist
 * as long as that process, also if this one is killed. */
#ifndef CLI_TOP_WHO_H
#define CLI_TOP_WHO_H

#include "base/self.h"

struct top_who {
	struct self self;
	bool open;           /* the screen is */
	size_t by;           /* the key of --by */
	bool begun;          /* it has printed an interval */
	struct buffer notes; /* before that */
};

/* Starts it with tables of so many columns, one for each interval. `old`: the signal mask of a new
 * process. False: it cannot be started. */
bool who_open(struct top_who *w, const struct cli *cli, const sigset_t *old, uint64_t interval_ns,
	      int columns);
/* Ends it, which removes its groups. */
void who_close(struct top_who *w);
/* Takes what it has printed. Returns what is to be shown, which the caller frees; NULL: nothing
 * new. */
char *who_read(struct top_who *w);

#endif
