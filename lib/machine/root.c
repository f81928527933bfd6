/* SPDX-License-Identifier: MIT */
/* The root below which /sys and /proc are read: a directory or a snapshot. */
#include "machine/root.h"

#include "machine/known.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#define LONGEST_FILE ((size_t)1 << 20)
#define MOST_LINKS 40 /* same limit as the kernel's */

struct unc_root {
	int fd;     /* -1: the root is a snapshot */
	char *name; /* of the snapshot */
	bool live;
	int exhausted; /* ENOMEM, EMFILE or ENFILE, which callers may take for an absent file */
	struct unc_tree tree;
	struct unc_tree *record; /* NULL: reads are not recorded */
	struct unc_known known;  /* while reads of a directory are recorded */
};

const char *unc_path(char into[PATH_MAX], const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(into, PATH_MAX, fmt, args);
	va_end(args);
	return into;
}

/* ---- links ---- */

/* Reading a root changes what is known of it. */
static struct unc_known_path *know(const struct unc_root *r, const char *path, enum unc_what what)
{
	return unc_known_add(&((struct unc_root *)r)->known, path, what);
}

static enum unc_what ask(const struct unc_root *r, const char *path)
{
	return unc_known_ask(&((struct unc_root *)r)->known, r->fd, path);
}

/* The length of the target of the link `path`, whose directories are not links; 0: it is no
 * link. */
static size_t link_target(const struct unc_root *r, const char *path, char into[static PATH_MAX])
{
	const struct unc_entry *e;
	bool is_new;
	ssize_t n;

	if (r->fd >= 0 && r->record) {
		n = (ssize_t)unc_known_target(&((struct unc_root *)r)->known, r->fd, path, into,
					      &is_new);
		if (is_new)
			unc_tree_add(r->record, UNC_LINK, path, into, (size_t)n);
		return (size_t)n;
	}
	if (r->fd >= 0) {
		n = readlinkat(r->fd, path, into, PATH_MAX - 1);
		into[n > 0 ? n : 0] = '\0';
		return strlen(into);
	}
	e = unc_tree_find(&r->tree, path);
	if (!e || e->kind != UNC_LINK)
		return 0;
	memcpy(into, e->data, e->len + 1);
	return e->len;
}

/* Finds the path without links, as the kernel does below a root. `last`: the last part is followed,
 * too, if it is a link. The result may not exist. */
static int resolve(const struct unc_root *r, const char *path, bool last, char out[static PATH_MAX])
{
	const struct unc_entry *e = r->fd < 0 ? unc_tree_find(&r->tree, path) : NULL;
	char todo[PATH_MAX], target[PATH_MAX];
	size_t len = 0, size = strlen(path), n, more, before;
	int links = 0;

	/* Only directories have entries below them, so no part of this path is a link. */
	if (e && e->kind != UNC_LINK) {
		memcpy(out, path, size + 1);
		return 0;
	}
	out[0] = '\0';
	if (size >= sizeof(todo))
		return -ENAMETOOLONG;
	memcpy(todo, path, size + 1);
	for (char *at = todo; *(at += strspn(at, "/")); at += n) {
		n = strcspn(at, "/");
		before = len;
		if (n == 1 && *at == '.')
			continue;
		if (n == 2 && strncmp(at, "..", 2) == 0) {
			while (len && out[--len] != '/')
				;
			out[len] = '\0';
			continue;
		}
		if (len + n + 2 > PATH_MAX)
			return -ENAMETOOLONG;
		if (len)
			out[len++] = '/';
		memcpy(out + len, at, n);
		len += n;
		out[len] = '\0';
		if (!last && !at[n + strspn(at + n, "/")])
			break;
		/* On the running machine the kernel follows the links before the last part. */
		more = r->live && !r->record ? 0 : link_target(r, out, target);
		if (!more)
			continue;
		if (++links > MOST_LINKS)
			return -ELOOP;
		if (r->record && r->fd < 0)
			unc_tree_add(r->record, UNC_LINK, out, target, more);
		if (more + strlen(at + n) >= sizeof(todo))
			return -ENAMETOOLONG;
		memmove(todo + more, at + n, strlen(at + n) + 1);
		memcpy(todo, target, more);
		len = *target == '/' ? 0 : before;
		out[len] = '\0';
		at = todo;
		n = 0;
	}
	return 0;
}

/* ---- a directory ---- */

static int noted(const struct unc_root *r, int err)
{
	if (err == -ENOMEM || err == -EMFILE || err == -ENFILE)
		((struct unc_root *)r)->exhausted = -err;
	return err;
}

/* Finds the path without links. While a directory is recorded: without asking for its last part,
 * which is followed if it is known to be a link. */
static int resolve_dirs(const struct unc_root *r, const char *path, char out[static PATH_MAX])
{
	int err = resolve(r, path, r->fd < 0, out);

	return err || unc_known_what(&r->known, out) != UNC_IS_LINK ? err
								    : resolve(r, path, true, out);
}

/* While recording, the last part is asked for by opening it, unless it is known. */
static int open_live(const struct unc_root *r, const char *path, int flags)
{
	char where[PATH_MAX];
	int fd, err;

	path += strspn(path, "/");
	if (!r->record || flags & O_PATH) {
		fd = openat(r->fd, *path ? path : ".", flags | O_CLOEXEC);
		return fd < 0 ? -errno : fd;
	}
	err = resolve_dirs(r, path, where);
	if (err)
		return err;
	if (unc_known_what(&r->known, where) == UNC_IS_ABSENT)
		return -ENOENT;
	fd = openat(r->fd, *where ? where : ".", flags | O_NOFOLLOW | O_CLOEXEC);
	/* A link is ELOOP, or with O_DIRECTORY no directory. */
	if (fd < 0 && (errno == ELOOP || errno == ENOTDIR) &&
	    (err = resolve(r, path, true, where)) == 0)
		fd = openat(r->fd, where, flags | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && !err && errno == ENOENT)
		know(r, where, UNC_IS_ABSENT);
	return err ? err : fd < 0 ? -errno : fd;
}

/* Absolute links in a copied tree mean the copy, never this machine. So resolve() follows links,
 * and the kernel follows none, not even links that are made at this moment. */
int unc_root_open_file(const struct unc_root *r, const char *path, int flags)
{
	char where[PATH_MAX], *next = where;
	int fd = r->fd, err;

	if (r->live)
		return noted(r, open_live(r, path, flags));
	err = fd < 0 ? -ENOENT : resolve(r, path, true, where);
	if (err)
		return err;
	while (next && !err) {
		const char *name = strsep(&next, "/");
		int dir = fd, how = next ? O_PATH | O_DIRECTORY : flags;

		fd = openat(dir, *name ? name : ".", how | O_NOFOLLOW | O_CLOEXEC);
		err = fd < 0 ? -errno : 0;
		if (dir != r->fd)
			close(dir);
	}
	return err ? noted(r, err) : fd;
}

int unc_root_open_regular(const struct unc_root *r, const char *path)
{
	int place = unc_root_open_file(r, path, O_PATH | O_NOFOLLOW), fd = -EBADMSG;
	struct stat st;
	char again[64];

	if (place < 0)
		return place;
	/* What has been looked at is opened, whatever the path means by now. */
	snprintf(again, sizeof(again), "/proc/self/fd/%d", place);
	if (fstat(place, &st) < 0 || S_ISLNK(st.st_mode)) {
		fd = -ELOOP;
	} else if (S_ISREG(st.st_mode)) {
		fd = open(again, O_RDONLY | O_CLOEXEC | O_NOCTTY);
		fd = fd < 0 ? noted(r, -errno) : fd;
	}
	close(place);
	return fd;
}

int unc_root_open_below(int dir, const char *path, int flags)
{
	int fd = dir < 0 ? -1 : openat(dir, path, flags | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0 ? fd : dir < 0 ? -ENOENT : -errno;
}

/* Whether the path exists, and whether it is a directory. */
static bool look_up(const struct unc_root *r, const char *path, bool *is_dir)
{
	const struct unc_entry *e = NULL;
	char where[PATH_MAX];
	struct stat st = {0};
	enum unc_what what;
	int fd;

	if (r->fd < 0) {
		if (resolve(r, path, true, where) == 0)
			e = unc_tree_find(&r->tree, where);
		*is_dir = e && e->kind == UNC_DIR;
		return e;
	}
	if (r->record && resolve(r, path, true, where) == 0) {
		what = ask(r, where);
		*is_dir = what == UNC_IS_DIR;
		return what != UNC_IS_ABSENT && what != UNC_NOT_KNOWN;
	}
	if (r->live) {
		path += strspn(path, "/");
		fd = fstatat(r->fd, *path ? path : ".", &st, 0);
	} else {
		fd = unc_root_open_file(r, path, O_PATH);
		fstat(fd, &st);
		if (fd >= 0)
			close(fd);
	}
	*is_dir = S_ISDIR(st.st_mode);
	return fd >= 0;
}

/* Records the contents of a file; `whole`: all of them. */
static void record_data(const struct unc_root *r, const char *path, const char *data, size_t len,
			bool whole)
{
	struct unc_known_path *p;
	char where[PATH_MAX];

	if (resolve_dirs(r, path, where) < 0)
		return;
	unc_tree_add(r->record, UNC_FILE, where, data, len);
	p = r->fd < 0 || r->record->failed ? NULL : know(r, where, UNC_IS_FILE);
	if (!p)
		return;
	p->data = r->record->entries[r->record->count - 1].data;
	p->len = len;
	p->whole = whole;
}

/* Records a path that exists without its contents, or with the error of reading it. */
static void record_path(const struct unc_root *r, const char *path, int err)
{
	const char *name = unc_errno_name(err);
	char where[PATH_MAX];
	bool is_dir = false;

	if (err == -ENOMEM || resolve(r, path, true, where) < 0 || !*where ||
	    !look_up(r, where, &is_dir))
		return;
	if (err != -EACCES && is_dir)
		unc_tree_add(r->record, UNC_DIR, where, "", 0);
	else if (err)
		unc_tree_add(r->record, UNC_REFUSED, where, name, strlen(name));
	else
		unc_tree_add(r->record, UNC_UNREAD, where, "", 0);
}

static int read_from_dir(const struct unc_root *r, const char *path, size_t max, char **out,
			 size_t *len)
{
	/* Non-blocking: without it, opening a pipe waits for a writer. */
	int fd = unc_root_open_file(r, path, O_RDONLY | O_NONBLOCK | O_NOCTTY), err;
	struct stat st = {0};

	if (fd < 0)
		return fd;
	/* In a copied tree the name may belong to any kind of file. In sysfs and proc there are
	 * files and directories, and reading a directory fails. */
	if (r->live || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)))
		err = unc_read_fd(fd, max, out, len);
	else
		err = S_ISDIR(st.st_mode) ? -EISDIR : -EBADMSG;
	close(fd);
	return err;
}

/* Records an entry of a directory, whose path has no links. Most filesystems report its kind, so
 * that it need not be looked up. */
static void record_entry(const struct unc_root *r, const char *dir, const struct dirent *entry)
{
	char path[PATH_MAX];
	bool is_dir = entry->d_type == DT_DIR, is_file = entry->d_type == DT_REG;

	if (snprintf(path, sizeof(path), "%s%s%s", dir, *dir ? "/" : "", entry->d_name) >= PATH_MAX)
		return;
	if (unc_known_find(&r->known, path) == NULL &&
	    (is_dir || is_file || entry->d_type == DT_LNK))
		know(r, path, is_dir ? UNC_IS_DIR : is_file ? UNC_IS_FILE : UNC_IS_LINK);
	if (is_dir || is_file)
		unc_tree_add(r->record, is_dir ? UNC_DIR : UNC_UNREAD, path, "", 0);
	else
		record_path(r, path, 0);
}

/* All that the directory has is known now. */
static void record_list(const struct unc_root *r, const char *dir)
{
	struct unc_known_path *p = know(r, dir, UNC_IS_DIR);

	if (p)
		p->listed = true;
}

static int list_dir(const struct unc_root *r, const char *path, struct unc_names *names)
{
	int fd = unc_root_open_file(r, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
	const struct dirent *entry;
	char where[PATH_MAX];
	DIR *dir;
	int err = 0;
	bool recorded;

	if (fd < 0)
		return fd;
	dir = fdopendir(fd);
	if (!dir) {
		err = -errno;
		close(fd);
		return err;
	}
	recorded = r->record && resolve(r, path, true, where) == 0;
	for (errno = 0; err == 0 && (entry = readdir(dir)); errno = 0) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		err = unc_names_add(names, entry->d_name);
		if (err == 0 && recorded)
			record_entry(r, where, entry);
	}
	if (err == 0)
		err = -errno;
	closedir(dir);
	if (err == 0 && recorded)
		record_list(r, where);
	return err;
}

/* ---- opening ---- */

int unc_root_open_text(struct unc_root **out, const char *name, const char *text, size_t len,
		       struct unc_error *e)
{
	struct unc_root *r = calloc(1, sizeof(*r));
	const char *slash = strrchr(name, '/');
	int err;

	if (!r)
		return unc_nomem(e);
	r->fd = -1;
	r->name = strdup(slash ? slash + 1 : name);
	err = r->name ? unc_snapshot_parse(&r->tree, name, text, len, e) : unc_nomem(e);
	if (err)
		unc_root_free(r);
	else
		*out = r;
	return err;
}

int unc_root_open(struct unc_root **out, const char *path, struct unc_error *e)
{
	char *text = NULL;
	size_t len = 0;
	struct stat st;
	int fd, err;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return unc_root_open_dir(out, path, e);
	/* The path may have become a FIFO. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	err = fd < 0 ? -errno : unc_read_fd(fd, UNC_SNAPSHOT_MOST + 1, &text, &len);
	if (fd >= 0)
		close(fd);
	if (err < 0)
		return unc_fail(e, -err, "cannot read '%s': %s", path, unc_errno_text(err));
	if (len > UNC_SNAPSHOT_MOST)
		err = unc_fail(e, EFBIG, "'%s' is larger than a snapshot may be", path);
	else
		err = unc_root_open_text(out, path, text, len, e);
	free(text);
	return err;
}

/* True if this is the running machine's root. Compares the directory and its mount: another mount
 * namespace (/proc/PID/root) may have the same directory, and realpath() gives "/" there, too. */
static bool is_root(int fd)
{
	const unsigned mask = STATX_INO | STATX_MNT_ID;
	struct statx a, b;

	return statx(fd, "", AT_EMPTY_PATH, mask, &a) == 0 &&
	       statx(AT_FDCWD, "/", 0, mask, &b) == 0 && a.stx_ino == b.stx_ino &&
	       a.stx_dev_major == b.stx_dev_major && a.stx_dev_minor == b.stx_dev_minor &&
	       a.stx_mnt_id == b.stx_mnt_id;
}

int unc_root_open_dir(struct unc_root **out, const char *dir, struct unc_error *e)
{
	struct unc_root *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return unc_nomem(e);
	r->fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (r->fd >= 0) {
		r->live = strcmp(dir, "/") == 0 || is_root(r->fd);
		*out = r;
		return 0;
	}
	err = errno;
	free(r);
	if (err == ENOENT)
		return unc_fail(
			e, err, "there is no directory '%s'%s", dir,
			strcmp(dir, "-") == 0
				? ": a snapshot is read from a file, not from standard input"
				: "");
	return unc_fail(e, err, "cannot open the directory '%s': %s", dir, unc_errno_text(err));
}

void unc_root_free(struct unc_root *r)
{
	if (!r)
		return;
	if (r->fd >= 0)
		close(r->fd);
	unc_known_finish(&r->known);
	unc_tree_finish(&r->tree);
	free(r->name);
	free(r);
}

bool unc_root_is_live(const struct unc_root *r)
{
	return r->live;
}

const char *unc_root_snapshot(const struct unc_root *r)
{
	return r->name;
}

int unc_root_exhausted(struct unc_root *r)
{
	int err = r->exhausted;

	r->exhausted = 0;
	return err;
}

/* ---- directory and snapshot ---- */

static int copy_bytes(const char *from, size_t have, size_t max, char **out, size_t *len)
{
	size_t n = have < max ? have : max;
	char *data = malloc(n + 1);

	if (!data)
		return -ENOMEM;
	memcpy(data, from, n);
	data[n] = '\0';
	*out = data;
	*len = n;
	return 0;
}

static int read_from_tree(const struct unc_root *r, const char *path, size_t max, char **out,
			  size_t *out_len)
{
	char where[PATH_MAX];
	int err = resolve(r, path, true, where);
	const struct unc_entry *e = err ? NULL : unc_tree_find(&r->tree, where);

	if (!e)
		return err ? err : -ENOENT;
	if (e->kind == UNC_DIR)
		return -EISDIR;
	if (e->kind == UNC_REFUSED)
		err = unc_errno_number(e->data);
	if (e->kind != UNC_FILE)
		return err ? err : -ENODATA;
	return copy_bytes(e->data, e->len, max, out, out_len);
}

/* While a directory is recorded: whether the result of reading is known without reading. */
static bool read_known(const struct unc_root *r, const char *path, size_t max, char **out,
		       size_t *len, int *err)
{
	const struct unc_known_path *p;
	char where[PATH_MAX];
	enum unc_what what;

	if (!r->record || r->fd < 0 || resolve_dirs(r, path, where) < 0)
		return false;
	what = unc_known_what(&r->known, where);
	p = unc_known_find(&r->known, where);
	if (what == UNC_IS_ABSENT || what == UNC_IS_DIR)
		*err = what == UNC_IS_DIR ? -EISDIR : -ENOENT;
	else if (p && p->data && (p->whole || max <= p->len))
		*err = copy_bytes(p->data, p->len, max, out, len);
	else
		return false;
	return true;
}

int unc_root_read_bytes(const struct unc_root *r, const char *path, size_t max, char **out,
			size_t *len)
{
	int err = 0;
	bool known = read_known(r, path, max, out, len, &err);

	if (!known)
		err = r->fd < 0 ? read_from_tree(r, path, max, out, len)
				: read_from_dir(r, path, max, out, len);
	if (r->record && err)
		record_path(r, path, err);
	else if (r->record && !known)
		record_data(r, path, *out, *len, *len < max);
	return noted(r, err);
}

int unc_root_read(const struct unc_root *r, const char *path, char **out)
{
	char *data;
	size_t len, text, rest;
	int err = unc_root_read_bytes(r, path, LONGEST_FILE + 1, &data, &len);

	if (err)
		return err;
	/* Lists of CPUs end with a NUL in Linux 5.15-rc (commit c86a2d9058c5 removed it). */
	text = strlen(data);
	for (rest = text; rest < len && (!data[rest] || strchr(UNC_SPACES, data[rest])); rest++)
		;
	if (len > LONGEST_FILE || rest < len || (len && !text)) {
		free(data);
		return len > LONGEST_FILE ? -EFBIG : -EBADMSG;
	}
	*out = data;
	return 0;
}

int unc_root_read_line(const struct unc_root *r, const char *path, char **out)
{
	char *data, *line;
	int err = unc_root_read(r, path, &data);

	if (err)
		return err;
	line = strdup(unc_trim(data)); /* most files are much shorter than the buffer */
	free(data);
	if (line)
		*out = line;
	return line ? 0 : noted(r, -ENOMEM);
}

int unc_root_read_int(const struct unc_root *r, const char *path, int most, int otherwise)
{
	uint64_t value;
	char *line;

	if (unc_root_read_line(r, path, &line) != 0)
		return otherwise;
	if (unc_parse_u64(line, &value) == 0 && value <= (uint64_t)most)
		otherwise = (int)value;
	free(line);
	return otherwise;
}

int unc_root_link(const struct unc_root *r, const char *path, char **out)
{
	char where[PATH_MAX], target[PATH_MAX];
	int err = resolve(r, path, false, where);
	size_t len;

	if (err)
		return err;
	len = link_target(r, where, target);
	if (!len)
		return unc_root_exists(r, where) ? -EINVAL : -ENOENT;
	if (r->record)
		unc_tree_add(r->record, UNC_LINK, where, target, len);
	*out = strdup(target);
	return *out ? 0 : noted(r, -ENOMEM);
}

int unc_root_list(const struct unc_root *r, const char *path, struct unc_names *out)
{
	struct unc_names names = {0};
	char where[PATH_MAX];
	int err;

	if (r->fd >= 0)
		err = list_dir(r, path, &names);
	else if ((err = resolve(r, path, true, where)) == 0)
		err = unc_tree_list(&r->tree, where, &names);
	if (r->record)
		record_path(r, path, err);
	if (err) {
		unc_names_finish(&names);
		return noted(r, err);
	}
	unc_names_sort(&names);
	for (size_t i = 0; r->record && r->fd < 0 && i < names.count; i++)
		if (snprintf(where, sizeof(where), "%s/%s", path, names.items[i]) < PATH_MAX)
			record_path(r, where, 0);
	*out = names;
	return 0;
}

/* Opens a directory to which only its owner, this user, can write. */
static int open_own_dir(const struct unc_root *r, const char *dir)
{
	char above[PATH_MAX];
	const char *name = strrchr(dir, '/') + 1;
	struct stat st = {0};
	int at, fd, err;

	snprintf(above, sizeof(above), "%.*s", (int)(name - dir), dir);
	at = r->fd < 0 ? -EROFS : unc_root_open_file(r, above, O_PATH | O_DIRECTORY);
	if (at < 0)
		return at;
	err = mkdirat(at, name, 0755) < 0 ? -errno : 0;
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* Otherwise it was not made, and the error is known. */
	if (fd < 0 && (err == 0 || err == -EEXIST))
		err = -errno;
	else if (err == 0)
		fchmod(fd, 0755); /* independent of the umask */
	close(at);
	if (fd >= 0 &&
	    (fstat(fd, &st) < 0 || st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH))) {
		close(fd);
		return -EPERM;
	}
	return fd < 0 ? err : fd;
}

int unc_root_replace(const struct unc_root *r, const char *dir, const char *name, const char *text,
		     struct unc_error *e)
{
	char temporary[NAME_MAX];
	size_t len = strlen(text);
	int at = open_own_dir(r, dir), fd, err = at < 0 ? at : 0;

	if (err < 0)
		return unc_fail(e, -err, "cannot write to the directory '/%s': %s", dir,
				unc_errno_text(err));
	snprintf(temporary, sizeof(temporary), ".%s.%d", name, (int)getpid());
	unlinkat(at, temporary, 0);
	errno = 0; /* a write to a full disk may be partial and leave errno unchanged */
	fd = openat(at, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0 || fchmod(fd, 0644) < 0 || write(fd, text, len) != (ssize_t)len ||
	    fsync(fd) < 0 || renameat(at, temporary, at, name) < 0)
		err = errno ? -errno : -EIO;
	if (fd >= 0)
		close(fd);
	if (err < 0)
		unlinkat(at, temporary, 0);
	close(at);
	return err < 0 ? unc_fail(e, -err, "cannot write '/%s/%s': %s", dir, name,
				  unc_errno_text(err))
		       : 0;
}

bool unc_root_is_trusted(const struct unc_root *r, const char *path)
{
	int fd = unc_root_open_file(r, path, O_PATH);
	struct stat st = {0}, top = {0};
	bool trusted;

	if (fd < 0)
		return true;
	trusted = fstat(fd, &st) == 0 && fstat(r->fd, &top) == 0 &&
		  (st.st_uid == 0 || (!r->live && st.st_uid == top.st_uid)) &&
		  !(st.st_mode & (S_IWGRP | S_IWOTH));
	close(fd);
	return trusted;
}

bool unc_root_exists(const struct unc_root *r, const char *path)
{
	bool is_dir, there = look_up(r, path, &is_dir);

	if (there && r->record)
		record_path(r, path, 0);
	return there;
}

/* Appends the matches of a glob of which `directory` is the part without wildcards, up to a
 * slash. */
static int add_matches(const struct unc_root *r, const char *directory, const char *rest,
		       struct unc_names *out)
{
	size_t plain = strcspn(rest, "*?["), begin = plain, n;
	struct unc_names names = {0};
	const char *path, *part;
	int err;

	if (!rest[plain]) {
		path = UNC_PATH("%s%s", directory, rest);
		return unc_root_exists(r, path) ? unc_names_add(out, path) : 0;
	}
	while (begin && rest[begin - 1] != '/')
		begin--;
	n = strcspn(rest + begin, "/");
	path = UNC_PATH("%s%.*s", directory, (int)begin, rest);
	part = UNC_PATH("%.*s", (int)n, rest + begin);
	err = unc_root_list(r, path, &names) == -ENOMEM ? -ENOMEM : 0;
	for (size_t i = 0; err == 0 && i < names.count; i++)
		if (unc_glob_matches(part, names.items[i]))
			err = add_matches(r, UNC_PATH("%s%s", path, names.items[i]),
					  rest + begin + n, out);
	unc_names_finish(&names);
	return err;
}

int unc_root_glob(const struct unc_root *r, const char *glob, struct unc_names *out)
{
	return add_matches(r, "", glob, out);
}

bool unc_root_still_has(const struct unc_root *r, const char *path)
{
	int fd = r->fd < 0 ? -ENOENT : unc_root_open_file(r, path, O_PATH);

	if (fd >= 0)
		close(fd);
	return fd >= 0 || (r->fd < 0 && unc_root_exists(r, path));
}

void unc_root_record(struct unc_root *r, struct unc_tree *record)
{
	if (r->record)
		r->record->failed |= r->known.failed;
	r->record = record;
	unc_known_finish(&r->known);
}
