/* SPDX-License-Identifier: MIT */
/* What is known of the paths of a directory while reads are recorded, so that each is asked for
 * once. */
#ifndef UNC_KNOWN_H
#define UNC_KNOWN_H

#include "base/text.h"
#include <limits.h>

enum unc_what { UNC_NOT_KNOWN, UNC_IS_ABSENT, UNC_IS_LINK, UNC_IS_DIR, UNC_IS_FILE };

/* A path whose directories are no links. */
struct unc_known_path {
	char *path; /* NULL: a free place */
	enum unc_what what;
	bool listed;  /* a directory: the paths of all that it has are known */
	char *target; /* of a link; NULL: it was not read */
	/* Contents of a file, borrowed from the record. NULL: it was not read. */
	const char *data;
	size_t len;
	bool whole; /* these are all of its bytes */
};

/* All-zero is empty. */
struct unc_known {
	struct unc_known_path *paths; /* by a hash */
	size_t count, room;
	bool failed; /* out of memory: something was not kept */
};

/* What this path is. */
enum unc_what unc_known_what(const struct unc_known *k, const char *path);
/* The same; asks the directory if it is not known. */
enum unc_what unc_known_ask(struct unc_known *k, int dir, const char *path);
/* NULL: nothing is known of it. Valid until a path is added. */
struct unc_known_path *unc_known_find(const struct unc_known *k, const char *path);
/* Finds or adds the path. Without memory nothing is kept: NULL. */
struct unc_known_path *unc_known_add(struct unc_known *k, const char *path, enum unc_what what);
/* The length of the target of a link, which is read once; 0: it is no link. *is_new: it was read
 * now. */
size_t unc_known_target(struct unc_known *k, int dir, const char *path, char into[static PATH_MAX],
			bool *is_new);
void unc_known_finish(struct unc_known *k);

#endif
