/* SPDX-License-Identifier: MIT */
/* The output `json`: an object for each record, on a line. */
#include <math.h>
#include <string.h>

#include "base/cli.h"
#include "base/number.h"
#include "output/cells.h"
#include "output/output.h"

/* 15 digits are more than the accuracy of any ratio here, and print 0.1 as 0.1. A large whole
 * number is a count, and 17 digits keep it exact. */
static int precision(const struct value *v)
{
	double real = v->type == VALUE_REAL    ? v->real
		      : v->type == VALUE_COUNT ? (double)v->count
					       : 0;

	return fabs(real) >= 1e15 && rint(real) == real ? 17 : 15;
}

/* False: it needs escapes. */
static bool put_plain_text(const char *text, struct buffer *to)
{
	size_t len = 0;
	char *at;

	for (; text[len] >= ' ' && text[len] < 0x7f; len++)
		if (text[len] == '"' || text[len] == '\\')
			return false;
	if (text[len])
		return false;
	at = buffer_more(to, len + 2);
	at[0] = at[len + 1] = '"';
	memcpy(at + 1, text, len);
	return true;
}

/* False: it has an exponent. */
static bool put_plain_real(const struct value *v, struct buffer *to)
{
	bool whole = v->real >= 1 && v->real < 1e15 && (double)(int64_t)v->real == v->real;
	char number[REAL_ROOM];
	size_t len = whole ? text_count(number, (uint64_t)v->real)
			   : text_digits(number, v->real, precision(v));

	if (!whole && memchr(number, 'e', len))
		return false;
	buffer_add(to, number, len);
	if (whole || !memchr(number, '.', len))
		buffer_add(to, ".0", 2);
	return true;
}

/* Puts a value without jansson, whose object for each value would take most of the time of printing
 * an interval. False: only jansson can. */
static bool put_plain(const struct value *v, struct buffer *to)
{
	if (v->type == VALUE_TEXT && v->text)
		return put_plain_text(v->text, to);
	if (v->type == VALUE_REAL && isfinite(v->real))
		return put_plain_real(v, to);
	if (v->type == VALUE_JSON || (v->type == VALUE_COUNT && v->count > INT64_MAX))
		return false;
	if (v->type == VALUE_COUNT)
		buffer_count(to, v->count);
	else if (v->type == VALUE_ID && v->id >= 0)
		buffer_count(to, (uint64_t)v->id);
	else if (v->type == VALUE_FLAG)
		buffer_puts(to, v->flag ? "true" : "false");
	else
		buffer_add(to, "null", 4);
	return true;
}

/* Puts ,"name":value. jansson escapes only the first 32 characters of ASCII. Others that a terminal
 * must not get are cleaned here. */
static void put_member(struct buffer *to, const struct field *f)
{
	size_t len = strlen(f->name), start;
	char *at = buffer_more(to, len + 4);

	memcpy(at, ",\"", 2);
	memcpy(at + 2, f->name, len);
	memcpy(at + 2 + len, "\":", 2);
	start = to->len;
	if (put_plain(&f->value, to))
		return;
	json_append(json_value(&f->value),
		    JSON_ENCODE_ANY | JSON_COMPACT |
			    (size_t)JSON_REAL_PRECISION(precision(&f->value)),
		    to);
	to->len = start + cli_clean(to->data + start, to->len - start, "");
}

static void put_object(const struct field *fields, struct buffer *to)
{
	size_t start = to->len;

	for (const struct field *f = fields; f->name; f++)
		put_member(to, f);
	to->data[start] = '{';
	buffer_puts(to, "}");
}

void json_output_put(struct out *out, const struct field *f)
{
	put_member(out->to, f);
}

/* The inputs of the formula, from which a reader can calculate the value again. */
static void put_inputs(const struct out_row *row, struct buffer *to)
{
	const size_t count = uncore_sample_input_count(row->sample, row->index);

	for (size_t i = 0; i < count; i++) {
		const struct uncore_input *input =
			uncore_sample_input_at(row->sample, row->index, i);

		buffer_puts(to, i ? "," : "[");
		put_object(RECORD({"name", value_text(input->name)},
				  {"value", value_real(input->value)},
				  {"counters", value_count(input->counters)},
				  {"count", value_count(input->count)},
				  {"enabled_ns", value_count(input->enabled_ns)},
				  {"running_ns", value_count(input->running_ns)}),
			   to);
	}
	buffer_puts(to, "]");
}

void json_output_record(struct out *out, const struct field *fields)
{
	struct buffer *to = out->to;
	size_t start = to->len;

	to->records = true;
	cells_print(out, fields);
	to->data[start] = '{';
	if (out->row && out->row->sample && out->row->row->query->family) {
		buffer_puts(to, ",\"inputs\":");
		put_inputs(out->row, to);
	}
	buffer_add(to, "}\n", 2);
}

void json_output_document(json_t *document, struct buffer *to)
{
	json_print(document, JSON_INDENT(2), to);
}
