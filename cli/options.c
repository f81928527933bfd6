/* SPDX-License-Identifier: MIT */
/* The options of every command as one argp: its own, those of outputs, the global ones. */
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/output.h"

#define KEY_FIRST 0x1000 /* of options without a key: this and their index */
#define YEAR_NS (366ULL * 86400 * NS_PER_S)

enum { KEY_DATA = 0x100, KEY_MEMORY_PEAK, KEY_USAGE };

static const struct cli_option globals[] = {
	{NULL, NULL, "Global options:", 0, 90, 0, 0},
	{"root", "PATH", "Read /sys and /proc below PATH, a directory or a snapshot", 0, 90,
	 OPTION_TEXT, offsetof(struct cli, root)},
	{"source", "SPEC",
	 "Where counts come from: kernel, sim:NAME, regs:NAME, or sim: and regs: with FILE.yaml", 0,
	 90, OPTION_TEXT, offsetof(struct cli, source)},
	{"program", NULL, "Let regs write control registers; they are restored afterwards", 0, 90,
	 OPTION_FLAG, offsetof(struct cli, program)},
	{"data", "DIR", "Add a directory of data files (repeatable)", KEY_DATA, 90, OPTION_LIST, 0},
	{"memory-peak", "RATE", "Peak memory bandwidth of one socket, such as 307.2GB/s",
	 KEY_MEMORY_PEAK, 90, 0, 0},
	{"help", NULL, "Print this help and exit", 'h', -1, 0, 0},
	{"usage", NULL, "Print a short usage and exit", KEY_USAGE, -1, 0, 0},
	{"version", NULL, "Print the version and exit", 'V', -1, 0, 0},
	{0},
};

struct parser {
	struct cli *cli;
	const struct cli_syntax *syntax;
	void *into;
	struct cli_option *options; /* the command's, outputs, then global ones */
	const char **values;        /* that were given, for each option; NULL: not yet */
	size_t count, first_global;
};

struct unit {
	const char *name; /* NULL ends a table */
	double size;
};

size_t cli_number_length(const char *text)
{
	size_t whole = strspn(text, "0123456789");
	size_t fraction;

	if (text[whole] != '.')
		return whole;
	fraction = strspn(text + whole + 1, "0123456789");
	return whole + fraction ? whole + 1 + fraction : 0;
}

/* Finds the unit behind a number; its size, or 0. */
static double unit_size(const char *text, const struct unit *units)
{
	for (; units->name; units++)
		if (strcmp(text, units->name) == 0)
			return units->size;
	return 0;
}

uint64_t cli_time(struct argp_state *state, const char *what, const char *text, uint64_t plain_ns,
		  uint64_t least_ns)
{
	static const struct unit units[] = {
		{"ns", 1},  {"us", 1e3},   {"µs", 1e3},   {"ms", 1e6},
		{"s", 1e9}, {"min", 60e9}, {"h", 3600e9}, {NULL, 0},
	};
	size_t len = cli_number_length(text);
	double unit = text[len] ? unit_size(text + len, units) : (double)plain_ns;
	double ns = strtod(text, NULL) * unit;
	const char *wrong = NULL;

	if (!len)
		wrong = "is not a duration; write 100ms, 1s or 0.5s";
	else if (unit == 0)
		wrong = "does not end in a unit of time (ns, us, ms, s, min, h)";
	else if (ns > (double)YEAR_NS)
		wrong = "is longer than a year";
	else if (ns < 1)
		wrong = "must be more than zero";
	else if (ns + 0.5 < (double)least_ns)
		wrong = "is shorter than 1 ms";
	if (wrong)
		argp_error(state, "%s: '%s' %s", what, text, wrong);
	return (uint64_t)(ns + 0.5);
}

uint64_t cli_count(struct argp_state *state, const char *what, const char *text)
{
	size_t len = strspn(text, "0123456789");
	uint64_t count = strtoull(text, NULL, 10);
	const char *wrong = NULL;

	if (!len || text[len])
		wrong = "is not a whole number";
	else if (len > 10 || count > 1000000000)
		wrong = "is more than a thousand million";
	else if (count == 0)
		wrong = "must be at least 1";
	if (wrong)
		argp_error(state, "%s: '%s' %s", what, text, wrong);
	return count;
}

void cli_set_output(struct argp_state *state, const struct output **output, const char *name)
{
	const struct output *now = output_find(name);

	if (*output && *output != now)
		argp_error(state, "CSV and JSON exclude each other");
	*output = now;
}

static void write_name(char name[static 40], const struct cli_option *o)
{
	if (o->key > 0 && o->key < 256)
		snprintf(name, 40, "-%c", o->key);
	else
		snprintf(name, 40, "--%s", o->name);
}

/* A second value would replace the first. */
static void check_once(const struct cli_option *o, const char *before, const char *now,
		       struct argp_state *state)
{
	char name[40];

	write_name(name, o);
	if (before && o->type != OPTION_LIST)
		argp_error(state, "%s is given twice: '%s' and '%s'", name, before, now);
}

static void set_option(const struct cli_option *o, void *into, const char *arg,
		       struct argp_state *state)
{
	void *member = (char *)into + o->at;
	char name[40];

	write_name(name, o);
	switch (o->type) {
	case OPTION_FLAG:
		*(bool *)member = true;
		break;
	case OPTION_TEXT:
		check_once(o, *(const char **)member, arg, state); /* before the command, too */
		*(const char **)member = arg;
		break;
	case OPTION_TIME:
		*(uint64_t *)member = cli_time(state, name, arg, NS_PER_MS, 0);
		break;
	case OPTION_INTERVAL:
		*(uint64_t *)member = cli_time(state, name, arg, NS_PER_MS, NS_PER_MS);
		break;
	case OPTION_COUNT:
		*(uint64_t *)member = cli_count(state, name, arg);
		break;
	case OPTION_OUTPUT:
		cli_set_output(state, member, o->name);
		break;
	case OPTION_OTHER:
	case OPTION_LIST:
		break;
	}
}

/* Bytes per second. */
static double parse_rate(const char *text, struct argp_state *state)
{
	static const struct unit units[] = {
		{"B/s", 1},          {"kB/s", 1e3},         {"MB/s", 1e6},
		{"GB/s", 1e9},       {"TB/s", 1e12},        {"KiB/s", 0x400},
		{"MiB/s", 0x100000}, {"GiB/s", 0x40000000}, {"TiB/s", 0x10000000000},
		{NULL, 0},
	};
	size_t len = cli_number_length(text);
	double unit = unit_size(text + len + (text[len] == ' '), units);
	double rate = strtod(text, NULL) * unit;
	const char *wrong = NULL;

	if (!len)
		wrong = "is not a rate; write 307.2GB/s";
	else if (unit == 0)
		wrong = "does not end in a unit of rates (B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, "
			"MiB/s, GiB/s, TiB/s)";
	else if (!(rate > 0))
		wrong = "must be more than zero";
	else if (rate > 1e18)
		wrong = "is more than any memory can move";
	if (wrong)
		argp_error(state, "--memory-peak: '%s' %s", text, wrong);
	return rate;
}

static void set_global(const struct cli_option *o, struct cli *cli, char *arg,
		       struct argp_state *state)
{
	/* An empty name would be the current directory. */
	if (o->arg && arg && !*arg && strcmp(o->arg, "DIR") == 0)
		argp_error(state, "--%s: the name of the directory is empty", o->name);
	switch (o->key) {
	case KEY_DATA:
		cli->data = cli_realloc(cli->data, cli->data_count + 1, sizeof(*cli->data));
		cli->data[cli->data_count++] = arg;
		return;
	case KEY_MEMORY_PEAK:
		if (cli->memory_peak > 0)
			argp_error(state, "--memory-peak is given twice");
		cli->memory_peak = parse_rate(arg, state);
		return;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return;
	case KEY_USAGE:
		argp_state_help(state, stdout, ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
		return;
	case 'V':
		printf("uncore %s\n", uncore_version());
		exit(CLI_OK);
	default:
		set_option(o, cli, arg, state);
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct parser *p = state->input;
	const struct cli_syntax *s = p->syntax;
	size_t i = 0;

	while (i < p->count && !(p->options[i].name && p->options[i].key == key))
		i++;
	if (i < p->count && p->options[i].arg && !arg)
		return ARGP_ERR_UNKNOWN;
	if (i < p->count && p->options[i].arg) {
		check_once(&p->options[i], p->values[i], arg, state);
		p->values[i] = arg;
	}
	if (i < p->count && i >= p->first_global)
		set_global(&p->options[i], p->cli, arg, state);
	else if (i < p->count && p->options[i].type <= OPTION_LIST)
		s->other(p->into, key, arg, state);
	else if (i < p->count)
		set_option(&p->options[i], p->into, arg, state);
	else if (key == ARGP_KEY_ARG && s->argument)
		s->argument(p->into, arg, state);
	else if (key == ARGP_KEY_ARG)
		argp_error(state, "'%s': this command takes no arguments", arg);
	else if (key == ARGP_KEY_NO_ARGS && s->no_args)
		argp_error(state, "%s", s->no_args);
	else if (key == ARGP_KEY_END && s->check)
		s->check(p->into, state);
	else
		return ARGP_ERR_UNKNOWN;
	return 0;
}

static void add(struct parser *p, struct cli_option option)
{
	if (!option.key)
		option.key = KEY_FIRST + (int)p->count;
	p->options = cli_realloc(p->options, p->count + 1, sizeof(*p->options));
	p->options[p->count++] = option;
}

void cli_parse(struct cli *cli, const struct cli_syntax *syntax, void *into, int argc, char **argv)
{
	struct parser p = {.cli = cli, .syntax = syntax, .into = into};
	struct argp argp = {.parser = parse,
			    .args_doc = syntax->args,
			    .doc = syntax->doc,
			    .help_filter = syntax->help_filter};
	struct argp_option *options;

	for (const struct cli_option *o = syntax->options; o && o->doc; o++)
		add(&p, *o);
	for (size_t i = 0; i < output_count && syntax->outputs != OUTPUTS_NONE; i++) {
		const struct output *o = &outputs[i];

		if (o->doc && (o->document || syntax->outputs == OUTPUTS_RECORDS))
			add(&p, (struct cli_option){o->name, NULL, o->doc, o->key,
						    syntax->outputs_group, OPTION_OUTPUT,
						    syntax->outputs_at});
	}
	p.first_global = p.count;
	/* Without options of the command they need no heading. */
	for (const struct cli_option *o = globals + (p.count == 0); o->doc; o++)
		add(&p, *o);
	options = cli_realloc(NULL, p.count + 1, sizeof(*options));
	p.values = cli_realloc(NULL, p.count, sizeof(*p.values));
	memset(p.values, 0, p.count * sizeof(*p.values));
	for (size_t i = 0; i < p.count; i++) {
		const struct cli_option *o = &p.options[i];

		options[i] = (struct argp_option){o->name, o->name ? o->key : 0, o->arg, 0, o->doc,
						  o->group};
	}
	options[p.count] = (struct argp_option){0};
	argp.options = options;
	if (argp_parse(&argp, argc, argv, syntax->flags | ARGP_NO_HELP, NULL, &p)) {
		cli_error("out of memory");
		exit(CLI_RUNTIME);
	}
	free(options);
	free(p.values);
	free(p.options);
}
