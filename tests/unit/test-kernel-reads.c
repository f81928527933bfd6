/* SPDX-License-Identifier: MIT */
/* The kernel source with a kernel that does as it is told: counts, times and calls that take long, fail, or end. */
#include "source/kernel/perf.h"
#include <setjmp.h>
#include <stdarg.h>
#include <sys/ioctl.h>

#include <cmocka.h>

#include "helpers.h"

#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)
#define FIRST 1000 /* descriptor */
#define MOST 16
#define CALL_NS 1000 /* that reading a group takes */
#define HALF (UINT64_C(1) << 32)

/* ---- the kernel ------------------------------------------------------------------------------- */

/* An event; a leader has the times of its group. */
struct event {
	bool open, on, dead, ended; /* dead: on no hardware any more; ended: a read is at its end */
	int leader, cpu;
	uint32_t type;
	uint64_t config, count, enabled_ns, running_ns, extra_member;
	uint64_t added;      /* by the driver at each reading */
	uint64_t torn;       /* is too much in the next reading only */
	uint64_t each_sleep; /* counted while the source sleeps */
};

static struct {
	struct event events[MOST];
	int count;
	uint64_t now_ns, calls_ns[8]; /* of the next reads; 0: CALL_NS */
	size_t reads;
	int interrupts;   /* so many reads end with a signal */
	uint64_t refused; /* configuration that cannot be opened */
} kernel;

int __wrap_unc_perf_open(union unc_perf_attr *a, int cpu, int leader);
int __wrap_close(int fd);
int __wrap_ioctl(int fd, unsigned long request, ...);
ssize_t __wrap_read(int fd, void *into, size_t bytes);
int __wrap_clock_gettime(clockid_t id, struct timespec *now);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left);
bool __wrap_unc_root_is_live(const struct unc_root *root);
int __real_close(int fd);
ssize_t __real_read(int fd, void *into, size_t bytes);

int __wrap_unc_perf_open(union unc_perf_attr *a, int cpu, int leader)
{
	struct event *e = &kernel.events[kernel.count];

	if (kernel.refused && a->is.config == kernel.refused)
		return -EINVAL;
	assert_true(kernel.count < MOST);
	*e = (struct event){.open = true,
			    .on = !a->is.disabled,
			    .leader = leader < 0 ? kernel.count : leader - FIRST,
			    .cpu = cpu,
			    .type = a->is.type,
			    .config = a->is.config};
	return FIRST + kernel.count++;
}

int __wrap_close(int fd)
{
	if (fd < FIRST)
		return __real_close(fd);
	assert_true(kernel.events[fd - FIRST].open);
	kernel.events[fd - FIRST].open = false;
	return 0;
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	struct event *e = &kernel.events[fd - FIRST];
	va_list args;

	va_start(args, request);
	assert_int_equal(va_arg(args, int), 0); /* the members of a leader count when it does */
	va_end(args);
	assert_true(e->open && e->leader == fd - FIRST);
	if (e->ended) {
		errno = ENODEV;
		return -1;
	}
	e->on = request == PERF_EVENT_IOC_ENABLE;
	return 0;
}

ssize_t __wrap_read(int fd, void *into, size_t bytes)
{
	uint64_t *words = into, values = 0, took_ns = kernel.calls_ns[0];
	struct event *leader;

	if (fd < FIRST)
		return __real_read(fd, into, bytes);
	leader = &kernel.events[fd - FIRST];
	memmove(kernel.calls_ns, kernel.calls_ns + 1, sizeof(kernel.calls_ns) - sizeof(uint64_t));
	kernel.now_ns += took_ns ? took_ns : CALL_NS;
	kernel.reads++;
	if (kernel.interrupts) {
		kernel.interrupts--;
		errno = EINTR;
		return -1;
	}
	if (leader->ended)
		return 0;
	for (struct event *e = leader; e < kernel.events + kernel.count; e++) {
		if (!e->open || &kernel.events[e->leader] != leader)
			continue;
		e->count += e->added;
		assert_true((3 + values) * sizeof(*words) < bytes);
		words[3 + values++] = e->count + e->torn;
		e->torn = 0;
	}
	words[0] = values + leader->extra_member;
	words[1] = leader->enabled_ns;
	words[2] = leader->running_ns;
	return (ssize_t)((3 + values) * sizeof(*words));
}

int __wrap_clock_gettime(clockid_t id, struct timespec *now)
{
	(void)id;
	*now = (struct timespec){.tv_sec = (time_t)(kernel.now_ns / SECOND),
				 .tv_nsec = (long)(kernel.now_ns % SECOND)};
	return 0;
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	(void)left;
	kernel.now_ns += (uint64_t)time->tv_nsec;
	for (int i = 0; i < kernel.count; i++)
		kernel.events[i].count += kernel.events[i].each_sleep;
	return 0;
}

bool __wrap_unc_root_is_live(const struct unc_root *root)
{
	(void)root;
	return true;
}

/* The open event of the counter `i`. */
static struct event *event_of(size_t i)
{
	for (int k = 0; k < kernel.count; k++)
		if (kernel.events[k].open && kernel.events[k].config == i + 1)
			return &kernel.events[k];
	fail_msg("counter %zu is not open", i);
	return NULL;
}

/* Time passes, of which groups are on the hardware for a part. */
static void pass(uint64_t ns, uint64_t running_ns)
{
	kernel.now_ns += ns;
	for (int i = 0; i < kernel.count; i++) {
		struct event *e = &kernel.events[i];

		if (e->on && !e->dead) {
			e->enabled_ns += ns;
			e->running_ns += running_ns;
		}
	}
}

/* ---- the machine: four CPUs, two on each of two sockets, the PMU counted from 0 and 2 --------- */

struct machine {
	struct tree tree;
	struct unc_root *root;
	struct unc_topology topology;
	struct uncore_pmu pmu;
	struct uncore_counter plan[MOST];
	struct uncore_reading readings[MOST];
	uint64_t now_ns;
	size_t count;
	struct unc_source *source;
	struct unc_names notes;
	struct unc_error e;
};

static int set_up(void **state)
{
	struct machine *m = calloc(1, sizeof(*m));

	if (!m)
		return -1;
	*state = m;
	memset(&kernel, 0, sizeof(kernel));
	kernel.now_ns = 100 * SECOND;
	tree_make(&m->tree);
	machine_cpus(&m->tree, (const int[]){0, 0, 1, 1}, 4);
	tree_put(&m->tree, "sys/devices/system/cpu/possible", "0-3\n");
	m->pmu = (struct uncore_pmu){.name = (char *)"box_0", .has_mask = true, .type = 17};
	tree_pmu(&m->tree, "box_0", "type", "17\n");
	tree_pmu(&m->tree, "box_0", "cpumask", "0,2\n");
	return unc_cpulist_parse("0,2", &m->pmu.cpus) ||
	       unc_root_open(&m->root, m->tree.dir, &m->e) ||
	       unc_topology_read(&m->topology, m->root, &m->e);
}

static int tear_down(void **state)
{
	struct machine *m = *state;

	if (m->source)
		m->source->ops->close(m->source);
	for (int i = 0; i < kernel.count; i++)
		assert_false(kernel.events[i].open);
	for (size_t i = 0; i < m->count; i++)
		free((void *)m->plan[i].why);
	unc_names_finish(&m->notes);
	unc_cpulist_finish(&m->pmu.cpus);
	unc_topology_finish(&m->topology);
	unc_root_free(m->root);
	tree_remove(&m->tree);
	free(m);
	return 0;
}

/* A counter, with the configuration n + 1. Those of a CPU are one set, and one group. */
static struct uncore_counter *add(struct machine *m, int cpu)
{
	struct uncore_counter *c = &m->plan[m->count];

	*c = (struct uncore_counter){.pmu = &m->pmu,
				     .event = "event",
				     .config = {++m->count},
				     .cpu = cpu,
				     .group = (size_t)cpu};
	return c;
}

static void start(struct machine *m)
{
	assert_int_equal(unc_source_new(&m->source, (struct unc_source){.ops = &unc_source_kernel,
									.root = m->root,
									.topology = &m->topology}),
			 0);
	assert_int_equal(m->source->ops->open(m->source, m->plan, m->count, &m->notes, &m->e), 0);
	for (int i = 0; i < kernel.count; i++)
		assert_int_equal(kernel.events[i].open && kernel.events[i].on,
				 kernel.events[i].open && kernel.events[i].leader != i);
	assert_int_equal(m->source->ops->enable(m->source, &m->e), 0);
}

static void take(struct machine *m)
{
	kernel.reads = 0;
	assert_int_equal(m->source->ops->read(m->source, m->readings, &m->now_ns, &m->e), 0);
}

static void assert_reading(const struct machine *m, size_t i, uint64_t raw, uint64_t enabled_ns,
			   uint64_t running_ns)
{
	const struct uncore_reading *r = &m->readings[i];

	assert_false(r->lost);
	assert_int_equal(r->raw, raw);
	assert_int_equal(r->enabled_ns, enabled_ns);
	assert_int_equal(r->running_ns, running_ns);
}

/* ---- readings --------------------------------------------------------------------------------- */

/* Two groups, the second one with a counter that is refused between two others. */
static void counts_and_times(void **state)
{
	struct machine *m = *state;

	add(m, 0);
	add(m, 0);
	add(m, 2);
	kernel.refused = add(m, 2)->config[0];
	add(m, 2);
	start(m);
	assert_int_equal(m->plan[3].error, -EINVAL);
	assert_true(event_of(1)->cpu == 0 && event_of(2)->cpu == 2);
	assert_int_equal(event_of(4)->type, 17);
	pass(4 * SECOND, 3 * SECOND);
	for (size_t i = 0; i < 5; i += i == 2 ? 2 : 1)
		event_of(i)->count = 100 + i;
	kernel.calls_ns[1] = 3000;
	take(m);
	assert_reading(m, 0, 100, 4 * SECOND, 3 * SECOND);
	assert_reading(m, 1, 101, 4 * SECOND, 3 * SECOND);
	assert_reading(m, 2, 102, 4 * SECOND, 3 * SECOND);
	assert_true(m->readings[3].lost);
	assert_reading(m, 4, 104, 4 * SECOND, 3 * SECOND);
	/* The first call is from 104 s to 1 us later, the second one takes 3 us more. */
	assert_int_equal(m->readings[1].at_ns, 104 * SECOND + 500);
	assert_int_equal(m->readings[4].at_ns, 104 * SECOND + 2500);
	assert_int_equal(m->now_ns, 104 * SECOND + 1500);
	assert_int_equal(m->readings[1].took_ns, 1000);
	assert_int_equal(m->readings[1].uncertain_ns, 1000);
	assert_int_equal(m->readings[4].took_ns, 3000);
	assert_int_equal(m->readings[4].uncertain_ns, 3000);
	/* Stopped counters keep their readings. */
	assert_int_equal(m->source->ops->disable(m->source, &m->e), 0);
	pass(SECOND, SECOND);
	take(m);
	assert_reading(m, 0, 100, 4 * SECOND, 3 * SECOND);
}

/* A call that takes more than twice the shortest one and 100 us is repeated, twice at most. */
static void slow_calls_are_repeated(void **state)
{
	static const struct {
		uint64_t calls_ns[4];
		size_t reads;
		uint64_t took_ns;
	} cases[] = {
		{{1000}, 1, 1000},
		{{102000}, 1, 102000},
		{{102001, 1500}, 2, 1500},
		{{150000, 140000, 2000}, 3, 2000},
		{{150000, 140000, 130000, 1000}, 3, 130000},
		{{500}, 1, 500},
		{{101001, 600}, 2, 600},
	};
	struct machine *m = *state;

	add(m, 0);
	start(m);
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint64_t begin_ns;

		pass(SECOND, SECOND);
		memset(kernel.calls_ns, 0, sizeof(kernel.calls_ns));
		memcpy(kernel.calls_ns, cases[i].calls_ns, sizeof(cases[i].calls_ns));
		begin_ns = kernel.now_ns;
		take(m);
		assert_int_equal(kernel.reads, cases[i].reads);
		assert_int_equal(m->readings[0].took_ns, cases[i].took_ns);
		for (size_t k = 0; k + 1 < cases[i].reads; k++)
			begin_ns += cases[i].calls_ns[k];
		assert_int_equal(m->readings[0].at_ns, begin_ns + cases[i].took_ns / 2);
		assert_int_equal(m->now_ns, m->readings[0].at_ns);
	}
}

static void signals_do_not_lose_readings(void **state)
{
	struct machine *m = *state;

	add(m, 0);
	start(m);
	pass(SECOND, SECOND);
	kernel.events[0].count = 7;
	kernel.interrupts = 3;
	take(m);
	assert_int_equal(kernel.reads, 4);
	assert_reading(m, 0, 7, SECOND, SECOND);
	assert_int_equal(m->readings[0].took_ns, 4 * CALL_NS);
}

/* The driver reads the upper half, the lower one carries, and it reads that: 2^32 too much, once. */
static void a_torn_count_is_read_again(void **state)
{
	struct machine *m = *state;

	add(m, 0)->register_halves = true;
	add(m, 0)->register_halves = true;
	start(m);
	for (uint64_t i = 1; i <= 3; i++) {
		pass(SECOND, SECOND);
		kernel.events[0].count = kernel.events[1].count = HALF - 2 + i;
		kernel.events[1].torn = HALF;
		take(m);
		assert_in_range(kernel.reads, 2, 6);
		assert_reading(m, 0, HALF - 2 + i, i * SECOND, i * SECOND);
		assert_reading(m, 1, HALF - 2 + i, i * SECOND, i * SECOND);
	}
	/* Without one there is nothing to repeat. */
	pass(SECOND, SECOND);
	take(m);
	assert_int_equal(kernel.reads, 1);
	/* It is no more than so many: what has moved so far has. */
	pass(SECOND, SECOND);
	kernel.events[0].count += 2 * HALF;
	take(m);
	assert_in_range(kernel.reads, 2, 6);
	assert_reading(m, 0, 3 * HALF + 1, 5 * SECOND, 5 * SECOND);
}

/* Such a driver has added 5, 10, 18 and 26, when its register has 5 and then 8. */
static void a_driver_that_adds_is_read_twice(void **state)
{
	struct machine *m = *state;

	m->pmu.adds_at_reads = true;
	add(m, 0);
	add(m, 0);
	start(m);
	pass(SECOND, SECOND);
	kernel.events[0].added = 5;
	take(m);
	assert_int_equal(kernel.reads, 2);
	assert_reading(m, 0, 5, SECOND, SECOND);
	pass(SECOND, SECOND);
	kernel.events[0].added = 8;
	kernel.events[1].added = 1;
	take(m);
	assert_reading(m, 0, 8, 2 * SECOND, 2 * SECOND);
	assert_reading(m, 1, 1, 2 * SECOND, 2 * SECOND);
}

/* ---- groups that end -------------------------------------------------------------------------- */

/* A CPU goes offline twice, and the PMU is registered anew: 100, 40 and 5 are counted in 1, 2 and 4 s, on the hardware
 * for 0.5, 1.5 and 3 s. */
static void counts_go_on_in_a_group_opened_again(void **state)
{
	struct machine *m = *state;

	add(m, 0);
	add(m, 0);
	add(m, 2);
	start(m);
	pass(SECOND, SECOND / 2);
	kernel.events[0].count = 100;
	kernel.events[1].count = 200;
	take(m);
	kernel.events[0].dead = true;
	tree_pmu(&m->tree, "box_0", "cpumask", "1-2\n");
	tree_pmu(&m->tree, "box_0", "type", "26\n");
	pass(99 * MS, 99 * MS); /* not for so short a time */
	take(m);
	assert_int_equal(kernel.count, 3);
	pass(2 * MS, 2 * MS);
	take(m);
	assert_int_equal(kernel.count, 5);
	assert_reading(m, 0, 100, SECOND, SECOND / 2);
	assert_reading(m, 1, 200, SECOND, SECOND / 2);
	assert_int_equal(m->readings[0].at_ns, m->now_ns);
	assert_true(!kernel.events[0].open && !kernel.events[1].open && kernel.events[2].open);
	for (int i = 3; i < 5; i++)
		assert_true(kernel.events[i].cpu == 1 && kernel.events[i].type == 26 &&
			    kernel.events[i].leader == 3);
	assert_true(kernel.events[3].on);
	pass(2 * SECOND, 3 * SECOND / 2);
	kernel.events[3].count = 40;
	kernel.events[4].count = 4;
	take(m);
	assert_reading(m, 0, 140, 3 * SECOND, 2 * SECOND);
	assert_reading(m, 1, 204, 3 * SECOND, 2 * SECOND);
	kernel.events[3].ended = true;
	pass(200 * MS, 200 * MS);
	take(m);
	assert_int_equal(kernel.count, 7);
	assert_reading(m, 0, 140, 3 * SECOND, 2 * SECOND);
	pass(4 * SECOND, 3 * SECOND);
	kernel.events[5].count = 5;
	take(m);
	assert_reading(m, 0, 145, 7 * SECOND, 5 * SECOND);
	assert_reading(m, 1, 204, 7 * SECOND, 5 * SECOND);
}

/* While no CPU of the socket is online nothing is opened; attempts are 100 ms apart. Stopped counters are not given up. */
static void what_is_not_opened_again(void **state)
{
	struct machine *m = *state;

	add(m, 0);
	start(m);
	pass(SECOND, SECOND);
	take(m);
	tree_pmu(&m->tree, "box_0", "cpumask", "2\n");
	kernel.events[0].extra_member = 1; /* is no reading of this group */
	pass(SECOND, SECOND);
	take(m);
	assert_reading(m, 0, 0, SECOND, SECOND);
	assert_int_equal(kernel.count, 1);
	tree_pmu(&m->tree, "box_0", "cpumask", "0,2\n");
	pass(50 * MS, 50 * MS);
	take(m);
	assert_int_equal(kernel.count, 1);
	assert_int_equal(m->source->ops->disable(m->source, &m->e), 0);
	pass(SECOND, SECOND);
	take(m);
	assert_int_equal(kernel.count, 1);
	assert_int_equal(m->source->ops->enable(m->source, &m->e), 0);
	take(m);
	assert_int_equal(kernel.count, 2);
}

/* Another event may have its counter for the time that it was asked for: then it has no reading. */
static void a_pinned_group_is_lost(void **state)
{
	struct machine *m = *state;

	add(m, 0)->modifiers = UNC_MOD_PINNED;
	add(m, 2);
	start(m);
	pass(SECOND, SECOND);
	take(m);
	assert_reading(m, 0, 0, SECOND, SECOND);
	kernel.events[0].ended = true;
	pass(SECOND, SECOND);
	take(m);
	assert_true(m->readings[0].lost);
	assert_reading(m, 1, 0, 2 * SECOND, 2 * SECOND);
	assert_int_equal(kernel.count, 2);
}

/* A group that has never been read has no reading to stand on. */
static void what_was_never_read_is_lost(void **state)
{
	struct machine *m = *state;

	add(m, 0);
	start(m);
	tree_pmu(&m->tree, "box_0", "cpumask", "2\n");
	kernel.events[0].ended = true;
	pass(SECOND, SECOND);
	take(m);
	assert_true(m->readings[0].lost);
}

/* ---- starting --------------------------------------------------------------------------------- */

static void one_group_that_starts_is_enough(void **state)
{
	struct machine *m = *state;

	add(m, 0);
	add(m, 2);
	start(m);
	kernel.events[0].ended = true;
	assert_int_equal(m->source->ops->enable(m->source, &m->e), 0);
	kernel.events[1].ended = true;
	assert_int_equal(m->source->ops->enable(m->source, &m->e), -ENODEV);
	assert_contains(m->e.text, "box_0/event/ on CPU 0");
	assert_int_equal(m->source->ops->disable(m->source, &m->e), -ENODEV);
}

static void nothing_is_planned(void **state)
{
	struct machine *m = *state;

	start(m);
	take(m);
	assert_int_equal(kernel.reads, 0);
	assert_int_equal(m->now_ns, 100 * SECOND);
	assert_int_equal(m->source->ops->disable(m->source, &m->e), 0);
}

/* The mark stays with what counts, at once or later, and goes from what is idle or has no descriptor. */
static void marks_of_a_restart(void **state)
{
	struct machine *m = *state;
	bool marks[] = {true, true, true, false, false};

	for (int i = 0; i < 4; i++)
		add(m, 0);
	kernel.refused = 3;
	add(m, 2);
	start(m);
	event_of(0)->count = event_of(1)->count = event_of(3)->count = 50;
	event_of(0)->each_sleep = 1;
	event_of(3)->each_sleep = event_of(4)->each_sleep = 9;
	m->source->ops->restart(m->source, marks);
	assert_true(marks[0]);
	assert_false(marks[1] || marks[2] || marks[3] || marks[4]);
	assert_true(event_of(0)->on && event_of(4)->on);
	assert_int_equal(kernel.now_ns - 100 * SECOND, 4 * 2 * MS + 5 * CALL_NS);
	/* With none idle one moment is enough. */
	event_of(1)->each_sleep = 1;
	marks[1] = true;
	kernel.now_ns = 0;
	m->source->ops->restart(m->source, marks);
	assert_true(marks[0] && marks[1]);
	assert_int_equal(kernel.now_ns, 2 * MS + 2 * CALL_NS);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(counts_and_times),
		T(slow_calls_are_repeated),
		T(signals_do_not_lose_readings),
		T(a_torn_count_is_read_again),
		T(a_driver_that_adds_is_read_twice),
		T(counts_go_on_in_a_group_opened_again),
		T(what_is_not_opened_again),
		T(a_pinned_group_is_lost),
		T(what_was_never_read_is_lost),
		T(one_group_that_starts_is_enough),
		T(nothing_is_planned),
		T(marks_of_a_restart),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
