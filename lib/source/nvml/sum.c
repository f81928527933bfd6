/* SPDX-License-Identifier: MIT */
/* The sum of a counter that wraps within milliseconds. */
#include "source/nvml/protocol.h"

/* The times of two readings are those of the vendor's library, which may take this time for each,
 * and what the hardware counts it may add up in pieces. */
#define SLACK_S 0.002
#define SLACK_BYTES 65536

double unc_nvml_link_rate(unsigned generation, unsigned lanes)
{
	/* Bits per second and lane. Of the transfers of generations 1 and 2 8 of 10 are data, then
	 * 128 of 130; of generation 6 all. */
	static const double bits[] = {0,
				      2.5e9 * 8 / 10,
				      5e9 * 8 / 10,
				      8e9 * 128 / 130,
				      16e9 * 128 / 130,
				      32e9 * 128 / 130,
				      64e9};
	unsigned known = sizeof(bits) / sizeof(*bits) - 1;

	if (!generation || generation > known || !lanes || lanes > 32) {
		generation = known;
		lanes = 16;
	}
	return bits[generation] * lanes / 8;
}

uint64_t unc_nvml_sum_unique_ns(double most_per_s)
{
	return (uint64_t)(0x1p32 / most_per_s * 1e9);
}

void unc_nvml_sum_add(struct unc_nvml_sum *s, uint32_t value, uint64_t at_ns)
{
	uint64_t gap_ns = s->begun && at_ns > s->at_ns ? at_ns - s->at_ns : 0;
	uint32_t moved = value - s->last;
	double most = s->most_per_s * ((double)gap_ns / 1e9 + SLACK_S) + SLACK_BYTES;

	if (s->begun && gap_ns >= unc_nvml_sum_unique_ns(s->most_per_s)) {
		s->late++;
		s->late_ns = gap_ns;
	} else if (s->begun && moved > most) {
		s->late++;
		s->late_ns = 0;
	}
	if (s->begun)
		s->total += moved;
	s->last = value;
	s->at_ns = at_ns > s->at_ns ? at_ns : s->at_ns;
	s->begun = true;
}
