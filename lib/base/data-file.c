/* SPDX-License-Identifier: MIT */
/* Data files: libyaml's events made into a tree, and maps of that tree read into structs, with
 * sentences that point at the mistake. */
#include "base/data-file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>

#define MAX_LEVELS 16
#define MOST_ENTRIES 4096 /* keys are compared pair by pair */
#define MAX_BYTES ((size_t)1 << 20)
#define SUFFIX ".yaml"
#define KEYS_MOST 64 /* in one table */

/* ---- YAML ---- */

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
	yaml_mark_t at = p->problem_mark;
	int err;

	if (p->error == YAML_MEMORY_ERROR)
		return unc_nomem(l->e);
	if (p->error == YAML_READER_ERROR)
		at = (yaml_mark_t){0};
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

/* Reads the next event in place of the current one. Data files have no anchors, aliases and
 * tags. */
static int next_event(struct loader *l)
{
	yaml_event_t *event = &l->event;
	const yaml_char_t *anchor = NULL, *tag = NULL;
	const char *refused = NULL;

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
		refused = "aliases ('*') are not allowed; quote text that begins with '*'";
	else if (anchor)
		refused = "anchors ('&') are not allowed; quote text that begins with '&'";
	else if (tag)
		refused = "tags ('!') are not allowed; quote text that begins with '!'";
	return refused ? fail_at(l, &event->start_mark, refused) : 0;
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
	unc_names_finish(&f->kept);
	free(f->root);
	free(f->name);
	free(f);
}

void *unc_yaml_keep(struct unc_yaml_file *f, void *memory)
{
	return (void *)unc_names_take(&f->kept, memory);
}

int unc_yaml_load(struct unc_yaml_file **out, const char *path, struct unc_error *e)
{
	/* Not to wait for a writer, should it be a FIFO. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err;
	char *text = NULL;
	struct stat st;
	size_t len;

	if (fd < 0)
		return unc_fail(e, errno, "%s: cannot be opened: %s", path, unc_errno_text(errno));
	if (fstat(fd, &st) != 0 || S_ISDIR(st.st_mode) || S_ISFIFO(st.st_mode)) {
		err = unc_fail(e, S_ISDIR(st.st_mode) ? EISDIR : EINVAL,
			       "%s: is not a regular file; expected a YAML file", path);
	} else {
		/* One byte more than is allowed, so that the parser can tell. */
		err = unc_read_fd(fd, MAX_BYTES + 1, &text, &len);
		if (err == -ENOMEM)
			unc_nomem(e);
		else if (err < 0)
			unc_fail(e, -err, "%s: cannot be read: %s", path, unc_errno_text(err));
		else
			err = unc_yaml_parse(out, path, text, len, e);
	}
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

bool unc_is_file(const char *spec)
{
	return unc_is_path(spec) && access(spec, F_OK) == 0;
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
	unc_error_append(e, "; built in:");
	for (size_t i = 0; i < count; i++)
		unc_error_append(e, "%s %s", i ? "," : "", files[i].name);
	unc_error_append(e, "; a file of your own is given by its path, ending in " SUFFIX);
	return -ENOENT;
}

/* ---- maps into structs: sentences ---- */

int unc_reader_expect(const struct unc_reader *r, const struct unc_yaml *node,
		      enum unc_yaml_kind kind)
{
	static const char *const expected[] = {"text", "a list", "a map (keys and values)"};
	static const char *const found[] = {"text", "a list", "a map"};

	if (node->kind == kind)
		return 0;
	if (!node->key)
		return unc_reader_fail(r, node, "expected %s here, not %s", expected[kind],
				       found[node->kind]);
	return unc_reader_fail(r, node, "the value of '%s' must be %s, not %s", node->key,
			       expected[kind], found[node->kind]);
}

int unc_reader_check_name(const struct unc_reader *r, const struct unc_yaml *at, const char *name,
			  const char *others, const char *what)
{
	const size_t most = sizeof(((struct unc_assignment *)0)->name) - 1;
	const char *c = name;

	while ((*c >= 'a' && *c <= 'z') ||
	       (c > name && *c && (unc_is_digit(*c) || strchr(others, *c))))
		c++;
	if (c > name && !*c && c <= name + most)
		return 0;
	return unc_reader_fail_at(
		r, name == at->text ? at->line : at->key_line,
		name == at->text ? at->col : at->key_col,
		"'%s' is not a valid %s: at most %zu lower case letters, digits and %s", name, what,
		most, others);
}

/* ---- keys ---- */

const struct unc_yaml *unc_yaml_get(const struct unc_yaml *map, const char *key)
{
	if (map->kind != UNC_YAML_MAP)
		return NULL;
	for (size_t i = 0; i < map->count; i++)
		if (strcmp(map->children[i].key, key) == 0)
			return &map->children[i];
	return NULL;
}

static const char *key_of(const struct unc_field *f)
{
	return f->key + (*f->key == '!' || *f->key == '|');
}

/* Whether the map may have the field beside its other keys. */
static bool belongs(const struct unc_field *f, const struct unc_yaml *map)
{
	for (size_t i = 0; f->with && i < map->count; i++)
		if (unc_has_word(f->with, map->children[i].key))
			return true;
	return !f->with;
}

/* All keys of the map are there, and no others; `into` has which of the choices. */
static int check_keys(const struct unc_reader *r, const struct unc_yaml *map,
		      const struct unc_shape *shape, void *into)
{
	const struct unc_field *fields = shape->fields;
	const struct unc_yaml *chosen = NULL, *node;
	const char *names[KEYS_MOST], *choices[KEYS_MOST];
	size_t count = 0, choice_count = 0;

	for (const struct unc_field *f = fields; f->key; f++) {
		if (belongs(f, map))
			names[count++] = key_of(f);
		if (*f->key != '|')
			continue;
		choices[choice_count++] = key_of(f);
		node = unc_yaml_get(map, key_of(f));
		if (node && chosen)
			return unc_reader_fail_key(r, node, "'%s' and '%s' exclude each other",
						   node->key, chosen->key);
		if (node && shape->choice)
			*(unsigned *)(void *)((char *)into + shape->choice) =
				(unsigned)choice_count - 1;
		if (node)
			chosen = node;
	}
	for (size_t i = 0; i < map->count; i++) {
		size_t k = 0;

		node = &map->children[i];
		while (k < count && strcmp(names[k], node->key) != 0)
			k++;
		if (k < count)
			continue;
		unc_reader_fail_key(r, node, "unknown key '%s'", node->key);
		unc_error_suggest(r->e, node->key, names, sizeof(*names), count);
		for (k = 0; k < count; k++)
			unc_error_append(r->e, "%s%s", k ? ", " : "; expected one of: ", names[k]);
		return -EBADMSG;
	}
	for (const struct unc_field *f = fields; f->key; f++) {
		if (*f->key != '!' || !belongs(f, map) || unc_yaml_get(map, key_of(f)))
			continue;
		if (map->key)
			return unc_reader_fail(r, map, "the key '%s' is missing in '%s'", key_of(f),
					       map->key);
		return unc_reader_fail(r, map, "the key '%s' is missing here", key_of(f));
	}
	if (!choice_count || chosen)
		return 0;
	if (map->key)
		unc_reader_fail(r, map, "'%s' needs exactly one of: ", map->key);
	else
		unc_reader_fail(r, map, "expected exactly one of: ");
	for (size_t i = 0; i < choice_count; i++)
		unc_error_append(r->e, "%s%s", i ? ", " : "", choices[i]);
	return -EBADMSG;
}

/* ---- values ---- */

/* "the value of 'scale' must be EXPECTED, not '1x'" */
static int fail_value(const struct unc_reader *r, const struct unc_yaml *node, const char *expected)
{
	return unc_reader_fail(r, node, "the value of '%s' must be %s, not '%s'", node->key,
			       expected, node->text);
}

static int find_word(const struct unc_reader *r, const struct unc_yaml *node,
		     const struct unc_field *f, unsigned *number)
{
	bool first = true;

	for (unsigned i = 0; f->words[i]; i++)
		if (strcmp(f->words[i], node->text) == 0) {
			*number = i;
			return 0;
		}
	if (f->what)
		unc_reader_fail(r, node, "'%s' is not a valid %s", node->text, f->what);
	else
		unc_reader_fail(r, node, "the value of '%s' cannot be '%s'", node->key, node->text);
	for (unsigned i = 0; f->words[i]; i++) {
		if (!*f->words[i])
			continue;
		unc_error_append(r->e, "%s%s", first ? "; expected one of: " : ", ", f->words[i]);
		first = false;
	}
	return -EBADMSG;
}

/* A whole number, or a double. */
static int fill_number(const struct unc_reader *r, const struct unc_yaml *node,
		       const struct unc_field *f, void *member)
{
	bool whole = f->kind == UNC_FIELD_NUMBER;
	uint64_t number = 0;
	double value = 0;
	int err = whole ? unc_parse_u64(node->text, &number) : unc_parse_double(node->text, &value);

	if (err == -ENOMEM)
		return unc_nomem(r->e);
	if (err == -ERANGE)
		return fail_value(
			r, node, whole ? "a number below 2^64" : "a number that a double can hold");
	if (err < 0)
		return fail_value(r, node,
				  whole ? "a whole number, decimal or 0x hexadecimal"
					: "a number such as 64, 0.5 or 1e9");
	if (f->most && (number < f->least || number > f->most))
		return unc_reader_fail(r, node, "the value of '%s' must be from %llu to %llu",
				       node->key, (unsigned long long)f->least,
				       (unsigned long long)f->most);
	if (f->range && !(value >= f->range->low && value <= f->range->high))
		return unc_reader_fail(r, node, "the value of '%s' must be %s", node->key,
				       f->range->text);
	if (!whole)
		*(double *)member = value;
	else if (f->size == sizeof(unsigned))
		*(unsigned *)member = (unsigned)number;
	else
		*(uint64_t *)member = number;
	return 0;
}

static int fill_names(const struct unc_reader *r, const struct unc_yaml *node,
		      const struct unc_field *f, struct unc_names *member)
{
	const char *at = node->text;

	member->items = unc_yaml_keep(r->file, calloc(strlen(at) / 2 + 1, sizeof(char *)));
	if (!member->items)
		return unc_nomem(r->e);
	while (*at) {
		size_t n = strspn(at, f->numbers ? "0123456789"
						 : "abcdefghijklmnopqrstuvwxyz0123456789_");

		if (n && f->values && (at[n] == '=' || at[n] == '>') && unc_is_digit(at[n + 1]))
			n += 1 + strspn(at + n + 1, "|x0123456789abcdefABCDEF");
		if (!n || (at[n] && at[n] != ' '))
			return unc_reader_fail_in(r, node, (size_t)(at - node->text),
						  "'%s' is not a valid list of %s", node->text,
						  f->what);
		member->items[member->count] = unc_yaml_keep(r->file, strndup(at, n));
		if (!member->items[member->count++])
			return unc_nomem(r->e);
		at += n + strspn(at + n, " ");
	}
	return 0;
}

static int fill_array(const struct unc_reader *r, const struct unc_yaml *node,
		      const struct unc_field *f, void **member, size_t *count)
{
	static const struct unc_field text = UNC_FIELD(NULL, TEXT, UNC_AT(struct unc_word, text));
	bool words = f->kind == UNC_FIELD_WORDS;
	size_t size = words ? sizeof(struct unc_word) : f->of->size;
	int err = unc_reader_expect(r, node,
				    f->kind == UNC_FIELD_LIST ? UNC_YAML_LIST : UNC_YAML_MAP);

	if (err < 0)
		return err;
	if (!node->count && (words || f->least))
		return unc_reader_fail(r, node, "'%s' is empty", node->key);
	if (f->most && node->count > f->most)
		return unc_reader_fail(r, node, "at most %llu entries are allowed in '%s'",
				       (unsigned long long)f->most, node->key);
	*member = unc_yaml_keep(r->file, calloc(node->count + 1, size));
	if (!*member)
		return unc_nomem(r->e);
	for (size_t i = 0; err == 0 && i < node->count; i++) {
		const struct unc_yaml *child = &node->children[i];
		char *entry = (char *)*member + (*count)++ * size;

		if (words) {
			((struct unc_word *)(void *)entry)->name = child->key;
			err = unc_fill_value(r, child, &text, entry);
		} else {
			err = unc_fill(r, child, f->of, entry);
		}
		if (err == 0 && !words && f->of->drops && *(const bool *)(const void *)entry)
			memset((char *)*member + --*count * size, 0, size);
	}
	if (!*count && !words && f->of->drops)
		*member = NULL;
	return err;
}

int unc_fill_value(const struct unc_reader *r, const struct unc_yaml *node,
		   const struct unc_field *f, void *into)
{
	void *member = (char *)into + f->offset;
	const char *c = node->text;
	unsigned number = 0;
	int err;

	if (f->kind == UNC_FIELD_ANY)
		return 0;
	if (f->kind == UNC_FIELD_MAP)
		return unc_fill(r, node, f->of, member);
	if (f->kind >= UNC_FIELD_WORDS)
		return fill_array(r, node, f, member, (size_t *)(void *)((char *)into + f->count));
	err = unc_reader_expect(r, node, UNC_YAML_TEXT);
	if (err < 0)
		return err;
	if (!c[strspn(c, " ")])
		return unc_reader_fail(r, node, "the value of '%s' is empty", node->key);
	while ((unsigned char)*c >= ' ' && *c != 0x7f)
		c++;
	if (*c)
		return unc_reader_fail(r, node, "the value of '%s' must be one line of text",
				       node->key);
	switch (f->kind) {
	case UNC_FIELD_NUMBER:
	case UNC_FIELD_DOUBLE:
		return fill_number(r, node, f, member);
	case UNC_FIELD_BITS:
		return unc_bits_parse(node->text, false, member) == 0
			       ? 0
			       : unc_reader_fail(r, node,
						 "'%s' are not bits such as 8, 24-31 or 0-7,21",
						 node->text);
	case UNC_FIELD_NAMES:
		return fill_names(r, node, f, member);
	case UNC_FIELD_BOOL:
		if (strcmp(node->text, "true") != 0 && strcmp(node->text, "false") != 0)
			return fail_value(r, node, "true or false");
		*(bool *)member = *node->text == 't';
		return 0;
	default:
		err = f->words ? find_word(r, node, f, &number) : 0;
	}
	if (err < 0)
		return err;
	if (f->kind == UNC_FIELD_WORD && f->size == sizeof(bool))
		*(bool *)member = number;
	else if (f->kind == UNC_FIELD_WORD)
		*(unsigned *)member = number;
	else if (f->size)
		*(const char **)member = node->text;
	return 0;
}

int unc_fill(const struct unc_reader *r, const struct unc_yaml *map, const struct unc_shape *shape,
	     void *into)
{
	int err = unc_reader_expect(r, map, UNC_YAML_MAP);

	if (err == 0)
		err = check_keys(r, map, shape, into);
	for (const struct unc_field *f = shape->fields; err == 0 && f->key; f++) {
		const struct unc_yaml *node = unc_yaml_get(map, key_of(f));

		if (!node || !belongs(f, map))
			continue;
		err = unc_fill_value(r, node, f, into);
		if (err == 0 && f->check)
			err = f->check(r, node, into);
	}
	return err == 0 && shape->check ? shape->check(r, map, into) : err;
}
