/* SPDX-License-Identifier: MIT */
/* What rows say beside a value: the other end, the ceiling, and a socket that is missing. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "toy.h"

/* The linker sends the library's calls here: 100 GB/s for each socket of two, in four channels. */
double __wrap_unc_ceiling_memory(struct uncore *u, int socket, bool one_channel);

double __wrap_unc_ceiling_memory(struct uncore *u, int socket, bool one_channel)
{
	(void)u;
	return (socket < 0 ? 200e9 : 100e9) / (one_channel ? 4 : 1);
}

#define METRIC(name, unit, more)                          \
	"  " name ":\n    title: t\n    unit: " unit "\n" \
	"    formula: data / seconds\n    evidence: x\n" more
#define FAMILY(name, place, pmu, more)                                                           \
	"family: " name "\ntitle: t\ninstance: i\nplace: " place "\npmus: [{name: '" pmu "'}]\n" \
	"each_socket: true\n" more                                                               \
	"events: {data: {title: t, terms: event=1, evidence: x}}\nmetrics:\n" METRIC(            \
		"x.bandwidth", "B/s", "    ceiling: memory\n") METRIC("x.load", "ratio", "")     \
		METRIC("matrix.x", "B/s", "")

/* Two links of the first socket and one of the second, and a memory channel of the first. */
static void make_tree(struct toy *t, const char *rates)
{
	toy_make(t, rates);
	machine_pmu(&t->tree, "link_0", "31\n", "0\n");
	machine_pmu(&t->tree, "link_1", "32\n", "1\n");
	machine_pmu(&t->tree, "link_2", "33\n", "2\n");
	machine_pmu(&t->tree, "channel_0", "34\n", "0\n");
	tree_pmu(&t->tree, "link_0", "peer", "nr_gpu=2\n");
	tree_pmu(&t->tree, "link_1", "peer", "nr_cpu=1\n");
	tree_pmu(&t->tree, "link_2", "peer", "nr_gpu=1\n");
	tree_put(&t->tree, "data/link.yaml",
		 FAMILY("toy-link", "socket", "link_{n}",
			"role: {attribute: peer, values: {nr_gpu: GPU, nr_cpu: CPU socket}}\n"));
	tree_put(&t->tree, "data/channel.yaml",
		 FAMILY("toy-channel", "channel", "channel_{n}", ""));
}

static void make(struct toy *t, enum uncore_level level, const char *rates)
{
	make_tree(t, rates);
	toy_begin(t, level);
}

static void play(struct toy *t, const char *what)
{
	if (strchr(what, '='))
		toy_ok(t, uncore_monitor_add_events(t->m, what));
	else
		toy_ok(t, uncore_monitor_add_metrics(t->m, what));
	toy_start(t);
	toy_ok(t, uncore_monitor_read(t->m, t->s));
}

struct expected {
	int socket;
	const char *pmu, *role;
	double value, ceiling;
	enum uncore_quality quality;
	const char *reason;
};

static void assert_rows_of_port(const struct toy *t, const struct expected *all, size_t count,
				const char *port)
{
	assert_int_equal(uncore_sample_count(t->s), count);
	for (size_t i = 0; i < count; i++) {
		const struct uncore_row *row = uncore_sample_row(t->s, i);
		const struct expected *x = &all[i];

		assert_int_equal(row->place->socket, x->socket);
		assert_string_equal(row->place->pmu ? uncore_pmu_name(row->place->pmu) : "",
				    x->pmu ? x->pmu : "");
		assert_string_equal(row->place->role ? row->place->role : "",
				    x->role ? x->role : "");
		assert_true(isnan(x->value) ? isnan(row->value) : row->value == x->value);
		assert_true(isnan(x->ceiling) ? isnan(row->ceiling) : row->ceiling == x->ceiling);
		assert_int_equal(row->quality, x->quality);
		if (x->reason)
			assert_contains(row->reason, x->reason);
		else
			assert_null(row->reason);
		assert_string_equal(row->place->port ? row->place->port->address : "none", port);
	}
}

static void assert_rows(const struct toy *t, const struct expected *all, size_t count)
{
	assert_rows_of_port(t, all, count, "none");
}

#define RATE(pmu, rate) "  - {pmu: " pmu ", event: event=1, constant: " rate "}\n"
#define RATES \
	RATE("link_0", "1e9") RATE("link_1", "2e9") RATE("link_2", "4e9") RATE("channel", "1e9")

static void roles_are_not_added_up(void **state)
{
	static const struct expected machine[] = {
		{-1, NULL, "GPU", 5e9, 200e9, UNCORE_MEASURED, NULL},
		{-1, NULL, "CPU socket", 2e9, 200e9, UNCORE_MEASURED, NULL},
	};
	static const struct expected sockets[] = {
		{0, NULL, "CPU socket", 2e9, 100e9, UNCORE_MEASURED, NULL},
		{0, NULL, "GPU", 1e9, 100e9, UNCORE_MEASURED, NULL},
		{1, NULL, "GPU", 4e9, 100e9, UNCORE_MEASURED, NULL},
	};
	static const struct expected instances[] = {
		{0, "link_0", "GPU", 1e9, 100e9, UNCORE_MEASURED, NULL},
		{0, "link_1", "CPU socket", 2e9, 100e9, UNCORE_MEASURED, NULL},
		{1, "link_2", "GPU", 4e9, 100e9, UNCORE_MEASURED, NULL},
	};
	static const struct {
		enum uncore_level level;
		const struct expected *rows;
		size_t count;
	} levels[] = {{UNCORE_LEVEL_MACHINE, machine, 2},
		      {UNCORE_LEVEL_SOCKET, sockets, 3},
		      {UNCORE_LEVEL_INSTANCE, instances, 3}};

	(void)state;
	for (size_t i = 0; i < COUNT(levels); i++) {
		struct toy t;

		make(&t, levels[i].level, RATES);
		play(&t, "toy-link/x.bandwidth");
		assert_rows(&t, levels[i].rows, levels[i].count);
		toy_end(&t);
	}
}

/* One set of counters, and what each level alone makes of it. */
static void several_levels(void **state)
{
	static const struct expected rows[] = {
		{-1, NULL, NULL, 1e9, 200e9, UNCORE_PARTIAL, "socket 1 has no PMU of toy-channel"},
		{0, NULL, NULL, 1e9, 100e9, UNCORE_MEASURED, NULL},
		{1, NULL, NULL, NAN, 100e9, UNCORE_UNAVAILABLE,
		 "socket 1 has no PMU of toy-channel"},
		{0, "channel_0", NULL, 1e9, 25e9, UNCORE_MEASURED, NULL},
	};
	struct toy t;

	(void)state;
	make(&t, UNCORE_LEVEL_INSTANCE, RATES);
	toy_ok(&t, uncore_monitor_add_level(t.m, UNCORE_LEVEL_SOCKET));
	toy_ok(&t, uncore_monitor_add_level(t.m, UNCORE_LEVEL_MACHINE));
	play(&t, "toy-channel/x.bandwidth");
	assert_int_equal(uncore_monitor_counter_count(t.m), 1);
	assert_rows(&t, rows, COUNT(rows));
	toy_end(&t);
}

/* The only link to another socket is judged once for the machine and for its socket, unless their ceilings differ. */
static void rows_of_the_same_counters(void **state)
{
	static const struct {
		const char *metric;
		struct expected rows[5];
	} all[] = {
		{"toy-link/x.load",
		 {{-1, NULL, "GPU", 5e9, NAN, UNCORE_SUSPECT, "over 100 %"},
		  {-1, NULL, "CPU socket", 150e9, NAN, UNCORE_SUSPECT, "over 100 %"},
		  {0, NULL, "CPU socket", 150e9, NAN, UNCORE_SUSPECT, "over 100 %"},
		  {0, NULL, "GPU", 1e9, NAN, UNCORE_SUSPECT, "over 100 %"},
		  {1, NULL, "GPU", 4e9, NAN, UNCORE_SUSPECT, "over 100 %"}}},
		{"toy-link/x.bandwidth",
		 {{-1, NULL, "GPU", 5e9, 200e9, UNCORE_MEASURED, NULL},
		  {-1, NULL, "CPU socket", 150e9, 200e9, UNCORE_MEASURED, NULL},
		  {0, NULL, "CPU socket", 150e9, 100e9, UNCORE_SUSPECT, "more than the ceiling"},
		  {0, NULL, "GPU", 1e9, 100e9, UNCORE_MEASURED, NULL},
		  {1, NULL, "GPU", 4e9, 100e9, UNCORE_MEASURED, NULL}}},
	};
	struct toy t;

	(void)state;
	for (size_t i = 0; i < COUNT(all); i++) {
		make(&t, UNCORE_LEVEL_MACHINE,
		     RATE("link_0", "1e9") RATE("link_1", "150e9") RATE("link_2", "4e9"));
		toy_ok(&t, uncore_monitor_add_level(t.m, UNCORE_LEVEL_SOCKET));
		play(&t, all[i].metric);
		assert_rows(&t, all[i].rows, 5);
		for (size_t k = 0; k < 5; k++) {
			bool once = i == 0 && k == 2;

			assert_int_equal(uncore_sample_row(t.s, k)->number, k);
			assert_true((uncore_sample_input_at(t.s, k, 0) ==
				     uncore_sample_input_at(t.s, 1, 0)) == (once || k == 1));
		}
		toy_end(&t);
	}
}

/* The same metric again, at another level: its counter is opened once. */
static void a_level_for_each_addition(void **state)
{
	static const struct expected rows[] = {
		{-1, NULL, NULL, 1e9, 200e9, UNCORE_PARTIAL, "socket 1 has no PMU of toy-channel"},
		{0, "channel_0", NULL, 1e9, 25e9, UNCORE_MEASURED, NULL},
	};
	struct toy t;

	(void)state;
	make(&t, UNCORE_LEVEL_MACHINE, RATES);
	toy_ok(&t, uncore_monitor_add_metrics(t.m, "toy-channel/x.bandwidth"));
	toy_ok(&t, uncore_monitor_add_metrics(t.m, "toy-channel/x.bandwidth")); /* added already */
	toy_ok(&t, uncore_monitor_set_level(t.m, UNCORE_LEVEL_INSTANCE));
	play(&t, "toy-channel/x.bandwidth");
	assert_int_equal(uncore_monitor_counter_count(t.m), 1);
	assert_rows(&t, rows, COUNT(rows));
	toy_end(&t);
}

/* Channels have rows of their own, numbered on their socket; what is not a channel has one for each socket, once. */
static void channels(void **state)
{
	static const struct {
		int socket, channel;
		const char *pmu;
	} expected[] = {{0, 0, "channel_0"}, {0, 1, "channel_2"}, {1, 0, "channel_1"}};
	struct toy t;

	(void)state;
	make(&t, UNCORE_LEVEL_CHANNEL, RATES);
	machine_pmu(&t.tree, "channel_1", "35\n", "2\n");
	machine_pmu(&t.tree, "channel_2", "36\n", "1\n");
	uncore_monitor_free(t.m);
	toy_ok(&t, uncore_scan(t.u));
	toy_ok(&t, uncore_monitor_new(&t.m, t.u));
	toy_ok(&t, uncore_monitor_set_level(t.m, UNCORE_LEVEL_CHANNEL));
	toy_ok(&t, uncore_monitor_add_level(t.m, UNCORE_LEVEL_SOCKET));
	toy_ok(&t, uncore_monitor_add_metrics(t.m, "toy-channel/x.bandwidth"));
	play(&t, "toy-link/x.bandwidth");
	assert_int_equal(uncore_sample_count(t.s), 2 + 3 + 3);
	for (size_t i = 0; i < 8; i++) {
		const struct uncore_row *row = uncore_sample_row(t.s, i);
		bool channel = i >= 2 && i < 5;

		assert_int_equal(row->place->channel, channel ? expected[i - 2].channel : -1);
		if (channel) {
			assert_int_equal(row->place->socket, expected[i - 2].socket);
			assert_string_equal(uncore_pmu_name(row->place->pmu), expected[i - 2].pmu);
			assert_true(row->ceiling == 25e9);
		} else {
			assert_null(row->place->pmu);
		}
	}
	toy_end(&t);
}

/* As perf adds them up. */
static void events_have_a_role_one_by_one_only(void **state)
{
	static const struct expected sum = {-1, NULL, NULL, 7e9, NAN, UNCORE_MEASURED, NULL};
	struct toy t;

	(void)state;
	make(&t, UNCORE_LEVEL_MACHINE, RATES);
	play(&t, "link/event=1/");
	assert_rows(&t, &sum, 1);
	toy_end(&t);
	make(&t, UNCORE_LEVEL_INSTANCE, RATES);
	play(&t, "link/event=1/");
	assert_string_equal(uncore_sample_row(t.s, 1)->place->role, "CPU socket");
	toy_end(&t);
}

static void a_role_without_its_file(void **state)
{
	char peer[400];
	struct toy t;

	(void)state;
	make(&t, UNCORE_LEVEL_INSTANCE, RATES);
	tree_pmu(&t.tree, "link_0", "peer", "nr_other=1\n");
	snprintf(peer, sizeof(peer), "%s/" TREE_PMU "link_1/peer", t.tree.dir);
	tree_require(unlink(peer) == 0, peer);
	uncore_monitor_free(t.m);
	toy_ok(&t, uncore_scan(t.u));
	toy_ok(&t, uncore_monitor_new(&t.m, t.u));
	play(&t, "toy-link/x.bandwidth");
	assert_int_equal(uncore_sample_count(t.s), 2);
	assert_null(uncore_sample_row(t.s, 0)->place->role);
	assert_true(uncore_sample_row(t.s, 0)->value == 3e9);
	assert_string_equal(uncore_sample_row(t.s, 1)->place->role, "GPU");
	toy_end(&t);
}

static void a_socket_without_pmu(void **state)
{
	static const struct expected machine = {
		-1, NULL, NULL, 1e9, 200e9, UNCORE_PARTIAL, "socket 1 has no PMU of toy-channel"};
	static const struct expected sockets[] = {
		{0, NULL, NULL, 1e9, 100e9, UNCORE_MEASURED, NULL},
		{1, NULL, NULL, NAN, 100e9, UNCORE_UNAVAILABLE,
		 "socket 1 has no PMU of toy-channel"},
	};
	static const struct expected instance = {0,    "channel_0",     NULL, 1e9,
						 25e9, UNCORE_MEASURED, NULL};
	struct toy t;

	(void)state;
	make(&t, UNCORE_LEVEL_MACHINE, RATES);
	play(&t, "toy-channel/x.bandwidth");
	assert_rows(&t, &machine, 1);
	toy_end(&t);
	make(&t, UNCORE_LEVEL_SOCKET, RATES);
	play(&t, "toy-channel/x.bandwidth");
	assert_rows(&t, sockets, 2);
	toy_end(&t);
	make(&t, UNCORE_LEVEL_INSTANCE, RATES);
	play(&t, "toy-channel/x.bandwidth");
	assert_rows(&t, &instance, 1);
	toy_end(&t);
}

/* The first socket may be the one without. */
static void the_first_socket_without_pmu(void **state)
{
	static const struct expected sockets[] = {
		{0, NULL, NULL, NAN, 100e9, UNCORE_UNAVAILABLE,
		 "socket 0 has no PMU of toy-channel"},
		{1, NULL, NULL, 1e9, 100e9, UNCORE_MEASURED, NULL},
	};
	struct toy t;

	(void)state;
	make(&t, UNCORE_LEVEL_SOCKET, RATES);
	machine_pmu(&t.tree, "channel_0", "34\n", "2\n");
	uncore_monitor_free(t.m);
	toy_ok(&t, uncore_scan(t.u));
	toy_ok(&t, uncore_monitor_new(&t.m, t.u));
	toy_ok(&t, uncore_monitor_set_level(t.m, UNCORE_LEVEL_SOCKET));
	play(&t, "toy-channel/x.bandwidth");
	assert_rows(&t, sockets, 2);
	toy_end(&t);
}

/* Its CPUs are in no topology file, and in no cpumask. */
static void a_socket_that_is_offline(void **state)
{
	static const enum uncore_level levels[] = {UNCORE_LEVEL_MACHINE, UNCORE_LEVEL_SOCKET};
	struct toy t;

	(void)state;
	for (size_t i = 0; i < COUNT(levels); i++) {
		const struct uncore_row *row;

		make(&t, levels[i], RATES);
		uncore_monitor_free(t.m);
		tree_put(&t.tree, "sys/devices/system/cpu/online", "0-1\n");
		tree_cpu(&t.tree, 2, "physical_package_id", "\n");
		tree_cpu(&t.tree, 3, "physical_package_id", "\n");
		tree_put(&t.tree, "sys/devices/system/node/node0/cpulist", "0-1\n");
		tree_put(&t.tree, "sys/devices/system/node/node1/cpulist", "\n");
		tree_put(&t.tree, "sys/devices/system/node/node1/cpu2/online", "0\n");
		tree_put(&t.tree, "sys/devices/system/node/node1/cpu3/online", "0\n");
		toy_ok(&t, uncore_scan(t.u));
		toy_ok(&t, uncore_monitor_new(&t.m, t.u));
		uncore_monitor_set_level(t.m, levels[i]);
		play(&t, "toy-channel/x.bandwidth");
		assert_int_equal(uncore_sample_count(t.s), i + 1);
		row = uncore_sample_row(t.s, i);
		assert_int_equal(row->place->socket, i ? 1 : -1);
		assert_int_equal(row->quality, i ? UNCORE_UNAVAILABLE : UNCORE_PARTIAL);
		assert_contains(row->reason, "socket 1 has no CPU online");
		assert_contains(row->reason, "cpu/cpu2/online");
		toy_end(&t);
	}
}

static void gaps_of_all_kinds_have_reasons(void **state)
{
	const struct uncore_row *row;
	struct toy t;

	(void)state;
	make(&t, UNCORE_LEVEL_MACHINE, RATES);
	machine_pmu(&t.tree, "channel_1", "36\n", "\n");
	uncore_monitor_free(t.m);
	toy_ok(&t, uncore_scan(t.u));
	toy_ok(&t, uncore_monitor_new(&t.m, t.u));
	play(&t, "toy-channel/x.bandwidth");
	row = uncore_sample_row(t.s, 0);
	assert_true(row->value == 1e9);
	assert_int_equal(row->quality, UNCORE_PARTIAL);
	assert_contains(row->reason, "1 PMU left out: channel_1 has no CPU to be counted from");
	assert_contains(row->reason, "; socket 1 has no PMU of toy-channel");
	toy_end(&t);
}

/* Who asks for one port of one socket misses nothing on the others. */
static void a_port_is_on_one_socket(void **state)
{
	static const struct expected row = {-1, NULL, NULL, 1e9, 200e9, UNCORE_MEASURED, NULL};
	struct toy t;

	(void)state;
	toy_make(&t, "  - {pmu: bus_0_rc_1, event: 'event=1,umask=2', constant: 1e9}\n");
	machine_pmu(&t.tree, "bus_0_rc_1", "35\n", "0\n");
	tree_put(&t.tree, "data/bus.yaml",
		 FAMILY("toy-bus", "stack", "bus_{socket}_rc_{rc}",
			"filters: {port: {title: t, terms: 'umask={mask}'}}\n"));
	toy_begin(&t, UNCORE_LEVEL_MACHINE);
	toy_ok(&t, uncore_monitor_set_filter(t.m, "port", "0:1:1"));
	play(&t, "toy-bus/x.bandwidth");
	assert_string_equal(uncore_sample_row(t.s, 0)->query->filter, "port=0:1:1");
	assert_rows_of_port(&t, &row, 1, "0:1:1");
	toy_end(&t);
}

/* 5 % over is believed, more is not. */
static void over_the_ceiling(void **state)
{
	static const struct {
		const char *rate;
		enum uncore_quality quality;
		const char *reason;
	} all[] = {
		{RATE("channel", "26.25e9"), UNCORE_MEASURED, NULL},
		{RATE("channel", "26.26e9"), UNCORE_SUSPECT,
		 "26260000000 B/s are more than the ceiling of 25000000000 B/s"},
	};
	struct toy t;

	(void)state;
	for (size_t i = 0; i < COUNT(all); i++) {
		make(&t, UNCORE_LEVEL_INSTANCE, all[i].rate);
		play(&t, "toy-channel/x.bandwidth");
		assert_int_equal(uncore_sample_row(t.s, 0)->quality, all[i].quality);
		if (all[i].reason)
			assert_string_equal(uncore_sample_row(t.s, 0)->reason, all[i].reason);
		toy_end(&t);
	}
}

static void over_100_percent(void **state)
{
	static const struct expected rows[] = {
		{0, "link_0", "GPU", 1, NAN, UNCORE_MEASURED, NULL},
		{0, "link_1", "CPU socket", 2, NAN, UNCORE_SUSPECT, "over 100 %"},
		{1, "link_2", "GPU", 1, NAN, UNCORE_MEASURED, NULL},
	};
	struct toy t;

	(void)state;
	make(&t, UNCORE_LEVEL_INSTANCE, RATE("link_1", "2") RATE("link", "1"));
	play(&t, "toy-link/x.load");
	assert_rows(&t, rows, 3);
	toy_end(&t);
}

#define REFUSED RATE("link_0", "1e9, refuse: EINVAL") RATE("link", "2e9") RATE("channel", "1e9")
#define SHARE(name, of) METRIC(name, "ratio", "    over: " of "\n")

/* Over the sum of the rows of the same place, in B/s, or their mean. Socket 1 lacks a channel, so that its sum is not
 * known; nor is that of socket 0 without one of its links. The metrics that are divided by have no rows, unless they
 * are asked for. */
static void shares_of_other_metrics(void **state)
{
	static const struct expected sum[] = {
		{0, NULL, NULL, 0.25, NAN, UNCORE_MEASURED, NULL},
		{1, NULL, NULL, NAN, NAN, UNCORE_UNAVAILABLE, "x.bandwidth has no value"},
	};
	static const struct expected mean[] = {
		{0, NULL, NULL, 0.75, NAN, UNCORE_MEASURED, NULL},
		{1, NULL, NULL, NAN, NAN, UNCORE_UNAVAILABLE, "x.load has no value"},
	};
	struct toy t;

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		make_tree(&t, i == 4 ? REFUSED RATE("share", "1e9") : RATES RATE("share", "1e9"));
		if (i == 3)
			machine_pmu(&t.tree, "channel_1", "37\n",
				    "\n"); /* partial, and not the whole */
		machine_pmu(&t.tree, "share_0", "35\n", "0\n");
		machine_pmu(&t.tree, "share_1", "36\n", "2\n");
		tree_put(
			&t.tree, "data/share.yaml",
			"family: toy-share\ntitle: t\ninstance: i\nplace: link\n"
			"pmus: [{name: 'share_{n}'}]\n"
			"events: {data: {title: t, terms: event=1, evidence: x}}\nmetrics:\n" SHARE(
				"x.share", "x.bandwidth") SHARE("y.share", "x.load"));
		toy_begin(&t, UNCORE_LEVEL_SOCKET);
		if (i == 2)
			toy_ok(&t, uncore_monitor_add_metrics(t.m, "x.share"));
		play(&t, i == 2 ? "x.bandwidth" : i == 1 ? "y.share" : "x.share");
		if (i < 2)
			assert_rows(&t, i ? mean : sum, 2);
		else if (i == 2)
			assert_int_equal(uncore_sample_count(t.s), 2 + 5);
		else
			assert_true(isnan(uncore_sample_row(t.s, 0)->value));
		toy_end(&t);
	}
}

static void wildcards_leave_out_the_matrix(void **state)
{
	static const struct {
		const char *pattern;
		bool matrix;
	} all[] = {
		{"*", false},          {"?atrix.x", false}, {"toy-link/*", false},
		{"*.x", false},        {"matrix.*", true},  {"toy-link/matrix.*", true},
		{"toy-link/m*", true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(all); i++) {
		struct toy t;
		bool found = false;
		int r;

		make(&t, UNCORE_LEVEL_MACHINE, RATES);
		r = uncore_monitor_add_metrics(t.m, all[i].pattern);
		if (r == 0) {
			toy_start(&t);
			toy_ok(&t, uncore_monitor_read(t.m, t.s));
			for (size_t k = 0; k < uncore_sample_count(t.s); k++)
				found = found || strcmp(uncore_sample_row(t.s, k)->query->name,
							"matrix.x") == 0;
		}
		assert_true(found == all[i].matrix);
		toy_end(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roles_are_not_added_up),
		cmocka_unit_test(several_levels),
		cmocka_unit_test(rows_of_the_same_counters),
		cmocka_unit_test(a_level_for_each_addition),
		cmocka_unit_test(channels),
		cmocka_unit_test(events_have_a_role_one_by_one_only),
		cmocka_unit_test(a_role_without_its_file),
		cmocka_unit_test(a_socket_without_pmu),
		cmocka_unit_test(the_first_socket_without_pmu),
		cmocka_unit_test(a_socket_that_is_offline),
		cmocka_unit_test(gaps_of_all_kinds_have_reasons),
		cmocka_unit_test(a_port_is_on_one_socket),
		cmocka_unit_test(over_the_ceiling),
		cmocka_unit_test(over_100_percent),
		cmocka_unit_test(shares_of_other_metrics),
		cmocka_unit_test(wildcards_leave_out_the_matrix),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
