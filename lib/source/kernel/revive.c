/* SPDX-License-Identifier: MIT */
/*
 * When a CPU goes offline the kernel moves its events to another CPU of the unit. It does not always:
 * Linux 7.2 moves the first group of each PMU only, and when no CPU of the unit is left the events stay
 * dead after the CPUs are back.
 */
#include "source/kernel/revive.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* The CPUs that the PMU is counted from now, which the scan may have seen otherwise. */
static int read_mask(const struct unc_root *root, const struct uncore_pmu *pmu,
		     struct unc_cpulist *out)
{
	char path[320] = "sys/devices/system/cpu/online";

	if (pmu->has_mask)
		snprintf(path, sizeof(path), "sys/bus/event_source/devices/%s/cpumask", pmu->name);
	return unc_cpulist_read(out, root, path, NULL);
}

int unc_revive_cpu(const struct unc_root *root, const struct unc_topology *t,
		   const struct unc_counter *c)
{
	int socket = unc_topology_socket(t, c->cpu), heir = -1;
	struct unc_cpulist mask = {0};
	size_t heirs = 0, gone = 0;
	uint64_t type;

	/* A driver that was removed and came back has a new type, and its old one may be another PMU's. */
	if (unc_pmu_type_now(root, c->pmu, &type) < 0 || type != c->pmu->type ||
	    read_mask(root, c->pmu, &mask) < 0)
		return -1;
	if (unc_cpulist_has(&mask, c->cpu)) {
		unc_cpulist_finish(&mask);
		return c->cpu;
	}
	for (size_t i = 0; i < mask.count; i++) {
		if (unc_cpulist_has(&c->pmu->cpus, mask.ids[i]) || socket < 0 ||
		    unc_topology_socket(t, mask.ids[i]) != socket)
			continue;
		heir = mask.ids[i];
		heirs++;
	}
	for (size_t i = 0; i < c->pmu->cpus.count; i++)
		gone += unc_topology_socket(t, c->pmu->cpus.ids[i]) == socket &&
			!unc_cpulist_has(&mask, c->pmu->cpus.ids[i]);
	unc_cpulist_finish(&mask);
	return heirs == 1 && gone == 1 ? heir : -1;
}

static void close_all(const int *fds, size_t count, const struct unc_opener *o)
{
	for (size_t i = 0; i < count; i++)
		if (fds[i] >= 0)
			o->close(o->ctx, fds[i]);
}

int unc_revive_group(struct unc_groups *groups, struct unc_group *g,
		     const struct unc_counter *counters, int cpu, const struct unc_opener *o)
{
	size_t count = g->end - g->first;
	int *fds = malloc(count * sizeof(*fds));
	int leader = -1;

	if (!fds)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct unc_counter c = counters[g->first + i];

		fds[i] = -1;
		if (groups->fds[g->first + i] < 0)
			continue;
		c.cpu = cpu;
		fds[i] = o->open(o->ctx, &c, leader, g->modifiers);
		if (fds[i] < 0) {
			int err = fds[i];

			close_all(fds, i, o);
			free(fds);
			return err;
		}
		if (leader < 0)
			leader = fds[i];
	}
	close_all(groups->fds + g->first, count, o);
	for (size_t i = 0; i < count; i++)
		groups->fds[g->first + i] = fds[i];
	g->leader = leader;
	free(fds);
	return 0;
}
