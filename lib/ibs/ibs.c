/* SPDX-License-Identifier: MIT */
/* Sampled ops: decoded from records, and counted by data source and latency. */
#include "ibs/ibs.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#define CAPS_ZEN4 (1u << 11) /* data sources in more detail */

/* Registers of an op, in the order in which the kernel writes them, behind the capabilities. */
enum { CONTROL, RIP, DATA, DATA2, DATA3, REGISTERS };

/* Steps of the bins: each power of two has so many. */
#define PARTS_BITS 3
#define PARTS (1u << PARTS_BITS)

static uint64_t word_at(const void *bytes, size_t i)
{
	uint64_t word;

	memcpy(&word, (const char *)bytes + i * sizeof(word), sizeof(word));
	return word;
}

static unsigned field(uint64_t word, unsigned first, unsigned bits)
{
	return (unsigned)(word >> first & ((1u << bits) - 1));
}

/* ---- one op -------------------------------------------------------------------------------- */

int unc_ibs_decode(const void *raw, size_t size, struct unc_ibs_op *out)
{
	uint64_t reg[REGISTERS];

	if (size < sizeof(uint32_t) + sizeof(reg))
		return -EBADMSG;
	memcpy(reg, (const char *)raw + sizeof(uint32_t), sizeof(reg));
	*out = (struct unc_ibs_op){
		.valid = field(reg[CONTROL], 17, 1) && field(reg[CONTROL], 18, 1),
		.data_source = field(reg[DATA2], 0, 3),
		.remote = field(reg[DATA2], 4, 1),
		.load = field(reg[DATA3], 0, 1),
		.miss = field(reg[DATA3], 7, 1),
		.uncached = field(reg[DATA3], 14, 1),
		.no_mab = field(reg[DATA3], 16, 1),
		.l2_miss = field(reg[DATA3], 20, 1),
		.prefetch = field(reg[DATA3], 21, 1),
		.latency = field(reg[DATA3], 32, 16),
	};
	memcpy(&out->caps, raw, sizeof(out->caps));
	if (out->caps & CAPS_ZEN4)
		out->data_source |= field(reg[DATA2], 6, 2) << 3;
	return 0;
}

/* The wait for a line that an earlier miss requested is not the latency of its source, and the data source of
 * such an op is not always right (erratum 1293 of family 19h). */
enum unc_ibs_source unc_ibs_source_of(const struct unc_ibs_op *op)
{
	static const enum unc_ibs_source before_zen4[32] = {[2] = UNC_IBS_NODE_CACHES,
							    [3] = UNC_IBS_LOCAL_DRAM,
							    [4] = UNC_IBS_FAR_CACHE,
							    [7] = UNC_IBS_IO};
	static const enum unc_ibs_source since_zen4[32] = {
		[1] = UNC_IBS_COMPLEX,         [2] = UNC_IBS_NEAR_CACHE, [3] = UNC_IBS_LOCAL_DRAM,
		[5] = UNC_IBS_FAR_CACHE,       [6] = UNC_IBS_LOCAL_SLOW, [7] = UNC_IBS_IO,
		[8] = UNC_IBS_LOCAL_EXTENSION, [12] = UNC_IBS_PEER};
	enum unc_ibs_source source =
		(op->caps & CAPS_ZEN4 ? since_zen4 : before_zen4)[op->data_source % 32];

	if (op->no_mab)
		return UNC_IBS_PENDING;
	if (!op->l2_miss)
		return UNC_IBS_L2;
	switch (source) {
	case UNC_IBS_L2: /* not in the table */
		return UNC_IBS_UNKNOWN;
	case UNC_IBS_LOCAL_DRAM:
	case UNC_IBS_LOCAL_SLOW:
	case UNC_IBS_LOCAL_EXTENSION:
		return op->remote ? source + 1 : source;
	default:
		return source;
	}
}

const char *unc_ibs_source_name(enum unc_ibs_source source)
{
	static const char *const names[UNC_IBS_SOURCES] = {
		[UNC_IBS_L2] = "L2 cache",
		[UNC_IBS_COMPLEX] = "L3 or a core of the same complex",
		[UNC_IBS_NODE_CACHES] = "L3 or another cache of the node",
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

/* ---- many ---------------------------------------------------------------------------------- */

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

static void add_op(struct unc_ibs *ibs, const struct unc_ibs_op *op)
{
	struct uncore_latency_counts *c = &ibs->counts;
	struct unc_ibs_sum *sum;

	c->samples += op->valid;
	if (!op->valid || !op->load)
		return;
	c->loads++;
	/* Of prefetches and uncached accesses the rest of the op is not valid, nor is a latency of 0. */
	if (op->uncached || op->prefetch || (op->miss && !op->latency)) {
		c->unusable++;
		return;
	}
	if (!op->miss || op->latency < ibs->least)
		return;
	c->used++;
	sum = &ibs->sums[unc_ibs_source_of(op)];
	sum->samples++;
	sum->clocks += op->latency;
	sum->bins[unc_ibs_bin(op->latency)]++;
}

static void add_sample(struct unc_ibs *ibs, const struct unc_ibs_layout *layout,
		       const char *payload, size_t size)
{
	struct unc_ibs_op op;
	uint32_t raw = 0;
	size_t i = 0;

	/* A recording may have samples of other events, of any length. */
	if (layout->ids && size >= layout->id_at + sizeof(uint64_t)) {
		while (i < layout->id_count &&
		       word_at(layout->ids, i) != word_at(payload + layout->id_at, 0))
			i++;
		if (i == layout->id_count)
			return;
	}
	if (size < layout->skip + sizeof(raw)) {
		ibs->counts.broken++;
		return;
	}
	memcpy(&raw, payload + layout->skip, sizeof(raw));
	if (raw > size - layout->skip - sizeof(raw) ||
	    unc_ibs_decode(payload + layout->skip + sizeof(raw), raw, &op) < 0)
		ibs->counts.broken++;
	else
		add_op(ibs, &op);
}

int unc_ibs_add(struct unc_ibs *ibs, const struct unc_ibs_layout *layout, const void *records,
		size_t size, struct unc_error *e)
{
	const char *at = records;
	struct perf_event_header h;

	for (; size; at += h.size, size -= h.size) {
		if (size < sizeof(h))
			return unc_fail(e, EBADMSG, "the last record is cut off");
		memcpy(&h, at, sizeof(h));
		if (h.size < sizeof(h) || h.size > size)
			return unc_fail(e, EBADMSG, "a record of %u bytes where %zu are left",
					(unsigned)h.size, size);
		if (h.type == PERF_RECORD_SAMPLE)
			add_sample(ibs, layout, at + sizeof(h), h.size - sizeof(h));
		else if (h.type == PERF_RECORD_LOST && h.size >= sizeof(h) + 16)
			ibs->counts.lost += word_at(at + sizeof(h), 1);
		else if (h.type == PERF_RECORD_LOST_SAMPLES && h.size >= sizeof(h) + 8)
			ibs->counts.lost += word_at(at + sizeof(h), 0);
		else if (h.type == PERF_RECORD_THROTTLE)
			ibs->counts.throttled++;
	}
	return 0;
}

void unc_ibs_clear(struct unc_ibs *ibs)
{
	memset(&ibs->counts, 0, sizeof(ibs->counts));
	memset(ibs->sums, 0, sizeof(ibs->sums));
}
