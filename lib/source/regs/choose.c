/* SPDX-License-Identifier: MIT */
/* Which counter of a box counts an event, and what is known of it. */
#include "source/regs/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Which of the programmable counters may count the event: a bit for each of the first 64. */
static uint64_t allowed_for(const struct unc_regs *r, uint64_t select)
{
	const struct unc_regs_field *event = unc_regs_field(&r->select, UNC_PURPOSE_EVENT);
	uint64_t code;

	if (!event)
		return 0;
	code = (select & event->bits) >> __builtin_ctzll(event->bits);
	for (size_t i = 0; i < r->only_count; i++)
		if (r->only[i].event == code)
			return r->only[i].counters;
	return UINT64_MAX;
}

/* Finds a counter for the event `i` of the plan. Nothing is programmed yet: one that is taken may be
 * given up by an event that has another to go to. `tried`: a mark for each counter of the block. */
static bool find_place(struct unc_regs_source *s, const struct unc_regs_box *b, size_t i,
		       bool *tried)
{
	const struct unc_regs *r = s->regs;
	uint64_t allowed = allowed_for(r, s->plan[i].config.word[UNC_REGS_SELECT_WORD]);
	size_t number = 0;

	for (size_t k = 0; k < r->count; k++)
		number += r->counters[k].programmable;
	/* From the end: what few counters can count is counted by the first, mostly. */
	for (size_t k = r->count; k-- > 0;) {
		const struct unc_regs_counter *c = &r->counters[k];
		size_t owner = b->first;

		if (!c->programmable)
			continue;
		number--;
		if (tried[k] || (number < 64 ? !(allowed >> number & 1) : allowed != UINT64_MAX))
			continue;
		tried[k] = true;
		while (owner < b->end && s->counters[owner].what != c)
			owner++;
		if (owner < b->end && !find_place(s, b, owner, tried))
			continue;
		s->counters[i].what = c;
		return true;
	}
	return false;
}

/* All counters of an instance share its filters. */
static const struct unc_counter *other_filter(const struct unc_regs_source *s,
					      const struct unc_regs_box *b,
					      const struct unc_counter *c)
{
	uint64_t filter = c->config.word[UNC_REGS_FILTER_WORD];

	for (size_t k = b->first; filter && k < b->end; k++) {
		uint64_t other = s->plan[k].config.word[UNC_REGS_FILTER_WORD];

		if (s->counters[k].what && other && other != filter)
			return &s->plan[k];
	}
	return NULL;
}

static int choose_counter(struct unc_regs_source *s, const struct unc_regs_box *b, size_t i,
			  const struct unc_regs_counter **out, struct unc_error *e)
{
	const struct unc_counter *c = &s->plan[i];
	bool tried[UNC_REGS_COUNTERS] = {false};
	const struct unc_counter *other = other_filter(s, b, c);
	int err = unc_regs_check_select(s->regs, c, e);

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
	if (!find_place(s, b, i, tried))
		return unc_fail(e, EINVAL,
				"%s/%s/: no counter of the %s that can count it is free, and "
				"registers are not time-shared: count less at once",
				c->pmu->name, c->event, s->regs->instance);
	*out = s->counters[i].what;
	return 0;
}

int unc_regs_refuse(struct unc_counter *c, int err, const char *why, struct unc_error *e)
{
	c->error = err;
	c->why = strdup(why);
	return c->why ? 0 : unc_nomem(e);
}

/* The first counter of the box with the register of this one. */
static size_t find_reader(const struct unc_regs_source *s, const struct unc_regs_box *b, size_t i)
{
	size_t k = b->first;

	while (s->counters[k].what != s->counters[i].what)
		k++;
	return k;
}

/* Two who clear a counter by reading it share its counts. */
static int claim_counter(const struct unc_counter *c, const struct unc_regs_io *io,
			 const struct unc_regs_counter *what, struct unc_error *e)
{
	int err = unc_regs_io_claim(io, what->offset);

	if (err == 0 && what->split)
		err = unc_regs_io_claim(io, what->high);
	if (err == 0)
		return 0;
	return unc_fail(e, EBUSY,
			"%s/%s/ on CPU %d: another process or monitor counts with this register, "
			"and each reading takes away what the other would count: end that one "
			"first",
			c->pmu->name, c->event, c->cpu);
}

/* In how much time a register of so many bits may overflow; 0: not known, or none that matters. */
static uint64_t time_to_fill(unsigned width, double most_per_s)
{
	double ns = (double)(UINT64_MAX >> (64 - width)) / UNC_CLOCK_SLACK / most_per_s * 1e9;

	return most_per_s > 0 && ns < 0x1p62 ? (uint64_t)ns + 1 : 0;
}

int unc_regs_open_counter(struct unc_regs_source *s, struct unc_regs_box *b, size_t i,
			  struct unc_error *e)
{
	struct unc_counter *c = &s->plan[i];
	uint64_t number = c->config.word[UNC_REGS_COUNTER_WORD];
	const struct unc_regs_counter *what = NULL;
	struct unc_error why = {""};
	int err = 0;

	if (c->modifiers)
		err = unc_fail(&why, EINVAL,
			       "%s/%s/: a register counts whatever it counts, and has no modifiers",
			       c->pmu->name, c->event);
	else if (!number && s->regs->select.at)
		err = choose_counter(s, b, i, &what, &why);
	else if (!number || number > s->regs->count || s->regs->counters[number - 1].programmable)
		err = unc_fail(&why, EINVAL,
			       "%s/%s/: %s has no such counter; its events name those that there "
			       "are",
			       c->pmu->name, c->event, s->regs->name);
	else
		what = &s->regs->counters[number - 1];
	if (err == 0 && what && s->regs->window == UNC_WINDOW_CLEAR)
		err = claim_counter(c, &b->io, what, &why);
	if (err < 0 || !what)
		return unc_regs_refuse(c, err, why.text, e);
	s->counters[i].what = what;
	s->counters[i].reader = find_reader(s, b, i);
	b->programmed += what->programmable;
	b->adds_up = b->programmed || s->regs->window == UNC_WINDOW_CLEAR;
	c->width = what->programmable || s->regs->window == UNC_WINDOW_CLEAR ? 64 : what->width;
	c->most_per_s = what->most_per_s;
	if (c->width > what->width)
		s->counters[i].full_ns = time_to_fill(what->width, c->most_per_s);
	return 0;
}
