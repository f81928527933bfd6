/* SPDX-License-Identifier: MIT */
/* The sums of `uncore who`, beside the exporter's own: by process, unit, container ... Another
 * process makes them, which keeps root when this one gives it up. */
#ifndef CLI_SERVE_WHO_H
#define CLI_SERVE_WHO_H

#include "base/self.h"

struct family_writer; /* serve/exposition.h */

struct serve_who {
	const char *by; /* of --who; NULL: not asked for */
	struct self self;
	bool ended;
	struct buffer
		text; /* the sums after its latest interval, as of `who --textfile`; "": none */
};

/* Starts the process. An exit code; that of the process if it ends at once. */
int serve_who_open(struct serve_who *w, const struct cli *cli, uint64_t interval_ns);
/* Takes its latest sums. An exit code: it has ended before it had any. */
int serve_who_take(struct serve_who *w);
/* Writes its families, and whether it still counts. */
void serve_who_put(const struct family_writer *to, const struct serve_who *w);
/* Ends the process, which removes its groups. */
void serve_who_close(struct serve_who *w);

#endif
