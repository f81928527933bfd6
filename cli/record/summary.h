/* SPDX-License-Identifier: MIT */
#ifndef CLI_RECORDING_SUMMARY_H
#define CLI_RECORDING_SUMMARY_H

#include "base/cli.h"

/* `uncore report FILE`: prints the statistics of a recording, the source of `cli`. The words are
 * its options, behind the name of the command; with `more` it is not the first file. An exit
 * code. */
int summary_run(struct cli *cli, bool more, int argc, char **argv);
/* Whether the words behind the files are only options that it has: others are those of `stat`. */
bool summary_is_meant(int argc, char *const *argv);

#endif
