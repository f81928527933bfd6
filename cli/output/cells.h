/* SPDX-License-Identifier: MIT */
/* The cells of records. In the record of a row most of them are as they were an interval ago, and
 * the clocks are as in the record above: these are copied, and only the others are made. */
#ifndef CLI_CELLS_H
#define CLI_CELLS_H

#include "output/output.h"

/* The latest record of a row. */
struct cells {
	struct cell {
		const char *name;   /* NULL: never the same */
		uint64_t bits;      /* of a number */
		char *text;         /* a copy */
		uint32_t text_room; /* of it */
		uint32_t end;       /* in the line */
		enum value_type type;
		bool has_text;
	} all[OUT_FIELDS_ROOM];
	size_t count;
	struct buffer line;
};

/* Appends the cells of a record to out->to. `put` makes one: its text depends on the field and on
 * what all records have in common, and on nothing else. */
void cells_print(struct out *out, const struct field *fields,
		 void (*put)(struct out *out, const struct field *field));
void cells_free(struct cells *cells, size_t count);

#endif
