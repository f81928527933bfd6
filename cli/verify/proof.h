/* SPDX-License-Identifier: MIT */
/* What the last report of `uncore verify` says of the machine that is looked at: the one that is kept
 * here, or the report that is its root. */
#ifndef CLI_VERIFY_PROOF_H
#define CLI_VERIFY_PROOF_H

#include "output/json.h"
#include "verify/verify.h"

struct cli;
struct uncore_finding;

/* All-zero: nothing is known. */
struct proof {
	bool kept;     /* reports are kept of such a machine */
	char *file;    /* the report, or NULL */
	char *ignored; /* why another one was not read, as a sentence; NULL: none was passed over */
	struct verify_run run;
	struct verify_result *results; /* of metrics that this machine has */
	size_t count;
	struct buffer
		changed; /* what has changed since, "the kernel (6.1.0 then, 6.8.0 now)"; empty: nothing */
};

/* The readings of a report that was named. NULL, or what is wrong with it: `into` is empty then, and `why` may have the words. */
const char *proof_read(struct verify_run *into, const char *path, char why[VERIFY_WHY]);

/* Of the machine that is open. */
void proof_find(struct proof *p, const struct cli *cli);
void proof_free(struct proof *p);

/* "proved on this machine on 2026-12-01, within 0.6 %"; nothing where it was not judged. */
void proof_text(const struct proof *p, const char *metric, const char *family, struct buffer *to);
/* The same as an object, or null. */
json_t *proof_record(const struct proof *p, const char *metric, const char *family);

/* For doctor. The texts are in `texts`, to be freed. False: there is nothing to say. */
bool proof_finding(const struct proof *p, const struct cli *cli, struct buffer texts[3],
		   struct uncore_finding *into);

#endif
