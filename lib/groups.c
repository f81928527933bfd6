/* SPDX-License-Identifier: MIT */
/* Groups of resctrl that this process makes, and into which it moves tasks. They are counted as
 * all groups are: source/resctrl. A group is kept until the end, and gets other tasks instead of
 * being made again: the hardware's id of a removed group cannot be used until its lines have left
 * the cache. */
#include "groups.h"
#include "findings.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOP UNC_RESCTRL
#define MON_GROUPS UNC_MON_GROUPS
#define PREFIX "uncore-"
/* Further numbers that are tried if another process has a group of this name: in containers,
 * processes have the same ids. */
#define NUMBERS 1000
#define LOCK_TRIES 40
#define LOCK_PAUSE_NS 25000000
#define REMOUNT "mount -o remount,rw /" TOP

int unc_groups_refuse(struct unc_error *e, int err, const char *what)
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

/* Removes a group if it is still the one whose directory is open: another program may have removed
 * it and made one of the same name. Its tasks go back to the default group. */
static int remove_group(int dir, const char *name, int group)
{
	struct stat open, there;

	if (fstat(group, &open) < 0 || fstatat(dir, name, &there, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (open.st_dev != there.st_dev || open.st_ino != there.st_ino)
		return 0;
	return unlinkat(dir, name, AT_REMOVEDIR) < 0 && errno != ENOENT ? -errno : 0;
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
		err = dry ? 0 : remove_group(dir, name, fd);
		if (err < 0)
			unc_groups_refuse(&u->error, err,
					  UNC_PATH("the group /" MON_GROUPS "/%s cannot be removed",
						   name));
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
static int limit_counters(struct uncore *u, size_t ended, size_t *most, const char **limit)
{
	size_t each = counters_of_group(u->root), left = each ? free_counters(u->root) : SIZE_MAX;

	if (!each || left == SIZE_MAX)
		return 0;
	left += ended * each;
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

/* As if the groups of ended processes, of which there are `ended`, were removed before. */
static int find_most(struct uncore *u, size_t ended, size_t *most, const char **limit)
{
	int dir = open_directory(u), ids, err;
	size_t used = 0;

	if (dir < 0)
		return dir;
	close(dir);
	err = unc_resctrl_each(u->root, count_group, &used);
	if (err < 0)
		return unc_resctrl_unreadable(&u->error, err);
	used -= ended < used ? ended : used;
	ids = unc_root_read_int(u->root, INFO "/num_rmids", INT_MAX, -1);
	if (ids >= 0 && (size_t)ids < used + 2)
		return unc_fail(
			&u->error, ENOSPC,
			"the hardware has ids (RMIDs) for %d groups, and %zu exist, the default one "
			"included: none is left, as one stays free for others",
			ids, used);
	*most = ids < 0 ? SIZE_MAX : (size_t)ids - used - 1;
	*limit = few_ids;
	return limit_counters(u, ended, most, limit);
}

int uncore_groups_most(struct uncore *u, size_t *most)
{
	int ended = uncore_groups_clean(u, true, NULL, NULL);
	const char *limit;

	return ended < 0 ? ended : find_most(u, (size_t)ended, most, &limit);
}

/* ---- a finding ---- */

/* The kernel makes the directory if the CPU can monitor or allocate. Snapshots do not have it. */
int unc_groups_check(struct uncore *u)
{
	struct unc_draft d = {.verdict = UNCORE_VERDICT_NOTE, .subject = "resctrl"};
	struct unc_error why;
	size_t groups = 0;
	int ids, fd, err;

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
		return unc_finding_add(u, &d);
	}
	err = unc_resctrl_each(u->root, count_group, &groups);
	if (err < 0)
		return unc_resctrl_unreadable(&u->error, err);
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
	return unc_finding_add(u, &d);
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
	return unc_groups_refuse(&u->error, err, "a group cannot be made in /" MON_GROUPS);
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
	slot->dir = fd;
	g->count++;
	return 0;
}

int unc_groups_make_again(struct uncore_groups *g, size_t i)
{
	struct unc_slot *slot = &g->slots[i];
	int dir = unc_root_open_file(g->machine->root, MON_GROUPS, O_RDONLY | O_DIRECTORY);
	int lock = dir < 0 ? dir : lock_all(g->machine);
	int err = lock < 0 ? lock : mkdirat(dir, slot->name, 0755) < 0 ? -errno : 0;

	*slot->next = '\0'; /* it has no tasks */
	if (slot->dir >= 0)
		close(slot->dir);
	slot->dir = err == 0 ? lock_group(g->machine, slot->name) : -1;
	if (lock >= 0)
		close(lock);
	if (dir >= 0)
		close(dir);
	return slot->dir < 0 ? -ENOENT : 0;
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
		r = find_most(u, 0, &most, &limit);
	if (r < 0)
		return r;
	g = calloc(1, sizeof(*g));
	if (!g)
		return unc_nomem(&u->error);
	g->machine = u;
	g->wanted = count < most ? count : most;
	g->limit = most < count ? limit : NULL;
	g->slots = calloc(g->wanted, sizeof(*g->slots));
	g->by_task = unc_root_exists(u->root, "proc/self/cpu_resctrl_groups");
	r = g->slots ? uncore_groups_grow(g) : unc_nomem(&u->error);
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
	int dir, lock;

	if (!g)
		return;
	dir = unc_root_open_file(g->machine->root, MON_GROUPS, O_RDONLY | O_DIRECTORY);
	lock = lock_all(g->machine);
	for (size_t i = 0; i < g->count; i++) {
		if (g->slots[i].dir < 0)
			continue;
		if (dir >= 0)
			remove_group(dir, g->slots[i].name, g->slots[i].dir);
		close(g->slots[i].dir);
	}
	if (lock >= 0)
		close(lock);
	if (dir >= 0)
		close(dir);
	for (size_t i = 0; i < g->machine->pmus.count; i++)
		g->machine->pmus.items[i].slot = NULL;
	if (g->machine->groups == g)
		g->machine->groups = NULL;
	unc_names_finish(&g->names);
	unc_names_finish(&g->scanned);
	free(g->others);
	free(g->slots);
	free(g);
}

bool unc_groups_is_own(const struct uncore_groups *g, const char *name)
{
	for (size_t i = 0; *name == '/' && i < g->count; i++)
		if (strcmp(name + 1, g->slots[i].name) == 0)
			return true;
	return false;
}

static int note_scanned(void *context, const char *path, const char *name)
{
	struct uncore_groups *g = context;

	(void)path;
	return !*name || unc_groups_is_own(g, name) ? 0 : unc_names_add(&g->scanned, name);
}

/* What is made after the names were read is found by the next look: so it is scanned again. */
int unc_groups_scan(struct uncore_groups *g, struct unc_pmus *pmus)
{
	struct uncore *u = g->machine;
	int err;

	unc_names_finish(&g->scanned);
	err = unc_resctrl_each(u->root, note_scanned, g);
	if (err < 0)
		return unc_resctrl_unreadable(&u->error, err);
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
