/* SPDX-License-Identifier: MIT */
/* `uncore stat` and the presets: options, which are perf's where perf has them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/replay.h"
#include "commands/alarm.h"
#include "commands/documents.h"
#include "commands/guess.h"
#include "commands/stat.h"
#include "loop/loop.h"

/* Keys of options without a letter. A level of rows is KEY_LEVEL plus its number, a view KEY_VIEW
 * plus its place in the chain of views. */
enum { KEY_LEVEL = 0x100, KEY_SAMPLE = 0x180, KEY_ABOVE, KEY_VIEW };

#define AT(member) offsetof(struct stat_options, member)

static const struct cli_option options[] = {
	{NULL, NULL, "What to count (default: the headline metrics; all: -M '*'):", 0, 1, 0, 0},
	{"event", "LIST", "Events in perf's syntax: pmu/term=value/,{a,b}", 'e', 1, OPTION_LIST, 0},
	{"metrics", "LIST", "Metric names or patterns, separated by commas", 'M', 1, OPTION_LIST,
	 0},
	{"all-cpus", NULL, "Accepted as in perf: counting is always system-wide", 'a', 1, 0, 0},
	{NULL, NULL,
	 "Filters (a LIST selects any of its values; of events: --socket and --node):", 0, 2, 0, 0},
	{"socket", "LIST", "Only these sockets, by number", 0, 2, OPTION_TEXT,
	 AT(request.filters[7].value)},
	{"node", "LIST", "Only these NUMA nodes, by number", 0, 2, OPTION_TEXT,
	 AT(request.filters[8].value)},
	{"from", "LIST", "Only this source of requests: cpu, device, remote ...", 0, 2, OPTION_TEXT,
	 AT(request.filters[0].value)},
	{"to", "LIST", "Only this target: memory, gpu, cxl, remote ...", 0, 2, OPTION_TEXT,
	 AT(request.filters[1].value)},
	{"gpu", "LIST", "Only these GPUs, by number", 0, 2, OPTION_TEXT,
	 AT(request.filters[2].value)},
	{"link", "LIST", "Only these ports of a link: port0, port1 ...", 0, 2, OPTION_TEXT,
	 AT(request.filters[3].value)},
	{"port", "LIST", "Only these PCIe root ports: addresses, or SOCKET:RC:INDEX", 0, 2,
	 OPTION_TEXT, AT(request.filters[4].value)},
	{"device", "LIST",
	 "Only these PCI devices, or the smallest units that contain them: names, addresses, "
	 "vendor:device, patterns; all of a class: gpu, nic or nvme",
	 0, 2, OPTION_TEXT, AT(request.filters[5].value)},
	{"address", "LIST", "Only these ranges of memory: BASE/SIZE", 0, 2, OPTION_TEXT,
	 AT(request.filters[6].value)},
	{NULL, NULL, "Time:", 0, 3, 0, 0},
	{"interval-print", "TIME", "Print every TIME: 100 (milliseconds), 100ms, 1s; at least 1ms",
	 'I', 3, OPTION_PERF_INTERVAL, AT(request.when.interval_ns)},
	{"interval-count", "N", "End after N intervals, of one second without -I", 0, 3,
	 OPTION_COUNT, AT(request.when.interval_count)},
	{"sample", "TIME",
	 "Read every TIME, at least 100us, and print the distribution of these short samples",
	 KEY_SAMPLE, 3, 0, 0},
	{"above", "PERCENT",
	 "With --sample: print how long values were at or above PERCENT of the ceiling (80)",
	 KEY_ABOVE, 3, 0, 0},
	{"timeout", "TIME", "End after TIME (milliseconds, or with a unit)", 0, 3, OPTION_PERF_TIME,
	 AT(request.when.timeout_ns)},
	{"delay", "TIME",
	 "Begin after TIME (milliseconds, or with a unit); -1: at the command enable of --control",
	 'D', 3, 0, 0},
	{"control", "CHANNEL",
	 "Take commands (enable, disable, ping, stop) from fifo:CTL[,ACK] or fd:N[,N]", 0, 3,
	 OPTION_TEXT, AT(request.when.control)},
	{"bind-cpu", "N", "Run the counting loop on CPU N, not the command", 0, 3, OPTION_TEXT,
	 AT(request.when.cpu)},
	{"repeat", "N", "Run COMMAND N times; print mean and spread", 'r', 3, OPTION_COUNT,
	 AT(request.when.repeat)},
	{"when", "CONDITION", "With --exec: 'METRIC > 80 % for 20ms', 'METRIC < 1e9'", 0, 3,
	 OPTION_TEXT, AT(request.condition)},
	{"exec", "COMMAND", "Run COMMAND once each time when the condition becomes true", 0, 3,
	 OPTION_TEXT, AT(request.exec)},
	{NULL, NULL, "Output:", 0, 4, 0, 0},
	{"per-socket", NULL, "One row for each socket", KEY_LEVEL + UNCORE_LEVEL_SOCKET, 4, 0, 0},
	{"per-node", NULL, "One row for each NUMA node, if the node of its counters is known",
	 KEY_LEVEL + UNCORE_LEVEL_NODE, 4, 0, 0},
	{"per-channel", NULL, "One row for each memory channel; for other metrics, for each socket",
	 KEY_LEVEL + UNCORE_LEVEL_CHANNEL, 4, 0, 0},
	{"per-port", NULL,
	 "One row for each PCIe root port that a PMU can distinguish, else as --no-merge",
	 KEY_LEVEL + UNCORE_LEVEL_PORT, 4, 0, 0},
	{"per-link", NULL,
	 "One row for each link of GPUs (NVLink, xGMI), with its other end, else as --no-merge",
	 KEY_LEVEL + UNCORE_LEVEL_PART, 4, 0, 0},
	{"no-merge", NULL, "One row for each PMU and CPU", KEY_LEVEL + UNCORE_LEVEL_INSTANCE, 4, 0,
	 0},
	{"no-aggr", NULL, "The same as --no-merge", 'A', 4, 0, 0},
	{"sort", "KEY", "Order of the rows of mem and pcie, by a column of these tables", 0, 4,
	 OPTION_TEXT, AT(print.sort)},
	{"field-separator", "SEP", "CSV with SEP between the fields", 'x', 4, 0, 0},
	{"output", "FILE", "Write to FILE instead of standard output", 'o', 4, OPTION_TEXT,
	 AT(print.file)},
	{"append", NULL, "Append to FILE instead of replacing it", 0, 4, OPTION_FLAG,
	 AT(print.append)},
	{"summary", NULL, "After intervals, print the totals", 0, 4, OPTION_FLAG,
	 AT(print.summary)},
	{"timestamp", NULL, "Print the date of each interval instead of the time since the start",
	 0, 4, OPTION_FLAG, AT(print.timestamp)},
	{"verbose", NULL, "Print notes on groups, limits and late intervals", 'v', 4, OPTION_FLAG,
	 AT(request.verbose)},
	{"dry-run", NULL, "Print every counter that would be opened", 0, 4, OPTION_FLAG,
	 AT(dry_run)},
	{0},
};

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
	if (o->request.level != UNCORE_LEVEL_MACHINE && o->request.level != level)
		argp_error(state,
			   "--per-socket, --per-node, --per-channel, --per-port, --per-link and "
			   "--no-merge exclude each other");
	o->request.level = level;
}

static void parse_other(void *into, int key, char *arg, struct argp_state *state)
{
	struct stat_options *o = into;
	struct request *r = &o->request;

	switch (key) {
	case 'e':
	case 'M':
		r->queries = cli_realloc(r->queries, r->query_count + 1, sizeof(*r->queries));
		r->queries[r->query_count++] = (struct request_query){arg, key == 'M'};
		break;
	case 'D':
		r->when.delay_ns = strcmp(arg, "0") == 0 ? 0
				   : strcmp(arg, "-1") == 0
					   ? DELAY_FOREVER
					   : cli_perf_time(state, "-D", arg, false);
		break;
	case KEY_SAMPLE:
		r->sample_ns = cli_time(state, "--sample", arg, 0, NS_PER_MS / 10);
		break;
	case KEY_ABOVE:
		r->above = cli_count(state, "--above", arg);
		if (r->above > 100)
			argp_error(state, "--above: '%s' is not a number from 1 to 100", arg);
		break;
	case 'A':
		set_level(state, o, UNCORE_LEVEL_INSTANCE);
		break;
	case 'x':
		cli_set_output(state, &o->print.output, "csv");
		o->print.separator = separator(state, arg);
		break;
	default: /* -a changes nothing */
		if (key >= KEY_LEVEL && key < KEY_VIEW)
			set_level(state, o, (enum uncore_level)(key - KEY_LEVEL));
		if (key < KEY_VIEW)
			break;
		if (r->viewed)
			argp_error(state,
				   "only one view is possible: options such as --%s exclude each "
				   "other",
				   r->preset->name);
		for (; key >= KEY_VIEW; key--)
			r->preset = r->preset->view;
		r->viewed = true;
		o->device = arg;
	}
}

const char **stat_filter(struct stat_options *o, const char *name)
{
	for (const struct cli_option *row = options; row->doc; row++)
		for (size_t i = 0; row->name && i < REQUEST_FILTERS; i++)
			if (row->at == AT(request.filters[i].value) && strcmp(row->name, name) == 0)
				return &o->request.filters[i].value;
	return NULL;
}

static void stat_interval(struct stat_options *o, char *arg, struct argp_state *state)
{
	struct schedule *when = &o->request.when;
	bool plain = !arg[cli_number_length(arg)];

	if (!cli_number_length(arg))
		argp_error(state, "'%s' is not an interval", arg);
	if (o->port_from && plain && strtod(arg, NULL) >= o->port_from)
		exit(cli_failure(CLI_USAGE,
				 "'%s' would be an interval of %s seconds: for a port write --port "
				 "%s, for this interval %ss",
				 arg, arg, arg, arg));
	if (!when->interval_ns) {
		when->interval_ns = cli_time(state, "INTERVAL", arg, NS_PER_S, NS_PER_MS);
		o->positional_interval = true;
	} else if (o->positional_interval && !when->interval_count) {
		when->interval_count = cli_count(state, "COUNT", arg);
	} else {
		argp_error(state, "'%s' is one argument too many; put -- before a command", arg);
	}
}

/* The output that the end of a file's name means; NULL: none. */
static const struct output *output_of_file(const char *name)
{
	static const struct {
		const char *end, *output;
	} ends[] = {
		{".csv", "csv"},     {".json", "json"}, {".jsonl", "json"},
		{".ndjson", "json"}, {".html", "html"},
	};
	size_t length = strlen(name);

	if (length > 4 && strcmp(name + length - 4, ".zst") == 0)
		length -= 4;
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (length > strlen(ends[i].end) && strncmp(name + length - strlen(ends[i].end),
							    ends[i].end, strlen(ends[i].end)) == 0)
			return output_find(ends[i].output);
	return NULL;
}

/* An argument of a preset that is no time: a device, if its rows are of root ports. */
static void take_word(struct stat_options *o, char *arg, struct argp_state *state)
{
	const struct command *preset = o->request.preset;
	const char **device = stat_filter(o, "device");
	auto_buffer about = {0};

	if (preset->level == UNCORE_LEVEL_PORT) {
		if (*device && *device != o->devices.data)
			argp_error(state, "'%s' and --device '%s' are both given", arg, *device);
		buffer_printf(&o->devices, "%s%s", o->devices.len ? "," : "", arg);
		*device = o->devices.data;
		return;
	}
	buffer_printf(&about, "'%s' is not an interval", arg);
	if (output_of_file(arg))
		exit(cli_failure(CLI_USAGE, "%s; to write into this file: -o %s", about.data, arg));
	if (!guess_word(o->cli, about.data, arg))
		argp_error(state, "'%s' is not an interval; put -- before a command", arg);
	exit(CLI_USAGE);
}

/* A preset whose metrics are recorded, or the recording. */
static void take_preset(struct stat_options *o, char *arg, struct argp_state *state)
{
	auto_buffer names = {0};
	bool found = false;

	for (const struct command *c = o->known_presets; c->name && !found; c++) {
		found = c->metrics && strcmp(c->name, arg) == 0 && stat_add_preset(o, c);
		if (!found && c->metrics)
			buffer_printf(&names, "%s%s", names.len ? ", " : "", c->name);
	}
	if (found)
		return;
	if (!o->file || !strpbrk(arg, "./"))
		argp_error(state, "'%s' is not one of: %s; put -- before a command", arg,
			   names.data);
	else if (*o->file)
		argp_error(state, "'%s' is not a preset, and the file is '%s'", arg, *o->file);
	else
		*o->file = arg;
}

/* INTERVAL, COUNT, or the first word of the command; of a preset, where a word is rather mistyped,
 * only behind --. */
static void parse_argument(void *into, char *arg, struct argp_state *state)
{
	struct stat_options *o = into;
	/* "0000:17:00.0" begins with a number, too. */
	bool number = cli_number_length(arg) && !strchr(arg, ':');

	if (o->takes_word && !o->word && !state->quoted && *arg && !number) {
		o->word = arg;
	} else if (state->quoted || (*arg && !number && !o->request.preset && !o->known_presets)) {
		o->request.when.command = &state->argv[state->next - 1];
		state->next = state->argc;
	} else if (number) {
		stat_interval(o, arg, state);
	} else if (o->known_presets) {
		take_preset(o, arg, state);
	} else {
		take_word(o, arg, state);
	}
}

static bool has_metrics(const struct stat_options *o)
{
	for (size_t i = 0; i < o->request.query_count; i++)
		if (o->request.queries[i].metric)
			return true;
	return o->request.preset || o->request.preset_count || !o->request.query_count;
}

static void check(void *into, struct argp_state *state)
{
	struct stat_options *o = into;
	struct request *r = &o->request;
	struct schedule *when = &r->when;
	const struct output *output = o->print.output;

	if (o->own->check)
		o->own->check(into, state);
	if (!when->interval_ns)
		when->interval_ns = when->interval_count ? NS_PER_S : o->default_interval_ns;
	if (o->print.file && !strpbrk(o->print.file, "./") && output_find(o->print.file))
		exit(cli_failure(
			CLI_USAGE,
			"-o: '%s' would be the name of a file: for this format write --%s, "
			"for the file -o ./%s",
			o->print.file, o->print.file, o->print.file));
	if (!output && o->print.file && !o->dry_run)
		output = o->print.output = output_of_file(o->print.file);
	for (const struct cli_option *row = options; row->doc; row++)
		for (size_t i = 0; i < REQUEST_FILTERS; i++)
			if (row->name && row->at == AT(request.filters[i].value) &&
			    r->filters[i].value) {
				r->filters[i].name = row->name;
				r->filtered = true;
				r->restricted |= !uncore_filter_is_of_places(row->name);
			}
	if (state->quoted && !when->command)
		argp_error(state, "there is no command after --");
	if (when->command && !*when->command[0])
		argp_error(state, "the command is empty");
	if (o->print.summary && !when->interval_ns)
		argp_error(state, "--summary needs an interval: -I");
	if (r->exec && !r->condition)
		argp_error(state, "--exec needs a condition: --when");
	if (r->condition && !r->exec && !o->takes_condition)
		argp_error(state, "--when needs a command: --exec");
	if (r->above && !r->sample_ns)
		argp_error(state, "--above needs short samples: --sample");
	if (r->sample_ns && when->interval_ns % r->sample_ns)
		argp_error(state, "the interval is not a multiple of --sample");
	if (r->sample_ns && output && output->record && output->window)
		argp_error(state, "--csv=wide has no columns for --sample: use --csv");
	if (r->sample_ns && when->repeat > 1)
		argp_error(state, "-r and --sample exclude each other");
	if (when->delay_ns == DELAY_FOREVER && !when->control)
		argp_error(state, "-D -1 waits for a command: it needs --control");
	if (when->control && when->repeat > 1)
		argp_error(state, "-r and --control exclude each other");
	if (when->repeat > 1 && !when->command)
		argp_error(state, "-r needs a COMMAND to repeat");
	if (when->repeat > 1 && when->interval_ns)
		argp_error(state, "-r and intervals exclude each other");
	if (output && output->window && (o->print.summary || o->print.append || when->repeat > 1))
		argp_error(state,
			   "--%s is a table of intervals: --summary, --append and -r need --csv",
			   output->name);
	if (o->print.append && !o->print.file)
		argp_error(state, "--append needs a file: -o");
	if (r->restricted && !has_metrics(o))
		argp_error(state, "filters such as --from and --to apply to metrics, not events: "
				  "write terms into the events");
	if (o->dry_run && !o->known_presets && output && !output->document)
		argp_error(state, "--dry-run prints text or JSON only");
}

bool stat_add_preset(struct stat_options *o, const struct command *preset)
{
	/* Levels of a table that shows the whole machine are those of the recording. */
	const struct output *output = preset->level != UNCORE_LEVEL_MACHINE && preset->output
					      ? output_find(preset->output)
					      : NULL;
	struct request *r = &o->request;

	if (r->preset_count == REQUEST_PRESETS)
		return false;
	r->presets[r->preset_count++] =
		(struct request_preset){.command = preset,
					.has_levels = output != NULL,
					.levels = output ? output->levels : 0};
	return true;
}

/* ---- --dry-run: every planned counter ---- */

static void counter_row(struct table *t, const struct uncore_counter *c, bool rounds)
{
	size_t words = UNCORE_CONFIG_WORDS;
	auto_buffer config = {0};

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
}

static void counter_record(struct out *out, const struct uncore_counter *c)
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

static int dry_run(struct cli *cli, const struct stat_options *o, const struct uncore_monitor *m)
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
	struct out out = {.output = o->print.output,
			  .setup = {.source = uncore_source(cli->u),
				    .simulated = uncore_is_simulated(cli->u)},
			  .to = &w.text};
	int status;

	plan_print_notes(&o->request, m, 0);
	status = writer_open(&w, o->print.file, o->print.append);
	table_init(&out.table, columns);
	if (!status && !o->print.output->record && out.setup.simulated)
		buffer_printf(&w.text, "SIMULATED by %s: no counter of this machine.\n",
			      out.setup.source);
	for (size_t i = 0; !status && i < uncore_monitor_counter_count(m); i++) {
		if (o->print.output->record)
			counter_record(&out, uncore_monitor_counter_at(m, i));
		else
			counter_row(&out.table, uncore_monitor_counter_at(m, i), rounds);
	}
	table_print(&out.table, &w.text);
	out_free(&out);
	return writer_close(&w) ? w.status : status;
}

/* ---- counting ---- */

int stat_count(struct cli *cli, struct stat_options *o, struct sink *sink)
{
	struct alarm alarm;
	struct sink *sinks[] = {sink, o->request.exec ? &alarm.sink : NULL, NULL};
	struct uncore_monitor *m;
	int status = o->request.exec ? alarm_init(&alarm, cli, &o->request) : CLI_OK;

	if (!status)
		status = loop_plan(cli, &o->request, sinks, &m);
	if (status)
		return status;
	status = o->request.exec ? trigger_check(&alarm.trigger, cli, m) : CLI_OK;
	if (!status && o->trigger)
		status = trigger_check(o->trigger, cli, m);
	if (status) {
		uncore_monitor_free(m);
		return status;
	}
	if (!o->dry_run)
		return loop_run(cli, &o->request, sinks, m);
	status = dry_run(cli, o, m);
	uncore_monitor_free(m);
	return status;
}

/* The levels of the table that text would have: the rows are the same in all forms. */
static unsigned levels_of(const struct cli *cli, const struct stat_options *o)
{
	const struct output *table = o->print.table;
	bool other = o->request.query_count || o->request.sample_ns || cli->resctrl;

	return !other && table && table->levels >> o->request.level & 1 ? table->levels : 0;
}

int stat_run(struct cli *cli, struct stat_options *o)
{
	struct print p;

	/* Before the sink, which has a total of intervals. */
	if (cli->replay && cli->replay->show && !o->request.when.interval_ns)
		o->request.when.interval_ns = cli->replay->interval_ns;
	o->request.levels = levels_of(cli, o);
	o->request.extra = o->print.output->extra;
	o->print.about = machine_document;
	print_init(&p, cli, &o->request, &o->print);
	return print_close(&p, stat_count(cli, o, &p.sink));
}

/* ---- the command ---- */

static const char stat_doc[] =
	"Counts system-wide and prints metrics or events with their quality.\v"
	"INTERVAL, in seconds or with a unit, prints at each interval, COUNT times. Without "
	"COMMAND, INTERVAL and --timeout, counting ends with Ctrl-C. With COMMAND, its exit "
	"status is the result.";

static int check_sort(const struct stat_options *o)
{
	auto_buffer keys = {0};
	bool found = !o->print.sort;

	for (size_t i = 0; o->print.output->sorts && o->print.output->sorts[i]; i++) {
		buffer_printf(&keys, "%s%s", i ? ", " : "", o->print.output->sorts[i]);
		found = found || strcmp(o->print.sort, o->print.output->sorts[i]) == 0;
	}
	if (!found && keys.len)
		cli_error("--sort: '%s' is not one of: %s", o->print.sort, keys.data);
	else if (!found)
		cli_error("--sort applies to the tables of mem and pcie");
	return found ? CLI_OK : CLI_USAGE;
}

/* Whether `more` has an option of the same name. */
static bool is_replaced(const struct cli_option *option, const struct cli_option *more)
{
	for (; option->name && more && more->doc; more++)
		if (more->name && strcmp(more->name, option->name) == 0)
			return true;
	return false;
}

/* Whether the option is in the list of what does not suit the preset. */
static bool is_unsuited(const struct cli_option *option, const struct command *preset)
{
	char word[32];
	int n;

	for (const char *at = preset ? preset->without : NULL;
	     option->name && at && sscanf(at, "%31s%n", word, &n) == 1; at += n)
		if (strcmp(word, option->name) == 0)
			return true;
	return false;
}

/* A recorder has others in their place, or none. */
static bool is_of_tables(const struct cli_option *option)
{
	static const char *const names[] = {"repeat", "sort",   "field-separator", "summary",
					    "output", "append", "timestamp",       NULL};

	return option->name && names[cli_word(names, option->name)];
}

/* Makes the help of --sort for the table of a preset. False: it has no order. */
static bool describe_sort(struct stat_options *o)
{
	const struct command *preset = o->request.preset;
	const struct output *output = preset && preset->output ? output_find(preset->output) : NULL;
	int length = snprintf(o->sort_doc, sizeof(o->sort_doc), "Order of the rows:");

	for (size_t i = 0; output && output->sorts && output->sorts[i]; i++)
		length += snprintf(o->sort_doc + length, sizeof(o->sort_doc) - (size_t)length,
				   "%s %s", i ? "," : "", output->sorts[i]);
	return output && output->sorts;
}

/* The preset's views or `more`, then the options of stat. */
static void gather_options(struct stat_options *o, const struct cli_option *more,
			   struct cli_option *into)
{
	const struct cli_option *own = more;
	int views = KEY_VIEW;

	for (const struct command *v = o->request.preset ? o->request.preset->view : NULL; v;
	     v = v->view)
		*into++ = (struct cli_option){v->name, v->device, v->doc, views++, 1, 0, 0};
	for (; more && more->doc; more++)
		*into++ = *more;
	for (const struct cli_option *row = options; row->doc; row++) {
		if ((o->known_presets && (row == options || is_of_tables(row))) ||
		    is_replaced(row, own))
			continue;
		*into = *row;
		if (is_unsuited(row, o->request.preset))
			into->doc = "";
		else if (row->name && strcmp(row->name, "sort") == 0 && describe_sort(o))
			into->doc = o->sort_doc;
		if (o->request.preset && row == options)
			into->doc = "What to count (default: the metrics above, to which -M and "
				    "-e add):";
		into++;
	}
	*into = (struct cli_option){0};
}

void stat_parse(struct cli *cli, struct stat_options *o, const struct cli_syntax *own, int argc,
		char **argv)
{
	struct cli_option all[sizeof(options) / sizeof(*options) + STAT_MORE];
	const struct cli_syntax syntax = {.doc = own->doc,
					  .args = own->args,
					  .options = all,
					  .outputs =
						  o->known_presets ? OUTPUTS_NONE : OUTPUTS_RECORDS,
					  .outputs_group = 4,
					  .outputs_at = AT(print.output),
					  .other = parse_other,
					  .argument = parse_argument,
					  .check = check};

	o->own = own;
	o->cli = cli;
	gather_options(o, own->options, all);
	cli_parse(cli, &syntax, o, argc, argv);
}

int stat_complete(struct cli *cli, struct stat_options *o)
{
	const struct command *preset = o->request.preset;
	struct schedule *when = &o->request.when;
	/* Each group, on each cache. */
	bool groups = preset && !o->request.query_count && cli->resctrl;

	o->print.table = preset && preset->output ? output_find(preset->output) : NULL;
	if (!o->print.output)
		o->print.output = groups ? output_find("groups")
				  : o->print.table && !o->request.query_count ? o->print.table
									      : output_find("text");
	o->request.device_level =
		o->print.table ? o->print.table->device_level : UNCORE_LEVEL_MACHINE;
	if (o->request.sample_ns && !o->print.output->record && !o->print.output->begin)
		o->print.output = output_find("samples");
	if (groups && o->request.level == UNCORE_LEVEL_MACHINE)
		o->request.level = UNCORE_LEVEL_INSTANCE;
	if (preset && o->request.level == UNCORE_LEVEL_MACHINE)
		o->request.level = preset->level;
	if (o->print.output->levels && !(o->print.output->levels >> o->request.level & 1))
		o->print.output = output_find("text");
	if (preset && !when->interval_ns && !when->command && !when->timeout_ns &&
	    !cli_replays(cli))
		when->timeout_ns = NS_PER_S;
	return check_sort(o);
}

int cmd_stat(struct cli *cli, int argc, char **argv)
{
	const struct command *preset = cli->command->metrics ? cli->command : NULL;
	const struct uncore_device *device;
	struct stat_options o = {.print.separator = ",", .request.preset = preset};
	int status, err;
	char doc[500];

	if (preset) {
		snprintf(doc, sizeof(doc),
			 "%s: the metrics %s.\v"
			 "Takes the options of stat. Counts once for one second unless INTERVAL, "
			 "COMMAND or --timeout say otherwise.",
			 preset->doc, preset->which);
	}
	stat_parse(cli, &o,
		   &(struct cli_syntax){
			   .doc = preset ? doc : stat_doc,
			   .args = preset && preset->level == UNCORE_LEVEL_PORT
					   ? "[DEVICE ...] [INTERVAL [COUNT]] [-- COMMAND ...]"
					   : "[INTERVAL [COUNT]] [-- COMMAND ...]"},
		   argc, argv);
	status = stat_complete(cli, &o);
	if (!status)
		status = cli_open(cli);
	if (!status && o.device) {
		err = uncore_device_find(cli->u, o.device, &device);
		status = err ? cli_fail(cli, err) : CLI_OK;
		o.print.port = status ? NULL : device->port;
		if (!status && !o.print.port)
			status = cli_failure(CLI_UNAVAILABLE, "%s is below no root port",
					     device->address);
	}
	if (!status)
		status = stat_run(cli, &o);
	free(o.request.queries);
	buffer_free(&o.devices);
	return status;
}
