/* SPDX-License-Identifier: MIT */
#ifndef CLI_RECORDING_FLIGHT_H
#define CLI_RECORDING_FLIGHT_H

#include "record/recording.h"

/* Deletes ticks before this time from a recording in memory, except those from the previous key
 * on. */
int flight_trim(struct recording *r, uint64_t before_ns);
/* Writes a recording in memory into a new file. */
int flight_write(struct recording *r, const char *path);

/* 'memory.bandwidth > 80 % for 20ms': true when it holds for at least one row of that name. */
struct trigger {
	char name[256];
	bool below; /* < in place of > */
	bool share; /* the limit is a share of the ceiling */
	double limit;
	uint64_t for_ns; /* without a break; 0: one interval */
	/* Private: */
	uint64_t *held_ns; /* for each row, the time for which the comparison has held */
	size_t row_count;
	bool held;
};

/* False: the text is not a condition. An invalid TIME ends the process. */
bool trigger_parse(struct trigger *t, const char *text);
/* `*fired`: the condition has become true with this interval. -ENOENT: there is no such row.
 * -ENODATA: none of them has a ceiling. */
int trigger_update(struct trigger *t, const struct uncore_sample *sample, bool *fired);
void trigger_free(struct trigger *t);

#endif
