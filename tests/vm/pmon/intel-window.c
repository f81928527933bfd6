/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Boxes whose registers lie in the register window: configuration space and MMIO. The guest reads
 * and writes the memory itself; here the counters are put into it before it reads, and what it has
 * written to a control register is acted upon. Only counters are ever put there unasked, so that a
 * control register that another CPU is just writing is not lost.
 */
#include "intel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PLACES 256
#define CTR_STEP 8

struct place {
	uint64_t base;
	struct intel_box b;
};

enum reg { REG_BOX_CTL, REG_CTL, REG_CTR, REG_FIXED_CTL, REG_FIXED_CTR, N_REGS };

static struct place *places[MAX_PLACES];
static unsigned n_places;

static void *at(uint64_t offset)
{
	return (char *)pmon_window + offset;
}

static void put(uint64_t offset, uint64_t value, size_t size)
{
	memcpy(at(offset), &value, size);
}

static uint64_t get(uint64_t offset, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, at(offset), size);
	return value;
}

/* Puts the counters into the window. */
static void publish(struct place *p)
{
	const struct intel_type *t = p->b.type;

	for (unsigned i = 0; i < t->ctrs; i++)
		put(p->base + t->ctr + i * CTR_STEP, intel_read_ctr(&p->b, i), 8);
	if (t->fixed_ctr)
		put(p->base + t->fixed_ctr, intel_read_ctr(&p->b, t->ctrs), 8);
}

void intel_window_add(const struct intel_type *type, unsigned socket, unsigned instance,
		      uint64_t base)
{
	struct place *p = calloc(1, sizeof(*p));

	if (!p || n_places == MAX_PLACES) {
		fprintf(stderr, "pmon: no room for another box in the register window\n");
		exit(1);
	}
	p->base = base;
	intel_box_init(&p->b, type, socket, instance);
	places[n_places++] = p;
}

/* Which register of `p` is at `offset`; N_REGS: none. `i`: which of its kind. */
static enum reg which(const struct place *p, uint64_t offset, unsigned *i)
{
	const struct intel_type *t = p->b.type;
	const struct {
		uint32_t first;
		unsigned n, step;
	} table[N_REGS] = {
		[REG_BOX_CTL] = {t->box_ctl, 1, 4},
		[REG_CTL] = {t->ctl, t->ctrs, t->ctl_step},
		[REG_CTR] = {t->ctr, t->ctrs, CTR_STEP},
		[REG_FIXED_CTL] = {t->fixed_ctl, 1, 4},
		[REG_FIXED_CTR] = {t->fixed_ctr, 1, CTR_STEP},
	};

	for (enum reg r = 0; r < N_REGS; r++) {
		uint64_t in = offset - p->base - table[r].first;

		if (!table[r].first || in >= table[r].n * table[r].step)
			continue;
		*i = (unsigned)(in / table[r].step);
		return r;
	}
	return N_REGS;
}

static void act(struct place *p, enum reg r, unsigned i)
{
	const struct intel_type *t = p->b.type;

	switch (r) {
	case REG_BOX_CTL:
		intel_write_box_ctl(&p->b, get(p->base + t->box_ctl, 4));
		put(p->base + t->box_ctl, p->b.box_ctl, 4);
		break;
	case REG_CTL:
		intel_write_ctl(&p->b, i, get(p->base + t->ctl + i * t->ctl_step, t->ctl_step));
		put(p->base + t->ctl + i * t->ctl_step, p->b.ctl[i], t->ctl_step);
		break;
	case REG_FIXED_CTL:
		intel_write_fixed_ctl(&p->b, get(p->base + t->fixed_ctl, 4));
		put(p->base + t->fixed_ctl, p->b.fixed_ctl, 4);
		break;
	case REG_CTR:
		intel_write_ctr(&p->b, i, get(p->base + t->ctr + i * CTR_STEP, CTR_STEP));
		break;
	case REG_FIXED_CTR:
		intel_write_ctr(&p->b, t->ctrs, get(p->base + t->fixed_ctr, CTR_STEP));
		break;
	case N_REGS:
		break;
	}
}

void intel_window_load(uint64_t offset, unsigned size)
{
	unsigned i;

	for (unsigned k = 0; k < n_places; k++)
		if (!size || which(places[k], offset, &i) != N_REGS)
			publish(places[k]);
}

void intel_window_store(uint64_t offset, unsigned size)
{
	unsigned i;
	enum reg r;

	(void)size; /* the value is in memory, whole */
	for (unsigned k = 0; k < n_places; k++) {
		r = which(places[k], offset, &i);
		if (r == N_REGS)
			continue;
		act(places[k], r, i);
		publish(places[k]);
		return;
	}
}

bool intel_window_is_register(uint64_t offset)
{
	unsigned i;

	for (unsigned k = 0; k < n_places; k++)
		if (which(places[k], offset, &i) != N_REGS)
			return true;
	return false;
}
