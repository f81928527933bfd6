/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Devices that exist only in PCI configuration space. */
#include "pci.h"

#include <string.h>

#define PCI_VENDOR 0x00
#define PCI_COMMAND 0x04
#define PCI_CLASS 0x08
#define PCI_HEADER 0x0c
#define PCI_BUSES 0x18
#define PCI_IO_WINDOW 0x1c
#define PCI_MEMORY_WINDOW 0x20
#define PCI_PREFETCH_WINDOW 0x24
#define PCI_CAPABILITIES 0x34
#define PCI_CONFIG_SIZE 4096

#define CPUNODEID 0xc0
#define GIDNIDMAP 0xd4
#define KTILP0 0x94
#define KTIPCSTS 0x120

#define GIDNIDMAP_IDENTITY 076543210u /* node n is physical package n */
#define LINK_TRAINED (1u << 4)

#define VENDOR_INTEL 0x8086
#define CLASS_SYSTEM_PERIPHERAL 0x08800000u
#define MULTIFUNCTION 0x00800000u

/* The one capability of a device begins at 0x40. */
#define CAPABILITIES_AT 0x40
#define EXPRESS_INTEGRATED \
	0x00920010u /* id 0x10, no next one, version 2, type 9: of the root complex */

/* The device ID of a PCI Express root port. */
#define ROOT_PORT_ID 0x2030u
#define CLASS_BRIDGE 0x06040000u
#define HEADER_BRIDGE 0x00010000u
#define STATUS_CAPABILITIES 0x00100000u
#define EXPRESS_ROOT_PORT 0x00420010u /* id 0x10, no next one, version 2, type 4 */
#define LINK_CAPABILITIES 0x4c
#define LINK_STATUS 0x50
#define LINK_8GT_X16 0x103u
#define NO_IO 0x000000f0u     /* the base above the limit */
#define NO_MEMORY 0x0000fff0u /* the same */

uint64_t pci_config(uint32_t bdf)
{
	return (uint64_t)bdf * PCI_CONFIG_SIZE;
}

static void *at(uint32_t bdf, unsigned offset)
{
	return (char *)pmon_window + pci_config(bdf) + offset;
}

void pci_set(uint32_t bdf, unsigned offset, uint32_t value)
{
	memcpy(at(bdf, offset), &value, sizeof(value));
}

void pci_add(const struct pci_device *devices, const uint8_t *buses, unsigned socket)
{
	for (const struct pci_device *d = devices; d->id; d++) {
		uint32_t bdf = PCI_BDF(buses[d->bus], d->device, d->function);

		pci_set(bdf, PCI_VENDOR, (uint32_t)d->id << 16 | VENDOR_INTEL);
		pci_set(bdf, PCI_CLASS, CLASS_SYSTEM_PERIPHERAL);
		pci_set(bdf, PCI_HEADER, MULTIFUNCTION);
		if (d->type)
			intel_window_add(d->type, socket, d->instance, pci_config(bdf));
	}
}

void pci_express(uint32_t bdf)
{
	pci_set(bdf, PCI_COMMAND, STATUS_CAPABILITIES);
	pci_set(bdf, PCI_CAPABILITIES, CAPABILITIES_AT);
	pci_set(bdf, CAPABILITIES_AT, EXPRESS_INTEGRATED);
}

void pci_root_port(uint32_t bdf, uint8_t below)
{
	pci_set(bdf, PCI_VENDOR, ROOT_PORT_ID << 16 | VENDOR_INTEL);
	pci_express(bdf);
	pci_set(bdf, PCI_CLASS, CLASS_BRIDGE);
	pci_set(bdf, PCI_HEADER, HEADER_BRIDGE);
	pci_set(bdf, PCI_BUSES, (uint32_t)below << 16 | (uint32_t)below << 8 | bdf >> 8);
	pci_set(bdf, PCI_IO_WINDOW, NO_IO);
	pci_set(bdf, PCI_MEMORY_WINDOW, NO_MEMORY);
	pci_set(bdf, PCI_PREFETCH_WINDOW, NO_MEMORY);
	pci_set(bdf, CAPABILITIES_AT, EXPRESS_ROOT_PORT);
	pci_set(bdf, LINK_CAPABILITIES, LINK_8GT_X16);
	pci_set(bdf, LINK_STATUS, LINK_8GT_X16 << 16);
}

void pci_ubox(uint32_t bdf, unsigned socket)
{
	pci_set(bdf, CPUNODEID, socket);
	pci_set(bdf, GIDNIDMAP, GIDNIDMAP_IDENTITY);
}

/* Every link goes to the same link of the other socket; with one socket there is none. */
void pci_upi_link(uint32_t bdf, unsigned socket, unsigned link)
{
	if (pmon_config.sockets != 2)
		return;
	pci_set(bdf, KTIPCSTS, LINK_TRAINED);
	pci_set(bdf, KTILP0, (1 - socket) << 16 | link << 8);
}

/* Its capabilities are behind QEMU's own, which are not in the list then. */
#define DISK_BDF PCI_BDF(0, PCI_DISK_SLOT, 0)
#define DISK_CAPABILITIES_AT 0xc0
#define DISK_CAPABILITIES_END 0x100

static bool has_disk;

void pci_disk_port(void)
{
	const unsigned moved = DISK_CAPABILITIES_AT - CAPABILITIES_AT;

	has_disk = true;
	pci_set(DISK_BDF, PCI_CAPABILITIES, DISK_CAPABILITIES_AT);
	pci_set(DISK_BDF, DISK_CAPABILITIES_AT, EXPRESS_ROOT_PORT);
	pci_set(DISK_BDF, LINK_CAPABILITIES + moved, LINK_8GT_X16);
	pci_set(DISK_BDF, LINK_STATUS + moved, LINK_8GT_X16 << 16);
}

static bool is_of_disk_port(uint32_t bdf, unsigned offset)
{
	return has_disk && bdf == DISK_BDF &&
	       ((offset >= PCI_CAPABILITIES && offset < PCI_CAPABILITIES + 4) ||
		(offset >= DISK_CAPABILITIES_AT && offset < DISK_CAPABILITIES_END));
}

static bool exists(uint32_t bdf)
{
	uint32_t id;

	memcpy(&id, at(bdf, PCI_VENDOR), sizeof(id));
	return id;
}

bool pci_read(uint32_t bdf, unsigned offset, unsigned size, uint32_t *value)
{
	if (!exists(bdf) && !is_of_disk_port(bdf, offset))
		return false;
	intel_window_load(pci_config(bdf) + offset, size);
	*value = 0;
	memcpy(value, at(bdf, offset), size);
	return true;
}

bool pci_write(uint32_t bdf, unsigned offset, unsigned size, uint32_t value)
{
	if (!exists(bdf))
		return is_of_disk_port(bdf, offset);
	if (intel_window_is_register(pci_config(bdf) + offset)) {
		memcpy(at(bdf, offset), &value, size);
		intel_window_store(pci_config(bdf) + offset, size);
	}
	return true;
}
