/* SPDX-License-Identifier: MIT */
/* The sentence that goes with a negative errno. */
#ifndef UNC_ERROR_H
#define UNC_ERROR_H

#include <stddef.h>

struct unc_error {
	char text[2048];
	int exhausted; /* ENOMEM after unc_nomem(): what was found since then may be incomplete */
};

/* Writes the sentence and returns -err. `e` may be NULL. Usage: return unc_fail(e, EINVAL, "..."). */
int unc_fail(struct unc_error *e, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Appends to the sentence that is there (for hints and context). Truncates, never overflows. */
void unc_error_append(struct unc_error *e, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The usual sentence for -ENOMEM. */
int unc_nomem(struct unc_error *e);

/* "No such file or directory" for ENOENT or -ENOENT, in no locale; never NULL. */
const char *unc_errno_text(int err);
/* "EINVAL" for EINVAL or -EINVAL; "an unknown error". */
const char *unc_errno_name(int err);
/* EINVAL for "EINVAL"; 0 for no such name. */
int unc_errno_number(const char *name);

#endif
