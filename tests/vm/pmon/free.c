/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PMUs of Tegra410 whose counters always count the same: CMEM latency and the three C2C links.
 * They have instances with a page each, that the driver adds up, and a page that writes to all
 * instances.
 *
 * The weight of an event is spread over the counters that are added up, unevenly, so that a
 * missing one and one taken twice show: 1, 2, 3 ... units, and the last has the rest. The cycle
 * counters are alike in all instances.
 *
 * `select`: C2C: the number of the GPU, 0 or 1, or 0 for other peers. So two GPUs together (the
 * default) weigh unit * (2000 * event + 3). CMEM: 0.
 */
#include "nvidia.h"

#include <stdlib.h>

#define MAX_INSTANCES 16

struct unit {
	uint32_t base;
	unsigned instances;
	unsigned n;         /* counters of an instance */
	const uint16_t *at; /* their offsets */
	bool clock;         /* CMEM's clock gate is open */
	bool enabled;
	struct box box[MAX_INSTANCES];
};

/* ---- CMEM latency: cycles, then requests and outstanding ones of three memory controllers ---- */

#define CMEM_INSTANCES 14
#define CMEM_MCS 3

enum { CMEM_CG_CTRL = 0x800, CMEM_CTRL = 0x808 };

static const uint16_t cmem_at[] = {0x818, 0x820, 0x838, 0x850, 0x830, 0x848, 0x860};

#define CMEM_ENABLE 1u
#define CMEM_CLEAR 2u

/*
 * ---- C2C: the order of the counters is that of the event codes ----
 *
 * The driver reads the overflow status of the "out" counters at 0x890, which is the upper half of
 * in_wr_req at 0x88c: from 2^32 requests of an instance on it warns of an overflow, and counts
 * right. (The "in" status is 4 before its first counter; for "out" that would be 0x894.)
 */
enum { C2C_CTRL = 0x864, C2C_EVENTS = 9 };

static const uint16_t c2c_at[C2C_EVENTS] = {0x86c, 0x874, 0x87c, 0x884, 0x88c,
					    0x898, 0x8a0, 0x8a8, 0x8b0};

/* Share `k` of `n` of a weight. */
static uint64_t share(unsigned socket, unsigned event, unsigned select, unsigned k, unsigned n)
{
	uint64_t unit = pmon_weight(socket, 0, 0, 0);
	uint64_t others = unit * (n - 1) * n / 2; /* 1 + 2 + ... + n - 1 */

	return k < n - 1 ? unit * (k + 1) : pmon_weight(socket, 0, event, select) - others;
}

static void load(void *unit, unsigned index, unsigned offset)
{
	struct unit *u = unit;

	(void)offset;
	if (index >= u->instances)
		return;
	box_advance(&u->box[index]);
	for (unsigned i = 0; i < u->n; i++)
		put64(u->base + index * PAGE + u->at[i], u->box[index].ctr[i].value);
}

static void clear(struct unit *u)
{
	for (unsigned b = 0; b < u->instances; b++)
		for (unsigned i = 0; i < u->n; i++)
			u->box[b].ctr[i].value = 0;
}

static void advance(struct unit *u)
{
	for (unsigned b = 0; b < u->instances; b++)
		box_advance(&u->box[b]);
}

static void freeze(struct unit *u, bool frozen)
{
	for (unsigned b = 0; b < u->instances; b++)
		u->box[b].frozen = frozen;
}

/* Without its clock a CMEM PMU neither counts nor clears. */
static void cmem_store(void *unit, unsigned index, unsigned offset, unsigned size)
{
	struct unit *u = unit;
	uint64_t value = get64(u->base + index * PAGE + offset);

	(void)size;
	if (index != u->instances)
		return; /* the driver writes to all only */
	advance(u);
	if (offset == CMEM_CG_CTRL)
		u->clock = value & 1;
	if (offset == CMEM_CTRL)
		u->enabled = value & CMEM_ENABLE;
	if (offset == CMEM_CTRL && value & CMEM_CLEAR && u->clock)
		clear(u);
	freeze(u, !(u->clock && u->enabled));
}

/* Counting begins at 0 each time it is enabled. */
static void c2c_store(void *unit, unsigned index, unsigned offset, unsigned size)
{
	struct unit *u = unit;
	bool enable = get32(u->base + index * PAGE + offset) & 1;

	(void)size;
	if (index != u->instances || offset != C2C_CTRL)
		return;
	advance(u);
	if (enable && !u->enabled)
		clear(u);
	u->enabled = enable;
	freeze(u, !enable);
}

static struct unit *new_unit(uint32_t base, unsigned instances, const uint16_t *at, unsigned n)
{
	struct unit *u = calloc(1, sizeof(*u));

	if (!u || instances > MAX_INSTANCES)
		abort();
	*u = (struct unit){.base = base, .instances = instances, .n = n, .at = at};
	for (unsigned b = 0; b < instances; b++) {
		box_init(&u->box[b], n, 64);
		u->box[b].frozen = true;
		for (unsigned i = 0; i < n; i++)
			u->box[b].ctr[i].on = true;
	}
	return u;
}

void cmem_new(uint32_t base, unsigned socket)
{
	static const struct page_ops ops = {load, cmem_store};
	const unsigned n = CMEM_INSTANCES * CMEM_MCS;
	struct unit *u = new_unit(base, CMEM_INSTANCES, cmem_at, 1 + 2 * CMEM_MCS);

	for (unsigned b = 0; b < CMEM_INSTANCES; b++) {
		struct counter *c = u->box[b].ctr;

		c[0].weight = pmon_weight(socket, 0, CYCLES, 0);
		for (unsigned mc = 0; mc < CMEM_MCS; mc++) {
			c[1 + mc].weight = share(socket, 1, 0, b * CMEM_MCS + mc, n);
			c[1 + CMEM_MCS + mc].weight = share(socket, 2, 0, b * CMEM_MCS + mc, n);
		}
	}
	pages_claim(base, CMEM_INSTANCES + 1, &ops, u);
}

void c2c_new(uint32_t base, unsigned socket, unsigned instances, uint32_t gpu1)
{
	static const struct page_ops ops = {load, c2c_store};
	struct unit *u = new_unit(base, instances, c2c_at, C2C_EVENTS);
	unsigned n[2], k[2] = {0, 0};

	n[1] = (unsigned)__builtin_popcount(gpu1);
	n[0] = instances - n[1];
	for (unsigned b = 0; b < instances; b++) {
		unsigned gpu = gpu1 >> b & 1;

		u->box[b].ctr[0].weight = pmon_weight(socket, 0, CYCLES, gpu);
		for (unsigned e = 1; e < C2C_EVENTS; e++)
			u->box[b].ctr[e].weight = share(socket, e, gpu, k[gpu], n[gpu]);
		k[gpu]++;
	}
	pages_claim(base, instances + 1, &ops, u);
}
