/* SPDX-License-Identifier: MIT */
/* The cells of records. Most cells of a row are the same as an interval ago, and its clocks are
 * those of the record above. These cells are copied, and only the others are made. */
#ifndef CLI_CELLS_H
#define CLI_CELLS_H

#include "base/buffer.h"
#include "base/json.h"

struct out;

#define OUT_FIELDS_ROOM 64 /* a record of a row has fewer fields */

/* The latest record of a row. */
struct cells {
	struct cell {
		const char *name;   /* of its field; NULL: the text was not kept */
		uint64_t bits;      /* bits_of() a number */
		char *text;         /* the cell's own copy */
		uint32_t text_room; /* allocated bytes of `text` */
		uint32_t end;       /* where the cell ends in `line` */
		enum value_type type;
		bool has_text;
	} all[OUT_FIELDS_ROOM];
	size_t count;
	/* The row's. Fixed cells are those of these two, which must stay allocated meanwhile: a
	 * sink that prints rows changes no plan. */
	const void *query, *place;
	struct buffer line;
};

/* Appends the cells of a record to out->to. `put` makes a cell. Its text may depend only on the
 * field and on what all records have in common, since it is kept. */
void cells_print(struct out *out, const struct field *fields,
		 void (*put)(struct out *out, const struct field *field));
void cells_free(struct cells *cells, size_t count);

#endif
