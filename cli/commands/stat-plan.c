/* SPDX-License-Identifier: MIT */
/* From queries to a planned monitor; --dry-run, which prints the plan. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/stat.h"

/* The library's filters, each an option of that name. */
static const char *const filters[STAT_FILTERS] = {"from", "to",     "gpu",    "link",
						  "port", "device", "address"};

/* Nothing that was asked for can be counted here: prints why and the fixes. */
static int nothing_here(struct cli *cli, const char *why)
{
	cli_error("%s", why);
	cli_advise(cli);
	return CLI_UNAVAILABLE;
}

/* Adds each pattern of a comma list. */
static int add_patterns(struct uncore_monitor *m, const char *list)
{
	char *copy = cli_copy(list);
	char *rest = copy;
	char *pattern;
	int err = 0;

	while (!err && (pattern = strsep(&rest, ",")))
		err = uncore_monitor_add_metrics(m, pattern);
	free(copy);
	return err;
}

static int add_queries(struct cli *cli, const struct stat_options *o, struct uncore_monitor *m)
{
	for (size_t i = 0; i < o->query_count; i++) {
		const struct stat_query *q = &o->queries[i];
		int err = q->metric ? add_patterns(m, q->text)
				    : uncore_monitor_add_events(m, q->text);

		if (err == -ENODEV && q->metric)
			return nothing_here(cli, uncore_error(cli->u));
		if (err)
			return cli_fail(cli, err);
	}
	return CLI_OK;
}

/* At least one pattern of a preset must be countable: a machine may have none of the metrics of another,
 * and the catalogue may not know any yet. Patterns behind "else" are for machines that have none of
 * those before it. */
static int add_any(struct cli *cli, struct uncore_monitor *m, const char *list, const char *title)
{
	char *copy = cli_copy(list);
	char why[1024] = "";
	char *rest = copy;
	char *pattern;
	bool added = false;
	bool known = false; /* to the catalogue */
	int err = 0;

	while ((pattern = strsep(&rest, ","))) {
		if (strcmp(pattern, "else") == 0 && added)
			break;
		if (strcmp(pattern, "else") == 0)
			continue;
		err = uncore_monitor_add_metrics(m, pattern);
		added = added || !err;
		if (err && err != -ENODEV && err != -ENOENT)
			break;
		if (!*why || (err == -ENODEV && !known))
			snprintf(why, sizeof(why), "%s", uncore_error(cli->u));
		known = known || err == -ENODEV;
		err = 0;
	}
	free(copy);
	if (err)
		return cli_fail(cli, err);
	if (added)
		return CLI_OK;
	if (known)
		return nothing_here(cli, why);
	cli_error("the catalogue has no metrics %s yet (%s); events can be counted by name: uncore "
		  "list events",
		  list, title);
	return CLI_UNAVAILABLE;
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
	return added ? CLI_OK : add_any(cli, m, "*", "every metric");
}

void stat_notes(const struct stat_options *o, const struct uncore_monitor *m)
{
	size_t count = uncore_monitor_note_count(m);
	bool all = o->verbose || o->filtered; /* notes tell what filters could not include */

	/* Events are the user's own choice: what the data files know of them belongs on the screen. */
	for (size_t i = 0; i < o->query_count; i++)
		all |= !o->queries[i].metric;
	if (count && !all)
		cli_error("%zu note%s; -v prints %s", count, count == 1 ? "" : "s",
			  count == 1 ? "it" : "them");
	for (size_t i = 0; all && i < count; i++)
		cli_error("note: %s", uncore_monitor_note_at(m, i));
}

int stat_plan(struct cli *cli, const struct stat_options *o, struct uncore_monitor **out)
{
	struct uncore_monitor *m = NULL;
	int status = CLI_OK;
	int err = uncore_monitor_new(&m, cli->u);

	if (!err)
		err = uncore_monitor_set_level(m, o->level);
	for (size_t i = 0; !err && i < STAT_FILTERS; i++)
		if (o->filters[i])
			err = uncore_monitor_set_filter(m, filters[i], o->filters[i]);
	if (err)
		status = cli_fail(cli, err);
	else if (o->preset)
		status = add_any(cli, m, o->preset->metrics, o->preset->doc);
	else if (!o->query_count)
		status = add_headline(cli, o, m);
	if (!status)
		status = add_queries(cli, o, m);
	if (!status) {
		err = uncore_monitor_plan(m);
		status = err ? cli_fail(cli, err) : CLI_OK;
	}
	if (!status)
		*out = m;
	else
		uncore_monitor_free(m);
	return status;
}

/* "0x304 0x0 0x3b": up to the last word that is not zero. */
static void config_text(const struct uncore_counter *c, char *into, size_t size)
{
	size_t last = UNCORE_CONFIG_WORDS - 1;
	size_t at = 0;

	while (last && !c->config[last])
		last--;
	*into = '\0';
	for (size_t i = 0; i <= last; i++)
		at += (size_t)snprintf(into + at, size - at, "%s0x%llx", i ? " " : "",
				       (unsigned long long)c->config[i]);
}

static void text_row(struct table *t, const struct uncore_counter *c)
{
	char config[UNCORE_CONFIG_WORDS * 20];

	config_text(c, config, sizeof(config));
	table_cell(t, "%s", c->event);
	table_cell(t, "%s", uncore_pmu_name(c->pmu));
	table_cell(t, "%u", uncore_pmu_type(c->pmu));
	table_cell(t, "%s", config);
	table_cell(t, "%d", c->cpu);
	table_cell(t, "%zu", c->group);
	table_cell(t, "%s", c->leader ? "leader" : "");
	table_end_row(t, NULL);
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
		{0},
	};

	out->output->record(out, fields);
}

int stat_dry_run(struct cli *cli, const struct stat_options *o, struct uncore_monitor *m)
{
	static const struct table_column columns[] = {
		{"EVENT", false}, {"PMU", false},  {"TYPE", true},    {"CONFIG", false},
		{"CPU", true},    {"GROUP", true}, {"LEADER", false}, {NULL, false},
	};
	struct out_setup setup = {.source = uncore_source(cli->u),
				  .simulated = uncore_is_simulated(cli->u)};
	struct writer w;
	struct out out;
	int status = writer_open(&w, o->file, o->append);

	out_init(&out, o->output, &setup, &w.text);
	table_init(&out.table, columns);
	if (!status && !o->output->record && setup.simulated)
		buffer_printf(&w.text, "SIMULATED by %s: no counter of this machine.\n",
			      setup.source);
	for (size_t i = 0; !status && i < uncore_monitor_counter_count(m); i++) {
		if (o->output->record)
			print_record(&out, uncore_monitor_counter_at(m, i));
		else
			text_row(&out.table, uncore_monitor_counter_at(m, i));
	}
	table_print(&out.table, &w.text);
	if (!status)
		status = writer_flush(&w);
	out_free(&out);
	return writer_close(&w) ? w.status : status;
}
