/* SPDX-License-Identifier: MIT */
/*
 * AMD's instruction-based sampling: ops sampled by the CPU, from perf's records, and the latency of loads by
 * data source. An op's registers are laid out as Linux writes them
 * (arch/x86/events/amd/ibs.c); their fields are those of AMD's Processor Programming References.
 */
#ifndef UNC_IBS_H
#define UNC_IBS_H

#include "source/kernel/perf.h"

#define UNC_IBS_LATENCY_MAX 0xffff /* the width of the field: longer latencies have it, too */

/* The data source of a load that missed the first cache of the core, from near to far. */
enum unc_ibs_source {
	UNC_IBS_L2,
	UNC_IBS_COMPLEX,     /* since Zen 4: L3, or another core of the complex */
	UNC_IBS_NODE_CACHES, /* before: some cache of the node */
	UNC_IBS_NEAR_CACHE,  /* since Zen 4: a cache of another complex */
	UNC_IBS_FAR_CACHE,
	UNC_IBS_LOCAL_DRAM,
	UNC_IBS_REMOTE_DRAM,
	UNC_IBS_LOCAL_SLOW,
	UNC_IBS_REMOTE_SLOW,
	UNC_IBS_LOCAL_EXTENSION,
	UNC_IBS_REMOTE_EXTENSION,
	UNC_IBS_PEER,
	UNC_IBS_IO,
	UNC_IBS_PENDING, /* the line was on its way already */
	UNC_IBS_UNKNOWN,
	UNC_IBS_SOURCES
};

/* One sampled op: what concerns memory. */
struct unc_ibs_op {
	uint32_t caps; /* of the CPU: CPUID 8000_001B, EAX */
	bool valid;
	bool load, prefetch, uncached;
	bool miss;    /* of the first data cache */
	bool l2_miss; /* and of the second one */
	bool no_mab;  /* no miss of its own: an earlier one had asked for the line */
	unsigned data_source, latency; /* the hardware's number; core clocks */
	bool remote;                   /* another NUMA node */
};

/* Sums over samples. */
struct unc_ibs {
	/* Set by the caller: */
	unsigned least; /* core clocks; shorter latencies are not counted */
	/* Results: */
	struct uncore_latency_counts counts;
	struct unc_ibs_sum {
		uint64_t samples, clocks;
		uint64_t bins[UNCORE_LATENCY_BINS];
	} sums[UNC_IBS_SOURCES];
};

/* Where things are in records of PERF_RECORD_SAMPLE. */
struct unc_ibs_layout {
	size_t skip;     /* bytes of a sample before its raw data */
	size_t id_at;    /* where, before them, its event's id is */
	const void *ids; /* of the event among several: 64 bits each, unaligned; NULL: one event */
	size_t id_count;
};

/* `raw`: the bytes of PERF_SAMPLE_RAW, after their size. -EBADMSG: too short for an op. */
int unc_ibs_decode(const void *raw, size_t size, struct unc_ibs_op *out);

/* For a load that missed the first cache. */
enum unc_ibs_source unc_ibs_source_of(const struct unc_ibs_op *op);
const char *unc_ibs_source_name(enum unc_ibs_source source);

size_t unc_ibs_bin(unsigned latency);

/* Adds whole records. -EBADMSG: a malformed or truncated record; the records before it are counted. */
int unc_ibs_add(struct unc_ibs *ibs, const struct unc_ibs_layout *layout, const void *records,
		size_t size, struct unc_error *e);

/* The samples in a recording of perf (perf record -e ibs_op// --raw-samples). */
struct unc_ibs_file {
	struct unc_ibs_layout layout; /* points into the bytes, as `records` does */
	const void *records;
	size_t size;
};

/* The bytes of a whole perf.data. -EBADMSG: another format, or no readable samples. */
int unc_ibs_file_parse(struct unc_ibs_file *out, const void *bytes, size_t size,
		       struct unc_error *e);
/* Parses a file and adds its samples. */
int unc_ibs_file_read(struct unc_ibs *into, const char *path, struct unc_error *e);

/* Sampling with ibs_op on the CPUs of this machine: one event and one ring of records for each. */
struct unc_ibs_rings {
	struct unc_ibs_ring {
		int fd;
		struct perf_event_mmap_page *page; /* and the ring behind it */
		size_t bytes;                      /* of the ring */
	} * items;
	size_t count, all;    /* opened, and CPUs that there are */
	struct unc_error why; /* the first of the others was not opened */
	size_t page;
	char *copy; /* of one ring's records: those may go over its end */
};

/* Opens the event on each CPU of its PMU, stopped; `event` is borrowed for the call, its `cpu` is not
 * looked at. `period`: ops (or cycles) from one sample to the next. A CPU that cannot be sampled is
 * left out. -EACCES, -EMFILE; others when none could be opened. */
int unc_ibs_rings_open(struct unc_ibs_rings *r, const struct unc_kernel_env *env,
		       const struct uncore_counter *event, uint64_t period, struct unc_error *e);
void unc_ibs_rings_finish(struct unc_ibs_rings *r); /* also of a failed open, or all-zero */
int unc_ibs_rings_start(struct unc_ibs_rings *r, struct unc_error *e);
/* Adds the samples since the last call, and makes room for more. */
int unc_ibs_rings_drain(struct unc_ibs_rings *r, struct unc_ibs *into, struct unc_error *e);
/* The share of the time since the start during which the hardware sampled; NaN: not started. */
double unc_ibs_rings_coverage(const struct unc_ibs_rings *r);

#endif
