/* SPDX-License-Identifier: MIT */
/* Sampled ops: decodes records, counts loads by data source and latency, reads recordings of
 * perf. */
#include "ibs/ibs.h"
#include "ibs/spe.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define CAPS_RIP_CHECK (1u << 7) /* an op says whether its RIP is valid */
#define CAPS_ZEN4 (1u << 11)     /* data sources are more detailed */

/* Registers of an op, after the capabilities, in the order in which the kernel writes them. */
enum { CONTROL, RIP, DATA, DATA2, DATA3, REGISTERS, ADDRESS = REGISTERS };

static unsigned field(uint64_t word, unsigned first, unsigned bits)
{
	return (unsigned)(word >> first & ((1u << bits) - 1));
}

/* ---- one op ---- */

int unc_ibs_decode(const void *raw, size_t size, struct unc_ibs_op *out)
{
	uint64_t reg[REGISTERS];

	if (size < sizeof(uint32_t) + sizeof(reg))
		return -EBADMSG;
	memcpy(reg, (const char *)raw + sizeof(uint32_t), sizeof(reg));
	*out = (struct unc_ibs_op){
		.valid = field(reg[CONTROL], 17, 1) && field(reg[CONTROL], 18, 1),
		.data_source = field(reg[DATA2], 0, 3),
		.remote = field(reg[DATA2], 4, 1),
		.load = field(reg[DATA3], 0, 1),
		.miss = field(reg[DATA3], 7, 1),
		.uncached = field(reg[DATA3], 14, 1),
		.no_mab = field(reg[DATA3], 16, 1),
		.l2_miss = field(reg[DATA3], 20, 1),
		.prefetch = field(reg[DATA3], 21, 1),
		.latency = field(reg[DATA3], 32, 16),
	};
	memcpy(&out->caps, raw, sizeof(out->caps));
	if (out->caps & CAPS_ZEN4)
		out->data_source |= field(reg[DATA2], 6, 2) << 3;
	out->has_ip = !(out->caps & CAPS_RIP_CHECK && field(reg[DATA], 38, 1));
	out->ip = reg[RIP];
	out->has_address = field(reg[DATA3], 17, 1) &&
			   size >= sizeof(uint32_t) + (ADDRESS + 1) * sizeof(uint64_t);
	if (out->has_address)
		out->address = unc_word_at((const char *)raw + sizeof(uint32_t), ADDRESS);
	return 0;
}

/* If an earlier miss has requested the line, the wait is not the latency of the line's source, and
 * the data source of such an op is not always right (erratum 1293 of family 19h). */
enum unc_ibs_source unc_ibs_source_of(const struct unc_ibs_op *op)
{
	static const enum unc_ibs_source before_zen4[32] = {[2] = UNC_IBS_NODE_CACHES,
							    [3] = UNC_IBS_LOCAL_DRAM,
							    [4] = UNC_IBS_FAR_CACHE,
							    [7] = UNC_IBS_IO};
	static const enum unc_ibs_source since_zen4[32] = {
		[1] = UNC_IBS_COMPLEX,         [2] = UNC_IBS_NEAR_CACHE, [3] = UNC_IBS_LOCAL_DRAM,
		[5] = UNC_IBS_FAR_CACHE,       [6] = UNC_IBS_LOCAL_SLOW, [7] = UNC_IBS_IO,
		[8] = UNC_IBS_LOCAL_EXTENSION, [12] = UNC_IBS_PEER};
	enum unc_ibs_source source =
		(op->caps & CAPS_ZEN4 ? since_zen4 : before_zen4)[op->data_source % 32];

	if (op->no_mab)
		return UNC_IBS_PENDING;
	if (!op->l2_miss)
		return UNC_IBS_L2;
	switch (source) {
	case UNC_IBS_L2: /* not in the table */
		return UNC_IBS_UNKNOWN;
	case UNC_IBS_LOCAL_DRAM:
	case UNC_IBS_LOCAL_SLOW:
	case UNC_IBS_LOCAL_EXTENSION:
		return op->remote ? source + 1 : source;
	default:
		return source;
	}
}

/* ---- many ops ---- */

int unc_ibs_add_load(struct unc_ibs *ibs, const struct unc_load *load)
{
	struct unc_ibs_sum *sum = &ibs->sums[load->source];
	unsigned from = unc_ibs_places[load->source].kind;

	if (load->latency < ibs->least)
		return 0;
	if (from & UNCORE_LATENCY_FROM_MEMORY)
		ibs->counts.memory++;
	if (ibs->from && !(from & ibs->from))
		return 0;
	ibs->counts.used++;
	sum->samples++;
	sum->clocks += load->latency;
	sum->bins[unc_ibs_bin(load->latency)]++;
	return ibs->keys ? unc_keys_add(ibs->keys, ibs->tasks, load) : 0;
}

static int add_op(struct unc_ibs *ibs, const struct unc_ibs_op *op, struct unc_load *load)
{
	struct uncore_latency_counts *c = &ibs->counts;

	c->samples += op->valid;
	if (!op->valid || !op->load)
		return 0;
	c->loads++;
	/* For prefetches and uncached accesses the rest of the op is not valid. A latency of 0 is
	 * not valid either. */
	if (op->uncached || op->prefetch || (op->miss && !op->latency)) {
		c->unusable++;
		return 0;
	}
	if (!op->miss)
		return 0;
	load->source = unc_ibs_source_of(op);
	load->latency = op->latency;
	/* Otherwise the sample has where the interrupt came, as in perf. */
	if (op->has_ip) {
		load->ip = op->ip;
		load->has |= UNC_LOAD_IP;
	}
	if (op->has_address) {
		load->address = op->address;
		load->has |= UNC_LOAD_ADDRESS;
	}
	return unc_ibs_add_load(ibs, load);
}

/* The fields of a sample before its raw data, in their order. */
static const uint64_t fields[] = {PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP,   PERF_SAMPLE_TID,
				  PERF_SAMPLE_TIME,       PERF_SAMPLE_ADDR, PERF_SAMPLE_ID,
				  PERF_SAMPLE_STREAM_ID,  PERF_SAMPLE_CPU,  PERF_SAMPLE_PERIOD};
/* Those at the end of other records. */
static const uint64_t end_fields[] = {PERF_SAMPLE_TID, PERF_SAMPLE_TIME,
				      PERF_SAMPLE_ID,  PERF_SAMPLE_STREAM_ID,
				      PERF_SAMPLE_CPU, PERF_SAMPLE_IDENTIFIER};

static void take_fields(const struct unc_ibs_layout *layout, const char *payload,
			struct unc_load *load)
{
	size_t place = 0;

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		uint64_t word;

		if (!(layout->type & fields[i]))
			continue;
		word = unc_word_at(payload, place++);
		if (fields[i] == PERF_SAMPLE_IP) {
			load->ip = word;
			load->has |= UNC_LOAD_IP;
		} else if (fields[i] == PERF_SAMPLE_TID) {
			load->pid = (int)(uint32_t)word;
			load->tid = (int)(word >> 32);
			load->has |= UNC_LOAD_TASK;
		} else if (fields[i] == PERF_SAMPLE_TIME) {
			load->time = word;
		}
	}
}

static int compare_ids(const void *a, const void *b)
{
	uint64_t x = unc_word_at(a, 0), y = unc_word_at(b, 0);

	return x < y ? -1 : x > y;
}

static int add_sample(struct unc_ibs *ibs, const struct unc_ibs_layout *layout, const char *payload,
		      size_t size)
{
	struct unc_load load = {.time = UINT64_MAX};
	struct unc_ibs_op op;
	uint32_t raw = 0;
	uint64_t id;

	/* A recording may have samples of other events, with any length. */
	if (layout->ids && size >= layout->id_at + sizeof(id)) {
		id = unc_word_at(payload + layout->id_at, 0);
		if (!bsearch(&id, layout->ids, layout->id_count, sizeof(id), compare_ids))
			return 0;
	}
	if (size < layout->skip + sizeof(raw)) {
		ibs->counts.broken++;
		return 0;
	}
	take_fields(layout, payload, &load);
	memcpy(&raw, payload + layout->skip, sizeof(raw));
	if (raw > size - layout->skip - sizeof(raw) ||
	    unc_ibs_decode(payload + layout->skip + sizeof(raw), raw, &op) < 0) {
		ibs->counts.broken++;
		return 0;
	}
	return add_op(ibs, &op, &load);
}

/* ---- what SPE has written ---- */

/* Records that perf itself adds: linux tools/lib/perf/include/perf/event.h. */
enum { RECORD_AUXTRACE = 71, RECORD_TIME_CONV = 79 };

struct auxtrace {
	uint64_t size, offset, reference;
	uint32_t number;
	int32_t tid; /* -1: of a CPU */
	uint32_t cpu, reserved;
};

static int add_spe_record(struct unc_ibs *ibs, const struct unc_spe_record *r)
{
	struct uncore_latency_counts *c = &ibs->counts;

	c->samples++;
	c->loads += r->load;
	c->unusable += r->load && r->miss && !r->latency;
	return r->load && r->miss && r->latency ? unc_ibs_add_load(ibs, &r->of) : 0;
}

/* Adds packets of a CPU or, without one, of a thread. */
static int add_packets(struct unc_ibs *ibs, uint64_t midr, const struct auxtrace *of,
		       const char *at, size_t left)
{
	bool broken = false;
	int ret = 0;

	ibs->spe = true;
	while (left && ret == 0) {
		struct unc_spe_record r;
		size_t used = unc_spe_take(at, left, midr, &r);

		if (used == 0)
			break;
		ibs->counts.broken += r.broken && !broken; /* once for all bytes in a row */
		broken = r.broken;
		if (!broken) {
			unc_trace_place(&ibs->trace, ibs->tasks, of->cpu, of->tid, &r);
			ret = add_spe_record(ibs, &r);
		}
		at += used;
		left -= used;
	}
	return ret;
}

/* What the kernel says of packets that it has written; in its ring they are behind the record. */
static int add_aux(struct unc_ibs *ibs, const struct unc_ibs_layout *layout, const char *payload)
{
	uint64_t size = unc_word_at(payload, 1), flags = unc_word_at(payload, 2);
	const char *bytes;

	ibs->trace.truncated += (flags & (PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL)) != 0;
	ibs->counts.lost += flags & PERF_AUX_FLAG_TRUNCATED;
	ibs->trace.collided += (flags & PERF_AUX_FLAG_COLLISION) != 0;
	if (!layout->aux)
		return 0;
	bytes = unc_trace_take(&ibs->trace, layout->aux, unc_word_at(payload, 0), size);
	if (!bytes)
		return 0;
	return add_packets(ibs, layout->midr, &(struct auxtrace){.cpu = layout->aux->cpu}, bytes,
			   (size_t)size);
}

/* Takes the next record's header, and the size of the record with the data behind it. */
static int next_record(const char *at, size_t left, struct perf_event_header *h, size_t *size,
		       struct unc_error *e)
{
	uint64_t data = 0;

	if (left < sizeof(*h))
		return unc_fail(e, EBADMSG, "the last record is cut off");
	memcpy(h, at, sizeof(*h));
	if (h->size < sizeof(*h) || h->size > left)
		return unc_fail(e, EBADMSG, "a record of %u bytes where %zu are left",
				(unsigned)h->size, left);
	if (h->type == RECORD_AUXTRACE && h->size >= sizeof(*h) + sizeof(struct auxtrace))
		data = unc_word_at(at + sizeof(*h), 0);
	if (data > left - h->size)
		return unc_fail(e, EBADMSG, "%llu bytes of SPE where %zu are left",
				(unsigned long long)data, left - h->size);
	*size = h->size + (size_t)data;
	return 0;
}

/* Where the fields at the end of a record are; 0: it has none such. */
struct ends {
	size_t size, task, time, cpu; /* bytes from the record's end */
};

static struct ends find_ends(const struct unc_ibs_layout *layout)
{
	struct ends ends = {0};

	for (size_t i = sizeof(end_fields) / sizeof(*end_fields); layout->all && i > 0; i--) {
		uint64_t field = layout->type & end_fields[i - 1];

		ends.size += field ? sizeof(uint64_t) : 0;
		if (field == PERF_SAMPLE_TID)
			ends.task = ends.size;
		else if (field == PERF_SAMPLE_TIME)
			ends.time = ends.size;
		else if (field == PERF_SAMPLE_CPU)
			ends.cpu = ends.size;
	}
	return ends;
}

static int add_task_record(struct unc_ibs *ibs, const struct unc_ibs_layout *layout,
			   const struct ends *ends, const struct perf_event_header *h,
			   const char *at)
{
	uint64_t time = ends->time ? unc_word_at(at + h->size - ends->time, 0) : 0;
	uint64_t cpu = ends->cpu ? (uint32_t)unc_word_at(at + h->size - ends->cpu, 0) : UINT32_MAX;
	int task[2] = {-1, -1};
	int ret;

	if (ends->task)
		memcpy(task, at + h->size - ends->task, sizeof(task));
	ret = unc_tasks_add(ibs->tasks, h, at + sizeof(*h), h->size - sizeof(*h) - ends->size,
			    time);
	if (ret == 0 && layout->spe && ends->time)
		ret = unc_trace_switch(&ibs->trace, h, at + sizeof(*h), task, time, (uint32_t)cpu);
	return ret;
}

int unc_ibs_add_tasks(struct unc_ibs *ibs, const struct unc_ibs_layout *layout, const void *records,
		      size_t size, struct unc_error *e)
{
	const struct ends ends = find_ends(layout);
	const char *at = records;
	struct perf_event_header h;
	size_t whole;
	int ret = 0;

	ibs->trace.switched = layout->switches;
	for (; size && ret == 0; at += whole, size -= whole) {
		ret = next_record(at, size, &h, &whole, e);
		if (ret < 0)
			return ret;
		if (h.type != PERF_RECORD_SAMPLE && h.type != RECORD_AUXTRACE &&
		    h.size - sizeof(h) >= ends.size)
			ret = add_task_record(ibs, layout, &ends, &h, at);
	}
	return ret == -ENOMEM ? unc_nomem(e) : ret;
}

/* Records that only SPE has. */
static int add_of_spe(struct unc_ibs *ibs, const struct unc_ibs_layout *layout,
		      const struct perf_event_header *h, const char *at, size_t size)
{
	const char *payload = at + sizeof(*h);
	struct auxtrace a;

	if (h->type == RECORD_AUXTRACE && h->size >= sizeof(*h) + sizeof(a)) {
		memcpy(&a, payload, sizeof(a));
		return add_packets(ibs, layout->midr, &a, payload + sizeof(a),
				   size - sizeof(*h) - sizeof(a));
	}
	if (h->type == RECORD_TIME_CONV && h->size >= sizeof(*h) + 24 &&
	    unc_word_at(payload, 0) < 64)
		ibs->trace.clock = (struct unc_clock){
			unc_word_at(payload, 0), unc_word_at(payload, 1), unc_word_at(payload, 2)};
	if (h->type == PERF_RECORD_AUX && h->size >= sizeof(*h) + 24)
		return add_aux(ibs, layout, payload);
	return 0;
}

static int add_records(struct unc_ibs *ibs, const struct unc_ibs_layout *layout,
		       const void *records, size_t size, struct unc_error *e)
{
	const char *at = records;
	struct perf_event_header h;
	size_t whole;

	for (; size; at += whole, size -= whole) {
		int ret = next_record(at, size, &h, &whole, e);

		if (ret < 0)
			return ret;
		if (h.type == PERF_RECORD_SAMPLE && !layout->spe)
			ret = add_sample(ibs, layout, at + sizeof(h), h.size - sizeof(h));
		else if (h.type == PERF_RECORD_LOST && h.size >= sizeof(h) + 16)
			ibs->counts.lost += unc_word_at(at + sizeof(h), 1);
		else if (h.type == PERF_RECORD_LOST_SAMPLES && h.size >= sizeof(h) + 8)
			ibs->counts.lost += unc_word_at(at + sizeof(h), 0);
		else if (h.type == PERF_RECORD_THROTTLE)
			ibs->counts.throttled++;
		else if (layout->spe)
			ret = add_of_spe(ibs, layout, &h, at, whole);
		if (ret < 0)
			return unc_nomem(e);
	}
	return 0;
}

int unc_ibs_add(struct unc_ibs *ibs, const struct unc_ibs_layout *layout, const void *records,
		size_t size, struct unc_error *e)
{
	struct unc_ibs_layout sorted = *layout;
	uint64_t *ids;
	int ret;

	if (!layout->ids)
		return add_records(ibs, layout, records, size, e);
	/* A copy in which an id is found quickly: there is one for each CPU. */
	ids = malloc(layout->id_count * sizeof(*ids) + 1);
	if (!ids)
		return unc_nomem(e);
	memcpy(ids, layout->ids, layout->id_count * sizeof(*ids));
	qsort(ids, layout->id_count, sizeof(*ids), compare_ids);
	sorted.ids = ids;
	ret = add_records(ibs, &sorted, records, size, e);
	free(ids);
	return ret;
}

/* ---- recordings of perf: perf.data ---- */

/* Numbers of the parts after the data, linux tools/perf/util/header.h. */
enum { FEATURE_CPUID = 9, FEATURE_PMUS = 16, FEATURE_COMPRESSED = 27 };

struct section {
	uint64_t offset, size;
};

/* The header as perf writes it, in the byte order of the machine; AMD's is little-endian. */
struct header {
	char magic[8];
	uint64_t size, attr_size;
	struct section attrs, data, types;
	uint64_t features[4];
};

/* The part of perf_event_attr up to its flags, which all versions have. */
#define ATTR_BYTES offsetof(struct perf_event_attr, wakeup_events)
#define END_FIELDS                                                                     \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

struct reader {
	const char *bytes;
	size_t size;
	struct header h;
	struct unc_error *e;
};

static int broken(const struct reader *r, const char *what)
{
	return unc_fail(r->e, EBADMSG, "no recording of perf that can be read: %s", what);
}

/* Copies bytes of the file. Returns false if the file is too short. */
static bool take(const struct reader *r, uint64_t offset, void *into, size_t size)
{
	if (offset > r->size || size > r->size - offset)
		return false;
	memcpy(into, r->bytes + offset, size);
	return true;
}

static bool is_inside(const struct reader *r, const struct section *s)
{
	return s->offset <= r->size && s->size <= r->size - s->offset;
}

/* Finds a part after the data. There is one for each bit that is set. */
static bool find_feature(const struct reader *r, unsigned bit, struct section *out)
{
	uint64_t at = r->h.data.offset + r->h.data.size;

	if (!(r->h.features[0] >> bit & 1))
		return false;
	for (unsigned i = 0; i < bit; i++)
		at += (r->h.features[0] >> i & 1) * sizeof(*out);
	return take(r, at, out, sizeof(*out)) && is_inside(r, out);
}

static bool begins(const struct reader *r, uint64_t at, uint32_t size, const char *text,
		   size_t length)
{
	return size >= length && memcmp(r->bytes + at, text, length) == 0;
}

/* Finds the type number that ibs_op, or arm_spe_0, had on the recorded machine. For each PMU there
 * are its type, the length of its name, and the name. */
static int find_type(const struct reader *r, uint32_t *type, bool *spe)
{
	static const char ibs_op[] = "ibs_op", arm_spe[] = "arm_spe_";
	struct section s = {0};
	uint32_t count, number, size;
	uint64_t at;

	if (!find_feature(r, FEATURE_PMUS, &s) || !take(r, s.offset, &count, sizeof(count)))
		return broken(r, "it does not say which PMUs the machine had");
	for (at = s.offset + sizeof(count); count; count--, at += size) {
		if (!take(r, at, &number, sizeof(number)) ||
		    !take(r, at + sizeof(number), &size, sizeof(size)))
			break;
		at += sizeof(number) + sizeof(size);
		if (size > r->size - at)
			break;
		*spe = begins(r, at, size, arm_spe, strlen(arm_spe));
		if (!*spe && !begins(r, at, size, ibs_op, sizeof(ibs_op)))
			continue;
		*type = number;
		return 0;
	}
	return broken(r, "the machine had no PMU ibs_op or arm_spe_0");
}

/* The model of the CPU, which Arm's CPUs have as a hexadecimal number. */
static uint64_t find_midr(const struct reader *r)
{
	char text[32] = "";
	const char *digits = text + 2;
	uint64_t midr = 0;
	struct section s;

	if (find_feature(r, FEATURE_CPUID, &s) && s.size >= 4 + sizeof(text) &&
	    take(r, s.offset + 4, text, sizeof(text) - 1) && strncmp(text, "0x", 2) == 0)
		unc_take_digits(&digits, 16, 16, &midr);
	return midr;
}

/* Finds the raw data in samples of this type. All samples must have the same number of words before
 * it. The words are in the order of their bits, except the identifier, which is first. */
static int find_raw(const struct reader *r, uint64_t type, struct unc_ibs_layout *out)
{
	static const uint64_t before_id =
		PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;
	static const uint64_t words = before_id | PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ID |
				      PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;

	if (!(type & PERF_SAMPLE_RAW))
		return broken(r, "its samples have no raw data; record with --raw-samples");
	if (type & (PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN))
		return broken(r, "its samples have call chains or counts; record without -g");
	out->type = type;
	out->skip = 8 * (size_t)__builtin_popcountll(type & words);
	if (!(type & PERF_SAMPLE_IDENTIFIER))
		out->id_at = 8 * (size_t)__builtin_popcountll(type & before_id);
	if (out->ids && !(type & (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ID)))
		return broken(r, "its samples do not say of which event they are");
	return 0;
}

/* Finds the event of this type among several. */
static int find_event(const struct reader *r, uint32_t type, struct unc_ibs_file *out)
{
	const struct section *s = &r->h.attrs;
	uint64_t size = r->h.attr_size;
	struct section ids = {0};
	struct perf_event_attr a = {0}, found = {0};
	uint64_t found_at = 0, ends = UINT64_MAX;
	bool differ = false;

	if (size < ATTR_BYTES + sizeof(ids) || !is_inside(r, s) || s->size % size)
		return broken(r, "its list of events makes no sense");
	for (uint64_t at = s->size; at; at -= size) {
		uint64_t set;

		take(r, s->offset + at - size, &a, ATTR_BYTES);
		set = a.sample_id_all ? a.sample_type & END_FIELDS : 0;
		differ = differ || (ends != UINT64_MAX && set != ends);
		ends = set;
		out->layout.switches |= a.context_switch;
		if (a.type != type)
			continue;
		found = a;
		found_at = s->offset + at - sizeof(ids);
	}
	if (!found_at)
		return broken(r, "none of its events is one of ibs_op or arm_spe_0");
	take(r, found_at, &ids, sizeof(ids));
	if (!is_inside(r, &ids))
		return broken(r, "its list of events makes no sense");
	if (s->size != size) {
		out->layout.ids = r->bytes + ids.offset;
		out->layout.id_count = ids.size / sizeof(uint64_t);
	}
	/* Where events differ, it is not known at which places the fields of a record are. */
	out->layout.all = !differ && ends;
	out->layout.type = found.sample_type;
	return out->layout.spe ? 0 : find_raw(r, found.sample_type, &out->layout);
}

int unc_ibs_file_parse(struct unc_ibs_file *out, const void *bytes, size_t size,
		       struct unc_error *e)
{
	struct reader r = {.bytes = bytes, .size = size, .e = e};
	struct unc_ibs_file f = {0};
	struct section s;
	uint32_t type = 0;
	int ret;

	if (!take(&r, 0, &r.h, sizeof(r.h)) || memcmp(r.h.magic, "PERFILE2", 8) != 0)
		return broken(&r, "its first bytes are not those of perf.data");
	if (!is_inside(&r, &r.h.data) || r.h.data.size == 0)
		return broken(&r, "its data is truncated or empty");
	if (find_feature(&r, FEATURE_COMPRESSED, &s))
		return broken(&r, "it is compressed; record without -z");
	ret = find_type(&r, &type, &f.layout.spe);
	if (ret == 0 && f.layout.spe)
		f.layout.midr = find_midr(&r);
	if (ret == 0)
		ret = find_event(&r, type, &f);
	if (ret < 0)
		return ret;
	f.records = r.bytes + r.h.data.offset;
	f.size = r.h.data.size;
	*out = f;
	return 0;
}

int unc_ibs_file_read(struct unc_ibs *into, const char *path, struct unc_error *e)
{
	struct unc_ibs_file f = {0};
	struct unc_error why = {0};
	void *bytes = MAP_FAILED;
	struct stat st = {0};
	/* O_NONBLOCK: without it, opening a FIFO waits for a writer. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), ret = 0;

	if (fd >= 0 && fstat(fd, &st) == 0 && (!S_ISREG(st.st_mode) || st.st_size == 0))
		ret = unc_fail(&why, EBADMSG, "not a regular file, or empty");
	else if (fd >= 0)
		bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (ret == 0 && bytes == MAP_FAILED)
		ret = unc_fail(&why, errno, "%s", unc_errno_text(errno));
	if (fd >= 0)
		close(fd);
	if (ret == 0)
		ret = unc_ibs_file_parse(&f, bytes, (size_t)st.st_size, &why);
	if (ret == 0 && into->keys) {
		into->tasks->newest = st.st_mtime;
		ret = unc_ibs_add_tasks(into, &f.layout, f.records, f.size, &why);
	}
	if (ret == 0)
		ret = unc_ibs_add(into, &f.layout, f.records, f.size, &why);
	if (bytes != MAP_FAILED)
		munmap(bytes, (size_t)st.st_size);
	return ret < 0 ? unc_fail(e, -ret, "%s: %s", path, why.text) : 0;
}
