/* SPDX-License-Identifier: MIT */
/* Root buses of I/O stacks, as registers in PCI config space name them. */
#ifndef UNC_ROOT_BUSES_H
#define UNC_ROOT_BUSES_H

#include "catalogue/catalogue.h"
#include "machine/pci.h"

struct unc_root_bus {
	uint64_t first; /* address of its device 0 */
	int package;
	unsigned number; /* of the CPU bus or stack, by which the map of a CPU model goes */
};

struct unc_root_buses {
	const struct unc_port_rule *rule; /* that they were read for; NULL: not read */
	struct unc_root_bus *items;
	size_t count;
	unsigned kind;        /* of die, where the rule asks for it */
	int error;            /* of reading them: 0, -ENODEV, -ENOMEM, */
	struct unc_error why; /* and its sentence */
};

/* Reads them for a rule with registers, once. -ENODEV: they are not known; -ENOMEM. */
int unc_root_buses_read(struct unc_root_buses *b, const struct unc_pci *pci,
			const struct unc_port_rule *rule, struct unc_error *why);

#endif
