/* SPDX-License-Identifier: MIT */
/* Groups of resctrl that this process makes, and into which it moves tasks. They are counted as
 * all groups are: source/resctrl. A group is kept until the end, and gets other tasks instead of
 * being made again: the hardware's id of a removed group cannot be used until its lines have left
 * the cache. */
#include "links.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOP UNC_RESCTRL
#define MON_GROUPS TOP "/mon_groups"
#define PREFIX "uncore-"
/* Further numbers that are tried if another process has a group of this name: in containers,
 * processes have the same ids. */
#define NUMBERS 1000
#define LOCK_TRIES 40
#define LOCK_PAUSE_NS 25000000
#define REMOUNT "mount -o remount,rw /" TOP

/* A task in a group of others. */
struct other_task {
	int id;
	size_t group; /* index of its name */
};

struct uncore_groups {
	struct uncore *machine;
	struct unc_slot *slots;
	int *locks; /* a descriptor of each group's directory, with a lock that ends with the
		       process: others see by it that the group is in use; -1: it was removed */
	size_t count, wanted;
	const char *limit;         /* why no more are wanted; NULL: all are */
	struct other_task *others; /* ordered by id */
	size_t other_count;
	struct unc_names names; /* of their groups */
};

static int lack_of_permission(struct unc_error *e, int err, const char *what)
{
	if (err == -EROFS)
		return unc_fail(e, EROFS, "%s: resctrl is mounted read-only. As root: " REMOUNT,
				what);
	return unc_fail(e, -err,
			"%s: %s. It needs root, or write permission for the files of resctrl", what,
			unc_errno_text(err));
}

/* ---- the lock of all programs that change groups ---- */

/* As linux Documentation/filesystems/resctrl.rst asks for. Returns the descriptor, which is closed
 * to unlock. */
static int lock_all(struct uncore *u)
{
	const struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};
	int fd = unc_root_open_file(u->root, TOP, O_RDONLY | O_DIRECTORY);

	if (fd < 0)
		return unc_fail(&u->error, -fd, "/" TOP " cannot be opened: %s",
				unc_errno_text(fd));
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return fd;
		nanosleep(&pause, NULL);
	}
	close(fd);
	return unc_fail(&u->error, EBUSY,
			"another program has locked /" TOP " (flock): it changes groups");
}

/* Whether the name is that of a group of some process like this one. */
static bool is_of_uncore(const char *name)
{
	const char *at = name + strlen(PREFIX);
	uint64_t number;

	return strncmp(name, PREFIX, strlen(PREFIX)) == 0 &&
	       unc_take_digits(&at, 10, 10, &number) && *at++ == '-' &&
	       unc_take_digits(&at, 10, 4, &number) && !*at;
}

/* Opens a group's directory, and locks it. -EWOULDBLOCK: its process lives. */
static int lock_group(const struct uncore *u, const char *name)
{
	int fd = unc_root_open_file(u->root, UNC_PATH(MON_GROUPS "/%s", name),
				    O_RDONLY | O_DIRECTORY);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0) {
		close(fd);
		fd = -EWOULDBLOCK;
	}
	return fd;
}

static int open_directory(struct uncore *u)
{
	int dir;

	if (u->ops != &unc_source_kernel && u->ops != &unc_source_files)
		return unc_fail(
			&u->error, EOPNOTSUPP,
			"the source %s has no groups of tasks: only the running machine has",
			u->source);
	dir = unc_resctrl_check(u->root, &u->error);
	if (dir < 0)
		return dir;
	dir = unc_root_open_file(u->root, MON_GROUPS, O_RDONLY | O_DIRECTORY);
	if (dir < 0)
		return unc_fail(&u->error, EROFS,
				"/" MON_GROUPS " cannot be opened: %s. A snapshot has no groups",
				unc_errno_text(dir));
	return dir;
}

/* ---- what others left ---- */

int uncore_groups_clean(struct uncore *u, bool dry, void (*found)(void *context, const char *name),
			void *context)
{
	int dir = open_directory(u), lock = dir < 0 ? dir : lock_all(u), count = 0, err = 0;
	struct unc_names names = {0};

	if (lock < 0) {
		if (dir >= 0)
			close(dir);
		return lock;
	}
	if (unc_root_list(u->root, MON_GROUPS, &names) == -ENOMEM)
		err = unc_nomem(&u->error);
	for (size_t i = 0; err == 0 && i < names.count; i++) {
		const char *name = names.items[i];
		int fd = is_of_uncore(name) ? lock_group(u, name) : -1;

		if (fd < 0)
			continue;
		if (!dry && unlinkat(dir, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
			err = lack_of_permission(
				&u->error, -errno,
				UNC_PATH("the group /" MON_GROUPS "/%s cannot be removed", name));
		close(fd);
		if (err == 0 && found)
			found(context, name);
		count += err == 0;
	}
	unc_names_finish(&names);
	close(lock);
	close(dir);
	return err < 0 ? err : count;
}

/* ---- how many there can be ---- */

/* Calls `each` for all groups, with their path and their name: of a control group "web", of a
 * monitor group "web/db" or, in the default group, "/db". */
static int for_groups(struct uncore *u,
		      int (*each)(void *context, const char *path, const char *name), void *context)
{
	struct unc_names controls = {0}, monitors = {0};
	int err = unc_root_list(u->root, TOP, &controls) == -ENOMEM ? -ENOMEM : 0;

	for (size_t i = 0; err == 0 && i <= controls.count; i++) {
		bool is_default = i == controls.count;
		const char *name = is_default ? "" : controls.items[i];
		const char *path = UNC_PATH(TOP "%s%s", *name ? "/" : "", name);
		const char *below = UNC_PATH("%s/mon_groups", path);

		if (!unc_root_exists(u->root, UNC_PATH("%s/mon_data", path)))
			continue;
		err = each(context, path, name);
		if (err == 0 && unc_root_list(u->root, below, &monitors) == -ENOMEM)
			err = -ENOMEM;
		for (size_t k = 0; err == 0 && k < monitors.count; k++)
			err = each(context, UNC_PATH("%s/%s", below, monitors.items[k]),
				   UNC_PATH("%s/%s", name, monitors.items[k]));
		unc_names_finish(&monitors);
	}
	unc_names_finish(&controls);
	return err;
}

static int count_group(void *context, const char *path, const char *name)
{
	(void)path;
	(void)name;
	++*(size_t *)context;
	return 0;
}

#define INFO TOP "/info/L3_MON"

static const char few_ids[] = "the hardware has no more ids (RMIDs) for groups of tasks";
static const char late_ids[] =
	"the ids (RMIDs) that are left are those of removed groups whose lines are still in the "
	"cache: try again later";
static const char few_counters[] =
	"the hardware has no more counters that could be assigned to groups of tasks "
	"(info/L3_MON/available_mbm_cntrs)";

/* How many counters a new group takes in each cache: one for each event. 0: the hardware counts for
 * all groups. linux Documentation/filesystems/resctrl.rst, mbm_assign_mode. */
static size_t counters_of_group(const struct unc_root *root)
{
	char *mode = NULL, *events = NULL;
	const char *line;
	size_t count = 0;

	if (unc_root_read(root, INFO "/mbm_assign_mode", &mode) == 0 &&
	    strstr(mode, "[mbm_event]") && unc_root_read(root, INFO "/mon_features", &events) == 0)
		for (line = events; line; line = strchr(line, '\n')) {
			size_t len;

			line += strspn(line, "\n");
			len = strcspn(line, "\n");
			count += len == strlen("mbm_total_bytes") &&
				 (memcmp(line, "mbm_total_bytes", len) == 0 ||
				  memcmp(line, "mbm_local_bytes", len) == 0);
		}
	free(mode);
	free(events);
	return count;
}

/* The counters that are left in the cache that has least of them: "0=30;1=28". */
static size_t free_counters(const struct unc_root *root)
{
	char *text = NULL;
	size_t least = SIZE_MAX;
	uint64_t count;

	if (unc_root_read(root, INFO "/available_mbm_cntrs", &text) < 0)
		return SIZE_MAX;
	for (const char *at = strchr(text, '='); at; at = strchr(at, '=')) {
		at++;
		if (unc_take_digits(&at, 10, 10, &count) && count < least)
			least = (size_t)count;
	}
	free(text);
	return least;
}

/* Lowers *most to the number of groups that get counters. */
static int limit_counters(struct uncore *u, size_t *most, const char **limit)
{
	size_t each = counters_of_group(u->root), left = each ? free_counters(u->root) : SIZE_MAX;

	if (!each || left == SIZE_MAX)
		return 0;
	if (unc_root_read_int(u->root, INFO "/mbm_assign_on_mkdir", INT_MAX, 1) == 0)
		return unc_fail(&u->error, ENOSPC, "%s",
				"the kernel assigns no counters of the hardware to new groups. As "
				"root: echo 1 >/" INFO "/mbm_assign_on_mkdir");
	if (left < each)
		return unc_fail(
			&u->error, ENOSPC,
			"%s: a group takes %zu in each cache, and %zu are left. Other groups have "
			"them, see their mbm_L3_assignments",
			few_counters, each, left);
	if (left / each < *most) {
		*most = left / each;
		*limit = few_counters;
	}
	return 0;
}

static int find_most(struct uncore *u, size_t *most, const char **limit)
{
	int dir = open_directory(u), ids;
	size_t used = 0;

	if (dir < 0)
		return dir;
	close(dir);
	if (for_groups(u, count_group, &used) < 0)
		return unc_nomem(&u->error);
	ids = unc_root_read_int(u->root, INFO "/num_rmids", INT_MAX, -1);
	if (ids >= 0 && (size_t)ids < used + 2)
		return unc_fail(
			&u->error, ENOSPC,
			"the hardware has ids (RMIDs) for %d groups, and %zu exist, the default one "
			"included: none is left, as one stays free for others",
			ids, used);
	*most = ids < 0 ? SIZE_MAX : (size_t)ids - used - 1;
	*limit = few_ids;
	return limit_counters(u, most, limit);
}

int uncore_groups_most(struct uncore *u, size_t *most)
{
	const char *limit;

	return find_most(u, most, &limit);
}

/* ---- a finding ---- */

/* The kernel makes the directory if the CPU can monitor or allocate. Snapshots do not have it. */
int unc_groups_check(struct uncore *u, unc_add_finding *add)
{
	struct unc_draft d = {.verdict = UNCORE_VERDICT_NOTE, .subject = "resctrl"};
	struct unc_error why;
	size_t groups = 0;
	int ids, fd;

	if (u->sim || u->regs || u->ops == &unc_source_resctrl || !unc_root_exists(u->root, TOP))
		return 0;
	if (unc_resctrl_check(u->root, &why) < 0) {
		bool mounted = unc_root_exists(u->root, TOP "/info");

		unc_text_add(&d.found, mounted ? "mounted, but it cannot monitor" : "not mounted");
		unc_text_add(&d.why, "%s",
			     mounted ? why.text
				     : "what processes, containers and jobs move (uncore who) is "
				       "not known without it");
		if (!mounted)
			unc_text_add(&d.fix, "%s", UNC_RESCTRL_MOUNT);
		return add(u, &d);
	}
	if (for_groups(u, count_group, &groups) < 0)
		return unc_nomem(&u->error);
	ids = unc_root_read_int(u->root, INFO "/num_rmids", INT_MAX, -1);
	unc_text_add(&d.found, "mounted, %zu group%s", groups, groups == 1 ? "" : "s");
	if (ids >= 0)
		unc_text_add(&d.found, " of at most %d (RMIDs)", ids);
	fd = unc_root_open_file(u->root, TOP "/tasks", O_WRONLY);
	if (fd >= 0) {
		close(fd);
		d.verdict = UNCORE_VERDICT_OK;
	} else {
		unc_text_add(&d.why, "groups cannot be made and tasks cannot be moved: %s",
			     unc_errno_text(fd));
		unc_text_add(&d.fix, "%s", fd == -EROFS ? REMOUNT : "run uncore who as root");
	}
	return add(u, &d);
}

/* ---- making and removing ---- */

/* Whether ids may be free in some seconds. uncore_groups_new() asks for no more than there are. */
static bool may_pass(int err)
{
	return err == -EBUSY || err == -ENOSPC;
}

static int refuse_group(struct uncore *u, int err)
{
	if (may_pass(err))
		return unc_fail(&u->error, EBUSY, "%s", late_ids);
	return lack_of_permission(&u->error, err, "a group cannot be made in /" MON_GROUPS);
}

/* Makes the next group, with a number from *number on. Returns 0, or a negative errno without a
 * sentence. */
static int make_group(struct uncore_groups *g, int dir, unsigned *number)
{
	struct unc_slot *slot = &g->slots[g->count];
	int err, fd;

	do {
		snprintf(slot->name, sizeof(slot->name), PREFIX "%d-%u", (int)getpid(), *number);
		err = mkdirat(dir, slot->name, 0755) < 0 ? -errno : 0;
	} while (++*number < NUMBERS && err == -EEXIST);
	if (err < 0)
		return err;
	fd = lock_group(g->machine, slot->name);
	if (fd < 0) {
		unlinkat(dir, slot->name, AT_REMOVEDIR);
		return fd;
	}
	g->locks[g->count++] = fd;
	return 0;
}

int uncore_groups_grow(struct uncore_groups *g)
{
	struct uncore *u = g->machine;
	int dir = open_directory(u), lock = dir < 0 ? dir : lock_all(u), err = 0;
	unsigned number = (unsigned)g->count;

	while (lock >= 0 && err == 0 && g->count < g->wanted)
		err = make_group(g, dir, &number);
	if (lock >= 0)
		close(lock);
	if (dir >= 0)
		close(dir);
	if (lock < 0)
		return lock;
	if (err < 0 && (!g->count || !may_pass(err)))
		return refuse_group(u, err);
	return (int)(g->wanted - g->count);
}

int uncore_groups_new(struct uncore_groups **out, struct uncore *u, size_t count)
{
	const char *limit = NULL;
	struct uncore_groups *g;
	size_t most = 0;
	int r = 0;

	if (u->monitors || u->groups)
		return unc_fail(&u->error, EBUSY,
				"a monitor or groups of this machine exist: free them before");
	if (!count)
		return unc_fail(&u->error, EINVAL, "at least one group must be made");
	r = uncore_groups_clean(u, false, NULL, NULL);
	if (r >= 0)
		r = find_most(u, &most, &limit);
	if (r < 0)
		return r;
	g = calloc(1, sizeof(*g));
	if (!g)
		return unc_nomem(&u->error);
	g->machine = u;
	g->wanted = count < most ? count : most;
	g->limit = most < count ? limit : NULL;
	g->slots = calloc(g->wanted, sizeof(*g->slots));
	g->locks = calloc(g->wanted, sizeof(*g->locks));
	r = g->slots && g->locks ? uncore_groups_grow(g) : unc_nomem(&u->error);
	if (r < 0) {
		uncore_groups_free(g);
		return r;
	}
	u->groups = g;
	*out = g;
	return 0;
}

void uncore_groups_free(struct uncore_groups *g)
{
	int dir;

	if (!g)
		return;
	dir = unc_root_open_file(g->machine->root, MON_GROUPS, O_RDONLY | O_DIRECTORY);
	for (size_t i = 0; i < g->count; i++) {
		if (dir >= 0)
			unlinkat(dir, g->slots[i].name, AT_REMOVEDIR);
		if (g->locks[i] >= 0)
			close(g->locks[i]);
	}
	if (dir >= 0)
		close(dir);
	for (size_t i = 0; i < g->machine->pmus.count; i++)
		g->machine->pmus.items[i].slot = NULL;
	if (g->machine->groups == g)
		g->machine->groups = NULL;
	unc_names_finish(&g->names);
	free(g->others);
	free(g->locks);
	free(g->slots);
	free(g);
}

int unc_groups_scan(struct uncore_groups *g, struct unc_pmus *pmus)
{
	struct uncore *u = g->machine;

	return unc_resctrl_scan(u->root, &u->topology, g->slots, g->count, pmus, &u->error);
}

size_t uncore_groups_count(const struct uncore_groups *g)
{
	return g->count;
}

const char *uncore_groups_limit(const struct uncore_groups *g)
{
	return g->count < g->wanted ? late_ids : g->limit;
}

const char *uncore_groups_name(const struct uncore_groups *g, size_t i)
{
	return i < g->count ? g->slots[i].name : NULL;
}

/* ---- tasks ---- */

/* Reads the list of tasks of a group. Returns their number, or a negative errno. */
static int read_tasks(const struct uncore_groups *g, const char *path, int **out)
{
	char *text = NULL;
	const char *at;
	int *tasks = NULL, r = unc_root_read(g->machine->root, UNC_PATH("%s/tasks", path), &text);
	size_t count = 0;
	uint64_t id;

	for (at = text; r == 0 && at && unc_take_digits(&at, 10, 10, &id);) {
		int task = (int)id;

		r = UNC_ADD(&tasks, &count, &task);
		at += strspn(at, UNC_SPACES);
	}
	free(text);
	if (r < 0) {
		free(tasks);
		return r;
	}
	*out = tasks;
	return (int)count;
}

static bool is_own(const struct uncore_groups *g, const char *name)
{
	for (size_t i = 0; *name == '/' && i < g->count; i++)
		if (strcmp(name + 1, g->slots[i].name) == 0)
			return true;
	return false;
}

/* Adds the tasks of a group, unless it is the default one or one of ours. A control group also
 * lists the tasks of its monitor groups, which are added later. */
static int add_others(void *context, const char *path, const char *name)
{
	struct uncore_groups *g = context;
	int *tasks = NULL, count;

	if (!*name || is_own(g, name))
		return 0;
	count = read_tasks(g, path, &tasks);
	/* It has none that could be moved: it was removed meanwhile, or is pseudo-locked. */
	if (count < 0)
		return count == -ENOMEM || count == -EACCES ? count : 0;
	if (unc_names_add(&g->names, name) < 0)
		count = -ENOMEM;
	for (int i = 0; i < count; i++)
		if (UNC_ADD(&g->others, &g->other_count,
			    &((struct other_task){tasks[i], g->names.count - 1})) < 0)
			count = -ENOMEM;
	free(tasks);
	return count < 0 ? count : 0;
}

/* By id; of one task the latest group first, which is the monitor group. */
static int compare_others(const void *a, const void *b)
{
	const struct other_task *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return (x->group < y->group) - (x->group > y->group);
}

int uncore_groups_look(struct uncore_groups *g)
{
	struct uncore *u = g->machine;
	int err;

	unc_names_finish(&g->names);
	free(g->others);
	g->others = NULL;
	g->other_count = 0;
	err = for_groups(u, add_others, g);
	if (err == -ENOMEM)
		return unc_nomem(&u->error);
	if (err < 0)
		return lack_of_permission(&u->error, err,
					  "the tasks of groups below /" TOP " cannot be read");
	if (g->other_count)
		qsort(g->others, g->other_count, sizeof(*g->others), compare_others);
	return 0;
}

const char *uncore_groups_other(const struct uncore_groups *g, int task)
{
	size_t low = 0, high = g->other_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (g->others[middle].id < task)
			low = middle + 1;
		else
			high = middle;
	}
	return low < g->other_count && g->others[low].id == task
		       ? g->names.items[g->others[low].group]
		       : NULL;
}

static bool has_task(const int *tasks, size_t count, int task)
{
	return count && bsearch(&task, tasks, count, sizeof(*tasks), unc_compare_ints);
}

/* Moves a task into the group whose list is open. A task that has ended, or that another program
 * has moved into a control group meanwhile (-EINVAL), stays where it is. Returns 1, 0 or a negative
 * errno. */
static int move_task(int fd, int task)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d\n", task);

	if (write(fd, text, (size_t)len) == len)
		return 1;
	return errno == ESRCH || errno == EINVAL ? 0 : -errno;
}

/* Moves those of `from` that are not in `but`, nor in groups of others, to the group of `path`.
 * Without permission for some tasks, others are moved. */
static int move_tasks(const struct uncore_groups *g, const char *path, const int *from,
		      size_t from_count, const int *but, size_t but_count)
{
	int fd = unc_root_open_file(g->machine->root, UNC_PATH("%s/tasks", path),
				    O_WRONLY | O_APPEND);
	int denied = 0, moved = 0;

	for (size_t i = 0; fd >= 0 && i < from_count; i++) {
		int r;

		if (has_task(but, but_count, from[i]) || uncore_groups_other(g, from[i]))
			continue;
		r = move_task(fd, from[i]);
		moved += r > 0;
		denied = r < 0 ? r : denied;
	}
	if (fd < 0)
		return fd;
	close(fd);
	return moved ? 0 : denied;
}

/* Its own list of tasks, ascending. */
static int *sorted(const int *tasks, size_t count)
{
	int *copy = calloc(count + 1, sizeof(*copy));

	if (copy && count) {
		memcpy(copy, tasks, count * sizeof(*copy));
		qsort(copy, count, sizeof(*copy), unc_compare_ints);
	}
	return copy;
}

/* Makes the group again that another program has removed. Its owner's next interval begins anew. */
static int make_again(struct uncore_groups *g, size_t i)
{
	struct unc_slot *slot = &g->slots[i];
	int dir = unc_root_open_file(g->machine->root, MON_GROUPS, O_RDONLY | O_DIRECTORY);
	int lock = dir < 0 ? dir : lock_all(g->machine);
	int err = lock < 0 ? lock : mkdirat(dir, slot->name, 0755) < 0 ? -errno : 0;

	*slot->next = '\0'; /* it has no tasks */
	if (g->locks[i] >= 0)
		close(g->locks[i]);
	g->locks[i] = err == 0 ? lock_group(g->machine, slot->name) : -1;
	if (lock >= 0)
		close(lock);
	if (dir >= 0)
		close(dir);
	return err;
}

/* Makes these tasks those of a group. */
static int set_tasks(struct uncore_groups *g, size_t i, const int *tasks, size_t count)
{
	const char *path = UNC_PATH(MON_GROUPS "/%s", g->slots[i].name);
	int *wanted = sorted(tasks, count), *present = NULL, err;
	int had = wanted ? read_tasks(g, path, &present) : -ENOMEM;

	if (had == -ENOENT && make_again(g, i) == 0)
		had = read_tasks(g, path, &present);
	if (had > 0)
		qsort(present, (size_t)had, sizeof(*present), unc_compare_ints);
	err = had < 0 ? had : move_tasks(g, TOP, present, (size_t)had, wanted, count);
	if (err == 0)
		err = move_tasks(g, path, wanted, count, present, (size_t)had);
	free(wanted);
	free(present);
	return err;
}

int uncore_groups_assign(struct uncore_groups *g, size_t i, const int *tasks, size_t count,
			 const char *label)
{
	struct uncore *u = g->machine;
	struct unc_slot *slot = i < g->count ? &g->slots[i] : NULL;
	int err = slot ? set_tasks(g, i, tasks, count) : -EINVAL;
	const char *path;

	if (!slot)
		return unc_fail(&u->error, EINVAL, "there is no group %zu", i);
	if (err == 0 && strncmp(slot->next, label, sizeof(slot->next) - 1) != 0) {
		snprintf(slot->next, sizeof(slot->next), "%s", label);
		slot->since_ns = unc_now_ns();
		slot->changed = true;
	}
	path = UNC_PATH(MON_GROUPS "/%s", slot->name);
	if (err == -ENOMEM)
		return unc_nomem(&u->error);
	if (err == -ENOENT)
		return unc_fail(&u->error, ENOENT,
				"the group /%s was removed by another program, and cannot be made "
				"again yet",
				path);
	return err < 0 ? lack_of_permission(&u->error, err,
					    UNC_PATH("tasks cannot be moved into the group /%s",
						     path))
		       : 0;
}
