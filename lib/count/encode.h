/* SPDX-License-Identifier: MIT */
/* Requests for the events of a target: the only place where filters meet the terms of events. */
#ifndef UNC_ENCODE_H
#define UNC_ENCODE_H

#include "count/query.h"
#include "machine/pmu.h"

/* Requests the event at the target, in the set of its "{}" among those from `first_set` on, and adds the
 * target to the query. -ENOMEM. */
int unc_encode_event(struct uncore_monitor *m, struct unc_query *q, struct unc_target target,
		     const struct unc_event *event, const struct unc_encoding *encoding,
		     size_t first_set);

/* The same for all events of a metric. -ENODEV with a sentence: one of them cannot be counted so.
 * -EOPNOTSUPP: the target cannot be added up with the others. */
int unc_encode_metric(struct uncore_monitor *m, struct unc_query *q, struct unc_target target,
		      struct unc_error *why);

/* True when an event with this configuration sets each of the terms, as rules write them. */
bool unc_terms_are_set(const struct uncore_pmu *pmu, const struct unc_config *c,
		       const struct unc_names *terms);

/* -EINVAL with a sentence: the monitor's requests break a rule of their PMU's family. -ENOMEM. */
int unc_rules_check(struct uncore_monitor *m);

#endif
