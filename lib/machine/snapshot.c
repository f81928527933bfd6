/* SPDX-License-Identifier: MIT */
/* Snapshots of machines: entries in memory, and their text. */
#include "machine/root.h"

#define FORMAT "uncore snapshot "
#define FIRST_LINE FORMAT "1"
#define END "# end"
#define END_NOTE "# The last line is '" END "'."
#define ROW 16 /* bytes in a line of hexadecimal numbers */

/* ---- entries in memory ---- */

void unc_tree_add(struct unc_tree *t, enum unc_kind kind, const char *path, const char *data,
		  size_t len)
{
	struct unc_entry *e = NULL;
	char *copy = malloc(len + 1);

	if (copy) {
		memcpy(copy, data, len);
		copy[len] = '\0';
	}
	if (unc_names_take(&t->strings, copy) && unc_names_add(&t->strings, path) == 0)
		e = unc_append(&t->entries, &t->count, sizeof(*e));
	t->failed |= !e;
	if (e)
		*e = (struct unc_entry){
			.path = t->strings.items[t->strings.count - 1],
			.kind = kind,
			.data = copy,
			.len = len,
		};
}

/* A slash sorts before all other characters, so that a directory and its contents are adjacent. */
static int compare_paths(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return (*a == '/' ? 1 : (unsigned char)*a) - (*b == '/' ? 1 : (unsigned char)*b);
}

static int by_path(const void *a, const void *b)
{
	const struct unc_entry *x = a, *y = b;
	int order = compare_paths(x->path, y->path);

	if (order == 0 && x->kind != y->kind)
		order = x->kind < y->kind ? -1 : 1;
	/* The same file may have been read in part and then as a whole. */
	if (order == 0 && x->len != y->len)
		order = x->len > y->len ? -1 : 1;
	return order;
}

void unc_tree_sort(struct unc_tree *t)
{
	size_t kept = 0;

	if (t->count)
		qsort(t->entries, t->count, sizeof(*t->entries), by_path);
	for (size_t i = 0; i < t->count; i++)
		if (!kept || strcmp(t->entries[kept - 1].path, t->entries[i].path) != 0)
			t->entries[kept++] = t->entries[i];
	t->count = kept;
}

void unc_tree_finish(struct unc_tree *t)
{
	unc_names_finish(&t->strings);
	free(t->entries);
	*t = (struct unc_tree){0};
}

/* The first entry that is not before `path`. */
static size_t position(const struct unc_tree *t, const char *path)
{
	size_t low = 0, high = t->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_paths(t->entries[middle].path, path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The path of entry `i` relative to `path`; "" for `path` itself; NULL: it is not below `path`. */
static const char *below(const struct unc_tree *t, size_t i, const char *path)
{
	size_t len = strlen(path);
	const char *name = i < t->count ? t->entries[i].path : NULL;

	if (!name || !len)
		return name;
	if (strncmp(name, path, len) != 0)
		return NULL;
	return name[len] == '/' ? name + len + 1 : name[len] ? NULL : "";
}

const struct unc_entry *unc_tree_find(const struct unc_tree *t, const char *path)
{
	static const struct unc_entry directory = {.kind = UNC_DIR};
	size_t at = position(t, path);
	const char *rest = below(t, at, path);

	return !rest ? NULL : *rest ? &directory : &t->entries[at];
}

int unc_tree_list(const struct unc_tree *t, const char *path, struct unc_names *names)
{
	const struct unc_entry *e = unc_tree_find(t, path);
	const char *name, *last = "";
	size_t last_len = 0;

	if (!e || e->kind != UNC_DIR)
		return !e ? -ENOENT : e->kind == UNC_REFUSED ? unc_errno_number(e->data) : -ENOTDIR;
	for (size_t i = position(t, path); (name = below(t, i, path)); i++) {
		size_t len = strcspn(name, "/");

		if (len == last_len && memcmp(name, last, len) == 0)
			continue;
		last = name;
		last_len = len;
		if (!unc_names_take(names, strndup(name, len)))
			return -ENOMEM;
	}
	return 0;
}

/* ---- from text ---- */

struct parser {
	struct unc_tree *tree;
	size_t bytes; /* bytes of all hexadecimal contents */
	const char *file;
	char *text; /* the line; entries point into it, and escapes are replaced in place */
	char *next; /* the text after it */
	size_t line;
	struct unc_error *e;
};

/* Sets the sentence "FILE:LINE: ..." and returns -EINVAL. */
#define fail(p, ...)                                                     \
	(unc_error_put((p)->e, false, "%s:%zu: ", (p)->file, (p)->line), \
	 unc_error_append((p)->e, __VA_ARGS__), unc_negative(EINVAL))

static bool next_line(struct parser *p)
{
	if (!*p->next)
		return false;
	p->text = strsep(&p->next, "\n");
	if (!p->next)
		p->next = strchr(p->text, '\0');
	p->line++;
	return true;
}

/* Reads two hexadecimal digits; negative: other characters. */
static int byte_at(const char *text)
{
	uint64_t byte;

	return unc_take_digits(&text, 16, 2, &byte) == 2 ? (int)byte : -1;
}

/* Appends the text to e->data, which begins before it, with \\ and \xNN replaced. Adds a newline,
 * unless a backslash ends the text: then sets *open. */
static int add_text(const struct parser *p, struct unc_entry *e, const char *text, bool *open)
{
	int byte;

	if (*open)
		return fail(p, "a backslash ends the contents, and more follows");
	while (*text) {
		if (*text != '\\') {
			e->data[e->len++] = *text++;
		} else if (!text[1]) {
			*open = true;
			return 0;
		} else if (text[1] == '\\') {
			e->data[e->len++] = '\\';
			text += 2;
		} else if (text[1] == 'x' && (byte = byte_at(text + 2)) >= 0) {
			e->data[e->len++] = (char)byte;
			text += 4;
		} else {
			return fail(p, "a backslash must be followed by another or by xNN");
		}
	}
	e->data[e->len++] = '\n';
	return 0;
}

/* Adds a row "0040 10 00 42 00". Bytes between rows are 0. */
static int add_row(const struct parser *p, struct unc_entry *e)
{
	const char *at = p->text + 1;
	uint64_t offset;
	char *grown;
	int byte;

	if (!unc_take_digits(&at, 16, 6, &offset) || *at++ != ' ' || offset < e->len)
		return fail(p, "expected an offset behind the bytes before, and two spaces");
	if (p->bytes + offset + ROW > UNC_SNAPSHOT_MOST)
		return fail(p, "more than %zu bytes of contents", UNC_SNAPSHOT_MOST);
	grown = realloc(e->data, offset + ROW + 1);
	if (!grown)
		return unc_nomem(p->e);
	e->data = grown;
	memset(grown + e->len, 0, offset + ROW + 1 - e->len);
	for (e->len = offset; *at == ' ' && e->len < offset + ROW; at += 3) {
		byte = byte_at(at + 1);
		if (byte < 0)
			break;
		e->data[e->len++] = (char)byte;
	}
	return !*at && e->len > offset ? 0 : fail(p, "expected 1 to 16 bytes of two digits");
}

/* Reads the indented lines after "PATH:" or "PATH: hex". */
static int take_block(struct parser *p, struct unc_entry *e, bool hex)
{
	bool open = false;
	int r = 0;

	if (*p->next != '\t')
		return fail(p, "no indented lines follow");
	e->data = hex ? NULL : p->next;
	while (r == 0 && *p->next == '\t') {
		next_line(p);
		r = hex ? add_row(p, e) : add_text(p, e, p->text + 1, &open);
	}
	p->bytes += hex ? e->len : 0;
	if (hex && !unc_names_take(&p->tree->strings, e->data) && r == 0)
		r = unc_nomem(p->e);
	return r;
}

/* True for printable ASCII without spaces and backslashes, as in all names of sysfs and proc. */
static bool is_plain(const char *name)
{
	size_t len = 0;

	while (name[len] > ' ' && name[len] < 0x7f && name[len] != '\\')
		len++;
	return len && !name[len] && len < PATH_MAX && *name != '#';
}

/* True if all parts have 1 to 255 bytes and are neither "." nor "..". */
static bool is_path(const char *path)
{
	for (size_t len;; path += len + 1) {
		len = strcspn(path, "/");
		if (!len || len > NAME_MAX || (len == 1 && *path == '.') ||
		    (len == 2 && strncmp(path, "..", 2) == 0))
			return false;
		if (!path[len])
			return true;
	}
}

static int take_entry(struct parser *p)
{
	struct unc_entry *e = unc_append(&p->tree->entries, &p->tree->count, sizeof(*e));
	char *end = strchrnul(p->text, ' '), *rest = *end ? end + 1 : end;
	bool hex = strcmp(end, " hex") == 0, open = false;
	char last = '\0';
	int r = 0;

	if (!e)
		return unc_nomem(p->e);
	if (end > p->text && (!*end || hex))
		last = end[-1];
	if (last == ':' || (last == '/' && !hex))
		end--;
	*end = '\0';
	*e = (struct unc_entry){.path = p->text, .kind = UNC_FILE, .data = end, .line = p->line};
	if (!is_plain(e->path) || !is_path(e->path))
		return fail(p, "'%s' is not a path below the root", e->path);
	if (last == ':') {
		r = take_block(p, e, hex);
	} else if (last == '/' && !hex) {
		e->kind = UNC_DIR;
	} else if (strncmp(rest, "= ", 2) == 0) {
		e->data = rest;
		r = add_text(p, e, rest + 2, &open);
	} else if (strncmp(rest, "-> ", 3) == 0) {
		e->kind = UNC_LINK;
		e->data = rest + 3;
		e->len = strlen(e->data);
		r = is_plain(e->data) ? 0 : fail(p, "a link to no path");
	} else if (strncmp(rest, "! ", 2) == 0) {
		e->kind = UNC_REFUSED;
		e->data = rest + 2;
		e->len = strlen(e->data);
		if (!unc_errno_number(e->data))
			r = fail(p, "expected the name of an error, such as EACCES");
	} else if (strcmp(rest, "?") == 0) {
		e->kind = UNC_UNREAD;
	} else {
		r = fail(
			p,
			"expected ' = TEXT', ' -> TARGET', ' ! ERROR', ' ?', ':', ': hex' or '/' behind a path");
	}
	if (r == 0 && e->data)
		e->data[e->len] = '\0';
	return r;
}

static int refuse_first_line(struct parser *p)
{
	size_t format = strlen(FORMAT);
	uint64_t version;
	char *end = strchr(p->text, '\r');

	p->line = 1; /* also of an empty file */
	if (end && !end[1]) {
		*end = '\0';
		if (strcmp(p->text, FIRST_LINE) == 0)
			return fail(
				p,
				"a snapshot's lines must end with LF, and this file has CR and LF");
	}
	if (strncmp(p->text, FORMAT, format) == 0 && unc_parse_u64(p->text + format, &version) == 0)
		return fail(p, "a snapshot of version %llu: this uncore reads version 1",
			    (unsigned long long)version);
	return fail(p, "not a snapshot: its first line must be '" FIRST_LINE "'");
}

/* Whether comments at the head say how the file ends, and it does not: it was cut. */
static bool is_cut(const char *text, size_t *lines)
{
	const char *last, *line = strchr(text, '\n');
	bool says = false;

	for (; line && line[1] == '#'; line = strchr(line + 1, '\n'))
		says = says || strncmp(line + 1, END_NOTE "\n", strlen(END_NOTE) + 1) == 0;
	last = text;
	*lines = 0;
	for (line = text; *line; line = strchrnul(line, '\n'), line += *line == '\n', ++*lines)
		if (*line != '\n')
			last = line;
	return says && strcmp(last, END) != 0 && strncmp(last, END "\n", strlen(END) + 1) != 0;
}

int unc_snapshot_parse(struct unc_tree *out, const char *file, const char *text, size_t len,
		       struct unc_error *e)
{
	struct unc_tree tree = {0};
	char *copy = malloc(len + 1);
	struct parser p = {.tree = &tree, .file = file, .text = copy, .next = copy, .e = e};
	size_t lines;
	bool cut;
	int r = 0;

	if (!unc_names_take(&tree.strings, copy))
		return unc_nomem(e);
	memcpy(copy, text, len);
	copy[len] = '\0';
	cut = is_cut(copy, &lines);
	if (!next_line(&p) || strcmp(p.text, FIRST_LINE) != 0)
		r = refuse_first_line(&p);
	else if (memchr(text, '\0', len))
		r = unc_fail(e, EINVAL, "%s: a snapshot is text, and this file has NUL bytes",
			     file);
	else if (cut)
		r = unc_fail(
			e, EINVAL,
			"%s: it was cut after line %zu: its head says that the last line is '" END
			"'",
			file, lines);
	while (r == 0 && next_line(&p)) {
		if (*p.text == '\t')
			r = fail(&p, "an indented line without a path above it");
		else if (*p.text && *p.text != '#')
			r = take_entry(&p);
	}
	if (tree.count)
		qsort(tree.entries, tree.count, sizeof(*tree.entries), by_path);
	/* Each path may occur once, and only a directory may contain others. */
	for (size_t i = 0; r == 0 && i + 1 < tree.count; i++) {
		const struct unc_entry *x = &tree.entries[i], *y = x + 1;

		if (!below(&tree, i + 1, x->path) ||
		    (x->kind == UNC_DIR && strcmp(x->path, y->path) != 0))
			continue;
		p.line = x->line > y->line ? x->line : y->line;
		r = fail(&p, "'%s' does not fit line %zu", y->path,
			 x->line > y->line ? y->line : x->line);
	}
	if (r < 0)
		unc_tree_finish(&tree);
	else
		*out = tree;
	return r;
}

/* ---- to text ---- */

static void put_text(struct unc_text *to, const char *data, size_t len)
{
	size_t plain = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)data[i];
		bool blank = c == ' ' || c == '\t';

		/* Editors remove blanks at the end of a line, so that they are escaped. */
		if (c != '\\' && c < 0x7f && (c > ' ' || (blank && i + 1 < len)))
			continue;
		unc_text_add(to, "%.*s", (int)(i - plain), data + plain);
		unc_text_add(to, c == '\\' ? "\\\\" : "\\x%02x", c);
		plain = i + 1;
	}
	unc_text_add(to, "%.*s", (int)(len - plain), data + plain);
}

static void put_contents(struct unc_text *to, const char *data, size_t len)
{
	static const char zeros[ROW];
	const char *newline = memchr(data, '\n', len), *end = data + len;
	bool hex = memchr(data, '\0', len), one = !newline || newline + 1 == end;

	unc_text_add(to, hex ? ": hex\n" : one ? " = " : ":\n");
	for (size_t at = 0; hex && at < len; at += ROW) {
		size_t n = len - at < ROW ? len - at : ROW;

		if (at + n < len && memcmp(data + at, zeros, n) == 0)
			continue;
		unc_text_add(to, "\t%04zx ", at);
		for (size_t i = 0; i < n; i++)
			unc_text_add(to, " %02x", (unsigned char)data[at + i]);
		unc_text_add(to, "\n");
	}
	if (hex)
		return;
	do {
		newline = memchr(data, '\n', (size_t)(end - data));
		unc_text_add(to, one ? "" : "\t");
		put_text(to, data, (size_t)((newline ? newline : end) - data));
		unc_text_add(to, newline ? "\n" : "\\\n");
		data = newline ? newline + 1 : end;
	} while (data < end);
}

void unc_snapshot_print(const struct unc_tree *t, struct unc_text *to)
{
	unc_text_add(to, FIRST_LINE "\n" END_NOTE "\n");
	if (t->fault) {
		unc_text_add(to, "# This machine could not be scanned: ");
		put_text(to, t->fault, strlen(t->fault));
		unc_text_add(to, "\n");
	}
	for (size_t i = 0; i < t->count; i++) {
		const struct unc_entry *e = &t->entries[i];

		bool skip = e->kind == UNC_DIR && below(t, i + 1, e->path);

		if (skip || !is_plain(e->path) || (e->kind == UNC_LINK && !is_plain(e->data)))
			continue;
		unc_text_add(to, "%s", e->path);
		if (e->kind == UNC_FILE)
			put_contents(to, e->data, e->len);
		else if (e->kind == UNC_LINK)
			unc_text_add(to, " -> %s\n", e->data);
		else if (e->kind == UNC_REFUSED)
			unc_text_add(to, " ! %s\n", e->data);
		else
			unc_text_add(to, e->kind == UNC_DIR ? "/\n" : " ?\n");
	}
	unc_text_add(to, END "\n");
}
