/* SPDX-License-Identifier: MIT */
/* What the tests of data files share: machines with the whole catalogue, and metrics as they must
 * be there. Included after <cmocka.h>. */
#ifndef TEST_DATA_H
#define TEST_DATA_H

#include "helpers.h"
#include "object.h"

#define EVENTS 32

static inline struct uncore *scan(const char *root)
{
	struct uncore *u;

	assert_int_equal(uncore_new(&u), 0);
	if (uncore_set_root(u, root) < 0 || uncore_scan(u) < 0)
		fail_msg("%s: %s", root, uncore_error(u));
	return u;
}

static inline struct uncore *scan_fixture(const char *machine)
{
	char path[600];

	return scan(tree_machine(machine, path, sizeof(path)));
}

/* Families without PMUs are parsed only if the metric is not one of the others. */
static inline const struct uncore_metric *find(const struct uncore *u, const char *family,
					       const char *name)
{
	size_t i = 0, count = u->catalogue.metric_count;

	for (int all = 0; all < 2; all++, count = uncore_metric_count(u))
		for (; i < count; i++) {
			const struct uncore_metric *m = uncore_metric_at(u, i);

			if (strcmp(uncore_metric_family(m), family) == 0 &&
			    strcmp(uncore_metric_name(m), name) == 0)
				return m;
		}
	fail_msg("no metric %s/%s", family, name);
	return NULL;
}

/* A metric as it must be on a machine. */
struct expected {
	const char *name, *formula;
	struct {
		const char *name;
		uint64_t config;
	} events[16]; /* in the order of the formula */
};

static inline void assert_events(const struct uncore_metric *m, const struct expected *x,
				 size_t pmus)
{
	size_t count = uncore_metric_event_count(m), expected = 0;

	while (expected < COUNT(x->events) && x->events[expected].name)
		expected++;
	assert_int_equal(count, expected);
	for (size_t k = 0; k < count; k++) {
		const struct uncore_metric_event *event = uncore_metric_event_at(m, k);

		assert_string_equal(event->name, x->events[k].name);
		if (event->config[0] != x->events[k].config)
			fail_msg("%s: %s: 0x%llx, not 0x%llx", x->name, event->name,
				 (unsigned long long)event->config[0],
				 (unsigned long long)x->events[k].config);
		for (size_t w = 1; w < UNCORE_CONFIG_WORDS; w++)
			assert_int_equal(event->config[w], 0);
		assert_int_equal(event->pmu_count, pmus);
		assert_non_null(event->pmu);
		assert_non_null(event->terms);
	}
}

static inline void assert_metric(const struct uncore *u, const char *family, size_t pmus,
				 const struct expected *x)
{
	const struct uncore_metric *m = find(u, family, x->name);

	assert_null(uncore_metric_missing(m));
	assert_string_equal(uncore_metric_formula(m), x->formula);
	assert_events(m, x, pmus);
}

/* How many metrics of the family this machine has: of families with PMUs. */
static inline size_t metrics_here(const struct uncore *u, const char *family)
{
	size_t here = 0;

	for (size_t i = 0; i < u->catalogue.metric_count; i++) {
		const struct uncore_metric *m = uncore_metric_at(u, i);

		here += strcmp(uncore_metric_family(m), family) == 0 && !uncore_metric_missing(m);
	}
	return here;
}

/* On this machine the family has these metrics, each on so many PMUs, and no others. */
static inline void assert_family(const struct uncore *u, const char *family, size_t pmus,
				 const struct expected *expected, size_t count)
{
	assert_int_equal(metrics_here(u, family), count);
	for (size_t i = 0; i < count; i++)
		assert_metric(u, family, pmus, &expected[i]);
}

#endif
