/* SPDX-License-Identifier: MIT */
/* From the numbers of a block device to PCI devices, by the links of sysfs. */
#include "verify/disk.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output/buffer.h"

#define DEEPEST 8 /* of device-mapper on md on ... */
#define SECTOR 512.0

/* "0000:3b:00.0", and VMD's domains have five digits. */
static bool is_address(const char *name, size_t len)
{
	size_t domain = strcspn(name, ":");

	if (len < 12 || domain + 8 != len || domain < 4)
		return false;
	for (size_t i = 0; i < len; i++) {
		const char *separator = i == domain || i == domain + 3 ? ":"
					: i == domain + 6              ? "."
								       : "0123456789abcdef";

		if (!strchr(separator, name[i]))
			return false;
	}
	return true;
}

/* The last PCI device in `path`, which is the disk's own. */
static bool find_address(const char *path, char *into, size_t room)
{
	bool found = false;

	for (const char *at = path; (at = strchr(at, '/')); at++) {
		const size_t len = strcspn(at + 1, "/");

		if (len >= room || !is_address(at + 1, len))
			continue;
		memcpy(into, at + 1, len);
		into[len] = '\0';
		found = true;
	}
	return found;
}

/* Further addresses may be dropped when the array is full: it is then known that there are
 * several. */
static void add_address(struct disk *d, const char *address)
{
	for (size_t i = 0; i < d->count; i++)
		if (strcmp(d->addresses[i], address) == 0)
			return;
	if (d->count < DISK_MOST)
		snprintf(d->addresses[d->count++], sizeof(d->addresses[0]), "%s", address);
}

static const char *name_of(const char *path)
{
	return strrchr(path, '/') + 1;
}

/* True for nvme0, a controller, and not for nvme0n1. */
static bool is_controller(const char *name)
{
	size_t digits = strncmp(name, "nvme", 4) == 0 ? strspn(name + 4, "0123456789") : 0;

	return digits && !name[4 + digits];
}

/* A multipath disk is not in the directory of a PCI device; its controllers are in the directory of
 * its subsystem. */
static bool add_controllers(struct disk *d, const char *path)
{
	char subsystem[PATH_MAX], link[PATH_MAX + 256], *controller, address[32];
	const struct dirent *entry;
	bool found = false;
	DIR *dir;

	snprintf(subsystem, sizeof(subsystem), "%.*s", (int)(name_of(path) - 1 - path), path);
	dir = opendir(subsystem);
	while (dir && (entry = readdir(dir))) {
		if (!is_controller(entry->d_name))
			continue;
		snprintf(link, sizeof(link), "%s/%s", subsystem, entry->d_name);
		controller = realpath(link, NULL);
		if (controller && find_address(controller, address, sizeof(address))) {
			add_address(d, address);
			found = true;
		}
		free(controller);
	}
	if (dir)
		closedir(dir);
	return found;
}

static bool add_disk(struct disk *d, char *path, unsigned depth, char why[DISK_WHY]);

/* Adds the disks below a device of device-mapper or md. Returns their number, or -1. */
static int add_slaves(struct disk *d, const char *path, unsigned depth, char why[DISK_WHY])
{
	char slaves[PATH_MAX + 8], link[PATH_MAX + 512], *slave;
	const struct dirent *entry;
	int count = 0;
	DIR *dir;

	snprintf(slaves, sizeof(slaves), "%s/slaves", path);
	dir = opendir(slaves);
	while (count >= 0 && dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(link, sizeof(link), "%s/%s", slaves, entry->d_name);
		slave = realpath(link, NULL);
		count = slave && add_disk(d, slave, depth + 1, why) ? count + 1 : -1;
		free(slave);
	}
	if (dir)
		closedir(dir);
	return count;
}

static bool add_disk(struct disk *d, char *path, unsigned depth, char why[DISK_WHY])
{
	char file[PATH_MAX + 16], address[32];
	int slaves;

	snprintf(file, sizeof(file), "%s/partition", path);
	if (access(file, F_OK) == 0)
		*strrchr(path, '/') = '\0';
	slaves = depth < DEEPEST ? add_slaves(d, path, depth, why) : 0;
	if (slaves)
		return slaves > 0;
	d->parts++;
	if (find_address(path, address, sizeof(address))) {
		add_address(d, address);
		return true;
	}
	if (strstr(path, "/nvme-subsystem/") && add_controllers(d, path))
		return true;
	snprintf(why, DISK_WHY, "%s belongs to no PCI device: no counter of PCIe counts its data",
		 name_of(path));
	return false;
}

bool disk_find(struct disk *into, const char *sys, unsigned major, unsigned minor,
	       char why[DISK_WHY])
{
	char link[PATH_MAX], *path;
	bool found;

	*into = (struct disk){.count = 0};
	snprintf(link, sizeof(link), "%s/dev/block/%u:%u", sys, major, minor);
	path = realpath(link, NULL);
	if (!path) {
		snprintf(why, DISK_WHY, "the kernel has no block device for it (%u:%u)", major,
			 minor);
		return false;
	}
	snprintf(into->path, sizeof(into->path), "%s", path);
	snprintf(into->name, sizeof(into->name), "%s", name_of(path));
	found = add_disk(into, path, 0, why);
	free(path);
	return found;
}

double disk_moved(const struct disk *d, bool written)
{
	/* The fields: requests, merged requests, sectors, milliseconds, of reads and then of
	 * writes. */
	const unsigned field = written ? 6 : 2;
	struct buffer text = {0};
	const char *at = buffer_read(&text, "%s/stat", d->path) ? "" : buffer_text(&text);
	double sectors = -1;

	for (unsigned i = 0; *at; i++) {
		at += strspn(at, " \n");
		if (i == field && isdigit((unsigned char)*at))
			sectors = strtod(at, NULL);
		at += strcspn(at, " \n");
	}
	buffer_free(&text);
	return sectors < 0 ? -1 : sectors * SECTOR;
}
