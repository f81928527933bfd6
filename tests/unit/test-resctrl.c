/* SPDX-License-Identifier: MIT */
/* Groups of resctrl in a directory of plain files, which the test writes as the kernel would. */
#include "uncore.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "helpers.h"
#include "machine/pmu.h"
#include "tree.h"

#define TOP "sys/fs/resctrl/"
#define CACHE(n) "mon_data/mon_L3_0" #n "/"

/* Two sockets of two CPUs, each a cache and a node. */
struct machine {
	struct tree tree;
	struct uncore *u;
	struct uncore_monitor *m;
	struct uncore_sample *sample;
};

static void put(struct machine *x, const char *path, const char *text)
{
	char whole[300];

	snprintf(whole, sizeof(whole), TOP "%s", path);
	tree_put(&x->tree, whole, text);
}

/* The files of a group on both caches. */
static void put_group(struct machine *x, const char *group)
{
	static const char *const files[][2] = {
		{"llc_occupancy", "4096\n"},
		{"mbm_total_bytes", "1000\n"},
		{"mbm_local_bytes", "500\n"},
	};
	char path[200];

	for (int cache = 0; cache < 2; cache++)
		for (size_t i = 0; i < 3; i++) {
			snprintf(path, sizeof(path), "%smon_data/mon_L3_%02d/%s", group, cache,
				 files[i][0]);
			put(x, path, files[i][1]);
		}
}

static void remove_path(struct machine *x, const char *path)
{
	struct tree below;

	snprintf(below.dir, sizeof(below.dir), "%.100s/" TOP "%s", x->tree.dir, path);
	tree_remove(&below);
}

static int set_up(void **state)
{
	struct machine *x = calloc(1, sizeof(*x));
	char path[100], id[16];

	*state = x;
	tree_make(&x->tree);
	tree_put(&x->tree, "sys/devices/system/cpu/present", "0-3\n");
	tree_put(&x->tree, "sys/devices/system/cpu/online", "0-3\n");
	tree_put(&x->tree, "sys/devices/system/node/node0/cpulist", "0-1\n");
	tree_put(&x->tree, "sys/devices/system/node/node1/cpulist", "2-3\n");
	for (int cpu = 0; cpu < 4; cpu++) {
		snprintf(id, sizeof(id), "%d\n", cpu / 2);
		tree_cpu(&x->tree, cpu, "physical_package_id", id);
		snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%d/cache/index3/id", cpu);
		tree_put(&x->tree, path, id);
	}
	put_group(x, "");
	assert_int_equal(uncore_new(&x->u), 0);
	assert_int_equal(uncore_sample_new(&x->sample), 0);
	assert_int_equal(uncore_set_root(x->u, x->tree.dir), 0);
	assert_int_equal(uncore_set_source(x->u, "resctrl"), 0);
	return 0;
}

static int tear_down(void **state)
{
	struct machine *x = *state;

	uncore_monitor_free(x->m);
	uncore_sample_free(x->sample);
	uncore_free(x->u);
	tree_remove(&x->tree);
	free(x);
	return 0;
}

/* Counts a metric, or an event (with a slash). */
static void begin_scanned(struct machine *x, enum uncore_level level, const char *what)
{
	assert_int_equal(uncore_monitor_new(&x->m, x->u), 0);
	assert_int_equal(uncore_monitor_set_level(x->m, level), 0);
	assert_int_equal(strchr(what, '/') ? uncore_monitor_add_events(x->m, what)
					   : uncore_monitor_add_metrics(x->m, what),
			 0);
	assert_int_equal(uncore_monitor_open(x->m), 0);
	assert_int_equal(uncore_monitor_start(x->m), 0);
}

static void begin(struct machine *x, enum uncore_level level, const char *what)
{
	assert_int_equal(uncore_scan(x->u), 0);
	begin_scanned(x, level, what);
}

/* The row of a group after a reading; socket -1: of all. */
static const struct uncore_row *row(struct machine *x, const char *group, int socket)
{
	for (size_t i = 0; i < uncore_sample_count(x->sample); i++) {
		const struct uncore_row *r = uncore_sample_row(x->sample, i);

		if (strcmp(r->place->role, group) == 0 && r->place->socket == socket)
			return r;
	}
	fail_msg("no row of %s on socket %d", group, socket);
	return NULL;
}

static const struct uncore_row *next(struct machine *x, const char *group, int socket)
{
	assert_int_equal(uncore_monitor_read(x->m, x->sample), 0);
	return row(x, group, socket);
}

/* The intervals are so short that a late reading makes the time uncertain, but not the count. NULL: any reason. */
static void has_quality(const struct uncore_row *r, enum uncore_quality quality, const char *reason)
{
	bool late = r->reason && strstr(r->reason, "it was not read when the interval");

	if (!late && (r->quality != quality || (reason && !strstr(r->reason, reason))))
		fail_msg("%s: %s", uncore_quality_name(r->quality), r->reason);
}

static void is_measured(const struct uncore_row *r, double value)
{
	has_quality(r, UNCORE_MEASURED, NULL);
	assert_true(r->value == value);
}

static void is_not(const struct uncore_row *r, enum uncore_quality quality, const char *reason)
{
	assert_int_equal(r->quality, quality);
	assert_true(r->value != r->value);
	if (!strstr(r->reason, reason))
		fail_msg("'%s' is not in: %s", reason, r->reason);
}

/* ---- what there is -------------------------------------------------------------------------------- */

static void groups_and_caches(void **state)
{
	static const char *const names[][3] = {
		{"resctrl_0_l3_0", "/", "L3 0"},      {"resctrl_0_l3_1", "/", "L3 1"},
		{"resctrl_1_l3_0", "/x", "L3 0"},     {"resctrl_1_l3_1", "/x", "L3 1"},
		{"resctrl_2_l3_0", "web", "L3 0"},    {"resctrl_2_l3_1", "web", "L3 1"},
		{"resctrl_3_l3_0", "web/db", "L3 0"}, {"resctrl_3_l3_1", "web/db", "L3 1"},
	};
	struct machine *x = *state;

	put_group(x, "mon_groups/x/");
	put_group(x, "web/");
	put_group(x, "web/mon_groups/db/");
	put(x, "info/L3_MON/mon_features", "llc_occupancy\n");
	put(x, "mon_data/mon_PERF_PKG_00/core_energy", "12.5\n");
	assert_int_equal(uncore_scan(x->u), 0);
	assert_int_equal(uncore_pmu_count(x->u), 8);
	for (size_t i = 0; i < 8; i++) {
		const struct uncore_pmu *p = uncore_pmu_at(x->u, i);

		assert_string_equal(uncore_pmu_name(p), names[i][0]);
		assert_string_equal(uncore_pmu_role(p), names[i][1]);
		assert_string_equal(uncore_pmu_identifier(p), names[i][2]);
		assert_string_equal(uncore_pmu_family(p), "resctrl");
		assert_int_equal(uncore_pmu_cpu_count(p), 1);
		assert_int_equal(uncore_pmu_cpu_at(p, 0), i % 2 * 2);
	}
}

static void without_resctrl(void **state)
{
	struct machine *x = *state;

	remove_path(x, "mon_data");
	put(x, "info/x", "\n");
	assert_int_equal(uncore_scan(x->u), -ENODEV);
	assert_non_null(strstr(uncore_error(x->u), "no mon_data"));
	remove_path(x, "");
	assert_int_equal(uncore_scan(x->u), -ENODEV);
	assert_non_null(strstr(uncore_error(x->u), "not mounted"));
}

static void groups_that_cannot_be_read(void **state)
{
	struct machine *x = *state;

	put_group(x, "web/");
	put(x, "web/mon_groups", "no directory\n");
	assert_int_equal(uncore_scan(x->u), -ENOTDIR);
	assert_string_equal(uncore_error(x->u), "the groups below /sys/fs/resctrl cannot be read: "
						"Not a directory");
}

static void a_cache_without_cpus(void **state)
{
	struct machine *x = *state;

	put_group(x, "web/");
	put(x, "mon_data/mon_L3_07/mon_sub_L3_09/mbm_total_bytes", "1\n");
	begin(x, UNCORE_LEVEL_MACHINE, "group.memory.bandwidth");
	assert_non_null(strstr(uncore_pmu_broken(uncore_pmu_at(x->u, 2)),
			       "no CPU online has the cache 7 and is in node 9"));
	has_quality(next(x, "/", -1), UNCORE_PARTIAL, NULL);
	has_quality(row(x, "web", -1), UNCORE_MEASURED, NULL);
	uncore_monitor_free(x->m);
	begin(x, UNCORE_LEVEL_INSTANCE, "group.memory.bandwidth");
	is_not(next(x, "/", -1), UNCORE_UNAVAILABLE, "no CPU online has the cache 7");
}

/* ---- counts --------------------------------------------------------------------------------------- */

/* Groups are not added up: those of control groups contain those of their monitor groups. */
static void what_moved(void **state)
{
	struct machine *x = *state;
	const struct uncore_row *r;

	put_group(x, "web/");
	put_group(x, "web/mon_groups/db/");
	begin(x, UNCORE_LEVEL_MACHINE, "resctrl*/mbm_total_bytes/");
	put(x, "web/" CACHE(0) "mbm_total_bytes", "4000\n");
	put(x, "web/" CACHE(1) "mbm_total_bytes", "2000\n");
	put(x, "web/mon_groups/db/" CACHE(1) "mbm_total_bytes", "1600\n");
	is_measured(next(x, "web", -1), 4000);
	is_measured(row(x, "web/db", -1), 600);
	is_measured(row(x, "/", -1), 0);
	put(x, CACHE(0) "mbm_total_bytes", "18446744073709551615\n");
	put(x, CACHE(1) "mbm_total_bytes", "1007\n");
	r = next(x, "/", -1);
	assert_int_equal(r->quality, UNCORE_SUSPECT);
	assert_true(r->value == 7);
	is_measured(row(x, "web", -1), 0);
}

static void metrics(void **state)
{
	struct machine *x = *state;
	const struct uncore_row *r;

	begin(x, UNCORE_LEVEL_SOCKET, "group.memory.bandwidth");
	put(x, CACHE(1) "mbm_total_bytes", "65000\n");
	r = next(x, "/", 1);
	has_quality(r, UNCORE_MEASURED, NULL);
	assert_true(r->value * r->counted->seconds > 63999.9 &&
		    r->value * r->counted->seconds < 64000.1);
	is_measured(row(x, "/", 0), 0);
	uncore_monitor_free(x->m);
	begin(x, UNCORE_LEVEL_MACHINE, "group.memory.local.ratio");
	put(x, CACHE(0) "mbm_total_bytes", "2000\n");
	put(x, CACHE(0) "mbm_local_bytes", "750\n");
	r = next(x, "/", -1);
	assert_true(r->value > 0); /* 0.25, but for the time between the readings of both files */
	uncore_monitor_free(x->m);
	begin(x, UNCORE_LEVEL_SOCKET, "group.cache.occupancy");
	put(x, CACHE(0) "llc_occupancy", "123\n");
	is_measured(next(x, "/", 0), 123);
	is_measured(row(x, "/", 1), 4096);
	assert_int_equal(uncore_monitor_total(x->m, x->sample), 0);
	is_measured(row(x, "/", 0), 123);
}

static void words_instead_of_numbers(void **state)
{
	static const char *const words[][2] = {
		{"Unavailable\n", "'Unavailable'"},
		{"Unassigned\n", "mbm_assign_mode"},
		{"Error\n", "'Error'"},
		{"12.5\n", "no whole number"},
		{"\n", "no whole number"},
		{"-1\n", "no whole number"},
	};
	struct machine *x = *state;

	begin(x, UNCORE_LEVEL_SOCKET, "resctrl*/mbm_total_bytes/");
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		put(x, CACHE(0) "mbm_total_bytes", words[i][0]);
		is_not(next(x, "/", 0), UNCORE_UNAVAILABLE, words[i][1]);
		is_measured(row(x, "/", 1), 0);
		/* It begins again with another base: that interval has nothing, and the next one is right. */
		put(x, CACHE(0) "mbm_total_bytes", "123\n");
		is_not(next(x, "/", 0), UNCORE_UNAVAILABLE, words[i][1]);
		put(x, CACHE(0) "mbm_total_bytes", "223\n");
		is_measured(next(x, "/", 0), 100);
	}
	assert_int_equal(uncore_monitor_total(x->m, x->sample), 0);
	has_quality(row(x, "/", 0), UNCORE_PARTIAL, NULL);
	assert_true(row(x, "/", 0)->value == 600);
}

/* linux fs/resctrl/monitor.c, mon_event_count(): a control group's count is the sum of those of its monitor groups that can
 * be read. */
static void a_control_group_lacks_groups_without_a_count(void **state)
{
	struct machine *x = *state;

	put_group(x, "mon_groups/db/");
	put_group(x, "web/");
	put_group(x, "web/mon_groups/php/");
	begin(x, UNCORE_LEVEL_SOCKET, "resctrl*/mbm_total_bytes/");
	put(x, CACHE(0) "mbm_total_bytes", "1010\n");
	is_measured(next(x, "/", 0), 10);
	/* Its 1000 bytes are not in the sum any more, but 2000 others are. */
	put(x, "mon_groups/db/" CACHE(0) "mbm_total_bytes", "Unavailable\n");
	put(x, CACHE(0) "mbm_total_bytes", "2010\n");
	is_not(next(x, "/", 0), UNCORE_SUSPECT, "a monitor group below it");
	is_measured(row(x, "/", 1), 0);
	is_measured(row(x, "web", 0), 0);
	put(x, CACHE(0) "mbm_total_bytes", "2060\n");
	assert_true(next(x, "/", 0)->value == 50);
	has_quality(row(x, "/", 0), UNCORE_PARTIAL, "leaves out monitor groups");
	/* It is in it again. */
	put(x, "mon_groups/db/" CACHE(0) "mbm_total_bytes", "1300\n");
	put(x, CACHE(0) "mbm_total_bytes", "3400\n");
	is_not(next(x, "/", 0), UNCORE_SUSPECT, "a monitor group below it");
	put(x, CACHE(0) "mbm_total_bytes", "3401\n");
	is_measured(next(x, "/", 0), 1);
	/* Removed: the sum has lost its count, and lacks nothing. */
	remove_path(x, "web/mon_groups/php");
	put(x, "web/" CACHE(0) "mbm_total_bytes", "1500\n");
	is_not(next(x, "web", 0), UNCORE_SUSPECT, "was removed");
	is_measured(row(x, "/", 0), 0);
	put(x, "web/" CACHE(0) "mbm_total_bytes", "1501\n");
	is_measured(next(x, "web", 0), 1);
	/* The occupancy, too. */
	uncore_monitor_free(x->m);
	x->m = NULL;
	put(x, "mon_groups/db/" CACHE(0) "llc_occupancy", "Unavailable\n");
	begin(x, UNCORE_LEVEL_SOCKET, "group.cache.occupancy");
	assert_true(next(x, "/", 0)->value == 4096);
	has_quality(row(x, "/", 0), UNCORE_PARTIAL, NULL);
	is_measured(row(x, "/", 1), 4096);
}

/* Puts the group /db into a state: N it has a number, W a word, n and w likewise without tasks, R it was removed. The kernel adds
 * its number to that of the default group, whose own is `own`. */
static void put_part(struct machine *x, char is, char was, unsigned own)
{
	static unsigned number;
	bool has = is == 'N' || is == 'n';
	char text[40];

	if (is == 'R' && was != 'R')
		remove_path(x, "mon_groups/db");
	number = is == 'R' ? 0 : !was ? 500 : number;
	if (is != 'R' && (!was || was == 'R'))
		put_group(x, "mon_groups/db/");
	snprintf(text, sizeof(text), "%u\n", number);
	if (is != 'R')
		put(x, "mon_groups/db/" CACHE(0) "mbm_total_bytes", has ? text : "Unavailable\n");
	snprintf(text, sizeof(text), "%u\n", own + (has ? number : 0));
	put(x, CACHE(0) "mbm_total_bytes", text);
}

/* The row of the default group at each reading is . measured, P partial, or S without a value. */
static void check_transitions(struct machine *x, const char *states, const char *rows, bool counted)
{
	struct unc_slot slot = {.name = "db", .dir = -1};
	bool own = strpbrk(states, "nw"); /* a group of this process */
	char path[sizeof(x->tree.dir) + sizeof(TOP "mon_groups/db")];

	snprintf(path, sizeof(path), "%s/" TOP "mon_groups/db", x->tree.dir);
	for (size_t i = 0; states[i]; i++) {
		put_part(x, states[i], i ? states[i - 1] : '\0', 1000 + 10 * (unsigned)i);
		close(slot.dir);
		slot.dir = open(path, O_PATH | O_DIRECTORY);
		strcpy(slot.next, strchr("nw", states[i]) ? "" : "tasks");
		if (!i) {
			assert_int_equal(uncore_scan(x->u), 0);
			for (size_t p = 0; own && p < uncore_pmu_count(x->u); p++)
				if (strcmp(uncore_pmu_role(uncore_pmu_at(x->u, p)), "/db") == 0)
					((struct uncore_pmu *)(uintptr_t)uncore_pmu_at(x->u, p))
						->slot = &slot;
			begin_scanned(x, UNCORE_LEVEL_SOCKET,
				      counted ? "resctrl*/mbm_total_bytes/"
					      : "resctrl_0_l3_0/mbm_total_bytes/");
			continue;
		}
		next(x, "/", 0);
		if (rows[i - 1] == 'S') {
			is_not(row(x, "/", 0), UNCORE_SUSPECT, "a monitor group below it");
			continue;
		}
		if (row(x, "/", 0)->value != 10)
			fail_msg("%s[%zu]: %g, %s", states, i, row(x, "/", 0)->value,
				 row(x, "/", 0)->reason);
		has_quality(row(x, "/", 0), rows[i - 1] == 'P' ? UNCORE_PARTIAL : UNCORE_MEASURED,
			    NULL);
	}
	close(slot.dir);
	uncore_monitor_free(x->m);
	x->m = NULL;
	if (states[strlen(states) - 1] != 'R')
		remove_path(x, "mon_groups/db");
}

static void transitions_of_a_part(void **state)
{
	static const char *const table[][2] = {
		{"NNN", ".."},   {"NWWN", "SPS"}, {"WWW", "PP"},   {"NRR", "S."},   {"WRR", ".."},
		{"NRNN", "S.."}, {"WRWN", ".PS"}, {"NnnN", "..."}, {"nnNn", "..."}, {"WwwW", "PPP"},
		{"wWw", "PP"},   {"wNN", "S."},   {"NwwN", "SPS"}, {"nWW", "SP"},   {"nRn", "S."},
		{"wRR", ".."},   {"WnW", "SS"},
	};

	for (size_t t = 0; t < sizeof(table) / sizeof(*table); t++) {
		check_transitions(*state, table[t][0], table[t][1], true);
		/* It is looked at if only the default group is counted, too. */
		if (!strpbrk(table[t][0], "nw"))
			check_transitions(*state, table[t][0], table[t][1], false);
	}
}

/* Without a word between: an overflow that the kernel took for a step, or mbm_total_bytes_config was written. */
static void counts_that_begin_again(void **state)
{
	struct machine *x = *state;

	begin(x, UNCORE_LEVEL_SOCKET, "resctrl*/mbm_total_bytes/");
	put(x, CACHE(0) "mbm_total_bytes", "400\n");
	is_not(next(x, "/", 0), UNCORE_SUSPECT, "fell between two readings");
	put(x, CACHE(0) "mbm_total_bytes", "700\n");
	is_measured(next(x, "/", 0), 300);
	/* 44 bits of 64 bytes: the counter of an AMD group that lost its hardware and got it back. */
	put(x, CACHE(0) "mbm_total_bytes", "1125899906842624\n");
	is_not(next(x, "/", 0), UNCORE_SUSPECT, "more between two readings than it can count");
	assert_int_equal(uncore_monitor_total(x->m, x->sample), 0);
	is_not(row(x, "/", 0), UNCORE_SUSPECT, "fell between two readings");
}

static void a_group_made_again(void **state)
{
	struct machine *x = *state;

	put_group(x, "web/");
	begin(x, UNCORE_LEVEL_SOCKET, "resctrl*/mbm_total_bytes/");
	remove_path(x, "web");
	is_not(next(x, "web", 0), UNCORE_UNAVAILABLE, "removed");
	is_measured(row(x, "/", 0), 0);
	put_group(x, "web/");
	is_not(next(x, "web", 0), UNCORE_UNAVAILABLE, "removed");
	put(x, "web/" CACHE(0) "mbm_total_bytes", "1500\n");
	next(x, "web", 0);
	put(x, "web/" CACHE(0) "mbm_total_bytes", "1600\n");
	is_measured(next(x, "web", 0), 100);
	/* Between two readings: the new group's count may be higher than the old one's. */
	remove_path(x, "web");
	put_group(x, "web/");
	put(x, "web/" CACHE(0) "mbm_total_bytes", "5000\n");
	is_not(next(x, "web", 0), UNCORE_UNAVAILABLE, "removed");
	next(x, "web", 0);
	put(x, "web/" CACHE(0) "mbm_total_bytes", "5001\n");
	is_measured(next(x, "web", 0), 1);
}

/* ---- models --------------------------------------------------------------------------------------- */

/* The cache's own files are the sums of those of its nodes. */
static void nodes_of_a_cache(void **state)
{
	struct machine *x = *state;
	const struct uncore_row *r;

	tree_put(&x->tree, "sys/devices/system/node/node0/cpulist", "0\n");
	tree_put(&x->tree, "sys/devices/system/node/node2/cpulist", "1\n");
	put(x, CACHE(0) "mon_sub_L3_00/mbm_total_bytes", "100\n");
	put(x, CACHE(0) "mon_sub_L3_02/mbm_total_bytes", "900\n");
	remove_path(x, "mon_data/mon_L3_01");
	begin(x, UNCORE_LEVEL_MACHINE, "resctrl*/mbm_total_bytes/");
	assert_int_equal(uncore_pmu_count(x->u), 2);
	assert_string_equal(uncore_pmu_name(uncore_pmu_at(x->u, 1)), "resctrl_0_l3_0_node_2");
	assert_string_equal(uncore_pmu_identifier(uncore_pmu_at(x->u, 1)), "L3 0 node 2");
	assert_int_equal(uncore_pmu_cpu_at(uncore_pmu_at(x->u, 1), 0), 1);
	put(x, CACHE(0) "mon_sub_L3_00/mbm_total_bytes", "110\n");
	put(x, CACHE(0) "mon_sub_L3_02/mbm_total_bytes", "920\n");
	put(x, CACHE(0) "mbm_total_bytes", "1030\n");
	r = next(x, "/", -1);
	is_measured(r, 30);
	assert_int_equal(r->counted->instances, 2);
}

/* On Arm there is the occupancy only; a file that the kernel refuses to read stands for the others. */
static void occupancy_only(void **state)
{
	struct machine *x = *state;

	remove_path(x, "mon_data");
	put(x, CACHE(0) "llc_occupancy", "1\n");
	put(x, CACHE(0) "mbm_local_bytes/a-directory", "\n");
	begin(x, UNCORE_LEVEL_MACHINE, "group.cache.occupancy");
	is_measured(next(x, "/", -1), 1);
	uncore_monitor_free(x->m);
	assert_int_equal(uncore_monitor_new(&x->m, x->u), 0);
	assert_int_equal(uncore_monitor_add_metrics(x->m, "group.memory.bandwidth"), -ENODEV);
	assert_non_null(strstr(uncore_error(x->u), "does not have the event 'mbm_total_bytes'"));
	assert_int_equal(uncore_monitor_add_metrics(x->m, "group.memory.local.bandwidth"), 0);
	assert_int_equal(uncore_monitor_open(x->m), -EISDIR);
	assert_non_null(strstr(uncore_error(x->u), "mbm_local_bytes cannot be read"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(groups_and_caches),
		TEST(without_resctrl),
		TEST(groups_that_cannot_be_read),
		TEST(a_cache_without_cpus),
		TEST(what_moved),
		TEST(metrics),
		TEST(words_instead_of_numbers),
		TEST(a_control_group_lacks_groups_without_a_count),
		TEST(transitions_of_a_part),
		TEST(counts_that_begin_again),
		TEST(a_group_made_again),
		TEST(nodes_of_a_cache),
		TEST(occupancy_only),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
