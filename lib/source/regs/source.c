/* SPDX-License-Identifier: MIT */
/* Counters read straight from their registers, as a block's description says. */
#include "source/regs/source.h"
#include "base/clock.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PMUS "sys/bus/event_source/devices"

static struct unc_regs_source *regs_of(struct unc_source *s)
{
	return (struct unc_regs_source *)s; /* base is its first member */
}

/* ---- opening ------------------------------------------------------------------------------- */

/* The kernel's driver would write the same registers. */
static int check_kernel(const struct unc_regs *r, const struct unc_root *root, struct unc_error *e)
{
	struct unc_names names = {0};
	const char *found = NULL;
	int err = r->kernel_pmu ? unc_root_list(root, PMUS, &names) : 0;

	if (err == -ENOMEM)
		return unc_nomem(e);
	if (err < 0 && err != -ENOENT)
		return unc_fail(
			e, -err,
			"%s: whether the kernel's driver in %s counts with the same registers is "
			"not known: /%s: %s; nothing is written",
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

/* Refuses all counters of an instance that are not refused yet. */
static int refuse(struct unc_regs_source *s, struct unc_regs_instance *b, int err, const char *why,
		  struct unc_error *e)
{
	int r = 0;

	b->state = UNC_INSTANCE_ABSENT;
	for (size_t i = b->first; r == 0 && i < b->end; i++) {
		if (s->plan[i].error == 0)
			r = unc_regs_refuse(&s->plan[i], err, why, e);
		s->counters[i].reg = NULL;
	}
	return r;
}

/* Programs the counters of an instance, which is frozen from here on until counting starts. */
static int program(struct unc_regs_source *s, struct unc_regs_instance *b)
{
	int err = 0;

	for (size_t i = b->first; err == 0 && i < b->end; i++) {
		struct unc_open_counter *o = &s->counters[i];

		if (!o->reg || !o->reg->programmable)
			continue;
		if (b->state != UNC_INSTANCE_STOPPED)
			err = unc_regs_freeze(&b->undo, true);
		b->state = UNC_INSTANCE_STOPPED;
		if (err == 0)
			err = unc_regs_prepare(&b->undo, o->reg, &s->plan[i].config, &o->last);
		o->total = o->last;
	}
	return err;
}

/* Takes over an instance that is frozen for each reading. */
static int claim(struct unc_regs_source *s, struct unc_regs_instance *b, struct unc_error *e)
{
	const struct unc_counter *c = &s->plan[b->first];
	const struct unc_regs_field *freeze = s->regs->use[UNC_PURPOSE_FREEZE];
	struct unc_error why = {""};
	int err = 0;

	if (freeze)
		err = unc_regs_io_lock(&b->io, freeze->in->offset);
	if (err == 0)
		err = program(s, b);
	/* A processor with fewer cores has fewer instances: reading their registers fails. */
	if (err == -EIO && !b->undo.count) {
		unc_fail(&why, ENODEV,
			 "%s on CPU %d: its registers cannot be read: there is no such %s",
			 c->pmu->name, c->cpu, s->regs->instance);
		return refuse(s, b, -ENODEV, why.text, e);
	}
	if (err == -EBUSY)
		return unc_fail(e, EBUSY,
				"%s on CPU %d: another process or monitor counts with its "
				"registers, and each would undo what the other writes: end that "
				"one first, or count without --program",
				c->pmu->name, c->cpu);
	return err < 0 ? unc_fail(e, -err, "%s on CPU %d cannot be programmed: %s", c->pmu->name,
				  c->cpu, unc_errno_text(err))
		       : 0;
}

static int open_instance(struct unc_regs_source *s, size_t index, struct unc_error *e)
{
	struct unc_regs_instance *b = &s->instances[index];
	struct unc_error why = {""};
	bool frozen = false;
	int err = unc_regs_io_open(&b->io, s->regs, s->root, &s->plan[b->first], s->write, &why);

	if (err == -ENOMEM)
		return unc_nomem(e);
	if (err < 0)
		return refuse(s, b, err, why.text, e);
	b->undo.io = &b->io;
	b->state = UNC_INSTANCE_COUNTING;
	for (size_t i = b->first; err == 0 && i < b->end; i++)
		err = unc_regs_choose(s, b, i, e);
	if (err == 0 && s->freezes) {
		frozen = unc_regs_is_frozen(&b->io);
		err = claim(s, b, e);
	}
	if (err < 0)
		return err;
	/* A first reading shows which registers are missing. */
	unc_regs_read_instance(s, index);
	if (frozen || b->state == UNC_INSTANCE_FROZEN) {
		s->first_frozen = s->found_frozen++ ? s->first_frozen : index;
		return 0; /* it may be unfrozen at any time */
	}
	for (size_t i = b->first; err == 0 && i < b->end; i++) {
		struct unc_counter *c = &s->plan[i];

		if (c->error || !s->into[i].lost)
			continue;
		unc_fail(&why, ENODEV, "%s/%s/ on CPU %d: %s", c->pmu->name, c->event, c->cpu,
			 s->into[i].why);
		err = unc_regs_refuse(c, -ENODEV, why.text, e);
	}
	return err;
}

static int open_instances(struct unc_regs_source *s, struct unc_error *e)
{
	int err = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct unc_counter *c = &s->plan[i];

		if (i == 0 || c->pmu != c[-1].pmu || c->cpu != c[-1].cpu)
			s->instances[s->instance_count++] =
				(struct unc_regs_instance){.io = {.fd = -1}, .first = i};
		s->instances[s->instance_count - 1].end = i + 1;
		if (s->regs->overflow == UNC_OVERFLOW_FREEZES_ALL &&
		    c->config.word[UNC_REGS_AFTER_WORD])
			s->together = true;
	}
	s->into = s->last;
	for (size_t k = 0; err == 0 && k < s->instance_count; k++)
		err = open_instance(s, k, e);
	unc_regs_unfreeze(s);
	return err;
}

static int add_notes(const struct unc_regs_source *s, struct unc_names *notes, struct unc_error *e)
{
	const struct unc_counter *c = &s->plan[s->instances[s->first_frozen].first];
	char note[400];

	if (!s->write && s->regs->window == UNC_WINDOW_FREEZE &&
	    unc_names_add(notes, "registers are only read without --program: counters are not "
				 "frozen, but read one after another") < 0)
		return unc_nomem(e);
	if (!s->found_frozen)
		return 0;
	/* A program that was killed left it so, and it is left so again. */
	snprintf(note, sizeof(note),
		 "%s on CPU %d (%zu of %zu) was found frozen: another program freezes it, or was "
		 "killed before it was unfrozen; %s",
		 c->pmu->name, c->cpu, s->found_frozen, s->instance_count,
		 s->write ? "it counts while it is read here, and is frozen again afterwards"
			  : "it counts nothing until then");
	return unc_names_add(notes, note) < 0 ? unc_nomem(e) : 0;
}

/* A thread for each CPU, however few instances: readings do not move between CPUs. */
static int start_readers(struct unc_regs_source *s, struct unc_error *e)
{
	int *cpus = calloc(s->instance_count + 1, sizeof(*cpus));
	int r;

	if (!cpus)
		return unc_nomem(e);
	for (size_t k = 0; k < s->instance_count; k++)
		cpus[k] = s->plan[s->instances[k].first].cpu;
	r = unc_readers_new(&s->readers, cpus, s->instance_count, 1, unc_regs_read_instance, s);
	free(cpus);
	return r < 0 ? unc_nomem(e) : 0;
}

static int regs_open(struct unc_source *source, struct unc_counter *counters, size_t count,
		     struct unc_names *notes, struct unc_error *e)
{
	struct unc_regs_source *s = regs_of(source);
	bool can_freeze = s->regs->use[UNC_PURPOSE_FREEZE] || s->regs->use[UNC_PURPOSE_FROZEN];
	int r;

	s->plan = counters;
	s->count = count;
	s->freezes = s->write && s->regs->window == UNC_WINDOW_FREEZE;
	s->watches = can_freeze && !s->freezes;
	s->counters = calloc(count + 1, sizeof(*s->counters));
	s->instances = calloc(count + 1, sizeof(*s->instances));
	s->last = calloc(count + 1, sizeof(*s->last));
	if (!s->counters || !s->instances || !s->last)
		return unc_nomem(e);
	r = s->write ? check_kernel(s->regs, s->root, e) : 0;
	if (r == 0)
		r = open_instances(s, e);
	if (r == 0 && count)
		r = add_notes(s, notes, e);
	for (size_t i = 0; r == 0 && i < count; i++)
		if (counters[i].error == 0)
			return start_readers(s, e);
	if (r == 0 && count)
		r = unc_fail(e, -counters[0].error, "%s", counters[0].why);
	return r;
}

/* ---- counting ------------------------------------------------------------------------------ */

/* Registers count at any time, but programmed ones are frozen: the next reading finds their start values
 * and unfreezes them. */
static int regs_enable(struct unc_source *source, struct unc_error *e)
{
	struct unc_regs_source *s = regs_of(source);

	(void)e;
	s->start_ns = unc_now_ns();
	for (size_t i = 0; i < s->count; i++)
		s->counters[i].read_ns = 0;
	for (size_t k = 0; k < s->instance_count; k++) {
		struct unc_regs_instance *b = &s->instances[k];

		b->frozen_ns = b->enabled_ns = 0;
		if (b->state == UNC_INSTANCE_STOPPED)
			b->state = UNC_INSTANCE_COUNTING;
	}
	return 0;
}

static int regs_read(struct unc_source *source, struct unc_reading *into, uint64_t *now,
		     struct unc_error *e)
{
	struct unc_regs_source *s = regs_of(source);

	(void)e;
	if (s->restored) {
		memcpy(into, s->last, s->count * sizeof(*into));
		*now = s->last_ns;
		return 0;
	}
	s->into = into;
	unc_readers_run(s->readers);
	unc_regs_unfreeze(s);
	*now = unc_now_ns();
	return 0;
}

/* The registers of all instances; the sentence is that of the first failure. */
static int restore(struct unc_regs_source *s, struct unc_error *e)
{
	int first = 0;

	for (size_t k = 0; k < s->instance_count; k++) {
		const struct unc_counter *c = &s->plan[s->instances[k].first];
		uint64_t changed = 0;
		int err = unc_regs_restore(&s->instances[k].undo, &changed);

		if (err < 0 && first == 0)
			first = unc_fail(e, -err,
					 "%s on CPU %d: the register 0x%llx was written and could "
					 "not be put back, and stays changed: %s",
					 c->pmu->name, c->cpu, (unsigned long long)changed,
					 unc_errno_text(err));
	}
	return first;
}

/* Registers are put back here, and not only when closed, so that a failure can be reported. The last
 * reading is taken before that. */
static int regs_disable(struct unc_source *source, struct unc_error *e)
{
	struct unc_regs_source *s = regs_of(source);

	if (!s->write || s->restored)
		return 0;
	regs_read(source, s->last, &s->last_ns, e);
	s->restored = true;
	return restore(s, e);
}

static void regs_close(struct unc_source *source)
{
	struct unc_regs_source *s = regs_of(source);
	struct unc_error unused;

	if (!source)
		return;
	unc_readers_free(s->readers);
	restore(s, &unused);
	for (size_t k = 0; k < s->instance_count; k++)
		unc_regs_io_close(&s->instances[k].io);
	free(s->instances);
	free(s->counters);
	free(s->last);
	free(s);
}

static const struct unc_source_ops regs_ops = {
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
