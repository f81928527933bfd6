/* SPDX-License-Identifier: MIT */
/* From what was asked for to a planned monitor, and what --dry-run shows of it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/stat.h"
#include "output/json.h"

/* Nothing of the kind can be counted here: says so, and what would mend it. */
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

static int add_what(struct cli *cli, const struct stat_options *o, struct uncore_monitor *m)
{
	for (size_t i = 0; i < o->what_count; i++) {
		const struct stat_what *what = &o->what[i];
		int err = what->metric ? add_patterns(m, what->text)
				       : uncore_monitor_add_events(m, what->text);

		if (err == -ENODEV && what->metric)
			return nothing_here(cli, uncore_error(cli->u));
		if (err)
			return cli_fail(cli, err);
	}
	return CLI_OK;
}

/* A preset asks for several patterns and is content with any: a machine may have none of the
 * metrics of one, and the catalogue may not know any yet. What is behind "else" is for machines that
 * have nothing of what is before it. */
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

/* The plan is made by the first look at it: what the hardware excludes is refused here. */
static int plan(struct cli *cli, struct uncore_monitor *m)
{
	struct uncore_counter first;
	int err = uncore_monitor_counter(m, 0, &first);

	return err ? cli_fail(cli, err) : CLI_OK;
}

static int set_filters(const struct stat_options *o, struct uncore_monitor *m)
{
	int err = 0;

	for (size_t i = 0; !err && i < STAT_FILTERS; i++)
		if (o->filters[i])
			err = uncore_monitor_set_filter(m, stat_filters[i], o->filters[i]);
	return err;
}

void stat_notes(const struct stat_options *o, const struct uncore_monitor *m)
{
	size_t count = uncore_monitor_note_count(m);
	bool all = o->verbose || o->filtered; /* filters leave things out */

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
	if (!err)
		err = set_filters(o, m);
	if (err)
		status = cli_fail(cli, err);
	else if (o->preset)
		status = add_any(cli, m, o->preset->metrics, o->preset->title);
	else if (!o->what_count)
		status = add_any(cli, m, "*", "every metric");
	if (!status)
		status = add_what(cli, o, m);
	if (!status)
		status = plan(cli, m);
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

static json_t *json_counter(const struct cli *cli, const struct uncore_counter *c)
{
	json_t *line = json_header(cli->u);
	json_t *config = json_array();

	for (size_t i = 0; i < UNCORE_CONFIG_WORDS; i++)
		json_push(config, json_hex(c->config[i]));
	json_put(line, "kind", json_text("counter"));
	json_put(line, "event", json_text(c->event));
	json_put(line, "pmu", json_text(uncore_pmu_name(c->pmu)));
	json_put(line, "type", json_count(uncore_pmu_type(c->pmu)));
	json_put(line, "config", config);
	json_put(line, "cpu", json_id(c->cpu));
	json_put(line, "group", json_count(c->group));
	json_put(line, "leader", json_flag(c->leader));
	return line;
}

int stat_dry_run(struct cli *cli, const struct stat_options *o, struct uncore_monitor *m)
{
	static const struct table_column columns[] = {
		{"EVENT", false}, {"PMU", false},  {"TYPE", true},    {"CONFIG", false},
		{"CPU", true},    {"GROUP", true}, {"LEADER", false}, {NULL, false},
	};
	bool json = o->output == &out_json;
	struct table table;
	struct writer w;
	int status = writer_open(&w, o->file, o->append);

	table_init(&table, columns);
	if (!status && !json && uncore_is_simulated(cli->u))
		buffer_printf(&w.text, "SIMULATED by %s: no counter of this machine.\n",
			      uncore_source(cli->u));
	for (size_t i = 0; !status && i < uncore_monitor_counter_count(m); i++) {
		struct uncore_counter c;
		int err = uncore_monitor_counter(m, i, &c);

		if (err)
			status = cli_fail(cli, err);
		else if (json)
			json_print(json_counter(cli, &c), JSON_COMPACT, &w.text);
		else
			text_row(&table, &c);
	}
	table_print(&table, &w.text);
	if (!status)
		status = writer_flush(&w);
	table_free(&table);
	return writer_close(&w) ? w.status : status;
}
