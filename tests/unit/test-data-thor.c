/* SPDX-License-Identifier: MIT */
/*
 * The families of NVIDIA Jetson Thor. Event numbers and positions of filters were written from the tables of
 * the driver in NVIDIA's Jetson kernel (drivers/perf/arm_cspmu/nvidia_cspmu.c: ucf_pmu_event_attrs,
 * mcf_pmu_event_attrs, display_pmu_event_attrs, ucf_gpu_pmu_event_attrs and the format attributes), the
 * meaning of sources, targets and ports from its Documentation/admin-guide/perf/nvidia-pmu.rst.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data.h"

#define CYCLES UINT64_C(0x100000000) /* bit 32: the cycle counter of a CoreSight PMU */
#define UCF "nvidia-thor-ucf"
#define IO "nvidia-thor-io"
#define VISION "nvidia-thor-vision"
#define DISPLAY "nvidia-thor-display"
#define GPU "nvidia-thor-gpu"
#define TIME " * source_count(cycles) * seconds / cycles"
#define CLOCK "cycles / source_count(cycles) / seconds"
#define CPU_TO_DRAM (1 << 1 | 1 << 3)    /* src_loc_cpu, dst_loc */
#define DEVICE_TO_DRAM (1 << 0 | 1 << 3) /* src_loc_noncpu, dst_loc */
#define ROOT_PORTS 0x1f                  /* pcie_rp_1 to pcie_rp_5 */

struct thor {
	const char *family, *name, *formula;
	struct {
		const char *name;
		uint64_t config, filter;
	} events[6]; /* in the order of the formula */
};

/* What all controllers or units of a PMU move, to this socket's memory and to others'. */
#define CLIENTS(family, who, clock)                                                      \
	{family,                                                                         \
	 "memory.from." who ".read.bandwidth",                                           \
	 "(rd_bytes_loc + rd_bytes_rem) / seconds",                                      \
	 {{"rd_bytes_loc", 0x0, 0}, {"rd_bytes_rem", 0x1, 0}}},                          \
		{family,                                                                 \
		 "memory.from." who ".write.bandwidth",                                  \
		 "(wr_bytes_loc + wr_bytes_rem) / seconds",                              \
		 {{"wr_bytes_loc", 0x2, 0}, {"wr_bytes_rem", 0x3, 0}}},                  \
		{family,                                                                 \
		 "memory.from." who ".bandwidth",                                        \
		 "(total_bytes_loc + total_bytes_rem) / seconds",                        \
		 {{"total_bytes_loc", 0x4, 0}, {"total_bytes_rem", 0x5, 0}}},            \
		{family,                                                                 \
		 "memory.from." who ".read.requests",                                    \
		 "(rd_req_loc + rd_req_rem) / seconds",                                  \
		 {{"rd_req_loc", 0x6, 0}, {"rd_req_rem", 0x7, 0}}},                      \
		{family,                                                                 \
		 "memory.from." who ".write.requests",                                   \
		 "(wr_req_loc + wr_req_rem) / seconds",                                  \
		 {{"wr_req_loc", 0x8, 0}, {"wr_req_rem", 0x9, 0}}},                      \
		{family,                                                                 \
		 "memory.from." who ".requests",                                         \
		 "(total_req_loc + total_req_rem) / seconds",                            \
		 {{"total_req_loc", 0xa, 0}, {"total_req_rem", 0xb, 0}}},                \
		{family,                                                                 \
		 "memory.from." who ".read.latency",                                     \
		 "(rd_cum_outs_loc + rd_cum_outs_rem) / (rd_req_loc + rd_req_rem)" TIME, \
		 {{"rd_cum_outs_loc", 0xc, 0},                                           \
		  {"rd_cum_outs_rem", 0xd, 0},                                           \
		  {"rd_req_loc", 0x6, 0},                                                \
		  {"rd_req_rem", 0x7, 0},                                                \
		  {"cycles", CYCLES, 0}}},                                               \
	{                                                                                \
		family, clock, CLOCK,                                                    \
		{                                                                        \
			{                                                                \
				"cycles", CYCLES, 0                                      \
			}                                                                \
		}                                                                        \
	}

/* Both halves of an event of the root ports, over time. */
#define PORTS(name, what, loc, rem)                                                            \
	{                                                                                      \
		IO, "pcie.inbound." name, "(pcie_" what "_loc + pcie_" what "_rem) / seconds", \
		{                                                                              \
			{"pcie_" what "_loc", loc, ROOT_PORTS},                                \
			{                                                                      \
				"pcie_" what "_rem", rem, ROOT_PORTS                           \
			}                                                                      \
		}                                                                              \
	}

#define RATE(name, event, code)                \
	{                                      \
		UCF, name, event " / seconds", \
		{                              \
			{                      \
				event, code, 0 \
			}                      \
		}                              \
	}

#define CELL(name, event, code, filter)             \
	{                                           \
		UCF, name, event " / seconds",      \
		{                                   \
			{                           \
				event, code, filter \
			}                           \
		}                                   \
	}

static const struct thor all[] = {
	RATE("memory.read.bandwidth", "local_dram_byte_rd", 0x123),
	RATE("memory.write.bandwidth", "local_dram_byte_wr", 0x124),
	{UCF,
	 "memory.bandwidth",
	 "(local_dram_byte_rd + local_dram_byte_wr) / seconds",
	 {{"local_dram_byte_rd", 0x123, 0}, {"local_dram_byte_wr", 0x124, 0}}},
	{UCF,
	 "memory.read.requests.per.cycle",
	 "local_dram_access_rd / cycles",
	 {{"local_dram_access_rd", 0x121, 0}, {"cycles", CYCLES, 0}}},
	{UCF,
	 "memory.write.requests.per.cycle",
	 "local_dram_access_wr / cycles",
	 {{"local_dram_access_wr", 0x122, 0}, {"cycles", CYCLES, 0}}},
	RATE("fabric.read.bandwidth", "any_byte_rd", 0x113),
	RATE("fabric.write.bandwidth", "any_byte_wr", 0x114),
	{UCF,
	 "fabric.read.latency",
	 "any_outstanding_rd / any_access_rd" TIME,
	 {{"any_outstanding_rd", 0x115, 0}, {"any_access_rd", 0x111, 0}, {"cycles", CYCLES, 0}}},
	RATE("mmio.read.bandwidth", "mmio_byte_rd", 0x133),
	RATE("mmio.write.bandwidth", "mmio_byte_wr", 0x134),
	{UCF,
	 "mmio.read.latency",
	 "mmio_outstanding_rd / mmio_access_rd" TIME,
	 {{"mmio_outstanding_rd", 0x135, 0}, {"mmio_access_rd", 0x131, 0}, {"cycles", CYCLES, 0}}},
	{UCF,
	 "cache.hit.ratio",
	 "slc_hit_rd / slc_access_rd",
	 {{"slc_hit_rd", 0x119, 0}, {"slc_access_rd", 0x111, 0}}},
	RATE("cache.refills", "slc_refill", 0xf1),
	RATE("cache.read.refills", "slc_refill_rd", 0x109),
	RATE("cache.write.refills", "slc_refill_wr", 0x10a),
	RATE("cache.allocations", "slc_allocate", 0xf0),
	RATE("cache.writebacks", "slc_wb", 0xf3),
	RATE("cache.dataless.requests", "slc_access_dataless", 0x183),
	RATE("cache.atomic.requests", "slc_access_atomic", 0x184),
	RATE("cache.snoop.local.requests", "local_snoop", 0x180),
	RATE("cache.snoop.external.accesses", "ext_snp_access", 0x181),
	RATE("cache.snoop.external.evictions", "ext_snp_evict", 0x182),
	{UCF, "fabric.clock.frequency", CLOCK, {{"cycles", CYCLES, 0}}},
	{UCF,
	 "fabric.bus.clock.frequency",
	 "ucf_bus_cycles / source_count(ucf_bus_cycles) / seconds",
	 {{"ucf_bus_cycles", 0x1d, 0}}},
	CELL("matrix.cpu.memory.read.bandwidth", "rd_cpu_memory", 0x123, CPU_TO_DRAM),
	CELL("matrix.device.memory.read.bandwidth", "rd_device_memory", 0x123, DEVICE_TO_DRAM),
	CELL("matrix.cpu.memory.write.bandwidth", "wr_cpu_memory", 0x124, CPU_TO_DRAM),
	CELL("matrix.device.memory.write.bandwidth", "wr_device_memory", 0x124, DEVICE_TO_DRAM),

	PORTS("read.bandwidth", "rd_bytes", 0x0, 0x1),
	PORTS("write.bandwidth", "wr_bytes", 0x2, 0x3),
	PORTS("read.requests", "rd_req", 0x6, 0x7),
	PORTS("write.requests", "wr_req", 0x8, 0x9),
	{IO,
	 "pcie.inbound.read.latency",
	 "(pcie_rd_cum_outs_loc + pcie_rd_cum_outs_rem) / (pcie_rd_req_loc + pcie_rd_req_rem)" TIME,
	 {{"pcie_rd_cum_outs_loc", 0xc, ROOT_PORTS},
	  {"pcie_rd_cum_outs_rem", 0xd, ROOT_PORTS},
	  {"pcie_rd_req_loc", 0x6, ROOT_PORTS},
	  {"pcie_rd_req_rem", 0x7, ROOT_PORTS},
	  {"cycles", CYCLES, 0}}},
	CLIENTS(IO, "io", "fabric.io.clock.frequency"),

	CLIENTS(VISION, "vision", "fabric.vision.clock.frequency"),

	{DISPLAY,
	 "memory.from.display.read.bandwidth",
	 "rd_bytes_loc / seconds",
	 {{"rd_bytes_loc", 0x0, 0}}},
	{DISPLAY,
	 "memory.from.display.read.requests",
	 "rd_req_loc / seconds",
	 {{"rd_req_loc", 0x6, 0}}},
	{DISPLAY,
	 "memory.from.display.read.latency",
	 "rd_cum_outs_loc / rd_req_loc" TIME,
	 {{"rd_cum_outs_loc", 0xc, 0}, {"rd_req_loc", 0x6, 0}, {"cycles", CYCLES, 0}}},
	{DISPLAY, "fabric.display.clock.frequency", CLOCK, {{"cycles", CYCLES, 0}}},

	{GPU,
	 "memory.from.gpu.read.bandwidth",
	 "rd_bytes_loc_rem / seconds",
	 {{"rd_bytes_loc_rem", 0x0, 0}}},
	{GPU,
	 "memory.from.gpu.write.bandwidth",
	 "(wr_bytes_loc + wr_bytes_rem) / seconds",
	 {{"wr_bytes_loc", 0x2, 0}, {"wr_bytes_rem", 0x3, 0}}},
	{GPU,
	 "memory.from.gpu.read.requests",
	 "rd_req_loc_rem / seconds",
	 {{"rd_req_loc_rem", 0x6, 0}}},
	{GPU,
	 "memory.from.gpu.write.requests",
	 "(wr_req_loc + wr_req_rem) / seconds",
	 {{"wr_req_loc", 0x8, 0}, {"wr_req_rem", 0x9, 0}}},
	{GPU,
	 "memory.from.gpu.read.latency",
	 "rd_cum_outs_loc_rem / rd_req_loc_rem" TIME,
	 {{"rd_cum_outs_loc_rem", 0xc, 0}, {"rd_req_loc_rem", 0x6, 0}, {"cycles", CYCLES, 0}}},
	{GPU, "fabric.gpu.clock.frequency", CLOCK, {{"cycles", CYCLES, 0}}},
};

static void assert_thor(const struct uncore *u, const struct thor *x)
{
	const struct uncore_metric *m = find(u, x->family, x->name);
	size_t count = 0;

	while (count < COUNT(x->events) && x->events[count].name)
		count++;
	assert_null(uncore_metric_missing(m));
	assert_string_equal(uncore_metric_formula(m), x->formula);
	assert_int_equal(uncore_metric_event_count(m), count);
	for (size_t k = 0; k < count; k++) {
		const struct uncore_metric_event *event = uncore_metric_event_at(m, k);

		assert_string_equal(event->name, x->events[k].name);
		if (event->config[0] != x->events[k].config ||
		    event->config[1] != x->events[k].filter || event->config[2])
			fail_msg("%s: %s: 0x%llx 0x%llx", x->name, event->name,
				 (unsigned long long)event->config[0],
				 (unsigned long long)event->config[1]);
		assert_int_equal(event->pmu_count, 1);
	}
}

static void every_metric_of_thor(void **state)
{
	static const char *const families[] = {UCF, IO, VISION, DISPLAY, GPU};
	struct uncore *u = scan_fixture("nvidia-thor");
	size_t here = 0;

	(void)state;
	for (size_t i = 0; i < COUNT(all); i++)
		assert_thor(u, &all[i]);
	for (size_t i = 0; i < COUNT(families); i++)
		here += metrics_here(u, families[i]);
	assert_int_equal(here, COUNT(all));
	uncore_free(u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_metric_of_thor),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
