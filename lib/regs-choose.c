/* SPDX-License-Identifier: MIT */
/* Which of the programmable counters of a box counts an event. */
#include "regs-source.h"

#include <errno.h>

/* Which of the programmable counters may count the event: a bit for each of the first 64. */
static uint64_t allowed_for(const struct unc_regs *r, uint64_t select)
{
	const struct unc_regs_field *event = unc_regs_field(&r->select, UNC_USE_EVENT);
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

int unc_regs_choose(struct unc_regs_source *s, const struct unc_regs_box *b, size_t i,
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
