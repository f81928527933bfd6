/* SPDX-License-Identifier: MIT */
/* A finding: whether Arm's CPUs can sample loads (SPE). */
#include "ibs/sampler.h"
#include "links.h"

int unc_sampled_check(struct uncore *u, unc_add_finding *add)
{
	struct unc_draft d = {.verdict = UNCORE_VERDICT_OK, .subject = "sampled loads"};
	const char *why = NULL, *fix = NULL;
	struct unc_sampler found;
	bool hidden;

	if (u->sim || u->regs || strncmp(u->topology.cpu_model, "arm/", 4) != 0)
		return 0;
	hidden = unc_sampler_hidden(u, &why, &fix);
	if (unc_sampler_find(u, &found)) {
		unc_text_add(&d.found, "%s samples loads on %zu CPU%s: uncore latency --spe",
			     found.pmu->name, found.pmu->cpus.count,
			     found.pmu->cpus.count == 1 ? "" : "s");
		return add(u, &d);
	}
	if (!hidden)
		return 0;
	d.verdict = UNCORE_VERDICT_NOTE;
	unc_text_add(&d.found, "the CPUs have SPE, and the machine shows no PMU arm_spe_0");
	unc_text_add(&d.why, "%s", why);
	if (fix)
		unc_text_add(&d.fix, "%s", fix);
	return add(u, &d);
}
