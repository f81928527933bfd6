/* SPDX-License-Identifier: MIT */
/* `uncore latency`: mean latencies from counters, or with --ibs the distribution of sampled
 * loads. */
#include <math.h>
#include <string.h>

#include "base/writer.h"
#include "commands/options.h"
#include "commands/stat.h"
#include "output/latency.h"

#define COLLECT_NS (100 * NS_PER_MS)

struct latency_options {
	struct stat_options stat; /* time and output */
	bool ibs, per_socket;
	uint64_t least; /* core clocks; 0: any */
	const char *input;
};

#define AT(member) offsetof(struct latency_options, member)

static const struct cli_option options[] = {
	{"ibs", NULL, "Sample loads with AMD's IBS, and print their distribution", 0, 1,
	 OPTION_FLAG, AT(ibs)},
	{"min-latency", "CYCLES", "With --ibs: only latencies of CYCLES or more", 0, 1,
	 OPTION_COUNT, AT(least)},
	{"input", "FILE", "With --ibs: samples of perf record -e ibs_op// --raw-samples", 0, 1,
	 OPTION_TEXT, AT(input)},
	{"per-socket", NULL, "One row for each socket", 0, 1, OPTION_FLAG, AT(per_socket)},
	{"interval-print", "TIME", "Print every TIME: 100 (milliseconds), 100ms, 1s; at least 1ms",
	 'I', 2, OPTION_INTERVAL, AT(stat.request.when.interval_ns)},
	{"interval-count", "N", "End after N intervals", 0, 2, OPTION_COUNT,
	 AT(stat.request.when.interval_count)},
	{"timeout", "TIME", "End after TIME (milliseconds, or with a unit)", 0, 2, OPTION_INTERVAL,
	 AT(stat.request.when.timeout_ns)},
	{0},
};

static void parse_argument(void *into, char *arg, struct argp_state *state)
{
	struct latency_options *o = into;

	stat_interval(&o->stat, arg, state);
}

static void check(void *into, struct argp_state *state)
{
	const struct latency_options *o = into;

	if (!o->ibs && (o->least || o->input))
		argp_error(state, "--min-latency and --input need --ibs");
	if (o->ibs && o->per_socket)
		argp_error(state, "--per-socket and --ibs exclude each other");
	if (o->ibs && o->stat.print.output && o->stat.print.output->window)
		argp_error(state, "--csv=wide and --ibs exclude each other");
	if (o->least > 65535)
		argp_error(state, "--min-latency: latencies are 65535 cycles at most");
	if (o->input && (o->stat.request.when.interval_ns || o->stat.request.when.timeout_ns))
		argp_error(state, "--input excludes -I and --timeout: the recording has its own "
				  "time");
	if (o->stat.request.when.interval_count && !o->stat.request.when.interval_ns)
		argp_error(state, "--interval-count needs an interval: -I");
}

/* ---- sampling ---- */

struct run {
	struct cli *cli;
	const struct latency_options *o;
	struct uncore_latency *samples;
	struct signals signals;
	struct writer writer;
	struct out out;
	uint64_t begin_ns, window_ns; /* when sampling began, and this window */
	uint64_t windows;
};

static int print_window(struct run *r, uint64_t now)
{
	const struct latency_options *o = r->o;
	const struct latency_window w = {
		.samples = r->samples,
		.source = o->input ? o->input : "ibs",
		.time = o->input ? NAN : (double)(now - r->begin_ns) / 1e9,
		.seconds = o->input ? NAN : (double)(now - r->window_ns) / 1e9,
		.least = (unsigned)o->least,
		.first = r->windows++ == 0,
	};

	latency_print(&w, &r->out);
	r->window_ns = now;
	uncore_latency_clear(r->samples);
	return writer_flush(&r->writer);
}

static int sample(struct run *r)
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
	struct run r = {.cli = cli,
			.o = o,
			.signals = {.stop_fd = -1, .child_fd = -1},
			.out = {.output = o->stat.print.output,
				.setup = {.separator = ",", .header = true},
				.to = &r.writer.text}};
	unsigned least = (unsigned)o->least;
	int err = o->input ? uncore_latency_open_file(&r.samples, cli->u, o->input, least)
			   : uncore_latency_open(&r.samples, cli->u, least);
	int status = err ? cli_fail(cli, err) : writer_open(&r.writer, NULL, false);

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
	static const struct cli_syntax syntax = {
		.doc = "Prints the mean latencies that this machine's counters give or, with "
		       "--ibs, the distribution of the latencies of sampled loads by the source "
		       "of their data.\v"
		       "Counts once for one second unless INTERVAL, -I or --timeout say otherwise.",
		.args = "[INTERVAL [COUNT]]",
		.options = options,
		.outputs = OUTPUTS_RECORDS,
		.outputs_group = 3,
		.outputs_at = AT(stat.print.output),
		.argument = parse_argument,
		.check = check,
	};
	static const struct command means = {"latency", "of latencies",
					     .metrics = "*.latency,*.latency.cycles"};
	struct latency_options o = {.stat.print.separator = ","};
	int status;

	cli_parse(cli, &syntax, &o, argc, argv);
	if (!o.stat.request.when.interval_ns && !o.stat.request.when.timeout_ns &&
	    !cli_replays(cli))
		o.stat.request.when.timeout_ns = NS_PER_S;
	if (!o.stat.print.output)
		o.stat.print.output = output_find(o.ibs ? "text" : "latencies");
	o.stat.request.preset = &means;
	o.stat.request.viewed = true;
	o.stat.request.level = o.per_socket ? UNCORE_LEVEL_SOCKET : UNCORE_LEVEL_MACHINE;
	status = cli_open(cli);
	if (status)
		return status;
	if (o.ibs)
		return run(cli, &o);
	status = stat_run(cli, &o.stat);
	for (size_t i = 0; status == CLI_UNAVAILABLE && i < uncore_pmu_count(cli->u); i++)
		if (strcmp(uncore_pmu_name(uncore_pmu_at(cli->u, i)), "ibs_op") == 0)
			cli_error("for the latencies of sampled loads use: uncore latency --ibs");
	return status;
}
