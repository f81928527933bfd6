/* SPDX-License-Identifier: MIT */
/* PMUs that sample loads. What hides SPE: linux drivers/perf/arm_spe_pmu.c. */
#include "ibs/sampler.h"

bool unc_sampler_is(const char *pmu)
{
	return unc_globs_match("arm_spe_* ibs_op ibs_fetch", pmu);
}

bool unc_sampler_find(const struct uncore *u, struct unc_sampler *out)
{
	*out = (struct unc_sampler){0};
	for (size_t i = 0; i < u->pmus.count; i++) {
		const struct uncore_pmu *pmu = &u->pmus.items[i];
		bool spe = strncmp(pmu->name, "arm_spe_", 8) == 0;

		if (pmu->broken || (!spe && strcmp(pmu->name, "ibs_op") != 0))
			continue;
		out->others += out->pmu && out->spe == spe;
		if (!out->pmu) {
			out->pmu = pmu;
			out->spe = spe;
		}
	}
	return out->pmu;
}

static bool is_mapped_apart(const struct uncore *u)
{
	char *text = NULL;
	bool apart = unc_root_read_line(u->root, "sys/devices/system/cpu/vulnerabilities/meltdown",
					&text) == 0 &&
		     strstr(text, "PTI");

	free(text);
	return apart;
}

bool unc_sampler_hidden(const struct uncore *u, const char **why, const char **fix)
{
	/* From the firmware's tables: ACPI's MADT, or a device tree. */
	bool has = unc_root_exists(u->root, "sys/bus/platform/devices/arm,spe-v1") ||
		   unc_root_exists(u->root, "sys/bus/platform/devices/spe-pmu");

	*fix = NULL;
	if (is_mapped_apart(u)) {
		*why = "the kernel is not mapped while programs run (KPTI), so SPE cannot write its "
		       "samples";
		*fix = "start the kernel with kpti=off   # only where that is safe: the CPU is "
		       "not open to Meltdown";
	} else if (!unc_root_exists(u->root, "sys/module/arm_spe_pmu")) {
		*why = "the driver arm_spe_pmu is not loaded";
		*fix = "sudo modprobe arm_spe_pmu";
	} else {
		*why = "the driver arm_spe_pmu has not accepted the hardware: firmware (EL3) or a "
		       "hypervisor keeps it; see 'dmesg | grep spe'";
	}
	return has;
}

int unc_sampler_why(const struct uncore *u, struct unc_error *e)
{
	const char *cpu = u->topology.cpu_model, *why, *fix;
	bool arm = strncmp(cpu, "arm/", 4) == 0;

	if (arm && unc_sampler_hidden(u, &why, &fix))
		return unc_fail(e, ENODEV, "this CPU (%s) shows no SPE (no PMU arm_spe_0): %s%s%s",
				cpu, why, fix ? ". Fix: " : "", fix ? fix : "");
	if (!arm && strncmp(cpu, "amd/", 4) != 0)
		return unc_fail(e, ENODEV,
				"this CPU (%s) has no IBS: instruction-based sampling is AMD's, "
				"and SPE is Arm's",
				cpu);
	if (u->topology.guest[0])
		return unc_fail(e, ENODEV, "this CPU (%s) shows no %s: %s", cpu,
				arm ? "SPE (no PMU arm_spe_0)" : "IBS (no PMU ibs_op)",
				u->topology.guest);
	if (arm)
		return unc_fail(e, ENODEV,
				"this CPU (%s) shows no SPE (no PMU arm_spe_0): it has none, or "
				"the firmware does not tell the kernel",
				cpu);
	return unc_fail(e, ENODEV,
			"this CPU (%s) shows no IBS (no PMU ibs_op): it is switched off in the "
			"firmware, or the kernel has been built without it; see 'dmesg | grep IBS'",
			cpu);
}
