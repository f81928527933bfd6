/* SPDX-License-Identifier: MIT */
/* Capabilities in the config space of a PCI device. */
#include "machine/pci.h"

#define FIRST_EXTENDED 0x100

/* Lists of capabilities may be loops: no more of them fit than that. */
#define MOST_CAPABILITIES 48 /* of 4 bytes from 0x40 to 0x100 */
#define MOST_EXTENDED 480    /* of 8 bytes from 0x100 to 0x1000 */

static unsigned word16(const unsigned char *at)
{
	return (unsigned)(at[0] | at[1] << 8);
}

static uint32_t word32(const unsigned char *at)
{
	return word16(at) | (uint32_t)word16(at + 2) << 16;
}

/* The list begins at the byte of 0x34; bit 4 of the status register (6) says that there is one.
 * Each has its id in byte 0 and the next one's offset in byte 1. */
size_t unc_pci_capability(const unsigned char *config, size_t len, unsigned id)
{
	size_t at;

	if (len < 0x40 || !(config[6] & 0x10))
		return 0;
	at = config[0x34] & ~3U;
	for (int i = 0; i < MOST_CAPABILITIES && at >= 0x40 && at + 2 <= len; i++) {
		if (config[at] == id)
			return at;
		at = config[at + 1] & ~3U;
	}
	return 0;
}

/*
 * PCI Express Base Specification 5.0: extended capabilities begin at 0x100 with a header of id
 * (15:0), version and next offset (31:20), 7.6.3; the designated vendor-specific one has the id
 * 0x23, in header 1 at 4 the vendor (15:0) and its length (31:20), in header 2 at 8 the vendor's id
 * of it (15:0), 7.9.6. The same in linux include/uapi/linux/pci_regs.h, PCI_DVSEC_HEADER1 and 2.
 */
size_t unc_pci_dvsec(const unsigned char *config, size_t len, unsigned vendor, unsigned id,
		     size_t *length)
{
	size_t at = FIRST_EXTENDED;

	for (int i = 0; i < MOST_EXTENDED && at >= FIRST_EXTENDED && at + 10 <= len; i++) {
		uint32_t header = word32(config + at);

		if ((header & 0xffff) == 0x23 && word16(config + at + 4) == vendor &&
		    word16(config + at + 8) == id) {
			*length = word32(config + at + 4) >> 20;
			return at;
		}
		at = header >> 20 & ~3U;
	}
	return 0;
}
