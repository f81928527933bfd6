/* SPDX-License-Identifier: MIT */
/* The filters of places, "socket" and "node": which targets they select. */
#include "count/monitor.h"

bool unc_filters_select_socket(const struct uncore_monitor *m, int socket)
{
	uint64_t sockets = m->filters.values[UNC_FILTER_SOCKET].choices[0].mask;
	const struct unc_filter_value *nodes = &m->filters.values[UNC_FILTER_NODE];
	const struct unc_topology *t = &m->machine->topology;
	bool node = !nodes->count;

	for (size_t i = 0; i < nodes->count; i++) {
		int of = unc_topology_node_socket(t, (int)nodes->choices[i].base);

		node |= of < 0 || of == socket;
	}
	return socket < 0 || (node && (!sockets || (socket < 64 && sockets >> socket & 1)));
}

int unc_filters_select(const struct uncore_monitor *m, const struct unc_target *t,
		       struct unc_error *why)
{
	const struct unc_topology *topology = &m->machine->topology;
	uint64_t sockets = m->filters.values[UNC_FILTER_SOCKET].choices[0].mask;
	const struct unc_filter_value *nodes = &m->filters.values[UNC_FILTER_NODE];
	const char *unplaced = unc_pmu_unplaced(t->pmu, topology);
	int socket = unc_counted_socket(t->pmu, topology, t->cpu), node;

	if (sockets && socket < 0)
		return unc_fail(why, ENODEV, "the socket of %s is not known%s%s", t->pmu->name,
				unplaced ? ": " : "", unplaced ? unplaced : "");
	if (sockets && (socket > 63 || !(sockets >> socket & 1)))
		return 0;
	if (!nodes->count)
		return 1;
	node = unc_counted_node(t->pmu, topology, t->cpu);
	if (node < 0 && !unc_filters_select_socket(m, socket))
		return 0;
	if (node < 0)
		return unc_fail(why, ENODEV, "which NUMA node %s counts is not known%s%s",
				t->pmu->name, unplaced ? ": " : "", unplaced ? unplaced : "");
	for (size_t i = 0; i < nodes->count; i++)
		if (nodes->choices[i].base == (uint64_t)node)
			return 1;
	return 0;
}

bool unc_filters_select_pmu(const struct uncore_monitor *m, const struct uncore_pmu *pmu)
{
	bool selected = false;

	if (!m->filters.places)
		return true;
	if (!pmu->cpus.count)
		return unc_filters_select_socket(m, unc_pmu_socket(pmu, &m->machine->topology));
	for (size_t i = 0; i < pmu->cpus.count; i++) {
		struct unc_target whole = {.pmu = pmu, .cpu = pmu->cpus.ids[i], .terms = ""};
		struct unc_error ignored;

		selected |= unc_filters_select(m, &whole, &ignored) != 0;
	}
	return selected;
}
