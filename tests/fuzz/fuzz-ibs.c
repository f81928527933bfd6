/* SPDX-License-Identifier: MIT */
/* A recording of perf, or, behind a byte that says what stands before the raw data of a sample, records. With a byte from 128 on these
 * are records beside a ring with packets of SPE, which is their first 4096 bytes. */
#include "ibs/ibs.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* Whatever came in: what is summed up is consistent. */
static void check(const struct unc_ibs *ibs)
{
	const struct uncore_latency_counts *c = &ibs->counts;
	uint64_t used = 0;

	for (size_t i = 0; i < UNC_IBS_SOURCES; i++) {
		const struct unc_ibs_sum *sum = &ibs->sums[i];
		uint64_t in_bins = 0, least = 0, most = 0;

		for (size_t bin = 0; bin < UNCORE_LATENCY_BINS; bin++) {
			in_bins += sum->bins[bin];
			least += sum->bins[bin] * uncore_latency_bin(bin);
			most += sum->bins[bin] * (uncore_latency_bin(bin + 1) - 1);
		}
		require(in_bins == sum->samples && least <= sum->clocks && sum->clocks <= most);
		used += sum->samples;
	}
	if (ibs->keys) {
		const struct unc_keys *k = ibs->keys;
		uint64_t of_keys = k->rest.samples;

		for (size_t i = 0; i < k->count; i++)
			of_keys += k->items[i]->samples;
		require(of_keys == used && k->count <= UNC_KEYS_MOST && k->unknown <= of_keys);
	}
	require(used == c->used && c->used + c->unusable <= c->loads && c->loads <= c->samples);
}

/* What the kernel writes while SPE samples; sizes and places come from the records. */
static void add_live(struct unc_ibs *ibs, const uint8_t *bytes, size_t size)
{
	enum { RING = 4096 };
	char ring[RING] = {0}, copy[RING];
	struct unc_trace_ring aux = {.bytes = ring, .size = RING, .cpu = 3, .copy = copy};
	const struct unc_ibs_layout layout = {.spe = true,
					      .midr = 0x413fd0c1,
					      .all = true,
					      .type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
						      PERF_SAMPLE_CPU,
					      .switches = true,
					      .aux = &aux};
	size_t in_ring = size < RING ? size : RING;
	uint8_t *records = malloc(size - in_ring + 1);
	struct unc_error e;

	if (!records)
		return;
	memcpy(ring, bytes, in_ring);
	memcpy(records, bytes + in_ring, size - in_ring);
	ibs->trace.clock = (struct unc_clock){1, 80, 1000};
	unc_ibs_add_tasks(ibs, &layout, records, size - in_ring, &e);
	unc_ibs_add(ibs, &layout, records, size - in_ring, &e);
	unc_trace_trim(&ibs->trace);
	check(ibs);
	free(records);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unc_tasks tasks = {0};
	struct unc_keys keys = {.by = size ? data[size - 1] % 4 + 1 : 1};
	struct unc_ibs ibs = {.least = 2, .tasks = &tasks, .keys = &keys};
	struct unc_ibs_file file;
	struct unc_error e;
	/* A copy, so that a read behind its end is seen. */
	uint8_t *copy = malloc(size + 1);

	if (!copy || !size) {
		free(copy);
		return 0;
	}
	memcpy(copy, data, size);
	if (unc_ibs_file_parse(&file, copy, size, &e) == 0) {
		unc_ibs_add_tasks(&ibs, &file.layout, file.records, file.size, &e);
		unc_ibs_add(&ibs, &file.layout, file.records, file.size, &e);
		check(&ibs);
	} else if (copy[0] >= 128) {
		add_live(&ibs, copy + 1, size - 1);
	} else {
		const struct unc_ibs_layout layout = {.skip = copy[0] % 64};
		uint8_t *records = realloc(copy, size);

		copy = records ? records : copy;
		unc_ibs_add(&ibs, &layout, copy + 1, size - 1, &e);
		check(&ibs);
	}
	unc_keys_finish(&keys);
	unc_tasks_finish(&tasks);
	unc_trace_finish(&ibs.trace);
	free(copy);
	return 0;
}
