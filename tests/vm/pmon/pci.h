/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Devices that exist only in PCI configuration space. The first 256 MiB of the register window are
 * that space, 4 KiB for each function: the kernel reaches what is beyond 256 bytes there by memory
 * (ECAM: the model's ACPI table MCFG says where), and what is below by the ports CF8 and CFC.
 */
#ifndef RIG_PCI_H
#define RIG_PCI_H

#include "intel.h"

#define PCI_ECAM_SIZE (UINT64_C(256) << 20)
#define PCI_BDF(bus, device, function) ((uint32_t)((bus) << 8 | (device) << 3 | (function)))

/* Where the configuration space of a function begins in the window. */
uint64_t pci_config(uint32_t bdf);

/* A row of a model's table of devices, which ends with a row without an id. */
struct pci_device {
	uint8_t bus; /* of the socket: an index of its buses */
	uint8_t device, function;
	uint16_t id;
	const struct intel_type *type; /* of the box in it, or NULL */
	unsigned instance;
};

/*
 * Makes the devices of a socket. A device with functions must have function 0, or the kernel looks
 * no further.
 */
void pci_add(const struct pci_device *devices, const uint8_t *buses, unsigned socket);

/* Makes a device one of PCI Express, without which the kernel reads no more than 256 bytes of its space. */
void pci_express(uint32_t bdf);

/* A PCI Express root port with an empty bus below it. */
void pci_root_port(uint32_t bdf, uint8_t below);

/* Fills in 32 bits that the guest can read. */
void pci_set(uint32_t bdf, unsigned offset, uint32_t value);

/* Registers by which the driver learns the socket of a bus, and the two ends of a UPI link. */
void pci_ubox(uint32_t bdf, unsigned socket);
void pci_upi_link(uint32_t bdf, unsigned socket, unsigned link);

/* For struct pmon_model. Registers of PMON boxes can be written, nothing else. */
/* The guest's disk is behind a bridge of QEMU's on bus 0, which gets the looks of a root port. */
#define PCI_DISK_SLOT 3
void pci_disk_port(void);

bool pci_read(uint32_t bdf, unsigned offset, unsigned size, uint32_t *value);
bool pci_write(uint32_t bdf, unsigned offset, unsigned size, uint32_t value);

/* A model with registers in MSRs, in configuration space and in the window. */
#define PCI_MODEL_ACCESS                                                    \
	.wrmsr = intel_wrmsr, .pci_read = pci_read, .pci_write = pci_write, \
	.window_load = intel_window_load, .window_store = intel_window_store

#endif
