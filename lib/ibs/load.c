/* SPDX-License-Identifier: MIT */
/* Sources of data, and the bins of latencies. */
#include "ibs/load.h"

/* Each power of two has 2^PARTS_BITS bins. */
#define PARTS_BITS 3
#define PARTS (1u << PARTS_BITS)

const struct unc_ibs_place unc_ibs_places[UNC_IBS_SOURCES] = {
	[UNC_IBS_L2] = {"L2 cache", UNCORE_LATENCY_FROM_CACHE},
	[UNC_IBS_COMPLEX] = {"L3 or a core of the same complex", UNCORE_LATENCY_FROM_CACHE},
	[UNC_IBS_NODE_CACHES] = {"L3 or another cache of the node", UNCORE_LATENCY_FROM_CACHE},
	[UNC_IBS_CORE] = {"another core", UNCORE_LATENCY_FROM_CACHE},
	[UNC_IBS_CLUSTER] = {"L3 or a core of the same cluster", UNCORE_LATENCY_FROM_CACHE},
	[UNC_IBS_SYSTEM_CACHE] = {"system cache", UNCORE_LATENCY_FROM_CACHE},
	[UNC_IBS_PEER_CLUSTER] = {"cache of another cluster", UNCORE_LATENCY_FROM_CACHE},
	[UNC_IBS_OTHER_SOCKET] = {"another socket, cache or memory", 0},
	[UNC_IBS_NEAR_CACHE] = {"cache of another core complex", UNCORE_LATENCY_FROM_CACHE},
	[UNC_IBS_FAR_CACHE] = {"cache of another node", UNCORE_LATENCY_FROM_CACHE},
	[UNC_IBS_LOCAL_DRAM] = {"local memory", UNCORE_LATENCY_FROM_LOCAL},
	[UNC_IBS_REMOTE_DRAM] = {"remote memory", UNCORE_LATENCY_FROM_REMOTE},
	[UNC_IBS_LOCAL_SLOW] = {"local long-latency memory", UNCORE_LATENCY_FROM_LOCAL},
	[UNC_IBS_REMOTE_SLOW] = {"remote long-latency memory", UNCORE_LATENCY_FROM_REMOTE},
	[UNC_IBS_LOCAL_EXTENSION] = {"local extension memory (CXL)", UNCORE_LATENCY_FROM_EXTENSION},
	[UNC_IBS_REMOTE_EXTENSION] = {"remote extension memory (CXL)",
				      UNCORE_LATENCY_FROM_EXTENSION},
	[UNC_IBS_PEER] = {"memory of another kind of processor", 0},
	[UNC_IBS_IO] = {"device (MMIO, configuration)", 0},
	[UNC_IBS_PENDING] = {"a miss already under way", 0},
	[UNC_IBS_UNKNOWN] = {"not said", 0},
};

size_t unc_ibs_bin(unsigned latency)
{
	unsigned bits = 0;

	if (latency > UNC_IBS_LATENCY_MAX)
		latency = UNC_IBS_LATENCY_MAX;
	if (latency < PARTS)
		return latency;
	while (latency >> bits >= 2 * PARTS)
		bits++;
	return (bits + 1) * PARTS + (latency >> bits) - PARTS;
}

uint64_t uncore_latency_bin(size_t bin)
{
	if (bin < PARTS)
		return bin;
	return (uint64_t)(PARTS + bin % PARTS) << (bin / PARTS - 1);
}
