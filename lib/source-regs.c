/* SPDX-License-Identifier: MIT */
/* Counters read straight from their registers, as a block's description says. */
#include "reader.h"
#include "regs-program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* How often halves are read again before a counter is given up. Between two carries of 32 bits any
 * hardware leaves time for many readings. */
#define MOST_TRIES 1000

static const char why_torn[] = "its halves did not hold still";
static const char why_frozen[] =
	"a counter of its box overflowed, and that froze all of them: read more "
	"often (-I)";
static const char why_gone[] =
	"its registers read as all ones: the device is gone, or switched off";

struct reg {
	const struct unc_regs_counter *what; /* NULL: not open */
	uint64_t total; /* what was counted before `last`; read-to-clear: all */
	uint64_t last;  /* programmable: the raw count that was read last */
};

/* One instance and the CPU that it is read on. */
struct box {
	struct unc_regs_io io;
	int cpu;
	size_t first, end; /* its counters */
	bool answers;      /* something it said in this reading was not all ones */
	struct unc_regs_program program;
	bool freezes;       /* for each reading */
	bool stopped;       /* not let go: not started yet, or a counter did what it was to do */
	uint64_t frozen_ns; /* in all */
	size_t programmed;  /* counters */
};

struct regs_source {
	struct unc_source base;
	const struct unc_regs *regs;
	const struct unc_root *root;
	bool write;    /* control registers may be written */
	bool together; /* boxes of a device are let go together: one may have to stop all of them */
	struct unc_counter *plan;
	struct reg *counters;
	size_t count;
	struct box *boxes;
	size_t box_count;
	struct unc_readers *readers;
	struct unc_reading *into; /* of the read that runs */
	uint64_t start_ns;
};

static struct regs_source *regs_of(struct unc_source *s)
{
	return (struct regs_source *)s; /* base is its first member */
}

static uint64_t now_ns(void)
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
 * asked again, and believed when another register of the box still says something else. */
static const char *read_counter(struct box *b, const struct unc_regs_counter *c, uint64_t *raw,
				bool *ones)
{
	unsigned bits = c->split ? 64 : b->io.regs->bytes * 8;
	uint64_t again = 0;
	const char *why = read_register(&b->io, c, raw);

	*ones = !why && *raw == all_ones(bits);
	if (*ones) {
		why = read_register(&b->io, c, &again);
		*ones = !why && again == *raw;
		if (b->io.regs->window == UNC_WINDOW_CLEAR && !*ones)
			*raw += again;
	}
	b->answers = b->answers || (!why && !*ones);
	if (*ones && (c->width < bits || bits == 64))
		why = why_gone;
	return why;
}

/* ---- one reading --------------------------------------------------------------------------- */

static void lose(struct unc_reading *r, const char *why)
{
	*r = (struct unc_reading){.lost = true, .why = why};
}

/* A programmed counter was set, so that a wrap means something: it is the end that was asked for, or
 * it has frozen its box for a reason nobody asked for. Half-way to that it is set to 0. */
static const char *follow(struct regs_source *s, struct box *b, size_t i, uint64_t raw)
{
	const struct unc_regs_counter *c = s->counters[i].what;
	struct reg *reg = &s->counters[i];
	bool wrapped = raw < reg->last;

	if (wrapped && s->regs->overflow_freezes) {
		if (!s->plan[i].config.word[UNC_REGS_AFTER_WORD])
			return why_frozen;
		b->stopped = true;
	}
	reg->total += (raw - reg->last) & all_ones(c->width);
	reg->last = raw;
	if (raw >> (c->width - 1) && !s->plan[i].config.word[UNC_REGS_AFTER_WORD] &&
	    unc_regs_write(&b->program, c->offset, 0) == 0)
		reg->last = 0;
	return NULL;
}

static void take_counter(struct regs_source *s, struct box *b, size_t i)
{
	struct reg *reg = &s->counters[i];
	struct unc_reading *r = &s->into[i];
	uint64_t raw = 0;
	bool ones = false;
	const char *why = reg->what ? read_counter(b, reg->what, &raw, &ones) : why_gone;

	if (!why)
		raw &= all_ones(reg->what->width);
	if (!why && reg->what->programmable)
		why = follow(s, b, i, raw);
	*r = (struct unc_reading){.lost = why, .why = why};
	if (why)
		return;
	if (ones)
		r->why = why_gone; /* unless another register answers */
	if (s->regs->window == UNC_WINDOW_CLEAR)
		reg->total += raw;
	r->raw = reg->what->programmable || s->regs->window == UNC_WINDOW_CLEAR ? reg->total : raw;
}

static bool same_device(const struct regs_source *s, const struct box *a, const struct box *b)
{
	size_t unit = s->plan[a->first].pmu->unit, other = s->plan[b->first].pmu->unit;

	return a->cpu == b->cpu && unit / s->regs->instances == other / s->regs->instances;
}

/* When one may have stopped all of a device, all of them have been read before any is let go. */
static void let_go(struct regs_source *s, struct box *b)
{
	struct box *first = b;
	bool stopped = b->stopped;

	if (s->together && b + 1 < s->boxes + s->box_count && same_device(s, b, b + 1))
		return;
	while (s->together && first > s->boxes && same_device(s, first - 1, b)) {
		first--;
		stopped = stopped || first->stopped;
	}
	for (; first <= b; first++) {
		first->stopped = stopped;
		if (first->freezes && !stopped)
			unc_regs_freeze(&first->program, false);
	}
}

/* All counters of the box, at one moment when it can be frozen. What happens between two looks at the
 * clock happens in the middle, give or take half. */
static void take_counters(struct regs_source *s, struct box *b, uint64_t *at, uint64_t *uncertain)
{
	uint64_t before = now_ns(), after, end;
	int err = b->freezes && !b->stopped ? unc_regs_freeze(&b->program, true) : 0;

	after = now_ns();
	for (size_t i = b->first; i < b->end; i++)
		if (err < 0)
			lose(&s->into[i], unc_errno_text(err));
		else
			take_counter(s, b, i);
	end = now_ns();
	let_go(s, b);
	if (!b->freezes)
		after = end;
	*at = before + (after - before) / 2;
	*uncertain = (after - before + 1) / 2;
	if (b->freezes)
		b->frozen_ns += now_ns() - *at;
}

/* The time counted is that from the start, but for what the box stood still for reading. */
static void read_box(void *ctx, size_t index)
{
	struct regs_source *s = ctx;
	struct box *b = &s->boxes[index];
	uint64_t frozen_ns = b->frozen_ns, at = now_ns(), uncertain = 0;
	int err = unc_regs_io_check(&b->io);

	b->answers = false;
	for (size_t i = b->first; err < 0 && i < b->end; i++)
		lose(&s->into[i], unc_errno_text(err));
	if (err == 0)
		take_counters(s, b, &at, &uncertain);
	for (size_t i = b->first; i < b->end; i++) {
		struct unc_reading *r = &s->into[i];

		if (r->why && !b->answers)
			lose(r, r->why);
		if (!r->lost)
			r->why = NULL;
		r->enabled_ns = r->running_ns = at - s->start_ns - frozen_ns;
		r->uncertain_ns = uncertain;
	}
}

static int regs_read(struct unc_source *source, struct unc_reading *into, uint64_t *now,
		     struct unc_error *e)
{
	struct regs_source *s = regs_of(source);

	(void)e;
	s->into = into;
	unc_readers_run(s->readers);
	*now = now_ns();
	return 0;
}

/* ---- opening ------------------------------------------------------------------------------- */

static int refuse(struct unc_counter *c, int err, const char *why, struct unc_error *e)
{
	c->error = err;
	c->why = strdup(why);
	return c->why ? 0 : unc_nomem(e);
}

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
static bool find_place(struct regs_source *s, const struct box *b, size_t i, bool *tried)
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
static const struct unc_counter *other_filter(const struct regs_source *s, const struct box *b,
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

static int choose_counter(struct regs_source *s, const struct box *b, size_t i,
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

static int open_counter(struct regs_source *s, struct box *b, size_t i, struct unc_error *e)
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
	if (err < 0 || !what)
		return refuse(c, err, why.text, e);
	s->counters[i].what = what;
	b->programmed += what->programmable;
	c->width = what->programmable || s->regs->window == UNC_WINDOW_CLEAR ? 64 : what->width;
	c->most_per_s = what->most_per_s;
	return 0;
}

/* Frozen from here on until counting starts. */
static int program_box(struct regs_source *s, struct box *b)
{
	int err = unc_regs_freeze(&b->program, true);

	b->stopped = true;
	for (size_t i = b->first; err == 0 && i < b->end; i++)
		if (s->counters[i].what && s->counters[i].what->programmable)
			err = unc_regs_prepare(&b->program, s->counters[i].what, &s->plan[i].config,
					       &s->counters[i].last);
	return err;
}

/* A processor with fewer of its cores has fewer boxes: reading their registers fails. */
static int refuse_box(struct regs_source *s, struct box *b, struct unc_error *e)
{
	const struct unc_counter *c = &s->plan[b->first];
	struct unc_error why = {""};
	int r = 0;

	unc_fail(&why, ENODEV, "%s on CPU %d: its registers cannot be read: there is no such %s",
		 c->pmu->name, c->cpu, s->regs->instance);
	for (size_t i = b->first; r == 0 && i < b->end; i++) {
		if (s->plan[i].error == 0)
			r = refuse(&s->plan[i], -ENODEV, why.text, e);
		s->counters[i].what = NULL;
	}
	b->freezes = b->stopped = false;
	return r;
}

static int open_box(struct regs_source *s, struct box *b, struct unc_error *e)
{
	const struct unc_counter *c = &s->plan[b->first];
	struct unc_error why = {""};
	int err = unc_regs_io_open(&b->io, s->regs, s->root, c, s->write, &why);
	int r = 0;

	if (err == -ENOMEM)
		return unc_nomem(e);
	b->program.io = &b->io;
	for (size_t i = b->first; r == 0 && i < b->end; i++)
		r = err < 0 ? refuse(&s->plan[i], err, why.text, e) : open_counter(s, b, i, e);
	b->freezes = err == 0 && s->write && s->regs->window == UNC_WINDOW_FREEZE;
	if (r == 0 && b->programmed)
		err = program_box(s, b);
	if (r == 0 && b->programmed && err == -EIO && !b->program.count)
		return refuse_box(s, b, e);
	if (r == 0 && b->programmed && err < 0)
		r = unc_fail(e, -err, "%s on CPU %d cannot be programmed: %s", c->pmu->name, c->cpu,
			     unc_errno_text(err));
	return r;
}

/* A first reading shows what is not there; its counts are what the first interval begins with. */
static int try_box(struct regs_source *s, size_t index, struct unc_error *e)
{
	const struct box *b = &s->boxes[index];
	int r = 0;

	read_box(s, index);
	for (size_t i = b->first; r == 0 && i < b->end; i++) {
		struct unc_counter *c = &s->plan[i];
		struct unc_error why = {""};

		if (c->error == 0 && s->into[i].lost) {
			unc_fail(&why, ENODEV, "%s/%s/ on CPU %d: %s", c->pmu->name, c->event,
				 c->cpu, s->into[i].why);
			r = refuse(c, -ENODEV, why.text, e);
		}
	}
	return r;
}

static int open_boxes(struct regs_source *s, struct unc_error *e)
{
	struct unc_reading *first = calloc(s->count + 1, sizeof(*first));
	int r = 0;

	if (!first)
		return unc_nomem(e);
	s->into = first;
	for (size_t i = 0; r == 0 && i < s->count; i++) {
		struct box *b = &s->boxes[s->box_count];

		if (i == 0 || s->plan[i].pmu != s->plan[i - 1].pmu ||
		    s->plan[i].cpu != s->plan[i - 1].cpu) {
			*b = (struct box){.io = {.fd = -1}, .cpu = s->plan[i].cpu, .first = i};
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
	free(first);
	s->into = NULL;
	return r;
}

/* A reader for each CPU, always the same: readings do not wander between CPUs. */
static int start_readers(struct regs_source *s, struct unc_error *e)
{
	struct unc_reader_span *spans = calloc(s->box_count + 1, sizeof(*spans));
	size_t used = 0;
	int r;

	if (!spans)
		return unc_nomem(e);
	for (size_t k = 0; k < s->box_count; k++) {
		if (!used || spans[used - 1].cpu != s->boxes[k].cpu)
			spans[used++] = (struct unc_reader_span){s->boxes[k].cpu, k, k, true};
		spans[used - 1].end = k + 1;
	}
	r = unc_readers_new(&s->readers, spans, used, read_box, s, e);
	free(spans);
	return r;
}

static int regs_open(struct unc_source *source, struct unc_counter *counters, size_t count,
		     struct unc_names *notes, struct unc_error *e)
{
	struct regs_source *s = regs_of(source);
	int r;

	s->plan = counters;
	s->count = count;
	s->counters = calloc(count + 1, sizeof(*s->counters));
	s->boxes = calloc(count + 1, sizeof(*s->boxes));
	if (!s->counters || !s->boxes)
		return unc_nomem(e);
	r = s->write ? unc_regs_check_kernel(s->regs, s->root, e) : 0;
	if (r == 0 && !s->write && s->regs->window == UNC_WINDOW_FREEZE &&
	    unc_names_add(notes, "registers are only read without --program: counters are not "
				 "frozen, but read one after another") < 0)
		r = unc_nomem(e);
	if (r == 0)
		r = open_boxes(s, e);
	for (size_t i = 0; r == 0 && i < count; i++)
		if (counters[i].error == 0)
			return start_readers(s, e);
	if (r == 0 && count)
		r = unc_fail(e, -counters[0].error, "%s", counters[0].why);
	return r;
}

/* Registers count whether anybody looks or not, but for those that were programmed: the reading to come
 * finds them as they were set, and lets them go. */
static int regs_enable(struct unc_source *source, struct unc_error *e)
{
	struct regs_source *s = regs_of(source);

	(void)e;
	s->start_ns = now_ns();
	for (size_t k = 0; k < s->box_count; k++) {
		s->boxes[k].frozen_ns = 0;
		s->boxes[k].stopped = false;
	}
	return 0;
}

static int regs_disable(struct unc_source *source, struct unc_error *e)
{
	(void)source;
	(void)e;
	return 0;
}

static void regs_close(struct unc_source *source)
{
	struct regs_source *s = regs_of(source);

	if (!source)
		return;
	unc_readers_free(s->readers);
	for (size_t k = 0; k < s->box_count; k++) {
		if (s->boxes[k].io.fd >= 0 && unc_regs_io_check(&s->boxes[k].io) == 0)
			unc_regs_restore(&s->boxes[k].program);
		free(s->boxes[k].program.saved);
		unc_regs_io_close(&s->boxes[k].io);
	}
	free(s->boxes);
	free(s->counters);
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
	struct regs_source *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->base.ops = &regs_ops;
	s->regs = regs;
	s->root = root;
	s->write = write;
	*out = &s->base;
	return 0;
}
