/* SPDX-License-Identifier: MIT */
/* Counters read straight from their registers, as a block's description says. */
#include "source/regs/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct unc_regs_source *regs_of(struct unc_source *s)
{
	return (struct unc_regs_source *)s; /* base is its first member */
}

/* ---- opening ------------------------------------------------------------------------------- */

/* Frozen from here on until counting starts, when there is something to program. */
static int program_box(struct unc_regs_source *s, struct unc_regs_box *b)
{
	const struct unc_regs_control *control;
	int err = 0;

	if (unc_regs_find_field(s->regs, UNC_PURPOSE_FREEZE, &control))
		err = unc_regs_io_claim(&b->io, control->offset);
	if (err < 0 || !b->programmed)
		return err;
	err = unc_regs_freeze(&b->program, true);
	b->stopped = true;
	for (size_t i = b->first; err == 0 && i < b->end; i++) {
		struct unc_open_counter *reg = &s->counters[i];

		if (!reg->what || !reg->what->programmable)
			continue;
		err = unc_regs_prepare(&b->program, reg->what, &s->plan[i].config, &reg->last);
		reg->total = reg->last;
	}
	return err;
}

static int fail_program(const struct unc_counter *c, int err, struct unc_error *e)
{
	if (err != -EBUSY)
		return unc_fail(e, -err, "%s on CPU %d cannot be programmed: %s", c->pmu->name,
				c->cpu, unc_errno_text(err));
	return unc_fail(
		e, EBUSY,
		"%s on CPU %d: another process or monitor counts with its registers, and each "
		"would undo what the other writes: end that one first, or count without --program",
		c->pmu->name, c->cpu);
}

/* A processor with fewer of its cores has fewer boxes: reading their registers fails. */
static int refuse_box(struct unc_regs_source *s, struct unc_regs_box *b, struct unc_error *e)
{
	const struct unc_counter *c = &s->plan[b->first];
	struct unc_error why = {""};
	int r = 0;

	unc_fail(&why, ENODEV, "%s on CPU %d: its registers cannot be read: there is no such %s",
		 c->pmu->name, c->cpu, s->regs->instance);
	for (size_t i = b->first; r == 0 && i < b->end; i++) {
		if (s->plan[i].error == 0)
			r = unc_regs_refuse(&s->plan[i], -ENODEV, why.text, e);
		s->counters[i].what = NULL;
	}
	b->freezes = b->stopped = false;
	return r;
}

static bool can_freeze(const struct unc_regs *r)
{
	const struct unc_regs_control *control;

	return unc_regs_find_field(r, UNC_PURPOSE_FREEZE, &control) ||
	       unc_regs_find_field(r, UNC_PURPOSE_FROZEN, &control);
}

static int open_box(struct unc_regs_source *s, struct unc_regs_box *b, struct unc_error *e)
{
	const struct unc_counter *c = &s->plan[b->first];
	struct unc_error why = {""};
	int err = unc_regs_io_open(&b->io, s->regs, s->root, c, s->write, &why);
	int r = 0;

	if (err == -ENOMEM)
		return unc_nomem(e);
	b->program.io = &b->io;
	for (size_t i = b->first; r == 0 && i < b->end; i++)
		r = err < 0 ? unc_regs_refuse(&s->plan[i], err, why.text, e)
			    : unc_regs_open_counter(s, b, i, e);
	b->freezes = err == 0 && s->write && s->regs->window == UNC_WINDOW_FREEZE;
	b->watched = err == 0 && !b->freezes && can_freeze(s->regs);
	b->frozen = b->freezes && unc_regs_is_frozen(&b->io);
	if (r == 0 && b->freezes)
		err = program_box(s, b);
	if (r == 0 && b->programmed && err == -EIO && !b->program.count)
		return refuse_box(s, b, e);
	return r == 0 && b->freezes && err < 0 ? fail_program(c, err, e) : r;
}

/* A first reading shows what is not there; its counts are what the first interval begins with. */
static int try_box(struct unc_regs_source *s, size_t index, struct unc_error *e)
{
	struct unc_regs_box *b = &s->boxes[index];
	bool frozen = b->frozen;
	int r = 0;

	unc_regs_read_box(s, index);
	b->frozen = frozen || b->frozen;
	/* What somebody has frozen may be let go any time. */
	for (size_t i = b->first; r == 0 && !b->frozen && i < b->end; i++) {
		struct unc_counter *c = &s->plan[i];
		struct unc_error why = {""};

		if (c->error == 0 && s->into[i].lost) {
			unc_fail(&why, ENODEV, "%s/%s/ on CPU %d: %s", c->pmu->name, c->event,
				 c->cpu, s->into[i].why);
			r = unc_regs_refuse(c, -ENODEV, why.text, e);
		}
	}
	return r;
}

/* What was left so by a reader that was killed is left so again, and that should not go unseen. */
static int note_frozen(const struct unc_regs_source *s, struct unc_names *notes,
		       struct unc_error *e)
{
	const struct unc_regs_box *first = NULL;
	char note[400];
	size_t count = 0;

	for (size_t k = 0; k < s->box_count; k++) {
		if (!s->boxes[k].frozen)
			continue;
		first = first ? first : &s->boxes[k];
		count++;
	}
	if (!first)
		return 0;
	snprintf(
		note, sizeof(note),
		"%s on CPU %d (%zu of %zu) was found frozen: somebody else freezes it, or was killed "
		"before it was let go; %s",
		s->plan[first->first].pmu->name, first->cpu, count, s->box_count,
		s->write ? "it counts while it is read here, and is frozen again afterwards"
			 : "it counts nothing until then");
	return unc_names_add(notes, note) < 0 ? unc_nomem(e) : 0;
}

static int open_boxes(struct unc_regs_source *s, struct unc_error *e)
{
	struct unc_reading *first = calloc(s->count + 1, sizeof(*first));
	int r = 0;

	if (!first)
		return unc_nomem(e);
	s->into = first;
	for (size_t i = 0; r == 0 && i < s->count; i++) {
		struct unc_regs_box *b = &s->boxes[s->box_count];

		if (i == 0 || s->plan[i].pmu != s->plan[i - 1].pmu ||
		    s->plan[i].cpu != s->plan[i - 1].cpu) {
			*b = (struct unc_regs_box){
				.io = {.fd = -1}, .cpu = s->plan[i].cpu, .first = i};
			s->box_count++;
		}
		s->boxes[s->box_count - 1].end = i + 1;
		if (s->regs->overflow_freezes_all && s->plan[i].config.word[UNC_REGS_AFTER_WORD])
			s->together = true;
	}
	for (size_t k = 0; r == 0 && k < s->box_count; k++) {
		r = open_box(s, &s->boxes[k], e);
		if (r == 0 && s->boxes[k].io.fd >= 0)
			r = try_box(s, k, e);
	}
	unc_regs_let_go(s);
	free(first);
	s->into = NULL;
	return r;
}

/* A thread for each CPU, however few items: readings do not move between CPUs. */
static int start_readers(struct unc_regs_source *s, struct unc_error *e)
{
	int *cpus = calloc(s->box_count + 1, sizeof(*cpus));
	int r;

	if (!cpus)
		return unc_nomem(e);
	for (size_t k = 0; k < s->box_count; k++)
		cpus[k] = s->boxes[k].cpu;
	r = unc_readers_new(&s->readers, cpus, s->box_count, 1, unc_regs_read_box, s, e);
	free(cpus);
	return r;
}

static int regs_open(struct unc_source *source, struct unc_counter *counters, size_t count,
		     struct unc_names *notes, struct unc_error *e)
{
	struct unc_regs_source *s = regs_of(source);
	int r;

	s->plan = counters;
	s->count = count;
	s->counters = calloc(count + 1, sizeof(*s->counters));
	s->boxes = calloc(count + 1, sizeof(*s->boxes));
	s->end = calloc(count + 1, sizeof(*s->end));
	if (!s->counters || !s->boxes || !s->end)
		return unc_nomem(e);
	r = s->write ? unc_regs_check_kernel(s->regs, s->root, e) : 0;
	if (r == 0 && !s->write && s->regs->window == UNC_WINDOW_FREEZE &&
	    unc_names_add(notes, "registers are only read without --program: counters are not "
				 "frozen, but read one after another") < 0)
		r = unc_nomem(e);
	if (r == 0)
		r = open_boxes(s, e);
	if (r == 0)
		r = note_frozen(s, notes, e);
	for (size_t i = 0; r == 0 && i < count; i++)
		if (counters[i].error == 0)
			return start_readers(s, e);
	if (r == 0 && count)
		r = unc_fail(e, -counters[0].error, "%s", counters[0].why);
	return r;
}

/* ---- counting ------------------------------------------------------------------------------------ */

/* Registers count whether anybody looks or not, but for those that were programmed: the reading to come
 * finds them as they were set, and lets them go. */
static int regs_enable(struct unc_source *source, struct unc_error *e)
{
	struct unc_regs_source *s = regs_of(source);

	(void)e;
	s->start_ns = unc_regs_now();
	for (size_t i = 0; i < s->count; i++)
		s->counters[i].read_ns = 0; /* what was before the start is no count of anybody's */
	for (size_t k = 0; k < s->box_count; k++) {
		s->boxes[k].frozen_ns = s->boxes[k].enabled_ns = 0;
		s->boxes[k].stopped = false;
	}
	return 0;
}

static int regs_read(struct unc_source *source, struct unc_reading *into, uint64_t *now,
		     struct unc_error *e)
{
	struct unc_regs_source *s = regs_of(source);

	(void)e;
	if (s->ended) {
		memcpy(into, s->end, s->count * sizeof(*into));
		*now = s->end_ns;
		return 0;
	}
	s->into = into;
	unc_readers_run(s->readers);
	unc_regs_let_go(s);
	*now = unc_regs_now();
	return 0;
}

static int restore_box(struct unc_regs_source *s, struct unc_regs_box *b, struct unc_error *e)
{
	const struct unc_counter *c = &s->plan[b->first];
	uint64_t changed = 0;
	int err = b->program.count ? unc_regs_io_check(&b->io) : 0;

	if (err == 0)
		err = unc_regs_restore(&b->program, &changed);
	else
		changed = b->program.saved[0].offset;
	b->freezes = false;
	if (err == 0)
		return 0;
	return unc_fail(e, -err,
			"%s on CPU %d: the register 0x%llx was written and could not be put back, "
			"and stays changed: %s",
			c->pmu->name, c->cpu, (unsigned long long)changed, unc_errno_text(err));
}

/* What was written is put back at once, while there is somebody to tell when it cannot be. The reading
 * of the end is taken before that. */
static int regs_disable(struct unc_source *source, struct unc_error *e)
{
	struct unc_regs_source *s = regs_of(source);
	struct unc_error other;
	int r;

	if (!s->write || s->ended)
		return 0;
	r = regs_read(source, s->end, &s->end_ns, e);
	s->ended = true;
	for (size_t k = 0; k < s->box_count; k++) {
		int err = restore_box(s, &s->boxes[k], r < 0 ? &other : e);

		r = r < 0 ? r : err;
	}
	return r;
}

static void regs_close(struct unc_source *source)
{
	struct unc_regs_source *s = regs_of(source);
	struct unc_error nobody;

	if (!source)
		return;
	unc_readers_free(s->readers);
	for (size_t k = 0; k < s->box_count; k++) {
		restore_box(s, &s->boxes[k], &nobody);
		free(s->boxes[k].program.saved);
		unc_regs_io_close(&s->boxes[k].io);
	}
	free(s->boxes);
	free(s->counters);
	free(s->end);
	free(s);
}

static const struct unc_source_ops regs_ops = {
	.name = "regs",
	.open = regs_open,
	.enable = regs_enable,
	.disable = regs_disable,
	.read = regs_read,
	.close = regs_close,
};

int unc_source_regs_new(struct unc_source **out, const struct unc_regs *regs,
			const struct unc_root *root, bool write)
{
	struct unc_regs_source *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->base.ops = &regs_ops;
	s->regs = regs;
	s->root = root;
	s->write = write;
	*out = &s->base;
	return 0;
}
