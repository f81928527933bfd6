/* SPDX-License-Identifier: MIT */
/* The command `uncore`: its table of subcommands and the options before them. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static const struct command commands[] = {
	{"stat", "Count metrics and events, once or every interval", cmd_stat},
	{"latency", "Latencies: means, or how those of sampled loads are spread", cmd_latency},
	{"list", "List PMUs, events and metrics of this machine", cmd_list},
	{"topo", "Show sockets, memory, PCIe and links, and which PMUs count them", cmd_topo},
	{"explain", "Show how a metric is made", cmd_explain},
	{"doctor", "Say what is here, what is missing, and what mends it", cmd_doctor},
	{"demo-block", "Move a register block in a file, to try the source regs", cmd_demo_block},
};

#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

struct top {
	struct cli *cli;
	int command; /* index of the first word that is no option; 0: none */
};

static error_t parse_top(int key, char *arg, struct argp_state *state)
{
	struct top *top = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = top->cli;
		return 0;
	case ARGP_KEY_ARG:
		top->command = state->next - 1;
		state->next = state->argc;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* The commands, for the help; argp frees the text. */
static char *help_filter(int key, const char *text, void *input)
{
	char *help = NULL;
	size_t size;
	FILE *f;

	(void)input;
	if (key != ARGP_KEY_HELP_EXTRA)
		return (char *)text;
	f = open_memstream(&help, &size);
	if (!f)
		return NULL;
	fputs("Commands (each has its own --help):\n", f);
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		fprintf(f, "  %-10s  %s\n", commands[i].name, commands[i].doc);
	for (size_t i = 0; i < cli_preset_count; i++)
		fprintf(f, "  %-10s  %s\n", cli_presets[i].name, cli_presets[i].title);
	fputs("\nExit status: 0 done, 1 failed, 2 wrong usage, 3 not possible on this machine, "
	      "4 no permission.\n",
	      f);
	fclose(f);
	return help;
}

static int unknown_command(const char *name)
{
	const char *names[COMMAND_COUNT + 16];
	const char *nearest;
	size_t count = 0;

	for (size_t i = 0; i < COMMAND_COUNT; i++)
		names[count++] = commands[i].name;
	for (size_t i = 0; i < cli_preset_count && i < 16; i++)
		names[count++] = cli_presets[i].name;
	nearest = cli_nearest(name, names, count);
	if (nearest)
		cli_error("there is no command '%s'; did you mean '%s'?", name, nearest);
	else
		cli_error("there is no command '%s'; 'uncore --help' lists them", name);
	return CLI_USAGE;
}

static int run_command(struct cli *cli, int argc, char **argv)
{
	const char *name = argv[0];
	char full[64];

	/* argp and getopt begin their sentences with this. */
	snprintf(full, sizeof(full), "uncore %s", name);
	argv[0] = full;
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (strcmp(name, commands[i].name) == 0)
			return commands[i].run(cli, argc, argv);
	for (size_t i = 0; i < cli_preset_count; i++)
		if (strcmp(name, cli_presets[i].name) == 0)
			return cmd_preset(cli, &cli_presets[i], argc, argv);
	return unknown_command(name);
}

/* Help goes through stdio: a full disk must not pass unnoticed there either. */
static void close_stdout(void)
{
	if (fclose(stdout) == 0)
		return;
	if (errno != EPIPE)
		cli_error("standard output: %s", strerror(errno));
	_exit(CLI_RUNTIME);
}

/* A counter opened as descriptor 1 would get our output. What was closed is opened the wrong way
 * round, so that using it fails. */
static void fill_standard_fds(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv)
{
	static const struct argp_child children[] = {{&cli_globals, 0, NULL, 0}, {0}};
	static const struct argp argp = {
		.parser = parse_top,
		.args_doc = "[COMMAND ...]",
		.doc = "Counts what moves outside the CPU cores: memory, PCIe, links, caches. "
		       "Without a command: a second of everything this machine can count.",
		.children = children,
		.help_filter = help_filter,
	};
	struct cli cli = {0};
	struct top top = {.cli = &cli};
	static char name[] = "uncore";
	const struct sigaction ignore = {.sa_handler = SIG_IGN};
	int status;

	fill_standard_fds();
	atexit(close_stdout);
	/* A closed pipe and a file grown too large are errors of write(), not deaths. */
	sigaction(SIGPIPE, &ignore, &cli.pipe);
	sigaction(SIGXFSZ, &ignore, &cli.file_size);
	argp_err_exit_status = CLI_USAGE;
	if (argc > 0)
		argv[0] = name;
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER | ARGP_NO_HELP, NULL, &top);
	if (top.command)
		status = run_command(&cli, argc - top.command, argv + top.command);
	else
		status = cmd_overview(&cli, argc, argv);
	cli_close(&cli);
	return status;
}
