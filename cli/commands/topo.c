/* SPDX-License-Identifier: MIT */
/* `uncore topo`: sockets, memory, PCIe and links, and the PMUs that count them. */
#include "views/topo.h"
#include "cli.h"
#include "output/writer.h"

static const struct argp_option options[] = {
	{"json", 'j', NULL, 0, "One JSON object with every device", 1},
	{0},
};

struct parser {
	struct cli *cli;
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
		argp_error(state, "'%s': topo takes no arguments", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int cmd_topo(struct cli *cli, int argc, char **argv)
{
	static const struct argp_child children[] = {{&cli_globals, 0, "Everywhere:", 90}, {0}};
	static const struct argp argp = {
		.options = options,
		.parser = parse_option,
		.doc = "Shows what hangs together on this machine: sockets, memory channels, root "
		       "ports with their links and the devices below them, links between "
		       "sockets and to GPUs; and which PMU counts each.\vNothing is counted. "
		       "Without root some machines do not tell which PMU counts a root port.",
		.children = children,
	};
	struct parser p = {.cli = cli};
	struct buffer text = {0};
	int status;

	argp_parse(&argp, argc, argv, ARGP_NO_HELP, NULL, &p);
	status = cli_open(cli);
	if (status)
		return status;
	(p.json ? topo_json : topo_text)(cli->u, &text);
	return writer_print(&text);
}
