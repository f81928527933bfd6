/* SPDX-License-Identifier: MIT */
/* The command `uncore`: its table of subcommands and the options before them. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cli.h"
#include "base/rights.h"
#include "commands/guess.h"
#include "commands/options.h"
#include "record/replay.h"
#include "verify/verify.h"

#ifdef UNCORE_SERVE_MODULE
#define UNCORE_SERVE
/* A module, since its libraries (mainly GnuTLS) would make every start of the command 50 %
 * slower. */
static int load_serve(struct cli *cli, int argc, char **argv)
{
	void *module = dlopen(UNCORE_SERVE_MODULE, RTLD_NOW);
	void *symbol = module ? dlsym(module, "cmd_serve") : NULL;
	int (*run)(struct cli * cli, int argc, char **argv);

	if (!symbol)
		return cli_failure(CLI_RUNTIME, "%s", dlerror());
	memcpy(&run, &symbol, sizeof(run));
	return run(cli, argc, argv);
}
#else
#define load_serve cmd_serve
#endif

#ifdef UNC_NVML_IN_COMMAND
/* The program that uses NVIDIA's library, which the library starts as a process of its own. */
int unc_nvml_main(int argc, char **argv);
#endif

/* Counts every part of every stack, to find the one that counts the traffic of a root port. */
static const struct command check = {
	"check",
	"Test which PMU counts this root port, while its device copies data",
	.metrics = "pcie.inbound.read.bandwidth,pcie.inbound.write.bandwidth",
	.output = "check",
	.level = UNCORE_LEVEL_PART,
	.device = "PORT"};

/* The root ports beside the devices below them. */
static const struct command ends = {
	"ends",
	"Compare what root ports count with what the devices below count themselves",
	.metrics = "pcie.inbound.read.bandwidth,pcie.inbound.write.bandwidth,"
		   "device.pcie.inbound.*.bandwidth,storage.*.bandwidth,network.*.bandwidth",
	.output = "ends",
	.level = UNCORE_LEVEL_PORT,
	.view = &check};

/* Hits and misses of the last-level cache, added up, as bandwidths and shares. */
static const struct command ddio = {
	"ddio",
	"Device reads and writes that hit the last-level cache, or reached memory",
	.metrics =
		"pcie.inbound.read.llc.bandwidth,pcie.inbound.read.llc.*,pcie.inbound.write.llc.*",
	.output = "ddio",
	.level = UNCORE_LEVEL_SOCKET,
	.view = &ends};

/* Includes metrics without a column, for which the PMUs have too few counters at once. */
static const struct command mem_all = {"all", "Every metric of memory, in rounds",
				       .metrics = "memory.*,group.*", .output = "memory"};
static const struct command pcie_all = {
	"all",
	"Every metric of PCIe, in rounds",
	.metrics = "pcie.inbound.read.bandwidth,pcie.inbound.write.bandwidth,"
		   "pcie.outbound.read.bandwidth,pcie.outbound.write.bandwidth,"
		   "pcie.inbound.read.latency,pcie.*,device.*,"
		   "storage.*,network.*",
	.output = "ports",
	.level = UNCORE_LEVEL_PORT,
	.view = &ddio};
static const struct command link_all = {"all", "Every metric of links, in rounds",
					.metrics = "link.*,device.link.*,device.c2c.*",
					.output = "links"};

/* The links to accelerators beside these. */
static const struct command link_ends = {
	"ends",
	"Compare what links to GPUs count with what the GPUs count themselves",
	.metrics = "link.in.read.bandwidth,link.in.write.bandwidth,device.c2c.*",
	.output = "ends",
	.level = UNCORE_LEVEL_INSTANCE,
	.view = &link_all};

static const struct command commands[] = {
	{"stat", "Count metrics and events, once or every interval", .run = cmd_stat},
	{"top", "Watch sockets, memory channels, ports and links in the terminal", .run = cmd_top},
	{"who", "Show which processes, containers, units or jobs move the data", .run = cmd_who},
	{"latency", "Mean latencies, or the distribution of sampled loads", .run = cmd_latency},
	{"list", "List PMUs, events and metrics of this machine", .run = cmd_list},
	{"topo", "Show sockets, memory, PCIe and links, and which PMUs count them",
	 .run = cmd_topo},
	{"explain", "Show the formula, events and evidence of a metric", .run = cmd_explain},
	{"doctor", "Report usable and missing PMUs, and how to fix problems", .run = cmd_doctor},
	{"verify", "Move known amounts of data, and compare the counters with them",
	 .run = cmd_verify},
	{"snapshot", "Write what uncore reads of this machine into a text file",
	 .run = cmd_snapshot},
#ifdef UNCORE_RECORD
	{"record", "Record the readings of counters into a file", .run = cmd_record},
	{"mark", "Write a mark into a recording in progress", .run = cmd_mark},
	{"report", "Show a recording as stat, a preset or another command", .run = cmd_report},
	{"diff", "Compare two recordings: what changed by more than noise", .run = cmd_diff},
#endif
#ifdef UNCORE_SERVE
	{"serve", "Serve counters over HTTP, for browsers and Prometheus", .run = load_serve},
#endif
	{"demo-block", "Simulate a register block in a file, to try the source regs",
	 .run = cmd_demo_block},
	/* Presets: the only place in the command that names metrics. They fit into the counters at
	 * once where that is possible (tests/cli/intervals.bats). Metrics after "else" are for
	 * machines that have none of those before it, and after "|" for families. */
	{"mem", "Memory traffic, latency and utilization", .run = cmd_stat,
	 .metrics = "memory.read.bandwidth,memory.write.bandwidth,memory.bandwidth,"
		    "memory.utilization*,memory.read.latency,memory.read.latency.cycles,"
		    "memory.package.*,"
		    "memory.cxl.*bandwidth,memory.requests,memory.read.requests,"
		    "memory.write.requests,group.memory.bandwidth,"
		    "group.memory.local.bandwidth,group.memory.local.ratio,"
		    "group.cache.occupancy,else,memory.*",
	 .which = "memory.* and group.* that fit together", .output = "memory", .recorded = true,
	 .view = &mem_all, .without = "gpu link port device address per-port"},
	{"pcie", "PCIe traffic by root port and device", .run = cmd_stat,
	 .metrics =
		 "pcie.inbound.read.bandwidth,pcie.inbound.write.bandwidth,"
		 "pcie.outbound.read.bandwidth,pcie.outbound.write.bandwidth,"
		 "pcie.inbound.read.latency,pcie.inbound.complex?.bandwidth,else,pcie.in.bandwidth,pcie.out.bandwidth,"
		 "else,pcie.*.bandwidth,pcie.*.utilization,pcie.*.latency,and,"
		 "device.pcie.inbound.*.bandwidth|device.pcie.*bandwidth|"
		 "device.engine.copy.utilization,storage.*.bandwidth,network.*.bandwidth",
	 .which = "pcie.* that fit together, and the devices' own counts", .output = "ports",
	 .level = UNCORE_LEVEL_PORT, .recorded = true, .view = &pcie_all,
	 .without = "from gpu link per-channel"},
	{"link", "Traffic between sockets and to accelerators", .run = cmd_stat,
	 .metrics = "link.out.bandwidth,link.in.bandwidth*,link.?.out.bandwidth,"
		    "link.?.in.bandwidth,link.out.utilization*,else,link.in.read.requests,"
		    "link.in.write.requests,link.out.read.requests,link.out.write.requests,"
		    "else,link.*,and,device.c2c.*,device.link.*",
	 .which = "link.* that fit together, and the devices' own counts", .output = "links",
	 .recorded = true, .view = &link_ends,
	 .without = "port device address per-port per-channel sort"},
	{"cache", "System-level caches and the fabric", .run = cmd_stat,
	 .metrics = "cache.*,fabric.*", .which = "cache.* and fabric.*", .output = "cache",
	 .without = "gpu link port device address per-port per-channel sort"},
	{"power", "Power, clocks of the uncore and temperatures", .run = cmd_stat,
	 .metrics = "power.package,power.memory,power.cores,power.graphics,power.platform,"
		    "device.energy.power,device.power,clock.uncore.*frequency,temperature.*",
	 .which = "power.*, device.power, clock.uncore.* and temperature.*",
	 .without = "from to gpu link address per-port per-channel sort", .recorded = true},
	{"matrix", "Memory traffic by source and target", .run = cmd_stat,
	 .metrics = "matrix.*,and,device.pcie.inbound.*.bandwidth,device.link.*,device.c2c.*",
	 .which = "matrix.*, and the devices' own counts", .output = "matrix",
	 .without = "from to gpu link port device address per-port per-channel sort"},
	{0},
};

#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]) - 1)

/* Stores the index of the command's name, and ends parsing: the following options are those of the
 * command. */
static void take_command(void *into, char *arg, struct argp_state *state)
{
	(void)arg;
	*(int *)into = state->next - 1;
	state->next = state->argc;
}

/* The commands, for the help; argp frees the text. */
static char *help_filter(int key, const char *text, void *input)
{
	struct buffer help = {0};

	(void)input;
	if (key != ARGP_KEY_HELP_EXTRA)
		return (char *)text;
	buffer_puts(&help, "Commands ('uncore help COMMAND' prints the help of each):\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		buffer_printf(&help, "  %-10s  %s\n", commands[i].name, commands[i].doc);
	buffer_puts(&help, "\nExit status: 0 success, 1 error, 2 wrong usage, 3 not available on "
			   "this machine, 4 permission denied.\n");
	return help.data;
}

/* Commands that this build does not have. */
static const char *const left_out[] = {
#ifndef UNCORE_RECORD
	"record", "mark", "report", "diff",
#endif
#ifndef UNCORE_SERVE
	"serve",
#endif
	NULL,
};
/* Whether one of them, of three letters or more, is the beginning of the other. */
static bool begins(const char *a, const char *b)
{
	size_t length = strlen(a) < strlen(b) ? strlen(a) : strlen(b);

	return length >= 3 && strncmp(a, b, length) == 0;
}

/* A word that is no command: the command that shows what the word means, the nearest command, or
 * all commands. The words behind it may say more: "which nvme". */
static int unknown_command(struct cli *cli, const char *name, int argc, char **argv)
{
	const char *next = argc ? argv[0] : NULL;
	auto_buffer text = {0};
	bool answered;

	for (const char *const *command = left_out; *command; command++)
		if (strcmp(name, *command) == 0)
			return cli_failure(
				CLI_USAGE,
				"%s: this file was built without it; 'make portable' builds "
				"one file that has all commands",
				name);
	buffer_printf(&text, "unknown command '%s'", name);
	answered = guess_see(cli, text.data, name, next);
	if (answered)
		return CLI_USAGE;
	text.len = 0;
	for (int mistakes = 1; !text.len && mistakes <= (strlen(name) > 4 ? 2 : 1); mistakes++)
		for (size_t i = 0; i < COMMAND_COUNT; i++)
			if (guess_is_near(name, commands[i].name, mistakes) ||
			    (mistakes == 1 && begins(name, commands[i].name)))
				buffer_printf(&text, "%s'%s'", text.len ? " or " : "",
					      commands[i].name);
	if (text.len)
		return cli_failure(CLI_USAGE, "unknown command '%s'; did you mean %s?", name,
				   text.data);
	if (guess_meaning(name))
		return cli_failure(CLI_USAGE,
				   "unknown command '%s'; for its meaning use: uncore explain %s",
				   name, name);
	buffer_printf(&text, "unknown command '%s'", name);
	answered = guess_word(cli, text.data, name);
	for (int i = 0; !answered && i < argc; i++)
		answered = *argv[i] != '-' && guess_word(cli, text.data, argv[i]);
	if (!answered) {
		text.len = 0;
		for (size_t i = 0; i < COMMAND_COUNT; i++)
			buffer_printf(&text, "%s%s", i ? ", " : "", commands[i].name);
		cli_error("unknown command '%s'; commands: %s", name, text.data);
	}
	return CLI_USAGE;
}

static int run_command(struct cli *cli, int argc, char **argv)
{
	const char *name = argv[0];
	auto_buffer text = {0};

	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (strcmp(name, commands[i].name) == 0)
			cli->command = &commands[i];
	if (!cli->command)
		return unknown_command(cli, name, argc - 1, argv + 1);
	/* argp and getopt begin their errors with this. */
	buffer_printf(&text, "uncore %s", name);
	argv[0] = text.data;
	return cli->command->run(cli, argc, argv);
}

/* Changes "help COMMAND" to "COMMAND --help", and "help" alone to "--help". True: help of uncore
 * itself. */
static bool make_help(int command, int argc, char **argv)
{
	static char help[] = "--help";
	bool named = command + 1 < argc && strcmp(argv[command + 1], "help") != 0;

	if (command + 2 < argc)
		exit(cli_failure(CLI_USAGE, "help takes one command, and not '%s'",
				 argv[command + 2]));
	argv[command] = named ? argv[command + 1] : help;
	if (named)
		argv[command + 1] = help;
	return !named;
}

/* Help is printed with stdio: reports its write errors, such as a full disk. */
static void close_stdout(void)
{
	if (fclose(stdout) == 0)
		return;
	if (errno != EPIPE)
		cli_error("standard output: %s", strerror(errno));
	_exit(CLI_RUNTIME);
}

/* As a shell reads it. */
static char *quoted(int argc, char **argv)
{
	struct buffer line = {0};

	for (int i = 0; i < argc; i++) {
		const char *word = argv[i];
		bool plain = *word && !word[strcspn(word, " \t\n\"'$`\\\\|&;<>()*?[]#~{}!")];

		buffer_puts(&line, i ? " " : "");
		for (buffer_puts(&line, plain ? "" : "'"); *word; word++)
			buffer_add(&line, *word == '\'' ? "'\\''" : word, *word == '\'' ? 4 : 1);
		buffer_puts(&line, plain ? "" : "'");
	}
	buffer_add(&line, "", 1);
	return line.data;
}

/* Allocates for jansson, and ends the command on failure, since not all functions of jansson report
 * one. */
static void *allocate(size_t size)
{
	return cli_realloc(NULL, size, 1);
}

int main(int argc, char **argv)
{
	static const struct cli_syntax syntax = {
		.args = "[COMMAND ...]",
		.doc = "Counts what moves outside the CPU cores: memory, PCIe, links, caches. "
		       "Without a command: the PMUs of this machine, and its headline metrics "
		       "for one second.",
		.argument = take_command,
		.help_filter = help_filter,
	};
	struct cli cli = {.presets = commands, .proofs = &verify_proofs};
	static char name[] = "uncore";
	const struct sigaction ignore = {.sa_handler = SIG_IGN};
	int status, command = 0, err;

#ifdef UNC_NVML_IN_COMMAND
	if (argc > 0 && strcmp(argv[0], "uncore-nvml") == 0)
		return unc_nvml_main(argc, argv);
#endif
	rights_become_copy(argv);
#ifdef UNCORE_RECORD
	cli.open_replay = replay_open;
#endif
	/* A counter opened as descriptor 1 would receive the output. Descriptors that were closed
	 * are opened for the opposite direction, so that using them fails. */
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
	atexit(close_stdout);
	/* A closed pipe and a file grown too large are errors of write(), not signals. */
	sigaction(SIGPIPE, &ignore, &cli.pipe);
	sigaction(SIGXFSZ, &ignore, &cli.file_size);
	argp_err_exit_status = CLI_USAGE;
	json_set_alloc_funcs(allocate, free);
	/* For the completions of shells: "complete" and the words of the line. */
	if (argc > 2 && strcmp(argv[1], "complete") == 0) {
		cli.commands = commands;
		argc--;
		argv++;
	}
	if (argc > 0)
		argv[0] = name;
	cli.command_line = quoted(argc, argv);
	cli_parse(&cli, &syntax, &command, argc, argv);
	if (command + 2 == argc && command && strcmp(argv[command], "help") == 0 &&
	    guess_meaning(argv[command + 1])) {
		free(cli.command_line);
		return guess_explain(argv[command + 1]);
	}
	if (command && strcmp(argv[command], "help") == 0)
		if (make_help(command, argc, argv))
			cli_parse(&cli, &syntax, &command, argc, argv);
	if (command)
		status = run_command(&cli, argc - command, argv + command);
	else
		status = cmd_overview(&cli, argc, argv);
	if (status != CLI_RUNTIME && cli.u && (err = uncore_check(cli.u)))
		status = cli_fail(&cli, err);
	cli_close(&cli);
	free(cli.data);
	free(cli.command_line);
	return status;
}
