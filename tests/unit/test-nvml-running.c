/* SPDX-License-Identifier: MIT */
/* Processes of a GPU, from lists and samples as NVIDIA's library documents them (nvml.h). */
#include "source/nvml/gpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define S UINT64_C(1000000)

static void test_fold(void **unused)
{
	const struct nvml_process listed[] = {
		{.pid = 5, .memory = 100, .gpu_part = 1}, {.pid = 6, .memory = NVML_NOT_AVAILABLE},
		{.pid = 5, .memory = 20, .gpu_part = 2},  {.pid = 7},
		{.pid = 5, .memory = 100, .gpu_part = 1}, /* it draws, too */
	};
	struct unc_nvml_process into[5];

	(void)unused;
	assert_int_equal(running_fold(listed, 5, into), 3);
	assert_int_equal(into[0].pid, 5);
	assert_int_equal(into[0].memory, 120);
	assert_int_equal(into[0].memory_status, UNC_NVML_OK);
	assert_int_equal(into[1].memory_status, UNC_NVML_EMPTY);
	assert_int_equal(into[2].memory, 0);
	assert_int_equal(into[2].memory_status, UNC_NVML_OK);
}

static void test_mean(void **unused)
{
	const struct nvml_process_sample samples[] = {
		{.pid = 5, .at_us = 10 * S, .busy = 90}, /* was in the mean before */
		{.pid = 5, .at_us = 11 * S, .busy = 20},   {.pid = 5, .at_us = 12 * S, .busy = 40},
		{.pid = 7, .at_us = 12 * S, .busy = 4000}, {.pid = 8, .at_us = 12 * S, .busy = 100},
	};
	const struct running_samples taken = {.items = samples, .count = 5, .now_us = 13 * S};
	struct unc_nvml_process items[] = {{.pid = 5}, {.pid = 6}, {.pid = 7}};
	uint64_t since_us = 10 * S;

	(void)unused;
	running_busy(items, 3, &taken, &since_us);
	assert_int_equal(since_us, 12 * S);
	assert_int_equal(items[0].busy_status, UNC_NVML_OK);
	assert_true(items[0].busy > 0.2999 && items[0].busy < 0.3001);
	assert_int_equal(items[1].busy_status, UNC_NVML_OK);
	assert_true(items[1].busy == 0);
	assert_int_equal(items[2].busy_status, UNC_NVML_NAN);
}

/* At this second, the driver has no samples. */
static void ask(struct unc_nvml_process *item, int status, uint64_t second, uint64_t *since_us)
{
	const struct running_samples none = {.status = status, .now_us = second * S};

	running_busy(item, 1, &none, since_us);
}

static void test_no_sample(void **unused)
{
	struct unc_nvml_process item = {.pid = 5};
	uint64_t since_us = 0;

	(void)unused;
	ask(&item, NVML_NOT_FOUND, 10, &since_us);
	assert_int_equal(item.busy_status, UNC_NVML_NO_SAMPLE);
	assert_int_equal(since_us, 10 * S);
	/* The next sample may still come; then it was idle. */
	ask(&item, NVML_NOT_FOUND, 11, &since_us);
	assert_int_equal(item.busy_status, UNC_NVML_NO_SAMPLE);
	ask(&item, NVML_NOT_FOUND, 12, &since_us);
	assert_int_equal(item.busy_status, UNC_NVML_OK);
	assert_true(item.busy == 0);
	ask(&item, NVML_NOT_SUPPORTED, 13, &since_us);
	assert_int_equal(item.busy_status, NVML_NOT_SUPPORTED);
	/* The wall clock was set back. */
	ask(&item, NVML_NOT_FOUND, 3, &since_us);
	assert_int_equal(item.busy_status, UNC_NVML_NO_SAMPLE);
	assert_int_equal(since_us, 3 * S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fold),
		cmocka_unit_test(test_mean),
		cmocka_unit_test(test_no_sample),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
