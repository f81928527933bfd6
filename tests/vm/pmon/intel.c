/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a classic Intel PMON box does with what is written to it. */
#include "intel.h"

#define CTL_UMASK_SHIFT 8
#define CTL_RST (1u << 17)
#define CTL_EDGE (1u << 18)
#define CTL_TID_EN (1u << 19)
#define CTL_ENABLE (1u << 22)
#define CTL_INV (1u << 23)
#define CTL_THRESH_SHIFT 24
#define BOX_CTL_FRZ_EN (1u << 16)

/* E5 v2 manual, table 2-13: freeze and both resets are write-only. */
const struct intel_box_bits intel_bits_snbep = {.freeze = 1u << 8,
						.reset_ctrs = 1u << 1,
						.reset_ctrl = 1u << 0,
						.kept = 3u << 16,
						.enable = CTL_ENABLE};

/* There is no enable bit: a counter whose control register is not 0 counts. */
const struct intel_box_bits intel_bits_discovery = {.freeze = 1u << 0,
						    .reset_ctrs = 1u << 9,
						    .reset_ctrl = 1u << 8,
						    .kept = 1u << 0,
						    .enable = UINT64_MAX};

uint64_t intel_select_std(uint64_t ctl, uint64_t filter)
{
	return (ctl >> CTL_UMASK_SHIFT & 0xff) + (ctl & CTL_TID_EN ? 256 : 0) + filter;
}

uint64_t intel_select_wide(uint64_t ctl, uint64_t filter)
{
	(void)filter;
	return (ctl >> CTL_UMASK_SHIFT & 0xff) + (ctl >> 32 << 8);
}

uint64_t intel_select_iio(uint64_t ctl, uint64_t filter)
{
	(void)filter;
	return (ctl >> CTL_UMASK_SHIFT & 0xff) + ((ctl >> 36 & 0xfff) << 8) +
	       ((ctl >> 48 & 7) << 20);
}

/* Four band counters, each with its byte of the filter; the occupancy's bits are 14, 15, 30, 31. */
uint64_t intel_select_pcu(uint64_t ctl, uint64_t filter)
{
	uint64_t event = ctl & 0xff, band = 0;

	if (event >= 0xb && event <= 0xe)
		band = filter & UINT64_C(0xff) << 8 * (event - 0xb);
	return (ctl >> 8 & 0xc0) + (ctl >> 30 & 3) * 256 + band;
}

#define EVENT_TXL_FLITS 0x2
#define EVENT_RXL_FLITS 0x3
#define ALL_DATA 0xf
#define FLITS_PER_LINE 9

void intel_counts_flits(uint64_t ctl, struct real *what)
{
	uint64_t event = ctl & 0xff;

	if ((ctl >> CTL_UMASK_SHIFT & 0xff) != ALL_DATA)
		return;
	what->per_line = FLITS_PER_LINE;
	what->writes = event == EVENT_TXL_FLITS ? REAL_HERE : 0;
	what->reads = event == EVENT_RXL_FLITS ? REAL_HERE : 0;
}

#define EVENT_DATA_REQ_OF_CPU 0x83
#define MEM_WRITE 0x1
#define MEM_READ 0x4
#define WORDS_PER_LINE 16

void intel_counts_devices(uint64_t event, uint64_t umask, uint64_t parts, struct real *what)
{
	if (event != EVENT_DATA_REQ_OF_CPU)
		return;
	what->per_line = WORDS_PER_LINE;
	what->ports = (unsigned)parts;
	what->writes = umask == MEM_WRITE ? REAL_HERE : 0;
	what->reads = umask == MEM_READ ? REAL_HERE : 0;
}

#define EVENT_REQUESTS 0x50

/* Bits of umask, from the lowest: reads of this socket, of others, writes of this one, of others. */
void intel_counts_requests(uint64_t ctl, struct real *what)
{
	uint64_t umask = intel_select_wide(ctl, 0);

	if ((ctl & 0xff) != EVENT_REQUESTS || umask >> 4)
		return;
	what->reads = umask & REAL_HERE;
	what->writes = umask >> 2 & REAL_HERE;
}

#define EVENT_TOR_INSERTS 0x35
#define EVENT_TOR_OCCUPANCY 0x36
#define EVENT_CLOCK 0

void intel_counts_loads(uint64_t ctl, unsigned whose, struct real *what)
{
	uint64_t event = ctl & 0xff, cycles;

	if (!whose || (event != EVENT_TOR_INSERTS && event != EVENT_TOR_OCCUPANCY))
		return;
	cycles = pmon_weight(what->socket, what->instance, EVENT_CLOCK, 0);
	if (event == EVENT_TOR_OCCUPANCY)
		what->per_line = INTEL_TICKS_IN_FLIGHT * (unsigned)cycles;
	what->reads = whose;
}

/* E5 v2 manual, table 2-14: edge detection is in series after the threshold. */
static uint64_t shaped(uint64_t ctl, unsigned thresh_bits, uint64_t weight)
{
	uint64_t threshold =
		ctl >> CTL_THRESH_SHIFT & ((1u << (thresh_bits ? thresh_bits : 8)) - 1);
	bool reached = weight >= threshold;

	if (!threshold)
		return ctl & CTL_EDGE ? 0 : weight;
	if (ctl & CTL_EDGE)
		return reached;
	if (ctl & CTL_INV)
		return reached ? 1 : 2;
	return reached;
}

static void reweigh(struct intel_box *b, unsigned i)
{
	uint64_t ctl = b->ctl[i];
	uint64_t weight = pmon_weight(b->socket, b->instance, ctl & b->type->event_mask,
				      b->type->select(ctl, b->filter));
	struct real real = {
		.socket = b->socket, .instance = b->instance, .halves = 3, .per_line = 1};

	b->box.ctr[i].weight = shaped(ctl, b->type->thresh_bits, weight);
	b->box.ctr[i].on = ctl & b->type->bits->enable;
	if (!b->type->real)
		return;
	b->type->counts(ctl, &real);
	if (b->type->counts_filtered)
		b->type->counts_filtered(ctl, b->filter, &real);
	if (real.reads || real.writes)
		real.kind = b->type->real;
	else if (b->type->looks_up)
		b->type->looks_up(ctl, b->filter, &real);
	counter_real(&b->box.ctr[i], &real);
}

void intel_box_init(struct intel_box *b, const struct intel_type *type, unsigned socket,
		    unsigned instance)
{
	*b = (struct intel_box){.type = type, .socket = socket, .instance = instance};
	box_init(&b->box, type->ctrs + (type->fixed_ctr ? 1 : 0), type->width);
	if (type->fixed_ctr)
		b->box.ctr[type->ctrs].width = 48;
	if (type->real && (!type->units || instance < type->units))
		real_unit(type->real, instance);
	for (unsigned i = 0; type->free_code && i < type->ctrs; i++) {
		b->box.ctr[i].weight = pmon_weight(socket, instance, type->free_code + i, 0);
		b->box.ctr[i].on = true;
	}
}

void intel_write_box_ctl(struct intel_box *b, uint64_t value)
{
	const struct intel_box_bits *bits = b->type->bits;

	box_advance(&b->box);
	b->box.frozen = value & bits->freeze;
	b->box_ctl = value & bits->kept;
	if (b->type->tells_overflow)
		box_freeze_together(&b->box, value & BOX_CTL_FRZ_EN ? 1 + b->socket : 0);
	if (value & bits->reset_ctrs)
		for (unsigned i = 0; i < b->box.n; i++)
			b->box.ctr[i].value = 0;
	if (!(value & bits->reset_ctrl))
		return;
	for (unsigned i = 0; i < b->type->ctrs; i++) {
		b->ctl[i] = 0;
		reweigh(b, i);
	}
}

void intel_write_ctl(struct intel_box *b, unsigned i, uint64_t value)
{
	box_advance(&b->box);
	b->ctl[i] = value & ~(uint64_t)CTL_RST;
	if (value & CTL_RST)
		b->box.ctr[i].value = 0;
	reweigh(b, i);
}

void intel_write_ctr(struct intel_box *b, unsigned i, uint64_t value)
{
	struct counter *c = &b->box.ctr[i];

	if (b->type->free_code)
		return;
	box_advance(&b->box);
	c->value = value & ((UINT64_C(1) << c->width) - 1);
}

void intel_write_filter(struct intel_box *b, uint64_t value)
{
	box_advance(&b->box);
	b->filter = value;
	for (unsigned i = 0; i < b->type->ctrs; i++)
		reweigh(b, i);
}

/* The fixed counter counts cycles: the event code that the driver gives it, 0xff, weighs it. */
void intel_write_fixed_ctl(struct intel_box *b, uint64_t value)
{
	struct counter *c = &b->box.ctr[b->type->ctrs];

	box_advance(&b->box);
	b->fixed_ctl = value & ~(uint64_t)CTL_RST;
	if (value & CTL_RST)
		c->value = 0;
	c->weight = pmon_weight(b->socket, b->instance, 0xff, 0);
	c->on = value & CTL_ENABLE;
}

uint64_t intel_read_ctr(struct intel_box *b, unsigned i)
{
	box_advance(&b->box);
	return b->box.ctr[i].value;
}
