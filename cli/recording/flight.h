/* SPDX-License-Identifier: MIT */
#ifndef CLI_RECORDING_FLIGHT_H
#define CLI_RECORDING_FLIGHT_H

#include "recording/recording.h"

/* Of a recording in memory: deletes what is older, but for the ticks from the key before. */
int flight_trim(struct recording *r, uint64_t before_ns);
/* Writes it into a file that does not exist. */
int flight_write(struct recording *r, const char *path);

/* 'memory.bandwidth > 80 % for 20ms': of one row of that name at least. */
struct trigger {
	char name[256];
	bool below; /* < in place of > */
	bool share; /* the limit is a share of the ceiling */
	double limit;
	uint64_t for_ns; /* without a break; 0: one interval */
	/* Private: */
	uint64_t *held_ns; /* for how long, of each row */
	size_t row_count;
	bool held;
};

/* False: not such a text. A wrong TIME ends the process. */
bool trigger_parse(struct trigger *t, const char *text);
/* `*fired`: the condition has become true with this interval. -ENOENT: there is no such row.
 * -ENODATA: none of them has a ceiling. */
int trigger_update(struct trigger *t, const struct uncore_sample *sample, bool *fired);
void trigger_free(struct trigger *t);

#endif
