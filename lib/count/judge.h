/* SPDX-License-Identifier: MIT */
/* A row's value, its quality and the reason; rows.h has the sums that it is made from. */
#ifndef UNC_JUDGE_H
#define UNC_JUDGE_H

#include "count/rows.h"

#define UNC_REASON_ROOM 512 /* of one row; a longer reason is cut */

/* Fills the row of a sample. `reason` is the room for its sentence, and must live as long as the row. `inputs` has room for
 * unc_row_input_count(); NULL: not needed. */
void unc_row_judge(const struct unc_row *row, const struct unc_interval *interval,
		   char reason[static UNC_REASON_ROOM], struct uncore_row *out,
		   struct uncore_input *inputs);
size_t unc_row_input_count(const struct unc_row *row);

#endif
