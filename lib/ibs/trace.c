/* SPDX-License-Identifier: MIT */
/* Tasks by CPU and time, from the kernel's records of switches. */
#include "ibs/trace.h"

/* ---- switches ---- */

int unc_trace_switch(struct unc_trace *t, const struct perf_event_header *h, const char *payload,
		     const int task[2], uint64_t time, uint32_t cpu)
{
	struct unc_past one = {
		.time = time, .kind = UNC_PAST_SWITCH, .runs = {.pid = task[0], .tid = task[1]}};
	bool out = h->misc & PERF_RECORD_MISC_SWITCH_OUT;
	bool wide = h->type == PERF_RECORD_SWITCH_CPU_WIDE;
	int other[2] = {-1, -1};

	if (h->type != PERF_RECORD_SWITCH && !wide && h->type != PERF_RECORD_ITRACE_START)
		return 0;
	if (cpu >= UNC_TRACE_CPUS_MOST || t->switches == UNC_TRACE_SWITCHES_MOST)
		return 0;
	if ((wide || h->type == PERF_RECORD_ITRACE_START) && h->size >= sizeof(*h) + sizeof(other))
		memcpy(other, payload, sizeof(other));
	/* A record ends with the task that leaves or, after a switch to it, the one that runs. */
	if (out || h->type == PERF_RECORD_ITRACE_START) {
		one.runs.pid = other[0];
		one.runs.tid = other[1];
	}
	while (t->cpu_count <= cpu)
		if (!unc_append(&t->cpus, &t->cpu_count, sizeof(*t->cpus)))
			return -ENOMEM;
	t->switches++;
	return unc_history_add(&t->cpus[cpu], &one);
}

/* Who ran; NULL: not known. */
static const struct unc_past *find(struct unc_trace *t, uint32_t cpu, uint64_t time)
{
	const struct unc_past *ran = NULL;

	if (cpu < t->cpu_count && t->switched && time != UINT64_MAX)
		ran = unc_history_find(&t->cpus[cpu], time, NULL);
	return ran && ran->runs.tid >= 0 ? ran : NULL;
}

void unc_trace_trim(struct unc_trace *t)
{
	t->switches = 0;
	for (size_t i = 0; i < t->cpu_count; i++) {
		unc_history_trim(&t->cpus[i]);
		t->switches += t->cpus[i].count;
	}
}

void unc_trace_finish(struct unc_trace *t)
{
	for (size_t i = 0; i < t->cpu_count; i++)
		unc_history_finish(&t->cpus[i]);
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
	const struct unc_past *ran;

	load->time = r->timed && t->clock.mult ? time_of(&t->clock, load->time) : UINT64_MAX;
	ran = find(t, cpu, load->time);
	/* A packet is of the record itself; a switch, of about its time. */
	if (!r->context)
		load->tid = ran ? ran->runs.tid : cpu == UNC_TRACE_NO_CPU ? tid : -1;
	if (ran && ran->runs.tid == load->tid)
		load->pid = ran->runs.pid;
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
