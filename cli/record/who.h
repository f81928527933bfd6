/* SPDX-License-Identifier: MIT */
/* The rows of `uncore who` in a recording: which process, unit, container ... moved what. Another
 * process counts them. */
#ifndef CLI_RECORD_WHO_H
#define CLI_RECORD_WHO_H

#include "base/self.h"
#include "record/recording.h"

/* Columns of an element `v` of the values of an interval. */
#define WHO_VALUES                                                                     \
	"CASE v.type WHEN 'array' THEN v.value ->> 0 ELSE v.value END AS value,"       \
	" CASE v.type WHEN 'array' THEN v.value ->> 1 ELSE 'measured' END AS quality," \
	" (SELECT text FROM reason WHERE v.type = 'array' AND id = v.value ->> 2) AS reason"

struct record_who {
	const char *by; /* of --who; NULL: not asked for */
	struct self self;
	bool any, ended;
	uint64_t from_ns; /* rows of intervals that ended before are not recorded */
	/* The interval that is stored when the next one begins. */
	struct buffer values;
	uint64_t wall_ns, monotonic_ns, interval_ns;
	struct sqlite3_stmt *find, *put; /* a row, in the table `who_row` */
};

/* Starts the process. An exit code; that of the process if it ends at once. */
int record_who_open(struct record_who *w, const struct cli *cli, uint64_t interval_ns);
/* Ends it, which removes its groups. */
void record_who_close(struct record_who *w);

/* These return 0 or a negative errno; then the recording has the error. */

/* A file begins: makes the tables, unless it has them. */
int record_who_begin(struct record_who *w, struct recording *r);
/* Adds what was counted since the last call. */
int record_who_take(struct record_who *w, struct recording *r);
/* The file ends: stores the latest interval. */
int record_who_end(struct record_who *w, struct recording *r);
/* Recording ends, and so does the process: stores also what it had counted until then. */
int record_who_finish(struct record_who *w, struct recording *r);

#endif
