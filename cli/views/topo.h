/* SPDX-License-Identifier: MIT */
/* What the two forms of `uncore topo` share: which PMUs and root ports belong together. */
#ifndef CLI_TOPO_H
#define CLI_TOPO_H

#include "uncore.h"
#include "views/pmus.h"

/* The socket of a CPU; -1: not known. */
int topo_socket(const struct uncore *u, int cpu);

/* The first CPU of the socket from which the PMU is counted; -1: it is not counted there. */
int topo_cpu(const struct uncore *u, const struct uncore_pmu *pmu, int socket);

/* Ascending CPUs, and NUMA nodes, of a socket; the caller's to free. */
int *topo_cpus(const struct uncore *u, int socket, size_t *count);
int *topo_nodes(const struct uncore *u, int socket, size_t *count);

/* A PMU that stands for a memory channel or controller. */
bool topo_is_memory(const struct uncore_pmu *pmu);
/* A PMU whose family has such metrics: "link.*". */
bool topo_is_about(const struct uncore *u, const struct uncore_pmu *pmu, const char *pattern);

/* The PMUs of a socket of which `is` holds. */
void topo_select(struct pmus *p, const struct uncore *u, int socket,
		 bool (*is)(const struct uncore *u, const struct uncore_pmu *pmu));
bool topo_counts_memory(const struct uncore *u, const struct uncore_pmu *pmu);
bool topo_counts_link(const struct uncore *u, const struct uncore_pmu *pmu);

/* Segment and bus of a device, from its address. */
unsigned topo_segment(const struct uncore_device *d);
unsigned topo_bus(const struct uncore_device *d);

/* Root ports that the same PMUs count as one root complex, or that are on one root bus where nothing
 * tells root complexes. */
bool topo_same_complex(const struct uncore_device *a, const struct uncore_device *b);

void topo_text(struct uncore *u, struct buffer *to);
void topo_json(struct uncore *u, struct buffer *to);

#endif
