/* SPDX-License-Identifier: MIT */
/*
 * The families of NVIDIA Grace, and what holds for both of NVIDIA's. The configuration words were
 * written from the event tables of the driver (nvidia_cspmu.c), the formulas from
 * nvidia-tegra241-pmu.rst.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data.h"

/* The cycle counter of a CoreSight PMU: bit 32. */
#define CYCLES UINT64_C(0x100000000)

#define CLOCK(name, code)                                        \
	{                                                        \
		name, "cycles / source_count(cycles) / seconds", \
		{                                                \
			{                                        \
				"cycles", code                   \
			}                                        \
		}                                                \
	}

/* ---- Grace ------------------------------------------------------------------------------------ */

#define BOTH(name, what, loc, rem)                               \
	{                                                        \
		name, "(" what "_loc + " what "_rem) / seconds", \
		{                                                \
			{what "_loc", loc},                      \
			{                                        \
				what "_rem", rem                 \
			}                                        \
		}                                                \
	}

/* Pairs of the matrix: reads and writes. */
#define CELL(name, event, factor, code)          \
	{                                        \
		name, event factor " / seconds", \
		{                                \
			{                        \
				event, code      \
			}                        \
		}                                \
	}
#define CELLS(pair, rd, rd_code, wr, wr_code)          \
	CELL(pair ".read.bandwidth", rd, "", rd_code), \
		CELL(pair ".write.bandwidth", wr, "", wr_code)

/* PCIe, NVLink-C2C and CNVLink have the same events. */
#define LINK_EVENTS(p)                                                                             \
	BOTH(p ".read.bandwidth", "rd_bytes", 0, 1), BOTH(p ".write.bandwidth", "wr_bytes", 2, 3), \
		BOTH(p ".bandwidth", "total_bytes", 4, 5),                                         \
		BOTH(p ".read.requests", "rd_req", 6, 7),                                          \
		BOTH(p ".write.requests", "wr_req", 8, 9),                                         \
		BOTH(p ".requests", "total_req", 10, 11),                                          \
	{                                                                                          \
		p ".read.latency",                                                                 \
			"(rd_cum_outs_loc + rd_cum_outs_rem) / (rd_req_loc + rd_req_rem) * "       \
			"source_count(cycles) * seconds / cycles",                                 \
		{                                                                                  \
			{"rd_cum_outs_loc", 12}, {"rd_cum_outs_rem", 13}, {"rd_req_loc", 6},       \
				{"rd_req_rem", 7},                                                 \
			{                                                                          \
				"cycles", CYCLES                                                   \
			}                                                                          \
		}                                                                                  \
	}

static const struct expected grace_pcie[] = {
	LINK_EVENTS("pcie.inbound"),
	{"pcie.inbound.remote.bandwidth", "total_bytes_rem / seconds", {{"total_bytes_rem", 5}}},
	CELLS("matrix.device.memory", "rd_bytes_loc", 0, "wr_bytes_loc", 2),
	CELLS("matrix.device.remote", "rd_bytes_rem", 1, "wr_bytes_rem", 3),
	CLOCK("pcie.clock.frequency", CYCLES),
};

static const struct expected grace_c2c[] = {
	LINK_EVENTS("link.in"),
	{"link.in.remote.bandwidth", "total_bytes_rem / seconds", {{"total_bytes_rem", 5}}},
	CELLS("matrix.gpu.memory", "rd_bytes_loc", 0, "wr_bytes_loc", 2),
	CELLS("matrix.gpu.remote", "rd_bytes_rem", 1, "wr_bytes_rem", 3),
	CLOCK("link.clock.frequency", CYCLES),
};

static const struct expected grace_cnvlink[] = {
	LINK_EVENTS("link.in"),
	CELLS("matrix.remote.memory", "rd_bytes_loc", 0, "wr_bytes_loc", 2),
	CLOCK("link.clock.frequency", CYCLES),
};

#define READ_LATENCY(name, what, outstanding, requests)                                       \
	{                                                                                     \
		name,                                                                         \
			what "_rd_outstanding / " what                                        \
			     "_rd_access * source_count(cycles) * seconds / cycles",          \
		{                                                                             \
			{what "_rd_outstanding", outstanding}, {what "_rd_access", requests}, \
			{                                                                     \
				"cycles", CYCLES                                              \
			}                                                                     \
		}                                                                             \
	}

static const struct expected scf[] = {
	{"memory.read.bandwidth", "cmem_rd_data * 32 / seconds", {{"cmem_rd_data", 0x1a5}}},
	{"memory.write.bandwidth",
	 "cmem_wr_total_bytes / seconds",
	 {{"cmem_wr_total_bytes", 0x1db}}},
	{"memory.bandwidth",
	 "(cmem_rd_data * 32 + cmem_wr_total_bytes) / seconds",
	 {{"cmem_rd_data", 0x1a5}, {"cmem_wr_total_bytes", 0x1db}}},
	READ_LATENCY("memory.read.latency", "cmem", 0x1a7, 0x1a6),
	{"memory.read.requests.per.cycle",
	 "cmem_rd_access / cycles",
	 {{"cmem_rd_access", 0x1a6}, {"cycles", CYCLES}}},
	{"memory.write.requests.per.cycle",
	 "(cmem_wr_access + cmem_wb_access) / cycles",
	 {{"cmem_wr_access", 0x1ca}, {"cmem_wb_access", 0x1ac}, {"cycles", CYCLES}}},
	{"memory.gpu.read.bandwidth", "gmem_rd_data * 32 / seconds", {{"gmem_rd_data", 0x16d}}},
	{"memory.gpu.write.bandwidth",
	 "gmem_wr_total_bytes / seconds",
	 {{"gmem_wr_total_bytes", 0x1a0}}},
	READ_LATENCY("memory.gpu.read.latency", "gmem", 0x16f, 0x16e),
	{"memory.gpu.read.requests.per.cycle",
	 "gmem_rd_access / cycles",
	 {{"gmem_rd_access", 0x16e}, {"cycles", CYCLES}}},
	{"memory.gpu.write.requests.per.cycle",
	 "(gmem_wr_access + gmem_wb_access) / cycles",
	 {{"gmem_wr_access", 0x17b}, {"gmem_wb_access", 0x174}, {"cycles", CYCLES}}},
	{"memory.remote.read.bandwidth",
	 "remote_socket_rd_data * 32 / seconds",
	 {{"remote_socket_rd_data", 0x1a2}}},
	{"memory.remote.write.bandwidth",
	 "remote_socket_wr_total_bytes / seconds",
	 {{"remote_socket_wr_total_bytes", 0x1a1}}},
	READ_LATENCY("memory.remote.read.latency", "remote_socket", 0x1a3, 0x1a4),
	{"cache.hit.ratio",
	 "(scf_cache - scf_cache_refill) / scf_cache",
	 {{"scf_cache", 0xf2}, {"scf_cache_refill", 0xf1}}},
	{"cache.requests.per.cycle",
	 "scf_cache / cycles",
	 {{"scf_cache", 0xf2}, {"cycles", CYCLES}}},
	{"cache.refills", "scf_cache_refill / seconds", {{"scf_cache_refill", 0xf1}}},
	{"cache.allocations", "scf_cache_allocate / seconds", {{"scf_cache_allocate", 0xf0}}},
	{"cache.writebacks", "scf_cache_wb / seconds", {{"scf_cache_wb", 0xf3}}},
	CELL("matrix.cpu.memory.read.bandwidth", "cmem_rd_data", " * 32", 0x1a5),
	CELL("matrix.cpu.memory.write.bandwidth", "cmem_wr_total_bytes", "", 0x1db),
	CELL("matrix.cpu.gpu.read.bandwidth", "gmem_rd_data", " * 32", 0x16d),
	CELL("matrix.cpu.gpu.write.bandwidth", "gmem_wr_total_bytes", "", 0x1a0),
	CELL("matrix.cpu.remote.read.bandwidth", "remote_socket_rd_data", " * 32", 0x1a2),
	CELL("matrix.cpu.remote.write.bandwidth", "remote_socket_wr_total_bytes", "", 0x1a1),
	CLOCK("fabric.clock.frequency", CYCLES),
	{"fabric.bus.clock.frequency",
	 "bus_cycles / source_count(bus_cycles) / seconds",
	 {{"bus_cycles", 0x1d}}},
};

static void fabric_pcie_and_links_of_grace(void **state)
{
	struct uncore *u = scan_fixture("nvidia-grace-1socket");

	(void)state;
	assert_family(u, "nvidia-grace-scf", 1, scf, COUNT(scf));
	assert_family(u, "nvidia-grace-pcie", 1, grace_pcie, COUNT(grace_pcie));
	assert_family(u, "nvidia-grace-c2c", 2, grace_c2c, COUNT(grace_c2c));
	assert_family(u, "nvidia-grace-cnvlink", 0, NULL, 0);
	uncore_free(u);
}

/* The tree of Grace has no CNVLink. */
static void link_between_two_sockets_of_grace(void **state)
{
	static const char *const events[] = {
		"rd_bytes_loc",    "rd_bytes_rem",    "wr_bytes_loc",  "wr_bytes_rem",
		"total_bytes_loc", "total_bytes_rem", "rd_req_loc",    "rd_req_rem",
		"wr_req_loc",      "wr_req_rem",      "total_req_loc", "total_req_rem",
		"rd_cum_outs_loc", "rd_cum_outs_rem"};
	struct uncore *u;
	struct tree t;

	(void)state;
	tree_make(&t);
	machine_cpus(&t, (const int[]){0}, 1);
	tree_pmu(&t, "nvidia_cnvlink_pmu_0", "type", "30\n");
	tree_pmu(&t, "nvidia_cnvlink_pmu_0", "cpumask", "0\n");
	tree_pmu(&t, "nvidia_cnvlink_pmu_0", "format/event", "config:0-32\n");
	tree_pmu(&t, "nvidia_cnvlink_pmu_0", "format/rem_socket", "config1:0-3\n");
	tree_pmu(&t, "nvidia_cnvlink_pmu_0", "events/cycles", "event=0x100000000\n");
	for (size_t i = 0; i < COUNT(events); i++) {
		char path[64], text[32];

		snprintf(path, sizeof(path), "events/%s", events[i]);
		snprintf(text, sizeof(text), "event=0x%zx\n", i);
		tree_pmu(&t, "nvidia_cnvlink_pmu_0", path, text);
	}
	u = scan(t.dir);
	assert_family(u, "nvidia-grace-cnvlink", 1, grace_cnvlink, COUNT(grace_cnvlink));
	uncore_free(u);
	tree_remove(&t);
}

/* A Grace without its PMUs: which of them are missing, and what loads them. */
static void grace_without_its_driver(void **state)
{
	static const char *const devices[] = {"NVDA0508:00", "NVDA1513:00", "NVDA0708:00"};

	(void)state;
	for (size_t i = 0; i < COUNT(devices); i++) {
		size_t missing = 0;
		struct uncore *u;
		struct tree t;
		char path[64];

		tree_make(&t);
		machine_cpus(&t, (const int[]){0}, 1);
		snprintf(path, sizeof(path), "sys/bus/acpi/devices/%s/hid", devices[i]);
		tree_put(&t, path, "x\n");
		tree_put(&t, "sys/bus/event_source/uevent", "");
		u = scan(t.dir);
		assert_int_equal(uncore_diagnose(u), 0);
		for (size_t k = 0; k < uncore_finding_count(u); k++) {
			const struct uncore_finding *f = uncore_finding_at(u, k);

			if (strncmp(f->subject, "nvidia-grace-", 13) != 0)
				continue;
			assert_int_equal(f->verdict, UNCORE_VERDICT_MISSING);
			assert_string_equal(f->fix, "sudo modprobe nvidia_cspmu");
			missing++;
		}
		assert_int_equal(missing, i < 2 ? 2 : 0); /* NVDA0708 is of Tegra410 */
		uncore_free(u);
		tree_remove(&t);
	}
}

/* ---- both ------------------------------------------------------------------------------------- */

/* nvidia_pcie_pmu_0 is Grace's, or in older kernels Tegra410's; nvidia_pcie_pmu_0_rc_4 is Tegra410's. */
static void names_that_begin_alike(void **state)
{
	static const struct {
		const char *pmu, *family, *identifier;
	} cases[] = {
		{"nvidia_pcie_pmu_0", "nvidia-grace-pcie", "1030036b\n"},
		{"nvidia_pcie_pmu_1", "nvidia-grace-pcie", "1030036b\n"},
		{"nvidia_pcie_pmu_2", "nvidia-t410-pcie", "1030136b\n"},
		{"nvidia_pcie_pmu_3", NULL, "1030236b\n"},
		{"nvidia_pcie_pmu_4", NULL, NULL},
		{"nvidia_pcie_pmu_0_rc_0", "nvidia-t410-pcie", "1030136b\n"},
		{"nvidia_pcie_pmu_1_rc_11", "nvidia-t410-pcie", "1030136b\n"},
		{"nvidia_pcie_tgt_pmu_1_rc_11", "nvidia-t410-pcie-tgt", NULL},
		{"nvidia_nvlink_c2c_pmu_1", "nvidia-t410-nvlink-c2c", NULL},
		{"nvidia_nvlink_c2c0_pmu_1", "nvidia-grace-c2c", NULL},
		{"nvidia_nvlink_c2c1_pmu_1", "nvidia-grace-c2c", NULL},
		{"nvidia_nvclink_pmu_1", "nvidia-t410-nvclink", NULL},
		{"nvidia_cnvlink_pmu_1", "nvidia-grace-cnvlink", NULL},
		{"nvidia_nvdlink_pmu_1", "nvidia-t410-nvdlink", NULL},
		/* Names of other kernels: the identifier is the ACPI ID, or PMIIDR. */
		{"nvidia_nvlink_pmu_0", "nvidia-t410-nvclink", "NVDA2022\n"},
		{"nvidia_nvlink_pmu_1", NULL, NULL},
		{"nvidia_x_pmu_0", "nvidia-t410-nvlink-c2c", "NVDA2023\n"},
		{"nvidia_x_pmu_1", "nvidia-t410-nvdlink", "NVDA2020\n"},
		{"nvidia_x_pmu_2", "nvidia-t410-cmem", "NVDA2021\n"},
		{"nvidia_x_pmu_3", "nvidia-t410-ucf", "2cf2036b\n"},
		{"nvidia_x_pmu_4", "nvidia-t410-pcie", "1030136b\n"},
		{"nvidia_x_pmu_5", "nvidia-t410-pcie-tgt", "1070036b\n"},
		{"nvidia_x_pmu_6", "nvidia-grace-scf", "2cf0036b\n"},
		{"nvidia_x_pmu_7", "nvidia-grace-pcie", "1030036b\n"},
		{"nvidia_x_pmu_8", "nvidia-grace-c2c", "1050036b\n"},
		{"nvidia_x_pmu_9", "nvidia-grace-cnvlink", "1060036b\n"},
		{"nvidia_x_pmu_10", NULL, "2cf3036b\n"},
		{"nvidia_x_pmu_11", NULL, "NVDA2024\n"},
		{"nvidia_scf_pmu_1", "nvidia-grace-scf", "2cf0036b\n"},
		{"nvidia_ucf_pmu_1", "nvidia-t410-ucf", "2cf2036b\n"},
		{"nvidia_ucf_pmu_0", "nvidia-thor-ucf", "2cf1036b\n"},
		{"nvidia_ucf_pmu_2", NULL, "2cf3036b\n"},
		{"nvidia_uphy_pmu_0", "nvidia-thor-io", "1080036b\n"},
		{"nvidia_uphy_pmu_1", NULL, NULL},
		{"nvidia_vision_pmu_0", "nvidia-thor-vision", "10e0036b\n"},
		{"nvidia_display_pmu_0", "nvidia-thor-display", "10d0036b\n"},
		{"nvidia_ucf_gpu_pmu_0", "nvidia-thor-gpu", "10a0036b\n"},
		{"nvidia_pcie_pmu_0_rp_0", NULL, NULL},
		{"nvidia_pcie_pmu_rc_0", NULL, NULL},
		{"nvidia_nvlink_c2c2_pmu_0", NULL, NULL},
	};
	struct uncore *u;
	struct tree t;

	(void)state;
	tree_make(&t);
	machine_cpus(&t, (const int[]){0}, 1);
	for (size_t i = 0; i < COUNT(cases); i++) {
		machine_pmu(&t, cases[i].pmu, "30\n", "0\n");
		if (cases[i].identifier)
			tree_pmu(&t, cases[i].pmu, "identifier", cases[i].identifier);
	}
	u = scan(t.dir);
	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *family = NULL;

		for (size_t k = 0; k < uncore_pmu_count(u); k++)
			if (strcmp(uncore_pmu_name(uncore_pmu_at(u, k)), cases[i].pmu) == 0)
				family = uncore_pmu_family(uncore_pmu_at(u, k));
		if (!cases[i].family)
			assert_null(family);
		else
			assert_string_equal(family, cases[i].family);
	}
	uncore_free(u);
	tree_remove(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fabric_pcie_and_links_of_grace),
		cmocka_unit_test(link_between_two_sockets_of_grace),
		cmocka_unit_test(grace_without_its_driver),
		cmocka_unit_test(names_that_begin_alike),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
