/* SPDX-License-Identifier: MIT */
/* The event on each CPU: opened, mapped, drained. The kernel writes packets of SPE into its second
 * ring (AUX area) only when this is half full or the event stops, so each drain stops it for a
 * moment. */
#define _GNU_SOURCE
#include "ibs/rings.h"

#include <math.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

/* Without further rights a user may lock 512 KiB plus a page for each CPU. */
#define RING_BYTES ((size_t)512 << 10)
#define RING_LEAST ((size_t)16 << 10)
#define SPE_RING_BYTES ((size_t)128 << 10)
#define AUX_BYTES ((size_t)256 << 10)

#define KEY_FIELDS (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME)
#define SPE_FIELDS (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)

/* ---- opening ---- */

/* Names, forks, and what is mapped to be executed: on the CPU where it happens. */
static void ask_for_tasks(union unc_perf_attr *a)
{
	a->is.comm = a->is.comm_exec = a->is.task = a->is.mmap = a->is.mmap2 = 1;
}

static bool may_be_smaller(void)
{
	return errno == EPERM || errno == ENOMEM;
}

static int map_ring(struct unc_ibs_ring *ring, const struct unc_ibs_rings *r)
{
	void *at = MAP_FAILED;

	/* Tries the largest ring that this user may lock. */
	for (ring->bytes = r->spe ? SPE_RING_BYTES : RING_BYTES;
	     ring->bytes >= RING_LEAST && ring->bytes >= r->page; ring->bytes /= 2) {
		at = mmap(NULL, r->page + ring->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd,
			  0);
		if (at != MAP_FAILED || !may_be_smaller())
			break;
	}
	if (at == MAP_FAILED)
		return -errno;
	ring->page = at;
	return 0;
}

static int map_aux(struct unc_ibs_ring *ring, const struct unc_ibs_rings *r)
{
	struct perf_event_mmap_page *page = ring->page;
	void *at = MAP_FAILED;

	/* The driver takes no fewer than two pages. */
	for (size_t size = AUX_BYTES; size >= 2 * r->page; size /= 2) {
		page->aux_offset = r->page + ring->bytes;
		page->aux_size = size;
		ring->aux.size = size;
		at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd,
			  (off_t)page->aux_offset);
		if (at != MAP_FAILED || !may_be_smaller())
			break;
	}
	if (at == MAP_FAILED)
		return -errno;
	ring->aux.bytes = at;
	ring->aux.copy = r->aux_copy;
	return 0;
}

/* A second event writes names and switches into the same ring: the first one stops when its packets
 * have no room. */
static int open_tasks(struct unc_ibs_ring *ring, int cpu)
{
	union unc_perf_attr a = {.is = {.type = PERF_TYPE_SOFTWARE,
					.size = UNC_ATTR_CONFIG3_BYTES,
					.config = PERF_COUNT_SW_DUMMY,
					.sample_type = SPE_FIELDS,
					.sample_period = 1}};

	ask_for_tasks(&a);
	a.is.context_switch = 1;
	a.is.sample_id_all = 1;
	a.is.disabled = 1;
	a.is.watermark = 1;
	a.is.wakeup_watermark = (uint32_t)RING_BYTES;
	ring->tasks_fd = unc_perf_open(&a, cpu, -1);
	if (ring->tasks_fd < 0)
		return ring->tasks_fd;
	return ioctl(ring->tasks_fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) < 0 ? -errno : 0;
}

static void close_ring(struct unc_ibs_ring *ring, const struct unc_ibs_rings *r)
{
	if (ring->aux.bytes)
		munmap((void *)(uintptr_t)ring->aux.bytes, ring->aux.size);
	if (ring->page)
		munmap(ring->page, r->page + ring->bytes);
	if (ring->tasks_fd >= 0)
		close(ring->tasks_fd);
	if (ring->fd >= 0)
		close(ring->fd);
}

static void read_midr(struct unc_ibs_ring *ring, const struct unc_kernel_env *env)
{
	char *text = NULL;

	if (unc_root_read_line(env->root,
			       UNC_PATH("sys/devices/system/cpu/cpu%u/regs/identification/midr_el1",
					(unsigned)ring->aux.cpu),
			       &text) == 0)
		unc_parse_u64(text, &ring->midr);
	free(text);
}

static int open_event(struct unc_ibs_ring *ring, const struct uncore_counter *event,
		      uint64_t period, const struct unc_ibs_rings *r)
{
	union unc_perf_attr a;

	unc_perf_attr_init(&a, event);
	a.is.sample_period = period;
	a.is.sample_type = r->spe ? SPE_FIELDS : PERF_SAMPLE_RAW | (r->tasks ? KEY_FIELDS : 0);
	a.is.sample_id_all = r->tasks || r->spe;
	if (r->tasks && !r->spe)
		ask_for_tasks(&a);
	a.is.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	a.is.disabled = 1;
	a.is.watermark = 1;
	a.is.wakeup_watermark = (uint32_t)RING_BYTES; /* no program waits for a wake-up */
	ring->fd = unc_perf_open(&a, event->cpu, -1);
	return ring->fd;
}

static int open_ring(struct unc_ibs_ring *ring, const struct unc_kernel_env *env,
		     const struct uncore_counter *event, uint64_t period,
		     const struct unc_ibs_rings *r, struct unc_error *e)
{
	int err;

	*ring = (struct unc_ibs_ring){.tasks_fd = -1, .aux = {.cpu = (uint32_t)event->cpu}};
	err = open_event(ring, event, period, r);
	if (err < 0) {
		unc_kernel_why(env, event, err, e);
		return err;
	}
	err = map_ring(ring, r);
	if (err == 0 && r->spe)
		err = map_aux(ring, r);
	if (err == 0 && r->spe && r->tasks)
		err = open_tasks(ring, event->cpu);
	if (err < 0) {
		close_ring(ring, r);
		return unc_fail(e, -err,
				"%s on CPU %d: no memory for the samples may be locked (%s): "
				"sudo sysctl kernel.perf_event_mlock_kb=516 is the usual limit",
				event->pmu->name, event->cpu, unc_errno_text(-err));
	}
	if (r->spe)
		read_midr(ring, env);
	return 0;
}

int unc_ibs_rings_open(struct unc_ibs_rings *r, const struct unc_kernel_env *env,
		       const struct uncore_counter *event, uint64_t period, struct unc_error *e)
{
	const struct unc_cpulist *cpus = &event->pmu->cpus;
	struct uncore_counter one = *event;
	bool final = false; /* other CPUs would be refused for the same reason */
	int ret = 0;

	r->page = (size_t)sysconf(_SC_PAGESIZE);
	r->all = cpus->count;
	r->items = calloc(cpus->count + 1, sizeof(*r->items));
	r->copy = malloc(RING_BYTES);
	r->aux_copy = r->spe ? malloc(AUX_BYTES) : NULL;
	if (!r->items || !r->copy || (r->spe && !r->aux_copy))
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
				r->why.text[0] ? r->why.text : "the PMU has no CPU to sample on");
	return 0;
}

void unc_ibs_rings_finish(struct unc_ibs_rings *r)
{
	for (size_t i = 0; i < r->count; i++)
		close_ring(&r->items[i], r);
	free(r->items);
	free(r->copy);
	free(r->aux_copy);
}

int unc_ibs_rings_start(struct unc_ibs_rings *r, struct unc_error *e)
{
	for (size_t i = 0; i < r->count; i++) {
		const struct unc_ibs_ring *ring = &r->items[i];

		if ((ring->tasks_fd >= 0 && ioctl(ring->tasks_fd, PERF_EVENT_IOC_ENABLE, 0) < 0) ||
		    ioctl(ring->fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
			return unc_fail(e, errno, "sampling cannot be started: %s",
					unc_errno_text(errno));
	}
	return 0;
}

/* ---- draining ---- */

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

/* Makes the kernel write its packets. Nothing runs in between unless there is little room. */
static void flush(struct unc_ibs_ring *ring, struct unc_trace *trace)
{
	uint64_t head;

	ioctl(ring->fd, PERF_EVENT_IOC_DISABLE, 0);
	head = __atomic_load_n(&ring->page->aux_head, __ATOMIC_ACQUIRE);
	/* Its record may have been lost, and none follows: seen twice, there will be none. */
	if (head == ring->aux_head && head > ring->aux.tail) {
		ring->aux.tail = head;
		trace->gaps++;
	}
	ring->aux_head = head;
	ring->stopped = head - ring->aux.tail > ring->aux.size / 2;
	if (!ring->stopped)
		ioctl(ring->fd, PERF_EVENT_IOC_ENABLE, 0);
}

static void free_room(struct unc_ibs_ring *ring)
{
	__atomic_store_n(&ring->page->data_tail, ring->head, __ATOMIC_RELEASE);
	if (!ring->aux.bytes)
		return;
	__atomic_store_n(&ring->page->aux_tail, ring->aux.tail, __ATOMIC_RELEASE);
	if (ring->stopped)
		ioctl(ring->fd, PERF_EVENT_IOC_ENABLE, 0);
}

static struct unc_ibs_layout layout_of(const struct unc_ibs_rings *r, struct unc_ibs_ring *ring)
{
	struct unc_ibs_layout l = {.spe = r->spe, .all = r->tasks || r->spe};

	if (r->spe) {
		l.type = SPE_FIELDS;
		l.midr = ring->midr;
		l.aux = &ring->aux;
		l.switches = r->tasks;
	} else if (r->tasks) {
		l.skip = 3 * sizeof(uint64_t);
		l.type = KEY_FIELDS;
	}
	return l;
}

/* The clock of SPE's packets, as the kernel keeps it in the page. */
static struct unc_clock clock_of(const struct perf_event_mmap_page *page)
{
	struct unc_clock clock = {0};
	uint32_t before;

	if (!page->cap_user_time_zero)
		return clock;
	do {
		before = __atomic_load_n(&page->lock, __ATOMIC_ACQUIRE);
		clock = (struct unc_clock){page->time_shift % 64, page->time_mult, page->time_zero};
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (before != __atomic_load_n(&page->lock, __ATOMIC_RELAXED));
	return clock;
}

int unc_ibs_rings_drain(struct unc_ibs_rings *r, struct unc_ibs *into, struct unc_error *e)
{
	size_t size;
	int ret = 0;

	for (size_t i = 0; i < r->count; i++) {
		struct unc_ibs_ring *ring = &r->items[i];

		if (r->spe)
			flush(ring, &into->trace);
		ring->head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	}
	/* Names first: another CPU may have recorded them. */
	for (size_t i = 0; i < r->count && r->tasks && ret == 0; i++) {
		const struct unc_ibs_layout layout = layout_of(r, &r->items[i]);

		ret = copy_records(r, &r->items[i], &size, e);
		if (ret == 0)
			ret = unc_ibs_add_tasks(into, &layout, r->copy, size, e);
	}
	for (size_t i = 0; i < r->count && ret == 0; i++) {
		struct unc_ibs_ring *ring = &r->items[i];
		const struct unc_ibs_layout layout = layout_of(r, ring);

		if (r->spe)
			into->trace.clock = clock_of(ring->page);
		ret = copy_records(r, ring, &size, e);
		if (ret == 0)
			ret = unc_ibs_add(into, &layout, r->copy, size, e);
		free_room(ring);
	}
	unc_trace_trim(&into->trace);
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
