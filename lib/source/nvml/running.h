/* SPDX-License-Identifier: MIT */
/* What the driver's lists of the processes of a GPU, and its samples, say of each process. Pure. */
#ifndef UNC_NVML_RUNNING_H
#define UNC_NVML_RUNNING_H

#include "source/nvml/protocol.h"
#include "source/nvml/vendor.h"

#define RUNNING_MOST 1024    /* processes of each of both lists */
#define RUNNING_SAMPLES 4096 /* of processes since the reading before */
/* A process without a sample for so long was idle: the longest period of sampling is 1 s. */
#define RUNNING_SETTLED_US 2000000u

_Static_assert(2 * RUNNING_MOST <= UNC_NVML_MOST_ITEMS, "an answer has them all");

struct running_samples {
	const struct nvml_process_sample *items;
	size_t count;
	int status;      /* of asking for them */
	uint64_t now_us; /* CLOCK_REALTIME */
};

/* Enters each process once. Memory is that of all parts of the GPU, and unknown if one of them is;
 * a process that computes and draws is in both lists with the same memory. How many these are. */
size_t running_fold(const struct nvml_process *listed, size_t count, struct unc_nvml_process *into);

/* Enters how busy the processes were: the mean of their samples after *since_us, which becomes the
 * time of the latest one; 0 begins now. Without a sample a process was idle if others have one, or
 * if there was none for RUNNING_SETTLED_US; else it is unknown. */
void running_busy(struct unc_nvml_process *items, size_t count, const struct running_samples *s,
		  uint64_t *since_us);

#endif
