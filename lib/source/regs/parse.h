/* SPDX-License-Identifier: MIT */
/* Inside the parser of register blocks. Only for regs-*.c. */
#ifndef UNC_REGS_PARSE_H
#define UNC_REGS_PARSE_H

#include "source/regs/regs.h"

struct unc_regs_parser {
	struct unc_regs *r;
	const struct unc_yaml_file *file;
	struct unc_error *e;
};

/* Values of keys; all leave *out as it was when there is no such key. */

/* A word of a closed list; its place in the list is its value. */
int unc_regs_word(const struct unc_regs_parser *p, const struct unc_yaml *map, const char *key,
		  const char *const *words, unsigned *out);
/* A whole number within bounds. */
int unc_regs_number(const struct unc_regs_parser *p, const struct unc_yaml *map, const char *key,
		    const uint64_t bounds[2], uint64_t *out);
/* A number above 0. */
int unc_regs_positive(const struct unc_regs_parser *p, const struct unc_yaml *map, const char *key,
		      double *out);
/* Text for people, on one line and not empty. */
int unc_regs_line(const struct unc_regs_parser *p, const struct unc_yaml *map, const char *key,
		  const char **out);
/* Lower case letters, digits and the given others; begins with a letter. */
int unc_regs_name(const struct unc_regs_parser *p, const struct unc_yaml *map, const char *key,
		  const char *others, const char **out);
bool unc_regs_is_name(const char *text, const char *others);

/* Parts of a block, in this order: before its counters, and after. */
int unc_regs_parse_controls(const struct unc_regs_parser *p);
int unc_regs_parse_clock(const struct unc_regs_parser *p);
int unc_regs_parse_histogram(const struct unc_regs_parser *p);

#endif
