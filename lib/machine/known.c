/* SPDX-License-Identifier: MIT */
#include "machine/known.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_ROOM 1024 /* a power of two */

/* The place of the path, or the free one where it belongs. There is always a free one. */
static struct unc_known_path *place(const struct unc_known *k, const char *path, size_t len)
{
	size_t i = unc_hash(path, len) & (k->room - 1);

	while (k->paths[i].path &&
	       (strncmp(k->paths[i].path, path, len) != 0 || k->paths[i].path[len]))
		i = (i + 1) & (k->room - 1);
	return &k->paths[i];
}

static struct unc_known_path *find(const struct unc_known *k, const char *path, size_t len)
{
	struct unc_known_path *p = k->room ? place(k, path, len) : NULL;

	return p && p->path ? p : NULL;
}

struct unc_known_path *unc_known_find(const struct unc_known *k, const char *path)
{
	return find(k, path, strlen(path));
}

/* Only sysfs lists all that can be opened: below /proc there are threads, for example. */
enum unc_what unc_known_what(const struct unc_known *k, const char *path)
{
	const struct unc_known_path *p = unc_known_find(k, path);
	bool is_listed = strncmp(path, "sys/", 4) == 0;

	if (p)
		return p->what;
	for (size_t len = strlen(path); len--;) {
		if (path[len] != '/')
			continue;
		p = find(k, path, len);
		if (p)
			return p->what == UNC_IS_ABSENT || (p->listed && is_listed) ? UNC_IS_ABSENT
										    : UNC_NOT_KNOWN;
	}
	return UNC_NOT_KNOWN;
}

static bool grow(struct unc_known *k)
{
	struct unc_known new = {.room = k->room ? 2 * k->room : FIRST_ROOM};

	new.paths = calloc(new.room, sizeof(*new.paths));
	if (!new.paths)
		return false;
	for (size_t i = 0; i < k->room; i++)
		if (k->paths[i].path)
			*place(&new, k->paths[i].path, strlen(k->paths[i].path)) = k->paths[i];
	new.count = k->count;
	free(k->paths);
	*k = new;
	return true;
}

struct unc_known_path *unc_known_add(struct unc_known *k, const char *path, enum unc_what what)
{
	struct unc_known_path *p = unc_known_find(k, path);

	if (!p) {
		if (2 * k->count >= k->room && !grow(k)) {
			k->failed = true;
			return NULL;
		}
		p = place(k, path, strlen(path));
		p->path = strdup(path);
		if (!p->path) {
			k->failed = true;
			return NULL;
		}
		k->count++;
	}
	p->what = what;
	return p;
}

enum unc_what unc_known_ask(struct unc_known *k, int dir, const char *path)
{
	enum unc_what what = unc_known_what(k, path);
	struct stat st;

	if (what != UNC_NOT_KNOWN)
		return what;
	if (fstatat(dir, *path ? path : ".", &st, AT_SYMLINK_NOFOLLOW) == 0) {
		what = S_ISLNK(st.st_mode)   ? UNC_IS_LINK
		       : S_ISDIR(st.st_mode) ? UNC_IS_DIR
					     : UNC_IS_FILE;
	} else if (errno == ENOENT) {
		what = UNC_IS_ABSENT;
	}
	if (what != UNC_NOT_KNOWN)
		unc_known_add(k, path, what);
	return what;
}

size_t unc_known_target(struct unc_known *k, int dir, const char *path, char into[static PATH_MAX],
			bool *is_new)
{
	struct unc_known_path *p;
	size_t len;
	ssize_t n;

	*is_new = false;
	*into = '\0';
	if (unc_known_ask(k, dir, path) != UNC_IS_LINK)
		return 0;
	p = unc_known_add(k, path, UNC_IS_LINK);
	if (p && p->target) {
		len = strlen(p->target);
		memcpy(into, p->target, len + 1); /* it has been in such a buffer */
		return len;
	}
	n = readlinkat(dir, path, into, PATH_MAX - 1);
	into[n > 0 ? n : 0] = '\0';
	*is_new = n > 0;
	if (n > 0 && p)
		p->target = strdup(into);
	return strlen(into);
}

void unc_known_finish(struct unc_known *k)
{
	for (size_t i = 0; i < k->room; i++) {
		free(k->paths[i].path);
		free(k->paths[i].target);
	}
	free(k->paths);
	*k = (struct unc_known){0};
}
