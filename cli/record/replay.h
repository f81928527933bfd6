/* SPDX-License-Identifier: MIT */
#ifndef CLI_RECORDING_REPLAY_H
#define CLI_RECORDING_REPLAY_H

#include "base/replay.h"

struct cli_part; /* cli.h */

/* Opens a recording and sets it as the source of `u`. `spec` is FILE; if `part` is NULL, it may be
 * followed by ",begin=TIME" and ",end=TIME", ",as-recorded", and as the last one ",region=TEXT".
 * Prints errors; returns an exit code. *out is to be closed in any case. */
int replay_open(struct replay **out, struct uncore *u, const char *spec,
		const struct cli_part *part);

#endif
