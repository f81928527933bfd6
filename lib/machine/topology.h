/* SPDX-License-Identifier: MIT */
/* CPUs, sockets and NUMA nodes; what the machine is, and what this process may do on it; memory and
 * PCI devices. */
#ifndef UNC_TOPOLOGY_H
#define UNC_TOPOLOGY_H

#include "machine/root.h"
#include "uncore.h"

#define UNC_MODEL_ROOM 80
#define UNC_FIRST_CPU 16384 /* bytes of /proc/cpuinfo that contain the first CPU */

/* The command that brings a CPU back, for sentences. */
#define UNC_BRING_ONLINE "echo 1 | sudo tee /sys/devices/system/cpu/cpu%d/online"

struct unc_die {
	int package, id; /* the kernel's numbers; id -1: unknown */
	int socket, cpu; /* its socket, and its first CPU */
	int number;      /* the kernel's number over the whole machine (`dieN`); -1: unknown */
};

/* A socket of which no CPU is online. */
struct unc_offline_socket {
	int socket; /* -1: its number is unknown */
	int cpu;    /* one of its CPUs */
};

struct unc_topology {
	struct uncore_cpu *cpus; /* ascending by id */
	size_t cpu_count;
	int *sockets; /* sockets with CPUs online, ascending */
	size_t socket_count;
	struct unc_offline_socket *offline;
	size_t offline_count;
	/* The socket of an offline CPU is unknown, so there may be further sockets. */
	bool unplaced;
	bool unnumbered;      /* a CPU online has no socket, so the number of sockets is unknown */
	struct unc_die *dies; /* of the CPUs whose package is known */
	size_t die_count;
	char cpu_model[UNC_MODEL_ROOM]; /* "intel/6/143", "power/power9", or "unknown" */
	char cpu_names[2 * UNC_MODEL_ROOM +
		       /* The CPU model without and with stepping: "intel/6/143 intel/6/143/8". */
		       16];
	char cpu_brand[64];  /* "AMD EPYC 9654"; "" if unknown */
	int stepping;        /* of the CPU model; -1: unknown */
	char kernel[64];     /* "7.2.12-amd64"; "" if unknown */
	char firmware[64];   /* the version of the BIOS, "2.1.8"; "" if unknown */
	char hypervisor[32]; /* "KVM"; "" if none was found */
	/* The hypervisor in a part of a sentence, "this machine is a guest of ..."; or "". */
	char guest[128];
	struct unc_names faults; /* a sentence for each malformed list, which was not used */
};

/* Reads a file of the kernel with a list of CPUs, such as a cpumask. Returns -ENOENT without a
 * sentence if it does not exist, -EBADMSG if it cannot be read or is no list, -ENOMEM. */
int unc_cpulist_read(struct unc_cpulist *out, const struct unc_root *root, const char *path,
		     struct unc_error *e);

int unc_topology_read(struct unc_topology *out, const struct unc_root *root, struct unc_error *e);
void unc_topology_finish(struct unc_topology *t);
/* The CPU with this number; NULL if there is none. */
const struct uncore_cpu *unc_topology_cpu(const struct unc_topology *t, int id);
/* The socket of a CPU; -1: unknown. */
int unc_topology_socket(const struct unc_topology *t, int id);

/* ---- sockets.c: sockets and dies; compares the kernel's numbers while CPUs are offline ---- */

/* Sets `socket` of the CPUs, `sockets` and `offline`. Returns 0 or -ENOMEM. */
int unc_topology_find_sockets(struct unc_topology *t, const struct unc_root *root);
/* Sets `dies`, with their numbers if these are known without evidence. Returns 0 or -ENOMEM. */
int unc_topology_find_dies(struct unc_topology *t);

/* The socket of the CPUs of a NUMA node, with offline ones; -1: unknown, or several sockets. */
int unc_topology_node_socket(const struct unc_topology *t, int node);

/* Numbers the dies as the kernel does. `count`: the number of dies for which a driver has files, 0:
 * unknown. `cpus`: for each such die, a CPU that evidence from the files shows, or -1. NULL: there
 * is no evidence. Returns true if no evidence is needed. */
bool unc_topology_number_dies(struct unc_topology *t, size_t count, const int *cpus);
/* True if all dies have numbers. A die with any other number then has no CPU online. */
bool unc_topology_knows_dies(const struct unc_topology *t);
/* The kernel's number of the die of a CPU; -1: unknown. */
int unc_topology_die(const struct unc_topology *t, int id);
/* The number of a CPU's die in its package, from 0, as if all dies were online. */
int unc_topology_die_in_package(const struct unc_topology *t, int id);
/* True if both CPUs are in one die. */
bool unc_topology_same_die(const struct unc_topology *t, int a, int b);
/* The die with this number; NULL: unknown, or none of its CPUs is online. */
const struct unc_die *unc_topology_numbered_die(const struct unc_topology *t, int number);

/* ---- platform.c: the CPU model, the kernel's version, the hypervisor ---- */

/* Reads these facts. An unknown value is "unknown", "" or -1. Returns 0 or -ENOMEM. */
int unc_platform_read(struct unc_topology *t, const struct unc_root *root);

/* The beginnings of the lines of /proc/cpuinfo with the model, its stepping and its flags. */
#define UNC_CPUINFO_LINES 24
size_t unc_cpuinfo_lines(const char *cpuinfo, const char *lines[static UNC_CPUINFO_LINES]);

/* ---- whether this process may count for the whole machine, as far as /proc shows ---- */

struct unc_permission {
	bool level_known;       /* false: the file cannot be read */
	long level;             /* kernel.perf_event_paranoid */
	bool admin;             /* CAP_SYS_ADMIN is in effect */
	const char *held;       /* "CAP_PERFMON" or "CAP_SYS_ADMIN", in effect; NULL: neither */
	bool in_user_namespace; /* its capabilities do not apply to perf events */
	bool filtered;          /* a seccomp filter checks its system calls */
	bool before_perfmon;    /* Linux older than 5.8, which has no CAP_PERFMON */
	bool by_group;          /* members of a group may count: docs/adr/0028 */
};

/* Reads the facts. A file that cannot be read is treated as absent. */
void unc_permission_read(struct unc_permission *out, const struct unc_root *root);

/* True if counting is permitted as far as known. A filter or a security module may still refuse.
 * False if nothing is known. */
bool unc_permission_granted(const struct unc_permission *p);

/* True if only opening a counter shows whether counting is permitted. Levels above 2 exist only in
 * kernels of distributions, which differ: some accept CAP_PERFMON there, others (Debian's) only
 * CAP_SYS_ADMIN. */
bool unc_permission_doubtful(const struct unc_permission *p);

/* Appends the reason why counting for the whole machine fails or may fail, and the command that
 * changes it. Appends nothing if it should work. `refused`: the kernel has refused. */
void unc_permission_advise(const struct unc_permission *p, bool refused, struct unc_text *why,
			   struct unc_text *fix);

/* ---- memory.c: memory modules by the firmware's tables, and their peak ---- */

#define UNC_LOCATOR_ROOM 48

/* A slot for a memory module. */
struct unc_module {
	bool present;
	uint8_t kind;               /* SMBIOS memory type, 7.18.2 */
	unsigned width;             /* width of the data in bits; 0: unknown */
	unsigned rated, configured; /* as in the table, in MT/s or MHz; 0: unknown */
	char locator[UNC_LOCATOR_ROOM],
		bank[UNC_LOCATOR_ROOM]; /* the place of the slot: "CPU1_DIMM_A1", "NODE 0" */
};

struct unc_modules {
	struct unc_module *items;
	size_t count;
	size_t slots; /* number of slots according to the firmware; 0: unknown */
};

/* Reads the SMBIOS structure table (DSP0134, 7.17 and 7.18). Returns 0, -EBADMSG if it is broken,
 * or -ENOMEM. Fuzzed. */
int unc_modules_smbios(struct unc_modules *out, const uint8_t *data, size_t len,
		       struct unc_error *e);
/* Reads udev's record of the device dmi/id. dmi_memory_id(8) of systemd has put there a part of the
 * SMBIOS table, which only root may read. Overwrites the text. */
int unc_modules_udev(struct unc_modules *out, char *text, struct unc_error *e);
void unc_modules_finish(struct unc_modules *m);

/* The name of a memory type, such as "DDR5". */
const char *unc_module_kind(uint8_t kind);
/* False for ROM, persistent memory and others, which may be listed among the modules. */
bool unc_module_is_dram(uint8_t kind);

/* Computes the peak of one socket. `channel_pmus`: how many memory channels of a socket have a PMU;
 * 0: unknown. Returns -ENODATA if the peak is unknown, with the reason in the sentence. */
int unc_memory_peak(struct uncore_memory *out, const struct unc_modules *m, size_t sockets,
		    size_t channel_pmus, struct unc_error *e);

/* Computes the peak from the modules of this machine, or otherwise from the driver hsmp, which also
 * gives the memory in use. Returns 0, -ENODATA, -EBADMSG or -ENOMEM. */
int unc_memory_read(struct uncore_memory *out, const struct unc_root *root, size_t sockets,
		    size_t channel_pmus, struct unc_error *e);

/* ---- pci.c: PCI devices from sysfs, the bridges above them, and their links ---- */

struct unc_device {
	struct uncore_device shown; /* must be the first member: the pointer is cast */
	/* Domain (segment) << 16 | bus << 8 | device << 3 | function. Behind Intel's VMD the domain
	 * has more than 16 bits. */
	uint64_t address;
	const struct unc_device *
		/* The device whose driver made the segment; NULL: the firmware did, or it is
		 * unknown. */
		maker;
	struct unc_pci *pci;
	const struct uncore_pmu *const *pmus; /* for a root port: the PMUs that count it */
	size_t pmu_count;
};

struct unc_pci {
	const struct unc_root *root;
	const struct unc_topology *topology;
	struct unc_device *devices; /* ordered by address */
	size_t count;
	struct unc_error *error;  /* the machine's, for a lack of memory while a text is kept */
	struct unc_names strings; /* texts of the devices */
};

/* Reads the devices below sys/bus/pci/devices; it is no error if there are none. Returns -ENOMEM. A
 * lack of memory or descriptors is also kept in `error` and the root: then some facts are missing.
 * The devices point into `out`, which must stay in its place. */
int unc_pci_read(struct unc_pci *out, const struct unc_root *root, const struct unc_topology *t,
		 struct unc_error *error);
void unc_pci_finish(struct unc_pci *p);

/* Copies a text, which is freed with the devices; NULL: out of memory. */
const char *unc_pci_keep(struct unc_pci *p, const char *text);

/* Parses "0000:17:00.0". */
bool unc_pci_parse(const char *text, uint64_t *out);
/* Parses a root bus, "0000:3a": the address of its first device. */
bool unc_pci_parse_bus(const char *text, uint64_t *first);

/* The device with this address; NULL if there is none. */
const struct unc_device *unc_pci_device(const struct unc_pci *p, uint64_t address);

/* Reads the present speed and width of all links again, but of devices that sleep. */
void unc_pci_read_links(struct unc_pci *p);

/* Finds a device by its address ("0000:17:00.0", "17:00.0") or by one of the kernel's names
 * ("nvme0"). Returns -ENOENT, or -EINVAL if devices of two segments have this address. */
int unc_pci_find(const struct unc_pci *p, const char *name, const struct uncore_device **out,
		 struct unc_error *e);

static inline const struct unc_device *unc_device(const struct uncore_device *d)
{
	return (const struct unc_device *)d;
}

/* Reads at most the first `max` bytes of the config space. The kernel shows 64 of them to all
 * users, and the rest to root. */
#define UNC_PCI_CONFIG 4096
int unc_pci_config(const struct unc_device *d, size_t max, unsigned char **out, size_t *len);
/* The 32 bits at this byte of config space. */
uint32_t unc_pci_word(const unsigned char *at);
/* The offset of a capability in the `len` bytes of config space that could be read; 0 if there is
 * none. */
size_t unc_pci_capability(const unsigned char *config, size_t len, unsigned id);
/* The offset of a designated vendor-specific capability (DVSEC), and its length. */
size_t unc_pci_dvsec(const unsigned char *config, size_t len, unsigned vendor, unsigned id,
		     size_t *length);

#endif
