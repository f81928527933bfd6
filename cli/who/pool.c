/* SPDX-License-Identifier: MIT */
#include "who/pool.h"

#include <errno.h>
#include <math.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

/* Containers and jobs get their cgroups after they have started, and any process may be moved:
 * this is read in so many scans, and then in one of so many, but at least once in so many seconds.
 */
#define FIRST_SCANS 4
#define LATER_SCANS 16
#define LATER_SECONDS 16
/* A group gets its tasks again after so many intervals: what a child has started that was given to
 * another parent is seen in no other way. */
#define AGAIN 8
/* What its tasks start while they are moved is moved in the next pass, and so on. */
#define PASSES 6
/* Room for an id behind the longest name of a cgroup, within what the library takes. */
#define LONGEST_LABEL 8000

int pool_open(struct pool *p, struct cli *cli, enum who_by by, size_t slots)
{
	*p = (struct pool){.cli = cli, .by = by, .slot_count = slots};
	p->owners = cli_realloc(NULL, slots, sizeof(*p->owners));
	for (size_t i = 0; i < slots; i++)
		p->owners[i] = SIZE_MAX;
	return tasks_open(&p->tasks, cli->root);
}

void pool_close(struct pool *p)
{
	for (size_t i = 0; i < p->key_count; i++) {
		free(p->keys[i].id);
		free(p->keys[i].label);
	}
	for (size_t i = 0; i < p->ambiguous_count; i++)
		free(p->ambiguous[i]);
	free(p->ambiguous);
	free(p->keys);
	free(p->owners);
	tasks_close(&p->tasks);
}

/* ---- keys ---- */

static void name_user(const struct pool *p, int pid, struct buffer *id, struct buffer *label)
{
	auto_buffer status = {0};
	const struct passwd *user;
	unsigned long uid;
	char *line, *end;

	if (!tasks_read(&p->tasks, pid, "status", &status))
		return;
	line = strstr(status.data, "\nUid:");
	uid = line ? strtoul(line + 5, &end, 10) : 0;
	if (!line || end == line + 5)
		return;
	buffer_printf(id, "%lu", uid);
	user = p->cli->root ? NULL : getpwuid((uid_t)uid);
	if (user)
		buffer_printf(label, "%s (%lu)", user->pw_name, uid);
	else
		buffer_printf(label, "user %lu", uid);
}

static bool is_ambiguous(const struct pool *p, const char *label)
{
	for (size_t i = 0; i < p->ambiguous_count; i++)
		if (strcmp(p->ambiguous[i], label) == 0)
			return true;
	return false;
}

/* Two units of one name, two containers whose ids begin alike: from then on keys with this label
 * have their whole id behind it. A label means the same key all the time. */
static char *unique_label(struct pool *p, const char *id, const char *label)
{
	char *clean = cli_copy(label);
	auto_buffer whole = {0};

	clean[cli_clean(clean, strlen(clean), "")] = '\0';
	for (size_t i = 0; i < p->key_count; i++) {
		if (is_ambiguous(p, clean) || strcmp(p->keys[i].label, clean) != 0)
			continue;
		p->ambiguous =
			cli_realloc(p->ambiguous, p->ambiguous_count + 1, sizeof(*p->ambiguous));
		p->ambiguous[p->ambiguous_count++] = cli_copy(clean);
	}
	if (!is_ambiguous(p, clean))
		return clean;
	buffer_printf(&whole, "%s [", clean);
	free(clean);
	for (; *id && whole.len < LONGEST_LABEL; id++)
		buffer_printf(&whole, *id > ' ' && *id < 0x7f ? "%c" : "\\x%02x",
			      (unsigned char)*id);
	buffer_puts(&whole, "]");
	return cli_copy(whole.data);
}

/* The number of the key, which is added when it is new. */
static size_t find_key(struct pool *p, const struct buffer *id, const struct buffer *label)
{
	struct who_key *k;

	for (size_t i = 0; i < p->key_count; i++)
		if (strcmp(p->keys[i].id, id->data) == 0)
			return i;
	p->keys = cli_grow(p->keys, p->key_count, sizeof(*p->keys));
	k = &p->keys[p->key_count];
	*k = (struct who_key){.id = cli_copy(id->data),
			      .label = unique_label(p, id->data, label->data),
			      .slot = -1,
			      .rate = NAN};
	return p->key_count++;
}

static void set_key(struct pool *p, struct process *process)
{
	auto_buffer text = {0}, id = {0}, label = {0};
	size_t before = process->key;

	if (p->by == BY_PROCESS) {
		buffer_printf(&id, "%d:%llu:%s", process->pid, (unsigned long long)process->start,
			      process->name);
		buffer_printf(&label, "%s (%d)", process->name, process->pid);
	} else if (p->by == BY_USER) {
		name_user(p, process->pid, &id, &label);
	} else if (tasks_read(&p->tasks, process->pid, "cgroup", &text)) {
		key_find(p->by, buffer_text(&text), &id, &label);
	}
	process->key = id.len ? find_key(p, &id, &label) : POOL_NO_KEY;
	if (process->key == before)
		return;
	process->placed = false;
	if (before < POOL_NO_KEY)
		p->keys[before].joined = true; /* its group has a task too many */
}

/* Whether it is the turn of this process, which is another one's in another scan. */
static bool is_later_scan(const struct tasks *t, const struct process *process)
{
	double most = t->seconds > 1 ? LATER_SECONDS / t->seconds : LATER_SCANS;
	uint64_t scans = most < 1 ? 1 : most < LATER_SCANS ? (uint64_t)most : LATER_SCANS;

	return (t->scans + (uint64_t)process->pid) % scans == 0;
}

/* A process keeps its own key until it runs another program, and its user nearly always. */
static bool needs_key(const struct pool *p, const struct process *process)
{
	if (process->key == SIZE_MAX)
		return true;
	if (p->by == BY_PROCESS)
		return process->renamed;
	return process->scans < FIRST_SCANS || is_later_scan(&p->tasks, process);
}

/* Removes keys without processes and without a slot. */
static void drop_keys(struct pool *p)
{
	auto_free size_t *moved = cli_realloc(NULL, p->key_count + 1, sizeof(*moved));
	size_t kept = 0;

	for (size_t i = 0; i < p->key_count; i++) {
		moved[i] = kept;
		if (p->keys[i].processes || p->keys[i].slot >= 0) {
			p->keys[kept++] = p->keys[i];
			continue;
		}
		free(p->keys[i].id);
		free(p->keys[i].label);
	}
	p->key_count = kept;
	for (size_t i = 0; i < p->tasks.count; i++)
		if (p->tasks.items[i].key < POOL_NO_KEY)
			p->tasks.items[i].key = moved[p->tasks.items[i].key];
	for (size_t i = 0; i < p->slot_count; i++)
		if (p->owners[i] != SIZE_MAX)
			p->owners[i] = moved[p->owners[i]];
}

/* The key of the parent, or of its parents that are as new. SIZE_MAX: none. */
static size_t key_of_parent(const struct pool *p, const struct process *process)
{
	const struct process *parent = tasks_find(&p->tasks, process->parent);

	for (int depth = 0; parent && parent->is_new && depth < 16; depth++)
		parent = tasks_find(&p->tasks, parent->parent);
	return parent && parent->key < POOL_NO_KEY ? parent->key : SIZE_MAX;
}

/* New processes are in the group of the process that has started them. */
static void note_children(struct pool *p)
{
	for (size_t i = 0; i < p->tasks.count; i++) {
		const struct process *process = &p->tasks.items[i];
		size_t key = process->is_new ? key_of_parent(p, process) : SIZE_MAX;

		if (key != SIZE_MAX && key != process->key && p->keys[key].slot >= 0)
			p->keys[key].children = p->keys[key].joined = true;
	}
}

/* What its group's tasks start is born in the group; what others start is not. */
static bool is_outside(const struct pool *p, const struct process *process, int slot)
{
	return p->groups && slot >= 0 && !process->placed &&
	       !uncore_groups_other(p->groups, process->pid) &&
	       !uncore_groups_has(p->groups, (size_t)slot, process->pid);
}

static void add_process(struct pool *p, struct process *process)
{
	struct who_key *k;

	if (process->is_kernel)
		return;
	if (needs_key(p, process))
		set_key(p, process);
	if (process->key == POOL_NO_KEY)
		return;
	k = &p->keys[process->key];
	k->processes++;
	k->cpu += process->cpu_share;
	k->faults += process->fault_rate;
	/* With other keys than processes, children mostly have the same one. */
	k->children |= p->by == BY_PROCESS && process->children;
	k->joined |= !process->placed;
	k->outside += is_outside(p, process, k->slot);
	k->own = p->by == BY_PROCESS && process->pid == p->tasks.own;
	k->elsewhere &= p->groups && uncore_groups_other(p->groups, process->pid);
}

int pool_look(struct pool *p)
{
	int err = p->groups ? uncore_groups_look(p->groups) : 0;

	if (err)
		return cli_fail(p->cli, err);
	p->changed = p->groups && uncore_groups_changed(p->groups);
	tasks_scan(&p->tasks);
	if (p->usage)
		usage_look(p->usage, &p->tasks);
	p->interval++;
	for (size_t i = 0; i < p->key_count; i++) {
		struct who_key *k = &p->keys[i];

		k->cpu = k->faults = 0;
		k->processes = 0;
		k->children = false;
		k->elsewhere = true;
		k->outside = k->unsettled;
		k->joined = k->unsettled;
		k->unsettled = false;
	}
	for (size_t i = 0; i < p->tasks.count; i++)
		add_process(p, &p->tasks.items[i]);
	note_children(p);
	return CLI_OK;
}

/* ---- groups ---- */

void pool_measured(struct pool *p, size_t slot, double rate)
{
	struct who_key *k = p->owners[slot] == SIZE_MAX ? NULL : &p->keys[p->owners[slot]];

	if (!k)
		return;
	k->measured = p->interval;
	if (isfinite(rate))
		k->rate = rate;
	else
		k->joined = true; /* perhaps the group was removed */
}

const struct who_key *pool_owner(const struct pool *p, size_t slot)
{
	return p->owners[slot] == SIZE_MAX ? NULL : &p->keys[p->owners[slot]];
}

struct pool_rest pool_rest(const struct pool *p)
{
	struct pool_rest rest = {.removed = p->removed,
				 .changed = p->changed,
				 .denied = p->tasks.denied,
				 .contained = p->tasks.contained};

	for (size_t i = 0; i < p->key_count; i++) {
		if (!key_is_busy(&p->keys[i]))
			continue;
		rest.all_busy++;
		rest.busy += p->keys[i].slot < 0;
	}
	for (size_t i = 0; i < p->tasks.count; i++) {
		const struct process *process = &p->tasks.items[i];
		bool has = process->key < POOL_NO_KEY && p->keys[process->key].slot >= 0;

		if (process->is_kernel ||
		    (p->groups && uncore_groups_other(p->groups, process->pid)))
			continue;
		rest.all_cpu += process->cpu_share;
		rest.processes += !has;
		rest.cpu += has ? 0 : process->cpu_share;
	}
	return rest;
}

/* All threads of all processes of the key, ascending. */
static size_t threads_of(struct pool *p, size_t key, int **threads)
{
	size_t count = 0;

	for (size_t i = 0; key != SIZE_MAX && i < p->tasks.count; i++) {
		if (p->tasks.items[i].key != key || p->tasks.items[i].is_kernel)
			continue;
		tasks_threads(&p->tasks, p->tasks.items[i].pid, threads, &count);
		p->tasks.items[i].placed = true;
	}
	if (count)
		qsort(*threads, count, sizeof(**threads), cli_compare_ints);
	return count;
}

/* Whether the task is of a process that the latest scan found, and that has another key. One that
 * is newer stays where it was born, until the next scan. */
static bool is_of_another(const struct pool *p, int task, size_t key)
{
	const struct process *process = tasks_find(&p->tasks, task);

	if (!process)
		process = tasks_find(&p->tasks, tasks_process_of(&p->tasks, task));
	return process && process->key != key;
}

/* Takes processes out of the group which its key's processes have started, and which have keys of
 * their own; or that were moved to another cgroup. `present` are the group's tasks. An error. */
static int release_others(struct pool *p, size_t slot, size_t key, int *present, int count)
{
	auto_free int *threads = NULL;
	int others = 0;
	size_t own = count > 0 ? threads_of(p, key, &threads) : 0;

	for (int i = 0; i < count; i++)
		if (!(own && bsearch(&present[i], threads, own, sizeof(int), cli_compare_ints)) &&
		    is_of_another(p, present[i], key))
			present[others++] = present[i];
	return uncore_groups_release(p->groups, slot, present, (size_t)others);
}

/* Moves all threads of the key into the group, until all were there when their list was read. What
 * they start after that is born there. An error. */
static int move_threads(struct pool *p, size_t slot, size_t key)
{
	const char *label = key == SIZE_MAX ? "" : p->keys[key].label;
	int moved = 1;

	for (int pass = 0; moved > 0 && pass < PASSES; pass++) {
		auto_free int *threads = NULL;
		size_t count = threads_of(p, key, &threads);

		moved = uncore_groups_assign(p->groups, slot, threads, count, label);
	}
	if (moved > 0)
		p->keys[key].unsettled = true;
	return moved < 0 ? moved : 0;
}

/* Gives the slot to the key. If its group does not exist, nothing has it. */
static int give(struct pool *p, size_t slot, size_t key, bool is_new)
{
	auto_free int *present = NULL;
	int err = is_new ? 0 : uncore_groups_tasks(p->groups, slot, &present);

	if (!is_new && err >= 0)
		err = release_others(p, slot, key, present, err);
	if (err >= 0)
		err = move_threads(p, slot, key);
	if (err != -ENOENT)
		return err ? cli_fail(p->cli, err) : CLI_OK;
	p->removed++;
	p->owners[slot] = SIZE_MAX;
	if (key != SIZE_MAX)
		p->keys[key].slot = -1;
	return CLI_OK;
}

/* The key that has the slot now. */
static size_t new_owner(const struct pool *p, size_t slot)
{
	for (size_t i = 0; i < p->key_count; i++)
		if (p->keys[i].slot == (int)slot)
			return i;
	return SIZE_MAX;
}

int pool_assign(struct pool *p)
{
	int status = CLI_OK;

	p->removed = 0;
	if (p->slot_count)
		choose_slots(p->keys, p->key_count, p->slot_count);
	for (size_t i = 0; !status && i < p->slot_count; i++) {
		size_t key = new_owner(p, i);
		bool changed = key != p->owners[i];
		bool again = changed || (key != SIZE_MAX &&
					 (p->keys[key].joined || (p->interval + i) % AGAIN == 0));

		p->owners[i] = key;
		if (p->groups && again)
			status = give(p, i, key, changed);
	}
	drop_keys(p);
	return status;
}
