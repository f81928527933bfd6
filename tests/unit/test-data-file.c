/* SPDX-License-Identifier: MIT */
/* The strict YAML loader: trees with positions, what is refused, typed access. */
#include "base/data-file.h"
#include "base/text.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct unc_yaml_file *parse(const char *text)
{
	struct unc_yaml_file *f = NULL;
	struct unc_error e = {0};

	if (unc_yaml_parse(&f, "t.yaml", text, strlen(text), &e))
		fail_msg("'%s' is refused: %s", text, e.text);
	return f;
}

static void check_refused(const char *text, size_t len, const char *want)
{
	struct unc_yaml_file *f = NULL;
	struct unc_error e = {0};
	int err = unc_yaml_parse(&f, "t.yaml", text, len, &e);

	if (err != -EBADMSG || strcmp(e.text, want) != 0)
		fail_msg("'%s' gives %d '%s', not '%s'", text, err, e.text, want);
	assert_null(f);
}

static void check_node(const struct unc_yaml *n, enum unc_yaml_kind kind, const char *text,
		       int line, int col)
{
	assert_non_null(n);
	assert_int_equal(n->kind, kind);
	if (text)
		assert_string_equal(n->text, text);
	assert_int_equal(n->line, line);
	assert_int_equal(n->col, col);
}

static void block_style(void **state)
{
	struct unc_yaml_file *f = parse("# comment\n"
					"title: DRAM read\n"
					"events:\n"
					"  - name: reads\n"
					"    terms: event=0x04\n"
					"  - writes\n"
					"empty:\n");
	const struct unc_yaml *events, *event;

	(void)state;
	assert_string_equal(f->name, "t.yaml");
	check_node(f->root, UNC_YAML_MAP, NULL, 2, 1);
	assert_null(f->root->key);
	assert_int_equal(f->root->count, 3);
	check_node(unc_yaml_get(f->root, "title"), UNC_YAML_TEXT, "DRAM read", 2, 8);
	check_node(unc_yaml_get(f->root, "empty"), UNC_YAML_TEXT, "", 7, 7);
	events = unc_yaml_get(f->root, "events");
	check_node(events, UNC_YAML_LIST, NULL, 4, 3);
	assert_string_equal(events->key, "events");
	assert_int_equal(events->key_line, 3);
	assert_int_equal(events->key_col, 1);
	assert_int_equal(events->count, 2);
	event = &events->children[0];
	check_node(event, UNC_YAML_MAP, NULL, 4, 5);
	check_node(unc_yaml_get(event, "terms"), UNC_YAML_TEXT, "event=0x04", 5, 12);
	assert_int_equal(unc_yaml_get(event, "terms")->key_col, 5);
	check_node(&events->children[1], UNC_YAML_TEXT, "writes", 6, 5);
	assert_null(events->children[1].key);
	assert_null(unc_yaml_get(f->root, "titl"));
	assert_null(unc_yaml_get(events, "name"));
	unc_yaml_free(f);
}

static void flow_style(void **state)
{
	struct unc_yaml_file *f = parse("{a: [x, \"y z\", {b: 'c', é: d}], e: []}");
	const struct unc_yaml *a = unc_yaml_get(f->root, "a");

	(void)state;
	check_node(a, UNC_YAML_LIST, NULL, 1, 5);
	assert_int_equal(a->count, 3);
	check_node(&a->children[1], UNC_YAML_TEXT, "y z", 1, 9);
	/* columns count characters, not bytes */
	check_node(unc_yaml_get(&a->children[2], "é"), UNC_YAML_TEXT, "d", 1, 28);
	check_node(unc_yaml_get(f->root, "e"), UNC_YAML_LIST, NULL, 1, 36);
	assert_int_equal(unc_yaml_get(f->root, "e")->count, 0);
	unc_yaml_free(f);
}

/* What YAML elsewhere would turn into booleans, numbers, dates or null. */
static void every_scalar_is_text(void **state)
{
	struct unc_yaml_file *f = parse("[on, no, 1.10, 010, null, ~, 2026-01-01, 0x1F, <<, =]");
	static const char *const want[] = {"on", "no",         "1.10", "010", "null",
					   "~",  "2026-01-01", "0x1F", "<<",  "="};

	(void)state;
	assert_int_equal(f->root->count, COUNT(want));
	for (size_t i = 0; i < COUNT(want); i++)
		assert_string_equal(f->root->children[i].text, want[i]);
	unc_yaml_free(f);
}

static void long_text(void **state)
{
	struct unc_yaml_file *f = parse("folded: >\n  a / b\n  * 64\n"
					"literal: |\n  a\n   b\n"
					"quoted: \"\\t\\u00e9\\\\ \\\n  x\"\n"
					"plain: one\n  two\n");

	(void)state;
	assert_string_equal(unc_yaml_get(f->root, "folded")->text, "a / b * 64\n");
	assert_string_equal(unc_yaml_get(f->root, "literal")->text, "a\n b\n");
	assert_string_equal(unc_yaml_get(f->root, "quoted")->text, "\té\\ x");
	assert_string_equal(unc_yaml_get(f->root, "plain")->text, "one two");
	unc_yaml_free(f);
}

static void harmless_frames(void **state)
{
	static const char *const texts[] = {
		"---\na: b\n",        "a: b\n...\n",
		"---\na: b\n...\n",   "%YAML 1.1\n---\na: b\n",
		"\xef\xbb\xbf{a: b}", "a: b # with\r\n# comments\r\n",
		"? a\n: b\n",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		struct unc_yaml_file *f = parse(texts[i]);

		assert_int_equal(f->root->count, 1);
		assert_string_equal(unc_yaml_get(f->root, "a")->text, "b");
		unc_yaml_free(f);
	}
}

static void refused(void **state)
{
	static const char anchor[] =
		"anchors ('&') are not allowed; quote text that begins with '&'";
	static const char alias[] =
		"aliases ('*') are not allowed; quote text that begins with '*'";
	static const char tag[] = "tags ('!') are not allowed; quote text that begins with '!'";
	static const char twice[] = "the key 'a' is here twice; first on line ";
	static const char second[] = "a second document is not allowed";
	static const char empty[] = "the file is empty; expected keys and values";
	static const struct {
		const char *text, *where, *what, *more;
	} cases[] = {
		{"a: &x b", "1:4", anchor, ""},
		{"a: &x [b]", "1:4", anchor, ""},
		{"a: &x {b: c}", "1:4", anchor, ""},
		{"&x a: b", "1:1", anchor, ""},
		{"a: *x", "1:4", alias, ""},
		{"*x : b", "1:1", alias, ""},
		{"a:\n  - *x", "2:5", alias, ""},
		{"a: !!int 1", "1:4", tag, ""},
		{"a: !x [b]", "1:4", tag, ""},
		{"a: !x {b: c}", "1:4", tag, ""},
		{"a: !x", "1:4", tag, ""},
		{"!!str a: b", "1:1", tag, ""},
		{"a: ! b", "1:4", tag, ""},
		{"é: x\nb: [é, ! \"c\"]", "2:8", tag, ""},
		{"a: 1\nb: 2\na: 3\na: 4", "3:1", twice, "1"},
		{"c:\n  - {b: 1, a: 2, \"a\": 3}", "2:18", twice, "2"},
		{"a: 1\n---\nb: 1", "2:1", second, ""},
		{"a: 1\n...\n---\n", "3:1", second, ""},
		{"\"\": b", "1:1", "a key must not be empty", ""},
		{"{'': b}", "1:2", "a key must not be empty", ""},
		{"[a]: b", "1:1", "a key must be plain text", ""},
		{"? {a: b}\n: c", "1:3", "a key must be plain text", ""},
		{"a: \"x\\0y\"", "1:4", "text must not hold a NUL character", ""},
		{"\"\\0\": b", "1:1", "text must not hold a NUL character", ""},
		{"", "1:1", empty, ""},
		{" \n# only a comment\n", "1:1", empty, ""},
		{"---\n", "1:1", empty, ""},
		{"''", "1:1", empty, ""},
		{"a: \xff", "1:4", "invalid leading UTF-8 octet", ""},
		{"é: b\nc: \xc3(", "2:5", "invalid trailing UTF-8 octet", ""},
		{"a: b\nc: é\x01", "2:5", "control characters are not allowed", ""},
		{"\xff\xfe{", "1:1", "invalid leading UTF-8 octet", ""},
		{"{a: b} c", "1:8", "did not find expected <document start>", ""},
		{"a: b\n c: d", "2:3", "mapping values are not allowed in this context", ""},
		{"a: 1\nb: [x,\n", "3:1",
		 "did not find expected node content while parsing a flow node that began at line 3, "
		 "column 1",
		 ""},
		{"a: \"x", "1:6",
		 "found unexpected end of stream while scanning a quoted scalar that began at line "
		 "1, column 4",
		 ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		char want[256];

		snprintf(want, sizeof(want), "t.yaml:%s: %s%s", cases[i].where, cases[i].what,
			 cases[i].more);
		check_refused(cases[i].text, strlen(cases[i].text), want);
	}
	check_refused("a\0b", 3, "t.yaml:1:2: control characters are not allowed");
}

static void sixteen_levels_and_no_more(void **state)
{
	char text[64];
	struct unc_yaml_file *f;

	(void)state;
	memset(text, '[', 16);
	memset(text + 16, ']', 16);
	text[32] = '\0';
	f = parse(text);
	unc_yaml_free(f);
	memset(text, '[', 17);
	memset(text + 17, ']', 17);
	check_refused(text, 34, "t.yaml:1:17: lists and maps are nested more than 16 levels deep");
}

static void refused_quickly(void **state)
{
	size_t len = 100000;
	char *text = malloc(len);

	(void)state;
	assert_non_null(text);
	memset(text, '[', len);
	check_refused(text, len, "t.yaml:1:17: lists and maps are nested more than 16 levels deep");
	free(text);
}

/* As many keys of one map as are allowed, and a long end. */
static void one_mebibyte_and_4096_keys(void **state)
{
	size_t limit = (size_t)1 << 20, len = 0;
	char *text = malloc(limit + 64);
	struct unc_yaml_file *f;

	(void)state;
	assert_non_null(text);
	for (int i = 0; i < 4096; i++)
		len += (size_t)sprintf(text + len, "k%d:\n", i);
	memset(text + len, '\n', limit - len);
	text[limit] = '\0';
	f = parse(text);
	assert_int_equal(f->root->count, 4096);
	unc_yaml_free(f);
	memcpy(text + len, "k:", 2);
	check_refused(text, limit, "t.yaml:4097:1: a list or map has more than 4096 entries");
	text[limit] = '\n';
	check_refused(text, limit + 1, "t.yaml: the file is larger than 1 MiB");
	free(text);
}

static void error_may_be_null(void **state)
{
	struct unc_yaml_file *f = NULL;

	(void)state;
	assert_int_equal(unc_yaml_parse(&f, "t.yaml", "a: [", 4, NULL), -EBADMSG);
	assert_int_equal(unc_yaml_parse(&f, "t.yaml", "a: 1\na: 2", 9, NULL), -EBADMSG);
	assert_null(f);
	unc_yaml_free(NULL);
}

/* ---- typed access ------------------------------------------------------------------------ */

static const char sample[] = "title: DRAM read\n"
			     "number: 2.5e3\n"
			     "whole: 0x40\n"
			     "yes: true\n"
			     "no: false\n"
			     "events:\n"
			     "  - reads\n"
			     "when: {model: 143}\n"
			     "empty:\n";

static void expect_names_the_key(void **state)
{
	struct unc_yaml_file *f = parse(sample);
	const struct unc_yaml *events = unc_yaml_get(f->root, "events");
	struct unc_error e = {0};
	struct unc_reader r = {.file = f, .e = &e};

	(void)state;
	assert_int_equal(unc_reader_expect(&r, f->root, UNC_YAML_MAP), 0);
	assert_int_equal(unc_reader_expect(&r, events, UNC_YAML_LIST), 0);
	assert_int_equal(unc_reader_expect(&r, events, UNC_YAML_MAP), -EBADMSG);
	assert_string_equal(e.text, "t.yaml:7:3: the value of 'events' must be a map (keys and "
				    "values), not a list");
	assert_int_equal(unc_reader_expect(&r, &events->children[0], UNC_YAML_LIST), -EBADMSG);
	assert_string_equal(e.text, "t.yaml:7:5: expected a list here, not text");
	r.e = NULL;
	assert_int_equal(unc_reader_expect(&r, f->root, UNC_YAML_TEXT), -EBADMSG);
	unc_yaml_free(f);
}

static void fail_says_where(void **state)
{
	struct unc_yaml_file *f = parse(sample);
	const struct unc_yaml *whole = unc_yaml_get(f->root, "whole");
	struct unc_error e = {0};
	const struct unc_reader r = {.file = f, .e = &e};

	(void)state;
	assert_int_equal(unc_reader_fail(&r, whole, "no event '%s'", "x"), -EBADMSG);
	assert_string_equal(e.text, "t.yaml:3:8: no event 'x'");
	assert_int_equal(unc_reader_fail_key(&r, whole, "no"), -EBADMSG);
	assert_string_equal(e.text, "t.yaml:3:1: no");
	assert_int_equal(unc_reader_fail_in(&r, whole, 2, "no"), -EBADMSG);
	assert_string_equal(e.text, "t.yaml:3:10: no");
	unc_yaml_free(f);
}

/* ---- filled structs ---------------------------------------------------------------------- */

static const struct unc_field checked[] = {
	UNC_FIELD("!title", ANY),
	UNC_FIELD("unit", ANY),
	UNC_FIELD("!formula", ANY),
	UNC_END,
};

static const struct unc_field none[] = {UNC_END};

static void check_keys(const char *text, const struct unc_field *fields, const char *expected)
{
	struct unc_yaml_file *f = parse(text);
	struct unc_error e = {0};
	const struct unc_reader r = {.file = f, .e = &e};
	int err = unc_fill(&r, f->root, &(struct unc_shape){.fields = fields}, NULL);

	if (err != (*expected ? -EBADMSG : 0) || strcmp(e.text, expected) != 0)
		fail_msg("'%s' gives %d '%s', not '%s'", text, err, e.text, expected);
	unc_yaml_free(f);
}

static void unknown_and_missing_keys_are_found(void **state)
{
	(void)state;
	check_keys("{title: x, formula: y}", checked, "");
	check_keys("{formula: y, unit: z, title: x}", checked, "");
	check_keys("{}", none, "");
	check_keys("a: 1", none, "t.yaml:1:1: unknown key 'a'");
	check_keys("{title: x,\n tittle: [y]}", checked,
		   "t.yaml:2:2: unknown key 'tittle' (did you mean title?); expected one of: "
		   "title, unit, formula");
	check_keys("{\"!title\": x}", checked,
		   "t.yaml:1:2: unknown key '!title' (did you mean title?); expected one of: "
		   "title, unit, formula");
	check_keys("{title: x, colour: y}", checked,
		   "t.yaml:1:12: unknown key 'colour'; expected one of: title, unit, formula");
	check_keys("\n title: x", checked, "t.yaml:2:2: the key 'formula' is missing here");
	check_keys("text", checked, "t.yaml:1:1: expected a map (keys and values) here, not text");
}

struct pair {
	const char *name;
	unsigned most;
};

struct sample {
	const char *text;
	double number;
	uint64_t whole;
	bool flag;
	unsigned small, word;
	struct unc_word *words;
	size_t word_count;
	struct pair *pairs, *named;
	size_t pair_count, named_count;
	uint64_t bits;
	struct unc_names names;
};

static const struct unc_field pair_fields[] = {
	UNC_FIELD("!name", TEXT, UNC_AT(struct pair, name)),
	UNC_FIELD("most", NUMBER, UNC_AT(struct pair, most), .most = 9),
	UNC_END,
};

static const struct unc_shape pair = {.fields = pair_fields, .size = sizeof(struct pair)};
static const struct unc_bounds shares = {0, 1, "a share"};

static int double_it(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	(void)r;
	(void)node;
	((struct sample *)into)->whole *= 2;
	return 0;
}

static const struct unc_field sample_fields[] = {
	UNC_FIELD("text", TEXT, UNC_AT(struct sample, text)),
	UNC_FIELD("number", DOUBLE, UNC_AT(struct sample, number)),
	UNC_FIELD("share", DOUBLE, UNC_AT(struct sample, number), .range = &shares),
	UNC_FIELD("whole", NUMBER, UNC_AT(struct sample, whole), .check = double_it),
	UNC_FIELD("small", NUMBER, UNC_AT(struct sample, small), .least = 1, .most = 64),
	UNC_FIELD("flag", BOOL, UNC_AT(struct sample, flag)),
	UNC_FIELD("word", WORD, UNC_AT(struct sample, word),
		  .words = (const char *const[]){"", "one", "two", NULL}, .what = "word"),
	UNC_FIELD("words", WORDS, UNC_LIST(struct sample, words, word_count)),
	UNC_FIELD("pairs", LIST, UNC_LIST(struct sample, pairs, pair_count), .of = &pair),
	UNC_FIELD("named", NAMED, UNC_LIST(struct sample, named, named_count), .of = &pair,
		  .most = 2),
	UNC_FIELD("bits", BITS, UNC_AT(struct sample, bits)),
	UNC_FIELD("names", NAMES, UNC_AT(struct sample, names), .what = "names such as a b"),
	UNC_FIELD("units", NAMES, UNC_AT(struct sample, names), .what = "units", .numbers = true),
	UNC_END,
};

static const struct unc_shape sample_shape = {.fields = sample_fields,
					      .size = sizeof(struct sample)};

static void every_kind_is_filled(void **state)
{
	struct unc_yaml_file *f = parse("number: 2.5e3\ntext: DRAM read\nwhole: 0x40\nsmall: 64\n"
					"flag: true\nword: two\nwords: {a: b, c: d}\n"
					"pairs: [{name: x}, {name: y, most: 9}]\n"
					"named: {k: {name: z}}\nbits: 0-7,21\nnames: x  y_1\n");
	const struct unc_reader r = {.file = f};
	struct sample s = {0};

	(void)state;
	assert_int_equal(unc_fill(&r, f->root, &sample_shape, &s), 0);
	assert_string_equal(s.text, "DRAM read");
	assert_true(s.number == 2500 && s.flag);
	assert_int_equal(s.whole, 128); /* checked when it was set */
	assert_int_equal(s.small, 64);
	assert_int_equal(s.word, 2);
	assert_int_equal(s.word_count, 2);
	assert_string_equal(s.words[1].name, "c");
	assert_string_equal(s.words[1].text, "d");
	assert_int_equal(s.pair_count, 2);
	assert_string_equal(s.pairs[1].name, "y");
	assert_int_equal(s.pairs[1].most, 9);
	assert_int_equal(s.named_count, 1);
	assert_string_equal(s.named[0].name, "z");
	assert_int_equal(s.bits, 0x2000ff);
	assert_int_equal(s.names.count, 2);
	assert_string_equal(s.names.items[1], "y_1");
	unc_yaml_free(f);
}

static void absent_values_change_nothing(void **state)
{
	struct unc_yaml_file *f = parse("{}");
	const struct unc_reader r = {.file = f};
	struct sample s = {.text = "before", .number = 7, .whole = 8, .flag = true, .word = 9};

	(void)state;
	assert_int_equal(unc_fill(&r, f->root, &sample_shape, &s), 0);
	assert_string_equal(s.text, "before");
	assert_true(s.number == 7 && s.whole == 8 && s.flag && s.word == 9);
	unc_yaml_free(f);
}

static void wrong_values_are_explained(void **state)
{
	static const char *const cases[][2] = {
		{"text: [1]", "1:7: the value of 'text' must be text, not a list"},
		{"text:", "1:6: the value of 'text' is empty"},
		{"number: 1e999",
		 "1:9: the value of 'number' must be a number that a double can hold, not '1e999'"},
		{"number: x",
		 "1:9: the value of 'number' must be a number such as 64, 0.5 or 1e9, not 'x'"},
		{"number:", "1:8: the value of 'number' is empty"},
		{"number: [1]", "1:9: the value of 'number' must be text, not a list"},
		{"share: 1.5", "1:8: the value of 'share' must be a share"},
		{"whole: -1",
		 "1:8: the value of 'whole' must be a whole number, decimal or 0x hexadecimal, not "
		 "'-1'"},
		{"whole: 18446744073709551616",
		 "1:8: the value of 'whole' must be a number below 2^64, not "
		 "'18446744073709551616'"},
		{"small: 0", "1:8: the value of 'small' must be from 1 to 64"},
		{"small: 65", "1:8: the value of 'small' must be from 1 to 64"},
		{"flag: True", "1:7: the value of 'flag' must be true or false, not 'True'"},
		{"flag:", "1:6: the value of 'flag' is empty"},
		{"word: three", "1:7: 'three' is not a valid word; expected one of: one, two"},
		{"word: ''", "1:7: the value of 'word' is empty"},
		{"words: {}", "1:8: 'words' is empty"},
		{"words: {a: [b]}", "1:12: the value of 'a' must be text, not a list"},
		{"pairs: {}", "1:8: the value of 'pairs' must be a list, not a map"},
		{"pairs: [{name: a}, {most: 1}]", "1:20: the key 'name' is missing here"},
		{"named: {k: {most: 1}}", "1:12: the key 'name' is missing in 'k'"},
		{"named: {a: {name: x}, b: {name: x}, c: {name: x}}",
		 "1:8: at most 2 entries are allowed in 'named'"},
		{"text: \"a\\tb\"", "1:7: the value of 'text' must be one line of text"},
		{"bits: 7-3", "1:7: '7-3' are not bits such as 8, 24-31 or 0-7,21"},
		{"bits: 64", "1:7: '64' are not bits such as 8, 24-31 or 0-7,21"},
		{"bits: ''", "1:7: the value of 'bits' is empty"},
		{"names: a,b", "1:8: 'a,b' is not a valid list of names such as a b"},
		{"names: a B", "1:10: 'a B' is not a valid list of names such as a b"},
		{"units: 0 -", "1:10: '0 -' is not a valid list of units"},
		{"units: 0 a", "1:10: '0 a' is not a valid list of units"},
		{"names:", "1:7: the value of 'names' is empty"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct unc_yaml_file *f = parse(cases[i][0]);
		struct unc_error e = {0};
		const struct unc_reader r = {.file = f, .e = &e};
		struct sample s = {.number = 7, .whole = 8, .flag = true};

		assert_int_equal(unc_fill(&r, f->root, &sample_shape, &s), -EBADMSG);
		assert_int_equal(strncmp(e.text, "t.yaml:", 7), 0);
		assert_string_equal(e.text + 7, cases[i][1]);
		assert_true(!s.text && s.number == 7 && s.whole == 8 && s.flag);
		unc_yaml_free(f);
	}
}

static void one_of_several_keys(void **state)
{
	static const struct unc_field choice[] = {UNC_FIELD("|a", ANY), UNC_FIELD("b", ANY),
						  UNC_FIELD("|c", ANY),
						  UNC_FIELD("!d", ANY, .with = "c"), UNC_END};
	struct {
		unsigned other, number;
	} chosen = {.number = 7};
	const struct unc_shape shape = {.fields = choice, .choice = sizeof(chosen.other)};
	struct unc_yaml_file *f = parse("{b: 1, c: 1, d: 1}");
	const struct unc_reader r = {.file = f};

	(void)state;
	check_keys("{b: 1}", choice, "t.yaml:1:1: expected exactly one of: a, c");
	check_keys("{a: 1, c: 1}", choice, "t.yaml:1:8: 'c' and 'a' exclude each other");
	check_keys("{a: 1, b: 1}", choice, "");
	check_keys("{a: 1, d: 1}", choice, "t.yaml:1:8: unknown key 'd'; expected one of: a, b, c");
	check_keys("{c: 1}", choice, "t.yaml:1:1: the key 'd' is missing here");
	check_keys("{c: 1, d: 1}", choice, "");
	assert_int_equal(unc_fill(&r, f->root, &shape, &chosen), 0);
	assert_int_equal(chosen.number, 1);
	unc_yaml_free(f);
}

/* ---- from disk --------------------------------------------------------------------------- */

static void write_file(const char *path, const char *text, size_t len)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	assert_int_equal(fwrite(text, 1, len, out), len);
	assert_int_equal(fclose(out), 0);
}

static void load_reads_a_file(void **state)
{
	char dir[] = "/tmp/test-yaml-XXXXXX", path[64], want[256];
	struct unc_yaml_file *f = NULL;
	struct unc_error e = {0};

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/imc.yaml", dir);
	assert_int_equal(unc_yaml_load(&f, path, &e), -ENOENT);
	snprintf(want, sizeof(want), "%s: cannot be opened: No such file or directory", path);
	assert_string_equal(e.text, want);
	assert_int_equal(unc_yaml_load(&f, dir, &e), -EISDIR);
	snprintf(want, sizeof(want), "%s: is not a regular file; expected a YAML file", dir);
	assert_string_equal(e.text, want);
	write_file(path, "a: b\na: c", 9);
	assert_int_equal(unc_yaml_load(&f, path, &e), -EBADMSG);
	snprintf(want, sizeof(want), "%s:2:1: the key 'a' is here twice; first on line 1", path);
	assert_string_equal(e.text, want);
	assert_null(f);
	write_file(path, "a: b\n", 5);
	assert_int_equal(unc_yaml_load(&f, path, &e), 0);
	assert_string_equal(f->name, path);
	assert_string_equal(unc_yaml_get(f->root, "a")->text, "b");
	unc_yaml_free(f);
	unlink(path);
	rmdir(dir);
}

static void load_stops_at_the_limit(void **state)
{
	struct unc_yaml_file *f = NULL;
	struct unc_error e = {0};

	(void)state;
	/* A file without end. */
	assert_int_equal(unc_yaml_load(&f, "/dev/zero", &e), -EBADMSG);
	assert_string_equal(e.text, "/dev/zero: the file is larger than 1 MiB");
	assert_int_equal(unc_yaml_load(&f, "/dev/null", &e), -EBADMSG);
	assert_string_equal(e.text, "/dev/null:1:1: the file is empty; expected keys and values");
	assert_null(f);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(block_style),
		cmocka_unit_test(flow_style),
		cmocka_unit_test(every_scalar_is_text),
		cmocka_unit_test(long_text),
		cmocka_unit_test(harmless_frames),
		cmocka_unit_test(refused),
		cmocka_unit_test(sixteen_levels_and_no_more),
		cmocka_unit_test(refused_quickly),
		cmocka_unit_test(one_mebibyte_and_4096_keys),
		cmocka_unit_test(error_may_be_null),
		cmocka_unit_test(expect_names_the_key),
		cmocka_unit_test(fail_says_where),
		cmocka_unit_test(unknown_and_missing_keys_are_found),
		cmocka_unit_test(every_kind_is_filled),
		cmocka_unit_test(absent_values_change_nothing),
		cmocka_unit_test(wrong_values_are_explained),
		cmocka_unit_test(one_of_several_keys),
		cmocka_unit_test(load_reads_a_file),
		cmocka_unit_test(load_stops_at_the_limit),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
