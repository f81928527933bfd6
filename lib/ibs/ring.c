/* SPDX-License-Identifier: MIT */
/* ibs_op of every CPU: opened, mapped, drained. */
#define _GNU_SOURCE
#include "ibs/ibs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

/* Without further rights a user may lock 512 KiB and a page for each CPU. */
#define RING_BYTES ((size_t)512 << 10)
#define RING_LEAST ((size_t)16 << 10)

static int open_ring(struct unc_ibs_ring *ring, const struct unc_kernel_env *env,
		     const struct unc_counter *event, uint64_t period, size_t page,
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
	a.is.wakeup_watermark = (uint32_t)RING_BYTES; /* no program waits for it */
	*ring = (struct unc_ibs_ring){.fd = unc_perf_open(&a, event->cpu, -1)};
	if (ring->fd < 0) {
		unc_kernel_why(env, event, ring->fd, e);
		return ring->fd;
	}
	/* The largest ring that this user may lock. */
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
		       const struct unc_counter *event, uint64_t period, struct unc_error *e)
{
	const struct unc_cpulist *cpus = &event->pmu->cpus;
	struct unc_counter one = *event;
	bool final = false; /* other CPUs would be refused, too */
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
