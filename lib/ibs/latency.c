/* SPDX-License-Identifier: MIT */
/* struct uncore_latency: makes rows of loads that AMD's or Arm's CPUs sample, or that were
 * recorded. */
#include "ibs/rings.h"
#include "ibs/sampler.h"

#include <math.h>

/* Ops between two samples: a few thousand samples in a second on each CPU. */
#define PERIOD 1000000u
#define HARDWARE_LEAST 128u
#define HARDWARE_MOST 2048u

struct uncore_latency {
	struct uncore *u;
	struct unc_ibs ibs;
	struct unc_ibs_rings rings; /* empty for a recording */
	bool l3_misses_only;
	struct uncore_latency_row rows[UNC_IBS_SOURCES];
	size_t count;
	char missing[sizeof(struct unc_error) + 80]; /* why CPUs are missing; "": none is missing */
	char reason[sizeof(struct unc_error) + 480]; /* why rows are partial; "": they are not */
	char note[512];
	/* With a key: */
	struct unc_tasks tasks;
	struct unc_keys keys;
	struct uncore_latency_key *key_rows;
	size_t key_count;
};

/* ---- rows ---- */

/* The end of the bin that contains the percentile. */
static double percentile(const double *counts, unsigned per_mille)
{
	size_t bin = 0;

	unc_histogram_percentile(counts, UNCORE_LATENCY_BINS, per_mille, &bin);
	return (double)(uncore_latency_bin(bin + 1) - 1);
}

static void append(char *to, size_t room, uint64_t count, const char *what)
{
	size_t used = strlen(to);

	if (count)
		snprintf(to + used, room - used, "%s%llu %s", used ? "; " : "",
			 (unsigned long long)count, what);
}

static void put_note(struct uncore_latency *l, uint64_t count, const char *what)
{
	append(l->note, sizeof(l->note), count, what);
}

/* What the samples are not all of: CPUs, samples without room, and packets that SPE could not
 * write. */
static void make_reason(struct uncore_latency *l)
{
	const struct unc_trace *t = &l->ibs.trace;
	bool said = t->truncated || t->gaps; /* what SPE lost; counts.lost has it, too */

	snprintf(l->reason, sizeof(l->reason), "%s", l->missing);
	append(l->reason, sizeof(l->reason), t->truncated,
	       "times samples were cut off, the buffer was full");
	append(l->reason, sizeof(l->reason), t->collided,
	       "times ops were not sampled, the sample before was not complete (collision)");
	append(l->reason, sizeof(l->reason), t->gaps,
	       "pieces of the buffer lost, the ring of records was full");
	append(l->reason, sizeof(l->reason), said ? 0 : l->ibs.counts.lost,
	       "samples lost, the buffer was full");
	append(l->reason, sizeof(l->reason), l->ibs.counts.throttled,
	       "times the kernel throttled sampling");
}

/* What the numbers leave out. */
static void make_note(struct uncore_latency *l)
{
	snprintf(l->note, sizeof(l->note), "%s",
		 l->l3_misses_only ? "filtered by the hardware: on Zen 5 only ops that missed the "
				     "L3 are sampled with it"
				   : "");
	put_note(l, l->keys.unknown, "loads do not say what the key is made of");
	put_note(l, l->tasks.refused, "processes whose mappings this user may not read");
	put_note(l, l->tasks.changed, "files are not the ones that were mapped: no symbols");
	put_note(l, l->tasks.large, "files with more symbols than there is room for: no symbols");
	put_note(l, l->tasks.dropped, "records of names and mappings left out: too many");
}

static void make_rows(struct uncore_latency *l)
{
	bool complete;

	make_reason(l);
	complete = l->reason[0] == '\0';
	l->count = 0;
	for (unsigned i = 0; i < UNC_IBS_SOURCES; i++) {
		const struct unc_ibs_sum *sum = &l->ibs.sums[i];
		double counts[UNCORE_LATENCY_BINS];

		if (sum->samples == 0)
			continue;
		for (size_t k = 0; k < UNCORE_LATENCY_BINS; k++)
			counts[k] = (double)sum->bins[k];
		l->rows[l->count++] = (struct uncore_latency_row){
			.source = unc_ibs_places[i].name,
			.samples = sum->samples,
			.mean = (double)sum->clocks / (double)sum->samples,
			.p50 = percentile(counts, 500),
			.p90 = percentile(counts, 900),
			.p99 = percentile(counts, 990),
			.bins = sum->bins,
			.quality = complete ? UNCORE_SAMPLED : UNCORE_PARTIAL,
			.reason = complete ? NULL : l->reason,
		};
	}
	l->ibs.counts.coverage = unc_ibs_rings_coverage(&l->rings);
	make_note(l);
}

/* ---- keys ---- */

static int compare_sums(const void *a, const void *b)
{
	const struct unc_key_sum *const *x = a, *const *y = b;

	if ((*x)->samples != (*y)->samples)
		return (*x)->samples > (*y)->samples ? -1 : 1;
	return memcmp(&(*x)->key, &(*y)->key, sizeof((*x)->key));
}

static const char *main_source(const struct unc_key_sum *sum)
{
	enum unc_ibs_source most = 0;

	for (unsigned i = 1; i < UNC_IBS_SOURCES; i++)
		if (sum->by_source[i] > sum->by_source[most])
			most = i;
	return unc_ibs_places[most].name;
}

static void set_numbers(const struct uncore_latency *l, const struct unc_key_sum *sum,
			struct uncore_latency_key *row)
{
	bool complete = l->reason[0] == '\0';
	double counts[UNCORE_LATENCY_BINS];

	for (size_t i = 0; i < UNCORE_LATENCY_BINS; i++)
		counts[i] = (double)sum->bins[i];
	for (unsigned i = 0; i < UNC_IBS_SOURCES; i++) {
		unsigned from = unc_ibs_places[i].kind;

		row->local += from == UNCORE_LATENCY_FROM_LOCAL ? sum->by_source[i] : 0;
		row->remote += from == UNCORE_LATENCY_FROM_REMOTE ? sum->by_source[i] : 0;
		row->extension += from == UNCORE_LATENCY_FROM_EXTENSION ? sum->by_source[i] : 0;
	}
	row->samples = sum->samples;
	row->mean = (double)sum->clocks / (double)sum->samples;
	row->p99 = percentile(counts, 990);
	row->source = main_source(sum);
	row->quality = complete ? UNCORE_SAMPLED : UNCORE_PARTIAL;
	row->reason = complete ? NULL : l->reason;
}

static void add_key_row(struct uncore_latency *l, const struct unc_key_sum *sum, bool rest)
{
	const struct unc_key *key = &sum->key;
	struct uncore_latency_key *row = &l->key_rows[l->key_count++];
	enum uncore_latency_by by = l->keys.by;

	*row = (struct uncore_latency_key){
		.rest = rest, .pid = -1, .tid = -1, .process = "", .node = -1};
	set_numbers(l, sum, row);
	if (rest)
		return;
	row->pid = key->pid;
	row->tid = key->tid;
	row->process = key->process;
	if (by == UNCORE_LATENCY_BY_ADDRESS) {
		row->page = key->place;
		row->node = unc_tasks_node(&l->tasks, key->pid, key->place);
	} else if (by == UNCORE_LATENCY_BY_SYMBOL) {
		row->object = key->object ? l->tasks.objects[key->object - 1]->path : NULL;
		row->symbol = sum->symbol;
		row->offset = key->place;
	}
}

int uncore_latency_keys(struct uncore_latency *l, size_t most)
{
	struct unc_key_sum rest = l->keys.rest;
	size_t count = l->keys.count, shown = most && most < count ? most : count;
	const struct unc_key_sum **sorted;

	free(l->key_rows);
	l->key_count = 0;
	l->key_rows = calloc(count + 1, sizeof(*l->key_rows));
	sorted = calloc(count + 1, sizeof(struct unc_key_sum *));
	if (!l->key_rows || !sorted) {
		free(sorted);
		return unc_nomem(&l->u->error);
	}
	for (size_t i = 0; i < count; i++)
		sorted[i] = l->keys.items[i];
	qsort(sorted, count, sizeof(*sorted), compare_sums);
	for (size_t i = 0; i < shown; i++)
		add_key_row(l, sorted[i], false);
	for (size_t i = shown; i < count; i++)
		unc_keys_merge(&rest, sorted[i]);
	if (rest.samples)
		add_key_row(l, &rest, true);
	free(sorted);
	return (int)l->key_count;
}

const struct uncore_latency_key *uncore_latency_key_at(const struct uncore_latency *l, size_t i)
{
	return &l->key_rows[i];
}

/* ---- opening ---- */

static int new_latency(struct uncore_latency **out, struct uncore *u, unsigned least,
		       enum uncore_latency_by by, unsigned from)
{
	struct uncore_latency *l;

	if (!u->scanned)
		return unc_fail(&u->error, EBUSY,
				"the machine is not scanned: uncore_scan() first");
	if (least > UNC_IBS_LATENCY_MAX)
		return unc_fail(&u->error, EINVAL, "latencies are %u clocks at most, and not %u",
				UNC_IBS_LATENCY_MAX, least);
	if (by > UNCORE_LATENCY_BY_ADDRESS ||
	    (from | UNCORE_LATENCY_FROM_MEMORY | UNCORE_LATENCY_FROM_CACHE) !=
		    (UNCORE_LATENCY_FROM_MEMORY | UNCORE_LATENCY_FROM_CACHE))
		return unc_fail(&u->error, EINVAL, "loads by %u from %#x: no such number",
				(unsigned)by, from);
	l = calloc(1, sizeof(*l));
	if (!l)
		return unc_nomem(&u->error);
	l->u = u;
	l->ibs = (struct unc_ibs){.least = least, .from = from};
	l->tasks.root = u->root;
	l->keys.by = by;
	if (by != UNCORE_LATENCY_BY_SOURCE) {
		l->ibs.tasks = &l->tasks;
		l->ibs.keys = &l->keys;
	}
	u->monitors++;
	*out = l;
	return 0;
}

void uncore_latency_free(struct uncore_latency *l)
{
	if (!l)
		return;
	unc_ibs_rings_finish(&l->rings);
	unc_trace_finish(&l->ibs.trace);
	unc_tasks_finish(&l->tasks);
	unc_keys_finish(&l->keys);
	free(l->key_rows);
	l->u->monitors--;
	free(l);
}

/* The hardware drops latencies up to this. */
static unsigned below(unsigned least)
{
	unsigned last = least ? least - 1 : 0;

	return last < HARDWARE_MOST ? last : HARDWARE_MOST;
}

/* The terms of the event that this CPU and kernel have. */
static void make_terms(struct uncore_latency *l, const struct unc_sampler *from, char *terms,
		       size_t room)
{
	const struct unc_pmu_terms {
		const char *name;
		unsigned value;
	} all[] = {
		{"cnt_ctl", !from->spe},
		{"ldlat", l->l3_misses_only ? below(l->ibs.least) : 0},
		{"load_filter", from->spe},
		{"ts_enable", from->spe},
		{"min_latency", !from->spe                           ? 0
				: l->ibs.least < UNC_SPE_LATENCY_MAX ? l->ibs.least
								     : UNC_SPE_LATENCY_MAX},
	};
	size_t used = 0;

	terms[0] = '\0';
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i].value && unc_pmu_term(from->pmu, all[i].name))
			used += (size_t)snprintf(terms + used, room - used, "%s%s=%u",
						 used ? "," : "", all[i].name, all[i].value);
}

/* Finds the hardware, or the reason why there is none. */
static int find_sampler(struct uncore *u, struct unc_sampler *out)
{
	if (u->sim || !unc_root_is_live(u->root))
		return unc_fail(&u->error, EOPNOTSUPP,
				"loads can be sampled on the running machine only, not on one that "
				"is simulated or a directory: a recording can be read anywhere");
	return unc_sampler_find(u, out) ? unc_pmu_load(out->pmu) : unc_sampler_why(u, &u->error);
}

static int open_live(struct uncore_latency *l)
{
	struct uncore *u = l->u;
	const struct unc_kernel_env env = {.root = u->root, .topology = &u->topology};
	struct unc_encoding encoding;
	struct unc_sampler from = {0};
	struct uncore_counter event;
	char terms[96];
	int ret = find_sampler(u, &from);

	if (ret < 0)
		return ret;
	l->l3_misses_only = !from.spe && below(l->ibs.least) >= HARDWARE_LEAST &&
			    unc_pmu_term(from.pmu, "ldlat");
	make_terms(l, &from, terms, sizeof(terms));
	ret = unc_pmu_encode(from.pmu, terms, &encoding, &u->error);
	if (ret < 0)
		return ret;
	event = (struct uncore_counter){.pmu = from.pmu, .event = terms};
	memcpy(event.config, &encoding.config, sizeof(event.config));
	l->tasks.live = true;
	l->ibs.spe = from.spe;
	l->rings.spe = from.spe;
	l->rings.tasks = l->ibs.keys != NULL;
	ret = unc_ibs_rings_open(&l->rings, &env, &event, PERIOD, &u->error);
	if (ret < 0)
		return ret;
	if (l->rings.count < l->rings.all)
		snprintf(l->missing, sizeof(l->missing), "%zu of %zu CPUs left out: %s",
			 l->rings.all - l->rings.count, l->rings.all, l->rings.why.text);
	else if (from.others)
		snprintf(l->missing, sizeof(l->missing), "only the CPUs of %s: %zu PMUs of others",
			 from.pmu->name, from.others);
	return 0;
}

int uncore_latency_open_by(struct uncore_latency **out, struct uncore *u, const char *path,
			   unsigned least, enum uncore_latency_by by, unsigned from)
{
	struct uncore_latency *l;
	int ret = new_latency(&l, u, least, by, from);

	if (ret < 0)
		return ret;
	ret = path ? unc_ibs_file_read(&l->ibs, path, &u->error) : open_live(l);
	if (ret < 0) {
		uncore_latency_free(l);
		return ret;
	}
	if (path)
		make_rows(l);
	*out = l;
	return 0;
}

int uncore_latency_open(struct uncore_latency **out, struct uncore *u, unsigned least)
{
	return uncore_latency_open_by(out, u, NULL, least, UNCORE_LATENCY_BY_SOURCE, 0);
}

int uncore_latency_open_file(struct uncore_latency **out, struct uncore *u, const char *path,
			     unsigned least)
{
	return uncore_latency_open_by(out, u, path, least, UNCORE_LATENCY_BY_SOURCE, 0);
}

/* ---- sampling ---- */

int uncore_latency_start(struct uncore_latency *l)
{
	return unc_ibs_rings_start(&l->rings, &l->u->error);
}

int uncore_latency_collect(struct uncore_latency *l)
{
	int ret = unc_ibs_rings_drain(&l->rings, &l->ibs, &l->u->error);

	make_rows(l);
	return ret;
}

void uncore_latency_clear(struct uncore_latency *l)
{
	memset(&l->ibs.counts, 0, sizeof(l->ibs.counts));
	memset(l->ibs.sums, 0, sizeof(l->ibs.sums));
	l->ibs.trace.truncated = l->ibs.trace.collided = l->ibs.trace.gaps = 0;
	unc_keys_clear(&l->keys);
	unc_tasks_trim(&l->tasks);
	l->count = l->key_count = 0;
}

size_t uncore_latency_count(const struct uncore_latency *l)
{
	return l->count;
}

const struct uncore_latency_row *uncore_latency_at(const struct uncore_latency *l, size_t i)
{
	return &l->rows[i];
}

const struct uncore_latency_counts *uncore_latency_total(const struct uncore_latency *l)
{
	return &l->ibs.counts;
}

const char *uncore_latency_hardware(const struct uncore_latency *l)
{
	return l->ibs.spe ? "spe" : "ibs";
}

const char *uncore_latency_about(const struct uncore_latency *l)
{
	if (l->ibs.spe)
		return "Core clocks from the dispatch of a sampled load that missed the first data "
		       "cache to its completion; not the average latency of memory: loads that "
		       "hit, stores, prefetches and DMA are not included";
	return "Core clocks from the miss of the first data cache to the data, of sampled loads; "
	       "not the average latency of memory: loads that hit, stores, prefetches and DMA are "
	       "not included";
}

const char *uncore_latency_note(const struct uncore_latency *l)
{
	return l->note[0] ? l->note : NULL;
}
