/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Intel PMON boxes, whether their registers are MSRs, in configuration space or in memory: one table
 * row for each type of box, one behaviour for all.
 *
 * A tick of the traffic clock is two cycles long: in the first an event happens `weight` times, in
 * the second not at all. So a counter with a threshold t counts, per tick, 1 if weight >= t, inverted
 * 1 if weight >= t and else 2, and with edge detection the rising edges of that condition: 1 per
 * tick if weight >= t, else 0. Edge detection comes after the threshold: without a threshold the
 * condition always holds and there is no edge to count.
 */
#ifndef RIG_INTEL_H
#define RIG_INTEL_H

#include "pmon.h"

#define INTEL_CTRS 8

/* The bits of BOX_CTL; those that are write-only read as 0. */
struct intel_box_bits {
	uint32_t freeze, reset_ctrl, reset_ctrs;
	uint32_t kept;   /* what can be read back */
	uint64_t enable; /* bits of CTL: a counter counts when any of them is set */
};

struct intel_type {
	const char *name;
	unsigned boxes; /* instances on each socket */
	unsigned ctrs, width;
	/*
	 * MSRs of instance 0; those of instance i are i x `stride` or `offsets`[i] further. For boxes
	 * in the register window: bytes from the place that a box was given, counters 8 apart, their
	 * controls `ctl_step`. 0: there is no such register.
	 */
	uint32_t box_ctl, ctl, ctr, filter, filter1, fixed_ctl, fixed_ctr;
	uint32_t stride, ctl_step;
	uint32_t ctr_step; /* of MSRs; 0: 1 */
	const uint16_t *offsets;
	/* Free-running counters: counter i always counts the event with this code + i. */
	uint32_t free_code;
	unsigned thresh_bits; /* of CTL, from bit 24; 0: 8 */
	const struct intel_box_bits *bits;
	/*
	 * A counter that overflows tells the UBox, and that freezes all such boxes of the socket, if bit
	 * 16 of their BOX_CTL is set.
	 */
	bool tells_overflow;
	/* What selects, beside the event: `filter` is FILTER1 << 32 | FILTER. */
	uint64_t (*select)(uint64_t ctl, uint64_t filter);
	uint64_t event_mask; /* bits of CTL that are the event code, lowest at bit 0 */
	/* What a box is when traffic is real: fills in what an event counts of it, if it does. */
	enum real_kind real;
	unsigned units; /* that a socket has of it, if it is not all boxes */
	void (*counts)(uint64_t ctl, struct real *what);
	/* Likewise, of events that the filter selects, too. */
	void (*counts_filtered)(uint64_t ctl, uint64_t filter, struct real *what);
	/* What the disk counts; it also fills in the kind. */
	void (*looks_up)(uint64_t ctl, uint64_t filter, struct real *what);
};

struct intel_box {
	const struct intel_type *type;
	unsigned socket, instance;
	uint64_t box_ctl, ctl[INTEL_CTRS], filter, fixed_ctl;
	struct box box; /* the fixed counter, if there is one, is the last */
};

extern const struct intel_box_bits intel_bits_snbep;     /* Sandy Bridge EP to Ice Lake */
extern const struct intel_box_bits intel_bits_discovery; /* Sapphire Rapids and later */

/* Makes an instance; it must live on. */
void intel_box_init(struct intel_box *b, const struct intel_type *type, unsigned socket,
		    unsigned instance);

/* Register accesses by meaning; `i` is the counter's number. */
void intel_write_box_ctl(struct intel_box *b, uint64_t value);
void intel_write_ctl(struct intel_box *b, unsigned i, uint64_t value);
void intel_write_ctr(struct intel_box *b, unsigned i, uint64_t value);
void intel_write_filter(struct intel_box *b, uint64_t value);
void intel_write_fixed_ctl(struct intel_box *b, uint64_t value);
uint64_t intel_read_ctr(struct intel_box *b, unsigned i);

/* umask + 256 x tid_en + filter, for boxes with the classic control register. */
uint64_t intel_select_std(uint64_t ctl, uint64_t filter);
/* From Ice Lake on: umask, with its extension in the upper half of the register. */
uint64_t intel_select_wide(uint64_t ctl, uint64_t filter);
/* umask + 2^8 x ch_mask (12 bits) + 2^20 x fc_mask */
uint64_t intel_select_iio(uint64_t ctl, uint64_t filter);
/* Skylake and Ice Lake: occ_sel + 2^8 x occ_invert + 2^9 x occ_edge_det + the band that is filtered */
uint64_t intel_select_pcu(uint64_t ctl, uint64_t filter);

/* UPI: TxL_FLITS and RxL_FLITS of all data. */
void intel_counts_flits(uint64_t ctl, struct real *what);
/* IIO: DATA_REQ_OF_CPU of the parts of ch_mask, in 4 bytes: what devices write and read. */
void intel_counts_devices(uint64_t event, uint64_t umask, uint64_t parts, struct real *what);
/* CHA: REQUESTS, reads and writes of this socket and of others. */
void intel_counts_requests(uint64_t ctl, struct real *what);
/* CHA: TOR_INSERTS and TOR_OCCUPANCY of loads of this socket's CPUs. Each is in flight for INTEL_TICKS_IN_FLIGHT ticks, so
 * many times the cycles that the box counts in a tick. */
#define INTEL_TICKS_IN_FLIGHT 10
void intel_counts_loads(uint64_t ctl, unsigned whose, struct real *what);

/* All boxes of a model that are reached by MSR: `types` ends with a row without a name. */
int intel_msr_init(const struct intel_type *types);
bool intel_rdmsr(unsigned cpu, uint32_t msr, uint64_t *value);
bool intel_wrmsr(unsigned cpu, uint32_t msr, uint64_t value);

/* Makes a box whose registers lie in the register window, `base` bytes from its beginning. */
void intel_window_add(const struct intel_type *type, unsigned socket, unsigned instance,
		      uint64_t base);
/* Brings the counters at `offset` up to date; with `size` 0 all of the window. */
void intel_window_load(uint64_t offset, unsigned size);
/* Does what a register that has just been written does. */
void intel_window_store(uint64_t offset, unsigned size);
bool intel_window_is_register(uint64_t offset);

#endif
