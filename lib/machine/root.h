/* SPDX-License-Identifier: MIT */
/* The root below which /sys and /proc are read: a directory or a snapshot. No other file of the
 * library opens files of the machine. */
#ifndef UNC_ROOT_H
#define UNC_ROOT_H

#include "base/text.h"
#include <limits.h>

struct unc_root;
struct unc_tree;

/* Opens a directory or the file of a snapshot. Returns 0, -ENOENT, -ENOTDIR, or -EINVAL if the file
 * is no snapshot. */
int unc_root_open(struct unc_root **out, const char *path, struct unc_error *e);
int unc_root_open_dir(struct unc_root **out, const char *dir, struct unc_error *e);
/* Opens a snapshot in memory. Error sentences contain `name`. */
int unc_root_open_text(struct unc_root **out, const char *name, const char *text, size_t len,
		       struct unc_error *e);
void unc_root_free(struct unc_root *r);

/* Formats a path like printf(). It is valid in the enclosing block: unc_root_read(r,
 * UNC_PATH("proc/%d/stat", 1), &text). */
#define UNC_PATH(...) unc_path((char[PATH_MAX]){0}, __VA_ARGS__)
const char *unc_path(char into[PATH_MAX], const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* True if this is the running machine itself ("/"). */
bool unc_root_is_live(const struct unc_root *r);
/* The name of the snapshot for sentences, which may be in a snapshot: without its directory, which
 * may name a user. NULL: the root is a directory. */
const char *unc_root_snapshot(const struct unc_root *r);

/* Returns ENOMEM, EMFILE or ENFILE if memory or descriptors ran out since the last call, so that
 * callers may have treated a file as absent; else 0. */
int unc_root_exhausted(struct unc_root *r);

/* Reads the whole file as a NUL-terminated string, which the caller frees. `path` is relative:
 * "sys/bus/...". Returns a negative errno otherwise: -ENOENT and -ENOTDIR if it is absent (without
 * a sentence, since absence is often normal), -EACCES, -EFBIG above 1 MiB, and -EBADMSG if it
 * begins with a NUL byte or has text after one. */
int unc_root_read(const struct unc_root *r, const char *path, char **out);
/* Reads the file, and trims white space at both ends. */
int unc_root_read_line(const struct unc_root *r, const char *path, char **out);
/* Reads at most the first `max` bytes, also of files larger than 1 MiB, and adds a NUL. Bytes may
 * be NUL, too. For the config space of PCI devices, and for the beginning of /proc/cpuinfo, which
 * may have megabytes. */
int unc_root_read_bytes(const struct unc_root *r, const char *path, size_t max, char **out,
			size_t *len);

/* Reads the target of a link, which the caller frees. Returns -EINVAL if it is no link, -ENOENT,
 * ... */
int unc_root_link(const struct unc_root *r, const char *path, char **out);
/* Reads a file that is one number from 0 to `most`; `otherwise` if it is anything else. */
int unc_root_read_int(const struct unc_root *r, const char *path, int most, int otherwise);

/* Lists the names in a directory except "." and "..", sorted by strverscmp. Returns 0, -ENOENT,
 * -ENOTDIR, ... */
int unc_root_list(const struct unc_root *r, const char *path, struct unc_names *out);
/* Opens a file, such as a device, with close-on-exec. Returns a descriptor or a negative errno. */
int unc_root_open_file(const struct unc_root *r, const char *path, int flags);
/* Opens a file for reading that must be a regular one: nothing else is opened, so that a path from
 * a stranger has no effect on a device and waits for no FIFO. On the running machine a link at its
 * end is not followed. -ELOOP for such a link, -EBADMSG for another kind. */
int unc_root_open_regular(const struct unc_root *r, const char *path);
/* The same below an open directory, whose name another one may have now. -ENOENT: `dir` is -1. */
int unc_root_open_below(int dir, const char *path, int flags);
/* Replaces a file in a directory. Makes the directory, but not its parents. All users can read
 * both. A concurrent reader finds either the old file or the new one. Returns -ELOOP or -ENOTDIR if
 * a path is a symbolic link, -EPERM if another user can write to the directory, -EROFS for a
 * snapshot. */
int unc_root_replace(const struct unc_root *r, const char *dir, const char *name, const char *text,
		     struct unc_error *e);
/* True if only root, or the owner of a root that is not "/", owns the file and can write to it. */
bool unc_root_is_trusted(const struct unc_root *r, const char *path);
bool unc_root_exists(const struct unc_root *r, const char *path);
/* Appends the existing paths that match the glob, whose parts may have wildcards, in the order of
 * their names. A directory that cannot be read has none. Returns 0 or -ENOMEM. */
int unc_root_glob(const struct unc_root *r, const char *glob, struct unc_names *out);
/* The same as unc_root_exists() at this moment: a record has what the path was when it was first
 * asked for. */
bool unc_root_still_has(const struct unc_root *r, const char *path);

/* From now on adds each path that is read to `record`, with its contents, the links that lead
 * there, and the names in its directory. NULL ends the recording. */
void unc_root_record(struct unc_root *r, struct unc_tree *record);

/* ---- snapshot.c: a machine in memory, and its text file, which people can read and send ---- */

/* Maximum bytes of a snapshot, and of all its contents. */
#define UNC_SNAPSHOT_MOST ((size_t)64 << 20)

/* If a path was recorded twice, the entry with the lower kind is kept: it has more information. */
enum unc_kind { UNC_FILE, UNC_LINK, UNC_REFUSED, UNC_DIR, UNC_UNREAD };

struct unc_entry {
	char *path; /* "sys/bus/...", without links before the last part */
	enum unc_kind kind;
	/* UNC_FILE: contents. UNC_LINK: target. UNC_REFUSED: the name of the error of reading it. A
	 * NUL follows. */
	char *data;
	size_t len, line; /* line: in the snapshot */
};

/* A directory exists if it has an entry of its own or contains one. All-zero is an empty tree. */
struct unc_tree {
	struct unc_entry *entries; /* sorted by strcmp of path */
	size_t count;
	struct unc_names strings; /* texts of the entries */
	bool failed;              /* out of memory */
	const char *fault; /* why the machine could not be scanned, for a comment; NULL: it could */
};

/* Adds an entry with copies of path and data. The tree is unsorted until unc_tree_sort(). */
void unc_tree_add(struct unc_tree *t, enum unc_kind kind, const char *path, const char *data,
		  size_t len);
/* Sorts the entries, and keeps one entry for each path. */
void unc_tree_sort(struct unc_tree *t);
void unc_tree_finish(struct unc_tree *t);

/* Finds an entry; NULL if there is none. A directory without an entry of its own gives one without
 * a path. */
const struct unc_entry *unc_tree_find(const struct unc_tree *t, const char *path);
/* Lists the names in a directory. Returns 0, -ENOENT or -ENOTDIR. */
int unc_tree_list(const struct unc_tree *t, const char *path, struct unc_names *names);

/* Parses a snapshot; uncore-snapshot(1) has the format. Returns 0, -EINVAL with FILE:LINE, or
 * -EFBIG. */
int unc_snapshot_parse(struct unc_tree *out, const char *file, const char *text, size_t len,
		       struct unc_error *e);
void unc_snapshot_print(const struct unc_tree *t, struct unc_text *to);

#endif
