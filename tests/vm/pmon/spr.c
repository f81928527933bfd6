/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Xeon Scalable, 4th generation (Sapphire Rapids), one or two sockets: a device with a discovery
 * table in memory tells the driver which boxes there are. CHA, IIO, IRP, M2PCIe, PCU, MDF and UBOX
 * (nameless: uncore_type_5) by MSR, M2M, UPI and M3UPI by PCI configuration space, IMC, HBM, CXLCM and
 * CXLDP by MMIO; not by the table: the free-running counters, and UPI and M3UPI for kernels that ignore their
 * entries (7.2).
 *
 * Granite Rapids has the same boxes under the numbers of its types, but for M2PCIe, M3UPI and HBM; M2M is
 * called B2CMI and MDF MDF_SBO there.
 *
 * There is no enable bit: config 0 is accepted and counts nothing.
 *
 * Root ports of Sapphire Rapids are on the buses of `stacks`: device D of a stack is part D - 1 of its IIO unit.
 * Which unit it is, is to be found by the registers of add_ports() and the die's kind (XCC): units 1, 2, 4, 6, 7
 * and 9 for the CPU's buses 0 to 5. Each port has one device behind it.
 *
 * `select` of the weight (pmon_weight), as functions of perf's config and config1:
 *   imc hbm cxlcm cxldp        umask & 0xff: the driver writes no more than 32 bits of the register
 *   irp m2pcie mdf m2m upi m3upi   umask (32 bits)
 *   pcu type_5                 umask
 *   iio                        umask + 2^8 * ch_mask + 2^20 * fc_mask
 *   cha                        umask (40 bits) + (512 + filter_tid % 1024 if tid_en)
 *   iio_free_running, imc_free_running   event = the alias's umask, select = 0
 *   fixed (imc: event=0xff)    event = 0xff, select = 0
 * The kernel's driver (7.2) goes to link 0 for every upi_N and m3upi_N: then instance = 0.
 */
#include "pci.h"

#include <stdio.h>
#include <string.h>

#define MSR_CBO_CONFIG 0x2ffe
#define CHAS 12
#define IIOS 10

#define MMIO_BASE 0xd0 /* of the memory controllers: in 8 MiB */
#define MMIO_MEM 0xd8  /* + 4 for each: in 4 KiB from there */
#define MMIO_BASE_SHIFT 23
#define MMIO_MEM_SHIFT 12

/* In the window, after configuration space, for each socket. */
#define MMIO_SOCKET_SIZE (UINT64_C(8) << 20)
#define MC_SIZE (UINT64_C(256) << 10)
#define MCS 4
#define CHANNELS 2
#define CHANNEL_SIZE 0x4000u
#define HBM_OFFSET (UINT64_C(2) << 20)
#define HBM_SIZE 0x4000u
#define HBMS 4
#define CXL_OFFSET (UINT64_C(4) << 20)
#define CXL_SIZE 0x4000u
#define TABLE_OFFSET (UINT64_C(6) << 20)

#define WINDOW_SIZE (PCI_ECAM_SIZE + 2 * MMIO_SOCKET_SIZE)

#define PCI_BAR0 0x10
#define PCI_BAR_64 4u
#define PCI_EXTENDED 0x100
#define CAPABILITY_DISCOVERY 0x00010023u
#define DVSEC_PMON 1u
#define MSR_GLOBAL_CTL 0x2ff0

/* Registers that say where the stacks are (Intel's pcm-iio, getSPRPlatformMapping). */
#define CPUBUSNO 0x190 /* bus i is byte i */
#define CPUBUSNO_VALID 0x1a0
#define SAD_CONTROL_CFG 0x3f4
#define CAPID4 0x94
#define CAPID4_XCC 0xc0u

static uint64_t cha_select(uint64_t ctl, uint64_t filter)
{
	return intel_select_wide(ctl, filter) + (ctl >> 16 & 1 ? 512 + (filter & 0x3ff) : 0);
}

#define EVENT_CAS_COUNT 0x5

static bool is_gnr;

/*
 * Real traffic is of one kind each: no underfill, no autoprecharge. The pseudo channels are chosen by umask
 * bits 6 and 7; on Granite Rapids each has an event of its own.
 */
static void imc_counts(uint64_t ctl, struct real *what)
{
	uint64_t event = ctl & 0xff, umask = ctl >> 8;

	if (is_gnr && (event == EVENT_CAS_COUNT || event == EVENT_CAS_COUNT + 1))
		what->halves = 1u << (event - EVENT_CAS_COUNT);
	else if (!is_gnr && event == EVENT_CAS_COUNT)
		what->halves = umask >> 6 & 3;
	else
		return;
	what->reads = umask & 0x1 ? REAL_HERE : 0;   /* RD_REG */
	what->writes = umask & 0x10 ? REAL_HERE : 0; /* WR */
}

/* IMC_READS and IMC_WRITES, all of them. */
static void m2m_counts(uint64_t ctl, struct real *what)
{
	uint64_t event = ctl & 0xff, umask = intel_select_wide(ctl, 0);

	what->reads = event == 0x24 && umask == (is_gnr ? 0x104 : 0x304) ? REAL_HERE : 0;
	what->writes = event == 0x25 && umask == (is_gnr ? 0x110 : 0x1810) ? REAL_HERE : 0;
}

#define DISCOVERY .bits = &intel_bits_discovery, .event_mask = 0xff, .width = 48
#define STD DISCOVERY, .select = intel_select_std
#define WIDE DISCOVERY, .select = intel_select_wide

static struct intel_type msr_types[] = {
	{.name = "cha",
	 .boxes = CHAS,
	 .ctrs = 4,
	 .stride = 0x10,
	 .box_ctl = 0x2000,
	 .ctl = 0x2002,
	 .ctr = 0x2008,
	 .filter = 0x200e,
	 DISCOVERY,
	 .select = cha_select,
	 .real = REAL_HOME,
	 .counts = intel_counts_requests},
	{.name = "iio",
	 .boxes = IIOS,
	 .ctrs = 4,
	 .stride = 0x10,
	 .box_ctl = 0x3000,
	 .ctl = 0x3002,
	 .ctr = 0x3008,
	 .thresh_bits = 12,
	 DISCOVERY,
	 .select = intel_select_iio},
	{.name = "irp",
	 .boxes = 6,
	 .ctrs = 2,
	 .stride = 0x10,
	 .box_ctl = 0x3400,
	 .ctl = 0x3402,
	 .ctr = 0x3408,
	 WIDE},
	{.name = "m2pcie",
	 .boxes = 6,
	 .ctrs = 4,
	 .stride = 0x10,
	 .box_ctl = 0x3200,
	 .ctl = 0x3202,
	 .ctr = 0x3208,
	 WIDE},
	{.name = "pcu",
	 .boxes = 1,
	 .ctrs = 4,
	 .box_ctl = 0x2fc0,
	 .ctl = 0x2fc2,
	 .ctr = 0x2fc8,
	 STD},
	{.name = "ubox",
	 .boxes = 1,
	 .ctrs = 2,
	 .box_ctl = 0x2fd0,
	 .ctl = 0x2fd2,
	 .ctr = 0x2fd8,
	 STD},
	{.name = "mdf",
	 .boxes = 2,
	 .ctrs = 4,
	 .stride = 0x10,
	 .box_ctl = 0x2b00,
	 .ctl = 0x2b02,
	 .ctr = 0x2b08,
	 WIDE},
	{.name = "iio clock",
	 .boxes = IIOS,
	 .ctrs = 1,
	 .width = 48,
	 .stride = 0x10,
	 .ctr = 0x340e,
	 .free_code = 0x10},
	{.name = "iio in",
	 .boxes = IIOS,
	 .ctrs = 8,
	 .width = 48,
	 .stride = 0x10,
	 .ctr = 0x3800,
	 .free_code = 0x20},
	{.name = "iio out",
	 .boxes = IIOS,
	 .ctrs = 8,
	 .width = 48,
	 .stride = 0x10,
	 .ctr = 0x3808,
	 .free_code = 0x30},
	{.name = NULL},
};
enum { CHA, IIO, IRP, M2PCIE, PCU, UBOX, MDF, IIO_CLOCK, IIO_IN, IIO_OUT };

static const struct intel_type m2m = {.name = "m2m",
				      .ctrs = 4,
				      .box_ctl = 0x438,
				      .ctr = 0x440,
				      .ctl = 0x468,
				      .ctl_step = 8,
				      WIDE,
				      .real = REAL_PORT,
				      .counts = m2m_counts};
static const struct intel_type upi = {.name = "upi",
				      .ctrs = 4,
				      .box_ctl = 0x318,
				      .ctr = 0x320,
				      .ctl = 0x350,
				      .ctl_step = 8,
				      WIDE,
				      .real = REAL_LINK,
				      .counts = intel_counts_flits};
static const struct intel_type m3upi = {
	.name = "m3upi", .ctrs = 4, .box_ctl = 0xa0, .ctr = 0xa8, .ctl = 0xd8, .ctl_step = 8, WIDE};
static const struct intel_type imc = {.name = "imc",
				      .ctrs = 4,
				      .box_ctl = 0x22800,
				      .ctr = 0x22808,
				      .ctl = 0x22840,
				      .ctl_step = 4,
				      .fixed_ctr = 0x22838,
				      .fixed_ctl = 0x22854,
				      STD,
				      .real = REAL_MEMORY,
				      .counts = imc_counts};
static const struct intel_type imc_free[] = {
	{.name = "imc clock", .ctrs = 1, .width = 48, .ctr = 0x22b0, .free_code = 0x10},
	{.name = "imc queues", .ctrs = 2, .width = 48, .ctr = 0x2318, .free_code = 0x20},
};
static const struct intel_type cxlcm = {.name = "cxlcm",
					.ctrs = 8,
					.box_ctl = 0xe00,
					.ctl = 0xe10,
					.ctr = 0xe50,
					.ctl_step = 8,
					STD};
static const struct intel_type cxldp = {.name = "cxldp",
					.ctrs = 4,
					.box_ctl = 0xf00,
					.ctl = 0xf10,
					.ctr = 0xf50,
					.ctl_step = 8,
					STD};

static const struct intel_type hbm = {
	.name = "hbm", .ctrs = 4, .box_ctl = 0x800, .ctr = 0x808, .ctl = 0x840, .ctl_step = 4, STD};

/* The driver gives a bus to the socket of the next UBOX, so the UBOX is on the last one. */
#define MSM_BUS 1
static const uint8_t buses[][2] = {{0x7e, 0x7d}, {0xfe, 0xfd}};
#define STACKS 6
static const uint8_t stacks[][STACKS] = {{0x15, 0x26, 0x37, 0x48, 0x59, 0x6a},
					 {0x95, 0xa6, 0xb7, 0xc8, 0xd9, 0xea}};
static const uint8_t ports[][2] = {{1, 1}, {1, 3}, {2, 1}, {3, 5}, {5, 7}}; /* stack, device */

#define M2M_DEVICE 12
#define UPI_DEVICE 1
#define M3UPI_DEVICE 5
#define LINKS 4

static const struct pci_device devices[] = {
	{0, 0, 0, 0x3250, NULL, 0}, /* UBOX */
	{0, 0, 1, 0x3251, NULL, 0}, /* where the registers of the memory controllers are */
	{0, 0, 3, 0x09a7, NULL, 0}, /* where the discovery table is */
	{0, UPI_DEVICE, 0, 0x3240, NULL, 0},
	{0, UPI_DEVICE, 1, 0x3241, &upi, 0},
	{0, UPI_DEVICE + 1, 0, 0x3240, NULL, 0},
	{0, UPI_DEVICE + 1, 1, 0x3241, &upi, 1},
	{0, UPI_DEVICE + 2, 0, 0x3240, NULL, 0},
	{0, UPI_DEVICE + 2, 1, 0x3241, &upi, 2},
	{0, UPI_DEVICE + 3, 0, 0x3240, NULL, 0},
	{0, UPI_DEVICE + 3, 1, 0x3241, &upi, 3},
	{0, M3UPI_DEVICE, 0, 0x3245, NULL, 0},
	{0, M3UPI_DEVICE, 1, 0x3246, &m3upi, 0},
	{0, M3UPI_DEVICE + 1, 0, 0x3245, NULL, 0},
	{0, M3UPI_DEVICE + 1, 1, 0x3246, &m3upi, 1},
	{0, M3UPI_DEVICE + 2, 0, 0x3245, NULL, 0},
	{0, M3UPI_DEVICE + 2, 1, 0x3246, &m3upi, 2},
	{0, M3UPI_DEVICE + 3, 0, 0x3245, NULL, 0},
	{0, M3UPI_DEVICE + 3, 1, 0x3246, &m3upi, 3},
	{0, M2M_DEVICE, 0, 0x324a, &m2m, 0},
	{0, M2M_DEVICE + 1, 0, 0x324a, &m2m, 1},
	{0, M2M_DEVICE + 2, 0, 0x324a, &m2m, 2},
	{0, M2M_DEVICE + 3, 0, 0x324a, &m2m, 3},
	{0, 30, 0, 0x3258, NULL, 0},
	{0, 30, 3, 0x325b, NULL, 0},      /* PCU, with the kind of die */
	{MSM_BUS, 3, 0, 0x09a6, NULL, 0}, /* where the buses of the stacks are */
	{.id = 0},
};
static const struct pci_device stack_devices[] = {
	{0, 0, 0, 0x09a2, NULL, 0},
	{1, 0, 0, 0x09a2, NULL, 0},
	{2, 0, 0, 0x09a2, NULL, 0},
	{3, 0, 0, 0x09a2, NULL, 0},
	{4, 0, 0, 0x09a2, NULL, 0},
	{5, 0, 0, 0x09a2, NULL, 0},
	{.id = 0},
};
static const struct pci_device nvme[] = {{0, 0, 0, 0x0a54, NULL, 0}, {.id = 0}};
#define PCI_CLASS 0x08
#define CLASS_NVME 0x01080200u

enum access { BY_MSR, BY_MMIO, BY_PCI };

/* An entry of the table is three words of 64 bits, and as long as the first one says. */
#define ENTRY_WORDS 8

struct table {
	uint64_t *entries;
	unsigned n;
};

static void list(struct table *t, unsigned type_id, const struct intel_type *type,
		 unsigned instance, enum access access, uint64_t ctl)
{
	uint64_t *e = t->entries + ++t->n * ENTRY_WORDS;

	e[0] = type->ctrs | (uint64_t)(type->ctl - type->box_ctl) << 8 |
	       (uint64_t)type->width << 16 | (uint64_t)(type->ctr - type->box_ctl) << 24 |
	       (uint64_t)access << 62;
	e[1] = ctl;
	e[2] = type_id | (uint64_t)instance << 16;
}

static void list_msr_boxes(struct table *t, unsigned type_id, const struct intel_type *type)
{
	for (unsigned i = 0; i < type->boxes; i++)
		list(t, type_id, type, i, BY_MSR, type->box_ctl + i * type->stride);
}

/* The types of the table have their numbers from Intel. */
static void list_boxes(struct table *t, unsigned socket, uint64_t mmio)
{
	list_msr_boxes(t, 0, &msr_types[CHA]);
	list_msr_boxes(t, 1, &msr_types[IIO]);
	list_msr_boxes(t, 2, &msr_types[IRP]);
	if (!is_gnr)
		list_msr_boxes(t, 3, &msr_types[M2PCIE]);
	list_msr_boxes(t, 4, &msr_types[PCU]);
	list_msr_boxes(t, 5, &msr_types[UBOX]);
	for (unsigned i = 0; i < MCS * CHANNELS; i++)
		list(t, 6, &imc, i, BY_MMIO,
		     PMON_WINDOW_X86 + mmio + i / CHANNELS * MC_SIZE + i % CHANNELS * CHANNEL_SIZE +
			     imc.box_ctl);
	for (unsigned i = 0; i < 4; i++)
		list(t, is_gnr ? 16 : 7, &m2m, i, BY_PCI,
		     (uint64_t)PCI_BDF(buses[socket][0], M2M_DEVICE + i, 0) << 12 | m2m.box_ctl);
	for (unsigned i = 0; i < LINKS; i++) {
		list(t, 8, &upi, i, BY_PCI,
		     (uint64_t)PCI_BDF(buses[socket][0], UPI_DEVICE + i, 1) << 12 | upi.box_ctl);
		if (!is_gnr)
			list(t, 9, &m3upi, i, BY_PCI,
			     (uint64_t)PCI_BDF(buses[socket][0], M3UPI_DEVICE + i, 1) << 12 |
				     m3upi.box_ctl);
	}
	list_msr_boxes(t, is_gnr ? 20 : 11, &msr_types[MDF]);
	for (unsigned i = 0; !is_gnr && i < HBMS; i++)
		list(t, 14, &hbm, i, BY_MMIO,
		     PMON_WINDOW_X86 + mmio + HBM_OFFSET + i * HBM_SIZE + hbm.box_ctl);
	for (unsigned i = 0; i < 2; i++) {
		uint64_t base = PMON_WINDOW_X86 + mmio + CXL_OFFSET + i * CXL_SIZE;

		list(t, 12, &cxlcm, i, BY_MMIO, base + cxlcm.box_ctl);
		list(t, 13, &cxldp, i, BY_MMIO, base + cxldp.box_ctl);
	}
}

static void add_table(unsigned socket, uint64_t mmio)
{
	uint32_t bdf = PCI_BDF(buses[socket][0], 0, 3);
	uint64_t where = PMON_WINDOW_X86 + mmio + TABLE_OFFSET;
	struct table t = {.entries =
				  (uint64_t *)(void *)((char *)pmon_window + mmio + TABLE_OFFSET)};

	list_boxes(&t, socket, mmio);
	t.entries[0] = (uint64_t)ENTRY_WORDS << 8 | (uint64_t)t.n << 16;
	t.entries[1] = MSR_GLOBAL_CTL; /* the driver writes it on Granite Rapids only */
	pci_express(bdf);
	pci_set(bdf, PCI_BAR0, (uint32_t)where | PCI_BAR_64);
	pci_set(bdf, PCI_BAR0 + 4, (uint32_t)(where >> 32));
	pci_set(bdf, PCI_EXTENDED, CAPABILITY_DISCOVERY);
	pci_set(bdf, PCI_EXTENDED + 8, DVSEC_PMON);
	pci_set(bdf, PCI_EXTENDED + 12, 0); /* BAR 0 */
}

static void add_mmio(unsigned socket, uint64_t mmio)
{
	uint32_t bdf = PCI_BDF(buses[socket][0], 0, 1);
	uint64_t base = mmio;

	pci_set(bdf, MMIO_BASE, (uint32_t)((PMON_WINDOW_X86 + mmio) >> MMIO_BASE_SHIFT));
	for (unsigned mc = 0; mc < MCS; mc++, base += MC_SIZE) {
		pci_set(bdf, MMIO_MEM + 4 * mc, (uint32_t)(mc * MC_SIZE >> MMIO_MEM_SHIFT));
		for (unsigned c = 0; c < CHANNELS; c++)
			intel_window_add(&imc, socket, mc * CHANNELS + c, base + c * CHANNEL_SIZE);
		for (size_t k = 0; k < sizeof(imc_free) / sizeof(imc_free[0]); k++)
			intel_window_add(&imc_free[k], socket, mc, base);
	}
	for (unsigned i = 0; i < 2; i++) {
		intel_window_add(&cxlcm, socket, i, mmio + CXL_OFFSET + i * CXL_SIZE);
		intel_window_add(&cxldp, socket, i, mmio + CXL_OFFSET + i * CXL_SIZE);
	}
	for (unsigned i = 0; i < HBMS; i++)
		intel_window_add(&hbm, socket, i, mmio + HBM_OFFSET + i * HBM_SIZE);
}

static void add_ports(unsigned socket)
{
	uint32_t msm = PCI_BDF(buses[socket][MSM_BUS], 3, 0);

	pci_express(msm);
	pci_set(msm, CPUBUSNO_VALID, (1u << STACKS) - 1);
	pci_set(PCI_BDF(buses[socket][0], 30, 3), CAPID4, CAPID4_XCC);
	pci_add(stack_devices, stacks[socket], socket);
	for (unsigned i = 0; i < STACKS; i++) {
		uint32_t bdf = PCI_BDF(stacks[socket][i], 0, 0);

		pci_express(bdf);
		pci_set(bdf, SAD_CONTROL_CFG, socket | i << 4);
		memcpy((char *)pmon_window + pci_config(msm) + CPUBUSNO + i, &stacks[socket][i], 1);
	}
	for (unsigned i = 0; i < sizeof(ports) / sizeof(*ports); i++) {
		uint8_t root = stacks[socket][ports[i][0]], device = ports[i][1];
		uint8_t below = (uint8_t)(root + 1 + device);

		pci_root_port(PCI_BDF(root, device, 0), below);
		pci_add(nvme, &below, socket);
		pci_set(PCI_BDF(below, 0, 0), PCI_CLASS, CLASS_NVME);
	}
}

static void add_socket(unsigned socket)
{
	uint64_t mmio = PCI_ECAM_SIZE + socket * MMIO_SOCKET_SIZE;

	pci_add(devices, buses[socket], socket);
	pci_ubox(PCI_BDF(buses[socket][0], 0, 0), socket);
	for (unsigned link = 0; link < LINKS; link++)
		pci_upi_link(PCI_BDF(buses[socket][0], UPI_DEVICE + link, 1), socket, link);
	add_mmio(socket, mmio);
	add_table(socket, mmio);
	if (!is_gnr)
		add_ports(socket);
}

static int init(void)
{
	if (pmon_config.sockets > 2 || pmon_window_size < WINDOW_SIZE) {
		fprintf(stderr, "pmon: spr: at most 2 sockets, and a window of 272 MiB\n");
		return -1;
	}
	for (unsigned s = 0; s < pmon_config.sockets; s++)
		add_socket(s);
	return intel_msr_init(msr_types);
}

/* Its free-running counters lie elsewhere. */
static int init_gnr(void)
{
	is_gnr = true;
	msr_types[IIO_CLOCK].ctr = 0x290e;
	msr_types[IIO_IN].ctr = 0x360e;
	msr_types[IIO_OUT].ctr = 0x2e0e;
	msr_types[IIO_IN].stride = msr_types[IIO_OUT].stride = 0x80;
	msr_types[IIO_IN].ctr_step = msr_types[IIO_OUT].ctr_step = 0x10;
	return init();
}

static bool rdmsr(unsigned cpu, uint32_t msr, uint64_t *value)
{
	if (msr != MSR_CBO_CONFIG)
		return intel_rdmsr(cpu, msr, value);
	*value = CHAS;
	return true;
}

const struct pmon_model model_spr = {.name = "spr", .init = init, .rdmsr = rdmsr, PCI_MODEL_ACCESS};
const struct pmon_model model_gnr = {
	.name = "gnr", .init = init_gnr, .rdmsr = intel_rdmsr, PCI_MODEL_ACCESS};
