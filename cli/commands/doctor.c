/* SPDX-License-Identifier: MIT */
/* `uncore doctor`: each PMU found, or expected and missing, why, and what mends it. */
#include <stdio.h>
#include <string.h>

#include "output/json.h"
#include "output/table.h"
#include "output/writer.h"
#include "views/doctor.h"

static const struct argp_option options[] = {
	{"json", 'j', NULL, 0, "One JSON object", 1},
	{0},
};

struct parser {
	struct cli *cli;
	bool json;
};

static const struct {
	const char *mark; /* in text */
	const char *name; /* in JSON */
} verdicts[] = {
	[UNCORE_VERDICT_OK] = {"ok", "ok"},
	[UNCORE_VERDICT_DENIED] = {"DENIED", "denied"},
	[UNCORE_VERDICT_MISSING] = {"MISSING", "missing"},
	[UNCORE_VERDICT_NOTE] = {"note", "note"},
};

/* A command stays in one line, to be copied; a comment that makes it too long goes below. */
static void put_fix(const char *fix, struct buffer *to)
{
	static const char label[] = "         to mend it: ";
	const char *comment = strstr(fix, "   # ");
	size_t command = comment ? (size_t)(comment - fix) : strlen(fix);

	buffer_printf(to, "%s%.*s", label, (int)command, fix);
	if (comment && strlen(label) + strlen(fix) > TABLE_WIDTH) {
		buffer_puts(to, "\n");
		buffer_wrap(to, 11, TABLE_WIDTH, comment);
	} else {
		buffer_printf(to, "%s\n", comment ? comment : "");
	}
}

void doctor_finding(const struct uncore_finding *f, struct buffer *to)
{
	char label[80];

	snprintf(label, sizeof(label), "%-8s %s:", verdicts[f->verdict].mark, f->subject);
	buffer_hang(to, 9, TABLE_WIDTH, label, f->found);
	if (f->why)
		buffer_wrap(to, 9, TABLE_WIDTH, f->why);
	if (f->fix)
		put_fix(f->fix, to);
}

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
		argp_error(state, "'%s': doctor takes no arguments", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* What is not there cannot be had by permission: missing comes before denied. */
static int verdict(const struct uncore *u)
{
	int status = CLI_OK;

	for (size_t i = 0; i < uncore_finding_count(u); i++) {
		const struct uncore_finding *f = uncore_finding_at(u, i);

		if (f->verdict == UNCORE_VERDICT_MISSING)
			return CLI_UNAVAILABLE;
		if (f->verdict == UNCORE_VERDICT_DENIED)
			status = CLI_DENIED;
	}
	return status;
}

static json_t *finding_json(const struct uncore_finding *f)
{
	json_t *object = json_object();

	json_put(object, "verdict", json_text(verdicts[f->verdict].name));
	json_put(object, "subject", json_text(f->subject));
	json_put(object, "found", json_text(f->found));
	json_put(object, "why", json_text(f->why));
	json_put(object, "fix", json_text(f->fix));
	return object;
}

static void print_json(const struct uncore *u, struct buffer *to)
{
	json_t *object = json_header(u);
	json_t *findings = json_array();

	for (size_t i = 0; i < uncore_finding_count(u); i++)
		json_push(findings, finding_json(uncore_finding_at(u, i)));
	json_put(object, "findings", findings);
	json_print(object, JSON_INDENT(2), to);
}

static void print_text(const struct uncore *u, struct buffer *to)
{
	if (uncore_is_simulated(u))
		buffer_printf(to, "SIMULATED by %s: not this machine.\n\n", uncore_source(u));
	for (size_t i = 0; i < uncore_finding_count(u); i++)
		doctor_finding(uncore_finding_at(u, i), to);
}

int cmd_doctor(struct cli *cli, int argc, char **argv)
{
	static const struct argp_child children[] = {{&cli_globals, 0, "Everywhere:", 90}, {0}};
	static const struct argp argp = {
		.options = options,
		.parser = parse_option,
		.doc = "Examines this machine: every PMU that is here or should be, why it cannot "
		       "be used, and the command that mends it.\vExit status: 0 all is well, 3 a "
		       "PMU is missing, 4 only permission is missing.",
		.children = children,
	};
	struct parser p = {.cli = cli};
	struct buffer text = {0};
	int status;
	int err;

	argp_parse(&argp, argc, argv, ARGP_NO_HELP, NULL, &p);
	status = cli_open(cli);
	if (status)
		return status;
	err = uncore_diagnose(cli->u);
	if (err)
		return cli_fail(cli, err);
	(p.json ? print_json : print_text)(cli->u, &text);
	status = writer_print(&text);
	return status ? status : verdict(cli->u);
}
