/* SPDX-License-Identifier: MIT */
/* Simulations: their files, the machines they play, and the readings they give. */
#include "base/data-file.h"
#include "source/source.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <time.h>

#include <cmocka.h>

#include "helpers.h"

#define COUNTERS 512
#define MS UINT64_C(1000000)

struct play {
	struct tree tree;
	struct unc_root *root;
	struct unc_topology topology;
	struct unc_pmus pmus;
	struct unc_sim *sim;
	struct unc_source *source;
	struct uncore_counter plan[COUNTERS];
	struct uncore_reading readings[COUNTERS];
	struct unc_names names, notes;
	size_t count;
	uint64_t now;
	struct unc_error e;
};

/* A machine of two sockets with two boxes, and an empty file for the simulation. */
static int set_up(void **state)
{
	static const int sockets[] = {0, 1};
	struct play *p = calloc(1, sizeof(*p));

	if (!p)
		return -1;
	tree_make(&p->tree);
	machine_cpuinfo(&p->tree, 143, "");
	machine_cpus(&p->tree, sockets, 2);
	machine_pmu(&p->tree, "uncore_box_0", "20\n", "0-1\n");
	machine_pmu(&p->tree, "uncore_box_1", "21\n", "0-1\n");
	tree_pmu(&p->tree, "uncore_box_0", "events/reads", "event=0x01,umask=0x0f\n");
	tree_pmu(&p->tree, "uncore_box_1", "events/reads", "event=0x01,umask=0x0f\n");
	tree_pmu(&p->tree, "uncore_box_0", "events/only0", "event=0x77\n");
	*state = p;
	return 0;
}

static void end_play(struct play *p)
{
	if (p->source)
		p->source->ops->close(p->source);
	p->source = NULL;
	for (size_t i = 0; i < p->count; i++)
		free((void *)p->plan[i].why);
	memset(p->plan, 0, sizeof(p->plan));
	p->count = 0;
	unc_sim_free(p->sim);
	p->sim = NULL;
	unc_pmus_finish(&p->pmus);
	unc_topology_finish(&p->topology);
	unc_root_free(p->root);
	p->root = NULL;
}

static int tear_down(void **state)
{
	struct play *p = *state;

	end_play(p);
	unc_names_finish(&p->notes);
	unc_names_finish(&p->names);
	tree_remove(&p->tree);
	free(p);
	return 0;
}

static int load(struct play *p, const char *spec)
{
	int ret = unc_sim_load(&p->sim, spec, &p->root, &p->e);

	if (ret != 0)
		return ret;
	assert_int_equal(unc_topology_read(&p->topology, p->root, &p->e), 0);
	assert_int_equal(unc_pmus_read(&p->pmus, p->root, &p->topology, &p->e), 0);
	return unc_sim_check(p->sim, &p->pmus, &p->e);
}

static int load_text(struct play *p, const char *text, const char *options)
{
	char spec[400];

	tree_put(&p->tree, "sim.yaml", text);
	snprintf(spec, sizeof(spec), "%s/sim.yaml%s", p->tree.dir, options);
	return load(p, spec);
}

#define HEAD "sim: test\nmachine: .\nrates:\n"

/* HEAD and these rates, with steps of 10 ms. */
static void load_rates(struct play *p, const char *rates)
{
	char text[2000];

	snprintf(text, sizeof(text), HEAD "%s", rates);
	if (load_text(p, text, ",step=10ms") != 0)
		fail_msg("%s", p->e.text);
}

static void add(struct play *p, const char *pmu, const char *terms, int cpu)
{
	struct uncore_counter *c = &p->plan[p->count++];

	assert_true(p->count <= COUNTERS);
	*c = (struct uncore_counter){.event = terms, .cpu = cpu, .group = p->count};
	for (size_t i = 0; i < p->pmus.count; i++) {
		struct unc_encoding encoding;

		if (strcmp(p->pmus.items[i].name, pmu) != 0)
			continue;
		c->pmu = &p->pmus.items[i];
		if (unc_pmu_encode(c->pmu, terms, &encoding, &p->e) != 0)
			fail_msg("%s", p->e.text);
		memcpy(c->config, &encoding.config, sizeof(c->config));
	}
	assert_non_null(c->pmu);
}

static int new_source(struct play *p)
{
	return unc_source_new(&p->source,
			      (struct unc_source){.ops = &unc_source_sim, .sim = p->sim});
}

static int open_source(struct play *p)
{
	assert_int_equal(new_source(p), 0);
	return p->source->ops->open(p->source, p->plan, p->count, &p->notes, &p->e);
}

static void start(struct play *p)
{
	if (open_source(p) != 0)
		fail_msg("%s", p->e.text);
	assert_int_equal(p->source->ops->enable(p->source, &p->e), 0);
}

static void take(struct play *p)
{
	assert_int_equal(p->source->ops->read(p->source, p->readings, &p->now, &p->e), 0);
}

/* ---- readings ------------------------------------------------------------------------------ */

static void steps_are_exact(void **state)
{
	struct play *p = *state;

	load_rates(p, "- {pmu: uncore_box, event: reads, constant: 1e9}\n");
	add(p, "uncore_box_0", "event=0x01,umask=0x0f", 0);
	start(p);
	for (uint64_t i = 0; i < 200; i++) {
		take(p);
		assert_int_equal(p->now, i * 10 * MS);
		assert_int_equal(p->readings[0].raw, i * 10000000);
		assert_int_equal(p->readings[0].enabled_ns, i * 10 * MS);
		assert_int_equal(p->readings[0].running_ns, i * 10 * MS);
		assert_false(p->readings[0].lost);
	}
	assert_int_equal(p->plan[0].width, 64);
}

static void take_and_check(struct play *p, uint64_t enabled_ms)
{
	take(p);
	assert_int_equal(p->readings[0].enabled_ns, enabled_ms * MS);
	assert_int_equal(p->readings[0].raw, enabled_ms * 1000000);
}

/* Counting starts at the reading before and stops at the reading after: a monitor reads, starts,
 * and reads again. */
static void start_and_stop_take_whole_steps(void **state)
{
	struct play *p = *state;
	const struct unc_source_ops *ops;

	load_rates(p, "- {pmu: uncore_box, event: reads, constant: 1e9}\n");
	add(p, "uncore_box_0", "reads", 0);
	assert_int_equal(open_source(p), 0);
	ops = p->source->ops;
	take_and_check(p, 0);
	assert_int_equal(ops->enable(p->source, &p->e), 0);
	take_and_check(p, 10);
	assert_int_equal(ops->disable(p->source, &p->e), 0);
	assert_int_equal(ops->disable(p->source, &p->e), 0);
	take_and_check(p, 20);
	take_and_check(p, 20);
	assert_int_equal(p->now, 30 * MS);
}

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 * MS + (uint64_t)t.tv_nsec;
}

static void without_steps_the_clock_counts(void **state)
{
	struct play *p = *state;
	uint64_t before = clock_ns(), between;

	assert_int_equal(
		load_text(p, HEAD "- {pmu: uncore_box, event: reads, constant: 1e9}\n", ""), 0);
	add(p, "uncore_box_0", "reads", 0);
	start(p);
	between = clock_ns();
	usleep(5000);
	take(p);
	assert_in_range(p->now, between + 5 * MS, clock_ns());
	assert_in_range(p->readings[0].enabled_ns, 5 * MS, clock_ns() - before);
	assert_int_equal(p->readings[0].raw, p->readings[0].enabled_ns);
}

static void counts_wrap_at_their_width(void **state)
{
	struct play *p = *state;

	load_rates(
		p,
		"- {pmu: uncore_box, event: reads, constant: 1e9, width: 32, start: 0xfffffff0}\n"
		"- {pmu: uncore_box, event: event=2, constant: 100, start: 0xffffffffffffffff}\n");
	add(p, "uncore_box_0", "reads", 0);
	add(p, "uncore_box_0", "event=2", 0);
	start(p);
	take(p);
	assert_int_equal(p->plan[0].width, 32);
	assert_int_equal(p->readings[0].raw, 0xfffffff0);
	assert_true(p->readings[1].raw == UINT64_MAX);
	take(p);
	assert_int_equal(p->readings[0].raw, 10000000 - 16);
	assert_int_equal(p->readings[1].raw, 0);
	for (int i = 2; i <= 430; i++)
		take(p);
	assert_int_equal(p->readings[0].raw, (UINT64_C(0xfffffff0) + 4300000000) & 0xffffffff);
}

static void shares_of_time_count_that_share(void **state)
{
	struct play *p = *state;

	load_rates(p, "- {pmu: uncore_box, event: reads, constant: 1e9, running: 0.25}\n"
		      "- {pmu: uncore_box, event: event=2, constant: 1e9, running: 0, start: 5}\n");
	add(p, "uncore_box_0", "reads", 0);
	add(p, "uncore_box_0", "event=2", 0);
	start(p);
	take(p);
	take(p);
	assert_int_equal(p->readings[0].raw, 2500000);
	assert_int_equal(p->readings[0].enabled_ns, 10 * MS);
	assert_int_equal(p->readings[0].running_ns, 10 * MS / 4);
	assert_int_equal(p->readings[1].raw, 5);
	assert_int_equal(p->readings[1].enabled_ns, 10 * MS);
	assert_int_equal(p->readings[1].running_ns, 0);
}

/* Raw counts of four counters after 100 steps of the same file with another seed. */
static void run_seed(struct play *p, int seed, uint64_t raw[4])
{
	char text[600];

	snprintf(
		text, sizeof(text),
		"sim: test\nmachine: .\nseed: %d\nrates:\n"
		"- {pmu: uncore_box, event: reads, sine: {mean: 1e9, amplitude: 9e8, period: 1s}}\n"
		"- {pmu: uncore_box, event: event=2, constant: 1e9, spread: 0.1}\n",
		seed);
	assert_int_equal(load_text(p, text, ",step=3ms"), 0);
	add(p, "uncore_box_0", "reads", 0);
	add(p, "uncore_box_0", "event=2", 0);
	add(p, "uncore_box_0", "event=2", 1);
	add(p, "uncore_box_1", "event=2", 0);
	start(p);
	for (int i = 0; i <= 100; i++)
		take(p);
	for (size_t i = 0; i < 4; i++)
		raw[i] = p->readings[i].raw;
	end_play(p);
}

static void the_seed_decides_and_nothing_else(void **state)
{
	struct play *p = *state;
	uint64_t a[4], b[4], c[4];

	run_seed(p, 1, a);
	run_seed(p, 1, b);
	run_seed(p, 2, c);
	assert_memory_equal(a, b, sizeof(a));
	for (size_t i = 0; i < 4; i++)
		assert_true(a[i] != c[i]);
	for (size_t i = 1; i < 4; i++)
		assert_in_range(a[i], 270000000, 330000000); /* 0.3 s of 1e9 +-10 % */
	assert_true(a[1] != a[2] && a[1] != a[3]);
}

static void phases_can_be_shared(void **state)
{
	static const char wave[] = "sine: {mean: 1e9, amplitude: 9e8, period: 1s}";
	struct play *p = *state;
	char text[1000];

	snprintf(text, sizeof(text),
		 "- {pmu: uncore_box_0, event: reads, %s}\n"
		 "- {pmu: uncore_box_0, event: event=2, %s}\n"
		 "- {pmu: uncore_box_1, event: reads, %s}\n"
		 "- {pmu: uncore_box, event: event=3, %s, phase: together}\n"
		 "- {pmu: uncore_box, event: event=4, %s, phase: 0.25}\n",
		 wave, wave, wave, wave, wave);
	load_rates(p, text);
	add(p, "uncore_box_0", "reads", 0);
	add(p, "uncore_box_0", "event=2", 0);
	add(p, "uncore_box_1", "reads", 0);
	add(p, "uncore_box_0", "event=3", 0);
	add(p, "uncore_box_1", "event=3", 0);
	add(p, "uncore_box_1", "event=3", 1);
	add(p, "uncore_box_1", "event=4", 0);
	start(p);
	for (int i = 0; i <= 10; i++)
		take(p);
	assert_int_equal(p->readings[0].raw, p->readings[1].raw);
	assert_true(p->readings[0].raw != p->readings[2].raw);
	assert_int_equal(p->readings[3].raw, p->readings[4].raw);
	assert_true(p->readings[3].raw != p->readings[5].raw); /* another socket */
	/* 0.1 s from the top of the wave on: 1e8 + 9e8 / (2 pi) * sin(36 degrees) */
	assert_int_equal(p->readings[6].raw, 184194035);
}

/* ---- which counters there are -------------------------------------------------------------- */

static void the_first_rate_that_fits_counts(void **state)
{
	struct play *p = *state;

	load_rates(p, "- {pmu: uncore_box_1, event: reads, constant: 100}\n"
		      "- {pmu: uncore_box, event: \"event=1,umask=15\", constant: 200}\n"
		      "- {pmu: \"uncore_*\", event: only0, constant: 300}\n");
	add(p, "uncore_box_0", "reads", 0);
	add(p, "uncore_box_0", "only0", 0);
	add(p, "uncore_box_1", "reads", 0);
	add(p, "uncore_box_1", "event=0x77", 0);
	start(p);
	take(p);
	take(p);
	assert_int_equal(p->readings[0].raw, 2);
	assert_int_equal(p->readings[1].raw, 3);
	assert_int_equal(p->readings[2].raw, 1);
	assert_int_equal(p->plan[3].error, -ENODEV); /* box_1 has no alias only0 */
	assert_true(p->readings[3].lost);
}

static void what_no_rate_names_cannot_be_opened(void **state)
{
	struct play *p = *state;

	load_rates(p, "- {pmu: uncore_box, event: reads, constant: 100}\n");
	add(p, "uncore_box_0", "reads", 0);
	add(p, "uncore_box_0", "event=1", 0);
	add(p, "uncore_box_0", "reads,edge=1", 0);
	add(p, "uncore_box_1", "reads", 0);
	start(p);
	assert_int_equal(p->plan[0].error, 0);
	assert_int_equal(p->plan[1].error, -ENODEV);
	assert_contains(p->plan[1].why, "has no rate for uncore_box_0/event=1/");
	assert_int_equal(p->plan[2].error, -ENODEV);
	assert_int_equal(p->plan[3].error, 0);
}

static void refusals_are_as_the_kernels(void **state)
{
	static const char rates[] =
		"- {pmu: uncore_box, event: reads, constant: 100}\n"
		"- {pmu: uncore_box, event: event=2, constant: 1, refuse: EINVAL}\n"
		"- {pmu: uncore_box, event: event=3, constant: 1, refuse: EACCES}\n"
		"- {pmu: uncore_box, event: event=4, constant: 1, refuse: EMFILE}\n";
	struct play *p = *state;

	load_rates(p, rates);
	add(p, "uncore_box_0", "event=2", 0);
	add(p, "uncore_box_0", "reads", 0);
	add(p, "uncore_box_0", "event=3", 0);
	start(p);
	assert_int_equal(p->plan[0].error, -EINVAL);
	assert_contains(p->plan[0].why, "refuses it with EINVAL");
	assert_contains(p->plan[0].why, "line 5");
	assert_int_equal(p->plan[2].error, -EACCES);
	end_play(p);
	load_rates(p, rates);
	add(p, "uncore_box_0", "event=3", 0);
	add(p, "uncore_box_0", "reads", 0);
	assert_int_equal(open_source(p), -EACCES);
	end_play(p);
	load_rates(p, rates);
	add(p, "uncore_box_0", "reads", 0);
	add(p, "uncore_box_0", "event=4", 0);
	assert_int_equal(open_source(p), -EMFILE);
}

static void empty_plans_and_early_close(void **state)
{
	struct play *p = *state;

	load_rates(p, " []\n");
	start(p);
	take(p);
	p->source->ops->close(p->source);
	assert_int_equal(new_source(p), 0);
	unc_sim_free(NULL);
}

/* ---- files --------------------------------------------------------------------------------- */

#define RATE "- {pmu: uncore_box, event: reads, "

static const struct {
	const char *text, *want; /* `want` follows the file's name */
} broken[] = {
	{"machine: .\nrates: []\n", ":1:1: the key 'sim' is missing"},
	{"sim: x\nrates: []\n", ":1:1: the key 'machine' is missing"},
	{"sim: x\nmachine: .\n", ":1:1: the key 'rates' is missing"},
	{HEAD " []\nspeed: 1\n", ":5:1: unknown key 'speed'"},
	{"sim: x\nmachine: .\nseed: -1\nrates: []\n", ":3:7: the value of 'seed'"},
	{"sim: x\nmachine: .\nrates: 5\n", ":3:8: the value of 'rates' must be a list"},
	{"sim: x\nmachine: nowhere\nrates: []\n", ":2:10: 'nowhere' is neither"},
	{HEAD "- reads\n", ":4:3: "},
	{HEAD "- {event: reads, constant: 1}\n", ":4:3: the key 'pmu' is missing"},
	{HEAD "- {pmu: uncore_box, constant: 1}\n", ":4:3: the key 'event' is missing"},
	{HEAD "- {pmu: uncore_box, event: reads}\n",
	 ":4:3: expected exactly one of: constant, sine, burst, ramp"},
	{HEAD RATE "constant: 1, ramp: {from: 0, to: 1, period: 1s}}\n",
	 ":4:48: 'ramp' and 'constant' exclude each other"},
	{HEAD RATE "constant: -1}\n", ":4:45: the value of 'constant' must be a rate from 0"},
	{HEAD RATE "constant: 1e16}\n", ":4:45: the value of 'constant' must be a rate from 0"},
	{HEAD RATE "constant: fast}\n", ":4:45: the value of 'constant'"},
	{HEAD RATE "sine: 5}\n", ":4:41: "},
	{HEAD RATE "sine: {mean: 1, amplitude: 1}}\n", ":4:41: the key 'period' is missing"},
	{HEAD RATE "sine: {mean: 1, amplitude: 2, period: 1s}}\n",
	 ":4:62: the amplitude is larger"},
	{HEAD RATE "sine: {mean: 1, amplitude: 1, period: 1}}\n", ":4:73: the value of 'period'"},
	{HEAD RATE "sine: {mean: 1, amplitude: 1, period: 0s}}\n", ":4:73: the value of 'period'"},
	{HEAD RATE "burst: {low: 1, high: 2, period: 1s, duty: 1.5}}\n",
	 ":4:78: the value of 'duty'"},
	{HEAD RATE "burst: {low: 1, high: 2, period: 1s}}\n", ":4:42: the key 'duty' is missing"},
	{HEAD RATE "ramp: {from: 1, until: 2, period: 1s}}\n", ":4:51: unknown key 'until'"},
	{HEAD RATE "constant: 1, spread: 1}\n", ":4:56: the value of 'spread'"},
	{HEAD RATE "constant: 1, running: 1.1}\n", ":4:57: the value of 'running'"},
	{HEAD RATE "constant: 1, phase: 1.5}\n", ":4:55: the value of 'phase'"},
	{HEAD RATE "constant: 1, width: 65}\n", ":4:55: the value of 'width'"},
	{HEAD RATE "constant: 1, width: 0}\n", ":4:55: the value of 'width'"},
	{HEAD RATE "constant: 1, width: 8, start: 256}\n", ":4:65: the value of 'start'"},
	{HEAD RATE "constant: 1, refuse: EWRONG}\n", ":4:56: the value of 'refuse'"},
	{HEAD RATE "constant: 1}\n" RATE "constant: 2}\n", ":5:3: line 4 has a rate for"},
	{HEAD "- {pmu: uncore_bax_1, event: reads, constant: 1}\n",
	 ":4:9: no PMU of the machine matches 'uncore_bax_1' (did you mean uncore_box_1 or uncore_box_0?)"},
	{HEAD "- {pmu: uncore_box, event: readz, constant: 1}\n", ":4:28: "},
	{HEAD "- {pmu: uncore_box, event: event=0x100, constant: 1}\n", ":4:28: "},
	{HEAD "- {pmu: uncore_box, event: \"event=1\n", ":"},
};

static void mistakes_are_shown_where_they_are(void **state)
{
	struct play *p = *state;

	for (size_t i = 0; i < COUNT(broken); i++) {
		char want[600];
		int ret = load_text(p, broken[i].text, "");

		snprintf(want, sizeof(want), "%s/sim.yaml%s", p->tree.dir, broken[i].want);
		if (ret != -EBADMSG || strncmp(p->e.text, want, strlen(want)) != 0)
			fail_msg("%sgives %d '%s', not '%s'", broken[i].text, ret, p->e.text, want);
		end_play(p);
	}
}

static void names_and_options(void **state)
{
	struct play *p = *state;

	assert_int_equal(load(p, "t401"), -ENOENT);
	assert_contains(p->e.text, "there is no simulation 't401' (did you mean t410?)");
	assert_contains(p->e.text, "; built in: ");
	assert_contains(p->e.text, ", grace, ");
	assert_int_equal(load(p, ""), -ENOENT);
	assert_int_equal(load(p, "nothing/here.yaml"), -ENOENT);
	assert_int_equal(load(p, "t410,step=5"), -EINVAL);
	assert_contains(p->e.text, "step must be a duration");
	assert_int_equal(load(p, "t410,steps=5ms"), -EINVAL);
	assert_contains(p->e.text, "no option 'steps=5ms'");
	assert_int_equal(load(p, "t410,step=20ms"), 0);
}

static void machines_may_be_built_in_or_beside_the_file(void **state)
{
	struct play *p = *state;
	char text[700];

	assert_int_equal(load_text(p, "sim: x\nmachine: t410\nrates: []\n", ""), 0);
	assert_int_equal(unc_root_exists(p->root, TREE_PMU "nvidia_ucf_pmu_0"), true);
	end_play(p);
	snprintf(text, sizeof(text), "sim: x\nmachine: %s\nrates: []\n", p->tree.dir);
	assert_int_equal(load_text(p, text, ""), 0);
	assert_int_equal(unc_root_exists(p->root, TREE_PMU "uncore_box_0"), true);
}

/* ---- what is built in ---------------------------------------------------------------------- */

static void load_built_in(struct play *p, const char *spec)
{
	if (load(p, spec) != 0)
		fail_msg("%s: %s", spec, p->e.text);
}

static void add_all_aliases(struct play *p, const char *prefix)
{
	for (size_t i = 0; i < p->pmus.count; i++) {
		const struct uncore_pmu *pmu = &p->pmus.items[i];

		if (pmu->is_core || strncmp(pmu->name, prefix, strlen(prefix)) != 0)
			continue;
		assert_int_equal(unc_pmu_load(pmu), 0);
		for (size_t k = 0; k < pmu->alias_count; k++)
			add(p, pmu->name, pmu->aliases[k].name, pmu->cpus.ids[0]);
	}
}

static void check_all_open(const struct play *p)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->plan[i].error != 0)
			fail_msg("%s", p->plan[i].why);
}

/* Units without a load: no link is up at some root complexes of the Tegra410. */
static bool is_idle(const char *pmu, const char *event)
{
	bool unlinked = strstr(pmu, "pcie") &&
			(strstr(pmu, "_rc_4") || strstr(pmu, "_rc_5") || strstr(pmu, "_1_rc_1"));

	return (unlinked && strcmp(event, "cycles") != 0) || strcmp(event, "bw_in_port7") == 0 ||
	       strncmp(event, "socket_2_", 9) == 0 || strncmp(event, "socket_3_", 9) == 0;
}

static void every_alias_of_the_built_in_machines_moves(void **state)
{
	static const char *const specs[] = {"t410,step=1s", "grace,step=1s", "spr,step=1s"};
	static const char *const prefixes[] = {"nvidia_", "nvidia_", "uncore_"};
	struct play *p = *state;

	for (size_t s = 0; s < COUNT(specs); s++) {
		load_built_in(p, specs[s]);
		add_all_aliases(p, prefixes[s]);
		assert_true(p->count >= 50);
		start(p);
		check_all_open(p);
		for (int i = 0; i < 20; i++)
			take(p);
		for (size_t i = 0; i < p->count; i++) {
			const struct uncore_counter *c = &p->plan[i];

			assert_int_equal(p->readings[i].raw > 1000000,
					 !is_idle(c->pmu->name, c->event));
		}
		end_play(p);
	}
}

static double delta(const struct uncore_reading *before, const struct play *p, size_t i)
{
	return (double)(p->readings[i].raw - before[i].raw);
}

/* 50 intervals of 0.3 s; `check` gets the increments of each. */
static void play_intervals(struct play *p, void (*check)(const double *d))
{
	static struct uncore_reading before[COUNTERS];
	double d[16];

	assert_true(p->count <= COUNT(d));
	start(p);
	check_all_open(p);
	take(p);
	for (int i = 0; i < 50; i++) {
		memcpy(before, p->readings, sizeof(before));
		take(p);
		for (size_t k = 0; k < p->count; k++)
			d[k] = delta(before, p, k);
		check(d);
	}
}

static void check_near(double a, double b)
{
	if (fabs(a - b) > 1e-6 * fabs(b) + 100)
		fail_msg("%.1f is not %.1f", a, b);
}

static void check_ucf(const double *d)
{
	double latency = d[8] / d[7] / (d[9] / 0.3e9);

	check_near(d[0], 64 * d[1]); /* memory, read */
	check_near(d[2], 64 * d[3]); /* memory, written */
	check_near(d[4], 64 * d[5]); /* cache, read */
	assert_true(d[6] < d[5]);    /* hits */
	check_near(d[5] - d[6], d[1]);
	check_near(32 * d[7], d[0]); /* memory controllers */
	assert_true(latency > 98 && latency < 117);
	check_near(d[9], 0.6e9);
}

static void the_tegra410_is_consistent(void **state)
{
	static const char *const ucf[] = {"mem_bytes_rd",  "mem_access_rd", "mem_bytes_wr",
					  "mem_access_wr", "slc_bytes_rd",  "slc_access_rd",
					  "slc_hit_rd"};
	static const char *const cmem[] = {"rd_req", "rd_cum_outs", "cycles"};
	struct play *p = *state;

	load_built_in(p, "t410,step=300ms");
	for (size_t i = 0; i < COUNT(ucf); i++)
		add(p, "nvidia_ucf_pmu_0", ucf[i], 0);
	for (size_t i = 0; i < COUNT(cmem); i++)
		add(p, "nvidia_cmem_latency_pmu_0", cmem[i], 0);
	play_intervals(p, check_ucf);
}

static void check_pcie(const double *d)
{
	for (size_t i = 0; i < 8; i += 4) {
		double latency = d[i + 2] / d[i + 1] / (d[i + 3] / 0.3e9);

		check_near(d[i], 128 * d[i + 1]);
		assert_true(latency > 649.9 && latency < 650.1);
	}
}

static void its_root_complexes_are_consistent(void **state)
{
	static const char *const events[] = {"rd_bytes", "rd_req", "rd_cum_outs", "cycles"};
	struct play *p = *state;

	load_built_in(p, "t410,step=300ms");
	for (size_t i = 0; i < 4; i++)
		add(p, "nvidia_pcie_pmu_0_rc_0", events[i], 0);
	for (size_t i = 0; i < 4; i++)
		add(p, "nvidia_pcie_pmu_0_rc_3", events[i], 0);
	play_intervals(p, check_pcie);
}

static void check_channel(const double *d)
{
	double used = (d[0] + d[1]) * 4 / d[3];

	check_near(d[0] + d[1], d[2]);
	check_near(d[3], 0.72e9); /* 2.4 GHz */
	assert_true(used > 0.3 && used < 0.8);
}

static void a_memory_channel_is_consistent(void **state)
{
	struct play *p = *state;

	load_built_in(p, "spr,step=300ms");
	add(p, "uncore_imc_3", "cas_count_read", 0);
	add(p, "uncore_imc_3", "cas_count_write", 0);
	add(p, "uncore_imc_3", "event=0x05,umask=0xff", 0);
	add(p, "uncore_imc_3", "event=0x01,umask=0x01", 0);
	play_intervals(p, check_channel);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(steps_are_exact),
		T(start_and_stop_take_whole_steps),
		T(without_steps_the_clock_counts),
		T(counts_wrap_at_their_width),
		T(shares_of_time_count_that_share),
		T(the_seed_decides_and_nothing_else),
		T(phases_can_be_shared),
		T(the_first_rate_that_fits_counts),
		T(what_no_rate_names_cannot_be_opened),
		T(refusals_are_as_the_kernels),
		T(empty_plans_and_early_close),
		T(mistakes_are_shown_where_they_are),
		T(names_and_options),
		T(machines_may_be_built_in_or_beside_the_file),
		T(every_alias_of_the_built_in_machines_moves),
		T(the_tegra410_is_consistent),
		T(its_root_complexes_are_consistent),
		T(a_memory_channel_is_consistent),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
