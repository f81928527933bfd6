/* SPDX-License-Identifier: MIT */
/* Regions of a recording: the time from one mark to another. uncore-mark(1) has the rule. */
#ifndef CLI_RECORDING_REGIONS_H
#define CLI_RECORDING_REGIONS_H

#include "record/recording.h"

/* Rows region, begin_wall_ns, end_wall_ns: one for each part of a region. It does not end before
 * its begin: a mark may follow the last tick of a file that is full. */
#define REGIONS_SQL                                                                                     \
	"SELECT region, begin_wall_ns,"                                                                 \
	" coalesce((SELECT wall_ns FROM mark WHERE rowid ="                                             \
	"   CASE WHEN own_end < coalesce(again, own_end + 1) THEN own_end ELSE next END),"              \
	"  max(begin_wall_ns, (SELECT wall_ns FROM tick ORDER BY id DESC LIMIT 1))) AS end_wall_ns"     \
	" FROM (SELECT m.text AS region, m.wall_ns AS begin_wall_ns,"                                   \
	"  (SELECT min(rowid) FROM mark WHERE text = 'end ' || m.text AND rowid > m.rowid) AS own_end," \
	"  (SELECT min(rowid) FROM mark WHERE text = m.text AND rowid > m.rowid) AS again,"             \
	"  (SELECT min(rowid) FROM mark WHERE rowid > m.rowid) AS next"                                 \
	"  FROM mark m WHERE m.text <> 'end' AND m.text NOT GLOB 'end *')"

/* The ticks of one part of a region, from the first reading to the last one: the complete intervals
 * in it. */
struct region_part {
	uint64_t first, last;
};

struct region {
	struct region_part
		*parts; /* parts with an interval; freed by the caller, also after a failure */
	size_t count;
	uint64_t times, length_ns; /* of all its parts, and */
	uint64_t covered_ns;       /* of their intervals */
};

/* Finds the region of that text between the two times. -ENOENT: there is no such mark. */
int region_find(struct recording *r, const char *text, uint64_t begin_ns, uint64_t end_ns,
		struct region *into);
/* Appends a table: a line for each region, in the order of time. */
int regions_list(struct recording *r, struct buffer *to);

#endif
