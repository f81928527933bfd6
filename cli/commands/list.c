/* SPDX-License-Identifier: MIT */
/* `uncore list`: what this machine has and what can be counted on it. */
#include <string.h>

#include "output/writer.h"
#include "views/list.h"

enum {
	KEY_ALL = 0x100,
};

static const struct argp_option options[] = {
	{"json", 'j', NULL, 0, "One JSON object with everything, nothing merged", 1},
	{"all", KEY_ALL, NULL, 0, "Also metrics that cannot be counted here, with the reason", 1},
	{0},
};

static const struct {
	const char *name;
	unsigned kinds;
} kinds[] = {
	{"pmus", LIST_PMUS},
	{"events", LIST_EVENTS},
	{"metrics", LIST_METRICS},
};

struct parser {
	struct list_options *o;
	struct cli *cli;
};

/* [KIND] [PATTERN]: a first word that is no kind is the pattern. */
static void take_argument(struct parser *p, char *arg, struct argp_state *state)
{
	if (p->o->pattern)
		argp_error(state, "'%s' is one argument too many", arg);
	for (size_t i = 0; !p->o->kinds && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(arg, kinds[i].name) == 0) {
			p->o->kinds = kinds[i].kinds;
			return;
		}
	}
	p->o->pattern = arg;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct parser *p = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = p->cli;
		return 0;
	case 'j':
		p->o->json = true;
		return 0;
	case KEY_ALL:
		p->o->all = true;
		return 0;
	case ARGP_KEY_ARG:
		take_argument(p, arg, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void say_nothing(const struct list_options *o)
{
	if (o->pattern)
		cli_error("nothing here matches '%s'%s", o->pattern,
			  o->all ? "" : "; --all searches the metrics of other machines, too");
	else
		cli_error("there is nothing to list on this machine; 'uncore doctor' says why");
}

int cmd_list(struct cli *cli, int argc, char **argv)
{
	static const struct argp_child children[] = {{&cli_globals, 0, "Everywhere:", 90}, {0}};
	static const struct argp argp = {
		.options = options,
		.parser = parse_option,
		.args_doc = "[pmus|events|metrics] [PATTERN]",
		.doc = "Lists the PMUs of this machine, their named events, and the metrics that "
		       "can be counted.\vPATTERN is a shell pattern or any part of a name.",
		.children = children,
	};
	struct list_options o = {0};
	struct parser p = {.o = &o, .cli = cli};
	struct buffer text = {0};
	bool found;
	int status;

	argp_parse(&argp, argc, argv, ARGP_NO_HELP, NULL, &p);
	if (!o.kinds)
		o.kinds = LIST_PMUS | LIST_EVENTS | LIST_METRICS;
	status = cli_open(cli);
	if (status)
		return status;
	found = o.json ? list_json(cli->u, &o, &text) : list_text(cli->u, &o, &text);
	status = writer_print(&text);
	if (!found)
		say_nothing(&o);
	return status || found || !o.pattern ? status : CLI_RUNTIME;
}
