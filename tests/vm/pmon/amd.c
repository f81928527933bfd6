/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * AMD EPYC 9004 (family 19h, Zen 4): data fabric, two L3 per socket, four memory controllers (UMC)
 * per socket. A socket is a node. Registers and their fields: Linux, arch/x86/events/amd/uncore.c.
 *
 * pmon_weight(socket, instance, event, select), with the fields named as in the PMU's format:
 *
 *   amd_df     instance 0; select = umask
 *   amd_l3     instance = the L3 within the socket, 0 or 1; select = umask + (threadmask << 8)
 *              + (sliceid << 10) + (enallcores << 13) + (enallslices << 14) + (coreid << 15).
 *              The driver puts threadmask=3,enallcores=1,enallslices=1,sliceid=0,coreid=0 in place
 *              of all five when threadmask is 0.
 *   amd_umc_N  instance = N % 4, socket = N / 4; select = rdwrmask
 *
 * `event` is the whole code, put together from its parts of the register. With n CPUs per socket,
 * 2^k >= n the next power of two, CPU c is of socket c / n and of L3 (c % n) / 2^(k-1) there; with
 * n = 1, of L3 0. The driver reads df and l3 counters with RDPMC, those of a UMC with RDMSR.
 *
 * Sampling (IBS): see amd-ibs.c.
 *
 * Counters have 48 bits. Those of df and l3 wrap; those of a UMC stop at the end and set bit 48.
 */
#include "amd-ibs.h"
#include "pmon.h"

#include <stdio.h>
#include <stdlib.h>

#define N_DF_CTRS 16
#define N_L3_CTRS 6
#define N_UMC_CTRS 4
#define N_UMCS 4
#define N_L3S 2

#define N_LINKS 4
#define L3_SIZE (32u << 20)

#define L3_WAYS 16u
#define LINE 64

#define EVENT_CAS 0xa

#define WIDTH 48
#define ENABLE (UINT64_C(1) << 22)
#define ENABLE_UMC (UINT64_C(1) << 31)

struct amd_box;

/* Control and counter registers alternate, from `msr` on; the next instance's follow. */
struct amd_type {
	uint32_t msr;
	unsigned boxes, ctrs;
	bool by_cpu; /* one address: the CPU says which box; otherwise the address does */
	bool saturates;
	uint64_t enable;
	uint64_t (*event)(uint64_t ctl);
	uint64_t (*select)(uint64_t ctl);
	/* What an event counts when traffic is real, if it does; or NULL. */
	void (*counts)(uint64_t ctl, struct real *what);
};

struct amd_box {
	struct box box;
	const struct amd_type *type;
	unsigned socket, instance;
	uint64_t ctl[N_DF_CTRS];
};

static uint64_t field(uint64_t value, unsigned first, unsigned bits)
{
	return value >> first & ((UINT64_C(1) << bits) - 1);
}

static uint64_t df_event(uint64_t ctl)
{
	return field(ctl, 0, 8) + (field(ctl, 32, 6) << 8);
}

static uint64_t df_select(uint64_t ctl)
{
	return field(ctl, 8, 8) + (field(ctl, 24, 4) << 8);
}

static uint64_t low_event(uint64_t ctl)
{
	return field(ctl, 0, 8);
}

static uint64_t l3_select(uint64_t ctl)
{
	return field(ctl, 8, 8) + (field(ctl, 56, 2) << 8) + (field(ctl, 48, 3) << 10) +
	       (field(ctl, 47, 1) << 13) + (field(ctl, 46, 1) << 14) + (field(ctl, 42, 3) << 15);
}

static uint64_t umc_select(uint64_t ctl)
{
	return field(ctl, 8, 2);
}

/* CAS commands: rdwrmask 1 reads, 2 writes, otherwise both. */
static void umc_counts(uint64_t ctl, struct real *what)
{
	uint64_t rdwrmask = umc_select(ctl);

	if (low_event(ctl) != EVENT_CAS)
		return;
	what->kind = REAL_MEMORY;
	what->reads = rdwrmask != 2 ? REAL_HERE : 0;
	what->writes = rdwrmask != 1 ? REAL_HERE : 0;
}

/* Units of the fabric have 64 events each: memory channels begin at 0, links at 0xb40. */
static void df_counts(uint64_t ctl, struct real *what)
{
	uint64_t unit = df_event(ctl) >> 6, umask = df_select(ctl);
	unsigned who = umask >> 10 & 1 ? REAL_LOCAL : REAL_FROM_REMOTE;

	if ((df_event(ctl) & 0x3f) != 0x1f)
		return;
	if (unit < N_UMCS && (umask & ~UINT64_C(0xc01)) == 0x3fe &&
	    (umask >> 10 == 1 || umask >> 10 == 2)) {
		what->kind = REAL_PORT;
		what->instance = (unsigned)unit;
		what->reads = umask & 1 ? 0 : who;
		what->writes = umask & 1 ? who : 0;
	} else if (unit >= 0xb40 >> 6 && unit < (0xb40 >> 6) + N_LINKS && umask == 0xf3e) {
		what->kind = REAL_LINK;
		what->instance = (unsigned)unit - (0xb40 >> 6);
		what->writes = REAL_HERE;
	}
}

enum { DF, L3, UMC, N_TYPES };

static const struct amd_type types[N_TYPES] = {
	[DF] = {.msr = 0xc0010240,
		.boxes = 1,
		.ctrs = N_DF_CTRS,
		.by_cpu = true,
		.enable = ENABLE,
		.event = df_event,
		.select = df_select,
		.counts = df_counts},
	[L3] = {.msr = 0xc0010230,
		.boxes = N_L3S,
		.ctrs = N_L3_CTRS,
		.by_cpu = true,
		.enable = ENABLE,
		.event = low_event,
		.select = l3_select},
	[UMC] = {.msr = 0xc0010800,
		 .boxes = N_UMCS,
		 .ctrs = N_UMC_CTRS,
		 .saturates = true,
		 .enable = ENABLE_UMC,
		 .event = low_event,
		 .select = umc_select,
		 .counts = umc_counts},
};

static struct amd_box *boxes[N_TYPES]; /* [socket][instance], in one row */

/* ---- topology -------------------------------------------------------------------------------- */

/* Bits of the APIC id that number the CPUs of a socket. */
static unsigned core_bits(void)
{
	unsigned bits = 0;

	while (1u << bits < pmon_config.cpus / pmon_config.sockets)
		bits++;
	return bits;
}

static unsigned core_of(unsigned cpu)
{
	return cpu % (pmon_config.cpus / pmon_config.sockets);
}

/* CPUs that share an L3: half of what the socket's APIC ids have room for. */
static unsigned cpus_of_l3(void)
{
	unsigned bits = core_bits();

	return bits ? 1u << (bits - 1) : 1;
}

static unsigned l3_of(unsigned cpu)
{
	return core_of(cpu) / cpus_of_l3();
}

static unsigned cache(unsigned cpu)
{
	return pmon_socket(cpu) * N_L3S + l3_of(cpu);
}

/* ---- CPUID, where QEMU's answer will not do -------------------------------------------------- */

#define TOPOEXT (1u << 22)
#define PERFCTR_NB (1u << 24)
#define PERFCTR_LLC (1u << 28)
#define PERFMON_V2 (1u << 0)

/* As on the CPU, but for who shares it: unified, level 3, self-initializing, 64-byte lines. */
static void l3_parameters(uint32_t r[4])
{
	r[0] = 0x163 | (cpus_of_l3() - 1) << 14;
	r[1] = (L3_WAYS - 1) << 22 | (LINE - 1);
	r[2] = L3_SIZE / LINE / L3_WAYS - 1;
	r[3] = 0;
}

static void cpuid(uint32_t leaf, uint32_t sub, uint32_t r[4])
{
	if (leaf == 0x80000001)
		r[2] |= IBS_FEATURE | TOPOEXT | PERFCTR_NB | PERFCTR_LLC;
	if (leaf == IBS_LEAF)
		ibs_cpuid(r);
	if (leaf == 0x8000001d && sub == 3)
		l3_parameters(r);
	if (leaf == 0x80000022) {
		r[0] = PERFMON_V2;
		r[1] = N_DF_CTRS << 10 | N_UMCS * N_UMC_CTRS << 16;
		r[2] = (1u << N_UMCS) - 1;
		r[3] = 0;
	}
}

/* ---- registers ------------------------------------------------------------------------------- */

/* The box of register `reg`, counted from the first of its type. `i`: which of the box's. */
static struct amd_box *box_at(unsigned type, unsigned cpu, unsigned reg, unsigned *i)
{
	const struct amd_type *t = &types[type];
	unsigned instance = reg / (2 * t->ctrs);

	*i = reg % (2 * t->ctrs);
	if (t->by_cpu && !instance)
		instance = t->boxes > 1 ? l3_of(cpu) : 0;
	else if (t->by_cpu || instance >= t->boxes)
		return NULL;
	return &boxes[type][pmon_socket(cpu) * t->boxes + instance];
}

static struct amd_box *find(unsigned cpu, uint32_t msr, unsigned *i)
{
	struct amd_box *b = NULL;

	for (unsigned type = 0; type < N_TYPES && !b; type++)
		if (msr >= types[type].msr)
			b = box_at(type, cpu, msr - types[type].msr, i);
	return b;
}

static uint64_t read_ctr(struct amd_box *b, unsigned i)
{
	const struct counter *c = &b->box.ctr[i];

	box_advance(&b->box);
	return c->value | (uint64_t)c->overflow << WIDTH;
}

static void write_ctr(struct amd_box *b, unsigned i, uint64_t value)
{
	struct counter *c = &b->box.ctr[i];

	box_advance(&b->box);
	c->value = field(value, 0, WIDTH);
	c->overflow = c->saturates && field(value, WIDTH, 1);
}

static struct real real_of(const struct amd_box *b, uint64_t ctl)
{
	struct real real = {
		.socket = b->socket, .instance = b->instance, .halves = 3, .per_line = 1};

	if (b->type->counts)
		b->type->counts(ctl, &real);
	return real;
}

static void write_ctl(struct amd_box *b, unsigned i, uint64_t value)
{
	const struct amd_type *t = b->type;
	const struct real real = real_of(b, value);

	box_advance(&b->box);
	b->ctl[i] = value;
	b->box.ctr[i].on = value & t->enable;
	b->box.ctr[i].weight =
		pmon_weight(b->socket, b->instance, t->event(value), t->select(value));
	counter_real(&b->box.ctr[i], &real);
}

static bool rdmsr(unsigned cpu, uint32_t msr, uint64_t *value)
{
	unsigned i;
	struct amd_box *b = find(cpu, msr, &i);

	if (!b)
		return ibs_rdmsr(cpu, msr, value);
	*value = i % 2 ? read_ctr(b, i / 2) : b->ctl[i / 2];
	return true;
}

static bool wrmsr(unsigned cpu, uint32_t msr, uint64_t value)
{
	unsigned i;
	struct amd_box *b = find(cpu, msr, &i);

	if (!b)
		return ibs_wrmsr(cpu, msr, value);
	if (i % 2)
		write_ctr(b, i / 2, value);
	else
		write_ctl(b, i / 2, value);
	return true;
}

/* RDPMC: 6 to 9 the data fabric's first four, 10 to 15 those of the L3, 16 on the fabric's rest. */
static bool rdpmc(unsigned cpu, uint32_t index, uint64_t *value)
{
	if (index >= 6 && index < 10)
		return rdmsr(cpu, types[DF].msr + 2 * (index - 6) + 1, value);
	if (index >= 10 && index < 10 + N_L3_CTRS)
		return rdmsr(cpu, types[L3].msr + 2 * (index - 10) + 1, value);
	if (index >= 16 && index < 16 + N_DF_CTRS - 4)
		return rdmsr(cpu, types[DF].msr + 2 * (index - 12) + 1, value);
	return false;
}

static void box_make(struct amd_box *b, const struct amd_type *t, unsigned socket,
		     unsigned instance)
{
	b->type = t;
	b->socket = socket;
	b->instance = instance;
	box_init(&b->box, t->ctrs, WIDTH);
	for (unsigned i = 0; i < t->ctrs; i++)
		b->box.ctr[i].saturates = t->saturates;
}

static int init(void)
{
	for (unsigned i = 0; i < N_UMCS; i++) {
		real_unit(REAL_MEMORY, i);
		real_unit(REAL_PORT, i);
	}
	for (unsigned i = 0; i < N_LINKS; i++)
		real_unit(REAL_LINK, i);
	for (unsigned type = 0; type < N_TYPES; type++) {
		const struct amd_type *t = &types[type];
		unsigned n = pmon_config.sockets * t->boxes;

		boxes[type] = calloc(n, sizeof(*boxes[type]));
		if (!boxes[type]) {
			fprintf(stderr, "pmon: out of memory\n");
			return -1;
		}
		for (unsigned i = 0; i < n; i++)
			box_make(&boxes[type][i], t, i / t->boxes, i % t->boxes);
	}
	return 0;
}

const struct pmon_model model_amd = {.name = "amd",
				     .init = init,
				     .rdmsr = rdmsr,
				     .wrmsr = wrmsr,
				     .rdpmc = rdpmc,
				     .cpuid = cpuid,
				     .cache = cache,
				     .cache_size = L3_SIZE,
				     .apic_read = ibs_apic_read};
