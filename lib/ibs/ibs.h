/* SPDX-License-Identifier: MIT */
/*
 * AMD's instruction-based sampling: ops that the CPU samples, from perf's records, and the latency
 * of loads by data source. The registers of an op are in the order in which Linux writes them
 * (arch/x86/events/amd/ibs.c). Their fields are in AMD's Processor Programming References.
 */
#ifndef UNC_IBS_H
#define UNC_IBS_H

#include "ibs/keys.h"
#include "ibs/trace.h"
#include "source/kernel/perf.h"

/* The part of a sampled op that concerns memory. */
struct unc_ibs_op {
	uint32_t caps; /* capabilities of the CPU: CPUID 8000_001B, EAX */
	bool valid;
	bool load, prefetch, uncached;
	bool miss;    /* missed the first data cache */
	bool l2_miss; /* also missed the second cache */
	bool no_mab;  /* has no miss of its own: an earlier one had requested the line */
	unsigned data_source, latency; /* the hardware's number; core clocks */
	bool remote;                   /* from another NUMA node */
	bool has_ip, has_address;      /* the two are valid: */
	uint64_t ip, address;          /* of the instruction; of the data (linear) */
};

/* Sums over samples. */
struct unc_ibs {
	/* Set by the caller: */
	unsigned least;          /* core clocks; shorter latencies are not counted */
	unsigned from;           /* UNCORE_LATENCY_FROM_...; 0: all */
	bool spe;                /* result: the samples are Arm's */
	struct unc_tasks *tasks; /* NULL: */
	struct unc_keys *keys;   /* sums by source only */
	struct unc_trace trace;  /* of SPE; freed by unc_trace_finish() */
	/* Results: */
	struct uncore_latency_counts counts;
	struct unc_ibs_sum {
		uint64_t samples, clocks;
		uint64_t bins[UNCORE_LATENCY_BINS];
	} sums[UNC_IBS_SOURCES];
};

/* Positions in records of PERF_RECORD_SAMPLE. */
struct unc_ibs_layout {
	size_t skip;  /* bytes of a sample before its raw data */
	size_t id_at; /* position of the event's id among these bytes */
	/* Ids of the event among several: 64 bits each, unaligned; NULL: one event. */
	const void *ids;
	size_t id_count;
	uint64_t type; /* PERF_SAMPLE_...: the fields of a sample */
	bool spe;      /* no samples, but what Arm's SPE has written, by a CPU of this model: */
	uint64_t midr; /* 0: not known */
	struct unc_trace_ring *aux; /* where the packets are; NULL: between the records */
	bool all;                   /* other records end with fields of a sample, too */
	bool switches;              /* switches between tasks are recorded */
};

/* Decodes an op. `raw` are the bytes of PERF_SAMPLE_RAW after their size. Returns -EBADMSG if they
 * are too few. */
int unc_ibs_decode(const void *raw, size_t size, struct unc_ibs_op *out);

/* The data source of a load that missed the first cache. */
enum unc_ibs_source unc_ibs_source_of(const struct unc_ibs_op *op);

/* Counts a load that missed the first cache, with a valid latency. */
int unc_ibs_add_load(struct unc_ibs *ibs, const struct unc_load *load);

/* Adds the names and mappings in whole records to ibs->tasks, before any samples are added: another
 * CPU may have recorded them. -EBADMSG, -ENOMEM. */
int unc_ibs_add_tasks(struct unc_ibs *ibs, const struct unc_ibs_layout *layout, const void *records,
		      size_t size, struct unc_error *e);
/* Adds the samples in whole records. Returns -EBADMSG for a malformed or truncated record; those
 * before it are counted. -ENOMEM. */
int unc_ibs_add(struct unc_ibs *ibs, const struct unc_ibs_layout *layout, const void *records,
		size_t size, struct unc_error *e);

/* The samples in a recording of perf (perf record -e ibs_op// --raw-samples). */
struct unc_ibs_file {
	struct unc_ibs_layout layout; /* points into the bytes; so does `records` */
	const void *records;
	size_t size;
};

/* Parses the bytes of a whole perf.data. Returns -EBADMSG for another format, or if there are no
 * readable samples. */
int unc_ibs_file_parse(struct unc_ibs_file *out, const void *bytes, size_t size,
		       struct unc_error *e);
/* Parses a file and adds its samples. */
int unc_ibs_file_read(struct unc_ibs *into, const char *path, struct unc_error *e);

#endif
