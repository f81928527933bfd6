/* SPDX-License-Identifier: MIT */
/* `uncore mark`: writes a mark into a recording in progress. */
#include <string.h>

#include "base/buffer.h"
#include "commands/options.h"
#include "loop/control.h"

struct mark {
	const char *file, *text;
};

static void check_mark(void *into, struct argp_state *state)
{
	const struct mark *mark = into;

	if (!mark->file)
		argp_error(state, "a recording is missing: uncore mark -o FILE TEXT");
	else if (!mark->text || !mark->text[strspn(mark->text, " \t")])
		argp_error(state, "a text is missing: uncore mark -o FILE TEXT");
	else if (strchr(mark->text, '\n'))
		argp_error(state, "TEXT must be one line");
	else if (strlen(mark->text) > CONTROL_ROOM - 100)
		argp_error(state, "TEXT is longer than %d bytes", CONTROL_ROOM - 100);
}

int cmd_mark(struct cli *cli, int argc, char **argv)
{
	static const struct cli_option options[] = {
		{"output", "FILE", "The recording that a running uncore record -o writes", 'o', 1,
		 OPTION_TEXT, offsetof(struct mark, file)},
		{0},
	};
	static const struct cli_syntax syntax = {
		.doc = "Writes the mark TEXT, with the current time, into a recording in progress. "
		       "report and diff can select the region from it to the next mark, or to 'end "
		       "TEXT'.",
		.args = "TEXT",
		.no_args = "a text is missing: uncore mark -o FILE TEXT",
		.options = options,
		.second = " is one argument too many: put TEXT in quotes",
		.argument_at = offsetof(struct mark, text),
		.check = check_mark,
	};
	auto_buffer command = {0};
	struct mark mark = {0};

	cli_parse(cli, &syntax, &mark, argc, argv);
	buffer_printf(&command, "mark %s", mark.text);
	return control_send(mark.file, command.data);
}
