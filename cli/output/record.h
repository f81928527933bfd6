/* SPDX-License-Identifier: MIT */
/* Records for programs: named values, which CSV prints as one line and JSON as one object. */
#ifndef CLI_RECORD_H
#define CLI_RECORD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "output/buffer.h"
#include "uncore.h"

#define JSON_SCHEMA 1

enum value_type { VALUE_NONE, VALUE_TEXT, VALUE_REAL, VALUE_COUNT, VALUE_FLAG, VALUE_JSON };

struct value {
	enum value_type type;
	union {
		const char *text;
		double real;
		uint64_t count;
		bool flag;
		json_t *json; /* a list or an object; given to whoever prints the record */
	};
};

/* Fields follow each other as an array that ends with one without name. */
struct field {
	const char *name;
	struct value value;
};

#define RECORD(...) ((const struct field[]){__VA_ARGS__, {0}})

/* What is not known has no value: NULL, a number that is not finite, an id below zero. */
struct value value_none(void);
struct value value_text(const char *text);
struct value value_real(double value);
struct value value_count(uint64_t value);
struct value value_id(int id);
struct value value_flag(bool value);
struct value value_json(json_t *value);
struct value value_hex(uint64_t value); /* "0x1f": JSON numbers lose the high bits */

/* Without memory the following end the command. */
json_t *json_record(const struct field *fields);
void json_add(json_t *object, const struct field *fields);
json_t *json_text(const char *text); /* null for NULL */
void json_push(json_t *array, json_t *value);

json_t *json_hex(uint64_t value);
/* of each */
json_t *json_hex_list(const uint64_t *values, size_t count);

/* A document about a machine: schema, source, simulated, then the fields. */
json_t *json_document(const struct uncore *u, const struct field *fields);

/* What the catalogue has about a metric. */
json_t *json_metric(const struct uncore_metric *m);

/* Appends the text and a newline, then frees the value. */
void json_print(json_t *value, size_t flags, struct buffer *to);

#endif
