/* SPDX-License-Identifier: MIT */
/*
 * The process `uncore-nvml`. Its first thread only waits for requests of the library, and ends the
 * process when the socket is closed, even if another thread does not return from the vendor's
 * library. A second one answers, and tries GPUs again that cannot be read. A third one reads the
 * narrow counters of PCIe, often enough that none can wrap twice, if they are counted.
 */
#include "source/nvml/gpu.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The share of the time for which a narrow counter is unique. A thread may be late by the rest. */
#define POLL_SHARE 0.4
/* The same on all architectures; glibc 2.31 does not know it. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
/* Descriptors that are closed one by one on a kernel without close_range(). */
#define MOST_FILES 4096

struct process {
	struct gpus gpus;
	pthread_mutex_t lock;
	pthread_cond_t asked;
	struct unc_nvml_request next; /* the latest request, */
	size_t next_size;             /* of it, in bytes */
	bool has_next;                /* it was not taken yet */
	struct unc_nvml_request request;
	struct unc_nvml_answer answer;
	bool loaded;
	uint64_t retry_ns; /* when GPUs that cannot be read are tried again; 0: never */
};

/* The time between two polls; 0: no GPU needs them. A GPU that comes back may have another. */
static uint64_t poll_period_ns(struct process *p)
{
	uint64_t least_ns = 0;

	for (size_t i = 0; i < p->gpus.count; i++) {
		uint64_t ns = (uint64_t)(POLL_SHARE * (double)gpu_unique_ns(&p->gpus.items[i]));

		if (ns && (!least_ns || ns < least_ns))
			least_ns = ns;
	}
	return least_ns;
}

static void *poll_counters(void *context)
{
	struct process *p = context;
	uint64_t next_ns = unc_now_ns();

	for (;;) {
		struct timespec at;
		uint64_t now_ns;

		for (size_t i = 0; i < p->gpus.count; i++)
			gpu_poll(&p->gpus, &p->gpus.items[i]);
		now_ns = unc_now_ns();
		next_ns += poll_period_ns(p);
		next_ns = next_ns > now_ns ? next_ns : now_ns;
		at = (struct timespec){.tv_sec = (time_t)(next_ns / 1000000000u),
				       .tv_nsec = (long)(next_ns % 1000000000u)};
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
			;
	}
	return NULL;
}

static void open_items(struct process *p)
{
	const struct unc_nvml_request *q = &p->request;
	bool first = q->verb == UNC_NVML_OPEN && !p->gpus.open;
	pthread_t thread;

	if (first)
		p->gpus.open = calloc(q->count + 1, sizeof(*p->gpus.open));
	for (uint32_t i = 0; i < q->count; i++) {
		struct unc_nvml_value *v = &p->answer.values[i];

		*v = (struct unc_nvml_value){0};
		v->status = first ? gpu_open(&p->gpus, &p->gpus.open[i], &q->items[i], v)
				  : gpu_probe(&p->gpus, &q->items[i], v);
	}
	if (!first)
		return;
	p->gpus.open_count = q->count;
	p->retry_ns = unc_now_ns();
	if (poll_period_ns(p) && pthread_create(&thread, NULL, poll_counters, p) == 0)
		pthread_detach(thread);
}

static void read_items(struct process *p)
{
	struct unc_nvml_value *values = p->answer.values;

	for (size_t i = 0; i < p->gpus.open_count; i++)
		values[i] = (struct unc_nvml_value){.status = p->gpus.open[i].status};
	for (size_t i = 0; i < p->gpus.count; i++)
		gpu_read(&p->gpus, &p->gpus.items[i], values);
}

static void list_processes(struct process *p)
{
	const struct unc_nvml_request *q = &p->request;
	struct unc_nvml_answer *a = &p->answer;

	a->count = 0;
	a->gpu = q->count ? gpu_processes(&p->gpus, q->items->pci, a->processes, &a->count)
			  : NVML_NOT_SUPPORTED;
}

static void answer(struct process *p)
{
	struct unc_nvml_answer *a = &p->answer;

	if (!p->loaded)
		a->status = nvml_load(&p->gpus.nvml, a->text, sizeof(a->text));
	p->loaded = true;
	a->number = p->request.number;
	a->pid = getpid();
	a->count =
		p->request.verb == UNC_NVML_READ ? (uint32_t)p->gpus.open_count : p->request.count;
	if (a->status != UNC_NVML_OK)
		a->count = 0;
	else if (p->request.verb == UNC_NVML_PROCESSES)
		list_processes(p);
	else if (p->request.verb != UNC_NVML_READ)
		open_items(p);
	else
		read_items(p);
	send(UNC_NVML_SOCKET, a, offsetof(struct unc_nvml_answer, values[a->count]), MSG_NOSIGNAL);
}

/* Waits for a request and takes it. False: it is time to try again what failed. */
static bool take_request(struct process *p)
{
	struct timespec at = {.tv_sec = (time_t)(p->retry_ns / 1000000000u),
			      .tv_nsec = (long)(p->retry_ns % 1000000000u)};
	bool taken;
	int r = 0;

	pthread_mutex_lock(&p->lock);
	while (!p->has_next && r != ETIMEDOUT)
		r = p->retry_ns ? pthread_cond_timedwait(&p->asked, &p->lock, &at)
				: pthread_cond_wait(&p->asked, &p->lock);
	taken = p->has_next;
	if (taken)
		memcpy(&p->request, &p->next, p->next_size);
	p->has_next = false;
	pthread_mutex_unlock(&p->lock);
	return taken;
}

static void *answer_all(void *context)
{
	struct process *p = context;

	for (;;) {
		if (take_request(p))
			answer(p);
		/* Programs that read all the time leave no time without a request. */
		if (p->retry_ns && unc_now_ns() >= p->retry_ns)
			p->retry_ns = gpu_retry(&p->gpus) + unc_now_ns();
	}
	return NULL;
}

/* The library is built for the same machine, but packets have the size that they need. */
static bool is_whole(const struct unc_nvml_request *q, size_t size)
{
	return size >= offsetof(struct unc_nvml_request, items) &&
	       q->count <= UNC_NVML_MOST_ITEMS &&
	       size == offsetof(struct unc_nvml_request, items[q->count]);
}

/* glibc has had close_range() since 2.34, and Linux since 5.9. */
static void close_others(void)
{
	if (syscall(SYS_close_range, UNC_NVML_SOCKET + 1, ~0u, 0) == 0)
		return;
	for (int fd = UNC_NVML_SOCKET + 1; fd < MOST_FILES; fd++)
		close(fd);
}

/* A user's program may have capabilities (setcap, systemd). The vendor's library, and what its
 * environment makes it load, gets none of them. Root keeps its own. */
static void drop_capabilities(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct none[2] = {{0}};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (geteuid() == 0)
		return;
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capset, &head, none) < 0)
		_exit(1);
}

int unc_nvml_main(int argc, char **argv)
{
	struct unc_nvml_request *q;
	struct process *p;
	int type = 0;
	socklen_t size = sizeof(type);
	pthread_condattr_t clock;
	pthread_t thread;

	(void)argc, (void)argv;
	if (getsockopt(UNC_NVML_SOCKET, SOL_SOCKET, SO_TYPE, &type, &size) < 0 ||
	    type != SOCK_SEQPACKET)
		return 2;
	/* The process that the library started ends at once, and the library waits for that: its
	 * program gets no child whose end it would have to wait for. */
	switch (fork()) {
	case 0:
		break;
	default:
		_exit(0);
	case -1:
		_exit(1);
	}
	prctl(PR_SET_NAME, UNC_NVML_PROGRAM);
	drop_capabilities();
	close_others();
	q = calloc(1, sizeof(*q));
	p = calloc(1, sizeof(*p));
	if (!p || !q)
		_exit(1);
	/* Before the vendor's library can end the process. */
	p->answer.pid = getpid();
	send(UNC_NVML_SOCKET, &p->answer, offsetof(struct unc_nvml_answer, values), MSG_NOSIGNAL);
	p->gpus.gpm = calloc(1, sizeof(*p->gpus.gpm));
	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&p->asked, &clock);
	if (!p->gpus.gpm || pthread_create(&thread, NULL, answer_all, p) != 0)
		_exit(1);
	for (;;) {
		ssize_t got = recv(UNC_NVML_SOCKET, q, sizeof(*q), 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			_exit(0);
		if (!is_whole(q, (size_t)got))
			continue;
		pthread_mutex_lock(&p->lock);
		memcpy(&p->next, q, (size_t)got);
		p->next_size = (size_t)got;
		p->has_next = true;
		pthread_cond_signal(&p->asked);
		pthread_mutex_unlock(&p->lock);
	}
}

#ifndef UNC_NVML_IN_COMMAND
int main(int argc, char **argv)
{
	return unc_nvml_main(argc, argv);
}
#endif
