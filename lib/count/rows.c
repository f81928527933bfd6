/* SPDX-License-Identifier: MIT */
/* Makes rows from targets, once, and at every reading the sums of each row and event from deltas.
 * judge.c computes value and quality from the sums. */
#include "count/clocks.h"
#include "object.h"

#include <math.h>

/* A counter that was enabled for a smaller share of its window began late or ended early. */
#define CUT_SHORT_SHARE 0.95
#define CUT_SHORT_SLACK_NS 5000000

/* Rows being made. */
struct row_builder {
	struct uncore *u;
	enum uncore_level level;
	bool single; /* one row for each instance, or for each root port of it */
	bool extra;  /* the query's levels do not ask for these rows */
	const struct unc_request_set *sets;
	struct unc_rows rows;
	const struct unc_query *query; /* whose rows are being made: */
	size_t first;                  /* the first of them */
	const struct unc_row *latest;  /* that of the target before, */
	size_t instance;               /* and the number of its instance */
};

/* The reason of a row instead of counters; it must be freed. NULL: out of memory. */
static char *explain_place(const struct row_builder *b, const struct unc_target *t, int socket)
{
	const char *unplaced = unc_pmu_unplaced(t->pmu, &b->u->topology);
	struct unc_text text = {0};
	int nodes[UNC_MOST_NODES];
	size_t count = socket < 0 ? 0 : unc_topology_nodes(&b->u->topology, socket, nodes);

	if (unplaced)
		unc_text_add(&text, "the %s of %s is not known: %s",
			     b->level == UNCORE_LEVEL_NODE ? "NUMA node" : "socket", t->pmu->name,
			     unplaced);
	else if (unc_topology_has_more_nodes(&b->u->topology, nodes, count))
		unc_text_add(
			&text,
			"CPUs are offline, and it is not known whether their NUMA nodes are of "
			"socket %d, and which node %s counts; --per-socket has their sum",
			socket, t->pmu->name);
	else if (count)
		unc_text_add(
			&text,
			"socket %d has several NUMA nodes, and it is not known which of them %s "
			"counts; --per-socket has their sum",
			socket, t->pmu->name);
	else
		unc_text_add(&text, "the NUMA node of %s on CPU %d is not known", t->pmu->name,
			     t->cpu);
	return unc_text_take(&text);
}

/* ---- which targets make a row ---- */

/* The die of the package that a PMU counts from a CPU, among those whose PMUs have one name; 0:
 * there is one name for each. */
static int die_of(const struct unc_topology *t, const struct uncore_pmu *pmu, int cpu)
{
	return unc_pmu_is_of_die(pmu) ? unc_topology_die_in_package(t, cpu) : 0;
}

/* The number of the target's unit among those of its family on the socket, die by die: PMUs of
 * several dies have one name. Dies have equally many units, also offline ones. -1: its socket is
 * unknown. */
static int channel_of(const struct row_builder *b, const struct unc_target *t)
{
	const struct unc_topology *topology = &b->u->topology;
	int socket = unc_counted_socket(t->pmu, topology, t->cpu), before = 0, units = 0;
	int die = die_of(topology, t->pmu, t->cpu);

	for (size_t i = 0; i < b->u->pmus.count; i++) {
		const struct uncore_pmu *p = &b->u->pmus.items[i];

		if (p->family != t->pmu->family || p->absent)
			continue;
		for (size_t k = 0; k < p->cpus.count; k++) {
			int cpu = p->cpus.ids[k];

			if (unc_counted_socket(p, topology, cpu) != socket ||
			    die_of(topology, p, cpu) != die)
				continue;
			units++;
			before += p < t->pmu;
		}
	}
	return unc_pmu_unplaced(t->pmu, topology) ? -1 : die * units + before;
}

/* True when the node has CPUs of other sockets, too, as the only node of a kernel with numa=off. */
static bool has_other_sockets(const struct unc_topology *t, int node, int socket)
{
	for (size_t i = 0; i < t->cpu_count; i++)
		if (t->cpus[i].node == node && t->cpus[i].socket >= 0 &&
		    t->cpus[i].socket != socket)
			return true;
	return false;
}

/* Metrics of PMUs with different roles (other ends) are not added up; events are, as in perf.
 * Groups of resctrl contain each other, so that their events are not added up either. */
static struct uncore_row_place key(const struct row_builder *b, const struct unc_target *t)
{
	const struct unc_topology *topology = &b->u->topology;
	int node = b->level == UNCORE_LEVEL_NODE ? unc_counted_node(t->pmu, topology, t->cpu) : -1;
	int socket = unc_counted_socket(t->pmu, topology, t->cpu);
	bool several = b->level == UNCORE_LEVEL_MACHINE ||
		       (node >= 0 && has_other_sockets(topology, node, socket));

	return (struct uncore_row_place){
		.socket = several ? -1 : socket,
		.node = node,
		.cpu = b->single ? t->cpu : -1,
		.pmu = b->single ? t->pmu : NULL,
		.port = b->single ? t->port : NULL,
		.role = t->link                                              ? t->link
			: b->single || b->query->metric || t->pmu->directory ? t->pmu->role
									     : NULL,
		.channel = b->level == UNCORE_LEVEL_CHANNEL ? channel_of(b, t) : -1,
		.device = b->single ? uncore_pmu_device(b->u, t->pmu) : NULL,
		.tasks = t->pmu->slot ? t->pmu->slot->label : NULL,
	};
}

static int compare_roles(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static bool is_same_place(const struct uncore_row_place *a, const struct uncore_row_place *b)
{
	return a->socket == b->socket && a->node == b->node && a->cpu == b->cpu &&
	       a->pmu == b->pmu && a->port == b->port && compare_roles(a->role, b->role) == 0;
}

/* The query's row with this key, added when it is the first; there is room. The targets of a PMU on
 * a CPU are adjacent, so that earlier instances cannot have the same row. */
static struct unc_row *find_row(struct row_builder *b, struct uncore_row_place k)
{
	struct unc_row *row;

	for (size_t i = b->rows.count; i-- > b->first;) {
		const struct uncore_row_place *other = &b->rows.items[i].key;

		if (is_same_place(other, &k))
			return &b->rows.items[i];
		if (k.pmu && (other->pmu != k.pmu || other->cpu != k.cpu))
			break;
	}
	row = &b->rows.items[b->rows.count++];
	*row = (struct unc_row){
		.query = b->query, .key = k, .place = k, .level = b->level, .extra = b->extra};
	return row;
}

/* Adds an unavailable row instead of counters: of the target's socket, or of each socket that may
 * be its own. -ENOMEM. */
static int refuse_place(struct row_builder *b, const struct unc_target *t)
{
	const struct unc_topology *topology = &b->u->topology;
	bool any = unc_pmu_unplaced(t->pmu, topology);
	struct uncore_row_place k = key(b, t);

	for (size_t i = 0; i < (any ? topology->socket_count : 1); i++) {
		struct unc_row *row;

		k.socket = any ? topology->sockets[i] : k.socket;
		row = find_row(b, k);
		if (!row->gaps && !(row->gaps = explain_place(b, t, k.socket)))
			return -ENOMEM;
	}
	return 0;
}

/* A kernel bug of an event of the target; else a bug that is detected by equal counts (not in
 * simulations, whose counts may be equal for other reasons). */
static const struct unc_kernel_bug *bug_of(const struct row_builder *b, const struct unc_target *t)
{
	const struct unc_family *f = t->pmu->family;
	const struct unc_kernel_bug *maybe = NULL;

	for (size_t i = 0; f && i < f->bug_count; i++) {
		const struct unc_kernel_bug *bug = &f->bugs[i];
		bool has = false;

		for (size_t k = 0; k < b->query->event_count; k++)
			has |= unc_terms_are_set(t->pmu,
						 &b->sets[t->set].requests[t->first + k].config,
						 &bug->terms);
		if (has && bug->suspect)
			return bug;
		if (has && bug->equal_counts && !b->u->sim)
			maybe = bug;
	}
	return maybe;
}

/* Adds the counters of a target to its row. An event that no filter restricts, such as a clock, is
 * added once for each instance. */
static int add_to_row(struct row_builder *b, const struct unc_target *t)
{
	const struct unc_kernel_bug *bug = bug_of(b, t);
	const struct unc_query *q = b->query;
	const struct uncore_row_place place = key(b, t);
	struct unc_row *row;
	bool first;

	if ((b->level == UNCORE_LEVEL_NODE && place.node < 0) ||
	    (b->level == UNCORE_LEVEL_SOCKET && unc_pmu_unplaced(t->pmu, &b->u->topology)))
		return refuse_place(b, t);
	row = find_row(b, place);
	first = row != b->latest || t[-1].pmu != t->pmu || t[-1].cpu != t->cpu;
	if (!row->counter_count)
		row->place.port = t->port;
	else if (row->place.port != t->port)
		row->place.port = NULL;
	b->instance += first;
	if (bug && (!row->bug || bug->suspect))
		row->bug = bug;
	for (size_t k = 0; k < q->event_count; k++) {
		const struct unc_request *request;
		struct unc_row_counter *counter;

		if (!first && q->metric && q->metric->events[k]->unfiltered)
			continue;
		counter = unc_append(&row->counters, &row->counter_count, sizeof(*counter));
		if (!counter)
			return -ENOMEM;
		request = &b->sets[t->set].requests[t->first + k];
		if (row->counter_count == 1 || request->round < row->first_round)
			row->first_round = request->round;
		if (row->counter_count == 1 || request->round > row->round)
			row->round = request->round;
		counter->number = request->counter;
		counter->event = k;
		counter->instance = b->instance;
	}
	b->latest = row;
	return 0;
}

/* ---- gaps ---- */

/* True when the gap belongs to the row, a sum: of ports only if a filter names them. */
static bool is_gap_of(const struct row_builder *b, const struct unc_row *row,
		      const struct unc_gap *gap)
{
	const char *role = gap->pmu ? gap->pmu->role : NULL;

	if (gap->what == UNC_GAP_PORT && !b->query->filtered)
		return false;
	if (gap->part && row->key.node >= 0)
		return false; /* a die has nodes of its own */
	return (row->key.socket < 0 || gap->socket == row->key.socket ||
		(gap->socket < 0 && !gap->elsewhere)) &&
	       (!row->key.role || !role || strcmp(role, row->key.role) == 0);
}

static int describe_gaps(const struct row_builder *b, struct unc_row *row)
{
	const struct unc_query *q = b->query;
	struct unc_text text = {0};
	const char *pmu = NULL;
	size_t pmus = 0;

	if (row->gaps)
		return 0;
	for (size_t i = 0; i < q->gap_count; i++)
		if (q->gaps[i].what == UNC_GAP_PMU && is_gap_of(b, row, &q->gaps[i]) && !pmus++)
			pmu = q->gaps[i].why;
	if (pmu)
		unc_text_add(&text, "%zu PMU%s left out: %s", pmus, pmus == 1 ? "" : "s", pmu);
	for (size_t i = 0; i < q->gap_count; i++) {
		const struct unc_gap *gap = &q->gaps[i];

		if (gap->what == UNC_GAP_PMU || !is_gap_of(b, row, gap))
			continue;
		unc_text_add(&text, "%s%s", text.len ? "; " : "", gap->why);
		if (gap->what == UNC_GAP_PORT)
			row->place.port = NULL; /* the request covers more */
	}
	if (!text.len && !text.failed)
		return 0;
	row->gaps = unc_text_take(&text);
	return row->gaps ? 0 : -ENOMEM;
}

/* Rows without counters, for gaps that belong to no other row. */
static int add_gap_rows(struct row_builder *b)
{
	const struct unc_query *q = b->query;

	for (size_t i = 0; i < q->gap_count; i++) {
		const struct unc_gap *gap = &q->gaps[i];
		struct uncore_row_place k = {.socket = gap->socket,
					     .node = -1,
					     .cpu = -1,
					     .role = gap->pmu ? gap->pmu->role : NULL,
					     .channel = -1};
		size_t other = b->first;

		if (b->single && gap->what != UNC_GAP_SOCKET) {
			k.pmu = gap->pmu;
			k.port = gap->port;
			if (!(find_row(b, k)->gaps = strdup(gap->why)))
				return -ENOMEM;
		}
		if (b->single || b->level == UNCORE_LEVEL_MACHINE || gap->socket < 0 ||
		    (gap->what == UNC_GAP_PORT && !b->query->filtered))
			continue;
		while (other < b->rows.count && !is_gap_of(b, &b->rows.items[other], gap))
			other++;
		if (other == b->rows.count)
			find_row(b, k);
	}
	return 0;
}

/* ---- ceilings ---- */

/* 2.5 GT/s with one lane. The functions of cards with a switch of their own have this in their
 * registers: it is the link within the card. */
#define LEAST_RATE 250e6

/* Whether devices of another slot are below the same root port. */
static bool has_neighbours(struct uncore *u, const struct uncore_device *d)
{
	size_t slot = strcspn(d->address, ".");

	for (size_t i = 0; i < uncore_device_count(u); i++) {
		const struct uncore_device *other = uncore_device_at(u, i);

		if (other->port == d->port && !other->is_bridge && other->max_rate > LEAST_RATE &&
		    strncmp(other->address, d->address, slot + 1) != 0)
			return true;
	}
	return false;
}

/* The rate of the slowest link up to the root port. Devices below a switch also reach each other
 * past the root port. */
static double ceiling_of_device(struct uncore *u, const struct uncore_device *d)
{
	double rate = d->parent ? fmin(d->max_rate, d->parent->max_rate) : d->max_rate;

	if (!d->port || d->port == d || d->port == d->parent || has_neighbours(u, d))
		return rate;
	return rate > LEAST_RATE ? fmin(rate, d->port->max_rate) : d->port->max_rate;
}

/* The rate of the links of all devices in the row, in one direction; NaN: one is not known. A link
 * is as fast as the device and the root port above it can be: a GPU that is idle has slowed it
 * down. */
static double ceiling_of_links(const struct row_builder *b, const struct unc_row *row)
{
	const struct unc_query *q = row->query;
	double sum = row->counter_count ? 0 : NAN;

	for (size_t t = 0; t < q->target_count; t++) {
		const struct uncore_row_place place = key(b, &q->targets[t]);
		const char *pci = q->targets[t].pmu->pci;
		const struct uncore_device *d = NULL;

		if (!is_same_place(&place, &row->key))
			continue;
		if (!pci || uncore_device_find(b->u, pci, &d) < 0)
			return NAN;
		sum += ceiling_of_device(b->u, d);
	}
	return sum;
}

/* The memory of the machine, or of the sockets that a filter selects. */
static double ceiling_of_machine(const struct row_builder *b, uint64_t sockets)
{
	double sum = 0;

	if (!sockets)
		return unc_ceiling_memory(b->u, -1, false);
	for (int i = 0; i < 64; i++)
		if (sockets >> i & 1)
			sum += unc_ceiling_memory(b->u, i, false);
	return sum;
}

static bool counts_port(const struct uncore_pmu *pmu, const struct uncore_device *port)
{
	for (size_t i = 0; port->is_port && i < uncore_device_pmu_count(port); i++)
		if (uncore_device_pmu_at(port, i) == pmu)
			return true;
	return false;
}

/* The rate of the links of all root ports that the row counts, in one direction; NaN: one is not
 * known. A port without devices moves nothing. */
static double ceiling_of_ports(const struct row_builder *b, const struct unc_row *row)
{
	double sum = 0;

	if (row->place.port || !b->extra || !row->key.pmu)
		return row->place.port ? row->place.port->link_rate : NAN;
	for (size_t i = 0; i < uncore_device_count(b->u); i++) {
		const struct uncore_device *d = uncore_device_at(b->u, i);
		bool first = d->port && counts_port(row->key.pmu, d->port);

		/* Each port once, with the first of its devices. */
		for (size_t k = 0; first && k < i; k++)
			first = uncore_device_at(b->u, k)->port != d->port;
		if (first)
			sum += d->port->link_rate;
	}
	return sum > 0 ? sum : NAN;
}

/* The ceiling of a metric's row; for memory, that of the machine, a socket or a memory channel. */
static double ceiling_of(const struct row_builder *b, const struct unc_row *row)
{
	const struct uncore_metric *metric = row->query->metric;
	int nodes[UNC_MOST_NODES];
	bool channel;

	if (metric && metric->ceiling == UNC_CEILING_LINK)
		return ceiling_of_links(b, row);
	if (metric && metric->ceiling == UNC_CEILING_PORT)
		return ceiling_of_ports(b, row);
	if (!metric || metric->ceiling != UNC_CEILING_MEMORY)
		return NAN;
	if (row->query->in_nodes && b->level != UNCORE_LEVEL_NODE)
		return NAN;
	if (b->level == UNCORE_LEVEL_MACHINE)
		return ceiling_of_machine(b, row->query->sockets);
	channel = metric->family->place == UNC_PLACE_CHANNEL;
	if (row->key.socket < 0 ||
	    (b->level == UNCORE_LEVEL_NODE &&
	     unc_topology_nodes(&b->u->topology, row->key.socket, nodes) != 1) ||
	    (b->single && !channel && metric->family->place != UNC_PLACE_SOCKET))
		return NAN;
	return unc_ceiling_memory(b->u, row->key.socket, b->single && channel);
}

/* ---- all rows ---- */

static int compare_rows(const void *a, const void *b)
{
	const struct unc_row *x = a, *y = b;

	if (x->key.socket != y->key.socket)
		return x->key.socket < y->key.socket ? -1 : 1;
	if (x->key.channel != y->key.channel)
		return x->key.channel < y->key.channel ? -1 : 1;
	if (x->key.node != y->key.node)
		return x->key.node < y->key.node ? -1 : 1;
	return compare_roles(x->key.role, y->key.role);
}

/* The levels among `levels` of its rows. If its PMUs do not count memory channels or controllers,
 * the level of sockets replaces that of channels. */
static unsigned levels_of(const struct unc_query *q, unsigned levels)
{
	const struct unc_family *f = q->target_count ? q->targets[0].pmu->family : NULL;
	bool channels =
		f && f->place <= UNC_PLACE_PACKAGE_MEMORY && f->place != UNC_PLACE_MESH_PORT;

	levels = q->target_count ? levels : 0;
	if (!channels && (levels >> UNCORE_LEVEL_CHANNEL & 1))
		levels = (levels & ~(1u << UNCORE_LEVEL_CHANNEL)) | 1u << UNCORE_LEVEL_SOCKET;
	return levels;
}

/* The further levels of a picture of the machine. With channels their PMUs have no rows; where
 * targets are split by root port, rows are of ports, not of PMUs. */
static unsigned extra_levels_of(const struct unc_query *q)
{
	const unsigned single = 1u << UNCORE_LEVEL_INSTANCE | 1u << UNCORE_LEVEL_PORT |
				1u << UNCORE_LEVEL_PART | 1u << UNCORE_LEVEL_CHANNEL;
	unsigned levels = 1u << UNCORE_LEVEL_MACHINE | 1u << UNCORE_LEVEL_SOCKET;

	if (!q->extra)
		return 0;
	levels |= levels_of(q, 1u << UNCORE_LEVEL_CHANNEL);
	if (levels & single || q->levels & single)
		return levels;
	return levels | 1u << (q->levels ? UNCORE_LEVEL_INSTANCE : UNCORE_LEVEL_PORT);
}

static int add_query(struct row_builder *b, const struct unc_query *q)
{
	size_t most = b->rows.count + q->target_count + q->gap_count + b->u->topology.socket_count;
	struct unc_row *rows = reallocarray(b->rows.items, most, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	b->rows.items = rows;
	b->query = q;
	b->first = b->rows.count;
	b->latest = NULL;
	for (size_t t = 0; t < q->target_count; t++)
		if (add_to_row(b, &q->targets[t]) < 0)
			return -ENOMEM;
	if (add_gap_rows(b) < 0)
		return -ENOMEM;
	for (size_t i = b->first; i < b->rows.count; i++) {
		struct unc_row *row = &b->rows.items[i];

		if (!b->single && describe_gaps(b, row) < 0)
			return -ENOMEM;
		row->ceiling = ceiling_of(b, row);
		if (!row->counter_count)
			row->round = row->first_round = b->sets[q->targets[0].set].round;
	}
	if (b->level == UNCORE_LEVEL_SOCKET || b->level == UNCORE_LEVEL_NODE ||
	    b->level == UNCORE_LEVEL_CHANNEL)
		qsort(&b->rows.items[b->first], b->rows.count - b->first, sizeof(struct unc_row),
		      compare_rows);
	return 0;
}

static bool has_same_counters(const struct unc_row *a, const struct unc_row *b)
{
	bool same = a->counter_count == b->counter_count;

	for (size_t i = 0; same && i < a->counter_count; i++) {
		const struct unc_row_counter *x = &a->counters[i], *y = &b->counters[i];

		same = x->number == y->number && x->event == y->event &&
		       x->instance - a->counters->instance == y->instance - b->counters->instance;
	}
	return same;
}

/* Whether all that makes the value and the quality of a row is that of the row before it, as for
 * the machine and its only socket. A metric that other metrics decide is judged by their rows. */
static bool repeats(const struct unc_row *before, const struct unc_row *row)
{
	const struct uncore_metric *metric = row->query->metric;
	bool same_ceiling =
		before->ceiling == row->ceiling || (isnan(before->ceiling) && isnan(row->ceiling));

	return before->query == row->query && !(metric && (metric->over || metric->doubt)) &&
	       same_ceiling && before->place.port == row->place.port && before->bug == row->bug &&
	       !before->gaps && !row->gaps && has_same_counters(before, row);
}

int unc_rows_make(struct unc_rows *out, struct uncore *u, const struct unc_query *queries,
		  size_t query_count, const struct unc_request_set *sets)
{
	struct row_builder b = {.u = u, .sets = sets};
	int r = 0;

	for (size_t i = 0; i < query_count; i++) {
		unsigned asked = levels_of(&queries[i], queries[i].levels);
		unsigned levels = asked | extra_levels_of(&queries[i]);

		for (b.level = 0; r == 0 && b.level <= UNCORE_LEVEL_PART; b.level++) {
			b.single = b.level >= UNCORE_LEVEL_INSTANCE;
			b.extra = !(asked >> b.level & 1);
			if (levels >> b.level & 1)
				r = add_query(&b, &queries[i]);
		}
	}
	for (size_t i = 1; r == 0 && i < b.rows.count; i++)
		b.rows.items[i].repeats = repeats(&b.rows.items[i - 1], &b.rows.items[i]);
	if (r < 0)
		unc_rows_finish(&b.rows);
	else
		*out = b.rows;
	return r;
}

void unc_rows_finish(struct unc_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		free(rows->items[i].counters);
		free(rows->items[i].gaps);
	}
	free(rows->items);
	*rows = (struct unc_rows){0};
}

/* ---- sums ---- */

void unc_sum_add(struct unc_sum *sum, const struct unc_interval *interval, size_t counter)
{
	const struct unc_delta *d = &interval->deltas[counter];
	const struct uncore_counter *c = &interval->counters[counter];
	const struct unc_clocked *clocked =
		interval->clocks ? &interval->clocks->counters[counter] : NULL;
	uint64_t length_ns = interval->length_ns, skew_ns = d->took_ns;
	double coverage = 1, scaled;

	if (d->state != UNC_COUNTED) {
		sum->waited_ns += d->enabled_ns;
		if (!sum->missing++)
			sum->first_bad = counter;
		if (d->state >= UNC_WENT_BACK && !sum->suspect++)
			sum->first_bad = counter;
		return;
	}
	if (d->running_ns < d->enabled_ns)
		coverage = (double)d->running_ns / (double)d->enabled_ns;
	if (coverage < sum->coverage)
		sum->coverage = coverage;
	skew_ns += d->window_ns > length_ns ? d->window_ns - length_ns : length_ns - d->window_ns;
	if (skew_ns > sum->skew_ns)
		sum->skew_ns = skew_ns;
	scaled = unc_delta_scaled(c, d);
	sum->value += scaled;
	if (!c->snapshot)
		sum->per_s += scaled / ((double)d->enabled_ns / 1e9);
	if (!sum->used || d->enabled_ns < sum->shortest_ns)
		sum->shortest_ns = d->enabled_ns;
	if (d->enabled_ns > sum->longest_ns)
		sum->longest_ns = d->enabled_ns;
	sum->count += d->count;
	sum->enabled_ns += d->enabled_ns;
	sum->running_ns += d->running_ns;
	if (d->uncertain_ns > sum->uncertain_ns)
		sum->uncertain_ns = d->uncertain_ns;
	if (d->took_ns > sum->took_ns)
		sum->took_ns = d->took_ns;
	if (c->error_share > sum->error_share)
		sum->error_share = c->error_share;
	sum->own += d->own;
	sum->way = sum->way ? sum->way : c->way;
	sum->used++;
	/* It began late or ended early, because its CPU went offline or came back. The slack is for
	 * differences between its times and the clock. The window is known only if the source
	 * stamps each reading. */
	if (d->took_ns && d->enabled_ns + CUT_SHORT_SLACK_NS < d->window_ns &&
	    (double)d->enabled_ns < CUT_SHORT_SHARE * (double)d->window_ns && !sum->cut_short++)
		sum->first_cut_short = counter;
	if (d->interrupted && !sum->interrupted++)
		sum->first_interrupted = counter;
	if (d->torn && !sum->torn++)
		sum->first_torn = counter;
	if (d->incomplete && !sum->incomplete++)
		sum->first_incomplete = counter;
	/* Its event never stops, but it did not move for long enough: in this interval, or since
	 * the start. */
	if (clocked && clocked->never_idle && !d->count &&
	    (d->running_ns >= UNC_STUCK_NS || clocked->still_ns >= UNC_STUCK_NS) && !sum->still++)
		sum->first_still = counter;
}

/* The counter without a value that removes the others of its instance: a ratio uses an instance
 * with all its counters or not at all. NULL: all have one. */
static const struct unc_row_counter *missing_of(const struct unc_interval *interval,
						const struct unc_row_counter *from,
						const struct unc_row_counter *end)
{
	const struct unc_row_counter *bad = NULL;

	for (const struct unc_row_counter *c = from; c < end && c->instance == from->instance; c++)
		if (interval->deltas[c->number].state != UNC_COUNTED &&
		    (!bad || c->event < bad->event))
			bad = c;
	return bad;
}

void unc_row_sum(const struct unc_row *row, const struct unc_interval *interval,
		 struct unc_sum sums[static UNC_METRIC_EVENTS])
{
	const struct uncore_metric *metric = row->query->metric;
	bool is_ratio = metric && metric->formula->ratio, lacking = false;
	const struct unc_row_counter *bad = NULL;

	memset(sums, 0, row->query->event_count * sizeof(*sums));
	for (size_t k = 0; k < row->query->event_count; k++)
		sums[k].coverage = 1;
	for (size_t i = 0; i < row->counter_count; i++) {
		const struct unc_row_counter *c = &row->counters[i];

		if (!i || c[-1].instance != c->instance) {
			lacking = interval->clocks && interval->clocks->counters[c->number].lacking;
			bad = is_ratio ? missing_of(interval, c, row->counters + row->counter_count)
				       : NULL;
		}
		if (lacking)
			continue;
		if (bad && interval->deltas[c->number].state == UNC_COUNTED)
			unc_sum_add(&sums[c->event], interval, bad->number);
		else
			unc_sum_add(&sums[c->event], interval, c->number);
	}
}
