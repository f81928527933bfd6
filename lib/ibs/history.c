/* SPDX-License-Identifier: MIT */
/* Events of one task, sorted when they are asked for; and a tree of segments over addresses, in
 * which each mapping is at no more than two nodes of a level. A question takes the nodes above one
 * place. */
#include "ibs/history.h"

#define UNINDEXED_MOST 64 /* so many events are looked through one by one */

static int compare_events(const void *a, const void *b)
{
	const struct unc_past *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static bool ends_mappings(const struct unc_past *e)
{
	return e->kind == UNC_PAST_PARENT ? !e->parent.thread
					  : e->kind == UNC_PAST_NAME && e->object;
}

/* Sets what an event says of those before it. */
static void link_event(struct unc_past *items, size_t i)
{
	struct unc_past *e = &items[i];

	e->named = e->kind != UNC_PAST_MAP ? (uint32_t)i + 1 : i ? e[-1].named : 0;
	e->ended = ends_mappings(e) ? (uint32_t)i + 1 : i ? e[-1].ended : 0;
}

int unc_history_add(struct unc_history *h, const struct unc_past *event)
{
	h->unsorted = h->unsorted || (h->count && h->items[h->count - 1].time > event->time);
	if (UNC_ADD(&h->items, &h->count, event) < 0)
		return -ENOMEM;
	h->items[h->count - 1].order = (uint32_t)h->count - 1;
	link_event(h->items, h->count - 1);
	return 0;
}

static void drop_index(struct unc_history *h)
{
	free(h->bounds);
	free(h->firsts);
	free(h->lists);
	h->bounds = NULL;
	h->firsts = h->lists = NULL;
	h->indexed = h->bound_count = 0;
}

static void sort(struct unc_history *h)
{
	qsort(h->items, h->count, sizeof(*h->items), compare_events);
	for (size_t i = 0; i < h->count; i++) {
		h->items[i].order = (uint32_t)i;
		link_event(h->items, i);
	}
	drop_index(h);
	h->unsorted = false;
}

/* ---- the index ---- */

static int compare_addresses(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static size_t bounds_up_to(const struct unc_history *h, uint64_t address)
{
	return unc_count_up_to(h->bounds, h->bound_count, sizeof(*h->bounds), address);
}

/* Without `lists`: counts in `firsts` how many events each node has, one place ahead. Then fills
 * the lists, and moves each node's place to the end of its own. */
static void put_events(struct unc_history *h, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct unc_past *e = &h->items[i];
		size_t low, high;

		if (e->kind != UNC_PAST_MAP)
			continue;
		low = bounds_up_to(h, e->map.start) - 1 + h->bound_count;
		high = bounds_up_to(h, e->map.end) - 1 + h->bound_count;
		for (; low < high; low /= 2, high /= 2) {
			size_t nodes[2] = {low & 1 ? low++ : 0, high & 1 ? --high : 0};

			for (size_t n = 0; n < 2; n++)
				if (nodes[n] && h->lists)
					h->lists[h->firsts[nodes[n]]++] = (uint32_t)i;
				else if (nodes[n])
					h->firsts[nodes[n] + 1]++;
		}
	}
}

/* Without memory for it, all events are looked through. */
static void make_index(struct unc_history *h)
{
	size_t count = 0, nodes;

	drop_index(h);
	h->bounds = malloc((2 * h->count + 1) * sizeof(*h->bounds));
	if (!h->bounds)
		return;
	for (size_t i = 0; i < h->count; i++) {
		if (h->items[i].kind != UNC_PAST_MAP)
			continue;
		h->bounds[count++] = h->items[i].map.start;
		h->bounds[count++] = h->items[i].map.end;
	}
	qsort(h->bounds, count, sizeof(*h->bounds), compare_addresses);
	for (size_t i = 0; i < count; i++)
		if (!i || h->bounds[i] != h->bounds[i - 1])
			h->bounds[h->bound_count++] = h->bounds[i];
	nodes = 2 * h->bound_count;
	h->firsts = calloc(nodes + 2, sizeof(*h->firsts));
	if (!h->firsts)
		return;
	put_events(h, h->count);
	for (size_t i = 1; i <= nodes; i++)
		h->firsts[i] += h->firsts[i - 1];
	h->lists = malloc((h->firsts[nodes] + (size_t)1) * sizeof(*h->lists));
	if (!h->lists)
		return;
	put_events(h, h->count);
	memmove(h->firsts + 1, h->firsts, nodes * sizeof(*h->firsts));
	h->firsts[0] = 0;
	h->indexed = h->count;
}

/* The last entry below `limit` in a node's list, plus one; 0: none. */
static size_t last_in_node(const struct unc_history *h, size_t node, size_t limit)
{
	size_t first = h->firsts[node], low = first, high = h->firsts[node + 1];

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (h->lists[middle] < limit)
			low = middle + 1;
		else
			high = middle;
	}
	return low > first ? h->lists[low - 1] + (size_t)1 : 0;
}

/* The last mapping of the address among the events before `limit`, plus one; 0: none. */
static size_t last_in_index(const struct unc_history *h, uint64_t address, size_t limit)
{
	size_t place = bounds_up_to(h, address), last = 0;

	if (place == 0)
		return 0;
	for (size_t node = place - 1 + h->bound_count; node; node /= 2) {
		size_t found = last_in_node(h, node, limit);

		last = found > last ? found : last;
	}
	return last;
}

/* ---- questions ---- */

static const struct unc_past *find_map(struct unc_history *h, size_t count, uint64_t address)
{
	size_t ended = h->items[count - 1].ended, found, i = count;

	if (h->count - h->indexed > UNINDEXED_MOST)
		make_index(h);
	for (; i > ended && i > h->indexed; i--) {
		const struct unc_past *e = &h->items[i - 1];

		if (e->kind == UNC_PAST_MAP && address >= e->map.start && address < e->map.end)
			return e;
	}
	found = h->indexed ? last_in_index(h, address, i) : 0;
	if (found > ended)
		return &h->items[found - 1];
	/* A parent's mappings are inherited; those of an earlier program are gone. */
	return ended && h->items[ended - 1].kind == UNC_PAST_PARENT ? &h->items[ended - 1] : NULL;
}

const struct unc_past *unc_history_find(struct unc_history *h, uint64_t time,
					const uint64_t *address)
{
	size_t count, named;

	if (h->unsorted)
		sort(h);
	count = unc_count_up_to(h->items, h->count, sizeof(*h->items), time);
	if (count == 0)
		return NULL;
	if (address)
		return find_map(h, count, *address);
	named = h->items[count - 1].named;
	return named ? &h->items[named - 1] : NULL;
}

void unc_history_trim(struct unc_history *h)
{
	if (h->unsorted)
		sort(h);
	drop_index(h);
	if (h->count == 0)
		return;
	h->items[0] = h->items[h->count - 1];
	h->items[0].order = 0;
	link_event(h->items, 0);
	h->count = 1;
}

void unc_history_finish(struct unc_history *h)
{
	drop_index(h);
	free(h->items);
}
