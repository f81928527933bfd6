/* SPDX-License-Identifier: MIT */
/* `uncore verify`: from planted faults to their names. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli.h"
#include "verify/verify.h"

#define SOCKETS 2
#define CHANNELS 6
#define MOVED 1073741824.0 /* the largest amount */
#define ROUND 0.5          /* seconds */
#define MIB ((size_t)1 << 20)

static uint64_t state = 88172645463325252ull;

static double uniform(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (double)(state >> 11) / 9007199254740992.0;
}

static double normal(void)
{
	return sqrt(-2 * log(1 - uniform())) * cos(6.283185307179586 * uniform());
}

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
};

/* What a channel counts of each byte that is moved on this node in this direction. */
static double share(enum fault fault, const struct verify_series *s, const struct verify_cell *c)
{
	bool here = c->socket == s->socket, same = c->direction == s->direction;
	double even = 1.0 / CHANNELS;

	switch (fault) {
	case SOCKETS_SWAPPED:
		return !here && same ? even : 0;
	case DIRECTIONS_SWAPPED:
		return here && !same ? even : 0;
	case ASTRAY:
		return same && s->socket == 0 ? (here ? 0.95 : 0.05) * even
		       : here && same         ? even
					      : 0;
	case ALLOCATE:
		return here && (same || c->direction == VERIFY_READ) ? even : 0;
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
	struct verify_reading *r = verify_add_round(run, s, moved);

	for (size_t i = 0, socket = 0; i < run->cell_count; i++) {
		if (run->cells[i].channel < 0) {
			socket = i;
			r[socket] = (struct verify_reading){0, seconds};
			continue;
		}
		r[i].seconds = seconds;
		r[i].bytes = moved * share(p->fault, s, &run->cells[i]) +
			     seconds * p->others * (1 + p->noise * normal());
		r[socket].bytes += r[i].bytes;
	}
}

static void make_run(struct verify_run *run, const struct planted *p)
{
	*run = (struct verify_run){.version = "0.1.0", .date = "2026-12-01", .cache = 32 * MIB};
	for (int s = 0; s < SOCKETS; s++)
		for (int d = 0; d < VERIFY_DIRECTIONS; d++)
			for (int c = -1; c < CHANNELS; c++)
				verify_add_cell(run, &(struct verify_cell){"intel-imc", d, s, c});
	for (int s = 0; s < SOCKETS; s++)
		for (int d = 0; d < VERIFY_DIRECTIONS; d++) {
			struct verify_series *series = verify_add_series(run);

			*series = (struct verify_series){
				.direction = d, .node = s, .socket = s, .memory = 128 * MIB};
			for (int i = 0; i < 12; i++)
				add_round(run, series, p, MOVED * (i % 4 == 3 ? 4 : i % 4) / 4);
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

#define RESULTS ((size_t)SOCKETS * VERIFY_DIRECTIONS * (1 + CHANNELS))

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
	find_unknown(&run, "other programs moved 24.00 GB/s here: below about 17");
}

static void pages_elsewhere_are_not_judged(void **s)
{
	struct verify_run run;

	(void)s;
	make_run(&run, &(struct planted){0});
	for (size_t i = 0; i < run.series_count; i++)
		run.series[i].elsewhere = 3;
	find_unknown(&run, "3 pages of the moved memory lay on other nodes");
}

static void few_rounds_are_not_judged(void **s)
{
	struct verify_run run;

	(void)s;
	make_run(&run, &(struct planted){0});
	for (size_t i = 0; i < run.series_count; i++)
		for (size_t k = 0; k < 7 * run.cell_count; k++)
			run.series[i].readings[k].bytes = NAN;
	find_unknown(&run, "only 5 of 12 rounds were counted");
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
	assert_int_equal(results[0].series->direction, VERIFY_READ);
	assert_non_null(strstr(results[0].reason, "caches of 100 MiB may hold what was loaded"));
	free(results);
	verify_run_free(&run);
}

static void nothing_is_not_proved(void **s)
{
	struct verify_run run = {0};
	struct verify_result *results;

	(void)s;
	assert_int_equal(verify_judge(&run, &results), 0);
	assert_int_equal(verify_overall(results, 0), VERIFY_UNKNOWN);
}

/* ---- the fit ---- */

static void fit_is_that_of_exact_arithmetic(void **s)
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
	make_run(&run, &(struct planted){CHANNEL_TWICE, 5e7, 0.02});
	run.series[0].readings[3].bytes = NAN;
	buffer_puts(&text, "uncore snapshot 1\nproc/cpuinfo:\n\tcell\n");
	verify_put_run(&text, &run);
	buffer_puts(&text, "sys/last = 1\n");
	assert_true(verify_parse_run(&back, text.data, why));
	count = verify_judge(&run, &a);
	assert_int_equal(verify_judge(&back, &b), count);
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(a[i].reason, b[i].reason);
		assert_int_equal(a[i].fit.count, b[i].fit.count);
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
		{"uncore/verify:\n\tversion 2\n", "line 2: written by a later uncore"},
		{"uncore/verify:\n\tnonsense\n", "line 2: not a line"},
		{"uncore/verify:\n\tcell a b socket 0 channel 0\n", "line 2: not a cell"},
		{"uncore/verify:\n\tcell a read socket 0\n", "line 2: not a cell"},
		{"uncore/verify:\n\tround 1 -\n", "line 2: a round without a series"},
		{"uncore/verify:\n\tcell a read socket 0 channel -1\n\tseries read node 0 socket 0 cpu 0 "
		 "memory 1 elsewhere 0\n\tround 1 2\n",
		 "line 4: a round needs a reading"},
		{"uncore/verify:\n\tcell a read socket 0 channel -1\n\tseries read node 0 socket 0 cpu 0 "
		 "memory 1 elsewhere 0\n\tround 1 2@1 2@1\n",
		 "line 4: a round has more readings"},
		{"uncore/verify:\n\tseries read node 0 socket 0 cpu 0 memory 1 elsewhere 0\n\tround nan\n",
		 "line 3: a round without what was moved"},
		{"uncore/verify:\n\tseries read node 0 socket 0 cpu 0 memory 1 elsewhere 0\n"
		 "\tcell a read socket 0 channel -1\n",
		 "line 3: a cell behind a series"},
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clean_runs_are_proved),
		cmocka_unit_test(planted_faults_are_named),
		cmocka_unit_test(faults_are_named_in_noise),
		cmocka_unit_test(one_channel_is_named),
		cmocka_unit_test(too_much_noise_is_not_judged),
		cmocka_unit_test(pages_elsewhere_are_not_judged),
		cmocka_unit_test(few_rounds_are_not_judged),
		cmocka_unit_test(small_memory_is_not_judged_for_loads),
		cmocka_unit_test(nothing_is_not_proved),
		cmocka_unit_test(fit_is_that_of_exact_arithmetic),
		cmocka_unit_test(readings_come_back_from_their_text),
		cmocka_unit_test(mistakes_in_a_report_have_their_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
