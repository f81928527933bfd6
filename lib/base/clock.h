/* SPDX-License-Identifier: MIT */
/* The clocks of all readings. */
#ifndef UNC_CLOCK_H
#define UNC_CLOCK_H

#include <stdint.h>
#include <time.h>

/* When a reading was taken. */
struct unc_moment {
	uint64_t ns;      /* CLOCK_MONOTONIC, or simulated */
	uint64_t wall_ns; /* CLOCK_REALTIME, or simulated */
};

/* CLOCK_MONOTONIC */
static inline uint64_t unc_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* What CLOCK_REALTIME has more than CLOCK_MONOTONIC now (modulo 2^64). */
static inline uint64_t unc_wall_offset_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec - unc_now_ns();
}

#endif
