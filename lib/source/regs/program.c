/* SPDX-License-Identifier: MIT */
/* Writing registers, and putting them back. */
#include "source/regs/program.h"
#include "base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PMUS "sys/bus/event_source/devices"
/* Any hardware stops within a few cycles of its clock; what plays hardware may have to wait for a CPU. */
#define FREEZE_NS 100000000

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool is_saved(const struct unc_regs_program *p, uint64_t offset)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->saved[i].offset == offset)
			return true;
	return false;
}

/* Bits that only the hardware sets. What it said when they were read is not written back: it may be
 * taken for what it says now, and a 1 may clear something. */
static uint64_t read_only_bits(const struct unc_regs *r, uint64_t offset)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < r->control_count; i++)
		for (size_t k = 0; r->controls[i].offset == offset && k < r->controls[i].count; k++)
			if (r->controls[i].fields[k].access == UNC_ACCESS_RO)
				bits |= r->controls[i].fields[k].bits;
	return bits;
}

static int save(struct unc_regs_program *p, uint64_t offset)
{
	uint64_t value = 0;
	int err = unc_regs_io_claim(p->io, offset);

	if (err == 0)
		err = unc_regs_io_load(p->io, offset, &value);
	if (err < 0)
		return err;
	if (p->count == p->room) {
		size_t room = p->room ? 2 * p->room : 8;
		struct unc_regs_saved *grown = reallocarray(p->saved, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		p->saved = grown;
		p->room = room;
	}
	value &= ~read_only_bits(p->io->regs, offset);
	p->saved[p->count++] = (struct unc_regs_saved){offset, value};
	return 0;
}

int unc_regs_write(struct unc_regs_program *p, uint64_t offset, uint64_t value)
{
	int err = is_saved(p, offset) ? 0 : save(p, offset);

	return err < 0 ? err : unc_regs_io_store(p->io, offset, value);
}

/* What a control register holds besides its fields of one purpose, as it was found. Fields that are only
 * written have no value to keep. */
static uint64_t kept_bits(const struct unc_regs_program *p, const struct unc_regs_control *c,
			  enum unc_field_purpose purpose)
{
	uint64_t value = 0;

	for (size_t i = 0; i < p->count; i++)
		if (p->saved[i].offset == c->offset)
			value = p->saved[i].value;
	for (size_t i = 0; i < c->count; i++)
		if (c->fields[i].purpose == purpose || c->fields[i].access == UNC_ACCESS_WO)
			value &= ~c->fields[i].bits;
	return value | c->ones;
}

static int wait_frozen(const struct unc_regs_program *p)
{
	const struct unc_regs_control *control;
	const struct unc_regs_field *frozen =
		unc_regs_find_field(p->io->regs, UNC_PURPOSE_FROZEN, &control);
	uint64_t end = now_ns() + FREEZE_NS, value = 0;
	int err = 0;

	while (frozen && err == 0 && !(value & frozen->bits)) {
		err = unc_regs_io_load(p->io, control->offset, &value);
		if (err == 0 && !(value & frozen->bits) && now_ns() > end)
			return -ETIMEDOUT;
	}
	return err;
}

/* What is gone, and reads as all ones, is not frozen. */
bool unc_regs_is_frozen(const struct unc_regs_io *io)
{
	static const enum unc_field_purpose purposes[] = {UNC_PURPOSE_FROZEN, UNC_PURPOSE_FREEZE};
	const struct unc_regs_control *control;
	bool frozen = false;

	for (size_t i = 0; i < 2; i++) {
		const struct unc_regs_field *field =
			unc_regs_find_field(io->regs, purposes[i], &control);
		uint64_t value = 0;

		if (!field || field->access == UNC_ACCESS_WO ||
		    unc_regs_io_load(io, control->offset, &value) < 0 ||
		    value == UINT64_MAX >> (64 - 8 * io->regs->bytes))
			continue;
		frozen = frozen || value & field->bits;
	}
	return frozen;
}

int unc_regs_freeze(struct unc_regs_program *p, bool freeze)
{
	const struct unc_regs_control *control;
	const struct unc_regs_field *field =
		unc_regs_find_field(p->io->regs, UNC_PURPOSE_FREEZE, &control);
	uint64_t value;
	int err = 0;

	if (!field)
		return 0;
	if (!is_saved(p, control->offset))
		err = save(p, control->offset);
	if (err < 0)
		return err;
	value = kept_bits(p, control, UNC_PURPOSE_FREEZE) | (freeze ? field->bits : 0);
	err = unc_regs_io_store(p->io, control->offset, value);
	return err == 0 && freeze ? wait_frozen(p) : err;
}

int unc_regs_restore(struct unc_regs_program *p, uint64_t *changed)
{
	int first = 0;

	if (p->count)
		unc_regs_freeze(p, true);
	while (p->count) {
		const struct unc_regs_saved *s = &p->saved[--p->count];
		int err = unc_regs_io_store(p->io, s->offset, s->value);

		if (err < 0 && first == 0) {
			first = err;
			*changed = s->offset;
		}
	}
	free(p->saved);
	p->saved = NULL;
	p->room = 0;
	return first;
}

int unc_regs_check_select(const struct unc_regs *r, const struct unc_counter *c,
			  struct unc_error *e)
{
	const struct unc_regs_field *edge = unc_regs_field(&r->select, UNC_PURPOSE_EDGE);
	const struct unc_regs_field *threshold = unc_regs_field(&r->select, UNC_PURPOSE_THRESHOLD);
	uint64_t select = c->config.word[UNC_REGS_SELECT_WORD];

	if (edge && threshold && (select & edge->bits) && !(select & threshold->bits))
		return unc_fail(e, EINVAL,
				"%s/%s/: '%s' works on what '%s' lets through, which must be at "
				"least 1: add %s=1",
				c->pmu->name, c->event, edge->name, threshold->name,
				threshold->name);
	if (c->config.word[UNC_REGS_AFTER_WORD] > UINT64_MAX >> (64 - unc_regs_narrowest(r)))
		return unc_fail(e, EINVAL, "%s/%s/: a counter of %u bits cannot count so many",
				c->pmu->name, c->event, unc_regs_narrowest(r));
	if (c->config.word[UNC_REGS_AFTER_WORD] && !r->overflow_freezes)
		return unc_fail(e, EINVAL, "%s/%s/: a counter that overflows freezes nothing here",
				c->pmu->name, c->event);
	return 0;
}

int unc_regs_prepare(struct unc_regs_program *p, const struct unc_regs_counter *c,
		     const struct unc_config *config, uint64_t *start)
{
	const struct unc_regs *r = p->io->regs;
	const struct unc_regs_field *enable = unc_regs_field(&r->select, UNC_PURPOSE_ENABLE);
	uint64_t select = config->word[UNC_REGS_SELECT_WORD] | r->select.ones;
	uint64_t filter = config->word[UNC_REGS_FILTER_WORD];
	uint64_t after = config->word[UNC_REGS_AFTER_WORD];
	int err = 0;

	/* Filters come before what looks at them. Without one nothing that somebody left there may
	 * choose what is counted, but the filter of another counter stays. */
	for (size_t i = 0; err == 0 && i < r->control_count; i++)
		if (r->controls[i].filter >= 0 && (filter || !is_saved(p, r->controls[i].offset)))
			err = unc_regs_write(p, r->controls[i].offset,
					     (uint32_t)(filter >> (32 * r->controls[i].filter)) |
						     r->controls[i].ones);
	*start = (0 - after) & (UINT64_MAX >> (64 - c->width));
	if (err == 0)
		err = unc_regs_write(p, c->control, select);
	if (err == 0)
		err = unc_regs_write(p, c->offset, *start);
	if (err == 0 && enable)
		err = unc_regs_write(p, c->control, select | enable->bits);
	return err;
}

int unc_regs_check_kernel(const struct unc_regs *r, const struct unc_root *root,
			  struct unc_error *e)
{
	struct unc_names names = {0};
	const char *found = NULL;
	int err;

	if (!r->kernel_pmu)
		return 0;
	err = unc_root_list(root, PMUS, &names);
	if (err == -ENOMEM)
		return unc_nomem(e);
	if (err < 0 && err != -ENOENT)
		return unc_fail(
			e, -err,
			"%s: whether the kernel's driver in %s counts with the same registers "
			"cannot be told: /%s: %s; nothing is written",
			r->name, r->kernel_module, PMUS, unc_errno_text(err));
	for (size_t i = 0; !found && i < names.count; i++)
		if (unc_pmu_name_matches(names.items[i], r->kernel_pmu))
			found = names.items[i];
	if (found)
		unc_fail(e, EBUSY,
			 "%s: the kernel's driver in %s counts with the same registers (%s is "
			 "there), and each would undo what the other writes: use it, without "
			 "--source, or remove it (rmmod %s)",
			 r->name, r->kernel_module, found, r->kernel_module);
	unc_names_finish(&names);
	return found ? -EBUSY : 0;
}
