/* SPDX-License-Identifier: MIT */
/*
 * A small simulated machine of two sockets, with ids as virtual machines and large servers have
 * them, for tests of the library as a whole. Included after <cmocka.h>.
 */
#ifndef TOY_H
#define TOY_H

#include "helpers.h"
#include "uncore.h"

struct toy {
	struct tree tree;
	struct uncore *u;
	struct uncore_monitor *m;
	struct uncore_sample *s;
};

/* Rates per second and place. */
#define TOY_RATES                                                                     \
	"  - {pmu: uncore_imc_0, event: 'event=0x04,umask=0x03', constant: 1e6}\n"    \
	"  - {pmu: uncore_imc_1, event: 'event=0x04,umask=0x03', constant: 3e6}\n"    \
	"  - {pmu: uncore_imc, event: 'event=0x04,umask=0x0c', constant: 0.5e6}\n"    \
	"  - {pmu: uncore_imc, event: event=0x00, constant: 1e9}\n"                   \
	"  - {pmu: toy, event: energy, constant: 100}\n"                              \
	"  - {pmu: toy, event: ticks, constant: 1000}\n"                              \
	"  - {pmu: toy, event: state, constant: 1}\n"                                 \
	"  - {pmu: toy, event: wraps, constant: 3e9, width: 32, start: 4000000000}\n" \
	"  - {pmu: toy, event: shared, constant: 1000, running: 0.4}\n"               \
	"  - {pmu: toy, event: never, constant: 1000, running: 0}\n"                  \
	"  - {pmu: toy, event: refused, constant: 1000, refuse: EINVAL}\n"            \
	"  - {pmu: odd, event: data, constant: 10}\n"                                 \
	"  - {pmu: back_0, event: event=1, constant: 5}\n"                            \
	"  - {pmu: back_1, event: event=1, constant: 7}\n"

static inline void toy_pmus(const struct tree *t)
{
	machine_pmu(t, "uncore_imc_0", "17\n", "0,2\n");
	machine_pmu(t, "uncore_imc_1", "18\n", "2\n");
	for (int i = 0; i < 2; i++) {
		const char *pmu = i ? "uncore_imc_1" : "uncore_imc_0";

		tree_pmu(t, pmu, "events/cas_count_read", "event=0x04,umask=0x03");
		tree_pmu(t, pmu, "events/cas_count_read.scale", "6.103515625e-5");
		tree_pmu(t, pmu, "events/cas_count_read.unit", "MiB");
	}
	machine_pmu(t, "toy", "20\n", "0-3\n");
	tree_pmu(t, "toy", "events/energy", "event=1\n");
	tree_pmu(t, "toy", "events/energy.scale", "0.5\n");
	tree_pmu(t, "toy", "events/energy.unit", "Joules\n");
	tree_pmu(t, "toy", "events/energy.per-pkg", "1\n");
	tree_pmu(t, "toy", "events/ticks", "event=2\n");
	tree_pmu(t, "toy", "events/state", "event=3\n");
	tree_pmu(t, "toy", "events/state.snapshot", "1\n");
	tree_pmu(t, "toy", "events/wraps", "event=4\n");
	tree_pmu(t, "toy", "events/shared", "event=5\n");
	tree_pmu(t, "toy", "events/never", "event=6\n");
	tree_pmu(t, "toy", "events/refused", "event=7\n");
	/* Two PMUs that mean different things by one name, and one without CPUs. */
	machine_pmu(t, "odd_0", "21\n", "0\n");
	tree_pmu(t, "odd_0", "events/data", "event=1\n");
	tree_pmu(t, "odd_0", "events/data.scale", "2\n");
	tree_pmu(t, "odd_0", "events/data.unit", "MiB\n");
	machine_pmu(t, "odd_1", "22\n", "2\n");
	tree_pmu(t, "odd_1", "events/data", "event=1\n");
	tree_pmu(t, "odd_1", "events/only_here", "event=2\n");
	/* Two whose CPUs are in the order of no socket. */
	machine_pmu(t, "back_0", "24\n", "3\n");
	machine_pmu(t, "back_1", "25\n", "1\n");
	machine_pmu(t, "idle", "23\n", "\n");
	tree_pmu(t, "idle", "events/data", "event=1\n");
}

/* A machine that is written, not yet scanned. */
static inline void toy_make(struct toy *t, const char *rates)
{
	static const int sockets[] = {36, 36, 2364, 2364};
	char text[4096];

	*t = (struct toy){.u = NULL};
	tree_make(&t->tree);
	machine_cpuinfo(&t->tree, 85, "");
	machine_cpus(&t->tree, sockets, 4);
	toy_pmus(&t->tree);
	snprintf(text, sizeof(text), "sim: toy\nmachine: .\nrates:\n%s", rates);
	tree_put(&t->tree, "sim.yaml", text);
}

/* For calls that must succeed. */
#define toy_ok(t, call) toy_ok_at(t, call, __FILE__, __LINE__)

static inline void toy_ok_at(const struct toy *t, int r, const char *file, int line)
{
	if (r == 0)
		return;
	print_error("%d: %s\n", r, uncore_error(t->u));
	_fail(file, line);
}

/* Scans the machine, with readings a second apart, and makes a monitor. */
static inline void toy_begin(struct toy *t, enum uncore_level level)
{
	char spec[400];

	snprintf(spec, sizeof(spec), "sim:%s/sim.yaml,step=1s", t->tree.dir);
	assert_int_equal(uncore_new(&t->u), 0);
	toy_ok(t, uncore_set_source(t->u, spec));
	snprintf(spec, sizeof(spec), "%s/data", t->tree.dir); /* families of the test's own */
	if (access(spec, F_OK) == 0)
		toy_ok(t, uncore_add_data(t->u, spec));
	toy_ok(t, uncore_scan(t->u));
	toy_ok(t, uncore_monitor_new(&t->m, t->u));
	toy_ok(t, uncore_monitor_set_level(t->m, level));
	assert_int_equal(uncore_sample_new(&t->s), 0);
}

static inline void toy_start(struct toy *t)
{
	toy_ok(t, uncore_monitor_open(t->m));
	toy_ok(t, uncore_monitor_start(t->m));
}

static inline void toy_end(struct toy *t)
{
	uncore_sample_free(t->s);
	uncore_monitor_free(t->m);
	uncore_free(t->u);
	tree_remove(&t->tree);
}

/* The usual beginning of a test. */
static inline void toy_play(struct toy *t, enum uncore_level level)
{
	toy_make(t, TOY_RATES);
	toy_begin(t, level);
}

#endif
