/* SPDX-License-Identifier: MIT */
/* Options as a table: each has a type and the member of the command's struct that it sets. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <argp.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cli.h"

struct output; /* output/output.h */

enum option_type {
	OPTION_OTHER,    /* syntax->other() reads it */
	OPTION_LIST,     /* the same, and it may be given again: others with a value may not */
	OPTION_FLAG,     /* bool */
	OPTION_TEXT,     /* const char * */
	OPTION_TIME,     /* uint64_t in ns; needs a unit */
	OPTION_INTERVAL, /* the same, at least 1 ms */
	/* The same two where perf has the option: a number without a unit is milliseconds. */
	OPTION_PERF_TIME,
	OPTION_PERF_INTERVAL,
	OPTION_COUNT,   /* uint64_t, at least 1 */
	OPTION_SIZE,    /* uint64_t in bytes, at least 1: "100MB" */
	OPTION_OUTPUT,  /* const struct output *, by the name of the option */
	OPTION_FORMAT,  /* the same, by the value */
	OPTION_SYNONYM, /* another name of the option above it: `at` is its row of guess_synonyms */
};

/* A row without a name is the heading of a group. An option with the doc "" is taken, but not in
 * the help, since it does not suit the command. */
struct cli_option {
	const char *name, *arg, *doc;
	int key; /* its letter, a number above 255 for other(), or 0 */
	int group;
	enum option_type type;
	size_t at; /* offset in the command's struct */
};

enum option_outputs {
	OUTPUTS_NONE,
	OUTPUTS_DOCUMENTS, /* options of outputs that print documents */
	OUTPUTS_RECORDS,   /* options of all outputs for programs */
};

/* The command line of one command. The last argument of each function is argp's, for
 * argp_error(). */
struct cli_syntax {
	const char *doc;  /* argp's: what stands before the options, \v, what stands behind */
	const char *args; /* "METRIC"; NULL: the command takes no arguments */
	const struct cli_option *options; /* until one without doc; NULL: none */
	enum option_outputs outputs;
	int outputs_group;
	size_t outputs_at; /* offset of a const struct output *; one that is set is not replaced */
	const char *no_args; /* error without any argument; NULL: none are needed */
	void (*other)(void *into, int key, char *arg, struct argp_state *state);
	void (*argument)(void *into, char *arg, struct argp_state *state);
	/* Without argument(), for a command that takes one: what an error says of a second one. */
	const char *second;
	size_t argument_at; /* offset of a const char *, which gets the first one */
	void (*check)(void *into, struct argp_state *state);          /* after the last word */
	char *(*help_filter)(int key, const char *text, void *input); /* argp's */
};

/* Reads the command's options into its struct and the global ones into `cli`. Usage errors end the
 * process. */
void cli_parse(struct cli *cli, const struct cli_syntax *syntax, void *into, int argc, char **argv);

/* An option of all commands, or the begin of its name. */
bool cli_is_global(const char *word);

/* Completes the last word of a command line: prints the words that can stand there, and ends the
 * process. Where another word is a command, the index of this is returned. `options` end with one
 * without doc; those from `globals` on are members of `cli`. */
int complete(struct cli *cli, const struct cli_option *options, const struct cli_option *globals,
	     const char *args, char **words);

/* Sets the output of that name; two different ones are a usage error. */
void cli_set_output(struct argp_state *state, const struct output **output, const char *name);

/* Numbers of options and arguments; `what` begins the error. Times are "100", "100ms", "0.5s"; a
 * number without unit counts `plain_ns` each, 0: it is refused. */
uint64_t cli_time(struct argp_state *state, const char *what, const char *text, uint64_t plain_ns,
		  uint64_t least_ns);
/* A time of an option of perf: a number without a unit is milliseconds. Since a small one is
 * probably meant as seconds, a note names both spellings, and a very short interval is refused. */
uint64_t cli_perf_time(struct argp_state *state, const char *what, const char *text, bool interval);
/* The factor of a unit such as "GB/s" to the base unit "B/s"; NaN: it is another unit. */
double cli_unit(const char *unit, const char *base);
/* A whole number from 1 to a thousand million. */
uint64_t cli_count(struct argp_state *state, const char *what, const char *text);

#endif
