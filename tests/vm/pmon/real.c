/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Real traffic: what the guest's own instructions load and store, counted where the hardware would.
 *
 * A byte's home socket is its physical address / (RAM / sockets): each node has its share of the RAM,
 * in order. Its channel is (address / 256) mod channels of the socket, its half of a channel bit 6 of
 * the address, its link, if the CPU is of another socket, (address / 64) mod links.
 *
 * Without a cache every access counts with its size, and a counter shows the whole lines, 64 bytes
 * each. With one each CPU has its own, direct-mapped, and loads go through it; so do stores when they
 * allocate, which non-temporal ones should not: they read their line, and write it when it has to go.
 * Other CPUs and devices do not look into it.
 *
 * Faults change what counters show of it, so that a test knows whether its judge would see them.
 */
#include "pmon.h"
#include "qemu-api.h"

#include <stdlib.h>

#define LINE 64
#define CHANNEL_STEP 256
#define ALL 255

#define MAX_SOCKETS 8
#define MAX_CHANNELS 16
#define MAX_LINKS 4
#define MAX_CACHE 65536 /* KiB */

enum { LOADS, STORES };

struct line {
	uint64_t address;
	bool there, dirty;
};

/* Bytes that a CPU has moved; only its own thread writes them, without the lock. */
static struct moved {
	uint64_t memory[2][MAX_SOCKETS][MAX_CHANNELS][2]; /* [operation][home][channel][half] */
	uint64_t links[2][MAX_SOCKETS][MAX_SOCKETS][MAX_LINKS]; /* [operation][from][to] */
	struct line *cache;
	unsigned cache_lines;
} moved[RIG_MAX_CPUS];

static unsigned units[REAL_KINDS]; /* of each socket */

static bool on;
static uint64_t background; /* all in thousandths */
static uint64_t stray;
static uint64_t scales[MAX_SOCKETS][MAX_CHANNELS];
static bool swapped, as_reads;

/* For the CPUs' threads, which look without the lock. */
static unsigned cache_lines;
static bool allocate;

void real_unit(enum real_kind kind, unsigned instance)
{
	if (units[kind] <= instance)
		units[kind] = instance + 1;
}

static void add(uint64_t *n, unsigned size)
{
	__atomic_store_n(n, *n + size, __ATOMIC_RELAXED);
}

static void move(unsigned cpu, uint64_t address, unsigned size, bool store)
{
	uint64_t node = pmon_config.ram / pmon_config.sockets;
	uint64_t home = node ? (address - pmon_config.ram_at) / node : UINT64_MAX;
	unsigned socket = pmon_socket(cpu), operation = store ? STORES : LOADS;
	struct moved *m = &moved[cpu];

	if (address < pmon_config.ram_at || home >= pmon_config.sockets || home >= MAX_SOCKETS ||
	    !units[REAL_MEMORY])
		return;
	add(&m->memory[operation][home][address / CHANNEL_STEP % units[REAL_MEMORY]]
		      [address / LINE % 2],
	    size);
	if (home == socket || !units[REAL_LINK])
		return;
	add(&m->links[operation][store ? socket : home][store ? home : socket]
		     [address / LINE % units[REAL_LINK]],
	    size);
}

static void evict(unsigned cpu, struct line *line)
{
	if (line->there && line->dirty)
		move(cpu, line->address, LINE, true);
	*line = (struct line){.there = false};
}

/* The place in the CPU's cache for an address. */
static struct line *place_for(struct moved *m, uint64_t address, unsigned lines)
{
	if (m->cache_lines != lines) {
		free(m->cache);
		m->cache = calloc(lines, sizeof(*m->cache));
		if (!m->cache)
			abort();
		m->cache_lines = lines;
	}
	return &m->cache[address / LINE % lines];
}

static void move_by_cache(unsigned cpu, uint64_t address, unsigned size, bool store, unsigned lines)
{
	struct line *line = place_for(&moved[cpu], address, lines);
	uint64_t whole = address - address % LINE;
	bool hit = line->there && line->address == whole;

	if (store && !__atomic_load_n(&allocate, __ATOMIC_RELAXED)) {
		if (hit)
			evict(cpu, line);
		move(cpu, address, size, true);
		return;
	}
	if (!hit) {
		evict(cpu, line);
		move(cpu, whole, LINE, false);
		*line = (struct line){.address = whole, .there = true};
	}
	line->dirty |= store;
}

static void on_move(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	const struct qemu_plugin_hwaddr *where = qemu_plugin_get_hwaddr(info, vaddr);
	unsigned lines = __atomic_load_n(&cache_lines, __ATOMIC_RELAXED);
	unsigned size = 1u << qemu_plugin_mem_size_shift(info);
	bool store = qemu_plugin_mem_is_store(info);

	(void)data;
	if (!where || qemu_plugin_hwaddr_is_io(where))
		return;
	if (lines)
		move_by_cache(vcpu, qemu_plugin_hwaddr_phys_addr(where), size, store, lines);
	else
		move(vcpu, qemu_plugin_hwaddr_phys_addr(where), size, store);
}

void real_look(struct qemu_plugin_insn *insn)
{
	qemu_plugin_register_vcpu_mem_cb(insn, on_move, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
					 NULL);
}

/* Over all CPUs. */
static uint64_t sum(const uint64_t *of_cpu_0)
{
	uint64_t n = 0;

	for (unsigned cpu = 0; cpu < pmon_config.cpus; cpu++)
		n += __atomic_load_n(
			(const uint64_t *)((const char *)of_cpu_0 + cpu * sizeof(*moved)),
			__ATOMIC_RELAXED);
	return n;
}

static uint64_t of_memory(const struct real *r, unsigned kind, unsigned socket)
{
	uint64_t n = 0;

	for (unsigned half = 0; half < 2; half++)
		if (r->halves >> half & 1)
			n += sum(&moved[0].memory[kind][socket][r->instance][half]);
	return n;
}

static unsigned counted_socket(unsigned socket)
{
	return swapped ? pmon_config.sockets - 1 - socket : socket;
}

static uint64_t memory(const struct real *r, unsigned kind)
{
	unsigned socket = counted_socket(r->socket);
	uint64_t n = of_memory(r, kind, socket);

	if (stray && pmon_config.sockets > 1 && socket == 0)
		n -= n * stray / 1000;
	else if (stray && socket == 1)
		n += of_memory(r, kind, 0) * stray / 1000;
	return n;
}

static uint64_t of_channel(const struct real *r)
{
	uint64_t n = 0;

	if (r->reads)
		n += memory(r, LOADS);
	if (as_reads ? r->reads : r->writes)
		n += memory(r, STORES);
	return n * scales[r->socket][r->instance] / 1000;
}

/* What its CPUs load comes in, and what they store goes out; of other CPUs it is the other way. */
static uint64_t of_links(const struct real *r)
{
	unsigned here = counted_socket(r->socket);
	uint64_t n = 0;

	for (unsigned other = 0; other < pmon_config.sockets; other++) {
		if (r->reads)
			n += sum(&moved[0].links[LOADS][other][here][r->instance]);
		if (r->reads && r->kind == REAL_LINK)
			n += sum(&moved[0].links[STORES][other][here][r->instance]);
		if (r->writes)
			n += sum(&moved[0].links[STORES][here][other][r->instance]);
		if (r->writes && r->kind == REAL_LINK)
			n += sum(&moved[0].links[LOADS][here][other][r->instance]);
	}
	return n;
}

uint64_t real_total(const struct real *r)
{
	uint64_t bytes = 0;

	if (r->kind == REAL_NONE || r->socket >= MAX_SOCKETS)
		return 0;
	if (r->kind == REAL_MEMORY && r->instance < MAX_CHANNELS)
		bytes = of_channel(r);
	else if (r->kind != REAL_MEMORY && r->instance < MAX_LINKS)
		bytes = of_links(r);
	return bytes * r->per_line / LINE;
}

bool real_counts(const struct real *r)
{
	return on && r->kind != REAL_NONE;
}

uint64_t real_background(void)
{
	return background;
}

static void scale(uint64_t socket, uint64_t channel, uint64_t thousandths)
{
	for (unsigned s = 0; s < MAX_SOCKETS; s++)
		for (unsigned c = 0; c < MAX_CHANNELS; c++)
			if ((socket == ALL || socket == s) && (channel == ALL || channel == c))
				scales[s][c] = thousandths;
}

static void set_cache(uint64_t kib)
{
	__atomic_store_n(&cache_lines, (unsigned)(kib < MAX_CACHE ? kib : MAX_CACHE) * 1024 / LINE,
			 __ATOMIC_RELAXED);
}

/* Counting begins anew, without faults. */
static void start(bool nt)
{
	on = nt;
	background = stray = 0;
	swapped = as_reads = false;
	set_cache(0);
	__atomic_store_n(&allocate, false, __ATOMIC_RELAXED);
	scale(ALL, ALL, 1000);
	pmon_watch_real(nt);
}

void real_set(enum real_setting what, uint64_t value)
{
	boxes_advance();
	switch (what) {
	case REAL_ON:
		start(value);
		break;
	case REAL_BACKGROUND:
		background = value;
		break;
	case REAL_SWAPPED:
		swapped = value;
		break;
	case REAL_AS_READS:
		as_reads = value;
		break;
	case REAL_STRAY:
		stray = value;
		break;
	case REAL_CACHE:
		set_cache(value);
		break;
	case REAL_ALLOCATE:
		__atomic_store_n(&allocate, value, __ATOMIC_RELAXED);
		break;
	case REAL_SCALE:
		scale(value & 0xff, value >> 8 & 0xff, value >> 32);
		break;
	}
	boxes_restart();
}
