/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instruction-based sampling of the amd model: the capabilities of Zen 4 and the load-latency filter of
 * later ones. There is an op to be had whenever the driver looks, as long as sampling is on: a program
 * in the guest makes it look by an NMI to all CPUs (/proc/sysrq-trigger). Registers and their fields:
 * Linux, arch/x86/events/amd/ibs.c and arch/x86/include/asm/amd/ibs.h.
 *
 * Each CPU's ops are these eight, over and over, beginning anywhere (latency in clocks, and the
 * data source):
 *
 *   load, 300, 3 (DRAM)             load, 700, 3 of another node     load, 60, 1 (L3)
 *   load, 150, 2 (near cache)       load, 20, hit the L2             store that missed
 *   load that hit                   load, 1200, 8 (extension memory) of another node
 */
#include "amd-ibs.h"
#include "pmon.h"

#define FETCH_FIRST 0xc0011030
#define OP_CONTROL 0xc0011033
#define OP_DATA2 0xc0011036
#define OP_DATA3 0xc0011037
#define IBS_CONTROL 0xc001103a
#define LAST 0xc001103d

#define CAPABILITIES 0x19ff /* those of Zen 4 in the lowest 12 bits, and the filter */
#define VECTOR_VALID 0x101  /* offset 1 of the interrupt's vector */

#define APIC_ERRORS 0x280
#define APIC_VECTOR_1 0x510
#define APIC_MASKED (1 << 16)

#define OP_ENABLE (UINT64_C(1) << 17)
#define OP_VALID (UINT64_C(1) << 18)
#define LOAD 1
#define STORE 2
#define MISS (1 << 7)
#define L2_MISS (1 << 20)
#define LATENCY(n) ((uint64_t)(n) << 32)
#define OTHER_NODE (1 << 4)

static const struct {
	uint64_t data2, data3;
} ops[] = {
	{3, LOAD | MISS | L2_MISS | LATENCY(300)},
	{3 | OTHER_NODE, LOAD | MISS | L2_MISS | LATENCY(700)},
	{1, LOAD | MISS | L2_MISS | LATENCY(60)},
	{2, LOAD | MISS | L2_MISS | LATENCY(150)},
	{0, LOAD | MISS | LATENCY(20)},
	{0, STORE | MISS | L2_MISS},
	{0, LOAD},
	{1 << 6 | OTHER_NODE, LOAD | MISS | L2_MISS | LATENCY(1200)}, /* 8 is in two fields */
};

static struct {
	uint64_t control;
	unsigned op; /* the present one */
} cpus[RIG_MAX_CPUS];

/* Entry 1 of the vectors that AMD's APICs have more of: masked, so that it is free to take. QEMU's has
 * none, and a write to it is an error, which the kernel must not see when it wakes a CPU up. */
bool ibs_apic_read(uint32_t reg, uint32_t *value)
{
	*value = reg == APIC_VECTOR_1 ? APIC_MASKED : 0;
	return reg == APIC_VECTOR_1 || reg == APIC_ERRORS;
}

void ibs_cpuid(uint32_t r[4])
{
	r[0] = CAPABILITIES;
	r[1] = r[2] = r[3] = 0;
}

bool ibs_rdmsr(unsigned cpu, uint32_t msr, uint64_t *value)
{
	if (msr < FETCH_FIRST || msr > LAST)
		return false;
	*value = 0;
	if (msr == IBS_CONTROL)
		*value = VECTOR_VALID;
	if (msr == OP_CONTROL) {
		*value = cpus[cpu].control;
		if (*value & OP_ENABLE) {
			*value |= OP_VALID;
			cpus[cpu].op++;
		}
	}
	if (msr == OP_DATA2)
		*value = ops[cpus[cpu].op % 8].data2;
	if (msr == OP_DATA3)
		*value = ops[cpus[cpu].op % 8].data3;
	return true;
}

bool ibs_wrmsr(unsigned cpu, uint32_t msr, uint64_t value)
{
	if (msr == OP_CONTROL)
		cpus[cpu].control = value;
	return msr >= FETCH_FIRST && msr <= LAST;
}
