/* SPDX-License-Identifier: MIT */
/* The worked example of PCIe and DMA monitors, through the source: every number in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "block.h"

static const uint64_t at_t0[] = {125000000, 25000000, 100000000, 8000000000, 1000000,
				 600000,    200000,   20000,     5000};
static const uint64_t at_t1[] = {215000000, 55000000, 105000000, 20000000000, 1180000,
				 690000,    220000,   24000,     6000};

static void set_all(struct block *b, const uint64_t *values)
{
	for (size_t i = 0; i < COUNT(at_t0); i++)
		block_set64(b, 8 * i, values[i]);
}

static void between(const struct block *b, const char *name, double low, double high)
{
	const struct uncore_row *row = block_row(b, name);

	assert_close(row->low, low);
	assert_close(row->high, high);
	block_assert(b, name, high);
}

static void test_example(void **state)
{
	const struct uncore_row *last;
	struct block b;

	(void)state;
	block_make(&b);
	must(&b, block_use(&b, "generic-pmon"));
	set_all(&b, at_t0);
	must(&b, block_start(&b, NULL));
	set_all(&b, at_t1);
	block_read(&b);
	block_assert(&b, "pcie.dma.cycles", 125000000);
	block_assert(&b, "pcie.dma.bytes_per_cycle", 96);
	block_assert(&b, "pcie.dma.bandwidth", 96e9);
	block_assert(&b, "pcie.dma.utilization", 0.72);
	block_assert(&b, "pcie.dma.backpressure", 0.24);
	block_assert(&b, "pcie.dma.idle", 0.04);
	block_assert(&b, "pcie.dma.latency.packets", 295000);
	block_assert(&b, "pcie.dma.latency.cycles", 5104000.0 / 295000);
	assert_true(fabs(block_row(&b, "pcie.dma.latency.cycles")->value - 17.30) < 0.005);
	block_assert(&b, "pcie.dma.latency", 5104000.0 / 295000 / 1e9);
	between(&b, "pcie.dma.latency.p50", 0, 15);
	between(&b, "pcie.dma.latency.p90", 16, 31);
	between(&b, "pcie.dma.latency.p90.time", 16e-9, 31e-9);
	between(&b, "pcie.dma.latency.p99", 64, 127);
	last = block_row(&b, "pcie.dma.latency.p99.9");
	assert_true(last->low == 128 && isnan(last->high));
	block_assert(&b, "pcie.dma.latency.p99.9", 128);
	block_remove(&b);
}

/* Each bin, over any window. */
static void test_bins(void **state)
{
	static const double deltas[] = {180000, 90000, 20000, 4000, 1000};
	struct block b;
	char name[64];

	(void)state;
	block_make(&b);
	must(&b, block_use(&b, "generic-pmon"));
	set_all(&b, at_t0);
	must(&b, block_start(&b, "generic_pmon_0/hist_bin_0/,generic_pmon_0/hist_bin_1/,"
				 "generic_pmon_0/hist_bin_2/,generic_pmon_0/hist_bin_3/,"
				 "generic_pmon_0/hist_bin_4/"));
	set_all(&b, at_t1);
	block_read(&b);
	for (size_t k = 0; k < COUNT(deltas); k++) {
		snprintf(name, sizeof(name), "generic_pmon_0/hist_bin_%zu/", k);
		block_assert(&b, name, deltas[k]);
	}
	block_remove(&b);
}

/* Nothing moved: no cycles, no packets, and so no ratio, no mean and no percentile. */
static void test_idle(void **state)
{
	struct block b;

	(void)state;
	block_make(&b);
	must(&b, block_use(&b, "generic-pmon"));
	must(&b, block_start(&b, NULL));
	block_read(&b);
	block_assert(&b, "pcie.dma.cycles", 0);
	block_assert(&b, "pcie.dma.latency.packets", 0);
	block_assert_none(&b, "pcie.dma.bandwidth", "division by zero");
	block_assert_none(&b, "pcie.dma.latency.cycles", "division by zero");
	block_assert_none(&b, "pcie.dma.latency.p50", "division by zero");
	assert_true(isnan(block_row(&b, "pcie.dma.latency.p50")->low));
	block_remove(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_example),
		cmocka_unit_test(test_bins),
		cmocka_unit_test(test_idle),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
