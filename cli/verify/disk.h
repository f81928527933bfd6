/* SPDX-License-Identifier: MIT */
/* The PCI devices that move the data of a block device. */
#ifndef CLI_VERIFY_DISK_H
#define CLI_VERIFY_DISK_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define DISK_MOST 16
#define DISK_WHY 160

struct disk {
	char name[64];                 /* of the block device: nvme0n1p2 */
	char path[PATH_MAX];           /* its directory in sysfs */
	size_t parts;                  /* the number of its disks: above 1 for RAID */
	char addresses[DISK_MOST][32]; /* their PCI devices, each once */
	size_t count;
};

/* Finds the disks of the block device with these numbers, through partitions, device-mapper, md and
 * NVMe multipath. `sys` is the mount point of sysfs. False: `why` has the reason. */
bool disk_find(struct disk *into, const char *sys, unsigned major, unsigned minor,
	       char why[DISK_WHY]);

/* Bytes read or written so far, by the kernel's count; negative: unknown. */
double disk_moved(const struct disk *d, bool written);

#endif
