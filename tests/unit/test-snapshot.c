/* SPDX-License-Identifier: MIT */
/* The text of snapshots: what it says, and what is wrong with it, by line. */
#include "hide.h"
#include "machine/root.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define FIRST "uncore snapshot 1\n"
#define NOTE "# The last line is '# end'.\n"
#define END "# end\n"

/* The text as it is printed: with the note and the last line. */
static void assert_prints(const struct unc_tree *t, const char *body)
{
	struct unc_text text = {0}, want = {0};

	unc_snapshot_print(t, &text);
	unc_text_add(&want, FIRST NOTE "%s" END, body + strlen(FIRST));
	assert_string_equal(text.data, want.data);
	unc_text_finish(&text);
	unc_text_finish(&want);
}

static void parse(struct unc_tree *t, const char *text)
{
	struct unc_error e;

	if (unc_snapshot_parse(t, "f.txt", text, strlen(text), &e) < 0)
		fail_msg("%s", e.text);
}

static void printing_gives_what_was_parsed(void **state)
{
	static const char *const texts[] = {
		FIRST,
		FIRST "a = 1\n",
		FIRST "a = 1\\\n",
		FIRST "a = \n",
		FIRST "a = \\\n",
		FIRST "a = \\\\\n",
		FIRST "a = \\\\\\\n",
		FIRST "a = \tb\\x20\n",
		FIRST "a = \\xff\\x0d\n",
		FIRST "a:\n\t1\n\t\n",
		FIRST "a:\n\t\tx = y\n\t# 2\\\n",
		FIRST "a: hex\n\t0000  61 00\n",
		FIRST "a: hex\n\t0000  00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 01\n"
		      "\t0ff0  00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00\n",
		FIRST "a/\n",
		FIRST "a/b:c/d = 1\n",
		FIRST "a/b -> ../c:d\na-b = 2\n",
		FIRST "a ! EACCES\nb ?\n",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		struct unc_tree t;

		parse(&t, texts[i]);
		assert_prints(&t, texts[i]);
		unc_tree_finish(&t);
	}
}

static void order_and_comments_are_free(void **state)
{
	struct unc_tree t;

	(void)state;
	parse(&t, FIRST "# one\n\nb/c = 2\n\n#two\nb-d = 3\nb/\na = 1");
	assert_prints(&t, FIRST "a = 1\nb/c = 2\nb-d = 3\n");
	unc_tree_finish(&t);
}

static void errors_have_a_line(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{"", "f.txt:1: not a snapshot"},
		{"a = 1\n", "f.txt:1: not a snapshot: its first line must be 'uncore snapshot 1'"},
		{"uncore snapshot x\n", "f.txt:1: not a snapshot: its first line must be"},
		{"uncore snapshot 1 \n", "f.txt:1: not a snapshot: its first line must be"},
		{"uncore snapshot 2\n",
		 "f.txt:1: a snapshot of version 2: this uncore reads version 1"},
		{"uncore snapshot 2\r\n", "f.txt:1: a snapshot of version 2"},
		{"uncore snapshot 1\r\na = 1\r\n", "f.txt:1: a snapshot's lines must end with LF"},
		{FIRST "\ta\n", "f.txt:2: an indented line"},
		{FIRST "a = 1\n\tb\n", "f.txt:3: an indented line"},
		{FIRST "\na\n", "f.txt:3: expected ' = TEXT'"},
		{FIRST "a =1\n", "f.txt:2: expected ' = TEXT'"},
		{FIRST "a  = 1\n", "f.txt:2: expected ' = TEXT'"},
		{FIRST "a: hexa\n", "f.txt:2: expected ' = TEXT'"},
		{FIRST " = 1\n", "is not a path below the root"},
		{FIRST "a -> \n", "f.txt:2: a link to no path"},
		{FIRST "a\\ = 1\n", "is not a path below the root"},
		{FIRST "a\\x00b = 1\n", "is not a path below the root"},
		{FIRST "/a = 1\n", "is not a path below the root"},
		{FIRST "a//b = 1\n", "is not a path below the root"},
		{FIRST "a/../b = 1\n", "is not a path below the root"},
		{FIRST "./a = 1\n", "is not a path below the root"},
		{FIRST "a/ = 1\n", "is not a path below the root"},
		{FIRST "a\\x01 = 1\n", "is not a path below the root"},
		{FIRST "a = \\y\n", "f.txt:2: a backslash must be followed"},
		{FIRST "a = \\x4\n", "f.txt:2: a backslash must be followed"},
		{FIRST "a:\n", "f.txt:2: no indented lines"},
		{FIRST "a: hex\n", "f.txt:2: no indented lines"},
		{FIRST "a:\n\tb\\\n\tc\n", "f.txt:4: a backslash ends the contents"},
		{FIRST "a: hex\n\t0000 61\n", "f.txt:3: expected 1 to 16 bytes"},
		{FIRST "a: hex\n\t0000  \n", "f.txt:3: expected 1 to 16 bytes"},
		{FIRST "a: hex\n\t0000  6\n", "f.txt:3: expected 1 to 16 bytes"},
		{FIRST "a: hex\n\t0000  61  62\n", "f.txt:3: expected 1 to 16 bytes"},
		{FIRST "a: hex\n\t0000  01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10 11\n",
		 "f.txt:3: expected 1 to 16 bytes"},
		{FIRST "a: hex\n\t  61\n", "f.txt:3: expected an offset"},
		{FIRST "a: hex\n\t0000  61 62\n\t0001  63\n", "f.txt:4: expected an offset"},
		{FIRST "a: hex\n\t1000000  61\n", "f.txt:3: expected an offset"},
		{FIRST "a ! EFOO\n", "f.txt:2: expected the name of an error"},
		{FIRST "a = 1\nb = 2\na = 1\n", "f.txt:4: 'a' does not fit line 2"},
		{FIRST "a = 1\na/b = 2\n", "f.txt:3: 'a/b' does not fit line 2"},
		{FIRST "a/b/c = 2\na/b -> c\n", "f.txt:3: 'a/b/c' does not fit line 2"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct unc_tree t = {.count = 77};
		struct unc_error e = {0};
		const char *text = cases[i].text;

		assert_int_equal(unc_snapshot_parse(&t, "f.txt", text, strlen(text), &e), -EINVAL);
		if (!strstr(e.text, cases[i].error))
			fail_msg("%s: %s", cases[i].text, e.text);
		assert_int_equal(t.count, 77);
	}
}

static void a_file_that_was_cut_is_refused(void **state)
{
	static const char *const whole[] = {
		FIRST NOTE "a = 1\nb = 2\n" END, FIRST NOTE "a = 1\n# end",
		FIRST "# verified\n" NOTE "# end\n\n",
		FIRST "a = 1\n" NOTE, /* no comment at the head */
	};
	static const struct {
		const char *text, *error;
	} cut[] = {
		{FIRST NOTE "a = 1\nb = 2\n", "f.txt: it was cut after line 4: its head says"},
		{FIRST NOTE "a = 1\nb", "f.txt: it was cut after line 4: "},
		{FIRST NOTE, "f.txt: it was cut after line 2: "},
		{FIRST NOTE "# en", "f.txt: it was cut after line 3: "},
		{FIRST "# one\n" NOTE END "a = 1\n", "f.txt: it was cut after line 5: "},
	};
	struct unc_error e = {0};
	struct unc_tree t;

	(void)state;
	for (size_t i = 0; i < COUNT(whole); i++) {
		parse(&t, whole[i]);
		unc_tree_finish(&t);
	}
	for (size_t i = 0; i < COUNT(cut); i++) {
		assert_int_equal(unc_snapshot_parse(&t, "f.txt", cut[i].text, strlen(cut[i].text),
						    &e),
				 -EINVAL);
		if (strncmp(e.text, cut[i].error, strlen(cut[i].error)) != 0)
			fail_msg("%s: %s", cut[i].text, e.text);
	}
}

/* Each of these rows has 16 MiB of zeros before it. */
static void contents_are_bounded(void **state)
{
	struct unc_text text = {0};
	struct unc_error e = {0};
	struct unc_tree t;

	(void)state;
	unc_text_add(&text, FIRST);
	for (int i = 0; i < 5; i++)
		unc_text_add(&text, "a%d: hex\n\tfffff0  01\n", i);
	assert_int_equal(unc_snapshot_parse(&t, "f.txt", text.data, text.len, &e), -EINVAL);
	assert_non_null(strstr(e.text, "f.txt:11: more than 67108864 bytes"));
	unc_text_finish(&text);
}

static void a_path_that_is_recorded_twice_is_kept_once(void **state)
{
	struct unc_tree t = {0};

	(void)state;
	unc_tree_add(&t, UNC_UNREAD, "a", "", 0);
	unc_tree_add(&t, UNC_FILE, "a", "1\n", 2);
	unc_tree_add(&t, UNC_FILE, "a", "1\n2\n", 4);
	unc_tree_add(&t, UNC_DIR, "b", "", 0);
	unc_tree_add(&t, UNC_LINK, "b", "c", 1);
	unc_tree_sort(&t);
	assert_prints(&t, FIRST "a:\n\t1\n\t2\nb -> c\n");
	unc_tree_finish(&t);
}

/* Each text has its exact length: nothing before its begin and behind its end is looked at. */
static void addresses_are_hidden_at_both_ends_of_a_text(void **state)
{
	static const char *const texts[][2] = {
		{"0c42a1123456789a", "0c42a1123456789a"}, /* digits alone are a number */
		{"enx0c42a1123456", "enx000000000001"},
		{"0c:42:a1:12:34:56", "00:00:00:00:00:01"}, /* the same address */
		{"0c42a112-3456-789a-bcde-f0123456789a", "00000000-0000-0000-0000-000000000002"},
		{"x0c42a1123457", "x0c42a1123457"},
		{"0000:15:01.0", "0000:15:01.0"},
	};
	struct unc_hidden hidden = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		size_t len = strlen(texts[i][0]);
		char *text = malloc(len);

		assert_non_null(text);
		memcpy(text, texts[i][0], len);
		unc_hide(&hidden, text, len);
		assert_memory_equal(text, texts[i][1], len);
		free(text);
	}
	unc_names_finish(&hidden.seen);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_hidden_at_both_ends_of_a_text),
		cmocka_unit_test(printing_gives_what_was_parsed),
		cmocka_unit_test(order_and_comments_are_free),
		cmocka_unit_test(errors_have_a_line),
		cmocka_unit_test(a_file_that_was_cut_is_refused),
		cmocka_unit_test(contents_are_bounded),
		cmocka_unit_test(a_path_that_is_recorded_twice_is_kept_once),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
