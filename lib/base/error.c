/* SPDX-License-Identifier: MIT */
/* The sentence that goes with a negative errno. */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ERRNO_END 4096 /* as in the kernel's IS_ERR_VALUE */

static void put(char *into, size_t room, const char *fmt, va_list args)
	__attribute__((format(printf, 3, 0)));

/* Formats beside the buffer first: the arguments may point into the sentence they replace. */
static void put(char *into, size_t room, const char *fmt, va_list args)
{
	char text[sizeof(((struct unc_error *)0)->text)];
	size_t len;

	if (vsnprintf(text, sizeof(text), fmt, args) < 0)
		text[0] = '\0';
	len = strlen(text);
	if (len >= room)
		len = room - 1;
	memcpy(into, text, len);
	into[len] = '\0';
}

void unc_error_write(struct unc_error *e, const char *fmt, ...)
{
	va_list args;

	if (!e)
		return;
	va_start(args, fmt);
	put(e->text, sizeof(e->text), fmt, args);
	va_end(args);
}

void unc_error_append(struct unc_error *e, const char *fmt, ...)
{
	va_list args;
	size_t len;

	if (!e)
		return;
	len = strlen(e->text);
	va_start(args, fmt);
	put(e->text + len, sizeof(e->text) - len, fmt, args);
	va_end(args);
}

const char *unc_errno_text(int err)
{
	const char *text = strerrordesc_np(abs(err));

	return text ? text : "unknown error";
}

const char *unc_errno_name(int err)
{
	const char *name = strerrorname_np(abs(err));

	return name ? name : "an unknown error";
}

int unc_errno_number(const char *name)
{
	for (int err = 1; err < ERRNO_END; err++) {
		const char *known = strerrorname_np(err);

		if (known && strcmp(known, name) == 0)
			return -err;
	}
	return 0;
}
