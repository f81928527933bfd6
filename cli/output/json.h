/* SPDX-License-Identifier: MIT */
/* The few things jansson leaves to us: null for unknown, masks as hex, a checked put. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <jansson.h>
#include <stdint.h>

#include "output/buffer.h"
#include "uncore.h"

#define JSON_SCHEMA 1

/* Puts a new value into an object or at the end of an array; ends the command without memory. */
void json_put(json_t *object, const char *key, json_t *value);
void json_push(json_t *array, json_t *value);

json_t *json_text(const char *text); /* null for NULL */
json_t *json_number(double value);   /* null when not finite */
json_t *json_count(uint64_t value);
json_t *json_id(int id);          /* null below zero */
json_t *json_hex(uint64_t value); /* "0x1f": JSON numbers lose the high bits */
json_t *json_flag(bool value);

/* {"schema":1,"source":...,"simulated":...} */
json_t *json_header(const struct uncore *u);

/* What the catalogue says of a metric. */
json_t *json_metric(const struct uncore_metric *m);

/* Appends the text with a newline, then frees the value. */
void json_print(json_t *value, size_t flags, struct buffer *to);

#endif
