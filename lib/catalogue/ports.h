/* SPDX-License-Identifier: MIT */
/* PMUs of PCIe and of links: the root ports that each counts, and the other ends of links. */
#ifndef UNC_PORTS_H
#define UNC_PORTS_H

#include "catalogue/catalogue.h"
#include "machine/pci.h"

/* ---- root buses of I/O stacks, as registers in PCI config space name them: root-buses.c ---- */

struct unc_root_bus {
	unsigned segment, bus, socket;
	unsigned number; /* of the CPU bus or stack, by which the map of a CPU model goes */
};

struct unc_root_buses {
	const struct unc_pci *pci;
	const struct unc_port_rule *rule; /* that they were read for; NULL: not read */
	struct unc_root_bus *items;
	size_t count;
	unsigned kind;        /* of die, where the rule asks for it */
	bool kept;            /* they are those of the file that root wrote */
	int error;            /* of reading them: 0, -EACCES, -ENODEV, -ENOMEM, */
	struct unc_error why; /* and its sentence; also that of the registers, when `kept` */
};

/* Where root keeps root buses for other users. */
#define UNC_ROOT_BUSES_DIR "var/lib/uncore"
#define UNC_ROOT_BUSES_FILE "root-buses.yaml"

/* Reads them for the machine's rule with registers, once. -ENODEV: they are not known; -ENOMEM. */
int unc_root_buses_read(struct unc_root_buses *b, const struct unc_port_rule *rule,
			struct unc_error *why);

/* The text of the file. */
void unc_root_buses_print(const struct unc_root_buses *b, struct unc_text *to);

/* ---- root ports ---- */

struct unc_port {
	const struct uncore_device *device;
	int index; /* in the PMU's filter; -1: none, it shares its PMU's number */
};

/* A PMU on one of its CPUs, and the root ports that it counts, by the `ports` of its data file. */
struct unc_port_instance {
	const struct uncore_pmu *pmu;
	int cpu, socket;
	const struct unc_port_rule *rule;
	const char *pattern;  /* that describes the PMU's name */
	uint64_t first, last; /* addresses of its root ports; DVSEC: unused */
	struct unc_port_numbers numbers;
	const char *doubt;      /* why they are uncertain; NULL: they are not */
	char *why;              /* they are not known; NULL */
	struct unc_port *ports; /* in the order of their addresses */
	size_t port_count;
};

struct unc_ports {
	struct unc_port_instance *instances; /* in the order of PMUs and CPUs */
	size_t instance_count;
	const struct uncore_pmu **pmus; /* of each root port, one after the other */
	size_t pmu_count;
	bool needs_root; /* some config space ended too early */
	struct unc_root_buses buses;
	struct unc_numbered_port *numbered;
};

/* Finds the PMUs of each root port, and the ports of each PMU. -ENOMEM. */
int unc_ports_load(struct unc_ports *out, struct unc_pci *pci, const struct unc_pmus *pmus);
void unc_ports_finish(struct unc_ports *p);

/* The root ports that a PMU counts when it is counted from `cpu`, in the order of their addresses;
 * borrowed. There may be none. -ENODEV: they are not known (`why` says why). */
int unc_ports_of(const struct unc_ports *p, const struct uncore_pmu *pmu, int cpu,
		 const struct unc_port **ports, size_t *count, struct unc_error *why);

/* A root port of which only the numbers are known that PMUs have for it: its address is
 * "SOCKET:RC:INDEX". The same one for the same numbers; NULL: out of memory. */
const struct uncore_device *unc_ports_numbered(struct unc_ports *p, uint64_t socket, uint64_t rc,
					       uint64_t index);

/* What is at the other end of the PMU's link; the text is kept by `pci`. -ENODEV: it is unknown. */
int unc_ports_peer(struct unc_pci *pci, const struct uncore_pmu *pmu, int cpu,
		   struct uncore_peer *out, struct unc_error *e);

#endif
