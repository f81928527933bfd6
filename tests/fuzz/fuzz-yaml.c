/* SPDX-License-Identifier: MIT */
/* The YAML loader: what loads is a sound tree that survives being written and loaded again; what
 * does not has a sentence with its place. */
#include "base/data-file.h"
#include "base/text.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* Columns count characters, and each character is a byte at least. */
static void check_tree(const struct unc_yaml *n, int level, size_t size)
{
	require(n->line >= 1 && n->col >= 1);
	require((size_t)n->line <= size + 1 && (size_t)n->col <= size + 1);
	require((n->kind == UNC_YAML_TEXT) == (n->text != NULL));
	require(n->kind != UNC_YAML_TEXT || (!n->children && n->count == 0));
	require(level <= 16);
	for (size_t i = 0; i < n->count; i++) {
		const struct unc_yaml *child = &n->children[i];

		require((n->kind == UNC_YAML_MAP) == (child->key != NULL));
		if (child->key) {
			require(child->key[0] && child->key_line >= 1 && child->key_col >= 1);
			require(child->line > child->key_line ||
				(child->line == child->key_line && child->col > child->key_col));
			/* No other child has this key. */
			require(unc_yaml_get(n, child->key) == child);
		}
		check_tree(child, level + (child->kind != UNC_YAML_TEXT), size);
	}
}

/* The length of the UTF-8 character at `s`, and its code. */
static size_t decode(const unsigned char *s, unsigned *code)
{
	size_t len = s[0] < 0x80 ? 1 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : 4;

	*code = len == 1 ? s[0] : s[0] & (0xFFU >> (len + 1));
	for (size_t i = 1; i < len; i++) {
		require((s[i] & 0xC0) == 0x80);
		*code = *code << 6 | (s[i] & 0x3F);
	}
	return len;
}

static void write_text(struct unc_text *t, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned code;

	unc_text_add(t, "\"");
	while (*s) {
		s += decode(s, &code);
		unc_text_add(t, "\\U%08x", code);
	}
	unc_text_add(t, "\"");
}

static void write_tree(struct unc_text *t, const struct unc_yaml *n)
{
	if (n->kind == UNC_YAML_TEXT) {
		write_text(t, n->text);
		return;
	}
	unc_text_add(t, n->kind == UNC_YAML_MAP ? "{" : "[");
	for (size_t i = 0; i < n->count; i++) {
		if (n->kind == UNC_YAML_MAP) {
			unc_text_add(t, "\n? ");
			write_text(t, n->children[i].key);
			unc_text_add(t, "\n: ");
		}
		write_tree(t, &n->children[i]);
		unc_text_add(t, ",");
	}
	unc_text_add(t, n->kind == UNC_YAML_MAP ? "}" : "]");
}

static void check_same(const struct unc_yaml *a, const struct unc_yaml *b)
{
	require(a->kind == b->kind && a->count == b->count);
	require(!a->text || strcmp(a->text, b->text) == 0);
	for (size_t i = 0; i < a->count; i++) {
		const char *key = a->children[i].key;

		require(!key || strcmp(key, b->children[i].key) == 0);
		check_same(&a->children[i], &b->children[i]);
	}
}

static void check_written(const struct unc_yaml_file *f)
{
	struct unc_yaml_file *again = NULL;
	struct unc_error e = {0};
	struct unc_text t = {0};

	write_tree(&t, f->root);
	require(!t.failed);
	if (unc_yaml_parse(&again, "again.yaml", t.data, t.len, &e) == 0)
		check_same(f->root, again->root);
	else
		require(strstr(e.text, "larger than 1 MiB") != NULL);
	unc_yaml_free(again);
	unc_text_finish(&t);
}

struct one {
	const char *text;
	double number;
	uint64_t whole;
	bool flag;
	unsigned word;
	struct unc_word *words;
	size_t word_count;
};

/* Every kind of value, on each child of each map near the root. */
static void check_access(struct unc_yaml_file *f, const struct unc_yaml *map, int depth)
{
	static const char *const words[] = {"title", "unit", NULL};
	static const struct unc_field kinds[] = {
		UNC_FIELD(NULL, TEXT, UNC_AT(struct one, text)),
		UNC_FIELD(NULL, DOUBLE, UNC_AT(struct one, number)),
		UNC_FIELD(NULL, NUMBER, UNC_AT(struct one, whole), .most = 64),
		UNC_FIELD(NULL, BOOL, UNC_AT(struct one, flag)),
		UNC_FIELD(NULL, WORD, UNC_AT(struct one, word), .words = words),
		UNC_FIELD(NULL, WORDS, UNC_LIST(struct one, words, word_count)),
	};
	static const struct unc_field fields[] = {
		UNC_FIELD("!title", TEXT, UNC_AT(struct one, text)),
		UNC_FIELD("unit", WORD, UNC_AT(struct one, word), .words = words),
		UNC_END,
	};
	struct unc_error e = {0};
	const struct unc_reader r = {.file = f, .e = &e};
	struct one one = {0};

	if (unc_fill(&r, map, &(struct unc_shape){.fields = fields}, &one))
		require(strncmp(e.text, "fuzz.yaml:", 10) == 0);
	for (size_t i = 0; i < map->count; i++) {
		if (depth < 2)
			check_access(f, &map->children[i], depth + 1);
		for (size_t k = 0; map->children[i].key && k < sizeof(kinds) / sizeof(*kinds);
		     k++) {
			one = (struct one){0};
			e.text[0] = '\0';
			require(unc_fill_value(&r, &map->children[i], &kinds[k], &one) == 0 ||
				strncmp(e.text, "fuzz.yaml:", 10) == 0);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unc_yaml_file *f = NULL;
	struct unc_error e = {0};
	int err = unc_yaml_parse(&f, "fuzz.yaml", (const char *)data, size, &e);

	if (err) {
		require(err == -EBADMSG && !f);
		require(strncmp(e.text, "fuzz.yaml:", 10) == 0);
		return 0;
	}
	check_tree(f->root, f->root->kind != UNC_YAML_TEXT, size);
	check_written(f);
	check_access(f, f->root, 0);
	unc_yaml_free(f);
	return 0;
}
