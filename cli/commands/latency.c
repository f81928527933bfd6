/* SPDX-License-Identifier: MIT */
/* `uncore latency`: mean latencies from counters, or with --ibs the distribution of sampled
 * loads. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/latency.h"
#include "commands/options.h"

#define COLLECT_NS (100 * NS_PER_MS)
#define BAR_WIDTH 50
#define TOP 20

/* The word of a choice, and the library's number for it. */
struct choice {
	const char *word;
	unsigned number;
};

static const struct choice keys[] = {
	{"source", UNCORE_LATENCY_BY_SOURCE},   {"process", UNCORE_LATENCY_BY_PROCESS},
	{"thread", UNCORE_LATENCY_BY_THREAD},   {"symbol", UNCORE_LATENCY_BY_SYMBOL},
	{"address", UNCORE_LATENCY_BY_ADDRESS}, {0}};
static const struct choice places[] = {
	{"memory", UNCORE_LATENCY_FROM_MEMORY}, {"local", UNCORE_LATENCY_FROM_LOCAL},
	{"remote", UNCORE_LATENCY_FROM_REMOTE}, {"cxl", UNCORE_LATENCY_FROM_EXTENSION},
	{"cache", UNCORE_LATENCY_FROM_CACHE},   {0}};

#define AT(member) offsetof(struct latency_options, member)

static const struct cli_option options[] = {
	{"ibs", NULL, "Sample loads with AMD's IBS, and print their distribution", 0, 1,
	 OPTION_FLAG, AT(ibs)},
	{"spe", NULL, "The same with Arm's SPE", 0, 1, OPTION_FLAG, AT(spe)},
	{"min-latency", "CYCLES", "With --ibs: only latencies of CYCLES or more", 0, 1,
	 OPTION_COUNT, AT(least)},
	{"input", "FILE", "With --ibs: samples of perf record -e ibs_op// --raw-samples", 0, 1,
	 OPTION_TEXT, AT(input)},
	{"by", "KEY",
	 "With --ibs: a line for each process, thread, symbol or address (page of data)", 0, 1,
	 OPTION_TEXT, AT(by)},
	{"from", "KIND", "With --ibs: only data from memory, local, remote, cxl or cache", 0, 1,
	 OPTION_TEXT, AT(from)},
	{"top", "N", "With --by: the N largest ones (default 20), and the rest as one", 0, 1,
	 OPTION_COUNT, AT(top)},
	{0},
};

/* Whether there is an option of stat that samples of loads cannot have. */
static bool has_more(const struct stat_options *o)
{
	const struct schedule *when = &o->request.when;
	bool filtered = false;

	for (size_t i = 0; i < REQUEST_FILTERS; i++)
		filtered |= o->request.filters[i].value != NULL;
	return filtered || o->request.query_count || o->request.level || o->request.sample_ns ||
	       o->request.condition || when->command || when->delay_ns || when->control ||
	       when->cpu || when->repeat || o->print.summary || o->print.timestamp || o->dry_run;
}

static unsigned choose(const struct choice *of, const char *option, const char *word,
		       struct argp_state *state)
{
	auto_buffer known = {0};

	for (; of->word; of++) {
		if (strcmp(of->word, word) == 0)
			return of->number;
		buffer_printf(&known, "%s%s", known.len ? ", " : "", of->word);
	}
	argp_error(state, "--%s %s: it is one of %s", option, word, known.data);
	return 0;
}

static void check_keys(struct latency_options *o, struct argp_state *state)
{
	if (!o->ibs && (o->by || o->from || o->top))
		argp_error(state, "--by, --from and --top need --ibs or --spe");
	if (o->by)
		o->key = choose(keys, "by", o->by, state);
	if (o->from)
		o->sources = choose(places, "from", o->from, state);
	if (o->top && o->key == UNCORE_LATENCY_BY_SOURCE)
		argp_error(state, "--top needs --by process, thread, symbol or address");
	if (!o->top)
		o->top = TOP;
}

static void check(void *into, struct argp_state *state)
{
	struct latency_options *o = into;
	const struct output *output = o->stat.print.output;

	o->ibs = o->ibs || o->spe;
	if (!o->ibs && (o->least || o->input))
		argp_error(state, "--min-latency and --input need --ibs or --spe");
	if (o->ibs && has_more(&o->stat))
		argp_error(state, "--ibs samples the loads of all CPUs together: beside -I, "
				  "--interval-count, --timeout and the output it takes no options "
				  "of counters; for a socket, node or device use: uncore latency "
				  "without --ibs");
	if (o->ibs && output && output->window)
		argp_error(state, "--%s and --ibs exclude each other", output->name);
	check_keys(o, state);
	if (o->least > 65535)
		argp_error(state, "--min-latency: latencies are 65535 cycles at most");
	if (o->input && (o->stat.request.when.interval_ns || o->stat.request.when.timeout_ns))
		argp_error(state, "--input excludes -I and --timeout: the recording has its own "
				  "time");
}

/* ---- text ---- */

static void put_missing(struct buffer *to, const char *what, uint64_t count)
{
	if (count)
		buffer_printf(to, "%s: %s\n", what, human((double)count, "").number);
}

static void put_head(const struct latency_run *r, struct buffer *to)
{
	const struct uncore_latency_counts *c = uncore_latency_total(r->samples);
	const struct {
		uint64_t count;
		const char *what;
	} counts[] = {
		{c->samples, "ops, "}, {c->loads, "of them loads, "}, {c->used, "with a miss"}};
	const char *note = uncore_latency_note(r->samples);

	if (isfinite(r->seconds))
		buffer_printf(to, "Sampled for %s, to %.3f s: ", human(r->seconds, "s").text,
			      r->time);
	else
		buffer_printf(to, "Recorded in %s: ", r->source);
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		buffer_printf(to, "%s %s", human((double)counts[i].count, "").number,
			      counts[i].what);
	if (r->o->from)
		buffer_printf(to, " and data from %s", r->o->from);
	if (r->o->least)
		buffer_printf(to, " of %u clocks or more", (unsigned)r->o->least);
	buffer_puts(to, "\n");
	put_missing(to, "loads without a latency (prefetches, uncached)", c->unusable);
	put_missing(to, "samples LOST because a buffer was full", c->lost);
	put_missing(to, "times that the kernel throttled sampling", c->throttled);
	put_missing(to, "invalid records", c->broken);
	if (c->coverage < 1)
		buffer_printf(
			to, "sampled for %.3g %% of the time only: another program samples, too\n",
			c->coverage * 100);
	if (note)
		buffer_printf(to, "%s\n", note);
}

static void put_rows(const struct latency_run *r, struct buffer *to)
{
	static const struct table_column columns[] = {
		{"DATA FROM", false}, {"SAMPLES", true},  {"SHARE", true},
		{"MEAN", true},       {"50 %", true},     {"90 %", true},
		{"99 %", true},       {"QUALITY", false}, {0},
	};
	double used = (double)uncore_latency_total(r->samples)->used;
	auto_table t = {0};

	table_init(&t, columns);
	for (size_t i = 0; i < uncore_latency_count(r->samples); i++) {
		const struct uncore_latency_row *row = uncore_latency_at(r->samples, i);

		table_cell(&t, "%s", row->source);
		table_cell(&t, "%s", human((double)row->samples, "").number);
		table_cell(&t, "%.1f %%", 100 * (double)row->samples / used);
		table_cell(&t, "%.1f", row->mean);
		table_cell(&t, "<= %.0f", row->p50);
		table_cell(&t, "<= %.0f", row->p90);
		table_cell(&t, "<= %.0f", row->p99);
		table_cell(&t, "%s", uncore_quality_name(row->quality));
		table_end_row(&t, row->reason);
	}
	table_print(&t, to);
}

/* The samples from a power of two up to the next one: a line for each bin would be too many. */
static uint64_t samples_from(const struct uncore_latency_row *row, uint64_t from)
{
	uint64_t samples = 0;

	for (size_t i = 0; i < UNCORE_LATENCY_BINS; i++)
		if (uncore_latency_bin(i) >= from && uncore_latency_bin(i) < 2 * from)
			samples += row->bins[i];
	return samples;
}

static void put_histogram(const struct uncore_latency_row *row, struct buffer *to)
{
	uint64_t first = 0, last = 0, most = 0;

	for (uint64_t from = 1; from <= 0x8000; from *= 2) {
		uint64_t samples = samples_from(row, from);

		if (samples && !first)
			first = from;
		if (samples)
			last = from;
		if (samples > most)
			most = samples;
	}
	buffer_printf(to, "\n%s\n", row->source);
	for (uint64_t from = first; from && from <= last; from *= 2) {
		uint64_t samples = samples_from(row, from);
		size_t width = (size_t)((double)samples / (double)most * BAR_WIDTH + 0.5);
		char range[48];

		snprintf(range, sizeof(range), "%llu-%llu", (unsigned long long)from,
			 (unsigned long long)(2 * from - 1));
		buffer_printf(to, "  %11s ", range);
		for (size_t i = 0; i < width; i++)
			buffer_puts(to, "#");
		buffer_spaces(to, BAR_WIDTH + 1 - width);
		buffer_printf(to, "%llu\n", (unsigned long long)samples);
	}
}

static void print_text(const struct latency_run *r, struct buffer *to)
{
	if (r->windows)
		buffer_puts(to, "\n");
	put_head(r, to);
	buffer_wrap(to, 0, text_columns(), uncore_latency_about(r->samples));
	buffer_puts(to, "\n");
	if (!uncore_latency_count(r->samples))
		buffer_puts(to, "No sampled load had such a miss.\n");
	if (r->keys) {
		latency_put_keys(r, to);
		return;
	}
	put_rows(r, to);
	for (size_t i = 0; i < uncore_latency_count(r->samples); i++)
		put_histogram(uncore_latency_at(r->samples, i), to);
}

/* ---- records: of each row for CSV, of each window where a record can contain lists ---- */

static void print_row(struct latency_run *r, const struct uncore_latency_row *row)
{
	auto_buffer bins = {0};

	for (size_t i = 0; row->bins && i < UNCORE_LATENCY_BINS; i++)
		if (row->bins[i])
			buffer_printf(&bins, "%s%llu-%llu:%llu", bins.len ? " " : "",
				      (unsigned long long)uncore_latency_bin(i),
				      (unsigned long long)uncore_latency_bin(i + 1) - 1,
				      (unsigned long long)row->bins[i]);
	r->out.output->record(
		&r->out,
		RECORD({"time", value_real(r->time)}, {"interval", value_real(r->seconds)},
		       {"source", value_text(r->source)}, {"kind", value_text("latency")},
		       {"name", value_text(row->source)}, {"samples", value_count(row->samples)},
		       {"mean", value_real(row->mean)}, {"p50", value_real(row->p50)},
		       {"p90", value_real(row->p90)}, {"p99", value_real(row->p99)},
		       {"unit", value_text("cycles")},
		       {"quality", value_text(uncore_quality_name(row->quality))},
		       {"lost", value_count(uncore_latency_total(r->samples)->lost)},
		       {"histogram", value_text(bins.data)}, {"reason", value_text(row->reason)}));
}

static json_t *row_record(const struct uncore_latency_row *row)
{
	json_t *bins = json_array();

	for (size_t i = 0; i < UNCORE_LATENCY_BINS; i++)
		if (row->bins[i])
			json_push(bins, json_record(RECORD(
						{"from", value_count(uncore_latency_bin(i))},
						{"to", value_count(uncore_latency_bin(i + 1) - 1)},
						{"samples", value_count(row->bins[i])})));
	return json_record((const struct field[]){
		{"name", value_text(row->source)},
		{"samples", value_count(row->samples)},
		{"mean", value_real(row->mean)},
		{"p50", value_real(row->p50)},
		{"p90", value_real(row->p90)},
		{"p99", value_real(row->p99)},
		{"quality", value_text(uncore_quality_name(row->quality))},
		{"reason", value_text(row->reason)},
		{"histogram", value_json(bins)},
		{0},
	});
}

static void print_record(struct latency_run *r)
{
	const struct uncore_latency_counts *c = uncore_latency_total(r->samples);
	json_t *rows = json_array();
	bool by_key = r->o->key != UNCORE_LATENCY_BY_SOURCE;
	json_t *of_keys = by_key ? json_array() : NULL;
	const struct field fields[] = {
		{"schema", value_count(JSON_SCHEMA)},
		{"time", value_real(r->time)},
		{"interval", value_real(r->seconds)},
		{"source", value_text(r->source)},
		{"kind", value_text("latency")},
		{"unit", value_text("cycles")},
		{"about", value_text(uncore_latency_about(r->samples))},
		{"note", value_text(uncore_latency_note(r->samples))},
		{"least", value_count(r->o->least)},
		{"ops", value_count(c->samples)},
		{"loads", value_count(c->loads)},
		{"used", value_count(c->used)},
		{"unusable", value_count(c->unusable)},
		{"lost", value_count(c->lost)},
		{"throttled", value_count(c->throttled)},
		{"broken", value_count(c->broken)},
		{"coverage", value_real(c->coverage)},
		{"rows", value_json(rows)},
		{"memory", value_count(c->memory)},
		{"from", value_text(r->o->from)},
		{"by", value_text(by_key ? r->o->by : "source")},
		{"keys", by_key ? value_json(of_keys) : value_none()},
		{0},
	};

	for (size_t i = 0; i < uncore_latency_count(r->samples); i++)
		json_push(rows, row_record(uncore_latency_at(r->samples, i)));
	for (size_t i = 0; i < r->keys; i++)
		json_push(of_keys, latency_key_record(r, uncore_latency_key_at(r->samples, i)));
	r->out.output->record(&r->out, fields);
}

static void print(struct latency_run *r)
{
	static const struct uncore_latency_row none = {
		.mean = NAN,
		.p50 = NAN,
		.p90 = NAN,
		.p99 = NAN,
		.quality = UNCORE_UNAVAILABLE,
		.reason = "no sampled load had such a miss",
	};

	size_t count = uncore_latency_count(r->samples);

	if (!r->out.output->record)
		print_text(r, &r->writer.text);
	else if (r->out.output->document)
		print_record(r);
	else if (r->o->key != UNCORE_LATENCY_BY_SOURCE)
		latency_print_keys(r);
	else
		for (size_t i = 0; i < (count ? count : 1); i++)
			print_row(r, count ? uncore_latency_at(r->samples, i) : &none);
}

/* ---- sampling ---- */

static int print_window(struct latency_run *r, uint64_t now)
{
	const char *input = r->o->input;

	r->source = input ? input : uncore_latency_hardware(r->samples);
	r->time = input ? NAN : (double)(now - r->begin_ns) / 1e9;
	r->seconds = input ? NAN : (double)(now - r->window_ns) / 1e9;
	r->keys = 0;
	if (r->o->key != UNCORE_LATENCY_BY_SOURCE) {
		int count = uncore_latency_keys(r->samples, r->o->top);

		if (count < 0)
			return cli_fail(r->cli, count);
		r->keys = (size_t)count;
	}
	print(r);
	r->windows++;
	r->window_ns = now;
	uncore_latency_clear(r->samples);
	return writer_flush(&r->writer);
}

static int sample(struct latency_run *r)
{
	const struct schedule *o = &r->o->stat.request.when;
	uint64_t end, tick;
	int status = CLI_OK;
	int err = uncore_latency_start(r->samples);

	r->begin_ns = r->window_ns = cli_now_ns();
	end = o->timeout_ns ? r->begin_ns + o->timeout_ns : UINT64_MAX;
	tick = o->interval_ns ? r->begin_ns + o->interval_ns : end;
	while (!err && !status) {
		uint64_t next = cli_now_ns() + COLLECT_NS;
		bool last = cli_sleep_until(next < tick ? next : tick, r->signals.stop_fd) &&
			    signals_take(&r->signals).stop;
		uint64_t now = cli_now_ns();

		err = uncore_latency_collect(r->samples);
		last = last || now >= end;
		if (err || (!last && now < tick))
			continue;
		status = print_window(r, now);
		while (tick <= now && !last)
			tick += o->interval_ns;
		tick = tick < end ? tick : end;
		if (last || (o->interval_count && r->windows == o->interval_count))
			break;
	}
	return err ? cli_fail(r->cli, err) : status;
}

static int run(struct cli *cli, const struct latency_options *o)
{
	struct latency_run r = {
		.cli = cli,
		.o = o,
		.signals = {.stop_fd = -1, .child_fd = -1},
		.out = {.output = o->stat.print.output,
			.setup = {.separator = o->stat.print.separator, .header = true},
			.to = &r.writer.text}};
	unsigned least = (unsigned)o->least;
	int err = uncore_latency_open_by(&r.samples, cli->u, o->input, least, o->key, o->sources);
	int status = err ? cli_fail(cli, err)
			 : writer_open(&r.writer, o->stat.print.file, o->stat.print.append);

	if (!status)
		status = signals_open(&r.signals, false);
	r.writer.signal_fd = r.signals.stop_fd;
	if (!status)
		status = o->input ? print_window(&r, 0) : sample(&r);
	if (!err && writer_close(&r.writer) && !status)
		status = r.writer.status;
	signals_close(&r.signals);
	uncore_latency_free(r.samples);
	return status;
}

int cmd_latency(struct cli *cli, int argc, char **argv)
{
	static const struct command means = {"latency", "of latencies",
					     .metrics = "*.latency,*.latency.cycles",
					     .output = "latency",
					     .without = "from to gpu link address sort "
							"per-port per-link per-channel"};
	static const struct cli_syntax syntax = {
		.doc = "Prints the mean latencies that this machine's counters give or, with "
		       "--ibs, the distribution of the latencies of sampled loads by the source "
		       "of their data.\v"
		       "Takes the options of stat. Counts once for one second unless INTERVAL, "
		       "COMMAND or --timeout say otherwise.",
		.args = "[INTERVAL [COUNT]] [-- COMMAND ...]",
		.options = options,
		.check = check,
	};
	struct latency_options o = {
		.stat = {.print.separator = ",", .request = {.preset = &means, .viewed = true}}};
	int status;

	stat_parse(cli, &o.stat, &syntax, argc, argv);
	if (o.ibs && !o.stat.print.output)
		o.stat.print.output = output_find("text");
	status = stat_complete(cli, &o.stat);
	if (!status)
		status = cli_open(cli);
	if (!status && o.ibs)
		status = run(cli, &o);
	else if (!status)
		status = stat_run(cli, &o.stat);
	for (size_t i = 0; !o.ibs && status == CLI_UNAVAILABLE && i < uncore_pmu_count(cli->u);
	     i++) {
		const char *name = uncore_pmu_name(uncore_pmu_at(cli->u, i));
		bool spe = strcmp(name, "arm_spe_0") == 0;

		if (spe || strcmp(name, "ibs_op") == 0)
			cli_error("for the latencies of sampled loads use: uncore latency --%s",
				  spe ? "spe" : "ibs");
	}
	free(o.stat.request.queries);
	return status;
}
