/* SPDX-License-Identifier: MIT */
/* The last report of `uncore verify` on this machine, which stays for doctor and explain. */
#ifndef CLI_VERIFY_KEPT_H
#define CLI_VERIFY_KEPT_H

#include <stdbool.h>

struct cli;
struct buffer;

/* Where it is: of the system, written by root, or of this user. "": not known. False: none is kept
 * of what `cli` looks at, a recording, a simulation or another machine. */
bool kept_path(const struct cli *cli, bool of_system, struct buffer *to);

/* Replaces it; one that tells nothing does not, since it would say less. A reader finds the old report or the new one. A
 * failure is a note. */
void kept_write(const struct cli *cli, const struct buffer *report, bool tells);

#endif
