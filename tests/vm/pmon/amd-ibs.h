/* SPDX-License-Identifier: GPL-2.0-or-later */
/* IBS, for amd.c: true when the register is one of IBS. */
#ifndef RIG_AMD_IBS_H
#define RIG_AMD_IBS_H

#include <stdbool.h>
#include <stdint.h>

#define IBS_LEAF 0x8000001b
#define IBS_FEATURE (1u << 10) /* of CPUID 80000001, ecx */

bool ibs_apic_read(uint32_t reg, uint32_t *value);
void ibs_cpuid(uint32_t r[4]);
bool ibs_rdmsr(unsigned cpu, uint32_t msr, uint64_t *value);
bool ibs_wrmsr(unsigned cpu, uint32_t msr, uint64_t value);

#endif
