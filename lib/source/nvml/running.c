/* SPDX-License-Identifier: MIT */
/* Processes of a GPU, from the driver's lists and samples. */
#include "source/nvml/gpu.h"

static bool is_repeated(const struct nvml_process *listed, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (listed[k].pid == listed[i].pid && listed[k].gpu_part == listed[i].gpu_part &&
		    listed[k].compute_part == listed[i].compute_part)
			return true;
	return false;
}

size_t running_fold(const struct nvml_process *listed, size_t count, struct unc_nvml_process *into)
{
	size_t folded = 0, k;

	for (size_t i = 0; i < count; i++) {
		if (is_repeated(listed, i))
			continue;
		for (k = 0; k < folded && into[k].pid != (int32_t)listed[i].pid; k++)
			;
		if (k == folded)
			into[folded++] = (struct unc_nvml_process){.pid = (int32_t)listed[i].pid};
		if (listed[i].memory == NVML_NOT_AVAILABLE)
			into[k].memory_status = UNC_NVML_EMPTY;
		else
			into[k].memory += listed[i].memory;
	}
	return folded;
}

/* The mean of the samples of a process. Drivers have given samples of more than 100 %, which say
 * nothing. */
static void take_mean(struct unc_nvml_process *p, const struct running_samples *s,
		      uint64_t since_us)
{
	size_t count = 0;
	double sum = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct nvml_process_sample *sample = &s->items[i];

		if ((int32_t)sample->pid != p->pid || sample->at_us <= since_us)
			continue;
		if (sample->busy > 100) {
			p->busy_status = UNC_NVML_NAN;
			return;
		}
		sum += sample->busy;
		count++;
	}
	p->busy = count ? sum / (double)count / 100 : 0;
}

void running_busy(struct unc_nvml_process *items, size_t count, const struct running_samples *s,
		  uint64_t *since_us)
{
	/* The wall clock may have been set. */
	bool begins = !*since_us || *since_us > s->now_us;
	uint64_t begin_us = begins ? s->now_us : *since_us, latest_us = begin_us;
	int status = s->status == NVML_NOT_FOUND ? NVML_OK : s->status;

	for (size_t i = 0; i < s->count && !begins; i++)
		if (s->items[i].at_us > latest_us)
			latest_us = s->items[i].at_us;
	if (status == NVML_OK && latest_us == begin_us && s->now_us - begin_us < RUNNING_SETTLED_US)
		status = UNC_NVML_NO_SAMPLE;
	for (size_t i = 0; i < count; i++) {
		items[i].busy_status = status;
		if (status == NVML_OK)
			take_mean(&items[i], s, begin_us);
	}
	*since_us = latest_us;
}
