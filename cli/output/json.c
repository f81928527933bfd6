/* SPDX-License-Identifier: MIT */
/* JSON: values and records as objects, where null is an unknown value; a line for each record, and documents with
 * indentation. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "output/cells.h"
#include "output/number.h"
#include "output/output.h"

json_t *json_hex(uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)value);
	return json_string(text);
}

/* Text that is not UTF-8, such as an event's name as the user typed it, is printed with '?'. */
json_t *json_text(const char *text)
{
	json_t *value;
	char *copy;

	if (!text)
		return json_null();
	value = json_string(text);
	if (value)
		return value;
	copy = cli_copy(text);
	for (char *c = copy; *c; c++)
		*c = (unsigned char)*c < 0x80 ? *c : '?';
	value = json_string(copy);
	free(copy);
	return value;
}

static json_t *json_of(const struct value *v)
{
	switch (v->type) {
	case VALUE_TEXT:
		return json_text(v->text);
	case VALUE_REAL:
		return isfinite(v->real) ? json_real(v->real) : json_null();
	case VALUE_COUNT:
		return v->count <= INT64_MAX ? json_integer((json_int_t)v->count)
					     : json_real((double)v->count);
	case VALUE_ID:
		return v->id < 0 ? json_null() : json_integer(v->id);
	case VALUE_FLAG:
		return json_boolean(v->flag);
	case VALUE_JSON:
		return v->json;
	default:
		return json_null();
	}
}

void json_add(json_t *object, const struct field *fields)
{
	for (const struct field *f = fields; f->name; f++)
		json_object_set_new_nocheck(object, f->name, json_of(&f->value));
}

json_t *json_record(const struct field *fields)
{
	json_t *object = json_object();

	json_add(object, fields);
	return object;
}

void json_push(json_t *array, json_t *value)
{
	json_array_append_new(array, value);
}

json_t *json_hex_list(const uint64_t *values, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++)
		json_push(array, json_hex(values[i]));
	return array;
}

json_t *json_document(const struct uncore *u, const struct field *fields)
{
	json_t *document = json_record(RECORD({"schema", value_count(JSON_SCHEMA)},
					      {"source", value_text(uncore_source(u))},
					      {"simulated", value_flag(uncore_is_simulated(u))}));

	json_add(document, fields);
	return document;
}

static json_t *alternatives(const struct uncore_metric *m)
{
	const struct uncore_alternative *a;
	json_t *array = json_array();

	for (size_t i = 0; (a = uncore_metric_alternative_at(m, i)); i++)
		json_push(array, json_record((const struct field[]){
					 {"factor", value_real(a->factor)},
					 {"title", value_text(a->title)},
					 {"evidence", value_text(a->evidence)},
					 {0},
				 }));
	return array;
}

json_t *json_metric(const struct uncore_metric *m)
{
	return json_record((const struct field[]){
		{"name", value_text(uncore_metric_name(m))},
		{"title", value_text(uncore_metric_title(m))},
		{"unit", value_text(uncore_metric_unit(m))},
		{"family", value_text(uncore_metric_family(m))},
		{"formula", value_text(uncore_metric_formula(m))},
		{"evidence", value_text(uncore_metric_evidence(m))},
		{"missing", value_text(uncore_metric_missing(m))},
		{"kernel_bug", value_text(uncore_metric_kernel_bug(m))},
		{"kernel_note", value_text(uncore_metric_kernel_note(m))},
		{"doubt", value_text(uncore_metric_doubt(m))},
		{"alternatives", value_json(alternatives(m))},
		{0},
	});
}

static int append(const char *text, size_t len, void *to)
{
	buffer_add(to, text, len);
	return 0;
}

/* Appends the text and frees the value. */
static void put(json_t *value, size_t flags, struct buffer *to)
{
	json_dump_callback(value, append, to, flags);
	json_decref(value);
}

/* jansson escapes the first 32 characters only. */
void json_print(json_t *value, size_t flags, struct buffer *to)
{
	size_t start = to->len;

	put(value, flags, to);
	to->records = true;
	to->len = start + cli_clean(to->data + start, to->len - start, "\n");
	buffer_puts(to, "\n");
}

/* ---- the output `json` ---- */

/* 15 digits are more than any quotient here is worth, and print 0.1 as 0.1; a large whole number is a count and stays
 * exact. */
static int precision(const struct value *v)
{
	double real = v->type == VALUE_REAL    ? v->real
		      : v->type == VALUE_COUNT ? (double)v->count
					       : 0;

	return rint(real) == real && fabs(real) >= 1e15 ? 17 : 15;
}

/* Without jansson, which makes an object of each value: that would take most of the time of printing an interval. False:
 * text that needs escapes, or a number with an exponent. */
static bool put_plain(const struct value *v, struct buffer *to)
{
	const char *text = v->type == VALUE_TEXT ? v->text : NULL;
	char number[REAL_ROOM + 4], *at;
	size_t len = 0;

	for (; text && text[len] >= ' ' && text[len] < 0x7f; len++)
		if (text[len] == '"' || text[len] == '\\')
			return false;
	if (v->type == VALUE_JSON || (text && text[len]))
		return false;
	if (text) {
		at = buffer_more(to, len + 2);
		at[0] = at[len + 1] = '"';
		memcpy(at + 1, text, len);
	} else if (v->type == VALUE_FLAG) {
		buffer_puts(to, v->flag ? "true" : "false");
	} else if (v->type == VALUE_COUNT && v->count <= INT64_MAX) {
		buffer_add(to, number, text_count(number, v->count));
	} else if (v->type == VALUE_ID && v->id >= 0) {
		buffer_add(to, number, text_count(number, (uint64_t)v->id));
	} else if (v->type == VALUE_REAL && v->real >= 1 && v->real < 1e15 &&
		   floor(v->real) == v->real) {
		len = text_count(number, (uint64_t)v->real);
		memcpy(number + len, ".0", 2);
		buffer_add(to, number, len + 2);
	} else if (v->type == VALUE_REAL && isfinite(v->real)) {
		len = text_digits(number, v->real, precision(v));
		if (strchr(number, 'e'))
			return false;
		buffer_add(to, number, len);
		if (!strchr(number, '.'))
			buffer_puts(to, ".0");
	} else if (v->type == VALUE_COUNT) {
		return false;
	} else {
		buffer_puts(to, "null");
	}
	return true;
}

/* ,"name":value; jansson escapes the first 32 characters only, so that the others are cleaned here. */
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
	put(json_of(&f->value),
	    JSON_ENCODE_ANY | JSON_COMPACT | (size_t)JSON_REAL_PRECISION(precision(&f->value)), to);
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

static void put_cell(struct out *out, const struct field *f)
{
	put_member(out->to, f);
}

/* What a metric's value was made of: with these, a reader can do the arithmetic again. */
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
	cells_print(out, fields, put_cell);
	to->data[start] = '{';
	if (out->row && out->row->sample && out->row->row->query->family) {
		buffer_puts(to, ",\"inputs\":");
		put_inputs(out->row, to);
	}
	buffer_puts(to, "}\n");
}

void json_output_document(json_t *document, struct buffer *to)
{
	json_print(document, JSON_INDENT(2), to);
}
