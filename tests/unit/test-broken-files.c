/* SPDX-License-Identifier: MIT */
/* Machines of which one file is missing, malformed or cannot be read: that costs what the file says, and nothing
 * else. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "object.h"
#include "tree.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define PMUS "sys/bus/event_source/devices/"

#define CPUS "sys/devices/system/"

static struct unc_tree machine;  /* as it was recorded */
static const char *broken, *how; /* the first file that is wrong in it now, and in which way */

/* ---- what is done to a file ---- */

static const struct way {
	const char *name;
	enum unc_kind kind;
	const char *data; /* NULL: half of its own */
	size_t len;
} ways[] = {
	{"missing", UNC_FILE, "", SIZE_MAX},
	{"empty", UNC_FILE, "", 0},
	{"a directory", UNC_DIR, "", 0},
	{"unreadable", UNC_REFUSED, "EACCES", 6},
	{"garbage", UNC_FILE, "\x01\xff,;%s{-9/=0x", 14},
	{"truncated", UNC_FILE, NULL, 0},
	{"NUL bytes", UNC_FILE, "\0\0\0\0", 4},
	{"failing", UNC_REFUSED, "EIO", 3},
	{"behind a NUL byte", UNC_FILE,
	 "0\0"
	 "1\n",
	 4},
	{"a huge number", UNC_FILE, "99999999999999999999999\n", 24},
};
#define MOST_USEFUL 6 /* of them, for all files; the others are for those of CPUs */

static char *text_of(struct unc_tree *t)
{
	struct unc_text text = {0};

	unc_snapshot_print(t, &text);
	return unc_text_take(&text);
}

/* The snapshot with some entries changed. */
static char *break_files(const bool *chosen, const struct way *way)
{
	struct unc_tree t = {.entries = calloc(machine.count, sizeof(*t.entries))};
	char *text;

	assert_non_null(t.entries);
	broken = NULL;
	how = way->name;
	for (size_t i = 0; i < machine.count; i++) {
		struct unc_entry e = machine.entries[i];

		if (chosen[i]) {
			broken = broken ? broken : e.path;
			e.kind = way->kind;
			e.len = way->data ? way->len : e.len / 2;
			e.data = (char *)(way->data ? way->data : e.data);
		}
		if (e.len != SIZE_MAX)
			t.entries[t.count++] = e;
	}
	text = text_of(&t);
	free(t.entries);
	return text;
}

/* ---- the machine ---- */

/* Digits do not matter, nor which event or term it is: others are read in the same way. */
static bool same_shape(const char *a, const char *b)
{
	for (; *a && *b; a++, b++) {
		while (unc_is_digit(*a))
			a++;
		while (unc_is_digit(*b))
			b++;
		if (*a != *b)
			return false;
		if (strncmp(a, "/events/", 8) == 0 || strncmp(a, "/format/", 8) == 0)
			return strstr(a, ".") == NULL && strstr(b, ".") == NULL;
	}
	return *a == *b;
}

static bool is_first_of_shape(size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (same_shape(machine.entries[k].path, machine.entries[i].path))
			return false;
	return true;
}

/* One PMU of each kind, so that a scan is quick. */
static void load_machine(const char *name)
{
	char path[600], *text;
	struct unc_error e;
	size_t len, kept = 0;
	FILE *f = fopen(tree_machine(name, path, sizeof(path)), "r");

	tree_require(f, path);
	assert_int_equal(unc_read_fd(fileno(f), UNC_SNAPSHOT_MOST, &text, &len), 0);
	fclose(f);
	if (unc_snapshot_parse(&machine, name, text, len, &e))
		fail_msg("%s", e.text);
	free(text);
	for (size_t i = 0; i < machine.count; i++) {
		const char *pmu = machine.entries[i].path, *number;

		number = strncmp(pmu, PMUS, strlen(PMUS)) == 0
				 ? strpbrk(pmu + strlen(PMUS), "/123456789")
				 : NULL;
		if (!number || *number == '/' || strncmp(number, "1/", 2) != 0)
			machine.entries[kept++] = machine.entries[i];
	}
	machine.count = kept;
}

/* ---- what must hold ---- */

static void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void complain(const char *format, ...)
{
	char text[4096];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fail_msg("%s, %s: %s", broken, how, text);
}

#define require(holds, ...) ((holds) ? (void)0 : complain(__VA_ARGS__))

/* A sentence, and not just the text of an error. */
static void require_sentence(const char *text)
{
	require(*text, "an error without a sentence");
	for (int err = 1; err < 134; err++)
		require(strcmp(text, unc_errno_text(err)) != 0, "'%s'", text);
}

static struct uncore *open_text(const char *text)
{
	struct uncore *u;
	struct unc_root *root;
	struct unc_error e;

	assert_int_equal(uncore_new(&u), 0);
	require(unc_root_open_text(&root, "machine", text, strlen(text), &e) == 0, "%s", e.text);
	unc_root_free(u->root);
	u->root = root;
	return u;
}

/* All findings as one text. */
static char *findings(struct uncore *u)
{
	struct unc_text text = {0};

	if (!uncore_finding_count(u))
		require(uncore_diagnose(u) == 0, "doctor: %s", uncore_error(u));
	require(uncore_finding_count(u) > 0, "doctor has no finding");
	for (size_t i = 0; i < uncore_finding_count(u); i++) {
		const struct uncore_finding *f = uncore_finding_at(u, i);

		if (f->why)
			require_sentence(f->why);
		unc_text_add(&text, "%d %s: %s; %s\n", f->verdict, f->subject, f->found,
			     f->why ? f->why : "");
	}
	return unc_text_take(&text);
}

/* What list and topo read. */
static void read_all(struct uncore *u)
{
	uncore_memory_get(u);
	for (size_t i = 0; i < uncore_device_count(u); i++)
		assert_non_null(uncore_device_at(u, i)->address);
	for (size_t i = 0; i < uncore_pmu_count(u); i++) {
		const struct uncore_pmu *p = uncore_pmu_at(u, i);

		if (unc_pmu_load(p) < 0)
			require_sentence(uncore_error(u));
		for (size_t k = 0; k < uncore_pmu_alias_count(p); k++)
			require(*uncore_pmu_alias_at(p, k)->name, "an event without a name");
	}
	for (size_t i = 0; i < uncore_metric_count(u); i++)
		uncore_metric_missing(uncore_metric_at(u, i));
}

/* The snapshot is like the machine; `thorough`: also what doctor finds. */
static void check_text(const char *text, bool thorough)
{
	struct uncore *u = open_text(text), *again;
	char *snapshot, *here = NULL, *there = NULL;
	struct unc_topology t;
	struct unc_error e;

	require(uncore_snapshot(u, &snapshot) == 0, "snapshot: %s", uncore_error(u));
	require(strlen(snapshot) > 100, "the snapshot is '%s'", snapshot);
	require(u->scanned == !strstr(snapshot, "# This machine could not be scanned"),
		"it does not say so");
	if (!u->scanned)
		require_sentence(uncore_error(u));
	else
		read_all(u);
	here = findings(u);
	again = open_text(snapshot);
	if (thorough) {
		uncore_scan(again);
		there = findings(again);
		require(strcmp(here, there) == 0, "the machine has\n%s, and its snapshot\n%s", here,
			there);
	}
	require((unc_topology_read(&t, again->root, &e) == 0) == u->scanned, "a different scan");
	if (u->scanned) {
		require(t.cpu_count == u->topology.cpu_count, "CPUs are lost");
		require(strcmp(t.cpu_model, u->topology.cpu_model) == 0, "the model is lost");
		unc_topology_finish(&t);
	}
	uncore_free(u);
	uncore_free(again);
	free(snapshot);
	free(here);
	free(there);
}

static bool is_of_cpus(const char *path)
{
	return strncmp(path, CPUS, strlen(CPUS)) == 0 || strncmp(path, "proc/", 5) == 0;
}

/* Every second file of a kind, and then the others, are broken at once: a scan takes time. */
static void check_machine(const char *name)
{
	bool *chosen;
	size_t files = 0;

	load_machine(name);
	chosen = calloc(2 * machine.count + 1, sizeof(*chosen));
	for (size_t i = 0; i < machine.count; i++)
		if (machine.entries[i].kind == UNC_FILE && !is_of_cpus(machine.entries[i].path) &&
		    is_first_of_shape(i))
			chosen[files++ % 2 * machine.count + i] = true;
	assert_true(files > 20);
	for (size_t k = 0; k < 2 * MOST_USEFUL; k++) {
		char *text = break_files(chosen + k % 2 * machine.count, &ways[k / 2]);

		check_text(text, true);
		free(text);
	}
	free(chosen);
	unc_tree_finish(&machine);
}

static void files_of_cpus_and_nodes(void **state)
{
	static const char *const read[] = {"/cpu/present", "/cpu/online", "physical_package_id",
					   "/die_id",      "/cpulist",    "proc/cpuinfo"};
	bool *chosen;
	size_t files = 0;

	(void)state;
	load_machine("amd-zen4-1socket");
	chosen = calloc(machine.count + 1, sizeof(*chosen));
	for (size_t i = 0; i < machine.count; i++) {
		const char *path = machine.entries[i].path;
		bool is_read = false;

		for (size_t k = 0; k < COUNT(read); k++)
			is_read |= strstr(path, read[k]) != NULL;
		if (machine.entries[i].kind != UNC_FILE || !is_read || !is_first_of_shape(i))
			continue;
		files++;
		chosen[i] = true;
		for (size_t k = 0; k < COUNT(ways); k++) {
			char *text = break_files(chosen, &ways[k]);

			check_text(text, false);
			free(text);
		}
		chosen[i] = false;
	}
	assert_int_equal(files, COUNT(read));
	free(chosen);
	unc_tree_finish(&machine);
}

static void an_intel_server(void **state)
{
	(void)state;
	check_machine("intel-icx-1socket");
}

static void an_amd_server(void **state)
{
	(void)state;
	check_machine("amd-zen4-1socket");
}

static void an_arm_server(void **state)
{
	(void)state;
	check_machine("nvidia-grace-1socket");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_of_cpus_and_nodes),
		cmocka_unit_test(an_intel_server),
		cmocka_unit_test(an_amd_server),
		cmocka_unit_test(an_arm_server),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
