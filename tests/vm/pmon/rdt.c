/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Monitoring of the last-level caches by RMID, as the kernel's resctrl uses it: Intel's RDT and AMD's
 * QoS, which have the same leaves of CPUID and the same registers. What a CPU moves (real.c) counts for
 * the RMID that the kernel has put into the CPU's IA32_PQR_ASSOC; the kernel does so when it switches tasks.
 *
 * Bandwidth: a counter of each RMID and cache shows the whole lines, 64 bytes each, that its CPUs have
 * moved, modulo its width; "local" are those whose home is the CPU's node.
 *
 * Occupancy: a CPU's share of its cache holds the lines that it has moved last, one after the other.
 * An RMID occupies those that were moved under it, until the CPU has moved as much again as fits.
 *
 * Sub-NUMA clusters: an L3 of several nodes has counters for each of them. The RMID that is asked for is then that of
 * the task + RMIDs / nodes x the number of the node in the socket, and the unit that CPUID has is divided, too (Linux,
 * logical_rmid_to_physical_rmid() and rdt_get_l3_mon_config()).
 *
 * Assignable counters (ABMC, later AMD CPUs): once the kernel has switched them on, a counter counts for the
 * RMID, and of it what the kernel has written to its configuration.
 *
 * Registers and leaves: Intel SDM volume 3, 18.18 (17.18 in older ones); AMD APM volume 2, 19.3; Linux,
 * arch/x86/kernel/cpu/resctrl/.
 */
#include "pmon.h"

#include <stdlib.h>
#include <string.h>

#define LINE 64
#define CACHE_SIZE (16u << 20) /* QEMU's Xeons say so */

#define MAX_RMIDS 256
#define MAX_CNTRS 32
#define BASE_WIDTH 24 /* of a counter; CPUID has what is on top */

#define PQR_ASSOC 0xc8f
#define QM_EVTSEL 0xc8d
#define QM_CTR 0xc8e
#define ABMC_CFG 0xc00003fd
#define EXT_CFG 0xc00003ff

#define ERROR (UINT64_C(1) << 63)
#define UNAVAILABLE (UINT64_C(1) << 62)

#define FEATURES 7
#define PQM (1u << 12) /* ebx */
#define MONITORING 0xf
#define ABMC_FEATURES 0x80000020
#define ABMC (1u << 5) /* ebx */

enum { OCCUPANCY = 1, TOTAL, LOCAL };

/* What was moved, and the bit of it in the configuration of an assignable counter. */
enum { LOAD_NEAR, LOAD_FAR, STORE_NEAR, STORE_FAR, N_WAYS };
#define ALL_WAYS 0xf
#define NEAR_WAYS (1 << LOAD_NEAR | 1 << STORE_NEAR)

/* Only a CPU's own thread writes these but `counted`, without the lock. */
static struct cpu {
	uint32_t rmid;
	uint64_t select;                   /* QM_EVTSEL */
	uint64_t moved[MAX_RMIDS][N_WAYS]; /* bytes */
	uint64_t lost[MAX_RMIDS][N_WAYS];  /* of them: before the counters began anew */
	uint64_t held[MAX_RMIDS];          /* lines in the cache */
	uint8_t part[MAX_RMIDS];           /* of a line, in bytes */
	uint8_t *cache;                    /* whose the line is */
	unsigned lines;                    /* that fit into it */
	uint64_t filled;                   /* so far */
} cpus[RIG_MAX_CPUS];

/* The assignable counters of the cache that a CPU has: kept with the cache's first CPU. */
struct cntr {
	uint32_t rmid, ways;
	bool on;
	uint64_t before; /* when it was switched on */
};
static struct cntr cntrs[RIG_MAX_CPUS][MAX_CNTRS];
static bool extended;   /* they are in use */
static uint64_t answer; /* ERROR or UNAVAILABLE instead of any count */

static uint64_t get(const uint64_t *n)
{
	return __atomic_load_n(n, __ATOMIC_RELAXED);
}

static void set(uint64_t *n, uint64_t value)
{
	__atomic_store_n(n, value, __ATOMIC_RELAXED);
}

static unsigned cache_of(unsigned cpu)
{
	return pmon_model->cache ? pmon_model->cache(cpu) : pmon_socket(cpu);
}

static unsigned first_of_cache(unsigned cpu)
{
	unsigned first = 0;

	while (cache_of(first) != cache_of(cpu))
		first++;
	return first;
}

/* Lines: the CPUs of a cache have a share each. */
static unsigned share_of(unsigned cpu)
{
	unsigned sharers = 0;

	for (unsigned c = 0; c < pmon_config.cpus; c++)
		sharers += cache_of(c) == cache_of(cpu);
	return (pmon_model->cache_size ? pmon_model->cache_size : CACHE_SIZE) / LINE / sharers;
}

static void fill_line(struct cpu *c, unsigned cpu)
{
	uint64_t *old;
	uint8_t *line;

	if (!c->cache) {
		c->lines = share_of(cpu);
		c->cache = calloc(c->lines, sizeof(*c->cache));
		if (!c->cache)
			abort();
	}
	line = &c->cache[c->filled % c->lines];
	old = &c->held[*line];
	if (c->filled >= c->lines)
		set(old, *old - 1);
	*line = (uint8_t)c->rmid;
	c->filled++;
	set(&c->held[c->rmid], c->held[c->rmid] + 1);
}

void rdt_moved(unsigned cpu, unsigned size, bool store, bool near)
{
	struct cpu *c = &cpus[cpu];
	unsigned way = store ? (near ? STORE_NEAR : STORE_FAR) : near ? LOAD_NEAR : LOAD_FAR;
	unsigned part;

	if (!pmon_config.rmids)
		return;
	set(&c->moved[c->rmid][way], c->moved[c->rmid][way] + size);
	part = c->part[c->rmid] + size;
	if (part >= LINE)
		fill_line(c, cpu);
	c->part[c->rmid] = (uint8_t)(part % LINE);
}

/* ---- what the kernel reads ------------------------------------------------------------------- */

static unsigned logical_rmids(void)
{
	return pmon_config.rmids / pmon_config.nodes;
}

/* Whether a CPU is one of those whose count is asked for by another one of the same cache. */
static bool is_asked(unsigned c, unsigned by, uint32_t physical)
{
	return cache_of(c) == cache_of(by) &&
	       pmon_node(c) % pmon_config.nodes == physical / logical_rmids() % pmon_config.nodes;
}

/* Bytes that the CPUs of this one's cache have moved for an RMID. */
static uint64_t moved_by(unsigned cpu, uint32_t physical, uint32_t ways)
{
	uint32_t rmid = physical % logical_rmids();
	uint64_t n = 0;

	for (unsigned c = 0; c < pmon_config.cpus; c++)
		for (unsigned way = 0; way < N_WAYS && is_asked(c, cpu, physical); way++)
			if (ways >> way & 1)
				n += get(&cpus[c].moved[rmid][way]) - cpus[c].lost[rmid][way];
	return n;
}

static uint64_t held_by(unsigned cpu, uint32_t physical)
{
	uint64_t n = 0;

	for (unsigned c = 0; c < pmon_config.cpus; c++)
		if (is_asked(c, cpu, physical))
			n += get(&cpus[c].held[physical % logical_rmids()]);
	return n * pmon_config.nodes;
}

static uint64_t lines(uint64_t bytes)
{
	return bytes * pmon_config.nodes / LINE & ((UINT64_C(1) << pmon_config.mbm_bits) - 1);
}

static uint64_t read_cntr(unsigned cpu, unsigned i)
{
	const struct cntr *n = &cntrs[first_of_cache(cpu)][i];

	if (i >= pmon_config.mbm_cntrs || !n->on)
		return ERROR;
	return lines(moved_by(cpu, n->rmid, n->ways) - n->before);
}

/* QM_EVTSEL has the event in its lower half, and the RMID or the number of the counter in the upper one. */
static uint64_t read_count(unsigned cpu)
{
	uint32_t event = (uint32_t)cpus[cpu].select, which = (uint32_t)(cpus[cpu].select >> 32);

	if (answer)
		return answer;
	if (event >> 31)
		return extended ? read_cntr(cpu, which) : ERROR;
	if (which >= pmon_config.rmids)
		return ERROR;
	if (event == OCCUPANCY)
		return held_by(cpu, which);
	if (event == TOTAL || event == LOCAL)
		return lines(moved_by(cpu, which, event == TOTAL ? ALL_WAYS : NEAR_WAYS));
	return ERROR;
}

bool rdt_rdmsr(unsigned cpu, uint32_t msr, uint64_t *value)
{
	if (!pmon_config.rmids)
		return false;
	if (msr == PQR_ASSOC)
		*value = cpus[cpu].rmid;
	else if (msr == QM_EVTSEL)
		*value = cpus[cpu].select;
	else if (msr == QM_CTR)
		*value = read_count(cpu);
	else if (msr == EXT_CFG && pmon_config.mbm_cntrs)
		*value = extended;
	else
		return false;
	return true;
}

/* ---- what it writes -------------------------------------------------------------------------- */

/* Bits 31:0 what is counted, 43:32 the RMID, 52:48 the counter, 62 it counts, 63 this is a change. */
static void configure(unsigned cpu, uint64_t value)
{
	unsigned i = value >> 48 & 0x1f;
	struct cntr *n = &cntrs[first_of_cache(cpu)][i];

	if (!(value >> 63) || i >= pmon_config.mbm_cntrs)
		return;
	n->on = value >> 62 & 1;
	n->rmid = (value >> 32 & 0xfff) % MAX_RMIDS;
	n->ways = value & ALL_WAYS;
	n->before = moved_by(cpu, n->rmid, n->ways);
}

bool rdt_wrmsr(unsigned cpu, uint32_t msr, uint64_t value)
{
	if (!pmon_config.rmids)
		return false;
	if (msr == PQR_ASSOC) /* the class of service, in the upper half, limits nothing here */
		cpus[cpu].rmid = (value & 0x3ff) % pmon_config.rmids;
	else if (msr == QM_EVTSEL)
		cpus[cpu].select = value;
	else if (msr == ABMC_CFG && extended)
		configure(cpu, value);
	else if (msr == EXT_CFG && pmon_config.mbm_cntrs)
		extended = value & 1;
	else
		return false;
	return true;
}

/* A counter that was not available has counted for another RMID, and then begins anew, as AMD's do. */
void rdt_answer(uint64_t word)
{
	for (unsigned c = 0; c < pmon_config.cpus && word == RDT_UNAVAILABLE; c++) {
		memcpy(cpus[c].lost, cpus[c].moved, sizeof(cpus[c].lost));
		for (unsigned i = 0; i < MAX_CNTRS; i++)
			cntrs[c][i].before = 0;
	}
	answer = word == RDT_UNAVAILABLE ? UNAVAILABLE : word == RDT_ERROR ? ERROR : 0;
}

/* ---- CPUID ----------------------------------------------------------------------------------- */

enum { EAX, EBX, ECX, EDX };

/* eax ebx ecx edx of 0xf.0: the highest RMID of anything, and that the L3 is monitored; of 0xf.1: bits
 * of a counter, bytes of a unit, the highest RMID, and the three events. */
static void monitoring(uint32_t sub, uint32_t r[4])
{
	r[EAX] = sub ? pmon_config.mbm_bits - BASE_WIDTH : 0;
	r[EBX] = sub ? LINE : pmon_config.rmids - 1;
	r[ECX] = sub ? pmon_config.rmids - 1 : 0;
	r[EDX] = sub ? 7 : 2;
}

void rdt_cpuid(uint32_t leaf, uint32_t sub, uint32_t r[4])
{
	if (!pmon_config.rmids)
		return;
	if (leaf == FEATURES && sub == 0)
		r[EBX] |= PQM;
	else if (leaf == MONITORING && sub <= 1)
		monitoring(sub, r);
	if (leaf != ABMC_FEATURES || !pmon_config.mbm_cntrs)
		return;
	if (sub == 0)
		r[EBX] |= ABMC;
	else if (sub == 3)
		r[ECX] = 0x7f; /* what may be counted */
	else if (sub == 5)
		r[EBX] = pmon_config.mbm_cntrs - 1;
}

int rdt_init(void)
{
	if (pmon_config.rmids > MAX_RMIDS || pmon_config.mbm_cntrs > MAX_CNTRS)
		return -1;
	if (!pmon_config.mbm_bits)
		pmon_config.mbm_bits = BASE_WIDTH;
	return pmon_config.mbm_bits < BASE_WIDTH || pmon_config.mbm_bits > 62 ? -1 : 0;
}
