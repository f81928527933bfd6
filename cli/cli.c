/* SPDX-License-Identifier: MIT */
/* Global options, the machine they name, error sentences and exit codes. */
#include "cli.h"
#include "parse.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	KEY_ROOT = 0x200,
	KEY_SOURCE,
	KEY_DATA,
	KEY_MEMORY_PEAK,
	KEY_PROGRAM,
	KEY_USAGE,
};

static const struct argp_option options[] = {
	{"root", KEY_ROOT, "DIR", 0, "Read /sys and /proc below DIR", 90},
	{"source", KEY_SOURCE, "SPEC", 0,
	 "Where counts come from: kernel, sim:NAME, regs:NAME, or sim: and regs: with FILE.yaml",
	 90},
	{"program", KEY_PROGRAM, NULL, 0,
	 "Let regs write control registers; they are put back afterwards", 90},
	{"data", KEY_DATA, "DIR", 0, "Add a directory of data files (repeatable)", 90},
	{"memory-peak", KEY_MEMORY_PEAK, "RATE", 0,
	 "What the memory of one socket can move, such as 307.2GB/s", 90},
	{"help", 'h', NULL, 0, "Print this help and exit", -1},
	{"usage", KEY_USAGE, NULL, 0, "Print a short usage and exit", -1},
	{"version", 'V', NULL, 0, "Print the version and exit", -1},
	{0},
};

const char *cli_once(struct argp_state *state, const char *option, const char *before,
		     const char *now)
{
	if (before)
		argp_error(state, "%s is given twice: '%s' and '%s'", option, before, now);
	return now;
}

/* An empty name would be the current directory. */
static const char *directory(struct argp_state *state, const char *option, const char *name)
{
	if (!*name)
		argp_error(state, "%s: the name of the directory is empty", option);
	return name;
}

static double memory_peak(struct argp_state *state, const char *text)
{
	double rate = 0;
	const char *wrong = parse_rate(text, &rate);

	if (wrong)
		argp_error(state, "--memory-peak: '%s' %s", text, wrong);
	return rate;
}

static error_t parse_global(int key, char *arg, struct argp_state *state)
{
	struct cli *cli = state->input;

	switch (key) {
	case KEY_ROOT:
		cli->root = cli_once(state, "--root", cli->root, directory(state, "--root", arg));
		return 0;
	case KEY_SOURCE:
		cli->source = cli_once(state, "--source", cli->source, arg);
		return 0;
	case KEY_DATA:
		cli->data = cli_realloc(cli->data, cli->data_count + 1, sizeof(*cli->data));
		cli->data[cli->data_count++] = directory(state, "--data", arg);
		return 0;
	case KEY_MEMORY_PEAK:
		if (cli->memory_peak > 0)
			argp_error(state, "--memory-peak is given twice");
		cli->memory_peak = memory_peak(state, arg);
		return 0;
	case KEY_PROGRAM:
		cli->program = true;
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case KEY_USAGE:
		argp_state_help(state, stdout, ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
		return 0;
	case 'V':
		printf("uncore %s\n", uncore_version());
		exit(CLI_OK);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp cli_globals = {.options = options, .parser = parse_global};

void cli_error(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fputs("uncore: ", stderr);
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
	va_end(args);
}

int cli_exit_code(int err)
{
	switch (-err) {
	case 0:
		return CLI_OK;
	case EINVAL:
	case ENOENT: /* a metric, a source or a directory that the user named */
	case ENOTDIR:
		return CLI_USAGE;
	case ENODEV:
	case ENXIO:
	case ENOSYS:
	case EOPNOTSUPP:
		return CLI_UNAVAILABLE;
	case EACCES:
	case EPERM:
		return CLI_DENIED;
	default:
		return CLI_RUNTIME;
	}
}

int cli_fail(const struct cli *cli, int err)
{
	const char *why = cli->u ? uncore_error(cli->u) : "";

	cli_error("%s", *why ? why : strerror(-err));
	return cli_exit_code(err);
}

static int configure(struct cli *cli)
{
	int err = 0;

	if (cli->root)
		err = uncore_set_root(cli->u, cli->root);
	if (!err && cli->source)
		err = uncore_set_source(cli->u, cli->source);
	if (!err && cli->program)
		err = uncore_set_program(cli->u, true);
	for (size_t i = 0; !err && i < cli->data_count; i++)
		err = uncore_add_data(cli->u, cli->data[i]);
	if (!err && cli->memory_peak > 0)
		err = uncore_set_memory_peak(cli->u, cli->memory_peak);
	return err;
}

int cli_open(struct cli *cli)
{
	int err = uncore_new(&cli->u);

	if (!err)
		err = configure(cli);
	if (!err && cli->root && uncore_is_simulated(cli->u)) {
		cli_error(
			"--root %s and --source %s exclude each other: a simulated machine brings "
			"its own root",
			cli->root, cli->source);
		return CLI_USAGE;
	}
	if (!err)
		err = uncore_scan(cli->u);
	return err ? cli_fail(cli, err) : CLI_OK;
}

void cli_close(struct cli *cli)
{
	uncore_free(cli->u);
	free(cli->data);
	cli->u = NULL;
	cli->data = NULL;
}

/* True when an earlier finding is mended by the same. */
static bool said_before(const struct uncore *u, size_t i)
{
	const char *fix = uncore_finding_at(u, i)->fix;

	for (size_t k = 0; k < i; k++) {
		const struct uncore_finding *f = uncore_finding_at(u, k);

		if (f->fix && strcmp(f->fix, fix) == 0)
			return true;
	}
	return false;
}

void cli_advise(struct cli *cli)
{
	if (uncore_diagnose(cli->u))
		return;
	for (size_t i = 0; i < uncore_finding_count(cli->u); i++) {
		const struct uncore_finding *f = uncore_finding_at(cli->u, i);

		if (f->verdict != UNCORE_VERDICT_MISSING)
			continue;
		if (!f->fix || said_before(cli->u, i))
			continue;
		cli_error("to mend it: %s", f->fix);
	}
}

void *cli_realloc(void *old, size_t count, size_t size)
{
	void *p = reallocarray(old, count ? count : 1, size);

	if (!p) {
		cli_error("out of memory");
		exit(CLI_RUNTIME);
	}
	return p;
}

char *cli_copy(const char *text)
{
	size_t size = text ? strlen(text) + 1 : 0;

	return text ? memcpy(cli_realloc(NULL, size, 1), text, size) : NULL;
}

bool cli_matches(const char *pattern, const char *text)
{
	if (strpbrk(pattern, "*?["))
		return fnmatch(pattern, text, FNM_CASEFOLD) == 0;
	return strcasestr(text, pattern) != NULL;
}

/* Edits (insert, delete, replace) that turn `a` into `b`; names are short. */
static size_t distance(const char *a, const char *b)
{
	size_t row[65];
	size_t b_len = strlen(b);

	if (strlen(a) > 64 || b_len > 64)
		return SIZE_MAX;
	for (size_t j = 0; j <= b_len; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t best = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[b_len];
}

const char *cli_nearest(const char *name, const char *const *names, size_t count)
{
	const char *nearest = NULL;
	size_t least = 3; /* more edits than two are another word */

	for (size_t i = 0; i < count; i++) {
		size_t d = distance(name, names[i]);

		if (d < least && d < strlen(names[i])) {
			least = d;
			nearest = names[i];
		}
	}
	return nearest;
}
