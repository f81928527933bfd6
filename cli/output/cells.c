/* SPDX-License-Identifier: MIT */
#include "output/cells.h"

#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "output/output.h"

#define SHORT_TEXT 16   /* enough for the name of any quality */
#define REASON_ROOM 256 /* spare bytes of a kept line, for a reason or longer numbers */

/* The bits of a number. Compared as bits, -0 differs from 0 and NaN equals NaN. */
static uint64_t bits_of(const struct value *v)
{
	uint64_t bits = 0;

	if (v->type == VALUE_REAL)
		memcpy(&bits, &v->real, sizeof(bits));
	else if (v->type == VALUE_COUNT)
		bits = v->count;
	else if (v->type == VALUE_ID)
		bits = (uint64_t)v->id;
	else if (v->type == VALUE_FLAG)
		bits = v->flag;
	return bits;
}

static bool is_same(const struct cell *c, const struct field *f)
{
	const struct value *v = &f->value;

	if (c->name != f->name || c->type != v->type)
		return false;
	if (v->type == VALUE_TEXT)
		return v->text && c->has_text ? strcmp(v->text, c->text) == 0
					      : !v->text && !c->has_text;
	return v->type != VALUE_JSON && c->bits == bits_of(v);
}

/* Allocates memory only for the first text of a cell, since allocating could delay a reading. A
 * later text that is longer is not kept, and is made each time. */
static void keep(struct cell *c, const struct field *f)
{
	const char *text = f->value.type == VALUE_TEXT ? f->value.text : NULL;
	size_t size = text ? strlen(text) + 1 : 0;

	if (f->value.type == VALUE_TEXT && !c->text) {
		c->text_room = size > SHORT_TEXT ? (uint32_t)size : SHORT_TEXT;
		c->text = cli_realloc(c->text, c->text_room, 1);
	}
	c->name = size <= c->text_room ? f->name : NULL;
	c->type = f->value.type;
	c->bits = bits_of(&f->value);
	c->has_text = text;
	if (size && c->name)
		memcpy(c->text, text, size);
}

/* Copies the cell from the record above when it has the same value. False: it differs. */
static bool copy(struct buffer *to, const struct cells *above, size_t i, const struct field *f)
{
	size_t begin;

	if (!above || i >= above->count || !is_same(&above->all[i], f))
		return false;
	begin = i ? above->all[i - 1].end : 0;
	buffer_add(to, above->line.data + begin, above->all[i].end - begin);
	return true;
}

static void print(struct out *out, struct cells *kept, const struct cells *above,
		  const struct field *fields,
		  void (*put)(struct out *out, const struct field *field))
{
	struct buffer *to = out->to, *line = &kept->line;
	const size_t start = to->len;
	const bool first = !kept->count;
	const bool fixed = kept->query == out->row->row->query &&
			   kept->place == out->row->row->place && !out->frame.recorded;
	size_t from = 0, end = 0; /* the piece of the kept line that is copied next */
	size_t count = 0;

	for (; fields[count].name; count++) {
		const struct field *f = &fields[count];
		struct cell *c = &kept->all[count];
		const size_t begin = end;

		end = count < kept->count ? c->end : end;
		if (count < kept->count && ((fixed && f->value.fixed) || is_same(c, f))) {
			c->end = (uint32_t)(to->len - start + end - from);
			continue;
		}
		buffer_add(to, line->data + from, begin - from);
		from = end;
		if (!copy(to, above, count, f))
			put(out, f);
		keep(c, f);
		c->end = (uint32_t)(to->len - start);
	}
	buffer_add(to, line->data + from, end - from);
	kept->count = count;
	kept->query = out->row->row->query;
	kept->place = out->row->row->place;
	if (first)
		buffer_more(line, to->len - start + REASON_ROOM);
	line->len = 0;
	buffer_add(line, to->data + start, to->len - start);
}

void cells_print(struct out *out, const struct field *fields,
		 void (*put)(struct out *out, const struct field *field))
{
	size_t at = out->row ? (size_t)(out->row - out->rows) : 0;

	for (; !out->row && fields->name; fields++)
		put(out, fields);
	if (!out->row)
		return;
	if (at >= out->cell_count) {
		out->cells = cli_realloc(out->cells, out->row_count, sizeof(*out->cells));
		memset(out->cells + out->cell_count, 0,
		       (out->row_count - out->cell_count) * sizeof(*out->cells));
		out->cell_count = out->row_count;
	}
	print(out, &out->cells[at], at ? &out->cells[at - 1] : NULL, fields, put);
}

void cells_free(struct cells *cells, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < OUT_FIELDS_ROOM; k++)
			free(cells[i].all[k].text);
		buffer_free(&cells[i].line);
	}
	free(cells);
}
