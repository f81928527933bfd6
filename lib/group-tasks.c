/* SPDX-License-Identifier: MIT */
/* The tasks of groups of resctrl: which are in groups of others, and moving the others.
 * Another program may move a task at any time: just before it is moved, /proc says where it is.
 * Kernels before 5.6 do not say that of a task, and the lists of all groups are read before. */
#include "groups.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#define TOP UNC_RESCTRL
#define MON_GROUPS UNC_MON_GROUPS

/* ---- lists ---- */

/* The numbers in a list of tasks, which is closed; `fd` may be an error. Returns how many, or a
 * negative errno. */
static int read_tasks(int fd, int **out)
{
	char *text = NULL;
	const char *at;
	int *tasks = NULL, r = fd;
	size_t count = 0, len;
	uint64_t id;

	if (fd >= 0) {
		r = unc_read_fd(fd, SIZE_MAX / 4, &text, &len);
		close(fd);
	}
	for (at = text; r == 0 && at && unc_take_digits(&at, 10, 10, &id);) {
		int task = (int)id;

		r = UNC_ADD(&tasks, &count, &task);
		at += strspn(at, UNC_SPACES);
	}
	if (r == 0 && at && *at)
		r = -EBADMSG;
	free(text);
	if (r < 0) {
		free(tasks);
		return r;
	}
	*out = tasks;
	return (int)count;
}

/* Those of a group of ours, ascending: of the directory that was made, not of its name. */
static int read_own(const struct unc_slot *slot, int **out)
{
	int count = read_tasks(unc_root_open_below(slot->dir, "tasks", O_RDONLY), out);

	if (count > 0)
		qsort(*out, (size_t)count, sizeof(**out), unc_compare_ints);
	return count;
}

/* A group in whose list of tasks nothing is, and into which none can be moved. */
static bool is_pseudo_locked(const struct unc_root *root, const char *path)
{
	char *mode = NULL;
	bool is = unc_root_read(root, UNC_PATH("%s/mode", path), &mode) == 0 &&
		  strncmp(mode, "pseudo-lock", strlen("pseudo-lock")) == 0;

	free(mode);
	return is;
}

/* Adds the tasks of a group, unless it is the default one or one of ours. A control group also
 * lists the tasks of its monitor groups, which are added later. */
static int add_others(void *context, const char *path, const char *name)
{
	struct uncore_groups *g = context;
	struct uncore *u = g->machine;
	const char *file = UNC_PATH("%s/tasks", path);
	int *tasks = NULL, count;

	if (!*name || unc_groups_is_own(g, name))
		return 0;
	count = read_tasks(unc_root_open_file(u->root, file, O_RDONLY), &tasks);
	if (unc_resctrl_is_gone(count))
		return 0;
	if (count < 0 && !is_pseudo_locked(u->root, path))
		return count == -ENOMEM
			       ? count
			       : unc_fail(
					 &u->error, -count,
					 "/%s cannot be read: %s. So it is not known which tasks belong to "
					 "others, and none is moved",
					 file, unc_errno_text(count));
	if (unc_names_add(&g->names, name) < 0)
		count = -ENOMEM;
	for (int i = 0; i < count; i++)
		if (UNC_ADD(&g->others, &g->other_count,
			    &((struct unc_other_task){tasks[i], g->names.count - 1})) < 0)
			count = -ENOMEM;
	free(tasks);
	return count == -ENOMEM ? count : 0;
}

/* By id; of one task the latest group first, which is the monitor group. */
static int compare_others(const void *a, const void *b)
{
	const struct unc_other_task *x = a, *y = b;

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
	u->error.text[0] = '\0';
	unc_root_exhausted(u->root);
	err = unc_resctrl_each(u->root, add_others, g);
	/* What could not be opened for want of descriptors looks as if it were not there. */
	if (err == 0)
		err = -unc_root_exhausted(u->root);
	if (g->other_count)
		qsort(g->others, g->other_count, sizeof(*g->others), compare_others);
	if (err == -ENOMEM || (err < 0 && !*u->error.text))
		return unc_resctrl_unreadable(&u->error, err);
	return err;
}

bool uncore_groups_changed(const struct uncore_groups *g)
{
	bool same = g->names.count == g->scanned.count;

	for (size_t i = 0; same && i < g->names.count; i++)
		same = strcmp(g->names.items[i], g->scanned.items[i]) == 0;
	return !same;
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

/* ---- where a task is ---- */

/* Groups in which a task may be, beside those of ours, which have their numbers. */
enum { IN_DEFAULT = -1, ELSEWHERE = -2 };

static bool has_task(const int *tasks, int count, int task)
{
	return count > 0 && bsearch(&task, tasks, (size_t)count, sizeof(*tasks), unc_compare_ints);
}

/* By /proc/TASK/cpu_resctrl_groups, "res:/" and "mon:NAME" (linux Documentation/filesystems/
 * resctrl.rst). A task that has ended is nowhere. */
static int group_of(const struct uncore_groups *g, int task)
{
	static const char in_default[] = "res:/\nmon:";
	int group = ELSEWHERE;
	char *text = NULL;

	if (unc_root_read(g->machine->root, UNC_PATH("proc/%d/cpu_resctrl_groups", task), &text) <
	    0)
		return ELSEWHERE;
	if (strncmp(text, in_default, strlen(in_default)) == 0) {
		const char *name = text + strlen(in_default);
		size_t len = strcspn(name, "\n");

		group = len ? ELSEWHERE : IN_DEFAULT;
		for (size_t i = 0; len && i < g->count; i++)
			if (strlen(g->slots[i].name) == len &&
			    memcmp(g->slots[i].name, name, len) == 0)
				group = (int)i;
	}
	free(text);
	return group;
}

/* Where it is by the lists of groups of others and by that of one of ours. */
static int group_by_lists(const struct uncore_groups *g, size_t i, const int *own, int count,
			  int task)
{
	if (has_task(own, count, task))
		return (int)i;
	return uncore_groups_other(g, task) ? ELSEWHERE : IN_DEFAULT;
}

bool uncore_groups_has(const struct uncore_groups *g, size_t i, int task)
{
	int *own = NULL, count;
	bool has;

	if (i >= g->count)
		return false;
	if (g->by_task)
		return group_of(g, task) == (int)i;
	count = read_own(&g->slots[i], &own);
	has = has_task(own, count, task);
	free(own);
	return has;
}

/* ---- moving ---- */

/* What moving tasks into one list of tasks, or out of one, does. */
struct moving {
	struct uncore_groups *g;
	size_t slot;
	const int *own; /* the tasks of the slot, ascending */
	int count, fd;
	bool out; /* from the slot to the default group; else from elsewhere into the slot */
	size_t moved, denied;
};

static bool may_move(const struct moving *m, int task)
{
	int at = m->g->by_task ? group_of(m->g, task)
			       : group_by_lists(m->g, m->slot, m->own, m->count, task);

	return m->out ? at == (int)m->slot : at != ELSEWHERE && at != (int)m->slot;
}

/* A task that has ended, or that another program has moved into a control group meanwhile (EINVAL),
 * stays where it is. Without permission for some tasks, others are moved. */
static int move(struct moving *m, int task)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d\n", task);

	if (!may_move(m, task))
		return 0;
	if (write(m->fd, text, (size_t)len) == len) {
		m->moved++;
		return 0;
	}
	if (errno == EPERM || errno == EACCES)
		m->denied++;
	else if (errno != ESRCH && errno != EINVAL)
		return errno == ENODEV ? -ENOENT : -errno;
	return 0;
}

/* Moves those of `tasks` that are not in `but`, which is ascending. */
static int move_all(struct moving *m, const int *tasks, int count, const int *but, int but_count)
{
	const struct unc_slot *slot = &m->g->slots[m->slot];
	const int flags = O_WRONLY | O_APPEND;
	int err = 0;

	m->fd = -1;
	for (int i = 0; err == 0 && i < count; i++) {
		if (has_task(but, but_count, tasks[i]))
			continue;
		if (m->fd < 0) {
			m->fd = m->out ? unc_root_open_file(m->g->machine->root, TOP "/tasks",
							    flags)
				       : unc_root_open_below(slot->dir, "tasks", flags);
			err = m->fd < 0 ? m->fd : 0;
		}
		if (err == 0)
			err = move(m, tasks[i]);
	}
	if (m->fd >= 0)
		close(m->fd);
	return err;
}

static bool lacks_any(const int *tasks, int count, const int *in, int in_count)
{
	for (int i = 0; i < count; i++)
		if (!has_task(in, in_count, tasks[i]))
			return true;
	return false;
}

/* Moves these tasks, which are ascending, into the group. Tasks of a former owner leave it. Returns
 * how many were moved into it. */
static int set_tasks(struct uncore_groups *g, size_t i, const int *tasks, int count, bool is_new)
{
	struct unc_slot *slot = &g->slots[i];
	int *own = NULL, had = read_own(slot, &own), err;
	struct moving m = {.g = g, .slot = i, .out = true};

	if (had == -ENOENT && (had = unc_groups_make_again(g, i)) == 0)
		had = read_own(slot, &own);
	err = had < 0 ? had : 0;
	m.own = own;
	m.count = had;
	if (err == 0 && !g->by_task && lacks_any(tasks, count, own, had))
		err = uncore_groups_look(g);
	if (err == 0 && is_new) {
		err = move_all(&m, own, had, tasks, count);
		slot->strangers = m.denied;
	}
	m.out = false;
	m.moved = m.denied = 0;
	if (err == 0)
		err = move_all(&m, tasks, count, own, had);
	slot->denied = m.denied;
	slot->wanted = (size_t)count;
	free(own);
	return err < 0 ? err : (int)m.moved;
}

static int no_group(struct uncore_groups *g, size_t i)
{
	return unc_fail(&g->machine->error, EINVAL, "there is no group %zu", i);
}

static int *sorted(const int *tasks, size_t count)
{
	int *copy = calloc(count + 1, sizeof(*copy));

	if (copy && count) {
		memcpy(copy, tasks, count * sizeof(*copy));
		qsort(copy, count, sizeof(*copy), unc_compare_ints);
	}
	return copy;
}

/* The sentence of an error, unless it has one. */
static int fail_moving(struct uncore_groups *g, size_t i, int err)
{
	struct unc_error *e = &g->machine->error;
	const char *path = UNC_PATH(MON_GROUPS "/%s", g->slots[i].name);

	if (err == -ENOMEM)
		return unc_nomem(e);
	if (err == -ENOENT)
		return unc_fail(e, ENOENT,
				"the group /%s was removed by another program, and cannot be made "
				"again yet",
				path);
	if (*e->text)
		return err;
	return unc_groups_refuse(e, err,
				 UNC_PATH("tasks cannot be moved into the group /%s", path));
}

int uncore_groups_assign(struct uncore_groups *g, size_t i, const int *tasks, size_t count,
			 const char *label)
{
	struct unc_slot *slot = i < g->count ? &g->slots[i] : NULL;
	int *wanted, moved;
	bool is_new;

	if (!slot)
		return no_group(g, i);
	if (strlen(label) >= sizeof(slot->next))
		return unc_fail(&g->machine->error, EINVAL, "the label is longer than %zu bytes",
				sizeof(slot->next) - 1);
	is_new = strcmp(slot->next, label) != 0;
	wanted = sorted(tasks, count);
	g->machine->error.text[0] = '\0';
	moved = wanted ? set_tasks(g, i, wanted, (int)count, is_new) : -ENOMEM;
	free(wanted);
	/* A group that was made again has no label. */
	if (moved >= 0 && strcmp(slot->next, label) != 0) {
		snprintf(slot->next, sizeof(slot->next), "%s", label);
		slot->since_ns = unc_now_ns();
		slot->changed = true;
	}
	return moved < 0 ? fail_moving(g, i, moved) : moved;
}

int uncore_groups_tasks(struct uncore_groups *g, size_t i, int **tasks)
{
	int *own = NULL, count = i < g->count ? read_own(&g->slots[i], &own) : -EINVAL;

	if (count == -EINVAL)
		return no_group(g, i);
	g->machine->error.text[0] = '\0';
	if (count < 0 && count != -ENOENT)
		return unc_fail(&g->machine->error, -count,
				"the tasks of the group /" MON_GROUPS "/%s cannot be read: %s",
				g->slots[i].name, unc_errno_text(count));
	*tasks = own;
	return count < 0 ? 0 : count;
}

int uncore_groups_release(struct uncore_groups *g, size_t i, const int *tasks, size_t count)
{
	struct moving m = {.g = g, .slot = i, .out = true};
	int *own = NULL, err;

	if (i >= g->count)
		return no_group(g, i);
	g->machine->error.text[0] = '\0';
	if (!count) {
		g->slots[i].strangers = 0;
		return 0;
	}
	m.count = read_own(&g->slots[i], &own);
	m.own = own;
	/* A group that was removed has no tasks. */
	err = m.count < 0 && m.count != -ENOENT ? m.count : 0;
	if (err == 0 && !g->by_task)
		err = uncore_groups_look(g);
	if (err == 0)
		err = move_all(&m, tasks, (int)count, NULL, 0);
	g->slots[i].strangers = m.denied;
	free(own);
	return err < 0 ? fail_moving(g, i, err) : (int)m.moved;
}
