/* SPDX-License-Identifier: MIT */
/* The strict YAML loader: trees with positions, what is refused, typed access. */
#include "base/yaml-file.h"

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
	struct unc_error e = {""};

	if (unc_yaml_parse(&f, "t.yaml", text, strlen(text), &e))
		fail_msg("'%s' is refused: %s", text, e.text);
	return f;
}

static void check_refused(const char *text, size_t len, const char *want)
{
	struct unc_yaml_file *f = NULL;
	struct unc_error e = {""};
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

/* All keys of one map: looking for duplicates pair by pair would take minutes here. */
static void one_mebibyte_and_no_more(void **state)
{
	size_t limit = (size_t)1 << 20, len = 0;
	char *text = malloc(limit + 64);
	struct unc_yaml_file *f;

	(void)state;
	assert_non_null(text);
	for (int i = 0; len < limit - 16; i++)
		len += (size_t)sprintf(text + len, "k%d:\n", i);
	memset(text + len, '\n', limit - len);
	text[limit] = '\0';
	f = parse(text);
	assert_true(f->root->count > 100000);
	unc_yaml_free(f);
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
	struct unc_error e = {""};

	(void)state;
	assert_int_equal(unc_yaml_expect(f, f->root, UNC_YAML_MAP, &e), 0);
	assert_int_equal(unc_yaml_expect(f, events, UNC_YAML_LIST, &e), 0);
	assert_int_equal(unc_yaml_expect(f, events, UNC_YAML_MAP, &e), -EBADMSG);
	assert_string_equal(e.text, "t.yaml:7:3: the value of 'events' must be a map (keys and "
				    "values), not a list");
	assert_int_equal(unc_yaml_expect(f, &events->children[0], UNC_YAML_LIST, &e), -EBADMSG);
	assert_string_equal(e.text, "t.yaml:7:5: expected a list here, not text");
	assert_int_equal(unc_yaml_expect(f, f->root, UNC_YAML_TEXT, NULL), -EBADMSG);
	unc_yaml_free(f);
}

static void fail_says_where(void **state)
{
	struct unc_yaml_file *f = parse(sample);
	struct unc_error e = {""};

	(void)state;
	assert_int_equal(unc_yaml_fail(f, unc_yaml_get(f->root, "whole"), &e, "no event '%s'", "x"),
			 -EBADMSG);
	assert_string_equal(e.text, "t.yaml:3:8: no event 'x'");
	unc_yaml_free(f);
}

static void check_keys(const char *text, const char *const *keys, const char *want)
{
	struct unc_yaml_file *f = parse(text);
	struct unc_error e = {""};
	int err = unc_yaml_check(f, f->root, keys, &e);

	if (err != (*want ? -EBADMSG : 0) || strcmp(e.text, want) != 0)
		fail_msg("'%s' gives %d '%s', not '%s'", text, err, e.text, want);
	unc_yaml_free(f);
}

static void check_finds_unknown_and_missing_keys(void **state)
{
	static const char *const keys[] = {"!title", "unit", "!formula", NULL};
	static const char *const none[] = {NULL};
	struct unc_yaml_file *f;
	struct unc_error e = {""};

	(void)state;
	check_keys("{title: x, formula: y}", keys, "");
	check_keys("{formula: y, unit: z, title: x}", keys, "");
	check_keys("{}", none, "");
	check_keys("a: 1", none, "t.yaml:1:1: unknown key 'a'");
	check_keys("{title: x,\n tittle: [y]}", keys,
		   "t.yaml:2:2: unknown key 'tittle' (did you mean 'title'?); expected one of: "
		   "title, unit, formula");
	check_keys("{\"!title\": x}", keys,
		   "t.yaml:1:2: unknown key '!title' (did you mean 'title'?); expected one of: "
		   "title, unit, formula");
	check_keys("{title: x, colour: y}", keys,
		   "t.yaml:1:12: unknown key 'colour'; expected one of: title, unit, formula");
	check_keys("\n title: x", keys, "t.yaml:2:2: the key 'formula' is missing here");
	check_keys("text", keys, "t.yaml:1:1: expected a map (keys and values) here, not text");
	f = parse("metric:\n  unit: B/s");
	assert_int_equal(unc_yaml_check(f, unc_yaml_get(f->root, "metric"), keys, &e), -EBADMSG);
	assert_string_equal(e.text, "t.yaml:2:3: the key 'title' is missing in 'metric'");
	unc_yaml_free(f);
}

static void typed_values(void **state)
{
	struct unc_yaml_file *f = parse(sample);
	const char *text = "before";
	double number = 1;
	uint64_t whole = 1;
	bool yes = false, no = true;

	(void)state;
	assert_int_equal(unc_yaml_text(f, f->root, "title", &text, NULL), 0);
	assert_string_equal(text, "DRAM read");
	assert_int_equal(unc_yaml_double(f, f->root, "number", &number, NULL), 0);
	assert_true(number == 2500);
	assert_int_equal(unc_yaml_u64(f, f->root, "whole", &whole, NULL), 0);
	assert_int_equal(whole, 64);
	assert_int_equal(unc_yaml_bool(f, f->root, "yes", &yes, NULL), 0);
	assert_int_equal(unc_yaml_bool(f, f->root, "no", &no, NULL), 0);
	assert_true(yes);
	assert_false(no);
	unc_yaml_free(f);
}

static void absent_values_change_nothing(void **state)
{
	struct unc_yaml_file *f = parse(sample);
	const char *text = "before";
	double number = 7;
	uint64_t whole = 8;
	bool flag = true;

	(void)state;
	assert_int_equal(unc_yaml_text(f, f->root, "absent", &text, NULL), 0);
	assert_int_equal(unc_yaml_double(f, f->root, "absent", &number, NULL), 0);
	assert_int_equal(unc_yaml_u64(f, f->root, "absent", &whole, NULL), 0);
	assert_int_equal(unc_yaml_bool(f, f->root, "absent", &flag, NULL), 0);
	assert_string_equal(text, "before");
	assert_true(number == 7);
	assert_int_equal(whole, 8);
	assert_true(flag);
	unc_yaml_free(f);
}

static void wrong_values_are_explained(void **state)
{
	struct unc_yaml_file *f = parse("a: 1e999\nb: x\nc:\nd: [1]\ne: -1\n"
					"f: 18446744073709551616\ng: True\n");
	static const struct {
		char type;
		const char *key, *want;
	} cases[] = {
		{'t', "d", "4:4: the value of 'd' must be text, not a list"},
		{'d', "a",
		 "1:4: the value of 'a' must be a number that a double can hold, not "
		 "'1e999'"},
		{'d', "b",
		 "2:4: the value of 'b' must be a number such as 64, 0.5 or 1e9, not 'x'"},
		{'d', "c",
		 "3:3: the value of 'c' is empty; it must be a number such as 64, 0.5 or "
		 "1e9"},
		{'d', "d", "4:4: the value of 'd' must be text, not a list"},
		{'u', "e",
		 "5:4: the value of 'e' must be a whole number, decimal or 0x "
		 "hexadecimal, not '-1'"},
		{'u', "f",
		 "6:4: the value of 'f' must be a number below 2^64, not "
		 "'18446744073709551616'"},
		{'u', "d", "4:4: the value of 'd' must be text, not a list"},
		{'b', "g", "7:4: the value of 'g' must be true or false, not 'True'"},
		{'b', "c", "3:3: the value of 'c' is empty; it must be true or false"},
		{'b', "d", "4:4: the value of 'd' must be text, not a list"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *key = cases[i].key, *text = "before";
		struct unc_error e = {""};
		double number = 7;
		uint64_t whole = 8;
		bool flag = true;
		int err = 0;

		if (cases[i].type == 't')
			err = unc_yaml_text(f, f->root, key, &text, &e);
		if (cases[i].type == 'd')
			err = unc_yaml_double(f, f->root, key, &number, &e);
		if (cases[i].type == 'u')
			err = unc_yaml_u64(f, f->root, key, &whole, &e);
		if (cases[i].type == 'b')
			err = unc_yaml_bool(f, f->root, key, &flag, &e);
		assert_int_equal(err, -EBADMSG);
		assert_int_equal(strncmp(e.text, "t.yaml:", 7), 0);
		assert_string_equal(e.text + 7, cases[i].want);
		assert_string_equal(text, "before");
		assert_true(number == 7 && whole == 8 && flag);
	}
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
	struct unc_error e = {""};

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/imc.yaml", dir);
	assert_int_equal(unc_yaml_load(&f, path, &e), -ENOENT);
	snprintf(want, sizeof(want), "%s: cannot be opened: No such file or directory", path);
	assert_string_equal(e.text, want);
	assert_int_equal(unc_yaml_load(&f, dir, &e), -EISDIR);
	snprintf(want, sizeof(want), "%s: is no regular file; expected a YAML file", dir);
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
	struct unc_error e = {""};

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
		cmocka_unit_test(one_mebibyte_and_no_more),
		cmocka_unit_test(error_may_be_null),
		cmocka_unit_test(expect_names_the_key),
		cmocka_unit_test(fail_says_where),
		cmocka_unit_test(check_finds_unknown_and_missing_keys),
		cmocka_unit_test(typed_values),
		cmocka_unit_test(absent_values_change_nothing),
		cmocka_unit_test(wrong_values_are_explained),
		cmocka_unit_test(load_reads_a_file),
		cmocka_unit_test(load_stops_at_the_limit),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
