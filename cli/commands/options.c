/* SPDX-License-Identifier: MIT */
/* The options of every command as one argp: its own, those of outputs, the global ones. */
#include "commands/options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/writer.h"
#include "commands/guess.h"
#include "output/output.h"

#define KEY_FIRST 0x1000 /* of options without a key: this and their index */
#define YEAR_NS (366ULL * 86400 * NS_PER_S)
/* A number without a unit below this is rather one of seconds than of milliseconds; */
#define SMALL_MS 100
/* of intervals, for which perf itself refused this, one below that. */
#define LEAST_INTERVAL 10

enum {
	KEY_DATA = 0x800,
	/* beside keys of commands */ KEY_MEMORY_PEAK,
	KEY_COLOR,
	KEY_UNITS,
	KEY_NO_PAGER,
	KEY_USAGE
};

static const struct cli_option globals[] = {
	{NULL, NULL, "Global options:", 0, 90, 0, 0},
	{"root", "PATH", "Read /sys and /proc below PATH, a directory or a snapshot", 0, 90,
	 OPTION_TEXT, offsetof(struct cli, root)},
	{"source", "SPEC",
	 "Source of the counts: kernel, resctrl, sim:NAME, regs:NAME, sim: and regs: with "
	 "FILE.yaml, or replay:FILE, a recording",
	 0, 90, OPTION_TEXT, offsetof(struct cli, source)},
	{"resctrl", NULL, "The same as --source resctrl: traffic of each resctrl group", 0, 90,
	 OPTION_FLAG, offsetof(struct cli, resctrl)},
	{"program", NULL,
	 "Let the source regs write control registers; they are restored at the "
	 "end",
	 0, 90, OPTION_FLAG, offsetof(struct cli, program)},
	{"data", "DIR", "Add a directory of data files (repeatable)", KEY_DATA, 90, OPTION_LIST, 0},
	{"perfmon", "DIR",
	 "Read the vendor's events from a copy of Intel's perfmon or Linux's pmu-events", 0, 90,
	 OPTION_TEXT, offsetof(struct cli, perfmon)},
	{"memory-peak", "RATE", "Peak memory bandwidth of one socket, such as 307.2GB/s",
	 KEY_MEMORY_PEAK, 90, 0, 0},
	{"color", "WHEN", "Colour values by quality and load: auto, always or never", KEY_COLOR, 90,
	 0, 0},
	{"units", "UNITS", "Prefixes of values in text: si (GB/s), iec (GiB/s) or raw (B/s)",
	 KEY_UNITS, 90, 0, 0},
	{"no-pager", NULL, "Do not use a pager for long texts", KEY_NO_PAGER, 90, 0, 0},
	{"help", NULL, "Print this help and exit", 'h', -1, 0, 0},
	{"usage", NULL, "Print a short usage and exit", KEY_USAGE, -1, 0, 0},
	{"version", NULL, "Print the version and exit", 'V', -1, 0, 0},
	{0},
};

bool cli_is_global(const char *word)
{
	const size_t len = strcspn(word, "=");
	bool found = false;

	for (const struct cli_option *o = globals; o->doc && !found; o++)
		found = o->name && (word[1] == '-' ? strncmp(word + 2, o->name, len - 2) == 0
						   : word[1] == o->key);
	return found;
}

struct parser {
	struct cli *cli;
	const struct cli_syntax *syntax;
	void *into;
	struct cli_option *options; /* the command's, outputs, then global ones */
	const char **values;        /* that were given, for each option; NULL: not yet */
	size_t count, first_global;
};

uint64_t cli_time(struct argp_state *state, const char *what, const char *text, uint64_t plain_ns,
		  uint64_t least_ns)
{
	const char *wrong = NULL;
	uint64_t ns = 0;
	int err = uncore_duration_parse(text, plain_ns, &ns);

	if (err == -EDOM && !text[cli_number_length(text)])
		exit(cli_failure(CLI_USAGE, "%s: '%s' has no unit: write %s %ss or %s %sms", what,
				 text, what, text, what, text));
	if (err == -EINVAL)
		wrong = "is not a duration; write 100ms, 1s or 0.5s";
	else if (err == -EDOM && strcmp(text + cli_number_length(text), "m") == 0)
		wrong = "could be milliseconds or minutes: write ms or min";
	else if (err == -EDOM)
		wrong = "does not end in a unit of time (ns, us, ms, s, min, h, d)";
	else if (err || ns > YEAR_NS)
		wrong = "is longer than a year";
	else if (ns == 0)
		wrong = "must be more than zero";
	else if (ns < least_ns)
		wrong = least_ns < NS_PER_MS ? "is shorter than 100 us" : "is shorter than 1 ms";
	if (wrong)
		argp_error(state, "%s: '%s' %s", what, text, wrong);
	return ns;
}

uint64_t cli_perf_time(struct argp_state *state, const char *what, const char *text, bool interval)
{
	const uint64_t ns = cli_time(state, what, text, NS_PER_MS, interval ? NS_PER_MS : 0);
	const bool plain = !text[cli_number_length(text)];

	if (plain && interval && ns < LEAST_INTERVAL * NS_PER_MS)
		exit(cli_failure(CLI_USAGE,
				 "%s: '%s' without a unit would be %s milliseconds, as in perf: "
				 "write %s %ss or %s %sms",
				 what, text, text, what, text, what, text));
	if (plain && ns < SMALL_MS * NS_PER_MS)
		cli_error("note: %s %s is %s milliseconds, as in perf; for seconds write %s %ss",
			  what, text, text, what, text);
	return ns;
}

uint64_t cli_count(struct argp_state *state, const char *what, const char *text)
{
	size_t len = strspn(text, "0123456789");
	uint64_t count = strtoull(text, NULL, 10);
	const char *wrong = NULL;

	if (!len || text[len])
		wrong = "is not a whole number";
	else if (len > 10 || count > 1000000000)
		wrong = "is more than a thousand million";
	else if (count == 0)
		wrong = "must be at least 1";
	if (wrong)
		argp_error(state, "%s: '%s' %s", what, text, wrong);
	return count;
}

void cli_set_output(struct argp_state *state, const struct output **output, const char *name)
{
	const struct output *now = output_find(name);
	size_t length = strcspn(name, "=");

	if (*output && strncmp((*output)->name, name, length) != 0)
		argp_error(state, "CSV and JSON exclude each other");
	/* A form such as csv=wide stays when -x also selects CSV. */
	if (!*output || name[length])
		*output = now;
}

double cli_unit(const char *unit, const char *base)
{
	static const struct {
		const char *prefix;
		double factor;
	} prefixes[] = {
		{"", 1},          {"k", 1e3},         {"M", 1e6},
		{"G", 1e9},       {"T", 1e12},        {"Ki", 1024},
		{"Mi", 0x100000}, {"Gi", 0x40000000}, {"Ti", 0x10000000000},
		{"m", 1e-3},      {"u", 1e-6},        {"n", 1e-9},
	};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		size_t length = strlen(prefixes[i].prefix);

		if (strncmp(unit, prefixes[i].prefix, length) == 0 &&
		    strcmp(unit + length, base) == 0)
			return prefixes[i].factor;
	}
	return NAN;
}

/* Bytes, or bytes per second. */
static double parse_amount(struct argp_state *state, const char *what, const char *text, bool rate)
{
	size_t len = cli_number_length(text);
	double unit = cli_unit(text + len + (text[len] == ' '), rate ? "B/s" : "B");
	double amount = strtod(text, NULL) * unit;
	const char *wrong = NULL;

	if (!len)
		wrong = rate ? "is not a rate; write 307.2GB/s" : "is not a size; write 100MB";
	else if (!(unit >= 1))
		wrong = rate ? "does not end in a unit of rates (B/s, kB/s, MB/s, GB/s, TB/s, "
			       "KiB/s, MiB/s, GiB/s, TiB/s)"
			     : "does not end in a unit of sizes (B, kB, MB, GB, TB, KiB, MiB, GiB, "
			       "TiB)";
	else if (!(amount > 0))
		wrong = "must be more than zero";
	else if (amount > 1e18)
		wrong = rate ? "is more than any memory can transfer" : "is more than any disk has";
	if (wrong)
		argp_error(state, "%s: '%s' %s", what, text, wrong);
	return amount;
}

static void print_help(struct argp_state *state)
{
	struct buffer text = {0};
	FILE *f = open_memstream(&text.data, &text.len);

	if (!f)
		return;
	argp_state_help(state, f, ARGP_HELP_STD_HELP & ~(unsigned)ARGP_HELP_EXIT_OK);
	fclose(f);
	exit(writer_print(&text));
}

/* Handles the global options that do not simply set a member. */
static void other_global(void *into, int key, char *arg, struct argp_state *state)
{
	struct cli *cli = into;

	switch (key) {
	case KEY_DATA:
		if (!*arg) /* would be the current directory */
			argp_error(state, "--data: the name of the directory is empty");
		cli->data = cli_realloc(cli->data, cli->data_count + 1, sizeof(*cli->data));
		cli->data[cli->data_count++] = arg;
		break;
	case KEY_MEMORY_PEAK:
		if (cli->given && cli->given->memory_peak > 0)
			break;
		if (cli->memory_peak > 0) /* before the command */
			argp_error(state, "--memory-peak is given twice");
		cli->memory_peak = parse_amount(state, "--memory-peak", arg, true);
		break;
	case KEY_COLOR:
		if (!terminal_set_color(arg))
			argp_error(state, "--color: '%s' is not auto, always or never", arg);
		break;
	case KEY_UNITS:
		if (!human_set_units(arg))
			argp_error(state, "--units: '%s' is not si, iec or raw", arg);
		break;
	case KEY_NO_PAGER:
		writer_set_pager(false);
		break;
	case 'h':
		print_help(state);
		break;
	case KEY_USAGE:
		argp_state_help(state, stdout, ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
		break;
	default: /* 'V' */
		printf("uncore %s\n", uncore_version());
		exit(CLI_OK);
	}
}

/* Whether the command has an option for this output. */
static bool is_offered(const struct cli_syntax *syntax, const struct output *o)
{
	return syntax->outputs != OUTPUTS_NONE && o->doc &&
	       (o->document || syntax->outputs == OUTPUTS_RECORDS);
}

/* --format: an output by the name of its option, or "csv=wide". */
static void set_format(const struct parser *p, struct argp_state *state,
		       const struct output **output, const char *name)
{
	const size_t length = strcspn(name, "=");
	auto_buffer names = {0};
	bool offered = false;

	for (size_t i = 0; i < output_count; i++) {
		if (!is_offered(p->syntax, &outputs[i]))
			continue;
		buffer_printf(&names, "%s%s", names.len ? ", " : "", outputs[i].name);
		offered |= strlen(outputs[i].name) == length &&
			   strncmp(outputs[i].name, name, length) == 0;
	}
	if (!offered || !output_find(name))
		exit(cli_failure(CLI_USAGE, "--format: '%s' is not one of: %s", name, names.data));
	cli_set_output(state, output, name);
}

static uint64_t take_time(struct argp_state *state, enum option_type type, const char *name,
			  const char *text, bool needs_unit)
{
	const bool interval = type == OPTION_INTERVAL || type == OPTION_PERF_INTERVAL;

	if (needs_unit || type == OPTION_TIME || type == OPTION_INTERVAL)
		return cli_time(state, name, text, 0, interval ? NS_PER_MS : 0);
	return cli_perf_time(state, name, text, interval);
}

static error_t take_option(struct parser *p, size_t i, char *arg, struct argp_state *state)
{
	const struct cli_option *o = &p->options[i];
	bool global = i >= p->first_global;
	void *into = global ? (void *)p->cli : p->into, *member;
	const struct guess_synonym *synonym = NULL;
	const char *before;
	char name[40], output[40];

	if (o->key > 0 && o->key < 256)
		snprintf(name, sizeof(name), "-%c", o->key);
	else
		snprintf(name, sizeof(name), "--%s", o->name);
	/* Other names of an option follow it. */
	if (o->type == OPTION_SYNONYM)
		synonym = &guess_synonyms[o->at];
	while (o->type == OPTION_SYNONYM)
		o = &p->options[--i];
	if (synonym && synonym->former)
		cli_error("note: %s: the name is now --%s", name, o->name);
	member = (char *)into + o->at;
	if (global && p->cli->given && o->type == OPTION_TEXT &&
	    *(const char *const *)((const char *)p->cli->given + o->at))
		return 0;
	before = p->values[i];
	if (o->type == OPTION_OUTPUT) {
		snprintf(output, sizeof(output), "%s%s%s", o->name, arg ? "=" : "", arg ? arg : "");
		if (!output_find(output))
			argp_error(state, "%s: '%s' is not %s; to write into a file use -o FILE",
				   name, arg, o->arg);
		cli_set_output(state, member, output);
		return 0;
	}
	if (o->type == OPTION_FORMAT) {
		set_format(p, state, member, arg);
		return 0;
	}
	if (o->arg && !arg)
		return ARGP_ERR_UNKNOWN;
	/* Rejects a second value, which would replace the first one (possibly before the command).
	 * It may replace the value of a file. */
	if (o->type == OPTION_TEXT && !p->cli->configured)
		before = *(const char **)member;
	if (o->arg && before && o->type != OPTION_LIST)
		argp_error(state, "%s is given twice: '%s' and '%s'", name, before, arg);
	p->values[i] = o->arg ? arg : NULL;
	switch (o->type) {
	case OPTION_FLAG:
		*(bool *)member = true;
		break;
	case OPTION_TEXT:
		*(const char **)member = arg;
		break;
	case OPTION_PERF_TIME:
	case OPTION_PERF_INTERVAL:
	case OPTION_TIME:
	case OPTION_INTERVAL:
		*(uint64_t *)member =
			take_time(state, o->type, name, arg, synonym && synonym->needs_unit);
		break;
	case OPTION_COUNT:
		*(uint64_t *)member = cli_count(state, name, arg);
		break;
	case OPTION_SIZE:
		*(uint64_t *)member = (uint64_t)ceil(parse_amount(state, name, arg, false));
		break;
	case OPTION_OUTPUT:
	case OPTION_FORMAT:
	case OPTION_SYNONYM:
	case OPTION_OTHER:
	case OPTION_LIST:
		(global ? other_global : p->syntax->other)(into, o->key, arg, state);
		break;
	}
	return 0;
}

/* Options with names that are near the word or, without mistakes, begin with it. */
static void similar_options(struct buffer *to, const struct parser *p, const char *word,
			    int mistakes)
{
	for (size_t i = 0; i < p->count; i++) {
		const char *name = p->options[i].name;

		if (name && *p->options[i].doc &&
		    (mistakes ? guess_is_near(word, name, mistakes)
			      : strncmp(name, word, strlen(word)) == 0))
			buffer_printf(to, "%s--%s", to->len ? " or " : "", name);
	}
}

/* Reports an option ("--name", "--name=VALUE", "-n") that the command does not have. */
__attribute__((noreturn)) static void
refuse_option(const struct parser *p, const struct argp_state *state, const char *word)
{
	/* A file of options takes the place of the command. */
	const char *file =
		strncmp(state->argv[0], "uncore", strlen("uncore")) != 0 ? state->argv[0] : NULL;
	bool is_long = word[1] == '-';
	const char *answer;
	char name[64];
	auto_buffer near = {0}, text = {0};

	snprintf(name, sizeof(name), "%.*s", is_long ? (int)strcspn(word, "=") : 2, word);
	answer = guess_refused(name + 1 + is_long);
	if (is_long && !answer)
		similar_options(&near, p, name + 2, 0);
	if (is_long && !answer && !near.len)
		similar_options(&near, p, name + 2, 1);
	if (is_long && !answer && !near.len) {
		auto_buffer about = {0};

		buffer_printf(&about, "%s%sthere is no option %s", file ? file : "",
			      file ? ": " : "", name);
		/* --per-dimm */
		if (guess_see(p->cli, about.data,
			      name + 2 + (strncmp(name, "--per-", 6) == 0 ? 4 : 0), NULL))
			exit(CLI_USAGE);
		if (strlen(name) > 6)
			similar_options(&near, p, name + 2, 2);
	}
	if (answer)
		buffer_printf(&text, ": %s", answer);
	else if (near.len)
		buffer_printf(&text, "; did you mean %s?", near.data);
	else if (strcmp(state->argv[0], "uncore") == 0)
		buffer_printf(&text, " before a command; write it behind: uncore stat %s ...",
			      name);
	else
		buffer_printf(&text, "; '%s --help' lists the options",
			      file ? "uncore" : state->argv[0]);
	cli_error("%s%sthere is no option %s%s", file ? file : "", file ? ": " : "", name,
		  text.data);
	exit(CLI_USAGE);
}

/* getopt also takes the beginning of a name, which may mean another option than the user knows, or
 * one that a later version adds: the next word must be a whole name. */
static void check_next(const struct parser *p, const struct argp_state *state)
{
	const int next = state->next ? state->next : 1;
	const char *word = next < state->argc ? state->argv[next] : "";
	const size_t length = strcspn(word, "=");

	if (state->quoted || word[0] != '-' || !word[1] || strcmp(word, "--") == 0)
		return;
	for (size_t i = 0; i < p->count; i++) {
		const char *name = p->options[i].name;

		if (!name)
			continue;
		if (word[1] == '-'
			    ? strlen(name) == length - 2 && strncmp(word + 2, name, length - 2) == 0
			    : word[1] == p->options[i].key)
			return;
	}
	refuse_option(p, state, word);
}

static error_t take_key(int key, char *arg, struct argp_state *state)
{
	struct parser *p = state->input;
	const struct cli_syntax *s = p->syntax;
	const char **only = (const char **)((char *)p->into + s->argument_at);

	for (size_t i = 0; i < p->count; i++)
		if (p->options[i].name && p->options[i].key == key)
			return take_option(p, i, arg, state);
	if (key == ARGP_KEY_ARG && s->argument)
		s->argument(p->into, arg, state);
	else if (key == ARGP_KEY_ARG && s->second && *only)
		argp_error(state, "'%s'%s", arg, s->second);
	else if (key == ARGP_KEY_ARG && s->second)
		*only = arg;
	else if (key == ARGP_KEY_ARG)
		argp_error(state, "'%s': this command takes no arguments", arg);
	else if (key == ARGP_KEY_NO_ARGS && s->no_args)
		argp_error(state, "%s", s->no_args);
	else if (key == ARGP_KEY_END && s->check)
		s->check(p->into, state);
	else
		return ARGP_ERR_UNKNOWN;
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	const error_t r = take_key(key, arg, state);

	if (key != ARGP_KEY_END)
		check_next(state->input, state);
	return r;
}

static void add(struct parser *p, struct cli_option option)
{
	if (!option.key)
		option.key = KEY_FIRST + (int)p->count;
	p->options = cli_realloc(p->options, p->count + 1, sizeof(*p->options));
	p->options[p->count++] = option;
	for (const struct guess_synonym *s = guess_synonyms;
	     s->option && option.type != OPTION_SYNONYM; s++) {
		struct cli_option other = option;

		if (!option.name || strcmp(s->option, option.name) != 0)
			continue;
		other.name = s->also;
		other.key = s->letter;
		other.type = OPTION_SYNONYM;
		other.at = (size_t)(s - guess_synonyms);
		add(p, other);
	}
}

void cli_parse(struct cli *cli, const struct cli_syntax *syntax, void *into, int argc, char **argv)
{
	struct parser p = {.cli = cli, .syntax = syntax, .into = into};
	struct argp argp = {.parser = parse,
			    .args_doc = syntax->args,
			    .doc = syntax->doc,
			    .help_filter = syntax->help_filter};
	struct argp_option *options;

	for (const struct cli_option *o = syntax->options; o && o->doc; o++)
		add(&p, *o);
	for (size_t i = 0; i < output_count; i++) {
		const struct output *o = &outputs[i];

		if (is_offered(syntax, o))
			add(&p, (struct cli_option){o->name, o->form, o->doc, o->key,
						    syntax->outputs_group, OPTION_OUTPUT,
						    syntax->outputs_at});
	}
	if (syntax->outputs != OUTPUTS_NONE)
		add(&p, (struct cli_option){
				"format", "FORM",
				syntax->outputs == OUTPUTS_RECORDS
					? "The same as --FORM: json, csv, csv=wide or html"
					: "The same as --FORM: json",
				0, syntax->outputs_group, OPTION_FORMAT, syntax->outputs_at});
	p.first_global = p.count;
	/* Without options of the command they need no heading. */
	for (const struct cli_option *o = globals + (p.count == 0); o->doc; o++)
		add(&p, *o);
	if (cli->commands) {
		add(&p, (struct cli_option){0});
		*(int *)into =
			complete(cli, p.options, p.options + p.first_global, syntax->args, argv);
		free(p.options);
		return;
	}
	options = cli_realloc(NULL, p.count + 1, sizeof(*options));
	p.values = cli_realloc(NULL, p.count, sizeof(*p.values));
	memset(p.values, 0, p.count * sizeof(*p.values));
	for (size_t i = 0; i < p.count; i++) {
		const struct cli_option *o = &p.options[i];

		options[i] =
			(struct argp_option){o->name,
					     o->name ? o->key : 0,
					     o->arg,
					     (o->type == OPTION_OUTPUT ? OPTION_ARG_OPTIONAL : 0) |
						     (*o->doc ? 0 : OPTION_HIDDEN) |
						     (o->type == OPTION_SYNONYM ? OPTION_ALIAS : 0),
					     o->doc,
					     o->group};
	}
	options[p.count] = (struct argp_option){0};
	argp.options = options;
	if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER | ARGP_NO_HELP, NULL, &p)) {
		cli_error("out of memory");
		exit(CLI_RUNTIME);
	}
	free(options);
	free(p.values);
	free(p.options);
}
