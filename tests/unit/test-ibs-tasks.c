/* SPDX-License-Identifier: MIT */
/* Names and mappings of tasks from perf's records, and from /proc for this process itself. That
 * recordings are read as by perf is check-keys.py's work. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "helpers.h"
#include "ibs/tasks.h"

static void add(struct unc_tasks *t, unsigned type, unsigned misc, const void *payload, size_t size,
		uint64_t time)
{
	/* Of exactly this size, so that a read behind its end is seen. */
	char *copy = malloc(size + !size);
	struct perf_event_header h = {.type = type, .misc = (uint16_t)misc};

	assert_non_null(copy);
	memcpy(copy, payload, size);
	assert_int_equal(unc_tasks_add(t, &h, copy, size, time), 0);
	free(copy);
}

static void add_name(struct unc_tasks *t, int pid, int tid, const char *name, bool exec,
		     uint64_t time)
{
	struct {
		int pid, tid;
		char name[16];
	} r = {pid, tid, ""};

	snprintf(r.name, sizeof(r.name), "%s", name);
	add(t, PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0, &r, sizeof(r), time);
}

static void add_fork_of(struct unc_tasks *t, const int parent[2], const int child[2], uint64_t time)
{
	const int words[6] = {child[0], parent[0], child[1], parent[1]};

	add(t, PERF_RECORD_FORK, 0, words, sizeof(words), time);
}

static void add_fork(struct unc_tasks *t, int parent, int child, uint64_t time)
{
	add_fork_of(t, (int[]){parent, parent}, (int[]){child, child}, time);
}

static void add_map(struct unc_tasks *t, int pid, uint64_t start, uint64_t offset, const char *path,
		    uint64_t time)
{
	struct {
		int pid, tid;
		uint64_t start, size, offset;
		char path[16];
	} r = {pid, pid, start, 0x1000, offset, ""};

	snprintf(r.path, sizeof(r.path), "%s", path);
	add(t, PERF_RECORD_MMAP, 0, &r, sizeof(r), time);
}

/* "object+offset", or "?". */
static const char *place(struct unc_tasks *t, int pid, uint64_t address, uint64_t time)
{
	static char text[64];
	uint64_t offset;
	uint32_t object;

	if (!unc_tasks_map(t, pid, address, time, &object, &offset))
		return "?";
	snprintf(text, sizeof(text), "%s+%llx", t->objects[object]->path,
		 (unsigned long long)offset);
	return text;
}

static void what_held_at_the_time(void **state)
{
	struct unc_tasks t = {0};

	(void)state;
	/* Not in the order of time: each CPU has its own buffer. */
	add_name(&t, 5, 5, "ls", true, 30);
	add_map(&t, 5, 0x1000, 0x100, "/ls", 31);
	add_name(&t, 4, 4, "sh", false, 0);
	add_map(&t, 4, 0x1000, 0, "/sh", 0);
	add_fork(&t, 4, 5, 20);
	assert_string_equal(unc_tasks_name(&t, 5, 19), "");
	assert_string_equal(unc_tasks_name(&t, 5, 20), "sh");
	assert_string_equal(unc_tasks_name(&t, 5, 29), "sh");
	assert_string_equal(unc_tasks_name(&t, 5, UINT64_MAX), "ls");
	assert_string_equal(unc_tasks_name(&t, 0, 5), "[idle]");
	assert_string_equal(unc_tasks_name(&t, 77, 5), "");
	assert_string_equal(place(&t, 5, 0x1010, 25), "/sh+10");
	assert_string_equal(place(&t, 5, 0x1010, 40), "/ls+110");
	/* Between the exec and its first mapping nothing is known: not the old program's. */
	assert_string_equal(place(&t, 5, 0x1010, 30), "?");
	assert_string_equal(place(&t, 5, 0x2000, 40), "?");
	/* A later mapping of the same addresses covers them, from then on. */
	add_map(&t, 5, 0x1000, 0, "", 50);
	assert_string_equal(place(&t, 5, 0x1010, 49), "/ls+110");
	assert_string_equal(place(&t, 5, 0x1010, 50), "[anonymous]+10");
	/* The number is given to another process. */
	add_fork(&t, 4, 5, 60);
	assert_string_equal(unc_tasks_name(&t, 5, 60), "sh");
	assert_string_equal(place(&t, 5, 0x1010, 60), "/sh+10");
	unc_tasks_finish(&t);
}

/* Mappings are the process's, whichever thread forks; a name is the thread's. */
static void forks_of_threads(void **state)
{
	const int first[] = {4, 4}, worker[] = {4, 9}, child[] = {5, 5}, other[] = {4, 10};
	struct unc_tasks t = {0};

	(void)state;
	add_name(&t, 4, 4, "server", false, 0);
	add_map(&t, 4, 0x1000, 0, "/old", 1);
	add_fork_of(&t, first, worker, 10);
	add_name(&t, 4, 9, "worker", false, 11);
	add_map(&t, 4, 0x2000, 0, "/new", 20);
	add_fork_of(&t, worker, child, 30);
	assert_string_equal(unc_tasks_name(&t, 5, 30), "worker");
	assert_string_equal(place(&t, 5, 0x1010, 30), "/old+10");
	assert_string_equal(place(&t, 5, 0x2010, 30), "/new+10");
	/* What the process maps afterwards is not the child's. */
	add_map(&t, 4, 0x3000, 0, "/later", 31);
	assert_string_equal(place(&t, 5, 0x3010, 40), "?");
	/* A thread has no mappings of its own. */
	add_fork_of(&t, worker, other, 50);
	assert_string_equal(place(&t, 10, 0x1010, 60), "?");
	assert_string_equal(unc_tasks_name(&t, 10, 60), "worker");
	assert_string_equal(place(&t, 4, 0x1010, 60), "/old+10");
	unc_tasks_finish(&t);
}

/* ---- many events ---- */

static uint64_t dice;

static uint64_t throw(uint64_t below)
{
	dice = dice * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (dice >> 33) % below;
}

/* The look through all of them takes 4 s with sanitizers for 3000. `make check` has none. */
#ifdef __SANITIZE_ADDRESS__
#define MAPS 1000
#else
#define MAPS 3000
#endif

/* Mappings and ends at random, against a look through all of them. */
static void each_mapping_is_found(void **state)
{
	struct unc_past all[MAPS];
	struct unc_history h = {0};

	(void)state;
	for (size_t i = 0; i < MAPS; i++) {
		all[i] = (struct unc_past){.time = throw(500), .kind = UNC_PAST_MAP};
		all[i].map.start = throw(1000);
		all[i].map.end = all[i].map.start + throw(i % 2 ? 10 : 500);
		all[i].map.offset = i;
		if (throw(400) == 0)
			all[i] = (struct unc_past){all[i].time, UNC_PAST_NAME, .object = 1};
		assert_int_equal(unc_history_add(&h, &all[i]), 0);
		/* It is asked while it grows, too. */
		for (int n = 0; n < (i % 100 ? 2 : 100); n++) {
			uint64_t time = throw(520), at = throw(1600);
			const struct unc_past *best = NULL, *found;

			for (size_t j = 0; j <= i; j++)
				if (all[j].time <= time && (!best || all[j].time >= best->time) &&
				    (all[j].kind == UNC_PAST_NAME ||
				     (at >= all[j].map.start && at < all[j].map.end)))
					best = &all[j];
			found = unc_history_find(&h, time, &at);
			if (!best || best->kind == UNC_PAST_NAME)
				assert_null(found);
			else
				assert_true(found && found->map.offset == best->map.offset);
		}
	}
	unc_history_finish(&h);
}

/* A recording whose events are in the worst order: mappings over mappings, backward in time, and
 * addresses that only the oldest one has. */
static void many_mappings(void **state)
{
	const unsigned count = 1 << 16;
	struct unc_tasks t = {0};
	clock_t begin = clock();
	uint64_t offset;
	uint32_t object;

	(void)state;
	add_map(&t, 4, 0x8000, 0x100, "/first", 1);
	for (unsigned i = 0; i < count; i++)
		add_map(&t, 4, 0x1000, i, "/x", count + 1 - i);
	for (unsigned i = 0; i < count; i++) {
		assert_true(unc_tasks_map(&t, 4, 0x8010, 2 + i, &object, &offset));
		assert_int_equal(offset, 0x110);
		assert_true(unc_tasks_map(&t, 4, 0x1010, 2 + i, &object, &offset));
		assert_int_equal(offset, 0x10 + count - 1 - i);
	}
	/* Files of one path. */
	for (unsigned i = 0; i < count; i++) {
		uint64_t mmap2[11] = {4, 0x9000, 0x1000, 0, 0, i % (UNC_OBJECTS_MOST - 2)};

		memcpy(&mmap2[8], "/same", 6);
		add(&t, PERF_RECORD_MMAP2, 0, mmap2, sizeof(mmap2), 1);
	}
	assert_int_equal(t.object_count, UNC_OBJECTS_MOST);
	assert_int_equal(t.dropped, 0);
	/* One by one it takes minutes. */
	assert_true(clock() - begin < 30 * CLOCKS_PER_SEC);
	unc_tasks_finish(&t);
}

static void the_kernel(void **state)
{
	struct unc_tasks t = {0};

	(void)state;
	assert_string_equal(place(&t, 4, UINT64_C(0xffffffff81000010), 1),
			    "[kernel]+ffffffff81000010");
	add_map(&t, -1, UINT64_C(0xffffffffc0000000), 0, "/m.ko", 0);
	assert_string_equal(place(&t, 4, UINT64_C(0xffffffffc0000010), 1), "/m.ko+10");
	unc_tasks_finish(&t);
}

static void broken_records(void **state)
{
	const char bytes[80] = {1, 0, 0, 0, 1, 0, 0, 0};
	struct unc_tasks t = {0};

	(void)state;
	for (unsigned type = 0; type < 20; type++)
		for (size_t size = 0; size <= sizeof(bytes); size++)
			add(&t, type, PERF_RECORD_MISC_MMAP_BUILD_ID, bytes, size, size);
	/* Parents in a circle, and a mapping whose end is beyond all addresses. */
	add_fork(&t, 8, 9, 1);
	add_fork(&t, 9, 8, 1);
	assert_string_equal(unc_tasks_name(&t, 9, 5), "");
	add_map(&t, 9, UINT64_MAX - 5, 0, "/x", 1);
	assert_string_equal(place(&t, 9, UINT64_MAX - 6, 5), "[kernel]+fffffffffffffff9");
	unc_tasks_finish(&t);
}

static void more_than_there_is_room_for(void **state)
{
	struct unc_tasks t = {0};
	char path[16];

	(void)state;
	for (unsigned i = 0; i < UNC_OBJECTS_MOST + 3; i++) {
		snprintf(path, sizeof(path), "/%u", i);
		add_map(&t, 4, 0x1000, 0, path, i);
	}
	assert_int_equal(t.object_count, UNC_OBJECTS_MOST);
	assert_int_equal(t.dropped, 3);
	for (int i = 0; i < (int)UNC_TASKS_MOST; i++)
		add_fork(&t, 4, 100 + i, 5);
	assert_int_equal(t.dropped, 4);
	/* A recording keeps what it has; sampling for days does not fill up. */
	unc_tasks_trim(&t);
	assert_int_equal(t.count, UNC_TASKS_MOST);
	t.live = true;
	unc_tasks_trim(&t);
	assert_int_equal(t.count + t.events + t.object_count, 0);
	add_map(&t, 4, 0x1000, 0, "/again", 1);
	unc_tasks_trim(&t);
	assert_int_equal(t.count, 1);
	t.live = false;
	assert_string_equal(place(&t, 4, 0x1000, 5), "/again+0");
	unc_tasks_finish(&t);
}

int test_tasks_function(int of);

int test_tasks_function(int of)
{
	return of * 3;
}

/* This process ran before anybody recorded it. */
static void tasks_that_run(void **state)
{
	struct unc_tasks t = {.live = true};
	uint64_t offset = 0, start = 0;
	struct unc_error e;
	struct unc_root *root;
	uint32_t object = 0;
	const char *symbol;

	(void)state;
	assert_int_equal(prctl(PR_SET_NAME, "named"), 0);
	assert_int_equal(unc_root_open(&root, "/", &e), 0);
	t.root = root;
	assert_string_equal(unc_tasks_name(&t, getpid(), 5), "named");
	assert_true(unc_tasks_map(&t, getpid(), (uint64_t)(uintptr_t)test_tasks_function, 5,
				  &object, &offset));
	assert_contains(t.objects[object]->path, "test-ibs-tasks");
	symbol = unc_tasks_symbol(&t, getpid(), object, offset, &start);
	assert_string_equal(symbol, "test_tasks_function");
	assert_true(t.symbols_used > 0);
	/* Where other files have used the room. */
	t.symbols_used = UNC_SYMBOLS_MOST;
	t.objects[object]->read = false;
	unc_symbols_finish(&t.objects[object]->symbols);
	assert_null(unc_tasks_symbol(&t, getpid(), object, offset, &start));
	assert_int_equal(t.large, 1);
	assert_int_equal(t.changed, 0);
	t.symbols_used = 0;
	/* A file that is not the mapped one, by its inode. */
	t.objects[object]->inode++;
	t.objects[object]->read = false;
	unc_symbols_finish(&t.objects[object]->symbols);
	assert_null(unc_tasks_symbol(&t, getpid(), object, offset, &start));
	assert_int_equal(t.changed, 1);
	unc_tasks_finish(&t);
	unc_root_free(root);
}

/* A path that is no regular file, or a link, is not even opened. */
static void paths_of_strangers(void **state)
{
	char dir[] = "/tmp/XXXXXX", paths[2][16], event[512];
	const char *const ends[] = {"f", "l"};
	struct unc_tasks t = {0};
	struct unc_error e;
	struct unc_root *root;
	uint64_t offset = 0, start = 0;
	uint32_t object = 0;
	int watch = inotify_init1(IN_NONBLOCK);

	(void)state;
	assert_true(watch >= 0);
	assert_non_null(mkdtemp(dir));
	for (int i = 0; i < 2; i++)
		snprintf(paths[i], sizeof(paths[i]), "%s/%s", dir, ends[i]);
	assert_int_equal(mkfifo(paths[0], 0600), 0);
	assert_int_equal(symlink("/proc/self/exe", paths[1]), 0);
	assert_int_equal(unc_root_open(&root, "/", &e), 0);
	t.root = root;
	assert_true(inotify_add_watch(watch, paths[0], IN_OPEN) >= 0);
	for (int i = 0; i < 2; i++) {
		add_map(&t, 4, 0x1000, 0, paths[i], 1 + (uint64_t)i);
		assert_true(unc_tasks_map(&t, 4, 0x1010, 9, &object, &offset));
		assert_string_equal(t.objects[object]->path, paths[i]);
		assert_null(unc_tasks_symbol(&t, 4, object, offset, &start));
		assert_int_equal(t.objects[object]->symbols.count + t.symbols_used, 0);
	}
	assert_int_equal(read(watch, event, sizeof(event)), -1);
	assert_int_equal(errno, EAGAIN);
	for (int i = 0; i < 2; i++)
		unlink(paths[i]);
	rmdir(dir);
	close(watch);
	unc_tasks_finish(&t);
	unc_root_free(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_held_at_the_time),
		cmocka_unit_test(forks_of_threads),
		cmocka_unit_test(each_mapping_is_found),
		cmocka_unit_test(many_mappings),
		cmocka_unit_test(the_kernel),
		cmocka_unit_test(broken_records),
		cmocka_unit_test(more_than_there_is_room_for),
		cmocka_unit_test(tasks_that_run),
		cmocka_unit_test(paths_of_strangers),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
