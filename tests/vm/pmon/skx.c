/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Xeon Scalable (Skylake SP, Cascade Lake SP), one or two sockets: CHA, IIO, IRP, PCU, UBOX and the
 * free-running IIO counters by MSR; IMC, UPI, M2M, M2PCIe and M3UPI by PCI configuration space. The
 * register addresses are those of the kernel's driver (uncore_snbep.c).
 *
 * `select` of the weight (pmon_weight), as functions of perf's config and config1:
 *   imc m2m m2pcie m3upi irp ubox   umask
 *   upi               umask & 0xff: the driver writes no more than 32 bits of the control register
 *   iio               umask + 256 * ch_mask + 65536 * fc_mask
 *   pcu               (umask & 0xc0) + 256 * occ_invert + 512 * occ_edge_det
 *                     + (config1 & 0xff << 8 * (event - 0xb) if 0xb <= event <= 0xe)
 *   cha               umask + 256 * tid_en + (config1 & FIELDS[event]), where with tid_en FIELDS is
 *                     all of the three below, else by event
 *                     0x34: filter_state, only with umask 3, 5, 9, 0x11, 0x31 or 0x91 (the driver
 *                     leaves the filter as it was with others), 0x35 and 0x36: the opcodes and
 *                     filter_{rem,loc,all_op,nm,not_nm,nc,isoc}, 0x38: filter_tid
 *   iio_free_running  event = the alias's umask, select = 0
 *   fixed (imc, ubox: event=0xff)   event = 0xff, select = 0
 */
#include "pci.h"

#include <stdio.h>

#define MSR_CPU_BUS_NUMBER 0x300
#define CPU_BUS_VALID (UINT64_C(1) << 63)

#define CAPID6 0x9c
#define CHA_MASK 0x0c0c0f0fu /* as fused off at random */
#define CHAS 12              /* of 28 */

#define CHA_TID UINT64_C(0x1ff)
#define CHA_STATE (UINT64_C(0x3ff) << 17)
#define CHA_OPC                                                                       \
	((UINT64_C(0x3b) << 32) | (UINT64_C(0x3ff) << 41) | (UINT64_C(0x3ff) << 51) | \
	 (UINT64_C(3) << 62))

/* The driver writes one filter for the box; each kind of event heeds its own fields. */
static uint64_t cha_select(uint64_t ctl, uint64_t filter)
{
	uint64_t fields = 0;

	switch (ctl & 0xff) {
	case 0x34:
		fields = CHA_STATE;
		break;
	case 0x35:
	case 0x36:
		fields = CHA_OPC;
		break;
	case 0x38:
		fields = CHA_TID;
		break;
	}
	if (ctl >> 19 & 1)
		fields = CHA_TID | CHA_STATE | CHA_OPC;
	return intel_select_std(ctl, filter & fields);
}

static uint64_t iio_select(uint64_t ctl, uint64_t filter)
{
	(void)filter;
	return (ctl >> 8 & 0xff) + ((ctl >> 36 & 0xff) << 8) + ((ctl >> 44 & 7) << 16);
}

#define UMASK_IA_MISS 0x21
#define FILTER_REMOTE (UINT64_C(1) << 32)
#define FILTER_LOCAL (UINT64_C(1) << 33)

/* Its opcodes are not looked at: loads are data reads. */
static void cha_counts_loads(uint64_t ctl, uint64_t filter, struct real *what)
{
	unsigned whose = (filter & FILTER_LOCAL ? REAL_LOCAL : 0) |
			 (filter & FILTER_REMOTE ? REAL_TO_REMOTE : 0);

	if ((ctl >> 8 & 0xff) == UMASK_IA_MISS)
		intel_counts_loads(ctl, whose, what);
}

static void iio_counts(uint64_t ctl, struct real *what)
{
	intel_counts_devices(ctl & 0xff, ctl >> 8 & 0xff, ctl >> 36 & 0xff, what);
}

#define EVENT_TOR_INSERTS 0x35
#define IO_HIT 0x14
#define IO_MISS 0x24
#define OPC_ITOM 0x248u
#define OPC_READ 0x21eu

/* Whole lines only, as a disk moves them. */
static void cha_looks_up(uint64_t ctl, uint64_t filter, struct real *what)
{
	uint64_t umask = ctl >> 8 & 0xff, opcode = filter >> 41 & 0x3ff;

	if ((ctl & 0xff) != EVENT_TOR_INSERTS || (umask != IO_HIT && umask != IO_MISS))
		return;
	what->kind = REAL_SLICE;
	what->found = umask == IO_HIT ? REAL_HITS : REAL_MISSES;
	what->writes = opcode == OPC_ITOM ? REAL_HERE : 0;
	what->reads = opcode == OPC_READ ? REAL_HERE : 0;
}

#define EVENT_CAS_COUNT 0x4

/* Real traffic is of one kind each: no underfill, no major mode of writes. */
static void imc_counts(uint64_t ctl, struct real *what)
{
	if ((ctl & 0xff) != EVENT_CAS_COUNT)
		return;
	what->reads = ctl >> 8 & 0x1 ? REAL_HERE : 0;  /* RD_REG */
	what->writes = ctl >> 8 & 0x4 ? REAL_HERE : 0; /* WR_WMM */
}

/* IMC_READS and IMC_WRITES, all of them. */
static void m2m_counts(uint64_t ctl, struct real *what)
{
	what->reads = (ctl & 0xffff) == 0x0437 ? REAL_HERE : 0;
	what->writes = (ctl & 0xffff) == 0x1038 ? REAL_HERE : 0;
}

#define SNBEP .bits = &intel_bits_snbep, .event_mask = 0xff
#define STD SNBEP, .select = intel_select_std

static const struct intel_type msr_types[] = {
	{.name = "cha",
	 .boxes = 28,
	 .ctrs = 4,
	 .width = 48,
	 .stride = 0x10,
	 .box_ctl = 0xe00,
	 .ctl = 0xe01,
	 .filter = 0xe05,
	 .filter1 = 0xe06,
	 .ctr = 0xe08,
	 SNBEP,
	 .select = cha_select,
	 .real = REAL_HOME,
	 .units = CHAS,
	 .counts = intel_counts_requests,
	 .counts_filtered = cha_counts_loads,
	 .looks_up = cha_looks_up},
	{.name = "iio",
	 .boxes = 6,
	 .ctrs = 4,
	 .width = 48,
	 .stride = 0x20,
	 .box_ctl = 0xa40,
	 .ctr = 0xa41,
	 .ctl = 0xa48,
	 .thresh_bits = 12,
	 SNBEP,
	 .select = iio_select,
	 .real = REAL_STACK,
	 .counts = iio_counts},
	{.name = "irp",
	 .boxes = 6,
	 .ctrs = 2,
	 .width = 48,
	 .stride = 0x20,
	 .box_ctl = 0xa58,
	 .ctr = 0xa59,
	 .ctl = 0xa5b,
	 STD},
	{.name = "iio clock",
	 .boxes = 6,
	 .ctrs = 1,
	 .width = 36,
	 .stride = 0x20,
	 .ctr = 0xa45,
	 .free_code = 0x10},
	{.name = "iio bandwidth",
	 .boxes = 6,
	 .ctrs = 8,
	 .width = 36,
	 .stride = 0x10,
	 .ctr = 0xb00,
	 .free_code = 0x20},
	{.name = "iio utilization",
	 .boxes = 6,
	 .ctrs = 8,
	 .width = 36,
	 .stride = 0x10,
	 .ctr = 0xb08,
	 .free_code = 0x30},
	{.name = "pcu",
	 .boxes = 1,
	 .ctrs = 4,
	 .width = 48,
	 .box_ctl = 0x710,
	 .ctl = 0x711,
	 .filter = 0x715,
	 .ctr = 0x717,
	 .thresh_bits = 5,
	 SNBEP,
	 .select = intel_select_pcu},
	{.name = "ubox",
	 .boxes = 1,
	 .ctrs = 2,
	 .width = 48,
	 .ctl = 0x705,
	 .ctr = 0x709,
	 .fixed_ctl = 0x703,
	 .fixed_ctr = 0x704,
	 .thresh_bits = 5,
	 STD},
	{.name = NULL},
};

static const struct intel_type imc = {.name = "imc",
				      .ctrs = 4,
				      .width = 48,
				      .ctr = 0xa0,
				      .ctl = 0xd8,
				      .ctl_step = 4,
				      .box_ctl = 0xf4,
				      .fixed_ctr = 0xd0,
				      .fixed_ctl = 0xf0,
				      STD,
				      .real = REAL_MEMORY,
				      .counts = imc_counts};
static const struct intel_type m2m = {.name = "m2m",
				      .ctrs = 4,
				      .width = 48,
				      .ctr = 0x200,
				      .ctl = 0x228,
				      .ctl_step = 8,
				      .box_ctl = 0x258,
				      STD,
				      .real = REAL_PORT,
				      .counts = m2m_counts};
static const struct intel_type upi = {.name = "upi",
				      .ctrs = 4,
				      .width = 48,
				      .ctr = 0x318,
				      .ctl = 0x350,
				      .ctl_step = 8,
				      .box_ctl = 0x378,
				      SNBEP,
				      .select = intel_select_wide,
				      .real = REAL_LINK,
				      .counts = intel_counts_flits};
static const struct intel_type m2pcie = {.name = "m2pcie",
					 .ctrs = 4,
					 .width = 48,
					 .ctr = 0xa0,
					 .ctl = 0xd8,
					 .ctl_step = 4,
					 .box_ctl = 0xf4,
					 STD};
static const struct intel_type m3upi = {.name = "m3upi",
					.ctrs = 3,
					.width = 48,
					.ctr = 0xa0,
					.ctl = 0xd8,
					.ctl_step = 4,
					.box_ctl = 0xf4,
					STD};

/* The root buses of a socket; IIO stacks 4 and 5 have none. */
#define BUSES 4
static const uint8_t buses[][BUSES] = {{0x00, 0x17, 0x3a, 0x5d}, {0x80, 0x85, 0xae, 0xd7}};

static const struct pci_device devices[] = {
	{0, 8, 0, 0x2014, NULL, 0}, /* UBOX */
	{1, 30, 0, 0x2080, NULL, 0},
	{1, 30, 3, 0x2083, NULL, 0}, /* PCU, with the mask of CHAs */
	{2, 8, 0, 0x2066, &m2m, 0},
	{2, 9, 0, 0x2066, &m2m, 1},
	{2, 10, 0, 0x2040, NULL, 0},
	{2, 10, 2, 0x2042, &imc, 0},
	{2, 10, 6, 0x2046, &imc, 1},
	{2, 11, 0, 0x2048, NULL, 0},
	{2, 11, 2, 0x204a, &imc, 2},
	{2, 12, 0, 0x2040, NULL, 0},
	{2, 12, 2, 0x2042, &imc, 3},
	{2, 12, 6, 0x2046, &imc, 4},
	{2, 13, 0, 0x2048, NULL, 0},
	{2, 13, 2, 0x204a, &imc, 5},
	{3, 14, 0, 0x2058, &upi, 0},
	{3, 15, 0, 0x2058, &upi, 1},
	{3, 16, 0, 0x2058, &upi, 2},
	{3, 18, 0, 0x204c, NULL, 0},
	{3, 18, 1, 0x204d, &m3upi, 0},
	{3, 18, 2, 0x204e, &m3upi, 1},
	{3, 18, 5, 0x204d, &m3upi, 2},
	{3, 21, 0, 0x2018, NULL, 0},
	{3, 21, 1, 0x2088, &m2pcie, 0},
	{3, 21, 5, 0x2088, &m2pcie, 3},
	{3, 22, 0, 0x2018, NULL, 0},
	{3, 22, 1, 0x2088, &m2pcie, 1},
	{3, 23, 0, 0x2018, NULL, 0},
	{3, 23, 1, 0x2088, &m2pcie, 2},
	{.id = 0},
};

/* Root ports, so that stacks can be counted by port: stack (by its bus) and device. Bus 0 of the first
 * socket is QEMU's own. */
static const uint8_t ports[][2] = {{1, 0}, {1, 2}, {2, 1}, {3, 3}};

static void add_ports(const uint8_t *bus)
{
	for (unsigned i = 0; i < sizeof(ports) / sizeof(*ports); i++) {
		uint8_t root = bus[ports[i][0]], device = ports[i][1];

		pci_root_port(PCI_BDF(root, device, 0), (uint8_t)(root + 1 + device));
	}
}

static void add_socket(unsigned socket)
{
	const uint8_t *bus = buses[socket];

	pci_add(devices, bus, socket);
	add_ports(bus);
	pci_ubox(PCI_BDF(bus[0], 8, 0), socket);
	pci_set(PCI_BDF(bus[1], 30, 3), CAPID6, CHA_MASK);
	for (unsigned link = 0; link < 3; link++)
		pci_upi_link(PCI_BDF(bus[3], 14 + link, 0), socket, link);
}

static int init(void)
{
	if (pmon_config.sockets > 2 || pmon_window_size < PCI_ECAM_SIZE) {
		fprintf(stderr, "pmon: skx: at most 2 sockets, and a window of 256 MiB\n");
		return -1;
	}
	for (unsigned s = 0; s < pmon_config.sockets; s++)
		add_socket(s);
	/* Stack 0 has QEMU's own bus. */
	pci_disk_port();
	disk_at(0, 0, PCI_DISK_SLOT);
	return intel_msr_init(msr_types);
}

static bool rdmsr(unsigned cpu, uint32_t msr, uint64_t *value)
{
	const uint8_t *bus = buses[pmon_socket(cpu)];

	if (msr != MSR_CPU_BUS_NUMBER)
		return intel_rdmsr(cpu, msr, value);
	*value = CPU_BUS_VALID;
	for (unsigned i = 0; i < BUSES; i++)
		*value |= (uint64_t)bus[i] << 8 * i;
	return true;
}

const struct pmon_model model_skx = {.name = "skx", .init = init, .rdmsr = rdmsr, PCI_MODEL_ACCESS};
