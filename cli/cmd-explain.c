/* SPDX-License-Identifier: MIT */
/* `uncore explain`: which counters, which formula, from which document. */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "writer.h"

static const struct argp_option options[] = {
	{"json", 'j', NULL, 0, "One JSON object", 1},
	{0},
};

struct parser {
	struct cli *cli;
	const char *metric;
	bool json;
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct parser *p = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = p->cli;
		return 0;
	case 'j':
		p->json = true;
		return 0;
	case ARGP_KEY_ARG:
		if (p->metric)
			argp_error(state, "'%s' is one argument too many", arg);
		p->metric = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which metric? 'uncore list metrics' names them");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* A name or a pattern, after "family/" or alone, as -M takes it. */
static bool matches(const char *pattern, const struct uncore_metric *m)
{
	const char *family = uncore_metric_family(m);
	const char *slash = strchr(pattern, '/');

	if (slash &&
	    (strncmp(pattern, family, (size_t)(slash - pattern)) != 0 || family[slash - pattern]))
		return false;
	return fnmatch(slash ? slash + 1 : pattern, uncore_metric_name(m), 0) == 0;
}

static int take_apart(const struct uncore *u, const struct uncore_metric *m, struct explained *e)
{
	size_t room = 0;
	int err;

	*e = (struct explained){.metric = m};
	do {
		room = e->count > room ? e->count : room + 32;
		e->events = cli_realloc(e->events, room, sizeof(*e->events));
		err = uncore_metric_events(u, m, e->events, room, &e->count);
	} while (!err && e->count > room);
	if (err)
		e->count = 0;
	return err == -ENODEV ? 0 : err;
}

/* Those of this machine if there are any, else those of all. */
static size_t keep_those_here(struct explained *e, size_t count)
{
	size_t here = 0;

	for (size_t i = 0; i < count; i++)
		here += e[i].count > 0;
	if (!here || here == count)
		return count;
	here = 0;
	for (size_t i = 0; i < count; i++) {
		if (e[i].count)
			e[here++] = e[i];
		else
			free(e[i].events);
	}
	return here;
}

/* The library has the sentence, with the nearest names, when it is asked to count such a metric. */
static int unknown(struct cli *cli, const char *pattern)
{
	struct uncore_monitor *m = NULL;
	int err = uncore_monitor_new(&m, cli->u);

	if (!err)
		err = uncore_monitor_add_metrics(m, pattern);
	uncore_monitor_free(m);
	if (err)
		return cli_fail(cli, err);
	cli_error("there is no metric '%s'", pattern);
	return CLI_USAGE;
}

static int explain(struct cli *cli, const struct parser *p)
{
	size_t all = uncore_metric_count(cli->u);
	struct explained *e = cli_realloc(NULL, all, sizeof(*e));
	struct buffer text = {0};
	size_t count = 0;
	int status;
	int err = 0;

	for (size_t i = 0; !err && i < all; i++)
		if (matches(p->metric, uncore_metric_at(cli->u, i)))
			err = take_apart(cli->u, uncore_metric_at(cli->u, i), &e[count++]);
	count = err ? count : keep_those_here(e, count);
	if (err) {
		status = cli_fail(cli, err);
	} else if (!count) {
		status = unknown(cli, p->metric);
	} else {
		(p->json ? explain_json : explain_text)(cli->u, e, count, &text);
		status = writer_print(&text);
	}
	for (size_t i = 0; i < count; i++)
		free(e[i].events);
	free(e);
	return status;
}

int cmd_explain(struct cli *cli, int argc, char **argv)
{
	static const struct argp_child children[] = {{&cli_globals, 0, "Everywhere:", 90}, {0}};
	static const struct argp argp = {
		.options = options,
		.parser = parse_option,
		.args_doc = "METRIC",
		.doc = "Shows how a metric is made: formula, events with their encoding on this "
		       "machine, evidence, and the equal perf line.\vMETRIC is a name, a shell "
		       "pattern, or either behind FAMILY/.",
		.children = children,
	};
	struct parser p = {.cli = cli};
	int status;

	argp_parse(&argp, argc, argv, ARGP_NO_HELP, NULL, &p);
	status = cli_open(cli);
	return status ? status : explain(cli, &p);
}
