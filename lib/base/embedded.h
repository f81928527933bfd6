/* SPDX-License-Identifier: MIT */
/* Files built into the library by tools/embed.py. */
#ifndef UNC_EMBEDDED_H
#define UNC_EMBEDDED_H

#include <stdbool.h>
#include <stddef.h>

struct unc_file {
	const char *name; /* "intel-imc.yaml"; of simulations, blocks and machines "t410" */
	const char *text; /* a NUL behind it */
	size_t len;
};

/* What tells whether a machine has PMUs of a data file, so that only those files are parsed. */
struct unc_index {
	const char *family;
	const char *const *pmus; /* how to recognise them: name, identifier or NULL, name, ... */
	size_t count;            /* of names */
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

struct unc_yaml_file;
struct unc_error;

/* True for a path, false for the name of a built-in file. */
bool unc_is_path(const char *spec);
/* The file of this path, or the built-in one of this name; `what` is in the sentence: "simulation".
 * -ENOENT, and the errors of unc_yaml_load(). */
int unc_load_named(struct unc_yaml_file **out, const char *spec, const struct unc_file *files,
		   size_t count, const char *what, struct unc_error *e);

#endif
