/* SPDX-License-Identifier: MIT */
/* Pure text work of a PMU: `format/` contents, values into bits, alias contents. Fuzzed. */
#ifndef UNC_FORMAT_H
#define UNC_FORMAT_H

#include "base/error.h"
#include <stdbool.h>
#include <stdint.h>

struct unc_config {
	uint64_t word[4];
};

/* "config1:0-7,21" -> word 1 and its bits. "config1" alone is the whole word. Decimal bit numbers
 * 0..63, ranges ascending or reversed; overlap is allowed. -EINVAL. */
int unc_format_parse(const char *text, int *word, uint64_t *bits);

/* Puts `value` into the bits, lowest listed bit first, as perf does; replaces what those bits held.
 * -ERANGE (nothing written) when it is wider than the field. */
int unc_format_put(uint64_t bits, uint64_t value, uint64_t *word);

/* One "name", "name=value" or "name=?" of a term list. */
struct unc_assignment {
	char name[64];
	char value[128]; /* "" when there was no '=' */
	bool has_value;
};

/* Takes the next assignment from a comma-separated list and moves *text past it and its comma. 1:
 * one was taken, 0: end of list, -EINVAL: not an assignment (empty name or value, name or value too
 * long, nothing after a comma, ...). White space around names and values is ignored. A value may
 * be between single quotation marks, and then contain anything else. */
int unc_assignment_next(const char **text, struct unc_assignment *out);

#endif
