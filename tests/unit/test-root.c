/* SPDX-License-Identifier: MIT */
/* Reading below a root: a directory, this machine, a snapshot. */
#include "machine/root.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>

#include <cmocka.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tree.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void put_link(const struct tree *t, const char *name, const char *target)
{
	char path[400];

	snprintf(path, sizeof(path), "%s/sys/links", t->dir);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/sys/links/%s", t->dir, name);
	assert_int_equal(symlink(target, path), 0);
}

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
	put_link(&t, "absolute", "/sys/dir");
	put_link(&t, "circle", "circle");
	put_link(&t, "dangling", "../none");
	put_link(&t, "file", "../a");
	put_link(&t, "outside", "../../../../sys/links/relative/imc_1");
	put_link(&t, "relative", "../dir/.");
	*state = &t;
	return 0;
}

static int remove_tree(void **state)
{
	tree_remove(*state);
	return 0;
}

static const char snapshot[] = "uncore snapshot 1\n"
			       "# a comment\n"
			       "sys/a:\n"
			       "\t one\n"
			       "\ttwo\\x20\n"
			       "\t\n"
			       "\n"
			       "sys/dir/imc_10 = x\\\n"
			       "sys/dir/imc_2 = x\\\n"
			       "sys/dir/imc_2.unit = x\\\n"
			       "sys/dir/imc_1/type = 7\n"
			       "sys/empty = \\\n"
			       "sys/links/absolute -> /sys/dir\n"
			       "sys/links/circle -> circle\n"
			       "sys/links/dangling -> ../none\n"
			       "sys/links/file -> ../a\n"
			       "sys/links/outside -> ../../../../sys/links/relative/imc_1\n"
			       "sys/links/relative -> ../dir/.\n"
			       "sys/nul: hex\n"
			       "\t0000  61 00 62\n";

static void check_line(const struct unc_root *r, const char *path, const char *expected)
{
	char *text = NULL;

	assert_int_equal(unc_root_read_line(r, path, &text), 0);
	assert_string_equal(text, expected);
	free(text);
}

static void check_links(const struct unc_root *r)
{
	struct unc_names names;
	char *text = NULL;

	check_line(r, "sys/links/file", "one\ntwo");
	check_line(r, "sys/links/relative/imc_2", "x");
	check_line(r, "sys/links/absolute/imc_1/type", "7");
	check_line(r, "sys/links/outside/type", "7");
	check_line(r, "sys/links/outside/../imc_2", "x");
	check_line(r, "/sys//links/./file", "one\ntwo");
	assert_int_equal(unc_root_list(r, "sys/links/relative", &names), 0);
	assert_int_equal(names.count, 4);
	unc_names_finish(&names);
	assert_int_equal(unc_root_list(r, "sys/links/", &names), 0);
	assert_int_equal(names.count, 6);
	unc_names_finish(&names);
	assert_int_equal(unc_root_link(r, "sys/links/relative", &text), 0);
	assert_string_equal(text, "../dir/.");
	free(text);
	text = NULL;
	assert_int_equal(unc_root_link(r, "sys/links/../links/dangling", &text), 0);
	assert_string_equal(text, "../none");
	free(text);
	text = NULL;
	assert_int_equal(unc_root_link(r, "sys/a", &text), -EINVAL);
	assert_int_equal(unc_root_link(r, "sys/links", &text), -EINVAL);
	assert_int_equal(unc_root_link(r, "sys/none", &text), -ENOENT);
	assert_int_equal(unc_root_read(r, "sys/links/dangling", &text), -ENOENT);
	assert_int_equal(unc_root_read(r, "sys/links/circle", &text), -ELOOP);
	assert_int_equal(unc_root_read(r, "sys/links/relative", &text), -EISDIR);
	assert_null(text);
	assert_true(unc_root_exists(r, "sys/links/outside"));
	assert_false(unc_root_exists(r, "sys/links/dangling"));
	assert_false(unc_root_exists(r, "sys/links/circle"));
}

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
	assert_int_equal(unc_root_read_bytes(r, "sys/a", 4, &text, &len), 0);
	assert_string_equal(text, " one");
	free(text);
	len = 0;
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
	check_links(r);
	unc_root_free(r);
}

static void snapshot_in_memory(void **state)
{
	struct unc_root *r;

	(void)state;
	assert_int_equal(unc_root_open_text(&r, "test", snapshot, sizeof(snapshot) - 1, NULL), 0);
	check_root(r);
	check_links(r);
	unc_root_free(r);
	unc_root_free(NULL);
}

static void snapshot_in_a_file(void **state)
{
	const struct tree *t = *state;
	struct unc_root *r = NULL;
	struct unc_error e;
	char path[400];

	snprintf(path, sizeof(path), "%s/snapshot.txt", t->dir);
	tree_put(t, "snapshot.txt", snapshot);
	assert_int_equal(unc_root_open(&r, path, NULL), 0);
	check_root(r);
	check_links(r);
	assert_int_equal(unc_root_open_file(r, "sys/a", 0), -ENOENT);
	unc_root_free(r);
	r = NULL;
	assert_int_equal(unc_root_open_dir(&r, path, &e), -ENOTDIR);
	assert_null(r);
}

/* A snapshot of what was read of either root reads the same. */
static void check_record(struct unc_root *r)
{
	struct unc_text text = {0};
	struct unc_tree record = {0};
	struct unc_root *again;
	struct unc_error e;

	unc_root_record(r, &record);
	check_root(r);
	check_links(r);
	unc_root_record(r, NULL);
	unc_root_free(r);
	unc_tree_sort(&record);
	unc_snapshot_print(&record, &text);
	unc_tree_finish(&record);
	if (unc_root_open_text(&again, "record", text.data, text.len, &e) < 0)
		fail_msg("%s", e.text);
	check_root(again);
	check_links(again);
	unc_root_free(again);
	unc_text_finish(&text);
}

static void records(void **state)
{
	const struct tree *t = *state;
	struct unc_root *r;

	assert_int_equal(unc_root_open(&r, t->dir, NULL), 0);
	check_record(r);
	assert_int_equal(unc_root_open_text(&r, "test", snapshot, sizeof(snapshot) - 1, NULL), 0);
	check_record(r);
}

/* The record has what the reader saw, though files change: each is read once, and a directory has
 * what it had when it was listed. */
static void a_recorded_file_is_read_once(void **state)
{
	const struct tree *t = *state;
	struct unc_tree record = {0};
	struct unc_names names = {0};
	struct unc_root *r;
	char *start;
	size_t len;
	char path[400];

	tree_put(t, "sys/changing/long", "first");
	assert_int_equal(unc_root_open(&r, t->dir, NULL), 0);
	unc_root_record(r, &record);
	assert_int_equal(unc_root_read_bytes(r, "sys/changing/long", 2, &start, &len), 0);
	assert_string_equal(start, "fi");
	free(start);
	check_line(r, "sys/changing/long", "first");
	tree_put(t, "sys/changing/long", "second");
	tree_put(t, "sys/changing/new", "x");
	check_line(r, "sys/changing/long", "first");
	check_line(r, "sys/links/../changing/long", "first");
	assert_int_equal(unc_root_read_bytes(r, "sys/changing/long", 3, &start, &len), 0);
	assert_string_equal(start, "fir");
	free(start);
	check_line(r, "sys/changing/new", "x");
	assert_int_equal(unc_root_list(r, "sys/changing", &names), 0);
	unc_names_finish(&names);
	tree_put(t, "sys/changing/later", "x");
	assert_false(unc_root_exists(r, "sys/changing/later"));
	assert_int_equal(unc_root_read(r, "sys/changing/later", &start), -ENOENT);
	assert_int_equal(unc_root_read(r, "sys/changing/later/below", &start), -ENOENT);
	assert_true(unc_root_still_has(r, "sys/changing/new"));
	snprintf(path, sizeof(path), "%s/sys/changing/new", t->dir);
	assert_int_equal(unlink(path), 0);
	assert_true(unc_root_exists(r, "sys/changing/new"));
	assert_false(unc_root_still_has(r, "sys/changing/new"));
	unc_root_record(r, NULL);
	check_line(r, "sys/changing/long", "second");
	check_line(r, "sys/changing/later", "x");
	unc_tree_finish(&record);
	unc_root_free(r);
}

/* proc/mounts is a link to the file of this process, which is in a directory that is a link, too. */
static void links_of_this_machine_are_recorded(void **state)
{
	const struct unc_entry *file;
	struct unc_tree record = {0};
	struct unc_names names = {0};
	char *start, path[40];
	struct unc_root *r;
	size_t len;

	(void)state;
	assert_int_equal(unc_root_open(&r, "/", NULL), 0);
	unc_root_record(r, &record);
	/* A link to a directory, listed before the link is known. */
	assert_int_equal(unc_root_list(r, "proc/net", &names), 0);
	assert_true(names.count > 0);
	unc_names_finish(&names);
	assert_true(unc_root_exists(r, "proc/self"));
	assert_int_equal(unc_root_read(r, "proc/none/status", &start), -ENOENT);
	assert_int_equal(unc_root_read(r, "proc", &start), -EISDIR);
	assert_int_equal(unc_root_read_bytes(r, "proc/mounts", 9, &start, &len), 0);
	unc_root_record(r, NULL);
	unc_root_free(r);
	unc_tree_sort(&record);
	snprintf(path, sizeof(path), "proc/%d/mounts", (int)getpid());
	file = unc_tree_find(&record, path);
	assert_non_null(file);
	assert_int_equal(file->kind, UNC_FILE);
	assert_int_equal(file->len, len);
	assert_memory_equal(file->data, start, len);
	assert_string_equal(unc_tree_find(&record, "proc/mounts")->data, "self/mounts");
	assert_int_equal(unc_tree_find(&record, "proc/self")->kind, UNC_LINK);
	assert_null(unc_tree_find(&record, "proc/none"));
	assert_int_equal(unc_tree_find(&record, "proc")->kind, UNC_DIR);
	unc_tree_finish(&record);
	free(start);
}

static void errors_of_open_have_a_reason(void **state)
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
	assert_int_equal(unc_root_open_dir(&r, path, &e), -ENOTDIR);
	assert_non_null(strstr(e.text, "Not a directory"));
	assert_int_equal(unc_root_open(&r, path, &e), -EINVAL);
	assert_non_null(strstr(e.text, "sys/a:1: not a snapshot"));
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
	size_t len;

	(void)state;
	assert_int_equal(unc_root_open(&r, "/", NULL), 0);
	assert_int_equal(unc_root_read(r, "proc/self/maps", &all), 0);
	assert_non_null(strstr(all, "[stack]"));
	assert_int_equal(unc_root_read_bytes(r, "proc/self/maps", 100, &start, &len), 0);
	assert_int_equal(strlen(start), 100);
	assert_memory_equal(start, all, 12);
	free(all);
	free(start);
	unc_root_free(r);
}

static void a_file_has_at_most_a_mebibyte(void **state)
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
	assert_int_equal(unc_root_read_bytes(r, "larger", 5000, &text, &len), 0);
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

/* Reads "link" below the tree where a seccomp filter refuses to read links; the child's exit status. */
static int read_without_readlink(const char *dir)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_readlinkat, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {COUNT(filter), filter};
	struct unc_root *r;
	char *text;
	int err;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		return 2;
	err = unc_root_open(&r, dir, NULL);
	return err ? 3 : unc_root_read(r, "link/file", &text) == 0;
}

static void links_that_cannot_be_read_stay_in_the_tree(void **state)
{
	char dir[300];
	struct tree t;
	int status;
	pid_t pid;

	(void)state;
	tree_make(&t);
	tree_put(&t, "outside/file", "secret");
	snprintf(dir, sizeof(dir), "%s/tree", t.dir);
	tree_link(&t, "tree/link", "../outside");
	pid = fork();
	if (pid == 0)
		_exit(read_without_readlink(dir));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	tree_remove(&t);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
		skip(); /* no seccomp here */
	assert_int_equal(status, 0);
}

/* A process in a mount namespace of its own, whose root is the tree. */
static pid_t start_container(const struct tree *t)
{
	int ends[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (unshare(geteuid() ? CLONE_NEWUSER | CLONE_NEWNS : CLONE_NEWNS) < 0 ||
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		    mount(t->dir, t->dir, NULL, MS_BIND, NULL) < 0 || chdir(t->dir) < 0 ||
		    syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 ||
		    write(ends[1], "", 1) != 1)
			_exit(0);
		pause();
		_exit(0);
	}
	close(ends[1]);
	if (read(ends[0], &byte, 1) != 1) {
		waitpid(pid, NULL, 0);
		pid = -1;
	}
	close(ends[0]);
	return pid;
}

static void the_root_of_a_container_is_not_this_machine(void **state)
{
	struct unc_root *r = NULL;
	char path[64], *text;
	struct tree t;
	pid_t pid;

	(void)state;
	tree_make(&t);
	tree_put(&t, "proc/version", "a container");
	pid = start_container(&t);
	if (pid < 0) {
		tree_remove(&t);
		skip();
	}
	snprintf(path, sizeof(path), "/proc/%d/root", pid);
	assert_int_equal(unc_root_open(&r, path, NULL), 0);
	assert_false(unc_root_is_live(r));
	assert_int_equal(unc_root_read_line(r, "proc/version", &text), 0);
	assert_string_equal(text, "a container");
	free(text);
	unc_root_free(r);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	tree_remove(&t);
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

static void a_pipe_is_refused(void **state)
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

static void refused_files_have_an_error(void **state)
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

static atomic_bool renaming;

static void *rename_files(void *dir)
{
	char from[400], to[400];

	snprintf(from, sizeof(from), "%s/from", (const char *)dir);
	snprintf(to, sizeof(to), "%s/to", (const char *)dir);
	while (atomic_load(&renaming)) {
		rename(from, to);
		rename(to, from);
	}
	return NULL;
}

/* The kernel then refuses to follow ".." in a link now and then. */
static void links_while_files_are_renamed(void **state)
{
	const struct tree *t = *state;
	struct unc_error e = {0};
	struct unc_root *r;
	pthread_t thread;

	tree_put(t, "from", "x");
	assert_int_equal(unc_root_open(&r, t->dir, &e), 0);
	atomic_store(&renaming, true);
	assert_int_equal(pthread_create(&thread, NULL, rename_files, (void *)t->dir), 0);
	for (int i = 0; i < 20000; i++)
		check_line(r, "sys/links/outside/type", "7");
	atomic_store(&renaming, false);
	pthread_join(thread, NULL);
	unc_root_free(r);
}

static void globs_in_several_parts(void **state)
{
	static const char *const files[] = {"glob/b10/hwmon/hwmon3/power",
					    "glob/b9/hwmon/hwmon1/power",
					    "glob/b9/hwmon/hwmon2/energy",
					    "glob/c/hwmon/hwmon0/power"};
	const struct tree *t = *state;
	struct unc_names names = {0};
	struct unc_error e = {0};
	struct unc_root *r;

	for (size_t i = 0; i < 4; i++)
		tree_put(t, files[i], "1");
	assert_int_equal(unc_root_open(&r, t->dir, &e), 0);
	assert_int_equal(unc_root_glob(r, "glob/b*/hwmon/hwmon[0-9]*/power", &names), 0);
	assert_int_equal(names.count, 2);
	assert_string_equal(names.items[0], files[1]);
	assert_string_equal(names.items[1], files[0]);
	assert_int_equal(unc_root_glob(r, "glob/c/hwmon/hwmon0/power", &names), 0);
	assert_int_equal(unc_root_glob(r, "glob/*", &names), 0);
	assert_int_equal(names.count, 6);
	assert_int_equal(unc_root_glob(r, "glob/d*/power", &names), 0);
	assert_int_equal(unc_root_glob(r, "nowhere/*", &names), 0);
	assert_int_equal(unc_root_glob(r, "glob/c/power", &names), 0);
	assert_int_equal(names.count, 6);
	unc_names_finish(&names);
	unc_root_free(r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(globs_in_several_parts),
		cmocka_unit_test(directory),
		cmocka_unit_test(snapshot_in_memory),
		cmocka_unit_test(snapshot_in_a_file),
		cmocka_unit_test(records),
		cmocka_unit_test(a_recorded_file_is_read_once),
		cmocka_unit_test(links_of_this_machine_are_recorded),
		cmocka_unit_test(errors_of_open_have_a_reason),
		cmocka_unit_test(this_machine_is_live),
		cmocka_unit_test(files_without_size_are_read_to_the_end),
		cmocka_unit_test(a_file_has_at_most_a_mebibyte),
		cmocka_unit_test(absolute_links_stay_in_a_copied_tree),
		cmocka_unit_test(links_that_cannot_be_read_stay_in_the_tree),
		cmocka_unit_test(the_root_of_a_container_is_not_this_machine),
		cmocka_unit_test(text_of_a_link),
		cmocka_unit_test(a_pipe_is_refused),
		cmocka_unit_test(refused_files_have_an_error),
		cmocka_unit_test(links_while_files_are_renamed),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
