/* SPDX-License-Identifier: MIT */
/* `uncore verify` of multiplexed counters: planted faults of the extrapolation, and traffic that is even. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli.h"
#include "helpers.h"
#include "planted.h"

#define MIB ((size_t)1 << 20)
#define LARGEST 1073741824.0
#define GROUPS 5 /* of multiplexed counters */
#define TURN 0.004
#define ROUND 0.5

struct planted {
	enum verify_load load;
	double before; /* of each byte, not multiplexed */
	double factor; /* of what is extrapolated */
	double noise;  /* of the rate, from one turn to the next */
	double seen; /* the power of the coverage that it is multiplied with: 1 is not extrapolated */
};

/* What a counter has at the end of the round that has each fifth turn of even traffic, with a rate that varies. */
static double extrapolated(const struct planted *p, double moved, double *coverage)
{
	double begin = GROUPS * TURN * uniform(), counted = 0, running = 0;

	for (int turn = -1; turn * GROUPS * TURN < ROUND; turn++) {
		double at = begin + turn * GROUPS * TURN, rate;
		double from = fmax(at, 0), to = fmin(at + TURN, ROUND);

		if (to <= from)
			continue;
		rate = moved / ROUND * (1 + p->noise * normal());
		counted += rate * (to - from);
		running += to - from;
	}
	*coverage = running / ROUND;
	return counted / *coverage * p->factor;
}

static void add_series(struct verify_run *run, const struct planted *p, bool turns)
{
	struct verify_series *s = verify_add_series(
		run, &(struct verify_series){.load = p->load, .memory = 128.0 * (double)MIB});
	double coverage = 1;

	for (int i = 0; i < 12; i++) {
		double moved = LARGEST * (i % 4 == 3 ? 4 : i % 4) / 4;
		double amount = turns ? extrapolated(p, moved, &coverage) : moved * p->before;

		s->coverage = turns ? 1.0 / GROUPS : 0;
		amount *= turns ? pow(s->coverage, p->seen) : 1;
		*verify_add_round(s, moved) =
			(struct verify_reading){.amount = amount, .seconds = ROUND};
	}
}

static void make_run(struct verify_run *run, const struct planted *p)
{
	const char *metric =
		p->load == VERIFY_READ ? "memory.read.bandwidth" : "memory.write.bandwidth";

	*run = (struct verify_run){.version = "0.1.0", .date = "2026-12-01", .cache = 32 * MIB};
	add_cell(run, metric, "intel-imc", 0, -1);
	add_series(run, p, false);
	run->first_cell = run->cell_count;
	add_cell(run, metric, "intel-imc", 0, -1);
	add_series(run, p, true);
}

/* Of the series whose counters are multiplexed, also after a report. */
static void expect(const struct planted *p, enum verify_verdict verdict, const char *fault,
		   const char *sentence)
{
	struct verify_result *results;
	struct verify_run run, back;

	make_run(&run, p);
	read_back(&back, &run);
	for (int i = 0; i < 2; i++) {
		size_t count = verify_judge(i ? &back : &run, &results);
		const struct verify_result *r = &results[count - 1];

		assert_int_equal(count, 2);
		assert_true(fabs(r->series->coverage - 0.2) < 1e-9);
		expect_verdict(r, verdict, fault, sentence);
		free(results);
	}
	verify_run_free(&run);
	verify_run_free(&back);
}

static void fifty_clean_machines_are_proved(void **s)
{
	(void)s;
	for (int i = 0; i < 50; i++)
		expect(&(struct planted){i & 1 ? VERIFY_READ : VERIFY_WRITE, 1 + (i & 1) * 0.03,
					 1 + (i & 1) * 0.03, 0.02, 0},
		       VERIFY_PROVED, NULL, "multiplexed counts (coverage 20 %) agree within ");
}

static void faults_of_the_extrapolation_are_named(void **s)
{
	(void)s;
	for (int noise = 0; noise < 2; noise++) {
		const double n = 0.02 * noise;

		expect(&(struct planted){VERIFY_READ, 1, 1, n, 1}, VERIFY_OFF, "not extrapolated",
		       "20 % of it: multiplexed counts (coverage 20 %) are not extrapolated");
		expect(&(struct planted){VERIFY_WRITE, 1, 1, n, -1}, VERIFY_OFF,
		       "extrapolated twice", "extrapolated twice");
		expect(&(struct planted){VERIFY_READ, 1, 0.9, n, 0}, VERIFY_OFF, "multiplexed",
		       " of the counts without multiplexing");
		expect(&(struct planted){VERIFY_READ, 1, 1.06, n, 0}, VERIFY_OFF, "multiplexed",
		       " of the counts without multiplexing");
	}
	expect(&(struct planted){VERIFY_WRITE, 1, 0.975, 0, 0}, VERIFY_OFF, "multiplexed",
	       "are 0.9750 of the counts without multiplexing");
	/* Both are off, and equally. */
	expect(&(struct planted){VERIFY_READ, 0.5, 0.5, 0, 0}, VERIFY_PROVED, NULL,
	       "agree within 0.1 %");
}

static void traffic_that_changes_is_not_judged(void **s)
{
	(void)s;
	expect(&(struct planted){VERIFY_READ, 1, 1, 0.8, 0}, VERIFY_UNKNOWN, "busy",
	       "multiplexed counts vary by");
}

static void counters_that_had_room_are_not_judged(void **s)
{
	struct verify_result *results;
	struct verify_run run;

	(void)s;
	make_run(&run, &(struct planted){VERIFY_READ, 1, 1, 0, 0});
	run.series[1].coverage = 1;
	assert_int_equal(verify_judge(&run, &results), 1);
	assert_true(results[0].series->coverage <= 0);
	free(results);
	verify_run_free(&run);
}

/* What was nothing or not counted alone has its verdict there. */
static void without_the_same_counts_alone_there_is_no_verdict(void **s)
{
	struct verify_result *results;
	struct verify_run run;

	(void)s;
	make_run(&run, &(struct planted){VERIFY_READ, 1, 1, 0, 0});
	run.series[0].node = 1;
	assert_int_equal(verify_judge(&run, &results), 1);
	free(results);
	verify_run_free(&run);
	make_run(&run, &(struct planted){VERIFY_READ, 0, 1, 0, 0});
	assert_int_equal(verify_judge(&run, &results), 1);
	assert_true(results[0].verdict == VERIFY_OFF);
	free(results);
	verify_run_free(&run);
}

/* ---- even traffic ---- */

static int move(struct verify_stream *stream, enum verify_load load, double share, uint64_t ns,
		int stop_fd, size_t *moved)
{
	struct verify_steady t = {
		.share = share, .until_ns = cli_now_ns() + ns, .turn_ns = 4 * NS_PER_MS};
	int err = verify_steady_move(stream, load, &t, stop_fd);

	*moved = t.moved;
	return err;
}

static void traffic_is_even_and_exactly_counted(void **s)
{
	struct verify_stream stream;
	size_t first, both[2] = {0, 0}, none;

	(void)s;
	assert_int_equal(verify_stream_open(&stream, -1, 64 * MIB, -1), 0);
	memset(stream.base, 1, stream.size);
	assert_int_equal(move(&stream, VERIFY_WRITE, 0.02, 5 * NS_PER_MS, -1, &first), 0);
	assert_true(first > 0 && first < stream.size);
	assert_int_equal(first, stream.at);
	for (size_t i = 0; i < stream.size; i++)
		assert_int_equal(stream.base[i] != 1, i < first);
	/* Four times as much; again where another program had the CPU. */
	for (unsigned tries = 0; tries < 20 && both[1] <= 2 * both[0]; tries++)
		for (unsigned i = 0; i < 2; i++)
			assert_int_equal(move(&stream, VERIFY_READ, i ? 0.5 : 0.125, 50 * NS_PER_MS,
					      -1, &both[i]),
					 0);
	assert_true(both[1] > 2 * both[0]);
	assert_int_equal(move(&stream, VERIFY_READ, 0, NS_PER_MS, -1, &none), 0);
	assert_int_equal(none, 0);
	verify_stream_close(&stream);
}

/* The whole program stands still, as if others had the CPU. */
static void time_that_others_had_is_told(void **s)
{
	struct verify_steady t = {
		.share = 0.5, .until_ns = cli_now_ns() + 60 * NS_PER_MS, .turn_ns = 4 * NS_PER_MS};
	struct verify_stream stream;
	pid_t child, parent = getpid();

	(void)s;
	assert_int_equal(verify_stream_open(&stream, -1, 2 * MIB, -1), 0);
	child = fork();
	if (child == 0) {
		usleep(10000);
		kill(parent, SIGSTOP);
		usleep(20000);
		kill(parent, SIGCONT);
		_exit(0);
	}
	assert_int_equal(verify_steady_move(&stream, VERIFY_READ, &t, -1), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_true(t.away_ns > 10 * NS_PER_MS);
	verify_stream_close(&stream);
}

static void a_signal_stops_it(void **s)
{
	const struct itimerspec soon = {.it_value = {0, 20000000}};
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	struct verify_stream stream;
	size_t moved;

	(void)s;
	assert_int_equal(verify_stream_open(&stream, -1, 2 * MIB, -1), 0);
	assert_int_equal(timerfd_settime(fd, 0, &soon, NULL), 0);
	assert_int_equal(move(&stream, VERIFY_READ, 0, 600 * NS_PER_S, fd, &moved), -EINTR);
	assert_int_equal(move(&stream, VERIFY_READ, 0.5, 600 * NS_PER_S, fd, &moved), -EINTR);
	close(fd);
	verify_stream_close(&stream);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fifty_clean_machines_are_proved),
		cmocka_unit_test(faults_of_the_extrapolation_are_named),
		cmocka_unit_test(traffic_that_changes_is_not_judged),
		cmocka_unit_test(counters_that_had_room_are_not_judged),
		cmocka_unit_test(without_the_same_counts_alone_there_is_no_verdict),
		cmocka_unit_test(traffic_is_even_and_exactly_counted),
		cmocka_unit_test(time_that_others_had_is_told),
		cmocka_unit_test(a_signal_stops_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
