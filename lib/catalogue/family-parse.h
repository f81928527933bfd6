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
	bool holds; /* on this CPU: true, until a `when` is read. Who looks at it sets it back to true. */
};

/* Names of the file's models: one of them must be this CPU for `holds` of the parser. */
unc_read unc_family_when;
/*
 * Fills `item` with the first of its cases that holds on this CPU; keys that a case does not have stay as
 * they are. Every case is checked, also those for other models. `drop` frees what a case that does not
 * hold has allocated; NULL: nothing. *found is false when none holds.
 */
int unc_family_cases(const struct unc_reader *r, const struct unc_yaml *map,
		     const struct unc_shape *shape, void *item, void (*drop)(void *item),
		     bool *found);
/* The value must be a list of format terms. */
unc_read unc_family_terms;
/* The name of a file of the PMU, with or without {die}. */
unc_read unc_family_file;
/* NULL: the family has no such event. */
const struct unc_event_def *unc_family_event(const struct unc_family *f, const char *name);

extern const struct unc_shape unc_filters_shape, unc_port_shape, unc_event_shape;
extern const struct unc_shape unc_rule_shape, unc_metric_shape; /* after the events */
void unc_metric_finish(void *metric);

#endif
