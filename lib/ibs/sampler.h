/* SPDX-License-Identifier: MIT */
/* Which hardware of this machine samples loads, or why there is none. */
#ifndef UNC_SAMPLER_H
#define UNC_SAMPLER_H

#include "object.h"

struct unc_sampler {
	const struct uncore_pmu *pmu;
	bool spe;
	size_t others; /* further PMUs of this kind, of other CPUs */
};

/* Whether the PMU only samples: it has no events to count. */
bool unc_sampler_is(const char *pmu);
/* ibs_op or the first arm_spe_N. False: the machine shows none. */
bool unc_sampler_find(const struct uncore *u, struct unc_sampler *out);
/* Why the machine shows no SPE although its firmware lists it. False: it does not. `fix`: a
 * command, or NULL. */
bool unc_sampler_hidden(const struct uncore *u, const char **why, const char **fix);
/* The sentence for a machine without any. Returns -ENODEV. */
int unc_sampler_why(const struct uncore *u, struct unc_error *e);

#endif
