/* SPDX-License-Identifier: MIT */
/* `uncore doctor`: each PMU found, or expected and missing, the reason, and the fix. */
#include <string.h>

#include "base/buffer.h"
#include "base/writer.h"
#include "commands/documents.h"
#include "commands/options.h"
#include "commands/proofs.h"
#include "output/output.h"

static const struct {
	const char *mark; /* in text */
	const char *name; /* in JSON */
} verdicts[] = {
	[UNCORE_VERDICT_OK] = {"ok", "ok"},
	[UNCORE_VERDICT_DENIED] = {"DENIED", "denied"},
	[UNCORE_VERDICT_MISSING] = {"MISSING", "missing"},
	[UNCORE_VERDICT_NOTE] = {"note", "note"},
};

/* A later library may have further verdicts. */
static size_t verdict_of(const struct uncore_finding *f)
{
	return f->verdict <= UNCORE_VERDICT_NOTE ? f->verdict : UNCORE_VERDICT_NOTE;
}

void doctor_finding(const struct uncore_finding *f, const struct uncore_finding *next,
		    struct buffer *to)
{
	static const char fix[] = "         fix: ";
	const char *comment;

	buffer_printf(to, "%-8s %s:", verdicts[verdict_of(f)].mark, f->subject);
	buffer_wrap(to, 9, text_columns(), f->found);
	if (next && next->verdict == f->verdict && cli_same(next->why, f->why) &&
	    cli_same(next->fix, f->fix))
		return;
	if (f->why)
		buffer_wrap(to, 9, text_columns(), f->why);
	if (!f->fix)
		return;
	/* A command stays in one line, to be copied; a comment that makes it too long goes
	 * below. */
	comment = strstr(f->fix, "   # ");
	if (!comment || strlen(fix) + strlen(f->fix) <= text_columns()) {
		buffer_printf(to, "%s%s\n", fix, f->fix);
	} else {
		buffer_printf(to, "%s%.*s\n", fix, (int)(comment - f->fix), f->fix);
		buffer_wrap(to, 11, text_columns(), comment);
	}
}

/* A missing PMU decides, because permission alone would not help. */
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

static json_t *finding_record(const struct uncore_finding *f)
{
	return json_record((const struct field[]){
		{"verdict", value_text(verdicts[verdict_of(f)].name)},
		{"subject", value_text(f->subject)},
		{"found", value_text(f->found)},
		{"why", value_text(f->why)},
		{"fix", value_text(f->fix)},
		{0},
	});
}

static json_t *doctor_document(struct uncore *u)
{
	json_t *findings = json_array();

	for (size_t i = 0; i < uncore_finding_count(u); i++)
		json_push(findings, finding_record(uncore_finding_at(u, i)));
	return json_document(u, RECORD({"findings", value_json(findings)}));
}

json_t *machine_document(struct uncore *u)
{
	return json_record(RECORD({"topology", value_json(topo_document(u))},
				  {"findings", value_json(doctor_document(u))}));
}

/* Adds a finding to the JSON document, or to the text. */
static void put_finding(const struct uncore_finding *f, json_t *document, struct buffer *to)
{
	if (document)
		json_push(json_object_get(document, "findings"), finding_record(f));
	else
		doctor_finding(f, NULL, to);
}

/* A device whose counts cannot be read. */
static void put_unreadable(const char *subject, const char *why, json_t *document,
			   struct buffer *to)
{
	const struct uncore_finding f = {.verdict = UNCORE_VERDICT_MISSING,
					 .subject = subject,
					 .found = "its counters cannot be read",
					 .why = why};

	put_finding(&f, document, to);
}

/* The count of a device since its driver was loaded, or why it cannot be read. */
static void put_count(const struct uncore_metric *metric, const struct uncore_metric_event *event,
		      const struct uncore_counter *c, const struct uncore_reading *r,
		      json_t *document, struct buffer *to)
{
	struct uncore_finding f = {.verdict = UNCORE_VERDICT_NOTE,
				   .subject = uncore_pmu_name(c->pmu),
				   .why = uncore_metric_finding_why(metric),
				   .fix = uncore_metric_finding_fix(metric)};
	auto_buffer found = {0};

	if (c->error)
		put_unreadable(uncore_pmu_name(c->pmu), c->why, document, to);
	if (c->error || !r || r->lost || !r->raw)
		return;
	buffer_printf(&found, "%s: %llu so far", event->title, (unsigned long long)r->raw);
	f.found = found.data;
	put_finding(&f, document, to);
}

/* What the devices have counted of a metric. */
static void put_counts(struct cli *cli, const struct uncore_metric *metric, json_t *document,
		       struct buffer *to)
{
	auto_buffer name = {0};
	struct uncore_monitor *m = NULL;
	size_t count;

	buffer_printf(&name, "%s/%s", uncore_metric_family(metric), uncore_metric_name(metric));
	if (uncore_monitor_new(&m, cli->u) < 0 || uncore_monitor_add_metrics(m, name.data) < 0)
		goto out;
	if (uncore_monitor_open(m) < 0 || uncore_monitor_start(m) < 0) {
		if (uncore_monitor_counter_count(m))
			put_unreadable(uncore_pmu_name(uncore_monitor_counter_at(m, 0)->pmu),
				       uncore_error(cli->u), document, to);
		goto out;
	}
	count = uncore_monitor_counter_count(m);
	for (size_t i = 0; i < count; i++)
		put_count(metric, uncore_metric_event_at(metric, 0),
			  uncore_monitor_counter_at(m, i), uncore_monitor_reading_at(m, i),
			  document, to);
out:
	uncore_monitor_free(m);
}

/* Counts that are findings, such as packets that were sent again. The vendor's library is loaded
 * for no other finding, since it may initialize devices for seconds. */
static void put_all_counts(struct cli *cli, json_t *document, struct buffer *to)
{
	if (uncore_is_simulated(cli->u) || cli_replays(cli))
		return;
	for (size_t i = 0; i < uncore_metric_count_here(cli->u); i++) {
		const struct uncore_metric *metric = uncore_metric_at(cli->u, i);

		if (uncore_metric_finding_why(metric) && !uncore_metric_missing(metric))
			put_counts(cli, metric, document, to);
	}
}

/* What the machine is, and what has been proved of it. */
static void put_findings(struct cli *cli, const struct output *output, struct buffer *to)
{
	struct buffer texts[3] = {0};
	struct uncore_finding verified;
	struct proof *proof = cli->proofs->find(cli);
	bool has_verified = cli->proofs->finding(proof, cli, texts, &verified);
	json_t *document = output ? doctor_document(cli->u) : NULL;

	if (!output) {
		out_text_simulated(cli->u, to);
		for (size_t i = 0, count = uncore_finding_count(cli->u); i < count; i++)
			doctor_finding(uncore_finding_at(cli->u, i),
				       i + 1 < count ? uncore_finding_at(cli->u, i + 1) : NULL, to);
	}
	put_all_counts(cli, document, to);
	if (has_verified)
		put_finding(&verified, document, to);
	if (output)
		output->document(document, to);
	for (size_t i = 0; i < 3; i++)
		buffer_free(&texts[i]);
	cli->proofs->free(proof);
}

int cmd_doctor(struct cli *cli, int argc, char **argv)
{
	static const struct cli_syntax syntax = {
		.doc = "Examines this machine: usable PMUs, expected PMUs that are missing or not "
		       "usable, the reason, and the command that fixes it.\v"
		       "Exit status: 0 no problem, 3 a PMU is missing, 4 only permission is "
		       "missing.",
		.outputs = OUTPUTS_DOCUMENTS,
	};
	const struct output *output = NULL;
	struct buffer text = {0};
	int status;
	int err;

	cli_parse(cli, &syntax, &output, argc, argv);
	status = cli_open(cli);
	err = cli->u ? uncore_diagnose(cli->u) : 0;
	/* A missing /sys is a finding. */
	if (status && (err || !cli->u || !uncore_finding_count(cli->u)))
		return status;
	if (err)
		return cli_fail(cli, err);
	put_findings(cli, output, &text);
	if (!output && !cli->root && !uncore_is_simulated(cli->u))
		buffer_puts(&text, "\nEach finding is explained: man uncore-reasons\n"
				   "For a bug report, attach the file that this writes: "
				   "uncore snapshot machine.txt\n");
	status = writer_print(&text);
	return status ? status : verdict(cli->u);
}
