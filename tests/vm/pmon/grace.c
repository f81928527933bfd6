/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Grace (Tegra241): SCF, NVLink-C2C0 and C2C1, PCIe and CNVLink of each socket. `select` in
 * weights is PMEVFILTR, for cycles PMCCFILTR: the ports of the link, all of them 0x3 (C2C0, C2C1),
 * 0x3ff (PCIe), 0xf (CNVLink), and 0 for the SCF, that has no filter. A link without ports counts
 * nothing.
 *
 * Real traffic: the SCF has one channel of memory.
 */
#include "nvidia.h"

static bool scf_select(const struct cspmu_filter *f, uint64_t *select)
{
	*select = f->filter;
	return true;
}

static bool link_select(const struct cspmu_filter *f, uint64_t *select)
{
	*select = f->filter;
	return f->filter != 0;
}

enum {
	CMEM_RD_DATA = 0x1a5,
	CMEM_WR_TOTAL_BYTES = 0x1db,
	REMOTE_SOCKET_RD_DATA = 0x1a2,
	REMOTE_SOCKET_WR_TOTAL_BYTES = 0x1a1
};

/* Reads by beats of 32 bytes, writes by bytes. */
static void scf_counts(const struct cspmu_filter *f, unsigned event, struct real *what)
{
	(void)f;
	if (event == CMEM_RD_DATA || event == REMOTE_SOCKET_RD_DATA)
		what->reads = event == CMEM_RD_DATA ? REAL_HERE : REAL_TO_REMOTE;
	else if (event == CMEM_WR_TOTAL_BYTES || event == REMOTE_SOCKET_WR_TOTAL_BYTES)
		what->writes = event == CMEM_WR_TOTAL_BYTES ? REAL_HERE : REAL_TO_REMOTE;
	else
		return;
	what->kind = REAL_MEMORY;
	what->per_line = what->reads ? 2 : 64;
}

/* In the order of their pages, two for each; arm64/tables has it, too. */
static const struct cspmu_type types[] = {
	{.pmiidr = 0x2cf0036b,
	 .ctrs = 6,
	 .width = 52,
	 .dual_page = true,
	 .select = scf_select,
	 .counts = scf_counts},
	{.pmiidr = 0x1050036b, .ctrs = 4, .width = 48, .select = link_select}, /* C2C0 */
	{.pmiidr = 0x1040036b, .ctrs = 4, .width = 48, .select = link_select}, /* C2C1 */
	{.pmiidr = 0x1030036b, .ctrs = 4, .width = 48, .select = link_select}, /* PCIe */
	{.pmiidr = 0x1060036b, .ctrs = 4, .width = 48, .select = link_select}, /* CNVLink */
};

static int init(void)
{
	if (nvidia_window_init())
		return -1;
	real_unit(REAL_MEMORY, 0);
	for (unsigned s = 0; s < pmon_config.sockets; s++)
		for (uint32_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
			cspmu_new(&types[i], s * SOCKET_STRIDE + i * 2 * PAGE, s, 0);
	return 0;
}

const struct pmon_model model_grace = {.name = "grace",
				       .init = init,
				       .window_load = nvidia_window_load,
				       .window_store = nvidia_window_store};
