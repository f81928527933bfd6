/* SPDX-License-Identifier: MIT */
/* `uncore snapshot`: the machine as a text file, for --root, bug reports and tests. */
#include <stdlib.h>

#include "base/buffer.h"
#include "base/writer.h"
#include "commands/options.h"

int cmd_snapshot(struct cli *cli, int argc, char **argv)
{
	static const struct cli_syntax syntax = {
		.doc = "Writes what uncore reads of this machine into a text file ('-': standard "
		       "output), which --root takes like a directory: for bug reports and tests. "
		       "Serial numbers, MAC addresses, and names of the host and its users are left "
		       "out. Read the file before you publish it.",
		.args = "FILE",
		.no_args = "a file is missing: uncore snapshot machine.txt",
		.second = ": one file is enough",
	};
	auto_buffer all = {0};
	const char *file = NULL;
	char *text;
	int status, err;

	cli_parse(cli, &syntax, &file, argc, argv);
	status = cli_prepare(cli);
	if (status)
		return status;
	err = uncore_snapshot_with_answers(cli->u, &text);
	if (err)
		return cli_fail(cli, err);
	if (!uncore_cpu_count(cli->u))
		cli_error(
			"note: this machine could not be scanned, and the snapshot has what was read: "
			"%s",
			uncore_error(cli->u));
	buffer_puts(&all, text);
	free(text);
	return writer_save(file, &all);
}
