/* SPDX-License-Identifier: MIT */
/* The rows of `uncore who` in a recording, with their statistics. */
#ifndef CLI_RECORDING_OWNERS_H
#define CLI_RECORDING_OWNERS_H

#include "record/recording.h"
#include "record/statistics.h"

/* A metric of a key, of a group of others, or of what no group has; on a socket, or on all. */
struct owner_row {
	int64_t id;
	bool is_key, is_other;
	struct uncore_row row; /* without a value */
	struct uncore_row_query query;
	struct uncore_row_place place;
	struct statistics all;
	const char *title;                        /* of the metric in a table */
	int rank;                                 /* its order there */
	double moved;                             /* what its key moved in all: bytes */
	char *key, *label, *name, *family, *unit; /* label: of the key, in a table */
};

struct owners {
	struct owner_row *rows; /* the keys that moved most first; what no group has comes last */
	size_t count;
};

/* Reads the rows of a recording, which may have none. Returns 0 or a negative errno; then the
 * recording has the error. */
int owners_open(struct owners *o, struct recording *r);
/* Adds the intervals that ended after the first of these times, and not after the second one. */
int owners_add(struct owners *o, struct recording *r, uint64_t begin_ns, uint64_t end_ns);
/* All were added: rows without an interval are left out, the others are sorted. */
void owners_finish(struct owners *o);
/* Whether both are of the same key. */
bool owners_is_same(const struct owner_row *a, const struct owner_row *b);
void owners_free(struct owners *o);

#endif
