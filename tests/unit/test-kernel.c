/* SPDX-License-Identifier: MIT */
/* The kernel source against the running kernel: PMU `msr`, which guests have too. */
#define _GNU_SOURCE
#include "machine/pmu.h"
#include "source/source.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include <cmocka.h>

#include "helpers.h"

#define TSC 0x00
#define SMI 0x04       /* Intel only */
#define MISSING 0x7777 /* no event of any msr driver */
#define MANY 4200

struct fixture {
	struct unc_root *root;
	struct unc_topology topology;
	struct uncore_pmu msr;
	struct uncore_counter plan[MANY];
	struct uncore_reading readings[MANY], later[MANY];
	size_t count;
	int cpus[2];     /* to be counted from; equal where there is one only */
	uint64_t second; /* an event beside TSC: SMI, or TSC again where there is no other */
	struct unc_source *source;
	struct unc_names notes;
	struct unc_error e;
};

/* NULL: the PMU can be used; else why not. */
static const char *unusable(struct fixture *f)
{
	char *text;
	uint64_t type;
	bool ok;

	if (unc_root_read_line(f->root, "sys/bus/event_source/devices/msr/type", &text) < 0)
		return "this machine has no PMU msr";
	ok = unc_parse_u64(text, &type) == 0;
	free(text);
	if (!ok || !unc_root_exists(f->root, "sys/bus/event_source/devices/msr/events/tsc"))
		return "the PMU msr has no tsc here";
	f->second =
		unc_root_exists(f->root, "sys/bus/event_source/devices/msr/events/smi") ? SMI : TSC;
	f->msr.name = (char *)"msr";
	f->msr.type = (uint32_t)type;
	return NULL;
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	size_t found = 0;

	if (!f || unc_root_open(&f->root, "/", &f->e) < 0 ||
	    unc_topology_read(&f->topology, f->root, &f->e) < 0)
		return -1;
	for (size_t i = 0; i < f->topology.cpu_count && found < 2; i++)
		if (f->topology.cpus[i].online)
			f->cpus[found++] = f->topology.cpus[i].id;
	if (found == 1)
		f->cpus[1] = f->cpus[0];
	*state = f;
	return 0;
}

static void close_source(struct fixture *f)
{
	if (f->source)
		f->source->ops->close(f->source);
	f->source = NULL;
	for (size_t i = 0; i < f->count; i++) {
		free((void *)f->plan[i].why);
		f->plan[i].why = NULL;
		f->plan[i].error = 0;
	}
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	close_source(f);
	unc_names_finish(&f->notes);
	unc_topology_finish(&f->topology);
	unc_root_free(f->root);
	free(f);
	return 0;
}

static void add(struct fixture *f, uint64_t event, int cpu, size_t set)
{
	f->plan[f->count] = (struct uncore_counter){
		.pmu = &f->msr,
		.event = event == TSC   ? "tsc"
			 : event == SMI ? "smi"
					: "event=0x7777",
		.config = {event, f->count}, /* msr looks at the first word alone */
		.cpu = cpu,
		.group = set,
	};
	f->count++;
}

static int new_source(struct fixture *f)
{
	return unc_source_new(&f->source, (struct unc_source){.ops = &unc_source_kernel,
							      .root = f->root,
							      .topology = &f->topology});
}

static int open_source(struct fixture *f)
{
	assert_int_equal(new_source(f), 0);
	return f->source->ops->open(f->source, f->plan, f->count, &f->notes, &f->e);
}

static void skip_because(const char *reason)
{
	print_message("# SKIP %s\n", reason);
	skip();
}

/* Opens and enables, or skips where the machine has not what it takes. */
static void start(struct fixture *f)
{
	const char *reason = unusable(f);
	int ret = 0;

	if (!reason) {
		for (size_t i = 0; i < f->count; i++)
			f->plan[i].pmu = &f->msr;
		ret = open_source(f);
		if (ret == -EACCES)
			reason = f->e.text;
	}
	if (reason)
		skip_because(reason);
	if (ret != 0)
		fail_msg("open: %d %s", ret, f->e.text);
	assert_int_equal(f->source->ops->enable(f->source, &f->e), 0);
}

static void take(struct fixture *f, struct uncore_reading *into)
{
	uint64_t now = 0;

	assert_int_equal(f->source->ops->read(f->source, into, &now, &f->e), 0);
	assert_true(now > 0);
}

static uint64_t
	late_ns; /* how far the clock of the CPU that reads a group is behind; 0: not at all */

ssize_t __real_read(int fd, void *into, size_t bytes);
ssize_t __wrap_read(int fd, void *into, size_t bytes);

ssize_t __wrap_read(int fd, void *into, size_t bytes)
{
	ssize_t got = __real_read(fd, into, bytes);
	uint64_t words[3];

	if (late_ns && got >= (ssize_t)sizeof(words)) {
		memcpy(words, into, sizeof(words));
		words[1] -= late_ns;
		words[2] -= late_ns;
		memcpy(into, words, sizeof(words));
	}
	return got;
}

/* ---- counting ------------------------------------------------------------------------------ */

static void add_groups_on_both_cpus(struct fixture *f)
{
	size_t set = 0;

	for (int c = 0; c < (f->cpus[0] == f->cpus[1] ? 1 : 2); c++)
		for (int g = 0; g < 10; g++, set++)
			for (int k = 0; k < 3; k++)
				add(f, k == 1 ? f->second : TSC, f->cpus[c], set);
}

static void times_are_set_and_advance(void **state)
{
	struct fixture *f = *state;
	uint64_t begin_ns, longest_ns;

	add_groups_on_both_cpus(f);
	start(f);
	begin_ns = unc_now_ns();
	take(f, f->readings);
	usleep(20000);
	take(f, f->later);
	longest_ns = unc_now_ns() - begin_ns;
	for (size_t i = 0; i < f->count; i++) {
		const struct uncore_reading *a = &f->readings[i], *b = &f->later[i];

		assert_int_equal(f->plan[i].width, 64);
		assert_false(a->lost || b->lost);
		assert_true(b->enabled_ns - a->enabled_ns >= 20000000);
		/* A clock of the kernel that is a little quicker than ours. */
		assert_true(b->enabled_ns - a->enabled_ns <=
			    longest_ns + longest_ns / 100 + 1000000);
		assert_int_equal(b->enabled_ns, b->running_ns);
		assert_true(f->plan[i].config[0] == SMI || b->raw > a->raw);
	}
}

#if defined(__x86_64__)
/* Whether every tsc has moved as rdtsc has. The time between the two readings of a counter is at
 * least `inner` and at most `outer`; CPUs may be a little apart: 1 % of 100 ms is far more. */
static bool moves_as_rdtsc(struct fixture *f)
{
	uint64_t before, inner, outer;
	bool enough = true;

	before = __rdtsc();
	take(f, f->readings);
	inner = __rdtsc();
	usleep(100000);
	inner = __rdtsc() - inner;
	take(f, f->later);
	outer = __rdtsc() - before;
	for (size_t i = 0; i < f->count; i++) {
		uint64_t got = f->later[i].raw - f->readings[i].raw;

		if (f->plan[i].config[0] != TSC)
			continue;
		if ((double)got > 1.01 * (double)outer)
			fail_msg("counter %zu moved by %" PRIu64 ", rdtsc by at most %" PRIu64, i,
				 got, outer);
		if ((double)got < 0.99 * (double)inner && enough)
			print_message("# counter %zu moved by %" PRIu64 ", rdtsc by %" PRIu64 "\n",
				      i, got, inner);
		enough = enough && (double)got >= 0.99 * (double)inner;
	}
	return enough;
}
#endif

/* Seen in a guest under load, kernel 7.3: -183279 ns in the reading that an interval begins with. */
static void a_negative_time_is_the_start(void **state)
{
	struct fixture *f = *state;

	add_groups_on_both_cpus(f);
	start(f);
	late_ns = 60 * UINT64_C(1000000000);
	take(f, f->readings);
	late_ns = 0;
	take(f, f->later);
	for (size_t i = 0; i < f->count; i++) {
		assert_int_equal(f->readings[i].enabled_ns, 0);
		assert_int_equal(f->readings[i].running_ns, 0);
		assert_true(f->later[i].enabled_ns > 0);
	}
}

/* When another program opens counters, the kernel stops all others for a moment, and does not
 * subtract it from their times: such a round is repeated. */
static void tsc_agrees_with_rdtsc(void **state)
{
#if defined(__x86_64__)
	struct fixture *f = *state;
	int good = 0;

	add_groups_on_both_cpus(f);
	start(f);
	for (int round = 0; round < 12 && good < 3; round++)
		good += moves_as_rdtsc(f);
	if (good < 3)
		fail_msg("in 12 rounds counters moved as far as rdtsc %d times", good);
#else
	(void)state;
	skip_because("rdtsc is an instruction of x86");
#endif
}

static void stopped_counters_stand_still(void **state)
{
	struct fixture *f = *state;

	add_groups_on_both_cpus(f);
	start(f);
	assert_int_equal(f->source->ops->disable(f->source, &f->e), 0);
	take(f, f->readings);
	usleep(2000);
	take(f, f->later);
	for (size_t i = 0; i < f->count; i++) {
		assert_int_equal(f->readings[i].raw, f->later[i].raw);
		assert_int_equal(f->readings[i].enabled_ns, f->later[i].enabled_ns);
	}
	assert_int_equal(f->source->ops->enable(f->source, &f->e), 0);
	usleep(2000);
	take(f, f->readings);
	assert_true(f->readings[0].enabled_ns >= f->later[0].enabled_ns + 2000000);
}

static void opened_counters_wait_for_enable(void **state)
{
	struct fixture *f = *state;

	add_groups_on_both_cpus(f);
	start(f);
	/* All of them, and one alone: what was merged into a group has run for a moment before. */
	for (size_t count = f->count; count != 0; count = count > 1 ? 1 : 0) {
		close_source(f);
		f->count = count;
		assert_int_equal(open_source(f), 0);
		take(f, f->readings);
		usleep(2000);
		take(f, f->later);
		for (size_t i = 0; i < count; i++) {
			assert_false(f->later[i].lost);
			assert_int_equal(f->later[i].enabled_ns, f->readings[i].enabled_ns);
			assert_int_equal(f->later[i].raw, f->readings[i].raw);
		}
	}
}

static size_t open_files(void)
{
	size_t n = 0;

	for (int fd = 3; fd < 400; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void closing_gives_the_descriptors_back(void **state)
{
	struct fixture *f = *state;
	size_t before = open_files();

	add_groups_on_both_cpus(f);
	start(f);
	assert_int_equal(open_files(), before + f->count);
	close_source(f);
	assert_int_equal(open_files(), before);
}

static void affinity_is_not_touched(void **state)
{
	struct fixture *f = *state;
	cpu_set_t before, after;

	sched_getaffinity(0, sizeof(before), &before);
	add_groups_on_both_cpus(f);
	start(f);
	for (int i = 0; i < 50; i++)
		take(f, f->readings);
	sched_getaffinity(0, sizeof(after), &after);
	assert_true(CPU_EQUAL(&before, &after));
}

static void one_set_more_than_a_group_can_hold_is_split(void **state)
{
	struct fixture *f = *state;
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_max < 2300)
		skip_because("the hard limit of open files is too low");
	for (int i = 0; i < 2100; i++) /* 16 KiB hold 2045 */
		add(f, TSC, f->cpus[0], 0);
	add(f, TSC, f->cpus[0], 1);
	start(f);
	take(f, f->readings);
	for (size_t i = 0; i < f->count; i++)
		assert_false(f->readings[i].lost);
	assert_true(f->notes.count >= 1);
	assert_contains(f->notes.items[f->notes.count - 1], "do not fit into one group");
	close_source(f);
	for (size_t i = 0; i < 2100; i++)
		f->plan[i].strict = true;
	assert_int_equal(open_source(f), -EINVAL);
	assert_contains(f->e.text, "does not fit");
	assert_contains(f->e.text, "E2BIG");
}

/* ---- refusals ------------------------------------------------------------------------------ */

static void a_bad_event_leaves_the_others_alone(void **state)
{
	struct fixture *f = *state;

	add(f, TSC, f->cpus[0], 0);
	add(f, MISSING, f->cpus[0], 1);
	add(f, f->second, f->cpus[0], 2);
	add(f, MISSING, f->cpus[0], 2);
	add(f, TSC, f->cpus[0], 2);
	start(f);
	assert_int_equal(f->plan[1].error, -EINVAL);
	assert_int_equal(f->plan[3].error, -EINVAL);
	assert_contains(f->plan[1].why, "msr/event=0x7777/");
	assert_contains(f->plan[1].why, "config=0x7777");
	take(f, f->readings);
	take(f, f->later);
	assert_true(f->readings[1].lost && f->readings[3].lost);
	assert_true(f->later[0].raw > f->readings[0].raw);
	assert_true(f->later[4].raw > f->readings[4].raw);
	assert_true(f->plan[2].error == 0 && !f->readings[2].lost);
}

/* What open says to one event that cannot be; skips where it looks no further than the rights. */
static int open_hopeless(struct fixture *f, uint64_t event)
{
	int ret;

	add(f, event, f->cpus[0], 0);
	ret = open_source(f);
	if (ret == -EACCES)
		skip_because(f->e.text);
	if (ret == 0 && f->plan[0].error) {
		ret = f->plan[0].error;
		unc_fail(&f->e, -ret, "%s", f->plan[0].why);
	}
	return ret;
}

static void an_unknown_event_keeps_its_error(void **state)
{
	struct fixture *f = *state;
	const char *reason = unusable(f);

	if (reason)
		skip_because(reason);
	assert_int_equal(open_hopeless(f, MISSING), -EINVAL);
	assert_contains(f->e.text, "msr/event=0x7777/ on CPU");
}

static void modifiers_that_no_uncore_pmu_takes(void **state)
{
	struct fixture *f = *state;

	add(f, TSC, f->cpus[0], 0);
	add(f, TSC, f->cpus[0], 1);
	add(f, TSC, f->cpus[0], 2);
	f->plan[1].modifiers = UNC_MOD_USER;
	f->plan[2].modifiers = UNC_MOD_PRECISE;
	start(f);
	assert_int_equal(f->plan[1].error, -EINVAL);
	assert_contains(f->plan[1].why, "leave out the modifiers");
	assert_int_equal(f->plan[2].error, 0); /* it asks for better samples, and this counts */
}

static void absent_cpu(void **state)
{
	struct fixture *f = *state;

	add(f, TSC, f->cpus[0], 0);
	add(f, TSC, 4095, 1);
	start(f);
	assert_true(f->plan[1].error < 0);
	assert_contains(f->plan[1].why, "this machine has no CPU 4095");
}

static void offline_cpu(void **state)
{
	struct fixture *f = *state;
	int cpu = -1;

	for (size_t i = 0; i < f->topology.cpu_count; i++)
		if (!f->topology.cpus[i].online)
			cpu = f->topology.cpus[i].id;
	if (cpu < 0)
		skip_because("every CPU is online");
	add(f, TSC, f->cpus[0], 0);
	add(f, TSC, cpu, 1);
	start(f);
	assert_true(f->plan[1].error < 0);
	assert_contains(f->plan[1].why, "is offline");
}

static void stale_type(void **state)
{
	struct fixture *f = *state;
	const char *reason = unusable(f);

	if (reason)
		skip_because(reason);
	f->msr.type = 987654;
	assert_true(open_hopeless(f, TSC) < 0);
	assert_contains(f->e.text, "registered anew");
}

static void a_config3_the_driver_does_not_know(void **state)
{
	struct fixture *f = *state;

	add(f, TSC, f->cpus[0], 0);
	add(f, TSC, f->cpus[0], 1);
	f->plan[1].config[3] = 1;
	start(f);
	assert_int_equal(f->plan[0].error, 0);
	/* msr looks at config alone; a kernel older than 6.3 has no config3. */
	if (f->plan[1].error != 0) {
		assert_int_equal(f->plan[1].error, -E2BIG);
		assert_contains(f->plan[1].why, "config3");
	}
}

static void only_the_running_machine_counts(void **state)
{
	struct fixture *f = *state;
	struct tree tree;
	int ret;

	tree_make(&tree);
	unc_root_free(f->root);
	f->root = NULL;
	assert_int_equal(unc_root_open(&f->root, tree.dir, &f->e), 0);
	add(f, TSC, 0, 0);
	ret = open_source(f);
	tree_remove(&tree);
	assert_int_equal(ret, -EOPNOTSUPP);
	assert_contains(f->e.text, "running machine");
}

static void empty_plans_and_early_close(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(open_source(f), 0);
	assert_int_equal(f->source->ops->enable(f->source, &f->e), 0);
	take(f, f->readings);
	assert_int_equal(f->source->ops->disable(f->source, &f->e), 0);
	f->source->ops->close(f->source);
	assert_int_equal(new_source(f), 0);
}

static void pinned_and_exclusive_count_by_themselves(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < 3; i++)
		add(f, TSC, f->cpus[0], i);
	f->plan[0].modifiers = UNC_MOD_PINNED;
	f->plan[1].modifiers = UNC_MOD_PINNED | UNC_MOD_EXCLUSIVE;
	start(f);
	take(f, f->readings);
	take(f, f->later);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(f->plan[i].error, 0);
		assert_true(f->later[i].raw > f->readings[i].raw);
	}
}

/* The kernel says that it gave up a pinned group by an end of file. This driver never gives one up,
 * so another file takes the place of the group's descriptor. */
static void lost_groups_are_opened_again(void **state)
{
	struct fixture *f = *state;
	int first = dup(0), empty = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(first >= 0 && empty >= 0);
	close(first); /* the next descriptor opened gets its number: the first counter's */
	add(f, TSC, f->cpus[0], 0);
	add(f, TSC, f->cpus[0], 0);
	add(f, TSC, f->cpus[0], 1);
	f->plan[2].modifiers = UNC_MOD_PINNED; /* a group of its own */
	start(f);
	take(f, f->readings);
	assert_false(f->readings[0].lost || f->readings[1].lost || f->readings[2].lost);
	assert_int_equal(dup2(empty, first), first);
	close(empty);
	take(f, f->later);
	assert_true(!f->later[2].lost && f->later[2].raw > f->readings[2].raw);
	/* Nothing was counted: they stand where they were, in their times, too. */
	for (size_t i = 0; i < 2; i++) {
		const struct uncore_reading *before = &f->readings[i], *after = &f->later[i];

		assert_true(!after->lost && after->raw == before->raw);
		assert_int_equal(after->enabled_ns, before->enabled_ns);
		assert_int_equal(after->running_ns, before->running_ns);
		assert_true(after->at_ns > before->at_ns);
	}
	/* And then they go on from there. */
	take(f, f->later);
	for (size_t i = 0; i < 2; i++) {
		const struct uncore_reading *before = &f->readings[i], *after = &f->later[i];

		assert_false(after->lost);
		assert_true(after->raw > before->raw && after->running_ns > before->running_ns);
		assert_true(after->enabled_ns - before->enabled_ns <
			    f->later[2].enabled_ns - f->readings[2].enabled_ns);
	}
	/* Stopped counters stand still, and nobody takes that for their death. */
	assert_int_equal(f->source->ops->disable(f->source, &f->e), 0);
	take(f, f->readings);
	take(f, f->later);
	assert_int_equal(f->later[0].raw, f->readings[0].raw);
	assert_int_equal(f->later[0].enabled_ns, f->readings[0].enabled_ns);
}

/* ---- limits and rights, each in a child process --------------------------------------------- */

/* Runs `check` in a child, which exits with 0, or with the number of a line that went wrong (cmocka
 * cannot report from there), or with 77 to skip. */
static void in_child(struct fixture *f, int (*check)(struct fixture *f), const char *needs)
{
	const char *reason = unusable(f);
	int status;
	pid_t pid;

	if (reason)
		skip_because(reason);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		int line = check(f);

		if (line != 0 && line != 77)
			fprintf(stderr, "# line %d: %s\n", line, f->e.text);
		_exit(line > 255 ? 255 : line);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip_because(needs);
	assert_int_equal(WEXITSTATUS(status), 0);
}

#define CHECK(condition)                 \
	do {                             \
		if (!(condition))        \
			return __LINE__; \
	} while (0)

static int soft_limit_is_raised(struct fixture *f)
{
	struct rlimit limit;
	char note[100];
	int ret;

	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_max < 700)
		return 77;
	limit.rlim_cur = 64;
	CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	for (size_t i = 0; i < 600; i++)
		add(f, TSC, f->cpus[i >= 300], i);
	ret = open_source(f);
	if (ret == -EACCES)
		return 77;
	CHECK(ret == 0);
	CHECK(f->notes.count == 1);
	snprintf(note, sizeof(note), "raised the limit of open files from 64 to %llu",
		 (unsigned long long)limit.rlim_max);
	CHECK(strcmp(f->notes.items[0], note) == 0);
	CHECK(f->source->ops->enable(f->source, &f->e) == 0);
	take(f, f->readings);
	take(f, f->later);
	for (size_t i = 0; i < 600; i++)
		CHECK(f->later[i].raw > f->readings[i].raw);
	return 0;
}

static int hard_limit_is_an_error(struct fixture *f)
{
	struct rlimit limit = {40, 100};
	size_t before = open_files();
	int ret;

	CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	for (size_t i = 0; i < 300; i++)
		add(f, TSC, f->cpus[0], i);
	ret = open_source(f);
	if (ret == -EACCES)
		return 77;
	CHECK(ret == -EMFILE);
	CHECK(strstr(f->e.text, "may have 100 (hard limit 100)"));
	CHECK(strstr(f->e.text, "300 counters"));
	CHECK(strstr(f->e.text, "LimitNOFILE="));
	CHECK(open_files() == before);
	return 0;
}

static int nobody_may_not(struct fixture *f)
{
	char *level;
	bool open_to_all;

	if (getuid() != 0 ||
	    unc_root_read_line(f->root, "proc/sys/kernel/perf_event_paranoid", &level) < 0)
		return 77;
	open_to_all = strtol(level, NULL, 10) <= 0;
	free(level);
	if (open_to_all || setgid(65534) != 0 || setuid(65534) != 0)
		return 77;
	add(f, TSC, f->cpus[0], 0);
	add(f, TSC, f->cpus[1], 1);
	CHECK(open_source(f) == -EACCES);
	CHECK(strstr(f->e.text, "kernel.perf_event_paranoid is "));
	CHECK(strstr(f->e.text, "CAP_PERFMON"));
	CHECK(strstr(f->e.text, "sudo setcap cap_perfmon=ep"));
	return 0;
}

static void hundreds_of_counters_raise_the_soft_limit(void **state)
{
	in_child(*state, soft_limit_is_raised,
		 "it takes the right to count, and a hard limit of 700 open files");
}

static void the_hard_limit_ends_it(void **state)
{
	in_child(*state, hard_limit_is_an_error, "it takes the right to count");
}

static void without_permission(void **state)
{
	in_child(*state, nobody_may_not, "it takes root, and a kernel.perf_event_paranoid above 0");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(times_are_set_and_advance),
		T(a_negative_time_is_the_start),
		T(tsc_agrees_with_rdtsc),
		T(stopped_counters_stand_still),
		T(opened_counters_wait_for_enable),
		T(closing_gives_the_descriptors_back),
		T(affinity_is_not_touched),
		T(one_set_more_than_a_group_can_hold_is_split),
		T(a_bad_event_leaves_the_others_alone),
		T(an_unknown_event_keeps_its_error),
		T(modifiers_that_no_uncore_pmu_takes),
		T(absent_cpu),
		T(offline_cpu),
		T(stale_type),
		T(a_config3_the_driver_does_not_know),
		T(only_the_running_machine_counts),
		T(empty_plans_and_early_close),
		T(pinned_and_exclusive_count_by_themselves),
		T(lost_groups_are_opened_again),
		T(hundreds_of_counters_raise_the_soft_limit),
		T(the_hard_limit_ends_it),
		T(without_permission),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
