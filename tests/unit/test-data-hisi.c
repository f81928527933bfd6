/* SPDX-License-Identifier: MIT */
/*
 * The data files of HiSilicon. Configuration words are those of the kernel's drivers
 * (drivers/perf/hisilicon), formulas those of its tables and documents, and of Huawei's libkperf where the
 * files say so; none come from the data files.
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

/* ---- HiSilicon DDRC -------------------------------------------------------------------------- */

/* Bandwidths, with the numbers of each version. */
#define DDRC(rd, wr)                                                                           \
	{"memory.read.bandwidth", "read_flux * 32 / seconds", {{"read_flux", rd}}},            \
		{"memory.write.bandwidth", "write_flux * 32 / seconds", {{"write_flux", wr}}}, \
	{                                                                                      \
		"memory.bandwidth", "(read_flux + write_flux) * 32 / seconds",                 \
		{                                                                              \
			{"read_flux", rd},                                                     \
			{                                                                      \
				"write_flux", wr                                               \
			}                                                                      \
		}                                                                              \
	}

static const struct expected ddrc_v1[] = {
	DDRC(0x01, 0x00),
	RATE("memory.read.requests", "read_commands", 0x03),
	RATE("memory.write.requests", "write_commands", 0x02),
	RATE("dram.activate.rate", "activates", 0x05),
};

static const struct expected ddrc_v2[] = {
	DDRC(0x84, 0x83),
	CLOCK("memory.controller.clock.frequency", 0x00),
};

static void hisilicon_controllers(void **state)
{
	(void)state;
	assert_on("hisilicon-hip08", "hisi-ddrc", 2, ddrc_v1, COUNT(ddrc_v1));
	assert_on("hisilicon-hip09", "hisi-ddrc", 2, ddrc_v2, COUNT(ddrc_v2));
}

/* ---- HiSilicon HHA --------------------------------------------------------------------------- */

#define HHA                                                         \
	RATE("fabric.home.requests", "requests", 0x00),             \
		{"fabric.home.remote.ratio",                        \
		 "remote_requests / requests",                      \
		 {{"remote_requests", 0x01}, {"requests", 0x00}}},  \
	{                                                           \
		"fabric.home.die.ratio", "die_requests / requests", \
		{                                                   \
			{"die_requests", 0x02},                     \
			{                                           \
				"requests", 0x00                    \
			}                                           \
		}                                                   \
	}

static const struct expected hha_v1[] = {
	HHA,
	{"fabric.memory.read.bandwidth",
	 "(reads_64 * 64 + reads_128 * 128) / seconds",
	 {{"reads_64", 0x1c}, {"reads_128", 0x1e}}},
	{"fabric.memory.write.bandwidth",
	 "(writes_64 * 64 + writes_128 * 128) / seconds",
	 {{"writes_64", 0x1d}, {"writes_128", 0x1f}}},
};

static const struct expected hha_v2[] = {
	HHA,
	CLOCK("fabric.home.clock.frequency", 0x55),
};

static void hisilicon_home_agents(void **state)
{
	(void)state;
	assert_on("hisilicon-hip08", "hisi-hha", 1, hha_v1, COUNT(hha_v1));
	assert_on("hisilicon-hip09", "hisi-hha", 1, hha_v2, COUNT(hha_v2));
}

/* ---- HiSilicon L3C --------------------------------------------------------------------------- */

#define LOCAL_HIT_RATIO(rd, rd_hit, wr, wr_hit)                                                \
	{                                                                                      \
		"cache.local.hit.ratio",                                                       \
			"(local_read_hits + local_write_hits) / (local_reads + local_writes)", \
		{                                                                              \
			{"local_read_hits", rd_hit}, {"local_write_hits", wr_hit},             \
				{"local_reads", rd},                                           \
			{                                                                      \
				"local_writes", wr                                             \
			}                                                                      \
		}                                                                              \
	}

static const struct expected l3c_v1[] = {
	{"cache.hit.ratio",
	 "(read_hits + write_hits) / (reads + writes)",
	 {{"read_hits", 0x02}, {"write_hits", 0x03}, {"reads", 0x00}, {"writes", 0x01}}},
	LOCAL_HIT_RATIO(0x20, 0x22, 0x21, 0x23),
};

static const struct expected l3c_v2[] = {
	CLOCK("cache.clock.frequency", 0x7f),
};

static const struct expected l3c_v3[] = {
	LOCAL_HIT_RATIO(0x18, 0x19, 0x1a, 0x1b),
	CLOCK("cache.clock.frequency", 0x7f),
};

static void hisilicon_caches(void **state)
{
	struct uncore *u;
	struct tree t;

	(void)state;
	assert_on("hisilicon-hip08", "hisi-l3c", 1, l3c_v1, COUNT(l3c_v1));
	assert_on("hisilicon-hip09", "hisi-l3c", 1, l3c_v2, COUNT(l3c_v2));
	tree_make(&t);
	machine_cpus(&t, (const int[]){0, 0}, 2);
	tree_pmu(&t, "hisi_sccl0_l3c1_0", "type", "10\n");
	tree_pmu(&t, "hisi_sccl0_l3c1_0", "cpumask", "0\n");
	tree_pmu(&t, "hisi_sccl0_l3c1_0", "identifier", "0x00000040\n");
	tree_pmu(&t, "hisi_sccl0_l3c1_0", "format/event", "config:0-7\n");
	tree_pmu(&t, "hisi_sccl0_l3c1_0", "events/rd_spipe", "config=0x18\n");
	tree_pmu(&t, "hisi_sccl0_l3c1_0", "events/rd_hit_spipe", "config=0x19\n");
	tree_pmu(&t, "hisi_sccl0_l3c1_0", "events/wr_spipe", "config=0x1a\n");
	tree_pmu(&t, "hisi_sccl0_l3c1_0", "events/wr_hit_spipe", "config=0x1b\n");
	tree_pmu(&t, "hisi_sccl0_l3c1_0", "events/cycles", "config=0x7f\n");
	u = scan(t.dir);
	assert_family(u, "hisi-l3c", 1, l3c_v3, COUNT(l3c_v3));
	uncore_free(u);
	tree_remove(&t);
}

/* ---- HiSilicon PA ---------------------------------------------------------------------------- */

static const struct expected pa[] = {
	RATE("link.in.requests", "rx_requests", 0x40),
	RATE("link.out.requests", "tx_requests", 0x5c),
	CLOCK("link.clock.frequency", 0x78),
};

static void hisilicon_protocol_adapters(void **state)
{
	(void)state;
	assert_on("hisilicon-hip09", "hisi-pa", 1, pa, COUNT(pa));
}

/* ---- HiSilicon CPA --------------------------------------------------------------------------- */

static const struct expected cpa[] = {
	{"fabric.port0.bandwidth",
	 "(writes_0 * 64 + reads_0_64 * 64 + reads_0_32 * 32) / seconds",
	 {{"writes_0", 0xe1}, {"reads_0_64", 0x83}, {"reads_0_32", 0x84}}},
	{"fabric.port1.bandwidth",
	 "(writes_1 * 64 + reads_1_64 * 64 + reads_1_32 * 32) / seconds",
	 {{"writes_1", 0x61}, {"reads_1_64", 0x03}, {"reads_1_32", 0x04}}},
	CLOCK("fabric.clock.frequency", 0x00),
};

static void hisilicon_protocol_agents(void **state)
{
	(void)state;
	assert_on("hisilicon-hip09", "hisi-cpa", 1, cpa, COUNT(cpa));
}

/* ---- HiSilicon PCIe: all root ports, payload only (len_mode in bits 10-11 of the second word)  */

#define PAYLOAD(metric, event, config)                         \
	{                                                      \
		metric, event " * 4 / seconds",                \
		{                                              \
			{                                      \
				event, config, 1 << 10, 0xffff \
			}                                      \
		}                                              \
	}

#define PACKETS(metric, event, config)                   \
	{                                                \
		metric, event " / seconds",              \
		{                                        \
			{                                \
				event, config, 0, 0xffff \
			}                                \
		}                                        \
	}

/* The second event of a pair differs in bit 16. */
#define DELAY(metric, delay, packets, config)                          \
	{                                                              \
		metric, delay " * 1e-9 / " packets,                    \
		{                                                      \
			{delay, config, 0, 0xffff},                    \
			{                                              \
				packets, (config) | 1 << 16, 0, 0xffff \
			}                                              \
		}                                                      \
	}

static const struct wide hisi_pcie[] = {
	PAYLOAD("pcie.inbound.read.bandwidth", "device_reads", 0x1005),
	PAYLOAD("pcie.inbound.write.bandwidth", "device_writes", 0x0104),
	PAYLOAD("pcie.outbound.read.bandwidth", "cpu_reads", 0x2004),
	PAYLOAD("pcie.outbound.write.bandwidth", "cpu_writes", 0x0105),
	PACKETS("pcie.inbound.read.requests", "read_packets", 0x10210),
	PACKETS("pcie.inbound.write.requests", "write_packets", 0x10010),
	PACKETS("pcie.outbound.read.requests", "cpu_read_packets", 0x10011),
	DELAY("pcie.inbound.read.latency", "read_delay", "read_packets", 0x0210),
	DELAY("pcie.inbound.write.latency", "write_delay", "write_packets", 0x0010),
	DELAY("pcie.outbound.read.latency", "cpu_read_delay", "cpu_read_packets", 0x0011),
};

/* What the driver refuses as EINVAL, or leaves out without a word, has a sentence. */
static void assert_refused(struct uncore *u, const char *event, const char *words)
{
	struct uncore_monitor *m;

	assert_int_equal(uncore_monitor_new(&m, u), 0);
	assert_int_equal(uncore_monitor_add_events(m, event), 0);
	assert_true(uncore_monitor_open(m) < 0);
	assert_contains(uncore_error(u), words);
	uncore_monitor_free(m);
}

/* One device: the filter by port goes, that by bus, device and function comes. */
static void assert_device_filter(struct uncore *u)
{
	const struct uncore_counter *counter;
	struct uncore_monitor *m;

	assert_int_equal(uncore_monitor_new(&m, u), 0);
	assert_int_equal(uncore_monitor_set_filter(m, "device", "0000:81:00.0"), 0);
	assert_int_equal(uncore_monitor_add_metrics(m, "pcie.inbound.write.bandwidth"), 0);
	assert_int_equal(uncore_monitor_add_metrics(m, "pcie.inbound.read.requests"), -ENODEV);
	assert_int_equal(uncore_monitor_add_metrics(m, "pcie.outbound.read.bandwidth"), -ENODEV);
	assert_int_equal(uncore_monitor_plan(m), 0);
	assert_int_equal(uncore_monitor_counter_count(m), 1);
	counter = uncore_monitor_counter_at(m, 0);
	assert_int_equal(counter->config[0], 0x104);
	assert_int_equal(counter->config[1], 1 << 10);
	assert_int_equal(counter->config[2], UINT64_C(0x8100) << 16);
	uncore_monitor_free(m);
}

static void hisilicon_pcie(void **state)
{
	struct uncore *u;

	(void)state;
	assert_wide("hisilicon-hip09", "hisi-pcie", 1, hisi_pcie, COUNT(hisi_pcie));
	u = scan_fixture("hisilicon-hip09");
	assert_port(u, "0000:80:00.0", "hisi_pcie0_core0");
	assert_port(u, "0000:80:04.0", "hisi_pcie0_core0");
	assert_port(u, "0000:90:00.0", NULL);
	assert_device_filter(u);
	assert_refused(u, "hisi_pcie0_core0/rx_mwr_cnt/", "sets none of port, bdf");
	assert_refused(u, "hisi_pcie0_core0/rx_mwr_flux,port=0x1,bdf=0x8100/", "sets each of port");
	uncore_free(u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hisilicon_controllers),
		cmocka_unit_test(hisilicon_home_agents),
		cmocka_unit_test(hisilicon_caches),
		cmocka_unit_test(hisilicon_protocol_adapters),
		cmocka_unit_test(hisilicon_protocol_agents),
		cmocka_unit_test(hisilicon_pcie),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
