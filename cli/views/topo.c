/* SPDX-License-Identifier: MIT */
/* Which PMUs and root ports of a machine belong together. */
#include "views/topo.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

int topo_socket(const struct uncore *u, int cpu)
{
	for (size_t i = 0; i < uncore_cpu_count(u); i++)
		if (uncore_cpu_at(u, i)->id == cpu)
			return uncore_cpu_at(u, i)->socket;
	return -1;
}

int topo_cpu(const struct uncore *u, const struct uncore_pmu *pmu, int socket)
{
	for (size_t i = 0; i < uncore_pmu_cpu_count(pmu); i++) {
		int cpu = uncore_pmu_cpu_at(pmu, i);

		if (topo_socket(u, cpu) == socket)
			return cpu;
	}
	return -1;
}

int *topo_cpus(const struct uncore *u, int socket, size_t *count)
{
	int *ids = cli_realloc(NULL, uncore_cpu_count(u) + 1, sizeof(*ids));

	*count = 0;
	for (size_t i = 0; i < uncore_cpu_count(u); i++)
		if (uncore_cpu_at(u, i)->socket == socket)
			ids[(*count)++] = uncore_cpu_at(u, i)->id;
	return ids;
}

static int by_number(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

int *topo_nodes(const struct uncore *u, int socket, size_t *count)
{
	int *ids = cli_realloc(NULL, uncore_cpu_count(u) + 1, sizeof(*ids));
	size_t all = 0;

	*count = 0;
	for (size_t i = 0; i < uncore_cpu_count(u); i++) {
		const struct uncore_cpu *cpu = uncore_cpu_at(u, i);

		if (cpu->socket == socket && cpu->node >= 0)
			ids[all++] = cpu->node;
	}
	if (all)
		qsort(ids, all, sizeof(*ids), by_number);
	for (size_t i = 0; i < all; i++)
		if (!*count || ids[*count - 1] != ids[i])
			ids[(*count)++] = ids[i];
	return ids;
}

bool topo_is_memory(const struct uncore_pmu *pmu)
{
	const char *instance = uncore_pmu_instance(pmu);

	return instance && strncmp(instance, "memory ", 7) == 0;
}

bool topo_is_about(const struct uncore *u, const struct uncore_pmu *pmu, const char *pattern)
{
	const char *family = uncore_pmu_family(pmu);

	for (size_t i = 0; family && i < uncore_metric_count(u); i++) {
		const struct uncore_metric *m = uncore_metric_at(u, i);

		if (strcmp(uncore_metric_family(m), family) == 0 &&
		    fnmatch(pattern, uncore_metric_name(m), 0) == 0)
			return true;
	}
	return false;
}

/* PMUs of channels; where a machine has none, those that count its traffic: caches and links only know
 * how long memory takes. */
bool topo_counts_memory(const struct uncore *u, const struct uncore_pmu *pmu)
{
	for (size_t i = 0; i < uncore_pmu_count(u); i++)
		if (topo_is_memory(uncore_pmu_at(u, i)))
			return topo_is_memory(pmu);
	return topo_is_about(u, pmu, "memory.*bandwidth");
}

bool topo_counts_link(const struct uncore *u, const struct uncore_pmu *pmu)
{
	return topo_is_about(u, pmu, "link.*");
}

void topo_select(struct pmus *p, const struct uncore *u, int socket,
		 bool (*is)(const struct uncore *u, const struct uncore_pmu *pmu))
{
	size_t all = uncore_pmu_count(u);

	*p = (struct pmus){.items = cli_realloc(NULL, all + 1, sizeof(*p->items))};
	for (size_t i = 0; i < all; i++) {
		const struct uncore_pmu *pmu = uncore_pmu_at(u, i);

		if (topo_cpu(u, pmu, socket) >= 0 && is(u, pmu))
			p->items[p->count++] = pmu;
	}
}

unsigned topo_segment(const struct uncore_device *d)
{
	return (unsigned)strtoul(d->address, NULL, 16);
}

unsigned topo_bus(const struct uncore_device *d)
{
	return (unsigned)strtoul(strchr(d->address, ':') + 1, NULL, 16);
}

static bool same_pmus(const struct uncore_device *a, const struct uncore_device *b)
{
	size_t count = uncore_device_pmu_count(a);

	if (count != uncore_device_pmu_count(b))
		return false;
	for (size_t i = 0; i < count; i++)
		if (uncore_device_pmu_at(a, i) != uncore_device_pmu_at(b, i))
			return false;
	if (!a->unknown || !b->unknown)
		return a->unknown == b->unknown;
	return strcmp(a->unknown, b->unknown) == 0;
}

bool topo_same_complex(const struct uncore_device *a, const struct uncore_device *b)
{
	if (a->socket != b->socket || a->rc != b->rc || a->rc_socket != b->rc_socket ||
	    topo_segment(a) != topo_segment(b) || (a->rc < 0 && topo_bus(a) != topo_bus(b)))
		return false;
	return same_pmus(a, b);
}
