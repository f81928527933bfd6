/* SPDX-License-Identifier: MIT */
/* Records for programs: named values, which CSV prints as one line and JSON as one object. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "uncore.h"

#define JSON_SCHEMA 1

/* There is no value, null in JSON, where it is not known: NULL, a number that is not finite, an id
 * below zero. */
enum value_type {
	VALUE_NONE,
	VALUE_TEXT,
	VALUE_REAL,
	VALUE_COUNT,
	VALUE_ID,
	VALUE_FLAG,
	VALUE_JSON, /* a list or an object, freed where the record is printed; not in CSV */
};

struct value {
	enum value_type type;
	union {
		const char *text;
		double real;
		uint64_t count;
		int id;
		bool flag;
		json_t *json;
	};
};

#define value_none() ((struct value){.type = VALUE_NONE})
#define value_text(v) ((struct value){.type = VALUE_TEXT, .text = (v)})
#define value_real(v) ((struct value){.type = VALUE_REAL, .real = (v)})
#define value_count(v) ((struct value){.type = VALUE_COUNT, .count = (v)})
#define value_id(v) ((struct value){.type = VALUE_ID, .id = (v)})
#define value_flag(v) ((struct value){.type = VALUE_FLAG, .flag = (v)})
#define value_json(v) ((struct value){.type = VALUE_JSON, .json = (v)})

/* Fields follow each other as an array that ends with one without name. */
struct field {
	const char *name;
	struct value value;
};

#define RECORD(...) ((const struct field[]){__VA_ARGS__, {0}})

/* Without memory the following end the command. */
json_t *json_record(const struct field *fields);
void json_add(json_t *object, const struct field *fields);
json_t *json_text(const char *text); /* null for NULL */
void json_push(json_t *array, json_t *value);

json_t *json_hex(uint64_t value); /* "0x1f": JSON numbers lose the high bits */
/* of each */
json_t *json_hex_list(const uint64_t *values, size_t count);

/* A document about a machine: schema, source, simulated, then the fields. */
json_t *json_document(const struct uncore *u, const struct field *fields);

/* What the catalogue has about a metric. */
json_t *json_metric(const struct uncore_metric *m);

json_t *json_value(const struct value *v);
/* Appends the text as jansson prints it, and frees the value. */
void json_append(json_t *value, size_t flags, struct buffer *to);
/* Appends the text, clean, and a newline, then frees the value. */
void json_print(json_t *value, size_t flags, struct buffer *to);

#endif
