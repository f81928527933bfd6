/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Real traffic: what the guest's own instructions load and store, counted where the hardware would.
 *
 * A byte's home socket is its physical address / (RAM / sockets): each node has its share of the RAM,
 * in order. Its channel is (address / 256) mod channels of the socket, its half of a channel bit 6 of
 * the address, its link, if the CPU is of another socket, (address / 64) mod links. A port of the mesh
 * serves as many channels as the next one. The home agent is a hash of the line's number, mod agents.
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

#include <stdio.h>
#include <stdlib.h>

#define LINE 64
#define CHANNEL_STEP 256
#define ALL 255

#define MAX_SOCKETS 8
#define MAX_UNITS 16    /* of a kind */
#define MAX_CACHE 65536 /* KiB */

enum { LOADS, STORES };

struct line {
	uint64_t address;
	bool there, dirty;
};

/* Bytes that a CPU has moved; only its own thread writes them, without the lock. */
static struct moved {
	uint64_t memory[2][MAX_SOCKETS][MAX_UNITS][2]; /* [operation][home][channel][half] */
	uint64_t agents[2][MAX_SOCKETS][MAX_UNITS];
	uint64_t links[MAX_SOCKETS][MAX_SOCKETS][MAX_UNITS]; /* [from][to] */
	struct line *cache;
	unsigned cache_lines;
} moved[RIG_MAX_CPUS];

static unsigned units[REAL_KINDS]; /* of each socket */

static bool on;
static uint64_t background; /* in thousandths, like all of these shares */

static struct faults {
	bool swapped, turned, as_reads, as_remote;
	uint64_t stray;
	uint64_t scales[MAX_SOCKETS][MAX_UNITS];
} faults[REAL_KINDS];
static struct faults *faulty; /* those that are being set */

/* For the CPUs' threads, which look without the lock. */
static unsigned cache_lines;
static bool allocate;

void real_unit(enum real_kind kind, unsigned instance)
{
	if (instance >= MAX_UNITS) {
		fprintf(stderr, "pmon: too many channels, agents or links\n");
		exit(1);
	}
	if (units[kind] <= instance)
		units[kind] = instance + 1;
}

static void add(uint64_t *n, unsigned size)
{
	__atomic_store_n(n, *n + size, __ATOMIC_RELAXED);
}

static unsigned agent_of(uint64_t address)
{
	uint64_t line = address / LINE;

	return (unsigned)((line ^ line >> 7 ^ line >> 13) % units[REAL_HOME]);
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
	rdt_moved(cpu, size, store,
		  (address - pmon_config.ram_at) / (node / pmon_config.nodes) == pmon_node(cpu));
	if (units[REAL_HOME])
		add(&m->agents[operation][home][agent_of(address)], size);
	if (home == socket || !units[REAL_LINK])
		return;
	add(&m->links[store ? socket : home][store ? home : socket]
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

static uint64_t get(const uint64_t *n)
{
	return __atomic_load_n(n, __ATOMIC_RELAXED);
}

/* Whose it is when a CPU moves something at home there. */
static unsigned whose(const struct real *r, unsigned cpu, unsigned home)
{
	bool own = pmon_socket(cpu) == r->socket;

	if (home == r->socket)
		return own ? REAL_LOCAL : REAL_FROM_REMOTE;
	return own ? REAL_TO_REMOTE : 0;
}

static uint64_t of_channels(const struct real *r, const uint64_t channels[MAX_UNITS][2])
{
	unsigned step = r->kind == REAL_PORT ? units[REAL_MEMORY] / units[REAL_PORT] : 1;
	uint64_t n = 0;

	for (unsigned c = r->instance * step; c < (r->instance + 1) * step && c < MAX_UNITS; c++)
		for (unsigned half = 0; half < 2; half++)
			if (r->halves >> half & 1)
				n += get(&channels[c][half]);
	return n;
}

static uint64_t of_memory(const struct real *r)
{
	const unsigned wanted[] = {[LOADS] = r->reads, [STORES] = r->writes};
	uint64_t n = 0;

	for (unsigned cpu = 0; cpu < pmon_config.cpus; cpu++)
		for (unsigned home = 0; home < pmon_config.sockets; home++)
			for (unsigned op = LOADS; op <= STORES; op++) {
				if (!(wanted[op] & whose(r, cpu, home)))
					continue;
				if (r->kind == REAL_HOME)
					n += get(&moved[cpu].agents[op][home][r->instance]);
				else
					n += of_channels(r, moved[cpu].memory[op][home]);
			}
	return n;
}

/* What its CPUs load comes in, and what they store goes out; of other CPUs it is the other way. */
static uint64_t of_links(const struct real *r)
{
	uint64_t n = 0;

	for (unsigned cpu = 0; cpu < pmon_config.cpus; cpu++)
		for (unsigned other = 0; other < pmon_config.sockets; other++) {
			if (r->reads)
				n += get(&moved[cpu].links[other][r->socket][r->instance]);
			if (r->writes)
				n += get(&moved[cpu].links[r->socket][other][r->instance]);
		}
	return n;
}

static uint64_t of(const struct real *r)
{
	if (r->kind == REAL_STACK)
		return disk_of_stack(r);
	if (r->kind == REAL_SLICE)
		return disk_of_slice(r, units[REAL_HOME]);
	return r->kind == REAL_LINK ? of_links(r) : of_memory(r);
}

static unsigned exchanged(unsigned who)
{
	return (who & REAL_LOCAL ? REAL_FROM_REMOTE : 0) |
	       (who & REAL_FROM_REMOTE ? REAL_LOCAL : 0) | (who & REAL_TO_REMOTE);
}

/* What it takes for its own, with the faults that turn one thing into another. */
static struct real taken_for(const struct real *r, const struct faults *f)
{
	struct real t = *r;

	if (f->swapped)
		t.socket = pmon_config.sockets - 1 - t.socket;
	if (f->turned) {
		t.reads = r->writes;
		t.writes = r->reads;
	}
	if (f->as_reads)
		t.writes = t.reads;
	if (f->as_remote) {
		t.reads = exchanged(t.reads);
		t.writes = exchanged(t.writes);
	}
	return t;
}

uint64_t real_total(const struct real *r)
{
	const struct faults *f = &faults[r->kind];
	struct real t = taken_for(r, f);
	uint64_t n;

	if (r->kind == REAL_NONE || r->socket >= MAX_SOCKETS)
		return 0;
	n = of(&t);
	if (f->stray && pmon_config.sockets > 1 && t.socket == 0) {
		n -= n * f->stray / 1000;
	} else if (f->stray && t.socket == 1) {
		t.socket = 0;
		n += of(&t) * f->stray / 1000;
	}
	return n * f->scales[r->socket][r->instance] / 1000 * r->per_line / LINE;
}

bool real_counts(const struct real *r)
{
	return on && r->kind != REAL_NONE;
}

uint64_t real_background(void)
{
	return background;
}

static void scale(struct faults *f, uint64_t socket, uint64_t unit, uint64_t thousandths)
{
	for (unsigned s = 0; s < MAX_SOCKETS; s++)
		for (unsigned u = 0; u < MAX_UNITS; u++)
			if ((socket == ALL || socket == s) && (unit == ALL || unit == u))
				f->scales[s][u] = thousandths;
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
	background = 0;
	set_cache(0);
	__atomic_store_n(&allocate, false, __ATOMIC_RELAXED);
	for (unsigned kind = 0; kind < REAL_KINDS; kind++) {
		faults[kind] = (struct faults){.stray = 0};
		scale(&faults[kind], ALL, ALL, 1000);
	}
	faulty = &faults[REAL_MEMORY];
	disk_restart();
	pmon_watch_real(nt);
}

static void set_fault(struct faults *f, enum real_setting what, uint64_t value)
{
	if (what == REAL_SWAPPED)
		f->swapped = value;
	else if (what == REAL_TURNED)
		f->turned = value;
	else if (what == REAL_AS_READS)
		f->as_reads = value;
	else if (what == REAL_AS_REMOTE)
		f->as_remote = value;
	else if (what == REAL_STRAY)
		f->stray = value;
	else if (what == REAL_SCALE)
		scale(f, value & 0xff, value >> 8 & 0xff, value >> 32);
}

void real_set(enum real_setting what, uint64_t value)
{
	if (what == REAL_DISK) {
		disk_move(value >> 1, value & 1);
		return;
	}
	boxes_advance();
	if (what == REAL_ON)
		start(value);
	else if (what == REAL_BACKGROUND)
		background = value;
	else if (what == REAL_CACHE)
		set_cache(value);
	else if (what == REAL_ALLOCATE)
		__atomic_store_n(&allocate, value, __ATOMIC_RELAXED);
	else if (what == REAL_DISK_PORT)
		disk_set_port(value & 0xff, value >> 8 & 0xff);
	else if (what == REAL_DISK_FOUND)
		disk_set_found(value);
	else if (what == REAL_FAULTY)
		faulty = value < REAL_KINDS ? &faults[value] : NULL;
	else if (faulty)
		set_fault(faulty, what, value);
	boxes_restart();
}
