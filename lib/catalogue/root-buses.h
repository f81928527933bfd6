/* SPDX-License-Identifier: MIT */
/* Root buses of I/O stacks, as registers in PCI config space name them. */
#ifndef UNC_ROOT_BUSES_H
#define UNC_ROOT_BUSES_H

#include "catalogue/catalogue.h"
#include "machine/pci.h"

struct unc_root_bus {
	unsigned segment, bus, socket;
	unsigned number; /* of the CPU bus or stack, by which the map of a CPU model goes */
};

struct unc_root_buses {
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
int unc_root_buses_read(struct unc_root_buses *b, const struct unc_pci *pci, const char *cpu_model,
			const struct unc_port_rule *rule, struct unc_error *why);

/* The text of the file. */
void unc_root_buses_print(const struct unc_root_buses *b, const struct unc_pci *pci,
			  const char *cpu_model, struct unc_text *to);

#endif
