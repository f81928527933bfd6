/* SPDX-License-Identifier: MIT */
/* Readings of files of devices, one after another: halves of a number that do not belong together, drivers that fail, and
 * devices that come back. The test answers pread() for the device's file. */
#include "uncore.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

#include "tree.h"

#define TELEM "sys/class/intel_pmt/telem0/"
#define EVENT "intel_gpu_0/pcie_received/"
#define LOWER 280
#define UPPER 276

/* What the next calls get: a number of which the halves may be those of two others, or an error. The last answer remains. */
static struct answer {
	uint32_t upper, lower;
	int err;
} answers[16];
static size_t answer_count, taken;

ssize_t __wrap_pread(int fd, void *into, size_t room, off_t at);
ssize_t __wrap_pread64(int fd, void *into, size_t room, off_t at);

ssize_t __wrap_pread(int fd, void *into, size_t room, off_t at)
{
	const struct answer *a = &answers[taken < answer_count - 1 ? taken : answer_count - 1];

	taken++;
	assert_true(fd >= 0 && at == 0 && room >= 4096);
	if (a->err) {
		errno = a->err;
		return -1;
	}
	memset(into, 0, 512);
	memcpy((char *)into + UPPER, &a->upper, 4);
	memcpy((char *)into + LOWER, &a->lower, 4);
	return 512;
}

ssize_t __wrap_pread64(int fd, void *into, size_t room, off_t at)
{
	return __wrap_pread(fd, into, room, at);
}

struct machine {
	struct tree tree;
	struct uncore *u;
	struct uncore_monitor *m;
	struct uncore_sample *sample;
};

static void answer(const struct answer *next, size_t count)
{
	memcpy(answers, next, count * sizeof(*next));
	answer_count = count;
	taken = 0;
}

#define ANSWER(...)                                  \
	answer((const struct answer[]){__VA_ARGS__}, \
	       sizeof((const struct answer[]){__VA_ARGS__}) / sizeof(struct answer))

/* The first reading finds 2^32 + 100. */
static int set_up(void **state)
{
	struct machine *x = calloc(1, sizeof(*x));

	*state = x;
	tree_make(&x->tree);
	tree_put(&x->tree, "sys/devices/system/cpu/present", "0\n");
	tree_put(&x->tree, "sys/devices/system/cpu/online", "0\n");
	tree_cpu(&x->tree, 0, "physical_package_id", "0\n");
	tree_put(&x->tree, TELEM "guid", "0x5e2f8210\n");
	tree_put(&x->tree, TELEM "telem", "");
	assert_int_equal(uncore_new(&x->u), 0);
	assert_int_equal(uncore_sample_new(&x->sample), 0);
	assert_int_equal(uncore_set_root(x->u, x->tree.dir), 0);
	assert_int_equal(uncore_set_source(x->u, "files"), 0);
	assert_int_equal(uncore_scan(x->u), 0);
	assert_int_equal(uncore_monitor_new(&x->m, x->u), 0);
	assert_int_equal(uncore_monitor_add_events(x->m, EVENT), 0);
	ANSWER({1, 100, 0});
	assert_int_equal(uncore_monitor_open(x->m), 0);
	assert_int_equal(uncore_monitor_start(x->m), 0);
	return 0;
}

static int tear_down(void **state)
{
	struct machine *x = *state;

	uncore_monitor_free(x->m);
	uncore_sample_free(x->sample);
	uncore_free(x->u);
	tree_remove(&x->tree);
	free(x);
	return 0;
}

static void is_counted(struct machine *x, double value)
{
	assert_int_equal(uncore_monitor_read(x->m, x->sample), 0);
	assert_true(uncore_sample_row(x->sample, 0)->value == value);
}

static void is_lost(struct machine *x, const char *words)
{
	const struct uncore_row *row;

	assert_int_equal(uncore_monitor_read(x->m, x->sample), 0);
	row = uncore_sample_row(x->sample, 0);
	assert_int_equal(row->quality, UNCORE_UNAVAILABLE);
	assert_true(row->value != row->value);
	if (!strstr(row->reason, words))
		fail_msg("'%s' is not in: %s", words, row->reason);
}

static void halves_that_belong_together(void **state)
{
	struct machine *x = *state;

	ANSWER({1, 150, 0}, {1, 151, 0});
	is_counted(x, 50);
	assert_int_equal(taken, 2);
	/* A carry between two whole readings. */
	ANSWER({1, UINT32_MAX, 0}, {2, 3, 0});
	is_counted(x, (double)UINT32_MAX - 150);
	assert_int_equal(taken, 2);
}

/* The lower half has carried, and the upper one is still the old one, or the other way round. */
static void torn_halves_are_read_again(void **state)
{
	struct machine *x = *state;

	ANSWER({1, 10, 0}, {2, 11, 0}, {2, 20, 0}, {2, 21, 0});
	is_counted(x, 0x1p32 + 20 - 100);
	assert_int_equal(taken, 4);
	ANSWER({3, UINT32_MAX, 0}, {3, 1, 0}, {3, 2, 0}, {3, 3, 0});
	is_counted(x, 0x1p32 + 2 - 20);
	/* Also if the second reading is the torn one. */
	ANSWER({3, UINT32_MAX, 0}, {3, 1, 0}, {4, 2, 0}, {4, 3, 0});
	is_counted(x, 0x1p32);
}

static void halves_that_never_belong_together(void **state)
{
	struct machine *x = *state;

	ANSWER({1, 10, 0}, {2, 11, 0}, {1, 20, 0}, {2, 21, 0}, {1, 30, 0}, {2, 31, 0}, {1, 40, 0},
	       {2, 41, 0});
	is_lost(x, "the halves of the number do not belong together");
	assert_int_equal(taken, 8);
	ANSWER({2, 100, 0});
	is_lost(x, "halves"); /* the interval has no beginning */
	is_counted(x, 0);
}

static void drivers_that_fail(void **state)
{
	static const struct {
		int err;
		const char *words;
	} failures[] = {{EPERM, "the device may be suspended"},
			{ENODATA, "its driver could not read it"},
			{EIO, "its driver could not read it"},
			{ENODEV, "the device was removed"}};
	struct machine *x = *state;

	for (size_t i = 0; i < sizeof(failures) / sizeof(*failures); i++) {
		ANSWER({0, 0, failures[i].err});
		is_lost(x, failures[i].words);
		ANSWER({1, 200, 0});
		is_lost(x, failures[i].words);
		is_counted(x, 0);
	}
	ANSWER({1, 250, 0}, {1, 250, EIO}); /* the second reading of a number in halves */
	is_lost(x, "its driver could not read it");
	ANSWER({0, 0, EINTR}, {1, 300, 0});
	is_lost(x, "its driver could not read it");
	ANSWER({0, 0, EINTR}, {1, 301, 0});
	is_counted(x, 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(halves_that_belong_together),
		TEST(torn_halves_are_read_again),
		TEST(halves_that_never_belong_together),
		TEST(drivers_that_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
