/* SPDX-License-Identifier: MIT */
/* The options of `stat`, which the presets, `top` and recorders take, too. */
#ifndef CLI_STAT_H
#define CLI_STAT_H

#include <argp.h>

#include "base/buffer.h"
#include "commands/options.h"
#include "loop/request.h"
#include "output/print.h"

#define STAT_MORE 13 /* options at most */

struct stat_options {
	struct request request;
	struct print_options print;
	bool dry_run;
	/* What the command sets: */
	const struct command
		*known_presets;  /* arguments name some of this table; NULL: they are a command */
	bool takes_condition;    /* --when without --exec */
	struct trigger *trigger; /* of its own for the condition; NULL: none */
	uint64_t default_interval_ns; /* without an option; 0: one window */
	/* Where an argument that is no preset is stored, the name of a file; NULL: an error. */
	const char **file;
	/* An INTERVAL without a unit is refused from this number of seconds on, since it is rather
	 * a port; 0: none is. */
	unsigned port_from;
	bool takes_word;  /* an argument that is no number is stored in `word` */
	const char *word; /* NULL: there was none */
	/* Private: */
	const struct cli_syntax *own; /* of the command */
	struct cli *cli;
	char sort_doc[100];       /* the help of --sort */
	struct buffer devices;    /* arguments that are names of devices, separated by commas */
	bool positional_interval; /* INTERVAL and not -I */
	const char *device;       /* that the view is for; NULL: none */
};

/* Reads the options of stat, for a recorder (`known_presets`) without those of outputs, and those
 * of the command's own, which are members of a struct that begins with `o`. Of `own` it takes doc,
 * args, options and check. Usage errors end the process. */
void stat_parse(struct cli *cli, struct stat_options *o, const struct cli_syntax *own, int argc,
		char **argv);

/* Sets what the preset decides where no option does: output, level and time. Returns an exit
 * code. */
int stat_complete(struct cli *cli, struct stat_options *o);

/* The value of a filter's option, which is a name of uncore_monitor_set_filter(). */
const char **stat_filter(struct stat_options *o, const char *name);

/* A preset whose metrics are counted, too. False: there is no room. */
bool stat_add_preset(struct stat_options *o, const struct command *preset);

/* Plans, then prints the plan (--dry-run) or counts for this sink until the end that the options
 * give. Returns an exit code. */
int stat_count(struct cli *cli, struct stat_options *o, struct sink *sink);

/* The same, and prints. */
int stat_run(struct cli *cli, struct stat_options *o);

#endif
