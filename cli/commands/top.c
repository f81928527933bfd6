/* SPDX-License-Identifier: MIT */
/* `uncore top`: on a screen, or as an interval of stat. */
#include <stdlib.h>
#include <unistd.h>

#include "commands/stat-run.h"
#include "commands/stat.h"
#include "recording/replay.h"
#include "top/top.h"

static const char top_doc[] =
	"Shows metrics as a tree that fills the terminal: machine, sockets, memory channels, PCIe "
	"ports, "
	"links, with the share of the ceiling and the last minute.\v"
	"Takes the options of stat; the interval is one second unless INTERVAL or -I say "
	"otherwise. The key ? lists the keys. When the output is not a terminal, or with another "
	"format or file (-j, --csv, -o, --summary, --dry-run, -D, --control), the output is that "
	"of stat with an interval.";

int cmd_top(struct cli *cli, int argc, char **argv)
{
	static const struct cli_option ascii[] = {
		{"ascii", NULL, "Only ASCII characters on the screen", 0, 4, OPTION_FLAG,
		 offsetof(struct stat_options, ascii)},
		{0},
	};
	static const struct cli_syntax syntax = {
		.doc = top_doc, .args = "[INTERVAL [COUNT]]", .options = ascii};
	struct stat_options o = {
		.repeat = 1, .separator = ",", .default_interval_ns = NS_PER_S, .tree = true};
	bool shown = false, plain;
	int status;

	stat_parse(cli, &o, &syntax, argc, argv);
	plain = o.output || o.file || o.summary || o.dry_run || o.delay_ns || o.control ||
		!isatty(STDOUT_FILENO);
	if (!o.output)
		o.output = output_find(o.sample_ns ? "samples" : "text");
	status = cli_open(cli);
	if (cli->replay && o.interval_ns < cli->replay->interval_ns)
		o.interval_ns = cli->replay->interval_ns;
	/* The screen adds up intervals. */
	plain = plain || (cli->replay && cli->replay->show);
	if (o.command && !status) {
		cli_error("top cannot run a command; use uncore stat -I 1s -- COMMAND");
		status = CLI_USAGE;
	}
#ifdef UNCORE_TOP
	if (!status && !plain)
		status = top_run(cli, &o, &shown);
#else
	(void)plain;
#endif
	o.tree = false;
	if (!status && o.level == UNCORE_LEVEL_MACHINE && uncore_socket_count(cli->u) > 1)
		o.level = UNCORE_LEVEL_SOCKET;
	if (!status && !shown)
		status = stat_run(cli, &o);
	free(o.queries);
	return status;
}
