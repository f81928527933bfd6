/* SPDX-License-Identifier: MIT */
/* PCI devices in text: names, links, the devices below a root port. */
#ifndef CLI_DEVICES_H
#define CLI_DEVICES_H

#include <stdbool.h>

#include "base/buffer.h"
#include "uncore.h"

/* "Mellanox ConnectX-6 Dx": the names of vendor and device in pci.ids, shortened; NULL: not
 * known. */
const char *device_name(const struct uncore_device *d);

#define LINK_ROOM 64 /* enough for link_text() */

/* "16 GT/s x16", as negotiated; "no link" without lanes, "?" when it is not known. */
void link_text(char *into, size_t size, const struct uncore_device *port);

/* The same, and the most that the port supports when that is more: "8 GT/s x4 of 16 GT/s x16", "no
 * link, up to 16 GT/s x16". */
void link_of_text(char *into, size_t size, const struct uncore_device *port);

/* "0001:01:00.0 nvme0 Samsung PM9A3 (nvme)": address, the kernel's names, device_name(), the
 * driver. */
void device_text(struct buffer *to, const struct uncore_device *d);

/* Whether the place of a row is a device that counts itself, or one whose driver has a PMU for
 * it. */
bool devices_is_device(const struct uncore_row_place *place);

/* Whether the place of a row is the root port, or a PMU that counts it with others. */
bool devices_port_counted(const struct uncore_row_place *place, const struct uncore_device *port);

/* The devices below a port, separated by "; ". When there are many, the text ends with the number
 * of the others. */
void devices_below(struct buffer *to, const struct uncore *u, const struct uncore_device *port);

#endif
