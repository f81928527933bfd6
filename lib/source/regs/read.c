/* SPDX-License-Identifier: MIT */
/* Reading registers: one counter, and all counters of a box at one moment. */
#include "source/regs/source.h"

#include <errno.h>
#include <time.h>

/* Who freezes a block to read it has let it go again after so much time. */
#define FROZEN_NS 200000

/* How often halves are read again before a counter is given up. Between two carries of 32 bits any
 * hardware leaves time for many readings. */
#define MOST_TRIES 1000

static const char why_torn[] = "its halves did not hold still";
static const char why_frozen[] =
	"a counter of its box overflowed, and that froze all of them: read more "
	"often (-I)";
static const char why_held[] =
	"its block is frozen, and by somebody else: nothing is counted; --program lets it go while "
	"it is read";
static const char why_done[] =
	"its box stands still: a counter of it, or of one that freezes it, has had its events "
	"(after=)";
static const char why_gone[] =
	"its registers read as all ones: the device is gone, or switched off";

uint64_t unc_regs_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- one counter --------------------------------------------------------------------------- */

static uint64_t all_ones(unsigned bits)
{
	return UINT64_MAX >> (64 - bits);
}

/* A high half that was the same before and after belongs to the low half between. */
static const char *read_stable(const struct unc_regs_io *io, const struct unc_regs_counter *c,
			       uint64_t *raw)
{
	uint64_t before = 0, low = 0, high = 0;
	int err = unc_regs_io_load(io, c->high, &high);

	for (int i = 0; i < MOST_TRIES; i++) {
		before = high;
		if (err == 0)
			err = unc_regs_io_load(io, c->offset, &low);
		if (err == 0)
			err = unc_regs_io_load(io, c->high, &high);
		if (err < 0)
			return unc_errno_text(err);
		if (high != before)
			continue;
		*raw = high << 32 | low;
		return NULL;
	}
	return why_torn;
}

/* Reading the one half holds the other, and clears both where reading clears. */
static const char *read_latched(const struct unc_regs_io *io, const struct unc_regs_counter *c,
				uint64_t *raw)
{
	bool low_first = c->latch == UNC_LATCH_LOW;
	uint64_t first = 0, second = 0;
	int err = unc_regs_io_load(io, low_first ? c->offset : c->high, &first);

	if (err == 0)
		err = unc_regs_io_load(io, low_first ? c->high : c->offset, &second);
	if (err < 0)
		return unc_errno_text(err);
	*raw = low_first ? second << 32 | first : first << 32 | second;
	return NULL;
}

static const char *read_register(const struct unc_regs_io *io, const struct unc_regs_counter *c,
				 uint64_t *raw)
{
	int err;

	if (c->split)
		return c->latch ? read_latched(io, c, raw) : read_stable(io, c, raw);
	if (io->regs->window == UNC_WINDOW_CLEAR)
		err = unc_regs_io_take(io, c->offset, raw);
	else
		err = unc_regs_io_load(io, c->offset, raw);
	return err < 0 ? unc_errno_text(err) : NULL;
}

/* A device that is gone reads as all ones. So may a counter of all bits of its register, once: it is
 * asked again, and believed when another register of the box still says something else. Where reading
 * clears, both readings have taken something. One of fewer bits is what it says the second time. */
static const char *read_counter(struct unc_regs_box *b, const struct unc_regs_counter *c,
				uint64_t *raw, bool *ones)
{
	unsigned bits = c->split ? 64 : b->io.regs->bytes * 8;
	bool is_count = c->width == bits && bits < 64; /* all ones may be */
	uint64_t first = 0, again = 0;
	const char *why = read_register(&b->io, c, &first);

	*ones = !why && first == all_ones(bits);
	*raw = first & all_ones(c->width);
	if (*ones) {
		why = read_register(&b->io, c, &again);
		*ones = !why && again == first;
		again &= all_ones(c->width);
		if (!is_count)
			*raw = again;
		else if (b->io.regs->window == UNC_WINDOW_CLEAR)
			*raw += again;
	}
	b->answers = b->answers || (!why && !*ones);
	if (*ones && !is_count)
		why = why_gone;
	return why;
}

/* ---- one reading --------------------------------------------------------------------------- */

static void lose(struct unc_reading *r, const char *why)
{
	*r = (struct unc_reading){.lost = true, .why = why};
}

/* It would have to be faster than it can be. */
static bool is_too_much(const struct unc_open_counter *reg, uint64_t count)
{
	double most = reg->what->most_per_s > 0 ? reg->what->most_per_s : UNC_MOST_PER_S;
	double longest = (double)(unc_regs_now() - reg->last_ns) / 1e9;

	return (double)count > most * longest * UNC_CLOCK_SLACK + 1;
}

/* A programmed counter was set, so that a wrap means something: it is the end that was asked for, or
 * it has frozen its box for a reason nobody asked for. A fall that is no wrap is one of the total, too,
 * and shows there. Half-way to its end a counter is set to 0. */
static const char *follow(struct unc_regs_source *s, struct unc_regs_box *b, size_t i, uint64_t raw)
{
	struct unc_open_counter *reg = &s->counters[i];
	const struct unc_regs_counter *c = reg->what;
	bool after = s->plan[i].config.word[UNC_REGS_AFTER_WORD];
	uint64_t step = (raw - reg->last) & all_ones(c->width);
	bool fell = raw < reg->last, set_back = fell && is_too_much(reg, step);
	bool full = fell && !set_back && s->regs->overflow_freezes;

	reg->total += set_back ? raw - reg->last : step;
	reg->last = raw;
	reg->last_ns = b->at_ns;
	b->stopped = b->stopped || (full && after);
	if (raw >> (c->width - 1) && !after && unc_regs_write(&b->program, c->offset, 0) == 0)
		reg->last = 0;
	return full && !after ? why_frozen : NULL;
}

/* A register is read once, whoever wants to know: two groups may share an event, and where reading
 * clears the second would find nothing. */
static void take_counter(struct unc_regs_source *s, struct unc_regs_box *b, size_t i)
{
	const struct unc_regs_counter *what = s->counters[i].what;
	uint64_t raw = 0;
	bool ones = false;
	const char *why;

	if (what && s->counters[i].reader != i) {
		s->into[i] = s->into[s->counters[i].reader];
		return;
	}
	why = what ? read_counter(b, what, &raw, &ones) : why_gone;
	s->into[i] = (struct unc_reading){.raw = why ? 0 : raw, .lost = why, .why = why};
	if (ones && !why) {
		s->into[i].why = why_gone; /* unless another register answers */
		b->doubted = true;
	}
}

/* What was read is added up when it is known to be a count. */
static void add_up(struct unc_regs_source *s, struct unc_regs_box *b, size_t i)
{
	struct unc_open_counter *reg = &s->counters[i];
	struct unc_reading *r = &s->into[i];
	const char *why = NULL;

	if (s->regs->window == UNC_WINDOW_CLEAR)
		reg->total += r->raw;
	else if (reg->what->programmable)
		why = follow(s, b, i, r->raw);
	else
		return;
	r->raw = reg->total;
	if (why)
		lose(r, why);
}

/* All registers of the box have been read. */
static void believe(struct unc_regs_source *s, struct unc_regs_box *b)
{
	for (size_t i = b->first; (b->doubted || b->adds_up) && i < b->end; i++) {
		struct unc_reading *r = &s->into[i];

		if (r->why && !b->answers)
			lose(r, r->why);
		if (r->lost)
			continue;
		r->why = NULL;
		add_up(s, b, i);
	}
}

static bool same_device(const struct unc_regs_source *s, const struct unc_regs_box *a,
			const struct unc_regs_box *b)
{
	size_t unit = s->plan[a->first].pmu->unit, other = s->plan[b->first].pmu->unit;

	return a->cpu == b->cpu && unit / s->regs->instances == other / s->regs->instances;
}

/* An interval begins when the box is let go, and ends when it is frozen: how far either may be off
 * belongs to the reading. */
static void release(struct unc_regs_source *s, struct unc_regs_box *b)
{
	uint64_t before = unc_regs_now(), after;

	unc_regs_freeze(&b->program, false);
	b->held = false;
	after = unc_regs_now();
	b->frozen_ns += before + (after - before) / 2 - b->at_ns;
	if ((after - before + 1) / 2 > b->uncertain_ns)
		b->uncertain_ns = (after - before + 1) / 2;
	for (size_t i = b->first; i < b->end; i++)
		s->into[i].uncertain_ns = b->uncertain_ns;
}

/* It stopped somewhere between the reading before and this one: how long it counted is no more certain
 * than that. */
static void end_within(struct unc_regs_source *s, struct unc_regs_box *b)
{
	b->held = false;
	b->uncertain_ns += b->interval_ns;
	for (size_t i = b->first; i < b->end; i++)
		s->into[i].uncertain_ns = b->uncertain_ns;
}

/* When one may have stopped all of a device, all of them have been read before any is let go: boxes
 * are read in any order, and at once. */
void unc_regs_let_go(struct unc_regs_source *s)
{
	size_t end;

	for (size_t first = 0; first < s->box_count; first = end) {
		bool stopped = s->boxes[first].stopped;

		for (end = first + 1; s->together && end < s->box_count &&
				      same_device(s, &s->boxes[first], &s->boxes[end]);
		     end++)
			stopped = stopped || s->boxes[end].stopped;
		for (size_t k = first; k < end; k++) {
			s->boxes[k].stopped = stopped;
			if (s->boxes[k].held && stopped)
				end_within(s, &s->boxes[k]);
			else if (s->boxes[k].held)
				release(s, &s->boxes[k]);
		}
	}
}

/* All counters of the box, at one moment when it can be frozen. What happens between two looks at the
 * clock happens in the middle, give or take half. */
static void take_counters(struct unc_regs_source *s, struct unc_regs_box *b)
{
	uint64_t before = unc_regs_now(), after;
	int err;

	b->held = b->freezes && !b->stopped;
	err = b->held ? unc_regs_freeze(&b->program, true) : 0;
	after = unc_regs_now();
	for (size_t i = b->first; i < b->end; i++)
		if (err < 0)
			lose(&s->into[i], unc_errno_text(err));
		else
			take_counter(s, b, i);
	believe(s, b);
	if (!b->freezes)
		after = unc_regs_now();
	b->at_ns = before + (after - before) / 2;
	b->uncertain_ns = (after - before + 1) / 2;
	if (b->held && !b->stopped && !s->together)
		release(s, b);
}

/* What is added up here has no width any more: an overflow of its register would go unseen. */
static bool may_be_full(struct unc_open_counter *count, uint64_t begin, uint64_t end)
{
	bool full = count->full_ns && count->read_ns && end - count->read_ns >= count->full_ns;

	count->read_ns = begin;
	return full;
}

/* Nobody here has frozen the box. */
static bool is_held(const struct unc_regs_box *b)
{
	uint64_t end = unc_regs_now() + FROZEN_NS;
	bool frozen;

	do
		frozen = unc_regs_is_frozen(&b->io);
	while (frozen && unc_regs_now() < end);
	return frozen;
}

/* The time counted is that from the start, but for what the box stood still for reading. */
void unc_regs_read_box(void *ctx, size_t index)
{
	struct unc_regs_source *s = ctx;
	struct unc_regs_box *b = &s->boxes[index];
	uint64_t frozen_ns = b->frozen_ns, begin = unc_regs_now();
	uint64_t enabled_ns = b->enabled_ns, uncertain_ns = b->uncertain_ns;
	int err = unc_regs_io_check(&b->io);
	bool stopped = b->stopped;

	b->at_ns = begin;
	b->uncertain_ns = 0;
	b->answers = b->doubted = b->held = false;
	b->frozen = b->watched && err == 0 && is_held(b);
	for (size_t i = b->first; (err < 0 || b->frozen) && i < b->end; i++)
		lose(&s->into[i], b->frozen ? why_held : unc_errno_text(err));
	if (err == 0 && !b->frozen)
		take_counters(s, b);
	if (stopped)
		b->uncertain_ns = uncertain_ns;
	else
		b->enabled_ns = b->at_ns - s->start_ns - frozen_ns;
	b->interval_ns = b->enabled_ns - enabled_ns;
	for (size_t i = b->first; i < b->end; i++) {
		struct unc_reading *r = &s->into[i];

		r->wrapped = s->counters[i].full_ns && !r->lost &&
			     may_be_full(&s->counters[i], begin, unc_regs_now());
		if (stopped && !r->lost)
			r->why = why_done;
		r->enabled_ns = r->running_ns = b->enabled_ns;
		r->uncertain_ns = b->uncertain_ns;
	}
}
