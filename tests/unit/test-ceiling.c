/* SPDX-License-Identifier: MIT */
/* The peak of memory: channels by what firmware writes, broken tables, the user's value. Locators
 * are those of machines whose tables were published. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "helpers.h"
#include "machine/ceiling.h"
#include "uncore.h"

#define DDR5 0x22

/* ---- channels --------------------------------------------------------------------------------- */

/* Texts of modules: each line a locator, '|', its bank; "-" before it: an empty place. */
static struct unc_modules modules_of(const char *lines)
{
	struct unc_modules all = {0};

	while (*lines) {
		struct unc_module m = {.present = *lines != '-',
				       .kind = DDR5,
				       .width = 64,
				       .rated = 4800,
				       .configured = 4800};
		size_t empty = !m.present, first = strcspn(lines, "|"), len = strcspn(lines, "\n");

		unc_module_name(m.locator, lines + empty, first - empty);
		unc_module_name(m.bank, lines + first + 1, len - first - 1);
		assert_int_equal(unc_modules_add(&all, &m, NULL), 0);
		lines += len + (lines[len] == '\n');
	}
	return all;
}

struct told {
	const char *lines;
	size_t sockets, pmus;
	unsigned channels;    /* of each socket; 0: not told */
	const char *sentence; /* then */
};

static void assert_told(const struct told *t)
{
	struct unc_modules all = modules_of(t->lines);
	struct unc_channels found = {.channels = 77};
	struct unc_error e = {""};
	int r = unc_modules_channels(&all, t->sockets, t->pmus, &found, &e);

	unc_modules_finish(&all);
	if (t->channels && (r < 0 || found.channels != t->channels))
		fail_msg("%s: %u channels, %s", t->lines, found.channels, e.text);
	if (!t->channels && (r != -ENODATA || !strstr(e.text, t->sentence)))
		fail_msg("%s: %d, %u channels, '%s'", t->lines, r, found.channels, e.text);
	if (r < 0)
		assert_int_equal(found.channels, 77);
}

static void channels_by_what_the_firmware_writes(void **state)
{
	static const struct told told[] = {
		/* AMD: two places on each channel, one of them empty */
		{"-DIMM 0|P0 CHANNEL A\nDIMM 1|P0 CHANNEL A\n-DIMM 0|P0 CHANNEL B\nDIMM 1|P0 CHANNEL B",
		 1, 0, 2, NULL},
		{"CPU0_DIMMA0|P0 CHANNEL A\nCPU0_DIMMB0|P0 CHANNEL B", 1, 0, 2, NULL},
		{"DIMM_P0_A0|BANK 0\nDIMM_P0_A1|BANK 1\nDIMM_P1_A0|BANK 0\nDIMM_P1_A1|BANK 1", 2, 0,
		 1, NULL},
		{"DIMM_P0_A0|N0\nDIMM_P0_B0|N0", 1, 0, 2, NULL},
		/* Intel */
		{"DIMM_A1|NODE 0 CHANNEL 0 DIMM 0\nDIMM_A2|NODE 0 CHANNEL 0 DIMM 1\n"
		 "DIMM_J1|NODE 1 CHANNEL 2 DIMM 0\nDIMM_J2|NODE 1 CHANNEL 2 DIMM 1",
		 2, 0, 1, NULL},
		{"CPU1_DIMM_A1|NODE 1\nCPU1_DIMM_A2|NODE 1\nCPU1_DIMM_B1|NODE 1", 1, 0, 2, NULL},
		{"DIMM_A1|NODE 1\nDIMM_B1|NODE 1\nDIMM_G1|NODE 2\nDIMM_H1|NODE 2", 2, 0, 2, NULL},
		{"CPU0_DIMM_A|BANK 0\nCPU0_DIMM_B|BANK 1\nCPU0_DIMM_L|BANK 11", 1, 0, 3, NULL},
		{"CPU0 CH0/D0|BANK 0\nCPU0 CH0/D1|BANK 0\nCPU0 CH7/D0|BANK 7", 1, 0, 2, NULL},
		{"CPU0_C0D0|NODE 0\nCPU0_C0D1|NODE 0\nCPU0_C1D0|NODE 0", 1, 0, 2, NULL},
		{"CPU0 Channel0 DIMM0|NODE 0\nCPU1 Channel7 DIMM0|NODE 7", 2, 0, 1, NULL},
		{"Controller0-ChannelA-DIMM0|BANK 0\nController1-ChannelA-DIMM0|BANK 0", 1, 0, 2,
		 NULL},
		{"Controller0-ChannelA/B-DIMM0|BANK 0/1\nController1-ChannelA/B-DIMM0|BANK 2/3", 1,
		 0, 2, NULL},
		{"ChannelA-DIMM0|BANK 0\nChannelA-DIMM1|BANK 1", 1, 0, 1, NULL},
		{"Channel-0-DIMM-0|BANK 0", 1, 0, 1, NULL},
		{"SODIMM0|CHANNEL A DIMM0\nSODIMM1|CHANNEL B DIMM0", 1, 0, 2, NULL},
		{"P1-DIMMA1|P0_Node0_Channel0_Dimm0\nP1-DIMMB1|P0_Node0_Channel1_Dimm0\n"
		 "P2-DIMME1|P1_Node0_Channel0_Dimm0\nP2-DIMMF1|P1_Node0_Channel1_Dimm0",
		 2, 0, 2, NULL},
		/* a second memory controller of the same socket */
		{"DIMMA1|P0_Node0_Channel0_Dimm0\nDIMMC1|P0_Node1_Channel0_Dimm0", 1, 0, 2, NULL},
		/* Arm servers: the silk-screen's number is no channel */
		{"DIMM000 J11|SOCKET 0 CHANNEL 0 DIMM 0\n-DIMM001 J12|SOCKET 0 CHANNEL 0 DIMM 1\n"
		 "DIMM010 J13|SOCKET 0 CHANNEL 1 DIMM 0\n-DIMM011 J14|SOCKET 0 CHANNEL 1 DIMM 1",
		 1, 0, 2, NULL},
		{"DIMM000|_Node0_Channel0_Dimm0\nDIMM100|_Node1_Channel0_Dimm0", 2, 0, 1, NULL},
		/* one bank for all of them: the letters remain */
		{"P1-DIMMA1|P0_Node0_Channel0_Dimm0\nP1-DIMMB1|P0_Node0_Channel0_Dimm0\n"
		 "P1-DIMMC1|P0_Node0_Channel0_Dimm0\nP1-DIMMD1|P0_Node0_Channel0_Dimm0",
		 1, 0, 4, NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(told); i++)
		assert_told(&told[i]);
}

static void what_is_not_told_is_not_guessed(void **state)
{
	static const struct told told[] = {
		/* the letter is a socket and the number a place: A1 and A4 share a channel */
		{"A1|Not Specified\nA2|Not Specified\nA3|Not Specified\nA4|Not Specified", 1, 0, 0,
		 "not told which of the 4 modules share a channel (the first is at 'A1', bank 'Not "
		 "Specified')"},
		{"PROC 1 DIMM 1|\nPROC 1 DIMM 3|", 1, 0, 0, "share a channel"},
		{"PROC 1 DIMM 1D|\nPROC 1 DIMM 2A|", 1, 0, 0, "share a channel"},
		{"A1_DIMM0|A1_BANK0\nA1_DIMM1|A1_BANK1", 1, 0, 0, "share a channel"},
		{"Node0_Dimm0|Node0_Bank0\nNode0_Dimm4|Node0_Bank0", 1, 0, 0, "share a channel"},
		{"Socket 1 DIMM 1|Bank 1\nSocket 1 DIMM 2|Bank 2", 1, 8, 0, "share a channel"},
		/* but one is alone, and as many as there are channels, or twice as many */
		{"Socket 1 DIMM 1|Bank 1", 1, 8, 1, NULL},
		{"LP5x_0|LP5x_0\nLP5x_1|LP5x_1", 2, 0, 1, NULL},
		{"A1|\nA2|\nA3|\nA4|\nB1|\nB2|\nB3|\nB4|", 2, 4, 4, NULL},
		{"A1|\nA2|\nA3|\nA4|\nB1|\nB2|\nB3|\nB4|", 2, 2, 2, NULL},
		{"A1|\nA2|\nA3|\nA4|\nB1|\nB2|\nB3|\nB4|", 2, 3, 0, "share a channel"},
		/* texts that cannot be right */
		{"DIMM_A1|\nDIMM_B1|\nDIMM_C1|", 1, 2, 0, "share a channel"},
		{"DIMM_A1|CHANNEL 0\nDIMM_B1|CHANNEL 0", 1, 0, 0,
		 "tell of 1 memory channels and of 2"},
		/* sockets that are not alike */
		{"P0 CHANNEL A|\nP0 CHANNEL B|\nP0 CHANNEL C|\nP1 CHANNEL A|", 2, 0, 0,
		 "the 4 memory channels are not evenly spread over 2 sockets"},
		{"DIMM_A1|NODE 0\nDIMM_B1|NODE 0\nDIMM_C1|NODE 0\nDIMM_G1|NODE 1", 2, 0, 0,
		 "evenly"},
		{"CHANNEL A|\nCHANNEL B|\nCHANNEL C|", 2, 0, 0, "evenly"},
		{"P0 CHANNEL A|\nP0 CHANNEL B|", 2, 0, 0, "only 1 of the 2 sockets have memory"},
		/* all CPUs of the second one are offline */
		{"P0 CHANNEL A|\nP1 CHANNEL A|", 1, 0, 1, NULL},
		{"-P0 CHANNEL A|\n-P0 CHANNEL B|", 1, 0, 0, "no memory module is told"},
		{"", 1, 0, 0, "no memory module is told"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(told); i++)
		assert_told(&told[i]);
}

static void modules_that_are_not_alike(void **state)
{
	static const struct {
		struct unc_module second;
		const char *sentence; /* NULL: it does not matter */
	} cases[] = {
		{{true, DDR5, "DIMM_B1", "", 64, 5600, 4800}, NULL},
		{{false, 0, "DIMM_B1", "", 0, 0, 0}, NULL},
		{{true, 0x21, "DIMM_B1", "", 64, 4800, 4800}, "different kinds (DDR5, HBM2)"},
		{{true, DDR5, "DIMM_B1", "", 32, 4800, 4800},
		 "the width of the module at 'DIMM_B1' is another than the others'"},
		{{true, DDR5, "DIMM_B1", "", 0, 4800, 4800},
		 "the width of the module at 'DIMM_B1' is not told"},
		{{true, DDR5, "DIMM_B1", "", 64, 0, 0},
		 "the speed of the module at 'DIMM_B1' is not told"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct unc_modules all = modules_of("DIMM_A1|");
		struct unc_channels found;
		struct unc_error e = {""};

		assert_int_equal(unc_modules_add(&all, &cases[i].second, NULL), 0);
		if (cases[i].sentence) {
			assert_int_equal(unc_modules_channels(&all, 1, 0, &found, &e), -ENODATA);
			assert_contains(e.text, cases[i].sentence);
		} else {
			assert_int_equal(unc_modules_channels(&all, 1, 0, &found, &e), 0);
		}
		unc_modules_finish(&all);
	}
}

static void speed_of_the_slowest(void **state)
{
	static const struct {
		unsigned rated, configured;
		double transfers;
		bool by_rating;
	} cases[] = {
		{4800, 4800, 4800, false}, {5600, 4400, 4400, false},
		{8532, 0, 4800, true},     {1333, 667, 1333, false}, /* a clock */
		{0, 2933, 2933, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct unc_modules all = modules_of("DIMM_A1|\nDIMM_B1|");
		struct unc_channels found;

		all.items[1].rated = cases[i].rated;
		all.items[1].configured = cases[i].configured;
		assert_int_equal(unc_modules_channels(&all, 1, 0, &found, NULL), 0);
		assert_close(found.transfers, cases[i].transfers);
		assert_int_equal(found.rated, cases[i].by_rating);
		assert_int_equal(found.modules, 2);
		assert_int_equal(found.width, 64);
		unc_modules_finish(&all);
	}
}

/* ---- tables ----------------------------------------------------------------------------------- */

/* A memory device of 21 bytes (SMBIOS 2.1) with two texts, and the end. */
static const uint8_t table[] = {
	17, 21,   0, 0x11, 0,   0x10, 0xfe, 0xff, 72,   0, 64, 0,   0, 0x20, 9, 0, 1,
	2,  0x1a, 0, 0,    'A', '1',  0,    'B',  '\n', 0, 0,  127, 4, 0,    0, 0, 0,
};

static void a_table(void **state)
{
	struct unc_modules all;

	(void)state;
	assert_int_equal(unc_modules_smbios(&all, table, sizeof(table), NULL), 0);
	assert_int_equal(all.count, 1);
	assert_true(all.items[0].present);
	assert_string_equal(all.items[0].locator, "A1");
	assert_string_equal(all.items[0].bank, "B?");
	assert_int_equal(all.items[0].width, 64);
	assert_int_equal(all.items[0].rated + all.items[0].configured, 0);
	assert_string_equal(unc_module_kind(all.items[0].kind), "DDR4");
	unc_modules_finish(&all);
}

static void broken_tables(void **state)
{
	static const struct {
		size_t at;
		uint8_t by;
		size_t len;
		const char *sentence;
	} cases[] = {
		{0, 17, 3, "at byte 0 of the SMBIOS table is cut off"},
		{0, 17, 20, "at byte 0 of the SMBIOS table is cut off"},
		{0, 17, 27, "at byte 0 of the SMBIOS table has texts without an end"},
		{0, 17, 30, "at byte 28 of the SMBIOS table is cut off"},
		{1, 0, sizeof(table), "at byte 0 of the SMBIOS table is shorter than its header"},
		{1, 3, sizeof(table), "at byte 0 of the SMBIOS table is shorter than its header"},
		{1, 255, sizeof(table), "at byte 0 of the SMBIOS table is cut off"},
		{16, 3, sizeof(table),
		 "at byte 0 of the SMBIOS table names a text that it does not"},
		{17, 200, sizeof(table), "names a text that it does not have"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint8_t *copy = malloc(cases[i].len); /* no byte more, for the sanitizer */
		struct unc_modules all = {.count = 77};
		struct unc_error e = {""};

		assert_non_null(copy);
		memcpy(copy, table, cases[i].len);
		copy[cases[i].at] = cases[i].by;
		assert_int_equal(unc_modules_smbios(&all, copy, cases[i].len, &e), -EBADMSG);
		assert_contains(e.text, cases[i].sentence);
		assert_int_equal(all.count, 77);
		free(copy);
	}
}

/* ---- machines --------------------------------------------------------------------------------- */

static struct uncore *scan(const struct tree *t)
{
	struct uncore *u;

	assert_int_equal(uncore_new(&u), 0);
	if (uncore_set_root(u, t->dir) < 0 || uncore_scan(u) < 0)
		fail_msg("%s", uncore_error(u));
	return u;
}

#define RECORD                                                                              \
	"I:1\nE:MEMORY_DEVICE_0_LOCATOR=P0 CHANNEL A\nE:MEMORY_DEVICE_0_SIZE=34359738368\n" \
	"E:MEMORY_DEVICE_0_DATA_WIDTH=64\nE:MEMORY_DEVICE_0_TYPE=DDR5\n"                    \
	"E:MEMORY_DEVICE_0_SPEED_MTS=4800\nE:MEMORY_DEVICE_0_CONFIGURED_SPEED_MTS=4000\n"   \
	"E:MEMORY_DEVICE_1_PRESENT=0\nE:MEMORY_DEVICE_1_LOCATOR=P0 CHANNEL B\n"

static void make_machine(struct tree *t, const char *record)
{
	tree_make(t);
	machine_cpuinfo(t, 143, "");
	machine_cpus(t, (const int[]){0, 1}, 2);
	if (record)
		tree_put(t, "run/udev/data/+dmi:id", record);
}

static void a_machine_by_udev(void **state)
{
	const struct uncore_memory *m;
	struct uncore *u;
	struct tree t;

	(void)state;
	make_machine(&t, RECORD "E:MEMORY_DEVICE_2_LOCATOR=P1 CHANNEL A\n"
				"E:MEMORY_DEVICE_2_SIZE=1\nE:MEMORY_DEVICE_2_DATA_WIDTH=64\n"
				"E:MEMORY_DEVICE_2_SPEED_MTS=4800\nE:MEMORY_DEVICE_2_TYPE=DDR5\n"
				"E:MEMORY_DEVICE_2_CONFIGURED_SPEED_MTS=4800\n");
	u = scan(&t);
	m = uncore_memory_get(u);
	assert_null(m->why);
	assert_string_equal(m->from, "udev");
	assert_int_equal(m->modules, 2);
	assert_int_equal(m->channels, 1);
	assert_close(m->transfers, 4000);
	assert_close(m->peak, 32e9);
	assert_close(unc_ceiling_memory(u, 1, false), 32e9);
	assert_close(unc_ceiling_memory(u, 1, true), 32e9);
	assert_close(unc_ceiling_memory(u, -1, false), 64e9);
	uncore_free(u);
	tree_remove(&t);
}

static void the_users_value_wins(void **state)
{
	const struct uncore_memory *m;
	struct uncore *u;
	struct tree t;

	(void)state;
	make_machine(&t, NULL);
	u = scan(&t);
	m = uncore_memory_get(u);
	assert_true(isnan(m->peak) && isnan(m->transfers));
	assert_null(m->from);
	assert_contains(m->why, "udev has no record of the modules");
	assert_true(isnan(unc_ceiling_memory(u, -1, false)));
	assert_int_equal(uncore_set_memory_peak(u, 0), -EINVAL);
	assert_int_equal(uncore_set_memory_peak(u, INFINITY), -EINVAL);
	assert_int_equal(uncore_set_memory_peak(u, NAN), -EINVAL);
	assert_int_equal(uncore_set_memory_peak(u, 1e11), 0);
	m = uncore_memory_get(u);
	assert_close(m->peak, 1e11);
	assert_string_equal(m->from, "the user");
	assert_null(m->why);
	assert_int_equal(m->channels, 0);
	assert_close(unc_ceiling_memory(u, -1, false), 2e11);
	assert_true(isnan(unc_ceiling_memory(u, 0, true))); /* of how many is not told */
	assert_int_equal(uncore_scan(u), 0);
	assert_close(uncore_memory_get(u)->peak, 1e11);
	uncore_free(u);
	tree_remove(&t);
}

static void a_broken_table_is_not_replaced_by_udev(void **state)
{
	struct uncore *u;
	struct tree t;

	(void)state;
	make_machine(&t, RECORD);
	tree_put_bytes(&t, "sys/firmware/dmi/tables/DMI", (const char *)table, 20);
	u = scan(&t);
	assert_contains(uncore_memory_get(u)->why, "at byte 0 of the SMBIOS table is cut off");
	uncore_free(u);
	tree_remove(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(channels_by_what_the_firmware_writes),
		cmocka_unit_test(what_is_not_told_is_not_guessed),
		cmocka_unit_test(modules_that_are_not_alike),
		cmocka_unit_test(speed_of_the_slowest),
		cmocka_unit_test(a_table),
		cmocka_unit_test(broken_tables),
		cmocka_unit_test(a_machine_by_udev),
		cmocka_unit_test(the_users_value_wins),
		cmocka_unit_test(a_broken_table_is_not_replaced_by_udev),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
