/* SPDX-License-Identifier: MIT */
/* Counting, as `stat`, the presets, recorders and the overview do it. */
#ifndef CLI_STAT_RUN_H
#define CLI_STAT_RUN_H

#include "commands/stat-plan.h"

/* Plans, then prints the plan (--dry-run) or counts and prints until the end that the options give. Returns an
 * exit code. */
int stat_run(struct cli *cli, const struct stat_options *o);

#endif
