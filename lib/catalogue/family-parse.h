/* SPDX-License-Identifier: MIT */
/* Inside the parser of data files. Only for family*.c. */
#ifndef UNC_FAMILY_PARSE_H
#define UNC_FAMILY_PARSE_H

#include "catalogue/family.h"

/* What a family is parsed with: the context of its reader. */
struct unc_family_parser {
	struct unc_family *family;
	const struct unc_yaml *models; /* NULL: holds for every CPU */
	const char *cpu_model;
};

/* True when a list of words, separated by blanks, has the word. */
bool unc_family_word_in(const char *list, const char *word);
/* Every word of `list` must be a model's name; true in *holds when one of them is this CPU. */
int unc_family_models_hold(const struct unc_reader *r, const struct unc_yaml *list, bool *holds);
/*
 * Fills `item` with the first of its cases whose `when` holds on this CPU; keys that a case does not have
 * stay as they are. Every case is checked, also those for other models. `drop` frees what a case that
 * does not hold has allocated; NULL: nothing. *found is false when none holds.
 */
int unc_family_cases(const struct unc_reader *r, const struct unc_yaml *map,
		     const struct unc_shape *shape, void *item, void (*drop)(void *item),
		     bool *found);
/* The value must be a list of format terms. */
unc_read unc_family_terms;
/* The name of a file of the PMU, with or without {die}. */
int unc_family_die_file(const struct unc_reader *r, const struct unc_yaml *node);

/* Parts of a family; `into` is the family. */
unc_read unc_family_filters;
unc_read unc_family_ports;
unc_read unc_family_rules; /* after the events, which they name */

extern const struct unc_shape unc_event_shape;
extern const struct unc_shape unc_metric_shape; /* after the events */
void unc_metric_finish(void *metric);

#endif
