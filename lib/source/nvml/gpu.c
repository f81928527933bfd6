/* SPDX-License-Identifier: MIT */
#include "source/nvml/gpu.h"

#include <math.h>

/* The means of GPM are updated by firmware about every 0.1 s. A shorter window has no value, or a
 * wrong one, without an error: measured on H100 and H200 with driver 580. */
#define WINDOW_NS 100000000u
/* A mean is that of a window which ended so long ago, more or less: 54 and 98 ms were measured with
 * copies that ended with the window, on H200. */
#define LAG_NS 75000000u
#define LAG_UNCERTAIN_NS 35000000u
/* The time after which a GPU that cannot be read is tried again, and how much of all time the tries
 * may take. */
#define RETRY_NS 1000000000u
#define RETRY_SHARE 0.05
/* An idle GPU moves less between two readings. */
#define FROZEN_BYTES (16u << 20)

static const uint16_t pcie_fields[PCIE_FIELDS] = {NVML_PCIE_TX_BYTES, NVML_PCIE_RX_BYTES};

static int pcie_index(const struct unc_nvml_item *item)
{
	for (int i = 0; i < PCIE_FIELDS; i++)
		if (item->field == pcie_fields[i])
			return i;
	return -1;
}

static uint16_t gpm_of(const struct unc_nvml_item *item)
{
	return item->call == UNC_NVML_MEMORY_BYTES ? NVML_GPM_MEMORY_SHARE : item->gpm;
}

/* ---- fields ---- */

static uint64_t number_of(const struct nvml_field *f)
{
	switch (f->type) {
	case 0:
		return f->value.real > 0 ? (uint64_t)f->value.real : 0;
	case 1:
		return f->value.u32;
	case 4:
		return f->value.s64 > 0 ? (uint64_t)f->value.s64 : 0;
	case 5:
		return f->value.s32 > 0 ? (uint64_t)f->value.s32 : 0;
	case 6:
		return f->value.u16;
	default:
		return f->value.u64;
	}
}

/* Reads fields, with their times in CLOCK_MONOTONIC. Some get no value without an error: their time
 * is 0. */
static void read_fields(struct gpus *all, struct gpu *g, struct nvml_field *fields, int count,
			uint64_t *at_ns)
{
	uint64_t begin_ns = unc_now_ns(), end_ns;
	int r = all->nvml.fields(g->device, count, fields);
	struct timespec wall;
	int64_t ahead_ns;

	end_ns = unc_now_ns();
	clock_gettime(CLOCK_REALTIME, &wall);
	ahead_ns = (int64_t)wall.tv_sec * 1000000000 + wall.tv_nsec - (int64_t)end_ns;
	for (int i = 0; i < count; i++) {
		int64_t at = (fields[i].at_us - fields[i].took_us / 2) * 1000 - ahead_ns;

		if (r != NVML_OK)
			fields[i].status = r;
		if (fields[i].status == NVML_OK && !fields[i].at_us)
			fields[i].status = UNC_NVML_EMPTY;
		/* The wall clock may have been set meanwhile. */
		at_ns[i] = at < (int64_t)begin_ns ? begin_ns : (uint64_t)at;
		at_ns[i] = at_ns[i] > end_ns ? end_ns : at_ns[i];
	}
}

/* Finds the links of the GPU, and which of them are active. A driver that cannot say it may have
 * all. */
static void find_links(const struct nvml *n, struct gpu *g)
{
	int active;

	if (g->links_known)
		return;
	g->links_known = true;
	g->links = n->link_state ? 0 : (UINT64_C(1) << NVML_MOST_LINKS) - 1;
	g->active_links = 0;
	for (unsigned i = 0; n->link_state && i < NVML_MOST_LINKS; i++) {
		active = 0;
		if (n->link_state(g->device, i, &active) != NVML_OK)
			continue;
		g->links |= UINT64_C(1) << i;
		g->active_links |= active ? UINT64_C(1) << i : 0;
	}
}

/* Reads the item's field, of one link or of several. The status; *links has a bit for each link
 * that was added up. */
static int read_links(struct gpus *all, struct gpu *g, const struct unc_nvml_item *item,
		      struct unc_nvml_value *value, uint64_t *links)
{
	struct nvml_field fields[NVML_MOST_LINKS] = {0};
	uint64_t at_ns[NVML_MOST_LINKS];
	uint64_t sum = 0, took_us = 0;
	unsigned count = 0;

	*links = 0;
	if (item->links == UNC_LINKS_SUM) {
		find_links(&all->nvml, g);
		for (unsigned i = 0; i < NVML_MOST_LINKS; i++)
			if (g->links >> i & 1)
				fields[count++] =
					(struct nvml_field){.id = item->field, .scope = i};
	} else {
		fields[count++] =
			(struct nvml_field){.id = item->field,
					    .scope = item->links == UNC_LINKS_ALL ? NVML_ALL_LINKS
						     : item->link                 ? item->link - 1u
										  : 0};
	}
	if (!count)
		return NVML_NOT_SUPPORTED;
	read_fields(all, g, fields, (int)count, at_ns);
	for (unsigned i = 0; i < count; i++) {
		if (fields[i].status != NVML_OK)
			continue;
		*links |= UINT64_C(1) << (fields[i].scope % 64);
		sum += number_of(&fields[i]);
		took_us += fields[i].took_us > 0 ? (uint64_t)fields[i].took_us : 0;
	}
	value->at_ns = at_ns[(count - 1) / 2];
	value->took_ns = took_us * 1000;
	value->raw = sum;
	return *links ? NVML_OK : fields[0].status;
}

/* The narrow counters; g->lock is held. */
static void poll_fields(struct gpus *all, struct gpu *g)
{
	struct nvml_field fields[PCIE_FIELDS] = {0};
	uint64_t at_ns[PCIE_FIELDS] = {0};
	int count = 0;

	for (size_t i = 0; i < PCIE_FIELDS; i++)
		if (g->polled[i])
			fields[count++] = (struct nvml_field){.id = pcie_fields[i]};
	if (!count || g->status != NVML_OK)
		return;
	read_fields(all, g, fields, count, at_ns);
	g->polls++;
	for (size_t i = 0, k = 0; i < PCIE_FIELDS; i++) {
		const struct nvml_field *f = &fields[k];

		if (!g->polled[i])
			continue;
		g->sum_status[i] = f->status;
		g->took_ns[i] = f->took_us > 0 ? (uint64_t)f->took_us * 1000 : 0;
		if (f->status == NVML_OK)
			unc_nvml_sum_add(&g->sums[i], f->value.u32, at_ns[k]);
		k++;
	}
}

void gpu_poll(struct gpus *all, struct gpu *g)
{
	pthread_mutex_lock(&g->lock);
	poll_fields(all, g);
	pthread_mutex_unlock(&g->lock);
}

uint64_t gpu_unique_ns(struct gpu *g)
{
	uint64_t ns;

	pthread_mutex_lock(&g->lock);
	ns = g->polled[0] || g->polled[1] ? unc_nvml_sum_unique_ns(g->most_per_s) : 0;
	pthread_mutex_unlock(&g->lock);
	return ns;
}

/* ---- opening ---- */

/* What the link of the GPU can move, at the most: of the generations that the library knows the
 * highest counts, since a counter that is read too rarely is wrong without an error. */
static double find_rate(const struct nvml *n, nvml_device device)
{
	int (*const sources[])(nvml_device, unsigned *) = {n->link_generation, n->most_generation,
							   n->gpu_generation};
	unsigned generation = 0, lanes = 0, value;

	for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++)
		if (sources[i] && sources[i](device, &value) == NVML_OK && value > generation)
			generation = value;
	if (!n->most_lanes || n->most_lanes(device, &lanes) != NVML_OK)
		lanes = 0;
	return unc_nvml_link_rate(generation, lanes);
}

/* Gets a handle of the GPU, and what is known about it. Means begin at the next sample. Its
 * status. */
static int attach(struct gpus *all, struct gpu *g)
{
	unsigned long part[3] = {0}; /* domain, bus, device */
	unsigned mig = 0, pending = 0;
	struct nvml *n = &all->nvml;
	char *at = g->pci, id[32];
	int mode = 0, status;
	nvml_device device;
	double most_per_s;

	for (size_t i = 0; i < 3; i++, at += *at == ':')
		part[i] = strtoul(at, &at, 16);
	snprintf(id, sizeof(id), "%08lX:%02lX:%02lX.0", part[0], part[1], part[2]);
	status = n->handle(id, &device);
	most_per_s = status == NVML_OK ? find_rate(n, device) : g->most_per_s;
	pthread_mutex_lock(&g->lock);
	g->status = status;
	g->device = status == NVML_OK ? device : g->device;
	g->most_per_s = most_per_s;
	for (size_t i = 0; i < PCIE_FIELDS; i++)
		g->sums[i].most_per_s = most_per_s;
	pthread_mutex_unlock(&g->lock);
	g->links_known = g->sampled = false;
	if (status != NVML_OK)
		return status;
	g->partitioned = n->mig && n->mig(device, &mig, &pending) == NVML_OK && mig;
	g->guest = n->virtualization && n->virtualization(device, &mode) == NVML_OK &&
		   mode == NVML_VGPU_GUEST;
	return NVML_OK;
}

static struct gpu *find_gpu(struct gpus *all, const char *pci)
{
	struct gpu *g;

	for (size_t i = 0; i < all->count; i++)
		if (strcmp(all->items[i].pci, pci) == 0)
			return &all->items[i];
	if (all->count == GPU_MOST)
		return NULL;
	g = &all->items[all->count++];
	snprintf(g->pci, sizeof(g->pci), "%s", pci);
	pthread_mutex_init(&g->lock, NULL);
	g->most_per_s = unc_nvml_link_rate(0, 0); /* until it is known */
	attach(all, g);
	return g;
}

/* In bytes per second: both edges of the clock transfer data. Compared with known copies on H100
 * and H200: right to 0.1 %. */
static int memory_peak(const struct nvml *n, nvml_device device, double *out)
{
	unsigned mhz = 0, bits = 0;
	int r = n->most_clock && n->memory_width ? NVML_OK : NVML_FUNCTION_NOT_FOUND;

	if (r == NVML_OK)
		r = n->most_clock(device, NVML_MEMORY_CLOCK, &mhz);
	if (r == NVML_OK)
		r = n->memory_width(device, &bits);
	if (r == NVML_OK && (!mhz || !bits))
		r = UNC_NVML_EMPTY;
	*out = 2e6 * mhz * bits / 8;
	return r;
}

/* What a metric of GPM counts in a second: bytes of links, nanoseconds of a share. */
static double factor_of(unsigned gpm)
{
	bool bytes = gpm == NVML_GPM_PCIE_TX || gpm == NVML_GPM_PCIE_RX ||
		     (gpm >= 60 && gpm <= 97) || (gpm >= 100 && gpm <= 159) ||
		     (gpm >= 212 && gpm <= 247);

	return bytes ? 0x1p20 : 1e9 / 100;
}

static int probe_gpm(struct gpus *all, struct gpu *g, unsigned gpm)
{
	struct nvml_gpm_support support = {.version = 1};
	struct nvml *n = &all->nvml;
	int r;

	if (g->partitioned)
		return UNC_NVML_MIG;
	if (!n->gpm_support || !n->gpm_alloc || !n->gpm_sample || !n->gpm_metrics)
		return NVML_FUNCTION_NOT_FOUND;
	if (g->sampled)
		return NVML_OK; /* other items have the samples: the next reading shows it */
	r = n->gpm_support(g->device, &support);
	if (r == NVML_OK && !support.supported)
		r = NVML_NOT_SUPPORTED;
	for (size_t i = 0; r == NVML_OK && i < 2; i++) {
		if (!g->samples[i])
			r = n->gpm_alloc(&g->samples[i]);
		if (r == NVML_OK)
			r = n->gpm_sample(g->device, g->samples[i]);
	}
	if (r != NVML_OK)
		return r;
	*all->gpm = (struct nvml_gpm_request){
		.version = 1, .count = 1, .from = g->samples[0], .to = g->samples[1]};
	all->gpm->metrics[0].id = gpm;
	r = n->gpm_metrics(all->gpm);
	return r == NVML_OK ? all->gpm->metrics[0].status : r;
}

/* Whether the GPU has the link, and what is at its other end: a GPU's PCI function, or a switch,
 * which may have no such function in a virtual machine. */
static int probe_link(struct gpus *all, struct gpu *g, unsigned link, char peer[static 16])
{
	struct nvml_pci pci = {.domain = 0};
	struct nvml *n = &all->nvml;
	int type = NVML_REMOTE_GPU;

	if (!n->link_state)
		return NVML_FUNCTION_NOT_FOUND;
	find_links(n, g);
	if (!(g->links >> link & 1) || !g->active_links)
		return UNC_NVML_NO_LINK;
	if (!(g->active_links >> link & 1))
		return UNC_NVML_LINK_DOWN;
	if (n->link_remote_type && n->link_remote_type(g->device, link, &type) != NVML_OK)
		type = NVML_REMOTE_GPU;
	if (type == NVML_REMOTE_SWITCH)
		snprintf(peer, 16, "NVSwitch");
	else if (type == NVML_REMOTE_GPU && n->link_remote &&
		 n->link_remote(g->device, link, &pci) == NVML_OK && pci.id[0])
		snprintf(peer, 16, "%04x:%02x:%02x.0", pci.domain & 0xffff, pci.bus & 0xff,
			 pci.device & 0x1f);
	return NVML_OK;
}

int gpu_probe(struct gpus *all, const struct unc_nvml_item *item, struct unc_nvml_value *value)
{
	struct gpu *g = find_gpu(all, item->pci);
	int r = g ? g->status : NVML_NOT_SUPPORTED;
	struct unc_nvml_value ignored;
	uint64_t links;
	double peak;

	if (r == NVML_OK && item->link)
		r = probe_link(all, g, item->link - 1u, value->peer);
	if (r != NVML_OK)
		return r;
	if (item->call)
		r = memory_peak(&all->nvml, g->device, &peak);
	if (r == NVML_OK && gpm_of(item))
		r = probe_gpm(all, g, gpm_of(item));
	if (item->field)
		r = read_links(all, g, item, &ignored, &links);
	if (pcie_index(item) >= 0)
		value->most_per_s = g->most_per_s;
	if (r != NVML_NOT_SUPPORTED)
		return r;
	return g->partitioned ? UNC_NVML_MIG : g->guest ? UNC_NVML_VGPU : r;
}

int gpu_open(struct gpus *all, struct gpu_item *into, const struct unc_nvml_item *item,
	     struct unc_nvml_value *value)
{
	double peak = 0;
	int r = gpu_probe(all, item, value);

	/* One that cannot be read keeps its status. */
	*into = (struct gpu_item){.asked = *item,
				  .gpu = find_gpu(all, item->pci),
				  .failed = r != NVML_OK,
				  .status = r};
	if (!into->gpu)
		return r;
	if (pcie_index(item) >= 0) {
		pthread_mutex_lock(&into->gpu->lock);
		into->gpu->polled[pcie_index(item)] = true;
		pthread_mutex_unlock(&into->gpu->lock);
	}
	if (r != NVML_OK)
		return r;
	into->factor = factor_of(item->gpm);
	if (item->call) {
		r = memory_peak(&all->nvml, into->gpu->device, &peak);
		into->factor = peak / 100;
		into->total = item->call == UNC_NVML_MEMORY_PEAK ? peak : 0;
	}
	return r;
}

/* Tries again what failed of the GPU. The handle of one that was lost does not become valid. */
static bool retry(struct gpus *all, struct gpu *g)
{
	bool failed = false, lost = g->status != NVML_OK;
	struct unc_nvml_value ignored;

	for (size_t i = 0; i < all->open_count; i++) {
		const struct gpu_item *item = &all->open[i];

		failed |= item->gpu == g && item->failed;
		lost |= item->gpu == g && item->status == NVML_GPU_LOST;
	}
	if (lost)
		attach(all, g);
	for (size_t i = 0; i < all->open_count; i++) {
		struct gpu_item *item = &all->open[i];
		const struct unc_nvml_item asked = item->asked;

		if (item->gpu == g && item->failed)
			gpu_open(all, item, &asked, &ignored);
	}
	return failed || lost;
}

uint64_t gpu_retry(struct gpus *all)
{
	uint64_t begin_ns = unc_now_ns(), took_ns;
	bool failed = false;

	for (size_t i = 0; i < all->count; i++)
		failed |= retry(all, &all->items[i]);
	took_ns = unc_now_ns() - begin_ns;
	return failed ? RETRY_NS + (uint64_t)((double)took_ns / RETRY_SHARE) : RETRY_NS;
}

/* ---- reading ---- */

/* Adds the mean of the window that has ended. */
static void add_mean(struct gpu_item *item, const struct nvml_gpm_metric *m, uint64_t window_ns,
		     const uint32_t moved[static PCIE_FIELDS])
{
	int pcie = item->asked.gpm == NVML_GPM_PCIE_TX   ? 0
		   : item->asked.gpm == NVML_GPM_PCIE_RX ? 1
							 : -1;

	item->status = m->status;
	if (m->status == NVML_OK && !(m->value >= 0 && isfinite(m->value)))
		item->status = UNC_NVML_NAN;
	else if (m->status == NVML_OK && pcie >= 0 && m->value == 0 && moved[pcie] > FROZEN_BYTES)
		item->status = UNC_NVML_FROZEN;
	if (item->status != NVML_OK)
		return;
	item->total += m->value * item->factor * (double)window_ns / 1e9;
	item->enabled_ns += window_ns;
}

/* How far the narrow counters moved, if they are needed, without being added up: they wrap. */
static void read_moved(struct gpus *all, struct gpu *g, bool needed, uint32_t moved[PCIE_FIELDS])
{
	struct nvml_field fields[PCIE_FIELDS] = {{.id = pcie_fields[0]}, {.id = pcie_fields[1]}};
	uint64_t at_ns[PCIE_FIELDS];

	if (needed)
		read_fields(all, g, fields, PCIE_FIELDS, at_ns);
	for (size_t i = 0; i < PCIE_FIELDS; i++) {
		bool known = needed && fields[i].status == NVML_OK;

		moved[i] = known && g->sampled ? fields[i].value.u32 - g->seen[i] : 0;
		g->seen[i] = known ? fields[i].value.u32 : g->seen[i];
	}
	/* What the GPU reads, it requests. */
	moved[0] = moved[1] > moved[0] ? moved[1] : moved[0];
}

/* Takes a sample, and adds the means since the one before if this was long enough ago. */
static void read_gpm(struct gpus *all, struct gpu *g, size_t count, bool pcie)
{
	uint64_t begin_ns = unc_now_ns(), took_ns, at_ns;
	struct nvml_gpm_request *q = all->gpm;
	uint32_t moved[PCIE_FIELDS];
	void *spare;
	int r;

	if (g->sampled && begin_ns - g->sample_ns < WINDOW_NS)
		return;
	r = all->nvml.gpm_sample(g->device, g->samples[1]);
	took_ns = unc_now_ns() - begin_ns;
	at_ns = begin_ns + took_ns / 2;
	read_moved(all, g, pcie, moved);
	q->version = 1;
	q->count = (uint32_t)count;
	q->from = g->samples[0];
	q->to = g->samples[1];
	if (r == NVML_OK && g->sampled)
		r = all->nvml.gpm_metrics(q);
	for (size_t i = 0, k = 0; i < all->open_count; i++) {
		struct gpu_item *item = &all->open[i];

		if (item->gpu != g || !gpm_of(&item->asked) || item->failed || k == count)
			continue;
		if (r != NVML_OK)
			item->status = r;
		else if (g->sampled)
			add_mean(item, &q->metrics[k], at_ns - g->sample_ns, moved);
		k++;
	}
	if (r != NVML_OK)
		return;
	g->sampled = true;
	g->sample_ns = at_ns;
	g->sample_took_ns = took_ns;
	spare = g->samples[0];
	g->samples[0] = g->samples[1];
	g->samples[1] = spare;
}

/* The number of metrics of GPM that items of the GPU need, which are entered in the request. */
static size_t ask_gpm(struct gpus *all, const struct gpu *g, bool *pcie)
{
	size_t count = 0;

	for (size_t i = 0; i < all->open_count && count < NVML_GPM_MOST; i++) {
		unsigned gpm = gpm_of(&all->open[i].asked);

		if (all->open[i].gpu != g || !gpm || all->open[i].failed)
			continue;
		all->gpm->metrics[count++] = (struct nvml_gpm_metric){.id = gpm};
		*pcie |= gpm == NVML_GPM_PCIE_TX || gpm == NVML_GPM_PCIE_RX;
	}
	return count;
}

/* The difference of sums of different links is no count. A link that does not answer moves nothing,
 * so that the next difference is right again. */
static void read_field(struct gpus *all, struct gpu_item *item, struct unc_nvml_value *value)
{
	uint64_t links;

	item->status = read_links(all, item->gpu, &item->asked, value, &links);
	if (item->status == NVML_OK) {
		item->late += item->links && item->links != links;
		item->links = links;
	}
	value->late = item->late;
}

void gpu_read(struct gpus *all, struct gpu *g, struct unc_nvml_value *values)
{
	bool pcie = false;
	size_t means;

	gpu_poll(all, g);
	means = ask_gpm(all, g, &pcie);
	if (means)
		read_gpm(all, g, means, pcie);
	for (size_t i = 0; i < all->open_count; i++) {
		struct gpu_item *item = &all->open[i];
		struct unc_nvml_value *v = &values[i];
		int narrow = pcie_index(&item->asked);

		if (item->gpu != g)
			continue;
		*v = (struct unc_nvml_value){.raw = (uint64_t)item->total, .status = item->status};
		if (item->failed)
			continue;
		if (narrow >= 0) {
			const struct unc_nvml_sum *s = &g->sums[narrow];

			pthread_mutex_lock(&g->lock);
			item->status = g->sum_status[narrow];
			*v = (struct unc_nvml_value){.raw = s->total,
						     .at_ns = s->at_ns,
						     .took_ns = g->took_ns[narrow],
						     .polls = g->polls,
						     .late = s->late,
						     .late_ns = s->late_ns,
						     .most_per_s = s->most_per_s};
			pthread_mutex_unlock(&g->lock);
		} else if (gpm_of(&item->asked)) {
			v->at_ns = g->sample_ns - LAG_NS;
			v->took_ns = g->sample_took_ns;
			v->uncertain_ns = LAG_UNCERTAIN_NS;
			v->enabled_ns = item->enabled_ns;
			v->is_mean = true;
		} else if (item->asked.field) {
			read_field(all, item, v);
		} else {
			v->at_ns = unc_now_ns();
		}
		v->status = item->status;
	}
}

/* ---- processes ---- */

int gpu_processes(struct gpus *all, const char *pci, struct unc_nvml_process *into, uint32_t *count)
{
	static struct nvml_process listed[2 * RUNNING_MOST]; /* one thread answers */
	static struct nvml_process_sample samples[RUNNING_SAMPLES];
	unsigned compute = RUNNING_MOST, graphics = RUNNING_MOST, sampled = RUNNING_SAMPLES;
	struct gpu *g = find_gpu(all, pci);
	struct nvml *n = &all->nvml;
	int r = g ? g->status : NVML_NOT_SUPPORTED;
	struct running_samples taken;
	struct timespec wall;

	*count = 0;
	if (g && r != NVML_OK)
		r = attach(all, g);
	if (r == NVML_OK)
		r = n->compute_processes ? n->compute_processes(g->device, &compute, listed)
					 : NVML_FUNCTION_NOT_FOUND;
	if (g && r == NVML_GPU_LOST)
		attach(all, g);
	if (r != NVML_OK)
		return r;
	if (!n->graphics_processes ||
	    n->graphics_processes(g->device, &graphics, listed + compute) != NVML_OK)
		graphics = 0;
	*count = (uint32_t)running_fold(listed, compute + graphics, into);
	r = n->process_samples ? n->process_samples(g->device, samples, &sampled, g->processes_us)
			       : NVML_FUNCTION_NOT_FOUND;
	if (r == NVML_NOT_SUPPORTED && g->partitioned)
		r = UNC_NVML_MIG;
	clock_gettime(CLOCK_REALTIME, &wall);
	taken = (struct running_samples){.items = samples,
					 .count = r == NVML_OK ? sampled : 0,
					 .status = r,
					 .now_us = (uint64_t)wall.tv_sec * 1000000u +
						   (uint64_t)wall.tv_nsec / 1000u};
	running_busy(into, *count, &taken, &g->processes_us);
	return NVML_OK;
}
