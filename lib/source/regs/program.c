/* SPDX-License-Identifier: MIT */
/* Writing registers, and putting them back. */
#include "source/regs/program.h"
#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>

/* Any hardware freezes within a few cycles of its clock; a simulated device may have to wait for a CPU. */
#define FREEZE_NS 100000000

static struct unc_regs_old *find_old(const struct unc_regs_undo *u, uint64_t offset)
{
	for (size_t i = 0; i < u->count; i++)
		if (u->old[i].offset == offset)
			return &u->old[i];
	return NULL;
}

static int record(struct unc_regs_undo *u, uint64_t offset)
{
	const struct unc_regs *r = u->io->regs;
	uint64_t value = 0;
	int err;

	if (find_old(u, offset))
		return 0;
	err = unc_regs_io_lock(u->io, offset);
	if (err == 0)
		err = unc_regs_io_load(u->io, offset, &value);
	if (err < 0)
		return err;
	if (!u->old) /* all controls, and two registers for each counter */
		u->old = calloc(UNC_REGS_CONTROLS + 2 * r->count, sizeof(*u->old));
	if (!u->old)
		return -ENOMEM;
	/* Status bits are not written back: they are outdated, and a 1 may clear something. */
	for (size_t i = 0; i < r->control_count; i++)
		if (r->controls[i].offset == offset)
			value &= ~r->controls[i].read_only;
	u->old[u->count++] = (struct unc_regs_old){offset, value};
	return 0;
}

int unc_regs_write(struct unc_regs_undo *u, uint64_t offset, uint64_t value)
{
	int err = record(u, offset);

	return err < 0 ? err : unc_regs_io_store(u->io, offset, value);
}

/* Waits for the status bit, when there is one. */
static int wait_frozen(const struct unc_regs_io *io)
{
	const struct unc_regs_field *frozen = io->regs->use[UNC_PURPOSE_FROZEN];
	uint64_t end = unc_now_ns() + FREEZE_NS, value = 0;

	while (frozen) {
		int err = unc_regs_io_load(io, frozen->in->offset, &value);

		if (err < 0 || value & frozen->bits)
			return err;
		if (unc_now_ns() > end)
			return -ETIMEDOUT;
	}
	return 0;
}

/* The other fields of the register keep their old values; fields that can only be written have none. */
int unc_regs_freeze(struct unc_regs_undo *u, bool freeze)
{
	const struct unc_regs_field *field = u->io->regs->use[UNC_PURPOSE_FREEZE];
	uint64_t value;
	int err;

	if (!field)
		return 0;
	err = record(u, field->in->offset);
	if (err < 0)
		return err;
	value = find_old(u, field->in->offset)->value & ~field->in->write_only;
	value = (value & ~field->bits) | field->in->ones | (freeze ? field->bits : 0);
	err = unc_regs_io_store(u->io, field->in->offset, value);
	return err == 0 && freeze ? wait_frozen(u->io) : err;
}

int unc_regs_restore(struct unc_regs_undo *u, uint64_t *changed)
{
	int first = u->count ? unc_regs_io_check(u->io) : 0;

	if (first < 0) {
		*changed = u->old[0].offset;
		u->count = 0;
	}
	if (u->count)
		unc_regs_freeze(u, true);
	while (u->count) {
		const struct unc_regs_old *old = &u->old[--u->count];
		int err = unc_regs_io_store(u->io, old->offset, old->value);

		if (err < 0 && first == 0) {
			first = err;
			*changed = old->offset;
		}
	}
	free(u->old);
	u->old = NULL;
	return first;
}

/* A device that is gone reads as all ones and is not frozen. */
bool unc_regs_is_frozen(const struct unc_regs_io *io)
{
	static const enum unc_field_purpose purposes[] = {UNC_PURPOSE_FROZEN, UNC_PURPOSE_FREEZE};

	for (size_t i = 0; i < 2; i++) {
		const struct unc_regs_field *field = io->regs->use[purposes[i]];
		uint64_t value = 0;

		if (field && field->access != UNC_ACCESS_WO &&
		    unc_regs_io_load(io, field->in->offset, &value) == 0 && value & field->bits &&
		    value != UINT64_MAX >> (64 - 8 * io->regs->bytes))
			return true;
	}
	return false;
}

int unc_regs_prepare(struct unc_regs_undo *u, const struct unc_regs_counter *c,
		     const struct unc_config *config, uint64_t *start)
{
	const struct unc_regs *r = u->io->regs;
	const struct unc_regs_field *enable = r->use[UNC_PURPOSE_ENABLE];
	uint64_t select = config->word[UNC_REGS_SELECT_WORD] | r->select.ones;
	uint64_t filter = config->word[UNC_REGS_FILTER_WORD];
	int err = 0;

	/* Filters are set before the events that they apply to. Without a filter an old one is cleared,
	 * unless another counter has set it. */
	for (size_t i = 0; err == 0 && i < r->control_count; i++) {
		const struct unc_regs_control *f = &r->controls[i];

		if (f->filter >= 0 && (filter || !find_old(u, f->offset)))
			err = unc_regs_write(u, f->offset,
					     (uint32_t)(filter >> (32 * f->filter)) | f->ones);
	}
	*start = (0 - config->word[UNC_REGS_AFTER_WORD]) & (UINT64_MAX >> (64 - c->width));
	if (err == 0)
		err = unc_regs_write(u, c->control, select);
	if (err == 0)
		err = unc_regs_write(u, c->offset, *start);
	if (err == 0 && enable)
		err = unc_regs_write(u, c->control, select | enable->bits);
	return err;
}
