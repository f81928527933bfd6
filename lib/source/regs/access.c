/* SPDX-License-Identifier: MIT */
/* Registers: memory that is mapped, PCI configuration space, and MSRs. */
#define _GNU_SOURCE
#include "source/regs/access.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define PATH_ROOM 4200

static int explain(const struct unc_regs *r, const char *path, int err, struct unc_error *e)
{
	unc_fail(e, err, "%s: %s cannot be opened: %s", r->name, path, unc_errno_text(err));
	if (err == EACCES)
		unc_error_append(e, "; registers are read by root");
	else if (err == EPERM)
		unc_error_append(e,
				 "; a locked-down kernel (secure boot) forbids it, even to root");
	else if (err == ENOENT && r->space == UNC_SPACE_MSR)
		unc_error_append(e, "; its module makes it: modprobe msr");
	return err == ENOENT || err == ENXIO ? -ENODEV : -err;
}

static int too_short(const struct unc_regs *r, const char *path, uint64_t has, struct unc_error *e)
{
	return unc_fail(e, ENODEV,
			"%s: %s has %llu bytes from there, and the block needs %llu: this is "
			"another device, or its description is wrong",
			r->name, path, (unsigned long long)has, (unsigned long long)r->size);
}

/* Only the first 64 bytes of configuration space are there for those without CAP_SYS_ADMIN: the others
 * get nothing, and no error. Asked of the last byte, which hardly ever is a register. */
static bool is_cut_off(const struct unc_regs_io *io, const struct unc_regs_device *d,
		       const struct stat *st)
{
	char byte;

	return io->regs->space == UNC_SPACE_PCI && !io->plain && d->offset + io->regs->size > 64 &&
	       pread(io->fd, &byte, 1, st->st_size - 1) == 0;
}

/* Nothing clears a register of a plain file when it is read. One that is mapped is exchanged for 0 in
 * its place; two halves are no one place. */
static int check_plain(const struct unc_regs *r, const char *path, bool write, struct unc_error *e)
{
	bool split = false;

	for (size_t i = 0; i < r->count; i++)
		split = split || r->counters[i].split;
	if (r->window != UNC_WINDOW_CLEAR)
		return 0;
	/* A slip of the pen in at= must not cost anybody a file. */
	if (r->where && !write)
		return unc_fail(e, EACCES,
				"%s: %s is a plain file, and reading would set bytes of it to 0: "
				"that is done with --program only, or when the 'map' of the "
				"description names the file",
				r->name, path);
	if (r->space == UNC_SPACE_MMIO && !split)
		return 0;
	return unc_fail(e, EINVAL,
			"%s: %s is a plain file, where reading clears nothing, and only a register "
			"of memory in one piece can be cleared instead%s: read the device itself",
			r->name, path, split ? ", not 'low' and 'high'" : "");
}

/* Pages are mapped whole, and a device may begin within one. */
static int map_device(struct unc_regs_io *io, const struct unc_regs_device *d, bool write,
		      struct unc_error *e)
{
	uint64_t skip = d->offset % (uint64_t)sysconf(_SC_PAGESIZE);
	int protection = write ? PROT_READ | PROT_WRITE : PROT_READ;
	void *map = mmap(NULL, io->regs->size + skip, protection, MAP_SHARED, io->fd,
			 (off_t)(d->offset - skip));

	if (map == MAP_FAILED)
		return unc_fail(e, errno == EINVAL ? ENODEV : errno, "%s: %s cannot be mapped: %s",
				io->regs->name, d->path, unc_errno_text(errno));
	io->map = map;
	io->mapped = io->regs->size + skip;
	io->base += skip;
	return 0;
}

/* Reading that clears changes registers, and a lock for that is for those who may write. */
static int access_mode(const struct unc_regs *r, bool write)
{
	return write || r->window == UNC_WINDOW_CLEAR ? O_RDWR : O_RDONLY;
}

static int no_registers(const struct unc_regs *r, const char *path, struct unc_error *e)
{
	return unc_fail(e, EINVAL, "%s: %s is neither a file nor a device with registers", r->name,
			path);
}

static int open_device(struct unc_regs_io *io, const struct unc_root *root,
		       const struct unc_regs_device *d, bool write, struct unc_error *e)
{
	const struct unc_regs *r = io->regs;
	struct statfs fs;
	struct stat st;
	int err;

	/* Opening a pipe would wait for who writes to it. */
	io->fd = unc_root_open_file(root, d->path, access_mode(r, write) | O_SYNC | O_NONBLOCK);
	if (io->fd < 0)
		return explain(r, d->path, -io->fd, e);
	if (fstat(io->fd, &st) < 0 || fstatfs(io->fd, &fs) < 0)
		return explain(r, d->path, errno, e);
	if (!S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode))
		return no_registers(r, d->path, e);
	io->plain = S_ISREG(st.st_mode) && fs.f_type != SYSFS_MAGIC;
	err = io->plain ? check_plain(r, d->path, write, e) : 0;
	if (err < 0)
		return err;
	if (S_ISREG(st.st_mode)) {
		uint64_t has = (uint64_t)st.st_size;

		has = has > d->offset ? has - d->offset : 0;
		io->end = d->offset + r->size;
		if (has < r->size)
			return too_short(r, d->path, has, e);
		if (is_cut_off(io, d, &st))
			return unc_fail(e, EACCES,
					"%s: %s shows its first 64 bytes only; those behind are "
					"read by root",
					r->name, d->path);
	} else if (d->length && d->length < r->size) {
		return too_short(r, d->path, d->length, e);
	}
	io->place = io->base + d->offset;
	if (r->space == UNC_SPACE_MMIO)
		return map_device(io, d, write || (io->plain && r->window == UNC_WINDOW_CLEAR), e);
	io->base += d->offset;
	return 0;
}

static int open_msr(struct unc_regs_io *io, const struct unc_root *root, int cpu, bool write,
		    struct unc_error *e)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "dev/cpu/%d/msr", cpu);
	io->place = io->base;
	io->fd = unc_root_open_file(root, path, access_mode(io->regs, write) | O_NONBLOCK);
	if (io->fd < 0)
		return explain(io->regs, path, -io->fd, e);
	if (fstat(io->fd, &st) < 0)
		return explain(io->regs, path, errno, e);
	if (!S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode))
		return no_registers(io->regs, path, e);
	return S_ISREG(st.st_mode) ? check_plain(io->regs, path, write, e) : 0;
}

int unc_regs_io_open(struct unc_regs_io *io, const struct unc_regs *r, const struct unc_root *root,
		     const struct unc_counter *counter, bool write, struct unc_error *e)
{
	size_t unit = counter->pmu->unit;
	const struct unc_regs_device *d = &r->devices[unit / r->instances];
	int err;

	/* Else there is nothing to write. */
	write = write && (r->control_count || r->select.at || r->window == UNC_WINDOW_CLEAR);
	*io = (struct unc_regs_io){.regs = r, .fd = -1, .base = unit % r->instances * r->stride};
	if (r->space == UNC_SPACE_MSR)
		err = open_msr(io, root, counter->cpu, write, e);
	else
		err = open_device(io, root, d, write, e);
	if (err < 0)
		unc_regs_io_close(io);
	return err;
}

void unc_regs_io_close(struct unc_regs_io *io)
{
	if (io->map)
		munmap(io->map, io->mapped);
	if (io->fd >= 0)
		close(io->fd);
	io->map = NULL;
	io->fd = -1;
}

/* Locks are the descriptor's, so that boxes of one device, each with its own, have their own, and go
 * with it, however the process ends. */
int unc_regs_io_claim(const struct unc_regs_io *io, uint64_t offset)
{
	struct flock lock = {.l_type = F_WRLCK,
			     .l_whence = SEEK_SET,
			     .l_start = (off_t)(io->place + offset),
			     .l_len = io->regs->space == UNC_SPACE_MSR ? 1 : io->regs->bytes};

	if (fcntl(io->fd, F_OFD_SETLK, &lock) == 0)
		return 0;
	return errno == EAGAIN || errno == EACCES ? -EBUSY : 0;
}

/* A load from a map that is gone is a signal and no error, so it is asked for before. A file of /sys
 * answers a read with ENODEV once its device is removed, whatever it answers before. */
int unc_regs_io_check(const struct unc_regs_io *io)
{
	struct stat st;
	char byte;

	if (!io->end || !io->map)
		return 0;
	if (io->plain)
		return fstat(io->fd, &st) < 0 || (uint64_t)st.st_size < io->end ? -ENODEV : 0;
	return pread(io->fd, &byte, 1, 0) < 0 && errno == ENODEV ? -ENODEV : 0;
}

int unc_regs_io_load(const struct unc_regs_io *io, uint64_t offset, uint64_t *value)
{
	unsigned bytes = io->regs->bytes;
	uint64_t raw64 = 0;
	uint32_t raw32 = 0;
	ssize_t got;

	if (io->map && bytes == 8) {
		*value = *(const volatile uint64_t *)(io->map + io->base + offset);
		return 0;
	}
	if (io->map) {
		*value = *(const volatile uint32_t *)(io->map + io->base + offset);
		return 0;
	}
	got = pread(io->fd, bytes == 8 ? (void *)&raw64 : &raw32, bytes,
		    (off_t)(io->base + offset));
	if (got != (ssize_t)bytes)
		return got < 0 ? -errno : -ENODEV;
	*value = bytes == 8 ? raw64 : raw32;
	return 0;
}

int unc_regs_io_take(const struct unc_regs_io *io, uint64_t offset, uint64_t *value)
{
	if (!io->plain || !io->map)
		return unc_regs_io_load(io, offset, value);
	if (io->regs->bytes == 8)
		*value = __atomic_exchange_n((uint64_t *)(io->map + io->base + offset), 0,
					     __ATOMIC_SEQ_CST);
	else
		*value = __atomic_exchange_n((uint32_t *)(io->map + io->base + offset), 0,
					     __ATOMIC_SEQ_CST);
	return 0;
}

int unc_regs_io_store(const struct unc_regs_io *io, uint64_t offset, uint64_t value)
{
	unsigned bytes = io->regs->bytes;
	uint32_t half = (uint32_t)value;
	ssize_t put;

	if (io->map && bytes == 8) {
		*(volatile uint64_t *)(io->map + io->base + offset) = value;
		return 0;
	}
	if (io->map) {
		*(volatile uint32_t *)(io->map + io->base + offset) = half;
		return 0;
	}
	put = pwrite(io->fd, bytes == 8 ? (const void *)&value : &half, bytes,
		     (off_t)(io->base + offset));
	if (put == (ssize_t)bytes)
		return 0;
	return put < 0 ? -errno : -ENODEV;
}
