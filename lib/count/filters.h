/* SPDX-License-Identifier: MIT */
/* Filters: what the user restricts metrics to, and the parts of a target that they select. */
#ifndef UNC_FILTERS_H
#define UNC_FILTERS_H

#include "count/query.h"

void unc_filters_finish(struct unc_filters *f);

/* "from=cpu to=memory", or NULL without filters; the same pointer for the same text. -ENOMEM. */
int unc_filters_text(struct uncore_monitor *m, const char **out);
/* True when only some root ports or one device are asked for. */
bool unc_filters_pick(const struct unc_filters *f);

/* The parts of a target that filters, and rows for each root port, make of it: no part when it
 * counts nothing of the request. The array is the caller's. -ENODEV with a sentence: it cannot be
 * restricted so. */
int unc_filters_split(struct uncore_monitor *m, const struct uncore_metric *metric,
		      const struct unc_target *whole, struct unc_target **out, size_t *count,
		      struct unc_error *why);

#endif
