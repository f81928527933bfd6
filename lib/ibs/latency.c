/* SPDX-License-Identifier: MIT */
/* struct uncore_latency: loads sampled by AMD's CPUs, or by those of a recording, as rows. */
#include "base/formula.h"
#include "ibs/ibs.h"
#include "object.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PERIOD 1000000u /* ops from sample to sample: some thousand in a second of each CPU */
#define HARDWARE_LEAST 128u
#define HARDWARE_MOST 2048u

struct uncore_latency {
	struct uncore *u;
	struct unc_ibs ibs;
	struct unc_ibs_rings rings; /* none: a recording */
	bool l3_misses_only;
	struct uncore_latency_row rows[UNC_IBS_SOURCES];
	size_t count;
	char reason[sizeof(struct unc_error) + 80]; /* "": no CPU is missing */
};

/* ---- rows ---------------------------------------------------------------------------------- */

/* The end of the bin in which the percentile lies. */
static double percentile(const struct unc_ibs_sum *sum, unsigned per_mille)
{
	double counts[UNCORE_LATENCY_BINS];
	size_t bin = 0;

	for (size_t i = 0; i < UNCORE_LATENCY_BINS; i++)
		counts[i] = (double)sum->bins[i];
	unc_histogram_percentile(counts, UNCORE_LATENCY_BINS, per_mille, &bin);
	return (double)(uncore_latency_bin(bin + 1) - 1);
}

static void make_rows(struct uncore_latency *l)
{
	bool complete = l->reason[0] == '\0';

	l->count = 0;
	for (unsigned i = 0; i < UNC_IBS_SOURCES; i++) {
		const struct unc_ibs_sum *sum = &l->ibs.sums[i];

		if (sum->samples == 0)
			continue;
		l->rows[l->count++] = (struct uncore_latency_row){
			.source = unc_ibs_source_name(i),
			.samples = sum->samples,
			.mean = (double)sum->clocks / (double)sum->samples,
			.p50 = percentile(sum, 500),
			.p90 = percentile(sum, 900),
			.p99 = percentile(sum, 990),
			.bins = sum->bins,
			.quality = complete ? UNCORE_SAMPLED : UNCORE_PARTIAL,
			.reason = complete ? NULL : l->reason,
		};
	}
	l->ibs.counts.coverage = unc_ibs_rings_coverage(&l->rings);
}

/* ---- opening ------------------------------------------------------------------------------- */

static int new_latency(struct uncore_latency **out, struct uncore *u, unsigned least)
{
	struct uncore_latency *l;

	if (!u->scanned)
		return unc_fail(&u->error, EBUSY,
				"the machine is not scanned: uncore_scan() first");
	if (least > UNC_IBS_LATENCY_MAX)
		return unc_fail(&u->error, EINVAL, "latencies are %u clocks at most, and not %u",
				UNC_IBS_LATENCY_MAX, least);
	l = calloc(1, sizeof(*l));
	if (!l)
		return unc_nomem(&u->error);
	l->u = u;
	l->ibs.least = least;
	u->monitors++;
	*out = l;
	return 0;
}

void uncore_latency_free(struct uncore_latency *l)
{
	if (!l)
		return;
	unc_ibs_rings_finish(&l->rings);
	l->u->monitors--;
	free(l);
}

/* The PMU, or why there is none. */
static int find_pmu(struct uncore *u, const struct uncore_pmu **out)
{
	const char *cpu = u->topology.cpu_model;

	if (u->sim || !unc_root_is_live(u->root))
		return unc_fail(&u->error, EOPNOTSUPP,
				"loads can be sampled on the running machine only, not on one that "
				"is simulated or a directory: a recording can be read anywhere");
	for (size_t i = 0; i < u->pmus.count; i++) {
		*out = &u->pmus.items[i];
		if (strcmp((*out)->name, "ibs_op") == 0 && !(*out)->broken)
			return 0;
	}
	if (strncmp(cpu, "amd/", 4) != 0)
		return unc_fail(&u->error, ENODEV,
				"this CPU (%s) has no IBS: instruction-based sampling is AMD's",
				cpu);
	if (u->topology.guest[0])
		return unc_fail(&u->error, ENODEV, "this CPU (%s) shows no IBS (no PMU ibs_op): %s",
				cpu, u->topology.guest);
	return unc_fail(&u->error, ENODEV,
			"this CPU (%s) shows no IBS (no PMU ibs_op): it is switched off in the "
			"firmware, or the kernel has been built without it; see 'dmesg | grep IBS'",
			cpu);
}

int uncore_latency_open(struct uncore_latency **out, struct uncore *u, unsigned least)
{
	const struct unc_kernel_env env = {.root = u->root, .topology = &u->topology};
	unsigned below = least ? least - 1 : 0; /* the kernel drops latencies up to it */
	struct unc_encoding encoding;
	const struct uncore_pmu *pmu = NULL;
	struct uncore_latency *l = NULL;
	struct unc_counter event;
	char terms[64] = "";
	int ret = new_latency(&l, u, least);

	if (!l)
		return ret;
	ret = find_pmu(u, &pmu);
	if (ret == 0)
		ret = unc_pmu_load(pmu);
	if (ret < 0)
		goto fail;
	/* The terms that this CPU and kernel have. */
	if (below > HARDWARE_MOST)
		below = HARDWARE_MOST;
	l->l3_misses_only = below >= HARDWARE_LEAST && unc_pmu_term(pmu, "ldlat");
	if (unc_pmu_term(pmu, "cnt_ctl"))
		strcpy(terms, "cnt_ctl=1");
	if (l->l3_misses_only)
		snprintf(terms + strlen(terms), sizeof(terms) - strlen(terms), "%sldlat=%u",
			 terms[0] ? "," : "", below);
	ret = unc_pmu_encode(pmu, terms, &encoding, &u->error);
	if (ret < 0)
		goto fail;
	event = (struct unc_counter){.pmu = pmu, .event = terms, .config = encoding.config};
	ret = unc_ibs_rings_open(&l->rings, &env, &event, PERIOD, &u->error);
	if (ret < 0)
		goto fail;
	if (l->rings.count < l->rings.all)
		snprintf(l->reason, sizeof(l->reason), "%zu of %zu CPUs left out: %s",
			 l->rings.all - l->rings.count, l->rings.all, l->rings.why.text);
	*out = l;
	return 0;
fail:
	uncore_latency_free(l);
	return ret;
}

int uncore_latency_open_file(struct uncore_latency **out, struct uncore *u, const char *path,
			     unsigned least)
{
	struct uncore_latency *l = NULL;
	int ret = new_latency(&l, u, least);

	if (!l)
		return ret;
	ret = unc_ibs_file_read(&l->ibs, path, &u->error);
	if (ret < 0) {
		uncore_latency_free(l);
		return ret;
	}
	make_rows(l);
	*out = l;
	return 0;
}

/* ---- sampling ------------------------------------------------------------------------------ */

int uncore_latency_start(struct uncore_latency *l)
{
	return unc_ibs_rings_start(&l->rings, &l->u->error);
}

int uncore_latency_collect(struct uncore_latency *l)
{
	int ret = unc_ibs_rings_drain(&l->rings, &l->ibs, &l->u->error);

	make_rows(l);
	return ret;
}

void uncore_latency_clear(struct uncore_latency *l)
{
	unc_ibs_clear(&l->ibs);
	l->count = 0;
}

size_t uncore_latency_count(const struct uncore_latency *l)
{
	return l->count;
}

const struct uncore_latency_row *uncore_latency_at(const struct uncore_latency *l, size_t i)
{
	return &l->rows[i];
}

const struct uncore_latency_counts *uncore_latency_total(const struct uncore_latency *l)
{
	return &l->ibs.counts;
}

const char *uncore_latency_note(const struct uncore_latency *l)
{
	return l->l3_misses_only ? "filtered by the hardware: on Zen 5 only ops that missed the L3 "
				   "are sampled with it"
				 : NULL;
}
