/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A PMU after the CoreSight PMU architecture: event counters, a cycle counter, filters. */
#include "nvidia.h"

#include <stdlib.h>

/* Offsets in the page of registers; counters have a page of their own, or offset 0 of this one. */
enum {
	PMEVTYPER = 0x400,
	PMCCFILTR = 0x47c,
	PMEVFILT2R = 0x800,
	PMEVFILTR = 0xa00,
	PMCNTENSET = 0xc00,
	PMCNTENCLR = 0xc20,
	PMINTENSET = 0xc40,
	PMINTENCLR = 0xc60,
	PMOVSCLR = 0xc80,
	PMCFGR = 0xe00,
	PMCR = 0xe04,
	PMIIDR = 0xe08,
};

#define COUNTERS_SIZE 0x400
#define CYCLE_COUNTER 31 /* its number in registers; in the box it is the last */

#define PMCR_E (1u << 0) /* enable */
#define PMCR_P (1u << 1) /* clear the event counters */
#define PMCR_C (1u << 2) /* clear the cycle counter */

#define PMCFGR_CC (1u << 14) /* there is a cycle counter */

/* Address ranges of PCIE-TGT, in a page of their own. */
#define RANGES 8
#define RANGE_STRIDE 20
enum { RANGE_CTRL = 0xd38, RANGE_BASE = 0xd3c, RANGE_MASK = 0xd44 };

bool cspmu_no_cycles;

struct cspmu {
	const struct cspmu_type *type;
	uint32_t regs, counters, ranges; /* pages, as offsets in the window */
	unsigned socket, instance;
	struct box box;
};

static unsigned number_of(const struct cspmu *pmu, unsigned i)
{
	return i < pmu->type->ctrs ? i : CYCLE_COUNTER;
}

static void show_counters(const struct cspmu *pmu)
{
	for (unsigned i = 0; i < pmu->box.n; i++)
		put64(pmu->counters + 8 * number_of(pmu, i), pmu->box.ctr[i].value);
}

/*
 * Which of the slots holds a range is the driver's choice, so only what is in it selects:
 * 1 + base % 997 + 7 * (mask % 997) for each.
 */
static void read_ranges(const struct cspmu *pmu, struct cspmu_filter *f)
{
	for (unsigned i = 0; i < RANGES; i++) {
		uint32_t at = pmu->ranges + i * RANGE_STRIDE;

		if (!(f->filter2 >> (8 + i) & 1))
			continue;
		if (!(get32(at + RANGE_CTRL) & 1))
			f->no_match = true;
		f->address += (uint32_t)(1 + get64(at + RANGE_BASE) % 997 +
					 7 * (get64(at + RANGE_MASK) % 997));
	}
}

static struct cspmu_filter filter_of(const struct cspmu *pmu, unsigned i)
{
	return (struct cspmu_filter){.filter = get32(pmu->regs + PMEVFILTR + 4 * i),
				     .filter2 = get32(pmu->regs + PMEVFILT2R + 4 * i)};
}

static uint64_t weight_of(const struct cspmu *pmu, unsigned i)
{
	struct cspmu_filter f = filter_of(pmu, i);
	uint32_t event = get32(pmu->regs + PMEVTYPER + 4 * i);
	uint64_t select;

	if (pmu->type->weight)
		return pmu->type->weight(&f, pmu->socket, event);
	if (pmu->type->ranges)
		read_ranges(pmu, &f);
	if (!pmu->type->select(&f, &select) || f.no_match)
		return 0;
	return pmon_weight(pmu->socket, pmu->instance, event, select);
}

static struct real real_of(const struct cspmu *pmu, unsigned i)
{
	struct real real = {.socket = pmu->socket, .instance = pmu->instance, .halves = 3};
	const struct cspmu_filter f = filter_of(pmu, i);

	if (pmu->type->counts)
		pmu->type->counts(&f, get32(pmu->regs + PMEVTYPER + 4 * i), &real);
	return real;
}

static void weigh(struct cspmu *pmu)
{
	for (unsigned i = 0; i < pmu->type->ctrs; i++) {
		const struct real real = real_of(pmu, i);

		pmu->box.ctr[i].weight = weight_of(pmu, i);
		counter_real(&pmu->box.ctr[i], &real);
	}
	pmu->box.ctr[pmu->type->ctrs].weight =
		pmon_weight(pmu->socket, pmu->instance, CYCLES, get32(pmu->regs + PMCCFILTR));
}

static void enable_counters(struct cspmu *pmu, uint32_t bits, bool on)
{
	uint32_t enabled = 0;

	for (unsigned i = 0; i < pmu->box.n; i++) {
		uint32_t bit = 1u << number_of(pmu, i);

		if (bits & bit)
			pmu->box.ctr[i].on = on;
		if (pmu->box.ctr[i].on)
			enabled |= bit;
	}
	put32(pmu->regs + PMCNTENSET, enabled);
	put32(pmu->regs + PMCNTENCLR, enabled);
}

static void control(struct cspmu *pmu, uint32_t value)
{
	for (unsigned i = 0; i < pmu->box.n; i++)
		if (value & (i < pmu->type->ctrs ? PMCR_P : PMCR_C))
			pmu->box.ctr[i].value = 0;
	pmu->box.frozen = !(value & PMCR_E);
	put32(pmu->regs + PMCR, value & PMCR_E); /* the others read as zero */
}

static void store_register(struct cspmu *pmu, unsigned offset)
{
	uint32_t value = get32(pmu->regs + offset);

	switch (offset) {
	case PMCNTENSET:
		enable_counters(pmu, value, true);
		break;
	case PMCNTENCLR:
		enable_counters(pmu, value, false);
		break;
	case PMCR:
		control(pmu, value);
		break;
	case PMINTENSET: /* there is no interrupt */
	case PMINTENCLR:
	case PMOVSCLR:
		put32(pmu->regs + offset, 0);
		break;
	default: /* events and filters */
		weigh(pmu);
		break;
	}
}

/* Counters may be written by halves; what the other half shows may be old. */
static void store_counter(struct cspmu *pmu, unsigned offset, unsigned size)
{
	uint32_t value = get32(pmu->counters + offset);

	for (unsigned i = 0; i < pmu->box.n; i++) {
		uint64_t *v = &pmu->box.ctr[i].value;

		if (number_of(pmu, i) != offset / 8)
			continue;
		if (size == 8)
			*v = get64(pmu->counters + offset);
		else if (offset % 8)
			*v = (*v & UINT32_MAX) | (uint64_t)value << 32;
		else
			*v = (*v & ~(uint64_t)UINT32_MAX) | value;
	}
}

static bool is_counter(const struct cspmu *pmu, unsigned index, unsigned offset)
{
	return offset < COUNTERS_SIZE && index == (pmu->type->dual_page ? 1 : 0);
}

static void load(void *unit, unsigned index, unsigned offset)
{
	struct cspmu *pmu = unit;

	if (!is_counter(pmu, index, offset))
		return;
	box_advance(&pmu->box);
	show_counters(pmu);
}

static void store(void *unit, unsigned index, unsigned offset, unsigned size)
{
	struct cspmu *pmu = unit;

	box_advance(&pmu->box);
	if (is_counter(pmu, index, offset))
		store_counter(pmu, offset, size);
	else if (index == 0)
		store_register(pmu, offset);
	else
		weigh(pmu); /* an address range */
}

void cspmu_new(const struct cspmu_type *type, uint32_t base, unsigned socket, unsigned instance)
{
	static const struct page_ops ops = {load, store};
	struct cspmu *pmu = calloc(1, sizeof(*pmu));

	if (!pmu)
		abort();
	*pmu = (struct cspmu){.type = type,
			      .regs = base,
			      .counters = base,
			      .socket = socket,
			      .instance = instance};
	if (type->dual_page)
		pmu->counters = base + PAGE;
	if (type->ranges)
		pmu->ranges = base + PAGE;
	box_init(&pmu->box, type->ctrs + 1, type->width);
	pmu->box.frozen = true;
	put32(base + PMIIDR, type->pmiidr);
	/* PMCFGR.N is one less than the number of counters, PMCFGR.SIZE one less than the width. */
	put32(base + PMCFGR, (cspmu_no_cycles && !type->ranges ? 0 : PMCFGR_CC) |
				     (type->width - 1) << 8 | type->ctrs);
	weigh(pmu);
	pages_claim(base, 1u + type->dual_page + type->ranges, &ops, pmu);
}
