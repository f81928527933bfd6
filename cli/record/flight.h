/* SPDX-License-Identifier: MIT */
#ifndef CLI_RECORDING_FLIGHT_H
#define CLI_RECORDING_FLIGHT_H

#include "record/recording.h"

/* Deletes ticks before this time from a recording in memory, except those from the previous key
 * on. */
int flight_trim(struct recording *r, uint64_t before_ns);
/* Writes a recording in memory into a new file. */
int flight_write(struct recording *r, const char *path);

#endif
