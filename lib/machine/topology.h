/* SPDX-License-Identifier: MIT */
/* CPUs, sockets, NUMA nodes; what machine this is, and what this process may do on it. */
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

/* ---- whether this process may count for the whole machine, as far as /proc shows ---- */

struct unc_permission {
	bool level_known;       /* false: the file cannot be read here */
	long level;             /* kernel.perf_event_paranoid */
	bool admin;             /* CAP_SYS_ADMIN is in effect */
	const char *held;       /* "CAP_PERFMON" or "CAP_SYS_ADMIN", in effect; NULL: neither */
	bool in_user_namespace; /* whose capabilities do not reach perf events */
	bool filtered;          /* a seccomp filter checks its system calls */
	bool before_perfmon;    /* Linux older than 5.8, which has no CAP_PERFMON */
};

/* What cannot be read is taken as absent. */
void unc_permission_read(struct unc_permission *out, const struct unc_root *root);

/* False also when nothing is known. True is no promise: a filter or a security module may refuse. */
bool unc_permission_granted(const struct unc_permission *p);

/* Levels above 2 are distributions' own, and their kernels differ: some accept CAP_PERFMON there,
 * others (Debian's) CAP_SYS_ADMIN only. True when that decides: only opening a counter
 * shows it. */
bool unc_permission_doubtful(const struct unc_permission *p);

/* The reason why counting for the whole machine fails or may fail, and the command that changes it;
 * nothing where it should work. `refused`: the kernel has refused. */
void unc_permission_advise(const struct unc_permission *p, bool refused, struct unc_text *why,
			   struct unc_text *fix);

#endif
