/* SPDX-License-Identifier: MIT */
/* Writing registers, with an undo log: the old value of each is recorded at its first write, and all are put
 * back in reverse order. */
#include "base/clock.h"
#include "base/text.h"
#include "source/regs/source.h"

#include <errno.h>
#include <stdlib.h>

/* Any hardware freezes within a few cycles of its clock; a simulated device may have to wait for a CPU. */
#define FREEZE_NS 100000000

static struct unc_regs_old *find_old(const struct unc_regs_io *io, uint64_t offset)
{
	for (size_t i = 0; i < io->old_count; i++)
		if (io->old[i].offset == offset)
			return &io->old[i];
	return NULL;
}

static int record(struct unc_regs_io *io, uint64_t offset)
{
	const struct unc_regs *r = io->regs;
	struct unc_regs_old *old;
	uint64_t value = 0;
	int err;

	if (find_old(io, offset))
		return 0;
	err = unc_regs_io_lock(io, offset);
	if (err == 0)
		err = unc_regs_io_load(io, offset, &value);
	if (err < 0)
		return err;
	old = unc_append(&io->old, &io->old_count, sizeof(*old));
	if (!old)
		return -ENOMEM;
	/* Status bits are not written back: they are outdated, and a 1 may clear something. */
	for (size_t i = 0; i < r->control_count; i++)
		if (r->controls[i].offset == offset)
			value &= ~r->controls[i].read_only;
	*old = (struct unc_regs_old){offset, value};
	return 0;
}

int unc_regs_write(struct unc_regs_io *io, uint64_t offset, uint64_t value)
{
	int err = record(io, offset);

	return err < 0 ? err : unc_regs_io_store(io, offset, value);
}

int unc_regs_freeze(struct unc_regs_io *io, bool freeze)
{
	const struct unc_regs_field *field = io->regs->use[UNC_PURPOSE_FREEZE];
	const struct unc_regs_field *frozen = io->regs->use[UNC_PURPOSE_FROZEN];
	uint64_t end = unc_now_ns() + FREEZE_NS, value;
	int err;

	if (!field)
		return 0;
	err = record(io, field->in->offset);
	if (err < 0)
		return err;
	/* Other fields of the register keep their old values; write-only fields have none. */
	value = find_old(io, field->in->offset)->value & ~field->in->write_only & ~field->bits;
	value |= field->in->ones | (freeze ? field->bits : 0);
	err = unc_regs_io_store(io, field->in->offset, value);
	while (err == 0 && freeze && frozen) {
		err = unc_regs_io_load(io, frozen->in->offset, &value);
		if (err < 0 || value & frozen->bits)
			return err;
		if (unc_now_ns() > end)
			return -ETIMEDOUT;
	}
	return err;
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

int unc_regs_prepare(struct unc_regs_io *io, const struct unc_regs_counter *c,
		     const struct unc_config *config, uint64_t *start)
{
	const struct unc_regs *r = io->regs;
	const struct unc_regs_field *enable = r->use[UNC_PURPOSE_ENABLE];
	uint64_t select = config->word[UNC_REGS_SELECT_WORD] | r->select.ones;
	uint64_t filter = config->word[UNC_REGS_FILTER_WORD];
	int err = 0;

	/* Filters are set before the events that they apply to. Without a filter an old one is cleared,
	 * unless another counter has set it. */
	for (size_t i = 0; err == 0 && i < r->control_count; i++) {
		const struct unc_regs_control *f = &r->controls[i];

		if (f->filter >= 0 && (filter || !find_old(io, f->offset)))
			err = unc_regs_write(io, f->offset,
					     (uint32_t)(filter >> (32 * f->filter)) | f->ones);
	}
	*start = (0 - config->word[UNC_REGS_AFTER_WORD]) & (UINT64_MAX >> (64 - c->width));
	if (err == 0)
		err = unc_regs_write(io, c->control, select);
	if (err == 0)
		err = unc_regs_write(io, c->offset, *start);
	if (err == 0 && enable)
		err = unc_regs_write(io, c->control, select | enable->bits);
	return err;
}

int unc_regs_restore(struct unc_regs_io *io, uint64_t *changed)
{
	int first = io->old_count ? unc_regs_io_check(io) : 0;

	if (first < 0) {
		*changed = io->old[0].offset;
		io->old_count = 0;
	}
	if (io->old_count)
		unc_regs_freeze(io, true);
	while (io->old_count) {
		const struct unc_regs_old *old = &io->old[--io->old_count];
		int err = unc_regs_io_store(io, old->offset, old->value);

		if (err < 0 && first == 0) {
			first = err;
			*changed = old->offset;
		}
	}
	free(io->old);
	io->old = NULL;
	return first;
}
