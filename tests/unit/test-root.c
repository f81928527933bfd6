/* SPDX-License-Identifier: MIT */
/* Reading below a root: a directory, this machine, a built-in tree. */
#include "machine/root.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "machine/embedded.h"
#include "tree.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int make_tree(void **state)
{
	static struct tree t;

	tree_make(&t);
	tree_put(&t, "sys/a", " one\ntwo \n\n");
	tree_put(&t, "sys/empty", "");
	tree_put(&t, "sys/dir/imc_10", "x");
	tree_put(&t, "sys/dir/imc_2", "x");
	tree_put(&t, "sys/dir/imc_2.unit", "x");
	tree_put(&t, "sys/dir/imc_1/type", "7\n");
	tree_put_bytes(&t, "sys/nul", "a\0b", 3);
	*state = &t;
	return 0;
}

static int remove_tree(void **state)
{
	tree_remove(*state);
	return 0;
}

static const struct unc_file files[] = {
	{"sys/a", " one\ntwo \n\n", 11}, {"sys/dir/imc_1/type", "7\n", 2},
	{"sys/dir/imc_10", "x", 1},      {"sys/dir/imc_2", "x", 1},
	{"sys/dir/imc_2.unit", "x", 1},  {"sys/empty", "", 0},
	{"sys/nul", "a\0b", 3},
};
static const struct unc_tree built_in = {"test", files, COUNT(files)};

/* What holds for both kinds of root. */
static void check_root(const struct unc_root *r)
{
	static const char *const listed[] = {"imc_1", "imc_2", "imc_2.unit", "imc_10"};
	struct unc_names names;
	char *text = NULL;
	size_t len = 0;

	assert_int_equal(unc_root_read(r, "sys/a", &text), 0);
	assert_string_equal(text, " one\ntwo \n\n");
	free(text);
	assert_int_equal(unc_root_read_line(r, "sys/a", &text), 0);
	assert_string_equal(text, "one\ntwo");
	free(text);
	assert_int_equal(unc_root_read_start(r, "sys/a", 4, &text), 0);
	assert_string_equal(text, " one");
	free(text);
	assert_int_equal(unc_root_read(r, "sys/empty", &text), 0);
	assert_string_equal(text, "");
	free(text);
	text = NULL;
	assert_int_equal(unc_root_read(r, "sys/none", &text), -ENOENT);
	assert_int_equal(unc_root_read(r, "sys/di", &text), -ENOENT);
	assert_int_equal(unc_root_read(r, "sys/dir", &text), -EISDIR);
	assert_int_equal(unc_root_read(r, "sys/nul", &text), -EBADMSG);
	assert_int_equal(unc_root_read_line(r, "sys/nul", &text), -EBADMSG);
	assert_int_equal(unc_root_read_bytes(r, "sys/none", 9, &text, &len), -ENOENT);
	assert_null(text);
	assert_int_equal(len, 0);
	assert_int_equal(unc_root_read_bytes(r, "sys/nul", 9, &text, &len), 0);
	assert_int_equal(len, 3);
	assert_memory_equal(text, "a\0b", 4); /* the NUL behind it, too */
	free(text);
	assert_int_equal(unc_root_read_bytes(r, "sys/nul", 2, &text, &len), 0);
	assert_int_equal(len, 2);
	assert_memory_equal(text, "a\0", 3);
	free(text);

	assert_int_equal(unc_root_list(r, "sys/dir", &names), 0);
	assert_int_equal(names.count, COUNT(listed));
	for (size_t i = 0; i < names.count; i++)
		assert_string_equal(names.items[i], listed[i]);
	unc_names_finish(&names);
	assert_int_equal(unc_root_list(r, "sys/none", &names), -ENOENT);
	assert_int_equal(unc_root_list(r, "sys/a", &names), -ENOTDIR);
	assert_int_equal(names.count, 0);

	assert_true(unc_root_exists(r, "sys/a"));
	assert_true(unc_root_exists(r, "sys/dir"));
	assert_true(unc_root_exists(r, "sys/dir/imc_1"));
	assert_false(unc_root_exists(r, "sys/di"));
	assert_false(unc_root_exists(r, "sys/dir/imc_3"));
	assert_false(unc_root_is_live(r));
}

static void directory(void **state)
{
	const struct tree *t = *state;
	struct unc_root *r;

	assert_int_equal(unc_root_open(&r, t->dir, NULL), 0);
	check_root(r);
	unc_root_free(r);
}

static void built_in_tree(void **state)
{
	struct unc_root *r;

	(void)state;
	assert_int_equal(unc_root_open_tree(&r, &built_in, NULL), 0);
	check_root(r);
	unc_root_free(r);
	unc_root_free(NULL);
}

static void open_says_what_is_wrong(void **state)
{
	const struct tree *t = *state;
	struct unc_root *r = NULL;
	struct unc_error e;
	char path[400];

	snprintf(path, sizeof(path), "%s/none", t->dir);
	assert_int_equal(unc_root_open(&r, path, &e), -ENOENT);
	assert_non_null(strstr(e.text, "there is no directory"));
	assert_non_null(strstr(e.text, path));
	snprintf(path, sizeof(path), "%s/sys/a", t->dir);
	assert_int_equal(unc_root_open(&r, path, &e), -ENOTDIR);
	assert_non_null(strstr(e.text, "not a directory"));
	assert_null(r);
}

static void this_machine_is_live(void **state)
{
	static const char *const roots[] = {"/", "//", "/proc/..", "/proc/self/root"};

	(void)state;
	for (size_t i = 0; i < COUNT(roots); i++) {
		struct unc_root *r;
		char *text;

		assert_int_equal(unc_root_open(&r, roots[i], NULL), 0);
		assert_true(unc_root_is_live(r));
		assert_int_equal(unc_root_read_line(r, "proc/self/comm", &text), 0);
		assert_non_null(strstr(text, "test-root"));
		free(text);
		unc_root_free(r);
	}
}

/* /proc gives few bytes at each read(), and its files have no size. */
static void files_without_size_are_read_to_the_end(void **state)
{
	struct unc_root *r;
	char *start, *all;

	(void)state;
	assert_int_equal(unc_root_open(&r, "/", NULL), 0);
	assert_int_equal(unc_root_read(r, "proc/self/maps", &all), 0);
	assert_non_null(strstr(all, "[stack]"));
	assert_int_equal(unc_root_read_start(r, "proc/self/maps", 100, &start), 0);
	assert_int_equal(strlen(start), 100);
	assert_memory_equal(start, all, 12);
	free(all);
	free(start);
	unc_root_free(r);
}

static void a_mebibyte_is_the_most(void **state)
{
	const struct tree *t = *state;
	size_t most = (size_t)1 << 20, len;
	char *data = malloc(most + 1), *text = NULL;
	struct unc_root *r;

	assert_non_null(data);
	memset(data, 'x', most + 1);
	tree_put_bytes(t, "large", data, most);
	tree_put_bytes(t, "larger", data, most + 1);
	assert_int_equal(unc_root_open(&r, t->dir, NULL), 0);
	assert_int_equal(unc_root_read(r, "large", &text), 0);
	assert_int_equal(strlen(text), most);
	free(text);
	assert_int_equal(unc_root_read(r, "larger", &text), -EFBIG);
	assert_int_equal(unc_root_read_start(r, "larger", 5000, &text), 0);
	assert_int_equal(strlen(text), 5000);
	free(text);
	assert_int_equal(unc_root_read_bytes(r, "larger", 2 * most, &text, &len), 0);
	assert_int_equal(len, most + 1);
	free(text);
	free(data);
	unc_root_free(r);
}

static void absolute_links_stay_in_a_copied_tree(void **state)
{
	const struct tree *t = *state;
	char path[400], *text;
	struct unc_root *r;

	tree_put(t, "proc/version", "a copy\n");
	snprintf(path, sizeof(path), "%s/sys/link", t->dir);
	assert_int_equal(symlink("/proc/version", path), 0);
	assert_int_equal(unc_root_open(&r, t->dir, NULL), 0);
	assert_int_equal(unc_root_read_line(r, "sys/link", &text), 0);
	assert_string_equal(text, "a copy");
	free(text);
	assert_int_equal(unc_root_read_line(r, "../../proc/version", &text), 0);
	assert_string_equal(text, "a copy");
	free(text);
	unc_root_free(r);
}

static void text_of_a_link(void **state)
{
	struct tree t;
	struct unc_root *r;
	char *text = NULL;

	(void)state;
	tree_make(&t);
	tree_put(&t, "dir/file", "x");
	tree_link(&t, "bus/device", "../dir");
	tree_link(&t, "bus/broken", "nowhere");
	assert_int_equal(unc_root_open(&r, t.dir, NULL), 0);
	assert_int_equal(unc_root_link(r, "bus/device", &text), 0);
	assert_string_equal(text, "../dir");
	free(text);
	assert_int_equal(unc_root_link(r, "bus/broken", &text), 0);
	assert_string_equal(text, "nowhere");
	free(text);
	text = NULL;
	assert_int_equal(unc_root_link(r, "dir", &text), -EINVAL);
	assert_int_equal(unc_root_link(r, "dir/file", &text), -EINVAL);
	assert_int_equal(unc_root_link(r, "bus/none", &text), -ENOENT);
	assert_null(text);
	unc_root_free(r);
	tree_remove(&t);
}

static void a_pipe_is_no_file(void **state)
{
	const struct tree *t = *state;
	char path[400], *text = NULL;
	struct unc_root *r;

	snprintf(path, sizeof(path), "%s/pipe", t->dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(unc_root_open(&r, t->dir, NULL), 0);
	assert_int_equal(unc_root_read(r, "pipe", &text), -EBADMSG);
	unc_root_free(r);
}

static void refused_files_say_so(void **state)
{
	const struct tree *t = *state;
	char path[400], *text = NULL;
	bool root = geteuid() == 0;
	struct unc_root *r;
	int err;

	tree_put(t, "secret", "x");
	snprintf(path, sizeof(path), "%s/secret", t->dir);
	assert_int_equal(chmod(path, 0), 0);
	assert_int_equal(chmod(t->dir, 0755), 0);
	assert_int_equal(unc_root_open(&r, t->dir, NULL), 0);
	if (root)
		assert_int_equal(seteuid(65534), 0); /* root may read everything */
	err = unc_root_read(r, "secret", &text);
	if (root)
		assert_int_equal(seteuid(0), 0);
	assert_int_equal(err, -EACCES);
	unc_root_free(r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(directory),
		cmocka_unit_test(built_in_tree),
		cmocka_unit_test(open_says_what_is_wrong),
		cmocka_unit_test(this_machine_is_live),
		cmocka_unit_test(files_without_size_are_read_to_the_end),
		cmocka_unit_test(a_mebibyte_is_the_most),
		cmocka_unit_test(absolute_links_stay_in_a_copied_tree),
		cmocka_unit_test(text_of_a_link),
		cmocka_unit_test(a_pipe_is_no_file),
		cmocka_unit_test(refused_files_say_so),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
