/* SPDX-License-Identifier: MIT */
/* LD_PRELOAD for the tests of who: what the kernel does with the directories and files of resctrl, for plain files below
 * $RESCTRL/sys/fs/resctrl, as linux Documentation/filesystems/resctrl.rst describes it. A new directory gets its files, as long as
 * info/L3_MON/num_rmids allows; a removed one gives its tasks back; what is written into `tasks` moves a task. Each task moves
 * data at a known rate, and the group that it is in counts that: $RESCTRL/loads has lines "TASK CPU TOTAL LOCAL TOTAL LOCAL", with
 * the share of a CPU, and bytes per second on the two caches. A '@' in a file /proc/PID/stat stands for its ticks. $RESCTRL/log gets
 * a line for each change. With a file $RESCTRL/word, groups "uncore-PID-0" have its text, "Unavailable", instead of counts. With a
 * file $RESCTRL/read-only, no group can be made. With a
 * file $RESCTRL/limbo, the id of a removed group cannot be used for so many seconds. A task with a file $RESCTRL/denied/TASK may not
 * be moved. $RESCTRL/steal has "TASK top|group OTHER GROUP": when TASK is moved into the default group, or into another one, another
 * program moves OTHER into GROUP just before. A file "%groups" in /proc/TASK is its cpu_resctrl_groups. */

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MOST 256

static struct group {
	char path[PATH_MAX]; /* below the top: "" or "mon_groups/x" */
	double bytes[2][2];  /* cache, total or local */
	bool there;
} groups[MOST];
static struct task {
	int id, group;
	double cpu, rates[2][2];
} tasks[MOST];
static int group_count, task_count;
static double settled;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static const char *root(void)
{
	const char *at = getenv("RESCTRL");

	return at ? at : "/none";
}

static char *file(char into[PATH_MAX], const char *group, const char *name)
{
	snprintf(into, PATH_MAX, "%.1500s/sys/fs/resctrl/%.1000s%s%.500s", root(), group,
		 *group ? "/" : "", name);
	return into;
}

static void put(const char *path, const char *mode, const char *text)
{
	FILE *f = fopen(path, mode);

	if (!f)
		abort();
	fputs(text, f);
	fclose(f);
}

static void note(const char *what, const char *name, int task)
{
	char path[PATH_MAX], line[PATH_MAX];

	snprintf(path, sizeof(path), "%.1500s/log", root());
	snprintf(line, sizeof(line), task ? "%s %.1000s %d\n" : "%s %.1000s\n", what, name, task);
	put(path, "a", line);
}

/* ---- what there is ---- */

static struct task *find_task(int id)
{
	for (int i = 0; i < task_count; i++)
		if (tasks[i].id == id)
			return &tasks[i];
	if (task_count == MOST)
		abort();
	tasks[task_count] = (struct task){.id = id};
	return &tasks[task_count++];
}

static int find_group(const char *path)
{
	for (int i = 0; i < group_count; i++)
		if (strcmp(groups[i].path, path) == 0)
			return i;
	if (group_count == MOST)
		abort();
	groups[group_count].there = true;
	snprintf(groups[group_count].path, PATH_MAX, "%s", path);
	return group_count++;
}

/* Groups that exist before the command begins, with their tasks. */
static int add_group(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	char group[PATH_MAX], top[PATH_MAX];
	int id, number;
	FILE *f;

	(void)st;
	if (flag != FTW_F || strcmp(path + ftw->base, "tasks") != 0)
		return 0;
	snprintf(group, sizeof(group), "%s", path + strlen(file(top, "", "")));
	group[strlen(group) - strlen("tasks")] = '\0';
	if (*group)
		group[strlen(group) - 1] = '\0';
	number = find_group(group);
	f = fopen(path, "r");
	/* A control group lists the tasks of its monitor groups, too, and may come after them. No process has an id above
	 * a million. */
	while (f && fscanf(f, "%d", &id) == 1 && id < 1000000) {
		struct task *task = find_task(id);

		if (strlen(group) > strlen(groups[task->group].path))
			task->group = number;
	}
	if (f)
		fclose(f);
	return 0;
}

static void load(void)
{
	char path[PATH_MAX];
	struct task t = {0};
	FILE *f;

	if (settled > 0)
		return;
	settled = now();
	find_group("");
	nftw(file(path, "", ""), add_group, 16, FTW_PHYS);
	snprintf(path, sizeof(path), "%.1500s/loads", root());
	f = fopen(path, "r");
	while (f && fscanf(f, "%d %lf %lf %lf %lf %lf", &t.id, &t.cpu, &t.rates[0][0],
			   &t.rates[0][1], &t.rates[1][0], &t.rates[1][1]) == 6) {
		struct task *into = find_task(t.id);

		t.group = into->group;
		*into = t;
	}
	if (f)
		fclose(f);
}

static void settle(void)
{
	double at = now();

	for (int i = 0; i < task_count; i++)
		for (int k = 0; k < 4; k++)
			groups[tasks[i].group].bytes[k / 2][k % 2] +=
				tasks[i].rates[k / 2][k % 2] * (at - settled);
	settled = at;
}

/* ---- ids of removed groups ---- */

static void use_id_later(void)
{
	char path[PATH_MAX], line[64];
	double seconds;
	FILE *f;

	snprintf(path, sizeof(path), "%.1500s/limbo", root());
	f = fopen(path, "r");
	if (!f)
		return;
	if (fscanf(f, "%lf", &seconds) != 1)
		abort();
	fclose(f);
	snprintf(path, sizeof(path), "%.1500s/limbo-ends", root());
	snprintf(line, sizeof(line), "%f\n", now() + seconds);
	put(path, "a", line);
}

static int unusable_ids(void)
{
	char path[PATH_MAX];
	double end;
	int count = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%.1500s/limbo-ends", root());
	f = fopen(path, "r");
	while (f && fscanf(f, "%lf", &end) == 1)
		count += end > now();
	if (f)
		fclose(f);
	return count;
}

/* Its tasks go back to the default group. */
static void remove_group(int number)
{
	for (int i = 0; i < task_count; i++)
		if (tasks[i].group == number)
			tasks[i].group = 0;
	groups[number].there = false;
	memset(groups[number].bytes, 0, sizeof(groups[number].bytes));
	use_id_later();
}

/* Groups that another program has removed. */
static void find_removed(void)
{
	char path[PATH_MAX];

	for (int i = 0; i < group_count; i++)
		if (groups[i].there && access(file(path, groups[i].path, ""), F_OK) != 0)
			remove_group(i);
}

/* ---- changes ---- */

static void put_tasks(int group)
{
	char path[PATH_MAX], text[16 * MOST] = "";

	for (int i = 0; i < task_count; i++)
		if (tasks[i].group == group)
			sprintf(text + strlen(text), "%d\n", tasks[i].id);
	put(file(path, groups[group].path, "tasks"), "w", text);
}

static bool is_control(const char *path)
{
	return *path && strncmp(path, "mon_groups/", 11) != 0;
}

static int move(int group, int id)
{
	struct task *t = find_task(id);
	int before = t->group;

	if (is_control(groups[before].path) && strcmp(groups[group].path, "") != 0) {
		errno = EINVAL;
		return -1;
	}
	settle();
	t->group = group;
	put_tasks(before);
	put_tasks(group);
	note("move", groups[group].path, id);
	return 0;
}

static char *path_of(int fd, const char *name, char into[PATH_MAX])
{
	char link[64], at[PATH_MAX] = "";

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (readlink(link, at, sizeof(at) - 1) < 0)
		return NULL;
	snprintf(into, PATH_MAX, "%.3000s%s%.1000s", at, *name ? "/" : "", name);
	return into;
}

/* The path below the top of resctrl; NULL: it is not there. */
static const char *below(const char *path)
{
	char top[PATH_MAX];
	size_t len = strlen(file(top, "", "")) - 1;

	if (!path || strncmp(path, top, len) != 0)
		return NULL;
	return path[len] ? path + len + 1 : path + len;
}

int mkdirat(int dir, const char *name, mode_t mode)
{
	static const char *const files[] = {"mbm_total_bytes", "mbm_local_bytes", "llc_occupancy"};
	char where[PATH_MAX], path[PATH_MAX], into[64];
	const char *group = below(path_of(dir, name, where));
	int r, ids = 0, there = 0;
	FILE *f;

	if (!group)
		return (int)syscall(SYS_mkdirat, dir, name, mode);
	load();
	find_removed();
	snprintf(path, sizeof(path), "%.1500s/read-only", root());
	if (access(path, F_OK) == 0) {
		errno = EROFS;
		return -1;
	}
	f = fopen(file(path, "info/L3_MON", "num_rmids"), "r");
	if (!f || fscanf(f, "%d", &ids) != 1)
		abort();
	fclose(f);
	for (int i = 0; i < group_count; i++)
		there += groups[i].there;
	r = (int)syscall(SYS_mkdirat, dir, name, mode);
	if (r == 0 && there + unusable_ids() >= ids) {
		syscall(SYS_unlinkat, dir, name, AT_REMOVEDIR);
		errno = there >= ids ? ENOSPC : EBUSY;
		return -1;
	}
	if (r < 0)
		return r;
	groups[find_group(group)].there = true;
	put(file(path, group, "tasks"), "w", "");
	mkdir(file(path, group, "mon_data"), 0755);
	for (int cache = 0; cache < 2; cache++) {
		snprintf(into, sizeof(into), "mon_data/mon_L3_%02d", cache);
		mkdir(file(path, group, into), 0755);
		for (int i = 0; i < 3; i++) {
			snprintf(into, sizeof(into), "mon_data/mon_L3_%02d/%s", cache, files[i]);
			put(file(path, group, into), "w", "0\n");
		}
	}
	note("mkdir", group, 0);
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

int unlinkat(int dir, const char *name, int flags)
{
	char where[PATH_MAX];
	const char *group = flags & AT_REMOVEDIR ? below(path_of(dir, name, where)) : NULL;
	int number;

	if (!group || strncmp(group, "mon_groups/", 11) != 0)
		return (int)syscall(SYS_unlinkat, dir, name, flags);
	load();
	settle();
	number = find_group(group);
	remove_group(number);
	if (nftw(where, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0)
		return -1;
	put_tasks(0);
	note("rmdir", group, 0);
	return 0;
}

static bool has_file(const char *directory, int task)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.1500s/%s/%d", root(), directory, task);
	return access(path, F_OK) == 0;
}

/* What another program does between a look and the move of this task. */
static void steal(int task, const char *group)
{
	char path[PATH_MAX], into[8], theirs[256];
	int when, other;
	FILE *f;

	snprintf(path, sizeof(path), "%.1500s/steal", root());
	f = fopen(path, "r");
	if (!f)
		return;
	if (fscanf(f, "%d %7s %d %255s", &when, into, &other, theirs) != 4)
		abort();
	fclose(f);
	if (when != task || (strcmp(into, "top") == 0) != !*group)
		return;
	unlink(path);
	note("steal", theirs, other);
	move(find_group(theirs), other);
}

ssize_t write(int fd, const void *data, size_t size)
{
	char where[PATH_MAX], group[PATH_MAX], text[32] = "";
	const char *path = below(path_of(fd, "", where));
	size_t len = path ? strlen(path) : 0;

	if (len < 5 || strcmp(path + len - 5, "tasks") != 0 || size >= sizeof(text))
		return syscall(SYS_write, fd, data, size);
	load();
	snprintf(group, sizeof(group), "%.*s", len > 6 ? (int)len - 6 : 0, path);
	memcpy(text, data, size);
	if (has_file("ended", atoi(text)) || has_file("denied", atoi(text))) {
		errno = has_file("ended", atoi(text)) ? ESRCH : EPERM;
		return -1;
	}
	steal(atoi(text), group);
	return move(find_group(group), atoi(text)) < 0 ? -1 : (ssize_t)size;
}

/* ---- counts ---- */

/* What the group has instead of counts; false: it has counts. */
static bool read_word(const char *group, char *into, size_t size)
{
	char path[PATH_MAX];
	size_t len = strlen(group);
	FILE *f;
	bool has;

	snprintf(path, sizeof(path), "%.1500s/word", root());
	f = len > 2 && strcmp(group + len - 2, "-0") == 0 ? fopen(path, "r") : NULL;
	has = f && fgets(into, (int)size, f);
	if (f)
		fclose(f);
	return has;
}

/* A control group has the counts of its monitor groups, but of those that have some. */
static double bytes_of(const char *group, int cache, int kind)
{
	char parts[PATH_MAX], word[64];
	double sum = 0;

	snprintf(parts, sizeof(parts), "%.1000s%smon_groups/", group, *group ? "/" : "");
	for (int i = 0; i < group_count; i++)
		if ((strcmp(groups[i].path, group) == 0 ||
		     strncmp(groups[i].path, parts, strlen(parts)) == 0) &&
		    !read_word(groups[i].path, word, sizeof(word)))
			sum += groups[i].bytes[cache][kind];
	return sum;
}

/* With offsets of 64 bits its symbol is pread64. */
ssize_t pread(int fd, void *into, size_t size, off_t offset)
{
	char where[PATH_MAX], group[PATH_MAX];
	const char *path = size == 63 ? below(path_of(fd, "", where)) : NULL;
	const char *data = path ? strstr(path, "mon_data/mon_L3_0") : NULL;
	int cache;

	if (!data || strstr(data, "llc"))
		return syscall(SYS_pread64, fd, into, size, offset);
	load();
	find_removed();
	settle();
	cache = data[strlen("mon_data/mon_L3_0")] - '0';
	snprintf(group, sizeof(group), "%.*s", data > path ? (int)(data - path) - 1 : 0, path);
	if (read_word(group, into, size))
		return (ssize_t)strlen(into);
	return snprintf(into, size, "%.0f\n",
			bytes_of(group, cache, strstr(data, "local") != NULL));
}

/* "res:/" and "mon:NAME", as the kernel has it in proc_resctrl_show(). */
static ssize_t put_groups(int fd, char *into, size_t size)
{
	char where[PATH_MAX], control[PATH_MAX];
	const char *path, *monitor;
	int pid;

	path_of(fd, "", where);
	if (sscanf(where + strlen(root()), "/proc/%d/", &pid) != 1)
		pid = 0;
	load();
	path = groups[find_task(pid)->group].path;
	monitor = strstr(path, "mon_groups/");
	snprintf(control, sizeof(control), "%.*s",
		 monitor ? (int)(monitor - path) : (int)strlen(path), path);
	if (*control && control[strlen(control) - 1] == '/')
		control[strlen(control) - 1] = '\0';
	return snprintf(into, size, "res:%s\nmon:%s\n", *control ? control : "/",
			monitor ? monitor + strlen("mon_groups/") : "");
}

ssize_t read(int fd, void *into, size_t size)
{
	char where[PATH_MAX], ticks[32], *at;
	ssize_t got = syscall(SYS_read, fd, into, size);
	size_t len;
	int pid;

	if (got == 8 && memcmp(into, "%groups\n", 8) == 0)
		return put_groups(fd, into, size);
	if (size != 4096 || got <= 0 || got > 3000 || !(at = memchr(into, '@', (size_t)got)))
		return got;
	path_of(fd, "", where);
	if (sscanf(where + strlen(root()), "/proc/%d/stat", &pid) != 1)
		return got;
	load();
	len = (size_t)snprintf(ticks, sizeof(ticks), "%.0f", find_task(pid)->cpu * 100 * now());
	memmove(at + len, at + 1, (size_t)got - (size_t)(at + 1 - (char *)into));
	memcpy(at, ticks, len);
	return got + (ssize_t)len - 1;
}
