/* SPDX-License-Identifier: MIT */
/*
 * A libnvidia-ml.so.1 for tests. It has the GPUs and the errors of the text file that
 * UNCORE_NVML_SCRIPT names; its time begins when it is loaded. Lines, of which several may have one
 * name, with numbers in bytes and seconds:
 *
 *   gpus COUNT                     at 0000:01:00.0, 0000:02:00.0 ...
 *   link GENERATION LANES          of all
 *   h2d RATE [FROM TO]             payload that each GPU reads, in packets of 256 bytes
 *   d2h RATE [FROM TO]             the same that it writes
 *   memory SHARE                   of the greatest bandwidth
 *   replays RATE BEFORE            packets that were sent again
 *   delay MICROSECONDS             of each field
 *   init STATUS                    what nvmlInit_v2() returns
 *   status FIELD STATUS            what reading the field gives
 *   empty FIELD                    the field has no time, and no error
 *   gpm 0|1                        whether GPM is supported
 *   nan FROM TO                    GPM has no number
 *   frozen FROM TO                 GPM has 0
 *   lost GPU FROM TO               the GPU does not answer
 *   stale GPU AT                   handles from before this time do not answer after it
 *   mig GPU, vgpu GPU
 *   crash AT, hang FROM TO         in any call
 *   nvlinks COUNT                  of each GPU; 0: fields of all links together are 1e6 KiB/s
 *   nvlink LINK RATE [AT]          what a link receives, in KiB/s, from a time on; it transmits twice that
 *   peer LINK GPU                  at its other end; -1: a switch
 *   down LINK                      it is not active
 *   silent LINK FROM TO            its fields give nothing
 *   runs PID MEMORY BUSY           a process that computes on each GPU; -1: its memory is not known
 *   draws PID MEMORY               one that draws, without samples
 *
 * If UNCORE_CUDA_LOG names a file, each GPU also moves what tests/cuda/libcuda.c writes to it.
 */
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "source/nvml/vendor.h"

#define LINES 64
#define WORDS 3
#define PEAK (2 * 2619e6 * 5120 / 8) /* of the memory of an H100, in bytes per second */

static struct line {
	char name[16];
	double word[WORDS];
	int words;
} lines[LINES];
static int line_count;
static double began;

struct sample {
	double at, rx, tx, memory;
};

/* Another reader knows only that it is a pointer. */
struct nvml_device {
	unsigned number;
	double since;
};

int nvmlInit_v2(void);
int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, nvml_device *out);
int nvmlDeviceGetFieldValues(nvml_device d, int count, struct nvml_field *fields);
int nvmlDeviceGetCurrPcieLinkGeneration(nvml_device d, unsigned *out);
int nvmlDeviceGetMaxPcieLinkGeneration(nvml_device d, unsigned *out);
int nvmlDeviceGetMaxPcieLinkWidth(nvml_device d, unsigned *out);
int nvmlDeviceGetMaxClockInfo(nvml_device d, int clock, unsigned *out);
int nvmlDeviceGetMemoryBusWidth(nvml_device d, unsigned *out);
int nvmlDeviceGetVirtualizationMode(nvml_device d, int *out);
int nvmlDeviceGetMigMode(nvml_device d, unsigned *now, unsigned *pending);
int nvmlDeviceGetNvLinkState(nvml_device d, unsigned link, int *active);
int nvmlDeviceGetNvLinkRemotePciInfo_v2(nvml_device d, unsigned link, struct nvml_pci *out);
int nvmlDeviceGetNvLinkRemoteDeviceType(nvml_device d, unsigned link, int *type);
int nvmlGpmQueryDeviceSupport(nvml_device d, struct nvml_gpm_support *support);
int nvmlGpmSampleAlloc(void **out);
int nvmlGpmSampleGet(nvml_device d, void *sample);
int nvmlGpmMetricsGet(struct nvml_gpm_request *q);
int nvmlDeviceGetComputeRunningProcesses_v3(nvml_device d, unsigned *count,
					    struct nvml_process *out);
int nvmlDeviceGetGraphicsRunningProcesses_v3(nvml_device d, unsigned *count,
					     struct nvml_process *out);
int nvmlDeviceGetProcessUtilization(nvml_device d, struct nvml_process_sample *out, unsigned *count,
				    unsigned long long since_us);

static double seconds_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double now(void)
{
	return seconds_of(CLOCK_MONOTONIC) - began;
}

static double word(const char *name, int k, double missing)
{
	for (int i = 0; i < line_count; i++)
		if (strcmp(lines[i].name, name) == 0 && k < lines[i].words)
			return lines[i].word[k];
	return missing;
}

/* Whether a line with this name holds now; `first` is its first word, NAN: it has only times. */
static bool holds(const char *name, double first)
{
	int from = isnan(first) ? 0 : 1;

	for (int i = 0; i < line_count; i++)
		if (strcmp(lines[i].name, name) == 0 && (!from || lines[i].word[0] == first) &&
		    (lines[i].words <= from || lines[i].word[from] <= now()) &&
		    (lines[i].words <= from + 1 || now() < lines[i].word[from + 1]))
			return true;
	return false;
}

/* What a stand-in for CUDA copies: "h2d BYTES BEGIN END", in nanoseconds. */
#define COPIES 64
static struct copy {
	char kind[8];
	double bytes, begin, end;
} copies[COPIES]; /* that have not ended */
static int copy_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct sums {
	double h2d, d2h, d2d;
} ended;

static void add_copy(struct sums *to, const struct copy *c, double share)
{
	double *sum = strcmp(c->kind, "h2d") == 0   ? &to->h2d
		      : strcmp(c->kind, "d2h") == 0 ? &to->d2h
						    : &to->d2d;

	*sum += c->bytes * fmin(fmax(share, 0), 1);
}

/* The sums until now. */
static struct sums copied(void)
{
	static FILE *file;
	const char *path = getenv("UNCORE_CUDA_LOG");
	double at = seconds_of(CLOCK_MONOTONIC) * 1e9;
	struct copy c;
	struct sums sums;
	int kept = 0;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < copy_count; i++)
		if (copies[i].end <= at)
			add_copy(&ended, &copies[i], 1);
		else
			copies[kept++] = copies[i];
	copy_count = kept;
	file = file ? file : path ? fopen(path, "r") : NULL;
	while (file && copy_count < COPIES) {
		clearerr(file);
		if (fscanf(file, "%7s %lf %lf %lf", c.kind, &c.bytes, &c.begin, &c.end) != 4)
			break;
		if (c.end <= at)
			add_copy(&ended, &c, 1);
		else
			copies[copy_count++] = c;
	}
	sums = ended;
	for (int i = 0; i < copy_count; i++)
		add_copy(&sums, &copies[i],
			 (at - copies[i].begin) / (copies[i].end - copies[i].begin));
	pthread_mutex_unlock(&lock);
	return sums;
}

/* The bytes up to a time. */
static double moved(const char *name, double at)
{
	double sum = 0;

	for (int i = 0; i < line_count; i++) {
		const struct line *l = &lines[i];
		double from = l->words > 1 ? l->word[1] : 0, to = l->words > 2 ? l->word[2] : at;

		if (strcmp(l->name, name) == 0 && at > from)
			sum += l->word[0] * (fmin(at, to) - from);
	}
	return sum;
}

static double received(double at)
{
	return (moved("h2d", at) + copied().h2d) * 276 / 256;
}

static double transmitted(double at)
{
	const struct sums sums = copied();

	return (moved("d2h", at) + sums.d2h) * 280 / 256 + (moved("h2d", at) + sums.h2d) * 24 / 256;
}

/* What every call does. */
static void misbehave(void)
{
	if (holds("crash", NAN))
		abort();
	while (holds("hang", NAN))
		usleep(1000);
}

int nvmlInit_v2(void)
{
	const char *path = getenv("UNCORE_NVML_SCRIPT");
	FILE *file = path ? fopen(path, "r") : NULL;
	char text[128];

	began = seconds_of(CLOCK_MONOTONIC);
	while (file && line_count < LINES && fgets(text, sizeof(text), file)) {
		struct line *l = &lines[line_count];

		l->words = sscanf(text, "%15s %lf %lf %lf", l->name, &l->word[0], &l->word[1],
				  &l->word[2]) -
			   1;
		line_count += l->words >= 0;
	}
	if (file)
		fclose(file);
	misbehave();
	return (int)word("init", 0, 0);
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, nvml_device *out)
{
	unsigned domain, bus;

	misbehave();
	if (sscanf(pci, "%8x:%2x:00.0", &domain, &bus) != 2 || domain || !bus ||
	    bus > word("gpus", 0, 1))
		return 6;
	*out = calloc(1, sizeof(**out)); /* it lives as long as the process */
	if (!*out)
		return 999;
	(*out)->number = bus - 1;
	(*out)->since = now();
	return 0;
}

static bool is_lost(const struct nvml_device *d)
{
	bool stale = false;

	for (int i = 0; i < line_count; i++)
		stale |= strcmp(lines[i].name, "stale") == 0 && lines[i].word[0] == d->number &&
			 d->since < lines[i].word[1] && lines[i].word[1] <= now();
	return stale || holds("lost", d->number);
}

static int status_of(uint32_t field)
{
	for (int i = 0; i < line_count; i++)
		if (strcmp(lines[i].name, "status") == 0 && lines[i].word[0] == field)
			return (int)lines[i].word[1];
	return 0;
}

/* The field of a link, or of all of them where it has this scope, in KiB. */
static void read_link(struct nvml_field *f, double at)
{
	int links = (int)word("nvlinks", 0, 0);
	bool bytes = f->id == 202 || f->id == 204, out = f->id == 138 || f->id == 202;
	double sum = links ? 0 : at * 1e6;

	for (int i = 0; links && i < line_count; i++) {
		const struct line *l = &lines[i];
		double from = l->words > 2 ? l->word[2] : 0;

		if (strcmp(l->name, "nvlink") == 0 && at > from &&
		    (f->scope == NVML_ALL_LINKS || l->word[0] == f->scope))
			sum += l->word[1] * (at - from) * (out ? 2 : 1);
	}
	if (f->scope == NVML_ALL_LINKS ? bytes
				       : f->scope >= (unsigned)links || holds("silent", f->scope))
		f->status = 3;
	f->value.u64 = (uint64_t)(bytes ? sum * 1024 : sum);
}

static void read_field(const struct nvml_device *d, struct nvml_field *f)
{
	double begin = seconds_of(CLOCK_MONOTONIC), delay = word("delay", 0, 0) / 1e6, at;

	/* It spins, like the vendor's. */
	while (seconds_of(CLOCK_MONOTONIC) - begin < delay)
		;
	at = now();
	f->at_us = (int64_t)(seconds_of(CLOCK_REALTIME) * 1e6);
	f->took_us = 0;
	f->type = 3;
	f->status = is_lost(d) ? 15 : status_of(f->id);
	switch (f->id) {
	case 197:
	case 198:
		f->type = 1;
		f->value.u64 = (uint64_t)(f->id == 198 ? received(at) : transmitted(at));
		f->value.u64 &= UINT32_MAX;
		break;
	case 138:
	case 139:
	case 202:
	case 204:
		read_link(f, at);
		break;
	case 83:
		f->value.u64 = (uint64_t)(at * 300 * 1000);
		break;
	case 94:
		f->type = 1;
		f->value.u32 = (uint32_t)(word("replays", 1, 0) + at * word("replays", 0, 0));
		break;
	case 186:
		f->type = 1;
		f->value.u32 = 300 * 1000;
		break;
	default:
		f->status = 3;
	}
	if (holds("empty", f->id)) {
		f->status = f->type = 0;
		f->at_us = 0;
	}
}

int nvmlDeviceGetFieldValues(nvml_device d, int count, struct nvml_field *fields)
{
	misbehave();
	for (int i = 0; i < count; i++)
		read_field(d, &fields[i]);
	return 0;
}

int nvmlDeviceGetCurrPcieLinkGeneration(nvml_device d, unsigned *out)
{
	(void)d;
	*out = 1;
	return 0;
}

int nvmlDeviceGetMaxPcieLinkGeneration(nvml_device d, unsigned *out)
{
	(void)d;
	*out = (unsigned)word("link", 0, 5);
	return 0;
}

int nvmlDeviceGetMaxPcieLinkWidth(nvml_device d, unsigned *out)
{
	(void)d;
	*out = (unsigned)word("link", 1, 16);
	return 0;
}

/* Those of an H100. */
int nvmlDeviceGetMaxClockInfo(nvml_device d, int clock, unsigned *out)
{
	(void)d;
	*out = 2619;
	return clock == NVML_MEMORY_CLOCK ? 0 : 2;
}

int nvmlDeviceGetMemoryBusWidth(nvml_device d, unsigned *out)
{
	(void)d;
	*out = 5120;
	return 0;
}

int nvmlDeviceGetVirtualizationMode(nvml_device d, int *out)
{
	*out = holds("vgpu", d->number) ? NVML_VGPU_GUEST : 0;
	return 0;
}

int nvmlDeviceGetMigMode(nvml_device d, unsigned *current, unsigned *pending)
{
	*current = *pending = holds("mig", d->number);
	return 0;
}

int nvmlDeviceGetNvLinkState(nvml_device d, unsigned link, int *active)
{
	(void)d;
	*active = !holds("down", link);
	return link < word("nvlinks", 0, 0) ? 0 : 3;
}

static const struct line *peer_of(unsigned link)
{
	for (int i = 0; i < line_count; i++)
		if (strcmp(lines[i].name, "peer") == 0 && lines[i].word[0] == link)
			return &lines[i];
	return NULL;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(nvml_device d, unsigned link, struct nvml_pci *out)
{
	const struct line *peer = peer_of(link);

	(void)d;
	if (!peer)
		return 3;
	out->bus = (unsigned)(peer->word[1] + 1);
	snprintf(out->id, sizeof(out->id), "00000000:%02X:00.0", out->bus & 0xff);
	return 0;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(nvml_device d, unsigned link, int *type)
{
	const struct line *peer = peer_of(link);

	(void)d;
	*type = !peer ? 255 : peer->word[1] < 0 ? NVML_REMOTE_SWITCH : NVML_REMOTE_GPU;
	return 0;
}

int nvmlGpmQueryDeviceSupport(nvml_device d, struct nvml_gpm_support *support)
{
	(void)d;
	support->supported = (unsigned)word("gpm", 0, 1);
	return support->version == 1 ? 0 : 25;
}

int nvmlGpmSampleAlloc(void **out)
{
	*out = calloc(1, sizeof(struct sample));
	return *out ? 0 : 999;
}

int nvmlGpmSampleGet(nvml_device d, void *sample)
{
	struct sample *s = sample;

	misbehave();
	if (is_lost(d))
		return 15;
	s->at = now();
	s->rx = received(s->at);
	s->tx = transmitted(s->at);
	s->memory = s->at * word("memory", 0, 0) + 2 * copied().d2d / PEAK;
	return 0;
}

int nvmlGpmMetricsGet(struct nvml_gpm_request *q)
{
	const struct sample *a = q->from, *b = q->to;
	double seconds = b->at - a->at;

	for (uint32_t i = 0; i < q->count; i++) {
		struct nvml_gpm_metric *m = &q->metrics[i];

		m->status = m->id == 10 || m->id == 20 || m->id == 21 ? 0 : 3;
		m->value = m->id == 20   ? (b->tx - a->tx) / 0x1p20 / seconds
			   : m->id == 21 ? (b->rx - a->rx) / 0x1p20 / seconds
					 : (b->memory - a->memory) * 100 / seconds;
		if (seconds < 0.1)
			m->value = m->id == 10 ? NAN : 0;
		if (holds("nan", NAN))
			m->value = NAN;
		if (holds("frozen", NAN))
			m->value = 0;
	}
	return 0;
}

static int list_processes(const struct nvml_device *d, const char *name, unsigned *count,
			  struct nvml_process *out)
{
	unsigned room = *count;

	misbehave();
	*count = 0;
	for (int i = 0; i < line_count && *count < room; i++)
		if (strcmp(lines[i].name, name) == 0)
			out[(*count)++] = (struct nvml_process){
				.pid = (uint32_t)lines[i].word[0],
				.memory = lines[i].word[1] < 0 ? NVML_NOT_AVAILABLE
							       : (uint64_t)lines[i].word[1]};
	return is_lost(d) ? NVML_GPU_LOST : NVML_OK;
}

int nvmlDeviceGetComputeRunningProcesses_v3(nvml_device d, unsigned *count,
					    struct nvml_process *out)
{
	return list_processes(d, "runs", count, out);
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(nvml_device d, unsigned *count,
					     struct nvml_process *out)
{
	return list_processes(d, "draws", count, out);
}

/* A sample each time, of processes that were busy. */
int nvmlDeviceGetProcessUtilization(nvml_device d, struct nvml_process_sample *out, unsigned *count,
				    unsigned long long since_us)
{
	uint64_t at_us = (uint64_t)(seconds_of(CLOCK_REALTIME) * 1e6);
	unsigned room = *count;

	misbehave();
	*count = 0;
	for (int i = 0; i < line_count && *count < room; i++)
		if (strcmp(lines[i].name, "runs") == 0 && lines[i].word[2] > 0 && at_us > since_us)
			out[(*count)++] =
				(struct nvml_process_sample){.pid = (uint32_t)lines[i].word[0],
							     .at_us = at_us,
							     .busy = (uint32_t)lines[i].word[2]};
	if (holds("mig", d->number))
		return NVML_NOT_SUPPORTED;
	return *count ? NVML_OK : NVML_NOT_FOUND;
}
