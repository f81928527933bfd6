/* SPDX-License-Identifier: MIT */
#include "source/nvml/vendor.h"
#include "source/nvml/protocol.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* The other name, without ".1", belongs to packages for developers. */
#define LIBRARY "libnvidia-ml.so.1"

int nvml_load(struct nvml *n, char *why, size_t room)
{
	const struct {
		const char *name;
		void *into; /* a pointer to a function */
	} symbols[] = {
		{"nvmlInit_v2", &n->init},
		{"nvmlDeviceGetHandleByPciBusId_v2", &n->handle},
		{"nvmlDeviceGetFieldValues", &n->fields},
		{"nvmlDeviceGetCurrPcieLinkGeneration", &n->link_generation},
		{"nvmlDeviceGetMaxPcieLinkGeneration", &n->most_generation},
		{"nvmlDeviceGetGpuMaxPcieLinkGeneration", &n->gpu_generation},
		{"nvmlDeviceGetMaxPcieLinkWidth", &n->most_lanes},
		{"nvmlDeviceGetMaxClockInfo", &n->most_clock},
		{"nvmlDeviceGetMemoryBusWidth", &n->memory_width},
		{"nvmlDeviceGetVirtualizationMode", &n->virtualization},
		{"nvmlDeviceGetMigMode", &n->mig},
		{"nvmlDeviceGetNvLinkState", &n->link_state},
		{"nvmlDeviceGetNvLinkRemotePciInfo_v2", &n->link_remote},
		{"nvmlDeviceGetNvLinkRemoteDeviceType", &n->link_remote_type},
		{"nvmlGpmQueryDeviceSupport", &n->gpm_support},
		{"nvmlGpmSampleAlloc", &n->gpm_alloc},
		{"nvmlGpmSampleGet", &n->gpm_sample},
		{"nvmlGpmMetricsGet", &n->gpm_metrics},
		{"nvmlDeviceGetComputeRunningProcesses_v3", &n->compute_processes},
		{"nvmlDeviceGetGraphicsRunningProcesses_v3", &n->graphics_processes},
		{"nvmlDeviceGetProcessUtilization", &n->process_samples},
	};
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		snprintf(why, room, "%s", dlerror());
		return UNC_NVML_NO_LIBRARY;
	}
	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
		void *symbol = dlsym(library, symbols[i].name);

		memcpy(symbols[i].into, &symbol, sizeof(symbol));
	}
	if (!n->init || !n->handle || !n->fields)
		return NVML_FUNCTION_NOT_FOUND;
	return n->init();
}
