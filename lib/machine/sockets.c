/* SPDX-License-Identifier: MIT */
/* Finds which CPUs are in one socket, the numbers of sockets, and the kernel's numbers of dies.
 * Also while CPUs are offline: their package is then not in /sys (linux drivers/base/topology.c,
 * topology_remove_dev()). */
#include "machine/topology.h"

#define NODE_DIR "sys/devices/system/node"
/* A NUMA node at this distance or more is on another socket (REMOTE_DISTANCE in linux
 * include/linux/topology.h). Nodes of one socket have 11 to 13. */
#define REMOTE 20

const struct uncore_cpu *unc_topology_cpu(const struct unc_topology *t, int id)
{
	/* Usually CPU i has the index i. */
	if (id >= 0 && (size_t)id < t->cpu_count && t->cpus[id].id == id)
		return &t->cpus[id];
	for (size_t i = 0; i < t->cpu_count; i++)
		if (t->cpus[i].id == id)
			return &t->cpus[i];
	return NULL;
}

int unc_topology_socket(const struct unc_topology *t, int id)
{
	const struct uncore_cpu *cpu = unc_topology_cpu(t, id);

	return cpu ? cpu->socket : -1;
}

/* ---- CPUs of one socket ---- */

struct groups {
	const struct unc_topology *t;
	const struct unc_root *root;
	int *of; /* for each CPU: the index of the first CPU of its socket; -1: unknown */
	struct unc_names nodes; /* the names in NODE_DIR */
	bool several_nodes;     /* a socket has several nodes */
};

static bool is_unknown(const struct uncore_cpu *cpu)
{
	return cpu->package < 0 && !cpu->online;
}

/* The distance to `node` in the text of another node's file `distance`, which has a number for each
 * node, ascending. -1: unknown. */
static int distance_to(const struct groups *g, const char *text, int node)
{
	uint64_t distance = 0;
	size_t before = 0;

	for (size_t i = 0; i < g->nodes.count; i++) {
		int other = unc_number_after(g->nodes.items[i], "node", UINT16_MAX);

		before += other >= 0 && other < node;
	}
	while (text && before--)
		text = (text = strchr(text, ' ')) ? text + 1 : NULL;
	return text && unc_take_digits(&text, 10, 4, &distance) ? (int)distance : -1;
}

/* The socket of an offline CPU whose node has no CPU of a known socket: the socket of a near node,
 * or a socket of its own. -1: unknown. `distances` is NULL if the file does not exist. */
static int group_by_distance(const struct groups *g, size_t cpu, const char *distances)
{
	const struct uncore_cpu *cpus = g->t->cpus;
	int found = -1;

	if (!distances && g->several_nodes)
		return -1;
	for (size_t k = 0; distances && k < g->t->cpu_count; k++) {
		int distance;

		if (g->of[k] < 0 || cpus[k].node < 0)
			continue;
		distance = distance_to(g, distances, cpus[k].node);
		if (distance < 0 || (distance < REMOTE && found >= 0 && found != g->of[k]))
			return -1;
		if (distance < REMOTE)
			found = g->of[k];
	}
	return found < 0 ? (int)cpu : found;
}

/* Finds the socket of an offline CPU. A node is within one socket, unless it has CPUs of several.
 * Returns 0 or -ENOMEM. */
static int group_offline(struct groups *g, size_t cpu)
{
	const struct uncore_cpu *cpus = g->t->cpus;
	char *distances = NULL;
	bool seen = cpus[cpu].node < 0;
	int r;

	g->of[cpu] = -1;
	for (size_t k = 0; k < g->t->cpu_count; k++) {
		/* Later CPUs whose package is unknown are grouped after this one. */
		if (cpus[k].node != cpus[cpu].node || (is_unknown(&cpus[k]) && k >= cpu))
			continue;
		g->of[cpu] = seen && g->of[k] != g->of[cpu] ? -1 : g->of[k];
		if (g->of[cpu] < 0)
			return 0;
		seen = true;
	}
	if (seen)
		return 0;
	r = unc_root_read_line(g->root, UNC_PATH(NODE_DIR "/node%d/distance", cpus[cpu].node),
			       &distances);
	if (r != -ENOMEM)
		g->of[cpu] = group_by_distance(g, cpu, r < 0 ? NULL : distances);
	free(distances);
	return r == -ENOMEM ? r : 0;
}

static int group_cpus(struct groups *g)
{
	const struct unc_topology *t = g->t;
	bool any = false;
	int r = 0;

	for (size_t i = 0; i < t->cpu_count; i++) {
		size_t k = 0;

		any |= is_unknown(&t->cpus[i]);
		while (t->cpus[k].package != t->cpus[i].package)
			k++;
		g->of[i] = t->cpus[i].package < 0 ? -1 : (int)k;
		for (; t->cpus[i].package >= 0 && k < i; k++)
			g->several_nodes |= t->cpus[k].package == t->cpus[i].package &&
					    t->cpus[k].node != t->cpus[i].node;
	}
	if (any && unc_root_list(g->root, NODE_DIR, &g->nodes) == -ENOMEM)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < t->cpu_count; i++)
		if (is_unknown(&t->cpus[i]))
			r = group_offline(g, i);
	for (size_t i = 0; i < t->cpu_count; i++) {
		int first = g->of[i];

		for (size_t k = i; first > (int)i && k < t->cpu_count; k++)
			g->of[k] = g->of[k] == first ? (int)i : g->of[k];
	}
	return r;
}

/* ---- numbers of sockets ---- */

/* True if the order of sockets is known: before the first CPU of the last socket, there is no
 * offline CPU that may be in a further socket. */
static bool is_ordered(const struct groups *g)
{
	size_t last = 0;

	for (size_t i = 0; i < g->t->cpu_count; i++)
		if (g->of[i] == (int)i)
			last = i;
	for (size_t i = 0; i < last; i++)
		if (g->of[i] < 0 && is_unknown(&g->t->cpus[i]))
			return false;
	return true;
}

/* A number for an offline socket whose package is unknown. If all known packages have numbers below
 * the number of sockets, the numbers that are missing belong to the other sockets. -1: unknown. */
static int missing_number(const struct unc_topology *t, size_t sockets, int after)
{
	for (size_t i = 0; i < t->cpu_count; i++)
		if (t->cpus[i].package >= (int)sockets)
			return -1;
	for (int number = after + 1; number < (int)sockets; number++) {
		size_t i = 0;

		while (i < t->cpu_count && t->cpus[i].package != number)
			i++;
		if (i == t->cpu_count)
			return number;
	}
	return -1;
}

/* The package of the socket with this first CPU, from its CPUs online; -1: unknown. */
static int package_of(const struct groups *g, size_t first)
{
	for (size_t i = first; i < g->t->cpu_count; i++)
		if (g->of[i] == (int)first && g->t->cpus[i].package >= 0)
			return g->t->cpus[i].package;
	return -1;
}

/* Numbers the sockets like their packages, whose numbers do not depend on which CPUs are online. If
 * a package has a number that is not below the number of sockets, the sockets are numbered from 0
 * in the order of their first CPUs, including offline ones. If this order is unknown, they keep the
 * numbers of their packages. */
static void number_sockets(struct unc_topology *t, const struct groups *g)
{
	bool by_order = false;
	size_t sockets = 0;
	int missing = -1, number = 0;

	for (size_t i = 0; i < t->cpu_count; i++) {
		sockets += g->of[i] == (int)i;
		t->unplaced |= g->of[i] < 0 && is_unknown(&t->cpus[i]);
		t->unnumbered |= g->of[i] < 0 && t->cpus[i].online;
	}
	for (size_t i = 0; i < t->cpu_count; i++)
		by_order |= t->cpus[i].package >= 0 && (size_t)t->cpus[i].package >= sockets;
	by_order = by_order && is_ordered(g) && !t->unnumbered;
	for (size_t i = 0; i < t->cpu_count; i++) {
		struct uncore_cpu *cpu = &t->cpus[i];

		if (g->of[i] != (int)i)
			cpu->socket = g->of[i] < 0 ? -1 : t->cpus[g->of[i]].socket;
		else if (by_order)
			cpu->socket = number++;
		else if (package_of(g, i) >= 0)
			cpu->socket = package_of(g, i);
		else
			cpu->socket = missing = missing_number(t, sockets, missing);
	}
}

/* Lists sockets with a CPU online, and the others. */
static void list_sockets(struct unc_topology *t, const struct groups *g)
{
	for (size_t i = 0; i < t->cpu_count; i++) {
		bool online = false;

		if (g->of[i] != (int)i)
			continue;
		for (size_t k = i; k < t->cpu_count; k++)
			online |= g->of[k] == (int)i && t->cpus[k].online;
		if (online)
			t->sockets[t->socket_count++] = t->cpus[i].socket;
		else
			t->offline[t->offline_count++] =
				(struct unc_offline_socket){t->cpus[i].socket, t->cpus[i].id};
	}
	qsort(t->sockets, t->socket_count, sizeof(*t->sockets), unc_compare_ints);
}

int unc_topology_find_sockets(struct unc_topology *t, const struct unc_root *root)
{
	struct groups g = {.t = t, .root = root};
	int r;

	g.of = calloc(t->cpu_count, sizeof(*g.of));
	t->sockets = calloc(t->cpu_count, sizeof(*t->sockets));
	t->offline = calloc(t->cpu_count, sizeof(*t->offline));
	r = g.of && t->sockets && t->offline ? group_cpus(&g) : -ENOMEM;
	if (r == 0) {
		number_sockets(t, &g);
		list_sockets(t, &g);
	}
	unc_names_finish(&g.nodes);
	free(g.of);
	return r;
}

int unc_topology_node_socket(const struct unc_topology *t, int node)
{
	int socket = -1;

	for (size_t i = 0; node >= 0 && i < t->cpu_count; i++) {
		if (t->cpus[i].node != node)
			continue;
		if (t->cpus[i].socket < 0 || (socket >= 0 && t->cpus[i].socket != socket))
			return -1;
		socket = t->cpus[i].socket;
	}
	return socket;
}

/* ---- the kernel's numbers of dies ---- */

static int compare_dies(const void *a, const void *b)
{
	const struct unc_die *x = a, *y = b;

	if (x->package != y->package)
		return x->package < y->package ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Lists the dies of all CPUs whose package is known, in the order of packages. */
int unc_topology_find_dies(struct unc_topology *t)
{
	size_t count = 0;

	t->dies = calloc(t->cpu_count, sizeof(*t->dies));
	if (!t->dies)
		return -ENOMEM;
	for (size_t i = 0; i < t->cpu_count; i++) {
		const struct uncore_cpu *cpu = &t->cpus[i];
		const struct unc_die die = {cpu->package, cpu->die, cpu->socket, cpu->id, -1};
		size_t k = 0;

		while (k < count && compare_dies(&t->dies[k], &die) != 0)
			k++;
		if (k == count && cpu->package >= 0)
			t->dies[count++] = die;
	}
	t->die_count = count;
	qsort(t->dies, count, sizeof(*t->dies), compare_dies);
	unc_topology_number_dies(t, 0, NULL);
	return 0;
}

static struct unc_die *die_of(const struct unc_topology *t, int id)
{
	const struct uncore_cpu *cpu = unc_topology_cpu(t, id);

	for (size_t i = 0; cpu && i < t->die_count; i++)
		if (t->dies[i].package == cpu->package && t->dies[i].id == cpu->die)
			return &t->dies[i];
	return NULL;
}

/*
 * Linux since 6.9 numbers dies in the order of their APIC IDs, which is that of packages (linux
 * arch/x86/kernel/cpu/topology.c, topology_get_logical_id()). Before that it numbers them in the
 * order in which their CPUs first came online (linux arch/x86/kernel/smpboot.c,
 * topology_update_die_map()), which is that of the CPUs. Offline dies have numbers, too.
 */
static bool is_by_package(const struct unc_topology *t)
{
	return strverscmp(t->kernel, "6.9") >= 0;
}

/* The number of a die while other sockets, with one die each, are offline. -1: unknown, because
 * dies are ordered by package and the packages of the offline sockets are unknown. */
static int number_beside_offline(const struct unc_topology *t, const struct unc_die *die)
{
	int number = 0;

	for (size_t i = 0; i < t->die_count; i++)
		number += is_by_package(t) ? compare_dies(&t->dies[i], die) < 0
					   : t->dies[i].cpu < die->cpu;
	for (size_t i = 0; i < t->offline_count; i++) {
		const struct unc_offline_socket *other = &t->offline[i];

		if (is_by_package(t) && (other->socket < 0 || die->socket != die->package))
			return -1;
		number += is_by_package(t) ? other->socket < die->package : other->cpu < die->cpu;
	}
	return number;
}

bool unc_topology_number_dies(struct unc_topology *t, size_t count, const int *cpus)
{
	bool all = count <= t->die_count, ordered = true, numbered = true, by_package;

	for (size_t i = 0; i < t->cpu_count; i++)
		all = all && (count == t->die_count || !is_unknown(&t->cpus[i]));
	for (size_t i = 0; i < t->die_count; i++) {
		ordered = ordered && (i == 0 || t->dies[i - 1].cpu < t->dies[i].cpu);
		t->dies[i].number = -1;
	}
	for (size_t i = 0; cpus && i < count && !(all && ordered); i++) {
		struct unc_die *die = die_of(t, cpus[i]);

		if (die && die->number < 0)
			die->number = (int)i;
	}
	for (size_t i = 0; i < t->die_count; i++)
		numbered = numbered && t->dies[i].number >= 0;
	/* The other files belong to the offline sockets. */
	for (size_t i = 0; cpus && i < t->die_count && !all && !t->unplaced; i++)
		if (t->dies[i].number < 0 && t->die_count + t->offline_count == count)
			t->dies[i].number = number_beside_offline(t, &t->dies[i]);
	by_package = ordered || is_by_package(t);
	for (size_t i = 0; i < t->die_count && all && !numbered; i++) {
		t->dies[i].number = by_package ? (int)i : 0;
		for (size_t k = 0; k < t->die_count && !by_package; k++)
			t->dies[i].number += t->dies[k].cpu < t->dies[i].cpu;
	}
	return all && ordered;
}

bool unc_topology_same_die(const struct unc_topology *t, int a, int b)
{
	const struct uncore_cpu *x = unc_topology_cpu(t, a), *y = unc_topology_cpu(t, b);

	return x && y && x->socket == y->socket && x->die == y->die;
}

int unc_topology_die(const struct unc_topology *t, int id)
{
	const struct unc_die *die = die_of(t, id);

	return die ? die->number : -1;
}

/*
 * The kernel reads die_id from CPUID. Intel numbers the dies of each package from 0. AMD numbers
 * its nodes over all packages (linux arch/x86/kernel/cpu/topology_amd.c, amd_node_id). So either
 * packages share numbers, or they do not. `most`: dies of a package.
 */
static bool is_numbered_over_all(const struct unc_topology *t, int most)
{
	for (size_t i = 0; i < t->die_count; i++) {
		if (t->dies[i].id < t->dies[i].package * most)
			return false;
		for (size_t k = 0; k < i; k++)
			if (t->dies[k].id == t->dies[i].id)
				return false;
	}
	return true;
}

int unc_topology_die_in_package(const struct unc_topology *t, int id)
{
	const struct unc_die *die = die_of(t, id);
	int most = 0, count = 0;

	for (size_t i = 0; i < t->die_count; i++) {
		count = i && t->dies[i - 1].package == t->dies[i].package ? count + 1 : 1;
		most = count > most ? count : most;
	}
	if (!die || die->id < 0)
		return 0;
	return is_numbered_over_all(t, most) ? die->id - die->package * most : die->id;
}

const struct unc_die *unc_topology_numbered_die(const struct unc_topology *t, int number)
{
	for (size_t i = 0; number >= 0 && i < t->die_count; i++)
		if (t->dies[i].number == number)
			return &t->dies[i];
	return NULL;
}

bool unc_topology_knows_dies(const struct unc_topology *t)
{
	for (size_t i = 0; i < t->die_count; i++)
		if (t->dies[i].number < 0)
			return false;
	return true;
}
