/* SPDX-License-Identifier: MIT */
/* Modules of memory as firmware lists them, by DSP0134 3.7 (SMBIOS) 7.17 and 7.18, udev, and the driver hsmp of AMD. */
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

#define DDR4 0x1a
#define DDR5 0x22
#define ROOM 4096

/* ---- structures ------------------------------------------------------------------------------- */

struct bytes {
	uint8_t data[ROOM];
	size_t len;
};

static void put(struct bytes *to, size_t offset, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		to->data[to->len + offset + i] = (uint8_t)(value >> 8 * i);
}

/* 7.17: a physical memory array. Use 3 is system memory; location 0xa4 is a CXL add-on card. */
static void put_array(struct bytes *to, unsigned handle, unsigned location, unsigned use,
		      unsigned slots)
{
	put(to, 0, 16, 1);
	put(to, 1, 0x17, 1);
	put(to, 2, handle, 2);
	put(to, 4, location, 1);
	put(to, 5, use, 1);
	put(to, 0x0d, slots, 2);
	to->len += 0x17 + 2;
}

/* 7.18: a memory device of version 3.3, with the texts "maker", "A1" and "BANK 0". */
struct device {
	unsigned array, width, size, kind, technology;
	unsigned speed, configured, speed_32, configured_32;
};

static void put_device(struct bytes *to, const struct device *d)
{
	static const char texts[] = "maker\0A1\0BANK 0\0";

	put(to, 0, 17, 1);
	put(to, 1, 0x5c, 1);
	put(to, 2, 0x1100, 2);
	put(to, 4, d->array, 2);
	put(to, 8, 72, 2); /* total width */
	put(to, 0x0a, d->width, 2);
	put(to, 0x0c, d->size, 2);
	put(to, 0x10, 2, 1);
	put(to, 0x11, 3, 1);
	put(to, 0x12, d->kind, 1);
	put(to, 0x15, d->speed, 2);
	put(to, 0x20, d->configured, 2);
	put(to, 0x28, d->technology, 1);
	put(to, 0x54, d->speed_32, 4);
	put(to, 0x58, d->configured_32, 4);
	memcpy(to->data + to->len + 0x5c, texts, sizeof(texts));
	to->len += 0x5c + sizeof(texts);
}

static const struct device plain = {.width = 64,
				    .size = 0x4000,
				    .kind = DDR4,
				    .technology = 3,
				    .speed = 3200,
				    .configured = 2933};

static void assert_module(const struct unc_module *m, const struct unc_module *wanted)
{
	assert_int_equal(m->present, wanted->present);
	assert_int_equal(m->kind, wanted->kind);
	assert_int_equal(m->width, wanted->width);
	assert_int_equal(m->rated, wanted->rated);
	assert_int_equal(m->configured, wanted->configured);
	assert_string_equal(m->locator, wanted->locator);
	assert_string_equal(m->bank, wanted->bank);
}

static void what_a_device_has(void **state)
{
	static const struct {
		struct device device;
		struct unc_module module;
	} cases[] = {
		{{0, 64, 0x4000, DDR4, 3, 3200, 2933, 0, 0},
		 {true, DDR4, 64, 3200, 2933, "A1", "BANK 0"}},
		{{0, 64, 0, DDR4, 3, 0, 0, 0, 0}, {false, DDR4, 64, 0, 0, "A1", "BANK 0"}},
		{{0, 64, 0x7fff, DDR5, 2, 4800, 0, 9, 9},
		 {true, DDR5, 64, 4800, 0, "A1", "BANK 0"}},
		{{0, 0xffff, 1, DDR5, 2, 1, 2, 0, 0}, {true, DDR5, 0, 1, 2, "A1", "BANK 0"}},
		/* too fast for 16 bits, of which the highest of 32 is reserved */
		{{0, 32, 1, DDR5, 3, 0xffff, 0xffff, 0x80011170, 70001},
		 {true, DDR5, 32, 70000, 70001, "A1", "BANK 0"}},
		{{0, 64, 1, DDR5, 3, 0xfffe, 0xffff, 7, 8},
		 {true, DDR5, 64, 0xfffe, 8, "A1", "BANK 0"}},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bytes table = {.len = 0};
		struct unc_modules all;

		put_device(&table, &cases[i].device);
		assert_int_equal(unc_modules_smbios(&all, table.data, table.len, NULL), 0);
		assert_int_equal(all.count, 1);
		assert_module(&all.items[0], &cases[i].module);
		unc_modules_finish(&all);
	}
}

/* Devices in arrays that are the sockets' memory; no Optane (technology 7) or other memory beside DRAM. */
static void which_devices_are_memory(void **state)
{
	static const struct {
		unsigned array, kind, technology;
		bool counts;
	} cases[] = {
		{0x0000, DDR4, 3, true},  {0x1008, DDR4, 3, true},  {0x1001, DDR4, 3, false},
		{0x0007, DDR4, 3, false}, {0x1009, DDR4, 3, true}, /* of no array that is listed */
		{0x0000, DDR4, 4, true}, /* NVDIMM-N: DRAM that is kept over a loss of power */
		{0x0000, DDR4, 5, false}, {0x0000, DDR4, 6, false}, {0x0000, DDR4, 7, false},
		{0x0000, DDR4, 8, true},  {0x0000, 0x04, 3, true},  {0x0000, 0x05, 3, false},
		{0x0000, 0x06, 3, false}, {0x0000, 0x07, 3, true},  {0x0000, 0x08, 3, false},
		{0x0000, 0x0c, 3, false}, {0x0000, 0x0d, 3, true},  {0x0000, 0x1e, 3, true},
		{0x0000, 0x1f, 3, false}, {0x0000, DDR5, 3, true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bytes table = {.len = 0};
		struct device d = plain;
		struct unc_modules all;

		d.array = cases[i].array;
		d.kind = cases[i].kind;
		d.technology = cases[i].technology;
		put_array(&table, 0x0000, 3, 3, 4);
		put_array(&table, 0x1001, 0xa4, 3, 2); /* a CXL card */
		put_device(&table, &d);
		put_array(&table, 0x1008, 3, 3, 8);
		put_array(&table, 0x0007, 3, 4, 16); /* video memory */
		assert_int_equal(unc_modules_smbios(&all, table.data, table.len, NULL), 0);
		if (all.count != cases[i].counts)
			fail_msg("case %zu: %zu devices", i, all.count);
		assert_int_equal(all.slots, 12);
		unc_modules_finish(&all);
	}
}

/* Nothing behind the structure of type 127 counts, whatever it is. */
static void the_end_of_a_table(void **state)
{
	struct bytes table = {.len = 0};
	struct unc_modules all;

	(void)state;
	put_device(&table, &plain);
	put_device(&table, &plain);
	put(&table, 0, 127, 1);
	put(&table, 1, 4, 1);
	table.len += 6;
	table.data[table.len++] = 17;
	assert_int_equal(unc_modules_smbios(&all, table.data, table.len, NULL), 0);
	assert_int_equal(all.count, 2);
	unc_modules_finish(&all);
}

/* ---- udev ------------------------------------------------------------------------------------- */

static void what_udev_says(void **state)
{
	static const struct {
		const char *lines; /* of a module behind a whole one */
		struct unc_module module;
	} cases[] = {
		{"TYPE=DDR4 SIZE=17179869184 DATA_WIDTH=64 SPEED_MTS=3200 CONFIGURED_SPEED_MTS=2933 "
		 "LOCATOR=A1 BANK_LOCATOR=B",
		 {true, DDR4, 64, 3200, 2933, "A1", "B"}},
		{"TYPE=DDR4 SIZE=0 SPEED_MTS=65535", {false, DDR4, 0, 0, 0, "", ""}},
		{"TYPE=DDR4 SIZE=1 CONFIGURED_SPEED_MTS=65535 SPEED_MTS=65534",
		 {true, DDR4, 0, 65534, 0, "", ""}},
		{"TYPE=DDR5 SIZE=4294967295 DATA_WIDTH=x SPEED_MTS=4294967296",
		 {true, DDR5, 0, 0, 0, "", ""}},
		{"SIZE=65535 TYPE=Unheard-of", {false, 0, 0, 0, 0, "", ""}},
		{"TYPE=DDR4 MEMORY_TECHNOLOGY=DRAM", {false, DDR4, 0, 0, 0, "", ""}},
		{"TYPE=DDR4 MEMORY_TECHNOLOGY=NVDIMM-N", {false, DDR4, 0, 0, 0, "", ""}},
	};
	static const char *const not_memory[] = {"NVDIMM-F", "NVDIMM-P",
						 "Intel Optane persistent memory"};

	(void)state;
	for (size_t i = 0; i < COUNT(cases) + COUNT(not_memory); i++) {
		bool is_case = i < COUNT(cases);
		char text[1000] = "E:MEMORY_DEVICE_0_TYPE=DDR4\nE:MEMORY_DEVICE_0_SIZE=1\n",
		     lines[300], *rest = lines, *line;
		struct unc_modules all;

		if (is_case)
			snprintf(lines, sizeof(lines), "%s", cases[i].lines);
		while (is_case && (line = strsep(&rest, " ")))
			snprintf(text + strlen(text), sizeof(text) - strlen(text),
				 "E:MEMORY_DEVICE_1_%s\n", line);
		if (!is_case)
			snprintf(
				text + strlen(text), sizeof(text) - strlen(text),
				"E:MEMORY_DEVICE_1_MEMORY_TECHNOLOGY=%s\nG:x=1\nE:MEMORY_DEVICE_\n",
				not_memory[i - COUNT(cases)]);
		assert_int_equal(unc_modules_udev(&all, text, NULL), 0);
		assert_int_equal(all.count, is_case ? 2 : 1);
		if (is_case)
			assert_module(&all.items[1], &cases[i].module);
		unc_modules_finish(&all);
	}
}

/* ---- machines --------------------------------------------------------------------------------- */

struct machine {
	struct tree tree;
	struct unc_root *root;
	struct uncore_memory found;
	struct unc_error e;
};

static void begin(struct machine *m)
{
	memset(m, 0, sizeof(*m));
	tree_make(&m->tree);
	tree_put(&m->tree, "proc/cpuinfo", "");
	assert_int_equal(unc_root_open(&m->root, m->tree.dir, &m->e), 0);
}

static int memory_of(struct machine *m, size_t sockets, size_t channel_pmus)
{
	memset(&m->e, 0, sizeof(m->e));
	m->found = (struct uncore_memory){.channels = 77};
	return unc_memory_read(&m->found, m->root, sockets, channel_pmus, &m->e);
}

static void end(struct machine *m)
{
	unc_root_free(m->root);
	tree_remove(&m->tree);
}

/* The driver dmi-sysfs has a file for each structure. */
static void put_entry(struct machine *m, const char *name, const struct bytes *b, size_t len)
{
	char path[100];

	snprintf(path, sizeof(path), "sys/firmware/dmi/entries/%s/raw", name);
	tree_put_bytes(&m->tree, path, (const char *)b->data, len);
}

/* Two modules of one channel, "A1" and another: 8 bytes x 2933 MT/s each. */
static void a_machine_by_entries(void **state)
{
	struct bytes array = {.len = 0}, device = {.len = 0};
	struct machine m;

	(void)state;
	begin(&m);
	put_array(&array, 0, 3, 3, 1);
	put_device(&device, &plain);
	put_entry(&m, "16-0", &array, array.len);
	put_entry(&m, "17-0", &device, device.len);
	put_entry(&m, "1-0", &device, 3); /* is not looked at */
	assert_int_equal(memory_of(&m, 1, 1), 0);
	assert_string_equal(m.found.from, "SMBIOS");
	assert_int_equal(m.found.modules, 1);
	assert_close(m.found.transfers, 2933);
	assert_close(m.found.peak, 8 * 2933e6);
	assert_true(isnan(m.found.used));
	device.data[0x10] = 3; /* another slot */
	device.data[0x11] = 1;
	put_entry(&m, "17-1", &device, device.len);
	assert_int_equal(memory_of(&m, 1, 2), 0);
	assert_int_equal(m.found.modules, 2);
	assert_close(m.found.peak, 2 * 8 * 2933e6);
	put_entry(&m, "17-1", &device, 20);
	assert_int_equal(memory_of(&m, 1, 2), -EBADMSG);
	assert_contains(m.e.text, "(type 17) is cut off (sys/firmware/dmi/entries/17-1/raw)");
	assert_int_equal(m.found.channels, 77);
	end(&m);
}

static void put_hsmp(struct machine *m, int socket, const char *file, const char *text)
{
	char path[100];

	snprintf(path, sizeof(path), "sys/devices/platform/AMDI0097:%02x/%s", (unsigned)socket,
		 file);
	tree_put(&m->tree, path, text);
}

/*
 * An EPYC 9654 has 12 channels of DDR5-4800, whose clock is 2400 MHz: 12 x 8 bytes x 4800 MT/s = 460.8 GB/s = 3686.4 Gbit/s.
 * The kernel's manual (Documentation/arch/x86/amd_hsmp.rst) has GB/s, its header amd_hsmp.h Gbit/s.
 */
static void peaks_of_hsmp(void **state)
{
	static const struct {
		const char *most, *mhz, *used[2];
		size_t pmus;
		double peak;     /* 0: unknown */
		double used_sum; /* NAN: unknown */
		const char *sentence;
	} cases[] = {
		{"460\n", "2400\n", {"100\n", "50\n"}, 12, 460.8e9, 150e9, NULL},
		{"3686\n", "2400\n", {"100\n", "60\n"}, 12, 460.8e9, 20e9, NULL},
		{"460\n", "2400\n", {"0\n", "0\n"}, 12, 460.8e9, 0, NULL},
		{"460\n", "2400\n", {"461\n", "461\n"}, 12, 460.8e9, 922e9, NULL},
		{"460\n", "2400\n", {"462\n", "462\n"}, 12, 460.8e9, NAN, NULL},
		{"460\n", "2400\n", {"1\n", "x\n"}, 12, 460.8e9, NAN, NULL},
		{"460\n", "2400\n", {"1\n", NULL}, 12, 460.8e9, NAN, NULL},
		{"38\n", "2400\n", {"1\n", "1\n"}, 12, 38.4e9, 2e9, NULL},
		{"461\n",
		 "2400\n",
		 {"1\n", "1\n"},
		 11,
		 0,
		 NAN,
		 "it is no whole number of channels"},
		{"480\n",
		 "2400\n",
		 {"1\n", "1\n"},
		 12,
		 0,
		 NAN,
		 "it is no whole number of channels"},
		{"460\n", "2400\n", {"1\n", "1\n"}, 0, 0, NAN, "no PMU for each memory channel"},
		{"307\n", "2400\n", {"1\n", "1\n"}, 12, 0, NAN, "may be in GB/s or in Gbit/s"},
		{"460\n", "x\n", {"1\n", "1\n"}, 12, 0, NAN, NULL},
		{"460\n", NULL, {"1\n", "1\n"}, 12, 0, NAN, NULL},
		{NULL, "2400\n", {"1\n", "1\n"}, 12, 0, NAN, NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct machine m;

		begin(&m);
		for (int socket = 0; socket < 2; socket++)
			if (cases[i].used[socket])
				put_hsmp(&m, socket, "ddr_utilised_bw_input",
					 cases[i].used[socket]);
		if (cases[i].most)
			put_hsmp(&m, 0, "ddr_max_bw", cases[i].most);
		if (cases[i].mhz)
			put_hsmp(&m, 0, "mclk_input", cases[i].mhz);
		if (cases[i].peak > 0) {
			assert_int_equal(memory_of(&m, 2, cases[i].pmus), 0);
			assert_string_equal(m.found.from, "hsmp, unit inferred");
			assert_close(m.found.peak, cases[i].peak);
			assert_close(m.found.transfers, 4800);
			assert_int_equal(m.found.channels, cases[i].peak / 38.4e9 + 0.5);
			if (isnan(cases[i].used_sum) != isnan(m.found.used) ||
			    m.found.used > cases[i].used_sum || m.found.used < cases[i].used_sum)
				fail_msg("case %zu: %f used", i, m.found.used);
		} else {
			assert_int_equal(memory_of(&m, 2, cases[i].pmus), -ENODATA);
			assert_int_equal(m.found.channels, 77);
			if (cases[i].sentence)
				assert_contains(m.e.text, cases[i].sentence);
			else
				assert_null(strstr(m.e.text, "hsmp"));
		}
		end(&m);
	}
}

/* What the modules show is not replaced; hsmp adds what is used, if its channels are those with a module. */
static void modules_beside_hsmp(void **state)
{
	struct device d = plain;
	struct bytes table = {.len = 0};
	struct machine m;

	(void)state;
	begin(&m);
	d.kind = DDR5;
	d.speed = d.configured = 4800;
	put_device(&table, &d);
	tree_put_bytes(&m.tree, "sys/firmware/dmi/tables/DMI", (const char *)table.data, table.len);
	put_hsmp(&m, 0, "ddr_max_bw", "38\n");
	put_hsmp(&m, 0, "mclk_input", "2400\n");
	put_hsmp(&m, 0, "ddr_utilised_bw_input", "7\n");
	assert_int_equal(memory_of(&m, 1, 12), 0);
	assert_string_equal(m.found.from, "SMBIOS");
	assert_int_equal(m.found.channels, 1);
	assert_close(m.found.peak, 38.4e9);
	assert_close(m.found.used, 7e9);
	put_hsmp(&m, 0, "ddr_max_bw", "76\n"); /* two channels */
	assert_int_equal(memory_of(&m, 1, 12), 0);
	assert_string_equal(m.found.from, "SMBIOS");
	assert_true(isnan(m.found.used));
	end(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_device_has),    cmocka_unit_test(which_devices_are_memory),
		cmocka_unit_test(the_end_of_a_table),   cmocka_unit_test(what_udev_says),
		cmocka_unit_test(a_machine_by_entries), cmocka_unit_test(peaks_of_hsmp),
		cmocka_unit_test(modules_beside_hsmp),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
