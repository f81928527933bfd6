/* SPDX-License-Identifier: MIT */
/* The verdicts of the last report of `uncore verify` on the machine that a command shows: the
 * report that is kept here, or the report that `--root` names. */
#ifndef CLI_PROOFS_H
#define CLI_PROOFS_H

#include "base/json.h"

struct cli;
struct proof;
struct uncore_finding;

/* verify is above the commands that use it. */
struct proofs {
	/* Finds the report of the open machine; free() follows in any case. */
	struct proof *(*find)(const struct cli *cli);
	void (*free)(struct proof *p);
	/* "proved on this machine on 2026-12-01, within 0.6 %"; nothing if it was not judged. */
	void (*text)(const struct proof *p, const char *metric, const char *family,
		     struct buffer *to);
	/* The same as an object, or null. */
	json_t *(*record)(const struct proof *p, const char *metric, const char *family);
	/* The finding for doctor, with its texts in `texts`, which the caller frees. False: there
	 * is no report. */
	bool (*finding)(const struct proof *p, const struct cli *cli, struct buffer texts[3],
			struct uncore_finding *into);
};

#endif
