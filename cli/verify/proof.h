/* SPDX-License-Identifier: MIT */
/* The verdicts of the last report of `uncore verify` on the machine that a command shows: the
 * report that is kept here, or the report that `--root` names. */
#ifndef CLI_VERIFY_PROOF_H
#define CLI_VERIFY_PROOF_H

#include "base/json.h"
#include "verify/verify.h"

struct cli;
struct buffer;
struct proofs; /* commands/proofs.h */

/* Reads the report at `path`. Returns NULL, or an error (possibly in `why`), and then `into` is
 * empty. */
const char *proof_read(struct verify_run *into, const char *path, char why[VERIFY_WHY]);

/* Replaces the report that is kept for doctor and explain, unless `tells` is false (all verdicts
 * are 'cannot tell') and there is one. A reader finds either the old report or the new one. A
 * failure is printed as a note. */
void kept_write(const struct cli *cli, const struct buffer *report, bool tells);

/* The verdicts, for doctor and explain. */
extern const struct proofs verify_proofs;

#endif
