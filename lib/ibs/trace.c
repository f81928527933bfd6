/* SPDX-License-Identifier: MIT */
/* Tasks by CPU and time, from the kernel's records of switches. */
#include "ibs/trace.h"

/* ---- switches ---- */

static struct unc_trace_cpu *make_cpu(struct unc_trace *t, uint32_t cpu)
{
	while (t->cpu_count <= cpu)
		if (!unc_append(&t->cpus, &t->cpu_count, sizeof(*t->cpus)))
			return NULL;
	return &t->cpus[cpu];
}

static int add_switch(struct unc_trace *t, struct unc_trace_cpu *c, const struct unc_switch *one)
{
	size_t room = c->room ? 2 * c->room : 64;

	if (c->count == c->room) {
		struct unc_switch *items = realloc(c->items, room * sizeof(*items));

		if (!items)
			return -ENOMEM;
		c->items = items;
		c->room = room;
	}
	c->items[c->count] = *one;
	c->items[c->count].order = (uint32_t)c->count;
	c->unsorted = c->unsorted || (c->count && c->items[c->count - 1].time > one->time);
	c->count++;
	t->switches++;
	return 0;
}

int unc_trace_switch(struct unc_trace *t, const struct perf_event_header *h, const char *payload,
		     const int task[2], uint64_t time, uint32_t cpu)
{
	struct unc_switch one = {.time = time, .pid = task[0], .tid = task[1]};
	bool out = h->misc & PERF_RECORD_MISC_SWITCH_OUT;
	bool wide = h->type == PERF_RECORD_SWITCH_CPU_WIDE;
	struct unc_trace_cpu *c;
	int other[2] = {-1, -1};

	if (h->type != PERF_RECORD_SWITCH && !wide && h->type != PERF_RECORD_ITRACE_START)
		return 0;
	if (cpu >= UNC_TRACE_CPUS_MOST || t->switches == UNC_TRACE_SWITCHES_MOST)
		return 0;
	if ((wide || h->type == PERF_RECORD_ITRACE_START) && h->size >= sizeof(*h) + sizeof(other))
		memcpy(other, payload, sizeof(other));
	/* A record ends with the task that leaves or, after a switch to it, the one that runs. */
	if (out || h->type == PERF_RECORD_ITRACE_START) {
		one.pid = other[0];
		one.tid = other[1];
	}
	c = make_cpu(t, cpu);
	if (!c)
		return -ENOMEM;
	return add_switch(t, c, &one);
}

static int compare_switches(const void *a, const void *b)
{
	const struct unc_switch *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void sort(struct unc_trace_cpu *c)
{
	if (!c->unsorted)
		return;
	qsort(c->items, c->count, sizeof(*c->items), compare_switches);
	for (size_t i = 0; i < c->count; i++)
		c->items[i].order = (uint32_t)i;
	c->unsorted = false;
}

/* Who ran; NULL: not known. */
static const struct unc_switch *find(struct unc_trace *t, uint32_t cpu, uint64_t time)
{
	struct unc_trace_cpu *c = cpu < t->cpu_count ? &t->cpus[cpu] : NULL;
	size_t low = 0, high = c ? c->count : 0;

	if (!c || !t->switched || time == UINT64_MAX)
		return NULL;
	sort(c);
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (c->items[middle].time <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low && c->items[low - 1].tid >= 0 ? &c->items[low - 1] : NULL;
}

void unc_trace_trim(struct unc_trace *t)
{
	t->switches = 0;
	for (size_t i = 0; i < t->cpu_count; i++) {
		struct unc_trace_cpu *c = &t->cpus[i];

		sort(c);
		if (c->count == 0)
			continue;
		c->items[0] = c->items[c->count - 1];
		c->items[0].order = 0;
		c->count = 1;
		t->switches++;
	}
}

void unc_trace_finish(struct unc_trace *t)
{
	for (size_t i = 0; i < t->cpu_count; i++)
		free(t->cpus[i].items);
	free(t->cpus);
}

/* ---- packets ---- */

static uint64_t time_of(const struct unc_clock *c, uint64_t ticks)
{
	uint64_t whole = ticks >> c->shift;
	uint64_t part = ticks & ((UINT64_C(1) << c->shift) - 1);

	return c->zero + whole * c->mult + (part * c->mult >> c->shift);
}

void unc_trace_place(struct unc_trace *t, struct unc_tasks *tasks, uint32_t cpu, int tid,
		     struct unc_spe_record *r)
{
	struct unc_load *load = &r->of;
	const struct unc_switch *ran;

	load->time = r->timed && t->clock.mult ? time_of(&t->clock, load->time) : UINT64_MAX;
	ran = cpu == UNC_TRACE_NO_CPU ? NULL : find(t, cpu, load->time);
	/* A packet is of the record itself; a switch, of about its time. */
	if (!r->context)
		load->tid = ran ? ran->tid : cpu == UNC_TRACE_NO_CPU ? tid : -1;
	if (ran && ran->tid == load->tid)
		load->pid = ran->pid;
	else if (tasks && load->tid >= 0)
		load->pid = unc_tasks_process(tasks, load->tid);
	if (load->pid >= 0)
		load->has |= UNC_LOAD_TASK;
}

const char *unc_trace_take(struct unc_trace *t, struct unc_trace_ring *ring, uint64_t offset,
			   uint64_t size)
{
	size_t begin = (size_t)(offset & (ring->size - 1)), first;

	if (size == 0)
		return NULL;
	/* Behind pieces whose records were lost. */
	t->gaps += offset != ring->tail;
	if (size > ring->size || offset < ring->tail)
		return NULL;
	ring->tail = offset + size;
	first = size < ring->size - begin ? (size_t)size : ring->size - begin;
	memcpy(ring->copy, ring->bytes + begin, first);
	memcpy(ring->copy + first, ring->bytes, (size_t)size - first);
	return ring->copy;
}
