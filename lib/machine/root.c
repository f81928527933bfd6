/* SPDX-License-Identifier: MIT */
/* The root below which /sys and /proc are read: a directory, or a tree built into the library. */
#include "machine/root.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "machine/embedded.h"

#define LONGEST_FILE ((size_t)1 << 20)
#define FIRST_READ 4096 /* what sysfs gives at most, with rare exceptions */

struct unc_root {
	int fd; /* -1: built in */
	bool live;
	const struct unc_tree *tree; /* NULL: a directory */
};

/* ---- opening ---- */

static int explain_open(const char *dir, int err, struct unc_error *e)
{
	const char *why = strerrordesc_np(err);

	if (err == ENOENT)
		return unc_fail(e, err, "there is no directory '%s'", dir);
	if (err == ENOTDIR)
		return unc_fail(e, err, "'%s' is not a directory", dir);
	return unc_fail(e, err, "cannot open the directory '%s': %s", dir,
			why ? why : "unknown error");
}

int unc_root_open(struct unc_root **out, const char *dir, struct unc_error *e)
{
	char *path = realpath(dir, NULL);
	struct unc_root *r;
	int err = errno;

	if (!path)
		return err == ENOMEM ? unc_nomem(e) : explain_open(dir, err, e);
	r = calloc(1, sizeof(*r));
	if (!r) {
		free(path);
		return unc_nomem(e);
	}
	r->live = strcmp(path, "/") == 0;
	r->fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	err = errno;
	free(path);
	if (r->fd < 0) {
		unc_root_free(r);
		return explain_open(dir, err, e);
	}
	*out = r;
	return 0;
}

int unc_root_open_tree(struct unc_root **out, const struct unc_tree *tree, struct unc_error *e)
{
	struct unc_root *r = calloc(1, sizeof(*r));

	if (!r)
		return unc_nomem(e);
	r->fd = -1;
	r->tree = tree;
	*out = r;
	return 0;
}

void unc_root_free(struct unc_root *r)
{
	if (!r)
		return;
	if (r->fd >= 0)
		close(r->fd);
	free(r);
}

bool unc_root_is_live(const struct unc_root *r)
{
	return r->live;
}

/* ---- a directory ---- */

/* Links in a copied tree may be absolute: they mean the copy, never this machine. */
static int open_inside(int dirfd, const char *path, int flags)
{
	struct open_how how = {.flags = (unsigned)flags, .resolve = RESOLVE_IN_ROOT};
	long fd = syscall(SYS_openat2, dirfd, path, &how, sizeof(how));

	/* Kernels before 5.6 lack the call, and some containers forbid it. */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = openat(dirfd, path, flags);
	return (int)fd;
}

/* A file descriptor, or a negative errno. */
static int open_below(const struct unc_root *r, const char *path, int flags)
{
	int fd;

	while (*path == '/')
		path++;
	if (!*path)
		path = ".";
	flags |= O_CLOEXEC;
	fd = r->live ? openat(r->fd, path, flags) : open_inside(r->fd, path, flags);
	return fd < 0 ? -errno : fd;
}

/* Reads to the end of the file, but no more than `max` bytes. */
static int read_bytes(int fd, size_t max, char **out, size_t *out_len)
{
	size_t room = max < FIRST_READ ? max : FIRST_READ, len = 0;
	char *data = malloc(room + 1), *grown;
	ssize_t n = 1;
	int err;

	if (!data)
		return -ENOMEM;
	while (n && len < max) {
		if (len == room) {
			room = room * 2 < max ? room * 2 : max;
			grown = realloc(data, room + 1);
			if (!grown)
				goto no_memory;
			data = grown;
		}
		n = read(fd, data + len, room - len);
		if (n < 0 && errno != EINTR)
			goto failed;
		if (n > 0)
			len += (size_t)n;
	}
	data[len] = '\0';
	*out = data;
	*out_len = len;
	return 0;
no_memory:
	errno = ENOMEM;
failed:
	err = errno;
	free(data);
	return -err;
}

/* In a copied tree a name may turn out to be anything; sysfs and proc have files and directories,
 * and reading a directory fails by itself. */
static int check_regular(int fd)
{
	struct stat st = {0};

	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return 0;
	return S_ISDIR(st.st_mode) ? -EISDIR : -EBADMSG;
}

static int read_from_dir(const struct unc_root *r, const char *path, size_t max, char **out,
			 size_t *len)
{
	/* Non-blocking: opening a pipe would wait for a writer. */
	int fd = open_below(r, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	int err = 0;

	if (fd < 0)
		return fd;
	if (!r->live)
		err = check_regular(fd);
	if (!err)
		err = read_bytes(fd, max, out, len);
	close(fd);
	return err;
}

static int link_in_dir(const struct unc_root *r, const char *path, char **out)
{
	int fd = open_below(r, path, O_PATH | O_NOFOLLOW);
	char text[PATH_MAX];
	ssize_t len;

	if (fd < 0)
		return fd;
	len = readlinkat(fd, "", text, sizeof(text));
	/* An empty path is for links only. */
	if (len < 0)
		len = errno == ENOENT ? -EINVAL : -errno;
	close(fd);
	if (len < 0)
		return (int)len;
	*out = strndup(text, (size_t)len);
	return *out ? 0 : -ENOMEM;
}

static int list_dir(const struct unc_root *r, const char *path, struct unc_names *names)
{
	int fd = open_below(r, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
	const struct dirent *entry;
	DIR *dir;
	int err = 0;

	if (fd < 0)
		return fd;
	dir = fdopendir(fd);
	if (!dir) {
		err = -errno;
		close(fd);
		return err;
	}
	for (errno = 0; err == 0 && (entry = readdir(dir)); errno = 0)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			err = unc_names_add(names, entry->d_name);
	if (err == 0)
		err = -errno;
	closedir(dir);
	return err;
}

/* ---- a built-in tree ---- */

/* The first file whose name is not below `name` in the order of strcmp. */
static size_t tree_position(const struct unc_tree *tree, const char *name)
{
	size_t low = 0, high = tree->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(tree->files[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static const struct unc_file *tree_file(const struct unc_tree *tree, const char *path)
{
	size_t at = tree_position(tree, path);

	return at < tree->count && strcmp(tree->files[at].name, path) == 0 ? &tree->files[at]
									   : NULL;
}

/* "path/", or "" for the root itself; the caller's to free. */
static char *tree_prefix(const char *path)
{
	struct unc_text t = {0};

	if (*path)
		unc_text_add(&t, "%s/", path);
	return unc_text_take(&t);
}

static bool tree_has_dir(const struct unc_tree *tree, const char *path)
{
	char *prefix = tree_prefix(path);
	size_t at = prefix ? tree_position(tree, prefix) : tree->count;
	bool has = at < tree->count && strncmp(tree->files[at].name, prefix, strlen(prefix)) == 0;

	free(prefix);
	return has;
}

static int read_from_tree(const struct unc_tree *tree, const char *path, size_t max, char **out,
			  size_t *out_len)
{
	const struct unc_file *file = tree_file(tree, path);
	size_t len;
	char *data;

	if (!file)
		return tree_has_dir(tree, path) ? -EISDIR : -ENOENT;
	len = file->len < max ? file->len : max;
	data = malloc(len + 1);
	if (!data)
		return -ENOMEM;
	memcpy(data, file->text, len);
	data[len] = '\0';
	*out = data;
	*out_len = len;
	return 0;
}

/* In the order of strcmp all files of one directory, and in it of one subdirectory, are
 * neighbours. */
static int list_tree_below(const struct unc_tree *tree, const char *prefix, struct unc_names *names)
{
	size_t len = strlen(prefix);
	const char *last = NULL;
	size_t last_len = 0;
	int err = 0;

	for (size_t i = tree_position(tree, prefix); err == 0 && i < tree->count; i++) {
		const char *name = tree->files[i].name;
		char entry[256];
		size_t n;

		if (strncmp(name, prefix, len) != 0)
			break;
		name += len;
		n = strcspn(name, "/");
		if ((last && n == last_len && memcmp(name, last, n) == 0) || !n ||
		    n >= sizeof(entry))
			continue;
		memcpy(entry, name, n);
		entry[n] = '\0';
		err = unc_names_add(names, entry);
		last = name;
		last_len = n;
	}
	return err;
}

static int list_tree(const struct unc_tree *tree, const char *path, struct unc_names *names)
{
	char *prefix;
	int err;

	if (!tree_has_dir(tree, path))
		return tree_file(tree, path) ? -ENOTDIR : -ENOENT;
	prefix = tree_prefix(path);
	if (!prefix)
		return -ENOMEM;
	err = list_tree_below(tree, prefix, names);
	free(prefix);
	return err;
}

/* A link to a directory is written as "link/" with its text; what is below it follows. */
static int link_in_tree(const struct unc_tree *tree, const char *path, char **out)
{
	char *name = tree_prefix(path);
	const struct unc_file *file = name ? tree_file(tree, name) : NULL;
	char *text = file ? strdup(file->text) : NULL;
	bool no_memory = !name || (file && !text);

	free(name);
	if (text) {
		*out = text;
		return 0;
	}
	if (no_memory)
		return -ENOMEM;
	return tree_file(tree, path) || tree_has_dir(tree, path) ? -EINVAL : -ENOENT;
}

/* ---- both ---- */

int unc_root_read_bytes(const struct unc_root *r, const char *path, size_t max, char **out,
			size_t *out_len)
{
	char *data = NULL;
	size_t len = 0;
	int err = r->tree ? read_from_tree(r->tree, path, max, &data, &len)
			  : read_from_dir(r, path, max, &data, &len);

	if (err || !data)
		return err ? err : -EIO;
	*out = data;
	*out_len = len;
	return 0;
}

/* Text: without NUL bytes. */
static int read_some(const struct unc_root *r, const char *path, size_t max, char **out,
		     size_t *out_len)
{
	char *data;
	size_t len;
	int err = unc_root_read_bytes(r, path, max, &data, &len);

	if (err)
		return err;
	if (memchr(data, '\0', len)) {
		free(data);
		return -EBADMSG;
	}
	*out = data;
	*out_len = len;
	return 0;
}

int unc_root_read(const struct unc_root *r, const char *path, char **out)
{
	char *data;
	size_t len;
	int err = read_some(r, path, LONGEST_FILE + 1, &data, &len);

	if (err)
		return err;
	if (len > LONGEST_FILE) {
		free(data);
		return -EFBIG;
	}
	*out = data;
	return 0;
}

int unc_root_read_start(const struct unc_root *r, const char *path, size_t max, char **out)
{
	size_t len;

	return read_some(r, path, max, out, &len);
}

int unc_root_read_line(const struct unc_root *r, const char *path, char **out)
{
	char *data, *line;
	int err = unc_root_read(r, path, &data);

	if (err)
		return err;
	line = strdup(unc_trim(data)); /* the buffer is much larger than what most files hold */
	free(data);
	if (!line)
		return -ENOMEM;
	*out = line;
	return 0;
}

int unc_root_link(const struct unc_root *r, const char *path, char **out)
{
	return r->tree ? link_in_tree(r->tree, path, out) : link_in_dir(r, path, out);
}

int unc_root_list(const struct unc_root *r, const char *path, struct unc_names *out)
{
	struct unc_names names = {0};
	int err = r->tree ? list_tree(r->tree, path, &names) : list_dir(r, path, &names);

	if (err) {
		unc_names_finish(&names);
		return err;
	}
	unc_names_sort(&names);
	*out = names;
	return 0;
}

int unc_root_open_file(const struct unc_root *r, const char *path, int flags)
{
	return r->tree ? -ENOENT : open_below(r, path, flags);
}

bool unc_root_exists(const struct unc_root *r, const char *path)
{
	int fd;

	if (r->tree)
		return tree_file(r->tree, path) || tree_has_dir(r->tree, path);
	fd = open_below(r, path, O_PATH);
	if (fd < 0)
		return false;
	close(fd);
	return true;
}
