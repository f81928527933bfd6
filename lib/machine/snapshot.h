/* SPDX-License-Identifier: MIT */
/* A machine in memory, and the text file that a person can read, compare and send. */
#ifndef UNC_SNAPSHOT_H
#define UNC_SNAPSHOT_H

#include "base/text.h"

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
