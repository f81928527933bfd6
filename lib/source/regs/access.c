/* SPDX-License-Identifier: MIT */
/* Access to registers in mapped memory, PCI configuration space, and MSRs: read, write, and
 * restore. */
#define _GNU_SOURCE
#include "source/regs/regs.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static int fail_open(const struct unc_regs *r, const char *path, int err, struct unc_error *e)
{
	unc_fail(e, err, "%s: %s cannot be opened: %s", r->name, path, unc_errno_text(err));
	if (err == EACCES)
		unc_error_append(e, "; only root can read registers");
	else if (err == EPERM)
		unc_error_append(e,
				 "; a locked-down kernel (secure boot) forbids it, even to root");
	else if (err == ENOENT && r->space == UNC_SPACE_MSR)
		unc_error_append(e, "; load its module: modprobe msr");
	return err == ENOENT || err == ENXIO ? -ENODEV : -err;
}

static int open_file(struct unc_regs_io *io, const struct unc_root *root, const char *path,
		     bool write, struct stat *st, struct unc_error *e)
{
	const struct unc_regs *r = io->regs;
	bool clears = r->window == UNC_WINDOW_CLEAR;
	struct statfs fs;

	/* Reading that clears also changes registers, and a lock needs a descriptor for writing.
	 * O_NONBLOCK: without it, opening a pipe waits for its writer. */
	io->fd = unc_root_open_file(root, path,
				    (write || clears ? O_RDWR : O_RDONLY) | O_SYNC | O_NONBLOCK);
	if (io->fd < 0)
		return fail_open(r, path, -io->fd, e);
	if (fstat(io->fd, st) < 0 || fstatfs(io->fd, &fs) < 0)
		return fail_open(r, path, errno, e);
	if (!S_ISREG(st->st_mode) && !S_ISCHR(st->st_mode))
		return unc_fail(e, EINVAL, "%s: %s is neither a file nor a device with registers",
				r->name, path);
	io->plain = S_ISREG(st->st_mode) && fs.f_type != SYSFS_MAGIC;
	/* No hardware clears a register in a plain file when it is read. It is exchanged for 0
	 * instead, which is possible only for a mapped word. Without --program a wrong path must
	 * not damage a file. */
	if (io->plain && clears && !write)
		return unc_fail(e, EACCES,
				"%s: %s is a plain file, and reading would set bytes of it to 0: "
				"that is done with --program only",
				r->name, path);
	if (io->plain && clears && r->space != UNC_SPACE_MMIO)
		return unc_fail(e, EINVAL,
				"%s: %s is a plain file, where reading clears nothing, and only a "
				"register of memory can be cleared instead: read the device itself",
				r->name, path);
	return 0;
}

/* Checks that the block lies within a plain file. The length of a character device is unknown. */
static int check_length(struct unc_regs_io *io, const struct unc_regs_device *d,
			const struct stat *st, struct unc_error *e)
{
	const struct unc_regs *r = io->regs;
	uint64_t file = (uint64_t)st->st_size, length = file > d->offset ? file - d->offset : 0;
	char byte;

	if (!S_ISREG(st->st_mode))
		return 0;
	io->end = d->offset + r->size;
	if (length < r->size)
		return unc_fail(
			e, ENODEV,
			"%s: %s has %llu bytes from there, and the block needs %llu: this is "
			"another device, or its description is wrong",
			r->name, d->path, (unsigned long long)length, (unsigned long long)r->size);
	/* Without CAP_SYS_ADMIN a read beyond the first 64 bytes of configuration space returns
	 * nothing and no error. So read the last byte, which is hardly ever a register. */
	if (r->space == UNC_SPACE_PCI && !io->plain && io->end > 64 &&
	    pread(io->fd, &byte, 1, st->st_size - 1) == 0)
		return unc_fail(e, EACCES,
				"%s: only the first 64 bytes of %s can be read; only root can "
				"read the others",
				r->name, d->path);
	return 0;
}

int unc_regs_io_open(struct unc_regs_io *io, const struct unc_regs *r, const struct unc_root *root,
		     const struct uncore_counter *counter, bool write, struct unc_error *e)
{
	size_t unit = counter->pmu->unit;
	const struct unc_regs_device *d = &r->devices[unit / r->instances];
	uint64_t skip = d->offset % (uint64_t)sysconf(_SC_PAGESIZE);
	bool msr = r->space == UNC_SPACE_MSR;
	struct stat st = {0};
	char path[64];
	void *map;
	int err;

	/* Nothing is written if the block has no control registers, no thresholds and no cleared
	 * counters. */
	write = write && (r->control_count || r->bounds_written || r->window == UNC_WINDOW_CLEAR);
	*io = (struct unc_regs_io){
		.regs = r,
		.fd = -1,
		.offset = unit % r->instances * r->stride + (msr ? 0 : d->offset),
	};
	snprintf(path, sizeof(path), "dev/cpu/%d/msr", counter->cpu);
	err = open_file(io, root, msr ? path : d->path, write, &st, e);
	if (err == 0)
		err = check_length(io, d, &st, e);
	/* Only whole pages can be mapped, and a device may begin within a page. */
	if (err == 0 && r->space == UNC_SPACE_MMIO) {
		io->mapped = r->size + skip;
		map = mmap(NULL, io->mapped, write ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
			   io->fd, (off_t)(d->offset - skip));
		if (map == MAP_FAILED)
			err = unc_fail(e, errno == EINVAL ? ENODEV : errno,
				       "%s: %s cannot be mapped: %s", r->name, d->path,
				       unc_errno_text(errno));
		else
			io->map = map;
	}
	if (err < 0)
		unc_regs_io_close(io);
	else if (io->map)
		io->registers = (char *)io->map + skip + (io->offset - d->offset);
	return err;
}

void unc_regs_io_close(struct unc_regs_io *io)
{
	if (io->map)
		munmap(io->map, io->mapped);
	if (io->fd >= 0)
		close(io->fd);
	io->map = io->registers = NULL;
	io->fd = -1;
}

/* The lock belongs to the descriptor. Each instance of a device has its own descriptor. The kernel
 * releases the lock however the process ends. */
int unc_regs_io_lock(const struct unc_regs_io *io, uint64_t offset)
{
	struct flock lock = {.l_type = F_WRLCK,
			     .l_whence = SEEK_SET,
			     .l_start = (off_t)(io->offset + offset),
			     .l_len = io->regs->space == UNC_SPACE_MSR ? 1 : io->regs->bytes};

	if (fcntl(io->fd, F_OFD_SETLK, &lock) == 0)
		return 0;
	return errno == EAGAIN || errno == EACCES ? -EBUSY : 0;
}

/* A load from a map whose file has shrunk raises a signal instead of an error, so check before. A
 * read from a file of /sys fails with ENODEV once its device is removed. */
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
	const volatile void *at = io->map ? io->registers + offset : NULL;
	unsigned bytes = io->regs->bytes;
	uint64_t word = 0; /* little-endian, like all machines with such registers */

	if (!at) {
		ssize_t got = pread(io->fd, &word, bytes, (off_t)(io->offset + offset));

		if (got != (ssize_t)bytes)
			return got < 0 ? -errno : -ENODEV;
	} else {
		word = bytes == 8 ? *(const volatile uint64_t *)at : *(const volatile uint32_t *)at;
	}
	*value = word;
	return 0;
}

int unc_regs_io_load_clear(const struct unc_regs_io *io, uint64_t offset, uint64_t *value)
{
	void *at = io->registers + offset;

	if (!io->plain)
		return unc_regs_io_load(io, offset, value);
	*value = io->regs->bytes == 8 ? __atomic_exchange_n((uint64_t *)at, 0, __ATOMIC_SEQ_CST)
				      : __atomic_exchange_n((uint32_t *)at, 0, __ATOMIC_SEQ_CST);
	return 0;
}

/* Writes one register without recording its old value. */
static int store(const struct unc_regs_io *io, uint64_t offset, uint64_t value)
{
	volatile void *at = io->map ? io->registers + offset : NULL;
	unsigned bytes = io->regs->bytes;

	if (!at) {
		ssize_t put = pwrite(io->fd, &value, bytes, (off_t)(io->offset + offset));

		if (put != (ssize_t)bytes)
			return put < 0 ? -errno : -ENODEV;
	} else if (bytes == 8) {
		*(volatile uint64_t *)at = value;
	} else {
		*(volatile uint32_t *)at = (uint32_t)value;
	}
	return 0;
}

/* ---- writing, with an undo log: the old value is recorded at the first write ---- */

/* Hardware freezes within a few cycles of its clock. A simulated device may have to wait for a
 * CPU. */
#define FREEZE_NS 100000000

static struct unc_regs_saved *find_saved(const struct unc_regs_io *io, uint64_t offset)
{
	for (size_t i = 0; i < io->old_count; i++)
		if (io->old[i].offset == offset)
			return &io->old[i];
	return NULL;
}

static int save_old_value(struct unc_regs_io *io, uint64_t offset)
{
	const struct unc_regs *r = io->regs;
	struct unc_regs_saved old = {.offset = offset};
	int err;

	if (find_saved(io, offset))
		return 0;
	err = unc_regs_io_lock(io, offset);
	if (err == 0)
		err = unc_regs_io_load(io, offset, &old.value);
	/* Status bits are not restored: they are outdated, and writing 1 may clear something. */
	for (size_t i = 0; i < r->control_count; i++)
		if (r->controls[i].offset == offset)
			old.value = (old.value & ~r->controls[i].read_only) | r->controls[i].ones;
	return err < 0 ? err : UNC_ADD(&io->old, &io->old_count, &old);
}

int unc_regs_write(struct unc_regs_io *io, uint64_t offset, uint64_t value)
{
	int err = save_old_value(io, offset);

	if (err < 0)
		return err;
	find_saved(io, offset)->written = true;
	return store(io, offset, value);
}

#define USE(purpose) (1u << UNC_PURPOSE_##purpose)
#define USES_OF_READING (USE(FREEZE) | USE(LATCH) | USE(CLEAR) | USE(RESET))

/* The bits of those fields of the register whose use is in `uses`. */
static uint64_t bits_of(const struct unc_regs_control *c, unsigned uses)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < c->count; i++)
		if (uses >> c->fields[i].purpose & 1)
			bits |= c->fields[i].bits;
	return bits;
}

int unc_regs_claim(struct unc_regs_io *io, bool program)
{
	const struct unc_regs *r = io->regs;
	int err = 0;

	for (size_t i = 0; err == 0 && i < r->control_count; i++)
		if (bits_of(&r->controls[i], USES_OF_READING | (program ? USE(FILTER) : 0)))
			err = save_old_value(io, r->controls[i].offset);
	for (size_t k = 1; err == 0 && r->bounds_written && k < r->histogram.count; k++)
		err = save_old_value(io, unc_regs_threshold(r, k));
	for (size_t i = 0; err == 0 && program && i < r->count; i++) {
		const struct unc_regs_counter *c = &r->counters[i];

		if (c->programmable)
			err = save_old_value(io, c->control);
		if (c->programmable && err == 0)
			err = save_old_value(io, c->offset);
	}
	return err;
}

/* Waits until these bits are 1 (`one`) or 0. */
static int confirm(struct unc_regs_io *io, const struct unc_regs_field *f, bool one)
{
	uint64_t end = unc_now_ns() + FREEZE_NS, value = 0;
	int err;

	do {
		err = unc_regs_io_load(io, f->in->offset, &value);
		if (err < 0 || !(value & f->bits) == !one)
			return err;
	} while (unc_now_ns() <= end);
	return -ETIMEDOUT;
}

/* Sets the fields with these uses to 1, and fields that an earlier call has set back to 0. Other
 * fields of their registers keep their old values; write-only fields have no old values. */
static int set(struct unc_regs_io *io, unsigned uses)
{
	static const struct {
		enum unc_field_purpose set, status;
		bool one;
	} status[] = {
		{UNC_PURPOSE_FREEZE, UNC_PURPOSE_FROZEN, true},
		{UNC_PURPOSE_LATCH, UNC_PURPOSE_LATCHED, true},
		/* The hardware sets these fields back when it has finished. This cannot be seen if
		 * a field is write-only. */
		{UNC_PURPOSE_CLEAR, UNC_PURPOSE_CLEAR, false},
		{UNC_PURPOSE_RESET, UNC_PURPOSE_RESET, false},
	};
	const struct unc_regs *r = io->regs;
	unsigned changed = io->set ^ uses;
	int err = 0;

	io->set = uses;
	for (size_t i = 0; err == 0 && i < r->control_count; i++) {
		const struct unc_regs_control *c = &r->controls[i];
		uint64_t value;

		if (!bits_of(c, changed))
			continue;
		err = save_old_value(io, c->offset);
		if (err < 0)
			break;
		value = find_saved(io, c->offset)->value & ~c->write_only;
		value = (value & ~bits_of(c, USES_OF_READING)) | bits_of(c, uses) | c->ones;
		err = unc_regs_write(io, c->offset, value);
	}
	for (size_t i = 0; err == 0 && i < sizeof(status) / sizeof(*status); i++) {
		const struct unc_regs_field *f = r->use[status[i].status];

		if (f && changed & uses & 1u << status[i].set && f->access != UNC_ACCESS_WO)
			err = confirm(io, f, status[i].one);
	}
	return err;
}

int unc_regs_hold(struct unc_regs_io *io)
{
	return set(io, io->regs->window == UNC_WINDOW_SNAPSHOT ? USE(LATCH) : USE(FREEZE));
}

int unc_regs_release(struct unc_regs_io *io, bool clear)
{
	bool clears = clear && io->regs->window == UNC_WINDOW_WRITE_CLEAR;
	int err = clears ? set(io, USE(FREEZE) | USE(CLEAR)) : 0, last = set(io, 0);

	return err < 0 ? err : last;
}

int unc_regs_begin(struct unc_regs_io *io)
{
	const struct unc_regs *r = io->regs;
	int err = set(io, USE(FREEZE));

	if (err < 0 || !(r->use[UNC_PURPOSE_CLEAR] || r->use[UNC_PURPOSE_RESET]))
		return err;
	for (size_t i = 0; i < r->count; i++) {
		const struct unc_regs_counter *c = &r->counters[i];

		if (c->programmable)
			find_saved(io, c->offset)->written = find_saved(io, c->control)->written =
				true;
	}
	err = set(io, USE(FREEZE) | USE(CLEAR) | USE(RESET));
	return err < 0 ? err : set(io, USE(FREEZE));
}

/* A device that is gone reads as all ones. This does not mean that it is frozen. */
bool unc_regs_is_frozen(const struct unc_regs_io *io)
{
	static const enum unc_field_purpose purposes[] = {UNC_PURPOSE_FROZEN, UNC_PURPOSE_FREEZE};

	for (size_t i = 0; i < 2; i++) {
		const struct unc_regs_field *field = io->regs->use[purposes[i]];
		uint64_t value = 0;

		if (field && field->access != UNC_ACCESS_WO &&
		    unc_regs_io_load(io, field->in->offset, &value) == 0 && value & field->bits &&
		    value != UINT64_MAX >> (64 - 8 * io->regs->bytes))
			return true;
	}
	return false;
}

int unc_regs_prepare(struct unc_regs_io *io, const struct unc_regs_counter *c,
		     const uint64_t config[static UNCORE_CONFIG_WORDS], uint64_t *start)
{
	const struct unc_regs *r = io->regs;
	const struct unc_regs_field *enable = r->use[UNC_PURPOSE_ENABLE];
	uint64_t select = config[UNC_REGS_SELECT_WORD] | r->select.ones;
	uint64_t filter = config[UNC_REGS_FILTER_WORD];
	int err = 0;

	/* Filters are set before the events to which they apply. Without a filter an old one is
	 * cleared, unless another counter has set it. */
	for (size_t i = 0; err == 0 && i < r->control_count; i++) {
		const struct unc_regs_control *f = &r->controls[i];

		if (f->filter >= 0 && (filter || !find_saved(io, f->offset)->written))
			err = unc_regs_write(io, f->offset,
					     (uint32_t)(filter >> (32 * f->filter)) | f->ones);
	}
	*start = (0 - config[UNC_REGS_AFTER_WORD]) & (UINT64_MAX >> (64 - c->width));
	if (err == 0)
		err = unc_regs_write(io, c->control, select);
	if (err == 0)
		err = unc_regs_write(io, c->offset, *start);
	if (err == 0 && enable)
		err = unc_regs_write(io, c->control, select | enable->bits);
	return err;
}

int unc_regs_restore(struct unc_regs_io *io, uint64_t *changed)
{
	int first = 0;
	bool written = false;

	for (size_t i = io->old_count; i-- > 0;) {
		written = written || io->old[i].written;
		*changed = io->old[i].written ? io->old[i].offset : *changed;
	}
	if (written)
		first = unc_regs_io_check(io);
	if (first < 0)
		io->old_count = 0;
	if (written && first == 0)
		set(io, USE(FREEZE));
	while (io->old_count) {
		const struct unc_regs_saved *old = &io->old[--io->old_count];
		int err = old->written ? store(io, old->offset, old->value) : 0;

		if (err < 0 && first == 0) {
			first = err;
			*changed = old->offset;
		}
	}
	free(io->old);
	io->old = NULL;
	io->set = 0;
	return first;
}
