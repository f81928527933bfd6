/* SPDX-License-Identifier: MIT */
/* `uncore verify`: from planted faults to their names, and what moves the data. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cli.h"
#include "helpers.h"
#include "planted.h"

#define SOCKETS 2
#define CHANNELS 6
#define DIRECTIONS 2       /* reads and writes */
#define MOVED 1073741824.0 /* the largest amount */
#define ROUND 0.5          /* seconds */
#define MIB ((size_t)1 << 20)

/* ---- a machine whose counters are planted ---- */

enum fault {
	NONE,
	SOCKETS_SWAPPED,
	DIRECTIONS_SWAPPED,
	CHANNEL_TWICE,
	CHANNEL_DEAD,
	HALF,
	DOUBLE,
	UNITS,
	TIMES_64,
	OVER_64,
	ALLOCATE,
	LOSES,
	ASTRAY,
	LINKS_SWAPPED,
	LINKS_LOSE,
	LOCAL_AS_REMOTE,
	BOTH_ENDS,
};

static bool starts(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

/* What a link sends and receives, and what home agents count, of each byte: told by words, not by the table that is tested. */
static double share_of_others(enum fault fault, const struct verify_series *s,
			      const struct verify_cell *c)
{
	bool far = s->cpu_socket != s->socket, write = s->load == VERIFY_WRITE;
	bool out = starts(c->metric, "link.out"), by_far = starts(c->metric, "memory.from.remote");

	if (starts(c->metric, "link")) {
		int sender = write ? s->cpu_socket : s->socket;
		int receiver = write ? s->socket : s->cpu_socket;

		out = fault == LINKS_SWAPPED ? !out : out;
		return far && c->socket == (out ? sender : receiver)
			       ? (fault == LINKS_LOSE ? 8 / 9.0 : 1)
			       : 0;
	}
	by_far = fault == LOCAL_AS_REMOTE ? !by_far : by_far;
	return c->socket == s->socket && by_far == far && write == !!strstr(c->metric, "write");
}

/* What a channel counts of each byte that is moved on this node in this direction. */
static double share(enum fault fault, const struct verify_series *s, const struct verify_cell *c)
{
	bool read = starts(c->metric, "memory.read");
	bool here = c->socket == s->socket, same = read == (s->load == VERIFY_READ);
	double even = 1.0 / CHANNELS;

	switch (fault) {
	case BOTH_ENDS:
		return (here || c->socket == s->cpu_socket) && same ? even : 0;
	case SOCKETS_SWAPPED:
		return !here && same ? even : 0;
	case DIRECTIONS_SWAPPED:
		return here && !same ? even : 0;
	case ASTRAY:
		return same && s->socket == 0 ? (here ? 0.95 : 0.05) * even
		       : here && same         ? even
					      : 0;
	case ALLOCATE:
		return here && (same || read) ? even : 0;
	default:
		break;
	}
	if (!here || !same)
		return 0;
	return even * (fault == CHANNEL_TWICE && c->channel == 2                    ? 2
		       : fault == CHANNEL_DEAD && c->channel == 4 && c->socket == 1 ? 0
		       : fault == HALF                                              ? 0.5
		       : fault == DOUBLE                                            ? 2
		       : fault == UNITS                                             ? 1.073741824
		       : fault == TIMES_64                                          ? 64
		       : fault == OVER_64                                           ? 1 / 64.0
		       : fault == LOSES                                             ? 0.97
										    : 1);
}

struct planted {
	enum fault fault;
	double others; /* bytes per second and channel */
	double noise;  /* of these, from round to round */
};

static void add_round(struct verify_run *run, struct verify_series *s, const struct planted *p,
		      double moved)
{
	double seconds = ROUND + 0.001 * uniform();
	struct verify_reading *r = verify_add_round(s, moved) - s->first_cell;

	for (size_t i = s->first_cell, socket = i; i < run->cell_count; i++) {
		if (!starts(run->cells[i].family, "intel-imc")) {
			r[i].seconds = seconds;
			r[i].amount = moved * share_of_others(p->fault, s, &run->cells[i]);
			continue;
		}
		if (run->cells[i].channel < 0) {
			socket = i;
			r[socket] = (struct verify_reading){.seconds = seconds};
			continue;
		}
		r[i].seconds = seconds;
		r[i].amount = moved * share(p->fault, s, &run->cells[i]) +
			      seconds * p->others * (1 + p->noise * normal());
		r[socket].amount += r[i].amount;
	}
}

static void add_series(struct verify_run *run, const struct planted *p, bool far)
{
	for (int s = 0; s < SOCKETS; s++)
		for (int d = 0; d < DIRECTIONS; d++) {
			struct verify_series *series = verify_add_series(
				run, &(struct verify_series){.load = (enum verify_load)d,
							     .node = s,
							     .socket = s,
							     .cpu_socket = far ? 1 - s : s,
							     .memory = 128 * MIB});

			for (int i = 0; i < 12; i++)
				add_round(run, series, p, MOVED * (i % 4 == 3 ? 4 : i % 4) / 4);
		}
}

static void make_run(struct verify_run *run, const struct planted *p)
{
	*run = (struct verify_run){.version = "0.1.0", .date = "2026-12-01", .cache = 32 * MIB};
	for (int d = 0; d < DIRECTIONS; d++)
		for (int s = 0; s < SOCKETS; s++)
			for (int c = -1; c < CHANNELS; c++)
				add_cell(run,
					 d ? "memory.write.bandwidth" : "memory.read.bandwidth",
					 "intel-imc", s, c);
	add_series(run, p, false);
}

/* Links and home agents, and what their CPUs move to and from other sockets. They are counted in two passes. */
static void make_far_run(struct verify_run *run, const struct planted *p)
{
	static const char *const metrics[2][4] = {
		{"link.out.bandwidth", "link.in.bandwidth"},
		{"memory.local.read.bandwidth", "memory.local.write.bandwidth",
		 "memory.from.remote.read.bandwidth", "memory.from.remote.write.bandwidth"}};

	make_run(run, p);
	add_series(run, p, true);
	for (int pass = 0; pass < 2; pass++) {
		run->first_cell = run->cell_count;
		for (int m = 0; m < 4 && metrics[pass][m]; m++)
			for (int s = 0; s < SOCKETS; s++)
				add_cell(run, metrics[pass][m], pass ? "intel-cha" : "intel-upi", s,
					 -1);
		if (pass)
			add_series(run, p, false);
		add_series(run, p, true);
	}
}

/* How many results have this verdict. */
static size_t count(const struct verify_result *results, size_t all, enum verify_verdict verdict)
{
	size_t found = 0;

	for (size_t i = 0; i < all; i++)
		found += results[i].verdict == verdict;
	return found;
}

#define RESULTS ((size_t)SOCKETS * DIRECTIONS * (1 + CHANNELS))

static void clean_runs_are_proved(void **s)
{
	(void)s;
	for (int i = 0; i < 50; i++) {
		/* Up to eight times of what is moved, on all channels. */
		const struct planted p = {NONE, i * 0.3e9 / 50, 0.01};
		struct verify_result *results;
		struct verify_run run;
		size_t all;

		make_run(&run, &p);
		all = verify_judge(&run, &results);
		assert_int_equal(all, RESULTS);
		assert_int_equal(count(results, all, VERIFY_OFF), 0);
		assert_int_equal(count(results, all, VERIFY_PROVED), RESULTS);
		assert_int_equal(verify_overall(results, all), VERIFY_PROVED);
		free(results);
		verify_run_free(&run);
	}
}

struct named {
	enum fault fault;
	const char *name;
	const char *sentence; /* a part of the reason */
	enum verify_verdict verdict;
	size_t sockets; /* of four nodes and directions, that have it */
};

static const struct named planted_faults[] = {
	{SOCKETS_SWAPPED, "sockets swapped", "socket 1's counters count node 0", VERIFY_OFF, 4},
	{DIRECTIONS_SWAPPED, "directions swapped", "reads are counted as writes", VERIFY_OFF, 4},
	{CHANNEL_TWICE, "channel twice", "channel 2 counts twice", VERIFY_OFF, 4},
	{CHANNEL_DEAD, "channel dead", "channel 4 counts nothing", VERIFY_OFF, 2},
	{HALF, "half", "one of two PMUs is missing", VERIFY_OFF, 4},
	{DOUBLE, "double", "two PMUs count the same", VERIFY_OFF, 4},
	{UNITS, "units", "decimal and binary units are confused: 1.024^3", VERIFY_OFF, 4},
	{TIMES_64, "times 64", "bytes are taken for lines", VERIFY_OFF, 4},
	{OVER_64, "over 64", "lines are taken for bytes", VERIFY_OFF, 4},
	{ALLOCATE, "write-allocate", "each write also reads its line", VERIFY_UNKNOWN, 2},
	{LOSES, NULL, "the factor is 0.9700: 3.0 % too little", VERIFY_OFF, 4},
	{ASTRAY, "astray", "5.0 % of what node 0 reads is counted as reads of socket 1", VERIFY_OFF,
	 2},
};

/* One more verdict than the fault asks for would be another fault. */
static void find_fault(const struct named *n, const struct planted *p)
{
	struct verify_result *results;
	struct verify_run run;
	size_t all, sockets = 0;
	bool said = false;

	make_run(&run, p);
	all = verify_judge(&run, &results);
	for (size_t i = 0; i < all; i++) {
		const struct verify_result *r = &results[i];

		if (r->cell->channel >= 0)
			continue;
		if (r->verdict == VERIFY_PROVED) {
			assert_null(r->fault);
			continue;
		}
		assert_int_equal(r->verdict, n->verdict);
		sockets++;
		if (n->name ? !r->fault || strcmp(r->fault, n->name) != 0 : !!r->fault)
			fail_msg("%s: %s (%g +- %g)", r->fault, r->reason, r->fit.slope,
				 r->fit.error);
		said = said || strstr(r->reason, n->sentence);
	}
	assert_int_equal(sockets, n->sockets);
	assert_true(said);
	assert_int_equal(verify_overall(results, all), n->verdict);
	free(results);
	verify_run_free(&run);
}

static void planted_faults_are_named(void **s)
{
	(void)s;
	for (size_t i = 0; i < sizeof(planted_faults) / sizeof(*planted_faults); i++)
		find_fault(&planted_faults[i], &(struct planted){planted_faults[i].fault, 0, 0});
}

static void faults_are_named_in_noise(void **s)
{
	(void)s;
	for (size_t i = 0; i < sizeof(planted_faults) / sizeof(*planted_faults); i++) {
		struct named n = planted_faults[i];

		/* Its last digit is noise. */
		if (!n.name)
			n.sentence = "too little";
		else if (n.fault == ASTRAY)
			n.sentence = "of what node 0 reads is counted as reads of socket 1";
		find_fault(&n, &(struct planted){n.fault, 5e7, 0.02});
	}
}

/* Near: 4 of memory and 4 of agents, beside 24 channels; far: 4 of memory, 8 of links, 4 of agents. */
#define FAR_RESULTS (RESULTS + 4 + 4 + 8 + 4)

static void remote_data_are_judged_on_their_path(void **s)
{
	static const struct {
		enum fault fault;
		const char *metric, *name, *sentence;
		size_t off;
	} faults[] = {
		{NONE, "", NULL, "", 0},
		{LINKS_SWAPPED, "link", "sockets or directions swapped",
		 "data sent are counted as data received, or the counters of socket 0 as those of socket 1",
		 8},
		{LINKS_LOSE, "link", NULL, "the factor is 0.8889: 11.1 % too little", 8},
		{LOCAL_AS_REMOTE, "memory.", "kinds swapped",
		 "local reads are counted as reads by other sockets", 8},
	};

	(void)s;
	for (size_t f = 0; f < sizeof(faults) / sizeof(*faults); f++) {
		struct verify_result *results;
		struct verify_run run;
		size_t all, off = 0;
		bool said = !*faults[f].sentence;

		make_far_run(&run, &(struct planted){faults[f].fault, 0, 0});
		all = verify_judge(&run, &results);
		assert_int_equal(all, FAR_RESULTS);
		for (size_t i = 0; i < all; i++) {
			const struct verify_result *r = &results[i];

			if (r->verdict == VERIFY_PROVED)
				continue;
			off++;
			assert_int_equal(r->verdict, VERIFY_OFF);
			assert_true(starts(r->cell->metric, faults[f].metric));
			assert_string_not_equal(r->cell->family, "intel-imc");
			if (faults[f].name)
				assert_string_equal(r->fault, faults[f].name);
			said = said || strstr(r->reason, faults[f].sentence);
		}
		assert_int_equal(off, faults[f].off);
		assert_true(said);
		free(results);
		verify_run_free(&run);
	}
}

/* Controllers that count what passes between sockets at one end, or at both; and what they are said to do. */
static void traffic_between_sockets_is_judged_at_both_ends(void **s)
{
	static const struct {
		enum fault fault;
		bool both_ends;
		size_t all, off; /* of the controllers four are far, or eight */
		const char *name, *sentence;
	} cases[] = {
		{NONE, false, FAR_RESULTS, 0, NULL, NULL},
		{BOTH_ENDS, true, FAR_RESULTS + 4, 0, NULL, NULL},
		{BOTH_ENDS, false, FAR_RESULTS, 4, "astray",
		 "100.0 % of what node 0 reads is counted as reads of socket 1, too"},
		{NONE, true, FAR_RESULTS + 4, 4, "nothing", "nothing is counted"},
	};

	(void)s;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct verify_result *results;
		struct verify_run run;
		size_t all, off = 0;
		bool said = false;

		make_far_run(&run, &(struct planted){cases[i].fault, 0, 0});
		for (size_t c = 0; c < run.cell_count; c++)
			run.cells[c].both_ends =
				cases[i].both_ends && starts(run.cells[c].family, "intel-imc");
		all = verify_judge(&run, &results);
		assert_int_equal(all, cases[i].all);
		for (size_t r = 0; r < all; r++) {
			if (results[r].verdict == VERIFY_PROVED)
				continue;
			off++;
			assert_int_equal(results[r].verdict, VERIFY_OFF);
			assert_true(verify_is_far(results[r].series));
			assert_string_equal(results[r].cell->family, "intel-imc");
			assert_string_equal(results[r].fault, cases[i].name);
			said = said || strstr(results[r].reason, cases[i].sentence);
		}
		assert_int_equal(off, cases[i].off);
		assert_true(said || !cases[i].sentence);
		free(results);
		verify_run_free(&run);
	}
}

static void one_channel_is_named(void **s)
{
	const struct planted p = {CHANNEL_DEAD, 0, 0};
	struct verify_result *results;
	struct verify_run run;
	size_t all, off = 0;

	(void)s;
	make_run(&run, &p);
	all = verify_judge(&run, &results);
	for (size_t i = 0; i < all; i++)
		if (results[i].cell->channel >= 0 && results[i].verdict == VERIFY_OFF) {
			assert_int_equal(results[i].cell->channel, 4);
			assert_int_equal(results[i].cell->socket, 1);
			off++;
		}
	assert_int_equal(off, 2);
	free(results);
	verify_run_free(&run);
}

/* ---- memory of several kinds ---- */

/* Node 0 has DRAM; node 2, without CPUs, has what is told, of which each metric counts a part. */
struct kinds {
	double dram, package; /* parts that are counted on node 2 */
	double cached;        /* part of node 0's that is counted as package memory, too */
};

static void add_kind_series(struct verify_run *run, const struct kinds *k, int node)
{
	for (int load = 0; load < DIRECTIONS; load++) {
		struct verify_series *s = verify_add_series(
			run, &(struct verify_series){.load = (enum verify_load)load,
						     .node = node,
						     .bare = node == 2,
						     .memory = 128 * MIB});

		for (int i = 0; i < 12; i++) {
			double moved = MOVED * (i % 4 == 3 ? 4 : i % 4) / 4;
			struct verify_reading *r = verify_add_round(s, moved);

			for (size_t c = 0; c < run->cell_count; c++) {
				const char *metric = run->cells[c].metric;
				bool package = starts(metric, "memory.package");
				bool same = !!strstr(metric, "read") == (load == VERIFY_READ);
				double part = node == 2 ? (package ? k->package : k->dram)
							: (package ? k->cached : 1);

				r[c] = (struct verify_reading){.amount = same ? part * moved : 0,
							       .seconds =
								       ROUND + 0.001 * uniform()};
			}
		}
	}
}

static void make_kinds(struct verify_run *run, const struct kinds *k)
{
	static const char *const metrics[] = {"memory.read.bandwidth", "memory.write.bandwidth",
					      "memory.package.read.bandwidth",
					      "memory.package.write.bandwidth"};

	*run = (struct verify_run){.version = "0.1.0", .date = "2026-12-01", .cache = 32 * MIB};
	for (int m = 0; m < 4; m++) {
		struct verify_cell *c;

		add_cell(run, metrics[m], m < 2 ? "intel-imc" : "intel-hbm", 0, -1);
		c = &run->cells[run->cell_count - 1];
		if (m < 2)
			continue;
		c->alternative_count = 2;
		c->alternatives[0] = (struct verify_alternative){1, "32 bytes a CAS"};
		c->alternatives[1] = (struct verify_alternative){2, "64 bytes a CAS"};
	}
	add_kind_series(run, k, 0);
	add_kind_series(run, k, 2);
}

/* So many results on the node have this verdict and reason. */
static void expect_results(const struct verify_run *run, int node, size_t number,
			   enum verify_verdict verdict, const char *metrics, const char *reason)
{
	struct verify_result *results;
	size_t all = verify_judge(run, &results), found = 0;

	for (size_t i = 0; i < all; i++) {
		if (results[i].series->node != node)
			continue;
		found++;
		assert_true(starts(results[i].cell->metric, metrics));
		assert_int_equal(results[i].verdict, verdict);
		if (strcmp(results[i].reason, reason) != 0)
			fail_msg("%s", results[i].reason);
	}
	assert_int_equal(found, number);
	free(results);
}

/* Only metrics that begin so are judged on the node. */
static void expect_metrics(const struct verify_run *run, int node, const char *one,
			   const char *other)
{
	struct verify_result *results;
	size_t all = verify_judge(run, &results), found = 0;

	for (size_t i = 0; i < all; i++) {
		if (results[i].series->node != node)
			continue;
		found++;
		assert_true(starts(results[i].cell->metric, one) ||
			    starts(results[i].cell->metric, other));
		assert_int_not_equal(results[i].verdict, VERIFY_PROVED);
	}
	assert_int_equal(found, 2);
	free(results);
}

static void alternatives_are_distinguished(void **s)
{
	struct verify_run run;

	(void)s;
	make_kinds(&run, &(struct kinds){.package = 1});
	expect_results(&run, 0, 2, VERIFY_PROVED, "memory.", "");
	expect_results(&run, 2, 2, VERIFY_PROVED, "memory.package.", "32 bytes a CAS");
	verify_run_free(&run);
	make_kinds(&run, &(struct kinds){.package = 0.5});
	expect_results(&run, 0, 2, VERIFY_PROVED, "memory.", "");
	expect_results(
		&run, 2, 2, VERIFY_OFF, "memory.package.",
		"64 bytes a CAS, but the formula assumes otherwise: the correct value is 2 times as large");
	verify_run_free(&run);
	/* Neither of the two. */
	make_kinds(&run, &(struct kinds){.package = 0.75});
	expect_results(&run, 2, 2, VERIFY_OFF, "memory.package.",
		       "the factor is 0.7500: 25.0 % too little");
	verify_run_free(&run);
}

static void kinds_of_memory_are_distinguished(void **s)
{
	struct verify_run run;

	(void)s;
	/* DRAM without CPUs. */
	make_kinds(&run, &(struct kinds){.dram = 1});
	expect_results(&run, 2, 2, VERIFY_PROVED, "memory.", "");
	verify_run_free(&run);
	/* Nothing here counts it: other nodes are proved all the same. */
	make_kinds(&run, &(struct kinds){0});
	expect_results(&run, 2, 0, VERIFY_PROVED, "", "");
	expect_results(&run, 0, 2, VERIFY_PROVED, "memory.", "");
	verify_run_free(&run);
	/* DRAM's counters miss it, or are lost: HBM need not count it. */
	make_kinds(&run, &(struct kinds){.package = 1});
	for (size_t i = 0; i < 2 * 12 * 4; i++)
		if (i % 4 < 2)
			run.series[i / 48].readings[i % 48].amount = i % 3 ? 0 : NAN;
	expect_metrics(&run, 0, "memory.read", "memory.write");
	verify_run_free(&run);
	/* A cache of node 0's memory. */
	make_kinds(&run, &(struct kinds){.package = 1, .cached = 0.4});
	{
		struct verify_result *results;
		size_t all = verify_judge(&run, &results), unknown = 0;

		for (size_t i = 0; i < all; i++)
			unknown += results[i].series->node == 0 &&
				   results[i].verdict == VERIFY_UNKNOWN &&
				   strcmp(results[i].fault, "two kinds") == 0;
		assert_int_equal(unknown, 4);
		free(results);
	}
	verify_run_free(&run);
}

static void alternatives_come_back_from_their_text(void **s)
{
	struct verify_run run, back;

	(void)s;
	make_kinds(&run, &(struct kinds){.package = 0.5});
	read_back(&back, &run);
	assert_int_equal(back.cells[2].alternative_count, 2);
	assert_string_equal(back.cells[2].alternatives[1].title, "64 bytes a CAS");
	assert_false(back.series[0].bare);
	assert_true(back.series[2].bare);
	expect_results(
		&back, 2, 2, VERIFY_OFF, "memory.package.",
		"64 bytes a CAS, but the formula assumes otherwise: the correct value is 2 times as large");
	verify_run_free(&run);
	verify_run_free(&back);
}

/* ---- what cannot be told ---- */

static void find_unknown(struct verify_run *run, const char *sentence)
{
	struct verify_result *results;
	size_t all = verify_judge(run, &results);

	assert_int_equal(count(results, all, VERIFY_UNKNOWN), all);
	if (!strstr(results[0].reason, sentence))
		fail_msg("%s", results[0].reason);
	assert_int_equal(verify_overall(results, all), VERIFY_UNKNOWN);
	free(results);
	verify_run_free(run);
}

static void too_much_noise_is_not_judged(void **s)
{
	struct verify_run run;

	(void)s;
	make_run(&run, &(struct planted){NONE, 1e9, 0.3});
	find_unknown(&run, "other programs moved");
	/* Steady, but 8 times of what is moved. */
	make_run(&run, &(struct planted){NONE, 4e9, 0});
	find_unknown(&run,
		     "other programs moved 24.00 GB/s here: a verdict needs less than about 17");
}

static void pages_elsewhere_are_not_judged(void **s)
{
	struct verify_run run;

	(void)s;
	make_run(&run, &(struct planted){0});
	for (size_t i = 0; i < run.series_count; i++)
		run.series[i].elsewhere = 3;
	find_unknown(&run, "3 pages of the moved memory were on other nodes");
}

static void few_rounds_are_not_judged(void **s)
{
	struct verify_run run;

	(void)s;
	make_run(&run, &(struct planted){0});
	for (size_t i = 0; i < run.series_count; i++)
		for (size_t k = 0; k < 7 * run.cell_count; k++)
			run.series[i].readings[k].amount = NAN;
	find_unknown(&run, "all counters ran all the time in only 5 of 12 rounds");
}

static void small_memory_is_not_judged_for_loads(void **s)
{
	struct verify_result *results;
	struct verify_run run;
	size_t all;

	(void)s;
	make_run(&run, &(struct planted){0});
	run.cache = 100 * MIB;
	all = verify_judge(&run, &results);
	assert_int_equal(count(results, all, VERIFY_UNKNOWN), all / 2);
	assert_int_equal(results[0].series->load, VERIFY_READ);
	assert_non_null(strstr(results[0].reason, "caches of 100 MiB may hold the loaded data"));
	free(results);
	verify_run_free(&run);
}

static void no_traffic_is_not_proved(void **s)
{
	struct verify_run run = {0};
	struct verify_result *results;

	(void)s;
	assert_int_equal(verify_judge(&run, &results), 0);
	assert_int_equal(verify_overall(results, 0), VERIFY_UNKNOWN);
}

/* ---- the fit ---- */

static void the_fit_agrees_with_exact_arithmetic(void **s)
{
	/* 0.97 of what is moved, beside 123 MB/s, with noise. The results were computed with fractions. */
	static const double quarters[] = {0, 1, 2, 4, 4, 0, 2, 1, 0, 4, 1, 2};
	static const double seconds[] = {0.500123, 0.500201, 0.500077, 0.500310,
					 0.500150, 0.500099, 0.500260, 0.500184,
					 0.500031, 0.500222, 0.500140, 0.500175};
	static const double counted[] = {58207054,   318691120,  584511092, 1096414505,
					 1102846331, 54972385,   585828193, 322742197,
					 65801170,   1101772823, 323322656, 581657152};
	double moved[12], proportional[12];
	struct verify_fit f;

	(void)s;
	for (int i = 0; i < 12; i++)
		moved[i] = quarters[i] * 268435456;
	assert_true(verify_fit(&f, moved, seconds, counted, 12));
	assert_true(fabs(f.slope / 0.9690641969712573 - 1) < 1e-9);
	assert_true(fabs(f.rate / 122294807.89044729 - 1) < 1e-9);
	assert_true(fabs(f.error / 0.0027197282794154424 - 1) < 1e-6);
	assert_int_equal(f.count, 12);
	assert_false(verify_fit(&f, moved, seconds, counted, 3));
	/* Moved in proportion to time: rounds that are not equally long. */
	for (int i = 0; i < 12; i++)
		moved[i] = (i + 1) * seconds[i] * 1e9;
	for (int i = 0; i < 12; i++)
		proportional[i] = (i + 1) * (1 + 0.001 * (i & 1));
	assert_false(verify_fit(&f, moved, proportional, counted, 12));
}

/* ---- the report ---- */

static void readings_come_back_from_their_text(void **s)
{
	struct verify_result *a, *b;
	struct verify_run run, back;
	struct buffer text = {0};
	char why[VERIFY_WHY] = "";
	size_t count;

	(void)s;
	make_far_run(&run, &(struct planted){CHANNEL_TWICE, 5e7, 0.02});
	run.series[0].readings[3].amount = NAN;
	buffer_puts(&text, "uncore snapshot 1\nproc/cpuinfo:\n\tcell\n");
	run.cells[0].both_ends = true;
	verify_put_run(&text, &run);
	assert_non_null(strstr(text.data, " socket 0 channel -1 both-ends\n"));
	buffer_puts(&text, "sys/last = 1\n");
	assert_true(verify_parse_run(&back, text.data, why));
	count = verify_judge(&run, &a);
	assert_int_equal(verify_judge(&back, &b), count);
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(a[i].reason, b[i].reason);
		assert_int_equal(a[i].fit.count, b[i].fit.count);
		assert_string_equal(a[i].cell->metric, b[i].cell->metric);
		assert_int_equal(a[i].cell->both_ends, b[i].cell->both_ends);
		assert_int_equal(a[i].series->cpu_socket, b[i].series->cpu_socket);
		assert_true(fabs(a[i].fit.slope - b[i].fit.slope) < 1e-8);
	}
	assert_int_equal(a[3].fit.count, 11);
	assert_string_equal(back.date, "2026-12-01");
	free(a);
	free(b);
	buffer_free(&text);
	verify_run_free(&run);
	verify_run_free(&back);
}

static void mistakes_in_a_report_have_their_line(void **s)
{
	static const char *const texts[][2] = {
		{"uncore snapshot 1\n", "not a report"},
		{"uncore/verify:\n\tversion 3\n", "line 2: written by a later uncore"},
		{"uncore/verify:\n", "the report is truncated"},
		{"uncore/verify:\n\tversion 2\n", "the report is truncated"},
		{"uncore/verify:\n\tnonsense\n", "line 2: not a line"},
		{"uncore/verify:\n\tcell a.bandwidth b socket 0 channel 0\n",
		 "line 2: a metric that this uncore cannot judge"},
		{"uncore/verify:\n\tcell memory.read.bandwidth a socket 0\n", "line 2: not a cell"},
		{"uncore/verify:\n\tcell memory.read.bandwidth a socket 0 channel 0 both-ends so\n",
		 "line 2: not a cell"},
		{"uncore/verify:\n\tround 1 -\n", "line 2: a round without a series"},
		{"uncore/verify:\n\tcell memory.read.bandwidth a socket 0 channel -1\n\tseries read node 0 socket 0 cpu 0 of 0 "
		 "memory 1 elsewhere 0\n\tround 1 2\n",
		 "line 4: a round needs a reading"},
		{"uncore/verify:\n\tcell memory.read.bandwidth a socket 0 channel -1\n\tseries read node 0 socket 0 cpu 0 of 0 "
		 "memory 1 elsewhere 0\n\tround 1 2@1 2@1\n",
		 "line 4: a round has more readings"},
		{"uncore/verify:\n\tcell memory.read.bandwidth a socket 0 channel -1\n\tseries read node 0 socket 0 cpu 0 of 0 "
		 "memory 1 elsewhere 0\n\tround nan\n",
		 "line 4: a round without its amount"},
		{"uncore/verify:\n\talternative 2 64 bytes a CAS\n",
		 "line 2: an alternative without a cell"},
		{"uncore/verify:\n\tcell memory.read.bandwidth a socket 0 channel -1\n\talternative 0 none\n",
		 "line 3: an alternative needs a factor"},
		{"uncore/verify:\n\tseries read node 0 socket 0 cpu 0 of 0 memory 1 elsewhere 0\n",
		 "line 2: a series without cells"},
	};

	(void)s;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct verify_run run;
		char why[VERIFY_WHY] = "";

		assert_false(verify_parse_run(&run, texts[i][0], why));
		if (!strstr(why, texts[i][1]))
			fail_msg("%s", why);
		assert_int_equal(run.cell_count, 0);
	}
}

/* ---- moving ---- */

/* The node of this CPU; a container may not bind memory, and then -1. */
static int node_here(void)
{
	struct verify_stream s;
	int err = verify_stream_open(&s, 0, MIB, -1);

	if (!err)
		verify_stream_close(&s);
	return err ? -1 : 0;
}

static void stores_change_exactly_the_given_bytes(void **s)
{
	struct verify_stream stream;
	size_t changed = 0;

	(void)s;
	assert_int_equal(verify_stream_open(&stream, node_here(), 4 * MIB, -1), 0);
	assert_int_equal(stream.size, 4 * MIB);
	assert_int_equal((uintptr_t)stream.base % (2 * MIB), 0);
	memset(stream.base, 1, stream.size);
	/* It ends behind the beginning: 1 MiB and one line. */
	stream.at = 3 * MIB + 128;
	assert_int_equal(verify_stream_move(&stream, VERIFY_WRITE, MIB + 64, -1), 0);
	for (size_t i = 0; i < stream.size; i++)
		changed += stream.base[i] != 1;
	assert_int_equal(stream.at, 192);
	if (changed != MIB + 64)
		fail_msg("%zu bytes were changed", changed);
	assert_true(stream.base[191] != 1 && stream.base[192] == 1);
	assert_true(stream.base[3 * MIB + 127] == 1 && stream.base[3 * MIB + 128] != 1);
	verify_stream_close(&stream);
}

static void loads_change_nothing_and_go_round(void **s)
{
	struct verify_stream stream;

	(void)s;
	assert_int_equal(verify_stream_open(&stream, node_here(), 2 * MIB, -1), 0);
	memset(stream.base, 1, stream.size);
	assert_int_equal(verify_stream_move(&stream, VERIFY_READ, 5 * MIB + 64, -1), 0);
	assert_int_equal(stream.at, MIB + 64);
	for (size_t i = 0; i < stream.size; i++)
		assert_int_equal(stream.base[i], 1);
	verify_stream_close(&stream);
}

static void all_pages_are_on_the_node(void **s)
{
	struct verify_stream stream;
	size_t pages = 99;

	(void)s;
	assert_int_equal(verify_stream_open(&stream, node_here(), 20 * MIB, -1), 0);
	assert_int_equal(verify_stream_elsewhere(&stream, &pages), 0);
	assert_int_equal(pages, 0);
	if (stream.node == 0) {
		/* If they were to be on another node: all of them, also those behind the first 4096. */
		stream.node = 1;
		assert_int_equal(verify_stream_elsewhere(&stream, &pages), 0);
		assert_int_equal(pages, 20 * MIB / (size_t)sysconf(_SC_PAGESIZE));
	}
	verify_stream_close(&stream);
	/* There is no such node. */
	assert_true(verify_stream_open(&stream, 1000, MIB, -1) < 0);
	assert_null(stream.map);
}

static void a_signal_stops_at_once(void **s)
{
	struct verify_stream stream;
	int fds[2];

	(void)s;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(verify_stream_open(&stream, -1, 2 * MIB, fds[0]), 0);
	assert_int_equal(write(fds[1], "x", 1), 1);
	/* It would take minutes. */
	assert_int_equal(verify_stream_move(&stream, VERIFY_READ, (size_t)1 << 40, fds[0]), -EINTR);
	verify_stream_close(&stream);
	assert_int_equal(verify_stream_open(&stream, -1, 2 * MIB, fds[0]), -EINTR);
	assert_null(stream.map);
	close(fds[0]);
	close(fds[1]);
}

/* ---- rounds ---- */

/* Counters of a memory that serves others, too. */
struct memory {
	struct verify_run *run;
	struct verify_series *series;
	struct verify_stream *stream;
	size_t at;
	uint64_t then_ns;
	double others; /* bytes per second */
	int stop_fd, stop_in;
	long stop_ns;
};

static int read_memory(void *context, struct verify_reading *into)
{
	struct memory *m = context;
	uint64_t now = cli_now_ns();
	double seconds = (double)(now - m->then_ns) / 1e9;
	double moved = m->series->round_count ? m->series->moved[m->series->round_count - 1] : 0;

	/* What a round says that it has moved, the stream has. */
	if (m->series->round_count)
		assert_int_equal((m->at + (size_t)moved) % m->stream->size, m->stream->at);
	m->at = m->stream->at;
	m->then_ns = now;
	*into = (struct verify_reading){.amount = moved + m->others * seconds, .seconds = seconds};
	/* Three quarters of the next round later: it sleeps then. */
	if (--m->stop_in == 0)
		assert_int_equal(timerfd_settime(m->stop_fd, 0,
						 &(struct itimerspec){.it_value = {0, m->stop_ns}},
						 NULL),
				 0);
	return 0;
}

static int run_rounds(struct verify_run *run, uint64_t round_ns, int stop_in)
{
	struct verify_stream stream;
	struct memory m = {.run = run, .stream = &stream, .others = 3e9};
	struct verify_series *series;
	struct verify_work work;
	int err;

	m.stop_fd = timerfd_create(CLOCK_MONOTONIC, 0);
	m.stop_ns = (long)(round_ns / 4 * 3);
	m.stop_in = stop_in;
	assert_true(m.stop_fd >= 0);
	add_cell(run, "memory.write.bandwidth", "planted", 0, -1);
	series = verify_add_series(run, &(struct verify_series){.load = VERIFY_WRITE,
								.memory = 8.0 * MIB});
	m.series = series;
	assert_int_equal(verify_stream_open(&stream, -1, 8 * MIB, -1), 0);
	work = verify_stream_work(&stream, VERIFY_WRITE);
	err = verify_rounds(series, &work,
			    &(struct verify_pace){.round_ns = round_ns,
						  .repeats = 3,
						  .stop_fd = m.stop_fd,
						  .context = &m,
						  .read = read_memory});
	verify_stream_close(&stream);
	close(m.stop_fd);
	return err;
}

static void rounds_are_equally_long_and_in_random_order(void **s)
{
	struct verify_run run = {0};
	struct verify_result *results;
	size_t amounts[5] = {0};
	bool periodic = true;
	double most = 0;

	(void)s;
	assert_int_equal(run_rounds(&run, 40 * NS_PER_MS, 0), 0);
	assert_int_equal(run.series[0].round_count, 12);
	for (size_t i = 0; i < 12; i++)
		most = fmax(most, run.series[0].moved[i]);
	assert_true(most >= 4.0 * MIB);
	for (size_t i = 0; i < 12; i++) {
		double moved = run.series[0].moved[i];

		amounts[(size_t)(4 * moved / most)]++;
		assert_true(run.series[0].readings[i].seconds >= 0.04);
		periodic =
			periodic && (i < 4 || (size_t)run.series[0].moved[i - 4] == (size_t)moved);
	}
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(amounts[i], i == 3 ? 0 : 3);
	assert_false(periodic);
	assert_int_equal(verify_judge(&run, &results), 1);
	assert_int_equal(results[0].verdict, VERIFY_PROVED);
	assert_true(fabs(results[0].fit.slope - 1) < 1e-6);
	assert_true(fabs(results[0].fit.rate / 3e9 - 1) < 1e-3);
	free(results);
	verify_run_free(&run);
}

static void a_signal_stops_rounds(void **s)
{
	struct verify_run run = {0};
	uint64_t begin = cli_now_ns();

	(void)s;
	/* In the third round. */
	assert_int_equal(run_rounds(&run, 200 * NS_PER_MS, 3), -EINTR);
	assert_int_equal(run.series[0].round_count, 2);
	assert_true(cli_now_ns() - begin < 2 * NS_PER_S);
	verify_run_free(&run);
}

static int count_amount(void *context, size_t amount, int stop_fd)
{
	(void)stop_fd;
	*(size_t *)context += amount;
	return 0;
}

static int read_nothing(void *context, struct verify_reading *into)
{
	(void)context;
	*into = (struct verify_reading){.seconds = 0.01};
	return 0;
}

/* It takes no time at all, and so would be done without an end. */
static void amounts_stay_below_the_most(void **s)
{
	struct verify_run run = {0};
	struct verify_series *series;
	size_t done = 0;
	const struct verify_work work = {
		.context = &done, .run = count_amount, .unit = 64, .least = 64, .most = 6400};
	double most = 0;

	(void)s;
	add_cell(&run, "memory.write.bandwidth", "planted", 0, -1);
	series = verify_add_series(&run, &(struct verify_series){.load = VERIFY_WRITE});
	assert_int_equal(verify_rounds(series, &work,
				       &(struct verify_pace){.round_ns = 10 * NS_PER_MS,
							     .repeats = 3,
							     .stop_fd = -1,
							     .read = read_nothing}),
			 0);
	for (size_t i = 0; i < series->round_count; i++)
		most = fmax(most, series->moved[i]);
	assert_true(most >= 6399 && most <= 6400);
	/* One before, to find it, in steps of 16 units, and 3 x (1/4 + 1/2 + 1). */
	assert_true(done <= 6400 + 1024 + 21 * 6400 / 4);
	verify_run_free(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clean_runs_are_proved),
		cmocka_unit_test(planted_faults_are_named),
		cmocka_unit_test(faults_are_named_in_noise),
		cmocka_unit_test(remote_data_are_judged_on_their_path),
		cmocka_unit_test(traffic_between_sockets_is_judged_at_both_ends),
		cmocka_unit_test(one_channel_is_named),
		cmocka_unit_test(alternatives_are_distinguished),
		cmocka_unit_test(kinds_of_memory_are_distinguished),
		cmocka_unit_test(alternatives_come_back_from_their_text),
		cmocka_unit_test(too_much_noise_is_not_judged),
		cmocka_unit_test(pages_elsewhere_are_not_judged),
		cmocka_unit_test(few_rounds_are_not_judged),
		cmocka_unit_test(small_memory_is_not_judged_for_loads),
		cmocka_unit_test(no_traffic_is_not_proved),
		cmocka_unit_test(the_fit_agrees_with_exact_arithmetic),
		cmocka_unit_test(readings_come_back_from_their_text),
		cmocka_unit_test(mistakes_in_a_report_have_their_line),
		cmocka_unit_test(stores_change_exactly_the_given_bytes),
		cmocka_unit_test(loads_change_nothing_and_go_round),
		cmocka_unit_test(all_pages_are_on_the_node),
		cmocka_unit_test(a_signal_stops_at_once),
		cmocka_unit_test(rounds_are_equally_long_and_in_random_order),
		cmocka_unit_test(a_signal_stops_rounds),
		cmocka_unit_test(amounts_stay_below_the_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
