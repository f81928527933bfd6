/* SPDX-License-Identifier: MIT */
/* What `uncore verify` reads of powercap, and how it keeps a CPU busy. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tree.h"
#include "verify/measure.h"

static void powercap_adds_dies_and_wraps(void **s)
{
	struct powercap p;
	struct tree t;

	(void)s;
	make_zones(&t);
	powercap_find(&p, t.dir);
	assert_int_equal(p.count, 7);
	assert_true(powercap_has(&p, "package", 0) && powercap_has(&p, "package", 1));
	assert_true(powercap_has(&p, "dram", 0) && !powercap_has(&p, "dram", 1));
	assert_true(powercap_has(&p, "core", 1) && !powercap_has(&p, "core", 0));
	assert_true(powercap_has(&p, "psys", 0));
	assert_true(fabs(p.limit - 205) < 1e-9);
	/* 2 J and, over the end of the range, 0.32885 + 0.67115 J. */
	tree_put(&t, "sys/class/powercap/intel-rapl:0/energy_uj", "3000000\n");
	tree_put(&t, "sys/class/powercap/intel-rapl:1/energy_uj", "671150\n");
	assert_true(fabs(powercap_take(&p, "package", 0) - 3) < 1e-9);
	assert_true(fabs(powercap_take(&p, "package", 0)) < 1e-9);
	assert_true(isnan(powercap_take(&p, "core", 0)));
	tree_put(&t, "sys/class/powercap/intel-rapl:1/energy_uj", "\n");
	assert_true(isnan(powercap_take(&p, "package", 0)));
	powercap_free(&p);
	powercap_find(&p, "/nowhere");
	assert_int_equal(p.count, 0);
	assert_true(p.limit <= 0);
	tree_remove(&t);
}

/* ---- a busy CPU ---- */

static double used_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void a_cpu_is_busy_for_exactly_the_given_time(void **s)
{
	const struct verify_work work = verify_spin_work();
	double begin = used_seconds();

	(void)s;
	assert_int_equal(work.unit % 4, 0);
	assert_int_equal(work.run(work.context, 30000000, -1), 0);
	/* And little longer: the kernel counts interrupts, too. */
	assert_true(used_seconds() - begin >= 0.03);
	assert_true(used_seconds() - begin < 0.033);
	assert_int_equal(work.run(work.context, 0, -1), 0);
}

static void a_signal_stops_it(void **s)
{
	const struct verify_work work = verify_spin_work();
	const struct itimerspec soon = {.it_value = {0, 20000000}};
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);

	(void)s;
	assert_int_equal(timerfd_settime(fd, 0, &soon, NULL), 0);
	/* It would take minutes. */
	assert_int_equal(work.run(work.context, (size_t)1 << 40, fd), -EINTR);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(powercap_adds_dies_and_wraps),
		cmocka_unit_test(a_cpu_is_busy_for_exactly_the_given_time),
		cmocka_unit_test(a_signal_stops_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
