/* SPDX-License-Identifier: MIT */
/* Reads the texts of a YAML file of maps, with their lines. It refuses anchors, tags, repeated keys
 * and files over 1 MiB. */
#ifndef CLI_SETTINGS_H
#define CLI_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

struct setting {
	char *name;       /* its key, after those of the maps around it: "tls.key_file" */
	char *text;       /* NULL: it is a list or a map */
	bool above;       /* a map with settings, which follow */
	int line, column; /* of the key, from 1 */
	int text_line, text_column;
};

struct settings {
	struct setting *items;
	size_t count;
};

/* Prints an error with its line. Returns an exit code. Call settings_free() in any case. */
int settings_read(struct settings *out, const char *path);
void settings_free(struct settings *s);

#endif
