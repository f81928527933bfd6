/* SPDX-License-Identifier: MIT */
/*
 * The data files of Intel's other PMUs, right on each generation. Formats are those of the kernel's
 * uncore_snbep.c and uncore_discovery.c, codes and formulas those of its tables (pmu-events) and of
 * perf's iostat.c; none come from the data files.
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

/* One metric of one event. */
#define ONE(name, formula, event, config)     \
	{                                     \
		name, formula,                \
		{                             \
			{                     \
				event, config \
			}                     \
		}                             \
	}

/* One PMU of a model that has no tree: the format that most have, and what is added to it. */
static struct uncore *scan_model(struct tree *t, int model, const char *pmu, const char *umask)
{
	tree_make(t);
	machine_cpuinfo(t, model, "");
	machine_cpus(t, (const int[]){0}, 1);
	machine_pmu(t, pmu, "17\n", "0\n");
	tree_pmu(t, pmu, "format/umask", umask);
	return scan(t->dir);
}

/* On each of these models, up to the first 0, the family has these metrics and no others. */
static void assert_models(const int *models, const char *family, const char *pmu, const char *umask,
			  const struct expected *expected, size_t count)
{
	for (; *models; models++) {
		struct tree t;
		struct uncore *u = scan_model(&t, *models, pmu, umask);

		assert_string_equal(uncore_pmu_family(uncore_pmu_at(u, 0)), family);
		assert_family(u, family, 1, expected, count);
		uncore_free(u);
		tree_remove(&t);
	}
}

static void assert_machine(const char *machine, const char *family, size_t pmus,
			   const struct expected *expected, size_t count)
{
	struct uncore *u = scan_fixture(machine);

	assert_family(u, family, pmus, expected, count);
	uncore_free(u);
}

/* ---- links between sockets -------------------------------------------------------------------- */

#define LINK_CLOCK(config) \
	ONE("link.clock.frequency", "cycles / source_count(cycles) / seconds", "cycles", config)

/* Nine slots carry the 64 bytes of a line. */
static const struct expected upi[] = {
	ONE("link.out.bandwidth", "tx_data * 64 / 9 / seconds", "tx_data", 0xf02),
	ONE("link.in.bandwidth", "rx_data * 64 / 9 / seconds", "rx_data", 0xf03),
	LINK_CLOCK(0x01),
};

static void upi_links(void **state)
{
	/* Emerald Rapids, Granite Rapids, Granite Rapids-D, Sierra Forest, Clearwater Forest */
	static const int raw[] = {207, 173, 174, 175, 221, 0};

	(void)state;
	assert_machine("intel-skx-1socket", "intel-upi", 3, upi, COUNT(upi));
	assert_machine("intel-icx-1socket", "intel-upi", 3, upi, COUNT(upi));
	assert_machine("intel-spr-1socket", "intel-upi", 4, upi, COUNT(upi));
	assert_models(raw, "intel-upi", "uncore_upi_0", "config:8-15,32-55\n", upi, COUNT(upi));
}

/* A flit carries 8 bytes. What is received is documented before Haswell only. */
static const struct expected qpi[] = {
	ONE("link.out.bandwidth", "tx_data * 8 / seconds", "tx_data", 0x200),
	LINK_CLOCK(0x14),
	ONE("link.in.bandwidth", "rx_data * 8 / seconds", "rx_data", 0x201),
};

static void qpi_links(void **state)
{
	static const int snbep[] = {45, 0}, hsx_bdx[] = {63, 79, 0};

	(void)state;
	assert_machine("intel-ivt-1socket", "intel-qpi", 2, qpi, COUNT(qpi));
	assert_models(snbep, "intel-qpi", "uncore_qpi_0", "config:8-15\n", qpi, COUNT(qpi));
	assert_models(hsx_bdx, "intel-qpi", "uncore_qpi_0", "config:8-15\n", qpi, COUNT(qpi) - 1);
}

/* ---- I/O stacks ------------------------------------------------------------------------------- */

/* Events 0x83 (by devices) and 0xc0 (by CPUs), masks 4 (reads) and 1 (writes). All ports, and all
 * kinds of completion: in Skylake four ports in bits 36-43 and 7 in bits 44-46, later eight ports
 * in bits 36-47 and 7 in bits 48-50. */
#define SKX_IIO(event, umask) ((event) | (umask) << 8 | UINT64_C(0xf) << 36 | UINT64_C(7) << 44)
#define ICX_IIO(event, umask) ((event) | (umask) << 8 | UINT64_C(0xff) << 36 | UINT64_C(7) << 48)

#define DIRECTION(which, rd, wr, rd_config, wr_config)                                          \
	ONE("pcie." which "bound.read.bandwidth", rd " * 4 / seconds", rd, rd_config),          \
		ONE("pcie." which "bound.write.bandwidth", wr " * 4 / seconds", wr, wr_config), \
	{                                                                                       \
		"pcie." which "bound.bandwidth", "(" rd " + " wr ") * 4 / seconds",             \
		{                                                                               \
			{rd, rd_config},                                                        \
			{                                                                       \
				wr, wr_config                                                   \
			}                                                                       \
		}                                                                               \
	}

static const struct expected iio_skx[] = {
	DIRECTION("in", "in_rd", "in_wr", SKX_IIO(0x83, 4), SKX_IIO(0x83, 1)),
	DIRECTION("out", "out_rd", "out_wr", SKX_IIO(0xc0, 4), SKX_IIO(0xc0, 1)),
};

static const struct expected iio[] = {
	DIRECTION("in", "in_rd", "in_wr", ICX_IIO(0x83, 4), ICX_IIO(0x83, 1)),
	DIRECTION("out", "out_rd", "out_wr", ICX_IIO(0xc0, 4), ICX_IIO(0xc0, 1)),
};

static void io_stacks(void **state)
{
	/* Snow Ridge, Emerald Rapids, Granite Rapids, Sierra Forest, Grand Ridge, Clearwater Forest */
	static const int others[] = {134, 207, 173, 174, 175, 182, 221};

	(void)state;
	assert_machine("intel-skx-1socket", "intel-iio", 6, iio_skx, COUNT(iio_skx));
	assert_machine("intel-icx-1socket", "intel-iio", 6, iio, COUNT(iio));
	assert_machine("intel-spr-1socket", "intel-iio", 6, iio, COUNT(iio));
	for (size_t i = 0; i < COUNT(others); i++) {
		struct uncore *u;
		struct tree t;

		tree_make(&t);
		machine_cpuinfo(&t, others[i], "");
		machine_cpus(&t, (const int[]){0}, 1);
		machine_pmu(&t, "uncore_iio_0", "17\n", "0\n");
		tree_pmu(&t, "uncore_iio_0", "format/ch_mask", "config:36-47\n");
		tree_pmu(&t, "uncore_iio_0", "format/fc_mask", "config:48-50\n");
		u = scan(t.dir);
		assert_family(u, "intel-iio", 1, iio, COUNT(iio));
		uncore_free(u);
		tree_remove(&t);
	}
}

#define PORT(way, port, factor, config)                                                    \
	ONE("pcie.port" port "." way ".bandwidth", way "_" port " * " factor " / seconds", \
	    way "_" port, config)

#define STACK_CLOCK \
	ONE("pcie.clock.frequency", "cycles / source_count(cycles) / seconds", "cycles", 0x10ff)

/* Skylake: 4 bytes a count, four ports in (masks 0x20 to 0x23) and out (0x24 to 0x27). */
static const struct expected free_skx[] = {
	{"pcie.in.bandwidth",
	 "(in_0 + in_1 + in_2 + in_3) * 4 / seconds",
	 {{"in_0", 0x20ff}, {"in_1", 0x21ff}, {"in_2", 0x22ff}, {"in_3", 0x23ff}}},
	{"pcie.out.bandwidth",
	 "(out_0 + out_1 + out_2 + out_3) * 4 / seconds",
	 {{"out_0", 0x24ff}, {"out_1", 0x25ff}, {"out_2", 0x26ff}, {"out_3", 0x27ff}}},
	PORT("in", "0", "4", 0x20ff),
	PORT("in", "1", "4", 0x21ff),
	PORT("in", "2", "4", 0x22ff),
	PORT("in", "3", "4", 0x23ff),
	PORT("out", "0", "4", 0x24ff),
	PORT("out", "1", "4", 0x25ff),
	PORT("out", "2", "4", 0x26ff),
	PORT("out", "3", "4", 0x27ff),
	STACK_CLOCK,
};

/* Later: 32 bytes a count, eight ports in, whatever the kernel's .scale says. */
static const struct expected free_icx[] = {
	{"pcie.in.bandwidth",
	 "(in_0 + in_1 + in_2 + in_3 + in_4 + in_5 + in_6 + in_7) * 32 / seconds",
	 {{"in_0", 0x20ff},
	  {"in_1", 0x21ff},
	  {"in_2", 0x22ff},
	  {"in_3", 0x23ff},
	  {"in_4", 0x24ff},
	  {"in_5", 0x25ff},
	  {"in_6", 0x26ff},
	  {"in_7", 0x27ff}}},
	PORT("in", "0", "32", 0x20ff),
	PORT("in", "1", "32", 0x21ff),
	PORT("in", "2", "32", 0x22ff),
	PORT("in", "3", "32", 0x23ff),
	PORT("in", "4", "32", 0x24ff),
	PORT("in", "5", "32", 0x25ff),
	PORT("in", "6", "32", 0x26ff),
	PORT("in", "7", "32", 0x27ff),
	STACK_CLOCK,
};

static void free_running_counters_of_io_stacks(void **state)
{
	static const int others[] = {134, 108, 207, 173, 174, 175, 182, 221, 0};

	(void)state;
	assert_machine("intel-skx-1socket", "intel-iio-free-running", 6, free_skx, COUNT(free_skx));
	assert_machine("intel-icx-1socket", "intel-iio-free-running", 6, free_icx, COUNT(free_icx));
	assert_machine("intel-spr-1socket", "intel-iio-free-running", 6, free_icx, COUNT(free_icx));
	assert_models(others, "intel-iio-free-running", "uncore_iio_free_running_0",
		      "config:8-15\n", free_icx, COUNT(free_icx));
}

/* ---- persistent memory ------------------------------------------------------------------------ */

static const struct expected persistent[] = {
	ONE("memory.persistent.read.bandwidth", "ddrt_rd * 64 / seconds", "ddrt_rd", 0x30ff),
	ONE("memory.persistent.write.bandwidth", "ddrt_wr * 64 / seconds", "ddrt_wr", 0x31ff),
	{"memory.persistent.bandwidth",
	 "(ddrt_rd + ddrt_wr) * 64 / seconds",
	 {{"ddrt_rd", 0x30ff}, {"ddrt_wr", 0x31ff}}},
};

/* Sapphire Rapids has PMUs of this name, too; they count cycles. */
static void persistent_memory_of_ice_lake(void **state)
{
	static const char family[] = "intel-imc-free-running";
	static const int icx_d[] = {108, 0};

	(void)state;
	assert_machine("intel-icx-1socket", family, 4, persistent, COUNT(persistent));
	assert_machine("intel-spr-1socket", family, 0, NULL, 0);
	assert_models(icx_d, family, "uncore_imc_free_running_0", "config:8-15\n", persistent,
		      COUNT(persistent));
}

/* ---- last-level cache ------------------------------------------------------------------------- */

struct latency {
	const char *name, *kind;
	uint64_t occupancy, inserts, filter; /* filter: the second configuration word of both */
};

/* Little's law: what is in flight over what comes, in clocks of the mean slice. */
static void assert_latency(const struct uncore *u, const char *family, const struct latency *x,
			   uint64_t clock)
{
	const struct uncore_metric *m = find(u, family, x->name);
	struct uncore_metric_event events[EVENTS];
	char formula[200];
	size_t n = 0;

	snprintf(formula, sizeof(formula),
		 "%s_occupancy / %s_inserts * source_count(cycles) * seconds / cycles", x->kind,
		 x->kind);
	assert_string_equal(uncore_metric_formula(m), formula);
	assert_int_equal(uncore_metric_events(u, m, events, EVENTS, &n), 0);
	assert_int_equal(n, 3);
	assert_int_equal(events[0].config[0], x->occupancy);
	assert_int_equal(events[0].config[1], x->filter);
	assert_int_equal(events[1].config[0], x->inserts);
	assert_int_equal(events[1].config[1], x->filter);
	assert_int_equal(events[2].config[0], clock);
	assert_int_equal(events[2].config[1], 0);
}

#define FABRIC_CLOCK(config) \
	ONE("fabric.clock.frequency", "cycles / source_count(cycles) / seconds", "cycles", config)

/* Requests at the home agents: event 0x50, one bit of the mask for each kind. */
static const struct expected requests[] = {
	ONE("memory.local.read.bandwidth", "req_local_rd * 64 / seconds", "req_local_rd", 0x150),
	ONE("memory.local.write.bandwidth", "req_local_wr * 64 / seconds", "req_local_wr", 0x450),
	ONE("memory.remote.read.bandwidth", "req_remote_rd * 64 / seconds", "req_remote_rd", 0x250),
	ONE("memory.remote.write.bandwidth", "req_remote_wr * 64 / seconds", "req_remote_wr",
	    0x850),
};

/* The mask of a CHA since Ice Lake has bits 8-15, and 32-57 or 32-63. */
#define CHA(event, umask) ((event) | ((umask)&0xff) << 8 | (UINT64_C(umask) >> 8) << 32)

#define MISSES(name, kind, umask)                                 \
	{                                                         \
		name, kind, CHA(0x36, umask), CHA(0x35, umask), 0 \
	}

/* Skylake: the filter's upper half has 0x202 (data read) from bit 9 on, not-near and near memory in
 * bits 5 and 4, local in bit 1, remote in bit 0. */
static const struct latency cha_skx[] = {
	{"cache.miss.latency", "miss", 0x2136, 0x2135, UINT64_C(0x40433) << 32},
	{"memory.local.read.latency", "local", 0x2136, 0x2135, UINT64_C(0x40432) << 32},
	{"memory.remote.read.latency", "remote", 0x2136, 0x2135, UINT64_C(0x40431) << 32},
};

static const struct latency cha_icx[] = {
	MISSES("cache.miss.latency", "miss", 0xc817fe01),
	MISSES("memory.read.latency", "dram", 0xc8178601),
	MISSES("memory.local.read.latency", "local", 0xc816fe01),
	MISSES("memory.remote.read.latency", "remote", 0xc8177e01),
};

/* E cores have another opcode. */
static const struct latency cha_atom[] = {MISSES("cache.miss.latency", "miss", 0xc827fe01)};

struct cache {
	const struct latency *latencies;
	size_t latency_count, request_count;
	uint64_t clock;
};

static void assert_cha(const struct uncore *u, size_t pmus, const struct cache *x)
{
	const struct expected clock = FABRIC_CLOCK(x->clock);

	for (size_t i = 0; i < x->latency_count; i++)
		assert_latency(u, "intel-cha", &x->latencies[i], x->clock);
	for (size_t i = 0; i < x->request_count; i++)
		assert_metric(u, "intel-cha", pmus, &requests[i]);
	assert_metric(u, "intel-cha", pmus, &clock);
	assert_int_equal(metrics_here(u, "intel-cha"), x->latency_count + x->request_count + 1);
}

/* The clock is event 0 until Ice Lake, event 1 since Sapphire Rapids. */
static void last_level_caches_since_skylake(void **state)
{
	static const struct {
		const char *machine;
		struct cache cache;
	} machines[] = {
		{"intel-skx-1socket", {cha_skx, COUNT(cha_skx), COUNT(requests), 0}},
		{"intel-icx-1socket", {cha_icx, COUNT(cha_icx), COUNT(requests), 0}},
		{"intel-spr-1socket", {cha_icx, COUNT(cha_icx), COUNT(requests), 1}},
	};
	static const struct {
		int model;
		struct cache cache;
	} models[] = {
		{207, {cha_icx, COUNT(cha_icx), COUNT(requests), 1}},   /* Emerald Rapids */
		{173, {cha_icx, COUNT(cha_icx), COUNT(requests), 1}},   /* Granite Rapids */
		{174, {cha_icx, COUNT(cha_icx), COUNT(requests), 1}},   /* Granite Rapids-D */
		{175, {cha_atom, COUNT(cha_atom), COUNT(requests), 1}}, /* Sierra Forest */
		{221, {cha_atom, COUNT(cha_atom), COUNT(requests), 1}}, /* Clearwater Forest */
		{182, {cha_atom, COUNT(cha_atom), 0, 1}},               /* Grand Ridge */
		{134, {cha_atom, COUNT(cha_atom), 0, 0}},               /* Snow Ridge */
	};

	(void)state;
	for (size_t i = 0; i < COUNT(machines); i++) {
		struct uncore *u = scan_fixture(machines[i].machine);

		assert_cha(u, 8, &machines[i].cache);
		uncore_free(u);
	}
	for (size_t i = 0; i < COUNT(models); i++) {
		struct tree t;
		struct uncore *u =
			scan_model(&t, models[i].model, "uncore_cha_0", "config:8-15,32-63\n");

		assert_cha(u, 1, &models[i].cache);
		uncore_free(u);
		tree_remove(&t);
	}
}

/* Opcode 0x182 (data read) in the filter's bits 52-60, of Sandy Bridge 23-31. */
#define OPCODE(opcode) (UINT64_C(opcode) << 52)

static const struct latency cbox[] = {
	{"cache.miss.latency", "miss", 0x336, 0x335, OPCODE(0x182)},
	{"memory.local.read.latency", "local", 0x2336, 0x2335, OPCODE(0x182)},
	{"memory.remote.read.latency", "remote", 0x8336, 0x8335, OPCODE(0x182)},
};

static const struct latency cbox_snbep = {"cache.miss.latency", "miss", 0x336, 0x335,
					  UINT64_C(0x182) << 23};

static const struct expected cbox_clock = FABRIC_CLOCK(0x00);

static struct uncore *scan_cbox(struct tree *t, int model, const char *filter_opc)
{
	tree_make(t);
	machine_cpuinfo(t, model, "");
	machine_cpus(t, (const int[]){0}, 1);
	machine_pmu(t, "uncore_cbox_0", "17\n", "0\n");
	tree_pmu(t, "uncore_cbox_0", "format/filter_opc", filter_opc);
	return scan(t->dir);
}

static void last_level_caches_of_ivy_bridge(void **state)
{
	struct uncore *u = scan_fixture("intel-ivt-1socket");

	(void)state;
	for (size_t i = 0; i < COUNT(cbox); i++)
		assert_latency(u, "intel-cbox", &cbox[i], 0);
	assert_metric(u, "intel-cbox", 4, &cbox_clock);
	assert_int_equal(metrics_here(u, "intel-cbox"), COUNT(cbox) + 1);
	uncore_free(u);
}

static void last_level_caches_of_sandy_bridge(void **state)
{
	struct tree t;
	struct uncore *u = scan_cbox(&t, 45, "config1:23-31\n");

	(void)state;
	assert_latency(u, "intel-cbox", &cbox_snbep, 0);
	assert_metric(u, "intel-cbox", 1, &cbox_clock);
	assert_int_equal(metrics_here(u, "intel-cbox"), 2);
	uncore_free(u);
	tree_remove(&t);
}

/* Haswell and Broadwell tell what devices read, too: opcode 0x19e. */
static void last_level_caches_of_haswell_and_broadwell(void **state)
{
	static const int models[] = {63, 79, 86};

	(void)state;
	for (size_t i = 0; i < COUNT(models); i++) {
		struct tree t;
		struct uncore *u = scan_cbox(&t, models[i], "config1:52-60\n");
		const struct uncore_metric *m =
			find(u, "intel-cbox", "pcie.inbound.read.bandwidth");
		struct uncore_metric_event event;
		size_t n = 0;

		for (size_t k = 0; k < COUNT(cbox); k++)
			assert_latency(u, "intel-cbox", &cbox[k], 0);
		assert_metric(u, "intel-cbox", 1, &cbox_clock);
		assert_string_equal(uncore_metric_formula(m), "io_reads * 64 / seconds");
		assert_int_equal(uncore_metric_events(u, m, &event, 1, &n), 0);
		assert_int_equal(n, 1);
		assert_int_equal(event.config[0], 0x135);
		assert_int_equal(event.config[1], OPCODE(0x19e));
		assert_int_equal(metrics_here(u, "intel-cbox"), COUNT(cbox) + 2);
		uncore_free(u);
		tree_remove(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(upi_links),
		cmocka_unit_test(qpi_links),
		cmocka_unit_test(io_stacks),
		cmocka_unit_test(free_running_counters_of_io_stacks),
		cmocka_unit_test(persistent_memory_of_ice_lake),
		cmocka_unit_test(last_level_caches_since_skylake),
		cmocka_unit_test(last_level_caches_of_ivy_bridge),
		cmocka_unit_test(last_level_caches_of_sandy_bridge),
		cmocka_unit_test(last_level_caches_of_haswell_and_broadwell),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
