/* SPDX-License-Identifier: MIT */
/* CPUs, sockets and NUMA nodes, as sysfs tells them. */
#include "machine/topology.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpulist.h"
#include "machine/platform.h"

#define CPU_DIR "sys/devices/system/cpu"
#define NODE_DIR "sys/devices/system/node"

/* "cpu12" -> 12; -1 when the name is not the prefix and a number. */
static int number_after(const char *name, const char *prefix)
{
	size_t len = strlen(prefix);
	uint64_t number;

	if (strncmp(name, prefix, len) != 0 || name[len + strspn(name + len, "0123456789")])
		return -1;
	if (unc_parse_u64(name + len, &number) < 0 || number > 65535)
		return -1;
	return (int)number;
}

/* An id such as physical_package_id; -1 when the kernel does not know or does not say. -ENOMEM. */
static int read_id(const struct unc_root *root, int cpu, const char *name, int *out)
{
	char path[128], *text;
	uint64_t value;
	int err;

	snprintf(path, sizeof(path), CPU_DIR "/cpu%d/topology/%s", cpu, name);
	*out = -1;
	err = unc_root_read_line(root, path, &text);
	if (err)
		return err == -ENOMEM ? err : 0;
	if (unc_parse_u64(text, &value) == 0 && value <= INT_MAX)
		*out = (int)value;
	free(text);
	return 0;
}

static int read_list(const struct unc_root *root, const char *path, struct unc_cpulist *out,
		     struct unc_error *e)
{
	char *text;
	int err = unc_root_read_line(root, path, &text);

	if (err)
		return err;
	err = unc_cpulist_parse(text, out);
	if (err == -EINVAL)
		err = unc_fail(e, EBADMSG, "%s: '%.200s' is no list of CPUs such as 0-3,8", path,
			       text);
	free(text);
	return err;
}

/* Before `present` was there: the cpuN directories. */
static int list_cpu_dirs(const struct unc_root *root, struct unc_cpulist *out)
{
	struct unc_names names = {0};
	struct unc_text text = {0};
	char *list;
	int err = unc_root_list(root, CPU_DIR, &names);

	if (err)
		return err;
	for (size_t i = 0; i < names.count; i++) {
		int id = number_after(names.items[i], "cpu");

		if (id >= 0)
			unc_text_add(&text, "%s%d", text.len ? "," : "", id);
	}
	unc_names_finish(&names);
	list = unc_text_take(&text);
	if (!list)
		return -ENOMEM;
	err = unc_cpulist_parse(list, out);
	free(list);
	return err;
}

static int read_present(const struct unc_root *root, struct unc_cpulist *out, struct unc_error *e)
{
	struct unc_cpulist list = {0};
	int err = read_list(root, CPU_DIR "/present", &list, e);

	if (err == -ENOENT)
		err = list_cpu_dirs(root, &list);
	if (err == -ENOMEM)
		return unc_nomem(e);
	if (err == -EBADMSG)
		return err;
	if (err || !list.count)
		return unc_fail(e, ENOENT,
				CPU_DIR " names no CPU below the root: is /sys mounted there?");
	*out = list;
	return 0;
}

/* NULL online: all are. */
static int fill_cpus(struct unc_topology *t, const struct unc_root *root,
		     const struct unc_cpulist *present, const struct unc_cpulist *online)
{
	t->cpus = calloc(present->count, sizeof(*t->cpus));
	if (!t->cpus)
		return -ENOMEM;
	for (size_t i = 0; i < present->count; i++) {
		struct uncore_cpu *cpu = &t->cpus[t->cpu_count++];

		cpu->id = present->ids[i];
		cpu->node = -1;
		cpu->online = !online || unc_cpulist_has(online, cpu->id);
		if (read_id(root, cpu->id, "physical_package_id", &cpu->socket) < 0 ||
		    read_id(root, cpu->id, "die_id", &cpu->die) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int read_cpus(struct unc_topology *t, const struct unc_root *root, struct unc_error *e)
{
	struct unc_cpulist present = {0}, online = {0};
	int err = read_present(root, &present, e);

	if (err)
		return err;
	err = read_list(root, CPU_DIR "/online", &online, e);
	if (err == 0 || err == -ENOENT)
		err = fill_cpus(t, root, &present, err ? NULL : &online);
	if (err == -ENOMEM)
		unc_nomem(e);
	else if (err && err != -EBADMSG)
		unc_fail(e, -err, CPU_DIR "/online cannot be read");
	unc_cpulist_finish(&present);
	unc_cpulist_finish(&online);
	return err;
}

static struct uncore_cpu *find_cpu(const struct unc_topology *t, int id)
{
	size_t low = 0, high = t->cpu_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->cpus[middle].id == id)
			return &t->cpus[middle];
		if (t->cpus[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static int read_node(struct unc_topology *t, const struct unc_root *root, int node,
		     struct unc_error *e)
{
	struct unc_cpulist list;
	char path[128];
	int err;

	snprintf(path, sizeof(path), NODE_DIR "/node%d/cpulist", node);
	err = read_list(root, path, &list, e);
	if (err == -ENOMEM || err == -EBADMSG)
		return err;
	if (err) /* a node that came or went: its CPUs stay without */
		return 0;
	for (size_t i = 0; i < list.count; i++) {
		struct uncore_cpu *cpu = find_cpu(t, list.ids[i]);

		if (cpu)
			cpu->node = node;
	}
	unc_cpulist_finish(&list);
	return 0;
}

/* A kernel without NUMA has no nodes. */
static int read_nodes(struct unc_topology *t, const struct unc_root *root, struct unc_error *e)
{
	struct unc_names names = {0};
	int err = unc_root_list(root, NODE_DIR, &names);

	if (err && err != -ENOMEM)
		return 0;
	for (size_t i = 0; err == 0 && i < names.count; i++) {
		int node = number_after(names.items[i], "node");

		if (node >= 0)
			err = read_node(t, root, node, e);
	}
	unc_names_finish(&names);
	return err == -ENOMEM ? unc_nomem(e) : err;
}

static int compare_ints(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

static int collect_sockets(struct unc_topology *t, struct unc_error *e)
{
	size_t count = 0;

	t->sockets = calloc(t->cpu_count, sizeof(*t->sockets));
	if (!t->sockets)
		return unc_nomem(e);
	for (size_t i = 0; i < t->cpu_count; i++)
		if (t->cpus[i].online && t->cpus[i].socket >= 0)
			t->sockets[count++] = t->cpus[i].socket;
	qsort(t->sockets, count, sizeof(*t->sockets), compare_ints);
	for (size_t i = 0; i < count; i++)
		if (!t->socket_count || t->sockets[i] != t->sockets[t->socket_count - 1])
			t->sockets[t->socket_count++] = t->sockets[i];
	return 0;
}

static int compare_dies(const void *a, const void *b)
{
	const struct unc_die *x = a, *y = b;

	if (x->socket != y->socket)
		return x->socket < y->socket ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* A CPU that is offline may have no socket that anybody knows. */
static int collect_dies(struct unc_topology *t, struct unc_error *e)
{
	size_t count = 0;

	t->dies = calloc(t->cpu_count, sizeof(*t->dies));
	if (!t->dies)
		return unc_nomem(e);
	for (size_t i = 0; i < t->cpu_count; i++)
		if (t->cpus[i].socket >= 0)
			t->dies[count++] = (struct unc_die){t->cpus[i].socket, t->cpus[i].die};
	qsort(t->dies, count, sizeof(*t->dies), compare_dies);
	for (size_t i = 0; i < count; i++)
		if (!t->die_count || compare_dies(&t->dies[i], &t->dies[t->die_count - 1]) != 0)
			t->dies[t->die_count++] = t->dies[i];
	return 0;
}

int unc_topology_read(struct unc_topology *out, const struct unc_root *root, struct unc_error *e)
{
	struct unc_topology t = {0};
	int err = read_cpus(&t, root, e);

	if (!err)
		err = read_nodes(&t, root, e);
	if (!err)
		err = collect_sockets(&t, e);
	if (!err)
		err = collect_dies(&t, e);
	if (!err && unc_platform_read(&t, root) == -ENOMEM)
		err = unc_nomem(e);
	if (err) {
		unc_topology_finish(&t);
		return err;
	}
	*out = t;
	return 0;
}

void unc_topology_finish(struct unc_topology *t)
{
	free(t->cpus);
	free(t->sockets);
	free(t->dies);
	*t = (struct unc_topology){0};
}

const struct uncore_cpu *unc_topology_cpu(const struct unc_topology *t, int id)
{
	return find_cpu(t, id);
}

bool unc_topology_online(const struct unc_topology *t, int id)
{
	const struct uncore_cpu *cpu = find_cpu(t, id);

	return cpu && cpu->online;
}

int unc_topology_socket(const struct unc_topology *t, int id)
{
	const struct uncore_cpu *cpu = find_cpu(t, id);

	return cpu ? cpu->socket : -1;
}

int unc_topology_die(const struct unc_topology *t, int cpu)
{
	const struct uncore_cpu *own = find_cpu(t, cpu);
	const struct unc_die *found = NULL;

	if (own) {
		const struct unc_die die = {own->socket, own->die};

		found = bsearch(&die, t->dies, t->die_count, sizeof(die), compare_dies);
	}
	return found ? (int)(found - t->dies) : 0;
}

int unc_topology_die_socket(const struct unc_topology *t, int die)
{
	return die >= 0 && (size_t)die < t->die_count ? t->dies[die].socket : -1;
}
