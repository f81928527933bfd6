/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tegra410: UCF, CMEM latency, NVLink-C2C, NV-CLink and NV-DLink of each socket, PCIE and PCIE-TGT
 * of each root complex. `select` in weights:
 *
 *   UCF       PMEVFILTR: sources in bits 0-2, destinations in bits 8-11; all of them: 0xf07
 *   PCIE      PMEVFILTR + 31 * PMEVFILT2R: root ports in bits 0-7, BDF in bits 8-23, its enable
 *             in bit 24; destinations in bits 0-4 of PMEVFILT2R; all ports and destinations: 1216
 *             Root complex 0 has two devices, and nothing else counts there: 0 is 01:00.0 behind root
 *             port 0, 1 is 02:00.0 behind root port 1. Each that the filter lets through adds the weight
 *             of select = 100 * device + bit for each destination bit that is set
 *   PCIE-TGT  31 * ports + the sum over the ranges of 1 + base % 997 + 7 * (mask % 997); ports:
 *             bits 0-7 of PMEVFILT2R; all ports: 7905
 *   cycles    PMCCFILTR, of any of these three. The driver writes config1 there as it is, and if
 *             that is 0: 0xf07 (UCF), 0xff (PCIE), 0 (PCIE-TGT, always)
 *   others    free.c
 *
 * Real traffic: the UCF has one channel of memory.
 *
 * t410min is the same with one GPU on each socket and without cycle counters in UCF and PCIE: PCIE-TGT's
 * driver shows `cycles` in any case, and without a counter for it would count event 4.
 *
 * A filter without any source, destination, port or range matches nothing. A range with base 0 and
 * mask 0 beside another one is nothing to compare with: the driver of 7.2 takes a free slot, which is
 * all zero, for the one of that range, and from then on two ranges share a slot.
 */
#include "nvidia.h"

static bool ucf_select(const struct cspmu_filter *f, uint64_t *select)
{
	*select = f->filter;
	return (f->filter & 0x7) && (f->filter & 0xf00);
}

enum { MEM_ACCESS_RD = 0x121, MEM_ACCESS_WR, MEM_BYTES_RD, MEM_BYTES_WR };
enum { FROM_CPU = 0x1, FROM_REMOTE = 0x4, TO_CMEM = 0x100, TO_REMOTE = 0x800 };

/* What CPUs of the socket move to its DRAM and to that of others, and what others move to its DRAM. */
static void ucf_counts(const struct cspmu_filter *f, unsigned event, struct real *what)
{
	unsigned who = 0;

	if (event < MEM_ACCESS_RD || event > MEM_BYTES_WR)
		return;
	if (f->filter & FROM_CPU && f->filter & TO_CMEM)
		who |= REAL_LOCAL;
	if (f->filter & FROM_CPU && f->filter & TO_REMOTE)
		who |= REAL_TO_REMOTE;
	if (f->filter & FROM_REMOTE && f->filter & TO_CMEM)
		who |= REAL_FROM_REMOTE;
	what->kind = REAL_MEMORY;
	what->per_line = event >= MEM_BYTES_RD ? 64 : 1;
	if (event == MEM_ACCESS_RD || event == MEM_BYTES_RD)
		what->reads = who;
	else
		what->writes = who;
}

static bool pcie_select(const struct cspmu_filter *f, uint64_t *select)
{
	*select = f->filter + 31 * (uint64_t)f->filter2;
	return (f->filter & 0x10000ff) && (f->filter2 & 0x1f);
}

/* Where the devices of root complex 0 are; arm64/guest.sh puts them there. */
static const struct {
	unsigned port, bdf;
} devices[] = {{0, 0x100}, {1, 0x200}};

static uint64_t weight_of_devices(const struct cspmu_filter *f, unsigned socket, unsigned event)
{
	uint64_t weight = 0;

	for (unsigned d = 0; d < sizeof(devices) / sizeof(devices[0]); d++) {
		bool wanted = f->filter >> 24 & 1 ? (f->filter >> 8 & 0xffff) == devices[d].bdf
						  : f->filter >> devices[d].port & 1;

		for (unsigned to = 0; wanted && to < 5; to++)
			if (f->filter2 >> to & 1)
				weight += pmon_weight(socket, 0, event, 100 * d + to);
	}
	return weight;
}

static bool tgt_select(const struct cspmu_filter *f, uint64_t *select)
{
	*select = 31 * (f->filter2 & 0xff) + f->address;
	return f->filter2 & 0xffff;
}

/*
 * Counters of 64 bits would do for the drivers, but perf prints a count as a floating-point number:
 * it must stay below 2^53, also when a preset has added half of the counter's range.
 */
static const struct cspmu_type ucf = {.pmiidr = 0x2cf2036b,
				      .ctrs = 6,
				      .width = 52,
				      .dual_page = true,
				      .select = ucf_select,
				      .counts = ucf_counts};
static const struct cspmu_type pcie = {
	.pmiidr = 0x1030136b, .ctrs = 4, .width = 48, .select = pcie_select};
static const struct cspmu_type pcie_devices = {
	.pmiidr = 0x1030136b, .ctrs = 4, .width = 48, .weight = weight_of_devices};
static const struct cspmu_type tgt = {
	.pmiidr = 0x1070036b, .ctrs = 4, .width = 48, .ranges = true, .select = tgt_select};

static int add_sockets(uint32_t second_gpu)
{
	static const unsigned rcs[] = {0, 1, 2, 3, 4, 5}; /* must be those of arm64/tables */

	if (nvidia_window_init())
		return -1;
	real_unit(REAL_MEMORY, 0);
	for (unsigned s = 0; s < pmon_config.sockets; s++) {
		uint32_t base = s * SOCKET_STRIDE;

		cspmu_new(&ucf, base, s, 0);
		cmem_new(base + 0x10000, s);
		c2c_new(base + 0x20000, s, 14, second_gpu); /* NVLink-C2C, to GPUs */
		c2c_new(base + 0x40000, s, 12, 0);          /* NV-CLink, the other socket */
		c2c_new(base + 0x60000, s, 16, 0);          /* NV-DLink, CXL memory */
		for (size_t i = 0; i < sizeof(rcs) / sizeof(rcs[0]); i++) {
			uint32_t rc = base + 0x80000 + rcs[i] * 0x4000;

			cspmu_new(rcs[i] ? &pcie : &pcie_devices, rc, s, rcs[i]);
			cspmu_new(&tgt, rc + PAGE, s, rcs[i]);
		}
	}
	return 0;
}

static int init(void)
{
	return add_sockets(0x3f00);
}

static int init_min(void)
{
	cspmu_no_cycles = true;
	return add_sockets(0);
}

const struct pmon_model model_t410 = {.name = "t410",
				      .init = init,
				      .window_load = nvidia_window_load,
				      .window_store = nvidia_window_store};
const struct pmon_model model_t410min = {.name = "t410min",
					 .init = init_min,
					 .window_load = nvidia_window_load,
					 .window_store = nvidia_window_store};
