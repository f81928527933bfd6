/* SPDX-License-Identifier: MIT */
/* A register block as a whole: nothing overlaps, nothing lies outside, and roles fit together. */
#include "source/regs/parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* At the most that any counter counts, 2^40 in a second, these bits last for 16 s. */
#define LASTING_BITS 44

/* One register of one instance. */
struct range {
	uint64_t begin, end;
	uint64_t instance;
	const char *name;
	const struct unc_yaml *at; /* its offset in the file */
};

struct ranges {
	const struct unc_reader *reader;
	struct range *items;
	size_t count;
};

/* Adds a register of all instances. */
static int add_ranges(struct ranges *all, const char *name, const struct unc_yaml *map,
		      const char *key, uint64_t offset)
{
	const struct unc_regs *r = all->reader->context;
	const struct unc_yaml *at = unc_yaml_get(map, key);
	bool msr = r->space == UNC_SPACE_MSR;
	uint64_t bytes = msr ? 1 : r->bytes;
	uint64_t last = offset + bytes + (r->instances - 1) * r->stride;

	if (msr && last > UINT64_C(1) << 32)
		return unc_reader_fail(all->reader, at, "the number of an MSR has 32 bits");
	if (offset % bytes)
		return unc_reader_fail(all->reader, at,
				       "'%s': %#llx is not aligned to its %u bytes", name,
				       (unsigned long long)offset, r->bytes);
	if (r->instances > 1 && r->stride % bytes)
		return unc_reader_fail(all->reader, unc_yaml_get(r->file->root, "stride"),
				       "'%s' of the next instance is not aligned to its %u bytes",
				       name, r->bytes);
	if (!msr && last > r->size)
		return unc_reader_fail(
			all->reader, at,
			"'%s' lies beyond the map: it ends at %#llx%s, and the map at %#llx", name,
			(unsigned long long)last, r->instances > 1 ? " in the last instance" : "",
			(unsigned long long)r->size);
	for (uint64_t i = 0; i < r->instances; i++, offset += r->stride)
		all->items[all->count++] = (struct range){offset, offset + bytes, i, name, at};
	return 0;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->at->line < y->at->line ? -1 : x->at->line > y->at->line;
}

/* All registers have the same size: overlapping ones are neighbours when sorted. */
static int check_overlaps(struct ranges *all)
{
	const struct unc_regs *r = all->reader->context;

	qsort(all->items, all->count, sizeof(*all->items), compare_ranges);
	for (size_t i = 1; i < all->count; i++) {
		const struct range *a = &all->items[i - 1], *b = a + 1;

		if (b->begin >= a->end)
			continue;
		if (a->instance == b->instance)
			return unc_reader_fail(all->reader, b->at, "'%s' overlaps '%s' (line %d)",
					       b->name, a->name, a->at->line);
		return unc_reader_fail(all->reader, unc_yaml_get(r->file->root, "stride"),
				       "'%s' of one instance overlaps '%s' of another", b->name,
				       a->name);
	}
	return 0;
}

static int check_places(const struct unc_reader *reader)
{
	const struct unc_regs *r = reader->context;
	/* A counter has at most two halves and a control register. */
	size_t most = (3 * r->count + r->control_count) * r->instances;
	struct ranges all = {.reader = reader, .items = calloc(most + 1, sizeof(*all.items))};
	int err = 0;

	if (!all.items)
		return unc_nomem(reader->e);
	for (size_t i = 0; err == 0 && i < r->count; i++) {
		const struct unc_regs_counter *c = &r->counters[i];

		err = add_ranges(&all, c->name, c->at, c->split ? "low" : "offset", c->offset);
		if (err == 0 && c->split)
			err = add_ranges(&all, c->name, c->at, "high", c->high);
		if (err == 0 && c->programmable)
			err = add_ranges(&all, c->name, c->at, "control", c->control);
	}
	for (size_t i = 0; err == 0 && i < r->control_count; i++)
		err = add_ranges(&all, r->controls[i].name, r->controls[i].at, "offset",
				 r->controls[i].offset);
	if (err == 0)
		err = check_overlaps(&all);
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
				       "a programmable counter needs a field with 'use: event'");
	if (r->window != UNC_WINDOW_FREEZE)
		return unc_reader_fail(reader, unc_yaml_get(root, "window"),
				       "counters that are programmed begin and end together: they "
				       "need 'window: freeze'");
	return 0;
}

static int check_metrics(const struct unc_reader *reader)
{
	const struct unc_regs *r = reader->context;
	const struct unc_regs_counter *bin = unc_regs_role(r, UNC_ROLE_BIN);

	if (bin && !r->has_histogram)
		return unc_reader_fail(reader, unc_yaml_get(bin->at, "role"),
				       "bins need bounds: the key 'histogram'");
	for (size_t i = 0; !r->quantity && i < r->count; i++)
		if (r->counters[i].role != UNC_ROLE_NONE)
			return unc_reader_fail(
				reader, r->file->root,
				"counters with roles make metrics: 'quantity' must say what "
				"their names begin with, such as pcie.dma");
	return 0;
}

int unc_regs_check(const struct unc_reader *reader, const struct unc_yaml *map, void *into)
{
	static int (*const checks[])(const struct unc_reader *) = {
		check_places, check_names, check_clock, check_speeds, check_control, check_metrics};
	int err = 0;

	(void)map;
	(void)into;
	for (size_t i = 0; err == 0 && i < sizeof(checks) / sizeof(*checks); i++)
		err = checks[i](reader);
	return err;
}
