/* SPDX-License-Identifier: MIT */
/* Inside the parser of data files. Only for family*.c. */
#ifndef UNC_FAMILY_H
#define UNC_FAMILY_H

#include "catalogue/catalogue.h"

/* What a family is parsed with. */
struct unc_family_parser {
	struct unc_family *family;
	const struct unc_yaml_file *file;
	const struct unc_yaml *models; /* NULL: holds for every CPU */
	const char *cpu_model;
	struct unc_error *e;
};

/* Where the key stands; a node's own position is that of its value. */
struct unc_yaml unc_family_key(const struct unc_yaml *node);
/* A place in a scalar: exact where that is written as it is read, else where the scalar begins. */
struct unc_yaml unc_family_position(const struct unc_yaml *scalar, size_t offset);

/* Text of a key that may be absent, but not empty. */
int unc_family_text(const struct unc_family_parser *p, const struct unc_yaml *map, const char *key,
		    const char **out);

/* True when a list of words, separated by blanks, has the word. */
bool unc_family_word_in(const char *list, const char *word);
/* Every word of `list` must be a model's name; true in *holds when one of them is this CPU. */
int unc_family_models_hold(const struct unc_family_parser *p, const struct unc_yaml *list,
			   bool *holds);

/*
 * What holds on this CPU model: the node itself, or the first of its `cases` whose `when` does;
 * NULL when none does. Every case is checked by `check`, also those for other models. `keys` are
 * those of a case.
 */
int unc_family_choose(const struct unc_family_parser *p, const struct unc_yaml *node,
		      const char *const *keys,
		      int (*check)(const struct unc_family_parser *, const struct unc_yaml *),
		      const struct unc_yaml **chosen);

/* A map of words to texts, all of it. The array is the caller's. */
int unc_family_words(const struct unc_family_parser *p, const struct unc_yaml *node,
		     struct unc_word **out, size_t *count);
/* The value must be a list of format terms. */
int unc_family_terms(const struct unc_family_parser *p, const struct unc_yaml *value);

/* What rows say of the other end, and what restricts events. Both may be absent: `node` NULL. */
int unc_family_peer(struct unc_family_parser *p, const struct unc_yaml *node);
int unc_family_role(struct unc_family_parser *p, const struct unc_yaml *node);
int unc_family_filters(struct unc_family_parser *p, const struct unc_yaml *node);

/* Which root ports a PMU counts; may be absent. */
int unc_family_ports(struct unc_family_parser *p, const struct unc_yaml *node);

/* The parts of a family; rules after the events, which they name. */
int unc_family_events(struct unc_family_parser *p, const struct unc_yaml *node);
int unc_family_metrics(struct unc_family_parser *p, const struct unc_yaml *node);
int unc_family_rules(struct unc_family_parser *p, const struct unc_yaml *node);

#endif
