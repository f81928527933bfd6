/* SPDX-License-Identifier: MIT */
/*
 * The families of NVIDIA's PCIe. The configuration words were written from the event tables
 * of the driver (nvidia_cspmu.c), the formulas from nvidia-tegra410-pmu.rst.
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

/* ---- Tegra410 --------------------------------------------------------------------------------- */

static const struct expected pcie[] = {
	{"pcie.inbound.read.bandwidth", "rd_bytes / seconds", {{"rd_bytes", 0}}},
	{"pcie.inbound.write.bandwidth", "wr_bytes / seconds", {{"wr_bytes", 1}}},
	{"pcie.inbound.bandwidth",
	 "(rd_bytes + wr_bytes) / seconds",
	 {{"rd_bytes", 0}, {"wr_bytes", 1}}},
	{"pcie.inbound.read.requests", "rd_req / seconds", {{"rd_req", 2}}},
	{"pcie.inbound.write.requests", "wr_req / seconds", {{"wr_req", 3}}},
	{"pcie.inbound.read.request.rate", "rd_req / cycles", {{"rd_req", 2}, {"cycles", CYCLES}}},
	{"pcie.inbound.write.request.rate", "wr_req / cycles", {{"wr_req", 3}, {"cycles", CYCLES}}},
	{"pcie.inbound.read.latency",
	 "rd_cum_outs / rd_req * source_count(cycles) * seconds / cycles",
	 {{"rd_cum_outs", 4}, {"rd_req", 2}, {"cycles", CYCLES}}},
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
	{"pcie.outbound.read.request.rate", "rd_req / cycles", {{"rd_req", 2}, {"cycles", 4}}},
	{"pcie.outbound.write.request.rate", "wr_req / cycles", {{"wr_req", 3}, {"cycles", 4}}},
};

static void pcie_of_t410(void **state)
{
	struct uncore *u = scan_fixture("nvidia-t410-1socket");

	(void)state;
	assert_family(u, "nvidia-t410-pcie", 6, pcie, COUNT(pcie));
	assert_family(u, "nvidia-t410-pcie-tgt", 6, pcie_tgt, COUNT(pcie_tgt));
	uncore_free(u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pcie_of_t410),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
