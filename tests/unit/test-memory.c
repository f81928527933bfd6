/* SPDX-License-Identifier: MIT */
/* The peak of memory: channels, broken tables, udev's record, the user's value. */
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
#include "machine/topology.h"
#include "object.h"

#define DDR3 0x18
#define DDR4 0x1a
#define DDR5 0x22
#define LPDDR5 0x23

/* ---- channels --------------------------------------------------------------------------------- */

static void add_module(struct unc_modules *all, struct unc_module m)
{
	struct unc_module *added = unc_append(&all->items, &all->count, sizeof(m));

	assert_non_null(added);
	*added = m;
}

static struct unc_modules modules_of(size_t count)
{
	struct unc_module m = {
		.present = true, .kind = DDR5, .width = 64, .rated = 4800, .configured = 4800};
	struct unc_modules all = {0};

	for (size_t i = 0; i < count; i++)
		add_module(&all, m);
	return all;
}

/* Empty slots count for nothing. */
static void channels_are_filled_evenly(void **state)
{
	static const struct {
		size_t modules, sockets, pmus;
		unsigned channels;    /* of each socket; 0: not known */
		const char *sentence; /* then */
	} cases[] = {
		{8, 1, 8, 8, NULL},
		{16, 1, 8, 8, NULL},
		{16, 2, 8, 8, NULL},
		{8, 2, 2, 2, NULL},
		{4, 1, 8, 4, NULL},
		{1, 1, 8, 1, NULL},
		{15, 1, 8, 0, "the 15 modules of a socket are not evenly spread over its 8"},
		{5, 1, 8, 0, "the 5 modules of a socket are not evenly spread over its 8"},
		{8, 2, 3, 0, "the 4 modules of a socket are not evenly spread over its 3"},
		{3, 2, 8, 0, "the 3 memory modules are not evenly spread over 2 sockets"},
		{1, 1, 0, 1, NULL},
		{2, 2, 0, 1, NULL},
		{4, 2, 0, 0, "which of the 2 modules of a socket share a channel"},
		{0, 1, 8, 0, "the firmware lists no memory module"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct unc_modules all = modules_of(cases[i].modules);
		struct uncore_memory found = {.channels = 77};
		struct unc_error e = {0};
		int r;

		if (cases[i].sockets == 1)
			add_module(&all, (struct unc_module){0});
		all.slots = all.count;
		r = unc_memory_peak(&found, &all, cases[i].sockets, cases[i].pmus, &e);
		assert_int_equal(r, cases[i].channels ? 0 : -ENODATA);
		assert_int_equal(found.channels, cases[i].channels ? cases[i].channels : 77);
		if (cases[i].sentence)
			assert_contains(e.text, cases[i].sentence);
		else
			assert_close(found.peak, cases[i].channels * 38.4e9);
		unc_modules_finish(&all);
	}
}

static void modules_that_differ(void **state)
{
	static const struct {
		struct unc_module second;
		const char *sentence; /* NULL: it does not matter */
	} cases[] = {
		{{.present = true, .kind = DDR5, .width = 64, .rated = 5600, .configured = 4800},
		 NULL},
		{{.present = false, .kind = 0, .width = 0, .rated = 0, .configured = 0}, NULL},
		{{.present = true, .kind = 0x21, .width = 64, .rated = 4800, .configured = 4800},
		 "different kinds (DDR5, HBM2)"},
		{{.present = true, .kind = DDR5, .width = 32, .rated = 4800, .configured = 4800},
		 "the modules are of different widths"},
		{{.present = true, .kind = DDR5, .width = 0, .rated = 4800, .configured = 4800},
		 "the width of a module is not known"},
		{{.present = true, .kind = DDR5, .width = 64, .rated = 0, .configured = 0},
		 "the speed of a module is not known"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct unc_modules all = modules_of(1);
		struct uncore_memory found = {0};
		struct unc_error e = {0};

		add_module(&all, cases[i].second);
		if (cases[i].sentence) {
			assert_int_equal(unc_memory_peak(&found, &all, 1, 2, &e), -ENODATA);
			assert_contains(e.text, cases[i].sentence);
		} else {
			assert_int_equal(unc_memory_peak(&found, &all, 1, 2, &e), 0);
		}
		unc_modules_finish(&all);
	}
}

/* Firmware may give the clock: no type has speeds below its slowest (JESD79-3F: DDR3 800, JESD79-4D: DDR4 1600,
 * JESD79-5C: DDR5 3200 MT/s). What may be both is unknown: DDR3-1600 runs at 800 with three modules on a channel. */
static void speed_of_the_slowest(void **state)
{
	static const struct {
		uint8_t kind;
		unsigned rated, configured;
		double transfers; /* 0: not known */
		bool by_rating;
	} cases[] = {
		{DDR5, 4800, 4800, 4800, false},
		{DDR5, 5600, 4400, 4400, false},
		{DDR5, 8532, 0, 4800, true},
		{DDR5, 4800, 2200, 4400, false},
		{DDR5, 2400, 2400, 4800, false},
		{DDR5, 4800, 1500, 0, false},
		{DDR5, 4800, 20000, 0, false},
		{DDR3, 1333, 667, 1333, false},
		{DDR3, 1600, 533, 1066, false},
		{DDR3, 1600, 399, 0, false},
		{DDR3, 1600, 800, 0, false},
		{0x03, 2933, 1333, 0, false},
		{0x03, 2933, 2933, 2933, false},
		{DDR4, 2933, 1333, 2666, false},
		{DDR4, 3200, 1333, 2666, false},
		{DDR4, 3200, 1600, 0, false},
		{DDR4, 1333, 1333, 2666, false},
		{DDR4, 1333, 0, 2666, true},
		{DDR4, 2666, 1600, 1600, false},
		{DDR4, 3200, 700, 0, false},
		{LPDDR5, 6400, 1500, 0, false},
		/* clocks of DDR3-1866, DDR4-3200 and DDR5-6400 in both fields: no modules are rated so */
		{DDR3, 933, 933, 0, false},
		{DDR4, 1600, 1600, 0, false},
		{DDR4, 0, 1600, 0, false},
		{DDR5, 3200, 3200, 0, false},
		{DDR4, 1600, 1333, 2666, false},
		{DDR4, 2133, 1600, 1600, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct unc_modules all = modules_of(2);
		struct uncore_memory found = {0};
		struct unc_error e = {0};
		bool known = cases[i].transfers > 0;

		all.items[1].kind = cases[i].kind;
		all.items[1].rated = cases[i].rated;
		all.items[1].configured = cases[i].configured;
		if (cases[i].kind != DDR5)
			all.items[0] = all.items[1];
		assert_int_equal(unc_memory_peak(&found, &all, 1, 2, &e), known ? 0 : -ENODATA);
		if (known) {
			assert_close(found.transfers, cases[i].transfers);
			assert_int_equal(found.rated, cases[i].by_rating);
			assert_int_equal(found.modules, 2);
			assert_close(found.peak, 16 * found.transfers * 1e6);
		} else {
			assert_contains(e.text,
					"nothing shows whether that is its speed or its clock");
		}
		unc_modules_finish(&all);
	}
}

/* "A1 +A2@B": the slots, those with '+' have a module; behind "only" the count of slots is larger. */
static void add_slots(struct unc_modules *all, const char *slots)
{
	char *text = strdup(slots), *rest = text, *slot, *bank;

	while ((slot = strsep(&rest, " "))) {
		struct unc_module m = {.present = *slot == '+',
				       .kind = DDR4,
				       .width = 64,
				       .rated = 2666,
				       .configured = 2666};

		if (strcmp(slot, "only") == 0)
			continue;
		bank = strchr(slot, '@');
		snprintf(m.bank, sizeof(m.bank), "%s", bank ? bank + 1 : "");
		snprintf(m.locator, sizeof(m.locator), "%.*s", (int)strcspn(slot, "@"),
			 slot + (*slot == '+'));
		m.locator[strcspn(m.locator, "@")] = '\0';
		add_module(all, m);
	}
	all->slots = strncmp(slots, "only", 4) == 0 ? 24 : all->count;
	free(text);
}

/* Slots of two sockets, and which of them have a module. The names are those of boards: Dell, Supermicro, HPE, Lenovo,
 * Gigabyte, Intel, AMD's reference. */
static void modules_are_placed_by_their_names(void **state)
{
	enum { EVEN, UNEVEN, UNKNOWN };
	static const struct {
		const char *slots; /* locator, or locator@bank; with '+': it has a module */
		int spread;
	} cases[] = {
		{"A1 A2 +A3 +A4 B1 B2 B3 B4", UNEVEN},
		{"+A1 A2 +A3 A4 +B1 +B2 B3 B4", EVEN},
		{"+DIMM_A1 +DIMM_A2 DIMM_B1 DIMM_B2", UNEVEN},
		{"+P1-DIMMA1 P1-DIMMB1 P2-DIMMA1 +P2-DIMMB1", EVEN},
		{"+P1-DIMMA1 +P1-DIMMB1 P2-DIMMA1 P2-DIMMB1", UNEVEN},
		{"+CPU1_DIMM_A1 CPU1_DIMM_B1 CPU2_DIMM_A1 +CPU2_DIMM_B1", EVEN},
		{"+PROC_1_DIMM_1 +PROC_1_DIMM_2 PROC_2_DIMM_1 PROC_2_DIMM_2", UNEVEN},
		{"+DIMM_P0_A0 DIMM_P0_B0 DIMM_P1_A0 +DIMM_P1_B0", EVEN},
		{"+DIMM_A1@NODE_0 DIMM_B1@NODE_0 DIMM_A1@NODE_1 +DIMM_B1@NODE_1", EVEN},
		{"+DIMM_A1@P0_Node0_Channel0 +DIMM_B1@P0_Node1_Channel0 DIMM_C1@P1_Node0_Channel0",
		 UNEVEN},
		/* four nodes, two sockets: the nodes are no sockets */
		{"+A@NODE_0 +B@NODE_1 C@NODE_2 D@NODE_3", UNKNOWN},
		/* letters of channels */
		{"+DIMM_A1 +DIMM_B1 DIMM_C1 DIMM_D1", UNKNOWN},
		{"+DIMM_A1 DIMM_B1 +DIMM_C1 DIMM_D1", EVEN},
		/* numbers through both sockets */
		{"+DIMM_1 DIMM_2 +DIMM_3 DIMM_4", EVEN},
		{"+DIMM_1 +DIMM_2 DIMM_3 DIMM_4", UNKNOWN},
		{"+DIMM_1 DIMM_2 DIMM_3 +DIMM_4", UNKNOWN},
		{"+DIMM_1 +DIMM_2 +DIMM_3 +DIMM_4", EVEN},
		{"+DIMM_1 DIMM_2 +DIMM_3", UNKNOWN},
		{"+Y1 Y2 Z1 +Z2", EVEN},
		{"+- - - +-", UNKNOWN},
		/* only the slots with a module */
		{"+P1-DIMMA1 +P1-DIMMB1", UNEVEN},
		{"+PROC_1_DIMM_1 +PROC_1_DIMM_4", UNEVEN},
		{"+A3 +A4", UNEVEN},
		{"only +DIMM_1 +DIMM_2", UNKNOWN},
		/* all slots, as those without a module show */
		{"only +DIMM_1 DIMM_2 +DIMM_3 DIMM_4", EVEN},
		/* letters of channels, A to F of the first socket */
		{"only +DIMM_A1 +DIMM_B1", UNKNOWN},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct unc_modules all = {0};
		struct uncore_memory found = {0};
		struct unc_error e = {0};

		add_slots(&all, cases[i].slots);
		if (unc_memory_peak(&found, &all, 2, 2, &e) == 0)
			assert_int_equal(cases[i].spread, EVEN);
		else
			assert_contains(e.text, cases[i].spread == UNEVEN
							? "not evenly spread over 2 sockets"
							: "does not say how");
		unc_modules_finish(&all);
	}
}

/* Two modules of one channel do not make it faster: 64 bits x 2666 MT/s for each channel with a module. The names are those of
 * boards: ASUS, Supermicro, Dell, Intel's client boards, AMD's reference. */
static void modules_share_channels_by_their_names(void **state)
{
	static const struct {
		const char *slots;
		size_t sockets, pmus;
		unsigned channels; /* 0: unknown */
	} cases[] = {
		{"+DIMM_A1 +DIMM_A2 DIMM_B1 DIMM_B2", 1, 2, 1},
		{"+DIMM_A1 +DIMM_A2", 1, 2, 1},
		{"+DIMM_A1 +DIMM_A2 DIMM_B1 DIMM_B2 DIMM_C1 DIMM_C2 DIMM_D1 DIMM_D2", 1, 4, 1},
		{"+DIMM_A1 +DIMM_A2 +DIMM_B1 +DIMM_B2", 1, 4, 2},
		{"+DIMM_A1 DIMM_A2 +DIMM_B1 DIMM_B2", 1, 2, 2},
		{"+DIMM_A1 +DIMM_A2 +DIMM_B1 DIMM_B2", 1, 2, 2},
		{"+P1-DIMMA1 +P1-DIMMA2 P1-DIMMB1 +P2-DIMMA1 +P2-DIMMA2 P2-DIMMB1", 2, 4, 1},
		{"+P1-DIMMA1 P1-DIMMA2 +P1-DIMMB1 +P2-DIMMA1 P2-DIMMA2 +P2-DIMMB1", 2, 4, 2},
		{"+ChannelA-DIMM0 +ChannelA-DIMM1 ChannelB-DIMM0 ChannelB-DIMM1", 1, 2, 1},
		{"+DIMM_0@P0_CHANNEL_A +DIMM_1@P0_CHANNEL_A DIMM_0@P0_CHANNEL_B", 1, 8, 1},
		{"+DIMM_0@P0_CHANNEL_A +DIMM_0@P1_CHANNEL_A", 2, 8, 1},
		/* no letter of a channel */
		{"+DIMM_0@P0_CHANNEL_AX +DIMM_1@P0_CHANNEL_AX DIMM_0@P0_CHANNEL_BX", 1, 8, 2},
		/* Dell's letters are processors, and each slot from 1 on is another channel. */
		{"+DIMM_A1 +DIMM_A2 DIMM_A3 DIMM_A4 DIMM_A5 DIMM_A6", 1, 4, 2},
		{"only +DIMM_A1 +DIMM_A2", 1, 4, 2},
		{"+DIMM_A1 +DIMM_A2 +DIMM_B1 +DIMM_B2", 2, 4, 2},
		/* Without PMUs of channels nothing confirms the names. */
		{"+DIMM_A1 +DIMM_A2 DIMM_B1 DIMM_B2", 1, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct uncore_memory found = {0};
		struct unc_modules all = {0};
		struct unc_error e = {0};
		int r;

		add_slots(&all, cases[i].slots);
		r = unc_memory_peak(&found, &all, cases[i].sockets, cases[i].pmus, &e);
		assert_int_equal(r, cases[i].channels ? 0 : -ENODATA);
		if (found.channels != cases[i].channels)
			fail_msg("%s: %u channels", cases[i].slots, found.channels);
		if (r == 0)
			assert_close(found.peak, cases[i].channels * 8 * 2666e6);
		unc_modules_finish(&all);
	}
}

/* ---- tables ----------------------------------------------------------------------------------- */

/* A memory device of 21 bytes (SMBIOS 2.1) with two texts, and the end. */
static const uint8_t table[] = {
	17, 21,   0, 0x11, 0,   0x10, 0xfe, 0xff, 72,   0, 64, 0,   0, 0x20, 9, 0, 2,
	1,  0x1a, 0, 0,    'A', '1',  0,    'B',  '\n', 0, 0,  127, 4, 0,    0, 0, 0,
};

static void a_table(void **state)
{
	struct unc_modules all;

	(void)state;
	assert_int_equal(unc_modules_smbios(&all, table, sizeof(table), NULL), 0);
	assert_int_equal(all.count, 1);
	assert_true(all.items[0].present);
	assert_int_equal(all.items[0].width, 64);
	assert_int_equal(all.items[0].rated + all.items[0].configured, 0);
	assert_string_equal(unc_module_kind(all.items[0].kind), "DDR4");
	assert_string_equal(all.items[0].locator, "B\n");
	assert_string_equal(all.items[0].bank, "A1");
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
		{0, 17, 3, "the last structure of the SMBIOS table is cut off"},
		{0, 17, 20, "(type 17) is cut off"},
		{0, 17, 27, "(type 17) has texts without an end"},
		{0, 17, 30, "the last structure of the SMBIOS table is cut off"},
		{1, 0, sizeof(table), "(type 17) is shorter than its header"},
		{1, 3, sizeof(table), "(type 17) is shorter than its header"},
		{1, 255, sizeof(table), "(type 17) is cut off"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint8_t *copy = malloc(cases[i].len); /* no byte more, for the sanitizer */
		struct unc_modules all = {.count = 77};
		struct unc_error e = {0};

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
	assert_contains(uncore_memory_get(u)->why, "(type 17) is cut off");
	uncore_free(u);
	tree_remove(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(channels_are_filled_evenly),
		cmocka_unit_test(modules_that_differ),
		cmocka_unit_test(speed_of_the_slowest),
		cmocka_unit_test(modules_are_placed_by_their_names),
		cmocka_unit_test(modules_share_channels_by_their_names),
		cmocka_unit_test(a_table),
		cmocka_unit_test(broken_tables),
		cmocka_unit_test(a_machine_by_udev),
		cmocka_unit_test(the_users_value_wins),
		cmocka_unit_test(a_broken_table_is_not_replaced_by_udev),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
