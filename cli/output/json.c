/* SPDX-License-Identifier: MIT */
/* JSON: a line for each record, null for an unknown value; documents with indentation. */
#include <math.h>

#include "output/output.h"

/* jansson prints all numbers of an object with equally many digits. 15 are more than any quotient
 * here is worth, and print 0.1 as 0.1; a large whole number is a count and stays exact. */
static int precision(const struct field *fields)
{
	for (const struct field *f = fields; f->name; f++)
		if (f->value.type == VALUE_REAL && isfinite(f->value.real) &&
		    rint(f->value.real) == f->value.real && fabs(f->value.real) >= 1e15)
			return 17;
	return 15;
}

void json_output_record(struct out *out, const struct field *fields)
{
	json_print(json_record(fields),
		   JSON_COMPACT | (size_t)JSON_REAL_PRECISION(precision(fields)), out->to);
}

void json_output_document(json_t *document, struct buffer *to)
{
	json_print(document, JSON_INDENT(2), to);
}
