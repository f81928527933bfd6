/* SPDX-License-Identifier: MIT */
/* CPUs, sockets, NUMA nodes; what machine this is, and what this process may do on it; its memory and PCI
 * devices. */
#ifndef UNC_TOPOLOGY_H
#define UNC_TOPOLOGY_H

#include "machine/root.h"
#include "uncore.h"

#define UNC_MODEL_ROOM 80
#define UNC_FIRST_CPU 16384 /* bytes of /proc/cpuinfo that hold the first CPU */

struct unc_die {
	int package, id; /* the kernel's; id -1: not known */
	int socket, cpu; /* its socket, and its first CPU */
	int number;      /* the kernel's over the whole machine (`dieN`); -1: not known */
};

/* A socket without online CPU. */
struct unc_offline_socket {
	int socket; /* -1: its number is not known */
	int cpu;    /* one of its CPUs */
};

struct unc_topology {
	struct uncore_cpu *cpus; /* ascending by id */
	size_t cpu_count;
	int *sockets; /* of online CPUs, ascending */
	size_t socket_count;
	struct unc_offline_socket *offline;
	size_t offline_count;
	bool unplaced; /* the socket of an offline CPU is not known: there may be further sockets */
	bool unnumbered;      /* a CPU online has no socket, so that their number is not known */
	struct unc_die *dies; /* of the CPUs whose package is known */
	size_t die_count;
	char cpu_model[UNC_MODEL_ROOM]; /* "intel/6/143", "power/power9", or "unknown" */
	char cpu_names[2 * UNC_MODEL_ROOM +
		       16];  /* that, and with its stepping: "intel/6/143 intel/6/143/8" */
	int stepping;        /* of the CPU model; -1 when not known */
	char kernel[64];     /* "7.2.12-amd64"; "" when not known */
	char hypervisor[32]; /* "KVM"; "" when none is seen */
	char guest[128]; /* that as part of a sentence: "this machine is a guest of ..."; or "" */
	struct unc_names faults; /* a sentence for each list that is malformed and was not used */
};

/* A file of the kernel with a list of CPUs, such as a cpumask. -ENOENT: there is none, and no sentence;
 * -EBADMSG: it cannot be read, or is no list; -ENOMEM. */
int unc_cpulist_read(struct unc_cpulist *out, const struct unc_root *root, const char *path,
		     struct unc_error *e);

int unc_topology_read(struct unc_topology *out, const struct unc_root *root, struct unc_error *e);
void unc_topology_finish(struct unc_topology *t);
/* NULL: no such CPU. */
const struct uncore_cpu *unc_topology_cpu(const struct unc_topology *t, int id);
/* The socket of a CPU; -1 when not known. */
int unc_topology_socket(const struct unc_topology *t, int id);

/* ---- sockets.c: sockets and dies; what the kernel numbers is compared with other numbers of the kernel through
 * these only, since some of it may be offline ---- */

/* Sets `socket` of CPUs, `sockets` and `offline`. -ENOMEM. */
int unc_topology_find_sockets(struct unc_topology *t, const struct unc_root *root);
/* Sets `dies`, and their numbers as far as they are known without evidence. -ENOMEM. */
int unc_topology_find_dies(struct unc_topology *t);

/* The socket of a NUMA node's CPUs, offline ones included; -1: not known, or several. */
int unc_topology_node_socket(const struct unc_topology *t, int node);

/* Numbers the dies as the kernel does. `count`: dies that a driver has files for, 0: not known. `cpus`: of each, a CPU
 * by evidence of the files, or -1; NULL: there is no evidence. True: no evidence is needed. */
bool unc_topology_number_dies(struct unc_topology *t, size_t count, const int *cpus);
/* True when all dies have numbers, so that a die with another number has no CPU online. */
bool unc_topology_knows_dies(const struct unc_topology *t);
/* The kernel's number of the die of a CPU; -1: not known. */
int unc_topology_die(const struct unc_topology *t, int id);
/* The number of the die of a CPU in its package, from 0 on, as if all dies were online. */
int unc_topology_die_in_package(const struct unc_topology *t, int id);
/* NULL: not known, or none of its CPUs is online. */
const struct unc_die *unc_topology_numbered_die(const struct unc_topology *t, int number);

/* ---- platform.c: the CPU model, the kernel's version, the hypervisor ---- */

/* -ENOMEM. An unknown value is "unknown", "" or -1. */
int unc_platform_read(struct unc_topology *t, const struct unc_root *root);

/* The lines of /proc/cpuinfo that the model, its stepping and its flags are read from: their beginnings. */
#define UNC_CPUINFO_LINES 24
size_t unc_cpuinfo_lines(const char *cpuinfo, const char *lines[static UNC_CPUINFO_LINES]);

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

/* ---- memory.c: memory modules as the firmware describes them, and how much they can transfer ---- */

#define UNC_LOCATOR_ROOM 48

/* One slot for a memory module. */
struct unc_module {
	bool present;
	uint8_t kind;               /* memory type of SMBIOS, 7.18.2 */
	unsigned width;             /* of the data, in bits; 0: not known */
	unsigned rated, configured; /* as the firmware has them, in MT/s or MHz; 0: not known */
	char locator[UNC_LOCATOR_ROOM],
		bank[UNC_LOCATOR_ROOM]; /* where the slot is: "CPU1_DIMM_A1", "NODE 0" */
};

struct unc_modules {
	struct unc_module *items;
	size_t count;
	size_t slots; /* that the firmware says there are; 0: not known */
};

/* From the SMBIOS structure table (DSP0134, 7.17 and 7.18). -EBADMSG: broken; -ENOMEM. Fuzzed. */
int unc_modules_smbios(struct unc_modules *out, const uint8_t *data, size_t len,
		       struct unc_error *e);
/* From udev's record of the device dmi/id, where dmi_memory_id(8) of systemd has put what it reads of
 * the SMBIOS table, which only root may read. Overwrites the text. */
int unc_modules_udev(struct unc_modules *out, char *text, struct unc_error *e);
void unc_modules_finish(struct unc_modules *m);

/* "DDR5" */
const char *unc_module_kind(uint8_t kind);
/* False for ROM, persistent memory and the like, which may be listed among the modules. */
bool unc_module_is_dram(uint8_t kind);

/* The peak of one socket. `channel_pmus`: memory channels of a socket that have a PMU each; 0: not
 * known. -ENODATA: the peak is not known, and the sentence gives the reason. */
int unc_memory_peak(struct uncore_memory *out, const struct unc_modules *m, size_t sockets,
		    size_t channel_pmus, struct unc_error *e);

/* The same of the modules of this machine, or else of the driver hsmp. -ENODATA, -EBADMSG, -ENOMEM; the memory used is
 * read then, too. */
int unc_memory_read(struct uncore_memory *out, const struct unc_root *root, size_t sockets,
		    size_t channel_pmus, struct unc_error *e);

/* ---- pci.c: PCI devices from sysfs: what they are, which bridge they are below, and their links ---- */

struct unc_device {
	struct uncore_device shown; /* first: a pointer to it is a pointer to this */
	/* Its number: domain (segment) << 16 | bus << 8 | device << 3 | function. The domain has more than 16
	 * bits behind Intel's VMD. */
	uint64_t address;
	const struct unc_device *
		maker; /* whose driver made the segment; NULL: the firmware did, or it is not known */
	struct unc_pci *pci;
	const struct uncore_pmu *const *pmus; /* of a root port: the PMUs that count it */
	size_t pmu_count;
};

struct unc_pci {
	const struct unc_root *root;
	const struct unc_topology *topology;
	struct unc_device *devices; /* ordered by address */
	size_t count;
	struct unc_error *error;  /* of the machine, for lack of memory while something is kept */
	struct unc_names strings; /* texts that the devices point to */
};

/* Devices below sys/bus/pci/devices; none at all is no error. -ENOMEM; or `error` and the root are exhausted, and
 * something is missing. Devices point into `out`, so that it must stay where it is. */
int unc_pci_read(struct unc_pci *out, const struct unc_root *root, const struct unc_topology *t,
		 struct unc_error *error);
void unc_pci_finish(struct unc_pci *p);

/* A copy that lives as long as the devices; NULL: out of memory. */
const char *unc_pci_keep(struct unc_pci *p, const char *text);

/* "0000:17:00.0", "17:00.0" (*has_domain is false then). */
bool unc_pci_parse(const char *text, uint64_t *out, bool *has_domain);

/* NULL: there is none with this address. */
const struct unc_device *unc_pci_device(const struct unc_pci *p, uint64_t address);

/* By address ("0000:17:00.0", "17:00.0") or by one of the kernel's names ("nvme0"). -ENOENT; -EINVAL:
 * devices of two segments have this address. */
int unc_pci_find(const struct unc_pci *p, const char *name, const struct uncore_device **out,
		 struct unc_error *e);

static inline const struct unc_device *unc_device(const struct uncore_device *d)
{
	return (const struct unc_device *)d;
}

/* At most the first `max` bytes of the config space. The kernel shows 64 of them to all users, and
 * the rest to root. */
#define UNC_PCI_CONFIG 4096
int unc_pci_config(const struct unc_device *d, size_t max, unsigned char **out, size_t *len);
/* The 32 bits at a byte of config space. */
uint32_t unc_pci_word(const unsigned char *at);
/* Offset of a capability of config space, of which `len` bytes could be read; 0: it has none. */
size_t unc_pci_capability(const unsigned char *config, size_t len, unsigned id);
/* Offset of a vendor's own capability (DVSEC), and its length. */
size_t unc_pci_dvsec(const unsigned char *config, size_t len, unsigned vendor, unsigned id,
		     size_t *length);

#endif
