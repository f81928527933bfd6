/* SPDX-License-Identifier: MIT */
/* The verdicts of the last report of `uncore verify` on the machine that a command shows: the
 * report that is kept here, or the one that is the root. */
#ifndef CLI_VERIFY_PROOF_H
#define CLI_VERIFY_PROOF_H

#include "output/json.h"
#include "verify/verify.h"

struct cli;
struct uncore_finding;

/* All members 0: there is no report. */
struct proof {
	bool kept;     /* a report of this machine would be kept */
	char *file;    /* the report, or NULL */
	char *ignored; /* why a report was not read, as a sentence; NULL: all were */
	struct verify_run run;
	struct verify_result *results; /* of metrics that this machine has */
	size_t count;
	struct buffer
		changed; /* differences to the machine now, "the kernel (6.1.0 then, 6.8.0 now)"; empty: none */
};

/* Reads the report at `path`. Returns NULL, or an error (possibly in `why`), and then `into` is
 * empty. */
const char *proof_read(struct verify_run *into, const char *path, char why[VERIFY_WHY]);

/* Replaces the report that is kept for doctor and explain, unless `tells` is false (all verdicts are 'cannot tell') and there is one. A reader
 * finds either the old report or the new one. A failure is printed as a note. */
void kept_write(const struct cli *cli, const struct buffer *report, bool tells);

/* Finds the report of the open machine. */
void proof_find(struct proof *p, const struct cli *cli);
void proof_free(struct proof *p);

/* "proved on this machine on 2026-12-01, within 0.6 %"; nothing if it was not judged. */
void proof_text(const struct proof *p, const char *metric, const char *family, struct buffer *to);
/* The same as an object, or null. */
json_t *proof_record(const struct proof *p, const char *metric, const char *family);

/* The finding for doctor, with its texts in `texts`, which the caller frees. False: there is
 * none. */
bool proof_finding(const struct proof *p, const struct cli *cli, struct buffer texts[3],
		   struct uncore_finding *into);

#endif
