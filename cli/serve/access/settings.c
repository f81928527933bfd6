/* SPDX-License-Identifier: MIT */
#include "serve/access/settings.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/buffer.h"
#include "base/cli.h"

#define FILE_MOST (1u << 20)
#define MOST_LEVELS 16
#define MOST_KEYS 4096 /* limited because each key is compared with all others */

struct reader {
	yaml_parser_t parser;
	yaml_event_t event; /* the current one */
	const char *path;
	struct settings *out;
};

static bool fail(const struct reader *r, const yaml_mark_t *at, const char *what)
{
	cli_error("%s:%zu:%zu: %s", r->path, at->line + 1, at->column + 1, what);
	return false;
}

/* Replaces the current event by the next one. */
static bool next(struct reader *r)
{
	const yaml_event_t *event = &r->event;
	bool marked = false;

	yaml_event_delete(&r->event);
	if (!yaml_parser_parse(&r->parser, &r->event))
		return fail(r, &r->parser.problem_mark,
			    r->parser.problem ? r->parser.problem : "not YAML");
	if (event->type == YAML_SCALAR_EVENT)
		marked = event->data.scalar.anchor || event->data.scalar.tag;
	else if (event->type == YAML_SEQUENCE_START_EVENT)
		marked = event->data.sequence_start.anchor || event->data.sequence_start.tag;
	else if (event->type == YAML_MAPPING_START_EVENT)
		marked = event->data.mapping_start.anchor || event->data.mapping_start.tag;
	if (marked || event->type == YAML_ALIAS_EVENT)
		return fail(r, &event->start_mark,
			    "anchors, aliases and tags are not allowed; quote text that begins "
			    "with '&', '*' or '!'");
	if (event->type == YAML_SCALAR_EVENT &&
	    strlen((const char *)event->data.scalar.value) != event->data.scalar.length)
		return fail(r, &event->start_mark, "text must not hold a NUL character");
	return true;
}

/* Takes the current event as a key of the map `above`. */
static bool take_key(struct reader *r, const char *above)
{
	const yaml_event_t *event = &r->event;
	struct settings *out = r->out;
	struct setting *key;
	struct buffer name = {0};

	if (event->type != YAML_SCALAR_EVENT || !event->data.scalar.length)
		return fail(r, &event->start_mark, "a key must be a text, and not empty");
	if (out->count == MOST_KEYS)
		return fail(r, &event->start_mark, "the file has more than 4096 keys");
	buffer_printf(&name, "%s%s%s", above, *above ? "." : "", event->data.scalar.value);
	out->items = cli_realloc(out->items, out->count + 1, sizeof(*out->items));
	key = &out->items[out->count++];
	*key = (struct setting){.name = name.data,
				.line = (int)event->start_mark.line + 1,
				.column = (int)event->start_mark.column + 1};
	for (size_t i = 0; i + 1 < out->count; i++) {
		if (strcmp(out->items[i].name, key->name) != 0)
			continue;
		cli_error("%s:%d:%d: the key '%s' is here twice", r->path, key->line, key->column,
			  key->name);
		return false;
	}
	return true;
}

/* Skips the list that begins with the current event. */
static bool skip(struct reader *r)
{
	for (int depth = 1; depth;) {
		if (!next(r))
			return false;
		depth += r->event.type == YAML_SEQUENCE_START_EVENT ||
			 r->event.type == YAML_MAPPING_START_EVENT;
		depth -= r->event.type == YAML_SEQUENCE_END_EVENT ||
			 r->event.type == YAML_MAPPING_END_EVENT;
	}
	return true;
}

/* Adds the settings of the map that begins with the current event. */
static bool read_map(struct reader *r, const char *above, int level)
{
	if (level > MOST_LEVELS)
		return fail(r, &r->event.start_mark, "maps are nested more than 16 levels deep");
	for (;;) {
		const size_t at = r->out->count;
		struct setting *s;
		bool good = next(r);

		if (!good || r->event.type == YAML_MAPPING_END_EVENT)
			return good;
		if (!take_key(r, above) || !next(r))
			return false;
		s = &r->out->items[at];
		s->text_line = (int)r->event.start_mark.line + 1;
		s->text_column = (int)r->event.start_mark.column + 1;
		if (r->event.type == YAML_MAPPING_START_EVENT)
			good = read_map(r, s->name, level + 1);
		else if (r->event.type == YAML_SEQUENCE_START_EVENT)
			good = skip(r);
		else
			s->text = cli_copy((const char *)r->event.data.scalar.value);
		if (!good)
			return false;
		r->out->items[at].above = r->out->count > at + 1;
	}
}

static bool read_file(struct reader *r)
{
	const yaml_event_t *event = &r->event;

	do
		if (!next(r))
			return false;
	while (event->type == YAML_STREAM_START_EVENT || event->type == YAML_DOCUMENT_START_EVENT);
	if (event->type != YAML_MAPPING_START_EVENT)
		return fail(r, &event->start_mark, "a map of settings is missing");
	if (!read_map(r, "", 1))
		return false;
	while (event->type != YAML_STREAM_END_EVENT) {
		if (!next(r))
			return false;
		if (event->type == YAML_DOCUMENT_START_EVENT)
			return fail(r, &event->start_mark, "a second document is not allowed");
	}
	return true;
}

int settings_read(struct settings *out, const char *path)
{
	struct reader r = {.path = path, .out = out};
	auto_buffer text = {0};
	const char *why = buffer_read_file(&text, path, FILE_MOST);
	bool good = false;

	*out = (struct settings){0};
	if (why || !yaml_parser_initialize(&r.parser)) {
		cli_error("%s: %s", path, why ? why : "out of memory");
	} else {
		/* Without this libyaml would accept UTF-16, too. */
		yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
		yaml_parser_set_input_string(&r.parser, (const unsigned char *)buffer_text(&text),
					     text.len);
		good = read_file(&r);
		yaml_event_delete(&r.event);
		yaml_parser_delete(&r.parser);
	}
	return good ? CLI_OK : CLI_RUNTIME;
}

void settings_free(struct settings *s)
{
	for (size_t i = 0; i < s->count; i++) {
		free(s->items[i].name);
		free(s->items[i].text);
	}
	free(s->items);
	*s = (struct settings){0};
}
