/* SPDX-License-Identifier: MIT */
/* The GPUs that the process reads: which counts they have, sums of their narrow counters, and sums
 * of the means of their firmware. */
#ifndef UNC_NVML_GPU_H
#define UNC_NVML_GPU_H

#include "source/nvml/protocol.h"
#include "source/nvml/vendor.h"

#include <pthread.h>

#define GPU_MOST 64

/* The narrow counters: TX and RX. */
#define PCIE_FIELDS 2

struct gpu {
	char pci[16];
	nvml_device device;
	int status; /* why it cannot be read at all */
	bool partitioned, guest;
	bool links_known;
	uint64_t links, active_links; /* a bit for each that it has, and that is active */
	/* It protects the members below, up to `polled`, and changes of the handle and its status:
	 * another thread polls. The readings of one counter are in order. */
	pthread_mutex_t lock;
	double most_per_s; /* bytes in one direction of its PCIe link; at first the fastest */
	struct unc_nvml_sum sums[PCIE_FIELDS];
	uint64_t took_ns[PCIE_FIELDS];
	int sum_status[PCIE_FIELDS];
	uint64_t polls;
	bool polled[PCIE_FIELDS]; /* an item is this sum */
	/* GPM: the sample at the end of the latest mean, and the next one. */
	void *samples[2];
	uint64_t sample_ns, sample_took_ns;
	bool sampled;
	uint32_t seen[PCIE_FIELDS]; /* the narrow counters at that time */
	uint64_t processes_us;      /* since when processes are sampled; 0: they never were */
};

/* An open item. */
struct gpu_item {
	struct unc_nvml_item asked;
	struct gpu *gpu;
	uint64_t links;      /* of a sum: the links that were added up, */
	uint32_t late;       /* and how often they changed */
	double factor;       /* of the mean of GPM, to what is counted in a second */
	double total;        /* sum of means, and */
	uint64_t enabled_ns; /* the time that they cover */
	int status;
	bool failed; /* it could not be opened: it is not read, but tried again */
};

struct gpus {
	struct nvml nvml;
	struct gpu items[GPU_MOST];
	size_t count;
	struct gpu_item *open;
	size_t open_count;
	struct nvml_gpm_request *gpm; /* of the thread that reads */
};

/* Reads the item once. The status, and in *value what is known about it. */
int gpu_probe(struct gpus *all, const struct unc_nvml_item *item, struct unc_nvml_value *value);

/* Opens an item. Its status. */
int gpu_open(struct gpus *all, struct gpu_item *into, const struct unc_nvml_item *item,
	     struct unc_nvml_value *value);

/* Opens items again that failed, and gets new handles of GPUs that were lost. After which time it
 * is to be called again: longer than it took. */
uint64_t gpu_retry(struct gpus *all);

/* Reads all open items of the GPU into their values. */
void gpu_read(struct gpus *all, struct gpu *g, struct unc_nvml_value *values);

/* Reads the narrow counters of the GPU that are counted, and adds them up. */
void gpu_poll(struct gpus *all, struct gpu *g);

/* Enters the processes that use the GPU, at most UNC_NVML_MOST_ITEMS, and their number. Its
 * status. */
int gpu_processes(struct gpus *all, const char *pci, struct unc_nvml_process *into,
		  uint32_t *count);

/* For how long these counters are unique; 0: they are not counted. */
uint64_t gpu_unique_ns(struct gpu *g);

/* ---- running.c: what the driver's lists of processes and its samples say of each. Pure ---- */

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
