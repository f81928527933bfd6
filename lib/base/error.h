/* SPDX-License-Identifier: MIT */
/* The sentence that goes with a negative errno. */
#ifndef UNC_ERROR_H
#define UNC_ERROR_H

#include <errno.h>
#include <stddef.h>

struct unc_error {
	char text[2048];
	int exhausted; /* ENOMEM after unc_nomem(): what was found since then may be incomplete */
};

/* Writes the sentence and is -err. `e` may be NULL. Usage: return unc_fail(e, EINVAL, "..."). That it is not 0 can be
 * seen here, by a reader and by a static analyzer. */
#define unc_fail(e, err, ...) unc_negative((unc_error_write((e), __VA_ARGS__), (err)))

static inline int unc_negative(int err)
{
	return -err;
}

void unc_error_write(struct unc_error *e, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Appends to the sentence that is there (for hints and context). Truncates, never overflows. */
void unc_error_append(struct unc_error *e, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The usual sentence for -ENOMEM. */
static inline int unc_nomem(struct unc_error *e)
{
	if (e)
		e->exhausted = ENOMEM;
	return unc_fail(e, ENOMEM, "out of memory");
}

/* "No such file or directory" for ENOENT or -ENOENT, in no locale; never NULL. */
const char *unc_errno_text(int err);
/* "EINVAL" for EINVAL or -EINVAL; "an unknown error". */
const char *unc_errno_name(int err);
/* -EINVAL for "EINVAL"; 0 for no such name. */
int unc_errno_number(const char *name);

#endif
