/* SPDX-License-Identifier: MIT */
/* `uncore stat` and the presets: options, which are perf's where perf has them; from queries to a planned
 * monitor; --dry-run, which prints the plan. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/stat.h"
#include "options.h"

enum { KEY_PER_SOCKET = 0x100, KEY_NO_MERGE, KEY_PER_PORT };

/* The library's filters, each an option of that name. */
static const char *const filters[STAT_FILTERS] = {"from", "to",     "gpu",    "link",
						  "port", "device", "address"};

#define AT(member) offsetof(struct stat_options, member)

static const struct cli_option options[] = {
	{NULL, NULL, "What to count (default: every metric this machine has):", 0, 1, 0, 0},
	{"event", "LIST", "Events in perf's syntax: pmu/term=value/,{a,b}", 'e', 1, 0, 0},
	{"metrics", "LIST", "Metric names or patterns, separated by commas", 'M', 1, 0, 0},
	{"all-cpus", NULL, "Accepted as in perf: counting is always system-wide", 'a', 1, 0, 0},
	{NULL, NULL, "Filters (of metrics; a LIST selects any of its words):", 0, 2, 0, 0},
	{"from", "LIST", "Only this source of requests: cpu, device, remote ...", 0, 2, OPTION_TEXT,
	 AT(filters[0])},
	{"to", "LIST", "Only this target: memory, gpu, cxl, remote ...", 0, 2, OPTION_TEXT,
	 AT(filters[1])},
	{"gpu", "LIST", "Only these GPUs, by number", 0, 2, OPTION_TEXT, AT(filters[2])},
	{"link", "LIST", "Only these ports of a link: port0, port1 ...", 0, 2, OPTION_TEXT,
	 AT(filters[3])},
	{"port", "LIST", "Only these PCIe root ports: addresses, or SOCKET:RC:INDEX", 0, 2,
	 OPTION_TEXT, AT(filters[4])},
	{"device", "NAME", "Only this PCI device, or the smallest unit that contains it", 0, 2,
	 OPTION_TEXT, AT(filters[5])},
	{"address", "LIST", "Only these ranges of memory: BASE/SIZE", 0, 2, OPTION_TEXT,
	 AT(filters[6])},
	{NULL, NULL, "Time:", 0, 3, 0, 0},
	{"interval-print", "TIME", "Print every TIME: 100 (milliseconds), 100ms, 1s; at least 1ms",
	 'I', 3, OPTION_INTERVAL, AT(interval_ns)},
	{"interval-count", "N", "End after N intervals", 0, 3, OPTION_COUNT, AT(interval_count)},
	{"timeout", "TIME", "End after TIME (milliseconds, or with a unit)", 0, 3, OPTION_TIME,
	 AT(timeout_ns)},
	{"delay", "TIME", "Begin after TIME (milliseconds, or with a unit)", 'D', 3, 0, 0},
	{"repeat", "N", "Run COMMAND N times; print mean and spread", 'r', 3, OPTION_COUNT,
	 AT(repeat)},
	{NULL, NULL, "Output:", 0, 4, 0, 0},
	{"per-socket", NULL, "One row for each socket", KEY_PER_SOCKET, 4, 0, 0},
	{"per-port", NULL,
	 "One row for each PCIe root port that a PMU can distinguish, else as --no-merge",
	 KEY_PER_PORT, 4, 0, 0},
	{"no-merge", NULL, "One row for each PMU and CPU", KEY_NO_MERGE, 4, 0, 0},
	{"no-aggr", NULL, "The same as --no-merge", 'A', 4, 0, 0},
	{"field-separator", "SEP", "CSV with SEP between the fields", 'x', 4, 0, 0},
	{"output", "FILE", "Write to FILE instead of standard output", 'o', 4, OPTION_TEXT,
	 AT(file)},
	{"append", NULL, "Append to FILE instead of replacing it", 0, 4, OPTION_FLAG, AT(append)},
	{"summary", NULL, "After intervals, print the totals", 0, 4, OPTION_FLAG, AT(summary)},
	{"verbose", NULL, "Print notes on groups, limits and late intervals", 'v', 4, OPTION_FLAG,
	 AT(verbose)},
	{"dry-run", NULL, "Print every counter that would be opened", 0, 4, OPTION_FLAG,
	 AT(dry_run)},
	{0},
};

static void add_query(struct stat_options *o, const char *text, bool metric)
{
	o->queries = cli_realloc(o->queries, o->query_count + 1, sizeof(*o->queries));
	o->queries[o->query_count++] = (struct stat_query){.text = text, .metric = metric};
}

static const char *separator(struct argp_state *state, const char *text)
{
	if (strcmp(text, "\\t") == 0)
		return "\t";
	if (!*text || strlen(text) > 16 || strpbrk(text, "\"\r\n"))
		argp_error(state, "-x: the separator must be 1 to 16 characters, without quotes "
				  "and line ends");
	return text;
}

static void set_level(struct argp_state *state, struct stat_options *o, enum uncore_level level)
{
	if (o->level != UNCORE_LEVEL_MACHINE && o->level != level)
		argp_error(state, "--per-socket, --per-port and --no-merge exclude each other");
	o->level = level;
}

static void parse_other(void *into, int key, char *arg, struct argp_state *state)
{
	struct stat_options *o = into;

	switch (key) {
	case 'e':
	case 'M':
		add_query(o, arg, key == 'M');
		break;
	case 'D':
		o->delay_ns = strcmp(arg, "0") == 0 ? 0 : cli_time(state, "-D", arg, NS_PER_MS, 0);
		break;
	case KEY_PER_SOCKET:
		set_level(state, o, UNCORE_LEVEL_SOCKET);
		break;
	case KEY_PER_PORT:
		set_level(state, o, UNCORE_LEVEL_PORT);
		break;
	case KEY_NO_MERGE:
	case 'A':
		set_level(state, o, UNCORE_LEVEL_INSTANCE);
		break;
	case 'x':
		cli_set_output(state, &o->output, "csv");
		o->separator = separator(state, arg);
		break;
	default: /* -a changes nothing */
		break;
	}
}

/* INTERVAL, COUNT, or the first word of the command. */
static void parse_argument(void *into, char *arg, struct argp_state *state)
{
	struct stat_options *o = into;

	if (state->quoted || (*arg && !cli_number_length(arg))) {
		o->command = &state->argv[state->next - 1];
		state->next = state->argc;
	} else if (!o->interval_ns) {
		o->interval_ns = cli_time(state, "INTERVAL", arg, NS_PER_S, NS_PER_MS);
		o->positional_interval = true;
	} else if (o->positional_interval && !o->interval_count) {
		o->interval_count = cli_count(state, "COUNT", arg);
	} else {
		argp_error(state, "'%s' is one argument too many; put -- before a command", arg);
	}
}

static bool has_metrics(const struct stat_options *o)
{
	for (size_t i = 0; i < o->query_count; i++)
		if (o->queries[i].metric)
			return true;
	return o->preset || !o->query_count;
}

static void check(void *into, struct argp_state *state)
{
	struct stat_options *o = into;

	for (size_t i = 0; i < STAT_FILTERS; i++)
		o->filtered = o->filtered || o->filters[i];
	if (state->quoted && !o->command)
		argp_error(state, "there is no command behind --");
	if (o->command && !*o->command[0])
		argp_error(state, "the command is an empty word");
	if (o->interval_count && !o->interval_ns)
		argp_error(state, "--interval-count needs an interval: -I");
	if (o->summary && !o->interval_ns)
		argp_error(state, "--summary needs an interval: -I");
	if (o->repeat > 1 && !o->command)
		argp_error(state, "-r repeats a command, and there is none");
	if (o->repeat > 1 && o->interval_ns)
		argp_error(state, "-r and intervals exclude each other");
	if (o->append && !o->file)
		argp_error(state, "--append needs a file: -o");
	if (o->filtered && !has_metrics(o))
		argp_error(state, "filters such as --from and --to apply to metrics, not events: "
				  "write terms into the events");
	if (o->dry_run && o->output && !o->output->document)
		argp_error(state, "--dry-run prints text or JSON, not CSV");
}

/* ---- planning ---- */

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

void stat_notes(const struct stat_options *o, const struct uncore_monitor *m)
{
	size_t count = uncore_monitor_note_count(m);
	bool all = o->verbose || o->filtered; /* notes tell what filters could not include */

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
		status = add_any(cli, m, "*", "every metric");
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

static int dry_run(struct cli *cli, const struct stat_options *o, struct uncore_monitor *m)
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

int stat_main(struct cli *cli, const struct stat_options *o)
{
	struct uncore_monitor *m = NULL;
	int status = cli_open(cli);

	if (!status)
		status = stat_plan(cli, o, &m);
	if (status)
		return status;
	if (!o->dry_run)
		return stat_run(cli, o, m);
	if (o->filtered)
		stat_notes(o, m);
	status = dry_run(cli, o, m);
	uncore_monitor_free(m);
	return status;
}

/* ---- the command ---- */

static const char stat_doc[] =
	"Counts system-wide and prints metrics or events with their quality.\v"
	"INTERVAL in seconds (or with a unit) prints again and again, COUNT times. Without COMMAND, "
	"INTERVAL and --timeout, counting ends with Ctrl-C. With COMMAND, its exit status is the "
	"result.";

int cmd_stat(struct cli *cli, int argc, char **argv)
{
	const struct command *preset = cli->command->metrics ? cli->command : NULL;
	struct stat_options o = {.repeat = 1, .separator = ",", .preset = preset};
	int status;
	char doc[400];
	struct cli_syntax syntax = {.doc = stat_doc,
				    .args = "[INTERVAL [COUNT]] [-- COMMAND ...]",
				    .options = options,
				    .outputs = OUTPUTS_RECORDS,
				    .outputs_group = 4,
				    .outputs_at = AT(output),
				    .flags = ARGP_IN_ORDER,
				    .other = parse_other,
				    .argument = parse_argument,
				    .check = check};

	if (preset) {
		snprintf(doc, sizeof(doc),
			 "%s: the metrics %s.\v"
			 "Takes the options of stat. Counts once for one second unless INTERVAL, "
			 "COMMAND or --timeout say otherwise.",
			 preset->doc, preset->metrics);
		syntax.doc = doc;
	}
	cli_parse(cli, &syntax, &o, argc, argv);
	if (!o.output)
		o.output = output_find(preset && preset->output && !o.query_count ? preset->output
										  : "text");
	if (preset && o.level == UNCORE_LEVEL_MACHINE)
		o.level = preset->level;
	if (preset && !o.interval_ns && !o.command && !o.timeout_ns)
		o.timeout_ns = NS_PER_S;
	status = stat_main(cli, &o);
	free(o.queries);
	return status;
}
