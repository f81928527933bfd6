/* SPDX-License-Identifier: MIT */
/* Sampling on this machine, with AMD's ibs_op or Arm's SPE: for each CPU an event and a ring of
 * records; with SPE also a ring of packets. */
#ifndef UNC_RINGS_H
#define UNC_RINGS_H

#include "ibs/ibs.h"

struct unc_ibs_rings {
	struct unc_ibs_ring {
		int fd;
		int tasks_fd; /* with SPE, the event that records names and switches; -1: none */
		struct perf_event_mmap_page *page; /* the ring follows it */
		size_t bytes;                      /* size of the ring */
		uint64_t head;                     /* the end of what is drained now */
		/* With SPE: */
		struct unc_trace_ring aux;
		uint64_t aux_head; /* as at the last reading */
		uint64_t midr;
		bool stopped; /* has to be started when it is drained */
	} * items;
	/* Set by the caller. `tasks`: samples have the fields of keys, and names and mappings are
	 * recorded, too. */
	bool tasks;
	bool spe;
	/* Inside: */
	size_t count, all;    /* CPUs that are sampled, and all CPUs */
	struct unc_error why; /* why the first of the other CPUs is not sampled */
	size_t page;
	char *copy; /* the records of one ring, since they may wrap at its end */
	char *aux_copy;
};

/* Opens the event on each CPU of its PMU, stopped. `event` is borrowed for the call; its `cpu` is
 * ignored. `period`: ops (or cycles) from one sample to the next. Leaves out a CPU that cannot be
 * sampled. Returns -EACCES, -EMFILE, or another error if no CPU could be opened. */
int unc_ibs_rings_open(struct unc_ibs_rings *r, const struct unc_kernel_env *env,
		       const struct uncore_counter *event, uint64_t period, struct unc_error *e);
/* Also after a failed open, or for an all-zero struct. */
void unc_ibs_rings_finish(struct unc_ibs_rings *r);
int unc_ibs_rings_start(struct unc_ibs_rings *r, struct unc_error *e);
/* Adds the samples since the last call, and frees their room in the rings. */
int unc_ibs_rings_drain(struct unc_ibs_rings *r, struct unc_ibs *into, struct unc_error *e);
/* The share of the time since the start during which the hardware sampled; NaN: not started. */
double unc_ibs_rings_coverage(const struct unc_ibs_rings *r);

#endif
