/* SPDX-License-Identifier: MIT */
/* The processes of NVIDIA's GPUs, as their library lists them. Another process uses the library:
 * it is started by the first question, and has no counters to read. */
#include "object.h"
#include "source/nvml/child.h"

#include <math.h>

#define NVIDIA 0x10de
#define DISPLAY_CLASS 3
/* The library may initialize GPUs for seconds. */
#define FIRST_NS UINT64_C(10000000000)
#define ANSWER_NS UINT64_C(250000000)
/* After that time a library that failed is loaded again. */
#define RETRY_NS UINT64_C(60000000000)

struct unc_processes {
	struct unc_nvml_child child;
	bool started, late;
	uint64_t failed_ns;
	char why[200]; /* it failed */
	struct unc_nvml_request request;
};

void unc_processes_free(struct unc_processes *p)
{
	if (p)
		unc_nvml_leave(&p->child);
	free(p);
}

/* It is not started again at once. */
static int give_up(struct uncore *u, int err, const char *why)
{
	struct unc_processes *p = u->processes;

	unc_nvml_leave(&p->child);
	p->failed_ns = unc_now_ns();
	snprintf(p->why, sizeof(p->why), "%s", why);
	return unc_fail(&u->error, err, "%s", p->why);
}

static int start(struct uncore *u)
{
	struct unc_processes *p = u->processes;
	struct unc_error why;
	int r;

	if (p && p->child.fd >= 0)
		return 0;
	if (p && unc_now_ns() - p->failed_ns < RETRY_NS)
		return unc_fail(&u->error, EIO, "%s", p->why);
	if (!p)
		u->processes = p = calloc(1, sizeof(*p));
	if (!p)
		return unc_nomem(&u->error);
	p->child.answer.count = 0;
	p->late = p->started = false;
	r = unc_nvml_start(&p->child, &why);
	return r < 0 ? give_up(u, -r, why.text) : 0;
}

static int ask(struct uncore *u, const char *address)
{
	struct unc_processes *p = u->processes;
	uint64_t until_ns = unc_now_ns() + (p->started ? ANSWER_NS : FIRST_NS);
	/* The answer to an earlier question may be about another GPU. */
	int r = p->late ? unc_nvml_receive(&p->child, until_ns) : 1;

	if (r > 0) {
		p->request.verb = UNC_NVML_PROCESSES;
		p->request.count = 1;
		snprintf(p->request.items->pci, sizeof(p->request.items->pci), "%s", address);
		r = unc_nvml_send(&p->child, &p->request) ? unc_nvml_receive(&p->child, until_ns)
							  : -EPIPE;
	}
	p->late = r == 0;
	p->started = true;
	if (r < 0)
		return give_up(u, EIO,
			       "the process uncore-nvml has ended, since NVIDIA's library failed");
	return r > 0 ? 0
		     : unc_fail(&u->error, ETIMEDOUT, "NVIDIA's library did not answer in time");
}

int uncore_device_processes(struct uncore *u, const struct uncore_device *d)
{
	int r, err;

	if (u->processes)
		u->processes->child.answer.count = 0;
	if (d->vendor != NVIDIA || d->class_code >> 16 != DISPLAY_CLASS)
		return unc_fail(&u->error, ENODEV, "%s is not a GPU of NVIDIA", d->address);
	if (!unc_root_is_live(u->root) && u->ops != &unc_source_files)
		return unc_fail(&u->error, EOPNOTSUPP,
				"processes of GPUs are known on the running machine only");
	/* The vendor's library would wake it. */
	if (unc_device_sleeps(u->root,
			      UNC_PATH("sys/bus/pci/devices/%s/power/runtime_status", d->address)))
		return 0;
	r = start(u);
	if (r == 0)
		r = ask(u, d->address);
	if (r < 0)
		return r;
	struct unc_nvml_answer *a = &u->processes->child.answer;

	if (a->status == UNC_NVML_NO_LIBRARY)
		return give_up(u, ENODEV,
			       UNC_PATH("libnvidia-ml.so.1 cannot be loaded: %.*s",
					(int)sizeof(a->text) - 1, a->text));
	if (a->status != UNC_NVML_OK) {
		const char *why = unc_nvml_reason(a->status, &err);

		return give_up(u, err, why);
	}
	if (a->gpu == UNC_NVML_OK)
		return (int)a->count;
	const char *why = unc_nvml_reason(a->gpu, &err);

	return unc_fail(&u->error, err, "%s: %s", d->address, why);
}

int uncore_device_process_at(const struct uncore *u, size_t i, double *memory, double *busy,
			     const char **why)
{
	const struct unc_nvml_process *p = &u->processes->child.answer.processes[i];
	bool has_memory = p->memory_status == UNC_NVML_OK, has_busy = p->busy_status == UNC_NVML_OK;
	int err;

	*memory = has_memory ? (double)p->memory : NAN;
	*busy = has_busy ? p->busy : NAN;
	*why = has_memory && has_busy
		       ? NULL
		       : unc_nvml_reason(has_busy ? p->memory_status : p->busy_status, &err);
	return p->pid;
}
