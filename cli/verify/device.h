/* SPDX-License-Identifier: MIT */
/* Data of a file with O_DIRECT: its device writes memory when the file is read, and reads memory
 * when it is written. */
#ifndef CLI_VERIFY_DEVICE_H
#define CLI_VERIFY_DEVICE_H

#include "verify/disk.h"
#include "verify/run.h"

#define DEVICE_MEMORY (2 * MIB) /* used as a ring */

struct device {
	enum verify_load load;
	const char
		*path; /* of the option: a file or block device; a directory for a temporary file */
	int fd;        /* -1: none */
	uint64_t size; /* the used bytes */
	struct disk disk;
	const struct uncore_device *pci,
		*port; /* of the first of several disks; port NULL: a device of the chip */
	int socket, node;
	uint64_t at, done; /* offset of the next transfer; bytes so far */
	double before;     /* bytes of the disk when the series began; negative: unknown */
	char *memory;      /* DEVICE_MEMORY, to be set */
};

/* Opens the files of --read and --write, checks that they support O_DIRECT, and finds their
 * devices. Prints errors. Returns an exit code. */
int devices_open(struct verify *v);
void devices_close(struct verify *v);

/* Writes the whole temporary file, so that later writes change it in place. -EINTR: `stop_fd` is
 * readable. */
int device_fill(struct device *d, char *memory, int stop_fd);
/* Before and after a series. */
struct verify_work device_begin(struct device *d, char *memory);
/* Bytes that the disk moved for each byte of the file; 0: unknown. */
double device_end(const struct device *d);

#endif
