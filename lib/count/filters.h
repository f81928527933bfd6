/* SPDX-License-Identifier: MIT */
/* Filters: what the user restricts metrics to, and the parts of a target that they select. */
#ifndef UNC_FILTERS_H
#define UNC_FILTERS_H

#include "count/query.h"

/* The parts of a target that filters, and rows for each root port, make of it: no part when it
 * counts nothing of the request. The array is the caller's. -ENODEV with a sentence: it cannot be
 * restricted so. */
int unc_filters_split(struct uncore_monitor *m, const struct uncore_metric *metric,
		      const struct unc_target *whole, struct unc_target **out, size_t *count,
		      struct unc_error *why);

#endif
