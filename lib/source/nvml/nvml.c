/* SPDX-License-Identifier: MIT */
/*
 * The source of GPUs that NVIDIA's library NVML reads. The library is used by another process
 * (process.c), which adds up counters that wrap within milliseconds. A GPU or a library that does
 * not answer has no counts, and delays a reading once by ANSWER_NS.
 */
#include "source/nvml/child.h"
#include "source/nvml/vendor.h"

/* The library may initialize GPUs for seconds. */
#define OPEN_NS 10000000000u
#define ANSWER_NS 250000000u
#define SECOND_NS UINT64_C(1000000000)

/* In the order of the vendor's numbers, then own ones. */
static const struct {
	int status, err;
	const char *text;
} reasons[] = {
	{NVML_NOT_SUPPORTED, ENODEV, "the GPU or its driver does not have this count"},
	{4, EACCES,
	 "NVIDIA's driver refuses it: root can read it, or all users with the option "
	 "NVreg_RestrictProfilingToAdminUsers=0 of the module nvidia"},
	{6, ENODEV,
	 "NVIDIA's library does not find this GPU: another driver (vfio-pci) or virtual machine may "
	 "have it, or a container does not have /dev/nvidia*"},
	{9, ENODEV,
	 "NVIDIA's driver is not loaded, or /dev/nvidiactl and /dev/nvidia0 are not accessible "
	 "here; nvidia-smi shows the same"},
	{NVML_FUNCTION_NOT_FOUND, ENODEV,
	 "the installed version of NVIDIA's driver does not have this count"},
	{15, EIO,
	 "the GPU is lost: it does not answer on its PCIe link, which its reset or a restart of "
	 "the machine can repair; nvidia-smi and the kernel's log (Xid) show it"},
	{17, EACCES,
	 "the operating system refuses access to the GPU: the container or the control group of "
	 "this process does not have its /dev/nvidia*"},
	{18, ENODEV,
	 "NVIDIA's library and the loaded driver have different versions, as after an update: "
	 "reload the driver or restart the machine; nvidia-smi shows the same"},
	{27, EAGAIN, "the GPU is not ready yet; nvidia-smi shows the same"},
	{UNC_NVML_EMPTY, ENODEV, "NVIDIA's library gives no value, and no error"},
	{UNC_NVML_MIG, ENODEV,
	 "the GPU is partitioned (MIG), and this count of the whole GPU is not available then"},
	{UNC_NVML_VGPU, ENODEV,
	 "this is a virtual GPU (vGPU), and its guest does not have the count: count on the host"},
	{UNC_NVML_NAN, EIO, "the GPU's firmware has no value of this time"},
	{UNC_NVML_FROZEN, EIO,
	 "the GPU's firmware gave 0, while another counter of the GPU moved: its means are "
	 "wrong at present"},
	{UNC_NVML_NO_LINK, ENOLINK, "the GPU has no active NVLink of this number"},
	{UNC_NVML_LINK_DOWN, EIO,
	 "the link is not active, though others of the GPU are; nvidia-smi nvlink -s shows the "
	 "same"},
	{UNC_NVML_NO_SAMPLE, EAGAIN,
	 "NVIDIA's driver has no sample of the process in this time, which is too short to say that it "
	 "was idle"},
};

/* Whether the GPU or its driver does not have the count at all. */
static bool is_lacking(int status)
{
	return status == NVML_NOT_SUPPORTED || status == NVML_FUNCTION_NOT_FOUND;
}

struct counter {
	const struct unc_event_def *event;
	const struct unc_device_read *read; /* NULL: not opened */
	size_t item;                        /* its number among the open items */
	size_t items;                       /* the ways to read it, from `item` on */
	uint64_t state;                     /* of a state that the library reads itself */
	uint32_t late;
	char why[128];
};

enum state {
	IDLE,    /* all requests are answered */
	WAITING, /* the answer to a reading is late */
	STARTING /* the items are being opened again */
};

struct nvml_source {
	struct unc_source base; /* must be the first member: the pointer is cast */
	struct counter *counters;
	size_t count;
	struct unc_nvml_child child;
	enum state state;
	const char *silent; /* why there was no answer */
	const char *gone;   /* why there is no process; NULL: it has ended */
	uint64_t started_ns, ended_ns;
	size_t pause; /* after its latest end, of pauses[] */
	struct unc_nvml_request open, read;
	const struct unc_device_read *ways[UNC_NVML_MOST_ITEMS]; /* before one is selected */
};

/* A process that has ended is started again after a time, which is longer each time if it has not
 * lived for the longest one. */
#define ENDED \
	"the process uncore-nvml has ended, since NVIDIA's library failed; it is started again "
static const struct {
	uint64_t ns;
	const char *text;
} pauses[] = {
	{5 * SECOND_NS, ENDED "after 5 s"},
	{10 * SECOND_NS, ENDED "after 10 s: it fails again and again"},
	{20 * SECOND_NS, ENDED "after 20 s: it fails again and again"},
	{40 * SECOND_NS, ENDED "after 40 s: it fails again and again"},
	{60 * SECOND_NS, ENDED "after 60 s: it fails again and again"},
};
#define PAUSES (sizeof(pauses) / sizeof(*pauses))
static const char cheap_way[] =
	"counted in the way that costs least, as means of the GPU's firmware and not by its counters, "
	"since this program counts all the time; 'uncore stat' counts exactly";
static const char only_way[] =
	"counted as means of the GPU's firmware, since its exact counter cannot be read here";
static const char silent_read[] = "NVIDIA's library did not answer within 250 ms";
static const char silent_open[] = "NVIDIA's library has not answered since it was started again";

const char *unc_nvml_reason(int status, int *err)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (reasons[i].status == status) {
			*err = reasons[i].err;
			return reasons[i].text;
		}
	*err = EIO;
	return "NVIDIA's library failed; nvidia-smi may show why";
}

/* ---- opening ---- */

/* The process has failed: the next one is started after a while. Why there is none. */
static const char *give_up(struct nvml_source *s, const char *gone)
{
	uint64_t now_ns = unc_now_ns();
	bool lived = now_ns - s->started_ns > pauses[PAUSES - 1].ns;

	s->pause = lived || !s->ended_ns ? 0 : s->pause + (s->pause < PAUSES - 1);
	s->ended_ns = now_ns;
	s->gone = gone;
	unc_nvml_leave(&s->child);
	return gone ? gone : pauses[s->pause].text;
}

static int open_process(struct nvml_source *s, struct unc_error *e)
{
	s->started_ns = unc_now_ns();
	return unc_nvml_start(&s->child, e);
}

/* Sends a request and waits for its answer: as unc_nvml_receive(). */
static int ask(struct nvml_source *s, struct unc_nvml_request *q, uint64_t wait_ns)
{
	if (!unc_nvml_send(&s->child, q))
		return -EPIPE;
	return unc_nvml_receive(&s->child, unc_now_ns() + wait_ns);
}

/* Sends the items and waits for their states. A negative errno with a sentence: there are none. */
static int probe(struct nvml_source *s, uint32_t verb, struct unc_error *e)
{
	const struct unc_nvml_answer *a = &s->child.answer;
	int r, err;

	s->open.verb = verb;
	r = ask(s, &s->open, OPEN_NS);
	if (r == 0)
		return unc_fail(e, ETIMEDOUT,
				"NVIDIA's library did not answer within 10 s; does nvidia-smi?");
	if (r < 0)
		return unc_fail(e, EIO,
				"%s ended at once: NVIDIA's library failed; does nvidia-smi work?",
				UNC_NVML_PROGRAM);
	if (a->status == UNC_NVML_OK)
		return a->count == s->open.count
			       ? 0
			       : unc_fail(e, EPROTO, "%s is of another version", UNC_NVML_PROGRAM);
	if (a->status == UNC_NVML_NO_LIBRARY)
		return unc_fail(e, ENODEV,
				"libnvidia-ml.so.1, which is a part of NVIDIA's driver, cannot be "
				"loaded: %.*s",
				(int)sizeof(a->text) - 1, a->text);
	unc_fail(e, EIO, "%s", unc_nvml_reason(a->status, &err));
	return -err;
}

/* The largest payload of the GPU's PCIe packets, by its configuration (PCI Express Base
 * Specification, Device Control). Programs without CAP_SYS_ADMIN read the first 64 bytes only. */
static uint64_t packet_size(const struct unc_root *root, const char *pci)
{
	char *data = NULL;
	size_t len = 0;
	uint64_t size = 0;

	if (unc_root_read_bytes(root, UNC_PATH("sys/bus/pci/devices/%s/config", pci), 256, &data,
				&len) < 0)
		return 0;
	for (size_t at = len == 256 ? (unsigned char)data[0x34] & 0xfc : 0, left = 48;
	     at >= 0x40 && left; at = (unsigned char)data[at + 1] & 0xfc, left--)
		if (data[at] == 0x10 && at + 9 < len)
			size = UINT64_C(128) << ((unsigned char)data[at + 8] >> 5);
	free(data);
	return size <= 4096 ? size : 0;
}

/* Adds a way to read the event, of one of the GPU's links if its number is not negative. */
static void add_item(struct nvml_source *s, const char *pci, const struct unc_device_read *read,
		     int link)
{
	struct unc_nvml_request *q = &s->open;
	struct unc_nvml_item *item = &q->items[q->count];
	unsigned gpm =
		link < 0 || !read->first_link ? read->gpm : read->first_link + 2 * (unsigned)link;

	*item = (struct unc_nvml_item){.field = (uint16_t)read->field,
				       .gpm = (uint16_t)gpm,
				       .links = link < 0 ? (uint8_t)read->links : UNC_LINKS_NONE,
				       .link = (uint8_t)(link + 1),
				       .call = (uint8_t)read->call};
	snprintf(item->pci, sizeof(item->pci), "%s", pci);
	s->ways[q->count++] = read;
}

/* Adds the ways to read the event to the items, first the ones of the wanted kind. */
static int add_items(struct nvml_source *s, struct counter *c, const char *pci, int link,
		     struct unc_error *e)
{
	c->item = s->open.count;
	for (int wanted = 1; wanted >= 0; wanted--)
		for (size_t i = 0; i < c->event->read_count; i++) {
			const struct unc_device_read *read = &c->event->reads[i];

			if ((read->cheap == s->base.cheap) != wanted ||
			    (link >= 0 && !unc_device_read_has_links(read)))
				continue;
			if (s->open.count == UNC_NVML_MOST_ITEMS)
				return unc_fail(e, E2BIG, "more than %d counts of GPUs",
						UNC_NVML_MOST_ITEMS);
			add_item(s, pci, read, link);
		}
	c->items = s->open.count - c->item;
	return 0;
}

/* Prepares a counter: one that the library reads itself, one with items, or one without. */
static int begin_counter(struct nvml_source *s, struct counter *c, struct uncore_counter *plan,
			 struct unc_error *e)
{
	const struct uncore_pmu *pmu = plan->pmu;
	int link = unc_device_link(plan->config), r;

	c->event = unc_device_event_of(plan);
	plan->width = 64;
	if (!c->event || !c->event->read_count)
		return unc_counter_refuse(plan, -ENODEV, "the GPU has no such event", e);
	if (!pmu->pci)
		return unc_counter_refuse(plan, -ENODEV, "the PCI function of the GPU is unknown",
					  e);
	if (pmu->runtime_status &&
	    unc_device_sleeps(s->base.root, UNC_PATH("%s/%s", pmu->directory, pmu->runtime_status)))
		return unc_counter_refuse(
			plan, -ENODEV,
			UNC_PATH("%s is suspended, and NVIDIA's library would wake it: begin "
				 "while it is in use",
				 pmu->name),
			e);
	if (link == -1 && c->event->reads->call == UNC_NVML_PACKET_SIZE) {
		c->read = c->event->reads;
		c->state = packet_size(s->base.root, pmu->pci);
		return 0;
	}
	r = link < -1 || link >= UNC_NVML_MOST_LINKS ? 0 : add_items(s, c, pmu->pci, link, e);
	if (r == 0 && !c->items)
		r = unc_counter_refuse(plan, -ENODEV,
				       "the GPU does not have this count of one link", e);
	return r;
}

/* Selects the first way that the GPU has. The items become the selected ones. */
static int choose(struct nvml_source *s, struct uncore_counter *plan, struct unc_error *e)
{
	const struct unc_nvml_answer *a = &s->child.answer;
	struct unc_nvml_request *q = &s->open;
	uint32_t count = 0;
	int r = 0, err = 0;

	for (size_t i = 0; r == 0 && i < s->count; i++) {
		struct counter *c = &s->counters[i];
		size_t at = c->item, end;

		if (plan[i].error || c->read)
			continue;
		end = at + c->items;
		while (at < end && a->values[at].status != UNC_NVML_OK)
			at++;
		if (at < end) {
			c->read = s->ways[at];
			if (a->values[at].peer[0] &&
			    !(plan[i].peer = strndup(a->values[at].peer, sizeof(a->values->peer))))
				return unc_nomem(e);
			c->item = count;
			q->items[count++] = q->items[at];
			plan[i].most_per_s = a->values[at].most_per_s;
			plan[i].error_share = c->read->error_share;
			if (c->read->cheap)
				plan[i].way = s->base.cheap ? cheap_way : only_way;
			continue;
		}
		/* It lacks an optional count if it lacks every way to read it. */
		for (at = c->item; c->event->optional && at < end; at++)
			if (!is_lacking(a->values[at].status))
				break;
		at = at < end ? at : c->item;
		const char *text = unc_nvml_reason(a->values[at].status, &err);

		if (c->event->optional && is_lacking(a->values[at].status))
			err = ENOLINK;
		r = unc_counter_refuse(&plan[i], -err, UNC_PATH("%s: %s", plan[i].pmu->name, text),
				       e);
	}
	q->count = count;
	return r;
}

static int nvml_open(struct unc_source *source, struct uncore_counter *counters, size_t count,
		     struct unc_names *notes, struct unc_error *e)
{
	struct nvml_source *s = (struct nvml_source *)source;
	int r = 0;

	(void)notes;
	s->child.fd = -1;
	if (!unc_root_is_live(s->base.root) && !s->base.any_root)
		return unc_fail(e, EOPNOTSUPP,
				"GPUs can be counted on the running machine only, not on one that "
				"is a directory or a snapshot");
	s->counters = calloc(count + 1, sizeof(*s->counters));
	if (!s->counters)
		return unc_nomem(e);
	s->read.verb = UNC_NVML_READ;
	for (; r == 0 && s->count < count; s->count++)
		r = begin_counter(s, &s->counters[s->count], &counters[s->count], e);
	if (r < 0 || !s->open.count)
		return r;
	r = open_process(s, e);
	if (r == 0)
		r = probe(s, UNC_NVML_PROBE, e);
	if (r == 0)
		r = choose(s, counters, e);
	if (r == 0 && s->open.count)
		r = probe(s, UNC_NVML_OPEN, e);
	return r;
}

/* ---- reading ---- */

/* Starts a process that has ended again, unless that was done just now. */
static void start_again(struct nvml_source *s)
{
	struct unc_error why;

	if (unc_now_ns() - s->ended_ns < pauses[s->pause].ns)
		return;
	unc_nvml_leave(&s->child); /* the one before may not have been waited for */
	s->state = STARTING;
	s->silent = silent_open;
	if (open_process(s, &why) < 0 || !unc_nvml_send(&s->child, &s->open))
		give_up(s, s->gone);
}

/* Gets the values of all items. NULL, or why there are none. */
static const char *get_values(struct nvml_source *s)
{
	const struct unc_nvml_answer *a = &s->child.answer;
	int r = 1, err;

	if (s->child.fd < 0)
		start_again(s);
	if (s->child.fd < 0)
		return s->gone ? s->gone : pauses[s->pause].text;
	if (s->state != IDLE)
		r = unc_nvml_receive(&s->child, 0);
	if (r == 0)
		return s->silent;
	if (r > 0 && s->state == STARTING && a->status != UNC_NVML_OK)
		return give_up(s, unc_nvml_reason(a->status, &err));
	s->state = WAITING;
	s->silent = silent_read;
	if (r > 0)
		r = ask(s, &s->read, ANSWER_NS);
	if (r == 0)
		return silent_read;
	if (r > 0 && a->count != s->open.count)
		r = -EPIPE;
	if (r < 0)
		return give_up(s, NULL);
	s->state = IDLE;
	s->gone = NULL;
	return NULL;
}

/* A reading that came too late for a counter of 32 bits, or a sum of other links than before. */
static void explain_late(struct counter *c, const struct unc_nvml_value *v)
{
	if (c->read->links == UNC_LINKS_SUM)
		snprintf(c->why, sizeof(c->why),
			 "an NVLink of the GPU began or ceased to answer, so that the sum is one "
			 "of other links than before");
	else if (v->late_ns)
		snprintf(c->why, sizeof(c->why),
			 "the 32-bit counter was read after %llu ms, and is unique for %llu ms "
			 "only",
			 (unsigned long long)(v->late_ns / 1000000),
			 (unsigned long long)(unc_nvml_sum_unique_ns(v->most_per_s) / 1000000));
	else
		snprintf(c->why, sizeof(c->why),
			 "the counter was reset, or moved faster than the PCIe link can");
}

static void read_counter(const struct nvml_source *s, struct counter *c, const char *silent,
			 uint64_t now_ns, struct uncore_reading *into)
{
	const struct unc_nvml_value *v = &s->child.answer.values[c->item];
	int err;

	*into = (struct uncore_reading){.lost = !c->read, .at_ns = now_ns};
	if (!c->read)
		return;
	if (c->read->call == UNC_NVML_PACKET_SIZE) {
		into->raw = c->state;
		into->enabled_ns = into->running_ns = now_ns - s->base.since_ns;
		return;
	}
	if (silent || v->status != UNC_NVML_OK) {
		into->lost = true;
		into->why = silent ? silent : unc_nvml_reason(v->status, &err);
		return;
	}
	into->raw = v->raw;
	into->at_ns = v->at_ns;
	into->took_ns = v->took_ns;
	into->uncertain_ns = v->uncertain_ns;
	into->enabled_ns = v->is_mean                    ? v->enabled_ns
			   : v->at_ns > s->base.since_ns ? v->at_ns - s->base.since_ns
							 : 0;
	into->running_ns = into->enabled_ns;
	into->own = v->polls * c->read->own;
	if (v->is_mean)
		into->why = "the GPU's firmware has a new mean only every 0.1 s";
	/* NVLink's are in KiB. */
	if (c->read->field >= 138 && c->read->field <= 141)
		into->raw *= 1024;
	if (v->late != c->late) {
		explain_late(c, v);
		into->wrapped = true;
		into->why = c->why;
	}
	c->late = v->late;
}

static int nvml_read(struct unc_source *source, struct uncore_reading *into, uint64_t *now_ns,
		     struct unc_error *e)
{
	struct nvml_source *s = (struct nvml_source *)source;
	const char *silent;

	(void)e;
	*now_ns = unc_now_ns();
	silent = s->open.count ? get_values(s) : NULL;
	for (size_t i = 0; i < s->count; i++)
		read_counter(s, &s->counters[i], silent, *now_ns, &into[i]);
	return 0;
}

static void nvml_close(struct unc_source *source)
{
	struct nvml_source *s = (struct nvml_source *)source;

	unc_nvml_leave(&s->child);
	free(s->counters);
	free(s);
}

const struct unc_source_ops unc_source_nvml = {
	.size = sizeof(struct nvml_source),
	.open = nvml_open,
	.read = nvml_read,
	.close = nvml_close,
};
