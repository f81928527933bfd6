/* SPDX-License-Identifier: MIT */
/* The machine of the global options: made, scanned, freed. */
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/buffer.h"
#include "base/cli.h"
#include "base/replay.h"

#define REPLAY "replay:"

bool cli_replays(const struct cli *cli)
{
	return cli->source && strncmp(cli->source, REPLAY, strlen(REPLAY)) == 0;
}

const char *cli_host(const struct cli *cli)
{
	static struct utsname uts;

	if (cli->replay)
		return cli->replay->host;
	return uncore_is_simulated(cli->u) || uname(&uts) ? NULL : uts.nodename;
}

void cli_close(struct cli *cli)
{
	uncore_free(cli->u);
	cli->u = NULL;
	free(cli->snapshot);
	cli->snapshot = NULL;
	if (cli->replay)
		cli->replay->close(cli->replay);
	cli->replay = NULL;
}

static int open_recording(struct cli *cli)
{
	if (cli->open_replay)
		return cli->open_replay(&cli->replay, cli->u, cli->source + strlen(REPLAY),
					cli->part);
	return cli_failure(CLI_USAGE, "%s: uncore was built without SQLite, which reads recordings",
			   cli->source);
}

int cli_prepare(struct cli *cli)
{
	bool replays = cli_replays(cli);
	int status, err;

	if (cli->resctrl && cli->source)
		return cli_failure(CLI_USAGE, "--resctrl and --source exclude each other");
	if (cli->resctrl)
		cli->source = "resctrl";
	err = uncore_new(&cli->u);
	if (!err && cli->root)
		err = uncore_set_root(cli->u, cli->root);
	if (!err && cli->source && !replays)
		err = uncore_set_source(cli->u, cli->source);
	if (!err && replays && !cli->root) {
		status = open_recording(cli);
		if (status)
			return status;
	}
	if (!err && cli->program)
		err = uncore_set_program(cli->u, true);
	for (size_t i = 0; !err && i < cli->data_count; i++)
		err = uncore_add_data(cli->u, cli->data[i]);
	if (!err && cli->memory_peak > 0)
		err = uncore_set_memory_peak(cli->u, cli->memory_peak);
	if (err)
		return cli_fail(cli, err);
	if (cli->root && (replays || uncore_is_simulated(cli->u)))
		return cli_failure(
			CLI_USAGE,
			"--root %s and --source %s exclude each other: a %s brings its own root",
			cli->root, cli->source, replays ? "recording" : "simulated machine");
	return CLI_OK;
}

static int set_events(struct cli *cli)
{
	auto_buffer text = {0};
	int status = perfmon_read(cli->u, cli->perfmon, &text);
	int err = status ? 0 : uncore_set_vendor_events(cli->u, text.data);

	return err ? cli_fail(cli, err) : status;
}

int cli_open(struct cli *cli)
{
	int status = cli_prepare(cli);
	int err = !status && cli->take_snapshot ? cli->take_snapshot(cli->u, &cli->snapshot) : 0;

	/* A snapshot scans the machine, but succeeds also if that fails. */
	if (!status && !err && (!cli->snapshot || !uncore_cpu_count(cli->u)))
		err = uncore_scan(cli->u);
	if (!err && !status && cli->perfmon)
		return set_events(cli);
	return err ? cli_fail(cli, err) : status;
}

char *cli_pattern(const struct uncore *u, const char *text)
{
	struct buffer pattern = {0};
	bool named = false, begins = false;

	for (size_t i = 0; i < uncore_metric_count_here(u); i++)
		if (uncore_metric_matches(uncore_metric_at(u, i), text))
			return cli_copy(text);
	buffer_printf(&pattern, "%s.*", text);
	for (size_t i = 0; i < uncore_metric_count(u); i++) {
		named |= uncore_metric_matches(uncore_metric_at(u, i), text);
		begins |= uncore_metric_matches(uncore_metric_at(u, i), pattern.data);
	}
	if (!named && begins)
		return pattern.data;
	buffer_free(&pattern);
	return cli_copy(text);
}

bool cli_has_metric(const struct uncore *u, const char *family, const char *list)
{
	auto_free char *copy = cli_copy(list);
	char *rest = copy, *pattern;
	size_t count = uncore_metric_count_here(u);
	bool here = !family;

	for (size_t i = 0; !here && i < count; i++)
		here = strcmp(uncore_metric_family(uncore_metric_at(u, i)), family) == 0;
	if (!here)
		count = uncore_metric_count(u);
	while ((pattern = strsep(&rest, ",")))
		for (size_t i = 0; i < count; i++) {
			const struct uncore_metric *m = uncore_metric_at(u, i);

			if (cli_same(uncore_metric_family(m), family) &&
			    uncore_metric_matches(m, pattern))
				return true;
		}
	return false;
}

/* Prints each fix once: those of families with such metrics; with NULL those of no family, as of
 * permissions. False: no fix was printed. */
static bool print_fixes(const struct uncore *u, const char *metrics)
{
	const char *printed[16];
	size_t count = 0, k;

	for (size_t i = 0; i < uncore_finding_count(u) && count < 16; i++) {
		const struct uncore_finding *f = uncore_finding_at(u, i);

		if (f->verdict != UNCORE_VERDICT_MISSING || !f->fix ||
		    cli_has_metric(u, f->subject, metrics ? metrics : "*") != (metrics != NULL))
			continue;
		for (k = 0; k < count && strcmp(printed[k], f->fix) != 0;)
			k++;
		if (k < count)
			continue;
		printed[count++] = f->fix;
		cli_error("fix: %s", f->fix);
	}
	return count;
}

void cli_advise(struct cli *cli, const char *metrics)
{
	if (uncore_diagnose(cli->u))
		return;
	if (!print_fixes(cli->u, metrics ? metrics : "*") || !metrics)
		print_fixes(cli->u, NULL);
}
