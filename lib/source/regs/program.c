/* SPDX-License-Identifier: MIT */
/* Writing registers, with an undo log: the old value of each is recorded at its first write, and all are put
 * back in reverse order. */
#include "base/text.h"
#include "source/regs/source.h"

#include <errno.h>
#include <stdlib.h>

/* Any hardware freezes within a few cycles of its clock; a simulated device may have to wait for a CPU. */
#define FREEZE_NS 100000000

static struct unc_regs_saved *find_saved(const struct unc_regs_io *io, uint64_t offset)
{
	for (size_t i = 0; i < io->old_count; i++)
		if (io->old[i].offset == offset)
			return &io->old[i];
	return NULL;
}

static int save_old_value(struct unc_regs_io *io, uint64_t offset)
{
	const struct unc_regs *r = io->regs;
	struct unc_regs_saved *old;
	uint64_t value = 0;
	int err;

	if (find_saved(io, offset))
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
			value = (value & ~r->controls[i].read_only) | r->controls[i].ones;
	*old = (struct unc_regs_saved){.offset = offset, .value = value};
	return 0;
}

int unc_regs_write(struct unc_regs_io *io, uint64_t offset, uint64_t value)
{
	int err = save_old_value(io, offset);

	if (err < 0)
		return err;
	find_saved(io, offset)->written = true;
	return unc_regs_io_store(io, offset, value);
}

#define USE(purpose) (1u << UNC_PURPOSE_##purpose)
#define USES_OF_READING (USE(FREEZE) | USE(LATCH) | USE(CLEAR) | USE(RESET))

/* The bits of a register's fields that have one of these uses. */
static uint64_t bits_of(const struct unc_regs_control *c, unsigned uses)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < c->count; i++)
		if (uses >> c->fields[i].purpose & 1)
			bits |= c->fields[i].bits;
	return bits;
}

int unc_regs_claim(struct unc_regs_io *io, bool program)
{
	const struct unc_regs *r = io->regs;
	int err = 0;

	for (size_t i = 0; err == 0 && i < r->control_count; i++)
		if (bits_of(&r->controls[i], USES_OF_READING | (program ? USE(FILTER) : 0)))
			err = save_old_value(io, r->controls[i].offset);
	for (size_t k = 1; err == 0 && r->bounds_written && k < r->histogram.count; k++)
		err = save_old_value(io, unc_regs_threshold(r, k));
	for (size_t i = 0; err == 0 && program && i < r->count; i++) {
		const struct unc_regs_counter *c = &r->counters[i];

		if (c->programmable)
			err = save_old_value(io, c->control);
		if (c->programmable && err == 0)
			err = save_old_value(io, c->offset);
	}
	return err;
}

/* Waits until these bits are 1, or until they are 0 again. */
static int confirm(struct unc_regs_io *io, const struct unc_regs_field *f, bool one)
{
	uint64_t end = unc_now_ns() + FREEZE_NS, value = 0;
	int err;

	do {
		err = unc_regs_io_load(io, f->in->offset, &value);
		if (err < 0 || !(value & f->bits) == !one)
			return err;
	} while (unc_now_ns() <= end);
	return -ETIMEDOUT;
}

/* Sets the fields with these uses to 1, and others of them to 0. Other fields of their registers keep their
 * old values; write-only fields have none. */
static int set(struct unc_regs_io *io, unsigned uses)
{
	static const struct {
		enum unc_field_purpose set, status;
		bool one;
	} status[] = {
		{UNC_PURPOSE_FREEZE, UNC_PURPOSE_FROZEN, true},
		{UNC_PURPOSE_LATCH, UNC_PURPOSE_LATCHED, true},
		/* The hardware sets it back when that is done, unless it cannot be read. */
		{UNC_PURPOSE_CLEAR, UNC_PURPOSE_CLEAR, false},
		{UNC_PURPOSE_RESET, UNC_PURPOSE_RESET, false},
	};
	const struct unc_regs *r = io->regs;
	unsigned changed = io->set ^ uses;
	int err = 0;

	io->set = uses;
	for (size_t i = 0; err == 0 && i < r->control_count; i++) {
		const struct unc_regs_control *c = &r->controls[i];
		uint64_t value;

		if (!bits_of(c, changed))
			continue;
		err = save_old_value(io, c->offset);
		if (err < 0)
			break;
		value = find_saved(io, c->offset)->value & ~c->write_only;
		value = (value & ~bits_of(c, USES_OF_READING)) | bits_of(c, uses) | c->ones;
		err = unc_regs_write(io, c->offset, value);
	}
	for (size_t i = 0; err == 0 && i < sizeof(status) / sizeof(*status); i++) {
		const struct unc_regs_field *f = r->use[status[i].status];

		if (f && changed & uses & 1u << status[i].set && f->access != UNC_ACCESS_WO)
			err = confirm(io, f, status[i].one);
	}
	return err;
}

int unc_regs_hold(struct unc_regs_io *io)
{
	return set(io, io->regs->window == UNC_WINDOW_SNAPSHOT ? USE(LATCH) : USE(FREEZE));
}

int unc_regs_release(struct unc_regs_io *io, bool clear)
{
	bool clears = clear && io->regs->window == UNC_WINDOW_WRITE_CLEAR;
	int err = clears ? set(io, USE(FREEZE) | USE(CLEAR)) : 0, last = set(io, 0);

	return err < 0 ? err : last;
}

int unc_regs_begin(struct unc_regs_io *io)
{
	const struct unc_regs *r = io->regs;
	int err = set(io, USE(FREEZE));

	if (err < 0 || !(r->use[UNC_PURPOSE_CLEAR] || r->use[UNC_PURPOSE_RESET]))
		return err;
	for (size_t i = 0; i < r->count; i++) {
		const struct unc_regs_counter *c = &r->counters[i];

		if (c->programmable)
			find_saved(io, c->offset)->written = find_saved(io, c->control)->written =
				true;
	}
	err = set(io, USE(FREEZE) | USE(CLEAR) | USE(RESET));
	return err < 0 ? err : set(io, USE(FREEZE));
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

		if (f->filter >= 0 && (filter || !find_saved(io, f->offset)->written))
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
	int first = 0;
	bool written = false;

	for (size_t i = io->old_count; i-- > 0;) {
		written = written || io->old[i].written;
		*changed = io->old[i].written ? io->old[i].offset : *changed;
	}
	if (written)
		first = unc_regs_io_check(io);
	if (first < 0)
		io->old_count = 0;
	if (written && first == 0)
		set(io, USE(FREEZE));
	while (io->old_count) {
		const struct unc_regs_saved *old = &io->old[--io->old_count];
		int err = old->written ? unc_regs_io_store(io, old->offset, old->value) : 0;

		if (err < 0 && first == 0) {
			first = err;
			*changed = old->offset;
		}
	}
	free(io->old);
	io->old = NULL;
	io->set = 0;
	return first;
}
