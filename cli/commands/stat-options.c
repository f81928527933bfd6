/* SPDX-License-Identifier: MIT */
/* The options of `stat` and of the presets: perf's where perf has them. */
#include "commands/stat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"

enum {
	KEY_INTERVAL_COUNT = 0x100,
	KEY_CSV,
	KEY_APPEND,
	KEY_TIMEOUT,
	KEY_PER_SOCKET,
	KEY_NO_MERGE,
	KEY_SUMMARY,
	KEY_DRY_RUN,
	KEY_PER_PORT,
	KEY_FILTER, /* and as many more as there are filters */
};

const char *const stat_filters[STAT_FILTERS] = {"from", "to",     "gpu",    "link",
						"port", "device", "address"};

static const struct argp_option options[] = {
	{NULL, 0, NULL, 0, "What to count (default: every metric this machine has):", 1},
	{"event", 'e', "LIST", 0, "Events in perf's syntax: pmu/term=value/,{a,b}", 1},
	{"metrics", 'M', "LIST", 0, "Metric names or patterns, separated by commas", 1},
	{"all-cpus", 'a', NULL, 0, "Accepted as in perf: counting is always system-wide", 1},
	{NULL, 0, NULL, 0, "Of metrics, only what is (lists: any of them):", 2},
	{"from", KEY_FILTER, "LIST", 0, "Asked for by: cpu, device, remote ...", 2},
	{"to", KEY_FILTER + 1, "LIST", 0, "Asked of: memory, gpu, cxl, remote ...", 2},
	{"gpu", KEY_FILTER + 2, "LIST", 0, "Of these GPUs, by number", 2},
	{"link", KEY_FILTER + 3, "LIST", 0, "Over these ports of a link: port0, port1 ...", 2},
	{"port", KEY_FILTER + 4, "LIST", 0,
	 "At these PCIe root ports: addresses, or SOCKET:RC:INDEX", 2},
	{"device", KEY_FILTER + 5, "NAME", 0,
	 "Of this PCI device, or of the least that it is counted with", 2},
	{"address", KEY_FILTER + 6, "LIST", 0, "In these ranges of memory: BASE/SIZE", 2},
	{NULL, 0, NULL, 0, "When:", 3},
	{"interval-print", 'I', "TIME", 0,
	 "Print every TIME: 100 (milliseconds), 100ms, 1s; at least 1ms", 3},
	{"interval-count", KEY_INTERVAL_COUNT, "N", 0, "End after N intervals", 3},
	{"timeout", KEY_TIMEOUT, "TIME", 0, "End after TIME (milliseconds, or with a unit)", 3},
	{"delay", 'D', "TIME", 0, "Begin after TIME (milliseconds, or with a unit)", 3},
	{"repeat", 'r', "N", 0, "Run COMMAND N times; print mean and spread", 3},
	{NULL, 0, NULL, 0, "How:", 4},
	{"per-socket", KEY_PER_SOCKET, NULL, 0, "One row for each socket", 4},
	{"per-port", KEY_PER_PORT, NULL, 0,
	 "One row for each PCIe root port where they can be told apart, else as --no-merge", 4},
	{"no-merge", KEY_NO_MERGE, NULL, 0, "One row for each PMU and CPU", 4},
	{"no-aggr", 'A', NULL, 0, "The same as --no-merge", 4},
	{"csv", KEY_CSV, NULL, 0, "CSV with a header line", 4},
	{"field-separator", 'x', "SEP", 0, "CSV with SEP between the fields", 4},
	{"json", 'j', NULL, 0, "JSON lines: an object for each row", 4},
	{"output", 'o', "FILE", 0, "Write to FILE instead of standard output", 4},
	{"append", KEY_APPEND, NULL, 0, "Do not empty FILE first", 4},
	{"summary", KEY_SUMMARY, NULL, 0, "After intervals, print the totals", 4},
	{"verbose", 'v', NULL, 0, "Notes on groups, limits and late intervals", 4},
	{"dry-run", KEY_DRY_RUN, NULL, 0, "Print every counter that would be opened", 4},
	{0},
};

struct parser {
	struct stat_options *o;
	struct cli *cli;
	bool positional_interval;
};

static void add_what(struct stat_options *o, const char *text, bool metric)
{
	o->what = cli_realloc(o->what, o->what_count + 1, sizeof(*o->what));
	o->what[o->what_count++] = (struct stat_what){.text = text, .metric = metric};
}

static uint64_t duration(struct argp_state *state, const char *what, const char *text,
			 uint64_t plain_ns)
{
	uint64_t ns = 0;
	const char *wrong = parse_duration(text, plain_ns, &ns);

	if (wrong)
		argp_error(state, "%s: '%s' %s", what, text, wrong);
	return ns;
}

static uint64_t interval(struct argp_state *state, const char *what, const char *text,
			 uint64_t plain_ns)
{
	uint64_t ns = duration(state, what, text, plain_ns);

	if (ns < NS_PER_MS)
		argp_error(state, "%s: '%s' is shorter than 1 ms", what, text);
	return ns;
}

static uint64_t count(struct argp_state *state, const char *what, const char *text)
{
	uint64_t n = 0;
	const char *wrong = parse_count(text, &n);

	if (wrong)
		argp_error(state, "%s: '%s' %s", what, text, wrong);
	return n;
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

void stat_set_output(struct argp_state *state, struct stat_options *o, const struct out_ops *ops)
{
	if (o->output && o->output != ops)
		argp_error(state, "CSV and JSON exclude each other");
	o->output = ops;
}

static void set_level(struct argp_state *state, struct stat_options *o, enum uncore_level level)
{
	if (o->level != UNCORE_LEVEL_MACHINE && o->level != level)
		argp_error(state, "--per-socket, --per-port and --no-merge exclude each other");
	o->level = level;
}

static error_t parse_when(struct stat_options *o, int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case 'I':
		o->interval_ns = interval(state, "-I", arg, NS_PER_MS);
		return 0;
	case KEY_INTERVAL_COUNT:
		o->interval_count = count(state, "--interval-count", arg);
		return 0;
	case KEY_TIMEOUT:
		o->timeout_ns = duration(state, "--timeout", arg, NS_PER_MS);
		return 0;
	case 'D':
		o->delay_ns = strcmp(arg, "0") == 0 ? 0 : duration(state, "-D", arg, NS_PER_MS);
		return 0;
	case 'r':
		o->repeat = (unsigned)count(state, "-r", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_how(struct stat_options *o, int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case KEY_PER_SOCKET:
		set_level(state, o, UNCORE_LEVEL_SOCKET);
		return 0;
	case KEY_PER_PORT:
		set_level(state, o, UNCORE_LEVEL_PORT);
		return 0;
	case KEY_NO_MERGE:
	case 'A':
		set_level(state, o, UNCORE_LEVEL_INSTANCE);
		return 0;
	case KEY_CSV:
		stat_set_output(state, o, &out_csv);
		return 0;
	case 'x':
		stat_set_output(state, o, &out_csv);
		o->separator = separator(state, arg);
		return 0;
	case 'j':
		stat_set_output(state, o, &out_json);
		return 0;
	case 'o':
		o->file = cli_once(state, "-o", o->file, arg);
		return 0;
	case KEY_APPEND:
		o->append = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_filter(struct stat_options *o, int key, char *arg, struct argp_state *state)
{
	int i = key - KEY_FILTER;

	if (i < 0 || i >= STAT_FILTERS)
		return ARGP_ERR_UNKNOWN;
	if (o->filters[i])
		argp_error(state, "--%s is given twice", stat_filters[i]);
	o->filters[i] = arg;
	o->filtered = true;
	return 0;
}

static error_t parse_rest(struct stat_options *o, int key, char *arg)
{
	switch (key) {
	case 'e':
		add_what(o, arg, false);
		return 0;
	case 'M':
		add_what(o, arg, true);
		return 0;
	case 'a':
		return 0;
	case KEY_SUMMARY:
		o->summary = true;
		return 0;
	case 'v':
		o->verbose = true;
		return 0;
	case KEY_DRY_RUN:
		o->dry_run = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* INTERVAL, COUNT, or the first word of the command. */
static void take_argument(struct parser *p, char *arg, struct argp_state *state)
{
	struct stat_options *o = p->o;

	if (state->quoted || (*arg && !parse_looks_numeric(arg))) {
		o->command = &state->argv[state->next - 1];
		state->next = state->argc;
	} else if (!o->interval_ns) {
		o->interval_ns = interval(state, "INTERVAL", arg, NS_PER_S);
		p->positional_interval = true;
	} else if (p->positional_interval && !o->interval_count) {
		o->interval_count = count(state, "COUNT", arg);
	} else {
		argp_error(state, "'%s' is one argument too many; put -- before a command", arg);
	}
}

static bool has_metrics(const struct stat_options *o)
{
	for (size_t i = 0; i < o->what_count; i++)
		if (o->what[i].metric)
			return true;
	return false;
}

/* What does not go together. */
static void check(struct parser *p, struct argp_state *state)
{
	struct stat_options *o = p->o;

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
	if (o->filtered && !o->preset && o->what_count && !has_metrics(o))
		argp_error(state, "--from, --to and their like restrict metrics, not events: write "
				  "terms into the events");
	if (o->dry_run && o->output == &out_csv)
		argp_error(state, "--dry-run prints text or JSON, not CSV");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct parser *p = state->input;
	error_t err;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = p->cli;
		return 0;
	case ARGP_KEY_ARG:
		take_argument(p, arg, state);
		return 0;
	case ARGP_KEY_END:
		check(p, state);
		return 0;
	default:
		break;
	}
	err = parse_when(p->o, key, arg, state);
	if (err == ARGP_ERR_UNKNOWN)
		err = parse_how(p->o, key, arg, state);
	if (err == ARGP_ERR_UNKNOWN)
		err = parse_filter(p->o, key, arg, state);
	return err == ARGP_ERR_UNKNOWN ? parse_rest(p->o, key, arg) : err;
}

static const char stat_doc[] =
	"Counts system-wide and prints metrics or events with their quality.\v"
	"INTERVAL in seconds (or with a unit) prints again and again, COUNT times. Without COMMAND, "
	"INTERVAL and --timeout, counting ends with Ctrl-C. With COMMAND, its exit status is the "
	"result.";

void stat_options_parse(struct stat_options *o, struct cli *cli, const struct preset *preset,
			int argc, char **argv)
{
	static const struct argp_child children[] = {{&cli_globals, 0, "Everywhere:", 90}, {0}};
	struct parser p = {.o = o, .cli = cli};
	char doc[400];
	struct argp argp = {.options = options,
			    .parser = parse_option,
			    .args_doc = "[INTERVAL [COUNT]] [-- COMMAND ...]",
			    .doc = stat_doc,
			    .children = children};

	*o = (struct stat_options){.repeat = 1, .separator = ","};
	if (preset) {
		snprintf(doc, sizeof(doc),
			 "%s: the metrics %s.\v"
			 "Takes the options of stat. Counts once for one second unless INTERVAL, "
			 "COMMAND or --timeout say otherwise.",
			 preset->title, preset->metrics);
		argp.doc = doc;
		o->preset = preset;
	}
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER | ARGP_NO_HELP, NULL, &p);
	if (!o->output)
		o->output = preset && preset->text && !o->what_count ? preset->text : &out_text;
	if (preset && o->level == UNCORE_LEVEL_MACHINE)
		o->level = preset->level;
	if (preset && !o->interval_ns && !o->command && !o->timeout_ns)
		o->timeout_ns = NS_PER_S;
}

void stat_options_free(struct stat_options *o)
{
	free(o->what);
	o->what = NULL;
}
