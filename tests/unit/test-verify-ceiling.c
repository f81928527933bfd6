/* SPDX-License-Identifier: MIT */
/* `uncore verify` of the peak of memory: planted streams, and CPUs that read at once. */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cli.h"
#include "planted.h"

#define MIB ((size_t)1 << 20)
#define PEAK 204.8e9
#define ROUND 0.1 /* seconds */

/* ---- planted ---- */

struct planted {
	double part;             /* of the peak, in the best round */
	double counted;          /* by the controllers, of what is loaded; 0: there are none */
	double caches, memory;   /* MiB */
	size_t elsewhere;        /* pages */
	unsigned rounds, missed; /* without readings */
	const char *from;
};

static void make_run(struct verify_run *run, const struct planted *p)
{
	struct verify_cell read = {.metric = "memory.read.bandwidth", .family = "intel-imc"};
	struct verify_cell peak = {.channel = -1};
	struct verify_series *s;

	*run = (struct verify_run){.version = "0.1.0",
				   .date = "2026-12-01",
				   .cache = 32.0 * (double)MIB,
				   .caches = p->caches * (double)MIB};
	verify_name_peak(p->from, &peak);
	/* The other socket counts all there is, and a channel a part. */
	for (read.socket = 0; p->counted > 0 && read.socket < 2; read.socket++)
		for (read.channel = -1; read.channel < 2; read.channel++)
			verify_add_cell(run, &read);
	for (peak.socket = 0; peak.socket < 2; peak.socket++)
		verify_add_cell(run, &peak);
	s = verify_add_series(run, &(struct verify_series){.load = VERIFY_READ_ALL,
							   .node = 1,
							   .socket = 1,
							   .cpu_socket = 1,
							   .cpus = 64,
							   .memory = p->memory * (double)MIB,
							   .elsewhere = p->elsewhere});
	for (unsigned i = 0; i < p->rounds; i++) {
		double moved = PEAK * ROUND * p->part * (i == 1 ? 1 : 0.9);
		struct verify_reading *r = verify_add_round(s, moved);

		for (size_t k = 0; i >= p->missed && k < run->cell_count; k++) {
			const struct verify_cell *c = &run->cells[k];
			bool is_peak = strcmp(c->metric, "memory.peak") == 0;

			r[k].seconds = ROUND;
			r[k].amount = is_peak           ? PEAK * ROUND
				      : c->socket == 0  ? 7e9
				      : c->channel >= 0 ? moved / 2
							: moved * p->counted;
		}
	}
}

struct expected {
	struct planted planted;
	enum verify_verdict verdict;
	const char *fault, *sentence;
};

static const struct expected streams[] = {
	{{0.78, 1.002, 64, 256, 0, 5, 0, "SMBIOS"},
	 VERIFY_PROVED,
	 NULL,
	 "consistent: 78 % of the peak of 204.8 GB/s; memory.read counts 100.2 % of it"},
	{{0.78, 0, 64, 256, 0, 5, 0, "udev"},
	 VERIFY_PROVED,
	 NULL,
	 "consistent: 78 % of the peak of 204.8 GB/s"},
	{{1.009, 1, 64, 256, 0, 5, 0, "SMBIOS"}, VERIFY_PROVED, NULL, "consistent: 101 %"},
	{{0.61, 1, 64, 256, 0, 5, 0, "SMBIOS"}, VERIFY_PROVED, NULL, "consistent: 61 %"},
	{{0.59, 1, 64, 256, 0, 5, 0, "SMBIOS"},
	 VERIFY_UNKNOWN,
	 NULL,
	 "the usable CPUs (64) reach only 59 % of the peak"},
	{{1.02, 1, 64, 256, 0, 5, 0, "SMBIOS"},
	 VERIFY_OFF,
	 "peak too low",
	 "the best stream moves 208.9 GB/s, more than the peak of 204.8 GB/s: the peak is too low "
	 "(modules or channels are missing"},
	{{1.6, 0, 64, 256, 0, 5, 0, "the user"},
	 VERIFY_OFF,
	 "peak too low",
	 "(--memory-peak is wrong)"},
	{{1.6, 0, 64, 256, 0, 5, 0, "hsmp, unit inferred"},
	 VERIFY_OFF,
	 "peak too low",
	 "hsmp reports too few channels"},
	/* A quarter may come out of caches: 1.3 may be 0.98. */
	{{1.3, 0, 64, 256, 0, 5, 0, "SMBIOS"},
	 VERIFY_UNKNOWN,
	 NULL,
	 "up to 25 % may have come from caches, and there is no counter of memory"},
	{{1.4, 0, 64, 256, 0, 5, 0, "SMBIOS"}, VERIFY_OFF, "peak too low", "286.7 GB/s"},
	{{1.3, 0.9, 64, 256, 0, 5, 0, "SMBIOS"},
	 VERIFY_UNKNOWN,
	 NULL,
	 "memory.read counts 90 % of the loaded data"},
	{{1.3, 1, 64, 127, 0, 5, 0, "SMBIOS"},
	 VERIFY_UNKNOWN,
	 NULL,
	 "caches of 64 MiB may hold a part of the 127 MiB"},
	/* A report that does not know all levels. */
	{{1.3, 1, 0, 63, 0, 5, 0, "SMBIOS"}, VERIFY_UNKNOWN, NULL, "caches of 32 MiB"},
	{{1.3, 1, 64, 256, 3, 5, 0, "SMBIOS"},
	 VERIFY_UNKNOWN,
	 NULL,
	 "3 pages of the moved memory were on other nodes"},
	{{0.8, 1, 64, 256, 0, 5, 3, "SMBIOS"}, VERIFY_UNKNOWN, NULL, "too few rounds"},
	{{0.8, 1, 64, 256, 0, 2, 0, "SMBIOS"}, VERIFY_UNKNOWN, NULL, "too few rounds"},
};

static void check(const struct expected *e, const struct verify_run *run)
{
	struct verify_result *results;
	size_t count = verify_judge(run, &results);

	/* What controllers count meanwhile is not judged by it, and neither is the other socket. */
	assert_int_equal(count, 1);
	expect_verdict(results, e->verdict, e->fault, e->sentence);
	assert_string_equal(results->cell->metric, "memory.peak");
	assert_int_equal(results->cell->socket, 1);
	if (!strstr(e->sentence, "too few"))
		assert_true(fabs(results->fit.slope - e->planted.part) < 1e-6 &&
			    fabs(results->known - PEAK) < 1 &&
			    fabs(results->value / PEAK - e->planted.part) < 1e-6);
	assert_int_equal(verify_overall(results, count), e->verdict);
	free(results);
}

static void streams_are_judged_by_the_peak(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(streams) / sizeof(*streams); i++) {
		struct verify_run run, copy;

		make_run(&run, &streams[i].planted);
		check(&streams[i], &run);
		read_back(&copy, &run);
		check(&streams[i], &copy);
		assert_int_equal(copy.series[0].cpus, 64);
		assert_true(fabs(copy.caches - run.caches) < 1);
		verify_run_free(&copy);
		verify_run_free(&run);
	}
}

static void names_are_one_word(void **state)
{
	static const char *const names[][2] = {{"SMBIOS", "SMBIOS"},
					       {"udev", "udev"},
					       {"hsmp, unit inferred", "hsmp"},
					       {"the user", "user"}};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct verify_cell c;

		verify_name_peak(names[i][0], &c);
		assert_string_equal(c.family, names[i][1]);
	}
}

static void mistakes_are_refused(void **state)
{
	static const char *const wrong[] = {"cpus 0", "cpus -1", "cpus x", "cpus", "cpus 2 cpus 2"};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct verify_run run;
		char text[400], why[VERIFY_WHY];

		snprintf(
			text, sizeof(text),
			"uncore/verify:\n\tversion 1\n\tcaches 1\n\tcell memory.peak SMBIOS socket 0 "
			"channel -1\n\tseries read-all node 0 socket 0 cpu 0 of 0 memory 1 elsewhere "
			"0 %s\n",
			wrong[i]);
		assert_false(verify_parse_run(&run, text, why));
		assert_string_equal(why, "line 5: not a series");
	}
}

/* ---- CPUs that read at once ---- */

#define READERS_MOST 4

struct machine {
	struct verify_run run;
	struct verify_stream stream;
	struct verify_reader readers[READERS_MOST];
	struct verify_ceiling ceiling;
	struct verify_pace pace;
	size_t rounds; /* read so far */
};

/* The threads beside this one: each may use one CPU, and has the priority of this one. */
static void check_threads(const struct verify_ceiling *c)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	size_t found = 0;
	cpu_set_t all;

	CPU_ZERO(&all);
	while ((entry = readdir(dir))) {
		int id = atoi(entry->d_name);
		cpu_set_t set;

		if (id <= 0 || id == getpid())
			continue;
		found++;
		assert_int_equal(sched_getaffinity(id, sizeof(set), &set), 0);
		assert_int_equal(CPU_COUNT(&set), 1);
		CPU_OR(&all, &all, &set);
		assert_int_equal(getpriority(PRIO_PROCESS, (id_t)id), 7);
	}
	closedir(dir);
	assert_int_equal(found, c ? c->count : 0);
	for (size_t i = 0; c && i < c->count; i++)
		assert_true(CPU_ISSET((size_t)c->readers[i].cpu, &all));
}

static int read_nothing(void *context, struct verify_reading *into)
{
	struct machine *m = context;

	check_threads(&m->ceiling);
	m->rounds++;
	into[0] = (struct verify_reading){.amount = 5, .seconds = 1};
	return 0;
}

static void open_machine(struct machine *m, size_t most, int stop_fd)
{
	struct verify_cell cell = {.metric = "memory.read.bandwidth", .family = "f"};
	cpu_set_t set;

	*m = (struct machine){.pace = {.round_ns = 20 * NS_PER_MS,
				       .repeats = 5,
				       .stop_fd = stop_fd,
				       .context = m,
				       .read = read_nothing}};
	sched_getaffinity(0, sizeof(set), &set);
	m->ceiling = (struct verify_ceiling){.cell = 1, .peak = 1e9, .readers = m->readers};
	assert_int_equal(verify_stream_open(&m->stream, -1, 16 * MIB, -1), 0);
	for (size_t cpu = 0; cpu < CPU_SETSIZE && m->ceiling.count < most; cpu++)
		if (CPU_ISSET(cpu, &set)) {
			struct verify_reader *r = &m->readers[m->ceiling.count++];

			r->cpu = (int)cpu;
			r->part = (struct verify_stream){.base = m->stream.base +
								 (m->ceiling.count - 1) * 4 * MIB,
							 .size = 4 * MIB};
		}
	verify_add_cell(&m->run, &cell);
	verify_name_peak("SMBIOS", &cell);
	verify_add_cell(&m->run, &cell);
	setpriority(PRIO_PROCESS, 0, 7);
}

static void close_machine(struct machine *m)
{
	check_threads(NULL);
	verify_stream_close(&m->stream);
	verify_run_free(&m->run);
}

/* As fast as this thread alone, to the noise of other programs. */
static void one_cpu_reads_what_it_reads_alone(void **state)
{
	uint64_t begin, ns;
	double moved = 0, seconds = 0, alone = 0;
	struct verify_series *s;
	struct machine m;

	(void)state;
	open_machine(&m, 1, -1);
	s = verify_add_series(&m.run, &(struct verify_series){.load = VERIFY_READ_ALL});
	assert_int_equal(verify_ceiling_rounds(s, &m.ceiling, &m.pace), 0);
	assert_int_equal(s->round_count, 5);
	assert_int_equal(m.rounds, 6);
	for (size_t i = 0; i < 5; i++) {
		const struct verify_reading *r = &s->readings[2 * i];

		assert_true(r[0].amount >= 5 && r[0].amount <= 5);
		assert_true(r[1].seconds > 0.0199 && fabs(r[1].amount / r[1].seconds - 1e9) < 1);
		moved = fmax(moved, s->moved[i] / r[1].seconds);
		seconds += r[1].seconds;
	}
	assert_true(seconds > 0.0999);
	m.readers[0].part.at = 0;
	for (int i = 0; i < 20 && !(alone > moved * 0.3); i++) {
		begin = cli_now_ns();
		assert_int_equal(verify_stream_move(&m.readers[0].part, VERIFY_READ, 64 * MIB, -1),
				 0);
		ns = cli_now_ns() - begin;
		alone = fmax(alone, 64.0 * (double)MIB * 1e9 / (double)ns);
	}
	/* Below a fifth or above five times it would be another amount. */
	assert_true(moved > alone * 0.2 && moved < alone * 5);
	close_machine(&m);
}

static void all_cpus_read_and_end(void **state)
{
	struct verify_series *s;
	struct machine m;

	(void)state;
	open_machine(&m, READERS_MOST, -1);
	s = verify_add_series(&m.run, &(struct verify_series){.load = VERIFY_READ_ALL});
	assert_int_equal(verify_ceiling_rounds(s, &m.ceiling, &m.pace), 0);
	assert_int_equal(s->round_count, 5);
	close_machine(&m);
}

static void a_signal_ends_all_of_them(void **state)
{
	const struct itimerspec soon = {.it_value = {.tv_nsec = 50 * 1000 * 1000}};
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	struct verify_series *s;
	struct machine m;
	uint64_t begin;

	(void)state;
	open_machine(&m, READERS_MOST, fd);
	m.pace.round_ns = 10 * NS_PER_S;
	timerfd_settime(fd, 0, &soon, NULL);
	begin = cli_now_ns();
	s = verify_add_series(&m.run, &(struct verify_series){.load = VERIFY_READ_ALL});
	assert_int_equal(verify_ceiling_rounds(s, &m.ceiling, &m.pace), -EINTR);
	assert_true(cli_now_ns() - begin < 5 * NS_PER_S);
	assert_int_equal(s->round_count, 0);
	close_machine(&m);
	close(fd);
}

/* Those that have begun end. */
static void a_cpu_that_may_not_be_used_is_an_error(void **state)
{
	struct verify_series *s;
	struct machine m;

	(void)state;
	open_machine(&m, 1, -1);
	m.readers[1] = m.readers[0];
	m.readers[1].cpu = CPU_SETSIZE - 1;
	m.ceiling.count = 2;
	s = verify_add_series(&m.run, &(struct verify_series){.load = VERIFY_READ_ALL});
	assert_int_equal(verify_ceiling_rounds(s, &m.ceiling, &m.pace), -EINVAL);
	close_machine(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(streams_are_judged_by_the_peak),
		cmocka_unit_test(names_are_one_word),
		cmocka_unit_test(mistakes_are_refused),
		cmocka_unit_test(one_cpu_reads_what_it_reads_alone),
		cmocka_unit_test(all_cpus_read_and_end),
		cmocka_unit_test(a_signal_ends_all_of_them),
		cmocka_unit_test(a_cpu_that_may_not_be_used_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
