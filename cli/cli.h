/* SPDX-License-Identifier: MIT */
/* What every subcommand shares: exit codes, global options, the opened machine, sentences. */
#ifndef CLI_H
#define CLI_H

#include <argp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "uncore.h"

/* A function here that returns `int status` returns one of these and has already printed why. */
enum cli_exit {
	CLI_OK = 0,
	CLI_RUNTIME = 1, /* also: standard output is a closed pipe (then without a word) */
	CLI_USAGE = 2,
	CLI_UNAVAILABLE = 3, /* this machine cannot count that */
	CLI_DENIED = 4,      /* permission */
	CLI_NOT_EXECUTABLE = 126,
	CLI_NOT_FOUND = 127,
	CLI_SIGNAL = 128, /* plus the signal that killed the command */
};

struct cli {
	struct uncore *u;
	const char *root;   /* NULL: "/" */
	const char *source; /* NULL: "kernel" */
	const char **data;
	size_t data_count;
	double memory_peak;               /* 0: as the machine says */
	bool program;                     /* registers may be written */
	struct sigaction pipe, file_size; /* SIGPIPE, SIGXFSZ as we found them: for a command */
};

struct out_ops; /* out.h */

struct command {
	const char *name;
	const char *doc; /* one line */
	int (*run)(struct cli *cli, int argc, char **argv);
};

/* Options that hold before and after the subcommand: a child of every argp, its input a struct cli */
extern const struct argp cli_globals;

/* The value of an option that would silently count for less than it says if a second one replaced it:
 * two are a usage error. `before` NULL: this is the first. */
const char *cli_once(struct argp_state *state, const char *option, const char *before,
		     const char *now);

/* Makes and scans the machine of the global options. */
int cli_open(struct cli *cli);
void cli_close(struct cli *cli);

/* The one place where a negative errno becomes an exit code. */
int cli_exit_code(int err);

/* Prints the machine's sentence for `err`; returns the exit code for it. */
int cli_fail(const struct cli *cli, int err);

/* Prints what would mend a machine that cannot count something, if anything does. */
void cli_advise(struct cli *cli);

/* "uncore: ..." and a newline on standard error. */
void cli_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The nearest of `count` names to a mistyped one, or NULL when none is near. */
const char *cli_nearest(const char *name, const char *const *names, size_t count);

/* realloc() that ends the command with a sentence when memory runs out. */
void *cli_realloc(void *old, size_t count, size_t size);

/* A copy to be freed; NULL of NULL. */
char *cli_copy(const char *text);

/* Matches a pattern: a shell glob when it has glob characters, else any part; cases are equal. */
bool cli_matches(const char *pattern, const char *text);

int cmd_overview(struct cli *cli, int argc, char **argv);
int cmd_list(struct cli *cli, int argc, char **argv);
int cmd_topo(struct cli *cli, int argc, char **argv);
int cmd_stat(struct cli *cli, int argc, char **argv);
int cmd_explain(struct cli *cli, int argc, char **argv);
int cmd_doctor(struct cli *cli, int argc, char **argv);
int cmd_latency(struct cli *cli, int argc, char **argv);
int cmd_demo_block(struct cli *cli, int argc, char **argv);

/* Presets are commands, too: argv[0] ends in the name of one. */
struct preset {
	const char *name;
	const char *metrics; /* comma list of patterns */
	const char *title;
	const struct out_ops *text; /* its form for people; NULL: rows */
	enum uncore_level level;    /* unless an option says another */
};
extern const struct preset cli_presets[];
extern const size_t cli_preset_count;
int cmd_preset(struct cli *cli, const struct preset *preset, int argc, char **argv);

#endif
