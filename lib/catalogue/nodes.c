/* SPDX-License-Identifier: MIT */
/* The NUMA node that a PMU counts. A CPU of its cpumask shows only the socket, unless the facts
 * about its driver say more. */
#include "catalogue/catalogue.h"

size_t unc_topology_nodes(const struct unc_topology *t, int socket,
			  int nodes[static UNC_MOST_NODES])
{
	size_t count = 0;

	for (size_t i = 0; i < t->cpu_count && count < UNC_MOST_NODES; i++) {
		int node = t->cpus[i].node;
		size_t at = count;

		/* On x86 an offline CPU of any socket has none. */
		if (t->cpus[i].socket != socket || node < 0 || (socket < 0 && !t->cpus[i].online))
			continue;
		while (at && nodes[at - 1] > node)
			at--;
		if (at && nodes[at - 1] == node)
			continue;
		memmove(&nodes[at + 1], &nodes[at], (count - at) * sizeof(*nodes));
		nodes[at] = node;
		count++;
	}
	return count;
}

bool unc_topology_has_more_nodes(const struct unc_topology *t, const int *nodes, size_t count)
{
	for (size_t i = 0; t->unplaced && i < t->cpu_count; i++) {
		const struct uncore_cpu *cpu = &t->cpus[i];
		size_t at = 0;

		while (at < count && nodes[at] != cpu->node)
			at++;
		if (!cpu->online && cpu->socket < 0 && cpu->node >= 0 && at == count)
			return true;
	}
	return false;
}

/* The number of the PMU's node among the `count` nodes of its socket, by a rule; -1: the rule does
 * not apply. */
static int64_t node_by(const struct unc_node_rule *rule, const struct uncore_pmu *pmu, size_t count)
{
	const struct unc_family *f = pmu->family;
	const char *unit = strrchr(pmu->name, '_');
	uint64_t number = 0, highest = 0;

	if (!unit || unc_parse_u64(unit + 1, &number) < 0)
		return -1;
	if (rule->kind == UNC_NODE_ORDER)
		return f->pmu_count % count == 0 ? (int64_t)(number / (f->pmu_count / count)) : -1;
	/* A list is for dies with exactly this number of nodes and units. */
	for (size_t i = 0; i < rule->units.count; i++) {
		uint64_t node = 0;

		unc_parse_u64(rule->units.items[i], &node);
		highest = node > highest ? node : highest;
	}
	if (highest + 1 != count || f->pmu_count > rule->units.count ||
	    number >= rule->units.count || unc_parse_u64(rule->units.items[number], &number) < 0)
		return -1;
	return (int64_t)number;
}

bool unc_pmu_is_of_die(const struct uncore_pmu *pmu)
{
	const struct unc_driver *d = pmu->driver;

	return d && d->cpu == UNC_CPU_NEAR && d->number == UNC_SCOPE_DIE;
}

/* Whether all CPUs of the CPU's die are in one NUMA node, and no others of its socket. */
static bool has_node_alone(const struct unc_topology *t, const struct uncore_cpu *cpu)
{
	for (size_t i = 0; i < t->cpu_count; i++) {
		const struct uncore_cpu *other = &t->cpus[i];

		/* The die of an offline CPU is not in /sys. */
		if (other->socket == cpu->socket && other->package >= 0 && other->node >= 0 &&
		    (other->node == cpu->node) != (other->die == cpu->die))
			return false;
	}
	return cpu->die >= 0 && cpu->node >= 0;
}

int unc_counted_node(const struct uncore_pmu *pmu, const struct unc_topology *t, int number)
{
	const struct unc_family *f = pmu->family;
	const struct uncore_cpu *cpu = unc_topology_cpu(t, number);
	int nodes[UNC_MOST_NODES];
	size_t count = cpu ? unc_topology_nodes(t, cpu->socket, nodes) : 0;
	bool more = unc_topology_has_more_nodes(t, nodes, count);

	if (unc_pmu_unplaced(pmu, t))
		return -1;
	if (pmu->driver && pmu->driver->cpu == UNC_CPU_NODE && pmu->node >= 0)
		return pmu->node;
	if (!count || count == UNC_MOST_NODES || (count == 1 && !more))
		return count == 1 ? nodes[0] : -1;
	if (unc_pmu_is_of_die(pmu) && has_node_alone(t, cpu))
		return cpu->node;
	for (size_t i = 0; f && i < f->node_rule_count; i++) {
		const struct unc_node_rule *rule = &f->node_rules[i];
		int64_t node = -1;

		if (pmu->spans_nodes)
			continue;
		if (rule->kind == UNC_NODE_CPU)
			return cpu->node;
		node = more ? -1 : node_by(rule, pmu, count);
		if (node >= 0 && node < (int64_t)count)
			return nodes[node];
	}
	return -1;
}
