/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PMUs of NVIDIA's Tegra410 and Grace: pages of registers in the window, see arm64/tables for where
 * they are. Registers and their behaviour: ARM CoreSight PMU architecture (ARM IHI 0091) and what
 * the drivers of Linux 7.2 do (drivers/perf).
 *
 * Weights, see pmon_weight(): `instance` is the number of the root complex in the PMU's name, and 0
 * for PMUs of a whole socket. `event` is the event code, and 1000 for the cycle counter of any PMU.
 * `select` is in each PMU's file.
 */
#ifndef RIG_NVIDIA_H
#define RIG_NVIDIA_H

#include "pmon.h"

#define PAGE 0x1000u
#define SOCKET_STRIDE 0x100000u /* from a socket's first page to the next one's */
#define CYCLES 1000u            /* the cycle counter's event in weights */

/* ---- nvidia.c: pages and their registers ---------------------------------------------------- */

struct page_ops {
	/* `index`: which page of the unit's. */
	void (*load)(void *unit, unsigned index, unsigned offset);
	void (*store)(void *unit, unsigned index, unsigned offset, unsigned size);
};

/* `n` pages from `base` (an offset in the window) on belong to `unit`. */
void pages_claim(uint32_t base, unsigned n, const struct page_ops *ops, void *unit);

uint32_t get32(uint32_t at);
uint64_t get64(uint32_t at);
void put32(uint32_t at, uint32_t value);
void put64(uint32_t at, uint64_t value);

int nvidia_window_init(void); /* 0, or -1 after a message: there is no window */
void nvidia_window_load(uint64_t offset, unsigned size);
void nvidia_window_store(uint64_t offset, unsigned size);

/* ---- cspmu.c: CoreSight PMUs ------------------------------------------------------------------ */

#define CSPMU_CTRS 6 /* events at once, at most */

/* The registers that select for one counter. */
struct cspmu_filter {
	uint32_t filter, filter2; /* PMEVFILTR, PMEVFILT2R */
	uint32_t address;         /* PMEVFILT2R's address ranges, as one number */
	bool no_match;            /* an address range that is not enabled */
};

struct cspmu_type {
	uint32_t pmiidr;
	unsigned ctrs; /* beside the cycle counter */
	unsigned width;
	bool dual_page; /* the counters have a page of their own */
	bool ranges;    /* a page of address ranges, PMEVFILT2R bits 8 to 15 refer to it */
	/* What the filter selects as one number; false: it matches nothing, ever. */
	bool (*select)(const struct cspmu_filter *f, uint64_t *select);
	/* Instead of `select`, where several things count each for itself: counts per tick. */
	uint64_t (*weight)(const struct cspmu_filter *f, unsigned socket, unsigned event);
	/* Fills in what an event counts when traffic is real, if it does; or NULL. */
	void (*counts)(const struct cspmu_filter *f, unsigned event, struct real *what);
};

extern bool cspmu_no_cycles; /* of PMUs made from now on */

/* One PMU with its pages: registers, [counters,] [address ranges]. */
void cspmu_new(const struct cspmu_type *type, uint32_t base, unsigned socket, unsigned instance);

/* ---- free.c: counters that always count the same --------------------------------------------- */

/* One PMU: pages of `instances`, then the one that broadcasts to all. */
void cmem_new(uint32_t base, unsigned socket);
/* `gpu1`: mask of those instances that lead to the second GPU. */
void c2c_new(uint32_t base, unsigned socket, unsigned instances, uint32_t gpu1);

#endif
