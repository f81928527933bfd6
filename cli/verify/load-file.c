/* SPDX-License-Identifier: MIT */
/* The data of a device: the file or block device whose data are moved, and its place in the
 * machine. A device that was named is never opened for writing: what is written is a file without a
 * name, which the kernel removes however this process ends. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/fiemap.h>
#include <linux/fs.h>

#include "base/table.h"
#include "verify/measure.h"

#define PIECE ((size_t)1 << 20)    /* of a transfer */
#define UNIT ((size_t)1 << 20)     /* a quarter of it is a multiple of ALIGNED */
#define ALIGNED ((size_t)64 << 10) /* the largest alignment that a disk may require */
#define LEAST ((size_t)16 << 20)   /* of the largest amount of a series */
#define MOST_READ ((size_t)512 << 20)
#define MOST_WRITTEN ((size_t)128 << 20) /* limited, since flash wears out */
/* The amounts that a series moves at most: 3 x (1/4 + 1/2 + 1), and one to find the amount. */
#define ROUNDS_MOST 6.25
#define OWN_LEAST (4 * MIB)
#define OWN_MOST (256 * MIB)
#define FREE_PART 4 /* the part of the free space for a temporary file */

/* Linux 6.1; not in all headers. */
#ifndef STATX_DIOALIGN
#define STATX_DIOALIGN 0x2000u
#endif
#define DEEPEST 8 /* of device-mapper on md on ... */
#define SECTOR 512.0

/* ---- the disks of a block device, by the links of sysfs ---- */

/* Adds the last PCI device in `path`, which is the disk's own: "0000:3b:00.0"; VMD's domains have
 * five digits. Further ones may be dropped when the array is full: several are known then. Returns
 * false if the path has no PCI device. */
static bool add_address(struct disk *d, const char *path)
{
	char address[sizeof(d->addresses[0])] = "";
	size_t i = 0;

	for (const char *at = path; (at = strchr(at, '/')); at++) {
		const size_t len = strcspn(at + 1, "/");
		int end = 0;

		sscanf(at + 1, "%*5[0-9a-f]:%*2[0-9a-f]:%*2[0-9a-f].%*1[0-9a-f]%n", &end);
		if (len >= 12 && (size_t)end == len)
			snprintf(address, sizeof(address), "%.*s", (int)len, at + 1);
	}
	while (i < d->count && strcmp(d->addresses[i], address) != 0)
		i++;
	if (*address && i == d->count && i < DISK_MOST)
		memcpy(d->addresses[d->count++], address, sizeof(address));
	return *address;
}

static const char *name_of(const char *path)
{
	return strrchr(path, '/') + 1;
}

/* A multipath disk is not in the directory of a PCI device; its controllers (nvme0, and not
 * nvme0n1) are in the directory of its subsystem. */
static bool add_controllers(struct disk *d, const char *path)
{
	char pattern[PATH_MAX];
	bool found = false;
	glob_t g;

	snprintf(pattern, sizeof(pattern), "%.*s/nvme*", (int)(name_of(path) - 1 - path), path);
	if (glob(pattern, 0, NULL, &g))
		return false;
	for (size_t i = 0; i < g.gl_pathc; i++) {
		const char *digits = name_of(g.gl_pathv[i]) + strlen("nvme");
		auto_free char *controller = digits[strspn(digits, "0123456789")] || !*digits
						     ? NULL
						     : realpath(g.gl_pathv[i], NULL);

		found = (controller && add_address(d, controller)) || found;
	}
	globfree(&g);
	return found;
}

static bool add_disk(struct disk *d, char *path, unsigned depth, char why[DISK_WHY]);

/* Adds the disks below a device of device-mapper or md. Returns their number, or -1. */
static int add_slaves(struct disk *d, const char *path, unsigned depth, char why[DISK_WHY])
{
	char pattern[PATH_MAX + 16];
	int count = 0;
	glob_t g;

	snprintf(pattern, sizeof(pattern), "%s/slaves/*", path);
	if (glob(pattern, 0, NULL, &g))
		return 0;
	for (size_t i = 0; count >= 0 && i < g.gl_pathc; i++) {
		auto_free char *slave = realpath(g.gl_pathv[i], NULL);

		count = slave && add_disk(d, slave, depth + 1, why) ? count + 1 : -1;
	}
	globfree(&g);
	return count;
}

static bool add_disk(struct disk *d, char *path, unsigned depth, char why[DISK_WHY])
{
	char file[PATH_MAX + 16];
	int slaves;

	snprintf(file, sizeof(file), "%s/partition", path);
	if (access(file, F_OK) == 0)
		*strrchr(path, '/') = '\0';
	slaves = depth < DEEPEST ? add_slaves(d, path, depth, why) : 0;
	if (slaves)
		return slaves > 0;
	d->parts++;
	if (add_address(d, path) || (strstr(path, "/nvme-subsystem/") && add_controllers(d, path)))
		return true;
	snprintf(why, DISK_WHY, "%s belongs to no PCI device: no counter of PCIe counts its data",
		 name_of(path));
	return false;
}

bool disk_find(struct disk *into, const char *sys, unsigned major, unsigned minor,
	       char why[DISK_WHY])
{
	auto_free char *path = NULL;
	char link[PATH_MAX];

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
	return add_disk(into, path, 0, why);
}

double disk_moved(const struct disk *d, bool written)
{
	auto_buffer text = {0};
	double sectors = -1;

	/* Requests, merged requests, sectors and milliseconds of reads, and then of writes. */
	if (buffer_read(&text, "%s/stat", d->path) == 0)
		sscanf(buffer_text(&text), written ? "%*s %*s %*s %*s %*s %*s %lf" : "%*s %*s %lf",
		       &sectors);
	return sectors < 0 ? -1 : sectors * SECTOR;
}

/* ---- the file ---- */

__attribute__((format(printf, 3, 4))) static int refuse(int status, const struct device *d,
							const char *fmt, ...)
{
	auto_buffer why = {0};
	va_list args;

	va_start(args, fmt);
	buffer_vprintf(&why, fmt, args);
	va_end(args);
	cli_error("--%s %s: %s",
		  d->load == VERIFY_GPU_READ    ? "gpu"
		  : d->load == VERIFY_FILE_READ ? "read"
						: "write",
		  d->path, why.data);
	return status;
}

/* The name of a file system whose files are not on a block device. */
static const char *kind_of_fs(const struct device *d)
{
	static const struct {
		unsigned long magic;
		const char *name;
	} known[] = {
		{0x01021994, "tmpfs"}, {0x858458f6, "ramfs"},    {0x794c7630, "overlayfs"},
		{0x9123683e, "btrfs"}, {0x6969, "NFS"},          {0x65735546, "FUSE"},
		{0x01021997, "9p"},    {0x2fc12fc1, "ZFS"},      {0xff534d42, "CIFS"},
		{0xfe534d42, "SMB"},   {0xca451a4e, "bcachefs"},
	};
	struct statfs fs;

	if (fstatfs(d->fd, &fs))
		return NULL;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].magic == ((unsigned long)fs.f_type & 0xffffffff))
			return known[i].name;
	return NULL;
}

/* Some file systems accept O_DIRECT and still use the page cache; statx() reports these. */
static int check_direct(const struct device *d)
{
	/* struct statx of older headers ends before these. */
	union {
		struct statx s;
		uint32_t words[64];
	} x = {.words = {0}};
	const unsigned at = 0x98 / 4;

	if (statx(d->fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &x.s) ||
	    !(x.s.stx_mask & STATX_DIOALIGN))
		return CLI_OK;
	if (!x.words[at] || !x.words[at + 1])
		return refuse(CLI_UNAVAILABLE, d, "this file does not support O_DIRECT");
	if (x.words[at] <= ALIGNED && x.words[at + 1] <= ALIGNED)
		return CLI_OK;
	return refuse(CLI_UNAVAILABLE, d,
		      "O_DIRECT needs pieces of %u bytes here, but verify uses %zu",
		      x.words[at + 1], ALIGNED);
}

/* Refuses files with holes, compressed or inline parts: the device does not move these bytes when
 * they are read. */
static int check_extents(const struct device *d)
{
	enum { MOST = 64 };
	const uint32_t bad = FIEMAP_EXTENT_UNWRITTEN | FIEMAP_EXTENT_ENCODED |
			     FIEMAP_EXTENT_DATA_INLINE | FIEMAP_EXTENT_DATA_TAIL |
			     FIEMAP_EXTENT_DELALLOC;
	auto_free struct fiemap *map =
		cli_realloc(NULL, 1, sizeof(*map) + MOST * sizeof(struct fiemap_extent));
	uint64_t at = 0;
	bool whole = true;

	while (whole && at < d->size) {
		memset(map, 0, sizeof(*map));
		map->fm_start = at;
		map->fm_length = d->size - at;
		map->fm_extent_count = MOST;
		map->fm_flags = FIEMAP_FLAG_SYNC; /* allocates blocks for data that have none yet */
		/* Some file systems do not support this. */
		if (ioctl(d->fd, FS_IOC_FIEMAP, map))
			break;
		for (uint32_t i = 0; whole && i < map->fm_mapped_extents; i++) {
			const struct fiemap_extent *e = &map->fm_extents[i];

			whole = e->fe_logical <= at && !(e->fe_flags & bad);
			at = e->fe_logical + e->fe_length;
		}
		whole = whole && map->fm_mapped_extents;
	}
	return whole ? CLI_OK
		     : refuse(CLI_UNAVAILABLE, d,
			      "the file has holes or compressed parts: name another one");
}

static int open_error(const struct device *d)
{
	if (errno == EINVAL || errno == EOPNOTSUPP)
		return refuse(CLI_UNAVAILABLE, d,
			      d->load == VERIFY_FILE_READ
				      ? "its file system does not support O_DIRECT"
				      : "its file system does not support O_TMPFILE or O_DIRECT");
	return refuse(cli_exit_code(-errno), d, "%s", strerror(errno));
}

/* Checks the type before opening, since opening alone has effects on some devices. */
static int open_read(struct device *d)
{
	struct stat st;
	uint64_t bytes = 0;

	if (stat(d->path, &st))
		return open_error(d);
	if (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode))
		return refuse(CLI_USAGE, d, "neither a file nor a block device");
	d->fd = open(d->path, O_RDONLY | O_DIRECT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (d->fd < 0)
		return open_error(d);
	if (fstat(d->fd, &st) || (S_ISBLK(st.st_mode) && ioctl(d->fd, BLKGETSIZE64, &bytes)))
		return open_error(d);
	d->size = (S_ISBLK(st.st_mode) ? bytes : (uint64_t)st.st_size) / PIECE * PIECE;
	if (!d->size)
		return refuse(CLI_UNAVAILABLE, d, "less than 1 MiB: name a larger file");
	return S_ISREG(st.st_mode) ? check_extents(d) : CLI_OK;
}

static int open_write(struct device *d)
{
	struct statvfs fs;
	struct stat st;
	uint64_t room;

	if (stat(d->path, &st))
		return open_error(d);
	if (!S_ISDIR(st.st_mode))
		return refuse(CLI_USAGE, d,
			      "not a directory: verify writes only to a temporary file that it "
			      "makes itself");
	d->fd = open(d->path, O_TMPFILE | O_RDWR | O_DIRECT | O_CLOEXEC, 0600);
	if (d->fd < 0 || fstatvfs(d->fd, &fs))
		return open_error(d);
	room = (uint64_t)fs.f_bavail * fs.f_frsize / FREE_PART;
	d->size = (room < OWN_MOST ? room : OWN_MOST) / PIECE * PIECE;
	return d->size >= OWN_LEAST ? CLI_OK
				    : refuse(CLI_UNAVAILABLE, d, "less than 16 MiB are free there");
}

/* ---- its place in the machine ---- */

/* All disks below it must be behind one root port. The socket is that of the device, of its root
 * port, or the only one. */
static int find_pci(struct verify *v, struct device *d)
{
	struct uncore *u = v->cli->u;
	const struct node *found = NULL;

	for (size_t i = 0; i < d->disk.count; i++) {
		const struct uncore_device *pci;
		int err = uncore_device_find(u, d->disk.addresses[i], &pci);

		if (err)
			return cli_fail(v->cli, err);
		if (d->pci && d->port != pci->port)
			return refuse(CLI_UNAVAILABLE, d,
				      "%s is on disks behind several root ports (%s, %s): it is "
				      "unknown which data pass which one",
				      d->disk.name, d->port ? d->port->address : "none",
				      pci->port ? pci->port->address : "none");
		d->pci = d->pci ? d->pci : pci;
		d->port = pci->port;
	}
	if (!d->pci)
		return refuse(CLI_UNAVAILABLE, d, "it is on no PCI device");
	d->socket = d->pci->socket;
	if (d->socket < 0 && d->port)
		d->socket = d->port->socket;
	if (d->socket < 0 && uncore_socket_count(u) == 1)
		d->socket = uncore_socket_at(u, 0);
	for (size_t i = 0; i < v->node_count; i++)
		if (v->nodes[i].socket == d->socket && (!found || v->nodes[i].id == d->pci->node))
			found = &v->nodes[i];
	d->node = found ? found->id : -1;
	return found ? CLI_OK
		     : refuse(CLI_UNAVAILABLE, d,
			      "the socket of its device is unknown, or has no CPU here");
}

static void announce(const struct verify *v, const struct device *d)
{
	const double passes = (double)uncore_monitor_round_count(v->monitor);
	const bool read = d->load == VERIFY_FILE_READ;
	const double of_pass = read ? ROUNDS_MOST * (double)MOST_READ
				    : ROUNDS_MOST * (double)MOST_WRITTEN + (double)d->size;
	const struct uncore_device *port = d->port;

	cli_error("verify %s %s (%s%s, at most %s in all",
		  read ? "reads" : "writes a temporary file in", d->path,
		  human_in((double)d->size, "B", UNITS_IEC).text,
		  read ? ") repeatedly" : ", removed at the end)",
		  human_in(passes * of_pass, "B", UNITS_IEC).text);
	cli_error("it is on %s: device %s, %s%s, socket %d", d->disk.name, d->pci->address,
		  port ? "root port " : "without a root port", port ? port->address : "",
		  d->socket);
	if (port && !uncore_device_pmu_count(port))
		cli_error("note: the PMU that counts root port %s is unknown%s%s", port->address,
			  port->unknown ? ": " : "", port->unknown ? port->unknown : "");
}

static int open_one(struct verify *v, enum verify_load load, const char *path)
{
	struct device *d = &v->devices[v->device_count++];
	char why[DISK_WHY];
	struct stat st;
	dev_t dev;
	int status;

	*d = (struct device){.load = load, .path = path, .fd = -1};
	status = load == VERIFY_FILE_READ ? open_read(d) : open_write(d);
	if (status)
		return status;
	if (fstat(d->fd, &st))
		return open_error(d);
	dev = S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev;
	if (!disk_find(&d->disk, "/sys", major(dev), minor(dev), why)) {
		const char *fs = kind_of_fs(d);

		return refuse(CLI_UNAVAILABLE, d, "%s%s%s%s", why, fs ? "; it is on " : "",
			      fs ? fs : "",
			      fs ? ": name a file or block device of another one" : "");
	}
	if (d->disk.parts > 1 && load == VERIFY_FILE_WRITE)
		return refuse(CLI_UNAVAILABLE, d,
			      "it is on several disks, which may write more data than the file "
			      "has (RAID)");
	status = find_pci(v, d);
	if (!status)
		status = check_direct(d);
	if (!status)
		announce(v, d);
	return status;
}

/* ---- GPUs ---- */

#define NVIDIA 0x10de
#define AMD 0x1002
#define DISPLAY 0x03 /* classes of PCI */
#define ACCELERATOR 0x12
#define GPU_MEMORY (512 * MIB) /* larger than the caches of a GPU */
#define GPU_LEAST (128 * MIB)
#define GPU_PATIENCE (30 * NS_PER_S)

static bool is_gpu(const struct uncore_device *d)
{
	return (d->vendor == NVIDIA || d->vendor == AMD) &&
	       (d->class_code >> 16 == DISPLAY || d->class_code >> 16 == ACCELERATOR);
}

/* Starts its process. Of a GPU that cannot be used only a note is printed. */
static int open_gpu(struct verify *v, const char *name)
{
	struct device *d = &v->devices[v->device_count];
	uint64_t room;
	size_t size;
	int status;

	*d = (struct device){.load = VERIFY_GPU_READ, .path = name, .fd = -1, .disk.count = 1};
	snprintf(d->disk.addresses[0], sizeof(d->disk.addresses[0]), "%s", name);
	status = find_pci(v, d);
	if (status)
		return status;
	if (!is_gpu(d->pci))
		return refuse(CLI_USAGE, d, "not a GPU of NVIDIA or AMD");
	d->path = d->pci->address;
	room = node_free(d->node) / FREE_PART;
	room = v->o->memory && v->o->memory < room ? v->o->memory : room;
	size = (size_t)(room < GPU_MEMORY ? room / GPU_LEAST * GPU_LEAST : GPU_MEMORY);
	if (size < GPU_LEAST ||
	    !gpu_prepare(&d->gpu, d->path, d->pci->vendor == AMD, d->node, size, GPU_PATIENCE)) {
		cli_error("note: --gpu %s: %s: its counters are not judged", d->path,
			  size < GPU_LEAST ? "less than 512 MiB of memory are free" : d->gpu.why);
		v->left_out = true;
		return CLI_OK;
	}
	v->device_count++;
	cli_error("verify copies data to, from and within GPU %s (%s%s, socket %d), with %s of "
		  "memory and twice as much of the GPU: it slows down other programs there",
		  d->path, d->port ? "root port " : "without a root port",
		  d->port ? d->port->address : "", d->socket,
		  human_in((double)size, "B", UNITS_IEC).text);
	return CLI_OK;
}

static int open_gpus(struct verify *v)
{
	struct uncore *u = v->cli->u;
	const bool all = strcmp(v->o->gpus, "all") == 0;
	auto_free char *list = cli_copy(all ? NULL : v->o->gpus);
	char *rest = list, *name;
	int status = CLI_OK;

	for (size_t i = 0; all && !status && i < uncore_device_count(u); i++)
		if (is_gpu(uncore_device_at(u, i)))
			status = open_gpu(v, uncore_device_at(u, i)->address);
	while (!status && (name = strsep(&rest, ",")))
		status = open_gpu(v, name);
	return status;
}

int devices_open(struct verify *v)
{
	const size_t gpus = v->o->gpus ? uncore_device_count(v->cli->u) + strlen(v->o->gpus) : 0;
	int status = CLI_OK;

	v->devices = cli_realloc(NULL, 2 + gpus, sizeof(*v->devices));
	if (v->o->read)
		status = open_one(v, VERIFY_FILE_READ, v->o->read);
	if (v->o->write && !status)
		status = open_one(v, VERIFY_FILE_WRITE, v->o->write);
	if (v->o->gpus && v->loads & VERIFY_GPU_LOADS && !status)
		status = open_gpus(v);
	return status;
}

void devices_close(struct verify *v)
{
	for (size_t i = 0; i < v->device_count; i++) {
		gpu_close(&v->devices[i].gpu);
		if (v->devices[i].fd >= 0)
			close(v->devices[i].fd);
	}
	free(v->devices);
}

/* ---- transfers ---- */

/* A short transfer is continued where it ended. */
static int transfer(void *context, size_t bytes, int stop_fd)
{
	struct device *d = context;
	const bool read = d->load == VERIFY_FILE_READ;

	while (bytes) {
		const size_t ring = (size_t)(d->done % DEVICE_MEMORY);
		size_t piece = bytes < PIECE ? bytes : PIECE;
		ssize_t n;

		piece = piece < d->size - d->at ? piece : (size_t)(d->size - d->at);
		piece = piece < DEVICE_MEMORY - ring ? piece : DEVICE_MEMORY - ring;
		if (verify_stopped(stop_fd))
			return -EINTR;
		n = read ? pread(d->fd, d->memory + ring, piece, (off_t)d->at)
			 : pwrite(d->fd, d->memory + ring, piece, (off_t)d->at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		bytes -= (size_t)n;
		d->done += (uint64_t)n;
		d->at = (d->at + (uint64_t)n) % d->size;
	}
	return 0;
}

int device_fill(struct device *d, int stop_fd)
{
	/* Random data, since a disk might compress others. */
	for (size_t at = 0; at < DEVICE_MEMORY;) {
		ssize_t n = getrandom(d->memory + at, DEVICE_MEMORY - at, 0);

		if (n < 0 && errno != EINTR)
			return -errno;
		at += n > 0 ? (size_t)n : 0;
	}
	return transfer(d, d->size, stop_fd);
}

struct verify_work device_begin(struct device *d)
{
	d->at = d->done = 0;
	d->before = disk_moved(&d->disk, d->load == VERIFY_FILE_WRITE);
	return (struct verify_work){.context = d,
				    .run = transfer,
				    .unit = UNIT,
				    .least = LEAST,
				    .most = d->load == VERIFY_FILE_READ ? MOST_READ : MOST_WRITTEN};
}

double device_end(const struct device *d)
{
	double now = disk_moved(&d->disk, d->load == VERIFY_FILE_WRITE);

	/* The count of a disk without accounting does not change. */
	return d->before >= 0 && now > d->before && d->done ? (now - d->before) / (double)d->done
							    : 0;
}
