/* SPDX-License-Identifier: MIT */
/* Filters: what the user restricts metrics to, and the parts of a target that they select. */
#ifndef UNC_FILTERS_H
#define UNC_FILTERS_H

#include "count/query.h"

#define UNC_WORD_ROOM 128 /* of one word of a list */

/* Takes the next word of a list that commas separate. 1, 0: end of the list, -EINVAL. */
int unc_next_word(const char **at, char *word);

/* How many GPUs are at the other end of the PMU's link; -1: unknown. */
int64_t unc_gpu_count(const struct uncore_pmu *pmu);
/* `gpus` has a bit for each. A GPU that the link does not have is refused, with the error `errnum`: its bit may
 * select another one. */
int unc_gpus_check(const struct uncore_pmu *pmu, uint64_t gpus, int errnum, struct unc_error *e);

/* ---- split.c ---- */

/* Encodes the query's metric on the parts of a target that filters, and rows for each root port, make of
 * it: no part when it counts nothing of the request. -ENODEV with a sentence: it cannot be restricted so. */
int unc_filters_encode(struct uncore_monitor *m, struct unc_query *q,
		       const struct unc_target *whole, struct unc_error *why);

/* The root ports that the user names and this PMU counts: bit n for the n-th. */
unsigned unc_filters_requested_ports(struct uncore_monitor *m, const struct uncore_pmu *pmu);

#endif
