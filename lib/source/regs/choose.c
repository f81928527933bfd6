/* SPDX-License-Identifier: MIT */
/* Which register of an instance counts an event. */
#include "source/regs/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Which of the programmable counters may count the event: a bit for each of the first 64. */
static uint64_t allowed_for(const struct unc_regs *r, uint64_t select)
{
	const struct unc_regs_field *event = r->use[UNC_PURPOSE_EVENT];
	uint64_t code;

	if (!event)
		return 0;
	code = (select & event->bits) >> __builtin_ctzll(event->bits);
	for (size_t i = 0; i < r->only_count; i++)
		if (r->only[i].event == code)
			return r->only[i].counters;
	return UINT64_MAX;
}

/* Assigns a programmable counter to event `i` of the plan. Nothing is programmed yet: one that is taken
 * is given up by an event that can move to another. `tried`: a mark for each counter of the block. */
static bool assign(struct unc_regs_source *s, const struct unc_regs_instance *b, size_t i,
		   bool *tried)
{
	const struct unc_regs *r = s->regs;
	uint64_t allowed = allowed_for(r, s->plan[i].config.word[UNC_REGS_SELECT_WORD]);
	/* From the end: events that few counters can count are counted by the first, mostly. */
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

/* All counters of an instance share its filters: one with another filter, or NULL. */
static const struct unc_counter *other_filter(const struct unc_regs_source *s,
					      const struct unc_regs_instance *b, uint64_t filter)
{
	for (size_t k = b->first; filter && k < b->end; k++) {
		uint64_t other = s->plan[k].config.word[UNC_REGS_FILTER_WORD];

		if (s->counters[k].reg && other && other != filter)
			return &s->plan[k];
	}
	return NULL;
}

/* What is wrong with an event for a programmable counter. */
static int check_select(const struct unc_regs *r, const struct unc_counter *c, struct unc_error *e)
{
	const struct unc_regs_field *edge = r->use[UNC_PURPOSE_EDGE];
	const struct unc_regs_field *threshold = r->use[UNC_PURPOSE_THRESHOLD];
	uint64_t select = c->config.word[UNC_REGS_SELECT_WORD];
	uint64_t after = c->config.word[UNC_REGS_AFTER_WORD];

	if (edge && threshold && (select & edge->bits) && !(select & threshold->bits))
		return unc_fail(e, EINVAL,
				"%s/%s/: '%s' works on what '%s' lets through, which must be at "
				"least 1: add %s=1",
				c->pmu->name, c->event, edge->name, threshold->name,
				threshold->name);
	if (after > UINT64_MAX >> (64 - r->narrowest))
		return unc_fail(e, EINVAL, "%s/%s/: a counter of %u bits cannot count so many",
				c->pmu->name, c->event, r->narrowest);
	if (after && !r->overflow)
		return unc_fail(e, EINVAL, "%s/%s/: a counter that overflows freezes nothing here",
				c->pmu->name, c->event);
	return 0;
}

static int choose_programmable(struct unc_regs_source *s, const struct unc_regs_instance *b,
			       size_t i, struct unc_error *e)
{
	const struct unc_counter *c = &s->plan[i];
	const struct unc_counter *other = other_filter(s, b, c->config.word[UNC_REGS_FILTER_WORD]);
	bool tried[UNC_REGS_COUNTERS] = {false};
	int err = check_select(s->regs, c, e);

	if (err < 0)
		return err;
	if (!s->write)
		return unc_fail(e, EACCES,
				"%s/%s/: registers must be written to count it, and that is done "
				"with --program only",
				c->pmu->name, c->event);
	if (other)
		return unc_fail(e, EINVAL,
				"%s/%s/: the %s has one filter for all its counters, and %s has "
				"another",
				c->pmu->name, c->event, s->regs->instance, other->event);
	if (!assign(s, b, i, tried))
		return unc_fail(e, EINVAL,
				"%s/%s/: no counter of the %s that can count it is free, and "
				"registers are not multiplexed: count fewer events at once",
				c->pmu->name, c->event, s->regs->instance);
	return 0;
}

static int choose(struct unc_regs_source *s, const struct unc_regs_instance *b, size_t i,
		  struct unc_error *e)
{
	const struct unc_counter *c = &s->plan[i];
	uint64_t number = c->config.word[UNC_REGS_COUNTER_WORD];
	const struct unc_regs_counter *reg;

	if (c->modifiers)
		return unc_fail(
			e, EINVAL,
			"%s/%s/: a register counts whatever it counts, and has no modifiers",
			c->pmu->name, c->event);
	if (!number && s->regs->select.at)
		return choose_programmable(s, b, i, e);
	if (!number || number > s->regs->count || s->regs->counters[number - 1].programmable)
		return unc_fail(e, EINVAL,
				"%s/%s/: %s has no such counter; its events name the counters that "
				"it has",
				c->pmu->name, c->event, s->regs->name);
	reg = &s->regs->counters[number - 1];
	/* Two programs that clear a counter by reading it would share its counts. */
	if (s->regs->window == UNC_WINDOW_CLEAR && unc_regs_io_lock(&b->io, reg->offset) < 0)
		return unc_fail(e, EBUSY,
				"%s/%s/ on CPU %d: another process or monitor counts with this "
				"register, and each reading takes away what the other would count: "
				"end that one first",
				c->pmu->name, c->event, c->cpu);
	s->counters[i].reg = reg;
	return 0;
}

/* In how much time a register of so many bits may overflow; 0: not known, or not relevant. */
static uint64_t time_to_fill(unsigned width, double most_per_s)
{
	double ns = (double)(UINT64_MAX >> (64 - width)) / UNC_CLOCK_SLACK / most_per_s * 1e9;

	return most_per_s > 0 && ns < 0x1p62 ? (uint64_t)ns + 1 : 0;
}

int unc_regs_refuse(struct unc_counter *c, int err, const char *why, struct unc_error *e)
{
	c->error = err;
	c->why = strdup(why);
	return c->why ? 0 : unc_nomem(e);
}

int unc_regs_choose(struct unc_regs_source *s, struct unc_regs_instance *b, size_t i,
		    struct unc_error *e)
{
	struct unc_open_counter *o = &s->counters[i];
	struct unc_counter *c = &s->plan[i];
	struct unc_error why = {""};
	int err = choose(s, b, i, &why);

	o->first = i;
	if (err < 0)
		return unc_regs_refuse(c, err, why.text, e);
	for (o->first = b->first; s->counters[o->first].reg != o->reg;)
		o->first++;
	c->most_per_s = o->reg->most_per_s;
	c->width = o->reg->width;
	/* What is added up here has 64 bits, but between two readings the register may overflow. */
	if ((o->reg->programmable || s->regs->window == UNC_WINDOW_CLEAR) && c->width < 64) {
		o->full_ns = time_to_fill(c->width, c->most_per_s);
		c->width = 64;
	}
	return 0;
}
