/* SPDX-License-Identifier: MIT */
/* What the tests of the data files of many small families share. Included after <cmocka.h>. */
#ifndef TEST_DATA_OTHER_H
#define TEST_DATA_OTHER_H

#include "data.h"

#define CLOCK(metric, config)                                      \
	{                                                          \
		metric, "cycles / source_count(cycles) / seconds", \
		{                                                  \
			{                                          \
				"cycles", config                   \
			}                                          \
		}                                                  \
	}

#define RATE(metric, event, config)           \
	{                                     \
		metric, event " / seconds",   \
		{                             \
			{                     \
				event, config \
			}                     \
		}                             \
	}

static inline void assert_on(const char *machine, const char *family, size_t pmus,
			     const struct expected *expected, size_t count)
{
	struct uncore *u = scan_fixture(machine);

	assert_family(u, family, pmus, expected, count);
	uncore_free(u);
}

/* A metric with events of more than one configuration word. */
struct wide {
	const char *name, *formula;
	struct {
		const char *name;
		uint64_t config, config1, config2;
	} events[2];
};

static inline void assert_wide_metric(const struct uncore *u, const char *family, size_t pmus,
				      const struct wide *x)
{
	const struct uncore_metric *m = find(u, family, x->name);
	size_t count = uncore_metric_event_count(m);

	assert_string_equal(uncore_metric_formula(m), x->formula);
	assert_int_equal(count, x->events[1].name ? 2 : 1);
	for (size_t k = 0; k < count; k++) {
		const struct uncore_metric_event *event = uncore_metric_event_at(m, k);

		assert_string_equal(event->name, x->events[k].name);
		assert_int_equal(event->config[0], x->events[k].config);
		assert_int_equal(event->config[1], x->events[k].config1);
		assert_int_equal(event->config[2], x->events[k].config2);
		assert_int_equal(event->config[3], 0);
		assert_int_equal(event->pmu_count, pmus);
	}
}

static inline void assert_wide(const char *machine, const char *family, size_t pmus,
			       const struct wide *expected, size_t count)
{
	struct uncore *u = scan_fixture(machine);

	assert_int_equal(metrics_here(u, family), count);
	for (size_t i = 0; i < count; i++)
		assert_wide_metric(u, family, pmus, &expected[i]);
	uncore_free(u);
}

/* The root port at this address is counted by that PMU; NULL: by none that is known, and it says why. */
static inline void assert_port(struct uncore *u, const char *address, const char *pmu)
{
	const struct uncore_device *device;

	assert_int_equal(uncore_device_find(u, address, &device), 0);
	assert_true(device->is_port);
	if (!pmu) {
		assert_non_null(device->unknown);
		return;
	}
	assert_null(device->unknown);
	assert_int_equal(uncore_device_pmu_count(device), 1);
	assert_string_equal(uncore_pmu_name(uncore_device_pmu_at(device, 0)), pmu);
}

#endif
