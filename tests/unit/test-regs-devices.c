/* SPDX-License-Identifier: MIT */
/* Where register blocks are: PCI devices, UIO, configuration space, and MSRs of each socket. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/types.h>

#include <cmocka.h>

#include "block.h"

#define HEAD "block: test\ntitle: Test\ninstance: unit\nevidence: none\npmu: test_{unit}\n"
#define COUNTER "window: free-running\ncounters:\n  c: {title: c, offset: 0x100, width: 32}\n"

/* How often each CPU's MSRs were read: each time they have gone on by the CPU's number and one, times
 * their own number. */
static unsigned asked[4];
static int msr_error;

ssize_t __real_pread64(int fd, void *into, size_t room, off_t offset);
ssize_t __wrap_pread64(int fd, void *into, size_t room, off_t offset);

ssize_t __wrap_pread64(int fd, void *into, size_t room, off_t offset)
{
	char link[64], path[400] = "";
	uint64_t value;
	int cpu;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (readlink(link, path, sizeof(path) - 1) < 0 || !strstr(path, "/dev/cpu/"))
		return __real_pread64(fd, into, room, offset);
	assert_int_equal(room, 8);
	assert_int_equal(sscanf(strstr(path, "/dev/cpu/"), "/dev/cpu/%d/msr", &cpu), 1);
	if (msr_error && (offset & 0xf00) == 0xe00) {
		errno = msr_error;
		return -1;
	}
	value = (uint64_t)(cpu + 1) * (uint64_t)offset * ++asked[cpu];
	memcpy(into, &value, sizeof(value));
	return 8;
}

/* Two sockets of two CPUs, each a NUMA node. */
static struct block *fresh(void)
{
	static const int sockets[] = {0, 0, 1, 1};
	static struct block b;

	block_make(&b);
	machine_cpus(&b.tree, sockets, 4);
	machine_cpuinfo(&b.tree, 62, "");
	tree_put(&b.tree, "sys/devices/system/node/online", "0-1\n");
	tree_put(&b.tree, "sys/devices/system/node/node0/cpulist", "0-1\n");
	tree_put(&b.tree, "sys/devices/system/node/node1/cpulist", "2-3\n");
	must(&b, uncore_set_root(b.u, b.tree.dir));
	return &b;
}

static int use(struct block *b, const char *text)
{
	char spec[400];
	int err;

	tree_put(&b->tree, "block.yaml", text);
	snprintf(spec, sizeof(spec), "regs:%s/block.yaml", b->tree.dir);
	err = uncore_set_source(b->u, spec);
	return err ? err : uncore_scan(b->u);
}

static void put_pci(const struct block *b, const char *address, const char *vendor,
		    const char *node)
{
	char path[200], zeros[BLOCK_SIZE] = {0};

	snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/vendor", address);
	tree_put(&b->tree, path, vendor);
	snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/device", address);
	tree_put(&b->tree, path, "0x9038\n");
	snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/numa_node", address);
	tree_put(&b->tree, path, node);
	snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/resource2", address);
	tree_put_bytes(&b->tree, path, zeros, sizeof(zeros));
	snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/config", address);
	tree_put_bytes(&b->tree, path, zeros, sizeof(zeros));
}

/* 32 bits of a file. */
static void set(const struct block *b, const char *path, off_t offset, uint32_t value)
{
	char whole[400];
	int fd;

	snprintf(whole, sizeof(whole), "%s/%s", b->tree.dir, path);
	fd = open(whole, O_RDWR);
	tree_require(fd >= 0 && pwrite(fd, &value, 4, offset) == 4, whole);
	close(fd);
}

/* All devices of the numbers, each read near its memory. */
static void test_pci_ids(void **state)
{
	struct block *b = fresh();

	(void)state;
	put_pci(b, "0000:17:00.0", "0x10ee\n", "1\n");
	put_pci(b, "0000:18:00.0", "0x8086\n", "0\n");
	put_pci(b, "0000:a7:00.0", "0x10ee\n", "-1\n");
	must(b, use(b, HEAD "space: mmio\naccess: 32\nsize: 0x1000\ncount: 2\nstride: 0x800\n"
			    "map: {pci: \"10ee:9038\", bar: 2}\n" COUNTER));
	assert_int_equal(uncore_pmu_count(b->u), 4);
	assert_int_equal(uncore_pmu_cpu_count(uncore_pmu_at(b->u, 0)), 1);
	assert_int_equal(uncore_pmu_cpu_at(uncore_pmu_at(b->u, 0), 0), 2);
	assert_int_equal(uncore_pmu_cpu_at(uncore_pmu_at(b->u, 3), 0), 0);
	/* The firmware gives the last device no node: CPU 0 only reads it. */
	assert_int_equal(uncore_pmu_socket(b->u, uncore_pmu_at(b->u, 0), 2), 1);
	assert_int_equal(uncore_pmu_socket(b->u, uncore_pmu_at(b->u, 3), 0), -1);
	must(b, block_start(b, "test_0/c/,test_1/c/,test_3/c/"));
	set(b, "sys/bus/pci/devices/0000:17:00.0/resource2", 0x100, 11);
	set(b, "sys/bus/pci/devices/0000:17:00.0/resource2", 0x900, 22);
	set(b, "sys/bus/pci/devices/0000:a7:00.0/resource2", 0x900, 33);
	block_read(b);
	block_assert(b, "test_0/c/", 11);
	block_assert(b, "test_1/c/", 22);
	block_assert(b, "test_3/c/", 33);
	block_remove(b);
}

static void test_pci_config(void **state)
{
	struct block *b = fresh();

	(void)state;
	put_pci(b, "0000:17:00.0", "0x10ee\n", "0\n");
	must(b, use(b, HEAD "space: pci\nmap: {pci: \"0000:17:00.0\"}\n" COUNTER));
	assert_int_equal(uncore_pmu_count(b->u), 1);
	must(b, block_start(b, "test_0/c/"));
	set(b, "sys/bus/pci/devices/0000:17:00.0/config", 0x100, 44);
	set(b, "sys/bus/pci/devices/0000:17:00.0/config", 0x104, 55);
	block_read(b);
	block_assert(b, "test_0/c/", 44);
	block_remove(b);
}

static void test_missing(void **state)
{
	struct block *b = fresh();

	(void)state;
	put_pci(b, "0000:17:00.0", "0x10ee\n", "0\n");
	assert_int_equal(use(b, HEAD "space: pci\nmap: {pci: \"10ee:9039\"}\n" COUNTER), -ENODEV);
	assert_contains(uncore_error(b->u), "no device '10ee:9039'");
	must(b, use(b, HEAD "space: mmio\naccess: 32\nsize: 0x1000\n"
			    "map: {pci: \"10ee:9038\", bar: 0}\n" COUNTER));
	assert_int_equal(block_start(b, "test_0/c/"), -ENODEV);
	assert_contains(uncore_error(b->u), "resource0 cannot be opened");
	uncore_monitor_free(b->m);
	b->m = NULL;
	must(b, use(b, HEAD "space: mmio\naccess: 32\nsize: 0x2000\n"
			    "map: {pci: \"10ee:9038\", bar: 2}\n" COUNTER));
	assert_int_equal(block_start(b, "test_0/c/"), -ENODEV);
	assert_contains(uncore_error(b->u), "has 4096 bytes from there, and the block needs 8192");
	block_remove(b);
}

/* A file, and where in it. */
static void test_memory(void **state)
{
	struct block *b = fresh();
	char zeros[3 * BLOCK_SIZE] = {0};

	(void)state;
	tree_put_bytes(&b->tree, "dev/mem", zeros, sizeof(zeros));
	must(b, use(b, HEAD
		    "space: mmio\naccess: 32\nsize: 0x200\nmap: {file: dev/mem@0x1080}\n" COUNTER));
	must(b, block_start(b, "test_0/c/"));
	set(b, "dev/mem", 0x1180, 77);
	block_read(b);
	block_assert(b, "test_0/c/", 77);
	uncore_monitor_free(b->m);
	b->m = NULL;
	assert_int_equal(use(b, HEAD "space: mmio\naccess: 32\nsize: 0x200\n"
				     "map: {file: dev/mem@x}\n" COUNTER),
			 -EINVAL);
	assert_contains(uncore_error(b->u), "'x' is not a valid offset");
	block_remove(b);
}

/* Each socket's MSRs are read on a CPU of it, 64 bits at a time. */
static void test_msr(void **state)
{
	static const char text[] = HEAD "space: msr\ncount: 2\nstride: 0x20\nwindow: free-running\n"
					"counters:\n  c: {title: c, offset: 0xd16, width: 44}\n";
	struct block *b = fresh();
	const struct uncore_pmu *pmu;

	(void)state;
	for (int cpu = 0; cpu < 4; cpu++) {
		char path[64];

		snprintf(path, sizeof(path), "dev/cpu/%d/msr", cpu);
		tree_put(&b->tree, path, "");
	}
	must(b, use(b, text));
	assert_int_equal(uncore_pmu_count(b->u), 2);
	pmu = uncore_pmu_at(b->u, 1);
	assert_int_equal(uncore_pmu_cpu_count(pmu), 2);
	assert_int_equal(uncore_pmu_cpu_at(pmu, 0), 0);
	assert_int_equal(uncore_pmu_cpu_at(pmu, 1), 2);
	/* Opening reads once; the start and what follows go on from there. */
	must(b, block_start(b, "test_1/c/"));
	block_read(b);
	block_assert(b, "test_1/c/", (1 + 3) * 0xd36);
	assert_true(asked[0] == 3 && !asked[1] && asked[2] == 3 && !asked[3]);
	block_remove(b);
}

/* What a number means depends on the CPU: a block of others is not there. */
static void test_models(void **state)
{
	struct block *b = fresh();

	(void)state;
	tree_put(&b->tree, "dev/cpu/0/msr", "");
	tree_put(&b->tree, "dev/cpu/2/msr", "");
	must(b, use(b, HEAD "models: intel/6/63 intel/6/62\nspace: msr\n" COUNTER));
	assert_int_equal(use(b, HEAD "models: intel/6/6 intel/6/622\nspace: msr\n" COUNTER),
			 -ENODEV);
	assert_contains(uncore_error(b->u), "only the CPU models intel/6/6 intel/6/622 have it");
	assert_contains(uncore_error(b->u), "this one is intel/6/62,");
	machine_cpuinfo(&b->tree, 63, "");
	assert_int_equal(uncore_set_source(b->u, "regs:intel-ivt-cbo"), 0);
	assert_int_equal(uncore_scan(b->u), -ENODEV);
	block_remove(b);
}

static void test_msr_errors(void **state)
{
	static const char text[] = HEAD "space: msr\nwindow: free-running\n"
					"counters:\n  c: {title: c, offset: 0xe16, width: 44}\n"
					"  d: {title: c, offset: 0xd16, width: 44}\n";
	struct block *b = fresh();

	(void)state;
	must(b, use(b, text));
	assert_int_equal(block_start(b, "test_0/c/"), -ENODEV);
	assert_contains(uncore_error(b->u), "modprobe msr");
	tree_put(&b->tree, "dev/cpu/0/msr", "");
	tree_put(&b->tree, "dev/cpu/2/msr", "");
	must(b, block_start(b, "test_0/c/,test_0/d/"));
	msr_error = EIO;
	block_read(b);
	block_assert_none(b, "test_0/c/", "Input/output error");
	block_assert(b, "test_0/d/", (1 + 3) * 0xd16);
	msr_error = 0;
	block_remove(b);
}

/* Registers lie at multiples of their size, wherever the block does. */
static void test_misaligned(void **state)
{
	static const char memory[] = HEAD "space: mmio\naccess: 64\nsize: 0x1000\n"
					  "map: {file: dev/mem@0x1004}\n" COUNTER;
	struct block *b = fresh();
	char spec[700];

	(void)state;
	assert_int_equal(use(b, memory), -EINVAL);
	assert_contains(uncore_error(b->u), "begin at byte 0x1004 of dev/mem");
	assert_contains(uncore_error(b->u), "multiples of 8");
	snprintf(spec, sizeof(spec), "regs:%s/block.yaml,at=%s@2", b->tree.dir, b->map_path);
	must(b, uncore_set_source(b->u, spec));
	assert_int_equal(uncore_scan(b->u), -EINVAL);
	snprintf(spec, sizeof(spec), "regs:%s/block.yaml,at=%s@8", b->tree.dir, b->map_path);
	must(b, uncore_set_source(b->u, spec));
	must(b, uncore_scan(b->u));
	block_remove(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pci_ids), cmocka_unit_test(test_pci_config),
		cmocka_unit_test(test_missing), cmocka_unit_test(test_memory),
		cmocka_unit_test(test_msr),     cmocka_unit_test(test_msr_errors),
		cmocka_unit_test(test_models),  cmocka_unit_test(test_misaligned),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
