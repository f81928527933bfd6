/* SPDX-License-Identifier: MIT */
/* What /proc tells of the right to count, on machines that are a directory each. */
#include "machine/topology.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "helpers.h"

#define WHOLE_MAP "         0          0 4294967295\n"

struct proc {
	const char *paranoid, *status, *uid_map, *osrelease; /* NULL: no such file */
};

static void put(const struct tree *t, const char *path, const char *text)
{
	if (text)
		tree_put(t, path, text);
}

static struct unc_permission read_proc(const struct proc *proc)
{
	struct unc_permission p;
	struct unc_root *root;
	struct tree t;

	tree_make(&t);
	put(&t, "proc/sys/kernel/perf_event_paranoid", proc->paranoid);
	put(&t, "proc/self/status", proc->status);
	put(&t, "proc/self/uid_map", proc->uid_map);
	put(&t, "proc/sys/kernel/osrelease", proc->osrelease);
	assert_int_equal(unc_root_open(&root, t.dir, NULL), 0);
	memset(&p, 0xff, sizeof(p));
	unc_permission_read(&p, root);
	unc_root_free(root);
	tree_remove(&t);
	return p;
}

static void nothing_can_be_read(void **state)
{
	const struct unc_permission p = read_proc(&(struct proc){NULL, NULL, NULL, NULL});

	(void)state;
	assert_false(p.level_known);
	assert_null(p.held);
	assert_false(p.in_user_namespace);
	assert_false(p.filtered);
	assert_false(p.before_perfmon);
	assert_false(unc_permission_granted(&p));
}

static void everything_is_read(void **state)
{
	/* A name may look like a field; fields come in any order. */
	struct unc_permission p = read_proc(&(struct proc){
		"-1\n", "Name:\tCapEff: ff Seccomp: 1\nSeccomp:\t2\nCapEff:\t0000004000200000\n",
		"0 1000 1\n", "5.4.0-200-generic\n"});

	(void)state;
	assert_true(p.level_known);
	assert_int_equal(p.level, -1);
	assert_string_equal(p.held, "CAP_PERFMON");
	assert_true(p.in_user_namespace);
	assert_true(p.filtered);
	assert_true(p.before_perfmon);
	p = read_proc(&(struct proc){"what\n", "CapEff:\t0000000000200000\nSeccomp:\t0\n",
				     WHOLE_MAP, "5.8.0\n"});
	assert_false(p.level_known);
	assert_string_equal(p.held, "CAP_SYS_ADMIN");
	assert_false(p.in_user_namespace);
	assert_false(p.filtered);
	assert_false(p.before_perfmon);
}

static void capabilities(void **state)
{
	static const struct {
		const char *status, *held;
	} cases[] = {
		{"CapEff:\t0000004000000000\n", "CAP_PERFMON"},
		{"Name:\tx\nCapEff:\t000001fffeffffff", "CAP_PERFMON"},
		{"CapEff:\t0000000000200000\n", "CAP_SYS_ADMIN"},
		{"CapEff:\t000001bfffdfffff\n", NULL}, /* all but these two */
		{"CapPrm:\t000001ffffffffff\nCapEff:\t0000000000000000\n", NULL},
		{"", NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct unc_permission p =
			read_proc(&(struct proc){"2\n", cases[i].status, WHOLE_MAP, NULL});

		assert_string_equal(p.held ? p.held : "-", cases[i].held ? cases[i].held : "-");
		assert_int_equal(unc_permission_granted(&p), cases[i].held != NULL);
	}
}

static void releases(void **state)
{
	static const struct {
		const char *release;
		bool before;
	} cases[] = {
		{"4.18.0-553.el8\n", true}, {"5.7.19\n", true},  {"5.8-rc1\n", false},
		{"6.1.0\n", false},         {"10.0\n", false},   {"5\n", true},
		{"unknown\n", false},       {"5.10.4\n", false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct unc_permission p =
			read_proc(&(struct proc){NULL, NULL, NULL, cases[i].release});

		assert_int_equal(p.before_perfmon, cases[i].before);
	}
}

static void capabilities_and_levels_that_grant(void **state)
{
	static const struct {
		struct unc_permission p;
		bool granted;
	} cases[] = {
		{{.level_known = true, .level = 0}, true},
		{{.level_known = true, .level = -1}, true},
		{{.level_known = true, .level = 1}, false},
		{{.level_known = false, .level = 0}, false},
		{{.held = "CAP_PERFMON"}, true},
		{{.level_known = true, .level = 4, .held = "CAP_PERFMON"}, true},
		{{.level_known = true,
		  .level = 2,
		  .held = "CAP_PERFMON",
		  .in_user_namespace = true},
		 false},
		{{.level_known = true, .level = 0, .in_user_namespace = true}, true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_int_equal(unc_permission_granted(&cases[i].p), cases[i].granted);
}

static void cases_in_which_only_opening_decides(void **state)
{
	static const struct {
		struct unc_permission p;
		bool doubtful;
	} cases[] = {
		{{.level_known = true, .level = 3, .held = "CAP_PERFMON"}, true},
		{{.level_known = true, .level = 3, .held = "CAP_PERFMON", .admin = true}, false},
		{{.level_known = true, .level = 2, .held = "CAP_PERFMON"}, false},
		{{.level_known = true, .level = 3}, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_int_equal(unc_permission_doubtful(&cases[i].p), cases[i].doubtful);
}

static void user_namespaces(void **state)
{
	static const struct {
		const char *map;
		bool inside;
	} cases[] = {
		{WHOLE_MAP, false},
		{"0 0 1\n", true},
		{"0 1000 1\n", true},
		{"1000 1000 1\n", true},
		{"0 100000 65536\n", true},
		{"", true}, /* nobody is mapped yet */
		{"0 0 4294967294\n1 2 1\n", true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct unc_permission p =
			read_proc(&(struct proc){NULL, NULL, cases[i].map, NULL});

		assert_int_equal(p.in_user_namespace, cases[i].inside);
	}
}

/* setcap would give the right to all users, where an administrator has chosen some. */
static void a_group_instead_of_all_users(void **state)
{
	struct unc_text why = {0}, fix = {0};
	struct unc_permission p;
	struct unc_root *root;
	struct tree t;

	(void)state;
	tree_make(&t);
	put(&t, "usr/libexec/uncore/uncore", "");
	put(&t, "proc/sys/kernel/perf_event_paranoid", "2\n");
	assert_int_equal(unc_root_open(&root, t.dir, NULL), 0);
	unc_permission_read(&p, root);
	unc_root_free(root);
	tree_remove(&t);
	unc_permission_advise(&p, true, &why, &fix);
	assert_non_null(strstr(fix.data, "adduser \"$USER\" uncore"));
	assert_null(strstr(fix.data, "setcap"));
	free(why.data);
	free(fix.data);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_can_be_read),
		cmocka_unit_test(everything_is_read),
		cmocka_unit_test(capabilities),
		cmocka_unit_test(releases),
		cmocka_unit_test(capabilities_and_levels_that_grant),
		cmocka_unit_test(cases_in_which_only_opening_decides),
		cmocka_unit_test(user_namespaces),
		cmocka_unit_test(a_group_instead_of_all_users),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
