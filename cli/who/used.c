/* SPDX-License-Identifier: MIT */
/* The rows of what processes use that needs no groups, by key. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "who/who.h"

#define UNREADABLE "that needs root, or CAP_SYS_PTRACE, and a security module may forbid it"

enum { READ, WRITTEN, BUSY, MEMORY, QUERIES };

static const struct uncore_row_query queries[QUERIES] = {
	[READ] = {.name = OWNER_READ, .family = "tasks", .unit = "B/s"},
	[WRITTEN] = {.name = OWNER_WRITTEN, .family = "tasks", .unit = "B/s"},
	[BUSY] = {.name = OWNER_GPU, .family = "tasks", .unit = "ratio"},
	[MEMORY] = {.name = OWNER_GPU_MEMORY, .family = "tasks", .unit = "B"},
};

/* The sum over the processes of a key; the last one is for processes without a key. */
struct who_sum {
	struct used used;
	size_t processes, known, denied;
	char text[160], reason[500];
	struct uncore_row_place place;
	struct uncore_row_counted counted[QUERIES];
};

/* The key of a process that the sums are of. */
static struct who_sum *sum_of(const struct who *w, const struct process *p)
{
	return &w->sums[p->key < w->pool.key_count ? p->key : w->pool.key_count];
}

static void add_process(struct who_sum *sum, const struct used *used)
{
	sum->processes++;
	sum->known += used->known;
	sum->denied += used->denied;
	sum->used.inherited |= used->inherited;
	sum->used.read += used->read;
	sum->used.written += used->written;
	sum->used.gpu_clients += used->gpu_clients;
	sum->used.busy += used->busy;
	sum->used.memory += used->memory;
	sum->used.gpu_busy += used->gpu_busy;
	sum->used.gpu_memory += used->gpu_memory;
	sum->used.sampled |= used->sampled;
	sum->used.gpu_why = used->gpu_why ? used->gpu_why : sum->used.gpu_why;
}

size_t who_used_most(const struct who *w)
{
	return w->usage ? QUERIES * (w->pool.key_count + 1) : 0;
}

/* ---- processes without a value ---- */

static void describe_key(struct who_sum *sum)
{
	if (sum->denied)
		snprintf(sum->reason, sizeof(sum->reason),
			 "%zu of its %zu processes cannot be read: " UNREADABLE, sum->denied,
			 sum->processes);
}

static void add_text(char *into, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void add_text(char *into, size_t size, const char *fmt, ...)
{
	size_t at = strlen(into);
	va_list args;

	va_start(args, fmt);
	vsnprintf(into + at, size - at, fmt, args);
	va_end(args);
}

static const char *plural(size_t count)
{
	return count == 1 ? "" : "es";
}

/* Processes without a key; and the number of those which have no value. */
static void describe_others(const struct who *w, struct who_sum *sum)
{
	const struct usage *u = w->usage;
	size_t denied = u->denied + w->rest.denied;
	char *text = sum->text, *reason = sum->reason;

	add_text(text, sizeof(sum->text), "%zu process%s", sum->processes, plural(sum->processes));
	if (w->rest.contained)
		add_text(reason, sizeof(sum->reason), "%s", who_contained);
	if (denied) {
		add_text(text, sizeof(sum->text), ", %zu that cannot be read", denied);
		add_text(reason, sizeof(sum->reason), "%s%zu process%s cannot be read: " UNREADABLE,
			 *reason ? "; " : "", denied, plural(denied));
	}
	if (!u->lost)
		return;
	add_text(text, sizeof(sum->text), ", %zu that ended", u->lost);
	add_text(
		reason, sizeof(sum->reason),
		"%s%zu process%s ended without a parent that waited: what they read and wrote since "
		"the reading before is lost",
		*reason ? "; " : "", u->lost, plural(u->lost));
}

/* ---- rows ---- */

/* Values with a reason of their own are partial. */
static struct uncore_row *add_row(struct who *w, struct who_sum *sum, int query, double value)
{
	size_t number = w->row_room + w->row_count; /* behind those of the sample */

	sum->counted[query] = (struct uncore_row_counted){.instances = sum->known,
							  .coverage = 1,
							  .seconds = w->usage->seconds,
							  .amount = NAN};
	w->origins[w->row_count] = SIZE_MAX;
	w->rows[w->row_count++] = (struct uncore_row){
		.query = &queries[query],
		.place = &sum->place,
		.counted = &sum->counted[query],
		.value = value,
		.low = NAN,
		.high = NAN,
		.ceiling = NAN,
		.rate = NAN,
		.weight = NAN,
		.quality = isnan(value)   ? UNCORE_UNAVAILABLE
			   : *sum->reason ? UNCORE_PARTIAL
					  : UNCORE_MEASURED,
		.reason = *sum->reason ? sum->reason
			  : sum->used.inherited
				  ? "the last bytes of processes that it waited for are in it"
				  : NULL,
		.number = number,
	};
	return &w->rows[w->row_count - 1];
}

/* What the clients of GPUs have, of which some do not say it. */
static void add_gpu(struct who *w, struct who_sum *sum, int query, double value, size_t known)
{
	static const char *const none[] = {
		[BUSY] =
			"no count at two readings: the client is new, or its driver has no time of engines",
		[MEMORY] = "the driver does not say it"};
	static const char *const some[] = {
		[BUSY] =
			"some clients have no count at two readings: they are new, or their driver has no "
			"time of engines",
		[MEMORY] = "the drivers of some clients do not say it"};
	struct uncore_row *row = add_row(w, sum, query, known ? value : NAN);

	sum->counted[query].instances = known;
	if (*sum->reason)
		return;
	if (known < sum->used.gpu_clients) {
		row->quality = known ? UNCORE_PARTIAL : UNCORE_UNAVAILABLE;
		row->reason = sum->used.gpu_why ? sum->used.gpu_why
			      : known           ? some[query]
						: none[query];
	} else if (query == BUSY && sum->used.sampled) {
		row->quality = UNCORE_SAMPLED;
		row->reason = "a mean of the samples of NVIDIA's driver";
	}
}

static void add_rate(struct who *w, struct who_sum *sum, int query, uint64_t bytes)
{
	bool known = w->usage->seconds > 0 && (sum->known || !*sum->reason);

	add_row(w, sum, query, known ? (double)bytes / w->usage->seconds : NAN);
	sum->counted[query].amount = known ? (double)bytes : NAN;
}

static void add_rows(struct who *w, struct who_sum *sum)
{
	add_rate(w, sum, READ, sum->used.read);
	add_rate(w, sum, WRITTEN, sum->used.written);
	if (!sum->used.gpu_clients)
		return;
	add_gpu(w, sum, BUSY, sum->used.gpu_busy, sum->used.busy);
	add_gpu(w, sum, MEMORY, (double)sum->used.gpu_memory, sum->used.memory);
}

/* Whether it used anything; or what has no key may have. */
static bool is_shown(const struct who_sum *sum)
{
	if (sum->place.role)
		return sum->processes || *sum->reason;
	return sum->used.read || sum->used.written || sum->used.gpu_clients;
}

void who_add_used(struct who *w)
{
	const struct tasks *tasks = &w->pool.tasks;
	size_t count = w->pool.key_count;

	free(w->sums);
	w->sums = cli_realloc(NULL, count + 1, sizeof(*w->sums));
	memset(w->sums, 0, (count + 1) * sizeof(*w->sums));
	for (size_t i = 0; i < tasks->count; i++) {
		const struct used used = usage_of(w->usage, i);

		if (!tasks->items[i].is_kernel)
			add_process(sum_of(w, &tasks->items[i]), &used);
	}
	for (size_t i = 0; i <= count; i++) {
		struct who_sum *sum = &w->sums[i];

		sum->place = (struct uncore_row_place){
			.socket = -1, .node = -1, .cpu = -1, .channel = -1};
		if (i < count) {
			describe_key(sum);
			sum->place.tasks = w->pool.keys[i].label;
		} else {
			describe_others(w, sum);
			sum->place.role = OWNER_OTHER;
			sum->place.tasks = sum->text;
		}
		if (is_shown(sum) || (i == count && !w->row_count))
			add_rows(w, sum);
	}
}
