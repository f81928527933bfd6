/* SPDX-License-Identifier: MIT */
/* CPUs, sockets, NUMA nodes, and what machine this is. */
#ifndef UNC_TOPOLOGY_H
#define UNC_TOPOLOGY_H

#include "base/format.h"
#include "machine/root.h"
#include "uncore.h"

#define UNC_MODEL_ROOM 64
#define UNC_FIRST_CPU 16384 /* bytes of /proc/cpuinfo that hold the first CPU */

struct unc_die {
	int socket, id; /* id -1: not known */
};

struct unc_topology {
	struct uncore_cpu *cpus; /* ascending by id */
	size_t cpu_count;
	int *sockets; /* of online CPUs, ascending */
	size_t socket_count;
	size_t offline_sockets; /* further ones, all of whose CPUs are offline, */
	int offline_cpu;        /* and one of these */
	struct unc_die *dies;   /* in the order of the kernel's numbers */
	size_t die_count;
	char cpu_model[UNC_MODEL_ROOM]; /* "intel/6/143", or "unknown" */
	char cpu_names[2 * UNC_MODEL_ROOM +
		       16];  /* that, and with its stepping: "intel/6/143 intel/6/143/8" */
	int stepping;        /* of the CPU model; -1 when not known */
	char kernel[64];     /* "7.2.12-amd64"; "" when not known */
	char hypervisor[32]; /* "KVM"; "" when none is seen */
	char guest[128]; /* that as part of a sentence: "this machine is a guest of ..."; or "" */
};

/* A file of the kernel with a list of CPUs, such as a cpumask. -EBADMSG: malformed; -ENOENT, ...: it
 * cannot be read, and there is no sentence. */
int unc_cpulist_read(struct unc_cpulist *out, const struct unc_root *root, const char *path,
		     struct unc_error *e);

int unc_topology_read(struct unc_topology *out, const struct unc_root *root, struct unc_error *e);
void unc_topology_finish(struct unc_topology *t);
/* NULL: no such CPU. */
const struct uncore_cpu *unc_topology_cpu(const struct unc_topology *t, int id);
/* The socket of a CPU; -1 when not known. */
int unc_topology_socket(const struct unc_topology *t, int id);
/* The kernel numbers dies over the whole machine, in the order of packages and their dies. 0 for a
 * CPU whose die is not known. */
int unc_topology_die(const struct unc_topology *t, int id);
/* The socket of the die with that number; -1: there is none. */
int unc_topology_die_socket(const struct unc_topology *t, int die);

#endif
