/* SPDX-License-Identifier: MIT */
/* `uncore verify`: the pointer chase, and latencies judged by it. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cli.h"
#include "helpers.h"
#include "planted.h"

#define SOCKETS 2
#define LOADS 1048576.0 /* the largest amount */
#define ROUND 0.5       /* seconds */
#define MIB ((size_t)1 << 20)
#define NEAR_NS 97.0 /* a load, and what of it is behind the caches */
#define NEAR_MISS_NS 75.0
#define FAR_NS 142.0
#define FAR_MISS_NS 119.0

/* ---- a machine whose counters are planted ---- */

struct planted {
	const char *family;
	double requests, time; /* factors of what is right */
	bool sockets_swapped, kinds_swapped;
	double astray;        /* of node 0, at the other socket, too */
	double others, noise; /* requests per second, and of these from round to round */
};

static const struct planted right = {.family = "intel-cha", .requests = 1, .time = 1};

static bool ends(const char *name, const char *with)
{
	size_t len = strlen(name), end = strlen(with);

	return len >= end && strcmp(name + len - end, with) == 0;
}

/* How many of the series' loads a socket's cell counts, by words and not by the table that is tested: misses are seen where the CPU
 * is, local and remote ones by where their memory is; the queue of a controller where the memory is. */
static double share(const struct planted *p, const struct verify_series *s,
		    const struct verify_cell *c)
{
	bool far = s->cpu_socket != s->socket, remote = strstr(c->metric, "remote");
	bool queue = strstr(c->metric, "queue"), miss = strstr(c->metric, "miss");
	int socket = p->sockets_swapped ? 1 - c->socket : c->socket;
	bool here = socket == (queue ? s->socket : s->cpu_socket);

	if (!miss && !queue && far != (remote != p->kinds_swapped))
		return 0;
	return here ? 1 : s->node == 0 && !far ? p->astray : 0;
}

static void add_round(struct verify_run *run, struct verify_series *s, const struct planted *p,
		      double loads)
{
	double seconds = ROUND + 0.001 * uniform();
	bool far = s->cpu_socket != s->socket;
	struct verify_reading *r = verify_add_round(s, loads) - s->first_cell;

	for (size_t i = s->first_cell; i < run->cell_count; i++) {
		const struct verify_cell *c = &run->cells[i];
		double others = seconds * p->others * (1 + p->noise * normal());
		double requests = loads * share(p, s, c);
		double each = far ? FAR_MISS_NS : NEAR_MISS_NS;

		each = strstr(c->metric, "queue") ? 20 : each;
		r[i] = (struct verify_reading){.amount = (requests * each + others * 110) * p->time,
					       .seconds = seconds,
					       .requests = (requests + others) * p->requests};
	}
}

static void add_series(struct verify_run *run, const struct planted *p)
{
	for (int node = 0; node < SOCKETS; node++)
		for (int cpu = 0; cpu < SOCKETS; cpu++) {
			struct verify_series *s = verify_add_series(
				run,
				&(struct verify_series){.load = VERIFY_CHASE,
							.node = node,
							.socket = node,
							.cpu_socket = cpu,
							.memory = 160 * MIB,
							.load_ns = cpu == node ? NEAR_NS : FAR_NS});

			for (int i = 0; i < 12; i++)
				add_round(run, s, p, LOADS * (i % 4 == 3 ? 4 : i % 4) / 4);
		}
}

static void add_cells(struct verify_run *run, const char *family, const char *const *metrics)
{
	for (; *metrics; metrics++)
		for (int socket = 0; socket < SOCKETS; socket++)
			add_cell(run, *metrics, family, socket, -1);
}

/* Local, remote and all misses; near and far. */
static void make_run(struct verify_run *run, const struct planted *p)
{
	static const char *const metrics[] = {"cache.miss.latency", "memory.local.read.latency",
					      "memory.remote.read.latency", NULL};

	*run = (struct verify_run){.version = "0.1.0", .date = "2026-12-01", .cache = 32 * MIB};
	add_cells(run, p->family, metrics);
	add_series(run, p);
}

#define RESULTS ((size_t)2 * SOCKETS * 2) /* of each series: all, and local or remote ones */

static void latencies_are_proved(void **s)
{
	(void)s;
	for (int i = 0; i < 50; i++) {
		struct planted p = right;
		struct verify_result *results;
		struct verify_run run;

		/* Up to eight times as many as the loads. */
		p.others = i * 16e6 / 50;
		p.noise = 0.002;
		/* Prefetchers fetch the neighbours of some lines. */
		p.requests = p.time = 1 + i % 3 * 0.5;
		make_run(&run, &p);
		assert_int_equal(verify_judge(&run, &results), RESULTS);
		for (size_t k = 0; k < RESULTS; k++) {
			const struct verify_result *r = &results[k];
			bool far = verify_is_far(r->series);

			if (r->verdict != VERIFY_PROVED)
				fail_msg("%s: %s", r->cell->metric, r->reason);
			assert_string_equal(r->reason, "");
			assert_true(fabs(r->latency / (far ? FAR_MISS_NS : NEAR_MISS_NS) - 1) <
				    0.1);
			assert_true(fabs(r->requests / p.requests - 1) < 0.1);
			assert_true(ends(r->cell->metric,
					 far ? "remote.read.latency" : "local.read.latency") ||
				    ends(r->cell->metric, "miss.latency"));
			assert_int_equal(r->cell->socket, r->series->cpu_socket);
		}
		assert_int_equal(verify_overall(results, RESULTS), VERIFY_PROVED);
		free(results);
		verify_run_free(&run);
	}
}

static const struct fault {
	struct planted p;
	const char *name, *sentence;
	enum verify_verdict verdict;
	size_t count; /* of the results */
} faults[] = {
	{{.family = "intel-cha", .requests = 1, .time = 2},
	 "longer than the load",
	 "a request takes 150.0 ns, and a load took 97.0 ns in all: half of it is possible, so that "
	 "its clock may be twice as fast",
	 VERIFY_OFF,
	 8},
	{{.family = "intel-cha", .requests = 1, .time = 3.5},
	 "longer than the load",
	 "the formula divides by another clock",
	 VERIFY_OFF,
	 8},
	{{.family = "intel-cha", .requests = 1, .time = 0.5},
	 "shorter than memory",
	 "a request takes 37.5 ns, and a load took 97.0 ns in all, at least 48.5 ns of them there",
	 VERIFY_OFF,
	 8},
	/* Requests twice, their time once. */
	{{.family = "intel-cha", .requests = 2, .time = 1},
	 "shorter than memory",
	 "requests are counted twice",
	 VERIFY_OFF,
	 8},
	{{.family = "intel-cha", .requests = 0.5, .time = 1},
	 "half",
	 "half of the loads are counted: every second request",
	 VERIFY_OFF,
	 8},
	{{.family = "intel-cha", .requests = 0.5, .time = 0.5},
	 "half",
	 "or one of two PMUs is missing",
	 VERIFY_OFF,
	 8},
	{{.family = "intel-cha", .requests = 3, .time = 3},
	 "requests",
	 "3.00 requests are counted for each load",
	 VERIFY_OFF,
	 8},
	{{.family = "intel-cha", .requests = 0.8, .time = 0.8},
	 NULL,
	 "80.0 % of the loads are counted: the others hit caches",
	 VERIFY_UNKNOWN,
	 8},
	{{.family = "intel-cha", .requests = 0, .time = 0},
	 "nothing",
	 "none of the loads is counted",
	 VERIFY_OFF,
	 8},
	{{.family = "intel-cha", .requests = 1, .time = 1, .sockets_swapped = true},
	 "sockets swapped",
	 "socket 1's counters count the loads of CPU 0, which is of socket 0",
	 VERIFY_OFF,
	 8},
	{{.family = "intel-cha", .requests = 1, .time = 1, .kinds_swapped = true},
	 "kinds swapped",
	 "local loads are counted as loads from other sockets",
	 VERIFY_OFF,
	 4},
	{{.family = "intel-cha",
	  .requests = 1,
	  .time = 1,
	  .sockets_swapped = true,
	  .kinds_swapped = true},
	 "sockets and kinds swapped",
	 "are counted as loads from other sockets of socket 1",
	 VERIFY_OFF,
	 4},
	{{.family = "intel-cha", .requests = 1, .time = 1, .astray = 0.1},
	 "astray",
	 "10.0 % of the loads of node 0 are counted as loads of socket 1",
	 VERIFY_OFF,
	 2},
	/* The same where only some requests are counted. */
	{{.family = "amd-l3", .requests = 1e-3, .time = 1e-3}, NULL, "", VERIFY_PROVED, 8},
	{{.family = "amd-l3", .requests = 1e-3, .time = 3.5e-3},
	 "longer than the load",
	 "a request takes 262.5 ns",
	 VERIFY_OFF,
	 8},
	{{.family = "amd-l3", .requests = 1e-3, .time = 1e-3, .sockets_swapped = true},
	 "sockets swapped",
	 "socket 1's counters count the loads",
	 VERIFY_OFF,
	 8},
	{{.family = "amd-l3", .requests = 1e-3, .time = 1e-3, .astray = 0.1},
	 "astray",
	 "10.0 % of the loads of node 0",
	 VERIFY_OFF,
	 2},
	/* Nothing is known of where it counts. */
	{{.family = "planted", .requests = 1, .time = 1},
	 NULL,
	 "an error by a factor of two would not be detected",
	 VERIFY_UNKNOWN,
	 8},
	{{.family = "planted", .requests = 1, .time = 0.05},
	 "shorter than memory",
	 "at least 12.0 ns of them there",
	 VERIFY_OFF,
	 8},
};

/* Verdicts that the fault does not ask for would be another fault; of those that are swapped, the sum of both is right. */
static void planted_faults_are_named(void **s)
{
	(void)s;
	for (size_t f = 0; f < sizeof(faults) / sizeof(*faults); f++) {
		const struct fault *wanted = &faults[f];
		struct verify_result *results;
		struct verify_run run;
		size_t count = 0;
		bool said = false;

		make_run(&run, &wanted->p);
		assert_int_equal(verify_judge(&run, &results), RESULTS);
		for (size_t i = 0; i < RESULTS; i++) {
			const struct verify_result *r = &results[i];
			bool named = wanted->name ? r->fault && !strcmp(r->fault, wanted->name)
						  : !r->fault;

			count += named && r->verdict == wanted->verdict;
			said = said || strstr(r->reason, wanted->sentence);
			if (wanted->p.kinds_swapped == 0 && wanted->p.astray == 0 && !named)
				fail_msg("%zu: %s: %s", f, r->fault, r->reason);
		}
		if (count != wanted->count || !said)
			fail_msg("%zu: %zu times %s: %s", f, count, results[0].fault,
				 results[0].reason);
		assert_int_equal(verify_overall(results, RESULTS), wanted->verdict);
		free(results);
		verify_run_free(&run);
	}
}

/* 32 bytes each, and some of the way is before them. */
static void two_requests_of_a_load_may_be_right(void **s)
{
	static const char *const metrics[] = {"memory.read.latency", NULL};
	struct planted p = {.family = "nvidia-t410-cmem", .requests = 2, .time = 2};
	struct verify_result *results;
	struct verify_run run = {.cache = 32 * MIB};
	size_t all;

	(void)s;
	add_cells(&run, p.family, metrics);
	add_series(&run, &p);
	all = verify_judge(&run, &results);
	assert_int_equal(all, 2); /* from afar it is not expected */
	for (size_t i = 0; i < all; i++) {
		assert_int_equal(results[i].verdict, VERIFY_UNKNOWN);
		assert_non_null(strstr(results[i].reason, "would not be detected"));
		assert_true(fabs(results[i].latency - NEAR_MISS_NS) < 0.01);
		assert_true(fabs(results[i].requests - 2) < 1e-6);
	}
	free(results);
	verify_run_free(&run);
	p.requests = p.time = 1;
	add_cells(&run, p.family, metrics);
	run.cache = 32 * MIB;
	add_series(&run, &p);
	all = verify_judge(&run, &results);
	assert_int_equal(all, 2);
	assert_string_equal(results[0].fault, "half");
	free(results);
	verify_run_free(&run);
}

static void a_queue_is_possible_or_off(void **s)
{
	static const struct {
		double requests, time;
		const char *fault, *sentence;
	} queues[] = {
		{1, 1, NULL, "possible, but not proved: it is unknown how much of a load's time"},
		{1, 2, NULL, "possible, but"},
		{1, 10, "longer than the load", "a request takes 200.0 ns"},
		{0.5, 0.5, "half", "half of the loads"},
		{0.7, 0.7, NULL, "70.0 % of the loads are counted"},
	};
	static const char *const metrics[] = {"dram.read.queue.latency", NULL};

	(void)s;
	for (size_t q = 0; q < sizeof(queues) / sizeof(*queues); q++) {
		struct planted p = {.family = "intel-imc",
				    .requests = queues[q].requests,
				    .time = queues[q].time};
		struct verify_run run = {.cache = 32 * MIB};
		struct verify_result *results;
		size_t all;

		add_cells(&run, p.family, metrics);
		add_series(&run, &p);
		all = verify_judge(&run, &results);
		assert_int_equal(all, 4);
		for (size_t i = 0; i < all; i++) {
			const struct verify_result *r = &results[i];

			assert_int_equal(r->cell->socket, r->series->socket);
			assert_int_equal(r->verdict, queues[q].fault ? VERIFY_OFF : VERIFY_UNKNOWN);
			if (queues[q].fault)
				assert_string_equal(r->fault, queues[q].fault);
			else
				assert_null(r->fault);
			assert_non_null(strstr(r->reason, queues[q].sentence));
		}
		free(results);
		verify_run_free(&run);
	}
}

static void find_unknown(struct verify_run *run, const char *sentence)
{
	struct verify_result *results;
	size_t all = verify_judge(run, &results);

	assert_int_equal(all, RESULTS);
	for (size_t i = 0; i < all; i++) {
		assert_int_equal(results[i].verdict, VERIFY_UNKNOWN);
		if (!strstr(results[i].reason, sentence))
			fail_msg("%s", results[i].reason);
	}
	free(results);
	verify_run_free(run);
}

static void no_conclusion_has_a_reason(void **s)
{
	struct planted p = right;
	struct verify_run run;

	(void)s;
	make_run(&run, &p);
	run.cache = 41 * MIB;
	find_unknown(&run, "four times as much memory is needed, and 160 MiB were used");
	/* Caches that keep what they have room for answer half of it. */
	p.requests = p.time = 0.5;
	make_run(&run, &p);
	run.cache = 40 * MIB;
	find_unknown(&run, "50.0 % of the loads are counted: the others hit caches");
	p = right;
	make_run(&run, &p);
	for (size_t i = 0; i < run.series_count; i++)
		run.series[i].load_ns = 0;
	find_unknown(&run, "does not say how long a load took");
	make_run(&run, &p);
	for (size_t i = 0; i < run.series_count; i++)
		run.series[i].elsewhere = 1;
	find_unknown(&run, "1 pages of the moved memory were on other nodes");
	make_run(&run, &p);
	for (size_t i = 0; i < run.series_count; i++)
		for (size_t k = 0; k < 7 * run.cell_count; k++)
			run.series[i].readings[k].amount = NAN;
	find_unknown(&run, "all counters ran all the time in only 5 of 12 rounds");
	p.others = 1e8;
	p.noise = 0.1;
	make_run(&run, &p);
	find_unknown(&run, "requests per second here");
}

/* ---- the report ---- */

static void readings_come_back_from_their_text(void **s)
{
	struct verify_result *a, *b;
	struct verify_run run, back;
	struct planted p = right;

	(void)s;
	p.others = 1e6;
	p.noise = 0.02;
	make_run(&run, &p);
	read_back(&back, &run);
	assert_int_equal(verify_judge(&run, &a), RESULTS);
	assert_int_equal(verify_judge(&back, &b), RESULTS);
	for (size_t i = 0; i < RESULTS; i++) {
		assert_int_equal(a[i].verdict, b[i].verdict);
		assert_true(fabs(a[i].latency / b[i].latency - 1) < 1e-5);
		assert_true(fabs(a[i].requests / b[i].requests - 1) < 1e-5);
		assert_true(fabs(b[i].series->load_ns / a[i].series->load_ns - 1) < 1e-5);
	}
	free(a);
	free(b);
	verify_run_free(&run);
	verify_run_free(&back);
}

/* The fields of latencies are at the ends of the lines, and may be missing there. */
static void damaged_fields_are_refused(void **s)
{
#define HEAD "uncore/verify:\n\tcell cache.miss.latency a socket 0 channel -1\n\tseries chase "
#define SERIES HEAD "node 0 socket 0 cpu 0 of 0 memory 1 elsewhere 0"
	static const struct {
		const char *text, *why; /* NULL: read */
	} texts[] = {
		{SERIES "\n\tround 4 300@0.5\n\tend\n", NULL},
		{SERIES " ns 97.125\n\tround 4 300@0.5/4 \n", "line 4: a round has more"},
		{SERIES " ns 97.125\n\tround 4 300@0.5/4\n\tend\n", NULL},
		{SERIES " ns\n", "line 3: not a series"},
		{SERIES " ns -1\n", "line 3: not a series"},
		{SERIES " ns 97 98\n", "line 3: not a series"},
		{SERIES " ns 97\n\tround 4 300@0.5/\n", "line 4: a round needs a reading"},
		{SERIES " ns 97\n\tround 4 300@0.5/nan\n", "line 4: a round needs a reading"},
		{SERIES " ns 97\n\tround 4 300/4@0.5\n", "line 4: a round needs a reading"},
	};

	(void)s;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct verify_run run;
		char why[VERIFY_WHY] = "";
		bool good = verify_parse_run(&run, texts[i].text, why);

		assert_int_equal(good, !texts[i].why);
		if (!good && !strstr(why, texts[i].why))
			fail_msg("%s", why);
		if (good)
			assert_true(run.series[0].readings[0].seconds > 0.4);
		verify_run_free(&run);
	}
}

/* ---- the chase ---- */

/* One line of each two is in the cycle, both kinds of them, and each once. */
static void the_chase_visits_each_line_once(void **s)
{
	struct verify_stream stream;
	struct verify_chase c;
	size_t count, odd = 0, ordered = 0;
	const char *first;
	char *seen;

	(void)s;
	assert_int_equal(verify_stream_open(&stream, -1, 6 * MIB, -1), 0);
	assert_int_equal(verify_chase_open(&c, &stream, -1), 0);
	count = stream.size / 128;
	seen = calloc(count, 1);
	assert_non_null(seen);
	first = c.at;
	for (size_t i = 0; i < count; i++) {
		size_t at = (size_t)(c.at - stream.base);
		const char *before = c.at;

		assert_true(at < stream.size && at % 64 == 0);
		assert_int_equal(seen[at / 128]++, 0);
		odd += at / 64 % 2;
		assert_int_equal(verify_chase_load(&c, 1, -1), 0);
		/* Steps that prefetchers could foresee. */
		ordered += c.at > before && c.at - before < 4096;
		/* The cycle does not close before all have been there. */
		assert_int_equal(c.at == first, i == count - 1);
	}
	assert_true(odd > count * 4 / 10 && odd < count * 6 / 10);
	assert_true(ordered < count / 100);
	free(seen);
	verify_stream_close(&stream);
}

/* The line after so many loads, found by following the addresses in the lines. */
static void the_chase_makes_exactly_the_given_loads(void **s)
{
	static const size_t amounts[] = {0, 1, 255, 4096, 4097, 100003};
	struct verify_stream stream;
	struct verify_chase c;
	double loads = 0;

	(void)s;
	assert_int_equal(verify_stream_open(&stream, -1, 8 * MIB, -1), 0);
	assert_int_equal(verify_chase_open(&c, &stream, -1), 0);
	for (size_t i = 0; i < sizeof(amounts) / sizeof(*amounts); i++) {
		const struct verify_work work = verify_chase_work(&c);
		const char *expected = c.at;

		for (size_t k = 0; k < amounts[i]; k++)
			memcpy(&expected, (const void *)expected, sizeof(expected));
		assert_int_equal(work.run(work.context, amounts[i], -1), 0);
		assert_ptr_equal(c.at, expected);
		loads += (double)amounts[i];
		assert_true(fabs(c.loads - loads) < 0.5);
	}
	/* From 0.1 ns, which no cache does, to 1 ms. */
	assert_true(c.ns / c.loads > 0.1 && c.ns / c.loads < 1e6);
	verify_stream_close(&stream);
}

static void a_signal_stops_the_chase(void **s)
{
	struct verify_stream stream;
	struct verify_chase c;
	int fds[2];

	(void)s;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(verify_stream_open(&stream, -1, 16 * MIB, -1), 0);
	assert_int_equal(verify_chase_open(&c, &stream, fds[0]), 0);
	assert_int_equal(write(fds[1], "x", 1), 1);
	/* It would take hours. */
	assert_int_equal(verify_chase_load(&c, (size_t)1 << 40, fds[0]), -EINTR);
	assert_int_equal(verify_chase_open(&c, &stream, fds[0]), -EINTR);
	verify_stream_close(&stream);
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(latencies_are_proved),
		cmocka_unit_test(planted_faults_are_named),
		cmocka_unit_test(two_requests_of_a_load_may_be_right),
		cmocka_unit_test(a_queue_is_possible_or_off),
		cmocka_unit_test(no_conclusion_has_a_reason),
		cmocka_unit_test(readings_come_back_from_their_text),
		cmocka_unit_test(damaged_fields_are_refused),
		cmocka_unit_test(the_chase_visits_each_line_once),
		cmocka_unit_test(the_chase_makes_exactly_the_given_loads),
		cmocka_unit_test(a_signal_stops_the_chase),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
