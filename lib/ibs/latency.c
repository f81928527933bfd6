/* SPDX-License-Identifier: MIT */
/* struct uncore_latency: makes rows of loads that AMD's CPUs sample, or that were recorded; the
 * rings of samples. */
#define _GNU_SOURCE
#include "ibs/ibs.h"
#include "object.h"

#include <math.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

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
	char reason[sizeof(struct unc_error) + 80]; /* why CPUs are missing; "": none is missing */
	char note[512];
	/* With a key: */
	struct unc_tasks tasks;
	struct unc_keys keys;
	struct uncore_latency_key *key_rows;
	size_t key_count;
};

/* ---- rows ---- */

/* The end of the bin that contains the percentile. */
static double percentile_of(const double *counts, unsigned per_mille)
{
	size_t bin = 0;

	unc_histogram_percentile(counts, UNCORE_LATENCY_BINS, per_mille, &bin);
	return (double)(uncore_latency_bin(bin + 1) - 1);
}

static double percentile(const struct unc_ibs_sum *sum, unsigned per_mille)
{
	double counts[UNCORE_LATENCY_BINS];

	for (size_t i = 0; i < UNCORE_LATENCY_BINS; i++)
		counts[i] = (double)sum->bins[i];
	return percentile_of(counts, per_mille);
}

static void put_note(struct uncore_latency *l, uint64_t count, const char *what)
{
	size_t used = strlen(l->note);

	if (count)
		snprintf(l->note + used, sizeof(l->note) - used, "%s%llu %s", used ? "; " : "",
			 (unsigned long long)count, what);
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
	bool complete = l->reason[0] == '\0';

	l->count = 0;
	for (unsigned i = 0; i < UNC_IBS_SOURCES; i++) {
		const struct unc_ibs_sum *sum = &l->ibs.sums[i];

		if (sum->samples == 0)
			continue;
		l->rows[l->count++] = (struct uncore_latency_row){
			.source = unc_ibs_source_name(i),
			.samples = sum->samples,
			.mean = (double)sum->clocks / (double)sum->samples,
			.p50 = percentile(sum, 500),
			.p90 = percentile(sum, 900),
			.p99 = percentile(sum, 990),
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
	return unc_ibs_source_name(most);
}

static void set_numbers(const struct uncore_latency *l, const struct unc_key_sum *sum,
			struct uncore_latency_key *row)
{
	bool complete = l->reason[0] == '\0';
	double counts[UNCORE_LATENCY_BINS];

	for (size_t i = 0; i < UNCORE_LATENCY_BINS; i++)
		counts[i] = (double)sum->bins[i];
	for (unsigned i = 0; i < UNC_IBS_SOURCES; i++) {
		unsigned from = unc_ibs_source_class(i);

		row->local += from == UNCORE_LATENCY_FROM_LOCAL ? sum->by_source[i] : 0;
		row->remote += from == UNCORE_LATENCY_FROM_REMOTE ? sum->by_source[i] : 0;
		row->extension += from == UNCORE_LATENCY_FROM_EXTENSION ? sum->by_source[i] : 0;
	}
	row->samples = sum->samples;
	row->mean = (double)sum->clocks / (double)sum->samples;
	row->p99 = percentile_of(counts, 990);
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
		row->object = key->object ? l->tasks.objects[key->object - 1].path : NULL;
		row->symbol = sum->symbol;
		row->offset = key->place;
	}
}

int uncore_latency_keys(struct uncore_latency *l, size_t most)
{
	struct unc_key_sum rest = l->keys.rest;
	const struct unc_key_sum **sorted;
	size_t count = 0, shown;

	free(l->key_rows);
	l->key_count = 0;
	l->key_rows = calloc(l->keys.count + 1, sizeof(*l->key_rows));
	sorted = calloc(l->keys.count + 1, sizeof(struct unc_key_sum *));
	if (!l->key_rows || !sorted) {
		free(sorted);
		return unc_nomem(&l->u->error);
	}
	for (size_t i = 0; i < l->keys.room; i++)
		if (l->keys.items[i].samples)
			sorted[count++] = &l->keys.items[i];
	qsort(sorted, count, sizeof(*sorted), compare_sums);
	shown = most && most < count ? most : count;
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

/* What both ways of opening have in common. */
struct selection {
	unsigned least;
	enum uncore_latency_by by;
	unsigned from;
};

static int new_latency(struct uncore_latency **out, struct uncore *u, const struct selection *s)
{
	struct uncore_latency *l;

	if (!u->scanned)
		return unc_fail(&u->error, EBUSY,
				"the machine is not scanned: uncore_scan() first");
	if (s->least > UNC_IBS_LATENCY_MAX)
		return unc_fail(&u->error, EINVAL, "latencies are %u clocks at most, and not %u",
				UNC_IBS_LATENCY_MAX, s->least);
	if (s->by > UNCORE_LATENCY_BY_ADDRESS ||
	    (s->from | UNCORE_LATENCY_FROM_MEMORY | UNCORE_LATENCY_FROM_CACHE) !=
		    (UNCORE_LATENCY_FROM_MEMORY | UNCORE_LATENCY_FROM_CACHE))
		return unc_fail(&u->error, EINVAL, "loads by %u from %#x: no such number",
				(unsigned)s->by, s->from);
	l = calloc(1, sizeof(*l));
	if (!l)
		return unc_nomem(&u->error);
	l->u = u;
	l->ibs = (struct unc_ibs){.least = s->least, .from = s->from};
	l->tasks.root = u->root;
	l->keys.by = s->by;
	if (s->by != UNCORE_LATENCY_BY_SOURCE) {
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
	unc_tasks_finish(&l->tasks);
	unc_keys_finish(&l->keys);
	free(l->key_rows);
	l->u->monitors--;
	free(l);
}

/* Finds the PMU, or the reason why there is none. */
static int find_pmu(struct uncore *u, const struct uncore_pmu **out)
{
	const char *cpu = u->topology.cpu_model;

	if (u->sim || !unc_root_is_live(u->root))
		return unc_fail(&u->error, EOPNOTSUPP,
				"loads can be sampled on the running machine only, not on one that "
				"is simulated or a directory: a recording can be read anywhere");
	for (size_t i = 0; i < u->pmus.count; i++) {
		*out = &u->pmus.items[i];
		if (strcmp((*out)->name, "ibs_op") == 0 && !(*out)->broken)
			return 0;
	}
	for (size_t i = 0; i < u->pmus.count; i++)
		if (strncmp(u->pmus.items[i].name, "arm_spe_", 8) == 0)
			return unc_fail(&u->error, EOPNOTSUPP,
					"this CPU samples loads with SPE, which is read from "
					"recordings only: perf record -a -e "
					"arm_spe_0/load_filter=1,ts_enable=1/");
	if (strncmp(cpu, "amd/", 4) != 0)
		return unc_fail(&u->error, ENODEV,
				"this CPU (%s) has no IBS: instruction-based sampling is AMD's",
				cpu);
	if (u->topology.guest[0])
		return unc_fail(&u->error, ENODEV, "this CPU (%s) shows no IBS (no PMU ibs_op): %s",
				cpu, u->topology.guest);
	return unc_fail(&u->error, ENODEV,
			"this CPU (%s) shows no IBS (no PMU ibs_op): it is switched off in the "
			"firmware, or the kernel has been built without it; see 'dmesg | grep IBS'",
			cpu);
}

static int open_live(struct uncore_latency **out, struct uncore *u, const struct selection *s)
{
	const struct unc_kernel_env env = {.root = u->root, .topology = &u->topology};
	unsigned below = s->least ? s->least - 1 : 0; /* the kernel drops latencies up to this */
	struct unc_encoding encoding;
	const struct uncore_pmu *pmu = NULL;
	struct uncore_latency *l = NULL;
	struct uncore_counter event;
	char terms[64] = "";
	int ret = new_latency(&l, u, s);

	if (!l)
		return ret;
	ret = find_pmu(u, &pmu);
	if (ret == 0)
		ret = unc_pmu_load(pmu);
	if (ret < 0)
		goto fail;
	/* Only the terms that this CPU and kernel have. */
	if (below > HARDWARE_MOST)
		below = HARDWARE_MOST;
	l->l3_misses_only = below >= HARDWARE_LEAST && unc_pmu_term(pmu, "ldlat");
	if (unc_pmu_term(pmu, "cnt_ctl"))
		strcpy(terms, "cnt_ctl=1");
	if (l->l3_misses_only)
		snprintf(terms + strlen(terms), sizeof(terms) - strlen(terms), "%sldlat=%u",
			 terms[0] ? "," : "", below);
	ret = unc_pmu_encode(pmu, terms, &encoding, &u->error);
	if (ret < 0)
		goto fail;
	event = (struct uncore_counter){.pmu = pmu, .event = terms};
	memcpy(event.config, &encoding.config, sizeof(event.config));
	l->tasks.live = true;
	ret = unc_ibs_rings_open(&l->rings, &env, &event, PERIOD, l->ibs.keys != NULL, &u->error);
	if (ret < 0)
		goto fail;
	if (l->rings.count < l->rings.all)
		snprintf(l->reason, sizeof(l->reason), "%zu of %zu CPUs left out: %s",
			 l->rings.all - l->rings.count, l->rings.all, l->rings.why.text);
	*out = l;
	return 0;
fail:
	uncore_latency_free(l);
	return ret;
}

static int open_file(struct uncore_latency **out, struct uncore *u, const char *path,
		     const struct selection *s)
{
	struct uncore_latency *l = NULL;
	int ret = new_latency(&l, u, s);

	if (!l)
		return ret;
	ret = unc_ibs_file_read(&l->ibs, path, &u->error);
	if (ret < 0) {
		uncore_latency_free(l);
		return ret;
	}
	make_rows(l);
	*out = l;
	return 0;
}

int uncore_latency_open_by(struct uncore_latency **out, struct uncore *u, const char *path,
			   unsigned least, enum uncore_latency_by by, unsigned from)
{
	const struct selection s = {least, by, from};

	return path ? open_file(out, u, path, &s) : open_live(out, u, &s);
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

/* ---- ibs_op on each CPU: opened, mapped, drained ---- */

/* Without further rights a user may lock 512 KiB plus a page for each CPU. */
#define RING_BYTES ((size_t)512 << 10)
#define RING_LEAST ((size_t)16 << 10)

#define KEY_FIELDS (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME)

static int open_ring(struct unc_ibs_ring *ring, const struct unc_kernel_env *env,
		     const struct uncore_counter *event, uint64_t period,
		     const struct unc_ibs_rings *r, struct unc_error *e)
{
	union unc_perf_attr a;
	size_t page = r->page;
	void *at;
	int err;

	unc_perf_attr_init(&a, event);
	a.is.sample_period = period;
	a.is.sample_type = PERF_SAMPLE_RAW | (r->tasks ? KEY_FIELDS : 0);
	/* Names, forks, and what is mapped to be executed: on the CPU where it happens. */
	a.is.comm = a.is.comm_exec = a.is.task = a.is.mmap = a.is.mmap2 = r->tasks;
	a.is.sample_id_all = r->tasks;
	a.is.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	a.is.disabled = 1;
	a.is.watermark = 1;
	a.is.wakeup_watermark = (uint32_t)RING_BYTES; /* no program waits for a wake-up */
	*ring = (struct unc_ibs_ring){.fd = unc_perf_open(&a, event->cpu, -1)};
	if (ring->fd < 0) {
		unc_kernel_why(env, event, ring->fd, e);
		return ring->fd;
	}
	/* Tries the largest ring that this user may lock. */
	for (ring->bytes = RING_BYTES; ring->bytes >= RING_LEAST; ring->bytes /= 2) {
		at = mmap(NULL, page + ring->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd,
			  0);
		if (at != MAP_FAILED) {
			ring->page = at;
			return 0;
		}
		if (errno != EPERM && errno != ENOMEM)
			break;
	}
	err = errno;
	close(ring->fd);
	return unc_fail(e, err,
			"%s on CPU %d: no memory for the samples may be locked (%s): "
			"sudo sysctl kernel.perf_event_mlock_kb=516 is the usual limit",
			event->pmu->name, event->cpu, unc_errno_text(err));
}

int unc_ibs_rings_open(struct unc_ibs_rings *r, const struct unc_kernel_env *env,
		       const struct uncore_counter *event, uint64_t period, bool tasks,
		       struct unc_error *e)
{
	const struct unc_cpulist *cpus = &event->pmu->cpus;
	struct uncore_counter one = *event;
	bool final = false; /* other CPUs would be refused for the same reason */
	int ret = 0;

	*r = (struct unc_ibs_rings){
		.page = (size_t)sysconf(_SC_PAGESIZE),
		.tasks = tasks,
		.all = cpus->count,
		.items = calloc(cpus->count + 1, sizeof(*r->items)),
		.copy = malloc(RING_BYTES),
	};
	if (!r->items || !r->copy)
		return unc_nomem(e);
	for (size_t i = 0; i < cpus->count && !final; i++) {
		struct unc_error why;

		one.cpu = cpus->ids[i];
		ret = open_ring(&r->items[r->count], env, &one, period, r, &why);
		final = ret == -EACCES || ret == -EPERM || ret == -EMFILE || ret == -ENFILE;
		if (ret == 0)
			r->count++;
		else if (!r->why.text[0] || final)
			r->why = why;
	}
	if (final || r->count == 0)
		return unc_fail(e, ret ? -ret : ENODEV, "%s",
				r->why.text[0] ? r->why.text : "ibs_op has no CPU to sample on");
	return 0;
}

void unc_ibs_rings_finish(struct unc_ibs_rings *r)
{
	for (size_t i = 0; i < r->count; i++) {
		munmap(r->items[i].page, r->page + r->items[i].bytes);
		close(r->items[i].fd);
	}
	free(r->items);
	free(r->copy);
}

int unc_ibs_rings_start(struct unc_ibs_rings *r, struct unc_error *e)
{
	for (size_t i = 0; i < r->count; i++)
		if (ioctl(r->items[i].fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
			return unc_fail(e, errno, "sampling cannot be started: %s",
					unc_errno_text(errno));
	return 0;
}

/* Copies the records up to the head of the ring, since they may wrap at its end. */
static int copy_records(struct unc_ibs_rings *r, const struct unc_ibs_ring *ring, size_t *size,
			struct unc_error *e)
{
	const char *data = (const char *)ring->page + r->page;
	size_t begin = (size_t)(ring->page->data_tail % ring->bytes), first;

	*size = (size_t)(ring->head - ring->page->data_tail);
	if (*size > ring->bytes)
		return unc_fail(e, EBADMSG, "the kernel's ring of samples has %zu bytes in %zu",
				*size, ring->bytes);
	first = *size < ring->bytes - begin ? *size : ring->bytes - begin;
	memcpy(r->copy, data + begin, first);
	memcpy(r->copy + first, data, *size - first);
	return 0;
}

int unc_ibs_rings_drain(struct unc_ibs_rings *r, struct unc_ibs *into, struct unc_error *e)
{
	const struct unc_ibs_layout layout = {
		.skip = r->tasks ? 3 * sizeof(uint64_t) : 0,
		.type = r->tasks ? KEY_FIELDS : 0,
		.all = r->tasks,
	};
	size_t size;
	int ret = 0;

	for (size_t i = 0; i < r->count; i++)
		r->items[i].head = __atomic_load_n(&r->items[i].page->data_head, __ATOMIC_ACQUIRE);
	/* Names first: another CPU may have recorded them. */
	for (size_t i = 0; i < r->count && r->tasks && ret == 0; i++) {
		ret = copy_records(r, &r->items[i], &size, e);
		if (ret == 0)
			ret = unc_ibs_add_tasks(into, &layout, r->copy, size, e);
	}
	for (size_t i = 0; i < r->count && ret == 0; i++) {
		struct unc_ibs_ring *ring = &r->items[i];

		ret = copy_records(r, ring, &size, e);
		if (ret < 0)
			break;
		__atomic_store_n(&ring->page->data_tail, ring->head, __ATOMIC_RELEASE);
		ret = unc_ibs_add(into, &layout, r->copy, size, e);
	}
	return ret;
}

double unc_ibs_rings_coverage(const struct unc_ibs_rings *r)
{
	double enabled = 0, running = 0;

	for (size_t i = 0; i < r->count; i++) {
		uint64_t words[3]; /* value, time enabled, time running */

		if (read(r->items[i].fd, words, sizeof(words)) != (ssize_t)sizeof(words))
			continue;
		enabled += (double)words[1];
		running += (double)words[2];
	}
	return enabled > 0 ? running / enabled : NAN;
}
