/* SPDX-License-Identifier: MIT */
/* The clock of all readings. */
#ifndef UNC_CLOCK_H
#define UNC_CLOCK_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC */
static inline uint64_t unc_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
