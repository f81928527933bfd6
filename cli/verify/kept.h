/* SPDX-License-Identifier: MIT */
/* The last report of `uncore verify` on this machine, which is kept for doctor and explain. */
#ifndef CLI_VERIFY_KEPT_H
#define CLI_VERIFY_KEPT_H

#include <stdbool.h>

struct cli;
struct buffer;

/* The path of the report of the system, written by root, or of this user. "": unknown. False: no
 * report is kept, because `cli` shows a recording, a simulation or another machine. */
bool kept_path(const struct cli *cli, bool of_system, struct buffer *to);

/* Replaces it, unless `tells` is false (all verdicts are 'cannot tell') and there is one. A reader
 * finds either the old report or the new one. A failure is printed as a note. */
void kept_write(const struct cli *cli, const struct buffer *report, bool tells);

#endif
