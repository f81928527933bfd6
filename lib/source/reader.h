/* SPDX-License-Identifier: MIT */
/* Work that is cheapest on one certain CPU, done there by a pinned thread. */
#ifndef UNC_READER_H
#define UNC_READER_H

#include <stddef.h>

/*
 * Reading a counter from another CPU costs an inter-processor interrupt for each group. A thread
 * pinned to the owning CPU costs one wake-up and then reads at the local price. Fewer items are not worth
 * a thread. Measured on a virtual machine of two CPUs with groups of four counters: 22 us for each remote
 * group; 35 us for a wake-up, and 1 us for each group then: even at two.
 */
#define UNC_READER_MIN_ITEMS 3

struct unc_readers;

/* Starts the threads: signals blocked, small stack. `cpus` has the CPU of each item; neighbours of one
 * CPU share a thread when they are `least` or more. Other items, and those of a CPU to which no thread
 * can be pinned, are done by the caller. item() must be safe to call for different items at once.
 * -ENOMEM. The threads do not survive a fork(): a child may neither run nor free them. */
int unc_readers_new(struct unc_readers **out, const int *cpus, size_t count, size_t least,
		    void (*item)(void *ctx, size_t i), void *ctx);

/* Calls item() once for each item and returns when all are done. Allocates nothing; the caller's affinity
 * stays as it is. */
void unc_readers_run(struct unc_readers *all);

/* Ends the threads. */
void unc_readers_free(struct unc_readers *all);

#endif
