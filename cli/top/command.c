/* SPDX-License-Identifier: MIT */
/* `uncore top`: on a screen, or as an interval of stat. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/replay.h"
#include "commands/stat.h"
#include "top/top.h"

struct top_options {
	struct stat_options stat; /* first, since offsets of its options begin there */
	bool ascii;
};

static const char top_doc[] =
	"Shows what moves on screens that fill the terminal: sockets, memory channels, devices, "
	"links, GPUs, each with the share of its ceiling and its last minute, and a graph of the "
	"selected one.\v"
	"PRESET is mem, pcie, link, cache or matrix, or the begin of a screen's name (memory, "
	"links, gpus, power): its metrics are counted, and its screen is the first. Takes the "
	"options of stat; the interval is one second unless INTERVAL or -I say otherwise. The key "
	"? lists the keys. When the output is not a terminal, or with another format or file (-j, "
	"--csv, -o, --summary, --dry-run, -D, --control), the output is that of stat with an "
	"interval.";

/* The metrics of all views of a screen that this machine has, as a preset. */
static void make_preset(struct uncore *u, const char *screen, struct buffer *metrics)
{
	for (size_t i = 0; i < uncore_metric_count_here(u); i++) {
		const struct uncore_metric *metric = uncore_metric_at(u, i);
		const struct uncore_view *view = cli_view_cell(u, uncore_metric_name(metric)).view;

		if (!uncore_metric_missing(metric) && view &&
		    strcmp(uncore_view_screen(view), screen) == 0)
			buffer_printf(metrics, "%s%s/%s", metrics->len ? "," : "",
				      uncore_metric_family(metric), uncore_metric_name(metric));
	}
}

/* The command's preset of this name, else the screen whose name begins with the word. */
static int find_preset(struct cli *cli, const char *word, struct command *preset,
		       struct buffer *metrics, struct top_start *start)
{
	auto_buffer names = {0};

	for (const struct command *c = cli->presets; c->name; c++) {
		if (!c->metrics)
			continue;
		if (strcmp(c->name, word) == 0) {
			*preset = *c;
			start->preset = true;
			return CLI_OK;
		}
		buffer_printf(&names, "%s, ", c->name);
	}
	for (size_t i = 0; i < uncore_view_count(cli->u); i++) {
		const char *screen = uncore_view_screen(uncore_view_at(cli->u, i));

		if (!screen)
			continue;
		if (strncmp(screen, word, strlen(word)) == 0)
			start->screen = screen;
		if (!strstr(buffer_text(&names), screen))
			buffer_printf(&names, "%s, ", screen);
	}
	if (!start->screen) {
		int len = names.len ? (int)names.len - 2 : 0;

		return cli_failure(CLI_USAGE, "top: '%s' is not one of: %.*s", word, len,
				   buffer_text(&names));
	}
	make_preset(cli->u, start->screen, metrics);
	if (!metrics->len)
		return cli_failure(CLI_UNAVAILABLE, "this machine has no metric of the screen '%s'",
				   start->screen);
	*preset = (struct command){.metrics = metrics->data};
	return CLI_OK;
}

int cmd_top(struct cli *cli, int argc, char **argv)
{
	static const struct cli_option ascii[] = {
		{"ascii", NULL, "Only ASCII characters on the screen", 0, 4, OPTION_FLAG,
		 offsetof(struct top_options, ascii)},
		{0},
	};
	static const struct cli_syntax syntax = {
		.doc = top_doc, .args = "[PRESET] [INTERVAL [COUNT]]", .options = ascii};
	struct top_options o = {.stat = {.request.tree = true,
					 .print.separator = ",",
					 .takes_word = true,
					 .default_interval_ns = NS_PER_S}};
	struct request *request = &o.stat.request;
	struct print_options *print = &o.stat.print;
	struct top_start start = {0};
	struct command preset = {0};
	auto_buffer metrics = {0};
	bool shown = false, plain;
	int status;

	request->cheap = request->overview = true;
	stat_parse(cli, &o.stat, &syntax, argc, argv);
	start.ascii = o.ascii;
	plain = print->output || print->file || print->summary || o.stat.dry_run ||
		request->when.delay_ns || request->when.control || !isatty(STDOUT_FILENO);
	if (!print->output)
		print->output = output_find(request->sample_ns ? "samples" : "text");
	status = cli_open(cli);
	if (cli->replay && request->when.interval_ns < cli->replay->interval_ns)
		request->when.interval_ns = cli->replay->interval_ns;
	/* The screen joins intervals, and recorded values (--as-recorded) cannot be joined. */
	plain = plain || (cli->replay && cli->replay->show);
	if (request->when.command && !status)
		status = cli_failure(CLI_USAGE,
				     "top cannot run a command; use uncore stat -I 1s -- COMMAND");
	if (!status && o.stat.word) {
		status = find_preset(cli, o.stat.word, &preset, &metrics, &start);
		request->preset = &preset;
	} else if (request->query_count || request->sample_ns || request->level) {
		start.screen = "metrics"; /* what has been named is shown by its name */
	}
	if (request->exec && !status) {
		cli_error("top cannot run --exec; use uncore stat or uncore record");
		status = CLI_USAGE;
	}
	/* What is named is counted at all levels. Otherwise the rows of all levels come from the
	 * counters of the machine, since an I/O stack has too few for itself and for its ports. */
	request->extra = !start.screen && !o.stat.word && !cli_replays(cli);
	request->tree = !request->extra;
#ifdef UNCORE_TOP
	if (!status && !plain)
		status = top_run(cli, request, &start, &shown);
#else
	(void)plain;
#endif
	request->tree = request->overview = request->extra = false;
	if (preset.output && !request->query_count && cli_same(print->output->name, "text"))
		print->output = output_find(preset.output);
	if (preset.level && request->level == UNCORE_LEVEL_MACHINE)
		request->level = preset.level;
	if (!status && request->level == UNCORE_LEVEL_MACHINE && uncore_socket_count(cli->u) > 1)
		request->level = UNCORE_LEVEL_SOCKET;
	if (!status && !shown)
		status = stat_run(cli, &o.stat);
	free(request->queries);
	return status;
}
