/* SPDX-License-Identifier: MIT */
/* Sampling with ibs_op on the CPUs of this machine: one event and one ring of records for each. */
#ifndef UNC_IBS_RING_H
#define UNC_IBS_RING_H

#include "ibs/ibs.h"
#include "source/kernel/perf.h"

struct unc_ibs_rings;

/* Opens the event on each CPU of its PMU, stopped; `event` is borrowed for the call, its `cpu` is not
 * looked at. `period`: ops (or cycles) from one sample to the next. A CPU that cannot be sampled is
 * left out, see unc_ibs_rings_missing(). -EACCES, -EMFILE; others when none could be opened. */
int unc_ibs_rings_open(struct unc_ibs_rings **out, const struct unc_kernel_env *env,
		       const struct unc_counter *event, uint64_t period, struct unc_error *e);
void unc_ibs_rings_close(struct unc_ibs_rings *r); /* accepts NULL */

int unc_ibs_rings_start(struct unc_ibs_rings *r, struct unc_error *e);

/* Sums up what has come since the last time, and makes room for more. */
int unc_ibs_rings_drain(struct unc_ibs_rings *r, struct unc_ibs *into, struct unc_error *e);

/* The share of the time since the start for which the hardware was ours; NaN: none has passed. */
double unc_ibs_rings_coverage(const struct unc_ibs_rings *r);

/* How many CPUs are left out of *all, and why the first of them is ("": none). */
size_t unc_ibs_rings_missing(const struct unc_ibs_rings *r, size_t *all, const char **why);

#endif
