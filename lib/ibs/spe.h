/* SPDX-License-Identifier: MIT */
/* Arm's Statistical Profiling Extension: loads that the CPU samples, in the packets that it writes
 * to memory. The packets are those of the Arm Architecture Reference Manual (DDI 0487), chapter
 * "Statistical Profiling Extension Sample Record Specification". */
#ifndef UNC_SPE_H
#define UNC_SPE_H

#include "ibs/load.h"

/* The width of the counter. */
#define UNC_SPE_LATENCY_MAX 4095

/* What a sample record says, as far as it concerns loads. */
struct unc_spe_record {
	bool load;
	bool miss;    /* missed the first data cache */
	bool latency; /* load.latency is valid */
	bool broken;  /* bytes that are no packet, in place of a record */
	bool context; /* load.tid is the one that the kernel had set; else 0 */
	bool timed;   /* load.time is valid, in ticks of the timer */
	struct unc_load of;
};

/* Takes the next record from `size` bytes. Returns how many bytes it has; 0: no whole record is
 * left. `midr`: the model of the CPU, which says what its data sources mean. */
size_t unc_spe_take(const void *bytes, size_t size, uint64_t midr, struct unc_spe_record *out);

#endif
