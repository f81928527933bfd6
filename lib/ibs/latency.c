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
};

/* ---- rows ---- */

/* The end of the bin that contains the percentile. */
static double percentile(const struct unc_ibs_sum *sum, unsigned per_mille)
{
	double counts[UNCORE_LATENCY_BINS];
	size_t bin = 0;

	for (size_t i = 0; i < UNCORE_LATENCY_BINS; i++)
		counts[i] = (double)sum->bins[i];
	unc_histogram_percentile(counts, UNCORE_LATENCY_BINS, per_mille, &bin);
	return (double)(uncore_latency_bin(bin + 1) - 1);
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
}

/* ---- opening ---- */

static int new_latency(struct uncore_latency **out, struct uncore *u, unsigned least)
{
	struct uncore_latency *l;

	if (!u->scanned)
		return unc_fail(&u->error, EBUSY,
				"the machine is not scanned: uncore_scan() first");
	if (least > UNC_IBS_LATENCY_MAX)
		return unc_fail(&u->error, EINVAL, "latencies are %u clocks at most, and not %u",
				UNC_IBS_LATENCY_MAX, least);
	l = calloc(1, sizeof(*l));
	if (!l)
		return unc_nomem(&u->error);
	l->u = u;
	l->ibs.least = least;
	u->monitors++;
	*out = l;
	return 0;
}

void uncore_latency_free(struct uncore_latency *l)
{
	if (!l)
		return;
	unc_ibs_rings_finish(&l->rings);
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

int uncore_latency_open(struct uncore_latency **out, struct uncore *u, unsigned least)
{
	const struct unc_kernel_env env = {.root = u->root, .topology = &u->topology};
	unsigned below = least ? least - 1 : 0; /* the kernel drops latencies up to this */
	struct unc_encoding encoding;
	const struct uncore_pmu *pmu = NULL;
	struct uncore_latency *l = NULL;
	struct uncore_counter event;
	char terms[64] = "";
	int ret = new_latency(&l, u, least);

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
	ret = unc_ibs_rings_open(&l->rings, &env, &event, PERIOD, &u->error);
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

int uncore_latency_open_file(struct uncore_latency **out, struct uncore *u, const char *path,
			     unsigned least)
{
	struct uncore_latency *l = NULL;
	int ret = new_latency(&l, u, least);

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
	l->ibs = (struct unc_ibs){.least = l->ibs.least};
	l->count = 0;
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

const char *uncore_latency_note(const struct uncore_latency *l)
{
	return l->l3_misses_only ? "filtered by the hardware: on Zen 5 only ops that missed the L3 "
				   "are sampled with it"
				 : NULL;
}

/* ---- ibs_op on each CPU: opened, mapped, drained ---- */

/* Without further rights a user may lock 512 KiB plus a page for each CPU. */
#define RING_BYTES ((size_t)512 << 10)
#define RING_LEAST ((size_t)16 << 10)

static int open_ring(struct unc_ibs_ring *ring, const struct unc_kernel_env *env,
		     const struct uncore_counter *event, uint64_t period, size_t page,
		     struct unc_error *e)
{
	union unc_perf_attr a;
	void *at;
	int err;

	unc_perf_attr_init(&a, event);
	a.is.sample_period = period;
	a.is.sample_type = PERF_SAMPLE_RAW;
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
		       const struct uncore_counter *event, uint64_t period, struct unc_error *e)
{
	const struct unc_cpulist *cpus = &event->pmu->cpus;
	struct uncore_counter one = *event;
	bool final = false; /* other CPUs would be refused for the same reason */
	int ret = 0;

	*r = (struct unc_ibs_rings){
		.page = (size_t)sysconf(_SC_PAGESIZE),
		.all = cpus->count,
		.items = calloc(cpus->count + 1, sizeof(*r->items)),
		.copy = malloc(RING_BYTES),
	};
	if (!r->items || !r->copy)
		return unc_nomem(e);
	for (size_t i = 0; i < cpus->count && !final; i++) {
		struct unc_error why;

		one.cpu = cpus->ids[i];
		ret = open_ring(&r->items[r->count], env, &one, period, r->page, &why);
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

int unc_ibs_rings_drain(struct unc_ibs_rings *r, struct unc_ibs *into, struct unc_error *e)
{
	static const struct unc_ibs_layout layout = {0}; /* raw data and nothing else */
	int ret = 0;

	for (size_t i = 0; i < r->count && ret == 0; i++) {
		const struct unc_ibs_ring *ring = &r->items[i];
		const char *data = (const char *)ring->page + r->page;
		uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
		size_t size = (size_t)(head - ring->page->data_tail);
		size_t begin = (size_t)(ring->page->data_tail % ring->bytes);
		size_t first = size < ring->bytes - begin ? size : ring->bytes - begin;

		if (size > ring->bytes)
			return unc_fail(e, EBADMSG,
					"the kernel's ring of samples has %zu bytes in "
					"%zu",
					size, ring->bytes);
		memcpy(r->copy, data + begin, first);
		memcpy(r->copy + first, data, size - first);
		__atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
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
