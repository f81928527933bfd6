/* SPDX-License-Identifier: MIT */
/* The cells of records. Most cells of a row are the same in all its intervals, and others are those
 * of all rows of an interval: their text is made once, and copied. */
#ifndef CLI_CELLS_H
#define CLI_CELLS_H

#include "base/buffer.h"
#include "base/json.h"

struct out;

#define OUT_FIELDS_ROOM 64 /* a record of a row has fewer fields */
#define OUT_FIXED 4        /* parts of it that its query and place fix */
#define OUT_SHARED 2       /* parts that all rows of an interval have in common */

/* What is kept of a row. */
struct cells {
	/* The row's. They stay allocated for a run. */
	const void *query, *place;
	double scale; /* out_rate_scale() */
	struct buffer fixed[OUT_FIXED];
};

/* An interval begins, with other shared parts. */
void cells_begin(struct out *out);
/* Appends the cells of these fields (NULL: of out->row) to out->to, each by out->output->put(). Its
 * text may depend only on the field and on what all records have in common, since it is kept. */
void cells_print(struct out *out, const struct field *fields);
/* A run begins or has ended, with other rows. */
void cells_free(struct out *out);

#endif
