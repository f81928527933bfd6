/* SPDX-License-Identifier: MIT */
/* A strict loader for the YAML that data files use: maps, lists and text; nothing is guessed from
 * a scalar's looks. Refused with file:line:col: anchors, aliases, tags, a second document,
 * duplicate or empty keys, more than 16 levels or 4096 entries, files over 1 MiB, invalid UTF-8. Fuzzed.
 * Not called yaml.h, which is libyaml's own header. */
#ifndef UNC_YAML_FILE_H
#define UNC_YAML_FILE_H

#include "base/text.h"
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

/* ---- files built into the library by tools/embed.py ---- */

struct unc_file {
	const char *name; /* "intel-imc.yaml"; of simulations, blocks and machines "t410" */
	const char *text; /* a NUL behind it */
	size_t len;
};

/* A way to recognise the PMUs of a family. */
struct unc_pattern {
	const char *name;       /* "uncore_imc_{channel}": each {word} stands for a number */
	const char *identifier; /* such a pattern, or NULL */
};

/* What tells whether a machine has PMUs of a data file, so that only those files are parsed. */
struct unc_index {
	const char *family;
	const struct unc_pattern *pmus;
	size_t count;
};

extern const struct unc_file unc_embedded_data[]; /* data/<family>.yaml, sorted by name */
extern const size_t unc_embedded_data_count;
extern const struct unc_index unc_embedded_index[]; /* one for each of unc_embedded_data */
extern const struct unc_file unc_embedded_sims[];   /* data/sim/<name>.yaml */
extern const size_t unc_embedded_sims_count;
extern const struct unc_file unc_embedded_blocks[]; /* data/blocks/<name>.yaml */
extern const size_t unc_embedded_blocks_count;
extern const struct unc_file unc_embedded_machines[]; /* snapshots that the sims need */
extern const size_t unc_embedded_machines_count;

/* True for a path, false for the name of a built-in file. */
bool unc_is_path(const char *spec);
/* The file of this path, or the built-in one of this name; `what` is in the sentence: "simulation".
 * -ENOENT, and the errors of unc_yaml_load(). */
int unc_load_named(struct unc_yaml_file **out, const char *spec, const struct unc_file *files,
		   size_t count, const char *what, struct unc_error *e);

#endif
