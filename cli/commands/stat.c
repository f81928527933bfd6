/* SPDX-License-Identifier: MIT */
/* `uncore stat` and the presets: options, which are perf's where perf has them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/stat-run.h"
#include "commands/stat.h"

/* Keys of options without a letter. A level of rows is KEY_LEVEL plus its number, a view KEY_VIEW plus its place in the chain
 * of views. */
enum { KEY_LEVEL = 0x100, KEY_SAMPLE = 0x180, KEY_ABOVE, KEY_VIEW };

#define AT(member) offsetof(struct stat_options, member)

static const struct cli_option options[] = {
	{NULL, NULL, "What to count (default: the headline metrics; all: -M '*'):", 0, 1, 0, 0},
	{"event", "LIST", "Events in perf's syntax: pmu/term=value/,{a,b}", 'e', 1, OPTION_LIST, 0},
	{"metrics", "LIST", "Metric names or patterns, separated by commas", 'M', 1, OPTION_LIST,
	 0},
	{"all-cpus", NULL, "Accepted as in perf: counting is always system-wide", 'a', 1, 0, 0},
	{NULL, NULL, "Filters (of metrics; a LIST selects any of its values):", 0, 2, 0, 0},
	{"from", "LIST", "Only this source of requests: cpu, device, remote ...", 0, 2, OPTION_TEXT,
	 AT(filters[0].value)},
	{"to", "LIST", "Only this target: memory, gpu, cxl, remote ...", 0, 2, OPTION_TEXT,
	 AT(filters[1].value)},
	{"gpu", "LIST", "Only these GPUs, by number", 0, 2, OPTION_TEXT, AT(filters[2].value)},
	{"link", "LIST", "Only these ports of a link: port0, port1 ...", 0, 2, OPTION_TEXT,
	 AT(filters[3].value)},
	{"port", "LIST", "Only these PCIe root ports: addresses, or SOCKET:RC:INDEX", 0, 2,
	 OPTION_TEXT, AT(filters[4].value)},
	{"device", "NAME", "Only this PCI device, or the smallest unit that contains it", 0, 2,
	 OPTION_TEXT, AT(filters[5].value)},
	{"address", "LIST", "Only these ranges of memory: BASE/SIZE", 0, 2, OPTION_TEXT,
	 AT(filters[6].value)},
	{NULL, NULL, "Time:", 0, 3, 0, 0},
	{"interval-print", "TIME", "Print every TIME: 100 (milliseconds), 100ms, 1s; at least 1ms",
	 'I', 3, OPTION_INTERVAL, AT(interval_ns)},
	{"interval-count", "N", "End after N intervals", 0, 3, OPTION_COUNT, AT(interval_count)},
	{"sample", "TIME",
	 "Read every TIME, at least 100us, and print the distribution of these short samples",
	 KEY_SAMPLE, 3, 0, 0},
	{"above", "PERCENT",
	 "With --sample: print how long values were at or above PERCENT of the ceiling (80)",
	 KEY_ABOVE, 3, 0, 0},
	{"timeout", "TIME", "End after TIME (milliseconds, or with a unit)", 0, 3, OPTION_TIME,
	 AT(timeout_ns)},
	{"delay", "TIME",
	 "Begin after TIME (milliseconds, or with a unit); -1: at the command enable of --control",
	 'D', 3, 0, 0},
	{"control", "CHANNEL",
	 "Take commands (enable, disable, ping, stop) from fifo:CTL[,ACK] or fd:N[,N]", 0, 3,
	 OPTION_TEXT, AT(control)},
	{"cpu", "N", "Run the counting loop on CPU N, not the command", 0, 3, OPTION_TEXT, AT(cpu)},
	{"repeat", "N", "Run COMMAND N times; print mean and spread", 'r', 3, OPTION_COUNT,
	 AT(repeat)},
	{NULL, NULL, "Output:", 0, 4, 0, 0},
	{"per-socket", NULL, "One row for each socket", KEY_LEVEL + UNCORE_LEVEL_SOCKET, 4, 0, 0},
	{"per-node", NULL, "One row for each NUMA node, if the node of its counters is known",
	 KEY_LEVEL + UNCORE_LEVEL_NODE, 4, 0, 0},
	{"per-channel", NULL, "One row for each memory channel; for other metrics, for each socket",
	 KEY_LEVEL + UNCORE_LEVEL_CHANNEL, 4, 0, 0},
	{"per-port", NULL,
	 "One row for each PCIe root port that a PMU can distinguish, else as --no-merge",
	 KEY_LEVEL + UNCORE_LEVEL_PORT, 4, 0, 0},
	{"no-merge", NULL, "One row for each PMU and CPU", KEY_LEVEL + UNCORE_LEVEL_INSTANCE, 4, 0,
	 0},
	{"no-aggr", NULL, "The same as --no-merge", 'A', 4, 0, 0},
	{"sort", "KEY", "Order of the rows of pcie: traffic, in, out, share, latency, place", 0, 4,
	 OPTION_TEXT, AT(sort)},
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
		argp_error(state,
			   "--per-socket, --per-node, --per-channel, --per-port and --no-merge "
			   "exclude each other");
	o->level = level;
}

static void parse_other(void *into, int key, char *arg, struct argp_state *state)
{
	struct stat_options *o = into;

	switch (key) {
	case 'e':
	case 'M':
		o->queries = cli_realloc(o->queries, o->query_count + 1, sizeof(*o->queries));
		o->queries[o->query_count++] = (struct stat_query){arg, key == 'M'};
		break;
	case 'D':
		o->delay_ns = strcmp(arg, "0") == 0    ? 0
			      : strcmp(arg, "-1") == 0 ? DELAY_FOREVER
						       : cli_time(state, "-D", arg, NS_PER_MS, 0);
		break;
	case KEY_SAMPLE:
		o->sample_ns = cli_time(state, "--sample", arg, NS_PER_MS, NS_PER_MS / 10);
		break;
	case KEY_ABOVE:
		o->above = cli_count(state, "--above", arg);
		if (o->above > 100)
			argp_error(state, "--above: '%s' is not a number from 1 to 100", arg);
		break;
	case 'A':
		set_level(state, o, UNCORE_LEVEL_INSTANCE);
		break;
	case 'x':
		cli_set_output(state, &o->output, "csv");
		o->separator = separator(state, arg);
		break;
	default: /* -a changes nothing */
		if (key >= KEY_LEVEL && key < KEY_VIEW)
			set_level(state, o, (enum uncore_level)(key - KEY_LEVEL));
		if (key < KEY_VIEW)
			break;
		if (o->viewed)
			argp_error(state,
				   "only one view is possible: options such as --%s exclude each "
				   "other",
				   o->preset->name);
		for (; key >= KEY_VIEW; key--)
			o->preset = o->preset->view;
		o->viewed = true;
		o->device = arg;
	}
}

void stat_interval(struct stat_options *o, char *arg, struct argp_state *state)
{
	if (!cli_number_length(arg))
		argp_error(state, "'%s' is not an interval%s", arg,
			   o->preset ? "; put -- before a command" : "");
	else if (!o->interval_ns) {
		o->interval_ns = cli_time(state, "INTERVAL", arg, NS_PER_S, NS_PER_MS);
		o->positional_interval = true;
	} else if (o->positional_interval && !o->interval_count) {
		o->interval_count = cli_count(state, "COUNT", arg);
	} else {
		argp_error(state, "'%s' is one argument too many; put -- before a command", arg);
	}
}

/* INTERVAL, COUNT, or the first word of the command; of a preset, where a word is rather mistyped, only behind --. */
static void parse_argument(void *into, char *arg, struct argp_state *state)
{
	struct stat_options *o = into;
	struct buffer names = {0};
	bool found = false;

	if (state->quoted || (*arg && !cli_number_length(arg) && !o->preset && !o->recorder)) {
		o->command = &state->argv[state->next - 1];
		state->next = state->argc;
		return;
	}
	if (!o->recorder || cli_number_length(arg)) {
		stat_interval(o, arg, state);
		return;
	}
	/* A preset whose metrics are recorded. */
	for (const struct command *c = o->known_presets; c->name && !found; c++) {
		found = c->metrics && strcmp(c->name, arg) == 0 && o->preset_count < STAT_PRESETS;
		if (found)
			o->presets[o->preset_count++] = c;
		else if (c->metrics)
			buffer_printf(&names, "%s%s", names.len ? ", " : "", c->name);
	}
	if (!found)
		argp_error(state, "'%s' is not one of: %s; put -- before a command", arg,
			   names.data);
	buffer_free(&names);
}

static bool has_metrics(const struct stat_options *o)
{
	for (size_t i = 0; i < o->query_count; i++)
		if (o->queries[i].metric)
			return true;
	return o->preset || o->preset_count || !o->query_count;
}

static void check(void *into, struct argp_state *state)
{
	struct stat_options *o = into;

	if (!o->interval_ns)
		o->interval_ns = o->default_interval_ns;
	for (const struct cli_option *row = options; row->doc; row++)
		for (size_t i = 0; i < STAT_FILTERS; i++)
			if (row->name && row->at == AT(filters[i].value) && o->filters[i].value) {
				o->filters[i].name = row->name;
				o->filtered = true;
			}
	if (state->quoted && !o->command)
		argp_error(state, "there is no command after --");
	if (o->command && !*o->command[0])
		argp_error(state, "the command is empty");
	if (o->interval_count && !o->interval_ns)
		argp_error(state, "--interval-count needs an interval: -I");
	if (o->summary && !o->interval_ns)
		argp_error(state, "--summary needs an interval: -I");
	if (o->above && !o->sample_ns)
		argp_error(state, "--above needs short samples: --sample");
	if (o->sample_ns && o->interval_ns % o->sample_ns)
		argp_error(state, "the interval is not a multiple of --sample");
	if (o->sample_ns && o->output && o->output->record && o->output->window)
		argp_error(state, "--csv=wide has no columns for --sample: use --csv");
	if (o->sample_ns && o->repeat > 1)
		argp_error(state, "-r and --sample exclude each other");
	if (o->delay_ns == DELAY_FOREVER && !o->control)
		argp_error(state, "-D -1 waits for a command: it needs --control");
	if (o->control && o->repeat > 1)
		argp_error(state, "-r and --control exclude each other");
	if (o->repeat > 1 && !o->command)
		argp_error(state, "-r needs a COMMAND to repeat");
	if (o->repeat > 1 && o->interval_ns)
		argp_error(state, "-r and intervals exclude each other");
	if (o->output && o->output->window && (o->summary || o->append || o->repeat > 1))
		argp_error(state,
			   "--%s is a table of intervals: --summary, --append and -r need --csv",
			   o->output->name);
	if ((o->append || (o->recorder && o->recorder->to_file)) && !o->file)
		argp_error(state, "%s needs a file: -o", o->recorder ? "a recording" : "--append");
	if (o->filtered && !has_metrics(o))
		argp_error(state, "filters such as --from and --to apply to metrics, not events: "
				  "write terms into the events");
	if (o->dry_run && !o->recorder && o->output && !o->output->document)
		argp_error(state, "--dry-run prints text or JSON only");
}

/* ---- the command ---- */

static const char stat_doc[] =
	"Counts system-wide and prints metrics or events with their quality.\v"
	"INTERVAL, in seconds or with a unit, prints at each interval, COUNT times. Without "
	"COMMAND, INTERVAL and --timeout, counting ends with Ctrl-C. With COMMAND, its exit "
	"status is the result.";

static int check_sort(const struct stat_options *o)
{
	struct buffer keys = {0};
	bool found = !o->sort;

	for (size_t i = 0; o->output->sorts && o->output->sorts[i]; i++) {
		buffer_printf(&keys, "%s%s", i ? ", " : "", o->output->sorts[i]);
		found = found || strcmp(o->sort, o->output->sorts[i]) == 0;
	}
	if (!found && keys.len)
		cli_error("--sort: '%s' is not one of: %s", o->sort, keys.data);
	else if (!found)
		cli_error("--sort applies to the table of pcie");
	buffer_free(&keys);
	return found ? CLI_OK : CLI_USAGE;
}

/* A recorder has others in their place, or none. */
static bool is_of_tables(const struct cli_option *option)
{
	static const char *const names[] = {
		"repeat", "sort", "field-separator", "summary", "output", "append", NULL};

	return option->name && names[cli_word(names, option->name)];
}

/* The preset's views or `more`, then the options of stat. */
static void gather_options(const struct stat_options *o, const struct cli_option *more,
			   struct cli_option *into)
{
	int views = KEY_VIEW;

	for (const struct command *v = o->preset ? o->preset->view : NULL; v; v = v->view)
		*into++ = (struct cli_option){v->name, v->device, v->doc, views++, 1, 0, 0};
	for (; more && more->doc; more++)
		*into++ = *more;
	for (const struct cli_option *row = options; row->doc; row++) {
		if (o->recorder && (row == options || is_of_tables(row)))
			continue;
		*into = *row;
		if (o->preset && row == options)
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
					  .outputs = o->recorder ? OUTPUTS_NONE : OUTPUTS_RECORDS,
					  .outputs_group = 4,
					  .outputs_at = AT(output),
					  .flags = ARGP_IN_ORDER,
					  .other = parse_other,
					  .argument = parse_argument,
					  .check = check};

	gather_options(o, own->options, all);
	cli_parse(cli, &syntax, o, argc, argv);
}

int cmd_stat(struct cli *cli, int argc, char **argv)
{
	const struct command *preset = cli->command->metrics ? cli->command : NULL;
	const struct uncore_device *device;
	struct stat_options o = {.repeat = 1, .separator = ",", .preset = preset};
	bool groups;
	int status, err;
	char doc[500];

	if (preset) {
		bool choice = strstr(preset->metrics, ",else,");
		int length = choice ? (int)strcspn(preset->metrics, ".") : (int)sizeof(doc);

		snprintf(doc, sizeof(doc),
			 "%s: the metrics %.*s%s.\v"
			 "Takes the options of stat. Counts once for one second unless INTERVAL, "
			 "COMMAND or --timeout say otherwise.",
			 preset->doc, length, preset->metrics,
			 choice ? ".* that fit together" : "");
	}
	stat_parse(cli, &o,
		   &(struct cli_syntax){.doc = preset ? doc : stat_doc,
					.args = "[INTERVAL [COUNT]] [-- COMMAND ...]"},
		   argc, argv);
	preset = o.preset;
	/* Each group, on each cache. */
	groups = preset && !o.query_count && cli->resctrl;
	if (!o.output)
		o.output = output_find(groups                                       ? "groups"
				       : preset && preset->output && !o.query_count ? preset->output
										    : "text");
	if (o.sample_ns && !o.output->record && !o.output->begin)
		o.output = output_find("samples");
	if (groups && o.level == UNCORE_LEVEL_MACHINE)
		o.level = UNCORE_LEVEL_INSTANCE;
	if (preset && o.level == UNCORE_LEVEL_MACHINE)
		o.level = preset->level;
	if (o.output->levels && !(o.output->levels >> o.level & 1))
		o.output = output_find("text");
	if (preset && !o.interval_ns && !o.command && !o.timeout_ns && !cli_replays(cli))
		o.timeout_ns = NS_PER_S;
	status = check_sort(&o);
	if (!status)
		status = cli_open(cli);
	if (!status && o.device) {
		err = uncore_device_find(cli->u, o.device, &device);
		status = err ? cli_fail(cli, err) : CLI_OK;
		o.port = status ? NULL : device->port;
		if (!status && !o.port) {
			cli_error("%s is below no root port", device->address);
			status = CLI_UNAVAILABLE;
		}
	}
	if (!status)
		status = stat_run(cli, &o);
	free(o.queries);
	return status;
}
