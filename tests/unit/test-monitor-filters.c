/* SPDX-License-Identifier: MIT */
/* Filters: what they refuse, and the configuration words they come to. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "filtered.h"

/* ---- words ------------------------------------------------------------------------------------ */

/* As the drivers' formats have them; see tests/cli/t410-examples.bats. */
static const struct {
	const char *filters, *metric;
	struct counter counters[3];
	size_t count;
} words[] = {
	{"from=cpu to=memory",
	 "memory.read.bandwidth",
	 {{"nvidia_ucf_pmu_0", "mem_bytes_rd,src_loc_cpu=0x1,dst_loc_cmem=0x1", {0x123, 0x102, 0}}},
	 1},
	{"from=device,remote to=remote",
	 "memory.read.bandwidth",
	 {{"nvidia_ucf_pmu_0",
	   "mem_bytes_rd,src_loc_noncpu=0x1,src_rem=0x1,dst_rem=0x1",
	   {0x123, 0x805, 0}}},
	 1},
	{"from=remote,remote,remote,remote,remote,remote,remote,remote,remote,remote,remote,"
	 "remote,remote,remote,remote,remote,remote,remote,remote,cpu",
	 "memory.read.bandwidth",
	 {{"nvidia_ucf_pmu_0", "mem_bytes_rd,src_rem=0x1,src_loc_cpu=0x1", {0x123, 0x6, 0}}},
	 1},
	{"gpu=1",
	 "link.in.read.requests",
	 {{"nvidia_nvlink_c2c_pmu_0", "in_rd_req,gpu_mask=0x2", {0x2, 0x2, 0}}},
	 1},
	{"gpu=0,1",
	 "link.in.read.requests",
	 {{"nvidia_nvlink_c2c_pmu_0", "in_rd_req,gpu_mask=0x3", {0x2, 0x3, 0}}},
	 1},
	{"port=0005:c0:00.0", READS, {{RC4, "rd_bytes,src_rp_mask=0x4", {0, 0x4, 0}}}, 1},
	{"port=0005:00:00.0,0005:c0:00.0 to=gpu",
	 READS,
	 {{RC4, "rd_bytes,dst_loc_gmem=0x1,src_rp_mask=0x5", {0, 0x5, 0x2}}},
	 1},
	{"port=0:4:1", READS, {{RC4, "rd_bytes,src_rp_mask=0x2", {0, 0x2, 0}}}, 1},
	/* by its number also where nobody knows the ports */
	{"port=0:3:7",
	 READS,
	 {{"nvidia_pcie_pmu_0_rc_3", "rd_bytes,src_rp_mask=0x80", {0, 0x80, 0}}},
	 1},
	/* and beside one whose address is known */
	{"port=0:3:7,0005:00:00.0",
	 READS,
	 {{"nvidia_pcie_pmu_0_rc_3", "rd_bytes,src_rp_mask=0x80", {0, 0x80, 0}},
	  {RC4, "rd_bytes,src_rp_mask=0x1", {0, 0x1, 0}}},
	 2},
	/* the PMU's only port */
	{"port=0006:00:00.0", READS, {{RC5, "rd_bytes", {0, 0, 0}}}, 1},
	{"device=0005:c1:01.1",
	 READS,
	 {{RC4, "rd_bytes,src_bdf=0xc109,src_bdf_en=0x1", {0, 0x1c10900, 0}}},
	 1},
	/* A root port asks for nothing itself: what is below it is meant. */
	{"device=0005:40:00.0", READS, {{RC4, "rd_bytes,src_rp_mask=0x2", {0, 0x2, 0}}}, 1},
	{"device=0005:c0:00.0",
	 "pcie.outbound.read.bandwidth",
	 {{TGT4, "rd_bytes,dst_rp_mask=0x4", {0x20, 0, 0}}},
	 1},
	{"port=0005:c0:00.0",
	 "pcie.outbound.read.requests.per.cycle",
	 {{TGT4, "rd_req,dst_rp_mask=0x4", {0x22, 0, 0}}, {TGT4, "cycles", {0x4, 0, 0}}},
	 2},
	/* A filter's terms replace those of the event; a clock has none. */
	{"port=0005:c0:00.0",
	 "pcie.inbound.read.requests.per.cycle",
	 {{RC4, "event=0x2,src_rp_mask=0x4", {0x2, 0x4, 0}}, {RC4, "cycles", {CYCLES, 0, 0}}},
	 2},
	{"to=memory port=0:4:0",
	 "pcie.inbound.read.latency",
	 {{RC4, "rd_cum_outs,dst_loc_cmem=0x1,src_rp_mask=0x1", {0x4, 0x1, 0x1}},
	  {RC4, "event=0x2,dst_loc_cmem=0x1,src_rp_mask=0x1", {0x2, 0x1, 0x1}},
	  {RC4, "cycles", {CYCLES, 0, 0}}},
	 3},
};

static void filters_become_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(words); i++) {
		struct stage s;

		begin(&s, UNCORE_LEVEL_MACHINE, NULL);
		ok(&s, set_filters(&s, words[i].filters));
		ok(&s, uncore_monitor_add_metrics(s.m, words[i].metric));
		assert_plan(&s, words[i].counters, words[i].count);
		assert_int_equal(uncore_monitor_note_count(s.m), 0);
		end(&s);
	}
}

/* On every root complex. */
static void ranges_of_addresses(void **state)
{
	const struct uncore_counter *c;
	struct stage s;

	(void)state;
	begin(&s, UNCORE_LEVEL_MACHINE, NULL);
	ok(&s, set_filters(&s, "address=0x10000/256,0x4000000000/64G"));
	ok(&s, uncore_monitor_add_metrics(s.m, "pcie.outbound.read.bandwidth"));
	ok(&s, uncore_monitor_plan(s.m));
	assert_int_equal(uncore_monitor_counter_count(s.m), 12);
	c = uncore_monitor_counter_at(s.m, 0);
	assert_string_equal(c->event, "rd_bytes,dst_addr_en=0x1,dst_addr_base=0x10000,"
				      "dst_addr_mask=0xffffffffffffff00");
	assert_int_equal(c->config[0], 0x800);
	assert_int_equal(c->config[1], 0x10000);
	assert_true(c->config[2] == UINT64_C(0xffffffffffffff00));
	c = uncore_monitor_counter_at(s.m, 11);
	assert_string_equal(uncore_pmu_name(c->pmu), TGT5);
	assert_true(c->config[1] == UINT64_C(0x4000000000));
	assert_true(c->config[2] == UINT64_C(0xfffffff000000000));
	end(&s);
}

/* A family that knows no devices but addresses: those of the device's memory, not its I/O ports. */
static void a_device_by_its_addresses(void **state)
{
	static const struct counter counters[] = {
		{TGT4,
		 "rd_bytes,dst_addr_en=0x1,dst_addr_base=0x220000000000,"
		 "dst_addr_mask=0xffffffffffff0000",
		 {0x800, UINT64_C(0x220000000000), UINT64_C(0xffffffffffff0000)}},
		{TGT4,
		 "rd_bytes,dst_addr_en=0x1,dst_addr_base=0x230000000000,"
		 "dst_addr_mask=0xfffffff000000000",
		 {0x800, UINT64_C(0x230000000000), UINT64_C(0xfffffff000000000)}},
	};
	static const int sockets[] = {0};
	struct stage s;

	(void)state;
	begin(&s, UNCORE_LEVEL_MACHINE, NULL);
	uncore_monitor_free(s.m);
	machine_cpus(&s.tree, sockets, 1);
	tree_pmu(&s.tree, TGT4, "type", "21\n");
	tree_pmu(&s.tree, TGT4, "cpumask", "0\n");
	tree_pmu(&s.tree, TGT4, "format/event", "config:0-2\n");
	tree_pmu(&s.tree, TGT4, "format/dst_addr_en", "config:11\n");
	tree_pmu(&s.tree, TGT4, "format/dst_addr_base", "config1:0-63\n");
	tree_pmu(&s.tree, TGT4, "format/dst_addr_mask", "config2:0-63\n");
	tree_pmu(&s.tree, TGT4, "events/rd_bytes", "event=0x0\n");
	tree_put(&s.tree, "sys/bus/pci/devices/0005:c1:01.1/resource",
		 "0x0000220000000000 0x000022000000ffff 0x0000000000140204\n"
		 "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
		 "0x0000230000000000 0x0000230fffffffff 0x000000000014220c\n"
		 "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
		 "0x000000000000e000 0x000000000000e0ff 0x0000000000040101\n"
		 "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
		 "0x0000000040000000 0x00000000400fffff 0x0000000000046200\n");
	ok(&s, uncore_set_root(s.u, s.tree.dir));
	ok(&s, uncore_scan(s.u));
	ok(&s, uncore_monitor_new(&s.m, s.u));
	ok(&s, set_filters(&s, "device=0005:c1:01.1"));
	ok(&s, uncore_monitor_add_metrics(s.m, "pcie.outbound.read.bandwidth"));
	assert_plan(&s, counters, COUNT(counters));
	end(&s);
}

static void a_device_that_shares_its_number(void **state)
{
	struct stage s;

	(void)state;
	begin(&s, UNCORE_LEVEL_MACHINE, NULL);
	ok(&s, set_filters(&s, "device=0006:01:00.0"));
	/* The outbound PMU has a filter for addresses, but those of the device are not told. */
	ok(&s, uncore_monitor_add_metrics(s.m, "pcie.outbound.read.bandwidth"));
	assert_int_equal(uncore_monitor_note_count(s.m), 1);
	assert_string_equal(uncore_monitor_note_at(s.m, 0),
			    "nvidia-t410-pcie-tgt: what is counted for 0006:01:00.0 is "
			    "nvidia_pcie_tgt_pmu_0_rc_5");
	ok(&s, set_filters(&s, "device=0005:c1:01.1"));
	ok(&s, uncore_monitor_add_metrics(s.m, "pcie.outbound.read.bandwidth"));
	assert_string_equal(uncore_monitor_note_at(s.m, 1),
			    "nvidia-t410-pcie-tgt: what is counted for 0005:c1:01.1 is root port "
			    "0005:c0:00.0, which it shares with 0005:c2:00.0");
	end(&s);
}

/* Neighbours are what is behind the other ports of the switch; what is behind a part of the switch is
 * what is asked for. */
static void a_device_behind_a_switch(void **state)
{
	static const char *const all[][2] = {
		{"device=0005:43:00.0", "what is counted for 0005:43:00.0 is root port "
					"0005:40:00.0, which it shares with 0005:44:00.0"},
		{"device=0005:44:00.0",
		 "what is counted for 0005:44:00.0 is root port 0005:40:00.0, which it shares with "
		 "0005:43:00.0 (mlx5_0 eth0)"},
		{"device=0005:42:01.0",
		 "what is counted for 0005:42:01.0, with 0005:44:00.0 behind it, is root port "
		 "0005:40:00.0, which it shares with 0005:43:00.0 (mlx5_0 eth0)"},
		{"device=0005:41:00.0",
		 "what is counted for 0005:41:00.0, with 0005:43:00.0 (mlx5_0 eth0), 0005:44:00.0 "
		 "behind it, is root port 0005:40:00.0"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(all); i++) {
		struct stage s;
		char note[300];

		begin(&s, UNCORE_LEVEL_MACHINE, NULL);
		ok(&s, set_filters(&s, all[i][0]));
		ok(&s, uncore_monitor_add_metrics(s.m, "pcie.outbound.read.bandwidth"));
		assert_int_equal(uncore_monitor_note_count(s.m), 1);
		snprintf(note, sizeof(note), "nvidia-t410-pcie-tgt: %s", all[i][1]);
		assert_string_equal(uncore_monitor_note_at(s.m, 0), note);
		end(&s);
	}
}

/* However long the list is, it is told whole, and once. */
static void many_devices_share_a_number(void **state)
{
	static char names[4000];
	const char *before = devices[12].shown.names;
	struct stage s;

	(void)state;
	memset(names, 'x', sizeof(names) - 1);
	devices[12].shown.names = names;
	begin(&s, UNCORE_LEVEL_MACHINE, NULL);
	ok(&s, set_filters(&s, "device=0005:43:00.0"));
	for (int i = 0; i < 2; i++)
		ok(&s, uncore_monitor_add_metrics(s.m, i ? "pcie.outbound.read.requests.per.cycle"
							 : "pcie.outbound.read.bandwidth"));
	assert_int_equal(uncore_monitor_note_count(s.m), 1);
	assert_contains(uncore_monitor_note_at(s.m, 0), "xxx)");
	devices[12].shown.names = before;
	end(&s);
}

/* ---- what is refused -------------------------------------------------------------------------- */

#define PORTS_4 "0:4:1,0:4:1,0:4:1,0:4:1,"
#define PORTS_16 PORTS_4 PORTS_4 PORTS_4 PORTS_4

static void unknown_words_are_refused(void **state)
{
	static const struct {
		const char *filters;
		int error;
		const char *sentence;
	} all[] = {
		{"form=cpu", -EINVAL,
		 "there is no filter 'form'; there are from, to, gpu, link, port, device, address"},
		{"from=gpu", -EINVAL, "from: 'gpu' is not one of cpu, device, remote"},
		{"from=cpu,", -EINVAL, "from: 'cpu,' is not a valid list of words"},
		{"from=", -EINVAL, "from: '' is not a valid list of words"},
		{"to=memory,sky", -EINVAL, "to: 'sky' is not one of memory, gpu, remote"},
		{"gpu=64", -EINVAL, "gpu: '64' is not a valid number of a GPU"},
		{"gpu=x", -EINVAL, "gpu: 'x' is not a valid number of a GPU"},
		{"port=nonsense", -ENOENT,
		 "there is no PCI device 'nonsense'; a root port is given by its address or as "
		 "SOCKET:RC:INDEX"},
		{"port=0:4:64", -ENOENT, "there is no PCI device '0:4:64'"},
		{"port=0:4:1:2", -ENOENT, "there is no PCI device '0:4:1:2'"},
		{"port=0005:c1:01.1", -EINVAL,
		 "0005:c1:01.1 is not a root port, but below 0005:c0:00.0"},
		{"device=0009:00:00.0", -ENOENT, "there is no PCI device '0009:00:00.0'"},
		{"device=0007:00:00.0", -ENODEV, "0007:00:00.0 is below no root port"},
		{"device=gpu", -ENODEV, "device: this machine has no PCI device 'gpu'"},
		{"device=ffff:ffff", -ENODEV, "device: this machine has no PCI device 'ffff:ffff'"},
		{"device=0005:c1:01.1,nvme*", -ENODEV,
		 "device: this machine has no PCI device 'nvme*'"},
		{"device=0007:*", -ENODEV, "0007:00:00.0 is below no root port"},
		{"socket=9", -EINVAL,
		 "socket: '9' is not the number of a socket with CPUs here: 0"},
		{"socket=64", -EINVAL, "socket: '64' is not the number of a socket"},
		{"socket=all", -EINVAL, "socket: 'all' is not the number of a socket"},
		{"node=0,9", -EINVAL, "node: '9' is not the number of a NUMA node"},
		{"device=0005:c1:01.1 port=0:4:1", -EINVAL,
		 "the filters 'device' and 'port' exclude each other"},
		{"port=0:4:1 device=0005:c1:01.1", -EINVAL,
		 "the filters 'device' and 'port' exclude each other"},
		{"address=0/1 device=0005:c1:01.1", -EINVAL,
		 "the filters 'device' and 'address' exclude each other"},
		{"address=0x1000", -EINVAL, "address: '0x1000' is not a valid range of addresses"},
		{"address=x/4K", -EINVAL, "address: 'x/4K' is not a valid range of addresses"},
		{"address=0/4X", -EINVAL, "address: '0/4X' is not a valid range of addresses"},
		{"address=0/16777216T", -EINVAL,
		 "address: '0/16777216T' is not a valid range of addresses"},
		{"address=0/0", -EINVAL, "its size must be a power of two"},
		{"address=0/3K", -EINVAL, "its size must be a power of two"},
		{"address=0x1000/8K", -EINVAL, "its base a multiple of the size"},
		{"address=0/4K,0x100/256", -EINVAL, "it overlaps another"},
		{"address=0x1000/4K,0/64K", -EINVAL, "it overlaps another"},
		{"gpu=1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1 "
		 "port=0:4:1," PORTS_16 PORTS_16 PORTS_16 PORTS_16 "0:4:1",
		 -EINVAL, "port: more than 64 are given"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(all); i++) {
		struct stage s;
		int r;

		begin(&s, UNCORE_LEVEL_MACHINE, NULL);
		r = set_filters(&s, all[i].filters);
		if (r != all[i].error || !strstr(uncore_error(s.u), all[i].sentence))
			fail_msg("%s: %d '%s', expected '%s'", all[i].filters, r, uncore_error(s.u),
				 all[i].sentence);
		end(&s);
	}
}

static void metrics_that_cannot_be_restricted(void **state)
{
	static const struct {
		const char *filters, *metric, *sentence;
	} all[] = {
		{"from=cpu", READS,
		 "the PMUs of nvidia-t410-pcie cannot be restricted by 'from'; they can by to, port, "
		 "device"},
		{"gpu=0", "memory.read.bandwidth",
		 "the PMUs of nvidia-t410-ucf cannot be restricted by 'gpu'; they can by from, to"},
		{"to=cxl", READS,
		 "the PMUs of nvidia-t410-pcie know no to=cxl; they know memory, gpu, remote"},
		{"from=cpu", "memory.read.latency",
		 "the PMUs of nvidia-t410-cmem cannot be restricted by 'from'"},
		{"gpu=2", "link.in.read.requests",
		 "GPU 2: the link of nvidia_nvlink_c2c_pmu_0 has 2 GPUs, 0 to 1"},
		{"gpu=2", "link.*", "GPU 2: the link of nvidia_nvlink_c2c_pmu_0 has 2 GPUs"},
		{"port=0:4:1", "pcie.clock.frequency",
		 "nvidia-t410-pcie/pcie.clock.frequency is the same for all: no filter restricts it"},
		{"port=0:9:1", READS, "no PMU of nvidia-t410-pcie counts what 'port=0:9:1' names"},
		{"port=0005:00:00.0", "memory.read.bandwidth",
		 "no PMU of nvidia-t410-ucf counts what 'port=0005:00:00.0' names"},
		{"device=0005:c1:01.1", "memory.read.bandwidth",
		 "no PMU of nvidia-t410-ucf counts what 'device=0005:c1:01.1' names"},
		{"port=10000:00:02.0", READS,
		 "root port 10000:00:02.0 is not counted: a driver made its segment"},
		{"port=0:9:1,10000:00:02.0", READS,
		 "root port 0:9:1 is not counted: no PMU of nvidia-t410-pcie counts it; root port "
		 "10000:00:02.0 is not counted: a driver made its segment"},
		{"device=10000:00:02.0", READS,
		 "root port 10000:00:02.0 is not counted: a driver made its segment"},
		{"address=0/4K", READS,
		 "the PMUs of nvidia-t410-pcie cannot be restricted by 'address'"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(all); i++) {
		struct stage s;
		int r;

		begin(&s, UNCORE_LEVEL_MACHINE, NULL);
		ok(&s, set_filters(&s, all[i].filters));
		r = uncore_monitor_add_metrics(s.m, all[i].metric);
		if (r != -ENODEV || !strstr(uncore_error(s.u), all[i].sentence))
			fail_msg("%s: %d '%s', expected '%s'", all[i].filters, r, uncore_error(s.u),
				 all[i].sentence);
		assert_int_equal(uncore_monitor_counter_count(s.m), 0);
		end(&s);
	}
}

/* Metrics that have the filter are counted; each family without it is named once. */
static void a_pattern_leaves_out_metrics_without_the_filter(void **state)
{
	struct stage s;

	(void)state;
	begin(&s, UNCORE_LEVEL_MACHINE, NULL);
	ok(&s, set_filters(&s, "to=gpu"));
	ok(&s, uncore_monitor_add_metrics(s.m, "pcie.*"));
	ok(&s, uncore_monitor_plan(s.m));
	assert_int_equal(uncore_monitor_counter_count(s.m), 6 * 4);
	assert_int_equal(uncore_monitor_note_count(s.m), 2);
	assert_contains(uncore_monitor_note_at(s.m, 1),
			"left out: the PMUs of nvidia-t410-pcie-tgt "
			"cannot be restricted by 'to'");
	assert_contains(uncore_monitor_note_at(s.m, 0), "left out: nvidia-t410-pcie/pcie.clock");
	end(&s);
}

/* Each with its own filter, and events with none. */
static void filters_apply_to_later_adds(void **state)
{
	static const struct counter counters[] = {
		{"nvidia_ucf_pmu_0", "mem_bytes_rd", {0x123, 0, 0}},
		{"nvidia_ucf_pmu_0", "mem_bytes_rd,src_loc_cpu=0x1", {0x123, 0x2, 0}},
		{"nvidia_ucf_pmu_0", "cycles", {CYCLES, 0, 0}},
		{"nvidia_ucf_pmu_0", "mem_bytes_rd,src_rem=0x1", {0x123, 0x4, 0}},
	};
	struct stage s;

	(void)state;
	begin(&s, UNCORE_LEVEL_MACHINE, NULL);
	ok(&s, uncore_monitor_add_metrics(s.m, "memory.read.bandwidth"));
	ok(&s, set_filters(&s, "from=cpu"));
	ok(&s, uncore_monitor_add_metrics(s.m, "memory.read.bandwidth"));
	ok(&s, uncore_monitor_add_metrics(s.m, "memory.read.bandwidth"));
	ok(&s, uncore_monitor_add_events(s.m, "nvidia_ucf_pmu_0/cycles/"));
	assert_int_equal(uncore_monitor_set_filter(s.m, "from", "nobody"), -EINVAL); /* no change */
	ok(&s, set_filters(&s, "from=remote"));
	ok(&s, uncore_monitor_add_metrics(s.m, "memory.read.bandwidth"));
	ok(&s, uncore_monitor_set_filter(s.m, "from", NULL));
	ok(&s, uncore_monitor_add_metrics(s.m, "memory.read.bandwidth"));
	assert_plan(&s, counters, COUNT(counters));
	end(&s);
}

/* Each kind has an entry in each table: a missing one would be called as NULL. */
static void every_kind_is_complete(void **state)
{
	static const char *const values[] = {
		[UNC_FILTER_FROM] = "cpu",
		[UNC_FILTER_TO] = "gpu",
		[UNC_FILTER_GPU] = "0",
		[UNC_FILTER_LINK] = "none",
		[UNC_FILTER_PORT] = "0005:00:00.0",
		[UNC_FILTER_DEVICE] = "0005:c1:01.1",
		[UNC_FILTER_ADDRESS] = "0x1000/4K",
	};

	(void)state;
	assert_int_equal(COUNT(values), UNC_FILTERS);
	for (size_t i = 0; i < UNC_FILTERS; i++) {
		struct stage s;

		begin(&s, UNCORE_LEVEL_MACHINE, NULL);
		assert_non_null(unc_filter_words[i].name);
		assert_int_equal(uncore_monitor_set_filter(s.m, unc_filter_words[i].name, ""),
				 -EINVAL);
		/* No family here has links with words. */
		if (i == UNC_FILTER_LINK) {
			assert_int_equal(uncore_monitor_set_filter(s.m, "link", values[i]),
					 -EINVAL);
		} else {
			ok(&s, uncore_monitor_set_filter(s.m, unc_filter_words[i].name, values[i]));
			ok(&s, uncore_monitor_add_metrics(s.m, "*"));
		}
		end(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filters_become_words),
		cmocka_unit_test(ranges_of_addresses),
		cmocka_unit_test(a_device_by_its_addresses),
		cmocka_unit_test(a_device_that_shares_its_number),
		cmocka_unit_test(a_device_behind_a_switch),
		cmocka_unit_test(many_devices_share_a_number),
		cmocka_unit_test(unknown_words_are_refused),
		cmocka_unit_test(metrics_that_cannot_be_restricted),
		cmocka_unit_test(a_pattern_leaves_out_metrics_without_the_filter),
		cmocka_unit_test(filters_apply_to_later_adds),
		cmocka_unit_test(every_kind_is_complete),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
