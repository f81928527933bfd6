/* SPDX-License-Identifier: MIT */
/* What a row says: a value, how good it is, and why not better. */
#ifndef UNC_JUDGE_H
#define UNC_JUDGE_H

#include "count/rows.h"

/* Bytes that the reason of one row may take; a longer one is cut. */
#define UNC_REASON_ROOM 512

/* Strings that live as long as a sample's rows; reused for the next ones. */
struct unc_arena {
	char *data;
	size_t len, room;
};

/* Fills the row of a sample. Its reason is written into `reasons`. */
void unc_row_judge(const struct unc_row *row, const struct unc_interval *interval,
		   struct unc_arena *reasons, struct uncore_row *out);

#endif
