/* SPDX-License-Identifier: MIT */
/* Files built into the library by tools/embed.py. */
#ifndef UNC_EMBEDDED_H
#define UNC_EMBEDDED_H

#include <stddef.h>

struct unc_file {
	const char *name; /* "intel-imc.yaml"; in a tree the path "sys/bus/..." */
	const char *text; /* a NUL behind it; config space holds others */
	size_t len;
};

struct unc_tree {
	const char *name;             /* "t410" */
	const struct unc_file *files; /* sorted by strcmp of name */
	size_t count;
};

extern const struct unc_file unc_embedded_data[]; /* data/<family>.yaml, sorted by name */
extern const size_t unc_embedded_data_count;
extern const struct unc_file unc_embedded_sims[]; /* data/sim/<name>.yaml */
extern const size_t unc_embedded_sims_count;
extern const struct unc_file unc_embedded_blocks[]; /* data/blocks/<name>.yaml */
extern const size_t unc_embedded_blocks_count;
extern const struct unc_tree unc_embedded_trees[]; /* machines that the sims need */
extern const size_t unc_embedded_trees_count;

#endif
