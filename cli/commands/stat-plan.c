/* SPDX-License-Identifier: MIT */
/* From queries to a planned monitor, and --dry-run, which prints every planned counter. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/stat-plan.h"
#include "output/writer.h"
#include "recording/replay.h"

/* None of the metrics can be counted here: prints why and, where the reason has none, the fixes for missing PMUs. */
static int nothing_here(struct cli *cli, const char *metrics, const char *why)
{
	cli_error("%s", why);
	if (!strstr(why, "Fix: "))
		cli_advise(cli, metrics);
	return CLI_UNAVAILABLE;
}

static int add_queries(struct cli *cli, const struct stat_options *o, struct uncore_monitor *m)
{
	for (size_t i = 0; i < o->query_count; i++) {
		const struct stat_query *q = &o->queries[i];
		char *list = cli_copy(q->text), *rest = list, *pattern;
		int err = q->metric ? 0 : uncore_monitor_add_events(m, list);

		while (q->metric && !err && (pattern = strsep(&rest, ",")))
			err = uncore_monitor_add_metrics(m, pattern);
		free(list);
		if (err == -ENODEV && q->metric)
			return nothing_here(cli, q->text, uncore_error(cli->u));
		if (err)
			return cli_fail(cli, err);
	}
	return CLI_OK;
}

/* This machine has a metric of this name, if perhaps not as the filters want it. */
static bool has_metric(const struct uncore *u, const char *pattern)
{
	for (size_t i = 0; i < uncore_metric_count(u); i++)
		if (uncore_metric_matches(uncore_metric_at(u, i), pattern) &&
		    !uncore_metric_missing(uncore_metric_at(u, i)))
			return true;
	return false;
}

/* At least one pattern of a preset must be countable: a machine may have none of the metrics of another. Patterns behind
 * "else" are for machines that have none of those before it. If none is, the reason is that of a metric that the
 * machine has, of the last of these lists, which is the most general. */
static int add_any(struct cli *cli, struct uncore_monitor *m, const char *list)
{
	char *copy = cli_copy(list), *rest = copy, *pattern, why[1024] = "";
	bool added = false, failed = false, specific = false;
	int err = 0;

	while (!failed && (pattern = strsep(&rest, ","))) {
		if (strcmp(pattern, "else") == 0 && added)
			break;
		if (strcmp(pattern, "else") == 0) {
			specific = false;
			continue;
		}
		err = uncore_monitor_add_metrics(m, pattern);
		added |= !err;
		failed = err && err != -ENODEV && err != -ENOENT;
		if (!err || (*why && (specific || !has_metric(cli->u, pattern))))
			continue;
		specific = has_metric(cli->u, pattern);
		snprintf(why, sizeof(why), "%s", uncore_error(cli->u));
	}
	free(copy);
	if (failed)
		return cli_fail(cli, err);
	return added ? CLI_OK : nothing_here(cli, list, why);
}

/* What a first look shows: the few metrics that the catalogue names for it. A machine with none of them
 * has so few that all are shown, and so does a filter, which selects by itself. */
static int add_headline(struct cli *cli, const struct stat_options *o, struct uncore_monitor *m)
{
	bool added = false;
	char name[256];

	for (unsigned place = 1; !o->filtered && place <= 9; place++) {
		for (size_t i = 0; i < uncore_metric_count(cli->u); i++) {
			const struct uncore_metric *metric = uncore_metric_at(cli->u, i);
			int err;

			if (uncore_metric_headline(metric) != place ||
			    uncore_metric_missing(metric))
				continue;
			snprintf(name, sizeof(name), "%s/%s", uncore_metric_family(metric),
				 uncore_metric_name(metric));
			err = uncore_monitor_add_metrics(m, name);
			if (err)
				return cli_fail(cli, err);
			added = true;
		}
	}
	return added ? CLI_OK : add_any(cli, m, "*");
}

/* What was recorded, with the filters of then. */
static int add_recorded(struct cli *cli, const struct stat_options *o, struct uncore_monitor *m)
{
	const struct replay *replay = cli->replay;
	bool added = false;

	for (size_t i = 0; i < replay->query_count; i++) {
		const struct replay_query *q = &replay->queries[i];
		int err = q->metric ? uncore_monitor_add_metrics(m, q->text)
				    : uncore_monitor_add_events(m, q->text);

		if (err == -ENOMEM)
			return cli_fail(cli, err);
		if (err && o->verbose)
			cli_error("%s was recorded and is left out: %s", q->text,
				  uncore_error(cli->u));
		added = added || !err;
	}
	return added ? CLI_OK : add_headline(cli, o, m);
}

/* The filters of a recording, "from=cpu to=memory": with others its counters would not be found. */
static int set_recorded_filter(struct uncore_monitor *m, const char *text)
{
	char *copy = cli_copy(text), *rest = copy, *word;
	int err = 0;

	while (!err && (word = strsep(&rest, " "))) {
		char *value = strchr(word, '=');

		if (!value)
			continue;
		*value++ = '\0';
		err = uncore_monitor_set_filter(m, word, value);
	}
	free(copy);
	return err;
}

void stat_print_notes(const struct stat_options *o, const struct uncore_monitor *m, size_t first)
{
	size_t count = uncore_monitor_note_count(m) - first;
	bool all = o->verbose || o->filtered; /* notes tell what filters could not include */

	/* Events are the user's own choice: what the data files know of them belongs on the screen. */
	for (size_t i = 0; i < o->query_count; i++)
		all |= !o->queries[i].metric;
	if (count && !all)
		cli_error("%zu note%s; -v prints %s", count, count == 1 ? "" : "s",
			  count == 1 ? "it" : "them");
	for (size_t i = 0; all && i < count; i++)
		cli_error("note: %s", uncore_monitor_note_at(m, first + i));
}

bool stat_has_total(const struct stat_options *o)
{
	return o->summary || (o->output->begin && o->interval_ns);
}

/* Only one window of a known length can be counted again for other metrics. */
static bool has_rounds(const struct stat_options *o)
{
	if (o->recorder || o->command || o->control || stat_has_total(o) || o->tree ||
	    (o->output->record && o->output->window))
		return false;
	return o->interval_ns ? o->interval_count == 1 : o->timeout_ns;
}

static int add_all(struct cli *cli, const struct stat_options *o, struct uncore_monitor *m,
		   enum uncore_level level)
{
	int err = uncore_monitor_set_level(m, level), status = CLI_OK;

	/* All levels of the output, or those above the level of the option; nodes only with their option. */
	for (int i = 0; !err && !o->tree && i < (o->level ? (int)o->level : 32); i++)
		if (o->output->levels >> i & 1 && i != UNCORE_LEVEL_NODE)
			err = uncore_monitor_add_level(m, (enum uncore_level)i);
	/* Channels have numbers on their socket. Links and caches come with the ports. */
	if (!err && o->tree && level == UNCORE_LEVEL_MACHINE &&
	    !(err = uncore_monitor_add_level(m, UNCORE_LEVEL_CHANNEL)))
		err = uncore_monitor_add_level(m, UNCORE_LEVEL_SOCKET);
	if (err)
		status = cli_fail(cli, err);
	else if (o->preset)
		status = add_any(cli, m, o->preset->metrics);
	else if (!o->query_count && !o->preset_count)
		status = cli->replay ? add_recorded(cli, o, m) : add_headline(cli, o, m);
	return status ? status : add_queries(cli, o, m);
}

/* Each preset as the command of its name counts it, so that a recording has the counters of that command. */
static int add_presets(struct cli *cli, const struct stat_options *o, struct uncore_monitor *m)
{
	int status = CLI_OK;

	for (size_t i = 0; !status && i < o->preset_count; i++) {
		const struct command *preset = o->presets[i];
		struct stat_options one = *o;

		one.preset = preset;
		/* Levels of a table that shows the whole machine are those of the recording. */
		if (preset->level != UNCORE_LEVEL_MACHINE && preset->output)
			one.output = output_find(preset->output);
		one.level = o->level ? o->level : preset->level ? preset->level : o->default_level;
		one.query_count = 0;
		status = add_all(cli, &one, m, one.level);
	}
	return status;
}

int stat_plan(struct cli *cli, const struct stat_options *o, struct uncore_monitor **out)
{
	const struct replay *replay = cli->replay;
	struct uncore_monitor *m = NULL;
	/* The metrics of a preset fit together: it leaves out what is `apart`, in rounds, too. */
	bool first = !o->preset || o->viewed, rounds = has_rounds(o) && !replay;
	int err = uncore_monitor_new(&m, cli->u), status = CLI_OK;

	if (!err && first && rounds)
		err = uncore_monitor_set_rounds(m);
	if (!err && o->sample_ns)
		err = uncore_monitor_set_short_samples(m, (double)stat_above(o) / 100);
	for (size_t i = 0; !err && i < STAT_FILTERS; i++)
		if (o->filters[i].value)
			err = uncore_monitor_set_filter(m, o->filters[i].name, o->filters[i].value);
	if (!err && replay && replay->query_count && !o->filtered && !o->query_count)
		err = set_recorded_filter(m, replay->queries[0].filter);
	status = err ? cli_fail(cli, err) : add_presets(cli, o, m);
	if (!status && o->tree)
		status = add_all(cli, o, m, UNCORE_LEVEL_MACHINE);
	if (!status)
		status = add_all(cli, o, m,
				 o->tree    ? UNCORE_LEVEL_PORT
				 : o->level ? o->level
					    : o->default_level);
	if (!status && !first && rounds)
		err = uncore_monitor_set_rounds(m);
	if (!status && !err)
		err = uncore_monitor_plan(m);
	if (!status && err)
		status = cli_fail(cli, err);
	if (!status)
		*out = m;
	else
		uncore_monitor_free(m);
	return status;
}

/* ---- --dry-run: every planned counter ---- */

static void text_row(struct table *t, const struct uncore_counter *c, bool rounds)
{
	size_t words = UNCORE_CONFIG_WORDS;
	struct buffer config = {0};

	while (words > 1 && !c->config[words - 1])
		words--;
	for (size_t i = 0; i < words; i++)
		buffer_printf(&config, "%s0x%llx", i ? " " : "", (unsigned long long)c->config[i]);
	table_cell(t, "%s", c->event);
	table_cell(t, "%s", uncore_pmu_name(c->pmu));
	table_cell(t, "%u", uncore_pmu_type(c->pmu));
	table_cell(t, "%s", config.data);
	table_cell(t, "%d", c->cpu);
	table_cell(t, "%zu", c->group);
	table_cell(t, "%s", c->leader ? "leader" : "");
	if (rounds)
		table_cell(t, "%zu", c->round + 1);
	table_end_row(t, NULL);
	buffer_free(&config);
}

static void print_record(struct out *out, const struct uncore_counter *c)
{
	const struct field fields[] = {
		{"schema", value_count(JSON_SCHEMA)},
		{"source", value_text(out->setup.source)},
		{"simulated", value_flag(out->setup.simulated)},
		{"kind", value_text("counter")},
		{"event", value_text(c->event)},
		{"pmu", value_text(uncore_pmu_name(c->pmu))},
		{"type", value_count(uncore_pmu_type(c->pmu))},
		{"config", value_json(json_hex_list(c->config, UNCORE_CONFIG_WORDS))},
		{"cpu", value_id(c->cpu)},
		{"group", value_count(c->group)},
		{"leader", value_flag(c->leader)},
		{"round", value_count(c->round)},
		{0},
	};

	out->output->record(out, fields);
}

int stat_dry_run(struct cli *cli, const struct stat_options *o, struct uncore_monitor *m)
{
	bool rounds = uncore_monitor_round_count(m) > 1;
	const struct table_column columns[] = {
		{"EVENT", TABLE_ALONE}, {"PMU", false},
		{"TYPE", true},         {"CONFIG", false},
		{"CPU", true},          {"GROUP", true},
		{"LEADER", false},      {rounds ? "ROUND" : NULL, true},
		{NULL, false},
	};
	struct writer w;
	struct out out = {.output = o->output,
			  .setup = {.source = uncore_source(cli->u),
				    .simulated = uncore_is_simulated(cli->u)},
			  .to = &w.text};
	int status;

	stat_print_notes(o, m, 0);
	status = writer_open(&w, o->recorder ? NULL : o->file, o->append);
	table_init(&out.table, columns);
	if (!status && !o->output->record && out.setup.simulated)
		buffer_printf(&w.text, "SIMULATED by %s: no counter of this machine.\n",
			      out.setup.source);
	for (size_t i = 0; !status && i < uncore_monitor_counter_count(m); i++) {
		if (o->output->record)
			print_record(&out, uncore_monitor_counter_at(m, i));
		else
			text_row(&out.table, uncore_monitor_counter_at(m, i), rounds);
	}
	table_print(&out.table, &w.text);
	out_free(&out);
	return writer_close(&w) ? w.status : status;
}
