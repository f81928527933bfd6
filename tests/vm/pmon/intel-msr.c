/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Boxes that are reached by MSR: which register of which box an address is. */
#include "intel.h"

#include <stdio.h>
#include <stdlib.h>

static const struct intel_type *msr_types;
static struct intel_box *msr_boxes; /* [type][socket][instance], in one row */

enum reg { REG_BOX_CTL, REG_CTL, REG_CTR, REG_FILTER, REG_FILTER1, REG_FIXED_CTL, REG_FIXED_CTR };

int intel_msr_init(const struct intel_type *types)
{
	size_t n = 0;
	struct intel_box *b;

	for (const struct intel_type *t = types; t->name; t++)
		n += (size_t)t->boxes * pmon_config.sockets;
	msr_types = types;
	b = msr_boxes = calloc(n, sizeof(*msr_boxes));
	if (!b) {
		fprintf(stderr, "pmon: out of memory\n");
		return -1;
	}
	for (const struct intel_type *t = types; t->name; t++)
		for (unsigned s = 0; s < pmon_config.sockets; s++)
			for (unsigned i = 0; i < t->boxes; i++)
				intel_box_init(b++, t, s, i);
	return 0;
}

struct regs {
	enum reg reg;
	uint32_t first;
	unsigned n, step;
};

/* Is `msr` one of those of a box? `i`: which of its kind. */
static bool is_reg(const struct intel_type *t, const struct regs *regs, uint32_t msr, unsigned *box,
		   unsigned *i)
{
	unsigned step = regs->step ? regs->step : 1, in;

	if (!regs->first)
		return false;
	for (*box = 0; *box < t->boxes; ++*box) {
		in = msr - regs->first - (t->offsets ? t->offsets[*box] : *box * t->stride);
		*i = in / step;
		if (in % step == 0 && *i < regs->n)
			return true;
	}
	return false;
}

static bool which(const struct intel_type *t, uint32_t msr, enum reg *reg, unsigned *box,
		  unsigned *i)
{
	const struct regs table[] = {
		{REG_BOX_CTL, t->box_ctl, 1, 1},         {REG_CTL, t->ctl, t->ctrs, 1},
		{REG_CTR, t->ctr, t->ctrs, t->ctr_step}, {REG_FILTER, t->filter, 1, 1},
		{REG_FILTER1, t->filter1, 1, 1},         {REG_FIXED_CTL, t->fixed_ctl, 1, 1},
		{REG_FIXED_CTR, t->fixed_ctr, 1, 1},
	};

	for (size_t k = 0; k < sizeof(table) / sizeof(table[0]); k++) {
		*reg = table[k].reg;
		if (is_reg(t, &table[k], msr, box, i))
			return true;
	}
	return false;
}

static struct intel_box *find(unsigned cpu, uint32_t msr, enum reg *reg, unsigned *i)
{
	struct intel_box *b = msr_boxes;
	unsigned box;

	for (const struct intel_type *t = msr_types; t->name; t++) {
		if (which(t, msr, reg, &box, i))
			return b + pmon_socket(cpu) * t->boxes + box;
		b += (size_t)t->boxes * pmon_config.sockets;
	}
	return NULL;
}

bool intel_rdmsr(unsigned cpu, uint32_t msr, uint64_t *value)
{
	enum reg reg;
	unsigned i;
	struct intel_box *b = find(cpu, msr, &reg, &i);

	if (!b)
		return false;
	switch (reg) {
	case REG_BOX_CTL:
		*value = b->box_ctl;
		break;
	case REG_CTL:
		*value = b->ctl[i];
		break;
	case REG_CTR:
		*value = intel_read_ctr(b, i);
		break;
	case REG_FILTER:
		*value = b->filter & UINT32_MAX;
		break;
	case REG_FILTER1:
		*value = b->filter >> 32;
		break;
	case REG_FIXED_CTL:
		*value = b->fixed_ctl;
		break;
	case REG_FIXED_CTR:
		*value = intel_read_ctr(b, b->type->ctrs);
		break;
	}
	return true;
}

bool intel_wrmsr(unsigned cpu, uint32_t msr, uint64_t value)
{
	enum reg reg;
	unsigned i;
	struct intel_box *b = find(cpu, msr, &reg, &i);

	if (!b)
		return false;
	switch (reg) {
	case REG_BOX_CTL:
		intel_write_box_ctl(b, value);
		break;
	case REG_CTL:
		intel_write_ctl(b, i, value);
		break;
	case REG_CTR:
		intel_write_ctr(b, i, value);
		break;
	case REG_FILTER:
		intel_write_filter(b, (b->filter & ~(uint64_t)UINT32_MAX) | (value & UINT32_MAX));
		break;
	case REG_FILTER1:
		intel_write_filter(b, (b->filter & UINT32_MAX) | value << 32);
		break;
	case REG_FIXED_CTL:
		intel_write_fixed_ctl(b, value);
		break;
	case REG_FIXED_CTR:
		intel_write_ctr(b, b->type->ctrs, value);
		break;
	}
	return true;
}
