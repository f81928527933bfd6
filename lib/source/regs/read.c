/* SPDX-License-Identifier: MIT */
/* Reads registers: one counter, and all counters of an instance at one moment. */
#include "source/regs/regs.h"

/* A program that freezes a block to read it unfreezes it within this time. */
#define FROZEN_NS 200000

/* A counter that has reached its number of events (after=) and changes within this time was not
 * frozen by that: it runs on. */
#define RUNS_ON_NS 20000000
/* A counter also runs on if it exceeds its number of events by more than this plus a tenth of the
 * number. Some excess is normal: the counter counts a few more cycles until its block is frozen. */
#define FREEZE_EVENTS 10000

/* How often the halves of a counter are read again before its reading fails. Hardware leaves time
 * for many readings between two carries of 32 bits. */
#define MOST_TRIES 1000

static const char why_torn[] = "its halves changed during each reading";
static const char why_overflowed[] =
	"a counter of its instance overflowed, and that froze all of them: read more "
	"often (-I)";
static const char why_frozen[] =
	"its block is frozen by another program: nothing is counted; with --program it is unfrozen "
	"while it is read";
static const char why_stopped[] =
	"its counters are frozen: one of them, or of an instance that freezes this one, has "
	"reached its number of events (after=)";
static const char why_unconfirmed[] =
	"its block was asked to freeze or to latch its counters, and its status did not confirm "
	"that within 100 ms: they were not read";
static const char why_uncleared[] =
	"its counters were to be cleared, and the block did not confirm that: they may have counts "
	"that were read before; they are cleared again";
static const char why_runs_on[] =
	"a counter has reached its number of events (after=), and that did not freeze its block: "
	"it counted on until it was read";
static const char why_gone[] =
	"its registers read as all ones: the device is gone, or switched off";

/* ---- one counter ---- */

static uint64_t all_ones(unsigned bits)
{
	return UINT64_MAX >> (64 - bits);
}

/* Reads one counter. A device that is gone reads as all ones. A counter that uses all bits of its
 * register may have this value, too: it is then returned with a `why`, and becomes valid if another
 * register of the instance has another value (`answers`). */
static struct uncore_reading read_counter(const struct unc_regs_io *io,
					  const struct unc_regs_counter *c, bool *answers)
{
	unsigned bits = c->split ? 64 : io->regs->bytes * 8;
	uint64_t raw = 0, low = 0, before;
	const char *why = NULL;
	int err, tries = 0;

	if (c->split) {
		err = unc_regs_io_load(io, c->high, &raw);
		/* If the high half was the same before and after, it belongs to the low half. */
		do {
			before = raw;
			if (err == 0)
				err = unc_regs_io_load(io, c->offset, &low);
			if (err == 0)
				err = unc_regs_io_load(io, c->high, &raw);
		} while (err == 0 && raw != before && ++tries < MOST_TRIES);
		why = raw != before ? why_torn : NULL;
		raw = raw << 32 | low;
	} else if (io->regs->window == UNC_WINDOW_CLEAR) {
		err = unc_regs_io_load_clear(io, c->offset, &raw);
	} else {
		err = unc_regs_io_load(io, c->offset, &raw);
	}
	if (err < 0)
		why = unc_errno_text(err);
	if (!why && raw == all_ones(bits) && bits < 64 && c->width == bits)
		return (struct uncore_reading){.raw = raw, .why = why_gone};
	if (!why && raw == all_ones(bits))
		why = why_gone;
	*answers = *answers || !why;
	return (struct uncore_reading){
		.raw = why ? 0 : raw & all_ones(c->width), .lost = why, .why = why};
}

/* ---- adding up ---- */

/* Adds the reading of a programmed counter to its total. A wrap of such a counter means that it has
 * reached its requested number of events, or an overflow that has frozen the instance. A decrease
 * that is too large for a wrap (the counter would have to be faster) means that another program has
 * set the counter. The total then decreases, too, which is reported there. A counter that has
 * reached half its range is set to 0. */
static void add_programmed(struct unc_regs_source *s, struct unc_regs_instance *b, size_t i)
{
	struct unc_open_counter *o = &s->counters[i];
	const struct unc_regs_counter *c = o->reg;
	uint64_t after = s->plan[i].config[UNC_REGS_AFTER_WORD];
	uint64_t raw = s->into[i].raw, step = (raw - o->last) & all_ones(c->width);
	double most = c->most_per_s > 0 ? c->most_per_s : UNC_MOST_PER_S;
	double seconds = (double)(unc_now_ns() - o->read_ns) / 1e9;
	bool set_back = raw < o->last && (double)step > most * seconds * UNC_CLOCK_SLACK + 1;
	bool overflowed = raw < o->last && !set_back && s->regs->overflow;

	o->total += set_back ? raw - o->last : step;
	o->last = raw;
	s->into[i].raw = o->total;
	if (overflowed && after) {
		b->state = UNC_INSTANCE_STOPPED;
		b->runs_on = b->runs_on || raw > FREEZE_EVENTS + after / 10;
	} else if (overflowed) {
		s->into[i] = (struct uncore_reading){.lost = true, .why = why_overflowed};
	}
	if (raw >> (c->width - 1) && !after && unc_regs_write(&b->io, c->offset, 0) == 0)
		o->last = 0;
}

/* Reads each register once, since two groups may share an event. Counts are added up after all
 * registers have been read and are known to be valid. */
static void read_counters(struct unc_regs_source *s, struct unc_regs_instance *b)
{
	bool answers = false;

	for (size_t i = b->first; i < b->end; i++) {
		const struct unc_open_counter *o = &s->counters[i];

		if (!o->reg)
			s->into[i] = (struct uncore_reading){.lost = true, .why = why_gone};
		else if (o->first == i)
			s->into[i] = read_counter(&b->io, o->reg, &answers);
	}
	for (size_t i = b->first; i < b->end; i++) {
		struct unc_open_counter *o = &s->counters[i];
		struct uncore_reading *r = &s->into[i];

		if (o->first != i)
			*r = s->into[o->first];
		if (r->lost || o->first != i)
			continue;
		if (r->why && !answers) {
			*r = (struct uncore_reading){.lost = true, .why = r->why};
			continue;
		}
		r->why = NULL;
		if (s->adds_up)
			r->raw = o->total += r->raw;
		else if (o->reg->programmable)
			add_programmed(s, b, i);
	}
}

/* ---- one reading ---- */

/* Completes the reading of an instance and unfreezes it. An instance that has `stopped` did so at
 * an unknown time since the previous reading. An interval begins when the instance is unfrozen and
 * ends when it is frozen: the reading includes the uncertainty of both. */
static void finish_reading(struct unc_regs_source *s, struct unc_regs_instance *b, bool stopped,
			   bool runs_on)
{
	uint64_t before = unc_now_ns(), took;

	if (stopped) {
		b->state = UNC_INSTANCE_STOPPED;
		b->uncertain_ns += b->interval_ns;
	} else if (b->state == UNC_INSTANCE_HELD) {
		bool clear = b->good || b->uncleared;

		b->state = UNC_INSTANCE_COUNTING;
		b->uncleared = unc_regs_release(&b->io, clear) < 0 && clear && s->adds_up;
		took = s->regs->window == UNC_WINDOW_SNAPSHOT ? 0 : unc_now_ns() - before;
		if (took)
			b->frozen_ns += before + took / 2 - b->at_ns;
		if ((took + 1) / 2 > b->uncertain_ns)
			b->uncertain_ns = (took + 1) / 2;
	}
	for (size_t i = b->first; i < b->end; i++) {
		if (runs_on)
			s->into[i] = (struct uncore_reading){.lost = true, .why = why_runs_on};
		s->into[i].enabled_ns = s->into[i].running_ns = b->enabled_ns;
		s->into[i].uncertain_ns = b->uncertain_ns;
	}
}

bool unc_regs_same_device(const struct unc_regs_source *s, const struct unc_regs_instance *a,
			  const struct unc_regs_instance *b)
{
	const struct uncore_counter *x = &s->plan[a->first], *y = &s->plan[b->first];

	return x->cpu == y->cpu &&
	       x->pmu->unit / s->regs->instances == y->pmu->unit / s->regs->instances;
}

/* The first of the instance's triggers, from *i on, that has reached its number of events since the
 * reading; false: none. */
static bool next_triggered(const struct unc_regs_source *s, const struct unc_regs_instance *b,
			   size_t *i, uint64_t *raw)
{
	for (; b->trigger && *i < b->end; ++*i)
		if (s->plan[*i].config[UNC_REGS_AFTER_WORD] && s->counters[*i].reg &&
		    unc_regs_io_load(&b->io, s->counters[*i].reg->offset, raw) == 0 &&
		    *raw < s->counters[*i].last)
			return true;
	return false;
}

/* Triggers are unfrozen last. If there are several, one may freeze the device before the next is
 * unfrozen, and this one would count on. Then all are frozen again, and the next reading finds the
 * event. */
void unc_regs_unfreeze(struct unc_regs_source *s)
{
	uint64_t raw;
	size_t end;

	for (size_t first = 0; s->together && first < s->instance_count; first = end) {
		struct unc_regs_instance *b = s->instances;
		bool stopped = false, triggered = false, runs_on = false;

		for (end = first; end < s->instance_count; end++) {
			if (!unc_regs_same_device(s, &b[first], &b[end]))
				break;
			stopped = stopped || b[end].state == UNC_INSTANCE_STOPPED;
			runs_on = runs_on || b[end].runs_on;
		}
		for (size_t k = end; k-- > first;) {
			if (b[k].state == UNC_INSTANCE_HELD)
				finish_reading(s, &b[k], stopped, runs_on);
			b[k].runs_on = false;
		}
		for (size_t k = first + 1; k < end && !stopped && !triggered; k++) {
			size_t i = b[k].first;

			triggered = next_triggered(s, &b[k], &i, &raw);
		}
		for (size_t k = first; k < end && triggered; k++)
			if (b[k].state == UNC_INSTANCE_COUNTING)
				unc_regs_hold(&b[k].io);
	}
}

/* True if a counter of the instance that has reached its number of events still counts. */
static bool runs_on(const struct unc_regs_source *s, const struct unc_regs_instance *b)
{
	uint64_t end = unc_now_ns() + RUNS_ON_NS, first, raw;

	for (size_t i = b->first; next_triggered(s, b, &i, &first); i++)
		do
			if (unc_regs_io_load(&b->io, s->counters[i].reg->offset, &raw) == 0 &&
			    raw != first)
				return true;
		while (unc_now_ns() < end);
	return false;
}

/* Prepares an instance to be read. Returns why its counters cannot be read, or NULL. The state is
 * HELD if the instance was frozen for the reading. */
static const char *prepare(struct unc_regs_source *s, struct unc_regs_instance *b)
{
	int err = unc_regs_io_check(&b->io);
	uint64_t end = unc_now_ns() + FROZEN_NS;
	bool frozen;

	if (err == 0 && !s->freezes && b->state != UNC_INSTANCE_ABSENT) {
		do
			frozen = unc_regs_is_frozen(&b->io);
		while (frozen && unc_now_ns() < end);
		b->state = frozen ? UNC_INSTANCE_FROZEN : UNC_INSTANCE_COUNTING;
	}
	if (err == 0 && s->freezes && b->state == UNC_INSTANCE_COUNTING)
		b->runs_on = runs_on(s, b);
	b->at_ns = unc_now_ns();
	if (err == 0 && s->freezes && b->state == UNC_INSTANCE_COUNTING) {
		b->state = UNC_INSTANCE_HELD;
		err = unc_regs_hold(&b->io);
	}
	b->unconfirmed = err == -ETIMEDOUT;
	if (err < 0)
		return b->unconfirmed ? why_unconfirmed : unc_errno_text(err);
	if (b->state == UNC_INSTANCE_ABSENT)
		return why_gone;
	return b->state == UNC_INSTANCE_FROZEN ? why_frozen : NULL;
}

/* Reads an instance. The enabled time is the time since the start, without the time that it was
 * frozen for readings. An event between two readings of the clock is taken to be in the middle,
 * plus or minus half of the time between them. */
void unc_regs_read_instance(void *ctx, size_t index)
{
	struct unc_regs_source *s = ctx;
	struct unc_regs_instance *b = &s->instances[index];
	bool stopped = b->state == UNC_INSTANCE_STOPPED;
	const char *why = prepare(s, b);
	uint64_t begin = b->at_ns, end = unc_now_ns(), enabled_ns, took_ns;

	for (size_t i = b->first; why && i < b->end; i++)
		s->into[i] = (struct uncore_reading){.lost = true, .why = why};
	b->good = !why && !b->uncleared;
	if (b->good)
		read_counters(s, b);
	for (size_t i = b->first; !why && b->uncleared && i < b->end; i++)
		s->into[i] = (struct uncore_reading){.raw = s->counters[i].total};
	if (!why && !s->freezes)
		end = unc_now_ns();
	took_ns = end - begin;
	b->at_ns = begin + took_ns / 2;
	b->interval_ns = 0;
	/* The next interval of the counters begins here. */
	if (b->uncleared && !why)
		b->frozen_ns = b->at_ns - s->base.since_ns - b->enabled_ns;
	if (!stopped) {
		enabled_ns = b->at_ns - s->base.since_ns - b->frozen_ns;
		b->interval_ns = enabled_ns - b->enabled_ns;
		b->enabled_ns = enabled_ns;
		b->uncertain_ns = (took_ns + 1) / 2;
	}
	end = unc_now_ns();
	for (size_t i = b->first; i < b->end; i++) {
		struct unc_open_counter *o = &s->counters[i];
		struct uncore_reading *r = &s->into[i];

		if (r->lost)
			continue;
		/* Frozen or latched counters all belong to the same moment. */
		if (!s->freezes) {
			r->at_ns = b->at_ns;
			r->took_ns = took_ns;
		}
		r->wrapped = o->full_ns && o->read_ns && end - o->read_ns >= o->full_ns;
		r->why = stopped ? why_stopped : b->uncleared ? why_uncleared : NULL;
		o->read_ns = begin;
	}
	if (b->state == UNC_INSTANCE_HELD && s->together)
		return;
	finish_reading(s, b, b->state == UNC_INSTANCE_STOPPED && !stopped, b->runs_on);
	b->runs_on = b->runs_on && s->together; /* the other instances of the device run on, too */
}
