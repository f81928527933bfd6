/* SPDX-License-Identifier: MIT */
/* The root below which /sys and /proc are read: a directory or a snapshot.
 * Nothing else in the library opens files of the machine. */
#ifndef UNC_ROOT_H
#define UNC_ROOT_H

#include "base/text.h"
#include <limits.h>

struct unc_root;
struct unc_tree;

/* A directory, or the file of a snapshot. -ENOENT, -ENOTDIR; -EINVAL: the file is no snapshot. */
int unc_root_open(struct unc_root **out, const char *path, struct unc_error *e);
int unc_root_open_dir(struct unc_root **out, const char *dir, struct unc_error *e);
/* A snapshot in memory; `name` is for sentences. */
int unc_root_open_text(struct unc_root **out, const char *name, const char *text, size_t len,
		       struct unc_error *e);
void unc_root_free(struct unc_root *r);

/* A path as printf() makes it, valid in the block: unc_root_read(r, UNC_PATH("proc/%d/stat", 1), &text). */
#define UNC_PATH(...) unc_path((char[PATH_MAX]){0}, __VA_ARGS__)
const char *unc_path(char into[PATH_MAX], const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* True when this is the running machine itself ("/"). */
bool unc_root_is_live(const struct unc_root *r);

/* ENOMEM, EMFILE or ENFILE: memory or descriptors ran out since this was asked last, and callers may have taken
 * something for absent; else 0. */
int unc_root_exhausted(struct unc_root *r);

/* The whole file as a NUL-terminated string to be freed by the caller, or a negative errno: -ENOENT
 * and -ENOTDIR when absent (no sentence is written: absence is often fine), -EACCES, -EFBIG over
 * 1 MiB, -EBADMSG when it begins with a NUL byte or text follows one. `path` is relative: "sys/bus/...". */
int unc_root_read(const struct unc_root *r, const char *path, char **out);
/* The same, trimmed of white space at both ends. */
int unc_root_read_line(const struct unc_root *r, const char *path, char **out);
/* At most the first `max` bytes, NUL bytes among them, also of files larger than 1 MiB: config space of
 * PCI devices, the beginning of /proc/cpuinfo, which may be megabytes. A NUL follows the last one. */
int unc_root_read_bytes(const struct unc_root *r, const char *path, size_t max, char **out,
			size_t *len);

/* The target of a link, to be freed by the caller. -EINVAL: it is no link; -ENOENT, ... */
int unc_root_link(const struct unc_root *r, const char *path, char **out);
/* The number that the file is, from 0 to `most`; `otherwise`: it is not known. */
int unc_root_read_int(const struct unc_root *r, const char *path, int most, int otherwise);

/* Names in a directory except "." and "..", sorted by strverscmp. -ENOENT, -ENOTDIR, ... */
int unc_root_list(const struct unc_root *r, const char *path, struct unc_names *out);
/* A descriptor with close-on-exec for a file that is not just read: a device. A negative errno. */
int unc_root_open_file(const struct unc_root *r, const char *path, int flags);
/* Replaces a file in a directory, which is made if nothing else is missing; users other than the owner can
 * read both. A reader finds the old file or the new one. Neither path may be a symbolic link, and no other
 * user may be able to write to the directory: -ELOOP or -ENOTDIR, -EPERM. -EROFS: a snapshot. */
int unc_root_replace(const struct unc_root *r, const char *dir, const char *name, const char *text,
		     struct unc_error *e);
/* Whether only root, or the owner of a root that is not "/", owns the file and can write to it. */
bool unc_root_is_trusted(const struct unc_root *r, const char *path);
bool unc_root_exists(const struct unc_root *r, const char *path);

/* Adds to `record` whatever is read from now on: with its contents, the links that lead there and the
 * names in its directory. NULL: ends that. */
void unc_root_record(struct unc_root *r, struct unc_tree *record);

/* ---- snapshot.c: a machine in memory, and the text file that a person can read, compare and send ---- */

#define UNC_SNAPSHOT_MOST ((size_t)64 << 20) /* bytes of a snapshot, and of all its contents */

/* When a path was recorded twice the entry with the lower kind says more. */
enum unc_kind { UNC_FILE, UNC_LINK, UNC_REFUSED, UNC_DIR, UNC_UNREAD };

struct unc_entry {
	char *path; /* "sys/bus/...", without links before the last part */
	enum unc_kind kind;
	/* UNC_FILE: contents, UNC_LINK: target, UNC_REFUSED: the name of the error that reading has; a NUL
	 * behind it */
	char *data;
	size_t len, line; /* line: of the snapshot */
};

/* Directories are those of the paths, and those with an entry of their own. All-zero is empty. */
struct unc_tree {
	struct unc_entry *entries; /* sorted by strcmp of path */
	size_t count;
	struct unc_names strings; /* what they point to */
	bool failed;              /* out of memory */
	const char *fault; /* why the machine could not be scanned, for a comment; NULL: it could */
};

/* Copies path and data. Unsorted until unc_tree_sort(). */
void unc_tree_add(struct unc_tree *t, enum unc_kind kind, const char *path, const char *data,
		  size_t len);
/* Keeps one entry of each path. */
void unc_tree_sort(struct unc_tree *t);
void unc_tree_finish(struct unc_tree *t);

/* NULL: there is none. The entry of a directory has no path when it has only those below it. */
const struct unc_entry *unc_tree_find(const struct unc_tree *t, const char *path);
/* -ENOENT, -ENOTDIR */
int unc_tree_list(const struct unc_tree *t, const char *path, struct unc_names *names);

/* Format: uncore-snapshot(1). -EINVAL with FILE:LINE, -EFBIG. */
int unc_snapshot_parse(struct unc_tree *out, const char *file, const char *text, size_t len,
		       struct unc_error *e);
void unc_snapshot_print(const struct unc_tree *t, struct unc_text *to);

#endif
