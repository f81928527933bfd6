/* SPDX-License-Identifier: MIT */
/* A register block as a whole: nothing overlaps, nothing lies outside, and roles fit together. */
#include "source/regs/parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* At the most that any counter counts, 2^40 in a second, these bits last for 16 s. */
#define LASTING_BITS 44

/* One register of an instance. */
struct span {
	uint64_t begin, end;
	const char *name;
	const struct unc_yaml *at; /* what says where it is */
};

struct spans {
	const struct unc_regs *r;
	struct span *items;
	size_t count;
	const struct unc_reader *reader;
};

static void add_span(struct spans *all, const char *name, const struct unc_yaml *map,
		     const char *key, uint64_t offset)
{
	uint64_t bytes = all->r->space == UNC_SPACE_MSR ? 1 : all->r->bytes;

	all->items[all->count++] =
		(struct span){offset, offset + bytes, name, unc_yaml_get(map, key)};
}

static int check_inside(const struct spans *all, const struct span *s)
{
	const struct unc_regs *r = all->r;
	uint64_t last = s->end + (r->instances - 1) * r->stride;

	if (r->space == UNC_SPACE_MSR)
		return last <= UINT64_C(1) << 32
			       ? 0
			       : unc_reader_fail(all->reader, s->at,
						 "the number of an MSR has 32 bits");
	if (s->begin % r->bytes)
		return unc_reader_fail(all->reader, s->at,
				       "'%s': %#llx is not aligned to its %u bytes", s->name,
				       (unsigned long long)s->begin, r->bytes);
	if (r->instances > 1 && r->stride % r->bytes)
		return unc_reader_fail(all->reader, unc_yaml_get(r->file->root, "stride"),
				       "'%s' of the next instance is not aligned to its %u bytes",
				       s->name, r->bytes);
	if (last <= r->size)
		return 0;
	return unc_reader_fail(all->reader, s->at,
			       "'%s' lies beyond the map: it ends at %#llx%s, and the map at %#llx",
			       s->name, (unsigned long long)last,
			       r->instances > 1 ? " in the last instance" : "",
			       (unsigned long long)r->size);
}

/* True when `a` of one instance meets `b` of an instance that is `apart` later, either way round. */
static bool meet(const struct span *a, const struct span *b, uint64_t apart)
{
	return (a->begin < b->end + apart && b->begin + apart < a->end) ||
	       (b->begin < a->end + apart && a->begin + apart < b->end);
}

static int check_apart(const struct spans *all, const struct span *a, const struct span *b)
{
	const struct unc_regs *r = all->r;
	uint64_t between = b->begin - a->begin; /* they are in order */
	/* Only the instances that are about so far apart can meet. */
	uint64_t near = r->stride ? between / r->stride : 0;
	const uint64_t apart[] = {0, near, near + 1};

	for (size_t k = 0; k < sizeof(apart) / sizeof(*apart); k++) {
		uint64_t i = apart[k];

		if (i >= r->instances || (i == 0 && a == b) || !meet(a, b, i * r->stride))
			continue;
		if (i == 0)
			return unc_reader_fail(all->reader, b->at, "'%s' overlaps '%s' (line %d)",
					       b->name, a->name, a->at->line);
		return unc_reader_fail(all->reader, unc_yaml_get(r->file->root, "stride"),
				       "'%s' of one instance overlaps '%s' of another", b->name,
				       a->name);
	}
	return 0;
}

static int compare_begin(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->at->line < y->at->line ? -1 : x->at->line > y->at->line;
}

static int check_spans(struct spans *all)
{
	const struct unc_regs *r = all->r;
	int err = 0;

	for (size_t i = 0; i < r->count; i++) {
		const struct unc_regs_counter *c = &r->counters[i];

		add_span(all, c->name, c->at, c->split ? "low" : "offset", c->offset);
		if (c->split)
			add_span(all, c->name, c->at, "high", c->high);
		if (c->programmable)
			add_span(all, c->name, c->at, "control", c->control);
	}
	for (size_t i = 0; i < r->control_count; i++)
		add_span(all, r->controls[i].name, r->controls[i].at, "offset",
			 r->controls[i].offset);
	for (size_t i = 0; err == 0 && i < all->count; i++)
		err = check_inside(all, &all->items[i]);
	/* In order, so that instances that do not interleave are told by neighbours. */
	qsort(all->items, all->count, sizeof(*all->items), compare_begin);
	for (size_t i = 0; err == 0 && i < all->count; i++)
		for (size_t k = i; err == 0 && k < all->count; k++)
			err = check_apart(all, &all->items[i], &all->items[k]);
	return err;
}

static int check_places(const struct unc_reader *reader)
{
	const struct unc_regs *r = reader->context;
	struct spans all = {.r = r,
			    .items = calloc(2 * r->count + UNC_REGS_CONTROLS, sizeof(*all.items)),
			    .reader = reader};
	int err = all.items ? check_spans(&all) : unc_nomem(reader->e);

	free(all.items);
	return err;
}

const struct unc_regs_counter *unc_regs_role(const struct unc_regs *r, enum unc_regs_role role)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->counters[i].role == role)
			return &r->counters[i];
	return NULL;
}

static int check_names(const struct unc_reader *reader)
{
	const struct unc_regs *r = reader->context;
	for (size_t i = 0; i < r->count; i++) {
		const struct unc_regs_counter *c = &r->counters[i], *same;

		for (same = r->counters; strcmp(same->name, c->name) != 0; same++)
			;
		if (same != c)
			return unc_reader_fail(reader, c->at, "there are two counters named '%s'",
					       c->name);
		if (c->role == UNC_ROLE_NONE || c->role == UNC_ROLE_BIN)
			continue;
		if (unc_regs_role(r, c->role) != c)
			return unc_reader_fail(
				reader, unc_yaml_get(c->at, "role"),
				"'%s' has this role already: a block has one counter "
				"for each role, and several bins",
				unc_regs_role(r, c->role)->name);
	}
	return 0;
}

bool unc_regs_all_cycles(const struct unc_regs *r)
{
	return unc_regs_role(r, UNC_ROLE_ACTIVE) && unc_regs_role(r, UNC_ROLE_BUSY) &&
	       unc_regs_role(r, UNC_ROLE_IDLE);
}

/* A rate is made from the time that the block itself gives, or that the host is said to give. */
static int check_clock(const struct unc_reader *reader)
{
	const struct unc_regs *r = reader->context;
	const struct unc_regs_counter *bytes = unc_regs_role(r, UNC_ROLE_BYTES);
	const struct unc_regs_counter *packets = unc_regs_role(r, UNC_ROLE_PACKETS);
	const struct unc_regs_counter *rate = bytes ? bytes : packets;

	if (!rate || r->clock || r->host_clock || (r->hz > 0 && unc_regs_all_cycles(r)))
		return 0;
	return unc_reader_fail(
		reader, unc_yaml_get(rate->at, "role"),
		r->hz > 0 ? "missing clock for a rate of '%s': 'hz' gives time only with "
			    "all cycles, the roles 'active', 'busy' and 'idle', or a "
			    "'counter' of them in 'clock'; without, say 'clock: host'"
			  : "missing clock for a rate of '%s': give 'clock' its 'hz' or "
			    "its 'counter', or say 'clock: host'",
		rate->name);
}

/* What metrics are made of must not go round unseen. */
static int check_speeds(const struct unc_reader *reader)
{
	const struct unc_regs *r = reader->context;
	for (size_t i = 0; i < r->count; i++) {
		const struct unc_regs_counter *c = &r->counters[i];

		if (c->width >= LASTING_BITS || c->most_per_s > 0 ||
		    (c->role == UNC_ROLE_NONE && c != r->clock))
			continue;
		return unc_reader_fail(
			reader, unc_yaml_get(c->at, "width"),
			"'%s': %u bits soon wrap, and how soon must be known: give "
			"the most that it counts in one cycle, 'per_cycle', with 'hz' "
			"in 'clock', or in one second, 'per_second'",
			c->name, c->width);
	}
	return 0;
}

/* Windows and programmable counters need fields to write. */
static int check_control(const struct unc_reader *reader)
{
	const struct unc_regs *r = reader->context;
	const struct unc_yaml *root = r->file->root;
	const struct unc_regs_control *in;
	bool freeze = unc_regs_find_field(r, UNC_PURPOSE_FREEZE, &in);

	if (r->window == UNC_WINDOW_FREEZE && !freeze)
		return unc_reader_fail(
			reader, unc_yaml_get(root, "window"),
			"nothing can freeze this block: 'control' needs a field with "
			"'use: freeze'");
	if (!r->select.at)
		return 0;
	if (!unc_regs_field(&r->select, UNC_PURPOSE_EVENT))
		return unc_reader_fail(reader, r->select.at,
				       "a counter that is told what to count needs a field with "
				       "'use: event'");
	if (r->window != UNC_WINDOW_FREEZE)
		return unc_reader_fail(reader, unc_yaml_get(root, "window"),
				       "counters that are programmed begin and end together: they "
				       "need 'window: freeze'");
	return 0;
}

int unc_regs_check(const struct unc_reader *reader)
{
	const struct unc_regs *r = reader->context;
	bool bins = unc_regs_role(r, UNC_ROLE_BIN);
	bool roles = false;
	int err = check_places(reader);

	for (size_t i = 0; i < r->count; i++)
		roles = roles || r->counters[i].role != UNC_ROLE_NONE;
	if (err == 0)
		err = check_names(reader);
	if (err == 0)
		err = check_clock(reader);
	if (err == 0)
		err = check_speeds(reader);
	if (err == 0)
		err = check_control(reader);
	if (err < 0)
		return err;
	if (bins && !r->has_histogram)
		return unc_reader_fail(reader,
				       unc_yaml_get(unc_regs_role(r, UNC_ROLE_BIN)->at, "role"),
				       "bins need bounds: the key 'histogram'");
	if (roles && !r->quantity)
		return unc_reader_fail(reader, r->file->root,
				       "counters with roles make metrics: 'quantity' must say what "
				       "their names begin with, such as pcie.dma");
	return 0;
}
