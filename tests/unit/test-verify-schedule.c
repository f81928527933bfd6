/* SPDX-License-Identifier: MIT */
/* How many series a run of `uncore verify` has on machines with one and several nodes on a socket, and the time and memory for
 * them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "verify/measure.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define STREAMS (1u << VERIFY_READ | 1u << VERIFY_WRITE)
#define ALL (STREAMS | 1u << VERIFY_CHASE | 1u << VERIFY_SPIN | 1u << VERIFY_READ_ALL)

static const struct verify_options defaults;

static const struct node uma[] = {{.id = 0, .room = MIB}};
static const struct node two_sockets[] = {
	{.id = 0, .socket = 0, .room = MIB},
	{.id = 1, .socket = 1, .room = MIB},
};
/* SNC4, NPS4 */
static const struct node four_each[] = {
	{.id = 0, .socket = 0, .room = MIB}, {.id = 1, .socket = 0, .room = MIB},
	{.id = 2, .socket = 0, .room = MIB}, {.id = 3, .socket = 0, .room = MIB},
	{.id = 4, .socket = 1, .room = MIB}, {.id = 5, .socket = 1, .room = MIB},
	{.id = 6, .socket = 1, .room = MIB}, {.id = 7, .socket = 1, .room = MIB},
};
/* HBM in flat mode */
static const struct node with_bare[] = {
	{.id = 0, .socket = 0, .room = MIB},
	{.id = 1, .socket = 1, .room = MIB},
	{.id = 2, .socket = 0, .room = MIB, .bare = true},
	{.id = 3, .socket = 1, .room = MIB, .bare = true},
};
static const struct node empty_first[] = {
	{.id = 0, .socket = 0},
	{.id = 1, .socket = 1, .room = MIB},
};
static const struct node empty_half[] = {
	{.id = 0, .socket = 0},
	{.id = 1, .socket = 0, .room = MIB},
};

#define MACHINE(list)                                                      \
	(struct verify)                                                    \
	{                                                                  \
		.o = &defaults, .nodes = (struct node *)(uintptr_t)(list), \
		.node_count = COUNT(list), .loads = ALL                    \
	}

static void the_number_of_series_agrees_with_the_run(void **unused)
{
	struct verify v = MACHINE(uma);

	(void)unused;
	/* Read, write, chase, spin, and the peak once. */
	assert_int_equal(series_of_passes(&v, 1), 5);
	assert_int_equal(series_of_passes(&v, 3), 13);
	/* Near and far on each node, spin and peak on each socket. */
	v = MACHINE(two_sockets);
	assert_int_equal(series_of_passes(&v, 1), 2 * 6 + 2 + 2);
	assert_int_equal(series_of_passes(&v, 3), 3 * (2 * 6 + 2) + 2);
	v = MACHINE(four_each);
	assert_int_equal(series_of_passes(&v, 1), 8 * 6 + 2 + 2);
	assert_int_equal(series_of_passes(&v, 5), 5 * (8 * 6 + 2) + 2);
	v.loads = STREAMS;
	assert_int_equal(series_of_passes(&v, 1), 8 * 4);
	v.loads = 0;
	assert_int_equal(series_of_passes(&v, 5), 0);
	/* A node without CPUs is not chased. */
	v = MACHINE(with_bare);
	assert_int_equal(series_of_passes(&v, 1), 4 * 4 + 2 * 2 + 2 + 2);
}

static void nodes_without_free_memory_are_left_out(void **unused)
{
	struct verify v = MACHINE(empty_first);

	(void)unused;
	/* Its CPU is busy, and moves the data of the other one. */
	assert_int_equal(series_of_passes(&v, 1), 6 + 2 + 1);
	assert_int_equal(series_of_task(&v, TASK_STREAMS, &v.nodes[0], true), 0);
	assert_int_equal(series_of_task(&v, TASK_PEAK, &v.nodes[0], true), 0);
	assert_int_equal(series_of_task(&v, TASK_STREAMS, &v.nodes[1], true), 4);
	/* The peak of the socket is that of its other node. */
	v = MACHINE(empty_half);
	assert_int_equal(series_of_passes(&v, 1), 3 + 1 + 1);
	assert_int_equal(series_of_task(&v, TASK_PEAK, &v.nodes[0], true), 1);
	assert_int_equal(series_of_task(&v, TASK_PEAK, &v.nodes[0], false), 0);
}

static void files_are_moved_on_their_nodes(void **unused)
{
	struct device devices[] = {{.node = 1}, {.node = 1}};
	struct verify v = MACHINE(two_sockets);

	(void)unused;
	v.devices = devices;
	v.device_count = 2;
	v.loads = 1u << VERIFY_FILE_READ;
	assert_int_equal(series_of_passes(&v, 3), 6);
	assert_int_equal(series_of_task(&v, TASK_FILES, &v.nodes[0], true), 0);
	assert_int_equal(series_of_task(&v, TASK_FILES, &v.nodes[1], false), 2);
}

static void the_default_time_is_enough_for_all_series(void **unused)
{
	struct verify_options options = {.nice = true};
	struct verify v = MACHINE(two_sockets);

	(void)unused;
	v.o = &options;
	assert_int_equal(schedule_time(&v, 5), CLI_OK);
	assert_int_equal(v.time_ns, 30 * NS_PER_S);
	/* 252 series of 13 rounds of 20 ms. */
	v = MACHINE(four_each);
	v.o = &options;
	assert_int_equal(schedule_time(&v, 5), CLI_OK);
	assert_int_equal(v.time_ns, 65520 * NS_PER_MS);
	options.time_ns = 65519 * NS_PER_MS;
	assert_int_equal(schedule_time(&v, 5), CLI_USAGE);
	options.time_ns = 80 * NS_PER_S;
	assert_int_equal(schedule_time(&v, 5), CLI_OK);
	assert_int_equal(v.time_ns, 80 * NS_PER_S);
}

static void memory_is_enough_for_the_caches(void **unused)
{
	const uint64_t cache = 33 * 15 * MIB / 8; /* slices of 1.875 MiB */

	(void)unused;
	assert_int_equal(node_memory(0, cache, 2048 * MIB, 1), 310 * MIB);
	assert_true(310 * MIB >= 5 * cache);
	assert_int_equal(node_memory(0, MIB, 1024 * MIB, 1), 64 * MIB);
	assert_int_equal(node_memory(0, cache, 403 * MIB, 1), 100 * MIB);
	assert_int_equal(node_memory(101 * MIB, cache, 1024 * MIB, 1), 100 * MIB);
	assert_int_equal(node_memory(1024 * MIB, cache, 4096 * MIB, 1), 310 * MIB);
	/* The nodes of a socket, which are read at once, share both. */
	assert_int_equal(node_memory(0, 256 * MIB, 8192 * MIB, 4), 320 * MIB);
	assert_int_equal(node_memory(400 * MIB, 256 * MIB, 8192 * MIB, 4), 100 * MIB);
	assert_int_equal(node_memory(2 * MIB, 256 * MIB, 8192 * MIB, 4), 2 * MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_number_of_series_agrees_with_the_run),
		cmocka_unit_test(nodes_without_free_memory_are_left_out),
		cmocka_unit_test(files_are_moved_on_their_nodes),
		cmocka_unit_test(the_default_time_is_enough_for_all_series),
		cmocka_unit_test(memory_is_enough_for_the_caches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
