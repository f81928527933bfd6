/* SPDX-License-Identifier: MIT */
/* JSON: values and records as objects, where null is an unknown value; a line for each record, and
 * documents with indentation. */
#include <math.h>
#include <stdio.h>

#include "base/cli.h"
#include "base/json.h"

json_t *json_hex(uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)value);
	return json_string(text);
}

/* Text that is not UTF-8, such as an event's name as the user typed it, is printed with '?'. */
json_t *json_text(const char *text)
{
	json_t *value = text ? json_string(text) : json_null();
	auto_free char *copy = value ? NULL : cli_copy(text);

	for (char *c = copy; c && *c; c++)
		*c = (unsigned char)*c < 0x80 ? *c : '?';
	return value ? value : json_string(copy);
}

json_t *json_value(const struct value *v)
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
		json_object_set_new_nocheck(object, f->name, json_value(&f->value));
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

void json_append(json_t *value, size_t flags, struct buffer *to)
{
	json_dump_callback(value, append, to, flags);
	json_decref(value);
}

/* jansson escapes the first 32 characters only. */
void json_print(json_t *value, size_t flags, struct buffer *to)
{
	size_t start = to->len;

	json_append(value, flags, to);
	to->records = true;
	to->len = start + cli_clean(to->data + start, to->len - start, "\n");
	buffer_puts(to, "\n");
}
