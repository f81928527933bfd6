/* SPDX-License-Identifier: MIT */
/* `uncore top`: on a screen, or as an interval of stat. */
#include <stdlib.h>
#include <unistd.h>

#include "base/replay.h"
#include "commands/stat.h"
#include "top/top.h"

struct top_options {
	struct stat_options stat; /* first, since offsets of its options begin there */
	bool ascii;
};

static const char top_doc[] =
	"Shows metrics as a tree that fills the terminal: machine, sockets, memory channels, PCIe "
	"ports, links, with the share of the ceiling and the last minute.\v"
	"Takes the options of stat; the interval is one second unless INTERVAL or -I say "
	"otherwise. The key ? lists the keys. When the output is not a terminal, or with another "
	"format or file (-j, --csv, -o, --summary, --dry-run, -D, --control), the output is that "
	"of stat with an interval.";

int cmd_top(struct cli *cli, int argc, char **argv)
{
	static const struct cli_option ascii[] = {
		{"ascii", NULL, "Only ASCII characters on the screen", 0, 4, OPTION_FLAG,
		 offsetof(struct top_options, ascii)},
		{0},
	};
	static const struct cli_syntax syntax = {
		.doc = top_doc, .args = "[INTERVAL [COUNT]]", .options = ascii};
	struct top_options o = {.stat = {.request.tree = true,
					 .print.separator = ",",
					 .default_interval_ns = NS_PER_S}};
	struct request *request = &o.stat.request;
	struct print_options *print = &o.stat.print;
	bool shown = false, plain;
	int status;

	request->cheap = true;
	stat_parse(cli, &o.stat, &syntax, argc, argv);
	plain = print->output || print->file || print->summary || o.stat.dry_run ||
		request->when.delay_ns || request->when.control || !isatty(STDOUT_FILENO);
	if (!print->output)
		print->output = output_find(request->sample_ns ? "samples" : "text");
	status = cli_open(cli);
	if (cli->replay && request->when.interval_ns < cli->replay->interval_ns)
		request->when.interval_ns = cli->replay->interval_ns;
	/* The screen joins intervals, and recorded values (--as-recorded) cannot be joined. */
	plain = plain || (cli->replay && cli->replay->show);
	if (request->when.command && !status) {
		cli_error("top cannot run a command; use uncore stat -I 1s -- COMMAND");
		status = CLI_USAGE;
	}
#ifdef UNCORE_TOP
	if (!status && !plain)
		status = top_run(cli, request, o.ascii, &shown);
#else
	(void)plain;
#endif
	request->tree = false;
	if (!status && request->level == UNCORE_LEVEL_MACHINE && uncore_socket_count(cli->u) > 1)
		request->level = UNCORE_LEVEL_SOCKET;
	if (!status && !shown)
		status = stat_run(cli, &o.stat);
	free(request->queries);
	return status;
}
