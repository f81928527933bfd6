/* SPDX-License-Identifier: MIT */
/* What perf's records say about tasks: a history of each thread; that of the first thread of a
 * process has the mappings. A question that a history does not answer goes to the parent. */
#define _GNU_SOURCE
#include "ibs/tasks.h"
#include "ibs/load.h"

#include <fcntl.h>
#include <search.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef PERF_RECORD_MISC_MMAP_BUILD_ID /* Linux 5.12 */
#define PERF_RECORD_MISC_MMAP_BUILD_ID (1 << 14)
#endif

#define PARENTS_MOST 64 /* a list of parents may be a circle in a broken recording */
#define KERNEL_NAMES_MOST ((size_t)64 << 20)

struct unc_task {
	int tid, pid; /* pid -1: not known */
	bool looked;  /* /proc has been read */
	struct unc_history history;
};

static struct unc_task *find_task(const struct unc_tasks *t, int tid)
{
	struct unc_task **found = tfind(&tid, &t->tree, unc_compare_ints);

	return found ? *found : NULL;
}

/* NULL: no memory, or no room. */
static struct unc_task *make_task(struct unc_tasks *t, int tid)
{
	struct unc_task *task = find_task(t, tid);

	if (task || t->count == UNC_TASKS_MOST)
		return task;
	task = calloc(1, sizeof(*task));
	if (!task)
		return NULL;
	task->tid = tid;
	task->pid = -1;
	if (!tsearch(task, &t->tree, unc_compare_ints)) {
		free(task);
		return NULL;
	}
	t->count++;
	return task;
}

static int add_event(struct unc_tasks *t, int tid, const struct unc_past *event)
{
	struct unc_task *task = t->events < UNC_TASK_EVENTS_MOST ? make_task(t, tid) : NULL;

	if (!task) {
		t->dropped++;
		return 0;
	}
	if (unc_history_add(&task->history, event) < 0)
		return -ENOMEM;
	t->events++;
	return 0;
}

/* ---- objects ---- */

static int compare_objects(const void *a, const void *b)
{
	const struct unc_object *x = a, *y = b;

	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	if (x->build_id_size != y->build_id_size)
		return x->build_id_size < y->build_id_size ? -1 : 1;
	if (memcmp(x->build_id, y->build_id, x->build_id_size) != 0)
		return memcmp(x->build_id, y->build_id, x->build_id_size);
	return strcmp(x->path, y->path);
}

static void free_object(void *object)
{
	struct unc_object *o = object;

	free((void *)o->path);
	unc_symbols_finish(&o->symbols);
	free(o);
}

static struct unc_object *add_object(struct unc_tasks *t, const struct unc_object *object)
{
	struct unc_object *copy = malloc(sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = *object;
	copy->path = strdup(object->path);
	copy->number = (uint32_t)t->object_count;
	if (!copy->path || UNC_ADD(&t->objects, &t->object_count, &copy) < 0) {
		free_object(copy);
		return NULL;
	}
	if (!tsearch(copy, &t->object_tree, compare_objects)) {
		t->object_count--;
		free_object(copy);
		return NULL;
	}
	return copy;
}

/* The number of the object, which is made if it is new. The path is copied. */
static int intern(struct unc_tasks *t, const struct unc_object *object, uint32_t *number)
{
	struct unc_object **found = tfind(object, &t->object_tree, compare_objects);
	const struct unc_object *o = found ? *found : NULL;

	if (!o && t->object_count == UNC_OBJECTS_MOST) {
		t->dropped++;
		return -ENOSPC;
	}
	if (!o)
		o = add_object(t, object);
	if (!o)
		return -ENOMEM;
	*number = o->number;
	return 0;
}

/* Adds an event of a thread of this process. */
static int add_thread(struct unc_tasks *t, int pid, int tid, const struct unc_past *event)
{
	int ret = add_event(t, tid, event);
	struct unc_task *task = find_task(t, tid);

	if (task)
		task->pid = pid;
	return ret;
}

static int add_map(struct unc_tasks *t, int pid, struct unc_past *event, struct unc_object *object)
{
	int ret;

	if (strncmp(object->path, "[kernel.kallsyms]", 17) == 0) {
		object->path = "[kernel]";
		event->map.offset = event->map.start; /* the place of a symbol in the kernel */
	} else if (!object->path[0] || strncmp(object->path, "//anon", 6) == 0) {
		object->path = "[anonymous]";
	}
	ret = intern(t, object, &event->object);
	if (ret == 0)
		ret = add_event(t, pid, event);
	return ret == -ENOSPC ? 0 : ret;
}

/* ---- perf's records ---- */

static int int_at(const char *payload, size_t at)
{
	int value;

	memcpy(&value, payload + at, sizeof(value));
	return value;
}

/* The second kind has the file's inode, or its build id, between the place and the path. */
static int add_mmap(struct unc_tasks *t, const struct perf_event_header *h, const char *payload,
		    size_t size, uint64_t time)
{
	size_t name = h->type == PERF_RECORD_MMAP2 ? 64 : 32;
	char path[4096];
	struct unc_object object = {.path = path};
	struct unc_past event = {.time = time, .kind = UNC_PAST_MAP};

	if (size < name)
		return 0;
	event.map.start = unc_word_at(payload, 1);
	event.map.end = event.map.start + unc_word_at(payload, 2);
	event.map.offset = unc_word_at(payload, 3);
	snprintf(path, sizeof(path), "%.*s", (int)(size - name), payload + name);
	if (event.map.end < event.map.start)
		return 0;
	if (h->type == PERF_RECORD_MMAP2 && h->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		object.build_id_size = (unsigned char)payload[32] % (UNC_BUILD_ID_MOST + 1);
		memcpy(object.build_id, payload + 36, object.build_id_size);
	} else if (h->type == PERF_RECORD_MMAP2) {
		object.inode = unc_word_at(payload, 5);
	}
	return add_map(t, int_at(payload, 0), &event, &object);
}

int unc_tasks_add(struct unc_tasks *t, const struct perf_event_header *h, const char *payload,
		  size_t size, uint64_t time)
{
	struct unc_past event = {.time = time};

	switch (h->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return add_mmap(t, h, payload, size, time);
	case PERF_RECORD_COMM:
		if (size < 8)
			return 0;
		event.kind = UNC_PAST_NAME;
		event.object = (h->misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
		snprintf(event.name, sizeof(event.name), "%.*s", (int)(size - 8), payload + 8);
		return add_thread(t, int_at(payload, 0), int_at(payload, 4), &event);
	case PERF_RECORD_FORK:
		if (size < 16)
			return 0;
		event.kind = UNC_PAST_PARENT;
		event.parent.pid = int_at(payload, 4);
		event.parent.tid = int_at(payload, 12);
		event.parent.thread = event.parent.pid == int_at(payload, 0);
		return add_thread(t, int_at(payload, 0), int_at(payload, 8), &event);
	default:
		return 0;
	}
}

/* ---- /proc, for tasks that ran before ---- */

/* A line is "START-END PERMISSIONS OFFSET MAJOR:MINOR INODE   PATH". */
static int add_proc_map(struct unc_tasks *t, int pid, char *line)
{
	struct unc_past event = {.kind = UNC_PAST_MAP};
	struct unc_object object = {0};
	const char *at = line;
	uint64_t unused;

	if (!unc_take_digits(&at, 16, 16, &event.map.start) || *at++ != '-' ||
	    !unc_take_digits(&at, 16, 16, &event.map.end) || strlen(at) < 6 || at[3] != 'x')
		return 0;
	at += 6;
	if (!unc_take_digits(&at, 16, 16, &event.map.offset) || *at++ != ' ' ||
	    !unc_take_digits(&at, 16, 8, &unused) || *at++ != ':' ||
	    !unc_take_digits(&at, 16, 8, &unused) || *at++ != ' ' ||
	    !unc_take_digits(&at, 10, 20, &object.inode))
		return 0;
	object.path = line + (at - line) + strspn(at, " ");
	return add_map(t, pid, &event, &object);
}

static void read_proc(struct unc_tasks *t, int tid)
{
	struct unc_past name = {.kind = UNC_PAST_NAME};
	struct unc_task *task = make_task(t, tid);
	char *text = NULL, *rest;
	int ret;

	if (!task)
		return;
	task->looked = true;
	if (unc_root_read_line(t->root, UNC_PATH("proc/%d/comm", tid), &text) == 0) {
		snprintf(name.name, sizeof(name.name), "%s", text);
		add_event(t, tid, &name);
	}
	free(text);
	text = NULL;
	ret = unc_root_read(t->root, UNC_PATH("proc/%d/maps", tid), &text);
	t->refused += ret == -EACCES || ret == -EPERM;
	rest = text;
	while (ret == 0 && rest) {
		char *line = strsep(&rest, "\n");

		add_proc_map(t, tid, line);
	}
	free(text);
}

/* ---- questions ---- */

/* A name is inherited from the thread that forked; mappings are those of its process. */
static const struct unc_past *search_all(struct unc_tasks *t, int tid, uint64_t time,
					 const uint64_t *address)
{
	for (int depth = 0; depth < PARENTS_MOST; depth++) {
		struct unc_task *task = find_task(t, tid);
		const struct unc_past *e =
			task ? unc_history_find(&task->history, time, address) : NULL;

		if (!e && t->live && tid > 0 && !(task && task->looked)) {
			read_proc(t, tid);
			task = find_task(t, tid);
			e = task ? unc_history_find(&task->history, time, address) : NULL;
		}
		if (!e || e->kind != UNC_PAST_PARENT)
			return e;
		time = e->time;
		tid = address ? e->parent.pid : e->parent.tid;
	}
	return NULL;
}

const char *unc_tasks_name(struct unc_tasks *t, int tid, uint64_t time)
{
	const struct unc_past *e = tid ? search_all(t, tid, time, NULL) : NULL;

	if (tid == 0)
		return "[idle]";
	return e ? e->name : "";
}

/* A thread that ran before, from the line "Tgid:" of its status. */
static int read_process(const struct unc_tasks *t, int tid)
{
	const char *line, *at;
	char *text = NULL;
	uint64_t pid = 0;

	if (unc_root_read(t->root, UNC_PATH("proc/%d/status", tid), &text) == 0 &&
	    (line = strstr(text, "\nTgid:"))) {
		at = line + 6;
		at += strspn(at, " \t");
		unc_take_digits(&at, 10, 9, &pid);
	}
	free(text);
	return pid ? (int)pid : -1;
}

int unc_tasks_process(struct unc_tasks *t, int tid)
{
	struct unc_task *task = find_task(t, tid);

	if (tid == 0)
		return 0;
	if (t->live && !task && (task = make_task(t, tid)))
		task->pid = read_process(t, tid);
	return task ? task->pid : -1;
}

bool unc_tasks_map(struct unc_tasks *t, int pid, uint64_t address, uint64_t time, uint32_t *object,
		   uint64_t *offset)
{
	const struct unc_object kernel = {.path = "[kernel]"};
	bool of_kernel = address >> 63; /* on x86-64 and arm64 */
	const struct unc_past *e = search_all(t, of_kernel ? UNC_TASK_KERNEL : pid, time, &address);

	if (e) {
		*object = e->object;
		*offset = address - e->map.start + e->map.offset;
		return true;
	}
	*offset = address;
	return of_kernel && intern(t, &kernel, object) == 0;
}

/* ---- symbols ---- */

static int read_kernel(struct unc_tasks *t, struct unc_symbols *into)
{
	int fd = t->live ? unc_root_open_file(t->root, "proc/kallsyms", O_RDONLY) : -ENOENT;
	char *text = NULL;
	size_t size = 0;
	int ret = fd < 0 ? fd : unc_read_fd(fd, KERNEL_NAMES_MOST, &text, &size);

	if (fd >= 0)
		close(fd);
	t->symbols_used += size;
	return ret < 0 ? ret : unc_symbols_kernel(into, text, size);
}

/* Whether the file is the one that was mapped: by its build id, otherwise by its inode. */
static bool is_same(const struct unc_tasks *t, const struct unc_object *o,
		    const struct unc_symbols *found, const struct stat *st)
{
	if (o->build_id_size)
		return found->build_id_size == o->build_id_size &&
		       memcmp(found->build_id, o->build_id, o->build_id_size) == 0;
	return o->inode && o->inode == st->st_ino && (!t->newest || st->st_mtime <= t->newest);
}

static void read_symbols(struct unc_tasks *t, int pid, struct unc_object *o)
{
	struct unc_symbols found = {0};
	struct unc_bytes bytes = {.fd = -1, .used = &t->symbols_used};
	struct stat st;
	int ret;

	o->read = true;
	if (!t->root)
		return;
	if (strcmp(o->path, "[kernel]") == 0)
		read_kernel(t, &o->symbols);
	if (o->path[0] != '/')
		return;
	/* A stranger has chosen the path. The process may see other files than we do. */
	if (t->live)
		bytes.fd = unc_root_open_regular(t->root, UNC_PATH("proc/%d/root%s", pid, o->path));
	if (bytes.fd < 0)
		bytes.fd = unc_root_open_regular(t->root, o->path + 1);
	if (bytes.fd < 0)
		return;
	if (fstat(bytes.fd, &st) == 0) {
		bytes.size = (uint64_t)st.st_size;
		ret = unc_symbols_read(&found, &bytes);
		if (ret == -EFBIG) {
			t->large++;
		} else if (is_same(t, o, &found, &st)) {
			o->symbols = found;
			found = (struct unc_symbols){0};
		} else {
			t->changed += o->inode || o->build_id_size;
		}
	}
	unc_symbols_finish(&found);
	close(bytes.fd);
}

const char *unc_tasks_symbol(struct unc_tasks *t, int pid, uint32_t object, uint64_t offset,
			     uint64_t *start)
{
	struct unc_object *o = t->objects[object];
	const struct unc_symbol *symbol;
	uint64_t address = offset;

	if (!o->read)
		read_symbols(t, pid, o);
	/* Symbols of a module are in the places of its parts, which are not known here. */
	if (o->path[0] == '/' && !unc_symbols_address(&o->symbols, offset, &address))
		return NULL;
	symbol = unc_symbols_find(&o->symbols, address);
	if (!symbol)
		return NULL;
	*start = symbol->start;
	return unc_symbols_name(&o->symbols, symbol);
}

/* Without nodes to move to, the call says where the page is. */
int unc_tasks_node(const struct unc_tasks *t, int pid, uint64_t address)
{
	uint64_t page = address;
	int node = -1;

	if (!t->live || pid <= 0 || address >> 63 ||
	    syscall(SYS_move_pages, pid, 1UL, &page, NULL, &node, 0) != 0)
		return -1;
	return node >= 0 ? node : -1;
}

static void free_task(void *task)
{
	unc_history_finish(&((struct unc_task *)task)->history);
	free(task);
}

void unc_tasks_finish(struct unc_tasks *t)
{
	tdestroy(t->tree, free_task);
	tdestroy(t->object_tree, free_object);
	free(t->objects);
}

void unc_tasks_trim(struct unc_tasks *t)
{
	if (!t->live || (t->count < UNC_TASKS_MOST / 2 && t->events < UNC_TASK_EVENTS_MOST / 2 &&
			 t->object_count < UNC_OBJECTS_MOST / 2))
		return;
	unc_tasks_finish(t);
	*t = (struct unc_tasks){.root = t->root, .live = true};
}
