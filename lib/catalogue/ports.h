/* SPDX-License-Identifier: MIT */
/* Which PCIe root ports a PMU counts, by the `ports` of its data file. */
#ifndef UNC_PORTS_H
#define UNC_PORTS_H

#include "catalogue/catalogue.h"
#include "machine/pci.h"

struct unc_port {
	const struct uncore_device *device;
	int index; /* in the PMU's filter; -1: none, it shares its PMU's number */
};

/* The root ports that a PMU counts when it is counted from `cpu`, in the order of their addresses;
 * borrowed until the next scan. There may be none. -ENODEV: they are not known (`why` says why).
 * -ENOMEM. */
int unc_ports_of(struct uncore *u, const struct uncore_pmu *pmu, int cpu,
		 const struct unc_port **ports, size_t *count, struct unc_error *why);

/* A root port of which only the numbers are known that PMUs have for it: its address is
 * "SOCKET:RC:INDEX". The same one for the same numbers until the next scan; NULL: out of memory. */
const struct uncore_device *unc_ports_numbered(struct uncore *u, uint64_t socket, uint64_t rc,
					       uint64_t index);

/* The file of a PMU that is called `name`, with the die's number for {die}. */
void unc_die_file(struct unc_text *to, const char *name, int die);

/* A PMU on one of its CPUs, and how it says what it counts. */
struct unc_place {
	const struct uncore_pmu *pmu;
	int cpu, socket;
	const struct unc_port_rule *rule;
	const char *pattern;  /* that describes the PMU's name */
	uint64_t first, last; /* addresses (unc_pci_number) of its root ports; DVSEC: unused */
	char *why;            /* they are not known; NULL */
	size_t first_port, port_count;
};

struct unc_found {
	size_t place;
	struct unc_port port;
};

/* Stands for a root port whose address is not known. */
struct unc_numbered {
	struct unc_numbered *next;
	struct unc_device device;
	uint64_t numbers[3]; /* socket, root complex, port */
	char address[64];
};

struct unc_ports {
	struct unc_place *places; /* in the order of PMUs and CPUs */
	size_t place_count;
	struct unc_found *found; /* in the order of the ports' addresses, then of places */
	size_t found_count, room;
	struct unc_port *ports;         /* the same in the order of places */
	const struct uncore_pmu **pmus; /* of each port one after the other */
	bool needs_root;                /* some config space ended too early */
	struct unc_numbered *numbered;
};

/* What can be told of the machine's devices is read once. -ENOMEM. */
int unc_ports_load(struct uncore *u);
void unc_ports_finish(struct unc_ports *p);

#endif
