/* SPDX-License-Identifier: MIT */
/* Register blocks through the library: access, windows, wraps, and what is no data. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "block.h"

#define HEAD                                                                                        \
	"block: test\ntitle: Test\ninstance: unit\nevidence: none\npmu: test_{unit}\nspace: mmio\n" \
	"size: 0x1000\n"

static struct block *fresh(void)
{
	static struct block b;

	block_make(&b);
	return &b;
}

static int finish(void **state)
{
	(void)state;
	return 0;
}

/* ---- widths ---- */

/* Counters of all widths wrap in one interval, and the total goes on. */
static void test_wraps(void **state)
{
	static const char text[] = HEAD "access: 64\nwindow: free-running\ncounters:\n"
					"  c32: {title: c, offset: 0x00, width: 32}\n"
					"  c36: {title: c, offset: 0x08, width: 36}\n"
					"  c44: {title: c, offset: 0x10, width: 44}\n"
					"  c48: {title: c, offset: 0x18, width: 48}\n"
					"  c64: {title: c, offset: 0x20, width: 64}\n";
	static const char *const names[] = {"test_0/c32/", "test_0/c36/", "test_0/c44/",
					    "test_0/c48/"};
	static const unsigned widths[] = {32, 36, 44, 48};
	struct block *b = fresh();

	(void)state;
	must(b, block_use(b, text));
	for (size_t i = 0; i < 4; i++)
		block_set64(b, 8 * i, (UINT64_C(1) << widths[i]) - 10);
	must(b, block_start(b, "test_0/c32/,test_0/c36/,test_0/c44/,test_0/c48/,test_0/c64/"));
	for (int round = 1; round <= 3; round++) {
		/* No counter counts most of 44 bits so fast: these go round once. */
		for (size_t i = 0; i < 2; i++)
			block_set64(b, 8 * i, round % 2 ? 90 : (UINT64_C(1) << widths[i]) - 10);
		for (size_t i = 2; i < 4; i++)
			block_set64(b, 8 * i, (uint64_t)round * 100 - 10);
		block_set64(b, 0x20, (uint64_t)round << 45);
		block_read(b);
		for (size_t i = 0; i < 4; i++)
			block_assert(b, names[i],
				     round % 2 || i > 1 ? 100
							: (double)(UINT64_C(1) << widths[i]) - 100);
		block_assert(b, "test_0/c64/", 0x1p45);
	}
	block_total(b);
	for (size_t i = 0; i < 4; i++)
		block_assert(b, names[i], i > 1 ? 300 : (double)(UINT64_C(1) << widths[i]) + 100);
	block_remove(b);
}

/* The last register of the last page: a wider read would leave the map. Its neighbours are not in it. */
static void test_exact_width(void **state)
{
	struct block *b = fresh();

	(void)state;
	must(b, block_use(b, HEAD "access: 32\nwindow: free-running\ncounters:\n"
				  "  last: {title: c, offset: 0xffc, width: 32}\n"));
	block_set32(b, 0xffc, 7);
	must(b, block_start(b, "test_0/last/"));
	block_set32(b, 0xff8, 99);
	block_set32(b, 0xffc, 12);
	block_read(b);
	block_assert(b, "test_0/last/", 5);
	block_remove(b);
}

/* Bits above the width are somebody else's. */
static void test_bits_above(void **state)
{
	struct block *b = fresh();

	(void)state;
	must(b, block_use(b, HEAD "access: 64\nwindow: free-running\ncounters:\n"
				  "  c: {title: c, offset: 0, width: 44}\n"));
	block_set64(b, 0, 5);
	must(b, block_start(b, "test_0/c/"));
	block_set64(b, 0, UINT64_C(0xabc) << 52 | 25);
	block_read(b);
	block_assert(b, "test_0/c/", 20);
	block_remove(b);
}

static void test_halves(void **state)
{
	struct block *b = fresh();

	(void)state;
	must(b, block_use(b, HEAD "access: 32\nwindow: free-running\ncounters:\n"
				  "  near: {title: c, low: 0x10, high: 0x14, width: 48}\n"
				  "  swapped: {title: c, low: 0x24, high: 0x20, width: 64}\n"
				  "  far: {title: c, low: 0x30, high: 0x38, width: 64}\n"));
	must(b, block_start(b, "test_0/near/,test_0/swapped/,test_0/far/"));
	block_set32(b, 0x10, 3);
	block_set32(b, 0x14, 0xabcd0002); /* 16 bits of it count */
	block_set32(b, 0x24, 5);
	block_set32(b, 0x20, 1);
	block_set32(b, 0x30, 7);
	block_set32(b, 0x38, 4);
	block_read(b);
	block_assert(b, "test_0/near/", 0x2p32 + 3);
	block_assert(b, "test_0/swapped/", 0x1p32 + 5);
	block_assert(b, "test_0/far/", 0x4p32 + 7);
	block_remove(b);
}

/* ---- windows ---- */

/* Instances are PMUs, and their sum is one row. */
static void test_instances(void **state)
{
	struct block *b = fresh();

	(void)state;
	must(b, block_use(b, HEAD "count: 3\nstride: 0x100\naccess: 64\nwindow: free-running\n"
				  "counters:\n  c: {title: c, offset: 0x8, width: 64}\n"));
	assert_int_equal(uncore_pmu_count(b->u), 3);
	assert_string_equal(uncore_pmu_name(uncore_pmu_at(b->u, 2)), "test_2");
	must(b, block_start(b, "test/c/,test_1/c/"));
	block_set64(b, 0x008, 1);
	block_set64(b, 0x108, 20);
	block_set64(b, 0x208, 300);
	block_read(b);
	block_assert(b, "test/c/", 321);
	block_assert(b, "test_1/c/", 20);
	block_remove(b);
}

/* ---- time ---- */

/* Without a clock of its own a rate is over the host's time, and says how uncertain that is. */
static void test_host_clock(void **state)
{
	const struct uncore_row *row;
	struct block *b = fresh();

	(void)state;
	must(b,
	     block_use(b, HEAD "access: 64\nwindow: free-running\nclock: host\nquantity: dma\n"
			       "counters:\n  c: {title: c, offset: 0, width: 64, role: bytes}\n"));
	must(b, block_start(b, NULL));
	block_wait_us(20000);
	block_set64(b, 0, 1000000);
	block_read(b);
	row = block_row(b, "dma.bandwidth");
	assert_int_equal(row->quality, UNCORE_MEASURED);
	assert_true(row->counted->seconds >= 0.02);
	assert_close(row->value, 1e6 / row->counted->seconds);
	assert_true(isnan(row->low));
	/* The readings take more than a thousandth of the interval. */
	block_wait_us(1000);
	block_set64(b, 0, 2000000);
	must(b, uncore_monitor_read(b->m, b->s));
	row = block_row(b, "dma.bandwidth");
	assert_int_equal(row->quality, UNCORE_MEASURED);
	assert_true(row->low < row->value && row->value < row->high);
	assert_true(row->high - row->low < 0.05 * row->value);
	block_remove(b);
}

/* A counter of the clock, alone and with cycles of other states. */
static void test_clock_counter(void **state)
{
	const struct uncore_row *row;
	struct block *b = fresh();

	(void)state;
	must(b, block_use(b, HEAD "access: 64\nwindow: free-running\nquantity: dma\n"
				  "clock: {counter: clk, hz: 1e9}\ncounters:\n"
				  "  clk: {title: c, offset: 0, width: 64}\n"
				  "  act: {title: c, offset: 8, width: 64, role: active}\n"
				  "  pkt: {title: c, offset: 16, width: 64, role: packets, "
				  "packet_bytes: 64}\n"));
	must(b, block_start(b, NULL));
	block_wait_us(20000);
	block_set64(b, 0, 1000000000);
	block_set64(b, 8, 250000000);
	block_set64(b, 16, 500000000);
	block_read(b);
	block_assert(b, "dma.utilization", 0.25);
	block_assert(b, "dma.bandwidth", 32e9);
	block_assert(b, "dma.bytes_per_cycle", 32);
	block_assert(b, "dma.packets", 500e6);
	block_assert(b, "dma.packets.rate", 500e6);
	row = block_row(b, "dma.clock.frequency");
	assert_close(row->value, 1e9 / row->counted->seconds);
	block_remove(b);
}

static void assert_clock(const struct block *b, const char *name)
{
	const struct uncore_row *row = block_row(b, name);

	assert_int_equal(row->quality, UNCORE_SUSPECT);
	assert_true(row->value >= 0);
	assert_contains(row->reason, "its clock counted the cycles of");
}

/* A rate over cycles that are not those of the time between the readings. */
static void test_clock_disagrees(void **state)
{
	struct block *b = fresh();

	(void)state;
	must(b, block_use(b, HEAD "access: 64\nwindow: free-running\nquantity: dma\n"
				  "clock: {hz: 1e9}\ncounters:\n"
				  "  act: {title: c, offset: 0, width: 64, role: active}\n"
				  "  bsy: {title: c, offset: 8, width: 64, role: busy}\n"
				  "  idl: {title: c, offset: 16, width: 64, role: idle}\n"
				  "  byt: {title: c, offset: 24, width: 64, role: bytes}\n"));
	must(b, block_start(b, NULL));
	block_wait_us(20000);
	block_set64(b, 0, 3000000);
	block_set64(b, 16, 1000000);
	block_set64(b, 24, 8000000);
	block_read(b);
	assert_clock(b, "dma.bandwidth");
	assert_close(block_row(b, "dma.bandwidth")->value, 2e9);
	assert_clock(b, "dma.clock.frequency");
	block_assert(b, "dma.cycles", 4e6);
	block_assert(b, "dma.utilization", 0.75);
	block_assert(b, "dma.idle", 0.25);
	/* Each of them can be, but not all together. */
	for (size_t i = 0; i < 3; i++)
		block_set64(b, (size_t)8 * i, 900000000);
	block_read(b);
	assert_clock(b, "dma.bandwidth");
	block_remove(b);
}

/* A latency is cycles over the frequency: with twice the true one it is half of the true latency. The bins do
 * not show that, the counters of cycles do. */
static void test_latency_clock(void **state)
{
	static const char *const blocks[] = {
		HEAD "access: 64\nwindow: free-running\nquantity: dma\nclock: {hz: 1e9}\n"
		     "histogram: {listed: [0, 16, 32], last: 40}\ncounters:\n"
		     "  bin_{n}: {title: c, offset: 0, width: 64, count: 3, role: bin}\n"
		     "  act: {title: c, offset: 24, width: 64, role: active}\n"
		     "  bsy: {title: c, offset: 32, width: 64, role: busy}\n"
		     "  idl: {title: c, offset: 40, width: 64, role: idle}\n",
		HEAD "access: 64\nwindow: free-running\nquantity: dma\n"
		     "clock: {counter: clk, hz: 1e9}\n"
		     "histogram: {listed: [0, 16, 32], last: 40}\ncounters:\n"
		     "  bin_{n}: {title: c, offset: 0, width: 64, count: 3, role: bin}\n"
		     "  clk: {title: c, offset: 24, width: 64}\n",
	};
	static const char *const times[] = {"dma.latency", "dma.latency.p50.time",
					    "dma.latency.p90.time", "dma.latency.p99.time",
					    "dma.latency.p99.9.time"};

	(void)state;
	for (size_t i = 0; i < COUNT(blocks); i++) {
		struct block *b = fresh();

		must(b, block_use(b, blocks[i]));
		must(b, block_start(b, NULL));
		block_wait_us(2000000);
		block_set64(b, 8, 1000);
		block_set64(b, 24, 2000000000);
		block_read(b);
		block_assert(b, "dma.latency", 24e-9);
		for (size_t k = 1; k < COUNT(times); k++)
			block_assert(b, times[k], 31e-9);
		block_wait_us(2000000);
		block_set64(b, 8, 2000);
		block_set64(b, 24, 3000000000); /* 0.5 GHz */
		block_read(b);
		for (size_t k = 0; k < COUNT(times); k++)
			assert_clock(b, times[k]);
		block_assert(b, "dma.latency.cycles", 24);
		block_assert(b, "dma.latency.p50", 31);
		block_remove(b);
	}
}

/* The frequency is that which the clock's counter shows; its cycles are no bin. */
static void test_measured_clock(void **state)
{
	struct block *b = fresh();
	const struct uncore_row *row;

	(void)state;
	must(b, block_use(b, HEAD "access: 64\nwindow: free-running\nquantity: dma\n"
				  "clock: {counter: clk}\n"
				  "histogram: {listed: [0, 16, 32], last: 40}\ncounters:\n"
				  "  bin_{n}: {title: c, offset: 0, width: 64, count: 3, "
				  "role: bin}\n"
				  "  clk: {title: c, offset: 24, width: 64}\n"));
	must(b, block_start(b, NULL));
	block_wait_us(990000); /* and 10 ms in block_read() */
	block_set64(b, 8, 1000);
	block_set64(b, 24, 500000000);
	block_read(b);
	row = block_row(b, "dma.latency.p50.time");
	assert_true(fabs(row->value - 62e-9) < 1e-11);
	assert_true(fabs(row->low - 32e-9) < 1e-11);
	block_remove(b);
}

/* What stands for a bin is neither rounded nor cut. */
static void test_middles(void **state)
{
	static const double middles[] = {2.5, 12.5, 160.25};

	(void)state;
	for (size_t i = 0; i < COUNT(middles); i++) {
		struct block *b = fresh();

		must(b,
		     block_use(b, HEAD "access: 64\nwindow: free-running\nquantity: dma\n"
				       "histogram: {listed: [0, 5, 20], last: 160.25}\ncounters:\n"
				       "  bin_{n}: {title: c, offset: 0, width: 64, count: 3, "
				       "role: bin}\n"));
		must(b, block_start(b, NULL));
		block_set64(b, 8 * i, 7);
		block_read(b);
		block_assert(b, "dma.latency.cycles", middles[i]);
		block_remove(b);
	}
}

/* Any bin may be given what stands for it, and each bin is a row with its share. */
static void test_values(void **state)
{
	struct block *b = fresh();

	(void)state;
	must(b,
	     block_use(b, HEAD "access: 64\nwindow: free-running\nquantity: dma\n"
			       "histogram: {listed: [0, 5, 20], values: [1, 7.25, 33]}\n"
			       "counters:\n  bin_{n}: {title: c, offset: 0, width: 64, count: 3, "
			       "role: bin}\n"));
	must(b, block_start(b, NULL));
	block_set64(b, 0, 2);
	block_set64(b, 8, 4);
	block_set64(b, 16, 2);
	block_read(b);
	block_assert(b, "dma.latency.cycles", (2 * 1 + 4 * 7.25 + 2 * 33) / 8);
	block_assert(b, "dma.latency.bin.0_to_4", 2);
	block_assert(b, "dma.latency.bin.5_to_19", 4);
	block_assert(b, "dma.latency.bin.20_up", 2);
	assert_close(block_row(b, "dma.latency.bin.5_to_19")->ceiling, 8);
	block_remove(b);
}

#define BINS                                                                \
	"counters:\n  bin_{n}: {title: c, offset: 0, width: 64, count: 3, " \
	"role: bin}\n"

/* Thresholds that mean nothing: the bins have no value, for this reason, and the other counters have. */
static void refuses_bins(struct block *b, const char *text, const char *why)
{
	must(b, block_use(b, text));
	must(b, block_start(b, NULL));
	block_set64(b, 0x30, 77);
	block_read(b);
	block_assert_none(b, "dma.latency.bin.1", why);
	block_assert_none(b, "dma.latency.p99", why);
	assert_true(block_row(b, "dma.bandwidth")->value > 0);
	uncore_monitor_free(b->m);
	b->m = NULL;
	block_set64(b, 0x30, 0);
}

/* Without bounds in the file they are those that the registers have, which must be the same in all instances. */
static void test_thresholds_read(void **state)
{
	static const char text[] = HEAD
		"access: 64\nwindow: free-running\nquantity: dma\nclock: host\ncount: 2\nstride: 0x100\n"
		"histogram: {thresholds: 0x40, last: 160}\n" BINS
		"  moved: {title: c, offset: 0x30, width: 64, role: bytes}\n";
	struct block *b = fresh();

	(void)state;
	refuses_bins(b, text, "do not ascend");
	for (size_t i = 0; i < 2; i++) {
		block_set64(b, 0x100 * i + 0x40, 10);
		block_set64(b, 0x100 * i + 0x48, i ? 30 : 20);
	}
	refuses_bins(b, text, "must be the same");
	block_set64(b, 0x148, 200);
	block_set64(b, 0x48, 200);
	refuses_bins(b, text, "'last' lies below the last bin");
	block_set64(b, 0x148, 20);
	block_set64(b, 0x48, 20);
	must(b, block_use(b, text));
	must(b, block_start(b, NULL));
	block_set64(b, 8, 3);
	block_set64(b, 0x110, 1);
	block_read(b);
	block_assert(b, "dma.latency.bin.10_to_19", 3);
	block_assert(b, "dma.latency.packets", 4);
	block_set64(b, 8, 6);
	block_set64(b, 16, 1);
	block_read(b);
	block_assert(b, "dma.latency.cycles", (3 * 15 + 160) / 4.0);
	block_remove(b);
}

/* Bounds of the file are written, and what was there is put back. Without --program other bounds are an error. */
static void test_thresholds_written(void **state)
{
	struct block *b = fresh();

	(void)state;
	block_set64(b, 0x40, 7);
	must(b, uncore_set_program(b->u, true));
	must(b, block_use(b, HEAD
			  "access: 64\nwindow: free-running\nquantity: dma\n"
			  "histogram: {listed: [0, 5, 20], thresholds: 0x40, last: 160}\n" BINS));
	must(b, block_start(b, NULL));
	assert_int_equal(*(volatile uint64_t *)(b->map + 0x40), 5);
	assert_int_equal(*(volatile uint64_t *)(b->map + 0x48), 20);
	block_set64(b, 8, 3);
	block_read(b);
	block_assert(b, "dma.latency.cycles", 12.5);
	must(b, uncore_monitor_stop(b->m));
	assert_int_equal(*(volatile uint64_t *)(b->map + 0x40), 7);
	assert_int_equal(*(volatile uint64_t *)(b->map + 0x48), 0);
	uncore_monitor_free(b->m);
	b->m = NULL;
	must(b, uncore_set_program(b->u, false));
	assert_int_equal(block_start(b, NULL), -EACCES);
	assert_contains(uncore_error(b->u), "threshold of bin 1 is 7 and not 5");
	block_set64(b, 0x40, 5);
	block_set64(b, 0x48, 20);
	must(b, block_start(b, NULL));
	block_remove(b);
}

/* ---- what is no data ---- */

#define CLOCKED                                                                               \
	HEAD "access: 32\nwindow: free-running\nclock: {hz: 1e6}\nquantity: dma\ncounters:\n" \
	     "  act: {title: c, offset: 0, width: 32, role: active}\n"                        \
	     "  idl: {title: c, offset: 4, width: 32, role: idle}\n"

static void assert_fell(const struct block *b, const char *name, const char *why)
{
	const struct uncore_row *row = block_row(b, name);

	assert_int_equal(row->quality, UNCORE_SUSPECT);
	assert_true(isnan(row->value));
	assert_contains(row->reason, why);
}

/* 32 bits at 1 MHz wrap once in an hour: what falls has been set back. */
static void test_fall(void **state)
{
	struct block *b = fresh();

	(void)state;
	must(b, block_use(b, CLOCKED));
	block_set32(b, 0, 1000);
	must(b, block_start(b, "test_0/act/,test_0/idl/"));
	block_wait_us(2000);
	block_set32(b, 0, 900);
	block_set32(b, 4, 100);
	block_read(b);
	assert_fell(b, "test_0/act/", "fell between two readings: the count, from 1000 to 900");
	block_assert(b, "test_0/idl/", 100);
	block_wait_us(2000);
	block_set32(b, 0, 950);
	block_read(b);
	block_assert(b, "test_0/act/", 50);
	block_total(b);
	assert_fell(b, "test_0/act/", "between two readings");
	block_remove(b);
}

/* A counter of 48 bits that nothing is known of does not make a round in a moment either. */
static void test_fall_unknown(void **state)
{
	struct block *b = fresh();

	(void)state;
	must(b,
	     block_use(b, HEAD "access: 64\nwindow: free-running\nclock: host\nquantity: dma\n"
			       "counters:\n  c: {title: c, offset: 0, width: 48, role: bytes}\n"));
	block_set64(b, 0, 5000000);
	must(b, block_start(b, NULL));
	block_wait_us(2000);
	block_set64(b, 0, 100);
	block_read(b);
	assert_fell(b, "dma.bandwidth", "the count, from 5000000 to 100");
	block_remove(b);
}

static void test_wrapped_twice(void **state)
{
	struct block *b = fresh();

	(void)state;
	must(b, block_use(b, HEAD "access: 32\nwindow: free-running\nclock: {hz: 1e6}\n"
				  "quantity: dma\ncounters:\n"
				  "  act: {title: c, offset: 0, width: 8, role: active}\n"));
	must(b, block_start(b, "test_0/act/"));
	block_wait_us(2000);
	block_set32(b, 0, 17);
	block_read(b);
	block_assert_none(b, "test_0/act/", "may have wrapped more than once: its 8 bits");
	block_total(b);
	block_assert_none(b, "test_0/act/", "may have wrapped more than once");
	block_remove(b);
}

/* All ones everywhere is a device that is gone; in one full register it is a count. */
static void test_all_ones(void **state)
{
	struct block *b = fresh();

	(void)state;
	must(b, block_use(b, HEAD "access: 32\nwindow: free-running\ncounters:\n"
				  "  c: {title: c, offset: 0, width: 32}\n"
				  "  d: {title: c, offset: 4, width: 32}\n"
				  "  e: {title: c, offset: 8, width: 24}\n"));
	must(b, block_start(b, "test_0/c/,test_0/d/,test_0/e/"));
	block_set32(b, 0, UINT32_MAX);
	block_read(b);
	block_assert(b, "test_0/c/", UINT32_MAX);
	block_set32(b, 8, UINT32_MAX);
	block_read(b);
	block_assert(b, "test_0/c/", 0);
	block_assert_none(b, "test_0/e/", "all ones");
	block_set32(b, 4, UINT32_MAX);
	block_read(b);
	block_assert_none(b, "test_0/c/", "the device is gone");
	block_assert_none(b, "test_0/d/", "the device is gone");
	assert_int_equal(block_start(b, "test_0/c/,test_0/e/"), -ENODEV);
	assert_contains(uncore_error(b->u), "test_0/c/ on CPU");
	assert_contains(uncore_error(b->u), "all ones");
	block_remove(b);
}

static void test_short(void **state)
{
	struct block *b = fresh();

	(void)state;
	assert_int_equal(truncate(b->map_path, 0xfff), 0);
	must(b, block_use(b, CLOCKED));
	assert_int_equal(block_start(b, "test_0/act/"), -ENODEV);
	assert_contains(uncore_error(b->u), "4095 bytes");
	assert_contains(uncore_error(b->u), "4096");
	block_remove(b);
}

/* The file ends while it is read from: no signal, and no value. */
static void test_vanished(void **state)
{
	struct block *b = fresh();

	(void)state;
	must(b, block_use(b, CLOCKED));
	must(b, block_start(b, "test_0/act/"));
	assert_int_equal(truncate(b->map_path, 0), 0);
	block_read(b);
	block_assert_none(b, "test_0/act/", "No such device");
	block_remove(b);
}

/* What has no registers, and would be waited for. */
static void refuse_place(struct block *b, const char *name)
{
	char path[300], spec[400];

	snprintf(path, sizeof(path), "%s/%s", b->tree.dir, name);
	assert_int_equal(*name == 'p' ? mkfifo(path, 0600) : mkdir(path, 0700), 0);
	uncore_monitor_free(b->m);
	b->m = NULL;
	snprintf(spec, sizeof(spec), "regs:generic-pmon,at=%s", path);
	must(b, uncore_set_source(b->u, spec));
	must(b, uncore_scan(b->u));
	alarm(100);
	assert_int_equal(block_start(b, NULL), -EINVAL);
	alarm(0);
	assert_contains(uncore_error(b->u), "neither a file nor a device");
}

static void test_refused(void **state)
{
	struct block *b = fresh();

	(void)state;
	must(b, block_use(b, CLOCKED));
	assert_int_equal(block_start(b, "test_0/counter=7/"), -EINVAL);
	assert_contains(uncore_error(b->u), "no such counter");
	assert_int_equal(block_start(b, "test_0/act/u"), -EINVAL);
	assert_contains(uncore_error(b->u), "no modifiers");
	uncore_monitor_free(b->m);
	b->m = NULL;
	assert_int_equal(uncore_set_source(b->u, "regs:generic-pmon"), 0);
	assert_int_equal(uncore_scan(b->u), -EINVAL);
	assert_contains(uncore_error(b->u), "does not say where it is");
	assert_int_equal(uncore_set_source(b->u, "regs:generic-pmon,at=/nowhere/x"), 0);
	must(b, uncore_scan(b->u));
	assert_int_equal(block_start(b, NULL), -ENODEV);
	assert_contains(uncore_error(b->u), "/nowhere/x cannot be opened");
	refuse_place(b, "pipe");
	refuse_place(b, "directory");
	/* The kernel's counters are there again afterwards. */
	uncore_monitor_free(b->m);
	b->m = NULL;
	assert_int_equal(uncore_set_source(b->u, "kernel"), 0);
	must(b, uncore_scan(b->u));
	block_remove(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wraps),
		cmocka_unit_test(test_exact_width),
		cmocka_unit_test(test_bits_above),
		cmocka_unit_test(test_halves),
		cmocka_unit_test(test_instances),
		cmocka_unit_test(test_host_clock),
		cmocka_unit_test(test_clock_counter),
		cmocka_unit_test(test_clock_disagrees),
		cmocka_unit_test(test_latency_clock),
		cmocka_unit_test(test_measured_clock),
		cmocka_unit_test(test_middles),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_fall),
		cmocka_unit_test(test_fall_unknown),
		cmocka_unit_test(test_wrapped_twice),
		cmocka_unit_test(test_all_ones),
		cmocka_unit_test(test_short),
		cmocka_unit_test(test_vanished),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_thresholds_read),
		cmocka_unit_test(test_thresholds_written),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, finish);
}
