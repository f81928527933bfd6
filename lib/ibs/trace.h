/* SPDX-License-Identifier: MIT */
/* What stands around the packets of SPE: which task ran on a CPU when, how the timer's ticks become
 * perf's time, and what the kernel says of gaps in the packets. */
#ifndef UNC_TRACE_H
#define UNC_TRACE_H

#include "ibs/spe.h"
#include "ibs/tasks.h"

/* Limits of what a recording may have; switches beyond are left out. */
#define UNC_TRACE_CPUS_MOST 65536u
#define UNC_TRACE_SWITCHES_MOST ((size_t)1 << 23)

/* How a timer's ticks become perf's time; `mult` 0: not known. */
struct unc_clock {
	uint64_t shift, mult, zero;
};

/* The CPU of packets that are a thread's. */
#define UNC_TRACE_NO_CPU UINT32_MAX

struct unc_trace {
	struct unc_clock clock;
	struct unc_history *cpus; /* which tasks ran on each */
	size_t cpu_count, switches;
	/* Set by the caller: all switches are recorded, not only who ran at first. */
	bool switched;
	/* Flags of the kernel's, and bytes that are missing between two pieces. */
	uint64_t truncated, collided, gaps;
};

/* Packets in a ring that the kernel fills (AUX area). */
struct unc_trace_ring {
	const char *bytes;
	size_t size;   /* a power of two */
	uint64_t tail; /* packets up to here have been taken */
	uint32_t cpu;
	char *copy; /* of one piece, since it may wrap at the end */
};

/* A record about tasks on this CPU at this time: SWITCH, SWITCH_CPU_WIDE or ITRACE_START; others
 * are ignored. `task`: pid and tid of the record's end. -ENOMEM. */
int unc_trace_switch(struct unc_trace *t, const struct perf_event_header *h, const char *payload,
		     const int task[2], uint64_t time, uint32_t cpu);
/* Sets pid, tid and time (of perf's clock) of a record of SPE. `tid`: the thread whose packets
 * these are, if `cpu` is UNC_TRACE_NO_CPU. */
void unc_trace_place(struct unc_trace *t, struct unc_tasks *tasks, uint32_t cpu, int tid,
		     struct unc_spe_record *r);
/* The next piece of a ring, by the offset and size of PERF_RECORD_AUX. Returns the bytes, or NULL:
 * there is no such piece. */
const char *unc_trace_take(struct unc_trace *t, struct unc_trace_ring *ring, uint64_t offset,
			   uint64_t size);
/* Drops the switches before the last one of each CPU. */
void unc_trace_trim(struct unc_trace *t);
void unc_trace_finish(struct unc_trace *t);

#endif
