/* SPDX-License-Identifier: MIT */
/* From targets to rows, once; from deltas to the sums of each row and event, with every reading. */
#include "count/rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "object.h"

struct builder {
	struct uncore *u;
	enum uncore_level level;
	bool single; /* one row for each instance, or for each root port of it */
	const struct unc_request_set *sets;
	struct unc_rows rows;
	const struct unc_query *query; /* whose rows are being made: */
	size_t first;                  /* the first of them */
	size_t *row_of;                /* for each target of the query */
	size_t *last;                  /* for each row from the first on: its latest target */
};

/* ---- which targets make a row --------------------------------------------------------------------- */

/* Metrics are not added up over PMUs with different things at their other ends; events are, as perf
 * does it. */
static struct uncore_row_place key(const struct builder *b, const struct unc_target *t)
{
	return (struct uncore_row_place){
		.socket = b->level == UNCORE_LEVEL_MACHINE
				  ? -1
				  : unc_topology_socket(&b->u->topology, t->cpu),
		.cpu = b->single ? t->cpu : -1,
		.pmu = b->single ? t->pmu : NULL,
		.port = b->single ? t->port : NULL,
		.role = b->single || b->query->metric ? t->pmu->role : NULL,
	};
}

static int compare_roles(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static bool same_key(const struct uncore_row_place *a, const struct uncore_row_place *b)
{
	return a->socket == b->socket && a->cpu == b->cpu && a->pmu == b->pmu &&
	       a->port == b->port && compare_roles(a->role, b->role) == 0;
}

/* There is room. */
static struct unc_row *add_row(struct builder *b, struct uncore_row_place k)
{
	struct unc_row *row = &b->rows.items[b->rows.count++];

	*row = (struct unc_row){.query = b->query, .key = k, .port = k.port};
	return row;
}

/* The targets of a PMU on a CPU are adjacent: of those before, none has the row of this one. */
static size_t find_row(struct builder *b, const struct unc_target *t)
{
	struct uncore_row_place k = key(b, t);

	for (size_t i = b->rows.count; i-- > b->first;) {
		const struct uncore_row_place *other = &b->rows.items[i].key;

		if (same_key(other, &k))
			return i;
		if (k.pmu && (other->pmu != k.pmu || other->cpu != k.cpu))
			break;
	}
	add_row(b, k);
	return b->rows.count - 1;
}

/* ---- the counters of a row ------------------------------------------------------------------------ */

/* What no filter restricts, such as a clock, is counted once in an instance. */
static void add_target(struct builder *b, size_t number)
{
	const struct unc_query *q = b->query;
	const struct unc_target *t = &q->targets[number], *before;
	struct unc_row *row = &b->rows.items[b->row_of[number]];
	size_t *last = &b->last[b->row_of[number] - b->first];
	size_t *counters = &row->counters[row->target_count * q->event_count];
	bool first;

	before = &q->targets[*last];
	first = !row->target_count || before->pmu != t->pmu || before->cpu != t->cpu;
	for (size_t k = 0; k < q->event_count; k++)
		counters[k] = !first && q->metric && q->metric->events[k]->unfiltered
				      ? UNC_NO_COUNTER
				      : b->sets[t->set].requests[t->first + k].counter;
	if (first)
		row->instances[row->instance_count++] = row->target_count;
	if (!row->target_count)
		row->port = t->port;
	else if (row->port != t->port)
		row->port = NULL;
	row->instances[row->instance_count] = ++row->target_count;
	*last = number;
}

/* ---- gaps ----------------------------------------------------------------------------------------- */

/* A sum says what belongs to it and is not counted. Where each PMU has a row, ports have their own. */
static int describe_gaps(const struct builder *b, struct unc_row *row)
{
	const struct unc_gaps *gaps = &b->query->gaps;
	struct unc_text text = {0};
	const char *pmu = NULL;
	size_t pmus = 0;

	for (size_t i = 0; i < gaps->count; i++)
		if (gaps->items[i].what == UNC_GAP_PMU && !pmus++)
			pmu = gaps->items[i].why;
	if (pmu)
		unc_text_add(&text, "%zu PMU%s left out: %s", pmus, pmus == 1 ? "" : "s", pmu);
	for (size_t i = 0; i < gaps->count; i++) {
		const struct unc_gap *gap = &gaps->items[i];

		if (gap->what == UNC_GAP_PMU ||
		    (row->key.socket >= 0 && gap->socket >= 0 && gap->socket != row->key.socket))
			continue;
		unc_text_add(&text, "%s%s", text.len ? "; " : "", gap->why);
		if (gap->what == UNC_GAP_PORT)
			row->port = NULL; /* the request covers more */
	}
	if (!text.len && !text.failed)
		return 0;
	row->gaps = unc_text_take(&text);
	return row->gaps ? 0 : -ENOMEM;
}

static bool has_row(const struct builder *b, int socket)
{
	for (size_t i = b->first; i < b->rows.count; i++)
		if (b->rows.items[i].key.socket == socket)
			return true;
	return false;
}

/* Rows without counters, for gaps that have no other row to be told in. */
static int add_gap_rows(struct builder *b)
{
	const struct unc_gaps *gaps = &b->query->gaps;

	for (size_t i = 0; i < gaps->count; i++) {
		const struct unc_gap *gap = &gaps->items[i];
		struct uncore_row_place k = {.socket = gap->socket, .cpu = -1};

		if (b->single && gap->what == UNC_GAP_PORT) {
			k.port = gap->port;
			if (!(add_row(b, k)->gaps = strdup(gap->why)))
				return -ENOMEM;
		} else if (b->level == UNCORE_LEVEL_SOCKET && gap->what != UNC_GAP_PMU &&
			   gap->socket >= 0 && !has_row(b, gap->socket)) {
			add_row(b, k);
		}
	}
	return 0;
}

/* ---- ceilings ------------------------------------------------------------------------------------- */

/* What a metric's row can be at most; of memory: of the machine, a socket or a memory channel. */
static double ceiling_of(const struct builder *b, const struct unc_row *row)
{
	const struct uncore_metric *metric = row->query->metric;
	bool channel;

	if (metric && metric->ceiling == UNC_CEILING_PORT && row->port)
		return row->port->link_rate;
	if (!metric || metric->ceiling != UNC_CEILING_MEMORY)
		return NAN;
	if (b->level == UNCORE_LEVEL_MACHINE)
		return unc_ceiling_memory(b->u, -1, false);
	channel = metric->family->place == UNC_PLACE_CHANNEL;
	if (row->key.socket < 0 ||
	    (b->single && !channel && metric->family->place != UNC_PLACE_SOCKET))
		return NAN;
	return unc_ceiling_memory(b->u, row->key.socket, b->single && channel);
}

/* ---- all rows ------------------------------------------------------------------------------------- */

static int compare_rows(const void *a, const void *b)
{
	const struct unc_row *x = a, *y = b;

	if (x->key.socket != y->key.socket)
		return x->key.socket < y->key.socket ? -1 : 1;
	return compare_roles(x->key.role, y->key.role);
}

static int fill_rows(struct builder *b)
{
	const struct unc_query *q = b->query;

	for (size_t t = 0; t < q->target_count; t++) {
		b->row_of[t] = find_row(b, &q->targets[t]);
		b->rows.items[b->row_of[t]].target_count++;
	}
	for (size_t i = b->first; i < b->rows.count; i++) {
		struct unc_row *row = &b->rows.items[i];

		row->counters = calloc(row->target_count * q->event_count, sizeof(size_t));
		row->instances = calloc(row->target_count + 1, sizeof(size_t));
		row->target_count = 0;
		if (!row->counters || !row->instances)
			return -ENOMEM;
	}
	for (size_t t = 0; t < q->target_count; t++)
		add_target(b, t);
	if (add_gap_rows(b) < 0)
		return -ENOMEM;
	for (size_t i = b->first; i < b->rows.count; i++) {
		struct unc_row *row = &b->rows.items[i];

		if (!b->single && describe_gaps(b, row) < 0)
			return -ENOMEM;
		row->ceiling = ceiling_of(b, row);
	}
	if (b->level == UNCORE_LEVEL_SOCKET)
		qsort(&b->rows.items[b->first], b->rows.count - b->first, sizeof(struct unc_row),
		      compare_rows);
	return 0;
}

static int add_query(struct builder *b, const struct unc_query *q)
{
	size_t most = b->rows.count + q->target_count + q->gaps.count;
	struct unc_row *rows = reallocarray(b->rows.items, most, sizeof(*rows));
	int r = -ENOMEM;

	if (!rows)
		return -ENOMEM;
	b->rows.items = rows;
	b->query = q;
	b->first = b->rows.count;
	b->row_of = calloc(q->target_count, sizeof(size_t));
	b->last = calloc(q->target_count, sizeof(size_t));
	if (b->row_of && b->last)
		r = fill_rows(b);
	free(b->row_of);
	free(b->last);
	return r;
}

int unc_rows_make(struct unc_rows *out, struct uncore *u, enum uncore_level level,
		  const struct unc_query *queries, size_t query_count,
		  const struct unc_request_set *sets)
{
	struct builder b = {
		.u = u,
		.level = level,
		.single = level == UNCORE_LEVEL_INSTANCE || level == UNCORE_LEVEL_PORT,
		.sets = sets,
	};

	for (size_t i = 0; i < query_count; i++)
		if (queries[i].target_count && add_query(&b, &queries[i]) < 0) {
			unc_rows_finish(&b.rows);
			return -ENOMEM;
		}
	*out = b.rows;
	return 0;
}

void unc_rows_finish(struct unc_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		free(rows->items[i].counters);
		free(rows->items[i].instances);
		free(rows->items[i].gaps);
	}
	free(rows->items);
	*rows = (struct unc_rows){0};
}

/* ---- sums ----------------------------------------------------------------------------------------- */

void unc_sum_add(struct unc_sum *sum, size_t counter, const struct unc_delta *d)
{
	double coverage = 1;

	if (d->state != UNC_COUNTED) {
		sum->waited_ns += d->enabled_ns;
		if (!sum->missing++)
			sum->first_bad = counter;
		if (unc_state_quality(d->state) == UNCORE_SUSPECT && !sum->suspect++)
			sum->first_bad = counter;
		return;
	}
	if (d->running_ns < d->enabled_ns)
		coverage = (double)d->running_ns / (double)d->enabled_ns;
	if (coverage < sum->coverage)
		sum->coverage = coverage;
	sum->value += d->scaled;
	sum->count += d->count;
	sum->enabled_ns += d->enabled_ns;
	sum->running_ns += d->running_ns;
	if (!sum->used || d->enabled_ns < sum->shortest_ns) {
		sum->shortest_ns = d->enabled_ns;
		sum->first_short = counter;
	}
	if (d->uncertain_ns > sum->uncertain_ns)
		sum->uncertain_ns = d->uncertain_ns;
	if (d->enabled_ns > sum->longest_ns)
		sum->longest_ns = d->enabled_ns;
	sum->used++;
	if (d->interrupted && !sum->interrupted++)
		sum->first_interrupted = counter;
	if (!d->count && !sum->still++)
		sum->first_still = counter;
}

/* The first counter of an instance without a value. */
static size_t find_bad(const struct unc_row *row, const struct unc_interval *interval,
		       size_t instance)
{
	size_t events = row->query->event_count;

	for (size_t k = 0; k < events; k++)
		for (size_t t = row->instances[instance]; t < row->instances[instance + 1]; t++) {
			size_t counter = row->counters[t * events + k];

			if (counter != UNC_NO_COUNTER &&
			    interval->deltas[counter].state != UNC_COUNTED)
				return counter;
		}
	return UNC_NO_COUNTER;
}

/* The longest time of an instance's counters, of which one lacks some interval; 0: none does. */
static uint64_t find_interrupted(const struct unc_row *row, const struct unc_interval *interval,
				 size_t instance)
{
	size_t events = row->query->event_count;
	uint64_t longest_ns = 0;
	bool interrupted = false;

	for (size_t i = row->instances[instance] * events;
	     i < row->instances[instance + 1] * events; i++) {
		const struct unc_delta *d;

		if (row->counters[i] == UNC_NO_COUNTER)
			continue;
		d = &interval->deltas[row->counters[i]];
		interrupted = interrupted || d->interrupted;
		if (d->enabled_ns > longest_ns)
			longest_ns = d->enabled_ns;
	}
	return interrupted ? longest_ns : 0;
}

/* Adds what a counter did, as if it had gone on like that for the longest time: what another counter of
 * the ratio counted alone would distort it. */
static void add_for_time(struct unc_sum *sum, const struct unc_interval *interval, size_t counter,
			 uint64_t longest_ns)
{
	struct unc_delta d = interval->deltas[counter];
	double factor;

	if (d.state == UNC_COUNTED && d.enabled_ns < longest_ns) {
		factor = (double)longest_ns / (double)d.enabled_ns;
		if (!interval->counters[counter].snapshot)
			d.scaled *= factor;
		d.running_ns = (uint64_t)((double)d.running_ns * factor);
		d.enabled_ns = longest_ns;
	}
	unc_sum_add(sum, counter, &d);
}

/* A counter without a value stands for all good ones of the instance that it makes unusable. */
static void add_instance(const struct unc_row *row, const struct unc_interval *interval,
			 size_t instance, bool whole, struct unc_sum *sums)
{
	size_t events = row->query->event_count;
	size_t bad = whole ? find_bad(row, interval, instance) : UNC_NO_COUNTER;
	uint64_t longest_ns = whole ? find_interrupted(row, interval, instance) : 0;

	for (size_t t = row->instances[instance]; t < row->instances[instance + 1]; t++)
		for (size_t k = 0; k < events; k++) {
			size_t counter = row->counters[t * events + k];

			if (counter == UNC_NO_COUNTER)
				continue;
			if (bad != UNC_NO_COUNTER && interval->deltas[counter].state == UNC_COUNTED)
				counter = bad;
			if (longest_ns)
				add_for_time(&sums[k], interval, counter, longest_ns);
			else
				unc_sum_add(&sums[k], counter, &interval->deltas[counter]);
		}
}

void unc_row_sum(const struct unc_row *row, const struct unc_interval *interval,
		 struct unc_sum sums[static UNC_METRIC_EVENTS])
{
	const struct uncore_metric *metric = row->query->metric;
	bool whole = metric && unc_formula_is_ratio(metric->formula);

	for (size_t k = 0; k < row->query->event_count; k++)
		sums[k] = (struct unc_sum){.coverage = 1};
	for (size_t i = 0; i < row->instance_count; i++)
		add_instance(row, interval, i, whole, sums);
}
