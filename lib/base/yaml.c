/* SPDX-License-Identifier: MIT */
/* The strict YAML loader: libyaml's events made into a tree. Typed access is in fill.c. */
#include "base/text.h"
#include "base/yaml-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>

#define MAX_LEVELS 16
#define MOST_ENTRIES 4096 /* keys are compared pair by pair */
#define MAX_BYTES ((size_t)1 << 20)
#define SUFFIX ".yaml"

struct loader {
	yaml_parser_t parser;
	yaml_event_t event; /* the current one */
	const char *name;
	const char *text;
	size_t len;
	struct unc_error *e;
};

static int fail_at(const struct loader *l, const yaml_mark_t *at, const char *what)
{
	return unc_fail(l->e, EBADMSG, "%s:%zu:%zu: %s", l->name, at->line + 1, at->column + 1,
			what);
}

/* A mistake that libyaml found, in its words. */
static int fail_parser(const struct loader *l)
{
	const yaml_parser_t *p = &l->parser;
	yaml_mark_t at = p->error == YAML_READER_ERROR ? (yaml_mark_t){0} : p->problem_mark;
	int err;

	if (p->error == YAML_MEMORY_ERROR)
		return unc_nomem(l->e);
	/* All that it tells of a wrong byte is its offset; columns count characters. */
	for (size_t i = 0; p->error == YAML_READER_ERROR && i < p->problem_offset && i < l->len;
	     i++) {
		at.line += l->text[i] == '\n';
		at.column += ((unsigned char)l->text[i] & 0xC0) != 0x80;
		if (l->text[i] == '\n')
			at.column = 0;
	}
	err = fail_at(l, &at, p->problem ? p->problem : "not YAML");
	if (p->error != YAML_READER_ERROR && p->context)
		unc_error_append(l->e, " %s that began at line %zu, column %zu", p->context,
				 p->context_mark.line + 1, p->context_mark.column + 1);
	return err;
}

/* Reads the next event in place of the current one. Data files have no anchors, aliases and tags. */
static int next_event(struct loader *l)
{
	yaml_event_t *event = &l->event;
	const yaml_char_t *anchor = NULL, *tag = NULL;

	yaml_event_delete(event);
	if (!yaml_parser_parse(&l->parser, event))
		return fail_parser(l);
	if (event->type == YAML_SCALAR_EVENT) {
		anchor = event->data.scalar.anchor;
		tag = event->data.scalar.tag;
	} else if (event->type == YAML_SEQUENCE_START_EVENT) {
		anchor = event->data.sequence_start.anchor;
		tag = event->data.sequence_start.tag;
	} else if (event->type == YAML_MAPPING_START_EVENT) {
		anchor = event->data.mapping_start.anchor;
		tag = event->data.mapping_start.tag;
	}
	if (event->type == YAML_ALIAS_EVENT)
		return fail_at(l, &event->start_mark,
			       "aliases ('*') are not allowed; quote text that begins with '*'");
	if (anchor)
		return fail_at(l, &event->start_mark,
			       "anchors ('&') are not allowed; quote text that begins with '&'");
	if (tag)
		return fail_at(l, &event->start_mark,
			       "tags ('!') are not allowed; quote text that begins with '!'");
	return 0;
}

static int take_text(const struct loader *l, char **out)
{
	const char *value = (const char *)l->event.data.scalar.value;

	if (strlen(value) != l->event.data.scalar.length)
		return fail_at(l, &l->event.start_mark, "text must not hold a NUL character");
	*out = strdup(value);
	return *out ? 0 : unc_nomem(l->e);
}

static void free_node(struct unc_yaml *node)
{
	for (size_t i = 0; i < node->count; i++)
		free_node(&node->children[i]);
	free(node->children);
	free(node->key);
	free(node->text);
}

/* Fills `node` with the value that begins with the current event. What is half built on failure is
 * freed with the root. */
static int build(struct loader *l, int level, struct unc_yaml *node)
{
	const yaml_event_t *event = &l->event;
	bool map = event->type == YAML_MAPPING_START_EVENT;

	node->line = (int)event->start_mark.line + 1;
	node->col = (int)event->start_mark.column + 1;
	if (event->type == YAML_SCALAR_EVENT) {
		node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
			      event->start_mark.line == event->end_mark.line;
		return take_text(l, &node->text);
	}
	if (level >= MAX_LEVELS)
		return fail_at(l, &event->start_mark,
			       "lists and maps are nested more than 16 levels deep");
	node->kind = map ? UNC_YAML_MAP : UNC_YAML_LIST;
	for (;;) {
		struct unc_yaml *child;
		int err = next_event(l);

		if (err)
			return err;
		if (event->type == YAML_SEQUENCE_END_EVENT || event->type == YAML_MAPPING_END_EVENT)
			return 0;
		if (node->count == MOST_ENTRIES)
			return fail_at(l, &event->start_mark,
				       "a list or map has more than 4096 entries");
		child = unc_append(&node->children, &node->count, sizeof(*child));
		if (!child)
			return unc_nomem(l->e);
		if (map && event->type != YAML_SCALAR_EVENT)
			return fail_at(l, &event->start_mark, "a key must be plain text");
		if (map && event->data.scalar.length == 0)
			return fail_at(l, &event->start_mark, "a key must not be empty");
		if (map) {
			child->key_line = (int)event->start_mark.line + 1;
			child->key_col = (int)event->start_mark.column + 1;
			err = take_text(l, &child->key);
		}
		for (size_t i = 0; map && !err && i + 1 < node->count; i++)
			if (strcmp(node->children[i].key, child->key) == 0)
				return unc_fail(
					l->e, EBADMSG,
					"%s:%d:%d: the key '%s' is here twice; first on line %d",
					l->name, child->key_line, child->key_col, child->key,
					node->children[i].key_line);
		if (map && !err)
			err = next_event(l);
		if (!err)
			err = build(l, level + 1, child);
		if (err)
			return err;
	}
}

int unc_yaml_parse(struct unc_yaml_file **out, const char *name, const char *text, size_t len,
		   struct unc_error *e)
{
	struct loader l = {.name = name, .text = text, .len = len, .e = e};
	const yaml_event_t *event = &l.event;
	struct unc_yaml_file *f;
	int err;

	if (len > MAX_BYTES)
		return unc_fail(e, EBADMSG, "%s: the file is larger than 1 MiB", name);
	f = calloc(1, sizeof(*f));
	if (f) {
		f->name = strdup(name);
		f->root = calloc(1, sizeof(*f->root));
	}
	if (!f || !f->name || !f->root || !yaml_parser_initialize(&l.parser)) {
		unc_yaml_free(f);
		return unc_nomem(e);
	}
	/* Else libyaml would take UTF-16 too. */
	yaml_parser_set_encoding(&l.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&l.parser, (const unsigned char *)text, len);
	do
		err = next_event(&l);
	while (!err && (event->type == YAML_STREAM_START_EVENT ||
			event->type == YAML_DOCUMENT_START_EVENT));
	if (!err && (event->type == YAML_STREAM_END_EVENT ||
		     (event->type == YAML_SCALAR_EVENT && event->data.scalar.length == 0)))
		err = fail_at(&l, &(yaml_mark_t){0}, "the file is empty; expected keys and values");
	if (!err)
		err = build(&l, 0, f->root);
	while (!err && event->type != YAML_STREAM_END_EVENT) {
		err = next_event(&l);
		if (!err && event->type == YAML_DOCUMENT_START_EVENT)
			err = fail_at(&l, &event->start_mark, "a second document is not allowed");
	}
	yaml_event_delete(&l.event);
	yaml_parser_delete(&l.parser);
	if (err)
		unc_yaml_free(f);
	else
		*out = f;
	return err;
}

void unc_yaml_free(struct unc_yaml_file *f)
{
	if (!f)
		return;
	if (f->root)
		free_node(f->root);
	free(f->root);
	free(f->name);
	free(f);
}

int unc_yaml_load(struct unc_yaml_file **out, const char *path, struct unc_error *e)
{
	/* Not to wait for a writer, should it be a FIFO. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err = 0;
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	char *text = NULL;
	struct stat st;
	size_t len;

	if (!file) {
		err = unc_fail(e, errno, "%s: cannot be opened: %s", path, unc_errno_text(errno));
		if (fd >= 0)
			close(fd);
		return err;
	}
	if (fstat(fd, &st) != 0 || S_ISDIR(st.st_mode) || S_ISFIFO(st.st_mode))
		err = unc_fail(e, S_ISDIR(st.st_mode) ? EISDIR : EINVAL,
			       "%s: is not a regular file; expected a YAML file", path);
	/* One byte more than is allowed, so that the parser can tell. */
	else if (!(text = malloc(MAX_BYTES + 1)))
		err = unc_nomem(e);
	if (!err) {
		len = fread(text, 1, MAX_BYTES + 1, file);
		if (ferror(file))
			err = unc_fail(e, errno, "%s: cannot be read: %s", path,
				       unc_errno_text(errno));
		else
			err = unc_yaml_parse(out, path, text, len, e);
	}
	free(text);
	fclose(file);
	return err;
}

/* ---- files named by the user: built-in ones by NAME, others by their path ---- */

bool unc_is_path(const char *spec)
{
	size_t len = strlen(spec), suffix = strlen(SUFFIX);

	return strchr(spec, '/') || (len > suffix && strcmp(spec + len - suffix, SUFFIX) == 0);
}

int unc_load_named(struct unc_yaml_file **out, const char *spec, const struct unc_file *files,
		   size_t count, const char *what, struct unc_error *e)
{
	char name[64];

	if (unc_is_path(spec))
		return unc_yaml_load(out, spec, e);
	for (size_t i = 0; i < count; i++) {
		if (strcmp(files[i].name, spec) != 0)
			continue;
		snprintf(name, sizeof(name), "%s" SUFFIX, spec);
		return unc_yaml_parse(out, name, files[i].text, files[i].len, e);
	}
	unc_fail(e, ENOENT, "there is no %s '%s'", what, spec);
	unc_error_suggest(e, spec, &files->name, sizeof(*files), count);
	unc_error_append(e, "; built in are");
	for (size_t i = 0; i < count; i++)
		unc_error_append(e, "%s %s", i ? "," : "", files[i].name);
	unc_error_append(e, "; a file of your own is given by its path, ending in " SUFFIX);
	return -ENOENT;
}
