/* SPDX-License-Identifier: MIT */
/* Where the last interval ends: when counting is stopped, and not when somebody asks. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

#include "block.h"

static const char block[] =
	"block: test\ntitle: Test\ninstance: unit\nevidence: none\npmu: test_{unit}\nspace: mmio\n"
	"size: 0x1000\naccess: 64\nwindow: free-running\ncounters:\n"
	"  c: {title: c, offset: 0, width: 48}\n";
static const char event[] = "test_0/c/";

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t read_ns; /* not after the reading below */

/* A monitor of the block that has been read once, at 100. */
static struct block *fresh(bool program)
{
	static struct block b;

	block_make(&b);
	must(&b, uncore_set_program(b.u, program));
	must(&b, block_use(&b, block));
	must(&b, block_start(&b, event));
	block_set64(&b, 0, 100);
	read_ns = now_ns();
	block_read(&b);
	block_assert(&b, event, 100);
	return &b;
}

static uint64_t wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void ends_when_stopped(bool program)
{
	struct block *b = fresh(program);
	uint64_t before_ns, after_ns, begin_ns = uncore_sample_end_ns(b->s);
	uint64_t begin_wall_ns = uncore_sample_end_wall_ns(b->s);
	uint64_t before_wall_ns, after_wall_ns;

	block_wait_us(10000);
	block_set64(b, 0, 130);
	before_ns = now_ns();
	before_wall_ns = wall_ns();
	must(b, uncore_monitor_stop(b->m));
	after_ns = now_ns();
	after_wall_ns = wall_ns();
	block_set64(b, 0, 5000);
	block_wait_us(50000);
	block_read(b);
	block_assert(b, event, 30);
	assert_int_equal(uncore_sample_begin_ns(b->s), begin_ns);
	assert_in_range(uncore_sample_end_ns(b->s), before_ns, after_ns);
	/* The clocks run at one rate, but for some microseconds of slewing. */
	assert_int_equal(uncore_sample_begin_wall_ns(b->s), begin_wall_ns);
	assert_in_range(uncore_sample_end_wall_ns(b->s), before_wall_ns - 1000000,
			after_wall_ns + 1000000);
	assert_true(block_row(b, event)->counted->seconds <= (double)(after_ns - read_ns) / 1e9);
	block_total(b);
	block_assert(b, event, 130);
	assert_in_range(uncore_sample_end_ns(b->s), before_ns, after_ns);
	assert_int_equal(uncore_monitor_read(b->m, b->s), -EBUSY);
	block_remove(b);
}

static void test_only_read(void **state)
{
	(void)state;
	ends_when_stopped(false);
}

static void test_with_program(void **state)
{
	(void)state;
	ends_when_stopped(true);
}

/* The end is the first one's; and until it is read, the total goes to the latest read. */
static void test_stopped_twice(void **state)
{
	struct block *b = fresh(false);

	(void)state;
	block_wait_us(10000);
	block_set64(b, 0, 130);
	must(b, uncore_monitor_stop(b->m));
	block_total(b);
	block_assert(b, event, 100);
	block_set64(b, 0, 5000);
	must(b, uncore_monitor_stop(b->m));
	block_read(b);
	block_assert(b, event, 30);
	must(b, uncore_monitor_stop(b->m));
	block_total(b);
	block_assert(b, event, 130);
	block_remove(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_read),
		cmocka_unit_test(test_with_program),
		cmocka_unit_test(test_stopped_twice),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
