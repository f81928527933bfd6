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
	LINK_EVENTS("link.c2c.in"),
	{"link.c2c.in.remote.bandwidth", "total_bytes_rem / seconds", {{"total_bytes_rem", 5}}},
	CELLS("matrix.gpu.memory", "rd_bytes_loc", 0, "wr_bytes_loc", 2),
	CELLS("matrix.gpu.remote", "rd_bytes_rem", 1, "wr_bytes_rem", 3),
	CLOCK("link.c2c.clock.frequency", CYCLES),
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
	{"memory.read.request.rate",
	 "cmem_rd_access / cycles",
	 {{"cmem_rd_access", 0x1a6}, {"cycles", CYCLES}}},
	{"memory.write.request.rate",
	 "(cmem_wr_access + cmem_wb_access) / cycles",
	 {{"cmem_wr_access", 0x1ca}, {"cmem_wb_access", 0x1ac}, {"cycles", CYCLES}}},
	{"memory.gpu.read.bandwidth", "gmem_rd_data * 32 / seconds", {{"gmem_rd_data", 0x16d}}},
	{"memory.gpu.write.bandwidth",
	 "gmem_wr_total_bytes / seconds",
	 {{"gmem_wr_total_bytes", 0x1a0}}},
	READ_LATENCY("memory.gpu.read.latency", "gmem", 0x16f, 0x16e),
	{"memory.gpu.read.request.rate",
	 "gmem_rd_access / cycles",
	 {{"gmem_rd_access", 0x16e}, {"cycles", CYCLES}}},
	{"memory.gpu.write.request.rate",
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
	{"cache.request.rate", "scf_cache / cycles", {{"scf_cache", 0xf2}, {"cycles", CYCLES}}},
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

/* The tree of Grace has no CNVLink. It is found by its terms, too. */
static void link_between_two_sockets_of_grace(void **state)
{
	struct uncore *u;
	struct tree t;

	(void)state;
	tree_make(&t);
	machine_cpus(&t, (const int[]){0}, 1);
	tree_pmu(&t, "nvidia_cnvlink_pmu_0", "type", "30\n");
	tree_pmu(&t, "nvidia_cnvlink_pmu_0", "cpumask", "0\n");
	tree_pmu(&t, "nvidia_cnvlink_pmu_0", "format/event", "config:0-32\n");
	tree_pmu(&t, "nvidia_cnvlink_pmu_0", "format/rem_socket", "config1:0-3\n");
	u = scan(t.dir);
	assert_family(u, "nvidia-grace-cnvlink", 1, grace_cnvlink, COUNT(grace_cnvlink));
	uncore_free(u);
	tree_remove(&t);
}

/* ---- both ------------------------------------------------------------------------------------- */

/* nvidia_pcie_pmu_0 is Grace's, nvidia_pcie_pmu_0_rc_4 is Tegra410's: other events. */
static void names_that_begin_alike(void **state)
{
	static const struct {
		const char *pmu, *family;
	} cases[] = {
		{"nvidia_pcie_pmu_0", "nvidia-grace-pcie"},
		{"nvidia_pcie_pmu_1", "nvidia-grace-pcie"},
		{"nvidia_pcie_pmu_0_rc_0", "nvidia-t410-pcie"},
		{"nvidia_pcie_pmu_1_rc_11", "nvidia-t410-pcie"},
		{"nvidia_pcie_tgt_pmu_1_rc_11", "nvidia-t410-pcie-tgt"},
		{"nvidia_nvlink_c2c_pmu_1", "nvidia-t410-nvlink-c2c"},
		{"nvidia_nvlink_c2c0_pmu_1", "nvidia-grace-c2c"},
		{"nvidia_nvlink_c2c1_pmu_1", "nvidia-grace-c2c"},
		{"nvidia_nvclink_pmu_1", "nvidia-t410-nvclink"},
		{"nvidia_cnvlink_pmu_1", "nvidia-grace-cnvlink"},
		{"nvidia_nvdlink_pmu_1", "nvidia-t410-nvdlink"},
		{"nvidia_scf_pmu_1", "nvidia-grace-scf"},
		{"nvidia_ucf_pmu_1", "nvidia-t410-ucf"},
		{"nvidia_pcie_pmu_0_rp_0", NULL},
		{"nvidia_pcie_pmu_rc_0", NULL},
		{"nvidia_nvlink_c2c2_pmu_0", NULL},
	};
	struct uncore *u;
	struct tree t;

	(void)state;
	tree_make(&t);
	machine_cpus(&t, (const int[]){0}, 1);
	for (size_t i = 0; i < COUNT(cases); i++)
		machine_pmu(&t, cases[i].pmu, "30\n", "0\n");
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

/* What is used where the kernel has no alias must be what its alias is where it has one. */
static void terms_are_the_aliases(void **state)
{
	static const char *const machines[] = {"nvidia-t410-1socket", "nvidia-grace-1socket"};
	size_t compared = 0;

	(void)state;
	for (size_t i = 0; i < COUNT(machines); i++) {
		struct uncore *u = scan_fixture(machines[i]);

		for (size_t f = 0; f < u->catalogue.family_count; f++) {
			const struct unc_family *family = u->catalogue.families[f];

			for (size_t k = 0; family->pmu_count && k < family->event_count; k++) {
				const struct unc_event_def *event = &family->events[k];
				struct unc_encoding alias, terms;

				if (!event->terms || !event->alias)
					continue;
				assert_non_null(unc_pmu_alias(family->pmus[0], event->alias));
				assert_int_equal(unc_pmu_encode(family->pmus[0], event->alias,
								&alias, NULL),
						 0);
				assert_int_equal(unc_pmu_encode(family->pmus[0], event->terms,
								&terms, NULL),
						 0);
				assert_memory_equal(&alias.config, &terms.config,
						    sizeof(alias.config));
				compared++;
			}
		}
		uncore_free(u);
	}
	assert_true(compared >= 80);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fabric_pcie_and_links_of_grace),
		cmocka_unit_test(link_between_two_sockets_of_grace),
		cmocka_unit_test(names_that_begin_alike),
		cmocka_unit_test(terms_are_the_aliases),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
