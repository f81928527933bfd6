/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Xeon Scalable, 3rd generation (Ice Lake SP), one or two sockets: CHA, IIO, IRP, M2PCIe, PCU, UBOX
 * and the free-running IIO counters by MSR; UPI, M2M and M3UPI by PCI configuration space; IMC and
 * its free-running counters by MMIO. The register addresses are those of the kernel's driver.
 *
 * `select` of the weight (pmon_weight), as functions of perf's config and config1:
 *   imc m3upi irp m2pcie ubox       umask
 *   upi m2m           umask & 0xff: the driver writes no more than 32 bits of the control register
 *   iio               umask + 2^8 * ch_mask + 2^20 * fc_mask
 *   cha               umask (34 bits) + (512 + filter_tid % 512 if tid_en)
 *   pcu               as skx
 *   iio_free_running, imc_free_running   event = the alias's umask, select = 0
 *   fixed (imc, ubox: event=0xff)        event = 0xff, select = 0
 */
#include "pci.h"

#include <stdio.h>

#define CAPID6 0x9c
#define CAPID7 0xa0
#define CHAS 12 /* of 40: those in the two masks */
#define CHAS6 0x00c30f0fu
#define CHAS7 0

#define SAD_CONTROL_CFG 0x3f4
#define SAD_STACK(n) ((uint32_t)(n) << 4)

#define MMIO_BASE 0xd0 /* of the memory controllers: in 8 MiB */
#define MMIO_MEM 0xd8  /* + 4 for each: in 4 KiB from there */
#define MMIO_BASE_SHIFT 23
#define MMIO_MEM_SHIFT 12

/* Where the registers of the memory controllers are in the window, after configuration space. */
#define MMIO_SOCKET_SIZE (UINT64_C(8) << 20)
#define MC_SIZE (UINT64_C(256) << 10)
#define MCS 4
#define CHANNELS 2 /* the driver has a third, which ignores writes and reads 0 */
#define CHANNEL_SIZE 0x4000u

#define WINDOW_SIZE (PCI_ECAM_SIZE + 2 * MMIO_SOCKET_SIZE)

static uint64_t cha_select(uint64_t ctl, uint64_t filter)
{
	return intel_select_wide(ctl, filter) + (ctl >> 19 & 1 ? 512 + (filter & 0x1ff) : 0);
}

static const uint16_t cha_offsets[] = {0x2a0, 0x2ae, 0x2bc, 0x2ca, 0x2d8, 0x2e6, 0x2f4, 0x302,
				       0x310, 0x31e, 0x32c, 0x33a, 0x348, 0x356, 0x364, 0x372,
				       0x380, 0x38e, 0x3aa, 0x3b8, 0x3c6, 0x3d4, 0x3e2, 0x3f0,
				       0x3fe, 0x40c, 0x41a, 0x428, 0x436, 0x444, 0x452, 0x460,
				       0x46e, 0x47c, 0x0,   0xe,   0x1c,  0x2a,  0x38,  0x46};
static const uint16_t stack_offsets[] = {0x0, 0x20, 0x40, 0x90, 0xb0, 0xd0};
static const uint16_t bandwidth_offsets[] = {0x0, 0x10, 0x20, 0x90, 0xa0, 0xb0};

static void iio_counts(uint64_t ctl, struct real *what)
{
	intel_counts_devices(ctl & 0xff, ctl >> 8 & 0xff, ctl >> 36 & 0xfff, what);
}

#define EVENT_TOR_INSERTS 0x35
#define IO 0x04
#define ITOM 0xcc430004u
#define PCIRDCUR 0xc8f30004u
#define HIT 0xfd00u
#define MISS 0xfe00u

/* Whole lines only, as a disk moves them. */
static void cha_looks_up(uint64_t ctl, uint64_t filter, struct real *what)
{
	uint64_t umask = intel_select_wide(ctl, filter), found = umask & 0xff00;

	if ((ctl & 0xff) != EVENT_TOR_INSERTS || (umask & 0xff) != IO ||
	    (found != HIT && found != MISS))
		return;
	what->kind = REAL_SLICE;
	what->found = found == HIT ? REAL_HITS : REAL_MISSES;
	what->writes = umask - found == ITOM ? REAL_HERE : 0;
	what->reads = umask - found == PCIRDCUR ? REAL_HERE : 0;
}

#define EVENT_CAS_COUNT 0x4

/* Data reads of this socket's CPUs that miss: all of them, those of DRAM, of local and of remote memory. */
static void cha_counts(uint64_t ctl, struct real *what)
{
	intel_counts_requests(ctl, what);
	switch (intel_select_wide(ctl, 0)) {
	case 0xc817fe01:
	case 0xc8178601:
		intel_counts_loads(ctl, REAL_LOCAL | REAL_TO_REMOTE, what);
		break;
	case 0xc816fe01:
		intel_counts_loads(ctl, REAL_LOCAL, what);
		break;
	case 0xc8177e01:
		intel_counts_loads(ctl, REAL_TO_REMOTE, what);
		break;
	}
}

/* Real traffic is of one kind each: no underfill, no autoprecharge. */
static void imc_counts(uint64_t ctl, struct real *what)
{
	if ((ctl & 0xff) != EVENT_CAS_COUNT)
		return;
	what->reads = ctl >> 8 & 0x1 ? REAL_HERE : 0;   /* RD_REG */
	what->writes = ctl >> 8 & 0x10 ? REAL_HERE : 0; /* WR */
}

#define SNBEP .bits = &intel_bits_snbep, .event_mask = 0xff
#define STD SNBEP, .select = intel_select_std

static const struct intel_type msr_types[] = {
	{.name = "cha",
	 .boxes = 40,
	 .ctrs = 4,
	 .width = 48,
	 .offsets = cha_offsets,
	 .box_ctl = 0xb60,
	 .ctl = 0xb61,
	 .filter = 0xb65,
	 .ctr = 0xb68,
	 SNBEP,
	 .select = cha_select,
	 .real = REAL_HOME,
	 .units = CHAS,
	 .counts = cha_counts,
	 .looks_up = cha_looks_up},
	{.name = "iio",
	 .boxes = 6,
	 .ctrs = 4,
	 .width = 48,
	 .offsets = stack_offsets,
	 .box_ctl = 0xa50,
	 .ctr = 0xa51,
	 .ctl = 0xa58,
	 .thresh_bits = 12,
	 SNBEP,
	 .select = intel_select_iio,
	 .real = REAL_STACK,
	 .counts = iio_counts},
	{.name = "irp",
	 .boxes = 6,
	 .ctrs = 2,
	 .width = 48,
	 .offsets = stack_offsets,
	 .box_ctl = 0xa4a,
	 .ctr = 0xa4b,
	 .ctl = 0xa4d,
	 STD},
	{.name = "m2pcie",
	 .boxes = 6,
	 .ctrs = 4,
	 .width = 48,
	 .offsets = stack_offsets,
	 .box_ctl = 0xa40,
	 .ctr = 0xa41,
	 .ctl = 0xa46,
	 STD},
	{.name = "iio clock",
	 .boxes = 6,
	 .ctrs = 1,
	 .width = 48,
	 .offsets = stack_offsets,
	 .ctr = 0xa55,
	 .free_code = 0x10},
	{.name = "iio bandwidth",
	 .boxes = 6,
	 .ctrs = 8,
	 .width = 48,
	 .offsets = bandwidth_offsets,
	 .ctr = 0xaa0,
	 .free_code = 0x20},
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

static const struct intel_type m2m = {.name = "m2m",
				      .ctrs = 4,
				      .width = 48,
				      .box_ctl = 0x438,
				      .ctr = 0x440,
				      .ctl = 0x468,
				      .ctl_step = 8,
				      SNBEP,
				      .select = intel_select_wide};
static const struct intel_type upi = {.name = "upi",
				      .ctrs = 4,
				      .width = 48,
				      .box_ctl = 0x318,
				      .ctr = 0x320,
				      .ctl = 0x350,
				      .ctl_step = 8,
				      SNBEP,
				      .select = intel_select_wide,
				      .real = REAL_LINK,
				      .counts = intel_counts_flits};
static const struct intel_type m3upi = {.name = "m3upi",
					.ctrs = 4,
					.width = 48,
					.box_ctl = 0xa0,
					.ctr = 0xa8,
					.ctl = 0xd8,
					.ctl_step = 4,
					STD};
static const struct intel_type imc = {.name = "imc",
				      .ctrs = 4,
				      .width = 48,
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
	{.name = "imc ddr", .ctrs = 2, .width = 48, .ctr = 0x2290, .free_code = 0x20},
	{.name = "imc ddrt", .ctrs = 2, .width = 48, .ctr = 0x22a0, .free_code = 0x30},
};

/*
 * The root buses of a socket. The driver gives a bus to the socket of the next UBOX, so the UBOX is
 * on the last one. The first five are those of I/O stacks; stack 4 of the PMUs has none.
 */
enum { STACKS = 5, BUS_UBOX = 5, BUSES };
static const uint8_t buses[][BUSES] = {{0x00, 0x16, 0x30, 0x4a, 0x64, 0x7e},
				       {0x80, 0x97, 0xb0, 0xc9, 0xe2, 0xfe}};

#define STACK_DEVICE 30 /* on bus 0 the first are QEMU's own */

static const struct pci_device devices[] = {
	{0, STACK_DEVICE, 0, 0x09a2, NULL, 0}, /* which stack the bus is */
	{1, STACK_DEVICE, 0, 0x09a2, NULL, 0},
	{2, STACK_DEVICE, 0, 0x09a2, NULL, 0},
	{3, STACK_DEVICE, 0, 0x09a2, NULL, 0},
	{4, STACK_DEVICE, 0, 0x09a2, NULL, 0},
	{5, 0, 0, 0x3450, NULL, 0}, /* UBOX */
	{5, 0, 1, 0x3451, NULL, 0}, /* where the registers of the memory controllers are */
	{5, 2, 0, 0x3440, NULL, 0},
	{5, 2, 1, 0x3441, &upi, 0},
	{5, 3, 0, 0x3440, NULL, 0},
	{5, 3, 1, 0x3441, &upi, 1},
	{5, 4, 0, 0x3440, NULL, 0},
	{5, 4, 1, 0x3441, &upi, 2},
	{5, 5, 0, 0x3445, NULL, 0},
	{5, 5, 1, 0x3446, &m3upi, 0},
	{5, 6, 0, 0x3445, NULL, 0},
	{5, 6, 1, 0x3446, &m3upi, 1},
	{5, 7, 0, 0x3445, NULL, 0},
	{5, 7, 1, 0x3446, &m3upi, 2},
	{5, 12, 0, 0x344a, &m2m, 0},
	{5, 13, 0, 0x344a, &m2m, 1},
	{5, 14, 0, 0x344a, &m2m, 2},
	{5, 15, 0, 0x344a, &m2m, 3},
	{5, 30, 0, 0x3458, NULL, 0},
	{5, 30, 3, 0x345b, NULL, 0}, /* PCU, with the mask of CHAs */
	{.id = 0},
};

static void add_memory_controllers(unsigned socket)
{
	uint32_t bdf = PCI_BDF(buses[socket][BUS_UBOX], 0, 1);
	uint64_t base = PCI_ECAM_SIZE + socket * MMIO_SOCKET_SIZE;

	pci_set(bdf, MMIO_BASE, (uint32_t)((PMON_WINDOW_X86 + base) >> MMIO_BASE_SHIFT));
	for (unsigned mc = 0; mc < MCS; mc++, base += MC_SIZE) {
		pci_set(bdf, MMIO_MEM + 4 * mc, (uint32_t)(mc * MC_SIZE >> MMIO_MEM_SHIFT));
		for (unsigned c = 0; c < CHANNELS; c++)
			intel_window_add(&imc, socket, mc * CHANNELS + c, base + c * CHANNEL_SIZE);
		for (size_t k = 0; k < sizeof(imc_free) / sizeof(imc_free[0]); k++)
			intel_window_add(&imc_free[k], socket, mc, base);
	}
}

static void add_socket(unsigned socket)
{
	const uint8_t *bus = buses[socket];

	pci_add(devices, bus, socket);
	pci_ubox(PCI_BDF(bus[BUS_UBOX], 0, 0), socket);
	for (unsigned i = 0; i < STACKS; i++)
		pci_set(PCI_BDF(bus[i], STACK_DEVICE, 0), SAD_CONTROL_CFG, SAD_STACK(i));
	for (unsigned link = 0; link < 3; link++)
		pci_upi_link(PCI_BDF(bus[BUS_UBOX], 2 + link, 1), socket, link);
	pci_set(PCI_BDF(bus[BUS_UBOX], 30, 3), CAPID6, CHAS6);
	pci_set(PCI_BDF(bus[BUS_UBOX], 30, 3), CAPID7, CHAS7);
	add_memory_controllers(socket);
}

static int init(void)
{
	if (pmon_config.sockets > 2 || pmon_window_size < WINDOW_SIZE) {
		fprintf(stderr, "pmon: icx: at most 2 sockets, and a window of 272 MiB\n");
		return -1;
	}
	for (unsigned s = 0; s < pmon_config.sockets; s++)
		add_socket(s);
	/* The driver shows QEMU's bus for stack 4, too, which has none; of stack 5 the parts are not known. */
	pci_disk_port();
	disk_at(0, 4, PCI_DISK_SLOT - 2);
	return intel_msr_init(msr_types);
}

const struct pmon_model model_icx = {
	.name = "icx", .init = init, .rdmsr = intel_rdmsr, PCI_MODEL_ACCESS};
