/* SPDX-License-Identifier: MIT */
/* `uncore diff`: the metrics of two recordings, and whether they changed. */
#include <math.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/replay.h"
#include "base/writer.h"
#include "commands/options.h"
#include "loop/loop.h"
#include "output/output.h"
#include "record/compare.h"
#include "record/machines.h"

#define CONSTANT 1e-9 /* the rounding of a mean */

enum { KEY_PER_SOCKET = 0x100, KEY_PER_CHANNEL, KEY_PER_PORT, KEY_NO_MERGE, KEY_REGION };

/* The values of one row in both recordings, perhaps of two families. */
struct compared {
	char *name, *place, *unit, *filter;
	struct side {
		bool there; /* that recording has the row */
		char *family;
		char *reason; /* why the value is unknown; NULL: it is known, or no reason is */
		double *values, *weights; /* of intervals */
		size_t count;
		size_t doubtful; /* of these intervals, the partial and suspect ones */
		char *doubt;     /* the reason of the first one */
	} sides[2];
	char *doubt; /* the reason of the result, if it is owned */
	struct comparison result;
	size_t reason; /* the number of its reason among all; 0: none */
};

struct diff {
	struct request request;
	const struct output *output; /* NULL: text */
	const char *files[2], *regions[2];
	size_t file_count, region_count;
	char *names[2]; /* as sources: FILE,region=TEXT */
	struct facts machines[2];
	struct facts metrics[2]; /* of the machines: the name, and why it is missing or "" */
	struct compared *rows;
	size_t row_count;
	bool simulated;
};

/* ---- values ---- */

/* Whether it is the same row: of the same family, or with `other` of another machine's family. */
static bool is_row(const struct compared *c, int side, const struct uncore_row *row,
		   const char *place, const char *unit, bool other)
{
	const char *family = c->sides[c->sides[side].there ? side : !side].family;

	if (!cli_same(c->name, row->query->name) || !cli_same(c->place, place) ||
	    !cli_same(c->filter, row->query->filter))
		return false;
	return other ? !c->sides[side].there && family && row->query->family &&
			       cli_same(c->unit, unit)
		     : cli_same(family, row->query->family);
}

/* Finds a row, which is usually at the expected index, since both recordings of a machine have the
 * same order. */
static struct compared *find_row(struct diff *d, int side, size_t expected,
				 const struct uncore_row *row)
{
	char unit[OUT_UNIT_ROOM];
	auto_buffer place = {0};
	struct compared *found = NULL;

	out_rate_unit(row, unit);
	out_place(&place, row->place);
	if (row->place->role)
		buffer_printf(&place, ", %s", row->place->role);
	for (int other = 0; !found && other < 2; other++)
		for (size_t i = 0; !found && i < d->row_count; i++) {
			struct compared *c = &d->rows[(expected + i) % d->row_count];

			found = is_row(c, side, row, place.data, unit, other) ? c : NULL;
		}
	if (!found) {
		d->rows = cli_realloc(d->rows, d->row_count + 1, sizeof(*d->rows));
		found = &d->rows[d->row_count++];
		*found = (struct compared){
			.name = cli_copy(row->query->name),
			.place = cli_copy(place.data),
			.unit = cli_copy(unit),
			.filter = cli_copy(row->query->filter),
		};
	}
	if (!found->sides[side].there)
		found->sides[side].family = cli_copy(row->query->family);
	found->sides[side].there = true;
	return found;
}

/* Adds the interval of that length. */
static void add_interval(struct side *s, const struct uncore_row *row, double seconds)
{
	double value = row->query->family ? row->value : row->rate * out_rate_scale(row);

	if (isfinite(value)) {
		s->values = cli_grow(s->values, s->count, sizeof(*s->values));
		s->weights = cli_grow(s->weights, s->count, sizeof(*s->weights));
		s->weights[s->count] = isfinite(row->weight) ? row->weight : seconds;
		s->values[s->count++] = value;
	}
	if (isfinite(row->value) &&
	    (row->quality == UNCORE_PARTIAL || row->quality == UNCORE_SUSPECT) && !s->doubtful++)
		s->doubt = cli_copy(row->reason);
	if (!s->count && !s->reason)
		s->reason = cli_copy(row->reason);
}

/* Skips a short last interval of a session, whose values are imprecise. */
static void add_sample(struct diff *d, int side, const struct uncore_sample *sample,
		       uint64_t interval_ns)
{
	const uint64_t length_ns = uncore_sample_end_ns(sample) - uncore_sample_begin_ns(sample);

	if (length_ns < interval_ns / 2)
		return;
	for (size_t i = 0; i < uncore_sample_count(sample); i++) {
		const struct uncore_row *row = uncore_sample_row(sample, i);

		add_interval(&find_row(d, side, i, row)->sides[side], row, (double)length_ns / 1e9);
	}
}

static int read_session(struct cli *cli, struct diff *d, int side, struct uncore_sample *sample)
{
	struct uncore_monitor *m;
	int status = plan_make(cli, &d->request, false, &m), err;

	if (status)
		return status;
	err = uncore_monitor_open(m);
	if (!err)
		err = uncore_monitor_start(m);
	while (!err && (cli->replay->more || cli->replay->gap)) {
		err = cli->replay->gap ? uncore_monitor_resume(m) : 0;
		if (!err)
			err = uncore_monitor_read(m, sample);
		if (!err)
			add_sample(d, side, sample, cli->replay->interval_ns);
	}
	uncore_monitor_free(m);
	return err ? cli_fail(cli, err) : CLI_OK;
}

static int read_file(const struct cli *cli, struct diff *d, int side)
{
	struct cli one = *cli;
	auto_buffer source = {0};
	struct uncore_sample *sample = NULL;
	int status;

	buffer_printf(&source, "%s", d->files[d->file_count > 1 ? side : 0]);
	if (d->region_count)
		buffer_printf(&source, ",region=%s", d->regions[d->region_count > 1 ? side : 0]);
	d->names[side] = cli_copy(source.data);
	source.len = 0;
	buffer_printf(&source, "replay:%s", d->names[side]);
	one.source = source.data;
	status = cli_open(&one);
	if (!status && uncore_sample_new(&sample))
		status = cli_fail(&one, -ENOMEM);
	if (!status) {
		one.replay->group_ns = one.replay->interval_ns;
		d->simulated = d->simulated || uncore_is_simulated(one.u);
		facts_read(&d->machines[side], one.u);
		for (size_t i = 0; i < uncore_metric_count(one.u); i++) {
			const struct uncore_metric *metric = uncore_metric_at(one.u, i);
			const char *missing = uncore_metric_missing(metric);

			facts_add(&d->metrics[side], uncore_metric_name(metric), "%s",
				  missing ? missing : "");
		}
		do
			status = read_session(&one, d, side, sample);
		while (!status && one.replay->sessions);
	}
	uncore_sample_free(sample);
	cli_close(&one);
	return status;
}

/* ---- outputs ---- */

static const char *const verdicts[] = {
	[VERDICT_SAME] = "no change",
	[VERDICT_CHANGED] = "changed",
	[VERDICT_UNKNOWN] = "cannot tell",
};

static void share_cell(struct table *t, const char *sign, double share)
{
	if (isfinite(share))
		table_cell(t, *sign ? "%s%.2f %%" : "%s%+.2f %%", sign, share * 100);
	else
		table_cell(t, "-");
}

/* `numbered`: there are several reasons, which stand below the table. */
static void text_row(struct table *t, const struct compared *row, bool numbered)
{
	const struct comparison *c = &row->result;

	table_cell(t, "%s", row->name);
	table_cell(t, "%s%s%s", row->place, row->filter ? ", " : "",
		   row->filter ? row->filter : "");
	table_cell(t, "%s", human(c->a.mean, row->unit).text);
	table_cell(t, "%s", human(c->b.mean, row->unit).text);
	share_cell(t, "", c->change);
	share_cell(t, "±", c->error);
	if (numbered && row->reason)
		table_cell(t, "%s (%zu)", verdicts[c->verdict], row->reason);
	else
		table_cell(t, "%s", verdicts[c->verdict]);
	table_end_row(t, NULL);
}

static void compare_row(const struct compared *row, struct comparison *c)
{
	const struct side *a = &row->sides[0], *b = &row->sides[1];

	compare_series(c, &(struct values){a->values, a->weights, a->count},
		       &(struct values){b->values, b->weights, b->count});
}

/* Why one recording has no value of a row that the other one has. */
static const char *why_only(const struct diff *d, const struct compared *row, int side)
{
	const char *missing = NULL;
	bool known = false, several = false;

	if (row->sides[side].there)
		return row->sides[side].reason ? row->sides[side].reason : "it has no value there";
	for (size_t i = 0; i < d->row_count; i++)
		if (d->rows[i].sides[side].there && cli_same(d->rows[i].name, row->name))
			return "the other recording has this metric, but not of this place";
	if (!row->sides[!side].family)
		return "the other recording does not have this event";
	for (size_t i = 0; i < d->metrics[side].count; i++) {
		const struct fact *metric = &d->metrics[side].items[i];

		if (strcmp(metric->name, row->name) != 0)
			continue;
		known = true;
		if (!*metric->value)
			return "the other machine has this metric, but it was not recorded there";
		several |= missing && strcmp(missing, metric->value) != 0;
		missing = metric->value;
	}
	return !known    ? "the other machine has no metric of this name"
	       : several ? "no PMU of the other machine counts this"
			 : missing;
}

/* The side of which a row has no value; -1: it has both, or neither. */
static int side_without(const struct compared *row)
{
	bool in_a = row->sides[0].count, in_b = row->sides[1].count;

	return in_a == in_b ? -1 : in_a ? 1 : 0;
}

/* The rows that have values in one recording only, with the reason behind the first of each
 * metric. */
static void put_only(const struct diff *d, int side, struct buffer *to)
{
	const struct table_column columns[] = {{side ? "ONLY IN B" : "ONLY IN A", TABLE_ALONE},
					       {"PLACE", 0},
					       {"MEAN", TABLE_RIGHT},
					       {NULL, 0}};
	const char *last = NULL;
	auto_table t = {0};
	size_t count = 0;

	table_init(&t, columns);
	for (size_t i = 0; i < d->row_count; i++) {
		const struct compared *row = &d->rows[i];
		struct comparison c;
		const char *why;

		if (side_without(row) != !side)
			continue;
		why = why_only(d, row, !side);
		compare_row(row, &c);
		table_cell(&t, "%s", row->name);
		table_cell(&t, "%s%s%s", row->place, row->filter ? ", " : "",
			   row->filter ? row->filter : "");
		table_cell(&t, "%s", human(side ? c.b.mean : c.a.mean, row->unit).text);
		table_end_row(&t, cli_same(last, why) ? NULL : why);
		last = why;
		count++;
	}
	buffer_puts(to, count ? "\n" : "");
	table_print(&t, to);
}

/* Frequencies that did not change during either recording are settings. */
static void add_settings(struct diff *d)
{
	for (size_t i = 0; i < d->row_count; i++) {
		const struct compared *row = &d->rows[i];
		struct comparison c;
		auto_buffer name = {0};

		compare_row(row, &c);
		if (strcmp(row->unit, "Hz") != 0 || c.a.deviation > CONSTANT * c.a.mean ||
		    c.b.deviation > CONSTANT * c.b.mean)
			continue;
		buffer_printf(&name, "%s, %s", row->name, row->place);
		for (int side = 0; side < 2; side++)
			if (row->sides[side].count)
				facts_add(&d->machines[side], name.data, "%s",
					  human(row->sides[side].values[0], row->unit).text);
	}
}

static json_t *side_document(const struct side *side, const struct series *s)
{
	return json_record(RECORD({"mean", value_real(s->mean)},
				  {"deviation", value_real(s->deviation)},
				  {"intervals", value_count(side->count)},
				  {"doubtful", value_count(side->doubtful)}));
}

static json_t *row_document(const struct compared *row, const struct comparison *c)
{
	return json_record(RECORD(
		{"name", value_text(row->name)},
		{"family", value_text(row->sides[!row->sides[0].there].family)},
		{"family_b", value_text(row->sides[row->sides[1].there].family)},
		{"place", value_text(row->place)}, {"filter", value_text(row->filter)},
		{"unit", value_text(row->unit)},
		{"a", value_json(side_document(&row->sides[0], &c->a))},
		{"b", value_json(side_document(&row->sides[1], &c->b))},
		{"change", value_real(c->change)}, {"error", value_real(c->error)},
		{"verdict", value_text(verdicts[c->verdict])}, {"reason", value_text(c->reason)}));
}

/* A sum that lacks a part in one recording cannot be compared with that of the other one. What is
 * suspect in both, such as a formula in doubt, can. */
static void check_doubts(struct compared *row)
{
	const struct side *a = &row->sides[0], *b = &row->sides[1], *more;
	double more_b =
		(double)b->doubtful / (double)b->count - (double)a->doubtful / (double)a->count;
	struct buffer text = {0};

	if (!(fabs(more_b) > COMPARE_RESOLUTION))
		return;
	more = more_b > 0 ? b : a;
	buffer_printf(&text, "the values of %s are partial or suspect in %zu of %zu intervals: %s",
		      more == b ? "B" : "A", more->doubtful, more->count,
		      more->doubt ? more->doubt : "without a reason");
	row->doubt = text.data;
	row->result.reason = row->doubt;
	row->result.verdict = VERDICT_UNKNOWN;
}

/* Compares all rows, and numbers the reasons of those in the table. Returns their number. */
static size_t compare_all(struct diff *d)
{
	size_t reasons = 0;

	for (size_t i = 0; i < d->row_count; i++) {
		struct compared *row = &d->rows[i];

		compare_row(row, &row->result);
		if (side_without(row) >= 0) {
			row->result.reason = why_only(d, row, side_without(row));
			continue;
		}
		check_doubts(row);
		for (size_t k = 0; k < i && row->result.reason && !row->reason; k++)
			if (cli_same(d->rows[k].result.reason, row->result.reason))
				row->reason = d->rows[k].reason;
		if (row->result.reason && !row->reason)
			row->reason = ++reasons;
	}
	return reasons;
}

/* Each reason once, below the table. */
static void put_reasons(const struct diff *d, size_t reasons, struct buffer *to)
{
	size_t shown = 0;

	for (size_t i = 0; i < d->row_count; i++) {
		const struct compared *row = &d->rows[i];

		if (row->reason != shown + 1)
			continue;
		shown++;
		if (reasons > 1)
			buffer_printf(to, "(%zu) ", shown);
		buffer_printf(to, "%s: %s\n", verdicts[row->result.verdict], row->result.reason);
	}
}

static int print(struct diff *d)
{
	static const struct table_column columns[] = {
		{"NAME", TABLE_ALONE},   {"PLACE", 0},
		{"A", TABLE_RIGHT},      {"B", TABLE_RIGHT},
		{"CHANGE", TABLE_RIGHT}, {"AT 95 %", TABLE_RIGHT},
		{"VERDICT", 0},          {NULL, 0},
	};
	const size_t reasons = compare_all(d);
	json_t *rows = json_array();
	struct buffer text = {0};
	auto_table t = {0};

	table_init(&t, columns);
	if (d->simulated)
		buffer_puts(&text, "SIMULATED: these values are invented.\n");
	buffer_printf(&text, "A is %s, B is %s.\n\n", d->names[0], d->names[1]);
	add_settings(d);
	if (!d->output)
		facts_print(&d->machines[0], &d->machines[1], &text);
	for (size_t i = 0; i < d->row_count; i++) {
		const struct compared *row = &d->rows[i];

		if (d->output)
			json_push(rows, row_document(row, &row->result));
		else if (side_without(row) < 0)
			text_row(&t, row, reasons > 1);
	}
	if (d->output) {
		text.len = 0;
		d->output->document(
			json_record(RECORD(
				{"schema", value_count(JSON_SCHEMA)},
				{"source", value_text("diff")},
				{"simulated", value_flag(d->simulated)},
				{"a", value_text(d->names[0])}, {"b", value_text(d->names[1])},
				{"machines",
				 value_json(facts_document(&d->machines[0], &d->machines[1]))},
				{"changes", value_json(json_incref(rows))})),
			&text);
	} else {
		table_print(&t, &text);
		put_reasons(d, reasons, &text);
		put_only(d, 0, &text);
		put_only(d, 1, &text);
	}
	json_decref(rows);
	return writer_print(&text);
}

/* ---- the command ---- */

static void parse_other(void *into, int key, char *arg, struct argp_state *state)
{
	static const enum uncore_level levels[] = {UNCORE_LEVEL_SOCKET, UNCORE_LEVEL_CHANNEL,
						   UNCORE_LEVEL_PORT, UNCORE_LEVEL_INSTANCE};
	struct diff *d = into;

	if (key == KEY_REGION) {
		if (d->region_count == 2)
			argp_error(state, "two regions are compared: '%s' is one too many", arg);
		d->regions[d->region_count++] = arg;
		return;
	}
	if (key >= KEY_PER_SOCKET) {
		if (d->request.level != UNCORE_LEVEL_MACHINE)
			argp_error(state, "only one level is possible");
		d->request.level = levels[key - KEY_PER_SOCKET];
		d->request.as_whole = false;
		return;
	}
	d->request.queries = cli_realloc(d->request.queries, d->request.query_count + 1,
					 sizeof(*d->request.queries));
	d->request.queries[d->request.query_count++] = (struct request_query){arg, key == 'M'};
}

static void take_file(void *into, char *arg, struct argp_state *state)
{
	struct diff *d = into;

	if (d->file_count == 2)
		argp_error(state, "'%s' is one argument too many: two recordings are compared",
			   arg);
	d->files[d->file_count++] = arg;
}

static void check(void *into, struct argp_state *state)
{
	struct diff *d = into;

	if (d->file_count < 2 && d->region_count < 2)
		argp_error(state,
			   "two recordings are needed: uncore diff A B; or two regions of one");
}

int cmd_diff(struct cli *cli, int argc, char **argv)
{
	static const struct cli_option options[] = {
		{"event", "LIST", "Only these of the recorded events", 'e', 1, OPTION_LIST, 0},
		{"metrics", "LIST", "Only these of the recorded metrics (default: all)", 'M', 1,
		 OPTION_LIST, 0},
		{"per-socket", NULL, "One row for each socket", KEY_PER_SOCKET, 1, 0, 0},
		{"per-channel", NULL, "One row for each memory channel", KEY_PER_CHANNEL, 1, 0, 0},
		{"per-port", NULL, "One row for each PCIe root port", KEY_PER_PORT, 1, 0, 0},
		{"no-merge", NULL, "One row for each PMU and CPU", KEY_NO_MERGE, 1, 0, 0},
		{"region", "TEXT",
		 "Only this region of both; if given twice: the first of A, the second of B",
		 KEY_REGION, 1, OPTION_LIST, 0},
		{0},
	};
	static const struct cli_syntax syntax = {
		.doc = "Compares the recordings A and B: the mean of each metric in both, the "
		       "change with its error, and whether it is more than noise.\v"
		       "Recorded intervals are the samples. Verdicts: changed (at 99 %), no "
		       "change (a change of 10 % would have been detected), cannot tell.",
		.args = "A [B]",
		.no_args = "two recordings are needed: uncore diff A B",
		.options = options,
		.outputs = OUTPUTS_DOCUMENTS,
		.outputs_group = 1,
		.outputs_at = offsetof(struct diff, output),
		.other = parse_other,
		.argument = take_file,
		.check = check,
	};
	struct diff d = {.request.as_whole = true};
	int status = CLI_OK;

	cli_parse(cli, &syntax, &d, argc, argv);
	if (cli->source || cli->root)
		status = cli_failure(CLI_USAGE,
				     "diff reads its files: --source and --root cannot be used");
	for (int side = 0; !status && side < 2; side++)
		status = read_file(cli, &d, side);
	if (!status)
		status = print(&d);
	for (size_t i = 0; i < d.row_count; i++) {
		struct compared *c = &d.rows[i];

		free(c->name);
		free(c->doubt);
		free(c->place);
		free(c->unit);
		free(c->filter);
		for (struct side *s = c->sides; s < c->sides + 2; s++) {
			free(s->family);
			free(s->reason);
			free(s->doubt);
			free(s->values);
			free(s->weights);
		}
	}
	for (int side = 0; side < 2; side++) {
		facts_free(&d.machines[side]);
		facts_free(&d.metrics[side]);
		free(d.names[side]);
	}
	free(d.rows);
	free(d.request.queries);
	return status;
}
