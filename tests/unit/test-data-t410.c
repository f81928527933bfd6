/* SPDX-License-Identifier: MIT */
/*
 * The families of NVIDIA Tegra410. The configuration words were written from the event tables of
 * the drivers (nvidia_cspmu.c, nvidia_t410_cmem_latency_pmu.c, nvidia_t410_c2c_pmu.c), the formulas
 * from nvidia-tegra410-pmu.rst.
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

/* ---- fabric and memory --------------------------------------------------------------------------- */

static const struct expected ucf[] = {
	{"memory.read.bandwidth", "mem_bytes_rd / seconds", {{"mem_bytes_rd", 0x123}}},
	{"memory.write.bandwidth", "mem_bytes_wr / seconds", {{"mem_bytes_wr", 0x124}}},
	{"memory.bandwidth",
	 "(mem_bytes_rd + mem_bytes_wr) / seconds",
	 {{"mem_bytes_rd", 0x123}, {"mem_bytes_wr", 0x124}}},
	{"memory.read.requests.per.cycle",
	 "mem_access_rd / cycles",
	 {{"mem_access_rd", 0x121}, {"cycles", CYCLES}}},
	{"memory.write.requests.per.cycle",
	 "mem_access_wr / cycles",
	 {{"mem_access_wr", 0x122}, {"cycles", CYCLES}}},
	{"cache.read.bandwidth", "slc_bytes_rd / seconds", {{"slc_bytes_rd", 0x113}}},
	{"cache.write.bandwidth", "slc_bytes_wr / seconds", {{"slc_bytes_wr", 0x114}}},
	{"cache.read.requests.per.cycle",
	 "slc_access_rd / cycles",
	 {{"slc_access_rd", 0x111}, {"cycles", CYCLES}}},
	{"cache.write.requests.per.cycle",
	 "slc_access_wr / cycles",
	 {{"slc_access_wr", 0x112}, {"cycles", CYCLES}}},
	{"cache.hit.ratio",
	 "slc_hit_rd / slc_access_rd",
	 {{"slc_hit_rd", 0x119}, {"slc_access_rd", 0x111}}},
	{"fabric.clock.frequency", "cycles / source_count(cycles) / seconds", {{"cycles", CYCLES}}},
	{"cache.refills",
	 "(slc_refill_rd + slc_refill_wr) / seconds",
	 {{"slc_refill_rd", 0x109}, {"slc_refill_wr", 0x10a}}},
	{"cache.read.refills", "slc_refill_rd / seconds", {{"slc_refill_rd", 0x109}}},
	{"cache.write.refills", "slc_refill_wr / seconds", {{"slc_refill_wr", 0x10a}}},
	{"cache.allocations", "slc_allocate / seconds", {{"slc_allocate", 0xf0}}},
	{"cache.writebacks", "slc_wb / seconds", {{"slc_wb", 0xf3}}},
	{"cache.dataless.requests",
	 "slc_access_dataless / seconds",
	 {{"slc_access_dataless", 0x183}}},
	{"cache.atomic.requests", "slc_access_atomic / seconds", {{"slc_access_atomic", 0x184}}},
	{"cache.snoop.local.requests", "local_snoop / seconds", {{"local_snoop", 0x180}}},
	{"cache.snoop.external.accesses", "ext_snp_access / seconds", {{"ext_snp_access", 0x181}}},
	{"cache.snoop.external.evictions", "ext_snp_evict / seconds", {{"ext_snp_evict", 0x182}}},
	{"fabric.bus.clock.frequency",
	 "bus_cycles / source_count(bus_cycles) / seconds",
	 {{"bus_cycles", 0x1d}}},
};

static const struct expected cmem[] = {
	{"memory.read.latency",
	 "rd_cum_outs / rd_req * source_count(cycles) * seconds / cycles",
	 {{"rd_cum_outs", 2}, {"rd_req", 1}, {"cycles", 0}}},
	{"memory.read.latency.cycles", "rd_cum_outs / rd_req", {{"rd_cum_outs", 2}, {"rd_req", 1}}},
	{"memory.dram.read.bandwidth", "rd_req * 32 / seconds", {{"rd_req", 1}}},
};

/* Bits of config1: sources in 0 to 2, destinations in 8 to 11. */
static const struct {
	const char *name;
	uint64_t bit;
} sources[] = {{"cpu", 1 << 1}, {"device", 1 << 0}, {"remote", 1 << 2}},
  destinations[] = {{"memory", 1 << 8}, {"gpu", 1 << 9}, {"cxl", 1 << 10}, {"remote", 1 << 11}};

#define CELLS (2 * COUNT(sources) * COUNT(destinations))

static void assert_cell(const struct uncore *u, bool read, size_t source, size_t destination)
{
	const struct uncore_metric_event *event;
	const struct uncore_metric *m;
	char name[80], formula[80];

	snprintf(name, sizeof(name), "matrix.%s.%s.%s.bandwidth", sources[source].name,
		 destinations[destination].name, read ? "read" : "write");
	snprintf(formula, sizeof(formula), "%s_%s_%s / seconds", read ? "rd" : "wr",
		 sources[source].name, destinations[destination].name);
	m = find(u, "nvidia-t410-ucf", name);
	assert_null(uncore_metric_missing(m));
	assert_string_equal(uncore_metric_formula(m), formula);
	assert_int_equal(uncore_metric_event_count(m), 1);
	event = uncore_metric_event_at(m, 0);
	assert_int_equal(event->config[0], read ? 0x123 : 0x124);
	assert_int_equal(event->config[1], sources[source].bit | destinations[destination].bit);
	assert_int_equal(event->config[2], 0);
}

/* mem_bytes_rd and mem_bytes_wr with a source and a destination, each with each. */
static void matrix_of_t410(void **state)
{
	struct uncore *u = scan_fixture("nvidia-t410-1socket");

	(void)state;
	for (size_t s = 0; s < COUNT(sources); s++)
		for (size_t d = 0; d < COUNT(destinations); d++) {
			assert_cell(u, true, s, d);
			assert_cell(u, false, s, d);
		}
	uncore_free(u);
}

static void fabric_and_memory_latency_of_t410(void **state)
{
	struct uncore *u = scan_fixture("nvidia-t410-1socket");

	(void)state;
	assert_int_equal(metrics_here(u, "nvidia-t410-ucf"), COUNT(ucf) + CELLS);
	for (size_t i = 0; i < COUNT(ucf); i++)
		assert_metric(u, "nvidia-t410-ucf", 1, &ucf[i]);
	assert_family(u, "nvidia-t410-cmem", 1, cmem, COUNT(cmem));
	uncore_free(u);
}

/* ---- PCIe and links ------------------------------------------------------------------------------- */

static const struct expected pcie[] = {
	{"pcie.inbound.read.bandwidth", "rd_bytes / seconds", {{"rd_bytes", 0}}},
	{"pcie.inbound.write.bandwidth", "wr_bytes / seconds", {{"wr_bytes", 1}}},
	{"pcie.inbound.bandwidth",
	 "(rd_bytes + wr_bytes) / seconds",
	 {{"rd_bytes", 0}, {"wr_bytes", 1}}},
	{"pcie.inbound.read.requests", "rd_req / seconds", {{"rd_req", 2}}},
	{"pcie.inbound.write.requests", "wr_req / seconds", {{"wr_req", 3}}},
	{"pcie.inbound.read.requests.per.cycle",
	 "rd_req / cycles",
	 {{"rd_req", 2}, {"cycles", CYCLES}}},
	{"pcie.inbound.write.requests.per.cycle",
	 "wr_req / cycles",
	 {{"wr_req", 3}, {"cycles", CYCLES}}},
	{"pcie.inbound.read.latency",
	 "rd_cum_outs / rd_req * source_count(cycles) * seconds / cycles",
	 {{"rd_cum_outs", 4}, {"rd_req", 2}, {"cycles", CYCLES}}},
	{"pcie.inbound.read.latency.cycles",
	 "rd_cum_outs / rd_req",
	 {{"rd_cum_outs", 4}, {"rd_req", 2}}},
	{"pcie.clock.frequency", "cycles / source_count(cycles) / seconds", {{"cycles", CYCLES}}},
};

/* Here the cycles are event 4. */
static const struct expected pcie_tgt[] = {
	{"pcie.outbound.read.bandwidth", "rd_bytes / seconds", {{"rd_bytes", 0}}},
	{"pcie.outbound.write.bandwidth", "wr_bytes / seconds", {{"wr_bytes", 1}}},
	{"pcie.outbound.bandwidth",
	 "(rd_bytes + wr_bytes) / seconds",
	 {{"rd_bytes", 0}, {"wr_bytes", 1}}},
	{"pcie.outbound.read.requests", "rd_req / seconds", {{"rd_req", 2}}},
	{"pcie.outbound.write.requests", "wr_req / seconds", {{"wr_req", 3}}},
	{"pcie.outbound.read.requests.per.cycle",
	 "rd_req / cycles",
	 {{"rd_req", 2}, {"cycles", 4}}},
	{"pcie.outbound.write.requests.per.cycle",
	 "wr_req / cycles",
	 {{"wr_req", 3}, {"cycles", 4}}},
};

#define LATENCY(name, what, outstanding, requests)                                               \
	{                                                                                        \
		name, what "_cum_outs / " what "_req * source_count(cycles) * seconds / cycles", \
		{                                                                                \
			{what "_cum_outs", outstanding}, {what "_req", requests},                \
			{                                                                        \
				"cycles", 0                                                      \
			}                                                                        \
		}                                                                                \
	}

#define LATENCY_CYCLES(name, what, outstanding, requests)        \
	{                                                        \
		name ".cycles", what "_cum_outs / " what "_req", \
		{                                                \
			{what "_cum_outs", outstanding},         \
			{                                        \
				what "_req", requests            \
			}                                        \
		}                                                \
	}

#define REQUESTS(name, what, requests)                \
	{                                             \
		name, what "_req / seconds",          \
		{                                     \
			{                             \
				what "_req", requests \
			}                             \
		}                                     \
	}

#define CLOCK(name, code)                                        \
	{                                                        \
		name, "cycles / source_count(cycles) / seconds", \
		{                                                \
			{                                        \
				"cycles", code                   \
			}                                        \
		}                                                \
	}

/* Writes only where a GPU is connected. */
#define LINK(p)                                                                              \
	LATENCY(p "in.read.latency", "in_rd", 1, 2),                                         \
		LATENCY_CYCLES(p "in.read.latency", "in_rd", 1, 2),                          \
		LATENCY(p "out.read.latency", "out_rd", 5, 6),                               \
		LATENCY_CYCLES(p "out.read.latency", "out_rd", 5, 6),                        \
		REQUESTS(p "in.read.requests", "in_rd", 2),                                  \
		REQUESTS(p "out.read.requests", "out_rd", 6), CLOCK(p "clock.frequency", 0), \
		LATENCY(p "in.write.latency", "in_wr", 3, 4),                                \
		LATENCY_CYCLES(p "in.write.latency", "in_wr", 3, 4),                         \
		LATENCY(p "out.write.latency", "out_wr", 7, 8),                              \
		LATENCY_CYCLES(p "out.write.latency", "out_wr", 7, 8),                       \
		REQUESTS(p "in.write.requests", "in_wr", 4),                                 \
		REQUESTS(p "out.write.requests", "out_wr", 8)

static const struct expected nvlink_c2c[] = {LINK("link.")};
static const struct expected nvclink[] = {LINK("link.")};

#define READS_ONLY 7

static const struct expected nvdlink[] = {
	LATENCY("memory.cxl.read.latency", "in_rd", 1, 2),
	LATENCY_CYCLES("memory.cxl.read.latency", "in_rd", 1, 2),
	REQUESTS("memory.cxl.read.requests", "in_rd", 2),
	CLOCK("link.cxl.clock.frequency", 0),
};

static void pcie_and_links_of_t410(void **state)
{
	struct uncore *u = scan_fixture("nvidia-t410-1socket");

	(void)state;
	assert_family(u, "nvidia-t410-pcie", 6, pcie, COUNT(pcie));
	assert_family(u, "nvidia-t410-pcie-tgt", 6, pcie_tgt, COUNT(pcie_tgt));
	assert_family(u, "nvidia-t410-nvlink-c2c", 1, nvlink_c2c, COUNT(nvlink_c2c));
	assert_family(u, "nvidia-t410-nvdlink", 1, nvdlink, COUNT(nvdlink));
	assert_family(u, "nvidia-t410-nvclink", 0, NULL, 0);
	uncore_free(u);
}

/* A link of the Tegra410 as its driver registers it when another CPU, or GPUs, are connected. */
static void put_link(const struct tree *t, const char *pmu, bool gpu)
{
	static const char *const events[] = {"cycles",         "in_rd_cum_outs",  "in_rd_req",
					     "in_wr_cum_outs", "in_wr_req",       "out_rd_cum_outs",
					     "out_rd_req",     "out_wr_cum_outs", "out_wr_req"};

	tree_pmu(t, pmu, "type", "30\n");
	tree_pmu(t, pmu, "cpumask", "0\n");
	tree_pmu(t, pmu, "peer", gpu ? "nr_gpu=2\n" : "nr_cpu=1\n");
	tree_pmu(t, pmu, "format/event", "config:0-3\n");
	if (gpu)
		tree_pmu(t, pmu, "format/gpu_mask", "config1:0-1\n");
	for (size_t i = 0; i < COUNT(events); i++) {
		char path[64], text[32];

		if (!gpu && strstr(events[i], "_wr_"))
			continue;
		snprintf(path, sizeof(path), "events/%s", events[i]);
		snprintf(text, sizeof(text), "event=0x%zx\n", i);
		tree_pmu(t, pmu, path, text);
	}
}

/* No bandwidth, and no writes between CPUs: the driver would take the numbers of the events that it
 * hides. */
static void links_to_another_socket_and_to_gpus(void **state)
{
	(void)state;
	for (int gpu = 0; gpu < 2; gpu++) {
		struct uncore *u;
		struct tree t;

		tree_make(&t);
		machine_cpus(&t, (const int[]){0}, 1);
		put_link(&t, "nvidia_nvclink_pmu_0", gpu);
		put_link(&t, "nvidia_nvlink_c2c_pmu_0", gpu);
		u = scan(t.dir);
		assert_family(u, "nvidia-t410-nvclink", 1, nvclink,
			      gpu ? COUNT(nvclink) : READS_ONLY);
		assert_family(u, "nvidia-t410-nvlink-c2c", 1, nvlink_c2c,
			      gpu ? COUNT(nvlink_c2c) : READS_ONLY);
		if (!gpu) {
			assert_contains(uncore_metric_missing(find(u, "nvidia-t410-nvlink-c2c",
								   "link.in.write.latency")),
					"nvidia_nvlink_c2c_pmu_0 does not have the event "
					"'in_wr_cum_outs'");
			assert_contains(uncore_metric_missing(find(u, "nvidia-t410-nvclink",
								   "link.out.write.requests")),
					"nvidia_nvclink_pmu_0 does not have the event "
					"'out_wr_req'");
		}
		uncore_free(u);
		tree_remove(&t);
	}
}

/* A refusal offers the filters that this PMU has. */
static void a_link_to_a_socket_has_no_filter_of_gpus(void **state)
{
	(void)state;
	for (int gpu = 0; gpu < 2; gpu++) {
		struct uncore_monitor *m;
		struct uncore *u;
		struct tree t;

		tree_make(&t);
		machine_cpus(&t, (const int[]){0}, 1);
		put_link(&t, "nvidia_nvclink_pmu_0", gpu);
		u = scan(t.dir);
		assert_int_equal(uncore_monitor_new(&m, u), 0);
		assert_int_equal(uncore_monitor_set_filter(m, "from", "cpu"), 0);
		assert_int_equal(uncore_monitor_add_metrics(m, "link.in.read.requests"), -ENODEV);
		assert_contains(uncore_error(u),
				gpu ? "nvclink cannot be restricted by 'from'; they can by gpu"
				    : "nvclink cannot be restricted by 'from'");
		if (!gpu)
			assert_null(strstr(uncore_error(u), "they can by"));
		uncore_monitor_free(m);
		uncore_free(u);
		tree_remove(&t);
	}
}

/* The driver takes the bits of GPUs that are not there, and counts the first. */
static void gpus_that_the_link_does_not_have(void **state)
{
	static const struct {
		const char *peer, *gpu, *sentence;
	} all[] = {
		{"nr_gpu=1\n", "0", NULL},
		{"nr_gpu=1\n", "1", "GPU 1: the link of nvidia_nvlink_c2c_pmu_0 has one GPU, 0"},
		{"nr_gpu=1\n", "0,1", "GPU 1: the link of nvidia_nvlink_c2c_pmu_0 has one GPU, 0"},
		{"nr_gpu=2\n", "1", NULL},
		{"nr_cpu=1\n", "0",
		 "GPU 0: the link of nvidia_nvlink_c2c_pmu_0 has no GPU at its other end, but CPU "
		 "socket"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(all); i++) {
		struct uncore_monitor *m;
		struct uncore *u;
		struct tree t;
		char event[80];
		int r;

		tree_make(&t);
		machine_cpus(&t, (const int[]){0}, 1);
		put_link(&t, "nvidia_nvlink_c2c_pmu_0", true);
		tree_pmu(&t, "nvidia_nvlink_c2c_pmu_0", "peer", all[i].peer);
		u = scan(t.dir);
		assert_int_equal(uncore_monitor_new(&m, u), 0);
		assert_int_equal(uncore_monitor_set_filter(m, "gpu", all[i].gpu), 0);
		r = uncore_monitor_add_metrics(m, "link.in.read.requests");
		assert_int_equal(r, all[i].sentence ? -ENODEV : 0);
		if (all[i].sentence)
			assert_contains(uncore_error(u), all[i].sentence);
		uncore_monitor_free(m);
		/* The same by the driver's term, which is bit 0 for GPU 0. */
		snprintf(event, sizeof(event), "nvidia_nvlink_c2c_pmu_0/in_rd_req,gpu_mask=%d/",
			 strcmp(all[i].gpu, "0") == 0 ? 1 : 2);
		assert_int_equal(uncore_monitor_new(&m, u), 0);
		assert_int_equal(uncore_monitor_add_events(m, event), 0);
		r = uncore_monitor_plan(m);
		assert_int_equal(r, all[i].sentence ? -EINVAL : 0);
		if (all[i].sentence)
			assert_contains(uncore_error(u), all[i].sentence);
		uncore_monitor_free(m);
		uncore_free(u);
		tree_remove(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fabric_and_memory_latency_of_t410),
		cmocka_unit_test(matrix_of_t410),
		cmocka_unit_test(pcie_and_links_of_t410),
		cmocka_unit_test(links_to_another_socket_and_to_gpus),
		cmocka_unit_test(a_link_to_a_socket_has_no_filter_of_gpus),
		cmocka_unit_test(gpus_that_the_link_does_not_have),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
