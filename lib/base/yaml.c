/* SPDX-License-Identifier: MIT */
/* The strict YAML loader: libyaml's events made into a tree. Typed access is in fill.c. */
#include "base/embedded.h"
#include "base/text.h"
#include "base/yaml-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>

#define MAX_LEVELS 16
#define MAX_BYTES ((size_t)1 << 20)
#define SUFFIX ".yaml"

struct loader {
	yaml_parser_t parser;
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

/* Line and column of a byte offset, both from 0; columns count characters, as libyaml's do. */
static yaml_mark_t mark_of(const struct loader *l, size_t offset)
{
	yaml_mark_t at = {0};

	for (size_t i = 0; i < offset && i < l->len; i++) {
		if (l->text[i] == '\n') {
			at.line++;
			at.column = 0;
		} else if (((unsigned char)l->text[i] & 0xC0) != 0x80) {
			at.column++;
		}
	}
	return at;
}

/* What libyaml did not like, in its words. */
static int fail_parser(const struct loader *l)
{
	const yaml_parser_t *p = &l->parser;
	const char *problem = p->problem ? p->problem : "not YAML";
	yaml_mark_t at = p->problem_mark;

	if (p->error == YAML_MEMORY_ERROR)
		return unc_nomem(l->e);
	if (p->error == YAML_READER_ERROR) {
		at = mark_of(l, p->problem_offset);
		return fail_at(l, &at, problem);
	}
	if (!p->context)
		return fail_at(l, &at, problem);
	return unc_fail(l->e, EBADMSG, "%s:%zu:%zu: %s %s that began at line %zu, column %zu",
			l->name, at.line + 1, at.column + 1, problem, p->context,
			p->context_mark.line + 1, p->context_mark.column + 1);
}

/* What data files may not have: anchors, aliases and tags. NULL: none. */
static const char *find_extra(const yaml_event_t *event)
{
	const yaml_char_t *anchor = NULL, *tag = NULL;

	if (event->type == YAML_ALIAS_EVENT)
		return "aliases ('*') are not allowed; quote text that begins with '*'";
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
	if (anchor)
		return "anchors ('&') are not allowed; quote text that begins with '&'";
	return tag ? "tags ('!') are not allowed; quote text that begins with '!'" : NULL;
}

/* On failure there is no event to delete. */
static int next_event(struct loader *l, yaml_event_t *event)
{
	const char *extra;
	int err;

	if (!yaml_parser_parse(&l->parser, event))
		return fail_parser(l);
	extra = find_extra(event);
	if (!extra)
		return 0;
	err = fail_at(l, &event->start_mark, extra);
	yaml_event_delete(event);
	return err;
}

static int take_text(struct loader *l, const yaml_event_t *event, char **out)
{
	const char *value = (const char *)event->data.scalar.value;

	if (strlen(value) != event->data.scalar.length)
		return fail_at(l, &event->start_mark, "text must not hold a NUL character");
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

/* Adds an empty child at the end of `parent`: NULL when out of memory. The address holds until the
 * next one is added. */
static struct unc_yaml *add_child(struct unc_yaml *parent)
{
	struct unc_yaml *children = parent->children;
	size_t count = parent->count;

	/* The room is the next power of two. */
	if ((count & (count - 1)) == 0) {
		children = realloc(children, (count ? count * 2 : 1) * sizeof(*children));
		if (!children)
			return NULL;
		parent->children = children;
	}
	children[count] = (struct unc_yaml){.kind = UNC_YAML_TEXT};
	parent->count++;
	return &children[count];
}

static int build_value(struct loader *l, yaml_event_t *event, int level, struct unc_yaml *node);

static int build_key(struct loader *l, const yaml_event_t *event, struct unc_yaml *node)
{
	if (event->type != YAML_SCALAR_EVENT)
		return fail_at(l, &event->start_mark, "a key must be plain text");
	if (event->data.scalar.length == 0)
		return fail_at(l, &event->start_mark, "a key must not be empty");
	node->key_line = (int)event->start_mark.line + 1;
	node->key_col = (int)event->start_mark.column + 1;
	return take_text(l, event, &node->key);
}

/* One entry of a list or map, which begins with `event`. */
static int build_child(struct loader *l, yaml_event_t *event, int level, struct unc_yaml *parent)
{
	struct unc_yaml *child = add_child(parent);
	yaml_event_t value;
	int err;

	if (!child)
		return unc_nomem(l->e);
	if (parent->kind == UNC_YAML_LIST)
		return build_value(l, event, level, child);
	err = build_key(l, event, child);
	if (err)
		return err;
	err = next_event(l, &value);
	if (err)
		return err;
	err = build_value(l, &value, level, child);
	yaml_event_delete(&value);
	return err;
}

static int compare_keys(const void *a, const void *b)
{
	const struct unc_yaml *x = *(const struct unc_yaml *const *)a;
	const struct unc_yaml *y = *(const struct unc_yaml *const *)b;
	int order = strcmp(x->key, y->key);

	return order ? order : (x > y) - (x < y);
}

/* Sorted, not pair by pair: a file of one huge map must not take minutes. */
static int refuse_duplicates(const struct loader *l, const struct unc_yaml *map)
{
	const struct unc_yaml **sorted, *second = NULL, *first = NULL;

	if (map->count < 2)
		return 0;
	sorted = malloc(map->count * sizeof(*sorted));
	if (!sorted)
		return unc_nomem(l->e);
	for (size_t i = 0; i < map->count; i++)
		sorted[i] = &map->children[i];
	qsort(sorted, map->count, sizeof(*sorted), compare_keys);
	for (size_t i = 1; i < map->count; i++) {
		if (strcmp(sorted[i - 1]->key, sorted[i]->key) != 0)
			continue;
		if (second && second < sorted[i])
			continue;
		first = sorted[i - 1];
		second = sorted[i];
	}
	free(sorted);
	if (!second)
		return 0;
	return unc_fail(l->e, EBADMSG, "%s:%d:%d: the key '%s' is here twice; first on line %d",
			l->name, second->key_line, second->key_col, second->key, first->key_line);
}

/* The entries of a list or map up to its end event. */
static int build_children(struct loader *l, int level, yaml_event_type_t end, struct unc_yaml *node)
{
	yaml_event_t event;
	bool done = false;
	int err;

	while (!done) {
		err = next_event(l, &event);
		if (err)
			return err;
		done = event.type == end;
		if (!done)
			err = build_child(l, &event, level, node);
		yaml_event_delete(&event);
		if (err)
			return err;
	}
	return node->kind == UNC_YAML_MAP ? refuse_duplicates(l, node) : 0;
}

/* Fills `node` with the value that begins with `event`. What is half built on failure is freed with
 * the root. */
static int build_value(struct loader *l, yaml_event_t *event, int level, struct unc_yaml *node)
{
	node->line = (int)event->start_mark.line + 1;
	node->col = (int)event->start_mark.column + 1;
	if (event->type == YAML_SCALAR_EVENT) {
		node->kind = UNC_YAML_TEXT;
		node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
			      event->start_mark.line == event->end_mark.line;
		return take_text(l, event, &node->text);
	}
	if (level >= MAX_LEVELS)
		return fail_at(l, &event->start_mark,
			       "lists and maps are nested more than 16 levels deep");
	if (event->type == YAML_SEQUENCE_START_EVENT) {
		node->kind = UNC_YAML_LIST;
		return build_children(l, level + 1, YAML_SEQUENCE_END_EVENT, node);
	}
	node->kind = UNC_YAML_MAP;
	return build_children(l, level + 1, YAML_MAPPING_END_EVENT, node);
}

/* The first event that does not only frame the document. */
static int first_event(struct loader *l, yaml_event_t *event)
{
	int err = next_event(l, event);

	while (!err && (event->type == YAML_STREAM_START_EVENT ||
			event->type == YAML_DOCUMENT_START_EVENT)) {
		yaml_event_delete(event);
		err = next_event(l, event);
	}
	return err;
}

static int expect_end(struct loader *l)
{
	yaml_event_t event;
	bool done = false;
	int err = 0;

	while (!done && !err) {
		err = next_event(l, &event);
		if (err)
			return err;
		done = event.type == YAML_STREAM_END_EVENT;
		if (event.type == YAML_DOCUMENT_START_EVENT)
			err = fail_at(l, &event.start_mark, "a second document is not allowed");
		yaml_event_delete(&event);
	}
	return err;
}

static int build_root(struct loader *l, struct unc_yaml *root)
{
	yaml_event_t event;
	int err = first_event(l, &event);

	if (err)
		return err;
	if (event.type == YAML_STREAM_END_EVENT ||
	    (event.type == YAML_SCALAR_EVENT && event.data.scalar.length == 0))
		err = fail_at(l, &(yaml_mark_t){0}, "the file is empty; expected keys and values");
	else
		err = build_value(l, &event, 0, root);
	yaml_event_delete(&event);
	return err ? err : expect_end(l);
}

int unc_yaml_parse(struct unc_yaml_file **out, const char *name, const char *text, size_t len,
		   struct unc_error *e)
{
	struct loader l = {.name = name, .text = text, .len = len, .e = e};
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
	err = build_root(&l, f->root);
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

/* Reads at most `room` bytes. */
static int read_up_to(int fd, char *into, size_t room, size_t *len)
{
	ssize_t got;

	*len = 0;
	do {
		got = read(fd, into + *len, room - *len);
		if (got > 0)
			*len += (size_t)got;
	} while ((got > 0 && *len < room) || (got < 0 && errno == EINTR));
	return got < 0 ? -errno : 0;
}

int unc_yaml_load(struct unc_yaml_file **out, const char *path, struct unc_error *e)
{
	struct stat st;
	char *text = NULL;
	size_t len = 0;
	int fd, err;

	/* Not to wait for a writer, should it be a FIFO. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return unc_fail(e, errno, "%s: cannot be opened: %s", path, unc_errno_text(errno));
	if (fstat(fd, &st) != 0 || S_ISDIR(st.st_mode) || S_ISFIFO(st.st_mode)) {
		err = unc_fail(e, S_ISDIR(st.st_mode) ? EISDIR : EINVAL,
			       "%s: is not a regular file; expected a YAML file", path);
		goto out;
	}
	/* One byte more than is allowed, so that the parser can tell. */
	text = malloc(MAX_BYTES + 1);
	if (!text) {
		err = unc_nomem(e);
		goto out;
	}
	err = read_up_to(fd, text, MAX_BYTES + 1, &len);
	if (err)
		unc_fail(e, -err, "%s: cannot be read: %s", path, unc_errno_text(-err));
	else
		err = unc_yaml_parse(out, path, text, len, e);
out:
	free(text);
	close(fd);
	return err;
}

/* ---- files named by the user: built-in ones by NAME, others by their path ---- */

bool unc_is_path(const char *spec)
{
	size_t len = strlen(spec), suffix = strlen(SUFFIX);

	return strchr(spec, '/') || (len > suffix && strcmp(spec + len - suffix, SUFFIX) == 0);
}

static int fail_unknown(const char *name, const struct unc_file *files, size_t count,
			const char *what, struct unc_error *e)
{
	struct unc_names names = {0};
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		char *one = strndup(files[i].name, strlen(files[i].name) - strlen(SUFFIX));

		r = one ? unc_names_add(&names, one) : -ENOMEM;
		free(one);
	}
	if (r < 0) {
		unc_names_finish(&names);
		return unc_nomem(e);
	}
	unc_fail(e, ENOENT, "there is no %s '%s'", what, name);
	unc_error_suggest(e, name, names.items, sizeof(*names.items), names.count);
	unc_error_append(e, "; built in are");
	for (size_t i = 0; i < names.count; i++)
		unc_error_append(e, "%s %s", i ? "," : "", names.items[i]);
	unc_error_append(e, "; a file of your own is given by its path, ending in " SUFFIX);
	unc_names_finish(&names);
	return -ENOENT;
}

int unc_load_named(struct unc_yaml_file **out, const char *spec, const struct unc_file *files,
		   size_t count, const char *what, struct unc_error *e)
{
	size_t len = strlen(spec);

	if (unc_is_path(spec))
		return unc_yaml_load(out, spec, e);
	for (size_t i = 0; i < count; i++)
		if (strncmp(files[i].name, spec, len) == 0 &&
		    strcmp(files[i].name + len, SUFFIX) == 0)
			return unc_yaml_parse(out, files[i].name, files[i].text, files[i].len, e);
	return fail_unknown(spec, files, count, what, e);
}
