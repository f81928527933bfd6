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
	RATE("memory.activates", "activates", 0x05),
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
	RATE("memory.home.requests", "requests", 0x00),             \
		{"memory.home.remote.ratio",                        \
		 "remote_requests / requests",                      \
		 {{"remote_requests", 0x01}, {"requests", 0x00}}},  \
	{                                                           \
		"memory.home.die.ratio", "die_requests / requests", \
		{                                                   \
			{"die_requests", 0x02},                     \
			{                                           \
				"requests", 0x00                    \
			}                                           \
		}                                                   \
	}

static const struct expected hha_v1[] = {
	HHA,
	{"memory.home.read.bandwidth",
	 "(reads_64 * 64 + reads_128 * 128) / seconds",
	 {{"reads_64", 0x1c}, {"reads_128", 0x1e}}},
	{"memory.home.write.bandwidth",
	 "(writes_64 * 64 + writes_128 * 128) / seconds",
	 {{"writes_64", 0x1d}, {"writes_128", 0x1f}}},
};

static const struct expected hha_v2[] = {
	HHA,
	CLOCK("memory.home.clock.frequency", 0x55),
};

static void hisilicon_home_agents(void **state)
{
	(void)state;
	assert_on("hisilicon-hip08", "hisi-hha", 1, hha_v1, COUNT(hha_v1));
	assert_on("hisilicon-hip09", "hisi-hha", 1, hha_v2, COUNT(hha_v2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hisilicon_controllers),
		cmocka_unit_test(hisilicon_home_agents),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
