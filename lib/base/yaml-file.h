/* SPDX-License-Identifier: MIT */
/* A strict loader for the YAML that data files use: maps, lists and text; nothing is guessed from
 * a scalar's looks. Refused with file:line:col: anchors, aliases, tags, a second document,
 * duplicate or empty keys, more than 16 levels, files over 1 MiB, invalid UTF-8. Fuzzed.
 * Not called yaml.h, which is libyaml's own header. */
#ifndef UNC_YAML_FILE_H
#define UNC_YAML_FILE_H

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>

enum unc_yaml_kind { UNC_YAML_TEXT, UNC_YAML_LIST, UNC_YAML_MAP };

struct unc_yaml {
	enum unc_yaml_kind kind;
	char *key; /* this node's key in its map, or NULL */
	int key_line, key_col;
	char *text;                /* kind TEXT */
	bool plain;                /* TEXT: on one line, without quotes: text[i] is at col + i */
	struct unc_yaml *children; /* kinds LIST and MAP, in file order */
	size_t count;
	int line, col; /* 1-based, of the value */
};

struct unc_yaml_file {
	char *name; /* as shown in errors */
	struct unc_yaml *root;
};

/* -EBADMSG with a sentence, -ENOMEM. An empty file is -EBADMSG. */
int unc_yaml_parse(struct unc_yaml_file **out, const char *name, const char *text, size_t len,
		   struct unc_error *e);
/* From disk (data files only; files of the machine go through root.h). -ENOENT, -EACCES, ... */
int unc_yaml_load(struct unc_yaml_file **out, const char *path, struct unc_error *e);
void unc_yaml_free(struct unc_yaml_file *f);

/* NULL when `map` has no such key, or is no map. Typed access is in fill.h. */
const struct unc_yaml *unc_yaml_get(const struct unc_yaml *map, const char *key);

#endif
