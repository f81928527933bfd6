/* SPDX-License-Identifier: MIT */
/* `uncore explain`: which counters, which formula, from which document. */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "output/writer.h"
#include "views/explain.h"

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

/* Those of this machine; when there are none, those of a family that was named, else nothing. */
static size_t keep_those_here(struct explained *e, size_t count, bool family_named)
{
	size_t here = 0;

	for (size_t i = 0; i < count; i++)
		here += e[i].count > 0;
	if ((!here && family_named) || here == count)
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

/* The words of a name, between dots. */
static bool same_word(const char *a, const char *b)
{
	size_t len = strcspn(a, ".");

	return len && len == strcspn(b, ".") && strncmp(a, b, len) == 0;
}

static const char *next_word(const char *name)
{
	name += strcspn(name, ".");
	return *name ? name + 1 : name;
}

/* 4 for each word that two names share, and 4 for the subject, the first; less for what is longer.
 * 0: too little in common. */
static size_t likeness(const char *wanted, const char *name)
{
	size_t shared = same_word(wanted, name);
	size_t words = 0;

	for (const char *n = name; *n; n = next_word(n), words++)
		for (const char *w = wanted; *w; w = next_word(w))
			shared += same_word(w, n);
	return shared < 2 || words >= 8 ? 0 : 4 * shared - words;
}

#define RELATED 5

struct related {
	const char *names[RELATED + 1]; /* the best first, none twice; the last is about to go */
	size_t scores[RELATED + 1];
	size_t count;
};

static void consider(struct related *r, const char *name, size_t score)
{
	size_t at = r->count;

	for (size_t i = 0; i < r->count; i++)
		if (strcmp(r->names[i], name) == 0)
			return;
	for (; at && r->scores[at - 1] < score; at--) {
		r->names[at] = r->names[at - 1];
		r->scores[at] = r->scores[at - 1];
	}
	r->names[at] = name;
	r->scores[at] = score;
	r->count += r->count < RELATED;
}

static void say_related(const struct uncore *u, const char *wanted)
{
	struct related r = {.count = 0};
	struct buffer text = {0};

	for (size_t i = 0; i < uncore_metric_count(u); i++) {
		const struct uncore_metric *m = uncore_metric_at(u, i);
		size_t score = likeness(wanted, uncore_metric_name(m));

		if (score && !uncore_metric_missing(m))
			consider(&r, uncore_metric_name(m), score);
	}
	for (size_t i = 0; i < r.count; i++)
		buffer_printf(&text, "%s%s", i ? ", " : "", r.names[i]);
	if (r.count)
		cli_error("related metrics of this machine: %.*s", (int)text.len, text.data);
	buffer_free(&text);
}

/* Families are neighbours in the list of metrics. */
static void say_families(const struct uncore *u, const char *pattern)
{
	const char *last = NULL;
	struct buffer text = {0};

	for (size_t i = 0; i < uncore_metric_count(u); i++) {
		const struct uncore_metric *m = uncore_metric_at(u, i);

		if (!matches(pattern, m) || (last && strcmp(last, uncore_metric_family(m)) == 0))
			continue;
		buffer_printf(&text, "%s%s", last ? ", " : "", uncore_metric_family(m));
		last = uncore_metric_family(m);
	}
	cli_error("families that have it (explain FAMILY/%s): %.*s", pattern, (int)text.len,
		  text.data);
	buffer_free(&text);
}

/* The library has the sentence why, or the nearest names, when it is asked to count such a metric. */
static int not_here(struct cli *cli, const char *pattern)
{
	struct uncore_monitor *m = NULL;
	int err = uncore_monitor_new(&m, cli->u);
	int status;

	if (!err)
		err = uncore_monitor_add_metrics(m, pattern);
	uncore_monitor_free(m);
	status = err ? cli_fail(cli, err) : CLI_UNAVAILABLE;
	if (!err)
		cli_error("%s: this machine does not have it", pattern);
	if (status == CLI_UNAVAILABLE) {
		say_related(cli->u, pattern);
		say_families(cli->u, pattern);
	}
	return status;
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
	count = err ? count : keep_those_here(e, count, strchr(p->metric, '/'));
	if (err) {
		status = cli_fail(cli, err);
	} else if (!count) {
		status = not_here(cli, p->metric);
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
		       "pattern, or either behind FAMILY/. Those of this machine are shown; others only "
		       "behind FAMILY/.",
		.children = children,
	};
	struct parser p = {.cli = cli};
	int status;

	argp_parse(&argp, argc, argv, ARGP_NO_HELP, NULL, &p);
	status = cli_open(cli);
	return status ? status : explain(cli, &p);
}
