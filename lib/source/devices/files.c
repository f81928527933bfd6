/* SPDX-License-Identifier: MIT */
/* The source of devices that have their counts in files: disks, network cards, GPUs. Each file is
 * read once for all counters of its device. Nothing is written. */
#include "source/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* The halves of a number are read one after another. If the lower half overflows in between, the
 * number is wrong by 2^32. Two readings of it then differ by more than this, while no device counts
 * as far as this between them. */
#define TORN (UINT64_C(1) << 31)
#define MOST_TRIES 4

/* A file of a copied tree may be a pipe, which must not keep the caller. */
#define OPEN_FLAGS (O_RDONLY | O_NONBLOCK | O_NOCTTY)

/* A file of a device, and its contents at the latest reading. */
struct file {
	const struct uncore_pmu *pmu;
	char *path;  /* below the root */
	int fd;      /* negative: it does not exist at present */
	char *data;  /* NULL: not read yet */
	char *again; /* a second reading, for numbers in halves; NULL: there are none */
	size_t room, len, again_len;
	/* The number of the file with its device's state of power, which is read before it; or
	 * NO_FILE. */
	size_t status;
	uint64_t at_ns, took_ns;
	bool halves;
	bool used;    /* by a counter, or as a state of power */
	bool removed; /* the kernel says so */
	/* A directory: what shows that names were added or removed. That of sysfs does not keep the
	 * time of it, and has a link for each directory. */
	bool is_directory, changed;
	struct timespec time;
	nlink_t links;
	const char *why; /* it could not be read; NULL: it was */
};

#define NO_FILE SIZE_MAX

struct counter {
	const struct unc_device_read *read; /* NULL: not opened */
	struct unc_device_read one;         /* that of one link */
	const struct unc_event_def *event;
	const struct uncore_pmu *pmu;
	size_t *files; /* numbers of its files, whose numbers are added up */
	size_t count;
	/* The numbers of the file with its device's state of power, and of the directory in which
	 * the files of a glob or their directories are; or NO_FILE. */
	size_t status, directory;
	bool other_files; /* than at the reading before */
};

struct files_source {
	struct unc_source base; /* must be the first member: the pointer is cast */
	struct counter *counters;
	size_t count;
	struct file *files;
	size_t file_count;
	/* The device whose version was read last: its counters are adjacent. */
	const struct uncore_pmu *known;
	char version[64];
};

#define STATUS_ROOM 32

static void close_file(struct file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
	f->len = 0;
}

/* ---- opening ---- */

/* The number of the file, which is added if it is new. -ENOMEM. */
static int add_file(struct files_source *s, const struct uncore_pmu *pmu, const char *path,
		    size_t room, bool halves, size_t *number)
{
	struct file *f;

	for (*number = 0; *number < s->file_count; ++*number)
		if (strcmp(s->files[*number].path, path) == 0)
			break;
	if (*number == s->file_count) {
		f = unc_append(&s->files, &s->file_count, sizeof(*f));
		if (!f)
			return -ENOMEM;
		*f = (struct file){.pmu = pmu, .fd = -1, .path = strdup(path), .status = NO_FILE};
		if (!f->path)
			return -ENOMEM;
	}
	f = &s->files[*number];
	if (f->fd < 0)
		f->fd = unc_root_open_file(s->base.root, path, OPEN_FLAGS);
	f->used = true;
	f->room = room > f->room ? room : f->room;
	f->halves |= halves;
	return f->fd >= 0 || f->fd == -ENOENT || f->fd == -ENODEV ? 0 : f->fd;
}

/* Adds the files of a path, which may be a glob. */
static int add_files(struct files_source *s, struct counter *c, const struct uncore_pmu *pmu,
		     const char *path)
{
	struct unc_names names = {0};
	size_t number;
	int r = strpbrk(path, "*?[") ? unc_root_glob(s->base.root, path, &names)
				     : unc_names_add(&names, path);

	for (size_t i = 0; r == 0 && i < names.count; i++) {
		r = add_file(s, pmu, names.items[i], unc_field_room(c->read), c->read->has_high,
			     &number);
		if (r == 0)
			r = UNC_ADD(&c->files, &c->count, &number);
	}
	unc_names_finish(&names);
	return r;
}

/* Finds the files of a counter. A directory with a glob is kept: it shows when others appear. */
static int find_files(struct files_source *s, struct counter *c)
{
	const char *file = c->read->file, *path;
	size_t fixed = strcspn(file, "*?[");
	int r = 0;

	if (file[fixed]) {
		while (fixed && file[fixed - 1] != '/')
			fixed--;
		path = UNC_PATH("%s/%.*s.", c->pmu->directory, (int)fixed, file);
		r = add_file(s, c->pmu, path, 0, false, &c->directory);
	}
	if (c->directory != NO_FILE)
		s->files[c->directory].is_directory = true;
	return r < 0 ? r : add_files(s, c, c->pmu, UNC_PATH("%s/%s", c->pmu->directory, file));
}

/* The version of the device's files. -ENODEV with a sentence. */
static int read_version(struct files_source *s, const struct uncore_pmu *pmu, struct unc_error *why)
{
	int r = s->known == pmu ? 0 : unc_device_read_version(pmu, s->base.root, s->version, why);

	s->known = r == 0 ? pmu : NULL;
	return r;
}

/* Restricts the counter to one link of the device, whose number is one of an array. -ENODEV, or
 * -ENOLINK if the device does not give it, with a sentence. */
static int choose_link(const struct files_source *s, struct counter *c,
		       const struct uncore_counter *plan, struct unc_error *why)
{
	int link = unc_device_link(plan->config), r;
	uint64_t value;
	char *data = NULL;
	size_t len = 0;

	if (link == -1)
		return 0;
	if (link < 0 || link >= (int)c->read->values)
		return unc_fail(why, ENODEV, "%s does not have '%s' of one such link",
				plan->pmu->name, c->event->name);
	c->one = *c->read;
	c->one.values = 0;
	c->one.at += (unsigned)link * c->one.bytes;
	c->one.index += (unsigned)link;
	c->read = &c->one;
	r = unc_root_read_bytes(s->base.root, UNC_PATH("%s/%s", plan->pmu->directory, c->one.file),
				unc_field_room(c->read), &data, &len);
	if (r == 0 && unc_field_take(c->read, plan->pmu->layout, data, len, &value))
		r = unc_fail(why, ENOLINK, "%s has no link %d", plan->pmu->name, link);
	free(data);
	return r;
}

static unsigned width_of(const struct unc_event_def *event, const struct unc_device_read *read)
{
	if (read->bits || event->bits)
		return read->bits ? read->bits : event->bits;
	return read->bytes && !read->has_high ? 8 * read->bytes : 64;
}

/* The file with the device's state of power. -ENODEV with a sentence: the device is suspended. */
static int add_status(struct files_source *s, const struct uncore_pmu *pmu, size_t *number,
		      struct unc_error *why)
{
	const char *path;
	int r;

	*number = NO_FILE;
	if (!pmu->runtime_status)
		return 0;
	path = UNC_PATH("%s/%s", pmu->directory, pmu->runtime_status);
	r = add_file(s, pmu, path, STATUS_ROOM, false, number);
	if (r == 0 && unc_device_sleeps(s->base.root, path))
		r = unc_fail(
			why, ENODEV,
			"%s is suspended, and reading it would wake it: begin while it is in use",
			pmu->name);
	return r;
}

static int open_counter(struct files_source *s, struct counter *c, struct uncore_counter *plan,
			struct unc_error *e)
{
	const struct uncore_pmu *pmu = plan->pmu;
	struct unc_error why = {0};
	int r;

	*c = (struct counter){.pmu = pmu, .status = NO_FILE, .directory = NO_FILE};
	c->event = unc_device_event_of(plan);
	r = c->event ? add_status(s, pmu, &c->status, &why)
		     : unc_fail(&why, ENODEV, "%s has no such event", pmu->name);
	if (r == 0)
		r = read_version(s, pmu, &why);
	if (r == 0) {
		c->read = unc_device_find_read(pmu, s->base.root, c->event, s->version, &why);
		r = c->read ? 0 : -ENODEV;
	}
	if (r == 0)
		r = choose_link(s, c, plan, &why);
	if (r == 0) {
		plan->width = width_of(c->event, c->read);
		r = find_files(s, c);
	}
	if (r == -ENOMEM)
		return unc_nomem(e);
	if (r == -EMFILE || r == -ENFILE)
		return unc_fail(e, -r,
				"out of file descriptors: allow this process more with ulimit -n");
	if (r == 0 && !c->count)
		r = unc_fail(&why, ENODEV, "%s has no file /%s/%s", pmu->name, pmu->directory,
			     c->read->file);
	for (size_t i = 0; r == 0 && i < c->count; i++) {
		struct file *f = &s->files[c->files[i]];

		f->status = c->status;
		if (f->fd < 0)
			r = unc_fail(&why, ENODEV, "/%s does not exist", f->path);
	}
	if (r == 0)
		return 0;
	if (c->read && !why.text[0])
		unc_fail(&why, -r, "/%s/%s cannot be read: %s%s", pmu->directory, c->read->file,
			 unc_errno_text(r), r == -EACCES ? " (root can read it)" : "");
	c->read = NULL;
	return unc_counter_refuse(plan, r, why.text, e);
}

/* Opens a counter, if need be with more open files than the process may have at first. */
static int open_raising(struct files_source *s, struct counter *c, struct uncore_counter *plan,
			struct unc_names *notes, struct unc_error *e)
{
	int r = open_counter(s, c, plan, e);
	int lack = unc_root_exhausted((struct unc_root *)s->base.root);

	if (lack == EMFILE && unc_limit_raise(notes)) {
		free(c->files);
		free((void *)plan->why);
		plan->why = NULL;
		plan->error = 0;
		return open_counter(s, c, plan, e);
	}
	if (r < 0 || !lack)
		return r;
	return lack == ENOMEM ? unc_nomem(e) : unc_fail(e, lack, "out of file descriptors");
}

/* -ENOMEM. */
static int make_room(struct file *f)
{
	f->data = malloc(f->room + 1);
	f->again = f->halves ? malloc(f->room + 1) : NULL;
	return f->data && (f->again || !f->halves) ? 0 : -ENOMEM;
}

/* Looks whether names were added to the directory or removed from it. */
static void read_directory(const struct files_source *s, struct file *f)
{
	struct stat now;

	if (f->fd < 0)
		f->fd = unc_root_open_file(s->base.root, f->path, OPEN_FLAGS);
	f->changed = f->fd < 0 || fstat(f->fd, &now) < 0 || now.st_nlink != f->links ||
		     now.st_mtim.tv_sec != f->time.tv_sec || now.st_mtim.tv_nsec != f->time.tv_nsec;
	if (f->fd < 0 || !f->changed)
		return;
	f->time = now.st_mtim;
	f->links = now.st_nlink;
	if (!now.st_nlink) /* the directory was removed: another one may have its name */
		close_file(f);
}

static int files_open(struct unc_source *source, struct uncore_counter *counters, size_t count,
		      struct unc_names *notes, struct unc_error *e)
{
	struct files_source *s = (struct files_source *)source;
	int r = 0;

	if (!unc_root_is_live(s->base.root) && !s->base.any_root)
		return unc_fail(e, EOPNOTSUPP,
				"devices can be counted on the running machine only, not on one "
				"that is a directory or a snapshot: their files do not change");
	s->counters = calloc(count + 1, sizeof(*s->counters));
	if (!s->counters)
		return unc_nomem(e);
	for (; r == 0 && s->count < count; s->count++)
		r = open_raising(s, &s->counters[s->count], &counters[s->count], notes, e);
	for (size_t i = 0; r == 0 && i < s->file_count; i++)
		r = make_room(&s->files[i]) < 0 ? unc_nomem(e) : 0;
	for (size_t i = 0; r == 0 && i < s->file_count; i++)
		if (s->files[i].is_directory)
			read_directory(s, &s->files[i]);
	return r;
}

/* ---- reading ---- */

static const char *explain_failure(int err)
{
	if (err == EPERM || err == EACCES)
		return "the kernel does not permit reading its file; the device may be suspended";
	if (err == EIO || err == EAGAIN || err == EBUSY || err == ENODATA || err == ETIME ||
	    err == ETIMEDOUT)
		return "its driver could not read it";
	return "its file cannot be read: the device was removed";
}

/* Reads the file into `data`, with a NUL behind it. A negative errno. */
static int read_into(const struct file *f, char *data, size_t *len)
{
	ssize_t got;

	do
		got = pread(f->fd, data, f->room, 0);
	while (got < 0 && errno == EINTR);
	*len = got > 0 ? (size_t)got : 0;
	data[*len] = '\0';
	return got < 0 ? -errno : 0;
}

static void read_file(const struct files_source *s, struct file *f)
{
	uint64_t begin_ns = unc_now_ns();
	const struct file *status = f->status != NO_FILE ? &s->files[f->status] : NULL;
	int r;

	f->len = 0;
	f->data[0] = '\0';
	f->at_ns = begin_ns;
	f->why = status && unc_device_is_suspended(status->data) ? "the device is suspended" : NULL;
	if (f->why)
		return;
	if (f->fd < 0) /* its device was removed: it may be back */
		f->fd = unc_root_open_file(s->base.root, f->path, OPEN_FLAGS);
	r = f->fd < 0 ? f->fd : read_into(f, f->data, &f->len);
	if (r == 0 && f->halves)
		r = read_into(f, f->again, &f->again_len);
	f->why = r < 0 ? explain_failure(-r) : NULL;
	f->removed = r == -ENODEV || r == -ENOENT;
	if (r < 0)
		close_file(f);
	f->took_ns = unc_now_ns() - begin_ns;
	f->at_ns = begin_ns + f->took_ns / 2;
}

static bool has_same_files(const struct counter *a, const struct counter *b)
{
	return a->count == b->count &&
	       memcmp(a->files, b->files, a->count * sizeof(*a->files)) == 0;
}

/* Leaves files that no counter uses any more. */
static void leave_unused(struct files_source *s)
{
	for (size_t i = 0; i < s->file_count; i++)
		s->files[i].used = false;
	for (size_t i = 0; i < s->count; i++) {
		const struct counter *c = &s->counters[i];

		for (size_t k = 0; k < c->count; k++)
			s->files[c->files[k]].used = true;
		if (c->status != NO_FILE)
			s->files[c->status].used = true;
		if (c->directory != NO_FILE)
			s->files[c->directory].used = true;
	}
	for (size_t i = 0; i < s->file_count; i++)
		if (!s->files[i].used)
			close_file(&s->files[i]);
}

/* Whether the kernel has removed a file of a glob. Another one may have its name. */
static bool has_removed(const struct files_source *s, const struct counter *c)
{
	bool removed = false;

	for (size_t i = 0; c->directory != NO_FILE && i < c->count; i++)
		removed |= s->files[c->files[i]].removed;
	return removed;
}

/* Finds the files of a glob again if some may have been added or removed: a part of the device was
 * attached or detached. */
static void find_again(struct files_source *s, struct counter *c)
{
	bool others = c->directory != NO_FILE && s->files[c->directory].changed, changed = others;
	bool removed = c->other_files;
	struct counter now = *c;
	int r;

	c->other_files = false;
	for (size_t i = 0; c->directory != NO_FILE && i < c->count; i++)
		changed |= s->files[c->files[i]].fd < 0;
	if (!changed && !removed)
		return;
	/* A file of the same name may be another one. */
	for (size_t i = 0; others && i < c->count; i++)
		close_file(&s->files[c->files[i]]);
	now.files = NULL;
	now.count = 0;
	r = find_files(s, &now);
	for (size_t i = 0; r == 0 && i < now.count; i++) {
		struct file *f = &s->files[now.files[i]];

		f->status = c->status;
		r = f->data ? 0 : make_room(f);
		if (r == 0 && (!f->len || f->why))
			read_file(s, f);
	}
	if (r < 0 || !now.count || (has_same_files(c, &now) && !removed)) {
		free(now.files);
		return;
	}
	free(c->files);
	c->files = now.files;
	c->count = now.count;
	c->other_files = true;
	leave_unused(s);
}

static const char *take(const struct counter *c, const struct file *f, uint64_t *value)
{
	bool text = !c->read->bytes && !c->read->has_attribute;

	/* A number at its end may be a part of one. */
	if (!f->why && text && f->len == f->room)
		return "its file is longer than the part that is read of it";
	return f->why ? f->why : unc_field_take(c->read, f->pmu->layout, f->data, f->len, value);
}

/* A number in halves, which the file must have twice. */
static const char *take_halves(const struct files_source *s, const struct counter *c,
			       struct file *f, uint64_t *value)
{
	const char *why = NULL;
	uint64_t again = 0;

	for (unsigned i = 0; !why && i < MOST_TRIES; i++) {
		if (i)
			read_file(s, f);
		why = take(c, f, value);
		if (!why)
			why = unc_field_take(c->read, f->pmu->layout, f->again, f->again_len,
					     &again);
		if (!why && again - *value + TORN < 2 * TORN)
			return NULL;
	}
	return why ? why : "the halves of the number do not belong together";
}

static void read_counter(const struct files_source *s, const struct counter *c,
			 struct uncore_reading *into)
{
	*into = (struct uncore_reading){.lost = !c->read};
	for (size_t i = 0; c->read && i < c->count && !into->lost; i++) {
		struct file *f = &s->files[c->files[i]];
		uint64_t value = 0;

		into->why = c->read->has_high ? take_halves(s, c, f, &value) : take(c, f, &value);
		if (!into->why && c->event->saturates &&
		    value == UINT64_MAX >> (64 - c->event->saturates))
			into->why = "the counter stands at its greatest value until it is reset";
		into->lost = into->why;
		into->raw += value * c->read->times;
		into->at_ns = f->at_ns;
		into->took_ns += f->took_ns;
	}
	into->enabled_ns = into->running_ns = into->at_ns - s->base.since_ns;
	if (!into->lost && c->other_files) {
		into->wrapped = true;
		into->why = "a part of the device was attached or detached in it, such as an NVMe "
			    "namespace";
	}
}

static int files_read(struct unc_source *source, struct uncore_reading *into, uint64_t *now_ns,
		      struct unc_error *e)
{
	struct files_source *s = (struct files_source *)source;

	(void)e;
	*now_ns = unc_now_ns();
	for (size_t i = 0; i < s->file_count; i++) {
		struct file *f = &s->files[i];

		if (f->is_directory)
			read_directory(s, f);
		else if (f->used && f->data)
			read_file(s, f);
	}
	/* Counters share files, which are read again with the first of them. */
	for (size_t i = 0; i < s->count; i++)
		s->counters[i].other_files = has_removed(s, &s->counters[i]);
	for (size_t i = 0; i < s->count; i++)
		find_again(s, &s->counters[i]);
	for (size_t i = 0; i < s->count; i++)
		read_counter(s, &s->counters[i], &into[i]);
	return 0;
}

static void files_close(struct unc_source *source)
{
	struct files_source *s = (struct files_source *)source;

	for (size_t i = 0; i < s->count; i++)
		free(s->counters[i].files);
	for (size_t i = 0; i < s->file_count; i++) {
		close_file(&s->files[i]);
		free(s->files[i].path);
		free(s->files[i].data);
		free(s->files[i].again);
	}
	free(s->files);
	free(s->counters);
	free(s);
}

const struct unc_source_ops unc_source_files = {
	.size = sizeof(struct files_source),
	.open = files_open,
	.read = files_read,
	.close = files_close,
};
