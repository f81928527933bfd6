/* SPDX-License-Identifier: MIT */
/* A finding: what samples loads, IBS or SPE, or why Arm's CPUs do not. */
#include "findings.h"
#include "ibs/sampler.h"

static bool has_fetches(const struct uncore *u)
{
	for (size_t i = 0; i < u->pmus.count; i++)
		if (strcmp(u->pmus.items[i].name, "ibs_fetch") == 0)
			return true;
	return false;
}

int unc_sampled_check(struct uncore *u)
{
	struct unc_draft d = {.verdict = UNCORE_VERDICT_OK, .subject = "sampled loads"};
	const char *why = NULL, *fix = NULL;
	struct unc_sampler found;
	bool hidden;

	if (u->sim || u->regs)
		return 0;
	hidden =
		strncmp(u->topology.cpu_model, "arm/", 4) == 0 && unc_sampler_hidden(u, &why, &fix);
	if (unc_sampler_find(u, &found)) {
		unc_text_add(&d.found, "%s samples loads on %zu CPU%s: uncore latency --%s",
			     found.pmu->name, found.pmu->cpus.count,
			     found.pmu->cpus.count == 1 ? "" : "s", found.spe ? "spe" : "ibs");
		if (has_fetches(u))
			unc_text_add(&d.found, "; ibs_fetch samples instruction fetches, for "
					       "perf record");
		return unc_finding_add(u, &d);
	}
	if (!hidden)
		return 0;
	d.verdict = UNCORE_VERDICT_NOTE;
	unc_text_add(&d.found, "the CPUs have SPE, and the machine shows no PMU arm_spe_0");
	unc_text_add(&d.why, "%s", why);
	if (fix)
		unc_text_add(&d.fix, "%s", fix);
	return unc_finding_add(u, &d);
}
