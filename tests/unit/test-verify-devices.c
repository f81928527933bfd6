/* SPDX-License-Identifier: MIT */
/* `uncore verify` with devices: which one moves the data of a disk, and from planted faults of counters of PCIe to their names. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "helpers.h"
#include "planted.h"

#define SOCKETS 2
#define PORTS 3 /* of a socket */
#define MOVED 1073741824.0
#define ROUND 0.5
#define DEVICE "0000:18:00.0"
#define PORT "0000:17:00.0" /* of socket 0 */

/* ---- a machine whose counters are planted ---- */

enum fault {
	NONE,
	NEXT_PORT,
	NEXT_SOCKET,
	SWAPPED,
	AS_OUTBOUND,
	NEXT_PORT_SWAPPED,
	DEAD,
	HALF,
	DOUBLE,
	TIMES_4,
	OVER_4,
	OVER_16,
	TIMES_64,
	OVER_64,
	LOSES,
	PART_NEXT_PORT,
	TWO_PORTS,
	CACHES_LOSE_HITS,
	CACHES_DOUBLE,
};

struct planted {
	enum fault fault;
	double others; /* bytes per second and place */
	double found;  /* of what the device moves, in the caches */
};

static const char *const ports[SOCKETS][PORTS] = {
	{"0000:17:00.0", "0000:17:02.0", "uncore_iio_0"},
	{"0000:85:00.0", "0000:85:02.0", "uncore_iio_0"},
};

static double factor_of(enum fault fault)
{
	switch (fault) {
	case DEAD:
		return 0;
	case HALF:
		return 0.5;
	case DOUBLE:
		return 2;
	case TIMES_4:
		return 4;
	case OVER_4:
		return 0.25;
	case OVER_16:
		return 1 / 16.0;
	case TIMES_64:
		return 64;
	case OVER_64:
		return 1 / 64.0;
	case LOSES:
		return 0.97;
	default:
		return 1;
	}
}

/* What stacks count of each byte, told by words and not by the table that is tested. */
static double of_stack(enum fault fault, bool file_read, const struct verify_cell *c)
{
	const char *own =
		file_read ? "pcie.inbound.write.bandwidth" : "pcie.inbound.read.bandwidth";
	const char *port = PORT;
	int socket = 0;

	if (fault == SWAPPED || fault == NEXT_PORT_SWAPPED)
		own = file_read ? "pcie.inbound.read.bandwidth" : "pcie.inbound.write.bandwidth";
	if (fault == AS_OUTBOUND)
		own = file_read ? "pcie.outbound.read.bandwidth" : "pcie.outbound.write.bandwidth";
	if (fault == NEXT_PORT || fault == NEXT_PORT_SWAPPED)
		port = "0000:17:02.0";
	if (fault == NEXT_SOCKET) {
		port = "0000:85:02.0";
		socket = 1;
	}
	if (strcmp(c->metric, own) != 0)
		return 0;
	if (!*c->port)
		return c->socket != socket ? 0 : fault == TWO_PORTS ? 2 : factor_of(fault);
	if (fault == PART_NEXT_PORT && c->socket == 0)
		return strcmp(c->port, PORT) == 0             ? 0.9
		       : strcmp(c->port, "0000:17:02.0") == 0 ? 0.1
							      : 0;
	if (fault == TWO_PORTS && strcmp(c->port, "0000:17:02.0") == 0)
		return 1;
	return c->socket == socket && strcmp(c->port, port) == 0 ? factor_of(fault) : 0;
}

static double of_caches(const struct planted *p, bool file_read, const struct verify_cell *c)
{
	bool write = strstr(c->metric, ".write."), hit = strstr(c->metric, ".hit.");
	double found = p->fault == CACHES_LOSE_HITS ? 0 : p->found;

	if (write != file_read || c->socket != 0)
		return 0;
	return (hit ? found : found + 1 - p->found) * (p->fault == CACHES_DOUBLE ? 2 : 1);
}

static void add_cells(struct verify_run *run, const char *metric, const char *family, bool by_port)
{
	for (int s = 0; s < SOCKETS; s++)
		for (int i = -1; i < (by_port ? PORTS : 0); i++) {
			add_cell(run, metric, family, s, -1);
			strcpy(run->cells[run->cell_count - 1].port, i < 0 ? "" : ports[s][i]);
		}
}

static void add_series(struct verify_run *run, const struct planted *p)
{
	for (int write = 0; write < 2; write++) {
		struct verify_series *s = verify_add_series(
			run, &(struct verify_series){.load = write ? VERIFY_FILE_WRITE
								   : VERIFY_FILE_READ,
						     .memory = 2 << 20,
						     .device = DEVICE,
						     .port = PORT,
						     .disk = 1});

		for (int i = 0; i < 12; i++) {
			double moved = MOVED * (i % 4 == 3 ? 4 : i % 4) / 4;
			struct verify_reading *r = verify_add_round(s, moved);

			for (size_t k = 0; k < s->cell_count; k++) {
				const struct verify_cell *c = &run->cells[s->first_cell + k];
				double seconds = ROUND + 0.001 * uniform();
				double share = strstr(c->metric, ".llc.")
						       ? of_caches(p, !write, c)
						       : of_stack(p->fault, !write, c);
				double others = seconds * p->others * (1 + 0.02 * uniform());

				r[k] = (struct verify_reading){.amount = moved * share + others,
							       .seconds = seconds};
			}
		}
	}
}

/* In two passes: stacks, and caches. Memory is counted beside them, and holds only what was not found. */
static void make_run(struct verify_run *run, const struct planted *p)
{
	*run = (struct verify_run){.version = "0.1.0", .date = "2026-12-01", .cache = 32 << 20};
	add_cells(run, "pcie.inbound.write.bandwidth", "intel-iio", true);
	add_cells(run, "pcie.inbound.read.bandwidth", "intel-iio", true);
	add_cells(run, "pcie.outbound.write.bandwidth", "intel-iio", true);
	add_cells(run, "pcie.outbound.read.bandwidth", "intel-iio", true);
	add_cells(run, "memory.write.bandwidth", "intel-imc", false);
	add_series(run, p);
	run->first_cell = run->cell_count;
	add_cells(run, "pcie.inbound.write.llc.bandwidth", "intel-cha", false);
	add_cells(run, "pcie.inbound.read.llc.bandwidth", "intel-cha", false);
	add_cells(run, VERIFY_WRITES_FOUND, "intel-cha", false);
	add_cells(run, VERIFY_READS_FOUND, "intel-cha", false);
	add_series(run, p);
}

/* For each direction: the socket and the port of the stacks, and the caches of the socket. */
#define STACKS 4
#define RESULTS (STACKS + 2)

static void clean_runs_are_proved(void **s)
{
	(void)s;
	for (int i = 0; i < 50; i++) {
		const struct planted p = {NONE, i * 0.03e9, i / 50.0};
		struct verify_result *results;
		struct verify_run run;
		size_t all;

		make_run(&run, &p);
		all = verify_judge(&run, &results);
		assert_int_equal(all, RESULTS);
		for (size_t k = 0; k < all; k++) {
			const struct verify_result *r = &results[k];

			if (r->verdict != VERIFY_PROVED)
				fail_msg("%s %s: %s", r->cell->metric, r->cell->port, r->reason);
			assert_null(r->fault);
			assert_int_equal(r->cell->socket, 0);
			/* Never memory; and the share that was found has no verdict of its own. */
			assert_non_null(strstr(r->cell->metric, "pcie.inbound."));
			assert_null(strstr(r->cell->metric, ".hit."));
			if (strstr(r->cell->metric, ".llc."))
				assert_true(fabs(r->share - p.found) < 0.02);
			else
				assert_true(isnan(r->share) && !*r->reason);
		}
		free(results);
		verify_run_free(&run);
	}
}

static const struct {
	enum fault fault;
	const char *name, *sentence;
	size_t sockets, ports, caches; /* that are off */
} planted_faults[] = {
	{NEXT_PORT, "other port", "the data of " DEVICE " are counted at root port 0000:17:02.0", 0,
	 2, 0},
	{NEXT_SOCKET, "other socket", "the data of " DEVICE " are counted at socket 1", 2, 2, 0},
	{SWAPPED, "directions swapped", "writes of devices are counted as reads of devices", 2, 2,
	 0},
	{AS_OUTBOUND, "directions swapped",
	 "writes of devices are counted as reads of CPUs from devices", 2, 2, 0},
	{NEXT_PORT_SWAPPED, "other port and direction",
	 "writes of devices are counted as reads of devices at root port 0000:17:02.0", 2, 2, 0},
	{DEAD, "nothing", "nothing is counted", 2, 2, 0},
	{HALF, "half", "one of two PMUs is missing", 2, 2, 0},
	{DOUBLE, "double", "two PMUs count the same", 2, 2, 0},
	{TIMES_4, "units", "bytes are taken for units of 4 bytes", 2, 2, 0},
	{OVER_4, "units", "units of 4 bytes are taken for bytes", 2, 2, 0},
	{OVER_16, "units", "lines of 64 bytes are taken for units of 4", 2, 2, 0},
	{TIMES_64, "units", "bytes are taken for lines of 64", 2, 2, 0},
	{OVER_64, "units", "lines of 64 bytes are taken for bytes", 2, 2, 0},
	{LOSES, NULL, "the factor is 0.9700: 3.0 % too little", 2, 2, 0},
	{PART_NEXT_PORT, "astray",
	 "10.0 % of the data of " DEVICE
	 " is counted as writes of devices at root port 0000:17:02.0",
	 0, 2, 0},
	{TWO_PORTS, "double", "two PMUs count the same", 2, 2, 0},
	{CACHES_LOSE_HITS, NULL, "the factor is 0.3000: 70.0 % too little", 0, 0, 2},
	{CACHES_DOUBLE, "double", "counted twice", 0, 0, 2},
};

static void planted_faults_are_named(void **s)
{
	(void)s;
	for (size_t i = 0; i < sizeof(planted_faults) / sizeof(*planted_faults); i++) {
		const struct planted p = {planted_faults[i].fault, 0, 0.7};
		size_t all, off[3] = {0}, named = 0;
		struct verify_result *results;
		struct verify_run run;
		bool said = false;

		make_run(&run, &p);
		all = verify_judge(&run, &results);
		assert_int_equal(all, RESULTS);
		for (size_t k = 0; k < all; k++) {
			const struct verify_result *r = &results[k];

			if (r->verdict == VERIFY_PROVED)
				continue;
			assert_int_equal(r->verdict, VERIFY_OFF);
			off[strstr(r->cell->metric, ".llc.") ? 2 : !!*r->cell->port]++;
			named += planted_faults[i].name
					 ? r->fault && !strcmp(r->fault, planted_faults[i].name)
					 : !r->fault;
			said = said || strstr(r->reason, planted_faults[i].sentence);
		}
		if (off[0] != planted_faults[i].sockets || off[1] != planted_faults[i].ports ||
		    off[2] != planted_faults[i].caches || !named || !said)
			fail_msg("fault %zu: %zu %zu %zu, %zu %d: %s", i, off[0], off[1], off[2],
				 named, said, results[0].reason);
		assert_int_equal(verify_overall(results, all), VERIFY_OFF);
		free(results);
		verify_run_free(&run);
	}
}

/* ---- what cannot be told ---- */

static void find_unknown(struct verify_run *run, const char *sentence)
{
	struct verify_result *results;
	size_t all = verify_judge(run, &results);

	assert_int_equal(all, RESULTS);
	for (size_t i = 0; i < all; i++) {
		assert_int_equal(results[i].verdict, VERIFY_UNKNOWN);
		if (!strstr(results[i].reason, sentence))
			fail_msg("%s", results[i].reason);
	}
	free(results);
	verify_run_free(run);
}

static void disk_of_the_run(struct verify_run *run, double disk)
{
	make_run(run, &(struct planted){.found = 0.7});
	for (size_t i = 0; i < run->series_count; i++)
		run->series[i].disk = disk;
}

static void data_that_the_disk_did_not_move_are_not_judged(void **s)
{
	struct verify_result *results;
	struct verify_run run;
	size_t count;

	(void)s;
	disk_of_the_run(&run, 0.4);
	find_unknown(&run, "the disk moved 40.0 % of the data: the rest is in a cache");
	disk_of_the_run(&run, 1.5);
	find_unknown(&run, "the disk moved 150.0 % of the data: other programs use the disk");
	/* Some kernels do not count. */
	disk_of_the_run(&run, 0);
	count = verify_judge(&run, &results);
	assert_int_equal(verify_overall(results, count), VERIFY_PROVED);
	free(results);
	verify_run_free(&run);
}

static void too_much_other_traffic_is_not_judged(void **s)
{
	struct verify_run run;

	(void)s;
	make_run(&run, &(struct planted){NONE, 30e9, 0.7});
	find_unknown(&run, "other programs moved");
}

/* A device on the chip, or whose root port no PMU is known to count: its socket only. */
static void without_a_port_the_socket_is_judged(void **s)
{
	struct verify_result *results;
	struct verify_run run;
	size_t all;

	(void)s;
	make_run(&run, &(struct planted){.found = 0.7});
	for (size_t i = 0; i < run.series_count; i++)
		*run.series[i].port = '\0';
	all = verify_judge(&run, &results);
	assert_int_equal(all, RESULTS - 2);
	for (size_t i = 0; i < all; i++) {
		assert_int_equal(results[i].verdict, VERIFY_PROVED);
		assert_string_equal(results[i].cell->port, "");
	}
	free(results);
	verify_run_free(&run);
}

/* A root port that no PMU counts has a row without values. */
static void a_port_that_is_not_counted_is_not_judged(void **s)
{
	struct verify_result *results;
	struct verify_run run;
	size_t all;

	(void)s;
	make_run(&run, &(struct planted){.found = 0.7});
	for (size_t i = 0; i < run.series_count; i++) {
		struct verify_series *series = &run.series[i];

		for (size_t k = 0; k < series->round_count * series->cell_count; k++)
			if (*run.cells[series->first_cell + k % series->cell_count].port)
				series->readings[k].amount = NAN;
	}
	all = verify_judge(&run, &results);
	assert_int_equal(all, RESULTS);
	for (size_t i = 0; i < all; i++) {
		bool port = *results[i].cell->port;

		assert_int_equal(results[i].verdict, port ? VERIFY_UNKNOWN : VERIFY_PROVED);
		if (port)
			assert_non_null(strstr(results[i].reason,
					       "no PMU is known that counts root port " PORT));
	}
	free(results);
	verify_run_free(&run);
}

static void readings_come_back_from_their_text(void **s)
{
	struct verify_result *a, *b;
	struct verify_run run, back;
	size_t count;

	(void)s;
	make_run(&run, &(struct planted){PART_NEXT_PORT, 1e7, 0.7});
	*run.series[1].port = '\0';
	read_back(&back, &run);
	count = verify_judge(&run, &a);
	assert_int_equal(verify_judge(&back, &b), count);
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(a[i].reason, b[i].reason);
		assert_string_equal(a[i].cell->port, b[i].cell->port);
		assert_string_equal(a[i].series->device, b[i].series->device);
		assert_string_equal(a[i].series->port, b[i].series->port);
		assert_true(fabs(a[i].series->disk - b[i].series->disk) < 1e-6);
	}
	free(a);
	free(b);
	verify_run_free(&run);
	verify_run_free(&back);
}

/* ---- the devices of a disk ---- */

/* Block devices as sysfs has them, and what they lead to. */
#define STAT "7 0 4096 1 9 0 123 1 0 2 3"
static const char *const links[][2] = {
	/* A partition of an NVMe disk behind a switch. */
	{"dev/block/259:1",
	 "devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0/0000:3d:00.0/nvme/nvme0/nvme0n1/nvme0n1p1"},
	{"dev/block/254:0", "devices/pci0000:00/0000:00:02.0/virtio1/block/vda"},
	{"dev/block/8:0",
	 "devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda"},
	{"dev/block/8:16",
	 "devices/pci0000:00/0000:00:17.0/ata2/host1/target1:0:0/1:0:0:0/block/sdb"},
	/* VMD: a domain of its own. */
	{"dev/block/259:9",
	 "devices/pci0000:d7/0000:d7:05.5/pci10000:00/10000:00:02.0/10000:01:00.0/nvme/nvme9/nvme9n1"},
	/* A disk with two paths, and one of them. */
	{"dev/block/259:5", "devices/virtual/nvme-subsystem/nvme-subsys2/nvme2n1"},
	{"devices/virtual/nvme-subsystem/nvme-subsys2/nvme2",
	 "devices/pci0000:85/0000:85:00.0/0000:86:00.0/nvme/nvme2"},
	{"devices/virtual/nvme-subsystem/nvme-subsys2/nvme3",
	 "devices/pci0000:ae/0000:ae:00.0/0000:af:00.0/nvme/nvme3"},
	/* LVM on a RAID of two disks of one controller, and one of a partition and of vda. */
	{"dev/block/253:0", "devices/virtual/block/dm-0"},
	{"devices/virtual/block/dm-0/slaves/md0", "devices/virtual/block/md0"},
	{"devices/virtual/block/md0/slaves/sda",
	 "devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda"},
	{"devices/virtual/block/md0/slaves/sdb",
	 "devices/pci0000:00/0000:00:17.0/ata2/host1/target1:0:0/1:0:0:0/block/sdb"},
	{"dev/block/9:1", "devices/virtual/block/md1"},
	{"devices/virtual/block/md1/slaves/nvme0n1p1",
	 "devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0/0000:3d:00.0/nvme/nvme0/nvme0n1/nvme0n1p1"},
	{"devices/virtual/block/md1/slaves/vda",
	 "devices/pci0000:00/0000:00:02.0/virtio1/block/vda"},
	/* Without a device, and one that consists of itself. */
	{"dev/block/7:0", "devices/virtual/block/loop0"},
	{"dev/block/253:7", "devices/virtual/block/dm-7"},
	{"devices/virtual/block/dm-7/slaves/dm-7", "devices/virtual/block/dm-7"},
};

static const struct {
	unsigned major, minor;
	const char *name;      /* NULL: none is found */
	const char *addresses; /* or a part of the reason */
	size_t parts;
} disks[] = {
	{259, 1, "nvme0n1p1", "0000:3d:00.0 ", 1},
	{254, 0, "vda", "0000:00:02.0 ", 1},
	{259, 9, "nvme9n1", "10000:01:00.0 ", 1},
	{259, 5, "nvme2n1", "0000:86:00.0 0000:af:00.0 ", 1},
	{253, 0, "dm-0", "0000:00:17.0 ", 2},
	{9, 1, "md1", "0000:00:02.0 0000:3d:00.0 ", 2},
	{7, 0, NULL, "loop0 belongs to no PCI device", 0},
	{253, 7, NULL, "dm-7 belongs to no PCI device", 0},
	{0, 27, NULL, "the kernel has no block device for it (0:27)", 0},
};

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void the_devices_of_a_disk_are_found(void **s)
{
	char path[600], target[600];
	struct tree t;

	(void)s;
	tree_make(&t);
	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++) {
		snprintf(path, sizeof(path), "%s/stat", links[i][1]);
		tree_put(&t, path, STAT);
		snprintf(target, sizeof(target), "%s/%s", t.dir, links[i][1]);
		tree_link(&t, links[i][0], target);
	}
	tree_put(&t, "dev/block/259:1/partition", "1\n");
	for (size_t i = 0; i < sizeof(disks) / sizeof(*disks); i++) {
		char why[DISK_WHY] = "", found[200] = "";
		struct disk d;

		if (!disk_find(&d, t.dir, disks[i].major, disks[i].minor, why)) {
			assert_null(disks[i].name);
			if (!strstr(why, disks[i].addresses))
				fail_msg("%s", why);
			continue;
		}
		assert_non_null(disks[i].name);
		qsort(d.addresses, d.count, sizeof(d.addresses[0]), by_text);
		for (size_t k = 0; k < d.count; k++)
			strcat(strcat(found, d.addresses[k]), " ");
		assert_string_equal(found, disks[i].addresses);
		assert_string_equal(d.name, disks[i].name);
		assert_int_equal(d.parts, disks[i].parts);
		assert_true(fabs(disk_moved(&d, false) - 4096 * 512.0) < 1);
		assert_true(fabs(disk_moved(&d, true) - 123 * 512.0) < 1);
	}
	tree_remove(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clean_runs_are_proved),
		cmocka_unit_test(planted_faults_are_named),
		cmocka_unit_test(data_that_the_disk_did_not_move_are_not_judged),
		cmocka_unit_test(too_much_other_traffic_is_not_judged),
		cmocka_unit_test(without_a_port_the_socket_is_judged),
		cmocka_unit_test(a_port_that_is_not_counted_is_not_judged),
		cmocka_unit_test(readings_come_back_from_their_text),
		cmocka_unit_test(the_devices_of_a_disk_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
