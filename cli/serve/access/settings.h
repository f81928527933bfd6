/* SPDX-License-Identifier: MIT */
/* Texts in a file of YAML maps, with their lines. Anchors, tags, repeated keys and files over 1 MiB
 * are refused. */
#ifndef CLI_SETTINGS_H
#define CLI_SETTINGS_H

#include <stddef.h>

struct setting {
	char *name;       /* the keys of its maps and its own, joined by dots */
	char *text;       /* NULL: it is a list, or an empty map */
	int line, column; /* of the key, from 1 */
	int text_line, text_column;
};

struct settings {
	struct setting *items;
	size_t count;
};

/* Prints what is wrong, with the line. Returns an exit code. To be freed in any case. */
int settings_read(struct settings *out, const char *path);
void settings_free(struct settings *s);

#endif
