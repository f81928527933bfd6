/* SPDX-License-Identifier: MIT */
/* JSON values for machines: unknown is null, 64-bit masks are hex strings. */
#include "output/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static json_t *checked(json_t *value)
{
	if (!value) {
		cli_error("out of memory");
		exit(CLI_RUNTIME);
	}
	return value;
}

void json_put(json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new_nocheck(object, key, checked(value)))
		checked(NULL);
}

void json_push(json_t *array, json_t *value)
{
	if (json_array_append_new(array, checked(value)))
		checked(NULL);
}

/* A name typed in another encoding than UTF-8 must not take the row away. */
static json_t *repaired(const char *text)
{
	json_t *value;
	char *copy = cli_realloc(NULL, strlen(text) + 1, 1);
	size_t i;

	for (i = 0; text[i]; i++)
		copy[i] = (unsigned char)text[i] < 0x80 ? text[i] : '?';
	copy[i] = '\0';
	value = json_string(copy);
	free(copy);
	return value;
}

json_t *json_text(const char *text)
{
	json_t *value;

	if (!text)
		return json_null();
	value = json_string(text);
	return value ? value : checked(repaired(text));
}

json_t *json_number(double value)
{
	return isfinite(value) ? checked(json_real(value)) : json_null();
}

json_t *json_count(uint64_t value)
{
	return value <= INT64_MAX ? checked(json_integer((json_int_t)value))
				  : json_number((double)value);
}

json_t *json_id(int id)
{
	return id < 0 ? json_null() : checked(json_integer(id));
}

json_t *json_hex(uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)value);
	return checked(json_string(text));
}

json_t *json_flag(bool value)
{
	return json_boolean(value);
}

json_t *json_header(const struct uncore *u)
{
	json_t *header = checked(json_object());

	json_put(header, "schema", json_integer(JSON_SCHEMA));
	json_put(header, "source", json_text(uncore_source(u)));
	json_put(header, "simulated", json_flag(uncore_is_simulated(u)));
	return header;
}

static int append(const char *text, size_t len, void *to)
{
	buffer_add(to, text, len);
	return 0;
}

json_t *json_metric(const struct uncore_metric *m)
{
	json_t *object = json_object();

	json_put(object, "name", json_text(uncore_metric_name(m)));
	json_put(object, "title", json_text(uncore_metric_title(m)));
	json_put(object, "unit", json_text(uncore_metric_unit(m)));
	json_put(object, "family", json_text(uncore_metric_family(m)));
	json_put(object, "formula", json_text(uncore_metric_formula(m)));
	json_put(object, "evidence", json_text(uncore_metric_evidence(m)));
	json_put(object, "missing", json_text(uncore_metric_missing(m)));
	return object;
}

void json_print(json_t *value, size_t flags, struct buffer *to)
{
	json_dump_callback(value, append, to, flags);
	buffer_puts(to, "\n");
	json_decref(value);
}
