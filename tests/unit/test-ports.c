/* SPDX-License-Identifier: MIT */
/* Root ports and the PMUs that count them; finding devices. */
#include "object.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "helpers.h"

static struct uncore *open_root(const char *dir, const char *data)
{
	struct uncore *u;

	assert_int_equal(uncore_new(&u), 0);
	if (uncore_set_root(u, dir) || (data && uncore_add_data(u, data)) || uncore_scan(u))
		fail_msg("%s", uncore_error(u));
	return u;
}

static struct uncore *open_machine(const char *name)
{
	char dir[1024];

	return open_root(tree_machine(name, dir, sizeof(dir)), NULL);
}

static const struct uncore_device *find(struct uncore *u, const char *name)
{
	const struct uncore_device *d = NULL;

	if (uncore_device_find(u, name, &d))
		fail_msg("%s", uncore_error(u));
	return d;
}

static const struct uncore_pmu *pmu(const struct uncore *u, const char *name)
{
	for (size_t i = 0; i < uncore_pmu_count(u); i++)
		if (strcmp(uncore_pmu_name(uncore_pmu_at(u, i)), name) == 0)
			return uncore_pmu_at(u, i);
	fail_msg("there is no %s", name);
	return NULL;
}

/* "0005:40:00.0=1 ..." of a PMU on a CPU, or "! reason". */
static void assert_ports(struct uncore *u, const char *name, int cpu, const char *expected)
{
	const struct unc_port *ports = NULL;
	struct unc_error why = {0};
	struct unc_text text = {0};
	size_t count = 0;
	int err = unc_machine_ports_of(u, pmu(u, name), cpu, &ports, &count, &why);

	if (err == 0)
		for (size_t i = 0; i < count; i++)
			unc_text_add(&text, "%s%s=%d", i ? " " : "", ports[i].device->address,
				     ports[i].index);
	else
		unc_text_add(&text, "! %s", why.text);
	assert_true(err == 0 || err == -ENODEV);
	assert_string_equal(text.data ? text.data : "", expected);
	unc_text_finish(&text);
}

/* The first PMU of it; how many there are. */
static void assert_counted(struct uncore *u, const char *address, size_t count, const char *first)
{
	const struct uncore_device *d = find(u, address);

	assert_int_equal(uncore_device_pmu_count(d), count);
	assert_string_equal(uncore_pmu_name(uncore_device_pmu_at(d, 0)), first);
	assert_null(d->unknown);
}

/* ---- Tegra410: the ports name the PMU ----------------------------------------------------------- */

static void t410(void **state)
{
	struct uncore *u = open_machine("nvidia-t410-2socket");
	const struct uncore_device *d;

	(void)state;
	assert_ports(u, "nvidia_pcie_pmu_0_rc_0", 0, "0001:00:00.0=0");
	assert_ports(u, "nvidia_pcie_pmu_0_rc_1", 0,
		     "0002:80:00.0=1 0002:a0:00.0=2 0002:c0:00.0=3 0002:e0:00.0=4");
	assert_ports(u, "nvidia_pcie_tgt_pmu_0_rc_4", 0,
		     "0005:00:00.0=0 0005:40:00.0=1 0005:c0:00.0=2");
	assert_ports(u, "nvidia_pcie_pmu_1_rc_1", 4,
		     "000a:80:00.0=1 000a:a0:00.0=2 000a:e0:00.0=3");
	assert_ports(u, "nvidia_pcie_pmu_1_rc_5", 4, "000e:00:00.0=0");
	assert_ports(u, "nvidia_ucf_pmu_0", 0,
		     "! nvidia_ucf_pmu_0 does not distinguish root ports");
	assert_counted(u, "000a:e0:00.0", 2, "nvidia_pcie_pmu_1_rc_1");
	d = find(u, "000a:e0:00.0");
	assert_int_equal(d->rc_socket, 1);
	assert_int_equal(d->rc, 1);
	assert_int_equal(d->index, 3);
	assert_int_equal(d->socket, 1);
	assert_string_equal(find(u, "mlx5_1")->port->address, "0002:80:00.0");
	uncore_free(u);
}

/* ---- small machines ------------------------------------------------------------------------------ */

struct machine {
	struct tree tree;
	struct uncore *u;
};

/* Two sockets with two CPUs each, the second socket's packages first by id. */
static int set_up(void **state)
{
	static const int sockets[] = {0, 0, 3, 3};
	static struct machine m;

	m = (struct machine){0};
	tree_make(&m.tree);
	machine_cpuinfo(&m.tree, 85, "");
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

static void put_bridge(const struct machine *m, const char *address)
{
	char path[256];

	snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/class", address);
	tree_put(&m->tree, path, "0x060400\n");
}

/* A family toy of the PMUs `pattern`, with this item of `ports`. */
static void open_toy(struct machine *m, const char *pattern, const char *rule)
{
	char text[1024], dir[512];

	snprintf(text, sizeof(text),
		 "family: toy\ntitle: x\ninstance: x\nplace: link\npmus: [{name: '%s'}]\n"
		 "models: {skx: intel/6/85, icx: intel/6/106}\n"
		 "ports:\n%s\n"
		 "events:\n  a: {title: x, terms: event=1, evidence: x}\n"
		 "metrics:\n  toy.rate: {title: x, unit: 1/s, formula: a / seconds, evidence: x}\n",
		 pattern, rule);
	tree_put(&m->tree, "data/toy.yaml", text);
	snprintf(dir, sizeof(dir), "%s/data", m->tree.dir);
	m->u = open_root(m->tree.dir, dir);
}

static void assert_unknown(struct machine *m, const char *address, const char *why)
{
	assert_int_equal(uncore_device_pmu_count(find(m->u, address)), 0);
	assert_string_equal(find(m->u, address)->unknown, why);
}

static void a_file_for_each_die(void **state)
{
	struct machine *m = *state;

	machine_pmu(&m->tree, "toy_0", "10\n", "0,2\n");
	tree_pmu(&m->tree, "toy_0", "die0", "0000:17\n");
	tree_pmu(&m->tree, "toy_0", "die1", "0000:d7\n");
	machine_pmu(&m->tree, "toy_1", "11\n", "0,2\n");
	tree_pmu(&m->tree, "toy_1", "die0", "nonsense\n");
	put_bridge(m, "0000:16:00.0");
	put_bridge(m, "0000:17:00.0");
	put_bridge(m, "0000:17:03.0");
	put_bridge(m, "0000:17:04.0");
	put_bridge(m, "0000:d7:02.0");
	put_bridge(m, "10000:17:00.0");
	open_toy(m, "toy_{n}",
		 "  - {attribute: 'none{die}', when: icx}\n"
		 "  - {attribute: 'die{die}', index: device, count: 4, evidence: x, when: skx}");
	assert_ports(m->u, "toy_0", 0, "0000:17:00.0=0 0000:17:03.0=3 0000:17:04.0=-1");
	assert_ports(m->u, "toy_0", 2, "0000:d7:02.0=2");
	assert_ports(m->u, "toy_0", 1, "! it is not known which root ports toy_0 counts");
	assert_ports(m->u, "toy_1", 0,
		     "! toy_1: its file 'die0' has 'nonsense', which names no root port");
	assert_ports(m->u, "toy_1", 2,
		     "! toy_1 has no file 'die1', which would name its root ports");
	assert_counted(m->u, "0000:d7:02.0", 1, "toy_0");
	assert_int_equal(find(m->u, "0000:17:03.0")->index, 3);
	assert_int_equal(find(m->u, "0000:17:03.0")->rc, -1);
	assert_unknown(m, "0000:16:00.0",
		       "toy_1: its file 'die0' has 'nonsense', which names no root port");
}

static void indices_from_the_first_device(void **state)
{
	struct machine *m = *state;

	machine_pmu(&m->tree, "toy_0", "10\n", "0\n");
	tree_pmu(&m->tree, "toy_0", "die0", "0000:17\n");
	put_bridge(m, "0000:17:01.0");
	put_bridge(m, "0000:17:02.0");
	put_bridge(m, "0000:17:06.0");
	put_bridge(m, "0000:99:00.0");
	open_toy(m, "toy_{n}",
		 "  - {attribute: 'die{die}', index: device, first: 2, count: 4, evidence: x}");
	assert_ports(m->u, "toy_0", 0, "0000:17:01.0=-1 0000:17:02.0=0 0000:17:06.0=-1");
	assert_unknown(m, "0000:99:00.0", "no PMU names this root port");
}

static void a_pmu_whose_ports_have_no_index(void **state)
{
	struct machine *m = *state;

	for (int i = 0; i < 2; i++) {
		const char *name = i ? "toy_1" : "toy_0";

		machine_pmu(&m->tree, name, i ? "11\n" : "10\n", "0\n");
		tree_pmu(&m->tree, name, "die0", i ? "0000:18\n" : "0000:17\n");
	}
	put_bridge(m, "0000:17:01.0");
	put_bridge(m, "0000:18:01.0");
	open_toy(m, "toy_{n}",
		 "  - {attribute: 'die{die}', index: device, except: toy_1, evidence: x}");
	assert_ports(m->u, "toy_0", 0, "0000:17:01.0=1");
	assert_ports(m->u, "toy_1", 0, "0000:18:01.0=-1");
}

static void a_name_with_the_address(void **state)
{
	struct machine *m = *state;

	machine_pmu(&m->tree, "toy_a1f08", "10\n", "0\n"); /* 000a:1f:01.0 */
	put_bridge(m, "000a:1f:01.0");
	put_bridge(m, "000a:1f:02.0");
	open_toy(m, "toy_{sbdf}", "  - {name: sbdf}");
	assert_ports(m->u, "toy_a1f08", 0, "000a:1f:01.0=-1");
	assert_counted(m->u, "000a:1f:01.0", 1, "toy_a1f08");
}

static void a_range_of_addresses(void **state)
{
	struct machine *m = *state;

	machine_pmu(&m->tree, "toy_0", "10\n", "0\n");
	tree_pmu(&m->tree, "toy_0", "bdf_min", "0x8000\n");
	tree_pmu(&m->tree, "toy_0", "bdf_max", "0x8020\n");
	put_bridge(m, "0000:7f:1f.7");
	put_bridge(m, "0000:80:00.0");
	put_bridge(m, "0000:80:04.0");
	put_bridge(m, "0000:80:04.1");
	open_toy(m, "toy_{n}", "  - {range: {min: bdf_min, max: bdf_max}}");
	assert_ports(m->u, "toy_0", 0, "0000:80:00.0=-1 0000:80:04.0=-1");
}

static void put_node(const struct machine *m, const char *address, const char *node)
{
	char path[256];

	put_bridge(m, address);
	snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/numa_node", address);
	tree_put(&m->tree, path, node);
}

static void all_of_the_socket(void **state)
{
	struct machine *m = *state;

	machine_pmu(&m->tree, "toy_0", "10\n", "0\n");
	machine_pmu(&m->tree, "toy_1", "11\n", "2\n");
	tree_put(&m->tree, "sys/devices/system/node/node0/cpulist", "0-1\n");
	tree_put(&m->tree, "sys/devices/system/node/node1/cpulist", "2-3\n");
	put_node(m, "0000:00:00.0", "0\n");
	put_node(m, "0001:00:00.0", "1\n");
	put_node(m, "0002:00:00.0", "-1\n");
	open_toy(m, "toy_{n}", "  - {socket: true, evidence: x}");
	assert_ports(m->u, "toy_0", 0, "0000:00:00.0=-1");
	assert_ports(m->u, "toy_1", 2, "0001:00:00.0=-1");
	assert_unknown(m, "0002:00:00.0", "no PMU names this root port");
}

static void nothing_tells(void **state)
{
	struct machine *m = *state;

	machine_pmu(&m->tree, "toy_0", "10\n", "0\n");
	put_bridge(m, "0000:00:00.0");
	open_toy(m, "toy_{n}", "  - {unknown: the kernel does not say}");
	assert_ports(m->u, "toy_0", 0, "! the kernel does not say");
	assert_unknown(m, "0000:00:00.0", "the kernel does not say");
}

/* ---- the other ends of links --------------------------------------------------------------------- */

static void assert_peer(struct uncore *u, const char *name, int cpu, const char *text, int socket)
{
	const struct uncore_peer *peer = uncore_pmu_peer(u, pmu(u, name), cpu);

	assert_non_null(peer);
	assert_string_equal(peer->text, text);
	assert_int_equal(peer->socket, socket);
}

static void assert_no_peer(struct uncore *u, const char *name, const char *why)
{
	assert_null(uncore_pmu_peer(u, pmu(u, name), 0));
	assert_string_equal(uncore_error(u), why);
}

/* The kernel's words, arch/x86/events/intel/uncore_snbep.c: "upi_%d,die_%d", the other end's link and die. */
static void links_between_sockets(void **state)
{
	struct machine *m = *state;

	machine_pmu(&m->tree, "toy_0", "10\n", "0,2\n");
	tree_pmu(&m->tree, "toy_0", "die0", "upi_1,die_1\n");
	tree_pmu(&m->tree, "toy_0", "die1", "upi_0,die_0\n");
	machine_pmu(&m->tree, "toy_1", "11\n", "0,2\n");
	tree_pmu(&m->tree, "toy_1", "die1", "upi_0,die_2\n");
	open_toy(m, "toy_{n}", "  - {unknown: x}\npeer: die{die}");
	assert_peer(m->u, "toy_0", 0, "upi_1,die_1", 1); /* package 3 */
	assert_peer(m->u, "toy_0", 2, "upi_0,die_0", 0);
	assert_peer(m->u, "toy_1", 3, "upi_0,die_2", -1); /* there are two dies */
	assert_no_peer(m->u, "toy_1", "toy_1 has no file 'die0', which would name its other end");
}

static void links_to_something_else(void **state)
{
	struct machine *m = *state;

	machine_pmu(&m->tree, "toy_0", "10\n", "0\n");
	tree_pmu(&m->tree, "toy_0", "peer", "nr_gpu=2\n");
	machine_pmu(&m->tree, "toy_1", "11\n", "0\n");
	machine_pmu(&m->tree, "other", "12\n", "0\n");
	open_toy(m, "toy_{n}", "  - {unknown: x}\nrole: {attribute: peer, values: {nr_gpu: GPU}}");
	assert_peer(m->u, "toy_0", 0, "nr_gpu=2", -1);
	assert_no_peer(m->u, "toy_1", "toy_1 has no file 'peer', which would name its other end");
	assert_no_peer(m->u, "other", "the driver of other does not name the other end");
	assert_string_equal(uncore_pmu_instance(pmu(m->u, "toy_0")), "x");
	assert_null(uncore_pmu_instance(pmu(m->u, "other")));
	assert_string_equal(uncore_pmu_place(pmu(m->u, "toy_0")), "link");
	assert_null(uncore_pmu_place(pmu(m->u, "other")));
}

/* ---- the families' own -------------------------------------------------------------------------- */

/* In Intel's pcm-iio, src/pcm-iio-topology.cpp: on Skylake device N of a stack's bus is part N; on Ice
 * Lake devices 2 to 5 are parts 0 to 3. Ports of the chipset are behind the stack on bus 0. */
static void intel(void **state)
{
	struct uncore *u = open_machine("intel-skx-1socket");

	(void)state;
	assert_ports(u, "uncore_iio_0", 0, "0000:00:1c.0=-1");
	assert_ports(u, "uncore_iio_1", 0, "0000:17:00.0=0");
	assert_ports(u, "uncore_iio_2", 0, "0000:3a:00.0=0 0000:3a:01.0=1");
	assert_ports(u, "uncore_iio_3", 0, "0000:5d:02.0=2 10000:00:03.0=3");
	assert_contains(find(u, "10000:00:03.0")->doubt, "behind VMD");
	assert_ports(u, "uncore_iio_4", 0,
		     "! uncore_iio_4 has no file 'die0', which would name its root ports");
	uncore_free(u);
	u = open_machine("intel-icx-1socket");
	assert_ports(u, "uncore_iio_5", 0, "0000:00:1c.0=-1");
	assert_ports(u, "uncore_iio_2", 0, "0000:4a:02.0=0 0000:4a:04.0=2");
	uncore_free(u);
	u = open_machine("intel-spr-1socket");
	assert_ports(u, "uncore_iio_4", 0, "0000:37:01.0=0 0000:37:03.0=2");
	assert_ports(u, "uncore_iio_5", 0, "");
	uncore_free(u);
}

static void grace(void **state)
{
	struct uncore *u = open_machine("nvidia-grace-1socket");

	(void)state;
	assert_ports(u, "nvidia_pcie_pmu_0", 0, "0000:00:00.0=-1 0001:00:00.0=-1 0002:00:00.0=-1");
	uncore_free(u);
}

/* ---- capabilities that cannot be read, or say something else -------------------------------------- */

/* Config space of a root port with the Tegra410's capability at 0x100. */
static void put_dvsec(const struct machine *m, const char *address, size_t len, unsigned length,
		      const char numbers[5])
{
	unsigned char config[0x118] = {[0x100] = 0x23,
				       [0x104] = 0xde,
				       0x10,
				       [0x107] = (unsigned char)(length >> 4),
				       [0x108] = 4};
	char path[256];

	config[0x106] = (unsigned char)((length & 0xf) << 4);
	memcpy(config + 0x10c, numbers, 5);
	config[6] = 0x10;
	config[0x34] = 0x40;
	config[0x40] = 0x10;
	config[0x42] = 0x42;
	put_bridge(m, address);
	snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/config", address);
	tree_put_bytes(&m->tree, path, (const char *)config, len);
}

#define T410_RULE                              \
	"  - dvsec: {vendor: 0x10de, id: 4}\n" \
	"    fields: {bus: 0xc, segment: 0xd, port: 0xe, rc: 0xf, socket: 0x10}"

static void ports_that_name_no_pmu(void **state)
{
	struct machine *m = *state;

	machine_pmu(&m->tree, "toy_1_rc_3", "10\n", "0\n");
	machine_pmu(&m->tree, "toy_1_rc_4", "11\n", "0\n");
	put_dvsec(m, "0000:00:00.0", 0x118, 0x18, "\0\0\6\3\1");
	put_dvsec(m, "0000:01:00.0", 0x118, 0x18, "\0\0\0\2\1"); /* another root complex */
	put_dvsec(m, "0000:02:00.0", 0x118, 0x10, "\0\0\0\3\1"); /* too short for its fields */
	put_dvsec(m, "0000:03:00.0", 0x110, 0x18, "\0\0\0\3\1"); /* cut off */
	open_toy(m, "toy_{socket}_rc_{rc}", T410_RULE);
	assert_ports(m->u, "toy_1_rc_3", 0, "0000:00:00.0=6");
	assert_ports(m->u, "toy_1_rc_4", 0, "! no root port names toy_1_rc_4");
	assert_unknown(m, "0000:01:00.0", "there is no PMU of socket 1, root complex 2");
	assert_int_equal(find(m->u, "0000:01:00.0")->rc, 2);
	assert_unknown(m, "0000:02:00.0", "it has no capability (DVSEC 10de:4) that names its PMU");
	assert_unknown(m, "0000:03:00.0", "it has no capability (DVSEC 10de:4) that names its PMU");
}

/* A PMU that the kernel does not know by the part counts some root complex, and nobody knows which. */
static void a_name_that_does_not_tell(void **state)
{
	struct machine *m = *state;

	machine_pmu(&m->tree, "any_7", "10\n", "0\n");
	put_dvsec(m, "0000:00:00.0", 0x118, 0x18, "\0\0\6\3\1");
	open_toy(m, "toy_{socket}_rc_{rc}'}, {name: 'any_{index}", T410_RULE);
	assert_ports(m->u, "any_7", 0,
		     "! the name of any_7 does not contain its {rc}, as in toy_{socket}_rc_{rc}");
	assert_unknown(m, "0000:00:00.0",
		       "the name of any_7 does not contain its {rc}, as in toy_{socket}_rc_{rc}");
}

static void without_root_config_space_ends_early(void **state)
{
	const struct uncore_finding *finding = NULL;
	struct machine *m = *state;

	machine_pmu(&m->tree, "toy_1_rc_3", "10\n", "0\n");
	put_dvsec(m, "0000:00:00.0", 64, 0x18, "\0\0\6\3\1");
	put_bridge(m, "0000:01:00.0"); /* no config file */
	open_toy(m, "toy_{socket}_rc_{rc}", T410_RULE);
	assert_ports(m->u, "toy_1_rc_3", 0,
		     "! only root can read which root ports toy_1_rc_3 counts");
	for (int i = 0; i < 2; i++)
		assert_unknown(m, i ? "0000:01:00.0" : "0000:00:00.0",
			       "the part of its config space that names its PMU cannot be read "
			       "without root");
	assert_int_equal(uncore_diagnose(m->u), 0);
	for (size_t i = 0; i < uncore_finding_count(m->u); i++)
		if (strcmp(uncore_finding_at(m->u, i)->subject, "root ports") == 0)
			finding = uncore_finding_at(m->u, i);
	assert_non_null(finding);
	assert_string_equal(finding->found, "which PMU counts them is not known for 2 of 2");
	assert_string_equal(finding->fix, "sudo uncore pcie");
}

/* ---- finding ---------------------------------------------------------------------------------------- */

static void devices_by_name(void **state)
{
	struct uncore *u = open_machine("intel-skx-1socket");
	const struct uncore_device *d = NULL;

	(void)state;
	assert_string_equal(find(u, "nvme1")->address, "0000:3c:00.0");
	assert_string_equal(find(u, "mlx5_0")->address, "0000:18:00.0");
	assert_string_equal(find(u, "ens1f1np1")->address, "0000:18:00.1");
	assert_string_equal(find(u, "card1")->address, "0000:5e:00.0");
	assert_string_equal(find(u, "0000:18:00.1")->address, "0000:18:00.1");
	assert_string_equal(find(u, "5E:00.0")->address, "0000:5e:00.0");
	assert_string_equal(find(u, "10000:01:00.0")->names, "nvme2");
	assert_string_equal(find(u, "01:00.0")->address, "0000:01:00.0");
	assert_int_equal(uncore_device_find(u, "nvme9", &d), -ENOENT);
	assert_contains(uncore_error(u), "did you mean nvme0, nvme1 or nvme2?");
	assert_int_equal(uncore_device_find(u, "", &d), -ENOENT);
	assert_int_equal(uncore_device_find(u, "e", &d), -ENOENT);
	assert_int_equal(uncore_device_find(u, "0000:18:00.2", &d), -ENOENT);
	assert_contains(uncore_error(u), "0000:18:00.0");
	assert_null(d);
	uncore_free(u);
}

static void addresses_without_a_segment(void **state)
{
	struct uncore *u = open_machine("nvidia-t410-1socket");
	const struct uncore_device *d = NULL;

	(void)state;
	assert_string_equal(find(u, "83:00.1")->address, "0002:83:00.1");
	assert_int_equal(uncore_device_find(u, "01:00.0", &d), -EINVAL);
	assert_contains(uncore_error(u), "there are 0001:01:00.0 and 0003:01:00.0");
	assert_null(d);
	uncore_free(u);
}

static void machines_without_pci_or_scan(void **state)
{
	struct uncore *u = open_machine("intel-ivt-1socket");
	const struct uncore_device *d = NULL;

	(void)state;
	assert_int_equal(uncore_device_count(u), 0);
	assert_int_equal(uncore_device_find(u, "nvme0", &d), -ENOENT);
	uncore_free(u);
	assert_int_equal(uncore_new(&u), 0);
	assert_int_equal(uncore_device_count(u), 0);
	uncore_free(u);
}

/* Devices are forgotten with the scan that they belong to. */
static void scanned_again(void **state)
{
	struct machine *m = *state;

	put_bridge(m, "0000:00:00.0");
	m->u = open_root(m->tree.dir, NULL);
	assert_int_equal(uncore_device_count(m->u), 1);
	assert_unknown(m, "0000:00:00.0", "no PMU here is known to count single root ports");
	put_bridge(m, "0000:00:01.0");
	assert_int_equal(uncore_device_count(m->u), 1);
	assert_int_equal(uncore_scan(m->u), 0);
	assert_int_equal(uncore_device_count(m->u), 2);
}

/* A root port that is given by its numbers is kept beside the devices: the next reading of these would lose it. */
static void out_of_file_descriptors(void **state)
{
	struct machine *m = *state;
	struct uncore_monitor *monitor;
	struct rlimit old, none;
	int free_fd;

	put_bridge(m, "0000:00:00.0");
	m->u = open_root(m->tree.dir, NULL);
	assert_int_equal(uncore_monitor_new(&monitor, m->u), 0);
	free_fd = dup(STDERR_FILENO);
	assert_true(free_fd >= 0 && close(free_fd) == 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = (struct rlimit){(rlim_t)free_fd, old.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(uncore_monitor_set_filter(monitor, "port", "0:0:0"), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_contains(uncore_error(m->u), "out of file descriptors");
	/* What was found meanwhile is not complete: that holds until the next scan. */
	assert_int_equal(uncore_monitor_set_filter(monitor, "port", "0:0:0"), -EMFILE);
	uncore_monitor_free(monitor);
	assert_int_equal(uncore_scan(m->u), 0);
	assert_int_equal(uncore_monitor_new(&monitor, m->u), 0);
	assert_int_equal(uncore_monitor_set_filter(monitor, "port", "0:0:0"), 0);
	uncore_monitor_free(monitor);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(t410),
		TEST(a_file_for_each_die),
		TEST(indices_from_the_first_device),
		TEST(a_pmu_whose_ports_have_no_index),
		TEST(a_name_with_the_address),
		TEST(a_range_of_addresses),
		TEST(all_of_the_socket),
		TEST(nothing_tells),
		TEST(links_between_sockets),
		TEST(links_to_something_else),
		cmocka_unit_test(intel),
		cmocka_unit_test(grace),
		TEST(ports_that_name_no_pmu),
		TEST(a_name_that_does_not_tell),
		TEST(without_root_config_space_ends_early),
		cmocka_unit_test(devices_by_name),
		cmocka_unit_test(addresses_without_a_segment),
		cmocka_unit_test(machines_without_pci_or_scan),
		TEST(scanned_again),
		TEST(out_of_file_descriptors),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
