/* SPDX-License-Identifier: MIT */
/* A sampled load: where its data came from, and how long that took. */
#ifndef UNC_IBS_LOAD_H
#define UNC_IBS_LOAD_H

#include "base/text.h"
#include "uncore.h"

/* Word number `i` of bytes that are not aligned. */
static inline uint64_t unc_word_at(const void *bytes, size_t i)
{
	uint64_t word;

	memcpy(&word, (const char *)bytes + i * sizeof(word), sizeof(word));
	return word;
}

/* The width of the field; longer latencies have this value, too. */
#define UNC_IBS_LATENCY_MAX 0xffff

/* The data source of a load that missed the first cache of the core, from the nearest to the
 * farthest. */
enum unc_ibs_source {
	UNC_IBS_L2,
	UNC_IBS_COMPLEX,      /* since Zen 4: L3, or another core of the complex */
	UNC_IBS_NODE_CACHES,  /* before Zen 4: some cache of the node */
	UNC_IBS_CORE,         /* these three of Arm's CPUs: another core, */
	UNC_IBS_CLUSTER,      /* the L3 or a core of the cluster, */
	UNC_IBS_SYSTEM_CACHE, /* the cache behind all clusters */
	UNC_IBS_NEAR_CACHE,   /* since Zen 4: a cache of another complex */
	UNC_IBS_PEER_CLUSTER, /* Arm */
	UNC_IBS_FAR_CACHE,
	UNC_IBS_LOCAL_DRAM,
	UNC_IBS_REMOTE_DRAM,
	UNC_IBS_LOCAL_SLOW,
	UNC_IBS_REMOTE_SLOW,
	UNC_IBS_LOCAL_EXTENSION,
	UNC_IBS_REMOTE_EXTENSION,
	UNC_IBS_OTHER_SOCKET, /* Arm: any cache or memory of it */
	UNC_IBS_PEER,
	UNC_IBS_IO,
	UNC_IBS_PENDING, /* an earlier miss had requested the line */
	UNC_IBS_UNKNOWN,
	UNC_IBS_SOURCES
};

/* Fields of a sampled load that are valid. */
#define UNC_LOAD_TASK 1u
#define UNC_LOAD_IP 2u
#define UNC_LOAD_ADDRESS 4u

/* A sampled load with a miss, whichever hardware has sampled it. */
struct unc_load {
	enum unc_ibs_source source;
	unsigned latency; /* core clocks */
	unsigned has;     /* UNC_LOAD_... */
	int pid, tid;
	uint64_t ip, address; /* of the instruction; of the data */
	uint64_t time;        /* of perf's clock; UINT64_MAX: not known */
};

extern const struct unc_ibs_place {
	const char *name;
	unsigned kind; /* UNCORE_LATENCY_FROM_...; 0: none of these */
} unc_ibs_places[UNC_IBS_SOURCES];

/* The bin of a latency: uncore_latency_bin(). */
size_t unc_ibs_bin(unsigned latency);

#endif
