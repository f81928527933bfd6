/* SPDX-License-Identifier: MIT */
/* The sum of a counter of 32 bits that wraps within milliseconds. Pure. */
#ifndef UNC_NVML_SUM_H
#define UNC_NVML_SUM_H

#include <stdbool.h>
#include <stdint.h>

struct unc_nvml_sum {
	double most_per_s; /* it cannot count faster; not 0 */
	uint64_t total;
	uint32_t last; /* the latest reading, */
	uint64_t at_ns;
	bool begun; /* if there was one */
	/* How often the total became uncertain, and the time between the two readings at the latest
	 * time; 0: the counter had moved further than it can in that time. */
	uint32_t late;
	uint64_t late_ns;
};

/* For how long the counter is unique: it cannot wrap twice in this time. */
uint64_t unc_nvml_sum_unique_ns(double most_per_s);

/* Adds a reading. Its time may not be before that of the one before. */
void unc_nvml_sum_add(struct unc_nvml_sum *s, uint32_t value, uint64_t at_ns);

/* The bytes per second of one direction of a PCIe link; that of the widest link of any GPU if
 * `generation` or `lanes` is 0 or unknown. */
double unc_nvml_link_rate(unsigned generation, unsigned lanes);

#endif
