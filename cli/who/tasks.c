/* SPDX-License-Identifier: MIT */
#include "who/tasks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cli.h"

#define PF_KTHREAD 0x00200000 /* linux include/linux/sched.h */
/* Threads of the kernel are read again after so many scans, since ids are used again. */
#define KERNEL_SCANS 32
/* The inode of the first PID namespace, which has all processes: PROC_PID_INIT_INO in linux
 * include/linux/proc_ns.h. */
#define FIRST_NAMESPACE 0xEFFFFFFC

static bool is_contained(int proc)
{
	struct stat st;

	return fstatat(proc, "self/ns/pid", &st, 0) == 0 && st.st_ino != FIRST_NAMESPACE;
}

int tasks_open(struct tasks *t, const char *root)
{
	auto_buffer path = {0};
	char self[16] = "";

	buffer_printf(&path, "%s/proc", root ? root : "");
	*t = (struct tasks){.proc = open(path.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
			    .ticks_per_s = (double)sysconf(_SC_CLK_TCK)};
	if (t->proc < 0)
		return cli_failure(CLI_RUNTIME, "%s cannot be read: %s", path.data,
				   strerror(errno));
	if (readlinkat(t->proc, "self", self, sizeof(self) - 1) > 0)
		t->own = (int)strtol(self, NULL, 10);
	t->contained = !root && is_contained(t->proc);
	return CLI_OK;
}

void tasks_close(struct tasks *t)
{
	if (t->proc >= 0)
		close(t->proc);
	free(t->items);
	*t = (struct tasks){.proc = -1};
}

struct process *tasks_find(const struct tasks *t, int pid)
{
	return t->count ? bsearch(&pid, t->items, t->count, sizeof(*t->items), cli_compare_ints)
			: NULL;
}

/* With `once` all of the file is expected from one call of read(), as it is of one line. */
static bool read_file(const struct tasks *t, int pid, const char *file, bool once,
		      struct buffer *into)
{
	char path[64];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "%d/%s", pid, file);
	fd = openat(t->proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	do {
		size_t len = into->len;
		char *at = buffer_more(into, 4096);

		got = read(fd, at, 4096);
		into->len = len + (got > 0 ? (size_t)got : 0);
		into->data[into->len] = '\0';
	} while (got > 0 && !once);
	close(fd);
	return once ? got > 0 : got == 0;
}

bool tasks_read(const struct tasks *t, int pid, const char *file, struct buffer *into)
{
	return read_file(t, pid, file, false, into);
}

/* The numbers of fields in /proc/PID/stat, see proc_pid_stat(5). */
enum {
	PARENT = 4,
	FLAGS = 9,
	MINOR,
	WAITED_MINOR,
	MAJOR,
	USER = 14,
	SYSTEM,
	WAITED_USER,
	WAITED_SYSTEM,
	START = 22
};

/* "PID (NAME) S PPID ...": the name may have blanks and parentheses. False: it is no such line. */
static bool parse_stat(char *text, struct process *into)
{
	char *open = strchr(text, '('), *close = strrchr(text, ')'), *at;
	uint64_t fields[START + 1] = {0};

	if (!open || !close || close < open || strlen(close) < 4)
		return false;
	at = close + 3; /* behind the state, which is field 3 */
	for (int i = PARENT; i <= START; i++) {
		char *end;

		fields[i] = strtoull(at, &end, 10);
		if (end == at)
			return false;
		at = end;
	}
	into->parent = (int)fields[PARENT];
	into->is_kernel = fields[FLAGS] & PF_KTHREAD;
	into->faults = fields[MINOR] + fields[MAJOR];
	into->cpu = fields[USER] + fields[SYSTEM];
	into->waited = fields[WAITED_USER] + fields[WAITED_SYSTEM];
	into->waited_faults = fields[WAITED_MINOR];
	into->start = fields[START];
	*close = '\0';
	snprintf(into->name, sizeof(into->name), "%s", open + 1);
	into->name[cli_clean(into->name, strlen(into->name), "")] = '\0';
	return true;
}

/* What a process has used since the scan before; `old` is NULL for one that was not there: what it
 * has used since it started was in this time. */
static void compare(const struct tasks *t, struct process *p, const struct process *old,
		    double seconds)
{
	const struct process none = {0};

	p->is_new = !old;
	p->renamed = old && strcmp(old->name, p->name) != 0;
	p->key = old ? old->key : SIZE_MAX;
	p->placed = old && old->placed;
	p->scans = old ? old->scans + 1 : 1;
	if (!t->at_ns || !(seconds > 0))
		return;
	old = old ? old : &none;
	p->cpu_share = (double)(p->cpu - old->cpu) / t->ticks_per_s / seconds;
	p->fault_rate = (double)(p->faults - old->faults) / seconds;
	p->children = p->waited > old->waited;
}

static bool read_process(struct tasks *t, int pid, double seconds, struct buffer *text,
			 struct process *into)
{
	const struct process *old = tasks_find(t, pid);

	if (old && old->is_kernel && t->scans % KERNEL_SCANS) {
		*into = *old;
		return true;
	}
	*into = (struct process){.pid = pid};
	text->len = 0;
	if (!read_file(t, pid, "stat", true, text) || !parse_stat(text->data, into))
		return false;
	compare(t, into, old && old->start == into->start ? old : NULL, seconds);
	return true;
}

DIR *tasks_directory(const struct tasks *t, int pid, const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "%d/%s", pid, name);
	fd = openat(t->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? NULL : fdopendir(fd);
}

/* The next entry that is a number. Returns 0 at the end, and closes the directory. */
static int next_number(DIR *dir)
{
	const struct dirent *d;

	while (dir && (d = readdir(dir))) {
		char *end;
		long number = strtol(d->d_name, &end, 10);

		if (!*end && number > 0)
			return (int)number;
	}
	if (dir)
		closedir(dir);
	return 0;
}

void tasks_scan(struct tasks *t)
{
	uint64_t now_ns = cli_now_ns();
	double seconds = (double)(now_ns - t->at_ns) / 1e9;
	struct tasks next = *t;
	auto_buffer text = {0};
	int fd = openat(t->proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	next.items = NULL;
	next.count = next.denied = 0;
	for (int pid; (pid = next_number(dir));) {
		next.items = cli_grow(next.items, next.count, sizeof(*next.items));
		errno = 0;
		if (read_process(t, pid, seconds, &text, &next.items[next.count]))
			next.count++;
		else
			next.denied += errno == EACCES || errno == EPERM;
	}
	if (next.count)
		qsort(next.items, next.count, sizeof(*next.items), cli_compare_ints);
	free(t->items);
	next.seconds = t->at_ns ? seconds : 0;
	next.at_ns = now_ns;
	next.scans++;
	*t = next;
}

void tasks_threads(const struct tasks *t, int pid, int **ids, size_t *count)
{
	DIR *dir = tasks_directory(t, pid, "task");

	for (int id; (id = next_number(dir));) {
		*ids = cli_grow(*ids, *count, sizeof(**ids));
		(*ids)[(*count)++] = id;
	}
}

int tasks_process_of(const struct tasks *t, int thread)
{
	auto_buffer text = {0};
	const char *line =
		tasks_read(t, thread, "status", &text) ? strstr(text.data, "\nTgid:") : NULL;

	return line ? (int)strtol(line + strlen("\nTgid:"), NULL, 10) : 0;
}
