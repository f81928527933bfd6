/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Xeon E5 v2 (Ivy Bridge EP): Cbo, PCU and UBOX, by MSR. Registers and their behaviour: Intel Xeon
 * E5 v2 uncore manual, reference 329468-002, tables 2-13 and 2-14.
 */
#include "intel.h"

/*
 * Overflow of a Cbo (sections 2.1.1 and 2.3.3.2, table 2-13): the counter wraps, the UBox is told, and
 * freezes all boxes of the socket; here at once. The text speaks of a bit in the counter's control
 * register that lets it tell, the table has none. Box control bits 17:16 must be 1; in the manual of the
 * E5 bit 16 is the one that lets a box obey the freeze. So a box whose bit 16 is set tells and obeys, and
 * one whose bit is not, as the driver of Linux leaves it, wraps and goes on. Writing the box's control
 * register without frz lets it go.
 */

/*
 * A field of the Cbo's filter counts with the events that look at it, whatever else the register
 * still holds: tid with tid_en; link with 0x31 and umask bit 4; state with 0x34; nid with 0x34 to
 * 0x37 and umask bit 6; opcode, c6, nc and isoc with 0x35, 0x36 and umask bit 0.
 */
static uint64_t cbox_filter(uint64_t ctl)
{
	uint64_t event = ctl & 0xff, mask = 0;

	if (ctl & 1u << 19)
		mask |= 0x1f;
	if (event == 0x31 && ctl & 0x1000)
		mask |= 0xf << 5;
	if (event == 0x34)
		mask |= 0x3f << 17;
	if (event >= 0x34 && event <= 0x37 && ctl & 0x4000)
		mask |= UINT64_C(0xffff) << 32;
	if ((event == 0x35 || event == 0x36) && ctl & 0x100)
		mask |= UINT64_C(0x1ff) << 52 | UINT64_C(7) << 61;
	return mask;
}

static uint64_t cbox_select(uint64_t ctl, uint64_t filter)
{
	return intel_select_std(ctl, filter & cbox_filter(ctl));
}

/* The band counters, 0x0b to 0x0e, have a byte of the PCU's filter each. occ_sel is in bits 15:14. */
static uint64_t pcu_select(uint64_t ctl, uint64_t filter)
{
	uint64_t event = ctl & 0xff;

	return intel_select_std(ctl, event >= 0x0b && event <= 0x0e
					     ? filter & UINT64_C(0xff) << 8 * (event - 0x0b)
					     : 0);
}

static const struct intel_type types[] = {
	{.name = "cbox",
	 .boxes = 15,
	 .ctrs = 4,
	 .width = 44,
	 .stride = 0x20,
	 .box_ctl = 0xd04,
	 .ctl = 0xd10,
	 .filter = 0xd14,
	 .ctr = 0xd16,
	 .filter1 = 0xd1a,
	 .bits = &intel_bits_snbep,
	 .tells_overflow = true,
	 .select = cbox_select,
	 .event_mask = 0xff},
	{.name = "ubox",
	 .boxes = 1,
	 .ctrs = 2,
	 .width = 44,
	 .ctl = 0xc10,
	 .ctr = 0xc16,
	 .fixed_ctl = 0xc08,
	 .fixed_ctr = 0xc09,
	 .bits = &intel_bits_snbep,
	 .select = intel_select_std,
	 .event_mask = 0xff},
	{.name = "pcu",
	 .boxes = 1,
	 .ctrs = 4,
	 .width = 48,
	 .box_ctl = 0xc24,
	 .ctl = 0xc30,
	 .filter = 0xc34,
	 .ctr = 0xc36,
	 .bits = &intel_bits_snbep,
	 .select = pcu_select,
	 .event_mask = 0xff},
	{.name = NULL},
};

static int init(void)
{
	return intel_msr_init(types);
}

const struct pmon_model model_ivt = {
	.name = "ivt", .init = init, .rdmsr = intel_rdmsr, .wrmsr = intel_wrmsr};
