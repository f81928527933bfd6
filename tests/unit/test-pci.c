/* SPDX-License-Identifier: MIT */
/* PCI devices from sysfs: attributes, links, hierarchy, names; and files that make no sense. */
#include "machine/topology.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "helpers.h"

struct machine {
	struct tree tree;
	struct unc_root *root;
	struct unc_pci pci;
};

/* Two sockets, each of them a node. */
static struct uncore_cpu cpus[] = {{0, 10, 0, 0, true, 10}, {1, 20, 0, 1, true, 20}};
static int sockets[] = {10, 20};
static const struct unc_topology topology = {
	.cpus = cpus,
	.cpu_count = 2,
	.sockets = sockets,
	.socket_count = 2,
	.cpu_model = "x",
};

static void put(const struct machine *m, const char *device, const char *file, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/%s", device, file);
	tree_put(&m->tree, path, text);
}

/* A device with what sysfs has for it: a directory in that of the bridge above, and a link to it. */
static void put_below(const struct machine *m, const char *above, const char *device,
		      const char *class)
{
	char path[256], target[256];

	snprintf(path, sizeof(path), "sys/devices/%s/%s/class", above, device);
	tree_put(&m->tree, path, class);
	snprintf(path, sizeof(path), "sys/bus/pci/devices/%s", device);
	snprintf(target, sizeof(target), "../../../devices/%s/%s", above, device);
	tree_link(&m->tree, path, target);
}

static void put_link(const struct machine *m, const char *device, const char *speed,
		     const char *width)
{
	put(m, device, "current_link_speed", speed);
	put(m, device, "current_link_width", width);
}

static int set_up(void **state)
{
	static struct machine m;

	m = (struct machine){0};
	tree_make(&m.tree);
	*state = &m;
	return 0;
}

static int tear_down(void **state)
{
	struct machine *m = *state;

	unc_pci_finish(&m->pci);
	unc_root_free(m->root);
	tree_remove(&m->tree);
	return 0;
}

static void read_machine(struct machine *m)
{
	assert_int_equal(unc_root_open(&m->root, m->tree.dir, NULL), 0);
	assert_int_equal(unc_pci_read(&m->pci, m->root, &topology, NULL), 0);
}

static const struct uncore_device *device(const struct machine *m, const char *address)
{
	for (size_t i = 0; i < m->pci.count; i++)
		if (strcmp(m->pci.devices[i].shown.address, address) == 0)
			return &m->pci.devices[i].shown;
	fail_msg("there is no %s", address);
	return NULL;
}

static const char *address_of(const struct uncore_device *d)
{
	return d ? d->address : "none";
}

/* ---- one device ------------------------------------------------------------------------------- */

static void no_pci(void **state)
{
	struct machine *m = *state;

	tree_put(&m->tree, "sys/x", "");
	read_machine(m);
	assert_int_equal(m->pci.count, 0);
}

/* The paths of a SAS disk and a SATA disk (hwloc's tests/hwloc/linux, 8em64t-2mi2ma2c and 16em64t-4s2ca2c), of devices of
 * virtio (linux drivers/virtio/virtio_pci_common.c), and of an RDMA device on the auxiliary bus (drivers/net/ethernet/intel/ice). */
static void names_of_other_buses(void **state)
{
	static const struct {
		const char *file, *names; /* names: NULL: none */
	} cases[] = {
		{"host0/target0:2:0/0:2:0:0/block/sda/size", "sda"},
		{"host6/port-6:0/end_device-6:0/target6:0:0/6:0:0:0/block/sdb/size", "sdb"},
		{"host6/port-6:0/expander-6:0/port-6:0:1/end_device-6:0:1/target6:0:1/6:0:1:0/block/sdc/size",
		 "sdc"},
		{"ata1/host0/target0:0:0/0:0:0:0/block/sdd/size", "sdd"},
		{"host1/rport-1:0-0/target1:0:0/1:0:0:1/block/sde/size", "sde"},
		{"virtio1/net/eth0/mtu", "eth0"},
		{"virtio2/block/vda/size", "vda"},
		{"usb1/1-1/1-1.2/1-1.2:1.0/host7/target7:0:0/7:0:0:0/block/sdf/size", "sdf"},
		{"mmc_host/mmc0/mmc0:0001/block/mmcblk0/size", "mmcblk0"},
		{"ice.roce.0/infiniband/irdma0/node_guid", "irdma0"},
		{"power/net/x/y", NULL},
		/* three expanders, one behind another (linux Documentation/scsi/libsas.rst) */
		{"host8/port-8:0/expander-8:0/port-8:0:1/expander-8:1/port-8:1:2/expander-8:2/port-8:2:3/end_device-8:2:3/"
		 "target8:0:0/8:0:0:0/block/sdg/size",
		 "sdg"},
		/* linux drivers/nvme/host/core.c, nvme_alloc_ns(): a namespace is below its controller */
		{"nvme/nvme3/nvme3n1/size", "nvme3 nvme3n1"},
		{"nvme/nvme4/nvme4c4n2/size", "nvme4 nvme4c4n2"},
		{"nvme/nvme5/hwmon1/name", "nvme5"},
	};
	struct machine *m = *state;
	char address[16];

	for (size_t i = 0; i < COUNT(cases); i++) {
		snprintf(address, sizeof(address), "0000:%02zx:00.0", i + 1);
		put(m, address, "class", "0x010000\n");
		put(m, address, cases[i].file, "");
	}
	read_machine(m);
	for (size_t i = 0; i < COUNT(cases); i++) {
		snprintf(address, sizeof(address), "0000:%02zx:00.0", i + 1);
		if (cases[i].names)
			assert_string_equal(device(m, address)->names, cases[i].names);
		else
			assert_null(device(m, address)->names);
	}
}

static void attributes(void **state)
{
	struct machine *m = *state;
	const struct uncore_device *d;

	put(m, "0000:17:00.1", "vendor", "0x15b3\n");
	put(m, "0000:17:00.1", "device", "0x101d\n");
	put(m, "0000:17:00.1", "class", "0x020000\n");
	put(m, "0000:17:00.1", "numa_node", "1\n");
	put(m, "0000:17:00.1", "uevent", "MODALIAS=x\nDRIVER=mlx5_core\nPCI_CLASS=20000\n");
	put(m, "0000:17:00.1", "net/eth10/uevent", "");
	put(m, "0000:17:00.1", "net/eth9/uevent", "");
	put(m, "0000:17:00.1", "infiniband/mlx5_0/uevent", "");
	put(m, "0000:17:00.1", "max_link_speed", "16.0 GT/s PCIe\n");
	put(m, "0000:17:00.1", "max_link_width", "16\n");
	put_link(m, "0000:17:00.1", "8.0 GT/s PCIe\n", "8\n");
	read_machine(m);
	assert_int_equal(m->pci.count, 1);
	d = device(m, "0000:17:00.1");
	assert_int_equal(d->vendor, 0x15b3);
	assert_int_equal(d->device, 0x101d);
	assert_int_equal(d->class_code, 0x020000);
	assert_int_equal(d->node, 1);
	assert_int_equal(d->socket, 20);
	assert_string_equal(d->driver, "mlx5_core");
	assert_string_equal(d->names, "mlx5_0 eth9 eth10");
	assert_close(d->speed, 8);
	assert_close(d->max_speed, 16);
	assert_int_equal(d->width, 8);
	assert_int_equal(d->max_width, 16);
	assert_false(d->is_bridge || d->is_port);
	assert_null(d->parent);
	assert_null(d->port);
}

/* Nothing but the directory, and everything wrong. */
static void unknown_is_unknown(void **state)
{
	static const char *const files[] = {"vendor",    "device",         "class",
					    "numa_node", "max_link_width", "max_link_speed",
					    "uevent"};
	struct machine *m = *state;

	put(m, "0000:00:00.0", "x", "");
	for (size_t i = 0; i < COUNT(files); i++)
		put(m, "0000:00:01.0", files[i], "nonsense\n");
	put_link(m, "0000:00:01.0", "Unknown\n", "255\n");
	put(m, "0000:00:01.0", "net", "a file");
	put(m, "0000:00:02.0", "numa_node", "-1\n");
	put(m, "0000:00:02.0", "vendor", "0x123456\n");
	put_link(m, "0000:00:02.0", "7.0 GT/s PCIe\n", "4\n");
	put(m, "0000:00:03.0", "numa_node", "5\n");
	put_link(m, "0000:00:03.0", "16.0\n", "4\n");
	read_machine(m);
	assert_int_equal(m->pci.count, 4);
	for (size_t i = 0; i < 4; i++) {
		const struct uncore_device *d = &m->pci.devices[i].shown;

		assert_int_equal(d->vendor | d->device | d->class_code | d->max_width, 0);
		assert_int_equal(d->socket, -1);
		assert_int_equal(d->node, i == 3 ? 5 : -1);
		assert_true(isnan(d->link_rate) && isnan(d->max_speed));
		assert_int_equal(isnan(d->speed), i != 2);
		assert_int_equal(d->width, i < 2 ? 0 : 4);
		assert_null(d->driver);
		assert_null(d->names);
		assert_int_equal(d->rc_socket & d->rc & d->index, -1);
	}
}

static void link_rates(void **state)
{
	static const struct {
		const char *speed;
		double rate; /* B/s of 16 lanes, worked out by hand */
	} links[] = {
		{"2.5 GT/s PCIe", 4e9},          {"2.5 GT/s", 4e9}, /* older kernels */
		{"5.0 GT/s PCIe", 8e9},          {"8.0 GT/s PCIe", 1024e9 / 65},
		{"16.0 GT/s PCIe", 2048e9 / 65}, {"32.0 GT/s PCIe", 4096e9 / 65},
		{"64.0 GT/s PCIe", 121e9},
	};
	struct machine *m = *state;

	for (size_t i = 0; i < COUNT(links); i++) {
		char address[16];

		snprintf(address, sizeof(address), "0000:00:%02zx.0", i);
		put_link(m, address, links[i].speed, "16\n");
	}
	put_link(m, "0000:01:00.0", "2.5 GT/s PCIe\n", "0\n"); /* an empty slot */
	read_machine(m);
	for (size_t i = 0; i < COUNT(links); i++)
		assert_close(m->pci.devices[i].shown.link_rate, links[i].rate);
	assert_true(isnan(device(m, "0000:01:00.0")->link_rate));
}

/* A link gets faster when there is traffic. That of a device that sleeps is not read. */
static void links_that_change(void **state)
{
	struct machine *m = *state;

	put_link(m, "0000:00:00.0", "2.5 GT/s PCIe\n", "16\n");
	put(m, "0000:00:00.0", "max_link_width", "16\n");
	put(m, "0000:00:00.0", "power/runtime_status", "active\n");
	put_link(m, "0000:01:00.0", "8.0 GT/s PCIe\n", "4\n");
	put(m, "0000:01:00.0", "max_link_width", "4\n");
	put(m, "0000:01:00.0", "power/runtime_status", "suspended\n");
	read_machine(m);
	assert_close(device(m, "0000:00:00.0")->link_rate, 4e9);
	put_link(m, "0000:00:00.0", "32.0 GT/s PCIe\n", "8\n");
	put_link(m, "0000:01:00.0", "Unknown\n", "63\n");
	unc_pci_read_links(&m->pci);
	assert_close(device(m, "0000:00:00.0")->speed, 32);
	assert_int_equal(device(m, "0000:00:00.0")->width, 8);
	assert_close(device(m, "0000:00:00.0")->link_rate, 2048e9 / 65);
	assert_close(device(m, "0000:01:00.0")->link_rate, 256e9 / 65);
	put(m, "0000:01:00.0", "power/runtime_status", "active\n");
	unc_pci_read_links(&m->pci);
	assert_true(isnan(device(m, "0000:01:00.0")->link_rate));
}

static void put_most(const struct machine *m, const char *device, const char *speed,
		     const char *width)
{
	put(m, device, "max_link_speed", speed);
	put(m, device, "max_link_width", width);
}

/* Both ends of a link must be able to do it: a x16 port of 32 GT/s with a x4 device of 8 GT/s moves 4 lanes x 8 GT/s x 128 / 130. */
static void a_link_at_its_best(void **state)
{
	static const char port[] = "pci0000:17/0000:17:01.0";
	struct machine *m = *state;
	const struct uncore_device *d;

	put_below(m, "pci0000:17", "0000:17:01.0", "0x060400\n");
	put_below(m, port, "0000:18:00.0", "0x010802\n");
	put_below(m, port, "0000:18:00.1", "0x010802\n"); /* a virtual function, for instance */
	put_most(m, "0000:17:01.0", "32.0 GT/s PCIe\n", "16\n");
	put_most(m, "0000:18:00.0", "8.0 GT/s PCIe\n", "4\n");
	put_most(m, "0000:18:00.1", "Unknown\n", "0\n");
	/* Each end is the lesser one in something. */
	put_below(m, "pci0000:17", "0000:17:02.0", "0x060400\n");
	put_below(m, "pci0000:17/0000:17:02.0", "0000:19:00.0", "0x060400\n");
	put_most(m, "0000:17:02.0", "32.0 GT/s PCIe\n", "4\n");
	put_most(m, "0000:19:00.0", "16.0 GT/s PCIe\n", "16\n");
	/* Not the devices behind a switch. */
	put_below(m, "pci0000:17/0000:17:02.0/0000:19:00.0", "0000:1a:00.0", "0x010802\n");
	put_most(m, "0000:1a:00.0", "2.5 GT/s PCIe\n", "1\n");
	/* Nothing below, or nothing known of it. */
	put_below(m, "pci0000:17", "0000:17:03.0", "0x060400\n");
	put_most(m, "0000:17:03.0", "32.0 GT/s PCIe\n", "8\n");
	put_below(m, "pci0000:17", "0000:17:04.0", "0x060400\n");
	put_below(m, "pci0000:17/0000:17:04.0", "0000:1b:00.0", "0x010802\n");
	put_most(m, "0000:17:04.0", "Unknown\n", "8\n");
	put_most(m, "0000:1b:00.0", "8.0 GT/s PCIe\n", "4\n");
	read_machine(m);
	d = device(m, "0000:17:01.0");
	assert_close(d->max_speed, 8);
	assert_int_equal(d->max_width, 4);
	assert_close(d->max_rate, 256e9 / 65);
	d = device(m, "0000:17:02.0");
	assert_close(d->max_speed, 16);
	assert_int_equal(d->max_width, 4);
	assert_close(d->max_rate, 512e9 / 65);
	assert_close(device(m, "0000:19:00.0")->max_rate, 2048e9 / 65);
	assert_close(device(m, "0000:17:03.0")->max_rate, 2048e9 / 65);
	assert_true(isnan(device(m, "0000:17:04.0")->max_rate));
	assert_true(isnan(device(m, "0000:17:04.0")->max_speed));
}

/* ---- addresses -------------------------------------------------------------------------------- */

static void addresses_in_their_order(void **state)
{
	static const char *const ordered[] = {"0000:00:00.0", "0000:0a:00.0", "0000:0a:1f.7",
					      "0000:10:00.0", "0001:00:00.0", "000a:00:00.0",
					      "10000:00:02.0"};
	static const char *const wrong[] = {"pci0000:00",   "0000:00:00",     "0000:00:20.0",
					    "0000:00:00.8", "0000:00:00.0x",  "00:00.0",
					    "x:00:00.0",    "123456789:0:0.0"};
	struct machine *m = *state;

	for (size_t i = COUNT(ordered); i-- > 0;)
		put(m, ordered[i], "class", "0x010802\n");
	for (size_t i = 0; i < COUNT(wrong); i++)
		put(m, wrong[i], "class", "0x010802\n");
	read_machine(m);
	assert_int_equal(m->pci.count, COUNT(ordered));
	for (size_t i = 0; i < COUNT(ordered); i++)
		assert_string_equal(m->pci.devices[i].shown.address, ordered[i]);
	assert_int_equal(m->pci.devices[6].address >> 16, 0x10000);
}

/* ---- hierarchy -------------------------------------------------------------------------------- */

static void a_switch_below_a_root_port(void **state)
{
	struct machine *m = *state;
	const struct uncore_device *d;

	put_below(m, "pci0000:17", "0000:17:02.0", "0x060400\n");
	put_below(m, "pci0000:17/0000:17:02.0", "0000:18:00.0", "0x060400\n");
	put_below(m, "pci0000:17/0000:17:02.0/0000:18:00.0", "0000:19:00.0", "0x060400\n");
	put_below(m, "pci0000:17/0000:17:02.0/0000:18:00.0", "0000:19:01.0", "0x060400\n");
	put_below(m, "pci0000:17/0000:17:02.0/0000:18:00.0/0000:19:00.0", "0000:1a:00.0",
		  "0x020000\n");
	/* a virtual function, on a bus after that of its port */
	put_below(m, "pci0000:17/0000:17:02.0/0000:18:00.0/0000:19:00.0", "0000:1b:02.0",
		  "0x020000\n");
	put_below(m, "pci0000:17/0000:17:02.0/0000:18:00.0/0000:19:01.0", "0000:1c:00.0",
		  "0x010802\n");
	put_below(m, "pci0000:17", "0000:17:00.0", "0x088000\n");
	put_below(m, "pci0000:17/0000:17:00.5/pci10000:18", "10000:18:00.0", "0x010802\n");
	read_machine(m);
	d = device(m, "0000:17:02.0");
	assert_true(d->is_port && d->is_bridge && d->port == d && !d->parent);
	assert_string_equal(address_of(device(m, "0000:18:00.0")->parent), "0000:17:02.0");
	assert_string_equal(address_of(device(m, "0000:19:01.0")->parent), "0000:18:00.0");
	assert_string_equal(address_of(device(m, "0000:1a:00.0")->parent), "0000:19:00.0");
	assert_string_equal(address_of(device(m, "0000:1b:02.0")->parent), "0000:19:00.0");
	assert_string_equal(address_of(device(m, "0000:1c:00.0")->parent), "0000:19:01.0");
	assert_string_equal(address_of(device(m, "0000:1c:00.0")->port), "0000:17:02.0");
	assert_false(device(m, "0000:18:00.0")->is_port);
	assert_true(device(m, "0000:18:00.0")->is_bridge);
	assert_null(device(m, "0000:17:00.0")->port);
	assert_null(device(m, "10000:18:00.0")->port);
}

/* Links that lead to each other, to themselves, to what is no device, or are no links. */
static void circles_are_not_followed(void **state)
{
	struct machine *m = *state;

	put_below(m, "pci0000:00", "0000:00:01.0", "0x060400\n");
	put_below(m, "pci0000:00/0000:00:01.0/0000:06:00.0", "0000:05:00.0", "0x060400\n");
	put_below(m, "pci0000:00/0000:00:01.0/0000:05:00.0", "0000:06:00.0", "0x060400\n");
	put_below(m, "pci0000:00/0000:07:00.0", "0000:07:00.0", "0x060400\n");
	put_below(m, "pci0000:00/0000:00:1f.0", "0000:08:00.0", "0x060400\n");
	tree_link(&m->tree, "sys/bus/pci/devices/0000:09:00.0", "nowhere");
	put(m, "0000:0a:00.0", "class", "0x060400\n");
	read_machine(m);
	assert_int_equal(m->pci.count, 7);
	for (size_t i = 0; i < m->pci.count; i++) {
		const struct uncore_device *d = &m->pci.devices[i].shown;
		int steps = 0;

		for (; d->parent; d = d->parent)
			assert_true(++steps < 10);
		assert_true(d->is_port == (d->class_code == 0x060400));
	}
	assert_string_equal(address_of(device(m, "0000:06:00.0")->parent), "0000:05:00.0");
	assert_null(device(m, "0000:05:00.0")->parent);
	assert_null(device(m, "0000:07:00.0")->parent);
	assert_null(device(m, "0000:08:00.0")->parent);
}

/* ---- config space ----------------------------------------------------------------------------- */

static void put_config(const struct machine *m, const char *device, const unsigned char *config,
		       size_t len)
{
	char path[256];

	snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/config", device);
	tree_put_bytes(&m->tree, path, (const char *)config, len);
}

static void a_bridge_that_is_no_root_port(void **state)
{
	struct machine *m = *state;
	unsigned char config[256] = {0};

	config[6] = 0x10;
	config[0x34] = 0x40;
	config[0x40] = 0x05; /* another capability before it */
	config[0x41] = 0x60;
	config[0x60] = 0x10;
	config[0x62] = 0x42; /* root port */
	put(m, "0000:00:01.0", "class", "0x060400\n");
	put_config(m, "0000:00:01.0", config, 256);
	config[0x62] = 0x72; /* PCI Express to PCI */
	put(m, "0000:00:02.0", "class", "0x060400\n");
	put_config(m, "0000:00:02.0", config, 256);
	config[0x41] = 0; /* conventional PCI */
	put(m, "0000:00:03.0", "class", "0x060400\n");
	put_config(m, "0000:00:03.0", config, 256);
	put(m, "0000:00:04.0", "class", "0x060400\n");
	put_config(m, "0000:00:04.0", config, 64); /* what everybody may read does not tell */
	read_machine(m);
	assert_true(device(m, "0000:00:01.0")->is_port);
	assert_false(device(m, "0000:00:02.0")->is_port);
	assert_false(device(m, "0000:00:03.0")->is_port);
	assert_true(device(m, "0000:00:04.0")->is_port);
}

static void capabilities_in_circles(void **state)
{
	unsigned char config[4096] = {[6] = 0x10, [0x34] = 0x40, [0x40] = 1, [0x41] = 0x40};
	size_t length;

	(void)state;
	assert_int_equal(unc_pci_capability(config, 256, 0x10), 0);
	assert_int_equal(unc_pci_capability(config, 256, 1), 0x40);
	assert_int_equal(unc_pci_capability(config, 0x3f, 1), 0);
	assert_int_equal(unc_pci_capability(config, 0x41, 1), 0);
	memset(config, 0xff, sizeof(config));
	assert_int_equal(unc_pci_capability(config, 4096, 0x10), 0);
	assert_int_equal(unc_pci_dvsec(config, 4096, 0x10de, 4, &length), 0);
	memcpy(config + 0x100, (const unsigned char[]){1, 0, 1, 0x20}, 4); /* next: 0x200 */
	memcpy(config + 0x200, (const unsigned char[]){1, 0, 1, 0x10}, 4); /* next: 0x100 */
	assert_int_equal(unc_pci_dvsec(config, 4096, 0x10de, 4, &length), 0);
}

static void a_vendors_capability(void **state)
{
	unsigned char config[4096] = {0};
	const unsigned char other[] = {0x23, 0, 1, 0x20, 0xde, 0x10, 0x80, 0x01, 3, 0};
	const unsigned char wanted[] = {0x23, 0, 1, 0x00, 0xde, 0x10, 0x81, 0x01, 4, 0};
	size_t length = 0;

	(void)state;
	memcpy(config + 0x100, other, sizeof(other));
	memcpy(config + 0x200, wanted, sizeof(wanted));
	assert_int_equal(unc_pci_dvsec(config, 4096, 0x10de, 4, &length), 0x200);
	assert_int_equal(length, 0x18);
	assert_int_equal(unc_pci_dvsec(config, 0x20a, 0x10de, 4, &length), 0x200);
	assert_int_equal(unc_pci_dvsec(config, 0x209, 0x10de, 4, &length), 0);
	assert_int_equal(unc_pci_dvsec(config, 4096, 0x10de, 5, &length), 0);
	assert_int_equal(unc_pci_dvsec(config, 4096, 0x10df, 4, &length), 0);
	assert_int_equal(unc_pci_dvsec(config, 64, 0x10de, 4, &length), 0);
	assert_int_equal(unc_pci_dvsec(NULL, 0, 0x10de, 4, &length), 0);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	static const struct CMUnitTest tests[] = {
		TEST(no_pci),
		TEST(attributes),
		TEST(names_of_other_buses),
		TEST(unknown_is_unknown),
		TEST(link_rates),
		TEST(links_that_change),
		TEST(a_link_at_its_best),
		TEST(addresses_in_their_order),
		TEST(a_switch_below_a_root_port),
		TEST(circles_are_not_followed),
		TEST(a_bridge_that_is_no_root_port),
		TEST(capabilities_in_circles),
		TEST(a_vendors_capability),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
