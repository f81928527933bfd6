/* SPDX-License-Identifier: MIT */
/* Packets of SPE: a header of one or two bytes, then 1, 2, 4 or 8 bytes. */
#include "ibs/spe.h"

enum kind { BROKEN, OTHER, END, TIME, ADDRESS, COUNTER, CONTEXT, OPERATION, EVENTS, SOURCE };

struct packet {
	enum kind kind;
	unsigned index;
	uint64_t value;
};

#define EVENT_L1_REFILL (1u << 3)
#define CLASS_LOAD_STORE 1
#define IS_STORE 1u

/* The header's first byte says how many bytes follow, in bits 4 and 5. */
static enum kind kind_of(unsigned byte)
{
	if ((byte & 0xcf) == 0x42)
		return EVENTS;
	if ((byte & 0xcf) == 0x43)
		return SOURCE;
	if ((byte & 0xfc) == 0x64)
		return CONTEXT;
	if ((byte & 0xfc) == 0x48)
		return OPERATION;
	if ((byte & 0xf8) == 0xb0)
		return ADDRESS;
	if ((byte & 0xf8) == 0x98)
		return COUNTER;
	return byte == 0x71 ? TIME : BROKEN;
}

/* The bytes of the next packet; 0: it is cut off. A byte that begins none is one itself. */
static size_t take_packet(const unsigned char *at, size_t size, struct packet *p)
{
	size_t head = 1, bytes;

	*p = (struct packet){.kind = OTHER};
	if (at[0] == 0x00) /* padding */
		return 1;
	if (at[0] == 0x01) {
		p->kind = END;
		return 1;
	}
	if ((at[0] & 0xe0) == 0x20) {
		head = 2;
		if (size < head)
			return 0;
	}
	if (head == 2 && at[1] == 0x00) { /* alignment: zeros up to a multiple of a power of two */
		p->kind = BROKEN;
		return 1;
	}
	p->kind = kind_of(at[head - 1]);
	if (p->kind == BROKEN || (head == 2 && p->kind != ADDRESS && p->kind != COUNTER)) {
		p->kind = BROKEN;
		return 1;
	}
	p->index = at[head - 1] & (p->kind == CONTEXT || p->kind == OPERATION ? 3 : 7);
	if (head == 2)
		p->index |= (at[0] & 3u) << 3;
	bytes = (size_t)1 << (at[head - 1] >> 4 & 3);
	if (size < head + bytes)
		return 0;
	for (size_t i = 0; i < bytes; i++)
		p->value |= (uint64_t)at[head + i] << 8 * i;
	return head + bytes;
}

/* Addresses have 56 bits; the byte above has other fields. Those of the kernel begin with ones. */
static uint64_t address_of(uint64_t value, bool of_kernel)
{
	return (value & (UINT64_MAX >> 8)) | (of_kernel ? UINT64_C(0xff) << 56 : 0);
}

static void take_address(const struct packet *p, struct unc_load *load)
{
	unsigned level = p->value >> 61 & 3; /* exception level, for instructions */
	bool secure = !(p->value >> 63);

	if (p->index == 0) {
		load->ip = address_of(p->value, !secure && (level == 1 || level == 2));
		load->has |= UNC_LOAD_IP;
	} else if (p->index == 2) {
		load->address = address_of(p->value, (p->value >> 52 & 0xf) == 0xf);
		load->has |= UNC_LOAD_ADDRESS;
	}
}

/* Neoverse N1, N2, V1, V2: linux tools/perf/util/arm-spe.c. */
static bool has_sources(uint64_t midr)
{
	static const unsigned parts[] = {0xd0c, 0xd49, 0xd40, 0xd4f};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if ((midr >> 24 & 0xff) == 0x41 && (midr >> 4 & 0xfff) == parts[i])
			return true;
	return false;
}

/* Data sources of these CPUs, in their Technical Reference Manuals ("data source packet"). */
static enum unc_ibs_source source_of(uint64_t value)
{
	static const enum unc_ibs_source sources[16] = {
		[0x8] = UNC_IBS_L2 + 1,           [0x9] = UNC_IBS_CORE + 1,
		[0xa] = UNC_IBS_CLUSTER + 1,      [0xb] = UNC_IBS_SYSTEM_CACHE + 1,
		[0xc] = UNC_IBS_PEER_CLUSTER + 1, [0xd] = UNC_IBS_OTHER_SOCKET + 1,
		[0xe] = UNC_IBS_LOCAL_DRAM + 1};

	if (value > 15 || !sources[value])
		return UNC_IBS_UNKNOWN;
	return sources[value] - 1;
}

static void use_packet(const struct packet *p, uint64_t midr, struct unc_spe_record *r)
{
	switch (p->kind) {
	case ADDRESS:
		take_address(p, &r->of);
		break;
	case COUNTER:
		if (p->index == 0) { /* from dispatch to completion */
			r->of.latency = (unsigned)(p->value & 0xffff);
			r->latency = r->of.latency > 0;
		}
		break;
	case CONTEXT:
		r->of.tid = (int)(uint32_t)p->value;
		r->context = true;
		break;
	case OPERATION:
		r->load = p->index == CLASS_LOAD_STORE && !(p->value & IS_STORE);
		break;
	case EVENTS:
		r->miss = r->miss || p->value & EVENT_L1_REFILL;
		break;
	case SOURCE:
		if (!has_sources(midr))
			break;
		r->of.source = source_of(p->value);
		r->miss = r->miss || p->value != 0;
		break;
	case TIME:
		r->of.time = p->value;
		r->timed = true;
		break;
	default:
		break;
	}
}

size_t unc_spe_take(const void *bytes, size_t size, uint64_t midr, struct unc_spe_record *out)
{
	const unsigned char *at = bytes;
	size_t used = 0, length;

	*out = (struct unc_spe_record){
		.of = {.source = UNC_IBS_UNKNOWN, .time = UINT64_MAX, .pid = -1, .tid = -1}};
	while (used < size) {
		struct packet p;

		length = take_packet(at + used, size - used, &p);
		if (length == 0)
			return 0;
		used += length;
		if (p.kind == BROKEN) {
			out->broken = true;
			return used;
		}
		use_packet(&p, midr, out);
		/* A record ends with one of these. */
		if (p.kind == END || p.kind == TIME)
			return used;
	}
	return 0;
}
