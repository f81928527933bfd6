/* SPDX-License-Identifier: MIT */
/* Sources of data, and the bins of latencies. */
#include "ibs/load.h"

/* Each power of two has 2^PARTS_BITS bins. */
#define PARTS_BITS 3
#define PARTS (1u << PARTS_BITS)

const char *unc_ibs_source_name(enum unc_ibs_source source)
{
	static const char *const names[UNC_IBS_SOURCES] = {
		[UNC_IBS_L2] = "L2 cache",
		[UNC_IBS_COMPLEX] = "L3 or a core of the same complex",
		[UNC_IBS_NODE_CACHES] = "L3 or another cache of the node",
		[UNC_IBS_CORE] = "another core",
		[UNC_IBS_CLUSTER] = "L3 or a core of the same cluster",
		[UNC_IBS_SYSTEM_CACHE] = "system cache",
		[UNC_IBS_PEER_CLUSTER] = "cache of another cluster",
		[UNC_IBS_OTHER_SOCKET] = "another socket, cache or memory",
		[UNC_IBS_NEAR_CACHE] = "cache of another core complex",
		[UNC_IBS_FAR_CACHE] = "cache of another node",
		[UNC_IBS_LOCAL_DRAM] = "local memory",
		[UNC_IBS_REMOTE_DRAM] = "remote memory",
		[UNC_IBS_LOCAL_SLOW] = "local long-latency memory",
		[UNC_IBS_REMOTE_SLOW] = "remote long-latency memory",
		[UNC_IBS_LOCAL_EXTENSION] = "local extension memory (CXL)",
		[UNC_IBS_REMOTE_EXTENSION] = "remote extension memory (CXL)",
		[UNC_IBS_PEER] = "memory of another kind of processor",
		[UNC_IBS_IO] = "device (MMIO, configuration)",
		[UNC_IBS_PENDING] = "a miss already under way",
		[UNC_IBS_UNKNOWN] = "not said",
	};

	return names[source];
}

unsigned unc_ibs_source_class(enum unc_ibs_source source)
{
	switch (source) {
	case UNC_IBS_L2:
	case UNC_IBS_COMPLEX:
	case UNC_IBS_NODE_CACHES:
	case UNC_IBS_CORE:
	case UNC_IBS_CLUSTER:
	case UNC_IBS_SYSTEM_CACHE:
	case UNC_IBS_PEER_CLUSTER:
	case UNC_IBS_NEAR_CACHE:
	case UNC_IBS_FAR_CACHE:
		return UNCORE_LATENCY_FROM_CACHE;
	case UNC_IBS_LOCAL_DRAM:
	case UNC_IBS_LOCAL_SLOW:
		return UNCORE_LATENCY_FROM_LOCAL;
	case UNC_IBS_REMOTE_DRAM:
	case UNC_IBS_REMOTE_SLOW:
		return UNCORE_LATENCY_FROM_REMOTE;
	case UNC_IBS_LOCAL_EXTENSION:
	case UNC_IBS_REMOTE_EXTENSION:
		return UNCORE_LATENCY_FROM_EXTENSION;
	default:
		return 0;
	}
}

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
