/* SPDX-License-Identifier: MIT */
/* The machine that the global options name, error sentences and exit codes. */
#include "cli.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

int cli_prepare(struct cli *cli)
{
	int err = uncore_new(&cli->u);

	if (!err && cli->root)
		err = uncore_set_root(cli->u, cli->root);
	if (!err && cli->source)
		err = uncore_set_source(cli->u, cli->source);
	if (!err && cli->program)
		err = uncore_set_program(cli->u, true);
	for (size_t i = 0; !err && i < cli->data_count; i++)
		err = uncore_add_data(cli->u, cli->data[i]);
	if (!err && cli->memory_peak > 0)
		err = uncore_set_memory_peak(cli->u, cli->memory_peak);
	if (err)
		return cli_fail(cli, err);
	if (cli->root && uncore_is_simulated(cli->u)) {
		cli_error(
			"--root %s and --source %s exclude each other: a simulated machine brings "
			"its own root",
			cli->root, cli->source);
		return CLI_USAGE;
	}
	return CLI_OK;
}

int cli_open(struct cli *cli)
{
	int status = cli_prepare(cli);
	int err = status ? 0 : uncore_scan(cli->u);

	return err ? cli_fail(cli, err) : status;
}

void cli_close(struct cli *cli)
{
	uncore_free(cli->u);
	free(cli->data);
	cli->u = NULL;
	cli->data = NULL;
}

/* True when an earlier finding has the same fix. */
static bool has_earlier(const struct uncore *u, size_t i)
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

		if (f->verdict == UNCORE_VERDICT_MISSING && f->fix && !has_earlier(cli->u, i))
			cli_error("fix: %s", f->fix);
	}
}

uint64_t cli_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
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
