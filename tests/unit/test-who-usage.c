/* SPDX-License-Identifier: MIT */
/* Bytes and GPU time by process, from files in a directory. What ends is added to the process that waits for it by the kernel
 * (linux kernel/exit.c, wait_task_zombie()); the texts of fdinfo are as linux Documentation/gpu/drm-usage-stats.rst describes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tree.h"
#include "who/usage.h"

struct world {
	struct tree tree;
	struct tasks tasks;
	struct usage usage;
};

/* A process that has waited for children which took so many faults. */
static void put_process(struct world *w, int pid, int parent, int start, int waited)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "proc/%d/stat", pid);
	snprintf(text, sizeof(text),
		 "%d (a) S %d 1 1 0 -1 4194304 100 %d 0 0 0 0 0 0 20 0 1 0 %d 0 0\n", pid, parent,
		 waited, start);
	tree_put(&w->tree, path, text);
}

static void put_io(struct world *w, int pid, int read, int written, int cancelled)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "proc/%d/io", pid);
	snprintf(
		text, sizeof(text),
		"rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: %d\nwrite_bytes: %d\ncancelled_write_bytes: %d\n",
		read, written, cancelled);
	tree_put(&w->tree, path, text);
}

static void end_process(struct world *w, int pid)
{
	char path[512];

	for (int i = 0; i < 3; i++) {
		static const char *const files[] = {"/stat", "/io", ""};

		snprintf(path, sizeof(path), "%s/proc/%d%s", w->tree.dir, pid, files[i]);
		remove(path);
	}
}

static void open_world(struct world *w)
{
	*w = (struct world){0};
	tree_make(&w->tree);
	tree_put(&w->tree, "proc/uptime", "1 1\n");
	assert_int_equal(tasks_open(&w->tasks, w->tree.dir), 0);
	usage_open(&w->usage, NULL, w->tree.dir);
}

static void close_world(struct world *w)
{
	usage_close(&w->usage);
	tasks_close(&w->tasks);
	tree_remove(&w->tree);
}

static void look(struct world *w)
{
	tasks_scan(&w->tasks);
	usage_look(&w->usage, &w->tasks);
}

static struct used used_of(const struct world *w, int pid)
{
	const struct process *p = tasks_find(&w->tasks, pid);

	assert_non_null(p);
	return usage_of(&w->usage, (size_t)(p - w->tasks.items));
}

static void assert_used(const struct world *w, int pid, uint64_t read, uint64_t written)
{
	struct used used = used_of(w, pid);

	assert_true(used.known);
	assert_int_equal(used.read, read);
	assert_int_equal(used.written, written);
}

static void test_differences(void **state)
{
	struct world w;

	(void)state;
	open_world(&w);
	put_process(&w, 1, 0, 1, 0);
	put_io(&w, 1, 1000, 2000, 0);
	put_process(&w, 5, 1, 10, 0);
	put_io(&w, 5, 100, 200, 50);
	look(&w);
	assert_false(used_of(&w, 5).known);
	put_io(&w, 5, 150, 300, 60);
	/* It began in the interval; and a process of the same id that is another one. */
	put_process(&w, 6, 1, 20, 0);
	put_io(&w, 6, 7, 8, 0);
	look(&w);
	assert_used(&w, 1, 0, 0);
	assert_used(&w, 5, 50, 90);
	assert_used(&w, 6, 7, 8);
	/* It has removed what another one had written. */
	put_io(&w, 5, 150, 301, 400);
	put_process(&w, 6, 1, 30, 0);
	put_io(&w, 6, 3, 4, 0);
	look(&w);
	assert_used(&w, 5, 0, 0);
	assert_used(&w, 6, 3, 4);
	close_world(&w);
}

static void test_parent_waits(void **state)
{
	struct world w;

	(void)state;
	open_world(&w);
	put_process(&w, 1, 0, 1, 0);
	put_io(&w, 1, 0, 0, 0);
	put_process(&w, 5, 1, 10, 0);
	put_io(&w, 5, 10, 10, 0);
	put_process(&w, 6, 5, 20, 0);
	put_io(&w, 6, 4000, 5000, 1000);
	look(&w);
	/* It moves 200 more and ends; its parent moves 3 itself. The parent's sums have all of it. */
	end_process(&w, 6);
	put_process(&w, 5, 1, 10, 77);
	put_io(&w, 5, 10 + 4200 + 3, 10 + 5200 + 3, 1000);
	look(&w);
	assert_used(&w, 5, 203, 203);
	assert_true(used_of(&w, 5).inherited);
	assert_int_equal(w.usage.lost, 0);
	close_world(&w);
}

/* A parent that ignores SIGCHLD does not get the sums of its children. */
static void test_nobody_waits(void **state)
{
	struct world w;

	(void)state;
	open_world(&w);
	put_process(&w, 1, 0, 1, 0);
	put_io(&w, 1, 0, 0, 0);
	put_process(&w, 5, 1, 10, 0);
	put_io(&w, 5, 10, 10, 0);
	put_process(&w, 6, 5, 20, 0);
	put_io(&w, 6, 400, 500, 0);
	look(&w);
	end_process(&w, 6);
	put_io(&w, 5, 10 + 9000, 10 + 9000, 0);
	look(&w);
	assert_used(&w, 5, 9000, 9000);
	assert_int_equal(w.usage.lost, 1);
	close_world(&w);
}

/* The parent ends before its child, for which init waits then; or after it. */
static void test_parents_end(void **state)
{
	struct world w;

	(void)state;
	for (int first = 0; first < 2; first++) {
		open_world(&w);
		put_process(&w, 1, 0, 1, 0);
		put_io(&w, 1, 0, 0, 0);
		put_process(&w, 4, 1, 5, 0);
		put_io(&w, 4, 0, 0, 0);
		put_process(&w, 5, 4, 10, 0);
		put_io(&w, 5, 100, 100, 0);
		put_process(&w, 6, 5, 20, 0);
		put_io(&w, 6, 4000, 5000, 0);
		look(&w);
		end_process(&w, 5);
		end_process(&w, 6);
		put_process(&w, 4, 1, 5, 3);
		put_io(&w, 4, first ? 100 : 4100, first ? 100 : 5100, 0);
		put_process(&w, 1, 0, 1, first ? 9 : 0);
		put_io(&w, 1, first ? 4001 : 0, first ? 5001 : 0, 0);
		look(&w);
		assert_used(&w, 4, 0, 0);
		assert_used(&w, 1, (uint64_t)first, (uint64_t)first);
		assert_int_equal(w.usage.lost, 0);
		close_world(&w);
	}
}

/* ---- GPUs ---- */

static const char by_time[] =
	"pos:\t0\nflags:\t02100002\nmnt_id:\t24\nino:\t500\ndrm-driver:\ti915\ndrm-client-id:\t7\n"
	"drm-pdev:\t0000:00:02.0\ndrm-total-system0:\t4096 KiB\ndrm-resident-system0:\t2 MiB\n"
	"drm-resident-local0:\t1024 KiB\ndrm-memory-local0:\t9 MiB\ndrm-engine-render:\t9288864723 ns\n"
	"drm-engine-video:\t1000 ns\ndrm-engine-capacity-video:\t2\n";
static const char by_cycles[] =
	"drm-driver:\txe\ndrm-client-id:\t70\ndrm-pdev:\t0000:03:00.0\ndrm-total-vram0:\t512\n"
	"drm-cycles-rcs:\t1000\ndrm-total-cycles-rcs:\t5000\ndrm-engine-capacity-rcs:\t1\n";

static void test_fdinfo(void **state)
{
	struct client c, old;

	(void)state;
	assert_true(client_parse(by_time, &old));
	assert_string_equal(old.device, "0000:00:02.0");
	assert_int_equal(old.id, 7);
	assert_int_equal(old.memory, 3 << 20);
	assert_int_equal(old.engine_count, 2);
	c = old;
	c.at_ns = old.at_ns + 2000000000;
	c.engines[0].busy_ns += 1000000000;
	c.engines[1].busy_ns += 3000000000;
	client_compare(&c, &old);
	assert_float_equal(c.busy, 2, 1e-9);
	/* A count that went back: the larger one stays, until it is passed. */
	old = c;
	c.at_ns += 1000000000;
	c.engines[0].busy_ns -= 500;
	client_compare(&c, &old);
	assert_float_equal(c.busy, 0, 1e-9);
	assert_int_equal(c.engines[0].busy_ns, old.engines[0].busy_ns);

	assert_true(client_parse(by_cycles, &old));
	assert_int_equal(old.memory, 512);
	c = old;
	c.engines[0].cycles += 300;
	c.engines[0].total_cycles += 400;
	client_compare(&c, &old);
	assert_false(c.has_busy); /* at the same moment */
	c.at_ns = old.at_ns + 1000000000;
	c.engines[0].cycles = old.engines[0].cycles + 300;
	c.engines[0].total_cycles = old.engines[0].total_cycles + 400;
	client_compare(&c, &old);
	assert_true(c.has_busy);
	assert_float_equal(c.busy, 0.75, 1e-9);
	/* The GPU's clock since the engine was first used is not known; without it, its time is. */
	old.engine_count = 0;
	client_compare(&c, &old);
	assert_false(c.has_busy);
	assert_true(client_parse("drm-client-id: 1\ndrm-engine-gfx: 500000000 ns\n", &c));
	assert_false(c.has_memory);
	assert_true(client_parse("drm-client-id: 1\n", &old));
	c.at_ns = old.at_ns + 1000000000;
	client_compare(&c, &old);
	assert_true(c.has_busy);
	assert_float_equal(c.busy, 0.5, 1e-9);
	/* A driver that has no time of engines, and no memory. */
	c = old;
	c.at_ns = old.at_ns + 1000000000;
	client_compare(&c, &old);
	assert_false(c.has_busy || c.has_memory);
	assert_false(client_parse("pos:\t0\nflags:\t02\n", &c));
	assert_false(client_parse("drm-driver:\told\n", &c));
	assert_false(client_parse("", &c));
}

/* A descriptor that two processes share is of one client, which is counted once. */
static void test_shared_client(void **state)
{
	struct world w;
	char path[512];

	(void)state;
	open_world(&w);
	w.usage.has_gpus = true;
	for (int pid = 5; pid < 7; pid++) {
		put_process(&w, pid, 1, pid, 0);
		put_io(&w, pid, 0, 0, 0);
		snprintf(path, sizeof(path), "proc/%d/fdinfo/3", pid);
		tree_put(&w.tree, path, by_time);
		snprintf(path, sizeof(path), "%s/proc/%d/fd", w.tree.dir, pid);
		assert_int_equal(mkdir(path, 0755), 0);
		snprintf(path, sizeof(path), "%s/proc/%d/fd/3", w.tree.dir, pid);
		assert_int_equal(symlink("/dev/dri/renderD128", path), 0);
	}
	look(&w);
	assert_int_equal(used_of(&w, 5).gpu_clients, 1);
	assert_int_equal(used_of(&w, 5).gpu_memory, 3 << 20);
	assert_int_equal(used_of(&w, 6).gpu_clients, 0);
	/* It has no difference yet: what it has used since it began is not known. */
	assert_int_equal(used_of(&w, 5).busy, 0);
	assert_int_equal(used_of(&w, 5).memory, 1);
	look(&w);
	assert_int_equal(used_of(&w, 5).busy, 1);
	close_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_differences),  cmocka_unit_test(test_parent_waits),
		cmocka_unit_test(test_nobody_waits), cmocka_unit_test(test_parents_end),
		cmocka_unit_test(test_fdinfo),       cmocka_unit_test(test_shared_client),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
