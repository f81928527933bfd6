/* SPDX-License-Identifier: MIT */
/* The source of register blocks: chooses the register of an event; opens, programs and counts. */
#include "source/regs/regs.h"

#define PMUS "sys/bus/event_source/devices"

static struct unc_regs_source *regs_of(struct unc_source *s)
{
	return (struct unc_regs_source *)s; /* base is its first member */
}

/* ---- the register of an event ---- */

/* Assigns a programmable counter to event `i` of the plan. Nothing is programmed yet, so an event
 * that has a counter may move to another one. `tried` has a mark for each counter of the block. */
static bool assign(struct unc_regs_source *s, const struct unc_regs_instance *b, size_t i,
		   bool *tried)
{
	const struct unc_regs *r = s->regs;
	const struct unc_regs_field *event = r->use[UNC_PURPOSE_EVENT];
	uint64_t code = (s->plan[i].config[UNC_REGS_SELECT_WORD] & event->bits) >>
			__builtin_ctzll(event->bits);
	uint64_t allowed = UINT64_MAX; /* a bit for each of the first 64 programmable counters */

	for (size_t k = r->only_count; k-- > 0;)
		if (r->only[k].event == code)
			allowed = r->only[k].counters;
	/* From the end: if few counters can count an event, these are usually the first ones. */
	for (size_t k = r->count; k-- > 0;) {
		const struct unc_regs_counter *c = &r->counters[k];
		size_t owner = b->first;

		if (!c->programmable || tried[k] ||
		    (c->number < 64 ? !(allowed >> c->number & 1) : allowed != UINT64_MAX))
			continue;
		tried[k] = true;
		while (owner < b->end && s->counters[owner].reg != c)
			owner++;
		if (owner < b->end && !assign(s, b, owner, tried))
			continue;
		s->counters[i].reg = c;
		return true;
	}
	return false;
}

/* The error sentence follows "PMU/EVENT/: ", here and in choose(). */
static int choose_programmable(struct unc_regs_source *s, const struct unc_regs_instance *b,
			       size_t i, struct unc_error *e)
{
	const struct unc_regs *r = s->regs;
	const struct unc_regs_field *edge = r->use[UNC_PURPOSE_EDGE];
	const struct unc_regs_field *threshold = r->use[UNC_PURPOSE_THRESHOLD];
	const uint64_t *config = s->plan[i].config;
	uint64_t select = config[UNC_REGS_SELECT_WORD];
	uint64_t filter = config[UNC_REGS_FILTER_WORD];
	uint64_t after = config[UNC_REGS_AFTER_WORD];
	uint64_t terms = 0, filters = 0;
	bool tried[UNC_REGS_COUNTERS] = {false};

	if (edge && threshold && (select & edge->bits) && !(select & threshold->bits))
		return unc_fail(e, EINVAL, "'%s' needs '%s' of at least 1: add %s=1", edge->name,
				threshold->name, threshold->name);
	/* config= and config1= can set any bit, also bits that no term has. */
	for (const struct unc_regs_field *f = r->select.fields;
	     f < r->select.fields + r->select.count; f++)
		terms |= f->access == UNC_ACCESS_RW && f->purpose != UNC_PURPOSE_ENABLE ? f->bits
											: 0;
	for (size_t k = 0; k < r->control_count; k++)
		for (size_t n = 0; r->controls[k].filter >= 0 && n < r->controls[k].count; n++)
			if (r->controls[k].fields[n].purpose == UNC_PURPOSE_FILTER)
				filters |= r->controls[k].fields[n].bits
					   << 32 * r->controls[k].filter;
	if (select & ~terms || filter & ~filters)
		return unc_fail(e, EINVAL,
				"the bits 0x%llx of %s are reserved, or not those of an event: "
				"nothing is written",
				(unsigned long long)(select & ~terms ? select & ~terms
								     : filter & ~filters),
				select & ~terms ? "config" : "config1");
	if (after > UINT64_MAX >> (64 - r->narrowest))
		return unc_fail(e, EINVAL, "a counter of %u bits cannot count so many",
				r->narrowest);
	if (after && !r->overflow)
		return unc_fail(e, EINVAL, "a counter that overflows freezes nothing here");
	if (!s->base.write)
		return unc_fail(e, EACCES,
				"registers must be written to count it, and that is done with "
				"--program only");
	/* All counters of an instance share its filters. */
	for (size_t k = b->first; filter && k < b->end; k++) {
		uint64_t other = s->plan[k].config[UNC_REGS_FILTER_WORD];

		if (s->counters[k].reg && other && other != filter)
			return unc_fail(e, EINVAL,
					"the %s has one filter for all its counters, and %s has "
					"another",
					r->instance, s->plan[k].event);
	}
	if (!assign(s, b, i, tried))
		return unc_fail(e, EINVAL,
				"no counter of the %s that can count it is free, and registers are "
				"not multiplexed: count fewer events at once",
				r->instance);
	return 0;
}

static int choose(struct unc_regs_source *s, const struct unc_regs_instance *b, size_t i,
		  struct unc_error *e)
{
	const struct uncore_counter *c = &s->plan[i];
	uint64_t number = c->config[UNC_REGS_COUNTER_WORD], threshold = 0;
	const struct unc_regs_counter *reg;

	if (c->modifiers)
		return unc_fail(e, EINVAL, "counters in registers have no modifiers");
	if (s->regs->window == UNC_WINDOW_SNAPSHOT && !s->base.write)
		return unc_fail(e, EACCES,
				"a register must be written to latch its count, and that is done "
				"with --program only");
	if (!number && s->regs->select.at)
		return choose_programmable(s, b, i, e);
	if (!number || number > s->regs->count || s->regs->counters[number - 1].programmable)
		return unc_fail(e, EINVAL,
				"%s has no such counter; its events name the counters that it has",
				s->regs->name);
	reg = &s->regs->counters[number - 1];
	if (reg->role == UNC_ROLE_BIN && s->regs->bins_refused.text[0])
		return unc_fail(e, ENODEV, "%s", s->regs->bins_refused.text);
	for (size_t k = 1; reg->role == UNC_ROLE_BIN && s->regs->bounds_written && !s->base.write &&
			   k < s->regs->histogram.count;
	     k++)
		if (unc_regs_io_load(&b->io, unc_regs_threshold(s->regs, k), &threshold) < 0 ||
		    (double)threshold != s->regs->histogram.lower[k])
			return unc_fail(e, EACCES,
					"the threshold of bin %zu is %llu and not %llu: it is "
					"written with --program only",
					k, (unsigned long long)threshold,
					(unsigned long long)s->regs->histogram.lower[k]);
	/* If two programs cleared a counter by reading it, each would get a part of its counts. */
	if (s->regs->window == UNC_WINDOW_CLEAR && unc_regs_io_lock(&b->io, reg->offset) < 0)
		return unc_fail(
			e, EBUSY,
			"another process or monitor counts with this register on CPU %d, and "
			"each reading takes away what the other would count: end that one "
			"first",
			c->cpu);
	s->counters[i].reg = reg;
	return 0;
}

/* Chooses the register of counter `i` of the plan, before its instance is programmed. Earlier
 * counters may move to another register. Without a register the counter is refused. */
static int open_counter(struct unc_regs_source *s, const struct unc_regs_instance *b, size_t i,
			struct unc_error *e)
{
	struct unc_open_counter *o = &s->counters[i];
	struct uncore_counter *c = &s->plan[i];
	struct unc_error why = {0}, event = {0};
	int err = choose(s, b, i, &why);
	double ns;

	o->first = i;
	if (err < 0) {
		unc_fail(&event, -err, "%s/%s/: %s", c->pmu->name, c->event, why.text);
		return unc_counter_refuse(c, err, event.text, e);
	}
	for (o->first = b->first; s->counters[o->first].reg != o->reg;)
		o->first++;
	c->most_per_s = o->reg->most_per_s;
	c->width = o->reg->width;
	/* The total has 64 bits, but the register may overflow between two readings. */
	if ((o->reg->programmable || s->adds_up) && c->width < 64) {
		ns = (double)(UINT64_MAX >> (64 - c->width)) / UNC_CLOCK_SLACK / c->most_per_s *
		     1e9;
		o->full_ns = c->most_per_s > 0 && ns < 0x1p62 ? (uint64_t)ns + 1 : 0;
		c->width = 64;
	}
	return 0;
}

/* ---- opening ---- */

/* Refuses if the kernel's driver writes the same registers. */
static int refuse_if_kernel_drives(const struct unc_regs *r, const struct unc_root *root,
				   struct unc_error *e)
{
	struct unc_names names = {0};
	int err = r->kernel_pmu ? unc_root_list(root, PMUS, &names) : 0;

	if (err == -ENOMEM)
		return unc_nomem(e);
	if (err < 0 && err != -ENOENT)
		return unc_fail(
			e, -err,
			"%s: whether the kernel's driver in %s counts with the same registers is "
			"not known: /%s: %s; nothing is written",
			r->name, r->kernel_module, PMUS, unc_errno_text(err));
	err = 0;
	for (size_t i = 0; err == 0 && i < names.count; i++)
		if (unc_pmu_name_matches(names.items[i], r->kernel_pmu))
			err = unc_fail(e, EBUSY,
				       "%s: the kernel's driver in %s counts with the same "
				       "registers (%s is there), and each would undo what the "
				       "other writes: use it, without --source, or remove it "
				       "(rmmod %s)",
				       r->name, r->kernel_module, names.items[i], r->kernel_module);
	unc_names_finish(&names);
	return err;
}

/* Refuses all counters of an instance that are not refused yet. */
static int refuse_instance(struct unc_regs_source *s, struct unc_regs_instance *b, int err,
			   const char *why, struct unc_error *e)
{
	int r = 0;

	b->state = UNC_INSTANCE_ABSENT;
	for (size_t i = b->first; r == 0 && i < b->end; i++) {
		if (s->plan[i].error == 0)
			r = unc_counter_refuse(&s->plan[i], err, why, e);
		s->counters[i].reg = NULL;
	}
	return r;
}

/* Opens an instance, chooses its registers, and claims registers that will be written. Does not
 * write yet. */
static int open_instance(struct unc_regs_source *s, struct unc_regs_instance *b,
			 struct unc_error *e)
{
	const struct uncore_counter *c = &s->plan[b->first];
	struct unc_error why = {0};
	int err = unc_regs_io_open(&b->io, s->regs, s->base.root, c, s->base.write, &why);

	if (err == -ENOMEM)
		return unc_nomem(e);
	if (err < 0)
		return refuse_instance(s, b, err, why.text, e);
	for (size_t i = b->first; err == 0 && i < b->end; i++)
		err = open_counter(s, b, i, e);
	for (size_t i = b->first; i < b->end; i++) {
		const struct unc_regs_counter *reg = s->counters[i].reg;

		if (reg && b->state != UNC_INSTANCE_STOPPED)
			b->state = reg->programmable ? UNC_INSTANCE_STOPPED : UNC_INSTANCE_COUNTING;
	}
	if (err < 0 || !s->base.write || b->state == UNC_INSTANCE_ABSENT ||
	    !(s->freezes || s->regs->bounds_written))
		return err;
	err = unc_regs_claim(&b->io, b->state == UNC_INSTANCE_STOPPED);
	/* A processor with fewer cores has fewer instances: reading the registers of a missing one
	 * fails. */
	if (err == -EIO && !b->io.old_count) {
		unc_fail(&why, ENODEV,
			 "%s on CPU %d: its registers cannot be read: there is no such %s",
			 c->pmu->name, c->cpu, s->regs->instance);
		return refuse_instance(s, b, -ENODEV, why.text, e);
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

/* Programs an instance and reads it. The instance is frozen from here on until counting starts. */
static int begin_instance(struct unc_regs_source *s, size_t index, struct unc_error *e)
{
	struct unc_regs_instance *b = &s->instances[index];
	const struct uncore_counter *first = &s->plan[b->first];
	bool program = b->state == UNC_INSTANCE_STOPPED;
	bool frozen = s->freezes && unc_regs_is_frozen(&b->io);
	struct unc_error why = {0};
	const struct unc_regs *r = s->regs;
	int err = program ? unc_regs_begin(&b->io) : 0;

	for (size_t k = 1; err == 0 && s->base.write && r->bounds_written && k < r->histogram.count;
	     k++)
		err = unc_regs_write(&b->io, unc_regs_threshold(r, k),
				     (uint64_t)r->histogram.lower[k]);
	for (size_t i = b->first; err == 0 && program && i < b->end; i++) {
		struct unc_open_counter *o = &s->counters[i];

		if (!o->reg || !o->reg->programmable)
			continue;
		err = unc_regs_prepare(&b->io, o->reg, s->plan[i].config, &o->last);
		o->total = o->last;
	}
	if (err == -ETIMEDOUT) {
		unc_fail(&why, ETIMEDOUT,
			 "%s on CPU %d: it was asked to freeze or to reset, and its registers did "
			 "not confirm that within 100 ms: it is not counted",
			 first->pmu->name, first->cpu);
		return refuse_instance(s, b, err, why.text, e);
	}
	if (err < 0)
		return unc_fail(e, -err, "%s on CPU %d cannot be programmed: %s", first->pmu->name,
				first->cpu, unc_errno_text(err));
	/* A first reading shows which registers are missing. */
	unc_regs_read_instance(s, index);
	if (b->unconfirmed)
		return 0; /* the next reading may be confirmed */
	if (frozen || b->state == UNC_INSTANCE_FROZEN) {
		s->first_frozen = s->found_frozen++ ? s->first_frozen : index;
		return 0; /* another program may unfreeze it at any time */
	}
	for (size_t i = b->first; err == 0 && i < b->end; i++) {
		struct uncore_counter *c = &s->plan[i];

		if (c->error || !s->into[i].lost)
			continue;
		unc_fail(&why, ENODEV, "%s/%s/ on CPU %d: %s", c->pmu->name, c->event, c->cpu,
			 s->into[i].why);
		err = unc_counter_refuse(c, -ENODEV, why.text, e);
	}
	return err;
}

static int add_notes(const struct unc_regs_source *s, struct unc_names *notes, struct unc_error *e)
{
	const struct uncore_counter *c = &s->plan[s->instances[s->first_frozen].first];
	char note[400];

	if (!s->base.write && s->regs->window != UNC_WINDOW_FREE &&
	    s->regs->window != UNC_WINDOW_CLEAR &&
	    unc_names_add(notes, "registers are only read without --program: counters are not "
				 "frozen, but read one after another") < 0)
		return unc_nomem(e);
	if (!s->found_frozen)
		return 0;
	/* A program that was killed may have left it frozen. It is left frozen again. */
	snprintf(note, sizeof(note),
		 "%s on CPU %d (%zu of %zu) was found frozen: another program freezes it, or was "
		 "killed before it was unfrozen; %s",
		 c->pmu->name, c->cpu, s->found_frozen, s->instance_count,
		 s->base.write ? "it counts while it is read here, and is frozen again afterwards"
			       : "it counts nothing until then");
	return unc_names_add(notes, note) < 0 ? unc_nomem(e) : 0;
}

/* Orders the instances of a device so that triggers come first. They are frozen first for a reading
 * and unfrozen last, so that a trigger does not freeze an instance that is being unfrozen. */
static void order_instances(struct unc_regs_source *s)
{
	for (size_t k = 0; s->regs->overflow == UNC_OVERFLOW_FREEZES_ALL && k < s->instance_count;
	     k++) {
		struct unc_regs_instance trigger = s->instances[k];

		if (!trigger.trigger)
			continue;
		s->together = true;
		for (size_t to = k; to > 0 && !s->instances[to - 1].trigger &&
				    unc_regs_same_device(s, &s->instances[to - 1], &trigger);
		     to--) {
			s->instances[to] = s->instances[to - 1];
			s->instances[to - 1] = trigger;
		}
	}
}

static int regs_open(struct unc_source *source, struct uncore_counter *counters, size_t count,
		     struct unc_names *notes, struct unc_error *e)
{
	struct unc_regs_source *s = regs_of(source);
	int *cpus, err;

	s->regs = source->regs;
	s->plan = counters;
	s->count = count;
	s->freezes = s->base.write && s->regs->window != UNC_WINDOW_FREE &&
		     s->regs->window != UNC_WINDOW_CLEAR;
	s->adds_up = s->regs->window == UNC_WINDOW_CLEAR ||
		     (s->freezes && s->regs->window == UNC_WINDOW_WRITE_CLEAR);
	s->counters = calloc(count + 1, sizeof(*s->counters));
	s->instances = calloc(count + 1, sizeof(*s->instances));
	s->into = s->last = calloc(count + 1, sizeof(*s->last));
	cpus = calloc(count + 1, sizeof(*cpus));
	err = s->counters && s->instances && s->last && cpus ? 0 : unc_nomem(e);
	if (err == 0 && s->base.write)
		err = refuse_if_kernel_drives(s->regs, s->base.root, e);
	for (size_t i = 0; err == 0 && i < count; i++) {
		const struct uncore_counter *c = &counters[i];

		if (i == 0 || c->pmu != c[-1].pmu || c->cpu != c[-1].cpu) {
			cpus[s->instance_count] = c->cpu;
			s->instances[s->instance_count++] =
				(struct unc_regs_instance){.io = {.fd = -1}, .first = i};
		}
		s->instances[s->instance_count - 1].end = i + 1;
		if (c->config[UNC_REGS_AFTER_WORD])
			s->instances[s->instance_count - 1].trigger = true;
	}
	order_instances(s);
	/* Nothing is written until everything is checked. */
	for (size_t k = 0; err == 0 && k < s->instance_count; k++)
		err = open_instance(s, &s->instances[k], e);
	for (size_t k = 0; err == 0 && k < s->instance_count; k++)
		if (s->instances[k].state != UNC_INSTANCE_ABSENT)
			err = begin_instance(s, k, e);
	unc_regs_unfreeze(s);
	if (err == 0 && count)
		err = add_notes(s, notes, e);
	/* Each CPU has a thread, even for one instance, so that readings do not move between
	 * CPUs. */
	if (err == 0 && count &&
	    unc_readers_new(&s->readers, cpus, s->instance_count, 1, unc_regs_read_instance, s) < 0)
		err = unc_nomem(e);
	free(cpus);
	return err;
}

/* ---- counting ---- */

/* Starts counting. Registers that are not programmed always count. Programmed ones are frozen: the
 * first reading finds their start values and unfreezes them. */
static int regs_enable(struct unc_source *source, struct unc_error *e)
{
	struct unc_regs_source *s = regs_of(source);

	(void)e;
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

static int regs_read(struct unc_source *source, struct uncore_reading *into, uint64_t *now,
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

/* Restores the registers of all instances. The sentence is that of the first failure. */
static int restore(struct unc_regs_source *s, struct unc_error *e)
{
	int first = 0;

	for (size_t k = 0; k < s->instance_count; k++) {
		const struct uncore_counter *c = &s->plan[s->instances[k].first];
		uint64_t changed = 0;
		int err = unc_regs_restore(&s->instances[k].io, &changed);

		if (err < 0 && first == 0)
			first = unc_fail(e, -err,
					 "%s on CPU %d: the register 0x%llx was written and could "
					 "not be put back, and stays changed: %s",
					 c->pmu->name, c->cpu, (unsigned long long)changed,
					 unc_errno_text(err));
	}
	return first;
}

/* Restores registers here, and not only at close, so that a failure can be reported. The last
 * reading is taken before that. */
static int regs_disable(struct unc_source *source, struct unc_error *e)
{
	struct unc_regs_source *s = regs_of(source);

	if (!s->base.write || s->restored)
		return 0;
	regs_read(source, s->last, &s->last_ns, e);
	s->restored = true;
	return restore(s, e);
}

static void regs_close(struct unc_source *source)
{
	struct unc_regs_source *s = regs_of(source);
	struct unc_error unused;

	unc_readers_free(s->readers);
	restore(s, &unused);
	for (size_t k = 0; k < s->instance_count; k++)
		unc_regs_io_close(&s->instances[k].io);
	free(s->instances);
	free(s->counters);
	free(s->last);
	free(s);
}

const struct unc_source_ops unc_source_regs = {
	.size = sizeof(struct unc_regs_source),
	.open = regs_open,
	.enable = regs_enable,
	.disable = regs_disable,
	.read = regs_read,
	.close = regs_close,
};
