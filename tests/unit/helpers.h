/* SPDX-License-Identifier: MIT */
/* What several unit tests need beside tree.h: parts of a machine, near and
 * random numbers. Included after
 * <cmocka.h>. */
#ifndef TEST_HELPERS_H
#define TEST_HELPERS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tree.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Within 1e-12 of each other, relative to the larger. */
#define assert_close(a, b) assert_close_at(a, b, __FILE__, __LINE__)

static inline void assert_close_at(double a, double b, const char *file, int line)
{
	if (fabs(a - b) <= 1e-12 * fmax(fabs(a), fabs(b)))
		return;
	print_error("%.17g is not %.17g\n", a, b);
	_fail(file, line);
}

/* Random numbers, the same in each run: xorshift, from 0 to 1, and with a standard deviation of 1. */
#define RANDOM_BEGIN UINT64_C(88172645463325252)
static uint64_t random_state = RANDOM_BEGIN;

static inline double uniform(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (double)(random_state >> 11) / 9007199254740992.0;
}

static inline double normal(void)
{
	return sqrt(-2 * log(1 - uniform())) * cos(6.283185307179586 * uniform());
}

/* `part` stands somewhere in `text`. */
#define assert_contains(text, part) assert_contains_at(text, part, __FILE__, __LINE__)

static inline void assert_contains_at(const char *text, const char *part, const char *file,
				      int line)
{
	if (text && strstr(text, part))
		return;
	print_error("'%s' does not contain '%s'\n", text ? text : "(null)", part);
	_fail(file, line);
}

/* An Intel CPU of family 6 in proc/cpuinfo, with these flags beside the usual ones. */
static inline void machine_cpuinfo(const struct tree *t, int model, const char *flags)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: %d\n"
		 "model name\t: test\nflags\t\t: fpu msr %s\n\n",
		 model, flags);
	tree_put(t, "proc/cpuinfo", text);
}

/* Online CPUs 0 .. count-1, the i-th on sockets[i]. */
static inline void machine_cpus(const struct tree *t, const int *sockets, int count)
{
	char text[32];

	snprintf(text, sizeof(text), "0-%d\n", count - 1);
	tree_put(t, "sys/devices/system/cpu/present", text);
	tree_put(t, "sys/devices/system/cpu/online", text);
	for (int i = 0; i < count; i++) {
		snprintf(text, sizeof(text), "%d\n", sockets[i]);
		tree_cpu(t, i, "physical_package_id", text);
	}
}

/* A PMU with the format that most Intel uncore PMUs have. */
static inline void machine_pmu(const struct tree *t, const char *name, const char *type,
			       const char *cpumask)
{
	tree_pmu(t, name, "type", type);
	tree_pmu(t, name, "cpumask", cpumask);
	tree_pmu(t, name, "format/event", "config:0-7\n");
	tree_pmu(t, name, "format/umask", "config:8-15\n");
	tree_pmu(t, name, "format/edge", "config:18\n");
	tree_pmu(t, name, "format/inv", "config:23\n");
	tree_pmu(t, name, "format/thresh", "config:24-31\n");
}

#endif
