/* SPDX-License-Identifier: MIT */
/* The caller's buffer of rows. */
#ifndef UNC_SAMPLE_H
#define UNC_SAMPLE_H

#include "base/clock.h"
#include "count/judge.h"

struct uncore_sample {
	struct uncore_row *rows;
	size_t count, room;
	struct unc_moment begin, end;
	struct unc_arena reasons;
};

/* Room for `count` rows and their reasons; keeps what there is. -ENOMEM. */
int unc_sample_reserve(struct uncore_sample *s, size_t count);

#endif
