/* SPDX-License-Identifier: MIT */
/* Data of a file, past the page cache: a device writes memory when it is read, and reads memory when it is written. */
#ifndef CLI_VERIFY_DEVICE_H
#define CLI_VERIFY_DEVICE_H

#include "verify/disk.h"
#include "verify/run.h"

#define DEVICE_MEMORY (2 * MIB) /* where its data go round */

struct device {
	enum verify_load load;
	const char
		*path; /* as it was named: a file or a block device; a directory for an own file */
	int fd;        /* -1: none */
	uint64_t size; /* of what is used */
	struct disk disk;
	const struct uncore_device *pci,
		*port; /* the first of several; port NULL: it is on the chip */
	int socket, node;
	uint64_t at, done; /* the place of the next transfer; bytes so far */
	double before;     /* bytes of the disk when the series began; negative: not known */
	char *memory;      /* DEVICE_MEMORY, to be set */
};

/* Finds what was asked for, checks that its data can pass the page cache, and makes the own file. Errors are printed.
 * An exit code. */
int devices_open(struct verify *v);
void devices_close(struct verify *v);

/* Writes all of the own file, so that what follows changes it in place. -EINTR: `stop_fd` is readable. */
int device_fill(struct device *d, char *memory, int stop_fd);
/* Before and after a series. */
struct verify_work device_begin(struct device *d, char *memory);
double device_end(const struct device *d); /* of each byte, what the disk moved; 0: not known */

#endif
