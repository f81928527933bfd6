/* SPDX-License-Identifier: MIT */
/* AMD's sampled ops: records taken apart, bins, what is refused, and the rings with another PMU. That
 * every field is decoded as perf does is check-ibs.py's work. */
#include <errno.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "helpers.h"
#include "ibs/rings.h"
#include "object.h"

#define ZEN4 (1u << 11)

/* A record of one op, as the kernel writes it; its registers are control, RIP, data, data 2, data 3. */
struct op_record {
	struct perf_event_header h;
	uint32_t size, caps;
	uint64_t reg[5];
};

#define VALID (UINT64_C(3) << 17)
#define LOAD UINT64_C(1)
#define MISS (UINT64_C(1) << 7)
#define UNCACHED (UINT64_C(1) << 14)
#define L2_MISS (UINT64_C(1) << 20)
#define PREFETCH (UINT64_C(1) << 21)
#define LATENCY(n) ((uint64_t)(n) << 32)

static struct op_record op_record(uint32_t caps, uint64_t data2, uint64_t data3)
{
	return (struct op_record){
		.h = {.type = PERF_RECORD_SAMPLE, .size = sizeof(struct op_record)},
		.size = sizeof(uint32_t) + 5 * sizeof(uint64_t),
		.caps = caps,
		.reg = {VALID, 0, 0, data2, data3},
	};
}

static int add(struct unc_ibs *ibs, const void *records, size_t size)
{
	static const struct unc_ibs_layout layout = {0};

	return unc_ibs_add(ibs, &layout, records, size, NULL);
}

static void add_op(struct unc_ibs *ibs, uint64_t data2, uint64_t data3)
{
	struct op_record r = op_record(ZEN4, data2, data3);

	assert_int_equal(add(ibs, &r, sizeof(r)), 0);
}

static void bins_cover_every_latency(void **state)
{
	size_t before = 0;

	(void)state;
	for (unsigned latency = 0; latency <= UNC_IBS_LATENCY_MAX; latency++) {
		size_t bin = unc_ibs_bin(latency);

		assert_true(bin == before || bin == before + 1);
		assert_true(bin < UNCORE_LATENCY_BINS);
		assert_true(uncore_latency_bin(bin) <= latency);
		assert_true(latency < uncore_latency_bin(bin + 1));
		before = bin;
	}
	assert_int_equal(before, UNCORE_LATENCY_BINS - 1);
	assert_int_equal(uncore_latency_bin(UNCORE_LATENCY_BINS), 65536);
	assert_int_equal(unc_ibs_bin(70000), UNCORE_LATENCY_BINS - 1);
}

static void only_loads_with_a_valid_latency_are_used(void **state)
{
	static const struct {
		uint64_t data3;
		uint64_t loads, used, unusable;
	} ops[] = {
		{LOAD | MISS | L2_MISS | LATENCY(200), 1, 1, 0},
		{LOAD | LATENCY(200), 1, 0, 0}, /* hit the first cache */
		{2 | MISS | L2_MISS | LATENCY(200), 0, 0, 0},
		{MISS | L2_MISS | LATENCY(200), 0, 0, 0},
		{LOAD | MISS | L2_MISS | UNCACHED | LATENCY(200), 1, 0, 1},
		{LOAD | MISS | L2_MISS | PREFETCH | LATENCY(200), 1, 0, 1},
		{LOAD | MISS | L2_MISS, 1, 0, 1},               /* a latency of 0 is none */
		{LOAD | MISS | L2_MISS | LATENCY(99), 1, 0, 0}, /* too short */
		{LOAD | MISS | L2_MISS | LATENCY(100), 1, 1, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(ops); i++) {
		struct unc_ibs ibs = {.least = 100};

		add_op(&ibs, 3, ops[i].data3);
		assert_int_equal(ibs.counts.samples, 1);
		assert_int_equal(ibs.counts.loads, ops[i].loads);
		assert_int_equal(ibs.counts.used, ops[i].used);
		assert_int_equal(ibs.counts.unusable, ops[i].unusable);
		assert_int_equal(ibs.sums[UNC_IBS_LOCAL_DRAM].samples, ops[i].used);
	}
}

static void sums_are_kept_until_cleared(void **state)
{
	struct unc_ibs ibs = {0};

	(void)state;
	add_op(&ibs, 3, LOAD | MISS | L2_MISS | LATENCY(200));
	add_op(&ibs, 3, LOAD | MISS | L2_MISS | LATENCY(202));
	add_op(&ibs, 3 | 1 << 4, LOAD | MISS | L2_MISS | LATENCY(0xffff));
	assert_int_equal(ibs.sums[UNC_IBS_LOCAL_DRAM].samples, 2);
	assert_int_equal(ibs.sums[UNC_IBS_LOCAL_DRAM].clocks, 402);
	assert_int_equal(ibs.sums[UNC_IBS_LOCAL_DRAM].bins[unc_ibs_bin(200)], 2);
	assert_int_equal(ibs.sums[UNC_IBS_REMOTE_DRAM].bins[UNCORE_LATENCY_BINS - 1], 1);
	ibs = (struct unc_ibs){.least = ibs.least};
	assert_int_equal(ibs.counts.samples + ibs.sums[UNC_IBS_LOCAL_DRAM].samples, 0);
}

static void other_records(void **state)
{
	struct {
		struct perf_event_header h;
		uint64_t words[2];
	} lost = {{PERF_RECORD_LOST, 0, sizeof(lost)}, {7, 30}},
	  lost_samples = {{PERF_RECORD_LOST_SAMPLES, 0, sizeof(lost)}, {5, 0}},
	  throttle = {{PERF_RECORD_THROTTLE, 0, sizeof(lost)}, {0, 0}},
	  unknown = {{200, 0, sizeof(lost)}, {0, 0}};
	struct unc_ibs ibs = {0};

	(void)state;
	assert_int_equal(add(&ibs, &lost, sizeof(lost)), 0);
	assert_int_equal(add(&ibs, &lost_samples, sizeof(lost)), 0);
	assert_int_equal(add(&ibs, &throttle, sizeof(lost)), 0);
	assert_int_equal(add(&ibs, &unknown, sizeof(lost)), 0);
	lost.h.size = 16; /* no room for the number */
	assert_int_equal(add(&ibs, &lost, 16), 0);
	assert_int_equal(ibs.counts.lost, 35);
	assert_int_equal(ibs.counts.throttled, 1);
	assert_int_equal(ibs.counts.samples, 0);
}

static void broken_records(void **state)
{
	struct op_record r = op_record(ZEN4, 3, LOAD | MISS | LATENCY(9));
	struct unc_ibs ibs = {0};
	void *end;

	(void)state;
	/* Cut off, at every length. */
	for (size_t size = 1; size < sizeof(r); size++)
		assert_int_equal(add(&ibs, &r, size), -EBADMSG);
	r.h.size = 0;
	assert_int_equal(add(&ibs, &r, sizeof(r)), -EBADMSG);
	assert_int_equal(ibs.counts.samples + ibs.counts.broken, 0);
	/* A record whose raw data are shorter than an op, or longer than the record. */
	r.h.size = sizeof(r);
	r.size = 36;
	assert_int_equal(add(&ibs, &r, sizeof(r)), 0);
	r.size = 0xffffffff;
	assert_int_equal(add(&ibs, &r, sizeof(r)), 0);
	r.h.size = 8;
	assert_int_equal(add(&ibs, &r, 8), 0);
	assert_int_equal(ibs.counts.broken, 3);
	/* Nothing but a size of 0, at the end of what may be read. */
	r.h.size = 12;
	r.size = 0;
	end = malloc(12);
	assert_non_null(end);
	memcpy(end, &r, 12);
	assert_int_equal(add(&ibs, end, 12), 0);
	free(end);
	assert_int_equal(ibs.counts.broken, 4);
	assert_int_equal(ibs.counts.samples, 0);
	/* What the hardware has not filled in. */
	r = op_record(ZEN4, 3, LOAD | MISS | LATENCY(9));
	r.reg[0] = UINT64_C(1) << 17;
	assert_int_equal(add(&ibs, &r, sizeof(r)), 0);
	assert_int_equal(ibs.counts.samples, 0);
}

static void samples_of_other_events_are_left_out(void **state)
{
	struct {
		struct perf_event_header h;
		uint64_t id;
		char rest[sizeof(struct op_record) - sizeof(struct perf_event_header)];
	} r = {{PERF_RECORD_SAMPLE, 0, sizeof(r)}, 8, {0}};
	const struct op_record op = op_record(ZEN4, 3, LOAD | MISS | LATENCY(9));
	const uint64_t ids[] = {7, 9};
	const struct unc_ibs_layout layout = {.skip = 8, .ids = ids, .id_count = 2};
	struct unc_ibs ibs = {0};

	(void)state;
	memcpy(r.rest, &op.size, sizeof(r.rest));
	assert_int_equal(unc_ibs_add(&ibs, &layout, &r, sizeof(r), NULL), 0);
	assert_int_equal(ibs.counts.samples, 0);
	r.id = 9;
	assert_int_equal(unc_ibs_add(&ibs, &layout, &r, sizeof(r), NULL), 0);
	assert_int_equal(ibs.counts.samples, 1);
}

/* A recording of many CPUs has many ids: one by one it takes minutes. */
static void samples_of_many_ids(void **state)
{
	enum { MANY = 1 << 17 };
	struct small {
		struct perf_event_header h;
		uint64_t id;
	} *records = calloc(MANY, sizeof(*records));
	uint64_t *ids = calloc(MANY, sizeof(*ids));
	struct unc_ibs_layout layout = {.skip = 8, .ids = ids, .id_count = MANY};
	struct unc_ibs ibs = {0};
	clock_t begin = clock();

	(void)state;
	assert_true(records && ids);
	for (uint64_t i = 0; i < MANY; i++) {
		ids[i] = 2 * (MANY - i);
		records[i] = (struct small){{PERF_RECORD_SAMPLE, 0, sizeof(*records)}, i};
	}
	assert_int_equal(unc_ibs_add(&ibs, &layout, records, MANY * sizeof(*records), NULL), 0);
	/* Those of the event have no op. */
	assert_int_equal(ibs.counts.broken, MANY / 2 - 1);
	assert_true(clock() - begin < 5 * CLOCKS_PER_SEC);
	free(records);
	free(ids);
}

static void keys_are_bounded(void **state)
{
	struct unc_tasks tasks = {0};
	struct unc_keys keys = {.by = UNCORE_LATENCY_BY_ADDRESS};
	struct unc_ibs ibs = {
		.tasks = &tasks, .keys = &keys, .from = UNCORE_LATENCY_FROM_MEMORY, .least = 10};
	struct unc_load load = {.source = UNC_IBS_LOCAL_DRAM,
				.latency = 40,
				.has = UNC_LOAD_TASK | UNC_LOAD_ADDRESS};

	(void)state;
	for (uint64_t i = 0; i < UNC_KEYS_MOST + 10; i++) {
		load.address = i << UNC_PAGE_BITS;
		assert_int_equal(unc_ibs_add_load(&ibs, &load), 0);
		load.address += (1 << UNC_PAGE_BITS) - 1;
		assert_int_equal(unc_ibs_add_load(&ibs, &load), 0);
	}
	assert_int_equal(keys.count, UNC_KEYS_MOST);
	assert_int_equal(keys.rest.samples, 20);
	assert_int_equal(keys.rest.bins[unc_ibs_bin(40)], 20);
	assert_int_equal(keys.unknown, 0);
	/* What is left out: by its source, its latency; and what has no such field. */
	load.source = UNC_IBS_L2;
	assert_int_equal(unc_ibs_add_load(&ibs, &load), 0);
	load.source = UNC_IBS_REMOTE_DRAM;
	load.latency = 9;
	assert_int_equal(unc_ibs_add_load(&ibs, &load), 0);
	assert_int_equal(ibs.counts.used, 2 * (UNC_KEYS_MOST + 10));
	assert_int_equal(ibs.counts.memory, ibs.counts.used);
	load.latency = 10;
	load.has = UNC_LOAD_TASK;
	assert_int_equal(unc_ibs_add_load(&ibs, &load), 0);
	assert_int_equal(keys.unknown, 1);
	assert_int_equal(keys.rest.samples, 21);
	unc_keys_clear(&keys);
	assert_int_equal(keys.count + keys.rest.samples + keys.unknown, 0);
	unc_keys_finish(&keys);
	unc_tasks_finish(&tasks);
}

/* ---- rings ----------------------------------------------------------------------------------- */

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Sleeps 50 ms, and returns how many seconds that took. */
static double sleep_some(void)
{
	double begin = now_s();

	nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
	return now_s() - begin;
}

/* The kernel's own clock, which interrupts every CPU each 20 us: its samples have raw data of no
 * length, which are no ops. */
static void a_ring_for_each_cpu(void **state)
{
	struct unc_ibs ibs = {0};
	struct unc_ibs_rings rings = {0};
	struct uncore_pmu pmu = {.name = (char *)"software", .type = PERF_TYPE_SOFTWARE};
	struct uncore_counter event = {.pmu = &pmu, .event = "cpu-clock"};
	struct unc_kernel_env env = {0};
	struct unc_error e;
	struct uncore *u;
	double longest = 0;
	size_t all;
	int ret;

	(void)state;
	assert_int_equal(uncore_new(&u), 0);
	assert_int_equal(uncore_scan(u), 0);
	env = (struct unc_kernel_env){u->root, &u->topology};
	for (size_t i = 0; i < u->pmus.count; i++)
		if (strcmp(u->pmus.items[i].name, "software") == 0)
			pmu.cpus = u->pmus.items[i].cpus;
	ret = unc_ibs_rings_open(&rings, &env, &event, 20000, &e);
	if (ret < 0) {
		unc_ibs_rings_finish(&rings);
		uncore_free(u);
		print_message("not here: %s\n", e.text);
		skip();
	}
	all = rings.all;
	assert_true(all == pmu.cpus.count && all == rings.count && all > 0);
	assert_int_equal(unc_ibs_rings_start(&rings, &e), 0);
	/* Until the rings have been gone round, by samples of 16 bytes or 24. */
	for (int i = 0; i < 40 && ibs.counts.broken * 16 < all * (600 << 10); i++) {
		double slept = sleep_some();

		longest = slept > longest ? slept : longest;
		assert_int_equal(unc_ibs_rings_drain(&rings, &ibs, &e), 0);
	}
	assert_true(ibs.counts.broken > 0);
	/* A ring has room for some 400 ms: where nobody drains it for longer, samples are lost. */
	if (longest < 0.2) {
		assert_int_equal(ibs.counts.lost, 0);
		assert_true(unc_ibs_rings_coverage(&rings) > 0.9);
	}
	assert_int_equal(ibs.counts.samples, 0);
	unc_ibs_rings_finish(&rings);
	uncore_free(u);
}

/* The same clock with the fields of keys: this process is named, and so is one that is made. */
static void rings_say_who_runs(void **state)
{
	struct unc_tasks tasks = {.live = true};
	struct unc_keys keys = {.by = UNCORE_LATENCY_BY_PROCESS};
	struct unc_ibs ibs = {.tasks = &tasks, .keys = &keys};
	struct unc_ibs_rings rings = {0};
	struct uncore_pmu pmu = {.name = (char *)"software", .type = PERF_TYPE_SOFTWARE};
	struct uncore_counter event = {.pmu = &pmu, .event = "cpu-clock"};
	struct unc_kernel_env env = {0};
	struct unc_error e;
	struct uncore *u;
	pid_t child;
	int ret;

	(void)state;
	assert_int_equal(uncore_new(&u), 0);
	assert_int_equal(uncore_scan(u), 0);
	tasks.root = u->root;
	env = (struct unc_kernel_env){u->root, &u->topology};
	for (size_t i = 0; i < u->pmus.count; i++)
		if (strcmp(u->pmus.items[i].name, "software") == 0)
			pmu.cpus = u->pmus.items[i].cpus;
	rings.tasks = true;
	ret = unc_ibs_rings_open(&rings, &env, &event, 1000000, &e);
	if (ret == 0) {
		assert_int_equal(unc_ibs_rings_start(&rings, &e), 0);
		child = fork();
		if (child == 0) {
			execl("/bin/sleep", "sleep", "0", (char *)NULL);
			_exit(1);
		}
		waitpid(child, NULL, 0);
		assert_int_equal(unc_ibs_rings_drain(&rings, &ibs, &e), 0);
		/* It has ended: only the records know its name. */
		assert_string_equal(unc_tasks_name(&tasks, child, UINT64_MAX), "sleep");
		assert_true(tasks.events > 2 && tasks.object_count > 0);
	}
	unc_ibs_rings_finish(&rings);
	unc_keys_finish(&keys);
	unc_tasks_finish(&tasks);
	uncore_free(u);
	if (ret < 0) {
		print_message("not here: %s\n", e.text);
		skip();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bins_cover_every_latency),
		cmocka_unit_test(only_loads_with_a_valid_latency_are_used),
		cmocka_unit_test(sums_are_kept_until_cleared),
		cmocka_unit_test(other_records),
		cmocka_unit_test(broken_records),
		cmocka_unit_test(samples_of_other_events_are_left_out),
		cmocka_unit_test(samples_of_many_ids),
		cmocka_unit_test(keys_are_bounded),
		cmocka_unit_test(a_ring_for_each_cpu),
		cmocka_unit_test(rings_say_who_runs),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
