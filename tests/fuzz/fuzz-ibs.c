/* SPDX-License-Identifier: MIT */
/* A recording of perf, or, behind a byte that says what stands before the raw data of a sample, records. */
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

		for (size_t i = 0; i < k->room; i++)
			of_keys += k->items[i].samples;
		require(of_keys == used && k->count <= UNC_KEYS_MOST && k->unknown <= of_keys);
	}
	require(used == c->used && c->used + c->unusable <= c->loads && c->loads <= c->samples);
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
	} else {
		const struct unc_ibs_layout layout = {.skip = copy[0] % 64};
		uint8_t *records = realloc(copy, size);

		copy = records ? records : copy;
		unc_ibs_add(&ibs, &layout, copy + 1, size - 1, &e);
		check(&ibs);
	}
	unc_keys_finish(&keys);
	unc_tasks_finish(&tasks);
	free(copy);
	return 0;
}
