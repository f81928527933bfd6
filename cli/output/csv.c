/* SPDX-License-Identifier: MIT */
/* CSV: one header line, always the same columns, an empty cell for an unknown value (RFC 4180). */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "output/output.h"

/* One cell and the separator behind it, which may be a control character: only the cell is cleaned. */
static void put_text(struct out *out, const char *text)
{
	size_t start = out->to->len;

	if (!strpbrk(text, "\"\r\n") && !strstr(text, out->setup.separator)) {
		buffer_puts(out->to, text);
	} else {
		buffer_puts(out->to, "\"");
		for (; *text; text++) {
			if (*text == '"')
				buffer_puts(out->to, "\"");
			buffer_add(out->to, text, 1);
		}
		buffer_puts(out->to, "\"");
	}
	if (out->to->len > start)
		out->to->len =
			start + cli_clean(out->to->data + start, out->to->len - start, "\n\t");
	buffer_puts(out->to, out->setup.separator);
}

/* The schema is that of JSON; "SIMULATED" stands before the source instead of in its own column. */
static bool is_column(const struct field *f)
{
	return strcmp(f->name, "schema") != 0 && strcmp(f->name, "simulated") != 0;
}

static void put_source(struct out *out, const char *source)
{
	char text[256];

	snprintf(text, sizeof(text), "SIMULATED %s", source);
	put_text(out, text);
}

static void put_value(struct out *out, const struct field *f)
{
	char number[REAL_ROOM] = "";

	switch (f->value.type) {
	case VALUE_TEXT:
		if (out->setup.simulated && strcmp(f->name, "source") == 0)
			put_source(out, f->value.text);
		else
			put_text(out, f->value.text ? f->value.text : "");
		return;
	case VALUE_FLAG:
		put_text(out, f->value.flag ? "true" : "false");
		return;
	case VALUE_REAL:
		text_real(number, f->value.real);
		break;
	case VALUE_COUNT:
		text_count(number, f->value.count);
		break;
	case VALUE_ID:
		if (f->value.id >= 0)
			text_count(number, (uint64_t)f->value.id);
		break;
	default: /* not known; lists have no place in a cell */
		break;
	}
	put_text(out, number);
}

static void end_line(struct out *out)
{
	out->to->len -= strlen(out->setup.separator);
	buffer_puts(out->to, "\n");
}

static void put_header(struct out *out, const struct field *fields)
{
	for (const struct field *f = fields; f->name; f++)
		if (is_column(f))
			put_text(out, f->name);
	end_line(out);
	out->setup.header = false;
}

void csv_output_record(struct out *out, const struct field *fields)
{
	out->to->records = true;
	if (out->setup.header)
		put_header(out, fields);
	for (const struct field *f = fields; f->name; f++)
		if (is_column(f))
			put_value(out, f);
	end_line(out);
}
