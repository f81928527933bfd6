/* SPDX-License-Identifier: MIT */
/* Root ports of Intel servers by the registers in config space, with the maps of data/intel-iio.yaml. */
#include "object.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "helpers.h"

#define PCI "sys/bus/pci/devices/"

struct machine {
	struct tree tree;
	struct uncore *u;
};

/* Two sockets of two CPUs. */
static int set_up(void **state)
{
	static const int sockets[] = {0, 0, 1, 1};
	static struct machine m;

	m = (struct machine){0};
	tree_make(&m.tree);
	machine_cpus(&m.tree, sockets, 4);
	*state = &m;
	return 0;
}

static int tear_down(void **state)
{
	struct machine *m = *state;

	uncore_free(m->u);
	tree_remove(&m->tree);
	return 0;
}

static void put(const struct machine *m, const char *address, const char *file, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), PCI "%s/%s", address, file);
	tree_put(&m->tree, path, text);
}

static void put_port(const struct machine *m, const char *address)
{
	put(m, address, "class", "0x060400\n");
}

/* A device of the chip with the first `len` bytes of these registers. */
struct chip_register {
	unsigned offset;
	uint32_t value;
};

static void put_chip(const struct machine *m, const char *address, unsigned id, size_t len,
		     const struct chip_register *words, size_t count)
{
	unsigned char config[4096] = {0x86, 0x80, (unsigned char)id, (unsigned char)(id >> 8)};
	char path[256], text[16];

	for (size_t i = 0; i < count; i++)
		memcpy(config + words[i].offset, &words[i].value, 4);
	put(m, address, "class", "0x088000\n");
	put(m, address, "vendor", "0x8086\n");
	snprintf(text, sizeof(text), "%#x\n", id);
	put(m, address, "device", text);
	snprintf(path, sizeof(path), PCI "%s/config", address);
	tree_put_bytes(&m->tree, path, (const char *)config, len);
}

#define CHIP(m, address, id, len, ...)                                             \
	put_chip(m, address, id, len, (const struct chip_register[]){__VA_ARGS__}, \
		 sizeof((const struct chip_register[]){__VA_ARGS__}) /             \
			 sizeof(struct chip_register))

static void put_pmus(const struct machine *m, int count)
{
	char name[32], type[16];

	for (int i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "uncore_iio_%d", i);
		snprintf(type, sizeof(type), "%d\n", 10 + i);
		machine_pmu(&m->tree, name, type, "0,2\n");
	}
}

static void open_machine(struct machine *m, int model)
{
	machine_cpuinfo(&m->tree, model, "");
	assert_int_equal(uncore_new(&m->u), 0);
	if (uncore_set_root(m->u, m->tree.dir) || uncore_scan(m->u))
		fail_msg("%s", uncore_error(m->u));
}

/* "uncore_iio_2 socket 0 part 2", or "! reason". */
static void assert_port(struct machine *m, const char *address, const char *expected)
{
	const struct uncore_device *d = NULL;
	char text[512] = "";
	size_t found = 0;

	if (uncore_device_find(m->u, address, &d))
		fail_msg("%s", uncore_error(m->u));
	snprintf(text, sizeof(text), "! %s", d->unknown);
	for (size_t i = 0; i < m->u->ports.instance_count; i++) {
		const struct unc_port_instance *x = &m->u->ports.instances[i];

		for (size_t k = 0; k < x->port_count; k++)
			if (x->ports[k].device == d && ++found)
				snprintf(text, sizeof(text), "%s socket %d part %d", x->pmu->name,
					 x->socket, x->ports[k].index);
	}
	assert_string_equal(text, expected);
	assert_in_range(found, 0, 1);
}

static const struct uncore_device *find(struct machine *m, const char *address)
{
	const struct uncore_device *d = NULL;

	assert_int_equal(uncore_device_find(m->u, address, &d), 0);
	return d;
}

/* ---- Sapphire Rapids ---------------------------------------------------------------------------- */

/* Both sockets: CPU buses 0 to 5, on 00, 19 ... of the first and 80, 99 ... of the second. */
static void put_spr(const struct machine *m, size_t len, uint32_t kind)
{
	CHIP(m, "0000:7e:03.0", 0x09a6, len, {0x1a0, 0x3f}, {0x190, 0x39291900}, {0x194, 0x5949});
	CHIP(m, "0000:fe:03.0", 0x09a6, len, {0x1a0, 0x3f}, {0x190, 0xb9a99980}, {0x194, 0xd9c9});
	CHIP(m, "0000:00:00.0", 0x09a2, len, {0x3f4, 0x50});
	CHIP(m, "0000:80:00.0", 0x09a2, len, {0x3f4, 0x51});
	CHIP(m, "0000:7e:1e.3", 0x325b, len, {0x94, kind << 6});
	put_port(m, "0000:19:01.0");
	put_port(m, "0000:19:03.0");
	put_port(m, "0000:99:08.0");
	put_port(m, "0000:00:1c.0");
	put_port(m, "0000:29:09.0");
	put_port(m, "0000:77:01.0");
	put_pmus(m, 12);
}

static void spr_xcc(void **state)
{
	struct machine *m = *state;

	put_spr(m, 4096, 3);
	open_machine(m, 143);
	assert_port(m, "0000:19:01.0", "uncore_iio_2 socket 0 part 0");
	assert_port(m, "0000:19:03.0", "uncore_iio_2 socket 0 part 2"); /* ch_mask 4 */
	assert_port(m, "0000:99:08.0", "uncore_iio_2 socket 1 part 7");
	assert_port(m, "0000:00:1c.0", "uncore_iio_1 socket 0 part -1");
	assert_port(m, "0000:29:09.0", "uncore_iio_4 socket 0 part -1");
	assert_port(m, "0000:77:01.0", "! its root bus is that of no I/O stack with a PMU");
	assert_contains(find(m, "0000:19:01.0")->doubt, "known only from Intel's pcm");
	assert_null(find(m, "0000:77:01.0")->doubt);
}

static void spr_mcc(void **state)
{
	struct machine *m = *state;

	put_spr(m, 4096, 1);
	put_port(m, "0000:49:01.0");
	open_machine(m, 143);
	assert_port(m, "0000:19:01.0", "uncore_iio_1 socket 0 part 0");
	assert_port(m, "0000:00:1c.0", "uncore_iio_0 socket 0 part -1");
	assert_port(m, "0000:49:01.0", "uncore_iio_4 socket 0 part 0");
	assert_contains(find(m, "0000:19:01.0")->doubt, "known only from Intel's pcm");
	assert_contains(find(m, "0000:49:01.0")->doubt, "is an assumption of Intel's pcm");
}

static void spr_of_an_unknown_kind(void **state)
{
	struct machine *m = *state;

	put_spr(m, 4096, 2);
	open_machine(m, 143);
	assert_port(m, "0000:19:01.0", "! the kind of die 2 has no map");
}

/* ---- the maps ----------------------------------------------------------------------------------- */

/* Intel's pcm, src/pcm-iio-topology.cpp: stacks by CPU bus, and the first device with part 0. */
static void maps_of_all_models(void **state)
{
	static const struct {
		int model;
		uint32_t kind;
		unsigned first;
		signed char units[32]; /* plus 1 */
	} maps[] = {
		{143, 3, 1, {2, 3, 5, 7, 8, 10, 0, 0, 1, 4, 6, 9}},
		{143, 1, 1, {1, 2, 3, 11, 5, 6, 0, 0, 4}},
		{207, 3, 1, {8, 2, 3, 4, 9, 7, 0, 0, 1, 5, 6, 10}},
		{207, 1, 1, {8, 2, 3, 4, 9, 7, 0, 0, 1, 5, 6, 10}},
		{173,
		 0,
		 2,
		 {1, 3, 4, 5, 6, 8, 0, 0,
		  2, [12] = 7, [16] = 15, [20] = 10, [26] = 13, [28] = 9, [29] = 12}},
		{175,
		 0,
		 2,
		 {1, 3, 4, 5, 6, 8, 0, 0,
		  2, [12] = 7, [16] = 15, [20] = 10, [26] = 13, [28] = 9, [29] = 12}},
	};
	struct machine *m = *state;
	char address[32], expected[64];

	for (unsigned bus = 0; bus < 32; bus++) {
		snprintf(address, sizeof(address), "0000:%02x:04.0", 0x40 + bus);
		put_port(m, address);
	}
	CHIP(m, "0000:fe:03.0", 0x09a6, 0x1d0, {0x1a0, 0xfffffffe}, {0x190, 0x43424140},
	     {0x194, 0x47464544}, {0x198, 0x4b4a4948}, {0x19c, 0x4f4e4d4c}, {0x1c0, 0x53525150},
	     {0x1c4, 0x57565554}, {0x1c8, 0x5b5a5958}, {0x1cc, 0x5f5e5d5c});
	CHIP(m, "0000:41:00.0", 0x09a2, 0x3f8, {0x3f4, 0});
	put_pmus(m, 16);
	for (size_t i = 0; i < COUNT(maps); i++) {
		CHIP(m, "0000:fe:1e.3", 0x325b, 0x98, {0x94, maps[i].kind << 6});
		open_machine(m, maps[i].model);
		for (unsigned bus = 0; bus < 32; bus++) {
			bool dmi = maps[i].first == 1 &&
				   bus == (maps[i].kind == 1 && maps[i].model == 143 ? 3 : 0);

			snprintf(address, sizeof(address), "0000:%02x:04.0", 0x40 + bus);
			if (!bus || !maps[i].units[bus]) /* CPU bus 0 is not valid here */
				strcpy(expected,
				       "! its root bus is that of no I/O stack with a PMU");
			else
				snprintf(expected, sizeof(expected),
					 "uncore_iio_%d socket 0 part %d", maps[i].units[bus] - 1,
					 dmi ? -1 : 4 - (int)maps[i].first);
			assert_port(m, address, expected);
		}
		uncore_free(m->u);
		m->u = NULL;
	}
	open_machine(m, 173);
	assert_contains(find(m, "0000:5d:04.0")->doubt, "uncore_iio_13");
	assert_contains(find(m, "0000:5a:04.0")->doubt, "uncore_iio_10");
}

/* Each socket has a segment, with the same bus numbers in both. */
static void equal_buses_of_two_segments(void **state)
{
	struct machine *m = *state;

	for (int s = 0; s < 2; s++) {
		CHIP(m, s ? "0001:fe:03.0" : "0000:fe:03.0", 0x09a6, 4096, {0x1a0, 0x7},
		     {0x190, s ? 0x00393017 : 0x00303917});
		CHIP(m, s ? "0001:17:00.0" : "0000:17:00.0", 0x09a2, 4096, {0x3f4, s ? 1 : 0});
		put_port(m, s ? "0001:30:02.0" : "0000:30:02.0");
	}
	put_pmus(m, 15);
	open_machine(m, 173);
	assert_port(m, "0000:30:02.0", "uncore_iio_3 socket 0 part 0");
	assert_port(m, "0001:30:02.0", "uncore_iio_2 socket 1 part 0");
}

/* Each stack's own device has its number in bits 6:4. */
static void grr(void **state)
{
	struct machine *m = *state;

	CHIP(m, "0000:00:00.0", 0x09a2, 4096, {0x3f4, 0x00});
	CHIP(m, "0000:15:00.0", 0x09a2, 4096, {0x3f4, 0x10});
	CHIP(m, "0000:2a:00.0", 0x09a2, 4096, {0x3f4, 0x20});
	put_port(m, "0000:00:06.0");
	put_port(m, "0000:2a:04.0");
	put_port(m, "0000:2a:05.0");
	put_pmus(m, 3);
	open_machine(m, 182);
	assert_port(m, "0000:00:06.0", "uncore_iio_2 socket 0 part -1");
	assert_port(m, "0000:2a:04.0", "uncore_iio_0 socket 0 part 0");
	assert_port(m, "0000:2a:05.0", "uncore_iio_0 socket 0 part 1");
}

/* It has what the mapping needs, and no other register. */
static void snapshot(void **state)
{
	struct machine *m = *state;
	char *text = NULL, path[512];
	FILE *f;

	put_spr(m, 4096, 3);
	CHIP(m, "0000:7e:03.0", 0x09a6, 4096, {0x1a0, 0x3f}, {0x190, 0x39291900}, {0x194, 0x5949},
	     {0x1a4, 0x11aaaa11}, {0x80, 0x22aaaa22}, {0x3f8, 0x33aaaa33});
	open_machine(m, 143);
	assert_int_equal(uncore_snapshot(m->u, &text), 0);
	assert_contains(text, "03.0/config: hex\n");
	assert_contains(text, "86 80 a6 09");
	assert_contains(text, "00 19 29 39");
	assert_null(strstr(text, "aa aa"));
	tree_path(&m->tree, "snapshot.txt", path, sizeof(path));
	f = fopen(path, "w");
	assert_true(f && fputs(text, f) >= 0 && fclose(f) == 0);
	free(text);
	assert_int_equal(uncore_set_root(m->u, path), 0);
	assert_int_equal(uncore_scan(m->u), 0);
	assert_port(m, "0000:19:03.0", "uncore_iio_2 socket 0 part 2");
	assert_port(m, "0000:99:08.0", "uncore_iio_2 socket 1 part 7");
}

/* Not the map of Ice Lake, where stack 1 is uncore_iio_0. */
static void icx_d(void **state)
{
	struct machine *m = *state;

	CHIP(m, "0000:16:00.0", 0x09a2, 4096, {0x3f4, 0x10});
	CHIP(m, "0000:89:00.0", 0x09a2, 4096, {0x3f4, 0x50});
	put_port(m, "0000:16:02.0");
	put_port(m, "0000:89:05.0");
	put_pmus(m, 6);
	open_machine(m, 108);
	assert_port(m, "0000:16:02.0", "uncore_iio_5 socket 0 part 0");
	assert_port(m, "0000:89:05.0", "uncore_iio_4 socket 0 part 3");
	assert_non_null(find(m, "0000:16:02.0")->doubt);
}

/* ---- what cannot be read ------------------------------------------------------------------------ */

/* The finding of doctor about root ports; NULL: none. */
static const struct uncore_finding *finding(struct machine *m)
{
	assert_int_equal(uncore_diagnose(m->u), 0);
	for (size_t i = 0; i < uncore_finding_count(m->u); i++)
		if (strcmp(uncore_finding_at(m->u, i)->subject, "root ports") == 0)
			return uncore_finding_at(m->u, i);
	return NULL;
}

static void config_space_ends_early(void **state)
{
	struct machine *m = *state;
	const struct uncore_finding *f;

	put_spr(m, 64, 3);
	open_machine(m, 143);
	assert_contains(find(m, "0000:19:01.0")->unknown,
			"mapping needs root: only root can read the registers of 0000:7e:03.0");
	f = finding(m);
	assert_non_null(f);
	assert_int_equal(f->verdict, UNCORE_VERDICT_NOTE);
	assert_contains(f->found, "which PMU counts them is not known for ");
	assert_string_equal(f->why, find(m, "0000:19:01.0")->unknown);
	assert_string_equal(f->fix, "sudo uncore topo --learn");
	uncore_free(m->u);
	put_spr(m, 256, 3); /* no extended config space */
	open_machine(m, 143);
	assert_contains(find(m, "0000:19:01.0")->unknown,
			"the kernel reads only 256 bytes of the config space of 0000:7e:03.0");
}

static void registers_that_make_no_sense(void **state)
{
	struct machine *m = *state;

	put_pmus(m, 12);
	put_port(m, "0000:19:01.0");
	open_machine(m, 143);
	assert_port(m, "0000:19:01.0", "! no device 8086:09a6 names root buses");
	uncore_free(m->u);
	CHIP(m, "0000:fe:03.0", 0x09a6, 4096, {0x1a0, 0});
	open_machine(m, 143);
	assert_port(m, "0000:19:01.0", "! no device 8086:09a6 names root buses");
	uncore_free(m->u);
	CHIP(m, "0000:fe:03.0", 0x09a6, 4096, {0x1a0, UINT32_MAX});
	open_machine(m, 143);
	assert_port(m, "0000:19:01.0",
		    "! the register 0x1a0 of 0000:fe:03.0, for root buses, reads as all ones");
	uncore_free(m->u);
	CHIP(m, "0000:fe:03.0", 0x09a6, 4096, {0x1a0, 2}, {0x190, 0x1900});
	open_machine(m, 143);
	assert_port(m, "0000:19:01.0",
		    "! there is no device 0000:19:00.0, which names its package");
	uncore_free(m->u);
	CHIP(m, "0000:19:00.0", 0x09a2, 4096, {0x3f4, 2});
	open_machine(m, 143);
	assert_port(m, "0000:19:01.0",
		    "! there is no device 8086:325b, which names the kind of die");
	uncore_free(m->u);
	CHIP(m, "0000:fe:1e.3", 0x325b, 4096, {0x94, 0xc0});
	open_machine(m, 143); /* package 2 is no socket of this machine */
	assert_port(m, "0000:19:01.0", "! its root bus is that of no I/O stack with a PMU");
}

/* ---- the file for other users ------------------------------------------------------------------- */

#define DIR "var/lib/uncore"
#define KEPT DIR "/root-buses.yaml"

static void reopen(struct machine *m)
{
	uncore_free(m->u);
	m->u = NULL;
	open_machine(m, 143);
}

/* Written as root; then config space ends early. */
static void learn(struct machine *m, char path[512])
{
	const char *file = NULL;

	put_spr(m, 4096, 3);
	tree_path(&m->tree, KEPT, path, 512);
	*strrchr(path, '/') = '\0';
	rmdir(path); /* it is made */
	strcat(path, "/root-buses.yaml");
	open_machine(m, 143);
	umask(077);
	assert_int_equal(uncore_learn(m->u, &file), 0);
	umask(022);
	assert_string_equal(file, "/" KEPT);
	put_spr(m, 64, 3);
	reopen(m);
}

static void users_read_what_root_wrote(void **state)
{
	static const char other_machine[] =
		"! mapping needs root: the PCI bridges or the CPU are not those for which /" KEPT
		" was written; run 'uncore topo --learn' as root again";
	struct machine *m = *state;
	const char *file = NULL;
	char path[512];
	struct stat st;

	learn(m, path);
	assert_port(m, "0000:19:03.0", "uncore_iio_2 socket 0 part 2");
	assert_port(m, "0000:99:08.0", "uncore_iio_2 socket 1 part 7");
	assert_null(finding(m));
	assert_int_equal(uncore_learn(m->u, &file), -EACCES);
	assert_contains(uncore_error(m->u), "mapping needs root");
	assert_int_equal(lstat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0644);
	tree_path(&m->tree, DIR, path, sizeof(path));
	assert_int_equal(lstat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0755);
	put(m, "0000:19:02.0", "class", "0x020000\n"); /* no bridge */
	reopen(m);
	assert_port(m, "0000:19:03.0", "uncore_iio_2 socket 0 part 2");
	put(m, "0000:19:03.0", "device", "0x1234\n"); /* another bridge at the same place */
	reopen(m);
	assert_port(m, "0000:19:03.0", other_machine);
	put_spr(m, 4096, 3);
	reopen(m);
	assert_int_equal(uncore_device_count(m->u) > 0 ? uncore_learn(m->u, &file) : 1, 0);
	put_spr(m, 64, 3);
	uncore_free(m->u);
	open_machine(m, 207); /* another CPU */
	assert_port(m, "0000:19:03.0", other_machine);
	put_port(m, "0000:29:01.0"); /* one more root port */
	reopen(m);
	assert_port(m, "0000:19:03.0", other_machine);
}

static void a_file_that_makes_no_sense(void **state)
{
	static const struct {
		const char *text, *why;
	} files[] = {
		{"cpu: x\nbridges: 1\nkind: 0\nbuses: []\nend: true\n",
		 "! mapping needs root: the PCI bridges"},
		{"cpu: x\nbridges: 1\nkind: 0\nbuses: []\n",
		 "! /" KEPT ":1:1: the key 'end' is missing here"},
		{"cpu: x\n", "! /" KEPT ":1:1: the key 'bridges' is missing here"},
		{"cpu: x\nbridges: 1\nkind: 0\nbuses: [{segment: 0, bus: 256, socket: 0, number: 0}]\nend: true",
		 "! /" KEPT ":4:27: the value of 'bus' must be from 0 to 255"},
		{"", "! /" KEPT ":1:1: the file is empty"},
	};
	struct machine *m = *state;

	put_spr(m, 64, 3);
	for (size_t i = 0; i < COUNT(files); i++) {
		tree_put(&m->tree, KEPT, files[i].text);
		reopen(m);
		assert_contains(find(m, "0000:19:03.0")->unknown, files[i].why + 2);
	}
}

static void a_file_that_cannot_be_read(void **state)
{
	static const char cannot[] = "! mapping needs root: /" KEPT " cannot be read: ";
	struct machine *m = *state;
	char path[512], expected[512], *large;

	learn(m, path);
	unlink(path);
	assert_int_equal(mkdir(path, 0755), 0);
	reopen(m);
	snprintf(expected, sizeof(expected), "%s%s", cannot,
		 "Is a directory; run 'uncore topo --learn' as root again");
	assert_port(m, "0000:19:03.0", expected);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(mkfifo(path, 0644), 0);
	reopen(m);
	assert_contains(find(m, "0000:19:03.0")->unknown, cannot + 2);
	unlink(path);
	large = test_calloc(1, (2 << 20) + 1);
	memset(large, '#', 2 << 20);
	tree_put(&m->tree, KEPT, large);
	test_free(large);
	reopen(m);
	assert_contains(find(m, "0000:19:03.0")->unknown, cannot + 2);
	assert_contains(find(m, "0000:19:03.0")->unknown, "File too large");
}

static void what_others_can_write_is_not_used(void **state)
{
	static const char expected[] =
		"! mapping needs root: /" KEPT " is not used, because others than root own /%s or "
		"can write to it; run 'uncore topo --learn' as root again";
	static const char *const names[] = {KEPT, DIR};
	struct machine *m = *state;
	char path[512], why[512];

	learn(m, path);
	for (size_t i = 0; i < COUNT(names); i++) {
		mode_t mode = i ? 0755 : 0644;

		tree_path(&m->tree, names[i], path, sizeof(path));
		snprintf(why, sizeof(why), expected, names[i]);
		assert_int_equal(chmod(path, mode | S_IWGRP), 0);
		reopen(m);
		assert_port(m, "0000:19:03.0", why);
		assert_int_equal(chmod(path, mode | S_IWOTH), 0);
		reopen(m);
		assert_port(m, "0000:19:03.0", why);
		assert_int_equal(chmod(path, mode), 0);
		if (chown(path, 65534, (gid_t)-1) == 0) {
			reopen(m);
			assert_port(m, "0000:19:03.0", why);
			assert_int_equal(chown(path, geteuid(), (gid_t)-1), 0);
		}
		reopen(m);
		assert_port(m, "0000:19:03.0", "uncore_iio_2 socket 0 part 2");
	}
}

static void links_are_not_followed(void **state)
{
	struct machine *m = *state;
	char path[512], other[512];

	learn(m, path);
	tree_path(&m->tree, "other.yaml", other, sizeof(other));
	assert_int_equal(rename(path, other), 0);
	tree_link(&m->tree, KEPT, "/other.yaml");
	reopen(m);
	assert_port(m, "0000:19:03.0", "! /" KEPT " is a symbolic link, which is not followed");
	put_spr(m, 4096, 3);
	reopen(m);
	assert_port(m, "0000:19:03.0", "uncore_iio_2 socket 0 part 2");
}

static void a_directory_that_cannot_be_made(void **state)
{
	struct machine *m = *state;
	bool root = geteuid() == 0;
	const char *file = NULL;
	char path[512];
	int r;

	put_spr(m, 4096, 3);
	tree_put(&m->tree, "var/lib/other", "x");
	tree_path(&m->tree, "var/lib", path, sizeof(path));
	assert_int_equal(chmod(path, 0555), 0);
	assert_int_equal(chmod(m->tree.dir, 0755), 0);
	open_machine(m, 143);
	assert_non_null(find(m, "0000:19:03.0"));
	if (root)
		assert_int_equal(seteuid(65534), 0); /* root may write everywhere */
	r = uncore_learn(m->u, &file);
	if (root)
		assert_int_equal(seteuid(0), 0);
	assert_int_equal(chmod(path, 0755), 0);
	assert_int_equal(r, -EACCES);
	assert_string_equal(uncore_error(m->u),
			    "cannot write to the directory '/" DIR "': Permission denied");
}

/* The disk is full after a part of the file: the one before stays. */
static void a_file_that_cannot_be_written(void **state)
{
	struct machine *m = *state;
	struct rlimit limit, small;
	const char *file = NULL;
	char path[512];
	int r;

	learn(m, path);
	put_spr(m, 4096, 3);
	reopen(m);
	assert_non_null(find(m, "0000:19:03.0"));
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	small = (struct rlimit){.rlim_cur = 100, .rlim_max = limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	r = uncore_learn(m->u, &file);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(r, -EIO);
	assert_contains(uncore_error(m->u), "cannot write '/" KEPT "'");
	put_spr(m, 64, 3);
	reopen(m);
	assert_port(m, "0000:19:03.0", "uncore_iio_2 socket 0 part 2");
}

/* A link at the file's path is replaced; one at the directory's is refused, as is a directory for all. */
static void nothing_else_is_written(void **state)
{
	struct machine *m = *state;
	const char *file = NULL;
	char path[512], other[512], dir[512];
	struct stat st;

	learn(m, path);
	tree_path(&m->tree, "other", other, sizeof(other));
	tree_path(&m->tree, DIR, dir, sizeof(dir));
	unlink(path);
	tree_put(&m->tree, "other", "mine");
	tree_link(&m->tree, KEPT, "/other");
	put_spr(m, 4096, 3);
	reopen(m);
	assert_int_equal(uncore_device_count(m->u) > 0 ? uncore_learn(m->u, &file) : 1, 0);
	assert_int_equal(stat(other, &st), 0);
	assert_int_equal(st.st_size, 4);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	chmod(dir, 0777);
	assert_int_equal(uncore_learn(m->u, &file), -EPERM);
	chmod(dir, 0755);
	if (chown(dir, 65534, (gid_t)-1) == 0) {
		assert_int_equal(uncore_learn(m->u, &file), -EPERM);
		assert_int_equal(chown(dir, geteuid(), (gid_t)-1), 0);
	}
	unlink(path);
	assert_int_equal(rmdir(dir), 0);
	tree_link(&m->tree, DIR, "/");
	assert_true(uncore_learn(m->u, &file) < 0);
	assert_contains(uncore_error(m->u), "cannot write to the directory '/" DIR "'");
}

static void nothing_to_learn(void **state)
{
	struct machine *m = *state;
	const char *file = NULL;

	put_pmus(m, 2);
	open_machine(m, 85);
	assert_int_equal(uncore_learn(m->u, &file), -ENODEV);
	assert_contains(uncore_error(m->u), "there is nothing to learn");
	reopen(m);
	assert_int_equal(uncore_learn(m->u, &file), -ENODEV);
	assert_contains(uncore_error(m->u), "no device 8086:09a6");
	assert_null(file);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	static const struct CMUnitTest tests[] = {
		TEST(spr_xcc),
		TEST(spr_mcc),
		TEST(spr_of_an_unknown_kind),
		TEST(maps_of_all_models),
		TEST(equal_buses_of_two_segments),
		TEST(grr),
		TEST(icx_d),
		TEST(snapshot),
		TEST(config_space_ends_early),
		TEST(registers_that_make_no_sense),
		TEST(users_read_what_root_wrote),
		TEST(a_file_that_makes_no_sense),
		TEST(a_file_that_cannot_be_read),
		TEST(what_others_can_write_is_not_used),
		TEST(links_are_not_followed),
		TEST(a_directory_that_cannot_be_made),
		TEST(a_file_that_cannot_be_written),
		TEST(nothing_else_is_written),
		TEST(nothing_to_learn),
	};

	umask(022);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
