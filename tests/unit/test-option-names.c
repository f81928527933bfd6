/* SPDX-License-Identifier: MIT */
/* Deprecated names of options, of which this test has its own. */
#include "commands/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/table.h"
#include "base/terminal.h"
#include "base/writer.h"
#include "commands/guess.h"
#include "output/output.h"

const struct guess_synonym guess_synonyms[] = {
	{"rounds", "cycles", 0, false, true},
	{"rounds", "laps", 'l', false, false},
	{0},
};

/* ---- in the place of parts that read no option ---- */

const struct output outputs[] = {{0}};
const size_t output_count = 0;

const struct output *output_find(const char *name)
{
	(void)name;
	return NULL;
}

int complete(struct cli *cli, const struct cli_option *options, const struct cli_option *globals,
	     const char *args, char **words)
{
	(void)cli, (void)options, (void)globals, (void)args, (void)words;
	return 0;
}

bool guess_is_near(const char *typed, const char *name, int mistakes)
{
	(void)typed, (void)name, (void)mistakes;
	return false;
}

const char *guess_refused(const char *option)
{
	(void)option;
	return NULL;
}

bool guess_see(struct cli *cli, const char *about, const char *word, const char *next)
{
	(void)cli, (void)about, (void)word, (void)next;
	return false;
}

bool human_set_units(const char *name)
{
	(void)name;
	return true;
}

bool terminal_set_color(const char *when)
{
	(void)when;
	return true;
}

int writer_print(struct buffer *text)
{
	(void)text;
	return 0;
}

void writer_set_pager(bool on)
{
	(void)on;
}

/* ---- the test ---- */

struct numbers {
	uint64_t rounds;
};

/* Reads the option with the value 3, and returns what was printed to standard error. */
static char *errors_of(const char *option)
{
	static const struct cli_option options[] = {
		{"rounds", "N", "How many", 0, 0, OPTION_COUNT, offsetof(struct numbers, rounds)},
		{0},
	};
	static const struct cli_syntax syntax = {.options = options};
	static char text[200];
	char name[20], *argv[] = {(char[]){"uncore stat"}, name, (char[]){"3"}, NULL};
	struct numbers numbers = {0};
	struct cli cli = {0};
	FILE *errors = tmpfile();
	int kept = dup(STDERR_FILENO);

	assert_non_null(errors);
	snprintf(name, sizeof(name), "%s", option);
	fflush(stderr);
	dup2(fileno(errors), STDERR_FILENO);
	cli_parse(&cli, &syntax, &numbers, 3, argv);
	fflush(stderr);
	dup2(kept, STDERR_FILENO);
	close(kept);
	rewind(errors);
	text[fread(text, 1, sizeof(text) - 1, errors)] = '\0';
	fclose(errors);
	assert_int_equal(numbers.rounds, 3);
	return text;
}

static void a_deprecated_name_works_with_a_note(void **state)
{
	(void)state;
	assert_string_equal(errors_of("--cycles"),
			    "uncore: note: --cycles: the name is now --rounds\n");
}

static void other_names_have_no_note(void **state)
{
	(void)state;
	assert_string_equal(errors_of("--rounds"), "");
	assert_string_equal(errors_of("--laps"), "");
	assert_string_equal(errors_of("-l"), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_deprecated_name_works_with_a_note),
		cmocka_unit_test(other_names_have_no_note),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
