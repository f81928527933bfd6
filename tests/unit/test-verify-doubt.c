/* SPDX-License-Identifier: MIT */
/* `uncore verify`: readings of right counters on machines that are not simple, which must not be off, and of wrong ones that
 * look right, which must not be proved. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cli.h"
#include "helpers.h"
#include "planted.h"

#define MOVED 1073741824.0 /* the largest amount */
#define MIB ((size_t)1 << 20)

static bool starts(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

/* What a cell counts in a round; NaN: it was not counted. */
typedef double counts(const struct verify_series *s, const struct verify_cell *c, double moved,
		      double seconds);

static void begin(struct verify_run *run)
{
	*run = (struct verify_run){.version = "0.1.0", .date = "2026-12-01", .cache = 32 * MIB};
}

static void add(struct verify_run *run, const char *metric, int socket, int channel)
{
	add_cell(run, metric, starts(metric, "link") ? "intel-upi" : "intel-imc", socket, channel);
}

/* Node N is of socket N. */
static struct verify_series *move(struct verify_run *run, enum verify_load load, int node,
				  int cpu_socket, counts *counted)
{
	struct verify_series *s =
		verify_add_series(run, &(struct verify_series){.load = load,
							       .node = node,
							       .socket = node,
							       .cpu = cpu_socket,
							       .cpu_socket = cpu_socket,
							       .memory = 128 * MIB});

	for (int i = 0; i < 12; i++) {
		double moved = MOVED * (i % 4 == 3 ? 4 : i % 4) / 4;
		double seconds = 0.5 + 0.001 * uniform();
		struct verify_reading *r = verify_add_round(s, moved);

		for (size_t k = 0; k < s->cell_count; k++) {
			const struct verify_cell *c = &run->cells[s->first_cell + k];

			r[k] = (struct verify_reading){.amount = counted(s, c, moved, seconds),
						       .seconds = seconds};
		}
	}
	return s;
}

static bool is_same(const struct verify_series *s, const struct verify_cell *c)
{
	return !!strstr(c->metric, "read") == (s->load == VERIFY_READ);
}

static double right(const struct verify_series *s, const struct verify_cell *c, double moved,
		    double seconds)
{
	(void)seconds;
	return is_same(s, c) && c->socket == s->socket ? moved : 0;
}

struct wanted {
	int node;
	const char *metric;
	enum verify_verdict verdict;
	const char *fault, *sentence; /* the latter is a part of the reason */
};

/* Exactly these, in this order. Frees the run. */
static void expect(struct verify_run *run, size_t count, const struct wanted *wanted)
{
	struct verify_result *results;
	size_t all = verify_judge(run, &results);

	for (size_t i = 0; i < all && i < count; i++) {
		const struct verify_result *r = &results[i];
		const struct wanted *w = &wanted[i];

		if (r->series->node != w->node || !starts(r->cell->metric, w->metric) ||
		    r->verdict != w->verdict || !r->fault != !w->fault ||
		    (w->fault && strcmp(r->fault, w->fault) != 0) ||
		    !strstr(r->reason, w->sentence))
			fail_msg("%zu: node %d, %s: %s, %s: %s (%g +- %g)", i, r->series->node,
				 r->cell->metric, verify_verdicts[r->verdict], r->fault, r->reason,
				 r->fit.slope, r->fit.error);
	}
	assert_int_equal(all, count);
	free(results);
	verify_run_free(run);
}
#define EXPECT(run, ...)                                                                  \
	expect(run, sizeof((const struct wanted[]){__VA_ARGS__}) / sizeof(struct wanted), \
	       (const struct wanted[]){__VA_ARGS__})

/* ---- other places ---- */

/* A program on the other socket is slower while data are moved here. */
static double others_slow_down(const struct verify_series *s, const struct verify_cell *c,
			       double moved, double seconds)
{
	return c->socket == s->socket ? moved : 4e9 * seconds * (1 - 0.02 * moved / MOVED);
}

static void other_traffic_that_slows_down_is_no_fault(void **s)
{
	struct verify_run run;

	(void)s;
	begin(&run);
	add(&run, "memory.read.bandwidth", 0, -1);
	add(&run, "memory.read.bandwidth", 1, -1);
	move(&run, VERIFY_READ, 0, 0, others_slow_down);
	EXPECT(&run, {0, "memory.read", VERIFY_PROVED, NULL, ""});
}

/* Socket 1 counts `astray` of it, too, beside a program that moves 2 GB/s there, which differ from round to round. */
static double astray, noise;

static double astray_in_noise(const struct verify_series *s, const struct verify_cell *c,
			      double moved, double seconds)
{
	if (c->socket == s->socket)
		return moved;
	return astray * moved + 2e9 * seconds * (1 + noise * normal());
}

static void make_astray(struct verify_run *run, double part, double noise_of_others)
{
	astray = part;
	noise = noise_of_others;
	begin(run);
	add(run, "memory.read.bandwidth", 0, -1);
	add(run, "memory.read.bandwidth", 1, -1);
	move(run, VERIFY_READ, 0, 0, astray_in_noise);
}

static void counts_elsewhere_are_found_in_noise(void **s)
{
	struct verify_run run;

	(void)s;
	make_astray(&run, 1, 0.02);
	EXPECT(&run, {0, "memory.read", VERIFY_OFF, "astray",
		      " % of what node 0 reads is counted as reads of socket 1, too"});
	/* It cannot be told from nothing. */
	make_astray(&run, 0.05, 0.1);
	EXPECT(&run,
	       {0, "memory.read", VERIFY_UNKNOWN, "busy",
		" % of it may be counted as reads of socket 1, too: other programs move too much"});
	make_astray(&run, 0, 0.1);
	EXPECT(&run, {0, "memory.read", VERIFY_UNKNOWN, "busy",
		      "other programs move too much there for a verdict"});
	for (int i = 0; i < 50; i++) {
		make_astray(&run, 0, 0.005);
		EXPECT(&run, {0, "memory.read", VERIFY_PROVED, NULL, ""});
	}
}

/* Links of its socket have a part of what is moved within it, and all of what is not. */
static double local;

static double links_of_all(const struct verify_series *s, const struct verify_cell *c, double moved,
			   double seconds)
{
	bool far = s->cpu_socket != s->socket, out = starts(c->metric, "link.out");

	if (!starts(c->metric, "link"))
		return right(s, c, moved, seconds);
	if (far) /* reads */
		return c->socket == (out ? s->socket : s->cpu_socket) ? moved : 0;
	return (c->socket == s->socket ? local * moved : 0) +
	       1e9 * seconds * (1 + noise * normal());
}

static void make_links(struct verify_run *run, double part, double noise_of_others)
{
	local = part;
	noise = noise_of_others;
	begin(run);
	for (int socket = 0; socket < 2; socket++) {
		add(run, "memory.read.bandwidth", socket, -1);
		add(run, "link.out.bandwidth", socket, -1);
		add(run, "link.in.bandwidth", socket, -1);
	}
	move(run, VERIFY_READ, 0, 0, links_of_all);
	move(run, VERIFY_READ, 1, 1, links_of_all);
	move(run, VERIFY_READ, 0, 1, links_of_all);
}

static void links_that_carry_local_data_are_not_proved(void **s)
{
	struct verify_run run;

	(void)s;
	make_links(&run, 0, 0);
	EXPECT(&run, {0, "memory.read", VERIFY_PROVED, NULL, ""},
	       {1, "memory.read", VERIFY_PROVED, NULL, ""},
	       {0, "memory.read", VERIFY_PROVED, NULL, ""},
	       {0, "link.out", VERIFY_PROVED, NULL, ""}, {0, "link.in", VERIFY_PROVED, NULL, ""});
	make_links(&run, 0.1, 0);
	EXPECT(&run, {0, "memory.read", VERIFY_PROVED, NULL, ""},
	       {1, "memory.read", VERIFY_PROVED, NULL, ""},
	       {0, "memory.read", VERIFY_PROVED, NULL, ""},
	       {0, "link.out", VERIFY_OFF, "local",
		"10.0 % of what node 0 reads within socket 0 is counted as data sent"},
	       {0, "link.in", VERIFY_OFF, "local",
		"10.0 % of what node 1 reads within socket 1 is counted as data received"});
	make_links(&run, 0, 0.1);
	EXPECT(&run, {0, "memory.read", VERIFY_PROVED, NULL, ""},
	       {1, "memory.read", VERIFY_PROVED, NULL, ""},
	       {0, "memory.read", VERIFY_PROVED, NULL, ""},
	       {0, "link.out", VERIFY_UNKNOWN, "busy",
		" % of the data that are moved within a socket may be counted as data sent of socket 0"},
	       {0, "link.in", VERIFY_UNKNOWN, "busy", "other programs move too much"});
}

/* ---- other programs ---- */

/* They are slower by a part while data are moved here, and faster at the other socket. */
static double yields, others_rate;

static double others_give_way(const struct verify_series *s, const struct verify_cell *c,
			      double moved, double seconds)
{
	double others = others_rate * seconds;

	return c->socket == s->socket ? moved + others * (1 - yields * moved / MOVED)
				      : others * (1 + yields * moved / MOVED);
}

static void make_others(struct verify_run *run, double rate, double part, int sockets)
{
	others_rate = rate;
	yields = part;
	begin(run);
	run->cache = 0;
	for (int socket = 0; socket < sockets; socket++)
		add(run, "memory.read.bandwidth", socket, -1);
	move(run, VERIFY_READ, 0, 0, others_give_way);
}

static void other_traffic_that_yields_is_no_fault(void **s)
{
	struct verify_run run;

	(void)s;
	make_others(&run, 4e9, 0.05, 1);
	EXPECT(&run, {0, "memory.read", VERIFY_UNKNOWN, "busy",
		      "the factor is 0.9068, but other programs moved 4.000 GB/s here"});
	/* It is too much for what there is of them. */
	make_others(&run, 0.4e9, 0.5, 1);
	EXPECT(&run, {0, "memory.read", VERIFY_OFF, NULL, "9.3 % too little"});
	make_others(&run, 4e9, 0.005, 1);
	EXPECT(&run, {0, "memory.read", VERIFY_PROVED, NULL, ""});
	/* And so at the other socket. */
	make_others(&run, 4e9, 0.02, 2);
	for (size_t i = 0; i < 12; i++)
		run.series[0].readings[2 * i].amount = run.series[0].moved[i];
	EXPECT(&run, {0, "memory.read", VERIFY_UNKNOWN, "busy",
		      "up to 3.7 % of it may be counted as reads of socket 1, too"});
}

/* Caches have another part in each round. */
static double hits_change(const struct verify_series *s, const struct verify_cell *c, double moved,
			  double seconds)
{
	(void)s;
	(void)c;
	return moved * (0.93 + 0.06 * uniform()) + 1e6 * seconds;
}

static void changing_cache_hits_are_scatter(void **s)
{
	struct verify_run run;

	(void)s;
	begin(&run);
	add(&run, "memory.read.bandwidth", 0, -1);
	move(&run, VERIFY_READ, 0, 0, hits_change);
	EXPECT(&run,
	       {0, "memory.read", VERIFY_UNKNOWN, "scatter", "counts of the same amount vary by"});
}

/* ---- caches ---- */

/* What the counters say, as a share of what is loaded and of what is stored. */
static double loads, stores;

static double part_of_it(const struct verify_series *s, const struct verify_cell *c, double moved,
			 double seconds)
{
	return right(s, c, moved, seconds) * (s->load == VERIFY_READ ? loads : stores);
}

static void make_hits(struct verify_run *run, double part_loaded, double part_stored, bool hinted)
{
	loads = part_loaded;
	stores = part_stored;
	begin(run);
	run->hinted = hinted;
	add(run, "memory.read.bandwidth", 0, -1);
	add(run, "memory.write.bandwidth", 0, -1);
	move(run, VERIFY_READ, 0, 0, part_of_it);
	move(run, VERIFY_WRITE, 0, 0, part_of_it);
}

/* A quarter of what is moved has room in the caches. */
static void data_that_caches_may_have_are_not_off(void **s)
{
	static const struct {
		double loads, stores;
		bool hinted;
		enum verify_verdict loaded, stored;
		const char *fault, *sentence;
	} cases[] = {
		{0.94, 1, false, VERIFY_UNKNOWN, VERIFY_PROVED, "caches",
		 "the factor is 0.9400: caches of 32 MiB may have kept up to 25 % of the 128 MiB that are repeatedly loaded"},
		/* As 1/1.024, which has a name. */
		{0.9766, 1, false, VERIFY_UNKNOWN, VERIFY_PROVED, "caches", "up to 25 %"},
		{0.75, 1, false, VERIFY_UNKNOWN, VERIFY_PROVED, "caches", "up to 25 %"},
		/* More than caches hold. */
		{0.70, 1, false, VERIFY_OFF, VERIFY_PROVED, NULL, "30.0 % too little"},
		/* Stores pass the caches: they are not it. */
		{0.97, 0.97, false, VERIFY_OFF, VERIFY_OFF, NULL, "3.0 % too little"},
		{0.94, 0.97, false, VERIFY_UNKNOWN, VERIFY_OFF, "caches", "up to 25 %"},
		/* That they pass them is a hint. */
		{0.94, 0.94, true, VERIFY_UNKNOWN, VERIFY_UNKNOWN, "caches", "up to 25 %"},
		{0.70, 0.70, true, VERIFY_OFF, VERIFY_OFF, NULL, "30.0 % too little"},
	};

	(void)s;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct verify_run run, back;

		make_hits(&run, cases[i].loads, cases[i].stores, cases[i].hinted);
		read_back(&back, &run);
		assert_int_equal(back.hinted, cases[i].hinted);
		verify_run_free(&run);
		EXPECT(&back,
		       {0, "memory.read", cases[i].loaded, cases[i].fault, cases[i].sentence},
		       {0, "memory.write", cases[i].stored,
			cases[i].stored == VERIFY_UNKNOWN ? "caches" : NULL, ""});
	}
}

/* ---- stores that stay in caches ---- */

/* A part of what is stored is counted as reads, too, or instead. */
static double read_too, written;

static double stores_are_read(const struct verify_series *s, const struct verify_cell *c,
			      double moved, double seconds)
{
	(void)s;
	(void)seconds;
	return moved * (strstr(c->metric, "read") ? read_too : written);
}

static void make_allocate(struct verify_run *run, double part_read, double part_written,
			  bool hinted)
{
	read_too = part_read;
	written = part_written;
	begin(run);
	run->hinted = hinted;
	add(run, "memory.read.bandwidth", 0, -1);
	add(run, "memory.write.bandwidth", 0, -1);
	move(run, VERIFY_WRITE, 0, 0, stores_are_read);
}

static void stores_that_stay_in_caches_are_no_fault(void **s)
{
	struct verify_run run;

	(void)s;
	make_allocate(&run, 0.05, 1, false);
	EXPECT(&run, {0, "memory.write", VERIFY_UNKNOWN, "write-allocate",
		      "5.0 % of the written data are also read (write-allocate)"});
	make_allocate(&run, 0.05, 0.93, true);
	EXPECT(&run,
	       {0, "memory.write", VERIFY_UNKNOWN, "write-allocate", "5.0 % of the written data"});
	make_allocate(&run, 1, 1, false);
	EXPECT(&run, {0, "memory.write", VERIFY_UNKNOWN, "write-allocate", "each write also"});
	/* What is counted as reads is missing in the writes. */
	make_allocate(&run, 0.05, 0.95, false);
	EXPECT(&run, {0, "memory.write", VERIFY_OFF, "astray",
		      "5.0 % of what node 0 writes is counted as reads of socket 0"});
	/* More or less than that caches could have some of it. */
	make_allocate(&run, 0.05, 2, true);
	EXPECT(&run, {0, "memory.write", VERIFY_OFF, "astray", "5.0 % of what node 0"});
	make_allocate(&run, 0.5, 0.6, true);
	EXPECT(&run, {0, "memory.write", VERIFY_OFF, "astray", "50.0 % of what node 0"});
}

/* ---- nodes that are not of a socket ---- */

static double half_at_each(const struct verify_series *s, const struct verify_cell *c, double moved,
			   double seconds)
{
	(void)seconds;
	return is_same(s, c) ? moved / 2 : 0;
}

static void interleaved_nodes_are_no_fault(void **s)
{
	(void)s;
	for (int split = 0; split < 2; split++) {
		struct verify_run run, back;

		begin(&run);
		add(&run, "memory.read.bandwidth", 0, -1);
		add(&run, "memory.read.bandwidth", 1, -1);
		move(&run, VERIFY_READ, 1, 1, half_at_each);
		verify_add_split(&run, split ? 1 : 2);
		read_back(&back, &run);
		verify_run_free(&run);
		if (split)
			EXPECT(&back, {1, "memory.read", VERIFY_UNKNOWN, "split",
				       "node 1 has CPUs of several sockets"});
		else
			EXPECT(&back, {1, "memory.read", VERIFY_OFF, "astray", "50.0 %"});
	}
}

/* ---- channels ---- */

#define CHANNELS 8

/* Of 12 modules the first channels have two each. */
static double of_modules(const struct verify_series *s, const struct verify_cell *c, double moved,
			 double seconds)
{
	double share = c->channel < 0 ? 1 : c->channel < CHANNELS / 2 ? 2 / 12.0 : 1 / 12.0;

	return right(s, c, moved, seconds) * share * loads;
}

static void more_modules_on_some_channels_are_no_fault(void **s)
{
	struct verify_result *results;
	size_t all, uneven;
	struct verify_run run;

	(void)s;
	for (int fault = 0; fault < 2; fault++) {
		enum verify_verdict verdict = fault ? VERIFY_OFF : VERIFY_UNKNOWN;

		loads = fault ? 0.6 : 1;
		uneven = 0;
		begin(&run);
		for (int channel = -1; channel < CHANNELS; channel++)
			add(&run, "memory.read.bandwidth", 0, channel);
		move(&run, VERIFY_READ, 0, 0, of_modules);
		all = verify_judge(&run, &results);
		assert_int_equal(all, 1 + CHANNELS);
		for (size_t i = 1; i < all; i++)
			uneven += results[i].verdict == verdict &&
				  strcmp(results[i].fault, "uneven") == 0;
		assert_int_equal(uneven, CHANNELS);
		assert_int_equal(verify_overall(results, all), verdict);
		free(results);
		verify_run_free(&run);
	}
}

/* ---- sockets that have no cells ---- */

/* What socket 0 counts; socket 1 is not counted. */
static double all_at_socket_0(const struct verify_series *s, const struct verify_cell *c,
			      double moved, double seconds)
{
	(void)seconds;
	return c->socket == 1 ? NAN : is_same(s, c) ? moved : 0;
}

static void a_node_without_counters_is_not_proved(void **s)
{
	static counts *const counted[] = {right, all_at_socket_0};

	(void)s;
	for (int fault = 0; fault < 2; fault++) {
		enum verify_verdict verdict = fault ? VERIFY_OFF : VERIFY_UNKNOWN;
		const char *name = fault ? "astray" : NULL;
		struct verify_run run;

		begin(&run);
		add(&run, "memory.read.bandwidth", 0, -1);
		add(&run, "memory.write.bandwidth", 0, -1);
		add(&run, "memory.read.bandwidth", 0, 0);
		for (int i = 0; i < 4; i++)
			move(&run, i / 2 ? VERIFY_WRITE : VERIFY_READ, i % 2, i % 2,
			     counted[fault]);
		EXPECT(&run, {0, "memory.read", VERIFY_PROVED, NULL, ""},
		       {1, "memory.read", verdict, name,
			fault ? "100.0 % of what node 1 reads is counted as reads of socket 0"
			      : "socket 1 has no counters of this metric"},
		       {0, "memory.write", VERIFY_PROVED, NULL, ""},
		       {1, "memory.write", verdict, name, ""});
	}
}

/* There is a row of it, without a value. */
static void a_node_that_another_socket_counts_is_off(void **s)
{
	struct verify_run run;

	(void)s;
	begin(&run);
	add(&run, "memory.read.bandwidth", 0, -1);
	add(&run, "memory.read.bandwidth", 1, -1);
	move(&run, VERIFY_READ, 0, 0, all_at_socket_0);
	move(&run, VERIFY_READ, 1, 1, all_at_socket_0);
	EXPECT(&run, {0, "memory.read", VERIFY_PROVED, NULL, ""},
	       {1, "memory.read", VERIFY_OFF, "astray",
		"100.0 % of what node 1 reads is counted as reads of socket 0"});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_traffic_that_slows_down_is_no_fault),
		cmocka_unit_test(counts_elsewhere_are_found_in_noise),
		cmocka_unit_test(links_that_carry_local_data_are_not_proved),
		cmocka_unit_test(other_traffic_that_yields_is_no_fault),
		cmocka_unit_test(changing_cache_hits_are_scatter),
		cmocka_unit_test(data_that_caches_may_have_are_not_off),
		cmocka_unit_test(stores_that_stay_in_caches_are_no_fault),
		cmocka_unit_test(interleaved_nodes_are_no_fault),
		cmocka_unit_test(more_modules_on_some_channels_are_no_fault),
		cmocka_unit_test(a_node_without_counters_is_not_proved),
		cmocka_unit_test(a_node_that_another_socket_counts_is_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
