/* SPDX-License-Identifier: MIT */
/* The options of `stat`, which the presets, `top` and recorders take, too. */
#ifndef CLI_STAT_H
#define CLI_STAT_H

#include <argp.h>

#include "commands/stat-plan.h"
#include "options.h"

#define STAT_MORE 12 /* options at most */

/* Reads the options of stat, for a recorder without those of outputs, and those of the command's own, which are members of `o`.
 * Of `own` it takes doc, args and options. Usage errors end the process. */
void stat_parse(struct cli *cli, struct stat_options *o, const struct cli_syntax *own, int argc,
		char **argv);

/* The arguments INTERVAL and COUNT; others are usage errors. */
void stat_interval(struct stat_options *o, char *arg, struct argp_state *state);

#endif
