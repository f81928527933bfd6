/* SPDX-License-Identifier: MIT */
/*
 * The data files of Arm, Ampere, Marvell, Fujitsu, Alibaba and of CXL. Configuration words are those of
 * the kernel's drivers (drivers/perf), formulas those of its tables and documents; none come from the
 * data files.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data-other.h"

/* ---- Arm CMN: event number in bits 16-26, kind of node in 0-15, occupancy ID in 27-30 -------- */

#define HNF(event) (UINT64_C(event) << 16 | 0x5)
#define RND(event) (UINT64_C(event) << 16 | 0xa)

static const struct expected cmn[] = {
	{"cache.hit.ratio",
	 "(accesses - misses) / accesses",
	 {{"accesses", HNF(0x02)}, {"misses", HNF(0x01)}}},
	{"cache.snoop.hit.ratio",
	 "snoop_hits / accesses",
	 {{"snoop_hits", HNF(0x06)}, {"accesses", HNF(0x02)}}},
	{"cache.request.latency",
	 "occupancy / requests * source_count(cycles) * seconds / cycles",
	 {{"occupancy", HNF(0x0f)}, {"requests", HNF(0x05)}, {"cycles", 0x3}}},
	RATE("cache.memory.requests", "memory_requests", HNF(0x0d)),
	{"fabric.retry.ratio",
	 "retries / requests",
	 {{"retries", HNF(0x04)}, {"requests", HNF(0x05)}}},
	{"fabric.memory.retry.ratio",
	 "memory_retries / memory_requests",
	 {{"memory_retries", HNF(0x0c)}, {"memory_requests", HNF(0x0d)}}},
	{"fabric.io.read.bandwidth",
	 "io_read_flits * 32 / seconds",
	 {{"io_read_flits", RND(0x04)}}},
	{"fabric.io.write.bandwidth",
	 "io_write_flits * 32 / seconds",
	 {{"io_write_flits", RND(0x05)}}},
	{"fabric.io.retry.ratio",
	 "io_retries / io_requests",
	 {{"io_retries", RND(0x07)}, {"io_requests", RND(0x06)}}},
	{"fabric.axi.write.bandwidth",
	 "axi_write_flits * 32 / seconds",
	 {{"axi_write_flits", 0x50007}}},
	CLOCK("fabric.clock.frequency", 0x3),
};

/* A mesh of this identifier with one event of those that metrics need. */
static struct uncore *mesh(struct tree *t, const char *identifier)
{
	tree_make(t);
	machine_cpus(t, (const int[]){0, 0}, 2);
	tree_pmu(t, "arm_cmn_1", "type", "10\n");
	tree_pmu(t, "arm_cmn_1", "cpumask", "0\n");
	tree_pmu(t, "arm_cmn_1", "identifier", identifier);
	tree_pmu(t, "arm_cmn_1", "format/type", "config:0-15\n");
	tree_pmu(t, "arm_cmn_1", "events/dtc_cycles", "type=0x3\n");
	return scan(t->dir);
}

static void coherent_meshes(void **state)
{
	static const struct {
		const char *identifier;
		size_t metrics;
	} meshes[] = {
		{"43400\n", 1}, {"43604\n", 1}, {"43a02\n", 1}, {"43c03\n", 1},
		{"43801\n", 0}, {"43e02\n", 0}, /* CMN-600AE, CMN-S3: not in the kernel's tables */
	};

	(void)state;
	assert_on("arm-neoverse-cmn", "arm-cmn", 1, cmn, COUNT(cmn));
	for (size_t i = 0; i < COUNT(meshes); i++) {
		struct tree t;
		struct uncore *u = mesh(&t, meshes[i].identifier);

		/* Without home nodes it has a clock, and says why there is no more. */
		assert_int_equal(metrics_here(u, "arm-cmn"), meshes[i].metrics);
		if (meshes[i].metrics)
			assert_contains(
				uncore_metric_missing(find(u, "arm-cmn", "cache.hit.ratio")),
				"hnf_slc_sf_cache_access");
		uncore_free(u);
		tree_remove(&t);
	}
}

/* ---- Arm DSU --------------------------------------------------------------------------------- */

static const struct expected dsu[] = {
	{"cache.cluster.hit.ratio",
	 "(accesses - refills) / accesses",
	 {{"accesses", 0x2b}, {"refills", 0x2a}}},
	RATE("cache.cluster.refills", "refills", 0x2a),
	RATE("cache.cluster.allocations", "allocations", 0x29),
	RATE("cache.cluster.writebacks", "writebacks", 0x2c),
	CLOCK("cache.cluster.clock.frequency", 0x11),
};

static void shared_units(void **state)
{
	(void)state;
	assert_on("arm-neoverse-cmn", "arm-dsu", 2, dsu, COUNT(dsu));
}

/* ---- Arm DMC-620: the event is in bits 3-8 of the third word, the clock in its bit 9 --------- */

static const struct wide dmc620[] = {
	{"memory.requests", "transfers / seconds", {{"transfers", 0, 0, 0x12 << 3 | 1 << 9}}},
	{"dram.activate.rate", "activates / seconds", {{"activates", 0, 0, 0x11 << 3 | 1 << 9}}},
	{"memory.controller.clock.frequency",
	 "cycles / source_count(cycles) / seconds",
	 {{"cycles", 0, 0, 0}}},
};

static void dmc620s(void **state)
{
	(void)state;
	assert_wide("arm-neoverse-cmn", "arm-dmc620", 2, dmc620, COUNT(dmc620));
}

/* ---- CXL memory: vendor 0x1e98 in bits 48-63, group in 32-47, a bit for each event ----------- */

#define CXL(group, bit) (UINT64_C(0x1e98) << 48 | UINT64_C(group) << 32 | UINT64_C(1) << (bit))

static const struct expected cxl[] = {
	{"memory.cxl.read.bandwidth", "read_lines * 64 / seconds", {{"read_lines", CXL(0x25, 0)}}},
	{"memory.cxl.write.bandwidth",
	 "write_lines * 64 / seconds",
	 {{"write_lines", CXL(0x21, 1)}}},
	{"memory.cxl.bandwidth",
	 "(read_lines + write_lines) * 64 / seconds",
	 {{"read_lines", CXL(0x25, 0)}, {"write_lines", CXL(0x21, 1)}}},
	RATE("memory.cxl.partial.write.requests", "partial_writes", CXL(0x21, 2)),
	RATE("memory.cxl.dram.read.requests", "cas_rd", CXL(0x8000, 2)),
	RATE("memory.cxl.dram.write.requests", "cas_wr", CXL(0x8000, 3)),
	CLOCK("memory.cxl.clock.frequency", CXL(0, 0)),
};

static void cxl_memory(void **state)
{
	struct uncore *u;
	struct tree t;

	(void)state;
	assert_on("arm-neoverse-cmn", "cxl-pmu", 1, cxl, COUNT(cxl));
	/* The second PMU of a device, which counts nothing but its DRAM. */
	tree_make(&t);
	machine_cpus(&t, (const int[]){0, 0}, 2);
	tree_pmu(&t, "cxl_pmu_mem12.1", "type", "10\n");
	tree_pmu(&t, "cxl_pmu_mem12.1", "cpumask", "0\n");
	tree_pmu(&t, "cxl_pmu_mem12.1", "format/mask", "config:0-31\n");
	tree_pmu(&t, "cxl_pmu_mem12.1", "events/ddr_casrd", "config=0x1e98800000000004\n");
	u = scan(t.dir);
	assert_int_equal(metrics_here(u, "cxl-pmu"), 1);
	assert_metric(u, "cxl-pmu", 1, &cxl[4]);
	uncore_free(u);
	tree_remove(&t);
}

/* ---- DesignWare PCIe: bytes, as the driver multiplies by 16 itself --------------------------- */

static const struct expected dwc[] = {
	RATE("pcie.in.bandwidth", "rx_bytes", 0x21),
	RATE("pcie.out.bandwidth", "tx_bytes", 0x20),
};

static void designware_ports(void **state)
{
	struct uncore *u;

	(void)state;
	assert_on("arm-neoverse-cmn", "dwc-pcie", 2, dwc, COUNT(dwc));
	u = scan_fixture("arm-neoverse-cmn");
	assert_port(u, "0001:00:00.0", "dwc_rootport_10000");
	assert_port(u, "0001:30:03.0", "dwc_rootport_13018");
	uncore_free(u);
}

/* ---- Ampere ---------------------------------------------------------------------------------- */

static const struct expected mcu[] = {
	{"memory.read.bandwidth", "reads * 64 / seconds", {{"reads", 0x0f}}},
	{"memory.write.bandwidth", "writes * 64 / seconds", {{"writes", 0x10}}},
	{"memory.bandwidth",
	 "(reads + writes) * 64 / seconds",
	 {{"reads", 0x0f}, {"writes", 0x10}}},
	RATE("dram.activate.rate", "activates", 0x01),
	CLOCK("memory.controller.clock.frequency", 0x00),
};

static void ampere_controllers(void **state)
{
	(void)state;
	assert_on("ampere-ampereone", "ampere-mcu", 2, mcu, COUNT(mcu));
}

/* ---- Marvell TAD ----------------------------------------------------------------------------- */

static const struct expected tad_odyssey[] = {
	RATE("cache.hits", "hits", 0x1f),
	RATE("cache.allocations", "allocations", 0x1c),
};

static const struct expected tad_cn10k[] = {
	RATE("cache.hits", "hits", 0x1f),
	RATE("cache.allocations", "allocations", 0x1c),
	RATE("cache.memory.read.requests", "memory_reads", 0x0c),
	RATE("cache.memory.write.requests", "memory_writes", 0x0d),
};

static void marvell_caches(void **state)
{
	struct uncore *u;
	struct tree t;

	(void)state;
	assert_on("marvell-odyssey", "marvell-tad", 1, tad_odyssey, COUNT(tad_odyssey));
	tree_make(&t);
	machine_cpus(&t, (const int[]){0, 0}, 2);
	tree_pmu(&t, "tad", "type", "10\n");
	tree_pmu(&t, "tad", "cpumask", "0\n");
	tree_pmu(&t, "tad", "format/event", "config:0-7\n");
	tree_pmu(&t, "tad", "events/tad_req_msh_out_dss_rd", "event=0x0c\n");
	tree_pmu(&t, "tad", "events/tad_req_msh_out_dss_wr", "event=0x0d\n");
	tree_pmu(&t, "tad", "events/tad_alloc_any", "event=0x1c\n");
	tree_pmu(&t, "tad", "events/tad_hit_any", "event=0x1f\n");
	u = scan(t.dir);
	assert_family(u, "marvell-tad", 1, tad_cn10k, COUNT(tad_cn10k));
	uncore_free(u);
	tree_remove(&t);
}

/* ---- Marvell DDR ----------------------------------------------------------------------------- */

static const struct expected ddr[] = {
	RATE("memory.read.requests", "reads", 101),
	RATE("memory.write.requests", "writes", 100),
	RATE("dram.activate.rate", "activates", 13),
	CLOCK("memory.controller.clock.frequency", 45),
};

static void marvell_controllers(void **state)
{
	struct uncore *u;
	struct tree t;

	(void)state;
	assert_on("marvell-odyssey", "marvell-ddr", 2, ddr, COUNT(ddr));
	/* CN10K has no event of that clock: 45 is another one. */
	tree_make(&t);
	machine_cpus(&t, (const int[]){0, 0}, 2);
	tree_pmu(&t, "mrvl_ddr_pmu_87e1c0000000", "type", "10\n");
	tree_pmu(&t, "mrvl_ddr_pmu_87e1c0000000", "cpumask", "0\n");
	tree_pmu(&t, "mrvl_ddr_pmu_87e1c0000000", "format/event", "config:0-8\n");
	tree_pmu(&t, "mrvl_ddr_pmu_87e1c0000000", "events/ddr_hpr_req_with_nocredit",
		 "event=0x2d\n");
	u = scan(t.dir);
	assert_family(u, "marvell-ddr", 1, ddr, COUNT(ddr) - 1);
	uncore_free(u);
	tree_remove(&t);
}

/* ---- Marvell PCIe ---------------------------------------------------------------------------- */

static const struct expected pem[] = {
	{"pcie.inbound.write.bandwidth", "posted_dwords * 4 / seconds", {{"posted_dwords", 4}}},
	RATE("pcie.inbound.write.requests", "posted", 1),
	RATE("pcie.inbound.read.requests", "reads", 7),
};

static void marvell_pcie(void **state)
{
	(void)state;
	assert_on("marvell-odyssey", "marvell-pcie", 1, pem, COUNT(pem));
}

/* ---- Fujitsu MAC ----------------------------------------------------------------------------- */

static const struct expected mac[] = {
	RATE("memory.read.requests", "reads", 0x40),
	{"memory.write.requests",
	 "(full_writes + partial_writes) / seconds",
	 {{"full_writes", 0x50}, {"partial_writes", 0x60}}},
	CLOCK("memory.controller.clock.frequency", 0x00),
};

static void fujitsu_controllers(void **state)
{
	(void)state;
	assert_on("fujitsu-monaka", "fujitsu-mac", 2, mac, COUNT(mac));
}

/* ---- Fujitsu PCIe ---------------------------------------------------------------------------- */

static const struct expected pci[] = {
	{"pcie.any.read.requests",
	 "(reads_0 + reads_1) / seconds",
	 {{"reads_0", 0x10}, {"reads_1", 0x50}}},
	{"pcie.any.write.requests",
	 "(writes_0 + writes_1) / seconds",
	 {{"writes_0", 0x20}, {"writes_1", 0x60}}},
	RATE("pcie.port0.any.read.requests", "reads_0", 0x10),
	RATE("pcie.port0.any.write.requests", "writes_0", 0x20),
	RATE("pcie.port1.any.read.requests", "reads_1", 0x50),
	RATE("pcie.port1.any.write.requests", "writes_1", 0x60),
	{"pcie.clock.frequency",
	 "cycles_0 / source_count(cycles_0) / seconds",
	 {{"cycles_0", 0x00}}},
};

static void fujitsu_pcie(void **state)
{
	(void)state;
	assert_on("fujitsu-monaka", "fujitsu-pci", 1, pci, COUNT(pci));
}

/* ---- Alibaba --------------------------------------------------------------------------------- */

static const struct expected drw[] = {
	{"memory.read.bandwidth", "reads * 64 / seconds", {{"reads", 0x2}}},
	{"memory.write.bandwidth",
	 "(writes + partial_writes) * 64 / seconds",
	 {{"writes", 0x1}, {"partial_writes", 0x3}}},
	{"memory.bandwidth",
	 "(reads + writes + partial_writes) * 64 / seconds",
	 {{"reads", 0x2}, {"writes", 0x1}, {"partial_writes", 0x3}}},
	RATE("dram.activate.rate", "activates", 0xc),
	CLOCK("memory.controller.clock.frequency", 0x80),
};

static void alibaba_controllers(void **state)
{
	(void)state;
	assert_on("alibaba-yitian710", "alibaba-drw", 2, drw, COUNT(drw));
}

/* ---- NXP: the size of a count differs between parts ---------------------------------------- */

/* Bandwidths of these two events, with the factor of their formulas. */
#define IMX(rd, wr, rd_code, wr_code, factor)                                              \
	{"memory.read.bandwidth", rd " * " factor " / seconds", {{rd, rd_code}}},          \
		{"memory.write.bandwidth", wr " * " factor " / seconds", {{wr, wr_code}}}, \
		{"memory.bandwidth",                                                       \
		 "(" rd " + " wr ") * " factor " / seconds",                               \
		 {{rd, rd_code}, {wr, wr_code}}},                                          \
		CLOCK("memory.controller.clock.frequency", 0)

static const struct expected imx8mm[] = {IMX("read_cycles", "write_cycles", 0x2a, 0x2b, "16")};
static const struct expected imx8mn[] = {IMX("read_cycles", "write_cycles", 0x2a, 0x2b, "8")};

/* All bits of the AXI ID masked. */
static const struct wide imx8mp[] = {
	{"memory.read.bandwidth", "read_bytes / seconds", {{"read_bytes", 0x41, 0xffff0000, 0}}},
	{"memory.write.bandwidth", "write_bytes / seconds", {{"write_bytes", 0x42, 0xffff0000, 0}}},
	{"memory.bandwidth",
	 "(read_bytes + write_bytes) / seconds",
	 {{"read_bytes", 0x41, 0xffff0000, 0}, {"write_bytes", 0x42, 0xffff0000, 0}}},
	{"memory.controller.clock.frequency",
	 "cycles / source_count(cycles) / seconds",
	 {{"cycles", 0, 0, 0}}},
};

static const struct expected imx93[] = {
	{"memory.read.bandwidth", "pm_0 * 16 / seconds", {{"pm_0", 15}}},
	{"memory.write.bandwidth",
	 "(pm_3 + pm_5 + pm_7 + pm_9 - pm_2 - pm_4 - pm_6 - pm_8) * 32 / seconds",
	 {{"pm_3", 18},
	  {"pm_5", 22},
	  {"pm_7", 24},
	  {"pm_9", 26},
	  {"pm_2", 17},
	  {"pm_4", 19},
	  {"pm_6", 23},
	  {"pm_8", 25}}},
};

/* The counter that the event is on, in bits 16-23. */
static const struct expected imx95[] = {
	IMX("read_beats", "write_beats", 73 | 5 << 16, 73 | 2 << 16, "32")};

static void nxp_controllers(void **state)
{
	(void)state;
	assert_on("nxp-imx8mm", "nxp-imx8m-ddr", 1, imx8mm, COUNT(imx8mm));
	assert_on("nxp-imx8mn", "nxp-imx8mn-ddr", 1, imx8mn, COUNT(imx8mn));
	assert_wide("nxp-imx8mp", "nxp-imx8mp-ddr", 1, imx8mp, COUNT(imx8mp));
	assert_on("nxp-imx93", "nxp-imx93-ddr", 1, imx93, COUNT(imx93));
	assert_on("nxp-imx95", "nxp-imx95-ddr", 1, imx95, COUNT(imx95));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(coherent_meshes),  cmocka_unit_test(shared_units),
		cmocka_unit_test(dmc620s),          cmocka_unit_test(cxl_memory),
		cmocka_unit_test(designware_ports), cmocka_unit_test(ampere_controllers),
		cmocka_unit_test(marvell_caches),   cmocka_unit_test(marvell_controllers),
		cmocka_unit_test(marvell_pcie),     cmocka_unit_test(fujitsu_controllers),
		cmocka_unit_test(fujitsu_pcie),     cmocka_unit_test(alibaba_controllers),
		cmocka_unit_test(nxp_controllers),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
